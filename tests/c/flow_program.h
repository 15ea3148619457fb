/* For flow: random programs of legal control flow. */
#ifndef FLOW_PROGRAM_H
#define FLOW_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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
    THREADS_MAX = 3 * 80,
    DEPTH_MAX = 24,
    STEPS_MAX = 2000000,
    ADDRESS_STEPS = 16 /* with which a function begins: say_addresses */
};

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

#endif
