/* An NVRTC for the tests that keeps what the real one has compiled: what one test compiled, no other compiles again, in
 * whichever process, build or stage of CI.  Everything that decides the result is in an entry's key: the real library,
 * the texts, names and options, and the folder in which the compiler runs.
 *
 * TESTS_NVRTC         the file of the real NVRTC; by default it is looked for as the library does
 * TESTS_NVRTC_CACHE   the folder of the entries; by default they lie beside this library
 * TESTS_NVRTC_QUICK   the engine's PTX is optimized less: "mid", or what else --Ofast-compile may be
 * TESTS_NVRTC_FULL    the types whose kernels are optimized as usual all the same: "f32 i8"
 * TESTS_NVRTC_UNRUN   likewise for the engine's machine code, where no GPU is to execute it */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/getenv.h"
#include "common/nvrtc.h"
#include "cuda/cache.h"

enum { FINE = 0, OUT_OF_MEMORY = 1, INVALID_OPTION = 5, COMPILATION = 6, NAME_EXPRESSION_NOT_VALID = 10 };
enum { EXPRESSIONS_MAX = 8, OPTIONS_MAX = 64 };

/* NULL: none; what is compiled is not kept. */
static const char *cache_folder(void) {
    static _Thread_local char beside[PATH_MAX];
    const char *chosen = getenv("TESTS_NVRTC_CACHE");
    Dl_info about;
    if (chosen || !dladdr((void *)(uintptr_t)cache_folder, &about)) return chosen;
    const char *slash = strrchr(about.dli_fname, '/');
    int length = slash ? (int)(slash - about.dli_fname) : 0;
    return snprintf(beside, sizeof beside, "%.*s/nvrtc", length, about.dli_fname) < (int)sizeof beside ? beside : NULL;
}

/* For the real NVRTC's search and for the entries' folder, in place of the library's own variables. */
const char *wf_getenv(const char *name) {
    if (!strcmp(name, "WARPFOLD_NVRTC")) return getenv("TESTS_NVRTC");
    if (!strcmp(name, "XDG_CACHE_HOME")) return cache_folder();
    return strcmp(name, "WARPFOLD_CACHE") ? getenv(name) : NULL;
}

/* ---- the real one --------------------------------------------------------------------------------- */

static struct {
    pthread_once_t once;
    bool is_there;
    struct wf_nvrtc nvrtc;
    char identity[PATH_MAX + 64]; /* of the file: another version lies elsewhere, or is a file of another time */
} real = {.once = PTHREAD_ONCE_INIT};

static void open_real(void) {
    Dl_info about;
    struct stat status;
    real.is_there = wf_nvrtc_open(&real.nvrtc) && dladdr(*(void **)&real.nvrtc.Version, &about) &&
                    !stat(about.dli_fname, &status);
    if (real.is_there)
        snprintf(real.identity, sizeof real.identity, "%s %lld %lld", about.dli_fname, (long long)status.st_size,
                 (long long)status.st_mtime);
}

static const struct wf_nvrtc *open_nvrtc(void) {
    pthread_once(&real.once, open_real);
    return real.is_there ? &real.nvrtc : NULL;
}

/* ---- what is compiled ----------------------------------------------------------------------------- */

/* What compiling gives, one behind the other in an entry. */
enum { LOG, PTX, CUBIN, LOWERED, RESULT_COUNT = LOWERED + EXPRESSIONS_MAX };

struct _nvrtcProgram {
    char *text, *name, **header_texts, **header_names;
    int header_count, expression_count;
    char *expressions[EXPRESSIONS_MAX];
    struct wf_cuda_image results[RESULT_COUNT];
};

static void free_list(char **list, int count) {
    for (int i = 0; list && i < count; i++) free(list[i]);
    free(list);
}

/* NULL: no memory. */
static char **copy_list(const char *const *list, int count) {
    char **copy = calloc((size_t)count + 1, sizeof *copy);
    bool is_whole = copy;
    for (int i = 0; is_whole && i < count; i++) is_whole = (copy[i] = strdup(list[i]));
    if (is_whole) return copy;
    free_list(copy, count);
    return NULL;
}

static void forget_results(wf_nvrtc_program program) {
    for (int i = 0; i < RESULT_COUNT; i++) {
        free(program->results[i].bytes);
        program->results[i] = (struct wf_cuda_image){0};
    }
}

static void free_program(wf_nvrtc_program program) {
    forget_results(program);
    for (int i = 0; i < program->expression_count; i++) free(program->expressions[i]);
    free_list(program->header_texts, program->header_count);
    free_list(program->header_names, program->header_count);
    free(program->text);
    free(program->name);
    free(program);
}

/* Whether each of the text's #includes is one of the program's headers or, in angle brackets, the toolkit's: what lies
 * in other files may change, unseen by the key. */
static bool includes_what_is_given(wf_nvrtc_program program, const char *text) {
    for (const char *at = text; (at = strstr(at, "include"));) {
        at += strlen("include");
        at += strspn(at, " \t");
        if (*at != '"') continue;
        at++;
        size_t length = strcspn(at, "\"\n");
        bool is_given = false;
        for (int i = 0; i < program->header_count; i++)
            is_given |= !strncmp(at, program->header_names[i], length) && !program->header_names[i][length];
        if (!is_given) return false;
    }
    return true;
}

static bool is_whole(wf_nvrtc_program program) {
    bool is_whole = includes_what_is_given(program, program->text);
    for (int i = 0; i < program->header_count; i++)
        is_whole = is_whole && includes_what_is_given(program, program->header_texts[i]);
    return is_whole;
}

static bool is_of_engine(wf_nvrtc_program program) {
    for (int i = 0; i < program->header_count; i++)
        if (!strcmp(program->header_names[i], "kernels/parts.cuh")) return true;
    return false;
}

/* Whether option says that the elements are of one of these types. */
static bool names_type(const char *option, const char *types) {
    static const char prefix[] = "-DTYPE_";
    if (!types || strncmp(option, prefix, strlen(prefix))) return false;
    const char *type = option + strlen(prefix);
    size_t length = strlen(type);
    for (const char *at = types; (at = strstr(at, type)); at += length)
        if ((at == types || at[-1] == ' ') && (!at[length] || at[length] == ' ')) return true;
    return false;
}

/* NULL: as usual. */
static const char *quick_mode(wf_nvrtc_program program, int option_count, const char *const *options) {
    bool is_ptx = false, is_full = false;
    for (int i = 0; i < option_count; i++) {
        is_ptx |= strstr(options[i], "=compute_") != NULL;
        is_full |= names_type(options[i], getenv("TESTS_NVRTC_FULL"));
    }
    if (option_count >= OPTIONS_MAX || !is_of_engine(program)) return NULL;
    if (!is_ptx) return getenv("TESTS_NVRTC_UNRUN");
    return is_full ? NULL : getenv("TESTS_NVRTC_QUICK");
}

static struct wf_cache_key key_of(wf_nvrtc_program program, int option_count, const char *const *options) {
    struct wf_cache_key key;
    char folder[PATH_MAX], counts[64];
    wf_cache_key_begin(&key, program->name);
    wf_cache_key_add(&key, real.identity);
    wf_cache_key_add(&key, getcwd(folder, sizeof folder) ? folder : "");
    snprintf(counts, sizeof counts, "%d %d %d", program->header_count, program->expression_count, option_count);
    wf_cache_key_add(&key, counts);
    wf_cache_key_add(&key, program->name);
    wf_cache_key_add(&key, program->text);
    for (int i = 0; i < program->header_count; i++) {
        wf_cache_key_add(&key, program->header_names[i]);
        wf_cache_key_add(&key, program->header_texts[i]);
    }
    for (int i = 0; i < program->expression_count; i++) wf_cache_key_add(&key, program->expressions[i]);
    for (int i = 0; i < option_count; i++) wf_cache_key_add(&key, options[i]);
    const char *mode = quick_mode(program, option_count, options);
    if (mode) wf_cache_key_add(&key, mode);
    return key;
}

/* ---- entries -------------------------------------------------------------------------------------- */

/* An entry: what CompileProgram returned, the sizes of the results, the results. */
struct entry {
    int64_t returned;
    uint64_t nbytes[RESULT_COUNT];
};

static bool read_entry(const struct wf_cache_key *key, wf_nvrtc_program program, int *returned) {
    struct wf_cuda_image image;
    if (!wf_cache_read(key, 1, &image)) return false;
    struct entry entry;
    size_t at = sizeof entry;
    bool is_read = image.nbytes >= at;
    if (is_read) memcpy(&entry, image.bytes, at);
    for (int i = 0; is_read && i < RESULT_COUNT; i++) {
        size_t nbytes = entry.nbytes[i];
        struct wf_cuda_image *result = &program->results[i];
        is_read = nbytes <= image.nbytes - at && (!nbytes || (result->bytes = malloc(nbytes)));
        if (!is_read || !nbytes) continue;
        memcpy(result->bytes, image.bytes + at, result->nbytes = nbytes);
        at += nbytes;
    }
    free(image.bytes);
    if (is_read)
        *returned = (int)entry.returned;
    else
        forget_results(program);
    return is_read;
}

static void write_entry(const struct wf_cache_key *key, wf_nvrtc_program program, int returned) {
    struct entry entry = {.returned = returned};
    struct wf_cuda_image image = {NULL, sizeof entry};
    for (int i = 0; i < RESULT_COUNT; i++) image.nbytes += entry.nbytes[i] = program->results[i].nbytes;
    image.bytes = malloc(image.nbytes);
    if (!image.bytes) return;
    memcpy(image.bytes, &entry, sizeof entry);
    for (size_t i = 0, at = sizeof entry; i < RESULT_COUNT; at += entry.nbytes[i++])
        if (entry.nbytes[i]) memcpy(image.bytes + at, program->results[i].bytes, entry.nbytes[i]);
    wf_cache_write(key, 1, &image);
    free(image.bytes);
}

/* ---- compiling ------------------------------------------------------------------------------------ */

static bool fetch(struct wf_cuda_image *result, wf_nvrtc_program program, int (*size)(wf_nvrtc_program, size_t *),
                  int (*get)(wf_nvrtc_program, char *)) {
    if (size(program, &result->nbytes) || !result->nbytes) return !(result->nbytes = 0);
    result->bytes = malloc(result->nbytes);
    return result->bytes && !get(program, result->bytes);
}

static bool fetch_results(wf_nvrtc_program program, wf_nvrtc_program compiled) {
    const struct wf_nvrtc *nvrtc = &real.nvrtc;
    struct wf_cuda_image *results = program->results;
    bool is_fetched = fetch(&results[LOG], compiled, nvrtc->GetProgramLogSize, nvrtc->GetProgramLog) &&
                      fetch(&results[PTX], compiled, nvrtc->GetPTXSize, nvrtc->GetPTX) &&
                      fetch(&results[CUBIN], compiled, nvrtc->GetCUBINSize, nvrtc->GetCUBIN);
    for (int i = 0; is_fetched && i < program->expression_count; i++) {
        struct wf_cuda_image *result = &results[LOWERED + i];
        const char *name;
        if (nvrtc->GetLoweredName(compiled, program->expressions[i], &name)) continue;
        is_fetched = (result->bytes = strdup(name));
        if (is_fetched) result->nbytes = strlen(name) + 1;
    }
    return is_fetched;
}

static int compile(wf_nvrtc_program program, int option_count, const char *const *options) {
    const struct wf_nvrtc *nvrtc = &real.nvrtc;
    wf_nvrtc_program compiled = NULL;
    int error = nvrtc->CreateProgram(&compiled, program->text, program->name, program->header_count,
                                     (const char *const *)program->header_texts,
                                     (const char *const *)program->header_names);
    if (error) return error;
    for (int i = 0; !error && i < program->expression_count; i++)
        error = nvrtc->AddNameExpression(compiled, program->expressions[i]);
    if (!error) error = nvrtc->CompileProgram(compiled, option_count, options);
    if (!fetch_results(program, compiled)) error = OUT_OF_MEMORY;
    nvrtc->DestroyProgram(&compiled);
    return error;
}

/* An NVRTC of before 12.8 does not know the option. */
static int compile_quickly(wf_nvrtc_program program, int option_count, const char *const *options, const char *mode) {
    const char *all[OPTIONS_MAX];
    char option[64];
    memcpy(all, options, (size_t)option_count * sizeof *all);
    snprintf(option, sizeof option, "--Ofast-compile=%s", mode);
    all[option_count] = option;
    int returned = compile(program, option_count + 1, all);
    return returned == INVALID_OPTION ? compile(program, option_count, options) : returned;
}

static void compile_and_keep(wf_nvrtc_program program, int option_count, const char *const *options,
                             const struct wf_cache_key *key) {
    const char *mode = quick_mode(program, option_count, options);
    int returned = mode ? compile_quickly(program, option_count, options, mode) : compile(program, option_count, options);
    if (returned == FINE || returned == COMPILATION) write_entry(key, program, returned);
}

/* In a child, which leaves an entry: what NVRTC compiles after something with that option, in the same process, is other
 * code than before (13.0).  No other thread is within NVRTC, whose locks the child has, too. */
static void compile_in_child(wf_nvrtc_program program, int option_count, const char *const *options,
                             const struct wf_cache_key *key) {
    pid_t child = fork();
    if (!child) {
        compile_and_keep(program, option_count, options, key);
        _exit(0);
    }
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
}

/* ---- NVRTC's functions, as nvrtc.fn lists them ---------------------------------------------------- */

#define X(name, parameters) __attribute__((visibility("default"))) int nvrtc##name parameters;
#include "common/nvrtc.fn"
#undef X

int nvrtcVersion(int *major, int *minor) {
    return open_nvrtc() ? real.nvrtc.Version(major, minor) : OUT_OF_MEMORY;
}

int nvrtcGetNumSupportedArchs(int *count) {
    return open_nvrtc() ? real.nvrtc.GetNumSupportedArchs(count) : OUT_OF_MEMORY;
}

int nvrtcGetSupportedArchs(int *architectures) {
    return open_nvrtc() ? real.nvrtc.GetSupportedArchs(architectures) : OUT_OF_MEMORY;
}

int nvrtcCreateProgram(wf_nvrtc_program *program, const char *text, const char *name, int header_count,
                       const char *const *header_texts, const char *const *header_names) {
    wf_nvrtc_program made = open_nvrtc() ? calloc(1, sizeof *made) : NULL;
    if (!made) return OUT_OF_MEMORY;
    made->header_count = header_count;
    made->text = strdup(text);
    made->name = strdup(name ? name : "default_program");
    made->header_texts = copy_list(header_texts, header_count);
    made->header_names = copy_list(header_names, header_count);
    if (made->text && made->name && made->header_texts && made->header_names) {
        *program = made;
        return FINE;
    }
    free_program(made);
    return OUT_OF_MEMORY;
}

int nvrtcAddNameExpression(wf_nvrtc_program program, const char *name) {
    if (program->expression_count == EXPRESSIONS_MAX) return OUT_OF_MEMORY;
    char *copy = strdup(name);
    if (copy) program->expressions[program->expression_count++] = copy;
    return copy ? FINE : OUT_OF_MEMORY;
}

int nvrtcCompileProgram(wf_nvrtc_program program, int option_count, const char *const *options) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    forget_results(program);
    bool is_kept = is_whole(program), is_quick = is_kept && quick_mode(program, option_count, options);
    struct wf_cache_key key = key_of(program, option_count, options);
    int returned = FINE;
    if (is_kept && read_entry(&key, program, &returned)) return returned;
    pthread_mutex_lock(&mutex);
    if (is_quick) compile_in_child(program, option_count, options, &key);
    if (!is_quick || !read_entry(&key, program, &returned)) {
        returned = compile(program, option_count, options);
        if (is_kept && !is_quick && (returned == FINE || returned == COMPILATION)) write_entry(&key, program, returned);
    }
    pthread_mutex_unlock(&mutex);
    return returned;
}

static int size_of(const struct wf_cuda_image *result, size_t *nbytes) {
    *nbytes = result->nbytes;
    return FINE;
}

static int copy_of(const struct wf_cuda_image *result, char *bytes) {
    if (result->nbytes) memcpy(bytes, result->bytes, result->nbytes);
    return FINE;
}

int nvrtcGetProgramLogSize(wf_nvrtc_program program, size_t *nbytes) {
    return size_of(&program->results[LOG], nbytes);
}

int nvrtcGetProgramLog(wf_nvrtc_program program, char *log) {
    return copy_of(&program->results[LOG], log);
}

int nvrtcGetPTXSize(wf_nvrtc_program program, size_t *nbytes) {
    return size_of(&program->results[PTX], nbytes);
}

int nvrtcGetPTX(wf_nvrtc_program program, char *ptx) {
    return copy_of(&program->results[PTX], ptx);
}

int nvrtcGetCUBINSize(wf_nvrtc_program program, size_t *nbytes) {
    return size_of(&program->results[CUBIN], nbytes);
}

int nvrtcGetCUBIN(wf_nvrtc_program program, char *cubin) {
    return copy_of(&program->results[CUBIN], cubin);
}

int nvrtcGetLoweredName(wf_nvrtc_program program, const char *name, const char **mangled) {
    for (int i = 0; i < program->expression_count; i++)
        if (!strcmp(name, program->expressions[i]) && (*mangled = program->results[LOWERED + i].bytes)) return FINE;
    return NAME_EXPRESSION_NOT_VALID;
}

int nvrtcDestroyProgram(wf_nvrtc_program *program) {
    free_program(*program);
    *program = NULL;
    return FINE;
}
