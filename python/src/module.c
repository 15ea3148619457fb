/* The functions of the module warpfold._core. */
#include "core.h"

/* ---- the functions that reduce: their names, signatures, ops, policies and first lines of help */

#define COMMON (BIT(ARG_A) | BIT(ARG_NAN) | BIT(ARG_THREADS) | BIT(ARG_DEVICE))
#define AXES (COMMON | BIT(ARG_AXIS) | BIT(ARG_KEEPDIMS) | BIT(ARG_OUT))
#define TAKES_SUM (AXES | BIT(ARG_DTYPE) | BIT(ARG_WHERE))
#define TAKES_EXTREMUM (AXES | BIT(ARG_WHERE))
#define TAKES_TOTAL (TAKES_SUM | BIT(ARG_INITIAL))
#define TAKES_BOUND (TAKES_EXTREMUM | BIT(ARG_INITIAL))
#define TAKES_INDEX AXES
#define TAKES_SPREAD (TAKES_SUM | BIT(ARG_DDOF) | BIT(ARG_CORRECTION))
#define TAKES_COUNT (COMMON | BIT(ARG_AXIS) | BIT(ARG_KEEPDIMS) | BIT(ARG_WHERE))
#define TAKES_NORM (TAKES_SUM | BIT(ARG_ORD))
#define TAKES_PAIR (COMMON | BIT(ARG_B) | BIT(ARG_AXIS) | BIT(ARG_DTYPE) | BIT(ARG_OUT))

/* Positional parameters in NumPy's order. */
#define ORDER_SUM {ARG_A, ARG_AXIS, ARG_DTYPE, ARG_OUT, ARG_KEEPDIMS, ARGUMENTS}
#define ORDER_EXTREMUM {ARG_A, ARG_AXIS, ARG_OUT, ARG_KEEPDIMS, ARGUMENTS}
#define ORDER_TOTAL ORDER_SUM
#define ORDER_BOUND ORDER_EXTREMUM
#define ORDER_INDEX {ARG_A, ARG_AXIS, ARG_OUT, ARGUMENTS}
#define ORDER_SPREAD {ARG_A, ARG_AXIS, ARG_DTYPE, ARG_OUT, ARG_DDOF, ARG_KEEPDIMS, ARGUMENTS}
#define ORDER_COUNT {ARG_A, ARG_AXIS, ARGUMENTS}
#define ORDER_NORM {ARG_A, ARG_ORD, ARG_AXIS, ARG_KEEPDIMS, ARGUMENTS}
#define ORDER_PAIR {ARG_A, ARG_B, ARGUMENTS}

#define TAIL "nan='propagate', threads=0, device=None)\n--\n\n"
#define TAIL_OMIT "threads=0, device=None)\n--\n\n"
#define HEAD_SUM "(a, axis=None, dtype=None, out=None, keepdims=False, *, where=None, "
#define HEAD_EXTREMUM "(a, axis=None, out=None, keepdims=False, *, where=None, "
#define HEAD_TOTAL "(a, axis=None, dtype=None, out=None, keepdims=False, *, initial=None, where=None, "
#define HEAD_BOUND "(a, axis=None, out=None, keepdims=False, *, initial=None, where=None, "
#define HEAD_INDEX "(a, axis=None, out=None, *, keepdims=False, "
#define HEAD_SPREAD "(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=None, correction=None, "
#define HEAD_COUNT "(a, axis=None, *, keepdims=False, where=None, "
#define HEAD_NORM "(a, ord=2, axis=None, keepdims=False, *, dtype=None, out=None, where=None, "
#define HEAD_PAIR "(a, b, /, *, axis=-1, dtype=None, out=None, "

#include "functions.h"

#define FUNCTION(name, kind, required, op, nan, help)                                                             \
    static const struct function function_##name = {{#name, TAKES_##kind, required, ORDER_##kind}, op, nan};      \
    static PyObject *call_##name(PyObject *module, PyObject *const *arguments, Py_ssize_t count, PyObject *names) { \
        return reduce_function(module, &function_##name, arguments, count, names);                                \
    }
FUNCTIONS(FUNCTION)

/* A METH_FASTCALL function as the type of the table's member. */
#define AS_METHOD(function) ((PyCFunction)(void (*)(void))(function))
#define METHOD(name, kind, required, op, nan, help) \
    {#name, AS_METHOD(call_##name), METH_FASTCALL | METH_KEYWORDS, #name HEAD_##kind TAIL help},

static PyMethodDef methods[] = {
    FUNCTIONS(METHOD)
    {"stats", AS_METHOD(reduce_stats), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"reduce_op", AS_METHOD(reduce_op), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"reduce_by_labels", AS_METHOD(reduce_by_labels), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"reduce_windows", AS_METHOD(reduce_windows), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"quantile", AS_METHOD(reduce_quantiles), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"shape_of", shape_of, METH_O, NULL},
    {"type_of", type_of, METH_O, NULL},
    {"join_arrays", AS_METHOD(join_arrays), METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

/* ---- the module */

static int begin(PyObject *module) {
    struct state *state = state_of(module);
    if (handles_begin()) return PyErr_NoMemory(), -1;
    if (wf_type_nbytes((wf_type)TYPES)) return PyErr_SetString(PyExc_SystemError, "types.h has not all types of the library"), -1;
    state->streams = PyDict_New();
    state->kinds = state->streams ? PyImport_ImportModule("warpfold._kinds") : NULL;
    if (!state->kinds) return -1;
    if (PyModule_AddStringConstant(module, "__version__", wf_version())) return -1;
    return add_accumulator(module);
}

static int visit(PyObject *module, visitproc visit, void *arg) {
    struct state *state = state_of(module);
    Py_VISIT(state->kinds);
    Py_VISIT(state->streams);
    Py_VISIT((PyObject *)state->accumulator);
    Py_VISIT(state->ndarray);
    Py_VISIT(state->empty);
    Py_VISIT(state->plain_buffer);
    Py_VISIT(state->stranger);
    for (int truth = 0; truth < 2; truth++) Py_VISIT(state->truths[truth]);
    for (int type = 0; type < TYPES; type++) {
        Py_VISIT(state->scalars[type]);
        Py_VISIT(state->dtypes[type]);
    }
    return 0;
}

static int clear(PyObject *module) {
    struct state *state = state_of(module);
    Py_CLEAR(state->kinds);
    Py_CLEAR(state->streams);
    Py_CLEAR(state->accumulator);
    Py_CLEAR(state->ndarray);
    Py_CLEAR(state->empty);
    Py_CLEAR(state->plain_buffer);
    Py_CLEAR(state->stranger);
    for (int truth = 0; truth < 2; truth++) Py_CLEAR(state->truths[truth]);
    for (int type = 0; type < TYPES; type++) {
        Py_CLEAR(state->scalars[type]);
        Py_CLEAR(state->dtypes[type]);
    }
    return 0;
}

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void) {
    static PyModuleDef_Slot slots[] = {
        {Py_mod_exec, (void *)begin},
#ifdef Py_mod_gil
        {Py_mod_gil, Py_MOD_GIL_NOT_USED}, /* handles are lent by atomic exchanges; accumulators have locks */
#endif
        {0, NULL},
    };
    static struct PyModuleDef definition = {
        .m_base = PyModuleDef_HEAD_INIT,
        .m_name = "warpfold._core",
        .m_doc = "The compiled part of warpfold.",
        .m_size = sizeof(struct state),
        .m_methods = methods,
        .m_slots = slots,
        .m_traverse = visit,
        .m_clear = clear,
    };
    return PyModuleDef_Init(&definition);
}
