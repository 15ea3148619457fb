/* Which of two instructions comes first, as far as the program's text tells. */
#include <stdlib.h>
#include <string.h>

#include "machine.h"

/* Where threads wait for each other: all of the block or, if that counts, of the warp. */
static bool is_barrier(const char *opcode, bool within_warp) {
    return (!strncmp(opcode, "bar.", 4) || !strncmp(opcode, "barrier.", 8)) &&
           (within_warp || !strstr(opcode, "warp")) && !strstr(opcode, "cluster") && !strstr(opcode, "arrive");
}

static bool ends_path(const struct code *code) {
    static const char *const bases[] = {"ret", "exit", "trap", "brx"};
    for (size_t b = 0; b < sizeof bases / sizeof *bases; b++)
        if (!strcmp(code->instruction->base, bases[b])) return !code->has_guard;
    return false;
}

static void reach(unsigned char *reached, uint32_t *list, uint32_t *count, uint32_t pc, uint32_t end) {
    if (pc >= end || reached[pc]) return;
    reached[pc] = 1;
    list[(*count)++] = pc;
}

/* The barriers that no way leads through. */
enum stops { NO_BARRIERS, BARRIERS_OF_BLOCKS, ALL_BARRIERS };

static bool leads_to(const simt_event *event, uint32_t from, uint32_t to, enum stops stops) {
    struct launch *launch = event->block->machine;
    const uint32_t end = launch->view.place_count;
    unsigned char *reached = calloc(end, sizeof *reached);
    uint32_t *list = calloc(end, sizeof *list), count = 0;
    if (!reached || !list) simt_launch_no_memory(launch);
    for (uint32_t pc = from, i = 0; reached && list && !reached[to]; pc = list[i++]) {
        const struct code *code = &launch->image->codes[pc];
        const char *opcode = launch->view.places[pc].opcode;
        const bool is_stop = i > 0 && stops != NO_BARRIERS && is_barrier(opcode, stops == ALL_BARRIERS);
        const bool is_passed = code->instruction && !is_stop;
        if (is_passed && code->is_branch) reach(reached, list, &count, code->target, end);
        if (is_passed && !ends_path(code) && (!code->is_branch || code->has_guard)) reach(reached, list, &count, pc + 1, end);
        if (i == count) break;
    }
    bool is_reached = reached && list && reached[to];
    free(reached);
    free(list);
    return is_reached;
}

bool simt_may_follow(const simt_event *event, uint32_t from, uint32_t to, bool within_warp) {
    return leads_to(event, from, to, within_warp ? ALL_BARRIERS : BARRIERS_OF_BLOCKS);
}

/* Functions may be called by both sides. */
static bool is_of_kernel(const simt_event *event, uint32_t pc) {
    const struct launch *launch = event->block->machine;
    const struct function *kernel = launch->function;
    return pc >= kernel->begin && pc < kernel->end;
}

bool simt_are_exclusive(const simt_event *event, uint32_t one, uint32_t other) {
    return is_of_kernel(event, one) && is_of_kernel(event, other) && !leads_to(event, one, other, NO_BARRIERS) && !leads_to(event, other, one, NO_BARRIERS);
}

bool simt_may_repeat(const simt_event *event, uint32_t pc) { return leads_to(event, pc, pc, NO_BARRIERS); }
