/* What sums may lack of the exact ones: nothing that matters, where one result is made of them and nothing else.  A sum that
 * no window of few levels covers would take several times as long as another; but its result mostly depends on the highest
 * bits only.  So what is below them is left out, with a bound of how much that is.  Where the result is the same at either
 * end of what the sums may be, it is the exact one's; elsewhere the sums are made again, exactly. */
#ifndef WF_CORE_LOSSES_H
#define WF_CORE_LOSSES_H

#include "core/portable.h"

/* At most units * 2^exponent. */
struct wf_bound {
    uint64_t units;
    int32_t exponent;
};

/* How much may be lost: less in a second attempt, where the result of the first was not certain, as that of a sum that cancels;
 * else nothing. */
enum wf_loss { WF_LOSE_MUCH, WF_LOSE_LITTLE, WF_LOSE_NOTHING };

struct wf_losses {
    struct wf_bound sum, products; /* of the sum of values or magnitudes, and of that of products */
    enum wf_loss allowed;
    bool nans_decide; /* with a NaN, there is nothing else to be known */
    bool are_many;    /* there are so many elements that sums of narrow types lose less of each */
};

static inline void wf_bound_add(struct wf_bound *into, struct wf_bound more) {
    const struct wf_bound least = into->exponent < more.exponent ? *into : more;
    struct wf_bound sum = into->exponent < more.exponent ? more : *into;
    const int32_t shift = sum.exponent - least.exponent;
    if (!more.units) return;
    if (!into->units) sum = more;
    if (into->units) sum.units += (shift < 64 ? least.units >> shift : 0) + 1;
    *into = sum;
}

/* Begins a further attempt, in which less may be lost. */
static inline void wf_losses_lessen(struct wf_losses *losses) {
    const enum wf_loss less = losses->allowed == WF_LOSE_MUCH ? WF_LOSE_LITTLE : WF_LOSE_NOTHING;
    const struct wf_losses none = {{0, 0}, {0, 0}, less, false, false};
    *losses = none;
}

static inline void wf_losses_join(struct wf_losses *into, const struct wf_losses *from) {
    wf_bound_add(&into->sum, from->sum);
    wf_bound_add(&into->products, from->products);
}

static inline bool wf_losses_are_none(const struct wf_losses *losses) {
    return !losses->sum.units && !losses->products.units;
}

#endif
