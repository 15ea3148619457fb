#include "core/spread.h"
#include "core/threads.h"
#include "core/view.h"

#include <stdlib.h>

/* Fewer are not worth another GPU's launches and copies. */
enum { PIECE_NBYTES = 1 << 18 };

struct piece {
    wf_handle *handle;
    wf_array array[2];
    int64_t shape[WF_NDIM_MAX];
    struct wf_accumulator added;
    wf_error error;
};

struct wf_spread {
    struct wf_threads *threads;
    int count; /* of pieces, at most */
    struct piece piece[];
};

struct wf_spread *wf_spread_create(int count) {
    struct wf_spread *spread = calloc(1, sizeof *spread + (size_t)count * sizeof *spread->piece);
    if (spread) spread->threads = wf_threads_create();
    if (!spread || !spread->threads) {
        free(spread);
        return NULL;
    }
    spread->count = count;
    return spread;
}

void wf_spread_destroy(struct wf_spread *spread) {
    if (!spread) return;
    wf_threads_destroy(spread->threads);
    free(spread);
}

static int count_pieces(const struct wf_spread *spread, const struct wf_view *view) {
    int64_t most = view->count / (int64_t)(PIECE_NBYTES / view->nbytes), rows = view->ndim ? view->shape[0] : 1;
    if (most > rows) most = rows;
    return most > spread->count ? spread->count : most > 1 ? (int)most : 1;
}

/* Rows begin <= i < begin + rows of the view's first dimension. */
static void cut_piece(struct piece *piece, const struct wf_view *view, wf_type type, int64_t begin, int64_t rows) {
    memcpy(piece->shape, view->shape, (size_t)view->ndim * sizeof *view->shape);
    if (view->ndim) piece->shape[0] = rows;
    for (int o = 0; o < view->operands; o++) {
        const unsigned char *data = view->data[o] + (view->ndim ? begin * view->stride_bytes[o][0] : 0);
        piece->array[o] = wf_array_nd(data, type, view->ndim, piece->shape, view->stride_bytes[o]);
    }
}

static void cut(struct wf_spread *spread, const struct wf_view *view, const struct wf_accumulator *into, int pieces,
                wf_handle *const *handles) {
    int64_t length = view->ndim ? view->shape[0] : 1, row = view->count / length, begin = 0;
    for (int i = 0; i < pieces; i++) {
        struct piece *piece = &spread->piece[i];
        int64_t rows = length / pieces + (i < length % pieces);
        piece->handle = handles[i];
        cut_piece(piece, view, into->type, begin, rows);
        if (view->operands == 1) piece->array[1].data = NULL;
        wf_accumulator_init_like(&piece->added, into, into->end_index + begin * row, NULL);
        begin += rows;
    }
}

static void add_piece(void *context, int i) {
    struct wf_spread *spread = context;
    struct piece *piece = &spread->piece[i];
    const wf_array *b = piece->array[1].data ? &piece->array[1] : NULL;
    piece->error = piece->handle->device->add(piece->handle, &piece->added, &piece->array[0], b);
}

wf_error wf_spread_add(wf_handle *handle, struct wf_spread *spread, wf_handle *const *handles, struct wf_accumulator *into,
                       const wf_array *a, const wf_array *b) {
    struct wf_view view;
    wf_view_make(&view, a, b, wf_accumulator_is_indexed(into));
    int pieces = count_pieces(spread, &view);
    cut(spread, &view, into, pieces, handles);
    wf_threads_run(spread->threads, pieces, add_piece, spread);
    for (int i = 0; i < pieces; i++) {
        const struct piece *piece = &spread->piece[i];
        if (piece->error) return wf_fail(handle, piece->error, "%s: %s", piece->handle->device_name, piece->handle->message);
    }
    for (int i = 0; i < pieces; i++) wf_accumulator_join(into, &spread->piece[i].added);
    return WF_OK;
}
