/* Which threads arrived in which phase of an mbarrier, and which have waited for it: for a race between two of them that
 * the mbarrier was to prevent. */
#include <stdio.h>
#include <stdlib.h>

#include "races.h"

struct phase_thread {
    uint32_t arrived, arrived_tick; /* the number of the last phase, from 1, and when; */
    uint32_t arrived_before;        /* of another one before it */
    uint32_t waited;                /* the last phase that it knows to be over */
};

struct phases {
    uint32_t number;          /* of the phase that is under way, from 1 */
    uint32_t arrived, before; /* arrivals in it, and in the one before */
    uint32_t begin_pc, arrive_pc, wait_pc;
    struct phase_thread threads[];
};

/* Without memory a race is explained as if there were no mbarrier. */
static struct phases *phases_of(const struct races_block *block, struct meeting *meeting) {
    const simt_launch_view *view = block->races->view;
    const size_t nbytes = sizeof(struct phases) + view->threads_per_block * sizeof(struct phase_thread);
    if (view->blocks_per_cluster > 1) return NULL;
    if (!meeting->phases) meeting->phases = calloc(1, nbytes);
    if (meeting->phases && !meeting->phases->number) meeting->phases->number = 1;
    return meeting->phases;
}

void simt_phases_note(const struct races_block *block, struct meeting *meeting, const simt_event *event,
                      const simt_mbarrier *operation) {
    struct phases *phases = phases_of(block, meeting);
    if (!phases) return;
    struct phase_thread *thread = &phases->threads[event->warp * block->races->view->warp_size + operation->lane];
    if (operation->operation == SIMT_MBARRIER_INITIALISE) phases->begin_pc = event->pc;
    if (operation->operation == SIMT_MBARRIER_ARRIVE) {
        phases->arrived++;
        phases->arrive_pc = event->pc;
        if (thread->arrived != phases->number) thread->arrived_before = thread->arrived;
        thread->arrived = phases->number;
        thread->arrived_tick = block->tick;
    }
    if (operation->operation != SIMT_MBARRIER_WAIT) return;
    phases->wait_pc = event->pc;
    thread->waited = phases->number - 1;
}

void simt_phases_end(struct meeting *meeting) {
    if (!meeting->phases) return;
    meeting->phases->number++;
    meeting->phases->before = meeting->phases->arrived;
    meeting->phases->arrived = 0;
}

/* Whether the thread has waited for the last phase that is over, and that went without the other, though others arrived. */
static bool was_without(const struct phases *phases, const struct phase_thread *waiting, const struct phase_thread *other) {
    const uint32_t last = phases->number - 1;
    return last && waiting->waited == last && phases->before > 1 && other->arrived != last && other->arrived_before != last;
}

/* Whether the access stands between the arrival and the wait, and the other thread has waited for that arrival, which tells only of what
 * comes before. */
static bool is_between(const struct phases *phases, const struct phase_access *one, const struct phase_thread *second) {
    const struct phase_thread *first = &phases->threads[one->thread];
    const bool has_arrived = first->arrived && first->arrived_tick < one->tick && second->waited >= first->arrived;
    return has_arrived && phases->arrive_pc < one->pc && one->pc < phases->wait_pc;
}

/* What is wrong with an mbarrier between an access and a later one by the thread `two`. */
static enum phase_fault fault_of(const struct phases *phases, const struct phase_access *one, uint32_t two) {
    const struct phase_thread *first = &phases->threads[one->thread], *second = &phases->threads[two];
    if (was_without(phases, second, first) || was_without(phases, first, second)) return PHASE_WITHOUT_IT;
    const bool has_arrived_since = first->arrived && first->arrived_tick >= one->tick;
    if (has_arrived_since && second->waited < first->arrived) return PHASE_NOT_WAITED_FOR;
    return is_between(phases, one, second) ? PHASE_ARRIVED_BEFORE : PHASE_IN_ORDER;
}

enum phase_fault simt_phases_fault(const struct races_block *block, const struct phase_access *one, uint32_t two, struct phase_told *told) {
    for (const struct meeting *meeting = block->shared->mbarriers; meeting; meeting = meeting->next) {
        const struct phases *phases = meeting->phases;
        const enum phase_fault fault = phases ? fault_of(phases, one, two) : PHASE_IN_ORDER;
        if (fault == PHASE_IN_ORDER) continue;
        *told = (struct phase_told){phases->begin_pc, phases->arrive_pc, phases->wait_pc, phases->before};
        return fault;
    }
    return PHASE_IN_ORDER;
}
