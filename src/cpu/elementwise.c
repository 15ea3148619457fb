#include "cpu/elementwise.h"
#include "core/environment.h"
#include "core/ops.h"
#include "core/strided.h"
#include "core/threads.h"
#include "cpu/workers.h"

#include <float.h>
#include <math.h>

_Static_assert(FLT_EVAL_METHOD == 0, "an addition of two f32 is rounded to f32");

/* What the bits of an element become: they are masked; but if the magnitude is above the largest, the result is NaN.  Of
 * counts: whether the magnitude is not 0, and what is added to that. */
struct masks {
    uint64_t kept, magnitude, largest, nan;
    uint64_t base;
};

/* What the threads share. */
struct elementwise {
    wf_type type;
    wf_copy_strided_function *copy_strided;
    const unsigned char *row[2];
    int64_t stride_bytes; /* from an element to the next result's */
    unsigned char *results;
    size_t result_nbytes;
    int64_t count, share; /* results, and how many of them a thread takes */
    struct masks masks;
    void (*map)(const struct elementwise *of, int64_t first, int64_t count);
};

/* ---- two elements: their sum or their mean ---- */

#define REAL float
#define WORD uint32_t
#define LARGEST UINT32_C(0x7f7fffff)
#define NAME(name) name##_f32
#include "cpu/two_elements.h"

#define REAL double
#define WORD uint64_t
#define LARGEST UINT64_C(0x7fefffffffffffff)
#define NAME(name) name##_f64
#include "cpu/two_elements.h"

static void add_rows(const struct elementwise *of, int64_t first, int64_t count) {
    const size_t begin = (size_t)first * of->result_nbytes;
    const unsigned char *x = of->row[0] + begin, *y = of->row[1] + begin;
    (of->type == WF_F32 ? add_some_f32 : add_some_f64)(x, y, of->results + begin, (size_t)count);
}

static void halve_rows(const struct elementwise *of, int64_t first, int64_t count) {
    enum { AT_ONCE = 64 };
    const size_t nbytes = of->result_nbytes;
    for (int64_t i = first; i < first + count; i += AT_ONCE) {
        const size_t begin = (size_t)i * nbytes, some = (size_t)(first + count - i < AT_ONCE ? first + count - i : AT_ONCE);
        (of->type == WF_F32 ? halve_some_f32 : halve_some_f64)(of->row[0] + begin, of->row[1] + begin, of->results + begin, some);
    }
}

static bool are_pairs(const struct wf_grouped *grouped) {
    const wf_op op = grouped->empty->op;
    const wf_type type = grouped->empty->type;
    return (op == WF_SUM || op == WF_MEAN) && (type == WF_F32 || type == WF_F64) && grouped->layout->reduced_count == 2 &&
           grouped->layout->stride_bytes[0][0] == (int64_t)wf_type_nbytes(type);
}

/* ---- one element ---- */

typedef void take_ones(const struct masks *masks, const unsigned char *restrict x, unsigned char *restrict results,
                       size_t count);

#define TOP_OF(word) (8 * sizeof(word) - 1)

#define DEFINE_LOOP(name, result_of, word, made)                                                                       \
    static void name(const struct masks *masks, const unsigned char *restrict x, unsigned char *restrict results,      \
                     size_t count) {                                                                                   \
        const struct masks of = *masks;                                                                                \
        for (size_t i = 0; i < count; i++) {                                                                           \
            word bits;                                                                                                 \
            memcpy(&bits, x + i * sizeof bits, sizeof bits);                                                           \
            const made result = result_of(of, bits);                                                                   \
            memcpy(results + i * sizeof result, &result, sizeof result);                                               \
        }                                                                                                              \
    }

/* Without comparisons, which SSE2 has none of for 64 bits: the top bit tells. */
#define DEFINE_MAPS(word)                                                                                              \
    static inline word value_of_##word(struct masks masks, word bits) {                                                \
        const word above = (word)((word)masks.largest - (bits & (word)masks.magnitude));                               \
        const word is_nan = (word)(0 - (above >> TOP_OF(word)));                                                       \
        return (word)((bits & (word)masks.kept & ~is_nan) | ((word)masks.nan & is_nan));                               \
    }                                                                                                                  \
    static inline unsigned char truth_of_##word(struct masks masks, word bits) {                                       \
        bits &= (word)masks.magnitude;                                                                                 \
        return (unsigned char)((word)(bits | (word)(0 - bits)) >> TOP_OF(word));                                       \
    }                                                                                                                  \
    static inline uint64_t count_of_##word(struct masks masks, word bits) {                                            \
        return masks.base + truth_of_##word(masks, bits);                                                              \
    }                                                                                                                  \
    DEFINE_LOOP(take_values_of_##word, value_of_##word, word, word)                                                    \
    DEFINE_LOOP(take_truths_of_##word, truth_of_##word, word, unsigned char)                                           \
    DEFINE_LOOP(take_counts_of_##word, count_of_##word, word, uint64_t)

DEFINE_MAPS(uint8_t)
DEFINE_MAPS(uint16_t)
DEFINE_MAPS(uint32_t)
DEFINE_MAPS(uint64_t)

/* By the logarithm of an element's bytes. */
static take_ones *const take_values[] = {take_values_of_uint8_t, take_values_of_uint16_t, take_values_of_uint32_t,
                                         take_values_of_uint64_t};
static take_ones *const take_truths[] = {take_truths_of_uint8_t, take_truths_of_uint16_t, take_truths_of_uint32_t,
                                         take_truths_of_uint64_t};
static take_ones *const take_counts[] = {take_counts_of_uint8_t, take_counts_of_uint16_t, take_counts_of_uint32_t,
                                         take_counts_of_uint64_t};

/* Elements that lie apart are copied first, a few at a time. */
static void map_ones(const struct elementwise *of, int64_t first, int64_t count, take_ones *const take[]) {
    enum { AT_ONCE = 512 };
    unsigned char copy[AT_ONCE * sizeof(uint64_t)];
    const size_t nbytes = wf_type_nbytes(of->type);
    take_ones *take_of_type = take[__builtin_ctz((unsigned)nbytes)];
    const unsigned char *x = of->row[0] + first * of->stride_bytes;
    unsigned char *results = of->results + first * (int64_t)of->result_nbytes;
    if (of->stride_bytes == (int64_t)nbytes) take_of_type(&of->masks, x, results, (size_t)count);
    for (int64_t i = 0; of->stride_bytes != (int64_t)nbytes && i < count; i += AT_ONCE) {
        const size_t some = (size_t)(count - i < AT_ONCE ? count - i : AT_ONCE);
        of->copy_strided(copy, x + i * of->stride_bytes, of->stride_bytes, some, nbytes);
        take_of_type(&of->masks, copy, results + i * (int64_t)of->result_nbytes, some);
    }
}

static void map_values(const struct elementwise *of, int64_t first, int64_t count) {
    map_ones(of, first, count, take_values);
}

static void map_truths(const struct elementwise *of, int64_t first, int64_t count) {
    map_ones(of, first, count, take_truths);
}

static void map_counts(const struct elementwise *of, int64_t first, int64_t count) {
    map_ones(of, first, count, take_counts);
}

/* Of an element the sum, the product, the mean and the extrema are itself, norms its magnitude, and variances 0, unless it
 * is not finite. */
static struct masks masks_of(const struct wf_accumulator *empty) {
    const struct wf_type_traits *traits = &wf_type_table[empty->type];
    const uint64_t all = UINT64_MAX >> (64 - 8 * traits->nbytes), magnitude = all >> 1;
    if (!wf_type_is_float(empty->type)) {
        const bool is_count = !wf_op_gives_value(empty->op);
        return (struct masks){.kept = all, .magnitude = is_count ? all : 0};
    }
    const uint64_t infinity = magnitude >> (traits->precision - 1) << (traits->precision - 1);
    struct masks masks = {all, magnitude, infinity, infinity | UINT64_C(1) << (traits->precision - 2), 0};
    if (empty->op == WF_NORM1 || empty->op == WF_NORM2 || empty->op == WF_NORMINF) masks.kept = magnitude;
    if (empty->op == WF_VAR || empty->op == WF_STD) {
        masks.kept = 0;
        masks.largest = infinity - 1;
    }
    return masks;
}

static bool are_ones(const struct wf_grouped *grouped) {
    const struct wf_accumulator *empty = grouped->empty;
    const bool is_variance = empty->op == WF_VAR || empty->op == WF_STD;
    if (grouped->layout->reduced_count != 1 || empty->type == WF_BOOL || (is_variance && empty->ddof > 0)) return false;
    return !wf_op_gives_value(empty->op) || grouped->result_type == empty->type;
}

static void set_map_of_ones(struct elementwise *of, const struct wf_accumulator *empty) {
    const bool counts = wf_op_parts(empty->op) & WF_PART_NONZERO;
    of->masks = masks_of(empty);
    of->map = wf_op_gives_value(empty->op) ? map_values : wf_op_result(empty->op) == WF_RESULT_TRUTH ? map_truths : map_counts;
    if (wf_op_gives_value(empty->op) || counts) return;
    of->masks.magnitude = 0; /* an index */
    of->masks.base = (uint64_t)empty->first_index;
}

/* ---- all ---- */

static void map_share(void *context, int i) {
    const struct elementwise *of = context;
    const int64_t first = i * of->share, left = of->count - first;
    const wf_environment callers = wf_environment_enter();
    of->map(of, first, left < of->share ? left : of->share);
    wf_environment_leave(callers);
}

/* Whether the results are a row of the op's type, of which NaNs are not left out. */
static bool is_row(const struct wf_grouped *grouped) {
    const struct wf_layout *layout = grouped->layout;
    const struct wf_accumulator *empty = grouped->empty;
    const int64_t nbytes = (int64_t)wf_type_nbytes(grouped->result_type);
    const bool is_plain = empty->nan == WF_NAN_PROPAGATE || !wf_type_is_float(empty->type);
    return is_plain && layout->operands == 1 && layout->axis < 0 && layout->ndim == 1 && layout->count &&
           grouped->result_type == wf_op_result_type(empty->op, empty->type) &&
           (!grouped->output->stride_bytes || grouped->output->stride_bytes[0] == nbytes);
}

bool wf_cpu_try_elementwise(wf_handle *handle, const struct wf_grouped *grouped) {
    enum { LEAST_SHARE = 1 << 16 }; /* results */
    struct wf_view view;
    if (!is_row(grouped) || !(are_ones(grouped) || are_pairs(grouped))) return false;
    wf_layout_view(grouped->layout, &view, grouped->a, NULL, false);
    const struct cpu *cpu = handle->device_state;
    struct elementwise of = {.type = grouped->empty->type, .copy_strided = cpu->tier->copy_strided, .stride_bytes = grouped->layout->stride_bytes[0][0],
                             .results = grouped->output->data, .result_nbytes = wf_type_nbytes(grouped->result_type),
                             .count = grouped->layout->count, .map = grouped->empty->op == WF_MEAN ? halve_rows : add_rows};
    of.row[0] = of.row[1] = view.data[0];
    if (are_ones(grouped))
        set_map_of_ones(&of, grouped->empty);
    else
        of.row[1] += view.stride_bytes[0][0];
    int threads = wf_cpu_threads(handle);
    if (of.count / LEAST_SHARE < threads) threads = (int)(of.count / LEAST_SHARE) + 1;
    of.share = of.count / threads + (of.count % threads != 0);
    wf_threads_run(cpu->threads, threads, map_share, &of);
    return true;
}
