/* What holds of every accumulator, whatever was added and merged: each REQUIRE states one such thing, and
 * what it says where that is not so.  Necessary, not sufficient: what would need a search for elements (is
 * this the sum of two f32?) is not asked.
 *
 * Sums are of the finite elements, in units of the lowest bit of the type, squares and products in units of
 * its square: so all are integers here. */
#include "core/possible.h"

#define REQUIRE(condition, flaw)                                                                             \
    if (!(condition)) return flaw

#define SUMS (WF_PART_SUM | WF_PART_ABS | WF_PART_SQUARES | WF_PART_DOT)
#define INFINITIES (WF_SPECIAL_POSITIVE_INFINITY | WF_SPECIAL_NEGATIVE_INFINITY)

/* The elements that are no NaN. */
static int64_t element_count(const struct wf_accumulator *acc) {
    return acc->count - (int64_t)acc->partial.nan_count;
}

/* The largest number of finite elements. */
static int64_t finite_count(const struct wf_accumulator *acc) {
    uint64_t special = acc->partial.special_seen & (INFINITIES | WF_SPECIAL_INVALID);
    int64_t count = element_count(acc);
    for (; special; special &= special - 1) count--;
    return count;
}

static struct wf_exact sum_of(const struct wf_accumulator *acc) {
    return wf_partial_sum(&acc->partial, acc->type);
}

static struct wf_exact abs_of(const struct wf_accumulator *acc) {
    return wf_partial_abs(&acc->partial, acc->type);
}

static struct wf_exact products_of(const struct wf_accumulator *acc) {
    return wf_partial_product_sum(&acc->partial, acc->type);
}

static bool is_signed(wf_type type) {
    return wf_type_table[type].kind != WF_KIND_UNSIGNED;
}

/* ---- flags and counts ------------------------------------------------------------------------------ */

WF_HOT static const char *flaw_of_flags(const struct wf_accumulator *acc) {
    unsigned special_seen = (unsigned)acc->partial.special_seen, parts = acc->parts;
    REQUIRE(!special_seen || parts & SUMS, "infinities where nothing is summed");
    REQUIRE(!(special_seen & WF_SPECIAL_INVALID) || parts & WF_PART_DOT,
            "infinity times 0 where nothing is multiplied");
    REQUIRE(!(special_seen & WF_SPECIAL_NOT_ALL_NEGATIVE_ZERO) || parts & (WF_PART_SUM | WF_PART_DOT),
            "a sign of zero where none is kept");
    REQUIRE(finite_count(acc) >= 0, "more infinities than elements");
    REQUIRE(!(special_seen & WF_SPECIAL_NOT_ALL_NEGATIVE_ZERO) || element_count(acc), "a sign of zero of no elements");
    REQUIRE(!(parts & (WF_PART_SUM | WF_PART_DOT)) || !(special_seen & INFINITIES) ||
                special_seen & WF_SPECIAL_NOT_ALL_NEGATIVE_ZERO,
            "an infinity that is a zero");
    return NULL;
}

static const char *flaw_of_indices(const struct wf_accumulator *acc) {
    bool is_one = acc->count == 1 && wf_accumulator_is_indexed(acc);
    REQUIRE(!is_one || acc->end_index - acc->first_index == 1, "one element with two indices");
    return NULL;
}

static const char *flaw_of_counts(const struct wf_accumulator *acc) {
    REQUIRE(acc->partial.nonzero >= acc->partial.nan_count, "fewer elements that are not 0 than NaNs");
    REQUIRE(acc->partial.nonzero <= (uint64_t)acc->count, "more elements that are not 0 than elements");
    return NULL;
}

/* ---- sums ------------------------------------------------------------------------------------------ */

/* The largest magnitude of a finite element, in units. */
static void largest_magnitude(wf_type type, bool negative, struct wf_big *largest) {
    int precision = wf_type_table[type].precision;
    int zeros = wf_type_high_exponent(type) - wf_type_low_exponent(type) - precision;
    bool is_power_of_2 = negative && wf_type_table[type].kind == WF_KIND_SIGNED;
    uint64_t mantissa = is_power_of_2 ? UINT64_C(1) << precision : UINT64_MAX >> (64 - precision);
    memset(largest, 0, sizeof *largest);
    for (; zeros >= 32; zeros -= 32) largest->count++;
    largest->lowest = largest->count;
    largest->limb[largest->count++] = (uint32_t)mantissa;
    largest->limb[largest->count++] = (uint32_t)(mantissa >> 32);
    while (!largest->limb[largest->count - 1]) largest->count--;
    wf_big_multiply_u64(largest, UINT64_C(1) << zeros);
}

static bool is_zero(struct wf_exact x) {
    return wf_digits_are_zero(x.digit, x.digit_count);
}

static bool is_negative(struct wf_exact x) {
    return x.digit[x.digit_count - 1] < 0;
}

/* |x| <= count. */
static bool is_at_most(struct wf_exact x, int64_t count) {
    struct wf_total total;
    struct wf_big bound = {.count = 1, .limb = {1}};
    wf_total_of_exact(&total, x);
    wf_big_multiply_u64(&bound, (uint64_t)count);
    return wf_big_compare(&total.magnitude, &bound) <= 0;
}

/* An upper bound for the bits: those of all digits except the highest ones, which contain only the sign. */
static int bit_count_at_most(struct wf_exact x) {
    const int64_t sign = is_negative(x) ? UINT32_MAX : 0;
    int count = x.digit_count - 1;
    while (count && x.digit[count - 1] == sign) count--;
    return 32 * (count + 1);
}

/* |x| <= count * largest, where the largest is that of elements of the sign. */
WF_HOT static bool is_within(struct wf_exact x, wf_type type, int64_t count, bool negative) {
    struct wf_total total;
    struct wf_big bound;
    if (!count) return is_zero(x);
    /* The largest has all bits of the type's range, and most sums have fewer. */
    if (bit_count_at_most(x) < wf_type_high_exponent(type) - wf_type_low_exponent(type)) return true;
    wf_total_of_exact(&total, x);
    largest_magnitude(type, negative, &bound);
    wf_big_multiply_u64(&bound, (uint64_t)count);
    return wf_big_compare(&total.magnitude, &bound) <= 0;
}

/* |x| <= count * (the largest magnitude)^2. */
static bool is_within_squares(struct wf_exact x, wf_type type, int64_t count) {
    struct wf_total total;
    struct wf_big largest, bound;
    if (!count) return is_zero(x);
    wf_total_of_exact(&total, x);
    largest_magnitude(type, true, &largest);
    wf_big_multiply(&bound, &largest, &largest);
    wf_big_multiply_u64(&bound, (uint64_t)count);
    return wf_big_compare(&total.magnitude, &bound) <= 0;
}

/* x^2 <= factor * squares; with factor 0, squares <= x^2. */
static bool are_squares_of(struct wf_exact x, struct wf_exact squares, int64_t factor) {
    struct wf_total sum, total;
    struct wf_big square;
    wf_total_of_exact(&sum, x);
    wf_total_of_exact(&total, squares);
    wf_big_multiply(&square, &sum.magnitude, &sum.magnitude);
    if (!factor) return wf_big_compare(&total.magnitude, &square) <= 0;
    wf_big_multiply_u64(&total.magnitude, (uint64_t)factor);
    return wf_big_compare(&square, &total.magnitude) <= 0;
}

/* |x| <= y, of the same unit or as integers. */
static bool is_below(struct wf_exact x, struct wf_exact y) {
    struct wf_total a, b;
    wf_total_of_exact(&a, x);
    wf_total_of_exact(&b, y);
    return wf_big_compare(&a.magnitude, &b.magnitude) <= 0;
}

/* squares <= x * (the largest magnitude), where x is the sum of magnitudes. */
static bool are_squares_within(struct wf_exact squares, struct wf_exact x, wf_type type) {
    struct wf_total sum, total;
    struct wf_big largest, bound;
    wf_total_of_exact(&sum, x);
    wf_total_of_exact(&total, squares);
    largest_magnitude(type, true, &largest);
    wf_big_multiply(&bound, &sum.magnitude, &largest);
    return wf_big_compare(&total.magnitude, &bound) <= 0;
}

/* An integer is odd where its square is. */
static bool are_both_odd_or_even(struct wf_exact x, struct wf_exact y) {
    return !((x.digit[0] ^ y.digit[0]) & 1);
}

WF_HOT static const char *flaw_of_sum(const struct wf_accumulator *acc) {
    bool negative = is_negative(sum_of(acc));
    REQUIRE(!negative || is_signed(acc->type), "a negative sum of unsigned elements");
    REQUIRE(is_within(sum_of(acc), acc->type, finite_count(acc), negative),
            "a sum beyond its elements' range");
    REQUIRE(acc->partial.special_seen & WF_SPECIAL_NOT_ALL_NEGATIVE_ZERO || !wf_type_is_float(acc->type) ||
                is_zero(sum_of(acc)),
            "a sum of zeros that is not 0");
    return NULL;
}

static const char *flaw_of_abs(const struct wf_accumulator *acc) {
    REQUIRE(is_within(abs_of(acc), acc->type, finite_count(acc), true),
            "a sum of magnitudes beyond their range");
    return NULL;
}

static const char *flaw_of_squares(const struct wf_accumulator *acc) {
    REQUIRE(is_within_squares(products_of(acc), acc->type, finite_count(acc)),
            "a sum of squares beyond their range");
    return NULL;
}

static const char *flaw_of_dot(const struct wf_accumulator *acc) {
    REQUIRE(!is_negative(products_of(acc)) || is_signed(acc->type),
            "a negative dot product of unsigned elements");
    REQUIRE(is_within_squares(products_of(acc), acc->type, finite_count(acc)),
            "a dot product beyond its elements' range");
    REQUIRE(is_zero(products_of(acc)) || !wf_type_is_float(acc->type) ||
                acc->partial.special_seen & WF_SPECIAL_NOT_ALL_NEGATIVE_ZERO,
            "a dot product of zeros that is not 0");
    return NULL;
}

/* S1^2 <= n*S2 (Cauchy and Schwarz), and |S1| <= S2 as both are sums of integers. */
static const char *flaw_of_variance(const struct wf_accumulator *acc) {
    REQUIRE(is_zero(products_of(acc)) ||
                are_squares_of(sum_of(acc), products_of(acc), finite_count(acc)),
            "a negative variance");
    REQUIRE(is_below(sum_of(acc), products_of(acc)), "squares that are smaller than their elements");
    REQUIRE(are_both_odd_or_even(sum_of(acc), products_of(acc)),
            "a sum of odd elements whose squares are even");
    REQUIRE(element_count(acc) != 1 || acc->partial.special_seen & INFINITIES ||
                are_squares_of(sum_of(acc), products_of(acc), 0),
            "one element with another's square");
    REQUIRE(is_signed(acc->type) || are_squares_within(products_of(acc), sum_of(acc), acc->type),
            "squares beyond their elements' range");
    return NULL;
}

static const char *flaw_of_magnitudes(const struct wf_accumulator *acc) {
    REQUIRE(is_below(sum_of(acc), abs_of(acc)), "a sum above that of magnitudes");
    REQUIRE(are_both_odd_or_even(sum_of(acc), abs_of(acc)),
            "a sum of odd elements whose magnitudes are even");
    REQUIRE(is_zero(products_of(acc)) ||
                are_squares_of(abs_of(acc), products_of(acc), finite_count(acc)),
            "squares that are too small for their magnitudes");
    REQUIRE(are_squares_of(abs_of(acc), products_of(acc), 0),
            "squares above the square of the sum of magnitudes");
    REQUIRE(are_squares_within(products_of(acc), abs_of(acc), acc->type),
            "squares beyond their magnitudes' range");
    return NULL;
}

/* ---- extrema --------------------------------------------------------------------------------------- */

static const char *flaw_of_both_extrema(const struct wf_accumulator *acc) {
    REQUIRE(acc->partial.min_key <= acc->partial.max_key, "a minimum above the maximum");
    REQUIRE(acc->partial.min_key != acc->partial.max_key || acc->partial.min_index == acc->partial.max_index,
            "one value with two first indices");
    REQUIRE(element_count(acc) > 1 || acc->partial.min_key == acc->partial.max_key,
            "one element with two values");
    return NULL;
}

WF_HOT static const char *flaw_of_extrema(const struct wf_accumulator *acc) {
    bool has_min = acc->parts & WF_PART_MIN, has_max = acc->parts & WF_PART_MAX;
    if (element_count(acc)) return has_min && has_max ? flaw_of_both_extrema(acc) : NULL;
    REQUIRE(!has_min || (acc->partial.min_key == UINT64_MAX && acc->partial.min_index == INT64_MAX), "a minimum of no elements");
    REQUIRE(!has_max || (acc->partial.max_key == 0 && acc->partial.max_index == INT64_MAX), "a maximum of no elements");
    return NULL;
}

/* ---- all statistics: what the parts say of each other ----------------------------------------------- */

static struct wf_number number_of_key(const struct wf_accumulator *acc, uint64_t key) {
    return wf_number_of_bits(acc->type, wf_key_to_bits(acc->type, wf_order_to_key(key)));
}

static bool is_key_infinite(const struct wf_accumulator *acc, uint64_t key) {
    return number_of_key(acc, key).kind == WF_NUMBER_INFINITE;
}

static int sign_of_key(const struct wf_accumulator *acc, uint64_t key) {
    struct wf_number number = number_of_key(acc, key);
    return number.kind == WF_NUMBER_ZERO ? 0 : number.negative ? -1 : 1;
}

static const char *flaw_of_infinities(const struct wf_accumulator *acc) {
    int least = sign_of_key(acc, acc->partial.min_key), most = sign_of_key(acc, acc->partial.max_key);
    bool positive = most > 0 && is_key_infinite(acc, acc->partial.max_key);
    bool negative = least < 0 && is_key_infinite(acc, acc->partial.min_key);
    REQUIRE(positive == ((acc->partial.special_seen & WF_SPECIAL_POSITIVE_INFINITY) != 0),
            "an infinity that is not the maximum");
    REQUIRE(negative == ((acc->partial.special_seen & WF_SPECIAL_NEGATIVE_INFINITY) != 0),
            "an infinity that is not the minimum");
    REQUIRE(least >= 0 || most > 0 || acc->partial.special_seen & INFINITIES || !is_zero(sum_of(acc)),
            "negative elements with no sum");
    return NULL;
}

static const char *flaw_of_signs(const struct wf_accumulator *acc) {
    int least = sign_of_key(acc, acc->partial.min_key), most = sign_of_key(acc, acc->partial.max_key);
    int64_t nonzero = (int64_t)(acc->partial.nonzero - acc->partial.nan_count);
    REQUIRE(nonzero >= (least != 0 || most != 0) + (least < 0 && most > 0),
            "too few elements that are not 0");
    REQUIRE(nonzero <= 0 || least != 0 || most != 0, "elements that are not 0 between two zeros");
    REQUIRE((least <= 0 && most >= 0) || nonzero == element_count(acc), "zeros outside the extrema");
    REQUIRE(least < 0 || is_zero(sum_of(acc)) || !is_negative(sum_of(acc)),
            "a negative sum of positive elements");
    REQUIRE(most > 0 || is_zero(sum_of(acc)) || is_negative(sum_of(acc)),
            "a positive sum of negative elements");
    REQUIRE(least != 0 || most != 0 || is_zero(abs_of(acc)), "a sum of zeros that is not 0");
    return NULL;
}

/* Every finite element that is not 0 is one unit or more. */
static const char *flaw_of_stats(const struct wf_accumulator *acc) {
    if (!element_count(acc)) return NULL;
    REQUIRE(acc->partial.nonzero > acc->partial.nan_count || is_zero(abs_of(acc)),
            "a sum of zeros that is not 0");
    REQUIRE(acc->partial.special_seen & INFINITIES || acc->partial.nonzero == acc->partial.nan_count ||
                !is_at_most(abs_of(acc), (int64_t)(acc->partial.nonzero - acc->partial.nan_count) - 1),
            "a sum of magnitudes below that of its elements");
    const char *flaw = flaw_of_infinities(acc);
    return flaw ? flaw : flaw_of_signs(acc);
}

/* ---- bits and products ------------------------------------------------------------------------------ */

static const char *flaw_of_bits(const struct wf_accumulator *acc) {
    uint64_t and = acc->partial.bits_and, or = acc->partial.bits_or, xor = acc->partial.bits_xor;
    int width = acc->type == WF_BOOL ? 1 : 8 * wf_type_table[acc->type].nbytes;
    if (!acc->count) {
        REQUIRE(and == UINT64_MAX && ! or &&!xor, "bits of no elements");
        return NULL;
    }
    REQUIRE(or <= UINT64_MAX >> (64 - width), "bits beyond those of the type");
    REQUIRE(!(and&~ or) && !(xor&~ or), "bits that no element has");
    REQUIRE((xor&and) == (acc->count & 1 ? and : 0), "bits of all elements, and their number, at odds");
    REQUIRE(acc->count > 1 || or == and, "one element with two values");
    REQUIRE(acc->count != 2 || xor == (or &~and), "bits that only a third element can have");
    return NULL;
}

static bool is_one(const struct wf_factor *factor) {
    return factor->hi == 1 && factor->lo == 0 && factor->exponent == 0;
}

/* A leaf is an element's magnitude; above, the range of 2^level of them. */
static const char *flaw_of_node(const struct wf_accumulator *acc, const struct wf_factor *node, int level) {
    wf_i128 least = wf_type_low_exponent(acc->type), most = wf_type_high_exponent(acc->type);
    wf_i128 count = (wf_i128)1 << level;
    REQUIRE(node->exponent >= least * count && node->exponent <= most * count,
            "a product beyond its elements' range");
    REQUIRE(level > 0 || wf_type_table[acc->type].precision > 53 || node->lo == 0,
            "an element that its type has not");
    REQUIRE(element_count(acc) || is_one(node), "a product of no elements");
    REQUIRE(acc->type != WF_BOOL || is_one(node), "a product of truths that is not 1");
    return NULL;
}

static bool has_flag(const struct wf_accumulator *acc, enum wf_product_flag flag) {
    return (acc->partial.product_flags & flag) != 0;
}

static const char *flaw_of_tree(const struct wf_accumulator *acc) {
    const struct wf_tree *tree = acc->tree;
    bool has_zero = has_flag(acc, WF_PRODUCT_ZERO), has_infinity = has_flag(acc, WF_PRODUCT_INFINITY);
    const char *flaw = NULL;
    for (int i = 0; i < tree->node_count && !flaw; i++) flaw = flaw_of_node(acc, &tree->node[i], tree->level[i]);
    REQUIRE(!has_infinity || wf_type_is_float(acc->type), "an infinite integer");
    REQUIRE(has_zero + has_infinity <= element_count(acc), "more zeros and infinities than elements");
    return flaw;
}

/* The largest product of that many elements. */
static uint64_t largest_product(wf_type type, int64_t count, bool *overflow) {
    uint64_t element = is_signed(type) ? UINT64_C(1) << wf_type_table[type].precision
                                       : UINT64_MAX >> (64 - wf_type_table[type].precision);
    struct wf_partial largest;
    wf_partial_clear(&largest, type, WF_PART_PRODUCT);
    for (int64_t i = 0; i < count && i < 64; i++) wf_partial_multiply(&largest, element);
    *overflow = largest.product_flags & WF_PRODUCT_OVERFLOW;
    return largest.product_magnitude;
}

static const char *flaw_of_word(const struct wf_accumulator *acc) {
    bool may_overflow;
    int64_t factors = acc->count - has_flag(acc, WF_PRODUCT_ZERO);
    REQUIRE(factors >= 0, "more zeros than elements");
    uint64_t largest = largest_product(acc->type, factors, &may_overflow);
    REQUIRE(has_flag(acc, WF_PRODUCT_OVERFLOW) ? may_overflow : acc->partial.product_magnitude <= largest,
            "a product beyond its elements' range");
    return NULL;
}

static const char *flaw_of_product(const struct wf_accumulator *acc) {
    bool negative = has_flag(acc, WF_PRODUCT_NEGATIVE);
    bool needs_zero = has_flag(acc, WF_PRODUCT_ZERO) && !wf_type_is_float(acc->type);
    REQUIRE(!negative || is_signed(acc->type), "a negative product of unsigned elements");
    REQUIRE(!negative || element_count(acc) > needs_zero, "a negative product of no elements");
    return acc->tree ? flaw_of_tree(acc) : flaw_of_word(acc);
}

/* ---- all of it -------------------------------------------------------------------------------------- */

const char *wf_accumulator_flaw(const struct wf_accumulator *acc) {
    const char *flaw = flaw_of_indices(acc);
    return flaw ? flaw : wf_result_flaw(acc);
}

WF_HOT const char *wf_result_flaw(const struct wf_accumulator *acc) {
    static const struct {
        unsigned parts; /* all that it looks at */
        const char *(*find)(const struct wf_accumulator *acc);
    } flaws[] = {
        {0, flaw_of_flags},
        {WF_PART_NONZERO, flaw_of_counts},
        {0, flaw_of_extrema},
        {WF_PART_SUM, flaw_of_sum},
        {WF_PART_ABS, flaw_of_abs},
        {WF_PART_SQUARES, flaw_of_squares},
        {WF_PART_DOT, flaw_of_dot},
        {WF_PART_SUM | WF_PART_SQUARES, flaw_of_variance},
        {WF_PART_SUM | WF_PART_ABS | WF_PART_SQUARES, flaw_of_magnitudes},
        {WF_PARTS_STATS, flaw_of_stats},
        {WF_PART_BITS, flaw_of_bits},
        {WF_PART_PRODUCT, flaw_of_product},
    };
    const char *flaw = NULL;
    for (size_t i = 0; i < sizeof flaws / sizeof flaws[0] && !flaw; i++)
        if ((acc->parts & flaws[i].parts) == flaws[i].parts) flaw = flaws[i].find(acc);
    return flaw;
}

bool wf_key_is_possible(wf_type type, int64_t key) {
    uint64_t bits = wf_key_to_bits(type, key);
    return wf_bits_to_key(type, bits) == key && (type != WF_BOOL || bits <= 1) &&
           wf_number_of_bits(type, bits).kind != WF_NUMBER_NAN;
}
