/* Preloaded into a program, lets calls of the C library fail: the FAULT_AT-th one of the kind FAULT_KIND,
 * counted from 1 over the whole process once it has begun.
 *
 * FAULT_KIND     memory (malloc and its kin), thread (pthread_create), or the name of a system call below
 * FAULT_AT       which call; 0 or nothing: none fails
 * FAULT_LASTING  every call from there on, too
 * FAULT_ERROR    the errno of a system call that fails; 0: it does half of what it should (read, write)
 * FAULT_SIGNAL   instead of failing, the process gets this signal just before the call
 * FAULT_NAMED    files without a name (O_TMPFILE) cannot be had at all
 * FAULT_CLOCK    the clock stands still
 * FAULT_PLACES   a file that gets a line for each call: the addresses in the program from which it is reached
 *
 * Processes that the program starts are left alone. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { DEPTH = 64 }; /* of calls within each other */

/* ---- which call fails ---------------------------------------------------------------------------- */

static struct {
    const char *kind;
    long at;
    bool is_lasting, has_names_only, is_timeless;
    int error, signal;
    int places; /* a file's number; negative: none */
} plan = {.places = -1};

static struct { uintptr_t begin, end; } program; /* its addresses */

static atomic_long calls;
/* Of this file's own doing.  Loaded with the program, it needs no call for it: clang's address sanitizer,
 * which calls malloc while it begins, would have that call's place not yet. */
static _Thread_local bool is_inside __attribute__((tls_model("initial-exec")));

static long number_of(const char *name, long otherwise) {
    const char *text = getenv(name);
    return text && *text ? strtol(text, NULL, 10) : otherwise;
}

/* The first object is the program. */
static int find_program(struct dl_phdr_info *object, size_t size, void *data) {
    (void)size, (void)data;
    program.begin = program.end = object->dlpi_addr;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        uintptr_t end = object->dlpi_addr + part->p_vaddr + part->p_memsz;
        if (part->p_type == PT_LOAD && end > program.end) program.end = end;
    }
    return 1;
}

__attribute__((constructor)) static void begin(void) {
    is_inside = true;
    const char *places = getenv("FAULT_PLACES");
    if (places) {
        dl_iterate_phdr(find_program, NULL);
        int flags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND;
        plan.places = (int)syscall(SYS_openat, AT_FDCWD, places, flags, 0600);
    }
    plan.at = number_of("FAULT_AT", 0);
    plan.is_lasting = number_of("FAULT_LASTING", 0) != 0;
    plan.has_names_only = number_of("FAULT_NAMED", 0) != 0;
    plan.is_timeless = number_of("FAULT_CLOCK", 0) != 0;
    plan.error = (int)number_of("FAULT_ERROR", EIO);
    plan.signal = (int)number_of("FAULT_SIGNAL", 0);
    unsetenv("LD_PRELOAD");
    plan.kind = getenv("FAULT_KIND"); /* last: from here on calls count */
    is_inside = false;
}

/* For a program that chooses by itself, as often as it likes: like FAULT_KIND, FAULT_AT and FAULT_LASTING.
 * Returns how many calls were counted before. */
EXPORT long faults_choose(const char *kind, long at, bool is_lasting) {
    plan.kind = kind;
    plan.at = at;
    plan.is_lasting = is_lasting;
    return atomic_exchange(&calls, 0);
}

/* Addresses in libraries are left out: those change from run to run, and what the program does about a
 * failure is the same. */
static void note_place(void) {
    void *frames[DEPTH];
    char line[DEPTH * 9 + 2];
    int length = 0;
    is_inside = true; /* the first time, this loads a library */
    int depth = backtrace(frames, DEPTH);
    for (int i = 0; i < depth; i++) {
        uintptr_t address = (uintptr_t)frames[i];
        if (address < program.begin || address >= program.end) continue;
        unsigned offset = (unsigned)(address - program.begin);
        length += snprintf(line + length, sizeof line - (size_t)length, "%.8x ", offset);
    }
    line[length] = '\n';
    syscall(SYS_write, plan.places, line, (size_t)length + 1); /* one call, as threads may do so at once */
    is_inside = false;
}

/* Counts a call; does it fail?  A signal is not a failure. */
static bool strikes(const char *kind) {
    if (!plan.kind || is_inside || strcmp(kind, plan.kind)) return false;
    long number = 1 + atomic_fetch_add(&calls, 1);
    if (plan.places >= 0) note_place();
    bool is_hit = plan.at && (number == plan.at || (plan.is_lasting && number > plan.at));
    if (!is_hit || !plan.signal) return is_hit;
    kill(getpid(), plan.signal);
    return false;
}

/* The function that the program would have called. */
static void *next(const char *name) {
    bool was_inside = is_inside;
    is_inside = true;
    void *found = dlsym(RTLD_NEXT, name);
    is_inside = was_inside;
    return found;
}

#define NEXT(name)                                                                                           \
    static __typeof__(name) *real_##name;                                                                    \
    if (!real_##name) real_##name = (__typeof__(name) *)next(#name)

/* ---- memory and threads -------------------------------------------------------------------------- */

EXPORT void *malloc(size_t nbytes) {
    NEXT(malloc);
    if (!strikes("memory")) return real_malloc(nbytes);
    errno = ENOMEM;
    return NULL;
}

EXPORT void *calloc(size_t count, size_t nbytes) {
    NEXT(calloc);
    if (!strikes("memory")) return real_calloc(count, nbytes);
    errno = ENOMEM;
    return NULL;
}

EXPORT void *realloc(void *memory, size_t nbytes) {
    NEXT(realloc);
    if (!strikes("memory")) return real_realloc(memory, nbytes);
    errno = ENOMEM;
    return NULL;
}

EXPORT void *reallocarray(void *memory, size_t count, size_t nbytes) {
    NEXT(reallocarray);
    if (!strikes("memory")) return real_reallocarray(memory, count, nbytes);
    errno = ENOMEM;
    return NULL;
}

EXPORT void *aligned_alloc(size_t alignment, size_t nbytes) {
    NEXT(aligned_alloc);
    if (!strikes("memory")) return real_aligned_alloc(alignment, nbytes);
    errno = ENOMEM;
    return NULL;
}

EXPORT int posix_memalign(void **memory, size_t alignment, size_t nbytes) {
    NEXT(posix_memalign);
    return strikes("memory") ? ENOMEM : real_posix_memalign(memory, alignment, nbytes);
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument) {
    NEXT(pthread_create);
    return strikes("thread") ? EAGAIN : real_pthread_create(thread, attributes, run, argument);
}

/* Address sanitizers look with it for the stack of every thread, and give up if they cannot. */
EXPORT int pthread_getattr_np(pthread_t thread, pthread_attr_t *attributes) {
    NEXT(pthread_getattr_np);
    bool was_inside = is_inside;
    is_inside = true;
    int error = real_pthread_getattr_np(thread, attributes);
    is_inside = was_inside;
    return error;
}

/* ---- system calls -------------------------------------------------------------------------------- */

static bool call_fails(const char *kind) {
    if (!strikes(kind)) return false;
    errno = plan.error;
    return true;
}

EXPORT int open(const char *path, int flags, ...) {
    NEXT(open);
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = va_arg(arguments, mode_t); /* nobody looks at it where it is not given */
    va_end(arguments);
    if (plan.has_names_only && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return call_fails("open") ? -1 : real_open(path, flags, mode);
}

EXPORT FILE *fopen(const char *path, const char *mode) {
    NEXT(fopen);
    return call_fails("open") ? NULL : real_fopen(path, mode);
}

EXPORT ssize_t read(int file, void *data, size_t nbytes) {
    NEXT(read);
    if (!strikes("read")) return real_read(file, data, nbytes);
    if (!plan.error) return real_read(file, data, nbytes - nbytes / 2);
    errno = plan.error;
    return -1;
}

EXPORT ssize_t write(int file, const void *data, size_t nbytes) {
    NEXT(write);
    if (!strikes("write")) return real_write(file, data, nbytes);
    if (!plan.error) return real_write(file, data, nbytes - nbytes / 2);
    errno = plan.error;
    return -1;
}

EXPORT int close(int file) {
    NEXT(close);
    bool is_failed = strikes("close"); /* it is closed all the same */
    int status = real_close(file);
    if (!is_failed) return status;
    errno = plan.error;
    return -1;
}

EXPORT void *mmap(void *address, size_t nbytes, int protection, int flags, int file, off_t offset) {
    NEXT(mmap);
    return call_fails("mmap") ? MAP_FAILED : real_mmap(address, nbytes, protection, flags, file, offset);
}

EXPORT int fsync(int file) {
    NEXT(fsync);
    return call_fails("fsync") ? -1 : real_fsync(file);
}

EXPORT int fchmod(int file, mode_t mode) {
    NEXT(fchmod);
    return call_fails("fchmod") ? -1 : real_fchmod(file, mode);
}

EXPORT int fstat(int file, struct stat *status) {
    NEXT(fstat);
    return call_fails("fstat") ? -1 : real_fstat(file, status);
}

EXPORT int stat(const char *path, struct stat *status) {
    NEXT(stat);
    return call_fails("stat") ? -1 : real_stat(path, status);
}

EXPORT int dup(int file) {
    NEXT(dup);
    return call_fails("dup") ? -1 : real_dup(file);
}

EXPORT int rename(const char *from, const char *to) {
    NEXT(rename);
    return call_fails("rename") ? -1 : real_rename(from, to);
}

EXPORT int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    NEXT(linkat);
    return call_fails("linkat") ? -1 : real_linkat(from_folder, from, to_folder, to, flags);
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *time) {
    NEXT(clock_gettime);
    if (!plan.is_timeless || clock != CLOCK_MONOTONIC) return real_clock_gettime(clock, time);
    *time = (struct timespec){.tv_sec = 1};
    return 0;
}
