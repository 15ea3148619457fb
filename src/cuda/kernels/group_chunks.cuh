// Groups along one axis, of more elements than are loaded at once, one of each lane: several elements at a time are added to a
// few numbers in registers, by the operations of group_short.cuh, which show whether the result is right.

#ifndef GROUP_CHUNKS_CUH
#define GROUP_CHUNKS_CUH

#include "kernels/group_chunk_extremes.cuh"
#include "kernels/group_spans.cuh"

#if ARE_IN_CHUNKS

#if !HAS_EXTREMES

#define CHUNK 16 // elements that a lane has on their way
#define STEP 4   // of these are added at a time

// What a lane knows of its group so far; what the op does not need is in no register.
typedef struct {
    double_sum sum;
    double magnitude; // of f64, the sum of magnitudes
    bool is_exact;
#if IS_FLOAT
    row_sums squares;
#endif
    i64 integers;
} chunk_state;

static __device__ __forceinline__ chunk_state begin_chunks(const struct wf_group_arguments *r, unit first)
{
    const double_sum nothing = {-0.0, 0}; // to which -0 is added without a trace
#if IS_FLOAT
    chunk_state state = {nothing, 0, true, no_row_sums(r, first), 0};
#else
    chunk_state state = {nothing, 0, true, 0};
#endif
    (void)r, (void)first;
    return state;
}

// a + b, and whether it is not rounded: see add_exactly.
static __device__ __forceinline__ double add_if_exact(double a, double b, bool *is_exact)
{
    double sum = __dadd_rn(a, b);
    *is_exact = *is_exact && __dsub_rn(sum, a) == b && __dsub_rn(sum, b) == a;
    return sum;
}

// An f64 holds sums of f16, which are multiples of 2^-24, of up to 2^13 elements; and mostly those of a few f32 or bf16, so that
// fewer numbers are added to the two.
static __device__ __forceinline__ void add_terms(chunk_state *state, const unit *elements)
{
    double term[STEP], sum;
    bool is_one = WIDTH < 64;
#pragma unroll
    for (int k = 0; k < STEP; k++) term[k] = short_term(elements[k]);
    if (WIDTH < 64) sum = add_if_exact(add_if_exact(term[0], term[1], &is_one), add_if_exact(term[2], term[3], &is_one), &is_one);
    if (IS_F16) {
        state->sum.high = __dadd_rn(state->sum.high, sum);
    } else if (is_one) {
        state->is_exact = add_exactly(&state->sum, sum) && state->is_exact;
    } else {
#pragma unroll
        for (int k = 0; k < STEP; k++) {
            state->is_exact = add_exactly(&state->sum, term[k]) && state->is_exact;
            if (WIDTH == 64) state->magnitude += fabs(term[k]);
        }
    }
}

// number: of the first one; left: of the group's elements, from that one on, before padding.
static __device__ __forceinline__ void add_chunk(chunk_state *state, const unit *elements, int number, int left)
{
    (void)number;
#pragma unroll
    for (int k = 0; k < CHUNK; k++) {
        if (k % STEP == 0 && k >= left) break;
#if IS_FLOAT
        if (IS_SHORT_OF_SQUARES)
            add_row_element(&state->squares, elements[k]);
        else if (k % STEP == 0)
            add_terms(state, elements + k);
#else
        state->integers += narrow_term(elements[k]);
#endif
    }
}

// Of f64 that two do not hold: of up to 1024, each addition to the rest, which is below 1024 * 2^-53 of the magnitude, loses a
// 2^53th of it.
static __device__ __forceinline__ bool finish_rounded_sum(const chunk_state *state, double_sum sum, double n, u64 *bits)
{
    double bound = state->magnitude * 0x1p-86;
    if (WIDTH < 64 || !(state->magnitude > 0x1p-800 && state->magnitude < 0x1p1000)) return false;
    if (FINISH_OP == WF_MEAN) {
        double quotient = __ddiv_rn(sum.high, n);
        sum = two_sum(quotient, (__fma_rn(-quotient, n, sum.high) + sum.rest) / n);
    }
    return round_within(sum, bound, bits);
}

static __device__ __forceinline__ bool finish_sum(const chunk_state *state, int count, u64 *bits)
{
    double_sum sum = state->sum;
    if (sum.rest != 0) sum = two_sum(sum.high, sum.rest); // -0 stays
    if (!state->is_exact) return finish_rounded_sum(state, sum, count, bits);
    if (!(fabs(sum.high) <= 0x1.fffffffffffffp1023)) return false;
    if (FINISH_OP == WF_MEAN && !divide_short(sum, count, &sum)) return false;
    *bits = rounded_bits(sum);
    return true;
}

// How often, at most, a number has been rounded.
static __device__ __forceinline__ double roundings_of_chunks(int count)
{
    return (double)(count + 32);
}

static __device__ __forceinline__ bool finish_chunks(const struct wf_group_arguments *r, const chunk_state *state, int count, u64 *bits)
{
#if IS_FLOAT
    return IS_SHORT_OF_SQUARES ? finish_row(r, &state->squares, count, roundings_of_chunks(count), bits) : finish_sum(state, count, bits);
#else
    *bits = FINISH_OP == WF_MEAN ? (u64)__double_as_longlong(__ddiv_rn((double)state->integers, (double)count)) : (u64)state->integers;
    return true;
#endif
}

static __device__ __forceinline__ unit chunk_padding(unit first)
{
    (void)first;
#if IS_FLOAT
    return row_padding(first);
#else
    return SHORT_PADDING;
#endif
}

#endif

// The last chunk has padding behind its elements.
static __device__ __forceinline__ void load_chunk(u64 address, i64 step, int left, unit padding, unit *elements)
{
    if (left >= CHUNK) {
#pragma unroll
        for (int k = 0; k < CHUNK; k++, address += (u64)step) elements[k] = load_unit(address);
        return;
    }
#pragma unroll
    for (int k = 0; k < CHUNK; k++, address += (u64)step) elements[k] = k < left ? load_unit(address) : padding;
}

#endif

#endif
