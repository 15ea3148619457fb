#include "core/big.h"

static void trim(struct wf_big *big) {
    WF_ROLLED while (big->count && !big->limb[big->count - 1]) big->count--;
}

/* -big, of a number of limbs in two's complement. */
static void negate(struct wf_big *big) {
    uint64_t carry = 1;
    WF_ROLLED for (int i = big->lowest; i < big->count; i++) {
        carry += (uint32_t)~big->limb[i];
        big->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* Whether eight digits are all 0. */
static bool are_zero(const int64_t *digit) {
    return !(digit[0] | digit[1] | digit[2] | digit[3] | digit[4] | digit[5] | digit[6] | digit[7]);
}

/* Mostly few of the digits are in use, and only these are looked at twice. */
void wf_total_of_exact(struct wf_total *total, struct wf_exact x) {
    struct wf_big *big = &total->magnitude;
    int first = 0, last = x.digit_count - 1;
    WF_ROLLED while (last >= 7 && are_zero(&x.digit[last - 7])) last -= 8;
    WF_ROLLED while (last >= 0 && !x.digit[last]) last--;
    WF_ROLLED while (first + 8 <= last && are_zero(&x.digit[first])) first += 8;
    WF_ROLLED while (first < last && !x.digit[first]) first++;
    int64_t carry = 0;
    memset(big->limb, 0, (size_t)first * sizeof big->limb[0]);
    WF_ROLLED for (int i = first; i <= last; i++) {
        carry += x.digit[i];
        big->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    big->limb[last + 1] = (uint32_t)carry;
    big->limb[last + 2] = (uint32_t)(carry >> 32);
    big->count = last + 3;
    big->lowest = first;
    if (carry < 0) negate(big);
    trim(big);
    total->negative = carry < 0;
    total->exponent = x.low_exponent;
}

void wf_big_multiply(struct wf_big *product, const struct wf_big *a, const struct wf_big *b) {
    product->count = a->count + b->count;
    product->lowest = a->lowest + b->lowest;
    memset(product->limb, 0, (size_t)product->count * sizeof product->limb[0]);
    for (int i = a->lowest; i < a->count; i++) {
        uint64_t carry = 0;
        for (int j = b->lowest; j < b->count; j++) {
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
    for (int i = big->lowest; i < big->count; i++) {
        carry += (wf_u128)big->limb[i] * factor;
        big->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    for (; carry; carry >>= 32) big->limb[big->count++] = (uint32_t)carry;
    trim(big);
}

void wf_big_add(struct wf_big *a, const struct wf_big *b) {
    uint64_t carry = 0;
    if (a->lowest > b->lowest) a->lowest = b->lowest;
    while (a->count <= b->count) a->limb[a->count++] = 0;
    for (int i = b->lowest; i < b->count || carry; i++) {
        if (i == a->count) a->limb[a->count++] = 0;
        carry += (uint64_t)a->limb[i] + (i < b->count ? b->limb[i] : 0);
        a->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    trim(a);
}

void wf_big_forget(struct wf_big *big, int limb) {
    memset(big->limb, 0, (size_t)limb * sizeof big->limb[0]);
    if (big->lowest < limb) big->lowest = limb;
    if (big->count <= limb) big->count = 0;
}

int wf_big_compare(const struct wf_big *a, const struct wf_big *b) {
    if (a->count != b->count) return a->count < b->count ? -1 : 1;
    WF_ROLLED for (int i = a->count - 1; i >= 0; i--)
        if (a->limb[i] != b->limb[i]) return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

void wf_big_subtract(struct wf_big *a, const struct wf_big *b) {
    int64_t borrow = 0;
    if (a->lowest > b->lowest) a->lowest = b->lowest;
    for (int i = b->lowest; i < a->count; i++) {
        borrow += (int64_t)a->limb[i] - (i < b->count ? b->limb[i] : 0);
        a->limb[i] = (uint32_t)borrow;
        borrow >>= 32;
    }
    trim(a);
}

static uint32_t limb_at(const struct wf_big *big, int i) {
    return i >= 0 ? big->limb[i] : 0;
}

/* The bits of big from limb `top` down, except for the first `shift` of them; zeros beyond the end. */
static wf_u128 bits_from(const struct wf_big *big, int top, int shift) {
    wf_u128 bits = 0;
    for (int i = 0; i < 4; i++) bits = bits << 32 | limb_at(big, top - i);
    return bits << shift | limb_at(big, top - 4) >> 1 >> (31 - shift);
}

static bool any_below(const struct wf_big *big, int position) {
    WF_ROLLED for (int i = big->lowest; 32 * i < position; i++) {
        uint32_t bits = big->limb[i];
        if (position - 32 * i < 32) bits &= (UINT32_C(1) << (position - 32 * i)) - 1;
        if (bits) return true;
    }
    return false;
}

/* Zeros above the highest bit that is set, of big other than 0. */
static int leading_zeros(const struct wf_big *big) {
    return wf_leading_zeros_u64(big->limb[big->count - 1]) - 32;
}

struct wf_number wf_total_to_number(const struct wf_total *total) {
    const struct wf_big *big = &total->magnitude;
    if (!big->count) return wf_number_zero(total->negative);
    int shift = leading_zeros(big), position = 32 * big->count - shift - 128;
    struct wf_number number = {WF_NUMBER_FINITE, total->negative, any_below(big, position),
                               total->exponent + position, bits_from(big, big->count - 1, shift)};
    return number;
}

/* (high * 2^128 + low + f) * 2^exponent, with f as in wf_number. */
struct quotient {
    wf_u128 high, low;
    int32_t exponent;
    bool inexact;
};

/* The quotient's next 64 bits; rest < divisor < 2^64. */
static uint64_t divide_word(uint64_t *rest, uint64_t next, uint64_t divisor) {
    wf_u128 dividend = (wf_u128)*rest << 64 | next;
    wf_u128 quotient = dividend / divisor;
    *rest = (uint64_t)(dividend - quotient * divisor);
    return (uint64_t)quotient;
}

static void divide_by_u64(struct quotient *q, uint64_t divisor) {
    uint64_t rest = 0;
    uint64_t high = divide_word(&rest, (uint64_t)(q->high >> 64), divisor);
    q->high = (wf_u128)high << 64 | divide_word(&rest, (uint64_t)q->high, divisor);
    uint64_t low = divide_word(&rest, (uint64_t)(q->low >> 64), divisor);
    q->low = (wf_u128)low << 64 | divide_word(&rest, (uint64_t)q->low, divisor);
    q->inexact |= rest != 0;
}

/* Bit by bit below the first quotient. */
static WF_APART void divide_by_u128(struct quotient *q, wf_u128 divisor) {
    wf_u128 high = q->high / divisor, rest = q->high - high * divisor, low = 0;
    WF_ROLLED for (int i = 127; i >= 0; i--) {
        rest = rest << 1 | (q->low >> i & 1);
        bool bit = rest >= divisor;
        if (bit) rest -= divisor;
        low = low << 1 | bit;
    }
    q->high = high;
    q->low = low;
    q->inexact |= rest != 0;
}

/* The highest 256 bits of the dividend are enough: floor((h + f) / d) = floor(h / d) for integers h and d and
 * 0 <= f < 1, and the quotient has 129 bits or more. */
static struct quotient divide(const struct wf_big *big, int32_t exponent, wf_u128 divisor) {
    int top = big->count - 1, shift = leading_zeros(big), position = 32 * big->count - shift - 256;
    struct quotient q = {bits_from(big, top, shift), bits_from(big, top - 4, shift), exponent + position,
                         any_below(big, position)};
    bool is_power_of_2 = !(divisor & (divisor - 1));
    if (is_power_of_2)
        q.exponent -= 127 - wf_leading_zeros_u128(divisor);
    else if (divisor >> 64)
        divide_by_u128(&q, divisor);
    else
        divide_by_u64(&q, (uint64_t)divisor);
    return q;
}

/* Shifts the highest set bit, which is in high, to its top, or one below it where that makes the exponent even. */
static void normalise(struct quotient *q, bool even_exponent) {
    int shift = wf_leading_zeros_u128(q->high);
    if (shift) {
        q->high = q->high << shift | q->low >> (128 - shift);
        q->low <<= shift;
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

/* The first two words of the quotient have 66 bits at least, with the third they fill the mantissa. */
struct wf_number wf_quotient_u128(bool negative, wf_u128 magnitude, int32_t exponent, uint64_t divisor) {
    if (!magnitude) return wf_number_zero(negative);
    int shift = wf_leading_zeros_u128(magnitude);
    uint64_t rest = 0;
    magnitude <<= shift;
    uint64_t high = divide_word(&rest, (uint64_t)(magnitude >> 64), divisor);
    wf_u128 quotient = (wf_u128)high << 64 | divide_word(&rest, (uint64_t)magnitude, divisor);
    uint64_t next = rest ? divide_word(&rest, 0, divisor) : 0;
    int zeros = wf_leading_zeros_u128(quotient);
    quotient <<= zeros;
    if (zeros) quotient |= next >> (64 - zeros);
    struct wf_number number = {WF_NUMBER_FINITE, negative, rest || next << zeros, exponent - shift - zeros, quotient};
    return number;
}

/* Digit by digit, two bits of the radicand to one of the root. */
struct wf_number wf_big_quotient_root(const struct wf_big *big, int32_t exponent, wf_u128 divisor) {
    enum { ROOT_BITS = 72 }; /* enough for any type and the half after it */
    if (!big->count) return wf_number_zero(false);
    struct quotient q = divide(big, exponent, divisor);
    normalise(&q, true);
    wf_u128 root = 0, rest = 0;
    WF_ROLLED for (int i = 0; i < ROOT_BITS; i++) {
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
