// A second look at a lane's group that its sums do not decide (group_chunks.cuh).  Infinities, and NaNs unless they are left out, decide.
// Of f64, what is left is added up once more, times a power of two where it is so large, or so small, that its sums have no bound.

#ifndef GROUP_CHUNKS_AGAIN_CUH
#define GROUP_CHUNKS_AGAIN_CUH

#include "kernels/group_chunks.cuh"
#include "kernels/group_scale.cuh"

#if ARE_IN_CHUNKS

#if HAS_EXTREMES

static __device__ __forceinline__ bool decide_chunks_otherwise(const struct wf_group_arguments *r, const chunk_state *state, u64 address,
                                                               u64 *bits)
{
    (void)r, (void)state, (void)address, (void)bits;
    return false;
}

#else

#if IS_FLOAT && WIDTH == 64

typedef struct {
    short_specials specials;
    u32 most; // the high word of the largest number's magnitude
} chunks_look;

static __device__ __forceinline__ chunks_look look_at_chunks(u64 address, i64 step, int count)
{
    chunks_look look = {{0, false, false}, 0};
    for (int done = 0; done < count; done += CHUNK) {
        unit elements[CHUNK];
        load_chunk(address + (u64)(done * step), step, count - done, SHORT_PADDING, elements);
#pragma unroll
        for (int k = 0; k < CHUNK; k++) {
            u32 high = (u32)((elements[k] & MAGNITUDE) >> 32);
            note_special(elements[k], &look.specials);
            look.most = max(look.most, high < (u32)(INFINITY_BITS >> 32) ? high : 0);
        }
    }
    return look;
}

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
        load_chunk(address + (u64)(done * step), step, count - done, SHORT_PADDING, elements);
        is_whole = scale_chunk(elements, scale) && is_whole;
        if (done == 0) state.first = elements[0];
        add_chunk(&state, elements, done, count - done);
    }
    state.is_exact = state.is_exact && is_whole;
    return state;
}

// Whether the result is known.
static __device__ __noinline__ bool decide_chunks_again(const struct wf_group_arguments *r, u64 address, u64 *bits)
{
    const i64 step = r->dimension[r->ndim].stride[0];
    const int count = (int)r->reduced_count;
    const chunks_look look = look_at_chunks(address, step, count);
    const int settled = settle_specials(r, &look.specials, count, bits), nans = look.specials.nans, scale = scale_of(look.most);
    if (settled != SPECIALS_PASS) return settled == SPECIALS_DECIDE;
    if (scale == 0 && nans == 0) return false;
    chunk_state state = add_scaled_chunks(r, address, step, count, scale);
    return finish_chunks(r, &state, count - nans, bits) && scale_back(scale, bits);
}

#else

static __device__ __forceinline__ bool decide_chunks_again(const struct wf_group_arguments *r, u64 address, u64 *bits)
{
    const i64 step = r->dimension[r->ndim].stride[0];
    short_specials found = {0, false, false};
    for (int k = 0; k < (int)r->reduced_count; k++) note_special(load_unit(address + (u64)(k * step)), &found);
    return settle_specials(r, &found, (int)r->reduced_count, bits) == SPECIALS_DECIDE;
}

#endif

// Of f64, whose sums may have left the range of bounds; of others, whether there may be a NaN or an infinity, as there is one among
// what was added up.
static __device__ __forceinline__ bool is_worth_a_look(const chunk_state *state)
{
    double sum = IS_SHORT_OF_SQUARES ? state->squares.squares.high : state->sum.high;
    return IS_FLOAT && (WIDTH == 64 || !(fabs(sum) <= 0x1.fffffffffffffp1023));
}

static __device__ __forceinline__ bool decide_chunks_otherwise(const struct wf_group_arguments *r, const chunk_state *state, u64 address,
                                                               u64 *bits)
{
    return is_worth_a_look(state) && decide_chunks_again(r, address, bits);
}

#endif

// False if the result has to be found otherwise.
static __device__ __forceinline__ bool reduce_in_chunks(const struct wf_group_arguments *r, i64 result)
{
    const group_place place = find_place(r, result);
    const i64 step = r->dimension[r->ndim].stride[0];
    const int count = (int)r->reduced_count;
    const unit first = load_unit(place.x), padding = chunk_padding(first);
    chunk_state state = begin_chunks(r, first);
    u64 address = place.x, bits = 0;
#pragma unroll 1
    for (int done = 0; done < count; done += CHUNK) {
        unit elements[CHUNK];
        load_chunk(address, step, count - done, padding, elements);
        add_chunk(&state, elements, done, count - done);
        address += (u64)(CHUNK * step);
    }
    if (!finish_chunks(r, &state, count, &bits) && !decide_chunks_otherwise(r, &state, place.x, &bits)) return false;
    store_unit(place.result, bits);
    return true;
}

#endif

#endif
