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

// f64 values alone go to a window, or to wide bins, narrower ones to bins; with products, which go to levels, to levels,
// too, but for f16, whose bins are registers.  So do all values of a small array.
#ifdef TYPE_f16
#define USES_BINS (HAS_VALUES && !IS_SMALL)
#else
#define USES_BINS (IS_FLOAT && WIDTH < 64 && HAS_VALUES && !HAS_PRODUCTS && !IS_SMALL)
#endif
#if IS_FLOAT && WIDTH == 64 && !HAS_PRODUCTS && (defined PART_SUM) + (defined PART_ABS) == 1 && !IS_SMALL
#define USES_WINDOW 1
#ifdef PART_SUM
#define PART_DIGITS sum
#else
#define PART_DIGITS abs
#endif
#else
#define USES_WINDOW 0
#endif
#define USES_VALUE_LEVELS (IS_FLOAT && HAS_VALUES && !USES_BINS) // before a window
#define USES_PRODUCT_LEVELS (IS_FLOAT && HAS_PRODUCTS)
#define USES_ERROR_LEVELS (USES_PRODUCT_LEVELS && WIDTH == 64)
#define USES_LEVELS (USES_VALUE_LEVELS || USES_PRODUCT_LEVELS)
#define NOTES_LEAST (USES_ERROR_LEVELS && !USES_VALUE_LEVELS)

#if defined TYPE_f16
#define LEVELS (HAS_PRODUCTS ? 2 : 1) // 84 bits, 42: all products of f16 have 80, all values 40
#elif IS_SMALL && WIDTH < 64 && !HAS_PRODUCTS
#define LEVELS 2
#else
#define LEVELS 3
#endif

// The levels that most terms need: 24 bits fit into one, 48 and 53 into two.
#define VALUE_FEW (WIDTH == 64 ? 2 : 1)
#define PRODUCT_FEW 2

// What `saw` is where there is nothing special.
#if IS_FLOAT && (defined PART_SUM || defined PART_DOT)
#define PLAIN_SAW WF_SAW_BEYOND_MINUS_ZERO
#else
#define PLAIN_SAW 0
#endif

// Of small arrays an atomic operation on one word can do it all: add up sums and count the blocks.
#if !IS_FLOAT && WIDTH <= 32 && defined PART_SUM && !defined PART_ABS && !HAS_PRODUCTS && !HAS_EXTREMES
#define PACKS_SUM IS_SMALL
#else
#define PACKS_SUM 0
#endif

// NaNs are looked for where no sum shows them.
#if IS_FLOAT && (HAS_EXTREMES || defined PART_NONZERO) && !HAS_SUMS
#define LOOKS_FOR_NAN 1
#else
#define LOOKS_FOR_NAN 0
#endif

// Beside sums, which show NaNs, extremes are looked for only in chunks whose words say that there may be new ones.
#define SKIPS_CHUNKS (IS_FLOAT && WIDTH >= 32 && HAS_EXTREMES && HAS_SUMS && IS_INDEXED && !IS_SMALL)

// A range serves for extremes and NaNs, and, a chunk at a time, for the largest magnitude of what goes to levels.
#define USES_RANGE (IS_FLOAT && HAS_EXTREMES && (WIDTH < 64 || SKIPS_CHUNKS))
#define NOTES_LARGEST (USES_LEVELS && !(USES_RANGE && IS_INDEXED) && !IS_SMALL)

// Beside sums, what is not 0 is counted one by one only where a chunk has a 0.
#if IS_FLOAT && WIDTH >= 32 && HAS_SUMS && !IS_SMALL && defined PART_NONZERO
#define COUNTS_CHUNKS 1
#else
#define COUNTS_CHUNKS 0
#endif

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
