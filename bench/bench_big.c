#include "bench_big.h"

struct big big_from(uint64_t value) {
    return (struct big){{value}};
}

bool big_is_zero(const struct big *a) {
    for (int i = 0; i < BIG_LIMBS; i++)
        if (a->limb[i]) return false;
    return true;
}

int big_compare(const struct big *a, const struct big *b) {
    for (int i = BIG_LIMBS - 1; i >= 0; i--)
        if (a->limb[i] != b->limb[i]) return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

void big_add(struct big *into, const struct big *b) {
    uint64_t carry = 0;
    for (int i = 0; i < BIG_LIMBS; i++) {
        bench_u128 sum = (bench_u128)into->limb[i] + b->limb[i] + carry;
        into->limb[i] = (uint64_t)sum;
        carry = (uint64_t)(sum >> 64);
    }
}

void big_add_shifted(struct big *into, bench_u128 value, int shift) {
    struct big term = {{(uint64_t)value, (uint64_t)(value >> 64)}};
    big_shift(&term, shift);
    big_add(into, &term);
}

void big_subtract(struct big *into, const struct big *b) {
    uint64_t borrow = 0;
    for (int i = 0; i < BIG_LIMBS; i++) {
        bench_u128 difference = (bench_u128)into->limb[i] - b->limb[i] - borrow;
        into->limb[i] = (uint64_t)difference;
        borrow = (uint64_t)(difference >> 64) & 1;
    }
}

void big_shift(struct big *into, int shift) {
    int limbs = shift / 64, bits = shift % 64;
    for (int i = BIG_LIMBS - 1; i >= 0; i--) {
        uint64_t high = i >= limbs ? into->limb[i - limbs] : 0;
        uint64_t low = i > limbs ? into->limb[i - limbs - 1] : 0;
        into->limb[i] = bits ? high << bits | low >> (64 - bits) : high;
    }
}

struct big big_product(const struct big *a, const struct big *b) {
    struct big product = {{0}};
    for (int i = 0; i < BIG_LIMBS; i++) {
        uint64_t carry = 0;
        for (int j = 0; a->limb[i] && i + j < BIG_LIMBS; j++) {
            bench_u128 sum = (bench_u128)a->limb[i] * b->limb[j] + product.limb[i + j] + carry;
            product.limb[i + j] = (uint64_t)sum;
            carry = (uint64_t)(sum >> 64);
        }
    }
    return product;
}
