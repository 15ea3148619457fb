/* A verdict of the judge, as text and as JSON. */
#ifndef REPORT_JUDGE_REPORT_H
#define REPORT_JUDGE_REPORT_H

#include "judge/judge.h"

#include <stdbool.h>
#include <stdio.h>

/* The text of the kernel; NULL: there is none. */
struct judged_source {
    const char *path, *text;
};

/* A judge_guard_function, whose source is a judged_source. */
bool judge_guard(const void *source, const simt_finding *finding, const struct judge_outside *outside, char *text, size_t nbytes);

struct judgement {
    const char *path;      /* of the kernel */
    const char *task_name; /* as it was asked for */
    const struct judge_task *task;
    const struct judge_verdict *verdict;
    uint64_t seed;
    struct judged_source source;
};

void put_judgement(FILE *stream, const struct judgement *judgement, bool has_colour);

/* An object, on one line. */
void put_judgement_json(FILE *stream, const struct judgement *judgement);

#endif
