#include "cpu/pairs.h"
#include "core/environment.h"
#include "core/threads.h"
#include "cpu/workers.h"

#include <float.h>
#include <math.h>

_Static_assert(FLT_EVAL_METHOD == 0, "an addition of two f32 is rounded to f32");

struct pairs {
    wf_type type;
    const unsigned char *row[2];
    unsigned char *results;
    int64_t count, share; /* results, and how many of them a thread takes */
};

/* IEEE addition is right for zeros, infinities and subnormals, too; of NaNs only the canonical one, NAN, is returned. */
static inline void add_f32(const unsigned char *x, const unsigned char *y, unsigned char *result) {
    float a, b;
    memcpy(&a, x, sizeof a);
    memcpy(&b, y, sizeof b);
    a += b;
    a = a == a ? a : NAN;
    memcpy(result, &a, sizeof a);
}

static inline void add_f64(const unsigned char *x, const unsigned char *y, unsigned char *result) {
    double a, b;
    memcpy(&a, x, sizeof a);
    memcpy(&b, y, sizeof b);
    a += b;
    a = a == a ? a : (double)NAN;
    memcpy(result, &a, sizeof a);
}

static void add_rows(wf_type type, const unsigned char *x, const unsigned char *y, unsigned char *results, int64_t count) {
    if (type == WF_F32)
        for (int64_t i = 0; i < count; i++) add_f32(x + i * 4, y + i * 4, results + i * 4);
    else
        for (int64_t i = 0; i < count; i++) add_f64(x + i * 8, y + i * 8, results + i * 8);
}

static void add_share(void *context, int i) {
    const struct pairs *pairs = context;
    const int64_t nbytes = (int64_t)wf_type_nbytes(pairs->type), first = i * pairs->share, left = pairs->count - first;
    const wf_environment callers = wf_environment_enter();
    add_rows(pairs->type, pairs->row[0] + first * nbytes, pairs->row[1] + first * nbytes, pairs->results + first * nbytes,
             left < pairs->share ? left : pairs->share);
    wf_environment_leave(callers);
}

static bool are_pairs(const struct wf_grouped *grouped) {
    const struct wf_layout *layout = grouped->layout;
    const struct wf_accumulator *empty = grouped->empty;
    const int64_t nbytes = (int64_t)wf_type_nbytes(empty->type);
    return empty->op == WF_SUM && empty->nan == WF_NAN_PROPAGATE &&
           (empty->type == WF_F32 || empty->type == WF_F64) && grouped->result_type == empty->type && layout->axis < 0 &&
           layout->reduced_count == 2 && layout->ndim == 1 && layout->count && layout->stride_bytes[0][0] == nbytes &&
           (!grouped->output->stride_bytes || grouped->output->stride_bytes[0] == nbytes);
}

bool wf_cpu_try_pairs(wf_handle *handle, const struct wf_grouped *grouped) {
    enum { LEAST_SHARE = 1 << 16 }; /* results */
    struct wf_view view;
    if (!are_pairs(grouped)) return false;
    wf_layout_view(grouped->layout, &view, grouped->a, NULL, false);
    struct pairs pairs = {.type = grouped->empty->type, .results = grouped->output->data, .count = grouped->layout->count};
    pairs.row[0] = view.data[0];
    pairs.row[1] = view.data[0] + view.stride_bytes[0][0];
    int threads = wf_cpu_threads(handle);
    if (pairs.count / LEAST_SHARE < threads) threads = (int)(pairs.count / LEAST_SHARE) + 1;
    pairs.share = pairs.count / threads + (pairs.count % threads != 0);
    wf_threads_run(((struct cpu *)handle->device_state)->threads, threads, add_share, &pairs);
    return true;
}
