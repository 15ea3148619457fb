/* What decides how a path continues: the registers that branches, guards and addresses depend on, as far as the instructions
 * tell; nothing is executed here. */
#ifndef SIMT_DECIDERS_H
#define SIMT_DECIDERS_H

#include "effects.h"

/* What decides how the lanes continue, as far as the instructions that they have executed of late tell. */
struct deciders {
    const struct function *function;
    unsigned char *is_executed; /* by pc, from the function's first */
    unsigned char *is_decider;  /* by register; behind the last: the carry flag */
    unsigned char *marks;       /* by pc, as effects.h says */
    bool depends_on_memory;
    bool depends_on_warp;       /* a shuffle, a vote */
    bool depends_on_clock;
    bool is_unknown;            /* a call of more than plain functions, other threads */
    bool meets_warp, meets_block; /* at a collective or a barrier, where others may wait for them, */
    bool meets_others;            /* or at anything else */
    bool prints;
    bool has_grown;
};

/* Whether its first operand is read, as are all others. */
bool simt_has_no_result(const struct instruction *instruction);

bool simt_reads_clock(const struct instruction *instruction);

/* Whether it reads registers and writes others, and does nothing else. */
bool simt_is_arithmetic(const struct code *code);

/* Begins with no instruction; false: out of memory, and what was created must be destroyed all the same. */
bool simt_deciders_create(struct deciders *deciders, const struct function *function);
void simt_deciders_destroy(struct deciders *deciders);

/* Finds what decides among the instructions that are marked as executed, and marks those that read it. */
void simt_deciders_trace(struct deciders *deciders, const struct code *codes);

/* Whether something that decides comes from memory that may change, of all that the function reads anywhere. */
bool simt_deciders_read_memory(struct deciders *deciders, const struct code *codes);

#endif
