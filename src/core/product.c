#include "core/product.h"
#include "core/number.h"

void wf_tree_clear(struct wf_tree *tree, int64_t start) {
    tree->start = tree->end = start;
    tree->node_count = 0;
}

/* The level of the largest aligned block that begins at start and ends by end. */
static int block_level(int64_t start, int64_t end) {
    int fits = 63 - __builtin_clzll((uint64_t)(end - start));
    int aligned = start ? __builtin_ctzll((uint64_t)start) : 63;
    return fits < aligned ? fits : aligned;
}

int wf_tree_levels(int64_t start, int64_t end, int8_t level[WF_TREE_NODES_MAX]) {
    int count = 0;
    while (start < end) {
        level[count] = (int8_t)block_level(start, end);
        start += INT64_C(1) << level[count++];
    }
    return count;
}

void wf_tree_append(struct wf_tree *tree, int level, struct wf_factor factor) {
    int count = tree->node_count;
    int64_t block = tree->end; /* where the node that grows begins */
    tree->end += INT64_C(1) << level;
    while (count && tree->level[count - 1] == level && block >> level & 1) {
        factor = wf_factor_multiply(tree->node[--count], factor);
        block -= INT64_C(1) << level++;
    }
    tree->level[count] = (int8_t)level;
    tree->node[count] = factor;
    tree->node_count = count + 1;
}

static void append_all(struct wf_tree *tree, const struct wf_tree *from) {
    for (int i = 0; i < from->node_count; i++) wf_tree_append(tree, from->level[i], from->node[i]);
}

bool wf_tree_join(struct wf_tree *into, const struct wf_tree *from) {
    if (from->start == from->end) return true;
    if (into->start == into->end) wf_tree_clear(into, from->start);
    if (into->end == from->start) {
        append_all(into, from);
    } else if (from->end == into->start) {
        struct wf_tree joined = *from;
        append_all(&joined, into);
        *into = joined;
    } else {
        return false;
    }
    return true;
}

/* Joins what has the same parent, level by level, up to the root; a missing sibling is an identity. */
static struct wf_factor tree_root(const struct wf_tree *tree) {
    struct wf_factor node[WF_TREE_NODES_MAX];
    int8_t level[WF_TREE_NODES_MAX];
    int64_t block[WF_TREE_NODES_MAX]; /* number of the block among those of its level */
    int count = tree->node_count;
    int64_t start = tree->start;
    for (int i = 0; i < count; i++) {
        node[i] = tree->node[i];
        level[i] = tree->level[i];
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

struct wf_number wf_tree_number(const struct wf_tree *tree, bool negative) {
    return wf_factor_number(tree_root(tree), negative);
}
