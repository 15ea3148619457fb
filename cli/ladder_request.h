/* Shared by the files of the command ladder: the request, the data, and the check of a run. */
#ifndef CLI_LADDER_REQUEST_H
#define CLI_LADDER_REQUEST_H

#include "ladder/ladder.h"
#include "options.h"
#include "report/ladder_table.h"
#include "report/page.h"

/* The user's request. */
struct ladder_request {
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

/* Reads the rest from asked->settings.  Returns the exit status. */
int read_ladder_request(struct ladder_request *asked);

bool ladder_is_on_gpu(const struct settings *settings);
uint64_t ladder_request_n(const struct ladder_request *asked); /* elements that the simulator takes */

struct ladder_variant ladder_request_variant(const struct ladder_request *asked,
                                             const struct ladder_rung *rung);

/* ---- data */

/* An array, its result by a plain loop, and the time that the loop took. */
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
bool make_data(const struct ladder_request *asked, enum ladder_data kind, uint64_t n, struct data *data);
bool make_data_set(const struct ladder_request *asked, uint64_t n, struct data_set *set);
void clear_data(struct data_set *set);

double now_microseconds(void);

/* ---- tables */

/* With a row for each rung that was asked for and has the op and the type.  false: no memory. */
bool make_table(const struct ladder_request *asked, struct ladder_table *table);
void clear_table(struct ladder_table *table);

/* Fills in the table's description of the data and the row of the plain loop.  Returns the exit status. */
int describe_data(const struct ladder_request *asked, const struct data_set *set, struct ladder_table *table);

/* A failure if rungs are wrong: then the table is printed all the same, but no partials. */
int print_table(struct ladder_table *table, const struct settings *settings);

/* Writes the page of the runs, which are JSON, and prints `printed` if there is one.  Returns the exit
 * status. */
int write_page(const char *path, const char *runs, const struct page *printed);

/* ---- runs */

/* Sets whether a run, which ended with the error, gave what it must, and says what is wrong, if anything is.
 * A run that ended for lack of memory is not judged but a failure: returns the exit status. */
int judge(const struct ladder_request *asked, const struct ladder_rung *rung, const struct data *data,
          const struct ladder_outcome *outcome, simt_error error, const simt_message *message,
          bool *is_right);

/* Sets how far a run that ended with the error is from the correctly rounded result; NaN: it has none.
 * Returns the exit status: nothing but a want of memory is a failure. */
int measure_ulp(const struct ladder_request *asked, const struct ladder_rung *rung, const struct data *data,
                const struct ladder_outcome *outcome, simt_error error, const simt_message *message,
                double *ulp);

/* Whether an earlier launch of the run has found the same. */
bool is_repeated(const struct ladder_outcome *outcome, size_t index);

/* Fills the row with what the simulator finds and counts.  A wrong result is reported in the row; only what
 * keeps the rung from running is an error. */
int count_on_machine(const struct ladder_request *asked, const struct data_set *set, struct ladder_row *row);

/* The same for the rung that is the library's own reduction: only where it was asked for by its name, and there is an NVRTC;
 * else the row says that it needs a GPU. */
int count_engine(const struct ladder_request *asked, const struct data_set *set, struct ladder_row *row);

/* The whole command, on each device. */
int run_on_machine(const struct ladder_request *asked);
int run_on_gpu(const struct ladder_request *asked);
int run_sweep(const struct ladder_request *asked);

#endif
