/* The options of warpfold ladder. */
#include <inttypes.h>
#include <string.h>

#include "inspect.h"
#include "ladder/gpu.h"
#include "ladder_request.h"
#include "output.h"

bool ladder_is_on_gpu(const struct settings *settings) {
    return settings->device && ladder_gpu_is_name(settings->device);
}

static bool is_ladder_op(wf_op op) {
    return op == WF_SUM || op == WF_PROD || op == WF_MIN || op == WF_MAX || op == WF_ARGMAX;
}

static int read_choice(struct ladder_request *asked) {
    const struct settings *settings = asked->settings;
    asked->op = settings->op ? wf_op_parse(settings->op) : WF_SUM;
    asked->type = settings->type ? settings->type : WF_F32;
    asked->n = settings->count;
    if (!is_ladder_op(asked->op))
        return fail_usage("--op %s: the ladder's ops are sum, prod, min, max and argmax", settings->op);
    if (!ladder_type_check(asked->type))
        return fail_usage("--type %s: the ladder's types are i32, u32, i64, u64, f32 and f64",
                          wf_type_name(asked->type));
    if (!ladder_finish_parse(settings->finish, &asked->finish))
        return fail_usage("--finish takes host, relaunch, atomic or last-block, not '%s'", settings->finish);
    if (!parse_schedule(settings->schedule, &asked->schedule, &asked->schedule_seed))
        return fail_usage("--schedule takes lockstep, split or random:SEED, not '%s'", settings->schedule);
    return STATUS_OK;
}

/* A whole number of threads or blocks: the ladder's grids are lines. */
static int read_length(const char *option, const char *text, uint32_t *length) {
    uint32_t extent[3];
    if (!text) return STATUS_OK;
    if (!parse_extent(text, extent) || extent[1] != 1 || extent[2] != 1)
        return fail_usage("--%s takes one whole number, not '%s'", option, text);
    *length = extent[0];
    return STATUS_OK;
}

uint64_t ladder_request_n(const struct ladder_request *asked) {
    enum { N_DEFAULT = 1 << 16 };
    return asked->n >= 0 ? (uint64_t)asked->n : N_DEFAULT;
}

/* On the simulator, blocks beyond those that the elements need only take time: hours, where the grid is large. */
static int check_grid(const struct ladder_request *asked) {
    enum { IDLE_THREADS_MAX = 1 << 20 };
    uint64_t most = (ladder_request_n(asked) + IDLE_THREADS_MAX) / asked->block;
    if (asked->grid <= most) return STATUS_OK;
    return fail_usage("--grid %" PRIu32 ": for %" PRIu64 " elements the simulator runs at most %" PRIu64
                      " blocks of %" PRIu32 " threads; give more elements (-n N) or fewer blocks",
                      asked->grid, ladder_request_n(asked), most, asked->block);
}

static int read_shape(struct ladder_request *asked) {
    asked->block = LADDER_BLOCK_DEFAULT;
    int status = read_length("block", asked->settings->block, &asked->block);
    if (!status) status = read_length("grid", asked->settings->grid, &asked->grid);
    if (status) return status;
    const struct ladder_rung any = {.warp_size = LADDER_BLOCK_MIN};
    if (!ladder_block_fits(&any, asked->block))
        return fail_usage("--block takes a power of two from %d to %d, not '%s'", LADDER_BLOCK_MIN,
                          LADDER_BLOCK_MAX, asked->settings->block);
    return ladder_is_on_gpu(asked->settings) ? STATUS_OK : check_grid(asked);
}

struct ladder_variant ladder_request_variant(const struct ladder_request *asked, const struct ladder_rung *rung) {
    const struct settings *settings = asked->settings;
    bool coarsens = rung->coarsen || settings->rung;
    return (struct ladder_variant){rung, asked->op, asked->type, asked->finish,
                                   coarsens ? (uint32_t)settings->coarsen : 0};
}

static int read_rung(struct ladder_request *asked) {
    const struct settings *settings = asked->settings;
    simt_message message;
    if (settings->html && settings->partials) return fail_usage("--html and --partials cannot be combined");
    if (!settings->rung && settings->partials) return fail_usage("--partials requires --rung");
    if (!settings->rung) return STATUS_OK;
    if (!ladder_rung_find(settings->rung, &asked->rung))
        return fail_usage("--rung %s: unknown rung; 'warpfold ladder' lists them", settings->rung);
    if (settings->partials && asked->finish == LADDER_FINISH_DEFAULT) asked->finish = LADDER_FINISH_HOST;
    if (settings->partials &&
        (asked->finish == LADDER_FINISH_ATOMIC || asked->finish == LADDER_FINISH_LAST_BLOCK))
        return fail_usage("--partials: --finish %s leaves no partial results", ladder_finish_name(asked->finish));
    if (settings->partials && asked->rung.is_engine)
        return fail_usage("--partials: %s leaves no partial results", asked->rung.id);
    struct ladder_variant variant = ladder_request_variant(asked, &asked->rung);
    return ladder_variant_check(&variant, &message) ? fail_usage("%s", message.text) : STATUS_OK;
}

static int read_device(const struct settings *settings) {
    const char *device = settings->device;
    bool is_machine = !device || !strcmp(device, "auto") || !strcmp(device, "simt");
    if (!is_machine && !ladder_is_on_gpu(settings))
        return fail_usage(
            "--device %s: the ladder runs on the simulator (--device simt) or on a GPU (cuda[:N])",
            device);
    if (settings->sweep && (settings->once || settings->partials))
        return fail_usage("--sweep cannot be combined with --once or --partials");
    if (is_machine && (settings->sweep || settings->once))
        return fail_usage("--%s needs a GPU (--device cuda): the simulator has no clock",
                          settings->sweep ? "sweep" : "once");
    return STATUS_OK;
}

int read_ladder_request(struct ladder_request *asked) {
    int status = read_device(asked->settings);
    if (!status) status = read_choice(asked);
    if (!status) status = read_shape(asked);
    if (!status) status = read_rung(asked);
    return status;
}
