/* A program that is run, and the functions of this folder that work on it; private to the folder. */
#ifndef PROGRAM_PRIVATE_H
#define PROGRAM_PRIVATE_H

#include <stddef.h>

#include "program.h"
#include "record.h"

struct program {
    const char *path;             /* as the user gave it, or, for a name without a slash, as found in PATH */
    char *found;                  /* the path that was found in PATH, to be freed; NULL: path is the user's */
    const char *const *arguments; /* from the program's name on */
    int file;                     /* the open file of the program to be executed */
    int record_file;
    struct record *record;
    char *folder; /* where the stand-ins are */
    struct program_end end;
    void (*progress)(void *context, uint64_t launch, const char *kernel, double seconds);
    void *progress_context;
    bool is_compiled; /* from a .cu file */
};

/* The smaller one: the program may have overwritten the record, so a count in it is limited to the record's capacity. */
static inline uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* find.c: the folder of the stand-ins, beside this program or where they are installed.  NULL: nowhere. */
char *program_find_folder(void);

/* The file that a shell would run for a name without a slash; NULL: there is none, or, with errno ENOMEM, memory ran out. */
char *program_find_in_path(const char *name);

/* host_lines.c: finds the source lines of places in the program's host code, where they are known. */
void program_find_host_lines(struct program *program);

/* check.c: whether the stand-ins can take part in the program; if not, *message says why. */
bool program_check(const char *path, int file, simt_message *message);

#endif
