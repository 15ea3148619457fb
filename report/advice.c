#include "advice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernel_source.h"
#include "numerals.h"

enum { LINES_MAX = 3 }; /* of each kind */

/* What the report counts of a line. */
struct line_costs {
    const simt_line *line;
    const simt_line_least *possible;
    const simt_line_cures *cures;
    const simt_line_rows *rows;
    uint64_t spare_barriers;
    const simt_line_repeated *repeated;
    uint64_t guesses;
};

/* Whether the count is so much more than the least, in percent and in all. */
static bool is_excess(uint64_t count, uint64_t least, uint64_t percent, uint64_t excess) {
    return count * 100 >= least * percent && count >= least + excess;
}

/* Ends a cure, or a part of it, with what it gives. */
static void foretell(char *cure, size_t nbytes, uint64_t then, uint64_t count, const char *unit) {
    const size_t length = strlen(cure);
    snprintf(cure + length, nbytes - length, "; then %" PRIu64 " instead of %" PRIu64 " %s", then, count, unit);
}

static void foretell_advice(struct advice *advice) { foretell(advice->cure, ADVICE_TEXT, advice->then, advice->count, advice->unit); }

/* ---- banks --------------------------------------------------------------------------------------- */

bool advice_name_array(const char *source, uint32_t line, const struct advice_rows *rows, uint64_t *then, char *cure,
                       size_t nbytes) {
    struct kernel_rows names;
    if (!kernel_source_rows(source, line, rows->nbytes, &names)) return false;
    size_t padding = 0;
    while (padding < SIMT_ROW_PADDINGS - 1 && SIMT_ROW_PADDING_NBYTES(padding) < names.element_nbytes) padding++;
    if (!is_excess(rows->count, rows->then[padding], ADVICE_BANKS_PERCENT, ADVICE_BANKS_EXCESS)) return false;
    *then = rows->then[padding];
    snprintf(cure, nbytes, "pad the row: `%s` for `%s`", names.padded, names.name);
    foretell(cure, nbytes, *then, rows->count, "wavefronts");
    numerals_group(cure, nbytes);
    return true;
}

/* No row is known: neighbours, and of rows of 8 words or more what padding gives. */
static void cure_any_rows(const struct advice_rows *rows, struct advice *advice) {
    const uint64_t words = rows->nbytes / 4;
    uint32_t padding = 0;
    for (uint32_t i = 1; i < SIMT_ROW_PADDINGS; i++)
        if (rows->then[i] < rows->then[padding]) padding = i;
    advice->then = advice->least;
    if (rows->nbytes && words <= 1) { /* most lanes are neighbours already: the warp has parts of several rows */
        snprintf(advice->cure, ADVICE_TEXT,
                 "let the lanes of a warp access one row, not parts of several: blocks that are 32 threads wide, or a multiple");
        foretell_advice(advice);
        return;
    }
    snprintf(advice->cure, ADVICE_TEXT,
             "let neighbouring lanes access neighbouring words: index by threadIdx.x without a factor, an array for "
             "each member of a struct");
    foretell_advice(advice);
    if (words < 8 || !is_excess(advice->count, rows->then[padding], ADVICE_BANKS_PERCENT, ADVICE_BANKS_EXCESS)) return;
    const size_t length = strlen(advice->cure);
    snprintf(advice->cure + length, ADVICE_TEXT - length, "; or pad: %u word%s after every %" PRIu64 ", `[%" PRIu64 "]`", 1u << padding,
             padding ? "s" : "", words, words + (UINT64_C(1) << padding));
    foretell(advice->cure, ADVICE_TEXT, rows->then[padding], advice->count, advice->unit);
}

static void cure_banks(const struct advice_subject *subject, const struct line_costs *costs, struct advice *advice) {
    const simt_line_rows *rows = costs->rows;
    const bool has_rows = rows->nbytes != SIMT_ROW_VARIES;
    if (has_rows) advice->rows = (struct advice_rows){.nbytes = rows->nbytes, .count = advice->count};
    for (size_t i = 0; has_rows && i < SIMT_ROW_PADDINGS; i++) advice->rows.then[i] = rows->wavefronts[i];
    cure_any_rows(&advice->rows, advice);
    if (has_rows && subject->source)
        advice_name_array(subject->source, costs->line->line, &advice->rows, &advice->then, advice->cure, ADVICE_TEXT);
}

/* Conflicts of data-dependent indices are reported only beyond chance: 32 random words take 3.5 wavefronts. */
static bool is_conflict(uint64_t count, uint64_t least, uint64_t scattered) {
    return is_excess(count - scattered, least, ADVICE_BANKS_PERCENT, ADVICE_BANKS_EXCESS) ||
           is_excess(count, least, ADVICE_SCATTERED_PERCENT, ADVICE_BANKS_EXCESS);
}

static bool advise_banks(const struct advice_subject *subject, const struct line_costs *costs, struct advice *advice) {
    const uint64_t count = costs->line->shared_wavefronts, least = costs->line->shared_wavefronts_least;
    if (!least || !is_conflict(count, least, costs->rows->scattered_wavefronts)) return false;
    *advice = (struct advice){.unit = "wavefronts", .count = count, .least = least};
    snprintf(advice->message, ADVICE_TEXT,
             "lanes of a warp want different words of one bank and take turns: %" PRIu64
             " wavefronts, where %" PRIu64 " would do; the worst access takes %.4g times as many",
             count, least, costs->line->bank_degree);
    cure_banks(subject, costs, advice);
    return true;
}

/* ---- global memory ------------------------------------------------------------------------------- */

/* By how far lanes are apart: a factor or a struct, rows, or whatever the data say. */
static const char *cure_of_stride(uint64_t nbytes) {
    enum { STRUCT_NBYTES_MAX = 64 };
    if (!nbytes || nbytes >= UINT32_MAX)
        return "let neighbouring lanes access neighbouring elements: threadIdx.x the fastest index; where data choose them, "
               "sorted data, or a tile in shared memory";
    if (nbytes <= STRUCT_NBYTES_MAX)
        return "let neighbouring lanes access neighbouring elements: threadIdx.x without a factor, an array for each member of a "
               "struct, or a tile through shared memory";
    return "let neighbouring lanes access neighbouring elements (threadIdx.x the fastest index), or move a tile "
           "through shared memory";
}

static bool advise_sectors(const struct advice_subject *subject, const struct line_costs *costs, struct advice *advice) {
    (void)subject;
    const uint64_t count = costs->line->global_sectors, least = costs->possible->global_sectors_least;
    if (costs->line->atomics || !least || !is_excess(count, least, ADVICE_SECTORS_PERCENT, ADVICE_SECTORS_EXCESS)) return false;
    char stride[64] = "";
    if (costs->possible->lane_stride && costs->possible->lane_stride < UINT32_MAX)
        snprintf(stride, sizeof stride, ", each %" PRIu64 " bytes from the next lane's", costs->possible->lane_stride);
    *advice = (struct advice){.unit = "sectors", .count = count, .least = least, .then = least};
    snprintf(advice->message, ADVICE_TEXT,
             "lanes of a warp access global memory in scattered places%s: %" PRIu64
             " sectors of 32 bytes, where the %" PRIu64 " bytes that they want need %" PRIu64,
             stride, count, costs->line->global_bytes, least);
    snprintf(advice->cure, ADVICE_TEXT, "%s", cure_of_stride(costs->possible->lane_stride));
    foretell_advice(advice);
    return true;
}

/* Nothing is known of what would follow a stop. */
static bool is_stopped_by(const simt_report *report, bool by_runaway_alone) {
    for (size_t i = 0; i < simt_report_finding_count(report); i++) {
        const enum simt_finding_kind kind = simt_report_finding(report, i)->kind;
        if (kind == SIMT_FINDING_RUNAWAY) return true;
        if (by_runaway_alone) continue;
        if (kind != SIMT_FINDING_RACE && kind != SIMT_FINDING_UNINITIALISED && kind != SIMT_FINDING_SHUFFLE &&
            kind != SIMT_FINDING_LEAK)
            return true;
    }
    return false;
}

/* Not of a loop that never ends: its atomics are polls. */
static bool advise_atomics(const struct advice_subject *subject, const struct line_costs *costs, struct advice *advice) {
    if (is_stopped_by(subject->report, true)) return false;
    const uint64_t count = costs->line->atomics, by_warp = costs->possible->atomics_least;
    const uint64_t by_block = costs->cures->atomics_by_block;
    if (!by_warp || !is_excess(count, by_warp, ADVICE_ATOMICS_PERCENT, ADVICE_ATOMICS_EXCESS)) return false;
    *advice = (struct advice){.unit = "atomics", .count = count, .least = by_block, .then = by_warp};
    snprintf(advice->message, ADVICE_TEXT,
             "lanes of a warp update one address, one after the other: %" PRIu64 " atomics, where %" PRIu64
             " would do if each block combined its own first",
             count, by_block);
    snprintf(advice->cure, ADVICE_TEXT,
             "combine within the warp (__shfl_down_sync, __reduce_add_sync), and let one lane do the atomic for all: %" PRIu64
             " instead of %" PRIu64 " atomics; or within the block, in shared memory: %" PRIu64,
             by_warp, count, by_block);
    return true;
}

/* ---- control ------------------------------------------------------------------------------------- */

/* A branch that comes as often as an exchange which warps repeat: the loop around a lock.  Who gets that no numbering tells. */
static bool is_of_lock(const simt_report *report, uint64_t branches) {
    const uint64_t warps = (uint64_t)simt_report_counter_value(report, "warps", 0);
    for (size_t i = 0; i < simt_report_instruction_count(report); i++) {
        const simt_line *instruction = simt_report_instruction(report, i);
        const bool is_exchange = strstr(instruction->opcode, ".cas") || strstr(instruction->opcode, ".exch");
        if (is_exchange && instruction->instructions > warps && branches <= instruction->instructions + warps) return true;
    }
    return false;
}

static bool advise_divergence(const struct advice_subject *subject, const struct line_costs *costs, struct advice *advice) {
    const double used = 100 * simt_report_counter_value(subject->report, "utilization", 1);
    const uint64_t count = costs->line->divergent_branches, branches = costs->line->branches;
    if (used >= ADVICE_UTILIZATION_PERCENT || count < ADVICE_DIVERGENT_MIN ||
        count * 100 < branches * ADVICE_DIVERGENT_PERCENT || is_of_lock(subject->report, branches))
        return false;
    *advice = (struct advice){.unit = "divergent branches", .count = count, .least = 0};
    advice->then = costs->cures->divergent_branches_packed;
    if (advice->then * 100 > count * ADVICE_PACKED_PERCENT) return false; /* its threads are numbered without gaps */
    snprintf(advice->message, ADVICE_TEXT,
             "%" PRIu64 " of %" PRIu64 " branches part the lanes of their warp, which then run one side after the "
             "other; %.0f %% of all lanes are used",
             count, branches, used);
    snprintf(advice->cure, ADVICE_TEXT,
             "let whole warps take one side: active threads numbered from 0 without gaps");
    foretell_advice(advice);
    const size_t length = strlen(advice->cure);
    snprintf(advice->cure + length, ADVICE_TEXT - length, "; or the condition a function of threadIdx.x / 32; then none");
    return true;
}

/* What other threads did is never accessed after it, unless another barrier is between.  Told of barriers that the source
 * itself has, of a launch without findings. */
static bool is_spare(const struct advice_subject *subject, const struct line_costs *costs) {
    return costs->spare_barriers && !simt_report_finding_count(subject->report) && subject->source &&
           kernel_source_syncs(subject->source, costs->line->line);
}

static void cure_barriers(struct advice *advice, const char *condition) {
    snprintf(advice->cure, ADVICE_TEXT, "leave this __syncthreads() out%s", condition);
    foretell(advice->cure, ADVICE_TEXT, 0, advice->count, advice->count == 1 ? "barrier" : "barriers");
}

/* All of the line's barriers order nothing, for that reason. */
static bool say_useless_barrier(const struct line_costs *costs, const char *reason, const char *condition, struct advice *advice) {
    *advice = (struct advice){.unit = "barriers", .count = costs->line->barriers, .least = 0};
    snprintf(advice->message, ADVICE_TEXT, "%s: it orders nothing, %" PRIu64 " time%s", reason, costs->line->barriers,
             costs->line->barriers == 1 ? "" : "s");
    cure_barriers(advice, condition);
    return true;
}

static bool advise_barriers(const struct advice_subject *subject, const struct line_costs *costs, struct advice *advice) {
    if (!costs->line->barriers || is_stopped_by(subject->report, false)) return false;
    if (costs->possible->idle_barriers >= costs->line->barriers)
        return say_useless_barrier(
            costs, "the block accessed no memory between this barrier and the one before it, or none after it", "", advice);
    return is_spare(subject, costs) &&
           say_useless_barrier(costs,
                               "no thread accessed after this barrier what another had accessed before it, one of them writing, "
                               "unless another barrier was between the two",
                               ", if that is so for other data and sizes, too", advice);
}

/* Each block stores all that others do, as where an index lacks blockIdx.  A flag that blocks set is less than a warp stores. */
static bool advise_repeated(const struct advice_subject *subject, const struct line_costs *costs, struct advice *advice) {
    enum { NBYTES_MIN = 128 };
    const uint64_t blocks = (uint64_t)simt_report_counter_value(subject->report, "blocks", 0);
    const uint64_t stored = costs->repeated->stored, once = stored - costs->repeated->repeated;
    if (blocks < 2 || stored < costs->repeated->repeated || once < NBYTES_MIN || once * blocks > stored) return false;
    *advice = (struct advice){.unit = "bytes", .count = stored, .least = once, .then = once};
    snprintf(advice->message, ADVICE_TEXT,
             "every one of the %" PRIu64 " blocks stores the same values to the same elements: %" PRIu64 " bytes, where %" PRIu64
             " would do if each did its own part", blocks, stored, once);
    snprintf(advice->cure, ADVICE_TEXT,
             "let the index depend on the block: blockIdx.x * blockDim.x + threadIdx.x, and in a loop over the whole grid on in steps of "
             "gridDim.x * blockDim.x; or launch one block");
    foretell_advice(advice);
    return true;
}

static bool advise_first_read(const struct advice_subject *subject, const struct line_costs *costs, struct advice *advice) {
    (void)subject;
    if (!costs->guesses) return false;
    *advice = (struct advice){.unit = "accesses", .count = costs->guesses};
    snprintf(advice->message, ADVICE_TEXT,
             "this plain load races with atomics of other threads, %" PRIu64 " time%s; its value is only compared and replaced by "
             "atomicCAS(), which verifies it", costs->guesses, costs->guesses == 1 ? "" : "s");
    snprintf(advice->cure, ADVICE_TEXT, "begin with an atomic, too, such as `atomicCAS(p, 0, 0)` for `*p`; then none races");
    return true;
}

enum { WARPS_MAX = 64, BLOCKS_MAX = 32, THREADS_MAX = 2048, WARP = 32 }; /* of a multiprocessor */

/* A multiprocessor holds too few threads in its 32 blocks: more of them in each, which take as much shared memory. */
static void cure_small_blocks(const struct advice_subject *subject, struct advice *advice) {
    uint32_t best = subject->block_threads;
    for (uint32_t threads = 64; threads <= 256; threads *= 2) {
        const size_t nbytes = subject->shared_nbytes * threads / subject->block_threads;
        const uint64_t warps = (uint64_t)simt_resident_blocks(threads, nbytes) * threads / WARP;
        if (warps > advice->then) best = threads;
        if (warps > advice->then) advice->then = warps;
    }
    snprintf(advice->cure, ADVICE_TEXT, "larger blocks, of %" PRIu32 " threads for example", best);
    foretell_advice(advice);
}

/* Shared memory leaves place for too few blocks. */
static void cure_large_blocks(const struct advice_subject *subject, struct advice *advice) {
    uint32_t blocks = THREADS_MAX / subject->block_threads;
    if (blocks > BLOCKS_MAX) blocks = BLOCKS_MAX;
    const size_t nbytes = simt_shared_nbytes_of(blocks);
    advice->then = (uint64_t)blocks * ((subject->block_threads + WARP - 1) / WARP);
    snprintf(advice->cure, ADVICE_TEXT, "at most %zu bytes of shared memory for each block of %" PRIu32 " threads", nbytes,
             subject->block_threads);
    foretell_advice(advice);
}

/* At most half of the warps, as with 32 blocks of one warp; exactly half is reported only if the launch has more blocks than fit. */
static bool is_low(const simt_report *report, double share, uint64_t resident) {
    if (share != ADVICE_OCCUPANCY_PERCENT) return share < ADVICE_OCCUPANCY_PERCENT;
    return simt_report_counter_value(report, "blocks", 0) > (double)resident;
}

static bool advise_occupancy(const struct advice_subject *subject, const struct line_costs *costs, struct advice *advice) {
    const double share = 100 * simt_report_counter_value(subject->report, "occupancy", 1);
    const uint64_t blocks = (uint64_t)simt_report_counter_value(subject->report, "resident_blocks", 0);
    if (!is_low(subject->report, share, blocks) || costs->line != simt_report_line(subject->report, 0)) return false;
    *advice = (struct advice){.unit = "resident warps", .least = WARPS_MAX};
    advice->count = (uint64_t)(share * WARPS_MAX / 100);
    if (blocks == BLOCKS_MAX) {
        snprintf(advice->message, ADVICE_TEXT,
                 "blocks of %" PRIu32 " threads: a multiprocessor holds %" PRIu64 " of them, %" PRIu64
                 " warps of %d, too few to hide how long memory takes; registers, which PTX does not have, may allow fewer",
                 subject->block_threads, blocks, advice->count, WARPS_MAX);
        cure_small_blocks(subject, advice);
    } else {
        snprintf(advice->message, ADVICE_TEXT,
                 "%zu bytes of shared memory and %" PRIu32 " threads a block: a multiprocessor holds %" PRIu64
                 " of them, %" PRIu64 " warps of %d, too few to hide how long memory takes; registers, which PTX does not have, may allow fewer",
                 subject->shared_nbytes, subject->block_threads, blocks, advice->count, WARPS_MAX);
        cure_large_blocks(subject, advice);
    }
    return true;
}

/* ---- all ----------------------------------------------------------------------------------------- */

typedef bool advise_function(const struct advice_subject *subject, const struct line_costs *costs, struct advice *advice);

#define KINDS(X)                                                                                                   \
    X("bank-conflict", advise_banks)                                                                               \
    X("uncoalesced", advise_sectors)                                                                               \
    X("contended-atomic", advise_atomics)                                                                          \
    X("divergence", advise_divergence)                                                                             \
    X("redundant-barrier", advise_barriers)                                                                        \
    X("repeated-work", advise_repeated)                                                                            \
    X("plain-first-read", advise_first_read)                                                                       \
    X("low-occupancy", advise_occupancy)

#define NAME(name, function) name,
const char *const advice_kinds[] = {KINDS(NAME) ADVICE_UNWRITTEN_COPY, ADVICE_UNREAD_RESULT, ADVICE_SHORT_COPY, NULL};

#define FUNCTION(name, function) function,
static advise_function *const functions[] = {KINDS(FUNCTION)};

static uint64_t excess(const struct advice *advice) {
    return advice->count > advice->least ? advice->count - advice->least : 0;
}

/* Puts it in its place among those of its kind, from `first` on; the least of too many falls out. */
static size_t insert(struct advice *list, size_t first, size_t count, const struct advice *advice) {
    size_t at = count;
    while (at > first && excess(&list[at - 1]) < excess(advice)) at--;
    if (count < ADVICE_MAX && count - first < LINES_MAX) count++;
    else if (at == count) return count;
    memmove(&list[at + 1], &list[at], (count - at - 1) * sizeof *list);
    list[at] = *advice;
    return count;
}

size_t advice_list(const struct advice_subject *subject, struct advice advice[ADVICE_MAX]) {
    size_t count = 0;
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
        const size_t first = count;
        for (size_t i = 0; i < simt_report_line_count(subject->report); i++) {
            const struct line_costs costs = {simt_report_line(subject->report, i), simt_report_line_least(subject->report, i),
                                             simt_report_line_cures(subject->report, i),
                                             simt_report_line_rows(subject->report, i),
                                             simt_report_line_spare_barriers(subject->report, i),
                                             simt_report_line_repeated(subject->report, i),
                                             simt_report_line_guesses(subject->report, i)};
            struct advice one;
            if (!functions[k](subject, &costs, &one)) continue;
            one.kind = advice_kinds[k];
            one.file = costs.line->file;
            one.line = costs.line->line;
            numerals_group(one.message, sizeof one.message);
            numerals_group(one.cure, sizeof one.cure);
            count = insert(advice, first, count, &one);
        }
    }
    return count;
}
