/* The ops: one line each.  An op is made of parts, which an accumulator gathers, and of a finish, which
 * turns them into the exact value of the result (src/core/finish.c). */
#ifndef WF_CORE_OPS_H
#define WF_CORE_OPS_H

#include "core/parts.h"
#include "warpfold.h"

/* The default result type, from the type T of the elements. */
enum wf_result {
    WF_RESULT_NONE,
    WF_RESULT_SAME,      /* T */
    WF_RESULT_WIDE,      /* T of floats; i64 of signed, u64 of unsigned and bool */
    WF_RESULT_MAGNITUDE, /* T of floats; u64 */
    WF_RESULT_REAL,      /* T of floats; f64 */
    WF_RESULT_INDEX,     /* u64, and counts */
    WF_RESULT_TRUTH      /* bool */
};

/* X(NAME, name, parts, result, finish), in the order of wf_op. */
#define WF_OPS(X)                                                                                              \
    X(SUM, sum, WF_PART_SUM, WIDE, finish_sum)                                                                 \
    X(PROD, prod, WF_PART_PRODUCT, WIDE, finish_prod)                                                          \
    X(MIN, min, WF_PART_MIN, SAME, finish_min)                                                                 \
    X(MAX, max, WF_PART_MAX, SAME, finish_max)                                                                 \
    X(ARGMIN, argmin, WF_PART_MIN, INDEX, finish_argmin)                                                       \
    X(ARGMAX, argmax, WF_PART_MAX, INDEX, finish_argmax)                                                       \
    X(MEAN, mean, WF_PART_SUM, REAL, finish_mean)                                                              \
    X(VAR, var, WF_PART_SUM | WF_PART_SQUARES, REAL, finish_var)                                               \
    X(STD, std, WF_PART_SUM | WF_PART_SQUARES, REAL, finish_std)                                               \
    X(NORM1, norm1, WF_PART_ABS, MAGNITUDE, finish_norm1)                                                      \
    X(NORM2, norm2, WF_PART_SQUARES, REAL, finish_norm2)                                                       \
    X(NORMINF, norminf, WF_PART_MIN | WF_PART_MAX, MAGNITUDE, finish_norminf)                                  \
    X(DOT, dot, WF_PART_DOT, WIDE, finish_dot)                                                                 \
    X(ANY, any, WF_PART_NONZERO, TRUTH, finish_any)                                                            \
    X(ALL, all, WF_PART_NONZERO, TRUTH, finish_all)                                                            \
    X(NONZERO, nonzero, WF_PART_NONZERO, INDEX, finish_nonzero)                                                \
    X(AND, and, WF_PART_BITS, SAME, finish_and)                                                                \
    X(OR, or, WF_PART_BITS, SAME, finish_or)                                                                   \
    X(XOR, xor, WF_PART_BITS, SAME, finish_xor)                                                                \
    X(STATS, stats, WF_PARTS_STATS, NONE, finish_stats)

/* With WF_OP_NONE. */
#define WF_ONE_OP(NAME, name, parts, result, finish) +1
#define WF_OP_COUNT (1 WF_OPS(WF_ONE_OP))

/* parts that op gathers; 0 where there is no such op. */
unsigned wf_op_parts(wf_op op);

enum wf_result wf_op_result(wf_op op);

/* Whether op gives a value, as against an index, a count or a truth: one that is NaN where a NaN propagates. */
bool wf_op_gives_value(wf_op op);

/* Whether op takes pairs of two arrays. */
bool wf_op_takes_pairs(wf_op op);

#endif
