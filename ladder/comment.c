#include "comment.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

bool ladder_next_line(const char **rest, struct ladder_line *line) {
    if (!**rest) return false;
    line->text = *rest;
    line->length = strcspn(*rest, "\n");
    *rest += line->length + ((*rest)[line->length] == '\n');
    while (line->length && isspace((unsigned char)line->text[line->length - 1])) line->length--;
    return true;
}

bool ladder_text_after(const struct ladder_line *line, const char *prefix, char *text, size_t capacity) {
    size_t skip = strlen(prefix);
    if (line->length < skip || memcmp(line->text, prefix, skip)) return false;
    while (skip < line->length && isspace((unsigned char)line->text[skip])) skip++;
    snprintf(text, capacity, "%.*s", (int)(line->length - skip), line->text + skip);
    return true;
}

static void append_continuations(const char *rest, char *text, size_t capacity) {
    struct ladder_line line;
    while (ladder_next_line(&rest, &line)) {
        size_t length = strlen(text);
        text[length] = ' ';
        if (length + 1 < capacity &&
            ladder_text_after(&line, "//  ", text + length + 1, capacity - length - 1))
            continue;
        text[length] = '\0';
        return;
    }
}

bool ladder_fact(const struct ladder_file *file, const char *name, size_t index, char *text,
                 size_t capacity) {
    const char *rest = file->text;
    struct ladder_line line;
    while (ladder_next_line(&rest, &line)) {
        if (!ladder_text_after(&line, name, text, capacity) || index--) continue;
        append_continuations(rest, text, capacity);
        return true;
    }
    return false;
}
