// The words of a key: how an element's bits are divided among them, and where they are, in shared and in global memory.

#ifndef TABLE_WORDS_CUH
#define TABLE_WORDS_CUH

#include "kernels/integers.cuh"
#include "kernels/parts.cuh"
#include "kernels/relaxed.cuh"
#include "kernels/specials.cuh"
#include "kernels/table_buckets.cuh"
#include "kernels/table_walk.cuh"
#include "kernels/team.cuh"

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

// ---- adding

// A key, and what has been gathered for it and is not yet in the table.
typedef struct {
    int key;
    i64 word[WORDS_MAX];
} pending;

#define NEAR_BINADES 24 // of which the elements of a sample are, if those of all are to need one word, or two

// What is told of a sample by how far it is below an infinity: how many binades lie between that and the largest element.
static __device__ __forceinline__ int binades_to(const struct wf_table_arguments *r, u32 below_infinity)
{
    return max((int)(findings_of(r)->high + below_infinity) - (int)(INFINITY_BITS >> FRACTION_BITS), 0);
}

static __device__ __forceinline__ int find_spread(const struct wf_table_arguments *r)
{
    return binades_to(r, findings_of(r)->depth);
}

static __device__ __forceinline__ bool is_sample_wide(const struct wf_table_arguments *r)
{
    return find_spread(r) > NEAR_BINADES;
}

// The upper one of the two words that most elements need, if grids are laid by a sample.
static __device__ __forceinline__ int upper_of_sample(const struct wf_table_arguments *r)
{
    return WF_TABLE_TERMS_MAX - 1 - (WIDTH < 64 && !is_sample_wide(r));
}

// Bits that a sum's words have above those of a sample and below; negative if they do not even hold these.
static __device__ __forceinline__ int find_slack(const struct wf_table_arguments *r)
{
    return WF_TABLE_TERMS_MAX * r->term_bits - binades_to(r, findings_of(r)->last_bit);
}

// Binades above the largest element of a sample.  Of 2^15 normal logarithms the extremes are some 8 standard deviations apart, of all
// elements 11: so much on either side, and some.  Where elements of narrow types are near each other, the uppermost word has nothing
// else: most need the middle one alone, the others have up to as many bits below.  Two words hold most f64 just so.
static __device__ __forceinline__ int find_headroom(const struct wf_table_arguments *r)
{
    if (WIDTH < 64 && !is_sample_wide(r)) return r->term_bits;
    return min(max(find_spread(r) / 4, 4), max(find_slack(r), 0) / 2);
}

// Whether words will not hold what is likely beyond a sample.
static __device__ __forceinline__ bool is_slack_short(const struct wf_table_arguments *r)
{
    return find_slack(r) < find_spread(r) * 3 / 8;
}

// Whether many elements of narrow types are below the two words of most, as of gradients over 60 binades: to be added to a third one
// apart takes a hundred times as long.  Some are nevertheless, where few of a sample are so small.
static __device__ __forceinline__ bool are_many_apart(const struct wf_table_arguments *r)
{
    const int few = 8; // binades at the end of a sample
    int needed = find_headroom(r) + find_spread(r) + FRACTION_BITS + 1;
    return WIDTH < 64 && r->whole && r->is_sampled && is_sample_wide(r) && needed > 2 * r->term_bits + few;
}

// Behind the bits of the largest element, or, if that is of a sample, by the headroom further; as a position of significand_of.
static __device__ __forceinline__ int find_top(const struct wf_table_arguments *r)
{
    const struct wf_table_findings *findings = findings_of(r);
    bool is_of_all = r->is_again || (!r->is_sampled && findings->missed && !load_global_u32(&findings->wide));
    u32 high = is_of_all ? findings->high_of_all : findings->high + (r->has_sample ? (u32)find_headroom(r) : 0);
    return (int)max(high, 1u) - 1 + FRACTION_BITS + 1;
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

// No grids hold it all: words of all exponents do, or the keys are sorted.
static __device__ __forceinline__ void note_wide(const struct wf_table_arguments *r)
{
    if (!r->whole) {
        findings_of(r)->failed = 1;
        return;
    }
    store_global_u32(&findings_of(r)->wide, 1);
    if (r->is_sampled) store_global_u32(&findings_of(r)->missed, 1); // which is_in_vain asks for; other launches read it otherwise
}

// These grids do not: the next ones are laid by all elements, if there are any; words of all exponents take no longer than these.
static __device__ __forceinline__ void note_missed(const struct wf_table_arguments *r)
{
    if (r->is_sampled && r->tries_again && !r->whole)
        store_global_u32(&findings_of(r)->missed, 1);
    else
        note_wide(r);
}

// Of floats: for each word an f64 whose last bit is the word's unit, so that adding it rounds a value to units.
typedef struct {
    double anchor[LARGER(SQUARE_TERMS, WF_TABLE_TERMS_MAX)];
} grid;

// Of values, and of their squares; and what magnitudes are beyond those of values, where a sample has laid them.
typedef struct {
    grid values, squares;
    double limit;
} grids;

// A power of two, or the next one that is a normal number.
static __device__ __forceinline__ double power_of_2(int exponent)
{
    return __hiloint2double((min(max(exponent, -1022), 1023) + 1023) << 20, 0);
}

// Of the word whose unit has the exponent.
static __device__ __forceinline__ double anchor_of(int unit_exponent)
{
    return __hiloint2double((unit_exponent + 52 + 1023) << 20 | 0x80000, 0);
}

// That an anchor would not be a normal number.  The unit: its exponent.
static __device__ __forceinline__ void note_unplaced(const struct wf_table_arguments *r, const int terms, int unit_exponent)
{
    int lowest = unit_exponent + 52;
    if (lowest < -1022 || lowest + (terms - 1) * r->term_bits > 1022) note_missed(r);
}

static __device__ __forceinline__ grid place_grid(const struct wf_table_arguments *r, const int terms, int unit_exponent)
{
    grid placed;
    note_unplaced(r, terms, unit_exponent);
#pragma unroll
    for (int i = 0; i < terms; i++) placed.anchor[i] = anchor_of(unit_exponent + i * r->term_bits);
    return placed;
}

static __device__ __forceinline__ grids place_grids(const struct wf_table_arguments *r)
{
    grids placed;
    placed.limit = power_of_2(LOW_EXPONENT + find_top(r));
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
    if (HAS_VALUE_SUM && !HAS_SQUARES && fabs(value) >= grids->limit) return false;
    double rest = HAS_VALUE_SUM ? add_float(&grids->values, WF_TABLE_TERMS_MAX, HAS_SUM ? value : fabs(value), sum->word) : 0;
    return (!HAS_SQUARES || add_square(&grids->squares, value, sum->word + SQUARES_AT)) && rest == 0;
}

#define HAS_ZEROS (IS_FLOAT && HAS_SUM && !HAS_SQUARES) // their signs matter to results

static __device__ __forceinline__ bool is_negative_zero(unit bits)
{
    return HAS_ZEROS && bits == SIGN_BIT;
}

// What a block has seen, at first all 0: an element that is -0, of which a sample may see none; and how many elements it has added
// apart: see table_direct.cuh.
static __shared__ struct {
    u32 has_negative_zero, added_apart;
} block_seen;

static __device__ __forceinline__ void clear_seen(void)
{
    if (threadIdx.x == 0) block_seen.has_negative_zero = block_seen.added_apart = 0;
}

static __device__ __forceinline__ void see_negative_zero(unit bits)
{
    if (is_negative_zero(bits)) store_shared_u32(&block_seen.has_negative_zero, 1);
}

// By all threads, once all elements have been added.
static __device__ __forceinline__ void note_seen_zero(const struct wf_table_arguments *r)
{
    if (HAS_ZEROS && threadIdx.x == 0 && block_seen.has_negative_zero) store_global_u32(&findings_of(r)->has_negative_zero, 1);
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
    } else {
        see_negative_zero(bits);
        if (!add_to_grids(grids, widen(bits), sum)) note_missed(r);
    }
    if (has_counts(r)) sum->word[COUNT_AT]++;
}

// ---- words in shared memory, by their halves, of each of which the GPU adds one at once: first the lower halves of all, so that
// neighbours are in neighbouring banks

// How many words the block has there.
static __device__ __forceinline__ u32 count_shared(const struct wf_table_arguments *r)
{
    if (r->copies) return (u32)count_words(r) * (u32)r->table_count * (u32)r->copies;
    return (u32)count_words(r) * (u32)(IS_BUCKETS ? 1 << r->bucket_log2 : r->kept);
}

static __device__ __forceinline__ void clear_shared(u32 words)
{
    for (u32 i = threadIdx.x; i < words; i += TABLE_BLOCK) block_table[i] = 0;
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
    place->words = words;
    if (IS_BUCKETS) {
        place->at = place_in_bucket(r, key);
        place->step = 1u << r->bucket_log2;
        return true;
    }
    int kept = r->copies ? 0 : place_of_kept(r, key);
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
        if (i < count_words(r) && word_of_pending(sum, i, r))
            atomicAdd(words + i * r->table_count, word_of_pending(sum, i, r));
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

#endif
