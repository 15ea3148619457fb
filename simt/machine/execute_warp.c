/* What the lanes of a warp do together: shuffles, votes, matches, reductions, warp barriers.  Lanes that a branch or
 * a schedule has parted meet here: those that come first wait for the lanes that their mask names. */
#include <string.h>

#include "undefined.h"

/* code->call.slots: */
enum { RESULT, PREDICATE, VALUE, LANE, CLAMP, MEMBERS = COLLECTIVE_MEMBERS };

static uint64_t read_lane(const struct collective *collective, uint32_t operand, uint32_t lane) {
    const struct code *code = collective->code;
    return lane_get(slot_lanes(simt_path_of(collective, lane), code->call.slots[operand]), code->widths[operand], lane);
}

/* The operand's 32-bit lanes: where they are, or gathered into `row`. */
static const uint32_t *read_row(const struct collective *collective, uint32_t operand, uint32_t row[SIMT_LANES]) {
    const struct code *code = collective->code;
    if (collective->is_together && code->widths[operand] == WIDTH_32)
        return slot_lanes(collective->path, code->call.slots[operand]);
    for (uint32_t lane = 0; lane < SIMT_LANES; lane++) row[lane] = (uint32_t)read_lane(collective, operand, lane);
    return row;
}

static uint32_t members_of(const struct warp *warp, const struct path *path, const struct code *code, uint32_t mask) {
    const uint32_t *members = (const uint32_t *)slot_lanes(path, code->call.slots[MEMBERS]);
    uint32_t all = 0;
    SIMT_FOR_EACH_LANE (lane, mask) all |= members[lane];
    return all & warp->live;
}

static __attribute__((noinline)) void record_outsiders(struct warp *warp, const struct path *path,
                                                       uint32_t mask, uint32_t outsiders,
                                                       enum simt_finding_kind kind) {
    const struct code *code = &warp->block->launch->image->codes[path->pc];
    const uint32_t *members = (const uint32_t *)slot_lanes(path, code->call.slots[MEMBERS]);
    uint32_t lane = (uint32_t)__builtin_ctz(outsiders);
    const struct lane_text lanes = lane_text(outsiders);
    simt_event event = simt_event_of(warp, path, mask);
    simt_record_finding(
        &event, kind, lane, 0,
        "%s of warp %u execute%s %s with a mask that omits %s: the mask of lane %u, 0x%08x, names %s, and must name all that come here "
        "(0xffffffff: the whole warp)",
        lanes.text, warp->index, lanes.s, code->instruction->opcode, *lanes.s ? "it" : "them", lane, (unsigned)members[lane],
        lane_text(members[lane]).text);
    if (kind == SIMT_FINDING_BARRIER) simt_stop(&event);
}

/* Every lane that executes the instruction must be in its own mask (PTX ISA, shfl.sync and others: else undefined). */
static inline void check_outsiders(struct warp *warp, const struct path *path, const struct code *code, uint32_t mask,
                                   enum simt_finding_kind kind) {
    const uint32_t *members = (const uint32_t *)slot_lanes(path, code->call.slots[MEMBERS]);
    uint32_t insiders = 0;
    for (uint32_t lane = 0; lane < SIMT_LANES; lane++) insiders |= members[lane] & UINT32_C(1) << lane;
    if (mask & ~insiders) record_outsiders(warp, path, mask, mask & ~insiders, kind);
}

/* ---- what is done */

/* PTX ISA, shfl.sync: where lane `lane` gets its value from, or -1: there is no such lane in its segment. */
static inline int32_t shuffle_source(char mode, int32_t lane, int32_t b, int32_t c, int32_t warp_size) {
    int32_t clamp = c & 31, segment = c >> 8 & 31, lowest = lane & segment, highest = lowest | (clamp & ~segment);
    int32_t source = mode == 'u'   ? lane - (b & 31)
                     : mode == 'd' ? lane + (b & 31)
                     : mode == 'b' ? lane ^ (b & 31)
                                   : lowest | (b & 31 & ~segment);
    bool is_within = mode == 'u' ? source >= highest : source <= highest;
    return is_within && source < warp_size ? source : -1;
}

/* A loop for each mode, which the compiler makes vectors of. */
static inline void shuffle_sources(char mode, const uint32_t *b, const uint32_t *c, int32_t warp_size,
                                   int32_t sources[SIMT_LANES]) {
    for (int32_t lane = 0; lane < SIMT_LANES; lane++)
        sources[lane] = shuffle_source(mode, lane, (int32_t)b[lane], (int32_t)c[lane], warp_size);
}

static void find_sources(const struct collective *collective, int32_t sources[SIMT_LANES]) {
    uint32_t lanes[SIMT_LANES], clamps[SIMT_LANES];
    const uint32_t *b = read_row(collective, LANE, lanes), *c = read_row(collective, CLAMP, clamps);
    int32_t warp_size = (int32_t)collective->warp->block->launch->view.warp_size;
    switch (collective->code->collective.mode) {
    case 'u': shuffle_sources('u', b, c, warp_size, sources); break;
    case 'd': shuffle_sources('d', b, c, warp_size, sources); break;
    case 'b': shuffle_sources('b', b, c, warp_size, sources); break;
    default: shuffle_sources('i', b, c, warp_size, sources);
    }
}

static void shuffle(struct collective *collective) {
    int32_t found[SIMT_LANES];
    uint32_t row[SIMT_LANES];
    uint8_t sources[SIMT_LANES] = {0};
    const uint32_t *values = read_row(collective, VALUE, row);
    find_sources(collective, found);
    SIMT_FOR_EACH_LANE (lane, collective->lanes) {
        bool is_within = found[lane] >= 0;
        sources[lane] = (uint8_t)(is_within ? (uint32_t)found[lane] : lane);
        collective->predicate |= (uint32_t)is_within << lane;
        collective->results[lane] = values[sources[lane]];
    }
    simt_event event = simt_event_of(collective->warp, collective->path, collective->lanes);
    SIMT_NOTIFY(collective->warp->block->launch, collective->warp->block, shuffle, &event, sources);
    if (collective->warp->undefined) simt_undefined_shuffle(collective, collective->code->call.slots[VALUE], sources);
}

/* The lanes that lane l's mask joins it with: itself in any case, even if the mask leaves it out. */
static uint32_t group_of(const struct collective *collective, uint32_t lane) {
    return collective->lanes & ((uint32_t)read_lane(collective, MEMBERS, lane) | UINT32_C(1) << lane);
}

static void vote(struct collective *collective) {
    uint32_t yes = 0;
    SIMT_FOR_EACH_LANE (lane, collective->lanes)
        yes |= (uint32_t)(read_lane(collective, VALUE, lane) & 1) << lane;
    if (collective->code->collective.is_negated) yes = ~yes;
    SIMT_FOR_EACH_LANE (lane, collective->lanes) {
        uint32_t group = group_of(collective, lane), votes = yes & group;
        uint64_t *result = &collective->results[lane];
        switch (collective->code->collective.mode) {
        case 'a': *result = votes == group; break;
        case 'y': *result = votes != 0; break;
        case 'u': *result = votes == 0 || votes == group; break;
        default: *result = votes;
        }
    }
}

static void match(struct collective *collective) {
    SIMT_FOR_EACH_LANE (lane, collective->lanes) {
        uint32_t group = group_of(collective, lane), alike = 0;
        SIMT_FOR_EACH_LANE (other, group)
            if (read_lane(collective, VALUE, other) == read_lane(collective, VALUE, lane))
                alike |= UINT32_C(1) << other;
        bool is_all = alike == group;
        if (collective->code->collective.mode == 'a') collective->results[lane] = is_all ? group : 0;
        else collective->results[lane] = alike;
        collective->predicate |= (uint32_t)is_all << lane;
    }
}

static void reduce(struct collective *collective) {
    SIMT_FOR_EACH_LANE (lane, collective->lanes) {
        uint32_t group = group_of(collective, lane);
        uint64_t value = read_lane(collective, VALUE, (uint32_t)__builtin_ctz(group));
        SIMT_FOR_EACH_LANE (other, group & (group - 1))
            value = collective->code->collective.scalar(value, read_lane(collective, VALUE, other), 0);
        collective->results[lane] = value;
    }
}

static void elect(struct collective *collective) {
    SIMT_FOR_EACH_LANE (lane, collective->lanes) {
        uint32_t leader = (uint32_t)__builtin_ctz(group_of(collective, lane));
        collective->results[lane] = leader;
        collective->predicate |= (uint32_t)(leader == lane) << lane;
    }
}

/* ---- who meets */

static void write_results(const struct collective *collective) {
    const struct code *code = collective->code;
    SIMT_FOR_EACH_LANE (lane, collective->lanes) {
        const struct path *path = simt_path_of(collective, lane);
        if (code->collective.has_result)
            lane_set(slot_lanes(path, code->call.slots[RESULT]), code->widths[RESULT], lane,
                     collective->results[lane]);
        if (code->collective.has_predicate)
            lane_set(slot_lanes(path, code->call.slots[PREDICATE]), WIDTH_PREDICATE, lane,
                     collective->predicate >> lane & 1);
    }
}

/* Writes results of 32 bits of lanes that are all in one path. */
static void write_row(const struct collective *collective) {
    const struct code *code = collective->code;
    uint32_t *to = slot_lanes(collective->path, code->call.slots[RESULT]);
    uint32_t *predicate = slot_lanes(collective->path, code->call.slots[PREDICATE]), lanes = collective->lanes;
    if (code->collective.has_result)
        SIMT_FOR_EACH_LANE (lane, lanes) to[lane] = (uint32_t)collective->results[lane];
    if (code->collective.has_predicate)
        *predicate = (*predicate & ~lanes) | (collective->predicate & lanes);
}

static void collective_add(struct collective *collective, struct path *path, uint32_t lanes) {
    SIMT_FOR_EACH_LANE (lane, lanes) collective->path_of[lane] = path;
    collective->lanes |= lanes;
}

static bool waits_in(const struct path *path, enum path_state state, uint32_t pc) {
    return path->state == state && (pc == NO_PC || path->pc == pc);
}

/* The mask of each lane that waits in that state, at `pc` (NO_PC: anywhere), less the lanes that have exited.  Returns
 * the lanes. */
static uint32_t collect_masks(const struct warp *warp, enum path_state state, uint32_t pc, uint32_t masks[SIMT_LANES]) {
    uint32_t waiting = 0;
    for (const struct path *path = warp->leaves; path; path = path->next) {
        if (!waits_in(path, state, pc)) continue;
        const struct code *code = &warp->block->launch->image->codes[path->pc];
        const uint32_t *members = (const uint32_t *)slot_lanes(path, code->call.slots[MEMBERS]);
        SIMT_FOR_EACH_LANE (lane, path->waiting_lanes) masks[lane] = members[lane] & warp->live;
        waiting |= path->waiting_lanes;
    }
    return waiting;
}

/* The waiting lanes that may continue: every lane that their mask names waits there too, with the same mask.  Lanes of
 * different masks meet separately. */
static uint32_t lanes_complete(const struct warp *warp, enum path_state state, uint32_t pc) {
    uint32_t masks[SIMT_LANES], complete = 0, waiting = collect_masks(warp, state, pc, masks);
    for (uint32_t rest = waiting; rest;) {
        uint32_t mask = masks[__builtin_ctz(rest)], alike = 0;
        SIMT_FOR_EACH_LANE (lane, rest)
            if (masks[lane] == mask) alike |= UINT32_C(1) << lane;
        if (!(mask & ~alike)) complete |= alike;
        rest &= ~alike;
    }
    return complete;
}

/* Paths whose lanes have different masks part: each then waits whole, or continues whole.  false: no memory. */
static bool part_waiting(struct warp *warp, enum path_state state, uint32_t pc, uint32_t complete) {
    for (struct path *path = warp->leaves; path; path = path->next) {
        const uint32_t left = path->waiting_lanes & ~complete;
        if (!waits_in(path, state, pc) || !left || left == path->waiting_lanes) continue;
        struct path *sibling = simt_path_split(warp, path, left);
        if (!sibling) return false;
        sibling->state = state;
        sibling->waiting_lanes = left;
        path->waiting_lanes &= complete;
    }
    return true;
}

/* Executes the instruction that the path waits at, for all lanes whom nobody misses. */
static bool collective_try(struct warp *warp, struct path *path) {
    const struct code *code = &warp->block->launch->image->codes[path->pc];
    struct collective collective = {.warp = warp, .code = code, .path = path};
    uint32_t pc = path->pc, complete = lanes_complete(warp, PATH_AT_COLLECTIVE, pc);
    if (!(path->waiting_lanes & complete) || !part_waiting(warp, PATH_AT_COLLECTIVE, pc, complete)) return false;
    for (struct path *other = warp->leaves; other; other = other->next)
        if (waits_in(other, PATH_AT_COLLECTIVE, pc) && !(other->waiting_lanes & ~complete))
            collective_add(&collective, other, other->waiting_lanes);
    code->collective.function(&collective);
    write_results(&collective);
    for (struct path *other = warp->leaves; other; other = other->next)
        if (waits_in(other, PATH_AT_COLLECTIVE, pc) && !(other->waiting_lanes & ~complete)) {
            other->state = PATH_READY;
            other->pc++;
        }
    simt_path_merge(warp, path);
    return true;
}

enum outcome simt_execute_collective(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    check_outsiders(warp, path, code, mask, SIMT_FINDING_SHUFFLE);
    if (!(members_of(warp, path, code, mask) & ~mask)) {
        struct collective collective; /* not cleared whole: that would take longer than the rest */
        collective.warp = warp;
        collective.code = code;
        collective.path = path;
        collective.lanes = mask;
        collective.predicate = 0;
        collective.is_together = true;
        code->collective.function(&collective);
        if (code->widths[RESULT] == WIDTH_32) write_row(&collective);
        else write_results(&collective);
        return code->collective.may_stop && simt_is_stopped(warp->block->launch) ? OUTCOME_LEFT : OUTCOME_NEXT;
    }
    path->state = PATH_AT_COLLECTIVE;
    path->waiting_lanes = mask;
    simt_path_merge(warp, path);
    return collective_try(warp, path) ? OUTCOME_MOVED : OUTCOME_LEFT;
}

/* ---- warp barriers: any of them with the same mask will do */

/* Notifies observers of every group of lanes that a barrier joins, once. */
static void notify_warp_barrier(struct warp *warp, const struct path *path, uint32_t mask, uint32_t arrived) {
    const struct code *code = &warp->block->launch->image->codes[path->pc];
    const uint32_t *members = (const uint32_t *)slot_lanes(path, code->call.slots[MEMBERS]);
    simt_event event = simt_event_of(warp, path, mask);
    for (uint32_t rest = mask; rest;) {
        uint32_t joined = members[__builtin_ctz(rest)] & arrived & warp->live;
        joined |= rest & -rest;
        /* Paths that meet here are released one by one: the one with the lowest lane reports the group. */
        if (joined & mask & (joined & -joined))
            SIMT_NOTIFY(warp->block->launch, warp->block, warp_barrier, &event, joined);
        rest &= ~joined;
    }
}

/* Releases the paths at warp barriers whose masks are complete. */
static bool warp_barriers_try(struct warp *warp) {
    uint32_t complete = lanes_complete(warp, PATH_AT_WARP_BARRIER, NO_PC);
    bool is_any = false;
    if (!part_waiting(warp, PATH_AT_WARP_BARRIER, NO_PC, complete)) return false;
    for (struct path *path = warp->leaves; path; path = path->next) {
        if (path->state != PATH_AT_WARP_BARRIER || path->waiting_lanes & ~complete) continue;
        notify_warp_barrier(warp, path, path->waiting_lanes, complete);
        path->state = PATH_READY;
        path->pc++;
        is_any = true;
    }
    return is_any;
}

static enum outcome execute_warp_barrier(struct warp *warp, struct path *path, const struct code *code,
                                         uint32_t mask) {
    check_outsiders(warp, path, code, mask, SIMT_FINDING_BARRIER);
    if (simt_is_stopped(warp->block->launch)) return OUTCOME_LEFT;
    if (!(members_of(warp, path, code, mask) & ~mask)) {
        notify_warp_barrier(warp, path, mask, mask);
        return OUTCOME_NEXT;
    }
    path->state = PATH_AT_WARP_BARRIER;
    path->waiting_lanes = mask;
    warp_barriers_try(warp);
    if (path->state != PATH_READY) return OUTCOME_LEFT;
    simt_path_merge(warp, path);
    return OUTCOME_MOVED;
}

/* Lanes have left, for whom others may be waiting. */
void simt_collectives_check(struct warp *warp) {
    warp_barriers_try(warp);
    for (struct path *path = warp->leaves; path;) {
        bool is_done = path->state == PATH_AT_COLLECTIVE && collective_try(warp, path);
        path = is_done ? warp->leaves : path->next;
    }
}

static enum outcome execute_active_mask(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    (void)warp;
    unsigned char *to = slot_lanes(path, code->call.slots[RESULT]);
    SIMT_FOR_EACH_LANE (lane, mask) lane_set(to, code->widths[RESULT], lane, mask);
    return OUTCOME_NEXT;
}

/* ---- decoding */

static bool decode_operand(struct decoder *decoder, struct code *code, uint32_t place, const struct operand *operand,
                           enum type type) {
    code->widths[place] = simt_operand_width(decoder, operand, simt_width(type));
    return simt_operand(decoder, operand, type, &code->call.slots[place]);
}

/* d, p|d: the results of the instruction. */
static bool decode_results(struct decoder *decoder, struct code *code, enum type type) {
    const struct operand *first = &decoder->instruction->operands[0];
    const struct operand *result = first, *predicate = NULL;
    if (first->kind == OPERAND_PAIR && first->element_count == 2) {
        result = &first->elements[0];
        predicate = &first->elements[1];
    }
    code->collective.has_result = result->kind != OPERAND_SINK;
    code->collective.has_predicate = predicate && predicate->kind != OPERAND_SINK;
    return (!code->collective.has_result || decode_operand(decoder, code, RESULT, result, type)) &&
           (!code->collective.has_predicate || decode_operand(decoder, code, PREDICATE, predicate, TYPE_PRED));
}

/* Source operands of `count` places in order, the members' mask last. */
static bool decode_sources(struct decoder *decoder, struct code *code, const uint32_t *places, const enum type *types,
                           uint32_t count) {
    const struct instruction *instruction = decoder->instruction;
    if (instruction->operand_count != count + 1) return false;
    for (uint32_t s = 0; s < count; s++) {
        const struct operand *operand = &instruction->operands[s + 1];
        if (operand->is_negated) code->collective.is_negated = true;
        if (!decode_operand(decoder, code, places[s], operand, types[s])) return false;
    }
    return true;
}

static bool decode_collective(struct decoder *decoder, struct code *code, collective_function *function) {
    code->collective.function = function;
    code->execute = simt_execute_collective;
    code->is_synchronising = true;
    return simt_has(decoder->instruction, "sync");
}

struct mode {
    const char *modifier; /* NULL: the end of a list */
    char letter;
};

/* Of the modifier that the instruction has; 0: none of them. */
static char find_mode(const struct instruction *instruction, const struct mode *modes) {
    while (modes->modifier && !simt_has(instruction, modes->modifier)) modes++;
    return modes->letter;
}

static bool decode_shuffle(struct decoder *decoder, struct code *code) {
    static const struct mode modes[] = {{"up", 'u'}, {"down", 'd'}, {"bfly", 'b'}, {"idx", 'i'}, {NULL, 0}};
    static const uint32_t places[] = {VALUE, LANE, CLAMP, MEMBERS};
    static const enum type types[] = {TYPE_B32, TYPE_B32, TYPE_B32, TYPE_B32};
    code->collective.mode = find_mode(decoder->instruction, modes);
    return code->collective.mode && decode_collective(decoder, code, shuffle) &&
           decode_results(decoder, code, TYPE_B32) &&
           decode_sources(decoder, code, places, types, 4);
}

static bool decode_vote(struct decoder *decoder, struct code *code) {
    static const struct mode modes[] = {{"all", 'a'}, {"any", 'y'}, {"uni", 'u'}, {"ballot", 'b'}, {NULL, 0}};
    static const uint32_t places[] = {VALUE, MEMBERS};
    static const enum type types[] = {TYPE_PRED, TYPE_B32};
    code->collective.mode = find_mode(decoder->instruction, modes);
    return code->collective.mode && decode_collective(decoder, code, vote) &&
           decode_results(decoder, code, code->collective.mode == 'b' ? TYPE_B32 : TYPE_PRED) &&
           decode_sources(decoder, code, places, types, 2);
}

static bool decode_match(struct decoder *decoder, struct code *code) {
    static const uint32_t places[] = {VALUE, MEMBERS};
    const enum type types[] = {simt_last_type(decoder->instruction), TYPE_B32};
    code->collective.mode = simt_has(decoder->instruction, "all") ? 'a' : 'y';
    return decode_collective(decoder, code, match) && decode_results(decoder, code, TYPE_B32) &&
           decode_sources(decoder, code, places, types, 2);
}

static bool decode_reduce(struct decoder *decoder, struct code *code) {
    static const uint32_t places[] = {VALUE, MEMBERS};
    enum type type = simt_last_type(decoder->instruction);
    const enum type types[] = {type, TYPE_B32};
    for (uint32_t m = 0; m < decoder->instruction->modifier_count && !code->collective.scalar; m++)
        code->collective.scalar = simt_scalar_find(decoder->instruction->modifiers[m], type);
    return code->collective.scalar && type != TYPE_F32 && decode_collective(decoder, code, reduce) &&
           decode_results(decoder, code, type) && decode_sources(decoder, code, places, types, 2);
}

static bool decode_elect(struct decoder *decoder, struct code *code) {
    static const uint32_t places[] = {MEMBERS};
    static const enum type types[] = {TYPE_B32};
    return decode_collective(decoder, code, elect) && decode_results(decoder, code, TYPE_B32) &&
           decode_sources(decoder, code, places, types, 1);
}

static bool decode_active_mask(struct decoder *decoder, struct code *code) {
    code->execute = execute_active_mask;
    return decode_operand(decoder, code, RESULT, &decoder->instruction->operands[0], TYPE_B32);
}

bool simt_decode_warp_barrier(struct decoder *decoder, struct code *code) {
    code->execute = execute_warp_barrier;
    code->is_synchronising = true;
    return decoder->instruction->operand_count == 1 &&
           decode_operand(decoder, code, MEMBERS, &decoder->instruction->operands[0], TYPE_B32);
}

const struct instruction_kind simt_warp_kinds[] = {
    {"shfl", decode_shuffle}, {"vote", decode_vote},   {"match", decode_match},
    {"redux", decode_reduce}, {"elect", decode_elect}, {"activemask", decode_active_mask},
    {NULL, NULL}};
