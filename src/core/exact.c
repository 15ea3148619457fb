#include "core/exact.h"

#define ROOM (INT64_C(1) << 30)

void wf_exact_clear(struct wf_exact *x, int low_exponent, int high_exponent) {
    x->low_exponent = low_exponent;
    x->digit_count = wf_exact_digit_count(low_exponent, high_exponent);
    x->room = ROOM;
    memset(x->digit, 0, (size_t)x->digit_count * sizeof x->digit[0]);
}

void wf_exact_normalise(struct wf_exact *x) {
    int64_t carry = 0;
    for (int i = 0; i < x->digit_count - 1; i++) {
        carry += x->digit[i];
        x->digit[i] = (uint32_t)carry;
        carry >>= 32;
    }
    int64_t *last = &x->digit[x->digit_count - 1];
    *last = (int64_t)((uint64_t)*last + (uint64_t)carry);
    x->room = ROOM;
}

void wf_exact_add(struct wf_exact *into, const struct wf_exact *from) {
    wf_exact_normalise(into);
    for (int i = 0; i < into->digit_count; i++)
        into->digit[i] = (int64_t)((uint64_t)into->digit[i] + (uint64_t)from->digit[i]);
    wf_exact_normalise(into);
}
