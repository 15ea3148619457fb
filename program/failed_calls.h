/* For this folder alone: calls of the runtime that failed, of which cudaGetLastError() has not told the program. */
#ifndef PROGRAM_FAILED_CALLS_H
#define PROGRAM_FAILED_CALLS_H

#include <stdio.h>

#include "names.h"
#include "report/json.h"

bool failed_calls_put(FILE *stream, const struct program *program, const struct names *names); /* false: no memory */
void failed_calls_put_json(struct json *json, const struct record *record, const struct names *names); /* a member */
/* Launches that did not run, apart from those that are told of so. */
uint64_t failed_calls_other_launches(const struct record *record);

#endif
