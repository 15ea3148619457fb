/* Of a reduction: the elements that its results are of, if these are not all. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "hint_kinds.h"

struct shape {
    uint64_t count, block, grid, rows; /* rows: 0: not by row */
};

struct subset {
    bool (*takes)(const struct shape *shape, uint64_t i, uint64_t parameter);
    uint64_t parameter;
    const char *which, *cure;
    bool is_of_each_block; /* each block has the same result, and adds it */
};

enum { WARP = 32 };

/* ---- which elements ---------------------------------------------------------------------------------- */

static uint64_t thread_of(const struct shape *shape, uint64_t i) { return i % shape->block; }

static bool is_of_half(const struct shape *shape, uint64_t i, uint64_t halvings) { return thread_of(shape, i) < shape->block >> halvings; }
static bool is_of_first_threads(const struct shape *shape, uint64_t i, uint64_t threads) { return thread_of(shape, i) < threads; }
static bool is_of_every(const struct shape *shape, uint64_t i, uint64_t distance) { return !(thread_of(shape, i) % distance); }
static bool is_of_first_lanes(const struct shape *shape, uint64_t i, uint64_t lanes) { return thread_of(shape, i) % WARP < lanes; }
static bool is_of_first_block(const struct shape *shape, uint64_t i, uint64_t unused) {
    (void)unused;
    return i / shape->block % shape->grid == 0;
}
static bool is_before_last_block(const struct shape *shape, uint64_t i, uint64_t unused) {
    (void)unused;
    return i < (shape->count - 1) / shape->block * shape->block;
}
static bool is_of_whole(const struct shape *shape, uint64_t i, uint64_t threads) {
    const uint64_t whole = threads ? threads : shape->block;
    return i < shape->count / whole * whole;
}
static bool is_of_first_rows(const struct shape *shape, uint64_t i, uint64_t unused) {
    (void)unused;
    return !shape->rows || i < shape->rows;
}
static bool is_one_each(const struct shape *shape, uint64_t i, uint64_t unused) {
    (void)unused;
    return i < shape->block * shape->grid;
}
static bool is_before_last(const struct shape *shape, uint64_t i, uint64_t unused) {
    (void)unused;
    return i + 1 < shape->count;
}
static bool is_behind_first(const struct shape *shape, uint64_t i, uint64_t unused) {
    (void)shape, (void)unused;
    return i > 0;
}
static bool is_not_of_last_thread(const struct shape *shape, uint64_t i, uint64_t unused) {
    (void)unused;
    return thread_of(shape, i) + 1 < shape->block;
}
static bool is_not_of_first_thread(const struct shape *shape, uint64_t i, uint64_t unused) {
    (void)unused;
    return thread_of(shape, i) > 0;
}

static const char others[] = "what the others have must be joined to it";
static const char first_step[] = "the first step of the tree must join what is half a block apart, and no step may be missing";
static const char last_step[] = "the steps of the tree must go on to that of distance 1";
static const char of_lanes[] = "the first step of a warp's tree must be one of 16 lanes";

/* Where two are the same elements in each launch, the first is told. */
#define SOME "%1$" PRIu64 " of %2$" PRIu64 " elements, "

static const struct subset subsets[SUBSETS] = {
    {is_one_each, 0, "the first %1$" PRIu64 " of %2$" PRIu64 " elements, one for each thread", "in a loop, each thread must go on to the element that is as many further on", false},
    {is_of_first_rows, 0, SOME "as many as there are rows", "compare the index with the other extent", false},
    {is_of_first_block, 0, SOME "the first block's, once for each block", "the index must begin with blockIdx.x * blockDim.x + threadIdx.x", true},
    {is_before_last_block, 0, SOME "all but the last block's", "the last block must take part as the others do", false},
    {is_of_first_block, 0, SOME "the first block's alone", others, false},
    {is_of_whole, 0, SOME "those of whole blocks", "the last block, which has fewer elements, must take part, too", false},
    {is_of_whole, WARP, SOME "those of whole warps", "the last warp, which has fewer elements, must take part, too", false},
    {is_before_last, 0, SOME "all but the last one", "the guard must let the last index through, as `<` and the number of elements do", false},
    {is_behind_first, 0, SOME "all but the first one", "the first index is 0", false},
    {is_not_of_last_thread, 0, SOME "all but those of each block's last thread", "it must take part, too", false},
    {is_not_of_first_thread, 0, SOME "all but those of each block's first thread", "it must take part, too", false},
    {is_of_half, 1, SOME "those of the first half of each block's threads", first_step, false},
    {is_of_half, 2, SOME "those of the first quarter of each block's threads", first_step, false},
    {is_of_first_threads, WARP, SOME "those of each block's first 32 threads", others, false},
    {is_of_first_threads, 1, SOME "those of each block's thread 0", others, false},
    {is_of_every, 2, SOME "those of every second thread", last_step, false},
    {is_of_every, 4, SOME "those of every fourth thread", last_step, false},
    {is_of_first_lanes, 16, SOME "those of the first 16 lanes of each warp", of_lanes, false},
    {is_of_first_lanes, 8, SOME "those of the first 8 lanes of each warp", of_lanes, false},
    {is_of_first_lanes, 1, SOME "those of lane 0 of each warp", others, false},
};

/* ---- their result ------------------------------------------------------------------------------------ */

/* A subset's, or all; of one of the output's elements. */
struct fold {
    const struct wrong_result *wrong;
    const struct subset *subset;
    struct shape shape;
    struct terms terms;
    uint64_t step; /* from one term to the next */
    long double result;
    uint64_t taken;
};

static long double term_at(const struct fold *fold, size_t input, uint64_t i) {
    const struct judge_task *task = fold->wrong->task;
    const size_t argument = task->reference.inputs[input];
    const struct buffer *buffer = &fold->wrong->buffers->items[argument];
    const bool is_of_each_row = input && buffer->count != fold->terms.buffer->count;
    return element_get(task->arguments[argument].type, buffer->bytes, is_of_each_row ? i : fold->terms.begin + i * fold->step);
}

static void take(struct fold *fold, uint64_t i) {
    const wf_op op = fold->wrong->task->reference.op;
    const long double term = term_at(fold, 0, i), best = fold->result;
    const bool is_index = op == WF_ARGMAX || op == WF_ARGMIN;
    if (isnan(term)) return; /* of ops that leave it out */
    const bool is_first = !fold->taken++;
    const long double other = is_index && !is_first ? term_at(fold, 0, (uint64_t)best) : best;
    const bool is_better = is_first || (op == WF_MAX || op == WF_ARGMAX ? term > other : term < other);
    if (op == WF_SUM) fold->result += term;
    else if (op == WF_DOT) fold->result += term * term_at(fold, 1, i);
    else if (op == WF_NORM2) fold->result += term * term;
    else if (is_better) fold->result = is_index ? (long double)i : term;
}

static long double result_of(struct fold *fold) {
    fold->result = 0;
    fold->taken = 0;
    for (uint64_t i = 0; i < fold->shape.count; i++)
        if (!fold->subset || fold->subset->takes(&fold->shape, i, fold->subset->parameter)) take(fold, i);
    if (fold->subset && fold->subset->is_of_each_block) fold->result *= fold->shape.grid;
    return is_op(fold->wrong, WF_NORM2) ? sqrtl(fold->result) : fold->result;
}

static bool is_same(const struct wrong_result *wrong, long double value, long double other) {
    return is_op(wrong, WF_NORM2) ? value == other || is_near(value, other) : value == other;
}

static bool are_results(struct fold *fold) {
    const struct wrong_result *wrong = fold->wrong;
    for (uint64_t r = 0; r < wrong->expected->count; r++) {
        fold->terms = terms_of(wrong, r);
        if (!is_same(wrong, wrong->values[r], result_of(fold))) return false;
    }
    return true;
}

static bool are_counts(struct fold *fold) {
    const struct wrong_result *wrong = fold->wrong;
    const uint64_t bins = wrong->expected->count;
    uint64_t *counts = calloc(bins + 1, sizeof *counts);
    if (!counts) return false;
    fold->terms = terms_of(wrong, 0);
    for (uint64_t i = 0; i < fold->shape.count; i++) {
        const long double bin = fold->subset->takes(&fold->shape, i, fold->subset->parameter) ? term_at(fold, 0, i) : -1;
        if (bin >= 0 && bin < bins) counts[(uint64_t)bin]++;
    }
    uint64_t r = 0;
    while (r < bins && wrong->values[r] == counts[r]) r++;
    free(counts);
    return r == bins;
}

static uint64_t left_out(const struct fold *fold) {
    uint64_t count = 0;
    for (uint64_t i = 0; i < fold->shape.count; i++) count += !fold->subset->takes(&fold->shape, i, fold->subset->parameter);
    return count;
}

static bool is_choice(const struct wrong_result *wrong) {
    return is_op(wrong, WF_MAX) || is_op(wrong, WF_MIN) || is_op(wrong, WF_ARGMAX) || is_op(wrong, WF_ARGMIN);
}

static bool is_linear(const struct wrong_result *wrong) { return is_op(wrong, WF_SUM) || is_op(wrong, WF_DOT); }

/* Sums of numbers that are not whole are rounded in an order that nobody knows. */
static bool has_terms(const struct wrong_result *wrong) {
    const bool is_clear = wrong->is_finite || (is_choice(wrong) && wrong->task->omits_nan);
    const bool is_sum = (is_linear(wrong) || is_op(wrong, WF_NORM2)) && wrong->is_whole;
    return is_clear && wrong->task->stage_count == 1 && (is_choice(wrong) || is_sum || wrong->task->reference.kind == REFERENCE_HISTOGRAM);
}

static struct fold fold_of(const struct wrong_result *wrong, const struct subset *subset) {
    const struct scope *scope = wrong->scope;
    const bool by_row = wrong->task->reference.by_row;
    struct fold fold = {.wrong = wrong, .subset = subset, .terms = terms_of(wrong, 0), .step = 1};
    fold.shape = (struct shape){fold.terms.count, scope->block, by_row ? 1 : scope->grid, by_row ? (uint64_t)scope->size->rows : 0};
    return fold;
}

static const char *noun_of(const struct wrong_result *wrong) {
    static const struct {
        wf_op op;
        const char *noun;
    } nouns[] = {{WF_SUM, "sum"}, {WF_DOT, "sum"}, {WF_NORM2, "length"}, {WF_MAX, "largest"}, {WF_MIN, "smallest"},
                 {WF_ARGMAX, "index of the largest"}, {WF_ARGMIN, "index of the smallest"}};
    for (size_t i = 0; i < sizeof nouns / sizeof *nouns; i++)
        if (is_op(wrong, nouns[i].op)) return nouns[i].noun;
    return "histogram";
}

enum hint_says hint_is_of_some(const struct wrong_result *wrong, size_t number, char *text) {
    const bool is_histogram = wrong->task->reference.kind == REFERENCE_HISTOGRAM;
    struct fold fold = fold_of(wrong, &subsets[number]);
    if (!has_terms(wrong) || !fold.shape.count) return HINT_SILENT;
    const uint64_t left = left_out(&fold);
    if (!left || (fold.subset->is_of_each_block && !is_linear(wrong))) return HINT_FAILS; /* they are all, and the result is wrong */
    if (!(is_histogram ? are_counts(&fold) : are_results(&fold))) return HINT_FAILS;
    if (left == fold.shape.count) return HINT_SILENT; /* of nothing, which says little */
    const size_t begin = (size_t)snprintf(text, HINT_CAPACITY, "; that is the %s of ", noun_of(wrong));
    const size_t end = begin + (size_t)snprintf(text + begin, HINT_CAPACITY - begin, fold.subset->which, fold.shape.count - left, fold.shape.count);
    snprintf(text + end, HINT_CAPACITY - end, ": %s", fold.subset->cure);
    return HINT_HOLDS;
}

/* ---- elements that several blocks take ------------------------------------------------------------------ */

static uint64_t times_from_block_on(const struct shape *shape, uint64_t i) {
    const uint64_t block = i / shape->block;
    return 1 + (block < shape->grid ? block : shape->grid - 1);
}

static uint64_t times_of_overlap(const struct shape *shape, uint64_t i) {
    uint64_t times = 0;
    for (uint64_t b = 0; b < shape->grid; b++) times += i >= b * shape->grid && i - b * shape->grid < shape->block;
    return times;
}

static const struct repetition {
    uint64_t (*times)(const struct shape *shape, uint64_t i);
    const char *text;
} repetitions[REPETITIONS] = {
    {times_from_block_on, "that is the sum if each block takes its own elements and those of all blocks behind it: the loop must go on by "
                          "gridDim.x * blockDim.x elements, not by blockDim.x"},
    {times_of_overlap, "that is the sum if a block begins gridDim.x elements behind the one before: the index must begin with "
                       "blockIdx.x * blockDim.x + threadIdx.x"},
};

static bool are_repeated(struct fold *fold, const struct repetition *repetition) {
    const bool is_dot = is_op(fold->wrong, WF_DOT);
    for (uint64_t r = 0; r < fold->wrong->expected->count; r++) {
        long double sum = 0;
        fold->terms = terms_of(fold->wrong, r);
        for (uint64_t i = 0; i < fold->shape.count; i++)
            sum += repetition->times(&fold->shape, i) * term_at(fold, 0, i) * (is_dot ? term_at(fold, 1, i) : 1);
        if (fold->wrong->values[r] != sum) return false;
    }
    return true;
}

enum hint_says hint_is_repeated(const struct wrong_result *wrong, size_t number, char *text) {
    struct fold fold = fold_of(wrong, NULL);
    if (!has_terms(wrong) || !is_linear(wrong) || fold.shape.grid < 2) return HINT_SILENT;
    if (!are_repeated(&fold, &repetitions[number])) return HINT_FAILS;
    snprintf(text, HINT_CAPACITY, "; %s", repetitions[number].text);
    return HINT_HOLDS;
}

/* ---- rows that are taken from elsewhere ------------------------------------------------------------------ */

static const struct pitch {
    bool is_across, is_of_rows; /* from the first row down, a column for each row; by as many as there are rows, else columns */
    const char *text;
} pitches[PITCHES] = {
    {true, false, "that is the result of a column: the index must be row * cols + column"},
    {false, true, "each row is taken to begin `rows` elements behind the one before: the index must be row * cols + column"},
    {true, true, "the elements of a row are taken from places `rows` apart: the index must be row * cols + column"},
};

static bool is_with(struct fold *fold, const struct pitch *pitch) {
    const struct wrong_result *wrong = fold->wrong;
    const uint64_t step = (uint64_t)(pitch->is_of_rows ? wrong->scope->size->rows : wrong->scope->size->cols);
    fold->step = pitch->is_across ? step : 1;
    for (uint64_t r = 0; r < wrong->expected->count; r++) {
        fold->terms.begin = pitch->is_across ? r : r * step;
        if (fold->terms.begin + (fold->shape.count - 1) * fold->step >= fold->terms.buffer->count) return false;
        if (!is_same(wrong, wrong->values[r], result_of(fold))) return false;
    }
    return true;
}

enum hint_says hint_is_of_pitch(const struct wrong_result *wrong, size_t number, char *text) {
    struct fold fold = fold_of(wrong, NULL);
    if (!has_terms(wrong) || !fold.shape.count || !wrong->task->reference.by_row) return HINT_SILENT;
    if (!is_with(&fold, &pitches[number])) return HINT_FAILS;
    snprintf(text, HINT_CAPACITY, "; %s", pitches[number].text);
    return HINT_HOLDS;
}
