// Powers of two times which f64 are added up again, where their sums leave the range in which the error has a bound.

#ifndef GROUP_SCALE_CUH
#define GROUP_SCALE_CUH

#include "kernels/digits.cuh"
#include "kernels/group_short.cuh"

#if (ARE_SHARED_BY_TEAMS || ARE_IN_CHUNKS) && IS_FLOAT && WIDTH == 64

// By which power of two, of those that are f64 with their inverses, sums of up to 2^29 numbers, or of their squares, of which `most`
// is the largest, come into the range that finish_row_sum and finish_squares_of_f64 ask for: 0 if they are in it.
static __device__ __forceinline__ int scale_of(u32 most)
{
    const int reach = IS_SHORT_OF_SQUARES ? 400 : 780;
    int exponent = max((int)(most >> 20), 1) - 1023;
    return exponent >= -reach && exponent <= reach ? 0 : max(min(-exponent, 1000), -1000);
}

// The result of scaled numbers, scaled back: infinite where it is too large.  Where it is subnormal it is rounded a second time, which
// changes nothing unless it is half-way between two such numbers: false then.
static __device__ __forceinline__ bool scale_back(int scale, u64 *bits)
{
    const double factor = power_of_two(scale), inverse = power_of_two(-scale), found = __longlong_as_double((i64)*bits);
    const int times = FINISH_OP == WF_VAR ? 2 : 1;
    double result = __dmul_rn(found, inverse);
    if (times == 2) result = __dmul_rn(result, inverse);
    *bits = (u64)__double_as_longlong(result);
    if (scale <= 0 || fabs(result) >= 0x1p-1022) return true;
    double kept = __dmul_rn(result, factor);
    if (times == 2) kept = __dmul_rn(kept, factor);
    return fabs(__dsub_rn(found, kept)) != power_of_two(times * scale - 1075);
}

#endif

#endif
