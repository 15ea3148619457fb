/* The convenience functions without a handle: one contiguous array, all defaults. */
#include "core/environment.h"
#include "core/small_sum.h"
#include "cpu/workers.h"
#include "common/getenv.h"

#include <math.h>
#include <stdlib.h>

static void reduce_alone(wf_op op, wf_type type, const void *x, const void *y, int64_t count, wf_value *result) {
    struct wf_accumulator acc;
    const struct wf_tier *tier = wf_tier_choose(wf_getenv("WARPFOLD_TIER"));
    const wf_reduction reduction = wf_reduction_of(op);
    wf_accumulator_init(&acc, &reduction, type, NULL); /* none of them is a product */
    wf_environment callers = wf_environment_enter();
    wf_cpu_add_alone(&acc, tier ? tier : wf_tier_choose(NULL), x, y, count);
    acc.count = acc.end_index = count;
    wf_accumulator_finish(NULL, &acc, op, result);
    wf_environment_leave(callers);
}

static bool try_few(wf_op op, wf_type type, const void *x, int64_t count, wf_value *result) {
    const wf_reduction reduction = wf_reduction_of(op);
    wf_array array = wf_array_vector(x, type, count);
    return wf_small_value(&reduction, &array, result);
}

/* The result, or a value of type WF_TYPE_DEFAULT if it is undefined or the arguments are invalid. */
static wf_value reduce(wf_op op, wf_type type, const void *x, const void *y, int64_t count) {
    wf_value result = {.type = WF_TYPE_DEFAULT};
    bool pairs = wf_op_takes_pairs(op);
    int64_t nbytes = (int64_t)wf_type_nbytes(type);
    if (count < 0 || count > INT64_MAX / nbytes || (count && (!x || (pairs && !y)))) return result;
    if (pairs || !try_few(op, type, x, count, &result)) reduce_alone(op, type, x, pairs ? y : NULL, count, &result);
    return result;
}

static double reduce_f64(wf_op op, const double *a, const double *b, int64_t count) {
    wf_value value = reduce(op, WF_F64, a, b, count);
    return value.type ? value.v.f64 : NAN;
}

static float reduce_f32(wf_op op, const float *a, const float *b, int64_t count) {
    wf_value value = reduce(op, WF_F32, a, b, count);
    return value.type ? value.v.f32 : NAN;
}

static uint64_t reduce_index(wf_op op, wf_type type, const void *data, int64_t count) {
    wf_value value = reduce(op, type, data, NULL, count);
    return value.type ? value.v.u : WF_NO_INDEX;
}

double wf_sum_f64(const double *data, int64_t count) {
    return reduce_f64(WF_SUM, data, NULL, count);
}

double wf_mean_f64(const double *data, int64_t count) {
    return reduce_f64(WF_MEAN, data, NULL, count);
}

double wf_var_f64(const double *data, int64_t count) {
    return reduce_f64(WF_VAR, data, NULL, count);
}

double wf_std_f64(const double *data, int64_t count) {
    return reduce_f64(WF_STD, data, NULL, count);
}

double wf_norm2_f64(const double *data, int64_t count) {
    return reduce_f64(WF_NORM2, data, NULL, count);
}

double wf_min_f64(const double *data, int64_t count) {
    return reduce_f64(WF_MIN, data, NULL, count);
}

double wf_max_f64(const double *data, int64_t count) {
    return reduce_f64(WF_MAX, data, NULL, count);
}

uint64_t wf_argmin_f64(const double *data, int64_t count) {
    return reduce_index(WF_ARGMIN, WF_F64, data, count);
}

uint64_t wf_argmax_f64(const double *data, int64_t count) {
    return reduce_index(WF_ARGMAX, WF_F64, data, count);
}

double wf_dot_f64(const double *a, const double *b, int64_t count) {
    return reduce_f64(WF_DOT, a, b, count);
}

float wf_sum_f32(const float *data, int64_t count) {
    return reduce_f32(WF_SUM, data, NULL, count);
}

float wf_mean_f32(const float *data, int64_t count) {
    return reduce_f32(WF_MEAN, data, NULL, count);
}

float wf_var_f32(const float *data, int64_t count) {
    return reduce_f32(WF_VAR, data, NULL, count);
}

float wf_std_f32(const float *data, int64_t count) {
    return reduce_f32(WF_STD, data, NULL, count);
}

float wf_norm2_f32(const float *data, int64_t count) {
    return reduce_f32(WF_NORM2, data, NULL, count);
}

float wf_min_f32(const float *data, int64_t count) {
    return reduce_f32(WF_MIN, data, NULL, count);
}

float wf_max_f32(const float *data, int64_t count) {
    return reduce_f32(WF_MAX, data, NULL, count);
}

uint64_t wf_argmin_f32(const float *data, int64_t count) {
    return reduce_index(WF_ARGMIN, WF_F32, data, count);
}

uint64_t wf_argmax_f32(const float *data, int64_t count) {
    return reduce_index(WF_ARGMAX, WF_F32, data, count);
}

float wf_dot_f32(const float *a, const float *b, int64_t count) {
    return reduce_f32(WF_DOT, a, b, count);
}
