/* threads [COUNT]: several threads, each with a handle of its own, reduce one shared array with several
 * threads each, and copies of their own.  What they save must be, byte for byte, what one thread saves.
 * For a thread checker as much as for the comparison. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/ops.h"
#include "core/types.h"

#define CALLERS 3
#define THREADS_EACH 3
#define COLUMNS 4
#define COUNT (THREADS_EACH << 19) /* so many that every thread is put to work, on bytes too */
#define TYPE_COUNT WF_TYPE_COUNT
#define OP_COUNT WF_OP_COUNT

struct saved {
    size_t nbytes;
    uint8_t bytes[WF_SAVED_NBYTES_MAX];
};

struct caller {
    pthread_t thread;
    wf_handle *handle;
    const uint8_t *shared;
    uint8_t *own;
    int64_t count;
    const struct saved (*expected)[TYPE_COUNT];
    struct saved got;
    int failures;
};

static void fill(uint8_t *data, size_t nbytes) {
    uint64_t state = 1;
    for (size_t i = 0; i < nbytes; i++) {
        state = state * 6364136223846793005 + 1442695040888963407;
        data[i] = (uint8_t)(state >> 56);
    }
}

/* In every float type the bit below the sign is the highest of the exponent: where it is clear, there is no
 * infinity, no NaN, and nothing beyond 2. */
static void clear_exponent_tops(uint8_t *data, size_t nbytes) {
    for (size_t i = 1; i < nbytes; i += 2) data[i] &= 0xbf;
}

/* Pairs are the array and itself from the back, so that negative strides are there too. */
static wf_array reversed(const wf_array *array, int64_t *stride_bytes) {
    int64_t nbytes = (int64_t)wf_type_nbytes(array->type);
    *stride_bytes = -nbytes;
    return wf_array_nd((const uint8_t *)array->data + (array->count - 1) * nbytes, array->type, 1, &array->count,
                       stride_bytes);
}

/* Appends the saved form of an accumulator of the arrays, with groups or without. */
static wf_error add_and_save(wf_handle *handle, wf_op op, const wf_array *a, const wf_array *b, const wf_groups *groups,
                             struct saved *saved) {
    int64_t shape[WF_NDIM_MAX];
    int32_t ndim = 0;
    size_t nbytes = 0;
    const wf_reduction reduction = wf_reduction_of(op);
    wf_accumulator *accumulator = NULL;
    wf_error error = groups ? wf_groups_shape(a, groups, &ndim, shape) : WF_OK;
    if (!error) error = wf_accumulator_create(handle, &reduction, a->type, ndim, shape, &accumulator);
    if (!error) error = wf_accumulator_add(handle, accumulator, a, op == WF_DOT ? b : NULL, groups);
    if (!error)
        error = wf_accumulator_save(handle, accumulator, saved->bytes + saved->nbytes,
                                    sizeof saved->bytes - saved->nbytes, &nbytes);
    wf_accumulator_destroy(accumulator);
    saved->nbytes += nbytes;
    return error;
}

/* The types that are reduced by groups, too. */
static bool is_grouped(wf_type type) {
    return type == WF_F32 || type == WF_U8;
}

/* As many bytes of each type, which decide how many threads are put to work; but groups' elements are counted. */
static int64_t elements_of(wf_type type, int64_t most) {
    return is_grouped(type) ? most : most / (int64_t)wf_type_nbytes(type);
}

/* All elements; of two types also those of each column, and runs of them. */
static wf_error reduce_and_save(wf_handle *handle, wf_op op, wf_type type, const void *data, int64_t most,
                                int32_t threads, struct saved *saved) {
    int64_t stride_bytes, count = elements_of(type, most);
    const int64_t table[2] = {count / COLUMNS, COLUMNS}, offsets[3] = {0, count / 3, count};
    wf_array array = wf_array_vector(data, type, count), backwards = reversed(&array, &stride_bytes);
    const wf_array columns = wf_array_nd(data, type, 2, table, NULL), labels = wf_array_vector(offsets, WF_I64, 3);
    const wf_groups along = wf_groups_axes(1), runs = wf_groups_segments(0, 2, &labels);
    saved->nbytes = 0;
    wf_error error = wf_handle_set_threads(handle, threads);
    if (!error) error = add_and_save(handle, op, &array, &backwards, NULL, saved);
    if (!error && is_grouped(type)) error = add_and_save(handle, op, &columns, &columns, &along, saved);
    if (!error && is_grouped(type)) error = add_and_save(handle, op, &array, &backwards, &runs, saved);
    return error;
}

static int exists(wf_op op, wf_type type) {
    return op == WF_STATS || wf_op_result_type(op, type) != WF_TYPE_DEFAULT;
}

static void check(struct caller *caller, wf_op op, wf_type type, const void *data, int32_t threads) {
    const struct saved *expected = &caller->expected[op][type];
    wf_error error = reduce_and_save(caller->handle, op, type, data, caller->count, threads, &caller->got);
    if (!error && caller->got.nbytes == expected->nbytes &&
        memcmp(caller->got.bytes, expected->bytes, expected->nbytes) == 0) {
        return;
    }
    caller->failures++;
    fprintf(stderr, "threads: %s of %s with %d threads: %s\n", wf_op_name(op), wf_type_name(type), threads,
            error ? wf_handle_message(caller->handle) : "other bytes than one thread gives");
}

static void *call(void *argument) {
    struct caller *caller = argument;
    for (wf_type type = WF_BOOL; type < TYPE_COUNT; type++) {
        for (wf_op op = WF_SUM; op < OP_COUNT; op++) {
            if (!exists(op, type)) continue;
            check(caller, op, type, caller->shared, THREADS_EACH);
            check(caller, op, type, caller->own, 1);
        }
    }
    return NULL;
}

static int expect(const uint8_t *data, int64_t count, struct saved (*expected)[TYPE_COUNT]) {
    wf_handle *handle;
    if (wf_handle_create("cpu", &handle) != WF_OK) return 0;
    int expectations = 0;
    for (wf_type type = WF_BOOL; type < TYPE_COUNT; type++) {
        for (wf_op op = WF_SUM; op < OP_COUNT; op++) {
            if (!exists(op, type)) continue;
            if (reduce_and_save(handle, op, type, data, count, 1, &expected[op][type]) != WF_OK) {
                fprintf(stderr, "threads: %s\n", wf_handle_message(handle));
                wf_handle_destroy(handle);
                return 0;
            }
            expectations++;
        }
    }
    wf_handle_destroy(handle);
    return expectations;
}

int main(int argc, char **argv) {
    static struct saved expected[OP_COUNT][TYPE_COUNT];
    static struct caller callers[CALLERS];
    int64_t count = argc > 1 ? atoll(argv[1]) : COUNT;
    size_t nbytes = (size_t)count * sizeof(double);
    uint8_t *shared = malloc(nbytes);
    if (!shared) return 1;
    fill(shared, nbytes);
    clear_exponent_tops(shared, nbytes);
    int expectations = expect(shared, count, expected), failures = expectations == 0;
    for (int i = 0; i < CALLERS; i++) {
        struct caller *caller = &callers[i];
        *caller =
            (struct caller){.shared = shared, .own = malloc(nbytes), .count = count, .expected = expected};
        if (!caller->own || wf_handle_create("cpu", &caller->handle) != WF_OK) return 1;
        memcpy(caller->own, shared, nbytes);
        if (pthread_create(&caller->thread, NULL, call, caller) != 0) return 1;
    }
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(callers[i].thread, NULL);
        wf_handle_destroy(callers[i].handle);
        free(callers[i].own);
        failures += callers[i].failures;
    }
    free(shared);
    printf("%d ops x types, %d callers: %d failures\n", expectations, CALLERS, failures);
    return failures > 0;
}
