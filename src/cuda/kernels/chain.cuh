// Kernels that are launched one after another, of which many find nothing to do: the GPU may bring the blocks of the next one as
// soon as this one's have ended, and they wait here until what these wrote can be read.  Not before: blocks that wait would take
// the room of some multiprocessors, and those of a kernel between would be spread unevenly.

#ifndef CHAIN_CUH
#define CHAIN_CUH

// What every thread of such a kernel begins with: else the kernel after the next would not know that this one has waited.
static __device__ __forceinline__ void wait_for_those_before(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

#endif
