/* The benchmark's verifier: it takes the right result and no other, least of all a neighbour. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../bench/bench_big.c"
#include "../../bench/bench_exact.c"
#include "../../bench/bench_pool.c"

static int failures;

static void check(bool is_good, const char *what, wf_op op, wf_type type, double value) {
    if (is_good) return;
    printf("%s %s: %s %a\n", wf_op_name(op), wf_type_name(type), what, value);
    failures++;
}

static struct bench_tally tally_of_policy(const void *data, wf_type type, int64_t count, wf_nan nan) {
    struct bench_tally tally;
    struct bench_pool *pool = bench_pool_create(2);
    if (!pool || !bench_tally_take(&tally, data, type, count, nan, pool)) exit(1);
    bench_pool_destroy(pool);
    return tally;
}

static struct bench_tally tally_of(const void *data, wf_type type, int64_t count) {
    return tally_of_policy(data, type, count, WF_NAN_PROPAGATE);
}

static wf_value value_of(wf_type type, double number) {
    wf_value value = {.type = type};
    if (type == WF_F32)
        value.v.f32 = (float)number;
    else if (type == WF_F64)
        value.v.f64 = number;
    else if (type == WF_I64 || type == WF_I32 || type == WF_I8)
        value.v.i = (int64_t)number;
    else
        value.v.u = (uint64_t)number;
    return value;
}

/* The next value of the type in a direction. */
static wf_value neighbour_of(const wf_value *value, double towards) {
    wf_value next = *value;
    if (value->type == WF_F32)
        next.v.f32 = nextafterf(value->v.f32, (float)towards);
    else if (value->type == WF_F64)
        next.v.f64 = nextafter(value->v.f64, towards);
    else
        next.v.u += towards > 0 ? 1 : UINT64_MAX;
    return next;
}

/* The value is taken; its neighbours, its opposite and NaN are not. */
static void check_only(const struct bench_tally *tally, wf_op op, const wf_value *value) {
    double number = wf_value_to_double(value);
    bool is_float = value->type == WF_F32 || value->type == WF_F64;
    check(bench_verify(tally, op, value), "refused the right", op, tally->type, number);
    for (int up = 0; up < 2; up++) {
        wf_value next = neighbour_of(value, up ? INFINITY : -INFINITY);
        if (bench_error(value, &next) == 0) continue; /* there is none above an infinity */
        check(!bench_verify(tally, op, &next), "took the neighbour of", op, tally->type, number);
    }
    if (!is_float) return;
    wf_value opposite = value_of(value->type, -number), nan = value_of(value->type, NAN);
    check(!bench_verify(tally, op, &opposite), "took the opposite of", op, tally->type, number);
    check(!bench_verify(tally, op, &nan), "took NaN for", op, tally->type, number);
}

/* ---- results known by hand ----------------------------------------------------------------------- */

static const struct known {
    wf_op op;
    wf_type type; /* f32 or f64 */
    int count;
    double data[4], right;
} known[] = {
    {WF_SUM, WF_F32, 2, {1, 0x1p-24}, 1}, /* a tie, to even */
    {WF_SUM, WF_F32, 2, {0x1.000002p0, 0x1p-24}, 0x1.000004p0},
    {WF_SUM, WF_F32, 3, {1, 0x1p-24, 0x1p-149}, 0x1.000002p0}, /* just above one */
    {WF_SUM, WF_F32, 2, {1, -0x1p-25}, 1},                     /* a tie below a power of two */
    {WF_SUM, WF_F32, 3, {1, -0x1p-25, -0x1p-140}, 0x1.fffffep-1},
    {WF_SUM, WF_F32, 2, {FLT_MAX, 0x1p103}, INFINITY},
    {WF_SUM, WF_F32, 3, {FLT_MAX, 0x1p103, -0x1p-149}, FLT_MAX},
    {WF_SUM, WF_F32, 3, {FLT_MAX, FLT_MAX, -FLT_MAX}, FLT_MAX},
    {WF_SUM, WF_F32, 2, {-3, 3}, 0},
    {WF_SUM, WF_F64, 4, {1e300, 1, -1e300, 0x1p-53}, 1},
    {WF_SUM, WF_F64, 2, {DBL_MAX, 0x1p970}, INFINITY},
    {WF_SUM, WF_F64, 2, {-0x1p-1074, -0x1p-1074}, -0x1p-1073},
    {WF_MEAN, WF_F32, 2, {0x1p-149, 0}, 0}, /* half the least number */
    {WF_MEAN, WF_F32, 4, {0x1p-149, 0x1p-149, 0x1p-149, 0}, 0x1p-149},
    {WF_MEAN,
     WF_F32,
     3,
     {0x1p-126, 0x1p-126, 0x1.fffffcp-127},
     0x1p-126}, /* a third of a subnormal step below */
    {WF_MEAN, WF_F64, 3, {1, 2, 2}, 0x1.aaaaaaaaaaaabp0},
    {WF_NORM1, WF_F64, 3, {-1, 2, -3}, 6},
    {WF_NORM2, WF_F64, 2, {3, -4}, 5},
    {WF_NORM2, WF_F64, 2, {1, 1}, 0x1.6a09e667f3bcdp0},
    {WF_NORM2, WF_F64, 2, {0x3p-1074, 0x4p-1074}, 0x5p-1074},
    {WF_NORM2, WF_F32, 2, {1, 1}, 0x1.6a09e6p0},
    {WF_VAR, WF_F64, 4, {1, 2, 3, 4}, 1.25},
    {WF_VAR, WF_F64, 3, {1e16, 1e16 + 2, 1e16 + 4}, 0x1.5555555555555p1},
    {WF_STD, WF_F64, 2, {0, 1}, 0.5},
    {WF_STD, WF_F64, 3, {0, 0, 0x1p-1074}, 0}, /* 0.47 of the least number */
    {WF_DOT, WF_F64, 4, {1e200, 3, 1e200, 5}, INFINITY},
    {WF_DOT, WF_F32, 4, {0x1p-100, 3, 0x1p-100, 5}, 15},
    {WF_MIN, WF_F32, 3, {0, -1, 5}, -1},
    {WF_MAX, WF_F64, 3, {0, -1, 5}, 5},
    {WF_NORMINF, WF_F64, 3, {0, -7, 5}, 7},
};

static void check_known(const struct known *known) {
    float floats[4];
    for (int i = 0; i < known->count; i++) floats[i] = (float)known->data[i];
    const void *data = known->type == WF_F32 ? (const void *)floats : known->data;
    struct bench_tally tally = tally_of(data, known->type, known->count);
    wf_value right = value_of(known->type, known->right);
    check_only(&tally, known->op, &right);
}

static void check_order(void) {
    const double data[] = {2, -0.0, 0.0, 7, -0.0, 7};
    struct bench_tally tally = tally_of(data, WF_F64, 6);
    wf_value least = value_of(WF_F64, -0.0), greatest = value_of(WF_F64, 7);
    wf_value argmin = value_of(WF_U64, 1), argmax = value_of(WF_U64, 3), nonzero = value_of(WF_U64, 3);
    wf_value yes = value_of(WF_BOOL, 1), no = value_of(WF_BOOL, 0);
    check_only(&tally, WF_MIN, &least);
    check_only(&tally, WF_MAX, &greatest);
    check_only(&tally, WF_ARGMIN, &argmin);
    check_only(&tally, WF_ARGMAX, &argmax);
    check_only(&tally, WF_NONZERO, &nonzero);
    check_only(&tally, WF_ANY, &yes);
    check_only(&tally, WF_ALL, &no);
}

/* What infinities and NaNs make of sums, in either policy. */
static void check_specials(void) {
    const float data[] = {3, -INFINITY, NAN, -3}, omitted[] = {NAN, 3, 5, NAN};
    const uint16_t halves[] = {0x3c00, 0x7c00}; /* f16: 1, infinity */
    struct bench_tally tally = tally_of(data, WF_F32, 4), half = tally_of(halves, WF_F16, 2);
    wf_value nan = value_of(WF_F32, NAN), minus = value_of(WF_F32, -INFINITY), plus = value_of(WF_F32, INFINITY);
    wf_value first = value_of(WF_U64, 2), other = value_of(WF_U64, 1), half_infinity = {WF_F16, {.f16 = 0x7c00}};
    wf_value half_nan = {WF_F16, {.f16 = 0x7e00}}, sum = value_of(WF_F32, 8), mean = value_of(WF_F32, 4);
    check(bench_verify(&tally, WF_SUM, &nan) && !bench_verify(&tally, WF_SUM, &minus), "a NaN", WF_SUM, WF_F32, 0);
    check(bench_verify(&tally, WF_ARGMIN, &first), "the first NaN", WF_ARGMIN, WF_F32, 0);
    check(!bench_verify(&tally, WF_ARGMIN, &other), "another index", WF_ARGMIN, WF_F32, 0);
    check(bench_verify(&half, WF_SUM, &half_infinity) && !bench_verify(&half, WF_SUM, &half_nan), "an infinity",
          WF_SUM, WF_F16, 0);
    check(bench_verify(&half, WF_VAR, &half_nan), "an infinity", WF_VAR, WF_F16, 0);
    tally.nan = WF_NAN_OMIT;
    check(bench_verify(&tally, WF_SUM, &minus) && !bench_verify(&tally, WF_SUM, &plus), "its sign", WF_SUM, WF_F32, 0);
    check(bench_verify(&tally, WF_NORM1, &plus) && bench_verify(&tally, WF_VAR, &nan), "norms", WF_NORM1, WF_F32, 0);
    tally = tally_of_policy(omitted, WF_F32, 4, WF_NAN_OMIT);
    check_only(&tally, WF_SUM, &sum);
    check_only(&tally, WF_MEAN, &mean);
}

static void check_integers(void) {
    const int8_t data[] = {-128, -128, 127, 3};
    struct bench_tally tally = tally_of(data, WF_I8, 4);
    wf_value sum = value_of(WF_I64, -126), norm1 = value_of(WF_U64, 386), mean = value_of(WF_F64, -31.5);
    wf_value dot = value_of(WF_I64, -128 * 127 - 128 * 3), least = value_of(WF_I8, -128);
    check_only(&tally, WF_SUM, &sum);
    check_only(&tally, WF_NORM1, &norm1);
    check_only(&tally, WF_MEAN, &mean);
    check_only(&tally, WF_DOT, &dot);
    check_only(&tally, WF_MIN, &least);
}

/* ---- the library's results ----------------------------------------------------------------------- */

static void check_library(wf_handle *handle, wf_op op, const double *data, int64_t count) {
    struct bench_tally tally = tally_of(data, WF_F64, count);
    wf_array array = wf_array_vector(data, WF_F64, count);
    const wf_reduction reduction = wf_reduction_of(op);
    wf_value result;
    check(wf_reduce_value(handle, &reduction, &array, NULL, &result) == WF_OK, "failed", op, WF_F64, 0);
    check_only(&tally, op, &result);
}

static void check_stats(wf_handle *handle, const double *data, int64_t count) {
    struct bench_tally tally = tally_of(data, WF_F64, count);
    wf_array array = wf_array_vector(data, WF_F64, count);
    const wf_reduction reduction = wf_reduction_of(WF_STATS);
    wf_stats stats = {.nbytes = sizeof stats};
    check(wf_reduce_stats(handle, &reduction, &array, &stats) == WF_OK, "failed", WF_STATS, WF_F64, 0);
    check(bench_verify_stats(&tally, &stats), "refused the right", WF_STATS, WF_F64, 0);
    stats.var = neighbour_of(&stats.var, INFINITY);
    check(!bench_verify_stats(&tally, &stats), "took a wrong var", WF_STATS, WF_F64, 0);
}

static void check_errors(void) {
    wf_value one = value_of(WF_F32, 1), next = neighbour_of(&one, INFINITY),
             infinity = value_of(WF_F32, INFINITY);
    wf_value big = value_of(WF_F64, DBL_MAX), nearly = value_of(WF_F64, DBL_MAX - 0x1p972);
    wf_value least = value_of(WF_F64, 0x1p-1074), twice = value_of(WF_F64, 0x1p-1073);
    wf_value minus = value_of(WF_I64, -2), plus = value_of(WF_I64, 3);
    check(bench_error(&one, &one) == 0, "error of", WF_SUM, WF_F32, 1);
    check(bench_error(&one, &next) == 1, "error of", WF_SUM, WF_F32, 1);
    check(isinf(bench_error(&one, &infinity)), "error of", WF_SUM, WF_F32, INFINITY);
    check(bench_error(&big, &nearly) == 2, "error of", WF_SUM, WF_F64, DBL_MAX);
    check(bench_error(&least, &twice) == 1, "error of", WF_SUM, WF_F64, 0x1p-1074);
    check(bench_error(&minus, &plus) == 5 && bench_error(&plus, &minus) == 5, "error of", WF_SUM, WF_I64, 3);
}

int main(void) {
    static const wf_op ops[] = {WF_SUM, WF_MEAN, WF_VAR, WF_STD, WF_NORM1, WF_NORM2, WF_MIN, WF_MAX};
    enum { COUNT = 3000 };
    static double data[COUNT];
    uint64_t state = 1;
    for (int i = 0; i < COUNT; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        data[i] = ldexp((double)((int64_t)state >> 11), (int)(state >> 5 & 255) - 128);
    }
    wf_handle *handle;
    if (wf_handle_create("cpu", &handle)) return 1;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) check_known(&known[i]);
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) check_library(handle, ops[i], data, COUNT);
    check_stats(handle, data, COUNT);
    check_order();
    check_specials();
    check_integers();
    check_errors();
    wf_handle_destroy(handle);
    printf("%d failures\n", failures);
    return failures != 0;
}
