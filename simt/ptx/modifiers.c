/* The modifiers of an opcode: types, spaces and the other words between its dots. */
#include <string.h>

#include "ptx.h"

/* ---- types */

static const struct {
    const char *name;
    uint32_t nbytes;
} types[] = {[TYPE_NONE] = {"", 0},
#define TYPE_LINE(name, text, nbytes) [TYPE_##name] = {text, nbytes},
             SIMT_TYPES(TYPE_LINE)
#undef TYPE_LINE
};

enum type simt_type_find(const char *text) {
    for (size_t i = TYPE_NONE + 1; i < sizeof types / sizeof types[0]; i++)
        if (simt_is_word(types[i].name, text)) return (enum type)i;
    return TYPE_NONE;
}

uint32_t simt_type_nbytes(enum type type) {
    return types[type].nbytes;
}

/* ---- modifiers of an instruction */

bool simt_has(const struct instruction *instruction, const char *modifier) {
    for (uint32_t m = 0; m < instruction->modifier_count; m++)
        if (simt_is_word(instruction->modifiers[m], modifier)) return true;
    return false;
}

enum type simt_last_type(const struct instruction *instruction) {
    for (uint32_t m = instruction->modifier_count; m-- > 0;) {
        enum type type = simt_type_find(instruction->modifiers[m]);
        if (type != TYPE_NONE) return type;
    }
    return TYPE_NONE;
}

bool simt_named_space(const struct instruction *instruction, enum simt_space *space) {
    static const struct {
        const char *name;
        enum simt_space space;
    } spaces[] = {{"global", SIMT_GLOBAL}, {"shared", SIMT_SHARED}, {"local", SIMT_LOCAL},
                  {"const", SIMT_CONSTANT}, {"param", SIMT_PARAMETER}};
    bool is_named = false;
    for (uint32_t m = 0; m < instruction->modifier_count; m++)
        for (size_t s = 0; s < sizeof spaces / sizeof *spaces; s++) {
            size_t length = strlen(spaces[s].name);
            const char *modifier = instruction->modifiers[m];
            if (strncmp(modifier, spaces[s].name, length) || (modifier[length] && modifier[length] != ':')) continue;
            *space = spaces[s].space;
            is_named = true;
        }
    return is_named;
}
