/* Reads tasks.  A line is "Key: value"; those that begin with # are comments. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "task_reading.h"

/* Whether it makes values that an integer cannot be. */
static bool is_of_floats(const struct generator *generator) {
    bool is_finite = isfinite(generator->low);
    for (size_t s = 0; s < generator->special_count; s++) is_finite &= isfinite(generator->specials[s]);
    return !is_finite;
}

/* ---- the lines of a task --------------------------------------------------------------------------- */

static bool read_title(struct reading *reading, char *value) {
    snprintf(reading->task->title, sizeof reading->task->title, "%s", value);
    return true;
}

/* The kernel's name is the last word before the parenthesis.  Each signature begins a stage. */
static bool read_signature(struct reading *reading, char *value) {
    struct judge_task *task = reading->task;
    const char *end = strchr(value, '(');
    int length;
    if (!end) return reading_fail(reading, "'%s' is not a kernel's signature: void name(parameters)", value);
    const char *name = word_before(value, end, &length);
    if (!length) return reading_fail(reading, "'%s' names no kernel", value);
    if (task->stage_count == STAGES_MAX)
        return reading_fail(reading, "there are more than %d signatures", STAGES_MAX);
    struct stage *stage = &task->stages[task->stage_count++];
    stage->line = reading->line;
    snprintf(stage->signature, sizeof stage->signature, "%s", value);
    snprintf(stage->kernel, sizeof stage->kernel, "%.*s", length, name);
    return true;
}

/* The stage whose launch is told: that of the signature before, or the first. */
static struct stage *told_stage(const struct reading *reading) {
    struct judge_task *task = reading->task;
    return &task->stages[task->stage_count ? task->stage_count - 1 : 0];
}

static bool read_extent(struct reading *reading, char *value, const char *extent[3], const char *key) {
    if (extent[0]) return reading_fail(reading, "%s is given twice", key);
    if (!value || !*value) return reading_fail(reading, "%s: nothing stands behind the '|'", key);
    for (int d = 0; d < 3; d++) {
        extent[d] = word_cut_at(&value, ',');
        if (extent[d] && !*extent[d]) return reading_fail(reading, "an extent is empty: X[, Y[, Z]]");
    }
    return value ? reading_fail(reading, "there are three extents at most: X[, Y[, Z]]") : true;
}

static bool read_block(struct reading *reading, char *value) {
    struct stage *stage = told_stage(reading);
    char *first = word_cut_at(&value, '|');
    if (!read_extent(reading, first, stage->block, "Block")) return false;
    while (value) {
        if (stage->other_block_count == OTHER_BLOCKS_MAX)
            return reading_fail(reading, "there are more than %d blocks", OTHER_BLOCKS_MAX + 1);
        char *other = word_cut_at(&value, '|');
        if (!read_extent(reading, other, stage->other_blocks[stage->other_block_count++], "Block")) return false;
    }
    return true;
}

static bool read_grid(struct reading *reading, char *value) {
    return read_extent(reading, value, told_stage(reading)->grid, "Grid");
}

static bool read_shared(struct reading *reading, char *value) {
    struct stage *stage = told_stage(reading);
    if (stage->shared) return reading_fail(reading, "Shared is given twice");
    stage->shared = value;
    return true;
}

static bool read_roundings(struct reading *reading, char *value) {
    reading->task->roundings = value;
    return true;
}

static bool read_header(struct reading *reading, char *value) {
    reading->task->header = value;
    return true;
}

static bool read_nan(struct reading *reading, char *value) {
    reading->task->omits_nan = !strcmp(value, "omit");
    return reading->task->omits_nan || !strcmp(value, "propagate") ||
           reading_fail(reading, "'NaN: %s': it is 'omit' or 'propagate', which is the default", value);
}

static bool read_empty(struct reading *reading, char *value) {
    reading->task->empty = value;
    return true;
}

static bool read_options(struct reading *reading, char *value) {
    struct judge_task *task = reading->task;
    if (*value != '-')
        return reading_fail(reading, "'%s' is no option of the compiler, which begin with '-': -DNAME=VALUE, -arch=sm_90",
                            word_cut(&value));
    while (*value) {
        if (task->option_count == OPTIONS_MAX)
            return reading_fail(reading, "there are more than %d options", OPTIONS_MAX);
        task->options[task->option_count++] = word_cut(&value);
    }
    return true;
}

static bool is_new_size(const struct reading *reading, const struct size *size) {
    for (const struct size *other = reading->task->sizes; other < size; other++)
        if (other->rows == size->rows && other->cols == size->cols)
            return reading_fail(reading, "the size %s is given twice: its launches would only be repeated; leave one out",
                                size->text);
    return true;
}

static bool read_sizes(struct reading *reading, char *value) {
    struct judge_task *task = reading->task;
    while (*word_trim(value)) {
        char *word = word_cut(&value), *end;
        if (task->is_open) return reading_fail(reading, "'...' stands behind the last size");
        task->is_open = !strcmp(word, "...");
        if (task->is_open) continue;
        if (task->size_count == SIZES_MAX) return reading_fail(reading, "there are more than %d sizes", SIZES_MAX);
        struct size *size = &task->sizes[task->size_count++];
        *size = (struct size){word, 0, 1, 0};
        size->cols = isdigit((unsigned char)*word) ? strtol(word, &end, 10) : -1;
        if (size->cols >= 0 && *end == 'x') {
            size->rows = size->cols;
            size->cols = isdigit((unsigned char)end[1]) ? strtol(end + 1, &end, 10) : -1;
        }
        if (size->cols < 0 || *end || size->cols > 1 << 24 || size->rows > 1 << 24 ||
            size->rows * size->cols > 1 << 24)
            return reading_fail(reading, "'%s' is not a size: N or ROWSxCOLS, at most 2^24 elements", word);
        size->n = size->rows * size->cols;
        if (!is_new_size(reading, size)) return false;
    }
    return true;
}

/* Name: lowest or highest is allowed; then what to do about it. */
static bool read_gate(struct reading *reading, char *value) {
    struct judge_task *task = reading->task;
    if (task->gate_count == JUDGE_GATES_MAX)
        return reading_fail(reading, "there are more than %d gates", JUDGE_GATES_MAX);
    char *rest = value;
    value = word_cut_at(&rest, ';');
    char *sign = strstr(value, "<=");
    bool is_least = !sign;
    if (is_least) sign = strstr(value, ">=");
    if (!sign) return reading_fail(reading, "a gate is 'count <= bound' or 'count >= bound', not '%s'", value);
    *sign = '\0';
    task->gates[task->gate_count++] =
        (struct gate){word_trim(value), word_trim(sign + 2), rest ? word_trim(rest) : NULL, is_least};
    return true;
}

static bool read_expect(struct reading *reading, char *value) {
    reading->expect = value;
    reading->expect_line = reading->line;
    return true;
}

/* ---- arguments ------------------------------------------------------------------------------------- */

static bool is_known_type(wf_type type) {
    return type && type != WF_BOOL && type != WF_F16 && type != WF_BF16;
}

static bool read_generators(struct reading *reading, struct argument *argument, char *text) {
    while (text) {
        struct generator generator;
        if (argument->content_count == DATA_MAX)
            return reading_fail(reading, "there are more than %d generators", DATA_MAX);
        char *word = word_cut_at(&text, '|');
        if (!generator_read(word, &generator))
            return reading_fail(
                reading,
                "'%s': an input has uniform(LOW, HIGH) or integers(LOW, HIGH), with nan, inf, -inf or a number behind it, two at most; "
                "several with | between", word);
        if (is_of_floats(&generator) && argument->type != WF_F32 && argument->type != WF_F64)
            return reading_fail(reading, "'%s': integers have no NaN and no infinity", word);
        if (!generator_fits(argument->type, &generator))
            return reading_fail(reading, "'%s': not all of its values are of the type %s", word, wf_type_name(argument->type));
        argument->contents[argument->content_count++] = word;
    }
    if (reading->task->data_count < argument->content_count)
        reading->task->data_count = argument->content_count;
    return true;
}

/* TYPE[COUNT] CONTENTS */
static bool read_buffer(struct reading *reading, struct argument *argument, char *text) {
    char *bracket = strchr(text, '['), *end = bracket ? strrchr(text, ']') : NULL;
    if (!end) return reading_fail(reading, "'%s' is not a buffer: f32[n]", text);
    *bracket = *end = '\0';
    argument->type = wf_type_parse(word_trim(text));
    argument->count = word_trim(bracket + 1);
    char *contents = word_trim(end + 1);
    if (!is_known_type(argument->type))
        return reading_fail(reading, "'%s': types are i8 to i64, u8 to u64, f32 and f64", word_trim(text));
    if (has_data(argument->role)) return read_generators(reading, argument, contents);
    if (*contents && strcmp(contents, "none")) argument->contents[argument->content_count++] = contents;
    return true;
}

/* i32 EXPRESSION */
static bool read_scalar(struct reading *reading, struct argument *argument, char *text) {
    char *type = word_cut(&text);
    argument->type = wf_type_parse(type);
    argument->count = word_trim(text);
    if (!is_known_type(argument->type))
        return reading_fail(reading, "'%s': types are i8 to i64, u8 to u64, f32 and f64", type);
    return *argument->count ? true : reading_fail(reading, "the scalar %s has no value", argument->name);
}

static bool read_argument(struct reading *reading, char *value) {
    static const char *const roles[ROLES] = {"input", "inout", "output", "scratch", "scalar"};
    struct judge_task *task = reading->task;
    if (task->argument_count == ARGUMENTS_MAX)
        return reading_fail(reading, "there are more than %d arguments", ARGUMENTS_MAX);
    const char *name = word_cut(&value), *word = word_cut(&value);
    size_t role = 0;
    while (role < ROLES && strcmp(word, roles[role])) role++;
    if (role == ROLES)
        return reading_fail(reading, "%s: the role is input, inout, output, scratch or scalar, not '%s'", name, word);
    if (task_find_argument(task, name) < task->argument_count)
        return reading_fail(reading, "there are two arguments '%s'", name);
    struct argument *argument = &task->arguments[task->argument_count++];
    *argument = (struct argument){.name = name, .role = (enum role)role};
    return (role == ROLE_SCALAR ? read_scalar : read_buffer)(reading, argument, word_trim(value));
}

/* ---- the reference --------------------------------------------------------------------------------- */

static bool is_word(const char *text, const char *word) {
    return !strcmp(text, word);
}

/* sum, histogram, scan, exclusive_scan, softmax; a sum is also an op. */
static bool read_reference_name(struct reading *reading, const char *name) {
    struct reference *reference = &reading->task->reference;
    reference->op = wf_op_parse(name);
    if (reference->op == WF_STATS || reference->op == WF_PROD)
        return reading_fail(reading, "%s is no reference", name);
    if (reference->op) return true;
    reference->is_inclusive = is_word(name, "scan");
    if (is_word(name, "histogram"))
        reference->kind = REFERENCE_HISTOGRAM;
    else if (reference->is_inclusive || is_word(name, "exclusive_scan"))
        reference->kind = REFERENCE_SCAN;
    else if (is_word(name, "softmax"))
        reference->kind = REFERENCE_SOFTMAX;
    else
        return reading_fail(
            reading,
            "'%s' is no reference: an op such as sum, max, dot; histogram, scan, exclusive_scan, softmax",
            name);
    return true;
}

static bool read_reference_inputs(struct reading *reading, char *text) {
    struct judge_task *task = reading->task;
    struct reference *reference = &task->reference;
    while (text) {
        const char *name = word_cut_at(&text, ',');
        size_t index = task_find_argument(task, name);
        if (index == task->argument_count || !has_data(task->arguments[index].role))
            return reading_fail(reading, "'%s' is no input", name);
        if (reference->input_count == REFERENCE_INPUTS_MAX)
            return reading_fail(reading, "a reference has two inputs at most");
        reference->inputs[reference->input_count++] = index;
    }
    size_t wanted = reference->op == WF_DOT ? 2 : 1;
    return reference->input_count == wanted ? true
                                            : reading_fail(reading, "the reference takes %zu input(s)", wanted);
}

/* NAME(INPUTS) [by row] */
static bool read_right(struct reading *reading, char *text) {
    struct reference *reference = &reading->task->reference;
    char *open = strchr(text, '('), *close = open ? strchr(open, ')') : NULL;
    if (!close) return reading_fail(reading, "'%s' is no reference: sum(in)", text);
    *open = *close = '\0';
    const char *rest = word_trim(close + 1);
    reference->by_row = is_word(rest, "by row");
    if (*rest && !reference->by_row) return reading_fail(reading, "'%s': only 'by row' may follow a reference", rest);
    return read_reference_name(reading, word_trim(text)) && read_reference_inputs(reading, open + 1);
}

/* out, out[i] or sum(out) */
static bool read_left(struct reading *reading, char *text) {
    struct judge_task *task = reading->task;
    struct reference *reference = &task->reference;
    char *open = strpbrk(text, "(["), *name = text;
    if (open && *open == '[') {
        if (strcmp(word_trim(open), "[i]"))
            return reading_fail(reading, "'%s': one element of the output is name[i]", text);
        reference->kind = REFERENCE_ELEMENTS;
        *open = '\0';
    } else if (open) {
        *open = '\0';
        reference->partials = wf_op_parse(word_trim(text));
        name = open + 1;
        name[strcspn(name, ")")] = '\0';
        if (!reference->partials) return reading_fail(reading, "'%s' is no op", word_trim(text));
    }
    reference->output = task_find_argument(task, word_trim(name));
    const enum role role = reference->output < task->argument_count ? task->arguments[reference->output].role : ROLE_SCALAR;
    if (role == ROLE_OUTPUT || role == ROLE_INOUT) return true;
    return reading_fail(reading, "'%s' is no output: an argument of the role output or inout", word_trim(name));
}

static bool read_reference(struct reading *reading) {
    char *text = (char *)(uintptr_t)reading->expect; /* a part of task->text */
    reading->line = reading->task->reference.line = reading->expect_line;
    char *sign = strchr(text, '=');
    if (!sign) return reading_fail(reading, "expected is 'output = reference', not '%s'", text);
    *sign = '\0';
    if (!read_left(reading, word_trim(text))) return false;
    if (reading->task->reference.kind != REFERENCE_ELEMENTS) return read_right(reading, word_trim(sign + 1));
    reading->task->reference.elements = word_trim(sign + 1);
    return true;
}

/* ---- the whole -------------------------------------------------------------------------------------- */

static const struct key {
    const char *name;
    bool (*read)(struct reading *reading, char *value);
    bool is_needed, is_list;
} keys[] = {
    {"Title", read_title, true, false},      {"Signature", read_signature, true, true},
    {"Block", read_block, true, true},       {"Grid", read_grid, true, true},
    {"Shared", read_shared, false, true},    {"Options", read_options, false, true},
    {"Argument", read_argument, true, true}, {"Sizes", read_sizes, true, true},
    {"Expect", read_expect, true, false},    {"Roundings", read_roundings, false, false},
    {"Empty", read_empty, false, false},     {"NaN", read_nan, false, false},       {"Gate", read_gate, false, true},
    {"Header", read_header, false, false},
};
enum { KEY_COUNT = sizeof keys / sizeof *keys };

static bool fail_key(const struct reading *reading, const char *word) {
    char known[256] = "";
    for (size_t key = 0, at = 0; key < KEY_COUNT; key++)
        at += (size_t)snprintf(known + at, sizeof known - at, "%s%s", key ? ", " : "", keys[key].name);
    return reading_fail(reading, "there is no key '%s'; there are %s", word, known);
}

static bool read_line(struct reading *reading, char *line, unsigned *met) {
    line = word_trim(line);
    if (!*line || *line == '#') return true;
    char *colon = strchr(line, ':');
    if (!colon) return reading_fail(reading, "'%s' is not of the form 'Key: value'", line);
    *colon = '\0';
    size_t key = 0;
    while (key < KEY_COUNT && strcmp(keys[key].name, line)) key++;
    if (key == KEY_COUNT) return fail_key(reading, line);
    if (*met >> key & 1 && !keys[key].is_list) return reading_fail(reading, "%s is given twice", line);
    *met |= 1u << key;
    char *value = word_trim(colon + 1);
    return *value ? keys[key].read(reading, value) : reading_fail(reading, "%s has no value", line);
}

/* ---- several kernels: their parameters are the task's arguments by name */

static bool add_parameter(struct reading *reading, struct stage *stage, const char *name, int length) {
    const struct judge_task *task = reading->task;
    const size_t index = task_find_name(task, name, (size_t)length);
    if (!length || index == task->argument_count)
        return reading_fail(reading, "'%.*s' in the signature of '%s' is no argument of the task", length, name, stage->kernel);
    if (stage->argument_count == ARGUMENTS_MAX)
        return reading_fail(reading, "'%s' has more than %d parameters", stage->kernel, ARGUMENTS_MAX);
    stage->arguments[stage->argument_count++] = index;
    return true;
}

static bool read_parameters(struct reading *reading, struct stage *stage) {
    const char *begin = strchr(stage->signature, '(') + 1;
    while (*begin && *begin != ')') {
        const char *end = begin + strcspn(begin, ",)");
        int length;
        const char *name = word_before(begin, end, &length);
        if (!add_parameter(reading, stage, name, length)) return false;
        begin = *end == ',' ? end + 1 : end;
    }
    return true;
}

static bool read_stages(struct reading *reading) {
    struct judge_task *task = reading->task;
    for (size_t s = 0; s < task->stage_count; s++) {
        struct stage *stage = &task->stages[s];
        reading->line = stage->line;
        if (!stage->block[0] || !stage->grid[0])
            return reading_fail(reading, "there is no line '%s:' for the kernel '%s'", stage->block[0] ? "Grid" : "Block",
                                stage->kernel);
        if (task->stage_count > 1 && !read_parameters(reading, stage)) return false;
        for (size_t a = 0; task->stage_count == 1 && a < task->argument_count; a++)
            stage->arguments[stage->argument_count++] = a;
    }
    return true;
}

static bool read_all(struct reading *reading) {
    unsigned met = 0;
    for (char *rest = reading->task->text, *line; rest;) {
        line = rest;
        rest = strchr(line, '\n');
        if (rest) *rest++ = '\0';
        reading->line++;
        if (!read_line(reading, line, &met)) return false;
    }
    for (size_t key = 0; key < KEY_COUNT; key++)
        if (keys[key].is_needed && !(met >> key & 1))
            return reading_fail(reading, "there is no line '%s:'", keys[key].name);
    if (!reading->task->size_count) return reading_fail(reading, "there is no size");
    return read_stages(reading) && read_reference(reading) && task_check(reading);
}

simt_error judge_task_read(const char *text, const char *name, struct judge_task **task,
                           simt_message *message) {
    struct judge_task *made = calloc(1, sizeof *made);
    *task = NULL;
    if (made) made->text = strdup(text);
    if (made) made->uncut = strdup(text);
    if (!made || !made->text || !made->uncut) {
        judge_task_destroy(made);
        return fail_memory(message);
    }
    snprintf(made->name_copy, sizeof made->name_copy, "%s", name);
    made->name = made->name_copy;
    struct reading reading = {.task = made, .message = message};
    if (!read_all(&reading)) {
        judge_task_destroy(made);
        return SIMT_ERROR_SYNTAX;
    }
    *task = made;
    return SIMT_OK;
}

void judge_task_destroy(struct judge_task *task) {
    if (task) free(task->text);
    if (task) free(task->uncut);
    free(task);
}

const char *judge_task_title(const struct judge_task *task) {
    return task->title;
}

/* Whether a line of the source is #include "header". */
static bool includes(const char *source, const char *header) {
    const size_t length = strlen(header);
    for (const char *line = source; line; line = strchr(line, '\n')) {
        line += strspn(line, "\n \t");
        if (strncmp(line, "#include", strlen("#include"))) continue;
        const char *name = line + strlen("#include");
        name += strspn(name, " \t");
        if (*name == '"' && !strncmp(name + 1, header, length) && name[1 + length] == '"') return true;
    }
    return false;
}

bool judge_task_is_of(const char *text, const char *source) {
    struct judge_task *task;
    simt_message message;
    if (judge_task_read(text, "", &task, &message)) return false;
    const bool is_of = task->header && includes(source, task->header);
    judge_task_destroy(task);
    return is_of;
}

const char *judge_task_text(const char *name) {
    size_t length = strlen(name);
    for (size_t i = 0; i < judge_file_count; i++)
        if (!strncmp(judge_files[i].path, name, length) && !strcmp(judge_files[i].path + length, ".task"))
            return judge_files[i].text;
    return NULL;
}
