/* What the benchmark knows of an array before anything is timed, by integer arithmetic alone, and whether a
 * result is the right one.  Shares nothing with the library but the header: elements are taken apart into
 * sign, integer and exponent, integers are added in a bin for each exponent, and a result is right if the
 * exact value lies between the midpoints to its neighbours. */
#ifndef CLI_BENCH_EXACT_H
#define CLI_BENCH_EXACT_H

#include "bench_big.h"
#include "bench_pool.h"
#include "warpfold.h"

/* What a sum, of elements or of products of pairs, cannot have as a number. */
struct bench_specials {
    uint64_t nans, infinities[2]; /* [is negative] */
    uint64_t invalid;             /* infinity times 0 */
    int64_t first_nan;
};

struct bench_tally {
    wf_type type;
    wf_nan nan; /* the policy for which results are verified */
    int64_t count;
    struct big size[2];    /* the sum of |x| over x >= 0, and over x < 0, in the type's least unit */
    struct big squares;    /* the sum of x*x, in the least unit squared */
    struct big product[2]; /* the sum of |x*y| over x*y >= 0, and over x*y < 0 */
    uint64_t nonzero; /* NaNs included */
    struct bench_specials values, pairs;
    uint64_t least, greatest; /* as keys, which order as the elements do, -0 below +0 */
    int64_t argmin, argmax;
    double largest; /* |x|, which a double holds for every type here */
};

/* Of count elements, 1 or more, of f32, f64, bf16, f16, i32 or i8; the products are those of
 * the first half with the second.  False without memory. */
bool bench_tally_take(struct bench_tally *tally, const void *data, wf_type type, int64_t count, wf_nan nan,
                      struct bench_pool *pool);

/* Is it the correctly rounded result of op (ddof 0)?  Not for prod, and, or, xor. */
bool bench_verify(const struct bench_tally *tally, wf_op op, const wf_value *result);
bool bench_verify_stats(const struct bench_tally *tally, const wf_stats *stats);

/* How far a value is from the right one, both of one type: in units in the last place of the right one for
 * floats, else the difference.  INFINITY where no number says it. */
double bench_error(const wf_value *right, const wf_value *got);

#endif
