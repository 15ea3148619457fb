#include "hints.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "hint_kinds.h"

/* The first element of that value, or the first NaN; the buffer's count: there is none. */
static uint64_t find_element(wf_type type, const struct buffer *buffer, long double value) {
    uint64_t i = 0;
    for (; i < buffer->count; i++) {
        const long double element = element_get(type, buffer->bytes, i);
        if (element == value || (isnan(element) && isnan(value))) break;
    }
    return i;
}

static long double term_at(const struct terms *terms, uint64_t i) { return element_get(terms->argument->type, terms->buffer->bytes, i); }

static enum hint_says tell(char *text, const char *words) {
    snprintf(text, HINT_CAPACITY, "; %s", words);
    return HINT_HOLDS;
}

/* ---- all results are the right ones, changed alike ------------------------------------------------------ */

struct change {
    const struct wrong_result *wrong;
    uint64_t output;
    long double exact, count; /* count: of the terms */
    uint64_t block, grid;     /* of a row one block */
};

static bool is_times_grid(const struct change *c, long double value) { return c->grid > 1 && value == c->grid * c->exact; }
static bool is_times_block(const struct change *c, long double value) { return c->block > 1 && value == c->block * c->exact; }
static bool is_times_warp(const struct change *c, long double value) { return value == 32 * c->exact; }
static bool has_ones(const struct change *c, long double value) { return value == c->exact + c->block * c->grid - c->count; }
static bool is_divided(const struct change *c, long double value) { return c->count > 1 && is_near(value, c->exact / c->count); }
static bool is_times_count(const struct change *c, long double value) { return c->count > 1 && is_near(value, c->exact * c->count); }
static bool is_square(const struct change *c, long double value) { return is_near(value, c->exact * c->exact); }
static bool is_root(const struct change *c, long double value) { return is_near(value, sqrtl(c->exact)); }
static bool is_root_mean(const struct change *c, long double value) { return c->count > 1 && is_near(value, c->exact / sqrtl(c->count)); }
static bool is_by_one_less(const struct change *c, long double value) {
    return c->count > 1 && is_near(value, c->exact * c->count / (c->count - 1));
}
static bool is_one_more(const struct change *c, long double value) { return value == c->exact + 1; }
static bool is_thread(const struct change *c, long double value) { return value == fmodl(c->exact, c->block); }
static bool is_value(const struct change *c, long double value) {
    const struct terms terms = terms_of(c->wrong, c->output);
    return c->count > c->exact && value == truncl(term_at(&terms, terms.begin + (uint64_t)c->exact));
}

static uint64_t blocks_of(const struct change *c) { return c->grid; }
static uint64_t threads_of(const struct change *c) { return c->block; }
static uint64_t terms_number(const struct change *c) { return (uint64_t)c->count; }

static const struct alteration {
    wf_op op, other_op; /* the same one, if no other */
    bool (*is_it)(const struct change *c, long double value);
    bool needs_whole;
    uint64_t (*number)(const struct change *c); /* that the text has a place for; or NULL */
    const char *text;
} alterations[] = {
    {WF_SUM, WF_DOT, is_times_grid, true, blocks_of, "that is %1$" PRIu64 " times as much, and there are %1$" PRIu64 " blocks: each adds up all elements; the index "
     "must begin with blockIdx.x * blockDim.x + threadIdx.x and, in a loop, go on by gridDim.x * blockDim.x"},
    {WF_SUM, WF_DOT, is_times_block, true, threads_of, "that is %1$" PRIu64 " times as much, and a block has %1$" PRIu64 " threads: each adds the block's result; one alone must, as by "
     "if (threadIdx.x == 0)"},
    {WF_SUM, WF_DOT, is_times_warp, true, NULL, "that is 32 times as much: each lane adds its warp's result; one alone must, as by if (threadIdx.x % 32 == 0)"},
    {WF_SUM, WF_DOT, has_ones, true, NULL, "that is 1 too much for each thread that has no element: what stands for an element that is not there must be 0"},
    {WF_SUM, WF_SUM, is_divided, true, terms_number, "that is the mean: do not divide by the number of the %1$" PRIu64 " elements"},
    {WF_MEAN, WF_VAR, is_times_count, false, terms_number, "that is %1$" PRIu64 " times as much, and there are %1$" PRIu64 " elements: divide by their number"},
    {WF_NORM2, WF_NORM2, is_square, false, NULL, "that is its square: take the root"},
    {WF_NORM2, WF_NORM2, is_root_mean, false, terms_number, "that is the root of the mean of the squares: do not divide by the number of the %1$" PRIu64 " elements"},
    {WF_VAR, WF_VAR, is_root, false, NULL, "that is its root, the standard deviation: take no root"},
    {WF_VAR, WF_STD, is_by_one_less, false, terms_number, "that is the sum of the squares divided by one less than the %1$" PRIu64 " elements: divide by their number"},
    {WF_STD, WF_STD, is_square, false, NULL, "that is its square, the variance: take the root"},
    {WF_ARGMAX, WF_ARGMIN, is_one_more, false, NULL, "that is one more than the index: the first index is 0"},
    {WF_ARGMAX, WF_ARGMIN, is_thread, false, NULL, "that is the number of the thread which found it: keep the index of the element beside it"},
    {WF_ARGMAX, WF_ARGMIN, is_value, false, NULL, "that is the element, not its index"},
};
enum { ALTERATIONS = sizeof alterations / sizeof *alterations };

static struct change change_of(const struct wrong_result *wrong, uint64_t output) {
    const uint64_t grid = wrong->task->reference.by_row ? 1 : wrong->scope->grid;
    return (struct change){wrong, output, wrong->expected->values[output], terms_of(wrong, output).count, wrong->scope->block, grid};
}

static enum hint_says hint_is_altered(const struct wrong_result *wrong, size_t number, char *text) {
    const struct alteration *alteration = &alterations[number];
    const bool is_one = wrong->task->stage_count == 1 && wrong->is_finite;
    if (!is_one || !(is_op(wrong, alteration->op) || is_op(wrong, alteration->other_op)) || (alteration->needs_whole && !wrong->is_whole))
        return HINT_SILENT;
    bool differs = false;
    for (uint64_t r = 0; r < wrong->expected->count; r++) {
        const struct change c = change_of(wrong, r);
        if (!isfinite(c.exact)) return HINT_SILENT;
        if (!alteration->is_it(&c, wrong->values[r]) && (wrong->is_wrong[r] || c.exact != 0)) return HINT_FAILS;
        differs |= wrong->is_wrong[r];
    }
    const struct change c = change_of(wrong, wrong->element);
    const size_t begin = (size_t)snprintf(text, HINT_CAPACITY, "; ");
    snprintf(text + begin, HINT_CAPACITY - begin, alteration->text, alteration->number ? alteration->number(&c) : 0);
    return differs ? HINT_HOLDS : HINT_SILENT;
}

/* ---- what a single result tells -------------------------------------------------------------------------- */

static enum hint_says hint_is_no_element(const struct wrong_result *wrong, size_t number, char *text) {
    const bool is_largest = is_op(wrong, WF_MAX);
    const long double value = wrong->values[wrong->element];
    (void)number;
    if (!(is_largest || is_op(wrong, WF_MIN)) || isnan(value)) return HINT_SILENT;
    const struct terms terms = terms_of(wrong, wrong->element);
    const wf_type type = terms.argument->type;
    if (!terms.count || find_element(type, terms.buffer, value) < terms.buffer->count) return HINT_SILENT;
    const bool is_negated = find_element(type, terms.buffer, -value) < terms.buffer->count;
    const char *none = isinf(value) && (value < 0) == is_largest
        ? "no element of `%s` is that, and yet none took its place: how two are compared is wrong, as where the bits of negative floats are "
          "compared as those of integers, which reverses their order"
        : is_negated ? "no element of `%s` is that, but one is as large with the other sign, which must be kept"
                     : "no element of `%s` is that, as where the search begins with another number, or one stands for elements that a thread lacks: "
                       "it must be %sINFINITY or an element";
    char words[HINT_CAPACITY - 2];
    snprintf(words, sizeof words, none, terms.argument->name, is_largest ? "-" : "");
    return tell(text, words);
}

/* Of finite elements with several values. */
static enum hint_says hint_is_opposite(const struct wrong_result *wrong, size_t number, char *text) {
    (void)number;
    const bool is_largest = is_op(wrong, WF_MAX) || is_op(wrong, WF_ARGMAX), is_index = is_op(wrong, WF_ARGMAX) || is_op(wrong, WF_ARGMIN);
    if (!(is_largest || is_index || is_op(wrong, WF_MIN)) || !wrong->is_finite) return HINT_SILENT;
    const struct terms terms = terms_of(wrong, wrong->element);
    const long double value = wrong->values[wrong->element];
    if (is_index && !(value >= 0 && value < terms.count)) return HINT_FAILS;
    const long double got = is_index ? term_at(&terms, terms.begin + (uint64_t)value) : value;
    if (find_element(terms.argument->type, terms.buffer, got) == terms.buffer->count) return HINT_FAILS;
    bool are_negative = true;
    for (uint64_t i = terms.begin; i < terms.begin + terms.count; i++) {
        const long double term = term_at(&terms, i);
        if (is_largest ? term < got : term > got) return HINT_FAILS;
        are_negative &= term < 0;
    }
    if (is_largest && are_negative && is_float(terms.argument->type))
        return tell(text, "that is the smallest, of negative numbers: a comparison is the wrong way round, or the bits of floats are compared as those of "
                          "integers, as by atomicMax() on an int *, which reverses the order of negative ones");
    return tell(text, is_largest ? "that is the smallest: a comparison, or fminf() for fmaxf(), is the wrong way round"
                                 : "that is the largest: a comparison, or fmaxf() for fminf(), is the wrong way round");
}

static enum hint_says hint_is_no_index(const struct wrong_result *wrong, size_t number, char *text) {
    (void)number;
    if (!is_op(wrong, WF_ARGMAX) && !is_op(wrong, WF_ARGMIN)) return HINT_SILENT;
    const long double value = wrong->values[wrong->element];
    const uint64_t count = terms_of(wrong, wrong->element).count;
    if (!count || (value >= 0 && value < count)) return HINT_SILENT;
    snprintf(text, HINT_CAPACITY, "; that is no index of an element: the first is 0, the last %" PRIu64, count - 1);
    return HINT_HOLDS;
}

/* Only where no element takes the place of what the search begins with. */
static enum hint_says hint_is_no_start(const struct wrong_result *wrong, size_t number, char *text) {
    if (wrong->is_finite) return HINT_FAILS;
    if (hint_is_no_index(wrong, number, text) != HINT_HOLDS) return HINT_SILENT;
    return tell(text, is_op(wrong, WF_ARGMAX) ? "that is no index of an element: what the search begins with is found where no element is greater, as "
                                                "if all are infinities; begin with an element and its index"
                                              : "that is no index of an element: what the search begins with is found where no element is smaller, as "
                                                "if all are infinities; begin with an element and its index");
}

/* A scan whose elements are all those of the place before, or behind. */
static enum hint_says hint_is_shifted(const struct wrong_result *wrong, size_t number, char *text) {
    const struct reference *reference = &wrong->task->reference;
    const struct expected *expected = wrong->expected;
    const uint64_t shift = reference->is_inclusive ? 1 : 0; /* out[i + shift] is expected[i + 1 - shift] */
    (void)number;
    if (reference->kind != REFERENCE_SCAN || !wrong->is_whole || !wrong->is_finite || expected->count < 2) return HINT_SILENT;
    for (uint64_t i = 0; i + 1 < expected->count; i++)
        if (wrong->values[i + shift] != expected->values[i + 1 - shift]) return HINT_FAILS;
    return tell(text, shift ? "each is the sum of the elements before its own: its own must be added, too"
                            : "each is the sum up to its own element, which must be left out");
}

static enum hint_says hint_is_of_floats(const struct wrong_result *wrong, size_t number, char *text) {
    const wf_type type = wrong->task->arguments[wrong->task->reference.output].type;
    const long double value = wrong->values[wrong->element], exact = wrong->expected->values[wrong->element];
    (void)number;
    if (type != WF_F64 || !isfinite(exact) || isinf(value)) return HINT_SILENT;
    if (!is_near(value, exact)) return HINT_FAILS;
    if (fabsl(value - exact) < 0x1p-40L * fabsl(exact)) return HINT_SILENT;
    return tell(text, "that is as far off as floats are: some variable, constant or function, such as sqrtf, is of float and must be of double");
}

/* Of elements that are not. */
static enum hint_says hint_is_whole(const struct wrong_result *wrong, size_t number, char *text) {
    (void)number;
    const wf_type type = wrong->task->arguments[wrong->task->reference.output].type;
    if (!is_float(type) || !wrong->is_finite) return HINT_SILENT;
    if (wrong->has_whole) return wrong->is_whole ? HINT_FAILS : HINT_SILENT; /* of whole numbers it goes wrong, too */
    uint64_t whole = 0;
    for (uint64_t r = 0; r < wrong->expected->count; r++) {
        if (!wrong->is_wrong[r]) continue;
        if (wrong->values[r] != floorl(wrong->values[r])) return HINT_FAILS;
        whole++;
    }
    return whole ? tell(text, "that is a whole number, though the elements are not: some variable, constant, quotient or conversion is of an integer type")
                 : HINT_SILENT;
}

/* Of an index of the largest or smallest element that is one of several equal ones. */
static enum hint_says hint_is_tie(const struct wrong_result *wrong, size_t number, char *text) {
    (void)number;
    const bool is_largest = is_op(wrong, WF_ARGMAX);
    if (!(is_largest || is_op(wrong, WF_ARGMIN))) return HINT_SILENT;
    const struct terms terms = terms_of(wrong, wrong->element);
    const long double value = wrong->values[wrong->element], exact = wrong->expected->values[wrong->element];
    if (!(value >= 0 && value < terms.count && exact >= 0 && exact < terms.count)) return HINT_FAILS;
    const uint64_t got = terms.begin + (uint64_t)value, wanted = terms.begin + (uint64_t)exact;
    const long double one = term_at(&terms, wanted), other = term_at(&terms, got);
    if (one != other && !(isnan(one) && isnan(other))) return HINT_FAILS;
    snprintf(text, HINT_CAPACITY,
             ": %s[%" PRIu64 "] and %s[%" PRIu64 "] are equal, both the %s, %.9Lg, and of equal elements the lowest index is wanted: where two are "
             "equal, compare their indices",
             terms.argument->name, got, terms.argument->name, wanted, is_largest ? "largest" : "smallest", one);
    return HINT_HOLDS;
}

/* Of a largest or smallest element that must leave NaN out, and is one, or another element. */
static enum hint_says hint_is_of_nan(const struct wrong_result *wrong, size_t number, char *text) {
    (void)number;
    const bool is_largest = is_op(wrong, WF_MAX);
    if (!wrong->task->omits_nan || !(is_largest || is_op(wrong, WF_MIN))) return HINT_SILENT;
    const struct terms terms = terms_of(wrong, wrong->element);
    const uint64_t nan = find_element(terms.argument->type, terms.buffer, NAN);
    if (nan == terms.buffer->count) return HINT_FAILS;
    if (find_element(terms.argument->type, terms.buffer, wrong->values[wrong->element]) == terms.buffer->count) return HINT_FAILS;
    snprintf(text, HINT_CAPACITY,
             "; %s[%" PRIu64 "] is a NaN, which must be left out: f%sf(a, b) does that, but a %c b ? a : b is b where either is a NaN, so it "
             "keeps a NaN that comes second and loses what was %s so far",
             terms.argument->name, nan, is_largest ? "max" : "min", is_largest ? '>' : '<', is_largest ? "largest" : "smallest");
    return HINT_HOLDS;
}

/* Of finite elements whose exponentials are none. */
static enum hint_says hint_is_overflow(const struct wrong_result *wrong, size_t number, char *text) {
    (void)number;
    if (wrong->task->reference.kind != REFERENCE_SOFTMAX) return HINT_SILENT;
    if (isfinite(wrong->values[wrong->element])) return HINT_SILENT;
    const struct terms terms = terms_of(wrong, 0);
    long double least = INFINITY, most = -INFINITY;
    for (uint64_t i = 0; i < terms.buffer->count; i++) {
        if (!isfinite(term_at(&terms, i))) return HINT_SILENT;
        least = fminl(least, term_at(&terms, i));
        most = fmaxl(most, term_at(&terms, i));
    }
    if (most < 88 && least > -87) return HINT_FAILS;
    return tell(text, "expf() is infinity above 88.7 and 0 below -104, so sum and quotient are no numbers: subtract the row's largest element first");
}

/* Each is the exponential of the difference from the row's largest element, whose own is 1. */
static enum hint_says hint_is_not_divided(const struct wrong_result *wrong, size_t number, char *text) {
    (void)number;
    const uint64_t cols = (uint64_t)wrong->scope->size->cols;
    const long double *exact = wrong->expected->values;
    if (wrong->task->reference.kind != REFERENCE_SOFTMAX || !wrong->is_finite || cols < 2) return HINT_SILENT;
    for (uint64_t i = 0; i < wrong->expected->count; i += cols) {
        long double most = 0;
        for (uint64_t c = i; c < i + cols; c++) most = fmaxl(most, exact[c]);
        for (uint64_t c = i; c < i + cols; c++)
            if (!is_near(wrong->values[c], exact[c] / most)) return HINT_FAILS;
    }
    return tell(text, "the largest of each row is 1, but the sum of each row must be: divide by the sum of the row's exponentials");
}

static enum hint_says hint_is_finite(const struct wrong_result *wrong, size_t number, char *text) {
    (void)number;
    if (wrong->is_finite) return HINT_FAILS; /* it goes wrong without them, too */
    if (wrong->task->reference.kind != REFERENCE_OP || isfinite(wrong->expected->values[wrong->element])) return HINT_SILENT;
    const struct terms terms = terms_of(wrong, wrong->element);
    for (uint64_t i = terms.begin; i < terms.begin + terms.count && i < terms.buffer->count; i++) {
        const long double element = term_at(&terms, i);
        if (isfinite(element)) continue;
        snprintf(text, HINT_CAPACITY, "; %s[%" PRIu64 "] is %Lg", terms.argument->name, i, element);
        return HINT_HOLDS;
    }
    return HINT_SILENT;
}

static enum hint_says hint_is_mismatch(const struct wrong_result *wrong, size_t number, char *text) {
    (void)number;
    return *wrong->mismatch ? tell(text, wrong->mismatch) : HINT_SILENT;
}

/* A float that is updated as an int. */
static enum hint_says hint_is_of_bits(const struct wrong_result *wrong, size_t number, char *text) {
    (void)number;
    const wf_type type = wrong->task->arguments[wrong->task->reference.output].type;
    if (type != WF_F32 || !wrong->is_whole || !wrong->is_finite || wrong->expected->values[wrong->element] == 0) return HINT_SILENT;
    for (uint64_t r = 0; r < wrong->expected->count; r++) {
        const float value = (float)wrong->values[r];
        int32_t bits;
        memcpy(&bits, &value, sizeof bits);
        if (wrong->is_wrong[r] && bits != wrong->expected->values[r]) return HINT_FAILS;
    }
    return tell(text, "its bits are those of the right number as an int: it is stored or updated through an int *, and must be through a float *");
}

/* ---- all of them ---------------------------------------------------------------------------------------- */

/* Those of one function, which are asked in turn; certain ones, that need one launch, are true of it whatever others show. */
static const struct {
    enum hint_says (*ask)(const struct wrong_result *wrong, size_t number, char *text);
    size_t count;
    uint64_t launches;
} kinds[] = {
    {hint_is_mismatch, 1, 1}, {hint_is_of_bits, 1, HINT_LAUNCHES}, {hint_is_altered, ALTERATIONS, HINT_LAUNCHES}, {hint_is_repeated, REPETITIONS, HINT_LAUNCHES}, {hint_is_opposite, 1, HINT_LAUNCHES}, {hint_is_of_pitch, PITCHES, HINT_LAUNCHES},
    {hint_is_of_some, SUBSETS, HINT_LAUNCHES}, {hint_is_tie, 1, HINT_LAUNCHES}, {hint_is_of_nan, 1, HINT_LAUNCHES},
    {hint_is_no_element, 1, 1}, {hint_is_no_start, 1, 1}, {hint_is_no_index, 1, 1},
    {hint_is_shifted, 1, HINT_LAUNCHES}, {hint_is_other_scan, SCANS, HINT_LAUNCHES},
    {hint_is_of_floats, 1, HINT_LAUNCHES}, {hint_is_whole, 1, HINT_LAUNCHES}, {hint_is_overflow, 1, 1}, {hint_is_not_divided, 1, HINT_LAUNCHES},
    {hint_is_moved, MOVES, HINT_LAUNCHES}, {hint_is_at, PLACES, HINT_LAUNCHES}, {hint_is_finite, 1, 1},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

size_t hint_count(void) {
    size_t count = 0;
    for (size_t k = 0; k < KINDS; k++) count += kinds[k].count;
    return count;
}

static size_t kind_of(size_t *hint) {
    size_t k = 0;
    for (; *hint >= kinds[k].count; k++) *hint -= kinds[k].count;
    return k;
}

enum hint_says hint_ask(size_t hint, const struct wrong_result *wrong, char *text) {
    const size_t k = kind_of(&hint);
    return kinds[k].ask(wrong, hint, text);
}

uint64_t hint_launches(size_t hint) { return kinds[kind_of(&hint)].launches; }

enum judge_cause hint_cause(size_t hint) {
    const size_t k = kind_of(&hint);
    return kinds[k].ask == hint_is_of_pitch || kinds[k].ask == hint_is_moved ? JUDGE_CAUSE_ELSEWHERE : JUDGE_CAUSE_EXPLAINED;
}
