/* The kinds of data that the benchmarks of the CPU and of the GPU fill floats with: C and CUDA in one.  Element i
 * is the same wherever it is made, but for the last bit of a logarithm. */
#ifndef BENCH_KINDS_H
#define BENCH_KINDS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define BENCH_INLINE __host__ __device__ static inline
#else
#define BENCH_INLINE static inline
#endif

/* The names, in the order of the enumeration. */
#define BENCH_KINDS(X)                                                                                        \
    X(uniform)                                                                                                \
    X(normal)                                                                                                 \
    X(wide20) /* exponents spread evenly from -20 to 20; random signs */                                      \
    X(wide60)                                                                                                 \
    X(wide100)                                                                                                \
    X(wide250)                                                                                                \
    X(full)      /* from the subnormals up, so far below the top that no sum of 2^30 of them overflows */     \
    X(relu)      /* half of them zeros */                                                                     \
    X(sparse)    /* 99 of 100 zeros */                                                                        \
    X(ints)      /* from -1000 to 1000 */                                                                     \
    X(grad)      /* normal times e^(3 normal), times 1e-4: gradients */                                       \
    X(lognormal) /* e^(8 normal) */                                                                           \
    X(one_nan)                                                                                                \
    X(one_infinity)                                                                                           \
    X(nan_1000) /* one in a thousand */                                                                       \
    X(nan_2)    /* one in two */                                                                              \
    X(subnormal)                                                                                              \
    X(half_subnormal)                                                                                         \
    X(bits)        /* any bit pattern: NaNs, infinities and the largest exponents among them */               \
    X(alternating) /* another kind every thousand elements */                                                 \
    X(sorted)      /* by magnitude, over all exponents */                                                     \
    X(missed)      /* in each chunk some that no window of narrow data holds */                               \
    X(two_scales)  /* one in three, at random, as far away as those */                                        \
    X(cancelling)  /* over all exponents, every other the one before it, negative, but for its last bit */

enum bench_kind {
#define X(name) BENCH_KIND_##name,
    BENCH_KINDS(X)
#undef X
        BENCH_KIND_COUNT
};

/* How a float of the type is put together: the bits of its fraction, the bias of its exponent, the exponents
 * (biased) that hold every sum of 2^30 of them. */
struct bench_format {
    int fraction_bits, bias, top;
};

/* A real number, to be rounded to the type, or an element as its bits. */
struct bench_element {
    bool is_bits;
    double value;
    uint64_t bits;
};

/* splitmix64 of a counter. */
BENCH_INLINE uint64_t random_at(uint64_t i) {
    uint64_t z = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* In (-1, 1). */
BENCH_INLINE double uniform_at(uint64_t i) {
    return (double)(int64_t)random_at(i) * 0x1p-63;
}

/* Of mean 0 and variance 1: Box and Muller's. */
BENCH_INLINE double normal_at(uint64_t i) {
    const double radius = (double)((random_at(i) >> 11) + 1) * 0x1p-53;
    return sqrt(-2 * log(radius)) * cos(3.141592653589793 * uniform_at(~i));
}

BENCH_INLINE double grad_at(uint64_t i) {
    return 1e-4 * normal_at(i) * exp(3 * normal_at(i + (UINT64_C(1) << 62)));
}

BENCH_INLINE struct bench_element real(double value) {
    struct bench_element element = {false, value, 0};
    return element;
}

BENCH_INLINE struct bench_element pattern(uint64_t bits) {
    struct bench_element element = {true, 0, bits};
    return element;
}

/* The sign and the fraction at random, the exponent (biased) as given. */
BENCH_INLINE struct bench_element with_exponent(struct bench_format form, uint64_t i, uint64_t exponent) {
    const uint64_t fraction = random_at(~i) & ((UINT64_C(1) << form.fraction_bits) - 1);
    const uint64_t sign = 2 * (uint64_t)form.bias + 2; /* above all exponents */
    return pattern(((random_at(i) & 1) * sign | exponent) << form.fraction_bits | fraction);
}

/* The exponents within 2^(+-reach), as far as the type has them. */
BENCH_INLINE struct bench_element spread_at(struct bench_format form, uint64_t i, int reach) {
    const bool is_all = form.bias <= reach;
    const uint64_t low = is_all ? 0 : (uint64_t)(form.bias - reach);
    const uint64_t count = is_all ? (uint64_t)form.top + 1 : 2 * (uint64_t)reach + 1;
    return with_exponent(form, i, low + ((random_at(i) >> 32) * count >> 32));
}

/* Sums of these cancel to what last bits leave. */
BENCH_INLINE struct bench_element cancelling_at(struct bench_format form, uint64_t i) {
    const uint64_t sign = (2 * (uint64_t)form.bias + 2) << form.fraction_bits;
    const struct bench_element element = spread_at(form, i - i % 2, form.bias);
    return pattern(i % 2 ? element.bits ^ sign ^ 1 : element.bits);
}

/* So much smaller that no narrow window holds both. */
BENCH_INLINE double far_below(struct bench_format form, double value) {
    return value * (form.bias > 127 ? 0x1p-300 : form.bias > 15 ? 0x1p-60 : 0x1p-14);
}

BENCH_INLINE struct bench_element special_at(struct bench_format form, bool is_nan) {
    const uint64_t infinity = (uint64_t)(2 * form.bias + 1) << form.fraction_bits;
    return pattern(is_nan ? infinity | UINT64_C(1) << (form.fraction_bits - 1) : infinity);
}

/* Where one element is unlike the others. */
BENCH_INLINE uint64_t bench_stands_out(uint64_t count) {
    const uint64_t far = (UINT64_C(1) << 26) + 12345;
    return far < count ? far : count / 2;
}

BENCH_INLINE struct bench_element bench_element_at(struct bench_format form, uint64_t i, uint64_t count,
                                                   enum bench_kind kind) {
    const double uniform = uniform_at(i);
    const uint64_t dice = random_at(i + (UINT64_C(1) << 61));
    switch (kind) {
    case BENCH_KIND_normal: return real(normal_at(i));
    case BENCH_KIND_wide20: return spread_at(form, i, 20);
    case BENCH_KIND_wide60: return spread_at(form, i, 60);
    case BENCH_KIND_wide100: return spread_at(form, i, 100);
    case BENCH_KIND_wide250: return spread_at(form, i, 250);
    case BENCH_KIND_full: return spread_at(form, i, form.bias);
    case BENCH_KIND_relu: return real(uniform > 0 ? uniform : 0);
    case BENCH_KIND_sparse: return real(dice % 100 ? 0 : uniform);
    case BENCH_KIND_ints: return real((double)(int64_t)(dice % 2001) - 1000);
    case BENCH_KIND_grad: return real(grad_at(i));
    case BENCH_KIND_lognormal: return real(exp(8 * normal_at(i)));
    case BENCH_KIND_one_nan: return i == bench_stands_out(count) ? special_at(form, true) : real(uniform);
    case BENCH_KIND_one_infinity: return i == bench_stands_out(count) ? special_at(form, false) : real(uniform);
    case BENCH_KIND_nan_1000: return dice % 1000 ? real(uniform) : special_at(form, true);
    case BENCH_KIND_nan_2: return dice % 2 ? real(uniform) : special_at(form, true);
    case BENCH_KIND_subnormal: return with_exponent(form, i, 0);
    case BENCH_KIND_half_subnormal: return dice % 2 ? real(uniform) : with_exponent(form, i, 0);
    case BENCH_KIND_bits: return pattern(dice);
    case BENCH_KIND_alternating:
        switch (i / 1000 % 5) {
        case 0: return real(uniform);
        case 1: return real(grad_at(i));
        case 2: return pattern(dice);
        case 3: return with_exponent(form, i, 0);
        default: return real(0);
        }
    case BENCH_KIND_sorted: return with_exponent(form, i, i * ((uint64_t)form.top + 1) / count);
    case BENCH_KIND_missed: return real(i % 61 ? uniform : far_below(form, uniform));
    case BENCH_KIND_two_scales: return real(dice % 3 ? uniform : far_below(form, uniform));
    case BENCH_KIND_cancelling: return cancelling_at(form, i);
    default: return real(uniform);
    }
}

#endif
