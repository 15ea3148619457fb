#include "bench_exact.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- elements taken apart ------------------------------------------------------------------------ */

/* x = size * 2^exponent units, with its sign. */
struct part {
    uint64_t size, key;
    int exponent;
    bool is_negative;
    bool is_infinite, is_nan; /* then there is no such number */
};

/* The loops below are written once, for any type's take_function, and compiled for each. */
#define INLINE static inline __attribute__((always_inline))

/* Element i, taken apart. */
typedef struct part take_function(const void *data, size_t i);

/* Of a finite float whose fraction and exponent have that many bits. */
INLINE struct part take_apart(uint64_t bits, int fraction_bits, int exponent_bits) {
    uint64_t sign = UINT64_C(1) << (fraction_bits + exponent_bits), one = UINT64_C(1) << fraction_bits;
    int field = (int)(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
    bool is_special = field == (1 << exponent_bits) - 1, has_fraction = bits & (one - 1);
    return (struct part){.is_infinite = is_special && !has_fraction,
                         .is_nan = is_special && has_fraction,
                         .size = (bits & (one - 1)) | (field ? one : 0),
                         .key = bits & sign ? ~bits & (2 * sign - 1) : bits | sign,
                         .exponent = field ? field - 1 : 0,
                         .is_negative = (bits & sign) != 0};
}

INLINE struct part take_apart_integer(int64_t x) {
    return (struct part){.size = x < 0 ? -(uint64_t)x : (uint64_t)x,
                         .key = (uint64_t)x ^ UINT64_C(1) << 63,
                         .is_negative = x < 0};
}

INLINE struct part take_apart_f32(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return take_apart(bits, 23, 8);
}

INLINE struct part take_apart_f64(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return take_apart(bits, 52, 11);
}

INLINE struct part take_bf16(const void *data, size_t i) {
    return take_apart(((const uint16_t *)data)[i], 7, 8);
}

INLINE struct part take_f16(const void *data, size_t i) {
    return take_apart(((const uint16_t *)data)[i], 10, 5);
}

INLINE struct part take_f32(const void *data, size_t i) {
    return take_apart_f32(((const float *)data)[i]);
}

INLINE struct part take_f64(const void *data, size_t i) {
    return take_apart_f64(((const double *)data)[i]);
}

INLINE struct part take_i32(const void *data, size_t i) {
    return take_apart_integer(((const int32_t *)data)[i]);
}

INLINE struct part take_i8(const void *data, size_t i) {
    return take_apart_integer(((const int8_t *)data)[i]);
}

/* ---- the tally ----------------------------------------------------------------------------------- */

enum { EXPONENTS = 2048, PIECE = 1 << 16 };

/* One thread's sums, by exponent.  128 bits hold more than 2^63 sizes; products of 106 bits are added as two
 * words. */
struct bins {
    bench_u128 size[2][EXPONENTS];           /* [is negative] */
    bench_u128 square[2][EXPONENTS];         /* [word]; of twice the exponent */
    bench_u128 product[2][2][2 * EXPONENTS]; /* [is negative][word] */
    uint64_t nonzero;
    struct bench_specials values, pairs;
    uint64_t least, greatest;
    size_t argmin, argmax;
};

struct job {
    const void *data;
    const struct format *format;
    size_t half;
    struct bins *bins; /* [thread] */
};

INLINE void add_words(bench_u128 *low, bench_u128 *high, uint64_t a, uint64_t b) {
    bench_u128 product = (bench_u128)a * b;
    *low += (uint64_t)product;
    *high += (uint64_t)(product >> 64);
}

static void note_extremes(struct bins *bins, uint64_t key, size_t i) {
    if (key < bins->least || (key == bins->least && i < bins->argmin)) {
        bins->least = key;
        bins->argmin = i;
    }
    if (key > bins->greatest || (key == bins->greatest && i < bins->argmax)) {
        bins->greatest = key;
        bins->argmax = i;
    }
}

INLINE void order_elements(struct bins *bins, const void *data, size_t begin, size_t end,
                           take_function *take) {
    uint64_t nonzero = 0, least = UINT64_MAX, greatest = 0;
    size_t argmin = begin, argmax = begin;
    for (size_t i = begin; i < end; i++) {
        struct part part = take(data, i);
        nonzero += part.size != 0;
        if (part.is_nan) continue;
        if (part.key < least) {
            least = part.key;
            argmin = i;
        }
        if (part.key > greatest) {
            greatest = part.key;
            argmax = i;
        }
    }
    bins->nonzero += nonzero;
    note_extremes(bins, least, argmin);
    note_extremes(bins, greatest, argmax);
}

static void note_nan(struct bench_specials *specials, size_t i) {
    specials->nans++;
    if ((int64_t)i < specials->first_nan) specials->first_nan = (int64_t)i;
}

/* Whether the product of x and y, or x itself if y is 1, is no number; it is noted then. */
INLINE bool note_special(struct bench_specials *specials, struct part x, struct part y, size_t i) {
    if (!x.is_nan && !x.is_infinite && !y.is_nan && !y.is_infinite) return false;
    if (x.is_nan || y.is_nan)
        note_nan(specials, i);
    else if (x.size == 0 || y.size == 0)
        specials->invalid++;
    else
        specials->infinities[x.is_negative != y.is_negative]++;
    return true;
}

INLINE void add_floats(struct bins *bins, const void *data, size_t begin, size_t end, take_function *take) {
    order_elements(bins, data, begin, end, take);
    for (size_t i = begin; i < end; i++) {
        struct part x = take(data, i);
        if (note_special(&bins->values, x, (struct part){.size = 1}, i)) continue;
        bins->size[x.is_negative][x.exponent] += x.size;
        add_words(&bins->square[0][x.exponent], &bins->square[1][x.exponent], x.size, x.size);
    }
}

INLINE void add_float_pairs(struct bins *bins, const void *data, size_t half, size_t begin, size_t end,
                            take_function *take) {
    for (size_t i = begin; i < end; i++) {
        struct part x = take(data, i), y = take(data, half + i);
        if (note_special(&bins->pairs, x, y, i)) continue;
        bench_u128(*words)[2 * EXPONENTS] = bins->product[x.is_negative != y.is_negative];
        int exponent = x.exponent + y.exponent;
        add_words(&words[0][exponent], &words[1][exponent], x.size, y.size);
    }
}

/* All integers go to one bin, which had better be a register. */
INLINE void add_integers(struct bins *bins, const void *data, size_t begin, size_t end, take_function *take) {
    bench_u128 size[2] = {0}, squares = 0;
    order_elements(bins, data, begin, end, take);
    for (size_t i = begin; i < end; i++) {
        struct part x = take(data, i);
        uint64_t mask = -(uint64_t)x.is_negative; /* signs are random: a branch would be too */
        size[0] += x.size & ~mask;
        size[1] += x.size & mask;
        squares += (bench_u128)x.size * x.size;
    }
    for (int negative = 0; negative < 2; negative++) bins->size[negative][0] += size[negative];
    bins->square[0][0] += squares;
}

INLINE void add_integer_pairs(struct bins *bins, const void *data, size_t half, size_t begin, size_t end,
                              take_function *take) {
    bench_u128 products[2] = {0};
    for (size_t i = begin; i < end; i++) {
        struct part x = take(data, i), y = take(data, half + i);
        bench_u128 product = (bench_u128)x.size * y.size;
        bench_u128 mask = -(bench_u128)(x.is_negative != y.is_negative);
        products[0] += product & ~mask;
        products[1] += product & mask;
    }
    for (int negative = 0; negative < 2; negative++) bins->product[negative][0][0] += products[negative];
}

static void tally_f32(void *context, int thread, size_t begin, size_t end) {
    const struct job *job = context;
    add_floats(&job->bins[thread], job->data, begin, end, take_f32);
}

static void tally_f64(void *context, int thread, size_t begin, size_t end) {
    const struct job *job = context;
    add_floats(&job->bins[thread], job->data, begin, end, take_f64);
}

static void tally_bf16(void *context, int thread, size_t begin, size_t end) {
    const struct job *job = context;
    add_floats(&job->bins[thread], job->data, begin, end, take_bf16);
}

static void tally_f16(void *context, int thread, size_t begin, size_t end) {
    const struct job *job = context;
    add_floats(&job->bins[thread], job->data, begin, end, take_f16);
}

static void tally_i32(void *context, int thread, size_t begin, size_t end) {
    const struct job *job = context;
    add_integers(&job->bins[thread], job->data, begin, end, take_i32);
}

static void tally_i8(void *context, int thread, size_t begin, size_t end) {
    const struct job *job = context;
    add_integers(&job->bins[thread], job->data, begin, end, take_i8);
}

static void tally_pairs_f32(void *context, int thread, size_t begin, size_t end) {
    const struct job *job = context;
    add_float_pairs(&job->bins[thread], job->data, job->half, begin, end, take_f32);
}

static void tally_pairs_f64(void *context, int thread, size_t begin, size_t end) {
    const struct job *job = context;
    add_float_pairs(&job->bins[thread], job->data, job->half, begin, end, take_f64);
}

static void tally_pairs_bf16(void *context, int thread, size_t begin, size_t end) {
    const struct job *job = context;
    add_float_pairs(&job->bins[thread], job->data, job->half, begin, end, take_bf16);
}

static void tally_pairs_f16(void *context, int thread, size_t begin, size_t end) {
    const struct job *job = context;
    add_float_pairs(&job->bins[thread], job->data, job->half, begin, end, take_f16);
}

static void tally_pairs_i32(void *context, int thread, size_t begin, size_t end) {
    const struct job *job = context;
    add_integer_pairs(&job->bins[thread], job->data, job->half, begin, end, take_i32);
}

static void tally_pairs_i8(void *context, int thread, size_t begin, size_t end) {
    const struct job *job = context;
    add_integer_pairs(&job->bins[thread], job->data, job->half, begin, end, take_i8);
}

static const struct format {
    wf_type type;
    take_function *take;
    bench_work *tally, *tally_pairs;
    int unit; /* the least unit is 2^unit */
    int precision;
} formats[] = {
    {WF_F32, take_f32, tally_f32, tally_pairs_f32, -149, 24},
    {WF_F64, take_f64, tally_f64, tally_pairs_f64, -1074, 53},
    {WF_BF16, take_bf16, tally_bf16, tally_pairs_bf16, -133, 8},
    {WF_F16, take_f16, tally_f16, tally_pairs_f16, -24, 11},
    {WF_I32, take_i32, tally_i32, tally_pairs_i32, 0, 0},
    {WF_I8, take_i8, tally_i8, tally_pairs_i8, 0, 0},
};

static const struct format *format_of(wf_type type) {
    const struct format *format = formats;
    while (format->type != type) format++;
    return format;
}

static void join_specials(struct bench_specials *into, const struct bench_specials *from) {
    into->nans += from->nans;
    into->invalid += from->invalid;
    for (int negative = 0; negative < 2; negative++) into->infinities[negative] += from->infinities[negative];
    if (from->first_nan < into->first_nan) into->first_nan = from->first_nan;
}

static void join_bins(struct bench_tally *tally, const struct bins *bins, struct bins *extremes) {
    for (int negative = 0; negative < 2; negative++) {
        for (int e = 0; e < EXPONENTS; e++) {
            if (bins->size[negative][e]) big_add_shifted(&tally->size[negative], bins->size[negative][e], e);
        }
        for (int word = 0; word < 2; word++)
            for (int e = 0; e < 2 * EXPONENTS; e++) {
                bench_u128 sum = bins->product[negative][word][e];
                if (sum) big_add_shifted(&tally->product[negative], sum, e + 64 * word);
            }
    }
    for (int word = 0; word < 2; word++)
        for (int e = 0; e < EXPONENTS; e++) {
            bench_u128 sum = bins->square[word][e];
            if (sum) big_add_shifted(&tally->squares, sum, 2 * e + 64 * word);
        }
    tally->nonzero += bins->nonzero;
    join_specials(&tally->values, &bins->values);
    join_specials(&tally->pairs, &bins->pairs);
    if (bins->least == UINT64_MAX && bins->greatest == 0) return; /* a thread that got no piece */
    note_extremes(extremes, bins->least, bins->argmin);
    note_extremes(extremes, bins->greatest, bins->argmax);
}

static double size_at(const struct job *job, size_t i) {
    struct part part = job->format->take(job->data, i);
    if (part.is_infinite) return INFINITY;
    return ldexp((double)part.size, part.exponent + job->format->unit);
}

bool bench_tally_take(struct bench_tally *tally, const void *data, wf_type type, int64_t count, wf_nan nan,
                      struct bench_pool *pool) {
    int threads = bench_pool_threads(pool);
    struct bins *bins = calloc((size_t)threads + 1, sizeof *bins); /* the last: what the others join to */
    if (!bins) return false;
    for (int i = 0; i <= threads; i++)
        bins[i].least = UINT64_MAX, bins[i].values.first_nan = bins[i].pairs.first_nan = INT64_MAX;
    struct job job = {data, format_of(type), (size_t)count / 2, bins};
    bench_pool_run(pool, threads, (size_t)count, PIECE, job.format->tally, &job);
    bench_pool_run(pool, threads, job.half, PIECE, job.format->tally_pairs, &job);

    struct bins *all = &bins[threads];
    *tally = (struct bench_tally){.type = type, .nan = nan, .count = count};
    tally->values.first_nan = tally->pairs.first_nan = INT64_MAX;
    for (int i = 0; i < threads; i++) join_bins(tally, &bins[i], all);
    tally->least = all->least;
    tally->greatest = all->greatest;
    tally->argmin = (int64_t)all->argmin;
    tally->argmax = (int64_t)all->argmax;
    tally->largest = fmax(size_at(&job, all->argmin), size_at(&job, all->argmax));
    if (nan == WF_NAN_OMIT) {
        tally->count -= (int64_t)tally->values.nans;
        tally->nonzero -= tally->values.nans;
    }
    free(bins);
    return true;
}

/* ---- exact values -------------------------------------------------------------------------------- */

/* numerator / denominator * 2^unit, or its square root; with a sign. */
struct exact {
    struct big numerator, denominator;
    int unit;
    bool is_root, is_negative;
};

/* Starts with a - b. */
static struct exact exact_difference(const struct big *a, const struct big *b, int unit) {
    bool is_negative = big_compare(a, b) < 0;
    struct exact exact = {.numerator = is_negative ? *b : *a,
                          .denominator = big_from(1),
                          .unit = unit,
                          .is_negative = is_negative};
    big_subtract(&exact.numerator, is_negative ? a : b);
    return exact;
}

typedef struct exact exact_function(const struct bench_tally *tally);

static int unit_of(const struct bench_tally *tally) {
    return format_of(tally->type)->unit;
}

static struct exact exact_sum(const struct bench_tally *tally) {
    return exact_difference(&tally->size[0], &tally->size[1], unit_of(tally));
}

static struct exact exact_dot(const struct bench_tally *tally) {
    return exact_difference(&tally->product[0], &tally->product[1], 2 * unit_of(tally));
}

static struct exact exact_norm1(const struct bench_tally *tally) {
    struct exact exact = {tally->size[0], big_from(1), unit_of(tally), false, false};
    big_add(&exact.numerator, &tally->size[1]);
    return exact;
}

static struct exact exact_norm2(const struct bench_tally *tally) {
    return (struct exact){tally->squares, big_from(1), 2 * unit_of(tally), true, false};
}

static struct exact exact_mean(const struct bench_tally *tally) {
    struct exact exact = exact_sum(tally);
    exact.denominator = big_from((uint64_t)tally->count);
    return exact;
}

/* (n S2 - S1^2) / n^2 */
static struct exact exact_var(const struct bench_tally *tally) {
    struct exact sum = exact_sum(tally);
    struct big n = big_from((uint64_t)tally->count);
    struct big n_squares = big_product(&n, &tally->squares);
    struct big sum_squared = big_product(&sum.numerator, &sum.numerator);
    struct exact exact = exact_difference(&n_squares, &sum_squared, 2 * unit_of(tally));
    exact.denominator = big_product(&n, &n);
    return exact;
}

static struct exact exact_std(const struct bench_tally *tally) {
    struct exact exact = exact_var(tally);
    exact.is_root = true;
    return exact;
}

/* ---- is it right? -------------------------------------------------------------------------------- */

/* Below, at or above 0 as size * 2^exponent is less than, equal to or greater than the exact value's size. */
static int compare(uint64_t size, int exponent, const struct exact *exact) {
    struct big left = big_from(size), right = exact->numerator;
    if (exact->is_root) {
        left = big_product(&left, &left);
        exponent *= 2;
    }
    left = big_product(&left, &exact->denominator);
    if (exponent >= exact->unit)
        big_shift(&left, exponent - exact->unit);
    else
        big_shift(&right, exact->unit - exponent);
    return big_compare(&left, &right);
}

/* The exact value lies between the midpoints to the neighbours of x, or on one if x is even.  The part of an
 * infinity is that of the power of two above the largest number, as rounding has it. */
static bool is_nearest(struct part x, const struct format *format, bool is_infinite,
                       const struct exact *exact) {
    int exponent = x.exponent + format->unit;
    int closed = x.size % 2 == 0; /* then comparing as equal will do */
    bool is_binade = x.size == UINT64_C(1) << (format->precision - 1) && x.exponent > 0;
    if (x.size > 0 && is_binade && compare(4 * x.size - 1, exponent - 2, exact) >= closed) return false;
    if (x.size > 0 && !is_binade && compare(2 * x.size - 1, exponent - 1, exact) >= closed) return false;
    return is_infinite || compare(2 * x.size + 1, exponent - 1, exact) > -closed;
}

static bool is_right_float(struct part x, const struct format *format, bool is_infinite,
                           const struct exact *exact) {
    if (big_is_zero(&exact->numerator)) return x.size == 0 && !x.is_negative;
    return x.is_negative == exact->is_negative && is_nearest(x, format, is_infinite, exact);
}

static bool is_right_integer(struct part x, const struct exact *exact) {
    return compare(x.size, 0, exact) == 0 && (x.size == 0 || x.is_negative == exact->is_negative);
}

/* A value, which is an element of a float type, as a part. */
static struct part part_of(const wf_value *value) {
    if (value->type == WF_F64) return take_apart_f64(value->v.f64);
    if (value->type == WF_F32) return take_apart_f32(value->v.f32);
    return format_of(value->type)->take(&value->v.f16, 0);
}

static bool is_float(wf_type type) {
    return type == WF_F32 || type == WF_F64 || type == WF_BF16 || type == WF_F16;
}

static bool is_right(const struct exact *exact, const wf_value *result) {
    if (is_float(result->type)) {
        struct part part = part_of(result);
        return !part.is_nan && is_right_float(part, format_of(result->type), part.is_infinite, exact);
    }
    if (result->type == WF_I64) return is_right_integer(take_apart_integer(result->v.i), exact);
    return is_right_integer((struct part){.size = result->v.u}, exact);
}

static uint64_t key_of(const wf_value *value) {
    return is_float(value->type) ? part_of(value).key : take_apart_integer(value->v.i).key;
}

static bool verify_min(const struct bench_tally *tally, const wf_value *result) {
    return result->type == tally->type && key_of(result) == tally->least;
}

static bool verify_max(const struct bench_tally *tally, const wf_value *result) {
    return result->type == tally->type && key_of(result) == tally->greatest;
}

static bool verify_argmin(const struct bench_tally *tally, const wf_value *result) {
    return result->v.u == (uint64_t)tally->argmin;
}

static bool verify_argmax(const struct bench_tally *tally, const wf_value *result) {
    return result->v.u == (uint64_t)tally->argmax;
}

static bool verify_norminf(const struct bench_tally *tally, const wf_value *result) {
    return wf_value_to_double(result) == tally->largest;
}

static bool verify_any(const struct bench_tally *tally, const wf_value *result) {
    return result->v.u == (tally->nonzero > 0);
}

static bool verify_all(const struct bench_tally *tally, const wf_value *result) {
    return result->v.u == (tally->nonzero == (uint64_t)tally->count);
}

static bool verify_nonzero(const struct bench_tally *tally, const wf_value *result) {
    return result->v.u == tally->nonzero;
}

/* An op has an exact value to be rounded, or is looked up. */
static const struct {
    wf_op op;
    exact_function *exact;
    bool (*verify)(const struct bench_tally *tally, const wf_value *result);
} answers[] = {
    {WF_SUM, exact_sum, NULL},        {WF_MEAN, exact_mean, NULL},      {WF_VAR, exact_var, NULL},
    {WF_STD, exact_std, NULL},        {WF_NORM1, exact_norm1, NULL},    {WF_NORM2, exact_norm2, NULL},
    {WF_DOT, exact_dot, NULL},        {WF_MIN, NULL, verify_min},       {WF_MAX, NULL, verify_max},
    {WF_ARGMIN, NULL, verify_argmin}, {WF_ARGMAX, NULL, verify_argmax}, {WF_NORMINF, NULL, verify_norminf},
    {WF_ANY, NULL, verify_any},       {WF_ALL, NULL, verify_all},       {WF_NONZERO, NULL, verify_nonzero},
};

/* Whether infinities and NaNs decide the result; then *is_right says whether it is the right one. */
static bool is_special(const struct bench_tally *tally, wf_op op, const wf_value *result, bool *is_right) {
    const struct bench_specials *seen = op == WF_DOT ? &tally->pairs : &tally->values;
    bool is_order = op == WF_MIN || op == WF_MAX || op == WF_NORMINF,
         is_arg = op == WF_ARGMIN || op == WF_ARGMAX;
    bool is_signed = op == WF_SUM || op == WF_MEAN || op == WF_DOT,
         is_norm = op == WF_NORM1 || op == WF_NORM2;
    bool any_nan = seen->nans && tally->nan == WF_NAN_PROPAGATE;
    bool any_infinity = seen->infinities[0] || seen->infinities[1];
    if (!is_arg && !is_order && !is_signed && !is_norm && op != WF_VAR && op != WF_STD) return false;
    if (is_arg && any_nan) *is_right = result->v.u == (uint64_t)seen->first_nan;
    if (is_arg || (is_order && !any_nan)) return any_nan;
    if (!any_nan && !any_infinity && !seen->invalid) return false;
    bool both = is_signed && seen->infinities[0] && seen->infinities[1];
    struct part part = part_of(result);
    if (any_nan || both || seen->invalid || op == WF_VAR || op == WF_STD)
        *is_right = part.is_nan;
    else
        *is_right = part.is_infinite && part.is_negative == (is_signed && seen->infinities[1]);
    return true;
}

bool bench_verify(const struct bench_tally *tally, wf_op op, const wf_value *result) {
    bool is_special_right = false;
    if (result->type != wf_op_result_type(op, tally->type)) return false;
    if (is_special(tally, op, result, &is_special_right)) return is_special_right;
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        if (answers[i].op != op) continue;
        if (answers[i].verify) return answers[i].verify(tally, result);
        struct exact exact = answers[i].exact(tally);
        return is_right(&exact, result);
    }
    return false;
}

bool bench_verify_stats(const struct bench_tally *tally, const wf_stats *stats) {
    return stats->count == (uint64_t)tally->count && stats->nans == tally->values.nans &&
           bench_verify(tally, WF_SUM, &stats->sum) && bench_verify(tally, WF_MEAN, &stats->mean) &&
           bench_verify(tally, WF_VAR, &stats->var) && bench_verify(tally, WF_STD, &stats->std) &&
           bench_verify(tally, WF_MIN, &stats->min) && bench_verify(tally, WF_MAX, &stats->max) &&
           bench_verify(tally, WF_ARGMIN, &stats->argmin) && bench_verify(tally, WF_ARGMAX, &stats->argmax) &&
           bench_verify(tally, WF_NONZERO, &stats->nonzero) && bench_verify(tally, WF_NORM1, &stats->norm1) &&
           bench_verify(tally, WF_NORM2, &stats->norm2) && bench_verify(tally, WF_NORMINF, &stats->norminf);
}

/* ---- how far off? -------------------------------------------------------------------------------- */

/* The unit in the last place of a finite x. */
static double last_place(struct part x, const struct format *format) {
    return ldexp(1, x.exponent + format->unit);
}

static double error_float(double right, double got, double unit) {
    if (right == got || (isnan(right) && isnan(got))) return 0;
    if (!isfinite(right) || !isfinite(got)) return INFINITY;
    return (double)(fabsl((long double)got - (long double)right) / (long double)unit);
}

double bench_error(const wf_value *right, const wf_value *got) {
    if (is_float(right->type))
        return error_float(wf_value_to_double(right), wf_value_to_double(got),
                           last_place(part_of(right), format_of(right->type)));
    uint64_t greater = right->v.u, less = got->v.u; /* the bits of an i64 do as well: the difference wraps */
    bool is_swapped = key_of(right) < key_of(got);
    return (double)(is_swapped ? less - greater : greater - less);
}
