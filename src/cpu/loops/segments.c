/* Segments of a vector as columns of a tile: squares of elements are turned in registers.  Compiled for each tier and
 * type. */
#include "cpu/loops/vector.h"

#include <string.h>

typedef uword vcells __attribute__((vector_size(LANES * sizeof(uword))));

/* A segment that becomes a column, and what fills it up: an element in each lane. */
struct segment {
    const unsigned char *x;
    int64_t count, readable; /* elements, and those that may be read from its first on */
    vu64 filling;
};

/* bits: of what fills up; NULL: the first element.  An empty segment is all 0. */
INLINE struct segment segment_at(const unsigned char *x, const int64_t *offset, size_t c, size_t count, const uint64_t *bits) {
    uword filling = 0;
    if (c >= count || offset[c] == offset[c + 1]) return (struct segment){x, 0, 0, {0}};
    const unsigned char *from = x + offset[c] * (int64_t)sizeof(uword);
    memcpy(&filling, bits ? (const unsigned char *)bits : from, sizeof filling);
    return (struct segment){from, offset[c + 1] - offset[c], offset[count] - offset[c], (vu64){0} + (uint64_t)filling};
}

/* LANES elements from the one at `first` on. */
INLINE vf64 piece_of_segment(const struct segment *segment, int64_t first) {
    const vi64 place = {EACH_LANE(SAME_LANE, 0)};
    vcells cells = {0};
    const unsigned char *from = segment->x + first * (int64_t)sizeof(uword);
    if (first + LANES <= segment->readable)
        memcpy(&cells, from, sizeof cells);
    else if (first < segment->count)
        memcpy(&cells, from, (size_t)(segment->count - first) * sizeof(uword)); /* fewer than LANES */
    vu64 is_used = (vu64)(place < segment->count - first);
    return (vf64)((__builtin_convertvector(cells, vu64) & is_used) | (segment->filling & ~is_used));
}

/* Turns rows into columns. */
INLINE void turn(vf64 square[LANES]) {
    UNROLLED
    for (int distance = 1; distance < LANES; distance *= 2) {
        UNROLLED
        for (int i = 0; i < LANES; i++) {
            if (i & distance) continue;
            vf64 a = square[i], b = square[i + distance];
            square[i] = left_lanes(a, b, distance);
            square[i + distance] = right_lanes(a, b, distance);
        }
    }
}

wf_fill_segments_function WF_LOOPS_NAME(fill_segments, TYPE, TIER);

void WF_LOOPS_NAME(fill_segments, TYPE, TIER)(unsigned char *tile, size_t pitch, size_t rows, const unsigned char *x,
                                              const int64_t *offset, size_t count, const uint64_t *bits) {
    for (size_t c = 0; c < pitch; c += LANES) {
        struct segment segment[LANES];
        for (size_t i = 0; i < LANES; i++) segment[i] = segment_at(x, offset, c + i, count, bits);
        for (size_t r = 0; r < rows; r += LANES) {
            vf64 square[LANES];
            UNROLLED
            for (int i = 0; i < LANES; i++) square[i] = piece_of_segment(&segment[i], (int64_t)r);
            turn(square);
            UNROLLED
            for (size_t i = 0; i < LANES; i++) {
                vcells cells = __builtin_convertvector((vu64)square[i], vcells);
                memcpy(tile + ((r + i) * pitch + c) * sizeof(uword), &cells, sizeof cells);
            }
        }
    }
}
