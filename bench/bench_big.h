/* Natural numbers of a fixed, large size, for the benchmark's references: plain, slow, and sharing nothing
 * with the library's.  A double is a multiple of 2^-1074, so that the numerator of a variance of doubles,
 * n S2 - S1^2, takes some 4400 bits; what a wrong candidate is compared by takes a few hundred more. */
#ifndef CLI_BENCH_BIG_H
#define CLI_BENCH_BIG_H

#include <stdbool.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 bench_u128;

enum { BIG_LIMBS = 96 };

struct big {
    uint64_t limb[BIG_LIMBS]; /* the least first */
};

struct big big_from(uint64_t value);
bool big_is_zero(const struct big *a);

/* Below, at or above 0 as a is less than, equal to or greater than b. */
int big_compare(const struct big *a, const struct big *b);

/* into + value * 2^shift; into - b, which must not be greater; into * 2^shift. */
void big_add_shifted(struct big *into, bench_u128 value, int shift);
void big_add(struct big *into, const struct big *b);
void big_subtract(struct big *into, const struct big *b);
void big_shift(struct big *into, int shift);

struct big big_product(const struct big *a, const struct big *b);

#endif
