#include "cpu/pairs.h"
#include "core/environment.h"
#include "core/threads.h"
#include "cpu/workers.h"

#include <float.h>

_Static_assert(FLT_EVAL_METHOD == 0, "an addition of two f32 is rounded to f32");

struct pairs {
    wf_type type;
    const unsigned char *row[2];
    unsigned char *results;
    int64_t count, share; /* results, and how many of them a thread takes */
};

/* IEEE addition is right for zeros, infinities and subnormals, too; of NaNs only the canonical one is returned. */
#define ADD_ROWS(name, real, bits, nan)                                                                       \
    static void name(const unsigned char *x, const unsigned char *y, unsigned char *results, int64_t count) { \
        const bits canonical = nan;                                                                           \
        real a, b, none;                                                                                      \
        memcpy(&none, &canonical, sizeof none);                                                               \
        for (int64_t i = 0; i < count; i++) {                                                                 \
            memcpy(&a, x + i * (int64_t)sizeof a, sizeof a);                                                  \
            memcpy(&b, y + i * (int64_t)sizeof b, sizeof b);                                                  \
            a += b;                                                                                           \
            a = a == a ? a : none;                                                                            \
            memcpy(results + i * (int64_t)sizeof a, &a, sizeof a);                                            \
        }                                                                                                     \
    }

ADD_ROWS(add_f32, float, uint32_t, UINT32_C(0x7fc00000))
ADD_ROWS(add_f64, double, uint64_t, UINT64_C(0x7ff8000000000000))

static void add_share(void *context, int i) {
    const struct pairs *pairs = context;
    const int64_t nbytes = (int64_t)wf_type_nbytes(pairs->type), first = i * pairs->share, left = pairs->count - first;
    const wf_environment callers = wf_environment_enter();
    (pairs->type == WF_F32 ? add_f32 : add_f64)(pairs->row[0] + first * nbytes, pairs->row[1] + first * nbytes,
                                                pairs->results + first * nbytes, left < pairs->share ? left : pairs->share);
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
