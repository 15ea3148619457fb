/* For flow: a program as PTX. */
#ifndef FLOW_PTX_H
#define FLOW_PTX_H

#include <stdarg.h>
#include <stdio.h>

#include "flow_program.h"

struct text {
    char *at, *end;
};

static void say(struct text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    text->at += vsnprintf(text->at, (size_t)(text->end - text->at), format, arguments);
    va_end(arguments);
    if (text->at >= text->end) abort();
}

static void say_guard(struct text *text, const struct step *step) {
    if (step->guard >= 0) say(text, "@%s%%p%d ", step->is_negated ? "!" : "", step->guard);
}

static void say_call(struct text *text, const struct step *step, int at) {
    if (step->op == CALL_INDIRECT) say(text, "mov.u64 %%rd9, f%d;\n", step->target);
    say(text, "st.param.b32 [x%d], %%r%d;\nst.param.b32 [y%d], %%r%d;\n", at, step->a, at, step->b);
    say(text, "st.param.b64 [w%d], %%rd1;\n", at);
    say_guard(text, step);
    if (step->op == CALL)
        say(text, "call (z%d), f%d, (x%d, y%d, w%d);\n", at, step->target, at, at, at);
    else
        say(text, "call (z%d), %%rd9, (x%d, y%d, w%d), prototype;\n", at, at, at, at);
    say_guard(text, step);
    say(text, "ld.param.b32 %%r%d, [z%d];\n", step->d, at);
}

static void say_step(struct text *text, const struct step *step, int function, int at) {
    static const char *const names[] = {[ADD] = "add.u32", [XOR] = "xor.b32"};
    int d = step->d, a = step->a, b = step->b;
    bool is_collective =
        step->op == BALLOT || step->op == SHUFFLE || step->op == REDUCE || step->op == WARP_BARRIER;
    if (is_collective) say(text, "ld.global.u32 %%r14, [%%rd2+%d];\n", 4 * step->target);
    switch (step->op) {
    case LABEL: say(text, "L%d:\n", step->target); break;
    case ADD:
    case XOR:
        say_guard(text, step);
        say(text, "%s %%r%d, %%r%d, %%r%d;\n", names[step->op], d, a, b);
        break;
    case MULTIPLY:
        say_guard(text, step);
        say(text, "mad.lo.u32 %%r%d, %%r%d, %u, %%r%d;\n", d, a, 2 * step->value + 1, b);
        break;
    case TEST:
        say(text, "and.b32 %%r15, %%r%d, %u;\nsetp.eq.u32 %%p%d, %%r15, %d;\n", a, step->value, d, b);
        break;
    case TEST_LANE:
        say(text, "mov.u32 %%r15, %%laneid;\nand.b32 %%r15, %%r15, %u;\nsetp.eq.u32 %%p%d, %%r15, %d;\n",
            step->value, d, step->target);
        break;
    case MOVE: say(text, "mov.u32 %%r%d, %u;\n", d, step->value); break;
    case FUEL_SET:
        say(text, "and.b32 %%r%d, %%r%d, %u;\nadd.u32 %%r%d, %%r%d, 2;\n", d, a, step->value, d, d);
        break;
    case BRANCH:
        say_guard(text, step);
        say(text, "bra L%d;\n", step->target);
        break;
    case SPEND: say(text, "sub.u32 %%r%d, %%r%d, 1;\nsetp.gt.s32 %%p%d, %%r%d, 0;\n", a, a, d, a); break;
    case INDEX: say(text, "and.b32 %%r15, %%r%d, %u;\n", a, step->value); break;
    case INDEX_SPENT:
        say(text,
            "sub.u32 %%r8, %%r8, 1;\nsetp.gt.s32 %%p3, %%r8, 0;\nand.b32 %%r15, %%r%d, %u;\n@!%%p3 mov.u32 "
            "%%r15, 0;\n",
            a, step->value);
        break;
    case JUMP_TABLE:
        say(text, "T%d: .branchtargets ", at);
        for (int e = 0; e < step->table_count; e++) say(text, "%sL%d", e ? ", " : "", step->table[e]);
        say(text, ";\n");
        say_guard(text, step);
        say(text, "brx.idx %%r15, T%d;\n", at);
        break;
    case STORE:
        say_guard(text, step);
        say(text, "st.global.u32 [%%rd1+%u], %%r%d;\n", 4 * (FREE_SLOTS + step->value), a);
        break;
    case LOAD:
        say_guard(text, step);
        say(text, "ld.global.u32 %%r%d, [%%rd1+%u];\n", d, 4 * (FREE_SLOTS + step->value));
        break;
    case STORE_SHARED:
        say_guard(text, step);
        say(text, "st.shared.u32 [%%rd3+%u], %%r%d;\n", 4 * step->value, a);
        break;
    case LOAD_SHARED:
        say_guard(text, step);
        say(text, "ld.shared.u32 %%r%d, [%%rd3+%u];\n", d, 4 * step->value);
        break;
    case TELL: say(text, "st.shared.u32 [%%rd4], %%r%d;\n", a); break;
    case HEAR: say(text, "ld.shared.u32 %%r%d, [%%rd5];\n", d); break;
    case BARRIER: say(text, "bar.sync 0;\n"); break;
    case CALL:
    case CALL_INDIRECT: say_call(text, step, at); break;
    case RETURN:
        if (function != KERNEL) {
            say_guard(text, step);
            say(text, "st.param.b32 [z], %%r%d;\n", a);
        }
        say_guard(text, step);
        say(text, "ret;\n");
        break;
    case EXIT:
        say_guard(text, step);
        say(text, "exit;\n");
        break;
    case BALLOT: say(text, "vote.sync.ballot.b32 %%r%d, %%p%d, %%r14;\n", d, a); break;
    case SHUFFLE:
        say(text,
            "brev.b32 %%r15, %%r14;\nclz.b32 %%r15, %%r15;\nshfl.sync.idx.b32 %%r%d, %%r%d, %%r15, 31, "
            "%%r14;\n",
            d, a);
        break;
    case REDUCE: say(text, "redux.sync.add.u32 %%r%d, %%r%d, %%r14;\n", d, a); break;
    case WARP_BARRIER: say(text, "bar.warp.sync %%r14;\n"); break;
    }
}

/* A thread's own words of shared memory, where it tells its neighbour something, and where it hears it. */
static void say_addresses(struct text *text) {
    say(text,
        "mov.u32 %%r11, %%tid.x;\nmov.u32 %%r12, %%ntid.x;\nmov.u32 %%r13, %%ctaid.x;\n"
        "mad.lo.u32 %%r13, %%r13, %%r12, %%r11;\n"
        "mov.u64 %%rd3, own;\nmul.wide.u32 %%rd6, %%r11, %d;\nadd.u64 %%rd3, %%rd3, %%rd6;\n"
        "mov.u64 %%rd4, told;\nmul.wide.u32 %%rd6, %%r11, 4;\nadd.u32 %%r15, %%r11, 1;\nrem.u32 %%r15, "
        "%%r15, %%r12;\n"
        "mul.wide.u32 %%rd7, %%r15, 4;\nadd.u64 %%rd5, %%rd4, %%rd7;\nadd.u64 %%rd4, %%rd4, %%rd6;\n"
        "mul.wide.u32 %%rd6, %%r13, %d;\nmul.wide.u32 %%rd7, %%r13, %d;\n",
        4 * FREE_SLOTS, 4 * SLOTS, 4 * COLLECTIVES_MAX);
}

static void say_parameters(struct text *text, int function) {
    for (int at = program.begin[function]; at < program.end[function]; at++)
        if (program.code[at].op == CALL || program.code[at].op == CALL_INDIRECT)
            say(text, ".param .b32 x%d;\n.param .b32 y%d;\n.param .b64 w%d;\n.param .b32 z%d;\n", at, at, at,
                at);
}

static void say_function(struct text *text, int function) {
    if (function == KERNEL)
        say(text, ".visible .entry kernel(.param .u64 words, .param .u64 masks)\n{\n");
    else
        say(text, ".func (.param .b32 z) f%d(.param .b32 x, .param .b32 y, .param .b64 w)\n{\n", function);
    say(text, ".reg .pred %%p<%d>;\n.reg .b32 %%r<%d>;\n.reg .b64 %%rd<10>;\n", PREDICATES, ALL_REGISTERS);
    if (function)
        say(text,
            "prototype: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _, .param .b64 _);\n");
    say_parameters(text, function);
    say_addresses(text);
    for (int r = 0; r < REGISTERS; r++) say(text, "mad.lo.u32 %%r%d, %%r13, %d, %d;\n", r, 2 * r + 3, r);
    for (int p = 0; p < PREDICATES; p++) say(text, "setp.eq.u32 %%p%d, %%r%d, 5;\n", p, p);
    if (function != KERNEL)
        say(text,
            "ld.param.b32 %%r0, [x];\nld.param.b32 %%r1, [y];\nld.param.b64 %%rd1, [w];\nsub.u32 %%r%d, "
            "%%r1, 1;\n",
            LESS);
    else {
        say(text, "ld.param.u64 %%rd1, [words];\nld.param.u64 %%rd2, [masks];\nadd.u64 %%rd1, %%rd1, %%rd6;\n"
                  "add.u64 %%rd2, %%rd2, %%rd7;\n");
        for (int w = 0; w < FREE_SLOTS; w++) say(text, "st.shared.u32 [%%rd3+%d], %%r%d;\n", 4 * w, w);
        say(text, "st.shared.u32 [%%rd4], %%r0;\nbar.sync 0;\n");
    }
    for (int at = program.begin[function]; at < program.end[function]; at++)
        say_step(text, &program.code[at], function, at);
    if (function != KERNEL) say(text, "st.param.b32 [z], %%r2;\n");
    for (int r = 0; r < REGISTERS && function == KERNEL; r++)
        say(text, "st.global.u32 [%%rd1+%d], %%r%d;\n", 4 * r, r);
    say(text, "%s}\n", function != KERNEL || program.has_return ? "ret;\n" : "");
}

static void say_program(struct text *text) {
    say(text,
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".shared .align 4 .b8 own[%d];\n.shared .align 4 .b8 told[%d];\n",
        4 * FREE_SLOTS * THREADS_MAX, 4 * THREADS_MAX);
    for (int f = 0; f < FUNCTIONS; f++) say_function(text, f);
}

#endif
