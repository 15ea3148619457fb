/*
 * gpu.h -- the ladder on a GPU: the same rungs, launched by the same plan, verified and timed.
 *
 * One thread uses a GPU.  Errors are simt.h's: SIMT_ERROR_MEMORY where the GPU has no memory left, otherwise
 * SIMT_ERROR_STOPPED; the message is the driver layer's.
 */
#ifndef LADDER_GPU_H
#define LADDER_GPU_H

#include "ladder.h"

struct ladder_gpu;

/* Whether there can be such a GPU on some machine: "cuda" or "cuda:N". */
bool ladder_gpu_is_name(const char *device);

/* device: such a name. */
simt_error ladder_gpu_open(const char *device, struct ladder_gpu **gpu, simt_message *message);
void ladder_gpu_close(struct ladder_gpu *gpu); /* NULL: nothing */

/* "cuda:0", and "NVIDIA H200, 132 multiprocessors": as long as it is open. */
const char *ladder_gpu_name(const struct ladder_gpu *gpu);
const char *ladder_gpu_text(const struct ladder_gpu *gpu);

/* Whether the GPU has what the rung was written for. */
bool ladder_gpu_takes(const struct ladder_gpu *gpu, const struct ladder_rung *rung);

/* Brings the array that runs and samples reduce to the GPU, in several copies: in turn they are more than the
 * cache holds, so that each is read from memory.  The array before is dropped. */
simt_error ladder_gpu_put(struct ladder_gpu *gpu, const void *values, uint64_t nbytes, simt_message *message);

/* ---- kernels */

struct ladder_gpu_kernel;

enum ladder_gpu_image {
    LADDER_GPU_COMPILED, /* for this GPU, by NVRTC */
    LADDER_GPU_BUILT_IN  /* the PTX that the simulator runs, where it is built in */
};

/* The variant's kernel.  Destroyed before the GPU is closed. */
simt_error ladder_gpu_load(struct ladder_gpu *gpu, const struct ladder_variant *variant,
                           enum ladder_gpu_image image, struct ladder_gpu_kernel **kernel,
                           simt_message *message);
void ladder_gpu_unload(struct ladder_gpu_kernel *kernel); /* NULL: nothing */

/* How many blocks (of a rung with clusters: clusters) of that many threads the GPU holds at a time. */
uint32_t ladder_gpu_resident(const struct ladder_gpu_kernel *kernel, uint32_t block);

/* ---- running */

/* As ladder_run, of the array that is there; task->values are the same on the host.  No reports. */
simt_error ladder_gpu_run(struct ladder_gpu_kernel *kernel, const struct ladder_task *task,
                          struct ladder_outcome *outcome, simt_message *message);

/* ---- timing */

/* A benchmark candidate with preallocated buffers. */
struct ladder_gpu_candidate;

/* The task's, as ladder_gpu_run ran it; or with kernel NULL a plain kernel that reads the array, in a grid of
 * task->grid blocks for each multiprocessor. */
simt_error ladder_gpu_enter(struct ladder_gpu *gpu, struct ladder_gpu_kernel *kernel,
                            const struct ladder_task *task, struct ladder_gpu_candidate **candidate,
                            simt_message *message);
void ladder_gpu_leave(struct ladder_gpu_candidate *candidate); /* NULL: nothing */

/* Microseconds of one reduction, launched back to back on each copy of the array (or, quick, on one): from
 * the first launch to the end of the last, with the finish's launches, or the copy of the partials to the
 * host.  Not timed: what is reset between (results, tickets, the input of a rung that overwrites it), and the
 * host's own combining. */
simt_error ladder_gpu_sample(struct ladder_gpu_candidate *candidate, bool quick, double *microseconds,
                             simt_message *message);

#endif
