// The sums of a segment that go to levels: of values, of their magnitudes and of products, of which those of f64 have
// a second term, the rounding error.
//
// The levels are placed by the segment's first chunk.  A chunk is plain if its smallest magnitude says that all its
// terms are multiples of the last few levels' units, as most are: then nothing can be left behind them.

#ifndef SUMS_CUH
#define SUMS_CUH

#if USES_LEVELS

typedef struct {
#if USES_VALUE_LEVELS
    levels_state sum, abs; // of the same places
#endif
#if USES_PRODUCT_LEVELS
    levels_state products;
#endif
#if USES_ERROR_LEVELS
    levels_state errors; // of the products
#endif
    u32 largest[2]; // magnitudes of each operand
    u32 least;      // of f64 factors: the high word of the smallest that is not 0, less one
} sums_state;

// What a warp's levels were placed at, for its next segment.
typedef struct {
    int values, products;
} level_tops;

static __device__ __forceinline__ void clear_tops(level_tops *tops)
{
    tops->values = tops->products = -2000;
}

// ---- placing

// Magnitudes with this field and smaller ones are all below 2^this.
static __device__ __forceinline__ int top_of(u32 field)
{
    return (int)field > 2 * BIAS ? TOP_OF_NONE : (int)field - BIAS + 1;
}

// With a unit from here on, values that leave no rest have products of which no bit is below 2^-1074.
#define TOP_MIN (USES_ERROR_LEVELS && USES_VALUE_LEVELS ? LEVELS * LEVEL_BITS - 537 : -2000)

// With room for terms four times as large, or by what a segment before had.
static __device__ __forceinline__ int place_of_level(int top, int before)
{
    return min(max(top + (IS_SMALL ? 0 : 2), before - 8), LEVEL_TOP_MAX);
}

// False: there are infinities or NaNs, or what is too large.
static __device__ __forceinline__ bool sums_place(sums_state *sums, const level_tops *before, const vector x[VECTORS],
                                                  const vector y[VECTORS])
{
    int top = top_of(largest_field(x)), other = OPERANDS == 2 ? top_of(largest_field(y)) : top;
    sums->largest[0] = sums->largest[1] = 0;
    sums->least = ~0u;
#ifdef TYPE_f16 // the levels hold all
    const int of_values = HIGH_EXPONENT, of_products = 2 * HIGH_EXPONENT;
    (void)before;
#else
    int of_values = place_of_level(top, max(before->values, TOP_MIN + 8));
    int of_products = place_of_level(top + other, before->products);
#endif
#if USES_VALUE_LEVELS
    levels_begin(&sums->sum, of_values);
    levels_begin(&sums->abs, of_values);
#endif
#if USES_PRODUCT_LEVELS
    levels_begin(&sums->products, of_products);
#endif
#if USES_ERROR_LEVELS
    levels_begin(&sums->errors, of_products - 53); // half a unit of the product
#endif
    return top < TOP_OF_NONE && other < TOP_OF_NONE && (HAS_PRODUCTS ? top + other : top) <= LEVEL_TOP_MAX;
}

// ---- what is plain

// Twice the unit's exponent of factors with this field is -1074.
#define FIELD_OF_FACTORS 538

// By the smallest magnitudes of both operands.
static __device__ __forceinline__ bool are_plain(const sums_state *sums, u32 x, u32 y)
{
    bool are = true; // of f16 always
#ifndef TYPE_f16
#if USES_VALUE_LEVELS
    are = exponent_of(x) - FRACTION_BITS >= level_unit(&sums->sum, VALUE_FEW - 1);
#endif
#if NOTES_LEAST
    are = exponent_of(x) + BIAS >= FIELD_OF_FACTORS && exponent_of(y) + BIAS >= FIELD_OF_FACTORS;
#endif
#if USES_PRODUCT_LEVELS // with the product of f64, so is its error
    are = are && exponent_of(x) + exponent_of(y) - (WIDTH == 64 ? 1 : 2) * FRACTION_BITS >=
                     level_unit(&sums->products, PRODUCT_FEW - 1);
#endif
#endif
    return are;
}

// ---- adding

static __device__ __forceinline__ void add_terms(levels_state *levels, levels_state *abs, const double *values,
                                                 double *terms, int count, int from, int few, bool is_plain)
{
    if (is_plain)
        levels_add_plain(levels, abs, values, terms, count, from, few);
    else
        levels_add(levels, abs, values, terms, count, from, few);
}

#if USES_PRODUCT_LEVELS
static __device__ __forceinline__ void add_products(sums_state *sums, const double *a, const double *b, int count,
                                                    bool is_plain)
{
    double terms[BATCH_TERMS];
#if USES_ERROR_LEVELS
    double errors[BATCH_TERMS];
#pragma unroll
    for (int i = 0; i < count; i++) {
        terms[i] = __dmul_rn(a[i], b[i]);
        errors[i] = __fma_rn(a[i], b[i], -terms[i]);
    }
    add_terms(&sums->products, 0, 0, terms, count, 0, PRODUCT_FEW, is_plain);
    add_terms(&sums->errors, 0, 0, errors, count, 0, PRODUCT_FEW, is_plain);
#else
    levels_take_products(&sums->products, a, b, terms, count);
    add_terms(&sums->products, 0, 0, terms, count, 1, PRODUCT_FEW, is_plain);
#endif
}
#endif

#if USES_VALUE_LEVELS
static __device__ __forceinline__ void add_values(sums_state *sums, const double *values, int count, bool is_plain)
{
    double terms[BATCH_TERMS];
#pragma unroll
    for (int i = 0; i < count; i++) {
#ifdef PART_SUM
        terms[i] = values[i];
#else
        terms[i] = fabs(values[i]);
#endif
    }
#if defined PART_SUM && defined PART_ABS
    add_terms(&sums->sum, &sums->abs, values, terms, count, 0, VALUE_FEW, is_plain);
#elif defined PART_SUM
    add_terms(&sums->sum, 0, 0, terms, count, 0, VALUE_FEW, is_plain);
#else
    add_terms(&sums->abs, 0, 0, terms, count, 0, VALUE_FEW, is_plain);
#endif
}
#endif

static __device__ __forceinline__ void widen_all(double *values, const vector *v, int vectors)
{
#pragma unroll
    for (int i = 0; i < vectors * PER_VECTOR; i++) values[i] = widen(element_at(&v[i / PER_VECTOR], i % PER_VECTOR));
}

#if NOTES_LEAST
static __device__ __forceinline__ void note_least(sums_state *sums, const vector *v)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        u32 least = (v->word[2 * i + 1] & 0x7fffffff) | min(v->word[2 * i], 1u);
        sums->least = min(sums->least, least - 1);
    }
}
#endif

// A batch of vectors.
static __device__ __forceinline__ void sums_eat(sums_state *sums, const vector *x, const vector *y, int vectors,
                                                bool is_plain)
{
    double a[BATCH_TERMS], b[BATCH_TERMS];
    widen_all(a, x, vectors);
    widen_all(b, y, vectors);
#pragma unroll
    for (int j = 0; j < vectors; j++) {
        if (NOTES_LARGEST) note_largest(&sums->largest[0], &x[j]);
        if (NOTES_LARGEST && OPERANDS == 2) note_largest(&sums->largest[1], &y[j]);
#if NOTES_LEAST
        if (!is_plain) note_least(sums, &x[j]);
        if (!is_plain && OPERANDS == 2) note_least(sums, &y[j]);
#endif
    }
#if USES_PRODUCT_LEVELS
    add_products(sums, a, b, vectors * PER_VECTOR, is_plain);
#endif
#if USES_VALUE_LEVELS
    add_values(sums, a, vectors * PER_VECTOR, is_plain);
#endif
}

// Gives the smallest magnitude in x.
static __device__ __forceinline__ u32 sums_eat_chunk(sums_state *sums, const vector x[VECTORS], const vector y[VECTORS])
{
    u32 smallest_x = MAGNITUDE_MAX, smallest_y = MAGNITUDE_MAX;
#pragma unroll
    for (int j = 0; j < VECTORS; j++) {
        note_smallest(&smallest_x, &x[j]);
        if (OPERANDS == 2) note_smallest(&smallest_y, &y[j]);
    }
    if (are_plain(sums, smallest_x, OPERANDS == 2 ? smallest_y : smallest_x)) {
#pragma unroll
        for (int j = 0; j < VECTORS; j += BATCH_VECTORS) sums_eat(sums, &x[j], &y[j], BATCH_VECTORS, true);
    } else {
#pragma unroll
        for (int j = 0; j < VECTORS; j += BATCH_VECTORS) sums_eat(sums, &x[j], &y[j], BATCH_VECTORS, false);
    }
    return smallest_x;
}

// ---- at the segment's end

// Whether the errors of the lane's products are f64: no bit of a product lies below 2^-1074.
static __device__ __forceinline__ bool errors_fit(const sums_state *sums)
{
    return !NOTES_LEAST || sums->least == ~0u || (sums->least + 1) >> 20 >= FIELD_OF_FACTORS; // else see TOP_MIN
}

// Whether the levels hold all; tops: what they were placed at, or where they should have been.
static __device__ __forceinline__ bool sums_hold(sums_state *sums, level_tops *tops)
{
    bool hold = __all_sync(ALL_LANES, errors_fit(sums));
    int top = top_of(field_of(sums->largest[0])), other = OPERANDS == 2 ? top_of(field_of(sums->largest[1])) : top;
    (void)other;
#if USES_PRODUCT_LEVELS
    hold = levels_hold(&sums->products, top + other) && hold;
    tops->products = sums->products.top;
#endif
#if USES_ERROR_LEVELS
    hold = levels_hold(&sums->errors, sums->errors.top) && hold;
#endif
#if USES_VALUE_LEVELS // the rest of the values is that of their magnitudes, too
#ifdef PART_SUM
    levels_state *values = &sums->sum;
#else
    levels_state *values = &sums->abs;
#endif
    hold = levels_hold(values, top) && hold;
    tops->values = values->top;
#endif
    return hold;
}

// The first few levels of the values and of the products.
static __device__ __forceinline__ void sums_flush(const sums_state *sums, int of_values, int of_products,
                                                  struct wf_gathered *block)
{
#if USES_PRODUCT_LEVELS
    levels_flush(&sums->products, of_products, 2 * LOW_EXPONENT, block->products);
#endif
#if USES_ERROR_LEVELS
    levels_flush(&sums->errors, of_products, 2 * LOW_EXPONENT, block->products);
#endif
#if USES_VALUE_LEVELS && defined PART_SUM
    levels_flush(&sums->sum, of_values, LOW_EXPONENT, block->sum);
#endif
#if USES_VALUE_LEVELS && defined PART_ABS
    levels_flush(&sums->abs, of_values, LOW_EXPONENT, block->abs);
#endif
}

#endif

#endif
