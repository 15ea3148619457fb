/* Whether a program can be run with the stand-ins, by the libraries that it asks for.  One that asks for none of CUDA's,
 * or a script, may load them later: only running it shows. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "elf.h"
#include "private.h"

static const char how_to_build[] =
    "do not strip it, build it with 'nvcc -cudart shared -gencode arch=compute_75,code=compute_75', or give warpfold the .cu file";

/* Libraries that drive a GPU themselves. */
static const char *const absent_libraries[] = {
    "libcublas",   "libcublasLt", "libcurand", "libcufft", "libcusparse", "libcusolver", "libcudnn", "libnccl",
    "libnvjpeg",   "libnpp",      "libcufile", "libnvshmem", "libcutensor", NULL};

/* "libcublas.so.13" is "libcublas", "libnppial.so.13" one of "libnpp". */
static bool is_library(const char *file, const char *name) {
    size_t length = strlen(name);
    return !strncmp(file, name, length) && (file[length] == '.' || !strcmp(name, "libnpp"));
}

static bool is_absent(const char *file) {
    for (const char *const *name = absent_libraries; *name; name++)
        if (is_library(file, *name)) return true;
    return false;
}

static bool refuse(simt_message *message, const char *path, const char *why, const char *what) {
    snprintf(message->text, sizeof message->text, "%.1000s: %s%s%s", path, why, what[0] ? ": " : "", what);
    return false;
}

static bool check_libraries(const struct elf *elf, const char *path, simt_message *message) {
    const char *runtime = NULL;
    size_t at = 0;
    for (const char *file; (file = elf_next_needed(elf, &at));) {
        if (is_library(file, "libcudart")) runtime = file;
        if (!is_absent(file)) continue;
        snprintf(message->text, sizeof message->text,
                 "%.1000s: it needs %.200s, which drives a GPU itself: the simulator has nothing in its place", path,
                 file);
        return false;
    }
    if (runtime && !strcmp(runtime, "libcudart.so.13")) return true;
    if (runtime) {
        snprintf(message->text, sizeof message->text,
                 "%.1000s: it was built with %.100s, and the simulator stands in for libcudart.so.13: build it with "
                 "CUDA 13",
                 path, runtime);
        return false;
    }
    if (elf_has_section(elf, ".nv_fatbin") && !elf_has_section(elf, ".symtab"))
        return refuse(message, path,
                      "the CUDA runtime is linked into it and the names of its functions are stripped, so that no "
                      "simulator can take its place",
                      how_to_build);
    return true;
}

bool program_check(const char *path, int file, simt_message *message) {
    struct stat status;
    struct elf elf;
    if (fstat(file, &status) || !S_ISREG(status.st_mode) || status.st_size <= 0)
        return refuse(message, path, "it is not a program", "");
    size_t nbytes = (size_t)status.st_size;
    void *bytes = mmap(NULL, nbytes, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED) return refuse(message, path, "it cannot be read", "");
    bool is_script = nbytes > 2 && !memcmp(bytes, "#!", 2);
    bool is_sound = is_script ||
                    (elf_open(&elf, bytes, nbytes) ? check_libraries(&elf, path, message)
                                                   : refuse(message, path, "it is not a program for this computer",
                                                            "warpfold run takes a .cu file or a program"));
    munmap(bytes, nbytes);
    return is_sound;
}
