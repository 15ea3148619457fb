/* Counts what accesses to global memory ask of it: 128-byte lines and 32-byte sectors, and how much of the
 * sectors was wanted. */
#include <string.h>

#include "counts.h"
#include "observe.h"
#include "span.h"

enum { LINE_SHIFT = 7, SECTOR_SHIFT = 5 };
enum { SHIFTS_MAX = SIMT_PIECES };
enum { KINDS = SIMT_ATOMIC + 1 };
enum { ACCESSES, REQUESTS, SECTORS, BYTES, COUNTS };

static const char *const names[COUNTS] = {"global_accesses", "global_requests", "global_sectors",
                                          "global_bytes"};
static const char *const names_of_kind[KINDS][COUNTS] = {
    [SIMT_LOAD] = {"global_load_accesses", "global_load_requests", "global_load_sectors",
                   "global_load_bytes"},
    [SIMT_STORE] = {"global_store_accesses", "global_store_requests", "global_store_sectors",
                    "global_store_bytes"},
    [SIMT_ATOMIC] = {"global_atomic_accesses", "global_atomic_requests", "global_atomic_sectors",
                     "global_atomic_bytes"},
};

/* The places at which lanes' spans begin, in order of the address. */
struct begins {
    uint64_t addresses[SIMT_LANES];
    uint32_t count;
};

static void sort_begins(const simt_access *access, struct begins *begins) {
    uint64_t *sorted = begins->addresses;
    uint32_t count = 0;
    for (uint32_t rest = access->lanes; rest; rest &= rest - 1) {
        uint64_t address = access->addresses[first_lane(rest)];
        uint32_t at = count++;
        for (; at && sorted[at - 1] > address; at--) sorted[at] = sorted[at - 1];
        sorted[at] = address;
    }
    begins->count = count;
}

/* counts[i]: distinct aligned pieces of 2^shifts[i] bytes in spans of nbytes each. */
static inline void count_pieces(const struct begins *begins, uint32_t nbytes, const uint32_t *shifts,
                                uint32_t *counts, uint32_t count) {
    uint64_t next[SHIFTS_MAX] = {0}; /* the first piece that is not counted yet */
    for (uint32_t i = 0; i < count; i++) counts[i] = 0;
    for (uint32_t at = 0; at < begins->count; at++) {
        uint64_t begin = begins->addresses[at], last = begin + nbytes - 1;
        for (uint32_t i = 0; i < count; i++) {
            uint64_t first = begin >> shifts[i], end = (last >> shifts[i]) + 1;
            if (first < next[i]) first = next[i];
            counts[i] += end > first ? (uint32_t)(end - first) : 0;
            next[i] = end > next[i] ? end : next[i];
        }
    }
}

/* Counts the lines of lanes that together touch one span without gaps. */
static inline void count_whole(const simt_access *access, uint32_t nbytes, const uint32_t *shifts,
                               uint32_t *counts, uint32_t count) {
    uint64_t begin = access->addresses[first_lane(access->lanes)];
    uint64_t last = access->addresses[last_lane(access->lanes)] + nbytes - 1;
    for (uint32_t i = 0; i < count; i++)
        counts[i] = (uint32_t)((last >> shifts[i]) - (begin >> shifts[i]) + 1);
}

/* Counts the pieces of lanes that lie `stride` from one another, which are aligned and do not overlap: pieces not smaller
 * than the stride are all those between the ends, smaller ones each lane's own. */
static inline void count_steps(const simt_access *access, uint32_t nbytes, const uint32_t *shifts, uint32_t *counts,
                               uint32_t count) {
    const uint64_t one = access->addresses[first_lane(access->lanes)],
                   other = access->addresses[last_lane(access->lanes)];
    const bool rises = !(access->stride >> 63);
    const uint64_t begin = rises ? one : other, end = (rises ? other : one) + nbytes - 1,
                   stride = rises ? access->stride : -access->stride;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t piece = UINT64_C(1) << shifts[i];
        counts[i] = stride <= piece ? (uint32_t)((end >> shifts[i]) - (begin >> shifts[i]) + 1)
                                    : lane_count(access->lanes) * (piece < nbytes ? nbytes >> shifts[i] : 1);
    }
}

/* The lanes' addresses one after another, the last one in the places of lanes that take no part. */
static void list_addresses(const simt_access *access, uint64_t addresses[SIMT_LANES]) {
    uint32_t count = 0;
    if (access->lanes == UINT32_MAX) memcpy(addresses, access->addresses, SIMT_LANES * sizeof *addresses);
    else
        for (uint32_t rest = access->lanes; rest; rest &= rest - 1)
            addresses[count++] = access->addresses[first_lane(rest)];
    while (count && count < SIMT_LANES) addresses[count] = addresses[count - 1], count++;
}

/* Where no lane's span is before that of the one before it, as in the rows of a tile, a number that differs from the last
 * one is new.  The loops have no branches, so that the compiler can make vectors of them.  false: they are in another order. */
static inline bool count_rising(const uint64_t addresses[SIMT_LANES], const uint32_t *shifts, uint32_t *counts,
                                uint32_t count) {
    uint64_t falls = 0;
    for (uint32_t lane = 1; lane < SIMT_LANES; lane++) falls |= addresses[lane] - addresses[lane - 1];
    if (falls >> 63) return false;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t steps = 1;
        for (uint32_t lane = 1; lane < SIMT_LANES; lane++)
            steps += addresses[lane] >> shifts[i] != addresses[lane - 1] >> shifts[i];
        counts[i] = (uint32_t)steps;
    }
    return true;
}

/* Where the second half of the lanes wants the same as the first, as in a block of 16 x 16 all rows read one, the first stands for
 * both, and so on.  Whether it does. */
static inline bool drop_repeats(uint64_t addresses[SIMT_LANES]) {
    uint32_t count = SIMT_LANES;
    while (count > 1 && !memcmp(addresses, addresses + count / 2, count / 2 * sizeof *addresses)) count /= 2;
    for (uint32_t lane = count; lane < SIMT_LANES; lane++) addresses[lane] = addresses[count - 1];
    return count < SIMT_LANES;
}

/* How many different numbers addresses have, each shifted. */
static uint32_t count_distinct(const simt_access *access, uint32_t shift) {
    enum { SLOT_BITS = 6 }; /* twice as many as lanes */
    uint64_t slots[1 << SLOT_BITS] = {0}, previous = 0;
    uint32_t count = 0;
    for (uint32_t rest = access->lanes; rest; rest &= rest - 1) {
        const uint64_t key = (access->addresses[first_lane(rest)] >> shift) + 1;
        if (key == previous) continue;
        previous = key;
        uint64_t slot = key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SLOT_BITS);
        while (slots[slot] && slots[slot] != key) slot = (slot + 1) % (1 << SLOT_BITS);
        count += !slots[slot];
        slots[slot] = key;
    }
    return count;
}

/* Whether the lanes' spans are aligned, so that they are the same or apart, and each is within one piece that is not
 * smaller. */
static bool are_aligned(const simt_access *access, uint32_t nbytes) {
    uint64_t low_bits = nbytes & (nbytes - 1);
    for (uint32_t rest = access->lanes; rest; rest &= rest - 1)
        low_bits |= access->addresses[first_lane(rest)] & (nbytes - 1);
    return !low_bits;
}

static inline void count_scattered(const simt_access *access, uint32_t nbytes, const uint32_t *shifts, uint32_t *counts,
                                   uint32_t count) {
    const uint32_t own = (uint32_t)__builtin_ctz(nbytes);
    uint64_t addresses[SIMT_LANES];
    uint32_t coarse[SHIFTS_MAX];
    for (uint32_t i = 0; i < count; i++) coarse[i] = shifts[i] > own ? shifts[i] : own;
    list_addresses(access, addresses);
    if (!count_rising(addresses, coarse, counts, count) &&
        !(drop_repeats(addresses) && count_rising(addresses, coarse, counts, count)))
        for (uint32_t i = 0; i < count; i++) counts[i] = count_distinct(access, coarse[i]);
    for (uint32_t i = 0; i < count; i++) counts[i] <<= coarse[i] - shifts[i];
}

static inline void count_each(const simt_access *access, const uint32_t *shifts, uint32_t *counts,
                              uint32_t count) {
    uint32_t nbytes = lane_nbytes(access);
    if (is_consecutive(access)) {
        count_whole(access, nbytes, shifts, counts, count);
        return;
    }
    if (access->has_stride) {
        count_steps(access, nbytes, shifts, counts, count);
        return;
    }
    if (are_aligned(access, nbytes)) {
        count_scattered(access, nbytes, shifts, counts, count);
        return;
    }
    struct begins begins;
    sort_begins(access, &begins);
    count_pieces(&begins, nbytes, shifts, counts, count);
}

uint32_t simt_lines(const simt_access *access, uint32_t line_nbytes) {
    uint32_t shift = (uint32_t)__builtin_ctz(line_nbytes), lines = 0;
    if (access->lanes) count_each(access, &shift, &lines, 1);
    return lines;
}

void simt_pieces(const simt_access *access, uint32_t counts[SIMT_PIECES]) {
    static const uint32_t shifts[SIMT_PIECES] = {
        [SIMT_PIECE_LINE] = LINE_SHIFT, [SIMT_PIECE_SECTOR] = SECTOR_SHIFT, [SIMT_PIECE_BYTE] = 0};
    count_each(access, shifts, counts, SIMT_PIECES);
}

static void count_access(void *block, const simt_event *event, const simt_access *access) {
    (void)event;
    if (access->space != SIMT_GLOBAL || !access->lanes) return;
    uint32_t pieces[SIMT_PIECES];
    simt_pieces(access, pieces);
    uint64_t *counts = (uint64_t *)block + access->kind * COUNTS;
    counts[ACCESSES]++;
    counts[REQUESTS] += pieces[SIMT_PIECE_LINE];
    counts[SECTORS] += pieces[SIMT_PIECE_SECTOR];
    counts[BYTES] += pieces[SIMT_PIECE_BYTE];
}

static void end_block(void *launch, void *block, const simt_block_view *view) {
    (void)view;
    counts_add(launch, block, KINDS * COUNTS);
}

static void end_launch(void *launch, simt_report *report) {
    const uint64_t *counts = launch;
    uint64_t totals[COUNTS] = {0};
    for (uint32_t kind = 0; kind < KINDS; kind++) counts_add(totals, counts + kind * COUNTS, COUNTS);
    counts_report(report, names, totals, COUNTS);
    simt_report_add(report, "coalescing",
                    share((double)totals[BYTES], (double)(totals[SECTORS] << SECTOR_SHIFT)));
    for (uint32_t kind = 0; kind < KINDS; kind++)
        counts_report(report, names_of_kind[kind], counts + kind * COUNTS, COUNTS);
}

const struct simt_observer simt_observe_requests = {
    .name = "requests",
    .launch_nbytes = KINDS * COUNTS * sizeof(uint64_t),
    .block_nbytes = KINDS * COUNTS * sizeof(uint64_t),
    .access = count_access,
    .block_end = end_block,
    .launch_end = end_launch,
};
