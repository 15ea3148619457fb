/* What is computed for an op of a tally, and what its results are. */
#include "core/ops.h"
#include "io/tally.h"
#include "io/tally_parts.h"

/* ---- what the engine computes ---- */

static bool is_indexed(wf_op op) {
    return op == WF_ARGMIN || op == WF_ARGMAX;
}

bool wf_tally_carries(wf_op carrier, wf_op op) {
    const unsigned parts = wf_op_parts(op);
    return op == carrier || (carrier != WF_XOR && (parts & wf_op_parts(carrier)) == parts && !is_indexed(op));
}

static const wf_value zero = {.type = WF_I64};

wf_reduction wf_tally_reduction(const struct wf_tally *tally, wf_op op) {
    const struct wf_tally_settings *settings = &tally->settings;
    wf_reduction reduction = wf_reduction_of(op);
    reduction.nan = settings->nan == WF_NAN_ERROR ? WF_NAN_PROPAGATE : settings->nan; /* the reader finds NaNs */
    reduction.ddof = settings->ddof;
    reduction.result_type = wf_op_gives_value(op) ? settings->result_type : WF_TYPE_DEFAULT;
    reduction.fill = &zero;
    reduction.flags = WF_SKIP_BAD_KEYS;
    return reduction;
}

/* ---- results ---- */

wf_type wf_tally_result_type(const struct wf_tally *tally, wf_op op) {
    const struct wf_tally_settings *settings = &tally->settings;
    if (op == WF_TALLY_COUNT) return WF_U64;
    if (wf_tally_is_of_order(op)) return wf_tally_order_type(tally, op);
    if (settings->result_type && wf_op_gives_value(op)) return settings->result_type;
    return wf_op_result_type(op, settings->type);
}

bool wf_tally_is_scaled(const struct wf_tally *tally, wf_op op) {
    if (tally->settings.decimals == WF_NO_DECIMALS) return false;
    return op == WF_SUM || op == WF_MIN || op == WF_MAX || op == WF_NORM1 || op == WF_NORMINF;
}

bool wf_tally_counts_rows(const struct wf_tally *tally) {
    const struct wf_tally_settings *settings = &tally->settings;
    return tally->by_count && tally->column_count == 1 && !*tally->name[0] && settings->op_count == 1 &&
           settings->op[0] == WF_TALLY_COUNT;
}

int64_t wf_tally_least_count(const struct wf_tally *tally, wf_op op) {
    if (wf_tally_is_of_order(op)) return op != WF_TALLY_DISTINCT;
    switch (op) {
    case WF_MIN: case WF_MAX: case WF_ARGMIN: case WF_ARGMAX: case WF_MEAN: return 1;
    case WF_VAR: case WF_STD: return tally->settings.ddof + 1;
    default: return 0;
    }
}
