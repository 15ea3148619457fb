/* Leads calls of a CUDA runtime that is linked into a program, or into a library that it loads, to the stand-in; and
 * gives programs that compile kernels PTX where they ask for machine code.
 *
 * The dynamic linker loads this library beside the program (LD_AUDIT) and tells it of every file that it maps, before
 * any of the file's own code runs.  Where such a file has functions of the runtime's, by the names in its symbol table,
 * each is made to begin with a jump to the stand-in's function of that name.  NVRTC has the PTX of what it has compiled to machine
 * code, and the same calls for both.  nvJitLink's version is hidden: its callers then take it for one that is too old for
 * them, and the driver's linker in its place, which leaves PTX what it is. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* LD_AUDIT, dladdr */
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program/elf.h"

#define EXPORTED __attribute__((visibility("default")))

/* ---- files --------------------------------------------------------------------------------------- */

struct image {
    struct elf elf;
    void *bytes;
    size_t nbytes;
};

static bool open_image(const char *path, struct image *image) {
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool is_file = file >= 0 && !fstat(file, &status) && S_ISREG(status.st_mode) && status.st_size > 0;
    image->nbytes = is_file ? (size_t)status.st_size : 0;
    image->bytes = is_file ? mmap(NULL, image->nbytes, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    if (file >= 0) close(file);
    if (image->bytes == MAP_FAILED) return false;
    if (elf_open(&image->elf, image->bytes, image->nbytes)) return true;
    munmap(image->bytes, image->nbytes);
    return false;
}

static void close_image(struct image *image) { munmap(image->bytes, image->nbytes); }

/* ---- the stand-in's functions -------------------------------------------------------------------- */

static struct {
    struct elf_symbols symbols; /* of its file, which stays mapped */
    uintptr_t base;             /* 0: it is not there yet */
} stand_in;

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* It lies beside this library. */
static bool is_stand_in(const char *path) {
    Dl_info self;
    if (strcmp(file_name(path), "libcudart.so.13") || !dladdr((void *)(uintptr_t)is_stand_in, &self)) return false;
    size_t folder = (size_t)(file_name(self.dli_fname) - self.dli_fname);
    return folder == (size_t)(file_name(path) - path) && !strncmp(path, self.dli_fname, folder);
}

static void meet_stand_in(const struct link_map *map) {
    struct image image;
    if (!open_image(map->l_name, &image)) return;
    if (elf_open_symbols(&image.elf, true, &stand_in.symbols)) stand_in.base = map->l_addr;
}

static bool find_function(const struct elf_symbols *symbols, const char *name, struct elf_function *function) {
    for (size_t at = 0; elf_next_function(symbols, &at, function);)
        if (!strcmp(function->name, name)) return true;
    return false;
}

static bool is_replaced(const char *name) {
    return !strncmp(name, "cuda", 4) || !strncmp(name, "__cuda", 6);
}

/* ---- redirecting --------------------------------------------------------------------------------- */

#if defined __x86_64__
static const unsigned char jump[] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp *0(%rip): to the address behind it */
#elif defined __aarch64__
static const unsigned char jump[] = {0x50, 0, 0, 0x58, 0, 2, 0x1f, 0xd6}; /* ldr x16, .+8; br x16 */
#else
#error "no jump is known for this processor"
#endif

/* Code, or what else is not written to once it is mapped. */
static bool overwrite(uintptr_t to, const void *bytes, size_t nbytes) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = to / page * page, end = (to + nbytes + page - 1) / page * page;
    if (mprotect((void *)begin, end - begin, PROT_READ | PROT_WRITE | PROT_EXEC)) return false;
    memcpy((void *)to, bytes, nbytes);
    return !mprotect((void *)begin, end - begin, PROT_READ | PROT_EXEC);
}

static void redirect_function(uintptr_t from, uintptr_t to) {
    unsigned char code[sizeof jump + sizeof to];
    memcpy(code, jump, sizeof jump);
    memcpy(code + sizeof jump, &to, sizeof to);
    if (overwrite(from, code, sizeof code)) __builtin___clear_cache((char *)from, (char *)from + sizeof code);
}

/* What is nowhere is not found. */
static void hide_function(const struct elf_symbols *symbols, uintptr_t base, const char *name) {
    const uint64_t nowhere = 0;
    struct elf_function function;
    for (size_t at = 0; elf_next_function(symbols, &at, &function);)
        if (!strcmp(function.name, name))
            overwrite(base + symbols->address + (at - 1) * sizeof(Elf64_Sym) + offsetof(Elf64_Sym, st_value), &nowhere,
                      sizeof nowhere);
}

static bool has_room(const struct elf_function *function) {
    return function->nbytes >= sizeof jump + sizeof(uintptr_t);
}

/* The runtime of CUDA 12 has this name, which that of 13 has no more; some of its structures differ. */
static bool is_of_another_version(const struct elf_symbols *symbols) {
    struct elf_function function;
    return find_function(symbols, "cudaGetDeviceProperties_v2", &function);
}

static void redirect_functions(const struct elf_symbols *symbols, uintptr_t base) {
    struct elf_function function, replacement;
    for (size_t at = 0; elf_next_function(symbols, &at, &function);)
        if (is_replaced(function.name) && has_room(&function) &&
            find_function(&stand_in.symbols, function.name, &replacement))
            redirect_function(base + function.address, stand_in.base + replacement.address);
}

static void redirect_compiler(const struct elf_symbols *symbols, uintptr_t base) {
    static const char *const pairs[][2] = {{"nvrtcGetCUBIN", "nvrtcGetPTX"}, {"nvrtcGetCUBINSize", "nvrtcGetPTXSize"}};
    struct elf_function from, to;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (find_function(symbols, pairs[i][0], &from) && find_function(symbols, pairs[i][1], &to) && has_room(&from))
            redirect_function(base + from.address, base + to.address);
}

static void redirect_runtime(const struct elf_symbols *symbols, uintptr_t base) {
    if (!is_of_another_version(symbols)) redirect_functions(symbols, base);
}

static void hide_version(const struct elf_symbols *symbols, uintptr_t base) {
    hide_function(symbols, base, "nvJitLinkVersion");
}

/* What is done to a file.  Shared libraries, which a program has loaded by their paths, have no other table than that for
 * others. */
static const struct treatment {
    const char *library; /* how its name begins */
    bool is_dynamic;
    void (*treat)(const struct elf_symbols *symbols, uintptr_t base);
} treatments[] = {
    {"libnvrtc.so.", true, redirect_compiler},
    {"libnvJitLink.so.", true, hide_version},
    {"libcudart.so.13", true, redirect_runtime},
    {"", false, redirect_runtime},
};

static void treat_file(const struct link_map *map) {
    struct image image;
    struct elf_symbols symbols;
    const char *path = map->l_name[0] ? map->l_name : "/proc/self/exe";
    const struct treatment *treatment = treatments;
    while (strncmp(file_name(path), treatment->library, strlen(treatment->library))) treatment++;
    if (!open_image(path, &image)) return;
    if (elf_open_symbols(&image.elf, treatment->is_dynamic, &symbols)) treatment->treat(&symbols, map->l_addr);
    close_image(&image);
}

/* ---- what the dynamic linker tells ---------------------------------------------------------------- */

enum { WAITING = 1024 };
static const struct link_map *waiting[WAITING]; /* mapped, but not yet looked at */
static size_t waiting_count;

EXPORTED unsigned la_version(unsigned version) { return version < LAV_CURRENT ? version : LAV_CURRENT; }

EXPORTED unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie) {
    (void)cookie;
    if (space != LM_ID_BASE) return 0;
    if (is_stand_in(map->l_name)) meet_stand_in(map);
    else if (waiting_count < WAITING) waiting[waiting_count++] = map;
    return 0;
}

EXPORTED void la_activity(uintptr_t *cookie, unsigned what) {
    (void)cookie;
    if (what != LA_ACT_CONSISTENT || !stand_in.base) return;
    for (size_t i = 0; i < waiting_count; i++) treat_file(waiting[i]);
    waiting_count = 0;
}
