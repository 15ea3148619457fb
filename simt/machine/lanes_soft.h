/* Floating-point numbers in integer arithmetic: every rounding of PTX, to the bit, whatever the host's own
 * floating-point environment is.  For what the host's arithmetic cannot do directly: directed rounding, fused
 * operations, 16-bit formats, conversions. */
#ifndef SIMT_LANES_SOFT_H
#define SIMT_LANES_SOFT_H

#include <stdbool.h>
#include <stdint.h>

typedef unsigned __int128 simt_u128;

enum rounding { ROUND_NEAREST, ROUND_ZERO, ROUND_DOWN, ROUND_UP };

/* Rounding and flushing of a result before it is written to a register. */
enum finish {
    FINISH_NONE,
    FINISH_SAT = 1,       /* clamped to [0, 1], NaN to 0 */
    FINISH_RELU = 2,      /* less than 0 to 0 */
    FINISH_SATFINITE = 4, /* infinity, and what would round to it, to the largest finite number */
    FINISH_FLUSH = 8,     /* what is subnormal, rounded as if exponents had no end, to zero of its sign */
    FINISH_PAYLOAD = 16   /* a NaN keeps its sign and payload, made quiet */
};

struct format {
    int precision; /* bits of the significand, with the hidden one */
    int exponent_bits;
    uint64_t nan; /* the NaN that results have */
};

/* The NaN of f64 where no operand brings one. */
static const uint64_t simt_default_nan_f64 = 0xfff8000000000000;

extern const struct format simt_f16, simt_bf16, simt_f32, simt_f64;

enum number_class { NUMBER_ZERO, NUMBER_FINITE, NUMBER_INFINITE, NUMBER_NAN };

/* (-1)^is_negative * significand * 2^(exponent - 127), the significand's highest bit set.  Its lowest bit
 * stands for all that lies below it too ("jammed"), which no rounding to 64 bits or fewer can tell from the
 * exact number.  Of a NaN, the significand is the fraction from its highest bit down. */
struct number {
    enum number_class class;
    bool is_negative;
    int exponent;
    simt_u128 significand;
};

struct number simt_number_unpack(uint64_t bits, const struct format *format);
struct number simt_number_from_integer(uint64_t magnitude, bool is_negative);

/* The number in the format: rounded, finished. */
uint64_t simt_number_pack(struct number number, const struct format *format, enum rounding rounding,
                          unsigned finish);

/* The number rounded to an integer, as a number; and an integral one within [minimum, maximum], clamped to
 * that. NaN gives `nan`. */
struct number simt_number_round(struct number number, enum rounding rounding);
uint64_t simt_number_to_integer(struct number number, int64_t minimum, uint64_t maximum, uint64_t nan);

/* The sign of an exact zero depends on the rounding. */
struct number simt_number_add(struct number a, struct number b, enum rounding rounding);
struct number simt_number_multiply(struct number a, struct number b);
struct number simt_number_divide(struct number a, struct number b);
struct number simt_number_square_root(struct number a);
struct number simt_number_negate(struct number a);

#endif
