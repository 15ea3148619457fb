#include "bench_data.h"

#include <string.h>

struct fill {
    void *into;
    enum bench_kind kind; /* of floats */
    uint64_t count;
};

typedef void fill_function(const struct fill *fill, size_t begin, size_t end);

static const struct bench_format f32_format = {23, 127, 254 - 31}, f64_format = {52, 1023, 2046 - 31},
                                 bf16_format = {7, 127, 254 - 31},
                                 f16_format = {10, 15, 30}; /* all exponents: sums may overflow */

static struct bench_element element_of(struct bench_format format, const struct fill *fill, size_t i) {
    return bench_element_at(format, i, fill->count, fill->kind);
}

static void fill_f32(const struct fill *fill, size_t begin, size_t end) {
    float *into = fill->into;
    for (size_t i = begin; i < end; i++) {
        struct bench_element element = element_of(f32_format, fill, i);
        uint32_t bits = (uint32_t)element.bits;
        into[i] = (float)element.value;
        if (element.is_bits) memcpy(&into[i], &bits, sizeof bits);
    }
}

static void fill_f64(const struct fill *fill, size_t begin, size_t end) {
    double *into = fill->into;
    for (size_t i = begin; i < end; i++) {
        struct bench_element element = element_of(f64_format, fill, i);
        into[i] = element.value;
        if (element.is_bits) memcpy(&into[i], &element.bits, sizeof element.bits);
    }
}

/* To nearest, the larger magnitude where two are as near; an infinity beyond the range. */
static uint16_t round_to_half(double value, struct bench_format format) {
    const int least = 1 - format.bias - format.fraction_bits;
    const uint64_t infinity = (uint64_t)(2 * format.bias + 1) << format.fraction_bits;
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    int exponent;
    if (value == 0) return sign;
    frexp(value, &exponent);
    if (exponent < 2 - format.bias) exponent = 2 - format.bias; /* a subnormal */
    int unit = exponent - 1 - format.fraction_bits;
    uint64_t bits = (uint64_t)floor(ldexp(fabs(value), -unit) + 0.5); /* a carry goes to the exponent */
    bits += (uint64_t)(unit - least) << format.fraction_bits;
    return (uint16_t)(sign | (bits < infinity ? bits : infinity));
}

static void fill_half(const struct fill *fill, size_t begin, size_t end, struct bench_format format) {
    uint16_t *into = fill->into;
    for (size_t i = begin; i < end; i++) {
        struct bench_element element = element_of(format, fill, i);
        into[i] = element.is_bits ? (uint16_t)element.bits : round_to_half(element.value, format);
    }
}

static void fill_bf16(const struct fill *fill, size_t begin, size_t end) {
    fill_half(fill, begin, end, bf16_format);
}

static void fill_f16(const struct fill *fill, size_t begin, size_t end) {
    fill_half(fill, begin, end, f16_format);
}

/* Of 24 bits, so that no sum of products of a benchmark's size overflows. */
static void fill_i32(const struct fill *fill, size_t begin, size_t end) {
    int32_t *into = fill->into;
    for (size_t i = begin; i < end; i++) into[i] = (int32_t)(random_at(i) >> 40) - (1 << 23);
}

static void fill_i8(const struct fill *fill, size_t begin, size_t end) {
    int8_t *into = fill->into;
    for (size_t i = begin; i < end; i++) into[i] = (int8_t)((int)(random_at(i) >> 56) - 128);
}

static const char *const names[] = {
#define X(name) #name,
    BENCH_KINDS(X)
#undef X
        "zeros"};

static const struct type {
    wf_type type;
    bool is_float;
    fill_function *fill;
} types[] = {
    {WF_F32, true, fill_f32}, {WF_F64, true, fill_f64},  {WF_BF16, true, fill_bf16},
    {WF_F16, true, fill_f16}, {WF_I32, false, fill_i32}, {WF_I8, false, fill_i8},
};

static const struct type *find_type(wf_type type) {
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].type == type) return &types[i];
    return NULL;
}

const char *bench_data_name(enum bench_data data) {
    return names[data];
}

bool bench_data_exists(enum bench_data data, wf_type type) {
    const struct type *found = find_type(type);
    return found && (data == BENCH_UNIFORM || data == BENCH_ZEROS || found->is_float);
}

struct job {
    struct fill fill;
    fill_function *run;
};

static void fill_piece(void *context, int thread, size_t begin, size_t end) {
    const struct job *job = context;
    (void)thread;
    job->run(&job->fill, begin, end);
}

static void zero_piece(void *context, int thread, size_t begin, size_t end) {
    (void)thread;
    memset((char *)context + begin, 0, end - begin);
}

void bench_data_fill(void *into, wf_type type, enum bench_data data, int64_t count, struct bench_pool *pool) {
    enum { PIECE = 1 << 16 };
    int threads = bench_pool_threads(pool);
    if (data == BENCH_ZEROS) {
        bench_pool_run(pool, threads, (size_t)count * wf_type_nbytes(type), PIECE, zero_piece, into);
        return;
    }
    struct job job = {{into, (enum bench_kind)data, (uint64_t)count}, find_type(type)->fill};
    bench_pool_run(pool, threads, (size_t)count, PIECE, fill_piece, &job);
}
