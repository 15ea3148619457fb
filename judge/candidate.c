#include "candidate.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parameters.h"
#include "simt/machine/unsteady.h"
#include "simt/ptx/ptx.h"

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

static bool names_target(const char *const *options) {
    for (; options && *options; options++)
        if (strstr(*options, "-arch") || strstr(*options, "-gencode") || strstr(*options, "-gpu-architecture") ||
            strstr(*options, "-generate-code"))
            return true;
    return false;
}

/* What the compiler says of an option follows from the task, not from the kernel. */
static simt_error blame_options(const struct judge_task *task, simt_error error, simt_message *message) {
    static const char *const words[] = {"unrecognized option", "invalid value for -", "<command-line>", "Unknown option",
                                        "Unsupported gpu architecture"};
    char said[2048];
    size_t w = 0;
    while (w < sizeof words / sizeof *words && !strstr(message->text, words[w])) w++;
    if (error != SIMT_ERROR_COMPILE || !task->options[0] || w == sizeof words / sizeof *words) return error;
    snprintf(said, sizeof said, "%.*s", (int)sizeof said - 1, message->text);
    said[strcspn(said, "\n")] = '\0';
    return fail(message, SIMT_ERROR_ARGUMENT, "%s:%d: the compiler does not take these 'Options:': %s", task->name,
                task_line(task, task->options[0]), said);
}

/* For sm_90, unless the task names another: barriers of libcu++ are mbarriers there, and loops of loads on older GPUs; and
 * there is nothing for whose sake it would have to be compiled again. */
static simt_error compile_source(struct candidate *candidate, const struct judge_request *request, simt_message *message) {
    const char *const *given = request->task->options;
    simt_source source = {.path = request->path, .options = given, .leftovers = request->leftovers};
    size_t count = 0;
    while (given && given[count]) count++;
    const char **options = calloc(count + 2, sizeof *options);
    if (!options) return fail_memory(message);
    for (size_t i = 0; i < count; i++) options[i] = given[i];
    options[count] = "-arch=sm_90";
    if (!names_target(given)) source.options = options;
    simt_error error = simt_compile(&source, &candidate->ptx, NULL, message);
    if (error == SIMT_ERROR_COMPILE && source.options == options && strstr(message->text, "gpu-architecture")) {
        source.options = given; /* the compiler is older */
        error = simt_compile(&source, &candidate->ptx, NULL, message);
    }
    free(options);
    return blame_options(request->task, error, message);
}

static simt_error compile(struct candidate *candidate, const struct judge_request *request,
                          simt_message *message) {
    if (!request->ptx) return compile_source(candidate, request, message);
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

static simt_error check_parameters(struct candidate *candidate, const struct judge_request *request,
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
    if (!*candidate->mismatch)
        parameters_compare(task, stage, simt_module_kernel_name(candidate->module, kernel), candidate->mismatch, sizeof candidate->mismatch);
    return SIMT_OK;
}

/* What tells the time, or where and when a warp runs.  On the simulator they say something else than on a chip, and
 * from run to run: a kernel may be right for one value of them and wrong for another that no trial has. */
static const struct {
    const char *name, *words;
} unsteady[] = {{"clock", "%clock, clock() or clock64()"},
                {"globaltimer", "%globaltimer, the global timer"},
                {"smid", "%smid, the number of the multiprocessor"},
                {"warpid", "%warpid, the number of the warp's slot; threadIdx.x / warpSize is the warp's own"},
                {"gridid", "%gridid, the number of the launch"},
                {"pm", "%pm, a performance counter"}};

static simt_error find_unsteady(struct candidate *candidate, simt_message *message) {
    for (size_t i = 0; i < sizeof unsteady / sizeof *unsteady && !candidate->unsteady; i++) {
        if (simt_module_follows(candidate->module, unsteady[i].name, &candidate->unsteady_place)) return fail_memory(message);
        if (candidate->unsteady_place) candidate->unsteady = unsteady[i].words;
    }
    return SIMT_OK;
}

static bool names_global(const struct operand *operand) {
    if (operand->variable && operand->variable->space == SIMT_GLOBAL) return true;
    for (uint32_t e = 0; e < operand->element_count; e++)
        if (names_global(&operand->elements[e])) return true;
    return false;
}

/* Headers leave variables behind that no instruction names, which are as they were. */
static bool keeps_state(const simt_module *module) {
    for (uint32_t pc = 0; pc < module->instruction_count; pc++) {
        const struct instruction *instruction = &module->instructions[pc];
        for (uint32_t o = 0; o < instruction->operand_count; o++)
            if (names_global(&instruction->operands[o])) return true;
    }
    return false;
}

/* To other than a block's or a thread's own memory. */
static bool is_store(const char *opcode) {
    if (strncmp(opcode, "st.", 3) && strncmp(opcode, "red.", 4) && strncmp(opcode, "atom.", 5)) return false;
    return !strstr(opcode, ".shared") && !strstr(opcode, ".local") && !strstr(opcode, ".param");
}

static const simt_place *find_store(const simt_module *module) {
    const simt_place *found = NULL;
    for (uint32_t pc = 0; pc < module->instruction_count; pc++) {
        const simt_place *place = &module->places[pc];
        if (!is_store(place->opcode)) continue;
        if (!place->file || (found && (found->line != place->line || strcmp(found->file, place->file)))) return NULL;
        found = place;
    }
    return found;
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
    if (!error) error = find_unsteady(candidate, message);
    candidate->keeps_state = !error && keeps_state(candidate->module);
    candidate->store = error ? NULL : find_store(candidate->module);
    return error;
}

void candidate_clear(struct candidate *candidate) {
    simt_module_destroy(candidate->module);
    free(candidate->ptx);
    *candidate = (struct candidate){0};
}
