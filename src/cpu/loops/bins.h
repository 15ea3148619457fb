/* Sums of terms that no window covers: one by one or, if there are many, by way of exponent bins
 * (cpu/bins.h). */
#ifndef WF_CPU_LOOPS_BINS_H
#define WF_CPU_LOOPS_BINS_H

#include "cpu/loops/source.h"

/* With fewer elements, clearing and flushing bins costs more than the bins save. */
#define FEW_FOR_BINS 1024
#define FEW_FOR_BINS_OF_PRODUCTS 256 /* of narrow types: one by one, they take four times as long as values */

/* An exact sum, and the bins that are flushed to it, or NULL. */
struct target {
    const struct wf_exact *exact;
    const struct wf_exact *magnitudes; /* or NULL: a sum to which the same bins are flushed */
    struct wf_bins *bins;
    struct wf_wide_bins *wide_bins; /* of products of f64 */
};

INLINE bool are_for_bins(struct source source, struct target into) {
    return into.bins && (source.count >= FEW_FOR_BINS || into.bins->format.exponent_bits != 0);
}

INLINE bool are_products_for_bins(struct source source, struct target into) {
    return into.bins && (source.count >= FEW_FOR_BINS_OF_PRODUCTS || into.bins->format.exponent_bits != 0);
}

/* What elements add to which bins: a significand, narrow[i] if it has at most 32 bits, to the bin of field[i],
 * which is the sign and the exponent. */
struct deposits {
    union {
        uint64_t wide[WF_BINS_ROUND];
        uint32_t narrow[WF_BINS_ROUND];
    } significand;
    uint16_t field[WF_BINS_ROUND];
};

INLINE void set_significand(struct deposits *deposits, size_t i, int bits, uint64_t significand) {
    if (bits <= 32)
        deposits->significand.narrow[i] = (uint32_t)significand;
    else
        deposits->significand.wide[i] = significand;
}

INLINE uint64_t significand_at(const struct deposits *deposits, size_t i, int bits) {
    return bits <= 32 ? deposits->significand.narrow[i] : deposits->significand.wide[i];
}

/* Decodes elements, or the products of pairs.  The bits of elements are masked first: by all ones or, for
 * magnitudes, by all but the sign. */
typedef void decode_elements(struct deposits *deposits, struct source part, uint64_t mask);

/* Four fields by one load, where significands are narrow: there, loads are what bins wait for. */
INLINE size_t field_at(const uint16_t *field, size_t first, size_t turn, int bits) {
    if (bits > 32) return field[first + turn];
    const size_t place = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? turn % 4 : 3 - turn % 4;
    uint64_t fields;
    memcpy(&fields, field + first + turn / 4 * 4, sizeof fields);
    return (uint16_t)(fields >> 16 * place);
}

/* Empties the bins of infinities and NaNs; returns whether there were any. */
INLINE bool drop_special(uint64_t *bin, size_t count, size_t exponents) {
    uint64_t any = 0;
    for (size_t i = exponents - 1; i < count; i += exponents) {
        any |= bin[i];
        bin[i] = 0;
    }
    return any;
}

/* Adds decoded elements, whose significands have so many bits, to as many sets of bins in turn as there is room for, so that equal exponents in a
 * row do not wait for each other; returns the union of all bits of the bins that were added to. */
INLINE uint64_t add_deposits(uint64_t *bin, struct wf_bins_format format, struct deposits *deposits,
                             struct source part, int bits) {
    enum { TURNS = 8, SECOND_LEVEL_CACHE = 2 };
    size_t sets = wf_bins_sets(format), set_count = wf_bins_per_set(format), count = part.count;
    uint64_t any = 0;
    for (; count % TURNS; count++) {
        deposits->field[count] = 0;
        set_significand(deposits, count, bits, 0);
    }
    for (size_t j = 0; j < count; j += TURNS) {
        /* Prefetches the next block, and to the second-level cache, since the first is full of bins. */
        uintptr_t next = (uintptr_t)part.x + j * part.nbytes + WF_BLOCK_NBYTES;
        if (part.ahead.distance) __builtin_prefetch((const void *)next, 0, SECOND_LEVEL_CACHE);
        for (size_t turn = 0; turn < TURNS; turn++) {
            uint64_t *taker = &bin[turn % sets * set_count + field_at(deposits->field, j, turn, bits)];
            any |= *taker += significand_at(deposits, j + turn, bits);
        }
    }
    return any;
}

/* Makes the bins ready for so many significands of so many bits.  Bins of f64 can be full after a round, so what is
 * added to them is looked at; for narrower significands counting is enough, and cheaper. */
INLINE void prepare_bins(struct target into, struct wf_bins_format format, int bits, size_t count) {
    if (bits <= 48 && into.bins->taken + count > UINT64_C(1) << (64 - bits))
        wf_bins_flush(into.bins, into.exact, into.magnitudes);
    wf_bins_use(into.bins, format);
    into.bins->taken += count;
}

/* Adds all finite elements, whose significands have so many bits; returns whether there were no others.
 * Elements are decoded first, a round of them at a time, in vectors. */
INLINE bool add_to_bins(struct target into, struct wf_bins_format format, int bits, decode_elements *decode,
                        struct source source, uint64_t mask) {
    const bool is_counted = bits <= 48;
    size_t bins_count = wf_bins_sets(format) * wf_bins_per_set(format),
           exponents = wf_bins_per_set(format) / 2;
    struct deposits deposits;
    bool is_finite = true;
    for (size_t i = 0; i < source.count; i += WF_BINS_ROUND) {
        struct source part = part_of(source, i, WF_BINS_ROUND);
        prepare_bins(into, format, bits, part.count);
        decode(&deposits, part, mask);
        uint64_t any = add_deposits(into.bins->bin, format, &deposits, part, bits);
        if (drop_special(into.bins->bin, bins_count, exponents)) is_finite = false;
        if (!is_counted && any >> 63) wf_bins_flush(into.bins, into.exact, into.magnitudes);
    }
    return is_finite;
}

/* Adds finite terms one by one; returns true, as add_to_bins does then. */
INLINE bool add_each(struct target into, struct source source, load_terms *load) {
    double term[64];
    for (size_t i = 0; i < source.count; i += 64) {
        struct source part = part_of(source, i, 64);
        store_terms(term, part, load);
        for (size_t j = 0; j < part.count; j++) wf_exact_add_f64(into.exact, term[j]);
    }
    return true;
}

#endif
