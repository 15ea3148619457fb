/* Bytes of one element.  Global memory is shared by host threads: single relaxed accesses, as in hardware. */
#ifndef SIMT_ELEMENT_H
#define SIMT_ELEMENT_H

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
