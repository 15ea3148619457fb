// Sums by key: each element becomes one to three integers, by the bits of a grid that all groups share, and these are added to
// words of its key.  Integer additions commute, so the bits of a result do not depend on their order.  What the grid does not
// hold sets `wide`, and words of all exponents take everything, or `failed`; then nothing of it counts, and the keys are sorted.

#ifndef TABLE_SUMS_CUH
#define TABLE_SUMS_CUH

#include "kernels/group_finish.cuh"
#include "kernels/group_state.cuh"
#include "kernels/relaxed.cuh"
#include "kernels/table_buckets.cuh"
#include "kernels/table_direct.cuh"
#include "kernels/table_walk.cuh"
#include "kernels/table_whole.cuh"
#include "kernels/table_words.cuh"

// ---- looking

static __device__ __forceinline__ u32 field_of(unit bits)
{
    unit magnitude = bits & MAGNITUDE;
    return magnitude < INFINITY_BITS ? (u32)(magnitude >> FRACTION_BITS) : 0;
}

// How far the last bit of a number is below an infinity's, which has as many bits behind it as all others; 0 of a zero.
static __device__ __forceinline__ u32 last_bit_of(unit bits)
{
    unit magnitude = bits & MAGNITUDE;
    int position;
    if (magnitude == 0 || magnitude >= INFINITY_BITS) return 0;
    u64 significand = significand_of(bits, &position);
    return (u32)((int)(INFINITY_BITS >> FRACTION_BITS) + FRACTION_BITS - position - (__ffsll((i64)significand) - 1));
}

#define LOOKS 8 // elements that a lane loads at a time
#define SAMPLES (1 << 15)
#define SAMPLE_EVERY 8 // a sample has at most every eighth element

static __device__ __forceinline__ void look_at_values(const struct wf_table_arguments *r)
{
    u32 high = 0, depth = 0, last_bit = 0;
    bool has_negative_zero = false;
    i64 step = (i64)gridDim.x * WF_TABLE_BLOCK, every = r->is_sampled ? max((i64)r->count / SAMPLES, (i64)SAMPLE_EVERY) : 1;
    i64 count = r->count / every;
    for (i64 first = (i64)blockIdx.x * WF_TABLE_BLOCK + threadIdx.x; first < count; first += LOOKS * step) {
        unit bits[LOOKS];
#pragma unroll
        for (int k = 0; k < LOOKS; k++) bits[k] = load_value(r, min(first + k * step, count - 1) * every);
#pragma unroll
        for (int k = 0; k < LOOKS; k++) {
            u32 field = field_of(bits[k]);
            high = max(high, field);
            bool has_depth = r->is_whole ? is_nonzero(bits[k]) && !is_either_special(bits[k], bits[k]) : r->is_sampled && field;
            if (has_depth) depth = max(depth, (u32)(INFINITY_BITS >> FRACTION_BITS) - max(field, 1u));
            if (r->is_sampled) last_bit = max(last_bit, last_bit_of(bits[k]));
            has_negative_zero |= is_negative_zero(bits[k]);
        }
    }
    for (u32 delta = 16; delta; delta /= 2) {
        high = max(high, __shfl_xor_sync(ALL_LANES, high, delta));
        depth = max(depth, __shfl_xor_sync(ALL_LANES, depth, delta));
        last_bit = max(last_bit, __shfl_xor_sync(ALL_LANES, last_bit, delta));
    }
    has_negative_zero = __any_sync(ALL_LANES, has_negative_zero);
    if (lane_number()) return;
    atomicMax(r->is_again || r->is_whole ? &findings_of(r)->high_of_all : &findings_of(r)->high, high);
    if (depth) atomicMax(r->is_whole ? &findings_of(r)->depth_of_all : &findings_of(r)->depth, depth);
    if (last_bit) atomicMax(&findings_of(r)->last_bit, last_bit);
    if (has_negative_zero) findings_of(r)->has_negative_zero = 1;
}

// Where there are buckets, or what was added does not count: words in global memory of some groups, by some blocks.  Of a bucket
// of which one block has all elements they need not be cleared.
static __device__ __forceinline__ void clear_words(const struct wf_table_arguments *r, i64 first, i64 groups, i64 block, i64 blocks)
{
    for (int word = 0; word < count_words(r); word++)
        for (i64 i = block * TABLE_BLOCK + threadIdx.x; i < groups; i += blocks * TABLE_BLOCK)
            ((u64 *)r->words)[word * r->table_count + first + i] = 0;
}

static __device__ __forceinline__ void look(const struct wf_table_arguments *r)
{
    if (r->buckets) clear_flags(r);
    if (r->is_whole)
        clear_whole(r);
    else if (has_buckets(r) && !r->rereads)
        sample_buckets(r);
    else if (r->buckets || r->is_again)
        clear_words(r, 0, r->table_count, blockIdx.x, r->blocks);
    if (IS_FLOAT && HAS_SUMS && (!r->is_whole || WIDTH == 64)) look_at_values(r);
}

// ---- adding

// One after the other: equal keys that follow each other are added up before anything goes to the table.
static __device__ __forceinline__ void add_elements(const struct wf_table_arguments *r, const key_range *range, const grids *grids,
                                                    const loaded *elements, u32 words, pending *sum)
{
    int key[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++)
        key[k] = k < elements->count ? find_key(r, range, elements->key_bits[k], elements->first + k) : NO_KEY;
    if (__any_sync(ALL_LANES, key[0] != sum->key) && have_one_key(sum)) {
        put_words_of_warp(r, words, sum);
        clear_pending(sum, key[0]);
    }
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        if (key[k] != sum->key) {
            put_words(r, words, sum);
            clear_pending(sum, key[k]);
        }
        if (key[k] >= 0) add_value(r, grids, elements->bits[k], sum);
    }
}

// The next elements are on their way while those before them are added.
static __device__ __forceinline__ void add_piece(const struct wf_table_arguments *r, const key_range *range, u32 words)
{
    const i64 of_warp = 32 * EACH;
    i64 begin, end;
    find_piece(r, &begin, &end);
    i64 first = begin + lane_number() * EACH;
    grids placed = place_grids(r);
    loaded elements, next;
    pending sum;
    clear_pending(&sum, NO_KEY);
    load_elements(r, first, end, &next);
    for (i64 at = begin; at < end; at += of_warp) {
        elements = next;
        first += of_warp;
        load_elements(r, first, end, &next);
        add_elements(r, range, &placed, &elements, words, &sum);
    }
    put_words_of_warp(r, words, &sum);
}

// Adds a block's words to those of all.
static __device__ __forceinline__ void merge_table(const struct wf_table_arguments *r, u32 words)
{
    u32 copies = (u32)r->copies;
    for (u32 i = threadIdx.x; i < words / copies; i += WF_TABLE_BLOCK) {
        u64 sum = 0;
        for (u32 copy = 0; copy < copies; copy++) sum += shared_word(words, i * copies + copy);
        if (sum) atomicAdd((u64 *)r->words + i, sum);
    }
}

static __device__ __forceinline__ void merge_kept(const struct wf_table_arguments *r, u32 words)
{
    for (int i = (int)threadIdx.x; i < r->kept; i += WF_TABLE_BLOCK) {
        i64 key = (i64)kept_numbers(r)[i] - 1;
        for (int word = 0; key >= 0 && word < count_words(r); word++) {
            u64 sum = shared_word(words, (u32)(word * r->kept + i));
            atomicAdd((u64 *)r->words + word * r->table_count + key, sum);
        }
    }
}

// Whether a sample tells that words hold all elements, or may do so.  If they cannot, nothing is tried.
static __device__ __forceinline__ bool is_sample_kept(const struct wf_table_arguments *r)
{
    if (!IS_FLOAT || !r->is_sampled) return true;
    if (find_slack(r) < 0 || are_many_apart(r)) note_wide(r);
    if (is_slack_short(r)) note_missed(r);
    return !is_slack_short(r) && !are_many_apart(r);
}

static __device__ __forceinline__ void add_in_order(const struct wf_table_arguments *r, u32 words)
{
    key_range range = range_of_pass(r);
    if (range.count == 0 || !is_sample_kept(r)) return;
    clear_shared(words);
    clear_seen();
    for (i64 i = threadIdx.x; i < r->kept; i += WF_TABLE_BLOCK) kept_numbers(r)[i] = 0;
    __syncthreads();
    if (IS_DIRECT && r->copies)
        add_piece_directly(r, &range, words);
    else
        add_piece(r, &range, words);
    __syncthreads();
    note_seen_zero(r);
    if (r->copies)
        merge_table(r, words);
    else
        merge_kept(r, words);
}

// ---- results

// Writes the sum of floats that are all finite; false if that has to be rounded below the normal numbers, or may be -0.
static __device__ __forceinline__ bool write_words(const struct wf_table_arguments *r, const group_place *place, const u64 *word)
{
#if USES_GROUP_LEVELS && defined FINISH_OP
    level_total total = {{0, 0, 0}, LOW_EXPONENT + find_base(r)};
#pragma unroll
    for (int i = 0; i < count_terms(r); i++) total_add_shifted(&total, (i64)word[i], i * r->term_bits);
    if (IS_PLAIN_TERM_SUM && (total.word[0] || total.word[1] || total.word[2])) return write_total(place, total);
#endif
    (void)r, (void)place, (void)word;
    return false;
}

// The same by a block that has all elements of the group, and before it is known whether tables hold all of the data.
static __device__ __forceinline__ bool write_at_once(const struct wf_table_arguments *r, i64 number, u32 flags, const u64 *word)
{
    group_place place = place_of_key(r, number);
    if (flags || !write_words(r, &place, word)) return false;
    ((u32 *)r->flags)[number] = WF_TABLE_WRITTEN;
    return true;
}

// ---- by buckets

#if IS_BUCKETS

// The block's words of a key, which are cleared.
static __device__ __forceinline__ void take_shared(const struct wf_table_arguments *r, u32 words, u32 at, u64 taken[WORDS_MAX])
{
    u32 *halves = (u32 *)block_table;
#pragma unroll
    for (int i = 0; i < WORDS_MAX; i++, at += 1u << r->bucket_log2) {
        if (i >= count_words(r)) break;
        taken[i] = shared_word(words, at);
        halves[at] = halves[words + at] = 0;
    }
}

// Writes a key's result, or the words that it is made of, of a bucket of which no other block has any elements; else adds its words to
// those of all.
static __device__ __forceinline__ void merge_key(const struct wf_table_arguments *r, i64 number, u32 flags, bool is_whole, const u64 *taken)
{
    if (is_whole && write_at_once(r, number, flags, taken)) return;
#pragma unroll
    for (int k = 0; k < WORDS_MAX; k++) {
        if (k >= count_words(r)) break;
        u64 *word = (u64 *)r->words + k * r->table_count + number;
        if (is_whole)
            *word = taken[k];
        else if (taken[k])
            atomicAdd(word, taken[k]);
    }
}

// Flags are on their way together.
static __device__ __forceinline__ void merge_bucket(const struct wf_table_arguments *r, int bucket, bool is_whole, u32 words)
{
    int keys = keys_of_bucket(r, bucket);
    i64 number = (i64)bucket << r->bucket_log2;
    for (int first = (int)threadIdx.x; first < keys; first += LOOKS * TABLE_BLOCK) {
        u32 flags[LOOKS];
#pragma unroll
        for (int k = 0; k < LOOKS; k++) {
            int i = first + k * TABLE_BLOCK;
            flags[k] = i < keys ? load_global_u32((const u32 *)r->flags + number + i) : 0;
        }
#pragma unroll 1
        for (int k = 0; k < LOOKS && first + k * TABLE_BLOCK < keys; k++) {
            int i = first + k * TABLE_BLOCK;
            u64 taken[WORDS_MAX];
            take_shared(r, words, (u32)i, taken);
            merge_key(r, number + i, flags[0], is_whole, taken);
#pragma unroll
            for (int j = 1; j < LOOKS; j++) flags[j - 1] = flags[j];
        }
    }
}

#if REREADS

// Elements are read again for each bucket.
static __device__ __forceinline__ void add_by_buckets(const struct wf_table_arguments *r)
{
    const u32 words = count_shared(r);
    if (!is_sample_kept(r)) return;
    clear_shared(words);
    clear_seen();
    __syncthreads();
    for (int bucket = 0; bucket < r->buckets; bucket++) {
        const key_range range = {(i64)bucket << r->bucket_log2, (u64)keys_of_bucket(r, bucket)};
        add_piece_directly(r, &range, words);
        __syncthreads();
        merge_bucket(r, bucket, false, words);
        __syncthreads();
    }
    note_seen_zero(r);
}

#else

static __device__ __forceinline__ void place_and_clear(const struct wf_table_arguments *r)
{
    i64 of_share = room_of_share(r);
    if (!is_sample_kept(r)) return;
    for (int i = (int)blockIdx.x; i < r->buckets; i += gridDim.x)
        if (!is_in_one_share(r, i, of_share)) clear_words(r, (i64)i << r->bucket_log2, keys_of_bucket(r, i), 0, 1);
    place_elements(r);
}

#define RECORDS 8 // that a thread loads at a time

// How records are added: directly, where an element mostly needs one word or two.
typedef struct {
    direct_words direct;
    grids grids;
} record_words;

static __device__ __forceinline__ void add_record(const struct wf_table_arguments *r, const record_words *to, u32 words, record made)
{
    int key = key_of_record(made);
#if IS_DIRECT
    frequent none = {NO_KEY, 0, 0, 0};
    add_directly(r, &to->direct, key, bits_of_record(made), &none);
#else
    pending sum;
    clear_pending(&sum, key);
    add_value(r, &to->grids, bits_of_record(made), &sum);
    put_words(r, words, &sum);
#endif
}

// Records of one bucket; words are added to shared memory.
static __device__ __forceinline__ void add_records(const struct wf_table_arguments *r, const record_words *to, i64 begin, i64 end, u32 words)
{
    for (i64 first = begin + threadIdx.x; first < end; first += RECORDS * TABLE_BLOCK) {
        record loaded[RECORDS];
#pragma unroll
        for (int k = 0; k < RECORDS; k++) loaded[k] = ((const record *)r->records)[min(first + k * TABLE_BLOCK, end - 1)];
#pragma unroll
        for (int k = 0; k < RECORDS; k++)
            if (first + k * TABLE_BLOCK < end) add_record(r, to, words, loaded[k]);
    }
}

static __device__ __forceinline__ void add_by_buckets(const struct wf_table_arguments *r)
{
    u32 words = count_shared(r);
    i64 of_share = room_of_share(r), begin = blockIdx.x * of_share, end = min(begin + of_share, begin_of_bucket(r, r->buckets));
    record_words to;
    if (!is_sample_kept(r) || findings_of(r)->crowded) return;
#if IS_DIRECT
    to.direct = find_direct_words(r, words);
#else
    to.grids = place_grids(r);
#endif
    clear_shared(words);
    clear_seen();
    __syncthreads();
    for (int bucket = find_bucket(r, begin); bucket < r->buckets && begin_of_bucket(r, bucket) < end; bucket++) {
        add_records(r, &to, max(begin_of_bucket(r, bucket), begin), min(end_of_bucket(r, bucket), end), words);
        __syncthreads();
        merge_bucket(r, bucket, is_in_one_share(r, bucket, of_share), words);
        __syncthreads();
    }
    note_seen_zero(r);
}

#endif

#endif

static __device__ __forceinline__ void add_to_tables(const struct wf_table_arguments *r)
{
    if (!has_buckets(r)) add_in_order(r, count_shared(r));
}

#if defined FINISH_OP && !HAS_EXTREMES

static __device__ __forceinline__ u64 word_at(const struct wf_table_arguments *r, int word, i64 group)
{
    return ((const u64 *)r->words)[word * r->table_count + group];
}

// Adds words from the first one on, whose unit is at the base, to a sum: of floats one in bins.
static __device__ __forceinline__ void take_terms(const struct wf_table_arguments *r, i64 group, int first, int terms, int base,
                                                  group_sum *sum)
{
    for (int i = 0; i < terms; i++) {
        i64 word = (i64)word_at(r, first + i, group);
        int position = base + i * r->term_bits;
#if IS_FLOAT
        sum_add_term(sum, word >> min(max(-position, 0), 63), max(position, 0));
#else
        wf_i128 value = (wf_i128)word * ((wf_i128)1 << position % 64);
        if (position < 64)
            long_add(sum, (u64)value, (u64)(value >> 64), (i64)(value >> 127));
        else
            long_add(sum, 0, (u64)value, (i64)(value >> 64));
#endif
    }
}

static __device__ __forceinline__ void take_words(const struct wf_table_arguments *r, bool wide, i64 number, group_state *group)
{
    const int terms = count_terms(r);
#if HAS_WHOLE
    if (wide) {
        const whole_range range = find_whole_range(r);
        for (int i = 0; i < count_global_words(r, &range); i++) {
            i64 word = (i64)whole_word(r, index_of_word(r, &range, i, number));
            if (word) sum_add_term(&group->sum, word, position_of_word(r, &range, i));
        }
        return;
    }
#endif
    if (HAS_NONZERO) group->nonzero = word_at(r, 0, number);
    if (HAS_VALUE_SUM) take_terms(r, number, 0, terms, find_base(r), &group->sum);
    if (HAS_SQUARES) take_terms(r, number, terms, SQUARE_TERMS, find_base_of_squares(r), &group->product_sum);
}

// A sum of nothing is that of one 0.
static __device__ __forceinline__ i64 count_of_key(const struct wf_table_arguments *r, bool wide, i64 number)
{
    if (!has_counts(r)) return 1;
    const whole_range range = find_whole_range(r);
    return (i64)(wide ? whole_word(r, index_of_count(r, &range, number)) : word_at(r, count_terms(r) + SQUARE_TERMS, number));
}

#if HAS_ZEROS

// The sum of a key is 0: its sign is known where no element is -0.
static __device__ __forceinline__ void note_zero(const struct wf_table_arguments *r, i64 number)
{
    if (!findings_of(r)->has_negative_zero) return;
    ((u32 *)r->flags)[number] = WF_TABLE_ZERO;
    store_global_u32(&findings_of(r)->zeros, 1);
}

// What an element tells of the sign of such a sum: 1: it is -0; 2: it is not.
static __device__ __forceinline__ u32 sign_of_element(const struct wf_table_arguments *r, unit bits)
{
    if (is_nan(bits) && r->groups.nan == WF_NAN_OMIT) return 0;
    return is_negative_zero(bits) ? 1 : 2;
}

// A key and what is known of it, where other keys may take its place, so that blocks do not wait for each other at flags in global memory.
static __device__ __forceinline__ void note_sign(const struct wf_table_arguments *r, int key, u32 sign)
{
    u32 *kept = (u32 *)block_table + (key & (r->signs_kept - 1)), known = load_shared_u32(kept);
    if (known >> 2 == (u32)key && known & sign) return;
    u32 *flags = (u32 *)r->flags + key, seen = load_global_u32(flags);
    known = seen & WF_TABLE_ZERO && !(seen & WF_TABLE_OTHER) ? seen / WF_TABLE_NEGATIVE_ZERO & 3 : 3;
    if (sign & ~known) atomicOr(flags, sign * WF_TABLE_NEGATIVE_ZERO);
    atomicExch(kept, (u32)key << 2 | known | sign);
}

// Looks at all elements once more.
static __device__ __forceinline__ void add_zeros(const struct wf_table_arguments *r)
{
    const i64 of_warp = 32 * EACH;
    i64 begin, end;
    find_piece(r, &begin, &end);
    for (int i = (int)threadIdx.x; i < r->signs_kept; i += TABLE_BLOCK) ((u32 *)block_table)[i] = 0;
    __syncthreads();
    i64 first = begin + lane_number() * EACH;
    loaded elements, next;
    load_elements(r, first, end, &next);
    for (i64 at = begin; at < end; at += of_warp) {
        int keys[EACH];
        elements = next;
        first += of_warp;
        load_elements(r, first, end, &next);
        find_keys(r, &elements, keys);
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            u32 sign = sign_of_element(r, elements.bits[k]);
            if (keys[k] >= 0 && sign) note_sign(r, keys[k], sign);
        }
    }
}

#endif

// Whether the stage makes a key's result: of what blocks have written none, unless that does not count.
static __device__ __forceinline__ bool makes_result(const struct wf_table_arguments *r, bool wide, u32 flags)
{
    if (r->stage == WF_TABLE_SIGNS) return (flags & ~(u32)WF_TABLE_WRITTEN) == (WF_TABLE_ZERO | WF_TABLE_NEGATIVE_ZERO);
    return !(flags & WF_TABLE_WRITTEN) || wide;
}

static __device__ __forceinline__ void finish_key(const struct wf_table_arguments *r, bool wide, i64 number, u32 flags, group_state *group)
{
    group_place place = place_of_key(r, number);
    u64 terms[WF_TABLE_TERMS_MAX];
#pragma unroll
    for (int i = 0; i < WF_TABLE_TERMS_MAX; i++) terms[i] = IS_PLAIN_TERM_SUM ? word_at(r, i, number) : 0;
    i64 count = count_of_key(r, wide, number);
    const bool is_signed = r->stage == WF_TABLE_SIGNS; // nothing but -0
    if (flags == 0 && !wide && write_words(r, &place, terms)) return;
    group_clear(group);
    take_words(r, wide, number, group);
#if IS_FLOAT
    group->special_seen = (flags & ~(u32)WF_TABLE_NAN) | (is_signed ? 0 : PLAIN_SPECIAL);
    if (flags & WF_TABLE_NAN) {
        group->nan_count = 1;
        group->first_nan = 0;
    }
#if HAS_ZEROS
    if (flags == 0 && !is_signed && is_bins_empty(&group->sum)) note_zero(r, number);
#endif
#else
    (void)flags;
#endif
    if (write_plain(&r->groups, &place, group, false, count)) return;
    finish_group(&r->groups, place, *group, count);
    sum_set_empty(&group->sum);
    sum_set_empty(&group->product_sum);
}

static __device__ __forceinline__ void finish_tables(const struct wf_table_arguments *r, char *bins)
{
    group_state group;
    const bool wide = is_wide(r);
    if (findings_of(r)->failed) return;
    if (HAS_VALUE_SUM) sum_open(&group.sum, bins, GROUP_VALUE_ROWS);
    if (HAS_SQUARES) sum_open(&group.product_sum, bins + (HAS_VALUE_SUM ? 512 * GROUP_VALUE_ROWS : 0), GROUP_PRODUCT_ROWS);
    i64 step = (i64)gridDim.x * 32;
    for (i64 first = (i64)blockIdx.x * 32 + threadIdx.x; first < r->table_count; first += LOOKS * step) {
        u32 flags[LOOKS];
#pragma unroll
        for (int k = 0; k < LOOKS; k++)
            flags[k] = ((const u32 *)r->flags)[min(first + k * step, (i64)r->table_count - 1)];
#pragma unroll 1
        for (int k = 0; k < LOOKS; k++)
            if (first + k * step < r->table_count && makes_result(r, wide, flags[k]))
                finish_key(r, wide, first + k * step, flags[k] & WF_TABLE_SPECIALS, &group);
    }
}

#endif

#endif
