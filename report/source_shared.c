/* Arrays of shared memory, and the module's, as the source declares them. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source_text.h"
#include "source_types.h"

/* Elements that move the next row by a bank: one, or as many as fill a word. */
static size_t padding_of(size_t element_nbytes) { return element_nbytes < 4 ? 4 / element_nbytes : 1; }

/* The number of last extents of "q[32][4][8]" whose product is `elements`: for 8 one, for 32 two.  0: there is none, or they
 * are all.  *open: the bracket of the first of them; *close: after the last. */
static size_t extents_of_row(const char *text, const char *at, const char *end, uint64_t elements, const char **open,
                             const char **close) {
    enum { EXTENTS_MAX = 4 };
    const char *brackets[EXTENTS_MAX];
    size_t rank = 0;
    *close = at;
    for (const char *next; (next = memchr(*close, '[', (size_t)(end - *close))); rank++) {
        const char *behind = rank < EXTENTS_MAX ? text_behind_bracket(next) : NULL;
        if (!behind || behind > end) return 0;
        brackets[rank] = next;
        *close = behind;
    }
    uint64_t product = 1;
    for (size_t count = 1; count < rank; count++) {
        bool is_known;
        *open = brackets[rank - count];
        product *= text_evaluate(text, *open + 1, text_behind_bracket(*open) - 1, 4, 0, &is_known);
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
        const char *close = text_behind_bracket(open) - 1;
        const bool is_sum = count > 1 && memchr(open, '+', (size_t)(close - open));
        length += (size_t)snprintf(text + length, nbytes - length, is_sum ? "%s(%.*s)" : "%s%.*s", i ? " * " : "[",
                                   (int)(close - open - 1), open + 1);
        open = text_skip_blanks(close + 1);
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
    while (word > at && text_is_word(word[-1])) word--;
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
    return (block && block < end) || (member && member < end && (member - begin < 4 || strncmp(member - 4, "warp", 4) != 0));
}

/* Whether the line has an element of that array: "tile[". */
static bool is_named(const char *line, const char *name, size_t length) {
    const size_t line_length = strcspn(line, "\n");
    for (const char *at = line; (at = text_find_word(at, name, length)) && at < line + line_length; at += length)
        if (*text_skip_blanks(at + length) == '[') return true;
    return false;
}

bool kernel_source_rows(const char *text, uint32_t line, uint64_t nbytes, struct kernel_rows *rows) {
    static const char shared[] = "__shared__";
    char *plain = text_without_comments(text);
    const char *here = line_begin(plain, line);
    bool is_found = false, names_any = false;
    for (const char *at = plain; here && (at = text_find_word(at, shared, strlen(shared))) && at < here;) {
        at += strlen(shared);
        const char *end = at + strcspn(at, ";");
        char type[KERNEL_WORD] = "";
        for (const char *item = at, *stop; item < end; item = stop + 1) {
            struct kernel_parameter array;
            struct kernel_rows read;
            stop = text_item_end(item, end);
            type_read_parameter(item, stop, &array);
            if (item == at) type_resolve(plain, &array);
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

/* Reads its extents, whose product is `count`: one that is not known, such as a template's, follows from the others. */
static bool read_extents(const char *text, const char *at, const char *end, uint64_t count, struct shared_array *array) {
    uint64_t known = 1;
    size_t unknown = RANK_MAX;
    for (array->rank = 0; (at = memchr(at, '[', (size_t)(end - at))) != NULL; array->rank++) {
        const char *behind = text_behind_bracket(at);
        if (!behind || behind > end || array->rank == RANK_MAX) return false;
        bool is_known;
        uint64_t extent = text_evaluate(text, at + 1, behind - 1, 4, 0, &is_known);
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

/* Finds the declaration of the array, which has nbytes bytes, in one statement with __shared__; a rank of 0: its extents are
 * not known.  false: it is not there, or the size of its type is not known. */
static bool read_shared(const char *text, const char *at, const char *end, const char *name, size_t length, uint64_t nbytes,
                        struct shared_array *array) {
    *array = (struct shared_array){.rank = 0};
    for (const char *item = at; item < end; item = text_item_end(item, end) + 1) {
        struct kernel_parameter declared;
        const char *stop = text_item_end(item, end);
        type_read_parameter(item, stop, &declared);
        if (item == at) type_resolve(text, &declared);
        if (item == at) snprintf(array->type, sizeof array->type, "%s", declared.type);
        if (strlen(declared.name) != length || strncmp(declared.name, name, length)) continue;
        const size_t size = type_any_nbytes(text, array->type);
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

/* The common type of all arrays of that name and of nbytes bytes that are declared with the word; false: there is none, or
 * they have several types. */
static bool find_declared(const char *text, const char *word, const char *name, size_t length, uint64_t nbytes,
                          struct shared_array *array) {
    bool is_found = array->type[0];
    for (const char *at = text; at && (at = text_find_word(at, word, strlen(word)));) {
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

static void put_member(FILE *stream, const char *plain, const char *type, uint64_t offset) {
    enum { MEMBERS_MAX = 32 };
    struct kernel_member members[MEMBERS_MAX];
    unsigned lanes;
    if (kernel_type_element(type) || kernel_vector_element(type, &lanes)) return;
    const size_t count = plain ? type_members(plain, type, members, MEMBERS_MAX) : 0;
    for (size_t i = 0; i < count; i++) {
        if (offset < members[i].offset || offset - members[i].offset >= members[i].nbytes) continue;
        fprintf(stream, ", in `.%s`", members[i].name);
        return;
    }
    if (offset) fprintf(stream, ", at its byte %" PRIu64, offset);
}

size_t kernel_source_members(const char *text, const char *type, struct kernel_member *members, size_t capacity) {
    char *plain = text_without_comments(text);
    const size_t count = plain ? type_members(plain, type, members, capacity) : 0;
    free(plain);
    return count;
}

void kernel_source_member(const char *text, const char *type, uint64_t offset, char *words, size_t nbytes) {
    FILE *stream = fmemopen(words, nbytes, "w");
    char *plain = text ? text_without_comments(text) : NULL;
    if (stream) put_member(stream, plain, type, offset);
    if (stream) fclose(stream);
    free(plain);
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
    char *plain = begin ? text_without_comments(text) : NULL;
    const bool is_found = plain && find_shared(plain, told.name, strlen(told.name), told.count * (uint64_t)told.size, &array);
    const int64_t type = is_found ? (int64_t)type_any_nbytes(plain, array.type) : 0;
    FILE *stream = !type || type % told.size ? NULL : fmemopen(words, sizeof words, "w");
    if (stream) {
        const int64_t offset = told.index * told.size, index = offset / type - (offset % type < 0);
        put_array(stream, &array, told.name, strlen(told.name), index, told.count * (uint64_t)told.size / (uint64_t)type);
        put_member(stream, plain, array.type, (uint64_t)(offset - index * type));
        fputs(begin + strcspn(begin, ")"), stream);
        fclose(stream);
        snprintf(begin, nbytes - (size_t)(begin - message), "%s", words);
    }
    free(plain);
}
