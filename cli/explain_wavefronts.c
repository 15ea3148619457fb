#include "explain_wavefronts.h"

#include "banks.h"

enum { WORD_NBYTES = 4 };

/* Each bank gives one of its words in each wavefront: words wait for each other in the order of the lanes. */
static uint32_t wavefront_of(const struct wanted *served, uint32_t count, uint64_t word, uint32_t banks) {
    uint32_t wavefront = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (served[i].word == word) return served[i].wavefront;
        if (served[i].word % banks == word % banks && served[i].wavefront >= wavefront)
            wavefront = served[i].wavefront + 1;
    }
    return wavefront;
}

/* Of lanes that are served together. */
static uint32_t serve_lanes(const simt_access *access, uint32_t lanes, uint32_t banks, struct wanted *wanted,
                            uint32_t capacity) {
    uint32_t count = 0;
    for (; lanes; lanes &= lanes - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(lanes);
        uint64_t first = access->addresses[lane];
        uint64_t last = (first + (uint64_t)access->element_nbytes * access->elements - 1) / WORD_NBYTES;
        for (uint64_t word = first / WORD_NBYTES; word <= last && count < capacity; word++, count++)
            wanted[count] = (struct wanted){lane, wavefront_of(wanted, count, word, banks), word};
    }
    return count;
}

uint32_t wavefronts_serve(const struct walk *walk, const simt_access *access,
                          struct wanted wanted[WANTED_MAX]) {
    uint32_t warp_size = walk->launch.warp_size, banks = walk->launch.banks, count = 0, past = 0;
    uint32_t together = simt_lanes_together(access->element_nbytes * access->elements, warp_size, banks);
    uint32_t group = UINT32_MAX >> (SIMT_LANES - together);
    for (uint32_t first = 0; first < warp_size; first += together) {
        uint32_t next = past;
        uint32_t added =
            serve_lanes(access, access->lanes & group << first, banks, &wanted[count], WANTED_MAX - count);
        for (uint32_t i = count; i < count + added; i++) {
            wanted[i].wavefront += past;
            if (wanted[i].wavefront >= next) next = wanted[i].wavefront + 1;
        }
        count += added;
        past = next;
    }
    return count;
}
