/* The hints of hints.h, by what they look at; and what these share. */
#ifndef JUDGE_HINT_KINDS_H
#define JUDGE_HINT_KINDS_H

#include <math.h>

#include "hints.h"

/* The elements of the first input that an output's element is of. */
struct terms {
    const struct argument *argument;
    const struct buffer *buffer;
    uint64_t begin, count;
};
static inline struct terms terms_of(const struct wrong_result *wrong, uint64_t output) {
    const struct reference *reference = &wrong->task->reference;
    const struct buffer *buffer = &wrong->buffers->items[reference->inputs[0]];
    const uint64_t count = reference->by_row ? (uint64_t)wrong->scope->size->cols : buffer->count;
    return (struct terms){&wrong->task->arguments[reference->inputs[0]], buffer, reference->by_row ? output * count : 0, count};
}

static inline bool is_op(const struct wrong_result *wrong, wf_op op) {
    return wrong->task->reference.kind == REFERENCE_OP && wrong->task->reference.op == op;
}

/* Relative, of results that are rounded. */
static inline bool is_near(long double value, long double other) {
    return value != 0 && isfinite(value) && isfinite(other) && fabsl(value - other) <= 1e-5L * fabsl(other);
}

/* A reduction's result that is one of some elements alone. */
enum { SUBSETS = 20 };
enum hint_says hint_is_of_some(const struct wrong_result *wrong, size_t subset, char *text);

/* A sum in which several blocks take the same elements. */
enum { REPETITIONS = 2 };
enum hint_says hint_is_repeated(const struct wrong_result *wrong, size_t repetition, char *text);

/* Of rows: one of elements in other places. */
enum { PITCHES = 3 };
enum hint_says hint_is_of_pitch(const struct wrong_result *wrong, size_t pitch, char *text);

/* A scan whose sums begin elsewhere. */
enum { SCANS = 8 };
enum hint_says hint_is_other_scan(const struct wrong_result *wrong, size_t scan, char *text);

/* Right values at other places. */
enum { MOVES = 4 };
enum hint_says hint_is_moved(const struct wrong_result *wrong, size_t move, char *text);

/* Wrong elements that are some alone. */
enum { PLACES = 6 };
enum hint_says hint_is_at(const struct wrong_result *wrong, size_t place, char *text);

#endif
