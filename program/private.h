/* For this folder alone. */
#ifndef PROGRAM_PRIVATE_H
#define PROGRAM_PRIVATE_H

#include <stddef.h>

#include "program.h"
#include "record.h"

struct program {
    const char *path;             /* as the user has it */
    const char *const *arguments; /* from the path on */
    int file;                     /* open: of the program to be executed */
    int record_file;
    struct record *record;
    const char *runtime; /* the stand-in's path */
    struct program_end end;
    void (*progress)(void *context, uint64_t launch, const char *kernel, double seconds);
    void *progress_context;
    bool is_compiled; /* from a .cu file */
};

/* find.c: where the stand-in is, beside this program or where both are installed.  NULL: nowhere. */
char *program_find_runtime(void);

/* check.c: whether the stand-in can take part in the program; if not, *message says why. */
bool program_check(const char *path, int file, simt_message *message);

#endif
