#include "bench_ceiling.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "bench_clock.h"

enum { PIECE_NBYTES = 1 << 18, STEP_NBYTES = 512 };

/* A load whose value is not used must be volatile, or be handed to an asm statement that says nothing. */
typedef volatile uint64_t __attribute__((may_alias)) word;

static inline void touch_plain(const unsigned char *data) {
    for (int i = 0; i < STEP_NBYTES; i += 8) (void)*(const word *)(data + i);
}

static inline void touch_tail(const unsigned char *data, size_t nbytes) {
    size_t i = 0;
    for (; i + 8 <= nbytes; i += 8) (void)*(const word *)(data + i);
    for (; i < nbytes; i++) (void)*(const volatile unsigned char *)(data + i);
}

static inline void prefetch(const unsigned char *data) {
    for (int i = 0; i < STEP_NBYTES; i += 64) __builtin_prefetch(data + i);
}

static void load_plain(const unsigned char *data, size_t nbytes) {
    size_t i = 0;
    for (; i + STEP_NBYTES <= nbytes; i += STEP_NBYTES) touch_plain(data + i);
    touch_tail(data + i, nbytes - i);
}

static void load_plain_ahead(const unsigned char *data, size_t nbytes) {
    size_t i = 0;
    for (; i + STEP_NBYTES <= nbytes; i += STEP_NBYTES) {
        prefetch(data + i + 8192);
        touch_plain(data + i);
    }
    touch_tail(data + i, nbytes - i);
}

#if defined(__x86_64__)
#define INLINE static inline __attribute__((always_inline))

__attribute__((target("avx2"))) INLINE void touch_avx2(const unsigned char *data) {
    for (int i = 0; i < STEP_NBYTES; i += 32)
        __asm__ volatile("" ::"x"(_mm256_loadu_si256((const __m256i *)(data + i))));
}

__attribute__((target("avx2"))) INLINE void run_avx2(const unsigned char *data, size_t nbytes, size_t ahead) {
    size_t i = 0;
    for (; i + STEP_NBYTES <= nbytes; i += STEP_NBYTES) {
        if (ahead) prefetch(data + i + ahead);
        touch_avx2(data + i);
    }
    touch_tail(data + i, nbytes - i);
}

__attribute__((target("avx2"))) static void load_avx2(const unsigned char *data, size_t nbytes) {
    run_avx2(data, nbytes, 0);
}

__attribute__((target("avx2"))) static void load_avx2_8k(const unsigned char *data, size_t nbytes) {
    run_avx2(data, nbytes, 8192);
}

__attribute__((target("avx512f"))) INLINE void touch_avx512(const unsigned char *data) {
    for (int i = 0; i < STEP_NBYTES; i += 64) __asm__ volatile("" ::"v"(_mm512_loadu_si512(data + i)));
}

__attribute__((target("avx512f"))) INLINE void run_avx512(const unsigned char *data, size_t nbytes,
                                                          size_t ahead) {
    size_t i = 0;
    for (; i + STEP_NBYTES <= nbytes; i += STEP_NBYTES) {
        if (ahead) prefetch(data + i + ahead);
        touch_avx512(data + i);
    }
    touch_tail(data + i, nbytes - i);
}

__attribute__((target("avx512f"))) static void load_avx512(const unsigned char *data, size_t nbytes) {
    run_avx512(data, nbytes, 0);
}

__attribute__((target("avx512f"))) static void load_avx512_8k(const unsigned char *data, size_t nbytes) {
    run_avx512(data, nbytes, 8192);
}

/* Four streams at once keep more of the machine's prefetchers busy than one. */
__attribute__((target("avx512f"))) static void load_avx512_streams(const unsigned char *data, size_t nbytes) {
    enum { STREAM_NBYTES = 1 << 16, STREAMS = 4 };
    size_t i = 0;
    for (; i + STREAMS * STREAM_NBYTES <= nbytes; i += STREAMS * STREAM_NBYTES)
        for (size_t k = 0; k < STREAM_NBYTES; k += STEP_NBYTES)
            for (size_t stream = 0; stream < STREAMS; stream++)
                touch_avx512(data + i + stream * STREAM_NBYTES + k);
    run_avx512(data + i, nbytes - i, 0);
}

static bool has_avx2(void) {
    return __builtin_cpu_supports("avx2");
}

static bool has_avx512(void) {
    return __builtin_cpu_supports("avx512f");
}
#endif

static bool always(void) {
    return true;
}

static const struct {
    struct bench_ceiling ceiling;
    bool (*is_supported)(void);
} loops[] = {
    {{"plain", load_plain, 0}, always},
    {{"plain, prefetch 8 KiB ahead", load_plain_ahead, 0}, always},
#if defined(__x86_64__)
    {{"avx2", load_avx2, 0}, has_avx2},
    {{"avx2, prefetch 8 KiB ahead", load_avx2_8k, 0}, has_avx2},
    {{"avx512", load_avx512, 0}, has_avx512},
    {{"avx512, prefetch 8 KiB ahead", load_avx512_8k, 0}, has_avx512},
    {{"avx512, 4 streams", load_avx512_streams, 0}, has_avx512},
#endif
};

struct pass {
    void (*load)(const unsigned char *data, size_t nbytes);
    const unsigned char *data;
};

static void load_piece(void *context, int thread, size_t begin, size_t end) {
    const struct pass *pass = context;
    (void)thread;
    pass->load(pass->data + begin, end - begin);
}

double bench_ceiling_time(const struct bench_ceiling *ceiling, struct bench_pool *pool, const void *data,
                          size_t nbytes, long calls) {
    struct pass pass = {ceiling->load, data};
    double start = bench_now();
    for (long i = 0; i < calls; i++)
        bench_pool_run(pool, ceiling->threads, nbytes, PIECE_NBYTES, load_piece, &pass);
    return (bench_now() - start) / (double)calls;
}

/* A second thread may cost more than it brings; of a single piece it gets nothing. */
struct bench_ceiling bench_ceiling_choose(struct bench_pool *pool, int threads, const void *data,
                                          size_t nbytes) {
    enum { LOOPS = sizeof loops / sizeof loops[0], ROUNDS = 4 };
    struct bench_ceiling best = loops[0].ceiling;
    double least = INFINITY;
    bool is_single = threads == 1 || nbytes <= PIECE_NBYTES;
    long calls = nbytes >= 1 << 22 ? 1 : (1 << 22) / (long)(nbytes + 64);
    for (int i = 0; i < ROUNDS * LOOPS * 2; i++) {
        struct bench_ceiling candidate = loops[i / 2 % LOOPS].ceiling;
        candidate.threads = i % 2 ? threads : 1;
        if (!loops[i / 2 % LOOPS].is_supported() || (i % 2 && is_single)) continue;
        double time = bench_ceiling_time(&candidate, pool, data, nbytes, calls);
        if (time >= least) continue;
        least = time;
        best = candidate;
    }
    return best;
}
