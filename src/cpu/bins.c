#include "cpu/bins.h"

void wf_bins_use(struct wf_bins *bins, wf_type type, struct wf_exact *into) {
    if (bins->type == type) return;
    wf_bins_flush(bins, into);
    for (int i = 0; i < WF_BINS_COUNT; i++) bins->bin[i] = WF_BINS_ZERO;
    bins->type = type;
    bins->taken = 0;
}

static void flush_bin(int64_t sum, int exponent, struct wf_exact *into) {
    if (exponent < into->low_exponent) {
        /* f64 terms made of a narrower type: the bits below its lowest are zeros. */
        sum >>= into->low_exponent - exponent;
        exponent = into->low_exponent;
    }
    wf_exact_add_i64(into, sum, exponent);
}

void wf_bins_flush(struct wf_bins *bins, struct wf_exact *into) {
    if (bins->type == WF_TYPE_DEFAULT) return;
    int fields = 1 << wf_type_table[bins->type].exponent_bits;
    for (int i = 0; i < WF_BINS_COUNT; i++) {
        int field = i & (fields - 1);
        int exponent = (field ? field : 1) - 1 + wf_type_low_exponent(bins->type);
        if (bins->bin[i] != WF_BINS_ZERO) flush_bin((int64_t)(bins->bin[i] - WF_BINS_ZERO), exponent, into);
    }
    bins->type = WF_TYPE_DEFAULT;
}
