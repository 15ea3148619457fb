/* Sums of terms that no window covers: one by one or, if there are many, by way of exponent bins
 * (cpu/bins.h). */
#ifndef WF_CPU_LOOPS_BINS_H
#define WF_CPU_LOOPS_BINS_H

#include "cpu/loops/float_bits.h"
#include "cpu/loops/source.h"

/* With fewer elements, clearing and flushing bins costs more than the bins save. */
#define FEW_FOR_BINS (ELEMENT == ELEMENT_F64 ? 200 : 96)
#define FEW_FOR_BINS_OF_PRODUCTS (ELEMENT == ELEMENT_F64 ? 128 : 64)
#define MANY_FOR_BINS (ELEMENT == ELEMENT_F64 && LANES < 8 ? 2048 : 4096) /* values: a bin for each exponent takes more clearing
                                                                          * and flushing, and less decoding, which short
                                                                          * vectors make dear */

#define MANY_FOR_POWERS 2048

/* An exact sum, and the bins that are flushed to it, or NULL. */
struct target {
    const struct wf_exact *exact;
    const struct wf_exact *magnitudes; /* or NULL: a sum to which the same bins are flushed */
    struct wf_bins *bins;
    const struct wf_exact *squares; /* of bins of powers; exact may be NULL then */
};

/* Moves all bins into their sums. */
INLINE void flush_target(struct target from) {
    if (from.squares)
        wf_bins_flush_powers(from.bins, from.exact, from.magnitudes, from.squares);
    else
        wf_bins_flush(from.bins, from.exact, from.magnitudes);
}

INLINE bool are_for_bins(struct source source, struct target into) {
    return into.bins && (source.count >= FEW_FOR_BINS || into.bins->format.words != 0);
}

INLINE bool are_products_for_bins(struct source source, struct target into) {
    return into.bins && (source.count >= FEW_FOR_BINS_OF_PRODUCTS || into.bins->format.words != 0);
}

/* What elements add to which bins, in their order.  Room for a vector more than is asked for. */
enum { DEPOSITS = WF_BINS_ROUND + LANES };

struct deposits {
    uint64_t low[DEPOSITS];
    union {
        struct { /* of f64 */
            uint64_t high[DEPOSITS];
            uint64_t place[DEPOSITS]; /* of the bin's first word in its set */
        };
        struct { /* of narrower types */
            uint32_t narrow[DEPOSITS];
            uint16_t narrow_place[DEPOSITS];
        };
    };
};

/* What an element adds. */
enum addend {
    ADDEND_NARROW,  /* narrow */
    ADDEND_WORD,    /* low */
    ADDEND_PAIR,    /* low to a bin's first word, high to its second */
    ADDEND_POWERS, /* narrow to the first, low to the second */
    ADDEND_SQUARE,  /* low * low */
    ADDEND_PRODUCT, /* low * high */
};

/* Decodes elements, or the products of pairs; returns whether all were finite: others count as 0.  The bits of elements
 * are masked first: by all ones or, for magnitudes, by all but the sign. */
typedef bool decode_elements(struct deposits *deposits, struct source part, uint64_t mask);

/* Four places by one load, where there are few other operations: there, loads are what bins wait for. */
INLINE size_t place_at(const struct deposits *deposits, size_t first, size_t turn) {
    if (IS_F64) return deposits->place[first + turn];
    const size_t lane = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? turn % 4 : 3 - turn % 4;
    uint64_t places;
    memcpy(&places, deposits->narrow_place + first + turn / 4 * 4, sizeof places);
    return (uint16_t)(places >> 16 * lane);
}

INLINE void add_wide(uint64_t *word, wf_u128 addend) {
    wf_u128 sum;
    memcpy(&sum, word, sizeof sum);
    sum += addend;
    memcpy(word, &sum, sizeof sum);
}

/* Two words, which one load and one store take: the sums of what is stored word by word wait longer for each other. */
typedef uint64_t word_pair __attribute__((vector_size(16)));

INLINE void add_word_pair(uint64_t *word, word_pair addend) {
    word_pair sum;
    memcpy(&sum, word, sizeof sum);
    sum += addend;
    memcpy(word, &sum, sizeof sum);
}

INLINE void add_deposit(uint64_t *word, const struct deposits *deposits, size_t i, enum addend addend) {
    switch (addend) {
    case ADDEND_NARROW: *word += deposits->narrow[i]; break;
    case ADDEND_WORD: *word += deposits->low[i]; break;
    case ADDEND_PAIR:
        word[0] += deposits->low[i];
        word[1] += deposits->high[i];
        break;
    case ADDEND_POWERS: add_word_pair(word, (word_pair){deposits->narrow[i], deposits->low[i]}); break;
    case ADDEND_SQUARE: add_wide(word, (wf_u128)deposits->low[i] * deposits->low[i]); break;
    default: add_wide(word, (wf_u128)deposits->low[i] * deposits->high[i]);
    }
}

enum { BINS_TURNS = 8 };

/* Adds decoded elements to sets of bins in turn.  A round is filled up with deposits of 0. */
INLINE void add_deposits(uint64_t *word, struct wf_bins_format format, struct deposits *deposits, struct source part,
                         enum addend addend) {
    enum { SECOND_LEVEL_CACHE = 2 };
    size_t count = part.count, per_set = (size_t)(format.signs * format.count * format.words);
    for (; count % BINS_TURNS; count++) {
        deposits->low[count] = 0;
        if (IS_F64)
            deposits->high[count] = deposits->place[count] = 0;
        else
            deposits->narrow[count] = deposits->narrow_place[count] = 0;
    }
    for (size_t j = 0; j < count; j += BINS_TURNS) {
        /* Prefetches the next block, and to the second-level cache, since the first is full of bins. */
        uintptr_t next = (uintptr_t)part.x + j * part.nbytes + WF_BLOCK_NBYTES;
        if (part.ahead.distance) __builtin_prefetch((const void *)next, 0, SECOND_LEVEL_CACHE);
        UNROLLED
        for (size_t turn = 0; turn < BINS_TURNS; turn++) {
            size_t place = turn % (size_t)format.sets * per_set + place_at(deposits, j, turn);
            add_deposit(word + place, deposits, j + turn, addend);
        }
    }
}

INLINE int64_t filled_up(size_t count) {
    return (int64_t)((count + BINS_TURNS - 1) / BINS_TURNS * BINS_TURNS);
}

/* Makes the bins ready for that many more elements. */
INLINE void make_room(struct target into, struct wf_bins_format format, size_t count) {
    bool has_room = !into.bins->format.words || into.bins->taken + filled_up(count) <= format.taken_max;
    if (!has_room) flush_target(into);
    wf_bins_use(into.bins, format);
    into.bins->taken += filled_up(count);
}

/* Adds all finite elements; returns whether there were no others.  Elements are decoded first, a round of them at a
 * time, in vectors. */
INLINE bool add_to_bins(struct target into, struct wf_bins_format format, enum addend addend, decode_elements *decode,
                        struct source source, uint64_t mask) {
    struct deposits deposits;
    bool are_finite = true;
    for (size_t i = 0; i < source.count; i += WF_BINS_ROUND) {
        struct source part = part_of(source, i, WF_BINS_ROUND);
        make_room(into, format, part.count);
        are_finite &= decode(&deposits, part, mask);
        add_deposits(into.bins->word, format, &deposits, part, addend);
    }
    return are_finite;
}

/* ---- bins of exponent fields, for many values */

/* Empties the bins of infinities and NaNs; returns whether there were none. */
INLINE bool drop_special(uint64_t *word, struct wf_bins_format format) {
    uint64_t any = 0;
    for (int i = format.count - 1; i < format.sets * 2 * format.count; i += format.count)
        for (int j = format.words * i; j < format.words * (i + 1); j++) {
            any |= word[j];
            word[j] = 0;
        }
    return !any;
}

/* Bins of f64 hold 2^11 significands: where none has reached its upper quarter, there is room for 3 * 2^9 more.  Looking at
 * them is rare, and takes stack that is not needed meanwhile. */
enum { UNSEEN_MAX = 3 << 9 };

APART bool are_nearly_full(const uint64_t *word, struct wf_bins_format format) {
    enum { VECTORS = 8 };
    vu64 any[VECTORS] = {{0}}, bits;
    for (int i = 0; i < format.sets * 2 * format.count; i += VECTORS * LANES) {
        UNROLLED
        for (int v = 0; v < VECTORS; v++) {
            memcpy(&bits, word + i + v * LANES, sizeof bits);
            any[v] |= bits;
        }
    }
    uint64_t all = 0;
    for (int v = 1; v < VECTORS; v++) any[0] |= any[v];
    for (int lane = 0; lane < LANES; lane++) all |= any[0][lane];
    return all >> 62;
}

/* Makes room for that many more elements in the bins of f64. */
INLINE void make_room_in_fields(struct target into, struct wf_bins_format format, size_t count) {
    into.bins->unseen += filled_up(count);
    if (into.bins->unseen <= UNSEEN_MAX) return;
    if (are_nearly_full(into.bins->word, format)) wf_bins_empty_fields(into.bins, into.exact, into.magnitudes);
    into.bins->unseen = filled_up(count);
}

/* The same as add_to_bins.  Bins of f64 can be full after some rounds, so they are looked at then; for narrower types
 * counting is enough. */
INLINE bool add_to_fields(struct target into, struct wf_bins_format format, enum addend addend,
                          decode_elements *decode, struct source source, uint64_t mask) {
    enum { TOGETHER = UNSEEN_MAX / 3 };
    struct deposits deposits;
    bool are_finite = true;
    for (size_t i = 0; i < source.count; i += TOGETHER) {
        struct source several = part_of(source, i, TOGETHER);
        make_room(into, format, several.count);
        if (addend == ADDEND_WORD) make_room_in_fields(into, format, several.count);
        for (size_t j = 0; j < several.count; j += WF_BINS_ROUND) {
            struct source part = part_of(several, j, WF_BINS_ROUND);
            decode(&deposits, part, mask);
            add_deposits(into.bins->word, format, &deposits, part, addend);
        }
        are_finite &= drop_special(into.bins->word, format);
    }
    return are_finite;
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
