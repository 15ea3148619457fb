/* The extension module: what its files share.
 *
 *   arguments.c     the arguments of a call, positional and by name
 *   arrays.c        takes the caller's arrays in: numbers, lists;  buffers.c: buffers;  numpy.c: NumPy's;  tensors.c:
 *                   DLPack, CUDA array interface
 *   copies.c        copies of strided arrays, where one cannot be avoided;  alike.c: a pair's, where types differ
 *   handles.c       handles of the library, each lent to one call at a time
 *   job.c           a reduction that has been read from its arguments;  reduce.c: the functions, to the result
 *   axes.c          reductions along axes, of masked elements;  labels.c: by segments and keys
 *   quantile.c      quantiles, along axes
 *   initial.c       the same, beginning with a value of the caller's
 *   place.c         where an array of results goes
 *   results.c       results in the caller's kind; errors as exceptions;  scalars.c: one value
 *   accumulator.c   the type Accumulator;  accumulate.c: adding to one, and its results
 *   words.c         accumulators as integers that collectives add up;  rolling.c: reductions of windows
 *   module.c        the lists of functions;  types.h: the list of types
 *
 * Only Python's limited API is used, so that one build serves every later version.  A function that returns int or a
 * pointer returns -1 or NULL with an exception set, if it fails. */
#ifndef WARPFOLD_PYTHON_CORE_H
#define WARPFOLD_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "warpfold.h"

#include "types.h"

#include <stdatomic.h>
#include <stdbool.h>

/* ---- the module */

/* References that calls need.  What belongs to NumPy is NULL until the first of its arrays is met: NumPy is never
 * imported here. */
struct state {
    PyObject *kinds;          /* the module warpfold._kinds */
    PyObject *streams;        /* handles' addresses: what keeps the stream alive that each was given last */
    PyTypeObject *accumulator;
    PyObject *ndarray;        /* the type of NumPy's arrays */
    PyObject *empty;          /* numpy.empty */
    PyObject *plain_buffer;   /* the first type that was found to have a buffer and nothing else */
    PyObject *stranger;       /* the first type that was found to be none of NumPy's: not looked into again */
    PyObject *scalars[TYPES]; /* numpy.float64 and so on, by wf_type; NULL: NumPy lacks it */
    PyObject *truths[2];           /* numpy.False_, numpy.True_ */
    PyObject *dtypes[TYPES];  /* their dtypes, in the machine's byte order */
    atomic_bool is_plain[TYPES]; /* the scalar is an object's header and the number behind it */
    atomic_bool has_fields;           /* NumPy's arrays are what numpy.c takes them for */
};

static inline struct state *state_of(PyObject *module) { return PyModule_GetState(module); }
int add_accumulator(PyObject *module);

/* ---- arrays */

enum kind {
    KIND_PYTHON, /* numbers and sequences of them: results are numbers and lists */
    KIND_BUFFER, /* array.array, memoryview, bytes ...: numbers and arrays of the same kind */
    KIND_NUMPY,  /* scalars and arrays of NumPy */
    KIND_TENSOR  /* torch, cupy, jax ...: arrays of the same library, of no dimensions for one value */
};

/* An array of the caller's, held while it is used. */
struct array {
    wf_array view; /* its shape and stride_bytes are the ones below */
    PyObject *owner; /* the caller's object, borrowed */
    enum kind kind;
    bool is_read_only;
    bool is_on_gpu;
    void *stream; /* of is_on_gpu: where the elements will be ready */
    PyObject *stream_owner; /* keeps the stream alive; NULL: its library does */
    /* What is released at the end. */
    bool has_buffer;
    Py_buffer buffer;
    PyObject *held;
    void *tensor; /* a DLManagedTensorVersioned */
    void *copy;
    int64_t shape[WF_NDIM_MAX], stride_bytes[WF_NDIM_MAX];
};

/* Takes object in without a copy, unless its elements are Python's or have another byte order. */
int array_take(struct state *state, PyObject *object, struct array *array);
void array_release(struct array *array);

/* Puts a new reference where none is yet; without the interpreter's lock, another thread may have been first. */
void keep_first(PyObject **place, PyObject *object);
/* Takes an object's buffer; type is that of its elements, or WF_TYPE_DEFAULT if the buffer's format tells. */
int take_buffer_as(PyObject *object, struct array *array, wf_type type);

/* numpy.c: whether an object is NumPy's, 1, 0 or -1; takes one in; takes in what is of the type ndarray itself. */
int is_numpy(struct state *state, PyObject *object);
int take_numpy(PyObject *object, struct array *array);
int take_ndarray(struct state *state, PyObject *object, struct array *array);

/* tensors.c: 1 if the object has the protocol and was taken, 0 if it has not. */
int take_exchange_table(PyObject *object, struct array *array);
int take_cuda_interface(struct state *state, PyObject *object, struct array *array);
int take_dlpack(struct state *state, PyObject *object, struct array *array);

/* An attribute that may be missing, as which any error in reading it counts, but for a lack of memory: 1, 0 or -1. */
int find_attribute(PyObject *object, const char *name, PyObject **attribute);

/* The type of a Python buffer's format; WF_TYPE_DEFAULT if it is none of the library's. */
wf_type type_of_format(const char *format, Py_ssize_t nbytes, bool *is_swapped);

/* Where an array of another shape is seen as one of shape: dimensions of length 1, and those that are missing in
 * front, are repeated. */
int array_broadcast(struct array *array, int32_t ndim, const int64_t *shape, const char *name);

/* Raises where a device cannot read an array: what is beside it (NULL: nothing) must be in the same kind of memory. */
int check_memory(const struct array *array, const struct array *beside, const char *device);

int64_t array_count(const wf_array *view);
void contiguous_strides(int32_t ndim, const int64_t *shape, int64_t nbytes, int64_t *stride_bytes);

/* ---- copies */

struct strided {
    char *data;
    const int64_t *stride_bytes;
};
/* Copies elements of nbytes each, reversing their bytes if is_swapped. */
void copy_strided(struct strided to, struct strided from, int32_t ndim, const int64_t *shape, size_t nbytes,
                  bool is_swapped);
/* Makes array a contiguous copy of itself. */
int array_copy(struct array *array, bool is_swapped);
/* Whether the bytes that two arrays span have one in common. */
bool arrays_overlap(const wf_array *a, const wf_array *b);

/* ---- handles */

extern const char CPU[]; /* "cpu" */

/* Lends a handle of the device that no other call uses. */
wf_handle *handle_lend(const char *device, int32_t threads);
void handle_return(wf_handle *handle, const char *device);
/* After a call that gave the handle the array's stream: what was the stream's owner before may go, unless the call failed
 * and the handle may still have that one's. */
void keep_stream(struct state *state, const wf_handle *handle, const struct array *array, wf_error error);
/* Called once, when the module is first loaded. */
int handles_begin(void);

/* ---- arguments */

/* What a call may be given.  NULL: not given, or None. */
enum argument {
    ARG_A, ARG_B, ARG_AXIS, ARG_DTYPE, ARG_OUT, ARG_DDOF, ARG_KEEPDIMS, ARG_ORD, ARG_WHERE, ARG_CORRECTION, ARG_NAN,
    ARG_THREADS, ARG_DEVICE, ARG_LABELS, ARG_COUNT, ARG_FILL, ARG_SKIP, ARG_SHAPE, ARG_FIRST_INDEX, ARG_OP, ARG_BY,
    ARG_IDS, ARG_INITIAL, ARG_Q, ARG_METHOD, ARGUMENTS
};

/* A function's name and parameters: those that may be positional, in their order, ended by ARGUMENTS; and all. */
struct signature {
    const char *name;
    uint32_t allowed; /* bits 1 << argument */
    int required;     /* of the first of order */
    unsigned char order[8];
};

#define BIT(argument) (1u << (argument))

int arguments_read(const struct signature *signature, PyObject *const *arguments, Py_ssize_t count, PyObject *names,
                   PyObject **values);

/* The settings that the arguments make. */
int read_axes(PyObject *axis, int32_t ndim, uint64_t *axes);
int read_axis(PyObject *axis, int32_t ndim, int32_t *position);
int read_type(struct state *state, PyObject *dtype, wf_type *type);
int read_nan(PyObject *name, wf_nan *nan);
int read_ddof(PyObject *ddof, PyObject *correction, int64_t *result);
int read_threads(PyObject *threads, int32_t *result);
int read_device(PyObject *device, const char **name);
int read_int64(PyObject *number, const char *name, int64_t *result);
/* The op of that name, NumPy's or the library's. */
int read_op(PyObject *name, wf_op *op);
/* Puts the fill into value, to which the reduction then points. */
int read_fill(PyObject *fill, PyObject *skip, wf_reduction *reduction, wf_value *value);

/* ---- reductions */

/* An op as a function of the module.  nan is its default policy. */
struct function {
    struct signature signature;
    wf_op op;
    wf_nan nan;
};

/* A new array of the caller's kind for results. */
struct target {
    PyObject *object;    /* what is written to */
    struct array array;  /* its memory */
    wf_type type;
    int32_t ndim;        /* of the shape that the caller sees */
    const int64_t *shape;
};

/* A reduction that has been read from its arguments. */
struct job {
    struct state *state;
    wf_reduction reduction;
    struct array a, b;
    bool has_b;
    struct target converted[2]; /* what is read instead of a and b, where their types differ; object is NULL: nothing */
    PyObject *counted; /* what is read instead of a, where elements are counted in CUDA memory; NULL: nothing */
    const char *device;
    int32_t threads;
    wf_value fill;
};

int job_begin(struct state *state, struct job *job, const struct function *function, PyObject *const *values);
void job_end(struct job *job);
/* Converts a and b to one type that has the elements of both. */
int job_make_alike(struct job *job);
/* The op of that name; "elements" is the sum of as many ones as there are elements, for job_count_elements. */
int job_read_op(PyObject *name, wf_op *op, bool *counts_elements);
/* Has a job that has begun count the elements, which it does not read. */
int job_count_elements(struct job *job);
const wf_array *job_b(const struct job *job);
/* Runs with the interpreter released where that is worth it. */
wf_error job_run(struct job *job, wf_handle *handle, const wf_groups *groups, const wf_output *output,
                 wf_value *value);
/* The value of all elements as the caller's kind of scalar. */
PyObject *job_value(struct job *job);

PyObject *reduce_axes(struct job *job, PyObject *const *values); /* axis, keepdims, out, where */
PyObject *reduce_function(PyObject *module, const struct function *function, PyObject *const *arguments,
                          Py_ssize_t count, PyObject *names);
/* The same by the op's name: the op may be any but vecdot and stats, or "elements", see job_read_op. */
PyObject *reduce_op(PyObject *module, PyObject *const *arguments, Py_ssize_t count, PyObject *names);
PyObject *reduce_stats(PyObject *module, PyObject *const *arguments, Py_ssize_t count, PyObject *names);
PyObject *reduce_by_labels(PyObject *module, PyObject *const *arguments, Py_ssize_t count, PyObject *names);
PyObject *reduce_windows(PyObject *module, PyObject *const *arguments, Py_ssize_t count, PyObject *names);
PyObject *reduce_quantiles(PyObject *module, PyObject *const *arguments, Py_ssize_t count, PyObject *names);
PyObject *join_arrays(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *shape_of(PyObject *module, PyObject *object);
PyObject *type_of(PyObject *module, PyObject *object); /* the library's name of it */
/* Labels are integers: of an empty list, too, and bools are 0 and 1. */
void see_integers(struct array *labels);
/* raise_error, but that keys and offsets out of range are an IndexError. */
PyObject *raise_label_error(const wf_handle *handle, wf_error error);

/* The type that NumPy gives op's results, where the library's differs; otherwise WF_TYPE_DEFAULT. */
wf_type numpy_result_type(wf_op op, wf_type type);
bool type_is_float(wf_type type);

/* ---- new arrays */

PyObject *make_shape(int32_t ndim, const int64_t *shape);

int target_make(struct state *state, const struct array *like, wf_type type, int32_t ndim, const int64_t *shape,
                struct target *target);
/* Gives target up, and returns the array if is_good. */
PyObject *target_finish(struct state *state, const struct array *like, struct target *target, bool is_good);

/* ---- where an array of results goes */

/* The results of a reduction along axes: as the library counts dimensions, and as the caller sees them. */
struct results {
    wf_type type;
    uint64_t axes;
    int32_t ndim, seen_ndim;
    int64_t shape[WF_NDIM_MAX], seen_shape[WF_NDIM_MAX];
    int64_t count, reduced_count;
    int32_t masked_ndim; /* with `where`: the dimensions of the array whose elements indices count; 0: indices count those of their group */
};

/* The caller's out, or a new array of the caller's kind. */
struct place {
    struct target status; /* on a GPU, of results that may fail: status.object is NULL otherwise */
    struct target target; /* target.object is NULL: out is used */
    struct array out;
    void *temporary;      /* contiguous, where the library may not write to out itself */
    wf_output output;
    int64_t stride_bytes[WF_NDIM_MAX];
};

/* Gives the caller's array, if it has all results; is_good: otherwise gives it up. */
PyObject *place_close(struct place *place, struct job *job, const struct results *results, bool is_good);
/* The shape of the results along results->axes. */
void results_lay_out(struct results *results, const struct job *job, bool keeps_dimensions);
/* Opens out, or if that is NULL a new array.  needs_order: the library is to write the results in C order. */
int place_open(struct place *place, struct job *job, struct results *results, PyObject *out, bool needs_order);
/* Reduces into the open place, which is closed, and gives the caller's array; raise: for errors of the library. */
PyObject *place_run(struct place *place, struct job *job, const struct results *results, const wf_groups *groups,
                    PyObject *(*raise)(const wf_handle *, wf_error));

/* The same, with one element more for every result, initial, before the others; in host memory alone. */
PyObject *place_run_from(struct place *place, struct job *job, const struct results *results, const wf_groups *groups,
                         PyObject *initial);

/* ---- results */

/* Raises what the library said. */
PyObject *raise_error(const wf_handle *handle, wf_error error);
PyObject *python_value(const wf_value *value);
/* Finds out which of NumPy's scalars are plain. */
int probe_scalars(struct state *state);
/* A warpfold.Stats, of scalars as those of an array. */
PyObject *make_stats(struct state *state, const struct array *like, const wf_stats *stats);
/* A NumPy scalar for its arrays, otherwise a number of Python's. */
PyObject *scalar_of_kind(struct state *state, const struct array *like, const wf_value *value);

#endif
