/* What the parts of the command ladder share: what was asked for, the data, and the verdict on a run. */
#ifndef CLI_LADDER_ERRAND_H
#define CLI_LADDER_ERRAND_H

#include "ladder.h"
#include "ladder_table.h"
#include "options.h"

/* What the user asked for. */
struct errand {
    const struct settings *settings;
    wf_op op;
    wf_type type;
    enum ladder_finish finish;
    int64_t n; /* -1: the device's own choice */
    uint32_t block, grid;
    simt_schedule schedule;
    uint64_t schedule_seed;
    struct ladder_rung rung; /* the only one, if settings->rung */
};

struct ladder_variant errand_variant(const struct errand *errand, const struct ladder_rung *rung);

/* ---- data */

/* An array and what a plain loop makes of it, in so many microseconds. */
struct data {
    uint64_t n;
    void *values;
    struct ladder_result expected;
    double microseconds;
};

struct data_set {
    struct data exact, checked, random; /* checked: as exact, but few enough for all observers */
};

/* false: no memory.  To be cleared in any case. */
bool make_data(const struct errand *errand, enum ladder_data kind, uint64_t n, struct data *data);
bool make_data_set(const struct errand *errand, uint64_t n, struct data_set *set);
void clear_data(struct data_set *set);

double now_microseconds(void);

/* ---- tables */

/* With a row for each rung that was asked for and has the op and the type.  false: no memory. */
bool make_table(const struct errand *errand, struct ladder_table *table);
void clear_table(struct ladder_table *table);

/* What the table says of the data, and the plain loop's row. */
void describe_data(const struct errand *errand, const struct data_set *set, struct ladder_table *table);

/* A failure if rungs are wrong: then the table is printed all the same, but no partials. */
int print_table(struct ladder_table *table, const struct settings *settings);

/* ---- runs */

/* Whether a run gave what it must; says what is wrong, if anything is. */
bool is_right(const struct errand *errand, const struct ladder_rung *rung, const struct data *data,
              const struct ladder_outcome *outcome, simt_error error, const simt_message *message);

/* Whether an earlier launch of the run has found the same. */
bool is_repeated(const struct ladder_outcome *outcome, size_t index);

/* Fills the row with what the SIMT machine finds and counts.  A wrong result is told in the row; only what
 * keeps the rung from running is an error. */
int count_on_machine(const struct errand *errand, const struct data_set *set, struct ladder_row *row);

/* The whole command, on each device. */
int run_on_machine(const struct errand *errand);
int run_on_gpu(const struct errand *errand);
int run_sweep(const struct errand *errand);

#endif
