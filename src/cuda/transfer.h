/* Copies between the GPU's memory and the host's, in the order of the handle's stream.  Those of elements and bytes are done
 * when the functions return. */
#ifndef WF_CUDA_TRANSFER_H
#define WF_CUDA_TRANSFER_H

#include "core/pages.h"
#include "cuda/cuda.h"

wf_error wf_cuda_bring(wf_handle *handle, void *to, wf_cuda_pointer from, size_t nbytes);
wf_error wf_cuda_send(wf_handle *handle, wf_cuda_pointer to, const void *from, size_t nbytes);

/* The same of an array in host memory, which has elements, with any strides; the GPU's lie side by side in C order. */
wf_error wf_cuda_bring_array(wf_handle *handle, const wf_array *to, wf_cuda_pointer from);
wf_error wf_cuda_send_array(wf_handle *handle, wf_cuda_pointer to, const wf_array *from);

/* Writes all elements of an array, which has some, from packed ones in C order. */
void wf_cuda_unpack(const wf_array *to, const unsigned char *packed);

/* Host memory for copies, at least nbytes: a call before may have left it, so that most calls allocate nothing.  `at` is NULL,
 * and there is a message, without memory. */
struct wf_pages wf_cuda_take_host(wf_handle *handle, size_t nbytes);
void wf_cuda_leave_host(wf_handle *handle, struct wf_pages pages);

#endif
