#include "cuda/gathered.h"
#include "core/accumulator.h"

_Static_assert(2 * WF_GATHERED_PRODUCTS_DIGITS + 4 == WF_BIG_LIMBS, "the longest sum");

#define TOP_BIT (UINT64_C(1) << 63)

void wf_gathered_clear(struct wf_gathered *gathered) {
    memset(gathered, 0, sizeof *gathered);
    gathered->min_key = UINT64_MAX;
    gathered->min_index = gathered->max_index = gathered->first_nan = INT64_MAX;
    gathered->bits_and = UINT64_MAX;
    gathered->product_magnitude = 1;
}

static void join_digits(struct wf_exact *into, const unsigned long long *digits) {
    wf_exact_normalise(into);
    for (int i = 0; i < into->digit_count; i++) into->digit[i] = (int64_t)((uint64_t)into->digit[i] + digits[i]);
    wf_exact_normalise(into);
}

static void join_product(struct wf_product *into, const struct wf_gathered *from) {
    into->negative ^= (from->product_flags & WF_GATHERED_NEGATIVE) != 0;
    into->has_zero |= (from->product_flags & WF_GATHERED_ZERO) != 0;
    into->overflow |= (from->product_flags & WF_GATHERED_OVERFLOW) != 0;
    wf_product_scale(into, from->product_magnitude);
}

void wf_gathered_join(struct wf_accumulator *into, const struct wf_gathered *from) {
    unsigned parts = into->parts;
    struct wf_extreme min = {(int64_t)(from->min_key ^ TOP_BIT), (int64_t)from->min_index};
    struct wf_extreme max = {(int64_t)(from->max_key ^ TOP_BIT), (int64_t)from->max_index};
    if (parts & WF_PART_SUM) join_digits(&into->sum, from->sum);
    if (parts & WF_PART_ABS) join_digits(&into->abs, from->abs);
    if (parts & (WF_PART_SQUARES | WF_PART_DOT)) join_digits(&into->products, from->products);
    if (parts & WF_PART_PRODUCT && !into->uses_tree) join_product(&into->product, from);
    if (parts & WF_PART_MIN) wf_extreme_min(&into->min, min);
    if (parts & WF_PART_MAX) wf_extreme_max(&into->max, max);
    into->bits_and &= from->bits_and;
    into->bits_or |= from->bits_or;
    into->bits_xor ^= from->bits_xor;
    into->nonzero += (int64_t)from->nonzero;
    into->saw |= (unsigned)from->saw;
    into->nan_count += (int64_t)from->nan_count;
    if ((int64_t)from->first_nan < into->first_nan) into->first_nan = (int64_t)from->first_nan;
}
