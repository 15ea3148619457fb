/* budget FOLDER: the loops whose instructions tests/test_budget.py counts, over the same data each time. What
 * is counted happens inside `measured`; a line of each, `NAME: ELEMENTS`, in the order of the calls.  Files
 * are written into FOLDER. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "ladder.h"
#include "warpfold.h"

enum { COUNT = 1 << 16, SHORT_COUNT = 1000, TEXT_COUNT = 1 << 13, MACHINE_COUNT = 1 << 12 };

struct work {
    const char *name;
    int64_t count;
    void (*run)(struct work *work);
    wf_handle *handle;
    wf_reduction reduction;
    wf_array arrays[2];
    wf_groups groups;
    const char *path, *column;
    struct ladder_task *task;
};

static void need(bool holds, const char *name, const char *message) {
    if (holds) return;
    fprintf(stderr, "budget: %s: %s\n", name, message);
    exit(1);
}

/* Its name, which is no other's, is what callgrind counts by. */
void measured(struct work *work);
__attribute__((noinline)) void measured(struct work *work) {
    work->run(work);
}

/* With a handle of its own, so that nothing depends on what was measured before. */
static void measure(struct work *work) {
    need(!wf_handle_create("cpu", &work->handle) && !wf_handle_set_threads(work->handle, 1), work->name,
         "no handle");
    measured(work);
    wf_handle_destroy(work->handle);
    printf("%s: %lld\n", work->name, (long long)work->count);
}

/* ---- data: what a small generator draws */

static uint64_t draw(void) {
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 32;
}

/* Uniform in (-1, 1), or with exponents spread evenly from -100 to 100. */
static double draw_real(bool is_wide) {
    double real = ((double)draw() - 0x1p31 + 0.5) * 0x1p-31;
    return is_wide ? ldexp(real, (int)(draw() % 201) - 100) : real;
}

/* Of a half: the sign and the fraction at random, the exponents those of 2^-8 to 1. */
static uint16_t draw_half(void) {
    uint64_t bits = draw();
    return (uint16_t)((bits & 0x83ff) | (7 + (bits >> 16) % 8) << 10);
}

static void fill(void *into, wf_type type, bool is_wide) {
    for (int64_t i = 0; i < COUNT; i++) {
        if (type == WF_F64) ((double *)into)[i] = draw_real(is_wide);
        if (type == WF_F32) ((float *)into)[i] = (float)draw_real(is_wide);
        if (type == WF_F16) ((uint16_t *)into)[i] = draw_half();
        if (type == WF_I32) ((int32_t *)into)[i] = (int32_t)(draw() % 2000000) - 1000000;
        if (type == WF_I8) ((int8_t *)into)[i] = (int8_t)draw();
    }
}

/* ---- arrays */

static void reduce(struct work *work) {
    wf_value value;
    wf_stats stats = {.nbytes = sizeof stats};
    const wf_array *b = work->reduction.op == WF_DOT ? &work->arrays[1] : NULL;
    wf_error error = work->reduction.op == WF_STATS
                         ? wf_reduce_stats(work->handle, &work->reduction, &work->arrays[0], &stats)
                         : wf_reduce_value(work->handle, &work->reduction, &work->arrays[0], b, &value);
    need(!error, work->name, wf_handle_message(work->handle));
}

static void measure_op(wf_op op, wf_type type, const char *kind, void *const data[2], int64_t count) {
    char name[64];
    snprintf(name, sizeof name, "%s %s%s", wf_op_name(op), wf_type_name(type), kind);
    struct work work = {.name = name, .count = count, .run = reduce, .reduction = wf_reduction_of(op)};
    for (int k = 0; k < 2; k++) work.arrays[k] = wf_array_vector(data[k], type, count);
    measure(&work);
}

/* Sums of few elements that no window covers. */
static void measure_short(wf_type type, void *const data[2]) {
    static const wf_op ops[] = {WF_SUM, WF_VAR, WF_NORM2, WF_DOT};
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) measure_op(ops[o], type, " wide, short", data, SHORT_COUNT);
}

static void measure_arrays(void) {
    static const wf_type types[] = {WF_F32, WF_F64, WF_F16, WF_I32, WF_I8};
    static const wf_op ops[] = {WF_SUM, WF_MEAN,   WF_VAR,     WF_DOT,   WF_NORM1,
                                WF_MIN, WF_ARGMAX, WF_NONZERO, WF_STATS, WF_PROD};
    static double data[2][COUNT];
    void *const arrays[2] = {data[0], data[1]};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        bool is_integer = types[t] == WF_I32 || types[t] == WF_I8; /* whose product does not fit */
        for (int is_wide = 0; is_wide <= (types[t] == WF_F32 || types[t] == WF_F64); is_wide++) {
            for (int k = 0; k < 2; k++) fill(data[k], types[t], is_wide);
            for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
                if (ops[o] != WF_PROD || !is_integer)
                    measure_op(ops[o], types[t], is_wide ? " wide" : "", arrays, COUNT);
            if (is_wide) measure_short(types[t], arrays);
        }
    }
}

/* What took a second pass: NaNs that are counted, blocks that all improve on an extremum, subnormals. */
static void measure_hard_arrays(void) {
    static double nans[COUNT], sorted[COUNT], subnormal[COUNT];
    for (int64_t i = 0; i < COUNT; i++) {
        nans[i] = draw() % 2 ? draw_real(false) : (double)NAN;
        sorted[i] = (double)i;
        subnormal[i] = draw_real(false) * 0x1p-1022;
    }
    measure_op(WF_NONZERO, WF_F64, " with NaNs", (void *const[2]){nans, nans}, COUNT);
    measure_op(WF_MAX, WF_F64, " sorted", (void *const[2]){sorted, sorted}, COUNT);
    measure_op(WF_SUM, WF_F64, " subnormal", (void *const[2]){subnormal, subnormal}, COUNT);
}

/* ---- groups */

static void reduce_groups(struct work *work) {
    static double results[COUNT];
    int64_t shape[2];
    const wf_array *a = &work->arrays[0], *b = work->reduction.op == WF_DOT ? &work->arrays[1] : NULL;
    wf_output output = {.data = results, .type = wf_op_result_type(work->reduction.op, a->type), .shape = shape};
    need(!wf_groups_shape(a, &work->groups, &output.ndim, shape), work->name, "no shape");
    wf_error error = wf_reduce(work->handle, &work->reduction, a, b, &work->groups, &output);
    need(!error, work->name, wf_handle_message(work->handle));
}

static void measure_groups(const char *name, wf_op op, wf_array array, wf_groups groups) {
    measure(&(struct work){.name = name,
                           .count = COUNT,
                           .run = reduce_groups,
                           .reduction = wf_reduction_of(op),
                           .arrays = {array, array},
                           .groups = groups});
}

/* Groups that would each take an accumulator, if nothing else served them. */
static void measure_short_groups(const double *reals, const float *singles, const int64_t *keys) {
    enum { SEGMENTS = COUNT / 4 };
    static int64_t offsets[SEGMENTS + 1];
    static const int64_t rows_of_16[2] = {COUNT / 16, 16}, rows_of_60[2] = {COUNT / 64, 60}, apart[2] = {256, 4},
                         columns_of_2[2] = {2, COUNT / 2}, rows_of_4[2] = {COUNT / 4, 4}, rows_of_1[2] = {COUNT, 1},
                         columns_of_16[2] = {16, COUNT / 16};
    for (int64_t i = 0; i < SEGMENTS; i++) offsets[i + 1] = offsets[i] + 1 + i % 7;
    wf_array ends = wf_array_vector(offsets, WF_I64, SEGMENTS + 1), labels = wf_array_vector(keys, WF_I64, COUNT / 4);
    wf_array few = {.data = singles, .type = WF_F32, .ndim = 2, .shape = rows_of_16};
    wf_array far = {.data = singles, .type = WF_F32, .ndim = 2, .shape = rows_of_60, .stride_bytes = apart};
    wf_array two = {.data = singles, .type = WF_F32, .ndim = 2, .shape = columns_of_2};
    wf_array four = {.data = singles, .type = WF_F32, .ndim = 2, .shape = rows_of_4};
    wf_array one = {.data = singles, .type = WF_F32, .ndim = 2, .shape = rows_of_1};
    wf_array sixteen = {.data = reals, .type = WF_F64, .ndim = 2, .shape = columns_of_16};
    measure_groups("any f32 of rows", WF_ANY, few, wf_groups_axes(1 << 1));
    measure_groups("norm2 f32 of rows", WF_NORM2, few, wf_groups_axes(1 << 1));
    measure_groups("sum f32 of rows apart", WF_SUM, far, wf_groups_axes(1 << 1));
    measure_groups("sum f32 of rows of 4", WF_SUM, four, wf_groups_axes(1 << 1));
    measure_groups("min f32 of two rows", WF_MIN, two, wf_groups_axes(1 << 0));
    measure_groups("mean f32 of two rows", WF_MEAN, two, wf_groups_axes(1 << 0));
    measure_groups("prod f32 of rows", WF_PROD, few, wf_groups_axes(1 << 1));
    measure_groups("prod f64 of columns", WF_PROD, sixteen, wf_groups_axes(1 << 0));
    measure_groups("norm2 f32 of one each", WF_NORM2, one, wf_groups_axes(1 << 1));
    measure_groups("any f32 of one each", WF_ANY, one, wf_groups_axes(1 << 1));
    measure_groups("std f32 of two rows", WF_STD, two, wf_groups_axes(1 << 0));
    measure_groups("dot f64 of segments", WF_DOT, wf_array_vector(reals, WF_F64, COUNT),
                   wf_groups_segments(0, SEGMENTS, &ends));
    measure_groups("sum f32 of rows by key", WF_SUM, four, wf_groups_keys(0, 10000, &labels));
}

/* Of a few columns and rows with NaNs that are left out. */
static void measure_left_out(wf_array columns, struct work work) {
    static const int64_t rows_of_64[2] = {COUNT / 64, 64}, rows_of_4[2] = {COUNT / 4, 4};
    const struct {
        const char *name;
        wf_op op;
        const int64_t *rows; /* NULL: of columns */
    } asked[] = {{"sum f32 of 4 rows, NaNs left out", WF_SUM, NULL},
                 {"var f32 of 4 rows, NaNs left out", WF_VAR, NULL},
                 {"norm2 f32 of 4 rows, NaNs left out", WF_NORM2, NULL},
                 {"dot f32 of 4 rows, NaNs left out", WF_DOT, NULL},
                 {"dot f32 of rows of 64, NaNs left out", WF_DOT, rows_of_64},
                 {"sum f32 of rows of 64, NaNs left out", WF_SUM, rows_of_64},
                 {"var f32 of rows of 64, NaNs left out", WF_VAR, rows_of_64},
                 {"max f32 of rows of 4, NaNs left out", WF_MAX, rows_of_4}};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        work.name = asked[i].name;
        work.reduction.op = asked[i].op;
        work.arrays[0] = columns;
        if (asked[i].rows) work.arrays[0].shape = asked[i].rows;
        work.arrays[1] = work.arrays[0];
        work.groups = wf_groups_axes(asked[i].rows ? 1 << 1 : 1 << 0);
        measure(&work);
    }
}

/* One element in a hundred is NaN. */
static void measure_nans(double *reals, float *singles, const int64_t *keys) {
    static const int64_t rows_of_16[2] = {COUNT / 16, 16}, columns_of_4[2] = {4, COUNT / 4},
                         columns_of_256[2] = {256, COUNT / 256};
    fill(singles, WF_F32, false);
    for (int i = 0; i < COUNT; i += 97) reals[i] = singles[i] = NAN;
    wf_array rows = {.data = reals, .type = WF_F64, .ndim = 2, .shape = rows_of_16};
    wf_array columns = {.data = singles, .type = WF_F32, .ndim = 2, .shape = columns_of_4};
    const struct {
        const char *name;
        wf_op op;
        bool is_of_rows;
    } asked[] = {{"any f64 of rows with NaNs", WF_ANY, true},
                 {"argmax f64 of rows with NaNs", WF_ARGMAX, true},
                 {"max f32 of columns with NaNs", WF_MAX, false},
                 {"mean f32 of columns with NaNs", WF_MEAN, false}};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        measure_groups(asked[i].name, asked[i].op, asked[i].is_of_rows ? rows : columns,
                       wf_groups_axes(asked[i].is_of_rows ? 1 << 1 : 1 << 0));
    struct work products = {.name = "prod f32 of columns, NaNs left out",
                            .count = COUNT,
                            .run = reduce_groups,
                            .reduction = wf_reduction_of(WF_PROD),
                            .arrays = {columns},
                            .groups = wf_groups_axes(1 << 0)};
    products.reduction.nan = WF_NAN_OMIT;
    measure(&products);
    struct work sums = products;
    sums.name = "sum f32 of columns of 256, NaNs left out";
    sums.reduction.op = WF_SUM;
    sums.arrays[0].shape = columns_of_256;
    measure(&sums);
    measure_left_out(columns, products);
    for (int i = 0; i < COUNT; i += 2) singles[i] = NAN;
    wf_array labels = wf_array_vector(keys, WF_I64, COUNT);
    struct work extrema = sums;
    extrema.name = "argmax f32 by key, NaNs left out";
    extrema.reduction.op = WF_ARGMAX;
    extrema.arrays[0] = wf_array_vector(singles, WF_F32, COUNT);
    extrema.groups = wf_groups_keys(0, 1000, &labels);
    measure(&extrema);
}

/* By as many keys as make finishing their results a part of the time. */
static void measure_many_keys(const double *reals, const float *singles) {
    enum { KEYS = COUNT / 4 };
    static int64_t keys[COUNT];
    for (int64_t i = 0; i < COUNT; i++) keys[i] = i * 40503 % KEYS;
    wf_array labels = wf_array_vector(keys, WF_I64, COUNT);
    measure_groups("norm2 f64 by many keys", WF_NORM2, wf_array_vector(reals, WF_F64, COUNT), wf_groups_keys(0, KEYS, &labels));
    measure_groups("var f32 by many keys", WF_VAR, wf_array_vector(singles, WF_F32, COUNT), wf_groups_keys(0, KEYS, &labels));
}

static void measure_by_groups(void) {
    static double reals[COUNT];
    static float singles[COUNT];
    static int64_t keys[COUNT];
    static const int64_t rows_of_256[2] = {COUNT / 256, 256}, columns_of_256[2] = {256, COUNT / 256},
                         columns_of_16[2] = {16, COUNT / 16}, columns_of_4[2] = {4, COUNT / 4};
    fill(reals, WF_F64, false);
    fill(singles, WF_F32, false);
    for (int64_t i = 0; i < COUNT; i++) keys[i] = (int64_t)(draw() % 1000);
    wf_array labels = wf_array_vector(keys, WF_I64, COUNT);
    measure_groups("sum f64 by key", WF_SUM, wf_array_vector(reals, WF_F64, COUNT), wf_groups_keys(0, 1000, &labels));
    measure_groups("sum f32 by key", WF_SUM, wf_array_vector(singles, WF_F32, COUNT), wf_groups_keys(0, 1000, &labels));
    wf_array rows = {.data = singles, .type = WF_F32, .ndim = 2, .shape = rows_of_256};
    wf_array columns = {.data = singles, .type = WF_F32, .ndim = 2, .shape = columns_of_256};
    measure_groups("sum f32 of rows", WF_SUM, rows, wf_groups_axes(1 << 1));
    measure_groups("sum f32 of columns", WF_SUM, columns, wf_groups_axes(1 << 0));
    wf_array few_rows = {.data = reals, .type = WF_F64, .ndim = 2, .shape = columns_of_16};
    wf_array few_singles = {.data = singles, .type = WF_F32, .ndim = 2, .shape = columns_of_16};
    wf_array few_integers = {.data = keys, .type = WF_I32, .ndim = 2, .shape = columns_of_16};
    measure_groups("dot f64 of columns", WF_DOT, few_rows, wf_groups_axes(1 << 0));
    measure_groups("norm2 f64 of columns", WF_NORM2, few_rows, wf_groups_axes(1 << 0));
    measure_groups("var i32 of columns", WF_VAR, few_integers, wf_groups_axes(1 << 0));
    measure_many_keys(reals, singles);
    fill(singles, WF_F32, true);
    measure_groups("sum f32 wide of rows", WF_SUM, rows, wf_groups_axes(1 << 1));
    measure_groups("mean f32 wide of columns", WF_MEAN, few_singles, wf_groups_axes(1 << 0));
    few_singles.shape = columns_of_4;
    measure_groups("mean f32 wide of columns of 4", WF_MEAN, few_singles, wf_groups_axes(1 << 0));
    measure_short_groups(reals, singles, keys);
    measure_nans(reals, singles, keys);
}

/* Over nearly all exponents, so few elements that emptying bins takes a part of the time. */
static void measure_any_exponents(void) {
    enum { ANY_COUNT = 1 << 12 };
    static double data[ANY_COUNT];
    static const int64_t columns_of_16[2] = {16, ANY_COUNT / 16};
    for (int i = 0; i < ANY_COUNT; i++) data[i] = ldexp(draw_real(false), (int)(draw() % 2001) - 1000);
    measure_op(WF_SUM, WF_F64, " of any exponents", (void *const[2]){data, data}, ANY_COUNT);
    measure(&(struct work){.name = "var f64 of columns of any exponents",
                           .count = ANY_COUNT,
                           .run = reduce_groups,
                           .reduction = wf_reduction_of(WF_VAR),
                           .arrays = {{.data = data, .type = WF_F64, .ndim = 2, .shape = columns_of_16}},
                           .groups = wf_groups_axes(1 << 0)});
}

/* ---- files */

static void read_file(struct work *work) {
    wf_reader *reader;
    wf_accumulator *accumulator;
    wf_value value;
    wf_reader_options options = {.nbytes = sizeof options, .column_name = work->column};
    wf_error error = wf_reader_open(work->handle, &work->path, 1, &options, &reader);
    need(!error, work->name, wf_handle_message(work->handle));
    error =
        wf_accumulator_create(work->handle, &work->reduction, wf_reader_type(reader), 0, NULL, &accumulator);
    need(!error, work->name, wf_handle_message(work->handle));
    error = wf_accumulator_add_reader(work->handle, accumulator, reader, NULL);
    need(!error, work->name, wf_handle_message(work->handle));
    error = wf_accumulator_value(work->handle, accumulator, WF_SUM, &value);
    need(!error, work->name, wf_handle_message(work->handle));
    wf_accumulator_destroy(accumulator);
    wf_reader_close(reader);
}

static void write_integers(FILE *file) {
    for (int i = 0; i < TEXT_COUNT; i++) fprintf(file, "%d\n", (int)(draw() % 2000000) - 1000000);
}

static void write_reals(FILE *file) {
    for (int i = 0; i < TEXT_COUNT; i++) fprintf(file, "%.17g\n", draw_real(false));
}

static void write_table(FILE *file) {
    fprintf(file, "name,x,y\n");
    for (int i = 0; i < TEXT_COUNT; i++)
        fprintf(file, "row %d,%.6f,%.3e\n", i, draw_real(false), draw_real(true));
}

static void write_npy(FILE *file) {
    static float data[COUNT];
    char shape[118];
    fill(data, WF_F32, false);
    snprintf(shape, sizeof shape, "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }", COUNT);
    fwrite("\x93NUMPY\x01\0\x76\0", 1, 10, file);
    fprintf(file, "%-117s\n", shape);
    fwrite(data, sizeof *data, COUNT, file);
}

static void measure_file(const char *folder, const char *name, int64_t count, void (*write)(FILE *file)) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    need(file, name, "cannot be written");
    write(file);
    need(!fclose(file), name, "cannot be written");
    measure(&(struct work){.name = name,
                           .count = count,
                           .run = read_file,
                           .reduction = wf_reduction_of(WF_SUM),
                           .path = path,
                           .column = write == write_table ? "y" : NULL});
}

/* ---- the simulator */

static void simulate(struct work *work) {
    struct ladder_outcome outcome;
    simt_message message;
    need(!ladder_run(work->task, &outcome, &message), work->name, message.text);
    ladder_outcome_clear(&outcome);
}

static void measure_simulator(const char *name, const struct simt_observer *const *observers) {
    static int32_t values[MACHINE_COUNT];
    struct ladder_rung rung;
    simt_message message;
    simt_module *module;
    need(ladder_rung_find("06", &rung), name, "no such rung");
    struct ladder_variant variant = {&rung, WF_SUM, WF_I32, LADDER_FINISH_DEFAULT, 0};
    need(!ladder_module(&variant, NULL, &module, &message), name, message.text);
    struct ladder_task task = {.variant = variant,
                               .module = module,
                               .values = values,
                               .n = MACHINE_COUNT,
                               .threads = 1,
                               .observers = observers};
    measure(&(struct work){.name = name, .count = MACHINE_COUNT, .run = simulate, .task = &task});
    simt_module_destroy(module);
}

int main(int count, char **arguments) {
    need(count == 2, "usage", "budget FOLDER");
    measure_arrays();
    measure_file(arguments[1], "integers.txt", TEXT_COUNT, write_integers);
    measure_file(arguments[1], "reals.txt", TEXT_COUNT, write_reals);
    measure_file(arguments[1], "table.csv", TEXT_COUNT, write_table);
    measure_file(arguments[1], "floats.npy", COUNT, write_npy);
    measure_simulator("simulator", NULL);
    measure_simulator("simulator, observed", simt_observers);
    measure_by_groups();
    measure_any_exponents();
    measure_hard_arrays();
    return 0;
}
