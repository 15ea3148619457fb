/* Which modifiers belong together, of instructions that would mean something else, or nothing, with others: as ptxas
 * has it. */
#include <stdio.h>
#include <string.h>

#include "verify.h"

/* The first row whose modifiers the opcode has says what it consists of: words of which one must be there, or may be
 * (?), or one or two (+).  "a|b" is one of them. */
#define SPACE "?shared|shared::cta"
#define CLUSTER_SPACE "?shared|shared::cta|shared::cluster"
#define SCOPE "?cta|cluster"
#define DIMENSIONS "1d|2d|3d|4d|5d"
#define OPERATION "add|min|max|and|or|xor|inc|dec"
#define SURFACE "1d|2d|3d trap|clamp|zero"
static const struct form {
    const char *base, *modifiers, *words;
} forms[] = {
    {"cp", "async bulk prefetch tensor", "async bulk prefetch tensor " DIMENSIONS " L2 global ?tile|im2col ?L2::cache_hint"},
    {"cp", "reduce async bulk tensor",
     "reduce async bulk tensor " DIMENSIONS " global shared::cta " OPERATION " ?tile|im2col_no_offs bulk_group ?L2::cache_hint"},
    {"cp", "async bulk tensor bulk_group",
     "async bulk tensor " DIMENSIONS " global shared::cta ?tile|im2col_no_offs bulk_group ?L2::cache_hint"},
    {"cp", "async bulk tensor",
     "async bulk tensor " DIMENSIONS " shared::cluster|shared::cta global ?tile|im2col mbarrier::complete_tx::bytes "
     "?multicast::cluster ?L2::cache_hint"},
    {"cp", "async bulk commit_group", "async bulk commit_group"},
    {"cp", "async bulk wait_group", "async bulk wait_group ?read"},
    {"cp", "async bulk prefetch", "async bulk prefetch L2 global ?L2::cache_hint"},
    {"cp", "reduce async bulk global",
     "reduce async bulk global shared::cta bulk_group ?L2::cache_hint " OPERATION
     " ?noftz u32|s32|u64|s64|b32|b64|f16|bf16|f32|f64"},
    {"cp", "reduce async bulk",
     "reduce async bulk shared::cluster shared::cta mbarrier::complete_tx::bytes " OPERATION " u32|s32|u64|b32"},
    {"cp", "async bulk bulk_group", "async bulk global shared::cta bulk_group ?L2::cache_hint"},
    {"cp", "async bulk global",
     "async bulk shared::cluster|shared::cta global mbarrier::complete_tx::bytes ?multicast::cluster "
     "?L2::cache_hint"},
    {"cp", "async bulk", "async bulk shared::cluster shared::cta mbarrier::complete_tx::bytes"},
    {"cp", "async commit_group", "async commit_group"},
    {"cp", "async wait_group", "async wait_group"},
    {"cp", "async wait_all", "async wait_all"},
    {"cp", "async mbarrier", "async mbarrier arrive ?noinc " SPACE " b64"},
    {"cp", "async", "async ca|cg shared|shared::cta global ?L2::cache_hint ?L2::64B|L2::128B|L2::256B"},
    {"mbarrier", "init", "init " SPACE " b64"},
    {"mbarrier", "inval", "inval " SPACE " b64"},
    {"mbarrier", "arrive", "arrive ?expect_tx|noComplete ?release|relaxed " SCOPE " " CLUSTER_SPACE " b64"},
    {"mbarrier", "arrive_drop", "arrive_drop ?expect_tx|noComplete ?release|relaxed " SCOPE " " CLUSTER_SPACE " b64"},
    {"mbarrier", "pending_count", "pending_count b64"},
    {"mbarrier", "test_wait", "test_wait ?parity ?acquire|relaxed " SCOPE " " SPACE " b64"},
    {"mbarrier", "try_wait", "try_wait ?parity ?acquire|relaxed " SCOPE " " SPACE " b64"},
    {"mbarrier", "", "expect_tx|complete_tx ?relaxed " SCOPE " " CLUSTER_SPACE " b64"},
    {"st", "async",
     "async ?weak ?shared::cluster mbarrier::complete_tx::bytes ?v2|v4 b32|b64|u32|u64|s32|s64|f32|f64"},
    {"red", "async",
     "async relaxed cluster ?shared::cluster mbarrier::complete_tx::bytes " OPERATION " u32|s32|u64|s64|b32"},
#define VECTOR_UPDATE(base, length)                                                                            \
    {base, length,                                                                                             \
     "?relaxed|acquire|release|acq_rel ?cta|cluster|gpu|sys ?global add|min|max ?noftz ?L2::cache_hint "       \
     "v2|v4|v8 f32|f16|bf16|f16x2|bf16x2"}
    VECTOR_UPDATE("atom", "v2"),
    VECTOR_UPDATE("atom", "v4"),
    VECTOR_UPDATE("atom", "v8"),
    VECTOR_UPDATE("red", "v2"),
    VECTOR_UPDATE("red", "v4"),
    VECTOR_UPDATE("red", "v8"),
#undef VECTOR_UPDATE
    {"fence", "mbarrier_init", "mbarrier_init release cluster"},
    {"fence", "proxy async", "proxy async ?global|shared::cta|shared::cluster"},
    {"tensormap", "cp_fenceproxy",
     "cp_fenceproxy global shared::cta tensormap::generic release cta|cluster|gpu|sys sync aligned"},
#define TENSOR_FIELD(name, type) {"tensormap", "replace " name, "replace tile " name " ?global|shared::cta b1024 " type}
    TENSOR_FIELD("global_address", "b64"),
    TENSOR_FIELD("global_stride", "b64"),
    TENSOR_FIELD("rank", "b32"),
    TENSOR_FIELD("box_dim", "b32"),
    TENSOR_FIELD("global_dim", "b32"),
    TENSOR_FIELD("element_stride", "b32"),
    TENSOR_FIELD("elemtype", "b32"),
    TENSOR_FIELD("interleave_layout", "b32"),
    TENSOR_FIELD("swizzle_mode", "b32"),
    TENSOR_FIELD("fill_mode", "b32"),
#undef TENSOR_FIELD
    {"fence", "proxy tensormap::generic", "proxy tensormap::generic acquire|release cta|cluster|gpu|sys"},
    {"barrier", "cluster arrive", "cluster arrive ?release|relaxed ?aligned"},
    {"barrier", "cluster", "cluster wait ?acquire ?aligned"},
    {"sust", "p", "p 1d|2d|3d|a1d|a2d trap|clamp|zero ?wb|cg|cs|wt ?v2|v4 b32"},
    {"sured", "p", "p add|min|max|and|or " SURFACE " b32"},
    {"sured", "b add", "b add " SURFACE " u32|s32|u64"},
    {"sured", "b min", "b min " SURFACE " u32|s32|u64|s64"},
    {"sured", "b max", "b max " SURFACE " u32|s32|u64|s64"},
    {"sured", "b", "b and|or " SURFACE " b32"},
    {"mapa", "", "?shared::cluster u32|u64"},
    {"getctarank", "", "?shared::cluster u32|u64"},
    {"createpolicy", "fractional",
     "fractional +L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged b64"},
    {"createpolicy", "range",
     "range ?global +L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged b64"},
    {"createpolicy", "cvt", "cvt L2 b64"},
    {"alloca", "", "u32|u64"},
    {"stacksave", "", "u32|u64"},
    {"stackrestore", "", "u32|u64"},
};

enum { WORD_NBYTES = 96 };

/* How often one of a word's choices may be there. */
struct times {
    uint32_t least, most;
};

/* The next word of a list between blanks, after its '?' or '+'; false: there is none. */
static bool next_word(const char **list, char word[WORD_NBYTES], struct times *times) {
    size_t length = strcspn(*list, " ");
    if (!length) return false;
    *times = (struct times){**list != '?', 1u + (**list == '+')};
    const bool has_mark = **list == '?' || **list == '+';
    snprintf(word, WORD_NBYTES, "%.*s", (int)length - has_mark, *list + has_mark);
    *list += length + ((*list)[length] == ' ');
    return true;
}

/* "a|b" has "b". */
static bool has_choice(const char *word, const char *modifier) {
    const size_t length = strlen(modifier);
    for (const char *at = word; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (!strncmp(at, modifier, length) && (at[length] == '\0' || at[length] == '|')) return true;
    return false;
}

static uint32_t count_choices(const struct instruction *instruction, const char *word) {
    uint32_t count = 0;
    for (uint32_t m = 0; m < instruction->modifier_count; m++) count += has_choice(word, instruction->modifiers[m]);
    return count;
}

static bool names(const char *words, const char *modifier) {
    char word[WORD_NBYTES];
    struct times times;
    while (next_word(&words, word, &times))
        if (has_choice(word, modifier)) return true;
    return false;
}

/* A modifier that no form has may be of a later PTX. */
static bool is_of_some_form(const char *modifier) {
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
        if (forms[f].words && names(forms[f].words, modifier)) return true;
    return false;
}

static bool verify_words(const struct verifier *verifier, const char *words) {
    char word[WORD_NBYTES];
    struct times times;
    while (next_word(&words, word, &times)) {
        uint32_t count = count_choices(verifier->instruction, word);
        if (count > times.most)
            return simt_verify_refuse(verifier, "only %s of %s can be its modifier", times.most == 1 ? "one" : "two", word);
        if (count < times.least) return simt_verify_refuse(verifier, "it needs the modifier %s", word);
    }
    return true;
}

static bool verify_form(const struct verifier *verifier, const struct form *form) {
    struct instruction *instruction = verifier->instruction;
    for (uint32_t m = 0; m < instruction->modifier_count; m++) {
        if (names(form->words, instruction->modifiers[m])) continue;
        if (is_of_some_form(instruction->modifiers[m]) || simt_type_find(instruction->modifiers[m]) != TYPE_NONE)
            return simt_verify_refuse(verifier, "it cannot have the modifier .%s", instruction->modifiers[m]);
        instruction->is_known = false;
        return true;
    }
    return verify_words(verifier, form->words);
}

/* ---- what depends on the values of constants */

static bool is_constant(const struct operand *operand, uint64_t *value) {
    *value = operand->bits;
    return operand->kind == OPERAND_IMMEDIATE;
}

static bool verify_copy(const struct verifier *verifier) {
    const struct instruction *instruction = verifier->instruction;
    uint64_t nbytes, size;
    if (!is_constant(&instruction->operands[2], &nbytes)) return true;
    bool is_size = nbytes == 16 || (simt_has(instruction, "ca") && (nbytes == 4 || nbytes == 8));
    if (!is_size)
        return simt_verify_refuse(verifier, simt_has(instruction, "ca") ? "it copies 4, 8 or 16 bytes, not %llu"
                                                                       : "with .cg it copies 16 bytes, not %llu",
                                  (unsigned long long)nbytes);
    uint32_t count = instruction->operand_count - simt_has(instruction, "L2::cache_hint");
    return count < 4 || !is_constant(&instruction->operands[3], &size) || size <= nbytes ||
           simt_verify_refuse(verifier, "it cannot read more bytes than it writes");
}

static bool verify_bulk(const struct verifier *verifier) {
    const struct instruction *instruction = verifier->instruction;
    uint64_t nbytes;
    bool is_prefetch = simt_has(instruction, "prefetch");
    if (!is_constant(&instruction->operands[is_prefetch ? 1 : 2], &nbytes) || nbytes % 16 == 0) return true;
    return simt_verify_refuse(verifier, "the number of bytes must be a multiple of 16, not %llu",
                              (unsigned long long)nbytes);
}

static bool verify_reduction(const struct verifier *verifier) {
    const struct instruction *instruction = verifier->instruction;
    enum type type = simt_last_type(instruction);
    bool is_half = type == TYPE_F16 || type == TYPE_BF16, is_known = false;
    for (uint32_t m = 0; m < instruction->modifier_count; m++)
        is_known |= simt_scalar_find(instruction->modifiers[m], type) != NULL;
    const bool is_wide_other = simt_is_base(instruction, "red") && simt_type_nbytes(type) == 8 &&
                               !simt_has(instruction, "add");
    const bool is_signed_sum = simt_is_base(instruction, "cp") && type == TYPE_S64 && simt_has(instruction, "add");
    if (!is_known || is_wide_other || is_signed_sum)
        return simt_verify_refuse(verifier, "its operation is not one of its type");
    if ((is_half && simt_has(instruction, "add")) != simt_has(instruction, "noftz"))
        return simt_verify_refuse(verifier, ".noftz belongs to .add of .f16 and .bf16");
    return true;
}

/* An arrival at another block's mbarrier brings no state back. */
static bool verify_arrival(const struct verifier *verifier) {
    const struct instruction *instruction = verifier->instruction;
    return !simt_has(instruction, "shared::cluster") || instruction->operands[0].kind == OPERAND_SINK ||
           simt_verify_refuse(verifier, "with .shared::cluster the destination must be '_'");
}

/* mapa and getctarank: a register with an address of the opcode's type. */
static bool verify_mapped(const struct verifier *verifier) {
    const struct operand *address = &verifier->instruction->operands[1];
    if (address->kind != OPERAND_REGISTER) return true;
    const enum type type = verifier->function->registers[address->index].type;
    return simt_type_nbytes(type) == simt_type_nbytes(simt_last_type(verifier->instruction)) ||
           simt_verify_refuse(verifier, "the address must have the size of its type");
}

/* Of halves, whose subnormal numbers must stay; of f32 sums alone. */
static bool verify_vector_update(const struct verifier *verifier) {
    enum { MOST = 16 };
    const struct instruction *instruction = verifier->instruction;
    const enum type type = simt_last_type(instruction);
    const uint32_t length = simt_has(instruction, "v2") ? 2 : simt_has(instruction, "v4") ? 4 : 8;
    if (length * simt_type_nbytes(type) > MOST) return simt_verify_refuse(verifier, "a vector of more than %d bytes", MOST);
    if (type == TYPE_F32 && !simt_has(instruction, "add")) return simt_verify_refuse(verifier, "of f32 there are only sums");
    return (type == TYPE_F32) != simt_has(instruction, "noftz") ||
           simt_verify_refuse(verifier, "it needs the modifier noftz, which f32 cannot have");
}

static bool verify_alloca(const struct verifier *verifier) {
    enum { MOST = 1 << 23 };
    const struct instruction *instruction = verifier->instruction;
    const uint64_t alignment = instruction->operand_count > 2 ? instruction->operands[2].bits : 1;
    return (alignment && alignment <= MOST && !(alignment & (alignment - 1))) ||
           simt_verify_refuse(verifier, "the alignment must be a power of 2 up to %d", MOST);
}

static bool verify_send(const struct verifier *verifier) {
    const struct instruction *instruction = verifier->instruction;
    return !simt_has(instruction, "v4") || simt_type_nbytes(simt_last_type(instruction)) == 4 ||
           simt_verify_refuse(verifier, "a vector of more than 16 bytes");
}

static bool verify_values(const struct verifier *verifier) {
    const struct instruction *instruction = verifier->instruction;
    const bool is_copy = simt_is_base(instruction, "cp"), is_bulk = simt_has(instruction, "bulk");
    const bool is_plain = is_copy && !is_bulk && (simt_has(instruction, "ca") || simt_has(instruction, "cg"));
    const bool is_arrival = simt_has(instruction, "arrive") || simt_has(instruction, "arrive_drop");
    if (simt_is_base(instruction, "mapa") || simt_is_base(instruction, "getctarank")) return verify_mapped(verifier);
    if (simt_is_base(instruction, "alloca")) return verify_alloca(verifier);
    if (simt_has(instruction, "tensor")) return true;
    if (is_plain) return verify_copy(verifier);
    const bool is_update = simt_is_base(instruction, "red") || simt_is_base(instruction, "atom");
    if (is_update && !simt_has(instruction, "async")) return verify_vector_update(verifier);
    if (simt_is_base(instruction, "red")) return verify_reduction(verifier);
    if (simt_is_base(instruction, "st")) return verify_send(verifier);
    if (is_copy && is_bulk && instruction->operand_count > 1 && !verify_bulk(verifier)) return false;
    if (is_copy && simt_has(instruction, "reduce")) return verify_reduction(verifier);
    return !simt_is_base(instruction, "mbarrier") || !is_arrival || verify_arrival(verifier);
}

bool simt_verify_form(const struct verifier *verifier) {
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        if (!simt_is_base(verifier->instruction, forms[f].base)) continue;
        if (!simt_has_all(verifier->instruction, forms[f].modifiers)) continue;
        return !forms[f].words || (verify_form(verifier, &forms[f]) && verify_values(verifier));
    }
    return true;
}
