/* What is read several times: all elements of an array or of a reader's files, in blocks, by several threads, in no
 * particular order. */
#ifndef WF_IO_INPUT_H
#define WF_IO_INPUT_H

#include "core/threads.h"
#include "core/view.h"
#include "io/reader.h"

/* What can be read only once, as a pipe, is held in memory, if it has no more bytes as elements. */
#define WF_HELD_NBYTES_MAX ((int64_t)1 << 28)

enum { WF_INPUT_THREADS_MAX = 64 };

struct wf_input {
    wf_handle *handle;
    wf_type type;
    int64_t count;     /* the number of elements; -1: not known yet */
    int thread_count;  /* that visits use */
    struct wf_threads *threads;
    wf_reader *reader; /* NULL: array is visited */
    wf_array array;
    struct wf_view view; /* array's, if it has elements */
    void *held;
};

/* Both keep what they are given, which the caller closes, until wf_input_close, which is needed after WF_OK alone.
 * The array has been checked; it must be in host memory.  The reader begins at its first file, whatever was read of it
 * before, and is at its end afterwards. */
wf_error wf_input_of_array(wf_handle *handle, const wf_array *array, struct wf_input *input);
wf_error wf_input_of_reader(wf_handle *handle, wf_reader *reader, struct wf_input *input);
void wf_input_close(struct wf_input *input);

/* Calls visit with blocks until all elements have had their turn; thread: 0 to thread_count - 1, each in one call at a
 * time. */
typedef void wf_visit(void *context, int thread, const void *elements, int64_t count);
wf_error wf_input_visit(struct wf_input *input, wf_visit *visit, void *context);

/* Fails if the array is in the memory of a GPU. */
wf_error wf_input_check_memory(wf_handle *handle, const wf_array *array);

/* Calls work(context, i) for i = 0 and so on, at once, on as many threads as that many bytes are worth. */
void wf_input_run(wf_handle *handle, int64_t nbytes, void (*work)(void *context, int i), void *context);

#endif
