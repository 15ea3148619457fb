/* What the first comment of a rung tells its readers. */
#include "ladder.h"

#include <stdio.h>
#include <string.h>

#include "comment.h"

/* The first paragraph below the title. */
static void read_idea(const char *source, char text[LADDER_LESSON_CAPACITY]) {
    struct ladder_line line;
    size_t length = 0;
    text[0] = '\0';
    for (int number = 0; ladder_next_line(&source, &line); number++) {
        if (number < 2) continue; /* the title and the blank line below it */
        if (length) text[length++] = ' ';
        if (!ladder_text_after(&line, "// ", text + length, LADDER_LESSON_CAPACITY - length)) break;
        length += strlen(text + length);
        if (length + 1 >= LADDER_LESSON_CAPACITY) return;
    }
    text[length ? length - 1 : 0] = '\0';
}

bool ladder_lesson(const struct ladder_rung *rung, size_t index, char text[LADDER_LESSON_CAPACITY]) {
    static const char *const facts[] = {"Fixes", "Still costs"};
    char prefix[24], value[LADDER_LESSON_CAPACITY - 24];
    if (index > sizeof facts / sizeof facts[0]) return false;
    if (index == 0) {
        read_idea(rung->file->text, text);
        return true;
    }
    snprintf(prefix, sizeof prefix, "// %s", facts[index - 1]);
    if (!ladder_fact(rung->file, prefix, 0, value, sizeof value)) return false;
    snprintf(text, LADDER_LESSON_CAPACITY, "%s%s%s", facts[index - 1], value[0] == ':' ? "" : " ", value);
    return true;
}
