// The element type, which -DTYPE_<name> chooses, and what 16 bytes of it hold.

#ifndef ELEMENT_CUH
#define ELEMENT_CUH

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#if defined TYPE_bool || defined TYPE_i8 || defined TYPE_u8
#define WIDTH 8
#elif defined TYPE_i16 || defined TYPE_u16 || defined TYPE_f16 || defined TYPE_bf16
#define WIDTH 16
#elif defined TYPE_i32 || defined TYPE_u32 || defined TYPE_f32
#define WIDTH 32
#elif defined TYPE_i64 || defined TYPE_u64 || defined TYPE_f64
#define WIDTH 64
#else
#error "a new type has its width here, and a float its exponent bits below; floats of 8 bits need loops of their own"
#endif

#if defined TYPE_f16
#define EXPONENT_BITS 5
#elif defined TYPE_bf16 || defined TYPE_f32
#define EXPONENT_BITS 8
#elif defined TYPE_f64
#define EXPONENT_BITS 11
#else
#define EXPONENT_BITS 0
#endif

#if defined TYPE_i8 || defined TYPE_i16 || defined TYPE_i32 || defined TYPE_i64
#define IS_SIGNED 1
#else
#define IS_SIGNED 0
#endif

#ifdef TYPE_bool
#define IS_BOOL 1
#else
#define IS_BOOL 0
#endif

#define IS_FLOAT (EXPONENT_BITS > 0)
#define IS_F16 (EXPONENT_BITS == 5)
#define IS_BF16 (EXPONENT_BITS == 8 && WIDTH == 16)

// The format of floats.  Integers have such constants, too, so that code for floats compiles for them and is dropped.
#define FRACTION_BITS (WIDTH - 1 - EXPONENT_BITS)
#define BIAS ((1 << EXPONENT_BITS) / 2 - 1)
#define INFINITY_BITS ((unit)((((u64)1 << EXPONENT_BITS) - 1) << FRACTION_BITS))
#define LOW_EXPONENT (1 - BIAS - FRACTION_BITS) // every finite value is a multiple of 2^LOW_EXPONENT
#define HIGH_EXPONENT (BIAS + 1)                // and below 2^HIGH_EXPONENT

// The bits of an element.
#if WIDTH == 8
typedef unsigned char unit;
#elif WIDTH == 16
typedef unsigned short unit;
#elif WIDTH == 32
typedef unsigned int unit;
#else
typedef unsigned long long unit;
#endif

#define PER_WORD (WIDTH < 32 ? 32 / WIDTH : 1) // elements of a word of 32 bits
#define PER_VECTOR (128 / WIDTH)               // elements of a vector
#define SIGN_BIT ((unit)((u64)1 << (WIDTH - 1)))
#define MAGNITUDE ((unit)(SIGN_BIT - 1)) // of floats: the bits below the sign
#define SIGN_WORD 0x80000000u            // the sign in a word of f32, in the high word of f64

// 16 bytes: what a lane loads at a time.
typedef struct {
    u32 word[4];
} vector;

static __device__ __forceinline__ u64 long_at(const vector *v, int i)
{
    return (u64)v->word[2 * i + 1] << 32 | v->word[2 * i];
}

static __device__ __forceinline__ unit element_at(const vector *v, int e)
{
    if (WIDTH == 64) return (unit)long_at(v, e);
    return (unit)(v->word[e / PER_WORD] >> e % PER_WORD * WIDTH);
}

// Of a vector whose element is 0 so far.
static __device__ __forceinline__ void put_element(vector *v, int e, unit bits)
{
    if (WIDTH == 64) {
        v->word[2 * e] = (u32)bits;
        v->word[2 * e + 1] = (u32)((u64)bits >> 32);
    } else {
        v->word[e / PER_WORD] |= (u32)bits << e % PER_WORD * WIDTH;
    }
}

static __device__ __forceinline__ bool is_negative(unit bits)
{
    return (IS_FLOAT || IS_SIGNED) && (bits & SIGN_BIT) != 0;
}

static __device__ __forceinline__ bool is_nonzero(unit bits)
{
    return (IS_FLOAT ? (unit)(bits & MAGNITUDE) : bits) != 0;
}

static __device__ __forceinline__ bool is_nan(unit bits)
{
    return IS_FLOAT && (unit)(bits & MAGNITUDE) > INFINITY_BITS;
}

static __device__ __forceinline__ bool is_infinite(unit bits)
{
    return IS_FLOAT && (unit)(bits & MAGNITUDE) == INFINITY_BITS;
}

// The value of a float, as an f64, which holds it exactly.
static __device__ __forceinline__ double widen(unit bits)
{
    if (IS_F16) {
        double wide;
        asm("cvt.f64.f16 %0, %1;" : "=d"(wide) : "h"((unsigned short)bits));
        return wide;
    }
    if (WIDTH == 64) return __longlong_as_double((i64)bits);
    return (double)__uint_as_float((u32)bits << (32 - WIDTH) % 32);
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

// ---- two floats of 16 bits in a word

// How far each half's magnitude is above `least`, as a signed integer whose sign bit is the wrong way round.
static __device__ __forceinline__ u32 halves_above(u32 word, u32 least)
{
    return (word & 0x7fff7fff) + (0x8000 - least) * 0x10001;
}

// The highest bit of each half whose magnitude is at least `least`.
static __device__ __forceinline__ u32 tops_from(u32 word, u32 least)
{
    return halves_above(word, least) & 0x80008000;
}

// All bits of each half whose highest bit is set.
static __device__ __forceinline__ u32 spread_tops(u32 tops)
{
    u32 spread;
    asm("prmt.b32 %0, %1, %1, 0xbb99;" : "=r"(spread) : "r"(tops));
    return spread;
}

static __device__ __forceinline__ u32 nan_tops(u32 word)
{
    return tops_from(word, INFINITY_BITS + 1);
}

// All bits of each half whose magnitude is at least `least`.
static __device__ __forceinline__ u32 halves_from(u32 word, u32 least)
{
    return spread_tops(halves_above(word, least));
}

// How many of both halves had all bits set in masks that were added up, at most 65535 each: 0xffff is -1 there.
static __device__ __forceinline__ u32 count_of_masks(u32 masks)
{
    u32 low = (0 - masks) & 0xffff, high = ((0xffff * low) - masks) >> 16;
    return low + high;
}

// All bits of the NaNs' parts of word i, which is the upper one of a 64-bit element.
static __device__ __forceinline__ u32 nan_mask(const vector *v, int i)
{
    if (WIDTH == 16) return halves_from(v->word[i], INFINITY_BITS + 1);
    return is_nan(element_at(v, i * 32 / WIDTH)) ? ~0u : 0;
}

// ---- order

// The order of the values as that of signed integers, and those as unsigned ones (see wf_extreme).
static __device__ __forceinline__ i64 key_of(unit bits)
{
    i64 key = (i64)((u64)bits << (64 - WIDTH)) >> (64 - WIDTH);
    if (IS_FLOAT) return key < 0 ? key ^ (i64)MAGNITUDE : key;
    if (IS_SIGNED) return key;
    return WIDTH == 64 ? (i64)(bits ^ SIGN_BIT) : (i64)bits;
}

// The inverse of key_of.
static __device__ __forceinline__ unit bits_of_key(i64 key)
{
    if (IS_FLOAT) return (unit)(key < 0 ? key ^ (i64)MAGNITUDE : key);
    return !IS_SIGNED && WIDTH == 64 ? (unit)key ^ SIGN_BIT : (unit)key;
}

static __device__ __forceinline__ u64 ordered(i64 key)
{
    return (u64)key ^ (u64)1 << 63;
}

// The key of a NaN that is an extreme: no number's.
static __device__ __forceinline__ u64 nan_key(bool is_min)
{
    return ordered(is_min ? -(i64)MAGNITUDE - 1 : (i64)MAGNITUDE);
}

// Booleans are one byte, false where 0: as 0 and 1.
static __device__ __forceinline__ u32 as_booleans(u32 word)
{
    return (((word & 0x7f7f7f7f) + 0x7f7f7f7f) | word) >> 7 & 0x01010101;
}

#endif
