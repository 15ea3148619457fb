/* One block of a rung on the SIMT machine, watched by all that counts and by the walk. */
#include "explain.h"

#include <stdlib.h>
#include <string.h>

/* An array of items in the machine's memory: elements, and in argmax as many indices. */
struct items {
    uint64_t values, indices; /* addresses; 0: none */
};

struct stage {
    struct explanation *explanation;
    simt_machine *machine;
    size_t element_nbytes;
    struct items input, partials, result;
    uint64_t ticket;
};

static simt_error allocate(struct stage *stage, const void *bytes, size_t nbytes, uint64_t *address) {
    simt_error error = simt_machine_allocate(stage->machine, nbytes, address);
    return error || !bytes ? error : simt_machine_write(stage->machine, *address, bytes, nbytes);
}

/* One item for the block's result, which atomic operations find as the identity; packed in argmax, as 0. */
static simt_error allocate_item(struct stage *stage, struct items *items) {
    const struct ladder_variant *variant = &stage->explanation->variant;
    const struct ladder_result nothing = ladder_reduce(NULL, NULL, variant->type, variant->op, 0);
    const uint64_t packed = 0;
    bool is_atomic = variant->rung->finish == LADDER_FINISH_ATOMIC;
    simt_error error =
        allocate(stage, is_atomic ? &nothing.value.as : NULL, stage->element_nbytes, &items->values);
    if (error || variant->op != WF_ARGMAX) return error;
    return allocate(stage, is_atomic ? &packed : NULL, sizeof packed, &items->indices);
}

static simt_error prepare(struct stage *stage) {
    const struct explanation *explanation = stage->explanation;
    const uint32_t nobody = 0;
    simt_error error = simt_machine_create(&explanation->settings, &stage->machine);
    if (!error)
        error = allocate(stage, explanation->values, explanation->n * stage->element_nbytes,
                         &stage->input.values);
    if (!error) error = allocate_item(stage, &stage->partials);
    if (!error) error = allocate_item(stage, &stage->result);
    return error ? error : allocate(stage, &nobody, sizeof nobody, &stage->ticket);
}

void explain_list_observers(const simt_observer *walk,
                            const simt_observer *observers[EXPLAIN_OBSERVERS_MAX]) {
    size_t count = 0;
    for (; simt_observers[count] && count < EXPLAIN_OBSERVERS_MAX - 2; count++)
        observers[count] = simt_observers[count];
    observers[count++] = walk;
    observers[count] = NULL;
}

static simt_error launch(struct stage *stage, simt_message *message) {
    struct explanation *explanation = stage->explanation;
    const struct ladder_plan *plan = &explanation->plan;
    const void *const arguments[] = {
        &stage->input.values,  &stage->input.indices,   &explanation->n,
        &plan->portion,        &stage->partials.values, &stage->partials.indices,
        &stage->result.values, &stage->result.indices,  &stage->ticket,
    };
    const simt_observer *observers[EXPLAIN_OBSERVERS_MAX];
    explain_list_observers(&walk_observer, observers);
    const simt_launch request = {
        .module = explanation->module,
        .kernel = ladder_kernel(explanation->module),
        .block = {explanation->block},
        .shared_nbytes = plan->shared_nbytes,
        .arguments = arguments,
        .schedule = explanation->schedule,
        .seed = explanation->seed,
        .threads = 1,
        .observers = observers,
        .context = &explanation->walk,
    };
    return simt_machine_launch(stage->machine, &request, &explanation->report, message);
}

/* An atomic argmax leaves the complement of the index in the low half of a word. */
static simt_error read_result(const struct stage *stage) {
    struct explanation *explanation = stage->explanation;
    const struct ladder_variant *variant = &explanation->variant;
    enum ladder_finish finish = variant->rung->finish;
    bool is_partial = finish == LADDER_FINISH_HOST || finish == LADDER_FINISH_RELAUNCH;
    const struct items *items = is_partial ? &stage->partials : &stage->result;
    uint64_t element = 0, index = 0;
    simt_error error = simt_machine_read(stage->machine, items->values, &element, stage->element_nbytes);
    if (!error && items->indices)
        error = simt_machine_read(stage->machine, items->indices, &index, sizeof index);
    if (finish == LADDER_FINISH_ATOMIC && items->indices) {
        index = (uint32_t)~index;
        const unsigned char *values = explanation->values;
        if (index < explanation->n)
            memcpy(&element, values + index * stage->element_nbytes, stage->element_nbytes);
    }
    explanation->result =
        (struct ladder_result){ladder_value(&element, variant->type), items->indices ? (int64_t)index : -1};
    return error;
}

static simt_error perform(struct stage *stage, simt_message *message) {
    struct explanation *explanation = stage->explanation;
    simt_error error = ladder_module(&explanation->variant, &explanation->module, message);
    if (!error && prepare(stage)) error = SIMT_ERROR_MEMORY;
    if (!error) error = launch(stage, message);
    if (!error && explanation->walk.out_of_memory) error = SIMT_ERROR_MEMORY;
    return error ? error : read_result(stage);
}

static bool tell(const struct stage *stage) {
    struct explanation *explanation = stage->explanation;
    const struct ladder_variant *variant = &explanation->variant;
    const struct story_setting setting = {
        .rung = &explanation->rung,
        .op = variant->op,
        .type = variant->type,
        .n = explanation->n,
        .values = explanation->values,
        .shared_nbytes = explanation->plan.shared_nbytes,
        .input_address = stage->input.values,
    };
    return story_tell(&explanation->story, &explanation->walk, &setting);
}

static void foretell(struct explanation *explanation) {
    const struct prediction_setting setting = {
        .rung = &explanation->rung,
        .op = explanation->variant.op,
        .type = explanation->variant.type,
        .n = explanation->n,
        .block = explanation->block,
        .warp_size = explanation->settings.warp_size,
        .banks = explanation->settings.banks,
        .shared_nbytes = explanation->walk.launch.shared_nbytes,
    };
    explanation->prediction = predict(&setting);
}

simt_error explain_run(struct explanation *explanation, simt_message *message) {
    struct stage stage = {.explanation = explanation,
                          .element_nbytes = wf_type_nbytes(explanation->variant.type)};
    explanation->plan = ladder_plan(&explanation->variant, explanation->n, explanation->block, 1);
    simt_error error = perform(&stage, message);
    if (!error && !tell(&stage)) error = SIMT_ERROR_MEMORY;
    if (!error) foretell(explanation);
    if (error == SIMT_ERROR_MEMORY) snprintf(message->text, sizeof message->text, "no memory left");
    simt_machine_destroy(stage.machine);
    return error;
}

void explain_clear(struct explanation *explanation) {
    story_clear(&explanation->story);
    walk_clear(&explanation->walk);
    simt_report_destroy(explanation->report);
    simt_module_destroy(explanation->module);
    free(explanation->values);
    *explanation = (struct explanation){0};
}

double explain_count(const struct explanation *explanation, const char *name) {
    return simt_report_count_value(explanation->report, name, 0);
}
