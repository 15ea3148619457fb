#include "core/types.h"

/* In the order of wf_type, as WF_TYPES is. */
const struct wf_type_traits wf_type_table[WF_TYPE_COUNT] = {
    {0, WF_KIND_NONE, 0, 0},
#define X(NAME, name, storage, kind, precision, exponent_bits)                                                 \
    {sizeof(storage), WF_KIND_##kind, precision, exponent_bits},
    WF_TYPES(X)
#undef X
};

size_t wf_type_nbytes(wf_type type) {
    return wf_type_is_valid(type) ? wf_type_table[type].nbytes : 0;
}
