#include "hints.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* The elements of the first input that a reduction's result is of. */
struct terms {
    const struct argument *argument;
    const struct buffer *buffer;
    uint64_t begin, count;
};

static struct terms terms_of(const struct wrong_value *wrong) {
    const struct reference *reference = &wrong->task->reference;
    const struct buffer *buffer = &wrong->buffers->items[reference->inputs[0]];
    const uint64_t count = reference->by_row ? (uint64_t)wrong->scope->size->cols : buffer->count;
    return (struct terms){&wrong->task->arguments[reference->inputs[0]], buffer, reference->by_row ? wrong->element * count : 0, count};
}

static long double term_at(const struct wrong_value *wrong, size_t input, uint64_t i) {
    const size_t argument = wrong->task->reference.inputs[input];
    return element_get(wrong->task->arguments[argument].type, wrong->buffers->items[argument].bytes, i);
}

uint64_t hint_find_element(wf_type type, const struct buffer *buffer, long double value) {
    uint64_t i = 0;
    for (; i < buffer->count; i++) {
        const long double element = element_get(type, buffer->bytes, i);
        if (element == value || (isnan(element) && isnan(value))) break;
    }
    return i;
}

static bool is_op(const struct wrong_value *wrong, wf_op op) {
    return wrong->task->reference.kind == REFERENCE_OP && wrong->task->reference.op == op;
}

/* Relative, of results that are rounded. */
static bool is_near(long double value, long double other) {
    return value != 0 && isfinite(value) && isfinite(other) && fabsl(value - other) <= 1e-5L * fabsl(other);
}

static bool hint_is_repeated(const struct wrong_value *wrong, char *text, size_t nbytes) {
    const bool is_linear = is_op(wrong, WF_SUM) || is_op(wrong, WF_DOT);
    if (!is_linear || !wrong->is_whole || wrong->task->stage_count > 1 || wrong->exact == 0 || wrong->task->reference.by_row) return false;
    const uint64_t grid = wrong->scope->grid;
    if (grid < 2 || wrong->value != grid * wrong->exact) return false;
    snprintf(text, nbytes, "; that is %" PRIu64 " times as much, and there are %" PRIu64
             " blocks: each adds up all elements; the index must begin with blockIdx.x * blockDim.x + threadIdx.x and, in a loop, go on "
             "by gridDim.x * blockDim.x", grid, grid);
    return true;
}

static bool hint_is_of_first(const struct wrong_value *wrong, char *text, size_t nbytes) {
    const struct reference *reference = &wrong->task->reference;
    const bool is_dot = is_op(wrong, WF_DOT);
    if (!(is_dot || is_op(wrong, WF_SUM)) || !wrong->is_whole || wrong->task->stage_count > 1 || (is_dot && reference->by_row)) return false;
    const uint64_t threads = wrong->scope->block * (reference->by_row ? 1 : wrong->scope->grid);
    const struct terms terms = terms_of(wrong);
    long double sum = 0;
    if (threads >= terms.count) return false;
    for (uint64_t i = terms.begin; i < terms.begin + threads; i++) sum += term_at(wrong, 0, i) * (is_dot ? term_at(wrong, 1, i) : 1);
    if (wrong->value != sum) return false;
    snprintf(text, nbytes, "; that is the sum of the first %" PRIu64 " of %" PRIu64 " elements, one for each thread: in a loop, each thread must "
             "go on to the element that is as many further on", threads, terms.count);
    return true;
}

static bool hint_is_no_element(const struct wrong_value *wrong, char *text, size_t nbytes) {
    const bool is_largest = is_op(wrong, WF_MAX);
    if (!(is_largest || is_op(wrong, WF_MIN)) || isnan(wrong->value)) return false;
    const struct terms terms = terms_of(wrong);
    if (!terms.count || hint_find_element(terms.argument->type, terms.buffer, wrong->value) < terms.buffer->count) return false;
    if (isinf(wrong->value) && (wrong->value < 0) == is_largest)
        snprintf(text, nbytes, "; no element of `%s` is that, and yet none took its place: how two are compared is wrong, as where the bits of "
                 "negative floats are compared as those of integers, which reverses their order", terms.argument->name);
    else
        snprintf(text, nbytes, "; no element of `%s` is that, as where the search begins with another number, or one stands for elements that a "
                 "thread lacks: it must be %sINFINITY or an element", terms.argument->name, is_largest ? "-" : "");
    return true;
}

static bool hint_is_no_index(const struct wrong_value *wrong, char *text, size_t nbytes) {
    if (!is_op(wrong, WF_ARGMAX) && !is_op(wrong, WF_ARGMIN)) return false;
    const struct terms terms = terms_of(wrong);
    if (wrong->value >= 0 && wrong->value < terms.count) return false;
    snprintf(text, nbytes, "; that is no index of an element: what the search begins with is found where no element is %s, as if all are "
             "infinities; begin with an element and its index", is_op(wrong, WF_ARGMAX) ? "greater" : "smaller");
    return true;
}

/* A scan whose elements are all those of the place before, or behind. */
static bool hint_is_shifted(const struct wrong_value *wrong, char *text, size_t nbytes) {
    const struct reference *reference = &wrong->task->reference;
    const struct expected *expected = wrong->expected;
    const uint64_t shift = reference->is_inclusive ? 1 : 0; /* out[i + shift] is expected[i + 1 - shift] */
    if (reference->kind != REFERENCE_SCAN || !wrong->is_whole || expected->count < 2) return false;
    for (uint64_t i = 0; i + 1 < expected->count; i++)
        if (element_get(wrong->task->arguments[reference->output].type, wrong->result, i + shift) != expected->values[i + 1 - shift])
            return false;
    snprintf(text, nbytes, shift ? "; each is the sum of the elements before its own: its own must be added, too"
                                 : "; each is the sum up to its own element, which must be left out");
    return true;
}

static bool hint_is_squared(const struct wrong_value *wrong, char *text, size_t nbytes) {
    if (!is_op(wrong, WF_NORM2) || !is_near(wrong->value, wrong->exact * wrong->exact)) return false;
    snprintf(text, nbytes, "; that is its square: take the root");
    return true;
}

static bool hint_is_by_one_less(const struct wrong_value *wrong, char *text, size_t nbytes) {
    if (!is_op(wrong, WF_VAR)) return false;
    const long double count = terms_of(wrong).count;
    if (count < 2 || !is_near(wrong->value, wrong->exact * count / (count - 1))) return false;
    snprintf(text, nbytes, "; that is the sum of the squares divided by one less than the %.0Lf elements: divide by their number", count);
    return true;
}

static bool hint_is_of_floats(const struct wrong_value *wrong, char *text, size_t nbytes) {
    const wf_type type = wrong->task->arguments[wrong->task->reference.output].type;
    if (type != WF_F64 || !is_near(wrong->value, wrong->exact) || fabsl(wrong->value - wrong->exact) < 0x1p-40L * fabsl(wrong->exact)) return false;
    snprintf(text, nbytes, "; that is as far off as floats are: some variable, constant or function, such as sqrtf, is of float and must be of "
             "double");
    return true;
}

static bool hint_is_finite(const struct wrong_value *wrong, char *text, size_t nbytes) {
    if (wrong->task->reference.kind != REFERENCE_OP || isfinite(wrong->exact)) return false;
    const struct terms terms = terms_of(wrong);
    for (uint64_t i = terms.begin; i < terms.begin + terms.count && i < terms.buffer->count; i++) {
        const long double element = element_get(terms.argument->type, terms.buffer->bytes, i);
        if (isfinite(element)) continue;
        snprintf(text, nbytes, "; %s[%" PRIu64 "] is %Lg", terms.argument->name, i, element);
        return true;
    }
    return false;
}

void hint_at_cause(const struct wrong_value *wrong, char *text, size_t nbytes) {
    static bool (*const hints[])(const struct wrong_value *wrong, char *text, size_t nbytes) = {
        hint_is_finite,  hint_is_repeated, hint_is_of_first,    hint_is_no_element, hint_is_no_index,
        hint_is_shifted, hint_is_squared,  hint_is_by_one_less, hint_is_of_floats};
    size_t h = 0;
    while (h < sizeof hints / sizeof *hints && !hints[h](wrong, text, nbytes)) h++;
}
