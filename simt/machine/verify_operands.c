/* What operands each opcode takes: of lane operations by their own tables (lanes*.c), of mov as it is
 * written, of all others by the table of signatures here. */
#include <stdio.h>
#include <string.h>

#include "verify.h"

/* ---- types */

static bool is_integer(enum type type) {
    return type >= TYPE_U8 && type <= TYPE_S64;
}
static bool is_bits(enum type type) {
    return type >= TYPE_B8 && type <= TYPE_B128;
}

static bool is_same_class(enum type type, enum type other) {
    if (type == TYPE_PRED || other == TYPE_PRED) return type == other;
    return is_bits(type) || is_bits(other) || is_integer(type) == is_integer(other);
}

bool simt_types_fit(enum type type, enum type other) {
    return simt_type_nbytes(type) == simt_type_nbytes(other) && is_same_class(type, other);
}

/* ---- signatures */

/* One word for each operand:
 *   =            it is written
 *   t            the opcode's last type; where it says .v2, .v4 or .v8, a vector of that length
 *   b32 pred ..  that type
 *   *            the register may be wider than the type
 *   !            a predicate that may be negated
 *   _            a result may be thrown away
 *   |pred        a second result may accompany it: d|p
 *   a            an address as a value, of 32 or 64 bits
 *   &            the same, or the name of a variable of the opcode's state space
 *   0            a constant
 *   size         of .u32, or a predicate that may be negated
 *   [] [w] [x]   an address in memory: of any state space, of one that is written, of one that has atomics
 *   [s] [g]      an address in shared or global memory, whatever the opcode says of others
 *   [t]          a tensor map and the coordinates of a box
 *   {o}          offsets of pixels in braces, two less than there are coordinates
 *   {g}          a gradient: of one coordinate as a value or in braces, or a vector
 *   [c]          the handle of a texture or surface and coordinates
 *   =4 =2        a vector of 4 or 2 results of 32 bits
 *   ={} {}       results or values of the opcode's type in braces, even one; registers may be wider
 *   label, targets (.branchtargets)
 * The first row whose modifiers (all of those named) the opcode has says what it is; rows after it with the
 * same modifiers are other numbers of operands.  No operands at all, NULL: an instruction that the simulator
 * does not know. */
static const struct signature {
    const char *base, *modifiers, *operands;
} signatures[] = {{"bra", "", "label"},
                  {"brx", "", "u32 targets"},
                  {"ret", "", ""},
                  {"exit", "", ""},
                  {"trap", "", ""},
                  {"brkpt", "", ""},
                  {"createpolicy", "fractional", "=b64"},
                  {"createpolicy", "fractional", "=b64 f32"},
                  {"createpolicy", "range", "=b64 [] u32 u32"},
                  {"createpolicy", "cvt", "=b64 b64"},
                  {"alloca", "", "=t t"},
                  {"alloca", "", "=t t 0"},
                  {"stacksave", "", "=t"},
                  {"stackrestore", "", "t"},
                  {"nanosleep", "", "u32"},
                  {"prefetch", "", "[]"},
                  {"prefetchu", "", "[]"},
                  {"discard", "", "[] 0"},
                  {"applypriority", "", "[] 0"},
                  {"pmevent", "", "0"},
                  {"setmaxnreg", "", "0"},
                  {"cp", "async bulk tensor im2col::w", NULL},
                  {"cp", "async bulk tensor im2col::w::128", NULL},
                  {"cp", "async bulk tensor tile::gather4", NULL},
                  {"cp", "async bulk tensor tile::scatter4", NULL},
                  {"cp", "async bulk tensor prefetch im2col", "[t] {o}"},
                  {"cp", "async bulk tensor prefetch", "[t]"},
                  {"cp", "async bulk tensor im2col multicast::cluster", "[s] [t] [s] {o} u16"},
                  {"cp", "async bulk tensor im2col", "[s] [t] [s] {o}"},
                  {"cp", "async bulk tensor multicast::cluster", "[s] [t] [s] u16"},
                  {"cp", "async bulk tensor bulk_group", "[t] [s]"},
                  {"cp", "async bulk tensor", "[s] [t] [s]"},
                  {"cp", "async bulk commit_group", ""},
                  {"cp", "async bulk wait_group", "0"},
                  {"cp", "async bulk prefetch", "[g] u32"},
                  {"cp", "async bulk multicast::cluster", "[s] [g] u32 [s] u16"},
                  {"cp", "async bulk bulk_group", "[g] [s] u32"},
                  {"cp", "async bulk global", "[s] [g] u32 [s]"},
                  {"cp", "async bulk", "[s] [s] u32 [s]"},
                  {"cp", "async commit_group", ""},
                  {"cp", "async wait_group", "0"},
                  {"cp", "async wait_all", ""},
                  {"cp", "async mbarrier", "[s]"},
                  {"cp", "async", "[s] [g] 0"},
                  {"cp", "async", "[s] [g] 0 size"},
                  {"mbarrier", "init", "[s] u32"},
                  {"mbarrier", "inval", "[s]"},
                  {"mbarrier", "pending_count", "=u32 b64"},
                  {"mbarrier", "test_wait parity", "=pred [s] u32"},
                  {"mbarrier", "test_wait", "=pred [s] b64"},
                  {"mbarrier", "try_wait parity", "=pred [s] u32"},
                  {"mbarrier", "try_wait parity", "=pred [s] u32 u32"},
                  {"mbarrier", "try_wait", "=pred [s] b64"},
                  {"mbarrier", "try_wait", "=pred [s] b64 u32"},
#define ARRIVAL(name)                                                                                        \
    {"mbarrier", name " noComplete", "=b64_ [s] u32"}, {"mbarrier", name " expect_tx", "=b64_ [s] u32"},      \
        {"mbarrier", name, "=b64_ [s]"}, {"mbarrier", name, "=b64_ [s] u32"},
                  ARRIVAL("arrive") ARRIVAL("arrive_drop")
#undef ARRIVAL
                  {"mbarrier", "", "[s] u32"},
                  {"mapa", "", "=t & u32"},
                  {"getctarank", "", "=u32 &"},
                  {"griddepcontrol", "", ""},
                  {"tex", "2dms", NULL},
                  {"tex", "a2dms", NULL},
                  {"tex", "v2 grad", "=2 [c] {g} {g}"},
                  {"tex", "v2 level", "=2 [c] f32"},
                  {"tex", "v2", "=2 [c]"},
                  {"tex", "grad", "=4 [c] {g} {g}"},
                  {"tex", "level", "=4 [c] f32"},
                  {"tex", "", "=4 [c]"},
                  {"tld4", "", "=4 [c]"},
                  {"suld", "p", NULL},
                  {"suld", "", "={} [c]"},
                  {"sust", "", "[c] {}"},
                  {"sured", "", "[c] t"},
                  {"txq", "level", "=b32 [x] u32"},
                  {"txq", "", "=b32 [x]"},
                  {"suq", "", "=b32 [x]"},
                  {"ld", "", "=t* []"},
                  {"ldu", "", "=t* []"},
                  {"st", "async mmio", NULL},
                  {"st", "async", "[x] t* [x]"},
                  {"st", "bulk", NULL},
                  {"st", "", "[w] t*"},
                  {"atom", "cas", "=t_ [x] t t"},
                  {"atom", "", "=t_ [x] t"},
                  {"red", "async mmio", NULL},
                  {"red", "async", "[x] t [x]"},
                  {"red", "", "[x] t"},
                  {"membar", "", ""},
                  {"fence", "proxy async", ""},
                  {"tensormap", "cp_fenceproxy", "[g] [s] 0"},
                  {"tensormap", "replace box_dim", "[x] 0 t"},
                  {"tensormap", "replace global_dim", "[x] 0 t"},
                  {"tensormap", "replace global_stride", "[x] 0 t"},
                  {"tensormap", "replace element_stride", "[x] 0 t"},
                  {"tensormap", "replace global_address", "[x] t"},
                  {"tensormap", "replace rank", "[x] t"},
                  {"tensormap", "replace swizzle_atomicity", NULL},
                  {"tensormap", "replace", "[x] 0"},
                  {"fence", "proxy alias", ""},
                  {"fence", "proxy tensormap::generic acquire", "[] 0"},
                  {"fence", "proxy tensormap::generic", ""},
                  {"fence", "proxy", NULL},
                  {"fence", "", ""},
                  {"cvta", "to", "=t a"},
                  {"cvta", "", "=t &"},
                  {"isspacep", "", "=pred a"},
                  {"shfl", "sync", "=b32|pred b32 u32 u32 u32"},
                  {"shfl", "", NULL},
                  {"vote", "sync ballot", "=u32 !pred u32"},
                  {"vote", "sync", "=pred !pred u32"},
                  {"vote", "", NULL},
                  {"match", "sync all", "=u32|pred t u32"},
                  {"match", "sync any", "=u32 t u32"},
                  {"redux", "sync", "=t t u32"},
                  {"elect", "sync", "=u32_|pred u32"},
                  {"activemask", "", "=b32"},
#define BARRIER(base)                                                                                        \
    {base, "warp", "u32"}, {base, "cluster", ""}, {base, "red popc", "=u32 u32 !pred"},                    \
        {base, "red popc", "=u32 u32 u32 !pred"}, {base, "red", "=pred u32 !pred"},                          \
        {base, "red", "=pred u32 u32 !pred"}, {base, "arrive", "u32 u32"}, {base, "sync", "u32"},            \
        {base, "sync", "u32 u32"},
                  BARRIER("bar") BARRIER("barrier")
#undef BARRIER
};

static uint32_t count_words(const char *words) {
    uint32_t count = *words != '\0';
    for (; *words; words++) count += *words == ' ';
    return count;
}

/* ---- what is said of an operand */

struct place {
    const struct verifier *verifier;
    uint32_t number; /* among the instruction's operands, from 1 */
};

static bool refuse(const struct place *place, const char *expected) {
    return simt_verify_refuse(place->verifier, "operand %u must be %s", place->number, expected);
}

static const char *type_name(enum type type) {
    static const char *const names[] = {"no type",
#define X(name, text, nbytes) "." text,
                                        SIMT_TYPES(X)
#undef X
    };
    return names[type];
}

static bool refuse_type(const struct place *place, const char *what, enum type expected, enum type found) {
    return simt_verify_refuse(place->verifier, "operand %u must be %s of %s, found one of %s", place->number,
                              what, type_name(expected), type_name(found));
}

/* ---- one operand */

struct expected {
    enum type type;
    bool is_result, may_be_wider, may_be_negated, may_be_thrown_away;
};

static bool verify_register(const struct place *place, const struct operand *operand,
                            const struct expected *expected) {
    enum type found = place->verifier->function->registers[operand->index].type;
    if (operand->is_negated && !(expected->may_be_negated && expected->type == TYPE_PRED))
        return refuse(place, "without '!'");
    bool is_wider = expected->may_be_wider && simt_type_nbytes(found) > simt_type_nbytes(expected->type) &&
                    is_same_class(expected->type, found) && found != TYPE_PRED && found != TYPE_B128;
    return is_wider || simt_types_fit(expected->type, found) ||
           refuse_type(place, "a register", expected->type, found);
}

/* 1 is no float, 1.0 no integer.  Of halves the bits are written. */
static bool verify_immediate(const struct place *place, const struct operand *operand, enum type type) {
    bool is_integer_constant = operand->immediate == IMMEDIATE_INTEGER;
    if ((type == TYPE_F32 || type == TYPE_F64) && is_integer_constant)
        return refuse(place, "a floating-point constant or a register");
    return is_integer_constant || !(is_integer(type) || type == TYPE_PRED) ||
           refuse(place, "an integer constant or a register");
}

static bool verify_value(const struct place *place, const struct operand *operand,
                         const struct expected *expected) {
    if (operand->kind == OPERAND_REGISTER) return verify_register(place, operand, expected);
    if (expected->is_result) {
        bool is_thrown_away = operand->kind == OPERAND_SINK && expected->may_be_thrown_away;
        return is_thrown_away || simt_verify_refuse(place->verifier, "the destination must be a register");
    }
    if (operand->kind == OPERAND_IMMEDIATE) return verify_immediate(place, operand, expected->type);
    bool is_special = operand->kind == OPERAND_SPECIAL;
    bool is_warp_size = is_special && strcmp(operand->special, "WARP_SZ") == 0;
    bool is_low = is_special && is_integer(expected->type) && simt_type_nbytes(expected->type) == 2 &&
                  simt_special_has_low_bits(place->verifier->instruction, operand->special);
    return is_warp_size || is_low || refuse(place, "a register or a constant");
}

static uint32_t vector_length(const struct instruction *instruction) {
    return simt_has(instruction, "v2")   ? 2
           : simt_has(instruction, "v4") ? 4
           : simt_has(instruction, "v8") ? 8
                                         : 1;
}

/* A value of the opcode's own type, which may be a vector. */
static bool verify_typed(const struct place *place, const struct operand *operand, struct expected expected) {
    enum { VECTOR_NBYTES_MAX = 32 };
    const struct instruction *instruction = place->verifier->instruction;
    uint32_t length = vector_length(instruction);
    expected.type = simt_last_type(instruction);
    if (expected.type == TYPE_NONE || expected.type == TYPE_PRED)
        return simt_verify_refuse(place->verifier, "it needs a type other than .pred");
    if (length == 1) return verify_value(place, operand, &expected);
    if (operand->kind != OPERAND_VECTOR || operand->is_bracketed || operand->element_count != length)
        return simt_verify_refuse(place->verifier, "operand %u must be a vector of %u", place->number,
                                  length);
    if (length * simt_type_nbytes(expected.type) > VECTOR_NBYTES_MAX)
        return simt_verify_refuse(place->verifier, "a vector of more than %d bytes", VECTOR_NBYTES_MAX);
    expected.may_be_thrown_away = expected.is_result;
    for (uint32_t e = 0; e < length; e++)
        if (!verify_value(place, &operand->elements[e], &expected)) return false;
    return true;
}

/* ---- addresses */

static const char *space_name(enum simt_space space) {
    static const char *const names[] = {".global", ".shared", ".local", ".const", ".param"};
    return names[space];
}

static bool verify_named_space(const struct place *place, const struct variable *variable) {
    enum simt_space space;
    if (!simt_named_space(place->verifier->instruction, &space) || space == variable->space) return true;
    return simt_verify_refuse(place->verifier, "%.200s is a %s variable, not %s", variable->name,
                              space_name(variable->space), space_name(space));
}

/* `use`: ']', 'w' or 'x', as in a signature. */
static bool verify_parameter_use(const struct place *place, const struct variable *variable, char use) {
    if (!variable->is_parameter || variable->is_result == (use != ']')) return true;
    return simt_verify_refuse(place->verifier,
                              variable->is_result ? "the result %.200s cannot be read"
                                                  : "the parameter %.200s cannot be written",
                              variable->name);
}

static bool verify_base(const struct place *place, const struct operand *operand) {
    enum type type = place->verifier->function->registers[operand->index].type;
    uint32_t nbytes = simt_type_nbytes(type);
    bool is_address = (is_integer(type) || is_bits(type)) && (nbytes == 4 || nbytes == 8);
    return is_address ||
           simt_verify_refuse(place->verifier, "an address cannot be a register of %s", type_name(type));
}

/* `use`: 's' or 'g'. */
static bool verify_space(const struct place *place, const struct operand *operand, char use) {
    const enum simt_space space = use == 's' ? SIMT_SHARED : SIMT_GLOBAL;
    if (operand->kind != OPERAND_ADDRESS || !operand->is_bracketed)
        return refuse(place, "an address in brackets");
    if (operand->has_base_register) return verify_base(place, operand);
    if (!operand->variable || operand->variable->space == space) return true;
    return simt_verify_refuse(place->verifier, "%.200s is a %s variable, not %s", operand->variable->name,
                              space_name(operand->variable->space), space_name(space));
}

static bool verify_memory(const struct place *place, const struct operand *operand, char use) {
    enum simt_space space;
    bool is_named = simt_named_space(place->verifier->instruction, &space);
    if (operand->kind != OPERAND_ADDRESS || !operand->is_bracketed)
        return refuse(place, "an address in brackets");
    bool is_allowed = use == ']' || !is_named || space == SIMT_GLOBAL || space == SIMT_SHARED ||
                      (use == 'w' && space != SIMT_CONSTANT);
    if (!is_allowed)
        return simt_verify_refuse(place->verifier, "it cannot update %s memory", space_name(space));
    if (operand->has_base_register) return verify_base(place, operand);
    return !operand->variable || (verify_named_space(place, operand->variable) &&
                                  verify_parameter_use(place, operand->variable, use));
}

/* The name of a variable as its address.  Of the parameters only the function's own have one. */
static bool verify_name(const struct place *place, const struct operand *operand) {
    if (operand->is_bracketed || operand->has_base_register) return refuse(place, "a register or a constant");
    const struct variable *variable = operand->variable;
    if (variable && variable->space == SIMT_PARAMETER && !variable->is_parameter)
        return simt_verify_refuse(place->verifier, "%.200s is passed to a function and has no address",
                                  variable->name);
    return true;
}

static bool verify_address_value(const struct place *place, const struct operand *operand, bool may_be_name) {
    if (operand->kind == OPERAND_REGISTER)
        return operand->is_negated ? refuse(place, "without '!'") : verify_base(place, operand);
    if (may_be_name && operand->kind == OPERAND_ADDRESS)
        return verify_name(place, operand) &&
               (!operand->variable || verify_named_space(place, operand->variable));
    bool is_integer_constant = operand->kind == OPERAND_IMMEDIATE && operand->immediate == IMMEDIATE_INTEGER;
    return is_integer_constant || refuse(place, "an address");
}

/* ---- operands by a signature */

static bool verify_pair(const struct place *place, const struct operand *operand,
                        const struct expected *first) {
    const struct expected second = {.type = TYPE_PRED, .is_result = true, .may_be_thrown_away = true};
    return verify_value(place, &operand->elements[0], first) &&
           verify_value(place, &operand->elements[1], &second);
}

/* How much of a copy is read, or whether nothing is. */
static bool verify_size(const struct place *place, const struct operand *operand) {
    bool is_predicate = operand->kind == OPERAND_REGISTER &&
                        place->verifier->function->registers[operand->index].type == TYPE_PRED;
    const struct expected expected = {.type = is_predicate ? TYPE_PRED : TYPE_U32, .may_be_negated = true};
    return verify_value(place, operand, &expected);
}

/* [tensor map, {coordinates}] */
static bool verify_tensor(const struct place *place, const struct operand *operand) {
    static const char *const ranks[] = {"1d", "2d", "3d", "4d", "5d"};
    const struct expected coordinate = {.type = TYPE_B32};
    const struct operand *map = operand->elements;
    if (operand->kind != OPERAND_VECTOR || !operand->is_bracketed || operand->element_count != 2 ||
        map->kind != OPERAND_ADDRESS || !map->has_base_register || map[1].kind != OPERAND_VECTOR || map[1].is_bracketed)
        return refuse(place, "the address of a tensor map and the coordinates of a box, [address, {x, ..}]");
    if (!verify_base(place, map)) return false;
    for (uint32_t r = 0; r < sizeof ranks / sizeof *ranks; r++)
        if (simt_has(place->verifier->instruction, ranks[r]) && map[1].element_count != r + 1)
            return simt_verify_refuse(place->verifier, "operand %u must have %u coordinates", place->number, r + 1);
    if (map[1].element_count > SIMT_TENSOR_RANK_MAX) return refuse(place, "with 5 coordinates at most");
    for (uint32_t d = 0; d < map[1].element_count; d++)
        if (!verify_value(place, &map[1].elements[d], &coordinate)) return false;
    return true;
}

static bool verify_offsets(const struct place *place, const struct operand *operand) {
    const struct expected offset = {.type = TYPE_B16};
    const struct instruction *instruction = place->verifier->instruction;
    const uint32_t rank = simt_has(instruction, "5d") ? 5 : simt_has(instruction, "4d") ? 4 : simt_has(instruction, "3d") ? 3 : 0;
    if (!rank) return simt_verify_refuse(place->verifier, "im2col needs 3 dimensions or more");
    if (operand->kind != OPERAND_VECTOR || operand->is_bracketed || operand->element_count != rank - 2)
        return simt_verify_refuse(place->verifier, "operand %u must be a vector of %u offsets", place->number, rank - 2);
    for (uint32_t e = 0; e < operand->element_count; e++)
        if (!verify_value(place, &operand->elements[e], &offset)) return false;
    return true;
}

static bool verify_results(const struct place *place, const struct operand *operand, uint32_t count) {
    const struct expected result = {.type = TYPE_B32, .is_result = true, .may_be_thrown_away = true};
    if (operand->kind != OPERAND_VECTOR || operand->is_bracketed || operand->element_count != count)
        return refuse(place, count == 2 ? "a vector of 2" : "a vector of 4");
    for (uint32_t e = 0; e < count; e++)
        if (!verify_value(place, &operand->elements[e], &result)) return false;
    return true;
}

static bool verify_braces(const struct place *place, const struct operand *operand, bool is_result) {
    const struct instruction *instruction = place->verifier->instruction;
    const struct expected expected = {.type = simt_last_type(instruction), .is_result = is_result,
                                      .may_be_thrown_away = is_result, .may_be_wider = true};
    const uint32_t length = vector_length(instruction);
    if (!is_bits(expected.type) || length * simt_type_nbytes(expected.type) > 16)
        return simt_verify_refuse(place->verifier, "it needs a type .b8 to .b64, and 16 bytes at most");
    if (operand->kind != OPERAND_VECTOR || operand->is_bracketed || operand->element_count != length)
        return simt_verify_refuse(place->verifier, "operand %u must be a vector of %u", place->number, length);
    for (uint32_t e = 0; e < length; e++)
        if (!verify_value(place, &operand->elements[e], &expected)) return false;
    return true;
}

/* [handle, {coordinates}]: how many, the decoder checks */
static bool verify_texture(const struct place *place, const struct operand *operand) {
    const struct expected coordinate = {.type = TYPE_B32};
    const struct operand *handle = operand->elements;
    if (operand->kind != OPERAND_VECTOR || !operand->is_bracketed || operand->element_count != 2 ||
        handle->kind != OPERAND_ADDRESS || !handle->has_base_register || handle[1].kind != OPERAND_VECTOR ||
        handle[1].is_bracketed)
        return refuse(place, "a handle and coordinates, [handle, {x, ..}]");
    for (uint32_t d = 0; d < handle[1].element_count; d++)
        if (!verify_value(place, &handle[1].elements[d], &coordinate)) return false;
    return verify_base(place, handle);
}

/* How many numbers there are, the decoder checks. */
static bool verify_gradient(const struct place *place, const struct operand *operand) {
    const struct expected part = {.type = TYPE_F32};
    if (operand->kind != OPERAND_VECTOR) return verify_value(place, operand, &part);
    if (operand->is_bracketed) return refuse(place, "a gradient");
    for (uint32_t e = 0; e < operand->element_count; e++)
        if (!verify_value(place, &operand->elements[e], &part)) return false;
    return true;
}

static bool verify_by_word(const struct place *place, const struct operand *operand, const char *word) {
    if (!strcmp(word, "[t]")) return verify_tensor(place, operand);
    if (!strcmp(word, "[c]")) return verify_texture(place, operand);
    if (!strcmp(word, "{g}")) return verify_gradient(place, operand);
    if (!strcmp(word, "{o}")) return verify_offsets(place, operand);
    if (word[0] == '=' && word[1] && strchr("24", word[1])) return verify_results(place, operand, (uint32_t)(word[1] - '0'));
    if (strchr(word, '{')) return verify_braces(place, operand, word[0] == '=');
    if (word[0] == '[' && strchr("sg", word[1])) return verify_space(place, operand, word[1]);
    if (word[0] == '[') return verify_memory(place, operand, word[1]);
    if (strcmp(word, "size") == 0) return verify_size(place, operand);
    if (strcmp(word, "label") == 0) return operand->kind == OPERAND_LABEL || refuse(place, "a label");
    if (strcmp(word, "targets") == 0)
        return (operand->kind == OPERAND_TABLE && operand->table->targets) ||
               refuse(place, "a list of .branchtargets");
    if (word[0] == '0')
        return (operand->kind == OPERAND_IMMEDIATE && operand->immediate == IMMEDIATE_INTEGER) ||
               refuse(place, "an integer constant");
    if (word[0] == 'a' || word[0] == '&') return verify_address_value(place, operand, word[0] == '&');

    struct expected expected = {.is_result = word[0] == '=', .may_be_negated = word[0] == '!'};
    char name[8];
    word += expected.is_result || expected.may_be_negated;
    size_t length = strcspn(word, "*_|");
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    expected.may_be_wider = word[length] == '*';
    expected.may_be_thrown_away = word[length] == '_';
    expected.type = simt_type_find(name);
    if (strchr(word, '|') && operand->kind == OPERAND_PAIR) return verify_pair(place, operand, &expected);
    if (expected.type == TYPE_NONE) return verify_typed(place, operand, expected);
    return verify_value(place, operand, &expected);
}

/* Checks the first `count` operands; those after them have been checked. */
static bool verify_by_words(const struct verifier *verifier, const char *words, uint32_t count) {
    for (uint32_t o = 0; o < count; o++) {
        char word[16];
        size_t length = strcspn(words, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, words);
        words += length + (words[length] == ' ');
        if (!verify_by_word(&(struct place){verifier, o + 1}, &verifier->instruction->operands[o], word))
            return false;
    }
    return true;
}

static bool is_like(const struct signature *signature, const struct signature *other) {
    return simt_is_word(signature->base, other->base) && !strcmp(signature->modifiers, other->modifiers);
}

/* A policy of caches may follow. */
static bool verify_hint(const struct verifier *verifier, uint32_t *count) {
    if (!simt_has(verifier->instruction, "L2::cache_hint")) return true;
    if (*count == 0) return simt_verify_refuse(verifier, "a cache policy is expected");
    --*count;
    return verify_by_word(&(struct place){verifier, *count + 1}, &verifier->instruction->operands[*count],
                          "b64");
}

/* Fetches may have an offset, a depth that they compare with, and a result that tells whether the memory is there: none of
 * these is known. */
static bool is_fetch_of_more(const struct instruction *instruction) {
    if (!simt_is_base(instruction, "tex") && !simt_is_base(instruction, "tld4")) return false;
    const uint32_t plain = 2u + simt_has(instruction, "level") + 2u * simt_has(instruction, "grad");
    return instruction->operand_count > plain || instruction->operands[0].kind == OPERAND_PAIR;
}

static bool verify_by_signature(const struct verifier *verifier, const struct signature *first) {
    const struct signature *const end = signatures + sizeof signatures / sizeof *signatures;
    uint32_t count = verifier->instruction->operand_count;
    if (!first->operands || is_fetch_of_more(verifier->instruction)) return true;
    verifier->instruction->is_known = true;
    if (!verify_hint(verifier, &count)) return false;
    for (const struct signature *row = first; row < end && is_like(row, first); row++)
        if (count_words(row->operands) == count) return verify_by_words(verifier, row->operands, count);
    return simt_verify_refuse(verifier, "it takes %u operands, found %u", count_words(first->operands),
                              count);
}

static const struct signature *find_signature(const struct instruction *instruction, bool *is_base) {
    for (size_t s = 0; s < sizeof signatures / sizeof *signatures; s++) {
        if (!simt_is_base(instruction, signatures[s].base)) continue;
        *is_base = true;
        if (simt_has_all(instruction, signatures[s].modifiers)) return &signatures[s];
    }
    return NULL;
}

/* ---- lane operations */

/* A pair of results is two operands to them. */
static bool verify_by_lanes(const struct verifier *verifier, const struct lane_operation *operation) {
    const struct instruction *instruction = verifier->instruction;
    const struct operand *first = &instruction->operands[0];
    bool is_conversion = simt_is_base(instruction, "cvt"), is_pair = operation->destinations == 2;
    verifier->instruction->is_known = true;
    if ((first->kind == OPERAND_PAIR) != is_pair)
        return simt_verify_refuse(verifier, is_pair ? "its results are written d|p" : "it has one result");
    for (uint32_t o = 0; o < operation->count; o++) {
        uint32_t number = is_pair && o ? o - 1 : o;
        const struct operand *operand =
            is_pair && o < 2 ? &first->elements[o] : &instruction->operands[number];
        const struct expected expected = {.type = operation->types[o],
                                          .is_result = o < operation->destinations,
                                          .may_be_wider = is_conversion && is_integer(operation->types[o]),
                                          .may_be_negated = o >= operation->destinations,
                                          .may_be_thrown_away = is_pair || operation->types[o] == TYPE_PRED};
        if (!verify_value(&(struct place){verifier, number + 1}, operand, &expected)) return false;
    }
    return true;
}

static bool verify_lanes(const struct verifier *verifier) {
    const struct instruction *instruction = verifier->instruction;
    uint32_t count = instruction->operand_count;
    struct lane_operation operation;
    if (count && instruction->operands[0].kind == OPERAND_PAIR) count++;
    if (simt_lanes_shape(instruction, count, &operation)) return verify_by_lanes(verifier, &operation);
    for (uint32_t other = 1; other <= LANE_OPERANDS_MAX; other++)
        if (simt_lanes_shape(instruction, other, &operation))
            return simt_verify_refuse(verifier, "it takes %u operands, found %u", other, count);
    return true;
}

/* ---- mov */

static bool is_of_address_size(enum type type) {
    return (is_integer(type) || is_bits(type)) &&
           (simt_type_nbytes(type) == 4 || simt_type_nbytes(type) == 8);
}

/* mov.b64 {a, b}, c and c, {a, b}: `whole` and its parts, one of which is written. */
static bool verify_parts(const struct verifier *verifier, uint32_t parts, uint32_t whole) {
    static const enum type types[] = {[1] = TYPE_B8, [2] = TYPE_B16, [4] = TYPE_B32, [8] = TYPE_B64};
    const struct instruction *instruction = verifier->instruction;
    const struct operand *vector = &instruction->operands[parts];
    enum type type = simt_last_type(instruction);
    uint32_t nbytes = simt_type_nbytes(type), count = vector->element_count;
    if (instruction->modifier_count != 1 || !is_bits(type) || nbytes < 2)
        return simt_verify_refuse(verifier, "packing parts needs the type .b16, .b32, .b64 or .b128");
    if ((count != 2 && count != 4) || nbytes / count < 1 || vector->is_bracketed)
        return simt_verify_refuse(verifier, "%s cannot have %u parts", type_name(type), count);
    struct expected expected = {.type = type, .is_result = parts == 1};
    if (!verify_value(&(struct place){verifier, whole + 1}, &instruction->operands[whole], &expected))
        return false;
    expected =
        (struct expected){.type = types[nbytes / count], .is_result = parts == 0, .may_be_thrown_away = true};
    for (uint32_t e = 0; e < count; e++)
        if (!verify_value(&(struct place){verifier, parts + 1}, &vector->elements[e], &expected))
            return false;
    return true;
}

/* Operands that only mov may read: special registers, names of variables and functions. */
static bool verify_named(const struct verifier *verifier, const struct operand *operand, enum type type) {
    const struct place place = {verifier, 2};
    if (operand->kind == OPERAND_SPECIAL) return true; /* which have which size, the simulator knows */
    if (!is_of_address_size(type))
        return simt_verify_refuse(verifier, "an address is an integer of 32 or 64 bits, not %s",
                                  type_name(type));
    return operand->kind == OPERAND_FUNCTION || verify_name(&place, operand);
}

static bool verify_move(const struct verifier *verifier) {
    const struct instruction *instruction = verifier->instruction;
    const struct operand *operands = instruction->operands;
    enum type type = simt_last_type(instruction);
    if (vector_length(instruction) > 1) return true; /* of the first versions of PTX, and not known */
    verifier->instruction->is_known = true;
    if (instruction->operand_count != 2)
        return simt_verify_refuse(verifier, "it takes 2 operands, found %u", instruction->operand_count);
    if (type == TYPE_NONE) return simt_verify_refuse(verifier, "it needs a type");
    if (operands[0].kind == OPERAND_VECTOR) return verify_parts(verifier, 0, 1);
    if (operands[1].kind == OPERAND_VECTOR) return verify_parts(verifier, 1, 0);
    const struct expected result = {.type = type, .is_result = true},
                          source = {.type = type, .may_be_negated = true};
    if (!verify_value(&(struct place){verifier, 1}, &operands[0], &result)) return false;
    bool is_named = operands[1].kind == OPERAND_SPECIAL || operands[1].kind == OPERAND_FUNCTION ||
                    operands[1].kind == OPERAND_ADDRESS;
    return is_named ? verify_named(verifier, &operands[1], type)
                    : verify_value(&(struct place){verifier, 2}, &operands[1], &source);
}

bool simt_verify_operands(const struct verifier *verifier) {
    bool is_base = false;
    if (simt_is_base(verifier->instruction, "mov")) return verify_move(verifier);
    const struct signature *signature = find_signature(verifier->instruction, &is_base);
    if (signature)
        return verify_by_signature(verifier, signature) && (!signature->operands || simt_verify_form(verifier));
    return is_base || verify_lanes(verifier);
}
