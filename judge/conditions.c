#include "conditions.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "buffers.h"

enum { REGISTERS_MAX = 4096, CONDITIONS_MAX = 64, OPERANDS_MAX = 6, THREADS = 256, SAMPLES = 2 };

/* The columns behind the arguments' in the table that the copied instructions read, of 8 bytes each. */
enum column { COLUMN_GRID, COLUMN_BLOCK = COLUMN_GRID + 3, COLUMN_INDEX = COLUMN_BLOCK + 3, COLUMN_THREAD, COLUMNS };

struct words {
    const char *text; /* not NUL-terminated */
    size_t length;
};

struct register_use {
    struct words name;
    uint32_t definitions;
    bool is_known; /* it follows from numbers alone */
};

struct instruction {
    bool is_guarded;
    struct words opcode, operands[OPERANDS_MAX];
    size_t operand_count;
};

struct slice {
    const struct judge_task *task;
    const struct stage *stage;
    const char *body, *end; /* of the kernel, behind its brace */
    struct register_use registers[REGISTERS_MAX];
    size_t register_count;
    size_t condition_count;
    FILE *out;
};

/* ---- the text of a kernel ----------------------------------------------------------------------------- */

static bool is_of_a_name(char letter) {
    return isalnum((unsigned char)letter) || (letter && strchr("_$%.", letter));
}

static bool begins(struct words words, const char *prefix) {
    size_t length = strlen(prefix);
    return words.length >= length && !memcmp(words.text, prefix, length);
}

static bool find_body(struct slice *slice, const char *ptx, const char *kernel) {
    const size_t length = strlen(kernel);
    for (const char *at = strstr(ptx, ".entry "); at; at = strstr(at + 1, ".entry ")) {
        const char *name = at + strlen(".entry ");
        name += strspn(name, " \t");
        if (strncmp(name, kernel, length) || is_of_a_name(name[length])) continue;
        const char *brace = strchr(name, '{');
        slice->body = brace ? brace + 1 : NULL;
        slice->end = brace ? strstr(brace, "\n}") : NULL;
        return slice->end;
    }
    return false;
}

static struct words trimmed(const char *begin, const char *end) {
    while (begin < end && isspace((unsigned char)*begin)) begin++;
    while (end > begin && isspace((unsigned char)end[-1])) end--;
    return (struct words){begin, (size_t)(end - begin)};
}

/* false: the line has no instruction, or more operands than those that are followed have. */
static bool read_instruction(struct words line, struct instruction *instruction) {
    const char *at = line.text, *end = memchr(line.text, ';', line.length);
    int nesting = 0;
    *instruction = (struct instruction){.is_guarded = line.length && *at == '@'};
    if (!end) return false;
    if (instruction->is_guarded) at += strcspn(at, " \t");
    at += strspn(at, " \t");
    if (!islower((unsigned char)*at)) return false;
    instruction->opcode = (struct words){at, strcspn(at, " \t;")};
    const char *begin = at += instruction->opcode.length;
    for (; at <= end; at++) {
        nesting += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
        if (nesting || (at < end && *at != ',')) continue;
        if (instruction->operand_count == OPERANDS_MAX) return false;
        instruction->operands[instruction->operand_count++] = trimmed(begin, at);
        begin = at + 1;
    }
    return true;
}

/* Calls `follow` with each line of the body that is in no inner scope. */
static void for_each_line(struct slice *slice, void (*follow)(struct slice *slice, struct words line)) {
    int depth = 0;
    for (const char *at = slice->body; at < slice->end;) {
        const char *end = at + strcspn(at, "\n");
        struct words line = trimmed(at, end);
        if (!depth && !begins(line, "{")) follow(slice, line);
        for (; at < end; at++) depth += (*at == '{') - (*at == '}');
        at = end + (*end == '\n');
    }
}

/* NULL: there are too many. */
static struct register_use *find_register(struct slice *slice, struct words name) {
    for (size_t i = slice->register_count; i-- > 0;) {
        struct register_use *use = &slice->registers[i];
        if (use->name.length == name.length && !memcmp(use->name.text, name.text, name.length)) return use;
    }
    if (slice->register_count == REGISTERS_MAX) return NULL;
    struct register_use *use = &slice->registers[slice->register_count++];
    *use = (struct register_use){.name = name};
    return use;
}

static void count_definitions(struct slice *slice, struct words line) {
    struct instruction instruction;
    if (!read_instruction(line, &instruction) || *instruction.operands[0].text == '[') return;
    const char *at = instruction.operands[0].text, *end = at + instruction.operands[0].length;
    while (at < end) {
        size_t length = 1;
        while (*at == '%' && at + length < end && is_of_a_name(at[length])) length++;
        struct register_use *use = *at == '%' ? find_register(slice, (struct words){at, length}) : NULL;
        if (use) use->definitions++;
        at += length;
    }
}

/* ---- what follows from numbers ------------------------------------------------------------------------ */

static bool is_arithmetic(struct words opcode) {
    static const char *const names[] = {"abs",  "add",  "and",  "bfe",  "bfi",  "bfind", "brev", "clz", "cnot", "cvt",
                                        "div",  "fma",  "lop3", "mad",  "max",  "min",   "mul",  "neg", "not",  "or",
                                        "popc", "prmt", "rem",  "sad",  "selp", "setp",  "set",  "shf", "shl",  "shr",
                                        "slct", "sub",  "xor",  "mul24", "mad24", "mov"};
    size_t length = 0;
    while (length < opcode.length && opcode.text[length] != '.') length++;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == length && !memcmp(names[i], opcode.text, length)) return true;
    return false;
}

static bool is_number(struct words operand) {
    return operand.length && (isdigit((unsigned char)*operand.text) || *operand.text == '-');
}

static bool is_known(struct slice *slice, struct words operand) {
    if (is_number(operand)) return true;
    struct register_use *use = *operand.text == '%' ? find_register(slice, operand) : NULL;
    return use && use->is_known;
}

/* The column of a register that the launch sets; -1: it is none of them. */
static int column_of(struct words name) {
    static const struct {
        const char *name;
        enum column column;
    } columns[] = {{"%nctaid.x", COLUMN_GRID},      {"%nctaid.y", COLUMN_GRID + 1},  {"%nctaid.z", COLUMN_GRID + 2},
                   {"%ntid.x", COLUMN_BLOCK},       {"%ntid.y", COLUMN_BLOCK + 1},   {"%ntid.z", COLUMN_BLOCK + 2},
                   {"%ctaid.x", COLUMN_INDEX},      {"%tid.x", COLUMN_THREAD}};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (strlen(columns[i].name) == name.length && begins(name, columns[i].name)) return columns[i].column;
    return -1;
}

/* The column of what is read there, an argument that is a number; -1: it is none. */
static int argument_column(const struct slice *slice, struct words address) {
    char text[256];
    if (address.length >= sizeof text) return -1;
    memcpy(text, address.text, address.length);
    text[address.length] = '\0';
    const char *number = strstr(text, "_param_");
    if (!number || strchr(text, '+')) return -1;
    size_t index = strtoul(number + strlen("_param_"), NULL, 10);
    if (index >= slice->stage->argument_count) return -1;
    bool is_scalar = slice->task->arguments[slice->stage->arguments[index]].role == ROLE_SCALAR;
    return is_scalar ? (int)index : -1;
}

/* ---- the copy ----------------------------------------------------------------------------------------- */

static void copy_words(struct slice *slice, struct words words) {
    fprintf(slice->out, "%.*s", (int)words.length, words.text);
}

/* Reads the column, with the type that the opcode ends in. */
static void copy_column(struct slice *slice, const struct instruction *instruction, int column) {
    const struct words opcode = instruction->opcode;
    size_t dot = opcode.length;
    while (dot && opcode.text[dot - 1] != '.') dot--;
    fprintf(slice->out, "ld.global.%.*s ", (int)(opcode.length - dot), opcode.text + dot);
    copy_words(slice, instruction->operands[0]);
    fprintf(slice->out, ", [%%wf_row+%d];\n", 8 * column);
}

/* The condition's bit, where the predicate holds. */
static void copy_bit(struct slice *slice, struct words predicate) {
    if (slice->condition_count == CONDITIONS_MAX) return;
    fprintf(slice->out, "selp.b64 %%wf_bit, %" PRIu64 ", 0, %.*s;\nor.b64 %%wf_word, %%wf_word, %%wf_bit;\n",
            UINT64_C(1) << slice->condition_count++, (int)predicate.length, predicate.text);
}

/* Which of the two is the lesser is a condition, too. */
static void copy_order(struct slice *slice, const struct instruction *instruction) {
    fprintf(slice->out, "setp.lt%.*s %%wf_p, ", (int)(instruction->opcode.length - 3), instruction->opcode.text + 3);
    copy_words(slice, instruction->operands[1]);
    fprintf(slice->out, ", ");
    copy_words(slice, instruction->operands[2]);
    fprintf(slice->out, ";\n");
    copy_bit(slice, (struct words){"%wf_p", 5});
}

static bool copy_known(struct slice *slice, const struct instruction *instruction, struct words line) {
    if (begins(instruction->opcode, "ld.param.") && instruction->operand_count == 2) {
        int column = argument_column(slice, instruction->operands[1]);
        if (column >= 0) copy_column(slice, instruction, column);
        return column >= 0;
    }
    if (!is_arithmetic(instruction->opcode) || instruction->operand_count < 2) return false;
    int column = begins(instruction->opcode, "mov.") ? column_of(instruction->operands[1]) : -1;
    if (column >= 0) {
        copy_column(slice, instruction, (int)slice->stage->argument_count + column);
        return true;
    }
    for (size_t i = 1; i < instruction->operand_count; i++)
        if (!is_known(slice, instruction->operands[i])) return false;
    copy_words(slice, (struct words){line.text, strcspn(line.text, ";")});
    fprintf(slice->out, ";\n");
    return true;
}

static void copy_line(struct slice *slice, struct words line) {
    struct instruction instruction;
    if (begins(line, ".reg ")) {
        copy_words(slice, line);
        fprintf(slice->out, "\n");
        return;
    }
    if (!read_instruction(line, &instruction) || instruction.is_guarded) return;
    struct register_use *use = find_register(slice, instruction.operands[0]);
    if (!use || use->definitions != 1 || !copy_known(slice, &instruction, line)) return;
    use->is_known = true;
    if (begins(instruction.opcode, "setp.")) copy_bit(slice, instruction.operands[0]);
    if (begins(instruction.opcode, "min.") || begins(instruction.opcode, "max.")) copy_order(slice, &instruction);
}

static void copy_directive(struct slice *slice, const char *ptx, const char *name) {
    const char *at = strstr(ptx, name);
    if (at) fprintf(slice->out, "%.*s\n", (int)strcspn(at, "\n"), at);
}

static void copy_kernel(struct slice *slice, const char *ptx) {
    copy_directive(slice, ptx, ".version");
    copy_directive(slice, ptx, ".target");
    copy_directive(slice, ptx, ".address_size");
    fprintf(slice->out,
            ".visible .entry wf_conditions(.param .u64 wf_rows, .param .u64 wf_words, .param .u32 wf_count)\n{\n"
            ".reg .pred %%wf_p;\n.reg .b32 %%wf_i, %%wf_block;\n.reg .b64 %%wf_row, %%wf_at, %%wf_word, %%wf_bit;\n"
            "mov.u32 %%wf_block, %%ctaid.x;\nmov.u32 %%wf_i, %%tid.x;\nmad.lo.u32 %%wf_i, %%wf_block, %d, %%wf_i;\n"
            "ld.param.u32 %%wf_block, [wf_count];\nsetp.ge.u32 %%wf_p, %%wf_i, %%wf_block;\n@%%wf_p exit;\n"
            "ld.param.u64 %%wf_row, [wf_rows];\nmad.wide.u32 %%wf_row, %%wf_i, %zu, %%wf_row;\n"
            "ld.param.u64 %%wf_at, [wf_words];\nmad.wide.u32 %%wf_at, %%wf_i, 8, %%wf_at;\nmov.u64 %%wf_word, 0;\n",
            THREADS, 8 * (slice->stage->argument_count + COLUMNS));
    for_each_line(slice, copy_line);
    fprintf(slice->out, "st.global.u64 [%%wf_at], %%wf_word;\nret;\n}\n");
}

/* The copy's PTX, to be freed; NULL: there is no such kernel or no memory. */
static char *slice_copy(struct slice *slice, const char *ptx, const char *kernel) {
    char *text = NULL;
    size_t nbytes;
    if (!find_body(slice, ptx, kernel)) return NULL;
    slice->out = open_memstream(&text, &nbytes);
    if (!slice->out) return NULL;
    for_each_line(slice, count_definitions);
    copy_kernel(slice, ptx);
    if (!fclose(slice->out)) return text;
    free(text);
    return NULL;
}

/* ---- running it --------------------------------------------------------------------------------------- */

/* Two rows: of the first thread of the first block and, along x, of the last one of the last. */
static bool fill_rows(const struct judge_task *task, const struct stage *stage, const struct size *size, uint64_t *rows) {
    const size_t count = stage->argument_count, width = count + COLUMNS;
    struct scope scope = {size, 0, 0};
    struct extents extents;
    simt_message ignored;
    if (!task_extents(task, stage, 0, &scope, &extents, &ignored)) return false;
    for (size_t d = 0; d < 3; d++) {
        rows[count + COLUMN_BLOCK + d] = extents.block[d];
        rows[count + COLUMN_GRID + d] = extents.grid[d];
    }
    for (size_t i = 0; i < count; i++) {
        const struct argument *argument = &task->arguments[stage->arguments[i]];
        long double value;
        if (argument->role != ROLE_SCALAR) continue;
        if (!task_number(task, argument->count, &scope, &value, &ignored)) return false;
        element_put(argument->type, &rows[i], 0, value);
    }
    memcpy(rows + width, rows, width * sizeof *rows);
    rows[width + count + COLUMN_INDEX] = rows[count + COLUMN_GRID] - 1;
    rows[width + count + COLUMN_THREAD] = rows[count + COLUMN_BLOCK] - 1;
    return true;
}

static uint64_t *make_rows(const struct judge_task *task, const struct stage *stage, const struct size *sizes, size_t count) {
    const size_t width = SAMPLES * (stage->argument_count + COLUMNS);
    uint64_t *rows = calloc(count * width + 1, sizeof *rows);
    for (size_t i = 0; rows && i < count; i++)
        if (!fill_rows(task, stage, &sizes[i], rows + i * width)) {
            free(rows);
            return NULL;
        }
    return rows;
}

static bool run_copy(const char *text, const uint64_t *rows, size_t rows_nbytes, uint64_t *words, uint32_t count) {
    simt_module *module = NULL;
    simt_machine *machine = NULL;
    simt_message ignored;
    uint64_t rows_at, words_at;
    const void *const arguments[] = {&rows_at, &words_at, &count};
    bool is_done = !simt_module_parse(text, strlen(text), "conditions", &module, &ignored) &&
                   !simt_machine_create(NULL, &machine) && !simt_machine_allocate(machine, rows_nbytes, &rows_at) &&
                   !simt_machine_write(machine, rows_at, rows, rows_nbytes) &&
                   !simt_machine_allocate(machine, count * sizeof *words, &words_at);
    const simt_launch launch = {.module = module,
                                .grid = {(count + THREADS - 1) / THREADS},
                                .block = {THREADS},
                                .arguments = arguments,
                                .threads = 1};
    is_done = is_done && !simt_machine_launch(machine, &launch, NULL, &ignored) &&
              !simt_machine_read(machine, words_at, words, count * sizeof *words);
    simt_machine_destroy(machine);
    simt_module_destroy(module);
    return is_done;
}

bool conditions_mix(const struct judge_task *task, size_t s, const char *ptx, const char *kernel, const struct size *sizes,
                    size_t count, uint64_t *words) {
    const struct stage *stage = &task->stages[s];
    struct slice *slice = calloc(1, sizeof *slice);
    uint64_t *rows = make_rows(task, stage, sizes, count);
    uint64_t *found = calloc(SAMPLES * count + 1, sizeof *found);
    char *text = NULL;
    if (slice && rows && found) {
        slice->task = task;
        slice->stage = stage;
        text = slice_copy(slice, ptx, kernel);
    }
    bool is_done = text && slice->condition_count &&
                   run_copy(text, rows, SAMPLES * count * (stage->argument_count + COLUMNS) * sizeof *rows, found,
                            (uint32_t)(SAMPLES * count));
    for (size_t i = 0; is_done && i < SAMPLES * count; i++)
        words[i / SAMPLES] = (words[i / SAMPLES] ^ found[i]) * UINT64_C(0x9e3779b97f4a7c15) + (found[i] >> 29);
    free(text);
    free(found);
    free(rows);
    free(slice);
    return is_done;
}
