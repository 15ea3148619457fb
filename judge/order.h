/* Another order of the same launch, in which what raced does not: whether it leaves a right result tells whether the race is why
 * that was wrong. */
#ifndef JUDGE_ORDER_H
#define JUDGE_ORDER_H

#include "simt.h"

enum { HELD_MAX = 16 };

/* The races of one launch. */
struct order {
    simt_held_lines held[HELD_MAX]; /* lines that a barrier must come before */
    size_t held_count;
    bool has_others;   /* races that no barrier cures: a read and a write of one element that must be one step */
    bool is_uncertain; /* no order tells: threads overwrite one element, or a compiler may have moved what lanes of a warp exchange */
};

void order_of(const simt_report *report, struct order *order);

#endif
