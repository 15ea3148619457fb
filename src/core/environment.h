/* The floating-point environment is the caller's.  Inside, arithmetic is IEEE: round to nearest, subnormals
 * kept, no traps; on leaving, all is as it was, the exception flags too. */
#ifndef WF_CORE_ENVIRONMENT_H
#define WF_CORE_ENVIRONMENT_H

/* The compiler does not know that arithmetic depends on the environment: the empty asm keeps it inside. */
#if defined(__SSE2__)

#include <immintrin.h>

typedef unsigned wf_environment;

static inline wf_environment wf_environment_enter(void) {
    wf_environment callers = _mm_getcsr();
    _mm_setcsr(0x1f80);
    __asm__ volatile("" ::: "memory");
    return callers;
}

static inline void wf_environment_leave(wf_environment callers) {
    __asm__ volatile("" ::: "memory");
    _mm_setcsr(callers);
}

/* Inside: subnormals count as 0, operands as well as results, until they are kept again. */
enum { WF_SUBNORMALS_DROPPED = 0x8040 };

static inline void wf_environment_drop_subnormals(void) {
    _mm_setcsr(_mm_getcsr() | (unsigned)WF_SUBNORMALS_DROPPED);
}

static inline void wf_environment_keep_subnormals(void) {
    _mm_setcsr(_mm_getcsr() & ~(unsigned)WF_SUBNORMALS_DROPPED);
}

#else

#include <fenv.h>

typedef fenv_t wf_environment;

static inline wf_environment wf_environment_enter(void) {
    wf_environment callers;
    fegetenv(&callers);
    fesetenv(FE_DFL_ENV);
    __asm__ volatile("" ::: "memory");
    return callers;
}

static inline void wf_environment_leave(wf_environment callers) {
    __asm__ volatile("" ::: "memory");
    fesetenv(&callers);
}

/* Only a matter of speed. */
static inline void wf_environment_drop_subnormals(void) {}
static inline void wf_environment_keep_subnormals(void) {}

#endif

#endif
