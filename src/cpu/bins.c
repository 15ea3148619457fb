#include "cpu/bins.h"

void wf_bins_use(struct wf_bins *bins, struct wf_bins_format format) {
    if (bins->format.words) return;
    size_t words = (size_t)(format.sets * format.signs * format.count * format.words);
    memset(bins->word, 0, words * sizeof bins->word[0]);
    bins->format = format;
    bins->taken = bins->unseen = 0;
}

/* Bin k of one sign, over all sets. */
static inline wf_i128 sum_of_sets(const uint64_t *word, struct wf_bins_format format, int k) {
    const size_t per_set = (size_t)(format.signs * format.count * format.words);
    wf_u128 sum = 0;
    word += k * format.words;
    for (int set = 0; set < format.sets; set++, word += per_set)
        sum += word[0] + (format.words == 2 ? (wf_u128)word[1] << 64 : 0);
    return (wf_i128)sum;
}

/* Adds up bins from the lowest on, the negative ones times `sign`: what is complete goes to the digits, the rest is
 * carried on. */
static inline __attribute__((always_inline)) void flush_as(struct wf_bins_format format, const struct wf_exact *into,
                                                           const uint64_t *word, int sign) {
    const int step = 1 << format.step_log2, per_digit = 32 / step;
    const uint64_t *negative = word + format.count * format.words;
    wf_i128 carry = 0;
    for (int k = 0; k < format.count; k += per_digit) {
        uint64_t digit = 0;
        for (int j = 0; j < per_digit; j++) {
            carry += sum_of_sets(word, format, k + j);
            if (format.signs == 2) carry += sign * sum_of_sets(negative, format, k + j);
            digit |= ((uint64_t)carry & ((UINT64_C(1) << step) - 1)) << j * step;
            carry >>= step;
        }
        into->digit[k / per_digit] += (int64_t)digit;
    }
    wf_exact_add_i128(into, carry, into->low_exponent + format.count * step);
}

/* Adds up the words of all sets. */
static inline void join_sets(uint64_t *word, int sets, int per_set) {
    for (int set = 1; set < sets; set++)
        for (int i = 0; i < per_set; i++) word[i] += word[set * per_set + i];
}

/* Bins of 32 exponents lie as the digits do. */
static void flush_pairs(const struct wf_exact *into, const struct wf_bins *bins, int sign) {
    const int count = bins->format.count;
    const uint64_t *word = bins->word, *negative = word + 2 * count;
    for (int k = 0; k < count; k++, word += 2, negative += 2) {
        int64_t low = (int64_t)word[0] + sign * (int64_t)negative[0];
        int64_t high = (int64_t)word[1] + sign * (int64_t)negative[1];
        into->digit[k] += low;
        into->digit[k + 1] += (uint32_t)high;
        into->digit[k + 2] += high >> 32;
    }
}

enum { FIELDS_TOGETHER = 32 };

/* The bits that any of these bins has; 0: they are empty. */
static uint64_t bits_used(const uint64_t *word, const uint64_t *negative) {
    uint64_t any = 0;
    for (int i = 0; i < FIELDS_TOGETHER; i++) any |= word[i] | negative[i];
    return any;
}

/* Bins of exponent fields in a row: how many, how many words lie from one to the next, and how many bits their weights. */
struct row {
    int count, stride, step;
};

enum { FEW = 4 }; /* bins whose sum, of words as small as are_small, fits into 64 bits */

static inline bool are_small(struct row row, uint64_t any) {
    return !(any >> (62 - FEW * row.step));
}

/* Sums up the bits of a row's bins from `shift` on that the mask lets pass: so few that 64 bits hold the sum of FEW bins, since
 * sums of 128 bits would wait for each other. */
static inline __attribute__((always_inline)) wf_i128 sum_of_bits(struct row row, const uint64_t *word, const uint64_t *negative,
                                                                 int sign, int shift, uint64_t mask) {
    wf_i128 sum = 0;
    for (int first = row.count - FEW; first >= 0; first -= FEW) {
        int64_t few = 0;
        for (int k = (first + FEW - 1) * row.stride; k >= first * row.stride; k -= row.stride)
            few = few * (1 << row.step) + (int64_t)(word[k] >> shift & mask) + sign * (int64_t)(negative[k] >> shift & mask);
        sum = sum * (1 << FEW * row.step) + few;
    }
    return sum;
}

/* Sums up a row's bins, which have the bits of `any` at most: whole, or their halves. */
static inline __attribute__((always_inline)) wf_i128 sum_of_row(struct row row, const uint64_t *word, const uint64_t *negative,
                                                                int sign, uint64_t any) {
    if (are_small(row, any)) return sum_of_bits(row, word, negative, sign, 0, UINT64_MAX);
    return sum_of_bits(row, word, negative, sign, 32, UINT32_MAX) * ((wf_i128)1 << 32) +
           sum_of_bits(row, word, negative, sign, 0, UINT32_MAX);
}

/* Adds a row of bins, whose first is of this field.  Field 0 has the exponent of field 1. */
static inline __attribute__((always_inline)) void add_row(const struct wf_exact *into, struct row row, int field,
                                                          const uint64_t *word, const uint64_t *negative, int sign,
                                                          uint64_t any) {
    const int weight = 1 << row.step;
    wf_i128 sum = sum_of_row(row, word, negative, sign, any);
    if (field == 0) sum = (sum + (weight - 1) * (word[0] + sign * (wf_i128)negative[0])) / weight;
    wf_exact_add_i128(into, sum, into->low_exponent + row.step * (field ? field - 1 : 0));
}

/* Adds the bins of fields to their sums; only those that hold anything cost. */
static inline __attribute__((always_inline)) void add_fields(struct wf_bins *bins, const struct wf_exact *into,
                                                             const struct wf_exact *magnitudes, bool clears) {
    const struct row row = {FIELDS_TOGETHER, 1, 1};
    const int count = bins->format.count;
    join_sets(bins->word, bins->format.sets, 2 * count);
    for (int field = 0; field < count; field += FIELDS_TOGETHER) {
        uint64_t *word = bins->word + field, *negative = word + count, any = bits_used(word, negative);
        if (!any) continue;
        add_row(into, row, field, word, negative, -1, any);
        if (magnitudes) add_row(magnitudes, row, field, word, negative, 1, any);
        if (!clears) continue;
        memset(word, 0, FIELDS_TOGETHER * sizeof *word);
        memset(negative, 0, FIELDS_TOGETHER * sizeof *negative);
    }
}

void wf_bins_empty_fields(struct wf_bins *bins, const struct wf_exact *into, const struct wf_exact *magnitudes) {
    add_fields(bins, into, magnitudes, true);
    bins->taken = bins->unseen = 0;
}

/* With what is constant of the formats there are. */
static void flush_with_sign(const struct wf_exact *into, const struct wf_bins *bins, int sign) {
    const struct wf_bins_format format = bins->format;
    if (format.step_log2 == 5) flush_pairs(into, bins, sign);
#define FLUSH_IF(STEP_LOG2, WORDS, SIGNS, SETS)                                                                        \
    if (format.step_log2 == STEP_LOG2 && format.words == WORDS && format.signs == SIGNS)                               \
    flush_as((struct wf_bins_format){STEP_LOG2, WORDS, format.count, SIGNS, SETS, 0}, into, bins->word, sign)
    FLUSH_IF(3, 1, 2, 4);
    FLUSH_IF(2, 1, 2, 4);
    FLUSH_IF(2, 1, 1, 4);
    FLUSH_IF(3, 2, 2, 1);
    FLUSH_IF(3, 2, 1, 2);
#undef FLUSH_IF
}

enum { POWERS_TOGETHER = 16 };

void wf_bins_flush_powers(struct wf_bins *bins, const struct wf_exact *values, const struct wf_exact *magnitudes,
                           const struct wf_exact *squares) {
    const struct row of_values = {POWERS_TOGETHER, 2, 1}, of_squares = {POWERS_TOGETHER, 2, 2}; /* next to each other */
    const int count = bins->format.count;
    if (!bins->format.words) return;
    join_sets(bins->word, bins->format.sets, 4 * count);
    for (int field = 0; field < count; field += POWERS_TOGETHER) {
        const uint64_t *word = bins->word + 2 * field, *negative = word + 2 * count, any = bits_used(word, negative);
        if (!any) continue;
        if (values) add_row(values, of_values, field, word, negative, -1, any);
        if (magnitudes) add_row(magnitudes, of_values, field, word, negative, 1, any);
        add_row(squares, of_squares, field, word + 1, negative + 1, 1, any);
    }
    bins->format.words = 0;
}

void wf_bins_flush(struct wf_bins *bins, const struct wf_exact *into, const struct wf_exact *magnitudes) {
    const struct wf_bins_format format = bins->format;
    if (!format.words) return;
    if (format.step_log2 == 5) join_sets(bins->word, format.sets, format.signs * format.count * format.words);
    if (format.step_log2 == 0) {
        add_fields(bins, into, magnitudes, false);
    } else {
        flush_with_sign(into, bins, -1);
        if (magnitudes) flush_with_sign(magnitudes, bins, 1);
    }
    bins->format.words = 0;
}
