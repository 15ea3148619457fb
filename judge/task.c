/* Reads tasks.  A line is "Key: value"; those that begin with # are comments. */
#include "task.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    struct judge_task *task;
    simt_message *message;
    int line;
    const char *expect;
    int expect_line;
};

static bool fail(const struct reading *reading, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool fail(const struct reading *reading, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(reading->message->text, sizeof reading->message->text, "%s:%d: %s", reading->task->name,
             reading->line, text);
    return false;
}

/* ---- words of a line ------------------------------------------------------------------------------ */

static char *trim(char *text) {
    while (isspace((unsigned char)*text)) text++;
    for (size_t length = strlen(text); length && isspace((unsigned char)text[length - 1]);)
        text[--length] = '\0';
    return text;
}

/* Cuts the text at the separator, outside parentheses and brackets; returns what stands before it. */
static char *cut(char **rest, char separator) {
    char *begin = *rest, *at = begin;
    int depth = 0;
    if (!begin) return NULL;
    for (; *at && (*at != separator || depth); at++)
        depth += (*at == '(' || *at == '[') - (*at == ')' || *at == ']');
    *rest = *at ? at + 1 : NULL;
    *at = '\0';
    return trim(begin);
}

static char *cut_word(char **rest) {
    char *begin = trim(*rest);
    size_t length = strcspn(begin, " \t");
    *rest = begin[length] ? begin + length + 1 : begin + length;
    begin[length] = '\0';
    return begin;
}

/* ---- names ---------------------------------------------------------------------------------------- */

bool scope_find(const struct scope *scope, const char *name, size_t length, struct number *number) {
    const struct {
        const char *name;
        long double value;
    } known[] = {
        {"n", (long double)scope->size->n},       {"rows", (long double)scope->size->rows},
        {"cols", (long double)scope->size->cols}, {"grid", (long double)scope->grid},
        {"block", (long double)scope->block},     {"zeros", 0},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strlen(known[i].name) != length || memcmp(known[i].name, name, length)) continue;
        *number = (struct number){known[i].value, fabsl(known[i].value)};
        return true;
    }
    return false;
}

static bool find_in_scope(const void *scope, const char *name, size_t length, const long double *index,
                          struct number *number) {
    return !index && scope_find(scope, name, length, number);
}

int task_line(const struct judge_task *task, const char *part) {
    int line = 1;
    for (ptrdiff_t i = 0; i < part - task->text; i++) line += task->uncut[i] == '\n';
    return line;
}

bool task_number(const struct judge_task *task, const char *text, const struct scope *scope,
                 long double *number, simt_message *message) {
    const struct names names = {find_in_scope, scope};
    struct evaluation evaluation;
    *number = 0;
    if (evaluate(text, &names, &evaluation)) {
        *number = evaluation.number.value;
        return true;
    }
    snprintf(message->text, sizeof message->text,
             "%s:%d: '%s': %s; there are n, rows, cols, block and grid, + - * / %%, ceil, floor, min, max",
             task->name, task_line(task, text), text, evaluation.wrong);
    return false;
}

bool task_whole(const struct judge_task *task, const char *text, const struct scope *scope, int64_t *number,
                simt_message *message) {
    long double value;
    *number = 0;
    if (!task_number(task, text, scope, &value, message)) return false;
    if (!(value >= 0 && value <= INT32_MAX)) {
        snprintf(message->text, sizeof message->text, "%s:%d: '%s' is not from 0 to %ld where n = %s",
                 task->name, task_line(task, text), text, (long)INT32_MAX, scope->size->text);
        return false;
    }
    *number = (int64_t)value;
    return true;
}

bool task_count_fits(const struct judge_task *task, const struct argument *argument, long double count, const struct scope *scope,
                     simt_message *message) {
    if (argument->role == ROLE_SCALAR || count <= 1 << 26) return true;
    snprintf(message->text, sizeof message->text, "%s:%d: '%s' has %.0Lf elements where n = %s, and may have 2^26", task->name,
             task_line(task, argument->name), argument->name, count, scope->size->text);
    return false;
}

/* ---- launches ------------------------------------------------------------------------------------ */

const char *const *stage_block(const struct stage *stage, size_t number) {
    return number && number <= stage->other_block_count ? stage->other_blocks[number - 1] : stage->block;
}

static bool read_extents(const struct judge_task *task, const char *const texts[3], const struct scope *scope,
                         uint32_t extents[3], uint64_t *product, simt_message *message) {
    uint64_t all = 1;
    for (size_t d = 0; d < 3; d++) {
        int64_t extent = 1;
        if (texts[d] && !task_whole(task, texts[d], scope, &extent, message)) return false;
        extents[d] = extent ? (uint32_t)extent : 1;
        all *= extents[d];
    }
    *product = all;
    return true;
}

bool task_extents(const struct judge_task *task, const struct stage *stage, size_t block, struct scope *scope,
                  struct extents *extents, simt_message *message) {
    return read_extents(task, stage_block(stage, block), scope, extents->block, &scope->block, message) &&
           read_extents(task, stage->grid, scope, extents->grid, &scope->grid, message);
}

/* "with inf nan" or "with 200", or nothing. */
static bool read_specials(const char *text, struct generator *generator) {
    char words[SPECIALS_MAX][24], end, *rest;
    const int count = sscanf(text, " with %23s %23s %c", words[0], words[1], &end);
    generator->special_count = 0;
    if (count > SPECIALS_MAX || (count < 1 && text[strspn(text, " ")])) return false;
    for (int i = 0; i < count; i++) {
        generator->specials[generator->special_count++] = strtod(words[i], &rest);
        if (*rest) return false;
    }
    return true;
}

bool generator_read(const char *text, struct generator *generator) {
    char word[16];
    int length = 0;
    if (sscanf(text, "%15[a-z] (%lf ,%lf )%n", word, &generator->low, &generator->high, &length) != 3 || !length)
        return false;
    generator->is_uniform = !strcmp(word, "uniform");
    const bool is_range = generator->low < generator->high && isfinite(generator->high - generator->low);
    return (generator->is_uniform || !strcmp(word, "integers")) && (is_range || generator->low == generator->high) &&
           read_specials(text + length, generator);
}

/* Whether it makes values that an integer cannot be. */
static bool is_of_floats(const struct generator *generator) {
    bool is_finite = isfinite(generator->low);
    for (size_t s = 0; s < generator->special_count; s++) is_finite &= isfinite(generator->specials[s]);
    return !is_finite;
}

/* Whether all values of an integer's range are of the type. */
static bool holds(wf_type type, const struct generator *generator) {
    const bool is_signed = type >= WF_I8 && type <= WF_I64;
    const double end = ldexp(1, (int)(8 * wf_type_nbytes(type)) - is_signed);
    if (type == WF_F32 || type == WF_F64) return true;
    return generator->low >= (is_signed ? -end : 0) && generator->high < end;
}

static size_t find_name(const struct judge_task *task, const char *name, size_t length) {
    size_t i = 0;
    while (i < task->argument_count &&
           (strncmp(task->arguments[i].name, name, length) || task->arguments[i].name[length]))
        i++;
    return i;
}

static size_t find_argument(const struct judge_task *task, const char *name) {
    return find_name(task, name, strlen(name));
}

/* ---- the lines of a task --------------------------------------------------------------------------- */

static bool read_title(struct reading *reading, char *value) {
    snprintf(reading->task->title, sizeof reading->task->title, "%s", value);
    return true;
}

/* The word that ends there, blanks behind it apart. */
static const char *word_before(const char *begin, const char *end, int *length) {
    while (end > begin && isspace((unsigned char)end[-1])) end--;
    const char *word = end;
    while (word > begin && (isalnum((unsigned char)word[-1]) || word[-1] == '_')) word--;
    *length = (int)(end - word);
    return word;
}

/* The kernel's name is the last word before the parenthesis.  Each signature begins a stage. */
static bool read_signature(struct reading *reading, char *value) {
    struct judge_task *task = reading->task;
    const char *end = strchr(value, '(');
    int length;
    if (!end) return fail(reading, "'%s' is not a kernel's signature: void name(parameters)", value);
    const char *name = word_before(value, end, &length);
    if (!length) return fail(reading, "'%s' names no kernel", value);
    if (task->stage_count == STAGES_MAX)
        return fail(reading, "there are more than %d signatures", STAGES_MAX);
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
    if (extent[0]) return fail(reading, "%s is given twice", key);
    if (!value || !*value) return fail(reading, "%s: nothing stands behind the '|'", key);
    for (int d = 0; d < 3; d++) {
        extent[d] = cut(&value, ',');
        if (extent[d] && !*extent[d]) return fail(reading, "an extent is empty: X[, Y[, Z]]");
    }
    return value ? fail(reading, "there are three extents at most: X[, Y[, Z]]") : true;
}

static bool read_block(struct reading *reading, char *value) {
    struct stage *stage = told_stage(reading);
    char *first = cut(&value, '|');
    if (!read_extent(reading, first, stage->block, "Block")) return false;
    while (value) {
        if (stage->other_block_count == OTHER_BLOCKS_MAX)
            return fail(reading, "there are more than %d blocks", OTHER_BLOCKS_MAX + 1);
        char *other = cut(&value, '|');
        if (!read_extent(reading, other, stage->other_blocks[stage->other_block_count++], "Block")) return false;
    }
    return true;
}

static bool read_grid(struct reading *reading, char *value) {
    return read_extent(reading, value, told_stage(reading)->grid, "Grid");
}

static bool read_shared(struct reading *reading, char *value) {
    struct stage *stage = told_stage(reading);
    if (stage->shared) return fail(reading, "Shared is given twice");
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
           fail(reading, "'NaN: %s': it is 'omit' or 'propagate', which is the default", value);
}

static bool read_empty(struct reading *reading, char *value) {
    reading->task->empty = value;
    return true;
}

static bool read_options(struct reading *reading, char *value) {
    struct judge_task *task = reading->task;
    if (*value != '-')
        return fail(reading, "'%s' is no option of the compiler, which begin with '-': -DNAME=VALUE, -arch=sm_90",
                    cut_word(&value));
    while (*value) {
        if (task->option_count == OPTIONS_MAX)
            return fail(reading, "there are more than %d options", OPTIONS_MAX);
        task->options[task->option_count++] = cut_word(&value);
    }
    return true;
}

static bool is_new_size(const struct reading *reading, const struct size *size) {
    for (const struct size *other = reading->task->sizes; other < size; other++)
        if (other->rows == size->rows && other->cols == size->cols)
            return fail(reading, "the size %s is given twice: its launches would only be repeated; leave one out",
                        size->text);
    return true;
}

static bool read_sizes(struct reading *reading, char *value) {
    struct judge_task *task = reading->task;
    while (*trim(value)) {
        char *word = cut_word(&value), *end;
        if (task->is_open) return fail(reading, "'...' stands behind the last size");
        task->is_open = !strcmp(word, "...");
        if (task->is_open) continue;
        if (task->size_count == SIZES_MAX) return fail(reading, "there are more than %d sizes", SIZES_MAX);
        struct size *size = &task->sizes[task->size_count++];
        *size = (struct size){word, 0, 1, 0};
        size->cols = isdigit((unsigned char)*word) ? strtol(word, &end, 10) : -1;
        if (size->cols >= 0 && *end == 'x') {
            size->rows = size->cols;
            size->cols = isdigit((unsigned char)end[1]) ? strtol(end + 1, &end, 10) : -1;
        }
        if (size->cols < 0 || *end || size->cols > 1 << 24 || size->rows > 1 << 24 ||
            size->rows * size->cols > 1 << 24)
            return fail(reading, "'%s' is not a size: N or ROWSxCOLS, at most 2^24 elements", word);
        size->n = size->rows * size->cols;
        if (!is_new_size(reading, size)) return false;
    }
    return true;
}

/* Name: lowest or highest is allowed; then what to do about it. */
static bool read_gate(struct reading *reading, char *value) {
    struct judge_task *task = reading->task;
    if (task->gate_count == JUDGE_GATES_MAX)
        return fail(reading, "there are more than %d gates", JUDGE_GATES_MAX);
    char *rest = value;
    value = cut(&rest, ';');
    char *sign = strstr(value, "<=");
    bool is_least = !sign;
    if (is_least) sign = strstr(value, ">=");
    if (!sign) return fail(reading, "a gate is 'count <= bound' or 'count >= bound', not '%s'", value);
    *sign = '\0';
    task->gates[task->gate_count++] =
        (struct gate){trim(value), trim(sign + 2), rest ? trim(rest) : NULL, is_least};
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
            return fail(reading, "there are more than %d generators", DATA_MAX);
        char *word = cut(&text, '|');
        if (!generator_read(word, &generator))
            return fail(
                reading,
                "'%s': an input has uniform(LOW, HIGH) or integers(LOW, HIGH), with nan, inf, -inf or a number behind it, two at most; "
                "several with | between", word);
        if (is_of_floats(&generator) && argument->type != WF_F32 && argument->type != WF_F64)
            return fail(reading, "'%s': integers have no NaN and no infinity", word);
        if (!holds(argument->type, &generator))
            return fail(reading, "'%s': not all of its values are of the type %s", word, wf_type_name(argument->type));
        argument->contents[argument->content_count++] = word;
    }
    if (reading->task->data_count < argument->content_count)
        reading->task->data_count = argument->content_count;
    return true;
}

/* TYPE[COUNT] CONTENTS */
static bool read_buffer(struct reading *reading, struct argument *argument, char *text) {
    char *bracket = strchr(text, '['), *end = bracket ? strrchr(text, ']') : NULL;
    if (!end) return fail(reading, "'%s' is not a buffer: f32[n]", text);
    *bracket = *end = '\0';
    argument->type = wf_type_parse(trim(text));
    argument->count = trim(bracket + 1);
    char *contents = trim(end + 1);
    if (!is_known_type(argument->type))
        return fail(reading, "'%s': types are i8 to i64, u8 to u64, f32 and f64", trim(text));
    if (has_data(argument->role)) return read_generators(reading, argument, contents);
    if (*contents && strcmp(contents, "none")) argument->contents[argument->content_count++] = contents;
    return true;
}

/* i32 EXPRESSION */
static bool read_scalar(struct reading *reading, struct argument *argument, char *text) {
    char *type = cut_word(&text);
    argument->type = wf_type_parse(type);
    argument->count = trim(text);
    if (!is_known_type(argument->type))
        return fail(reading, "'%s': types are i8 to i64, u8 to u64, f32 and f64", type);
    return *argument->count ? true : fail(reading, "the scalar %s has no value", argument->name);
}

static bool read_argument(struct reading *reading, char *value) {
    static const char *const roles[ROLES] = {"input", "inout", "output", "scratch", "scalar"};
    struct judge_task *task = reading->task;
    if (task->argument_count == ARGUMENTS_MAX)
        return fail(reading, "there are more than %d arguments", ARGUMENTS_MAX);
    const char *name = cut_word(&value), *word = cut_word(&value);
    size_t role = 0;
    while (role < ROLES && strcmp(word, roles[role])) role++;
    if (role == ROLES)
        return fail(reading, "%s: the role is input, inout, output, scratch or scalar, not '%s'", name, word);
    if (find_argument(task, name) < task->argument_count)
        return fail(reading, "there are two arguments '%s'", name);
    struct argument *argument = &task->arguments[task->argument_count++];
    *argument = (struct argument){.name = name, .role = (enum role)role};
    return (role == ROLE_SCALAR ? read_scalar : read_buffer)(reading, argument, trim(value));
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
        return fail(reading, "%s is no reference", name);
    if (reference->op) return true;
    reference->is_inclusive = is_word(name, "scan");
    if (is_word(name, "histogram"))
        reference->kind = REFERENCE_HISTOGRAM;
    else if (reference->is_inclusive || is_word(name, "exclusive_scan"))
        reference->kind = REFERENCE_SCAN;
    else if (is_word(name, "softmax"))
        reference->kind = REFERENCE_SOFTMAX;
    else
        return fail(
            reading,
            "'%s' is no reference: an op such as sum, max, dot; histogram, scan, exclusive_scan, softmax",
            name);
    return true;
}

static bool read_reference_inputs(struct reading *reading, char *text) {
    struct judge_task *task = reading->task;
    struct reference *reference = &task->reference;
    while (text) {
        const char *name = cut(&text, ',');
        size_t index = find_argument(task, name);
        if (index == task->argument_count || !has_data(task->arguments[index].role))
            return fail(reading, "'%s' is no input", name);
        if (reference->input_count == REFERENCE_INPUTS_MAX)
            return fail(reading, "a reference has two inputs at most");
        reference->inputs[reference->input_count++] = index;
    }
    size_t wanted = reference->op == WF_DOT ? 2 : 1;
    return reference->input_count == wanted ? true
                                            : fail(reading, "the reference takes %zu input(s)", wanted);
}

/* NAME(INPUTS) [by row] */
static bool read_right(struct reading *reading, char *text) {
    struct reference *reference = &reading->task->reference;
    char *open = strchr(text, '('), *close = open ? strchr(open, ')') : NULL;
    if (!close) return fail(reading, "'%s' is no reference: sum(in)", text);
    *open = *close = '\0';
    const char *rest = trim(close + 1);
    reference->by_row = is_word(rest, "by row");
    if (*rest && !reference->by_row) return fail(reading, "'%s': only 'by row' may follow a reference", rest);
    return read_reference_name(reading, trim(text)) && read_reference_inputs(reading, open + 1);
}

static bool is_float(wf_type type) {
    return type == WF_F32 || type == WF_F64;
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
    return fail(reading, "'%s' has the type %s, and the results of 'Expect:' are floats: give it f32 or f64",
                output->name, wf_type_name(output->type));
}

/* out, out[i] or sum(out) */
static bool read_left(struct reading *reading, char *text) {
    struct judge_task *task = reading->task;
    struct reference *reference = &task->reference;
    char *open = strpbrk(text, "(["), *name = text;
    if (open && *open == '[') {
        if (strcmp(trim(open), "[i]"))
            return fail(reading, "'%s': one element of the output is name[i]", text);
        reference->kind = REFERENCE_ELEMENTS;
        *open = '\0';
    } else if (open) {
        *open = '\0';
        reference->partials = wf_op_parse(trim(text));
        name = open + 1;
        name[strcspn(name, ")")] = '\0';
        if (!reference->partials) return fail(reading, "'%s' is no op", trim(text));
    }
    reference->output = find_argument(task, trim(name));
    const enum role role = reference->output < task->argument_count ? task->arguments[reference->output].role : ROLE_SCALAR;
    if (role == ROLE_OUTPUT || role == ROLE_INOUT) return true;
    return fail(reading, "'%s' is no output: an argument of the role output or inout", trim(name));
}

static bool read_reference(struct reading *reading) {
    char *text = (char *)(uintptr_t)reading->expect; /* a part of task->text */
    reading->line = reading->task->reference.line = reading->expect_line;
    char *sign = strchr(text, '=');
    if (!sign) return fail(reading, "expected is 'output = reference', not '%s'", text);
    *sign = '\0';
    if (!read_left(reading, trim(text))) return false;
    if (reading->task->reference.kind != REFERENCE_ELEMENTS) return read_right(reading, trim(sign + 1));
    reading->task->reference.elements = trim(sign + 1);
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
    return fail(reading, "there is no key '%s'; there are %s", word, known);
}

static bool read_line(struct reading *reading, char *line, unsigned *met) {
    line = trim(line);
    if (!*line || *line == '#') return true;
    char *colon = strchr(line, ':');
    if (!colon) return fail(reading, "'%s' is not of the form 'Key: value'", line);
    *colon = '\0';
    size_t key = 0;
    while (key < KEY_COUNT && strcmp(keys[key].name, line)) key++;
    if (key == KEY_COUNT) return fail_key(reading, line);
    if (*met >> key & 1 && !keys[key].is_list) return fail(reading, "%s is given twice", line);
    *met |= 1u << key;
    char *value = trim(colon + 1);
    return *value ? keys[key].read(reading, value) : fail(reading, "%s has no value", line);
}

enum { THREADS_MAX = 1024 };

/* CUDA's limits of a launch, and the simulator's of the shared memory of a block. */
enum { GRID_YZ_MAX = 65535, SHARED_MAX = 1 << 20 };

static bool check_grid(struct reading *reading, const struct stage *stage, const struct extents *extents,
                       const struct size *size) {
    for (size_t d = 1; d < 3; d++) {
        if (extents->grid[d] <= GRID_YZ_MAX) continue;
        reading->line = task_line(reading->task, stage->grid[d]);
        return fail(reading, "the grid of '%s' has %" PRIu32 " blocks along %c where n = %s, and may have %d", stage->kernel,
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
           fail(reading, "'%s' is %" PRId64 " bytes of shared memory where n = %s, and a block may have 2^20", stage->shared,
                nbytes, scope->size->text);
}

static bool check_block(struct reading *reading, const struct stage *stage, size_t number, struct scope scope) {
    struct extents extents;
    if (!task_extents(reading->task, stage, number, &scope, &extents, reading->message)) return false;
    reading->line = stage->line;
    if (scope.block > THREADS_MAX)
        return fail(reading, "a block of '%s' has %" PRIu64 " threads where n = %s, and may have %d", stage->kernel, scope.block,
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
    return argument->role != ROLE_SCALAR || holds(argument->type, &value) ||
           fail(reading, "the scalar '%s' is %.0Lf where n = %s, which is no value of the type %s", argument->name, number,
                scope->size->text, wf_type_name(argument->type));
}

/* What later depends on a size must be right for each, and is asked for once here. */
static bool check(struct reading *reading) {
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

/* ---- several kernels: their parameters are the task's arguments by name */

static bool add_parameter(struct reading *reading, struct stage *stage, const char *name, int length) {
    const struct judge_task *task = reading->task;
    const size_t index = find_name(task, name, (size_t)length);
    if (!length || index == task->argument_count)
        return fail(reading, "'%.*s' in the signature of '%s' is no argument of the task", length, name, stage->kernel);
    if (stage->argument_count == ARGUMENTS_MAX)
        return fail(reading, "'%s' has more than %d parameters", stage->kernel, ARGUMENTS_MAX);
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
        if (count < ARGUMENTS_MAX) names[count] = find_name(task, name, (size_t)length);
    }
    if (count != task->argument_count)
        return fail(reading, "the signature has %zu parameters, and the task %zu arguments", count, task->argument_count);
    for (size_t p = 0; p < count; p++)
        if (names[p] != p && names[p] < count)
            return fail(reading, "'%s' is parameter %zu of the signature, and argument %zu: arguments are in its order",
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
    return fail(reading,
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

static bool read_stages(struct reading *reading) {
    struct judge_task *task = reading->task;
    for (size_t s = 0; s < task->stage_count; s++) {
        struct stage *stage = &task->stages[s];
        reading->line = stage->line;
        if (!stage->block[0] || !stage->grid[0])
            return fail(reading, "there is no line '%s:' for the kernel '%s'", stage->block[0] ? "Grid" : "Block",
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
            return fail(reading, "there is no line '%s:'", keys[key].name);
    if (!reading->task->size_count) return fail(reading, "there is no size");
    return read_stages(reading) && read_reference(reading) && check(reading) &&
           (reading->task->stage_count > 1 || check_signature(reading)) && check_types(reading) && check_output(reading);
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

const char *judge_task_signature(const struct judge_task *task) {
    return task->stages[0].signature;
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
