#include "core/partial.h"

#include <stddef.h>

_Static_assert(WF_SUM_DIGITS < WF_PRODUCT_SUM_DIGITS && WF_PRODUCT_SUM_DIGITS == WF_EXACT_DIGITS_MAX,
               "the longest sum");

static void clear_words(struct wf_partial *partial) {
    partial->min_key = UINT64_MAX;
    partial->max_key = 0;
    partial->min_index = partial->max_index = INT64_MAX;
    partial->nonzero = 0;
    partial->bits_and = UINT64_MAX;
    partial->bits_or = partial->bits_xor = 0;
    partial->nan_count = 0;
    partial->first_nan = INT64_MAX;
    partial->special_seen = 0;
    partial->product_magnitude = 1;
    partial->product_flags = 0;
}

static void clear_digits(struct wf_exact sum) {
    memset(sum.digit, 0, (size_t)sum.digit_count * sizeof sum.digit[0]);
}

WF_HOT void wf_partial_clear(struct wf_partial *partial, wf_type type, unsigned parts) {
    clear_words(partial);
    if (parts & WF_PART_SUM) clear_digits(wf_partial_sum(partial, type));
    if (parts & WF_PART_ABS) clear_digits(wf_partial_abs(partial, type));
    if (parts & (WF_PART_SQUARES | WF_PART_DOT)) clear_digits(wf_partial_product_sum(partial, type));
}

static void copy_digits(struct wf_exact into, struct wf_exact from) {
    memcpy(into.digit, from.digit, (size_t)into.digit_count * sizeof into.digit[0]);
}

WF_HOT void wf_partial_copy(struct wf_partial *into, const struct wf_partial *from, wf_type type, unsigned parts) {
    const size_t words = offsetof(struct wf_partial, min_key);
    memcpy((char *)into + words, (const char *)from + words, sizeof *into - words);
    if (parts & WF_PART_SUM) copy_digits(wf_partial_sum(into, type), wf_partial_sum(from, type));
    if (parts & WF_PART_ABS) copy_digits(wf_partial_abs(into, type), wf_partial_abs(from, type));
    if (parts & (WF_PART_SQUARES | WF_PART_DOT))
        copy_digits(wf_partial_product_sum(into, type), wf_partial_product_sum(from, type));
}

void wf_partial_clear_all(struct wf_partial *partial) {
    memset(partial, 0, sizeof *partial);
    clear_words(partial);
}

void wf_partial_normalise(struct wf_partial *partial, wf_type type, unsigned parts) {
    if (parts & WF_PART_SUM) wf_exact_normalise(wf_partial_sum(partial, type));
    if (parts & WF_PART_ABS) wf_exact_normalise(wf_partial_abs(partial, type));
    if (parts & (WF_PART_SQUARES | WF_PART_DOT)) wf_exact_normalise(wf_partial_product_sum(partial, type));
}

static void merge_sums(struct wf_partial *into, const struct wf_partial *from, wf_type type, unsigned parts) {
    if (parts & WF_PART_SUM) wf_exact_add(wf_partial_sum(into, type), wf_partial_sum(from, type));
    if (parts & WF_PART_ABS) wf_exact_add(wf_partial_abs(into, type), wf_partial_abs(from, type));
    if (parts & (WF_PART_SQUARES | WF_PART_DOT))
        wf_exact_add(wf_partial_product_sum(into, type), wf_partial_product_sum(from, type));
}

static void merge_extrema(struct wf_partial *into, const struct wf_partial *from) {
    if (from->min_key < into->min_key || (from->min_key == into->min_key && from->min_index < into->min_index)) {
        into->min_key = from->min_key;
        into->min_index = from->min_index;
    }
    if (from->max_key > into->max_key || (from->max_key == into->max_key && from->max_index < into->max_index)) {
        into->max_key = from->max_key;
        into->max_index = from->max_index;
    }
}

void wf_partial_multiply(struct wf_partial *partial, uint64_t magnitude) {
    unsigned long long product;
    bool overflows = __builtin_mul_overflow(partial->product_magnitude, magnitude, &product);
    if (overflows) partial->product_flags |= WF_PRODUCT_OVERFLOW;
    partial->product_magnitude = partial->product_flags & WF_PRODUCT_OVERFLOW ? UINT64_MAX : product;
}

static void merge_product(struct wf_partial *into, const struct wf_partial *from) {
    into->product_flags ^= from->product_flags & WF_PRODUCT_NEGATIVE;
    into->product_flags |= from->product_flags & ~(uint64_t)WF_PRODUCT_NEGATIVE;
    wf_partial_multiply(into, from->product_magnitude);
}

void wf_partial_merge(struct wf_partial *into, const struct wf_partial *from, wf_type type, unsigned parts) {
    merge_sums(into, from, type, parts);
    merge_extrema(into, from);
    into->nonzero += from->nonzero;
    into->bits_and &= from->bits_and;
    into->bits_or |= from->bits_or;
    into->bits_xor ^= from->bits_xor;
    into->nan_count += from->nan_count;
    if (from->first_nan < into->first_nan) into->first_nan = from->first_nan;
    into->special_seen |= from->special_seen;
    merge_product(into, from);
}
