#include "core/shaped.h"
#include "core/environment.h"

#include <stdlib.h>

int64_t wf_shape_count(int32_t ndim, const int64_t *shape) {
    int64_t count = 1;
    bool is_empty = false, overflow = false;
    for (int32_t d = 0; d < ndim; d++) {
        if (shape[d] < 0) return -1;
        is_empty |= shape[d] == 0;
    }
    for (int32_t d = 0; d < ndim && !is_empty; d++) overflow |= __builtin_mul_overflow(count, shape[d], &count);
    return is_empty ? 0 : overflow ? -1 : count;
}

/* ---- packing: one description serves both directions, and tells how many words there are ---- */

struct packing {
    enum { MEASURE, PACK, UNPACK } direction;
    uint64_t *word; /* the next one */
    size_t count;   /* those before it */
};

static void carry(struct packing *packing, void *value, size_t count) {
    if (packing->direction == PACK) memcpy(packing->word, value, count * sizeof(uint64_t));
    if (packing->direction == UNPACK) memcpy(value, packing->word, count * sizeof(uint64_t));
    if (packing->direction != MEASURE) packing->word += count;
    packing->count += count;
}

static void carry_digits(struct packing *packing, struct wf_exact x) {
    carry(packing, x.digit, (size_t)x.digit_count);
}

static void carry_extremum(struct packing *packing, const struct wf_accumulator *acc, uint64_t *key, uint64_t *index) {
    carry(packing, key, 1);
    if (wf_accumulator_is_indexed(acc))
        carry(packing, index, 1);
    else if (packing->direction == UNPACK)
        *index = acc->count > (int64_t)acc->partial.nan_count ? 0 : INT64_MAX;
}

static void carry_nans(struct packing *packing, struct wf_accumulator *acc) {
    carry(packing, &acc->partial.nan_count, 1);
    if (wf_accumulator_is_indexed(acc))
        carry(packing, &acc->partial.first_nan, 1);
    else if (packing->direction == UNPACK)
        acc->partial.first_nan = acc->partial.nan_count ? 0 : INT64_MAX;
}

/* The exclusive or alone can be taken back: where it is the op, the others are not kept. */
static void carry_bits(struct packing *packing, struct wf_accumulator *acc) {
    struct wf_partial *partial = &acc->partial;
    carry(packing, &partial->bits_xor, 1);
    if (acc->xor_alone) return;
    carry(packing, &partial->bits_and, 1);
    carry(packing, &partial->bits_or, 1);
}

static void carry_tree(struct packing *packing, struct wf_accumulator *acc, int32_t capacity) {
    struct wf_tree *tree = acc->tree;
    const size_t words = sizeof *tree->node / sizeof(uint64_t);
    carry(packing, &tree->start, 1);
    if (packing->direction == UNPACK) {
        tree->end = tree->start + acc->count;
        tree->node_count = wf_tree_levels(tree->start, tree->end, tree->level);
        acc->first_index = tree->start;
        acc->end_index = tree->end;
    }
    if (packing->direction != MEASURE) carry(packing, tree->node, (size_t)tree->node_count * words);
    else packing->count += (size_t)capacity * words;
}

static void carry_product(struct packing *packing, struct wf_accumulator *acc, int32_t capacity) {
    carry(packing, &acc->partial.product_flags, 1);
    if (acc->tree)
        carry_tree(packing, acc, capacity);
    else
        carry(packing, &acc->partial.product_magnitude, 1);
}

static void carry_result(struct packing *packing, struct wf_accumulator *acc, int32_t capacity) {
    struct wf_partial *partial = &acc->partial;
    unsigned parts = acc->parts;
    carry(packing, &acc->count, 1);
    if (wf_type_is_float(acc->type)) {
        carry_nans(packing, acc);
        carry(packing, &partial->special_seen, 1);
    }
    if (parts & WF_PART_SUM) carry_digits(packing, wf_partial_sum(partial, acc->type));
    if (parts & WF_PART_ABS) carry_digits(packing, wf_partial_abs(partial, acc->type));
    if (parts & (WF_PART_SQUARES | WF_PART_DOT)) carry_digits(packing, wf_partial_product_sum(partial, acc->type));
    if (parts & WF_PART_MIN) carry_extremum(packing, acc, &partial->min_key, &partial->min_index);
    if (parts & WF_PART_MAX) carry_extremum(packing, acc, &partial->max_key, &partial->max_index);
    if (parts & WF_PART_NONZERO) carry(packing, &partial->nonzero, 1);
    if (parts & WF_PART_BITS) carry_bits(packing, acc);
    if (parts & WF_PART_PRODUCT) carry_product(packing, acc, capacity);
}

static size_t words_of(struct wf_accumulator *acc, int32_t node_capacity) {
    struct packing packing = {.direction = MEASURE};
    carry_result(&packing, acc, node_capacity);
    return packing.count;
}

static uint64_t *words_at(const struct wf_shaped *shaped, int64_t i) {
    return shaped->words + (size_t)i * shaped->result_words;
}

void wf_shaped_set(struct wf_shaped *shaped, int64_t i, struct wf_accumulator *acc) {
    struct packing packing = {.direction = PACK, .word = words_at(shaped, i)};
    carry_result(&packing, acc, shaped->node_capacity);
}

void wf_shaped_get(const struct wf_shaped *shaped, int64_t i, struct wf_accumulator *acc, struct wf_tree *tree) {
    struct packing packing = {.direction = UNPACK, .word = words_at(shaped, i)};
    const struct wf_accumulator *common = &shaped->common;
    wf_accumulator_init_like(acc, common, common->first_index, tree);
    if (!acc->tree) acc->end_index = common->end_index;
    if (*packing.word) carry_result(&packing, acc, shaped->node_capacity);
    if (acc->xor_alone) wf_accumulator_forget_bits(acc);
}

/* ---- memory ---- */

static wf_error fail_memory(wf_handle *handle, int64_t count) {
    return wf_fail(handle, WF_ERROR_MEMORY, "no memory for an accumulator of %lld results", (long long)count);
}

/* There is at least one word, since it may have no results. */
static size_t words_nbytes(int64_t count, size_t result_words) {
    size_t words, nbytes;
    if (__builtin_mul_overflow((uint64_t)count, result_words, &words)) return 0;
    return __builtin_mul_overflow(words + 1, sizeof(uint64_t), &nbytes) ? 0 : nbytes;
}

/* Zeroed words for all results; NULL without memory. */
static uint64_t *make_words(int64_t count, size_t result_words) {
    const size_t nbytes = words_nbytes(count, result_words);
    return nbytes ? calloc(1, nbytes) : NULL;
}

size_t wf_shaped_init(struct wf_shaped *shaped, const struct wf_accumulator *settings, int32_t ndim, const int64_t *shape,
                      int64_t count) {
    *shaped = (struct wf_shaped){.ndim = ndim, .count = count};
    wf_accumulator_init_like(&shaped->common, settings, settings->first_index, &shaped->tree);
    shaped->common.shaped = shaped;
    shaped->common.xor_alone = settings->op == WF_XOR;
    memcpy(shaped->shape, shape, (size_t)ndim * sizeof *shape);
    shaped->result_words = words_of(&shaped->common, 0);
    return words_nbytes(count, shaped->result_words);
}

struct wf_shaped *wf_shaped_make(wf_handle *handle, const struct wf_accumulator *settings, int32_t ndim,
                                 const int64_t *shape, int64_t count) {
    struct wf_shaped *made = calloc(1, sizeof *made);
    const size_t nbytes = made ? wf_shaped_init(made, settings, ndim, shape, count) : 0;
    if (nbytes) made->words = calloc(1, nbytes);
    if (made && made->words) return made;
    fail_memory(handle, count);
    free(made);
    return NULL;
}

void wf_shaped_destroy(struct wf_shaped *shaped) {
    if (shaped) free(shaped->words);
    free(shaped);
}

wf_error wf_shaped_reserve_nodes(wf_handle *handle, struct wf_shaped *shaped, int32_t nodes) {
    if (!shaped->common.tree || nodes <= shaped->node_capacity) return WF_OK;
    size_t old_words = shaped->result_words, result_words = words_of(&shaped->common, nodes);
    uint64_t *words = make_words(shaped->count, result_words);
    if (!words) return fail_memory(handle, shaped->count);
    for (int64_t i = 0; i < shaped->count; i++)
        if (*words_at(shaped, i)) memcpy(words + (size_t)i * result_words, words_at(shaped, i), old_words * sizeof *words);
    free(shaped->words);
    shaped->words = words;
    shaped->result_words = result_words;
    shaped->node_capacity = nodes;
    return WF_OK;
}

/* The most nodes that a range of at most that length has which begins at start, or anywhere. */
static int32_t nodes_of(int64_t start, int64_t length) {
    int32_t bits = length ? 64 - wf_leading_zeros_u64((uint64_t)length) : 0;
    return start ? 2 * bits : bits;
}

wf_error wf_shaped_reserve(wf_handle *handle, struct wf_shaped *shaped, int64_t count) {
    int32_t nodes = 0;
    if (!shaped->common.tree) return WF_OK;
    for (int64_t i = 0; i < shaped->count; i++) {
        const int64_t end = wf_shaped_tree_end(shaped, i), held = (int64_t)words_at(shaped, i)[0];
        int32_t needed = nodes_of(end - held, held + count);
        if (needed > nodes) nodes = needed;
    }
    return wf_shaped_reserve_nodes(handle, shaped, nodes);
}

/* ---- results ---- */

/* Trees multiply. */
static bool join_trees(struct wf_accumulator *into, const struct wf_accumulator *from) {
    wf_environment callers = wf_environment_enter();
    bool joined = wf_accumulator_join(into, from);
    wf_environment_leave(callers);
    return joined;
}

bool wf_shaped_join(struct wf_shaped *shaped, int64_t i, const struct wf_accumulator *acc) {
    struct wf_accumulator result;
    struct wf_tree tree;
    if (!acc->count) return true;
    wf_shaped_get(shaped, i, &result, &tree);
    bool joined = result.tree ? join_trees(&result, acc) : wf_accumulator_join(&result, acc);
    if (joined) wf_shaped_set(shaped, i, &result);
    return joined;
}

int64_t wf_shaped_tree_end(const struct wf_shaped *shaped, int64_t i) {
    struct wf_accumulator acc;
    struct wf_tree tree;
    wf_shaped_get(shaped, i, &acc, &tree);
    return acc.end_index;
}

int64_t wf_shaped_element_count(const struct wf_shaped *shaped) {
    int64_t sum = 0;
    for (int64_t i = 0; i < shaped->count; i++)
        if (__builtin_add_overflow(sum, (int64_t)words_at(shaped, i)[0], &sum)) return INT64_MAX;
    return sum;
}
