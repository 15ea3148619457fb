#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create, asprintf, execveat */
#endif
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/nvrtc.h"
#include "gpus.h"
#include "private.h"

extern char **environ;

const char *const program_gpus[] = {
#define WORD(word, ...) #word,
    PROGRAM_GPUS(WORD)
#undef WORD
        NULL};

static const int architectures[] = {
#define ARCHITECTURE(word, name, major, minor, ...) (major) * 10 + (minor),
    PROGRAM_GPUS(ARCHITECTURE)
#undef ARCHITECTURE
};

static bool fail(simt_message *message, const char *what, int error) {
    snprintf(message->text, sizeof message->text, "%.1000s: %s", what,
             error == ENOMEM ? "out of memory" : strerror(error));
    return false;
}

/* ---- the program's file -------------------------------------------------------------------------- */

static bool write_all(int file, const char *bytes, size_t nbytes) {
    while (nbytes > 0) {
        ssize_t written = write(file, bytes, nbytes);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        bytes += written;
        nbytes -= (size_t)written;
    }
    return true;
}

/* The program exists in memory alone, so that nothing is left behind. */
static bool compile(struct program *program, const struct program_settings *settings, simt_message *message) {
    char target[64];
    int architecture = architectures[program->record->settings.gpu];
    const char *own = architecture == 90 ? "a" : ""; /* with what only that GPU has, as wgmma */
    snprintf(target, sizeof target, "arch=compute_%d%s,code=compute_%d%s", architecture, own, architecture, own);
    const char *const options[] = {"-cudart", "shared", "-gencode",     target,      "-lineinfo", "-Xcompiler", "-g1",
                                   "-x",      "cu",     "-no-compress", "-std=c++17", NULL};
    const simt_source source = {.path = program->path, .options = options, .leftovers = settings->leftovers};
    void *bytes;
    size_t nbytes;
    if (simt_compile_program(&source, &bytes, &nbytes, message)) return false;
    program->file = memfd_create("program", MFD_CLOEXEC);
    bool is_written = program->file >= 0 && write_all(program->file, bytes, nbytes);
    free(bytes);
    return is_written || fail(message, program->path, errno);
}

/* What is there by that name, or else what a shell would find. */
static bool open_file(struct program *program, simt_message *message) {
    program->file = open(program->path, O_RDONLY | O_CLOEXEC);
    if (program->file < 0 && errno == ENOENT) {
        program->found = program_find_in_path(program->path);
        if (program->found) program->path = program->found;
        if (program->found) program->file = open(program->path, O_RDONLY | O_CLOEXEC);
    }
    if (program->file < 0) return fail(message, program->path, errno);
    return access(program->path, X_OK) ? fail(message, program->path, errno) : true;
}

static bool has_ending(const char *path, const char *ending) {
    size_t length = strlen(path), ending_length = strlen(ending);
    return length > ending_length && !strcmp(path + length - ending_length, ending);
}

/* ---- the record ---------------------------------------------------------------------------------- */

static uint32_t find_gpu(const char *word) {
    uint32_t gpu = 0;
    while (word && program_gpus[gpu] && strcmp(program_gpus[gpu], word)) gpu++;
    return gpu;
}

static bool create_record(struct program *program, const struct program_settings *settings, simt_message *message) {
    program->record_file = memfd_create("record", 0); /* inherited */
    if (program->record_file < 0 || ftruncate(program->record_file, sizeof *program->record))
        return fail(message, "the record of a program", errno);
    struct record *record =
        mmap(NULL, sizeof *record, PROT_READ | PROT_WRITE, MAP_SHARED, program->record_file, 0);
    if (record == MAP_FAILED) return fail(message, "the record of a program", errno);
    program->record = record;
    record->version = RECORD_VERSION;
    record->settings =
        (struct record_settings){.gpu = find_gpu(settings->gpu),
                                 .gpus = settings->gpus,
                                 .threads = settings->threads,
                                 .schedule = settings->schedule,
                                 .skips_races = settings->skips_races,
                                 .equal_stores_race = settings->equal_stores_race,
                                 .tells_slow = settings->tells_slow,
                                 .counts_lines = settings->counts_lines,
                                 .seed = settings->seed,
                                 .launch = settings->launch,
                                 .block_limit = settings->instruction_limit ? 0 : PROGRAM_BLOCK_LIMIT,
                                 .instruction_limit = settings->instruction_limit ? settings->instruction_limit
                                                                                  : PROGRAM_INSTRUCTION_LIMIT};
    snprintf(record->settings.kernel, sizeof record->settings.kernel, "%s", settings->kernel ? settings->kernel : "");
    if (program_gpus[record->settings.gpu]) return true;
    snprintf(message->text, sizeof message->text, "no GPU is called '%.100s'", settings->gpu);
    return false;
}

static bool prepare_stand_ins(struct program *program, const struct program_settings *settings, simt_message *message) {
    if (!create_record(program, settings, message)) return false;
    errno = 0;
    program->folder = program_find_folder();
    if (!program->folder && errno == ENOMEM) return fail(message, program->path, errno);
    if (!program->folder) {
        snprintf(message->text, sizeof message->text,
                 "the simulator's libcudart.so.13 is neither next to warpfold nor where it is installed (its folder's name "
                 "may have no blanks or colons)");
        return false;
    }
    return true;
}

static bool prepare(struct program *program, const struct program_settings *settings, simt_message *message) {
    if (!prepare_stand_ins(program, settings, message)) return false;
    program->is_compiled = has_ending(program->path, ".cu");
    bool is_open = program->is_compiled ? compile(program, settings, message) : open_file(program, message);
    return is_open && program_check(program->path, program->file, message);
}

bool program_open(struct program **result, const char *const *arguments, const struct program_settings *settings,
                  simt_message *message) {
    struct program *program = calloc(1, sizeof *program);
    *result = NULL;
    if (!program) return fail(message, arguments[0], ENOMEM);
    *program = (struct program){.path = arguments[0],
                                .arguments = arguments,
                                .file = -1,
                                .record_file = -1,
                                .progress = settings->progress,
                                .progress_context = settings->progress_context};
    if (!prepare(program, settings, message)) {
        program_close(program);
        return false;
    }
    *result = program;
    return true;
}

/* ---- in this process ----------------------------------------------------------------------------- */

static bool set_driver(const struct program *program) {
    char record[16], *driver;
    if (asprintf(&driver, "%s/libcuda.so.1", program->folder) < 0) return false;
    snprintf(record, sizeof record, "%d", program->record_file);
    bool is_set = !setenv(RECORD_VARIABLE, record, 1) && !setenv("WARPFOLD_LIBCUDA", driver, 1) &&
                  !setenv("WARPFOLD_CUDA_IMAGE", "ptx", 1);
    free(driver);
    return is_set;
}

bool program_open_here(struct program **result, const struct program_settings *settings, simt_message *message) {
    static const char name[] = "this process";
    struct program *program = calloc(1, sizeof *program);
    *result = NULL;
    if (!program) return fail(message, name, ENOMEM);
    *program = (struct program){.path = name, .file = -1, .record_file = -1};
    bool is_open = prepare_stand_ins(program, settings, message) &&
                   (set_driver(program) || fail(message, name, ENOMEM));
    if (is_open) *result = program;
    else program_close(program);
    return is_open;
}

bool program_has_nvrtc(void) {
    struct wf_nvrtc nvrtc;
    return wf_nvrtc_open(&nvrtc);
}

uint64_t program_finding_count(const struct program *program) { return program->record->finding_count; }

uint64_t program_race_count(const struct program *program) {
    uint64_t races = 0;
    for (uint32_t i = 0; i < program->record->finding_count; i++)
        races += program->record->findings[i].kind == SIMT_FINDING_RACE;
    return races;
}

void program_close(struct program *program) {
    if (!program) return;
    if (program->record) munmap(program->record, sizeof *program->record);
    if (program->record_file >= 0) close(program->record_file);
    if (program->file >= 0) close(program->file);
    free(program->folder);
    free(program->found);
    free(program);
}

/* ---- running it ---------------------------------------------------------------------------------- */

/* Environment variables that are set here; they come first. */
enum setting { SETTING_PRELOAD, SETTING_AUDIT, SETTING_FOLDERS, SETTING_ASSEMBLER, SETTING_ASSEMBLER_90, SETTING_RECORD, SETTINGS };

/* Of Triton, by whose name for it ptxas is called for older GPUs, and from capability 9.0 on. */
#define ASSEMBLER_VARIABLE "TRITON_PTXAS_PATH"
#define ASSEMBLER_90_VARIABLE "TRITON_PTXAS_BLACKWELL_PATH"

static void free_environment(char **environment) {
    for (size_t i = 0; i < SETTINGS; i++) free(environment[i]);
    free(environment);
}

static bool is_ours(const char *setting) {
    static const char *const ours[] = {"LD_PRELOAD=", "LD_AUDIT=", "LD_LIBRARY_PATH=", ASSEMBLER_VARIABLE "=",
                                       ASSEMBLER_90_VARIABLE "=", RECORD_VARIABLE "="};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (!strncmp(setting, ours[i], strlen(ours[i]))) return true;
    return false;
}

/* What is given, or NULL, goes behind `before` and in front of `after`. */
static char *setting_of(const char *variable, const char *before, const char *after) {
    const char *given = getenv(variable);
    char *setting;
    bool has_given = given && *given;
    int length = asprintf(&setting, "%s=%s%s%s%s%s", variable, before, has_given && *before ? ":" : "", has_given ? given : "",
                          has_given && *after ? ":" : "", after);
    return length < 0 ? NULL : setting;
}

static char *stand_in_for(const char *variable, const struct program *program, const char *file) {
    char *setting;
    return asprintf(&setting, "%s=%s/%s", variable, program->folder, file) < 0 ? NULL : setting;
}

/* The stand-ins come before the libraries that the program would find, wherever it looks, and calls of a runtime that
 * is linked into it are led to them.  Some programs search folders for the driver's file, as tinygrad does. */
static void set_libraries(const struct program *program, char *settings[SETTINGS]) {
    char *stand_ins = NULL, *redirect = NULL;
    if (asprintf(&stand_ins, "%s/libcudart.so.13:%s/libcuda.so.1", program->folder, program->folder) < 0)
        stand_ins = NULL;
    if (asprintf(&redirect, "%s/libredirect.so", program->folder) < 0) redirect = NULL;
    if (stand_ins) settings[SETTING_PRELOAD] = setting_of("LD_PRELOAD", "", stand_ins);
    if (redirect) settings[SETTING_AUDIT] = setting_of("LD_AUDIT", "", redirect);
    settings[SETTING_FOLDERS] = setting_of("LD_LIBRARY_PATH", program->folder, "");
    settings[SETTING_ASSEMBLER] = stand_in_for(ASSEMBLER_VARIABLE, program, "ptxas");
    settings[SETTING_ASSEMBLER_90] = stand_in_for(ASSEMBLER_90_VARIABLE, program, "ptxas");
    free(stand_ins);
    free(redirect);
}

/* NULL: no memory. */
static char **make_environment(const struct program *program) {
    size_t count = 0, length = SETTINGS;
    while (environ[count]) count++;
    char **environment = calloc(count + SETTINGS + 1, sizeof *environment);
    if (!environment) return NULL;
    for (size_t i = 0; i < count; i++)
        if (!is_ours(environ[i])) environment[length++] = environ[i];
    set_libraries(program, environment);
    if (asprintf(&environment[SETTING_RECORD], RECORD_VARIABLE "=%d", program->record_file) < 0) environment[SETTING_RECORD] = NULL;
    bool is_whole = true;
    for (size_t i = 0; i < SETTINGS; i++) is_whole = is_whole && environment[i];
    if (is_whole) return environment;
    free_environment(environment);
    return NULL;
}

/* In the child, which becomes the program: signals are as the user's shell had them, and it ends when warpfold does. */
static void become(const struct program *program, char **environment, int failure) {
    static const int defaults[] = {SIGPIPE, SIGXFSZ, SIGINT, SIGQUIT, SIGTERM, SIGHUP};
    sigset_t none;
    sigemptyset(&none);
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++) signal(defaults[i], SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (program->is_compiled) fexecve(program->file, (char *const *)program->arguments, environment);
    else execve(program->path, (char *const *)program->arguments, environment); /* a script is opened by its name */
    int error = errno;
    if (write(failure, &error, sizeof error) < 0) _exit(126);
    _exit(127);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Reports progress until the program ends.  If the system cannot wait for a process with a timeout, nothing is reported. */
static void tell_progress(const struct program *program, pid_t child) {
    enum { BETWEEN_MS = 250 };
    const struct record_running *running = &program->record->running;
    struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, child, 0), .events = POLLIN};
    uint64_t last = 0;
    double began = now();
    while (ended.fd >= 0 && poll(&ended, 1, BETWEEN_MS) <= 0 && (!ended.revents)) {
        char kernel[RECORD_NAME];
        uint64_t launch = __atomic_load_n(&running->launch, __ATOMIC_ACQUIRE);
        memcpy(kernel, running->kernel, sizeof kernel);
        kernel[sizeof kernel - 1] = '\0';
        if (launch != last) began = now();
        last = launch;
        program->progress(program->progress_context, launch, kernel, now() - began);
    }
    if (ended.fd >= 0) close(ended.fd);
    program->progress(program->progress_context, 0, "", 0);
}

static bool await(const struct program *program, pid_t child, struct program_end *end) {
    int status;
    if (program->progress) tell_progress(program, child);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return false;
    end->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    end->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + end->signal;
    return true;
}

/* What the terminal interrupts is the program: warpfold goes on, and reports. */
static bool start(struct program *program, char **environment, simt_message *message) {
    int pipes[2], error = 0;
    if (pipe2(pipes, O_CLOEXEC)) return fail(message, program->path, errno);
    void (*interrupt)(int) = signal(SIGINT, SIG_IGN), (*quit)(int) = signal(SIGQUIT, SIG_IGN);
    pid_t child = fork();
    if (child == 0) become(program, environment, pipes[1]);
    int fork_error = errno;
    close(pipes[1]);
    bool is_over = child > 0 && await(program, child, &program->end);
    bool has_failed = child > 0 && read(pipes[0], &error, sizeof error) == (ssize_t)sizeof error;
    close(pipes[0]);
    signal(SIGINT, interrupt);
    signal(SIGQUIT, quit);
    if (has_failed) return fail(message, program->path, error);
    return is_over || fail(message, program->path, fork_error);
}

bool program_run(struct program *program, simt_message *message) {
    char **environment = make_environment(program);
    if (!environment) return fail(message, program->path, ENOMEM);
    bool has_run = start(program, environment, message);
    free_environment(environment);
    if (has_run) program_find_host_lines(program);
    return has_run;
}

struct program_end program_end(const struct program *program) {
    struct program_end end = program->end;
    end.has_findings = program->record->finding_count > 0 ||
                       (program->record->has_ended && program->record->leaks > 0);
    end.has_advice = program->record->advice_count > 0;
    end.was_simulated = program->record->has_begun;
    return end;
}
