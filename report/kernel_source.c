#include "kernel_source.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- text ---------------------------------------------------------------------------------------- */

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

static const char *skip_blanks(const char *text) {
    while (isspace((unsigned char)*text)) text++;
    return text;
}

/* Behind a word and blanks. */
static const char *skip_word(const char *text) {
    while (is_word(*text)) text++;
    return skip_blanks(text);
}

/* The text with blanks in place of comments; NULL: no memory. */
static char *without_comments(const char *text) {
    char *copy = strdup(text);
    for (char *at = copy; at && *at; at++) {
        bool is_line = at[0] == '/' && at[1] == '/', is_block = at[0] == '/' && at[1] == '*';
        if (*at == '"')
            for (at++; *at && *at != '"' && *at != '\n'; at++) at += *at == '\\' && at[1];
        if (!is_line && !is_block) {
            if (!*at) break;
            continue;
        }
        char *end = is_line ? at + strcspn(at, "\n") : strstr(at + 2, "*/");
        if (!end) end = at + strlen(at);
        else if (is_block) end += 2;
        for (; at < end; at++)
            if (*at != '\n') *at = ' ';
        at--;
    }
    return copy;
}

/* The next place of the whole word; NULL: none. */
static const char *find_word(const char *text, const char *word, size_t length) {
    for (const char *at = text; length && *at; at++) {
        if (is_word(*at) && (at == text || !is_word(at[-1])) && !strncmp(at, word, length) && !is_word(at[length]))
            return at;
    }
    return NULL;
}

/* Behind the bracket that closes the one at `open`; NULL: it is not closed. */
static const char *behind_bracket(const char *open) {
    int depth = 0;
    for (const char *at = open; *at; at++) {
        depth += strchr("([{", *at) != NULL;
        depth -= strchr(")]}", *at) != NULL;
        if (!depth) return at + 1;
    }
    return NULL;
}

/* The end of what stands before a comma, or before `end`, outside brackets and template arguments. */
static const char *item_end(const char *at, const char *end) {
    int depth = 0;
    for (; at < end && (depth || *at != ','); at++) {
        depth += strchr("([{<", *at) != NULL;
        depth -= strchr(")]}>", *at) != NULL;
    }
    return at;
}

/* ---- constant expressions ------------------------------------------------------------------------ */

enum { EXPRESSION_DEPTH_MAX = 24 };

struct expression {
    const char *text; /* where names are defined */
    const char *at, *end;
    size_t element_nbytes; /* of what sizeof is about */
    int depth;
    bool is_known;
};

static uint64_t evaluate(const char *text, const char *at, const char *end, size_t element_nbytes, int depth,
                         bool *is_known);
static bool read_extent(const char *text, const char *at, const char *end, uint64_t extent[3], int depth);

/* The number that a name stands for, where the text gives it one: `name = 5;` or `#define name 5`.  Each definition that gives
 * none counts as several levels, so that names which stand for one another are not followed without end. */
static uint64_t value_of(struct expression *of, const char *name, size_t length) {
    enum { FAILED_DEPTH = 4 };
    int depth = of->depth + 1;
    for (const char *at = of->text; depth <= EXPRESSION_DEPTH_MAX && (at = find_word(at, name, length)); at += length) {
        const char *behind = skip_blanks(at + length), *before = at;
        while (before > of->text && isspace((unsigned char)before[-1])) before--;
        bool is_macro = before - of->text >= 7 && !strncmp(before - 7, "#define", 7);
        const char *end = behind + strcspn(behind, is_macro ? "\n" : ";,\n"), *again = find_word(behind, name, length);
        if (!is_macro && (behind[0] != '=' || behind[1] == '=')) continue;
        if (again && again < end) continue; /* n = n / 2 */
        bool is_known;
        uint64_t value = evaluate(of->text, behind + !is_macro, end, of->element_nbytes, depth, &is_known);
        if (is_known) return value;
        depth += FAILED_DEPTH;
    }
    of->is_known = false;
    return 0;
}

/* What the member x, y or z of a dim3 of that name is. */
static uint64_t member_of(struct expression *of, const char *name, const char *name_end) {
    uint64_t extent[3];
    const char which = name_end[1];
    of->at = name_end + 2;
    of->is_known &= which >= 'x' && which <= 'z' && !is_word(*of->at) && of->depth < EXPRESSION_DEPTH_MAX &&
                    read_extent(of->text, name, name_end, extent, of->depth + 1);
    return of->is_known ? extent[which - 'x'] : 0;
}

static uint64_t primary(struct expression *of) {
    of->at = skip_blanks(of->at);
    if (of->at >= of->end) return of->is_known = false;
    if (isdigit((unsigned char)*of->at)) {
        char *end;
        uint64_t value = strtoull(of->at, &end, 0);
        while (end < of->end && strchr("uUlL", *end)) end++;
        of->is_known &= !is_word(*end) && *end != '.';
        of->at = end;
        return value;
    }
    const char *name = of->at;
    while (of->at < of->end && is_word(*of->at)) of->at++;
    size_t length = (size_t)(of->at - name);
    if (length == 6 && !strncmp(name, "sizeof", 6)) {
        of->at = skip_blanks(of->at);
        if (*of->at == '(') of->at = behind_bracket(of->at);
        else {
            while (of->at < of->end && (*of->at == '*' || *of->at == ' ')) of->at++;
            while (of->at < of->end && is_word(*of->at)) of->at++;
        }
        if (!of->at) of->at = of->end;
        return of->element_nbytes;
    }
    if (length && of->at + 1 < of->end && *of->at == '.') return member_of(of, name, of->at);
    if (length) return value_of(of, name, length);
    const char *behind = *of->at == '(' ? behind_bracket(of->at) : NULL;
    if (!behind || behind > of->end || of->depth >= EXPRESSION_DEPTH_MAX) return of->is_known = false;
    uint64_t value =
        evaluate(of->text, of->at + 1, behind - 1, of->element_nbytes, of->depth + 1, &of->is_known);
    of->at = behind;
    return value;
}

static uint64_t product(struct expression *of) {
    uint64_t value = primary(of);
    for (;;) {
        of->at = skip_blanks(of->at);
        char sign = of->at < of->end ? *of->at : 0;
        if (!of->is_known || !sign || !strchr("*/%", sign)) return value;
        of->at++;
        uint64_t other = primary(of);
        if (sign != '*' && !other) return of->is_known = false;
        value = sign == '*' ? value * other : sign == '/' ? value / other : value % other;
    }
}

/* Sums of products; shifts bind as in C. */
static uint64_t evaluate(const char *text, const char *at, const char *end, size_t element_nbytes, int depth,
                         bool *is_known) {
    struct expression of = {text, at, end, element_nbytes, depth, true};
    uint64_t value = product(&of);
    for (;;) {
        of.at = skip_blanks(of.at);
        if (!of.is_known || of.at >= of.end) break;
        if (*of.at == '+' || *of.at == '-') {
            bool is_sum = *of.at++ == '+';
            uint64_t other = product(&of);
            value = is_sum ? value + other : value - other;
        } else if (!strncmp(of.at, "<<", 2)) {
            of.at += 2;
            value <<= product(&of) & 63;
        } else of.is_known = false;
    }
    *is_known = of.is_known;
    return value;
}

/* ---- types --------------------------------------------------------------------------------------- */

const char *kernel_type_element(const char *type) {
    static const char *const names[][2] = {
        {"float", "f32"}, {"double", "f64"}, {"int", "i32"}, {"unsigned", "u32"}, {"unsigned int", "u32"},
        {"uint", "u32"}, {"int32_t", "i32"}, {"uint32_t", "u32"}, {"signed", "i32"}, {"char", "i8"},
        {"signed char", "i8"}, {"unsigned char", "u8"}, {"int8_t", "i8"}, {"uint8_t", "u8"}, {"short", "i16"},
        {"unsigned short", "u16"}, {"int16_t", "i16"}, {"uint16_t", "u16"}, {"long", "i64"}, {"long long", "i64"},
        {"long int", "i64"}, {"long long int", "i64"}, {"unsigned long", "u64"}, {"unsigned long long", "u64"},
        {"unsigned long long int", "u64"}, {"int64_t", "i64"}, {"uint64_t", "u64"}, {"size_t", "u64"},
        {"bool", "bool"}, {"__half", "f16"}, {"half", "f16"}, {"__nv_bfloat16", "bf16"}, {"nv_bfloat16", "bf16"}};
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

static size_t element_nbytes(const char *element) {
    const char *digits = element ? element + strcspn(element, "0123456789") : "";
    return *digits ? strtoul(digits, NULL, 10) / 8 : 1;
}

size_t kernel_element_nbytes(const struct kernel_parameter *parameter) {
    return parameter->is_pointer && parameter->element ? element_nbytes(parameter->element) : 0;
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
    snprintf(text + at, KERNEL_WORD - at, "%s%.*s", at && is_word(*word) && is_word(text[at - 1]) ? " " : "",
             (int)length, word);
}

/* Where the name ends of "(*rows)[4]", a pointer to arrays; NULL: it is none. */
static const char *end_of_inner(const char *at, const char *end) {
    const char *open = memchr(at, '(', (size_t)(end - at));
    const char *star = open ? open + 1 + strspn(open + 1, " ") : NULL;
    return star && star < end && *star == '*' ? memchr(star, ')', (size_t)(end - star)) : NULL;
}

/* "const float *__restrict__ in" */
static void read_parameter(const char *at, const char *end, struct kernel_parameter *parameter) {
    const char *name = end, *name_end = end;
    const char *bracket = memchr(at, '[', (size_t)(end - at)), *inner = end_of_inner(at, end);
    *parameter = (struct kernel_parameter){.is_pointer = bracket != NULL};
    if (bracket || inner) name_end = inner ? inner : bracket;
    while (name_end > at && !is_word(name_end[-1])) name_end--;
    for (name = name_end; name > at && is_word(name[-1]);) name--;
    append(parameter->name, name, (size_t)(name_end - name));
    bool is_behind = false; /* the star: what is const there is the pointer */
    while (at < name) {
        size_t length = 0;
        while (at + length < name && is_word(at[length])) length++;
        is_behind |= *at == '*';
        if (length && is_qualifier(at, length)) parameter->is_const |= !is_behind && !strncmp(at, "const", 5);
        else if (length) append(parameter->type, at, length);
        else if (!isspace((unsigned char)*at) && *at != '*' && *at != '(') append(parameter->type, at, 1);
        at += length ? length : 1;
    }
    parameter->is_pointer |= is_behind;
    parameter->element = kernel_type_element(parameter->type);
}

/* The type of which `typedef float real;`, `using real = float;` or `#define real float` makes a name; false: none does. */
static bool read_alias(const char *text, const char *name, struct kernel_parameter *alias) {
    static const char *const words[] = {"typedef", "using", "define"};
    char type[2 * KERNEL_WORD];
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        for (const char *at = text; (at = find_word(at, words[w], strlen(words[w])));) {
            at += strlen(words[w]);
            const char *end = at + strcspn(at, w == 2 ? "\n" : ";"), *behind = skip_blanks(at);
            const size_t length = strlen(name);
            const bool is_first = !strncmp(behind, name, length) && !is_word(behind[length]);
            if (w == 0) read_parameter(at, end, alias);
            if (w == 0 && !strcmp(alias->name, name)) return true;
            if (w == 0 || !is_first) continue;
            behind = skip_blanks(behind + length);
            behind += w == 1 && *behind == '=';
            if (behind >= end || end - behind > KERNEL_WORD) continue;
            snprintf(type, sizeof type, "%.*s %s", (int)(end - behind), behind, name);
            read_parameter(type, type + strlen(type), alias);
            return true;
        }
    return false;
}

/* The type behind names that the text gives to types. */
static void resolve(const char *text, struct kernel_parameter *parameter) {
    enum { ALIASES_MAX = 4 };
    unsigned count;
    for (int i = 0; i < ALIASES_MAX && !parameter->element && !kernel_vector_element(parameter->type, &count); i++) {
        struct kernel_parameter alias;
        if (!parameter->type[0] || !read_alias(text, parameter->type, &alias)) return;
        snprintf(parameter->type, KERNEL_WORD, "%s", alias.type);
        parameter->element = alias.element;
        parameter->is_pointer |= alias.is_pointer;
        parameter->is_const |= alias.is_const;
    }
}

/* "float" and "float4": 4 and 16; 0: neither. */
static size_t type_nbytes(const char *type) {
    unsigned count = 1;
    const char *element = kernel_type_element(type);
    if (!element) element = kernel_vector_element(type, &count);
    return element ? count * element_nbytes(element) : 0;
}

/* Bytes of the members from `at` on, and padding; 0: not known. */
static size_t members_nbytes(const char *text, const char *at, const char *end) {
    size_t nbytes = 0, alignment = 1;
    for (const char *stop; at < end && *skip_blanks(at) != '}'; at = stop + 1) {
        size_t size = 0;
        stop = at + strcspn(at, ";}");
        for (const char *item = at; item < stop; item = item_end(item, stop) + 1) {
            struct kernel_parameter member;
            const char *item_stop = item_end(item, stop), *bracket = memchr(item, '[', (size_t)(item_stop - item));
            const char *close = bracket ? behind_bracket(bracket) : NULL;
            bool is_known = true;
            read_parameter(item, item_stop, &member);
            if (item == at) resolve(text, &member);
            if (item == at) size = memchr(item, '*', (size_t)(item_stop - item)) ? sizeof(uint64_t) : type_nbytes(member.type);
            if (!size || memchr(item, '(', (size_t)(item_stop - item)) || (bracket && (!close || close > item_stop))) return 0;
            const uint64_t count = close ? evaluate(text, bracket + 1, close - 1, 4, 0, &is_known) : 1;
            const size_t own = size % 3 ? size > 16 ? 16 : size : size / 3; /* float3 is aligned as a float */
            if (!is_known || own & (own - 1) || (close && *skip_blanks(close) == '[')) return 0;
            if (own > alignment) alignment = own;
            nbytes = (nbytes + own - 1) / own * own + count * size;
        }
    }
    return (nbytes + alignment - 1) / alignment * alignment;
}

/* Bytes of `struct name { ... };` or `typedef struct { ... } name;`; 0: not known. */
static size_t struct_nbytes(const char *text, const char *name) {
    static const char word[] = "struct";
    const size_t length = strlen(name);
    for (const char *at = text; length && (at = find_word(at, word, strlen(word)));) {
        at += strlen(word);
        const char *tag = skip_blanks(at), *open = skip_word(tag), *behind = *open == '{' ? behind_bracket(open) : NULL;
        if (!behind) continue;
        const char *declared = skip_blanks(behind);
        const bool is_it = (!strncmp(tag, name, length) && !is_word(tag[length])) ||
                           (!strncmp(declared, name, length) && !is_word(declared[length]));
        if (is_it) return members_nbytes(text, open + 1, behind - 1);
    }
    return 0;
}

/* ---- the kernel ---------------------------------------------------------------------------------- */

/* The bracket that opens its parameters; NULL: the text does not define it. */
static const char *find_parameters(const char *text, const char *name, size_t length) {
    static const char global[] = "__global__";
    for (const char *at = text; (at = find_word(at, global, strlen(global)));) {
        at += strlen(global);
        for (;;) { /* words, and those with brackets that are no name: __launch_bounds__(256) */
            at = skip_blanks(at);
            const char *word = at;
            while (is_word(*at)) at++;
            if (at == word) {
                if (!*at || *at == ';' || *at == '(') break;
                at++;
                continue;
            }
            const char *open = skip_blanks(at);
            if (*open != '(') continue;
            if ((size_t)(at - word) == length && !strncmp(word, name, length)) return open;
            at = behind_bracket(open);
            if (!at) return NULL;
            if (strncmp(word, "__", 2)) break;
        }
    }
    return NULL;
}

static bool is_open(char c) { return c == '(' || c == '{'; }

/* Where the bracket of `dim3 a(1), name(2);` or `dim3 name = dim3(2);` opens; NULL: no such name is a dim3. */
static const char *find_dim3(const char *text, const char *name, size_t length) {
    static const char dim3[] = "dim3";
    for (const char *found = text; (found = find_word(found, name, length)); found += length) {
        const char *behind = skip_blanks(found + length), *begin = found; /* of the statement */
        while (begin > text && !strchr(";{}", begin[-1])) begin--;
        begin = skip_blanks(begin);
        if (!strncmp(begin, "const ", 6)) begin = skip_blanks(begin + 6);
        if (strncmp(begin, dim3, 4)) continue;
        if (*behind == '=') behind = skip_blanks(behind + 1);
        if (!strncmp(behind, dim3, 4)) behind = skip_blanks(behind + 4);
        if (is_open(*behind)) return behind;
    }
    return NULL;
}

/* dim3(a, b), a name that is one, or a number. */
static bool read_extent(const char *text, const char *at, const char *end, uint64_t extent[3], int depth) {
    at = skip_blanks(at);
    const char *word = at;
    while (at < end && is_word(*at)) at++;
    const size_t length = (size_t)(at - word);
    const char *open = skip_blanks(at);
    bool is_dim3 = length == 4 && !strncmp(word, "dim3", 4), is_known = depth < EXPRESSION_DEPTH_MAX;
    const char *declared = !is_dim3 && length && skip_blanks(at) >= end ? find_dim3(text, word, length) : NULL;
    if (declared) open = declared;
    for (int d = 0; d < 3; d++) extent[d] = 1;
    if (!is_dim3 && !declared) {
        if (is_known) extent[0] = evaluate(text, word, end, 4, depth, &is_known);
        return is_known;
    }
    const char *last = is_open(*open) ? behind_bracket(open) : NULL;
    if (!last) return false;
    const char *item = open + 1;
    for (int d = 0; d < 3 && item < last - 1 && is_known; d++) {
        const char *stop = item_end(item, last - 1);
        extent[d] = evaluate(text, item, stop, 4, depth, &is_known);
        item = stop + 1;
    }
    return is_known;
}

/* The second argument of the call of a function, whose name begins so, with that variable as its first one: (void **)&name,
 * for example.  NULL: there is no such call. */
static const char *find_second(const char *text, const char *function, const char *name, size_t length, const char **end) {
    for (const char *at = text; (at = strstr(at, function));) {
        at += strlen(function);
        const char *open = at + strcspn(at, "(;\n");
        const char *behind = *open == '(' ? behind_bracket(open) : NULL;
        if (!behind) continue;
        const char *comma = item_end(open + 1, behind - 1), *word = comma;
        while (word > open && !is_word(word[-1])) word--;
        if ((size_t)(word - open) <= length || strncmp(word - length, name, length) || is_word(word[-(ptrdiff_t)length - 1]))
            continue;
        *end = comma < behind - 1 ? item_end(comma + 1, behind - 1) : comma;
        return comma < behind - 1 ? comma + 1 : NULL;
    }
    return NULL;
}

/* The elements that cudaMalloc gives the pointer of that name, and whether cudaMemset makes them zeros. */
static void read_allocation(const char *text, const char *name, size_t length, struct kernel_parameter *parameter) {
    const size_t nbytes = parameter->nbytes ? parameter->nbytes : 1;
    const char *end, *begin = find_second(text, "cudaMalloc", name, length, &end);
    if (begin) parameter->count = evaluate(text, begin, end, nbytes, 0, &parameter->has_count) / nbytes;
    begin = find_second(text, "cudaMemset", name, length, &end);
    bool is_known = begin;
    uint64_t byte = begin ? evaluate(text, begin, end, nbytes, 0, &is_known) : 0;
    parameter->is_cleared = is_known && !byte;
}

static void read_launch_arguments(const char *text, const char *open, struct kernel_source *source) {
    const char *behind = *open == '(' ? behind_bracket(open) : NULL;
    if (!behind) return;
    const char *item = open + 1;
    for (size_t i = 0; i < source->count && item < behind - 1; i++) {
        struct kernel_parameter *parameter = &source->parameters[i];
        const char *end = item_end(item, behind - 1), *word = skip_blanks(item), *word_end = word;
        while (word_end < end && is_word(*word_end)) word_end++;
        if (parameter->is_pointer)
            read_allocation(text, word, (size_t)(word_end - word), parameter);
        else parameter->count = evaluate(text, item, end, element_nbytes(parameter->element), 0, &parameter->has_count);
        item = end + 1;
    }
}

/* Whether the texts are the same but for blanks: "<float, 64>" and "<float,64>". */
static bool is_same_but_blanks(const char *one, const char *one_end, const char *other) {
    for (;; one++, other++) {
        while (one < one_end && isspace((unsigned char)*one)) one++;
        other = skip_blanks(other);
        if (one == one_end || *one != *other) return one == one_end && !*other;
    }
}

/* name<<<grid, block, shared>>>(arguments), of an instance with such arguments of its template; NULL: of any. */
static bool read_launch(const char *text, const char *name, size_t length, const char *instance, struct kernel_source *source) {
    for (const char *at = text; (at = find_word(at, name, length)); at += length) {
        const char *open = strstr(at, "<<<");
        if (!open || memchr(at, ';', (size_t)(open - at)) || memchr(at, '(', (size_t)(open - at))) continue;
        if (instance && !is_same_but_blanks(at + length, open, instance)) continue;
        const char *close = strstr(open, ">>>"), *grid = open + 3;
        if (!close) return false;
        const char *grid_end = item_end(grid, close), *block = grid_end + 1;
        if (block >= close) return false;
        const char *block_end = item_end(block, close);
        source->has_launch = read_extent(text, grid, grid_end, source->grid, 0) &&
                             read_extent(text, block, block_end, source->block, 0);
        if (block_end < close) {
            bool is_known;
            const char *shared = block_end + 1;
            uint64_t nbytes = evaluate(text, shared, item_end(shared, close), 4, 0, &is_known);
            source->shared = is_known ? nbytes : 0;
        }
        read_launch_arguments(text, skip_blanks(close + 3), source);
        return true;
    }
    return false;
}

/* What the first use of the pointer's elements in the kernel's body does to them: atomicAdd(&bins[i], 1), bins[i] += 1,
 * *total += 1 or bins[i]++ change what is there; out[i] = 1 does not ask for it. */
static enum kernel_use first_use(const char *body, const char *end, const char *name) {
    static const char *const updates[] = {"+=", "-=", "|=", "&=", "^=", "++", "--"};
    const size_t length = strlen(name);
    for (const char *at = body; (at = find_word(at, name, length)) && at < end; at += length) {
        const char *before = at, *behind = skip_blanks(at + length);
        while (before > body && strchr("&( ", before[-1])) before--;
        const char *word = before;
        while (word > body && is_word(word[-1])) word--;
        if (before > word && !strncmp(word, "atomic", 6)) return KERNEL_UPDATES;
        if (*behind != '[' && before[-1] != '*') continue;
        while (*behind == '[' && behind_bracket(behind)) behind = skip_blanks(behind_bracket(behind));
        for (size_t i = 0; i < sizeof updates / sizeof *updates; i++)
            if (!strncmp(behind, updates[i], 2)) return KERNEL_UPDATES;
        if (*behind == '.') behind = skip_word(behind + 1);
        const char *again = find_word(behind, name, length);
        const bool is_stored = behind[0] == '=' && behind[1] != '=';
        return is_stored && !(again && again < behind + strcspn(behind, ";")) ? KERNEL_STORES : KERNEL_READS;
    }
    return KERNEL_STORES;
}

static void read_uses(const char *behind, struct kernel_source *source) {
    const char *body = skip_blanks(behind), *end = *body == '{' ? behind_bracket(body) : NULL;
    for (size_t i = 0; end && i < source->count; i++)
        if (source->parameters[i].is_pointer) source->parameters[i].use = first_use(body, end, source->parameters[i].name);
}

/* Where the parameters of the template begin whose function has its own at `open`; NULL: it is none. */
static const char *template_parameters(const char *text, const char *open) {
    static const char word[] = "template";
    const char *begin = open, *found = NULL;
    while (begin > text && !strchr(";}", begin[-1])) begin--;
    for (const char *at = begin; (at = find_word(at, word, strlen(word))) && at < open; at += strlen(word)) found = at;
    found = found ? skip_blanks(found + strlen(word)) : NULL;
    return found && *found == '<' ? found + 1 : NULL;
}

/* What is of the type that a `typename T` of the template names is of the argument's. */
static void bind_type(const char *item, const char *item_stop, const char *argument, const char *argument_stop,
                      struct kernel_source *source) {
    struct kernel_parameter formal;
    read_parameter(item, item_stop, &formal);
    if (strcmp(formal.type, "typename") && strcmp(formal.type, "class")) return;
    argument = skip_blanks(argument);
    for (size_t i = 0; i < source->count && argument < argument_stop; i++) {
        struct kernel_parameter *parameter = &source->parameters[i];
        if (strcmp(parameter->type, formal.name)) continue;
        snprintf(parameter->type, KERNEL_WORD, "%.*s", (int)(argument_stop - argument), argument);
        parameter->element = kernel_type_element(parameter->type);
    }
}

/* The types of scale<float, 4>, whose template has `typename T, int N`. */
static void bind_types(const char *text, const char *open, const char *name, struct kernel_source *source) {
    const char *item = template_parameters(text, open), *close = item ? strchr(item, '>') : NULL;
    const char *argument = strchr(name, '<'), *end = argument ? strrchr(name, '>') : NULL;
    if (!close || close > open || !end) return;
    for (argument++; item < close && argument < end;) {
        const char *item_stop = item_end(item, close), *argument_stop = item_end(argument, end);
        bind_type(item, item_stop, argument, argument_stop, source);
        item = item_stop + 1;
        argument = argument_stop + 1;
    }
}

/* "ns::reduce<int, 64>" -> "reduce" */
static const char *bare_name(const char *name, size_t *length) {
    const char *end = name + strcspn(name, "<(");
    const char *begin = end;
    while (begin > name && is_word(begin[-1])) begin--;
    *length = (size_t)(end - begin);
    return begin;
}

bool kernel_source_read(const char *text, const char *name, struct kernel_source *source) {
    size_t length;
    char *plain = without_comments(text);
    const char *instance = name;
    name = bare_name(name, &length);
    *source = (struct kernel_source){.count = 0};
    const char *open = plain && length ? find_parameters(plain, name, length) : NULL;
    const char *behind = open ? behind_bracket(open) : NULL;
    if (behind) {
        const char *item = skip_blanks(open + 1);
        while (item < behind - 1 && source->count < KERNEL_PARAMETERS_MAX) {
            const char *end = item_end(item, behind - 1);
            read_parameter(item, end, &source->parameters[source->count++]);
            item = end + 1;
        }
        bind_types(plain, open, instance, source);
        for (size_t i = 0; i < source->count; i++) {
            struct kernel_parameter *parameter = &source->parameters[i];
            resolve(plain, parameter);
            parameter->nbytes = type_nbytes(parameter->type);
            if (!parameter->nbytes) parameter->nbytes = struct_nbytes(plain, parameter->type);
        }
        read_uses(behind, source);
        const char *of_template = strchr(instance, '<');
        if (!of_template || !read_launch(plain, name, length, of_template, source)) read_launch(plain, name, length, NULL, source);
    }
    free(plain);
    return behind != NULL;
}

/* ---- shared memory ------------------------------------------------------------------------------- */

/* Elements that move the next row by a bank: one, or as many as fill a word. */
static size_t padding_of(size_t element_nbytes) { return element_nbytes < 4 ? 4 / element_nbytes : 1; }

/* How many of the last extents of "q[32][4][8]" make rows of so many elements: of 8 one, of 32 two.  0: none do, or all.
 * *open: the bracket of the first of them; *close: behind the last. */
static size_t extents_of_row(const char *text, const char *at, const char *end, uint64_t elements, const char **open,
                             const char **close) {
    enum { EXTENTS_MAX = 4 };
    const char *brackets[EXTENTS_MAX];
    size_t rank = 0;
    *close = at;
    for (const char *next; (next = memchr(*close, '[', (size_t)(end - *close))); rank++) {
        const char *behind = rank < EXTENTS_MAX ? behind_bracket(next) : NULL;
        if (!behind || behind > end) return 0;
        brackets[rank] = next;
        *close = behind;
    }
    uint64_t product = 1;
    for (size_t count = 1; count < rank; count++) {
        bool is_known;
        *open = brackets[rank - count];
        product *= evaluate(text, *open + 1, behind_bracket(*open) - 1, 4, 0, &is_known);
        if (!is_known) return 0;
        if (product == elements) return count;
    }
    return 0;
}

/* "[33]" for "[32]", "[N + 1]" for "[N]", "[4 * 8 + 1]" for "[4][8]" */
static void put_padded(const char *open, size_t count, uint64_t elements, size_t padding, char *text, size_t nbytes) {
    if (count == 1 && isdigit((unsigned char)open[1])) {
        snprintf(text, nbytes, "[%" PRIu64 "]", elements + padding);
        return;
    }
    size_t length = 0;
    for (size_t i = 0; i < count && length < nbytes; i++) {
        const char *close = behind_bracket(open) - 1;
        const bool is_sum = count > 1 && memchr(open, '+', (size_t)(close - open));
        length += (size_t)snprintf(text + length, nbytes - length, is_sum ? "%s(%.*s)" : "%s%.*s", i ? " * " : "[",
                                   (int)(close - open - 1), open + 1);
        open = skip_blanks(close + 1);
    }
    if (length < nbytes) snprintf(text + length, nbytes - length, " + %zu]", padding);
}

/* A declaration of one array, "tile[32][32]" for rows of 32; false: it has no rows of that many bytes. */
static bool read_rows(const char *text, const char *at, const char *end, const char *type, uint64_t nbytes,
                      struct kernel_rows *rows) {
    const char *open, *close, *word = memchr(at, '[', (size_t)(end - at));
    rows->element_nbytes = type_nbytes(type);
    if (!word || !rows->element_nbytes || nbytes % rows->element_nbytes) return false;
    const size_t count = extents_of_row(text, at, end, nbytes / rows->element_nbytes, &open, &close);
    while (word > at && is_word(word[-1])) word--;
    if (!count || close - word >= KERNEL_WORD / 2) return false;
    const int before = snprintf(rows->padded, KERNEL_WORD, "%.*s", (int)(open - word), word);
    snprintf(rows->name, KERNEL_WORD, "%.*s", (int)(close - word), word);
    put_padded(open, count, nbytes / rows->element_nbytes, padding_of(rows->element_nbytes), rows->padded + before, KERNEL_WORD - (size_t)before);
    return true;
}

/* Where the line begins; NULL: the text has fewer. */
static const char *line_begin(const char *text, uint32_t line) {
    for (; text && line > 1; line--) {
        text = strchr(text, '\n');
        if (text) text++;
    }
    return text;
}

bool kernel_source_syncs(const char *text, uint32_t line) {
    const char *begin = line_begin(text, line), *end = begin ? begin + strcspn(begin, "\n") : NULL;
    const char *block = begin ? strstr(begin, "__syncthreads(") : NULL, *member = begin ? strstr(begin, "sync(") : NULL;
    return (block && block < end) || (member && member < end && strncmp(member - 4, "warp", 4) != 0);
}

/* Whether the line has an element of that array: "tile[". */
static bool is_named(const char *line, const char *name, size_t length) {
    const size_t line_length = strcspn(line, "\n");
    for (const char *at = line; (at = find_word(at, name, length)) && at < line + line_length; at += length)
        if (*skip_blanks(at + length) == '[') return true;
    return false;
}

bool kernel_source_rows(const char *text, uint32_t line, uint64_t nbytes, struct kernel_rows *rows) {
    static const char shared[] = "__shared__";
    char *plain = without_comments(text);
    const char *here = line_begin(plain, line);
    bool is_found = false, names_any = false;
    for (const char *at = plain; here && (at = find_word(at, shared, strlen(shared))) && at < here;) {
        at += strlen(shared);
        const char *end = at + strcspn(at, ";");
        char type[KERNEL_WORD] = "";
        for (const char *item = at, *stop; item < end; item = stop + 1) {
            struct kernel_parameter array;
            struct kernel_rows read;
            stop = item_end(item, end);
            read_parameter(item, stop, &array);
            if (item == at) resolve(plain, &array);
            if (item == at) snprintf(type, sizeof type, "%s", array.type);
            const bool is_here = is_named(here, array.name, strlen(array.name));
            if (is_here && !names_any) is_found = false;
            names_any |= is_here;
            if (is_here != names_any || !read_rows(plain, item, stop, type, nbytes, &read)) continue;
            *rows = read;
            is_found = true;
        }
    }
    free(plain);
    return is_found;
}

enum { RANK_MAX = 4 };

/* An array of shared memory as the text declares it. */
struct shared_array {
    char type[KERNEL_WORD];
    uint64_t extents[RANK_MAX];
    size_t rank;
};

/* Its extents, in all so many elements: one that is not known, of a template for example, follows from the others. */
static bool read_extents(const char *text, const char *at, const char *end, uint64_t count, struct shared_array *array) {
    uint64_t known = 1;
    size_t unknown = RANK_MAX;
    for (array->rank = 0; (at = memchr(at, '[', (size_t)(end - at))) != NULL; array->rank++) {
        const char *behind = behind_bracket(at);
        if (!behind || behind > end || array->rank == RANK_MAX) return false;
        bool is_known;
        uint64_t extent = evaluate(text, at + 1, behind - 1, 4, 0, &is_known);
        if (!is_known && unknown < RANK_MAX) return false;
        if (!is_known) unknown = array->rank;
        else if (!extent || extent > count) return false;
        else known *= extent;
        array->extents[array->rank] = extent;
        at = behind;
    }
    if (unknown < array->rank) array->extents[unknown] = count / known;
    return array->rank && (unknown < array->rank ? count % known == 0 : count == known);
}

/* The array's declaration among those of one statement of __shared__, of so many bytes; a rank of 0: its extents are not
 * known.  false: it is not there, or its type has no size that is known. */
static bool read_shared(const char *text, const char *at, const char *end, const char *name, size_t length, uint64_t nbytes,
                        struct shared_array *array) {
    *array = (struct shared_array){.rank = 0};
    for (const char *item = at; item < end; item = item_end(item, end) + 1) {
        struct kernel_parameter declared;
        const char *stop = item_end(item, end);
        read_parameter(item, stop, &declared);
        if (item == at) resolve(text, &declared);
        if (item == at) snprintf(array->type, sizeof array->type, "%s", declared.type);
        if (strlen(declared.name) != length || strncmp(declared.name, name, length)) continue;
        const size_t size = type_nbytes(array->type);
        if (!size || nbytes % size) return false;
        if (!read_extents(text, item, stop, nbytes / size, array)) array->rank = 0;
        return true;
    }
    return false;
}

/* Whether it is a function, "float get(const float *table) { return", whose parameters are no variables. */
static bool is_function(const char *at, const char *end) {
    const size_t before = strcspn(at, "([={;");
    return at + before < end && at[before] == '(';
}

/* What every array of that name and of so many bytes that such a word declares is; false: there is none, or of several
 * types. */
static bool find_declared(const char *text, const char *word, const char *name, size_t length, uint64_t nbytes,
                          struct shared_array *array) {
    bool is_found = array->type[0];
    for (const char *at = text; at && (at = find_word(at, word, strlen(word)));) {
        struct shared_array other;
        at += strlen(word);
        const char *end = at + strcspn(at, ";");
        if (is_function(at, end) || !read_shared(text, at, end, name, length, nbytes, &other)) continue;
        if (is_found && strcmp(array->type, other.type)) return false;
        const bool is_another = is_found && memcmp(array->extents, other.extents, sizeof other.extents);
        *array = other;
        if (is_another) array->rank = 0;
        is_found = true;
    }
    return true;
}

/* The array of shared memory, or the module's, of that name; its rank is 0 where extents of several differ. */
static bool find_shared(const char *text, const char *name, size_t length, uint64_t nbytes, struct shared_array *array) {
    static const char *const words[] = {"__shared__", "__device__", "__constant__", "__managed__"};
    *array = (struct shared_array){.rank = 0};
    for (size_t w = 0; text && w < sizeof words / sizeof *words; w++)
        if (!find_declared(text, words[w], name, length, nbytes, array)) return false;
    return array->type[0];
}

/* "index 32 of `t`" as `t[1][0]`, where it has several extents; otherwise as it is. */
static void put_element(FILE *stream, const struct shared_array *array, const char *name, size_t length, int64_t index) {
    int64_t below = 1;
    if (array->rank < 2 || index < 0) {
        fprintf(stream, "index %" PRId64 " of `%.*s`", index, (int)length, name);
        return;
    }
    for (size_t i = 1; i < array->rank; i++) below *= (int64_t)array->extents[i];
    fprintf(stream, "`%.*s", (int)length, name);
    for (size_t i = 0; i < array->rank; i++) {
        fprintf(stream, "[%" PRId64 "]", index / below);
        index %= below;
        below /= i + 1 < array->rank ? (int64_t)array->extents[i + 1] : 1;
    }
    fputc('`', stream);
}

static void put_array(FILE *stream, const struct shared_array *array, const char *name, size_t length, int64_t index,
                      uint64_t count) {
    put_element(stream, array, name, length, index);
    fprintf(stream, ", %s", array->type);
    if (array->rank < 2) fprintf(stream, "[%" PRIu64 "]", count);
    else
        for (size_t i = 0; i < array->rank; i++) fprintf(stream, "[%" PRIu64 "]", array->extents[i]);
}

/* "index 64 of `tile`, 64 elements of 4 bytes)" */
struct told_element {
    char name[KERNEL_WORD];
    int64_t index;
    uint64_t count;
    int64_t size;
};

static bool read_element(const char *at, struct told_element *told) {
    return sscanf(at, "index %" SCNd64 " of `%63[^`]`, %" SCNu64 " elements of %" SCNd64, &told->index, told->name, &told->count,
                  &told->size) == 4 && told->size > 0;
}

void kernel_source_array(const char *text, char *message, size_t nbytes) {
    char words[KERNEL_MESSAGE];
    struct told_element told;
    struct shared_array array;
    char *begin = message;
    while ((begin = strstr(begin, "index ")) && !read_element(begin, &told)) begin++;
    char *plain = begin ? without_comments(text) : NULL;
    const bool is_found = plain && find_shared(plain, told.name, strlen(told.name), told.count * (uint64_t)told.size, &array);
    free(plain);
    const int64_t type = is_found ? (int64_t)type_nbytes(array.type) : 0;
    FILE *stream = !type || type % told.size ? NULL : fmemopen(words, sizeof words, "w");
    if (!stream) return;
    const int64_t offset = told.index * told.size, index = offset / type - (offset % type < 0);
    put_array(stream, &array, told.name, strlen(told.name), index, told.count * (uint64_t)told.size / (uint64_t)type);
    fputs(begin + strcspn(begin, ")"), stream);
    fclose(stream);
    snprintf(begin, nbytes - (size_t)(begin - message), "%s", words);
}
