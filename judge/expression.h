/* Arithmetic of tasks: sizes, launches, gates, and what is expected of an element. */
#ifndef JUDGE_EXPRESSION_H
#define JUDGE_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A value, and its scale: the value of the same expression with every term made positive, which errors of
 * rounding are proportional to. */
struct number {
    long double value, scale;
};

/* What names stand for.  index: NULL, or of `name[index]`.  false: nothing has that name, or that index. */
struct names {
    bool (*find)(const void *context, const char *name, size_t length, const long double *index,
                 struct number *number);
    const void *context;
};

struct evaluation {
    struct number number;
    uint32_t roundings; /* the operations that may round; no path from a term to the value has more */
    bool is_polynomial; /* made of + - * min max abs alone */
    const char *wrong;  /* where the text is no expression: what was met there; static */
};

/* Numbers, names, name[index], + - * / %, parentheses, ceil floor abs exp sqrt log min max, inf.  false: see
 * `wrong`. */
bool evaluate(const char *text, const struct names *names, struct evaluation *evaluation);

#endif
