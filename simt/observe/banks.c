/* Counts the wavefronts of accesses to shared memory, and how far bank conflicts drive them up. */
#include "observe.h"
#include "counts.h"
#include "span.h"

enum { ACCESSES, WAVEFRONTS, WAVEFRONTS_LEAST, BYTES, COUNTS };

static const char *const names[COUNTS] = {"shared_accesses", "shared_wavefronts", "shared_wavefronts_least",
                                          "shared_bytes"};

struct tally {
    uint64_t counts[COUNTS];
    double degree; /* the greatest that an access had */
};

enum { WORD_NBYTES = 4, WORD_SHIFT = 2 };
enum {
    WORDS_MAX = 2 * SIMT_LANES
}; /* served together: 32, and one more for each lane were they misaligned */

struct wavefronts {
    uint32_t needed, least;
};

/* The fewest wavefronts that can deliver that many distinct words. */
static uint32_t rows(uint64_t words, uint32_t banks) {
    return (uint32_t)((words + banks - 1) >> __builtin_ctz(banks));
}

/* A row of the banks has one word for each bank; lanes that want at most a word are all served together. */
uint32_t simt_lanes_together(uint32_t nbytes, uint32_t warp_size, uint32_t banks) {
    uint32_t words = nbytes <= WORD_NBYTES ? 1 : nbytes >> WORD_SHIFT;
    uint32_t groups = rows(words * warp_size, banks);
    if (groups > words) groups = words;
    return groups < warp_size ? warp_size >> __builtin_ctz(groups) : 1;
}

/* The lanes' words as they come, each once, in a list for each bank. */
struct lists {
    uint64_t words[WORDS_MAX + 1];   /* from 1 */
    uint8_t previous[WORDS_MAX + 1]; /* the one before in the same bank; 0: none */
    uint8_t last[SIMT_LANES], heights[SIMT_LANES];
    uint32_t count, height;
    uint64_t highest;
};

static void add_word(struct lists *lists, uint64_t word, uint32_t banks) {
    uint32_t bank = (uint32_t)word & (banks - 1);
    if (word <= lists->highest) /* else it is new: lanes' addresses mostly rise */
        for (uint32_t i = lists->last[bank]; i; i = lists->previous[i])
            if (lists->words[i] == word) return;
    uint32_t i = ++lists->count;
    lists->words[i] = word;
    lists->previous[i] = lists->last[bank];
    lists->last[bank] = (uint8_t)i;
    if (++lists->heights[bank] > lists->height) lists->height = lists->heights[bank];
    if (word > lists->highest) lists->highest = word;
}

/* Lanes that are served together need as many wavefronts as the bank that most words are wanted of. */
static struct wavefronts serve_words(const simt_access *access, uint32_t lanes, uint32_t banks) {
    struct lists lists;
    lists.count = lists.height = 0;
    lists.highest = 0;
    for (uint32_t bank = 0; bank < banks; bank++) lists.last[bank] = lists.heights[bank] = 0;
    uint32_t nbytes = lane_nbytes(access);
    for (; lanes; lanes &= lanes - 1) {
        uint64_t address = access->addresses[first_lane(lanes)];
        uint64_t last = (address + nbytes - 1) >> WORD_SHIFT;
        for (uint64_t word = address >> WORD_SHIFT; word <= last; word++) add_word(&lists, word, banks);
    }
    return (struct wavefronts){lists.height, rows(lists.count, banks)};
}

static bool is_within_row(const simt_access *access, uint64_t low, uint64_t high, uint32_t banks) {
    return ((high + lane_nbytes(access) - 1) >> WORD_SHIFT) - (low >> WORD_SHIFT) < banks;
}

/* Words of one row, or of a part of two neighbours, lie in banks of their own. */
static bool is_one_row(const simt_access *access, uint32_t lanes, uint32_t banks) {
    uint64_t low = access->addresses[first_lane(lanes)], high = access->addresses[last_lane(lanes)];
    if (access->has_stride)
        return low < high ? is_within_row(access, low, high, banks) : is_within_row(access, high, low, banks);
    for (; lanes; lanes &= lanes - 1) {
        uint64_t address = access->addresses[first_lane(lanes)];
        if (address < low) low = address;
        if (address > high) high = address;
    }
    return is_within_row(access, low, high, banks);
}

/* Consecutive words lie in the banks one after the other. */
static struct wavefronts serve_consecutive(const simt_access *access, uint32_t lanes, uint32_t banks) {
    uint64_t begin = access->addresses[first_lane(lanes)];
    uint64_t last = access->addresses[last_lane(lanes)] + lane_nbytes(access) - 1;
    uint32_t least = rows((last >> WORD_SHIFT) - (begin >> WORD_SHIFT) + 1, banks);
    return (struct wavefronts){least, least};
}

static struct wavefronts serve(const simt_access *access, uint32_t lanes, uint32_t banks, bool consecutive) {
    if (consecutive) return serve_consecutive(access, lanes, banks);
    if (is_one_row(access, lanes, banks)) return (struct wavefronts){1, 1};
    return serve_words(access, lanes, banks);
}

uint32_t simt_wavefronts(const simt_access *access, uint32_t warp_size, uint32_t banks, uint32_t *least) {
    *least = 0;
    if (!access->lanes) return 0;
    bool consecutive = is_consecutive(access);
    uint32_t together = simt_lanes_together(lane_nbytes(access), warp_size, banks), needed = 0;
    uint32_t group = UINT32_MAX >> (SIMT_LANES - together);
    for (uint32_t first = 0; first < warp_size; first += together) {
        uint32_t lanes = access->lanes & group << first;
        if (!lanes) continue;
        struct wavefronts wavefronts = serve(access, lanes, banks, consecutive);
        needed += wavefronts.needed;
        *least += wavefronts.least;
    }
    return needed;
}

static void count_access(void *block, const simt_event *event, const simt_access *access) {
    if (access->space != SIMT_SHARED || !access->lanes) return;
    struct tally *tally = block;
    const simt_launch_view *launch = event->block->launch;
    uint32_t least, needed = simt_wavefronts(access, launch->warp_size, launch->banks, &least);
    tally->counts[ACCESSES]++;
    tally->counts[WAVEFRONTS] += needed;
    tally->counts[WAVEFRONTS_LEAST] += least;
    tally->counts[BYTES] += lane_count(access->lanes) * lane_nbytes(access);
    if (needed > tally->degree * least) tally->degree = (double)needed / least;
}

static void end_block(void *launch, void *block, const simt_block_view *view) {
    (void)view;
    struct tally *total = launch;
    const struct tally *tally = block;
    counts_add(total->counts, tally->counts, COUNTS);
    if (tally->degree > total->degree) total->degree = tally->degree;
}

/* Degrees are 1 where nothing met a conflict, and where there was no access. */
static void end_launch(void *launch, simt_report *report) {
    const struct tally *tally = launch;
    const uint64_t *counts = tally->counts;
    counts_report(report, names, counts, COUNTS);
    simt_report_add(report, "bank_degree", tally->degree > 1 ? tally->degree : 1);
    simt_report_add(report, "bank_degree_mean",
                    share((double)counts[WAVEFRONTS], (double)counts[WAVEFRONTS_LEAST]));
}

const struct simt_observer simt_observe_banks = {
    .name = "banks",
    .launch_nbytes = sizeof(struct tally),
    .block_nbytes = sizeof(struct tally),
    .access = count_access,
    .block_end = end_block,
    .launch_end = end_launch,
};
