#include "replay.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

/* A cell that a lane knows: where it was read, and what it then held. */
struct item {
    enum store store; /* STORES: elsewhere in global memory */
    uint64_t index;   /* there the address */
    struct cell cell;
};

/* What a thread has in its registers.  The simulator does not show them to observers, so this goes by rules
 * that reductions keep: what was loaded since the last store or shuffle is combined by the next one, with
 * what the thread held before; what it stored, it holds for a shuffle only; and all that it holds ends where
 * the block meets at a barrier. */
struct lane {
    struct cell held;
    bool holds, is_stored;
    struct item *loaded;
    size_t loaded_count, loaded_capacity;
    struct item stored; /* where it wrote last */
    bool has_stored;
};

/* A word of global memory that is not the input: a block's result, say. */
struct word {
    uint64_t address;
    struct cell cell;
};

struct replay {
    struct timeline *timeline;
    const struct timeline_setting *setting;
    struct cell *input, *shared;
    const struct trace_event **copies; /* into shared memory, as they were asked for */
    size_t copy_count, copy_capacity;
    struct lane *lanes; /* one for each thread */
    uint32_t lane_count;
    struct word *words;
    size_t word_count, word_capacity;
    struct cell result;
    uint64_t *shuffled; /* SIMT_LANES of each warp: the sources of its last shuffle */
    bool *is_shuffled;  /* since which the warp has done nothing else that counts */
};

/* ---- partial results ----------------------------------------------------------------------------- */

static uint32_t join_terms(struct timeline *timeline, uint32_t left, uint32_t right) {
    if (left == TERM_UNKNOWN || right == TERM_UNKNOWN) return TERM_UNKNOWN;
    if (left == TERM_NOTHING || right == TERM_NOTHING) return left | right;
    struct term *terms = array_grow(timeline->terms, sizeof *terms, (size_t)timeline->term_count + 1,
                                    &timeline->term_capacity, &timeline->out_of_memory);
    if (!terms) return TERM_UNKNOWN;
    timeline->terms = terms;
    terms[timeline->term_count] = (struct term){left, right};
    return timeline->term_count++;
}

static uint64_t bits_of(const struct replay *replay, const wf_value *value) {
    uint64_t bits = 0;
    memcpy(&bits, &value->v, replay->timeline->element_nbytes);
    return bits;
}

static uint64_t join_bits(const struct replay *replay, uint64_t left, uint64_t right) {
    size_t nbytes = replay->timeline->element_nbytes;
    unsigned char pair[2 * sizeof left];
    memcpy(pair, &left, nbytes);
    memcpy(pair + nbytes, &right, nbytes);
    const struct timeline_setting *setting = replay->setting;
    struct ladder_result result = ladder_reduce(pair, NULL, setting->type, setting->op, 2);
    return bits_of(replay, &result.value);
}

static struct cell join(struct replay *replay, struct cell left, struct cell right) {
    return (struct cell){join_terms(replay->timeline, left.term, right.term),
                         join_bits(replay, left.bits, right.bits)};
}

static struct cell identity(const struct replay *replay) {
    struct ladder_result nothing = ladder_reduce(NULL, NULL, replay->setting->type, replay->setting->op, 0);
    return (struct cell){TERM_NOTHING, bits_of(replay, &nothing.value)};
}

/* ---- memory -------------------------------------------------------------------------------------- */

/* A word that a bulk copy brought stands for the word of global memory that it came from. */
static void follow_copies(const struct replay *replay, enum simt_space *space, uint64_t *address) {
    if (*space != SIMT_SHARED) return;
    for (size_t i = replay->copy_count; i-- > 0;) {
        struct trace_copy copy = trace_copied(replay->timeline->trace, replay->copies[i]);
        if (*address - copy.to >= copy.nbytes) continue;
        *space = SIMT_GLOBAL;
        *address += copy.from - copy.to;
        return;
    }
}

/* Finds the cell of an address; false: it cannot hold an element. */
static bool locate(const struct replay *replay, enum simt_space space, uint64_t address, struct item *item) {
    const struct timeline *timeline = replay->timeline;
    follow_copies(replay, &space, &address);
    bool is_shared = space == SIMT_SHARED;
    uint64_t offset = address - (is_shared ? timeline->shared_offset : timeline->arrays[ARRAY_INPUT].values);
    enum store store = is_shared ? STORE_SHARED : STORE_INPUT;
    uint64_t index = offset / timeline->element_nbytes;
    *item = (struct item){.store = store, .index = index};
    if (index < timeline->cell_counts[store] && offset % timeline->element_nbytes == 0) return true;
    *item = (struct item){.store = STORES, .index = address};
    return space == SIMT_GLOBAL;
}

/* The cell there; NULL: no memory. */
static struct cell *cell_at(struct replay *replay, const struct item *item) {
    if (item->store == STORE_INPUT) return &replay->input[item->index];
    if (item->store == STORE_SHARED) return &replay->shared[item->index];
    for (size_t i = 0; i < replay->word_count; i++)
        if (replay->words[i].address == item->index) return &replay->words[i].cell;
    struct word *words = array_grow(replay->words, sizeof *words, replay->word_count + 1,
                                    &replay->word_capacity, &replay->timeline->out_of_memory);
    if (!words) return NULL;
    replay->words = words;
    words[replay->word_count] = (struct word){item->index, identity(replay)};
    return &words[replay->word_count++].cell;
}

static bool is_same_place(const struct item *a, const struct item *b) {
    return a->store == b->store && a->index == b->index;
}

/* ---- lanes --------------------------------------------------------------------------------------- */

static void load(struct replay *replay, struct lane *lane, struct item item) {
    const struct cell *cell = cell_at(replay, &item);
    struct item *loaded = array_grow(lane->loaded, sizeof *loaded, lane->loaded_count + 1,
                                     &lane->loaded_capacity, &replay->timeline->out_of_memory);
    if (!cell || !loaded) return;
    lane->loaded = loaded;
    item.cell = *cell;
    loaded[lane->loaded_count++] = item;
    if (lane->is_stored) lane->holds = lane->is_stored = false;
}

/* Has the lane combine all that it loaded with what it held. */
static void fold(struct replay *replay, struct lane *lane) {
    for (size_t i = 0; i < lane->loaded_count; i++) {
        struct cell cell = lane->loaded[i].cell;
        lane->held = lane->holds ? join(replay, lane->held, cell) : cell;
        lane->holds = true;
    }
    lane->loaded_count = 0;
}

/* The partial result of a lane; the identity if the lane was given no element. */
static struct cell held(const struct replay *replay, const struct lane *lane) {
    return lane->holds ? lane->held : identity(replay);
}

static void hold(struct lane *lane, struct cell cell) {
    lane->held = cell;
    lane->holds = true;
    lane->is_stored = false;
}

/* The place that is written comes first in what is combined there: a thread adds to its own. */
static void put_first(struct lane *lane, const struct item *target, const struct cell *cell) {
    size_t i = 0;
    while (i < lane->loaded_count && !is_same_place(&lane->loaded[i], target)) i++;
    if (i < lane->loaded_count) {
        struct item own = lane->loaded[i];
        memmove(&lane->loaded[1], &lane->loaded[0], i * sizeof own);
        lane->loaded[0] = own;
        lane->holds = false;
    } else if (lane->has_stored && is_same_place(&lane->stored, target)) {
        hold(lane, *cell); /* kept in a register since */
    }
}

/* ---- what is reported -------------------------------------------------------------------------- */

static void add_source(struct timeline *timeline, struct combine *combine, uint32_t source) {
    uint32_t *sources = array_grow(timeline->sources, sizeof *sources, timeline->source_count + 1,
                                   &timeline->source_capacity, &timeline->out_of_memory);
    if (!sources) return;
    timeline->sources = sources;
    sources[timeline->source_count++] = source;
    combine->source_count++;
}

static void add_combine(struct timeline *timeline, const struct combine *combine) {
    struct combine *combines = array_grow(timeline->combines, sizeof *combines, timeline->combine_count + 1,
                                          &timeline->combine_capacity, &timeline->out_of_memory);
    if (!combines) return;
    timeline->combines = combines;
    combines[timeline->combine_count++] = *combine;
}

static struct combine begin_combine(const struct timeline *timeline, uint32_t thread, uint32_t target) {
    return (struct combine){.thread = thread, .target = target, .sources = timeline->source_count};
}

/* ---- events -------------------------------------------------------------------------------------- */

static void store(struct replay *replay, uint32_t thread, struct item target, uint64_t bits, bool in_tree) {
    struct timeline *timeline = replay->timeline;
    struct lane *lane = &replay->lanes[thread];
    struct cell *cell = cell_at(replay, &target);
    if (!cell) return;
    if (lane->is_stored && lane->loaded_count == 0) lane->holds = lane->is_stored = false;
    put_first(lane, &target, cell);
    struct combine combine = begin_combine(timeline, thread, (uint32_t)target.index);
    for (size_t i = 0; i < lane->loaded_count; i++)
        if (lane->loaded[i].store == target.store && lane->loaded[i].index != target.index)
            add_source(timeline, &combine, (uint32_t)lane->loaded[i].index);
    fold(replay, lane);
    struct cell own = held(replay, lane);
    *cell = (struct cell){own.term, bits};
    hold(lane, target.store == STORES ? own : *cell); /* what leaves may contain other blocks' results */
    lane->is_stored = true;
    lane->stored = target;
    lane->has_stored = true;
    combine.made = *cell;
    if (in_tree && combine.source_count) add_combine(timeline, &combine);
    if (target.store == STORES && cell->term != TERM_NOTHING) replay->result = *cell;
}

/* Atomic operations combine what the lane holds with what is there. */
static void combine_atomically(struct replay *replay, uint32_t thread, struct item target, bool is_known,
                               bool in_tree) {
    struct timeline *timeline = replay->timeline;
    struct lane *lane = &replay->lanes[thread];
    struct cell *cell = cell_at(replay, &target);
    if (!cell) return;
    if (lane->is_stored) lane->holds = lane->is_stored = false;
    fold(replay, lane);
    *cell = join(replay, *cell, held(replay, lane));
    if (!is_known) cell->term = TERM_UNKNOWN;
    lane->holds = false;
    if (cell->term != TERM_NOTHING) replay->result = *cell;
    if (!in_tree) return;
    struct combine combine = begin_combine(timeline, thread, 0);
    add_source(timeline, &combine, thread);
    combine.made = *cell;
    add_combine(timeline, &combine);
}

static bool is_swap(const struct trace *trace, const struct trace_event *event) {
    return strstr(trace->places[event->pc].opcode, ".cas.");
}

/* Other atomic operations than the block's own only read, or draw a ticket. */
static bool is_combining(const struct replay *replay, const struct trace_event *event) {
    wf_op op = replay->setting->op;
    const char *opcode = replay->timeline->trace->places[event->pc].opcode;
    if (replay->setting->rung->finish != LADDER_FINISH_ATOMIC) return false;
    const char *own = op == WF_SUM ? ".add." : op == WF_MIN ? ".min." : ".max.";
    return is_swap(replay->timeline->trace, event) || (op != WF_PROD && strstr(opcode, own));
}

static void replay_access(struct replay *replay, const struct trace_event *event, bool in_tree) {
    const struct timeline *timeline = replay->timeline;
    const struct trace *trace = timeline->trace;
    if (event->space != SIMT_GLOBAL && event->space != SIMT_SHARED) return;
    bool is_packed = replay->setting->op == WF_ARGMAX && event->access == SIMT_ATOMIC; /* value and index */
    if (event->element_nbytes != timeline->element_nbytes && !is_packed) return;
    if (event->access == SIMT_ATOMIC && !is_combining(replay, event)) return;
    bool is_known =
        !is_swap(trace, event) || !(event->mask & (event->mask - 1)); /* who won if there were several? */
    for (uint32_t rest = event->mask; rest; rest &= rest - 1) {
        uint32_t bit = (uint32_t)__builtin_ctz(rest), thread = event->warp * trace->launch.warp_size + bit;
        for (uint32_t element = 0; element < event->elements; element++) {
            uint64_t address = trace_addresses(trace, event)[bit] + (uint64_t)element * event->element_nbytes;
            struct item item;
            if (!locate(replay, event->space, address, &item)) continue;
            if (event->access == SIMT_LOAD)
                load(replay, &replay->lanes[thread], item);
            else if (event->access == SIMT_ATOMIC)
                combine_atomically(replay, thread, item, is_known, in_tree);
            else
                store(replay, thread, item, trace_values(trace, event)[element * SIMT_LANES + bit], in_tree);
        }
    }
}

/* A wide value goes through several shuffles from the same lanes, and counts once. */
static bool is_repeated(struct replay *replay, uint32_t warp, const uint64_t *sources) {
    uint64_t *last = &replay->shuffled[(size_t)warp * SIMT_LANES];
    size_t nbytes = SIMT_LANES * sizeof *last;
    bool is_same = replay->is_shuffled[warp] && !memcmp(last, sources, nbytes);
    memcpy(last, sources, nbytes);
    replay->is_shuffled[warp] = true;
    return is_same;
}

static void replay_shuffle(struct replay *replay, const struct trace_event *event) {
    struct timeline *timeline = replay->timeline;
    const uint64_t *sources = trace_sources(timeline->trace, event);
    uint32_t first = event->warp * timeline->trace->launch.warp_size;
    struct cell before[SIMT_LANES];
    if (is_repeated(replay, event->warp, sources)) return;
    for (uint32_t lane = 0; lane < timeline->trace->launch.warp_size; lane++) {
        if (first + lane >= replay->lane_count) break;
        fold(replay, &replay->lanes[first + lane]);
        before[lane] = held(replay, &replay->lanes[first + lane]);
    }
    for (uint32_t rest = event->mask; rest; rest &= rest - 1) {
        uint32_t bit = (uint32_t)__builtin_ctz(rest), source = (uint32_t)sources[bit];
        if (first + source >= replay->lane_count) continue;
        struct combine combine = begin_combine(timeline, first + bit, first + bit);
        add_source(timeline, &combine, first + source);
        combine.made = join(replay, before[bit], before[source]);
        hold(&replay->lanes[first + bit], combine.made);
        add_combine(timeline, &combine);
    }
}

/* One instruction reduces the lanes, and all of them get the result. */
static void replay_warp_reduction(struct replay *replay, const struct trace_event *event) {
    struct timeline *timeline = replay->timeline;
    uint32_t first = event->warp * timeline->trace->launch.warp_size;
    if (!event->mask) return;
    uint32_t lowest = first + (uint32_t)__builtin_ctz(event->mask);
    struct combine combine = begin_combine(timeline, lowest, lowest);
    for (uint32_t rest = event->mask; rest; rest &= rest - 1) {
        uint32_t thread = first + (uint32_t)__builtin_ctz(rest);
        struct lane *lane = &replay->lanes[thread];
        fold(replay, lane);
        struct cell cell = held(replay, lane);
        combine.made = thread == lowest ? cell : join(replay, combine.made, cell);
        if (thread != lowest) add_source(timeline, &combine, thread);
    }
    for (uint32_t rest = event->mask; rest; rest &= rest - 1)
        hold(&replay->lanes[first + (uint32_t)__builtin_ctz(rest)], combine.made);
    add_combine(timeline, &combine);
}

static void replay_copy(struct replay *replay, const struct trace_event *event) {
    const struct trace_event **copies = array_grow(replay->copies, sizeof *copies, replay->copy_count + 1,
                                                   &replay->copy_capacity, &replay->timeline->out_of_memory);
    if (!copies) return;
    replay->copies = copies;
    copies[replay->copy_count++] = event;
}

static void replay_barrier(struct replay *replay) {
    for (uint32_t thread = 0; thread < replay->lane_count; thread++) replay->lanes[thread].holds = false;
    for (uint32_t warp = 0; warp < replay->timeline->warp_count; warp++) replay->is_shuffled[warp] = false;
}

void replay_event(struct replay *replay, const struct trace_event *event, bool in_tree) {
    switch (event->kind) {
    case TRACE_ACCESS: replay_access(replay, event, in_tree); break;
    case TRACE_COPY: replay_copy(replay, event); break;
    case TRACE_BARRIER: replay_barrier(replay); break;
    case TRACE_SHUFFLE:
        if (in_tree) replay_shuffle(replay, event);
        break;
    case TRACE_INSTRUCTION:
        if (in_tree && trace_is_warp_reduction(replay->timeline->trace, event))
            replay_warp_reduction(replay, event);
        break;
    default: break;
    }
}

/* ---- the whole ----------------------------------------------------------------------------------- */

struct replay *replay_create(struct timeline *timeline, const struct timeline_setting *setting) {
    struct replay *replay = calloc(1, sizeof *replay);
    if (!replay) return NULL;
    uint32_t threads = timeline->trace->launch.threads_per_block;
    *replay =
        (struct replay){.timeline = timeline,
                        .setting = setting,
                        .input = calloc(timeline->cell_counts[STORE_INPUT] + 1, sizeof *replay->input),
                        .shared = calloc(timeline->cell_counts[STORE_SHARED] + 1, sizeof *replay->shared),
                        .lanes = calloc((size_t)threads + 1, sizeof *replay->lanes),
                        .lane_count = threads,
                        .shuffled = calloc(((size_t)timeline->warp_count + 1) * SIMT_LANES, sizeof(uint64_t)),
                        .is_shuffled = calloc((size_t)timeline->warp_count + 1, sizeof(bool))};
    if (!replay->input || !replay->shared || !replay->lanes || !replay->shuffled || !replay->is_shuffled) {
        replay_destroy(replay);
        return NULL;
    }
    replay->result = identity(replay);
    const unsigned char *values = setting->values;
    for (uint64_t i = 0; i < setting->n; i++) {
        replay->input[i].term = (uint32_t)i + 1;
        memcpy(&replay->input[i].bits, values + i * timeline->element_nbytes, timeline->element_nbytes);
    }
    return replay;
}

void replay_destroy(struct replay *replay) {
    if (!replay) return;
    for (uint32_t thread = 0; replay->lanes && thread < replay->lane_count; thread++)
        free(replay->lanes[thread].loaded);
    free(replay->input);
    free(replay->shared);
    free(replay->lanes);
    free(replay->words);
    free(replay->copies);
    free(replay->shuffled);
    free(replay->is_shuffled);
    free(replay);
}

static void read_registers(struct replay *replay, struct cell *cells) {
    for (uint32_t thread = 0; thread < replay->lane_count; thread++) {
        fold(replay, &replay->lanes[thread]);
        cells[thread] = held(replay, &replay->lanes[thread]);
    }
}

struct cell *replay_cells(struct replay *replay, enum store store) {
    size_t nbytes = replay->timeline->cell_counts[store] * sizeof(struct cell);
    struct cell *cells = malloc(nbytes + 1);
    if (!cells) return NULL;
    if (store == STORE_INPUT) memcpy(cells, replay->input, nbytes);
    if (store == STORE_SHARED) memcpy(cells, replay->shared, nbytes);
    if (store == STORE_REGISTERS) read_registers(replay, cells);
    if (store == STORE_RESULT) memcpy(cells, &replay->result, nbytes);
    return cells;
}

struct cell replay_result(const struct replay *replay) {
    return replay->result;
}
