// Adding to the digits of a long fixed-point number in shared memory (struct wf_exact: 32 bits apart, signed).

#ifndef DIGITS_CUH
#define DIGITS_CUH

// By two additions of 32 bits, which shared memory does itself; one of 64 bits is a loop that waits for the others.
static __device__ __forceinline__ void add_to_digit(u64 *digit, u64 value)
{
    u32 *halves = (u32 *)digit, low = (u32)value, high = (u32)(value >> 32);
    if (low) high += atomicAdd(&halves[0], low) > ~low; // it carried
    if (high) atomicAdd(&halves[1], high);
}

// digits += value * 2^position
static __device__ __forceinline__ void deposit(u64 *digits, i64 value, int position)
{
    int shift = position & 31;
    u64 low = (u64)value << shift;
    i64 high = value >> 1 >> (63 - shift);
    digits += position >> 5;
    if (value == 0) return;
    add_to_digit(&digits[0], low & 0xffffffff);
    add_to_digit(&digits[1], low >> 32);
    add_to_digit(&digits[2], (u64)high);
}

// The sum over the lanes of high * 2^64 + low, at position 0.
static __device__ __forceinline__ void deposit_lanes(u64 *digits, u64 low, i64 high)
{
    i64 parts[4];
    parts[0] = warp_sum((i64)(low & 0xffffffff));
    parts[1] = warp_sum((i64)(low >> 32));
    parts[2] = warp_sum((i64)((u64)high & 0xffffffff));
    parts[3] = warp_sum(high >> 32);
    if (lane_number() == 0) {
#pragma unroll
        for (int i = 0; i < 4; i++) deposit(digits, parts[i], 32 * i);
    }
}

#if IS_FLOAT
// value / 2^exponent, where that is an integer below 2^63
static __device__ __forceinline__ i64 in_units(double value, int exponent)
{
    i64 bits = __double_as_longlong(value);
    int field = (int)(bits >> 52) & 0x7ff;
    i64 magnitude = (bits & 0xfffffffffffffll) | (i64)(field != 0) << 52;
    int shift = (field ? field : 1) - 1075 - exponent;
    magnitude = shift >= 0 ? magnitude << shift : shift > -64 ? magnitude >> -shift : 0;
    return bits < 0 ? -magnitude : magnitude;
}

// 2^exponent, of a normal f64
static __device__ __forceinline__ double power_of_two(int exponent)
{
    return __hiloint2double((exponent + 1023) << 20, 0);
}

static __device__ __forceinline__ bool is_finite(double value)
{
    return (__double2hiint(value) & 0x7ff00000) != 0x7ff00000;
}
#endif

#endif
