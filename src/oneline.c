/* The one-line calls: one contiguous array, no handle, no options. */
#include "core/environment.h"
#include "cpu/cpu.h"
#include "cpu/few.h"

#include <math.h>
#include <stdlib.h>

/* From here on the threads of a handle, made for this call, pay for themselves. */
#define LARGE_NBYTES (INT64_C(4) << 20)

static bool reduce_large(wf_op op, const wf_array *a, const wf_array *b, wf_value *result) {
    wf_handle *handle;
    if (wf_handle_create("cpu", &handle)) return false;
    wf_error error = b ? wf_reduce_pair(handle, op, a, b, NULL, result) : wf_reduce(handle, op, a, NULL, result);
    wf_handle_destroy(handle);
    return !error;
}

static bool reduce_small(wf_op op, const wf_array *a, const wf_array *b, wf_value *result) {
    struct wf_accumulator acc;
    const struct wf_tier *tier = wf_tier_choose(getenv("WARPFOLD_TIER"));
    int64_t count = a->shape[0];
    wf_accumulator_init(&acc, op, a->type, &(wf_options){0});
    wf_environment callers = wf_environment_enter();
    wf_cpu_add_small(&acc, tier ? tier : wf_tier_choose(NULL), a->data, b ? b->data : NULL, count);
    acc.count = acc.end_index = count;
    wf_error error = wf_accumulator_finish(NULL, &acc, op, result);
    wf_environment_leave(callers);
    return !error;
}

/* The value, or one of type WF_TYPE_DEFAULT where there is none. */
static wf_value reduce(wf_op op, wf_type type, const void *x, const void *y, int64_t count) {
    wf_value result = {.type = WF_TYPE_DEFAULT};
    bool pairs = wf_op_takes_pairs(op);
    int64_t nbytes = (int64_t)wf_type_nbytes(type);
    if (count < 0 || count > INT64_MAX / nbytes || (count && (!x || (pairs && !y)))) return result;
    wf_array a = wf_array_vector(x, type, count), b = wf_array_vector(y, type, count);
    bool large = count * nbytes >= LARGE_NBYTES;
    struct wf_number sum;
    if (op == WF_SUM && wf_few_sum(&a, &sum) && wf_number_round(&sum, type, &result)) return result;
    if (!large || !reduce_large(op, &a, pairs ? &b : NULL, &result))
        reduce_small(op, &a, pairs ? &b : NULL, &result);
    return result;
}

static double reduce_f64(wf_op op, const double *a, const double *b, int64_t count) {
    wf_value value = reduce(op, WF_F64, a, b, count);
    return value.type ? value.as.f64 : NAN;
}

static float reduce_f32(wf_op op, const float *a, const float *b, int64_t count) {
    wf_value value = reduce(op, WF_F32, a, b, count);
    return value.type ? value.as.f32 : NAN;
}

static uint64_t reduce_index(wf_op op, wf_type type, const void *data, int64_t count) {
    wf_value value = reduce(op, type, data, NULL, count);
    return value.type ? value.as.u : WF_NO_INDEX;
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
