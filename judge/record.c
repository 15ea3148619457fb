#include "record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "task.h"

struct record *record_create(void) {
    return calloc(1, sizeof(struct record));
}

void record_destroy(struct record *record) {
    if (record) free(record->reasons);
    free(record);
}

void record_add(struct record *record, const struct judge_reason *reason) {
    if (record->reason_count == record->reason_capacity) {
        const size_t capacity = 2 * record->reason_capacity + 4;
        struct judge_reason *larger = realloc(record->reasons, capacity * sizeof *larger);
        if (!larger) {
            record->error = fail_memory(&record->message);
            return;
        }
        record->reasons = larger;
        record->reason_capacity = capacity;
    }
    record->reasons[record->reason_count++] = *reason;
}

void record_error(struct record *record, const struct rounding *rounding) {
    if (record->has_error && rounding->error_ulp <= record->worst.error_ulp) return;
    record->has_error = true;
    record->worst = *rounding;
}

/* What cures a race, where that names lines, as of an exchange whose accesses race at several pairs of them; else *length is 0. */
static const char *cure_of(const struct judge_reason *reason, size_t *length) {
    char place[32];
    snprintf(place, sizeof place, ":%u: ", (unsigned)reason->other_line);
    const char *cure = reason->other_line ? strstr(reason->message, place) : NULL, *element = cure ? strstr(cure, " (index ") : NULL;
    cure = cure ? cure + strlen(place) : reason->message;
    *length = element ? (size_t)(element - cure) : strlen(cure);
    if (cure == reason->message || !strstr(cure, " line")) *length = 0;
    return cure;
}

static bool have_one_cure(const struct judge_reason *a, const struct judge_reason *b) {
    size_t length, other_length;
    const char *cure = cure_of(a, &length), *other = cure_of(b, &other_length);
    return length && length == other_length && !strncmp(cure, other, length);
}

/* The array of shared memory of which elements were read that nobody has written, "`own`,"; NULL: none is named. */
static const char *unwritten_array(const struct judge_reason *reason) {
    const bool is_unwritten = !strcmp(reason->kind, "uninitialised") && strstr(reason->message, " shared memory");
    const char *element = is_unwritten ? strstr(reason->message, " (index ") : NULL;
    return element ? strchr(element, '`') : NULL;
}

/* Whichever line reads it: the same store is missing. */
static bool lack_one_array(const struct judge_reason *a, const struct judge_reason *b) {
    const char *array = unwritten_array(a), *other = unwritten_array(b);
    return array && other && !strncmp(array, other, strcspn(array, ",") + 1);
}

/* Findings at the same pair of lines, or with the same cure; gates of the same count, which is a message's first word. */
static bool is_alike(const struct judge_reason *a, const struct judge_reason *b) {
    size_t count = strcspn(a->message, " ");
    if (strcmp(a->kind, b->kind) || strcmp(a->file, b->file)) return false;
    if (!strcmp(a->kind, "gate")) return !strncmp(a->message, b->message, count + 1);
    bool is_same = a->line == b->line && a->other_line == b->other_line;
    bool is_turned = a->line == b->other_line && a->other_line == b->line;
    return is_same || is_turned || have_one_cure(a, b) || lack_one_array(a, b);
}

/* If a small launch shows a race of lanes in one warp, and a larger one shows it between warps, too, only the latter is
 * told: its cure, __syncthreads(), cures both. */
static bool is_stronger(const struct judge_reason *a, const struct judge_reason *b) {
    return strstr(a->message, "no __syncthreads()") && strstr(b->message, "no __syncwarp()");
}

/* A finding says why, and where; a result that something is wrong; a gate what it costs. */
static int rank_of(const struct judge_reason *reason) {
    if (!strcmp(reason->kind, "gate")) return 2;
    return !strcmp(reason->kind, "result") || !strcmp(reason->kind, "input");
}

/* A reason behind those of its rank. */
static struct judge_reason *insert_reason(struct judge_verdict *verdict, const struct judge_reason *reason) {
    size_t at = verdict->reason_count++;
    for (; at > 0 && rank_of(&verdict->reasons[at - 1]) > rank_of(reason); at--) verdict->reasons[at] = verdict->reasons[at - 1];
    verdict->reasons[at] = *reason;
    return &verdict->reasons[at];
}

static bool is_result(const struct judge_reason *reason) { return !strcmp(reason->kind, "result"); }

static bool is_outside(const struct judge_reason *reason) {
    return !strcmp(reason->kind, "bounds") && strstr(reason->message, " global memory");
}

static struct judge_reason *find_reason(struct judge_verdict *verdict, bool (*is_it)(const struct judge_reason *)) {
    for (size_t i = 0; i < verdict->reason_count; i++)
        if (is_it(&verdict->reasons[i])) return &verdict->reasons[i];
    return NULL;
}

static void remove_reason(struct judge_verdict *verdict, struct judge_reason *reason) {
    const size_t behind = (size_t)(verdict->reasons + --verdict->reason_count - reason);
    memmove(reason, reason + 1, behind * sizeof *reason);
}

static const char left_out[] = "; the guard leaves out others, for elements are not written: it may compare an index with the other extent";

/* Whether the result is as it is because of that guard: where memory held a number before, what is not written looks like a wrong one. */
static bool is_left_out(const struct judge_reason *result, const struct judge_reason *outside) {
    return strstr(result->message, " is not written") || strstr(outside->message, left_out);
}

/* A guard that lets indices through that are too large, and leaves out others, is one fault: it is told where it is. */
static void unite_guards(struct judge_verdict *verdict) {
    struct judge_reason *result = find_reason(verdict, is_result), *outside = find_reason(verdict, is_outside);
    if (!result || !outside || !is_left_out(result, outside)) return;
    const size_t length = strlen(outside->message);
    snprintf(outside->message + length, sizeof outside->message - length, "%s", strstr(outside->message, left_out) ? "" : left_out);
    remove_reason(verdict, result);
}

static void conclude_reason(struct judge_verdict *verdict, const struct judge_reason *reason) {
    for (size_t i = 0; i < verdict->reason_count; i++) {
        if (!is_alike(&verdict->reasons[i], reason)) continue;
        verdict->reasons[i].launches += verdict->reasons[i].last_launch != verdict->launches;
        verdict->reasons[i].last_launch = verdict->launches;
        if (is_stronger(reason, &verdict->reasons[i]))
            memcpy(verdict->reasons[i].message, reason->message, sizeof reason->message);
        return;
    }
    if (verdict->reason_count == JUDGE_REASONS_MAX) return;
    struct judge_reason *added = insert_reason(verdict, reason);
    added->launches = 1;
    added->last_launch = verdict->launches;
}

static void conclude_error(struct judge_verdict *verdict, const struct rounding *worst) {
    if (verdict->has_error && worst->error_ulp <= verdict->error_ulp) return;
    verdict->has_error = true;
    verdict->error_ulp = worst->error_ulp;
    verdict->bound_ulp = worst->bound_ulp;
    verdict->roundings = worst->roundings;
    verdict->is_counted = worst->is_counted;
}

void record_conclude(const struct record *record, size_t gate_count, struct judge_verdict *verdict) {
    verdict->launches += record->is_launched;
    for (size_t r = 0; r < record->reason_count; r++) conclude_reason(verdict, &record->reasons[r]);
    unite_guards(verdict);
    if (record->has_error) conclude_error(verdict, &record->worst);
    if (!record->has_gates) return;
    verdict->gate_count = gate_count;
    memcpy(verdict->gates, record->gates, gate_count * sizeof *verdict->gates);
}
