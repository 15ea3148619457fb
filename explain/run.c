/* One block of a rung on the simulator, watched by every observer and by the recorder of the trace. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

/* ---- what is asked for --------------------------------------------------------------------------- */

enum { TILES_MAX = 16 /* that a thread of a striding grid takes */ };

static uint64_t power_of_two_above(uint64_t number) {
    uint64_t power = 1;
    while (power < number) power *= 2;
    return power;
}

static simt_error take_machine(const struct explain_request *request, struct explanation *explanation,
                               simt_message *message) {
    const struct ladder_rung *rung = &explanation->rung;
    uint32_t warp = request->settings.warp_size ? request->settings.warp_size : EXPLAIN_WARP_DEFAULT;
    uint32_t banks = request->settings.banks ? request->settings.banks : EXPLAIN_BANKS_DEFAULT;
    explanation->settings = (simt_settings){warp, banks};
    if (rung->cells != WF_TYPE_DEFAULT && request->type != WF_F32)
        return explain_fail(message, SIMT_ERROR_ARGUMENT, "%s is explained with f32, not %s", rung->id,
                            wf_type_name(request->type));
    if (!rung->warp_size || rung->warp_size == warp) return SIMT_OK;
    return explain_fail(message, SIMT_ERROR_ARGUMENT, "%s needs warps of %" PRIu32 " lanes", rung->id,
                        rung->warp_size);
}

static simt_error take_values(const struct explain_request *request, struct explanation *explanation,
                              simt_message *message) {
    const struct ladder_variant *variant = &explanation->variant;
    const struct ladder_rung *rung = &explanation->rung;
    uint64_t n_default = rung->warp_size ? rung->warp_size : EXPLAIN_COUNT_DEFAULT;
    explanation->n = request->n ? request->n : n_default;
    if (explanation->n > (uint64_t)rung->tile * LADDER_BLOCK_MAX * TILES_MAX)
        return explain_fail(message, SIMT_ERROR_ARGUMENT, "%s: %" PRIu64 " elements do not fit one block",
                            rung->id, explanation->n);
    explanation->values = explain_choose_values(variant->type, variant->op, explanation->n);
    if (!explanation->values) return explain_fail_memory(message);
    if (request->values)
        memcpy(explanation->values, request->values, explanation->n * wf_type_nbytes(variant->type));
    if (rung->cells == WF_TYPE_DEFAULT || explain_cells_hold(explanation->values, explanation->n))
        return SIMT_OK;
    return explain_fail(
        message, SIMT_ERROR_ARGUMENT,
        "%s: its one digit holds whole numbers whose magnitudes add up to less than 2^31; 'warpfold sum' has "
        "digits for all (docs/exact-sums.md)",
        rung->id);
}

/* Chooses one block for all n elements. */
static simt_error take_block(const struct explain_request *request, struct explanation *explanation,
                             simt_message *message) {
    const struct ladder_rung *rung = &explanation->rung;
    uint64_t threads = power_of_two_above((explanation->n + rung->tile - 1) / rung->tile);
    uint64_t tiles_max = rung->strides ? TILES_MAX : 1;
    if (threads < rung->warp_size) threads = rung->warp_size;
    if (rung->strides && threads > LADDER_BLOCK_MAX) threads = LADDER_BLOCK_MAX;
    if (request->block) threads = request->block;
    uint64_t most = (request->block ? threads : LADDER_BLOCK_MAX) * rung->tile * tiles_max;
    if (threads > LADDER_BLOCK_MAX || explanation->n > most)
        return explain_fail(message, SIMT_ERROR_ARGUMENT,
                            "%s: one block%s takes at most %" PRIu64 " elements, not %" PRIu64, rung->id,
                            request->block ? " of that size" : "", most, explanation->n);
    explanation->block = (uint32_t)threads;
    if (ladder_block_fits(rung, explanation->block)) return SIMT_OK;
    return explain_fail(message, SIMT_ERROR_ARGUMENT, "%s cannot run with a block of %" PRIu64 " threads",
                        rung->id, threads);
}

static simt_error take_request(const struct explain_request *request, struct explanation *explanation,
                               simt_message *message) {
    explanation->rung = *request->rung;
    explanation->schedule = request->schedule;
    explanation->seed = request->seed;
    explanation->variant =
        (struct ladder_variant){.rung = &explanation->rung, .op = request->op, .type = request->type};
    simt_error error = take_machine(request, explanation, message);
    if (!error) error = ladder_variant_check(&explanation->variant, message);
    if (!error) error = take_values(request, explanation, message);
    return error ? error : take_block(request, explanation, message);
}

/* ---- running it ---------------------------------------------------------------------------------- */

struct stage {
    struct explanation *explanation;
    simt_machine *machine;
    size_t element_nbytes;
    struct timeline_items arrays[TIMELINE_ARRAYS];
};

static simt_error allocate(struct stage *stage, const void *bytes, size_t nbytes, uint64_t *address) {
    simt_error error = simt_machine_allocate(stage->machine, nbytes, address);
    return error || !bytes ? error : simt_machine_write(stage->machine, *address, bytes, nbytes);
}

/* One item for the block's result, which atomic operations find as the identity; packed in argmax, as 0. */
static simt_error allocate_item(struct stage *stage, struct timeline_items *items) {
    const struct ladder_variant *variant = &stage->explanation->variant;
    const struct ladder_result nothing = ladder_reduce(NULL, NULL, variant->type, variant->op, 0);
    const uint64_t packed = 0;
    bool is_atomic = variant->rung->finish == LADDER_FINISH_ATOMIC;
    simt_error error =
        allocate(stage, is_atomic ? &nothing.value.v : NULL, stage->element_nbytes, &items->values);
    if (error || variant->op != WF_ARGMAX) return error;
    return allocate(stage, is_atomic ? &packed : NULL, sizeof packed, &items->indices);
}

static simt_error prepare(struct stage *stage) {
    const struct explanation *explanation = stage->explanation;
    const uint32_t nobody = 0;
    simt_error error = simt_machine_create(&explanation->settings, &stage->machine);
    if (!error)
        error = allocate(stage, explanation->values, explanation->n * stage->element_nbytes,
                         &stage->arrays[ARRAY_INPUT].values);
    if (!error) error = allocate_item(stage, &stage->arrays[ARRAY_PARTIALS]);
    if (!error) error = allocate_item(stage, &stage->arrays[ARRAY_RESULT]);
    return error ? error : allocate(stage, &nobody, sizeof nobody, &stage->arrays[ARRAY_TICKET].values);
}

static simt_error launch(struct stage *stage, simt_message *message) {
    struct explanation *explanation = stage->explanation;
    const struct ladder_plan *plan = &explanation->plan;
    const void *const arguments[] = {
        &stage->arrays[ARRAY_INPUT].values,
        &stage->arrays[ARRAY_INPUT].indices,
        &explanation->n,
        &plan->portion,
        &stage->arrays[ARRAY_PARTIALS].values,
        &stage->arrays[ARRAY_PARTIALS].indices,
        &stage->arrays[ARRAY_RESULT].values,
        &stage->arrays[ARRAY_RESULT].indices,
        &stage->arrays[ARRAY_TICKET].values,
    };
    const simt_observer *observers[EXPLAIN_OBSERVERS_MAX];
    explain_list_observers(&trace_observer, observers);
    const simt_launch request = {
        .module = explanation->module,
        .kernel = ladder_kernel(explanation->module),
        .grid = {explanation->rung.cluster},
        .block = {explanation->block},
        .shared_nbytes = plan->shared_nbytes,
        .arguments = arguments,
        .schedule = explanation->schedule,
        .seed = explanation->seed,
        .threads = 1,
        .observers = observers,
        .context = &explanation->trace,
    };
    return simt_machine_launch(stage->machine, &request, &explanation->report, message);
}

/* An atomic argmax leaves the complement of the index in the low half of a word. */
static simt_error read_result(const struct stage *stage) {
    struct explanation *explanation = stage->explanation;
    const struct ladder_variant *variant = &explanation->variant;
    enum ladder_finish finish = variant->rung->finish;
    bool is_partial = finish == LADDER_FINISH_HOST || finish == LADDER_FINISH_RELAUNCH;
    const struct timeline_items *items = &stage->arrays[is_partial ? ARRAY_PARTIALS : ARRAY_RESULT];
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

static simt_error run_kernel(struct stage *stage, const simt_leftovers *leftovers, simt_message *message) {
    struct explanation *explanation = stage->explanation;
    simt_error error = ladder_module(&explanation->variant, leftovers, &explanation->module, message);
    if (!error && prepare(stage)) error = SIMT_ERROR_MEMORY;
    if (!error) error = launch(stage, message);
    if (!error && explanation->trace.out_of_memory) error = SIMT_ERROR_MEMORY;
    return error ? error : read_result(stage);
}

/* Describes the finding that stopped the launch. */
static simt_error fail_run(const struct explanation *explanation, simt_error error, simt_message *message) {
    const simt_message told = *message;
    size_t count = explanation->report ? simt_report_finding_count(explanation->report) : 0;
    if (error == SIMT_ERROR_MEMORY) return explain_fail_memory(message);
    if (!count)
        return explain_fail(message, SIMT_ERROR_STOPPED, "%s: %.4000s", explanation->rung.id, told.text);
    const simt_finding *finding = simt_report_finding(explanation->report, count - 1);
    return explain_fail(message, SIMT_ERROR_STOPPED, "%s: %s:%" PRIu32 ": thread %" PRIu32 ": %s",
                        explanation->rung.id, finding->file, finding->line, finding->thread[0],
                        finding->message);
}

/* ---- what it did --------------------------------------------------------------------------------- */

static bool build_timeline(const struct stage *stage) {
    struct explanation *explanation = stage->explanation;
    const struct ladder_variant *variant = &explanation->variant;
    struct timeline_setting setting = {
        .rung = &explanation->rung,
        .op = variant->op,
        .type = variant->type,
        .n = explanation->n,
        .values = explanation->values,
        .shared_nbytes = explanation->plan.shared_nbytes,
    };
    memcpy(setting.arrays, stage->arrays, sizeof setting.arrays);
    return timeline_build(&explanation->timeline, &explanation->trace, &setting);
}

static void predict_counts(struct explanation *explanation) {
    const struct prediction_setting setting = {
        .rung = &explanation->rung,
        .op = explanation->variant.op,
        .type = explanation->variant.type,
        .n = explanation->n,
        .block = explanation->block,
        .warp_size = explanation->settings.warp_size,
        .banks = explanation->settings.banks,
        .shared_nbytes = explanation->trace.launch.shared_nbytes,
    };
    explanation->prediction = predict(&setting);
}

static simt_error run_misprints(struct explanation *explanation, simt_message *message) {
    size_t count = ladder_wrong_count(&explanation->rung);
    simt_error error = SIMT_OK;
    explanation->misprints = calloc(count + 1, sizeof *explanation->misprints);
    if (!explanation->misprints) return explain_fail_memory(message);
    for (size_t i = 0; i < count && !error; i++, explanation->misprint_count++)
        error = misprint_run(&explanation->rung, i, &explanation->misprints[i], message);
    return error;
}

/* ---- the whole ----------------------------------------------------------------------------------- */

static simt_error run(const struct explain_request *request, struct explanation *explanation,
                      simt_message *message) {
    struct stage stage = {.explanation = explanation,
                          .element_nbytes = wf_type_nbytes(explanation->variant.type)};
    explanation->plan = ladder_plan(&explanation->variant, explanation->n, explanation->block, 1);
    simt_error error = run_kernel(&stage, request->leftovers, message);
    if (!error && !build_timeline(&stage)) error = SIMT_ERROR_MEMORY;
    if (error) error = fail_run(explanation, error, message);
    if (!error) predict_counts(explanation);
    if (!error && explanation->rung.cells != WF_TYPE_DEFAULT) explain_add_in_orders(explanation);
    simt_machine_destroy(stage.machine);
    return error || !request->wants_misprints ? error : run_misprints(explanation, message);
}

/* Whether nothing is said of the elements and the machine: the rung's own picture is shown. */
static bool wants_picture(const struct explain_request *request) {
    return !request->n && !request->values && !request->block && !request->settings.warp_size &&
           !request->settings.banks;
}

/* *values: the request's, to be freed. */
static simt_error take_picture(struct explain_request *request, bool *is_picture, void **values,
                               simt_message *message) {
    const struct ladder_picture *picture = &request->rung->picture;
    *is_picture = wants_picture(request) && (picture->n || picture->values[0]);
    if (!*is_picture) return SIMT_OK;
    request->n = picture->n;
    request->block = picture->block;
    request->settings = (simt_settings){picture->warp, picture->banks};
    if (!picture->values[0]) return SIMT_OK;
    simt_error error = explain_parse_values(picture->values, request->type, values, &request->n, message);
    request->values = *values;
    return error;
}

simt_error explain_run(const struct explain_request *request, struct explanation **explanation,
                       simt_message *message) {
    struct explain_request asked = *request;
    struct explanation *made = calloc(1, sizeof *made);
    void *values = NULL;
    *explanation = NULL;
    if (!made) return explain_fail_memory(message);
    simt_error error = take_picture(&asked, &made->is_picture, &values, message);
    if (!error) error = take_request(&asked, made, message);
    if (!error) error = run(&asked, made, message);
    free(values);
    if (!error)
        *explanation = made;
    else
        explain_destroy(made);
    return error;
}

void explain_destroy(struct explanation *explanation) {
    if (!explanation) return;
    for (size_t i = 0; i < explanation->misprint_count; i++) misprint_clear(&explanation->misprints[i]);
    free(explanation->misprints);
    timeline_clear(&explanation->timeline);
    trace_clear(&explanation->trace);
    simt_report_destroy(explanation->report);
    simt_module_destroy(explanation->module);
    free(explanation->values);
    free(explanation);
}

wf_type explain_cell_type(const struct explanation *explanation) {
    bool has_own = explanation->rung.cells != WF_TYPE_DEFAULT && explanation->timeline.step_count;
    return has_own ? explanation->rung.cells : explanation->variant.type;
}

double explain_count(const struct explanation *explanation, const char *name) {
    return simt_report_counter_value(explanation->report, name, 0);
}
