/* Words of accumulators and back.  The kernels include this file (core/portable.h). */
#include "core/words.h"
#include "core/possible.h"

/* ---- single words: each is given, or taken, or only counted ---- */

static void pass_added(struct wf_words *words, int64_t *value) {
    if (words->direction == WF_WORDS_GIVE) *words->added++ = *value;
    if (words->direction == WF_WORDS_TAKE) *value = *words->added++;
    words->counts.added++;
}

static void pass_largest(struct wf_words *words, int64_t *value) {
    if (words->direction == WF_WORDS_GIVE) *words->largest++ = *value;
    if (words->direction >= WF_WORDS_SETTLE) *value = *words->largest++;
    words->counts.largest++;
}

/* The smallest of numbers from 0 on is the complement of the largest complement; of none it is INT64_MAX. */
static void pass_smallest(struct wf_words *words, uint64_t *value) {
    int64_t complement = ~(int64_t)*value;
    pass_largest(words, &complement);
    if (words->direction == WF_WORDS_TAKE) *value = (uint64_t)~complement;
}

static void require(struct wf_words *words, bool condition) {
    if (words->direction == WF_WORDS_TAKE && !condition) words->failed = true;
}

WF_HOT void wf_words_count(struct wf_words *words, uint64_t *count) {
    int64_t low = (uint32_t)*count, high = (int64_t)(*count >> 32);
    pass_added(words, &low);
    pass_added(words, &high);
    if (words->direction != WF_WORDS_TAKE) return;
    bool fits = low >= 0 && high >= 0 && high + (low >> 32) <= INT32_MAX;
    require(words, fits);
    *count = fits ? (uint64_t)(high + (low >> 32)) << 32 | (uint32_t)low : 0;
}

/* A flag: how many ranks have it. */
static uint64_t count_flag(struct wf_words *words, bool is_set) {
    int64_t ranks = is_set;
    pass_added(words, &ranks);
    require(words, ranks >= 0);
    return (uint64_t)ranks;
}

/* ---- elements ---- */

/* The first index of an accumulator without elements counts only if no rank has any. */
static void pass_hull(struct wf_words *words, struct wf_accumulator *acc) {
    bool is_empty = acc->first_index == acc->end_index;
    uint64_t first = is_empty ? INT64_MAX : (uint64_t)acc->first_index, first_of_any = (uint64_t)acc->first_index;
    int64_t end = is_empty ? INT64_MIN : acc->end_index;
    pass_smallest(words, &first);
    pass_largest(words, &end);
    pass_smallest(words, &first_of_any);
    if (words->direction != WF_WORDS_TAKE) return;
    acc->first_index = (int64_t)(acc->count ? first : first_of_any);
    acc->end_index = acc->count ? end : acc->first_index;
    require(words, acc->first_index >= 0 && (acc->first_index < acc->end_index) == (acc->count > 0));
}

WF_HOT bool wf_words_elements(struct wf_words *words, struct wf_accumulator *acc) {
    uint64_t count = (uint64_t)acc->count;
    wf_words_count(words, &count);
    if (words->direction == WF_WORDS_TAKE) acc->count = (int64_t)count;
    bool fits = !words->failed;
    if (wf_accumulator_is_indexed(acc)) {
        pass_hull(words, acc);
    } else if (words->direction == WF_WORDS_TAKE) { /* the indices belong to no element */
        acc->first_index = 0;
        acc->end_index = acc->count;
    }
    return fits;
}

/* ---- parts ---- */

static bool is_inside(const struct wf_accumulator *acc, uint64_t index) {
    return (uint64_t)acc->first_index <= index && index < (uint64_t)acc->end_index;
}

static void pass_nans(struct wf_words *words, struct wf_accumulator *acc) {
    struct wf_partial *partial = &acc->partial;
    wf_words_count(words, &partial->nan_count);
    require(words, partial->nan_count <= (uint64_t)acc->count);
    if (wf_accumulator_is_indexed(acc))
        pass_smallest(words, &partial->first_nan);
    else if (words->direction == WF_WORDS_TAKE)
        partial->first_nan = partial->nan_count ? 0 : INT64_MAX;
    if (wf_accumulator_is_indexed(acc))
        require(words, partial->nan_count ? is_inside(acc, partial->first_nan) : partial->first_nan == INT64_MAX);
}

static void pass_specials(struct wf_words *words, uint64_t *flags) {
    for (uint64_t flag = 1; flag <= WF_SPECIAL_NOT_ALL_NEGATIVE_ZERO; flag <<= 1)
        if (count_flag(words, *flags & flag) && words->direction == WF_WORDS_TAKE) *flags |= flag;
}

/* ---- digits ---- */

static const int64_t HALF = INT64_C(1) << 31;

/* Whether these can be digits' sums of 2^31 ranks: -2^62 <= d < 2^62, so that d + 2^62 has no bit from 2^63 on. */
static bool are_sums_of_digits(const int64_t *digit, int count) {
    uint64_t bits = 0;
    for (int i = 0; i < count; i++) bits |= (uint64_t)digit[i] + (UINT64_C(1) << 62);
    return bits >> 63 == 0;
}

/* Gives digits -2^31 <= d < 2^31, by which small numbers of either sign have zeros above them.  Returns the carry.  No
 * overflow: digits have more than a bit to spare. */
static int64_t balance(const int64_t *digit, int count, int64_t carry, int64_t *balanced) {
    if (!carry && wf_digits_are_zero(digit, count)) { /* most are */
        if (balanced) memset(balanced, 0, (size_t)count * sizeof *balanced);
        return 0;
    }
    for (int i = 0; i < count; i++) {
        const int64_t sum = digit[i] + carry + HALF;
        if (balanced) balanced[i] = (int64_t)(uint32_t)sum - HALF;
        carry = sum >> 32;
    }
    return carry;
}

/* carry: of the digits below, left at that of these.  The last digit has the sign, and is not balanced. */
static void give_range(struct wf_words *words, const struct wf_exact *x, int begin, int end, int64_t *carry) {
    const bool has_last = end == x->digit_count;
    const int count = end - begin - has_last;
    *carry = balance(x->digit + begin, count, *carry, words->added);
    if (has_last) words->added[count] = (int64_t)((uint64_t)x->digit[end - 1] + (uint64_t)*carry);
}

WF_HOT static void pass_range(struct wf_words *words, const struct wf_exact *x, int begin, int end, int64_t *carry) {
    const int count = end - begin;
    words->counts.added += count;
    if (words->direction == WF_WORDS_GIVE && count) give_range(words, x, begin, end, carry);
    if (words->direction == WF_WORDS_TAKE) {
        require(words, are_sums_of_digits(words->added, count));
        memcpy(x->digit + begin, words->added, (size_t)count * sizeof *x->digit);
    }
    if (words->added) words->added += count;
}

/* How many digits of each sum, around the digit of 1, come first: usual numbers have no others. */
static int inner_count(const struct wf_exact *x, int sum_count) {
    const int most = 18 / sum_count;
    return x->digit_count < most ? x->digit_count : most;
}

/* What is near 1 has most of its digits below it. */
static int inner_begin(const struct wf_exact *x, int count) {
    const int begin = -x->low_exponent / 32 - count / 2 - 2, last = x->digit_count - count;
    return begin < 0 ? 0 : begin < last ? begin : last;
}

/* carry: left at that of the inner digits, for the outer ones. */
static void pass_inner(struct wf_words *words, const struct wf_exact *x, int sum_count, int64_t *carry) {
    const int count = inner_count(x, sum_count), begin = inner_begin(x, count);
    if (words->direction == WF_WORDS_GIVE) *carry = balance(x->digit, begin, 0, NULL);
    pass_range(words, x, begin, begin + count, carry);
}

static void pass_outer(struct wf_words *words, const struct wf_exact *x, int sum_count, int64_t *carry) {
    const int count = inner_count(x, sum_count), begin = inner_begin(x, count);
    int64_t none = 0;
    pass_range(words, x, begin + count, x->digit_count, carry);
    pass_range(words, x, 0, begin, &none);
}

/* The two highest digits are headroom: they hold only the sign. */
static void settle_digits(struct wf_words *words, struct wf_exact x, int sum_count) {
    const int begin = inner_begin(&x, inner_count(&x, sum_count)), last = x.digit_count - 1;
    if (words->failed) return;
    const int first = wf_digits_are_zero(x.digit, begin) ? begin : 0;
    struct wf_exact upper = {x.digit + first, 0, x.digit_count - first};
    wf_exact_normalise(upper);
    require(words, x.digit[last] == 0 ? x.digit[last - 1] == 0 : x.digit[last] == -1 && x.digit[last - 1] == UINT32_MAX);
}

/* The sums of a partial; returns how many. */
static int sums_of(const struct wf_accumulator *acc, struct wf_exact sums[3]) {
    const struct wf_partial *partial = &acc->partial;
    int count = 0;
    if (acc->parts & WF_PART_SUM) sums[count++] = wf_partial_sum(partial, acc->type);
    if (acc->parts & WF_PART_ABS) sums[count++] = wf_partial_abs(partial, acc->type);
    if (acc->parts & (WF_PART_SQUARES | WF_PART_DOT)) sums[count++] = wf_partial_product_sum(partial, acc->type);
    return count;
}

/* Whose the extreme is can be asked only when it is known. */
static void pass_index(struct wf_words *words, bool is_theirs, uint64_t *index) {
    if (words->direction == WF_WORDS_SETTLE) *words->indices++ = is_theirs ? ~(int64_t)*index : INT64_MIN;
    if (words->direction == WF_WORDS_TAKE) *index = (uint64_t)~*words->indices++;
    words->counts.indices++;
}

/* The largest key is taken; a minimum passes the complements of its keys. */
static void pass_extremum(struct wf_words *words, struct wf_accumulator *acc, bool is_min, uint64_t *order,
                         uint64_t *index) {
    bool has_value = acc->count > (int64_t)acc->partial.nan_count;
    const int64_t own = is_min ? ~wf_order_to_key(*order) : wf_order_to_key(*order);
    int64_t key = own;
    pass_largest(words, &key);
    if (wf_accumulator_is_indexed(acc))
        pass_index(words, key == own, index);
    else if (words->direction == WF_WORDS_TAKE)
        *index = has_value ? 0 : INT64_MAX;
    if (words->direction != WF_WORDS_TAKE) return;
    key = is_min ? ~key : key;
    *order = wf_key_to_order(key);
    require(words, has_value ? wf_key_is_possible(acc->type, key) : *order == (is_min ? UINT64_MAX : 0));
    require(words, !wf_accumulator_is_indexed(acc) || (has_value ? is_inside(acc, *index) : *index == INT64_MAX));
}

void wf_accumulator_forget_bits(struct wf_accumulator *acc) {
    struct wf_partial *partial = &acc->partial;
    partial->bits_or = partial->bits_xor;
    partial->bits_and = acc->count == 0 ? UINT64_MAX : acc->count == 1 ? partial->bits_xor : 0;
}

/* For each bit of the type: is it in all, in any, in an odd number of elements?  Higher bits are 0 in all elements. */
static void pass_bits(struct wf_words *words, struct wf_accumulator *acc) {
    struct wf_partial *partial = &acc->partial;
    bool takes = words->direction == WF_WORDS_TAKE;
    uint64_t zeros = 0, ones = 0, odd = 0;
    for (int bit = 0; bit < 8 * wf_type_table[acc->type].nbytes; bit++) {
        zeros |= (uint64_t)(count_flag(words, ~partial->bits_and >> bit & 1) > 0) << bit;
        ones |= (uint64_t)(count_flag(words, partial->bits_or >> bit & 1) > 0) << bit;
        odd |= (count_flag(words, partial->bits_xor >> bit & 1) & 1) << bit;
    }
    if (acc->op == WF_XOR) {
        bool alone = count_flag(words, acc->xor_alone) > 0;
        if (takes) acc->xor_alone = alone;
    }
    if (!takes) return;
    uint64_t mask = UINT64_MAX >> (64 - 8 * wf_type_table[acc->type].nbytes);
    partial->bits_and = acc->count ? ~zeros & mask : UINT64_MAX;
    partial->bits_or = ones;
    partial->bits_xor = odd;
    if (acc->xor_alone) wf_accumulator_forget_bits(acc);
}

WF_HOT void wf_words_parts(struct wf_words *words, struct wf_accumulator *acc) {
    struct wf_partial *partial = &acc->partial;
    unsigned parts = acc->parts;
    struct wf_exact sums[3];
    int64_t carry[3] = {0};
    const int sum_count = sums_of(acc, sums);
    if (wf_type_is_float(acc->type)) {
        pass_nans(words, acc);
        pass_specials(words, &partial->special_seen);
    }
    for (int i = 0; i < sum_count; i++) pass_inner(words, &sums[i], sum_count, &carry[i]);
    if (parts & WF_PART_MIN) pass_extremum(words, acc, true, &partial->min_key, &partial->min_index);
    if (parts & WF_PART_MAX) pass_extremum(words, acc, false, &partial->max_key, &partial->max_index);
    if (parts & WF_PART_NONZERO) wf_words_count(words, &partial->nonzero);
    if (parts & WF_PART_BITS) pass_bits(words, acc);
    for (int i = 0; i < sum_count; i++) pass_outer(words, &sums[i], sum_count, &carry[i]);
    for (int i = 0; i < sum_count && words->direction == WF_WORDS_TAKE; i++) settle_digits(words, sums[i], sum_count);
    acc->blocks = 0;
    if (words->direction == WF_WORDS_TAKE && !words->failed) require(words, !wf_result_flaw(acc));
}
