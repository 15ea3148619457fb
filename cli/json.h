/* Texts and numbers as JSON has them. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stddef.h>
#include <stdio.h>

/* Quoted.  Bytes that are no UTF-8 become the replacement character.  NULL: an empty text. */
void put_json_text(FILE *stream, const char *text);
void put_json_bytes(FILE *stream, const char *text, size_t nbytes);

/* Whole numbers as such, others by the shortest decimal that reads back; what is not finite is null. */
void put_json_number(FILE *stream, double value);

#endif
