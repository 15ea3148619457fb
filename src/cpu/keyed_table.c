/* A table by key: elements become integers, which are added to the words of their groups' slots, or compared with them. */
#include "core/array.h"
#include "core/labels.h"
#include "cpu/keyed_job.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Sums begin with 0, extrema with no key and no position. */
void wf_table_clear(struct keyed_table *table, const struct keyed *job) {
    size_t count = table->nbytes / sizeof(int64_t);
    if (job->parts & (WF_PART_MIN | WF_PART_MAX))
        for (size_t i = 0; i < count; i++) table->word[i] = INT64_MAX;
}

/* Zeros.  Elements go to random places: large pages spare most of the address translations. */
static bool make_words(struct keyed_table *table, const struct keyed *job) {
    enum { LARGE = 1 << 22 };
    table->nbytes = job->copies * wf_table_slots(table) * job->words * sizeof(int64_t);
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

void wf_table_destroy(struct keyed_table *table) {
    if (!table) return;
    if (table->word && table->is_mapped)
        munmap(table->word, table->nbytes);
    else
        free(table->word);
    free(table->lost);
    free(table);
}

struct keyed_table *wf_table_make(const struct keyed *job, int64_t begin, int64_t end) {
    struct keyed_table *table = NULL;
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
    wf_table_destroy(table);
    return NULL;
}

/* Makes keys of no group the last slot; false if there are some that must not be skipped. */
static bool check_keys(struct keyed_table *table, const struct keyed *job, size_t count) {
    const int64_t last = job->groups - 1;
    int64_t any = 0; /* the sign of a key below 0, or of what is left of the last one above it */
    for (size_t i = 0; i < count; i++) any |= table->key[i] | (int64_t)((uint64_t)last - (uint64_t)table->key[i]);
    for (size_t i = 0; any < 0 && i < count; i++)
        if (table->key[i] < 0 || table->key[i] > last) table->key[i] = job->groups;
    return any >= 0 || job->grouped->skips_bad_keys;
}

/* What the next block will read: meanwhile the processor expects nothing of the kind. */
static inline __attribute__((always_inline)) void prefetch_block(const struct keyed_table *table, size_t i) {
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

static inline __attribute__((always_inline)) void add_to_copies(struct keyed_table *table, size_t count, size_t words,
                                                                size_t copies, bool paired) {
    const int64_t *restrict key = table->key;
    const struct wf_units *restrict units = &table->units;
    int64_t *restrict copy[KEYED_COPIES];
    for (size_t c = 0; c < copies; c++) copy[c] = table->word + c * wf_table_slots(table) * words;
    size_t whole = count / copies * copies;
    for (size_t i = 0; i < whole; i += copies)
        for (size_t c = 0; c < copies; c++) {
            if (copies == 1) __builtin_prefetch(copy[c] + (size_t)key[i + c + KEYED_AHEAD] * words, 1);
            if (c == 0) prefetch_block(table, i);
            add_element(copy[c] + (size_t)key[i + c] * words, units, i + c, words, paired);
        }
    for (size_t i = whole; i < count; i++) add_element(copy[0] + (size_t)key[i] * words, units, i, words, paired);
}

static inline __attribute__((always_inline)) void add_words(struct keyed_table *table, const struct keyed *job, size_t count,
                                                            size_t words, bool paired) {
    if (job->copies > 1)
        add_to_copies(table, count, words, KEYED_COPIES, paired);
    else
        add_to_copies(table, count, words, 1, paired);
}

/* The least key and, where it matters, its position: those of a thread rise. */
static inline __attribute__((always_inline)) void take_least(struct keyed_table *table, size_t count, bool is_indexed,
                                                             int64_t position) {
    int64_t *restrict all = table->word;
    const int64_t *restrict place = table->place;
    const int64_t *restrict slot = table->key, *restrict key = table->units.word[0];
    const int64_t words = is_indexed ? 2 : 1;
    for (size_t i = 0; i < count; i++) {
        int64_t *least = all + slot[i] * words;
        __builtin_prefetch(all + slot[i + KEYED_AHEAD] * words, 1);
        if (key[i] >= least[0]) continue;
        least[0] = key[i];
        if (is_indexed) least[1] = position + place[i];
    }
}

static void take_block(struct keyed_table *table, const struct keyed *job, size_t count, int64_t position) {
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

void wf_table_carry(struct keyed_table *table, const struct keyed *job) {
    table->until_carry = job->carry_interval;
    if (job->grid[0].levels < 2 && job->grid[1].levels < 2) return;
    for (size_t slot = 0; slot < job->copies * wf_table_slots(table); slot++) {
        int64_t *word = table->word + slot * job->words;
        carry_term(word, &job->grid[0]);
        carry_term(word + job->grid[0].levels, &job->grid[1]);
    }
}

/* Sets the elements aside that have been lost; false if they are too many. */
static bool set_aside(struct keyed_table *table, const struct keyed *job, size_t count, int64_t position) {
    if (table->lost_count + count > table->lost_capacity) {
        size_t capacity = 2 * (table->lost_capacity + count);
        struct keyed_lost *larger = realloc(table->lost, capacity * sizeof *larger);
        if (!larger) return false;
        table->lost = larger;
        table->lost_capacity = capacity;
    }
    for (size_t i = 0; i < count; i++)
        if (table->units.lost[i] && (uint64_t)table->key[i] < (uint64_t)table->groups)
            table->lost[table->lost_count++] =
                (struct keyed_lost){table->first_group + table->key[i], position + table->place[i]};
    return table->lost_count <= job->lost_max && (!table->lost_count || job->grouped->empty->nan != WF_NAN_ERROR);
}

size_t wf_table_read(struct keyed_table *table, const struct keyed *job, int64_t position, int64_t limit,
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
static void prefetch_slots(const struct keyed_table *table, const struct keyed *job, size_t count) {
    for (size_t i = 0; job->copies == 1 && i < KEYED_AHEAD && i < count; i++)
        __builtin_prefetch(table->word + (size_t)table->key[i] * job->words, 1);
}

/* Keeps the elements of the groups that the thread owns, and makes their keys slots; returns how many there are. */
static inline __attribute__((always_inline)) size_t select_elements(struct keyed_table *table, const unsigned char *x,
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
    memset(table->key + kept, 0, KEYED_AHEAD * sizeof *table->key); /* slots are prefetched from there */
    return kept;
}

static size_t select_own(struct keyed_table *table, const unsigned char *x, size_t count, size_t nbytes) {
    switch (nbytes) {
    case 4: return select_elements(table, x, count, 4);
    case 8: return select_elements(table, x, count, 8);
    default: return select_elements(table, x, count, nbytes);
    }
}

bool wf_table_add(struct keyed_table *table, const struct keyed *job, int64_t begin, int64_t end) {
    while (begin < end) {
        const unsigned char *x;
        size_t count = wf_table_read(table, job, begin, end - begin, &x);
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
            if ((table->until_carry -= (int64_t)count) < WF_UNITS_MAX) wf_table_carry(table, job);
        }
        begin = next;
    }
    return true;
}
