/* warpfold: correctly rounded reductions of arrays, with the same bits on every device.
 *
 * Results.  sum, mean, dot, norm1, norm2, var and std of floats are the real-number result of the given
 * inputs, rounded once to the result type (to nearest, ties to even).  Integer results are exact or an error;
 * they never wrap.  No result depends on the number of threads, the instruction set, the device, the order in
 * which accumulators are merged, or the caller's rounding mode.
 *
 * Errors.  Every function that can fail returns a wf_error.  After anything but WF_OK nothing has been
 * written to a single result (several results are unspecified: wf_reduce), and the pointer that a *_create,
 * *_load or *_open function sets is NULL.  The handle, if the function takes one, holds the message
 * (wf_handle_message).  The library never prints, exits or aborts.
 *
 * Ownership.  The library keeps no pointer to the caller's memory after a call returns; a reader keeps open
 * the files that it has opened.  Objects returned by *_create, *_load and *_open are owned by the caller and
 * released with the matching *_destroy or *_close, each of which accepts NULL.
 *
 * Threads.  There is no mutable global state.  A handle, an accumulator and a reader each serve one thread at
 * a time; different ones may be used by different threads at once.  Input arrays are only read.  A handle
 * must not be used in a child process that was forked after the handle was created.
 *
 * Floating-point environment.  Rounding mode, exception flags, traps and FTZ/DAZ belong to the caller.  Every
 * function leaves them as it found them, and none of them changes a result.
 *
 * Stack.  A reduction without a handle, or with a CPU handle, uses less than 16 KiB of the caller's stack.
 *
 * Structures.  Zero every field that you do not set: zero selects the default.  A structure that later
 * versions may extend begins with nbytes, its size when the caller was compiled (`.nbytes =
 * sizeof(wf_reduction)`).  A library older than its caller accepts fields that it does not know only if they
 * are zero.
 *
 * Numbers.  The values of the enumerations never change: saved accumulators and compiled programs contain
 * them.
 *
 * Words.  docs/glossary.md defines the terms that are used here. */
#ifndef WARPFOLD_H
#define WARPFOLD_H

#ifndef __CUDACC_RTC__ /* NVRTC has no standard headers: kernels define these types first */
#include <stddef.h>
#include <stdint.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) && !defined(WF_API)
#define WF_API __attribute__((visibility("default")))
#elif !defined(WF_API)
#define WF_API
#endif

#define WF_VERSION_MAJOR 0
#define WF_VERSION_MINOR 1
#define WF_VERSION_PATCH 0
/* A single number that grows with every version: 0.1.0 is 100. */
#define WF_VERSION_NUMBER (WF_VERSION_MAJOR * 10000 + WF_VERSION_MINOR * 100 + WF_VERSION_PATCH)

/* The version of the library at run time: as static text, "0.1.0", and in the form of WF_VERSION_NUMBER. */
WF_API const char *wf_version(void);
WF_API int32_t wf_version_number(void);

/* ---- errors ------------------------------------------------------------------------------------ */

typedef enum wf_error {
    WF_OK = 0,
    WF_ERROR_ARGUMENT = 1,    /* an argument is NULL, out of range, or inconsistent with another */
    WF_ERROR_UNSUPPORTED = 2, /* the op is not defined for this type or these options */
    WF_ERROR_DEVICE = 3,      /* no such device, or it is unavailable */
    WF_ERROR_MEMORY = 4,      /* out of memory */
    WF_ERROR_EMPTY = 5,       /* undefined for this many elements (min of none; var of n <= ddof) */
    WF_ERROR_RANGE = 6,       /* the exact result does not fit the result type, or too many elements */
    WF_ERROR_NAN = 7,         /* the policy is WF_NAN_ERROR and the input has a NaN */
    WF_ERROR_MERGE = 8,       /* the reductions differ, or (prod) the ranges are not adjacent */
    WF_ERROR_FORMAT = 9,      /* a file or saved accumulator is malformed or damaged */
    WF_ERROR_IO = 10          /* the system refused to open, read or write */
} wf_error;

/* A short description of the code.  Static text; never NULL, even for an unknown code. */
WF_API const char *wf_error_text(wf_error error);

/* ---- types, ops, values ------------------------------------------------------------------------ */

/* Element types.  bool is one byte; 0 is false, anything else true.  f16 is IEEE binary16 and bf16 is the
 * upper half of an f32; both are passed as uint16_t. */
typedef enum wf_type {
    WF_TYPE_DEFAULT = 0, /* let the library choose; not the type of an array */
    WF_BOOL = 1,
    WF_I8 = 2,
    WF_I16 = 3,
    WF_I32 = 4,
    WF_I64 = 5,
    WF_U8 = 6,
    WF_U16 = 7,
    WF_U32 = 8,
    WF_U64 = 9,
    WF_F16 = 10,
    WF_BF16 = 11,
    WF_F32 = 12,
    WF_F64 = 13
} wf_type;

/* Ops and their default result types (T: the type of the array). */
typedef enum wf_op {
    WF_OP_NONE = 0,
    WF_SUM = 1,      /* T of floats; i64, or u64 for unsigned and bool */
    WF_PROD = 2,     /* as sum.  Floats: a fixed binary tree over the element index, not exact */
    WF_MIN = 3,      /* T.  -0 orders below +0 */
    WF_MAX = 4,      /* T */
    WF_ARGMIN = 5,   /* u64: the smallest index that holds the minimum */
    WF_ARGMAX = 6,   /* u64 */
    WF_MEAN = 7,     /* T of floats, else f64: the exact sum divided by n, rounded once */
    WF_VAR = 8,      /* T of floats, else f64: (n*S2 - S1^2) / (n*(n - ddof)), rounded once */
    WF_STD = 9,      /* T of floats, else f64: the square root of the exact var, rounded once */
    WF_NORM1 = 10,   /* T of floats, else u64: the sum of |x| */
    WF_NORM2 = 11,   /* T of floats, else f64: the square root of the exact sum of x*x, rounded once */
    WF_NORMINF = 12, /* T of floats, else u64: the largest |x| */
    WF_DOT = 13,     /* as sum; of two arrays */
    WF_ANY = 14,     /* bool: whether any element is nonzero */
    WF_ALL = 15,     /* bool: whether all elements are nonzero */
    WF_NONZERO = 16, /* u64: the number of nonzero elements */
    WF_AND = 17,     /* T; these three for integers and bool only */
    WF_OR = 18,
    WF_XOR = 19,
    WF_STATS = 20    /* no single value: its accumulator yields every op but prod, dot, and, or, xor */
} wf_op;

/* A number with its type, which says which member to read. */
typedef struct wf_value {
    wf_type type;
    union {
        int64_t i;   /* i8 i16 i32 i64 */
        uint64_t u;  /* bool (0 or 1) u8 u16 u32 u64 */
        double f64;  /* f64 */
        float f32;   /* f32 */
        uint16_t f16; /* f16 and bf16: the bits */
    } v;
} wf_value;

/* The name that the command line uses ("f32", "norm2"); NULL for an unknown type or op. */
WF_API const char *wf_type_name(wf_type type);
WF_API const char *wf_op_name(wf_op op);

/* The type or op of that name; WF_TYPE_DEFAULT or WF_OP_NONE if the name is unknown or NULL. */
WF_API wf_type wf_type_parse(const char *name);
WF_API wf_op wf_op_parse(const char *name);

/* The size of an element of the type in bytes; 0 for an unknown type. */
WF_API size_t wf_type_nbytes(wf_type type);

/* The default result type of op over arrays of type; WF_TYPE_DEFAULT if the op is not defined for the type,
 * and for WF_STATS, which has no single value. */
WF_API wf_type wf_op_result_type(wf_op op, wf_type type);

/* The shortest decimal text that reads back to the same bits ("0.1", "inf", "nan", "-3"); if hex is nonzero,
 * hexadecimal text ("0x1.8p+1", "0x2a").  Like snprintf, writes at most capacity bytes including the
 * terminating NUL and returns the length of the whole text without it. */
WF_API size_t wf_value_format(const wf_value *value, int hex, char *text, size_t capacity);

/* The nearest double, which is the value itself for every float type and for integers up to 2^53. */
WF_API double wf_value_to_double(const wf_value *value);

/* ---- arrays ------------------------------------------------------------------------------------ */

#define WF_NDIM_MAX 64

/* A view that owns nothing.  Element (i0, i1, ...) is at data + i0*stride_bytes[0] + ...; any stride is
 * allowed (negative, zero, odd), and no alignment is needed.  If stride_bytes is NULL, the array is
 * contiguous in C order.  If shape is NULL, it is a vector of count elements and ndim is ignored; otherwise
 * count is ignored.  ndim 0 with a shape is a single element.  The index that arg ops report counts elements
 * in C order, in which the last dimension varies fastest, whatever the strides are.  data may be NULL only if
 * there are no elements.  shape and stride_bytes are read during the call only. */
typedef struct wf_array {
    const void *data;
    wf_type type;
    int32_t ndim;
    const int64_t *shape, *stride_bytes;
    int64_t count;
} wf_array;

/* A contiguous vector of count elements. */
WF_API wf_array wf_array_vector(const void *data, wf_type type, int64_t count);

/* An array of ndim dimensions; stride_bytes may be NULL.  If ndim is negative or exceeds WF_NDIM_MAX, or
 * shape is NULL though ndim is not 0, the result is an array that every function rejects. */
WF_API wf_array wf_array_nd(const void *data, wf_type type, int32_t ndim, const int64_t *shape,
                            const int64_t *stride_bytes);

/* ---- reductions -------------------------------------------------------------------------------- */

/* The treatment of a NaN in the input.  It does not apply to a NaN that arises, as in inf - inf. */
typedef enum wf_nan {
    WF_NAN_PROPAGATE = 0, /* the result is NaN; arg ops give the first NaN's index */
    WF_NAN_OMIT = 1,      /* the element (in dot, the pair) is skipped; the other indices do not change */
    WF_NAN_ERROR = 2      /* WF_ERROR_NAN; the message names the first NaN's index */
} wf_nan;

/* wf_reduction.flags */
enum {
    WF_SKIP_BAD_KEYS = 1 /* skip elements whose key is not from 0 to count - 1; without it, they are WF_ERROR_RANGE */
};

/* What is computed.  wf_reduction_of(WF_SUM) returns one with all defaults. */
typedef struct wf_reduction {
    size_t nbytes; /* sizeof(wf_reduction) */
    wf_op op;
    wf_nan nan;
    int64_t ddof;         /* var and std divide by n - ddof; 0 or more */
    int64_t first_index;  /* the index of the first element added; 0 or more */
    const wf_value *fill; /* the result where there is no value, converted to the result type; NULL: see wf_reduce */
    uint32_t flags;       /* WF_SKIP_BAD_KEYS */
    wf_type result_type;  /* WF_TYPE_DEFAULT: as listed in wf_op */
} wf_reduction;

#ifndef __CUDACC_RTC__
static inline wf_reduction wf_reduction_of(wf_op op) {
    wf_reduction reduction = {sizeof(wf_reduction), op, WF_NAN_PROPAGATE, 0, 0, NULL, 0, WF_TYPE_DEFAULT};
    return reduction;
}
#endif

/* How elements are grouped. */
typedef enum wf_grouping {
    WF_GROUP_ALL = 0,      /* all elements are one group */
    WF_GROUP_AXES = 1,     /* the elements along some dimensions */
    WF_GROUP_SEGMENTS = 2, /* consecutive ranges of one dimension */
    WF_GROUP_KEYS = 3      /* elements of one dimension with equal keys */
} wf_grouping;

/* The groups of a reduction.  NULL or all zeros: all elements form one group.
 *
 * The results have the dimensions of the array, in order, without the reduced ones; for segments and keys, count
 * replaces the length of the axis.  Each result is that of the op for the elements of its group alone, in C order. */
typedef struct wf_groups {
    wf_grouping by;
    uint64_t axes; /* AXES: bit k is set if dimension k is reduced */
    int32_t axis;  /* SEGMENTS, KEYS: the dimension that is grouped */
    int64_t count; /* SEGMENTS, KEYS: the number of groups */
    /* SEGMENTS: a vector of count + 1 offsets, i32 or i64, non-decreasing, from 0 to the length of the axis: group
     * g has the positions labels[g] <= i < labels[g + 1].  KEYS: a vector of integers of any type, one for each
     * position of the axis, from 0 to count - 1 in any order.  Other offsets and keys are WF_ERROR_RANGE. */
    const wf_array *labels;
} wf_groups;

/* Groups by axes, segments or keys.  Bit k of axes is set if dimension k is reduced.  The groups point to offsets or
 * keys, which must stay valid as long as they are used. */
WF_API wf_groups wf_groups_axes(uint64_t axes);
WF_API wf_groups wf_groups_segments(int32_t axis, int64_t count, const wf_array *offsets);
WF_API wf_groups wf_groups_keys(int32_t axis, int64_t count, const wf_array *keys);

/* Where results go: to host memory, or to the memory of the GPU that holds the array (with a handle of that
 * GPU, or auto; a CPU handle treats all memory as host memory).  type is the type of the results;
 * WF_TYPE_DEFAULT takes the reduction's.  A single result has ndim 0 (shape NULL) and is written to data,
 * which must be aligned to the type in device memory.  Several results must have the shape given by
 * wf_groups_shape; if stride_bytes is NULL, they are written in C order.  Results must not overlap each other or
 * the array.
 *
 * Host memory: *status receives what the call returns; on an error, nothing is written to data of a single result.
 * Device memory: the result follows in stream order and the call does not wait for it.  Errors found before the
 * launch are returned; later ones are written to *status, which is in device memory too, and a failed result
 * is NaN (floats) or 0.  status may be NULL. */
typedef struct wf_output {
    void *data;
    wf_type type;
    int32_t ndim;
    const int64_t *shape, *stride_bytes;
    int32_t *status;
} wf_output;

/* ---- handles ----------------------------------------------------------------------------------- */

/* A device with its threads and scratch memory, and the message of the last error. */
typedef struct wf_handle wf_handle;

/* device: "cpu"; "cuda" (the first GPU) or "cuda:N"; "auto" (or NULL), which reduces device memory on the
 * GPU that holds it, and host memory on the CPU, where a single pass over it is fastest; or "cuda:all", which is
 * like auto but spreads host arrays over all GPUs (except for groups and products of floats).  Starts no
 * threads; auto opens a GPU only when an array needs it.  After WF_ERROR_DEVICE, wf_device_describe explains
 * the failure. */
WF_API wf_error wf_handle_create(const char *device, wf_handle **handle);
WF_API void wf_handle_destroy(wf_handle *handle);

/* The maximum number of threads for later calls with the handle, including the caller's; 0, the initial
 * setting: all processors available to the process.  No result depends on it. */
WF_API wf_error wf_handle_set_threads(wf_handle *handle, int32_t threads);

/* The message of the last failed call with this handle: what went wrong, where, and what to do.  "" if no
 * call has failed.  Valid until the next call with the handle. */
WF_API const char *wf_handle_message(const wf_handle *handle);

/* Stores a message (NULL: that of wf_error_text) in the handle, which may be NULL, and returns error.  For code built
 * on the library, such as warpfold_mpi.h. */
WF_API wf_error wf_handle_fail(wf_handle *handle, wf_error error, const char *message);

/* Describes the handle's device: "cpu: tier avx2, 8 processors".  Valid until the handle is destroyed. */
WF_API const char *wf_handle_device(const wf_handle *handle);

/* ---- GPUs --------------------------------------------------------------------------------------- */

/* NVIDIA GPUs of compute capability 7.5 and later are used through the driver and NVRTC, both loaded at run
 * time.
 *
 * If an array is in device memory, array.data is a device pointer and the handle must be that GPU's, or
 * auto.  A handle of a GPU copies host arrays to it.  A kernel is compiled on its first use, which takes
 * about a second, and kept in a cache ($XDG_CACHE_HOME/warpfold).  The handle uses the GPU's primary context,
 * as the CUDA runtime, torch and cupy do, and leaves the calling thread's current context unchanged. */

/* Describes the device "cpu", "cuda:N", "cuda:all" or "auto"; if it is unavailable, explains why and how to fix
 * that, and returns WF_ERROR_DEVICE.  Writes at most capacity bytes including the terminating NUL. */
WF_API wf_error wf_device_describe(const char *device, char *text, size_t capacity);

/* The number of GPUs visible to the driver; 0 without a driver. */
WF_API int32_t wf_gpu_count(void);

/* Describes the launch configuration of the handle's last GPU reduction: blocks, threads, loads.  "" before
 * the first one, and for other devices.  Valid until the next call with the handle. */
WF_API const char *wf_handle_plan(wf_handle *handle);

/* Submits the handle's later GPU work to this CUstream (cudaStream_t); NULL, the initial setting, is the
 * legacy default stream.  Keep the stream alive until you set another one or the last call other than
 * wf_handle_destroy returns.  The new stream waits for the handle's work in the old one, unless one of them is being
 * captured in a CUDA graph. */
WF_API wf_error wf_handle_set_stream(wf_handle *handle, void *stream);

/* ---- one call ---------------------------------------------------------------------------------- */

/* Reduces a to one value for each group.  b: for dot, the array whose elements are paired with those of a, of the
 * same type and shape; NULL for every other op.  groups may be NULL.  For small arrays that are one group,
 * allocates no memory and starts no thread.
 *
 * Groups.  The index of arg ops is the position along the grouped axis (for several reduced axes, in their C
 * order), counted from first_index; prod of floats counts the elements of each group from there.  A group without
 * a value (min of no elements, var of n <= ddof) gives the reduction's fill; without a fill, NaN if results are
 * floats, and WF_ERROR_EMPTY otherwise.  The error message names the first result that failed, by its number in C
 * order, or the first bad key or offset; the results are then unspecified.  In addition to the arrays, segments
 * and keys take up to 8 bytes for each group (in device memory 16), and keys up to the size of an element for each
 * key, but at least 4 bytes (8 if there are 2^31 keys or more).
 *
 * Groups in device memory.  The labels may be in host memory or in the memory of the GPU; labels, results and
 * strides there must be aligned to their size.  The handle keeps scratch memory for parts of long groups, at most
 * the size of the array.  prod of floats is copied to the host and reduced there; so is every reduction that
 * failed with an output in host memory, to find the message.  Arrays in host memory are reduced by the CPU even
 * with a handle of a GPU.
 *
 * Output in device memory, all elements: prod with a float result is WF_ERROR_UNSUPPORTED.  From the second call
 * with the same reduction and types on, nothing is allocated, so the call can be captured in a CUDA graph.  A
 * graph of a handle must not run at the same time as other work of the handle. */
WF_API wf_error wf_reduce(wf_handle *handle, const wf_reduction *reduction, const wf_array *a, const wf_array *b,
                          const wf_groups *groups, const wf_output *output);

/* Reduces all elements to one value in host memory, wherever the arrays are. */
WF_API wf_error wf_reduce_value(wf_handle *handle, const wf_reduction *reduction, const wf_array *a,
                                const wf_array *b, wf_value *value);

/* The shape of the results: sets *ndim and writes that many lengths to shape, which must hold WF_NDIM_MAX.
 * Fails, without a message, where wf_reduce would refuse the array or the groups; the labels' values are not read. */
WF_API wf_error wf_groups_shape(const wf_array *array, const wf_groups *groups, int32_t *ndim, int64_t *shape);

/* Several statistics from one pass over the data.  A statistic that is undefined for this number of elements
 * (mean of none) has type WF_TYPE_DEFAULT; so do argmin and argmax after merging accumulators whose index
 * ranges overlap.  The reduction's result_type applies to sum, mean, var, std, min, max and the norms. */
typedef struct wf_stats {
    size_t nbytes;  /* sizeof(wf_stats): set before the call */
    uint64_t count; /* excludes the NaNs if they are omitted */
    uint64_t nans;
    wf_value sum, mean, var, std, min, max, argmin, argmax, nonzero, norm1, norm2, norminf;
} wf_stats;

/* Computes all of wf_stats.  The reduction's op must be WF_STATS. */
WF_API wf_error wf_reduce_stats(wf_handle *handle, const wf_reduction *reduction, const wf_array *array,
                                wf_stats *stats);

/* ---- without a handle -------------------------------------------------------------------------- */

/* Convenience functions for one contiguous array with all defaults.  They run on the calling thread alone,
 * whatever the size, and allocate nothing; for large arrays a handle, which uses several threads, is faster.
 * They return NaN (WF_NO_INDEX for arg ops) if the result is undefined (min, max, mean, var of no elements)
 * or the arguments are invalid (a negative count; NULL with a positive count). */
#define WF_NO_INDEX UINT64_MAX

WF_API double wf_sum_f64(const double *data, int64_t count);
WF_API double wf_mean_f64(const double *data, int64_t count);
WF_API double wf_var_f64(const double *data, int64_t count);
WF_API double wf_std_f64(const double *data, int64_t count);
WF_API double wf_norm2_f64(const double *data, int64_t count);
WF_API double wf_min_f64(const double *data, int64_t count);
WF_API double wf_max_f64(const double *data, int64_t count);
WF_API uint64_t wf_argmin_f64(const double *data, int64_t count);
WF_API uint64_t wf_argmax_f64(const double *data, int64_t count);
WF_API double wf_dot_f64(const double *a, const double *b, int64_t count);

WF_API float wf_sum_f32(const float *data, int64_t count);
WF_API float wf_mean_f32(const float *data, int64_t count);
WF_API float wf_var_f32(const float *data, int64_t count);
WF_API float wf_std_f32(const float *data, int64_t count);
WF_API float wf_norm2_f32(const float *data, int64_t count);
WF_API float wf_min_f32(const float *data, int64_t count);
WF_API float wf_max_f32(const float *data, int64_t count);
WF_API uint64_t wf_argmin_f32(const float *data, int64_t count);
WF_API uint64_t wf_argmax_f32(const float *data, int64_t count);
WF_API float wf_dot_f32(const float *a, const float *b, int64_t count);

/* ---- accumulators ------------------------------------------------------------------------------ */

/* A reduction in progress: a value of a monoid.  However the data are split and in whatever order
 * accumulators are merged, the result has the same bits; prod of floats alone requires that merged ranges are
 * adjacent.  An accumulator holds no resource other than memory. */
typedef struct wf_accumulator wf_accumulator;

/* Creates an accumulator without elements, for arrays of type.  ndim and shape are those of the results: 0 and
 * NULL for a single result.
 *
 * With a shape it takes groups.  Every result is then a separate reduction in progress, whose size depends on op
 * and type (f32: sum 128 bytes, var 304; f64: sum 584, var 1672; i64: sum 56; min 16, of floats 32; argmin 24, of
 * floats 48). prod with a float result takes 24 bytes for each power of two in the length of the longest group,
 * twice as much if first_index is not 0.  Results without a value are the reduction's fill.  The accumulator is in
 * host memory. */
WF_API wf_error wf_accumulator_create(wf_handle *handle, const wf_reduction *reduction, wf_type type, int32_t ndim,
                                      const int64_t *shape, wf_accumulator **accumulator);
WF_API void wf_accumulator_destroy(wf_accumulator *accumulator);

/* Adds every element of a (for dot, paired with b; otherwise b is NULL).  Their indices continue from the elements
 * added before.  groups may be NULL.  On an error the accumulator is unchanged; the exception is WF_ERROR_NAN,
 * which later adds, subtractions and results of the accumulator return as well.
 *
 * Arrays may be in a GPU's memory, with a handle of that GPU or auto.  With a shape, the groups are accumulated
 * there and copied to the host (stats take five passes; prod of floats is computed by the CPU), in at most 128 MiB
 * of scratch memory for slots of groups, in addition to what wf_reduce takes.  The call waits for this, so it
 * cannot be captured in a CUDA graph; wf_device_words_of_groups can.
 *
 * The results of the groups must have the accumulator's shape (wf_groups_shape); how groups are formed may differ
 * from call to call.  Each group is added to its result.  Indices are positions along the grouped axis, as in
 * wf_reduce, and continue from the positions added before: the whole axis counts, whether or not a position
 * belongs to a group.  prod with a float result counts the elements of each result from first_index instead. */
WF_API wf_error wf_accumulator_add(wf_handle *handle, wf_accumulator *accumulator, const wf_array *a,
                                   const wf_array *b, const wf_groups *groups);

/* Adds the elements of from to into.  from is unchanged unless it is into itself, which is allowed.  Both
 * must have the same op, type, NaN policy, result type, ddof and shape; into keeps its fill. */
WF_API wf_error wf_accumulator_merge(wf_handle *handle, wf_accumulator *into, const wf_accumulator *from);

/* Exchanges the contents of two accumulators, including reductions, types and shapes, for example to replace one by a
 * newly created one.  Allocates nothing.  WF_ERROR_MERGE if only one has a shape. */
WF_API wf_error wf_accumulator_swap(wf_handle *handle, wf_accumulator *one, wf_accumulator *other);

/* Appends the results of from to those of into along the first dimension, as for arrays that follow each other
 * along a dimension that is not reduced.  Both must have a shape, which may differ in the first dimension only,
 * must otherwise agree as in wf_accumulator_merge, and must have had the same positions added; they must be
 * different accumulators (WF_ERROR_ARGUMENT).  from is unchanged; on an error, so is into. */
WF_API wf_error wf_accumulator_append(wf_handle *handle, wf_accumulator *into, wf_accumulator *from);

/* Removes the elements of part, which were added before, from from: the result has the same bits as if they had
 * never been added, so that windows can slide without drift.  For sum, mean, var, std, norm1, norm2, dot, any,
 * all, nonzero and xor; other ops are WF_ERROR_UNSUPPORTED, since their state does not determine what remains.
 * Both must agree as in wf_accumulator_merge; part may be from itself.  On an error from is unchanged.
 *
 * WF_ERROR_MERGE: part cannot have been added, or it has an infinity while elements remain, which may be infinite
 * too. Two things can no longer be determined: whether a remaining sum of zero consists of -0 only (it is then +0,
 * unless nothing remains, or part consists of -0 and NaN only), and the and and or of an accumulator of xor. */
WF_API wf_error wf_accumulator_subtract(wf_handle *handle, wf_accumulator *from, const wf_accumulator *part);

/* The result of op for the elements added so far; more may be added afterwards.  op is the accumulator's own, or
 * another one that its state determines (var also yields sum, mean, std and norm2; stats yields everything listed
 * at WF_STATS).  output must be in host memory.
 *
 * With a shape, output receives all results, as in wf_reduce, and may also be in the memory of a GPU, with a
 * handle of that GPU or auto; the results have been copied when the call returns.  Results without a value are the
 * fill, or NaN, or WF_ERROR_EMPTY; the message names the first that failed, by its number in C order.
 * wf_accumulator_value is for accumulators without a shape only. */
WF_API wf_error wf_accumulator_result(wf_handle *handle, const wf_accumulator *accumulator, wf_op op,
                                      const wf_output *output);
WF_API wf_error wf_accumulator_value(wf_handle *handle, const wf_accumulator *accumulator, wf_op op,
                                     wf_value *value);

/* The type of op's results: that of the reduction, or the default.  WF_TYPE_DEFAULT if the accumulator's state
 * does not determine op. */
WF_API wf_type wf_accumulator_op_result_type(const wf_accumulator *accumulator, wf_op op);

/* All of wf_stats, from an accumulator of WF_STATS without a shape.  With a shape, read the results one op at a time with
 * wf_accumulator_result, and the counts with wf_accumulator_counts. */
WF_API wf_error wf_accumulator_stats(wf_handle *handle, const wf_accumulator *accumulator, wf_stats *stats);

/* The numbers of elements and NaNs in each result, as in wf_stats: counts excludes omitted NaNs (WF_NAN_OMIT);
 * nans counts all NaNs, omitted or not.  Each output is in host memory, of type u64 and with the accumulator's
 * shape, or NULL if it is not wanted.  Its status is not written. */
WF_API wf_error wf_accumulator_counts(wf_handle *handle, const wf_accumulator *accumulator, const wf_output *counts,
                                      const wf_output *nans);

/* The reduction's op, and the type of the elements. */
WF_API wf_op wf_accumulator_op(const wf_accumulator *accumulator);
WF_API wf_type wf_accumulator_type(const wf_accumulator *accumulator);
/* The number of elements (for dot, pairs) added so far, including NaNs; with a shape, of all results together, at
 * most 2^63 - 1. */
WF_API int64_t wf_accumulator_count(const wf_accumulator *accumulator);

/* The shape of the results: sets *ndim, 0 for a single result, and writes that many lengths to shape, which must hold
 * WF_NDIM_MAX. */
WF_API wf_error wf_accumulator_shape(const wf_accumulator *accumulator, int32_t *ndim, int64_t *shape);

/* An upper bound on the size of any saved accumulator without a shape, in bytes. */
#define WF_SAVED_NBYTES_MAX 16384

/* Writes the saved form, which is versioned and the same on every machine; equal reductions save equal
 * bytes.  Sets *nbytes to its length.  If capacity is less than that, writes nothing and returns
 * WF_ERROR_ARGUMENT, with *nbytes set; so a capacity of 0 asks for the length, which has no bound for an accumulator
 * with a shape. */
WF_API wf_error wf_accumulator_save(wf_handle *handle, const wf_accumulator *accumulator, void *buffer,
                                    size_t capacity, size_t *nbytes);
/* Creates an accumulator from its saved form.  WF_ERROR_FORMAT: the bytes are damaged, were written by a
 * later version, or describe a state that no data can produce (where this can be decided without searching
 * for such data). */
WF_API wf_error wf_accumulator_load(wf_handle *handle, const void *buffer, size_t nbytes,
                                    wf_accumulator **accumulator);

/* Changes the indices of all elements so that the first one is first_index, for parts whose position is known only
 * after the parts before them have been counted.  WF_ERROR_UNSUPPORTED for prod with a float result, whose tree
 * depends on the indices; WF_ERROR_RANGE if the last index would exceed 2^63 - 2. */
WF_API wf_error wf_accumulator_move(wf_handle *handle, wf_accumulator *accumulator, int64_t first_index);

/* ---- ranks ------------------------------------------------------------------------------------- */

/* An accumulator as 64-bit integers ("words"), for collectives that do not know its structure: MPI, NCCL,
 * torch.distributed, in any order and by any algorithm (warpfold_mpi.h does this).  The steps, on each of up to
 * 2^31 ranks:
 *
 *     1. wf_accumulator_words writes added and largest.
 *     2. The collective computes the sum of each word of added (no addition overflows: each word is at most 2^32 - 1
 *        in magnitude), and the maximum of each word of largest, as signed integers.
 *     3. If there are indices (counts.indices > 0): wf_accumulator_index_words writes them, and the collective computes
 *        the maximum of each again.  (Of equal extrema the first one counts, and which rank has it is known only
 *        after step 2.)
 *     4. wf_accumulator_from_words turns the words into the accumulator of all elements, which has the same saved bytes
 *        as if the accumulators had been merged.
 *
 * The number of words is the same for all accumulators of one reduction, type and shape; ranks without elements
 * take part with an accumulator without elements.  f64: sum 78 added, var 214; f32: sum 21, var 43; min 8 and 1
 * largest. WF_ERROR_UNSUPPORTED for prod: products do not add up, and its counts are 0. */
typedef struct wf_word_counts {
    int64_t added, largest, indices;
    uint64_t settings; /* a hash of reduction, type and shape, which must be the same on all ranks */
} wf_word_counts;

WF_API wf_error wf_accumulator_word_counts(wf_handle *handle, const wf_accumulator *accumulator, wf_word_counts *counts);

/* Writes the words that are added and those of which the maximum is taken.  Each array must have room for its count of
 * words; an array without words may be NULL. */
WF_API wf_error wf_accumulator_words(wf_handle *handle, const wf_accumulator *accumulator, int64_t *added,
                                     int64_t *largest);

/* Writes the index for each extremum that this accumulator contains, and the least possible word for the others.
 * largest: the maximum over all ranks. */
WF_API wf_error wf_accumulator_index_words(wf_handle *handle, const wf_accumulator *accumulator,
                                           const int64_t *largest, int64_t *indices);

/* Replaces the contents of accumulator, which keeps its reduction, type, shape and fill.  WF_ERROR_RANGE: there
 * are more than 2^63 - 1 elements in all.  WF_ERROR_FORMAT: the words are not the sums and maxima of words of such
 * accumulators. On an error the accumulator is unchanged. */
WF_API wf_error wf_accumulator_from_words(wf_handle *handle, wf_accumulator *accumulator, const int64_t *added,
                                          const int64_t *largest, const int64_t *indices);

/* The same in the memory of a GPU, for collectives that work there (NCCL): an array in that memory becomes words,
 * and the words of all ranks become the result, in the order of the handle's stream, without waiting and without
 * the host, in CUDA graphs too.
 *
 *     1. wf_device_words_of writes added, largest and indices, with the numbers of words that wf_accumulator_word_counts
 *        gives.
 *     2. The collective computes the sums of added and the maxima of largest, into other memory.
 *     3. If there are indices: wf_device_words_settle keeps those that may be the result's, and the collective computes
 *        their maxima.
 *     4. wf_device_words_result makes the result.
 *
 * The words are those of accumulators, so other ranks may take part with words from host memory.  The accumulator
 * argument gives the reduction, the type and the shape; its contents are ignored.  It must not be of prod, nor of
 * stats with a shape. */
typedef struct wf_device_words {
    size_t nbytes; /* sizeof(wf_device_words) */
    int64_t *added, *largest, *indices; /* in device memory; those without words: NULL */
    int64_t *agreed; /* WF_AGREED_WORDS further words to be summed, by which step 4 detects ranks that failed or have other
                      * settings (wf_word_counts); NULL: not wanted */
} wf_device_words;

/* The agreed words: the number of failed ranks (written as 0; a rank that failed writes 1 itself), the number of
 * ranks (written as 1), and each 16-bit quarter of the settings with its square. */
#define WF_AGREED_WORDS 10

/* a, and b for dot, are contiguous and in the memory of the GPU, as are the words; the first element has index
 * first_index.  joins: if not 0, the elements are added to the words already there, as if they were those of
 * another rank (agreed is unchanged): ranks times arrays are at most 2^31. */
WF_API wf_error wf_device_words_of(wf_handle *handle, const wf_accumulator *accumulator, int64_t first_index, const wf_array *a,
                                   const wf_array *b, const wf_device_words *words, int32_t joins);

/* The same for groups whose results have the accumulator's shape; the arrays may have any strides.  Labels may be
 * in host memory (the call then waits for their copy) or in the GPU's.  Bad labels in the GPU's memory (without
 * WF_SKIP_BAD_KEYS) are reported through agreed only: this rank then counts as failed, and its other words are
 * unspecified. */
WF_API wf_error wf_device_words_of_groups(wf_handle *handle, const wf_accumulator *accumulator, int64_t first_index,
                                          const wf_array *a, const wf_array *b, const wf_groups *groups,
                                          const wf_device_words *words, int32_t joins);

/* Keeps each index whose extremum is the largest of all ranks, and writes the least possible word for the others.  words:
 * largest is the maximum over all ranks, indices as step 1 wrote them.  own: largest as step 1 wrote it. */
WF_API wf_error wf_device_words_settle(wf_handle *handle, const wf_accumulator *accumulator, const wf_device_words *words,
                                       const int64_t *own);

/* Writes the result of the accumulator's own op (not stats), or all its results, to device memory, as wf_reduce
 * does. output->status may also become WF_ERROR_FORMAT or WF_ERROR_RANGE, as in wf_accumulator_from_words,
 * WF_ERROR_MERGE if the settings of the ranks differ, and WF_ERROR_ARGUMENT if a rank failed. */
WF_API wf_error wf_device_words_result(wf_handle *handle, const wf_accumulator *accumulator, const wf_device_words *words,
                                       const wf_output *output);

/* ---- files ------------------------------------------------------------------------------------- */

/* Reads the numbers of one or more files, in the order of the paths, as one array, in bounded memory.
 *
 * A .npy array in Fortran order is read in C order if the order can affect the result (argmin, argmax, stats,
 * WF_NAN_ERROR, pairs); this needs a regular file.  Otherwise, and by wf_reader_next, it is read in storage order,
 * in which the first dimension varies fastest.  prod of floats uses storage order, and its index counts in that
 * order.
 *
 * Text consists of lines of fields.  The delimiter of a file is the first comma, tab, semicolon or bar outside
 * quotes in its first line (within the first 256 KiB); without one, runs of blanks separate the fields.  The first
 * line is the one after skipped lines, a byte order mark, blank lines and comments.  Lines that begin with # are
 * comments and are ignored anywhere.  Blanks around a field are trimmed.  A field may be quoted; a quote inside it
 * is doubled, and it may contain line breaks, as in RFC 4180.  A first line such as "1,000" is an error unless the
 * delimiter is given, since it may be one number.  Every line must have as many fields as the first one.  The one
 * exception is blank-separated numbers read without a header or a column, whose lines may have any number of
 * fields. */
typedef struct wf_reader wf_reader;

typedef enum wf_format {
    WF_FORMAT_AUTO = 0, /* .npy by name or first bytes; else text if it looks like it; else raw */
    WF_FORMAT_NPY = 1,
    WF_FORMAT_RAW = 2, /* contiguous elements of a given type */
    WF_FORMAT_TEXT = 3 /* numbers, or a table */
} wf_format;

typedef enum wf_byte_order {
    WF_BYTE_ORDER_NATIVE = 0, /* that of this machine */
    WF_BYTE_ORDER_LITTLE = 1,
    WF_BYTE_ORDER_BIG = 2
} wf_byte_order;

/* The treatment of missing values: fields that are empty or -, or NA, null or NaN (with or without a sign) in
 * any case. */
typedef enum wf_missing {
    WF_MISSING_ERROR = 0, /* an error like any other non-number; NaN is a number if the type is a float */
    WF_MISSING_SKIP = 1   /* skipped: indices count only the values read.  Not for pairs */
} wf_missing;

typedef struct wf_reader_options {
    size_t nbytes; /* sizeof(wf_reader_options) */
    wf_format format;
    wf_type type;             /* for raw and text; WF_TYPE_DEFAULT: f64 for text.  A .npy must match it */
    const char *column_name;  /* text: read the column with this name in the header line */
    int64_t column;           /* text: read only this field of each line, counted from 1; 0: every field */
    int64_t skip_lines;       /* text: number of lines to skip at the top of each file */
    int32_t has_header;       /* text: the first line (after those skipped) holds column names */
    char delimiter;           /* text: what separates fields; 0: detect it from the first line */
    /* If not NULL, called periodically by wf_accumulator_add_reader with the number of bytes read so far and the
     * total (-1 if unknown). */
    void (*progress)(void *user, int64_t nbytes_done, int64_t nbytes_total);
    void *progress_user;
    wf_missing missing;       /* text */
    wf_byte_order byte_order; /* raw; a .npy states its own */
} wf_reader_options;

/* Opens a reader of the files.  The path "-" is standard input.  The first file is opened at once, each other one when it
 * is reached.  The paths are copied; options may be NULL. */
WF_API wf_error wf_reader_open(wf_handle *handle, const char *const *paths, size_t path_count,
                               const wf_reader_options *options, wf_reader **reader);
WF_API void wf_reader_close(wf_reader *reader);

/* The type of the elements. */
WF_API wf_type wf_reader_type(const wf_reader *reader);

/* The shape of the array in the reader's only file, a .npy, and the strides of its elements in the order in which
 * wf_reader_next returns them.  Both arrays must hold WF_NDIM_MAX.  WF_ERROR_UNSUPPORTED: there are several files,
 * or the file has another format, which has no shape. */
WF_API wf_error wf_reader_shape(wf_handle *handle, const wf_reader *reader, int32_t *ndim, int64_t *shape,
                                int64_t *stride_bytes);

/* The number of elements in the reader's only file if it can be read in ranges, which means a regular file, raw or a
 * .npy in C order; otherwise -1. */
WF_API int64_t wf_reader_count(const wf_reader *reader);

/* Restricts the reader to count elements, beginning with element first, of the wf_reader_count in its file.
 * Nothing must have been read yet. */
WF_API wf_error wf_reader_select(wf_handle *handle, wf_reader *reader, int64_t first, int64_t count);

/* Sets *block to a contiguous vector of the next elements, at most limit.  It has at least one element except
 * at the end.  The data belong to the reader and are valid until the next call with it. */
WF_API wf_error wf_reader_next(wf_handle *handle, wf_reader *reader, int64_t limit, wf_array *block);

/* Adds all remaining elements of a; for dot, the element pairs of two readers of the same type (otherwise b
 * is NULL), paired by index in C order.  Different lengths, or different shapes of two .npy files, are
 * WF_ERROR_ARGUMENT.  On an error the accumulator is unchanged, with two exceptions: WF_ERROR_NAN stays with
 * it, and pairs before the error have been added.  A reader that failed is at its end.  For pairs, a's
 * progress callback reports the bytes of both. */
WF_API wf_error wf_accumulator_add_reader(wf_handle *handle, wf_accumulator *accumulator, wf_reader *a,
                                          wf_reader *b);

/* ---- order ------------------------------------------------------------------------------------- */

/* Quantiles, distinct values and histograms depend only on the sorted values of the elements, in which -0 is below
 * +0. They are exact, for any number of threads.
 *
 * Each function takes an array in host memory, or a reader from which nothing has been read yet and which is at
 * its end afterwards.  Regular files are read several times, in bounded memory.  Elements that can be read only
 * once, as from a pipe, are held in memory, up to 256 MiB; more is WF_ERROR_RANGE.  A file that changes meanwhile
 * is WF_ERROR_IO, if the change is noticed. */

/* The value of a quantile that falls between two elements.  With n elements, sorted and counted from 0, the
 * quantile q is at position q * (n - 1). */
typedef enum wf_between {
    WF_LINEAR = 0,  /* a + (b - a) * the fraction of the way from a to b: exact, rounded once */
    WF_LOWER = 1,   /* a */
    WF_HIGHER = 2,  /* b */
    WF_NEAREST = 3, /* the nearer one; halfway, the one at the even position */
    WF_MIDPOINT = 4 /* (a + b) / 2: exact, rounded once */
} wf_between;

typedef struct wf_quantiles {
    size_t nbytes;   /* sizeof(wf_quantiles) */
    const double *q; /* count values, 0 or from 1e-20 to 1.  Each means its shortest decimal: 0.1 is one tenth */
    int64_t count;   /* 0 or more */
    wf_between between;
    wf_nan nan;
    wf_type result_type; /* WF_TYPE_DEFAULT: the element type; for integers, f64 with WF_LINEAR and WF_MIDPOINT */
} wf_quantiles;

/* The type of the results over elements of type; WF_TYPE_DEFAULT if type or quantiles->between is invalid. */
WF_API wf_type wf_quantiles_result_type(const wf_quantiles *quantiles, wf_type type);

/* The quantiles of a, or along axes of it: groups is NULL or by WF_GROUP_AXES.  The shape of the output is count
 * followed by that of the groups' results (wf_groups_shape).  Its type is WF_TYPE_DEFAULT or that of
 * wf_quantiles_result_type. WF_ERROR_EMPTY: there are no elements, or all are omitted NaNs; along axes the result
 * is NaN instead, if it is a float.  WF_ERROR_RANGE: a result does not fit an integer type.  After an error the
 * results are unspecified. output->status is not used. */
WF_API wf_error wf_quantile(wf_handle *handle, const wf_quantiles *quantiles, const wf_array *a, const wf_groups *groups,
                            const wf_output *output);

/* The quantiles of all elements.  Writes quantiles->count values; on an error, nothing. */
WF_API wf_error wf_quantile_reader(wf_handle *handle, const wf_quantiles *quantiles, wf_reader *reader, wf_value *values);

/* The number of distinct values.  -0 and +0 count as one value, and so do all NaN (they are not counted with
 * WF_NAN_OMIT). */
WF_API wf_error wf_count_distinct(wf_handle *handle, wf_nan nan, const wf_array *a, int64_t *count);
WF_API wf_error wf_count_distinct_reader(wf_handle *handle, wf_nan nan, wf_reader *reader, int64_t *count);

/* The bins of a histogram: edges[i] <= x < edges[i + 1]; the last bin includes its upper edge. */
typedef struct wf_histogram {
    size_t nbytes;       /* sizeof(wf_histogram) */
    const double *edges; /* edge_count values, non-decreasing, no NaN; may be infinite.  NULL: bins of equal width */
    int64_t edge_count;  /* 2 to 2^20 + 1 */
    wf_nan nan;          /* WF_NAN_ERROR; with the others, NaNs are counted separately */
} wf_histogram;

/* Sets counts[0] to the number of elements below the first edge, counts[1] to counts[edge_count - 1] to those in
 * the bins, counts[edge_count] to those above the last edge, and counts[edge_count + 1] to the number of NaNs.
 * found_edges receives the edges, unless it is NULL.
 *
 * Bins of equal width reach from the smallest number to the largest (if these are equal, from 0.5 below to 0.5
 * above). Each edge is the double nearest to its exact position, and the first and the last bin include what is
 * beyond a rounded edge.  Without numbers, the result is WF_ERROR_EMPTY; with an infinity, WF_ERROR_RANGE. */
WF_API wf_error wf_count_bins(wf_handle *handle, const wf_histogram *histogram, const wf_array *a, double *found_edges,
                              int64_t *counts);
WF_API wf_error wf_count_bins_reader(wf_handle *handle, const wf_histogram *histogram, wf_reader *reader,
                                     double *found_edges, int64_t *counts);

#ifdef __cplusplus
}
#endif

#endif
