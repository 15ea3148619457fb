// Wide bins: 64-bit integers, so many binades apart (parts.cuh), for terms of any exponent.
//
// A term is an integer, shifted left to its place, and each of the words that it then lies in is added to a bin of its own;
// nothing is carried from bin to bin, so a bin holds as many words as the bits above them leave room for.  Nothing depends
// on the data.  A lane has a column of bins for itself; where shared memory has no room for that, lanes that share one take
// turns.

#ifndef WIDE_CUH
#define WIDE_CUH

#include "kernels/digits.cuh"
#include "kernels/element.cuh"
#include "kernels/parts.cuh"
#include "kernels/warp.cuh"

#define WIDE_ADDITIONS (((1 << (63 - WIDE_WORD_BITS)) - 1) * WIDE_COLUMNS / 32) // of a lane

typedef u64 wide_bin; // signed

#define TERM_WORDS_MAX 3

// What a lane adds to its column.
typedef struct {
    wide_bin *bin;            // the first
    u64 word[TERM_WORDS_MAX]; // signed
} wide_term;

static __device__ __forceinline__ void wide_clear(wide_bin *bins, int rows)
{
    for (int i = (int)lane_number(); i < rows * WIDE_COLUMNS; i += 32) bins[i] = 0;
}

// (high * 2^64 + low) * 2^position, of so many words.
static __device__ __forceinline__ wide_term wide_term_of(wide_bin *bins, int words, int binades, u64 low, u64 high,
                                                         int position, bool is_negative)
{
    wide_term term;
    const u64 mask = ((u64)1 << binades) - 1;
    int row = position / binades, shift = position - row * binades, left = binades - shift;
    u64 behind = low >> left | (words == 3 ? high << 1 << (63 - left) : 0); // what the first word does not take
    term.bin = bins + row * WIDE_COLUMNS + lane_number() % WIDE_COLUMNS;
    term.word[0] = words == 1 ? low << shift : low << shift & mask;
    term.word[1] = words == 3 ? behind & mask : behind;
    term.word[2] = behind >> binades | high >> left << (64 - binades);
    u64 sign = is_negative ? ~(u64)0 : 0;
#pragma unroll
    for (int i = 0; i < TERM_WORDS_MAX; i++) term.word[i] = (term.word[i] ^ sign) - sign;
    return term;
}

static __device__ __forceinline__ void wide_load(const wide_term *term, int words, u64 sum[TERM_WORDS_MAX])
{
#pragma unroll
    for (int i = 0; i < TERM_WORDS_MAX; i++)
        if (i < words) sum[i] = term->bin[i * WIDE_COLUMNS];
}

static __device__ __forceinline__ void wide_store(const wide_term *term, int words, const u64 sum[TERM_WORDS_MAX])
{
#pragma unroll
    for (int i = 0; i < TERM_WORDS_MAX; i++)
        if (i < words) term->bin[i * WIDE_COLUMNS] = sum[i] + term->word[i];
}

// Adds a value's term and a product's, either of which may be missing: 0.  All lanes of a warp, each with its own.  All
// bins are read before any is written, so that one does not wait for the other.
static __device__ __forceinline__ void wide_add(const wide_term *value, const wide_term *product)
{
    u64 of_value[TERM_WORDS_MAX], of_product[TERM_WORDS_MAX];
#pragma unroll
    for (int turn = 0; turn < 32 / WIDE_COLUMNS; turn++) {
        if (WIDE_COLUMNS == 32 || (int)lane_number() / WIDE_COLUMNS == turn) {
            if (value) wide_load(value, VALUE_WORDS, of_value);
            if (product) wide_load(product, PRODUCT_WORDS, of_product);
            if (value) wide_store(value, VALUE_WORDS, of_value);
            if (product) wide_store(product, PRODUCT_WORDS, of_product);
        }
        if (WIDE_COLUMNS < 32) __syncwarp();
    }
}

// Row by row, a lane each; lanes begin at different columns, hence at different banks.  negative: subtracts them.
static __device__ __forceinline__ void wide_flush(const wide_bin *bins, int rows, int binades, u64 *digits, bool negative)
{
    for (int row = (int)lane_number(); row < rows; row += 32) {
        i64 low = 0, high = 0;
#pragma unroll 8
        for (int i = 0; i < WIDE_COLUMNS; i++) {
            u64 part = bins[WIDE_COLUMNS * row + (row + i) % WIDE_COLUMNS];
            low += (i64)(part & 0xffffffff);
            high += (i64)part >> 32;
        }
        deposit(digits, negative ? -low : low, binades * row);
        deposit(digits, negative ? -high : high, binades * row + 32);
    }
}

// ---- a float as an integer and a position

// The significand, and where it lies in digits that begin at 2^LOW_EXPONENT.
static __device__ __forceinline__ u64 significand_of(unit bits, int *position)
{
    unit magnitude = bits & MAGNITUDE;
    u32 field = (u32)(magnitude >> FRACTION_BITS), normal = min(field, 1u);
    *position = (int)(field - normal);
    return (u64)(magnitude & (((unit)1 << FRACTION_BITS) - 1)) | (u64)normal << FRACTION_BITS;
}

static __device__ __forceinline__ i64 with_sign(u64 integer, bool negative)
{
    i64 sign = -(i64)negative;
    return ((i64)integer ^ sign) - sign;
}

#endif
