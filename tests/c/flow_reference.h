/* For flow: a program executed one thread at a time, without the simulator. */
#ifndef FLOW_REFERENCE_H
#define FLOW_REFERENCE_H

#include "flow_program.h"

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

#endif
