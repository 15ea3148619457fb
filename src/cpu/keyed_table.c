/* A table by key: elements become integers, which are added to the words of their groups' slots, or compared with them. */
#include "core/array.h"
#include "core/labels.h"
#include "cpu/keyed_job.h"

#include <stdlib.h>

static size_t words_of(const struct keyed_table *table, const struct keyed *job) {
    return job->copies * wf_key_table_slots(table) * job->words;
}

/* Sums begin with 0, extrema with no key and no position. */
void wf_key_table_clear(struct keyed_table *table, const struct keyed *job) {
    size_t count = words_of(table, job);
    bool of_extrema = job->parts & (WF_PART_MIN | WF_PART_MAX);
    if (job->are_bounded) {
        wf_bounded_clear((double *)(void *)table->word, count);
        return;
    }
    if (table->pages.are_used && !of_extrema) memset(table->word, 0, count * sizeof *table->word);
    for (size_t i = 0; of_extrema && i < count; i++) table->word[i] = INT64_MAX;
}

static void forget_lost(struct keyed_table *table) {
    free(table->lost);
    table->lost = NULL;
    table->lost_capacity = 0;
}

void wf_key_table_end(struct keyed_table *table) {
    enum { LOST_KEPT = 1 << 16 };
    if (!table || !table->pages.at) return;
    wf_pages_leave(table->kept, table->pages);
    table->pages = (struct wf_pages){0};
    if (table->lost_capacity > LOST_KEPT) forget_lost(table);
}

void wf_key_table_destroy(struct keyed_table *table) {
    if (table) forget_lost(table);
    free(table);
}

/* The thread's, of the last reduction or a new one. */
static struct keyed_table *take_table(struct keyed_table **place) {
    if (*place || posix_memalign((void **)place, 64, sizeof **place)) return *place;
    (*place)->pages = (struct wf_pages){0};
    (*place)->lost = NULL;
    (*place)->lost_capacity = 0;
    return *place;
}

bool wf_key_table_begin(const struct keyed *job, int thread, int64_t begin, int64_t end) {
    enum { LINE = 64 }; /* no slot of a power of two crosses one */
    struct keyed_table *table = take_table(&job->table[thread]);
    if (!table) return false;
    table->first_group = begin;
    table->groups = end - begin;
    table->lost_count = 0;
    table->has_minus_zero = table->units.any_lost = table->units.any_minus_zero = false;
    table->until_carry = job->carry_interval;
    memset(table->key_copy, 0, sizeof table->key_copy);
    for (int i = 0; i < WF_UNITS_MAX; i++) table->place[i] = i;
    for (size_t i = 0; job->counts && i < WF_UNITS_MAX; i++) table->units.word[job->words - 1][i] = 1;
    table->kept = &job->cpu->worker[thread]->kept;
    table->pages = wf_pages_take(table->kept, words_of(table, job) * sizeof *table->word + LINE);
    if (!table->pages.at) return false;
    table->word = (int64_t *)(void *)((char *)table->pages.at + (LINE - (uintptr_t)table->pages.at % LINE) % LINE);
    return true;
}

/* Makes keys of no group the last slot; false if they must not be skipped. */
static bool replace_bad_keys(struct keyed_table *table, const struct keyed *job, size_t count) {
    const int64_t last = job->groups - 1;
    for (size_t i = 0; i < count; i++)
        table->key_copy[i] = table->key[i] < 0 || table->key[i] > last ? job->groups : table->key[i];
    table->key = table->key_copy;
    return job->grouped->skips_bad_keys;
}

/* The slot of a key that need not be one yet: its last word may be in another line. */
static inline __attribute__((always_inline)) void prefetch_slot(const int64_t *word, int64_t key, size_t words) {
    const uintptr_t first = (uintptr_t)word + (uint64_t)key * words * sizeof *word;
    __builtin_prefetch((const void *)first, 1);
    if (words > 2) __builtin_prefetch((const void *)(first + (words - 1) * sizeof *word), 1);
}

/* The first slots of a block, unless the one before it has asked for them. */
static void prefetch_slots(const struct keyed_table *table, const struct keyed *job, size_t count) {
    if (job->copies > 1 || table->key != table->key_copy) return;
    for (size_t i = 0; i < WF_KEYS_AHEAD && i < count; i++) prefetch_slot(table->word, table->key[i], job->words);
}

/* What the next block will read: meanwhile the processor expects nothing of the kind. */
static inline __attribute__((always_inline)) void prefetch_block(const struct keyed_table *table, size_t i) {
    __builtin_prefetch(table->next_key + i * sizeof(int64_t));
    __builtin_prefetch(table->next_x + i * sizeof(int64_t));
}

static inline __attribute__((always_inline)) void add_to_copies(struct keyed_table *table, size_t count, size_t words,
                                                                size_t copies) {
    const int64_t *restrict key = table->key;
    const struct wf_units *restrict units = &table->units;
    int64_t *restrict copy[KEYED_COPIES];
    for (size_t c = 0; c < copies; c++) copy[c] = table->word + c * wf_key_table_slots(table) * words;
    for (size_t i = 0; i < count; i++) {
        size_t c = i % copies;
        if (copies == 1) prefetch_slot(copy[c], key[i + WF_KEYS_AHEAD], words);
        if (c == 0) prefetch_block(table, i);
        for (size_t k = 0; k < words; k++) copy[c][(size_t)key[i] * words + k] += units->word[k][i];
    }
}

static inline __attribute__((always_inline)) void add_words(struct keyed_table *table, const struct keyed *job,
                                                            size_t count, size_t words) {
    if (job->copies > 1)
        add_to_copies(table, count, words, KEYED_COPIES);
    else
        add_to_copies(table, count, words, 1);
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
        prefetch_slot(all, slot[i + WF_KEYS_AHEAD], (size_t)words);
        if (key[i] >= least[0]) continue;
        least[0] = key[i];
        if (is_indexed) least[1] = position + place[i];
    }
}

static void take_units(struct keyed_table *table, const struct keyed *job, size_t count, int64_t position) {
    if (job->parts & (WF_PART_MIN | WF_PART_MAX)) {
        job->is_indexed ? take_least(table, count, true, position) : take_least(table, count, false, position);
        return;
    }
    switch (job->words) {
    case 1: add_words(table, job, count, 1); break;
    case 2: add_words(table, job, count, 2); break;
    case 3: add_words(table, job, count, 3); break;
    case 4: add_words(table, job, count, 4); break;
    default: add_words(table, job, count, job->words);
    }
}

/* Which elements are not zero. */
static inline __attribute__((always_inline)) void find_nonzero(struct wf_units *units, const unsigned char *x, size_t count,
                                                               size_t nbytes, bool is_float) {
    const uint64_t mask = is_float ? UINT64_MAX >> (65 - 8 * nbytes) : UINT64_MAX; /* without the sign */
    for (size_t i = 0; i < count; i++) units->word[0][i] = (wf_keyed_bits(x + i * nbytes, nbytes) & mask) != 0;
}

static void take_nonzero(struct wf_units *units, const struct keyed *job, const unsigned char *x, size_t count) {
    const bool is_float = wf_type_is_float(job->grouped->empty->type);
    switch (job->view.nbytes) {
    case 1: find_nonzero(units, x, count, 1, false); break;
    case 2: is_float ? find_nonzero(units, x, count, 2, true) : find_nonzero(units, x, count, 2, false); break;
    case 4: is_float ? find_nonzero(units, x, count, 4, true) : find_nonzero(units, x, count, 4, false); break;
    default: is_float ? find_nonzero(units, x, count, 8, true) : find_nonzero(units, x, count, 8, false);
    }
}

/* Makes NaNs the least of all keys, or leaves them the largest, which stands for no element. */
static void settle_nans(struct wf_units *units, const struct keyed *job, size_t count) {
    int64_t *restrict key = units->word[0];
    const int64_t *restrict lost = units->lost;
    for (size_t i = 0; job->nans_win && i < count; i++) key[i] = (key[i] & ~lost[i]) | (INT64_MIN & lost[i]);
    units->any_lost = false;
}

/* Makes a block's elements words. */
static void split_block(struct wf_units *units, const struct keyed *job, struct keyed_block block) {
    if (job->parts == WF_PART_NONZERO)
        take_nonzero(units, job, block.x, block.count);
    else if (job->split_products)
        job->split_products(units, &job->grid[job->parts != WF_PART_DOT], block.x, block.y, block.count);
    else
        job->split(units, job->grid, job->parts, block.x, block.count);
}

static void take_bounded(struct keyed_table *table, const struct keyed *job, struct keyed_block block) {
    const struct wf_bounded_slots slots = {(double *)(void *)table->word, table->groups, job->copies,
                                           wf_key_table_slots(table) * job->words, job->joins_equal};
    job->cpu->tier->add_bounded[job->grouped->empty->type](&slots, &job->bounded, block.x, block.y, table->key, block.count);
}

/* Adds a block's elements to the slots of their keys; false if there are bad ones.  Which are lost is found out only
 * where some are. */
static bool take_block(struct keyed_table *table, const struct keyed *job, struct keyed_block block, int64_t position) {
    const unsigned char *x = block.x;
    const size_t count = block.count;
    struct wf_units *units = &table->units;
    if (job->are_bounded) {
        take_bounded(table, job, block);
        return true;
    }
    struct wf_slots slots = {table->word, table->groups - 1, job->words, job->copies,
                             wf_key_table_slots(table) * job->words, job->joins_equal};
    if (!job->add_to_slots) {
        split_block(units, job, block);
        if (job->settles_nans && units->any_lost) settle_nans(units, job, count);
        take_units(table, job, count, position);
        return true;
    }
    unsigned seen = job->add_to_slots(&slots, job->grid, job->parts & WF_PART_ABS, x, table->key, count);
    if (seen & WF_SEEN_BAD_KEY) {
        if (!replace_bad_keys(table, job, count)) return false;
        slots.last++;
        seen = job->add_to_slots(&slots, job->grid, job->parts & WF_PART_ABS, x, table->key, count);
    }
    units->any_minus_zero = seen & WF_SEEN_MINUS_ZERO;
    units->any_lost = seen & WF_SEEN_LOST;
    if (units->any_lost) split_block(units, job, block);
    return true;
}

static void carry_term(int64_t *word, const struct wf_grid *grid) {
    for (int k = grid->levels - 1; k > 0; k--) {
        int64_t carry = wf_keyed_carry(word[k], grid);
        word[k] -= carry * (INT64_C(1) << grid->distance);
        word[k - 1] += carry;
    }
}

void wf_key_table_carry(struct keyed_table *table, const struct keyed *job) {
    table->until_carry = job->carry_interval;
    if (job->carry_interval >= job->count || (job->grid[0].levels < 2 && job->grid[1].levels < 2)) return;
    for (size_t slot = 0; slot < job->copies * wf_key_table_slots(table); slot++) {
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

/* The keys of elements, where they lie if they are as the loops want them, or copied. */
static const int64_t *keys_at(struct keyed_table *table, const struct keyed *job, int64_t position, size_t count) {
    const wf_array *labels = job->grouped->groups->labels;
    const char *key = (const char *)labels->data + position * job->key_stride_bytes;
    bool lie_together = labels->type == WF_I64 && job->key_stride_bytes == sizeof(int64_t);
    bool is_aligned = (uintptr_t)key % sizeof(int64_t) == 0;
    if (lie_together && is_aligned && job->count - position >= (int64_t)count + WF_KEYS_AHEAD)
        return (const int64_t *)(const void *)key;
    wf_labels_read(labels, position, count, table->key_copy);
    return table->key_copy;
}

struct keyed_block wf_key_table_read(struct keyed_table *table, const struct keyed *job, int64_t position,
                                     int64_t limit) {
    unsigned char *buffer[2] = {table->copy[0], table->copy[1]};
    const unsigned char *data[2] = {NULL, NULL};
    if (limit > WF_UNITS_MAX) limit = WF_UNITS_MAX;
    size_t count = (size_t)wf_view_block(&job->view, position, limit, WF_UNITS_MAX, buffer, data, job->cpu->tier->copy_strided);
    table->key = keys_at(table, job, position, count);
    table->next_key = (const char *)job->grouped->groups->labels->data + (position + (int64_t)count) * job->key_stride_bytes;
    table->next_x = (const char *)job->view.data[0] + (position + (int64_t)count) * job->view.stride_bytes[0][0];
    return (struct keyed_block){data[0], data[1] ? data[1] : data[0], count};
}

/* Keeps the elements of the groups that the thread owns, and makes their keys slots; returns how many there are. */
static inline __attribute__((always_inline)) size_t select_elements(struct keyed_table *table, struct keyed_block block,
                                                                    size_t nbytes) {
    const bool are_pairs = block.y != block.x;
    const int64_t first = table->first_group;
    const uint64_t groups = (uint64_t)table->groups;
    size_t kept = 0;
    for (size_t i = 0; i < block.count; i++) {
        int64_t slot = (int64_t)((uint64_t)table->key[i] - (uint64_t)first);
        table->key_copy[kept] = slot;
        table->place[kept] = (int64_t)i;
        memcpy(table->own[0] + kept * nbytes, block.x + i * nbytes, nbytes);
        if (are_pairs) memcpy(table->own[1] + kept * nbytes, block.y + i * nbytes, nbytes);
        kept += (uint64_t)slot < groups;
    }
    memset(table->key_copy + kept, 0, WF_KEYS_AHEAD * sizeof *table->key); /* slots are prefetched from there */
    table->key = table->key_copy;
    return kept;
}

/* Leaves out what other threads own. */
static struct keyed_block select_own(struct keyed_table *table, const struct keyed *job, struct keyed_block block) {
    struct keyed_block own = {table->own[0], block.y != block.x ? table->own[1] : table->own[0], 0};
    if (!job->are_owned) return block;
    switch (job->view.nbytes) {
    case 4: own.count = select_elements(table, block, 4); break;
    case 8: own.count = select_elements(table, block, 8); break;
    default: own.count = select_elements(table, block, job->view.nbytes);
    }
    return own;
}

bool wf_key_table_add(struct keyed_table *table, const struct keyed *job, int64_t begin, int64_t end) {
    const bool checks_later = job->add_to_slots && !job->are_owned; /* as add_to_slots does */
    while (begin < end) {
        struct keyed_block block = wf_key_table_read(table, job, begin, end - begin);
        int64_t next = begin + (int64_t)block.count;
        bool any_bad = !checks_later && wf_has_bad_key(table->key, block.count, job->groups - 1);
        if (any_bad && !replace_bad_keys(table, job, block.count)) return false;
        block = select_own(table, job, block);
        if (block.count) {
            prefetch_slots(table, job, block.count);
            if (!take_block(table, job, block, begin)) return false;
            table->has_minus_zero |= table->units.any_minus_zero;
            if (table->units.any_lost && !set_aside(table, job, block.count, begin)) return false;
            if ((table->until_carry -= (int64_t)block.count) < WF_UNITS_MAX) wf_key_table_carry(table, job);
        }
        begin = next;
    }
    return true;
}
