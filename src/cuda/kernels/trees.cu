// Products of floats, and of integers whose product is asked for as a float: each group's elements become nodes of its tree
// (core/product.h), and these the nodes above them, stage by stage, up to the root and the result.
//
// A team of 1 to 32 lanes makes a node.  Each lane has up to 256 leaves that follow each other, eight at a time, whose nodes
// it joins as it continues; then the lanes join theirs.

#include "core/portable.h"
#include "kernels/finish.cuh"
#include "kernels/group_place.cuh"
#include "kernels/team.cuh"
#include "kernels/tree_leaves.cuh"
#include "core/product_number.c"

#define WARPS (WF_TREE_BLOCK / 32)

typedef struct wf_tree_node tree_node;

// A team's node: which of which group.
typedef struct {
    i64 group, node;
    bool exists;
} node_place;

// ---- a lane's leaves

// Eight of them: those from begin to before end exist, and leaf 0 is number `first` of the group.
typedef struct {
    i64 first;
    int begin, end;
} leaf_range;

static __device__ __forceinline__ leaf_range range_of(i64 first, i64 count)
{
    leaf_range range = {first, 0, LEAVES};
    if (first < 0) range.begin = first > -LEAVES ? (int)-first : LEAVES;
    if (count - first < LEAVES) range.end = count > first ? (int)(count - first) : 0;
    return range;
}

static __device__ __forceinline__ unit load_unit(u64 address)
{
    unit bits = 0;
    if (address % sizeof(unit) == 0)
        bits = __ldg((const unit *)address);
    else
        for (int k = 0; k < (int)sizeof(unit); k++) bits |= (unit)((unit)((const unsigned char *)address)[k] << 8 * k);
    return IS_BOOL ? bits != 0 : bits;
}

// Along several dimensions.
static __device__ __noinline__ u64 folded_address(const struct wf_group_arguments *r, u64 base, i64 i)
{
    const struct wf_group_dimension *dimension = &r->dimension[r->ndim];
    for (int d = r->reduced_ndim - 1; d > 0; d--) base += (u64)(split_off(&i, dimension[d].length) * dimension[d].stride[0]);
    return base + (u64)(i * dimension->stride[0]);
}

static __device__ __forceinline__ unit load_leaf(const struct wf_group_arguments *r, u64 base, i64 i)
{
    bool is_straight = r->reduced_ndim == 1;
    return load_unit(is_straight ? base + (u64)(i * r->dimension[r->ndim].stride[0]) : folded_address(r, base, i));
}

// Leaves of any kind.  index: of leaf 0.  Gives its notes by value, so that those of the caller stay in registers.
static __device__ __noinline__ tree_node node_of_any(const struct wf_group_arguments *r, u64 base, leaf_range range, i64 index)
{
    significands s;
    tree_notes notes = {0, 0, (u64)INT64_MAX};
    i64 exponent = 0;
#pragma unroll
    for (int k = 0; k < LEAVES; k++) {
        struct wf_factor factor = {1, 0, 0};
        if (k >= range.begin && k < range.end) factor = leaf_of(load_leaf(r, base, range.first + k), index + k, &notes);
        s.hi[k] = factor.hi;
        s.lo[k] = factor.lo;
        exponent += factor.exponent;
    }
    tree_node node = {multiply_all(&s, exponent), notes.flags, notes.nan_count, notes.first_nan};
    return node;
}

#if IS_FLOAT

static __device__ __forceinline__ void load_vectors(unit bits[LEAVES], u64 address)
{
#pragma unroll
    for (int v = 0; v < LEAVES / PER_VECTOR; v++) {
        uint4 loaded = __ldg((const uint4 *)address + v);
        vector whole = {{loaded.x, loaded.y, loaded.z, loaded.w}};
#pragma unroll
        for (int e = 0; e < PER_VECTOR; e++) bits[v * PER_VECTOR + e] = element_at(&whole, e);
    }
}

// Along one dimension; aligned.
static __device__ __forceinline__ void load_straight(unit bits[LEAVES], u64 address, i64 stride)
{
    if (stride == (i64)sizeof(unit) && address % 16 == 0) {
        load_vectors(bits, address);
        return;
    }
#pragma unroll
    for (int k = 0; k < LEAVES; k++) bits[k] = __ldg((const unit *)(address + (u64)(k * stride)));
}

#endif

static __device__ __forceinline__ struct wf_factor multiply_elements(const struct wf_group_arguments *r, u64 base, i64 first,
                                                                     i64 index, tree_notes *notes)
{
    leaf_range range = range_of(first, r->reduced_count);
    struct wf_factor factor = {1, 0, 0};
#if IS_FLOAT
    i64 stride = r->dimension[r->ndim].stride[0];
    u64 address = base + (u64)(first * stride);
    unit bits[LEAVES];
    if (r->reduced_ndim == 1 && range.begin == 0 && range.end == LEAVES && ((address | (u64)stride) % sizeof(unit)) == 0) {
        load_straight(bits, address, stride);
        return multiply_floats(bits, index + first, notes);
    }
#endif
    if (range.begin >= range.end) return factor;
    tree_node any = node_of_any(r, base, range, index + first);
    note_flags(notes, (u32)any.flags);
    note_nans(notes, any.nan_count, any.first_nan);
    return any.factor;
}

// ---- a lane's tree

// Joins a block of leaves, the number-th one, to those before it: nodes[level] is of a block of 2^level such, which waits
// for its neighbour.  Gives the node that comes of it.
static __device__ __forceinline__ struct wf_factor join(struct wf_factor *nodes, int levels, int number, struct wf_factor factor)
{
#pragma unroll
    for (int level = 0; level < levels; level++) {
        if (!(number >> level & 1)) {
            nodes[level] = factor;
            break;
        }
        factor = wf_factor_multiply(nodes[level], factor);
    }
    return factor;
}

static __device__ __forceinline__ struct wf_factor factor_of_elements(const struct wf_group_arguments *r,
                                                                      const struct wf_tree_stage *stage, i64 group, i64 first,
                                                                      tree_notes *notes)
{
    struct wf_factor nodes[WF_TREE_BATCHES_LOG2], factor = {1, 0, 0};
    u64 base = find_place(r, group).x;
    for (int i = 0; i < 1 << stage->batches_log2; i++)
        factor = join(nodes, WF_TREE_BATCHES_LOG2, i, multiply_elements(r, base, first + i * LEAVES, stage->index, notes));
    return factor;
}

static __device__ __forceinline__ struct wf_factor factor_of_nodes(const struct wf_tree_stage *stage, i64 group, i64 first,
                                                                   tree_notes *notes)
{
    const tree_node *from = (const tree_node *)stage->from + group * stage->count;
    struct wf_factor nodes[WF_TREE_BATCHES_LOG2 + WF_TREE_LEAVES_LOG2], factor = {1, 0, 0};
    for (int i = 0; i < LEAVES << stage->batches_log2; i++) {
        struct wf_factor mine = {1, 0, 0};
        if (first + i >= 0 && first + i < stage->count) {
            const tree_node *node = &from[first + i];
            mine = node->factor;
            note_flags(notes, (u32)node->flags);
            note_nans(notes, node->nan_count, node->first_nan);
        }
        factor = join(nodes, WF_TREE_BATCHES_LOG2 + WF_TREE_LEAVES_LOG2, i, mine);
    }
    return factor;
}

static __device__ __forceinline__ tree_node node_of_lane(const struct wf_group_arguments *r, const struct wf_tree_stage *stage,
                                                         node_place at, const team *lanes)
{
    tree_notes notes = {0, 0, (u64)INT64_MAX};
    i64 block = (stage->first >> stage->levels) + at.node;
    i64 first = (((block << lanes->log2) + lanes->place) << (stage->batches_log2 + WF_TREE_LEAVES_LOG2)) - stage->first;
    struct wf_factor factor = {1, 0, 0};
    if (at.exists && stage->from)
        factor = factor_of_nodes(stage, at.group, first, &notes);
    else if (at.exists)
        factor = factor_of_elements(r, stage, at.group, first, &notes);
    tree_node node = {factor, notes.flags, notes.nan_count, notes.first_nan};
    return node;
}

// ---- a team's tree

static __device__ __forceinline__ u64 bits_from(double value, u32 delta)
{
    return from_other((u64)__double_as_longlong(value), delta);
}

// Joins the nodes of a team's lanes; its first lane has the outcome.
static __device__ __forceinline__ void join_lanes(tree_node *node, const team *lanes)
{
    tree_notes notes = {(u32)node->flags, node->nan_count, node->first_nan};
    for (int step = 0; step < lanes->log2; step++) {
        u32 delta = 1u << step; // teams across are one lane
        struct wf_factor other = {__longlong_as_double((i64)bits_from(node->factor.hi, delta)),
                                  __longlong_as_double((i64)bits_from(node->factor.lo, delta)),
                                  (i64)from_other((u64)node->factor.exponent, delta)};
        note_flags(&notes, __shfl_xor_sync(ALL_LANES, notes.flags, delta));
        node->factor = wf_factor_multiply(node->factor, other);
        if (__any_sync(ALL_LANES, notes.nan_count != 0))
            note_nans(&notes, from_other(notes.nan_count, delta), from_other(notes.first_nan, delta));
    }
    node->flags = notes.flags;
    node->nan_count = notes.nan_count;
    node->first_nan = notes.first_nan;
}

// ---- results

static __device__ __noinline__ void write_root(const struct wf_group_arguments *r, i64 group, const tree_node *node, i64 count)
{
    group_place place = find_place(r, group);
    partial_words memory;
    struct wf_partial *words = partial_of_words(&memory);
    struct wf_finish finish;
    struct finish_target target = {(void *)place.result, 0};
    struct wf_number number;
    wf_value value;
    words->product_flags = node->flags;
    words->nan_count = node->nan_count;
    words->first_nan = node->first_nan;
    finish.partial = words;
    finish.type = (wf_type)FINISH_TYPE;
    finish.nan = (wf_nan)r->nan;
    finish.count = finish.index_count = count;
    finish.product = wf_factor_number(node->factor, (node->flags & WF_PRODUCT_NEGATIVE) != 0);
    wf_error error = wf_finish_value(&finish, (wf_op)FINISH_OP, (wf_type)FINISH_RESULT_TYPE, &number, &value);
    if (error) value = failed_value((wf_type)FINISH_RESULT_TYPE);
    store_result(target, (wf_type)FINISH_RESULT_TYPE, value.v.u, error);
    if (error) note_failure(r, &place, error);
}

// number: of the node among those of all groups.
static __device__ __forceinline__ node_place find_node(const struct wf_group_arguments *r, const struct wf_tree_stage *stage,
                                                       i64 number)
{
    node_place place = {number, number, number < r->count * stage->nodes};
    if (stage->is_across)
        place.group = split_off(&place.node, r->count);
    else
        place.node = split_off(&place.group, stage->nodes);
    return place;
}

extern "C" __global__ void __launch_bounds__(WF_TREE_BLOCK) trees(const __grid_constant__ struct wf_group_arguments r,
                                                                   const __grid_constant__ struct wf_tree_stage stage)
{
    team lanes = team_of(stage.lanes_log2, stage.is_across);
    int teams = 32 >> stage.lanes_log2;
    if (stage.leaves_status) {
        if (threadIdx.x == 0) leave_status(&r);
        return;
    }
    i64 warp = (i64)blockIdx.x * WARPS + threadIdx.x / 32, warps = (i64)gridDim.x * WARPS;
    for (i64 first = warp * teams; first < r.count * stage.nodes; first += warps * teams) {
        node_place at = find_node(&r, &stage, first + lanes.number);
        tree_node node = node_of_lane(&r, &stage, at, &lanes);
        join_lanes(&node, &lanes);
        if (!at.exists || lanes.place) continue;
        if (stage.to)
            ((tree_node *)stage.to)[at.group * stage.nodes + at.node] = node;
        else
            write_root(&r, at.group, &node, r.reduced_count);
    }
}
