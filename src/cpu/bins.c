#include "cpu/bins.h"

void wf_bins_use(struct wf_bins *bins, struct wf_bins_format format) {
    if (bins->format.exponent_bits != 0) return;
    memset(bins->bin, 0, wf_bins_sets(format) * wf_bins_per_set(format) * sizeof bins->bin[0]);
    bins->format = format;
}

/* Adds bins of one exponent.  The top bit goes separately, since the exact sum takes signed words. */
static void flush_bin(const struct wf_exact *into, uint64_t bin, bool is_negative, int exponent) {
    int64_t low = (int64_t)(bin & ~(UINT64_C(1) << 63)), high = (int64_t)(bin >> 63);
    wf_exact_add_i64(into, is_negative ? -low : low, exponent);
    if (high) wf_exact_add_i64(into, is_negative ? -high : high, exponent + 63);
}

/* A set has the bins of all positive fields, then those of all negative ones. */
static void flush_set(const uint64_t *set, struct wf_bins_format format, const struct wf_exact *into,
                      const struct wf_exact *magnitudes) {
    const size_t fields = (size_t)1 << format.exponent_bits;
    for (size_t i = 0; i < 2 * fields; i++) {
        if (!set[i]) continue;
        int field = (int)(i & (fields - 1)), exponent = (field ? field : 1) - 1 + format.low_exponent;
        flush_bin(into, set[i], i >= fields, exponent);
        if (magnitudes) flush_bin(magnitudes, set[i], false, exponent);
    }
}

void wf_bins_flush(struct wf_bins *bins, const struct wf_exact *into, const struct wf_exact *magnitudes) {
    const struct wf_bins_format format = bins->format;
    if (format.exponent_bits == 0) return;
    for (size_t set = 0; set < wf_bins_sets(format); set++)
        flush_set(bins->bin + set * wf_bins_per_set(format), format, into, magnitudes);
    bins->format = (struct wf_bins_format){0, 0};
    bins->taken = 0;
}

void wf_wide_bins_use(struct wf_wide_bins *bins, size_t count, const struct wf_exact *into) {
    enum { TAKEN_MAX = 1 << 21 }; /* 2^21 products of 106 bits need 127 */
    if (bins->in_use && bins->taken + (int64_t)count > TAKEN_MAX) wf_wide_bins_flush(bins, into);
    if (!bins->in_use) {
        memset(bins->bin, 0, sizeof bins->bin);
        bins->in_use = true;
        bins->taken = 0;
    }
    bins->taken += (int64_t)count;
}

void wf_wide_bins_flush(struct wf_wide_bins *bins, const struct wf_exact *into) {
    const int low_exponent = 2 * -1074 - 2; /* of the sum of two fields of 1: there is no sum of 0 */
    if (!bins->in_use) return;
    for (int i = 0; i < WF_WIDE_BINS_COUNT; i++) {
        wf_i128 sum = (wf_i128)bins->bin[i];
        int exponent = low_exponent + i % WF_WIDE_BINS_SIGN;
        if (sum) wf_exact_add_i128(into, i < WF_WIDE_BINS_SIGN ? sum : -sum, exponent);
    }
    bins->in_use = false;
}
