/* From CUDA C to PTX: which compiler is tried with which options, and what is said when none succeeds. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem, asprintf */
#endif
#include "compile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- files --------------------------------------------------------------------------------------- */

static char *read_stream(FILE *stream, size_t *nbytes) {
    size_t capacity = 1 << 14, length = 0;
    char *text = malloc(capacity);
    while (text) {
        length += fread(text + length, 1, capacity - length, stream);
        if (length < capacity) break;
        char *larger = realloc(text, capacity *= 2);
        if (!larger) free(text);
        text = larger;
    }
    if (!text) errno = ENOMEM;
    if (!text || ferror(stream)) {
        free(text);
        return NULL;
    }
    text[length] = '\0';
    *nbytes = length;
    return text;
}

char *simt_read_file(const char *path, size_t *nbytes) {
    FILE *stream = fopen(path, "rbe");
    if (!stream) return NULL;
    char *text = read_stream(stream, nbytes);
    int error = errno;
    fclose(stream);
    errno = error;
    return text;
}

size_t simt_folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

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

/* One try.  Targets newer than the first are for sources that use what it lacks; NVRTC takes functions
 * without a word of where they run only if it is told to, which is the last resort where nvcc is missing. */
struct attempt {
    compiler *compile;
    const char *target;
    const char *extra;
};

static const struct attempt attempts[] = {
    {simt_nvrtc, "-arch=sm_75", NULL},
    {simt_nvrtc, "-arch=sm_90", NULL},
    {simt_nvcc, "-arch=sm_75", NULL},
    {simt_nvcc, "-arch=sm_90", NULL},
    {simt_nvrtc, "-arch=sm_75", "-default-device"},
};

enum { ATTEMPT_COUNT = sizeof attempts / sizeof attempts[0] };

static enum outcome try_once(const struct attempt *attempt, const struct source *source,
                             const char *const *options, const char *instance, char **ptx, char **mangled,
                             simt_message *log) {
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
    enum outcome outcome = attempt->compile(source, all, instance, ptx, mangled, log);
    free(all);
    return outcome;
}

/* ---- file names in the PTX ----------------------------------------------------------------------- */

/* The compilers put the working directory before relative paths; the user did not.  Takes it out of what a
 * line names: .file 1 "/here/mine.cu". */
static void shorten_names(char *ptx, const char *directory) {
    size_t length = strlen(directory);
    char *to = ptx;
    for (const char *line = ptx; *line;) {
        const char *end = strchrnul(line, '\n');
        if (*end) end++;
        const char *name = begins_with(line, "\t.file\t") ? memchr(line, '"', (size_t)(end - line)) : NULL;
        if (name && begins_with(name + 1, directory) && name[1 + length] == '/') {
            size_t before = (size_t)(name + 1 - line);
            memmove(to, line, before);
            to += before;
            line = name + 1 + length + 1;
        }
        memmove(to, line, (size_t)(end - line));
        to += end - line;
        line = end;
    }
    *to = '\0';
}

static bool name_files_as_given(char *ptx, const char *path) {
    if (path[0] == '/') return true;
    char *directory = getcwd(NULL, 0);
    if (!directory) return errno != ENOMEM; /* a directory without a name was not put before any */
    shorten_names(ptx, directory);
    free(directory);
    return true;
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
                 "%.3900s\nNVRTC refused it, and nvcc, which a file with host code needs, is not found here",
                 nvrtc->text);
    else
        snprintf(
            message->text, sizeof message->text,
            "%.1000s: no CUDA compiler is found here: it takes NVRTC (libnvrtc.so), or nvcc for a file with "
            "host code; PTX takes neither",
            path);
    return SIMT_ERROR_COMPILE;
}

static simt_error compile_source(const struct source *source, const char *const *options,
                                 const char *instance, char **ptx, char **mangled, simt_message *message) {
    simt_message nvrtc = {0}, nvcc = {0};
    for (int i = 0; i < ATTEMPT_COUNT; i++) {
        const struct attempt *attempt = &attempts[i];
        bool is_again = i > 0 && attempt->compile == attempts[i - 1].compile;
        if (is_again && gives_target(options)) continue;
        simt_message log = {0};
        enum outcome outcome = try_once(attempt, source, options, instance, ptx, mangled, &log);
        if (outcome == OUTCOME_COMPILED && name_files_as_given(*ptx, source->path)) return SIMT_OK;
        if (outcome == OUTCOME_COMPILED || outcome == OUTCOME_MEMORY) return SIMT_ERROR_MEMORY;
        simt_message *first = attempt->compile == simt_nvrtc ? &nvrtc : &nvcc;
        if (!first->text[0]) *first = log;
    }
    return explain(message, source->path, &nvrtc, &nvcc);
}

simt_error simt_compile(const char *path, const char *const *options, const char *instance, char **ptx,
                        char **mangled, simt_message *message) {
    simt_message unheard;
    if (!message) message = &unheard;
    message->text[0] = '\0';
    if (ptx) *ptx = NULL;
    if (mangled) *mangled = NULL;
    if (!path || !ptx || (instance && !mangled)) {
        snprintf(message->text, sizeof message->text, "simt_compile: a pointer is NULL");
        return SIMT_ERROR_ARGUMENT;
    }
    char *name = NULL;
    struct source source = {.path = path};
    source.text = simt_read_file(path, &source.nbytes);
    if (!source.text) {
        snprintf(message->text, sizeof message->text, "%.1000s: %s", path, strerror(errno));
        return errno == ENOMEM ? SIMT_ERROR_MEMORY : SIMT_ERROR_COMPILE;
    }
    simt_error error = compile_source(&source, options, instance, ptx, &name, message);
    free(source.text);
    if (error) {
        free(*ptx);
        free(name);
        *ptx = NULL;
        if (error == SIMT_ERROR_MEMORY)
            snprintf(message->text, sizeof message->text, "no memory to compile in");
        return error;
    }
    if (mangled) *mangled = name;
    return SIMT_OK;
}
