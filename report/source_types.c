#include "source_types.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source_text.h"

const char *kernel_type_element(const char *type) {
    static const char standard[] = "std::";
    static const char *const names[][2] = {
        {"float", "f32"}, {"double", "f64"}, {"int", "i32"}, {"unsigned", "u32"}, {"unsigned int", "u32"},
        {"uint", "u32"}, {"int32_t", "i32"}, {"uint32_t", "u32"}, {"signed", "i32"}, {"char", "i8"},
        {"signed char", "i8"}, {"unsigned char", "u8"}, {"int8_t", "i8"}, {"uint8_t", "u8"}, {"short", "i16"},
        {"unsigned short", "u16"}, {"int16_t", "i16"}, {"uint16_t", "u16"}, {"long", "i64"}, {"long long", "i64"},
        {"long int", "i64"}, {"long long int", "i64"}, {"unsigned long", "u64"}, {"unsigned long long", "u64"},
        {"unsigned long long int", "u64"}, {"int64_t", "i64"}, {"uint64_t", "u64"}, {"size_t", "u64"},
        {"uchar", "u8"}, {"ushort", "u16"}, {"longlong", "i64"}, {"ulonglong", "u64"}, /* of uchar4 and its like */
        {"bool", "bool"}, {"__half", "f16"}, {"half", "f16"}, {"__nv_bfloat16", "bf16"}, {"nv_bfloat16", "bf16"}};
    if (!strncmp(type, standard, strlen(standard))) type += strlen(standard);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(type, names[i][0])) return names[i][1];
    return NULL;
}

const char *kernel_vector_element(const char *type, unsigned *count) {
    char base[KERNEL_WORD];
    const size_t length = strlen(type);
    if (!length || !strchr("234", type[length - 1])) return NULL;
    *count = (unsigned)(type[length - 1] - '0');
    snprintf(base, sizeof base, "%.*s", (int)length - 1, type);
    return kernel_type_element(base);
}

size_t type_element_nbytes(const char *element) {
    const char *digits = element ? element + strcspn(element, "0123456789") : "";
    return *digits ? strtoul(digits, NULL, 10) / 8 : 1;
}

static bool is_qualifier(const char *word, size_t length) {
    static const char *const words[] = {"const", "volatile", "restrict", "__restrict__", "__restrict", "struct",
                                        "__grid_constant__"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == length && !strncmp(words[i], word, length)) return true;
    return false;
}

static void append(char text[KERNEL_WORD], const char *word, size_t length) {
    size_t at = strlen(text);
    if (at + length + 2 > KERNEL_WORD) return;
    snprintf(text + at, KERNEL_WORD - at, "%s%.*s", at && text_is_word(*word) && text_is_word(text[at - 1]) ? " " : "",
             (int)length, word);
}

/* Where the name ends of "(*rows)[4]", a pointer to arrays; NULL: it is none. */
static const char *end_of_inner(const char *at, const char *end) {
    const char *open = memchr(at, '(', (size_t)(end - at));
    const char *star = open ? open + 1 + strspn(open + 1, " ") : NULL;
    return star && star < end && *star == '*' ? memchr(star, ')', (size_t)(end - star)) : NULL;
}

void type_read_parameter(const char *at, const char *end, struct kernel_parameter *parameter) {
    const char *name = end, *name_end = end;
    const char *bracket = memchr(at, '[', (size_t)(end - at)), *inner = end_of_inner(at, end);
    *parameter = (struct kernel_parameter){.is_pointer = bracket != NULL};
    if (bracket || inner) name_end = inner ? inner : bracket;
    while (name_end > at && !text_is_word(name_end[-1])) name_end--;
    for (name = name_end; name > at && text_is_word(name[-1]);) name--;
    append(parameter->name, name, (size_t)(name_end - name));
    bool is_behind = false; /* the star: what is const there is the pointer */
    int stars = 0;
    while (at < name) {
        size_t length = 0;
        while (at + length < name && text_is_word(at[length])) length++;
        is_behind |= *at == '*';
        stars += *at == '*';
        if (length && is_qualifier(at, length)) parameter->is_const |= !is_behind && !strncmp(at, "const", 5);
        else if (length) append(parameter->type, at, length);
        else if (!isspace((unsigned char)*at) && *at != '*' && *at != '(') append(parameter->type, at, 1);
        at += length ? length : 1;
    }
    parameter->is_pointer |= is_behind;
    if (stars > 1) append(parameter->type, " *", 2);
    parameter->element = stars > 1 ? "u64" : kernel_type_element(parameter->type);
}

/* The type of which `typedef float real;`, `using real = float;` or `#define real float` makes a name; false: none does. */
static bool read_alias(const char *text, const char *name, struct kernel_parameter *alias) {
    static const char *const words[] = {"typedef", "using", "define"};
    char type[2 * KERNEL_WORD];
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        for (const char *at = text; (at = text_find_word(at, words[w], strlen(words[w])));) {
            at += strlen(words[w]);
            const char *end = at + strcspn(at, w == 2 ? "\n" : ";"), *behind = text_skip_blanks(at);
            const size_t length = strlen(name);
            const bool is_first = !strncmp(behind, name, length) && !text_is_word(behind[length]);
            if (w == 0) type_read_parameter(at, end, alias);
            if (w == 0 && !strcmp(alias->name, name)) return true;
            if (w == 0 || !is_first) continue;
            behind = text_skip_blanks(behind + length);
            behind += w == 1 && *behind == '=';
            if (behind >= end || end - behind > KERNEL_WORD) continue;
            snprintf(type, sizeof type, "%.*s %s", (int)(end - behind), behind, name);
            type_read_parameter(type, type + strlen(type), alias);
            return true;
        }
    return false;
}

void type_resolve(const char *text, struct kernel_parameter *parameter) {
    enum { ALIASES_MAX = 4 };
    unsigned count;
    for (int i = 0; i < ALIASES_MAX && !parameter->element && !kernel_vector_element(parameter->type, &count); i++) {
        struct kernel_parameter alias;
        const char *scope = strrchr(parameter->type, ':'); /* behind which its own name is */
        if (!parameter->type[0] || !read_alias(text, scope ? scope + 1 : parameter->type, &alias)) return;
        snprintf(parameter->type, KERNEL_WORD, "%s", alias.type);
        parameter->element = alias.element;
        parameter->is_pointer |= alias.is_pointer;
        parameter->is_const |= alias.is_const;
    }
}

size_t type_nbytes(const char *type) {
    unsigned count = 1;
    const char *element = kernel_type_element(type);
    if (!element) element = kernel_vector_element(type, &count);
    return element ? count * type_element_nbytes(element) : 0;
}

/* What the declarations in a struct's text say of its members, as far as there is room. */
struct reading {
    struct kernel_member *members;
    size_t count, capacity;
};

static void note_member(struct reading *reading, const struct kernel_parameter *item, const char *element, size_t offset, size_t nbytes) {
    if (reading->count == reading->capacity) return;
    struct kernel_member *member = &reading->members[reading->count++];
    *member = (struct kernel_member){.element = element, .offset = offset, .nbytes = nbytes};
    snprintf(member->name, sizeof member->name, "%s", item->name);
}

/* Bytes of the members from `at` on, and padding; 0: not known. */
static size_t members_nbytes(const char *text, const char *at, const char *end, struct reading *reading) {
    size_t nbytes = 0, alignment = 1;
    for (const char *stop; at < end && *text_skip_blanks(at) != '}'; at = stop + 1) {
        struct kernel_parameter first = {.type = ""}; /* whose type all of a declaration have */
        size_t size = 0;
        stop = at + strcspn(at, ";}");
        for (const char *item = at; item < stop; item = text_item_end(item, stop) + 1) {
            struct kernel_parameter member;
            const char *item_stop = text_item_end(item, stop), *bracket = memchr(item, '[', (size_t)(item_stop - item));
            const char *close = bracket ? text_behind_bracket(bracket) : NULL, *star = memchr(item, '*', (size_t)(item_stop - item));
            bool is_known = true;
            unsigned lanes;
            type_read_parameter(item, item_stop, &member);
            if (item == at) type_resolve(text, &member);
            if (item == at) size = star ? sizeof(uint64_t) : type_nbytes(member.type);
            if (item == at) first = member;
            if (!size || memchr(item, '(', (size_t)(item_stop - item)) || (bracket && (!close || close > item_stop))) return 0;
            const uint64_t count = close ? text_evaluate(text, bracket + 1, close - 1, 4, 0, &is_known) : 1;
            const size_t own = size % 3 ? size > 16 ? 16 : size : size / 3; /* float3 is aligned as a float */
            if (!is_known || own & (own - 1) || (close && *text_skip_blanks(close) == '[')) return 0;
            if (own > alignment) alignment = own;
            nbytes = (nbytes + own - 1) / own * own;
            const char *element = first.element ? first.element : kernel_vector_element(first.type, &lanes);
            note_member(reading, &member, star ? NULL : element, nbytes, count * size);
            nbytes += count * size;
        }
    }
    return (nbytes + alignment - 1) / alignment * alignment;
}

/* Behind `__align__(16)` and `alignas(16)`, and what they say: struct __align__(16) Point { ... }. */
static const char *skip_alignment(const char *text, const char *at, uint64_t *alignment) {
    at = text_skip_blanks(at);
    while (!strncmp(at, "__align__", strlen("__align__")) || !strncmp(at, "alignas", strlen("alignas"))) {
        const char *open = text_skip_word(at), *behind = *open == '(' ? text_behind_bracket(open) : NULL;
        bool is_known = true;
        if (!behind) return at;
        *alignment = text_evaluate(text, open + 1, behind - 1, 4, 0, &is_known);
        if (!is_known || !*alignment) *alignment = 1;
        at = text_skip_blanks(behind);
    }
    return at;
}

static size_t read_struct(const char *text, const char *name, struct reading *reading) {
    static const char word[] = "struct";
    const size_t length = strlen(name);
    for (const char *at = text; length && (at = text_find_word(at, word, strlen(word)));) {
        at += strlen(word);
        uint64_t alignment = 1;
        const char *tag = skip_alignment(text, at, &alignment), *open = text_skip_word(tag), *behind = *open == '{' ? text_behind_bracket(open) : NULL;
        if (!behind) continue;
        const char *declared = text_skip_blanks(behind);
        const bool is_it = (!strncmp(tag, name, length) && !text_is_word(tag[length])) ||
                           (!strncmp(declared, name, length) && !text_is_word(declared[length]));
        const uint64_t nbytes = is_it ? members_nbytes(text, open + 1, behind - 1, reading) : 0;
        if (is_it) return (nbytes + alignment - 1) / alignment * alignment;
    }
    return 0;
}

size_t type_struct_nbytes(const char *text, const char *name) { return read_struct(text, name, &(struct reading){0}); }

size_t type_any_nbytes(const char *text, const char *name) {
    const size_t nbytes = type_nbytes(name);
    return nbytes ? nbytes : type_struct_nbytes(text, name);
}

size_t type_members(const char *text, const char *name, struct kernel_member *members, size_t capacity) {
    struct reading reading = {.members = members, .capacity = capacity};
    return read_struct(text, name, &reading) ? reading.count : 0;
}
