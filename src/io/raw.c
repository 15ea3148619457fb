/* Elements that stand in a file as they do in memory; and raw files, which are such elements, one after the
 * other, and nothing else. */
#include "io/reader.h"

wf_error wf_elements_take(wf_handle *handle, wf_reader *reader, int64_t limit, struct wf_piece *piece) {
    struct wf_source *source = &reader->source;
    size_t nbytes = wf_type_nbytes(reader->type);
    int64_t claimable = wf_source_claimable(source) / (int64_t)nbytes;
    if (claimable > 0 && claimable < limit) limit = claimable;
    if (limit > (int64_t)(WF_PIECE_NBYTES / nbytes)) limit = (int64_t)(WF_PIECE_NBYTES / nbytes);
    wf_error error = WF_OK;
    piece->is_claimed = claimable > 0;
    piece->nbytes = (size_t)limit * nbytes;
    if (piece->is_claimed)
        piece->offset = wf_source_claim(source, piece->nbytes);
    else
        error = wf_source_take(handle, source, piece->bytes, piece->nbytes, &piece->nbytes);
    piece->data = piece->bytes;
    piece->count = (int64_t)(piece->nbytes / nbytes);
    return error;
}

static void swap_bytes(void *elements, size_t nbytes, int64_t count) {
    uint16_t *twos = elements;
    uint32_t *fours = elements;
    uint64_t *eights = elements;
    for (int64_t i = 0; nbytes == 2 && i < count; i++) twos[i] = __builtin_bswap16(twos[i]);
    for (int64_t i = 0; nbytes == 4 && i < count; i++) fours[i] = __builtin_bswap32(fours[i]);
    for (int64_t i = 0; nbytes == 8 && i < count; i++) eights[i] = __builtin_bswap64(eights[i]);
}

static wf_error read_claimed(wf_handle *handle, const wf_reader *reader, struct wf_piece *piece) {
    const struct wf_source *source = &reader->source;
    size_t found;
    wf_error error = wf_source_read_at(handle, source, piece->bytes, piece->nbytes, piece->offset, &found);
    piece->count = (int64_t)(found / wf_type_nbytes(reader->type));
    if (error || found == piece->nbytes) return error;
    return wf_fail(handle, WF_ERROR_FORMAT,
                   "%s: truncated while it was read: %lld bytes expected, %lld found", source->name,
                   (long long)source->nbytes_total, (long long)(piece->offset + (int64_t)found));
}

wf_error wf_elements_finish(wf_handle *handle, const wf_reader *reader, struct wf_piece *piece) {
    wf_error error = piece->is_claimed ? read_claimed(handle, reader, piece) : WF_OK;
    if (reader->is_swapped) swap_bytes(piece->bytes, wf_type_nbytes(reader->type), piece->count);
    return error;
}

/* ---- raw files ----------------------------------------------------------------------------------- */

static wf_error fail_partial(wf_handle *handle, const wf_reader *reader, wf_type type, int64_t nbytes) {
    return wf_fail(handle, WF_ERROR_FORMAT, "%s: %lld bytes are no multiple of the %zu bytes of one %s",
                   reader->source.name, (long long)nbytes, wf_type_nbytes(type), wf_type_name(type));
}

static wf_error raw_open(wf_handle *handle, wf_reader *reader, wf_type *type) {
    *type = reader->options.type;
    if (!*type)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "%s: raw data do not name their type: give it",
                       reader->source.name);
    reader->is_swapped = false;
    int64_t nbytes = reader->source.nbytes_total;
    if (nbytes > 0 && (size_t)nbytes % wf_type_nbytes(*type))
        return fail_partial(handle, reader, *type, nbytes);
    return WF_OK;
}

/* A file that grows is read to its end all the same. */
static wf_error raw_take(wf_handle *handle, wf_reader *reader, struct wf_piece *piece) {
    wf_error error = wf_elements_take(handle, reader, INT64_MAX, piece);
    piece->is_end = piece->nbytes == 0;
    if (error || piece->nbytes % wf_type_nbytes(reader->type) == 0) return error;
    return fail_partial(handle, reader, reader->type, reader->source.nbytes_read);
}

const struct wf_reader_format wf_reader_raw = {
    .open = raw_open,
    .take = raw_take,
    .finish = wf_elements_finish,
    .counts_on_taking = true,
    .thread_nbytes = WF_ELEMENTS_THREAD_NBYTES,
};
