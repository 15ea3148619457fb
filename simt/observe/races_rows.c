/* The commonest accesses, of which nothing is to be said: neighbouring lanes at neighbouring words, and lanes that read one
 * word, in one row or several.  What they leave in the shadow is what visiting them cell by cell would leave. */
#include <string.h>

#include "races_visit.h"

static void add_rivals(struct visit *visit, uint8_t histories) {
    for (int history = 0; history < HISTORIES; history++)
        for (int i = 0; i < 2 && histories >> history & 1; i++) {
            if (!visit->page->stamps[history][i]) continue;
            visit->rivals[visit->rival_count] = visit->page->stamps[history][i];
            visit->rival_histories[visit->rival_count++] = (enum history)history;
        }
}

void simt_visit_list_rivals(struct visit *visit) {
    visit->rival_count = 0;
    add_rivals(visit, simt_races_conflicts[visit->history]);
    visit->scoped_from = visit->rival_count;
    if (!visit->block->races->is_of_block || visit->access->space != SIMT_GLOBAL) return;
    if (visit->history == ATOMIC_WRITES) add_rivals(visit, 1 << ATOMIC_READS | 1 << ATOMIC_WRITES);
    if (visit->history == ATOMIC_READS) add_rivals(visit, 1 << ATOMIC_WRITES);
}

bool simt_visit_prepare(struct visit *visit) {
    struct shadow_page *page = visit->page;
    uint32_t cell_bits = (uint32_t)__builtin_ctz(visit->access->element_nbytes);
    if (cell_bits < page->cell_bits && !simt_page_refine(page, cell_bits)) return false;
    if (!simt_page_ensure(page, &page->stamps[visit->history][0])) return false;
    if (visit->history == PLAIN_WRITES && !simt_page_ensure(page, &page->values)) return false;
    simt_visit_list_rivals(visit);
    return true;
}

/* ---- neighbouring lanes at neighbouring words
 *
 * The loops have no branches, so that the compiler can make vectors of them: the top bit tells. */

/* Where `earlier` is not settled. */
static uint64_t unsettled(const struct races_block *block, uint64_t earlier) {
    uint64_t first = block->first_stamp, end = first + block->settled_span;
    return ~((earlier - 1) | (~(earlier - first) & (earlier - end)));
}

static bool are_settled(const struct visit *visit, const uint64_t *earlier, uint32_t count) {
    uint64_t strays = 0;
    for (uint32_t i = 0; i < count; i++) strays |= unsettled(visit->block, earlier[i]);
    return !(strays >> 63);
}

static bool are_settled_or_own(const struct visit *visit, const uint64_t *earlier, const uint64_t *stamps,
                               uint32_t count) {
    uint64_t strays = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t difference = (earlier[i] ^ stamps[i]) & visit->same_thread;
        strays |= unsettled(visit->block, earlier[i]) & ~(difference - 1);
    }
    return !(strays >> 63);
}

enum { WORD_NBYTES = 1 << CELL_BITS_MAX, ROW_WORDS_MAX = PAGE_NBYTES / WORD_NBYTES };

/* The stamps of a row in which each lane touches that many words. */
struct row {
    uint64_t stamps[ROW_WORDS_MAX];
    uint32_t first, lanes, words, count, cell;
};

static void stamp_row(const struct visit *visit, struct row *row) {
    uint64_t stamp = visit_stamp(visit, row->first), step = UINT64_C(1) << visit->block->races->thread_shift;
    for (uint32_t lane = 0; lane < row->lanes; lane++, stamp += step)
        for (uint32_t word = 0; word < row->words; word++) row->stamps[row->count++] = stamp;
}

static bool is_own(const struct visit *visit, uint64_t stamp, uint64_t other) {
    return !((stamp ^ other) & visit->same_thread);
}

/* Whether the stamps are of one warp and one access, lane for lane. */
static bool is_row(const struct visit *visit, const uint64_t *earlier, const struct row *row) {
    uint64_t strays = 0;
    for (uint32_t i = 0; i < row->count; i++) strays |= (earlier[i] - earlier[0]) ^ (row->stamps[i] - row->stamps[0]);
    return !strays && races_distance(visit->block->races, earlier[0], earlier[row->count - 1]) <= 1;
}

static bool is_nothing(const uint64_t *earlier, uint32_t count) {
    uint64_t any = 0;
    for (uint32_t i = 0; i < count; i++) any |= earlier[i];
    return !any;
}

/* Whether an access next to the `first`, unordered with it, takes the place of the second. */
static bool takes_second(const struct visit *visit, uint64_t first, uint64_t second, uint64_t stamp) {
    const struct races *races = visit->block->races;
    return races_is_settled(visit->block, second) || is_own(visit, second, stamp) ||
           races_distance(races, first, stamp) >= races_distance(races, first, second);
}

/* Records the row together with what is unordered with it, where all that threads know of others is the block's settled ticks. */
static bool note_beside(struct visit *visit, const struct row *row) {
    const struct races_block *block = visit->block;
    uint64_t **planes = visit->page->stamps[visit->history], *first = &planes[0][row->cell];
    if (block->is_parted || !simt_clock_is_empty(block->seen)) return false;
    if (!simt_page_ensure(visit->page, &planes[1])) return false;
    uint64_t *second = &planes[1][row->cell];
    bool is_settled = races_is_settled(block, first[0]) || is_own(visit, first[0], row->stamps[0]);
    if (!is_settled && is_row(visit, first, row) && (is_nothing(second, row->count) || is_row(visit, second, row))) {
        if (takes_second(visit, first[0], second[0], row->stamps[0]))
            memcpy(second, row->stamps, row->count * sizeof *second);
        return true;
    }
    for (uint32_t i = 0; i < row->count; i++) {
        const uint64_t stamp = row->stamps[i];
        if (races_is_settled(block, first[i]) || is_own(visit, first[i], stamp)) first[i] = stamp;
        else if (takes_second(visit, first[i], second[i], stamp)) second[i] = stamp;
    }
    return true;
}

/* Stores over nobody's, or each over its own thread's, whose value others may still be reading. */
static bool note_stores(struct visit *visit, const struct row *row) {
    struct shadow_page *page = visit->page;
    uint64_t **planes = page->stamps[PLAIN_WRITES], *own = &planes[0][row->cell], *values = &page->values[row->cell];
    if (planes[1] && !are_settled(visit, &planes[1][row->cell], row->count)) return false;
    bool is_first = are_settled(visit, own, row->count);
    if (!is_first && !are_settled_or_own(visit, own, row->stamps, row->count)) return false;
    for (uint32_t i = 0; i < row->count; i++) {
        uint64_t value = visit_stored(visit->access, row->first + i / row->words, i % row->words * WORD_NBYTES,
                                      CELL_BITS_MAX);
        bool is_only = is_first || races_is_settled(visit->block, own[i]) || values[i] == value;
        values[i] = is_only ? value : value | VALUE_MIXED;
    }
    memcpy(own, row->stamps, row->count * sizeof *own);
    return true;
}

/* Handles the access completely on an open page; false: it takes a closer look, and nothing was done. */
static bool visit_row(struct visit *visit, struct row *row) {
    if (visit->page->cell_bits != CELL_BITS_MAX) return false;
    row->cell = page_cell(visit->page, visit->access->addresses[row->first]);
    stamp_row(visit, row);
    for (uint32_t i = 0; i < visit->rival_count; i++)
        if (!are_settled_or_own(visit, &visit->rivals[i][row->cell], row->stamps, row->count)) return false;
    if (visit->history == PLAIN_WRITES) return note_stores(visit, row);
    uint64_t *own = &visit->page->stamps[visit->history][0][row->cell];
    if (!are_settled_or_own(visit, own, row->stamps, row->count)) return note_beside(visit, row);
    memcpy(own, row->stamps, row->count * sizeof *own);
    return true;
}

/* The lanes of a row that begin in the page of the lane `first`: each is within one. */
static bool visit_page(struct visit *visit, uint32_t first, uint32_t end, uint32_t *next) {
    const simt_access *access = visit->access;
    const uint32_t nbytes = lane_nbytes(access);
    const uint64_t address = access->addresses[first], number = address >> PAGE_BITS;
    const uint32_t fit = (uint32_t)(PAGE_NBYTES - (address & (PAGE_NBYTES - 1))) / nbytes;
    struct row row;
    row.first = first;
    row.lanes = fit < end - first ? fit : end - first;
    row.words = nbytes / WORD_NBYTES;
    row.count = 0;
    *next = first + row.lanes;
    bool is_shared = access->space == SIMT_SHARED;
    visit->page = races_open(visit->block, is_shared, number);
    bool is_done = visit->page && simt_visit_prepare(visit) && visit_row(visit, &row);
    if (visit->page) races_close(visit->block, is_shared, number);
    visit->page = NULL;
    return is_done;
}

/* ---- one address for several lanes */

static bool all_know(const struct visit *visit, uint64_t stamp, enum history history) {
    return races_is_settled(visit->block, stamp) ||
           simt_order_all_know(visit->block, stamp, history == ATOMIC_READS || history == ATOMIC_WRITES);
}

/* Whether the lanes race with nobody, and none of them knows more than the others do. */
static bool is_quiet(const struct visit *visit, uint32_t cell) {
    for (uint32_t i = 0; i < visit->rival_count; i++)
        if (!all_know(visit, visit->rivals[i][cell], visit->rival_histories[i])) return false;
    uint64_t *const *planes = visit->page->stamps[visit->history];
    return !visit->block->is_parted || (all_know(visit, planes[0][cell], visit->history) &&
                                        (!planes[1] || all_know(visit, planes[1][cell], visit->history)));
}

/* One lane's stamp remains as the first, if that is not of another warp, and the last of the others' as the second, unless
 * one that is farther away has the place. */
static void note_one(const struct visit *visit, uint32_t lanes, uint32_t cell) {
    const struct races *races = visit->block->races;
    uint64_t *const *planes = visit->page->stamps[visit->history], *first = &planes[0][cell], *second = &planes[1][cell];
    uint32_t others = lanes;
    if (all_know(visit, *first, visit->history)) *first = visit_stamp(visit, first_lane(others));
    if (races_distance(races, *first, visit_stamp(visit, first_lane(others))) <= 1) {
        uint32_t lane = (uint32_t)stamp_field(*first, races->thread_shift, races->tick_shift) % races->view->warp_size;
        if (others >> lane & 1) *first = visit_stamp(visit, lane);
        others &= ~(UINT32_C(1) << lane);
    }
    const uint64_t stamp = visit_stamp(visit, last_lane(others));
    if (all_know(visit, *second, visit->history) ||
        races_distance(races, *first, stamp) >= races_distance(races, *first, *second))
        *second = stamp;
}

/* Handles the access completely on an open page; false: it takes a closer look, and nothing was done. */
static bool visit_one(struct visit *visit, uint32_t lanes) {
    const struct shadow_page *page = visit->page;
    const uint32_t first = page_cell(page, visit->access->addresses[first_lane(lanes)]),
                   end = first + (lane_nbytes(visit->access) >> page->cell_bits);
    if (!simt_page_ensure(page, &visit->page->stamps[visit->history][1])) return false;
    for (uint32_t cell = first; cell < end; cell++)
        if (!is_quiet(visit, cell)) return false;
    for (uint32_t cell = first; cell < end; cell++) note_one(visit, lanes, cell);
    return true;
}

/* Lanes, two at least, that read or update one address. */
static bool visit_same(struct visit *visit, uint32_t lanes) {
    bool is_shared = visit->access->space == SIMT_SHARED;
    uint64_t number = visit->access->addresses[first_lane(lanes)] >> PAGE_BITS;
    visit->page = races_open(visit->block, is_shared, number);
    bool is_done = visit->page && simt_visit_prepare(visit) && visit_one(visit, lanes);
    if (visit->page) races_close(visit->block, is_shared, number);
    visit->page = NULL;
    return is_done;
}

bool simt_visit_one(struct visit *visit) {
    const simt_access *access = visit->access;
    bool is_one = access->has_stride && !access->stride && access->lanes & (access->lanes - 1);
    return is_one && visit->history != PLAIN_WRITES && visit_same(visit, access->lanes);
}

/* ---- rows of several lanes */

/* The end of the lanes from `first` on that follow one another without a gap, `stride` from each to the next. */
static uint32_t run_end(const simt_access *access, uint32_t first, uint64_t stride) {
    const uint32_t gaps = ~access->lanes >> first, limit = gaps ? first + first_lane(gaps) : SIMT_LANES;
    uint32_t end = first + 1;
    while (end < limit && access->addresses[end] - access->addresses[end - 1] == stride) end++;
    return end;
}

static uint32_t lanes_between(uint32_t first, uint32_t end) { return UINT32_MAX >> (SIMT_LANES - (end - first)) << first; }

/* The lanes of a row from `first` to before `end`, except for those that were visited. */
static uint32_t visit_run(struct visit *visit, uint32_t first, uint32_t end) {
    uint32_t rest = 0;
    for (uint32_t next; first < end; first = next)
        if (!visit_page(visit, first, end, &next)) rest |= lanes_between(first, next);
    return rest;
}

/* One of the rows of a block of 8 x 8 threads and the like: of words, or of lanes at one word.  Returns its lanes, except for
 * those that were visited; shorter ones take no longer lane by lane. */
static uint32_t visit_part(struct visit *visit, uint32_t first, uint32_t *end) {
    enum { LANES_MIN = 4 };
    const simt_access *access = visit->access;
    const uint32_t nbytes = lane_nbytes(access), row_end = run_end(access, first, nbytes);
    *end = row_end > first + 1 ? row_end : run_end(access, first, 0);
    if (*end - first < LANES_MIN || access->addresses[first] % nbytes) return lanes_between(first, *end);
    if (row_end == *end) return visit_run(visit, first, *end);
    const bool is_done = visit->history != PLAIN_WRITES && visit_same(visit, lanes_between(first, *end));
    return is_done ? 0 : lanes_between(first, *end);
}

uint32_t simt_visit_row(struct visit *visit) {
    const simt_access *access = visit->access;
    uint32_t rest = access->lanes, closer = 0;
    if (access->element_nbytes < WORD_NBYTES || !rest) return rest;
    if (is_consecutive(access)) {
        if (access->addresses[first_lane(rest)] % lane_nbytes(access)) return rest;
        return visit_run(visit, first_lane(rest), last_lane(rest) + 1);
    }
    if (access->has_stride) return rest;
    for (uint32_t end; rest; rest &= ~lanes_between(first_lane(rest), end))
        closer |= visit_part(visit, first_lane(rest), &end);
    return closer;
}
