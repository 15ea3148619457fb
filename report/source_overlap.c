/* Parts of an extern array of shared memory, which a kernel divides by pointers: whether two lines access different ones. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_source.h"
#include "source_text.h"

enum { PARTS_MAX = 16 };

/* The array, the first one, and the pointers into it. */
struct parts {
    struct {
        const char *name;
        size_t length;
    } parts[PARTS_MAX];
    size_t count;
};

static void add_part(struct parts *parts, const char *name, const char *end) {
    if (end == name || parts->count == PARTS_MAX) return;
    parts->parts[parts->count].name = name;
    parts->parts[parts->count++].length = (size_t)(end - name);
}

static const char *word_end(const char *at) {
    while (text_is_word(*at)) at++;
    return at;
}

/* Which of the parts the text from `at` to `end` names first; count: none. */
static size_t find_part(const struct parts *parts, const char *at, const char *end) {
    while (at < end) {
        const char *stop = word_end(at);
        for (size_t p = 0; p < parts->count && stop > at; p++)
            if (parts->parts[p].length == (size_t)(stop - at) && !strncmp(parts->parts[p].name, at, (size_t)(stop - at))) return p;
        at = stop > at ? stop : at + 1;
    }
    return parts->count;
}

/* `extern __shared__ char smem[];` */
static bool find_array(const char *begin, const char *end, struct parts *parts) {
    static const char shared[] = "__shared__";
    for (const char *at = begin; (at = text_find_word(at, shared, strlen(shared))) && at < end; at += strlen(shared)) {
        const char *before = at, *bracket = at + strcspn(at, "[;");
        while (before > begin && isspace((unsigned char)before[-1])) before--;
        if (*bracket != '[' || *text_skip_blanks(bracket + 1) != ']' || before - begin < 6 || strncmp(before - 6, "extern", 6)) continue;
        const char *name_end = bracket, *name;
        while (name_end > at && isspace((unsigned char)name_end[-1])) name_end--;
        for (name = name_end; name > at && text_is_word(name[-1]);) name--;
        add_part(parts, name, name_end);
        return true;
    }
    return false;
}

/* Whether the pointer differs from thread to thread: then it leads into what others have by its array. */
static bool is_of_thread(const char *at, const char *end) {
    static const char *const words[] = {"threadIdx", "tid", "t", "lane", "warp", "lane_id", "warp_id"};
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        const char *found = text_find_word(at, words[w], strlen(words[w]));
        if (found && found < end) return true;
    }
    return false;
}

/* Whether the name gets another value, as buffers that are swapped do. */
static bool is_changed(const char *at, const char *name, size_t length) {
    for (; (at = text_find_word(at, name, length)); at += length) {
        const char *behind = text_skip_blanks(at + length);
        if ((behind[0] == '=' && behind[1] != '=') || ((behind[0] == '+' || behind[0] == '-') && strchr("=+-", behind[1]))) return true;
    }
    return false;
}

/* `float *a = (float *)smem;` and `double *b = (double *)(a + n);`, also of several behind commas. */
static void find_pointers(const char *begin, const char *end, struct parts *parts) {
    for (const char *at = begin; at < end; at++) {
        if (*at != '*') continue;
        const char *name = text_skip_blanks(at + 1), *name_end = word_end(name), *equals = text_skip_blanks(name_end);
        if (name_end == name || equals[0] != '=' || equals[1] == '=') continue;
        const char *stop = equals + strcspn(equals, ";"), *item_end = text_item_end(equals, stop);
        const bool is_fixed = !is_of_thread(equals, item_end) && !is_changed(equals, name, (size_t)(name_end - name));
        if (is_fixed && find_part(parts, equals, item_end) < parts->count) add_part(parts, name, name_end);
    }
}

/* The only part that the line stores to, or else reads; count: there is none, or it is one of several. */
static size_t part_of_line(const struct parts *parts, const char *line, bool is_store) {
    const char *end = line + strcspn(line, "\n"), *equals = memchr(line, '=', (size_t)(end - line));
    if (equals && is_store) end = equals;
    else if (equals && equals > line && !strchr("+-*/|&^<>!=", equals[-1])) line = equals;
    const size_t first = find_part(parts, line, end);
    for (size_t other = first; line < end && other < parts->count;) {
        if (other != first) return parts->count;
        while (line < end && strncmp(line, parts->parts[first].name, parts->parts[first].length)) line++;
        line += parts->parts[first].length;
        other = line < end ? find_part(parts, line, end) : parts->count;
    }
    return first;
}

static const char *line_at(const char *text, uint32_t line) {
    for (uint32_t l = 1; text && l < line; l++) {
        text = strchr(text, '\n');
        text += text != NULL;
    }
    return text;
}

/* Where the function begins that has the line. */
static const char *function_at(const char *text, const char *line) {
    static const char *const words[] = {"__global__", "__device__"};
    const char *found = NULL;
    for (size_t w = 0; w < 2; w++)
        for (const char *at = text; (at = text_find_word(at, words[w], strlen(words[w]))) && at < line; at += strlen(words[w]))
            if (!found || at > found) found = at;
    return found;
}

static bool is_store(const char *words) { return !strncmp(words, "store", 5) || !strncmp(words, "update", 6); }

static void say_overlap(const struct parts *parts, size_t one, size_t other, char *message, char *missing, size_t nbytes) {
    char words[2 * KERNEL_WORD + KERNEL_WORD + 192], rest[KERNEL_MESSAGE];
    const int lengths[] = {(int)parts->parts[one].length, (int)parts->parts[other].length, (int)parts->parts[0].length};
    snprintf(words, sizeof words, ": `%.*s` and `%.*s`, parts of `%.*s`, overlap there: begin one behind the end of the other; or, if they "
             "take turns there,", lengths[0] < KERNEL_WORD ? lengths[0] : KERNEL_WORD, parts->parts[one].name,
             lengths[1] < KERNEL_WORD ? lengths[1] : KERNEL_WORD, parts->parts[other].name,
             lengths[2] < KERNEL_WORD ? lengths[2] : KERNEL_WORD, parts->parts[0].name);
    snprintf(rest, sizeof rest, "%s", missing + 1);
    if ((size_t)(missing - message) + strlen(words) + strlen(rest) + 1 <= nbytes)
        snprintf(missing, nbytes - (size_t)(missing - message), "%s%s", words, rest);
}

void kernel_source_overlap(const char *text, uint32_t line, uint32_t other_line, char *message, size_t nbytes) {
    char *missing = strstr(message, ": no __sync"), *races = strstr(message, " races with the ");
    char *plain = missing && races && strstr(message, " of shared memory") ? text_without_comments(text) : NULL;
    const char *at = line_at(plain, line), *other_at = line_at(plain, other_line);
    const char *begin = at && other_at ? function_at(plain, at < other_at ? at : other_at) : NULL;
    const char *end = at < other_at ? other_at : at;
    struct parts parts = {.count = 0};
    if (begin && (find_array(begin, end, &parts) || find_array(plain, end, &parts))) {
        find_pointers(begin, end, &parts);
        const size_t one = part_of_line(&parts, at, is_store(message));
        const size_t other = part_of_line(&parts, other_at, is_store(races + strlen(" races with the ")));
        if (one != other && one && other && one < parts.count && other < parts.count) say_overlap(&parts, one, other, message, missing, nbytes);
    }
    free(plain);
}
