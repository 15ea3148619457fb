/* A rung's kernel: from the PTX that is built in, or compiled from the source that is. */
#include "ladder.h"
#include "ladder_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

simt_error ladder_fail(simt_message *message, simt_error error, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (message) vsnprintf(message->text, sizeof message->text, format, arguments);
    va_end(arguments);
    return error;
}

/* ---- variants ------------------------------------------------------------------------------------ */

uint32_t ladder_variant_coarsen(const struct ladder_variant *variant) {
    if (variant->coarsen) return variant->coarsen;
    return variant->rung->coarsen ? variant->rung->coarsen : 1;
}

enum ladder_finish ladder_variant_finish(const struct ladder_variant *variant) {
    return variant->finish ? variant->finish : variant->rung->finish;
}

/* The kernel's finish, as the sources spell it. */
static const char *kernel_finish(enum ladder_finish finish) {
    if (finish == LADDER_FINISH_ATOMIC) return "atomic";
    return finish == LADDER_FINISH_LAST_BLOCK ? "last_block" : "store";
}

static void list_ops(const struct ladder_rung *rung, char *list, size_t capacity) {
    size_t length = 0;
    list[0] = '\0';
    for (int op = WF_SUM; op <= WF_STATS && length < capacity; op++)
        if (rung->ops >> op & 1)
            length += (size_t)snprintf(list + length, capacity - length, " %s", wf_op_name((wf_op)op));
}

simt_error ladder_variant_check(const struct ladder_variant *variant, simt_message *message) {
    const struct ladder_rung *rung = variant->rung;
    char ops[64];
    list_ops(rung, ops, sizeof ops);
    if (!(rung->ops >> variant->op & 1))
        return ladder_fail(message, SIMT_ERROR_ARGUMENT, "%s has no %s; its ops are%s", rung->id,
                           wf_op_name(variant->op) ? wf_op_name(variant->op) : "such op", ops);
    if (!ladder_type_check(variant->type))
        return ladder_fail(message, SIMT_ERROR_ARGUMENT,
                           "the ladder has no %s; its types are i32 u32 i64 u64 f32 f64",
                           wf_type_name(variant->type) ? wf_type_name(variant->type) : "such type");
    if (!(rung->types >> variant->type & 1))
        return ladder_fail(message, SIMT_ERROR_ARGUMENT, "%s has no %s", rung->id,
                           wf_type_name(variant->type));
    if (variant->op == WF_ARGMAX && ladder_variant_finish(variant) == LADDER_FINISH_ATOMIC &&
        wf_type_nbytes(variant->type) != 4)
        return ladder_fail(message, SIMT_ERROR_ARGUMENT,
                           "argmax of %s has no finish atomic: value and index do not fit in one word",
                           wf_type_name(variant->type));
    if (variant->coarsen && !rung->coarsen)
        return ladder_fail(message, SIMT_ERROR_ARGUMENT, "%s has nothing to coarsen", rung->id);
    return SIMT_OK;
}

/* ---- built in ------------------------------------------------------------------------------------ */

/* A grid that strides is coarsened by the host alone. */
static bool is_default(const struct ladder_variant *variant) {
    const struct ladder_rung *rung = variant->rung;
    bool same_finish = !strcmp(kernel_finish(ladder_variant_finish(variant)), kernel_finish(rung->finish));
    return same_finish && (rung->strides || !variant->coarsen || variant->coarsen == rung->coarsen);
}

const struct ladder_file *ladder_ptx_find(const struct ladder_variant *variant) {
    char path[96];
    if (!is_default(variant)) return NULL;
    snprintf(path, sizeof path, "ptx/%s.%s.%s.ptx", variant->rung->id, wf_op_name(variant->op),
             wf_type_name(variant->type));
    for (size_t i = 0; i < ladder_file_count; i++)
        if (!strcmp(ladder_files[i].path, path)) return &ladder_files[i];
    return NULL;
}

/* " sum.i32 sum.f32": what is built in of the rung. */
static void list_ptx(const struct ladder_rung *rung, char *list, size_t capacity) {
    char prefix[64];
    size_t length = 0, skip = (size_t)snprintf(prefix, sizeof prefix, "ptx/%s.", rung->id);
    snprintf(list, capacity, " nothing");
    for (size_t i = 0; i < ladder_file_count && length < capacity; i++) {
        const char *path = ladder_files[i].path;
        if (strncmp(path, prefix, skip)) continue;
        int rest = (int)(strlen(path + skip) - strlen(".ptx"));
        length += (size_t)snprintf(list + length, capacity - length, " %.*s", rest, path + skip);
    }
}

/* ---- compiled ------------------------------------------------------------------------------------ */

void ladder_options_set(struct ladder_options *options, const struct ladder_variant *variant) {
    size_t width = sizeof options->texts[0];
    snprintf(options->texts[0], width, "-DTYPE_%s", wf_type_name(variant->type));
    snprintf(options->texts[1], width, "-DOP_%s", wf_op_name(variant->op));
    snprintf(options->texts[2], width, "-DFINISH_%s", kernel_finish(ladder_variant_finish(variant)));
    snprintf(options->texts[3], width, "-DCOARSEN=%u", (unsigned)ladder_variant_coarsen(variant));
    for (size_t i = 0; i < 4; i++) options->list[i] = options->texts[i];
    options->list[variant->rung->coarsen ? 4 : 3] = NULL;
}

/* Options for the rung's own target, for a compiler that does not know the GPU's. */
static void set_all_options(char target[32], const char *list[6], const struct ladder_options *options,
                            const struct ladder_rung *rung) {
    snprintf(target, 32, "-arch=%s", rung->target);
    list[0] = target;
    memcpy(list + 1, options->list, sizeof options->list);
}

static simt_error compile(const struct ladder_variant *variant, const simt_leftovers *leftovers, char **ptx,
                          simt_message *message) {
    static const char header[] = "rung.cuh";
    const struct ladder_file *file = variant->rung->file, *included = ladder_file_find(header);
    const simt_header headers[] = {{header, included ? included->text : ""}, {NULL, NULL}};
    struct ladder_options options;
    char target[32], path[128], *mangled = NULL;
    const char *list[6];
    snprintf(path, sizeof path, "ladder/%s", file->path);
    ladder_options_set(&options, variant);
    set_all_options(target, list, &options, variant->rung);
    const simt_source source = {
        .path = path, .text = file->text, .headers = headers, .options = list, .leftovers = leftovers};
    simt_error error = simt_compile(&source, ptx, &mangled, message);
    free(mangled);
    return error;
}

static simt_error compile_module(const struct ladder_variant *variant, const simt_leftovers *leftovers,
                                 simt_module **module, simt_message *message) {
    const struct ladder_rung *rung = variant->rung;
    simt_message reason = {""};
    char *ptx = NULL, list[512];
    simt_error error = compile(variant, leftovers, &ptx, &reason);
    if (error) {
        list_ptx(rung, list, sizeof list);
        return ladder_fail(
            message, error,
            "%s: built in are, with finish %s,%s; %s of %s with finish %s has to be compiled: %.3000s",
            rung->id, ladder_finish_name(rung->finish), list, wf_op_name(variant->op),
            wf_type_name(variant->type), ladder_finish_name(ladder_variant_finish(variant)), reason.text);
    }
    error = simt_module_parse(ptx, strlen(ptx), rung->file->path, module, message);
    free(ptx);
    return error;
}

simt_error ladder_module(const struct ladder_variant *variant, const simt_leftovers *leftovers,
                         simt_module **module, simt_message *message) {
    *module = NULL;
    simt_error error = ladder_variant_check(variant, message);
    if (error) return error;
    const struct ladder_file *file = ladder_ptx_find(variant);
    if (!file) return compile_module(variant, leftovers, module, message);
    return simt_module_parse(file->text, file->nbytes, file->path, module, message);
}

size_t ladder_kernel(const simt_module *module) {
    for (size_t i = 0; i < simt_module_kernel_count(module); i++)
        if (!strcmp(simt_module_kernel_name(module, i), "reduce")) return i;
    return SIZE_MAX;
}
