#include "core/product.h"

void wf_product_clear(struct wf_product *product, int64_t start) {
    product->negative = product->has_zero = product->has_infinity = product->overflow = false;
    product->magnitude = 1;
    product->start = product->end = start;
    product->node_count = 0;
}

/* The level of the largest aligned block that begins at start and ends by end. */
static int block_level(int64_t start, int64_t end) {
    int fits = 63 - __builtin_clzll((uint64_t)(end - start));
    int aligned = start ? __builtin_ctzll((uint64_t)start) : 63;
    return fits < aligned ? fits : aligned;
}

int wf_product_levels(int64_t start, int64_t end, int32_t level[WF_PRODUCT_NODES_MAX]) {
    int count = 0;
    while (start < end) {
        level[count] = block_level(start, end);
        start += INT64_C(1) << level[count++];
    }
    return count;
}

void wf_product_append(struct wf_product *product, int level, struct wf_factor factor) {
    int count = product->node_count;
    int64_t block = product->end; /* where the node that grows begins */
    product->end += INT64_C(1) << level;
    while (count && product->level[count - 1] == level && block >> level & 1) {
        factor = wf_factor_multiply(product->node[--count], factor);
        block -= INT64_C(1) << level++;
    }
    product->level[count] = level;
    product->node[count] = factor;
    product->node_count = count + 1;
}

void wf_product_scale(struct wf_product *product, uint64_t magnitude) {
    if (__builtin_mul_overflow(product->magnitude, magnitude, &product->magnitude)) product->overflow = true;
    if (product->overflow) product->magnitude = UINT64_MAX;
}

static void append_all(struct wf_product *product, const struct wf_product *from) {
    for (int i = 0; i < from->node_count; i++) wf_product_append(product, from->level[i], from->node[i]);
}

static bool join_trees(struct wf_product *into, const struct wf_product *from) {
    if (from->start == from->end) return true;
    if (into->start == into->end) into->start = into->end = from->start;
    if (into->end == from->start) {
        append_all(into, from);
    } else if (from->end == into->start) {
        struct wf_product joined = *from;
        append_all(&joined, into);
        joined.negative = into->negative;
        joined.has_zero = into->has_zero;
        joined.has_infinity = into->has_infinity;
        joined.magnitude = into->magnitude;
        joined.overflow = into->overflow;
        *into = joined;
    } else {
        return false;
    }
    return true;
}

bool wf_product_join(struct wf_product *into, const struct wf_product *from) {
    if (!join_trees(into, from)) return false;
    into->negative ^= from->negative;
    into->has_zero |= from->has_zero;
    into->has_infinity |= from->has_infinity;
    into->overflow |= from->overflow;
    wf_product_scale(into, from->magnitude);
    return true;
}

/* Joins what has the same parent, level by level, up to the root; a missing sibling is an identity. */
static struct wf_factor tree_root(const struct wf_product *product) {
    struct wf_factor node[WF_PRODUCT_NODES_MAX];
    int32_t level[WF_PRODUCT_NODES_MAX];
    int64_t block[WF_PRODUCT_NODES_MAX]; /* number of the block among those of its level */
    int count = product->node_count;
    int64_t start = product->start;
    for (int i = 0; i < count; i++) {
        node[i] = product->node[i];
        level[i] = product->level[i];
        block[i] = start >> level[i];
        start += INT64_C(1) << level[i];
    }
    for (int height = 0; count > 1; height++) {
        int kept = 0;
        for (int i = 0; i < count; i++, kept++) {
            node[kept] = node[i];
            level[kept] = level[i];
            block[kept] = block[i];
            if (level[i] != height) continue;
            if (i + 1 < count && level[i + 1] == height && block[i] >> 1 == block[i + 1] >> 1)
                node[kept] = wf_factor_multiply(node[kept], node[++i]);
            level[kept]++;
            block[kept] >>= 1;
        }
        count = kept;
    }
    return count ? node[0] : wf_factor_one;
}

/* value / 2^-126 rounded down, and whether that lost anything; |value| <= 2. */
static wf_i128 to_fixed(double value, bool *inexact) {
    int exponent;
    double fraction = frexp(value, &exponent);
    wf_i128 significand = (int64_t)ldexp(fraction, 53);
    int shift = exponent - 53 + 126;
    if (shift >= 0) return (wf_i128)((wf_u128)significand << shift);
    if (shift < -120) shift = -120;
    wf_i128 kept = significand >> -shift;
    *inexact |= (wf_i128)((wf_u128)kept << -shift) != significand;
    return kept;
}

struct wf_number wf_product_of_tree(const struct wf_product *product) {
    struct wf_factor root = tree_root(product);
    bool inexact = false;
    wf_i128 fixed = to_fixed(root.hi, &inexact) + to_fixed(root.lo, &inexact);
    /* Beyond 2^20 the exponent decides alone: it overflows or vanishes in every type. */
    int64_t limit = 1 << 20;
    int64_t exponent = root.exponent > limit ? limit : root.exponent < -limit ? -limit : root.exponent;
    return wf_number_make(product->negative, (wf_u128)fixed, (int32_t)exponent - 126, inexact);
}
