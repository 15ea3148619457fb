/* Bytes of one element.  Global memory is shared by host threads: single relaxed accesses, as in hardware. */
#ifndef SIMT_ELEMENT_H
#define SIMT_ELEMENT_H

#include <string.h>

#include "lanes.h"

static inline uint64_t element_load(const unsigned char *host, uint32_t nbytes) {
    switch (nbytes) {
    case 1: return __atomic_load_n(host, __ATOMIC_RELAXED);
    case 2: return __atomic_load_n((const uint16_t *)(const void *)host, __ATOMIC_RELAXED);
    case 4: return __atomic_load_n((const uint32_t *)(const void *)host, __ATOMIC_RELAXED);
    default: return __atomic_load_n((const uint64_t *)(const void *)host, __ATOMIC_RELAXED);
    }
}

static inline void element_store(unsigned char *host, uint32_t nbytes, uint64_t value) {
    switch (nbytes) {
    case 1: __atomic_store_n(host, (uint8_t)value, __ATOMIC_RELAXED); break;
    case 2: __atomic_store_n((uint16_t *)(void *)host, (uint16_t)value, __ATOMIC_RELAXED); break;
    case 4: __atomic_store_n((uint32_t *)(void *)host, (uint32_t)value, __ATOMIC_RELAXED); break;
    default: __atomic_store_n((uint64_t *)(void *)host, value, __ATOMIC_RELAXED);
    }
}

/* A vector in memory moves whole, as on a GPU, where that is 8 or 16 bytes: hosts with AVX, and those of ARM v8.4 on, move
 * aligned 16 bytes at once, which C has no word for. */
enum { WHOLE_NBYTES_MAX = 16 };

static inline void whole_load(const unsigned char *host, uint32_t nbytes, uint64_t to[2]) {
    const uint64_t *words = (const uint64_t *)(const void *)host;
    if ((uintptr_t)host % nbytes) memcpy(to, host, nbytes); /* bytes that the caller of the simulator brought */
    else if (nbytes == sizeof *words) to[0] = __atomic_load_n(words, __ATOMIC_RELAXED);
#if defined(__x86_64__)
    else
        __asm__ volatile("movdqa (%1), %%xmm0\n\tmovdqu %%xmm0, (%0)" : : "r"(to), "r"(words) : "xmm0", "memory");
#elif defined(__aarch64__)
    else
        __asm__ volatile("ldp %0, %1, [%2]" : "=&r"(to[0]), "=&r"(to[1]) : "r"(words) : "memory");
#else
    else
        for (int i = 0; i < 2; i++) to[i] = __atomic_load_n(&words[i], __ATOMIC_RELAXED);
#endif
}

static inline void whole_store(unsigned char *host, uint32_t nbytes, const uint64_t from[2]) {
    uint64_t *words = (uint64_t *)(void *)host;
    if ((uintptr_t)host % nbytes) memcpy(host, from, nbytes);
    else if (nbytes == sizeof *words) __atomic_store_n(words, from[0], __ATOMIC_RELAXED);
#if defined(__x86_64__)
    else
        __asm__ volatile("movdqu (%1), %%xmm0\n\tmovdqa %%xmm0, (%0)" : : "r"(words), "r"(from) : "xmm0", "memory");
#elif defined(__aarch64__)
    else
        __asm__ volatile("stp %0, %1, [%2]" : : "r"(from[0]), "r"(from[1]), "r"(words) : "memory");
#else
    else
        for (int i = 0; i < 2; i++) __atomic_store_n(&words[i], from[i], __ATOMIC_RELAXED);
#endif
}

/* Returns what was there; *has_changed: something else is there now. */
static inline uint64_t element_update(unsigned char *host, uint32_t nbytes, scalar_function *scalar, uint64_t value,
                                      uint64_t compare, bool *has_changed) {
    uint64_t old = element_load(host, nbytes);
    for (;;) {
        uint64_t new = scalar(old, value, compare);
        bool is_done;
        if (nbytes == 2) {
            uint16_t expected = (uint16_t)old;
            is_done = __atomic_compare_exchange_n((uint16_t *)(void *)host, &expected, (uint16_t)new, false,
                                                  __ATOMIC_RELAXED, __ATOMIC_RELAXED);
            old = expected;
        } else if (nbytes == 4) {
            uint32_t expected = (uint32_t)old;
            is_done = __atomic_compare_exchange_n((uint32_t *)(void *)host, &expected, (uint32_t)new, false,
                                                  __ATOMIC_RELAXED, __ATOMIC_RELAXED);
            old = expected;
        } else {
            uint64_t expected = old;
            is_done = __atomic_compare_exchange_n((uint64_t *)(void *)host, &expected, new, false, __ATOMIC_RELAXED,
                                                  __ATOMIC_RELAXED);
            old = expected;
        }
        if (!is_done) continue;
        *has_changed |= new != old;
        return old;
    }
}

#endif
