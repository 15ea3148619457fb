/* For this folder alone: pools of memory. */
#ifndef PROGRAM_POOLS_H
#define PROGRAM_POOLS_H

#include "runtime.h"

cudaMemPool_t pool_current(int device);
cudaError_t pool_find(cudaMemPool_t pool, int *device); /* whether there is one, and whose */
bool pool_has_room(cudaMemPool_t pool, size_t nbytes);
cudaError_t pool_give(cudaMemPool_t pool, const void *pointer, size_t nbytes); /* was allocated from it */
void pool_take_back(cudaMemPool_t pool, size_t nbytes); /* what was allocated from it is free */

/* buffers.c */
void buffers_leave_pool(cudaMemPool_t pool); /* what was allocated from it is nobody's */

/* memory.c */
cudaError_t memory_allocate_in(cudaMemPool_t pool, void **pointer, size_t nbytes); /* on the current device */

#endif
