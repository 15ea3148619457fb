/* What a program registers before its main (fat binaries, kernels, variables), which is not read before it is used, and
 * what it loads by hand. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dl_iterate_phdr */
#endif
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "join.h"
#include "program/fatbin.h"
#include "runtime.h"

enum { WRAPPER_MAGIC = 0x466243b1, WRAPPER_LINKED = 2 };

/* What the program hands over. */
struct wrapper {
    uint32_t magic, version;
    const void *fatbin;
    const void *const *others; /* version 2: those of the files that were linked (-rdc=true), up to NULL */
};

struct module {
    struct module *next;
    const struct wrapper *wrapper; /* NULL: loaded by hand */
    simt_module *parsed;
    uint32_t arch;
    bool is_read;
    cudaError_t error; /* of reading it */
};

struct variable {
    struct variable *next;
    struct module *module;
    const void *host;
    const char *name;
    void **managed; /* where the host's code wants its address; NULL: it is not managed */
};

static struct module *modules;
static struct variable *variables;
static struct CUkern_st *kernels;

#define REGISTER __attribute__((visibility("default")))

/* ---- fat binaries -------------------------------------------------------------------------------- */

/* The part of the program's file that an address is in: nothing beyond it is there to be read. */
struct segment {
    uintptr_t address;
    size_t nbytes; /* from the address on */
};

static int find_segment(struct dl_phdr_info *object, size_t size, void *context) {
    struct segment *segment = context;
    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &object->dlpi_phdr[i];
        uintptr_t begin = object->dlpi_addr + header->p_vaddr;
        if (header->p_type != PT_LOAD || segment->address - begin >= header->p_memsz) continue;
        segment->nbytes = header->p_memsz - (segment->address - begin);
        return 1;
    }
    return 0;
}

static enum fatbin_error read_fatbin(const void *fatbin, struct fatbin_ptx *ptx) {
    struct segment segment = {(uintptr_t)fatbin, 0};
    dl_iterate_phdr(find_segment, &segment);
    uint32_t arch = (uint32_t)(runtime.gpu->major * 10 + runtime.gpu->minor);
    return fatbin_find_ptx(fatbin, segment.nbytes, arch, ptx);
}

static cudaError_t error_of_fatbin(enum fatbin_error damage) {
    if (!damage) return cudaSuccess;
    runtime_say("the program cannot be simulated: %s", fatbin_error_text(damage));
    return damage == FATBIN_NO_PTX || damage == FATBIN_EMPTY ? cudaErrorNoKernelImageForDevice
           : damage == FATBIN_MEMORY                         ? cudaErrorMemoryAllocation
                                                             : cudaErrorInvalidKernelImage;
}

static cudaError_t parse_text(struct module *module, const char *text, size_t nbytes, simt_message *message) {
    simt_error error = simt_module_parse(text, nbytes, "PTX", &module->parsed, message);
    if (!error) return cudaSuccess;
    runtime_say("the program's kernels cannot be simulated: %s", message->text);
    return error == SIMT_ERROR_MEMORY ? cudaErrorMemoryAllocation : cudaErrorInvalidPtx;
}

static cudaError_t parse_ptx(struct module *module, const struct fatbin_ptx *ptx, simt_message *message) {
    cudaError_t error = parse_text(module, ptx->text, ptx->nbytes, message);
    free(ptx->text);
    module->arch = ptx->arch;
    return error;
}

/* Device code of several files, of which the linker has left machine code alone; but each brings its PTX.  The library
 * for launches from kernels, which may be among them, has none for most GPUs: a call of what is missing is told by name. */
static enum fatbin_error read_linked(const void *const *fatbins, struct fatbin_ptx *whole) {
    struct fatbin_ptx ptx = {.arch = 0};
    enum fatbin_error error = FATBIN_OK;
    size_t count = 0, files = 0;
    while (fatbins[files]) files++;
    char **texts = calloc(files + 1, sizeof *texts);
    if (!texts) return FATBIN_MEMORY;
    for (size_t f = 0; f < files && !error; f++) {
        error = read_fatbin(fatbins[f], &ptx);
        if (!error) texts[count++] = ptx.text;
        if (!error && ptx.arch > whole->arch) whole->arch = ptx.arch;
        if (error == FATBIN_NO_PTX && (count || f + 1 < files)) error = FATBIN_OK;
    }
    if (!error && !count) error = FATBIN_NO_PTX;
    whole->text = error ? NULL : join_ptx(texts, count);
    whole->nbytes = whole->text ? strlen(whole->text) : 0;
    for (size_t t = 0; t < count; t++) free(texts[t]);
    free(texts);
    return error || whole->text ? error : FATBIN_MEMORY;
}

static cudaError_t parse(struct module *module) {
    static simt_message message;
    struct fatbin_ptx ptx = {.arch = 0};
    const struct wrapper *wrapper = module->wrapper;
    if (wrapper->magic != WRAPPER_MAGIC) return cudaErrorInvalidKernelImage;
    bool is_linked = wrapper->version == WRAPPER_LINKED && wrapper->others && wrapper->others[0];
    cudaError_t error = error_of_fatbin(is_linked ? read_linked(wrapper->others, &ptx)
                                                  : read_fatbin(wrapper->fatbin, &ptx));
    return error ? error : parse_ptx(module, &ptx, &message);
}

static cudaError_t module_read(struct module *module) {
    if (!module->is_read) module->error = parse(module);
    module->is_read = true;
    return module->error;
}

/* What host code registers before its main(), where it asks for no error. */
static bool is_short; /* of memory for some of it */

static void note_short(void) {
    if (!is_short) runtime_say("out of memory for what the program registers: its kernels and variables");
    is_short = true;
}

/* Of what is not registered: why, if that is known. */
static cudaError_t error_of_absent(cudaError_t otherwise) { return is_short ? cudaErrorMemoryAllocation : otherwise; }

REGISTER void **__cudaRegisterFatBinary(void *wrapper) {
    struct module *module = calloc(1, sizeof *module);
    if (!module) {
        note_short();
        return NULL;
    }
    module->wrapper = wrapper;
    host_enter();
    if (runtime.record) runtime.record->has_begun = 1;
    module->next = modules;
    modules = module;
    host_leave();
    return (void **)(void *)module;
}

REGISTER void __cudaRegisterFatBinaryEnd(void **handle) { (void)handle; }

/* Modules stay: kernels of a library that is closed cannot be launched any more, but the simulator knows them. */
REGISTER void __cudaUnregisterFatBinary(void **handle) { (void)handle; }

/* ---- images that are loaded by hand -------------------------------------------------------------- */

/* How long the fat binary is, as it says itself: it may be anywhere in memory. */
static size_t fatbin_nbytes(const unsigned char *fatbin) {
    uint16_t header;
    uint64_t behind;
    memcpy(&header, fatbin + 6, sizeof header);
    memcpy(&behind, fatbin + 8, sizeof behind);
    return behind < SIZE_MAX / 2 ? header + behind : 0;
}

static cudaError_t parse_fatbin(struct module *module, const void *fatbin, simt_message *message) {
    struct fatbin_ptx ptx;
    uint32_t arch = (uint32_t)(runtime.gpu->major * 10 + runtime.gpu->minor);
    cudaError_t error = error_of_fatbin(fatbin_find_ptx(fatbin, fatbin_nbytes(fatbin), arch, &ptx));
    return error ? error : parse_ptx(module, &ptx, message);
}

static uint32_t arch_of_text(const char *text) {
    const char *target = strstr(text, ".target sm_");
    return target ? (uint32_t)strtoul(target + strlen(".target sm_"), NULL, 10) : 0;
}

/* PTX, a fat binary, or what nvcc wraps around one. */
static cudaError_t parse_image(struct module *module, const void *image, simt_message *message) {
    static const char elf[] = "\177ELF", fatbin[] = "\x50\xed\x55\xba", wrapped[] = "\xb1\x43\x62\x46";
    if (!memcmp(image, wrapped, 4)) image = ((const struct wrapper *)image)->fatbin;
    if (!memcmp(image, fatbin, 4)) return parse_fatbin(module, image, message);
    if (!memcmp(image, elf, 4)) {
        runtime_say("a module cannot be simulated: it is machine code (a cubin): load the PTX that it was made of");
        return cudaErrorNoKernelImageForDevice;
    }
    module->arch = arch_of_text(image);
    return parse_text(module, image, strlen(image), message);
}

struct module *module_load(const void *image, simt_message *message, cudaError_t *error) {
    struct module *module = calloc(1, sizeof *module);
    *error = module ? parse_image(module, image, message) : cudaErrorMemoryAllocation;
    if (*error) {
        free(module);
        return NULL;
    }
    module->is_read = true;
    module->next = modules;
    modules = module;
    return module;
}

const simt_module *module_parsed(const struct module *module) { return module->parsed; }

/* ---- kernels ------------------------------------------------------------------------------------- */

enum { SHARED_PLAIN = 48 << 10 };

/* NULL: no memory. */
static struct CUkern_st *create_kernel(struct module *module, const void *host, const char *name) {
    struct CUkern_st *kernel = calloc(1, sizeof *kernel);
    if (!kernel) return NULL;
    *kernel = (struct CUkern_st){.module = module, .host = host, .name = name};
    for (int d = 0; d < SIMT_DEVICES; d++) kernel->dynamic_shared_max[d] = SHARED_PLAIN;
    return kernel;
}

REGISTER void __cudaRegisterFunction(void **handle, const void *host, char *device, const char *name, int thread_limit,
                                     void *tid, void *bid, dim3 *block, dim3 *grid, int *warp_size) {
    (void)device, (void)thread_limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp_size;
    struct CUkern_st *kernel = handle ? create_kernel((struct module *)(void *)handle, host, name) : NULL;
    if (!kernel) {
        note_short();
        return;
    }
    host_enter();
    kernel->next = kernels;
    kernels = kernel;
    host_leave();
}

static cudaError_t kernel_read(struct CUkern_st *kernel) {
    if (kernel->parsed) return cudaSuccess;
    cudaError_t error = module_read(kernel->module);
    if (error) return error;
    const simt_module *parsed = kernel->module->parsed;
    for (size_t i = 0; i < simt_module_kernel_count(parsed); i++) {
        if (strcmp(simt_module_kernel_name(parsed, i), kernel->name)) continue;
        kernel->index = i;
        kernel->parsed = parsed;
        kernel->ptx_version = (int)kernel->module->arch;
        return cudaSuccess;
    }
    return cudaErrorInvalidDeviceFunction;
}

struct CUkern_st *module_kernel(struct module *module, const char *name, cudaError_t *error) {
    struct CUkern_st *kernel = kernels;
    while (kernel && (kernel->module != module || strcmp(kernel->name, name))) kernel = kernel->next;
    if (kernel) {
        *error = kernel_read(kernel);
        return *error ? NULL : kernel;
    }
    kernel = create_kernel(module, NULL, name);
    *error = kernel ? kernel_read(kernel) : cudaErrorMemoryAllocation;
    if (*error) {
        free(kernel);
        return NULL;
    }
    kernel->name = simt_module_kernel_name(kernel->parsed, kernel->index);
    kernel->next = kernels;
    kernels = kernel;
    return kernel;
}

/* By the address of the host's function, or of the kernel itself: a cudaKernel_t. */
struct CUkern_st *kernel_find(const void *host, cudaError_t *error) {
    struct CUkern_st *kernel = kernels;
    while (kernel && kernel->host != host && kernel != host) kernel = kernel->next;
    *error = kernel ? kernel_read(kernel) : error_of_absent(cudaErrorInvalidDeviceFunction);
    return *error ? NULL : kernel;
}

static cudaError_t get_kernel(cudaKernel_t *result, const void *host) {
    struct CUkern_st *kernel = kernels;
    while (kernel && kernel->host != host && kernel != host) kernel = kernel->next;
    *result = kernel;
    return kernel ? cudaSuccess : error_of_absent(cudaErrorInvalidDeviceFunction);
}

API __cudaGetKernel(cudaKernel_t *kernel, const void *host) { return CALL(get_kernel(kernel, host)); }
API cudaGetKernel(cudaKernel_t *kernel, const void *host) { return CALL_WITH(kernel, get_kernel(kernel, host)); }
API cudaGetFuncBySymbol(cudaKernel_t *kernel, const void *host) { return CALL_WITH(kernel, get_kernel(kernel, host)); }

static cudaError_t get_name(const char **name, const void *host) {
    cudaKernel_t kernel;
    cudaError_t error = get_kernel(&kernel, host);
    *name = error ? NULL : kernel->name;
    return error;
}

API cudaFuncGetName(const char **name, const void *host) { return CALL_WITH(name, get_name(name, host)); }

/* ---- variables ----------------------------------------------------------------------------------- */

static void register_variable(void **handle, const void *host, const char *name, void **managed) {
    struct variable *variable = calloc(1, sizeof *variable);
    if (!variable || !handle) {
        note_short();
        free(variable);
        return;
    }
    *variable = (struct variable){NULL, (struct module *)(void *)handle, host, name, managed};
    host_enter();
    variable->next = variables;
    variables = variable;
    host_leave();
}

REGISTER void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int is_extern, size_t nbytes,
                                int is_constant, int is_global) {
    (void)device, (void)is_extern, (void)nbytes, (void)is_constant, (void)is_global;
    register_variable(handle, host, name, NULL);
}

REGISTER void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int is_extern,
                                       size_t nbytes, int is_constant, int is_global) {
    (void)device, (void)is_extern, (void)nbytes, (void)is_constant, (void)is_global;
    register_variable(handle, host, name, host);
}

cudaError_t module_variable(struct module *module, const char *name, enum buffer_kind kind, uint64_t *address,
                            size_t *nbytes) {
    cudaError_t error = module_read(module);
    if (error) return error;
    simt_error found = simt_machine_variable(runtime.machine, module->parsed, name, address, nbytes, NULL);
    if (found) return found == SIMT_ERROR_MEMORY ? cudaErrorMemoryAllocation : cudaErrorInvalidSymbol;
    if (buffer_find(*address)) return cudaSuccess;
    if (kind > BUFFER_VARIABLE) results_note_seen(); /* the host can use it, too */
    struct buffer buffer = {.address = *address, .nbytes = *nbytes, .device_address = *address, .kind = kind, .device = runtime_thread.device};
    host_create_touched(&buffer);
    error = buffer_add(&buffer);
    if (error) host_destroy_touched(&buffer);
    return error;
}

static cudaError_t variable_place(const struct variable *variable, uint64_t *address, size_t *nbytes) {
    return module_variable(variable->module, variable->name, variable->managed ? BUFFER_MANAGED : BUFFER_VARIABLE,
                           address, nbytes);
}

/* A managed variable is known by the pointer to it, or by where it is. */
cudaError_t variable_find(const void *host, uint64_t *address, size_t *nbytes) {
    for (struct variable *variable = variables; variable; variable = variable->next)
        if (variable->host == host || (variable->managed && *variable->managed == host))
            return variable_place(variable, address, nbytes);
    return error_of_absent(cudaErrorInvalidSymbol);
}

/* Host code calls it before it first uses a managed variable. */
REGISTER char __cudaInitModule(void **handle) {
    uint64_t address;
    size_t nbytes;
    bool is_whole = runtime_begin();
    for (struct variable *variable = variables; variable && is_whole; variable = variable->next) {
        if ((void *)variable->module != (void *)handle || !variable->managed) continue;
        is_whole = !variable_place(variable, &address, &nbytes);
        if (is_whole) *variable->managed = (void *)(uintptr_t)address;
    }
    host_leave();
    return (char)is_whole;
}

static cudaError_t get_symbol_address(void **pointer, const void *symbol) {
    uint64_t address;
    size_t nbytes;
    cudaError_t error = variable_find(symbol, &address, &nbytes);
    if (!error) *pointer = (void *)(uintptr_t)address;
    return error;
}

static cudaError_t get_symbol_size(size_t *nbytes, const void *symbol) {
    uint64_t address;
    return variable_find(symbol, &address, nbytes);
}

API cudaGetSymbolAddress(void **pointer, const void *symbol) { return CALL_WITH(pointer, get_symbol_address(pointer, symbol)); }
API cudaGetSymbolSize(size_t *nbytes, const void *symbol) { return CALL_WITH(nbytes, get_symbol_size(nbytes, symbol)); }
