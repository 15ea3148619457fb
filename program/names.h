/* Names of files in a report: as the user has them, not as the compiler was given them. */
#ifndef PROGRAM_NAMES_H
#define PROGRAM_NAMES_H

#include "private.h"

struct names {
    const char *path; /* the program's */
    char *directory;  /* the working one, with a slash behind it; NULL: no memory */
};

struct names names_of(const struct program *program);
void names_clear(struct names *names);

/* How a file's name in the record is shown.  The program may have written into the record, so the name may be any text. */
void names_show(const struct names *names, const char file[RECORD_NAME], char text[2 * RECORD_NAME]);

#endif
