/* The GPUs that `warpfold run` can pretend to be: what their makers publish, as far as programs ask for it. */
#ifndef PROGRAM_GPUS_H
#define PROGRAM_GPUS_H

/* word, name, major, minor, multiprocessors, threads of each, blocks of each, bytes of shared memory of each, and of a
 * block at most, GB of memory, bits of its bus, MiB of L2 cache, clock in kHz */
#define PROGRAM_GPUS(X)                                                                                            \
    X(h200, "NVIDIA H200", 9, 0, 132, 2048, 32, 233472, 232448, 141, 6144, 50, 1980000)                            \
    X(a100, "NVIDIA A100-SXM4-80GB", 8, 0, 108, 2048, 32, 167936, 166912, 80, 5120, 40, 1410000)                   \
    X(t4, "Tesla T4", 7, 5, 40, 1024, 16, 65536, 65536, 16, 256, 4, 1590000)

#endif
