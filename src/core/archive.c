#include "core/archive.h"
#include "core/possible.h"

/* A word of the partial's, at most limit, in nbytes bytes. */
static void transfer_word(struct wf_archive *archive, uint64_t *word, size_t nbytes, int64_t limit) {
    *word = (uint64_t)wf_archive_natural(archive, (int64_t)*word, nbytes, limit);
}

static int64_t transfer_i64(struct wf_archive *archive, int64_t value) {
    wf_archive_transfer(archive, (uint64_t *)&value, 8);
    return value;
}

/* ---- the parts of an accumulator ---- */

void wf_archive_settings(struct wf_archive *archive, struct wf_accumulator *acc) {
    acc->op = (wf_op)wf_archive_natural(archive, acc->op, 1, WF_OP_COUNT - 1);
    acc->type = (wf_type)wf_archive_natural(archive, acc->type, 1, WF_TYPE_COUNT - 1);
    acc->nan = (wf_nan)wf_archive_natural(archive, acc->nan, 1, WF_NAN_ERROR);
    acc->result_type = (wf_type)wf_archive_natural(archive, acc->result_type, 1, WF_TYPE_COUNT - 1);
    acc->ddof = wf_archive_natural(archive, acc->ddof, 8, INT64_MAX);
    if (!archive->reading) return;
    wf_archive_require(archive, wf_op_parts(acc->op) && wf_type_is_valid(acc->type));
    wf_archive_require(archive, acc->op == WF_STATS || wf_op_result_type(acc->op, acc->type));
    if (archive->failed) return;
    wf_reduction reduction = {.op = acc->op, .nan = acc->nan, .ddof = acc->ddof, .result_type = acc->result_type};
    wf_accumulator_init(acc, &reduction, acc->type, acc->tree);
}

void wf_archive_hull(struct wf_archive *archive, struct wf_accumulator *acc) {
    acc->first_index = wf_archive_natural(archive, acc->first_index, 8, INT64_MAX);
    acc->end_index = wf_archive_natural(archive, acc->end_index, 8, INT64_MAX);
    wf_archive_require(archive, acc->first_index <= acc->end_index);
    wf_archive_require(archive, (acc->count == 0) == (acc->first_index == acc->end_index));
}

void wf_archive_first_nan(struct wf_archive *archive, struct wf_accumulator *acc, const struct wf_accumulator *all) {
    struct wf_partial *partial = &acc->partial;
    transfer_word(archive, &partial->first_nan, 8, INT64_MAX);
    int64_t first_nan = (int64_t)partial->first_nan;
    wf_archive_require(archive, partial->nan_count ? all->first_index <= first_nan && first_nan < all->end_index
                                                   : first_nan == INT64_MAX);
}

void wf_archive_counts(struct wf_archive *archive, struct wf_accumulator *acc) {
    acc->count = wf_archive_natural(archive, acc->count, 8, INT64_MAX);
    transfer_word(archive, &acc->partial.nan_count, 8, wf_type_is_float(acc->type) ? acc->count : 0);
}

void wf_archive_elements(struct wf_archive *archive, struct wf_accumulator *acc) {
    wf_archive_counts(archive, acc);
    if (wf_accumulator_is_indexed(acc)) {
        wf_archive_hull(archive, acc);
        wf_archive_first_nan(archive, acc, acc);
    } else if (archive->reading) {
        acc->end_index = acc->count;
        if (acc->partial.nan_count) acc->partial.first_nan = 0;
    }
}

static void transfer_exact(struct wf_archive *archive, struct wf_exact x, bool is_signed) {
    int last = x.digit_count - 1;
    if (!archive->reading) wf_exact_normalise(x);
    for (int i = 0; i < last; i++) x.digit[i] = wf_archive_natural(archive, x.digit[i], 4, UINT32_MAX);
    /* The two highest digits are headroom: they hold only the sign. */
    bool negative = wf_archive_natural(archive, x.digit[last] < 0, 1, is_signed);
    if (!archive->reading) return;
    x.digit[last] = negative ? -1 : 0;
    wf_archive_require(archive, x.digit[last - 1] == (negative ? UINT32_MAX : 0));
}

static void transfer_extremum(struct wf_archive *archive, const struct wf_accumulator *acc, uint64_t *order,
                             uint64_t *index) {
    bool has_value = acc->count > (int64_t)acc->partial.nan_count;
    int64_t key = transfer_i64(archive, wf_order_to_key(*order));
    bool indexed = wf_accumulator_is_indexed(acc);
    *order = wf_key_to_order(key);
    if (indexed) transfer_word(archive, index, 8, INT64_MAX);
    if (!archive->reading || archive->failed) return;
    if (!has_value) return;
    wf_archive_require(archive, wf_key_is_possible(acc->type, key));
    if (indexed)
        wf_archive_require(archive, acc->first_index <= (int64_t)*index && (int64_t)*index < acc->end_index);
    else
        *index = 0;
}

static void transfer_f64(struct wf_archive *archive, double *value) {
    uint64_t bits;
    memcpy(&bits, value, sizeof bits);
    wf_archive_transfer(archive, &bits, 8);
    memcpy(value, &bits, sizeof bits);
}

static void transfer_tree(struct wf_archive *archive, const struct wf_accumulator *acc, struct wf_tree *tree) {
    if (archive->reading) {
        wf_archive_require(archive, acc->count == acc->end_index - acc->first_index);
        if (archive->failed) return;
        tree->start = acc->first_index;
        tree->end = acc->end_index;
        tree->node_count = wf_tree_levels(tree->start, tree->end, tree->level);
    }
    for (int i = 0; i < tree->node_count; i++) {
        struct wf_factor *node = &tree->node[i];
        transfer_f64(archive, &node->hi);
        transfer_f64(archive, &node->lo);
        node->exponent = transfer_i64(archive, node->exponent);
        wf_archive_require(archive, node->hi >= 1 && node->hi < 2 && node->hi + node->lo == node->hi);
        wf_archive_require(archive, node->exponent > -(INT64_C(1) << 62) && node->exponent < INT64_C(1) << 62);
    }
}

/* A flag in a byte of its own. */
static void transfer_flag(struct wf_archive *archive, uint64_t *flags, enum wf_product_flag flag) {
    bool is_set = wf_archive_natural(archive, (*flags & flag) != 0, 1, 1);
    *flags = is_set ? *flags | flag : *flags & ~(uint64_t)flag;
}

static void transfer_product(struct wf_archive *archive, struct wf_accumulator *acc) {
    uint64_t *flags = &acc->partial.product_flags, *magnitude = &acc->partial.product_magnitude;
    transfer_flag(archive, flags, WF_PRODUCT_NEGATIVE);
    transfer_flag(archive, flags, WF_PRODUCT_ZERO);
    if (acc->tree) {
        transfer_flag(archive, flags, WF_PRODUCT_INFINITY);
        transfer_tree(archive, acc, acc->tree);
    } else {
        transfer_flag(archive, flags, WF_PRODUCT_OVERFLOW);
        wf_archive_transfer(archive, magnitude, 8);
        wf_archive_require(archive, *magnitude != 0 && (!(*flags & WF_PRODUCT_OVERFLOW) || *magnitude == UINT64_MAX));
    }
}

void wf_archive_parts(struct wf_archive *archive, struct wf_accumulator *acc) {
    struct wf_partial *partial = &acc->partial;
    unsigned parts = acc->parts;
    if (wf_type_is_float(acc->type)) transfer_word(archive, &partial->special_seen, 1, 15);
    if (parts & WF_PART_SUM) transfer_exact(archive, wf_partial_sum(partial, acc->type), true);
    if (parts & WF_PART_ABS) transfer_exact(archive, wf_partial_abs(partial, acc->type), false);
    if (parts & (WF_PART_SQUARES | WF_PART_DOT))
        transfer_exact(archive, wf_partial_product_sum(partial, acc->type), parts & WF_PART_DOT);
    if (parts & WF_PART_MIN) transfer_extremum(archive, acc, &partial->min_key, &partial->min_index);
    if (parts & WF_PART_MAX) transfer_extremum(archive, acc, &partial->max_key, &partial->max_index);
    if (parts & WF_PART_NONZERO) transfer_word(archive, &partial->nonzero, 8, acc->count);
    if (parts & WF_PART_BITS) {
        if (!acc->xor_alone) {
            wf_archive_transfer(archive, &partial->bits_and, 8);
            wf_archive_transfer(archive, &partial->bits_or, 8);
        }
        wf_archive_transfer(archive, &partial->bits_xor, 8);
        if (acc->xor_alone && archive->reading) wf_accumulator_forget_bits(acc);
    }
    if (parts & WF_PART_PRODUCT) transfer_product(archive, acc);
}
