/* Elements on the host: data to be reduced, what it reduces to, and how far a float is from that. */
#include "ladder.h"

#include <math.h>
#include <string.h>

/* ---- numbers ------------------------------------------------------------------------------------- */

struct filling {
    wf_op op;
    enum ladder_data data;
    uint64_t n, seed;
    int digits; /* binary, of a float's significand */
};

/* The i-th of a sequence of random numbers (splitmix64). */
static uint64_t random_bits(const struct filling *filling, uint64_t i) {
    uint64_t z = (filling->seed + i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* From -8 to 8, so that equal ones are met. */
static int small_number(uint64_t random) {
    return (int)(random % 17) - 8;
}

/* Odd factors, since an even one among two soon leaves nothing but zero. */
static uint64_t integer_number(const struct filling *filling, uint64_t i) {
    uint64_t random = random_bits(filling, i);
    if (filling->op == WF_ARGMAX) return (uint64_t)(int64_t)(small_number(random) + 8);
    return filling->op == WF_PROD ? random | 1 : random;
}

/* In [0, 1), with all of the digits. */
static double uniform_number(const struct filling *filling, uint64_t i) {
    return ldexp((double)(random_bits(filling, i) >> (64 - filling->digits)), -filling->digits);
}

/* Integers, so small and few that the sum of their magnitudes has no more digits than a significand. */
static double exact_term(const struct filling *filling, uint64_t i) {
    uint64_t most = UINT64_C(1) << filling->digits, random = random_bits(filling, i);
    uint64_t greatest = filling->n ? most / filling->n : 8;
    if (greatest == 0) return i % (filling->n / most + 1) ? 0 : random & 1 ? 1 : -1;
    if (greatest > 8) greatest = 8;
    return (double)(int64_t)(random % (2 * greatest + 1)) - (double)greatest;
}

/* 1 and -1; and about 50 times 2 and 0.5, so that no product leaves the range. */
static double exact_factor(const struct filling *filling, uint64_t i) {
    uint64_t random = random_bits(filling, i), kind = (random >> 1) % filling->n;
    double magnitude = kind < 50 ? 2 : kind < 100 ? 0.5 : 1;
    return random & 1 ? magnitude : -magnitude;
}

static double float_number(const struct filling *filling, uint64_t i) {
    bool exact = filling->data == LADDER_DATA_EXACT;
    if (filling->op == WF_SUM && exact) return exact_term(filling, i);
    if (filling->op == WF_PROD && exact) return exact_factor(filling, i);
    if (filling->op == WF_ARGMAX && exact) return small_number(random_bits(filling, i));
    double uniform = uniform_number(filling, i);
    if (filling->op == WF_PROD) return 1 + (2 * uniform - 1) / sqrt((double)filling->n + 3);
    return uniform;
}

/* ---- types --------------------------------------------------------------------------------------- */

#define T int32_t
#define W uint32_t
#define NUMBER integer_number
#define LOWEST INT32_MIN
#define HIGHEST INT32_MAX
#define NAME(x) x##_i32
#include "values.inc"

#define T uint32_t
#define W uint32_t
#define NUMBER integer_number
#define LOWEST 0
#define HIGHEST UINT32_MAX
#define NAME(x) x##_u32
#include "values.inc"

#define T int64_t
#define W uint64_t
#define NUMBER integer_number
#define LOWEST INT64_MIN
#define HIGHEST INT64_MAX
#define NAME(x) x##_i64
#include "values.inc"

#define T uint64_t
#define W uint64_t
#define NUMBER integer_number
#define LOWEST 0
#define HIGHEST UINT64_MAX
#define NAME(x) x##_u64
#include "values.inc"

#define T float
#define W float
#define NUMBER float_number
#define LOWEST (-INFINITY)
#define HIGHEST INFINITY
#define NAME(x) x##_f32
#include "values.inc"

#define T double
#define W double
#define NUMBER float_number
#define LOWEST (-(double)INFINITY)
#define HIGHEST ((double)INFINITY)
#define NAME(x) x##_f64
#include "values.inc"

/* Name, type, and a float's digits. */
#define TYPES(X)                                                                                             \
    X(i32, WF_I32, 0)                                                                                        \
    X(u32, WF_U32, 0)                                                                                        \
    X(i64, WF_I64, 0)                                                                                        \
    X(u64, WF_U64, 0)                                                                                        \
    X(f32, WF_F32, 24)                                                                                       \
    X(f64, WF_F64, 53)

#define ROW(name, type, digits)                                                                              \
    {type, digits, put_identity_##name, reduce_##name, find_greatest_##name, fill_##name},

static const struct type {
    wf_type type;
    int digits; /* binary, of floats */
    void (*put_identity)(wf_op op, void *element);
    void (*reduce)(const void *values, wf_op op, uint64_t n, void *element);
    uint64_t (*find_greatest)(const void *values, const int64_t *indices, uint64_t n);
    void (*fill)(const struct filling *filling, uint64_t n, void *values);
} types[] = {TYPES(ROW)};

static const struct type *find_type(wf_type type) {
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].type == type) return &types[i];
    return NULL;
}

bool ladder_type_check(wf_type type) {
    return find_type(type);
}

void ladder_fill(void *values, wf_type type, wf_op op, uint64_t n, enum ladder_data data, uint64_t seed) {
    const struct type *row = find_type(type);
    const struct filling filling = {op, data, n, seed, row->digits};
    row->fill(&filling, n, values);
}

void ladder_put_identity(void *element, wf_type type, wf_op op) {
    find_type(type)->put_identity(op, element);
}

wf_value ladder_value(const void *element, wf_type type) {
    wf_value value = {.type = type};
    int32_t i32;
    uint32_t u32;
    switch (type) {
    case WF_I32:
        memcpy(&i32, element, sizeof i32);
        value.v.i = i32;
        break;
    case WF_U32:
        memcpy(&u32, element, sizeof u32);
        value.v.u = u32;
        break;
    default: memcpy(&value.v, element, wf_type_nbytes(type));
    }
    return value;
}

/* ---- results ------------------------------------------------------------------------------------- */

struct ladder_result ladder_reduce(const void *values, const int64_t *indices, wf_type type, wf_op op,
                                   uint64_t n) {
    const struct type *row = find_type(type);
    struct ladder_result result = {.index = LADDER_NO_INDEX};
    uint64_t element;
    row->reduce(values, op, n, &element);
    result.value = ladder_value(&element, type);
    if (op == WF_ARGMAX && n) {
        uint64_t at = row->find_greatest(values, indices, n);
        result.index = indices ? indices[at] : (int64_t)at;
    }
    return result;
}

bool ladder_result_equal(const struct ladder_result *a, const struct ladder_result *b, wf_op op) {
    if (a->value.type != b->value.type || (op == WF_ARGMAX && a->index != b->index)) return false;
    if (a->value.type == WF_F32) return !memcmp(&a->value.v.f32, &b->value.v.f32, sizeof a->value.v.f32);
    return !memcmp(&a->value.v.u, &b->value.v.u, sizeof a->value.v.u);
}

/* Ascending with the float, by one from each to the next; 0 of both zeros. */
static int64_t float_rank(const wf_value *value) {
    if (value->type == WF_F64) return value->v.i < 0 ? INT64_MIN - value->v.i : value->v.i;
    int32_t bits;
    memcpy(&bits, &value->v.f32, sizeof bits);
    return bits < 0 ? (int64_t)INT32_MIN - bits : bits;
}

static double rank_distance(int64_t a, int64_t b) {
    return (double)(a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a);
}

wf_error ladder_error_ulp(const struct ladder_result *result, const void *values, wf_op op, uint64_t n, double *ulp) {
    wf_type type = result->value.type;
    *ulp = NAN;
    if ((type != WF_F32 && type != WF_F64) || op == WF_ARGMAX || n == 0) return WF_OK;
    wf_handle *handle = NULL;
    wf_value rounded;
    wf_array array = wf_array_vector(values, type, (int64_t)n);
    const wf_reduction reduction = wf_reduction_of(op);
    wf_error error = wf_handle_create("cpu", &handle);
    if (!error) error = wf_reduce_value(handle, &reduction, &array, NULL, &rounded);
    wf_handle_destroy(handle);
    if (!error && !isnan(wf_value_to_double(&result->value)))
        *ulp = rank_distance(float_rank(&result->value), float_rank(&rounded));
    return error;
}
