/* Accumulators as words for collectives, and back: the public functions. */
#include "core/words.h"
#include "core/handle.h"
#include "core/ops.h"
#include "core/shaped.h"

static wf_error check_accumulator(wf_handle *handle, const wf_accumulator *accumulator) {
    if (!handle) return WF_ERROR_ARGUMENT;
    return accumulator ? WF_OK : wf_fail(handle, WF_ERROR_ARGUMENT, "the accumulator is NULL");
}

static wf_error check(wf_handle *handle, const wf_accumulator *accumulator) {
    const wf_error error = check_accumulator(handle, accumulator);
    if (error || !(accumulator->parts & WF_PART_PRODUCT)) return error;
    return wf_fail(handle, WF_ERROR_UNSUPPORTED, "prod has no words: products do not add up; merge accumulators instead "
                   "(wf_accumulator_save, wf_accumulator_merge), as wf_mpi_allreduce does");
}

/* ---- results: of one without a shape, all of it ---- */

static void pass_result(struct wf_words *words, const struct wf_shaped *shaped, int64_t i) {
    struct wf_accumulator acc;
    wf_shaped_get(shaped, i, &acc, NULL);
    wf_words_count(words, (uint64_t *)&acc.count);
    wf_words_parts(words, &acc);
}

/* What is not written to, unless words are taken into it. */
static struct wf_accumulator *as_source(const struct wf_accumulator *accumulator) {
    return (struct wf_accumulator *)(uintptr_t)accumulator;
}

/* In every direction but taking.  The results of a shape have as many words each. */
static void pass(struct wf_words *words, const struct wf_accumulator *accumulator) {
    const struct wf_shaped *shaped = accumulator->shaped;
    wf_words_elements(words, as_source(accumulator));
    if (!shaped) wf_words_parts(words, as_source(accumulator));
    for (int64_t i = 0; shaped && i < shaped->count; i++) pass_result(words, shaped, i);
}

/* FNV-1a (Fowler, Noll, Vo), of whole numbers instead of bytes. */
static uint64_t hash_settings(const struct wf_accumulator *acc) {
    const struct wf_shaped *shaped = acc->shaped;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    const int64_t settings[] = {acc->op, acc->type, acc->nan, acc->result_type, acc->ddof, shaped ? shaped->ndim : 0};
    const int count = sizeof settings / sizeof settings[0];
    for (int i = 0; i < count + settings[count - 1]; i++) {
        hash ^= (uint64_t)(i < count ? settings[i] : shaped->shape[i - count]);
        hash *= UINT64_C(0x100000001b3);
        hash ^= hash >> 29; /* a product moves nothing down */
    }
    return hash;
}

WF_HOT static wf_word_counts measure(const struct wf_accumulator *accumulator) {
    struct wf_words words = {.direction = WF_WORDS_MEASURE};
    if (accumulator->parts & WF_PART_PRODUCT) return (wf_word_counts){.settings = hash_settings(accumulator)};
    wf_words_elements(&words, as_source(accumulator));
    const wf_word_counts before = words.counts;
    const int64_t results = accumulator->shaped ? accumulator->shaped->count : 1;
    uint64_t count_of_result = 0;
    if (accumulator->shaped) wf_words_count(&words, &count_of_result);
    wf_words_parts(&words, as_source(accumulator));
    return (wf_word_counts){before.added + results * (words.counts.added - before.added),
                            before.largest + results * (words.counts.largest - before.largest),
                            before.indices + results * (words.counts.indices - before.indices), hash_settings(accumulator)};
}

/* ---- taking ---- */

/* Result i, of a shape; what is taken is checked before any is kept. */
static void take_result(struct wf_words *words, struct wf_shaped *shaped, const struct wf_accumulator *common, int64_t i,
                        bool keeps) {
    struct wf_accumulator acc;
    wf_accumulator_init_like(&acc, common, common->first_index, NULL);
    acc.end_index = common->end_index;
    wf_words_count(words, (uint64_t *)&acc.count);
    words->failed |= acc.count > common->count;
    wf_words_parts(words, &acc);
    if (keeps) wf_shaped_set(shaped, i, &acc);
}

static wf_error fail_taken(wf_handle *handle) {
    return wf_fail(handle, WF_ERROR_FORMAT,
                   "these are not the sums and largest words of accumulators of one reduction, type and shape");
}

WF_HOT static wf_error take(wf_handle *handle, struct wf_accumulator *accumulator, struct wf_words words, bool keeps) {
    struct wf_shaped *shaped = accumulator->shaped;
    struct wf_accumulator acc;
    wf_accumulator_init_like(&acc, accumulator, accumulator->first_index, NULL);
    if (!wf_words_elements(&words, &acc)) return wf_fail(handle, WF_ERROR_RANGE, "more than 2^63 - 1 elements");
    if (!shaped) wf_words_parts(&words, &acc);
    for (int64_t i = 0; shaped && i < shaped->count && !words.failed; i++)
        take_result(&words, shaped, &acc, i, keeps);
    if (words.failed) return fail_taken(handle);
    if (!keeps) return WF_OK;
    acc.shaped = shaped;
    wf_accumulator_copy(accumulator, &acc);
    return WF_OK;
}

/* ---- the public functions ---- */

WF_HOT wf_error wf_accumulator_word_counts(wf_handle *handle, const wf_accumulator *accumulator, wf_word_counts *counts) {
    wf_error error = check_accumulator(handle, accumulator);
    if (!error && !counts) error = wf_fail(handle, WF_ERROR_ARGUMENT, "the counts are NULL");
    if (!error) *counts = measure(accumulator);
    return error;
}

WF_HOT wf_error wf_accumulator_words(wf_handle *handle, const wf_accumulator *accumulator, int64_t *added, int64_t *largest) {
    wf_error error = check(handle, accumulator);
    if (error) return error;
    if (!added || (!largest && measure(accumulator).largest))
        return wf_fail(handle, WF_ERROR_ARGUMENT, "the words to be added, or those for the maximum, are NULL");
    struct wf_words words = {.direction = WF_WORDS_GIVE, .added = added, .largest = largest};
    pass(&words, accumulator);
    return WF_OK;
}

static wf_error fail_indices(wf_handle *handle) {
    return wf_fail(handle, WF_ERROR_ARGUMENT, "the largest words or the indices are NULL");
}

wf_error wf_accumulator_index_words(wf_handle *handle, const wf_accumulator *accumulator, const int64_t *largest,
                                    int64_t *indices) {
    wf_error error = check(handle, accumulator);
    if (error) return error;
    if (!measure(accumulator).indices) return WF_OK;
    if (!largest || !indices) return fail_indices(handle);
    struct wf_words words = {
        .direction = WF_WORDS_SETTLE, .largest = (int64_t *)(uintptr_t)largest, .indices = indices};
    pass(&words, accumulator);
    return WF_OK;
}

WF_HOT wf_error wf_accumulator_from_words(wf_handle *handle, wf_accumulator *accumulator, const int64_t *added,
                                   const int64_t *largest, const int64_t *indices) {
    wf_error error = check(handle, accumulator);
    if (error) return error;
    if (!added) return wf_fail(handle, WF_ERROR_ARGUMENT, "the words that were added are NULL");
    if (!largest || !indices) {
        const wf_word_counts counts = measure(accumulator);
        if ((!largest && counts.largest) || (!indices && counts.indices)) return fail_indices(handle);
    }
    const struct wf_words words = {.direction = WF_WORDS_TAKE,
                                   .added = (int64_t *)(uintptr_t)added,
                                   .largest = (int64_t *)(uintptr_t)largest,
                                   .indices = (int64_t *)(uintptr_t)indices};
    if (accumulator->shaped) error = take(handle, accumulator, words, false);
    return error ? error : take(handle, accumulator, words, true);
}

/* ---- moving indices ---- */

static void move(struct wf_accumulator *acc, int64_t by) {
    uint64_t *indices[] = {&acc->partial.min_index, &acc->partial.max_index, &acc->partial.first_nan};
    for (int i = 0; i < 3; i++)
        if (*indices[i] != INT64_MAX) *indices[i] += (uint64_t)by;
    acc->first_index += by;
    acc->end_index += by;
}

wf_error wf_accumulator_move(wf_handle *handle, wf_accumulator *accumulator, int64_t first_index) {
    const wf_error error = check_accumulator(handle, accumulator);
    if (error) return error;
    if (accumulator->tree)
        return wf_fail(handle, WF_ERROR_UNSUPPORTED, "the indices of %s cannot be moved: its result depends on them; "
                       "give each accumulator its first index when it is created", wf_op_name(accumulator->op));
    if (first_index < 0) return wf_fail(handle, WF_ERROR_ARGUMENT, "the first index is negative");
    if (accumulator->end_index - accumulator->first_index > INT64_MAX - first_index)
        return wf_fail(handle, WF_ERROR_RANGE, "an index exceeds 2^63 - 2");
    if (!wf_accumulator_is_indexed(accumulator)) return WF_OK;
    struct wf_shaped *shaped = accumulator->shaped;
    const int64_t by = first_index - accumulator->first_index;
    struct wf_accumulator result;
    for (int64_t i = 0; shaped && i < shaped->count; i++) {
        wf_shaped_get(shaped, i, &result, NULL);
        move(&result, by);
        if (result.count) wf_shaped_set(shaped, i, &result);
    }
    move(accumulator, by);
    return WF_OK;
}
