/* Compiling by NVRTC: where headers are, the options, the PTX. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr, asprintf */
#endif
#include "compile.h"
#include "kept.h"
#include "common/nvrtc.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- where headers are --------------------------------------------------------------------------- */

enum { INCLUDES_MAX = 1 + 2 * (2 + WF_CUDA_ROOTS_MAX) };

struct includes {
    char *options[INCLUDES_MAX]; /* "-I..." */
    int count, own; /* the source's folder first, the toolkits' behind it */
    bool is_short_of_memory;
};

static void add_include(struct includes *includes, const char *folder, int length, const char *below) {
    char *option;
    if (asprintf(&option, "-I%.*s%s", length, folder, below) < 0)
        includes->is_short_of_memory = true;
    else if (access(option + 2, X_OK))
        free(option);
    else
        includes->options[includes->count++] = option;
}

/* An installation's headers; those of its C++ libraries lie in a folder of their own since CUDA 13. */
static void add_cuda(struct includes *includes, const char *root) {
    add_include(includes, root, (int)strlen(root), "/include");
    add_include(includes, root, (int)strlen(root), "/include/cccl");
}

static void find_includes(struct includes *includes, const struct wf_nvrtc *nvrtc,
                          const simt_source *source) {
    size_t length = simt_folder_length(source->path);
    if (!source->text) add_include(includes, length ? source->path : "./", length ? (int)length : 2, "");
    includes->own = includes->count;
    Dl_info about;
    char beside[PATH_MAX], real[PATH_MAX];
    if (dladdr(*(void *const *)&nvrtc->CreateProgram, &about) && realpath(about.dli_fname, real)) {
        real[simt_folder_length(real)] = '\0';
        static const char *const above[] = {"..", "../.."};
        for (int i = 0; i < 2; i++)
            if (snprintf(beside, sizeof beside, "%.*s%s", PATH_MAX - 8, real, above[i]) < (int)sizeof beside)
                add_cuda(includes, beside);
    }
    const char *roots[WF_CUDA_ROOTS_MAX + 1];
    wf_cuda_roots(roots);
    for (const char **root = roots; *root; root++) add_cuda(includes, *root);
}

/* ---- options ------------------------------------------------------------------------------------- */

/* How far the type lists of CCCL (CUDA 13) are unrolled; they mean the same for each limit.  It has 10 for nvcc and 16 for
 * NVRTC, whose preprocessor then needs 0.38 s for macros whose work doubles with each step, where 10 takes 0.01 s. */
static const char unroll_limit[] = "-D_CCCL_META_UNROLL_LIMIT=10";

/* Whoever names the limit has his own. */
static bool names_limit(const struct source *source, const char *const *options) {
    static const char name[] = "_CCCL_META_UNROLL_LIMIT";
    bool is_named = strstr(source->text, name);
    for (; *options && !is_named; options++) is_named = strstr(*options, name);
    return is_named;
}

/* The options followed by those of every source; NULL: no memory. */
static const char **join_options(const struct source *source, const char *const *options, const struct includes *includes,
                                 int *count) {
    int given = 0;
    while (options[given]) given++;
    const char **all = calloc((size_t)(given + includes->count + 2), sizeof *all);
    if (!all || includes->is_short_of_memory) {
        free(all);
        return NULL;
    }
    for (int i = 0; i < given; i++) all[i] = options[i];
    for (int i = 0; i < includes->count; i++) all[given + i] = includes->options[i];
    *count = given + includes->count;
    if (!names_limit(source, options)) all[(*count)++] = unroll_limit;
    return all;
}

/* ---- CUB ----------------------------------------------------------------------------------------- */

/* The header of all of CUB asks for functions of the host and for the host's own headers, which NVRTC has not, and it
 * has what a kernel cannot call: algorithms of the whole device.  So its other lines are included in its place.  A source
 * that needs more is refused, and goes to nvcc. */
static const char cub_header[] = "cub/cub.cuh";

static bool is_for_kernels(const char *line) {
    static const char include[] = "#include <cub/";
    const char *name = line + strlen(include);
    return !strncmp(line, include, strlen(include)) && strncmp(name, "device/", strlen("device/")) &&
           strncmp(name, "util_allocator", strlen("util_allocator"));
}

static char *without_device(const char *text) {
    char *kept = calloc(1, strlen(text) + 1), *end = kept;
    for (; kept && *text; text += strcspn(text, "\n"), text += *text == '\n') {
        const size_t length = strcspn(text, "\n") + (text[strcspn(text, "\n")] == '\n');
        if (is_for_kernels(text)) end = mempcpy(end, text, length);
    }
    return kept;
}

/* NULL: the source does not ask for it, it is not there, or options may say that another is meant. */
static char *cub_for_kernels(const struct source *source, const struct includes *includes, const char *const *options) {
    char *found = NULL, path[PATH_MAX];
    size_t nbytes;
    for (; *options; options++)
        if (!strncmp(*options, "-I", 2) || strstr(*options, "include")) return NULL;
    for (int i = 0; i < includes->count && !found && strstr(source->text, cub_header); i++)
        if (snprintf(path, sizeof path, "%s/%s", includes->options[i] + strlen("-I"), cub_header) < (int)sizeof path)
            found = simt_read_file(path, &nbytes);
    char *kept = found ? without_device(found) : NULL;
    free(found);
    return kept;
}

/* ---- compiling ----------------------------------------------------------------------------------- */

static void get_log(const struct wf_nvrtc *nvrtc, wf_nvrtc_program program, simt_message *message) {
    char *log = wf_nvrtc_log(nvrtc, program);
    snprintf(message->text, sizeof message->text, "%s", log ? log : "NVRTC failed with an empty log");
    free(log);
}

static enum outcome get_ptx(const struct wf_nvrtc *nvrtc, wf_nvrtc_program program, const char *instance,
                            char **ptx, char **mangled, simt_message *log) {
    size_t nbytes = 0;
    const char *name = NULL;
    if (nvrtc->GetPTXSize(program, &nbytes) ||
        (instance && nvrtc->GetLoweredName(program, instance, &name))) {
        get_log(nvrtc, program, log);
        return OUTCOME_REFUSED;
    }
    char *text = calloc(1, nbytes + 1);
    char *copy = name ? strdup(name) : NULL;
    if (!text || (name && !copy) || nvrtc->GetPTX(program, text)) {
        free(text);
        free(copy);
        return OUTCOME_MEMORY;
    }
    *ptx = text;
    *mangled = copy;
    return OUTCOME_COMPILED;
}

static int create(const struct wf_nvrtc *nvrtc, wf_nvrtc_program *program, const struct source *source, const char *cub) {
    enum { HEADERS_MAX = 5 };
    const char *names[HEADERS_MAX] = {cub_header}, *texts[HEADERS_MAX] = {cub};
    int count = cub != NULL;
    for (const simt_header *header = source->given->headers; header && header->name && count < HEADERS_MAX;
         header++) {
        names[count] = header->name;
        texts[count++] = header->text;
    }
    return nvrtc->CreateProgram(program, source->text, source->name, count, texts, names);
}

static enum outcome compile(const struct wf_nvrtc *nvrtc, const struct source *source, const char *cub,
                            const char *const *options, int option_count, char **ptx, char **mangled,
                            simt_message *log) {
    wf_nvrtc_program program = NULL;
    const char *instance = source->given->instance;
    if (create(nvrtc, &program, source, cub)) return OUTCOME_MEMORY;
    enum outcome outcome = OUTCOME_REFUSED;
    if ((instance && nvrtc->AddNameExpression(program, instance)) ||
        nvrtc->CompileProgram(program, option_count, options))
        get_log(nvrtc, program, log);
    else
        outcome = get_ptx(nvrtc, program, instance, ptx, mangled, log);
    if (outcome == OUTCOME_COMPILED && !simt_rename_source(ptx, source)) outcome = OUTCOME_MEMORY;
    nvrtc->DestroyProgram(&program);
    return outcome;
}

static enum outcome compile_or_read(const struct wf_nvrtc *nvrtc, const struct compilation *given, char **ptx,
                                    char **mangled, simt_message *log) {
    struct wf_cache_key key, again;
    const bool is_kept = simt_kept_key(&key, nvrtc, given);
    if (is_kept && simt_kept_read(&key, ptx, mangled)) return OUTCOME_COMPILED;
    enum outcome outcome =
        compile(nvrtc, given->source, given->cub, given->options, (int)given->option_count, ptx, mangled, log);
    /* Files may have changed meanwhile. */
    if (outcome == OUTCOME_COMPILED && is_kept && simt_kept_key(&again, nvrtc, given) &&
        !memcmp(key.hash, again.hash, sizeof key.hash))
        simt_kept_write(&key, *ptx, *mangled);
    return outcome;
}

static enum outcome compile_named(const struct wf_nvrtc *nvrtc, const struct source *source,
                                  const char *const *options, char **ptx, char **mangled, simt_message *log) {
    struct includes includes = {0};
    find_includes(&includes, nvrtc, source->given);
    int count = 0;
    const char **all = join_options(source, options, &includes, &count);
    char *cub = cub_for_kernels(source, &includes, options);
    enum outcome outcome = OUTCOME_MEMORY;
    const char *const *toolkits = (const char *const *)includes.options + includes.own;
    const struct compilation given = {source, cub, all, (size_t)count, toolkits, (size_t)(includes.count - includes.own)};
    if (all) outcome = compile_or_read(nvrtc, &given, ptx, mangled, log);
    free(all);
    free(cub);
    for (int i = 0; i < includes.count; i++) free(includes.options[i]);
    return outcome;
}

enum outcome simt_nvrtc(const struct source *source, const char *const *options, char **ptx, char **mangled,
                        simt_message *log) {
    struct wf_nvrtc nvrtc;
    if (!wf_nvrtc_open(&nvrtc)) return OUTCOME_ABSENT;
    char *name = strdup(source->name);
    if (!name) return OUTCOME_MEMORY;
    /* It does not escape this one where it writes the name between two of them, and cannot read what it
     * wrote. */
    for (char *quote = name; (quote = strchr(quote, '"'));) *quote = '\'';
    struct source named = *source;
    named.name = name;
    enum outcome outcome = compile_named(&nvrtc, &named, options, ptx, mangled, log);
    free(name);
    return outcome;
}
