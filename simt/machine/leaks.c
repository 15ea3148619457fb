/* What kernels allocate, do not free, and lose: memory to which nothing leads when the launch has ended.  What global memory still
 * points to may be freed by a later launch. */
#include <stdlib.h>
#include <string.h>

#include "builtin.h"

/* An allocation, and who made it. */
struct birth {
    const struct allocation *allocation;
    uint32_t block[3], warp, lane, pc;
};

struct births {
    struct birth *items;
    size_t count, capacity;
};

void simt_births_clear(struct launch *launch) {
    if (!launch->births) return;
    free(launch->births->items);
    free(launch->births);
    launch->births = NULL;
}

bool simt_births_add(const struct warp *warp, const struct path *path, uint32_t lane, const struct allocation *allocation) {
    struct launch *launch = warp->block->launch;
    const simt_event event = simt_event_of(warp, path, UINT32_C(1) << lane);
    if (!launch->births) launch->births = calloc(1, sizeof *launch->births);
    struct births *births = launch->births;
    if (births && births->count == births->capacity) {
        const size_t capacity = 2 * births->capacity + 64;
        struct birth *grown = realloc(births->items, capacity * sizeof *grown);
        if (!grown) return false;
        births->items = grown;
        births->capacity = capacity;
    }
    if (!births) return false;
    struct birth *birth = &births->items[births->count++];
    *birth = (struct birth){.allocation = allocation, .warp = event.warp, .lane = lane, .pc = event.pc};
    memcpy(birth->block, event.block->block, sizeof birth->block);
    return true;
}

/* ---- what is reached */

struct reach {
    const struct memory *memory;
    unsigned char *is_reached; /* by slot */
    uint64_t *waiting;         /* slots of the heap that were reached, and not looked through yet */
    uint64_t waiting_count;
};

static void look_through(struct reach *reach, const struct allocation *allocation) {
    for (uint64_t at = 0; at + sizeof(uint64_t) <= allocation->nbytes; at += sizeof(uint64_t)) {
        uint64_t address;
        memcpy(&address, allocation->bytes + at, sizeof address);
        const struct allocation *found = address >= SIMT_GLOBAL_BASE ? simt_memory_slot(reach->memory, address) : NULL;
        const uint64_t slot = (address - SIMT_GLOBAL_BASE) >> 32;
        if (!found || !found->is_heap || reach->is_reached[slot]) continue;
        reach->is_reached[slot] = true;
        reach->waiting[reach->waiting_count++] = slot;
    }
}

/* false: it cannot be told, as addresses may lie in memory that is looked for elsewhere. */
static bool look_through_all(struct reach *reach) {
    const struct memory *memory = reach->memory;
    for (uint64_t slot = 0; slot < memory->slot_count; slot++) {
        const struct allocation *allocation = memory->slots[slot];
        if (allocation && allocation->table) return false;
        if (allocation && !allocation->is_heap && allocation->bytes) look_through(reach, allocation);
    }
    while (reach->waiting_count) look_through(reach, memory->slots[reach->waiting[--reach->waiting_count]]);
    return true;
}

static bool is_left(const struct birth *birth) {
    return birth->allocation->is_heap; /* no longer once it is freed */
}

static void record(struct launch *launch, const struct birth *birth) {
    const simt_block_view block = {.launch = &launch->view, .machine = launch,
                                   .block = {birth->block[0], birth->block[1], birth->block[2]}};
    const simt_event event = {.block = &block, .warp = birth->warp, .pc = birth->pc};
    simt_record_finding_of_launch(&event, SIMT_FINDING_LEAK, UINT32_C(1) << birth->lane, birth->allocation->address,
                                  "allocates %llu bytes that are not freed, and to which nothing leads when the launch has ended: free() "
                                  "where the thread has done with them, or an array of its own instead",
                                  (unsigned long long)birth->allocation->nbytes);
}

void simt_leaks_find(struct launch *launch) {
    const struct births *births = launch->births;
    size_t left = 0;
    for (size_t i = 0; births && i < births->count; i++) left += is_left(&births->items[i]);
    if (!left || launch->has_launched || simt_is_stopped(launch)) return;
    const struct memory *memory = &launch->machine->memory;
    struct reach reach = {.memory = memory, .is_reached = calloc(memory->slot_count, 1),
                          .waiting = calloc(memory->slot_count, sizeof *reach.waiting)};
    if (!reach.is_reached || !reach.waiting) simt_report_lose(launch->report);
    else if (look_through_all(&reach))
        for (size_t i = 0; i < births->count; i++) {
            const struct birth *birth = &births->items[i];
            const uint64_t slot = (birth->allocation->address - SIMT_GLOBAL_BASE) >> 32;
            if (is_left(birth) && !reach.is_reached[slot]) record(launch, birth);
        }
    free(reach.is_reached);
    free(reach.waiting);
}
