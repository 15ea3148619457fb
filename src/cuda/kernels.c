#include "cuda/kernels.h"
#include "cuda/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the embedded sources ------------------------------------------------------------------------ */

static const char *find_text(const char *path) {
    for (size_t i = 0; i < wf_cuda_file_count; i++)
        if (!strcmp(wf_cuda_files[i].path, path)) return wf_cuda_files[i].text;
    return NULL;
}

/* Pairs of a name and a text of every file, NULL after the last. */
static const char **list_headers(void) {
    const char **headers = calloc(2 * wf_cuda_file_count + 1, sizeof *headers);
    for (size_t i = 0; headers && i < wf_cuda_file_count; i++) {
        headers[2 * i] = wf_cuda_files[i].path;
        headers[2 * i + 1] = wf_cuda_files[i].text;
    }
    return headers;
}

/* ---- options ------------------------------------------------------------------------------------- */

enum { OPTIONS_MAX = 32, OPTION_NBYTES = 48 };

struct options {
    char text[OPTIONS_MAX][OPTION_NBYTES];
    const char *list[OPTIONS_MAX + 1];
    int count;
};

static void add_number(struct options *options, const char *name, int value) {
    char *text = options->text[options->count];
    snprintf(text, OPTION_NBYTES, "-D%s=%d", name, value);
    options->list[options->count++] = text;
}

static void add_name(struct options *options, const char *prefix, const char *name) {
    char *text = options->text[options->count];
    snprintf(text, OPTION_NBYTES, "-D%s%s", prefix, name);
    options->list[options->count++] = text;
}

static void add_parts(struct options *options, unsigned parts) {
    static const struct {
        unsigned part;
        const char *name;
    } names[] = {
        {WF_PART_SUM, "HAS_SUM"}, {WF_PART_ABS, "HAS_ABS"}, {WF_PART_SQUARES, "HAS_SQUARES"}, {WF_PART_DOT, "HAS_DOT"},
        {WF_PART_MIN, "HAS_MIN"}, {WF_PART_MAX, "HAS_MAX"}, {WF_PART_NONZERO, "HAS_NONZERO"}, {WF_PART_BITS, "HAS_BITS"},
        {WF_PART_PRODUCT, "HAS_PRODUCT"},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        add_number(options, names[i].name, (parts & names[i].part) != 0);
}

static void list_options(const struct wf_kernel_key *key, struct options *options) {
    memset(options, 0, sizeof *options);
    add_name(options, "TYPE_", wf_type_name(key->type));
    add_parts(options, key->parts);
    add_number(options, "IS_INDEXED", key->is_indexed);
    add_number(options, "IS_SMALL", key->is_small);
    add_number(options, "ALIGNMENT", key->alignment);
    add_number(options, "BLOCK", key->block);
    add_number(options, "VECTORS", key->vectors);
    add_number(options, "STAGES", key->stages);
    add_number(options, "RESIDENT", key->resident);
    add_number(options, "SUMS_NBYTES", key->sums_nbytes);
    if (key->walk) add_number(options, "WALK", key->walk - 1);
    if (key->walk) add_number(options, "IS_SHORT", key->is_short);
    if (key->loses) add_number(options, "LOSES", 1);
    if (key->repeats) add_number(options, "REPEATS", 1);
    if (!key->finish_op) return;
    add_number(options, "FINISH_OP", (int)key->finish_op);
    add_number(options, "FINISH_TYPE", (int)key->type);
    add_number(options, "FINISH_RESULT_TYPE", (int)key->finish_type);
}

/* ---- loading ------------------------------------------------------------------------------------- */

static struct wf_kernel *find_kernel(struct wf_kernel *list, const struct wf_kernel_key *key) {
    while (list && memcmp(&list->key, key, sizeof *key)) list = list->next;
    return list;
}

static wf_error load(wf_handle *handle, const struct wf_gpu *gpu, const char *path, const char *const *options,
                     struct wf_kernel *kernel) {
    char name[64], entry[32];
    const char *file = strrchr(path, '/') + 1;
    const char **headers = list_headers();
    if (!headers) return wf_fail(handle, WF_ERROR_MEMORY, "out of memory for loading a kernel");
    snprintf(entry, sizeof entry, "%.*s", (int)strcspn(file, "."), file);
    snprintf(name, sizeof name, "%s.%s", entry, wf_type_name(kernel->key.type));
    wf_error error = wf_gpu_load(handle, gpu, name, find_text(path), headers, options, entry, &kernel->module,
                                 &kernel->function);
    free(headers);
    return error;
}

static wf_error add_kernel(wf_handle *handle, const struct wf_gpu *gpu, struct wf_kernel **list, const struct wf_kernel_key *key,
                           const char *path, const char *const *options) {
    struct wf_kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel) return wf_fail(handle, WF_ERROR_MEMORY, "out of memory for loading a kernel");
    kernel->key = *key;
    wf_error error = load(handle, gpu, path, options, kernel);
    if (error) {
        free(kernel);
        return error;
    }
    kernel->next = *list;
    *list = kernel;
    return WF_OK;
}

/* Launches of one kernel may differ in how much shared memory they take: it gets the most that one has asked for. */
static wf_error allow_shared(wf_handle *handle, struct wf_kernel *kernel, int nbytes) {
    if (nbytes <= kernel->shared_nbytes) return WF_OK;
    wf_error error = WF_DRIVER_CALL(handle, FuncSetAttribute, (kernel->function, WF_CUDA_FUNCTION_MAX_DYNAMIC_SHARED, nbytes),
                                    "%d bytes of shared memory", nbytes);
    if (!error) kernel->shared_nbytes = nbytes;
    return error;
}

static wf_error find_or_load(wf_handle *handle, const struct wf_gpu *gpu, struct wf_kernel **list,
                             const struct wf_kernel_key *key, const char *path, int shared_nbytes,
                             wf_cuda_function *function) {
    struct wf_kernel *kernel = find_kernel(*list, key);
    struct options options;
    wf_error error = WF_OK;
    if (!kernel) {
        list_options(key, &options);
        error = add_kernel(handle, gpu, list, key, path, options.list);
        if (error) return error;
        kernel = *list;
    }
    *function = kernel->function;
    return allow_shared(handle, kernel, shared_nbytes);
}

wf_error wf_kernels_reduce(wf_handle *handle, const struct wf_gpu *gpu, struct wf_kernel **list,
                           const struct wf_kernel_key *key, int shared_nbytes, wf_cuda_function *function) {
    return find_or_load(handle, gpu, list, key, "kernels/reduce.cu", shared_nbytes, function);
}

wf_error wf_kernels_groups(wf_handle *handle, const struct wf_gpu *gpu, struct wf_kernel **list,
                           const struct wf_kernel_key *key, int shared_nbytes, wf_cuda_function *function) {
    return find_or_load(handle, gpu, list, key, "kernels/groups.cu", shared_nbytes, function);
}

wf_error wf_kernels_resident(wf_handle *handle, struct wf_kernel *list, wf_cuda_function function, int block, int shared_nbytes,
                             int *resident) {
    wf_error error = WF_OK;
    while (list->function != function) list = list->next;
    if (list->resident_nbytes != shared_nbytes || !list->resident)
        error = WF_DRIVER_CALL(handle, OccupancyMaxActiveBlocksPerMultiprocessor,
                               (&list->resident, function, block, (size_t)shared_nbytes), "a kernel of reductions by groups");
    list->resident_nbytes = shared_nbytes;
    *resident = list->resident;
    return error;
}

wf_error wf_kernels_tables(wf_handle *handle, const struct wf_gpu *gpu, struct wf_kernel **list,
                           const struct wf_kernel_key *key, int shared_nbytes, wf_cuda_function *function) {
    return find_or_load(handle, gpu, list, key, "kernels/tables.cu", shared_nbytes, function);
}

wf_error wf_kernels_trees(wf_handle *handle, const struct wf_gpu *gpu, struct wf_kernel **list,
                          const struct wf_kernel_key *key, wf_cuda_function *function) {
    return find_or_load(handle, gpu, list, key, "kernels/trees.cu", 0, function);
}

wf_error wf_kernels_words(wf_handle *handle, const struct wf_gpu *gpu, struct wf_kernel **list,
                          const struct wf_kernel_key *key, wf_cuda_function *function) {
    struct wf_kernel_key own = *key;
    own.block = 32; /* with no vectors: no other kernel's */
    return find_or_load(handle, gpu, list, &own, "kernels/words.cu", 0, function);
}

wf_error wf_kernels_named(wf_handle *handle, const struct wf_gpu *gpu, struct wf_kernel **list, const char *path,
                          wf_type type, unsigned which, wf_cuda_function *function) {
    struct wf_kernel_key key;
    struct options options = {.count = 0};
    memset(&key, 0, sizeof key);
    key.type = type;
    key.parts = which;
    const struct wf_kernel *kernel = find_kernel(*list, &key);
    if (!kernel) {
        add_name(&options, "TYPE_", wf_type_name(type));
        wf_error error = add_kernel(handle, gpu, list, &key, path, options.list);
        if (error) return error;
        kernel = *list;
    }
    *function = kernel->function;
    return WF_OK;
}

void wf_kernels_destroy(struct wf_kernel *list) {
    while (list) {
        struct wf_kernel *next = list->next;
        wf_driver_open(NULL, 0)->ModuleUnload(list->module);
        free(list);
        list = next;
    }
}
