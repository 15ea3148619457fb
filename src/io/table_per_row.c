#include "io/table_per_row.h"

#include <stdlib.h>
#include <string.h>

#include "io/tally_parts.h"

struct job {
    wf_handle *handle;
    struct wf_tally *tally;
    struct wf_table table;
    struct wf_row_results *results;
    struct wf_chunk chunk;
    struct wf_rows rows;
    unsigned char *values; /* of the chunk: row by row, without what is missing */
    int64_t *offset;       /* in them: of each row, and of the end */
};

static wf_error fail_memory(wf_handle *handle) {
    return wf_fail(handle, WF_ERROR_MEMORY, "no memory for the rows of a table");
}

void wf_row_results_clear(struct wf_row_results *results) {
    for (size_t i = 0; i < WF_TALLY_OPS_MAX; i++) free(results->result[i]);
    memset(results, 0, sizeof *results);
}

/* ---- the rows of a chunk, one after the other ---- */

static wf_error lay_out(struct job *job) {
    const struct wf_rows *rows = &job->rows;
    const size_t nbytes = wf_type_nbytes(job->tally->settings.type), columns = job->table.column_count;
    free(job->values);
    free(job->offset);
    job->values = malloc((size_t)rows->count * columns * nbytes + 1);
    job->offset = malloc(((size_t)rows->count + 1) * sizeof *job->offset);
    if (!job->values || !job->offset) return fail_memory(job->handle);
    int64_t used = 0;
    for (int64_t i = 0; i < rows->count; i++) {
        job->offset[i] = used;
        for (size_t c = 0; c < columns; c++) {
            if (rows->missing[c][i]) continue;
            memcpy(job->values + (size_t)used * nbytes, rows->values[c] + (size_t)i * nbytes, nbytes);
            used++;
        }
    }
    job->offset[rows->count] = used;
    return WF_OK;
}

static wf_error reserve(struct job *job, int64_t needed) {
    struct wf_row_results *results = job->results;
    struct wf_tally_column *column = &job->tally->column[0];
    if (needed <= results->capacity) return WF_OK;
    const int64_t capacity = 2 * needed;
    for (size_t i = 0; i < job->tally->settings.op_count; i++) {
        void *longer = realloc(results->result[i], (size_t)capacity * sizeof(uint64_t));
        if (!longer) return fail_memory(job->handle);
        results->result[i] = longer;
    }
    int64_t *counts = realloc(column->count, (size_t)capacity * sizeof *counts);
    if (!counts) return fail_memory(job->handle);
    column->count = counts;
    results->capacity = capacity;
    return WF_OK;
}

/* The extremum's index is of the values that are there; of all columns it is more where some are missing before it. */
static void find_columns(const struct job *job, uint64_t *index) {
    for (int64_t i = 0; i < job->rows.count; i++) {
        uint64_t column = 0;
        for (uint64_t left = index[i];; column++) {
            const bool is_missing = job->rows.missing[column][i];
            if (!is_missing && !left--) break;
            if (column + 1 == job->table.column_count) break;
        }
        index[i] = column;
    }
}

static void divide(const struct job *job, int64_t *sums) {
    for (int64_t i = 0; i < job->rows.count; i++) {
        const int64_t count = job->offset[i + 1] - job->offset[i];
        double mean = 0;
        if (count) mean = wf_decimal_mean(sums[i], count, job->tally->settings.decimals, WF_F64).v.f64;
        memcpy(&sums[i], &mean, sizeof mean);
    }
}

static wf_error reduce(struct job *job, wf_op op, void *results) {
    const struct wf_tally *tally = job->tally;
    const struct wf_segments rows = {job->values, job->offset, job->rows.count};
    if (wf_tally_is_of_order(op)) return wf_tally_order_segments(job->handle, tally, op, &rows, results);
    const bool is_mean = op == WF_MEAN && tally->settings.decimals != WF_NO_DECIMALS;
    const wf_reduction reduction = wf_tally_reduction(tally, is_mean ? WF_SUM : op);
    const int64_t count = job->rows.count;
    const wf_array values = wf_array_vector(job->values, tally->settings.type, job->offset[count]);
    const wf_array offsets = wf_array_vector(job->offset, WF_I64, count + 1);
    const wf_groups groups = wf_groups_segments(0, count, &offsets);
    const wf_output output = {.data = results, .ndim = 1, .shape = &count};
    wf_error error = wf_reduce(job->handle, &reduction, &values, NULL, &groups, &output);
    if (!error && is_mean) divide(job, results);
    return error;
}

/* Indices are positions along the whole of the values; from the row's first on they count its own. */
static void count_from_row(const struct job *job, uint64_t *index) {
    for (int64_t i = 0; i < job->rows.count; i++)
        if (job->offset[i + 1] > job->offset[i]) index[i] -= (uint64_t)job->offset[i];
    find_columns(job, index);
}

static wf_error add_rows(struct job *job) {
    const struct wf_tally_settings *settings = &job->tally->settings;
    struct wf_row_results *results = job->results;
    const int64_t count = job->rows.count;
    wf_error error = lay_out(job);
    if (!error) error = reserve(job, results->count + count);
    if (error || !count) return error;
    int64_t *value_count = job->tally->column[0].count + results->count;
    for (int64_t i = 0; i < count; i++) value_count[i] = job->offset[i + 1] - job->offset[i];
    for (size_t i = 0; i < settings->op_count && !error; i++) {
        const wf_op op = settings->op[i];
        char *to = results->result[i];
        to += (size_t)results->count * (op == WF_TALLY_COUNT ? 8 : wf_type_nbytes(wf_tally_result_type(job->tally, op)));
        if (op == WF_TALLY_COUNT) memcpy(to, value_count, (size_t)count * sizeof *value_count);
        else error = reduce(job, op, to);
        if (!error && (op == WF_ARGMIN || op == WF_ARGMAX)) count_from_row(job, (uint64_t *)to);
    }
    if (!error) results->count += count;
    return error;
}

/* ---- files ---- */

static wf_error add_file(struct job *job) {
    struct wf_table *table = &job->table;
    const bool was_resolved = table->is_resolved;
    wf_error error = wf_table_begin_file(job->handle, table);
    if (!error && table->is_resolved && !was_resolved)
        error = wf_tally_set_columns(job->handle, job->tally, table->column_count, 0, table->name);
    while (!error && table->is_resolved) {
        job->chunk.is_end = false;
        error = wf_table_take(job->handle, table, &job->chunk);
        if (error || job->chunk.is_end) break;
        error = wf_rows_reserve(job->handle, &job->rows, table, &job->chunk);
        if (!error) error = wf_table_read(job->handle, table, &job->chunk, &job->rows);
        if (!error) error = add_rows(job);
    }
    wf_reader_close_file(table->reader);
    return error;
}

static wf_error add_files(struct job *job) {
    wf_reader *reader = job->table.reader;
    wf_error error = wf_reader_ensure_file(job->handle, reader);
    while (!error && reader->format) {
        error = reader->error = add_file(job);
        if (!error) error = wf_reader_ensure_file(job->handle, reader);
    }
    return error;
}

wf_error wf_table_reduce_rows(wf_handle *handle, struct wf_tally *tally, wf_reader *reader,
                              const struct wf_table_plan *plan, struct wf_row_results *results) {
    struct job job = {.handle = handle, .tally = tally, .results = results};
    wf_error error = wf_table_open(handle, &job.table, reader, plan);
    if (!error) error = wf_chunk_create(handle, &job.chunk);
    if (!error) error = add_files(&job);
    wf_rows_clear(&job.rows);
    wf_chunk_destroy(&job.chunk);
    free(job.values);
    free(job.offset);
    wf_table_close(&job.table);
    return error;
}
