/* endings: how launches end.  Whatever keeps a thread from its end is told: by a finding, or by the error;
 * that of a machine that has lost threads is provoked by observers which tamper with its books.  A limit
 * holds to the instruction, on any number of host threads, that of a block to 2^14 of them; a launch that is given up ends soon, without a finding. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "machine/machine.h"

static int failures;

static void expect(const char *what, uint64_t expected, uint64_t got) {
    if (expected == got) return;
    failures++;
    fprintf(stderr, "endings: %s: %llu, not %llu\n", what, (unsigned long long)got,
            (unsigned long long)expected);
}

/* ---- observers that interfere, in the first block's last warp */

static struct block *block_of(const simt_event *event) {
    struct block *block = (struct block *)(uintptr_t)event->block; /* its view comes first */
    return event->block->index == 0 && event->warp == block->warp_count - 1 ? block : NULL;
}

static void stop(void *block, const simt_event *event) {
    (void)block;
    if (block_of(event)) simt_stop(event);
}

/* A thread too many: never all have exited, and nobody is left to run. */
static void add_thread(void *block, const simt_event *event) {
    (void)block;
    struct block *of = block_of(event);
    if (of && of->live_threads <= of->launch->view.threads_per_block) of->live_threads++;
}

/* Threads too few: the block seems to be over before its last warp has run. */
static void take_threads(void *block, const simt_event *event) {
    (void)block;
    struct block *of = (struct block *)(uintptr_t)event->block;
    if (event->warp == 0 && of->live_threads == 64) of->live_threads = 32;
}

static const simt_observer stopping = {.name = "stopping", .instruction = stop};
static const simt_observer adding = {.name = "adding", .instruction = add_thread};
static const simt_observer taking = {.name = "taking", .instruction = take_threads};

/* ---- a caller who gives up a launch when it is asked for the third time */

static atomic_int questions;

static bool gives_up(void *context) {
    return context && atomic_fetch_add(&questions, 1) >= 2;
}

/* ---- launches */

#define HEAD                                                                                                 \
    ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n.reg .pred %p<4>;\n.reg .b32 "   \
    "%r<4>;\n"

/* What one block may execute, and its threads. */
static uint64_t block_limit;
static uint32_t block_threads = 64;

#define LIMIT_OF_CANCELLED (UINT64_C(1) << 40)

static simt_error run(const char *ptx, const simt_observer *observer, uint32_t grid, uint32_t threads,
                      uint64_t limit, size_t *findings) {
    simt_machine *machine;
    simt_module *module;
    simt_report *report = NULL;
    simt_message message = {""};
    const simt_observer *const observers[] = {observer, NULL};
    *findings = 0;
    if (simt_machine_create(NULL, &machine)) return SIMT_ERROR_MEMORY;
    simt_machine_set_cancel(machine, gives_up, limit == LIMIT_OF_CANCELLED ? machine : NULL);
    simt_machine_set_block_limit(machine, block_limit);
    simt_error error = simt_module_parse(ptx, strlen(ptx), "endings.ptx", &module, &message);
    if (!error) {
        const simt_launch launch = {.module = module,
                                    .grid = {grid},
                                    .block = {block_threads},
                                    .instruction_limit = limit,
                                    .threads = threads,
                                    .observers = observers};
        error = simt_machine_launch(machine, &launch, &report, &message);
        if (report) *findings = simt_report_finding_count(report);
        if (*findings)
            expect("the finding's kind", SIMT_FINDING_RUNAWAY, simt_report_finding(report, 0)->kind);
        expect("a message where there is an error", error != SIMT_OK, message.text[0] != 0);
    } else
        module = NULL;
    simt_report_destroy(report);
    simt_machine_destroy(machine); /* which has to do with the module */
    simt_module_destroy(module);
    return error;
}

static const char plain[] = HEAD "mov.u32 %r1, 1;\nadd.u32 %r1, %r1, 1;\nret;\n}\n";

static void check_interference(void) {
    size_t findings;
    expect("nothing interferes", SIMT_OK, run(plain, NULL, 2, 1, 0, &findings));
    expect("an observer stops the launch", SIMT_ERROR_STOPPED, run(plain, &stopping, 2, 1, 0, &findings));
    expect("without a finding", 0, findings);
    expect("a thread that never exits", SIMT_ERROR_LOST, run(plain, &adding, 2, 1, 0, &findings));
    expect("a warp that is not run", SIMT_ERROR_LOST, run(plain, &taking, 1, 1, 0, &findings));
}

/* Kernels, and the instructions that each of their warps executes. */
static const struct {
    const char *what, *ptx;
    uint64_t needed;
} counted[] = {
    {"no instruction", HEAD "}\n", 0},
    {"a run of lane operations", plain, 3},
    {"no ret", HEAD "mov.u32 %r1, 1;\nadd.u32 %r1, %r1, 1;\n}\n", 2},
    {"a branch to the next instruction",
     HEAD "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 7;\n@%p1 bra L;\nL:\nret;\n}\n", 4},
    {"a divergent branch",
     HEAD "mov.u32 %r1, %laneid;\nsetp.lt.u32 %p1, %r1, 7;\n@%p1 bra L;\nadd.u32 %r1, %r1, 1;\n"
          "add.u32 %r1, %r1, 1;\nL:\nadd.u32 %r1, %r1, 1;\nret;\n}\n",
     7},
    {"a loop",
     HEAD "mov.u32 %r1, 0;\nL:\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 1000;\n@%p1 bra L;\nret;\n}\n",
     3002},
    {"a barrier", HEAD "bar.sync 0;\nmov.u32 %r1, 1;\nret;\n}\n", 3},
};

static void check_limits(void) {
    static const uint32_t threads[] = {1, 2, 5};
    char what[128];
    size_t findings;
    for (size_t c = 0; c < sizeof counted / sizeof *counted; c++)
        for (size_t t = 0; t < 3; t++) {
            const uint32_t grid = 7;
            uint64_t needed = counted[c].needed * 2 * grid;
            snprintf(what, sizeof what, "%s, %u host threads", counted[c].what, (unsigned)threads[t]);
            expect(what, SIMT_OK,
                   run(counted[c].ptx, NULL, grid, threads[t], needed ? needed : 1, &findings));
            expect(what, 0, findings);
            if (!needed) continue;
            expect(what, SIMT_ERROR_STOPPED,
                   run(counted[c].ptx, NULL, grid, threads[t], needed - 1, &findings));
            expect(what, 1, findings);
        }
    expect("endless", SIMT_ERROR_STOPPED, run(HEAD "L:\nbra L;\n}\n", NULL, 100, 0, 0, &findings));
    expect("endless", 1, findings);
    expect("too many blocks", SIMT_ERROR_ARGUMENT, run(HEAD "}\n", NULL, INT32_MAX, 0, 0, &findings));
}

#define ROUNDS(instruction) \
    HEAD ".shared .b32 word;\nmov.u32 %r1, 0;\nL:\n" instruction "\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 8000;\n@%p1 bra L;\nret;\n}\n"

/* Of 8000 rounds: each of two warps executes 24,000 instructions and what the slow ones stand for. */
static void check_block_limits(void) {
    static const struct {
        const char *what, *ptx;
        uint64_t enough, too_little; /* what a block may execute */
    } loops[] = {
        {"arithmetic", ROUNDS(""), 52000, 30000},
        {"atomics", ROUNDS("atom.shared.add.u32 %r2, [word], 1;"), 8000 * 2 * (64 + 4) + 20000, 8000 * 2 * 32},
        {"barriers", ROUNDS("bar.sync 0;"), 8000 * 2 * (64 + 4) + 20000, 8000 * 2 * 32},
        {"polls", ROUNDS("ld.volatile.shared.u32 %r2, [word];"), 8000 * 2 * (96 + 4) + 20000, 8000 * 2 * 50},
    };
    size_t findings;
    for (size_t l = 0; l < sizeof loops / sizeof *loops; l++)
        for (uint32_t threads = 1; threads < 4; threads++) {
            block_limit = loops[l].enough;
            expect(loops[l].what, SIMT_OK, run(loops[l].ptx, NULL, 7, threads, 0, &findings));
            expect(loops[l].what, 0, findings);
            block_limit = loops[l].too_little;
            expect(loops[l].what, SIMT_ERROR_STOPPED, run(loops[l].ptx, NULL, 7, threads, 0, &findings));
            expect(loops[l].what, 1, findings);
        }
    block_limit = 120000; /* of 32 warps, which execute 768,000: four times that */
    block_threads = 1024;
    expect("a large block", SIMT_ERROR_STOPPED, run(loops[0].ptx, NULL, 1, 1, 0, &findings));
    block_limit *= 2;
    expect("a large block", SIMT_OK, run(loops[0].ptx, NULL, 1, 1, 0, &findings));
    block_limit = 0;
    block_threads = 64;
}

/* 2^31 turns of a loop: minutes. */
static void check_cancel(void) {
    static const char counts[] = HEAD "mov.u32 %r1, 0;\nL:\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 0x80000000;\n"
                                      "@%p1 bra L;\nret;\n}\n";
    size_t findings;
    for (uint32_t threads = 1; threads < 4; threads++) {
        atomic_store(&questions, 0);
        expect("given up", SIMT_ERROR_STOPPED, run(counts, NULL, 7, threads, LIMIT_OF_CANCELLED, &findings));
        expect("given up, findings", 0, findings);
    }
    expect("not given up", SIMT_OK, run(plain, NULL, 2, 1, 0, &findings));
}

int main(void) {
    check_interference();
    check_limits();
    check_block_limits();
    check_cancel();
    printf("endings of launches: %d failures\n", failures);
    return failures > 0;
}
