#define _GNU_SOURCE /* sched_getaffinity */
#include "team.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "chains.h"
#include "plan.h"

/* Each has a simulator, with the memory of one launch. */
enum { THREADS_MAX = 16 };

struct entry {
    struct record *record; /* of a trial that has ended; NULL otherwise */
    bool is_done;
    atomic_bool is_unwanted; /* trials before it have ended the search */
};

struct team {
    const struct judging *judging;
    const struct judge_request *request;
    struct plan plan;
    struct entry *entries;   /* of each step */
    pthread_mutex_t lock;    /* of all below, and of the plan's steps while more may come */
    pthread_cond_t is_added; /* the plan is whole */
    bool is_whole;
    size_t next;      /* the first step that nobody has taken */
    size_t concluded; /* those before it are in the verdict */
    struct judge_verdict *verdict;
    struct hint_tally *hints; /* of each hint */
    simt_error error;
    simt_message *message;
};

/* ---- the verdict, in the order of the steps; locked ---- */

static void note_size(struct judge_verdict *verdict, const struct size *size) {
    snprintf(verdict->sizes[verdict->size_count++], JUDGE_SIZE_CAPACITY, "%s", size->text);
}

/* "16x16"; of several kernels the block of each, "64 then 1". */
static void note_block(struct judge_verdict *verdict, const struct judge_task *task, size_t number) {
    char *text = verdict->blocks[verdict->block_count++];
    size_t length = 0;
    for (size_t s = 0; s < task->stage_count; s++) {
        const char *const *extents = stage_block(&task->stages[s], number);
        for (size_t d = 0; d < 3 && extents[d] && length < JUDGE_BLOCK_CAPACITY; d++)
            length += (size_t)snprintf(text + length, JUDGE_BLOCK_CAPACITY - length, "%s%s",
                                       d ? "x" : s ? " then " : "", extents[d]);
    }
}

static void close_plan(struct team *team) {
    team->is_whole = true;
    pthread_cond_broadcast(&team->is_added);
}

/* Later steps that are not to be tried any more. */
static void discard(struct team *team, size_t number, bool is_over) {
    const enum phase phase = team->plan.steps[number].phase;
    for (size_t i = number + 1; i < team->plan.count; i++) {
        const enum phase later = team->plan.steps[i].phase;
        const bool is_refused = team->verdict->reason_count && later != PHASE_TASK;
        if (!team->error && !is_refused && !(is_over && later == phase)) continue;
        atomic_store(&team->entries[i].is_unwanted, true);
        if (later == PHASE_CHOOSE) close_plan(team);
    }
}

/* record: NULL: there was no memory for one. */
static void conclude(struct team *team, size_t number, const struct record *record) {
    const struct step *step = &team->plan.steps[number];
    struct judge_verdict *verdict = team->verdict;
    if (step->is_first_of_block) note_block(verdict, team->judging->task, step->planned.block);
    if (step->is_first_of_size) note_size(verdict, step->planned.size);
    if (step->is_first_of_size) verdict->task_size_count += step->phase == PHASE_TASK;
    if (record) record_conclude(record, team->judging->task->gate_count, verdict, team->hints);
    team->error = record ? record->error : fail_memory(team->message);
    if (record && record->error) *team->message = record->message;
    const bool is_over = record && record->is_over;
    if (team->error || is_over || verdict->reason_count) discard(team, number, is_over);
}

/* All that have ended, up to the first that has not. */
static void conclude_ended(struct team *team) {
    for (; team->concluded < team->plan.count; team->concluded++) {
        struct entry *entry = &team->entries[team->concluded];
        const bool is_unwanted = atomic_load(&entry->is_unwanted);
        if (!entry->is_done && !is_unwanted) return;
        const bool is_trial = team->plan.steps[team->concluded].phase != PHASE_CHOOSE;
        if (!is_unwanted && is_trial) conclude(team, team->concluded, entry->record);
        record_destroy(entry->record);
        entry->record = NULL;
    }
}

/* ---- a thread ---- */

/* The steps from *begin to the one before *end are this thread's: on one simulator where there are several.  false: there
 * are no more. */
static bool take(struct team *team, size_t *begin, size_t *end) {
    const struct plan *plan = &team->plan;
    while (true) {
        while (team->next < plan->count && atomic_load(&team->entries[team->next].is_unwanted)) team->next++;
        if (team->next < plan->count || team->is_whole) break;
        pthread_cond_wait(&team->is_added, &team->lock);
    }
    *begin = team->next;
    *end = *begin + (*begin < plan->count);
    if (*begin < *end && plan->steps[*begin].phase == PHASE_AGAIN)
        while (*end < plan->count && plan->steps[*end].phase == PHASE_AGAIN) ++*end;
    team->next = *end;
    return *begin < *end;
}

static void finish(struct team *team, size_t number, struct record *record) {
    struct entry *entry = &team->entries[number];
    pthread_mutex_lock(&team->lock);
    entry->is_done = true;
    if (number >= team->concluded) entry->record = record;
    else record_destroy(record);
    conclude_ended(team);
    pthread_mutex_unlock(&team->lock);
}

static void choose(struct team *team, size_t number) {
    plan_choose(&team->plan, team->judging, team->request->seed);
    pthread_mutex_lock(&team->lock);
    if (!team->is_whole) {
        plan_add_more(&team->plan, team->judging);
        close_plan(team);
    }
    pthread_mutex_unlock(&team->lock);
    finish(team, number, NULL);
}

static bool is_unwanted(void *context) {
    return atomic_load((const atomic_bool *)context);
}

static void try(struct team *team, size_t number, struct bench *bench) {
    struct record *record = record_create();
    atomic_bool *unwanted = &team->entries[number].is_unwanted;
    if (record && !is_unwanted(unwanted))
        trial_run(team->judging, &team->plan.steps[number].planned, bench, is_unwanted, unwanted, record);
    finish(team, number, record);
}

/* One after the other, with variables that stay as they are. */
static void try_again(struct team *team, size_t begin, size_t end, struct bench *bench) {
    bench->keeps_variables = true;
    for (size_t i = begin; i < end; i++) try(team, i, bench);
    bench->keeps_variables = false;
    bench_reset(bench);
}

static void work(struct team *team, struct chains *chains) {
    struct bench bench = {.chains = chains};
    while (true) {
        size_t begin, end;
        pthread_mutex_lock(&team->lock);
        const bool has_work = take(team, &begin, &end);
        const enum phase phase = has_work ? team->plan.steps[begin].phase : PHASE_TASK;
        pthread_mutex_unlock(&team->lock);
        if (!has_work) break;
        if (phase == PHASE_CHOOSE) choose(team, begin);
        else if (phase == PHASE_AGAIN) try_again(team, begin, end, &bench);
        else try(team, begin, &bench);
    }
    simt_machine_destroy(bench.machine);
}

/* Without memory for its own shadow a thread leaves the work to the others. */
static void *help(void *context) {
    struct team *team = context;
    struct chains *chains = team->judging->counts_chains ? chains_create(team->judging->candidate.ptx) : NULL;
    if (chains || !team->judging->counts_chains) work(team, chains);
    chains_destroy(chains);
    return NULL;
}

/* ---- all of them ---- */

static size_t thread_count(const struct team *team) {
    cpu_set_t allowed;
    size_t count = team->request->threads;
    if (!count) count = sched_getaffinity(0, sizeof allowed, &allowed) ? 1 : (size_t)CPU_COUNT(&allowed);
    return count < THREADS_MAX ? count : THREADS_MAX;
}

/* Signals are for the threads of the program. */
static size_t start_threads(struct team *team, pthread_t threads[THREADS_MAX]) {
    const size_t wanted = thread_count(team);
    sigset_t all, before;
    size_t started = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started + 1 < wanted && !pthread_create(&threads[started], NULL, help, team)) started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

static void try_all(struct team *team, struct chains *chains) {
    pthread_t threads[THREADS_MAX];
    const size_t started = start_threads(team, threads);
    work(team, chains);
    for (size_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
}

simt_error team_try(const struct judging *judging, const struct judge_request *request, struct judge_verdict *verdict,
                    simt_message *message) {
    struct team team = {.judging = judging, .request = request, .verdict = verdict, .message = message,
                        .lock = PTHREAD_MUTEX_INITIALIZER, .is_added = PTHREAD_COND_INITIALIZER};
    struct chains *chains = judging->counts_chains ? chains_create(judging->candidate.ptx) : NULL;
    if (plan_make(&team.plan, judging)) team.entries = calloc(team.plan.count + MORE_SIZES_MAX, sizeof *team.entries);
    team.hints = calloc(hint_count(), sizeof *team.hints);
    if (team.entries && team.hints && (chains || !judging->counts_chains)) try_all(&team, chains);
    else team.error = fail_memory(message);
    if (team.hints) hints_conclude(team.hints, verdict);
    chains_destroy(chains);
    pthread_cond_destroy(&team.is_added);
    pthread_mutex_destroy(&team.lock);
    free(team.entries);
    free(team.hints);
    plan_clear(&team.plan);
    return team.error;
}
