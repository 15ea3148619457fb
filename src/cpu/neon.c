/* Every 64-bit Arm processor has it. */
#if defined(__aarch64__)

#include <arm_neon.h>

#define TIER neon
#define VECTOR_NBYTES 16
#define FUSED(a, b, c) ((vf64)vfmaq_f64((float64x2_t)(c), (float64x2_t)(a), (float64x2_t)(b)))
#define FUSED_IS_FAST
#define MAX_I16(a, b) ((vi16)vmaxq_s16((int16x8_t)(a), (int16x8_t)(b)))
#define MIN_I16(a, b) ((vi16)vminq_s16((int16x8_t)(a), (int16x8_t)(b)))
#define HAS_MAX_U16 1
#define MAX_U16(a, b) vmaxq_u16((uint16x8_t)(a), (uint16x8_t)(b))
#define MAX_I32(a, b) ((vi32)vmaxq_s32((int32x4_t)(a), (int32x4_t)(b)))
#define MIN_I32(a, b) ((vi32)vminq_s32((int32x4_t)(a), (int32x4_t)(b)))
#define HAS_MAX_U32 1
#define MAX_U32(a, b) vmaxq_u32((uint32x4_t)(a), (uint32x4_t)(b))

#include "cpu/kernels.inc"

#endif
