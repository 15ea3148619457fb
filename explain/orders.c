/* A sum in integers compared with the same sum in floats, in several orders. */
#include <math.h>
#include <string.h>

#include "private.h"

static float element(const struct explanation *explanation, uint64_t i) {
    const float *values = explanation->values;
    return i < explanation->n ? values[i] : 0;
}

static float add_forward(const struct explanation *explanation) {
    float sum = 0;
    for (uint64_t i = 0; i < explanation->n; i++) sum += element(explanation, i);
    return sum;
}

static float add_backward(const struct explanation *explanation) {
    float sum = 0;
    for (uint64_t i = explanation->n; i-- > 0;) sum += element(explanation, i);
    return sum;
}

/* The elements first, first + spacing, ... as rung 06's tree adds them: its last step joins the even and the odd ones. */
static float add_halves(const struct explanation *explanation, uint64_t first, uint64_t spacing) {
    if (spacing >= explanation->n) return element(explanation, first);
    return add_halves(explanation, first, 2 * spacing) + add_halves(explanation, first + spacing, 2 * spacing);
}

void explain_add_in_orders(struct explanation *explanation) {
    const float sums[] = {add_forward(explanation), add_backward(explanation), add_halves(explanation, 0, 1)};
    wf_value *const values[] = {&explanation->orders.forward, &explanation->orders.backward, &explanation->orders.halves};
    for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++) *values[i] = ladder_value(&sums[i], WF_F32);
}

bool explain_cells_hold(const float *values, uint64_t count) {
    double sum = 0; /* exact, as long as it is below 2^53 */
    for (uint64_t i = 0; i < count && sum < 0x1p31; i++) {
        if (values[i] != truncf(values[i])) return false;
        sum += fabsf(values[i]);
    }
    return sum < 0x1p31;
}
