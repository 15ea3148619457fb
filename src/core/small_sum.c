#include "core/small_sum.h"
#include "core/array.h"

enum { FEW = 32, FEW_BITS = 5, SUM_BITS = 127 };

static bool is_few(const wf_array *array) {
    return wf_type_is_valid(array->type) && wf_type_is_float(array->type) && array->data &&
           wf_array_is_packed_vector(array, wf_type_table[array->type].nbytes) && wf_array_length(array, 0) > 0 &&
           wf_array_length(array, 0) <= FEW;
}

/* The bits of the elements, moved up to the top of 64 bits, where all types have the sign and then the
 * exponent field. */
struct few {
    uint64_t bits[FEW];
    int count;
};

static inline uint64_t load_bits(const unsigned char *x, size_t nbytes) {
    uint16_t half;
    uint32_t single;
    uint64_t whole;
    switch (nbytes) {
    case 2: memcpy(&half, x, sizeof half); return (uint64_t)half << 48;
    case 4: memcpy(&single, x, sizeof single); return (uint64_t)single << 32;
    default: memcpy(&whole, x, sizeof whole); return whole;
    }
}

static inline void load_all(struct few *few, const unsigned char *data, size_t nbytes) {
    for (int i = 0; i < few->count; i++) few->bits[i] = load_bits(data + (size_t)i * nbytes, nbytes);
}

/* A loop for each size of element. */
static void load(struct few *few, const void *data, size_t nbytes) {
    switch (nbytes) {
    case 2: load_all(few, data, 2); break;
    case 4: load_all(few, data, 4); break;
    default: load_all(few, data, 8);
    }
}

/* The largest exponent field, and the smallest one of elements that are not zero; 0 if there is none. */
static inline void find_fields(const struct few *few, int exponent_bits, int *least, int *largest) {
    uint64_t low = UINT64_MAX, high = 0; /* of twice the magnitudes; less one for low, so that 0 is largest */
    for (int i = 0; i < few->count; i++) {
        uint64_t twice = few->bits[i] << 1;
        high = twice > high ? twice : high;
        low = twice - 1 < low ? twice - 1 : low;
    }
    *least = (int)((low + 1) >> (64 - exponent_bits));
    *largest = (int)(high >> (64 - exponent_bits));
}

/* The sum in units of the last place of the smallest exponent field.  Inlined for each type, so that every
 * shift but one is by a constant. */
static inline bool add_up(const struct few *few, int precision, int exponent_bits, wf_i128 *sum, int *unit) {
    int least, largest;
    find_fields(few, exponent_bits, &least, &largest);
    if (least == 0 || largest == (1 << exponent_bits) - 1) return false;
    if (largest - least + precision + FEW_BITS > SUM_BITS) return false;
    wf_u128 total = 0;
    for (int i = 0; i < few->count; i++) {
        uint64_t twice = few->bits[i] << 1, fraction = twice << exponent_bits >> 1;
        int field = (int)(twice >> (64 - exponent_bits));
        int64_t significand = field ? (int64_t)((fraction | UINT64_C(1) << 63) >> (64 - precision)) : 0;
        int64_t sign = (int64_t)few->bits[i] >> 63;
        total += (wf_u128)(wf_i128)((significand ^ sign) - sign) << ((field - least) & 127);
    }
    *sum = (wf_i128)total;
    *unit = least;
    return true;
}

#define X(NAME, name, storage, kind, precision, exponent_bits)                                               \
    NAME##_PRECISION = precision, NAME##_EXPONENT_BITS = exponent_bits,
enum { WF_TYPES(X) };
#undef X

static bool add_up_type(const struct few *few, wf_type type, wf_i128 *sum, int *unit) {
    switch (type) {
    case WF_F64: return add_up(few, F64_PRECISION, F64_EXPONENT_BITS, sum, unit);
    case WF_F32: return add_up(few, F32_PRECISION, F32_EXPONENT_BITS, sum, unit);
    case WF_F16: return add_up(few, F16_PRECISION, F16_EXPONENT_BITS, sum, unit);
    case WF_BF16: return add_up(few, BF16_PRECISION, BF16_EXPONENT_BITS, sum, unit);
    default: return false;
    }
}

bool wf_small_sum(const wf_array *array, struct wf_number *sum) {
    struct few few;
    wf_i128 total;
    int unit;
    if (!is_few(array)) return false;
    few.count = (int)wf_array_length(array, 0);
    load(&few, array->data, wf_type_table[array->type].nbytes);
    if (!add_up_type(&few, array->type, &total, &unit)) return false;
    wf_u128 magnitude = total < 0 ? -(wf_u128)total : (wf_u128)total;
    *sum = wf_number_make(total < 0, magnitude, wf_type_low_exponent(array->type) + unit - 1, false);
    return true;
}
