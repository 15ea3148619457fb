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

static simt_error find_kernel(struct candidate *candidate, const struct judge_request *request, size_t s,
                              simt_message *message) {
    const struct stage *stage = &request->task->stages[s];
    const char *wanted = stage->kernel;
    size_t count = simt_module_kernel_count(candidate->module), matches = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_called(simt_module_kernel_name(candidate->module, i), wanted)) continue;
        candidate->kernels[s] = i;
        matches++;
    }
    if (matches == 1 || (matches == 0 && count == 1 && request->task->stage_count == 1)) return SIMT_OK;
    return fail(message, SIMT_ERROR_ARGUMENT, "%s: has %s kernel '%s'; the task wants %s", request->path,
                matches ? "more than one" : "no", wanted, stage->signature);
}

static simt_error check_parameters(const struct candidate *candidate, const struct judge_request *request,
                                   size_t s, simt_message *message) {
    const struct judge_task *task = request->task;
    const struct stage *stage = &task->stages[s];
    const size_t kernel = candidate->kernels[s];
    size_t count = simt_module_parameter_count(candidate->module, kernel);
    if (count != stage->argument_count)
        return fail(message, SIMT_ERROR_ARGUMENT, "%s: '%s' has %zu parameters, the task %zu: %s",
                    request->path, simt_module_kernel_name(candidate->module, kernel), count,
                    stage->argument_count, stage->signature);
    for (size_t i = 0; i < count; i++) {
        const struct argument *argument = &task->arguments[stage->arguments[i]];
        size_t wanted = argument->role == ROLE_SCALAR ? wf_type_nbytes(argument->type) : POINTER_NBYTES;
        size_t nbytes = simt_module_parameter_nbytes(candidate->module, kernel, i);
        if (nbytes != wanted)
            return fail(message, SIMT_ERROR_ARGUMENT,
                        "%s: parameter %zu, '%s' in the task, has %zu bytes, not %zu: %s", request->path, i,
                        argument->name, nbytes, wanted, stage->signature);
    }
    return SIMT_OK;
}

/* What tells the time, or where and when a warp runs.  On the simulator they say something else than on a chip, and
 * from run to run: a kernel may be right for one value of them and wrong for another that no trial has. */
static const struct {
    const char *name, *source;
} unsteady[] = {{"%clock", "clock() or clock64()"},
                {"%globaltimer", "the global timer"},
                {"%smid", "the number of the multiprocessor"},
                {"%warpid", "the number of the warp's slot; threadIdx.x / warpSize is the warp's own"},
                {"%gridid", "the number of the launch"},
                {"%pm", "a performance counter"}};

/* Is it named there, %clock as %clock64 or %clock_hi, but no register such as %pm_count? */
static bool is_read(const char *ptx, const char *name) {
    for (const char *at = strstr(ptx, name); at; at = strstr(at + 1, name)) {
        const char *rest = at + strlen(name);
        rest += strspn(rest, "0123456789");
        if (!strncmp(rest, "_lo", 3) || !strncmp(rest, "_hi", 3)) rest += 3;
        if (strchr(";, }", *rest)) return true;
    }
    return false;
}

static void find_unsteady(struct candidate *candidate) {
    for (size_t i = 0; i < sizeof unsteady / sizeof *unsteady && !candidate->unsteady; i++)
        if (is_read(candidate->ptx, unsteady[i].name)) {
            candidate->unsteady = unsteady[i].name;
            candidate->unsteady_source = unsteady[i].source;
        }
}

simt_error candidate_load(struct candidate *candidate, const struct judge_request *request,
                          simt_message *message) {
    *candidate = (struct candidate){0};
    simt_error error = compile(candidate, request, message);
    if (!error)
        error = simt_module_parse(candidate->ptx, strlen(candidate->ptx), request->path, &candidate->module,
                                  message);
    for (size_t s = 0; s < request->task->stage_count && !error; s++) {
        error = find_kernel(candidate, request, s, message);
        if (!error) error = check_parameters(candidate, request, s, message);
    }
    if (!error) find_unsteady(candidate);
    return error;
}

void candidate_clear(struct candidate *candidate) {
    simt_module_destroy(candidate->module);
    free(candidate->ptx);
    *candidate = (struct candidate){0};
}
