#include "cpu/bins.h"

void wf_bins_use(struct wf_bins *bins, wf_type type, struct wf_exact *into) {
    if (bins->type == type) return;
    wf_bins_flush(bins, into);
    memset(bins->bin, 0, sizeof bins->bin);
    bins->type = type;
    bins->taken = 0;
}

static void flush_sum(int64_t sum, int exponent, struct wf_exact *into) {
    if (exponent < into->low_exponent) {
        /* f64 terms made of a narrower type: the bits below its lowest are zeros. */
        sum >>= into->low_exponent - exponent;
        exponent = into->low_exponent;
    }
    wf_exact_add_i64(into, sum, exponent);
}

/* Of one exponent. */
static void flush_bins(uint64_t positive, uint64_t negative, int exponent, struct wf_exact *into) {
    const uint64_t first_bit = UINT64_C(1) << 63;
    flush_sum((int64_t)(positive & ~first_bit) - (int64_t)(negative & ~first_bit), exponent, into);
    int carry = (int)(positive >> 63) - (int)(negative >> 63);
    if (carry) wf_exact_add_i64(into, carry, exponent + 63);
}

void wf_bins_flush(struct wf_bins *bins, struct wf_exact *into) {
    if (bins->type == WF_TYPE_DEFAULT) return;
    int fields = 1 << wf_type_table[bins->type].exponent_bits;
    for (int i = 0; i < WF_BINS_COUNT; i += i % fields == fields - 1 ? fields + 1 : 1) {
        uint64_t positive = bins->bin[i], negative = bins->bin[i + fields];
        int field = i % fields, exponent = (field ? field : 1) - 1 + wf_type_low_exponent(bins->type);
        if (positive | negative) flush_bins(positive, negative, exponent, into);
    }
    bins->type = WF_TYPE_DEFAULT;
}
