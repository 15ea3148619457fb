/* The library while allocations and threads fail: `library FOLDER`, with faults.c preloaded.
 *
 * Each task runs with its first call failing, then with the second, until none fails any more; then the same
 * with all calls from there on.  It must either give what it always gives, or WF_ERROR_MEMORY and leave
 * handle and accumulator as they were, so that the same task with the same handle then succeeds. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_DEFAULT */
#endif
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "warpfold.h"

enum { COUNT = 300000, THREADS = 4, GROUPS = 3, ACCUMULATORS = 3 };

static double values[COUNT];
static uint8_t keys[COUNT];
static char path[2][4096];
static long (*choose)(const char *kind, long at, bool is_lasting);

struct state {
    wf_handle *handle;
    wf_accumulator *accumulator; /* of stats, with a few elements */
    wf_accumulator *shaped[2];   /* of prod and var, with GROUPS results */
};

/* ---- tasks: what they give is written into the text */

static wf_error create(struct state *state, char *text, size_t capacity) {
    wf_handle *handle = NULL;
    (void)state, (void)text, (void)capacity;
    wf_error error = wf_handle_create("auto", &handle);
    wf_handle_destroy(handle);
    return error;
}

static wf_error reduce(struct state *state, char *text, size_t capacity) {
    const wf_array array = wf_array_vector(values, WF_F64, COUNT);
    const wf_reduction reduction = wf_reduction_of(WF_VAR);
    wf_value value;
    wf_error error = wf_reduce_value(state->handle, &reduction, &array, NULL, &value);
    if (!error) wf_value_format(&value, 0, text, capacity);
    return error;
}

static wf_error reduce_pair(struct state *state, char *text, size_t capacity) {
    const wf_array array = wf_array_vector(values, WF_F64, COUNT / 2);
    const int64_t backwards = -(int64_t)sizeof *values;
    const wf_array other = wf_array_nd(values + COUNT - 1, WF_F64, 1, &array.count, &backwards);
    const wf_reduction reduction = wf_reduction_of(WF_DOT);
    wf_value value;
    wf_error error = wf_reduce_value(state->handle, &reduction, &array, &other, &value);
    if (!error) wf_value_format(&value, 0, text, capacity);
    return error;
}

/* By key, through tables: one group is infinite, which is set aside, one has nothing but -0. */
static wf_error reduce_keys(struct state *state, char *text, size_t capacity) {
    enum { ELEMENTS = COUNT / 4, GROUPS = 7 };
    static double elements[ELEMENTS], results[GROUPS];
    static int32_t keys[ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++) {
        keys[i] = i % GROUPS;
        elements[i] = keys[i] == 6 ? -0.0 : i % 7007 == 0 ? 1 / 0.0 : values[i];
    }
    const wf_array array = wf_array_vector(elements, WF_F64, ELEMENTS), labels = wf_array_vector(keys, WF_I32, ELEMENTS);
    const wf_groups groups = wf_groups_keys(0, GROUPS, &labels);
    const int64_t shape = GROUPS;
    const wf_output output = {.data = results, .type = WF_F64, .ndim = 1, .shape = &shape};
    const wf_reduction reduction = wf_reduction_of(WF_SUM);
    wf_error error = wf_reduce(state->handle, &reduction, &array, NULL, &groups, &output);
    if (!error) snprintf(text, capacity, "%g %g %a", results[0], results[6], results[1]);
    return error;
}

static wf_error add(struct state *state, char *text, size_t capacity) {
    const wf_array array = wf_array_vector(values, WF_F64, COUNT);
    (void)text, (void)capacity;
    return wf_accumulator_add(state->handle, state->accumulator, &array, NULL, NULL);
}

static wf_error read_files(struct state *state, char *text, size_t capacity) {
    const char *paths[] = {path[0], path[1]};
    const wf_reader_options options = {.nbytes = sizeof options, .format = WF_FORMAT_TEXT};
    wf_reader *reader = NULL;
    (void)text, (void)capacity;
    wf_error error = wf_reader_open(state->handle, paths, 2, &options, &reader);
    if (!error) error = wf_accumulator_add_reader(state->handle, state->accumulator, reader, NULL);
    wf_reader_close(reader);
    return error;
}

static wf_error merge(struct state *state, char *text, size_t capacity) {
    unsigned char saved[WF_SAVED_NBYTES_MAX];
    size_t nbytes = 0;
    wf_accumulator *loaded = NULL;
    (void)text, (void)capacity;
    wf_error error = wf_accumulator_save(state->handle, state->accumulator, saved, sizeof saved, &nbytes);
    if (!error) error = wf_accumulator_load(state->handle, saved, nbytes, &loaded);
    if (!error) error = wf_accumulator_merge(state->handle, state->accumulator, loaded);
    wf_accumulator_destroy(loaded);
    return error;
}

static wf_error create_accumulator(struct state *state, char *text, size_t capacity) {
    wf_accumulator *made = NULL;
    (void)text, (void)capacity;
    const wf_reduction reduction = wf_reduction_of(WF_STATS);
    wf_error error = wf_accumulator_create(state->handle, &reduction, WF_F64, 0, NULL, &made);
    wf_accumulator_destroy(made);
    return error;
}

static wf_error add_keys_to(wf_handle *handle, wf_accumulator *accumulator, int64_t count) {
    const wf_array array = wf_array_vector(values, WF_F64, count), labels = wf_array_vector(keys, WF_U8, count);
    const wf_groups groups = wf_groups_keys(0, GROUPS, &labels);
    return wf_accumulator_add(handle, accumulator, &array, NULL, &groups);
}

static wf_error add_keys(struct state *state, char *text, size_t capacity) {
    (void)text, (void)capacity;
    return add_keys_to(state->handle, state->shaped[0], COUNT);
}

static wf_error add_columns(struct state *state, char *text, size_t capacity) {
    const int64_t shape[2] = {COUNT / GROUPS, GROUPS};
    const wf_array array = wf_array_nd(values, WF_F64, 2, shape, NULL);
    const wf_groups groups = wf_groups_axes(1);
    (void)text, (void)capacity;
    return wf_accumulator_add(state->handle, state->shaped[1], &array, NULL, &groups);
}

static wf_error merge_shaped(struct state *state, char *text, size_t capacity) {
    unsigned char saved[WF_SAVED_NBYTES_MAX];
    size_t nbytes = 0;
    wf_accumulator *loaded = NULL;
    (void)text, (void)capacity;
    wf_error error = wf_accumulator_save(state->handle, state->shaped[1], saved, sizeof saved, &nbytes);
    if (!error) error = wf_accumulator_load(state->handle, saved, nbytes, &loaded);
    if (!error) error = wf_accumulator_merge(state->handle, state->shaped[1], loaded);
    wf_accumulator_destroy(loaded);
    return error;
}

/* What follows on what there is, whose trees grow by it. */
static wf_error merge_trees(struct state *state, char *text, size_t capacity) {
    const int64_t shape[1] = {GROUPS};
    wf_accumulator *next = NULL;
    wf_reduction reduction = wf_reduction_of(WF_PROD);
    (void)text, (void)capacity;
    reduction.first_index = 4; /* of ten elements, groups 1 and 2 have three each, and these follow on the first */
    wf_error error = wf_accumulator_create(state->handle, &reduction, WF_F64, 1, shape, &next);
    const uint8_t first[5] = {0};
    const wf_array array = wf_array_vector(values, WF_F64, 5), labels = wf_array_vector(first, WF_U8, 5);
    const wf_groups groups = wf_groups_keys(0, GROUPS, &labels);
    if (!error) error = wf_accumulator_add(state->handle, next, &array, NULL, &groups);
    if (!error) error = wf_accumulator_merge(state->handle, state->shaped[0], next);
    wf_accumulator_destroy(next);
    return error;
}

static wf_error create_shaped(struct state *state, char *text, size_t capacity) {
    const int64_t shape[2] = {2, GROUPS};
    wf_accumulator *made = NULL;
    (void)text, (void)capacity;
    const wf_reduction reduction = wf_reduction_of(WF_STATS);
    wf_error error = wf_accumulator_create(state->handle, &reduction, WF_F64, 2, shape, &made);
    wf_accumulator_destroy(made);
    return error;
}

static const struct task {
    const char *name;
    wf_error (*run)(struct state *state, char *text, size_t capacity);
} tasks[] = {
    {"create", create},
    {"reduce", reduce},
    {"reduce_pair", reduce_pair},
    {"reduce_keys", reduce_keys},
    {"add", add},
    {"read", read_files},
    {"merge", merge},
    {"create_accumulator", create_accumulator},
    {"add_keys", add_keys},
    {"add_columns", add_columns},
    {"merge_shaped", merge_shaped},
    {"merge_trees", merge_trees},
    {"create_shaped", create_shaped},
};

/* ---- trying them */

static void die(const struct task *task, const char *kind, long at, bool is_lasting, const char *what) {
    fprintf(stderr, "%s, %s %ld%s: %s\n", task->name, kind, at, is_lasting ? " and later" : "", what);
    exit(1);
}

static bool begin_shaped(struct state *state) {
    const wf_op ops[] = {WF_PROD, WF_VAR};
    const int64_t shape[1] = {GROUPS};
    for (int i = 0; i < 2; i++) {
        const wf_reduction reduction = wf_reduction_of(ops[i]);
        if (wf_accumulator_create(state->handle, &reduction, WF_F64, 1, shape, &state->shaped[i]) ||
            add_keys_to(state->handle, state->shaped[i], 10))
            return false;
    }
    return true;
}

static bool begin(struct state *state) {
    const wf_array few = wf_array_vector(values, WF_F64, 10);
    *state = (struct state){0};
    const wf_reduction reduction = wf_reduction_of(WF_STATS);
    return !wf_handle_create("cpu", &state->handle) && !wf_handle_set_threads(state->handle, THREADS) &&
           !wf_accumulator_create(state->handle, &reduction, WF_F64, 0, NULL, &state->accumulator) &&
           !wf_accumulator_add(state->handle, state->accumulator, &few, NULL, NULL) && begin_shaped(state);
}

static void end(struct state *state) {
    wf_accumulator_destroy(state->accumulator);
    for (int i = 0; i < 2; i++) wf_accumulator_destroy(state->shaped[i]);
    wf_handle_destroy(state->handle);
}

struct outcome {
    char text[64];
    unsigned char saved[ACCUMULATORS * WF_SAVED_NBYTES_MAX];
    size_t nbytes;
};

static bool keep(const struct state *state, struct outcome *outcome) {
    const wf_accumulator *all[ACCUMULATORS] = {state->accumulator, state->shaped[0], state->shaped[1]};
    outcome->nbytes = 0;
    for (int i = 0; i < ACCUMULATORS; i++) {
        size_t nbytes = 0, left = sizeof outcome->saved - outcome->nbytes;
        if (wf_accumulator_save(state->handle, all[i], outcome->saved + outcome->nbytes, left, &nbytes)) return false;
        outcome->nbytes += nbytes;
    }
    return true;
}

static bool is_same(const struct outcome *a, const struct outcome *b) {
    return a->nbytes == b->nbytes && !memcmp(a->saved, b->saved, a->nbytes) && !strcmp(a->text, b->text);
}

/* false: no call failed any more. */
static bool try_task(const struct task *task, const struct outcome *expected, const char *kind, long at,
                     bool is_lasting) {
    static struct outcome before, got;
    struct state state;
    memset(&before, 0, sizeof before);
    memset(&got, 0, sizeof got);
    if (!begin(&state) || !keep(&state, &before)) die(task, kind, at, is_lasting, "cannot begin");
    choose(kind, at, is_lasting);
    wf_error error = task->run(&state, got.text, sizeof got.text);
    bool is_hit = choose(NULL, 0, false) >= at;
    if (error && strcmp(kind, "memory")) die(task, kind, at, is_lasting, wf_error_text(error));
    if (error && error != WF_ERROR_MEMORY) die(task, kind, at, is_lasting, wf_error_text(error));
    if (!keep(&state, &got)) die(task, kind, at, is_lasting, "the accumulator cannot be saved");
    if (error) {
        got.text[0] = '\0';
        if (!is_same(&got, &before)) die(task, kind, at, is_lasting, "the accumulator is not as it was");
        if (task->run(&state, got.text, sizeof got.text) || !keep(&state, &got))
            die(task, kind, at, is_lasting, "it fails again");
    }
    if (!is_same(&got, expected)) die(task, kind, at, is_lasting, "other results");
    end(&state);
    return is_hit;
}

static long try_all(const struct task *task) {
    static const char *const kinds[] = {"memory", "thread"};
    static struct outcome expected;
    struct state state;
    long tried = 0;
    memset(&expected, 0, sizeof expected);
    if (!begin(&state) || task->run(&state, expected.text, sizeof expected.text) || !keep(&state, &expected))
        die(task, "memory", 0, false, "cannot begin");
    end(&state);
    for (int k = 0; k < 2; k++)
        for (int is_lasting = 0; is_lasting < 2; is_lasting++)
            for (long at = 1; try_task(task, &expected, kinds[k], at, is_lasting); at++) tried++;
    return tried;
}

static bool write_text(const char *name, int first) {
    FILE *stream = fopen(name, "w");
    for (int i = first; stream && i < COUNT / 10; i++) fprintf(stream, "%g\n", values[i]);
    return stream && !fclose(stream);
}

int main(int argc, char **argv) {
    *(void **)&choose = dlsym(RTLD_DEFAULT, "faults_choose");
    if (argc != 2 || !choose) return 2;
    for (int i = 0; i < COUNT; i++) values[i] = (double)(i * 37 % 101 - 50) / 8;
    for (int i = 0; i < COUNT; i++) keys[i] = (uint8_t)(i % GROUPS);
    for (int i = 0; i < 2; i++) {
        snprintf(path[i], sizeof path[i], "%s/%d.txt", argv[1], i);
        if (!write_text(path[i], i)) return 2;
    }
    for (size_t t = 0; t < sizeof tasks / sizeof tasks[0]; t++)
        printf("%s %ld\n", tasks[t].name, try_all(&tasks[t]));
    return 0;
}
