#include "core/environment.h"
#include "core/few.h"
#include "core/ops.h"
#include "core/product.h"
#include "core/small_sum.h"

/* ---- order ---- */

static inline uint64_t infinity_of(wf_type type) {
    return ((UINT64_C(1) << wf_type_table[type].exponent_bits) - 1) << (63 - wf_type_table[type].exponent_bits);
}

static bool has_nan(const struct wf_few *few) {
    uint64_t largest = 0;
    if (!wf_type_is_float(few->type)) return false;
    for (int i = 0; i < few->count; i++) {
        uint64_t twice = few->bits[i] << 1;
        largest = twice > largest ? twice : largest;
    }
    return largest > infinity_of(few->type) << 1;
}

/* What bits are flipped of elements whose top bit is set, and of others, so that they order as unsigned integers. */
static void find_flips(wf_type type, uint64_t *flip_set, uint64_t *flip_clear) {
    const uint64_t top = UINT64_C(1) << 63;
    *flip_clear = wf_type_table[type].kind == WF_KIND_UNSIGNED ? 0 : top;
    *flip_set = wf_type_is_float(type) ? UINT64_MAX : *flip_clear;
}

/* The position of the first smallest or largest element. */
static int first_extremum(const struct wf_few *few, bool is_largest) {
    uint64_t flip_set, flip_clear, least = UINT64_MAX;
    int position = 0;
    find_flips(few->type, &flip_set, &flip_clear);
    if (is_largest) {
        flip_set = ~flip_set;
        flip_clear = ~flip_clear;
    }
    for (int i = 0; i < few->count; i++) {
        uint64_t bits = few->bits[i], key = bits ^ (bits >> 63 ? flip_set : flip_clear);
        position = key < least ? i : position;
        least = key < least ? key : least;
    }
    return position;
}

static struct wf_number element(const struct wf_few *few, int position) {
    return wf_number_of_bits(few->type, few->bits[position] >> (64 - 8 * wf_type_table[few->type].nbytes));
}

/* ---- counts ---- */

static uint64_t count_nonzero(const struct wf_few *few) {
    int dropped = wf_type_is_float(few->type); /* the sign of a zero */
    uint64_t count = 0;
    for (int i = 0; i < few->count; i++) count += few->bits[i] << dropped != 0;
    return count;
}

/* ---- products ---- */

static bool multiply_integers(const struct wf_few *few, struct wf_number *product) {
    uint64_t magnitude = 1;
    bool is_negative = false;
    for (int i = 0; i < few->count; i++) {
        int shift = 64 - 8 * wf_type_table[few->type].nbytes;
        bool below_zero = wf_type_table[few->type].kind == WF_KIND_SIGNED && few->bits[i] >> 63;
        uint64_t factor = (below_zero ? -few->bits[i] : few->bits[i]) >> shift;
        if (__builtin_mul_overflow(magnitude, factor, &magnitude)) return false;
        is_negative ^= below_zero;
    }
    *product = wf_number_make(is_negative && magnitude, magnitude, 0, false);
    return true;
}

/* The factor of a normal number. */
static struct wf_factor factor_of(uint64_t bits, int exponent_bits, int bias) {
    uint64_t fraction = bits << 1 << exponent_bits >> 12, significand = UINT64_C(1023) << 52 | fraction;
    struct wf_factor factor = {0, 0, (int64_t)(bits << 1 >> (64 - exponent_bits)) - bias};
    memcpy(&factor.hi, &significand, sizeof factor.hi);
    return factor;
}

/* By the tree of core/product.h, level by level; not of subnormals, infinities and NaNs. */
static __attribute__((noinline)) bool multiply_floats(const struct wf_few *few, struct wf_number *product) {
    struct wf_factor node[WF_FEW];
    int exponent_bits = wf_type_table[few->type].exponent_bits;
    uint64_t sign = 0;
    bool has_zero = false;
    for (int i = 0; i < few->count; i++) {
        uint64_t field = few->bits[i] << 1 >> (64 - exponent_bits);
        bool is_zero = few->bits[i] << 1 == 0;
        if ((!field && !is_zero) || field == (UINT64_C(1) << exponent_bits) - 1) return false;
        node[i] = factor_of(few->bits[i], exponent_bits, wf_type_bias(few->type));
        sign ^= few->bits[i];
        has_zero |= is_zero;
    }
    if (has_zero) {
        *product = wf_number_zero(sign >> 63);
        return true;
    }
    for (int count = few->count; count > 1; count = (count + 1) / 2) {
        for (int i = 0; i < count / 2; i++) node[i] = wf_factor_multiply(node[2 * i], node[2 * i + 1]);
        if (count % 2) node[count / 2] = node[count - 1];
    }
    *product = wf_factor_number(node[0], sign >> 63);
    return true;
}

static bool multiply(const struct wf_few *few, wf_type result_type, struct wf_number *product) {
    bool as_float = wf_type_is_float(result_type);
    if (!wf_type_is_float(few->type)) return !as_float && multiply_integers(few, product);
    wf_environment callers = wf_environment_enter();
    bool is_found = multiply_floats(few, product);
    wf_environment_leave(callers);
    return is_found;
}

/* ---- sums ---- */

static bool add_up(const struct wf_few *few, struct wf_number *sum) {
    struct wf_small_sums sums;
    if (!wf_few_sum(few, &sums)) return false;
    *sum = wf_small_sum_number(&sums);
    return true;
}

static bool find_mean(const struct wf_few *few, struct wf_number *mean) {
    struct wf_small_sums sums;
    return wf_few_sum(few, &sums) && wf_small_finish(WF_MEAN, &sums, 0, mean);
}

static bool finish_squares(const struct wf_few *few, wf_op op, int64_t ddof, struct wf_number *number) {
    struct wf_small_sums sums;
    if (!wf_few_squares(few, &sums)) return false;
    wf_environment callers = wf_environment_enter(); /* roots begin with one of an f64 */
    bool is_found = wf_small_finish(op, &sums, ddof, number);
    wf_environment_leave(callers);
    return is_found;
}

/* The same elements without their signs; of floats alone. */
static bool drop_signs(struct wf_few *few) {
    for (int i = 0; i < few->count; i++) few->bits[i] &= INT64_MAX;
    return wf_type_is_float(few->type);
}

/* ---- values ---- */

static bool find_number(struct wf_few *few, const wf_reduction *reduction, wf_type type, struct wf_number *number) {
    bool is_largest = reduction->op == WF_MAX || reduction->op == WF_ARGMAX;
    switch (reduction->op) {
    case WF_SUM: return add_up(few, number);
    case WF_MEAN: return find_mean(few, number);
    case WF_VAR:
    case WF_STD:
    case WF_NORM2: return finish_squares(few, reduction->op, reduction->ddof, number);
    case WF_PROD: return multiply(few, type, number);
    case WF_NORM1: return drop_signs(few) && add_up(few, number);
    case WF_NORMINF: return drop_signs(few) && !has_nan(few) && (*number = element(few, first_extremum(few, true)), true);
    default: break;
    }
    if (has_nan(few)) return false;
    switch (reduction->op) {
    case WF_MIN:
    case WF_MAX: return *number = element(few, first_extremum(few, is_largest)), true;
    case WF_ARGMIN:
    case WF_ARGMAX: return *number = wf_number_of_u64((uint64_t)first_extremum(few, is_largest)), true;
    case WF_ANY: return *number = wf_number_of_u64(count_nonzero(few) != 0), true;
    case WF_ALL: return *number = wf_number_of_u64(count_nonzero(few) == (uint64_t)few->count), true;
    case WF_NONZERO: return *number = wf_number_of_u64(count_nonzero(few)), true;
    default: return false;
    }
}

bool wf_small_value(const wf_reduction *reduction, const wf_array *array, wf_value *value) {
    struct wf_few few;
    struct wf_number number;
    if (reduction->first_index || !wf_few_load(&few, array)) return false;
    wf_type type = reduction->result_type ? reduction->result_type : wf_op_result_type(reduction->op, few.type);
    return find_number(&few, reduction, type, &number) && wf_number_round(&number, type, value);
}
