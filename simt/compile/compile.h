/* The interface of compile.c to each compiler. */
#ifndef SIMT_COMPILE_H
#define SIMT_COMPILE_H

#include "ptx/ptx.h"
#include "simt.h"

struct source {
    const simt_source *given;
    const char *name; /* the path, printable: what the compilers know the source by */
    const char *text;
    size_t nbytes;
};

enum outcome {
    OUTCOME_COMPILED,
    OUTCOME_REFUSED, /* the log says why */
    OUTCOME_ABSENT,  /* there is no such compiler */
    OUTCOME_MEMORY
};

/* Compiles with the options, NULL-terminated.  *ptx and, where there is an instance, *mangled are the
 * caller's, once the outcome is OUTCOME_COMPILED. */
typedef enum outcome compiler(const struct source *source, const char *const *options, char **ptx,
                              char **mangled, simt_message *log);

compiler simt_nvrtc;
compiler simt_nvcc;

/* Host code and all, linked.  The names of files in its PTX are those of a private folder. */
enum outcome simt_nvcc_program(const struct source *source, const char *const *options, char **program, size_t *nbytes,
                               simt_message *log);

/* The whole file followed by a NUL; NULL with errno set. */
char *simt_read_file(const char *path, size_t *nbytes);

/* The length of the path's folder, with the slash after it. */
size_t simt_folder_length(const char *path);

/* The compilers know the source by its printable name, and put the working directory before relative ones;
 * the user did not. */
bool simt_rename_source(char **ptx, const struct source *source);

#endif
