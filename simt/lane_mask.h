/* The lanes of a warp as the bits of a word. */
#ifndef SIMT_LANE_MASK_H
#define SIMT_LANE_MASK_H

#include <stdint.h>
#include <stdio.h>

/* The number of lanes.  Most warps are full; otherwise the bits are added up in fields of two, four and eight, since
 * not every processor that this is compiled for has an instruction that counts them. */
static inline uint32_t lane_count(uint32_t lanes) {
    if (lanes == UINT32_MAX || !lanes) return lanes & 32;
    lanes -= lanes >> 1 & 0x55555555;
    lanes = (lanes & 0x33333333) + (lanes >> 2 & 0x33333333);
    return ((lanes + (lanes >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

/* The lowest and the highest of the lanes, of which there is at least one. */
static inline uint32_t first_lane(uint32_t lanes) {
    return (uint32_t)__builtin_ctz(lanes);
}

static inline uint32_t last_lane(uint32_t lanes) {
    return 31 - (uint32_t)__builtin_clz(lanes);
}

/* "lanes 0-15, 20, 22", or "lane 31" */
struct lane_text {
    char text[80]; /* of every second lane, and a zero */
    const char *be, *s; /* what a verb becomes: "are" or "is", "" or "s" */
};

static inline struct lane_text lane_text(uint32_t lanes) {
    const int is_one = lanes && !(lanes & (lanes - 1));
    struct lane_text written = {.be = is_one ? "is" : "are", .s = is_one ? "s" : ""};
    size_t length = (size_t)snprintf(written.text, sizeof written.text, !lanes ? "no lanes" : is_one ? "lane " : "lanes ");
    const size_t noun = length;
    for (uint32_t first = 0, last; first < 32; first = last + 1) {
        for (last = first; last < 31 && (lanes >> last & 3) == 3;) last++;
        if (!(lanes >> first & 1)) continue;
        const char *form = first == last ? "%s%u" : "%s%u-%u";
        length += (size_t)snprintf(written.text + length, sizeof written.text - length, form, length > noun ? ", " : "", (unsigned)first,
                                   (unsigned)last);
    }
    return written;
}

#define SIMT_FOR_EACH_LANE(lane, mask)                                                                             \
    for (uint32_t rest_ = (mask), lane; rest_ && (lane = (uint32_t)__builtin_ctz(rest_), 1); rest_ &= rest_ - 1)

#endif
