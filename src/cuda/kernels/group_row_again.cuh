// What becomes of groups of f64 that their sums do not decide (group_row_pairs.cuh).  A NaN among the sums decides.  Where numbers are
// so large, or so small, that sums leave the range in which their error has a bound, they are added up once more times a power of two,
// which tells infinities from large numbers.  What is open then is looked at: variances of equal numbers are 0, and where NaNs are left
// out, or are errors, what is left is added up.

#ifndef GROUP_ROW_AGAIN_CUH
#define GROUP_ROW_AGAIN_CUH

#include "kernels/group_row_pairs.cuh"
#include "kernels/group_scale.cuh"
#include "kernels/group_walk.cuh"

#if ARE_SUMS_OF_TEAMS && WIDTH == 64

#define LOOK_ELEMENTS 16 // that a lane has on their way

// A lane's elements of its group that are left: where the first one is, how far the next, and how many there are.
typedef struct {
    u64 address;
    i64 apart;
    int left; // less than 1: none
} lane_share;

static __device__ __forceinline__ lane_share share_of_lane(u64 address, i64 step, int count, const team *lanes)
{
    lane_share share = {address + (u64)((i64)lanes->place * step), step << lanes->log2,
                        (count - (int)lanes->place + (1 << lanes->log2) - 1) >> lanes->log2};
    return share;
}

static __device__ __forceinline__ void load_share(const lane_share *share, unit padding, unit *element)
{
#pragma unroll
    for (int k = 0; k < LOOK_ELEMENTS; k++)
        element[k] = k < share->left ? load_unit(share->address + (u64)(k * share->apart)) : padding;
}

static __device__ __forceinline__ void skip_loaded(lane_share *share)
{
    share->address += (u64)(LOOK_ELEMENTS * share->apart);
    share->left -= LOOK_ELEMENTS;
}

// ---- what there is

typedef struct {
    short_specials specials;
    u32 is_unlike; // some element is unlike the first one
    u32 most;      // the high word of the largest number's magnitude
} row_look;

static __device__ __forceinline__ void look_at(row_look *look, unit element, unit first)
{
    u32 high = (u32)((element & MAGNITUDE) >> 32);
    note_special(element, &look->specials);
    look->is_unlike |= widen(element) != widen(first);
    look->most = max(look->most, high < (u32)(INFINITY_BITS >> 32) ? high : 0);
}

static __device__ __forceinline__ row_look look_at_share(lane_share share, unit first)
{
    row_look look = {{0, false, false}, 0, 0};
    for (; share.left > 0; skip_loaded(&share)) {
        unit element[LOOK_ELEMENTS];
        load_share(&share, first, element);
#pragma unroll
        for (int k = 0; k < LOOK_ELEMENTS; k++)
            if (k < share.left) look_at(&look, element[k], first);
    }
    return look;
}

static __device__ __forceinline__ void merge_looks(row_look *look, const team *lanes)
{
    for (int step = 0; step < lanes->log2; step++) {
        u32 delta = team_delta(lanes, step);
        u32 has = (u32)look->specials.is_positive | (u32)look->specials.is_negative << 1 | look->is_unlike << 2;
        has |= __shfl_xor_sync(ALL_LANES, has, delta);
        look->specials.nans += __shfl_xor_sync(ALL_LANES, look->specials.nans, delta);
        look->specials.is_positive = has & 1;
        look->specials.is_negative = has >> 1 & 1;
        look->is_unlike = has >> 2;
        look->most = max(look->most, __shfl_xor_sync(ALL_LANES, look->most, delta));
    }
}

// ---- sums times a power of two

// What the smallest numbers lose where that makes them subnormal is far below the bounds, but no sum is exact then.
static __device__ __forceinline__ row_sums add_scaled(const struct wf_group_arguments *r, lane_share share, int scale)
{
    const double factor = power_of_two(scale), inverse = power_of_two(-scale);
    row_sums sums = no_row_sums(r, 0);
    bool is_whole = true;
    for (; share.left > 0; skip_loaded(&share)) {
        unit element[LOOK_ELEMENTS];
        load_share(&share, SHORT_PADDING, element);
#pragma unroll
        for (int k = 0; k < LOOK_ELEMENTS; k++) {
            double x = widen(is_nan(element[k]) ? SHORT_PADDING : element[k]), scaled = __dmul_rn(x, factor);
            is_whole = is_whole && __dmul_rn(scaled, inverse) == x;
            add_row_element(&sums, (unit)__double_as_longlong(scaled));
            note_least_element(&sums, (unit)__double_as_longlong(scaled));
        }
    }
    if (!is_whole) sums.least = 0;
    return sums;
}

// Whether the result is known; by all lanes, of which those of some groups seek one.  nans: of the group, which are left out.
static __device__ __forceinline__ bool add_up_again(const struct wf_group_arguments *r, lane_share share, int scale, int nans,
                                                    bool is_sought, const team *lanes, u64 *bits)
{
    const int count = (int)r->reduced_count;
    if (!is_sought) share.left = 0;
    row_sums sums = add_scaled(r, share, scale);
    merge_row_sums(&sums, lanes);
    return is_sought && finish_row(r, &sums, count - nans, roundings_of(count, lanes), bits) && scale_back(scale, bits);
}

// ---- sums that are out of range

#define SUMS_SCALE (IS_SHORT_OF_SQUARES ? 700 : 1000) // which brings all f64 whose sums are too large, or too small, into range

// By which power of two numbers are to be added up again; 0: that would not help.
static __device__ __forceinline__ int scale_of_sums(const row_sums *sums)
{
    const double size = size_of_sums(sums);
    return size > 0x1p900 ? -SUMS_SCALE : size < 0x1p-780 ? SUMS_SCALE : 0;
}

// Infinities decide, and all are 0 if scaled squares are.
static __device__ __forceinline__ bool settle_infinite(const struct wf_group_arguments *r, const row_sums *sums, u64 *bits)
{
    const double size = size_of_sums(sums), sum = sums->of.values.high;
    if (IS_SHORT_SPREAD && r->ddof >= r->reduced_count) return false;
    *bits = 0;
    if (IS_SHORT_OF_SQUARES && size == 0) return true;
    *bits = IS_SHORT_SPREAD || sum != sum ? QUIET_NAN : INFINITY_BITS | (sum < 0 ? SIGN_BIT : (unit)0);
    return size > 0x1.fffffffffffffp1023;
}

static __device__ __forceinline__ bool settle_scaled(const struct wf_group_arguments *r, const row_sums *sums, int scale, double roundings,
                                                     u64 *bits)
{
    bool is_found = finish_row(r, sums, (int)r->reduced_count, roundings, bits) && scale_back(scale, bits);
    return is_found || settle_infinite(r, sums, bits);
}

// Whether sums that may be out of range decide, or the scaled ones; by all lanes, whether theirs are open or not.
static __device__ __forceinline__ bool decide_by_range(const struct wf_group_arguments *r, const row_sums *sums, lane_share share,
                                                       bool is_open, const team *lanes, u64 *bits)
{
    bool is_known = is_open && settle_nan(r, sums, bits);
    const int scale = is_open ? scale_of_sums(sums) : 0;
    if (!__any_sync(ALL_LANES, scale)) return is_known;
    if (scale == 0) share.left = 0;
    row_sums scaled = add_scaled(r, share, scale);
    merge_row_sums(&scaled, lanes);
    return is_known || (scale && settle_scaled(r, &scaled, scale, roundings_of((int)r->reduced_count, lanes), bits));
}

// ---- the look

// Whether the result is known, and else whether numbers alone decide.
static __device__ __forceinline__ bool settle_look(const struct wf_group_arguments *r, const row_look *look, u64 *bits,
                                                   bool *are_numbers_left)
{
    int settled = settle_specials(r, &look->specials, (int)r->reduced_count, bits);
    if (settled != SPECIALS_PASS) return settled == SPECIALS_DECIDE;
    *bits = 0;
    if (IS_SHORT_SPREAD && look->specials.nans == 0 && !look->is_unlike) return true;
    *are_numbers_left = true;
    return false;
}

// The same.
static __device__ __forceinline__ bool look_again(const struct wf_group_arguments *r, u64 address, lane_share share, bool is_open,
                                                  const team *lanes, u64 *bits)
{
    bool are_numbers_left = false;
    if (!is_open) share.left = 0;
    row_look look = look_at_share(share, load_unit(address));
    merge_looks(&look, lanes);
    bool is_known = settle_look(r, &look, bits, &are_numbers_left);
    const int nans = look.specials.nans, scale = scale_of(look.most);
    bool is_sought = is_open && are_numbers_left && (scale || nans);
    if (!__any_sync(ALL_LANES, is_sought)) return is_known;
    return add_up_again(r, share, scale, nans, is_sought, lanes, bits) || is_known;
}

// The same, of sums that do not decide.
static __device__ __noinline__ bool decide_again(const struct wf_group_arguments *r, const row_sums sums, u64 address, i64 step,
                                                 bool is_open, const team *lanes, u64 *bits)
{
    const lane_share share = share_of_lane(address, step, (int)r->reduced_count, lanes);
    bool is_known = decide_by_range(r, &sums, share, is_open, lanes, bits);
    is_open = is_open && !is_known;
    if (!__any_sync(ALL_LANES, is_open)) return is_known;
    u64 seen = 0;
    bool is_seen = look_again(r, address, share, is_open, lanes, &seen);
    if (is_open) *bits = seen;
    return is_open ? is_seen : is_known;
}

// Whether the result is known; by all lanes of the warp.  address, step: of the group's elements, all of the axis.
static __device__ __forceinline__ bool decide_row(const struct wf_group_arguments *r, const row_sums *sums, u64 address, i64 step,
                                                  int count, bool exists, const team *lanes, u64 *bits)
{
    bool is_found = !exists || finish_row(r, sums, count, roundings_of(count, lanes), bits);
    if (!__any_sync(ALL_LANES, !is_found)) return true;
    u64 seen = 0;
    bool is_decided = decide_again(r, *sums, address, step, !is_found, lanes, &seen);
    if (!is_found) *bits = seen;
    return is_found || is_decided;
}

#endif

#endif
