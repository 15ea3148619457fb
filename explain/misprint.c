#include "misprint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

/* ---- the arguments ------------------------------------------------------------------------------- */

/* The element of an array's fill: its index (iota), or always 1 or 0. */
static uint64_t element_of(const struct ladder_argument *argument, uint64_t index) {
    uint64_t number = !strcmp(argument->fill, "iota") ? index : !strcmp(argument->fill, "ones"), bits = 0;
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, number);
    explain_parse_element(digits, argument->type, &bits);
    return bits;
}

/* The elements; the caller's, to be freed.  NULL: no memory. */
static unsigned char *make_elements(const struct ladder_argument *argument) {
    size_t nbytes = wf_type_nbytes(argument->type);
    unsigned char *elements = malloc(argument->count * nbytes + 1);
    for (uint64_t i = 0; elements && i < argument->count; i++) {
        uint64_t bits = element_of(argument, i);
        memcpy(elements + i * nbytes, &bits, nbytes);
    }
    return elements;
}

static simt_error place_array(struct misprint *misprint, simt_machine *machine, size_t index) {
    const struct ladder_argument *argument = &misprint->wrong.arguments[index];
    size_t nbytes = argument->count * wf_type_nbytes(argument->type);
    unsigned char *elements = make_elements(argument);
    if (!elements) return SIMT_ERROR_MEMORY;
    simt_error error = simt_machine_allocate(machine, nbytes, &misprint->addresses[index]);
    if (!error) error = simt_machine_write(machine, misprint->addresses[index], elements, nbytes);
    if (index == 0)
        misprint->values = elements;
    else
        free(elements);
    return error;
}

static simt_error place_arrays(struct misprint *misprint, simt_machine *machine) {
    simt_error error = SIMT_OK;
    for (size_t i = 0; i < misprint->wrong.argument_count && !error; i++)
        if (misprint->wrong.arguments[i].is_array) error = place_array(misprint, machine, i);
    return error;
}

/* ---- the launch ---------------------------------------------------------------------------------- */

static bool read_result(struct misprint *misprint, const simt_machine *machine) {
    wf_type type = misprint->wrong.arguments[1].type;
    uint64_t element = 0;
    if (simt_machine_read(machine, misprint->addresses[1], &element, wf_type_nbytes(type))) return false;
    misprint->result.value = ladder_value(&element, type);
    return true;
}

/* The trace follows one block only. */
static simt_error launch(struct misprint *misprint, simt_machine *machine, simt_message *message) {
    const struct ladder_wrong *wrong = &misprint->wrong;
    const simt_observer *observers[EXPLAIN_OBSERVERS_MAX];
    const void *arguments[LADDER_ARGUMENTS_MAX];
    for (size_t i = 0; i < wrong->argument_count; i++)
        arguments[i] = wrong->arguments[i].is_array ? &misprint->addresses[i] : &wrong->arguments[i].number;
    explain_list_observers(wrong->grid == 1 ? &trace_observer : NULL, observers);
    const simt_launch request = {
        .module = misprint->module,
        .grid = {wrong->grid},
        .block = {wrong->block},
        .shared_nbytes = wrong->shared_nbytes,
        .arguments = arguments,
        .threads = 1,
        .observers = observers,
        .context = &misprint->trace,
    };
    simt_error error = simt_machine_launch(machine, &request, &misprint->report, message);
    misprint->has_result = !error && read_result(misprint, machine);
    if (misprint->trace.out_of_memory) return SIMT_ERROR_MEMORY;
    return error == SIMT_ERROR_STOPPED && misprint->report ? SIMT_OK : error;
}

static void predict_right(const struct ladder_rung *rung, struct misprint *misprint) {
    const struct ladder_argument *input = &misprint->wrong.arguments[0];
    const struct prediction_setting setting = {
        .rung = rung,
        .op = WF_SUM,
        .type = input->type,
        .n = input->count,
        .block = misprint->wrong.block,
        .warp_size = EXPLAIN_WARP_DEFAULT,
        .banks = EXPLAIN_BANKS_DEFAULT,
        .shared_nbytes = misprint->wrong.shared_nbytes,
    };
    misprint->prediction = predict(&setting);
}

static simt_error run(struct misprint *misprint, simt_message *message) {
    const struct ladder_wrong *wrong = &misprint->wrong;
    const struct ladder_argument *input = &wrong->arguments[0];
    simt_machine *machine = NULL;
    simt_error error =
        simt_module_parse(wrong->ptx->text, wrong->ptx->nbytes, wrong->ptx->path, &misprint->module, message);
    if (error) return error;
    error = simt_machine_create(NULL, &machine);
    if (!error) error = place_arrays(misprint, machine);
    if (!error) misprint->right = ladder_reduce(misprint->values, NULL, input->type, WF_SUM, input->count);
    if (!error) error = launch(misprint, machine, message);
    simt_machine_destroy(machine);
    return error;
}

/* ---- the whole ----------------------------------------------------------------------------------- */

simt_error misprint_run(const struct ladder_rung *rung, size_t index, struct misprint *misprint,
                        simt_message *message) {
    *misprint = (struct misprint){0};
    simt_error error = ladder_wrong_get(rung, index, &misprint->wrong, message);
    if (error) return error;
    error = run(misprint, message);
    if (!error) predict_right(rung, misprint);
    if (error == SIMT_ERROR_MEMORY) return explain_fail_memory(message);
    if (!error) return SIMT_OK;
    const simt_message told = *message;
    return explain_fail(message, SIMT_ERROR_STOPPED, "%s: %.4000s", misprint->wrong.file->path, told.text);
}

void misprint_clear(struct misprint *misprint) {
    simt_report_destroy(misprint->report);
    trace_clear(&misprint->trace);
    simt_module_destroy(misprint->module);
    free(misprint->values);
}
