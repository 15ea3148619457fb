// Whether what a team knows of its group decides the result.  That is one of five: of integers' sums, of extrema by keys or by pairs,
// of sums of narrow floats, and of those of f64, which are looked at once more (group_row_again.cuh).

#ifndef GROUP_DECIDE_CUH
#define GROUP_DECIDE_CUH

#include "kernels/group_integer_sums.cuh"
#include "kernels/group_key_extremes.cuh"
#include "kernels/group_row_again.cuh"
#include "kernels/group_row_extremes.cuh"
#include "kernels/group_row_sums.cuh"

#if ARE_SHARED_BY_TEAMS && !IS_INDEXED

static __device__ __forceinline__ void note_first(row_sums *sums, const row_sums *before, int first)
{
    (void)sums, (void)before, (void)first;
}

#endif

#if ARE_SHARED_BY_TEAMS && !(ARE_SUMS_OF_TEAMS && WIDTH == 64)

#if !ARE_SUMS_OF_TEAMS

static __device__ __forceinline__ double roundings_of(int count, const team *lanes)
{
    (void)count, (void)lanes;
    return 0;
}

#endif

// By all lanes of the warp.  address, step: of the group's elements.
static __device__ __forceinline__ bool decide_row(const struct wf_group_arguments *r, const row_sums *sums, u64 address, i64 step,
                                                  int count, bool exists, const team *lanes, u64 *bits)
{
    (void)address, (void)step;
    return !exists || finish_row(r, sums, count, roundings_of(count, lanes), bits);
}

#endif

#endif
