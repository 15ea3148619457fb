// Sums by key: each element becomes one to three integers, by the bits of a grid that all groups share, and these are added to
// words of its key.  Integer additions commute, so the bits of a result do not depend on their order.  What the grid does not
// hold sets `failed`; then nothing of it counts, and the keys are sorted.

#ifndef TABLE_SUMS_CUH
#define TABLE_SUMS_CUH

#include "kernels/group_finish.cuh"
#include "kernels/group_state.cuh"
#include "kernels/relaxed.cuh"
#include "kernels/table_buckets.cuh"
#include "kernels/table_walk.cuh"

// The words of a key, while they are gathered.
#define SQUARES_AT WF_TABLE_TERMS_MAX
#define FLOAT_SQUARE_TERMS (WIDTH == 64 ? WF_TABLE_F64_SQUARE_TERMS : WF_TABLE_SQUARE_TERMS)
#define INTEGER_SQUARE_TERMS (WIDTH == 64 ? WF_TABLE_SQUARE_TERMS : WF_TABLE_INTEGER_SQUARE_TERMS)
#define SQUARE_TERMS (!HAS_SQUARES ? 0 : IS_FLOAT ? FLOAT_SQUARE_TERMS : INTEGER_SQUARE_TERMS)
#define COUNT_AT (WF_TABLE_TERMS_MAX + SQUARE_TERMS)
#define WORDS_MAX (COUNT_AT + 1)

// What is known of these where it is compiled.
static __device__ __forceinline__ int count_terms(const struct wf_table_arguments *r)
{
    return !IS_FLOAT || HAS_NONZERO ? r->terms : HAS_VALUE_SUM ? WF_TABLE_TERMS_MAX : 0;
}

static __device__ __forceinline__ bool has_counts(const struct wf_table_arguments *r)
{
#ifdef FINISH_OP
    (void)r;
    return HAS_NONZERO || FINISH_OP == WF_MEAN || FINISH_OP == WF_VAR || FINISH_OP == WF_STD;
#else
    return r->has_counts;
#endif
}

static __device__ __forceinline__ int count_words(const struct wf_table_arguments *r)
{
    return count_terms(r) + SQUARE_TERMS + has_counts(r);
}

// ---- looking

static __device__ __forceinline__ u32 field_of(unit bits)
{
    unit magnitude = bits & MAGNITUDE;
    return magnitude < INFINITY_BITS ? (u32)(magnitude >> FRACTION_BITS) : 0;
}

#define LOOKS 8 // elements that a lane loads at a time

static __device__ __forceinline__ void look_at_values(const struct wf_table_arguments *r)
{
    u32 high = 0;
    bool has_negative_zero = false;
    i64 step = (i64)gridDim.x * WF_TABLE_BLOCK;
    for (i64 first = (i64)blockIdx.x * WF_TABLE_BLOCK + threadIdx.x; first < r->count; first += LOOKS * step) {
        unit bits[LOOKS];
#pragma unroll
        for (int k = 0; k < LOOKS; k++) bits[k] = load_value(r, min(first + k * step, (i64)r->count - 1));
#pragma unroll
        for (int k = 0; k < LOOKS; k++) {
            high = max(high, field_of(bits[k]));
            has_negative_zero = has_negative_zero || bits[k] == SIGN_BIT;
        }
    }
    for (u32 delta = 16; delta; delta /= 2) high = max(high, __shfl_xor_sync(ALL_LANES, high, delta));
    has_negative_zero = __any_sync(ALL_LANES, has_negative_zero);
    if (lane_number()) return;
    atomicMax(&findings_of(r)->high, high);
    if (has_negative_zero) findings_of(r)->has_negative_zero = 1;
}

// Where there are buckets: words in global memory of some groups, by some blocks.  Of a bucket of which one block has all
// elements they need not be cleared.
static __device__ __forceinline__ void clear_words(const struct wf_table_arguments *r, i64 first, i64 groups, i64 block, i64 blocks)
{
    for (int word = 0; word < count_words(r); word++)
        for (i64 i = block * WF_TABLE_BLOCK + threadIdx.x; i < groups; i += blocks * WF_TABLE_BLOCK)
            ((u64 *)r->words)[word * r->table_count + first + i] = 0;
}

static __device__ __forceinline__ void look(const struct wf_table_arguments *r)
{
    if (has_buckets(r))
        count_buckets(r);
    else if (r->buckets)
        clear_words(r, 0, r->table_count, blockIdx.x, r->blocks);
    if (IS_FLOAT && HAS_SUMS) look_at_values(r);
}

static __device__ __forceinline__ void place_and_clear(const struct wf_table_arguments *r)
{
    if (!has_buckets(r)) return;
    i64 of_share = records_of_share(r);
    for (int i = (int)blockIdx.x; i < r->buckets; i += r->blocks)
        if (!is_in_one_share(r, i, of_share)) clear_words(r, (i64)i << r->bucket_log2, keys_of_bucket(r, i), 0, 1);
    place_elements(r);
}

// ---- adding

// A key, and what has been gathered for it and is not yet in the table.
typedef struct {
    int key;
    i64 word[WORDS_MAX];
} pending;

// Behind those of the largest element, as a position of significand_of.
static __device__ __forceinline__ int find_top(const struct wf_table_arguments *r)
{
    return (int)max(findings_of(r)->high, 1u) - 1 + FRACTION_BITS + 1;
}

// The position of the grid's unit.
static __device__ __forceinline__ int find_base(const struct wf_table_arguments *r)
{
    return IS_FLOAT ? find_top(r) - count_terms(r) * r->term_bits : 0;
}

// The same of squares, whose positions begin at twice the exponent.
static __device__ __forceinline__ int find_base_of_squares(const struct wf_table_arguments *r)
{
    return IS_FLOAT ? 2 * find_top(r) - SQUARE_TERMS * r->term_bits : 0;
}


// Of floats: for each word an f64 whose last bit is the word's unit, so that adding it rounds a value to units.
typedef struct {
    double anchor[LARGER(SQUARE_TERMS, WF_TABLE_TERMS_MAX)];
} grid;

// Of values, and of their squares.
typedef struct {
    grid values, squares;
} grids;

// The unit: its exponent.  Fails where an anchor would not be a normal number.
static __device__ __forceinline__ grid place_grid(const struct wf_table_arguments *r, const int terms, int unit_exponent)
{
    grid placed;
    int lowest = unit_exponent + 52;
    if (lowest < -1022 || lowest + (terms - 1) * r->term_bits > 1022) findings_of(r)->failed = 1;
#pragma unroll
    for (int i = 0; i < terms; i++)
        placed.anchor[i] = __hiloint2double((lowest + i * r->term_bits + 1023) << 20 | 0x80000, 0);
    return placed;
}

static __device__ __forceinline__ grids place_grids(const struct wf_table_arguments *r)
{
    grids placed;
    if (HAS_VALUE_SUM) placed.values = place_grid(r, WF_TABLE_TERMS_MAX, LOW_EXPONENT + find_base(r));
    if (HAS_SQUARES) placed.squares = place_grid(r, SQUARE_TERMS, 2 * LOW_EXPONENT + find_base_of_squares(r));
    return placed;
}

// Divides a value among the words, from the highest on; gives what is left of it.
static __device__ __forceinline__ double add_float(const grid *grid, const int terms, double value, i64 *word)
{
#pragma unroll
    for (int i = terms - 1; i >= 0; i--) {
        double rounded = __dadd_rn(value, grid->anchor[i]);
        word[i] += __double_as_longlong(rounded) - __double_as_longlong(grid->anchor[i]);
        value = __dsub_rn(value, __dsub_rn(rounded, grid->anchor[i]));
        if (value == 0) break;
    }
    return value;
}

// Its bits go to words from the lowest on, the last of which takes what is left.
static __device__ __forceinline__ void add_bits(const struct wf_table_arguments *r, const int terms, wf_u128 magnitude, bool negative,
                                                i64 *word)
{
#pragma unroll
    for (int i = 0; i < terms; i++) {
        i64 term = (i64)(i < terms - 1 ? (u64)magnitude & (((u64)1 << r->term_bits) - 1) : (u64)magnitude);
        word[i] += negative ? -term : term;
        magnitude >>= r->term_bits;
    }
}

static __device__ __forceinline__ void add_integer(const struct wf_table_arguments *r, unit bits, pending *sum)
{
    wf_u128 magnitude = magnitude_of(bits);
    if (HAS_VALUE_SUM) add_bits(r, WIDTH == 64 ? 2 : 1, magnitude, HAS_SUM && is_negative(bits), sum->word);
    if (HAS_SQUARES) add_bits(r, SQUARE_TERMS, magnitude * magnitude, false, sum->word + SQUARES_AT);
}

// Whether it counts.
static __device__ __forceinline__ bool add_nonzero(const struct wf_table_arguments *r, unit bits, pending *sum)
{
    if (is_nan(bits) && r->groups.nan == WF_NAN_ERROR) findings_of(r)->failed = 1;
    if (is_nan(bits) && r->groups.nan == WF_NAN_OMIT) return false;
    sum->word[0] += is_nonzero(bits);
    return true;
}

static __device__ __forceinline__ void note_special(const struct wf_table_arguments *r, int key, unit bits)
{
    u32 flag = WF_TABLE_NAN;
    if (is_infinite(bits))
        flag = HAS_SUM && is_negative(bits) ? WF_SPECIAL_NEGATIVE_INFINITY : WF_SPECIAL_POSITIVE_INFINITY;
    else if (r->groups.nan == WF_NAN_OMIT)
        return;
    else if (r->groups.nan == WF_NAN_ERROR)
        findings_of(r)->failed = 1;
    atomicOr((u32 *)r->flags + key, flag);
}

// Whether the grid holds the square, which of a type of up to 32 bits is an f64, and of f64 mostly two, the second one below the
// unit of the highest word.
static __device__ __forceinline__ bool add_square(const grid *grid, double value, i64 *word)
{
    double square = __dmul_rn(value, value), more = __fma_rn(value, value, -square);
    bool is_exact = add_float(grid, SQUARE_TERMS, square, word) == 0;
    if (WIDTH < 64) return is_exact;
    bool is_whole = value == 0 || fabs(value) > 0x1p-480; // below, what is left may not be a number
    return is_exact && is_whole && (more == 0 || add_float(grid, SQUARE_TERMS - 1, more, word) == 0);
}

// Whether grids hold it.
static __device__ __forceinline__ bool add_to_grids(const grids *grids, double value, pending *sum)
{
    double rest = HAS_VALUE_SUM ? add_float(&grids->values, WF_TABLE_TERMS_MAX, HAS_SUM ? value : fabs(value), sum->word) : 0;
    return (!HAS_SQUARES || add_square(&grids->squares, value, sum->word + SQUARES_AT)) && rest == 0;
}

static __device__ __forceinline__ void add_value(const struct wf_table_arguments *r, const grids *grids, unit bits, pending *sum)
{
    if (HAS_NONZERO) {
        if (!add_nonzero(r, bits, sum)) return;
    } else if (!IS_FLOAT) {
        add_integer(r, bits, sum);
    } else if (is_either_special(bits, bits)) {
        note_special(r, sum->key, bits);
        if (is_nan(bits) && r->groups.nan == WF_NAN_OMIT) return;
    } else if (!add_to_grids(grids, widen(bits), sum)) {
        findings_of(r)->failed = 1;
    }
    if (has_counts(r)) sum->word[COUNT_AT]++;
}

// ---- words in shared memory, by their halves, of each of which the GPU adds one at once: first the lower halves of all, so that
// neighbours are in neighbouring banks

// How many words the block has there.
static __device__ __forceinline__ u32 count_shared(const struct wf_table_arguments *r)
{
    if (r->copies) return (u32)count_words(r) * (u32)r->table_count * (u32)r->copies;
    return (u32)count_words(r) * (u32)(has_buckets(r) ? 1 << r->bucket_log2 : r->kept);
}

static __device__ __forceinline__ void clear_shared(u32 words)
{
    for (u32 i = threadIdx.x; i < words; i += WF_TABLE_BLOCK) block_table[i] = 0;
}

static __device__ __forceinline__ void add_to_shared(u32 words, u32 at, u64 value)
{
    u32 *halves = (u32 *)block_table + at, low = (u32)value, before = atomicAdd(halves, low);
    u32 high = (u32)(value >> 32) + (before + low < before);
    if (high) atomicAdd(halves + words, high);
}

static __device__ __forceinline__ u64 shared_word(u32 words, u32 at)
{
    const u32 *halves = (const u32 *)block_table + at;
    return (u64)halves[words] << 32 | halves[0];
}

// ---- where words are

// Blocks without a table keep words of some groups, the first ones that they come across, among which the frequent ones are:
// these would wait for each other in global memory.  Behind the words are the groups' numbers and one, 0 where there is none.
static __device__ __forceinline__ u32 *kept_numbers(const struct wf_table_arguments *r)
{
    return (u32 *)(block_table + count_words(r) * r->kept);
}

// The place of a group that the block keeps, or a negative number.
static __device__ __forceinline__ int place_of_kept(const struct wf_table_arguments *r, int key)
{
    int place = key & (r->kept - 1);
    u32 number = (u32)key + 1, kept = load_shared_u32(&kept_numbers(r)[place]);
    if (kept == 0) kept = atomicCAS(&kept_numbers(r)[place], 0, number);
    return kept == 0 || kept == number ? place : -1;
}

// Where the words of a key are in shared memory: the lowest one, and how far it is to the next, of `words`.
typedef struct {
    u32 words, at, step;
} word_place;

// Whether they are there.
static __device__ __forceinline__ bool find_place(const struct wf_table_arguments *r, u32 words, int key, word_place *place)
{
    int kept = r->copies ? 0 : place_of_kept(r, key);
    place->words = words;
    place->at = r->copies ? (u32)(key * r->copies) + (lane_number() & (u32)(r->copies - 1)) : (u32)kept;
    place->step = r->copies ? (u32)r->table_count * (u32)r->copies : (u32)r->kept;
    return kept >= 0;
}

static __device__ __forceinline__ void clear_pending(pending *sum, int key)
{
    sum->key = key;
#pragma unroll
    for (int i = 0; i < WORDS_MAX; i++) sum->word[i] = 0;
}

// The word of what is gathered for a key, by its number in the table.
static __device__ __forceinline__ u64 word_of_pending(const pending *sum, int word, const struct wf_table_arguments *r)
{
    int terms = count_terms(r), squares_end = terms + SQUARE_TERMS;
    return (u64)sum->word[word < terms ? word : word < squares_end ? SQUARES_AT + word - terms : COUNT_AT];
}

static __device__ __forceinline__ void put_in_shared(const struct wf_table_arguments *r, const word_place *place, const pending *sum)
{
#pragma unroll
    for (int i = 0; i < WORDS_MAX; i++)
        if (i < count_words(r) && word_of_pending(sum, i, r))
            add_to_shared(place->words, place->at + (u32)i * place->step, word_of_pending(sum, i, r));
}

static __device__ __forceinline__ void put_in_global(const struct wf_table_arguments *r, const pending *sum)
{
    u64 *words = (u64 *)r->words + sum->key;
#pragma unroll
    for (int i = 0; i < WORDS_MAX; i++)
        if (i < count_words(r) && word_of_pending(sum, i, r)) atomicAdd(words + i * r->table_count, word_of_pending(sum, i, r));
}

static __device__ __forceinline__ void put_words(const struct wf_table_arguments *r, u32 words, const pending *sum)
{
    if (sum->key < 0) return;
    word_place place;
    if (find_place(r, words, sum->key, &place))
        put_in_shared(r, &place, sum);
    else
        put_in_global(r, sum);
}

static __device__ __forceinline__ bool have_one_key(const pending *sum)
{
    return __all_sync(ALL_LANES, __shfl_sync(ALL_LANES, sum->key, 0) == sum->key);
}

// By all lanes, which add up what they have first if that is for one key.
static __device__ __forceinline__ void put_words_of_warp(const struct wf_table_arguments *r, u32 words, pending *sum)
{
    if (have_one_key(sum)) {
        for (u32 delta = 16; delta; delta /= 2) {
#pragma unroll
            for (int i = 0; i < WORDS_MAX; i++) sum->word[i] += (i64)from_other((u64)sum->word[i], delta);
        }
        if (lane_number()) return;
    }
    put_words(r, words, sum);
}

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
        for (int word = 0; key >= 0 && word < count_words(r); word++)
            atomicAdd((u64 *)r->words + word * r->table_count + key, shared_word(words, (u32)(word * r->kept + i)));
    }
}

static __device__ __forceinline__ void add_in_order(const struct wf_table_arguments *r, u32 words)
{
    key_range range = range_of_pass(r);
    if (range.count == 0) return;
    clear_shared(words);
    for (i64 i = threadIdx.x; i < r->kept; i += WF_TABLE_BLOCK) kept_numbers(r)[i] = 0;
    __syncthreads();
    add_piece(r, &range, words);
    __syncthreads();
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
static __device__ __forceinline__ bool write_at_once(const struct wf_table_arguments *r, i64 number, const u64 *word)
{
    u32 *flags = (u32 *)r->flags + number;
    group_place place = place_of_key(r, number);
    if (load_global_u32(flags) || !write_words(r, &place, word)) return false;
    *flags = WF_TABLE_WRITTEN;
    return true;
}

// ---- adding by buckets

#define RECORDS 4 // that a thread loads at a time

// Records of one bucket; words are added to shared memory.
static __device__ __forceinline__ void add_records(const struct wf_table_arguments *r, const grids *grids, i64 begin, i64 end,
                                                   u32 words)
{
    u32 mask = (1u << r->bucket_log2) - 1;
    for (i64 first = begin + threadIdx.x; first < end; first += RECORDS * WF_TABLE_BLOCK) {
        record loaded[RECORDS];
#pragma unroll
        for (int k = 0; k < RECORDS; k++)
            loaded[k] = ((const record *)r->records)[min(first + k * WF_TABLE_BLOCK, end - 1)];
#pragma unroll
        for (int k = 0; k < RECORDS; k++) {
            if (first + k * WF_TABLE_BLOCK >= end) break;
            pending sum;
            clear_pending(&sum, key_of_record(loaded[k]));
            add_value(r, grids, bits_of_record(loaded[k]), &sum);
            word_place place = {words, (u32)sum.key & mask, mask + 1};
            put_in_shared(r, &place, &sum);
        }
    }
}

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

// Writes results, or the words that they are made of, of a bucket of which no other block has any elements; else adds its words
// to those of all.
static __device__ __forceinline__ void merge_bucket(const struct wf_table_arguments *r, int bucket, bool is_whole, u32 words)
{
    u32 keys = (u32)keys_of_bucket(r, bucket);
    for (u32 i = threadIdx.x; i < keys; i += WF_TABLE_BLOCK) {
        i64 number = ((i64)bucket << r->bucket_log2) + i;
        u64 taken[WORDS_MAX];
        take_shared(r, words, i, taken);
        if (is_whole && write_at_once(r, number, taken)) continue;
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
}

static __device__ __forceinline__ void add_by_buckets(const struct wf_table_arguments *r, u32 words)
{
    i64 of_share = records_of_share(r), begin = blockIdx.x * of_share, end = min(begin + of_share, begin_of_bucket(r, r->buckets));
    grids placed = place_grids(r);
    clear_shared(words);
    __syncthreads();
    for (int bucket = find_bucket(r, begin); bucket < r->buckets && begin_of_bucket(r, bucket) < end; bucket++) {
        i64 first = max(begin_of_bucket(r, bucket), begin), behind = min(begin_of_bucket(r, bucket + 1), end);
        if (first >= behind) continue;
        add_records(r, &placed, first, behind, words);
        __syncthreads();
        merge_bucket(r, bucket, is_in_one_share(r, bucket, of_share), words);
        __syncthreads();
    }
}

static __device__ __forceinline__ void add_to_tables(const struct wf_table_arguments *r)
{
    u32 words = count_shared(r);
    if (has_buckets(r))
        add_by_buckets(r, words);
    else
        add_in_order(r, words);
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

static __device__ __forceinline__ void take_words(const struct wf_table_arguments *r, i64 number, group_state *group)
{
    const int terms = count_terms(r);
    if (HAS_NONZERO) group->nonzero = word_at(r, 0, number);
    if (HAS_VALUE_SUM) take_terms(r, number, 0, terms, find_base(r), &group->sum);
    if (HAS_SQUARES) take_terms(r, number, terms, SQUARE_TERMS, find_base_of_squares(r), &group->product_sum);
}

static __device__ __forceinline__ void finish_key(const struct wf_table_arguments *r, i64 number, u32 flags, group_state *group)
{
    group_place place = place_of_key(r, number);
    u64 terms[WF_TABLE_TERMS_MAX];
#pragma unroll
    for (int i = 0; i < WF_TABLE_TERMS_MAX; i++) terms[i] = IS_PLAIN_TERM_SUM ? word_at(r, i, number) : 0;
    // A sum of nothing is that of one 0.
    i64 count = has_counts(r) ? (i64)word_at(r, count_terms(r) + SQUARE_TERMS, number) : 1;
    if (flags == 0 && write_words(r, &place, terms)) return;
    group_clear(group);
    take_words(r, number, group);
#if IS_FLOAT
    group->special_seen = (flags & ~(u32)WF_TABLE_NAN) | PLAIN_SPECIAL;
    if (flags & WF_TABLE_NAN) {
        group->nan_count = 1;
        group->first_nan = 0;
    }
#if HAS_VALUE_SUM && !HAS_SQUARES
    if (is_bins_empty(&group->sum) && findings_of(r)->has_negative_zero) findings_of(r)->failed = 1;
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
            if (first + k * step < r->table_count && !(flags[k] & WF_TABLE_WRITTEN))
                finish_key(r, first + k * step, flags[k], &group);
    }
}

#endif

#endif
