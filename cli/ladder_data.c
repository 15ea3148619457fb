/* The ladder's data, and the verdict on what a run made of them. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ladder_request.h"
#include "output.h"

enum { N_CHECKED = 1 << 16 /* at most this many elements when looking for faults, which is slow */ };

static const uint64_t data_seed = 1;

double now_microseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

bool make_data(const struct ladder_request *asked, enum ladder_data kind, uint64_t n, struct data *data) {
    data->n = n;
    data->values = n <= SIZE_MAX / 8 ? malloc(n * wf_type_nbytes(asked->type)) : NULL;
    if (!data->values) return false;
    ladder_fill(data->values, asked->type, asked->op, n, kind, data_seed);
    double begin = now_microseconds();
    data->expected = ladder_reduce(data->values, NULL, asked->type, asked->op, n);
    data->microseconds = now_microseconds() - begin;
    return true;
}

bool make_data_set(const struct ladder_request *asked, uint64_t n, struct data_set *set) {
    return make_data(asked, LADDER_DATA_EXACT, n, &set->exact) &&
           make_data(asked, LADDER_DATA_EXACT, n < N_CHECKED ? n : N_CHECKED, &set->checked) &&
           make_data(asked, LADDER_DATA_RANDOM, n, &set->random);
}

void clear_data(struct data_set *set) {
    free(set->exact.values);
    free(set->checked.values);
    free(set->random.values);
    *set = (struct data_set){0};
}

/* ---- the verdict --------------------------------------------------------------------------------- */

static bool are_partials_right(const struct ladder_request *asked, const struct data *data,
                               const struct ladder_outcome *outcome) {
    const char *values = data->values, *partials = outcome->partials;
    uint64_t portion = outcome->plan.portion;
    size_t nbytes = wf_type_nbytes(asked->type);
    for (uint64_t i = 0; portion && i < outcome->partial_count; i++) {
        uint64_t begin = i * portion < data->n ? i * portion : data->n;
        uint64_t count = data->n - begin < portion ? data->n - begin : portion;
        struct ladder_result expected =
            ladder_reduce(values + begin * nbytes, NULL, asked->type, asked->op, count);
        struct ladder_result partial = {.value = ladder_value(partials + i * nbytes, asked->type)};
        if (expected.index >= 0) expected.index += (int64_t)begin;
        partial.index = outcome->partial_indices && count ? outcome->partial_indices[i] : LADDER_NO_INDEX;
        if (!ladder_result_equal(&partial, &expected, asked->op)) return false;
    }
    return true;
}

bool is_repeated(const struct ladder_outcome *outcome, size_t index) {
    const simt_finding *finding = ladder_outcome_finding(outcome, index);
    for (size_t i = 0; i < index; i++) {
        const simt_finding *earlier = ladder_outcome_finding(outcome, i);
        if (earlier->kind == finding->kind && earlier->line == finding->line &&
            !strcmp(earlier->file, finding->file))
            return true;
    }
    return false;
}

static void say_findings(const struct ladder_outcome *outcome, const char *id) {
    for (size_t i = 0; i < ladder_outcome_finding_count(outcome); i++) {
        const simt_finding *finding = ladder_outcome_finding(outcome, i);
        if (!is_repeated(outcome, i))
            say("%s: %s at %s:%" PRIu32 ": %s", id, simt_finding_kind_name(finding->kind), finding->file,
                finding->line, finding->message);
    }
}

static bool check(const struct ladder_request *asked, const struct ladder_rung *rung, const struct data *data,
                  const struct ladder_outcome *outcome, simt_error error, const simt_message *message) {
    const char *id = rung->id;
    wf_op op = asked->op;
    char found[64], expected[64];
    size_t findings = ladder_outcome_finding_count(outcome);
    say_findings(outcome, id);
    if (error && !findings) say("%s: %s", id, message->text);
    if (error || findings) return false;
    if (!ladder_result_equal(&outcome->result, &data->expected, op)) {
        ladder_result_format(&outcome->result, op, found, sizeof found);
        ladder_result_format(&data->expected, op, expected, sizeof expected);
        say("%s: its %s of %" PRIu64 " elements is wrong: %s, expected %s", id, wf_op_name(op), data->n,
            found, expected);
        return false;
    }
    if (are_partials_right(asked, data, outcome)) return true;
    say("%s: partials of %" PRIu64 " elements are wrong", id, data->n);
    return false;
}

int judge(const struct ladder_request *asked, const struct ladder_rung *rung, const struct data *data,
          const struct ladder_outcome *outcome, simt_error error, const simt_message *message,
          bool *is_right) {
    if (error == SIMT_ERROR_MEMORY) return fail("%s: %s", rung->id, message->text);
    *is_right = check(asked, rung, data, outcome, error, message);
    return STATUS_OK;
}

int measure_ulp(const struct ladder_request *asked, const struct ladder_rung *rung, const struct data *data,
                const struct ladder_outcome *outcome, simt_error error, const simt_message *message,
                double *ulp) {
    *ulp = NAN;
    if (error == SIMT_ERROR_MEMORY) return fail("%s: %s", rung->id, message->text);
    if (error) return STATUS_OK;
    return ladder_error_ulp(&outcome->result, data->values, asked->op, data->n, ulp) ? fail_memory()
                                                                                     : STATUS_OK;
}
