/* flow: random legal control flow, against a reference that executes one thread at a time and shares no code
 * with the simulator.  Kernels of several warps and blocks, made of
 *
 *   - regions of basic blocks with any edges between them: branches to the next instruction, forwards, back
 * (a thread's fuel, which depends on its number, bounds the loops; jumps into their middle make the graphs
 * irreducible), brx.idx with entries that are alike, early exits and returns, under predicates;
 *   - calls, direct and indirect, guarded, of functions made of such regions, which call others or
 * themselves;
 *   - loops of a fixed count, and parts for some lanes only, in which those lanes meet at votes, shuffles,
 * reductions and warp barriers with exactly their own mask; block barriers where all threads that are left
 * come;
 *   - stores to global and shared memory, each thread's own, and to that of its neighbour across barriers.
 *
 * Under every schedule all of memory, the instructions that threads executed and the end of every thread must
 * be the reference's, without a finding; and a launch limited to exactly the instructions that it needs must
 * pass, one with an instruction less must be a runaway.
 *
 * WARPFOLD_FLOW_KERNELS=N tries N kernels (10000 take some minutes), WARPFOLD_FLOW_SEED=S begins with the
 * S-th; a single one is printed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow_program.h"
#include "flow_ptx.h"
#include "flow_reference.h"
#include "simt.h"

static int failures;

/* ---- the simulator */

struct trial {
    const char *name;
    simt_schedule schedule;
    uint64_t seed;
    const struct simt_observer *const *observers;
    uint32_t threads;
};

struct outcome {
    simt_error error;
    enum simt_finding_kind kind; /* of the first finding */
    size_t findings;
    uint64_t instructions, executed;
    uint32_t words[THREADS_MAX][SLOTS];
    simt_message message;
};

static void fail(uint64_t seed, const struct trial *trial, const char *what, const char *detail) {
    failures++;
    fprintf(stderr, "flow: kernel %llu, %s: %s%s\n", (unsigned long long)seed, trial->name, what, detail);
}

static bool launch(const simt_module *module, const struct trial *trial, uint64_t limit,
                   struct outcome *outcome) {
    const simt_settings settings = {.warp_size = program.warp_size};
    simt_machine *machine = NULL;
    simt_report *report = NULL;
    uint64_t words = 0, masks = 0;
    memset(outcome, 0, sizeof *outcome);
    bool is_ready = !simt_machine_create(&settings, &machine) &&
                    !simt_machine_allocate(machine, sizeof outcome->words, &words) &&
                    !simt_machine_allocate(machine, sizeof answer.masks, &masks) &&
                    !simt_machine_write(machine, words, outcome->words, sizeof outcome->words) &&
                    !simt_machine_write(machine, masks, answer.masks, sizeof answer.masks);
    const void *arguments[] = {&words, &masks};
    const simt_launch request = {.module = module,
                                 .grid = {program.grid},
                                 .block = {program.block},
                                 .arguments = arguments,
                                 .schedule = trial->schedule,
                                 .seed = trial->seed,
                                 .instruction_limit = limit,
                                 .threads = trial->threads,
                                 .observers = trial->observers};
    if (is_ready) outcome->error = simt_machine_launch(machine, &request, &report, &outcome->message);
    if (report) {
        outcome->findings = simt_report_finding_count(report);
        outcome->instructions = (uint64_t)simt_report_counter_value(report, "instructions", 0);
        outcome->executed = (uint64_t)simt_report_counter_value(report, "thread_instructions", 0);
        const simt_finding *finding = simt_report_finding(report, 0);
        if (finding) outcome->kind = finding->kind;
        if (finding)
            snprintf(outcome->message.text, sizeof outcome->message.text, "%s at line %u: %s",
                     simt_finding_kind_name(finding->kind), (unsigned)finding->line, finding->message);
    }
    if (is_ready) is_ready = !simt_machine_read(machine, words, outcome->words, sizeof outcome->words);
    simt_report_destroy(report);
    simt_machine_destroy(machine);
    return is_ready;
}

static void compare(uint64_t seed, const struct trial *trial, const struct outcome *outcome) {
    char text[160];
    if (outcome->error || outcome->findings) {
        fail(seed, trial, "did not run to its end: ", outcome->message.text);
        return;
    }
    for (uint32_t t = 0; t < program.grid * program.block; t++)
        for (uint32_t w = 0; w < SLOTS; w++) {
            if (outcome->words[t][w] == answer.words[t][w]) continue;
            snprintf(text, sizeof text, "thread %u, word %u: 0x%x, not 0x%x", (unsigned)t, (unsigned)w,
                     (unsigned)outcome->words[t][w], (unsigned)answer.words[t][w]);
            fail(seed, trial, text, "");
            return;
        }
    if (!trial->observers || program.repeats || outcome->executed == answer.executed) return;
    snprintf(text, sizeof text, "threads executed %llu instructions, not %llu",
             (unsigned long long)outcome->executed, (unsigned long long)answer.executed);
    fail(seed, trial, text, "");
}

/* The instructions that it needs are enough as a limit, one less is not, and is told. */
static void check_limit(uint64_t seed, const simt_module *module, struct trial trial, uint64_t needed) {
    static struct outcome outcome;
    trial.name = "with the instructions that it needs";
    if (launch(module, &trial, needed, &outcome)) compare(seed, &trial, &outcome);
    trial.name = "with an instruction less than it needs";
    if (!launch(module, &trial, needed - 1, &outcome)) return;
    if (outcome.error != SIMT_ERROR_STOPPED || outcome.findings != 1 || outcome.kind != SIMT_FINDING_RUNAWAY)
        fail(seed, &trial, "no runaway: ", outcome.message.text);
    else if (trial.observers && outcome.instructions != needed - 1)
        fail(seed, &trial, "not as many as the limit", "");
}

static void check(uint64_t seed, bool prints) {
    static char ptx[1 << 20];
    static struct outcome outcome;
    const struct trial trials[] = {{"lockstep, unwatched", SIMT_LOCKSTEP, 0, NULL, 2},
                                   {"lockstep", SIMT_LOCKSTEP, 0, simt_observers, 1},
                                   {"split", SIMT_SPLIT, 0, simt_observers, 1},
                                   {"random, one seed", SIMT_RANDOM, seed, simt_observers, 1},
                                   {"random, another", SIMT_RANDOM, ~seed, NULL, 1}};
    struct text text = {ptx, ptx + sizeof ptx};
    simt_module *module;
    simt_message message;
    state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    make_program();
    say_program(&text);
    if (prints) puts(ptx);
    answer_find();
    if (simt_module_parse(ptx, (size_t)(text.at - ptx), "flow.ptx", &module, &message)) {
        fail(seed, &trials[0], message.text, "");
        return;
    }
    uint64_t needed = 0;
    /* With a limit that is too low to be examined the instructions are the same each time. */
    for (size_t t = 0; t < sizeof trials / sizeof *trials; t++) {
        if (!launch(module, &trials[t], SIMT_EXAMINED_LIMIT - 1, &outcome)) fail(seed, &trials[t], "no memory", "");
        compare(seed, &trials[t], &outcome);
        if (t == 1)
            needed = outcome.instructions;
        else if (t > 1 && trials[t].observers && seed % 4 == 0 && !failures)
            check_limit(seed, module, trials[t], outcome.instructions);
    }
    /* Far from its limit a launch is asked whether it is endless, which none of these is. */
    struct trial far = trials[seed % 5];
    far.name = "far from its limit";
    if (launch(module, &far, UINT64_C(1) << 40, &outcome)) compare(seed, &far, &outcome);
    if (seed % 4 == 0 && !failures) check_limit(seed, module, trials[0], needed);
    if (seed % 4 == 2 && !failures) check_limit(seed, module, trials[1], needed);
    simt_module_destroy(module);
}

static uint64_t setting(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

int main(void) {
    uint64_t count = setting("WARPFOLD_FLOW_KERNELS", KERNELS), first = setting("WARPFOLD_FLOW_SEED", 0);
    for (uint64_t k = 0; k < count && failures < 20; k++) check(first + k, count == 1);
    printf("%llu kernels of random control flow: %d failures\n", (unsigned long long)count, failures);
    return failures > 0;
}
