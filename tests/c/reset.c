/* reset: what a simulator has after simt_machine_reset is what a new one has, at the same addresses. */
#include <stdio.h>
#include <string.h>

#include "machine/machine.h"

static int failures;

static void expect(const char *what, uint64_t expected, uint64_t got) {
    if (expected == got) return;
    failures++;
    fprintf(stderr, "reset: %s: %llu, not %llu\n", what, (unsigned long long)got, (unsigned long long)expected);
}

/* Adds 1 to the word at its argument and to each variable, to `began` by its address in `to`, which it then clears. */
static const char counting[] =
    ".version 8.0\n.target sm_75\n.address_size 64\n.global .align 4 .u32 began = 41;\n.global .align 4 .u32 none;\n"
    ".global .align 8 .u64 to[1] = {generic(began)};\n.global .align 4 .attribute(.managed) .u32 shared_one;\n"
    ".visible .entry k(.param .u64 p)\n{\n.reg .b64 %rd<4>;\n.reg .b32 %r<4>;\n"
    "ld.param.u64 %rd1, [p];\nld.global.u32 %r1, [%rd1];\nadd.u32 %r1, %r1, 1;\nst.global.u32 [%rd1], %r1;\n"
    "ld.global.u64 %rd2, [to];\nld.u32 %r1, [%rd2];\nadd.u32 %r1, %r1, 1;\nst.u32 [%rd2], %r1;\n"
    "ld.global.u32 %r1, [none];\nadd.u32 %r1, %r1, 1;\nst.global.u32 [none], %r1;\n"
    "ld.global.u32 %r1, [shared_one];\nadd.u32 %r1, %r1, 1;\nst.global.u32 [shared_one], %r1;\n"
    "mov.u64 %rd3, 0;\nst.global.u64 [to], %rd3;\nret;\n}\n";

static uint32_t value_of(simt_machine *machine, const simt_module *module, const char *name) {
    uint64_t address = 0;
    size_t nbytes;
    uint32_t value = 0;
    simt_message message;
    expect(name, SIMT_OK, simt_machine_variable(machine, module, name, &address, &nbytes, &message));
    expect(name, SIMT_OK, simt_machine_read(machine, address, &value, sizeof value));
    return value;
}

/* One launch, with a word that begins as `word`; its address. */
static uint64_t launch(simt_machine *machine, const simt_module *module, uint32_t word) {
    uint64_t address;
    simt_message message = {""};
    simt_report *report = NULL;
    expect("memory", SIMT_OK, simt_machine_allocate(machine, sizeof word, &address));
    expect("a word", SIMT_OK, simt_machine_write(machine, address, &word, sizeof word));
    const void *arguments[] = {&address};
    const simt_launch request = {.module = module, .arguments = arguments, .threads = 1, .observers = simt_observers};
    expect("the launch", SIMT_OK, simt_machine_launch(machine, &request, &report, &message));
    expect("findings", 0, report ? simt_report_finding_count(report) : 99);
    simt_report_destroy(report);
    expect("the word", SIMT_OK, simt_machine_read(machine, address, &word, sizeof word));
    expect("began", 42, value_of(machine, module, "began"));
    expect("none", 1, value_of(machine, module, "none"));
    expect("shared_one", 1, value_of(machine, module, "shared_one"));
    expect("a word that a launch added to", 8, word);
    return address;
}

int main(void) {
    simt_machine *machine = NULL;
    simt_module *module = NULL;
    simt_message message = {""};
    uint64_t first = 0;
    uint32_t word;
    expect("a simulator", SIMT_OK, simt_machine_create(NULL, &machine));
    expect("a module", SIMT_OK, simt_module_parse(counting, strlen(counting), "reset.ptx", &module, &message));
    expect("no such kernel", SIMT_ERROR_ARGUMENT, simt_machine_prepare(machine, module, 1, &message));
    expect("the kernel", SIMT_OK, simt_machine_prepare(machine, module, 0, &message));
    for (int i = 0; i < 3; i++) {
        const uint64_t address = launch(machine, module, 7);
        if (!first) first = address;
        expect("the same address", first, address);
        expect("a reset", SIMT_OK, simt_machine_reset(machine));
        expect("began, again", 41, value_of(machine, module, "began"));
        expect("none, again", 0, value_of(machine, module, "none"));
        expect("shared_one, again", 0, value_of(machine, module, "shared_one"));
        expect("memory that is gone", SIMT_ERROR_ARGUMENT, simt_machine_read(machine, first, &word, sizeof word));
    }
    simt_machine_destroy(machine);
    simt_module_destroy(module);
    printf("resets: %d failures\n", failures);
    return failures > 0;
}
