/* The names of types and ops. */
#include "core/ops.h"
#include "core/types.h"

#include <string.h>

/* Tables are in the order of the lists, which is that of the numbers. */
enum {
    PLACE_OF_NO_TYPE,
#define X(NAME, name, storage, kind, precision, exponent_bits) PLACE_OF_##NAME,
    WF_TYPES(X)
#undef X
    PLACE_OF_NO_OP = 0,
#define X(NAME, name, parts, result, finish) PLACE_OF_##NAME,
    WF_OPS(X)
#undef X
};

#define X(NAME, name, storage, kind, precision, exponent_bits)                                                 \
    _Static_assert((int)WF_##NAME == (int)PLACE_OF_##NAME, "WF_TYPES is not in the order of wf_type");
WF_TYPES(X)
#undef X
#define X(NAME, name, parts, result, finish)                                                                   \
    _Static_assert((int)WF_##NAME == (int)PLACE_OF_##NAME, "WF_OPS is not in the order of wf_op");
WF_OPS(X)
#undef X

static const char *const type_names[WF_TYPE_COUNT] = {
#define X(NAME, name, storage, kind, precision, exponent_bits) [WF_##NAME] = #name,
    WF_TYPES(X)
#undef X
};

static const char *const op_names[WF_OP_COUNT] = {
#define X(NAME, name, parts, result, finish) [WF_##NAME] = #name,
    WF_OPS(X)
#undef X
};

const char *wf_type_name(wf_type type) {
    return (unsigned)type < WF_TYPE_COUNT ? type_names[type] : NULL;
}

wf_type wf_type_parse(const char *name) {
    for (int type = 1; name && type < WF_TYPE_COUNT; type++)
        if (!strcmp(name, type_names[type])) return (wf_type)type;
    return WF_TYPE_DEFAULT;
}

const char *wf_op_name(wf_op op) {
    return (unsigned)op < WF_OP_COUNT ? op_names[op] : NULL;
}

wf_op wf_op_parse(const char *name) {
    for (int op = 1; name && op < WF_OP_COUNT; op++)
        if (!strcmp(name, op_names[op])) return (wf_op)op;
    return WF_OP_NONE;
}
