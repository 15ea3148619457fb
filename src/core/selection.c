#include "core/selection.h"

#include <stdlib.h>

enum { DIGITS = 1 << WF_DIGIT_BITS, FEW = 1 << 14 /* keys: sorting them is less work than counting digits */ };

void wf_selection_begin(struct wf_selection *selection, const struct wf_ordering *ordering, int64_t limit) {
    *selection = (struct wf_selection){.ordering = *ordering, .count = -1, .is_first = true};
    selection->counts = limit < 0 || limit > FEW;
    selection->keeps = limit < 0 || limit <= FEW;
    selection->kept_limit = limit < 0 ? WF_SELECTION_KEPT_MAX : limit;
}

static void free_pass(struct wf_selection *selection) {
    free(selection->range);
    free(selection->digits);
    free(selection->kept);
    selection->range = NULL;
    selection->digits = NULL;
    selection->kept = NULL;
}

void wf_selection_end(struct wf_selection *selection) {
    free_pass(selection);
    free(selection->target);
    selection->target = NULL;
}

/* ---- ranges ---- */

static uint64_t last_of(const struct wf_key_range *range) {
    return range->bits ? range->low + (UINT64_MAX >> (64 - range->bits)) : range->low;
}

/* The shift that leaves the digit by which the range's keys are counted. */
static int digit_shift(const struct wf_key_range *range) {
    return range->bits > WF_DIGIT_BITS ? range->bits - WF_DIGIT_BITS : 0;
}

static bool is_same(const struct wf_key_range *a, const struct wf_key_range *b) {
    return a->low == b->low && a->bits == b->bits;
}

bool wf_selection_is_open(const struct wf_selection *selection) {
    for (int64_t i = 0; i < selection->target_count; i++)
        if (selection->target[i].range.bits) return true;
    return false;
}

/* The open ranges, which rise as the targets do; *keys: how many they have. */
static int64_t list_open(const struct wf_selection *selection, struct wf_key_range *ranges, int64_t *keys) {
    int64_t count = 0;
    *keys = 0;
    for (int64_t i = 0; i < selection->target_count; i++) {
        const struct wf_key_range *range = &selection->target[i].range;
        if (!range->bits || (count && is_same(range, &ranges[count - 1]))) continue;
        ranges[count++] = *range;
        *keys += range->count;
    }
    return count;
}

static int64_t most_ranges(int thread_count) {
    int64_t most = WF_SELECTION_COUNTERS_MAX / thread_count;
    return most < 1 ? 1 : most < WF_SELECTION_RANGES_MAX ? most : WF_SELECTION_RANGES_MAX;
}

static wf_error choose_ranges(struct wf_selection *selection) {
    int64_t keys, most = selection->is_first ? 1 : selection->target_count;
    selection->range = malloc((size_t)(most ? most : 1) * sizeof *selection->range);
    if (!selection->range) return WF_ERROR_MEMORY;
    if (selection->is_first) {
        selection->range[0] = (struct wf_key_range){.bits = selection->ordering.width};
        selection->range_count = 1;
        return WF_OK;
    }
    selection->range_count = list_open(selection, selection->range, &keys);
    selection->keeps = keys <= WF_SELECTION_KEPT_MAX;
    selection->counts = !selection->keeps;
    selection->kept_limit = keys;
    int64_t counted = most_ranges(selection->thread_count);
    if (selection->counts && selection->range_count > counted) selection->range_count = counted;
    return WF_OK;
}

/* ---- a pass ---- */

wf_error wf_selection_begin_pass(struct wf_selection *selection, int thread_count) {
    free_pass(selection);
    selection->thread_count = thread_count;
    wf_error error = choose_ranges(selection);
    if (error) return error;
    atomic_store(&selection->kept_count, 0);
    if (selection->counts)
        selection->digits = calloc((size_t)thread_count * (size_t)selection->range_count * DIGITS, sizeof *selection->digits);
    if (selection->keeps) selection->kept = malloc((size_t)(selection->kept_limit + 1) * sizeof *selection->kept);
    bool has_memory = (!selection->counts || selection->digits) && (!selection->keeps || selection->kept);
    return has_memory ? WF_OK : WF_ERROR_MEMORY;
}

/* The range that has the key, or would have it if any has: the last that does not begin above it. */
static int64_t find_range(const struct wf_selection *selection, uint64_t key) {
    int64_t first = 0, count = selection->range_count;
    while (count > 1) {
        int64_t half = count / 2;
        first += selection->range[first + half].low <= key ? half : 0;
        count -= half;
    }
    return first;
}

static void count_keys(struct wf_selection *selection, int thread, const uint64_t *keys, int64_t count) {
    int64_t *digits = selection->digits + (size_t)thread * (size_t)selection->range_count * DIGITS;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = find_range(selection, keys[i]);
        const struct wf_key_range *range = &selection->range[at];
        if (keys[i] < range->low || keys[i] > last_of(range)) continue;
        digits[at * DIGITS + (int64_t)((keys[i] - range->low) >> digit_shift(range))]++;
    }
}

/* The same for one range, by far the most frequent case. */
static void count_keys_of_one(struct wf_selection *selection, int thread, const uint64_t *keys, int64_t count) {
    const struct wf_key_range range = selection->range[0];
    uint64_t span = last_of(&range) - range.low;
    int shift = digit_shift(&range);
    int64_t *digits = selection->digits + (size_t)thread * DIGITS;
    for (int64_t i = 0; i < count; i++)
        if (keys[i] - range.low <= span) digits[(keys[i] - range.low) >> shift]++;
}

static void keep_keys(struct wf_selection *selection, const uint64_t *keys, int64_t count) {
    enum { BLOCK = 256 };
    uint64_t own[BLOCK];
    for (int64_t i = 0; i < count;) {
        int64_t kept = 0, end = count - i < BLOCK ? count : i + BLOCK;
        for (; i < end; i++) {
            const struct wf_key_range *range = &selection->range[find_range(selection, keys[i])];
            own[kept] = keys[i];
            kept += keys[i] >= range->low && keys[i] <= last_of(range);
        }
        int64_t at = atomic_fetch_add(&selection->kept_count, kept);
        if (at + kept <= selection->kept_limit) memcpy(selection->kept + at, own, (size_t)kept * sizeof *own);
    }
}

void wf_selection_add(struct wf_selection *selection, int thread, const uint64_t *keys, int64_t count) {
    bool keeps = selection->keeps && atomic_load_explicit(&selection->kept_count, memory_order_relaxed) <= selection->kept_limit;
    if (keeps) keep_keys(selection, keys, count);
    if (selection->counts) (selection->range_count == 1 ? count_keys_of_one : count_keys)(selection, thread, keys, count);
}

/* ---- what a pass has found ---- */

static void add_up_threads(struct wf_selection *selection) {
    size_t length = (size_t)selection->range_count * DIGITS;
    for (int t = 1; t < selection->thread_count; t++)
        for (size_t i = 0; i < length; i++) selection->digits[i] += selection->digits[(size_t)t * length + i];
}

static int64_t sum_digits(const int64_t *digits) {
    int64_t sum = 0;
    for (int d = 0; d < DIGITS; d++) sum += digits[d];
    return sum;
}

/* Moves the target into the part of the range that has it. */
static void narrow(struct wf_target *target, const struct wf_key_range *range, const int64_t *digits) {
    int shift = digit_shift(range);
    int64_t before = range->before;
    int d = 0;
    for (; target->position >= before + digits[d]; d++) before += digits[d];
    target->range = (struct wf_key_range){range->low + ((uint64_t)d << shift), shift, before, digits[d]};
}

static wf_error narrow_targets(struct wf_selection *selection) {
    for (int64_t r = 0; r < selection->range_count; r++)
        if (sum_digits(selection->digits + r * DIGITS) != selection->range[r].count) return WF_ERROR_IO;
    for (int64_t i = 0, r = 0; i < selection->target_count; i++) {
        struct wf_target *target = &selection->target[i];
        if (!target->range.bits) continue;
        while (r < selection->range_count && !is_same(&target->range, &selection->range[r])) r++;
        if (r == selection->range_count) break; /* left to a later pass */
        narrow(target, &selection->range[r], selection->digits + r * DIGITS);
    }
    return WF_OK;
}

/* What was kept, sorted. */
static wf_error sort_kept(struct wf_selection *selection, int64_t count) {
    uint64_t *scratch = malloc((size_t)(count + 1) * sizeof *scratch);
    if (!scratch) return WF_ERROR_MEMORY;
    wf_ordered_sort(selection->kept, scratch, count);
    free(scratch);
    return WF_OK;
}

/* Ranges rise, and so do the keys that were kept of them. */
static wf_error take_kept(struct wf_selection *selection) {
    int64_t kept = atomic_load(&selection->kept_count), begin = 0;
    if (kept != selection->kept_limit) return WF_ERROR_IO;
    wf_error error = sort_kept(selection, kept);
    for (int64_t i = 0, r = 0; !error && i < selection->target_count; i++) {
        struct wf_target *target = &selection->target[i];
        if (!target->range.bits) continue;
        while (!is_same(&target->range, &selection->range[r])) begin += selection->range[r++].count;
        target->range.low = selection->kept[begin + target->position - target->range.before];
        target->range.bits = 0;
    }
    return error;
}

/* The first pass ends before there are targets. */
static wf_error end_first(struct wf_selection *selection) {
    int64_t kept = atomic_load(&selection->kept_count);
    bool has_all = selection->keeps && kept <= selection->kept_limit;
    selection->count = has_all ? kept : sum_digits(selection->digits);
    selection->range[0].count = selection->count;
    selection->keeps = has_all;
    return has_all ? sort_kept(selection, kept) : WF_OK;
}

wf_error wf_selection_end_pass(struct wf_selection *selection) {
    if (selection->counts) add_up_threads(selection);
    if (selection->is_first) return end_first(selection);
    return selection->counts ? narrow_targets(selection) : take_kept(selection);
}

wf_error wf_selection_aim(struct wf_selection *selection, const int64_t *positions, int64_t count) {
    selection->target = malloc((size_t)(count + 1) * sizeof *selection->target);
    if (!selection->target) return WF_ERROR_MEMORY;
    selection->target_count = count;
    for (int64_t i = 0; i < count; i++) {
        struct wf_target *target = &selection->target[i];
        *target = (struct wf_target){positions[i], {.bits = selection->ordering.width, .count = selection->count}};
        if (selection->keeps)
            target->range = (struct wf_key_range){.low = selection->kept[positions[i]]};
    }
    selection->is_first = false;
    return selection->keeps ? WF_OK : narrow_targets(selection);
}
