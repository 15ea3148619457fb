/* AArch64: every 64-bit Arm processor has these instructions. */
#include <arm_neon.h>

#define VECTOR_NBYTES 16
#include "cpu/loops/vector_types.h"

INLINE vf64 fused(vf64 a, vf64 b, vf64 c) {
    return (vf64)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
}

INLINE vf64 multiply_add(vf64 a, vf64 b, vf64 c) {
    return fused(a, b, c);
}

INLINE vf64 product_error(vf64 a, vf64 b, vf64 p) {
    return fused(a, b, -p);
}

/* There is no maximum of 64-bit integers. */
INLINE vsword max_signed(vsword a, vsword b) {
    switch (sizeof(sword)) {
    case 2: return (vsword)vmaxq_s16((int16x8_t)a, (int16x8_t)b);
    case 4: return (vsword)vmaxq_s32((int32x4_t)a, (int32x4_t)b);
    default: return select_where(a > b, a, b);
    }
}

INLINE vsword min_signed(vsword a, vsword b) {
    switch (sizeof(sword)) {
    case 2: return (vsword)vminq_s16((int16x8_t)a, (int16x8_t)b);
    case 4: return (vsword)vminq_s32((int32x4_t)a, (int32x4_t)b);
    default: return select_where(a < b, a, b);
    }
}

#define UNSIGNED_FLIP ((uword)(sizeof(uword) == 8 ? TOP_BIT : 0))
INLINE vsword max_unsigned(vsword a, vsword b) {
    switch (sizeof(uword)) {
    case 1: return (vsword)vmaxq_u8((uint8x16_t)a, (uint8x16_t)b);
    case 2: return (vsword)vmaxq_u16((uint16x8_t)a, (uint16x8_t)b);
    case 4: return (vsword)vmaxq_u32((uint32x4_t)a, (uint32x4_t)b);
    default: return max_signed(a, b);
    }
}

#include "cpu/loops/vector_widen.h"
#include "cpu/loops/vector_unchecked.h"
