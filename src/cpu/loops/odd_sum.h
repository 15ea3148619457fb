/* A sum of two rounded to odd, so that what it is added to is rounded once. */
#ifndef WF_CPU_LOOPS_ODD_SUM_H
#define WF_CPU_LOOPS_ODD_SUM_H

#include "cpu/loops/two_sum.h"

INLINE vf64 odd_sum(vf64 a, vf64 b) {
    struct pair sum = two_sum(a, b);
    return round_to_odd(sum.high, sum.low);
}

#endif
