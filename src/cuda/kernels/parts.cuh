// Which parts are gathered (-DPART_SUM ... as enum wf_part), which of them need the index of an element
// (-DINDEXED), and how float sums are added up by default.

#ifndef PARTS_CUH
#define PARTS_CUH

#if defined PART_SQUARES || defined PART_DOT
#define HAS_PRODUCTS 1
#else
#define HAS_PRODUCTS 0
#endif

#if defined PART_SUM || defined PART_ABS
#define HAS_VALUES 1
#else
#define HAS_VALUES 0
#endif

#if defined PART_MIN || defined PART_MAX
#define HAS_EXTREMES 1
#else
#define HAS_EXTREMES 0
#endif

#define HAS_SUMS (HAS_VALUES || HAS_PRODUCTS)

// f64 values alone go to a window, or to wide bins; with other sums to levels.  Products go to levels.
#define USES_BINS (IS_FLOAT && WIDTH < 64 && HAS_VALUES)
#if IS_FLOAT && WIDTH == 64 && !HAS_PRODUCTS && (defined PART_SUM) + (defined PART_ABS) == 1
#define USES_WINDOW 1
#ifdef PART_SUM
#define PART_DIGITS sum
#else
#define PART_DIGITS abs
#endif
#else
#define USES_WINDOW 0
#endif
#define USES_VALUE_LEVELS (IS_FLOAT && WIDTH == 64 && HAS_VALUES && !USES_WINDOW)
#define USES_PRODUCT_LEVELS (IS_FLOAT && HAS_PRODUCTS)
#define USES_ERROR_LEVELS (USES_PRODUCT_LEVELS && WIDTH == 64)
#define USES_LEVELS (USES_VALUE_LEVELS || USES_PRODUCT_LEVELS)

#ifdef TYPE_f16
#define LEVELS 2 // 84 bits: all products of f16 have 80
#else
#define LEVELS 3
#endif

// NaNs are looked for where no sum shows them.
#define LOOKS_FOR_NAN (IS_FLOAT && (HAS_EXTREMES || defined PART_NONZERO))

// The digits of each sum: multiples of 2^low, up to 2^high, 2^63 of them: see wf_exact_clear.
#if IS_FLOAT
#define VALUE_LOW LOW_EXPONENT
#define VALUE_HIGH HIGH_EXPONENT
#else
#define VALUE_LOW 0
#define VALUE_HIGH (IS_BOOL ? 1 : WIDTH - IS_SIGNED)
#endif
#define DIGITS(low, high) (((high) - (low) + 64 + 31) / 32 + 2)
#define VALUE_DIGITS DIGITS(VALUE_LOW, VALUE_HIGH)
#define PRODUCT_DIGITS DIGITS(2 * VALUE_LOW, 2 * VALUE_HIGH)

// Shared memory that each warp has of its own for the sums.
#define VALUE_WIDE_ROWS WIDE_ROWS(VALUE_LOW, VALUE_HIGH)
#define PRODUCT_WIDE_ROWS WIDE_ROWS(2 * VALUE_LOW, 2 * VALUE_HIGH)
#define WIDE_NBYTES (512 * (HAS_PRODUCTS ? PRODUCT_WIDE_ROWS : VALUE_WIDE_ROWS))
#define LARGER(a, b) ((a) > (b) ? (a) : (b))

#endif
