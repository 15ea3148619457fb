/*
 * json.h -- a writer of JSON: it puts the commas, the quotes and the escapes.
 *
 *     struct json json = json_to(stream);
 *     json_begin(&json, '{');
 *     json_key(&json, "n"), json_unsigned(&json, 3);
 *     json_key(&json, "values"), json_begin(&json, '[');
 *     ...
 *     json_end(&json, ']');
 *     json_end(&json, '}');
 *
 * Whether everything was written, the stream tells.
 */
#ifndef REPORT_JSON_H
#define REPORT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json {
    FILE *stream;
    bool needs_comma, needs_break; /* before the next value or key */
};

struct json json_to(FILE *stream);

/* An object or an array: '{' and '}', or '[' and ']'. */
void json_begin(struct json *json, char bracket);
void json_end(struct json *json, char bracket);

/* The name of an object's next member; its value follows. */
void json_key(struct json *json, const char *name);

/* Texts, quoted.  Bytes that are no UTF-8 become the replacement character.  NULL: an empty text. */
void json_text(struct json *json, const char *text);
void json_bytes(struct json *json, const char *text, size_t nbytes);
void json_format(struct json *json, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A text that needs no escapes, and that the caller writes to the stream in between. */
void json_open_text(struct json *json);
void json_close_text(struct json *json);

void json_unsigned(struct json *json, uint64_t number);
void json_signed(struct json *json, int64_t number);
void json_bool(struct json *json, bool is_true);
void json_null(struct json *json);

/* Whole numbers as such, others by the shortest decimal that reads back; what is not finite is null. */
void json_number(struct json *json, double number);

/* With that many significant digits; infinities and NaNs are null. */
void json_digits(struct json *json, double number, int digits);

/* A number in a text of warpfold's: as it is where that is decimal, quoted where it is not (inf, nan,
 * hexadecimal). */
void json_decimal(struct json *json, const char *text);

/* A whole value that somebody else has written. */
void json_raw(struct json *json, const char *text, size_t nbytes);

/* Breaks the line before the next value, or before what ends the array. */
void json_break(struct json *json);

/* ---- members: a key with its value */

void json_key_text(struct json *json, const char *name, const char *text);
void json_key_unsigned(struct json *json, const char *name, uint64_t number);
void json_key_number(struct json *json, const char *name, double number);
void json_key_digits(struct json *json, const char *name, double number, int digits);
void json_key_bool(struct json *json, const char *name, bool is_true);
void json_key_begin(struct json *json, const char *name, char bracket);

/* The lanes, threads or cells of a list, as an array. */
void json_key_list(struct json *json, const char *name, const uint32_t *numbers, size_t count);

#endif
