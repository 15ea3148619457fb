/* What lets a source of the core be compiled by NVRTC, too, without change: for finishing a reduction where it ran.
 *
 * Such a source is C17 and CUDA C++ in one: no compound literal, no array designator, nothing of the C library but
 * memcpy and memset, no __builtin_.  NVRTC's -default-device makes its functions and tables the GPU's. */
#ifndef WF_CORE_PORTABLE_H
#define WF_CORE_PORTABLE_H

typedef unsigned __int128 wf_u128;
typedef __int128 wf_i128;

#ifdef __CUDACC_RTC__

/* NVRTC has no system headers; this one comes before warpfold.h. */
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef unsigned long long uintptr_t;

#define INT64_C(x) x##ll
#define UINT32_C(x) x##u
#define UINT64_C(x) x##ull
#define INT32_MAX 0x7fffffff
#define INT64_MAX 0x7fffffffffffffffll
#define INT64_MIN (-INT64_MAX - 1)
#define UINT32_MAX 0xffffffffu
#define UINT64_MAX 0xffffffffffffffffull
#define NULL 0
#define WF_API
#define WF_HOT
#define WF_APART __noinline__
#define WF_INLINED __forceinline__
#define WF_ROLLED _Pragma("unroll 1")

static inline int wf_leading_zeros_u64(uint64_t x) {
    return __clzll((long long)x);
}

static inline int wf_trailing_zeros_u64(uint64_t x) {
    return __ffsll((long long)x) - 1;
}

#else

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Of a path that many processes take in turns on one processor: linkers put such functions side by side, so that each
 * process finds them in few pages and lines of the caches. */
#define WF_HOT __attribute__((hot))

/* For kernels alone, in which such code runs once for a result: a function that is not copied to each of its callers, and a
 * loop whose steps are not, since NVRTC would take longer for these copies than for what runs for each element; and a function
 * that is copied, even where NVRTC is to optimize little, since most of it is not for the one op that a kernel has. */
#define WF_APART
#define WF_INLINED
#define WF_ROLLED

/* These require x != 0. */
static inline int wf_leading_zeros_u64(uint64_t x) {
    return __builtin_clzll(x);
}

static inline int wf_trailing_zeros_u64(uint64_t x) {
    return __builtin_ctzll(x);
}

#endif

#endif
