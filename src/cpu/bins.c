#include "cpu/bins.h"

void wf_bins_use(struct wf_bins *bins, struct wf_bins_format format) {
    if (bins->format.words) return;
    size_t words = (size_t)(format.sets * format.signs * format.count * format.words);
    memset(bins->word, 0, words * sizeof bins->word[0]);
    bins->format = format;
    bins->taken = 0;
}

/* Bin k of one sign, over all sets.  Its second word is in units of 2^32 where bins take 32 exponents, else of 2^64. */
static inline wf_i128 sum_of_sets(const uint64_t *word, struct wf_bins_format format, int k) {
    const size_t per_set = (size_t)(format.signs * format.count * format.words);
    const int shift = format.step_log2 == 5 ? 32 : 64;
    wf_u128 sum = 0;
    word += k * format.words;
    for (int set = 0; set < format.sets; set++, word += per_set)
        sum += word[0] + (format.words == 2 ? (wf_u128)word[1] << shift : 0);
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

/* Adds bins of one exponent.  The top bit goes separately, since the exact sum takes signed words. */
static void flush_bin(const struct wf_exact *into, uint64_t bin, bool is_negative, int exponent) {
    int64_t low = (int64_t)(bin & ~(UINT64_C(1) << 63)), high = (int64_t)(bin >> 63);
    wf_exact_add_i64(into, is_negative ? -low : low, exponent);
    if (high) wf_exact_add_i64(into, is_negative ? -high : high, exponent + 63);
}

/* Field 0 has the exponent of field 1. */
static void flush_fields(const struct wf_exact *into, const uint64_t *word, int count, bool are_negative) {
    for (int field = 0; field < count; field++)
        if (word[field]) flush_bin(into, word[field], are_negative, into->low_exponent + (field ? field - 1 : 0));
}

static void flush_sets_of_fields(const struct wf_exact *into, const struct wf_bins *bins, int sign) {
    const int count = bins->format.count;
    for (int i = 0; i < 2 * bins->format.sets; i++)
        flush_fields(into, bins->word + i * count, count, i % 2 && sign < 0);
}

/* With what is constant of the formats there are. */
static void flush_with_sign(const struct wf_exact *into, const struct wf_bins *bins, int sign) {
    const struct wf_bins_format format = bins->format;
    if (format.step_log2 == 0) flush_sets_of_fields(into, bins, sign);
#define FLUSH_IF(STEP_LOG2, WORDS, SIGNS, SETS)                                                                        \
    if (format.step_log2 == STEP_LOG2 && format.words == WORDS && format.signs == SIGNS)                               \
    flush_as((struct wf_bins_format){STEP_LOG2, WORDS, format.count, SIGNS, SETS, 0}, into, bins->word, sign)
    FLUSH_IF(3, 1, 2, 4);
    FLUSH_IF(2, 1, 2, 4);
    FLUSH_IF(2, 1, 1, 4);
    FLUSH_IF(5, 2, 2, 4);
    FLUSH_IF(3, 2, 2, 1);
    FLUSH_IF(3, 2, 1, 2);
#undef FLUSH_IF
}

void wf_bins_flush(struct wf_bins *bins, const struct wf_exact *into, const struct wf_exact *magnitudes) {
    if (!bins->format.words) return;
    flush_with_sign(into, bins, -1);
    if (magnitudes) flush_with_sign(magnitudes, bins, 1);
    bins->format.words = 0;
}
