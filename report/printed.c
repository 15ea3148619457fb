#include "printed.h"

#include "common/printable.h"

static void put_printable(FILE *stream, const char *text, size_t nbytes, enum wf_lines lines) {
    char piece[16];
    for (size_t at = 0, width; at < nbytes; at += width) {
        width = wf_character_nbytes(text + at, nbytes - at);
        width += width == 0;
        fwrite(piece, 1, wf_printable(text + at, width, lines, piece, sizeof piece), stream);
    }
}

void put_name(FILE *stream, const char *text, size_t nbytes) {
    put_printable(stream, text, nbytes, WF_LINES_ESCAPED);
}

void put_lines(FILE *stream, const char *text, size_t nbytes) {
    put_printable(stream, text, nbytes, WF_LINES_KEPT);
}

char *copy_name(const char *text) {
    return wf_printable_copy(text, WF_LINES_ESCAPED);
}
