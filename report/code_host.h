/* Findings and advice as hosts of code take them: SARIF 2.1.0 (OASIS), and the annotations of GitHub's workflows. */
#ifndef REPORT_CODE_HOST_H
#define REPORT_CODE_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct host_result {
    const char *rule;    /* "race" */
    const char *message;
    bool is_warning;     /* else an error */
    const char *file;    /* NULL: no place */
    uint32_t line;       /* 0: none */
    const char *other_file; /* NULL: no second place */
    uint32_t other_line;
    uint64_t count;
};

/* Calls `give` for each result; it calls `put` with it. */
typedef void host_put(void *to, const struct host_result *result);
typedef void host_give(const void *from, host_put *put, void *to);

/* One object on one line. */
void put_sarif(FILE *stream, host_give *give, const void *from);

/* A line for each. */
void put_annotations(FILE *stream, host_give *give, const void *from);

#endif
