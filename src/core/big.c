#include "core/big.h"

static void trim(struct wf_big *big) {
    while (big->count && !big->limb[big->count - 1]) big->count--;
}

/* -big, of a number of limbs in two's complement; those below first are 0. */
static void negate(struct wf_big *big, int first) {
    uint64_t carry = 1;
    for (int i = first; i < big->count; i++) {
        carry += (uint32_t)~big->limb[i];
        big->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* Mostly few of the digits are in use, and only these are looked at twice. */
bool wf_big_of_exact(struct wf_big *big, const struct wf_exact *x) {
    int first = 0, last = x->digit_count - 1;
    while (last >= 0 && !x->digit[last]) last--;
    while (first < last && !x->digit[first]) first++;
    int64_t carry = 0;
    memset(big->limb, 0, (size_t)first * sizeof big->limb[0]);
    for (int i = first; i <= last; i++) {
        carry += x->digit[i];
        big->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    big->limb[last + 1] = (uint32_t)carry;
    big->limb[last + 2] = (uint32_t)(carry >> 32);
    big->count = last + 3;
    if (carry < 0) negate(big, first);
    trim(big);
    return carry < 0;
}

void wf_big_multiply(struct wf_big *product, const struct wf_big *a, const struct wf_big *b) {
    product->count = a->count + b->count;
    memset(product->limb, 0, (size_t)product->count * sizeof product->limb[0]);
    for (int i = 0; i < a->count; i++) {
        uint64_t carry = 0;
        for (int j = 0; j < b->count; j++) {
            carry += (uint64_t)a->limb[i] * b->limb[j] + product->limb[i + j];
            product->limb[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        product->limb[i + b->count] = (uint32_t)carry;
    }
    trim(product);
}

void wf_big_multiply_u64(struct wf_big *big, uint64_t factor) {
    wf_u128 carry = 0;
    for (int i = 0; i < big->count; i++) {
        carry += (wf_u128)big->limb[i] * factor;
        big->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    for (; carry; carry >>= 32) big->limb[big->count++] = (uint32_t)carry;
    trim(big);
}

int wf_big_compare(const struct wf_big *a, const struct wf_big *b) {
    if (a->count != b->count) return a->count < b->count ? -1 : 1;
    for (int i = a->count - 1; i >= 0; i--)
        if (a->limb[i] != b->limb[i]) return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

void wf_big_subtract(struct wf_big *a, const struct wf_big *b) {
    int64_t borrow = 0;
    for (int i = 0; i < a->count; i++) {
        borrow += (int64_t)a->limb[i] - (i < b->count ? b->limb[i] : 0);
        a->limb[i] = (uint32_t)borrow;
        borrow >>= 32;
    }
    trim(a);
}

/* 32 bits of big from bit position up; zeros beyond either end. */
static uint32_t bits_at(const struct wf_big *big, int position) {
    int limb = position >> 5, shift = position & 31;
    uint64_t low = limb >= 0 && limb < big->count ? big->limb[limb] : 0;
    uint64_t high = limb >= -1 && limb + 1 < big->count ? big->limb[limb + 1] : 0;
    return (uint32_t)((high << 32 | low) >> shift);
}

static bool any_below(const struct wf_big *big, int position) {
    for (int i = 0; 32 * i < position; i++) {
        uint32_t bits = big->limb[i];
        if (position - 32 * i < 32) bits &= (UINT32_C(1) << (position - 32 * i)) - 1;
        if (bits) return true;
    }
    return false;
}

static wf_u128 window(const struct wf_big *big, int position) {
    wf_u128 bits = 0;
    for (int i = 3; i >= 0; i--) bits = bits << 32 | bits_at(big, position + 32 * i);
    return bits;
}

static int bit_length(const struct wf_big *big) {
    return big->count ? 32 * big->count - __builtin_clz(big->limb[big->count - 1]) : 0;
}

struct wf_number wf_big_to_number(const struct wf_big *big, int32_t exponent, bool negative) {
    int position = bit_length(big) - 128;
    return wf_number_make(negative, window(big, position), exponent + position, any_below(big, position));
}

/* (high * 2^128 + low + f) * 2^exponent, with f as in wf_number. */
struct quotient {
    wf_u128 high, low;
    int32_t exponent;
    bool inexact;
};

/* The highest 256 bits of the dividend are enough: floor((h + f) / d) = floor(h / d) for integers h and d and
 * 0 <= f < 1, and the quotient has 129 bits or more. */
static struct quotient divide(const struct wf_big *big, int32_t exponent, wf_u128 divisor) {
    int position = bit_length(big) - 256;
    wf_u128 high = window(big, position + 128), low = window(big, position);
    struct quotient q = {high / divisor, low, exponent + position, any_below(big, position)};
    if (divisor == 1) return q;
    wf_u128 rest = high % divisor;
    for (int i = 127; i >= 0; i--) {
        rest = rest << 1 | (low >> i & 1);
        bool bit = rest >= divisor;
        if (bit) rest -= divisor;
        q.low = q.low << 1 | bit;
    }
    q.inexact |= rest != 0;
    return q;
}

/* Shifts the highest set bit to the top of high, or one below it where that makes the exponent even. */
static void normalise(struct quotient *q, bool even_exponent) {
    int shift = 0;
    while (!(q->high >> 127)) {
        q->high = q->high << 1 | q->low >> 127;
        q->low <<= 1;
        shift++;
    }
    q->exponent -= shift;
    if (even_exponent && q->exponent & 1) {
        q->inexact |= q->low & 1;
        q->low = q->low >> 1 | q->high << 127;
        q->high >>= 1;
        q->exponent++;
    }
}

struct wf_number wf_big_quotient(const struct wf_big *big, int32_t exponent, bool negative, wf_u128 divisor) {
    if (!big->count) return wf_number_zero(negative);
    struct quotient q = divide(big, exponent, divisor);
    normalise(&q, false);
    return wf_number_make(negative, q.high, q.exponent + 128, q.inexact || q.low);
}

/* Digit by digit, two bits of the radicand to one of the root. */
struct wf_number wf_big_quotient_root(const struct wf_big *big, int32_t exponent, wf_u128 divisor) {
    enum { ROOT_BITS = 72 }; /* enough for any type and the half after it */
    if (!big->count) return wf_number_zero(false);
    struct quotient q = divide(big, exponent, divisor);
    normalise(&q, true);
    wf_u128 root = 0, rest = 0;
    for (int i = 0; i < ROOT_BITS; i++) {
        rest = rest << 2 | q.high >> 126;
        q.high = q.high << 2 | q.low >> 126;
        q.low <<= 2;
        wf_u128 trial = root << 2 | 1;
        bool bit = rest >= trial;
        if (bit) rest -= trial;
        root = root << 1 | bit;
    }
    bool inexact = q.inexact || rest || q.high || q.low;
    return wf_number_make(false, root, (q.exponent + 256) / 2 - ROOT_BITS, inexact);
}
