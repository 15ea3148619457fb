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

static bool is_any_used(const uint64_t *word) {
    uint64_t any = 0;
    for (int i = 0; i < FIELDS_TOGETHER; i++) any |= word[i];
    return any != 0;
}

/* Adds bins of fields in a row.  Field 0 has the exponent of field 1. */
static void add_fields(const struct wf_exact *into, int field, const uint64_t *word, const uint64_t *negative, int sign) {
    const int last = field == 0;
    wf_i128 sum = 0;
    for (int j = FIELDS_TOGETHER - 1; j >= last; j--) sum = 2 * sum + word[j] + sign * (wf_i128)negative[j];
    if (last) sum += word[0] + sign * (wf_i128)negative[0];
    wf_exact_add_i128(into, sum, into->low_exponent + field - !last);
}

void wf_bins_empty_fields(struct wf_bins *bins, const struct wf_exact *into, const struct wf_exact *magnitudes) {
    const int count = bins->format.count;
    join_sets(bins->word, bins->format.sets, 2 * count);
    for (int field = 0; field < count; field += FIELDS_TOGETHER) {
        uint64_t *word = bins->word + field, *negative = word + count;
        if (!is_any_used(word) && !is_any_used(negative)) continue;
        add_fields(into, field, word, negative, -1);
        if (magnitudes) add_fields(magnitudes, field, word, negative, 1);
        memset(word, 0, FIELDS_TOGETHER * sizeof *word);
        memset(negative, 0, FIELDS_TOGETHER * sizeof *negative);
    }
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

/* The same for values that have their squares next to them. */
static void add_values_beside(const struct wf_exact *into, int field, const uint64_t *word, const uint64_t *negative, int sign) {
    const int last = field == 0;
    wf_i128 sum = 0;
    for (int j = POWERS_TOGETHER - 1; j >= last; j--) sum = 2 * sum + word[2 * j] + sign * (wf_i128)negative[2 * j];
    if (last) sum += word[0] + sign * (wf_i128)negative[0];
    wf_exact_add_i128(into, sum, into->low_exponent + field - !last);
}

/* And of the squares, whose exponents are two apart. */
static void add_squares_beside(const struct wf_exact *into, int field, const uint64_t *word, const uint64_t *negative) {
    const int last = field == 0;
    wf_i128 sum = 0;
    for (int j = POWERS_TOGETHER - 1; j >= last; j--) sum = 4 * sum + word[2 * j + 1] + (wf_i128)negative[2 * j + 1];
    if (last) sum += word[1] + (wf_i128)negative[1];
    wf_exact_add_i128(into, sum, into->low_exponent + 2 * (field - !last));
}

void wf_bins_flush_powers(struct wf_bins *bins, const struct wf_exact *values, const struct wf_exact *magnitudes,
                           const struct wf_exact *squares) {
    const int count = bins->format.count;
    if (!bins->format.words) return;
    join_sets(bins->word, bins->format.sets, 4 * count);
    for (int field = 0; field < count; field += POWERS_TOGETHER) {
        uint64_t *word = bins->word + 2 * field, *negative = word + 2 * count;
        if (!is_any_used(word) && !is_any_used(negative)) continue;
        if (values) add_values_beside(values, field, word, negative, -1);
        if (magnitudes) add_values_beside(magnitudes, field, word, negative, 1);
        add_squares_beside(squares, field, word, negative);
    }
    bins->format.words = 0;
}

void wf_bins_flush(struct wf_bins *bins, const struct wf_exact *into, const struct wf_exact *magnitudes) {
    const struct wf_bins_format format = bins->format;
    if (!format.words) return;
    if (format.step_log2 == 5) join_sets(bins->word, format.sets, format.signs * format.count * format.words);
    if (format.step_log2 == 0) {
        wf_bins_empty_fields(bins, into, magnitudes);
    } else {
        flush_with_sign(into, bins, -1);
        if (magnitudes) flush_with_sign(magnitudes, bins, 1);
    }
    bins->format.words = 0;
}
