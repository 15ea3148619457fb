// What a lane knows of its elements of a group of integers of up to 32 bits, whose sum or mean is sought: the sum of up to 2^29 of them.

#ifndef GROUP_INTEGER_SUMS_CUH
#define GROUP_INTEGER_SUMS_CUH

#include "kernels/group_short.cuh"
#include "kernels/team.cuh"

#if ARE_INTEGER_SUMS

typedef struct {
    i64 sum;
} row_sums;

static __device__ __forceinline__ row_sums no_row_sums(const struct wf_group_arguments *r, unit first)
{
    row_sums sums = {0};
    (void)r, (void)first;
    return sums;
}

// What stands for elements that are not the group's: it changes nothing.
static __device__ __forceinline__ unit row_padding(unit first)
{
    (void)first;
    return 0;
}

static __device__ __forceinline__ void add_row_element(row_sums *sums, unit element)
{
    sums->sum += narrow_term(element);
}

#if IS_NARROW_INTEGER

// A word's elements, added to a sum that 32 bits hold.
static __device__ __forceinline__ int add_word(int sum, u32 word)
{
    if (WIDTH == 8) return IS_SIGNED ? __dp4a((int)word, 0x01010101, sum) : (int)__dp4a(word, 0x01010101u, (u32)sum);
    return IS_SIGNED ? __dp2a_lo((int)word, 0x0101, sum) : (int)__dp2a_lo(word, 0x0101u, (u32)sum);
}

static __device__ __forceinline__ void add_row_vector(row_sums *sums, const vector *v)
{
    int sum = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) sum = add_word(sum, v->word[i]);
    sums->sum += sum;
}

#endif

static __device__ __forceinline__ void note_least_element(row_sums *sums, unit element)
{
    (void)sums, (void)element;
}

static __device__ __forceinline__ void note_least_of_vector(row_sums *sums, const vector *v)
{
    (void)sums, (void)v;
}

// With those of other elements of the group.
static __device__ __forceinline__ void join_row_sums(row_sums *sums, const row_sums *other)
{
    sums->sum += other->sum;
}

// By all lanes.
static __device__ __forceinline__ void merge_row_sums(row_sums *sums, const team *lanes)
{
    for (int step = 0; step < lanes->log2; step++) sums->sum += __shfl_xor_sync(ALL_LANES, sums->sum, team_delta(lanes, step));
}

// Whether the result is known: a mean is rounded once if an f64 holds the sum.
static __device__ __forceinline__ bool finish_row(const struct wf_group_arguments *r, const row_sums *sums, int count, double roundings,
                                                  u64 *bits)
{
    (void)r, (void)roundings;
    *bits = FINISH_OP == WF_MEAN ? (u64)__double_as_longlong(__ddiv_rn((double)sums->sum, (double)count)) : (u64)sums->sum;
    return FINISH_OP != WF_MEAN || (sums->sum <= 1ll << 53 && sums->sum >= -(1ll << 53));
}

#endif

#endif
