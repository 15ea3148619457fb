#include "core/ordered.h"

static uint64_t low_bits(int count) {
    return count ? UINT64_MAX >> (64 - count) : 0;
}

struct wf_ordering wf_ordering_of(wf_type type) {
    const struct wf_type_traits *traits = &wf_type_table[type];
    int width = 8 * traits->nbytes;
    uint64_t sign = UINT64_C(1) << (width - 1), all = low_bits(width);
    struct wf_ordering ordering = {.type = type, .width = width, .highest = type == WF_BOOL ? 1 : all};
    if (traits->kind == WF_KIND_UNSIGNED) return ordering;
    ordering.flip_positive = sign;
    ordering.flip_negative = traits->kind == WF_KIND_FLOAT ? all : sign;
    if (traits->kind != WF_KIND_FLOAT) return ordering;
    uint64_t infinity = low_bits(traits->exponent_bits) << (traits->precision - 1);
    ordering.highest = wf_ordered_key(&ordering, infinity);
    ordering.lowest = wf_ordered_key(&ordering, infinity | sign);
    return ordering;
}

uint64_t wf_ordered_key(const struct wf_ordering *ordering, uint64_t bits) {
    bool is_negative = bits >> (ordering->width - 1);
    return bits ^ (is_negative ? ordering->flip_negative : ordering->flip_positive);
}

uint64_t wf_ordered_bits(const struct wf_ordering *ordering, uint64_t key) {
    bool is_negative = ordering->flip_positive && !(key >> (ordering->width - 1));
    return key ^ (is_negative ? ordering->flip_negative : ordering->flip_positive);
}

/* ---- blocks of elements ---- */

/* Elements of each width, widened.  Their alignment is any. */
static void widen(const unsigned char *elements, int width, int64_t count, uint64_t *keys) {
    uint16_t two;
    uint32_t four;
    for (int64_t i = 0; width == 8 && i < count; i++) keys[i] = elements[i];
    for (int64_t i = 0; width == 16 && i < count; i++) memcpy(&two, elements + 2 * i, 2), keys[i] = two;
    for (int64_t i = 0; width == 32 && i < count; i++) memcpy(&four, elements + 4 * i, 4), keys[i] = four;
    if (width == 64) memcpy(keys, elements, 8 * (size_t)count);
}

/* Keeps the keys of numbers. */
static int64_t drop_nan(const struct wf_ordering *ordering, uint64_t *keys, int64_t count) {
    uint64_t lowest = ordering->lowest, span = ordering->highest - lowest;
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++) {
        uint64_t key = keys[i];
        keys[kept] = key;
        kept += key - lowest <= span;
    }
    return kept;
}

int64_t wf_ordered_keys(const struct wf_ordering *ordering, const void *elements, int64_t count, uint64_t *keys) {
    uint64_t positive = ordering->flip_positive, differ = positive ^ ordering->flip_negative;
    int top = ordering->width - 1;
    widen(elements, ordering->width, count, keys);
    if (ordering->type == WF_BOOL)
        for (int64_t i = 0; i < count; i++) keys[i] = keys[i] != 0;
    for (int64_t i = 0; positive && i < count; i++)
        keys[i] ^= positive ^ ((0 - (keys[i] >> top)) & differ);
    return wf_type_is_float(ordering->type) ? drop_nan(ordering, keys, count) : count;
}

/* ---- sorting ---- */

static void sort_few(uint64_t *keys, int64_t count) {
    for (int64_t i = 1; i < count; i++) {
        uint64_t key = keys[i];
        int64_t at = i;
        for (; at > 0 && keys[at - 1] > key; at--) keys[at] = keys[at - 1];
        keys[at] = key;
    }
}

/* Sorts by one byte, and keeps the order of equal ones. */
static void sort_by_byte(const uint64_t *from, uint64_t *to, int64_t count, int shift) {
    int64_t begin[257] = {0};
    for (int64_t i = 0; i < count; i++) begin[(from[i] >> shift & 0xff) + 1]++;
    for (int d = 1; d < 256; d++) begin[d] += begin[d - 1];
    for (int64_t i = 0; i < count; i++) to[begin[from[i] >> shift & 0xff]++] = from[i];
}

/* From the lowest byte to the highest, except for those in which all keys agree. */
void wf_ordered_sort(uint64_t *keys, uint64_t *scratch, int64_t count) {
    enum { FEW = 48 };
    uint64_t differ = 0, *from = keys, *to = scratch, *swap;
    if (count <= FEW) {
        sort_few(keys, count);
        return;
    }
    for (int64_t i = 1; i < count; i++) differ |= keys[i] ^ keys[0];
    for (int shift = 0; shift < 64; shift += 8) {
        if (!(differ >> shift & 0xff)) continue;
        sort_by_byte(from, to, count, shift);
        swap = from, from = to, to = swap;
    }
    if (from != keys) memcpy(keys, from, (size_t)count * sizeof *keys);
}

/* ---- buckets ---- */

enum { BUCKET_BITS = 10 };

void wf_buckets_begin(struct wf_buckets *buckets, uint64_t *keys, uint64_t *scratch, int64_t count) {
    uint64_t low = keys[0], high = keys[0];
    for (int64_t i = 1; i < count; i++) {
        low = keys[i] < low ? keys[i] : low;
        high = keys[i] > high ? keys[i] : high;
    }
    int bits = high > low ? 64 - wf_leading_zeros_u64(high - low) : 0;
    *buckets = (struct wf_buckets){
        .keys = keys, .sorted = scratch, .count = count, .low = low, .shift = bits > BUCKET_BITS ? bits - BUCKET_BITS : 0, .bucket = -1};
    for (int64_t i = 0; i < count; i++) buckets->counts[(keys[i] - low) >> buckets->shift]++;
}

static void sort_bucket(struct wf_buckets *buckets) {
    int64_t count = 0;
    for (int64_t i = 0; i < buckets->count; i++) {
        buckets->sorted[count] = buckets->keys[i];
        count += (buckets->keys[i] - buckets->low) >> buckets->shift == (uint64_t)buckets->bucket;
    }
    wf_ordered_sort(buckets->sorted, buckets->sorted + buckets->count, count);
}

uint64_t wf_buckets_key(struct wf_buckets *buckets, int64_t position) {
    int64_t before = 0;
    int bucket = 0;
    for (; position >= before + buckets->counts[bucket]; bucket++) before += buckets->counts[bucket];
    if (bucket != buckets->bucket) {
        buckets->bucket = bucket;
        buckets->before = before;
        sort_bucket(buckets);
    }
    return buckets->sorted[position - before];
}

int64_t wf_ordered_distinct(const uint64_t *keys, int64_t count) {
    int64_t distinct = count > 0;
    for (int64_t i = 1; i < count; i++) distinct += keys[i] != keys[i - 1];
    return distinct;
}
