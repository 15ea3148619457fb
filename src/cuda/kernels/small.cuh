// A small array: all its vectors are in registers at once, VECTORS of a thread at the most, and each warp's are one
// segment.  What counts here is how many instructions are fetched and waited for on the way, so what few arrays need
// (infinities, NaNs, zeros, terms that few levels do not hold) is apart, and in loops that are not unrolled.

#ifndef SMALL_CUH
#define SMALL_CUH

#include "kernels/digits.cuh"
#include "kernels/direct.cuh"
#include "kernels/grid.cuh"
#include "kernels/lane.cuh"
#include "kernels/magnitude.cuh"
#include "kernels/merge.cuh"
#include "kernels/result.cuh"
#include "kernels/segment.cuh"
#include "kernels/slow_path.cuh"
#include "kernels/stream.cuh"
#include "kernels/sums.cuh"
#include "kernels/warp.cuh"
#include "arguments.h"

// A lane's vectors: `first` and every `step` from there, below `end`.  From `whole` on they are the one after the last
// whole vector and the one before the first, of which only a part exists.
typedef struct {
    u32 first, step, whole, end;
} small_range;

static __device__ __forceinline__ u32 place_of(const small_range *range, int j)
{
    return range->first + (u32)j * range->step;
}

static __device__ __forceinline__ bool is_there(const small_range *range, int j)
{
    return place_of(range, j) < range->end;
}

static __device__ __forceinline__ bool has_place(const small_range *range, u32 place)
{
    bool found = false;
#pragma unroll
    for (int j = 0; j < VECTORS; j++) found = found || place_of(range, j) == place;
    return found;
}

// A vector's number in the array; -1 is the one before the first whole vector.
static __device__ __forceinline__ int number_of(const struct wf_kernel_arguments *r, const small_range *range, u32 place)
{
    bool is_head = place >= range->whole && place - range->whole == (r->tail != 0);
    return is_head ? -1 : (int)place;
}

#define IS_RARE(condition) __builtin_expect((condition), false) // its code comes after all other

// ---- what lies before and after the whole vectors

#define CAN_BE_PADDED (!HAS_BITS && !HAS_PRODUCT)

// What takes the place of elements that do not exist: nothing to a sum, an element that exists to extremes.
static __device__ __forceinline__ unit padding(u64 address, i64 existing, bool is_second)
{
    if (HAS_EXTREMES) return load_element(address, existing);
    return IS_FLOAT && !is_second ? SIGN_BIT : 0;
}

// The place of the lane's vector that exists only in part, or NOWHERE.  No lane has both such vectors.
static __device__ __forceinline__ u32 place_of_end(const small_range *range)
{
    u32 place = NOWHERE;
#pragma unroll
    for (int j = 0; j < VECTORS; j++)
        if (is_there(range, j) && place_of(range, j) >= range->whole) place = place_of(range, j);
    return place;
}

// Loads vector -1 or the one after the last whole vector, of which only a part exists.
static __device__ __noinline__ vector load_end(const struct wf_kernel_arguments *r, int number, bool is_second)
{
    u64 address = is_second ? r->y : r->x;
    int first = number < 0 ? PER_VECTOR - (int)r->head : 0, behind = number < 0 ? PER_VECTOR : (int)r->tail;
    i64 at = (i64)number * PER_VECTOR;
    unit pad = padding(address, at + first, is_second);
    vector v = {{0, 0, 0, 0}};
#pragma unroll
    for (int e = 0; e < PER_VECTOR; e++)
        put_element(&v, e, e >= first && e < behind ? load_element(address, at + e) : pad);
    return v;
}

static __device__ __forceinline__ void load_ends(const struct wf_kernel_arguments *r, const small_range *range, bool is_second,
                                                 vector x[VECTORS])
{
    u32 place = place_of_end(range);
    if (place == NOWHERE) return;
    vector end = load_end(r, number_of(r, range, place), is_second);
#pragma unroll
    for (int j = 0; j < VECTORS; j++)
        if (place_of(range, j) == place) x[j] = end;
}

// ---- loading, and where extremes are

// A lane's vectors, as one argument: of a function that is not inlined it lies in local memory.
typedef struct {
    vector x[VECTORS], y[OPERANDS == 2 ? VECTORS : 1];
} small_vectors;

static __device__ __forceinline__ small_vectors put_aside(const vector x[VECTORS], const vector y[VECTORS])
{
    small_vectors v;
#pragma unroll
    for (int j = 0; j < VECTORS; j++) {
        v.x[j] = x[j];
        if (OPERANDS == 2) v.y[j] = y[j];
    }
    return v;
}

static __device__ __forceinline__ void load_small(const struct wf_kernel_arguments *r, const small_range *range, bool is_second,
                                                  vector x[VECTORS])
{
    const vector nothing = {{0, 0, 0, 0}};
#pragma unroll
    for (int j = 0; j < VECTORS; j++) {
        u32 place = place_of(range, j);
        x[j] = place < range->whole ? load_vector(is_second ? r->y : r->x, place) : nothing;
    }
    if (range->end != range->whole) load_ends(r, range, is_second, x);
}

// The index of the element with these bits, of NaNs of the first, among those before the first whole vector.  It is searched
// in memory, since in registers that vector begins with copies of its first element.
static __device__ __noinline__ u64 index_in_head(const struct wf_kernel_arguments *r, unit wanted)
{
    for (int e = -(int)r->head; e < 0; e++) {
        unit bits = load_element(r->x, e);
        if (bits == wanted || (NAN_IS_EXTREME && is_nan(bits) && is_nan(wanted))) return (u64)(r->index + e);
    }
    return NO_INDEX;
}

static __device__ __forceinline__ bool is_nan_float(unit bits)
{
    if (WIDTH == 32) return __uint_as_float(bits) != __uint_as_float(bits);
    if (WIDTH == 64) return __longlong_as_double((i64)bits) != __longlong_as_double((i64)bits);
    return is_nan(bits);
}

static __device__ __forceinline__ bool has_nan(const vector *v)
{
    bool found = false;
    u32 tops = 0;
#pragma unroll
    for (int i = 0; WIDTH == 16 && i < 4; i++) tops |= nan_tops(v->word[i]);
#pragma unroll
    for (int e = 0; WIDTH > 16 && e < PER_VECTOR; e++) found = found || is_nan_float(element_at(v, e));
    return found || tops;
}

// The number of the lane's first element with these bits among the whole vectors and those after them, or NOWHERE.
static __device__ __forceinline__ u32 place_of_bits(const small_range *range, const vector x[VECTORS], unit wanted, u32 behind)
{
    u32 found = NOWHERE;
#pragma unroll
    for (int j = VECTORS - 1; j >= 0; j--) {
        u32 place = PER_VECTOR;
#pragma unroll
        for (int e = PER_VECTOR - 1; e >= 0; e--)
            if (element_at(&x[j], e) == wanted) place = (u32)e;
        if (place_of(range, j) < behind && place < PER_VECTOR) found = place_of(range, j) * PER_VECTOR + place;
    }
    return found;
}

// The same of the first NaN.
static __device__ __forceinline__ u32 place_of_nan(const small_range *range, const vector x[VECTORS], u32 behind)
{
    vector first = x[0];
    u32 place = NOWHERE, e = PER_VECTOR;
#pragma unroll
    for (int j = VECTORS - 1; j >= 0; j--)
        if (place_of(range, j) < behind && has_nan(&x[j])) {
            place = place_of(range, j);
            first = x[j];
        }
#pragma unroll
    for (int i = PER_VECTOR - 1; i >= 0; i--)
        if (is_nan_float(element_at(&first, i))) e = (u32)i;
    return place == NOWHERE ? NOWHERE : place * PER_VECTOR + e;
}

// The first index among the lane's vectors of an element with the key.
static __device__ __forceinline__ u64 index_in_registers(const struct wf_kernel_arguments *r, const small_range *range,
                                                         const vector x[VECTORS], u64 key)
{
    unit wanted = bits_of_key((i64)(key ^ (u64)1 << 63));
    u32 behind = range->whole + (r->tail != 0);
    u32 found = IS_RARE(NAN_IS_EXTREME && is_nan_float(wanted)) ? place_of_nan(range, x, behind)
                                                                : place_of_bits(range, x, wanted, behind);
    u64 index = found == NOWHERE ? NO_INDEX : (u64)r->index + found;
    if (r->head == 0 || !has_place(range, behind)) return index;
    u64 in_head = index_in_head(r, wanted);
    return in_head < index ? in_head : index;
}

static __device__ __forceinline__ void find_in_registers(const struct wf_kernel_arguments *r, const small_range *range,
                                                         const vector x[VECTORS], lane_state *lane)
{
    if (HAS_MIN) {
        lane->min_index = index_in_registers(r, range, x, lane->min_key);
        lane->min_chunk = NOWHERE;
    }
    if (HAS_MAX) {
        lane->max_index = index_in_registers(r, range, x, lane->max_key);
        lane->max_chunk = NOWHERE;
    }
}

// ---- what is rare: NaNs and infinities

// What a lane's vectors have that is rare; keys: of the extremes but for NaNs.
typedef struct {
    u64 first_nan, min_key, max_key;
    u32 nan_count, special_seen;
} small_seen;

// A bit for each of the vector's elements that exists.
static __device__ __forceinline__ u32 present_at(const struct wf_kernel_arguments *r, const small_range *range, u32 place)
{
    const u32 all = (1u << PER_VECTOR) - 1;
    if (place < range->whole) return all;
    return number_of(r, range, place) < 0 ? all & ~0u << (PER_VECTOR - r->head) : (1u << r->tail) - 1;
}

// A bit for each of the vector's elements, or pairs, that is a NaN.
static __device__ __forceinline__ u32 nans_of(const vector *x, const vector *y)
{
    u32 nans = 0;
#pragma unroll
    for (int e = 0; e < PER_VECTOR; e++)
        if (is_either_nan(element_at(x, e), element_at(y, e))) nans |= 1u << e;
    return nans;
}

// Notes the NaNs of the vector at such a place, `count` if all its elements exist.  The lane's first one is in the first
// vector that has any, or in that which lies before all others and has the last place.
static __device__ __forceinline__ void note_nans_at(const struct wf_kernel_arguments *r, const small_range *range, u32 place,
                                                    const vector *x, const vector *y, u32 count, small_seen *seen)
{
    bool is_end = place >= range->whole;
    if (count == 0) return;
    if (seen->nan_count == 0 || is_end) {
        u32 nans = nans_of(x, y) & present_at(r, range, place);
        i64 index = r->index + (i64)number_of(r, range, place) * PER_VECTOR + __ffs((int)nans) - 1;
        if (nans) seen->first_nan = min(seen->first_nan, (u64)index);
        if (is_end) count = (u32)__popc(nans);
    }
    seen->nan_count += count;
}

#if USES_LEVELS

// Brings the next vectors to the front, so that loops over them need neither be unrolled nor go through memory.
static __device__ __forceinline__ void move_on(small_vectors *v)
{
    vector x = v->x[0], y = v->y[0];
#pragma unroll
    for (int j = 0; j < VECTORS; j++) {
        v->x[j] = j + 1 < VECTORS ? v->x[j + 1] : x;
        if (OPERANDS == 2) v->y[j] = j + 1 < VECTORS ? v->y[j + 1] : y;
    }
}

// Notes what is special in all of the lane's vectors, and leaves zeros there.
static __device__ __forceinline__ void clean_all(const struct wf_kernel_arguments *r, const small_range *range, small_vectors *v,
                                                 small_seen *seen)
{
#pragma unroll 1
    for (int j = 0; j < VECTORS; j++) {
        vector x = v->x[0], y = OPERANDS == 2 ? v->y[0] : x, clean_x = x, clean_y = y;
        if (is_there(range, j)) {
            u32 count = clean_vectors(&seen->special_seen, &clean_x, &clean_y, 1);
            note_nans_at(r, range, place_of(range, j), &x, &y, count, seen);
            v->x[0] = clean_x;
            if (OPERANDS == 2) v->y[0] = clean_y;
        }
        move_on(v);
    }
    __syncwarp();
}

// What all terms of the lane mean to the sign of a sum that is zero.
static __device__ __forceinline__ u32 signs_of_zeros(const small_range *range, small_vectors *v)
{
    u32 special_seen = 0;
#pragma unroll 1
    for (int j = 0; j < VECTORS; j++) {
        const vector *x = &v->x[0], *y = OPERANDS == 2 ? &v->y[0] : x;
#pragma unroll
        for (int e = 0; e < PER_VECTOR; e++)
            if (is_there(range, j)) special_seen |= special_of(element_at(x, e), element_at(y, e));
        move_on(v);
    }
    __syncwarp();
    return special_seen;
}

// ---- what is rare: zeros, and terms that few levels do not hold

static __device__ __forceinline__ void add_vectors(sums_state *sums, const small_range *range, small_vectors *v)
{
#pragma unroll 1
    for (int j = 0; j < VECTORS && is_there(range, j); j++) {
        add_batch(sums, &v->x[0], OPERANDS == 2 ? &v->y[0] : &v->x[0], 1, LEVELS, LEVELS);
        move_on(v);
    }
    __syncwarp();
    flush_levels(sums, LEVELS, LEVELS, &block_partial);
}

// Adds all to bins: values and products, whichever of them the levels do not hold.
static __device__ __forceinline__ void add_vectors_to_wide(const sums_state *sums, const small_range *range, small_vectors *v)
{
    wide_clear(value_bins(sums), WIDE_NBYTES / 8 / WIDE_COLUMNS);
    __syncwarp();
#pragma unroll 1
    for (int j = 0; j < VECTORS && __any_sync(ALL_LANES, is_there(range, j)); j += WIDE_VECTORS) {
        add_terms_to_wide(sums, v->x, OPERANDS == 2 ? v->y : v->x, USES_VALUE_LEVELS, USES_PRODUCT_LEVELS);
        rotate(v->x);
        if (OPERANDS == 2) rotate(v->y);
    }
    __syncwarp();
    if (USES_VALUE_LEVELS) wide_flush_values(value_bins(sums));
    if (USES_PRODUCT_LEVELS) wide_flush_products(product_bins(sums));
}

static __device__ __forceinline__ void add_unplain(const small_range *range, small_vectors *v, field_range of_x,
                                                   field_range of_y, char *memory)
{
    sums_state sums;
    int margin = margin_of(of_x, of_y);
    int high_x = high_with_margin(of_x.high, margin), high_y = high_with_margin(of_y.high, margin);
    bool values_fit = !USES_VALUE_LEVELS || class_of_values(high_x, of_x) != TO_BINS;
    bool products_fit = !USES_PRODUCT_LEVELS || class_of_products(high_x, high_y, of_x, of_y) != TO_BINS;
    sums.memory = memory;
    if (USES_WIDE && !(values_fit && products_fit)) {
        add_vectors_to_wide(&sums, range, v);
        return;
    }
    place_levels(&sums, high_x, high_y);
    add_vectors(&sums, range, v);
}

// Whether the lane's first term is not 0, as most are.
static __device__ __forceinline__ bool has_term(const small_range *range, const small_vectors *v)
{
    unit a = element_at(&v->x[0], 0), b = OPERANDS == 2 ? element_at(&v->y[0], 0) : a;
    return is_there(range, 0) && is_nonzero(a) && is_nonzero(b);
}

static __device__ __forceinline__ bool have_nan(const small_vectors *v)
{
    bool found = false;
#pragma unroll
    for (int j = 0; j < VECTORS; j++) found = found || has_nan(&v->x[j]) || (OPERANDS == 2 && has_nan(&v->y[j]));
    return found;
}

// memory: the warp's, for bins.
static __device__ __forceinline__ small_seen take_unplain(const struct wf_kernel_arguments *r, small_range range, small_vectors v,
                                                       char *memory)
{
    small_seen seen = {NO_INDEX, 0, 0, 0, PLAIN_SPECIAL};
    if (nan_decides(r) && __any_sync(ALL_LANES, have_nan(&v))) {
        seen.nan_count = 1;
        return seen;
    }
    seen.special_seen = 0;
    field_range of_x = fields_of(v.x), of_y = OPERANDS == 2 ? fields_of(v.y) : of_x;
    if (max(of_x.high, of_y.high) > 2 * BIAS) {
        clean_all(r, &range, &v, &seen);
        of_x = fields_of(v.x);
        of_y = OPERANDS == 2 ? fields_of(v.y) : of_x;
    }
    if (PLAIN_SPECIAL)
        seen.special_seen |= __any_sync(ALL_LANES, has_term(&range, &v)) ? PLAIN_SPECIAL : signs_of_zeros(&range, &v);
    seen.special_seen = warp_or(seen.special_seen);
    bool is_decided = IS_RESULT && seen.special_seen & ~(u32)PLAIN_SPECIAL;
    if (!is_decided && of_x.low <= of_x.high && of_y.low <= of_y.high) add_unplain(&range, &v, of_x, of_y, memory);
    return seen;
}

// ---- all that there is in most arrays

static __device__ __forceinline__ void add_registers(sums_state *sums, const small_range *range, const vector x[VECTORS],
                                                     const vector y[VECTORS])
{
#pragma unroll
    for (int j = 0; j < VECTORS; j++)
        if (is_there(range, j)) add_batch(sums, &x[j], &y[j], 1, VALUE_FEW, PRODUCT_FEW);
}

// Places the levels.  Whether the lane's terms go to few of them, and none is 0.
static __device__ __forceinline__ bool place_registers(sums_state *sums, const small_range *range, const vector x[VECTORS],
                                                       const vector y[VECTORS])
{
    u32 largest[OPERANDS], smallest[OPERANDS];
    int high[OPERANDS];
#pragma unroll
    for (int i = 0; i < OPERANDS; i++) {
        smallest[i] = MAGNITUDE_MAX;
        largest[i] = largest_magnitude(i ? y : x);
        high[i] = (int)(warp_max(largest[i]) >> FIELD_SHIFT);
#pragma unroll
        for (int j = 0; j < VECTORS; j++)
            if (is_there(range, j)) note_smallest(&smallest[i], i ? &y[j] : &x[j]);
        smallest[i] = smallest_of(smallest[i]);
    }
    if (high[0] > 2 * BIAS || high[OPERANDS - 1] > 2 * BIAS) return false;
    if (IS_F16) high[0] = high[OPERANDS - 1] = 2 * BIAS; // the levels hold all
    const field_range of_x = {high[0], high[0]}, of_y = {high[OPERANDS - 1], high[OPERANDS - 1]};
    int top = top_of_values(high[0]) + (USES_PRODUCT_LEVELS ? top_of_values(high[OPERANDS - 1]) : 0);
    place_levels(sums, high[0], high[OPERANDS - 1]);
    make_usual(sums, TO_FEW, TO_FEW, of_x, of_y);
    bool are_usual = top <= LEVEL_TOP_MAX;
#pragma unroll
    for (int i = 0; i < OPERANDS; i++) are_usual = are_usual && smallest[i] && is_usual(sums, i, largest[i], smallest[i]);
    return are_usual;
}

// Adds all that the lane has in registers; whether the warp has anything special.
static __device__ __forceinline__ bool take_registers(const struct wf_kernel_arguments *r, const small_range *range,
                                                      const vector x[VECTORS], const vector y[VECTORS], lane_state *lane)
{
    extern __shared__ __align__(128) char shared[];
    sums_state sums;
    if (!IS_RARE(!__all_sync(ALL_LANES, place_registers(&sums, range, x, y)))) {
        add_registers(&sums, range, x, y);
        flush_levels(&sums, VALUE_FEW, PRODUCT_FEW, &block_partial);
        return false;
    }
    small_seen seen = take_unplain(r, *range, put_aside(x, y), shared + warp_number() * SUMS_NBYTES);
    lane->nan_count = seen.nan_count;
    lane->first_nan = seen.first_nan;
    lane->special_seen = seen.special_seen;
    return __any_sync(ALL_LANES, seen.nan_count != 0) || seen.special_seen != PLAIN_SPECIAL;
}

#else

#if LOOKS_FOR_NAN

static __device__ __noinline__ small_seen take_nans(const struct wf_kernel_arguments *r, small_range range, small_vectors v)
{
    small_seen seen = {NO_INDEX, 0, 0, 0, 0};
    segment_state segment;
    clear_extremes(&segment);
#pragma unroll 1
    for (int j = 0; j < VECTORS && is_there(&range, j); j++) {
        vector x = v.x[j];
        if (HAS_EXTREMES) accumulate_extremes(&segment, &x, true);
        note_nans_at(r, &range, place_of(&range, j), &x, &x, count_nans(&x, &x, 1), &seen);
    }
    if (HAS_MIN) seen.min_key = least_key(&segment);
    if (HAS_MAX) seen.max_key = largest_key(&segment);
    return seen;
}

// The key of the lane's extreme but for NaNs.
static __device__ __forceinline__ u64 key_without_nans(const small_range *range, const vector x[VECTORS], bool is_min)
{
#if WIDTH == 32 // by the operations that floats have themselves: of a NaN and a number they take the number
    float best = __uint_as_float(MAGNITUDE);
#pragma unroll
    for (int i = 0; i < LANE_ELEMENTS; i++) {
        float value = __uint_as_float(x[i / 4].word[i % 4]);
        if (is_there(range, i / 4)) best = is_min ? fminf(best, value) : fmaxf(best, value);
    }
    return best == best ? ordered(key_of(__float_as_uint(best))) : is_min ? ~(u64)0 : 0;
#else
    segment_state segment;
    clear_extremes(&segment);
#pragma unroll
    for (int j = 0; j < VECTORS; j++)
        if (is_there(range, j)) accumulate_extremes(&segment, &x[j], true);
    return is_min ? least_key(&segment) : largest_key(&segment);
#endif
}

// Makes NaNs extremes of their own, or leaves them out.
static __device__ __forceinline__ void rank_nans(const struct wf_kernel_arguments *r, const small_range *range,
                                                 const vector x[VECTORS], bool has_nan, lane_state *lane)
{
    u64 *key = HAS_MIN ? &lane->min_key : &lane->max_key;
    bool decides = nan_decides(r);
    if (IS_RARE(!decides && __any_sync(ALL_LANES, has_nan)))
        *key = key_without_nans(range, x, HAS_MIN);
    else if (has_nan)
        *key = nan_key(HAS_MIN);
}

// Takes what the warp's NaNs are to the op; whether anything is special then.
static __device__ __forceinline__ bool take_lanes_nans(const struct wf_kernel_arguments *r, const small_range *range,
                                                       const vector x[VECTORS], bool has_nan, lane_state *lane)
{
    if (NAN_IS_EXTREME) {
        rank_nans(r, range, x, has_nan, lane);
        return false;
    }
    if (!__any_sync(ALL_LANES, has_nan)) return false;
    small_seen seen = take_nans(r, *range, put_aside(x, x));
    lane->nan_count = seen.nan_count;
    lane->first_nan = seen.first_nan;
    if (HAS_MIN) lane->min_key = seen.min_key;
    if (HAS_MAX) lane->max_key = seen.max_key;
    return true;
}

#endif

// Adds all that the lane has in registers; whether the warp has NaNs that are special.
static __device__ __forceinline__ bool take_registers(const struct wf_kernel_arguments *r, const small_range *range,
                                                      const vector x[VECTORS], const vector y[VECTORS], lane_state *lane)
{
    segment_state segment;
    bool has_nan = false, is_special = false;
    segment_clear(lane, &segment, 0);
#pragma unroll
    for (int j = 0; j < VECTORS; j++)
        if (is_there(range, j)) {
            accumulate(&segment, &x[j], &y[j]);
            if (HAS_EXTREMES) accumulate_extremes(&segment, &x[j], false);
        }
    if (LOOKS_FOR_NAN) has_nan = has_seen_nan(&segment);
    if (HAS_EXTREMES && IS_INDEXED) note_extremes(&segment, x, 0, false);
    segment_commit(lane, &segment, &block_partial);
#if LOOKS_FOR_NAN
    is_special = take_lanes_nans(r, range, x, has_nan, lane);
#endif
    if (HAS_EXTREMES && IS_INDEXED) find_in_registers(r, range, x, lane);
    return is_special;
}

#endif

// ---- the block

static __device__ __noinline__ void write_special_result(const struct wf_kernel_arguments *r, u32 specials)
{
    if (gridDim.x > 1) collect_blocks(r, specials);
    write_result(r);
}

// Publishes the block's parts; the last block writes the result.  By the first warp.
static __device__ __forceinline__ void finish_block(const struct wf_kernel_arguments *r)
{
    u32 specials = 0;
    if (gridDim.x == 1 || merge_blocks(r, has_special(), &specials)) write_special_result(r, specials);
}

// Merges the warps' parts where there is something special; called by the first warp.
static __device__ __noinline__ void merge_special_warps(const struct wf_kernel_arguments *r)
{
    lane_state lane;
    combine_warps(&lane);
    __syncwarp();
    finish_block(r);
}

// What is special in the lanes' elements; where nothing is, the warp has put that before.
static __device__ __noinline__ void put_warps_special(u64 nan_count, u64 first_nan, u32 special_seen)
{
    lane_state lane;
    lane.nan_count = nan_count;
    lane.first_nan = first_nan;
    lane.special_seen = special_seen;
    merge_special(&lane);
    if (lane_number() == 0) put_special(&lane, warp_number());
}

// Integers that have no padding, all of them once more, by the slow path.
static __device__ __noinline__ void reduce_slow(const struct wf_kernel_arguments *r, small_range range)
{
    slow_range whole = {range.first, range.step, VECTORS, 1, range.whole};
    slow_range ends = {NO_VECTOR, 0, 1, 1, (i64)range.whole + 1};
    u32 place = place_of_end(&range);
    lane_state lane;
    clear_block_digits();
    __syncthreads();
    lane_clear(&lane);
    accumulate_slow(r, &lane, whole);
    if (place != NOWHERE) ends.first = number_of(r, &range, place);
    if (__any_sync(ALL_LANES, place != NOWHERE)) accumulate_slow(r, &lane, ends);
    merge_warps(&lane);
    if (warp_number() == 0) finish_block(r);
}

// Merges the parts of all warps, one in each lane; called by the first warp.
static __device__ __forceinline__ void merge_plain(const struct wf_kernel_arguments *r, lane_state *lane)
{
    u32 specials = 0;
    lane_clear(lane);
    if (lane_number() < BLOCK / 32) get_merged(lane, lane_number());
    merge_lanes(lane);
    if (lane_number() == 0) {
        put_partial(lane);
        if (IS_FLOAT && !CAN_BE_DIRECT) put_plain();
    }
    __syncwarp();
    if (gridDim.x > 1 && !merge_blocks(r, false, &specials)) return;
#ifdef FINISH_OP
    if (CAN_BE_DIRECT && specials == 0) {
        if (gridDim.x > 1) collect_blocks(r, 0);
        finish_directly(r);
        return;
    }
#endif
    if (IS_FLOAT && CAN_BE_DIRECT && lane_number() == 0) put_plain();
    __syncwarp();
    write_special_result(r, specials);
}

// Loads the arguments that the end of the kernel needs while the elements are still being loaded.
static __device__ __forceinline__ void need_soon(const struct wf_kernel_arguments *r)
{
    asm volatile("" ::"r"(r->head | r->tail), "l"(r->working), "l"(r->ticket), "l"(r->value));
}

// Waits for all warps.
static __device__ __forceinline__ bool is_special_to_any(bool is_special)
{
    if (!NAN_IS_EXTREME) return __syncthreads_or(is_special);
    __syncthreads();
    return false;
}

static __device__ __forceinline__ void reduce_small(const struct wf_kernel_arguments *r)
{
    u32 whole = (u32)r->vectors, ends = (r->head != 0) + (r->tail != 0);
    small_range range = {blockIdx.x * BLOCK + threadIdx.x, gridDim.x * BLOCK, whole, whole + ends};
    bool is_special = !NAN_IS_EXTREME && (range.end == 0 || (ends && !CAN_BE_PADDED));
    vector x[VECTORS], y[VECTORS];
    lane_state lane;
    load_small(r, &range, false, x);
    if (OPERANDS == 2) load_small(r, &range, true, y);
    bool has_vectors = range.first - lane_number() < range.end;
    lane_clear(&lane);
    lane.special_seen = has_vectors ? PLAIN_SPECIAL : 0;
    if (IS_FLOAT && !NAN_IS_EXTREME && lane_number() == 0) put_special(&lane, warp_number());
    clear_block_digits();
    need_soon(r);
    if (HAS_SUMS) __syncthreads();
    if (has_vectors && take_registers(r, &range, x, OPERANDS == 2 ? y : x, &lane)) {
        put_warps_special(lane.nan_count, lane.first_nan, lane.special_seen);
        is_special = true;
    }
    merge_lanes(&lane);
    if (lane_number() == 0) put_merged(&lane, warp_number());
    if (!is_special_to_any(is_special)) {
        if (warp_number() == 0) merge_plain(r, &lane);
    } else if (!CAN_BE_PADDED && ends) {
        reduce_slow(r, range);
    } else if (warp_number() == 0) {
        merge_special_warps(r);
    }
}

#endif
