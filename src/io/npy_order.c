/* Reads .npy arrays in Fortran order in C order, by panels: consecutive slices of the array in C order.  For
 * each panel the file is read in its own order as far as possible, and the elements are scattered to their
 * places.  So memory is bounded and reads are as long as the shape allows. */
#include <stdlib.h>
#include <string.h>

#include "io/reader.h"

enum {
    PANEL_NBYTES = 1 << 24,
    WINDOW_NBYTES = 1 << 18,
    /* Runs separated by at most this gap are read together with the gap. */
    GAP_NBYTES_MAX = 1 << 12
};

struct wf_npy_panel {
    unsigned char *bytes;    /* capacity PANEL_NBYTES: elements in C order */
    unsigned char *window;   /* capacity WINDOW_NBYTES: a part of the file */
    int64_t count, position; /* elements of the panel; elements already taken */
    int64_t next_index;      /* the index, in C order, of the first element after the panel */
    int64_t data_offset;     /* where the array begins in the file */
    int64_t window_offset;
    size_t window_nbytes;
};

bool wf_npy_is_transposed(const struct wf_npy_header *header) {
    int long_count = 0;
    for (int i = 0; i < header->ndim; i++) long_count += header->shape[i] > 1;
    return header->is_fortran_order && long_count > 1;
}

void wf_npy_panel_destroy(struct wf_npy_panel *panel) {
    if (!panel) return;
    free(panel->bytes);
    free(panel->window);
    free(panel);
}

static struct wf_npy_panel *panel_create(void) {
    struct wf_npy_panel *panel = calloc(1, sizeof *panel);
    if (!panel) return NULL;
    panel->bytes = malloc(PANEL_NBYTES);
    panel->window = malloc(WINDOW_NBYTES);
    if (panel->bytes && panel->window) return panel;
    wf_npy_panel_destroy(panel);
    return NULL;
}

/* ---- reading ------------------------------------------------------------------------------------- */

/* The part of the array that a panel holds: consecutive slices along dimension axis. */
struct slab {
    int axis;
    int64_t slice_count;
    int64_t slice_size;            /* elements of a slice: the product of the lengths after axis */
    int64_t first;                 /* the offset of its first element in the file, in elements */
    int64_t stride[WF_NDIM_MAX];   /* in the file, in elements */
    int64_t c_stride[WF_NDIM_MAX]; /* in the panel, for the dimensions after axis */
};

static struct slab slab_at(const struct wf_npy_header *header, int64_t index) {
    int64_t capacity = PANEL_NBYTES / (int64_t)wf_type_nbytes(header->type), size = 1;
    struct slab slab = {.axis = header->ndim - 1, .slice_size = 1};
    for (int i = 0; i < header->ndim; i++) {
        slab.stride[i] = size;
        size *= header->shape[i];
    }
    size = 1;
    for (int i = header->ndim - 1; i >= 0; i--) {
        slab.c_stride[i] = size;
        if (size <= capacity) {
            slab.axis = i;
            slab.slice_size = size;
        }
        size *= header->shape[i];
    }
    int64_t rest = index;
    for (int i = header->ndim - 1; i >= 0; i--) {
        int64_t at = rest % header->shape[i];
        rest /= header->shape[i];
        slab.first += at * slab.stride[i];
        if (i == slab.axis) slab.slice_count = header->shape[i] - at;
    }
    if (slab.slice_count > capacity / slab.slice_size) slab.slice_count = capacity / slab.slice_size;
    return slab;
}

/* Sets *bytes to nbytes of the file at offset.  Reads through the window, which is filled beyond them if
 * reads_ahead. */
static wf_error fetch(wf_handle *handle, const wf_reader *reader, int64_t offset, size_t nbytes,
                      bool reads_ahead, const unsigned char **bytes) {
    struct wf_npy_panel *panel = reader->panel;
    int64_t window_end = panel->window_offset + (int64_t)panel->window_nbytes;
    if (offset < panel->window_offset || offset + (int64_t)nbytes > window_end) {
        int64_t left = reader->source.nbytes_total - offset;
        size_t wanted = reads_ahead ? (left < WINDOW_NBYTES ? (size_t)left : WINDOW_NBYTES) : nbytes;
        panel->window_offset = offset;
        panel->window_nbytes = 0;
        wf_error error =
            wf_elements_read(handle, reader, panel->window, wanted, offset, &panel->window_nbytes);
        if (error) return error;
    }
    *bytes = panel->window + (offset - panel->window_offset);
    return WF_OK;
}

/* Copies count contiguous elements to places stride elements apart. */
static void scatter(unsigned char *to, int64_t stride, const unsigned char *from, int64_t count,
                    size_t nbytes) {
    size_t step = (size_t)stride * nbytes;
    for (int64_t i = 0; nbytes == 1 && i < count; i++) to[(size_t)i * step] = from[i];
    for (int64_t i = 0; nbytes == 2 && i < count; i++) memcpy(to + (size_t)i * step, from + 2 * i, 2);
    for (int64_t i = 0; nbytes == 4 && i < count; i++) memcpy(to + (size_t)i * step, from + 4 * i, 4);
    for (int64_t i = 0; nbytes == 8 && i < count; i++) memcpy(to + (size_t)i * step, from + 8 * i, 8);
}

/* Reads the element at one place of every slice.  first is the offset of the first slice's in the file. */
static wf_error read_run(wf_handle *handle, const wf_reader *reader, const struct slab *slab, int64_t first,
                         int64_t place) {
    struct wf_npy_panel *panel = reader->panel;
    size_t nbytes = wf_type_nbytes(reader->type);
    int64_t stride = slab->stride[slab->axis];
    int64_t run_length = stride == 1 ? WINDOW_NBYTES / (int64_t)nbytes : 1;
    int64_t between = stride == 1 ? slab->stride[slab->axis] * reader->npy.shape[slab->axis] : stride;
    bool reads_ahead = between <= GAP_NBYTES_MAX / (int64_t)nbytes;
    for (int64_t i = 0; i < slab->slice_count; i += run_length) {
        int64_t count = slab->slice_count - i < run_length ? slab->slice_count - i : run_length;
        const unsigned char *from;
        wf_error error = fetch(handle, reader, panel->data_offset + (first + i * stride) * (int64_t)nbytes,
                               (size_t)count * nbytes, reads_ahead, &from);
        if (error) return error;
        scatter(panel->bytes + (size_t)(i * slab->slice_size + place) * nbytes, slab->slice_size, from, count,
                nbytes);
    }
    return WF_OK;
}

/* Reads every place of the slices, in the order of the file. */
static wf_error read_slab(wf_handle *handle, const wf_reader *reader, const struct slab *slab) {
    const struct wf_npy_header *header = &reader->npy;
    int64_t at[WF_NDIM_MAX] = {0}, first = slab->first, place = 0;
    for (;;) {
        wf_error error = read_run(handle, reader, slab, first, place);
        if (error) return error;
        int i = slab->axis + 1;
        for (; i < header->ndim && ++at[i] == header->shape[i]; i++) {
            at[i] = 0;
            first -= (header->shape[i] - 1) * slab->stride[i];
            place -= (header->shape[i] - 1) * slab->c_stride[i];
        }
        if (i == header->ndim) return WF_OK;
        first += slab->stride[i];
        place += slab->c_stride[i];
    }
}

/* ---- taking -------------------------------------------------------------------------------------- */

static wf_error begin(wf_handle *handle, wf_reader *reader) {
    struct wf_source *source = &reader->source;
    if (source->nbytes_total < 0)
        return wf_fail(
            handle, WF_ERROR_ARGUMENT,
            "%s: reading an array in Fortran order in C order needs a plain file: no pipe, and nothing compressed",
            source->name);
    if (!reader->panel && !(reader->panel = panel_create()))
        return wf_fail(handle, WF_ERROR_MEMORY, "%s: no memory for a panel of %d bytes", source->name,
                       PANEL_NBYTES + WINDOW_NBYTES);
    reader->panel->count = reader->panel->position = reader->panel->next_index = 0;
    reader->panel->window_nbytes = 0;
    reader->panel->data_offset = wf_source_offset(source);
    return WF_OK;
}

static wf_error next_panel(wf_handle *handle, wf_reader *reader) {
    wf_error error = reader->count_left == reader->npy.count ? begin(handle, reader) : WF_OK;
    if (error) return error;
    struct wf_npy_panel *panel = reader->panel;
    struct slab slab = slab_at(&reader->npy, panel->next_index);
    error = read_slab(handle, reader, &slab);
    if (error) return error;
    panel->count = slab.slice_count * slab.slice_size;
    panel->position = 0;
    panel->next_index += panel->count;
    wf_source_claim(&reader->source, (size_t)panel->count * wf_type_nbytes(reader->type));
    return WF_OK;
}

wf_error wf_npy_take_transposed(wf_handle *handle, wf_reader *reader, struct wf_chunk *chunk) {
    size_t nbytes = wf_type_nbytes(reader->type);
    chunk->count = 0;
    chunk->nbytes = 0;
    chunk->is_claimed = false;
    chunk->data = chunk->bytes;
    bool is_used_up =
        reader->count_left == reader->npy.count || reader->panel->position == reader->panel->count;
    wf_error error = is_used_up ? next_panel(handle, reader) : WF_OK;
    if (error) return error;
    struct wf_npy_panel *panel = reader->panel;
    int64_t left = panel->count - panel->position, capacity = WF_CHUNK_NBYTES / (int64_t)nbytes;
    chunk->count = left < capacity ? left : capacity;
    chunk->nbytes = (size_t)chunk->count * nbytes;
    memcpy(chunk->bytes, panel->bytes + (size_t)panel->position * nbytes, chunk->nbytes);
    panel->position += chunk->count;
    reader->count_left -= chunk->count;
    return WF_OK;
}
