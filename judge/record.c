#include "record.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "task.h"

static bool is_result(const struct judge_reason *reason) { return !strcmp(reason->kind, "result"); }

struct record *record_create(void) {
    return calloc(1, sizeof(struct record));
}

void record_destroy(struct record *record) {
    if (record) free(record->reasons);
    if (record) free(record->hints);
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

void record_blame_races(struct record *record) {
    for (size_t r = 0; r < record->reason_count; r++) record->reasons[r].is_blamed = !strcmp(record->reasons[r].kind, "race");
}

void record_note_following(struct record *record) {
    for (size_t r = 0; r < record->reason_count; r++) record->reasons[r].may_follow = is_result(&record->reasons[r]);
}

static struct hint_tally *hint_at(struct record *record, size_t hint) {
    if (!record->hints) record->hints = calloc(hint_count(), sizeof *record->hints);
    if (!record->hints) record->error = fail_memory(&record->message);
    return record->hints ? &record->hints[hint] : NULL;
}

void record_hint(struct record *record, size_t hint, const struct judge_reason *reason) {
    struct hint_tally *tally = hint_at(record, hint);
    if (tally) *tally = (struct hint_tally){.launches = 1, .reason = *reason};
}

void record_refute(struct record *record, size_t hint) {
    struct hint_tally *tally = hint_at(record, hint);
    if (tally) tally->is_refuted = true;
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

/* The array or variable of shared memory of which something was read that nobody has written, "`own`,"; NULL: none is named. */
static const char *unwritten_array(const struct judge_reason *reason) {
    const bool is_unwritten = !strcmp(reason->kind, "uninitialised") && strstr(reason->message, " shared memory");
    const char *element = is_unwritten ? strstr(reason->message, " (index ") : NULL;
    if (is_unwritten && !element) element = strstr(reason->message, " (`");
    return element ? strchr(element, '`') : NULL;
}

/* Whichever line reads it: the same store is missing. */
static bool lack_one_array(const struct judge_reason *a, const struct judge_reason *b) {
    const char *array = unwritten_array(a), *other = unwritten_array(b);
    return array && other && !strncmp(array, other, strcspn(array, ",)") + 1);
}

/* The lines of a race between which a barrier is missing, in the program's order. */
static bool find_stretch(const struct judge_reason *race, unsigned *first, unsigned *second) {
    static const char missing[] = "no __syncthreads() between line ";
    const char *at = strcmp(race->kind, "race") ? NULL : strstr(race->message, missing);
    return at && sscanf(at + strlen(missing), "%u and line %u", first, second) == 2 && *first != *second;
}

/* As in one launch (simt/machine/findings.c): a barrier in the shorter stretch is in the longer one, too. */
static bool share_barrier(const struct judge_reason *a, const struct judge_reason *b, bool *is_shorter) {
    unsigned first, second, other_first, other_second;
    if (!find_stretch(a, &first, &second) || !find_stretch(b, &other_first, &other_second)) return false;
    *is_shorter = first > other_first || second < other_second;
    return (first == other_first || second == other_second) && (first < second) == (other_first < other_second);
}

static bool is_outside(const struct judge_reason *reason) {
    return reason->cause == JUDGE_CAUSE_OUTSIDE_INPUT || reason->cause == JUDGE_CAUSE_OUTSIDE_OUTPUT;
}

/* Results; findings at the same pair of lines, or with the same cure; gates of the same count, which is a message's first
 * word. */
static bool is_alike(const struct judge_reason *a, const struct judge_reason *b) {
    size_t count = strcspn(a->message, " ");
    if (strcmp(a->kind, b->kind)) return false;
    if (is_result(a)) return true;
    if (strcmp(a->file, b->file)) return false;
    if (!strcmp(a->kind, "gate")) return !strncmp(a->message, b->message, count + 1);
    bool is_same = a->line == b->line && a->other_line == b->other_line;
    bool is_turned = a->line == b->other_line && a->other_line == b->line;
    bool is_united = is_outside(a) && is_outside(b) && a->other_line && (b->line == a->line || b->line == a->other_line);
    bool is_shorter;
    return is_same || is_turned || is_united || have_one_cure(a, b) || lack_one_array(a, b) || share_barrier(a, b, &is_shorter);
}

/* If a small launch shows a race of lanes in one warp, and a larger one shows it between warps, too, only the latter is
 * told: its cure, __syncthreads(), cures both.  Only a launch of several tiles shows that these stay where they were,
 * and only some data show what a wrong result is instead. */
static bool is_stronger(const struct judge_reason *a, const struct judge_reason *b) {
    if (a->cause == JUDGE_CAUSE_TILES) return b->cause != a->cause;
    if (a->cause == JUDGE_CAUSE_EXPLAINED) return b->cause == JUDGE_CAUSE_OTHER;
    bool is_shorter;
    if (share_barrier(a, b, &is_shorter)) return is_shorter;
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

static struct judge_reason *find_reason(struct judge_verdict *verdict, bool (*is_it)(const struct judge_reason *)) {
    for (size_t i = 0; i < verdict->reason_count; i++)
        if (is_it(&verdict->reasons[i])) return &verdict->reasons[i];
    return NULL;
}

static void remove_reason(struct judge_verdict *verdict, struct judge_reason *reason) {
    const size_t behind = (size_t)(verdict->reasons + --verdict->reason_count - reason);
    memmove(reason, reason + 1, behind * sizeof *reason);
}

static bool is_unwritten(const struct judge_reason *reason) { return reason->cause == JUDGE_CAUSE_UNWRITTEN; }
static bool is_of_tiles(const struct judge_reason *reason) { return reason->cause == JUDGE_CAUSE_TILES; }
static bool is_outside_input(const struct judge_reason *reason) { return reason->cause == JUDGE_CAUSE_OUTSIDE_INPUT; }
static bool is_outside_output(const struct judge_reason *reason) { return reason->cause == JUDGE_CAUSE_OUTSIDE_OUTPUT; }

static void append(struct judge_reason *reason, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void append(struct judge_reason *reason, const char *format, ...) {
    const size_t length = strlen(reason->message);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason->message + length, sizeof reason->message - length, format, arguments);
    va_end(arguments);
}

/* A guard that lets indices through that are too large, and leaves out others, is one fault: it is told where it is.  Where
 * memory held a number before, what is not written looks like a wrong one. */
static void unite_guards(struct judge_verdict *verdict) {
    struct judge_reason *result = find_reason(verdict, is_result), *outside = find_reason(verdict, is_outside);
    if (!result || !outside || !(is_unwritten(result) || outside->leaves_out)) return;
    if (!outside->leaves_out)
        append(outside, "; the guard leaves out others, for elements are not written: it may compare an index with the other extent");
    outside->leaves_out = true;
    remove_reason(verdict, result);
}

/* A load and a store that leave their arrays, in the order in which they are told; false: there are no two. */
static bool find_accesses(struct judge_verdict *verdict, struct judge_reason **first, struct judge_reason **second) {
    struct judge_reason *load = find_reason(verdict, is_outside_input), *store = find_reason(verdict, is_outside_output);
    *first = load < store ? load : store;
    *second = load < store ? store : load;
    return load && store && !load->other_line && !store->other_line && !strcmp(load->file, store->file);
}

static void join_second(struct judge_verdict *verdict, struct judge_reason *first, struct judge_reason *second) {
    first->other_line = second->line;
    first->leaves_out |= second->leaves_out;
    first->launches += second->last_launch == first->last_launch ? 0 : second->launches;
    if (second->last_launch > first->last_launch) first->last_launch = second->last_launch;
    remove_reason(verdict, second);
}

/* What a guard lets through that leaves out others is of one guard, or of two that are alike. */
static void unite_accesses(struct judge_verdict *verdict) {
    struct judge_reason *first, *second;
    if (!find_accesses(verdict, &first, &second) || !(first->leaves_out || second->leaves_out)) return;
    append(first, "; likewise at line %u, of `%s`", (unsigned)second->line, second->argument);
    join_second(verdict, first, second);
}

/* Whether that goes wrong because the blocks do half of the transpose: at the line of the store, and no other. */
static bool follows_from(const struct judge_reason *result, const struct judge_reason *reason) {
    const bool is_there = reason->line == result->line && (!reason->other_line || reason->other_line == result->line);
    const bool is_of_place = is_outside_output(reason) || !strcmp(reason->kind, "race") || !strcmp(reason->kind, "uninitialised");
    return is_there && is_of_place && !strcmp(reason->file, result->file);
}

static void unite_tiles(struct judge_verdict *verdict) {
    for (size_t i = verdict->reason_count; i-- > 0;) {
        const struct judge_reason *result = find_reason(verdict, is_of_tiles);
        if (result && follows_from(result, &verdict->reasons[i])) remove_reason(verdict, &verdict->reasons[i]);
    }
}

/* Of an output, be it told with a load or alone. */
static bool is_outside_store(const struct judge_reason *reason) { return is_outside_output(reason) || (is_outside(reason) && reason->other_line); }

/* What a store beyond the end brings along at its own line: what nobody loaded is stored there, and behind the end of a row are
 * the next one's elements, which then are wrong. */
static bool comes_with(const struct judge_reason *outside, const struct judge_reason *reason) {
    const bool is_one_line = !reason->other_line || reason->other_line == reason->line, is_store = reason->line == outside->other_line;
    const bool is_there = is_one_line && (is_store || reason->line == outside->line) && !strcmp(reason->file, outside->file);
    const bool is_overwritten = !strcmp(reason->kind, "race") && reason->other_line && reason->argument && (is_store || !strcmp(reason->argument, outside->argument));
    return is_there && (is_overwritten || unwritten_array(reason));
}

static const char reaching[] = "; it stores to other threads' elements, too: compare each index with the extent that it belongs to, which is also the "
                               "length of a row";

static void unite_stores(struct judge_verdict *verdict) {
    for (size_t i = verdict->reason_count; i-- > 0;) {
        struct judge_reason *outside = find_reason(verdict, is_outside_store);
        if (!outside || !comes_with(outside, &verdict->reasons[i])) continue;
        const bool is_race = !strcmp(verdict->reasons[i].kind, "race");
        if (is_race && !outside->reaches_others) append(outside, "%s", reaching);
        outside->reaches_others |= is_race;
        remove_reason(verdict, &verdict->reasons[i]);
    }
    struct judge_reason *outside = find_reason(verdict, is_outside_store), *result = find_reason(verdict, is_result);
    if (outside && outside->reaches_others && result && !is_of_tiles(result)) remove_reason(verdict, result);
}

/* An index that leads to other elements leads beyond the end, too. */
static void unite_elsewhere(struct judge_verdict *verdict) {
    struct judge_reason *outside = find_reason(verdict, is_outside), *result = find_reason(verdict, is_result);
    if (!outside || !result || result->cause != JUDGE_CAUSE_ELSEWHERE) return;
    append(outside, "; where it stays inside, results are those of other elements: the index is calculated wrongly, as with the other extent for the "
                    "length of a row");
    remove_reason(verdict, result);
}

/* What races there with what other threads store, each other's results. */
static bool is_overwritten(const struct judge_reason *reason) {
    return !strcmp(reason->kind, "race") && reason->argument && strstr(reason->message, " overwrite each other's result");
}

static bool is_undefined(const struct judge_reason *reason) {
    return !strcmp(reason->kind, "race") || !strcmp(reason->kind, "uninitialised") || !strcmp(reason->kind, "shuffle");
}

/* Blocks that store where others do leave out elements, and store what they have not loaded: at one line, that is its index. */
static void unite_overwritten(struct judge_verdict *verdict) {
    for (size_t i = verdict->reason_count; i-- > 0;) {
        const struct judge_reason *race = find_reason(verdict, is_overwritten), *other = &verdict->reasons[i];
        const bool is_of_index = race && race->line == race->other_line && other->line == race->line && !strcmp(other->file, race->file) &&
                                 (unwritten_array(other) || is_unwritten(other));
        if (is_of_index) remove_reason(verdict, &verdict->reasons[i]);
    }
}

/* A result that is wrong only where something undefined was found is no other fault; what it is instead helps all the same. */
static void unite_following(struct judge_verdict *verdict) {
    struct judge_reason *result = find_reason(verdict, is_result), *cause = find_reason(verdict, is_undefined);
    if (!result || !cause || !result->may_follow) return;
    const char *why = result->cause == JUDGE_CAUSE_OTHER ? NULL : strstr(result->message, "; ");
    if (why) append(cause, "; %.*s%s", (int)strcspn(result->message, ","), result->message, why);
    remove_reason(verdict, result);
}

/* What both accesses lack, once all launches are over; NULL: each has a fault of its own. */
static const char *common_fault(const struct judge_verdict *verdict, const struct judge_reason *a, const struct judge_reason *b) {
    if (a->beyond == b->beyond && a->does_fit == b->does_fit) return "as far, so the guards of both are wrong alike, as by <= in place of <";
    if (verdict->has_fitting && !a->does_fit && !b->does_fit) return "each needs a guard of its own, of both indices where there are two";
    if (a->has_other_pitch && b->has_other_pitch && (a->does_fit || b->does_fit))
        return "both take the other extent for the length of a row, by which a row's index must be multiplied";
    return NULL;
}

static void unite_faults(struct judge_verdict *verdict) {
    struct judge_reason *first, *second;
    const char *fault = find_accesses(verdict, &first, &second) ? common_fault(verdict, first, second) : NULL;
    if (!fault) return;
    append(first, "; line %u goes beyond the end of `%s`, too: %s", (unsigned)second->line, second->argument, fault);
    if (second->reaches_others) append(first, "%s", reaching);
    join_second(verdict, first, second);
}

static bool is_outside_shared(const struct judge_reason *reason) {
    return !strcmp(reason->kind, "bounds") && strstr(reason->message, " shared memory");
}

/* Elements that other threads store at the line that reads them, between the same two barriers: too many threads are at work,
 * and of these some read behind the array's end. Where a barrier is missing between rounds, that is a fault of its own. */
static bool is_of_partner(const struct judge_reason *reason, const struct judge_reason *outside) {
    const bool is_there = reason->line == outside->line && reason->other_line == outside->line && !strcmp(reason->file, outside->file);
    return is_there && !strcmp(reason->kind, "race") && strstr(reason->message, "() between the load and the store of line ") &&
           !strstr(reason->message, " of one round ");
}

static void unite_partners(struct judge_verdict *verdict) {
    for (size_t i = verdict->reason_count; i-- > 0;) {
        struct judge_reason *outside = find_reason(verdict, is_outside_shared);
        if (!outside || !is_of_partner(&verdict->reasons[i], outside)) continue;
        if (!outside->reaches_others)
            append(outside, "; it reads elements that other threads store at this line, too: the condition lets too many threads in, as t %% s does in "
                            "place of t %% (2 * s), or the index is wrong");
        outside->reaches_others = true;
        remove_reason(verdict, &verdict->reasons[i]);
    }
}

/* What is one fault is one reason. */
static void unite(struct judge_verdict *verdict) {
    unite_tiles(verdict);
    unite_stores(verdict);
    unite_accesses(verdict);
    unite_guards(verdict);
    unite_overwritten(verdict);
    unite_partners(verdict);
}

/* By what a later launch shows; with that launch where the message has its numbers. */
static void replace(struct judge_reason *told, const struct judge_reason *stronger) {
    memcpy(told->message, stronger->message, sizeof told->message);
    if (is_result(told)) memcpy(told->where, stronger->where, sizeof told->where);
    memcpy(told->file, stronger->file, sizeof told->file);
    told->line = stronger->line;
    told->other_line = stronger->other_line;
    told->cause = stronger->cause;
}

static void conclude_reason(struct judge_verdict *verdict, const struct judge_reason *reason) {
    for (size_t i = 0; i < verdict->reason_count; i++) {
        if (!is_alike(&verdict->reasons[i], reason)) continue;
        verdict->reasons[i].launches += verdict->reasons[i].last_launch != verdict->launches;
        verdict->reasons[i].last_launch = verdict->launches;
        verdict->reasons[i].is_blamed |= reason->is_blamed;
        verdict->reasons[i].may_follow &= reason->may_follow;
        verdict->reasons[i].does_fit |= reason->does_fit;
        verdict->reasons[i].has_other_pitch &= reason->has_other_pitch;
        if (is_stronger(reason, &verdict->reasons[i])) replace(&verdict->reasons[i], reason);
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

static void conclude_hints(const struct record *record, struct hint_tally *hints) {
    for (size_t h = 0; record->hints && h < hint_count(); h++) {
        const struct hint_tally *said = &record->hints[h];
        if (said->launches && !hints[h].launches) hints[h].reason = said->reason;
        hints[h].launches += said->launches;
        hints[h].is_refuted |= said->is_refuted;
    }
}

void hints_conclude(const struct hint_tally *hints, struct judge_verdict *verdict) {
    struct judge_reason *result = find_reason(verdict, is_result);
    size_t h = 0;
    while (h < hint_count() && (hints[h].is_refuted || hints[h].launches < hint_launches(h))) h++;
    if (result && h < hint_count() && result->cause == JUDGE_CAUSE_OTHER) replace(result, &hints[h].reason);
    unite_elsewhere(verdict);
    unite_following(verdict);
    unite_faults(verdict);
    for (size_t r = 0; r < verdict->reason_count; r++)
        if (verdict->reasons[r].is_blamed) append(&verdict->reasons[r], "; wrong results come from that: in an order without the race they are right");
}

void record_conclude(const struct record *record, size_t gate_count, struct judge_verdict *verdict, struct hint_tally *hints) {
    verdict->launches += record->is_launched;
    verdict->has_fitting |= record->is_launched && record->does_fit;
    for (size_t r = 0; r < record->reason_count; r++) conclude_reason(verdict, &record->reasons[r]);
    unite(verdict);
    conclude_hints(record, hints);
    if (record->has_error) conclude_error(verdict, &record->worst);
    if (!record->has_gates) return;
    verdict->gate_count = gate_count;
    memcpy(verdict->gates, record->gates, gate_count * sizeof *verdict->gates);
}
