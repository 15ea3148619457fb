#include "source_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool text_is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

const char *text_skip_blanks(const char *text) {
    while (isspace((unsigned char)*text)) text++;
    return text;
}

const char *text_before_blanks(const char *begin, const char *at) {
    while (at > begin && isspace((unsigned char)at[-1])) at--;
    return at;
}

const char *text_skip_word(const char *text) {
    while (text_is_word(*text)) text++;
    return text_skip_blanks(text);
}

char *text_without_comments(const char *text) {
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

const char *text_find_word(const char *text, const char *word, size_t length) {
    if (!length || !text_is_word(*word)) return NULL;
    for (const char *at = text; (at = strchr(at, *word)); at++) {
        if ((at == text || !text_is_word(at[-1])) && !strncmp(at, word, length) && !text_is_word(at[length])) return at;
    }
    return NULL;
}

const char *text_behind_bracket(const char *open) {
    int depth = 0;
    for (const char *at = open; *at; at++) {
        depth += strchr("([{", *at) != NULL;
        depth -= strchr(")]}", *at) != NULL;
        if (!depth) return at + 1;
    }
    return NULL;
}

const char *text_item_end(const char *at, const char *end) {
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

/* The number that a name stands for, where the text gives it one: `name = 5;` or `#define name 5`.  Each definition that gives
 * none counts as several levels, so that names which stand for one another are not followed without end. */
static uint64_t value_of(struct expression *of, const char *name, size_t length) {
    enum { FAILED_DEPTH = 4 };
    int depth = of->depth + 1;
    for (const char *at = of->text; depth <= EXPRESSION_DEPTH_MAX && (at = text_find_word(at, name, length)); at += length) {
        const char *behind = text_skip_blanks(at + length), *before = at;
        while (before > of->text && isspace((unsigned char)before[-1])) before--;
        bool is_macro = before - of->text >= 7 && !strncmp(before - 7, "#define", 7);
        const char *end = behind + strcspn(behind, is_macro ? "\n" : ";,\n"), *again = text_find_word(behind, name, length);
        if (!is_macro && (behind[0] != '=' || behind[1] == '=')) continue;
        if (again && again < end) continue; /* n = n / 2 */
        bool is_known;
        uint64_t value = text_evaluate(of->text, behind + !is_macro, end, of->element_nbytes, depth, &is_known);
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
    of->is_known &= which >= 'x' && which <= 'z' && !text_is_word(*of->at) && of->depth < EXPRESSION_DEPTH_MAX &&
                    text_read_extent(of->text, name, name_end, extent, of->depth + 1);
    return of->is_known ? extent[which - 'x'] : 0;
}

static uint64_t primary(struct expression *of) {
    of->at = text_skip_blanks(of->at);
    if (of->at >= of->end) return of->is_known = false;
    if (isdigit((unsigned char)*of->at)) {
        char *end;
        uint64_t value = strtoull(of->at, &end, 0);
        while (end < of->end && strchr("uUlL", *end)) end++;
        of->is_known &= !text_is_word(*end) && *end != '.';
        of->at = end;
        return value;
    }
    const char *name = of->at;
    while (of->at < of->end && text_is_word(*of->at)) of->at++;
    size_t length = (size_t)(of->at - name);
    if (length == 6 && !strncmp(name, "sizeof", 6)) {
        of->at = text_skip_blanks(of->at);
        if (*of->at == '(') of->at = text_behind_bracket(of->at);
        else {
            while (of->at < of->end && (*of->at == '*' || *of->at == ' ')) of->at++;
            while (of->at < of->end && text_is_word(*of->at)) of->at++;
        }
        if (!of->at) of->at = of->end;
        return of->element_nbytes;
    }
    if (length && of->at + 1 < of->end && *of->at == '.') return member_of(of, name, of->at);
    if (length) return value_of(of, name, length);
    const char *behind = *of->at == '(' ? text_behind_bracket(of->at) : NULL;
    if (!behind || behind > of->end || of->depth >= EXPRESSION_DEPTH_MAX) return of->is_known = false;
    uint64_t value =
        text_evaluate(of->text, of->at + 1, behind - 1, of->element_nbytes, of->depth + 1, &of->is_known);
    of->at = behind;
    return value;
}

static uint64_t product(struct expression *of) {
    uint64_t value = primary(of);
    for (;;) {
        of->at = text_skip_blanks(of->at);
        char sign = of->at < of->end ? *of->at : 0;
        if (!of->is_known || !sign || !strchr("*/%", sign)) return value;
        of->at++;
        uint64_t other = primary(of);
        if (sign != '*' && !other) return of->is_known = false;
        value = sign == '*' ? value * other : sign == '/' ? value / other : value % other;
    }
}

/* Sums of products; shifts bind as in C. */
uint64_t text_evaluate(const char *text, const char *at, const char *end, size_t element_nbytes, int depth,
                         bool *is_known) {
    struct expression of = {text, at, end, element_nbytes, depth, true};
    uint64_t value = product(&of);
    for (;;) {
        of.at = text_skip_blanks(of.at);
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

/* ---- extents ------------------------------------------------------------------------------------- */

static bool is_open(char c) { return c == '(' || c == '{'; }

/* Where the bracket of `dim3 a(1), name(2);` or `dim3 name = dim3(2);` opens; NULL: no such name is a dim3. */
static const char *find_dim3(const char *text, const char *name, size_t length) {
    static const char dim3[] = "dim3";
    for (const char *found = text; (found = text_find_word(found, name, length)); found += length) {
        const char *behind = text_skip_blanks(found + length), *begin = found; /* of the statement */
        while (begin > text && !strchr(";{}", begin[-1])) begin--;
        begin = text_skip_blanks(begin);
        if (!strncmp(begin, "const ", 6)) begin = text_skip_blanks(begin + 6);
        if (strncmp(begin, dim3, 4)) continue;
        if (*behind == '=') behind = text_skip_blanks(behind + 1);
        if (!strncmp(behind, dim3, 4)) behind = text_skip_blanks(behind + 4);
        if (is_open(*behind)) return behind;
    }
    return NULL;
}

bool text_read_extent(const char *text, const char *at, const char *end, uint64_t extent[3], int depth) {
    at = text_skip_blanks(at);
    const char *word = at;
    while (at < end && text_is_word(*at)) at++;
    const size_t length = (size_t)(at - word);
    const char *open = text_skip_blanks(at);
    bool is_dim3 = length == 4 && !strncmp(word, "dim3", 4), is_known = depth < EXPRESSION_DEPTH_MAX;
    const char *declared = !is_dim3 && length && text_skip_blanks(at) >= end ? find_dim3(text, word, length) : NULL;
    if (declared) open = declared;
    for (int d = 0; d < 3; d++) extent[d] = 1;
    if (!is_dim3 && !declared) {
        if (is_known) extent[0] = text_evaluate(text, word, end, 4, depth, &is_known);
        return is_known;
    }
    const char *last = is_open(*open) ? text_behind_bracket(open) : NULL;
    if (!last) return false;
    const char *item = open + 1;
    for (int d = 0; d < 3 && item < last - 1 && is_known; d++) {
        const char *stop = text_item_end(item, last - 1);
        extent[d] = text_evaluate(text, item, stop, 4, depth, &is_known);
        item = stop + 1;
    }
    return is_known;
}
