// Reads and writes of words in shared memory (by their address there) and in global memory that other threads change by atomic
// operations at the same time: relaxed ones, which are no races (PTX ISA, memory consistency model).

#ifndef RELAXED_CUH
#define RELAXED_CUH

#include "kernels/element.cuh"

static __device__ __forceinline__ u32 load_shared_u32(const u32 *word)
{
    u32 value;
    asm volatile("ld.relaxed.cta.shared.u32 %0, [%1];" : "=r"(value) : "r"((u32)__cvta_generic_to_shared(word)) : "memory");
    return value;
}

static __device__ __forceinline__ u64 load_shared_u64(const u64 *word)
{
    u64 value;
    asm volatile("ld.relaxed.cta.shared.u64 %0, [%1];" : "=l"(value) : "r"((u32)__cvta_generic_to_shared(word)) : "memory");
    return value;
}

static __device__ __forceinline__ void store_shared_u32(u32 *word, u32 value)
{
    asm volatile("st.relaxed.cta.shared.u32 [%0], %1;" ::"r"((u32)__cvta_generic_to_shared(word)), "r"(value) : "memory");
}

static __device__ __forceinline__ void store_shared_u64(u64 *word, u64 value)
{
    asm volatile("st.relaxed.cta.shared.u64 [%0], %1;" ::"r"((u32)__cvta_generic_to_shared(word)), "l"(value) : "memory");
}

// By its address there; gives what it was before.
static __device__ __forceinline__ u32 add_shared_u32(u32 address, u32 value)
{
    u32 before;
    asm volatile("atom.relaxed.cta.shared.add.u32 %0, [%1], %2;" : "=r"(before) : "r"(address), "r"(value) : "memory");
    return before;
}

// The same without a branch, where the value is not 0; else gives 0.
static __device__ __forceinline__ u32 add_shared_if_any(u32 address, u32 value)
{
    u32 before;
    asm volatile("{\n\t.reg .pred any;\n\tsetp.ne.u32 any, %2, 0;\n\tmov.u32 %0, 0;\n\t"
                 "@any atom.relaxed.cta.shared.add.u32 %0, [%1], %2;\n\t}"
                 : "=&r"(before)
                 : "r"(address), "r"(value)
                 : "memory");
    return before;
}

static __device__ __forceinline__ u32 load_global_u32(const u32 *word)
{
    u32 value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}

static __device__ __forceinline__ void store_global_u32(u32 *word, u32 value)
{
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

static __device__ __forceinline__ u64 load_global_u64(const u64 *word)
{
    u64 value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

#endif
