#include "io/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/printable.h"
#include "io/decode.h"
#include "io/zip.h"

enum { ELEMENT_NBYTES_MAX = 8 };

/* ---- opening the files --------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *ending) {
    size_t length = strlen(text), ending_length = strlen(ending);
    return length >= ending_length && !strcmp(text + length - ending_length, ending);
}

/* A control character other than white space. */
static inline bool is_control(unsigned char byte) {
    return (byte < ' ' && (byte < '\t' || byte > '\r')) || byte == 0x7f;
}

static bool is_text(const unsigned char *bytes, size_t nbytes) {
    unsigned control = 0;
    for (size_t i = 0; i < nbytes; i++) control |= is_control(bytes[i]);
    return !control;
}

/* What is known not to be read, and what to do then. */
static const struct {
    const char *bytes, *words;
} unread_formats[] = {
    {"PAR1", "a Parquet file, which is not read: convert it, or pipe its column as text"},
    {"ARROW1", "an Arrow file, which is not read: convert it, or pipe its column as text"},
    {"\x89HDF", "an HDF5 file, which is not read: convert it, as by h5py and numpy.save"},
    {"\xfd" "7zXZ", "xz data, which are not decoded: pipe the output of xzcat"},
    {"BZh", "bzip2 data, which are not decoded: pipe the output of bzcat"},
    {"\xff\xfe", "UTF-16 text, which is not read: pipe the output of iconv -f UTF-16 -t UTF-8"},
    {"\xfe\xff", "UTF-16 text, which is not read: pipe the output of iconv -f UTF-16 -t UTF-8"},
    {"PK\3\4", "a zip archive; only those whose names end in .npz are read"},
};

/* The error for a window that is no text. */
static wf_error fail_unread(wf_handle *handle, const struct wf_source *source) {
    const unsigned char *bytes = wf_source_window(source);
    for (size_t i = 0; i < sizeof unread_formats / sizeof unread_formats[0]; i++) {
        size_t length = strlen(unread_formats[i].bytes);
        if (wf_source_available(source) >= length && !memcmp(bytes, unread_formats[i].bytes, length))
            return wf_fail(handle, WF_ERROR_FORMAT, "%s: %s", source->name, unread_formats[i].words);
    }
    size_t at = 0;
    while (!is_control(bytes[at])) at++;
    return wf_fail(handle, WF_ERROR_FORMAT,
                   "%s: not .npy and not text (0x%02x at byte %zu); for raw data give the element type (--type), for a text "
                   "all the same its format (--format text)", source->name, bytes[at], at);
}

/* A file is compressed if its name says so; or its first bytes, unless it is said to be anything else. */
static wf_error decode(wf_handle *handle, wf_reader *reader) {
    struct wf_source *source = &reader->source;
    const char *path = reader->paths[reader->path_index];
    enum wf_codec codec = wf_codec_of_name(path);
    if (wf_zip_may_be_archive(path)) {
        wf_error error = wf_source_fill(handle, source, 4);
        if (error) return error;
        if (wf_zip_is_archive(wf_source_window(source), wf_source_available(source)))
            return wf_zip_open_member(handle, source, path);
    }
    if (!codec && !reader->options.format && !reader->options.type) {
        wf_error error = wf_source_fill(handle, source, WF_SOURCE_NBYTES);
        if (error) return error;
        codec = wf_codec_of_bytes(wf_source_window(source), wf_source_available(source));
    }
    return codec ? wf_source_decode(handle, source, codec, NULL) : WF_OK;
}

static wf_error detect_format(wf_handle *handle, wf_reader *reader, const struct wf_reader_format **format) {
    static const struct wf_reader_format *const chosen[] = {[WF_FORMAT_NPY] = &wf_reader_npy,
                                                            [WF_FORMAT_RAW] = &wf_reader_raw,
                                                            [WF_FORMAT_TEXT] = &wf_reader_text};
    struct wf_source *source = &reader->source;
    *format = chosen[reader->options.format];
    if (!*format && ends_with(reader->paths[reader->path_index], ".npy")) *format = &wf_reader_npy;
    if (*format) return WF_OK;

    wf_error error = wf_source_fill(handle, source, WF_SOURCE_NBYTES);
    if (error) return error;
    const unsigned char *bytes = wf_source_window(source);
    size_t nbytes = wf_source_available(source);
    if (nbytes >= 6 && !memcmp(bytes, "\x93NUMPY", 6))
        *format = &wf_reader_npy;
    else if (is_text(bytes, nbytes))
        *format = &wf_reader_text;
    else if (reader->options.type)
        *format = &wf_reader_raw;
    else
        return fail_unread(handle, source);
    return WF_OK;
}

static wf_error check_type(wf_handle *handle, const wf_reader *reader, wf_type type) {
    const char *name = reader->source.name, *type_name = wf_type_name(type);
    wf_type asked = reader->options.type;
    if (asked && type != asked)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "%s: contains %s, not %s as requested", name,
                       type_name, wf_type_name(asked));
    if (reader->type && type != reader->type)
        return wf_fail(handle, WF_ERROR_ARGUMENT,
                       "%s: contains %s, but the first file contains %s: all files must have the same type",
                       name, type_name, wf_type_name(reader->type));
    return WF_OK;
}

/* Rejects options that do not apply to the format, rather than ignoring them. */
static wf_error check_format(wf_handle *handle, const wf_reader *reader,
                             const struct wf_reader_format *format) {
    const wf_reader_options *options = &reader->options;
    const char *name = reader->source.name;
    bool is_table = options->column_name || options->column || options->skip_lines || options->has_header ||
                    options->delimiter || options->missing;
    if (is_table && format != &wf_reader_text)
        return wf_fail(
            handle, WF_ERROR_UNSUPPORTED,
            "%s: delimiter, column, header, skip and missing apply only to text, not to %s file",
            name, format == &wf_reader_npy ? "a .npy" : "a raw");
    if (options->byte_order && format != &wf_reader_raw)
        return wf_fail(handle, WF_ERROR_UNSUPPORTED, "%s: a byte order can be given only for raw files: %s", name,
                       format == &wf_reader_npy ? "a .npy file states its own"
                                                        : "text has none, and this looks like text (raw data: format raw)");
    return WF_OK;
}

/* Opens the file at path_index. */
static wf_error open_file(wf_handle *handle, wf_reader *reader) {
    const struct wf_reader_format *format;
    wf_type type;
    reader->npy = (struct wf_npy_header){0};
    wf_error error = wf_source_open(handle, &reader->source, reader->paths[reader->path_index]);
    if (!error) error = decode(handle, reader);
    if (!error) error = detect_format(handle, reader, &format);
    if (!error) error = check_format(handle, reader, format);
    if (!error) error = format->open(handle, reader, &type);
    if (!error) error = check_type(handle, reader, type);
    if (error) return error;
    reader->type = type;
    reader->format = format;
    return WF_OK;
}

wf_error wf_reader_ensure_file(wf_handle *handle, wf_reader *reader) {
    if (reader->error)
        return wf_fail(handle, reader->error, "%s: an earlier error has ended this reader", reader->source.name);
    if (!reader->format && reader->path_index < reader->path_count) reader->error = open_file(handle, reader);
    return reader->error;
}

void wf_reader_close_file(wf_reader *reader) {
    reader->nbytes_done += reader->source.nbytes_read;
    wf_source_close(&reader->source);
    reader->format = NULL;
    reader->path_index++;
    reader->position = reader->chunk.count = 0;
}

wf_error wf_reader_rewind(wf_handle *handle, wf_reader *reader) {
    if (reader->format) wf_reader_close_file(reader);
    wf_source_close(&reader->source); /* of a file that could not be opened */
    reader->path_index = 0;
    reader->nbytes_done = 0;
    return reader->error = open_file(handle, reader);
}

/* ---- chunks -------------------------------------------------------------------------------------- */

wf_error wf_chunk_create(wf_handle *handle, struct wf_chunk *chunk) {
    enum { PAGE_NBYTES = 4096, ELEMENTS_NBYTES = WF_CHUNK_TEXT_COUNT * ELEMENT_NBYTES_MAX };
    enum { NBYTES = (WF_CHUNK_NBYTES + ELEMENTS_NBYTES + PAGE_NBYTES - 1) / PAGE_NBYTES * PAGE_NBYTES };
    *chunk = (struct wf_chunk){.bytes = aligned_alloc(PAGE_NBYTES, NBYTES)};
    if (!chunk->bytes) return wf_fail(handle, WF_ERROR_MEMORY, "no memory for %d bytes of a file", NBYTES);
    chunk->elements = chunk->bytes + WF_CHUNK_NBYTES;
    return WF_OK;
}

void wf_chunk_destroy(struct wf_chunk *chunk) {
    free(chunk->bytes);
}

/* ---- the reader ---------------------------------------------------------------------------------- */

static const wf_reader_options default_options = {.nbytes = sizeof default_options};

static wf_error check_options(wf_handle *handle, const wf_reader_options *options) {
    wf_error error = wf_check_nbytes(handle, "wf_reader_options", options, options->nbytes, sizeof *options);
    if (error) return error;
    if ((unsigned)options->format > WF_FORMAT_TEXT)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "invalid file format %d", (int)options->format);
    if (options->type && !wf_type_is_valid(options->type))
        return wf_fail(handle, WF_ERROR_ARGUMENT, "invalid type %d", (int)options->type);
    if (options->column < 0)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "column %lld: columns count from 1",
                       (long long)options->column);
    if (options->column && options->column_name)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "choose a column by number or by name, not both");
    if (options->skip_lines < 0)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "cannot skip %lld lines: the number must be 0 or more",
                       (long long)options->skip_lines);
    if (options->delimiter && strchr("\n\r\"#", options->delimiter))
        return wf_fail(handle, WF_ERROR_ARGUMENT,
                       "a line break, a double quote or # cannot be the delimiter");
    if ((unsigned)options->missing > WF_MISSING_SKIP)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "invalid treatment of missing values %d",
                       (int)options->missing);
    if ((unsigned)options->byte_order > WF_BYTE_ORDER_BIG)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "invalid byte order %d",
                       (int)options->byte_order);
    return WF_OK;
}

static wf_error fail_memory(wf_handle *handle) {
    return wf_fail(handle, WF_ERROR_MEMORY, "no memory for a reader");
}

static wf_error copy_arguments(wf_handle *handle, wf_reader *reader, const char *const *paths,
                               size_t path_count, const wf_reader_options *options) {
    reader->options = *options;
    reader->options.column_name = NULL;
    if (options->column_name && !(reader->options.column_name = strdup(options->column_name)))
        return fail_memory(handle);
    reader->paths = calloc(path_count, sizeof *reader->paths);
    if (!reader->paths) return fail_memory(handle);
    for (; reader->path_count < path_count; reader->path_count++) {
        const char *path = paths[reader->path_count];
        if (!path) return wf_fail(handle, WF_ERROR_ARGUMENT, "path %zu is NULL", reader->path_count);
        if (!(reader->paths[reader->path_count] = strdup(path))) return fail_memory(handle);
        int64_t nbytes = wf_codec_of_name(path) ? -1 : wf_source_measure(path);
        reader->nbytes_total = nbytes < 0 || reader->nbytes_total < 0 ? -1 : reader->nbytes_total + nbytes;
    }
    return WF_OK;
}

wf_error wf_reader_open(wf_handle *handle, const char *const *paths, size_t path_count,
                        const wf_reader_options *options, wf_reader **reader) {
    if (!handle || !paths || path_count == 0 || !reader)
        return wf_fail(handle, WF_ERROR_ARGUMENT,
                       "wf_reader_open needs a handle, at least one path and a pointer to the reader");
    *reader = NULL;
    if (!options) options = &default_options;
    wf_error error = check_options(handle, options);
    if (error) return error;
    wf_reader *opened = calloc(1, sizeof *opened);
    if (!opened) return fail_memory(handle);
    error = wf_source_create(handle, &opened->source);
    if (!error) error = wf_chunk_create(handle, &opened->chunk);
    if (!error) error = copy_arguments(handle, opened, paths, path_count, options);
    if (!error) error = open_file(handle, opened);
    if (error)
        wf_reader_close(opened);
    else
        *reader = opened;
    return error;
}

void wf_reader_close(wf_reader *reader) {
    if (!reader) return;
    for (size_t i = 0; i < reader->path_count; i++) free(reader->paths[i]);
    free(reader->paths);
    free((char *)reader->options.column_name);
    wf_chunk_destroy(&reader->chunk);
    wf_npy_panel_destroy(reader->panel);
    wf_source_destroy(&reader->source);
    free(reader);
}

wf_type wf_reader_type(const wf_reader *reader) {
    return reader ? reader->type : WF_TYPE_DEFAULT;
}

wf_error wf_reader_shape(wf_handle *handle, const wf_reader *reader, int32_t *ndim, int64_t *shape,
                         int64_t *stride_bytes) {
    if (!handle || !reader || !ndim || !shape || !stride_bytes)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "wf_reader_shape needs a handle, a reader and memory for the result");
    if (reader->path_count != 1 || reader->format != &wf_reader_npy)
        return wf_fail(handle, WF_ERROR_UNSUPPORTED, "%s: only a single .npy file has a shape",
                       reader->format ? reader->source.name : reader->paths[0]);
    const struct wf_npy_header *header = &reader->npy;
    *ndim = header->ndim;
    int64_t stride = (int64_t)wf_type_nbytes(reader->type);
    for (int32_t i = 0; i < header->ndim; i++) {
        int32_t d = header->is_fortran_order ? i : header->ndim - 1 - i;
        shape[d] = header->shape[d];
        stride_bytes[d] = stride;
        stride *= header->shape[d] ? header->shape[d] : 1;
    }
    return WF_OK;
}

/* Elements that lie in their order in a file whose size is known. */
int64_t wf_reader_count(const wf_reader *reader) {
    if (!reader || reader->path_count != 1 || reader->source.nbytes_total < 0) return -1;
    if (reader->format == &wf_reader_npy) return wf_npy_is_transposed(&reader->npy) ? -1 : reader->npy.count;
    if (reader->format != &wf_reader_raw) return -1;
    return reader->source.nbytes_total / (int64_t)wf_type_nbytes(reader->type);
}

wf_error wf_reader_select(wf_handle *handle, wf_reader *reader, int64_t first, int64_t count) {
    if (!handle || !reader) return wf_fail(handle, WF_ERROR_ARGUMENT, "wf_reader_select needs a handle and a reader");
    const int64_t whole = reader->is_selected ? 0 : wf_reader_count(reader);
    if (whole < 0)
        return wf_fail(handle, WF_ERROR_UNSUPPORTED,
                       "%s: a range can be read of one regular file only: raw, or .npy in C order", reader->source.name);
    if (reader->is_selected || wf_reader_available(reader) ||
        (size_t)wf_source_offset(&reader->source) != reader->npy.header_nbytes)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "%s: a range must be chosen before anything is read", reader->source.name);
    if (first < 0 || count < 0 || first > whole || count > whole - first)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "%s: no elements %lld to %lld: it has %lld", reader->source.name,
                       (long long)first, (long long)(first + count - 1), (long long)whole);
    reader->is_selected = true;
    reader->count_left = count;
    if (first) wf_source_claim(&reader->source, (size_t)first * wf_type_nbytes(reader->type));
    return WF_OK;
}

wf_array wf_reader_take_block(wf_reader *reader, int64_t limit) {
    int64_t available = wf_reader_available(reader), count = available < limit ? available : limit;
    size_t offset = (size_t)reader->position * wf_type_nbytes(reader->type);
    reader->position += count;
    const void *data = count ? (const char *)reader->chunk.data + offset : NULL;
    return wf_array_vector(data, reader->type, count);
}

static wf_error next_chunk(wf_handle *handle, wf_reader *reader) {
    wf_error error = reader->format->take(handle, reader, &reader->chunk);
    if (!error) error = reader->format->finish(handle, reader, &reader->chunk);
    if (error) reader->chunk.count = 0;
    return error;
}

wf_error wf_reader_ensure_elements(wf_handle *handle, wf_reader *reader) {
    while (wf_reader_available(reader) == 0) {
        wf_error error = wf_reader_ensure_file(handle, reader);
        if (error || !reader->format) return error;
        reader->position = 0;
        reader->error = next_chunk(handle, reader);
        if (reader->error) return reader->error;
        if (reader->chunk.is_end) wf_reader_close_file(reader);
    }
    return WF_OK;
}

wf_error wf_reader_next(wf_handle *handle, wf_reader *reader, int64_t limit, wf_array *block) {
    if (!handle || !reader || !block || limit < 1)
        return wf_fail(
            handle, WF_ERROR_ARGUMENT,
            "wf_reader_next needs a handle, a reader, a pointer to the block and a limit of 1 or more");
    wf_error error = wf_reader_ensure_elements(handle, reader);
    if (!error) *block = wf_reader_take_block(reader, limit);
    return error;
}
