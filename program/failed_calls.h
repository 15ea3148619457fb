/* For this folder alone: calls of the runtime that failed, of which cudaGetLastError() has not told the program. */
#ifndef PROGRAM_FAILED_CALLS_H
#define PROGRAM_FAILED_CALLS_H

#include <stdio.h>

#include "private.h"
#include "report/json.h"

void failed_calls_put(FILE *stream, const struct record *record);
void failed_calls_put_json(struct json *json, const struct record *record); /* a member */
/* Launches that did not run, apart from those that are told of so. */
uint64_t failed_calls_other_launches(const struct record *record);

#endif
