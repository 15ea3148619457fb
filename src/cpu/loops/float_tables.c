/* Sums of floats by key whatever their range: each group has f64 with what they have lost, and a bound of what both lack, so
 * that next to all groups' results are known to be rounded right.  Four groups at a time are brought to lanes and back.
 * Compiled for each tier and type. */
#include "cpu/bounded.h"
#include "cpu/loops/few_sums.h"
#include "cpu/loops/odd_sum.h"

typedef double quad __attribute__((vector_size(4 * sizeof(double))));
typedef int64_t quad_bits __attribute__((vector_size(4 * sizeof(int64_t))));

#if defined(__clang__)
#define QUAD_SHUFFLED(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define QUAD_SHUFFLED(a, b, ...) __builtin_shuffle(a, b, (quad_bits){__VA_ARGS__})
#endif

enum { QUAD = 4 };

INLINE quad load_quad(const double *at) {
    quad found;
    memcpy(&found, at, sizeof found);
    return found;
}

INLINE void store_quad(double *at, quad x) {
    memcpy(at, &x, sizeof x);
}

/* ---- slots ---- */

/* Four sums: the words of four slots, in lanes.  Of means and squares: */
struct quad_sums {
    quad sum, lost, bound, count; /* of others what else is lost, and the bound */
};

/* What of a sum is kept, as a constant. */
enum kept { KEPT_REST, KEPT_COUNT, KEPT_SQUARES };

/* Rows to columns, or back. */
INLINE struct quad_sums transposed(quad a, quad b, quad c, quad d) {
    const quad even_ab = QUAD_SHUFFLED(a, b, 0, 4, 2, 6), odd_ab = QUAD_SHUFFLED(a, b, 1, 5, 3, 7);
    const quad even_cd = QUAD_SHUFFLED(c, d, 0, 4, 2, 6), odd_cd = QUAD_SHUFFLED(c, d, 1, 5, 3, 7);
    return (struct quad_sums){QUAD_SHUFFLED(even_ab, even_cd, 0, 1, 4, 5), QUAD_SHUFFLED(odd_ab, odd_cd, 0, 1, 4, 5),
                              QUAD_SHUFFLED(even_ab, even_cd, 2, 3, 6, 7), QUAD_SHUFFLED(odd_ab, odd_cd, 2, 3, 6, 7)};
}

INLINE struct quad_sums no_sums(void) {
    const quad none = {0};
    return (struct quad_sums){-none, -none, none, none};
}

INLINE quad quad_magnitude(quad x) {
    return (quad)((quad_bits)x & INT64_MAX);
}

/* The rounding error of a sum. */
INLINE quad sum_error(quad a, quad b, quad sum) {
    const quad part = sum - a;
    return (a - (sum - part)) + (b - part);
}

/* Of squares no bound is added up: they do not cancel. */
INLINE void add_quad_lost(struct quad_sums *sums, quad lost, enum kept kept) {
    const quad sum = sums->lost + lost, rest = sum_error(sums->lost, lost, sum);
    sums->lost = sum;
    if (kept == KEPT_COUNT) sums->bound += quad_magnitude(rest);
    if (kept != KEPT_REST) return;
    const quad all = sums->bound + rest;
    sums->count += quad_magnitude(sum_error(sums->bound, rest, all));
    sums->bound = all;
}

/* Adds terms, and what they lack and more than what has been left out of them, of which there is none unless elements are f64. */
INLINE void add_quad(struct quad_sums *sums, quad term, quad lacks, quad tiny, bool has_lacks, enum kept kept) {
    const quad sum = sums->sum + term;
    add_quad_lost(sums, sum_error(sums->sum, term, sum), kept);
    sums->sum = sum;
    if (has_lacks) add_quad_lost(sums, lacks, kept);
    if (IS_F64 && kept == KEPT_REST) sums->count += tiny;
    if (IS_F64 && kept != KEPT_REST) sums->bound += tiny;
    if (kept != KEPT_REST) sums->count += 1;
}

/* Adds one slot that is not empty to another: with a lone element, {term, what it lacks, 0, 1}, too. */
INLINE void join_slot(double *into, const double *from, enum kept kept) {
    const double a = into[0], b = from[0], sum = a + b, part = sum - a, error = (a - (sum - part)) + (b - part);
    const double more[] = {error, from[1]};
    into[0] = sum;
    UNROLLED
    for (int k = 0; k < 2; k++) {
        const double lost = into[1] + more[k], moved = lost - into[1], rest = (into[1] - (lost - moved)) + (more[k] - moved);
        const double all = into[2] + rest, raised = all - into[2];
        if (kept == KEPT_REST) into[3] += fabs((into[2] - (all - raised)) + (rest - raised));
        into[1] = lost;
        into[2] = kept == KEPT_REST ? all : into[2] + fabs(rest);
    }
    if (kept == KEPT_REST) {
        const double all = into[2] + from[2], raised = all - into[2];
        into[3] += fabs((into[2] - (all - raised)) + (from[2] - raised));
        into[2] = all;
    } else {
        into[2] += from[2];
    }
    into[3] += from[3];
}

/* ---- terms ---- */

/* What is added up, as a constant. */
struct bounded_form {
    bool values, magnitudes, squares, pairs, is_shifted; /* of pairs: the products are */
    bool counts;                                         /* means */
};

INLINE enum kept kept_of_values(struct bounded_form form) {
    return form.counts || form.squares ? KEPT_COUNT : KEPT_REST;
}

INLINE enum kept kept_of_products(struct bounded_form form) {
    return form.squares ? KEPT_SQUARES : KEPT_REST;
}

/* A block's terms: values, products, and what rounded products of f64 lack. */
struct bounded_terms {
    _Alignas(64) double value[WF_UNITS_MAX], product[WF_UNITS_MAX], lacks[WF_UNITS_MAX];
    double tiny[WF_UNITS_MAX]; /* more than what has not been added, or 0 */
    int64_t is_nan[WF_UNITS_MAX];
    bool any_nan;
};

/* Products whose errors may be no f64, and squares of what was too small to be kept, lack less than the first; values that were
 * too small less than the second. */
static const double tiny_product = 0x1p-900, tiny_value = 0x1p-1000;

/* x * 2^-shift, but 0 where that is subnormal, which is tiny. */
INLINE vf64 shifted(vf64 x, int shift, vi64 *tiny) {
    const int64_t infinity = INT64_C(0x7ff) << 52, least = (int64_t)(shift + 1) << 52;
    const vi64 bits = (vi64)x, magnitude = bits & INT64_MAX;
    const vi64 is_kept = (vi64)(magnitude >= least), is_finite = (vi64)(magnitude < infinity);
    *tiny |= ~is_kept & (vi64)(magnitude > 0);
    return (vf64)(((bits - (((int64_t)shift << 52) & is_finite)) & is_kept) | (bits & INT64_MIN & ~is_kept));
}

/* The significand of a finite number, of one that is subnormal anything, and its exponent. */
INLINE vf64 significand_of(vf64 x, vi64 *exponent) {
    const int64_t one = INT64_C(0x3ff) << 52, fields = INT64_C(0x7ff) << 52;
    *exponent = (((vi64)x & fields) >> 52) - 0x3ff;
    return (vf64)(((vi64)x & ~fields) | one);
}

/* x * y * 2^-shift, and what it lacks rounded; but 0 where that is tiny.  Infinities and NaNs are what x * y is. */
INLINE struct pair shifted_product(vf64 x, vf64 y, int shift, vi64 *tiny) {
    const int64_t least = -900; /* beyond what 0 and subnormals have */
    vi64 exponent[2];
    const vf64 a = significand_of(x, &exponent[0]), b = significand_of(y, &exponent[1]), product = x * y;
    const vi64 is_finite = (vi64)(x - x == 0) & (vi64)(y - y == 0), scale = exponent[0] + exponent[1] - shift;
    const vi64 is_kept = (vi64)(scale > least) & is_finite;
    const vf64 factor = (vf64)((((scale & is_kept) + 0x3ff) << 52));
    const struct pair exact = two_product(a, b);
    *tiny |= ~is_kept & is_finite & (vi64)(x != 0) & (vi64)(y != 0);
    const vf64 others = (vf64)((vi64)product & (~is_finite | INT64_MIN)); /* of what is left out the sign */
    return (struct pair){(vf64)(((vi64)(exact.high * factor) & is_kept) | ((vi64)others & ~is_kept)),
                         (vf64)((vi64)(exact.low * factor) & is_kept)};
}

INLINE void store_lanes(void *to, vi64 x) {
    memcpy(to, &x, sizeof x);
}

/* LANES elements, the first of which is element i of the block. */
INLINE void make_terms(struct bounded_terms *terms, size_t i, const struct wf_bounded *asked, const unsigned char *at_x,
                       const unsigned char *at_y, vi64 *any_nan, struct bounded_form form) {
    vf64 x = widen(at_x), y = form.pairs ? widen(at_y) : x;
    vi64 tiny = {0}, nan = ~((vi64)(x == x) & (vi64)(y == y));
    if (IS_F64 && form.is_shifted && !form.pairs) x = shifted(x, asked->shift, &tiny);
    if (!form.pairs) y = x;
    if (form.values) store_lanes(&terms->value[i], (vi64)(form.magnitudes ? magnitude_of_f64(x) : x));
    if (form.squares || form.pairs) {
        struct pair product = {x * y, {0}};
        if (IS_F64) product = form.pairs && form.is_shifted ? shifted_product(x, y, asked->shift, &tiny) : two_product(x, y);
        store_lanes(&terms->product[i], (vi64)product.high);
        if (IS_F64) store_lanes(&terms->lacks[i], (vi64)product.low);
        if (IS_F64) tiny |= (vi64)(magnitude_of_f64(product.high) < tiny_product) & (vi64)(x != 0) & (vi64)(y != 0);
    }
    const double most = form.squares || form.pairs ? tiny_product : tiny_value;
    if (IS_F64) store_lanes(&terms->tiny[i], (vi64)((vf64){0} + most) & tiny);
    store_lanes(&terms->is_nan[i], nan);
    *any_nan |= nan;
}

INLINE void make_all_terms(struct bounded_terms *terms, const struct wf_bounded *asked, const unsigned char *x,
                           const unsigned char *y, size_t count, struct bounded_form form) {
    unsigned char rest[2][LANES * sizeof(uword)] = {{0}};
    const size_t whole = count - count % LANES;
    vi64 any_nan = {0};
    for (size_t i = 0; i < whole; i += LANES)
        make_terms(terms, i, asked, x + i * sizeof(uword), y + i * sizeof(uword), &any_nan, form);
    memcpy(rest[0], x + whole * sizeof(uword), (count - whole) * sizeof(uword));
    memcpy(rest[1], y + whole * sizeof(uword), (count - whole) * sizeof(uword));
    if (whole < count) make_terms(terms, whole, asked, rest[0], rest[1], &any_nan, form);
    terms->any_nan = any_lane_set(any_nan);
}

/* ---- a block ---- */

struct bounded_call {
    const struct wf_bounded_slots *slots;
    const struct wf_bounded *asked;
    const unsigned char *x, *y;
    const int64_t *key;
    size_t count;
};

INLINE size_t words_of(struct bounded_form form) {
    return form.values && form.squares ? 2 * WF_BOUNDED_WORDS : WF_BOUNDED_WORDS;
}

/* Element i, to the first words of the slot, or to those after them. */
INLINE void add_alone(double *slot, const struct bounded_terms *terms, size_t i, struct bounded_form form) {
    const bool are_products = form.squares || form.pairs;
    const double tiny = IS_F64 ? terms->tiny[i] : 0;
    const double lacks = IS_F64 && are_products ? terms->lacks[i] : 0;
    const double value[QUAD] = {terms->value[i], 0, kept_of_values(form) == KEPT_REST ? 0 : tiny,
                                kept_of_values(form) == KEPT_REST ? tiny : 1};
    const double product[QUAD] = {terms->product[i], lacks, kept_of_products(form) == KEPT_REST ? 0 : tiny,
                                  kept_of_products(form) == KEPT_REST ? tiny : 1};
    if (form.values) join_slot(slot, value, kept_of_values(form));
    if (are_products) join_slot(slot + (form.values ? WF_BOUNDED_WORDS : 0), product, kept_of_products(form));
}

/* Elements i to i + 3. */
INLINE void add_values(struct quad_sums *sums, const struct bounded_terms *terms, size_t i, struct bounded_form form) {
    const quad none = {0};
    const quad tiny = IS_F64 ? load_quad(&terms->tiny[i]) : none;
    add_quad(sums, load_quad(&terms->value[i]), none, tiny, false, kept_of_values(form));
}

INLINE void add_products(struct quad_sums *sums, const struct bounded_terms *terms, size_t i, struct bounded_form form) {
    const quad none = {0};
    const quad lacks = IS_F64 ? load_quad(&terms->lacks[i]) : none, tiny = IS_F64 ? load_quad(&terms->tiny[i]) : none;
    add_quad(sums, load_quad(&terms->product[i]), lacks, tiny, IS_F64, kept_of_products(form));
}

/* What is added to one slot, by lanes. */
struct run {
    int64_t key; /* -1: nothing */
    struct quad_sums values, products;
};

INLINE void join_lanes_to(double *slot, const struct quad_sums *lanes, enum kept kept) {
    const struct quad_sums rows = transposed(lanes->sum, lanes->lost, lanes->bound, lanes->count);
    double words[QUAD][QUAD];
    store_quad(words[0], rows.sum);
    store_quad(words[1], rows.lost);
    store_quad(words[2], rows.bound);
    store_quad(words[3], rows.count);
    for (int lane = 0; lane < QUAD; lane++) join_slot(slot, words[lane], kept);
}

INLINE void end_run(struct run *run, const struct wf_bounded_slots *slots, struct bounded_form form) {
    if (run->key < 0) return;
    double *slot = slots->word + (size_t)run->key * words_of(form);
    if (form.values) join_lanes_to(slot, &run->values, kept_of_values(form));
    if (form.squares || form.pairs)
        join_lanes_to(slot + (form.values ? WF_BOUNDED_WORDS : 0), &run->products, kept_of_products(form));
    run->key = -1;
}

INLINE void add_to_run(struct run *run, int64_t key, const struct wf_bounded_slots *slots, const struct bounded_terms *terms,
                       size_t i, struct bounded_form form) {
    if (run->key != key) {
        end_run(run, slots, form);
        *run = (struct run){key, no_sums(), no_sums()};
    }
    if (form.values) add_values(&run->values, terms, i, form);
    if (form.squares || form.pairs) add_products(&run->products, terms, i, form);
}

INLINE void store_slots(double *const slot[QUAD], size_t at, const struct quad_sums *sums) {
    const struct quad_sums rows = transposed(sums->sum, sums->lost, sums->bound, sums->count);
    store_quad(slot[0] + at, rows.sum);
    store_quad(slot[1] + at, rows.lost);
    store_quad(slot[2] + at, rows.bound);
    store_quad(slot[3] + at, rows.count);
}

INLINE struct quad_sums load_slots(double *const slot[QUAD], size_t at) {
    return transposed(load_quad(slot[0] + at), load_quad(slot[1] + at), load_quad(slot[2] + at), load_quad(slot[3] + at));
}

/* Elements i to i + 3, to slots that differ. */
INLINE void add_apart(double *const slot[QUAD], const struct bounded_terms *terms, size_t i, struct bounded_form form) {
    if (form.values) {
        struct quad_sums values = load_slots(slot, 0);
        add_values(&values, terms, i, form);
        store_slots(slot, 0, &values);
    }
    if (form.squares || form.pairs) {
        const size_t at = form.values ? WF_BOUNDED_WORDS : 0;
        struct quad_sums products = load_slots(slot, at);
        add_products(&products, terms, i, form);
        store_slots(slot, at, &products);
    }
}

/* Whether two of four keys are equal, and whether all are. */
INLINE bool are_any_equal(const int64_t *key) {
    quad_bits keys;
    memcpy(&keys, key, sizeof keys);
    const quad_bits next = QUAD_SHUFFLED(keys, keys, 1, 2, 3, 0), opposite = QUAD_SHUFFLED(keys, keys, 2, 3, 0, 1);
    const quad_bits equal = (quad_bits)(keys == next) | (quad_bits)(keys == opposite);
    return (equal[0] | equal[1] | equal[2] | equal[3]) != 0;
}

INLINE bool are_all_equal(const int64_t *key) {
    return key[0] == key[3] && key[0] == key[1] && key[0] == key[2];
}

INLINE void add_all(const struct wf_bounded_slots *slots, const struct bounded_terms *terms, const int64_t *key, size_t count,
                    size_t copies, struct bounded_form form) {
    const size_t words = words_of(form), copy_words = slots->copy_words;
    const bool joins_equal = slots->joins_equal;
    double *const word = slots->word;
    struct run run = {-1, no_sums(), no_sums()};
    size_t i = 0;
    for (; i + QUAD <= count; i += QUAD) {
        double *slot[QUAD];
        UNROLLED
        for (size_t c = 0; c < QUAD; c++) {
            slot[c] = word + c % copies * copy_words + (size_t)key[i + c] * words;
            if (copies == 1) __builtin_prefetch((const void *)((uintptr_t)word + (uint64_t)key[i + c + WF_KEYS_AHEAD] * words * sizeof *word), 1);
        }
        __builtin_prefetch((const void *)((uintptr_t)(key + i) + WF_UNITS_MAX * sizeof *key));
        if (joins_equal && are_all_equal(key + i)) {
            add_to_run(&run, key[i], slots, terms, i, form);
            continue;
        }
        if (joins_equal) end_run(&run, slots, form);
        if (copies == 1 && are_any_equal(key + i)) {
            for (size_t c = 0; c < QUAD; c++) add_alone(slot[c], terms, i + c, form);
            continue;
        }
        add_apart(slot, terms, i, form);
    }
    if (joins_equal) end_run(&run, slots, form);
    for (; i < count; i++) add_alone(word + (size_t)key[i] * words, terms, i, form);
}

/* Copies keys, of NaNs that of no group. */
static const int64_t *without_nans(int64_t *copy, const struct bounded_call *call, const struct bounded_terms *terms) {
    memset(copy, 0, (WF_UNITS_MAX + WF_KEYS_AHEAD) * sizeof *copy);
    for (size_t i = 0; i < call->count; i++) copy[i] = terms->is_nan[i] ? call->slots->last : call->key[i];
    return copy;
}

INLINE void add_block_of(const struct bounded_call *call, struct bounded_form form) {
    struct bounded_terms terms;
    int64_t copy[WF_UNITS_MAX + WF_KEYS_AHEAD];
    const int64_t *key = call->key;
    make_all_terms(&terms, call->asked, call->x, call->y, call->count, form);
    if (terms.any_nan && call->asked->nan == WF_NAN_OMIT) key = without_nans(copy, call, &terms);
    if (call->slots->copies == 1)
        add_all(call->slots, &terms, key, call->count, 1, form);
    else
        add_all(call->slots, &terms, key, call->count, QUAD, form);
}

APART void add_bounded_values(const struct bounded_call *call) {
    add_block_of(call, (struct bounded_form){.values = true, .is_shifted = true});
}

APART void add_bounded_means(const struct bounded_call *call) {
    add_block_of(call, (struct bounded_form){.values = true, .is_shifted = true, .counts = true});
}

APART void add_bounded_magnitudes(const struct bounded_call *call) {
    add_block_of(call, (struct bounded_form){.values = true, .magnitudes = true, .is_shifted = true});
}

APART void add_bounded_products(const struct bounded_call *call) {
    add_block_of(call, (struct bounded_form){.pairs = true});
}

APART void add_bounded_far_products(const struct bounded_call *call) {
    add_block_of(call, (struct bounded_form){.pairs = true, .is_shifted = true});
}

APART void add_bounded_squares(const struct bounded_call *call) {
    add_block_of(call, (struct bounded_form){.squares = true, .is_shifted = true});
}

APART void add_bounded_moments(const struct bounded_call *call) {
    add_block_of(call, (struct bounded_form){.values = true, .squares = true, .is_shifted = true});
}

wf_add_bounded_function WF_LOOPS_NAME(add_bounded, TYPE, TIER);

void WF_LOOPS_NAME(add_bounded, TYPE, TIER)(const struct wf_bounded_slots *slots, const struct wf_bounded *asked, const void *x,
                                            const void *y, const int64_t *key, size_t count) {
    const struct bounded_call call = {slots, asked, x, y, key, count};
    switch (asked->parts) {
    case WF_PART_SUM: asked->is_mean ? add_bounded_means(&call) : add_bounded_values(&call); break;
    case WF_PART_ABS: add_bounded_magnitudes(&call); break;
    case WF_PART_DOT: asked->shift && IS_F64 ? add_bounded_far_products(&call) : add_bounded_products(&call); break;
    case WF_PART_SQUARES: add_bounded_squares(&call); break;
    default: add_bounded_moments(&call);
    }
    forget_rounding();
}

wf_join_bounded_function WF_LOOPS_NAME(join_bounded, TYPE, TIER);

void WF_LOOPS_NAME(join_bounded, TYPE, TIER)(const struct wf_bounded *asked, double *into, const double *from,
                                             size_t words) {
    const bool counts = asked->is_mean || asked->parts & WF_PART_SQUARES;
    for (size_t i = 0; i < words; i += WF_BOUNDED_WORDS) {
        if (wf_bounded_is_empty(from + i)) continue;
        counts ? join_slot(into + i, from + i, KEPT_COUNT) : join_slot(into + i, from + i, KEPT_REST);
    }
    forget_rounding();
}

/* ---- results ---- */

/* The words of LANES slots. */
struct lane_words {
    vf64 sum, lost, bound, count;
};

INLINE struct lane_words words_at(const double *word, size_t words, size_t slots) {
    double lanes[WF_BOUNDED_WORDS][LANES] = {{0}};
    struct lane_words found;
    for (size_t lane = 0; lane < slots; lane++)
        for (int k = 0; k < WF_BOUNDED_WORDS; k++) lanes[k][lane] = word[lane * words + (size_t)k];
    memcpy(&found.sum, lanes[0], sizeof found.sum);
    memcpy(&found.lost, lanes[1], sizeof found.lost);
    memcpy(&found.bound, lanes[2], sizeof found.bound);
    memcpy(&found.count, lanes[3], sizeof found.count);
    return found;
}

INLINE struct few_sums few_of(struct lane_words words) {
    const struct pair none = {{0}, {0}};
    return (struct few_sums){.value = {words.sum, words.lost}, .square = none, .bound = words.bound, .lost = {0}};
}

INLINE vf64 select_lanes(vi64 where, vf64 a, vf64 b) {
    return (vf64)(((vi64)a & where) | ((vi64)b & ~where));
}

/* Means of sums that are exact, and of others. */
INLINE vf64 bounded_mean(struct few_sums *sums, vf64 n) {
    const struct lane_quotient asked = {.count = n, .divisor = n};
    const vi64 is_exact = (vi64)(sums->bound == 0) & (IS_F64 ? (vi64)(n == n) : (vi64)(sums->value.low == 0));
    struct few_sums within = *sums;
    const vf64 found = mean_within(&within, &asked);
    vf64 exact = sums->value.high / n;
    vi64 lost = {0};
    if (IS_F64)
        exact = mean_of_pair(&lost, sums->value, n, false);
    else
        exact = round_to_odd(exact, fused(-exact, n, sums->value.high));
    sums->lost = (lost & is_exact) | (within.lost & ~is_exact);
    return select_lanes(is_exact, exact, found);
}

/* What the sum of three is rounded to, as an element: what is least of it to odd. */
INLINE vf64 rounded_of_three(struct pair sum, vf64 rest) {
    const vf64 low = odd_sum(sum.low, rest);
    return IS_F64 ? sum.high + low : round_to_element(odd_sum(sum.high, low));
}

/* The sum of three, to less than a bound: a lane fails unless all that it may be is rounded alike.  A sum of nothing but -0 is
 * -0. */
INLINE vf64 rounded_within(vi64 *lost, struct lane_words words) {
    const struct pair sum = two_sum(words.sum, words.lost), low = two_sum(sum.low, words.bound);
    const struct pair upper = two_sum(sum.high, low.high);
    const struct pair lower = two_sum(upper.low, low.low);
    const vf64 bound = words.count * (1 + 0x1p-4) + magnitude_of_f64(lower.low) * 0x1p-50;
    const vf64 width = (vf64)((vi64)bound & (vi64)(words.count != 0));
    const struct pair high = {upper.high, lower.high};
    const vf64 found = rounded_of_three(high, lower.low - width), other = rounded_of_three(high, lower.low + width);
    *lost = ~(vi64)(found == other);
    return (vf64)((vi64)found | ((vi64)words.sum & (vi64)(words.sum == 0) & (vi64)(found == 0)));
}

/* Sums, or means, and *special: infinities and NaNs are what the sum is, unless it may have become too large on the way, or a
 * NaN is an error.  The sum of no elements is 0. */
INLINE vf64 bounded_sum(struct few_sums *sums, vf64 *special, const struct wf_bounded *asked, struct lane_words words) {
    const vi64 is_empty = (vi64)words.lost == INT64_MIN;
    const vi64 is_finite = (vi64)(sums->value.high - sums->value.high == 0);
    const vi64 is_nan = ~(vi64)(sums->value.high == sums->value.high);
    const bool overflows = IS_F64 && asked->parts == WF_PART_DOT && !asked->shift;
    vf64 found = asked->is_mean ? bounded_mean(sums, select_lanes(is_empty, (vf64){0} + 1, words.count))
                                : rounded_within(&sums->lost, words);
    sums->lost &= ~is_empty & is_finite;
    if (asked->is_mean) sums->lost |= is_empty;
    if (overflows) sums->lost |= ~is_finite;
    if (asked->nan == WF_NAN_ERROR) sums->lost |= is_nan;
    *special = (vf64)((vi64)sums->value.high & ~is_finite);
    return (vf64)((vi64)found & ~is_empty);
}

/* 2-norms, variances and their roots.  Where squares are NaN, so are some elements. */
INLINE vf64 bounded_variance(struct few_sums *sums, vf64 *special, const struct wf_bounded *asked, vf64 count, vf64 tiny) {
    const double count_max = 1 << 26; /* n * (n - ddof) is an f64 */
    const bool is_norm = asked->parts == WF_PART_SQUARES;
    const vf64 free = count - asked->ddof, one = (vf64){0} + 1;
    const vi64 has_value = (vi64)(count < count_max) & (is_norm ? (vi64)(count == count) : (vi64)(free > 0));
    const vi64 is_nan = ~(vi64)(sums->square.high == sums->square.high);
    const vf64 n = select_lanes(has_value, count, one), divisor = is_norm ? one : n * select_lanes(has_value, free, one);
    const struct lane_quotient quotient = {n, divisor, false, asked->is_root, is_norm};
    if (is_norm) sums->value.high = sums->square.high + tiny; /* not 0 if there was something */
    const vf64 found = variance_of(sums, &quotient);
    sums->lost = (sums->lost & ~is_nan) | ~has_value;
    if (asked->nan == WF_NAN_ERROR) sums->lost |= is_nan;
    *special = (vf64)((vi64)sums->square.high & is_nan);
    return found;
}

/* The result of what was multiplied by 2^-shift: if it is too large, an infinity. */
INLINE vf64 unshifted(vf64 x, const struct wf_bounded *asked) {
    const bool are_squares = asked->parts & WF_PART_SQUARES && !asked->is_root;
    const int first = asked->shift / 2, power = are_squares ? 2 : 1;
    return x * ldexp(1, power * first) * ldexp(1, power * (asked->shift - first));
}

/* An infinity, or the NaN that results are. */
static void store_special(storage *result, double special) {
    const uword nan = INFINITY_BITS | HIDDEN_BIT >> 1, infinity = INFINITY_BITS | (special < 0 ? MINUS_ZERO : 0);
    const uword bits = special == special ? infinity : nan;
    memcpy(result, &bits, sizeof bits);
}

/* At most LANES slots. */
INLINE void round_some(const struct wf_bounded *asked, const double *word, size_t slots, storage *results, bool *has_failed) {
    const size_t words = wf_bounded_words(asked->parts);
    const struct lane_words first = words_at(word, words, slots), last = words_at(word + words - WF_BOUNDED_WORDS, words, slots);
    struct few_sums sums = few_of(first);
    storage found[LANES];
    vf64 exact, special;
    if (asked->parts & WF_PART_SQUARES) {
        sums.square = (struct pair){last.sum, last.lost};
        exact = bounded_variance(&sums, &special, asked, last.count, last.bound);
    } else {
        exact = bounded_sum(&sums, &special, asked, first);
    }
    vf64 rounded = round_to_element(exact);
    if (IS_F64) rounded = unshifted(rounded, asked);
    const vi64 is_large = ~(vi64)(rounded - rounded == 0) & (vi64)(special == 0);
    if (ELEMENT != ELEMENT_F32 && !IS_F64) sums.lost |= is_large; /* which is no infinity */
    store_elements(found, rounded);
    memcpy(results, found, slots * sizeof(storage));
    for (size_t lane = 0; lane < slots; lane++) {
        has_failed[lane] = sums.lost[lane];
        if (special[lane] != 0) store_special(&results[lane], special[lane]);
    }
}

wf_round_bounded_function WF_LOOPS_NAME(round_bounded, TYPE, TIER);

void WF_LOOPS_NAME(round_bounded, TYPE, TIER)(const struct wf_bounded *asked, const double *word, size_t slots, void *results,
                                              bool *has_failed) {
    const size_t words = wf_bounded_words(asked->parts);
    for (size_t i = 0; i < slots; i += LANES)
        round_some(asked, word + i * words, slots - i < LANES ? slots - i : LANES, (storage *)results + i, has_failed + i);
    forget_rounding();
}
