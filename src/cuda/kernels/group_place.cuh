// Where groups' elements begin and where their results go, and what becomes of those that have none.

#ifndef GROUP_PLACE_CUH
#define GROUP_PLACE_CUH

#include "group_arguments.h"
#include "core/portable.h"
#include "warpfold.h"
#include "kernels/parts.cuh"

// Where a result's elements begin, and where it goes.
typedef struct {
    u64 x, y, result;
    i64 number; // of the result, in C order
    i64 group;  // which segment or key
} group_place;

// The remainder; the quotient stays in *number.
static __device__ __forceinline__ i64 split_off(i64 *number, i64 length)
{
    i64 whole = *number;
    if ((u64)(whole | length) >> 32 == 0)
        *number = (i64)((u32)whole / (u32)length);
    else
        *number = whole / length;
    return whole - *number * length;
}

static __device__ __forceinline__ void move_place(group_place *place, const struct wf_group_arguments *r, int d, i64 i)
{
    const struct wf_group_dimension *dimension = &r->dimension[d];
    place->x += (u64)(i * dimension->stride[0]);
    if (OPERANDS == 2) place->y += (u64)(i * dimension->stride[1]);
    place->result += (u64)(i * dimension->result_stride);
    place->number += i * dimension->number_stride;
    if (d == r->counts_groups) place->group = i;
}

static __device__ __forceinline__ group_place find_place(const struct wf_group_arguments *r, i64 result)
{
    group_place place = {r->x, r->y, r->results, 0, 0};
#pragma unroll 1 // a division is long enough
    for (int d = r->ndim - 1; d > 0; d--) move_place(&place, r, d, split_off(&result, r->dimension[d].length));
    if (r->ndim) move_place(&place, r, 0, result);
    return place;
}

// Of results that failed, the first counts.
static __device__ __forceinline__ void note_failure(const struct wf_group_arguments *r, const group_place *place, int error)
{
    atomicMin((u64 *)r->failed, (u64)place->number << 8 | (u64)error);
}

// ---- segments

static __device__ __forceinline__ i64 offset_at(const struct wf_group_arguments *r, i64 i)
{
    u64 address = r->offsets + (u64)(i * r->offset_stride);
    return r->offsets_are_wide ? *(const i64 *)address : *(const int *)address;
}

static __device__ __forceinline__ bool is_offset(const struct wf_group_arguments *r, i64 offset)
{
    return offset >= 0 && offset <= r->reduced_count;
}

// The elements of a segment; none where an offset is wrong, which is noted.
static __device__ __forceinline__ void find_segment(const struct wf_group_arguments *r, i64 group, i64 *begin, i64 *end)
{
    *begin = offset_at(r, group);
    *end = offset_at(r, group + 1);
    bool begins = is_offset(r, *begin);
    if (begins && is_offset(r, *end) && *begin <= *end) return;
    if (begins || group == 0) atomicMin((u64 *)r->bad, (u64)(begins ? group + 1 : group));
    *begin = *end = 0;
}

static __device__ __forceinline__ void find_range(const struct wf_group_arguments *r, const group_place *place, i64 *begin,
                                                  i64 *end)
{
    *begin = 0;
    *end = r->reduced_count;
    if (r->offsets) find_segment(r, place->group, begin, end);
}

// ---- statuses

static __device__ __forceinline__ bool has_bad_labels(const struct wf_group_arguments *r)
{
    return *(const u64 *)r->bad != ~(u64)0;
}

// By one thread, when all results have been made.
static __device__ __forceinline__ void leave_status(const struct wf_group_arguments *r)
{
    u64 failed = *(const u64 *)r->failed;
    *(int *)r->status = has_bad_labels(r) ? WF_ERROR_RANGE : failed == ~(u64)0 ? WF_OK : (int)(failed & 255);
}

#endif
