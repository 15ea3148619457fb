#include "inspect_kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "inspect_name.h"
#include "output.h"

/* A compiler's words are several lines. */
static int fail_lines(const simt_message *message) {
    const char *line = message->text;
    while (*line) {
        size_t length = strcspn(line, "\n");
        if (length > 0) say("%.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
    return STATUS_FAILED;
}

static bool ends_with(const char *text, const char *ending) {
    size_t length = strlen(text), ending_length = strlen(ending);
    return length >= ending_length && !strcmp(text + length - ending_length, ending);
}

/* ---- choosing a kernel --------------------------------------------------------------------------- */

static void say_kernels(const simt_module *module, const char *path) {
    const size_t count = simt_module_kernel_count(module);
    struct page list;
    page_open(&list);
    if (!list.stream) return;
    for (size_t i = 0; i < count; i++) {
        char name[KERNEL_NAME_CAPACITY];
        readable_name(simt_module_kernel_name(module, i), name, sizeof name);
        fprintf(list.stream, "%s%s", i ? ", " : "", name);
    }
    if (!fclose(list.stream))
        say(count ? "%s has %s"
                  : "%s has no kernel that is not a template; --kernel 'name<...>' makes an instance",
            path, list.text);
    free(list.text);
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

static void name_kernel(struct kernel *kernel, const char *wanted) {
    if (wanted)
        snprintf(kernel->name, sizeof kernel->name, "%s", wanted);
    else
        readable_name(simt_module_kernel_name(kernel->module, kernel->index), kernel->name,
                      sizeof kernel->name);
}

static int fail_choice(const simt_module *module, const char *path, const char *wanted, size_t fitting) {
    if (wanted)
        say("%s: --kernel '%s' names %s", path, wanted, fitting ? "several kernels" : "no kernel");
    else
        say("%s: --kernel must choose the kernel", path);
    say_kernels(module, path);
    return STATUS_FAILED;
}

/* ---- PTX ----------------------------------------------------------------------------------------- */

static int parse(const char *ptx, size_t nbytes, const char *path, struct kernel *kernel) {
    simt_message message = {0};
    simt_error error = simt_module_parse(ptx, nbytes, path, &kernel->module, &message);
    return error ? fail_lines(&message) : STATUS_OK;
}

static int load_ptx(struct kernel *kernel, const char *path, const char *wanted) {
    size_t nbytes;
    kernel->ptx = file_read(path, &nbytes);
    if (!kernel->ptx) return fail("%s: %s", path, strerror(errno));
    if (strlen(kernel->ptx) < nbytes) return fail("%s: byte %zu is 0: this is no text", path, nbytes - 1);
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
    simt_error error = simt_compile(path, NULL, instance, &kernel->ptx, &mangled, message);
    if (!error) error = simt_module_parse(kernel->ptx, strlen(kernel->ptx), path, &kernel->module, message);
    if (!error && instance && find_kernel(kernel->module, mangled, &kernel->index) != 1) {
        snprintf(message->text, sizeof message->text, "%.1000s: '%.1000s' is no kernel", path, instance);
        error = SIMT_ERROR_COMPILE;
    }
    free(mangled);
    return error;
}

static bool compile_instance(struct kernel *kernel, const char *path, const char *wanted,
                             simt_message *message) {
    struct kernel instance;
    simt_error error = compile(&instance, path, wanted, message);
    if (error) {
        kernel_clear(&instance);
        return false;
    }
    kernel_clear(kernel);
    *kernel = instance;
    return true;
}

/* A name that no kernel has may be that of a template's instance or of a static kernel, which are compiled
 * only when asked for.  That is tried first where the name shows it, and last where not. */
static int load_source(struct kernel *kernel, const char *path, const char *wanted) {
    simt_message message = {0}, instance_message = {0};
    bool is_instance = wanted && strchr(wanted, '<');
    if (is_instance && compile_instance(kernel, path, wanted, &instance_message)) return STATUS_OK;
    if (compile(kernel, path, NULL, &message)) return fail_lines(&message);
    size_t fitting = find_kernel(kernel->module, wanted, &kernel->index);
    if (fitting == 1) return STATUS_OK;
    if (wanted && !is_instance && compile_instance(kernel, path, wanted, &instance_message)) return STATUS_OK;
    int status = fail_choice(kernel->module, path, wanted, fitting);
    if (is_instance) fail_lines(&instance_message);
    return status;
}

int kernel_load(struct kernel *kernel, const char *path, const char *wanted) {
    *kernel = (struct kernel){0};
    bool is_ptx = ends_with(path, ".ptx");
    if (!is_ptx && !ends_with(path, ".cu"))
        return fail_usage("inspect takes a .cu or a .ptx file, not '%s'", path);
    int status = (is_ptx ? load_ptx : load_source)(kernel, path, wanted);
    if (!status) name_kernel(kernel, wanted);
    return status;
}

void kernel_clear(struct kernel *kernel) {
    simt_module_destroy(kernel->module);
    free(kernel->ptx);
    *kernel = (struct kernel){0};
}
