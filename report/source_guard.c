#include "source_guard.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source_text.h"

enum { AXES_MAX = 8, NAME_MAX_NBYTES = 48 };

/* A variable that is the thread's index in one dimension of the grid: `int x = blockIdx.x * blockDim.x + threadIdx.x`; or, with that of
 * a loop in place of threadIdx, one of several. */
struct axis {
    char name[NAME_MAX_NBYTES];
    int dimension;
    bool has_value;
    uint64_t value;
    bool is_compared; /* or part of a condition in some other way */
};

struct kernel_text {
    const char *all, *begin, *end; /* of the kernel, up to the end of the line */
    struct axis axes[AXES_MAX];
    size_t count;
};

/* ---- the indices */

static const char *end_of_line(const char *text, uint32_t line) {
    for (; text && line > 1; line--) {
        text = strchr(text, '\n');
        if (text) text++;
    }
    return text ? text + strcspn(text, "\n") : NULL;
}

static uint32_t line_of(const char *text, const char *at) {
    uint32_t line = 1;
    for (; text < at; text++) line += *text == '\n';
    return line;
}

static const char *last_word(const char *begin, const char *end, const char *word) {
    const char *found = NULL;
    for (const char *at = begin; (at = text_find_word(at, word, strlen(word))) && at < end; at++) found = at;
    return found;
}

/* The expression without its blanks; false: it is longer than such a one is. */
static bool compress(const char *at, const char *end, char *text, size_t nbytes) {
    size_t length = 0;
    for (; at < end; at++) {
        if (isspace((unsigned char)*at)) continue;
        if (length + 1 == nbytes) return false;
        text[length++] = *at;
    }
    text[length] = '\0';
    return length > 0;
}

/* "blockIdx.y*blockDim.y+threadIdx.y" in any order: the dimension, and what the block's index is multiplied by. */
static bool read_product(const char *product, int dimension, char factor[NAME_MAX_NBYTES]) {
    const char block[] = {'b', 'l', 'o', 'c', 'k', 'I', 'd', 'x', '.', (char)('x' + dimension), '\0'};
    const char *star = strchr(product, '*'), *other = star ? star + 1 : NULL;
    if (!star || strpbrk(other, "*+-/%<>?,[") || strpbrk(product, "+-/%<>?,[")) return false;
    const size_t length = (size_t)(star - product), block_length = strlen(block);
    const bool is_first = length == block_length && !strncmp(product, block, length), is_second = !strcmp(other, block);
    if (is_first == is_second) return false;
    snprintf(factor, NAME_MAX_NBYTES, "%.*s", is_first ? (int)strlen(other) : (int)length, is_first ? other : product);
    return true;
}

/* threadIdx.x, or the variable of a loop. */
static bool is_term(const char *text) {
    static const char thread[] = "threadIdx.";
    if (!strncmp(text, thread, strlen(thread))) return true;
    const char *at = text;
    while (text_is_word(*at)) at++;
    return at > text && !*at && !isdigit((unsigned char)*text);
}

static bool read_index(char *expression, int *dimension, bool *is_of_thread, char factor[NAME_MAX_NBYTES]) {
    static const char thread[] = "threadIdx.";
    size_t length = strlen(expression);
    if (expression[0] == '(' && text_behind_bracket(expression) == expression + length) {
        expression[length - 1] = '\0';
        expression++;
    }
    char *plus = strchr(expression, '+'), *product = expression;
    if (!plus) return false;
    *plus = '\0';
    const char *term = plus + 1;
    if (!is_term(term)) {
        product = plus + 1;
        term = expression;
    }
    length = strlen(product);
    if (length && product[0] == '(' && text_behind_bracket(product) == product + length) {
        product[length - 1] = '\0';
        product++;
    }
    *is_of_thread = !strncmp(term, thread, strlen(thread)) && strlen(term) == strlen(thread) + 1;
    if (*is_of_thread) *dimension = term[strlen(thread)] - 'x';
    if (*is_of_thread) return *dimension >= 0 && *dimension < 3 && read_product(product, *dimension, factor);
    for (*dimension = 0; *dimension < 3 && is_term(term); ++*dimension)
        if (read_product(product, *dimension, factor)) return true;
    return false;
}

/* false: how large a block is is not known. */
static bool evaluate(const struct kernel_text *kernel, const struct guard_access *access, const char *factor, struct axis *axis) {
    const char of_block[] = {'b', 'l', 'o', 'c', 'k', 'D', 'i', 'm', '.', (char)('x' + axis->dimension), '\0'};
    bool is_known = true;
    const uint64_t extent = !strcmp(factor, of_block) ? access->block_extent[axis->dimension]
                                                      : text_evaluate(kernel->all, factor, factor + strlen(factor), 0, 0, &is_known);
    axis->value = access->block[axis->dimension] * extent + access->thread[axis->dimension];
    return is_known;
}

/* Whether it is one already, which then has another value: as of two tiles, of which the second is exchanged. */
static bool is_again(struct kernel_text *kernel, const char *name) {
    for (size_t i = 0; i < kernel->count; i++)
        if (!strcmp(kernel->axes[i].name, name)) return kernel->axes[i].has_value = false, true;
    return false;
}

/* The variable whose value begins behind the '='. */
static void add_axis(struct kernel_text *kernel, const struct guard_access *access, const char *equals) {
    enum { EXPRESSION_NBYTES = 96 };
    char expression[EXPRESSION_NBYTES], factor[NAME_MAX_NBYTES];
    struct axis axis = {0};
    const char *const semicolon = memchr(equals + 1, ';', strnlen(equals + 1, 4 * EXPRESSION_NBYTES));
    if (!semicolon) return;
    const char *const end = text_item_end(equals + 1, semicolon);
    const char *name_end = text_before_blanks(kernel->begin, equals), *name = name_end;
    while (name > kernel->begin && text_is_word(name[-1])) name--;
    if (name == name_end || name_end - name >= NAME_MAX_NBYTES || kernel->count == AXES_MAX) return;
    snprintf(axis.name, sizeof axis.name, "%.*s", (int)(name_end - name), name);
    if (is_again(kernel, axis.name)) return;
    if (!compress(equals + 1, end, expression, sizeof expression) || !read_index(expression, &axis.dimension, &axis.has_value, factor)) return;
    if (!evaluate(kernel, access, factor, &axis)) return;
    for (size_t i = 0; i < kernel->count; i++)
        if (kernel->axes[i].dimension == axis.dimension) return; /* as of two tiles: which is not known */
    kernel->axes[kernel->count++] = axis;
}

/* Whether `y + j` is the index, and not `y` alone: behind it is a name, and no product, as in `x + y * width`. */
static bool has_offset(const struct kernel_text *kernel, const struct axis *axis) {
    for (const char *at = kernel->begin; (at = text_find_word(at, axis->name, strlen(axis->name))) && at < kernel->end; at++) {
        const char *plus = text_skip_blanks(at + strlen(axis->name)), *name = *plus == '+' ? text_skip_blanks(plus + 1) : "";
        if (text_is_word(*name) && !isdigit((unsigned char)*name) && *text_skip_word(name) != '*') return true;
    }
    return false;
}

static void find_axes(struct kernel_text *kernel, const struct guard_access *access) {
    for (const char *at = kernel->begin; (at = memchr(at, '=', (size_t)(kernel->end - at))); at++) {
        const bool is_assignment = at[1] != '=' && at > kernel->begin && !strchr("=<>!+-*/%&|^", at[-1]);
        if (is_assignment) add_axis(kernel, access, at);
    }
    for (size_t i = 0; i < kernel->count; i++) kernel->axes[i].has_value &= !has_offset(kernel, &kernel->axes[i]);
}

/* ---- what they are compared with */

enum side { SIDE_NONE, SIDE_INSIDE, SIDE_OUTSIDE };

/* Behind `x`, or behind `x + j`. */
static const char *behind_sum(const char *name, size_t length) {
    const char *behind = text_skip_blanks(name + length);
    return *behind == '+' && text_is_word(*text_skip_blanks(behind + 1)) ? text_skip_word(text_skip_blanks(behind + 1)) : behind;
}

/* Whether the name at the place is compared, and which side it must be on for that to hold. */
static enum side side_at(const char *begin, const char *name, size_t length) {
    const char *behind = behind_sum(name, length), *before = text_before_blanks(begin, name);
    const char last = before > begin ? before[-1] : '\0', last_but_one = before > begin + 1 ? before[-2] : '\0';
    if ((*behind == '<' || *behind == '>') && behind[1] != *behind) return *behind == '<' ? SIDE_INSIDE : SIDE_OUTSIDE;
    const char sign = last == '=' ? last_but_one : last;
    if (last != '=' && last == last_but_one) return SIDE_NONE; /* a shift */
    return sign == '>' ? SIDE_INSIDE : sign == '<' ? SIDE_OUTSIDE : SIDE_NONE;
}

static enum side side_in(const char *begin, const char *end, const struct axis *axis) {
    const size_t length = strlen(axis->name);
    for (const char *at = begin; (at = text_find_word(at, axis->name, length)) && at < end; at++) {
        const enum side side = side_at(begin, at, length);
        if (side) return side;
    }
    return SIDE_NONE;
}

/* "||", "&&" */
static bool has_twice(const char *begin, const char *end, char sign) {
    while (begin + 1 < end && (begin[0] != sign || begin[1] != sign)) begin++;
    return begin + 1 < end;
}

/* A condition about several of them that takes one alone for enough. */
static bool is_too_weak(const struct kernel_text *kernel, const char *begin, const char *end, bool *is_inside) {
    size_t inside = 0, outside = 0;
    const bool has_or = has_twice(begin, end, '|'), has_and = has_twice(begin, end, '&');
    for (size_t i = 0; i < kernel->count; i++) {
        const enum side side = side_in(begin, end, &kernel->axes[i]);
        inside += side == SIDE_INSIDE;
        outside += side == SIDE_OUTSIDE;
    }
    *is_inside = inside > 0;
    return has_or != has_and && ((inside > 1 && !outside && has_or) || (outside > 1 && !inside && has_and));
}

static bool is_in_condition(const struct kernel_text *kernel, const char *word, const struct axis *axis) {
    for (const char *at = kernel->begin; (at = text_find_word(at, word, strlen(word))) && at < kernel->end; at++) {
        const char *open = text_skip_blanks(at + strlen(word)), *end = *open == '(' ? text_behind_bracket(open) : NULL;
        const char *name = end ? text_find_word(open, axis->name, strlen(axis->name)) : NULL;
        if (name && name < end) return true;
    }
    return false;
}

static bool is_compared(const struct kernel_text *kernel, const struct axis *axis) {
    return side_in(kernel->begin, kernel->end, axis) || is_in_condition(kernel, "if", axis) || is_in_condition(kernel, "while", axis) ||
           is_in_condition(kernel, "min", axis);
}

static const char *find_weak(const struct kernel_text *kernel, bool *is_inside) {
    for (const char *at = kernel->begin; (at = text_find_word(at, "if", 2)) && at < kernel->end; at++) {
        const char *open = text_skip_blanks(at + 2), *end = *open == '(' ? text_behind_bracket(open) : NULL;
        if (end && is_too_weak(kernel, open, end, is_inside)) return at;
    }
    return NULL;
}

/* ---- what is said */

static void name_values(const struct kernel_text *kernel, char *text, size_t nbytes) {
    size_t length = 0;
    *text = '\0';
    for (size_t i = 0; i < kernel->count; i++)
        if (!kernel->axes[i].has_value) return;
    for (size_t i = 0; i < kernel->count && length < nbytes; i++)
        length += (size_t)snprintf(text + length, nbytes - length, "%s`%s` is %" PRIu64, i ? " and " : "; ", kernel->axes[i].name, kernel->axes[i].value);
    if (length < nbytes) snprintf(text + length, nbytes - length, " here");
}

static const char unless[] = "unless the index is calculated wrongly or too little is allocated";

static bool say_missing(const struct kernel_text *kernel, const char *values, char *text, size_t nbytes) {
    const struct axis *missing = NULL, *compared = NULL;
    for (size_t i = 0; i < kernel->count; i++) {
        if (kernel->axes[i].is_compared) compared = &kernel->axes[i];
        else if (!missing) missing = &kernel->axes[i];
    }
    if (!missing) return false;
    if (compared)
        snprintf(text, nbytes, "%s; only `%s` is compared with an extent: a guard must compare `%s` with its own, too, %s", values, compared->name,
                 missing->name, unless);
    else
        snprintf(text, nbytes, "%s; a guard such as if (%s < n && %s < m), each with its own extent, must leave that out, %s", values, kernel->axes[0].name,
                 kernel->axes[1].name, unless);
    return true;
}

static bool say_fault(const struct kernel_text *kernel, char *text, size_t nbytes) {
    char values[3 * NAME_MAX_NBYTES + 96];
    bool is_inside;
    const char *weak = find_weak(kernel, &is_inside);
    name_values(kernel, values, sizeof values);
    if (!weak) return say_missing(kernel, values, text, nbytes);
    const char *const one = kernel->axes[0].name, *const other = kernel->axes[1].name;
    if (is_inside)
        snprintf(text, nbytes, "%s; line %" PRIu32 " lets threads through of which `%s` or `%s` alone is below its extent, and both must be: && in place of ||",
                 values, line_of(kernel->all, weak), one, other);
    else
        snprintf(text, nbytes, "%s; line %" PRIu32 " sends threads away only where both `%s` and `%s` are beyond their extents: || in place of &&", values,
                 line_of(kernel->all, weak), one, other);
    return true;
}

/* ---- one index */

/* What stands in the brackets of `array[i + 1]` on the last line, if that is a sum, and the same wherever it stands there. */
static bool read_subscript(const struct kernel_text *kernel, const char *array, char *subscript, size_t nbytes) {
    const char *line = kernel->end;
    while (line > kernel->begin && line[-1] != '\n') line--;
    *subscript = '\0';
    for (const char *at = line; (at = text_find_word(at, array, strlen(array))) && at < kernel->end; at++) {
        const char *open = text_skip_blanks(at + strlen(array)), *close = *open == '[' ? strchr(open, ']') : NULL;
        char found[NAME_MAX_NBYTES];
        if (!close || close > kernel->end) continue;
        snprintf(found, sizeof found, "%.*s", (int)(close - open - 1), open + 1);
        if ((size_t)(close - open) > sizeof found || strpbrk(found, "*/%[(?<>=&|^,") || (*subscript && strcmp(found, subscript))) return false;
        snprintf(subscript, nbytes, "%s", found);
    }
    return *subscript != '\0';
}

/* Whether the condition that ends there sends threads away, or ends a loop. */
static bool is_left_behind(const char *condition_end) {
    static const char *const words[] = {"return", "continue", "break"};
    const char *at = text_skip_blanks(condition_end);
    if (*at == '{') at = text_skip_blanks(at + 1);
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        if (text_find_word(at, words[w], strlen(words[w])) == at) return true;
    return false;
}

/* Whether the place is in the condition of an `if` that does so. */
static bool sends_away(const struct kernel_text *kernel, const char *place) {
    for (const char *at = kernel->begin; (at = text_find_word(at, "if", 2)) && at < place; at++) {
        const char *open = text_skip_blanks(at + 2), *end = *open == '(' ? text_behind_bracket(open) : NULL;
        if (end && open < place && place < end) return is_left_behind(end);
    }
    return false;
}

/* A name or a number alone, behind which the comparison is over. */
static bool read_extent(const char *at, char extent[NAME_MAX_NBYTES]) {
    const char *begin = text_skip_blanks(at), *end = begin;
    while (text_is_word(*end)) end++;
    const char next = *text_skip_blanks(end);
    snprintf(extent, NAME_MAX_NBYTES, "%.*s", (int)(end - begin), begin);
    return end > begin && end - begin < NAME_MAX_NBYTES && next && strchr(");&|?", next);
}

/* `i <= n`, or if (i > n) return. */
static bool says_one_too_many(const struct kernel_text *kernel, const char *name, char *text, size_t nbytes) {
    const size_t length = strlen(name);
    char extent[NAME_MAX_NBYTES];
    for (const char *at = kernel->begin; (at = text_find_word(at, name, length)) && at < kernel->end; at++) {
        const char *sign = text_skip_blanks(at + length);
        const bool is_inside = sign[0] == '<' && sign[1] == '=', is_outside = sign[0] == '>' && sign[1] != '=' && sign[1] != '>';
        if ((!is_inside && !is_outside) || !read_extent(sign + 1 + is_inside, extent) || (is_outside && !sends_away(kernel, at))) continue;
        snprintf(text, nbytes, "; line %" PRIu32 " lets `%s` be equal to `%s`, which is one too many: %s, unless too little is allocated",
                 line_of(kernel->all, at), name, extent, is_inside ? "< in place of <=" : ">= in place of >");
        return true;
    }
    return false;
}

static bool say_subscript(const struct kernel_text *kernel, const struct guard_access *access, char *text, size_t nbytes) {
    char subscript[NAME_MAX_NBYTES];
    if (!access->argument || !read_subscript(kernel, access->argument, subscript, sizeof subscript)) return false;
    if (access->is_just_behind && says_one_too_many(kernel, subscript, text, nbytes)) return true;
    snprintf(text, nbytes, "; a guard such as if (%s < n) must leave that out, %s", subscript, unless);
    return true;
}

bool guard_is_just_behind(const char *message) {
    static const char byte[] = ": byte ", allocation[] = " of an allocation of ";
    const char *at = strstr(message, byte), *of = at ? strstr(at, allocation) : NULL;
    return of && strtoull(at + strlen(byte), NULL, 10) == strtoull(of + strlen(allocation), NULL, 10);
}

bool guard_find_fault(const char *source, const struct guard_access *access, char *text, size_t nbytes) {
    char *plain = text_without_comments(source);
    struct kernel_text kernel = {.all = plain, .end = plain ? end_of_line(plain, access->line) : NULL};
    kernel.begin = kernel.end ? last_word(plain, kernel.end, "__global__") : NULL;
    if (kernel.begin) find_axes(&kernel, access);
    for (size_t i = 0; i < kernel.count; i++) kernel.axes[i].is_compared = is_compared(&kernel, &kernel.axes[i]);
    const bool is_found = kernel.begin && ((kernel.count == 2 && say_fault(&kernel, text, nbytes)) || say_subscript(&kernel, access, text, nbytes));
    free(plain);
    return is_found;
}
