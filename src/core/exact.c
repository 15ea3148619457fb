#include "core/exact.h"

WF_HOT void wf_exact_normalise(struct wf_exact x) {
    int64_t carry = 0;
    for (int i = 0; i < x.digit_count - 1; i++) {
        carry += x.digit[i];
        x.digit[i] = (uint32_t)carry;
        carry >>= 32;
    }
    int64_t *last = &x.digit[x.digit_count - 1];
    *last = (int64_t)((uint64_t)*last + (uint64_t)carry);
}

void wf_exact_add(struct wf_exact into, struct wf_exact from) {
    wf_exact_normalise(into);
    for (int i = 0; i < into.digit_count; i++)
        into.digit[i] = (int64_t)((uint64_t)into.digit[i] + (uint64_t)from.digit[i]);
    wf_exact_normalise(into);
}
