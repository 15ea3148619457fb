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

/* A name from the record, which nothing else need be true of, as it is to be shown. */
void names_show(const struct names *names, const char file[RECORD_NAME], char text[2 * RECORD_NAME]);

#endif
