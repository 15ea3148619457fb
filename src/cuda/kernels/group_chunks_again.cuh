// A second look at a lane's group that its sums do not decide (group_chunks.cuh).  Infinities, and NaNs unless they are left out, decide,
// and the last bit of all elements tells whether the sums of a variance that seems half-way between two results are exact.
// Of f64, what is left is added up once more, times a power of two where it is so large, or so small, that its sums have no bound.

#ifndef GROUP_CHUNKS_AGAIN_CUH
#define GROUP_CHUNKS_AGAIN_CUH

#include "kernels/group_chunks.cuh"
#include "kernels/group_scale.cuh"

#if ARE_IN_CHUNKS

#if HAS_EXTREMES || !IS_FLOAT

static __device__ __forceinline__ bool decide_chunks_otherwise(const struct wf_group_arguments *r, const chunk_state *state, u64 address,
                                                               u64 *bits)
{
    (void)r, (void)state, (void)address, (void)bits;
    return false;
}

#else

typedef struct {
    short_specials specials;
    u32 most;    // the high word of the largest number's magnitude, of f64; of others its bits
    unit unlike; // of spreads: bits in which elements differ from the first one
    element_grid grid; // of spreads of narrower types
} chunks_look;

// The bits of its magnitude, of f64 the high word; 0 if it is no number.
static __device__ __forceinline__ u32 most_of_number(unit element)
{
    const int low = WIDTH == 64 ? 32 : 0;
    u32 most = (u32)((element & MAGNITUDE) >> low);
    return most < (u32)(INFINITY_BITS >> low) ? most : 0;
}

static __device__ __forceinline__ chunks_look look_at_chunks(u64 address, i64 step, int count)
{
    const unit first = load_unit(address);
    chunks_look look = {{0, false, false}, 0, 0, {~0u, 0}};
    for (int done = 0; done < count; done += CHUNK) {
        unit elements[CHUNK];
        load_chunk(address + (u64)(done * step), step, count - done, elements);
        pad_chunk(count - done, SHORT_PADDING, elements);
#pragma unroll
        for (int k = 0; k < CHUNK; k++) {
            note_special(elements[k], &look.specials);
            look.most = max(look.most, most_of_number(elements[k]));
            if (!IS_SHORT_SPREAD) continue;
            look.unlike |= k < count - done ? elements[k] ^ first : (unit)0;
            if (WIDTH < 64) note_grid(&look.grid, elements[k]);
        }
    }
    return look;
}

// Of numbers.
static __device__ __forceinline__ bool settle_squares(const struct wf_group_arguments *r, const chunk_state *state, const chunks_look *look,
                                                      u64 *bits)
{
    const int count = (int)r->reduced_count;
    if (!IS_SHORT_SPREAD) return false;
    *bits = 0;
    if (look->unlike == 0) return true;
    if (WIDTH == 64) return false; // whose grid was known before
    const spread_divisor by = divisor_of_group(r, count);
    return finish_row_spread(state, count, &by, roundings_of_chunks(count), square_of_grid(&look->grid), bits);
}

#if WIDTH == 64

// Without NaNs; whether all can be scaled back.
static __device__ __forceinline__ bool scale_chunk(unit *elements, int scale)
{
    const double factor = power_of_two(scale), inverse = power_of_two(-scale);
    bool is_whole = true;
#pragma unroll
    for (int k = 0; k < CHUNK; k++) {
        double x = widen(is_nan(elements[k]) ? SHORT_PADDING : elements[k]), scaled = __dmul_rn(x, factor);
        is_whole = is_whole && __dmul_rn(scaled, inverse) == x;
        elements[k] = (unit)__double_as_longlong(scaled);
    }
    return is_whole;
}

// What the smallest numbers lose where that makes them subnormal is far below the bounds, but no sum is exact then.
static __device__ __forceinline__ chunk_state add_scaled_chunks(const struct wf_group_arguments *r, u64 address, i64 step, int count, int scale)
{
    chunk_state state = begin_chunks(r, 0);
    bool is_whole = true;
#pragma unroll 1
    for (int done = 0; done < count; done += CHUNK) {
        unit elements[CHUNK];
        load_chunk(address + (u64)(done * step), step, count - done, elements);
        pad_chunk(count - done, SHORT_PADDING, elements);
        is_whole = scale_chunk(elements, scale) && is_whole;
        add_chunk(&state, elements, done, count - done);
    }
    if (!is_whole) state.least = 0;
    return state;
}

// Whether the result is known.
static __device__ __noinline__ bool decide_chunks_again(const struct wf_group_arguments *r, const chunk_state seen, u64 address, u64 *bits)
{
    const i64 step = r->dimension[r->ndim].stride[0];
    const int count = (int)r->reduced_count;
    const chunks_look look = look_at_chunks(address, step, count);
    const int settled = settle_specials(r, &look.specials, count, bits), nans = look.specials.nans, scale = scale_of(look.most);
    if (settled != SPECIALS_PASS) return settled == SPECIALS_DECIDE;
    if (nans == 0 && settle_squares(r, &seen, &look, bits)) return true;
    if (scale == 0 && nans == 0) return false;
    chunk_state state = add_scaled_chunks(r, address, step, count, scale);
    *bits = 0;
    if (IS_SHORT_NORM && state.of.squares.high == 0) return true; // which scaled squares are of zeros alone
    return finish_chunks(r, &state, count - nans, bits) && scale_back(scale, bits);
}

#else

static __device__ __noinline__ bool decide_chunks_again(const struct wf_group_arguments *r, const chunk_state seen, u64 address, u64 *bits)
{
    const int count = (int)r->reduced_count;
    const chunks_look look = look_at_chunks(address, r->dimension[r->ndim].stride[0], count);
    const int settled = settle_specials(r, &look.specials, count, bits);
    if (settled != SPECIALS_PASS) return settled == SPECIALS_DECIDE;
    return look.specials.nans == 0 && settle_squares(r, &seen, &look, bits);
}

#endif

// Of f64, whose sums may have left the range of bounds, and of squares; of others, whether there may be a NaN or an infinity, as there
// is one among what was added up.
static __device__ __forceinline__ bool is_worth_a_look(const chunk_state *state)
{
#if WIDTH == 64
    (void)state;
    return true;
#else
    return IS_SHORT_OF_SQUARES || !(fabs(state->sum) <= 0x1.fffffffffffffp1023);
#endif
}

static __device__ __forceinline__ bool decide_chunks_otherwise(const struct wf_group_arguments *r, const chunk_state *state, u64 address,
                                                               u64 *bits)
{
#if WIDTH == 64
    if (settle_nan(r, state, bits)) return true;
#endif
    return is_worth_a_look(state) && decide_chunks_again(r, *state, address, bits);
}

#endif

// False if the result has to be found otherwise.  address: of the group; result: where it goes.
static __device__ __forceinline__ bool leave_chunks(const struct wf_group_arguments *r, u64 address, u64 result, const chunk_state *state)
{
    u64 bits = 0;
    if (finish_chunks(r, state, (int)r->reduced_count, &bits)) {
        store_unit(result, bits);
        return true;
    }
    u64 otherwise = 0; // which a call has in memory
    if (!decide_chunks_otherwise(r, state, address, &otherwise)) return false;
    store_unit(result, otherwise);
    return true;
}

static __device__ __forceinline__ bool reduce_in_chunks(const struct wf_group_arguments *r, i64 result)
{
    const group_place place = find_place(r, result);
    const chunk_state state = add_chunks(r, place.x);
    return leave_chunks(r, place.x, place.result, &state);
}

#endif

#endif
