/* footprint [DEVICE]: what calls take from their caller.  Of the one-line calls, over many sizes, data and
 * every tier: how much of the stack, and that they neither allocate nor start a thread.  Of a handle (of
 * DEVICE; "cpu"): that calls after the first allocate nothing, and on the CPU how much of the stack they
 * take.
 *
 * The stack is measured on a thread whose stack is painted before each call: the deepest byte that changed.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/transfer.h"
#include "warpfold.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

enum { STACK_NBYTES = 1 << 20, PAINTED_NBYTES = 1 << 17, PROMISED_NBYTES = 1 << 14, PAINT = 0xa5 };
enum { COUNT_MAX = 600000 }; /* f64: beyond 4 MiB */

static int failures, calls;
static size_t deepest;

/* ---- allocations and threads: the linker has the library's calls come here */

static int allocations, threads_started;

void *__real_malloc(size_t nbytes);
void *__real_calloc(size_t count, size_t nbytes);
void *__real_realloc(void *memory, size_t nbytes);
int __real_posix_memalign(void **memory, size_t alignment, size_t nbytes);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                          void *argument);

void *__wrap_malloc(size_t nbytes) {
    allocations++;
    return __real_malloc(nbytes);
}

void *__wrap_calloc(size_t count, size_t nbytes) {
    allocations++;
    return __real_calloc(count, nbytes);
}

void *__wrap_realloc(void *memory, size_t nbytes) {
    allocations++;
    return __real_realloc(memory, nbytes);
}

int __wrap_posix_memalign(void **memory, size_t alignment, size_t nbytes) {
    allocations++;
    return __real_posix_memalign(memory, alignment, nbytes);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                          void *argument) {
    threads_started++;
    return __real_pthread_create(thread, attributes, start, argument);
}

/* ---- the stack */

struct call {
    void (*function)(const struct call *call);
    const void *x, *y;
    int64_t count;
    wf_op op;
    wf_type type;
    int64_t stride_bytes;
    wf_handle *handle;
    const wf_array *a, *b; /* by groups */
    const wf_groups *groups;
    const wf_output *output;
    wf_accumulator *accumulator; /* to which they are added */
};

static void paint(unsigned char *stack) {
    memset(stack, PAINT, PAINTED_NBYTES);
}

static size_t depth_of(const unsigned char *stack) {
    size_t untouched = 0;
    while (untouched < PAINTED_NBYTES && stack[untouched] == PAINT) untouched++;
    return PAINTED_NBYTES - untouched;
}

/* What the call takes below this frame. */
static __attribute__((noinline)) size_t measure(const struct call *call) {
    if (IS_SANITIZED) {
        call->function(call);
        return 0;
    }
    uintptr_t end =
        (uintptr_t)__builtin_frame_address(0) - 512; /* below what paint and depth_of have themselves */
    unsigned char *stack = (unsigned char *)(end - PAINTED_NBYTES);
    paint(stack);
    call->function(call);
    return depth_of(stack) + 512;
}

static void fail(const char *what, const struct call *call, long long number) {
    const char *tier = getenv("WARPFOLD_TIER");
    if (++failures > 20) return;
    fprintf(stderr, "footprint: %s: %s of %lld %s, stride %lld, tier %s: %lld\n", what, wf_op_name(call->op),
            (long long)call->count, wf_type_name(call->type), (long long)call->stride_bytes,
            tier ? tier : "default", number);
}

/* One of `turns` turns must allocate nothing: of a call that threads share, any may set up a thread that had no part before. */
static void check_turns(const struct call *call, const char *what, bool measures_stack, int turns) {
    size_t depth;
    do {
        allocations = threads_started = 0;
        depth = measure(call);
    } while (allocations && --turns > 0);
    calls++;
    if (allocations) fail(what, call, allocations);
    if (threads_started) fail("starts threads", call, threads_started);
    if (measures_stack && depth >= PROMISED_NBYTES) fail("bytes of stack", call, (long long)depth);
    if (measures_stack && depth > deepest) deepest = depth;
}

static void check(const struct call *call, const char *what, bool measures_stack) { check_turns(call, what, measures_stack, 1); }

/* ---- one-line calls */

static volatile double sink; /* keeps the calls */

static void call_f64(const struct call *call) {
    const double *x = call->x, *y = call->y;
    int64_t count = call->count;
    switch (call->op) {
    case WF_SUM: sink = wf_sum_f64(x, count); break;
    case WF_MEAN: sink = wf_mean_f64(x, count); break;
    case WF_VAR: sink = wf_var_f64(x, count); break;
    case WF_STD: sink = wf_std_f64(x, count); break;
    case WF_NORM2: sink = wf_norm2_f64(x, count); break;
    case WF_MIN: sink = wf_min_f64(x, count); break;
    case WF_MAX: sink = wf_max_f64(x, count); break;
    case WF_ARGMIN: sink = (double)wf_argmin_f64(x, count); break;
    case WF_ARGMAX: sink = (double)wf_argmax_f64(x, count); break;
    default: sink = wf_dot_f64(x, y, count);
    }
}

static void call_f32(const struct call *call) {
    const float *x = call->x, *y = call->y;
    int64_t count = call->count;
    switch (call->op) {
    case WF_SUM: sink = wf_sum_f32(x, count); break;
    case WF_MEAN: sink = wf_mean_f32(x, count); break;
    case WF_VAR: sink = wf_var_f32(x, count); break;
    case WF_STD: sink = wf_std_f32(x, count); break;
    case WF_NORM2: sink = wf_norm2_f32(x, count); break;
    case WF_MIN: sink = wf_min_f32(x, count); break;
    case WF_MAX: sink = wf_max_f32(x, count); break;
    case WF_ARGMIN: sink = (double)wf_argmin_f32(x, count); break;
    case WF_ARGMAX: sink = (double)wf_argmax_f32(x, count); break;
    default: sink = wf_dot_f32(x, y, count);
    }
}

static const wf_op one_line_ops[] = {WF_SUM, WF_MEAN, WF_VAR,    WF_STD,    WF_NORM2,
                                     WF_MIN, WF_MAX,  WF_ARGMIN, WF_ARGMAX, WF_DOT};

static void check_one_line_calls(const void *x, const void *y, int64_t count) {
    for (size_t i = 0; i < sizeof one_line_ops / sizeof one_line_ops[0]; i++) {
        struct call call = {call_f64, x, y, count, one_line_ops[i], WF_F64, .stride_bytes = 8};
        check(&call, "allocates", true);
        call.function = call_f32;
        call.type = WF_F32;
        check(&call, "allocates", true);
    }
}

/* ---- calls with a handle */

static void call_handle(const struct call *call) {
    const wf_array x = {call->x, call->type, 1, NULL, &call->stride_bytes, call->count};
    const wf_array y = {call->y, call->type, 1, NULL, &call->stride_bytes, call->count};
    const wf_reduction reduction = wf_reduction_of(call->op);
    wf_value value;
    wf_stats stats = {.nbytes = sizeof stats};
    if (call->op == WF_STATS)
        wf_reduce_stats(call->handle, &reduction, &x, &stats);
    else
        wf_reduce_value(call->handle, &reduction, &x, call->op == WF_DOT ? &y : NULL, &value);
}

/* The first call may allocate: kernels are loaded, and memory is made ready. */
static void check_handle(wf_handle *handle, const void *x, const void *y, int64_t count, bool is_cpu) {
    static const wf_type types[] = {WF_F64, WF_BF16, WF_I32};
    size_t type_count = is_cpu ? sizeof types / sizeof types[0] : 1; /* kernels take long to compile */
    for (size_t t = 0; t < type_count; t++)
        for (int op = 1; wf_op_name((wf_op)op); op++) {
            int64_t nbytes = (int64_t)wf_type_nbytes(types[t]);
            if (!wf_op_result_type((wf_op)op, types[t]) && op != WF_STATS) continue;
            struct call call = {call_handle, x, y, count, (wf_op)op, types[t], nbytes, .handle = handle};
            for (int strided = 0; strided < 1 + is_cpu;
                 strided++, call.stride_bytes = 2 * nbytes, call.count /= 2) {
                call_handle(&call);
                check(&call, "allocates in its second call", is_cpu);
            }
        }
}

/* ---- by groups, with a GPU: arrays there, or in host memory; labels and results in either */

enum { ROWS = 60, COLUMNS = 50, ELEMENTS = ROWS * COLUMNS, GAP_MAX = 2 };

struct layout {
    const char *what;
    wf_grouping by;
    bool has_pairs, array_here, labels_here, results_here;
    int gap; /* from label to label, and from result to result, in their sizes */
};

/* What a layout is laid out in: memory here and there, each with the same. */
struct memory {
    int32_t values[2 * ELEMENTS], labels[GAP_MAX * ELEMENTS];
    int64_t results[GAP_MAX * ROWS];
    int32_t status;
};

static void call_groups(const struct call *call) {
    const wf_reduction reduction = wf_reduction_of(call->op);
    if (wf_reduce(call->handle, &reduction, call->a, call->b, call->groups, call->output))
        fail(wf_handle_message(call->handle), call, 0);
}

static void check_groups(wf_handle *handle, const struct layout *layout, struct memory *here, struct memory *there) {
    static const int64_t shape[] = {ROWS, COLUMNS}, results = ROWS;
    const int64_t label_stride = layout->gap * 4, result_stride = layout->gap * 8;
    const bool has_rows = layout->by == WF_GROUP_AXES, are_keys = layout->by == WF_GROUP_KEYS;
    const struct memory *of_array = layout->array_here ? here : there;
    struct memory *of_results = layout->results_here ? here : there;
    const wf_array a = wf_array_nd(of_array->values, WF_I32, has_rows ? 2 : 1, has_rows ? shape : (int64_t[]){ELEMENTS}, NULL);
    wf_array b = a, labels = {(layout->labels_here ? here : there)->labels, WF_I32, 1, NULL, &label_stride,
                              are_keys ? ELEMENTS : ROWS + 1};
    const wf_groups groups = has_rows   ? wf_groups_axes(2)
                             : are_keys ? wf_groups_keys(0, ROWS, &labels)
                                        : wf_groups_segments(0, ROWS, &labels);
    const wf_output output = {of_results->results, WF_I64, 1, &results, &result_stride,
                              layout->results_here ? NULL : &of_results->status};
    const struct call call = {call_groups, .count = ELEMENTS, .op = layout->has_pairs ? WF_DOT : WF_SUM, .type = WF_I32,
                              .handle = handle, .a = &a, .b = layout->has_pairs ? &b : NULL, .groups = &groups,
                              .output = &output};
    b.data = of_array->values + ELEMENTS;
    for (int i = 0; i < ELEMENTS; i++) here->labels[i * layout->gap] = are_keys ? i % 7 * 8 : i * COLUMNS;
    wf_cuda_send(handle, (uintptr_t)there->labels, here->labels, sizeof here->labels);
    call_groups(&call);
    check_turns(&call, layout->what, false, 32);
}

/* Adding rows to an accumulator with a shape. */
static void call_add(const struct call *call) {
    const wf_groups rows = wf_groups_axes(2);
    if (wf_accumulator_add(call->handle, call->accumulator, call->a, NULL, &rows)) fail(wf_handle_message(call->handle), call, 0);
}

static void check_adding(wf_handle *handle, const struct memory *there) {
    static const int64_t shape[] = {ROWS, COLUMNS}, results = ROWS;
    const wf_array a = wf_array_nd(there->values, WF_I32, 2, shape, NULL);
    const wf_reduction sum = wf_reduction_of(WF_SUM);
    struct call call = {call_add, .count = ELEMENTS, .op = WF_SUM, .type = WF_I32, .handle = handle, .a = &a};
    if (wf_accumulator_create(handle, &sum, WF_I32, 1, &results, &call.accumulator)) exit(1);
    call_add(&call);
    check_turns(&call, "rows, added to an accumulator", false, 32);
    wf_accumulator_destroy(call.accumulator);
}

static const struct layout layouts[] = {
    {"rows", WF_GROUP_AXES, false, false, false, true, 1},
    {"rows of pairs, to results with gaps", WF_GROUP_AXES, true, false, false, true, 2},
    {"rows of pairs, results there", WF_GROUP_AXES, true, false, false, false, 2},
    {"segments, offsets there", WF_GROUP_SEGMENTS, false, false, false, true, 1},
    {"segments, offsets with gaps here", WF_GROUP_SEGMENTS, false, false, true, true, 2},
    {"segments, offsets here, results there", WF_GROUP_SEGMENTS, false, false, true, false, 1},
    {"keys there, results there", WF_GROUP_KEYS, false, false, false, false, 1},
    {"keys with gaps here", WF_GROUP_KEYS, false, false, true, true, 2},
    {"keys of pairs", WF_GROUP_KEYS, true, false, true, true, 1},
    {"an array here by rows", WF_GROUP_AXES, false, true, true, true, 2},
    {"an array here by segments", WF_GROUP_SEGMENTS, false, true, true, true, 1},
    {"an array here by keys", WF_GROUP_KEYS, true, true, true, true, 2},
};

static void check_layouts(wf_handle *handle) {
    static struct memory here;
    struct wf_cuda *cuda = handle->device_state;
    wf_cuda_pointer there;
    for (int i = 0; i < 2 * ELEMENTS; i++) here.values[i] = i * 7 % 1000 - 400;
    if (wf_gpu_enter(handle, &cuda->gpu)) exit(1);
    if (wf_driver_open(NULL, 0)->MemAlloc(&there, sizeof here) || wf_cuda_send(handle, there, &here, sizeof here)) exit(1);
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        check_groups(handle, &layouts[i], &here, (struct memory *)(uintptr_t)there);
    check_adding(handle, (struct memory *)(uintptr_t)there);
    wf_driver_open(NULL, 0)->MemFree(there);
    wf_gpu_leave(&cuda->gpu);
}

/* ---- by key, on a CPU ---- */

enum { KEYED = 40000, KEYED_GROUPS_MAX = 5000 };

struct keyed {
    int64_t labels[KEYED], results[KEYED_GROUPS_MAX];
};

static void check_keyed(wf_handle *handle, const double *x, int64_t count, int64_t groups, struct keyed *memory) {
    static const wf_op ops[] = {WF_SUM, WF_MEAN, WF_MIN, WF_ARGMAX, WF_NONZERO};
    const wf_array a = wf_array_vector(x, WF_F64, count), labels = wf_array_vector(memory->labels, WF_I64, count);
    const wf_groups by = wf_groups_keys(0, groups, &labels);
    for (int64_t i = 0; i < count; i++) memory->labels[i] = i * 7919 % groups;
    for (size_t op = 0; op < sizeof ops / sizeof ops[0]; op++) {
        const wf_output output = {memory->results, wf_op_result_type(ops[op], WF_F64), 1, &groups, NULL, NULL};
        const struct call call = {call_groups, .count = count, .op = ops[op], .type = WF_F64, .handle = handle, .a = &a,
                                  .groups = &by, .output = &output};
        call_groups(&call);
        check_turns(&call, "allocates in its second call by key", false, 32);
    }
}

static void check_keys(const double *x, int threads) {
    static const int64_t counts[] = {500, KEYED}, groups[] = {3, 200, KEYED_GROUPS_MAX};
    static struct keyed memory;
    wf_handle *handle;
    if (wf_handle_create("cpu", &handle) || wf_handle_set_threads(handle, threads)) return;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++)
            if (groups[g] <= counts[i]) check_keyed(handle, x, counts[i], groups[g], &memory);
    wf_handle_destroy(handle);
}

/* ---- data: of one range, of several for which the widest windows suffice, or none, with infinities, with a few
 * outliers */

enum { FLAVOURS = 5 };

static uint64_t next_random(void) {
    static uint64_t state = 1;
    state = state * 6364136223846793005 + 1442695040888963407;
    return state >> 11;
}

static double random_element(int flavour, int i) {
    const double scales[] = {1e-30, 1e-12, 1, 1e12, 1e30}, far[] = {1e-300, 1e-90, 1, 1e90, 1e300};
    double element = (double)next_random() / 0x1p53 - 0.4;
    if (flavour == 1) return element * scales[next_random() % 5];
    if (flavour == 2) return element * far[next_random() % 5];
    if (flavour == 3 && i % 997 == 5) return i % 2 ? 1.0 / 0.0 : 0.0 / 0.0;
    if (flavour == 4 && i % 997 == 5) return i % 2 ? 1e200 : 1e-200;
    if (flavour == 4 && i % 3 == 0) return -0.0;
    return element;
}

static void fill(double *data, int flavour) {
    for (int i = 0; i < COUNT_MAX; i++) data[i] = random_element(flavour, i);
}

static void check_cpu(const double *x, const double *y, bool is_large) {
    static const int64_t counts[] = {0, 1, 3, 16, 33, 100, 500, 1024, 4096, 5000, 20000};
    wf_handle *handle;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) check_one_line_calls(x, y, counts[i]);
    if (is_large) check_one_line_calls(x, y, COUNT_MAX);
    if (wf_handle_create("cpu", &handle) || wf_handle_set_threads(handle, 1)) return;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) check_handle(handle, x, y, counts[i], true);
    wf_handle_destroy(handle);
}

static void check_tiers(const double *x, const double *y, bool is_large) {
    static const char *const tiers[] = {"scalar", "avx2", "avx512", "neon"};
    for (size_t i = 0; i < sizeof tiers / sizeof tiers[0]; i++) {
        wf_handle *handle;
        setenv("WARPFOLD_TIER", tiers[i], 1);
        if (wf_handle_create("cpu", &handle)) continue;
        wf_handle_destroy(handle);
        check_cpu(x, y, is_large);
        for (int threads = 1; threads <= 4; threads *= 4) check_keys(x, threads);
    }
}

static void check_device(const char *device, const double *x, const double *y) {
    wf_handle *handle;
    if (wf_handle_create(device, &handle)) {
        fprintf(stderr, "footprint: no device %s\n", device);
        failures++;
        return;
    }
    check_handle(handle, x, y, 3000, false);
    check_layouts(handle);
    wf_handle_destroy(handle);
}

static void *check_all(void *device) {
    double *x = __real_malloc(COUNT_MAX * sizeof *x), *y = __real_malloc(COUNT_MAX * sizeof *y);
    if (!x || !y) exit(1);
    for (int flavour = 0; flavour < (device ? 1 : FLAVOURS); flavour++) {
        fill(x, flavour);
        fill(y, flavour);
        if (device)
            check_device(device, x, y);
        else
            check_tiers(x, y, flavour == 0);
    }
    free(x);
    free(y);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (pthread_attr_setstacksize(&attributes, STACK_NBYTES) ||
        __real_pthread_create(&thread, &attributes, check_all, argc > 1 ? argv[1] : NULL))
        return 1;
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    printf("footprint: %d calls, at most %zu bytes of stack, %d failures\n", calls, deepest, failures);
    return failures != 0;
}
