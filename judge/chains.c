/* A shadow of the launch: beside each register and each word of memory, the length of the longest chain of
 * rounded operations that its value went through.  What it does not know makes it unable to tell, never too
 * low. */
#include "chains.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "simt/lane_mask.h"

enum { DESTINATIONS_MAX = 8, SOURCES_MAX = 16, WORD_SHIFT = 2 };

enum kind {
    KIND_PLAIN, /* registers to registers */
    KIND_LOAD,
    KIND_STORE,
    KIND_ATOMIC,
    KIND_SHUFFLE,
    KIND_CONTROL,
    KIND_EXACT, /* registers to registers, or a load, where no chain leads */
    KIND_UNKNOWN
};

struct operation {
    enum kind kind;
    bool rounds;
    uint32_t destinations[DESTINATIONS_MAX], sources[SOURCES_MAX]; /* numbers of registers */
    uint32_t destination_count, source_count;
};

struct span {
    uint64_t address;
    size_t words;
    uint32_t *lengths;
};

struct chains {
    const char *ptx;
    struct operation *operations; /* of each place of the module */
    uint32_t operation_count;
    char **registers; /* their names */
    uint32_t register_count, register_capacity;
    struct span *spans;
    size_t span_count;
    bool is_lost; /* something was done that is not followed */
};

/* ---- instructions ---------------------------------------------------------------------------------- */

static bool begins(const char *text, const char *prefix) {
    return !strncmp(text, prefix, strlen(prefix));
}

/* Is the opcode one of these words, up to its first dot? */
static bool is_one_of(const char *opcode, const char *words) {
    size_t length = strcspn(opcode, ".");
    for (const char *at = words; *at; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == length && !memcmp(at, opcode, length)) return true;
    return false;
}

static enum kind kind_of(const char *opcode) {
    if (is_one_of(opcode, "ld ldu")) return KIND_LOAD;
    if (is_one_of(opcode, "st")) return KIND_STORE;
    if (is_one_of(opcode, "atom red")) return KIND_ATOMIC;
    if (is_one_of(opcode, "shfl")) return KIND_SHUFFLE;
    if (is_one_of(opcode, "bra brx bar barrier ret exit membar fence nanosleep trap brkpt"))
        return KIND_CONTROL;
    if (is_one_of(
            opcode,
            "abs add addc and bfe bfi bfind brev clz cnot copysign cvt cvta div ex2 fma fns isspacep lg2 "
            "lop3 mad mad24 max mbarrier min mov mul mul24 neg not or popc prmt rcp rem rsqrt sad selp set setp shf "
            "shl shr sin slct sqrt sub subc szext tanh testp xor dp2a dp4a cos activemask vote match elect"))
        return KIND_PLAIN;
    return KIND_UNKNOWN;
}

/* Every operation on floats that may round; a conversion that may says how (.rn). */
static bool does_round(const char *opcode) {
    bool is_float =
        strstr(opcode, ".f32") || strstr(opcode, ".f64") || strstr(opcode, ".f16") || strstr(opcode, ".bf16");
    if (is_one_of(opcode, "cvt")) return is_float && strstr(opcode, ".r");
    return is_float &&
           is_one_of(opcode, "add sub mul fma mad div rcp sqrt rsqrt ex2 lg2 sin cos tanh atom red");
}

/* UINT32_MAX: no memory. */
static uint32_t number_register(struct chains *chains, const char *name, size_t length) {
    for (uint32_t i = 0; i < chains->register_count; i++)
        if (!strncmp(chains->registers[i], name, length) && !chains->registers[i][length]) return i;
    if (chains->register_count == chains->register_capacity) {
        uint32_t capacity = 2 * chains->register_capacity + 64;
        char **registers = realloc(chains->registers, capacity * sizeof *registers);
        if (!registers) return UINT32_MAX;
        chains->registers = registers;
        chains->register_capacity = capacity;
    }
    char *copy = strndup(name, length);
    if (!copy) return UINT32_MAX;
    chains->registers[chains->register_count] = copy;
    return chains->register_count++;
}

/* A register of the operand of that number; addresses, in brackets, are none of them. */
static void add_register(struct operation *operation, uint32_t number, int operand) {
    bool has_destination = operation->kind == KIND_PLAIN || operation->kind == KIND_LOAD ||
                           operation->kind == KIND_SHUFFLE || operation->kind == KIND_ATOMIC;
    if (has_destination && operand == 0) {
        if (operation->destination_count < DESTINATIONS_MAX)
            operation->destinations[operation->destination_count++] = number;
        else
            operation->kind = KIND_UNKNOWN;
    } else if (operation->source_count < SOURCES_MAX) {
        operation->sources[operation->source_count++] = number;
    } else {
        operation->kind = KIND_UNKNOWN;
    }
}

static size_t name_length(const char *at) {
    size_t length = 1;
    while (isalnum((unsigned char)at[length]) || (at[length] && strchr("_$", at[length]))) length++;
    return length;
}

/* Registers have names with % from the compiler, without it in inline assembly.  Names of variables, which no
 * instruction here changes, may count as such; so may not a vector's part, of which the others stay. */
static bool decode_operands(struct chains *chains, struct operation *operation, const char *text,
                            int operand) {
    int braces = 0, brackets = 0;
    for (const char *at = text; *at && *at != ';'; at++) {
        braces += (*at == '{') - (*at == '}');
        brackets += (*at == '[') - (*at == ']');
        operand += *at == ',' && !braces && !brackets;
        if (!isalnum((unsigned char)*at) && !strchr("%_$", *at)) continue;
        size_t length = name_length(at);
        if (!isdigit((unsigned char)*at) && !brackets) {
            uint32_t number = number_register(chains, at, length);
            if (number == UINT32_MAX) return false;
            add_register(operation, number, operand);
            if (at[length] == '.' && operand == 0) operation->kind = KIND_UNKNOWN;
        }
        at += length - 1;
    }
    return true;
}

/* `at` is the place's line. */
static bool decode(struct chains *chains, struct operation *operation, const simt_place *place,
                   const char *at) {
    const size_t before = place->ptx_column - 1;
    *operation = (struct operation){.kind = kind_of(place->opcode), .rounds = does_round(place->opcode)};
    if (!at || strcspn(at, "\n") < before || !begins(at + before, place->opcode)) operation->kind = KIND_UNKNOWN;
    if (operation->kind == KIND_UNKNOWN || operation->kind == KIND_CONTROL) return true;
    return decode_operands(chains, operation, at + before + strlen(place->opcode),
                           begins(place->opcode, "red."));
}

static bool leads_to_any(const bool *has_chain, const uint32_t *registers, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (has_chain[registers[i]]) return true;
    return false;
}

static bool begins_chain(const struct operation *operation, const char *opcode) {
    const bool is_of_memory = operation->kind == KIND_LOAD && !strstr(opcode, ".param") && !strstr(opcode, ".const");
    return operation->rounds || is_of_memory || operation->kind == KIND_ATOMIC;
}

/* Registers of integers that only lead to addresses and conditions have no chains, whatever the order in which instructions
 * are executed: most instructions need not be watched. */
static bool find_exact(struct chains *chains, const simt_launch_view *view) {
    bool *has_chain = calloc(chains->register_count + 1, sizeof *has_chain), grows = true;
    if (!has_chain) return false;
    while (grows) {
        grows = false;
        for (uint32_t pc = 0; pc < chains->operation_count; pc++) {
            const struct operation *operation = &chains->operations[pc];
            if (!begins_chain(operation, view->places[pc].opcode) &&
                !leads_to_any(has_chain, operation->sources, operation->source_count))
                continue;
            for (uint32_t d = 0; d < operation->destination_count; d++) {
                grows |= !has_chain[operation->destinations[d]];
                has_chain[operation->destinations[d]] = true;
            }
        }
    }
    for (uint32_t pc = 0; pc < chains->operation_count; pc++) {
        struct operation *operation = &chains->operations[pc];
        const bool is_of_registers = operation->kind == KIND_PLAIN || operation->kind == KIND_LOAD;
        if (is_of_registers && !leads_to_any(has_chain, operation->destinations, operation->destination_count))
            operation->kind = KIND_EXACT;
    }
    free(has_chain);
    return true;
}

/* Places are in the order of the text. */
static bool decode_all(struct chains *chains, const simt_launch_view *view) {
    if (chains->operations) return true;
    chains->operations = calloc(view->place_count + 1, sizeof *chains->operations);
    if (!chains->operations) return false;
    chains->operation_count = view->place_count;
    const char *line = chains->ptx;
    uint32_t number = 1;
    for (uint32_t pc = 0; pc < view->place_count; pc++) {
        for (; line && number < view->places[pc].ptx_line; number++) {
            line = strchr(line, '\n');
            line = line ? line + 1 : NULL;
        }
        if (!decode(chains, &chains->operations[pc], &view->places[pc], line)) return false;
    }
    return find_exact(chains, view);
}

/* ---- the state of a block --------------------------------------------------------------------------- */

struct block {
    struct chains *chains;
    uint32_t *registers; /* [register][thread] */
    uint32_t *shared;    /* of each word */
    size_t shared_words;
    uint32_t threads, warp_size;
};

static bool begin_launch(void *launch, const simt_launch_view *view) {
    (void)launch;
    return decode_all(view->context, view);
}

static bool begin_block(void *launch, void *state, const simt_block_view *view) {
    (void)launch;
    struct block *block = state;
    struct chains *chains = view->launch->context;
    block->chains = chains;
    block->warp_size = view->launch->warp_size;
    block->threads = view->launch->warps_per_block * block->warp_size;
    block->shared_words = (view->launch->shared_nbytes >> WORD_SHIFT) + 1;
    block->registers =
        calloc((size_t)(chains->register_count + 1) * block->threads, sizeof *block->registers);
    block->shared = calloc(block->shared_words, sizeof *block->shared);
    if (block->registers && block->shared) return true;
    free(block->registers);
    free(block->shared);
    return false;
}

static void end_block(void *launch, void *state, const simt_block_view *view) {
    (void)launch, (void)view;
    struct block *block = state;
    free(block->registers);
    free(block->shared);
}

static uint32_t *cell(struct block *block, const simt_event *event, uint32_t number, uint32_t lane) {
    return &block->registers[(size_t)number * block->threads + event->warp * block->warp_size + lane];
}

static uint32_t longest_source(struct block *block, const simt_event *event,
                               const struct operation *operation, uint32_t lane) {
    uint32_t longest = 0;
    for (uint32_t s = 0; s < operation->source_count; s++) {
        uint32_t length = *cell(block, event, operation->sources[s], lane);
        if (length > longest) longest = length;
    }
    return longest;
}

static void set_destinations(struct block *block, const simt_event *event, const struct operation *operation,
                             uint32_t lane, uint32_t length) {
    for (uint32_t d = 0; d < operation->destination_count; d++)
        *cell(block, event, operation->destinations[d], lane) = length;
}

/* A load begins with nothing; what it reads comes with its access. */
static void note_instruction(void *state, const simt_event *event) {
    struct block *block = state;
    const struct operation *operation = &block->chains->operations[event->pc];
    if (operation->kind == KIND_UNKNOWN) block->chains->is_lost = true;
    if (operation->kind == KIND_LOAD)
        SIMT_FOR_EACH_LANE(lane, event->mask) set_destinations(block, event, operation, lane, 0);
    if (operation->kind == KIND_PLAIN) SIMT_FOR_EACH_LANE(lane, event->mask)
    set_destinations(block, event, operation, lane,
                     longest_source(block, event, operation, lane) + operation->rounds);
}

static void note_shuffle(void *state, const simt_event *event, const uint8_t *sources) {
    struct block *block = state;
    const struct operation *operation = &block->chains->operations[event->pc];
    uint32_t lengths[SIMT_LANES];
    SIMT_FOR_EACH_LANE(lane, event->mask)
    lengths[lane] = longest_source(block, event, operation, sources[lane]);
    SIMT_FOR_EACH_LANE(lane, event->mask) set_destinations(block, event, operation, lane, lengths[lane]);
}

/* ---- memory ------------------------------------------------------------------------------------------- */

/* The words from the address on; NULL: not memory that is followed. */
static uint32_t *words_at(struct block *block, enum simt_space space, uint64_t address, uint32_t nbytes) {
    uint64_t last = (address + nbytes - 1) >> WORD_SHIFT;
    if (space == SIMT_SHARED)
        return last < block->shared_words ? &block->shared[address >> WORD_SHIFT] : NULL;
    const struct chains *chains = block->chains;
    for (size_t i = 0; space == SIMT_GLOBAL && i < chains->span_count; i++) {
        const struct span *span = &chains->spans[i];
        if (address >= span->address && last - (span->address >> WORD_SHIFT) < span->words)
            return &span->lengths[(address - span->address) >> WORD_SHIFT];
    }
    return NULL;
}

/* Of a lane's element of a vector: its registers are as many as its elements, or one for all. */
static void access_element(struct block *block, const simt_event *event, const simt_access *access,
                           uint32_t lane, uint32_t element) {
    const struct operation *operation = &block->chains->operations[event->pc];
    const uint32_t nbytes = access->element_nbytes;
    uint64_t address = access->addresses[lane] + element * nbytes;
    uint32_t *words = words_at(block, access->space, address, nbytes), longest = 0;
    uint32_t count = (uint32_t)(((address + nbytes - 1) >> WORD_SHIFT) - (address >> WORD_SHIFT)) + 1;
    if (!words) {
        block->chains->is_lost = true;
        return;
    }
    for (uint32_t w = 0; w < count; w++)
        if (words[w] > longest) longest = words[w];
    uint32_t source = longest_source(block, event, operation, lane);
    if (access->kind == SIMT_LOAD && element < operation->destination_count)
        *cell(block, event, operation->destinations[element], lane) = longest;
    if (access->kind == SIMT_ATOMIC) {
        set_destinations(block, event, operation, lane, longest);
        source = (source > longest ? source : longest) + operation->rounds;
    }
    if (nbytes < 1 << WORD_SHIFT && source < longest) source = longest; /* the word's other bytes stay */
    if (access->kind != SIMT_LOAD)
        for (uint32_t w = 0; w < count; w++) words[w] = source;
}

static void note_access(void *state, const simt_event *event, const simt_access *access) {
    struct block *block = state;
    if (access->space == SIMT_PARAMETER || access->space == SIMT_CONSTANT) return;
    SIMT_FOR_EACH_LANE(lane, access->lanes)
    for (uint32_t e = 0; e < access->elements; e++) access_element(block, event, access, lane, e);
}

static bool follows(void *launch, const simt_launch_view *view, uint32_t pc) {
    (void)launch;
    const enum kind kind = ((const struct chains *)view->context)->operations[pc].kind;
    return kind == KIND_PLAIN || kind == KIND_LOAD || kind == KIND_UNKNOWN;
}

const struct simt_observer judge_observe_chains = {
    .name = "chains",
    .block_nbytes = sizeof(struct block),
    .launch_begin = begin_launch,
    .block_begin = begin_block,
    .block_end = end_block,
    .instruction = note_instruction,
    .follows = follows,
    .access = note_access,
    .shuffle = note_shuffle,
};

/* ---- from outside -----------------------------------------------------------------------------------------
 */

struct chains *chains_create(const char *ptx) {
    struct chains *chains = calloc(1, sizeof *chains);
    if (chains) chains->ptx = ptx;
    return chains;
}

static void forget_spans(struct chains *chains) {
    for (size_t i = 0; i < chains->span_count; i++) free(chains->spans[i].lengths);
    free(chains->spans);
    chains->spans = NULL;
    chains->span_count = 0;
}

void chains_destroy(struct chains *chains) {
    if (!chains) return;
    forget_spans(chains);
    for (uint32_t i = 0; i < chains->register_count; i++) free(chains->registers[i]);
    free(chains->registers);
    free(chains->operations);
    free(chains);
}

bool chains_begin(struct chains *chains, size_t count) {
    forget_spans(chains);
    chains->is_lost = false;
    chains->spans = calloc(count + 1, sizeof *chains->spans);
    if (chains->spans) chains->span_count = count;
    return chains->spans;
}

bool chains_add(struct chains *chains, size_t index, uint64_t address, size_t nbytes) {
    size_t words = (nbytes >> WORD_SHIFT) + 1;
    chains->spans[index] = (struct span){address, words, calloc(words, sizeof(uint32_t))};
    return chains->spans[index].lengths;
}

uint64_t chains_longest(const struct chains *chains, size_t index, size_t offset, size_t nbytes) {
    const struct span *span = &chains->spans[index];
    uint64_t longest = 0;
    if (chains->is_lost || !span->lengths) return UINT64_MAX;
    for (size_t word = offset >> WORD_SHIFT; nbytes && word <= (offset + nbytes - 1) >> WORD_SHIFT; word++)
        if (span->lengths[word] > longest) longest = span->lengths[word];
    return longest;
}
