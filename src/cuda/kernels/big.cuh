// The core's natural numbers, for lanes that finish sums of their own.

#ifndef BIG_CUH
#define BIG_CUH

#include "core/portable.h"
#include "warpfold.h"
#include "core/types.c"
#include "core/ops.c"
#include "core/number.c"
#include "core/big.c"
#include "kernels/element.cuh"

// Words of memory that a total of that many limbs takes: a total's functions touch none beyond them.
#define TOTAL_WORDS(limbs) (((u32)sizeof(struct wf_total) - 4 * WF_BIG_LIMBS + 4 * (u32)(limbs) + 7) / 8)

// Completes a total whose magnitude has its lowest limbs, in two's complement, and above these the carry.
static __device__ __forceinline__ void total_set(struct wf_total *total, int count, wf_i128 carry, int exponent)
{
    struct wf_big *big = &total->magnitude;
    for (int i = 0; i < 3; i++, carry >>= 32) big->limb[count++] = (u32)carry;
    big->count = count;
    big->lowest = 0;
    total->negative = carry < 0;
    total->exponent = exponent;
    if (carry < 0) negate(big);
    trim(big);
    while (big->lowest < big->count && !big->limb[big->lowest]) big->lowest++;
}

#endif
