/* Random numbers that are the same on every machine: SplitMix64. */
#ifndef JUDGE_RANDOM_H
#define JUDGE_RANDOM_H

#include <stdint.h>

#define RANDOM_STEP UINT64_C(0x9e3779b97f4a7c15)

/* The i-th of a sequence; that of seed + RANDOM_STEP is the same, one number further on. */
static inline uint64_t random_bits(uint64_t seed, uint64_t i) {
    uint64_t z = seed + (i + 1) * RANDOM_STEP;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

#endif
