// What a lane knows of its elements of a group of 16-bit floats whose extreme is sought: that of two at a time, one of each half of
// the words.

#ifndef GROUP_ROW_EXTREMES_CUH
#define GROUP_ROW_EXTREMES_CUH

#include "kernels/group_short.cuh"
#include "kernels/team.cuh"

#if ARE_EXTREMES_BY_PAIRS

typedef struct {
    u32 word;   // the extremes of either half, where a NaN wins, ...
    bool omits; // ... or loses
} row_sums;

#if HAS_MIN
#define PAIR_EXTREME "min"
#else
#define PAIR_EXTREME "max"
#endif

#if IS_F16
#define PAIR_TYPE ".f16x2"
#else
#define PAIR_TYPE ".bf16x2"
#endif

#if __CUDA_ARCH__ >= 800

// Halves as they are compared.
static __device__ __forceinline__ u32 ordered_pair(u32 word, bool omits)
{
    (void)omits;
    return word;
}

static __device__ __forceinline__ u32 unordered_pair(u32 word, bool omits)
{
    (void)omits;
    return word;
}

static __device__ __forceinline__ u32 extremes_of_pairs(u32 a, u32 b, bool omits)
{
    u32 both;
    if (omits)
        asm(PAIR_EXTREME PAIR_TYPE " %0, %1, %2;" : "=r"(both) : "r"(a), "r"(b));
    else
        asm(PAIR_EXTREME ".NaN" PAIR_TYPE " %0, %1, %2;" : "=r"(both) : "r"(a), "r"(b));
    return both;
}

#else

// Keys are shifted cyclically so that NaNs of either sign are above all others, or below them.
static __device__ __forceinline__ u32 pair_shift(bool omits)
{
    return 0x10001u * (omits == (bool)HAS_MIN ? INFINITY_BITS + 1u : 0xffffu - INFINITY_BITS);
}

static __device__ __forceinline__ u32 ordered_pair(u32 word, bool omits)
{
    return __vadd2(word ^ (spread_tops(word) & 0x7fff7fff), pair_shift(omits));
}

static __device__ __forceinline__ u32 unordered_pair(u32 word, bool omits)
{
    u32 key = __vsub2(word, pair_shift(omits));
    return key ^ (spread_tops(key) & 0x7fff7fff);
}

static __device__ __forceinline__ u32 extremes_of_pairs(u32 a, u32 b, bool omits)
{
    (void)omits;
    return HAS_MIN ? __vminu2(a, b) : __vmaxu2(a, b);
}

#endif

// Of two elements.
static __device__ __forceinline__ row_sums no_row_extremes(const struct wf_group_arguments *r, u32 first)
{
    bool omits = r->nan == WF_NAN_OMIT;
    row_sums sums = {ordered_pair(first, omits), omits};
    return sums;
}

static __device__ __forceinline__ row_sums no_row_sums(const struct wf_group_arguments *r, unit first)
{
    return no_row_extremes(r, (u32)first * 0x10001u);
}

// What stands for elements that are not the group's: it changes nothing.
static __device__ __forceinline__ unit row_padding(unit first)
{
    return first;
}

static __device__ __forceinline__ void add_row_pair(row_sums *sums, u32 word)
{
    sums->word = extremes_of_pairs(sums->word, ordered_pair(word, sums->omits), sums->omits);
}

static __device__ __forceinline__ u32 extremes_of_vector(const vector *v, u32 others, bool omits)
{
    u32 low = extremes_of_pairs(ordered_pair(v->word[0], omits), ordered_pair(v->word[1], omits), omits);
    u32 high = extremes_of_pairs(ordered_pair(v->word[2], omits), ordered_pair(v->word[3], omits), omits);
    return extremes_of_pairs(others, extremes_of_pairs(low, high, omits), omits); // so that not each has to wait for the one before
}

// One branch for a vector.
static __device__ __forceinline__ void add_row_vector(row_sums *sums, const vector *v)
{
    if (sums->omits)
        sums->word = extremes_of_vector(v, sums->word, true);
    else
        sums->word = extremes_of_vector(v, sums->word, false);
}

// With those of other elements of the group.
static __device__ __forceinline__ void join_row_sums(row_sums *sums, const row_sums *other)
{
    sums->word = extremes_of_pairs(sums->word, other->word, sums->omits);
}

// By all lanes.
static __device__ __forceinline__ void merge_row_sums(row_sums *sums, const team *lanes)
{
    for (int step = 0; step < lanes->log2; step++) {
        row_sums other = {__shfl_xor_sync(ALL_LANES, sums->word, team_delta(lanes, step)), sums->omits};
        join_row_sums(sums, &other);
    }
}

// A NaN decides unless it is an error, or nothing but NaNs was left out.
static __device__ __forceinline__ bool finish_half(const struct wf_group_arguments *r, u32 word, bool omits, u64 *bits)
{
    unit found = (unit)unordered_pair(word, omits);
    *bits = is_nan(found) ? QUIET_NAN : found;
    return !is_nan(found) || r->nan == WF_NAN_PROPAGATE;
}

// Whether the result is known.
static __device__ __forceinline__ bool finish_row(const struct wf_group_arguments *r, const row_sums *sums, int count, double roundings,
                                                  u64 *bits)
{
    u32 exchanged = sums->word << 16 | sums->word >> 16;
    (void)count, (void)roundings;
    return finish_half(r, extremes_of_pairs(sums->word, exchanged, sums->omits), sums->omits, bits);
}

#endif

#endif
