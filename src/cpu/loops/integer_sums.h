/* Sums of 16-bit floats as integers, in one pass whatever the data.
 *
 * The exponents are cut into spans.  A span's elements are their significands times powers of two that 16 bits hold, and
 * other elements times 0, so one multiplication of pairs adds a vector to the span's sum in 32 bits.  A shift makes the
 * powers: its count is an exponent's distance from the span's first, and of any count but 0 to 14 nothing is left.
 *
 * Where exponents are many, two neighbours share a power (the larger one's significand is doubled), and several bands share
 * the powers of their spans: what belongs to another band is masked.  Sums that may lack something (lossy.h) have one band, of
 * the largest. */
#ifndef WF_CPU_LOOPS_INTEGER_SUMS_H
#define WF_CPU_LOOPS_INTEGER_SUMS_H

#include "cpu/loops/guess.h"
#include "cpu/loops/lossy.h"

#ifdef HAS_PAIR_PRODUCTS

enum {
    IS_16 = sizeof(uword) == 2,
    SHARES_POWERS = EXPONENT_BITS > 5,
    SPAN_EXPONENTS = SHARES_POWERS ? 16 : 15,
    BANDS_MAX = 4,
    SPANS_MAX = 4, /* of each */
    FIELD_MAX = (1 << EXPONENT_BITS) - 2,
    /* A vector adds two products to a sum: significands, perhaps doubled, by up to 2^14. */
    VECTORS_MAX = IS_16 ? 1 << (16 - PRECISION * IS_16 - SHARES_POWERS) : 1,
};

/* Bands of neighbouring exponents, and the spans of each. */
struct form {
    int bands, spans;
};

/* A pass: the largest exponent field that its spans hold, and the sums of these, in units of their least power. */
struct pass {
    struct form form;
    int top;
    int64_t total[BANDS_MAX][SPANS_MAX];
};

INLINE int extent_of(struct form form) {
    return form.bands * form.spans * SPAN_EXPONENTS;
}

/* Loops over all spans s of all bands b; the bounds are constants, as EACH_LEVEL has it. */
#define EACH_SPAN(b, s, form)                          \
    UNROLLED for (int b = 0; b < (form).bands; b++)    \
        UNROLLED for (int s = 0; s < (form).spans; s++)

/* ---- one pass ---- */

/* What a pass finds out about its elements besides their sum. */
struct finding {
    struct magnitudes magnitudes; /* of all, or only of those that are finite, if the others are noted */
    struct specials specials;
};

/* Where a single form holds all exponents, what the least was is of no use. */
INLINE void scan_16(struct scan *scan, const unsigned char *x) {
    vsword bits;
    memcpy(&bits, x, sizeof bits);
    if (SHARES_POWERS)
        scan_range(scan, x);
    else
        scan->max = (vi64)max_signed((vsword)scan->max, bits & (sword)MAGNITUDE);
}

/* The same of finite elements, taking note of others. */
INLINE void scan_finite(struct scan *scan, struct specials *seen, const unsigned char *x) {
    vsword bits;
    memcpy(&bits, x, sizeof bits);
    clean_vector(seen, &bits);
    if (SHARES_POWERS) scan_range(scan, (const unsigned char *)&bits);
}

/* Significands, and how far below top their exponents are: a subnormal's is that of the least normal number, without its
 * hidden bit. */
INLINE vsword significands_of(const unsigned char *x, int top, bool magnitudes, vsword *distance) {
    vsword bits;
    memcpy(&bits, x, sizeof bits);
    vsword field = max_signed(bits & (sword)INFINITY_BITS, (vsword){0} + (sword)HIDDEN_BIT);
    vsword significand = (bits & (sword)MAGNITUDE) - field + (sword)HIDDEN_BIT;
    *distance = (sword)top - (field >> FRACTION_BITS);
    if (!magnitudes) significand = negated_where_negative(significand, bits);
    return SHARES_POWERS ? significand << (~*distance & 1) : significand;
}

INLINE vf64 pinned(vf64 vector) {
    pin(&vector);
    return vector;
}

/* Adds a vector's elements to the sums of the spans that hold them. */
OF_PAIR_PRODUCTS INLINE void add_vector(vi32 sum[BANDS_MAX][SPANS_MAX], struct form form, const unsigned char *x, int top,
                                        bool magnitudes) {
    const sword band_extent = (sword)(form.spans * SPAN_EXPONENTS), below_top = form.bands > 1 ? band_extent - 1 : -1;
    vsword distance, significand = significands_of(x, top, magnitudes, &distance), power[SPANS_MAX];
    vsword within = distance & (sword)(SHARES_POWERS ? below_top & ~1 : below_top), band = distance & (sword)~below_top;
    UNROLLED
    for (int s = 0; s < form.spans; s++) power[s] = powers_at(within - (sword)(s * SPAN_EXPONENTS));
    if (form.bands > 1) significand = (vsword)pinned((vf64)significand); /* or the last step would be taken for each band */
    UNROLLED
    for (int b = 0; b < form.bands; b++) {
        uint64_t is_here = form.bands > 1 ? lanes_equal(band, (vsword){0} + (sword)(b * band_extent)) : 0;
        vsword here = form.bands > 1 ? replaced((vsword){0}, is_here, significand) : significand;
        UNROLLED
        for (int s = 0; s < form.spans; s++)
            sum[b][s] = add_pair_products(sum[b][s], here, power[s]);
    }
}

/* Adds the source's elements as far as the form holds them, infinities and NaNs thus not at all; these are noted if that is
 * asked for. */
OF_PAIR_PRODUCTS INLINE struct finding add_pass(struct pass *pass, struct form form, struct source source, bool magnitudes,
                                                bool notes) {
    const int top = pass->top;
    const size_t whole = source.count / STEP * STEP;
    struct scan scan = RANGE_SCAN_START;
    struct specials specials = {.positive = {0}};
    vi32 sum[BANDS_MAX][SPANS_MAX];
    vi64 wide[BANDS_MAX][SPANS_MAX];
    struct group group;
    const unsigned char *last = padded(part_of(source, whole, STEP), VECTOR_NBYTES, &group).x;
    EACH_SPAN(b, s, form) wide[b][s] = (vi64){0};
    for (size_t i = 0; i < source.count;) {
        size_t end = i + part_of(source, i, (size_t)VECTORS_MAX * STEP).count;
        EACH_SPAN(b, s, form) sum[b][s] = (vi32){0};
        for (; i < end; i += STEP) { /* in one place, for compilers to keep the sums in registers */
            const unsigned char *x = i < whole ? source.x + i * sizeof(uword) : last;
            prefetch_line(source.ahead, source.x, i * sizeof(uword));
            notes ? scan_finite(&scan, &specials, x) : scan_16(&scan, x);
            add_vector(sum, form, x, top, magnitudes);
        }
        EACH_SPAN(b, s, form) wide[b][s] += ((vi64)sum[b][s] >> 32) + ((vi64)sum[b][s] << 32 >> 32);
    }
    EACH_SPAN(b, s, form) pass->total[b][s] = (int64_t)sum_of_lanes((vu64)wide[b][s]);
    return (struct finding){scanned_magnitudes(&scan), specials};
}

/* ---- the forms that are compiled ---- */

typedef struct finding add_form(struct pass *pass, struct source source, bool magnitudes, bool notes);

#define FORM(name, bands, spans)                                                                                       \
    OF_PAIR_PRODUCTS APART struct finding name(struct pass *pass, struct source source, bool magnitudes, bool notes) { \
        const struct form form = {bands, spans};                                                                       \
        if (magnitudes)                                                                                                \
            return notes ? add_pass(pass, form, source, true, true) : add_pass(pass, form, source, true, false);       \
        return notes ? add_pass(pass, form, source, false, true) : add_pass(pass, form, source, false, false);         \
    }
FORM(add_two_spans, 1, 2)
FORM(add_four_spans, 1, 4)
FORM(add_two_bands, 2, 4)
FORM(add_four_bands, 4, 4)

static const struct {
    struct form form;
    add_form *add;
} forms[] = {{{1, 2}, add_two_spans}, {{1, 4}, add_four_spans}, {{2, 4}, add_two_bands}, {{4, 4}, add_four_bands}};

/* The smallest form that holds that many exponents: the first one holds all of f16. */
static int form_of(int exponents) {
    int form = 0;
    while (SHARES_POWERS && extent_of(forms[form].form) < exponents) form++;
    return form;
}

/* ---- a block */

/* The least and the largest exponent field that an element has, those of subnormals being that of normal numbers. */
struct span {
    int low, high;
};

static struct span span_of(struct range range) {
    return (struct span){range.low - LOW_EXPONENT + 1, range.top + BIAS - 1};
}

/* Notes the block's infinities and NaNs, as a pass that notes them has found them. */
static void note_finding(struct block *block, const struct finding *found) {
    struct source source = block->source;
    if (note_found(block->into, &found->specials, source.x, NULL, source.count, block->index))
        expect_specials(&block->scratch->guess, block->expects_specials);
}

/* Notes the block's infinities and NaNs in a pass of its own; returns the range of the others. */
APART struct range note_and_scan(struct block *block) {
    struct source source = block->source;
    struct scan scan = RANGE_SCAN_START;
    struct finding found = {.specials = {.positive = {0}}};
    struct group group;
    for (size_t i = 0; i < source.count; i += STEP) {
        struct source part = part_of(source, i, STEP);
        scan_finite(&scan, &found.specials, part.count == STEP ? part.x : padded(part, VECTOR_NBYTES, &group).x);
    }
    note_finding(block, &found);
    return range_of(scanned_magnitudes(&scan));
}

/* Adds the block's elements as far as a form holds them that is made for the expected ones. */
static struct finding add_expected(struct pass *pass, const struct block *block, struct span expected, bool notes) {
    int exponents = expected.high - expected.low + 1, form = form_of(exponents), extent = extent_of(forms[form].form);
    pass->top = expected.high + (extent - exponents < 4 ? 0 : 2); /* the next ones may be somewhat larger */
    if (pass->top < extent) pass->top = extent;                   /* no span then lies below all elements */
    if (pass->top > FIELD_MAX) pass->top = FIELD_MAX;
    pass->form = forms[form].form;
    return forms[form].add(pass, source_of(block, false), !(block->into->parts & WF_PART_SUM), notes);
}

static bool pass_holds(const struct pass *pass, struct span span) {
    return span.high <= pass->top && span.low > pass->top - extent_of(pass->form);
}

static void add_totals(const struct wf_exact *into, const struct pass *pass) {
    for (int i = 0; i < pass->form.bands * pass->form.spans; i++) {
        int64_t total = pass->total[i / pass->form.spans][i % pass->form.spans];
        int least = pass->top - (i + 1) * SPAN_EXPONENTS;
        int below = least < 0 ? -least : 0; /* no bit is down there */
        if (total) wf_exact_add_i64(into, total >> below, LOW_EXPONENT + least + below);
    }
}

static bool are_for_integers(unsigned sums) {
    return IS_16 && (sums == WF_PART_SUM || sums == WF_PART_ABS) && has_pair_products();
}

/* Of a block's span as many exponents, the largest, as its sum needs; of one that may lack something not more than those. */
static struct span needed_span(const struct block *block, struct span span, int exponents) {
    const bool loses = may_lose(block) && depth_of(block) != DEEP; /* one band, or all of them */
    if (SHARES_POWERS && loses && span.high - span.low >= exponents) span.low = span.high - exponents + 1;
    return span;
}

/* Notes how much a pass lacks of a block's elements at most. */
static void note_lost(struct block *block, const struct pass *pass, struct span span) {
    const int lost = pass->top - extent_of(pass->form); /* the largest exponent that no span holds */
    const struct wf_bound bound = {block->source.count, lost + 1 - BIAS};
    if (span.low <= lost) wf_bound_add(&block->into->losses->sum, bound);
}

/* The range of a block of which nothing is known, whose infinities and NaNs are noted. */
static struct range scan_unknown(struct block *block) {
    if (block->expects_specials) return note_and_scan(block);
    struct magnitudes magnitudes = find_magnitudes(block->source.x, block->source.count);
    return magnitudes.max < INFINITY_BITS ? range_of(magnitudes) : note_and_scan(block);
}

/* Adds the block's sum.  Where elements turn out to lie outside what was expected, a second pass takes the place of the
 * first.  Where one form holds all exponents, no range matters. */
static void add_as_integers(struct block *block) {
    enum { ENOUGH = 48, EXPECTED = 60 }; /* exponents; the larger ones of what is expected may be missing */
    struct wf_guess *guess = &block->scratch->guess;
    const bool is_scanned = SHARES_POWERS && guess->known < 2, notes = !is_scanned && block->expects_specials;
    struct range range[2] = {range_of((struct magnitudes){INFINITY_BITS - 1, 1}), {0, 0}};
    struct pass pass;
    if (guess->specials) guess->specials--;
    if (is_scanned) range[0] = scan_unknown(block);
    while (guess->known < 2) learn(guess, range);
    struct finding found = add_expected(&pass, block, needed_span(block, span_of(guessed_range(guess, 0)), EXPECTED), notes);
    if (notes) note_finding(block, &found);
    if (!is_scanned) range[0] = found.magnitudes.max < INFINITY_BITS ? range_of(found.magnitudes) : note_and_scan(block);
    if (SHARES_POWERS) {
        learn(guess, range);
        const struct span span = span_of(range[0]), needed = needed_span(block, span, ENOUGH);
        if (!pass_holds(&pass, needed)) add_expected(&pass, block, needed_span(block, span, EXPECTED), false);
        note_lost(block, &pass, span);
    }
    add_totals(block->into->parts & WF_PART_SUM ? &block->into->sum : &block->into->abs, &pass);
}

#else

static bool are_for_integers(unsigned sums) {
    (void)sums;
    return false;
}

static void add_as_integers(struct block *block) {
    (void)block;
}

#endif

#endif
