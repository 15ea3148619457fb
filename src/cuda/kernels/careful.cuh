// The careful way: element by element, for whatever the fast way does not hold, and for the few elements that
// are no whole chunk.  NaNs and infinities are noted and left out; the sums of floats go to wide bins, which hold
// any exponent, or of a small array straight to the digits.

#ifndef CAREFUL_CUH
#define CAREFUL_CUH

// Vectors for the lanes of a warp: first, first + 32 ... of each step.
typedef struct {
    i64 first;  // the lane's own; NO_VECTOR: none
    u64 step;   // from one chunk to the next
    u32 chunks;
    int each; // vectors of a lane in a chunk
    i64 end;  // from here on there are none
} careful_range;

#define NO_VECTOR ((i64)1 << 62)

// The vector at such a place, which may lie partly before the first element or behind the last one, and a bit
// for each of its elements that exists.
static __device__ __forceinline__ u32 load_partly(const struct wf_reduction *r, i64 at, vector *x, vector *y)
{
    u32 present = 0;
    const vector nothing = {{0, 0, 0, 0}};
    *x = *y = nothing;
    if (at == NO_VECTOR) return 0;
    if (at >= 0 && at < (i64)r->vectors) {
        *x = load_vector(r->x, (u64)at);
        if (OPERANDS == 2) *y = load_vector(r->y, (u64)at);
        return (1u << PER_VECTOR) - 1;
    }
#pragma unroll
    for (int e = 0; e < PER_VECTOR; e++) {
        bool exists = at < 0 ? e >= PER_VECTOR - (int)r->head : e < (int)r->tail;
        if (!exists) continue;
        present |= 1u << e;
        put_element(x, e, load_element(r->x, at * PER_VECTOR + e));
        if (OPERANDS == 2) put_element(y, e, load_element(r->y, at * PER_VECTOR + e));
    }
    return present;
}

static __device__ __forceinline__ i64 careful_place(const careful_range *range, u32 chunk, int j)
{
    i64 at = range->first + (i64)(chunk * range->step) + 32 * j;
    return at < range->end ? at : NO_VECTOR;
}

// ---- everything but the sums of floats

static __device__ __forceinline__ void note_special(lane_state *lane, unit a, unit b)
{
#if HAS_SUMS && IS_FLOAT
#ifdef PART_DOT
    bool negative = is_negative(a) != is_negative(b), zero = !is_nonzero(a) || !is_nonzero(b);
    bool infinite = is_infinite(a) || is_infinite(b);
    if (infinite && zero) lane->saw |= WF_SAW_INVALID;
    infinite = infinite && !zero;
#else
    bool negative = is_negative(a), zero = !is_nonzero(a), infinite = is_infinite(a);
#endif
    if (infinite) lane->saw |= negative ? WF_SAW_NEGATIVE_INFINITY : WF_SAW_POSITIVE_INFINITY;
#if defined PART_SUM || defined PART_DOT
    if (!(zero && negative)) lane->saw |= WF_SAW_BEYOND_MINUS_ZERO;
#endif
#endif
}

// Exact indices beat chunks only by a better key: chunks come in order.
static __device__ __forceinline__ void note_extreme(lane_state *lane, unit bits, u64 index)
{
    u64 key = ordered(key_of(bits));
#ifdef PART_MIN
    if (key < lane->min_key || (key == lane->min_key && lane->min_chunk == NOWHERE && index < lane->min_index)) {
        lane->min_key = key;
        lane->min_index = index;
        lane->min_chunk = NOWHERE;
    }
#endif
#ifdef PART_MAX
    if (key > lane->max_key || (key == lane->max_key && lane->max_chunk == NOWHERE && index < lane->max_index)) {
        lane->max_key = key;
        lane->max_index = index;
        lane->max_chunk = NOWHERE;
    }
#endif
}

static __device__ __forceinline__ void note_element(lane_state *lane, unit a, unit b, u64 index)
{
#if IS_FLOAT
    bool nan = is_nan(a);
#ifdef PART_DOT
    nan = nan || is_nan(b);
#endif
#ifdef PART_NONZERO
    lane->nonzero += is_nonzero(a);
#endif
    if (nan) {
        lane->nan_count++;
        lane->first_nan = index < lane->first_nan ? index : lane->first_nan;
        return;
    }
    note_special(lane, a, b);
#elif defined PART_NONZERO
    lane->nonzero += a != 0;
#endif
#ifdef PART_PRODUCT
    multiply_product(&lane->product, &lane->product_flags, a);
#endif
#ifdef PART_BITS
    lane->bits_and &= (packed)a | ~(packed)(unit)~(unit)0; // what lies above a narrow element stays
    lane->bits_or |= a;
    lane->bits_xor ^= a;
#endif
    note_extreme(lane, a, index);
}

static __device__ void note_all(const struct wf_reduction *r, lane_state *lane, const careful_range *range)
{
#if !IS_FLOAT
    integer_sum sum, abs, products;
    integer_clear(&sum);
    integer_clear(&abs);
    integer_clear(&products);
#endif
    for (u32 chunk = 0; chunk < range->chunks; chunk++) {
        for (int j = 0; j < range->each; j++) {
            vector x, y;
            i64 at = careful_place(range, chunk, j);
            u32 present = load_partly(r, at, &x, &y);
            u64 index = (u64)(r->index + at * PER_VECTOR);
#pragma unroll
            for (int e = 0; e < PER_VECTOR; e++)
                if (present >> e & 1) note_element(lane, element_at(&x, e), element_at(&y, e), index + e);
#if !IS_FLOAT
            // Elements that do not exist are 0 in both vectors.
#ifdef PART_SUM
            integer_eat(&sum, &x, false);
#endif
#ifdef PART_ABS
            integer_eat(&abs, &x, true);
#endif
#if HAS_PRODUCTS
            integer_eat_products(&products, &x, OPERANDS == 2 ? &y : &x);
#endif
#endif
        }
    }
#if !IS_FLOAT && defined PART_SUM
    integer_end(&sum, block_gathered.sum, IS_SIGNED, false);
#endif
#if !IS_FLOAT && defined PART_ABS
    integer_end(&abs, block_gathered.abs, false, false);
#endif
#if !IS_FLOAT && HAS_PRODUCTS
    integer_end(&products, block_gathered.products, IS_SIGNED, true);
#endif
}

// ---- the sums of floats

#if IS_FLOAT && HAS_SUMS

enum { CAREFUL_SUM, CAREFUL_ABS, CAREFUL_PRODUCTS };

#if WIDTH == 64 && HAS_PRODUCTS
// A product whose error is no f64, or that overflows: as an integer of 106 bits.
static __device__ __noinline__ void deposit_product(u64 *digits, double a, double b)
{
    i64 a_bits = __double_as_longlong(a), b_bits = __double_as_longlong(b);
    int a_field = (int)(a_bits >> 52) & 0x7ff, b_field = (int)(b_bits >> 52) & 0x7ff;
    u64 a_magnitude = (a_bits & 0xfffffffffffffll) | (u64)(a_field != 0) << 52;
    u64 b_magnitude = (b_bits & 0xfffffffffffffll) | (u64)(b_field != 0) << 52;
    u64 halves[2] = {a_magnitude * b_magnitude, __umul64hi(a_magnitude, b_magnitude)};
    int position = max(a_field, 1) + max(b_field, 1) - 2;
    for (int i = 0; i < 4; i++) {
        i64 part = (i64)(halves[i / 2] >> 32 * (i % 2) & 0xffffffff);
        deposit(digits, (a_bits ^ b_bits) < 0 ? -part : part, position + 32 * i);
    }
}
#endif

#if IS_SMALL

// 2^low is the digits' first bit, of which the value is a multiple.
static __device__ __forceinline__ void deposit_value(u64 *digits, double value, int low)
{
    i64 bits = __double_as_longlong(value);
    int field = (int)(bits >> 52) & 0x7ff, position = max(field, 1) - 1075 - low;
    i64 magnitude = (bits & 0xfffffffffffffll) | (i64)(field != 0) << 52;
    if (position < 0) magnitude >>= min(-position, 63);
    deposit(digits, bits < 0 ? -magnitude : magnitude, max(position, 0));
}

// There is no memory for bins: each term goes to the block's digits.
static __device__ __forceinline__ void add_term(wide_bin *mine, unit x, unit y, int which, u64 *digits)
{
    double a = widen(x), b = widen(y);
    (void)mine;
    if (which != CAREFUL_PRODUCTS) {
        deposit_value(digits, which == CAREFUL_ABS ? fabs(a) : a, LOW_EXPONENT);
        return;
    }
#if WIDTH == 64 && HAS_PRODUCTS
    deposit_product(digits, a, b);
#else
    deposit_value(digits, __dmul_rn(a, b), 2 * LOW_EXPONENT);
#endif
}

#else

static __device__ __forceinline__ void add_term(wide_bin *mine, unit x, unit y, int which, u64 *digits)
{
    double a = widen(x);
    (void)digits;
    if (which != CAREFUL_PRODUCTS) {
        wide_add(mine, which == CAREFUL_ABS ? fabs(a) : a, WIDE_BASE(LOW_EXPONENT));
        return;
    }
#if HAS_PRODUCTS
    double b = widen(y), product = __dmul_rn(a, b);
#if WIDTH == 64
    int fields = max((int)(x >> 52) & 0x7ff, 1) + max((int)(y >> 52) & 0x7ff, 1);
    if (!is_nonzero(x) || !is_nonzero(y)) return;
    if (fields < 2 * 538 || fields > 2 * 1533) {
        deposit_product(digits, a, b);
        return;
    }
    wide_add(mine, __fma_rn(a, b, -product), 0);
#endif
    wide_add(mine, product, WIDE_BASE(2 * LOW_EXPONENT));
#endif
}

#endif

static __device__ __forceinline__ bool is_left_out(unit a, unit b)
{
#ifdef PART_DOT
    return (unit)(a & MAGNITUDE) >= INFINITY_BITS || (unit)(b & MAGNITUDE) >= INFINITY_BITS;
#else
    return (unit)(a & MAGNITUDE) >= INFINITY_BITS;
#endif
}

static __device__ void sum_carefully(const struct wf_reduction *r, wide_bin *bins, const careful_range *range, int which,
                                     u64 *digits)
{
    const int low = which == CAREFUL_PRODUCTS ? 2 * LOW_EXPONENT : LOW_EXPONENT;
    const int rows = which == CAREFUL_PRODUCTS ? PRODUCT_WIDE_ROWS : VALUE_WIDE_ROWS;
    int additions = 0;
    if (!IS_SMALL) wide_clear(bins, rows);
    for (u32 chunk = 0; chunk < range->chunks; chunk++) {
        for (int j = 0; j < range->each; j++) {
            vector x, y;
            u32 present = load_partly(r, careful_place(range, chunk, j), &x, &y);
            if (!IS_SMALL && additions > WIDE_ADDITIONS - 2 * PER_VECTOR) {
                wide_flush(bins, rows, WIDE_BASE(low), low, digits);
                wide_clear(bins, rows);
                additions = 0;
            }
            additions += 2 * PER_VECTOR;
#pragma unroll
            for (int e = 0; e < PER_VECTOR; e++) {
                unit a = element_at(&x, e), b = OPERANDS == 2 ? element_at(&y, e) : a;
                if (present >> e & 1 && !is_left_out(a, b)) add_term(bins + lane_number(), a, b, which, digits);
            }
        }
    }
    if (!IS_SMALL) wide_flush(bins, rows, WIDE_BASE(low), low, digits);
}

#endif

static __device__ __noinline__ void take_apart(const struct wf_reduction *r, lane_state *lane, void *bins,
                                               careful_range range)
{
    note_all(r, lane, &range);
#if IS_FLOAT && defined PART_SUM
    sum_carefully(r, (wide_bin *)bins, &range, CAREFUL_SUM, block_gathered.sum);
#endif
#if IS_FLOAT && defined PART_ABS
    sum_carefully(r, (wide_bin *)bins, &range, CAREFUL_ABS, block_gathered.abs);
#endif
#if IS_FLOAT && HAS_PRODUCTS
    sum_carefully(r, (wide_bin *)bins, &range, CAREFUL_PRODUCTS, block_gathered.products);
#endif
}

// All lanes of a warp call it.  Only a copy has an address, so that what the fast way keeps stays in registers.
static __device__ __forceinline__ void take_carefully(const struct wf_reduction *r, lane_state *lane, void *bins,
                                                      careful_range range)
{
    lane_state copy = *lane;
    __syncwarp(); // what lies in the bins has been read
    take_apart(r, &copy, bins, range);
    *lane = copy;
}

#endif
