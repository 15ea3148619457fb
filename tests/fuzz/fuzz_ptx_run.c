/* PTX that is changed token by token, read, and run: whatever a module holds, the simulator stays in its own
 * memory.  Each kernel is launched with small grids, all observers, one of the schedules, and a small limit
 * of instructions; an escape is a finding of the sanitizers.  The mutator knows statements and tokens, so
 * that most of what it makes is still PTX. Long: FUZZ_SECONDS=3600 .ci/run, or the program itself with a
 * folder of its own. */
#include "ptx/ptx.h"

#include <stdlib.h>
#include <string.h>

static void require(bool holds) {
    if (!holds) abort();
}

/* ---- running */

enum {
    BUFFER_NBYTES = 1024,
    PARAMETERS_MAX = 64,
    PARAMETER_NBYTES_MAX = 256,
    VARIABLES_NBYTES_MAX = 1 << 20
};

static uint64_t variables_nbytes(struct variable *const *variables, uint32_t count) {
    uint64_t nbytes = 0;
    for (uint32_t v = 0; v < count; v++) nbytes += variables[v]->nbytes + variables[v]->alignment;
    return nbytes;
}

/* What a launch has to make room for; more than a little would only take time. */
static bool is_small(const simt_module *module) {
    uint64_t nbytes = variables_nbytes(module->variables, module->variable_count);
    for (uint32_t f = 0; f < module->function_count; f++)
        nbytes += variables_nbytes(module->functions[f]->variables, module->functions[f]->variable_count);
    return nbytes <= VARIABLES_NBYTES_MAX;
}

static void print(void *context, const char *text, size_t nbytes) {
    for (size_t i = 0; i < nbytes; i++) *(unsigned *)context += (unsigned char)text[i];
}

/* What a kernel launches: all that it is said to consist of is there. */
static bool take(void *context, const simt_child *child) {
    const simt_module *module = context;
    unsigned sum = 0;
    if (child->is_copy) return true;
    require(child->kernel < simt_module_kernel_count(module));
    for (size_t p = 0; p < simt_module_parameter_count(module, child->kernel); p++)
        for (size_t i = 0; i < simt_module_parameter_nbytes(module, child->kernel, p); i++)
            sum += ((const unsigned char *)child->arguments[p])[i];
    return sum % 7 != 6;
}

/* Every text that a report holds is there. */
static void check_report(const simt_report *report) {
    size_t length = 0;
    for (size_t i = 0; i < simt_report_counter_count(report); i++)
        length += strlen(simt_report_counter_name(report, i));
    for (size_t i = 0; i < simt_report_finding_count(report); i++) {
        const simt_finding *finding = simt_report_finding(report, i);
        length += strlen(finding->message) + strlen(finding->file) + strlen(finding->kernel);
        if (finding->has_other) length += strlen(finding->other_file);
    }
    for (size_t i = 0; i < simt_report_line_count(report); i++)
        length += strlen(simt_report_line(report, i)->file);
    for (size_t i = 0; i < simt_report_instruction_count(report); i++)
        length += strlen(simt_report_instruction(report, i)->opcode);
    for (size_t i = 0; i < simt_report_replay_count(report); i++) {
        const simt_replay *replay = simt_report_replay(report, i);
        for (size_t m = 0; m < replay->entry_count; m++) length += strlen(replay->entries[m].file);
    }
    require(length < SIZE_MAX);
}

/* In a buffer, behind its numbers: what kernels find by the address alone, of memory of the buffer's own. */
enum { TEXTURE_AT = 512, SURFACE_AT = 640, MAP_AT = 768, TEXELS_AT = 0 };

static void write_objects(simt_machine *machine, uint64_t address) {
    static unsigned char bytes[SIMT_TEXTURE_NBYTES + SIMT_TEXTURE_NBYTES + SIMT_TENSOR_MAP_NBYTES];
    simt_texture texture = {.address = address + TEXELS_AT, .row_nbytes = 64, .sizes = {8, 4}, .rank = 2, .channels = 1,
                            .channel_nbytes = 4, .kind = SIMT_TEXEL_FLOAT, .is_linear = true};
    const simt_tensor_map map = {.address = address + TEXELS_AT, .stride_bytes = {4, 64}, .sizes = {8, 4}, .box = {8, 4},
                                 .rank = 2, .element = 2};
    require(!simt_texture_encode(&texture, bytes, NULL));
    texture.is_surface = true;
    texture.is_linear = false;
    require(!simt_texture_encode(&texture, bytes + (SURFACE_AT - TEXTURE_AT), NULL));
    require(!simt_tensor_map_encode(&map, bytes + (MAP_AT - TEXTURE_AT), NULL));
    require(!simt_machine_write(machine, address + TEXTURE_AT, bytes, sizeof bytes));
}

/* A parameter is full of addresses, of memory that has been written, if it has room for one; else a small
 * number. */
static void fill_parameter(simt_machine *machine, unsigned char *bytes, size_t nbytes) {
    static const uint32_t numbers[BUFFER_NBYTES / sizeof(uint32_t)] = {0,          1, 2, 3,         4,
                                                                       0x3f800000, 6, 7, UINT32_MAX};
    uint64_t address;
    memset(bytes, 0, PARAMETER_NBYTES_MAX);
    bytes[0] = 3;
    if (nbytes < sizeof address || simt_machine_allocate(machine, BUFFER_NBYTES, &address)) return;
    require(!simt_machine_write(machine, address, numbers, sizeof numbers));
    write_objects(machine, address);
    for (size_t at = 0; at + sizeof address <= nbytes; at += sizeof address)
        memcpy(bytes + at, &address, sizeof address);
}

static void launch(simt_machine *machine, const simt_module *module, size_t kernel, uint32_t seed) {
    static unsigned char values[PARAMETERS_MAX][PARAMETER_NBYTES_MAX];
    static simt_message message;
    const void *arguments[PARAMETERS_MAX];
    const simt_observer *observers[32] = {&simt_observe_replay, &simt_observe_lines, &simt_observe_barriers};
    for (size_t o = 0; simt_observers[o]; o++) observers[o + 3] = simt_observers[o];
    size_t count = simt_module_parameter_count(module, kernel);
    if (count > PARAMETERS_MAX) return;
    for (size_t p = 0; p < count; p++) {
        size_t nbytes = simt_module_parameter_nbytes(module, kernel, p);
        if (nbytes > PARAMETER_NBYTES_MAX) return;
        fill_parameter(machine, values[p], nbytes);
        arguments[p] = values[p];
    }
    unsigned printed = 0;
    const simt_launch request = {.module = module,
                                 .kernel = kernel,
                                 .grid = {2, 1, 1},
                                 .block = {8, 1 + seed / 8 % 5, 1},
                                 .shared_nbytes = seed / 64 % 2 * 512,
                                 .arguments = arguments,
                                 .schedule = (simt_schedule)(seed % 3),
                                 .seed = seed,
                                 .instruction_limit = 2000,
                                 .threads = 1,
                                 .observers = observers,
                                 .print = print,
                                 .print_context = &printed};
    simt_report *report;
    simt_error error = simt_machine_launch(machine, &request, &report, &message);
    require(!error || message.text[0]);
    if (error == SIMT_ERROR_STOPPED) require(simt_report_finding_count(report) > 0);
    if (report) check_report(report);
    simt_report_destroy(report);
}

static uint32_t hash_of(const uint8_t *bytes, size_t nbytes) {
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < nbytes; i++) hash = (hash ^ bytes[i]) * 16777619u;
    return hash ^ hash >> 15;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    enum { KERNELS_MAX = 4 };
    static simt_message message;
    simt_module *module;
    simt_machine *machine;
    simt_error error = simt_module_parse((const char *)bytes, nbytes, "fuzz", &module, &message);
    require(!error == (module != NULL));
    if (error) return -1; /* of no use as an ancestor */
    if (is_small(module)) {
        require(!simt_machine_create(NULL, &machine));
        simt_machine_set_launch(machine, take, module);
        for (size_t kernel = 0; kernel < simt_module_kernel_count(module) && kernel < KERNELS_MAX; kernel++)
            launch(machine, module, kernel, hash_of(bytes, nbytes));
        simt_machine_destroy(machine);
    }
    simt_module_destroy(module);
    return 0;
}

/* ---- mutating */

size_t LLVMFuzzerMutate(uint8_t *bytes, size_t nbytes, size_t capacity);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t nbytes, size_t capacity, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_nbytes, const uint8_t *other,
                                 size_t other_nbytes, uint8_t *out, size_t capacity, unsigned seed);

enum { PIECES_MAX = 4096, TEXT_MAX = 1 << 15 };

struct piece {
    const char *text;
    size_t length;
};

struct pieces {
    struct piece at[PIECES_MAX];
    size_t count;
};

static uint64_t random_state;

static size_t random_below(size_t limit) {
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)(random_state >> 33) % limit;
}

static bool is_word(char c) {
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (c && strchr("_$%.:", c));
}

/* Words, as an opcode with all its modifiers, a register, a name, a number. */
static void find_words(const char *text, size_t nbytes, struct pieces *found) {
    found->count = 0;
    for (size_t i = 0; i < nbytes && found->count < PIECES_MAX;) {
        size_t begin = i;
        while (i < nbytes && is_word(text[i])) i++;
        if (i > begin)
            found->at[found->count++] = (struct piece){text + begin, i - begin};
        else
            i++;
    }
}

/* What ends in a semicolon, with what stands before it on its line and since the last one. */
static void find_statements(const char *text, size_t nbytes, struct pieces *found) {
    found->count = 0;
    for (size_t i = 0, begin = 0; i < nbytes && found->count < PIECES_MAX; i++) {
        bool is_end = text[i] == ';';
        if (is_end) found->at[found->count++] = (struct piece){text + begin, i + 1 - begin};
        if (is_end || text[i] == '{' || text[i] == '}') begin = i + 1;
    }
}

/* Words that may stand for each other: registers of one prefix, numbers, opcodes, other names. */
static bool are_alike(const struct piece *a, const struct piece *b) {
    if (*a->text == '%' && *b->text == '%') {
        size_t same = 0;
        while (same < a->length && same < b->length && a->text[same] == b->text[same]) same++;
        return same >= 2 &&
               (same >= a->length || same >= b->length || (a->text[same] <= '9' && b->text[same] <= '9'));
    }
    bool has_dot = memchr(a->text, '.', a->length), has_other_dot = memchr(b->text, '.', b->length);
    bool is_number = *a->text <= '9', is_other_number = *b->text <= '9';
    return *a->text != '%' && *b->text != '%' && has_dot == has_other_dot && is_number == is_other_number;
}

static const char *const modifiers[] = {
    "b8",     "b16",   "b32",   "b64",    "u8",   "u16",      "u32",     "u64",     "s8",      "s16",
    "s32",    "s64",   "f16",   "f32",    "f64",  "f16x2",    "bf16",    "pred",    "b128",    "global",
    "shared", "local", "const", "param",  "v2",   "v4",       "v8",      "sync",    "all",     "any",
    "cas",    "add",   "exch",  "popc",   "wide", "lo",       "hi",      "cc",      "to",      "idx",
    "down",   "up",    "bfly",  "ballot", "red",  "arrive",   "warp",    "rn",      "rzi",     "lt",
    "eq",     "and",   "or",    "xor",    "uni",  "volatile", "relaxed", "acquire", "release", "gpu",
    "min",    "max",   "inc",   "dec",    "sat",  "ftz",      "aligned"};
static const char *const numbers[] = {
    "0",  "1",  "2",    "3",     "7",          "15",         "16",
    "31", "32", "33",   "64",    "255",        "0xffff",     "65536",
    "-1", "-8", "4096", "1<<20", "0x7fffffff", "0xffffffff", "0x8000000000000000"};
static const char *const words[] = {"_",        "WARP_SZ", "%tid.x",     "%laneid",
                                    "%clock64", "%gridid", "0f3F800000", "0d3FF0000000000000",
                                    "!%p1",     "%p1|%p2"};
#define ANY_OF(list) list[random_below(sizeof list / sizeof *list)]

struct text {
    char bytes[TEXT_MAX];
    size_t nbytes;
};

/* `what` for the bytes [begin, end). */
static void replace(struct text *text, size_t begin, size_t end, const char *what, size_t length) {
    static char copy[TEXT_MAX];
    if (length >= TEXT_MAX || text->nbytes - (end - begin) + length > TEXT_MAX) return;
    memcpy(copy, what, length); /* which may lie in the text itself */
    memmove(text->bytes + begin + length, text->bytes + end, text->nbytes - end);
    memcpy(text->bytes + begin, copy, length);
    text->nbytes = text->nbytes - (end - begin) + length;
}

static void replace_piece(struct text *text, const struct piece *piece, const char *what, size_t length) {
    size_t begin = (size_t)(piece->text - text->bytes);
    replace(text, begin, begin + piece->length, what, length);
}

static void mutate_word(struct text *text, const struct pieces *found) {
    const struct piece *piece = &found->at[random_below(found->count)], *other = piece;
    for (int tries = 0; tries < 40; tries++) {
        other = &found->at[random_below(found->count)];
        if (are_alike(piece, other)) break;
    }
    replace_piece(text, piece, other->text, other->length);
}

static void mutate_modifier(struct text *text, const struct pieces *found) {
    for (int tries = 0; tries < 40; tries++) {
        const struct piece *piece = &found->at[random_below(found->count)];
        const char *dot = memchr(piece->text, '.', piece->length);
        if (!dot || *piece->text <= '9') continue;
        for (const char *next;
             random_below(2) &&
             (next = memchr(dot + 1, '.', (size_t)(piece->text + piece->length - dot - 1)));)
            dot = next;
        const char *end = dot + 1, *modifier = ANY_OF(modifiers);
        while (end < piece->text + piece->length && *end != '.') end++;
        replace(text, (size_t)(dot + 1 - text->bytes), (size_t)(end - text->bytes), modifier,
                strlen(modifier));
        return;
    }
}

static void mutate_number(struct text *text, const struct pieces *found) {
    const char *number = random_below(8) ? ANY_OF(numbers) : ANY_OF(words);
    for (int tries = 0; tries < 40; tries++) {
        const struct piece *piece = &found->at[random_below(found->count)];
        if (*piece->text > '9' && random_below(40)) continue;
        replace_piece(text, piece, number, strlen(number));
        return;
    }
}

/* Copies, swaps or removes a statement; `from` may be of another text. */
static void mutate_statement(struct text *text, const struct pieces *found, const struct pieces *from) {
    if (!from->count) return;
    const struct piece *piece = &found->at[random_below(found->count)];
    const struct piece other = from->at[random_below(from->count)];
    size_t begin = (size_t)(piece->text - text->bytes), way = random_below(4);
    if (way == 0)
        replace_piece(text, piece, "", 0);
    else if (way == 1)
        replace_piece(text, piece, other.text, other.length);
    else
        replace(text, begin, begin, other.text, other.length);
}

static void mutate(struct text *text, const struct pieces *others) {
    static struct pieces found;
    size_t way = random_below(8);
    (way < 6 ? find_words : find_statements)(text->bytes, text->nbytes, &found);
    if (!found.count) return;
    if (way < 3)
        mutate_word(text, &found);
    else if (way < 5)
        mutate_modifier(text, &found);
    else if (way < 6)
        mutate_number(text, &found);
    else
        mutate_statement(text, &found, others ? others : &found);
}

static struct text edited;

static size_t finish(uint8_t *out, size_t capacity) {
    size_t nbytes = edited.nbytes < capacity ? edited.nbytes : capacity;
    memcpy(out, edited.bytes, nbytes);
    return nbytes;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t nbytes, size_t capacity, unsigned seed) {
    random_state = seed * UINT64_C(0x9e3779b97f4a7c15);
    if (nbytes > TEXT_MAX || random_below(32) == 0) return LLVMFuzzerMutate(bytes, nbytes, capacity);
    memcpy(edited.bytes, bytes, nbytes);
    edited.nbytes = nbytes;
    for (size_t rounds = 1 + random_below(4); rounds > 0; rounds--) mutate(&edited, NULL);
    return finish(bytes, capacity);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_nbytes, const uint8_t *other,
                                 size_t other_nbytes, uint8_t *out, size_t capacity, unsigned seed) {
    static struct pieces others;
    random_state = seed * UINT64_C(0x9e3779b97f4a7c15);
    if (one_nbytes > TEXT_MAX) one_nbytes = TEXT_MAX;
    memcpy(edited.bytes, one, one_nbytes);
    edited.nbytes = one_nbytes;
    find_statements((const char *)other, other_nbytes, &others);
    for (size_t rounds = 1 + random_below(3); rounds > 0; rounds--) mutate(&edited, &others);
    return finish(out, capacity);
}
