/* A private folder of temporary files, for a compiler that hands names to a shell. */
#ifndef SIMT_SCRATCH_H
#define SIMT_SCRATCH_H

#include <limits.h>
#include <stdbool.h>

#include "simt.h"

/* An include that goes up, "../mine.cuh", must not be looked for in a folder that others write to: the files
 * lie this many folders below the private one. */
enum { SCRATCH_DEPTH = 16 };

struct scratch {
    char folder[PATH_MAX]; /* absolute; the inmost, which holds the files */
    int depth;             /* how many were made; 0: none */
    const simt_leftovers *leftovers;
};

/* No part of a shell's language, as a path or, with blanks, as what an environment variable holds. */
bool simt_is_plain_path(const char *text);
bool simt_is_plain_setting(const char *text);

/* In TMPDIR if that is a plain, absolute path, else in /tmp.  false: errno says why, and nothing is left. */
bool simt_scratch_open(struct scratch *scratch, const simt_leftovers *leftovers);
void simt_scratch_close(struct scratch *scratch);

/* false: it does not fit. */
bool simt_scratch_path(char path[PATH_MAX], const struct scratch *scratch, const char *name);

#endif
