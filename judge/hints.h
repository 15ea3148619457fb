/* What a wrong result is instead of the right one, where its numbers tell. */
#ifndef JUDGE_HINTS_H
#define JUDGE_HINTS_H

#include "reference.h"

/* HINT_LAUNCHES: the wrong launches, each with data of its own, in which a hint must hold before it is believed. */
enum { HINT_CAPACITY = 400, HINT_LAUNCHES = 3 };

/* The result of one launch. */
struct wrong_result {
    const struct judge_task *task;
    const struct scope *scope; /* with the block and the grid of the last launch */
    const struct buffers *buffers;
    const struct expected *expected;
    const char *mismatch;      /* what is wrong with a parameter's type; "": nothing that is known */
    const long double *values; /* as many as are expected */
    const bool *is_wrong;      /* of each of them */
    uint64_t element;          /* one that is wrong */
    bool has_whole;            /* the inputs' elements are whole numbers, */
    bool is_whole;             /* and so few and small that no sum of them is rounded */
    bool is_finite;            /* no infinity or NaN is among them */
};

/* What a launch says of a hint.  SILENT: its data do not tell. */
enum hint_says { HINT_SILENT, HINT_HOLDS, HINT_FAILS };

/* How many there are, the first the most telling. */
size_t hint_count(void);

/* `text`, of HINT_CAPACITY bytes, is "; that is ...: do this" where the hint holds. */
enum hint_says hint_ask(size_t hint, const struct wrong_result *wrong, char *text);

/* In how many launches a hint must hold before it is told; in none may it fail. */
uint64_t hint_launches(size_t hint);

/* JUDGE_CAUSE_EXPLAINED, or JUDGE_CAUSE_ELSEWHERE. */
enum judge_cause hint_cause(size_t hint);

#endif
