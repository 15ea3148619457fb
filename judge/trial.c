#include "trial.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffers.h"
#include "chains.h"
#include "hints.h"
#include "order.h"
#include "reference.h"
#include "tiles.h"

enum { INSTRUCTIONS_LEAST = 1 << 21, INSTRUCTIONS_FOR_EACH = 1 << 12, INSTRUCTIONS_IN_TURNS = 1 << 6 };

static const struct schedule {
    const char *name;
    simt_schedule schedule;
    uint64_t seed;
} schedules[SCHEDULES] = {{"lockstep", SIMT_LOCKSTEP, 0},
                          {"split", SIMT_SPLIT, 0},
                          {"random:1", SIMT_RANDOM, 1},
                          {"random:2", SIMT_RANDOM, 2}};

/* An element, or what the output is reduced to, with its distances in ulp. */
struct comparison {
    uint64_t element, roundings;
    long double value, exact, error, bound;
};

struct trial {
    const struct judging *judging;
    const struct planned *planned;
    struct bench *bench;
    struct record *record;
    simt_cancel_function *cancel;
    void *context; /* of it */
    const struct schedule *schedule;
    struct scope scope;
    simt_launch launch;
    struct buffers buffers;
    unsigned char *result; /* the output's bytes after the launch */
    long double *values;   /* what is compared, as many as are expected */
    bool *is_wrong;        /* of each of them */
    struct expected expected;
    bool has_result, has_wrong;
    struct comparison wrong; /* the value that is told */
    const struct order *orders; /* of each stage, which it is launched in once more; NULL: for the first time */
    simt_report *reports[STAGES_MAX]; /* NULL: not launched */
};

/* ---- reasons ------------------------------------------------------------------------------------------ */

/* The generator of the first input that has several, or of the first one. */
static const char *data_name(const struct trial *trial) {
    const struct judge_task *task = trial->judging->task;
    const struct argument *shown = NULL;
    if (trial->planned->pattern == PATTERN_EQUAL) return "elements that are all equal";
    if (trial->planned->pattern == PATTERN_DIFFERENT) return "neighbours that all differ";
    for (size_t a = 0; a < task->argument_count; a++)
        if (has_data(task->arguments[a].role) &&
            (!shown || shown->content_count < task->arguments[a].content_count))
            shown = &task->arguments[a];
    if (!shown) return "no data";
    return shown->contents[trial->planned->set < shown->content_count ? trial->planned->set : shown->content_count - 1];
}

static void name_launch(const struct trial *trial, char *text, size_t nbytes) {
    const int length = snprintf(text, nbytes, "n = %s, %s, %s", trial->scope.size->text, data_name(trial), trial->schedule->name);
    if (length < 0 || (size_t)length >= nbytes) return;
    text += length;
    nbytes -= (size_t)length;
    if (trial->planned->block) snprintf(text, nbytes, ", blocks of %" PRIu64 " threads", trial->scope.block);
    if (trial->planned->is_interleaved) snprintf(text, nbytes, ", blocks in turns");
    if (trial->bench->keeps_variables) snprintf(text, nbytes, ", `__device__` variables as earlier launches left them");
}

/* Whether the number of threads divides that of elements, so that no thread needs a guard. */
static bool does_fit(const struct trial *trial) {
    const uint64_t threads = trial->scope.grid * trial->scope.block, n = (uint64_t)trial->scope.size->n;
    return threads && n && n % threads == 0;
}

static void refuse(struct trial *trial, struct judge_reason *reason) {
    reason->does_fit = does_fit(trial);
    name_launch(trial, reason->where, sizeof reason->where);
    record_add(trial->record, reason);
}

static void refuse_for(struct trial *trial, const char *kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void refuse_for(struct trial *trial, const char *kind, const char *format, ...) {
    struct judge_reason reason = {0};
    va_list arguments;
    snprintf(reason.kind, sizeof reason.kind, "%s", kind);
    va_start(arguments, format);
    vsnprintf(reason.message, sizeof reason.message, format, arguments);
    va_end(arguments);
    refuse(trial, &reason);
}

/* A result that is wrong by where it was stored, or was not. */
static void refuse_stores(struct trial *trial, enum judge_cause cause, const char *message) {
    const simt_place *place = trial->judging->candidate.store;
    struct judge_reason reason = {.kind = "result", .cause = cause, .line = place ? place->line : 0};
    snprintf(reason.message, sizeof reason.message, "%s", message);
    snprintf(reason.file, sizeof reason.file, "%s", place ? place->file : "");
    refuse(trial, &reason);
}

/* ---- findings ---- */

/* The argument whose memory is near.  Allocations are 4 GiB apart, so what is near is the argument's, be it before its begin
 * or behind its end.  NULL: none is. */
static const struct argument *find_argument(const struct trial *trial, uint64_t address, int64_t *index, uint64_t *count) {
    const struct judge_task *task = trial->judging->task;
    const int64_t reach = INT64_C(1) << 31;
    for (size_t a = 0; a < task->argument_count; a++) {
        const struct buffer *buffer = &trial->buffers.items[a];
        const int64_t offset = (int64_t)(address - buffer->address);
        const int64_t size = (int64_t)wf_type_nbytes(task->arguments[a].type);
        if (task->arguments[a].role == ROLE_SCALAR || offset < -reach || offset >= reach) continue;
        *index = offset / size - (offset % size < 0);
        *count = buffer->count;
        return &task->arguments[a];
    }
    return NULL;
}

static void append_text(struct judge_reason *reason, const char *text) {
    const size_t length = strlen(reason->message);
    snprintf(reason->message + length, sizeof reason->message - length, "%s", text);
}

/* Whether the index is that of a row and a column of the matrix, the thread's own, but for the other extent as the length of a row. */
static bool has_other_pitch(const struct trial *trial, const simt_finding *finding, int64_t index) {
    const struct size *size = trial->scope.size;
    const uint32_t *block = trial->launch.block;
    if (index < 0 || !size->cols || size->rows == size->cols) return false;
    for (int d = 0; d < 2; d++) {
        const int64_t column = (int64_t)finding->block[d] * block[0] + finding->thread[0];
        for (int p = 0; p < 2; p++) {
            const int64_t pitch = p ? size->rows : size->cols, length = p ? size->cols : size->rows, row = (index - column) / pitch;
            if (index >= column && (index - column) % pitch == 0 && row < pitch && column < length && row % (block[1] ? block[1] : 1) == finding->thread[1]) return true;
        }
    }
    return false;
}

/* Where each element of the output is one thread's, an atomic is no cure. */
static void name_owner(const struct trial *trial, struct judge_reason *reason) {
    static const char overwrite[] = "overwrite each other's result: ";
    const enum reference_kind kind = trial->judging->task->reference.kind;
    char *cure = kind == REFERENCE_ELEMENTS || kind == REFERENCE_SOFTMAX || kind == REFERENCE_SCAN ? strstr(reason->message, overwrite) : NULL;
    if (!cure) return;
    cure += strlen(overwrite);
    snprintf(cure, sizeof reason->message - (size_t)(cure - reason->message),
             "each element must be stored by one thread alone: the index that is stored to is calculated wrongly, as where the block's number "
             "is missing, or only one of two coordinates has been exchanged");
}

/* What a guard lacks, as far as the source tells; how much is allocated is the task's. */
static void name_guard(const struct trial *trial, const simt_finding *finding, struct judge_reason *reason) {
    static const char *const allocated[] = {" or too little is allocated", ", unless too little is allocated"};
    const struct judge_request *request = trial->judging->request;
    const struct judge_outside outside = {reason->argument, trial->launch.block, reason->beyond == 0};
    char text[JUDGE_MESSAGE_CAPACITY];
    const bool is_known = reason->beyond >= 0 && request->guard && request->guard(request->source, finding, &outside, text, sizeof text);
    if (!is_known) snprintf(text, sizeof text, "; a guard must leave that out, unless the index is calculated wrongly");
    for (size_t a = 0; a < sizeof allocated / sizeof *allocated; a++) {
        char *at = strstr(text, allocated[a]);
        if (at) memmove(at, at + strlen(allocated[a]), strlen(at + strlen(allocated[a])) + 1);
    }
    append_text(reason, text);
}

/* "... (index 1000 of `in`, which has 1000 elements)", and of an access outside what it is to be united with. */
static void name_element(const struct trial *trial, const simt_finding *finding, struct judge_reason *reason) {
    int64_t index;
    uint64_t count;
    const struct argument *argument = find_argument(trial, finding->address, &index, &count);
    char text[192];
    if (!argument) return;
    snprintf(text, sizeof text, " (index %" PRId64 " of `%s`, which has %" PRIu64 " element%s)", index, argument->name, count, count == 1 ? "" : "s");
    if (argument->role == ROLE_OUTPUT) name_owner(trial, reason);
    append_text(reason, text);
    reason->argument = argument->name;
    if (finding->kind != SIMT_FINDING_BOUNDS) return;
    reason->cause = argument->role == ROLE_OUTPUT ? JUDGE_CAUSE_OUTSIDE_OUTPUT : JUDGE_CAUSE_OUTSIDE_INPUT;
    reason->beyond = index - (int64_t)count;
    reason->has_other_pitch = has_other_pitch(trial, finding, index);
    const struct reference *reference = &trial->judging->task->reference;
    const bool is_one = reference->kind == REFERENCE_OP && !reference->by_row && !reference->partials;
    const bool is_shared_result = reason->cause == JUDGE_CAUSE_OUTSIDE_OUTPUT && is_one && index > 0;
    if (is_shared_result) append_text(reason, "; the result is one element of all blocks: combine theirs by an atomic, such as atomicAdd()");
    else name_guard(trial, finding, reason);
}

/* "`argument 0[-1]`", as the simulator calls what it has no names of: by the name that the task gives it. */
static void name_argument(const struct trial *trial, const struct stage *stage, char *text, size_t nbytes) {
    static const char unnamed[] = "`argument ";
    char *at = strstr(text, unnamed), *end = at;
    const unsigned long number = at ? strtoul(at + strlen(unnamed), &end, 10) : 0;
    char rest[JUDGE_MESSAGE_CAPACITY];
    if (!at || *end != '[' || number >= stage->argument_count) return;
    snprintf(rest, sizeof rest, "%s", end);
    snprintf(at, nbytes - (size_t)(at - text), "`%s%s", trial->judging->task->arguments[stage->arguments[number]].name, rest);
}

/* A task has the limit that its sizes give: no option raises it. */
static void leave_out_option(char *text) {
    static const char option[] = " (--limit N)";
    char *at = strstr(text, option);
    if (at) memmove(at, at + strlen(option), strlen(at + strlen(option)) + 1);
}

/* Nor is the size of an `extern` array the kernel's to choose. */
static void leave_out_size(char *text) {
    char *at = strstr(text, ", or the array greater: ");
    if (at) *at = '\0';
}

static void refuse_findings(struct trial *trial, const struct stage *stage, const simt_report *report) {
    for (size_t i = 0; i < simt_report_finding_count(report); i++) {
        const simt_finding *finding = simt_report_finding(report, i);
        struct judge_reason reason = {.line = finding->line,
                                      .other_line = finding->has_other ? finding->other_line : 0};
        snprintf(reason.kind, sizeof reason.kind, "%s", simt_finding_kind_name(finding->kind));
        snprintf(reason.message, sizeof reason.message, "%s", finding->message);
        leave_out_option(reason.message);
        leave_out_size(reason.message);
        name_argument(trial, stage, reason.message, sizeof reason.message);
        name_element(trial, finding, &reason);
        snprintf(reason.file, sizeof reason.file, "%s", finding->file);
        refuse(trial, &reason);
        trial->record->is_over |= finding->kind == SIMT_FINDING_RUNAWAY || finding->kind == SIMT_FINDING_UNSUPPORTED;
    }
}

/* ---- the result ---- */

static int digits_of(wf_type type) {
    return type == WF_F32 ? 24 : 53;
}

static int least_exponent(wf_type type) {
    return type == WF_F32 ? -149 : -1074;
}

static long double least_of(wf_type type) {
    return ldexpl(1, least_exponent(type));
}

/* The distance of neighbouring floats there. */
static long double ulp_at(long double value, wf_type type) {
    const int least = least_exponent(type);
    int exponent;
    frexpl(value, &exponent);
    exponent -= digits_of(type);
    return ldexpl(1, value == 0 || exponent < least ? least : exponent);
}

/* gamma(k) of k u < 1; Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., SIAM 2002, lemma 3.1.
 */
static long double gamma_of(uint64_t k, wf_type type) {
    long double ku = (long double)k * ldexpl(1, -digits_of(type));
    return ku < 1 ? ku / (1 - ku) : INFINITY;
}

/* The chains that lead to element i of the output, or where it is reduced afterwards to any. */
static uint64_t roundings_at(const struct trial *trial, uint64_t i, bool *is_counted) {
    const struct judge_task *task = trial->judging->task;
    const struct expected *expected = &trial->expected;
    const struct buffer *output = &trial->buffers.items[task->reference.output];
    size_t element = wf_type_nbytes(task->arguments[task->reference.output].type);
    bool is_whole = task->reference.partials != WF_OP_NONE;
    *is_counted = false;
    if (!expected->is_additive || !trial->bench->chains) return expected->roundings;
    uint64_t counted = chains_longest(trial->bench->chains, task->reference.output,
                                      is_whole ? 0 : i * element, is_whole ? output->nbytes : element);
    *is_counted = counted < expected->roundings;
    return *is_counted ? counted : expected->roundings;
}

/* Sums of whole numbers that stay below 2^p are exact in any order.  What is added is the rounding of the
 * reference. */
static long double bound_at(const struct trial *trial, uint64_t i, uint64_t roundings, bool is_whole,
                            wf_type type) {
    const struct expected *expected = &trial->expected;
    if (!is_float(type)) return 0;
    if (is_whole && expected->is_polynomial && expected->scales[i] <= ldexpl(1, digits_of(type))) return 0;
    if (!roundings) return 0;
    return gamma_of(roundings, type) * expected->scales[i] + ldexpl(expected->scales[i], -60) +
           expected->underflows * least_of(type);
}

/* Of a kernel whose every launch was right as long as blocks ran one after the other. */
static const char in_turns[] =
    "; it is right where blocks run one after the other, but another one may come between a read of a word and a write that depends "
    "on it: make both one atomic operation, such as atomicAdd(), or repeat an atomicCAS() until it succeeds";

/* Whether the output's element is as it was before the launch, of which no value is known. */
static bool is_left(const struct trial *trial, uint64_t i) {
    const struct argument *output = &trial->judging->task->arguments[trial->judging->task->reference.output];
    const size_t nbytes = wf_type_nbytes(output->type);
    if (trial->judging->task->reference.partials || output->content_count || !trial->result) return false;
    return is_no_result(trial->result + i * nbytes, nbytes);
}

/* Of elements that nobody wrote: how many there are. */
static void refuse_unwritten(struct trial *trial, const struct comparison *c, const char *place, int digits) {
    uint64_t count = 0;
    for (uint64_t i = 0; i < trial->expected.count; i++) count += is_left(trial, i);
    char message[JUDGE_MESSAGE_CAPACITY];
    snprintf(message, sizeof message,
             "%s is not written, and must be %.*Lg: the index that is stored to, or the guard of the store, leaves out %" PRIu64
             " of %" PRIu64 " elements",
             place, digits, c->exact, count, trial->expected.count);
    refuse_stores(trial, JUDGE_CAUSE_UNWRITTEN, message);
}

/* Of tiles of which half of the transpose is done; false: it is another fault. */
static bool refuse_tiles(struct trial *trial) {
    static const char *const faults[] = {
        [TILES_STAY] = "each block stores its tile, transposed, where the tile stood in the matrix that it was loaded from: of %" PRIu64 " x %" PRIu64
                       " elements of `%s`, %" PRIu64 " belong in the tile across the diagonal; in the index that is stored to, and in its guard, exchange "
                       "blockIdx.x and blockIdx.y",
        [TILES_UNTURNED] = "each tile is where it belongs, but is not transposed in itself: of %" PRIu64 " x %" PRIu64 " elements of `%s`, %" PRIu64
                           " have row and column exchanged within their tile; exchange the two indices of the shared array, either where it is stored to or where "
                           "it is read"};
    const struct judge_task *task = trial->judging->task;
    struct extents extents;
    memcpy(extents.block, trial->launch.block, sizeof extents.block);
    memcpy(extents.grid, trial->launch.grid, sizeof extents.grid);
    const struct tiles tiles = {trial->scope.size, &extents, &trial->expected, trial->result, task->arguments[task->reference.output].type};
    char message[JUDGE_MESSAGE_CAPACITY];
    if (task->reference.kind != REFERENCE_ELEMENTS || trial->planned->is_interleaved) return false;
    for (size_t fault = 0; fault < sizeof faults / sizeof *faults; fault++) {
        const uint64_t moved = tiles_with(&tiles, (enum tiles_fault)fault);
        if (!moved) continue;
        snprintf(message, sizeof message, faults[fault], (uint64_t)trial->scope.size->cols, (uint64_t)trial->scope.size->rows,
                 task->arguments[task->reference.output].name, moved);
        refuse_stores(trial, JUDGE_CAUSE_TILES, message);
        return true;
    }
    return false;
}

/* What the value is, what it must be, and why it is not. */
static void name_value(const struct comparison *c, const char *place, int digits, const char *why, char *text, size_t nbytes) {
    if (c->bound > 0 && !isfinite(c->value))
        snprintf(text, nbytes, "%s is %.*Lg, and must be %.*Lg, but for its rounding%s", place, digits, c->value, digits, c->exact, why);
    else if (c->bound > 0)
        snprintf(text, nbytes,
                 "%s is %.*Lg, exactly %.*Lg: off by %.3Lg ulp, where %" PRIu64
                 " rounded operations in a row explain no more than %.3Lg%s",
                 place, digits, c->value, digits, c->exact, c->error, c->roundings, c->bound, why);
    else
        snprintf(text, nbytes, "%s is %.*Lg, and must be %.*Lg%s", place, digits, c->value, digits, c->exact, why);
}

/* Whether every order of a sum of its elements is exact. */
static bool is_exact(const struct trial *trial) {
    const struct judge_task *task = trial->judging->task;
    const wf_type type = task->arguments[task->reference.output].type;
    const long double most = is_float(type) ? ldexpl(1, digits_of(type)) : INFINITY;
    for (uint64_t i = 0; i < trial->expected.count; i++)
        if (trial->expected.scales[i] > most) return false;
    return inputs_are_whole(task, &trial->buffers);
}

/* What the launch says of each hint, with the reason that the hint gives where it holds. */
static void ask_hints(struct trial *trial, const struct comparison *c, const char *place, int digits) {
    const struct judge_task *task = trial->judging->task;
    const struct wrong_result wrong = {.task = task,
                                       .scope = &trial->scope,
                                       .buffers = &trial->buffers,
                                       .expected = &trial->expected,
                                       .mismatch = trial->judging->candidate.mismatch,
                                       .values = trial->values,
                                       .is_wrong = trial->is_wrong,
                                       .element = c->element,
                                       .has_whole = inputs_are_whole(task, &trial->buffers),
                                       .is_whole = is_exact(trial),
                                       .is_finite = inputs_are_finite(task, &trial->buffers)};
    for (size_t h = 0; h < hint_count(); h++) {
        char why[HINT_CAPACITY] = "";
        struct judge_reason reason = {.kind = "result", .cause = hint_cause(h)};
        const enum hint_says says = hint_ask(h, &wrong, why);
        if (says == HINT_FAILS) record_refute(trial->record, h);
        if (says != HINT_HOLDS) continue;
        name_value(c, place, digits, why, reason.message, sizeof reason.message);
        name_launch(trial, reason.where, sizeof reason.where);
        record_hint(trial->record, h, &reason);
    }
}

static void refuse_value(struct trial *trial, const struct comparison *c) {
    const struct judge_task *task = trial->judging->task;
    const int digits = task->arguments[task->reference.output].type == WF_F32 ? 9 : 17; /* tell neighbours apart */
    const char *output = task->arguments[task->reference.output].name;
    char place[160], why[HINT_CAPACITY] = "";
    struct judge_reason reason = {.kind = "result"};
    if (refuse_tiles(trial)) return;
    /* Others were right: results are not altered alike. */
    const bool is_later = trial->planned->is_interleaved || trial->bench->keeps_variables;
    if (trial->planned->is_interleaved) snprintf(why, sizeof why, "%s", in_turns);
    if (task->reference.partials)
        snprintf(place, sizeof place, "%s(%s)", wf_op_name(task->reference.partials), output);
    else
        snprintf(place, sizeof place, "%s[%" PRIu64 "]", output, c->element);
    if (is_left(trial, c->element)) {
        refuse_unwritten(trial, c, place, digits);
        return;
    }
    if (!is_later) ask_hints(trial, c, place, digits);
    if (*why) reason.cause = JUDGE_CAUSE_EXPLAINED;
    name_value(c, place, digits, why, reason.message, sizeof reason.message);
    refuse(trial, &reason);
}

static struct comparison compare(const struct trial *trial, uint64_t i, bool is_whole, bool *is_counted) {
    const struct expected *expected = &trial->expected;
    const wf_type type = trial->judging->task->arguments[trial->judging->task->reference.output].type;
    struct comparison c = {.element = i, .value = trial->values[i], .exact = expected->values[i]};
    *is_counted = false;
    if (!isfinite(c.exact)) return c;
    c.roundings = roundings_at(trial, i, is_counted);
    const long double ulp = ulp_at(c.exact != 0 ? c.exact : expected->scales[i], type);
    c.error = c.value == c.exact ? 0 : fabsl(c.value - c.exact) / ulp; /* 0 of equal infinities, too */
    c.bound = bound_at(trial, i, c.roundings, is_whole, type) / ulp;
    return c;
}

static bool is_right(const struct comparison *c) {
    if (isfinite(c->exact)) return c->error <= c->bound;
    return isnan(c->exact) ? isnan(c->value) : c->value == c->exact;
}

static simt_error read_output(struct trial *trial) {
    const struct judge_task *task = trial->judging->task;
    const struct buffer *output = &trial->buffers.items[task->reference.output];
    const uint64_t count = trial->expected.count;
    trial->result = malloc(output->nbytes + 1);
    trial->values = calloc(count + 1, sizeof *trial->values);
    trial->is_wrong = calloc(count + 1, sizeof *trial->is_wrong);
    simt_error error = trial->result && trial->values && trial->is_wrong ? SIMT_OK : fail_memory(&trial->record->message);
    if (!error) error = simt_machine_read(trial->bench->machine, output->address, trial->result, output->nbytes);
    for (uint64_t i = 0; i < count && !error; i++)
        error = output_value(task, trial->result, output->count, i, &trial->values[i], &trial->record->message);
    return error;
}

/* The first wrong value, which says more than an element that nobody wrote, is told. */
static simt_error check_output(struct trial *trial) {
    const struct judge_task *task = trial->judging->task;
    const bool is_whole = inputs_are_whole(task, &trial->buffers), has_errors = is_float(task->arguments[task->reference.output].type);
    const simt_error error = read_output(trial);
    bool has_value = false;
    for (uint64_t i = 0; i < trial->expected.count && !error; i++) {
        bool is_counted;
        const struct comparison c = compare(trial, i, is_whole, &is_counted);
        trial->is_wrong[i] = !is_right(&c);
        if (!trial->is_wrong[i] && has_errors && isfinite(c.exact) && !has_value)
            record_error(trial->record, &(struct rounding){(double)c.error, (double)c.bound, c.roundings, is_counted});
        if (!trial->is_wrong[i] || has_value) continue;
        has_value = !is_left(trial, i);
        if (!trial->has_wrong || has_value) trial->wrong = c;
        trial->has_wrong = true;
    }
    trial->has_result = !error;
    return error;
}

/* Inputs must be as they were. */
static simt_error check_inputs(struct trial *trial) {
    const struct judge_task *task = trial->judging->task;
    for (size_t a = 0; a < task->argument_count; a++) {
        const struct argument *argument = &task->arguments[a];
        const struct buffer *buffer = &trial->buffers.items[a];
        size_t element = wf_type_nbytes(argument->type);
        if (argument->role != ROLE_INPUT) continue;
        unsigned char *bytes = malloc(buffer->nbytes + 1);
        if (!bytes) return fail_memory(&trial->record->message);
        simt_error error = simt_machine_read(trial->bench->machine, buffer->address, bytes, buffer->nbytes);
        size_t at = 0;
        while (!error && at < buffer->nbytes && bytes[at] == buffer->bytes[at]) at++;
        if (!error && at < buffer->nbytes)
            refuse_for(trial, "input", "%s[%zu] is an input, and was changed", argument->name, at / element);
        free(bytes);
        if (error) return error;
    }
    return SIMT_OK;
}

/* ---- gates ---- */

/* Of several kernels the one that is furthest from the gate is shown. */
static void show_count(struct trial *trial, size_t g, size_t stage, double count, double bound) {
    const struct gate *gate = &trial->judging->task->gates[g];
    struct judge_gate_count *shown = &trial->record->gates[g];
    if (stage && (gate->is_least ? count >= shown->count : count <= shown->count)) return;
    *shown = (struct judge_gate_count){gate->name, count, bound, gate->is_least};
}

static simt_error check_gates_of(struct trial *trial, size_t stage) {
    const struct judge_task *task = trial->judging->task;
    const char *kernel = task->stages[stage].kernel;
    const bool is_named = task->stage_count > 1;
    for (size_t g = 0; g < task->gate_count; g++) {
        const struct gate *gate = &task->gates[g];
        long double bound;
        double count = simt_report_counter_value(trial->reports[stage], gate->name, NAN);
        if (!task_number(task, gate->bound, &trial->scope, &bound, &trial->record->message))
            return SIMT_ERROR_ARGUMENT;
        if (isnan(count)) {
            snprintf(trial->record->message.text, sizeof trial->record->message.text,
                     "%s:%d: the simulator has no count '%s'; `warpfold inspect --json` shows those that it has",
                     task->name, task_line(task, gate->name), gate->name);
            return SIMT_ERROR_ARGUMENT;
        }
        show_count(trial, g, stage, count, (double)bound);
        if (gate->is_least ? count >= bound : count <= bound) continue;
        refuse_for(trial, "gate", "%s%s%s is %.6g, and the task wants %s %.6Lg%s%s", gate->name,
                   is_named ? " of " : "", is_named ? kernel : "", count, gate->is_least ? "at least" : "at most", bound, gate->advice ? ": " : "",
                   gate->advice ? gate->advice : "");
    }
    return SIMT_OK;
}

/* Once for each size of the task: what other data and schedules cost is another matter. */
static simt_error check_gates(struct trial *trial) {
    const struct judge_task *task = trial->judging->task;
    bool is_of_task = trial->planned->size_number < task->size_count;
    if (!is_of_task || trial->planned->block || trial->planned->set || trial->schedule->schedule != SIMT_LOCKSTEP) return SIMT_OK;
    trial->record->has_gates = true;
    simt_error error = SIMT_OK;
    for (size_t s = 0; s < task->stage_count && !error; s++) error = check_gates_of(trial, s);
    return error;
}

/* ---- a launch ---- */

static simt_error place(struct trial *trial, const void **values) {
    const struct judging *judging = trial->judging;
    if (trial->bench->chains && !chains_begin(trial->bench->chains, judging->task->argument_count))
        return fail_memory(&trial->record->message);
    for (size_t a = 0; a < judging->task->argument_count; a++) {
        struct buffer *buffer = &trial->buffers.items[a];
        bool is_scalar = judging->task->arguments[a].role == ROLE_SCALAR;
        values[a] = is_scalar ? (const void *)buffer->bytes : &buffer->address;
        if (is_scalar) continue;
        simt_error error =
            simt_machine_allocate(trial->bench->machine, buffer->nbytes ? buffer->nbytes : 1, &buffer->address);
        if (!error && buffer->bytes)
            error = simt_machine_write(trial->bench->machine, buffer->address, buffer->bytes, buffer->nbytes);
        if (error) return fail_memory(&trial->record->message);
        if (trial->bench->chains && !chains_add(trial->bench->chains, a, buffer->address, buffer->nbytes))
            return fail_memory(&trial->record->message);
    }
    return SIMT_OK;
}

/* Only the result counts. */
static bool is_of_result(const struct trial *trial) { return trial->planned->is_interleaved || trial->orders; }

static bool set_launch(struct trial *trial, size_t s) {
    const struct judging *judging = trial->judging;
    const struct stage *stage = &judging->task->stages[s];
    simt_launch *launch = &trial->launch;
    struct extents extents;
    int64_t shared = 0;
    *launch = (simt_launch){.module = judging->candidate.module,
                            .kernel = judging->candidate.kernels[s],
                            .schedule = trial->schedule->schedule,
                            .seed = trial->schedule->seed + (trial->planned->is_interleaved ? SCHEDULES * trial->planned->set : 0),
                            .threads = 1,
                            .observers = is_of_result(trial) ? judging->chains_alone : judging->observers,
                            .interleaves = trial->planned->is_interleaved,
                            .context = trial->bench->chains};
    if (!task_extents(judging->task, stage, trial->planned->block, &trial->scope, &extents, &trial->record->message)) return false;
    memcpy(launch->block, extents.block, sizeof extents.block);
    memcpy(launch->grid, extents.grid, sizeof extents.grid);
    if (stage->shared &&
        !task_whole(judging->task, stage->shared, &trial->scope, &shared, &trial->record->message))
        return false;
    launch->shared_nbytes = (size_t)shared;
    launch->instruction_limit =
        INSTRUCTIONS_LEAST +
        (trial->planned->is_interleaved ? INSTRUCTIONS_IN_TURNS : INSTRUCTIONS_FOR_EACH) * ((uint64_t)trial->scope.size->n + trial->scope.grid * ((trial->scope.block + 31) / 32));
    return true;
}

/* Later launches of a size have other data: nobody knows a result before. */
static struct data data_of(const struct trial *trial) {
    const size_t schedule = trial->planned->schedule;
    uint64_t number = (trial->planned->size_number * DATA_MAX + trial->planned->set) * SCHEDULES + schedule;
    return (struct data){trial->planned->set, trial->judging->seed * 1000003 + number * 7919,
                         schedule % 2 == 1, trial->planned->pattern};
}

/* SIMT_ERROR_STOPPED: what the kernel did has been told, and memory is no result. */
static simt_error run_stage(struct trial *trial, size_t s, const void *const *values) {
    const struct stage *stage = &trial->judging->task->stages[s];
    const void *own[ARGUMENTS_MAX];
    for (size_t i = 0; i < stage->argument_count; i++) own[i] = values[stage->arguments[i]];
    if (s && !set_launch(trial, s)) return SIMT_ERROR_ARGUMENT;
    trial->launch.arguments = own;
    if (trial->orders) simt_machine_hold(trial->bench->machine, trial->orders[s].held, trial->orders[s].held_count);
    simt_error error =
        simt_machine_launch(trial->bench->machine, &trial->launch, &trial->reports[s], &trial->record->message);
    const bool has_findings = !error || (error == SIMT_ERROR_STOPPED && trial->reports[s]);
    if (has_findings && !is_of_result(trial)) refuse_findings(trial, stage, trial->reports[s]);
    return error;
}

static simt_error run_stages(struct trial *trial, const void *const *values) {
    const struct judge_task *task = trial->judging->task;
    simt_error error = SIMT_OK;
    size_t s = 0;
    trial->record->does_fit = does_fit(trial);
    trial->record->is_launched = true; /* those of a task of several kernels count as one */
    while (s < task->stage_count && !error) error = run_stage(trial, s++, values);
    if (error == SIMT_ERROR_STOPPED && trial->reports[s - 1]) {
        trial->record->is_over |= trial->planned->is_interleaved;
        return SIMT_OK;
    }
    if (!error) error = check_output(trial);
    if (!error && !trial->orders) error = check_inputs(trial);
    return error || trial->orders ? error : check_gates(trial);
}

/* Before anything else is allocated, so that every address is the same in each trial. */
static simt_error create_machine(struct bench *bench, const struct judging *judging, simt_message *message) {
    const struct candidate *candidate = &judging->candidate;
    simt_error error = simt_machine_create(NULL, &bench->machine);
    if (error) return fail_memory(message);
    for (size_t s = 0; s < judging->task->stage_count && !error; s++)
        error = simt_machine_prepare(bench->machine, candidate->module, candidate->kernels[s], message);
    if (!error) return SIMT_OK;
    simt_machine_destroy(bench->machine);
    bench->machine = NULL;
    return error;
}

static simt_error launch(struct trial *trial) {
    const struct judging *judging = trial->judging;
    const void *values[ARGUMENTS_MAX];
    const struct data data = data_of(trial);
    if (!set_launch(trial, 0)) return SIMT_ERROR_ARGUMENT;
    if (trial->planned->is_interleaved && trial->scope.grid < 2) return SIMT_OK;
    simt_error error = buffers_make(&trial->buffers, judging->task, &trial->scope, &data, &trial->record->message);
    if (!error)
        error =
            expected_make(&trial->expected, judging->task, &trial->scope, &trial->buffers, &trial->record->message);
    if (!error && !trial->bench->machine) error = create_machine(trial->bench, judging, &trial->record->message);
    if (!error) simt_machine_set_cancel(trial->bench->machine, trial->cancel, trial->context);
    if (!error) error = place(trial, values);
    return error ? error : run_stages(trial, values);
}

void bench_reset(struct bench *bench) {
    if (!bench->machine || !simt_machine_reset(bench->machine)) return;
    simt_machine_destroy(bench->machine);
    bench->machine = NULL;
}

/* What is left in them is no data of the next launch: a pointer into them that the kernel kept is a finding there. */
static void free_buffers(struct trial *trial) {
    for (size_t a = 0; a < ARGUMENTS_MAX; a++)
        if (trial->buffers.items[a].address) simt_machine_free(trial->bench->machine, trial->buffers.items[a].address);
}

static void trial_clear(struct trial *trial) {
    for (size_t s = 0; s < STAGES_MAX; s++) simt_report_destroy(trial->reports[s]);
    if (trial->bench->keeps_variables) free_buffers(trial);
    else bench_reset(trial->bench);
    free(trial->result);
    free(trial->values);
    free(trial->is_wrong);
    expected_clear(&trial->expected);
    buffers_clear(&trial->buffers);
}

/* ---- a wrong result */

/* The same launch in another order, to be cleared by the caller. */
static void launch_again(const struct trial *trial, const struct schedule *schedule, const struct order *orders, struct record *record,
                         struct trial *again) {
    *again = (struct trial){.judging = trial->judging, .planned = trial->planned, .bench = trial->bench, .record = record,
                            .cancel = trial->cancel, .context = trial->context, .schedule = schedule,
                            .scope = {trial->planned->size, 0, 0}, .orders = orders};
    bench_reset(trial->bench);
    if (launch(again)) again->has_result = false;
}

/* Where one barrier is missing, another may be, too, whose race this launch did not show: with one before every line that is seen.
 * That keeps what threads do in one step apart from what others do. */
static void launch_line_by_line(const struct trial *trial, const struct schedule *schedule, const struct order *orders, struct record *record,
                                struct trial *again) {
    struct order lines[STAGES_MAX];
    for (size_t s = 0; s < trial->judging->task->stage_count; s++) {
        lines[s] = orders[s];
        if (!orders[s].held_count) continue;
        lines[s].held_count = 1;
        lines[s].held[0] = (simt_held_lines){1, UINT32_MAX};
    }
    launch_again(trial, schedule, lines, record, again);
    again->orders = orders; /* what is there when this returns */
}

/* Whether the kernel is right where nothing races: by barriers where these lack, or one thread after the other. */
static bool is_right_without_races(const struct trial *trial, const struct order *orders, struct record *record, struct trial *again) {
    static const struct schedule orderly[] = {{"lockstep without the races", SIMT_HELD, 0}, {"one thread after the other", SIMT_SPLIT, 0}};
    bool has_held = false, has_others = false;
    for (size_t s = 0; s < trial->judging->task->stage_count; s++) {
        has_held |= orders[s].held_count > 0;
        has_others |= orders[s].has_others;
    }
    if (has_held) launch_again(trial, &orderly[0], orders, record, again);
    if (has_held && again->has_result && again->has_wrong) {
        trial_clear(again);
        launch_line_by_line(trial, &orderly[0], orders, record, again);
    }
    if (!has_others || (again->has_result && !again->has_wrong)) return again->has_result && !again->has_wrong;
    trial_clear(again);
    launch_again(trial, &orderly[1], orders, record, again);
    return again->has_result && !again->has_wrong;
}

/* What is undefined may make a result wrong, and no other order tells whether it does. */
static bool may_follow_from_findings(const struct trial *trial, const struct order *orders) {
    bool may_follow = false;
    for (size_t s = 0; s < trial->judging->task->stage_count; s++) {
        may_follow |= orders[s].is_uncertain;
        for (size_t i = 0; i < simt_report_finding_count(trial->reports[s]); i++) {
            const enum simt_finding_kind kind = simt_report_finding(trial->reports[s], i)->kind;
            may_follow |= kind == SIMT_FINDING_UNINITIALISED || kind == SIMT_FINDING_SHUFFLE;
        }
    }
    return may_follow;
}

/* A wrong result is the race's, if it is right in an order without one; else it is told as it is without one. */
static void refuse_wrong(struct trial *trial) {
    struct order orders[STAGES_MAX];
    struct trial again = {.bench = trial->bench};
    struct record *record = record_create();
    for (size_t s = 0; s < trial->judging->task->stage_count; s++) order_of(trial->reports[s], &orders[s]);
    const bool may_race = record && !trial->planned->is_interleaved && !trial->bench->keeps_variables;
    const bool is_right = may_race && is_right_without_races(trial, orders, record, &again);
    struct trial *told = again.has_result ? &again : trial;
    told->record = trial->record;
    if (is_right) record_blame_races(trial->record);
    else refuse_value(told, &told->wrong);
    if (!is_right && may_follow_from_findings(trial, orders)) record_note_following(trial->record);
    trial_clear(&again);
    record_destroy(record);
}

void trial_run(const struct judging *judging, const struct planned *planned, struct bench *bench, simt_cancel_function *cancel,
               void *context, struct record *record) {
    struct trial trial = {.judging = judging, .planned = planned, .bench = bench, .record = record, .cancel = cancel,
                          .context = context, .schedule = &schedules[planned->schedule], .scope = {planned->size, 0, 0}};
    const simt_error error = launch(&trial);
    if (!error && trial.has_wrong) refuse_wrong(&trial);
    if (error) record->error = error;
    trial_clear(&trial);
}

void judging_list_observers(struct judging *judging) {
    const struct judge_task *task = judging->task;
    size_t count = 0;
    judging->counts_chains = is_float(task->arguments[task->reference.output].type) && !task->roundings;
    if (judging->counts_chains) judging->observers[count++] = judging->chains_alone[0] = &judge_observe_chains;
    for (size_t i = 0; simt_observers[i] && count < OBSERVERS_MAX - 1; i++)
        judging->observers[count++] = simt_observers[i];
}
