/* Launches the kernel on every size, data set and schedule, and says why it is refused, if it is. */
#include "judge.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffers.h"
#include "candidate.h"
#include "chains.h"
#include "reference.h"
#include "sizes.h"

enum { OBSERVERS_MAX = 32, INSTRUCTIONS_LEAST = 1 << 18, INSTRUCTIONS_FOR_EACH = 1 << 12, INSTRUCTIONS_IN_TURNS = 1 << 6 };

static const struct schedule {
    const char *name;
    simt_schedule schedule;
    uint64_t seed;
} schedules[] = {{"lockstep", SIMT_LOCKSTEP, 0},
                 {"split", SIMT_SPLIT, 0},
                 {"random:1", SIMT_RANDOM, 1},
                 {"random:2", SIMT_RANDOM, 2}};
enum { SCHEDULES = sizeof schedules / sizeof *schedules };
_Static_assert(SIZES_MAX + MORE_SIZES_MAX <= JUDGE_SIZES_MAX, "a verdict has room for all sizes");

struct judging {
    const struct judge_request *request;
    const struct judge_task *task;
    struct candidate candidate;
    struct chains *chains;
    uint64_t seed; /* the request's, and the kernel's */
    const struct simt_observer *observers[OBSERVERS_MAX], *chains_alone[2];
    struct judge_verdict *verdict;
    simt_message *message;
};

/* One launch, or one of each of the task's kernels. */
struct trial {
    struct judging *judging;
    struct scope scope;
    size_t size_number; /* of the task's sizes, then of the others */
    size_t set;
    size_t block; /* 0: the task's first, then its others */
    const struct schedule *schedule;
    simt_launch launch;
    struct buffers buffers;
    unsigned char *result; /* the output's bytes after the launch */
    struct expected expected;
    bool is_interleaved; /* blocks in turns: only the result counts */
    simt_machine *machine, *kept; /* kept: the caller's, with module variables as earlier launches left them, or NULL */
    simt_report *reports[STAGES_MAX]; /* NULL: not launched */
    bool is_refused, is_over; /* is_over: more launches would only take long */
};

/* ---- reasons ------------------------------------------------------------------------------------------ */

/* Findings at the same pair of lines; gates of the same count, which is a message's first word. */
static bool is_alike(const struct judge_reason *a, const struct judge_reason *b) {
    size_t count = strcspn(a->message, " ");
    if (strcmp(a->kind, b->kind) || strcmp(a->file, b->file)) return false;
    if (!strcmp(a->kind, "gate")) return !strncmp(a->message, b->message, count + 1);
    bool is_same = a->line == b->line && a->other_line == b->other_line;
    bool is_turned = a->line == b->other_line && a->other_line == b->line;
    return is_same || is_turned;
}

/* The generator of the first input that has several, or of the first one. */
static const char *data_name(const struct trial *trial) {
    const struct judge_task *task = trial->judging->task;
    const struct argument *shown = NULL;
    for (size_t a = 0; a < task->argument_count; a++)
        if (has_data(task->arguments[a].role) &&
            (!shown || shown->content_count < task->arguments[a].content_count))
            shown = &task->arguments[a];
    if (!shown) return "no data";
    return shown->contents[trial->set < shown->content_count ? trial->set : shown->content_count - 1];
}

/* If a small launch shows a race of lanes in one warp, and a larger one shows it between warps, too, only the latter is
 * told: its cure, __syncthreads(), cures both. */
static bool is_stronger(const struct judge_reason *a, const struct judge_reason *b) {
    return strstr(a->message, "no __syncthreads()") && strstr(b->message, "no __syncwarp()");
}

static void refuse(struct trial *trial, const struct judge_reason *reason) {
    struct judge_verdict *verdict = trial->judging->verdict;
    trial->is_refused = true;
    for (size_t i = 0; i < verdict->reason_count; i++) {
        if (!is_alike(&verdict->reasons[i], reason)) continue;
        verdict->reasons[i].launches += verdict->reasons[i].last_launch != verdict->launches;
        verdict->reasons[i].last_launch = verdict->launches;
        if (is_stronger(reason, &verdict->reasons[i]))
            memcpy(verdict->reasons[i].message, reason->message, sizeof reason->message);
        return;
    }
    if (verdict->reason_count == JUDGE_REASONS_MAX) return;
    struct judge_reason *added = &verdict->reasons[verdict->reason_count++];
    *added = *reason;
    added->launches = 1;
    added->last_launch = verdict->launches;
    int length = snprintf(added->where, sizeof added->where, "n = %s, %s, %s", trial->scope.size->text, data_name(trial),
                          trial->schedule->name);
    if (length < 0 || (size_t)length >= sizeof added->where) return;
    if (trial->block)
        snprintf(added->where + length, sizeof added->where - (size_t)length, ", blocks of %" PRIu64 " threads", trial->scope.block);
    if (trial->is_interleaved)
        snprintf(added->where + length, sizeof added->where - (size_t)length, ", blocks in turns");
    if (trial->kept)
        snprintf(added->where + length, sizeof added->where - (size_t)length, ", `__device__` variables as earlier launches left them");
}

static void refuse_for(struct trial *trial, const char *kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void refuse_for(struct trial *trial, const char *kind, const char *format, ...) {
    struct judge_reason reason = {.launches = 1};
    va_list arguments;
    snprintf(reason.kind, sizeof reason.kind, "%s", kind);
    va_start(arguments, format);
    vsnprintf(reason.message, sizeof reason.message, format, arguments);
    va_end(arguments);
    refuse(trial, &reason);
}

/* ---- findings -------------------------------------------------------------------------------------------
 */

/* "... (index 1000 of `in`, which has 1000 elements)".  Allocations are 4 GiB apart, so what is near is the argument's, be
 * it before its begin or behind its end. */
static void name_element(const struct trial *trial, const simt_finding *finding, char *text, size_t nbytes) {
    const struct judge_task *task = trial->judging->task;
    const int64_t reach = INT64_C(1) << 31;
    const size_t length = strlen(text);
    if (!strstr(finding->message, " global memory")) return;
    for (size_t a = 0; a < task->argument_count; a++) {
        const struct buffer *buffer = &trial->buffers.items[a];
        const int64_t offset = (int64_t)(finding->address - buffer->address);
        const int64_t size = (int64_t)wf_type_nbytes(task->arguments[a].type);
        if (task->arguments[a].role == ROLE_SCALAR || offset < -reach || offset >= reach) continue;
        snprintf(text + length, nbytes - length, " (index %" PRId64 " of `%s`, which has %" PRIu64 " element%s)",
                 offset / size - (offset % size < 0), task->arguments[a].name, buffer->count, buffer->count == 1 ? "" : "s");
        return;
    }
}

static void refuse_findings(struct trial *trial, const simt_report *report) {
    for (size_t i = 0; i < simt_report_finding_count(report); i++) {
        const simt_finding *finding = simt_report_finding(report, i);
        struct judge_reason reason = {.line = finding->line,
                                      .other_line = finding->has_other ? finding->other_line : 0};
        snprintf(reason.kind, sizeof reason.kind, "%s", simt_finding_kind_name(finding->kind));
        if (finding->kind == SIMT_FINDING_RUNAWAY)
            snprintf(reason.message, sizeof reason.message,
                     "no end after %" PRIu64 " warp instructions: an endless loop, or far too much work",
                     trial->launch.instruction_limit);
        else
            snprintf(reason.message, sizeof reason.message, "%s", finding->message);
        name_element(trial, finding, reason.message, sizeof reason.message);
        snprintf(reason.file, sizeof reason.file, "%s", finding->file);
        refuse(trial, &reason);
        trial->is_over |= finding->kind == SIMT_FINDING_RUNAWAY || finding->kind == SIMT_FINDING_UNSUPPORTED;
    }
}

/* ---- the result ------------------------------------------------------------------------------------------
 */

static int digits_of(wf_type type) {
    return type == WF_F32 ? 24 : 53;
}

static bool is_float(wf_type type) {
    return type == WF_F32 || type == WF_F64;
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
    if (!expected->is_additive || !trial->judging->chains) return expected->roundings;
    uint64_t counted = chains_longest(trial->judging->chains, task->reference.output,
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

static void note_error(struct judge_verdict *verdict, double error, double bound, uint64_t roundings,
                       bool is_counted) {
    if (verdict->has_error && error <= verdict->error_ulp) return;
    verdict->has_error = true;
    verdict->error_ulp = error;
    verdict->bound_ulp = bound;
    verdict->roundings = roundings;
    verdict->is_counted = is_counted;
}

/* An element, or what the output is reduced to, with its distances in ulp. */
struct comparison {
    uint64_t element, roundings;
    long double value, exact, error, bound;
};

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

static void refuse_value(struct trial *trial, const struct comparison *c) {
    const struct judge_task *task = trial->judging->task;
    const int digits = task->arguments[task->reference.output].type == WF_F32 ? 9 : 17; /* tell neighbours apart */
    const char *output = task->arguments[task->reference.output].name, *why = trial->is_interleaved ? in_turns : "";
    char place[160];
    if (task->reference.partials)
        snprintf(place, sizeof place, "%s(%s)", wf_op_name(task->reference.partials), output);
    else
        snprintf(place, sizeof place, "%s[%" PRIu64 "]", output, c->element);
    if (is_left(trial, c->element))
        refuse_for(trial, "result", "%s is not written, and must be %.*Lg", place, digits, c->exact);
    else if (c->bound > 0 && !isfinite(c->value))
        refuse_for(trial, "result", "%s is %.*Lg, and must be %.*Lg, but for its rounding%s", place, digits, c->value, digits, c->exact, why);
    else if (c->bound > 0)
        refuse_for(trial, "result",
                   "%s is %.*Lg, exactly %.*Lg: off by %.3Lg ulp, where %" PRIu64
                   " rounded operations in a row explain no more than %.3Lg%s",
                   place, digits, c->value, digits, c->exact, c->error, c->roundings, c->bound, why);
    else
        refuse_for(trial, "result", "%s is %.*Lg, and must be %.*Lg%s", place, digits, c->value, digits, c->exact, why);
}

/* false: it is wrong, and that has been said. */
static bool compare(struct trial *trial, uint64_t i, long double value, bool is_whole) {
    const struct expected *expected = &trial->expected;
    const wf_type type = trial->judging->task->arguments[trial->judging->task->reference.output].type;
    struct comparison c = {.element = i, .value = value, .exact = expected->values[i]};
    bool is_counted;
    if (!isfinite(c.exact)) {
        const bool is_right = isnan(c.exact) ? isnan(value) : value == c.exact;
        if (!is_right) refuse_value(trial, &c);
        return is_right;
    }
    c.roundings = roundings_at(trial, i, &is_counted);
    long double ulp = ulp_at(c.exact != 0 ? c.exact : expected->scales[i], type);
    c.error = value == c.exact ? 0 : fabsl(value - c.exact) / ulp; /* 0 of equal infinities, too */
    c.bound = bound_at(trial, i, c.roundings, is_whole, type) / ulp;
    if (!(c.error <= c.bound)) {
        refuse_value(trial, &c);
        return false;
    }
    if (is_float(type))
        note_error(trial->judging->verdict, (double)c.error, (double)c.bound, c.roundings, is_counted);
    return true;
}

static simt_error check_output(struct trial *trial) {
    const struct judge_task *task = trial->judging->task;
    const struct buffer *output = &trial->buffers.items[task->reference.output];
    const bool is_whole = inputs_are_whole(task, &trial->buffers);
    unsigned char *bytes = trial->result = malloc(output->nbytes + 1);
    simt_error error = bytes ? SIMT_OK : fail_memory(trial->judging->message);
    if (!error) error = simt_machine_read(trial->machine, output->address, bytes, output->nbytes);
    for (uint64_t i = 0; i < trial->expected.count && !error; i++) {
        long double value;
        error = output_value(task, bytes, output->count, i, &value, trial->judging->message);
        if (!error && !compare(trial, i, value, is_whole)) break;
    }
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
        if (!bytes) return fail_memory(trial->judging->message);
        simt_error error = simt_machine_read(trial->machine, buffer->address, bytes, buffer->nbytes);
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
    struct judge_gate_count *shown = &trial->judging->verdict->gates[g];
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
        if (!task_number(task, gate->bound, &trial->scope, &bound, trial->judging->message))
            return SIMT_ERROR_ARGUMENT;
        if (isnan(count)) {
            snprintf(trial->judging->message->text, sizeof trial->judging->message->text,
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
    bool is_of_task = trial->size_number < task->size_count;
    if (!is_of_task || trial->block || trial->set || trial->schedule->schedule != SIMT_LOCKSTEP) return SIMT_OK;
    trial->judging->verdict->gate_count = task->gate_count;
    simt_error error = SIMT_OK;
    for (size_t s = 0; s < task->stage_count && !error; s++) error = check_gates_of(trial, s);
    return error;
}

/* ---- a launch ---- */

static simt_error place(struct trial *trial, const void **values) {
    struct judging *judging = trial->judging;
    if (judging->chains && !chains_begin(judging->chains, judging->task->argument_count))
        return fail_memory(judging->message);
    for (size_t a = 0; a < judging->task->argument_count; a++) {
        struct buffer *buffer = &trial->buffers.items[a];
        bool is_scalar = judging->task->arguments[a].role == ROLE_SCALAR;
        values[a] = is_scalar ? (const void *)buffer->bytes : &buffer->address;
        if (is_scalar) continue;
        simt_error error =
            simt_machine_allocate(trial->machine, buffer->nbytes ? buffer->nbytes : 1, &buffer->address);
        if (!error && buffer->bytes)
            error = simt_machine_write(trial->machine, buffer->address, buffer->bytes, buffer->nbytes);
        if (error) return fail_memory(judging->message);
        if (judging->chains && !chains_add(judging->chains, a, buffer->address, buffer->nbytes))
            return fail_memory(judging->message);
    }
    return SIMT_OK;
}

static bool set_launch(struct trial *trial, size_t s) {
    const struct judging *judging = trial->judging;
    const struct stage *stage = &judging->task->stages[s];
    simt_launch *launch = &trial->launch;
    struct extents extents;
    int64_t shared = 0;
    *launch = (simt_launch){.module = judging->candidate.module,
                            .kernel = judging->candidate.kernels[s],
                            .schedule = trial->schedule->schedule,
                            .seed = trial->schedule->seed + (trial->is_interleaved ? SCHEDULES * trial->set : 0),
                            .threads = 1,
                            .observers = trial->is_interleaved ? judging->chains_alone : judging->observers,
                            .interleaves = trial->is_interleaved,
                            .context = judging->chains};
    if (!task_extents(judging->task, stage, trial->block, &trial->scope, &extents, judging->message)) return false;
    memcpy(launch->block, extents.block, sizeof extents.block);
    memcpy(launch->grid, extents.grid, sizeof extents.grid);
    if (stage->shared &&
        !task_whole(judging->task, stage->shared, &trial->scope, &shared, judging->message))
        return false;
    launch->shared_nbytes = (size_t)shared;
    launch->instruction_limit =
        INSTRUCTIONS_LEAST +
        (trial->is_interleaved ? INSTRUCTIONS_IN_TURNS : INSTRUCTIONS_FOR_EACH) * ((uint64_t)trial->scope.size->n + trial->scope.grid * ((trial->scope.block + 31) / 32));
    return true;
}

/* Depends on the request's seed and on all that the kernel executes and contains: if the results of one trial are written
 * into the kernel, the next trial has other data.  Names of files, which tell where the source lies, do not matter. */
static uint64_t seed_of(uint64_t seed, const char *ptx) {
    while (*ptx) {
        const size_t length = strcspn(ptx, "\n");
        const char *begin = ptx + strspn(ptx, " \t");
        const bool is_place = !strncmp(begin, ".file", 5) || !strncmp(begin, ".loc", 4) || !strncmp(begin, "//", 2);
        for (size_t i = 0; i < length && !is_place; i++)
            seed = (seed ^ (unsigned char)ptx[i]) * UINT64_C(0x100000001b3);
        ptx += length + (ptx[length] == '\n');
    }
    return seed;
}

/* Later launches of a size have other data: nobody knows a result before. */
static struct data data_of(const struct trial *trial) {
    size_t schedule = (size_t)(trial->schedule - schedules);
    uint64_t number = (trial->size_number * DATA_MAX + trial->set) * SCHEDULES + schedule;
    return (struct data){trial->set, trial->judging->seed * 1000003 + number * 7919,
                         schedule % 2 == 1};
}

/* SIMT_ERROR_STOPPED: what the kernel did has been told, and memory is no result. */
static simt_error run_stage(struct trial *trial, size_t s, const void *const *values) {
    const struct stage *stage = &trial->judging->task->stages[s];
    const void *own[ARGUMENTS_MAX];
    for (size_t i = 0; i < stage->argument_count; i++) own[i] = values[stage->arguments[i]];
    if (s && !set_launch(trial, s)) return SIMT_ERROR_ARGUMENT;
    trial->launch.arguments = own;
    simt_error error =
        simt_machine_launch(trial->machine, &trial->launch, &trial->reports[s], trial->judging->message);
    const bool has_findings = !error || (error == SIMT_ERROR_STOPPED && trial->reports[s]);
    if (has_findings && !trial->is_interleaved) refuse_findings(trial, trial->reports[s]);
    return error;
}

static simt_error run_stages(struct trial *trial, const void *const *values) {
    const struct judge_task *task = trial->judging->task;
    simt_error error = SIMT_OK;
    size_t s = 0;
    trial->judging->verdict->launches++; /* those of a task of several kernels count as one */
    while (s < task->stage_count && !error) error = run_stage(trial, s++, values);
    if (error == SIMT_ERROR_STOPPED && trial->reports[s - 1]) {
        trial->is_over |= trial->is_interleaved;
        return SIMT_OK;
    }
    if (!error) error = check_output(trial);
    if (!error) error = check_inputs(trial);
    return error ? error : check_gates(trial);
}

static simt_error launch(struct trial *trial) {
    struct judging *judging = trial->judging;
    const void *values[ARGUMENTS_MAX];
    const struct data data = data_of(trial);
    if (!set_launch(trial, 0)) return SIMT_ERROR_ARGUMENT;
    if (trial->is_interleaved && trial->scope.grid < 2) return SIMT_OK;
    simt_error error = buffers_make(&trial->buffers, judging->task, &trial->scope, &data, judging->message);
    if (!error)
        error =
            expected_make(&trial->expected, judging->task, &trial->scope, &trial->buffers, judging->message);
    trial->machine = trial->kept;
    if (!error && !trial->machine && simt_machine_create(NULL, &trial->machine)) error = fail_memory(judging->message);
    if (!error) error = place(trial, values);
    return error ? error : run_stages(trial, values);
}

/* What is left in them is no data of the next launch: a pointer into them that the kernel kept is a finding there. */
static void free_buffers(struct trial *trial) {
    for (size_t a = 0; a < ARGUMENTS_MAX; a++)
        if (trial->buffers.items[a].address) simt_machine_free(trial->kept, trial->buffers.items[a].address);
}

static void trial_clear(struct trial *trial) {
    for (size_t s = 0; s < STAGES_MAX; s++) simt_report_destroy(trial->reports[s]);
    if (trial->kept)
        free_buffers(trial);
    else
        simt_machine_destroy(trial->machine);
    free(trial->result);
    expected_clear(&trial->expected);
    buffers_clear(&trial->buffers);
}

/* ---- all of them ---- */

/* *is_over: more launches would not tell more. */
static simt_error try(struct trial trial, bool *is_over) {
    simt_error error = launch(&trial);
    *is_over = trial.is_over;
    trial_clear(&trial);
    return error;
}

static void note_size(struct judge_verdict *verdict, const struct size *size) {
    snprintf(verdict->sizes[verdict->size_count++], JUDGE_SIZE_CAPACITY, "%s", size->text);
}

/* "16x16"; of several kernels the block of each, "64 then 1". */
static void note_block(struct judging *judging, size_t number) {
    const struct judge_task *task = judging->task;
    struct judge_verdict *verdict = judging->verdict;
    char *text = verdict->blocks[verdict->block_count++];
    size_t length = 0;
    for (size_t s = 0; s < task->stage_count; s++) {
        const char *const *extents = stage_block(&task->stages[s], number);
        for (size_t d = 0; d < 3 && extents[d] && length < JUDGE_BLOCK_CAPACITY; d++)
            length += (size_t)snprintf(text + length, JUDGE_BLOCK_CAPACITY - length, "%s%s", d ? "x" : s ? " then " : "",
                                       extents[d]);
    }
}

static size_t data_sets(const struct judge_task *task) {
    return task->data_count ? task->data_count : 1;
}

/* Each size with all data and schedules. */
static simt_error try_sizes_of_task(struct judging *judging) {
    const struct judge_task *task = judging->task;
    bool is_over = false;
    simt_error error = SIMT_OK;
    note_block(judging, 0);
    for (size_t i = 0; i < task->size_count && !is_over && !error; i++) {
        note_size(judging->verdict, &task->sizes[i]);
        judging->verdict->task_size_count++;
        for (size_t set = 0; set < data_sets(task); set++)
            for (size_t s = 0; s < SCHEDULES && !is_over && !error; s++)
                error = try((struct trial){.judging = judging, .scope = {&task->sizes[i], 0, 0}, .size_number = i, .set = set,
                                           .schedule = &schedules[s]},
                            &is_over);
    }
    return error;
}

static size_t other_blocks(const struct judge_task *task) {
    size_t most = 0;
    for (size_t s = 0; s < task->stage_count; s++)
        if (task->stages[s].other_block_count > most) most = task->stages[s].other_block_count;
    return most;
}

/* The task's sizes in the task's other blocks: each once, data and schedules in turn; none where the kernel is refused already. */
static simt_error try_other_blocks(struct judging *judging) {
    const struct judge_task *task = judging->task;
    const size_t sets = data_sets(task), trials = other_blocks(task) * task->size_count;
    bool is_over = false;
    simt_error error = SIMT_OK;
    for (size_t k = 0; k < trials && !judging->verdict->reason_count && !is_over && !error; k++) {
        const size_t size = k % task->size_count, block = 1 + k / task->size_count;
        if (!size) note_block(judging, block);
        error = try((struct trial){.judging = judging, .scope = {&task->sizes[size], 0, 0}, .size_number = size,
                                   .set = k % sets, .block = block, .schedule = &schedules[k / sets % SCHEDULES]},
                    &is_over);
    }
    return error;
}

/* Whether a block reads what others may write while it runs. */
static bool reads_from_others(const char *ptx) {
    static const char *const words[] = {"atom.", "ld.volatile", "ld.acquire", "ld.relaxed"};
    size_t w = 0;
    while (w < sizeof words / sizeof *words && !strstr(ptx, words[w])) w++;
    return w < sizeof words / sizeof *words;
}

/* In all other trials a block runs to its end before the next begins, unless it waits, so an update that is a read and a write
 * is never lost.  In these, blocks take turns, and the result tells: what races has been found, and a launch that takes long,
 * such as one in which many blocks want one lock, says nothing. */
static simt_error try_in_turns(struct judging *judging) {
    const struct judge_task *task = judging->task;
    const size_t sets = data_sets(task), trials = reads_from_others(judging->candidate.ptx) ? task->size_count * sets : 0;
    bool is_over = false;
    simt_error error = SIMT_OK;
    for (size_t k = 0; k < trials && !judging->verdict->reason_count && !is_over && !error; k++) {
        const size_t size = task->size_count - 1 - k / sets;
        error = try((struct trial){.judging = judging, .scope = {&task->sizes[size], 0, 0},
                                   .size_number = 2 * JUDGE_SIZES_MAX + size, .set = k % sets,
                                   .schedule = &schedules[SCHEDULES - 1 - k % 2], .is_interleaved = true},
                    &is_over);
    }
    return error;
}

/* In all other trials the module's variables are as in the source, where on a GPU they are as the launch before left them:
 * each of the task's sizes once more in their order, and then in the opposite one, on the same simulator. */
static simt_error try_again(struct judging *judging) {
    const struct judge_task *task = judging->task;
    const size_t sets = data_sets(task), trials = judging->candidate.keeps_state ? 2 * task->size_count : 0;
    simt_machine *kept = NULL;
    bool is_over = false;
    if (trials && simt_machine_create(NULL, &kept)) return fail_memory(judging->message);
    simt_error error = SIMT_OK;
    for (size_t k = 0; k < trials && !judging->verdict->reason_count && !is_over && !error; k++) {
        const struct size *size = &task->sizes[k < task->size_count ? k : trials - 1 - k];
        error = try((struct trial){.judging = judging, .scope = {size, 0, 0}, .size_number = JUDGE_SIZES_MAX + k, .set = k % sets,
                                   .schedule = &schedules[k / sets % SCHEDULES], .kept = kept},
                    &is_over);
    }
    simt_machine_destroy(kept);
    return error;
}

/* Each once, data and schedules in turn; none where the kernel is refused already. */
static simt_error try_more_sizes(struct judging *judging) {
    const size_t sets = data_sets(judging->task);
    const struct candidate *candidate = &judging->candidate;
    const char *kernels[STAGES_MAX];
    struct more_sizes more;
    bool is_over = false;
    simt_error error = SIMT_OK;
    for (size_t s = 0; s < judging->task->stage_count; s++)
        kernels[s] = simt_module_kernel_name(candidate->module, candidate->kernels[s]);
    sizes_choose(judging->task, candidate->ptx, kernels, judging->request->seed, &more);
    for (size_t i = 0; i < more.count && !judging->verdict->reason_count && !is_over && !error; i++) {
        note_size(judging->verdict, &more.items[i]);
        error = try((struct trial){.judging = judging, .scope = {&more.items[i], 0, 0},
                                   .size_number = judging->verdict->size_count - 1, .set = i % sets,
                                   .schedule = &schedules[i / sets % SCHEDULES]},
                    &is_over);
    }
    return error;
}

/* Chains are followed where the bound can use them. */
static bool list_observers(struct judging *judging) {
    const struct judge_task *task = judging->task;
    size_t count = 0;
    if (is_float(task->arguments[task->reference.output].type) && !task->roundings) {
        judging->chains = chains_create(judging->candidate.ptx);
        if (!judging->chains) return false;
        judging->observers[count++] = judging->chains_alone[0] = &judge_observe_chains;
    }
    for (size_t i = 0; simt_observers[i] && count < OBSERVERS_MAX - 1; i++)
        judging->observers[count++] = simt_observers[i];
    return true;
}

/* No number of launches shows what a clock decides. */
static void refuse_unsteady(struct judging *judging) {
    struct judge_verdict *verdict = judging->verdict;
    const simt_place *place = judging->candidate.unsteady_place;
    if (!place) return;
    verdict->reason_count += verdict->reason_count < JUDGE_REASONS_MAX;
    struct judge_reason *reason = &verdict->reasons[verdict->reason_count - 1];
    *reason = (struct judge_reason){.kind = "clock", .where = "the compiled code", .launches = verdict->launches,
                                    .line = place->line};
    snprintf(reason->file, sizeof reason->file, "%s", place->file);
    snprintf(reason->message, sizeof reason->message,
             "reads %s, which differs from run to run, and more than how long a thread waits may follow from it: what a kernel "
             "returns must follow from its arguments alone; leave it out",
             judging->candidate.unsteady);
}

simt_error judge_run(const struct judge_request *request, struct judge_verdict *verdict,
                     simt_message *message) {
    struct judging judging = {
        .request = request, .task = request->task, .verdict = verdict, .message = message};
    *verdict = (struct judge_verdict){0};
    simt_error error = candidate_load(&judging.candidate, request, message);
    if (!error) judging.seed = seed_of(request->seed, judging.candidate.ptx);
    if (!error && !list_observers(&judging)) error = fail_memory(message);
    if (!error) error = try_sizes_of_task(&judging);
    if (!error) error = try_other_blocks(&judging);
    if (!error) error = try_in_turns(&judging);
    if (!error) error = try_again(&judging);
    if (!error) error = try_more_sizes(&judging);
    if (!error) refuse_unsteady(&judging);
    verdict->is_accepted = !error && !verdict->reason_count;
    chains_destroy(judging.chains);
    candidate_clear(&judging.candidate);
    return error;
}
