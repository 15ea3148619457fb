/* What a branch or an atomic instruction of one block would cost after the usual cure. */
#ifndef SIMT_CURES_H
#define SIMT_CURES_H

#include "simt_observer.h"

/* A conditional branch.  The k-th executions by all warps of the block are one round; its lanes are taken as if those
 * that jump had the first numbers, so that at most one warp parts. */
struct packed_branch;

/* An atomic instruction: the addresses that it updates in a block, each once. */
struct block_atomics;

/* Both are made at the first call; false: no memory. */
bool simt_packed_branch_note(struct packed_branch **branch, const simt_event *event, uint32_t taken);
bool simt_block_atomics_note(struct block_atomics **atomics, const simt_access *access);

/* The branches that would part a warp, and the atomics that would do.  NULL: none. */
uint64_t simt_packed_branch_count(const struct packed_branch *branch, uint32_t warp_size);
uint64_t simt_block_atomics_count(const struct block_atomics *atomics);

void simt_packed_branch_destroy(struct packed_branch *branch);
void simt_block_atomics_destroy(struct block_atomics *atomics);

#endif
