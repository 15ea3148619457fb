// The element type, which -DTYPE_<name> chooses, and what 16 bytes of it hold.

#ifndef ELEMENT_CUH
#define ELEMENT_CUH

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// Floats: the bits of the fraction and of the exponent.
#if defined TYPE_f16
#define FRACTION_BITS 10
#define EXPONENT_BITS 5
#elif defined TYPE_bf16
#define FRACTION_BITS 7
#define EXPONENT_BITS 8
#elif defined TYPE_f32
#define FRACTION_BITS 23
#define EXPONENT_BITS 8
#elif defined TYPE_f64
#define FRACTION_BITS 52
#define EXPONENT_BITS 11
#endif

#ifdef FRACTION_BITS
#define IS_FLOAT 1
#define WIDTH (1 + EXPONENT_BITS + FRACTION_BITS)
#else
#define IS_FLOAT 0
#endif

#if defined TYPE_i8 || defined TYPE_i16 || defined TYPE_i32 || defined TYPE_i64
#define IS_SIGNED 1
#else
#define IS_SIGNED 0
#endif

#if defined TYPE_bool
#define IS_BOOL 1
#else
#define IS_BOOL 0
#endif

#if defined TYPE_bool || defined TYPE_i8 || defined TYPE_u8
#define WIDTH 8
#elif defined TYPE_i16 || defined TYPE_u16
#define WIDTH 16
#elif defined TYPE_i32 || defined TYPE_u32
#define WIDTH 32
#elif defined TYPE_i64 || defined TYPE_u64
#define WIDTH 64
#endif

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

#define PER_WORD (32 / WIDTH)        // elements of a word; none of 64 bits
#define PER_VECTOR (128 / WIDTH)     // elements of a vector
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
#if WIDTH == 64
    return long_at(v, e);
#else
    return (unit)(v->word[e / PER_WORD] >> e % PER_WORD * WIDTH);
#endif
}

static __device__ __forceinline__ void put_element(vector *v, int e, unit bits)
{
#if WIDTH == 64
    v->word[2 * e] = (u32)bits;
    v->word[2 * e + 1] = (u32)(bits >> 32);
#else
    v->word[e / PER_WORD] |= (u32)bits << e % PER_WORD * WIDTH; // of a vector that was 0
#endif
}

static __device__ __forceinline__ bool is_negative(unit bits)
{
    return (IS_FLOAT || IS_SIGNED) && (bits & SIGN_BIT) != 0;
}

static __device__ __forceinline__ bool is_nonzero(unit bits)
{
    return (IS_FLOAT ? (unit)(bits & MAGNITUDE) : bits) != 0;
}

#if IS_FLOAT
#define INFINITY_BITS ((unit)((((u64)1 << EXPONENT_BITS) - 1) << FRACTION_BITS))
#define BIAS ((1 << (EXPONENT_BITS - 1)) - 1)
#define LOW_EXPONENT (1 - BIAS - FRACTION_BITS) // every finite value is a multiple of 2^LOW_EXPONENT
#define HIGH_EXPONENT (BIAS + 1)                // and below 2^HIGH_EXPONENT

static __device__ __forceinline__ bool is_nan(unit bits)
{
    return (unit)(bits & MAGNITUDE) > INFINITY_BITS;
}

static __device__ __forceinline__ bool is_infinite(unit bits)
{
    return (unit)(bits & MAGNITUDE) == INFINITY_BITS;
}

// The value, as an f64, which holds it exactly.
static __device__ __forceinline__ double widen(unit bits)
{
#if defined TYPE_f16
    double wide;
    asm("cvt.f64.f16 %0, %1;" : "=d"(wide) : "h"(bits));
    return wide;
#elif defined TYPE_bf16
    return (double)__uint_as_float((u32)bits << 16);
#elif defined TYPE_f32
    return (double)__uint_as_float(bits);
#else
    return __longlong_as_double((i64)bits);
#endif
}
#endif

// The order of the values as that of signed integers, and those as unsigned ones (see wf_extreme).
static __device__ __forceinline__ i64 key_of(unit bits)
{
#if IS_FLOAT
    i64 key = (i64)((u64)bits << (64 - WIDTH)) >> (64 - WIDTH);
    return key < 0 ? key ^ (i64)MAGNITUDE : key;
#elif IS_SIGNED
    return (i64)((u64)bits << (64 - WIDTH)) >> (64 - WIDTH);
#elif WIDTH == 64
    return (i64)(bits ^ SIGN_BIT);
#else
    return (i64)bits;
#endif
}

// The inverse.
static __device__ __forceinline__ unit bits_of_key(i64 key)
{
#if IS_FLOAT
    return (unit)(key < 0 ? key ^ (i64)MAGNITUDE : key);
#elif !IS_SIGNED && WIDTH == 64
    return (u64)key ^ SIGN_BIT;
#else
    return (unit)key;
#endif
}

static __device__ __forceinline__ u64 ordered(i64 key)
{
    return (u64)key ^ (u64)1 << 63;
}

// Booleans are one byte, false where 0: as 0 and 1.
static __device__ __forceinline__ u32 as_booleans(u32 word)
{
    return (((word & 0x7f7f7f7f) + 0x7f7f7f7f) | word) >> 7 & 0x01010101;
}

#endif
