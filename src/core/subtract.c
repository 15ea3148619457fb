#include "core/subtract.h"
#include "core/ops.h"
#include "core/possible.h"

#define REQUIRE(condition, why)                                                                              \
    if (!(condition)) return why

wf_error wf_subtract_check(wf_handle *handle, const struct wf_accumulator *acc) {
    const unsigned kept = WF_PART_SUM | WF_PART_ABS | WF_PART_SQUARES | WF_PART_DOT | WF_PART_NONZERO;
    if (acc->op == WF_XOR || !(acc->parts & ~kept)) return WF_OK;
    return wf_fail(handle, WF_ERROR_UNSUPPORTED, "an accumulator of %s cannot subtract: what it keeps of the elements "
                   "does not tell what the others had", wf_op_name(acc->op));
}

/* Both normalised. */
static void subtract_digits(struct wf_exact whole, struct wf_exact part) {
    for (int i = 0; i < whole.digit_count; i++)
        whole.digit[i] = (int64_t)((uint64_t)whole.digit[i] - (uint64_t)part.digit[i]);
    wf_exact_normalise(whole);
}

static void subtract_sums(struct wf_partial *whole, const struct wf_partial *part, wf_type type, unsigned parts) {
    if (parts & WF_PART_SUM) subtract_digits(wf_partial_sum(whole, type), wf_partial_sum(part, type));
    if (parts & WF_PART_ABS) subtract_digits(wf_partial_abs(whole, type), wf_partial_abs(part, type));
    if (parts & (WF_PART_SQUARES | WF_PART_DOT))
        subtract_digits(wf_partial_product_sum(whole, type), wf_partial_product_sum(part, type));
}

static const char *subtract_counts(struct wf_accumulator *whole, const struct wf_accumulator *part) {
    struct wf_partial *partial = &whole->partial;
    REQUIRE(part->count <= whole->count && part->partial.nan_count <= partial->nan_count &&
                part->partial.nonzero <= partial->nonzero,
            "it has more elements than are there");
    whole->count -= part->count;
    partial->nan_count -= part->partial.nan_count;
    partial->nonzero -= part->partial.nonzero;
    if (!partial->nan_count) partial->first_nan = INT64_MAX;
    return NULL;
}

/* Which flags were set is known, but not how often. */
static const char *subtract_flags(struct wf_accumulator *whole, const struct wf_accumulator *part) {
    const uint64_t infinities = WF_SPECIAL_POSITIVE_INFINITY | WF_SPECIAL_NEGATIVE_INFINITY | WF_SPECIAL_INVALID;
    uint64_t *flags = &whole->partial.special_seen;
    bool is_left = whole->count > (int64_t)whole->partial.nan_count;
    REQUIRE(!(part->partial.special_seen & ~*flags), "it has infinities or signs of zero that are not there");
    REQUIRE(!is_left || !(part->partial.special_seen & infinities),
            "it has an infinity, and whether another one remains is not known");
    if (!is_left) *flags = 0;
    return NULL;
}

const char *wf_subtract(struct wf_accumulator *whole, const struct wf_accumulator *part) {
    struct wf_accumulator taken = *part;
    const char *why = subtract_counts(whole, &taken);
    if (!why) why = subtract_flags(whole, &taken);
    if (why) return why;
    wf_partial_normalise(&whole->partial, whole->type, whole->parts);
    wf_partial_normalise(&taken.partial, taken.type, taken.parts);
    subtract_sums(&whole->partial, &taken.partial, whole->type, whole->parts);
    whole->blocks = 0;
    whole->partial.bits_xor ^= taken.partial.bits_xor;
    whole->xor_alone = whole->op == WF_XOR;
    if (whole->xor_alone) wf_accumulator_forget_bits(whole);
    return wf_result_flaw(whole);
}

/* Elements that are added twice, and gaps, leave the hull as it is: which indices are left is not known. */
void wf_subtract_indices(struct wf_accumulator *whole, const struct wf_accumulator *part) {
    int64_t length = whole->end_index - whole->first_index, taken = part->end_index - part->first_index;
    bool fits = length - taken == whole->count && part->count == taken;
    if (fits && part->end_index == whole->end_index)
        whole->end_index = part->first_index;
    else if (fits && part->first_index == whole->first_index)
        whole->first_index = part->end_index;
    if (whole->count <= 1) whole->end_index = whole->first_index + whole->count;
}
