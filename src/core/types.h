/* Properties derived from the list of element types. */
#ifndef WF_CORE_TYPES_H
#define WF_CORE_TYPES_H

#include "core/portable.h"
#include "core/type_list.h"
#include "warpfold.h"

enum wf_kind { WF_KIND_NONE, WF_KIND_UNSIGNED, WF_KIND_SIGNED, WF_KIND_FLOAT };

/* With WF_TYPE_DEFAULT. */
#define WF_ONE_TYPE(NAME, name, storage, kind, precision, exponent_bits) +1
#define WF_TYPE_COUNT (1 WF_TYPES(WF_ONE_TYPE))

struct wf_type_traits {
    uint8_t nbytes;
    uint8_t kind; /* enum wf_kind */
    uint8_t precision;
    uint8_t exponent_bits;
};

/* Indexed by wf_type; entry WF_TYPE_DEFAULT has kind WF_KIND_NONE. */
extern const struct wf_type_traits wf_type_table[WF_TYPE_COUNT];

static inline bool wf_type_is_valid(wf_type type) {
    return (unsigned)type < WF_TYPE_COUNT && wf_type_table[type].kind != WF_KIND_NONE;
}

static inline bool wf_type_is_float(wf_type type) {
    return wf_type_table[type].kind == WF_KIND_FLOAT;
}

/* The exponent bias of a float type, which is also the exponent of its largest binade. */
static inline int wf_type_bias(wf_type type) {
    return (1 << (wf_type_table[type].exponent_bits - 1)) - 1;
}

/* Every finite value is a multiple of 2^low ... */
static inline int wf_type_low_exponent(wf_type type) {
    return wf_type_is_float(type) ? 2 - wf_type_bias(type) - wf_type_table[type].precision : 0;
}

/* ... and at most 2^high in magnitude. */
static inline int wf_type_high_exponent(wf_type type) {
    return wf_type_is_float(type) ? wf_type_bias(type) + 1 : wf_type_table[type].precision;
}

#endif
