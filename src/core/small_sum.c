#include "core/small_sum.h"
#include "core/array.h"
#include "core/few.h"

enum { FEW_BITS = 5, SUM_BITS = 127, FACTOR_BITS = 61 }; /* 2^5 squares of 61 bits have 127 */

static inline uint64_t load_bits(const unsigned char *x, size_t nbytes) {
    uint16_t half;
    uint32_t single;
    uint64_t whole;
    switch (nbytes) {
    case 1: return (uint64_t)*x << 56;
    case 2: memcpy(&half, x, sizeof half); return (uint64_t)half << 48;
    case 4: memcpy(&single, x, sizeof single); return (uint64_t)single << 32;
    default: memcpy(&whole, x, sizeof whole); return whole;
    }
}

static inline void load_all(struct wf_few *few, const unsigned char *data, size_t nbytes) {
    for (int i = 0; i < few->count; i++) few->bits[i] = load_bits(data + (size_t)i * nbytes, nbytes);
}

/* A loop for each size of element. */
static void load(struct wf_few *few, const void *data, size_t nbytes) {
    switch (nbytes) {
    case 1: load_all(few, data, 1); break;
    case 2: load_all(few, data, 2); break;
    case 4: load_all(few, data, 4); break;
    default: load_all(few, data, 8);
    }
}

/* The elements, if they lie side by side in C order and are few enough; otherwise 0. */
static int count_few(const wf_array *array, int64_t nbytes) {
    int64_t count = 1;
    int ndim = wf_array_ndim(array);
    if (ndim < 0 || ndim > WF_NDIM_MAX) return 0;
    for (int d = ndim - 1; d >= 0; d--) {
        int64_t length = wf_array_length(array, d);
        if (length <= 0 || length > WF_FEW / count) return 0;
        if (array->stride_bytes && length > 1 && array->stride_bytes[d] != count * nbytes) return 0;
        count *= length;
    }
    return (int)count;
}

bool wf_few_load(struct wf_few *few, const wf_array *array) {
    if (!wf_type_is_valid(array->type) || !array->data) return false;
    size_t nbytes = wf_type_table[array->type].nbytes;
    few->type = array->type;
    few->count = count_few(array, (int64_t)nbytes);
    if (!few->count) return false;
    load(few, array->data, nbytes);
    if (few->type == WF_BOOL)
        for (int i = 0; i < few->count; i++) few->bits[i] = (uint64_t)(few->bits[i] != 0) << 56;
    return true;
}

/* ---- floats ---- */

/* The largest exponent field, and the smallest one of elements that are not zero; that of subnormals counts as 1, whose
 * unit they have. */
static inline void find_fields(const struct wf_few *few, int exponent_bits, int *least, int *largest) {
    uint64_t low = UINT64_MAX, high = 0; /* of twice the magnitudes; less one for low, so that 0 is largest */
    for (int i = 0; i < few->count; i++) {
        uint64_t twice = few->bits[i] << 1;
        high = twice > high ? twice : high;
        low = twice - 1 < low ? twice - 1 : low;
    }
    *least = (int)((low + 1) >> (64 - exponent_bits));
    *largest = (int)(high >> (64 - exponent_bits));
    *least += !*least;
    *largest += !*largest;
}

/* An element as a signed integer, in units of its last place, and its exponent field. */
static inline int64_t significand_of(uint64_t bits, int precision, int exponent_bits, int *field) {
    uint64_t twice = bits << 1, fraction = twice << exponent_bits >> 1;
    int64_t sign = (int64_t)bits >> 63;
    *field = (int)(twice >> (64 - exponent_bits));
    int64_t significand = (int64_t)((fraction | (uint64_t)(*field != 0) << 63) >> (64 - precision));
    *field += !*field;
    return (significand ^ sign) - sign;
}

/* The sum in units of the last place of the smallest exponent field.  Inlined for each type, so that every
 * shift but one is by a constant. */
static inline bool add_up(const struct wf_few *few, int precision, int exponent_bits, wf_i128 *sum, int *unit) {
    int least, largest, field;
    find_fields(few, exponent_bits, &least, &largest);
    if (largest == (1 << exponent_bits) - 1 || largest - least + precision + FEW_BITS > SUM_BITS) return false;
    wf_u128 total = 0;
    for (int i = 0; i < few->count; i++) {
        wf_i128 significand = significand_of(few->bits[i], precision, exponent_bits, &field);
        total += (wf_u128)significand << ((field - least) & 127);
    }
    *sum = (wf_i128)total;
    *unit = least;
    return true;
}

/* The elements in units of the last place of the smallest exponent field. */
static inline bool align(const struct wf_few *few, int precision, int exponent_bits, int64_t *factor, int *unit) {
    int least, largest, field;
    find_fields(few, exponent_bits, &least, &largest);
    if (largest == (1 << exponent_bits) - 1 || largest - least + precision > FACTOR_BITS) return false;
    for (int i = 0; i < few->count; i++) {
        int64_t significand = significand_of(few->bits[i], precision, exponent_bits, &field);
        factor[i] = (int64_t)((uint64_t)significand << ((field - least) & 63));
    }
    *unit = least;
    return true;
}

#define X(NAME, name, storage, kind, precision, exponent_bits)                                               \
    NAME##_PRECISION = precision, NAME##_EXPONENT_BITS = exponent_bits,
enum { WF_TYPES(X) };
#undef X

#define X(NAME, name, storage, kind, precision, exponent_bits) + ((exponent_bits) > 0)
_Static_assert(WF_TYPES(X) == 4, "a new float type has a line in OF_FLOATS, whose last line is of all that are left");
#undef X

#define OF_FLOATS(function, few, ...)                                                      \
    ((few)->type == WF_F64    ? function(few, F64_PRECISION, F64_EXPONENT_BITS, __VA_ARGS__)   \
     : (few)->type == WF_F32  ? function(few, F32_PRECISION, F32_EXPONENT_BITS, __VA_ARGS__)   \
     : (few)->type == WF_F16  ? function(few, F16_PRECISION, F16_EXPONENT_BITS, __VA_ARGS__)   \
                              : function(few, BF16_PRECISION, BF16_EXPONENT_BITS, __VA_ARGS__))

/* ---- integers ---- */

/* An integer of any type as it was, from the top of 64 bits. */
static inline wf_i128 integer_of(const struct wf_few *few, int i, int shift, bool is_signed) {
    return is_signed ? (wf_i128)((int64_t)few->bits[i] >> shift) : (wf_i128)(few->bits[i] >> shift);
}

static void add_up_integers(const struct wf_few *few, wf_i128 *sum) {
    const struct wf_type_traits *traits = &wf_type_table[few->type];
    *sum = 0;
    for (int i = 0; i < few->count; i++)
        *sum += integer_of(few, i, 64 - 8 * traits->nbytes, traits->kind == WF_KIND_SIGNED);
}

static bool find_integers(const struct wf_few *few, int64_t *factor) {
    const struct wf_type_traits *traits = &wf_type_table[few->type];
    for (int i = 0; i < few->count; i++) {
        wf_i128 integer = integer_of(few, i, 64 - 8 * traits->nbytes, traits->kind == WF_KIND_SIGNED);
        if (integer >> FACTOR_BITS && (integer - 1) >> FACTOR_BITS != -1) return false;
        factor[i] = (int64_t)integer;
    }
    return true;
}

/* ---- sums ---- */

static int32_t exponent_of(const struct wf_few *few, int unit) {
    return wf_type_low_exponent(few->type) + unit - 1;
}

bool wf_few_sum(const struct wf_few *few, struct wf_small_sums *sums) {
    int unit = 1;
    uint64_t signs = few->bits[0];
    if (!wf_type_is_float(few->type)) add_up_integers(few, &sums->sum);
    else if (!OF_FLOATS(add_up, few, &sums->sum, &unit)) return false;
    for (int i = 1; !sums->sum && i < few->count; i++) signs &= few->bits[i];
    *sums = (struct wf_small_sums){.sum = sums->sum,
                                   .sum_exponent = exponent_of(few, unit),
                                   .is_minus_zero = signs >> 63 && wf_type_is_float(few->type),
                                   .count = few->count};
    return true;
}

bool wf_few_squares(const struct wf_few *few, struct wf_small_sums *sums) {
    int64_t factor[WF_FEW];
    int unit = 1;
    bool is_found = wf_type_is_float(few->type) ? OF_FLOATS(align, few, factor, &unit) : find_integers(few, factor);
    if (!is_found) return false;
    *sums = (struct wf_small_sums){
        .sum_exponent = exponent_of(few, unit), .squares_exponent = 2 * exponent_of(few, unit), .count = few->count};
    for (int i = 0; i < few->count; i++) {
        sums->sum += factor[i];
        sums->squares += (wf_i128)factor[i] * factor[i];
    }
    return true;
}

struct wf_number wf_small_sum_number(const struct wf_small_sums *sums) {
    wf_i128 sum = sums->sum;
    bool is_negative = sum ? sum < 0 : sums->is_minus_zero;
    return wf_number_make(is_negative, sum < 0 ? -(wf_u128)sum : (wf_u128)sum, sums->sum_exponent, false);
}

bool wf_small_sum(const wf_array *array, struct wf_number *sum) {
    struct wf_few few;
    struct wf_small_sums sums;
    if (!wf_few_load(&few, array) || !wf_type_is_float(few.type) || !wf_few_sum(&few, &sums)) return false;
    *sum = wf_small_sum_number(&sums);
    return true;
}
