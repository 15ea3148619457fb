/* Sums, sums of magnitudes and means of columns of floats that are exact, as the processor's inexact flag tells, on tiers with
 * NOTES_ROUNDING: no element is looked at besides.  Lanes are columns, in place.
 *
 * Of types shorter than f64 the sum is an f64.  That of f64 is two: a level, above what is added up, takes of each element what is
 * a multiple of its last place (Rump, Ogita and Oishi, "Accurate floating-point summation", 2008), which may set no flag, and the
 * rest takes the remainder.  Where no other operation has rounded, both are exact, whatever the level, and their sum is rounded
 * once.  So infinities and NaNs, which set no flag either, make results what IEEE addition makes of them. */
#ifndef WF_CPU_LOOPS_EXACT_COLUMNS_H
#define WF_CPU_LOOPS_EXACT_COLUMNS_H

#include "cpu/loops/few_sums.h"
#include "cpu/loops/row_sums.h"
#include "cpu/loops/strip.h"

/* What has been added up of LANES columns. */
struct exact_sums {
    vf64 sum, level; /* where there is a level, sum is that of the rest */
};

/* How, as a constant: f64 always have a level.  Elements may be apart: exact_rows.h. */
struct exact_kind {
    bool magnitudes, by_level;
    int apart;
};

INLINE bool has_level(struct exact_kind kind) {
    return IS_F64 || kind.by_level;
}

/* Rows that are read at a time, as they may be far apart, and columns for which the flag is looked at once: of many rows all of a
 * panel, so that each is read in a long piece.  Memory is asked for what is that far ahead. */
enum { EXACT_ROWS = 8, EXACT_COLUMNS = 256, EXACT_COLUMNS_MAX = WF_PANEL_COLUMNS_MAX, EXACT_AHEAD_NBYTES = 512 };

/* What stays the same. */
struct exact_constants {
    vf64 one, level; /* one: the multiplier adds, too, which leaves half of the additions to the adder */
};

INLINE struct exact_constants exact_constants(double level) {
    struct exact_constants constants = {(vf64){0} + 1, (vf64){0} + level};
    pin(&constants.one); /* so that a compiler does not make additions of these products */
    return constants;
}

/* ---- sums ---- */

INLINE void add_exact(struct exact_sums *sums, vf64 x, const struct exact_constants *constants, struct exact_kind kind) {
    if (!has_level(kind)) {
        sums->sum = fused(x, constants->one, sums->sum);
        return;
    }
    const vf64 level = quiet_multiply_add(x, constants->one, sums->level);
    sums->sum = fused(x - (level - sums->level), constants->one, sums->sum);
    sums->level = level;
}

INLINE void start_exact(struct exact_sums *sums, vf64 x, const struct exact_constants *constants, struct exact_kind kind) {
    sums->sum = x;
    if (!has_level(kind)) return;
    sums->level = quiet_multiply_add(x, constants->one, constants->level);
    sums->sum = x - (sums->level - constants->level);
}

/* What is to be subtracted from the rest takes the level's place: 0 and not -0 where it has taken nothing, so that a sum of nothing
 * but -0 is -0. */
INLINE void finish_exact_sums(struct exact_sums *sums, const struct exact_constants *constants, struct exact_kind kind) {
    if (has_level(kind)) sums->level = constants->level - sums->level;
    if (has_level(kind)) pin(&sums->level);
    pin(&sums->sum);
}

/* A row of some vectors of columns. */
INLINE void add_exact_row(struct exact_sums *some, const unsigned char *x, const struct exact_constants *constants,
                          struct exact_kind kind, bool begins) {
    prefetch_next_strip(x, EXACT_AHEAD_NBYTES, FEW_VECTORS * LANES * sizeof(uword));
    UNROLLED
    for (size_t v = 0; v < FEW_VECTORS; v++) {
        const vf64 value = value_of(widen(x + v * LANES * sizeof(uword)), kind.magnitudes);
        if (begins)
            start_exact(&some[v], value, constants, kind);
        else
            add_exact(&some[v], value, constants, kind);
    }
}

INLINE void copy_exact_sums(struct exact_sums *to, const struct exact_sums *from, struct exact_kind kind) {
    to->sum = from->sum;
    if (has_level(kind)) to->level = from->level;
}

/* Adds rows of some vectors of columns; the first ones begin their sums, and the last ones finish them. */
INLINE void add_exact_rows(struct exact_sums *sums, struct strip strip, const struct exact_constants *constants, struct exact_kind kind,
                           bool begins, bool ends) {
    struct exact_sums some[FEW_VECTORS];
    UNROLLED
    for (size_t v = 0; v < FEW_VECTORS && !begins; v++) copy_exact_sums(&some[v], &sums[v], kind);
    if (begins) add_exact_row(some, strip.x, constants, kind, true);
    for (size_t r = begins; r < strip.rows; r++)
        add_exact_row(some, strip.x + (int64_t)r * strip.stride_bytes, constants, kind, false);
    UNROLLED
    for (size_t v = 0; v < FEW_VECTORS; v++) {
        if (ends) finish_exact_sums(&some[v], constants, kind);
        copy_exact_sums(&sums[v], &some[v], kind);
    }
}

/* Whether the sums of a strip are exact; the flag is clear.  Where the first rows tell that they are not, those of these are left. */
INLINE bool find_exact_sums(struct exact_sums *sums, struct strip strip, double level, struct exact_kind kind) {
    const struct exact_constants constants = exact_constants(level);
    for (size_t r = 0; r < strip.rows && !(r && has_rounded()); r += EXACT_ROWS) {
        const size_t rows = strip.rows - r < EXACT_ROWS ? strip.rows - r : EXACT_ROWS;
        struct strip some = {strip.x + (int64_t)r * strip.stride_bytes, strip.stride_bytes, rows, 0, 0, NULL, 0};
        for (size_t c = 0; c < strip.columns; c += FEW_VECTORS * LANES, some.x += FEW_VECTORS * LANES * sizeof(uword))
            add_exact_rows(sums + c / LANES, some, &constants, kind, r == 0, r + rows == strip.rows);
    }
    if (!has_rounded()) return true;
    forget_rounding();
    return false;
}

/* ---- results ---- */

/* sum / n, rounded to odd: first by the reciprocal, whose error the remainder, which is exact, takes away.  A power of two divides
 * exactly, as its reciprocal is one, too.  Sets no flag. */
INLINE vf64 exact_quotient(vf64 sum, vf64 n, vf64 reciprocal, bool is_power) {
    const vf64 first = quiet_multiply(sum, reciprocal);
    if (is_power) return first;
    const vf64 quotient = quiet_multiply_add(-quiet_multiply_add(first, n, -sum), reciprocal, first);
    const vf64 found = round_to_odd(quotient, quiet_multiply_add(-quotient, n, sum));
    return select_f64((vi64)(sum - sum == 0), found, sum);
}

/* The mean of f64 whose sum is `rest` less `level`, and `sum` rounded. */
INLINE vf64 exact_mean_of_f64(vi64 *lost, vf64 sum, vf64 level, vf64 rest, const struct lane_quotient *asked, vf64 reciprocal) {
    if (!asked->is_power) return mean_of_pair(lost, (struct pair){sum, two_sum(-level, rest).low}, asked->divisor, false);
    *lost = (vi64)(magnitude_of_f64(sum) < 0x1p-900) & (vi64)(sum != 0); /* what is subnormal would be rounded twice */
    return quiet_multiply(sum, reciprocal);
}

/* a + b, rounded to odd.  Sets no flag. */
INLINE vf64 quiet_odd_sum(vf64 a, vf64 b) {
    const vf64 sum = quiet_add(a, b), part = quiet_add(sum, -a);
    return round_to_odd(sum, quiet_add(quiet_add(a, -quiet_add(sum, -part)), quiet_add(b, -part)));
}

/* The sum or the mean, which is an f64 even where the element is shorter: rounded to odd, if it has more bits.  Half-way between two
 * elements there are few enough for that to be even, and n times that is, so either is rounded to the right one.  *lost: lanes, not
 * all bits 0, in which it is not known. */
INLINE vf64 exact_result(vi64 *lost, const struct exact_sums *sums, const struct lane_quotient *asked, vf64 reciprocal, bool is_mean,
                         struct exact_kind kind) {
    vf64 sum = sums->sum;
    *lost = (vi64){0};
    if (IS_F64) sum = quiet_multiply_add(sums->level, (vf64){0} - 1, sums->sum);
    if (IS_F64 && is_mean) return exact_mean_of_f64(lost, sum, sums->level, sums->sum, asked, reciprocal);
    if (!IS_F64 && has_level(kind)) sum = quiet_odd_sum(-sums->level, sums->sum);
    return !IS_F64 && is_mean ? exact_quotient(sum, asked->divisor, reciprocal, asked->is_power) : sum;
}

/* ---- the level ---- */

/* Far enough above the largest magnitude of f64 that the sum of that many rows does not leave its binade. */
static double exact_level(uint64_t largest, size_t rows) {
    enum { ABOVE = 3, MOST = 1022 };
    const int exponent = (int)(largest >> 52) - 1022 + ABOVE + 64 - wf_leading_zeros_u64(rows);
    return ldexp(1.5, exponent < MOST ? exponent : MOST);
}

/* The level for a panel, of the first vectors of some rows; numbers that are far larger or smaller round, and the strip fails. */
static double choose_exact_level(struct strip strip) {
    enum { ROWS = 8 };
    uint64_t largest = 0;
    for (size_t r = 0; IS_F64 && r < strip.rows && r < ROWS; r++, strip.x += strip.stride_bytes) {
        vi64 bits = (vi64)widen(strip.x) & INT64_MAX;
        for (size_t lane = 0; lane < LANES; lane++)
            if ((uint64_t)bits[lane] > largest && bits[lane] < INT64_C(0x7ff) << 52) largest = (uint64_t)bits[lane];
    }
    return exact_level(largest, strip.rows);
}

/* The larger magnitudes; an infinity or a NaN is larger than numbers. */
INLINE vi64 larger_bits(vi64 largest, vf64 x) {
    const vi64 bits = (vi64)x & INT64_MAX, is_larger = bits > largest;
    return (bits & is_larger) | (largest & ~is_larger);
}

/* The level for that many rows whose sums have about these magnitudes; 0 if some are no numbers. */
static double level_above(vi64 magnitudes, size_t rows) {
    uint64_t largest = 0;
    for (size_t lane = 0; lane < LANES; lane++)
        if ((uint64_t)magnitudes[lane] > largest) largest = (uint64_t)magnitudes[lane];
    return largest < UINT64_C(0x7ff) << 52 ? exact_level(largest, rows) : 0;
}

#endif
