#include "kernel_source.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source_conditions.h"
#include "source_launch.h"
#include "source_template.h"
#include "source_text.h"
#include "source_types.h"

/* The bracket that opens its parameters; NULL: the text does not define it. */
static const char *find_parameters(const char *text, const char *name, size_t length) {
    static const char global[] = "__global__";
    for (const char *at = text; (at = text_find_word(at, global, strlen(global)));) {
        at += strlen(global);
        for (;;) { /* words, and those with brackets that are no name: __launch_bounds__(256) */
            at = text_skip_blanks(at);
            const char *word = at;
            while (text_is_word(*at)) at++;
            if (at == word) {
                if (!*at || *at == ';' || *at == '(') break;
                at++;
                continue;
            }
            const char *open = text_skip_blanks(at);
            if (*open != '(') continue;
            if ((size_t)(at - word) == length && !strncmp(word, name, length)) return open;
            at = text_behind_bracket(open);
            if (!at) return NULL;
            if (strncmp(word, "__", 2)) break;
        }
    }
    return NULL;
}

/* What the first use of the pointer's elements in the kernel's body does to them: atomicAdd(&bins[i], 1), bins[i] += 1,
 * *total += 1 or bins[i]++ change what is there; out[i] = 1 does not ask for it. */
static enum kernel_use first_use(const char *body, const char *end, const char *name) {
    static const char *const updates[] = {"+=", "-=", "|=", "&=", "^=", "++", "--"};
    const size_t length = strlen(name);
    for (const char *at = body; (at = text_find_word(at, name, length)) && at < end; at += length) {
        const char *before = at, *behind = text_skip_blanks(at + length);
        while (before > body && strchr("&( ", before[-1])) before--;
        const char *word = before;
        while (word > body && text_is_word(word[-1])) word--;
        if (before > word && !strncmp(word, "atomic", 6)) return KERNEL_UPDATES;
        if (*behind != '[' && before[-1] != '*') continue;
        while (*behind == '[' && text_behind_bracket(behind)) behind = text_skip_blanks(text_behind_bracket(behind));
        for (size_t i = 0; i < sizeof updates / sizeof *updates; i++)
            if (!strncmp(behind, updates[i], 2)) return KERNEL_UPDATES;
        if (*behind == '.') behind = text_skip_word(behind + 1);
        const char *again = text_find_word(behind, name, length);
        const bool is_stored = behind[0] == '=' && behind[1] != '=';
        return is_stored && !(again && again < behind + strcspn(behind, ";")) ? KERNEL_STORES : KERNEL_READS;
    }
    return KERNEL_UNKNOWN;
}

static void read_uses(const char *behind, struct kernel_source *source) {
    const char *body = text_skip_blanks(behind), *end = *body == '{' ? text_behind_bracket(body) : NULL;
    for (size_t i = 0; end && i < source->count; i++)
        if (source->parameters[i].is_pointer) source->parameters[i].use = first_use(body, end, source->parameters[i].name);
}

/* How a body uses a number: it compares with it, divides by it or hands it on; it multiplies by it what is no constant. */
struct number_use {
    bool is_extent, is_pitch;
};

/* A factor that may be part of an index, not an element: a name or a bracket, no number and no `in[i]`. */
static bool ends_index(char c) { return c == ')' || (text_is_word(c) && !isdigit((unsigned char)c)); }

static bool begins_index(const char *at) {
    while (text_is_word(*at) || *at == '.') at++;
    return *text_skip_blanks(at) != '[';
}

static bool is_comparison(const char *at) { return (*at == '<' || *at == '>') && at[1] != *at && at[-1] != *at; }

static struct number_use use_of_number(const char *body, const char *end, const char *name) {
    const size_t length = strlen(name);
    struct number_use use = {0};
    bool is_used = false;
    for (const char *at = body; length && (at = text_find_word(at, name, length)) && at < end; at += length) {
        const char *before = text_before_blanks(body, at), *behind = text_skip_blanks(at + length);
        const char *last = before > body ? before - 1 : body;
        const bool is_argument = strchr("(,", *last) && strchr("),", *behind);
        const bool is_end = *last == '=' && last > body && is_comparison(last - 1); /* <= n */
        is_used = true;
        use.is_extent |= is_argument || is_end || is_comparison(last) || is_comparison(behind) || strchr("%*/", *last) ||
                         strchr("%*/-", *behind);
        const char *left = text_before_blanks(body, last), *right = text_skip_blanks(behind + 1);
        use.is_pitch |= *last == '*' && left > body && ends_index(left[-1]);
        use.is_pitch |= *behind == '*' && (*right == '(' || (ends_index(*right) && begins_index(right)));
    }
    use.is_extent |= !is_used;
    return use;
}

static void read_numbers(const char *behind, struct kernel_source *source) {
    const char *body = text_skip_blanks(behind), *end = *body == '{' ? text_behind_bracket(body) : NULL;
    for (size_t i = 0; end && i < source->count; i++) {
        struct kernel_parameter *parameter = &source->parameters[i];
        if (parameter->is_pointer || !parameter->element) continue;
        const struct number_use use = use_of_number(body, end, parameter->name);
        parameter->is_no_extent = !use.is_extent;
        source->pitches += use.is_pitch && parameter->element[0] != 'f';
    }
}

/* "ns::reduce<int, 64>" -> "reduce" */
static const char *bare_name(const char *name, size_t *length) {
    const char *end = name + strcspn(name, "<(");
    const char *begin = end;
    while (begin > name && text_is_word(begin[-1])) begin--;
    *length = (size_t)(end - begin);
    return begin;
}

/* The parameters between the brackets, whose types and constants `taken` defines. */
static void read_parameters(const char *taken, const char *open, const char *behind, struct kernel_source *source) {
    const char *item = text_skip_blanks(open + 1);
    while (item < behind - 1 && source->count < KERNEL_PARAMETERS_MAX) {
        const char *end = text_item_end(item, behind - 1);
        type_read_parameter(item, end, &source->parameters[source->count++]);
        item = end + 1;
    }
    for (size_t i = 0; i < source->count; i++) {
        struct kernel_parameter *parameter = &source->parameters[i];
        type_resolve(taken, parameter);
        parameter->nbytes = type_nbytes(parameter->type);
        if (!parameter->nbytes) parameter->nbytes = type_struct_nbytes(taken, parameter->type);
    }
}

/* A launch may also stand where the compiler skips it, as in an example of how to call the kernel. */
static bool read_kernel(const char *plain, const char *taken, const char *name, size_t length, const char *instance,
                        struct kernel_source *source) {
    const char *open = find_parameters(taken, name, length);
    if (!open) open = find_parameters(taken = plain, name, length);
    const char *behind = open ? text_behind_bracket(open) : NULL;
    if (!behind) return false;
    read_parameters(taken, open, behind, source);
    read_uses(behind, source);
    read_numbers(behind, source);
    const char *of_template = strchr(instance, '<');
    if (!of_template || !launch_read(plain, name, length, of_template, source)) launch_read(plain, name, length, NULL, source);
    if (!source->has_launch) launch_guess(taken, open, source);
    return true;
}

/* The text with the template's arguments as the instance has them; NULL: the kernel is none, or there is no memory. */
static char *define_template(const char *plain, const char *name, size_t length, const char *instance) {
    char *taken = source_taken(plain);
    const char *open = taken ? find_parameters(taken, name, length) : NULL;
    open = open ? plain + (open - taken) : find_parameters(plain, name, length);
    free(taken);
    return open ? template_define(plain, open, instance) : NULL;
}

bool kernel_source_read(const char *text, const char *name, struct kernel_source *source) {
    size_t length;
    char *plain = text_without_comments(text);
    const char *instance = name;
    name = bare_name(name, &length);
    *source = (struct kernel_source){.count = 0};
    char *defined = plain && length ? define_template(plain, name, length, instance) : NULL;
    if (defined) {
        free(plain);
        plain = defined;
    }
    char *taken = plain && length ? source_taken(plain) : NULL;
    const bool is_read = taken && read_kernel(plain, taken, name, length, instance, source);
    free(taken);
    free(plain);
    return is_read;
}

bool kernel_source_instance(const char *text, char *instance, size_t nbytes) {
    static const char global[] = "__global__";
    char *plain = text_without_comments(text);
    bool is_found = false;
    for (const char *at = plain; at && !is_found && (at = text_find_word(at, global, strlen(global)));) {
        at += strlen(global);
        const char *name = NULL, *name_end = NULL, *stop = at + strcspn(at, ";{");
        for (const char *word = at; word < stop; word++) { /* the last word before the bracket of its parameters */
            const char *end = word;
            while (text_is_word(*end)) end++;
            if (end > word && *text_skip_blanks(end) == '(' && strncmp(word, "__", 2)) name = word, name_end = end;
            if (name) break;
            word = end > word ? end - 1 : word;
        }
        const char *open = name ? text_skip_blanks(name_end) : NULL;
        is_found = open && template_suggest(plain, open, name, name_end, instance, nbytes);
    }
    free(plain);
    return is_found;
}
