#include "cpu/bins.h"

static void flush_bin(uint64_t sum, int field, bool negative, struct wf_exact *into) {
    int exponent = (field ? field : 1) - 1075;
    if (exponent < into->low_exponent) {
        /* Values of a narrower type: the bits below its lowest are zeros. */
        sum >>= into->low_exponent - exponent;
        exponent = into->low_exponent;
    }
    int64_t low = (uint32_t)sum, high = (int64_t)(sum >> 32);
    wf_exact_add_i64(into, negative ? -low : low, exponent);
    wf_exact_add_i64(into, negative ? -high : high, exponent + 32);
}

void wf_bins_flush(struct wf_bins *bins, struct wf_exact *into) {
    if (!bins->used) return;
    for (int i = 0; i < WF_BINS_COUNT; i++)
        if (bins->bin[i]) flush_bin(bins->bin[i], i & 2047, i >= 2048, into);
    bins->used = false;
}
