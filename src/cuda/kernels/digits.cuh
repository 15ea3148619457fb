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

// By a warp whose lanes agree: digits += values[0] * 2^positions[0] + ..., at most ten, a lane for each digit.
static __device__ __forceinline__ void deposit_together(u64 *digits, const i64 *values, const int *positions, int count)
{
    int which = count == 1 ? 0 : (int)lane_number() / 3, digit = (int)lane_number() - 3 * which;
    int position = positions[0];
    i64 value = values[0];
#pragma unroll
    for (int i = 1; i < count; i++) {
        value = which == i ? values[i] : value;
        position = which == i ? positions[i] : position;
    }
    if (lane_number() >= 3 * (u32)count) return;
    int shift = position & 31;
    u64 low = (u64)value << shift;
    u64 part = digit == 0 ? low & 0xffffffff : digit == 1 ? low >> 32 : (u64)(value >> 1 >> (63 - shift));
    if (part) add_to_digit(digits + (position >> 5) + digit, part);
}

// The sum over the lanes of high * 2^64 + low, at position 0, in pieces as warp_sum's.
static __device__ __forceinline__ void deposit_lanes(u64 *digits, u64 low, i64 high)
{
    const int positions[6] = {0, 24, 48, 64, 88, 112};
    const i64 parts[6] = {warp_sum_small((i64)(low & 0xffffff)), warp_sum_small((i64)(low >> 24 & 0xffffff)),
                          warp_sum_small((i64)(low >> 48)), warp_sum_small(high & 0xffffff),
                          warp_sum_small(high >> 24 & 0xffffff), warp_sum_small(high >> 48)};
    deposit_together(digits, parts, positions, 6);
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

static __device__ __forceinline__ void clear_digits(u64 *digits, u32 count)
{
    for (u32 i = threadIdx.x; i < count; i += BLOCK) digits[i] = 0;
}

// The block's; all else of block_gathered is put there once.
static __device__ __forceinline__ void clear_block_digits(void)
{
#ifdef PART_SUM
    clear_digits(block_gathered.sum, VALUE_DIGITS);
#endif
#ifdef PART_ABS
    clear_digits(block_gathered.abs, VALUE_DIGITS);
#endif
#if HAS_PRODUCTS
    clear_digits(block_gathered.products, PRODUCT_DIGITS);
#endif
}

#endif
