/* The files of a reduction as pieces that can be reduced apart, by several processes or at several times: whole files, and
 * ranges of large ones: of elements (rows, along axes) of raw and .npy files, of whole lines of texts. */
#ifndef CLI_PIECES_H
#define CLI_PIECES_H

#include "commands.h"
#include "io/tables.h"
#include "part.h"

#include <stdio.h>
#include <time.h>

struct piece_source {
    const char *path;
    int64_t nbytes; /* of the file, as it was found */
    struct timespec changed;
};

struct piece {
    const struct piece_source *source, *pair; /* pair: of dot's second elements; NULL: it is another op */
    int64_t first, count; /* elements of it; count -1: all that it has, however many */
    struct wf_text_range lines; /* of a text; end 0: all that it has */
    int64_t index;        /* of the first one, in the array of all files; -1: not known before those before are read */
};

/* In the order of the array. */
struct pieces {
    wf_type type;
    struct piece_source *sources;
    size_t source_count;
    const struct piece_source *names; /* the first text that has a line, which tells a table's columns */
    struct piece *piece;
    size_t count;
    bool have_own_results; /* rows whose results follow each other, as their dimension is not reduced */
};

/* Looks at all files; of dot there are two, which are cut alike.  Returns a status, having said what is wrong; the pieces are to be cleared in any case. */
int pieces_make(wf_handle *handle, const struct request *request, struct pieces *pieces);
void pieces_clear(struct pieces *pieces);

/* Writes what is reduced, as lines: the settings in two, then each file with its size and, with times, when it was changed. */
void pieces_describe(FILE *stream, const struct request *request, const struct pieces *pieces, bool has_times);

/* The same of one piece, with its range. */
void piece_describe(FILE *stream, const struct request *request, const struct pieces *pieces, size_t i);

/* Reduces one piece.  Fails, too, if its file is not as it was found. */
int piece_reduce(wf_handle *handle, const struct request *request, const struct pieces *pieces, size_t i, struct part *part);

/* Appends the results of pieces from number i on to those of the pieces before; clears next. */
int pieces_append(wf_handle *handle, const struct request *request, const struct pieces *pieces, size_t i, struct part *whole,
                  struct part *next);

#endif
