/* An NVRTC for the tests that keeps what the real one has compiled: what one test compiled, no other compiles again, in
 * whichever process, build or stage of CI.  Everything that decides the result is in an entry's key: the real library,
 * the texts, names and options, and the folder in which the compiler runs.  Not the folder of a source, which is the
 * compiler's if its path is not absolute, if nothing but names of lines can tell it: tests write sources to folders of their
 * own, and two checkouts compile the engine's kernels once.
 *
 * TESTS_NVRTC         the file of the real NVRTC; by default it is looked for as the library does
 * TESTS_NVRTC_CACHE   the folder of the entries; by default they lie beside this library
 * TESTS_NVRTC_QUICK   the engine's PTX is optimized less: "mid", or what else --Ofast-compile may be; then, after spaces,
 *                     what options else
 * TESTS_NVRTC_FULL    the types whose kernels are optimized as usual all the same: "f32 i8"
 * TESTS_NVRTC_UNRUN   likewise for the engine's machine code, where no GPU is to execute it
 * TESTS_NVRTC_LOG     a file that tells of each compilation: the processor's seconds, bytes of PTX, mode, the source's name,
 *                     pytest's test, options */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cache.h"
#include "common/getenv.h"
#include "program.h"

enum { OPTIONS_MAX = 64, QUICK_OPTIONS_MAX = 8 };

/* The length of the folder in which this library lies, without a slash at its end; 0: it is not known. */
static int own_folder(const char **path) {
    Dl_info about;
    if (!dladdr((void *)(uintptr_t)own_folder, &about)) return 0;
    const char *slash = strrchr(*path = about.dli_fname, '/');
    return slash ? (int)(slash - *path) : 0;
}

/* NULL: none; what is compiled is not kept. */
static const char *cache_folder(void) {
    static _Thread_local char beside[PATH_MAX];
    const char *chosen = getenv("TESTS_NVRTC_CACHE"), *path;
    int length = chosen ? 0 : own_folder(&path);
    if (!length) return chosen;
    return snprintf(beside, sizeof beside, "%.*s/nvrtc", length, path) < (int)sizeof beside ? beside : NULL;
}

/* For the real NVRTC's search and for the entries' folder, in place of the library's own variables. */
const char *wf_getenv(const char *name) {
    if (!strcmp(name, "WARPFOLD_NVRTC")) return getenv("TESTS_NVRTC");
    if (!strcmp(name, "XDG_CACHE_HOME")) return cache_folder();
    return strcmp(name, "WARPFOLD_CACHE") ? getenv(name) : NULL;
}

/* ---- the real one --------------------------------------------------------------------------------- */

static struct {
    pthread_once_t opening, naming;
    bool is_there, has_name;
    struct wf_nvrtc nvrtc;
    char path[PATH_MAX], identity[PATH_MAX + 64]; /* another version lies elsewhere, or is a file of another time */
} real = {.opening = PTHREAD_ONCE_INIT, .naming = PTHREAD_ONCE_INIT};

static void open_real(void) {
    real.is_there = wf_nvrtc_open(&real.nvrtc);
}

static const struct wf_nvrtc *open_nvrtc(void) {
    pthread_once(&real.opening, open_real);
    return real.is_there ? &real.nvrtc : NULL;
}

/* Where the file is known it is not opened, which takes longer than to read what is kept. */
static void name_real(void) {
    Dl_info about;
    struct stat status;
    const char *path = getenv("TESTS_NVRTC");
    if (!path || path[0] != '/')
        path = open_nvrtc() && dladdr(*(void **)&real.nvrtc.Version, &about) ? about.dli_fname : NULL;
    real.has_name = path && realpath(path, real.path) && !stat(real.path, &status);
    if (real.has_name)
        snprintf(real.identity, sizeof real.identity, "%s %lld %lld", real.path, (long long)status.st_size,
                 (long long)status.st_mtime);
}

static bool find_nvrtc(void) {
    pthread_once(&real.naming, name_real);
    return real.has_name;
}

/* ---- what is compiled ----------------------------------------------------------------------------- */

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

/* Whether the source is of that name; a type follows. */
static bool is_made_of(wf_nvrtc_program program, const char *name) {
    return !strncmp(program->name, name, strlen(name));
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
    const char *quick = is_full ? NULL : getenv("TESTS_NVRTC_QUICK");
    /* One warp makes an accumulator's words, once: of all kernels these alone take less time not optimized at all. */
    return quick && is_made_of(program, "words.") ? "max" : quick;
}

/* ---- where it lies ------------------------------------------------------------------------------- */

/* What takes the place of a source's folder in a key and an entry: tests write a source to a new folder each time. */
static const char place[] = "\1";

/* The text, to be freed, with one word in the place of each occurrence of another; NULL: no memory. */
static char *replaced(const char *text, const char *from, const char *to) {
    size_t count = 0, from_length = strlen(from), to_length = strlen(to);
    for (const char *at = text; (at = strstr(at, from)); at += from_length) count++;
    char *copy = malloc(strlen(text) + count * to_length + 1), *end = copy;
    for (const char *at; copy && (at = strstr(text, from)); text = at + from_length) {
        end = mempcpy(end, text, (size_t)(at - text));
        end = mempcpy(end, to, to_length);
    }
    if (copy) strcpy(end, text);
    return copy;
}

/* Whether the text has the word, other than at the end of that one. */
static bool has_word(const char *text, const char *word, const char *other) {
    size_t before = strlen(other) - strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at++)
        if ((size_t)(at - text) < before || strncmp(at - before, other, strlen(other))) return true;
    return false;
}

/* Whether what is in angle brackets may be the folder's. */
static bool is_in(const char *folder, const char *name) {
    char path[PATH_MAX];
    int length = (int)strcspn(name, ">\n");
    return snprintf(path, sizeof path, "%s/%.*s", folder, length, name) < (int)sizeof path && !access(path, F_OK);
}

/* Whether what a text includes, or asks for, may be the folder's: where "include" stands. */
static bool may_include_from(const char *folder, const char *text, const char *at) {
    const char *before = at, *behind = at + strlen("include");
    while (before > text && (before[-1] == ' ' || before[-1] == '\t')) before--;
    if (before == text || before[-1] != '#') return at - text >= 4 && !strncmp(at - 4, "has_", 4);
    behind += strspn(behind, " \t");
    return *behind == '<' ? is_in(folder, behind + 1) : *behind != '"'; /* else it is a macro's text */
}

/* Whether code may depend on where the text lies, other than in its lines' names. */
static bool knows_its_place(const char *text, const char *folder) {
    if (strstr(text, "FILE") || strstr(text, "source_location") || has_word(text, "assert", "static_assert")) return true;
    for (const char *at = text; (at = strstr(at, "include")); at++)
        if (may_include_from(folder, text, at)) return true;
    return false;
}

/* The folder of the source, without a slash at its end, to be freed; NULL: it is not known. */
static char *source_folder_of(wf_nvrtc_program program) {
    char current[PATH_MAX];
    const char *slash = strrchr(program->name, '/');
    if (program->name[0] == '/') return strndup(program->name, (size_t)(slash - program->name));
    return !slash && getcwd(current, sizeof current) ? strdup(current) : NULL;
}

/* Whether the option is the same wherever that folder is; "-I" and the folder is what `warpfold inspect` passes.  Machine code has
 * the sizes of names, which cannot be replaced. */
static bool is_movable_option(const char *option, const char *folder) {
    if (strstr(option, "=sm_")) return false;
    bool is_include = !strncmp(option, "-I", 2);
    if (is_include && !strncmp(option + 2, folder, strlen(folder)) && !strcmp(option + 2 + strlen(folder), "/")) return true;
    return !strstr(option, folder) && (is_include ? option[2] == '/' : !strstr(option, "include"));
}

/* That folder, if the program is the same in every one but for its name; else, or where there is no memory, NULL. */
static char *folder_of(wf_nvrtc_program program, int option_count, const char *const *options) {
    static const char plain[] = "/-_.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char *folder = source_folder_of(program);
    size_t length = folder ? strlen(folder) : 0;
    bool is_movable = length >= 2 && strspn(folder, plain) == length && !knows_its_place(program->text, folder);
    for (int i = 0; is_movable && i < program->header_count; i++)
        is_movable = !knows_its_place(program->header_texts[i], folder) && !strstr(program->header_names[i], folder);
    for (int i = 0; is_movable && i < option_count; i++) is_movable = is_movable_option(options[i], folder);
    if (is_movable) return folder;
    free(folder);
    return NULL;
}

/* The log and the PTX, from one place to another. */
static bool move(wf_nvrtc_program program, const char *from, const char *to) {
    bool is_moved = true;
    for (int i = LOG; i <= PTX; i++) {
        struct wf_compiled *result = &program->results[i];
        if (!result->nbytes) continue;
        char *text = replaced(result->bytes, from, to);
        free(result->bytes);
        *result = (struct wf_compiled){text, text ? strlen(text) + 1 : 0};
        is_moved = is_moved && text;
    }
    return is_moved;
}

static void key_add_moved(struct wf_cache_key *key, const char *text, const char *folder) {
    char *moved = folder ? replaced(text, folder, place) : NULL;
    wf_cache_key_add(key, moved ? moved : text);
    free(moved);
}

static struct wf_cache_key key_of(wf_nvrtc_program program, const char *source_folder, int option_count,
                                  const char *const *options) {
    struct wf_cache_key key;
    char folder[PATH_MAX], counts[64];
    wf_cache_key_begin(&key, program->name);
    wf_cache_key_add(&key, real.identity);
    key_add_moved(&key, getcwd(folder, sizeof folder) ? folder : "", source_folder);
    snprintf(counts, sizeof counts, "%d %d %d", program->header_count, program->expression_count, option_count);
    wf_cache_key_add(&key, counts);
    key_add_moved(&key, program->name, source_folder);
    wf_cache_key_add(&key, program->text);
    for (int i = 0; i < program->header_count; i++) {
        wf_cache_key_add(&key, program->header_names[i]);
        wf_cache_key_add(&key, program->header_texts[i]);
    }
    for (int i = 0; i < program->expression_count; i++) wf_cache_key_add(&key, program->expressions[i]);
    for (int i = 0; i < option_count; i++) key_add_moved(&key, options[i], source_folder);
    const char *mode = quick_mode(program, option_count, options);
    if (mode) wf_cache_key_add(&key, mode);
    return key;
}

/* ---- entries -------------------------------------------------------------------------------------- */

static bool read_entry(const struct wf_cache_key *key, const char *folder, wf_nvrtc_program program, int *returned) {
    struct wf_compiled image;
    if (!wf_cache_read(key, 1, &image)) return false;
    bool is_read = program_unpack(&image, program, returned) && (!folder || move(program, place, folder));
    free(image.bytes);
    if (!is_read) program_forget_results(program);
    return is_read;
}

/* What is given does not depend on who compiled it. */
static void keep(const struct wf_cache_key *key, const char *folder, wf_nvrtc_program program, int *returned) {
    struct wf_compiled image;
    if ((*returned != FINE && *returned != COMPILATION) || (folder && !move(program, folder, place))) return;
    program_pack(program, *returned, &image);
    if (image.bytes) wf_cache_write(key, 1, &image);
    free(image.bytes);
    if (folder && !move(program, place, folder)) *returned = OUT_OF_MEMORY;
}

/* ---- compiling in a process of its own ------------------------------------------------------------ */

static FILE *memory_file(void) {
    int file = memfd_create("nvrtc", MFD_CLOEXEC);
    FILE *stream = file < 0 ? NULL : fdopen(file, "w+b");
    if (file >= 0 && !stream) close(file);
    return stream;
}

/* Without what is preloaded into this process: a sanitizer's allocator takes NVRTC three times as long. */
static char **environment_without_preload(void) {
    size_t count = 0, kept = 0;
    while (environ[count]) count++;
    char **copy = calloc(count + 1, sizeof *copy);
    for (size_t i = 0; copy && i < count; i++)
        if (strncmp(environ[i], "LD_PRELOAD=", strlen("LD_PRELOAD="))) copy[kept++] = environ[i];
    return copy;
}

/* The program beside this library; false: it could not run, or failed. */
static bool run_compiler(int request, int entry) {
    char path[PATH_MAX];
    const char *folder;
    int length = own_folder(&folder), status = -1;
    if (!length || snprintf(path, sizeof path, "%.*s/nvrtc_compiler", length, folder) >= (int)sizeof path) return false;
    char *const arguments[] = {path, NULL}, **variables = environment_without_preload();
    posix_spawn_file_actions_t actions;
    pid_t child;
    if (!variables || posix_spawn_file_actions_init(&actions)) {
        free(variables);
        return false;
    }
    posix_spawn_file_actions_adddup2(&actions, request, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, entry, STDOUT_FILENO);
    bool is_started = !posix_spawn(&child, path, &actions, NULL, arguments, variables);
    posix_spawn_file_actions_destroy(&actions);
    free(variables);
    while (is_started && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return is_started && status == 0;
}

static bool read_results(FILE *file, wf_nvrtc_program program, int *returned) {
    struct wf_compiled image = {NULL, 0};
    if (fseek(file, 0, SEEK_END) || ftell(file) <= 0) return false;
    image.nbytes = (size_t)ftell(file);
    image.bytes = malloc(image.nbytes);
    rewind(file);
    bool is_read = image.bytes && fread(image.bytes, 1, image.nbytes, file) == image.nbytes &&
                   program_unpack(&image, program, returned);
    free(image.bytes);
    return is_read;
}

/* false: it could not, and nothing is known of the program. */
static bool compile_apart(wf_nvrtc_program program, int option_count, const char *const *options, int *returned) {
    char folder[PATH_MAX];
    FILE *asked = memory_file(), *given = memory_file();
    struct request request = {*program, getcwd(folder, sizeof folder), (char **)options, option_count};
    bool is_done = asked && given && request.folder && request_write(asked, &request) && !fseek(asked, 0, SEEK_SET) &&
                   run_compiler(fileno(asked), fileno(given)) && read_results(given, program, returned);
    if (asked) fclose(asked);
    if (given) fclose(given);
    return is_done;
}

/* The mode's options behind the others.  NVRTC of before 12.8 knows none of them, and -Xnvvm is documented for no version:
 * without the words behind the first, or without any, if it refuses them. */
static bool compile_quickly(wf_nvrtc_program program, int option_count, const char *const *options, const char *mode,
                            int *returned) {
    const char *all[OPTIONS_MAX + QUICK_OPTIONS_MAX];
    char words[128], *rest;
    int count = option_count;
    memcpy(all, options, (size_t)option_count * sizeof *all);
    snprintf(words, sizeof words, "--Ofast-compile=%s", mode);
    for (char *word = strtok_r(words, " ", &rest); word && count < OPTIONS_MAX + QUICK_OPTIONS_MAX; word = strtok_r(NULL, " ", &rest))
        all[count++] = word;
    while (compile_apart(program, count, all, returned)) {
        if (*returned != INVALID_OPTION || count == option_count) return true;
        count = count > option_count + 1 ? option_count + 1 : option_count;
        program_forget_results(program);
    }
    return false;
}

/* Of this process and those that it has waited for. */
static double processor_seconds(void) {
    double sum = 0;
    for (int i = 0; i < 2; i++) {
        struct rusage usage;
        getrusage(i ? RUSAGE_CHILDREN : RUSAGE_SELF, &usage);
        sum += (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
               1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    }
    return sum;
}

static void tell_of(wf_nvrtc_program program, int option_count, const char *const *options, double seconds) {
    const char *path = getenv("TESTS_NVRTC_LOG"), *test = getenv("PYTEST_CURRENT_TEST"),
               *mode = quick_mode(program, option_count, options);
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file) return;
    fprintf(file, "%.3f\t%zu\t%s\t%s\t%s\t", seconds, program->results[PTX].nbytes, mode ? mode : "full", program->name,
            test ? test : "");
    for (int i = 0; i < option_count; i++) fprintf(file, "%s ", options[i]);
    fputc('\n', file);
    fclose(file);
}

/* Apart, so that this process is not copied: what NVRTC compiles after something with that option, in the same process, is
 * other code than before (13.0).  Likewise in a process with a sanitizer, whose allocator NVRTC would have. */
static bool compile(wf_nvrtc_program program, int option_count, const char *const *options, int *returned) {
    const char *mode = quick_mode(program, option_count, options);
    if (mode && compile_quickly(program, option_count, options, mode, returned)) return true;
    if (!mode && dlsym(RTLD_DEFAULT, "__asan_init") && compile_apart(program, option_count, options, returned)) return true;
    const struct wf_nvrtc *nvrtc = open_nvrtc();
    program_forget_results(program);
    *returned = nvrtc ? program_compile(nvrtc, program, option_count, options) : OUT_OF_MEMORY;
    return !mode; /* optimized as usual, it is not what is to be kept */
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
    wf_nvrtc_program made = find_nvrtc() ? calloc(1, sizeof *made) : NULL;
    if (!made) return OUT_OF_MEMORY;
    made->header_count = header_count;
    made->text = strdup(text);
    made->name = strdup(name ? name : "default_program");
    made->header_texts = program_copy_list(header_texts, header_count);
    made->header_names = program_copy_list(header_names, header_count);
    if (made->text && made->name && made->header_texts && made->header_names) {
        *program = made;
        return FINE;
    }
    program_free(made);
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
    program_forget_results(program);
    bool is_kept = is_whole(program);
    char *folder = is_kept ? folder_of(program, option_count, options) : NULL;
    struct wf_cache_key key = key_of(program, folder, option_count, options);
    int returned = FINE;
    if (!is_kept || !read_entry(&key, folder, program, &returned)) {
        int claim = is_kept ? wf_cache_claim(&key) : -1; /* of what another worker compiles at this moment */
        pthread_mutex_lock(&mutex);
        if (claim < 0 || !read_entry(&key, folder, program, &returned)) {
            double before = processor_seconds();
            bool is_what_was_asked = compile(program, option_count, options, &returned);
            tell_of(program, option_count, options, processor_seconds() - before);
            if (is_what_was_asked && is_kept) keep(&key, folder, program, &returned);
        }
        pthread_mutex_unlock(&mutex);
        wf_cache_release(&key, claim);
    }
    free(folder);
    return returned;
}

static int size_of(const struct wf_compiled *result, size_t *nbytes) {
    *nbytes = result->nbytes;
    return FINE;
}

static int copy_of(const struct wf_compiled *result, char *bytes) {
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
    program_free(*program);
    *program = NULL;
    return FINE;
}
