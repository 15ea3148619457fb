/* nvcc, for sources with host code: it works on files in a private folder, whose names are safe in a shell. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* asprintf, environ, strsep */
#endif
#include "compile.h"
#include "common/getenv.h"
#include "common/nvrtc.h"
#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- finding it ---------------------------------------------------------------------------------- */

static bool is_program(const char *path) {
    struct stat status;
    return !stat(path, &status) && S_ISREG(status.st_mode) && !access(path, X_OK);
}

static bool is_in(char path[PATH_MAX], const char *folder, int length, const char *name) {
    return snprintf(path, PATH_MAX, "%.*s%s", length, folder, name) < PATH_MAX && is_program(path);
}

static bool find_in_search_path(char path[PATH_MAX]) {
    const char *folder = wf_getenv("PATH");
    while (folder && *folder) {
        size_t length = strcspn(folder, ":");
        if (length > 0 && length < PATH_MAX && is_in(path, folder, (int)length, "/nvcc")) return true;
        folder += length + (folder[length] == ':');
    }
    return false;
}

static bool find_nvcc(char path[PATH_MAX]) {
    const char *chosen = wf_getenv("WARPFOLD_NVCC");
    if (chosen) return is_in(path, chosen, PATH_MAX, "");
    if (find_in_search_path(path)) return true;
    const char *roots[WF_CUDA_ROOTS_MAX + 1];
    wf_cuda_roots(roots);
    for (const char **root = roots; *root; root++)
        if (is_in(path, *root, PATH_MAX, "/bin/nvcc")) return true;
    return false;
}

/* ---- the files that it is given ------------------------------------------------------------------ */

/* The files of one call of nvcc.  nvcc puts its arguments into command lines of a shell, where the user's file names may not
 * be safe: it gets only names in a private folder, in which `beside` is a link to the folder of the user's source. */
struct workplace {
    struct scratch scratch;
    char source[PATH_MAX], output[PATH_MAX], log[PATH_MAX], beside[PATH_MAX];
};

static const char beside_name[] = "warpfold-beside";

static bool link_folder(const struct workplace *workplace, const char *path) {
    size_t length = simt_folder_length(path);
    char *folder = length ? strndup(path, length) : strdup(".");
    char *real = folder ? realpath(folder, NULL) : NULL;
    bool is_linked = real && !symlink(real, workplace->beside);
    free(real);
    free(folder);
    return is_linked;
}

static void put_string(FILE *stream, const char *text) {
    for (; *text; text++) fprintf(stream, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
}

/* The source gets a variable of this name that holds the kernel's address: nvcc then compiles the instance of the template,
 * and the variable's initial value in the PTX is the instance's mangled name. */
static const char instance_variable[] = "warpfold_instance";

static void put_source(FILE *stream, const struct source *source) {
    static const char mark[] = "\xef\xbb\xbf"; /* UTF-8's byte order mark: only a file's first bytes may be it */
    size_t skipped = strncmp(source->text, mark, strlen(mark)) ? 0 : strlen(mark);
    fputs("#line 1 \"", stream);
    put_string(stream, source->name);
    fputs("\"\n", stream);
    fwrite(source->text + skipped, 1, source->nbytes - skipped, stream);
    if (source->given->instance)
        fprintf(stream, "\n#line 1 \"--kernel\"\n__device__ const void *%s = (const void *)&%s;\n",
                instance_variable, source->given->instance);
}

static FILE *create(const char *path) {
    return fopen(path, "wxe");
}

static bool close_whole(FILE *stream) {
    bool is_written = !ferror(stream);
    return !fclose(stream) && is_written;
}

static bool write_source(const struct workplace *workplace, const struct source *source) {
    FILE *stream = create(workplace->source);
    if (!stream) return false;
    put_source(stream, source);
    return close_whole(stream);
}

static bool write_headers(const struct workplace *workplace, const simt_header *headers) {
    for (; headers && headers->name; headers++) {
        char path[PATH_MAX];
        if (!simt_scratch_path(path, &workplace->scratch, headers->name)) return false;
        FILE *stream = create(path);
        if (!stream) return false;
        fputs(headers->text, stream);
        if (!close_whole(stream)) return false;
    }
    return true;
}

/* Creates the files.  A source that is a file may include its neighbours, through the link; a text brings its headers. */
static bool fill(struct workplace *workplace, const struct source *source) {
    const struct scratch *scratch = &workplace->scratch;
    return simt_scratch_path(workplace->source, scratch, "warpfold-source.cu") &&
           simt_scratch_path(workplace->output, scratch, "warpfold-output") &&
           simt_scratch_path(workplace->log, scratch, "warpfold-log") &&
           simt_scratch_path(workplace->beside, scratch, beside_name) && write_source(workplace, source) &&
           (source->given->text ? write_headers(workplace, source->given->headers)
                                : link_folder(workplace, source->given->path));
}

/* ---- its environment ----------------------------------------------------------------------------- */

static bool begins_with(const char *text, const char *prefix) {
    return !strncmp(text, prefix, strlen(prefix));
}

/* "PATH=/usr/bin:/bin" of those folders of PATH whose names are safe in a shell; NULL: out of memory. */
static char *plain_search_path(const char *setting) {
    char *plain = strdup("PATH="), *kept = plain, *folders = strdup(strchr(setting, '=') + 1),
         *rest = folders;
    for (char *folder; kept && (folder = strsep(&rest, ":"));) {
        if (!folder[0] || !simt_is_plain_path(folder)) continue;
        kept = NULL;
        if (asprintf(&kept, "%s%s%s", plain, plain[strlen("PATH=")] ? ":" : "", folder) < 0) kept = NULL;
        free(plain);
        plain = kept;
    }
    free(folders);
    return kept;
}

static void free_environment(char **environment) {
    for (char **setting = environment; setting && *setting; setting++) free(*setting);
    free(environment);
}

static char *setting_for_nvcc(const char *setting, const char *folder) {
    char *changed = NULL;
    if (begins_with(setting, "PATH=")) return plain_search_path(setting);
    if (!begins_with(setting, "TMPDIR=")) return strdup(setting);
    return asprintf(&changed, "TMPDIR=%s", folder) < 0 ? NULL : changed;
}

/* The user's variables that are safe in a shell, with TMPDIR set to the private folder.  NULL: out of memory. */
static char **make_environment(const struct workplace *workplace) {
    size_t count = 0, length = 0;
    while (environ[count]) count++;
    char **environment = calloc(count + 2, sizeof *environment);
    if (!environment || !(environment[length++] = setting_for_nvcc("TMPDIR=", workplace->scratch.folder))) {
        free(environment);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        bool is_passed = begins_with(environ[i], "PATH=") || simt_is_plain_setting(environ[i]);
        if (!is_passed || begins_with(environ[i], "TMPDIR=")) continue;
        environment[length] = setting_for_nvcc(environ[i], NULL);
        if (!environment[length++]) {
            free_environment(environment);
            return NULL;
        }
    }
    return environment;
}

/* A variable of options for nvcc that is not safe in a shell: it is refused, as leaving it out silently would compile
 * something else than the user asked for.  NULL: there is none. */
static const char *find_refused_setting(void) {
    static const char *const names[] = {"NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value && !simt_is_plain_setting(value)) return names[i];
    }
    return NULL;
}

/* Whether nvcc is not run because its path, an option or a variable is not safe in the lines of its shell; log says which. */
static bool refuses(const char *nvcc, const char *const *options, simt_message *log) {
    const char *setting = find_refused_setting();
    char *real = realpath(nvcc, NULL);
    bool is_plain = simt_is_plain_path(nvcc) && real && simt_is_plain_path(real);
    free(real);
    while (*options && simt_is_plain_path(*options)) options++;
    if (!is_plain)
        snprintf(log->text, sizeof log->text,
                 "%.1000s is not run: it passes the name of its folder to a shell, and this name is not safe "
                 "there",
                 nvcc);
    else if (setting)
        snprintf(log->text, sizeof log->text,
                 "nvcc is not run: it passes %s to a shell, and its value has characters other than letters, "
                 "digits, blanks and /._-+,=@%%:",
                 setting);
    else if (*options)
        snprintf(log->text, sizeof log->text,
                 "nvcc is not run: it passes options to a shell, and '%.1000s' is not safe there", *options);
    return log->text[0];
}

/* ---- running it ---------------------------------------------------------------------------------- */

static bool set_actions(posix_spawn_file_actions_t *actions, const char *log) {
    return !posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) &&
           !posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, log, O_WRONLY | O_CREAT | O_EXCL, 0600) &&
           !posix_spawn_file_actions_adddup2(actions, STDOUT_FILENO, STDERR_FILENO);
}

/* Resets signals in the child, so that the caller's handlers do not affect the compiler. */
static bool set_attributes(posix_spawnattr_t *attributes, bool is_leader) {
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    if (is_leader) flags |= POSIX_SPAWN_SETPGROUP;
    return !posix_spawnattr_setsigmask(attributes, &none) &&
           !posix_spawnattr_setsigdefault(attributes, &defaults) &&
           !posix_spawnattr_setpgroup(attributes, 0) && !posix_spawnattr_setflags(attributes, flags);
}

/* -1 with errno set: it could not be started. */
static pid_t start(const struct workplace *workplace, const char *const *arguments, char **environment) {
    const simt_leftovers *leftovers = workplace->scratch.leftovers;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    pid_t child = -1;
    errno = posix_spawn_file_actions_init(&actions);
    if (errno) return -1;
    errno = posix_spawnattr_init(&attributes);
    if (errno) {
        posix_spawn_file_actions_destroy(&actions);
        return -1;
    }
    int error = ENOMEM;
    if (leftovers) leftovers->hold(leftovers->context, true);
    if (set_actions(&actions, workplace->log) && set_attributes(&attributes, leftovers))
        /* The arguments are not changed: posix_spawn's type is older than const. */
        error = posix_spawn(&child, arguments[0], &actions, &attributes, (char *const *)arguments, environment);
    if (leftovers && !error) leftovers->group(leftovers->context, child, true);
    if (leftovers) leftovers->hold(leftovers->context, false);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    errno = error;
    return error ? -1 : child;
}

/* Waits until the child ends, and reports that it is gone before it is reaped: until then no other process gets its number. */
static bool await(const struct workplace *workplace, pid_t child, int *status) {
    const simt_leftovers *leftovers = workplace->scratch.leftovers;
    siginfo_t information;
    while (waitid(P_PID, (id_t)child, &information, WEXITED | WNOWAIT))
        if (errno != EINTR) break;
    if (leftovers) leftovers->group(leftovers->context, child, false);
    while (waitpid(child, status, 0) < 0)
        if (errno != EINTR) return false;
    return true;
}

/* nvcc's exit status; -1 with errno set if it could not be started, -1 with errno 0 if a signal ended it. */
static int run(const struct workplace *workplace, const char *const *arguments) {
    char **environment = make_environment(workplace);
    if (!environment) return -1;
    pid_t child = start(workplace, arguments, environment);
    int error = errno, status;
    free_environment(environment);
    errno = error;
    if (child < 0 || !await(workplace, child, &status)) return -1;
    errno = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* nvcc OPTIONS [-I BESIDE] -o OUTPUT SOURCE.cu */
static int run_nvcc(const char *nvcc, const struct workplace *workplace, bool is_file, const char *const *options) {
    size_t count = 0;
    while (options[count]) count++;
    enum { OTHERS = 8 };
    const char **arguments = calloc(count + OTHERS, sizeof *arguments);
    if (!arguments) return -1;
    size_t length = 0;
    arguments[length++] = nvcc;
    for (size_t i = 0; i < count; i++) arguments[length++] = options[i];
    if (is_file) {
        arguments[length++] = "-I";
        arguments[length++] = workplace->beside;
    }
    arguments[length++] = "-o";
    arguments[length++] = workplace->output;
    arguments[length++] = workplace->source;
    int status = run(workplace, arguments);
    int error = errno;
    free(arguments);
    errno = error;
    return status;
}

/* ---- what it says and makes ---------------------------------------------------------------------- */

/* Writes the log as the user should see it: the link is replaced by the folder that it leads to, and the private folder's
 * own name is left out. */
static void put_log(FILE *stream, const char *text, const struct workplace *workplace, const char *folder) {
    const char *private = workplace->scratch.folder;
    for (const char *next; (next = strstr(text, private)); text = next) {
        fwrite(text, 1, (size_t)(next - text), stream);
        next += strlen(private);
        if (*next == '/') next++;
        if (!begins_with(next, beside_name)) continue;
        next += strlen(beside_name);
        if (*next == '/') next++;
        fputs(folder, stream);
    }
    fputs(text, stream);
}

static void get_log(const struct workplace *workplace, const struct source *source, simt_message *log) {
    size_t nbytes;
    char *text = simt_read_file(workplace->log, &nbytes);
    char *folder = strndup(source->name, simt_folder_length(source->name));
    FILE *stream = fmemopen(log->text, sizeof log->text, "w");
    if (text && folder && stream) put_log(stream, text, workplace, folder);
    if (stream) fclose(stream);
    log->text[sizeof log->text - 1] = '\0';
    free(folder);
    free(text);
}

/* Adds how options are given, if the log looks as if the source needed one. */
static void say_how_options_are_given(simt_message *log) {
    static const char *const wanting[] = {"nvcc flag", "cannot open source file", "No such file or directory"};
    size_t i = 0, count = sizeof wanting / sizeof *wanting, length = strlen(log->text);
    while (i < count && !strstr(log->text, wanting[i])) i++;
    if (i < count)
        snprintf(log->text + length, sizeof log->text - length,
                 "%snvcc takes further options, such as -I FOLDER, from the environment variable "
                 "NVCC_APPEND_FLAGS",
                 length && log->text[length - 1] != '\n' ? "\n" : "");
}

static void say_failure(const char *nvcc, int status, int error, simt_message *log) {
    if (error)
        snprintf(log->text, sizeof log->text, "%.1000s: %s", nvcc, strerror(error));
    else if (!log->text[0])
        snprintf(log->text, sizeof log->text, "%.1000s ended with status %d", nvcc, status);
    else
        say_how_options_are_given(log);
}

/* The mangled name in a line such as ".global .align 8 .u64 warpfold_instance = _Z6reduceIiEvPi;". */
static char *find_mangled(const char *ptx) {
    char sought[sizeof instance_variable + sizeof " = "];
    snprintf(sought, sizeof sought, "%s = ", instance_variable);
    const char *name = strstr(ptx, sought);
    if (!name) return NULL;
    name += strlen(sought);
    return strndup(name, strcspn(name, ";\n"));
}

static bool rename_files(char **ptx, const struct workplace *workplace, const struct source *source) {
    const char *path = source->given->path;
    char *folder = strndup(path, simt_folder_length(path)), private[PATH_MAX + 1], beside[PATH_MAX + 1];
    snprintf(private, sizeof private, "%s/", workplace->scratch.folder);
    snprintf(beside, sizeof beside, "%s/", workplace->beside);
    const struct renaming renamings[] = {{beside, folder, false}, {private, folder, false}};
    bool is_renamed = folder && simt_rename_files(ptx, renamings, 2) && simt_rename_source(ptx, source);
    free(folder);
    return is_renamed;
}

/* Runs nvcc; *output: the bytes that it wrote, followed by a NUL, to be freed by the caller. */
static enum outcome make(const char *nvcc, struct workplace *workplace, const struct source *source,
                         const char *const *options, char **output, size_t *nbytes, simt_message *log) {
    if (!fill(workplace, source)) {
        snprintf(log->text, sizeof log->text, "cannot create temporary files for nvcc: %s", strerror(errno));
        return OUTCOME_REFUSED;
    }
    int status = run_nvcc(nvcc, workplace, !source->given->text, options);
    if (status) {
        int error = errno;
        get_log(workplace, source, log);
        say_failure(nvcc, status, error, log);
        return OUTCOME_REFUSED;
    }
    *output = simt_read_file(workplace->output, nbytes);
    if (*output) return OUTCOME_COMPILED;
    snprintf(log->text, sizeof log->text, "%.1000s wrote nothing: %s", nvcc, strerror(errno));
    return OUTCOME_REFUSED;
}

/* The same, in a private folder that is removed again. */
static enum outcome make_in_private(struct workplace *workplace, const struct source *source,
                                    const char *const *options, char **output, size_t *nbytes,
                                    simt_message *log) {
    char nvcc[PATH_MAX];
    if (!find_nvcc(nvcc)) return OUTCOME_ABSENT;
    if (refuses(nvcc, options, log)) return OUTCOME_REFUSED;
    if (!simt_scratch_open(&workplace->scratch, source->given->leftovers)) {
        snprintf(log->text, sizeof log->text, "cannot create a temporary folder for nvcc: %s", strerror(errno));
        return OUTCOME_REFUSED;
    }
    const struct scratch scratch = workplace->scratch;
    enum outcome outcome = make(nvcc, workplace, source, options, output, nbytes, log);
    simt_scratch_close(&workplace->scratch);
    workplace->scratch = scratch; /* the output still contains its names, which rename_files replaces */
    return outcome;
}

enum outcome simt_nvcc(const struct source *source, const char *const *options, char **ptx, char **mangled,
                       simt_message *log) {
    struct workplace workplace;
    size_t nbytes, count = 0;
    while (options[count]) count++;
    const char **all = calloc(count + 2, sizeof *all);
    if (!all) return OUTCOME_MEMORY;
    memcpy(all, options, count * sizeof *all);
    all[count] = "-ptx";
    enum outcome outcome = make_in_private(&workplace, source, all, ptx, &nbytes, log);
    free(all);
    if (outcome != OUTCOME_COMPILED) return outcome;
    if (!rename_files(ptx, &workplace, source)) return OUTCOME_MEMORY;
    if (!source->given->instance) return OUTCOME_COMPILED;
    *mangled = find_mangled(*ptx);
    return *mangled ? OUTCOME_COMPILED : OUTCOME_MEMORY;
}

enum outcome simt_nvcc_program(const struct source *source, const char *const *options, char **program,
                               size_t *nbytes, simt_message *log) {
    struct workplace workplace;
    return make_in_private(&workplace, source, options, program, nbytes, log);
}
