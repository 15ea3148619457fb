/* Conversion of LANES elements to f64, and a look at all lanes, for tiers whose instruction set has nothing better than what the
 * compiler makes of plain vector code. */
#ifndef WF_CPU_LOOPS_VECTOR_WIDEN_H
#define WF_CPU_LOOPS_VECTOR_WIDEN_H

/* Whether some lane is not all bits 0. */
INLINE bool any_lane_set(vi64 lanes) {
    int64_t any = 0;
    for (int lane = 0; lane < LANES; lane++) any |= lanes[lane];
    return any;
}

INLINE vf64 f64_of_f32(vf32 x) {
    return __builtin_convertvector(x, vf64);
}

INLINE vf64 widen_f32(const unsigned char *x) {
    vf32 value;
    memcpy(&value, x, sizeof value);
    return f64_of_f32(value);
}

INLINE vf64 widen_bf16(const unsigned char *x) {
    vu16 upper;
    memcpy(&upper, x, sizeof upper);
    return f64_of_f32((vf32)(__builtin_convertvector(upper, vu32) << 16));
}

/* Shifted to where an f32 has its fields, the bits of an f16 mean its value times 2^-112, subnormals included;
 * infinities and NaNs would be 2^16 and more, and stay what they are. */
INLINE vf64 widen_f16(const unsigned char *x) {
    vu16 half;
    memcpy(&half, x, sizeof half);
    vu32 bits = __builtin_convertvector(half, vu32);
    vf32 magnitude = (vf32)((bits & 0x7fff) << 13) * 0x1p112f;
    vu32 special = (vu32)(magnitude >= 0x1p16f) & 0x7f800000;
    return f64_of_f32((vf32)((vu32)magnitude | special | (bits & 0x8000) << 16));
}

#endif
