/* Finds barriers that could be left out: none of their executions alone orders two accesses of different threads that
 * conflict.
 *
 * A block's barriers cut its accesses into intervals.  Two conflicting accesses are ordered by whichever barriers are
 * between them: one of these lines has to stay.  Of each word the latest accesses of two threads are kept, so that an
 * access finds the latest one of another thread: what lies farther back has more barriers between, which include these.
 * All lines are proven needed by the first block of most kernels; then nothing more is looked at. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "counts.h"
#include "span.h"

enum { LINES_MAX = 64, SETS_MAX = 32, WORD_SHIFT = 2, PAGE_WORDS = 256, THREAD_BITS = 11, ROUNDS_TOLD = 3 };

enum kind { READS, WRITES, ATOMICS, KINDS };

static const bool conflicts[KINDS][KINDS] = {
    [READS] = {[WRITES] = true, [ATOMICS] = true},
    [WRITES] = {true, true, true},
    [ATOMICS] = {[READS] = true, [WRITES] = true},
};

/* The interval and the thread (from 1, in the low bits) of the latest access, and of the latest of any other thread. */
struct latest {
    uint32_t first, second;
};

struct word {
    struct latest of[KINDS];
};

struct word_page {
    struct word_page *next;
    uint64_t number;
    struct word words[PAGE_WORDS];
};

/* Lines of which one at least has to stay, a bit each; none of two sets includes the other. */
struct needs {
    uint64_t sets[SETS_MAX];
    uint32_t count;
    bool is_lost; /* something else orders threads, or there are too many: nothing is said */
};

enum { BUCKETS = 64 };

struct barriers_block {
    struct barriers *launch;
    struct needs needs;
    struct word_page *pages[BUCKETS], *latest; /* latest: of either space, the one found last */
    uint32_t interval, checked; /* checked: the latest interval whose accesses' conflict with this one is noted, from 1 */
    uint64_t met;               /* lines of barriers that the block executed */
    uint32_t last[LINES_MAX];   /* the latest interval that each began */
    uint32_t rounds[LINES_MAX]; /* executions of each line */
    bool is_watched;
};

/* The lines with barriers of the kernel's own. */
struct barriers {
    const simt_launch_view *view;
    uint8_t *line_of; /* by the pc, from the kernel's first: 1 + the line's bit; 0: no barrier */
    const simt_place *lines[LINES_MAX];
    uint32_t line_count;
    uint32_t most_rounds[LINES_MAX]; /* in one block */
    uint64_t looping, asked, met;    /* looping: may be executed again without end, of those that were asked about */
    struct needs needs;
    atomic_bool is_settled; /* all lines are needed, or nothing will be said */
};

/* ---- sets of lines */

static void add_need(struct needs *needs, uint64_t set) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < needs->count; i++)
        if (!(needs->sets[i] & ~set)) return;
    for (uint32_t i = 0; i < needs->count; i++)
        if (set & ~needs->sets[i]) needs->sets[kept++] = needs->sets[i];
    needs->count = kept;
    needs->is_lost |= kept == SETS_MAX;
    if (kept < SETS_MAX) needs->sets[needs->count++] = set;
}

static uint64_t needed_alone(const struct needs *needs) {
    uint64_t lines = 0;
    for (uint32_t i = 0; i < needs->count; i++)
        if (!(needs->sets[i] & (needs->sets[i] - 1))) lines |= needs->sets[i];
    return lines;
}

/* Whether each set has a line that stays. */
static bool can_spare(const struct needs *needs, uint64_t spared) {
    for (uint32_t i = 0; i < needs->count; i++)
        if (!(needs->sets[i] & ~spared)) return false;
    return true;
}

static uint64_t all_lines(const struct barriers *barriers) {
    return barriers->line_count == LINES_MAX ? UINT64_MAX : (UINT64_C(1) << barriers->line_count) - 1;
}

/* ---- accesses */

static struct word_page *find_page(struct barriers_block *block, uint64_t number) {
    if (block->latest && block->latest->number == number) return block->latest;
    struct word_page **bucket = &block->pages[number % BUCKETS], *page = *bucket;
    while (page && page->number != number) page = page->next;
    if (!page && (page = calloc(1, sizeof *page))) {
        *page = (struct word_page){.next = *bucket, .number = number};
        *bucket = page;
    }
    return block->latest = page;
}

/* The end of the latest interval in which another thread's access conflicts with the `kind`; 0: none. */
static uint32_t latest_conflict(const struct word *word, enum kind kind, uint32_t thread) {
    uint32_t latest = 0;
    for (int other = 0; other < KINDS; other++) {
        const struct latest *of = &word->of[other];
        if (!conflicts[kind][other] || !of->first) continue;
        const bool is_own = (of->first & ((1u << THREAD_BITS) - 1)) == thread;
        const uint32_t stamp = is_own ? of->second : of->first;
        if (stamp && (stamp >> THREAD_BITS) + 1 > latest) latest = (stamp >> THREAD_BITS) + 1;
    }
    return latest;
}

static void note(struct latest *of, uint32_t stamp) {
    if ((of->first ^ stamp) & ((1u << THREAD_BITS) - 1)) of->second = of->first;
    of->first = stamp;
}

static uint32_t visit_words(struct barriers_block *block, const simt_access *access, uint32_t lane, uint32_t thread,
                            enum kind kind) {
    const uint64_t space = access->space == SIMT_SHARED ? UINT64_C(1) << 62 : 0, address = access->addresses[lane];
    const uint64_t end = ((address + lane_nbytes(access) - 1) >> WORD_SHIFT) + 1;
    uint32_t latest = 0;
    for (uint64_t at = address >> WORD_SHIFT; at < end; at++) {
        struct word_page *page = find_page(block, at / PAGE_WORDS | space);
        if (!page) return block->needs.is_lost = true, 0;
        struct word *word = &page->words[at % PAGE_WORDS];
        const uint32_t conflict = latest_conflict(word, kind, thread);
        if (conflict > latest) latest = conflict;
        note(&word->of[kind], block->interval << THREAD_BITS | thread);
    }
    return latest;
}

/* Notes the lines between accesses of the interval that ends at `latest` and now.  Where something else orders threads
 * within one interval, farther accesses may be hidden: the barrier before counts as needed. */
static void note_conflict(struct barriers_block *block, uint32_t latest) {
    if (latest > block->interval) latest = block->interval;
    if (!latest || latest <= block->checked) return;
    block->checked = latest;
    uint64_t set = 0;
    for (uint32_t i = 0; i < block->launch->line_count; i++)
        if (block->last[i] >= latest) set |= UINT64_C(1) << i;
    add_need(&block->needs, set);
}

static void watch_access(void *state, const simt_event *event, const simt_access *access) {
    struct barriers_block *block = state;
    if (!block->is_watched || block->needs.is_lost) return;
    if (access->space != SIMT_GLOBAL && access->space != SIMT_SHARED) return;
    const bool is_sent = access->order != SIMT_WEAK && access->order != SIMT_RELAXED && access->space == SIMT_GLOBAL;
    block->needs.is_lost |= is_sent || access->is_asynchronous;
    const enum kind kind = access->kind == SIMT_LOAD ? READS : access->kind == SIMT_STORE ? WRITES : ATOMICS;
    const uint32_t first = event->warp * event->block->launch->warp_size + 1;
    uint32_t latest = 0;
    SIMT_FOR_EACH_LANE(lane, access->lanes) {
        const uint32_t conflict = visit_words(block, access, lane, first + lane, kind);
        if (conflict > latest) latest = conflict;
    }
    note_conflict(block, latest);
}

/* ---- barriers, and what else orders threads */

static void watch_barrier(void *state, const simt_block_view *view, uint32_t barrier, uint32_t pc, const uint32_t *lanes) {
    (void)lanes;
    struct barriers_block *block = state;
    const simt_launch_view *launch = view->launch;
    if (!block->is_watched || block->needs.is_lost) return;
    const bool is_own = pc >= launch->kernel_begin && pc < launch->kernel_end;
    const uint32_t number = is_own ? block->launch->line_of[pc - launch->kernel_begin] : 0;
    block->needs.is_lost |= barrier || !number || block->interval >= UINT32_MAX >> (THREAD_BITS + 1);
    if (block->needs.is_lost) return;
    block->last[number - 1] = ++block->interval;
    block->checked = 0;
    block->rounds[number - 1]++;
    block->met |= UINT64_C(1) << (number - 1);
    if (strstr(launch->places[pc].opcode, ".red")) add_need(&block->needs, UINT64_C(1) << (number - 1)); /* its result counts */
}

static void watch_fence(void *state, const simt_event *event, bool beyond_block) {
    (void)event;
    ((struct barriers_block *)state)->needs.is_lost |= beyond_block; /* other blocks see what it orders */
}

static void lose(struct barriers_block *block) { block->needs.is_lost = true; }
static void watch_copy(void *state, const simt_event *event, const simt_copy *copy) { (void)event, (void)copy, lose(state); }
static void watch_mbarrier(void *state, const simt_event *event, const simt_mbarrier *operation) {
    (void)event, (void)operation, lose(state);
}
static void watch_cluster(void *state, const simt_event *event, bool is_arrival, enum simt_order order, bool completes) {
    (void)event, (void)is_arrival, (void)order, (void)completes, lose(state);
}

/* ---- blocks and launches */

static bool is_barrier_of_block(const char *opcode) {
    return (!strncmp(opcode, "bar.", 4) || !strncmp(opcode, "barrier.", 8)) && !strstr(opcode, "warp");
}

/* 1 + the bit of the line; 0: there are too many. */
static uint8_t line_number(struct barriers *barriers, const simt_place *place) {
    for (uint32_t i = 0; i < barriers->line_count; i++)
        if (barriers->lines[i]->line == place->line && !strcmp(barriers->lines[i]->file, place->file)) return (uint8_t)(i + 1);
    if (barriers->line_count == LINES_MAX) return 0;
    barriers->lines[barriers->line_count++] = place;
    return (uint8_t)barriers->line_count;
}

static bool begin_launch(void *state, const simt_launch_view *view) {
    struct barriers *barriers = state;
    barriers->view = view;
    barriers->line_of = calloc(view->kernel_end - view->kernel_begin + 1, 1);
    if (!barriers->line_of) return false;
    for (uint32_t pc = view->kernel_begin; pc < view->kernel_end; pc++) {
        const simt_place *place = &view->places[pc];
        if (place->file && is_barrier_of_block(place->opcode))
            barriers->line_of[pc - view->kernel_begin] = line_number(barriers, place);
    }
    barriers->is_settled = !barriers->line_count || view->threads_per_block == 1 || view->blocks_per_cluster > 1;
    return true;
}

static bool begin_block(void *launch, void *state, const simt_block_view *view) {
    struct barriers_block *block = state;
    (void)view;
    block->launch = launch;
    block->is_watched = !atomic_load_explicit(&block->launch->is_settled, memory_order_relaxed);
    return true;
}

/* Those of the block's lines that a loop may repeat: the same in every block, so each is asked about once. */
static void note_loops(struct barriers *barriers, uint64_t lines, const simt_block_view *view) {
    const simt_event event = {.block = view};
    lines &= ~barriers->asked;
    barriers->asked |= lines;
    if (!lines) return;
    for (uint32_t pc = barriers->view->kernel_begin; pc < barriers->view->kernel_end; pc++) {
        const uint32_t number = barriers->line_of[pc - barriers->view->kernel_begin];
        const uint64_t line = number ? UINT64_C(1) << (number - 1) : 0;
        if ((line & lines) && !(line & barriers->looping) && simt_may_repeat(&event, pc)) barriers->looping |= line;
    }
}

static void end_block(void *state, void *block_state, const simt_block_view *view) {
    struct barriers *barriers = state;
    struct barriers_block *block = block_state;
    for (uint32_t i = 0; i < BUCKETS; i++)
        for (struct word_page *page = block->pages[i], *next; page; page = next) {
            next = page->next;
            free(page);
        }
    if (!block->is_watched) return;
    for (uint32_t i = 0; i < block->needs.count; i++) add_need(&barriers->needs, block->needs.sets[i]);
    barriers->needs.is_lost |= block->needs.is_lost;
    note_loops(barriers, block->met & ~barriers->met & ~needed_alone(&barriers->needs), view);
    barriers->met |= block->met;
    for (uint32_t i = 0; i < barriers->line_count; i++)
        if (block->rounds[i] > barriers->most_rounds[i]) barriers->most_rounds[i] = block->rounds[i];
    if (barriers->needs.is_lost || needed_alone(&barriers->needs) == all_lines(barriers))
        atomic_store_explicit(&barriers->is_settled, true, memory_order_relaxed);
}

/* A loop of few rounds need not have come to what its barrier orders. */
static bool is_told(const struct barriers *barriers, uint32_t line) {
    const uint64_t bit = UINT64_C(1) << line;
    return (barriers->met & bit) && (!(barriers->looping & bit) || barriers->most_rounds[line] >= ROUNDS_TOLD);
}

/* The report's line there; false: it was not executed. */
static bool find_line(const simt_report *report, const simt_place *place, size_t *index) {
    for (*index = 0; *index < simt_report_line_count(report); ++*index) {
        const simt_line *line = simt_report_line(report, *index);
        if (line->line == place->line && !strcmp(line->file, place->file)) return true;
    }
    return false;
}

/* Those between which nothing is accessed are spared first, as the observer of lines has found them. */
static void spare_lines(const struct barriers *barriers, simt_report *report, bool of_idle, uint64_t *spared) {
    for (uint32_t i = 0; i < barriers->line_count; i++) {
        const uint64_t with = *spared | UINT64_C(1) << i;
        size_t index;
        if (!find_line(report, barriers->lines[i], &index)) continue;
        const uint64_t count = simt_report_line(report, index)->barriers;
        const bool is_idle = simt_report_line_least(report, index)->idle_barriers >= count;
        if (is_idle != of_idle || !(is_idle || is_told(barriers, i)) || !can_spare(&barriers->needs, with)) continue;
        *spared = with;
        simt_report_add_spare_barriers(report, index, count);
    }
}

static void end_launch(void *state, simt_report *report) {
    struct barriers *barriers = state;
    uint64_t spared = 0;
    for (int idle_first = 1; idle_first >= 0 && !barriers->needs.is_lost && !barriers->is_settled; idle_first--)
        spare_lines(barriers, report, idle_first, &spared);
    free(barriers->line_of);
}

const struct simt_observer simt_observe_barriers = {
    .name = "barriers",
    .launch_nbytes = sizeof(struct barriers),
    .block_nbytes = sizeof(struct barriers_block),
    .launch_begin = begin_launch,
    .launch_end = end_launch,
    .block_begin = begin_block,
    .block_end = end_block,
    .access = watch_access,
    .barrier = watch_barrier,
    .fence = watch_fence,
    .copy = watch_copy,
    .mbarrier = watch_mbarrier,
    .cluster_barrier = watch_cluster,
};
