/* Raw files: elements, one after the other, and nothing else. */
#include "io/reader.h"

wf_error wf_reader_take(wf_handle *handle, wf_reader *reader, int64_t limit, wf_array *block) {
    struct wf_source *source = &reader->source;
    size_t nbytes = wf_type_nbytes(reader->type);
    if (wf_source_available(source) < nbytes) {
        wf_error error = wf_source_fill(handle, source, WF_SOURCE_NBYTES);
        if (error) return error;
    }
    int64_t count = (int64_t)(wf_source_available(source) / nbytes);
    if (count > limit) count = limit;
    *block = wf_array_vector(wf_source_window(source), reader->type, count);
    source->begin += (size_t)count * nbytes;
    return WF_OK;
}

static wf_error fail_partial(wf_handle *handle, const wf_reader *reader, wf_type type, int64_t nbytes) {
    return wf_fail(handle, WF_ERROR_FORMAT, "%s: %lld bytes are no multiple of the %zu bytes of one %s",
                   reader->source.name, (long long)nbytes, wf_type_nbytes(type), wf_type_name(type));
}

static wf_error raw_open(wf_handle *handle, wf_reader *reader, wf_type *type) {
    *type = reader->options.type;
    if (!*type)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "%s: raw data do not name their type: give it",
                       reader->source.name);
    int64_t nbytes = reader->source.nbytes_total;
    if (nbytes > 0 && (size_t)nbytes % wf_type_nbytes(*type))
        return fail_partial(handle, reader, *type, nbytes);
    return WF_OK;
}

static wf_error raw_next(wf_handle *handle, wf_reader *reader, int64_t limit, wf_array *block) {
    wf_error error = wf_reader_take(handle, reader, limit, block);
    if (error || block->shape[0] > 0 || wf_source_available(&reader->source) == 0) return error;
    return fail_partial(handle, reader, reader->type, reader->source.nbytes_read);
}

const struct wf_reader_format wf_reader_raw = {raw_open, raw_next};
