/* Reductions by key: each thread adds its elements, as integers, to a table of its own, in which each group has a few
 * words.  Sums are split onto grids that all elements share (loops/float_units.h), so that each word is an exact integer;
 * extrema are keys, with the position of the first.  The few elements that the grids do not fit, infinities and NaNs are
 * set aside, and added to their groups' accumulators at the end. */
#include "cpu/keyed.h"
#include "core/array.h"
#include "core/environment.h"
#include "core/labels.h"
#include "core/round_to_odd.h"
#include "core/small_finish.h"
#include "cpu/cpu.h"
#include "cpu/workers.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
    CHUNK = 1 << 14,         /* elements that a thread takes at a time */
    GROUPS_AT_ONCE = 256,    /* that a thread finishes at a time */
    AHEAD = 32,              /* elements between a slot's prefetch and its use */
    COPIES = 4,              /* of a small table */
    OWNERS_MAX = 8,          /* threads that each read all keys */
    ADDITIONS_LOG2_MAX = 40, /* elements in all */
};

/* An element that has no units. */
struct lost {
    int64_t key, position;
};

/* What a thread has. */
struct table {
    int64_t first_group, groups; /* whose slots the table has: all, or those that the thread owns */
    int64_t *word; /* [copies][slots][words] */
    size_t nbytes;
    bool is_mapped;
    struct wf_units units;
    unsigned char copy[WF_UNITS_MAX * sizeof(uint64_t)]; /* of elements that do not lie side by side */
    int64_t key[WF_UNITS_MAX + AHEAD];
    int64_t place[WF_UNITS_MAX]; /* of the elements in their block */
    unsigned char own[WF_UNITS_MAX * sizeof(uint64_t)]; /* elements of the groups that the thread owns */
    const char *next_key, *next_x; /* behind what has been read */
    struct lost *lost;
    size_t lost_count, lost_capacity;
    bool has_minus_zero;
    int64_t until_carry; /* elements that may be added before carries must move up */
};

struct job {
    const struct wf_grouped *grouped;
    const struct cpu *cpu;
    struct wf_view view;
    int64_t key_stride_bytes;
    wf_split_function *split;
    unsigned parts;
    int64_t count, groups;
    struct wf_grid grid[2]; /* of values, of squares */
    size_t words, copies; /* of a slot; of all slots: neighbours in memory go to different ones */
    bool is_indexed, counts; /* word 1 is a position; the last word counts elements */
    int64_t carry_interval;
    size_t lost_max; /* of a thread */
    bool are_owned;  /* each group by one thread, which alone adds to it; otherwise all threads add to all groups */
    int threads, writers; /* that add, each to its table; that finish groups */
    struct table **table;
    struct lost *lost; /* of all threads, by group and position */
    size_t lost_count;
    bool adder_rounds; /* sums that are small: see round_by_adding */
    unsigned char *marks; /* of each group, enum wf_mark; NULL: no zero has a sign */
    atomic_llong next;
    atomic_bool declined;
};

/* ---- the plan ---- */

static int log2_above(int64_t count) {
    return count <= 1 ? 0 : 64 - wf_leading_zeros_u64((uint64_t)count - 1);
}

/* The ops that tables serve, of each type. */
static bool is_served(const struct wf_accumulator *empty) {
    const unsigned squares = WF_PART_SQUARES;
    switch (empty->op) {
    case WF_SUM: case WF_MEAN: case WF_NORM1: case WF_MIN: case WF_MAX: case WF_ARGMIN: case WF_ARGMAX: return true;
    case WF_VAR: case WF_STD: case WF_NORM2:
        return wf_type_table[empty->type].nbytes < 8 && empty->parts & squares;
    default: return false;
    }
}

/* The binades of the elements: all are less than 2^top in magnitude, and multiples of 2^low. */
struct binades {
    int top, low;
    int low_of_most; /* the same of all but the two that have the lowest bits */
};

/* Puts low in its place among the three least. */
static void note_low(int least[3], int low) {
    for (int k = 0; k < 3; k++) {
        int other = least[k];
        if (low >= other) continue;
        least[k] = low;
        low = other;
    }
}

/* Those of a few elements. */
static struct binades sample_binades(const struct job *job) {
    enum { SAMPLES = 4096 };
    int highest = INT32_MIN, least[3] = {INT32_MAX, INT32_MAX, INT32_MAX};
    wf_type type = job->grouped->empty->type;
    int64_t step = job->count / SAMPLES + 1;
    for (int64_t i = 0; i < job->count; i += step) {
        uint64_t bits = 0;
        memcpy(&bits, job->view.data[0] + i * job->view.stride_bytes[0][0], job->view.nbytes);
        struct wf_number number = wf_number_of_bits(type, bits);
        if (number.kind != WF_NUMBER_FINITE) continue;
        int top = number.exponent + 128, low = number.exponent + 64 + __builtin_ctzll((uint64_t)(number.mantissa >> 64));
        if (top > highest) highest = top;
        if (low < least[2]) note_low(least, low);
    }
    if (highest == INT32_MIN) return (struct binades){1, 0, 0};
    return (struct binades){highest, least[0], job->count < SAMPLES ? least[0] : least[2]};
}

static void set_anchors(struct wf_grid *grid, int lowest) {
    for (int k = 0; k < grid->levels; k++) {
        grid->exponent[k] = lowest + (grid->levels - 1 - k) * grid->distance;
        grid->unit[k] = ldexp(1, grid->exponent[k]);
        grid->anchor[k] = grid->unit[k] * 0x1.8p52;
    }
}

/* The bits of the terms that level 0 takes, so that the units of all elements add up to less than 2^63. */
static int upper_bits(const struct job *job) {
    int bits = 62 - log2_above(job->count + 1);
    return bits < 50 ? bits : 50;
}

/* Makes the grid as fine as the levels allow, from 2^top down to 2^low at least; false: it takes too many levels. */
static bool make_grid(struct wf_grid *grid, const struct job *job, struct binades range, int finest, int spare,
                      int levels_max) {
    int upper = upper_bits(job), needed = range.top - range.low, levels = 1;
    grid->distance = 63 - log2_above(job->carry_interval);
    if (grid->distance > 50) grid->distance = 50;
    while (levels < levels_max && upper + (levels - 1) * grid->distance < needed + spare) levels++;
    int unneeded = upper + (levels - 1) * grid->distance - needed, lowest = range.low - unneeded * 3 / 4;
    if (unneeded < 0) return false;
    if (lowest < finest) lowest = finest;
    grid->levels = levels;
    int top = lowest + (levels - 1) * grid->distance + upper;
    if (top < range.top || top > 960 || lowest < -1000) return false;
    set_anchors(grid, lowest);
    grid->limit = ldexp(1, top);
    return true;
}

static double largest_finite(wf_type type) {
    int precision = wf_type_table[type].precision;
    return ldexp((double)((INT64_C(1) << precision) - 1), wf_type_high_exponent(type) - precision);
}

/* One level, which costs half of what two do, if next to no element has bits below it. */
static bool make_single_level(struct wf_grid *grid, const struct job *job, struct binades range, int finest) {
    range.low = range.low_of_most;
    return make_grid(grid, job, range, finest, 0, 1);
}

static bool plan_float_grids(struct job *job) {
    wf_type type = job->grouped->empty->type;
    const int spare = 4; /* so few elements have bits below those of the sample that they are better set aside */
    int finest = wf_type_low_exponent(type);
    struct binades range = sample_binades(job);
    if (job->parts & (WF_PART_SUM | WF_PART_ABS)) {
        if (!make_single_level(&job->grid[0], job, range, finest) &&
            !make_grid(&job->grid[0], job, range, finest, spare, WF_GRID_LEVELS_MAX))
            return false;
    } else {
        job->grid[0].limit = ldexp(1, range.top + 2);
    }
    if (job->parts & WF_PART_SQUARES) {
        int top = range.top + 2;
        if (top > wf_type_high_exponent(type)) top = wf_type_high_exponent(type);
        struct binades squares = {2 * top, 2 * range.low, 2 * range.low};
        if (!make_grid(&job->grid[1], job, squares, 2 * finest, 2 * spare, WF_GRID_LEVELS_MAX)) return false;
        if (job->grid[0].limit > ldexp(1, top)) job->grid[0].limit = ldexp(1, top);
    }
    if (job->grid[0].limit > largest_finite(type)) job->grid[0].limit = largest_finite(type);
    return true;
}

/* Halves where the integers are long: see loops/integer.c. */
static bool plan_integer_grids(struct job *job) {
    size_t nbytes = job->view.nbytes;
    if (job->count > 1 << 30) return false;
    if (job->parts & (WF_PART_SUM | WF_PART_ABS)) job->grid[0].levels = nbytes == 8 ? 2 : 1;
    if (job->parts & WF_PART_SQUARES) job->grid[1].levels = nbytes == 4 ? 2 : 1;
    for (int g = 0; g < 2; g++) {
        job->grid[g].distance = 32;
        for (int k = 0; k < job->grid[g].levels; k++) job->grid[g].exponent[k] = 32 * (job->grid[g].levels - 1 - k);
    }
    job->carry_interval = 1 << 30;
    return true;
}

/* As many tables as scratch may be taken for: twice the elements and keys, and 64 bytes a group. */
static bool plan_threads(struct job *job, int threads) {
    enum { FEW_NBYTES = 1 << 17 };
    double table = (double)job->words * (double)(job->groups + 1) * sizeof(int64_t);
    double input = (double)job->count * (double)(job->view.nbytes + wf_type_nbytes(job->grouped->groups->labels->type));
    double scratch = 2 * input + 64 * (double)job->groups;
    int64_t worthwhile = job->count / job->groups / 4 + 1; /* else tables cost more than elements */
    job->copies = table * COPIES <= FEW_NBYTES && job->count > 8 * job->groups ? COPIES : 1;
    table *= (double)job->copies;
    if (table > scratch) return false;
    job->threads = threads;
    if (job->threads > job->count / CHUNK + 1) job->threads = (int)(job->count / CHUNK + 1);
    job->are_owned = job->threads > worthwhile && job->groups >= OWNERS_MAX * GROUPS_AT_ONCE;
    if (job->are_owned && job->threads > OWNERS_MAX) job->threads = OWNERS_MAX;
    if (job->are_owned) return true;
    if (job->threads > worthwhile) job->threads = (int)worthwhile;
    if (job->threads * table > scratch) job->threads = (int)(scratch / table);
    return true;
}

static int compare_keys(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Divides the groups among the owners, so that each has about as many elements, as far as a few keys tell. */
static void share_groups(struct job *job, int64_t *begin) {
    enum { SAMPLES = 1024 };
    int64_t key[SAMPLES], step = job->count / SAMPLES, samples = step ? SAMPLES : job->count;
    for (int64_t i = 0; i < samples; i++) wf_labels_read(job->grouped->groups->labels, i * (step ? step : 1), 1, &key[i]);
    qsort(key, (size_t)samples, sizeof *key, compare_keys);
    begin[0] = 0;
    for (int t = 1; t < job->threads; t++) {
        int64_t middle = key[samples * t / job->threads] / GROUPS_AT_ONCE * GROUPS_AT_ONCE;
        if (middle > job->groups) middle = job->groups;
        begin[t] = middle > begin[t - 1] ? middle : begin[t - 1];
    }
    begin[job->threads] = job->groups;
}

static bool plan(struct job *job, int threads) {
    const struct wf_accumulator *empty = job->grouped->empty;
    bool is_extremum = empty->parts & (WF_PART_MIN | WF_PART_MAX);
    int64_t interval = job->groups < job->count / 32 ? job->groups * 32 + (1 << 15) : job->count;
    job->parts = empty->parts;
    job->carry_interval = interval < job->count ? interval : job->count;
    if (!is_extremum && !(wf_type_is_float(empty->type) ? plan_float_grids : plan_integer_grids)(job)) return false;
    job->is_indexed = is_extremum && empty->op != WF_MIN && empty->op != WF_MAX;
    job->counts = empty->op == WF_MEAN || empty->op == WF_VAR || empty->op == WF_STD;
    job->words = is_extremum ? (size_t)1 + job->is_indexed
                            : (size_t)(job->grid[0].levels + job->grid[1].levels) + job->counts;
    job->lost_max = (size_t)(job->count / 32 + 64);
    return plan_threads(job, threads);
}

/* ---- a thread's table ---- */

/* Sums begin with 0, extrema with no key and no position. */
static void clear_words(struct table *table, const struct job *job) {
    size_t count = table->nbytes / sizeof(int64_t);
    if (job->parts & (WF_PART_MIN | WF_PART_MAX))
        for (size_t i = 0; i < count; i++) table->word[i] = INT64_MAX;
}

/* The groups', and one of bad keys. */
static size_t slots_of(const struct table *table) {
    return (size_t)table->groups + 1;
}

/* Zeros.  Elements go to random places: large pages spare most of the address translations. */
static bool make_words(struct table *table, const struct job *job) {
    enum { LARGE = 1 << 22 };
    table->nbytes = job->copies * slots_of(table) * job->words * sizeof(int64_t);
    table->is_mapped = table->nbytes >= LARGE;
    if (!table->is_mapped) {
        table->word = calloc(1, table->nbytes);
        return table->word;
    }
    table->word = mmap(NULL, table->nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (table->word == MAP_FAILED) table->word = NULL;
#ifdef MADV_HUGEPAGE
    if (table->word) madvise(table->word, table->nbytes, MADV_HUGEPAGE); /* as far as there are any */
#endif
    return table->word;
}

static void destroy_table(struct table *table) {
    if (!table) return;
    if (table->word && table->is_mapped)
        munmap(table->word, table->nbytes);
    else
        free(table->word);
    free(table->lost);
    free(table);
}

static struct table *make_table(const struct job *job, int64_t begin, int64_t end) {
    struct table *table = NULL;
    if (posix_memalign((void **)&table, 64, sizeof *table)) return NULL;
    table->first_group = begin;
    table->groups = end - begin;
    table->lost = NULL;
    table->lost_count = table->lost_capacity = 0;
    table->has_minus_zero = table->units.any_lost = table->units.any_minus_zero = false;
    table->until_carry = job->carry_interval;
    memset(table->key, 0, sizeof table->key);
    for (int i = 0; i < WF_UNITS_MAX; i++) table->place[i] = i;
    for (size_t i = 0; job->counts && i < WF_UNITS_MAX; i++) table->units.word[job->words - 1][i] = 1;
    if (make_words(table, job)) return table;
    destroy_table(table);
    return NULL;
}

/* Makes keys of no group the last slot; false if there are some that must not be skipped. */
static bool check_keys(struct table *table, const struct job *job, size_t count) {
    const int64_t last = job->groups - 1;
    int64_t any = 0; /* the sign of a key below 0, or of what is left of the last one above it */
    for (size_t i = 0; i < count; i++) any |= table->key[i] | (int64_t)((uint64_t)last - (uint64_t)table->key[i]);
    for (size_t i = 0; any < 0 && i < count; i++)
        if (table->key[i] < 0 || table->key[i] > last) table->key[i] = job->groups;
    return any >= 0 || job->grouped->skips_bad_keys;
}

/* What the next block will read: meanwhile the processor expects nothing of the kind. */
static inline __attribute__((always_inline)) void prefetch_block(const struct table *table, size_t i) {
    __builtin_prefetch(table->next_key + i * sizeof(int64_t));
    __builtin_prefetch(table->next_x + i * sizeof(int64_t));
}

typedef int64_t pair __attribute__((vector_size(16)));

/* Adds the words of one element, the first two of which may lie side by side. */
static inline __attribute__((always_inline)) void add_element(int64_t *slot, const struct wf_units *units, size_t i,
                                                              size_t words, bool paired) {
    pair sum, two;
    if (paired) {
        memcpy(&sum, slot, sizeof sum);
        memcpy(&two, units->pair[i], sizeof two);
        sum += two;
        memcpy(slot, &sum, sizeof sum);
    }
    for (size_t k = paired ? 2 : 0; k < words; k++) slot[k] += units->word[k][i];
}

static inline __attribute__((always_inline)) void add_to_copies(struct table *table, size_t count, size_t words,
                                                                size_t copies, bool paired) {
    const int64_t *restrict key = table->key;
    const struct wf_units *restrict units = &table->units;
    int64_t *restrict copy[COPIES];
    for (size_t c = 0; c < copies; c++) copy[c] = table->word + c * slots_of(table) * words;
    size_t whole = count / copies * copies;
    for (size_t i = 0; i < whole; i += copies)
        for (size_t c = 0; c < copies; c++) {
            if (copies == 1) __builtin_prefetch(copy[c] + (size_t)key[i + c + AHEAD] * words, 1);
            if (c == 0) prefetch_block(table, i);
            add_element(copy[c] + (size_t)key[i + c] * words, units, i + c, words, paired);
        }
    for (size_t i = whole; i < count; i++) add_element(copy[0] + (size_t)key[i] * words, units, i, words, paired);
}

static inline __attribute__((always_inline)) void add_words(struct table *table, const struct job *job, size_t count,
                                                            size_t words, bool paired) {
    if (job->copies > 1)
        add_to_copies(table, count, words, COPIES, paired);
    else
        add_to_copies(table, count, words, 1, paired);
}

/* The least key and, where it matters, its position: those of a thread rise. */
static inline __attribute__((always_inline)) void take_least(struct table *table, size_t count, bool is_indexed,
                                                             int64_t position) {
    int64_t *restrict all = table->word;
    const int64_t *restrict place = table->place;
    const int64_t *restrict slot = table->key, *restrict key = table->units.word[0];
    const int64_t words = is_indexed ? 2 : 1;
    for (size_t i = 0; i < count; i++) {
        int64_t *least = all + slot[i] * words;
        __builtin_prefetch(all + slot[i + AHEAD] * words, 1);
        if (key[i] >= least[0]) continue;
        least[0] = key[i];
        if (is_indexed) least[1] = position + place[i];
    }
}

static void take_block(struct table *table, const struct job *job, size_t count, int64_t position) {
    if (job->parts & (WF_PART_MIN | WF_PART_MAX)) {
        job->is_indexed ? take_least(table, count, true, position) : take_least(table, count, false, position);
        return;
    }
    bool paired = job->grid[0].levels == 2;
    switch (job->words) {
    case 1: add_words(table, job, count, 1, false); break;
    case 2: paired ? add_words(table, job, count, 2, true) : add_words(table, job, count, 2, false); break;
    case 3: paired ? add_words(table, job, count, 3, true) : add_words(table, job, count, 3, false); break;
    default: add_words(table, job, count, job->words, paired);
    }
}

/* Moves what exceeds half a unit of the next level up there. */
static void carry_term(int64_t *word, const struct wf_grid *grid) {
    int64_t unit = INT64_C(1) << grid->distance;
    for (int k = grid->levels - 1; k > 0; k--) {
        int64_t carry = (word[k] + unit / 2) >> grid->distance;
        word[k] -= carry * unit;
        word[k - 1] += carry;
    }
}

static void carry(struct table *table, const struct job *job) {
    table->until_carry = job->carry_interval;
    if (job->grid[0].levels < 2 && job->grid[1].levels < 2) return;
    for (size_t slot = 0; slot < job->copies * slots_of(table); slot++) {
        int64_t *word = table->word + slot * job->words;
        carry_term(word, &job->grid[0]);
        carry_term(word + job->grid[0].levels, &job->grid[1]);
    }
}

/* Sets the elements aside that have been lost; false if they are too many. */
static bool set_aside(struct table *table, const struct job *job, size_t count, int64_t position) {
    if (table->lost_count + count > table->lost_capacity) {
        size_t capacity = 2 * (table->lost_capacity + count);
        struct lost *larger = realloc(table->lost, capacity * sizeof *larger);
        if (!larger) return false;
        table->lost = larger;
        table->lost_capacity = capacity;
    }
    for (size_t i = 0; i < count; i++)
        if (table->units.lost[i] && (uint64_t)table->key[i] < (uint64_t)table->groups)
            table->lost[table->lost_count++] =
                (struct lost){table->first_group + table->key[i], position + table->place[i]};
    return table->lost_count <= job->lost_max && (!table->lost_count || job->grouped->empty->nan != WF_NAN_ERROR);
}

/* Reads the elements from position on that lie side by side, at most limit, and their keys; returns how many. */
static size_t read_elements(struct table *table, const struct job *job, int64_t position, int64_t limit,
                            const unsigned char **x) {
    unsigned char *buffer[2] = {table->copy, NULL};
    const unsigned char *data[2] = {NULL, NULL};
    if (limit > WF_UNITS_MAX) limit = WF_UNITS_MAX;
    size_t count = (size_t)wf_view_block(&job->view, position, limit, WF_UNITS_MAX, buffer, data);
    wf_labels_read(job->grouped->groups->labels, position, count, table->key);
    table->next_key = (const char *)job->grouped->groups->labels->data + (position + (int64_t)count) * job->key_stride_bytes;
    table->next_x = (const char *)job->view.data[0] + (position + (int64_t)count) * job->view.stride_bytes[0][0];
    *x = data[0];
    return count;
}

/* The first slots of a block, which meanwhile is split. */
static void prefetch_slots(const struct table *table, const struct job *job, size_t count) {
    for (size_t i = 0; job->copies == 1 && i < AHEAD && i < count; i++)
        __builtin_prefetch(table->word + (size_t)table->key[i] * job->words, 1);
}

/* Keeps the elements of the groups that the thread owns, and makes their keys slots; returns how many there are. */
static inline __attribute__((always_inline)) size_t select_elements(struct table *table, const unsigned char *x,
                                                                    size_t count, size_t nbytes) {
    const int64_t first = table->first_group;
    const uint64_t groups = (uint64_t)table->groups;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t slot = (int64_t)((uint64_t)table->key[i] - (uint64_t)first);
        table->key[kept] = slot;
        table->place[kept] = (int64_t)i;
        memcpy(table->own + kept * nbytes, x + i * nbytes, nbytes);
        kept += (uint64_t)slot < groups;
    }
    memset(table->key + kept, 0, AHEAD * sizeof *table->key); /* slots are prefetched from there */
    return kept;
}

static size_t select_own(struct table *table, const unsigned char *x, size_t count, size_t nbytes) {
    switch (nbytes) {
    case 4: return select_elements(table, x, count, 4);
    case 8: return select_elements(table, x, count, 8);
    default: return select_elements(table, x, count, nbytes);
    }
}

static bool add_range(struct table *table, const struct job *job, int64_t begin, int64_t end) {
    while (begin < end) {
        const unsigned char *x;
        size_t count = read_elements(table, job, begin, end - begin, &x);
        if (!check_keys(table, job, count)) return false;
        int64_t next = begin + (int64_t)count;
        if (job->are_owned) {
            count = select_own(table, x, count, job->view.nbytes);
            x = table->own;
        }
        if (count) {
            prefetch_slots(table, job, count);
            job->split(&table->units, job->grid, job->parts, x, count);
            take_block(table, job, count, begin);
            table->has_minus_zero |= table->units.any_minus_zero;
            if (table->units.any_lost && !set_aside(table, job, count, begin)) return false;
            if ((table->until_carry -= (int64_t)count) < WF_UNITS_MAX) carry(table, job);
        }
        begin = next;
    }
    return true;
}

static void add_chunk(struct table *table, struct job *job, int64_t begin) {
    int64_t left = job->count - begin;
    if (!add_range(table, job, begin, begin + (left < CHUNK ? left : CHUNK))) atomic_store(&job->declined, true);
}

/* An owner takes all chunks, other threads those that no other one has taken. */
static void add_share(void *context, int i) {
    struct job *job = context;
    struct table *table = job->table[i];
    int64_t begin;
    wf_environment callers = wf_environment_enter();
    clear_words(table, job);
    if (job->are_owned)
        for (begin = 0; !atomic_load(&job->declined) && begin < job->count; begin += CHUNK) add_chunk(table, job, begin);
    else
        while (!atomic_load(&job->declined) && (begin = atomic_fetch_add(&job->next, CHUNK)) < job->count)
            add_chunk(table, job, begin);
    carry(table, job);
    wf_environment_leave(callers);
}

/* ---- one group ---- */

/* The words of groups that follow one another, added up over all tables, or the least. */
struct merged {
    const int64_t *word; /* [groups][words] */
    int64_t sum[GROUPS_AT_ONCE * WF_UNITS_WORDS_MAX];
};

static const int64_t *words_at(const struct job *job, size_t table, int64_t group) {
    const struct table *of_thread = job->table[table / job->copies];
    size_t slot = table % job->copies * slots_of(of_thread) + (size_t)(group - of_thread->first_group);
    return of_thread->word + slot * job->words;
}

/* The table of a group that a thread owns. */
static size_t table_of(const struct job *job, int64_t group) {
    size_t t = 0;
    while (group - job->table[t]->first_group >= job->table[t]->groups) t++;
    return t;
}

static void merge_extrema(int64_t *into, const int64_t *from, const struct job *job, size_t groups) {
    for (size_t i = 0; i < groups * job->words; i += job->words) {
        bool is_later = job->is_indexed && from[i] == into[i] && from[i + 1] >= into[i + 1];
        if (from[i] > into[i] || is_later) continue;
        memcpy(into + i, from + i, job->words * sizeof *into);
    }
}

static void merge_tables(struct merged *merged, const struct job *job, int64_t begin, size_t groups) {
    size_t tables = (size_t)job->threads * job->copies, count = groups * job->words;
    merged->word = words_at(job, job->are_owned ? table_of(job, begin) : 0, begin);
    if (tables == 1 || job->are_owned) return;
    memcpy(merged->sum, merged->word, count * sizeof(int64_t));
    merged->word = merged->sum;
    for (size_t t = 1; t < tables; t++) {
        const int64_t *from = words_at(job, t, begin);
        if (job->parts & (WF_PART_MIN | WF_PART_MAX))
            merge_extrema(merged->sum, from, job, groups);
        else
            for (size_t i = 0; i < count; i++) merged->sum[i] += from[i];
    }
}

static bool is_minus_zero(const struct job *job, int64_t group) {
    return job->marks && job->marks[group] == WF_MARK_MINUS_ZERO;
}

/* The sum of the group's terms of one grid; false if it is beyond 126 bits of the finest units. */
static bool total_of(wf_i128 *total, const int64_t *word, const struct wf_grid *grid) {
    *total = word[0];
    for (int k = 1; k < grid->levels; k++) {
        wf_i128 most = (wf_i128)1 << (126 - grid->distance);
        if (*total >= most || *total <= -most) return false;
        *total = *total * ((wf_i128)1 << grid->distance) + word[k];
    }
    return true;
}


/* A sum whose levels each add up to an f64 is rounded by the adder, for an f32 to odd first.  A sum of zeros is +0. */
static inline bool add_levels(double *sum, const struct wf_grid *grid, const int64_t *word, bool is_f64) {
    const uint64_t most = UINT64_C(1) << 53;
    int64_t low = grid->levels == 2 ? word[1] : 0;
    double upper = (double)word[0] * grid->unit[0], lower = (double)low * grid->unit[grid->levels - 1];
    *sum = is_f64 ? upper + lower : wf_add_rounding_to_odd(upper, lower);
    return (uint64_t)word[0] + most <= 2 * most && (uint64_t)low + most <= 2 * most;
}

static bool round_by_adding(wf_value *value, const struct wf_grid *grid, const int64_t *word) {
    double sum;
    if (!add_levels(&sum, grid, word, value->type == WF_F64)) return false;
    if (value->type == WF_F64)
        value->v.f64 = sum;
    else
        value->v.f32 = (float)sum;
    return true;
}

/* The group's sum, or mean; false if the general path must find it. */
static bool find_sum(wf_value *value, const struct job *job, int64_t group, const int64_t *word) {
    const struct wf_grid *grid = &job->grid[0];
    int64_t count = job->counts ? word[job->words - 1] : 1;
    wf_i128 total;
    if (job->adder_rounds && grid->levels <= 2 && round_by_adding(value, grid, word)) return true;
    if (count == 0 || !total_of(&total, word, grid)) return false;
    wf_u128 magnitude = total < 0 ? -(wf_u128)total : (wf_u128)total;
    bool negative = total ? total < 0 : is_minus_zero(job, group);
    int exponent = grid->exponent[grid->levels - 1];
    struct wf_number number = job->counts ? wf_quotient_u128(negative, magnitude, exponent, (uint64_t)count)
                                          : wf_number_make(negative, magnitude, exponent, false);
    return wf_number_round(&number, value->type, value);
}

static int64_t key_of(const struct job *job, int64_t word) {
    return job->parts & WF_PART_MAX ? ~word : word;
}

/* The group's extreme, or its position; false if the general path must find it. */
static bool find_extremum(wf_value *value, const struct job *job, const int64_t *word) {
    wf_type type = job->grouped->empty->type;
    if (word[0] == INT64_MAX) return false;
    struct wf_number number = job->is_indexed
                                  ? wf_number_of_u64((uint64_t)(job->grouped->empty->first_index + word[1]))
                                  : wf_number_of_bits(type, wf_key_to_bits(type, key_of(job, word[0])));
    return wf_number_round(&number, value->type, value);
}

/* The group's variance or its root; false if the general path must find it. */
static bool find_variance(wf_value *value, const struct job *job, const int64_t *word) {
    const struct wf_grid *grid = job->grid;
    const struct wf_accumulator *empty = job->grouped->empty;
    struct wf_small_sums sums = {.sum_exponent = grid[0].exponent[grid[0].levels - 1],
                                 .squares_exponent = grid[1].exponent[grid[1].levels - 1],
                                 .count = word[job->words - 1]};
    struct wf_number number;
    return total_of(&sums.sum, word, &grid[0]) && total_of(&sums.squares, word + grid[0].levels, &grid[1]) &&
           wf_small_finish(empty->op, &sums, empty->ddof, &number) && wf_number_round(&number, value->type, value);
}

static bool find_directly(wf_value *value, const struct job *job, int64_t group, const int64_t *word) {
    if (job->parts & (WF_PART_MIN | WF_PART_MAX)) return find_extremum(value, job, word);
    if (job->parts & WF_PART_SQUARES) return job->counts && find_variance(value, job, word);
    return find_sum(value, job, group, word);
}

static void add_term(const struct wf_exact *into, const int64_t *word, const struct wf_grid *grid) {
    for (int k = 0; k < grid->levels; k++) wf_exact_add_i64(into, word[k], grid->exponent[k]);
}

/* Makes acc what a group's words say.  Of terms that are all zeros, the marks say whether one was not -0. */
static void open_group(struct wf_accumulator *acc, const struct job *job, int64_t group, const int64_t *word) {
    const struct wf_accumulator *empty = job->grouped->empty;
    wf_accumulator_init_like(acc, empty, empty->first_index, NULL);
    struct wf_open_partial open = wf_accumulator_open(acc);
    if (!is_minus_zero(job, group)) acc->partial.special_seen |= WF_SPECIAL_NOT_ALL_NEGATIVE_ZERO;
    add_term(job->parts & WF_PART_ABS ? &open.abs : &open.sum, word, &job->grid[0]);
    add_term(&open.product_sum, word + job->grid[0].levels, &job->grid[1]);
    if (!(job->parts & (WF_PART_MIN | WF_PART_MAX)) || word[0] == INT64_MAX) return;
    uint64_t order = wf_key_to_order(key_of(job, word[0]));
    *(job->parts & WF_PART_MIN ? &acc->partial.min_key : &acc->partial.max_key) = order;
    if (job->is_indexed)
        *(job->parts & WF_PART_MIN ? &acc->partial.min_index : &acc->partial.max_index) =
            (uint64_t)(empty->first_index + word[1]);
}

/* Adds the elements of the group that were set aside. */
static void add_lost(struct wf_accumulator *acc, const struct job *job, const struct lost *lost, size_t count) {
    for (size_t i = 0; i < count; i++) {
        acc->end_index = job->grouped->empty->first_index + lost[i].position;
        wf_cpu_add_alone(acc, job->cpu->tier, job->view.data[0] + lost[i].position * job->view.stride_bytes[0][0], NULL, 1);
    }
}

/* The result of a group by an accumulator, which takes some of the elements that were set aside. */
static bool find_by_accumulator(wf_value *value, const struct job *job, int64_t group, const int64_t *word,
                                const struct lost *lost, size_t lost_count, struct wf_accumulator *acc) {
    bool is_extremum = job->parts & (WF_PART_MIN | WF_PART_MAX), has_others = !is_extremum || word[0] != INT64_MAX;
    open_group(acc, job, group, word);
    add_lost(acc, job, lost, lost_count);
    acc->count = job->counts ? word[job->words - 1] : (int64_t)lost_count + has_others;
    acc->end_index = acc->first_index + job->count;
    wf_error error = wf_accumulator_finish(NULL, acc, acc->op, value);
    if (error == WF_ERROR_EMPTY && job->grouped->has_fill) *value = job->grouped->fill;
    return !error || (error == WF_ERROR_EMPTY && job->grouped->has_fill);
}

/* ---- results ---- */

/* The first of the lost elements of group, or of one after it. */
static size_t find_lost(const struct job *job, int64_t group) {
    size_t low = 0, high = job->lost_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (job->lost[middle].key < group)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The result of one group; *lost: the first of the lost elements of this group or of one after it, then of the next. */
static bool find_result(wf_value *value, const struct job *job, int64_t group, const int64_t *word, size_t *lost,
                        struct wf_accumulator *acc) {
    size_t first = *lost;
    while (*lost < job->lost_count && job->lost[*lost].key == group) (*lost)++;
    if (*lost == first && find_directly(value, job, group, word)) return true;
    return find_by_accumulator(value, job, group, word, job->lost + first, *lost - first, acc);
}

/* The same, of groups that have nothing but their words, as long as the adder can: then it is all that takes time. */
static inline __attribute__((always_inline)) bool write_added(const struct job *job, const int64_t *word, size_t groups,
                                                              char *to, int64_t stride_bytes, bool is_f64) {
    bool are_added = true;
    for (size_t g = 0; g < groups; g++, word += job->words, to += stride_bytes) {
        double sum;
        are_added &= add_levels(&sum, &job->grid[0], word, is_f64);
        float narrow = (float)sum;
        is_f64 ? memcpy(to, &sum, sizeof sum) : memcpy(to, &narrow, sizeof narrow);
    }
    return are_added;
}

/* Writes the results of groups begin <= g < end; false if one has none. */
static bool write_groups(const struct job *job, int64_t begin, int64_t end, struct wf_accumulator *acc) {
    const wf_output *output = job->grouped->output;
    const wf_type type = job->grouped->result_type;
    int64_t stride_bytes = output->stride_bytes ? output->stride_bytes[0] : (int64_t)wf_type_nbytes(type);
    char *to = (char *)output->data + begin * stride_bytes;
    size_t lost = find_lost(job, begin), groups = (size_t)(end - begin);
    struct merged merged;
    merge_tables(&merged, job, begin, groups);
    bool may_add = job->adder_rounds && job->grid[0].levels <= 2 && lost == find_lost(job, end);
    if (may_add && type == WF_F32 && write_added(job, merged.word, groups, to, stride_bytes, false)) return true;
    if (may_add && type == WF_F64 && write_added(job, merged.word, groups, to, stride_bytes, true)) return true;
    for (int64_t g = begin; g < end; g++, merged.word += job->words, to += stride_bytes) {
        wf_value value = {.type = type};
        if (!find_result(&value, job, g, merged.word, &lost, acc)) return false;
        wf_value_store(&value, to);
    }
    return true;
}

static void write_share(void *context, int i) {
    struct job *job = context;
    int64_t begin;
    wf_environment callers = wf_environment_enter();
    while (!atomic_load(&job->declined) && (begin = atomic_fetch_add(&job->next, GROUPS_AT_ONCE)) < job->groups) {
        int64_t end = job->groups - begin < GROUPS_AT_ONCE ? job->groups : begin + GROUPS_AT_ONCE;
        if (!write_groups(job, begin, end, &job->cpu->worker[i]->partial)) atomic_store(&job->declined, true);
    }
    wf_environment_leave(callers);
}

static bool has_zero_sum(const struct job *job) {
    size_t levels = (size_t)job->grid[0].levels;
    struct merged merged;
    for (int64_t g = 0; g < job->groups; g++, merged.word += job->words) {
        int64_t left = job->groups - g, any = 0;
        if (g % GROUPS_AT_ONCE == 0) merge_tables(&merged, job, g, (size_t)(left < GROUPS_AT_ONCE ? left : GROUPS_AT_ONCE));
        for (size_t k = 0; k < levels; k++) any |= merged.word[k];
        if (!any) return true;
    }
    return false;
}

/* Where some element is -0 and some sum 0, tells the groups apart that have nothing but -0; false without memory. */
static bool mark_groups(struct job *job) {
    bool has_minus_zero = false;
    for (int t = 0; t < job->threads; t++) has_minus_zero |= job->table[t]->has_minus_zero;
    if (!has_minus_zero || !(job->parts & WF_PART_SUM) || !has_zero_sum(job)) return true;
    struct table *table = job->table[0];
    job->marks = calloc((size_t)job->groups, 1);
    for (int64_t i = 0; job->marks && i < job->count;) {
        const unsigned char *x;
        size_t count = read_elements(table, job, i, job->count - i, &x);
        job->split(&table->units, job->grid, 0, x, count);
        for (size_t j = 0; j < count; j++)
            if ((uint64_t)table->key[j] < (uint64_t)job->groups)
                job->marks[table->key[j]] |= (unsigned char)table->units.word[0][j];
        i += (int64_t)count;
    }
    return job->marks;
}

static int compare_lost(const void *a, const void *b) {
    const struct lost *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->position < y->position ? -1 : x->position > y->position;
}

/* Joins the lost elements of all tables, and sorts them; false without memory. */
static bool sort_lost(struct job *job) {
    for (int t = 0; t < job->threads; t++) job->lost_count += job->table[t]->lost_count;
    if (!job->lost_count) return true;
    size_t at = 0;
    job->lost = malloc(job->lost_count * sizeof *job->lost);
    for (int t = 0; job->lost && t < job->threads; t++) {
        if (job->table[t]->lost_count)
            memcpy(job->lost + at, job->table[t]->lost, job->table[t]->lost_count * sizeof *job->lost);
        at += job->table[t]->lost_count;
    }
    if (job->lost) qsort(job->lost, job->lost_count, sizeof *job->lost, compare_lost);
    return job->lost;
}

/* ---- all of it ---- */

static void run(struct job *job, int threads, void (*share)(void *context, int i)) {
    atomic_store(&job->next, 0);
    wf_threads_run(job->cpu->threads, threads, share, job);
}

/* Tables for as many threads as there is memory for, or for each owner; false: for none. */
static bool make_tables(struct job *job) {
    int64_t begin[OWNERS_MAX + 1];
    int made = 0;
    job->table = calloc((size_t)job->threads, sizeof(struct table *));
    if (job->are_owned) share_groups(job, begin);
    while (job->table && made < job->threads &&
           (job->table[made] = job->are_owned ? make_table(job, begin[made], begin[made + 1])
                                              : make_table(job, 0, job->groups)))
        made++;
    bool enough = made == job->threads || !job->are_owned;
    job->threads = made;
    return made > 0 && enough;
}

static bool reduce(struct job *job) {
    if (!make_tables(job)) return false;
    run(job, job->threads, add_share);
    if (atomic_load(&job->declined) || !sort_lost(job) || !mark_groups(job)) return false;
    wf_type type = job->grouped->result_type;
    bool is_sum = job->parts == WF_PART_SUM || job->parts == WF_PART_ABS;
    job->adder_rounds = is_sum && wf_type_is_float(job->grouped->empty->type) && !job->counts && !job->marks &&
                        (type == WF_F32 || type == WF_F64);
    run(job, job->writers, write_share);
    return !atomic_load(&job->declined);
}

static void release(struct job *job, int tables) {
    for (int t = 0; job->table && t < tables; t++) destroy_table(job->table[t]);
    free(job->table);
    free(job->lost);
    free(job->marks);
}

bool wf_cpu_try_keyed(wf_handle *handle, const struct wf_grouped *grouped) {
    const struct wf_layout *layout = grouped->layout;
    struct cpu *cpu = handle->device_state;
    struct job job = {.grouped = grouped, .cpu = cpu, .count = layout->reduced_count, .groups = layout->count};
    bool is_vector = layout->by == WF_GROUP_KEYS && layout->ndim == 1 && layout->operands == 1;
    if (!is_vector || !is_served(grouped->empty) || !job.count || !job.groups) return false;
    if (job.count >> ADDITIONS_LOG2_MAX || job.groups >> ADDITIONS_LOG2_MAX) return false;
    job.split = cpu->tier->split[grouped->empty->type];
    wf_view_make(&job.view, grouped->a, NULL, true);
    int64_t stride_bytes[WF_NDIM_MAX];
    wf_array_strides(grouped->groups->labels, stride_bytes);
    job.key_stride_bytes = stride_bytes[0];
    if (!plan(&job, wf_cpu_threads(handle))) return false;
    int64_t finishing = job.groups / GROUPS_AT_ONCE + 1;
    job.writers = finishing < wf_cpu_threads(handle) ? (int)finishing : wf_cpu_threads(handle);
    job.writers = wf_cpu_ensure_workers(cpu, job.writers);
    if (job.threads > wf_cpu_ensure_workers(cpu, job.threads)) job.threads = cpu->worker_count;
    int tables = job.threads;
    bool done = reduce(&job);
    release(&job, tables);
    return done;
}
