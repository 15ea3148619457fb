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
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simt.h"

enum {
    KERNELS = 1000,
    REGISTERS = 8,
    FUEL = 8,
    LESS = 10,
    COUNTER = 16,
    ALL_REGISTERS = 20,
    PREDICATES = 4,
    FUNCTIONS = 4, /* the last is the kernel */
    KERNEL = FUNCTIONS - 1,
    CODE_MAX = 4000,
    LABELS_MAX = 1500,
    TABLE_MAX = 4,
    SLOTS = 16,
    FREE_SLOTS = 8, /* words of a thread's own; the first half is for its registers at the end */
    COLLECTIVES_MAX = 64,
    WARPS_MAX = 24,
    THREADS_MAX = 3 * 80,
    DEPTH_MAX = 24,
    STEPS_MAX = 2000000
};

static int failures;

/* ---- random numbers */

static uint64_t state;

static uint32_t draw(uint32_t below) {
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    uint64_t bits = (state >> 33) ^ (state >> 53);
    return (uint32_t)(bits % below);
}

/* ---- programs */

enum op {
    LABEL,
    ADD,
    XOR,
    MULTIPLY,
    TEST,
    TEST_LANE,
    MOVE,
    FUEL_SET,
    BRANCH,
    SPEND,
    INDEX,
    INDEX_SPENT,
    JUMP_TABLE,
    STORE,
    LOAD,
    STORE_SHARED,
    LOAD_SHARED,
    TELL,
    HEAR,
    BARRIER,
    CALL,
    CALL_INDIRECT,
    RETURN,
    EXIT,
    BALLOT,
    SHUFFLE,
    REDUCE,
    WARP_BARRIER
};

struct step {
    enum op op;
    int d, a, b; /* registers or predicates */
    uint32_t value;
    int guard; /* a predicate, or -1 */
    bool is_negated;
    int target; /* label, function, collective */
    int table[TABLE_MAX], table_count;
};

struct program {
    struct step code[CODE_MAX];
    int count;
    int begin[FUNCTIONS], end[FUNCTIONS];
    int place[LABELS_MAX]; /* of labels */
    int label_count, collective_count;
    bool repeats;    /* brx and indirect calls are executed once for each target */
    bool has_return; /* at the kernel's end */
    uint32_t grid, block, warp_size;
};

static struct program program;

static struct step *put(enum op op, int d, int a, int b, uint32_t value) {
    if (program.count >= CODE_MAX) abort();
    struct step *step = &program.code[program.count++];
    *step = (struct step){.op = op, .d = d, .a = a, .b = b, .value = value, .guard = -1};
    return step;
}

static int label_new(void) {
    if (program.label_count >= LABELS_MAX) abort();
    return program.label_count++;
}

static void put_label(int label) {
    program.place[label] = program.count;
    put(LABEL, 0, 0, 0, 0)->target = label;
}

static int any(void) {
    return (int)draw(REGISTERS);
}

static void maybe_guard(struct step *step) {
    if (draw(3)) return;
    step->guard = (int)draw(PREDICATES);
    step->is_negated = draw(2);
}

/* A predicate that differs between threads. */
static int put_test(void) {
    int p = (int)draw(PREDICATES);
    uint32_t mask = 1 + draw(7);
    put(TEST, p, any(), 0, mask)->b = (int)(draw(8) & mask);
    return p;
}

static void put_branch(int target, int guard, bool is_negated) {
    struct step *step = put(BRANCH, 0, 0, 0, 0);
    step->target = target;
    step->guard = guard;
    step->is_negated = is_negated;
}

static void put_simple(void) {
    static const enum op ops[] = {ADD, XOR, MULTIPLY, STORE, LOAD, STORE_SHARED, LOAD_SHARED, TEST};
    enum op op = ops[draw(8)];
    if (op == TEST)
        put_test();
    else
        maybe_guard(put(op, any(), any(), any(), draw(FREE_SLOTS)));
}

/* Function 0 may exit, and 1 calls itself. */
static void put_call(int below, bool may_exit) {
    int function = (int)draw((uint32_t)below);
    if (function == 0 && !may_exit) function = below > 1 ? 1 : -1;
    if (function < 0) return;
    if (!draw(3)) put_test();
    struct step *step = put(draw(3) ? CALL : CALL_INDIRECT, any(), any(), any(), 0);
    program.repeats |= step->op == CALL_INDIRECT;
    step->target = function;
    maybe_guard(step);
}

static void put_table(enum op index, const int *labels, int at, int count, bool goes_back) {
    struct step *step = put(index, 0, any(), 0, draw(2) ? 1 : 3);
    uint32_t entries = step->value + 1;
    bool are_alike = !draw(5);
    step = put(JUMP_TABLE, 0, 0, 0, 0);
    step->table_count = (int)entries;
    for (uint32_t e = 0; e < entries; e++)
        step->table[e] = goes_back && e ? labels[draw((uint32_t)count + 1)]
                                        : labels[at + 1 + (int)draw((uint32_t)(count - at))];
    for (uint32_t e = 1; e < entries && are_alike; e++) step->table[e] = step->table[0];
    if (!goes_back) maybe_guard(step);
    program.repeats = true;
}

static void put_leave(int function, bool may_exit) {
    if (function == KERNEL && !may_exit) return;
    int p = put_test();
    put(STORE, 0, any(), 0, draw(FREE_SLOTS));
    struct step *step = put(may_exit && draw(2) ? EXIT : RETURN, 0, any(), 0, 0);
    step->guard = p;
    step->is_negated = draw(2);
}

/* Blocks with any edges, entered at the first, left at the end. */
static void put_region(int function, bool may_exit) {
    int labels[10], count = 2 + (int)draw(7), p;
    for (int b = 0; b <= count; b++) labels[b] = label_new();
    put(FUEL_SET, FUEL, any(), 0, draw(2) ? 3 : 7);
    for (int b = 0; b < count; b++) {
        int forwards = labels[b + 1 + (int)draw((uint32_t)(count - b))];
        int back = labels[draw((uint32_t)b + 1)];
        put_label(labels[b]);
        for (uint32_t s = draw(3); s; s--) put_simple();
        switch (draw(13)) {
        case 0: put_branch(forwards, -1, false); break;
        case 1:
        case 2:
        case 3:
            p = put_test();
            put_branch(forwards, p, draw(2));
            break;
        case 4:
            p = put_test();
            put_branch(labels[b + 1], p, draw(2));
            break;
        case 5:
        case 6:
            put(SPEND, PREDICATES - 1, FUEL, 0, 0);
            put_branch(back, PREDICATES - 1, false);
            break;
        case 7:
            put(SPEND, PREDICATES - 1, FUEL, 0, 0);
            put_branch(forwards, PREDICATES - 1, true);
            put_branch(back, -1, false);
            break;
        case 8: put_table(INDEX, labels, b, count, false); break;
        case 9: put_table(INDEX_SPENT, labels, b, count, true); break;
        case 10:
            if (function) put_call(function, may_exit);
            break;
        case 11: put_leave(function, may_exit); break;
        default: break;
        }
    }
    put_label(labels[count]);
}

static void put_collective(void) {
    static const enum op ops[] = {BALLOT, SHUFFLE, REDUCE, WARP_BARRIER};
    if (program.collective_count == COLLECTIVES_MAX) return;
    enum op op = ops[draw(4)];
    put(op, any(), op == BALLOT ? (int)draw(PREDICATES) : any(), 0, 0)->target = program.collective_count++;
}

static void put_segments(int depth, bool may_exit, bool are_all_here);

static void put_lane_parts(int depth, bool may_exit) {
    int other = label_new(), join = label_new();
    uint32_t mask = 1 + draw(31);
    put(TEST_LANE, 0, 0, 0, mask)->target = (int)(draw(32) & mask);
    put_branch(other, 0, draw(2));
    put_segments(depth + 1, may_exit, false);
    if (draw(4)) {
        put_branch(join, -1, false);
        put_label(other);
        put_segments(depth + 1, may_exit, false);
    } else
        put_label(other);
    put_label(join);
}

static void put_loop(int depth, bool are_all_here) {
    int top = label_new();
    put(MOVE, COUNTER + depth, 0, 0, 1 + draw(3));
    put_label(top);
    put_segments(depth + 1, false, are_all_here);
    put(SPEND, PREDICATES - 1, COUNTER + depth, 0, 0);
    put_branch(top, PREDICATES - 1, false);
}

/* Where lanes come together as the text has them. */
static void put_segments(int depth, bool may_exit, bool are_all_here) {
    for (uint32_t s = 1 + draw(3); s; s--) switch (draw(depth < 3 ? 7 : 4)) {
        case 0:
        case 1: put_region(KERNEL, may_exit); break;
        case 2: put_collective(); break;
        case 3:
            if (!are_all_here) break;
            put(TELL, 0, any(), 0, 0);
            put(BARRIER, 0, 0, 0, 0);
            put(HEAR, any(), 0, 0, 0);
            put(BARRIER, 0, 0, 0, 0);
            break;
        case 4: put_loop(depth, are_all_here); break;
        default: put_lane_parts(depth, may_exit);
        }
}

static void make_program(void) {
    memset(&program, 0, sizeof program);
    program.warp_size = draw(4) ? 32 : 1u << draw(5);
    program.block = 1 + draw(program.warp_size * 5 / 2);
    program.grid = 1 + draw(3);
    program.has_return = draw(3);
    for (int f = 0; f < FUNCTIONS; f++) {
        program.begin[f] = program.count;
        if (f == KERNEL)
            put_segments(0, true, true);
        else
            put_region(f, f == 0);
        if (f == 1 && draw(2)) { /* up to three times more: its second argument, which is one less each time,
                                    says how often */
            put(TEST, 0, LESS, 0, 3);
            struct step *step = put(CALL, any(), 0, LESS, 0);
            step->target = f;
            step->guard = 0;
            step->is_negated = true;
        }
        program.end[f] = program.count;
    }
}

/* ---- as PTX */

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
enum { ADDRESS_STEPS = 16 };

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

/* ---- the reference */

struct frame {
    uint32_t r[ALL_REGISTERS];
    bool p[PREDICATES];
    int function, at, result; /* where it goes on; the register that the caller wants */
};

struct thread {
    struct frame frames[DEPTH_MAX];
    int depth; /* -1: it has exited */
    uint32_t own[FREE_SLOTS], told;
    uint64_t executed;
};

struct answer {
    uint32_t words[THREADS_MAX][SLOTS];
    uint32_t masks[THREADS_MAX][COLLECTIVES_MAX];
    uint64_t executed;
};

static struct thread threads[THREADS_MAX];
static struct answer answer;
static uint64_t steps;

static void frame_enter(struct thread *thread, int function, uint32_t x, uint32_t y, uint32_t number,
                        int result) {
    if (thread->depth + 1 == DEPTH_MAX) abort();
    struct frame *frame = &thread->frames[++thread->depth];
    memset(frame, 0, sizeof *frame);
    for (uint32_t r = 0; r < REGISTERS; r++) frame->r[r] = number * (2 * r + 3) + r;
    for (int p = 0; p < PREDICATES; p++) frame->p[p] = frame->r[p] == 5;
    frame->function = function;
    frame->at = program.begin[function];
    frame->result = result;
    thread->executed += ADDRESS_STEPS + REGISTERS + PREDICATES + 4;
    if (function == KERNEL) {
        memcpy(thread->own, frame->r, sizeof thread->own);
        thread->told = frame->r[0];
        thread->executed += FREE_SLOTS + 2;
        return;
    }
    frame->r[0] = x;
    frame->r[1] = y;
    frame->r[LESS] = y - 1;
}

static void frame_leave(struct thread *thread, uint32_t value) {
    int result = thread->frames[thread->depth--].result;
    if (thread->depth < 0) return;
    thread->frames[thread->depth].r[result] = value;
    thread->executed++; /* the caller loads it */
}

static bool is_met(enum op op) {
    return op == BARRIER || op >= BALLOT;
}

/* One step that no other thread takes part in. */
static void thread_step(struct thread *thread, uint32_t number, uint32_t lane) {
    struct frame *frame = &thread->frames[thread->depth];
    if (frame->at == program.end[frame->function]) {
        if (frame->function == KERNEL) {
            memcpy(answer.words[number], frame->r, REGISTERS * sizeof *frame->r);
            thread->executed += REGISTERS + program.has_return;
        } else
            thread->executed += 2;
        frame_leave(thread, frame->r[2]);
        return;
    }
    const struct step *step = &program.code[frame->at++];
    uint32_t *d = &frame->r[step->d], a = frame->r[step->a], b = frame->r[step->b];
    bool is_on = step->guard < 0 || frame->p[step->guard] != step->is_negated;
    uint32_t cost = is_on;
    switch (step->op) {
    case ADD:
        if (is_on) *d = a + b;
        break;
    case XOR:
        if (is_on) *d = a ^ b;
        break;
    case MULTIPLY:
        if (is_on) *d = a * (2 * step->value + 1) + b;
        break;
    case TEST:
        frame->p[step->d] = (a & step->value) == (uint32_t)step->b;
        cost = 2;
        break;
    case TEST_LANE:
        frame->p[step->d] = (lane & step->value) == (uint32_t)step->target;
        cost = 3;
        break;
    case MOVE: *d = step->value; break;
    case FUEL_SET:
        *d = (a & step->value) + 2;
        cost = 2;
        break;
    case BRANCH:
        if (is_on) frame->at = program.place[step->target];
        break;
    case SPEND:
        frame->p[step->d] = (int32_t)--frame->r[step->a] > 0;
        cost = 2;
        break;
    case INDEX: frame->r[15] = a & step->value; break;
    case INDEX_SPENT:
        frame->p[3] = (int32_t)--frame->r[FUEL] > 0;
        frame->r[15] = frame->p[3] ? frame->r[step->a] & step->value : 0;
        cost = 3 + !frame->p[3];
        break;
    case JUMP_TABLE:
        if (is_on) frame->at = program.place[step->table[frame->r[15]]];
        break;
    case STORE:
        if (is_on) answer.words[number][FREE_SLOTS + step->value] = a;
        break;
    case LOAD:
        if (is_on) *d = answer.words[number][FREE_SLOTS + step->value];
        break;
    case STORE_SHARED:
        if (is_on) thread->own[step->value] = a;
        break;
    case LOAD_SHARED:
        if (is_on) *d = thread->own[step->value];
        break;
    case TELL: thread->told = a; break;
    case CALL:
    case CALL_INDIRECT:
        cost = 3 + (step->op == CALL_INDIRECT) + is_on;
        if (is_on) frame_enter(thread, step->target, a, b, number, step->d);
        break;
    case RETURN:
        cost = (uint32_t)is_on * (1 + (frame->function != KERNEL));
        if (is_on) frame_leave(thread, a);
        break;
    case EXIT:
        if (is_on) thread->depth = -1;
        break;
    default: cost = 0; /* a label; what threads meet at is another's business */
    }
    thread->executed += cost;
}

static const struct step *waits_at(const struct thread *thread) {
    return thread->depth < 0 ? NULL : &program.code[thread->frames[thread->depth].at];
}

static void thread_run(struct thread *thread, uint32_t number, uint32_t lane) {
    while (thread->depth >= 0) {
        const struct frame *frame = &thread->frames[thread->depth];
        if (++steps > STEPS_MAX) abort();
        if (frame->at < program.end[frame->function]) {
            const struct step *step = &program.code[frame->at];
            if (is_met(step->op) || step->op == HEAR) return;
        }
        thread_step(thread, number, lane);
    }
}

/* The lanes that wait at a step; 0 where, from an earlier round of a loop, others are known to be still on
 * their way. */
static uint32_t lanes_at(const struct step *step, const struct thread *first, uint32_t number,
                         uint32_t lanes) {
    uint32_t mask = 0, earlier = 0;
    for (uint32_t lane = 0; lane < lanes; lane++) {
        if (waits_at(&first[lane]) != step) continue;
        mask |= UINT32_C(1) << lane;
        earlier |= answer.masks[number + lane][step->target];
    }
    return earlier && earlier != mask ? 0 : mask;
}

/* The lanes of a warp that wait at the first place where they are complete meet there: all that a place in
 * front of it held back have come. */
static bool warp_meet(struct thread *first, uint32_t number, uint32_t lanes) {
    const struct step *at = NULL;
    uint32_t mask = 0, leader = 0, sum = 0, votes = 0;
    for (uint32_t lane = lanes; lane-- > 0;) {
        const struct step *step = waits_at(&first[lane]);
        if (!step || step->op < BALLOT || (at && step > at) || !lanes_at(step, first, number, lanes))
            continue;
        at = step;
        leader = lane;
    }
    if (!at) return false;
    mask = lanes_at(at, first, number, lanes);
    for (uint32_t lane = 0; lane < lanes; lane++) {
        if (!(mask >> lane & 1)) continue;
        const struct frame *frame = &first[lane].frames[0];
        sum += frame->r[at->a];
        if (at->op == BALLOT) votes |= (uint32_t)frame->p[at->a] << lane;
    }
    uint32_t value = at->op == BALLOT ? votes : at->op == REDUCE ? sum : first[leader].frames[0].r[at->a];
    for (uint32_t lane = 0; lane < lanes; lane++) {
        if (!(mask >> lane & 1)) continue;
        struct frame *frame = &first[lane].frames[0];
        uint32_t *told = &answer.masks[number + lane][at->target];
        if (*told && *told != mask) abort(); /* a kernel whose masks change was not to be made */
        *told = mask;
        if (at->op != WARP_BARRIER) frame->r[at->d] = value;
        frame->at++;
        first[lane].executed += at->op == SHUFFLE ? 4 : 2;
    }
    return true;
}

/* All that are left wait at one block barrier, or to hear a neighbour, and go on. */
static bool block_meet(struct thread *first) {
    const struct step *at = NULL;
    for (uint32_t t = 0; t < program.block; t++) {
        const struct step *step = waits_at(&first[t]);
        if (at && step && step != at) abort();
        if (step) at = step;
    }
    for (uint32_t t = 0; at && t < program.block; t++) {
        if (!waits_at(&first[t])) continue;
        struct frame *frame = &first[t].frames[0];
        frame->at++;
        first[t].executed++;
        if (at->op == HEAR) frame->r[at->d] = first[(t + 1) % program.block].told;
    }
    return at;
}

static void block_run(uint32_t block) {
    struct thread *first = &threads[block * program.block];
    bool goes_on = true;
    for (uint32_t t = 0; t < program.block; t++) {
        first[t] = (struct thread){.depth = -1};
        frame_enter(&first[t], KERNEL, 0, 0, block * program.block + t, 0);
    }
    while (goes_on) {
        for (uint32_t t = 0; t < program.block; t++)
            thread_run(&first[t], block * program.block + t, t % program.warp_size);
        goes_on = false;
        for (uint32_t t = 0; t < program.block; t += program.warp_size) {
            uint32_t rest = program.block - t, lanes = rest < program.warp_size ? rest : program.warp_size;
            goes_on |= warp_meet(&first[t], block * program.block + t, lanes);
        }
        if (!goes_on) goes_on = block_meet(first);
    }
    for (uint32_t t = 0; t < program.block; t++) answer.executed += first[t].executed;
}

static void answer_find(void) {
    memset(&answer, 0, sizeof answer);
    steps = 0;
    for (uint32_t block = 0; block < program.grid; block++) block_run(block);
}

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

/* Exactly so many instructions are enough, one less is not, and is told. */
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
    /* With a limit that is asked for, and no higher than the default, the instructions are the same each time. */
    for (size_t t = 0; t < sizeof trials / sizeof *trials; t++) {
        if (!launch(module, &trials[t], SIMT_INSTRUCTION_LIMIT, &outcome)) fail(seed, &trials[t], "no memory", "");
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
