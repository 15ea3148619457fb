#include "core/ops.h"
#include "core/types.h"

/* In the order of wf_op, as WF_OPS is. */
static const struct {
    unsigned parts;
    enum wf_result result;
} op_table[WF_OP_COUNT] = {
    {0, WF_RESULT_NONE},
#define X(NAME, name, parts, result, finish) {parts, WF_RESULT_##result},
    WF_OPS(X)
#undef X
};

unsigned wf_op_parts(wf_op op) {
    return (unsigned)op < WF_OP_COUNT ? op_table[op].parts : 0;
}

enum wf_result wf_op_result(wf_op op) {
    return (unsigned)op < WF_OP_COUNT ? op_table[op].result : WF_RESULT_NONE;
}

bool wf_op_gives_value(wf_op op) {
    return wf_op_result(op) != WF_RESULT_INDEX && wf_op_result(op) != WF_RESULT_TRUTH;
}

bool wf_op_takes_pairs(wf_op op) {
    return wf_op_parts(op) & WF_PART_DOT;
}

wf_type wf_op_result_type(wf_op op, wf_type type) {
    if ((unsigned)op >= WF_OP_COUNT || !wf_type_is_valid(type)) return WF_TYPE_DEFAULT;
    bool is_float = wf_type_is_float(type);
    if (is_float && op_table[op].parts & WF_PART_BITS) return WF_TYPE_DEFAULT;
    switch (wf_op_result(op)) {
    case WF_RESULT_SAME: return type;
    case WF_RESULT_WIDE:
        return is_float ? type : wf_type_table[type].kind == WF_KIND_SIGNED ? WF_I64 : WF_U64;
    case WF_RESULT_MAGNITUDE: return is_float ? type : WF_U64;
    case WF_RESULT_REAL: return is_float ? type : WF_F64;
    case WF_RESULT_INDEX: return WF_U64;
    case WF_RESULT_TRUTH: return WF_BOOL;
    case WF_RESULT_NONE: break;
    }
    return WF_TYPE_DEFAULT;
}
