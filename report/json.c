#include "json.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "common/printable.h"
#include "warpfold.h"

struct json json_to(FILE *stream) {
    return (struct json){.stream = stream};
}

/* ---- the structure ------------------------------------------------------------------------------- */

static void separate(struct json *json) {
    if (json->needs_comma) fputc(',', json->stream);
    if (json->needs_break) fputc('\n', json->stream);
    json->needs_comma = true;
    json->needs_break = false;
}

void json_begin(struct json *json, char bracket) {
    separate(json);
    fputc(bracket, json->stream);
    json->needs_comma = false;
}

void json_end(struct json *json, char bracket) {
    json->needs_comma = false;
    separate(json);
    fputc(bracket, json->stream);
}

void json_key(struct json *json, const char *name) {
    json_text(json, name);
    fputc(':', json->stream);
    json->needs_comma = false;
}

void json_break(struct json *json) {
    json->needs_break = true;
}

/* ---- texts --------------------------------------------------------------------------------------- */

void json_open_text(struct json *json) {
    separate(json);
    fputc('"', json->stream);
}

void json_close_text(struct json *json) {
    fputc('"', json->stream);
}

void json_bytes(struct json *json, const char *text, size_t nbytes) {
    json_open_text(json);
    while (nbytes > 0) {
        const unsigned char c = (unsigned char)*text;
        size_t length = wf_character_nbytes(text, nbytes);
        if (length == 0)
            fputs("\\ufffd", json->stream);
        else if (c < 0x20 || c == 0x7f)
            fprintf(json->stream, "\\u%04x", c);
        else
            fprintf(json->stream, c == '"' || c == '\\' ? "\\%.*s" : "%.*s", (int)length, text);
        length += length == 0;
        text += length;
        nbytes -= length;
    }
    json_close_text(json);
}

void json_text(struct json *json, const char *text) {
    json_bytes(json, text ? text : "", text ? strlen(text) : 0);
}

void json_format(struct json *json, const char *format, ...) {
    char text[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    json_text(json, text);
}

/* ---- numbers and words --------------------------------------------------------------------------- */

void json_raw(struct json *json, const char *text, size_t nbytes) {
    separate(json);
    fwrite(text, 1, nbytes, json->stream);
}

static void put_word(struct json *json, const char *word) {
    json_raw(json, word, strlen(word));
}

void json_unsigned(struct json *json, uint64_t number) {
    separate(json);
    fprintf(json->stream, "%" PRIu64, number);
}

void json_signed(struct json *json, int64_t number) {
    separate(json);
    fprintf(json->stream, "%" PRId64, number);
}

void json_bool(struct json *json, bool is_true) {
    put_word(json, is_true ? "true" : "false");
}

void json_null(struct json *json) {
    put_word(json, "null");
}

void json_digits(struct json *json, double number, int digits) {
    char text[64];
    snprintf(text, sizeof text, "%.*g", digits, number);
    put_word(json, isfinite(number) ? text : "null");
}

void json_number(struct json *json, double number) {
    char text[64];
    const wf_value value = {.type = WF_F64, .v.f64 = number};
    if (number == floor(number) && fabs(number) < 0x1p53)
        snprintf(text, sizeof text, "%.0f", number);
    else
        wf_value_format(&value, 0, text, sizeof text);
    put_word(json, isfinite(number) ? text : "null");
}

void json_decimal(struct json *json, const char *text) {
    bool is_decimal = isdigit((unsigned char)text[strlen(text) - 1]);
    (is_decimal ? put_word : json_text)(json, text);
}

/* ---- members ------------------------------------------------------------------------------------- */

void json_key_text(struct json *json, const char *name, const char *text) {
    json_key(json, name);
    json_text(json, text);
}

void json_key_unsigned(struct json *json, const char *name, uint64_t number) {
    json_key(json, name);
    json_unsigned(json, number);
}

void json_key_number(struct json *json, const char *name, double number) {
    json_key(json, name);
    json_number(json, number);
}

void json_key_digits(struct json *json, const char *name, double number, int digits) {
    json_key(json, name);
    json_digits(json, number, digits);
}

void json_key_bool(struct json *json, const char *name, bool is_true) {
    json_key(json, name);
    json_bool(json, is_true);
}

void json_key_begin(struct json *json, const char *name, char bracket) {
    json_key(json, name);
    json_begin(json, bracket);
}

void json_key_list(struct json *json, const char *name, const uint32_t *numbers, size_t count) {
    json_key_begin(json, name, '[');
    for (size_t i = 0; i < count; i++) json_unsigned(json, numbers[i]);
    json_end(json, ']');
}
