/* Extraction: splits terms onto the grids of a window's levels without error, and sums each level.
 *
 * With an anchor S = 1.5 * 2^e, q = S + x rounds x to the grid of e, q - S is what was added, and x - (q - S)
 * is left for the next level.  A guessed window is checked by the pass itself.  Where the tier has
 * NOTES_ROUNDING, the inexact flag is still clear if the window has held; elsewhere, the elements' largest
 * and smallest magnitudes are found in the same pass.  If the window has not held, what was extracted is
 * discarded. */
#ifndef WF_CPU_LOOPS_EXTRACT_H
#define WF_CPU_LOOPS_EXTRACT_H

#include "cpu/loops/window.h"

/* What a pass finds out about the elements besides their sums: maxima and minima, which do not change if an
 * element is seen twice. */
struct scan {
    vi64 signed_max, max, min;
};
typedef void scan_vector(struct scan *scan, const unsigned char *x);

/* Sums in progress.  Each level has several sums, which are used in turn, so that no addition waits for the
 * one before. */
struct sums {
    vf64 term[TERMS_MAX][LEVELS_MAX][UNROLL_MAX];
    vf64 negative[LEVELS_MAX][UNROLL_MAX]; /* of the first terms of negative elements */
    vf64 factor[2]; /* by which fitted elements are multiplied */
    vf64 largest, other_largest; /* magnitudes so far, of a kind that finds them: by turns, as each waits for the one before */
};

/* What was moved out of the sums, in units of each level's grid.  Unsigned, because it may wrap around if the
 * window turns out not to cover the terms. */
struct collected {
    vu64 term[TERMS_MAX][LEVELS_MAX];
    vu64 negative[LEVELS_MAX];
    vu64 changed; /* bits in which sums differed from their anchors: 2^52 or more if a sum left its binade */
};

struct extracted {
    uint64_t units[TERMS_MAX][LEVELS_MAX];
    uint64_t negative[LEVELS_MAX];
    bool is_exact; /* only if the tier has NOTES_ROUNDING: whether the window has held */
    bool has_stayed; /* every sum in its binade, at its end */
    double largest; /* magnitude of the first terms, of a kind that finds it */
    struct specials *specials; /* what was taken out, of a kind that cleans */
};

/* Adds to each level the part of the terms that is on its grid; returns what is left. */
INLINE struct terms extract_levels(vf64 sum[LEVELS_MAX][UNROLL_MAX], vf64 negative[LEVELS_MAX][UNROLL_MAX],
                                   int begin, int end, int u, struct terms terms) {
    vf64 term = terms.a;
    UNROLLED
    for (int k = begin; k < end; k++) {
        /* Every other level multiplies, so that the adder and the multiplier share the work. */
        bool multiplies = terms.multiplies && k % 2 == 0;
        vf64 increased =
            multiplies ? quiet_multiply_add(terms.a, terms.b, sum[k][u]) : quiet_add(terms.a, sum[k][u]);
        vf64 minus_added = sum[k][u] - increased;
        vf64 rest = multiply_add(terms.a, terms.b, minus_added);
        sum[k][u] = increased;
        if (negative) negative[k][u] = add_where_negative(negative[k][u], -minus_added, term);
        terms.a = rest;
        terms.b = ONES;
    }
    return terms;
}

/* Adds the terms to all levels.  The last level is added whatever the others leave, which is on its grid. */
INLINE void extract_terms(vf64 sum[LEVELS_MAX][UNROLL_MAX], vf64 negative[LEVELS_MAX][UNROLL_MAX], int levels,
                          int u, struct terms terms) {
    vf64 term = terms.a;
    terms = extract_levels(sum, negative, 0, levels - 1, u, terms);
    if (negative) negative[levels - 1][u] = add_where_negative(negative[levels - 1][u], terms.a, term);
    if (levels == 1 && terms.multiplies)
        sum[0][u] = multiply_add(terms.a, terms.b, sum[0][u]);
    else
        sum[levels - 1][u] += terms.a;
}

/* Whether the term is also summed separately for negative elements. */
INLINE bool splits(struct kind kind, int term) {
    return kind.splits && term == 0;
}

/* The additions of one vector to its levels wait for each other, and a processor can look ahead past only so many that wait.
 * So those of many levels are done level by level, for as many vectors as there are registers for. */
INLINE bool goes_by_levels(struct shape shape, struct kind kind) {
    return HAS_MANY_REGISTERS && kind.terms == 1 && shape.first > FEW_LEVELS;
}

/* A group, the elements that one step of the loop adds, has as many elements as a level's sums have lanes,
 * and fills at least one vector as stored. */
INLINE size_t group_count_of(struct shape shape, struct kind kind, size_t element_nbytes) {
    int vectors = goes_by_levels(shape, kind) ? UNROLL_MAX : unroll_of(shape, kind);
    size_t lanes = (size_t)(vectors * LANES), vector = VECTOR_NBYTES / element_nbytes;
    return lanes > vector ? lanes : vector;
}

INLINE void note_largest(struct sums *sums, struct terms terms, int u) {
    const vf64 x = terms.multiplies ? quiet_multiply(terms.a, terms.b) : terms.a;
    if (u % 2) sums->other_largest = larger_of_f64(sums->other_largest, x);
    else sums->largest = larger_of_f64(sums->largest, x);
}

INLINE void extract_term(struct sums *sums, struct shape shape, struct source source, size_t i,
                         struct kind kind, int term, int u) {
    int levels = levels_of(shape, term);
    struct terms terms = terms_at(source, i, kind.load[term], levels, sums->factor);
    if (kind.splits && term == 2) terms.multiplies = false; /* the scan of the same pass uses that unit */
    if (kind.finds_largest && term == 0) note_largest(sums, terms, u);
    extract_terms(sums->term[term], splits(kind, term) ? sums->negative : NULL, levels, u, terms);
}

INLINE void extract_vector(struct sums *sums, struct shape shape, struct source source, size_t i,
                           struct kind kind, int u) {
    extract_term(sums, shape, source, i, kind, 0, u);
    if (kind.terms > 1) extract_term(sums, shape, source, i, kind, 1, u);
    if (kind.terms > 2) extract_term(sums, shape, source, i, kind, 2, u);
}

INLINE void extract_group_by_levels(struct sums *sums, struct shape shape, struct source source, size_t i, struct kind kind) {
    const int last = shape.first - 1, unroll = unroll_of(shape, kind);
    struct terms terms[UNROLL_MAX];
    UNROLLED
    for (int v = 0; v < UNROLL_MAX; v++) {
        terms[v] = terms_at(source, i + (size_t)v * LANES, kind.load[0], shape.first, sums->factor);
        if (kind.finds_largest) note_largest(sums, terms[v], v);
    }
    UNROLLED
    for (int k = 0; k < last; k++) {
        UNROLLED
        for (int v = 0; v < UNROLL_MAX; v++) terms[v] = extract_levels(sums->term[0], NULL, k, k + 1, v % unroll, terms[v]);
    }
    UNROLLED
    for (int v = 0; v < UNROLL_MAX; v++) sums->term[0][last][v % unroll] += terms[v].a;
}

INLINE void extract_group(struct sums *sums, struct shape shape, struct source source, size_t i,
                          struct kind kind) {
    int vectors = (int)(group_count_of(shape, kind, source.nbytes) / LANES), unroll = unroll_of(shape, kind);
    if (goes_by_levels(shape, kind)) {
        extract_group_by_levels(sums, shape, source, i, kind);
        return;
    }
    UNROLLED
    for (int v = 0; v < vectors; v++)
        extract_vector(sums, shape, source, i + (size_t)v * LANES, kind, v % unroll);
}

/* Adds the elements after the last full group, all of them to the first of each level's sums. */
INLINE void extract_rest(struct sums *sums, struct shape shape, struct source source, size_t i,
                         struct kind kind) {
    struct group group;
    for (; i + LANES <= source.count; i += LANES) extract_vector(sums, shape, source, i, kind, 0);
    if (i == source.count) return;
    source = padded(part_of(source, i, LANES), LANES * source.nbytes, &group);
    extract_vector(sums, shape, source, 0, kind, 0);
}

INLINE void scan_group(struct scan scans[2], size_t group_nbytes, struct source source, size_t i,
                       scan_vector *scan) {
    UNROLLED
    for (size_t offset = 0; offset < group_nbytes; offset += VECTOR_NBYTES) {
        scan(&scans[0], source.x + i * source.nbytes + offset);
        if (source.y != source.x) scan(&scans[1], source.y + i * source.nbytes + offset);
    }
}

/* Adds a full group, or what follows the last one, without its infinities and NaNs. */
INLINE void clean_and_extract(struct sums *sums, struct shape shape, struct source part, struct kind kind,
                              struct specials *seen, struct scan scans[2], scan_vector *scan) {
    size_t group_count = group_count_of(shape, kind, part.nbytes), group_nbytes = group_count * part.nbytes;
    struct group filled, copy;
    struct source group = part.count < group_count ? padded(part, group_nbytes, &filled) : part;
    group.count = group_count;
    group = kind.clean(seen, &copy, group);
    if (scan) scan_group(scans, group_nbytes, group, 0, scan);
    extract_group(sums, shape, group, 0, kind);
}

/* A full group that ends where the source ends.  Some of its elements have been scanned before; if the source
 * is shorter than a group, elements are repeated. */
INLINE struct source last_group(struct source source, size_t group_count, struct group *group) {
    if (source.count >= group_count) return part_of(source, source.count - group_count, group_count);
    for (size_t i = 0; i < group_count; i++) {
        memcpy(group->x + i * source.nbytes, source.x + i % source.count * source.nbytes, source.nbytes);
        memcpy(group->y + i * source.nbytes, source.y + i % source.count * source.nbytes, source.nbytes);
    }
    return (struct source){group->x, source.y == source.x ? group->x : group->y, group_count, source.nbytes,
                           source.ahead};
}

/* Loops over all levels k of all terms t.  The bounds are constants, so that compilers unroll the loops
 * before they decide what lives in registers. */
#define EACH_LEVEL(t, k, shape, kind)                                                                        \
    UNROLLED for (int t = 0; t < TERMS_MAX; t++)                                                             \
        UNROLLED for (int k = 0; k < LEVELS_MAX; k++) if (t < (kind).terms && k < levels_of(shape, t))

/* Clears only what is used, since clearing all of it would slow down small arrays. */
INLINE void clear_collected(struct collected *collected, struct shape shape, struct kind kind) {
    EACH_LEVEL(t, k, shape, kind) {
        collected->term[t][k] = (vu64){0};
        if (splits(kind, t)) collected->negative[k] = (vu64){0};
    }
    collected->changed = (vu64){0};
}

INLINE void start_sum(vf64 *sum, int unroll, vf64 anchor) {
    UNROLLED
    for (int u = 0; u < unroll; u++) {
        sum[u] = anchor;
        pin(&sum[u]);
    }
}

INLINE vf64 factor_of(int shift) {
    return (vf64)((vi64){0} + ((int64_t)(1023 + shift) << 52));
}

INLINE void start_sums(struct sums *sums, const struct window *window, struct shape shape, struct kind kind) {
    for (int operand = 0; kind.loses && operand < 2; operand++) sums->factor[operand] = factor_of(window->shift[operand]);
    EACH_LEVEL(t, k, shape, kind) {
        start_sum(sums->term[t][k], unroll_of(shape, kind), anchor_of(window, t, k));
        if (splits(kind, t)) start_sum(sums->negative[k], unroll_of(shape, kind), anchor_of(window, t, k));
    }
}

/* Moves the sums of a level out of their lanes. */
INLINE void collect_sum(vu64 *collected, vu64 *changed, vf64 *sum, int unroll, vf64 anchor) {
    UNROLLED
    for (int u = 0; u < unroll; u++) {
        pin(&sum[u]);
        *collected += (vu64)sum[u] - (vu64)anchor;
        *changed |= (vu64)sum[u] ^ (vu64)anchor;
    }
}

INLINE void collect_sums(struct collected *collected, struct sums *sums, const struct window *window,
                         struct shape shape, struct kind kind) {
    int unroll = unroll_of(shape, kind);
    EACH_LEVEL(t, k, shape, kind) {
        vf64 anchor = anchor_of(window, t, k);
        collect_sum(&collected->term[t][k], &collected->changed, sums->term[t][k], unroll, anchor);
        if (splits(kind, t))
            collect_sum(&collected->negative[k], &collected->changed, sums->negative[k], unroll, anchor);
    }
}

static double largest_lane(vf64 largest) {
    double most = 0;
    for (int lane = 0; lane < LANES; lane++) most = largest[lane] > most ? largest[lane] : most;
    return most;
}

static uint64_t sum_of_lanes(vu64 lanes) {
    uint64_t sum = 0;
    for (int lane = 0; lane < LANES; lane++) sum += lanes[lane];
    return sum;
}

INLINE void finish_sums(struct extracted *extracted, const struct collected *collected, struct shape shape,
                        struct kind kind) {
    bool is_exact = !has_rounded();
    if (!is_exact) forget_rounding(); /* so the flag is clear before every pass, as it is before the first */
    EACH_LEVEL(t, k, shape, kind) {
        extracted->units[t][k] = sum_of_lanes(collected->term[t][k]);
        if (splits(kind, t)) extracted->negative[k] = sum_of_lanes(collected->negative[k]);
    }
    extracted->has_stayed = true;
    for (int lane = 0; lane < LANES; lane++) extracted->has_stayed &= collected->changed[lane] >> 52 == 0;
    extracted->is_exact = is_exact && extracted->has_stayed;
}

/* The number of elements whose terms can be added before sums must be moved out of their lanes: full groups,
 * such that the elements after the last one can be added, too. */
INLINE size_t round_count_of(struct shape shape, struct kind kind, size_t group_count) {
    size_t lanes_count = (size_t)(unroll_of(shape, kind) * LANES), rest = group_count / LANES;
    return (additions_max(shape, kind) - rest) * lanes_count / group_count * group_count;
}

/* Sums the terms as far as the window covers them and, if scan is not NULL, scans the elements.  shape is the
 * window's, as a constant. */
INLINE void extract(struct extracted *extracted, const struct window *window, struct shape shape,
                    struct source source, struct kind kind, struct scan scans[2], scan_vector *scan) {
    size_t group_count = group_count_of(shape, kind, source.nbytes);
    size_t group_nbytes = group_count * source.nbytes;
    size_t round_count = round_count_of(shape, kind, group_count);
    struct scan local[2] = {scans[0], scans[1]}; /* in registers */
    struct collected collected;
    struct sums sums;
    clear_collected(&collected, shape, kind);
    if (kind.finds_largest) sums.largest = sums.other_largest = (vf64){0};
    for (size_t i = 0; i < source.count;) {
        size_t end = source.count - i < round_count ? source.count : i + round_count;
        start_sums(&sums, window, shape, kind);
        for (; i + group_count <= end; i += group_count) {
            prefetch_source(source, i, group_nbytes);
            if (kind.clean) {
                clean_and_extract(&sums, shape, part_of(source, i, group_count), kind, extracted->specials, local, scan);
                continue;
            }
            if (scan) scan_group(local, group_nbytes, source, i, scan);
            extract_group(&sums, shape, source, i, kind);
        }
        if (i < end && kind.clean) {
            clean_and_extract(&sums, shape, part_of(source, i, end - i), kind, extracted->specials, local, scan);
            i = end;
        } else if (i < end) {
            struct group group;
            if (scan) scan_group(local, group_nbytes, last_group(source, group_count, &group), 0, scan);
            extract_rest(&sums, shape, source, i, kind);
            i = end;
        }
        collect_sums(&collected, &sums, window, shape, kind);
    }
    scans[0] = local[0];
    scans[1] = local[1];
    finish_sums(extracted, &collected, shape, kind);
    if (kind.finds_largest) extracted->largest = largest_lane(larger_of_f64(sums.largest, sums.other_largest));
}

/* Sums the terms through the loop that is compiled for the shape of a window. */
INLINE void extract_any(struct extracted *extracted, const struct window *window, struct source source,
                        struct kind kind, struct scan scans[2], scan_vector *scan) {
    int first = window->shape.first, others = window->shape.others;
    if (first == 1 && (others == 1 || kind.terms == 1))
        extract(extracted, window, (struct shape){1, 1}, source, kind, scans, scan);
    else if (first == 1)
        extract(extracted, window, (struct shape){1, 2}, source, kind, scans, scan);
    else if (first == 2 && (others == 2 || kind.terms == 1))
        extract(extracted, window, (struct shape){2, 2}, source, kind, scans, scan);
    else if (first == 2)
        extract(extracted, window, (struct shape){2, 4}, source, kind, scans, scan);
    else if (first == 3)
        extract(extracted, window, (struct shape){3, 3}, source, kind, scans, scan);
    else if (LEVELS_MAX > 4 && first > 4 && kind.terms == 1 && !kind.clean)
        extract(extracted, window, (struct shape){LEVELS_MAX, LEVELS_MAX}, source, kind, scans, scan);
    else
        extract(extracted, window, (struct shape){4, 4}, source, kind, scans, scan);
}

/* Adds the sum of one of the terms, which are 2^shift times too large, to the exact sum. */
static void add_extracted(const struct wf_exact *into, const struct window *window,
                          const struct extracted *extracted, int term, int shift) {
    for (int k = 0; k < levels_of(window->shape, term); k++)
        wf_exact_add_i64(into, (int64_t)extracted->units[term][k], window->exponent[term][k] - 52 - shift);
}

/* Adds the sum of the first terms' magnitudes: that of all of them, less twice that of the negative ones. */
static void add_extracted_magnitudes(const struct wf_exact *into, const struct window *window,
                                     const struct extracted *extracted) {
    for (int k = 0; k < window->shape.first; k++)
        wf_exact_add_i64(into, (int64_t)(extracted->units[0][k] - 2 * extracted->negative[k]),
                         window->exponent[0][k] - 52 - window->shift[0]);
}

#endif
