#include "reference.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct making {
    struct expected *expected;
    const struct judge_task *task;
    const struct scope *scope;
    const struct buffers *buffers;
    simt_message *message;
    simt_error error; /* if it fails */
};

static bool fail(const struct making *making, const char *text) {
    snprintf(making->message->text, sizeof making->message->text, "%s:%d: %s, where n = %s", making->task->name,
             making->task->reference.line, text, making->scope->size->text);
    return false;
}

static bool lack_memory(struct making *making) {
    making->error = fail_memory(making->message);
    return false;
}

/* ---- the engine ----------------------------------------------------------------------------------- */

/* Sums of floats as f64, which is exact enough to hold an f32 against.  Of f64 the nearest is what there is.
 */
static wf_error reduce(wf_op op, wf_type type, bool omits_nan, const void *a, const void *b, uint64_t count,
                       long double *value) {
    wf_reduction reduction = wf_reduction_of(op);
    if (omits_nan) reduction.nan = WF_NAN_OMIT;
    wf_array first = wf_array_vector(a, type, (int64_t)count),
             second = wf_array_vector(b, type, (int64_t)count);
    wf_value result;
    wf_handle *handle = NULL;
    if (type == WF_F32 && is_float(wf_op_result_type(op, type))) reduction.result_type = WF_F64;
    wf_error error = wf_handle_create("cpu", &handle);
    if (!error) error = wf_handle_set_threads(handle, 1);
    if (!error) error = wf_reduce_value(handle, &reduction, &first, b ? &second : NULL, &result);
    wf_handle_destroy(handle);
    if (!error) *value = element_get(result.type, &result.v, 0);
    return error;
}

/* ---- how far errors can lead ------------------------------------------------------------------------ */

/* The ops that add up terms, and what a term goes through besides: a product, a division. */
static const struct additive {
    wf_op op;
    uint64_t roundings;
} additives[] = {{WF_SUM, 0}, {WF_NORM1, 0}, {WF_MEAN, 2}, {WF_DOT, 1}};

static const struct additive *find_additive(wf_op op) {
    for (size_t i = 0; i < sizeof additives / sizeof *additives; i++)
        if (additives[i].op == op) return &additives[i];
    return NULL;
}

/* The op of the magnitudes of its terms. */
static long double scale_of(wf_op op, wf_type type, const unsigned char *a, const unsigned char *b,
                            uint64_t count) {
    long double scale = 0;
    for (uint64_t i = 0; i < count; i++)
        scale += fabsl(element_get(type, a, i)) * (b ? fabsl(element_get(type, b, i)) : 1);
    return op == WF_MEAN && count ? scale / count : scale;
}

/* n terms of which each is added once: n - 1 additions at most change anything, as adding zero is exact. */
static void bound_op(struct expected *expected, wf_op op, uint64_t terms) {
    const struct additive *additive = find_additive(op);
    expected->is_additive = additive != NULL;
    expected->is_polynomial = op == WF_SUM || op == WF_NORM1 || op == WF_DOT;
    expected->roundings = additive ? (terms ? terms - 1 : 0) + additive->roundings : 0;
    expected->underflows = op == WF_DOT ? terms : op == WF_MEAN;
}

/* ---- the kinds ---------------------------------------------------------------------------------------- */

static const struct argument *input_of(const struct making *making, size_t i) {
    return &making->task->arguments[making->task->reference.inputs[i]];
}

static const struct buffer *buffer_of(const struct making *making, size_t i) {
    return &making->buffers->items[making->task->reference.inputs[i]];
}

/* Whether an element of the inputs' part is a NaN or an infinity, which may make the result a NaN. */
static bool is_special(const struct making *making, uint64_t begin, uint64_t count) {
    for (size_t input = 0; input < making->task->reference.input_count; input++)
        for (uint64_t i = begin; i < begin + count; i++)
            if (!isfinite(element_get(input_of(making, input)->type, buffer_of(making, input)->bytes, i % buffer_of(making, input)->count)))
                return true;
    return false;
}

static bool reduce_part(struct making *making, uint64_t result, uint64_t begin, uint64_t count) {
    const struct reference *reference = &making->task->reference;
    const bool is_pair = reference->input_count > 1;
    const wf_type type = input_of(making, 0)->type;
    const unsigned char *a = buffer_of(making, 0)->bytes + begin * wf_type_nbytes(type);
    const bool is_one_row = is_pair && buffer_of(making, 1)->count < buffer_of(making, 0)->count;
    const unsigned char *b = is_pair ? buffer_of(making, 1)->bytes + (is_one_row ? 0 : begin) * wf_type_nbytes(type) : NULL;
    long double *value = &making->expected->values[result];
    wf_error error = reduce(reference->op, type, making->task->omits_nan, a, b, count, value);
    if (error == WF_ERROR_MEMORY) return lack_memory(making);
    bool is_empty = error || (isnan(*value) && !is_special(making, begin, count));
    if (is_empty && making->task->empty)
        return task_number(making->task, making->task->empty, making->scope, value, making->message);
    if (is_empty)
        return fail(making, "the reference has no value: leave the size out, or say what it is by 'Empty:'");
    making->expected->scales[result] =
        find_additive(reference->op) ? scale_of(reference->op, type, a, b, count) : fabsl(*value);
    return true;
}

/* As long as the first; or, by row, as long as a row, with each of which it is paired. */
static bool has_second_input(const struct making *making, uint64_t row) {
    if (making->task->reference.input_count < 2) return true;
    const uint64_t count = buffer_of(making, 1)->count;
    const bool is_right_length = count == buffer_of(making, 0)->count || (making->task->reference.by_row && count == row);
    return is_right_length && input_of(making, 1)->type == input_of(making, 0)->type;
}

static bool make_op(struct making *making) {
    const struct reference *reference = &making->task->reference;
    const uint64_t count = buffer_of(making, 0)->count;
    uint64_t parts = reference->by_row ? (uint64_t)making->scope->size->rows : 1;
    uint64_t length = reference->by_row ? (uint64_t)making->scope->size->cols : count;
    if (!has_second_input(making, length)) return fail(making, "the reference's inputs differ in length or type");
    if (making->expected->count != parts)
        return fail(making, "the output has another length than the reference");
    if (parts * length > count) return fail(making, "an input has fewer elements than rows x cols");
    bound_op(making->expected, reference->op, length);
    if (!making->task->roundings && (reference->op == WF_VAR || reference->op == WF_STD || reference->op == WF_NORM2))
        return fail(making, "var, std and norm2 need 'Roundings:', the bound of their relative error in units of u");
    for (uint64_t i = 0; i < parts; i++)
        if (!reduce_part(making, i, i * length, length)) return false;
    return true;
}

static bool make_histogram(struct making *making) {
    struct expected *expected = making->expected;
    for (uint64_t i = 0; i < buffer_of(making, 0)->count; i++) {
        long double bin = element_get(input_of(making, 0)->type, buffer_of(making, 0)->bytes, i);
        if (!(bin >= 0 && bin < expected->count)) return fail(making, "an element has no bin");
        expected->values[(uint64_t)bin]++;
    }
    return true;
}

static bool make_scan(struct making *making) {
    struct expected *expected = making->expected;
    const wf_type type = input_of(making, 0)->type;
    const bool is_inclusive = making->task->reference.is_inclusive;
    long double sum = 0, scale = 0;
    if (expected->count != buffer_of(making, 0)->count)
        return fail(making, "the output has another length than the input");
    bound_op(expected, WF_SUM, expected->count);
    for (uint64_t i = 0; i < expected->count; i++) {
        long double term = element_get(type, buffer_of(making, 0)->bytes, i);
        expected->values[i] = is_inclusive ? sum + term : sum;
        expected->scales[i] = is_inclusive ? scale + fabsl(term) : scale;
        sum += term;
        scale += fabsl(term);
    }
    return true;
}

static void softmax_row(const struct making *making, uint64_t begin, uint64_t length) {
    const wf_type type = input_of(making, 0)->type;
    const unsigned char *bytes = buffer_of(making, 0)->bytes;
    long double highest = -INFINITY, sum = 0;
    for (uint64_t i = 0; i < length; i++) highest = fmaxl(highest, element_get(type, bytes, begin + i));
    for (uint64_t i = 0; i < length; i++) sum += expl(element_get(type, bytes, begin + i) - highest);
    for (uint64_t i = 0; i < length; i++) {
        making->expected->values[begin + i] = expl(element_get(type, bytes, begin + i) - highest) / sum;
        making->expected->scales[begin + i] = making->expected->values[begin + i];
    }
}

static bool make_softmax(struct making *making) {
    const uint64_t rows = (uint64_t)making->scope->size->rows, cols = (uint64_t)making->scope->size->cols;
    if (making->expected->count != rows * cols || buffer_of(making, 0)->count != rows * cols)
        return fail(making, "softmax takes and gives rows x cols elements");
    if (!making->task->roundings)
        return fail(making, "softmax needs 'Roundings:', the bound of its relative error in units of u");
    making->expected->underflows = 2; /* an exponential, and its quotient by a sum of 1 or more */
    for (uint64_t row = 0; row < rows; row++) softmax_row(making, row * cols, cols);
    return true;
}

/* Names of an element's expression: i, the scalars, and the elements of the inputs. */
struct element_names {
    const struct making *making;
    uint64_t i;
};

static bool find_element(const void *context, const char *name, size_t length, const long double *index,
                         struct number *number) {
    const struct element_names *names = context;
    const struct making *making = names->making;
    if (!index && length == 1 && *name == 'i') {
        *number = (struct number){names->i, names->i};
        return true;
    }
    for (size_t a = 0; a < making->task->argument_count; a++) {
        const struct argument *argument = &making->task->arguments[a];
        const struct buffer *buffer = &making->buffers->items[a];
        if (strlen(argument->name) != length || memcmp(argument->name, name, length)) continue;
        if (index ? !has_data(argument->role) : argument->role != ROLE_SCALAR) continue;
        if (index && !(*index >= 0 && *index < buffer->count)) return false;
        long double value = element_get(argument->type, buffer->bytes, index ? (uint64_t)*index : 0);
        *number = (struct number){value, fabsl(value)};
        return true;
    }
    return !index && scope_find(making->scope, name, length, number);
}

static bool fail_element(const struct making *making, uint64_t i, const char *wrong) {
    snprintf(making->message->text, sizeof making->message->text, "%s:%d: '%.200s': %s, where n = %s and i = %" PRIu64,
             making->task->name, making->task->reference.line, making->task->reference.elements, wrong,
             making->scope->size->text, i);
    return false;
}

static bool make_elements(struct making *making) {
    struct expected *expected = making->expected;
    struct element_names context = {making, 0};
    const struct names names = {find_element, &context};
    expected->is_polynomial = true;
    for (; context.i < expected->count; context.i++) {
        struct evaluation evaluation;
        if (!evaluate(making->task->reference.elements, &names, &evaluation))
            return fail_element(making, context.i, evaluation.wrong);
        if (!evaluation.is_polynomial && !making->task->roundings)
            return fail(making, "an expression that divides or calls a function needs 'Roundings:'");
        expected->values[context.i] = evaluation.number.value;
        expected->scales[context.i] = evaluation.number.scale;
        expected->roundings = expected->underflows = evaluation.roundings;
        expected->is_polynomial &= evaluation.is_polynomial;
    }
    return true;
}

/* ---- all of it ------------------------------------------------------------------------------------------
 */

static bool make_all(struct making *making) {
    static bool (*const kinds[])(struct making *) = {[REFERENCE_OP] = make_op,
                                                     [REFERENCE_HISTOGRAM] = make_histogram,
                                                     [REFERENCE_SCAN] = make_scan,
                                                     [REFERENCE_SOFTMAX] = make_softmax,
                                                     [REFERENCE_ELEMENTS] = make_elements};
    struct expected *expected = making->expected;
    const struct judge_task *task = making->task;
    int64_t roundings;
    expected->values = calloc(expected->count + 1, sizeof *expected->values);
    expected->scales = calloc(expected->count + 1, sizeof *expected->scales);
    if (!expected->values || !expected->scales) return lack_memory(making);
    if (!kinds[task->reference.kind](making)) return false;
    if (!task->roundings) return true;
    if (!task_whole(task, task->roundings, making->scope, &roundings, making->message)) return false;
    expected->roundings = (uint64_t)roundings;
    expected->is_additive = false;
    return true;
}

simt_error expected_make(struct expected *expected, const struct judge_task *task, const struct scope *scope,
                         const struct buffers *buffers, simt_message *message) {
    struct making making = {expected, task, scope, buffers, message, SIMT_ERROR_ARGUMENT};
    *expected = (struct expected){
        .count = task->reference.partials ? 1 : buffers->items[task->reference.output].count};
    return make_all(&making) ? SIMT_OK : making.error;
}

void expected_clear(struct expected *expected) {
    free(expected->values);
    free(expected->scales);
    *expected = (struct expected){0};
}

static bool are_inputs(const struct judge_task *task, const struct buffers *buffers, bool (*is_so)(long double value)) {
    for (size_t a = 0; a < task->argument_count; a++) {
        const struct argument *argument = &task->arguments[a];
        if (argument->role == ROLE_OUTPUT || argument->role == ROLE_SCRATCH || !is_float(argument->type))
            continue;
        for (uint64_t i = 0; i < buffers->items[a].count; i++)
            if (!is_so(element_get(argument->type, buffers->items[a].bytes, i))) return false;
    }
    return true;
}

static bool is_whole(long double value) { return value == floorl(value); }
static bool is_finite(long double value) { return isfinite(value); }

bool inputs_are_whole(const struct judge_task *task, const struct buffers *buffers) { return are_inputs(task, buffers, is_whole); }
bool inputs_are_finite(const struct judge_task *task, const struct buffers *buffers) { return are_inputs(task, buffers, is_finite); }

simt_error output_value(const struct judge_task *task, const void *bytes, uint64_t count, uint64_t i,
                        long double *value, simt_message *message) {
    const wf_type type = task->arguments[task->reference.output].type;
    const wf_op op = task->reference.partials;
    *value = op ? 0 : element_get(type, bytes, i);
    wf_error error = op ? reduce(op, type, task->omits_nan, bytes, NULL, count, value) : WF_OK;
    if (error)
        snprintf(message->text, sizeof message->text, "%s:%d: %s of the output: %s", task->name,
                 task->reference.line, wf_op_name(op), wf_error_text(error));
    return error == WF_ERROR_MEMORY ? SIMT_ERROR_MEMORY : error ? SIMT_ERROR_ARGUMENT : SIMT_OK;
}
