/* Compiles the kernel, has it tried, and adds what no trial shows. */
#include "judge.h"

#include <stdio.h>
#include <string.h>

#include "team.h"

/* Depends on the request's seed and on all that the kernel executes and contains: if the results of one trial are written
 * into the kernel, the next trial has other data.  Names of files, which tell where the source lies, do not matter. */
static uint64_t seed_of(uint64_t seed, const char *ptx) {
    while (*ptx) {
        const size_t length = strcspn(ptx, "\n");
        const char *begin = ptx + strspn(ptx, " \t");
        const bool is_place = !strncmp(begin, ".file", 5) || !strncmp(begin, ".loc", 4) || !strncmp(begin, "//", 2);
        for (size_t i = 0; i < length && !is_place; i++)
            seed = (seed ^ (unsigned char)ptx[i]) * UINT64_C(0x100000001b3);
        ptx += length + (ptx[length] == '\n');
    }
    return seed;
}

/* No number of launches shows what a clock decides. */
static void refuse_unsteady(const struct judging *judging, struct judge_verdict *verdict) {
    const simt_place *place = judging->candidate.unsteady_place;
    if (!place) return;
    verdict->reason_count += verdict->reason_count < JUDGE_REASONS_MAX;
    struct judge_reason *reason = &verdict->reasons[verdict->reason_count - 1];
    *reason = (struct judge_reason){.kind = "clock", .where = "the compiled code", .launches = verdict->launches,
                                    .line = place->line};
    snprintf(reason->file, sizeof reason->file, "%s", place->file);
    snprintf(reason->message, sizeof reason->message,
             "reads %s, which differs from run to run, and more than how long a thread waits may follow from it: what a kernel "
             "returns must follow from its arguments alone; leave it out",
             judging->candidate.unsteady);
}

simt_error judge_run(const struct judge_request *request, struct judge_verdict *verdict,
                     simt_message *message) {
    struct judging judging = {.task = request->task, .request = request};
    *verdict = (struct judge_verdict){0};
    simt_error error = candidate_load(&judging.candidate, request, message);
    if (!error) judging.seed = seed_of(request->seed, judging.candidate.ptx);
    if (!error) judging_list_observers(&judging);
    if (!error) error = team_try(&judging, request, verdict, message);
    if (!error) refuse_unsteady(&judging, verdict);
    verdict->is_accepted = !error && !verdict->reason_count;
    candidate_clear(&judging.candidate);
    return error;
}
