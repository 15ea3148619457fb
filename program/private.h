/* For this folder alone. */
#ifndef PROGRAM_PRIVATE_H
#define PROGRAM_PRIVATE_H

#include <stddef.h>

#include "program.h"
#include "record.h"

struct program {
    const char *path;             /* as the user has it, or where PATH has it */
    char *found;                  /* the latter; NULL: the former */
    const char *const *arguments; /* from the program on */
    int file;                     /* open: of the program to be executed */
    int record_file;
    struct record *record;
    char *folder; /* where the stand-ins are */
    struct program_end end;
    void (*progress)(void *context, uint64_t launch, const char *kernel, double seconds);
    void *progress_context;
    bool is_compiled; /* from a .cu file */
};

/* Of a count in the record, and what there is room for. */
static inline uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* find.c: the folder of the stand-ins, beside this program or where they are installed.  NULL: nowhere. */
char *program_find_folder(void);

/* The file that a name without a slash means to a shell, or NULL: none; errno is ENOMEM if there is no memory. */
char *program_find_in_path(const char *name);

/* host_lines.c: of each place in the program's own code the line, where it is known. */
void program_find_host_lines(struct program *program);

/* check.c: whether the stand-ins can take part in the program; if not, *message says why. */
bool program_check(const char *path, int file, simt_message *message);

#endif
