/* A program that NVRTC compiles and what that gives: for what stands in for NVRTC (nvrtc_cache.c), and for the process that
 * compiles for it (compiler.c). */
#ifndef NVRTC_CACHE_PROGRAM_H
#define NVRTC_CACHE_PROGRAM_H

#include <stdbool.h>
#include <stdio.h>

#include "common/nvrtc.h"
#include "cuda/compile.h"

enum { FINE = 0, OUT_OF_MEMORY = 1, INVALID_OPTION = 5, COMPILATION = 6, NAME_EXPRESSION_NOT_VALID = 10 };
enum { EXPRESSIONS_MAX = 8 };

/* What compiling gives, one behind the other in an entry. */
enum { LOG, PTX, CUBIN, LOWERED, RESULT_COUNT = LOWERED + EXPRESSIONS_MAX };

struct _nvrtcProgram {
    char *text, *name, **header_texts, **header_names;
    int header_count, expression_count;
    char *expressions[EXPRESSIONS_MAX];
    struct wf_compiled results[RESULT_COUNT];
};

/* NULL: no memory. */
char **program_copy_list(const char *const *list, int count);
void program_free_list(char **list, int count);

void program_forget_results(wf_nvrtc_program program);
void program_free(wf_nvrtc_program program);

/* What CompileProgram returned; the results are the program's. */
int program_compile(const struct wf_nvrtc *nvrtc, wf_nvrtc_program program, int option_count, const char *const *options);

/* An entry: what CompileProgram returned, the sizes of the results, the results.  image->bytes NULL: no memory. */
void program_pack(wf_nvrtc_program program, int returned, struct wf_compiled *image);
bool program_unpack(const struct wf_compiled *image, wf_nvrtc_program program, int *returned);

/* What is to be compiled, as text; with the folder in which NVRTC is to run. */
struct request {
    struct _nvrtcProgram program;
    char *folder, **options;
    int option_count;
};
bool request_write(FILE *file, const struct request *request);
bool request_read(FILE *file, struct request *request);

#endif
