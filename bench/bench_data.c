#include "bench_data.h"

#include <string.h>

/* splitmix64 of a counter: element i is the same whoever makes it. */
static uint64_t random_at(uint64_t i) {
    uint64_t z = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* The biased exponents of wide data: low, and how many from there. */
struct range {
    uint64_t low, size;
};

struct fill {
    void *into;
    struct range exponents;
};

typedef void fill_function(const struct fill *fill, size_t begin, size_t end);

static void fill_uniform_f32(const struct fill *fill, size_t begin, size_t end) {
    float *into = fill->into;
    for (size_t i = begin; i < end; i++) into[i] = (float)(int64_t)random_at(i) * 0x1p-63f;
}

static void fill_uniform_f64(const struct fill *fill, size_t begin, size_t end) {
    double *into = fill->into;
    for (size_t i = begin; i < end; i++) into[i] = (double)(int64_t)random_at(i) * 0x1p-63;
}

/* Of 24 bits, so that no sum of products of a benchmark's size overflows. */
static void fill_uniform_i32(const struct fill *fill, size_t begin, size_t end) {
    int32_t *into = fill->into;
    for (size_t i = begin; i < end; i++) into[i] = (int32_t)(random_at(i) >> 40) - (1 << 23);
}

static void fill_uniform_i8(const struct fill *fill, size_t begin, size_t end) {
    int8_t *into = fill->into;
    for (size_t i = begin; i < end; i++) into[i] = (int8_t)((int)(random_at(i) >> 56) - 128);
}

static uint64_t pick_exponent(const struct range *range, uint64_t bits) {
    return range->low + ((bits >> 32) * range->size >> 32);
}

static void fill_wide_f32(const struct fill *fill, size_t begin, size_t end) {
    float *into = fill->into;
    for (size_t i = begin; i < end; i++) {
        uint64_t bits = random_at(i);
        uint32_t number =
            (uint32_t)pick_exponent(&fill->exponents, bits) << 23 | ((uint32_t)bits & 0x807fffff);
        memcpy(&into[i], &number, sizeof number);
    }
}

static void fill_wide_f64(const struct fill *fill, size_t begin, size_t end) {
    double *into = fill->into;
    for (size_t i = begin; i < end; i++) {
        uint64_t fraction = random_at(~i);
        uint64_t number =
            pick_exponent(&fill->exponents, random_at(i)) << 52 | (fraction & UINT64_C(0x800fffffffffffff));
        memcpy(&into[i], &number, sizeof number);
    }
}

static const char *const names[] = {"uniform", "zeros", "wide20", "wide100", "full"};

/* A type's fill functions, and its exponents: the bias, and the largest of a finite number. */
static const struct kind {
    wf_type type;
    fill_function *uniform, *wide;
    uint64_t bias, top;
} kinds[] = {
    {WF_F32, fill_uniform_f32, fill_wide_f32, 127, 254},
    {WF_F64, fill_uniform_f64, fill_wide_f64, 1023, 2046},
    {WF_I32, fill_uniform_i32, NULL, 0, 0},
    {WF_I8, fill_uniform_i8, NULL, 0, 0},
};

static const struct kind *kind_of(wf_type type) {
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].type == type) return &kinds[i];
    return NULL;
}

const char *bench_data_name(enum bench_data data) {
    return names[data];
}

bool bench_data_exists(enum bench_data data, wf_type type) {
    const struct kind *kind = kind_of(type);
    return kind && (data == BENCH_UNIFORM || data == BENCH_ZEROS || kind->wide);
}

static struct range exponents_of(enum bench_data data, const struct kind *kind) {
    if (data == BENCH_FULL) return (struct range){0, kind->top - 31};
    uint64_t spread = data == BENCH_WIDE20 ? 20 : 100;
    return (struct range){kind->bias - spread, 2 * spread + 1};
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
    const struct kind *kind = kind_of(type);
    int threads = bench_pool_threads(pool);
    if (data == BENCH_ZEROS) {
        bench_pool_run(pool, threads, (size_t)count * wf_type_nbytes(type), PIECE, zero_piece, into);
        return;
    }
    struct job job = {{into, exponents_of(data, kind)}, data == BENCH_UNIFORM ? kind->uniform : kind->wide};
    bench_pool_run(pool, threads, (size_t)count, PIECE, fill_piece, &job);
}
