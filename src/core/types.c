#include "core/types.h"

#include <string.h>

const struct wf_type_traits wf_type_table[WF_TYPE_COUNT] = {
#define X(NAME, name, storage, kind, precision, exponent_bits)                                                 \
    [WF_##NAME] = {#name, sizeof(storage), WF_KIND_##kind, precision, exponent_bits},
    WF_TYPES(X)
#undef X
};

bool wf_type_is_valid(wf_type type) {
    return (unsigned)type < WF_TYPE_COUNT && wf_type_table[type].kind != WF_KIND_NONE;
}

const char *wf_type_name(wf_type type) {
    return wf_type_is_valid(type) ? wf_type_table[type].name : NULL;
}

size_t wf_type_nbytes(wf_type type) {
    return wf_type_is_valid(type) ? wf_type_table[type].nbytes : 0;
}

wf_type wf_type_parse(const char *name) {
    for (int type = 1; name && type < WF_TYPE_COUNT; type++)
        if (!strcmp(name, wf_type_table[type].name)) return (wf_type)type;
    return WF_TYPE_DEFAULT;
}
