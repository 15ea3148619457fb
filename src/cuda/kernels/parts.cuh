// Which parts of a partial a kernel computes, and how it adds float sums.
//
// -DHAS_SUM=0|1 and so on say for each of enum wf_part whether it is wanted, -DIS_INDEXED=0|1 whether extremes need the
// index of an element.  All that follows are constants, so code for what is not wanted compiles and is dropped; `#if` is
// left for what has another shape then, such as the members of a struct.

#ifndef PARTS_CUH
#define PARTS_CUH

#include "core/parts.h"
#include "kernels/element.cuh"

#define HAS_VALUE_SUM (HAS_SUM || HAS_ABS)
#define HAS_PRODUCT_SUM (HAS_SQUARES || HAS_DOT)
#define HAS_SUMS (HAS_VALUE_SUM || HAS_PRODUCT_SUM)
#define HAS_EXTREMES (HAS_MIN || HAS_MAX)

#define OPERANDS (HAS_DOT ? 2 : 1)

// -DLOSES=1: where few levels do not hold a chunk, its lowest bits are left out, with a bound (losses.cuh), so bins are not
// needed.
#ifndef LOSES
#define LOSES 0
#endif

// Narrow values alone go to bins, as do f16 values together with products, whose bins are registers; everything else goes to levels,
// and what these do not hold to wide bins, or, of bf16 and its squares, to packed ones.
#define USES_BINS (HAS_VALUE_SUM && !IS_SMALL && (IS_F16 || (IS_FLOAT && WIDTH < 64 && !HAS_PRODUCT_SUM)))
#define USES_VALUE_LEVELS (IS_FLOAT && HAS_VALUE_SUM && !USES_BINS)
#define USES_PRODUCT_LEVELS (IS_FLOAT && HAS_PRODUCT_SUM)
#define USES_ERROR_LEVELS (USES_PRODUCT_LEVELS && WIDTH == 64)
#define USES_LEVELS (USES_VALUE_LEVELS || USES_PRODUCT_LEVELS)
#define USES_WIDE (USES_LEVELS && !IS_F16 && !LOSES) // f16's levels hold all
#define USES_PACKED (USES_WIDE && !IS_SMALL && IS_BF16 && HAS_SQUARES && HAS_VALUE_SUM) // in their place

// Of f16 two levels have 84 bits and one has 42: all products have 80, all values 40.
#define LEVELS_OF_F16 (HAS_PRODUCT_SUM ? 2 : 1)
#define IS_ONE_F64_SUM (IS_FLOAT && WIDTH == 64 && !HAS_PRODUCT_SUM && HAS_SUM != HAS_ABS && !IS_SMALL) // which has room
#define ARE_BINS_SOON (USES_PACKED || (USES_WIDE && !IS_SMALL && IS_BF16 && HAS_DOT)) // for which a third level leaves too few registers
#define LEVELS_OF_OTHERS (ARE_BINS_SOON || (IS_SMALL && WIDTH < 64 && !HAS_PRODUCT_SUM) ? 2 : IS_ONE_F64_SUM ? 4 : 3)
#define LEVELS (IS_F16 ? LEVELS_OF_F16 : LEVELS_OF_OTHERS)

// The levels that most terms need: 24 bits fit into one, 48 and 53 into two.
#define VALUE_FEW (WIDTH == 64 ? 2 : 1)
#define PRODUCT_FEW 2

// From sm_90 on, NaNs of bf16 are found by comparing both halves of a word, and infinities by multiplying them, which leaves the
// integer units to sums.  Beside levels, and of f16, whose sums leave these idle, it would not be faster (docs/performance-gpu.md).
#define USES_HALVES (IS_BF16 && USES_BINS && __CUDA_ARCH__ >= 900)

// What special_seen is where there is nothing special.
#define PLAIN_SPECIAL (IS_FLOAT && (HAS_SUM || HAS_DOT) ? WF_SPECIAL_NOT_ALL_NEGATIVE_ZERO : 0)

// Of small arrays an atomic operation on one word can do it all: add up sums and count the blocks.
#define PACKS_SUM (IS_SMALL && !IS_FLOAT && WIDTH <= 32 && HAS_SUM && !HAS_ABS && !HAS_PRODUCT_SUM && !HAS_EXTREMES)

// Where there are sums, these note NaNs.
#define LOOKS_FOR_NAN (IS_FLOAT && (HAS_EXTREMES || HAS_NONZERO) && !HAS_SUMS)

// Beside sums, extremes are looked for only in chunks whose words say that there may be new ones.
#define SKIPS_CHUNKS (IS_FLOAT && WIDTH >= 32 && HAS_EXTREMES && HAS_SUMS && IS_INDEXED && !IS_SMALL)

// A range serves for extremes and NaNs, and, a chunk at a time, for the largest magnitude of what goes to levels.
#define USES_RANGE (IS_FLOAT && HAS_EXTREMES && (WIDTH < 64 || SKIPS_CHUNKS))
#define RANGE_IS_OF_CHUNK (USES_RANGE && IS_INDEXED && !IS_SMALL)

// Beside sums, what is not 0 is counted one by one only where a chunk has a 0.
#define COUNTS_CHUNKS (IS_FLOAT && WIDTH >= 32 && HAS_SUMS && !IS_SMALL && HAS_NONZERO)

// The digits of each sum: multiples of 2^low, up to 2^high, 2^63 of them: see wf_exact_digit_count.
#define VALUE_LOW (IS_FLOAT ? LOW_EXPONENT : 0)
#define VALUE_HIGH (IS_FLOAT ? HIGH_EXPONENT : IS_BOOL ? 1 : WIDTH - IS_SIGNED)
#define DIGITS(low, high) (((high) - (low) + 64 + 31) / 32 + 2)
#define VALUE_DIGITS DIGITS(VALUE_LOW, VALUE_HIGH)
#define PRODUCT_DIGITS DIGITS(2 * VALUE_LOW, 2 * VALUE_HIGH)

// Wide bins (wide.cuh): how many binades they are apart, and in how many of them a term lies, of a value and of a product;
// rows for all exponents, and where the first row's unit lies in the digits; columns, of which the lanes of a warp have one
// each, or share them where memory has no room for that, or where clearing and emptying them would take longer than adding.
#define VALUE_BINADES (WIDTH == 64 ? 54 : 1 << VALUE_BINADES_LOG2)
#define VALUE_BINADES_LOG2 4
#define VALUES_ARE_F64 (WIDTH < 64) // in bins of f64
#define VALUE_WORDS (WIDTH == 64 ? 2 : 1)
#define VALUE_SIGNS (HAS_SUM && HAS_ABS ? 2 : 1)
#define VALUE_ROWS ((2 * BIAS) / VALUE_BINADES + VALUE_WORDS)
#define VALUE_FIRST (-1)
#define PRODUCT_BINADES (WIDTH == 64 ? 54 : 32)
#define PRODUCT_WORDS (WIDTH == 64 ? 3 : WIDTH == 32 ? 2 : 1)
#define PRODUCT_ROWS (4 * BIAS / PRODUCT_BINADES + PRODUCT_WORDS)
#define PRODUCT_FIRST (-4)
#define WIDE_WORD_BITS (WIDTH == 64 ? 54 : 50) // 50: of 2^13 values of f32 as well
#define WIDE_COLUMNS ((WIDTH == 64 && HAS_VALUE_SUM && HAS_PRODUCT_SUM ? 16 : 32) / (IS_SMALL ? 2 : 1))
#define VALUE_BINS (HAS_VALUE_SUM ? VALUE_SIGNS * VALUE_ROWS * WIDE_COLUMNS : 0)
#define PRODUCT_BINS (HAS_PRODUCT_SUM ? PRODUCT_ROWS * WIDE_COLUMNS : 0)

// Packed bins (packed.cuh): of 8 bytes, and 4 more for magnitudes.
#define PACKED_BINADES_LOG2 3
#define PACKED_ROWS (1 << EXPONENT_BITS >> PACKED_BINADES_LOG2)
#define PACKED_NBYTES (PACKED_ROWS * 32 * (HAS_SUM && HAS_ABS ? 12 : 8))

#define WIDE_NBYTES (!USES_WIDE ? 0 : USES_PACKED ? PACKED_NBYTES : 8 * (VALUE_BINS + PRODUCT_BINS)) // of a warp
#define LARGER(a, b) ((a) > (b) ? (a) : (b))

#endif
