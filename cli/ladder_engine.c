/* The rung that is no kernel but the library's own reduction, without a GPU: this process's CUDA driver is then the
 * simulator's, as for programs that `run` runs.  NVRTC compiles its kernels, so the table of all rungs, which does without,
 * leaves it out. */
#include "ladder_request.h"
#include "ladder/gpu.h"
#include "output.h"
#include "program/program.h"

#include <math.h>

struct engine {
    const struct ladder_request *asked;
    struct ladder_gpu *gpu;
    struct ladder_gpu_kernel *kernel;
};

static simt_error open_engine(struct engine *engine, const struct ladder_rung *rung, simt_message *message) {
    const struct ladder_variant variant = ladder_request_variant(engine->asked, rung);
    simt_error error = ladder_gpu_open("cuda", &engine->gpu, message);
    return error ? error : ladder_gpu_load(engine->gpu, &variant, LADDER_GPU_COMPILED, &engine->kernel, message);
}

static simt_error run_engine(const struct engine *engine, const struct ladder_rung *rung, const struct data *data,
                             struct ladder_outcome *outcome, simt_message *message) {
    const struct ladder_task task = {
        .variant = ladder_request_variant(engine->asked, rung), .values = data->values, .n = data->n};
    simt_error error =
        ladder_gpu_put(engine->gpu, data->values, data->n * wf_type_nbytes(engine->asked->type), message);
    return error ? error : ladder_gpu_run(engine->kernel, &task, outcome, message);
}

static int verify(const struct engine *engine, const struct data_set *set, struct ladder_row *row) {
    struct ladder_outcome outcome = {0};
    simt_message message = {""};
    simt_error error = run_engine(engine, &row->rung, &set->exact, &row->outcome, &message);
    int status = judge(engine->asked, &row->rung, &set->exact, &row->outcome, error, &message, &row->verified);
    if (status || !row->verified) return status;
    error = run_engine(engine, &row->rung, &set->random, &outcome, &message);
    status = measure_ulp(engine->asked, &row->rung, &set->random, &outcome, error, &message, &row->ulp);
    ladder_outcome_clear(&outcome);
    return status;
}

static int run_opened(struct engine *engine, const struct data_set *set, struct ladder_row *row) {
    simt_message message = {""};
    if (open_engine(engine, &row->rung, &message)) return fail("%s: %s", row->rung.id, message.text);
    return verify(engine, set, row);
}

int count_engine(const struct ladder_request *asked, const struct data_set *set, struct ladder_row *row) {
    const struct program_settings settings = {.threads = 1};
    struct engine engine = {.asked = asked};
    struct program *program;
    simt_message message;
    row->ulp = NAN;
    row->is_skipped = ladder_is_on_gpu(asked->settings) || !asked->settings->rung || !program_has_nvrtc();
    if (row->is_skipped) return STATUS_OK;
    if (!program_open_here(&program, &settings, &message)) return fail("%s: %s", row->rung.id, message.text);
    int status = run_opened(&engine, set, row);
    row->races = program_race_count(program);
    row->verified = row->verified && !program_finding_count(program);
    ladder_gpu_unload(engine.kernel);
    ladder_gpu_close(engine.gpu);
    program_close(program);
    return status;
}
