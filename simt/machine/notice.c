/* Reports the position of a long launch once.  Only this file reads a clock; nothing else depends on it. */
#include "machine.h"

/* Instructions of a warp that looks as if it went round and round. */
enum { POLLING_MIN = 1 << 14, EXECUTED_MIN = 1 << 18 };

static bool is_slow(const struct launch *launch) {
    static const double SLOW_SECONDS = 1.5;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double seconds = (double)(now.tv_sec - launch->begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - launch->begin.tv_nsec);
    return seconds > SLOW_SECONDS;
}

void simt_machine_set_cancel(struct simt_machine *machine, simt_cancel_function *function, void *context) {
    machine->cancel = function;
    machine->cancel_context = context;
}

bool simt_is_cancelled(struct launch *launch) {
    const struct simt_machine *machine = launch->machine;
    if (!machine->cancel || !machine->cancel(machine->cancel_context)) return false;
    simt_launch_stop(launch);
    return true;
}

void simt_machine_set_notice(struct simt_machine *machine, simt_notice_function *function, void *context) {
    machine->notice = function;
    machine->notice_context = context;
}

void simt_notice_slow(const struct warp *warp, const struct path *path, bool polls) {
    struct launch *launch = warp->block->launch;
    const struct simt_machine *machine = launch->machine;
    const simt_place *place = path->pc < launch->view.place_count ? &launch->view.places[path->pc] : NULL;
    bool is_due = machine->notice && launch->limit > SIMT_INSTRUCTION_LIMIT &&
                  warp->executed > (polls ? POLLING_MIN : EXECUTED_MIN) && is_slow(launch);
    if (!is_due || atomic_exchange(&launch->is_noticed, true)) return;
    simt_notice notice = {.kernel = launch->function->name,
                          .file = place ? place->file : NULL,
                          .line = place ? place->line : 0,
                          .warp = warp->index,
                          .lanes = path->mask,
                          .instructions = warp->executed,
                          .polls = polls,
                          .address = polls ? warp->polled : 0};
    for (int d = 0; d < 3; d++) notice.block[d] = warp->block->view.block[d];
    machine->notice(machine->notice_context, &notice);
}
