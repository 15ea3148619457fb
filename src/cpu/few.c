#include "cpu/few.h"

enum { FEW = 32, FEW_BITS = 5, SUM_BITS = 127 };

static bool is_few(const wf_array *array) {
    return wf_type_is_valid(array->type) && wf_type_is_float(array->type) && array->ndim == 1 && array->data &&
           array->shape[0] > 0 && array->shape[0] <= FEW &&
           array->stride_bytes[0] == wf_type_table[array->type].nbytes;
}

/* The bits of elements from the top: all types have the sign, then the exponent's field, in one place. */
struct few {
    uint64_t bits[FEW];
    int count;
};

#define LOAD(storage)                                                                                          \
    for (int i = 0; i < few->count; i++) {                                                                     \
        storage element;                                                                                       \
        memcpy(&element, (const char *)data + (size_t)i * sizeof element, sizeof element);                     \
        few->bits[i] = (uint64_t)element << (64 - 8 * sizeof element);                                         \
    }

static void load(struct few *few, const void *data, int nbytes) {
    if (nbytes == 2) {
        LOAD(uint16_t)
    } else if (nbytes == 4) {
        LOAD(uint32_t)
    } else {
        LOAD(uint64_t)
    }
}

/* The largest field, and the least of those that are not 0, which is 0 where there are none. */
static inline void find_fields(const struct few *few, int exponent_bits, int *least, int *largest) {
    uint64_t low = UINT64_MAX, high = 0; /* of twice the magnitudes; less one, so that 0 is not the least */
    for (int i = 0; i < few->count; i++) {
        uint64_t twice = few->bits[i] << 1;
        high = twice > high ? twice : high;
        low = twice - 1 < low ? twice - 1 : low;
    }
    *least = (int)((low + 1) >> (64 - exponent_bits));
    *largest = (int)(high >> (64 - exponent_bits));
}

/* In units of the least field's.  Inlined, so that every shift but one is by a constant. */
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

#define X(NAME, name, storage, kind, precision, exponent_bits)                                                 \
    NAME##_PRECISION = precision, NAME##_EXPONENT_BITS = exponent_bits,
enum { WF_TYPES(X) };
#undef X

static bool add_up_type(const struct few *few, wf_type type, wf_i128 *sum, int *unit) {
#define X(NAME)                                                                                                \
    if (type == WF_##NAME) return add_up(few, NAME##_PRECISION, NAME##_EXPONENT_BITS, sum, unit);
    X(F64) X(F32) X(F16) X(BF16)
#undef X
    return false;
}

bool wf_few_sum(const wf_array *array, struct wf_number *sum) {
    struct few few;
    wf_i128 total;
    int unit;
    if (!is_few(array)) return false;
    few.count = (int)array->shape[0];
    load(&few, array->data, wf_type_table[array->type].nbytes);
    if (!add_up_type(&few, array->type, &total, &unit)) return false;
    wf_u128 magnitude = total < 0 ? -(wf_u128)total : (wf_u128)total;
    *sum = wf_number_make(total < 0, magnitude, wf_type_low_exponent(array->type) + unit - 1, false);
    return true;
}
