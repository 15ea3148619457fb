#include "inspect_kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "file.h"
#include "output.h"
#include "report/kernel_name.h"

static bool ends_with(const char *text, const char *ending) {
    size_t length = strlen(text), ending_length = strlen(ending);
    return length >= ending_length && !strcmp(text + length - ending_length, ending);
}

/* ---- choosing a kernel --------------------------------------------------------------------------- */

static bool list_kernels(const simt_module *module, struct page *list) {
    page_open(list);
    for (size_t i = 0; list->stream && i < simt_module_kernel_count(module); i++) {
        char name[KERNEL_NAME_CAPACITY];
        readable_name(simt_module_kernel_name(module, i), name, sizeof name);
        fprintf(list->stream, "%s%s", i ? ", " : "", name);
    }
    return page_end(list);
}

/* How many kernels fit the name best (NULL: all fit); *index is that of the last. */
static size_t find_kernel(const simt_module *module, const char *wanted, size_t *index) {
    int best = 0;
    size_t count = 0;
    for (size_t i = 0; i < simt_module_kernel_count(module); i++) {
        int match = wanted ? name_match(simt_module_kernel_name(module, i), wanted) : 1;
        if (match == 0 || match < best) continue;
        count = match > best ? 1 : count + 1;
        best = match;
        *index = i;
    }
    return count;
}

/* The only kernel that the text defines, of several that were compiled: headers bring their own. */
static bool find_own(const struct kernel *kernel, const char *text, size_t *index) {
    size_t count = 0;
    struct kernel_source source;
    for (size_t i = 0; i < simt_module_kernel_count(kernel->module); i++) {
        char name[KERNEL_NAME_CAPACITY];
        readable_name(simt_module_kernel_name(kernel->module, i), name, sizeof name);
        if (!kernel_source_read(text, name, &source)) continue;
        *index = i;
        count++;
    }
    return count == 1;
}

enum { HEADERS_MAX = 64, HEADERS_DEPTH_MAX = 8 };

/* Writes the text with the headers that it includes from its own folder, and with what they include, `left` of them at most. */
static void put_with_headers(FILE *stream, const char *path, const char *text, int depth, int *left) {
    static const char include[] = "#include \"";
    const char *slash = strrchr(path, '/');
    const int folder = slash ? (int)(slash + 1 - path) : 0;
    for (const char *at = text; *left > 0 && depth < HEADERS_DEPTH_MAX && (at = strstr(at, include));) {
        char name[1024];
        size_t nbytes;
        at += strlen(include);
        const int length = snprintf(name, sizeof name, "%.*s%.*s", folder, path, (int)strcspn(at, "\"\n"), at);
        char *header = (size_t)length < sizeof name ? file_read(name, &nbytes) : NULL;
        if (!header) continue;
        --*left;
        fprintf(stream, "%.*s\"\n", (int)(at - text), text);
        put_with_headers(stream, name, header, depth + 1, left);
        free(header);
        text = at += strcspn(at, "\n");
    }
    fprintf(stream, "%s\n", text);
}

/* What the text does not tell of pointers, the compiled kernel does. */
static void complete_uses(struct kernel *kernel) {
    for (size_t i = 0; i < kernel->source.count; i++) {
        struct kernel_parameter *parameter = &kernel->source.parameters[i];
        simt_parameter_use use;
        simt_parameter_links links;
        if (!parameter->is_pointer || !simt_module_parameter_use(kernel->module, kernel->index, i, &use)) continue;
        if (!simt_module_parameter_links(kernel->module, kernel->index, i, &links)) continue;
        parameter->accessed_nbytes = use.element_nbytes;
        parameter->is_of_floats = use.is_float;
        parameter->is_index = use.is_index;
        parameter->are_offsets = use.are_offsets;
        parameter->are_links = links.are_links;
        parameter->has_last_link = links.has_end;
        parameter->last_link = links.end;
        if (parameter->use == KERNEL_UNKNOWN)
            parameter->use = use.is_updated ? KERNEL_UPDATES : use.is_loaded ? KERNEL_READS : KERNEL_STORES;
    }
}

/* A kernel that a header defines is launched by the file itself, whose kernels have types that headers name. */
static bool read_with_headers(struct kernel *kernel, const char *path) {
    struct page joined;
    page_open(&joined);
    int left = HEADERS_MAX;
    if (joined.stream) put_with_headers(joined.stream, path, kernel->text, 0, &left);
    const bool is_read = page_end(&joined) && kernel_source_read(joined.text, kernel->name, &kernel->source);
    page_clear(&joined);
    return is_read;
}

static void read_source(struct kernel *kernel, const char *path) {
    kernel->has_source = kernel->text && read_with_headers(kernel, path) &&
                         kernel->source.count == simt_module_parameter_count(kernel->module, kernel->index);
    if (kernel->has_source) complete_uses(kernel);
}

static void name_kernel(struct kernel *kernel, const char *wanted) {
    if (wanted)
        snprintf(kernel->name, sizeof kernel->name, "%s", wanted);
    else
        readable_name(simt_module_kernel_name(kernel->module, kernel->index), kernel->name,
                      sizeof kernel->name);
}

static bool has_kernel(const char *path) {
    size_t nbytes;
    char *text = file_read(path, &nbytes);
    const bool has = text && (strstr(text, "__global__") || strstr(text, "#include"));
    free(text);
    return has;
}

static void say_choice(const char *path, const char *wanted, size_t fitting, const char *kernels) {
    if (!kernels[0] && !has_kernel(path)) {
        say("%s has no kernel (__global__)", path);
        return;
    }
    if (wanted)
        say("%s: --kernel '%s' matches %s", path, wanted, fitting ? "several kernels" : "no kernel");
    else
        say("%s: choose a kernel with --kernel", path);
    say(kernels[0] ? "%s has %s"
                   : "%s has only templates of kernels; name an instance with --kernel 'name<...>'",
        path, kernels);
}

static int fail_choice(const simt_module *module, const char *path, const char *wanted, size_t fitting) {
    struct page kernels;
    bool is_listed = list_kernels(module, &kernels);
    if (is_listed) say_choice(path, wanted, fitting, kernels.text);
    const bool can_choose = is_listed && kernels.text[0] && !wanted;
    page_clear(&kernels);
    if (!is_listed) return fail_memory();
    return can_choose ? STATUS_USAGE : STATUS_FAILED; /* the option is missing, as where arguments are */
}

/* ---- PTX ----------------------------------------------------------------------------------------- */

static int parse(const char *ptx, size_t nbytes, const char *path, struct kernel *kernel) {
    simt_message message = {0};
    simt_error error = simt_module_parse(ptx, nbytes, path, &kernel->module, &message);
    return error ? fail_lines(message.text) : STATUS_OK;
}

static int load_ptx(struct kernel *kernel, const char *path, const char *wanted) {
    size_t nbytes;
    kernel->ptx = file_read(path, &nbytes);
    if (!kernel->ptx) return fail("%s: %s", path, error_text(errno));
    if (strlen(kernel->ptx) < nbytes)
        return fail("%s: NUL byte at offset %zu: not a text file", path, nbytes - 1);
    int status = parse(kernel->ptx, nbytes, path, kernel);
    if (status) return status;
    size_t fitting = find_kernel(kernel->module, wanted, &kernel->index);
    return fitting == 1 ? STATUS_OK : fail_choice(kernel->module, path, wanted, fitting);
}

/* ---- CUDA C -------------------------------------------------------------------------------------- */

/* Compiles all that is no template; or a kernel's instance too, and then finds it. */
static simt_error compile(struct kernel *kernel, const char *path, const char *instance,
                          simt_message *message) {
    char *mangled = NULL;
    *kernel = (struct kernel){0};
    const simt_source source = {.path = path, .instance = instance, .leftovers = &cleanup_leftovers};
    simt_error error = simt_compile(&source, &kernel->ptx, &mangled, message);
    if (!error) error = simt_module_parse(kernel->ptx, strlen(kernel->ptx), path, &kernel->module, message);
    if (!error && instance && find_kernel(kernel->module, mangled, &kernel->index) != 1) {
        snprintf(message->text, sizeof message->text, "%.1000s: '%.1000s' is not a kernel", path, instance);
        error = SIMT_ERROR_COMPILE;
    }
    free(mangled);
    return error;
}

static simt_error compile_instance(struct kernel *kernel, const char *path, const char *wanted,
                                   simt_message *message) {
    struct kernel instance;
    simt_error error = compile(&instance, path, wanted, message);
    if (error) {
        kernel_clear(&instance);
        return error;
    }
    kernel_clear(kernel);
    *kernel = instance;
    return SIMT_OK;
}

/* Of a file that has only templates of kernels. */
static bool suggest_instance(struct kernel *kernel, const char *path) {
    simt_message message = {0};
    char name[KERNEL_NAME_CAPACITY];
    size_t nbytes;
    char *text = simt_module_kernel_count(kernel->module) ? NULL : file_read(path, &nbytes);
    bool is_suggested = text && kernel_source_instance(text, name, sizeof name);
    free(text);
    if (!is_suggested || compile_instance(kernel, path, name, &message)) return false;
    snprintf(kernel->name, sizeof kernel->name, "%s", name);
    return kernel->is_suggested = true;
}

/* A name that no kernel has may be that of a template's instance or of a static kernel, which are compiled
 * only when asked for.  That is tried first where the name shows it, and last where not. */
static int load_source(struct kernel *kernel, const char *path, const char *wanted) {
    simt_message message = {0}, instance_message = {0};
    bool is_instance = wanted && strchr(wanted, '<');
    simt_error error = SIMT_ERROR_COMPILE; /* of the instance, if one was tried */
    if (is_instance) error = compile_instance(kernel, path, wanted, &instance_message);
    if (error == SIMT_ERROR_MEMORY) return fail_lines(instance_message.text);
    if (!error) return STATUS_OK;
    if (compile(kernel, path, NULL, &message)) return fail_lines(message.text);
    size_t fitting = find_kernel(kernel->module, wanted, &kernel->index), nbytes;
    if (fitting == 1) return STATUS_OK;
    char *text = wanted ? NULL : file_read(path, &nbytes);
    bool is_own = text && find_own(kernel, text, &kernel->index);
    free(text);
    if (is_own) return STATUS_OK;
    if (wanted && !is_instance) error = compile_instance(kernel, path, wanted, &instance_message);
    if (error == SIMT_ERROR_MEMORY) return fail_lines(instance_message.text);
    if (!error) return STATUS_OK;
    if (!wanted && suggest_instance(kernel, path)) return STATUS_OK;
    int status = fail_choice(kernel->module, path, wanted, fitting);
    if (is_instance) fail_lines(instance_message.text);
    return status;
}

int kernel_load(struct kernel *kernel, const char *path, const char *wanted) {
    *kernel = (struct kernel){0};
    bool is_ptx = ends_with(path, ".ptx");
    if (!is_ptx && !ends_with(path, ".cu"))
        return fail_usage("inspect takes a .cu or .ptx file, not '%s'", path);
    int status = (is_ptx ? load_ptx : load_source)(kernel, path, wanted);
    if (status && status != STATUS_USAGE) return status;
    size_t nbytes;
    kernel->text = is_ptx ? NULL : file_read(path, &nbytes);
    char suggested[KERNEL_NAME_CAPACITY];
    snprintf(suggested, sizeof suggested, "%s", kernel->name);
    kernel_choose(kernel, path, kernel->index, kernel->is_suggested ? suggested : wanted);
    return status;
}

void kernel_choose(struct kernel *kernel, const char *path, size_t index, const char *wanted) {
    kernel->index = index;
    name_kernel(kernel, wanted);
    read_source(kernel, path);
}

void kernel_clear(struct kernel *kernel) {
    simt_module_destroy(kernel->module);
    free(kernel->ptx);
    free(kernel->text);
    *kernel = (struct kernel){0};
}
