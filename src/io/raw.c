/* Elements stored as they are in memory, and raw files, which consist of nothing but such elements. */
#include "io/reader.h"

bool wf_is_little_endian(void) {
    return *(const uint8_t *)&(const uint16_t){1};
}

wf_error wf_elements_take(wf_handle *handle, wf_reader *reader, int64_t limit, struct wf_chunk *chunk) {
    struct wf_source *source = &reader->source;
    size_t nbytes = wf_type_nbytes(reader->type);
    int64_t claimable = wf_source_claimable(source) / (int64_t)nbytes;
    if (claimable > 0 && claimable < limit) limit = claimable;
    if (limit > (int64_t)(WF_CHUNK_NBYTES / nbytes)) limit = (int64_t)(WF_CHUNK_NBYTES / nbytes);
    wf_error error = WF_OK;
    chunk->is_claimed = claimable > 0;
    chunk->nbytes = (size_t)limit * nbytes;
    if (chunk->is_claimed)
        chunk->offset = wf_source_claim(source, chunk->nbytes);
    else
        error = wf_source_take(handle, source, chunk->bytes, chunk->nbytes, &chunk->nbytes);
    chunk->data = chunk->bytes;
    chunk->count = (int64_t)(chunk->nbytes / nbytes);
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

wf_error wf_elements_read(wf_handle *handle, const wf_reader *reader, void *bytes, size_t nbytes,
                          int64_t offset, size_t *found) {
    const struct wf_source *source = &reader->source;
    wf_error error = wf_source_read_at(handle, source, bytes, nbytes, offset, found);
    if (error || *found == nbytes) return error;
    return wf_fail(handle, WF_ERROR_FORMAT,
                   "%s: truncated while it was read: %lld bytes expected, %lld found", source->name,
                   (long long)source->nbytes_total, (long long)(offset + (int64_t)*found));
}

static wf_error read_claimed(wf_handle *handle, const wf_reader *reader, struct wf_chunk *chunk) {
    size_t found;
    wf_error error = wf_elements_read(handle, reader, chunk->bytes, chunk->nbytes, chunk->offset, &found);
    chunk->count = (int64_t)(found / wf_type_nbytes(reader->type));
    return error;
}

wf_error wf_elements_finish(wf_handle *handle, const wf_reader *reader, struct wf_chunk *chunk) {
    wf_error error = chunk->is_claimed ? read_claimed(handle, reader, chunk) : WF_OK;
    if (reader->is_swapped) swap_bytes(chunk->bytes, wf_type_nbytes(reader->type), chunk->count);
    return error;
}

/* ---- raw files ----------------------------------------------------------------------------------- */

static wf_error fail_partial(wf_handle *handle, const wf_reader *reader, wf_type type, int64_t nbytes) {
    return wf_fail(handle, WF_ERROR_FORMAT, "%s: %lld bytes is not a multiple of %zu, the size of one %s",
                   reader->source.name, (long long)nbytes, wf_type_nbytes(type), wf_type_name(type));
}

static wf_error raw_open(wf_handle *handle, wf_reader *reader, wf_type *type) {
    *type = reader->options.type;
    if (!*type)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "%s: raw data need an element type (--type)",
                       reader->source.name);
    wf_byte_order order = reader->options.byte_order;
    bool is_little = order == WF_BYTE_ORDER_LITTLE || (!order && wf_is_little_endian());
    reader->is_swapped = is_little != wf_is_little_endian();
    int64_t nbytes = reader->source.nbytes_total;
    if (nbytes > 0 && (size_t)nbytes % wf_type_nbytes(*type))
        return fail_partial(handle, reader, *type, nbytes);
    return WF_OK;
}

/* A file that grows while it is read is read to its new end. */
static wf_error raw_take(wf_handle *handle, wf_reader *reader, struct wf_chunk *chunk) {
    wf_error error = wf_elements_take(handle, reader, reader->is_selected ? reader->count_left : INT64_MAX, chunk);
    if (reader->is_selected) reader->count_left -= chunk->count;
    chunk->is_end = chunk->nbytes == 0;
    if (error || chunk->nbytes % wf_type_nbytes(reader->type) == 0) return error;
    return fail_partial(handle, reader, reader->type, reader->source.nbytes_read);
}

const struct wf_reader_format wf_reader_raw = {
    .open = raw_open,
    .take = raw_take,
    .finish = wf_elements_finish,
    .counts_on_taking = true,
    .thread_nbytes = WF_ELEMENTS_THREAD_NBYTES,
};
