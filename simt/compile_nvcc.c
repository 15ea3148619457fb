/* nvcc, for sources with host code: run without a shell, in a private folder of temporary files. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* asprintf, environ */
#endif
#include "compile.h"
#include "nvrtc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
    const char *folder = getenv("PATH");
    while (folder && *folder) {
        size_t length = strcspn(folder, ":");
        if (length > 0 && length < PATH_MAX && is_in(path, folder, (int)length, "/nvcc")) return true;
        folder += length + (folder[length] == ':');
    }
    return false;
}

static bool find_nvcc(char path[PATH_MAX]) {
    const char *chosen = getenv("WARPFOLD_NVCC");
    if (chosen) return is_in(path, chosen, PATH_MAX, "");
    if (find_in_search_path(path)) return true;
    const char *roots[WF_CUDA_ROOTS_MAX + 1];
    wf_cuda_roots(roots);
    for (const char **root = roots; *root; root++)
        if (is_in(path, *root, PATH_MAX, "/bin/nvcc")) return true;
    return false;
}

/* ---- temporary files ----------------------------------------------------------------------------- */

struct scratch {
    char folder[PATH_MAX];
    char ptx[PATH_MAX], log[PATH_MAX], wrapper[PATH_MAX];
};

static bool scratch_open(struct scratch *scratch) {
    const char *parent = getenv("TMPDIR");
    if (!parent || !parent[0]) parent = "/tmp";
    enum { NAME_ROOM = 64 };
    if (strlen(parent) + NAME_ROOM > PATH_MAX) return false;
    int length = snprintf(scratch->folder, PATH_MAX, "%s/warpfold-XXXXXX", parent);
    if (!mkdtemp(scratch->folder)) return false;
    snprintf(scratch->ptx, PATH_MAX, "%.*s/kernel.ptx", length, scratch->folder);
    snprintf(scratch->log, PATH_MAX, "%.*s/log", length, scratch->folder);
    snprintf(scratch->wrapper, PATH_MAX, "%.*s/kernel.cu", length, scratch->folder);
    return true;
}

static void scratch_close(const struct scratch *scratch) {
    unlink(scratch->ptx);
    unlink(scratch->log);
    unlink(scratch->wrapper);
    rmdir(scratch->folder);
}

/* ---- instances ----------------------------------------------------------------------------------- */

/* A variable that holds the kernel's address makes a template's instance, and its initial value in the PTX is
 * the mangled name. */
static const char instance_variable[] = "warpfold_instance";

static void put_include(FILE *stream, const char *path) {
    char *directory = path[0] == '/' ? NULL : getcwd(NULL, 0);
    fprintf(stream, "#include \"%s%s%s\"\n", directory ? directory : "", directory ? "/" : "", path);
    free(directory);
}

/* A source that includes the user's and asks for the instance. */
static bool write_wrapper(const char *wrapper, const char *path, const char *instance) {
    FILE *stream = fopen(wrapper, "wxe");
    if (!stream) return false;
    put_include(stream, path);
    fprintf(stream, "#line 1 \"--kernel\"\n__device__ const void *%s = (const void *)&%s;\n",
            instance_variable, instance);
    bool is_written = !ferror(stream);
    return !fclose(stream) && is_written;
}

/* .global .align 8 .u64 warpfold_instance = _Z6reduceIiEvPi; */
static char *find_mangled(const char *ptx) {
    char sought[sizeof instance_variable + sizeof " = "];
    snprintf(sought, sizeof sought, "%s = ", instance_variable);
    const char *name = strstr(ptx, sought);
    if (!name) return NULL;
    name += strlen(sought);
    return strndup(name, strcspn(name, ";\n"));
}

/* ---- running it ---------------------------------------------------------------------------------- */

/* The exit status; -1 if it was killed or could not be started, with errno set for the latter, else 0. */
static int run(const char *program, const char *const *arguments, const char *log) {
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error) {
        errno = error;
        return -1;
    }
    pid_t child = -1;
    error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!error)
        error =
            posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    /* The arguments are not changed: posix_spawn's type is older than const. */
    if (!error) error = posix_spawn(&child, program, &actions, NULL, (char *const *)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    errno = error;
    if (error) return -1;
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return -1;
    errno = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* nvcc OPTIONS -I FOLDER -ptx -o KERNEL.ptx KERNEL.cu */
static int run_nvcc(const char *nvcc, const struct scratch *scratch, const char *path,
                    const char *const *options, const char *log) {
    size_t count = 0;
    while (options[count]) count++;
    enum { OTHERS = 6 };
    const char **arguments = calloc(count + OTHERS, sizeof *arguments);
    if (!arguments) return -1;
    size_t length = 0;
    arguments[length++] = nvcc;
    for (size_t i = 0; i < count; i++) arguments[length++] = options[i];
    arguments[length++] = "-ptx";
    arguments[length++] = "-o";
    arguments[length++] = scratch->ptx;
    arguments[length++] = path;
    int status = run(nvcc, arguments, log);
    int error = errno;
    free(arguments);
    errno = error;
    return status;
}

static void get_log(const struct scratch *scratch, int status, int error, const char *nvcc,
                    simt_message *log) {
    size_t nbytes;
    char *text = simt_read_file(scratch->log, &nbytes);
    if (text) snprintf(log->text, sizeof log->text, "%s", text);
    if (error)
        snprintf(log->text, sizeof log->text, "%.1000s: %s", nvcc, strerror(error));
    else if (!log->text[0])
        snprintf(log->text, sizeof log->text, "%.1000s ended with status %d", nvcc, status);
    free(text);
}

static enum outcome compile(const char *nvcc, const struct scratch *scratch, const struct source *source,
                            const char *const *options, const char *instance, char **ptx, char **mangled,
                            simt_message *log) {
    const char *path = source->path;
    if (instance) {
        path = scratch->wrapper;
        if (!write_wrapper(path, source->path, instance)) {
            snprintf(log->text, sizeof log->text, "%.1000s: %s", path, strerror(errno));
            return OUTCOME_REFUSED;
        }
    }
    int status = run_nvcc(nvcc, scratch, path, options, scratch->log);
    if (status) {
        get_log(scratch, status, errno, nvcc, log);
        return OUTCOME_REFUSED;
    }
    size_t nbytes;
    *ptx = simt_read_file(scratch->ptx, &nbytes);
    if (!*ptx) {
        snprintf(log->text, sizeof log->text, "%.1000s wrote no PTX: %s", nvcc, strerror(errno));
        return OUTCOME_REFUSED;
    }
    if (!instance) return OUTCOME_COMPILED;
    *mangled = find_mangled(*ptx);
    return *mangled ? OUTCOME_COMPILED : OUTCOME_MEMORY;
}

enum outcome simt_nvcc(const struct source *source, const char *const *options, const char *instance,
                       char **ptx, char **mangled, simt_message *log) {
    char nvcc[PATH_MAX];
    if (!find_nvcc(nvcc)) return OUTCOME_ABSENT;
    struct scratch scratch;
    if (!scratch_open(&scratch)) {
        snprintf(log->text, sizeof log->text, "no temporary folder for nvcc: %s", strerror(errno));
        return OUTCOME_REFUSED;
    }
    enum outcome outcome = compile(nvcc, &scratch, source, options, instance, ptx, mangled, log);
    scratch_close(&scratch);
    return outcome;
}
