/* Arrays inside the library: their dimensions, whichever way the caller gave them, and what is checked of them. */
#ifndef WF_CORE_ARRAY_H
#define WF_CORE_ARRAY_H

#include "core/error.h"

#include <stdbool.h>

static inline int wf_array_ndim(const wf_array *array) {
    return array->shape ? array->ndim : 1;
}

static inline int64_t wf_array_length(const wf_array *array, int dimension) {
    return array->shape ? array->shape[dimension] : array->count;
}

/* Whether the array has one dimension whose elements lie side by side. */
static inline bool wf_array_is_packed_vector(const wf_array *array, int64_t nbytes) {
    return wf_array_ndim(array) == 1 && (!array->stride_bytes || array->stride_bytes[0] == nbytes);
}

/* The strides of each dimension, those of C order where the array gives none. */
void wf_array_strides(const wf_array *array, int64_t stride_bytes[WF_NDIM_MAX]);

/* Whether the array, or b with it, can be reduced; *count: its elements (pairs).  b may be NULL. */
wf_error wf_array_check(wf_handle *handle, const wf_array *a, const wf_array *b, int64_t *count);

/* Whether the shape of what is called by that name is the results'. */
wf_error wf_shape_check(wf_handle *handle, const char *name, int32_t ndim, const int64_t *shape, int32_t results_ndim,
                        const int64_t *results_shape);

#endif
