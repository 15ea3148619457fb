/* What the lanes of a warp do together: shuffles, votes, matches, reductions, warp barriers.  Lanes that a branch or
 * a schedule has parted meet here: whoever comes first waits for those that its mask names. */
#include <string.h>

#include "machine.h"

/* The lanes that execute one collective instruction, from one or several paths (and, in called functions, frames). */
struct collective {
    struct warp *warp;
    const struct code *code;
    struct path *path; /* one of them */
    uint32_t lanes;
    uint32_t predicate; /* the second result */
    bool is_together;   /* all are in that path: path_of is not filled */
    struct path *path_of[SIMT_LANES];
    uint64_t results[SIMT_LANES];
};

/* code->call.slots: */
enum { RESULT, PREDICATE, VALUE, LANE, CLAMP, MEMBERS };
/* code->vector_sinks, bits: */
enum { NO_RESULT = 1, NO_PREDICATE = 2, NEGATED = 4 };

static const struct path *path_at(const struct collective *collective, uint32_t lane) {
    bool is_elsewhere = !collective->is_together && collective->path_of[lane];
    return is_elsewhere ? collective->path_of[lane] : collective->path;
}

static uint64_t read_lane(const struct collective *collective, uint32_t operand, uint32_t lane) {
    const struct code *code = collective->code;
    return lane_get(slot_lanes(path_at(collective, lane), code->call.slots[operand]), code->widths[operand], lane);
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
    switch (collective->code->immediate) {
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
    SIMT_TELL(collective->warp->block->launch, collective->warp->block, shuffle, &event, sources);
}

/* The lanes that lane l's mask joins it with. */
static uint32_t group_of(const struct collective *collective, uint32_t lane) {
    return collective->lanes & (uint32_t)read_lane(collective, MEMBERS, lane);
}

static void vote(struct collective *collective) {
    uint32_t yes = 0;
    SIMT_FOR_EACH_LANE (lane, collective->lanes)
        yes |= (uint32_t)(read_lane(collective, VALUE, lane) & 1) << lane;
    if (collective->code->vector_sinks & NEGATED) yes = ~yes;
    SIMT_FOR_EACH_LANE (lane, collective->lanes) {
        uint32_t group = group_of(collective, lane), votes = yes & group;
        uint64_t *result = &collective->results[lane];
        switch (collective->code->immediate) {
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
        if (collective->code->immediate == 'a') collective->results[lane] = is_all ? group : 0;
        else collective->results[lane] = alike;
        collective->predicate |= (uint32_t)is_all << lane;
    }
}

static void reduce(struct collective *collective) {
    SIMT_FOR_EACH_LANE (lane, collective->lanes) {
        uint32_t group = group_of(collective, lane);
        uint64_t value = read_lane(collective, VALUE, (uint32_t)__builtin_ctz(group));
        SIMT_FOR_EACH_LANE (other, group & (group - 1))
            value = collective->code->scalar(value, read_lane(collective, VALUE, other), 0);
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
        const struct path *path = path_at(collective, lane);
        if (!(code->vector_sinks & NO_RESULT))
            lane_set(slot_lanes(path, code->call.slots[RESULT]), code->widths[RESULT], lane,
                     collective->results[lane]);
        if (!(code->vector_sinks & NO_PREDICATE))
            lane_set(slot_lanes(path, code->call.slots[PREDICATE]), WIDTH_PREDICATE, lane,
                     collective->predicate >> lane & 1);
    }
}

/* The same for lanes of one path, of results of 32 bits. */
static void write_row(const struct collective *collective) {
    const struct code *code = collective->code;
    uint32_t *to = slot_lanes(collective->path, code->call.slots[RESULT]);
    uint32_t *predicate = slot_lanes(collective->path, code->call.slots[PREDICATE]), lanes = collective->lanes;
    if (!(code->vector_sinks & NO_RESULT))
        SIMT_FOR_EACH_LANE (lane, lanes) to[lane] = (uint32_t)collective->results[lane];
    if (!(code->vector_sinks & NO_PREDICATE))
        *predicate = (*predicate & ~lanes) | (collective->predicate & lanes);
}

static void collective_add(struct collective *collective, struct path *path, uint32_t lanes) {
    SIMT_FOR_EACH_LANE (lane, lanes) collective->path_of[lane] = path;
    collective->lanes |= lanes;
}

/* Executes the instruction that the path waits at, if all whom it waits for are there. */
static bool collective_try(struct warp *warp, struct path *path) {
    const struct code *code = &warp->block->launch->image->codes[path->pc];
    struct collective collective = {.warp = warp, .code = code, .path = path};
    uint32_t pc = path->pc, members = 0;
    for (struct path *other = warp->leaves; other; other = other->next) {
        if (other->state != PATH_AT_COLLECTIVE || other->pc != pc) continue;
        collective_add(&collective, other, other->waiting_lanes);
        members |= members_of(warp, other, code, other->waiting_lanes);
    }
    if (members & ~collective.lanes) return false;
    code->collective(&collective);
    write_results(&collective);
    for (struct path *other = warp->leaves; other; other = other->next)
        if (other->state == PATH_AT_COLLECTIVE && other->pc == pc) {
            other->state = PATH_READY;
            other->pc++;
        }
    simt_path_merge(warp, path);
    return true;
}

static enum outcome execute_collective(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    if (!(members_of(warp, path, code, mask) & ~mask)) {
        struct collective collective; /* not cleared whole: that would take longer than the rest */
        collective.warp = warp;
        collective.code = code;
        collective.path = path;
        collective.lanes = mask;
        collective.predicate = 0;
        collective.is_together = true;
        code->collective(&collective);
        if (code->widths[RESULT] == WIDTH_32) write_row(&collective);
        else write_results(&collective);
        return OUTCOME_NEXT;
    }
    path->state = PATH_AT_COLLECTIVE;
    path->waiting_lanes = mask;
    simt_path_merge(warp, path);
    return collective_try(warp, path) ? OUTCOME_MOVED : OUTCOME_LEFT;
}

/* ---- warp barriers: any of them with the same mask will do */

static uint32_t lanes_at_warp_barriers(const struct warp *warp) {
    uint32_t lanes = 0;
    for (const struct path *path = warp->leaves; path; path = path->next)
        if (path->state == PATH_AT_WARP_BARRIER) lanes |= path->waiting_lanes;
    return lanes;
}

/* Tells of every group of lanes that a barrier joins, once. */
static void warp_barrier_tell(struct warp *warp, const struct path *path, uint32_t mask, uint32_t arrived) {
    const struct code *code = &warp->block->launch->image->codes[path->pc];
    const uint32_t *members = (const uint32_t *)slot_lanes(path, code->call.slots[MEMBERS]);
    simt_event event = simt_event_of(warp, path, mask);
    for (uint32_t rest = mask; rest;) {
        uint32_t joined = members[__builtin_ctz(rest)] & arrived & warp->live;
        joined |= rest & -rest;
        /* Paths that meet here are released one by one: the one with the lowest lane tells of the group. */
        if (joined & mask & (joined & -joined))
            SIMT_TELL(warp->block->launch, warp->block, warp_barrier, &event, joined);
        rest &= ~joined;
    }
}

/* Releases the paths at warp barriers whose masks are complete. */
static bool warp_barriers_try(struct warp *warp) {
    uint32_t arrived = lanes_at_warp_barriers(warp);
    bool is_any = false;
    for (struct path *path = warp->leaves; path; path = path->next) {
        if (path->state != PATH_AT_WARP_BARRIER) continue;
        const struct code *code = &warp->block->launch->image->codes[path->pc];
        if (members_of(warp, path, code, path->waiting_lanes) & ~arrived) continue;
        warp_barrier_tell(warp, path, path->waiting_lanes, arrived);
        path->state = PATH_READY;
        path->pc++;
        is_any = true;
    }
    return is_any;
}

static enum outcome execute_warp_barrier(struct warp *warp, struct path *path, const struct code *code,
                                         uint32_t mask) {
    if (!(members_of(warp, path, code, mask) & ~mask)) {
        warp_barrier_tell(warp, path, mask, mask);
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
    if (result->kind == OPERAND_SINK) code->vector_sinks |= NO_RESULT;
    if (!predicate || predicate->kind == OPERAND_SINK) code->vector_sinks |= NO_PREDICATE;
    return ((code->vector_sinks & NO_RESULT) || decode_operand(decoder, code, RESULT, result, type)) &&
           ((code->vector_sinks & NO_PREDICATE) || decode_operand(decoder, code, PREDICATE, predicate, TYPE_PRED));
}

/* Source operands of `count` places in order, the members' mask last. */
static bool decode_sources(struct decoder *decoder, struct code *code, const uint32_t *places, const enum type *types,
                           uint32_t count) {
    const struct instruction *instruction = decoder->instruction;
    if (instruction->operand_count != count + 1) return false;
    for (uint32_t s = 0; s < count; s++) {
        const struct operand *operand = &instruction->operands[s + 1];
        if (operand->is_negated) code->vector_sinks |= NEGATED;
        if (!decode_operand(decoder, code, places[s], operand, types[s])) return false;
    }
    return true;
}

static bool decode_collective(struct decoder *decoder, struct code *code, collective_function *function) {
    code->collective = function;
    code->execute = execute_collective;
    code->is_synchronising = true;
    return simt_has(decoder->instruction, "sync");
}

static bool decode_shuffle(struct decoder *decoder, struct code *code) {
    static const uint32_t places[] = {VALUE, LANE, CLAMP, MEMBERS};
    static const enum type types[] = {TYPE_B32, TYPE_B32, TYPE_B32, TYPE_B32};
    const struct instruction *instruction = decoder->instruction;
    code->immediate = simt_has(instruction, "up")     ? 'u'
                      : simt_has(instruction, "down") ? 'd'
                      : simt_has(instruction, "bfly") ? 'b'
                      : simt_has(instruction, "idx")  ? 'i'
                                                      : 0;
    return code->immediate && decode_collective(decoder, code, shuffle) && decode_results(decoder, code, TYPE_B32) &&
           decode_sources(decoder, code, places, types, 4);
}

static bool decode_vote(struct decoder *decoder, struct code *code) {
    static const uint32_t places[] = {VALUE, MEMBERS};
    static const enum type types[] = {TYPE_PRED, TYPE_B32};
    const struct instruction *instruction = decoder->instruction;
    code->immediate = simt_has(instruction, "all")      ? 'a'
                      : simt_has(instruction, "any")    ? 'y'
                      : simt_has(instruction, "uni")    ? 'u'
                      : simt_has(instruction, "ballot") ? 'b'
                                                        : 0;
    return code->immediate && decode_collective(decoder, code, vote) &&
           decode_results(decoder, code, code->immediate == 'b' ? TYPE_B32 : TYPE_PRED) &&
           decode_sources(decoder, code, places, types, 2);
}

static bool decode_match(struct decoder *decoder, struct code *code) {
    static const uint32_t places[] = {VALUE, MEMBERS};
    const enum type types[] = {simt_last_type(decoder->instruction), TYPE_B32};
    code->immediate = simt_has(decoder->instruction, "all") ? 'a' : 'y';
    return decode_collective(decoder, code, match) && decode_results(decoder, code, TYPE_B32) &&
           decode_sources(decoder, code, places, types, 2);
}

static bool decode_reduce(struct decoder *decoder, struct code *code) {
    static const uint32_t places[] = {VALUE, MEMBERS};
    enum type type = simt_last_type(decoder->instruction);
    const enum type types[] = {type, TYPE_B32};
    for (uint32_t m = 0; m < decoder->instruction->modifier_count && !code->scalar; m++)
        code->scalar = simt_scalar_find(decoder->instruction->modifiers[m], type);
    return code->scalar && type != TYPE_F32 && decode_collective(decoder, code, reduce) &&
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
