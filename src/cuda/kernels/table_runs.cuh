// Runs of equal keys, where keys are sorted: results are made of them in the pass that finds where each begins.  A warp has the
// runs that begin in its tile of elements, each of which a lane takes from shared memory.

#ifndef TABLE_RUNS_CUH
#define TABLE_RUNS_CUH

#include "kernels/group_short.cuh"
#include "kernels/table_walk.cuh"

#define HAS_RUNS (IS_SHORT == 4)

#if HAS_RUNS

#define RUN_TILE WF_TABLE_RUN_TILE

static_assert(RUN_TILE == 32 * EACH * KEY_ROUNDS && WF_TABLE_RUN_MAX == 32, "each lane loads as many, and one behind the tile");

// A warp's, in shared memory.
typedef struct {
    unit elements[RUN_TILE + WF_TABLE_RUN_MAX];
    int keys[RUN_TILE];
    unsigned short begins[RUN_TILE + 1]; // of each run, and the end of the last
} run_tile;

static_assert(sizeof(run_tile) <= WF_TABLE_RUN_NBYTES(sizeof(unit)), "as much shared memory as a block is given");

static __device__ __forceinline__ run_tile *tile_of_warp(void)
{
    return (run_tile *)block_table + warp_number();
}

// By a lane: elements of the tile from `position` on, and which of their keys begin a run, that after the last element included.
static __device__ __forceinline__ u32 put_elements(run_tile *tile, int position, const loaded *elements, const int keys[EACH], int before)
{
    u32 begins = 0;
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        tile->elements[position + k] = elements->bits[k];
        begins |= (u32)(keys[k] != (k ? keys[k - 1] : before)) << k;
    }
    return begins;
}

// Lists the runs that begin in a round of the tile after the `runs` before; gives how many there are now.
static __device__ __forceinline__ int list_runs(run_tile *tile, int position, u32 begins, const int keys[EACH], int runs)
{
    u32 lower = (1u << lane_number()) - 1;
    int at = runs;
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        u32 lanes = __ballot_sync(ALL_LANES, begins >> k & 1);
        at += __popc(lanes & lower);
        runs += __popc(lanes);
    }
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        if (!(begins >> k & 1)) continue;
        tile->begins[at] = (unsigned short)(position + k);
        tile->keys[at++] = keys[k];
    }
    return runs;
}

// Brings what is after the tile; gives where the run of `key` ends, or 0 if it is longer.
static __device__ __forceinline__ int find_end(const struct wf_table_arguments *r, run_tile *tile, i64 first, int key)
{
    u64 bits[EACH];
    i64 position = first + RUN_TILE + lane_number();
    bool exists = position < r->count;
    if (exists) load_key_bits(r, position, 1, bits);
    if (exists) tile->elements[RUN_TILE + lane_number()] = load_value(r, position);
    u32 others = __ballot_sync(ALL_LANES, !exists || key_of_bits(r, bits[0]) != key);
    return others ? RUN_TILE + __ffs((int)others) - 1 : 0;
}

static __device__ __forceinline__ u64 address_of_key(const struct wf_table_arguments *r, i64 key)
{
    return r->groups.results + (u64)(key * r->groups.dimension[0].result_stride);
}

// False if there is no result of nothing.
static __device__ __forceinline__ bool write_nothing(const struct wf_table_arguments *r, i64 key)
{
    bool is_float = FINISH_RESULT_TYPE == WF_F64 || (IS_FLOAT && FINISH_RESULT_TYPE == FINISH_TYPE);
    u64 nan = IS_FLOAT ? QUIET_NAN : (u64)0x7ff8 << 48;
    if (!IS_ZERO_OF_NOTHING && !r->groups.has_fill && !is_float) return false;
    store_unit(address_of_key(r, key), IS_ZERO_OF_NOTHING ? 0 : r->groups.has_fill ? r->groups.fill : nan);
    return true;
}

// Writes the results of keys between a run's and the one before it, which have no element.  By all lanes.
static __device__ __forceinline__ bool fill_gap(const struct wf_table_arguments *r, int before, int key)
{
    bool are_written = true;
    for (u32 gaps = __ballot_sync(ALL_LANES, key - before > 1); gaps; gaps &= gaps - 1) {
        int lane = __ffs((int)gaps) - 1, end = __shfl_sync(ALL_LANES, key, lane);
        for (int i = __shfl_sync(ALL_LANES, before, lane) + 1 + (int)lane_number(); i < end; i += 32)
            are_written = write_nothing(r, i) && are_written;
    }
    return are_written;
}

// ---- results

#define IS_RUN_SUM (IS_SHORT_SUM || IS_SHORT_MEAN)

#if IS_FLOAT && WIDTH < 64

// Whether an f64 holds the sum, since it has room for all bits from the largest exponent down to the lowest.
static __device__ __forceinline__ bool add_near(const unit *elements, int count, double_sum *sum)
{
    u32 largest = 0, least = MAGNITUDE; // but 1
    sum->high = short_term(elements[0]);
    sum->rest = 0;
    for (int k = 0;;) {
        u32 magnitude = elements[k] & MAGNITUDE;
        largest = max(largest, magnitude);
        least = min(least, magnitude - 1);
        if (++k == count) break;
        sum->high = __dadd_rn(sum->high, short_term(elements[k]));
    }
    return (largest >> FRACTION_BITS) - (least >> FRACTION_BITS) <= 53 - 1 - 9 - (FRACTION_BITS + 1) && largest < INFINITY_BITS;
}

static_assert(WF_TABLE_RUN_TILE + WF_TABLE_RUN_MAX <= 1 << 9, "no run has more elements");

// Of numbers that are near each other.
static __device__ __forceinline__ bool near_result(const unit *elements, int count, u64 *bits)
{
    double_sum sum;
    if (!add_near(elements, count, &sum) || (FINISH_OP == WF_MEAN && !divide_short(sum, count, &sum))) return false;
    *bits = rounded_bits(sum);
    return true;
}

#elif IS_FLOAT

// A sum of f64 mostly has more bits.
static __device__ __forceinline__ bool near_result(const unit *elements, int count, u64 *bits)
{
    (void)elements, (void)count, (void)bits;
    return false;
}

#endif

#if IS_FLOAT

// Three f64 hold the sum if nothing is lost.
typedef struct {
    double high, middle, low;
    bool is_exact;
} wide_sum;

static __device__ __forceinline__ void add_wide(wide_sum *sum, double term)
{
    double_sum high = two_sum(sum->high, term), middle = two_sum(sum->middle, high.rest), low = two_sum(sum->low, middle.rest);
    sum->high = high.high;
    sum->middle = middle.high;
    sum->low = low.high;
    sum->is_exact = sum->is_exact && low.rest == 0;
}

// The sum as two f64, of which the lower one may be rounded to odd; false if that might change what these are rounded to.
static __device__ __forceinline__ bool narrow_wide(const wide_sum *sum, double_sum *total)
{
    double_sum whole = {sum->high, 0};
    *total = whole; // -0 stays
    if (sum->middle == 0 && sum->low == 0) return sum->is_exact;
    double_sum lower = two_sum(sum->middle, sum->low), upper = two_sum(sum->high, lower.high), middle = two_sum(upper.rest, lower.rest);
    upper = two_sum(upper.high, middle.high);
    lower = two_sum(upper.rest, middle.rest);
    double smaller = rounded_to_odd(lower);
    bool is_sure = WIDTH < 64 || lower.rest == 0 || 8 * fabs(smaller) <= fabs(upper.high);
    *total = two_sum(upper.high, smaller);
    return sum->is_exact && is_sure && fabs(total->high) <= 0x1.fffffffffffffp1023;
}

// With NaNs and infinities, and of numbers far apart.
typedef struct {
    wide_sum sum;
    short_specials found;
    int given;
} careful_sum;

static __device__ __forceinline__ void clear_careful(careful_sum *sum)
{
    const careful_sum nothing = {{-0.0, 0, 0, true}, {0, false, false}, 0};
    *sum = nothing;
}

static __device__ __forceinline__ void add_careful(careful_sum *sum, unit element)
{
    sum->given++;
    if ((element & MAGNITUDE) < INFINITY_BITS)
        add_wide(&sum->sum, short_term(element));
    else
        note_special(element, &sum->found);
}

static __device__ __forceinline__ bool finish_careful(const struct wf_table_arguments *r, const careful_sum *sum, u64 *bits)
{
    double_sum total;
    int settled = settle_specials(&r->groups, &sum->found, sum->given, bits);
    if (settled != SPECIALS_PASS) return settled == SPECIALS_DECIDE;
    if (!narrow_wide(&sum->sum, &total)) return false;
    if (FINISH_OP == WF_MEAN && !divide_short(total, sum->given - sum->found.nans, &total)) return false;
    *bits = rounded_bits(total);
    return true;
}

static __device__ __noinline__ bool careful_result(const struct wf_table_arguments *r, const unit *elements, int given, u64 *bits)
{
    careful_sum sum;
    clear_careful(&sum);
    for (int k = 0; k < given; k++) add_careful(&sum, elements[k]);
    return finish_careful(r, &sum, bits);
}

#endif

static __device__ __forceinline__ bool run_result(const struct wf_table_arguments *r, const unit *elements, int count, i64 position,
                                                  u64 *bits)
{
#if IS_FLOAT
    if (IS_RUN_SUM)
        return near_result(elements, count, bits) || short_float(count, elements, count, bits) ||
               careful_result(r, elements, count, bits);
#endif
    bool is_bounded = IS_SHORT_OF_SQUARES || IS_SHORT_DOT; // by the result of a few elements
    if (is_bounded && count > SHORT_ROWS) return false;
    const spread_divisor by = divisor_of(count, r->groups.ddof);
    return short_result(&r->groups, count, elements, elements, count, &by, r->groups.first_index + position, bits);
}

static __device__ __noinline__ bool write_rare(const struct wf_table_arguments *r, const unit *elements, int count, u64 address)
{
    unit own[SHORT_ROWS];
    u64 bits;
    if (IS_RUN_SUM || count > SHORT_ROWS) return false;
#pragma unroll
    for (int k = 0; k < SHORT_ROWS; k++) own[k] = k < count ? elements[k] : SHORT_PADDING;
    if (!rare_result(&r->groups, count, own, own, &bits)) return false;
    store_unit(address, bits);
    return true;
}

// The tile's runs, of which the last one ends with the bound after it; before: the key before them.
static __device__ __forceinline__ bool write_runs(const struct wf_table_arguments *r, const run_tile *tile, i64 first, int before, int runs)
{
    bool are_written = true;
    for (int i = (int)lane_number(); i - (int)lane_number() < runs; i += 32) {
        int at = min(i, runs - 1), key = tile->keys[at], begin = tile->begins[at], count = tile->begins[at + 1] - begin;
        int previous = i > at ? key : i ? tile->keys[i - 1] : before;
        const unit *elements = tile->elements + begin;
        u64 bits, address = address_of_key(r, key);
        are_written = fill_gap(r, previous, key) && are_written;
        if (i > at || key == r->table_count) continue;
        if (count > 0 && run_result(r, elements, count, first + begin, &bits))
            store_unit(address, bits);
        else
            are_written = count > 0 && write_rare(r, elements, count, address) && are_written;
    }
    return are_written;
}

// Loads a tile; gives how many runs begin there, or -1 if a key falls.  last: its last key.
static __device__ __forceinline__ int load_tile(const struct wf_table_arguments *r, run_tile *tile, i64 first, int before, int *last)
{
    loaded elements[KEY_ROUNDS];
    int runs = 0;
#pragma unroll
    for (int j = 0; j < KEY_ROUNDS; j++)
        load_elements(r, first + j * 32 * EACH + lane_number() * EACH, r->count, &elements[j]);
    bool rises = load_global_u32(&findings_of(r)->unsorted) == 0;
#pragma unroll
    for (int j = 0; j < KEY_ROUNDS; j++) {
        int keys[EACH], position = (j * 32 + (int)lane_number()) * EACH;
        order_keys(r, elements[j].key_bits, elements[j].count, keys);
        int next = __shfl_sync(ALL_LANES, keys[EACH - 1], 31), lower = __shfl_up_sync(ALL_LANES, keys[EACH - 1], 1);
        if (lane_number()) before = lower;
        rises = rises && is_in_order(keys, before);
        runs = list_runs(tile, position, put_elements(tile, position, &elements[j], keys, before), keys, runs);
        before = next;
    }
    *last = before;
    return __all_sync(ALL_LANES, rises) ? runs : -1;
}

// The results of a tile's runs; false if that is of no use any more, as a key falls or some result is left.
static __device__ __forceinline__ bool reduce_tile(const struct wf_table_arguments *r, i64 first)
{
    run_tile *tile = tile_of_warp();
    bool is_left = load_global_u32(&findings_of(r)->left);
    int before = key_before(r, first), last, runs = load_tile(r, tile, first, before, &last);
    if (runs < 0 && lane_number() == 0) atomicOr(&findings_of(r)->unsorted, 1);
    if (__any_sync(ALL_LANES, is_left) || runs < 0) return false;
    if (runs == 0) return true;
    int end = find_end(r, tile, first, last);
    if (lane_number() == 0) tile->begins[runs] = (unsigned short)end;
    __syncwarp();
    bool are_written = write_runs(r, tile, first, before, runs);
    __syncwarp();
    if (!are_written) store_global_u32(&findings_of(r)->left, 1);
    return __all_sync(ALL_LANES, are_written);
}

// The results of each group's elements, while keys do not fall.
static __device__ __forceinline__ void reduce_runs(const struct wf_table_arguments *r)
{
    const i64 of_block = WF_TABLE_ORDER_BLOCK / 32 * RUN_TILE;
    i64 first = blockIdx.x * of_block + warp_number() * RUN_TILE;
    if (__any_sync(ALL_LANES, load_global_u32(&findings_of(r)->left))) return;
    while (first <= r->count && reduce_tile(r, first)) first += gridDim.x * of_block;
}

#endif

// Offsets, if keys may be sorted and have no results yet; or what comes next if they are mostly sorted.
static __device__ __forceinline__ void open_order(const struct wf_table_arguments *r)
{
    const struct wf_table_findings *findings = findings_of(r);
    if (are_mostly_sorted(r) && findings->unsorted) clear_flags(r);
    if (!HAS_RUNS || findings->left) find_offsets(r);
}

#endif
