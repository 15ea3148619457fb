/* What compile.c asks of each compiler. */
#ifndef SIMT_COMPILE_H
#define SIMT_COMPILE_H

#include "simt.h"

struct source {
    const char *path; /* as the caller has it */
    char *text;
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
typedef enum outcome compiler(const struct source *source, const char *const *options, const char *instance,
                              char **ptx, char **mangled, simt_message *log);

compiler simt_nvrtc;
compiler simt_nvcc;

/* The whole file, with a NUL behind it; NULL with errno set. */
char *simt_read_file(const char *path, size_t *nbytes);

/* A file's folder and the slash behind it: how many bytes of its path. */
size_t simt_folder_length(const char *path);

#endif
