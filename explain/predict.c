#include "predict.h"

#include <string.h>

enum {
    LINE_NBYTES = 128,
    BANK_NBYTES = 4,
    INDEX_NBYTES = 8, /* of argmax */
    ACCESSES = 3,     /* of a combine in memory: two loads and a store */
    /* Limits of a multiprocessor of the H100 and H200. */
    THREADS_MAX = 2048,
    BLOCKS_MAX = 32,
    SHARED_NBYTES_MAX = 228 * 1024,
    SHARED_RESERVED_NBYTES = 1024,
    SHARED_UNIT_NBYTES = 128,
};

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static uint32_t log2_of(uint64_t power) {
    return (uint32_t)(63 - __builtin_clzll(power));
}

/* ---- techniques ---------------------------------------------------------------------------------- */

/* Who works in a step: `active` threads, every `thread_spacing`-th of the block; the next one's cell lies
 * `cell_spacing` further on. */
struct pattern {
    uint64_t active, thread_spacing, cell_spacing;
};

typedef struct pattern pattern_function(uint64_t block, uint64_t power); /* power: 2^k in step k, from 0 */

/* Thread t owns cell 2t; t % stride == 0. */
static struct pattern pairs(uint64_t block, uint64_t power) {
    return (struct pattern){block / power, power, 2 * power};
}

/* Thread t owns cell t; t < stride, from the block size down. */
static struct pattern leading(uint64_t block, uint64_t power) {
    return (struct pattern){block / power, 1, 1};
}

/* Thread t owns cell t; t % 2s == 0. */
static struct pattern multiples(uint64_t block, uint64_t power) {
    return (struct pattern){block / power / 2, 2 * power, 2 * power};
}

/* Thread t owns cell 2st. */
static struct pattern strided(uint64_t block, uint64_t power) {
    return (struct pattern){block / power / 2, 1, 2 * power};
}

/* Thread t owns cell t; t < s, from half of the block size down. */
static struct pattern sequential(uint64_t block, uint64_t power) {
    return (struct pattern){block / power / 2, 1, 1};
}

static pattern_function *const patterns[] = {
    [LADDER_PATTERN_PAIRS] = pairs,           [LADDER_PATTERN_LEADING] = leading,
    [LADDER_PATTERN_MULTIPLES] = multiples,   [LADDER_PATTERN_STRIDED] = strided,
    [LADDER_PATTERN_SEQUENTIAL] = sequential,
};

/* The rung's technique, from what its comment says. */
struct technique {
    pattern_function *pattern; /* NULL: the tree is among registers, or there is none */
    enum store store;
    uint32_t cells; /* of the tree, for each thread */
};

static struct technique technique_of(const struct ladder_rung *rung) {
    if (rung->pattern == LADDER_PATTERN_NONE) return (struct technique){NULL, STORE_RESULT, 0};
    if (rung->pattern == LADDER_PATTERN_REGISTERS) return (struct technique){NULL, STORE_REGISTERS, 1};
    pattern_function *pattern = patterns[rung->pattern];
    if (rung->in_place) return (struct technique){pattern, STORE_INPUT, rung->tile};
    return (struct technique){pattern, STORE_SHARED, rung->shared_per_thread};
}

/* ---- one access ---------------------------------------------------------------------------------- */

/* What a warp does in a step: `active` of its `size` lanes. */
struct warp_pattern {
    uint64_t warps, active, size;
    struct pattern pattern;
};

static struct warp_pattern in_warps(const struct prediction_setting *setting, struct pattern pattern) {
    uint64_t size = least(setting->warp_size, setting->block);
    uint64_t active = most(1, least(pattern.active, size / pattern.thread_spacing));
    return (struct warp_pattern){pattern.active / active, active, size, pattern};
}

/* Lines of 128 bytes that an access of a warp touches. */
static uint64_t lines(uint64_t lanes, uint64_t spacing_nbytes) {
    return spacing_nbytes >= LINE_NBYTES ? lanes : most(1, lanes * spacing_nbytes / LINE_NBYTES);
}

struct wavefronts {
    uint64_t needed, least;
};

/* Wide elements are served in parts of the warp, of as many lanes as a row of the banks has words for. */
static struct wavefronts wavefronts(const struct prediction_setting *setting, struct warp_pattern warp,
                                    uint64_t nbytes) {
    uint64_t words = most(1, nbytes / BANK_NBYTES), banks = setting->banks;
    uint64_t parts = least(words, most(1, words * setting->warp_size / banks));
    uint64_t together = most(1, setting->warp_size / parts);
    uint64_t span = warp.active * warp.pattern.thread_spacing;
    parts = least(warp.active, most(1, span / together));
    uint64_t lanes = warp.active / parts;
    uint64_t places =
        most(1, banks / (words * warp.pattern.cell_spacing)); /* that lanes can be at, side by side */
    uint64_t rows = most(1, words / banks);                   /* that one lane takes */
    return (struct wavefronts){parts * rows * most(1, lanes / places),
                               parts * most(1, lanes * words / banks)};
}

/* ---- steps --------------------------------------------------------------------------------------- */

static void add_wavefronts(struct tally *tally, uint64_t accesses, struct wavefronts each) {
    double degree = (double)each.needed / (double)each.least;
    tally->shared_wavefronts += accesses * each.needed;
    if (degree > tally->bank_degree) tally->bank_degree = degree;
}

static struct tally step_in_memory(const struct prediction_setting *setting,
                                   const struct technique *technique, size_t k) {
    uint64_t element = wf_type_nbytes(setting->type);
    struct warp_pattern warp = in_warps(setting, technique->pattern(setting->block, UINT64_C(1) << k));
    struct tally tally = {.active_lanes = warp.pattern.active,
                          .warps = warp.warps,
                          .divergent_warps = warp.active < warp.size ? warp.warps : 0,
                          .bank_degree = 1};
    uint64_t accesses = ACCESSES * warp.warps;
    if (technique->store == STORE_INPUT)
        tally.global_requests = accesses * lines(warp.active, warp.pattern.cell_spacing * element);
    else
        add_wavefronts(&tally, accesses, wavefronts(setting, warp, element));
    if (technique->store == STORE_SHARED && setting->op == WF_ARGMAX)
        add_wavefronts(&tally, accesses, wavefronts(setting, warp, INDEX_NBYTES));
    return tally;
}

static struct conflict conflict_in_step(const struct prediction_setting *setting,
                                        const struct technique *technique, size_t k) {
    struct warp_pattern warp = in_warps(setting, technique->pattern(setting->block, UINT64_C(1) << k));
    struct wavefronts each = wavefronts(setting, warp, wf_type_nbytes(setting->type));
    uint64_t words = most(1, wf_type_nbytes(setting->type) / BANK_NBYTES);
    uint64_t places = most(1, setting->banks / (words * warp.pattern.cell_spacing));
    if (each.needed == each.least) return (struct conflict){0, 0};
    return (struct conflict){(uint32_t)(warp.active / places),
                             (uint32_t)(places * warp.pattern.thread_spacing)};
}

static void predict_memory_tree(struct prediction *prediction, const struct prediction_setting *setting,
                                const struct technique *technique) {
    prediction->step_count = log2_of((uint64_t)setting->block * technique->cells);
    for (size_t k = 0; k < prediction->step_count; k++) {
        prediction->steps[k] = step_in_memory(setting, technique, k);
        if (technique->store == STORE_SHARED)
            prediction->conflicts[k] = conflict_in_step(setting, technique, k);
    }
}

static bool has_warp_reduction(const struct prediction_setting *setting) {
    bool is_integer = setting->type == WF_I32 || setting->type == WF_U32;
    bool has_instruction = setting->op == WF_SUM || setting->op == WF_MIN || setting->op == WF_MAX;
    return !strcmp(setting->rung->target, "sm_80") && is_integer && has_instruction;
}

/* Values that a step's memory takes: an element, and in argmax an index. */
static uint64_t item_wavefronts(const struct prediction_setting *setting, struct pattern pattern) {
    struct warp_pattern warp = in_warps(setting, pattern);
    uint64_t count = warp.warps * wavefronts(setting, warp, wf_type_nbytes(setting->type)).needed;
    if (setting->op == WF_ARGMAX) count += warp.warps * wavefronts(setting, warp, INDEX_NBYTES).needed;
    return count;
}

/* All lanes of all warps, then those of the first warp for the values that the warps left in shared memory.
 * Leaving them there parts lane 0 from its warp, and fetching them the lanes that have one from those that
 * have none. */
static void predict_register_tree(struct prediction *prediction, const struct prediction_setting *setting) {
    uint64_t warps = setting->block / setting->warp_size;
    bool at_once = has_warp_reduction(setting);
    size_t first = at_once ? 1 : log2_of(setting->warp_size), second = at_once ? 1 : log2_of(warps);
    prediction->step_count = first + second;
    for (size_t k = 0; k < prediction->step_count; k++) {
        uint64_t active = k < first ? warps : 1;
        prediction->steps[k] =
            (struct tally){.active_lanes = active * setting->warp_size, .warps = active, .bank_degree = 1};
    }
    struct tally *leave = &prediction->steps[first - 1], *fetch = second ? &prediction->steps[first] : leave;
    leave->divergent_warps = warps;
    leave->shared_wavefronts = warps * item_wavefronts(setting, (struct pattern){1, 1, 1});
    if (second) fetch->divergent_warps = warps < setting->warp_size;
    fetch->shared_wavefronts += item_wavefronts(setting, (struct pattern){warps, 1, 1});
}

static void sum_steps(struct prediction *prediction, uint32_t warp_size) {
    struct tally *total = &prediction->total;
    total->bank_degree = 1;
    for (size_t k = 0; k < prediction->step_count; k++) {
        const struct tally *step = &prediction->steps[k];
        total->active_lanes += step->active_lanes;
        total->warps += step->warps;
        total->divergent_warps += step->divergent_warps;
        total->global_requests += step->global_requests;
        total->shared_wavefronts += step->shared_wavefronts;
        if (step->bank_degree > total->bank_degree) total->bank_degree = step->bank_degree;
    }
    prediction->lane_steps = total->warps * warp_size;
    if (prediction->step_count)
        prediction->average_parallelism = (double)total->active_lanes / (double)prediction->step_count;
}

/* ---- before and after ---------------------------------------------------------------------------- */

static bool is_tried_again(const struct prediction_setting *setting) {
    bool is_float = setting->type == WF_F32 || setting->type == WF_F64;
    return setting->op == WF_PROD || (is_float && (setting->op == WF_MIN || setting->op == WF_MAX));
}

/* A compare-and-swap that wins at once, after the load before it. */
static uint64_t atomics_of_one(const struct prediction_setting *setting) {
    return is_tried_again(setting) ? 2 : 1;
}

/* Each warp loads a line for each of its elements, or as many as they fill; then one thread writes the
 * result. */
static void predict_outside(struct prediction *prediction, const struct prediction_setting *setting,
                            const struct technique *technique) {
    uint64_t element = wf_type_nbytes(setting->type), tile = setting->rung->tile;
    struct warp_pattern all = in_warps(setting, (struct pattern){setting->block, 1, 1});
    bool is_atomic = setting->rung->finish == LADDER_FINISH_ATOMIC;
    bool has_index = setting->op == WF_ARGMAX;
    uint64_t requests = is_atomic ? atomics_of_one(setting) : has_index ? 2 : 1;
    if (technique->store == STORE_INPUT)
        requests += 1;
    else if (technique->store == STORE_SHARED)
        requests += tile * all.warps * lines(all.active, element);
    else
        requests += most(1, setting->n * element / LINE_NBYTES);
    prediction->outside.global_requests = requests;
    prediction->outside.bank_degree = 1;
    if (technique->store == STORE_SHARED)
        prediction->outside.shared_wavefronts =
            technique->cells * item_wavefronts(setting, (struct pattern){setting->block, 1, 1}) +
            item_wavefronts(setting, (struct pattern){1, 1, 1});
}

static uint64_t barriers(const struct prediction *prediction, const struct prediction_setting *setting,
                         enum ladder_barriers kind) {
    switch (kind) {
    case LADDER_BARRIERS_EACH_STEP: return prediction->step_count;
    case LADDER_BARRIERS_FIRST_AND_EACH_STEP: return 1 + prediction->step_count;
    case LADDER_BARRIERS_ABOVE_ONE_WARP:
        return 1 + log2_of(most(1, setting->block / (2 * setting->warp_size)));
    case LADDER_BARRIERS_ONE: return 1;
    case LADDER_BARRIERS_NONE:
    case LADDER_BARRIERS_UNKNOWN: break;
    }
    return 0;
}

static void predict_occupancy(struct prediction *prediction, const struct prediction_setting *setting) {
    uint64_t threads = most(setting->block, setting->warp_size);
    uint64_t units = (setting->shared_nbytes + SHARED_UNIT_NBYTES - 1) / SHARED_UNIT_NBYTES;
    uint64_t by_shared = SHARED_NBYTES_MAX / (units * SHARED_UNIT_NBYTES + SHARED_RESERVED_NBYTES);
    prediction->resident_blocks = (uint32_t)least(least(THREADS_MAX / threads, BLOCKS_MAX), by_shared);
    prediction->occupancy = (double)(prediction->resident_blocks * threads) / THREADS_MAX;
}

/* ---- the whole ----------------------------------------------------------------------------------- */

struct prediction predict(const struct prediction_setting *setting) {
    struct prediction prediction = {0};
    const struct technique rung_technique = technique_of(setting->rung), *technique = &rung_technique;
    bool is_full = setting->n == (uint64_t)setting->rung->tile * setting->block;
    predict_occupancy(&prediction, setting);
    if (setting->rung->pattern == LADDER_PATTERN_UNKNOWN) return prediction;
    bool is_tree = technique->store != STORE_RESULT;
    bool in_place = technique->store == STORE_INPUT;
    prediction.has_tree = is_tree && (is_full || !in_place);
    prediction.has_outside = is_tree && is_full;
    prediction.has_barriers = prediction.has_tree && setting->rung->barriers != LADDER_BARRIERS_UNKNOWN;
    prediction.has_atomics = setting->rung->cluster == 1 && (is_tree || !is_tried_again(setting));
    if (technique->pattern)
        predict_memory_tree(&prediction, setting, technique);
    else if (is_tree)
        predict_register_tree(&prediction, setting);
    sum_steps(&prediction, setting->warp_size);
    if (prediction.has_outside) predict_outside(&prediction, setting, technique);
    prediction.barriers = barriers(&prediction, setting, setting->rung->barriers);
    if (!is_tree)
        prediction.atomics = setting->n;
    else if (setting->rung->finish == LADDER_FINISH_ATOMIC)
        prediction.atomics = atomics_of_one(setting);
    return prediction;
}
