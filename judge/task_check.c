/* Whether the parts of a task fit together. */
#include <inttypes.h>
#include <string.h>

#include "task_reading.h"

enum { THREADS_MAX = 1024 };

/* CUDA's limits of a launch, and the simulator's of the shared memory of a block. */
enum { GRID_YZ_MAX = 65535, SHARED_MAX = 1 << 20 };

static bool check_grid(struct reading *reading, const struct stage *stage, const struct extents *extents,
                       const struct size *size) {
    for (size_t d = 1; d < 3; d++) {
        if (extents->grid[d] <= GRID_YZ_MAX) continue;
        reading->line = task_line(reading->task, stage->grid[d]);
        return reading_fail(reading, "the grid of '%s' has %" PRIu32 " blocks along %c where n = %s, and may have %d", stage->kernel,
                            extents->grid[d], "xyz"[d], size->text, GRID_YZ_MAX);
    }
    return true;
}

static bool check_shared(struct reading *reading, const struct stage *stage, const struct scope *scope) {
    int64_t nbytes;
    if (!stage->shared) return true;
    if (!task_whole(reading->task, stage->shared, scope, &nbytes, reading->message)) return false;
    reading->line = task_line(reading->task, stage->shared);
    return nbytes <= SHARED_MAX ||
           reading_fail(reading, "'%s' is %" PRId64 " bytes of shared memory where n = %s, and a block may have 2^20", stage->shared,
                        nbytes, scope->size->text);
}

static bool check_block(struct reading *reading, const struct stage *stage, size_t number, struct scope scope) {
    struct extents extents;
    if (!task_extents(reading->task, stage, number, &scope, &extents, reading->message)) return false;
    reading->line = stage->line;
    if (scope.block > THREADS_MAX)
        return reading_fail(reading, "a block of '%s' has %" PRIu64 " threads where n = %s, and may have %d", stage->kernel, scope.block,
                            scope.size->text, THREADS_MAX);
    return check_grid(reading, stage, &extents, scope.size) && check_shared(reading, stage, &scope);
}

static bool check_launch(struct reading *reading, const struct stage *stage, const struct scope *scope) {
    for (size_t block = 0; block <= stage->other_block_count; block++)
        if (!check_block(reading, stage, block, *scope)) return false;
    return true;
}

static bool check_argument(struct reading *reading, const struct argument *argument, const struct scope *scope) {
    long double number;
    if (!task_number(reading->task, argument->count, scope, &number, reading->message) ||
        !task_count_fits(reading->task, argument, number, scope, reading->message))
        return false;
    const struct generator value = {.low = (double)number, .high = (double)number};
    reading->line = task_line(reading->task, argument->name);
    return argument->role != ROLE_SCALAR || generator_fits(argument->type, &value) ||
           reading_fail(reading, "the scalar '%s' is %.0Lf where n = %s, which is no value of the type %s", argument->name, number,
                        scope->size->text, wf_type_name(argument->type));
}

/* What later depends on a size must be right for each, and is asked for once here. */
static bool check_sizes(struct reading *reading) {
    struct judge_task *task = reading->task;
    for (size_t i = 0; i < task->size_count; i++) {
        const struct scope scope = {&task->sizes[i], 1, 1};
        int64_t whole;
        long double number;
        for (size_t s = 0; s < task->stage_count; s++)
            if (!check_launch(reading, &task->stages[s], &scope)) return false;
        if (task->roundings && !task_whole(task, task->roundings, &scope, &whole, reading->message))
            return false;
        if (task->empty && !task_number(task, task->empty, &scope, &number, reading->message)) return false;
        for (size_t a = 0; a < task->argument_count; a++)
            if (!check_argument(reading, &task->arguments[a], &scope)) return false;
        for (size_t g = 0; g < task->gate_count; g++)
            if (!task_number(task, task->gates[g].bound, &scope, &number, reading->message)) return false;
    }
    return true;
}

/* Of one kernel the parameters are the arguments, in order, whatever they are called, but not as others of them. */
static bool check_signature(struct reading *reading) {
    const struct judge_task *task = reading->task;
    const char *begin = strchr(task->stages[0].signature, '(') + 1;
    size_t names[ARGUMENTS_MAX], count = 0;
    reading->line = task->stages[0].line;
    for (const char *end; *begin && *begin != ')'; begin = *end == ',' ? end + 1 : end, count++) {
        end = begin + strcspn(begin, ",)");
        int length;
        const char *name = word_before(begin, end, &length);
        if (count < ARGUMENTS_MAX) names[count] = task_find_name(task, name, (size_t)length);
    }
    if (count != task->argument_count)
        return reading_fail(reading, "the signature has %zu parameters, and the task %zu arguments", count, task->argument_count);
    for (size_t p = 0; p < count; p++)
        if (names[p] != p && names[p] < count)
            return reading_fail(reading, "'%s' is parameter %zu of the signature, and argument %zu: arguments are in its order",
                                task->arguments[names[p]].name, p + 1, names[p] + 1);
    return true;
}

/* What C calls the types of buffers. */
static const struct {
    const char *name;
    wf_type type;
} c_types[] = {{"float", WF_F32},          {"double", WF_F64},
               {"char", WF_I8},            {"signed char", WF_I8},           {"unsigned char", WF_U8},
               {"short", WF_I16},          {"unsigned short", WF_U16},       {"int", WF_I32},
               {"unsigned", WF_U32},       {"unsigned int", WF_U32},         {"long long", WF_I64},
               {"unsigned long long", WF_U64}};

/* The type that a pointer parameter points to, "const float *__restrict__ in"; 0: another one, or it is no pointer to one. */
static wf_type pointed_type(const char *begin, const char *end, char text[64]) {
    const char *star = memchr(begin, '*', (size_t)(end - begin));
    size_t length = 0;
    *text = '\0';
    if (!star || memchr(star + 1, '*', (size_t)(end - star - 1))) return 0;
    while (begin < star) {
        const size_t blanks = strspn(begin, " \t"), word = strcspn(begin + blanks, " \t*");
        const bool is_const = word == strlen("const") && !strncmp(begin + blanks, "const", word);
        if (word && !is_const && length + word + 2 < 64)
            length += (size_t)snprintf(text + length, 64 - length, "%s%.*s", length ? " " : "", (int)word, begin + blanks);
        begin += blanks + word + !(blanks + word);
    }
    for (size_t i = 0; i < sizeof c_types / sizeof *c_types; i++)
        if (!strcmp(text, c_types[i].name)) return c_types[i].type;
    return 0;
}

/* Of the same size, and both floats or both not: signs are the author's to choose. */
static bool check_pointer(struct reading *reading, const struct argument *argument, const char *begin, const char *end) {
    char text[64];
    const wf_type type = pointed_type(begin, end, text);
    if (!type || argument->role == ROLE_SCALAR) return true;
    const bool is_same_size = wf_type_nbytes(type) == wf_type_nbytes(argument->type);
    if (is_same_size && is_float(type) == is_float(argument->type)) return true;
    reading->line = task_line(reading->task, argument->name);
    return reading_fail(reading,
                        "'%s' has the type %s, and is a pointer to %s in the signature: give it %s, or correct the signature",
                        argument->name, wf_type_name(argument->type), text, wf_type_name(type));
}

static bool check_types(struct reading *reading) {
    const struct judge_task *task = reading->task;
    for (const struct stage *stage = task->stages; stage < task->stages + task->stage_count; stage++) {
        const char *begin = strchr(stage->signature, '(') + 1;
        for (size_t p = 0; p < stage->argument_count && *begin && *begin != ')'; p++) {
            const char *end = begin + strcspn(begin, ",)");
            if (!check_pointer(reading, &task->arguments[stage->arguments[p]], begin, end)) return false;
            begin = *end == ',' ? end + 1 : end;
        }
    }
    return true;
}

/* Whether the reference's results are floats.  An element's expression may be of whole numbers all the same. */
static bool is_of_float_results(const struct judge_task *task) {
    const struct reference *reference = &task->reference;
    const wf_type type = task->arguments[reference->inputs[0]].type;
    if (reference->kind == REFERENCE_OP) return is_float(wf_op_result_type(reference->op, type));
    return reference->kind == REFERENCE_SOFTMAX || (reference->kind == REFERENCE_SCAN && is_float(type));
}

static bool check_output(struct reading *reading) {
    const struct judge_task *task = reading->task;
    const struct argument *output = &task->arguments[task->reference.output];
    if (task->reference.kind == REFERENCE_ELEMENTS || is_float(output->type)) return true;
    if (!is_of_float_results(task)) return true;
    reading->line = task_line(task, output->name);
    return reading_fail(reading, "'%s' has the type %s, and the results of 'Expect:' are floats: give it f32 or f64",
                        output->name, wf_type_name(output->type));
}

bool task_check(struct reading *reading) {
    return check_sizes(reading) && (reading->task->stage_count > 1 || check_signature(reading)) && check_types(reading) &&
           check_output(reading);
}
