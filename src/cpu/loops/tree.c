#include "cpu/loops/tree.h"

void multiply_neighbours(struct factors to, struct factors from, int count) {
    double *restrict to_hi = to.hi, *restrict to_lo = to.lo;
    int32_t *restrict to_exponent = to.exponent;
    for (int i = 0; i < count; i++) {
        struct wf_factor a = {from.hi[2 * i], from.lo[2 * i], from.exponent[2 * i]};
        struct wf_factor b = {from.hi[2 * i + 1], from.lo[2 * i + 1], from.exponent[2 * i + 1]};
        struct wf_factor product = wf_factor_multiply(a, b);
        to_hi[i] = product.hi;
        to_lo[i] = product.lo;
        to_exponent[i] = (int32_t)product.exponent;
    }
}
