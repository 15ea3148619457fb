/* What is said of a race. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "races_groups.h"

static bool begins(const char *text, const char *prefix) { return !strncmp(text, prefix, strlen(prefix)); }

const char *simt_races_verb(const simt_place *place) {
    static const struct {
        const char *opcode, *verb;
    } verbs[] = {{"ld", "load"},          {"tex", "load"},       {"tld4", "load"},   {"suld", "load"},    {"sust", "store"}, {"st.async", "asynchronous store"},
                 {"red.async", "asynchronous reduction"}, {"st", "store"},         {"wmma.load", "load"},
                 {"wmma.store", "store"}, {"mbarrier.init", "mbarrier.init"},
                 {"mbarrier", "mbarrier operation"}, {"cp.reduce", "bulk reduction"},
                 {"cp.async.bulk", "bulk copy"},     {"cp.async", "asynchronous copy"},   {"wgmma", "wgmma read"}};
    for (size_t v = 0; v < sizeof verbs / sizeof *verbs; v++)
        if (begins(place->opcode, verbs[v].opcode)) return verbs[v].verb;
    return "update";
}

static const char *advice_on_copy(enum engine engine) {
    switch (engine) {
    case ENGINE_GROUPS:
        return "the copy is not done before its thread commits it and waits (cp.async.wait_group, __pipeline_wait_prior()), and other threads "
               "meet that one at a barrier";
    case ENGINE_BULK_READS:
        return "the source is read at any time until its thread commits the copy and waits "
               "(cp.async.bulk.wait_group.read), and other threads meet that one at a barrier";
    case ENGINE_BULK_WRITES:
        return "the copy is not done before its thread commits it and waits (cp.async.bulk.wait_group), and other "
               "threads meet that one at a barrier";
    case ENGINE_WGMMA:
        return "wgmma reads it at any time until its warps commit it and wait (wgmma.wait_group), and other threads meet "
               "those at a barrier";
    default: return "the copy is not done before the phase of its mbarrier is over, for which nothing waits in between";
    }
}

static uint32_t line_of(const struct races *races, uint32_t pc) {
    const simt_place *place = &races->view->places[pc];
    return place->file ? place->line : place->ptx_line;
}

static bool is_load(const struct races *races, uint32_t pc) { return begins(races->view->places[pc].opcode, "ld"); }

/* Whether one of them is a load, the other a store, and the load comes first in the program's order. */
static bool is_in_place(const struct races *races, uint32_t pc, uint32_t other_pc, enum first_of_pair first) {
    const bool is_of_two = is_load(races, pc) != is_load(races, other_pc);
    const uint32_t load = is_load(races, pc) ? pc : other_pc, store = is_load(races, pc) ? other_pc : pc;
    return is_of_two && begins(races->view->places[store].opcode, "st") && first == (load < store ? FIRST_LOWER : FIRST_HIGHER);
}

/* Whether a plain store frees what the other takes by an atomic, or the other way round. */
static bool is_unlock(const struct races_block *block, const struct encounter *encounter, const struct stamped *other) {
    const struct races *races = block->races;
    const uint32_t pc = encounter->event->pc;
    const bool is_store = begins(races->view->places[pc].opcode, "st.");
    const uint32_t store = is_store ? pc : other->pc, atomic = is_store ? other->pc : pc;
    if (atomic >= store || !begins(races->view->places[store].opcode, "st.") || encounter->is_by_engine || other->is_by_engine) return false;
    const char *opcode = races->view->places[atomic].opcode;
    return begins(opcode, "atom.") && (strstr(opcode, ".cas") || strstr(opcode, ".exch"));
}

/* The instruction that takes a lock by which the thread, as far as is known, guards what it does; 0: none, else + 1. */
static uint32_t lock_of(const struct races_block *block, const struct encounter *encounter) {
    const uint32_t number = encounter->event->warp * block->races->view->warp_size + encounter->lane;
    const uint32_t pc = block->is_parted ? block->threads[number].reading_pc : 0;
    const char *opcode = block->races->view->places[pc].opcode;
    return strstr(opcode, ".cas") || strstr(opcode, ".exch") ? pc + 1 : 0;
}

static const char *advice_on_unlock(const struct races *races, const struct encounter *encounter, const struct stamped *other, char *text,
                                    size_t nbytes) {
    const uint32_t pc = encounter->event->pc, store = begins(races->view->places[pc].opcode, "st.") ? pc : other->pc;
    snprintf(text, nbytes, "a plain store does not free a lock that an atomic takes: at line %u a __threadfence() and "
             "atomicExch(lock, 0)", line_of(races, store));
    return text;
}

/* The branch of the loop that waits for what is stored; UINT32_MAX: none does. */
static uint32_t waiting_branch(const struct races_block *block, const struct encounter *encounter, const struct stamped *other) {
    const uint32_t pc = encounter->event->pc, load = is_load(block->races, pc) ? pc : other->pc;
    return is_load(block->races, load) ? simt_awaiting_branch(encounter->event, load) : UINT32_MAX;
}

/* The atomic before which its own thread has read the element by a plain load, to decide what to do; UINT32_MAX: neither is one. */
static uint32_t atomic_behind_load(const struct races_block *block, const struct encounter *encounter, const struct stamped *other) {
    const struct races *races = block->races;
    const uint32_t pc = encounter->event->pc, load = is_load(races, pc) ? pc : other->pc, atomic = load == pc ? other->pc : pc;
    const char *opcode = races->view->places[atomic].opcode;
    const bool is_pair = is_load(races, load) && !strstr(opcode, ".cas") && (begins(opcode, "atom.") || begins(opcode, "red."));
    if (!is_pair || atomic < load || !simt_may_follow(encounter->event, load, atomic, false)) return UINT32_MAX;
    return waiting_branch(block, encounter, other) == UINT32_MAX ? atomic : UINT32_MAX;
}

static const char *advice_on_atomic(const struct races *races, uint32_t load, uint32_t atomic, char *text, size_t nbytes) {
    snprintf(text, nbytes, "between line %u, which reads it, and the atomic of line %u others update it: use what the atomic returns in "
             "place of what was read, or an operation that compares as well, such as atomicMax() or a loop with atomicCAS(); or, if "
             "all are to read what was there before, a barrier between the two", line_of(races, load), line_of(races, atomic));
    return text;
}

/* Whether a plain load begins an update by a loop with atomicCAS(), which is no lock, though it may look like one. */
static bool is_first_read(const struct races_block *block, const struct encounter *encounter, const struct stamped *other) {
    const struct races *races = block->races;
    const uint32_t pc = encounter->event->pc, load = is_load(races, pc) ? pc : other->pc, exchange = load == pc ? other->pc : pc;
    const bool is_pair = is_load(races, load) && strstr(races->view->places[exchange].opcode, ".cas");
    const bool is_update = is_pair && simt_may_follow(encounter->event, load, exchange, false) &&
                           simt_may_follow(encounter->event, exchange, exchange, false);
    return is_update && (encounter->is_locked || waiting_branch(block, encounter, other) == UINT32_MAX);
}

/* What that read is compared before it is used, but a plain load may be torn, or repeated. */
static const char *advice_on_first_read(const struct races *races, uint32_t pc, uint32_t other_pc, char *text, size_t nbytes) {
    const uint32_t load = is_load(races, pc) ? pc : other_pc, exchange = load == pc ? other_pc : pc;
    snprintf(text, nbytes, "line %u reads by a plain load what others change by the atomicCAS() of line %u: read it by an atomic, too, "
             "such as `atomicCAS(p, 0, 0)` for `*p`", line_of(races, load), line_of(races, exchange));
    return text;
}

/* Whether blocks read by a plain load what others still update by atomics. */
static bool is_read_of_updates(const struct races *races, uint32_t pc, uint32_t other_pc) {
    const char *opcode = races->view->places[is_load(races, pc) ? other_pc : pc].opcode;
    return is_load(races, pc) != is_load(races, other_pc) && (begins(opcode, "atom.") || begins(opcode, "red.")) && !strstr(opcode, ".cas") &&
           !strstr(opcode, ".exch");
}

static const char *advice_on_total(const struct races *races, uint32_t pc, uint32_t other_pc, char *text, size_t nbytes) {
    const uint32_t load = is_load(races, pc) ? pc : other_pc, atomic = load == pc ? other_pc : pc;
    snprintf(text, nbytes, "line %u reads it while other blocks have still to update it at line %u: read it in a second launch, or in "
             "the block that is the last by what an atomic counter returns", line_of(races, load), line_of(races, atomic));
    return text;
}

static const char *why_not_so(const struct races *races, uint32_t load) {
    return strstr(races->view->places[load].opcode, "volatile") ? "and a plain store sets it"
                                                                : "where a plain load may read it but once";
}

/* Threads of a block have a barrier, which does all that a flag can do. */
static const char *advice_on_flag(const struct races *races, const struct encounter *encounter, uint32_t other_pc, uint32_t waiting,
                                  char *text, size_t nbytes) {
    const uint32_t pc = encounter->event->pc, load = is_load(races, pc) ? pc : other_pc, line = line_of(races, waiting);
    const bool is_volatile = strstr(races->view->places[load].opcode, "volatile");
    snprintf(text, nbytes, "line %u waits for it in a loop, %s: __syncthreads() in place of the loop; or make it atomic (cuda::atomic_ref)%s, "
             "with __threadfence_block() before line %u and behind line %u", line,
             encounter->is_shared && is_volatile ? "where volatile orders nothing in shared memory" : why_not_so(races, load),
             encounter->is_shared ? "" : " or volatile", line_of(races, load == pc ? other_pc : pc), line);
    return text;
}

#define ONLY_FENCES "only a fence and an atomic order accesses of two blocks"

/* Of a store that races with the atomic itself by which blocks tell each other, as where the last block sets a count to 0. */
static const char *advice_on_teller(const struct races *races, uint32_t atomic, uint32_t pc, char *text, size_t nbytes) {
    snprintf(text, nbytes, "line %u updates it while line %u accesses it by no atomic: let that be an atomic, too (atomicExch(), say), or put a "
             "__threadfence() before line %u and one behind it", line_of(races, atomic), line_of(races, pc), line_of(races, atomic));
    return text;
}

/* Two fences and an atomic that is read: by which line, where the block has read one.  Where a load
 * comes before the store in the program's order, it may be meant to read what was there before. */
static const char *advice_on_blocks(const struct races_block *block, const struct encounter *encounter, const struct stamped *other,
                                    enum first_of_pair first, simt_racing_access *racing, char *text, size_t nbytes) {
    const struct races *races = block->races;
    const uint32_t pc = encounter->event->pc;
    const bool is_read_first = begins(races->view->places[pc].opcode, "st") && is_load(races, other->pc);
    const uint32_t written = line_of(races, is_read_first ? pc : other->pc), line = line_of(races, is_read_first ? other->pc : pc);
    const bool is_old_meant = is_in_place(races, pc, other->pc, first);
    if (is_old_meant && written == line) {
        snprintf(text, nbytes, "blocks overwrite what others have still to read: line %u must store to another array", line);
        return text;
    }
    const uint32_t waiting = waiting_branch(block, encounter, other);
    if (waiting != UINT32_MAX) {
        snprintf(text, nbytes, "line %u waits for it in a loop, %s: make it atomic (cuda::atomic_ref) or volatile, with a __threadfence() "
                 "before line %u sets it and one after line %u has seen it", line_of(races, waiting),
                 why_not_so(races, is_load(races, pc) ? pc : other->pc), written, line_of(races, waiting));
        return text;
    }
    const bool is_told = block->has_read && !begins(races->view->places[block->reading_pc].opcode, "red");
    if (is_old_meant && !is_told) {
        snprintf(text, nbytes, "blocks overwrite what others have still to read at line %u: line %u must store to another array; or, if "
                 "line %u is to read what they store, a second launch", line, written, line);
        return text;
    }
    if (is_told) racing->teller = 1 + block->reading_pc;
    racing->is_of_teller = is_told && other->pc == block->reading_pc;
    if (racing->is_of_teller) return advice_on_teller(races, other->pc, pc, text, nbytes);
    int length;
    if (is_told)
        length = snprintf(text, nbytes, "no __threadfence() between line %u and the atomic that tells of it, or none between line %u, which reads "
                          "that, and line %u: " ONLY_FENCES, written, line_of(races, block->reading_pc), line);
    else
        length = snprintf(text, nbytes, ONLY_FENCES ": behind line %u a __threadfence() and an atomic that tells of it, before line %u an atomic "
                          "that reads that and a __threadfence(); or a second launch", written, line);
    const bool is_awaited = is_told && simt_may_follow(encounter->event, block->reading_pc, block->reading_pc, false);
    if (is_old_meant && !is_awaited)
        snprintf(text + length, nbytes - (size_t)length,
                 "; if line %u is to read what was there before, line %u must store to another array", line, written);
    return text;
}

/* Whether a store gives what blocks update by atomics its first value: no block knows whether it is the first. */
static bool is_beginning(const struct races *races, uint32_t pc, uint32_t other_pc) {
    const bool is_store = begins(races->view->places[pc].opcode, "st.");
    const uint32_t store = is_store ? pc : other_pc, atomic = is_store ? other_pc : pc;
    const char *opcode = races->view->places[atomic].opcode;
    return store < atomic && begins(races->view->places[store].opcode, "st.") && (begins(opcode, "atom.") || begins(opcode, "red.")) &&
           !strstr(opcode, ".cas") && !strstr(opcode, ".exch");
}

static const char *advice_on_beginning(const struct races *races, uint32_t pc, uint32_t other_pc, char *text, size_t nbytes) {
    const uint32_t store = pc < other_pc ? pc : other_pc, atomic = pc < other_pc ? other_pc : pc;
    snprintf(text, nbytes, "blocks run in any order, and another one may have updated it at line %u before line %u stores what it begins with: that "
             "belongs before the launch (cudaMemset(), or a kernel of its own)", line_of(races, atomic), line_of(races, store));
    return text;
}

/* Whether both store at one line, as all blocks do into `*out = sum`. */
static bool overwrites(const struct races *races, const struct encounter *encounter, const struct stamped *other) {
    const char *opcode = races->view->places[other->pc].opcode;
    return other->pc == encounter->event->pc && begins(opcode, "st") && !strstr(opcode, "async");
}

/* The same of two blocks, where the loop around the store may be unrolled. */
static bool is_overwritten_by_blocks(const struct races *races, const struct encounter *encounter, const struct stamped *other) {
    const simt_place *own = &races->view->places[encounter->event->pc], *place = &races->view->places[other->pc];
    const bool is_of_line = own->line == place->line && !strcmp(own->file, place->file) && begins(own->opcode, "st.") && begins(place->opcode, "st.");
    return overwrites(races, encounter, other) || (is_of_line && !strstr(own->opcode, "async") && !strstr(place->opcode, "async"));
}

/* Whether the sides hand over the one, and then tell of it by the other. */
static bool tells_of(const simt_event *event, const struct handed *told, const struct handed *telling) {
    return simt_may_follow(event, told->store, telling->store, false) && simt_may_follow(event, telling->load, told->load, false);
}

/* The number of the handover to which the store and the load belong; 0: too many are known. */
static uint32_t number_handed(struct races *races, const simt_event *event, uint32_t store, uint32_t load) {
    struct handed handed = {.store = store, .load = load, .number = races->handed_count + 1};
    for (uint32_t i = 0; i < races->handed_count; i++) {
        const struct handed *other = &races->handed[i];
        if (other->store == store && other->load == load) return other->number;
        if (tells_of(event, other, &handed) || tells_of(event, &handed, other)) handed.number = other->number;
    }
    if (races->handed_count == HANDED_MAX) return 0;
    races->handed[races->handed_count++] = handed;
    return handed.number;
}

/* Of a race between a store and a load on two sides of a branch, or of two blocks, one of which waits for the other. */
static simt_handover find_handover(const struct races_block *block, const struct encounter *encounter, const struct stamped *other) {
    struct races *races = block->races;
    const simt_event *event = encounter->event;
    const bool is_loaded = is_load(races, event->pc);
    const uint32_t load = is_loaded ? event->pc : other->pc, store = is_loaded ? other->pc : event->pc;
    simt_handover handover = {.store = store};
    if (!is_load(races, load) || !begins(races->view->places[store].opcode, "st.") || other->is_by_engine || encounter->is_by_engine)
        return handover;
    handover.is_of_sides = simt_are_exclusive(event, store, load);
    if (!handover.is_of_sides && !simt_may_follow(event, store, load, false)) return handover;
    handover.is_waited_for = (!handover.is_of_sides || other->block != block->index) && simt_awaiting_branch(event, load) != UINT32_MAX;
    pthread_mutex_lock(&races->lock);
    handover.number = number_handed(races, event, store, load);
    pthread_mutex_unlock(&races->lock);
    return handover;
}

static bool is_same_warp(const struct races_block *block, const struct encounter *encounter,
                         const struct stamped *other) {
    return other->block == block->index && encounter->event->warp == other->thread / block->races->view->warp_size;
}

/* Whether the two are on different sides of a branch, between which no barrier can stand. */
static bool are_sides(const struct races_block *block, const struct encounter *encounter, const struct stamped *other,
                      enum first_of_pair first) {
    return first == FIRST_NEITHER && other->block == block->index && encounter->event->pc != other->pc;
}

/* In which of its coordinates alone the thread differs from the other; 3: in several. */
static uint32_t only_difference(const struct races_block *block, const struct encounter *encounter, const struct stamped *other) {
    const simt_launch_view *view = block->races->view;
    uint32_t one = encounter->event->warp * view->warp_size + encounter->lane, two = other->thread, differing = 0, which = 0;
    for (uint32_t c = 0; c < 3; c++) {
        const bool differs = one % view->block[c] != two % view->block[c];
        differing += differs;
        if (differs) which = c;
        one /= view->block[c];
        two /= view->block[c];
    }
    return differing == 1 ? which : 3;
}

static const char *advice_on_overwriting(const struct races_block *block, const struct encounter *encounter, const struct stamped *other,
                                         char *text, size_t nbytes) {
    const uint32_t which = only_difference(block, encounter, other);
    snprintf(text, nbytes, "threads overwrite each other's result: an element for each, or one thread that stores it, or an atomic such as "
             "atomicAdd()");
    if (which == 1 || which == 2)
        snprintf(text, nbytes, "threads that differ in threadIdx.%c overwrite each other's result: an index that depends on it, or one "
                 "thread that stores it, or an atomic such as atomicAdd()", "xyz"[which]);
    return text;
}

#define BETWEEN_SIDES(barrier)                                                                                     \
    "the two are on different sides of a branch: split it in two with " barrier " between them, or hand over by an " \
    "atomic flag, with __threadfence_block() before it is set and after it is seen"

/* Whose copy the encounter is, by its instruction; ENGINES: it is none. */
static enum engine engine_of(const struct races *races, const struct encounter *encounter) {
    const char *opcode = races->view->places[encounter->event->pc].opcode;
    if (!encounter->is_by_engine || !begins(opcode, "cp.")) return ENGINES;
    if (begins(opcode, "cp.async.c")) return ENGINE_GROUPS;
    if (strstr(opcode, "mbarrier")) return ENGINE_MBARRIERS;
    return encounter->is_read ? ENGINE_BULK_READS : ENGINE_BULK_WRITES;
}

/* Whether a copy, the first of its instruction there, should have been waited for: what it races with comes behind it in the
 * program's order alone, though it was before it in this launch. */
static bool is_read_too_early(const struct races *races, const struct encounter *encounter, const struct stamped *other) {
    const simt_event *event = encounter->event;
    return engine_of(races, encounter) != ENGINES && !other->is_by_engine && !encounter->is_again && simt_may_follow(event, event->pc, other->pc, false) &&
           !simt_may_follow(event, other->pc, event->pc, false);
}

/* Which copies are to be waited for before what they race with, or what is to be over before them. */
static uint32_t copies_of(const struct races *races, const struct encounter *encounter, const struct stamped *other) {
    const enum engine engine = other->is_by_engine ? other->engine : engine_of(races, encounter);
    if (engine == ENGINES) return 0;
    return 1 + (engine < ENGINE_MBARRIERS ? engine : ENGINE_MBARRIERS);
}

/* Whether the other comes later in the program's order, or at least in its text. */
static bool is_later(const simt_event *event, uint32_t other_pc, enum first_of_pair first) {
    return first != FIRST_UNKNOWN && (event->pc < other_pc) == (first != FIRST_HIGHER) && event->pc != other_pc;
}

/* The first store of an exchange that threads of the block race in, though a barrier parts its rounds; UINT32_MAX: none. */
static uint32_t exchange_of(const struct races_block *block, const struct encounter *encounter, const struct stamped *other, uint32_t *second) {
    const simt_event *event = encounter->event;
    const bool is_plain = !encounter->update && !encounter->is_locked && !encounter->is_by_engine && !other->is_by_engine;
    if (!is_plain || other->block != block->index) return UINT32_MAX;
    const uint32_t first = simt_exchange_of(event, event->pc, other->pc, second);
    return first != UINT32_MAX && simt_open_loop_of(event, first, false) ? UINT32_MAX : first;
}

static const char *advice_on_exchange(const struct races *races, uint32_t first, uint32_t second, char *text, size_t nbytes) {
    char lines[48];
    const uint32_t line = line_of(races, first), other = line_of(races, second);
    snprintf(lines, sizeof lines, line == other ? "line %u" : "lines %u and %u", line, other);
    snprintf(text, nbytes, "more than one thread exchanges these elements at %s: let one of each pair do it, if (partner > i), and no two "
             "pairs between two barriers share an element", lines);
    return text;
}

/* The first store of that line, where a loop is unrolled. */
static uint32_t number_exchange(const struct races *races, uint32_t first) {
    uint32_t pc = 0;
    while (pc < first && (line_of(races, pc) != line_of(races, first) || !begins(races->view->places[pc].opcode, "st."))) pc++;
    return pc + 1;
}

/* Of a copy that an mbarrier counts, for which a thread may have waited as if once were enough. */
static const char *advice_on_engine(const struct races_block *block, enum engine engine, char *text, size_t nbytes) {
    const uint32_t wait = engine < ENGINE_MBARRIERS ? 0 : block->shared->unheeded_wait;
    if (!wait) return advice_on_copy(engine);
    snprintf(text, nbytes, "the copy is not done before the phase of its mbarrier is over, and the wait of line %u may return before, which "
             "its result tells: repeat it until that is true", line_of(block->races, wait - 1));
    return text;
}

/* Of a copy whose group a wait leaves out: by how much. */
static const char *advice_on_wait(const struct races_block *block, const struct encounter *encounter, const struct stamped *other,
                                  char *text, size_t nbytes) {
    const struct races *races = block->races;
    const uint32_t tick = (uint32_t)stamp_field(encounter->stamp, races->tick_shift, races->block_shift);
    const bool is_of_groups = other->engine == ENGINE_GROUPS || other->engine == ENGINE_BULK_READS || other->engine == ENGINE_BULK_WRITES;
    const char *known = advice_on_engine(block, other->engine, text, nbytes);
    struct wait_told told;
    if (!is_of_groups || other->block != block->index ||
        !simt_groups_wait(block, other->thread, other->engine != ENGINE_GROUPS, tick, &told))
        return known;
    if (!told.is_committed) snprintf(text, nbytes, "%s; it is not committed before line %u waits", known, line_of(races, told.pc));
    else
        snprintf(text, nbytes, "%s; line %u waits with %u there, where this copy, which line %u commits, needs %u", known,
                 line_of(races, told.pc), told.pending, line_of(races, told.commit_pc), told.needed);
    return text;
}

/* Of two threads of a block that an mbarrier was to order; NULL: there is none. */
static const char *advice_on_phase(const struct races_block *block, const struct encounter *encounter, const struct stamped *other,
                                   enum first_of_pair first, char *text, size_t nbytes) {
    const struct races *races = block->races;
    const bool is_last = !is_later(encounter->event, other->pc, first); /* in the program's order, too */
    const uint32_t pc = encounter->event->pc;
    const uint32_t thread = encounter->event->warp * races->view->warp_size + encounter->lane;
    const struct phase_access earlier = {other->pc, (uint32_t)stamp_field(encounter->stamp, races->tick_shift, races->block_shift),
                                         other->thread};
    struct phase_told told;
    const enum phase_fault fault = simt_phases_fault(block, &earlier, thread, &told);
    if (fault == PHASE_IN_ORDER || (fault != PHASE_WITHOUT_IT && !is_last)) return NULL;
    const char *barrier = is_same_warp(block, encounter, other) ? "__syncwarp()" : "__syncthreads()";
    int length;
    if (fault == PHASE_NOT_WAITED_FOR)
        length = snprintf(text, nbytes, "behind it line %u arrives at an mbarrier, which line %u initialises, and this thread has not waited "
                          "for that phase: let it wait before line %u", line_of(races, told.arrive_pc), line_of(races, told.begin_pc),
                          line_of(races, pc));
    else if (fault == PHASE_ARRIVED_BEFORE)
        length = snprintf(text, nbytes, "line %u is between line %u, which arrives at an mbarrier, and line %u, which waits, and a wait orders only "
                          "what comes before the arrivals: line %u before line %u", line_of(races, other->pc), line_of(races, told.arrive_pc),
                          line_of(races, told.wait_pc), line_of(races, other->pc), line_of(races, told.arrive_pc));
    else
        length = snprintf(text, nbytes, "line %u waits for a phase of an mbarrier that is over without an arrival of the other thread, after %u: "
                          "initialise it with the number of threads that arrive, at line %u", line_of(races, told.wait_pc), told.arrivals,
                          line_of(races, told.begin_pc));
    snprintf(text + length, nbytes - (size_t)length, "; or a %s between line %u and line %u", barrier,
             line_of(races, is_last ? other->pc : pc), line_of(races, is_last ? pc : other->pc));
    return text;
}

static const char *advice(const struct races_block *block, const struct encounter *encounter, const struct stamped *other,
                          enum first_of_pair first, simt_racing_access *racing, char *text, size_t nbytes) {
    const bool is_wgmma = begins(block->races->view->places[encounter->event->pc].opcode, "wgmma");
    if (encounter->is_unfenced && is_wgmma)
        return "wgmma may miss it without fence.proxy.async, after the one and before the other";
    if (encounter->is_unfenced)
        return "an asynchronous copy may miss it without fence.proxy.async, after the one and before the other";
    if (encounter->is_scoped)
        return "both are atomic, but the scope .cta of one is its own block (atomicAdd_block and the like): others need "
               "that of the device";
    if (other->is_by_engine) return advice_on_wait(block, encounter, other, text, nbytes);
    if (encounter->is_by_engine && is_wgmma) return "no barrier, and no mbarrier on which that thread arrives and the warp waits, comes before wgmma";
    if (is_read_too_early(block->races, encounter, other)) return advice_on_engine(block, engine_of(block->races, encounter), text, nbytes);
    if (encounter->is_by_engine)
        return "no barrier, and no mbarrier on which that thread arrives and this one waits, comes before the copy";
    if (other->block != block->index && encounter->is_shared) return "no barrier of the cluster orders them";
    if (is_unlock(block, encounter, other)) return advice_on_unlock(block->races, encounter, other, text, nbytes);
    const uint32_t atomic = atomic_behind_load(block, encounter, other), pc = encounter->event->pc;
    if (atomic != UINT32_MAX) return advice_on_atomic(block->races, atomic == pc ? other->pc : pc, atomic, text, nbytes);
    if (is_first_read(block, encounter, other)) return advice_on_first_read(block->races, pc, other->pc, text, nbytes);
    if (other->block != block->index && is_overwritten_by_blocks(block->races, encounter, other))
        return "blocks overwrite each other's result: an element for each block, or an atomic such as atomicAdd()";
    if (other->block != block->index && is_read_of_updates(block->races, pc, other->pc) &&
        waiting_branch(block, encounter, other) == UINT32_MAX)
        return advice_on_total(block->races, pc, other->pc, text, nbytes);
    if (other->block != block->index && is_beginning(block->races, pc, other->pc))
        return advice_on_beginning(block->races, pc, other->pc, text, nbytes);
    if (other->block != block->index) return advice_on_blocks(block, encounter, other, first, racing, text, nbytes);
    const bool is_plain = !encounter->update && !encounter->is_locked && !begins(block->races->view->places[pc].opcode, "mbarrier");
    uint32_t second;
    const uint32_t exchange = exchange_of(block, encounter, other, &second);
    if (exchange != UINT32_MAX) return advice_on_exchange(block->races, exchange, second, text, nbytes);
    const char *on_phase = is_plain ? advice_on_phase(block, encounter, other, first, text, nbytes) : NULL;
    racing->is_of_phase = on_phase != NULL;
    if (on_phase) return on_phase;
    /* A barrier between the rounds of a loop would let the last round's store stay, which is seldom what global memory is to have. */
    if ((first == FIRST_NEITHER || !encounter->is_shared) && !encounter->update && !encounter->is_locked && overwrites(block->races, encounter, other))
        return advice_on_overwriting(block, encounter, other, text, nbytes);
    if (are_sides(block, encounter, other, first) && !encounter->update && !encounter->is_locked)
        return is_same_warp(block, encounter, other) ? BETWEEN_SIDES("__syncwarp()") : BETWEEN_SIDES("__syncthreads()");
    const uint32_t waiting = encounter->update || encounter->is_locked ? UINT32_MAX : waiting_branch(block, encounter, other);
    return waiting == UINT32_MAX ? NULL : advice_on_flag(block->races, encounter, other->pc, waiting, text, nbytes);
}

/* ---- the order that is missing, by how much it joins: lanes of a warp, a block, a grid */

uint32_t simt_races_strength(const struct races_block *block, const struct encounter *encounter) {
    enum { BARRIER, UPDATE, LOCK, CURES };
    const struct stamped other = races_read_stamp(block->races, encounter->stamp);
    if (other.is_by_engine || encounter->is_by_engine || encounter->is_unfenced || encounter->is_scoped) return 0;
    const uint32_t reach = other.block != block->index ? 2 : !is_same_warp(block, encounter, &other);
    return reach * CURES + (encounter->is_locked || is_unlock(block, encounter, &other) ? LOCK : encounter->update ? UPDATE : BARRIER);
}

static bool is_of_memory(const char *opcode) {
    static const char *const prefixes[] = {"ld.", "st.", "atom.", "red."};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (begins(opcode, prefixes[i])) return !strstr(opcode, ".param");
    return false;
}

/* Whether something of the line of the one is executed after the other.  What follows a branch may be compiled into both of its
 * sides, where a thread that has stored need not load again; lines of one side are not.  in_memory: only accesses count, which
 * compilers do not move as they do conditions and addresses. */
static bool leads_to_line(const simt_event *event, uint32_t from, uint32_t to, bool in_memory) {
    const simt_launch_view *view = event->block->launch;
    const simt_place *place = &view->places[to];
    if (place->line == view->places[from].line) return false;
    for (uint32_t pc = 0; pc < view->place_count; pc++) {
        const simt_place *other = &view->places[pc];
        if (begins(other->opcode, "bra")) continue; /* over the other side */
        if (in_memory && !is_of_memory(other->opcode)) continue;
        if (other->line == place->line && !strcmp(other->file, place->file) && simt_may_follow(event, from, pc, true)) return true;
    }
    return false;
}

static enum first_of_pair order_sides(const simt_event *event, uint32_t low, uint32_t high) {
    bool is_low_first = leads_to_line(event, low, high, false), is_high_first = leads_to_line(event, high, low, false);
    if (is_low_first && is_high_first) {
        is_low_first = leads_to_line(event, low, high, true);
        is_high_first = leads_to_line(event, high, low, true);
    }
    if (is_low_first == is_high_first) return FIRST_NEITHER;
    return is_low_first ? FIRST_LOWER : FIRST_HIGHER;
}

/* Which of the two comes first in the program's order: the one after which the other may follow with no barrier. */
static enum first_of_pair order_pair(const simt_event *event, uint32_t low, uint32_t high, bool is_same) {
    if (low == high && !simt_may_follow(event, low, high, is_same)) return FIRST_NEITHER;
    if (low != high && simt_are_exclusive(event, low, high)) return order_sides(event, low, high);
    return low == high || simt_may_follow(event, low, high, is_same) || !simt_may_follow(event, high, low, is_same)
               ? FIRST_LOWER
               : FIRST_HIGHER;
}

static void name_where(const struct races *races, uint32_t first, uint32_t second, char *text, size_t nbytes) {
    const simt_place *one = &races->view->places[first], *other = &races->view->places[second];
    const bool is_one_line = one->line == other->line && !strcmp(one->file, other->file);
    if (is_one_line && !strcmp(simt_races_verb(one), simt_races_verb(other)))
        snprintf(text, nbytes, " between the %ss of line %u", simt_races_verb(one), one->line);
    else if (is_one_line)
        snprintf(text, nbytes, " between the %s and the %s of line %u", simt_races_verb(one), simt_races_verb(other), one->line);
    else snprintf(text, nbytes, " between line %u and line %u", one->line, other->line);
}

static void name_update(const struct races *races, const struct known_update *known, simt_racing_access *other, char *text,
                        size_t nbytes) {
    const uint32_t read = line_of(races, known->update.load), written = line_of(races, known->store - 1);
    other->missing = known->update.missing;
    other->update = known->store;
    if (read == written) snprintf(text, nbytes, " at line %u, where threads read, change and write one element", read);
    else snprintf(text, nbytes, " for line %u and line %u, where threads read and write one element", read, written);
}

static void name_missing(const struct races_block *block, const struct encounter *encounter,
                         const struct stamped *stamped, simt_racing_access *other, char *text, size_t nbytes) {
    const uint32_t pc = encounter->event->pc, line = block->races->view->places[pc].line;
    other->where = text;
    if (encounter->is_locked) {
        other->missing = "__threadfence()";
        snprintf(text, nbytes, " between the atomic that takes the lock and line %u, and before it is freed", line);
    } else if (encounter->update) {
        name_update(block->races, encounter->update, other, text, nbytes);
    } else {
        other->missing = is_same_warp(block, encounter, stamped) ? "__syncwarp()" : "__syncthreads()";
        name_where(block->races, other->is_later ? pc : stamped->pc, other->is_later ? stamped->pc : pc, text, nbytes);
    }
}

/* NULL: no memory. */
static struct racing_pair *add_pair(struct races *races, uint64_t pcs) {
    if (races->pair_count == races->pair_capacity) {
        size_t capacity = 2 * races->pair_capacity + 16;
        struct racing_pair *pairs = realloc(races->pairs, capacity * sizeof *pairs);
        if (!pairs) {
            races_lose(races);
            return NULL;
        }
        races->pairs = pairs;
        races->pair_capacity = capacity;
    }
    races->pairs[races->pair_count] = (struct racing_pair){.pcs = pcs};
    return &races->pairs[races->pair_count++];
}

/* Counts each pair of instructions once.  Returns which of them comes first in the program's order. */
static enum first_of_pair note_pair(struct races *races, const simt_event *event, uint32_t other_pc, bool is_same_warp) {
    const bool is_lower = event->pc < other_pc;
    const uint32_t low = is_lower ? event->pc : other_pc, high = is_lower ? other_pc : event->pc;
    const uint64_t pcs = (uint64_t)low << 32 | high;
    struct racing_pair *pair = NULL;
    for (size_t i = 0; i < races->pair_count && !pair; i++)
        if (races->pairs[i].pcs == pcs) pair = &races->pairs[i];
    if (!pair) pair = add_pair(races, pcs);
    if (!pair) return FIRST_UNKNOWN;
    uint8_t *first = &pair->first[is_same_warp];
    if (*first == FIRST_UNKNOWN) *first = (uint8_t)order_pair(event, low, high, is_same_warp);
    return (enum first_of_pair)*first;
}

/* "byte 16", "byte 16 of block 1 of the cluster", "0x7000..." */
static void name_place(const struct races *races, const struct encounter *encounter, char *text, size_t nbytes) {
    const unsigned long long address = encounter->address, rank = address >> SIMT_RANK_SHIFT;
    const unsigned long long offset = address & ((1u << SIMT_RANK_SHIFT) - 1);
    if (!encounter->is_shared) snprintf(text, nbytes, "0x%llx", address);
    else if (races->view->blocks_per_cluster > 1)
        snprintf(text, nbytes, "byte %llu of the cluster's block %llu", offset, rank - 1);
    else snprintf(text, nbytes, "byte %llu", address);
}

/* The loop without a barrier in which both lie, or the second alone; nothing else is missing there. */
static simt_open_loop find_loop(const simt_event *event, uint32_t first, uint32_t second, bool within_warp) {
    const uint32_t number = simt_open_loop_of(event, second, within_warp);
    return (simt_open_loop){number, number && simt_open_loop_of(event, first, within_warp) != number};
}

/* The same of two lines, which is looked for once: it takes a while in a long kernel. */
static simt_open_loop loop_of_lines(struct races *races, const simt_event *event, uint32_t first, uint32_t second, bool within_warp) {
    const uint32_t lines[] = {line_of(races, first), line_of(races, second)};
    uint32_t i = 0;
    pthread_mutex_lock(&races->lock);
    while (i < races->looped_count && (races->looped[i].lines[0] != lines[0] || races->looped[i].lines[1] != lines[1] ||
                                       races->looped[i].within_warp != within_warp))
        i++;
    const bool is_full = i == LOOPED_MAX;
    if (i == races->looped_count && !is_full)
        races->looped[races->looped_count++] =
            (struct looped){{lines[0], lines[1]}, within_warp, find_loop(event, first, second, within_warp)};
    const simt_open_loop loop = is_full ? (simt_open_loop){0} : races->looped[i].loop;
    pthread_mutex_unlock(&races->lock);
    return loop;
}

void simt_races_report(struct races_block *block, const struct encounter *encounter) {
    struct races *races = block->races;
    const simt_launch_view *view = races->view;
    const struct stamped stamped = races_read_stamp(races, encounter->stamp);
    simt_racing_access other = {.pc = stamped.pc,
                                .thread = stamped.thread,
                                .block = stamped.block,
                                .lanes = encounter->lanes,
                                .strength = simt_races_strength(block, encounter)};
    if (simt_record_race_again(encounter->event, encounter->lane, &other)) return;
    pthread_mutex_lock(&races->lock);
    const enum first_of_pair first = note_pair(races, encounter->event, stamped.pc, is_same_warp(block, encounter, &stamped));
    pthread_mutex_unlock(&races->lock);
    other.is_later = is_later(encounter->event, stamped.pc, first);

    const uint32_t *grid = view->grid, *size = view->block, thread = stamped.thread;
    const uint64_t other_block = stamped.block;
    const simt_place *place = &view->places[stamped.pc], *own = &view->places[encounter->event->pc];
    char where[64], line[24], missing[96], blocks[384];
    const char *said = advice(block, encounter, &stamped, first, &other, blocks, sizeof blocks);
    const bool is_known = encounter->update || (encounter->is_locked && !is_first_read(block, encounter, &stamped)); /* what is missing, of two blocks as of one */
    const uint32_t atomic = said ? atomic_behind_load(block, encounter, &stamped) : UINT32_MAX;
    uint32_t second;
    const uint32_t exchange = said ? exchange_of(block, encounter, &stamped, &second) : UINT32_MAX;
    if (is_unlock(block, encounter, &stamped)) other.update = 1 + (begins(own->opcode, "st.") ? stamped.pc : encounter->event->pc);
    else if (atomic != UINT32_MAX) other.update = 1 + atomic;
    else if (exchange != UINT32_MAX) other.update = number_exchange(races, exchange);
    else if (encounter->update) other.follows = lock_of(block, encounter);
    else if (overwrites(races, encounter, &stamped)) other.follows = simt_update_before(encounter->event, stamped.pc) + 1;
    name_place(races, encounter, where, sizeof where);
    snprintf(line, sizeof line, place->file ? ":%u" : "line %u", place->file ? place->line : place->ptx_line);
    if (said && !are_sides(block, encounter, &stamped, first)) other.is_later = is_read_too_early(races, encounter, &stamped); /* as it was in this launch: what is missing depends on it */
    if (!said || (stamped.block != block->index && !encounter->is_shared && is_known && !encounter->is_scoped))
        name_missing(block, encounter, &stamped, &other, missing, sizeof missing);
    const uint32_t pc = encounter->event->pc;
    if (!said && !is_known)
        other.loop = loop_of_lines(races, encounter->event, other.is_later ? pc : stamped.pc, other.is_later ? stamped.pc : pc,
                               is_same_warp(block, encounter, &stamped));
    if (said && !encounter->is_unfenced) other.copies = copies_of(races, encounter, &stamped);
    other.is_before_copy = other.copies && !encounter->is_read && !stamped.is_by_engine && !is_read_too_early(races, encounter, &stamped);
    if (!is_known && !encounter->is_scoped && !encounter->is_unfenced) other.handover = find_handover(block, encounter, &stamped);
    if (said && other.handover.number) other.is_later = !is_load(races, encounter->event->pc);
    simt_record_race(
        encounter->event, encounter->lane, encounter->address, &other,
        "%s %s %s memory at %s races with the %s by thread (%u,%u,%u) of block (%u,%u,%u) at %s%s%s%s", simt_races_verb(own),
        !encounter->is_by_engine ? "of" : encounter->is_read ? "from" : "to",
        encounter->is_shared ? "shared" : "global", where, simt_races_verb(place), thread % size[0], thread / size[0] % size[1],
        thread / size[0] / size[1], (uint32_t)(other_block % grid[0]), (uint32_t)(other_block / grid[0] % grid[1]),
        (uint32_t)(other_block / grid[0] / grid[1]), place->file ? place->file : "", line,
        other.missing ? "" : ": ", other.missing ? "" : said);
}
