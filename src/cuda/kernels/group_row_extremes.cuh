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
#if IS_INDEXED
    int first[2]; // each was first seen among some elements from this number on (note_first)
#endif
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

// Of two elements; of a NaN there is one pattern, as there is in what follows.
static __device__ __forceinline__ row_sums no_row_extremes(const struct wf_group_arguments *r, u32 first)
{
    bool omits = r->nan == WF_NAN_OMIT;
    u32 word = ordered_pair(first, omits);
    row_sums sums = {IS_INDEXED ? extremes_of_pairs(word, word, omits) : word, omits};
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

#if IS_INDEXED

// What has come since `before` are elements from this number on.
static __device__ __forceinline__ void note_first(row_sums *sums, const row_sums *before, int first)
{
    const u32 news = sums->word ^ before->word;
    if (news & 0xffff) sums->first[0] = first;
    if (news >> 16) sums->first[1] = first;
}

static __device__ __forceinline__ void join_firsts(row_sums *sums, const row_sums *other, u32 best)
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const u32 mask = 0xffffu << 16 * half;
        const bool is_new = (sums->word ^ best) & mask, is_other = !((other->word ^ best) & mask);
        if (is_new || (is_other && other->first[half] < sums->first[half])) sums->first[half] = other->first[half];
    }
}

#endif

// With those of other elements of the group.
static __device__ __forceinline__ void join_row_sums(row_sums *sums, const row_sums *other)
{
    const u32 best = extremes_of_pairs(sums->word, other->word, sums->omits);
#if IS_INDEXED
    join_firsts(sums, other, best);
#endif
    sums->word = best;
}

static __device__ __forceinline__ u32 exchanged_halves(u32 word)
{
    return word << 16 | word >> 16;
}

#if IS_INDEXED

static __device__ __forceinline__ row_sums of_both_halves(const row_sums *sums)
{
    row_sums both = *sums;
    const row_sums exchanged = {exchanged_halves(sums->word), sums->omits, {sums->first[1], sums->first[0]}};
    join_row_sums(&both, &exchanged);
    return both;
}

static __device__ __forceinline__ int first_of_best(const row_sums *sums)
{
    return of_both_halves(sums).first[0];
}

// Whether what a lane knows alone is what its team knows.
static __device__ __forceinline__ bool has_best(const row_sums *alone, const row_sums *sums)
{
    const row_sums mine = of_both_halves(alone), all = of_both_halves(sums);
    return mine.word == all.word && mine.first[0] == all.first[0];
}

static __device__ __forceinline__ bool is_best(const row_sums *sums, unit element)
{
    const unit best = (unit)of_both_halves(sums).word;
    return is_nan(best) ? is_nan(element) : element == best;
}

#endif

// By all lanes.
static __device__ __forceinline__ void merge_row_sums(row_sums *sums, const team *lanes)
{
    for (int step = 0; step < lanes->log2; step++) {
        row_sums other = *sums;
        other.word = __shfl_xor_sync(ALL_LANES, sums->word, team_delta(lanes, step));
#if IS_INDEXED
#pragma unroll
        for (int half = 0; half < 2; half++) other.first[half] = __shfl_xor_sync(ALL_LANES, sums->first[half], team_delta(lanes, step));
#endif
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
    (void)count, (void)roundings;
    return finish_half(r, extremes_of_pairs(sums->word, exchanged_halves(sums->word), sums->omits), sums->omits, bits);
}

#endif

#endif
