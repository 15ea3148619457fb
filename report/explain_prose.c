/* What a rung's first comment says of it, wrapped at the right margin. */
#include <string.h>

#include "explain_words.h"

/* Lines after the first stand below the first word, which follows the mark. */
static void put_paragraph(FILE *stream, const char *mark, const char *text) {
    const int indent = (int)strlen(mark);
    int column = fprintf(stream, "%s", mark);
    for (; *text; text += strspn(text, " ")) {
        const int length = (int)strcspn(text, " "), gap = column > indent;
        if (column + gap + length > EXPLAIN_TEXT_WIDTH)
            column = fprintf(stream, "\n%*s%.*s", indent, "", length, text) - 1;
        else
            column += fprintf(stream, "%*s%.*s", gap, "", length, text);
        text += length;
    }
    fputc('\n', stream);
}

void put_lesson(FILE *stream, const struct ladder_rung *rung) {
    char text[LADDER_LESSON_CAPACITY];
    for (size_t i = 0; ladder_lesson(rung, i, text); i++) put_paragraph(stream, "", text);
    fputc('\n', stream);
}

void put_misprints(FILE *stream, const struct ladder_rung *rung) {
    char text[LADDER_MISPRINT_CAPACITY];
    for (size_t i = 0; ladder_misprint(rung, i, text); i++) {
        if (i == 0) fputs("\nmisprints in the sources (docs/ladder.md has their titles and places)\n", stream);
        put_paragraph(stream, "  - ", text);
    }
}
