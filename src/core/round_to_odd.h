/* Sums of two f64 on their way to a narrower type. */
#ifndef WF_CORE_ROUND_TO_ODD_H
#define WF_CORE_ROUND_TO_ODD_H

#include <stdint.h>
#include <string.h>

/* a + b rounded to odd where it is not exact, so that rounding it again to fewer bits is rounding once (Boldo,
 * Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008). */
static inline double wf_add_rounding_to_odd(double a, double b) {
    double sum = a + b, part = sum - a, error = (a - (sum - part)) + (b - part);
    int64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    if (error != 0 && !(bits & 1)) bits += (error > 0) == (sum > 0) ? 1 : -1;
    memcpy(&sum, &bits, sizeof bits);
    return sum;
}

#endif
