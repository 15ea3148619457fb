#include "candidate.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTER_NBYTES = 8 };

static simt_error fail(simt_message *message, simt_error error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static simt_error fail(simt_message *message, simt_error error, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message->text, sizeof message->text, format, arguments);
    va_end(arguments);
    return error;
}

static simt_error compile(struct candidate *candidate, const struct judge_request *request,
                          simt_message *message) {
    const simt_source source = {
        .path = request->path, .options = request->task->options, .leftovers = request->leftovers};
    if (!request->ptx) return simt_compile(&source, &candidate->ptx, NULL, message);
    candidate->ptx = strdup(request->ptx);
    return candidate->ptx ? SIMT_OK : fail_memory(message);
}

/* As the source has it, or mangled: reduce, _Z6reducePKfPfi. */
static bool is_called(const char *name, const char *wanted) {
    char mangled[160];
    snprintf(mangled, sizeof mangled, "_Z%zu%s", strlen(wanted), wanted);
    return !strcmp(name, wanted) || !strncmp(name, mangled, strlen(mangled));
}

static simt_error find_kernel(struct candidate *candidate, const struct judge_request *request,
                              simt_message *message) {
    const char *wanted = request->task->kernel;
    size_t count = simt_module_kernel_count(candidate->module), matches = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_called(simt_module_kernel_name(candidate->module, i), wanted)) continue;
        candidate->kernel = i;
        matches++;
    }
    if (matches == 1 || (matches == 0 && count == 1)) return SIMT_OK;
    return fail(message, SIMT_ERROR_ARGUMENT, "%s: has %s kernel '%s'; the task wants %s", request->path,
                matches ? "more than one" : "no", wanted, request->task->signature);
}

static simt_error check_parameters(const struct candidate *candidate, const struct judge_request *request,
                                   simt_message *message) {
    const struct judge_task *task = request->task;
    size_t count = simt_module_parameter_count(candidate->module, candidate->kernel);
    if (count != task->argument_count)
        return fail(message, SIMT_ERROR_ARGUMENT, "%s: '%s' has %zu parameters, the task %zu: %s",
                    request->path, simt_module_kernel_name(candidate->module, candidate->kernel), count,
                    task->argument_count, task->signature);
    for (size_t i = 0; i < count; i++) {
        const struct argument *argument = &task->arguments[i];
        size_t wanted = argument->role == ROLE_SCALAR ? wf_type_nbytes(argument->type) : POINTER_NBYTES;
        size_t nbytes = simt_module_parameter_nbytes(candidate->module, candidate->kernel, i);
        if (nbytes != wanted)
            return fail(message, SIMT_ERROR_ARGUMENT,
                        "%s: parameter %zu, '%s' in the task, has %zu bytes, not %zu: %s", request->path, i,
                        argument->name, nbytes, wanted, task->signature);
    }
    return SIMT_OK;
}

simt_error candidate_load(struct candidate *candidate, const struct judge_request *request,
                          simt_message *message) {
    *candidate = (struct candidate){0};
    simt_error error = compile(candidate, request, message);
    if (!error)
        error = simt_module_parse(candidate->ptx, strlen(candidate->ptx), request->path, &candidate->module,
                                  message);
    if (!error) error = find_kernel(candidate, request, message);
    return error ? error : check_parameters(candidate, request, message);
}

void candidate_clear(struct candidate *candidate) {
    simt_module_destroy(candidate->module);
    free(candidate->ptx);
    *candidate = (struct candidate){0};
}
