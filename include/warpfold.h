/* warpfold: reductions of arrays, correctly rounded, and so the same bits everywhere.
 *
 * Results.  sum, mean, dot, norm1, norm2, var and std of floats are the real-number result of the
 * given inputs rounded once to the result type (nearest, ties to even); integer results are exact or
 * an error, never wrapped.  No result depends on the number of threads, the instruction set, the
 * device, the order in which accumulators are merged, or the caller's rounding mode.
 *
 * Errors.  Every function that can fail returns a wf_error; anything but WF_OK means that nothing was
 * written to the result.  The message is on the handle (wf_handle_message).  The library never
 * prints, exits or aborts.
 *
 * Ownership.  The library keeps no pointer to the caller's memory after a call returns, except that a
 * reader keeps the files it has opened.  What a *_create, *_load or *_open function hands out belongs
 * to the caller, who gives it to the matching *_destroy or *_close (each accepts NULL).
 *
 * Threads.  There is no mutable global state.  A handle, an accumulator and a reader each serve one
 * thread at a time; different ones may be used by different threads at once.  Input arrays are only
 * read.  A handle whose process forks must not be used in the child.
 *
 * Floating-point environment.  Rounding mode, exception flags, traps and FTZ/DAZ belong to the
 * caller: every function leaves them as it found them, and none changes a result.
 *
 * Structures.  Zero every field that is not set, reserved ones too (`wf_options options = {0}`): zero
 * is each option's default, and later versions take their room from the reserved fields.
 */
#ifndef WARPFOLD_H
#define WARPFOLD_H

#ifndef __CUDACC_RTC__ /* which has no such headers: there the types come first */
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

/* The version of the library that runs, as "0.1.0".  Static text. */
WF_API const char *wf_version(void);

/* ---- errors ------------------------------------------------------------------------------------ */

typedef enum wf_error {
    WF_OK = 0,
    WF_ERROR_ARGUMENT,    /* an argument is NULL, out of its range, or does not fit another */
    WF_ERROR_UNSUPPORTED, /* the op does not exist for this type or these options */
    WF_ERROR_DEVICE,      /* no such device, or it cannot be used here */
    WF_ERROR_MEMORY,      /* no memory to be had */
    WF_ERROR_EMPTY,       /* the op has no value for so few elements (min of nothing, var of n <= ddof) */
    WF_ERROR_RANGE,       /* the exact result does not fit in the result type; or too many elements */
    WF_ERROR_NAN,         /* the policy is WF_NAN_ERROR and a NaN was met */
    WF_ERROR_MERGE,       /* the accumulators are of different reductions, or (prod) not neighbours */
    WF_ERROR_FORMAT,      /* a file or saved accumulator is not what it should be */
    WF_ERROR_IO           /* the system refused to open, read or write */
} wf_error;

/* What the code means, in a few words.  Static text; never NULL, whatever the code. */
WF_API const char *wf_error_text(wf_error error);

/* ---- types, ops, values ------------------------------------------------------------------------ */

/* Element types.  bool is one byte, false where 0.  f16 is IEEE binary16; bf16 the upper half of an
 * f32; both are passed as uint16_t. */
typedef enum wf_type {
    WF_TYPE_DEFAULT = 0, /* "the usual one": only where a type is asked for */
    WF_BOOL,
    WF_I8,
    WF_I16,
    WF_I32,
    WF_I64,
    WF_U8,
    WF_U16,
    WF_U32,
    WF_U64,
    WF_F16,
    WF_BF16,
    WF_F32,
    WF_F64
} wf_type;

/* Ops, with the result type they have by default (T: the array's type). */
typedef enum wf_op {
    WF_OP_NONE = 0,
    WF_SUM,     /* T of floats; i64, or u64 for unsigned and bool */
    WF_PROD,    /* as sum.  Floats: the binary tree of aligned blocks of the element index */
    WF_MIN,     /* T.  -0 is less than +0 */
    WF_MAX,     /* T */
    WF_ARGMIN,  /* u64: the smallest index that holds the minimum */
    WF_ARGMAX,  /* u64 */
    WF_MEAN,    /* T of floats, else f64: the exact sum divided by n, rounded once */
    WF_VAR,     /* T of floats, else f64: (n*S2 - S1^2) / (n*(n - ddof)), rounded once */
    WF_STD,     /* T of floats, else f64: the square root of the exact var, rounded once */
    WF_NORM1,   /* T of floats, else u64: the sum of |x| */
    WF_NORM2,   /* T of floats, else f64: the square root of the exact sum of x*x, rounded once */
    WF_NORMINF, /* T of floats, else u64: the largest |x| */
    WF_DOT,     /* as sum; of two arrays */
    WF_ANY,     /* bool: is any element nonzero */
    WF_ALL,     /* bool: are all elements nonzero */
    WF_NONZERO, /* u64: how many are nonzero */
    WF_AND,     /* T; integers and bool only, like or and xor */
    WF_OR,
    WF_XOR,
    WF_STATS /* no single value: an accumulator that answers every op but prod, dot, and, or, xor */
} wf_op;

/* One number with its type: read the member that the type names. */
typedef struct wf_value {
    wf_type type;
    union {
        int64_t i;   /* i8 i16 i32 i64 */
        uint64_t u;  /* bool (0 or 1) u8 u16 u32 u64 */
        double f64;  /* f64 */
        float f32;   /* f32 */
        uint16_t f16; /* f16 and bf16: the bits */
    } as;
} wf_value;

/* Names as the command line has them ("f32", "norm2"), or NULL where there is no such type or op. */
WF_API const char *wf_type_name(wf_type type);
WF_API const char *wf_op_name(wf_op op);

/* The inverse; WF_TYPE_DEFAULT and WF_OP_NONE where the name is unknown or NULL. */
WF_API wf_type wf_type_parse(const char *name);
WF_API wf_op wf_op_parse(const char *name);

/* Bytes of one element; 0 where there is no such type. */
WF_API size_t wf_type_nbytes(wf_type type);

/* The type that op has by default over arrays of type; WF_TYPE_DEFAULT where the op does not exist for
 * the type (and for WF_STATS, which has no single value). */
WF_API wf_type wf_op_result_type(wf_op op, wf_type type);

/* The shortest decimal text that reads back to the same bits ("0.1", "inf", "nan", "-3"); with hex
 * nonzero hexadecimal ("0x1.8p+1", "0x2a").  Writes at most capacity bytes with the closing 0, and
 * returns the length of the whole text without it, as snprintf does. */
WF_API size_t wf_value_format(const wf_value *value, int hex, char *text, size_t capacity);

/* The value as the nearest double (for f64, f32, f16, bf16 and integers below 2^53: exactly). */
WF_API double wf_value_to_double(const wf_value *value);

/* ---- arrays ------------------------------------------------------------------------------------ */

#define WF_NDIM_MAX 32

/* A view that owns nothing.  Element (i0, i1, ...) lies at data + i0*stride_bytes[0] + ...: any
 * stride is allowed (negative, zero, odd), and no alignment is needed.  Its element index, which arg
 * ops report, counts in C order: the last dimension runs fastest, whatever the strides.  ndim 0 is a
 * single element.  data may be NULL only where the array has no elements. */
typedef struct wf_array {
    const void *data;
    wf_type type;
    int32_t ndim;
    int64_t shape[WF_NDIM_MAX];
    int64_t stride_bytes[WF_NDIM_MAX];
} wf_array;

/* count elements one after the other. */
WF_API wf_array wf_array_vector(const void *data, wf_type type, int64_t count);

/* count elements, each stride_bytes after the one before. */
WF_API wf_array wf_array_strided(const void *data, wf_type type, int64_t count, int64_t stride_bytes);

/* ndim dimensions; with stride_bytes NULL packed in C order.  An ndim beyond WF_NDIM_MAX gives an array
 * that every function refuses. */
WF_API wf_array wf_array_nd(const void *data, wf_type type, int32_t ndim, const int64_t *shape,
                            const int64_t *stride_bytes);

/* ---- options ----------------------------------------------------------------------------------- */

/* What happens to a NaN in the input (never to one that arises, such as inf - inf). */
typedef enum wf_nan {
    WF_NAN_PROPAGATE = 0, /* the result is NaN; arg ops give the first NaN's index */
    WF_NAN_OMIT,          /* the element (in dot, the pair) is left out; indices stay as they were */
    WF_NAN_ERROR          /* WF_ERROR_NAN; the message names the first NaN's index */
} wf_nan;

typedef struct wf_options {
    wf_nan nan;
    wf_type result_type; /* WF_TYPE_DEFAULT: as listed at wf_op */
    int64_t ddof;        /* var and std divide by n - ddof; 0 or more */
    int64_t first_index; /* the index of the first element that is added; 0 or more */
    int32_t threads;     /* at most so many; 0: one for each processor this process may use */
    int32_t reserved_i32;
    uint64_t reserved[8];
} wf_options;

/* ---- handles ----------------------------------------------------------------------------------- */

/* A device, its threads and scratch memory, and the message of the last error. */
typedef struct wf_handle wf_handle;

/* device: "cpu"; "cuda" (the first GPU) or "cuda:N"; or NULL or "auto", which reduces what lies in a GPU's memory
 * on that GPU, and what lies in the host's memory on the CPU, where one pass over it is fastest.  Starts no
 * thread, and auto opens no GPU before it is needed.  WF_ERROR_DEVICE: wf_device_describe says why. */
WF_API wf_error wf_handle_create(const char *device, wf_handle **handle);
WF_API void wf_handle_destroy(wf_handle *handle);

/* What went wrong in the last call that failed with this handle: what, where, and what to do; ""
 * before any has.  Valid until the next call with the handle. */
WF_API const char *wf_handle_message(const wf_handle *handle);

/* The handle's device in words, such as "cpu: tier avx2, 8 processors".  Valid as long as the handle. */
WF_API const char *wf_handle_device(const wf_handle *handle);

/* ---- GPUs --------------------------------------------------------------------------------------- */

/* NVIDIA GPUs of compute capability 7.5 and later, through the driver and NVRTC, both opened at run time.
 *
 * Arrays may lie in device memory: array.data is then a device pointer (the handle must be of that GPU, or auto).
 * Host arrays are copied to a GPU that was asked for by name.  Kernels are compiled on their first use, which
 * takes about a second, and kept in a cache ($XDG_CACHE_HOME/warpfold).  The handle uses the GPU's primary context, as
 * the CUDA runtime, torch and cupy do, and leaves the thread's current context as it was. */

/* In words what "cpu", "cuda:N" or "auto" is, or why it cannot be used here (then WF_ERROR_DEVICE) and what to do.
 * Writes at most capacity bytes with the closing 0. */
WF_API wf_error wf_device_describe(const char *device, char *text, size_t capacity);

/* The number of GPUs that the driver shows; 0 without a driver. */
WF_API int32_t wf_device_count(void);

/* In words how the handle's last reduction on its GPU was laid out: blocks, threads, loads; "" before any, and for
 * other devices.  Valid until the next call with the handle. */
WF_API const char *wf_handle_plan(wf_handle *handle);

/* All later work of the handle on its GPU is done in this CUstream (cudaStream_t) in order; NULL: the legacy
 * default stream, as at first.  The stream must live until the handle has another or is not called any more but
 * to be destroyed. */
WF_API wf_error wf_handle_set_stream(wf_handle *handle, void *stream);

/* A result in device memory.  Where status is not WF_OK the value is NaN (floats) or 0. */
typedef struct wf_device_value {
    wf_value value;
    int32_t status; /* wf_error */
    int32_t reserved;
} wf_device_value;

/* As wf_reduce and wf_reduce_pair, of arrays in device memory, but the result is left in device memory, in
 * the order of the stream, without waiting for it: d_result, aligned to 8 bytes.  Only errors that show
 * before the launch are returned.  From the second call with the same op, type and options on nothing is
 * allocated, so that the call can be captured in a CUDA graph (contiguous arrays; a handle's graph and its
 * other work must not run at the same time).  WF_ERROR_UNSUPPORTED: strided arrays, and a prod that is a float. */
WF_API wf_error wf_reduce_on_device(wf_handle *handle, wf_op op, const wf_array *array, const wf_options *options,
                                    wf_device_value *d_result);
WF_API wf_error wf_reduce_pair_on_device(wf_handle *handle, wf_op op, const wf_array *a, const wf_array *b,
                                         const wf_options *options, wf_device_value *d_result);

/* ---- reductions in one call -------------------------------------------------------------------- */

/* options may be NULL for all defaults, here and below.  No memory is allocated and no thread started
 * for small arrays. */
WF_API wf_error wf_reduce(wf_handle *handle, wf_op op, const wf_array *array, const wf_options *options,
                          wf_value *result);

/* dot: arrays of one type and one shape, paired by element index. */
WF_API wf_error wf_reduce_pair(wf_handle *handle, wf_op op, const wf_array *a, const wf_array *b,
                               const wf_options *options, wf_value *result);

/* Several statistics in one pass over the data.  A value that does not exist for so few elements
 * (mean of nothing) has type WF_TYPE_DEFAULT; so have argmin and argmax when accumulators were merged
 * that gave one index to several elements.  options.result_type applies to sum, mean, var, std, min,
 * max and the norms. */
typedef struct wf_stats {
    uint64_t count; /* without the NaNs where they are omitted */
    uint64_t nans;
    wf_value sum, mean, var, std, min, max, argmin, argmax, nonzero, norm1, norm2, norminf;
} wf_stats;

WF_API wf_error wf_reduce_stats(wf_handle *handle, const wf_array *array, const wf_options *options,
                                wf_stats *stats);

/* ---- the 90 % case ----------------------------------------------------------------------------- */

/* One contiguous array, all defaults, no handle.  What has no value is NaN (WF_NO_INDEX for arg ops):
 * min, max, mean, var of nothing; a count below 0; a NULL array of more than nothing. */
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

/* A reduction in progress: a value of a monoid.  Adding arrays in any pieces and merging in any order
 * gives the same bits; only prod of floats needs merged ranges to be neighbours.  Holds no resource but
 * its memory. */
typedef struct wf_accumulator wf_accumulator;

/* The identity of op over elements of type.  options.threads is not kept; each add takes its own. */
WF_API wf_error wf_accumulator_create(wf_handle *handle, wf_op op, wf_type type, const wf_options *options,
                                      wf_accumulator **accumulator);
WF_API void wf_accumulator_destroy(wf_accumulator *accumulator);

/* Adds every element; their indices count on from those added before.  threads as in wf_options.
 * On an error the accumulator is as it was, except after WF_ERROR_NAN, which stays with it. */
WF_API wf_error wf_accumulator_add(wf_handle *handle, wf_accumulator *accumulator, const wf_array *array,
                                   int32_t threads);
WF_API wf_error wf_accumulator_add_pair(wf_handle *handle, wf_accumulator *accumulator, const wf_array *a,
                                        const wf_array *b, int32_t threads);

/* into becomes the reduction of what both hold; from is not changed (it may be into itself).  Both must
 * have the same op, type, NaN policy, result type and ddof. */
WF_API wf_error wf_accumulator_merge(wf_handle *handle, wf_accumulator *into, const wf_accumulator *from);

/* The value of op for what was added so far, which more may follow.  op: the one that it was created
 * with, or another that follows from what it holds (one for var also gives sum, mean, std and norm2;
 * one for stats, everything listed at WF_STATS). */
WF_API wf_error wf_accumulator_result(wf_handle *handle, const wf_accumulator *accumulator, wf_op op,
                                      wf_value *result);

/* For accumulators of WF_STATS. */
WF_API wf_error wf_accumulator_stats(wf_handle *handle, const wf_accumulator *accumulator, wf_stats *stats);

WF_API wf_op wf_accumulator_op(const wf_accumulator *accumulator);
WF_API wf_type wf_accumulator_type(const wf_accumulator *accumulator);
/* Elements (for dot, pairs) added so far, NaNs included. */
WF_API int64_t wf_accumulator_count(const wf_accumulator *accumulator);

/* No saved accumulator is longer, in bytes. */
#define WF_SAVED_NBYTES_MAX 16384

/* The saved form: versioned, the same on every machine; equal reductions save equal bytes.  Writes at
 * most capacity bytes to buffer and sets *nbytes to the length; a capacity that is too small is
 * WF_ERROR_ARGUMENT, with *nbytes set. */
WF_API wf_error wf_accumulator_save(wf_handle *handle, const wf_accumulator *accumulator, void *buffer,
                                    size_t capacity, size_t *nbytes);
/* Refuses anything that wf_accumulator_save did not write, with WF_ERROR_FORMAT. */
WF_API wf_error wf_accumulator_load(wf_handle *handle, const void *buffer, size_t nbytes,
                                    wf_accumulator **accumulator);

/* ---- files ------------------------------------------------------------------------------------- */

/* The numbers of one or several files, read in order, in bounded memory, as one array.  .npy files keep
 * the order of storage: in a Fortran-order one the element index counts the first dimension fastest. */
typedef struct wf_reader wf_reader;

typedef enum wf_format {
    WF_FORMAT_AUTO = 0, /* .npy by name or first bytes; otherwise text if it reads as such, else raw */
    WF_FORMAT_NPY,
    WF_FORMAT_RAW, /* elements of a given type, one after the other, in this machine's byte order */
    WF_FORMAT_TEXT /* numbers separated by white space or commas */
} wf_format;

typedef struct wf_reader_options {
    wf_format format;
    wf_type type;             /* of raw and text; WF_TYPE_DEFAULT: f64 for text.  A .npy must agree */
    const char *column_name;  /* text: read the column that the header line so names */
    int64_t column;           /* text: read only field number column of each line, from 1; 0: every field */
    int64_t skip_lines;       /* text: so many lines at the top of each file are not read */
    int32_t has_header;       /* text: the first line (after those skipped) holds names, not numbers */
    char delimiter;           /* text: what separates fields; 0: white space or a comma */
    char reserved_char[3];
    /* Called now and then while wf_accumulator_add_reader works, if not NULL: bytes read so far, and in
     * all (-1 where that is not known). */
    void (*progress)(void *user, int64_t nbytes_done, int64_t nbytes_total);
    void *progress_user;
    uint64_t reserved[6];
} wf_reader_options;

/* paths: "-" is standard input.  The first file is opened now, the others when their turn comes.
 * options may be NULL. */
WF_API wf_error wf_reader_open(wf_handle *handle, const char *const *paths, size_t path_count,
                               const wf_reader_options *options, wf_reader **reader);
WF_API void wf_reader_close(wf_reader *reader);

/* The type of the elements that it gives. */
WF_API wf_type wf_reader_type(const wf_reader *reader);

/* The next elements, at most limit of them: at least one unless the end is reached, where the block
 * has none.  The block's data is the reader's and is valid until its next call. */
WF_API wf_error wf_reader_next(wf_handle *handle, wf_reader *reader, int64_t limit, wf_array *block);

/* Adds all that the reader has left, on up to threads threads.  On an error the accumulator is as it was, except
 * after WF_ERROR_NAN, which stays with it, and the reader is at its end. */
WF_API wf_error wf_accumulator_add_reader(wf_handle *handle, wf_accumulator *accumulator, wf_reader *reader,
                                          int32_t threads);
/* Pairs of two readers of one type; a different length is WF_ERROR_ARGUMENT.  Progress is told to a's callback,
 * for both.  On an error, the pairs before it have been added. */
WF_API wf_error wf_accumulator_add_reader_pair(wf_handle *handle, wf_accumulator *accumulator,
                                               wf_reader *a, wf_reader *b, int32_t threads);

#ifdef __cplusplus
}
#endif

#endif
