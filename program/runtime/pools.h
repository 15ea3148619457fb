/* For this folder alone: pools of memory. */
#ifndef PROGRAM_POOLS_H
#define PROGRAM_POOLS_H

#include "runtime.h"

void pool_take_back(cudaMemPool_t pool, size_t nbytes); /* what was allocated from it is free */

/* memory.c */
cudaError_t memory_allocate_in(cudaMemPool_t pool, void **pointer, size_t nbytes); /* on the current device */
void memory_leave_pool(cudaMemPool_t pool); /* what was allocated from it is nobody's */

#endif
