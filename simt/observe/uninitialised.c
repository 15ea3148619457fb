/* Finds reads of shared and global memory that nothing has written.  An element of which some bytes were
 * written is a struct with padding, and left alone. */
#include "counts.h"

/* A bit for each element of the lane of which no byte has been written. */
static uint32_t unwritten_elements(const simt_access *access, uint32_t lane) {
    uint64_t written = access->initialised[lane];
    uint64_t element = (UINT64_C(1) << access->element_nbytes) - 1;
    uint32_t unwritten = 0;
    for (uint32_t e = 0; e < access->elements; e++)
        unwritten |= (uint32_t)!(written >> e * access->element_nbytes & element) << e;
    return unwritten;
}

static void find(const simt_event *event, const simt_access *access, uint32_t lane, uint32_t element) {
    static const char advice_shared[] = "shared memory is undefined when a block begins";
    static const char advice_global[] = "initialise the buffer, or store to it before reading";
    bool is_shared = access->space == SIMT_SHARED;
    uint64_t address = access->addresses[lane] + element * access->element_nbytes;
    simt_record_finding(event, SIMT_FINDING_UNINITIALISED, lane, address,
                        is_shared ? "%s %u bytes of %s memory at byte %llu, which has not been written: %s"
                                  : "%s %u bytes of %s memory at 0x%llx, which has not been written: %s",
                        access->kind == SIMT_ATOMIC ? "updates" : "loads", access->element_nbytes,
                        is_shared ? "shared" : "global", (unsigned long long)address,
                        is_shared ? advice_shared : advice_global);
}

/* Whether it reads what was not written. */
static bool find_all(void *block, const simt_event *event, const simt_access *access) {
    if (!access->initialised || access->kind == SIMT_STORE) return false;
    if (access->space != SIMT_SHARED && access->space != SIMT_GLOBAL) return false;
    uint64_t *count = block, before = *count;
    for (uint32_t lanes = access->lanes; lanes; lanes &= lanes - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(lanes);
        uint32_t unwritten = unwritten_elements(access, lane);
        if (!unwritten) continue;
        if (*count == before) find(event, access, lane, (uint32_t)__builtin_ctz(unwritten));
        *count += lane_count(unwritten);
    }
    return *count != before;
}

static void check_access(void *block, const simt_event *event, const simt_access *access) {
    if (find_all(block, event, access)) simt_stop(event);
}

static void check_and_go_on(void *block, const simt_event *event, const simt_access *access) {
    find_all(block, event, access);
}

static void end_block(void *launch, void *block, const simt_block_view *view) {
    (void)view;
    counts_add(launch, block, 1);
}

static void end_launch(void *launch, simt_report *report) {
    static const char *const names[] = {"uninitialised_reads"};
    counts_report(report, names, launch, 1);
}

#define OBSERVER(check)                                                                                            \
    {                                                                                                              \
        .name = "uninitialised", .launch_nbytes = sizeof(uint64_t), .block_nbytes = sizeof(uint64_t),              \
        .needs_initialised = true, .access = (check), .block_end = end_block, .launch_end = end_launch             \
    }

const struct simt_observer simt_observe_uninitialised = OBSERVER(check_access);
const struct simt_observer simt_observe_uninitialised_going_on = OBSERVER(check_and_go_on);
