/* From CUDA C to PTX: which compiler is tried with which options, and what is said when none succeeds. */
#include "compile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/printable.h"

/* ---- options ------------------------------------------------------------------------------------- */

enum { DEFAULT_OPTIONS_MAX = 4 };

static bool begins_with(const char *text, const char *prefix) {
    return !strncmp(text, prefix, strlen(prefix));
}

static bool is_given(const char *const *options, const char *const *prefixes) {
    for (; options && *options; options++)
        for (const char *const *prefix = prefixes; *prefix; prefix++)
            if (begins_with(*options, *prefix)) return true;
    return false;
}

static bool gives_target(const char *const *options) {
    static const char *const prefixes[] = {"-arch", "--gpu-architecture", "-gencode", "--generate-code",
                                           NULL};
    return is_given(options, prefixes);
}

static bool gives_standard(const char *const *options) {
    static const char *const prefixes[] = {"-std", "--std", NULL};
    return is_given(options, prefixes);
}

/* One try.  Targets newer than the first are for sources that use what it lacks: for sm_90 NVRTC assembles its PTX, and
 * refuses wgmma.  NVRTC takes functions without a word of where they run only if it is asked to, which is the last resort
 * where nvcc is missing. */
struct attempt {
    compiler *compile;
    const char *target;
    const char *extra;
};

static const struct attempt attempts[] = {
    {simt_nvrtc, "-arch=sm_75", NULL},
    {simt_nvrtc, "-arch=sm_90", NULL},
    {simt_nvrtc, "-arch=compute_90a", NULL},
    {simt_nvcc, "-arch=sm_75", NULL},
    {simt_nvcc, "-arch=sm_90", NULL},
    {simt_nvrtc, "-arch=sm_75", "-default-device"},
};

enum { ATTEMPT_COUNT = sizeof attempts / sizeof attempts[0] };

/* Asynchronous copies and barriers with phases compile for sm_75, too: as plain copies, for which nobody can forget to wait, and
 * as loops around atomics, of which it is not known what they wait for. */
static bool is_for(const struct attempt *attempt, const struct source *source) {
    static const char *const newer[] = {"memcpy_async", "cuda/barrier", "cuda/pipeline", "cuda_awbarrier"};
    if (gives_target(source->given->options) || strcmp(attempt->target, "-arch=sm_75") || attempt->extra) return true;
    for (size_t i = 0; i < sizeof newer / sizeof *newer; i++)
        if (strstr(source->text, newer[i])) return false;
    return true;
}

static enum outcome try_once(const struct attempt *attempt, const struct source *source, char **ptx,
                             char **mangled, simt_message *log) {
    const char *const *options = source->given->options;
    size_t count = 0;
    while (options && options[count]) count++;
    const char **all = calloc(count + DEFAULT_OPTIONS_MAX + 1, sizeof *all);
    if (!all) return OUTCOME_MEMORY;
    size_t length = 0;
    all[length++] = "-lineinfo";
    if (!gives_target(options)) all[length++] = attempt->target;
    if (!gives_standard(options)) all[length++] = "--std=c++17";
    if (attempt->extra) all[length++] = attempt->extra;
    for (size_t i = 0; i < count; i++) all[length++] = options[i];
    enum outcome outcome = attempt->compile(source, all, ptx, mangled, log);
    free(all);
    return outcome;
}

/* ---- all together -------------------------------------------------------------------------------- */

static simt_error explain(simt_message *message, const char *path, const simt_message *nvrtc,
                          const simt_message *nvcc) {
    /* nvcc's "fatal" speaks of nvcc's own needs, a host compiler say, not of the source. */
    if (nvcc->text[0] && !(nvrtc->text[0] && strstr(nvcc->text, "nvcc fatal")))
        *message = *nvcc;
    else if (nvcc->text[0])
        snprintf(message->text, sizeof message->text, "%.2000s\n%.2000s", nvrtc->text, nvcc->text);
    else if (nvrtc->text[0])
        snprintf(message->text, sizeof message->text,
                 "%.3900s\nNVRTC cannot compile it; a file with host code needs nvcc, which was not found",
                 nvrtc->text);
    else
        snprintf(
            message->text, sizeof message->text,
            "%.1000s: no CUDA compiler was found: install NVRTC (libnvrtc.so), or nvcc for files with host "
            "code; .ptx files need neither",
            path);
    return SIMT_ERROR_COMPILE;
}

static simt_error compile_source(const struct source *source, char **ptx, char **mangled,
                                 simt_message *message) {
    simt_message nvrtc = {0}, nvcc = {0};
    for (int i = 0; i < ATTEMPT_COUNT; i++) {
        const struct attempt *attempt = &attempts[i];
        bool is_again = i > 0 && attempt->compile == attempts[i - 1].compile;
        if ((is_again && gives_target(source->given->options)) || !is_for(attempt, source)) continue;
        simt_message log = {0};
        enum outcome outcome = try_once(attempt, source, ptx, mangled, &log);
        if (outcome == OUTCOME_COMPILED) return SIMT_OK;
        if (outcome == OUTCOME_MEMORY) return SIMT_ERROR_MEMORY;
        simt_message *first = attempt->compile == simt_nvrtc ? &nvrtc : &nvcc;
        if (!first->text[0]) *first = log;
    }
    return explain(message, source->name, &nvrtc, &nvcc);
}

/* The instance becomes a line of the source. */
static bool is_one_line(const char *instance) {
    for (; instance && *instance; instance++)
        if ((unsigned char)*instance < ' ') return false;
    return true;
}

static simt_error read_source(const simt_source *given, const char *name, struct source *source, char **text,
                              simt_message *message) {
    *source = (struct source){.given = given, .name = name, .text = given->text};
    *text = NULL;
    if (source->text)
        source->nbytes = strlen(source->text);
    else
        source->text = *text = simt_read_file(given->path, &source->nbytes);
    if (source->text) return SIMT_OK;
    snprintf(message->text, sizeof message->text, "%.1000s: %s", name, strerror(errno));
    return errno == ENOMEM ? SIMT_ERROR_MEMORY : SIMT_ERROR_COMPILE;
}

static simt_error compile_named(const simt_source *given, const char *name, char **ptx, char **mangled,
                                simt_message *message) {
    struct source source;
    char *text;
    simt_error error = read_source(given, name, &source, &text, message);
    if (error) return error;
    error = SIMT_ERROR_COMPILE;
    if (is_one_line(given->instance))
        error = compile_source(&source, ptx, mangled, message);
    else
        snprintf(message->text, sizeof message->text,
                 "%.1000s: a kernel name must be one line without control characters", name);
    free(text);
    return error;
}

static simt_error printable(simt_error error, simt_message *message) {
    if (error == SIMT_ERROR_MEMORY) snprintf(message->text, sizeof message->text, "out of memory for compiling");
    wf_printable_here(message->text, sizeof message->text, WF_LINES_KEPT);
    return error;
}

simt_error simt_compile(const simt_source *source, char **ptx, char **mangled, simt_message *message) {
    simt_message unheard;
    if (!message) message = &unheard;
    message->text[0] = '\0';
    if (ptx) *ptx = NULL;
    if (mangled) *mangled = NULL;
    if (!source || !source->path || !ptx || (source->instance && !mangled)) {
        snprintf(message->text, sizeof message->text, "simt_compile: a pointer is NULL");
        return SIMT_ERROR_ARGUMENT;
    }
    char *instance = NULL, *name = wf_printable_copy(source->path, WF_LINES_ESCAPED);
    simt_error error = name ? compile_named(source, name, ptx, &instance, message) : SIMT_ERROR_MEMORY;
    free(name);
    if (error) {
        free(*ptx);
        free(instance);
        *ptx = NULL;
        return printable(error, message);
    }
    if (mangled) *mangled = instance;
    return SIMT_OK;
}

/* ---- programs ------------------------------------------------------------------------------------ */

static simt_error link_named(const simt_source *given, const char *name, char **program, size_t *nbytes,
                             simt_message *message) {
    static const char *const none[] = {NULL};
    struct source source;
    char *text;
    simt_error error = read_source(given, name, &source, &text, message);
    if (error) return error;
    enum outcome outcome =
        simt_nvcc_program(&source, given->options ? given->options : none, program, nbytes, message);
    free(text);
    if (outcome == OUTCOME_ABSENT)
        snprintf(message->text, sizeof message->text,
                 "%.1000s: nvcc, which compiles CUDA programs, was not found: install it, or say by WARPFOLD_NVCC "
                 "where it is",
                 name);
    return outcome == OUTCOME_COMPILED ? SIMT_OK
           : outcome == OUTCOME_MEMORY ? SIMT_ERROR_MEMORY
                                       : SIMT_ERROR_COMPILE;
}

simt_error simt_compile_program(const simt_source *source, void **program, size_t *nbytes, simt_message *message) {
    char *bytes = NULL, *name = wf_printable_copy(source->path, WF_LINES_ESCAPED);
    message->text[0] = '\0';
    simt_error error = name ? link_named(source, name, &bytes, nbytes, message) : SIMT_ERROR_MEMORY;
    free(name);
    if (error) free(bytes);
    *program = error ? NULL : bytes;
    return error ? printable(error, message) : SIMT_OK;
}
