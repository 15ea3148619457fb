/* Types as CUDA C names them. */
#ifndef REPORT_SOURCE_TYPES_H
#define REPORT_SOURCE_TYPES_H

#include "kernel_source.h"

/* "float" and "float4": 4 and 16; 0: neither. */
size_t type_nbytes(const char *type);

/* Bytes of `struct name { ... };` or `typedef struct { ... } name;`; 0: not known. */
size_t type_struct_nbytes(const char *text, const char *name);

size_t type_any_nbytes(const char *text, const char *name); /* of either kind */

/* As kernel_source_members, of text without comments. */
size_t type_members(const char *text, const char *name, struct kernel_member *members, size_t capacity);

size_t type_element_nbytes(const char *element); /* of "f32"; 1: of none */

/* "const float *__restrict__ in" */
void type_read_parameter(const char *at, const char *end, struct kernel_parameter *parameter);

/* The type behind names that the text gives to types. */
void type_resolve(const char *text, struct kernel_parameter *parameter);

#endif
