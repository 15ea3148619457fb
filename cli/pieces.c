#include "pieces.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "output.h"

enum { PIECE_COUNT = 1 << 24 }; /* elements: long enough that saving each costs nothing */

/* ---- the files ---- */

static int look_at(const char *path, struct piece_source *source) {
    struct stat status;
    if (!strcmp(path, "-")) return fail_usage("standard input ('-') cannot be read in pieces: give files");
    if (stat(path, &status)) return fail("%s: %s", path, error_text(errno));
    if (!S_ISREG(status.st_mode)) return fail("%s: not a regular file: it cannot be read in pieces", path);
    *source = (struct piece_source){path, status.st_size, status.st_mtim};
    return STATUS_OK;
}

static int check_unchanged(const struct piece_source *source) {
    struct piece_source now = {0};
    int status = look_at(source->path, &now);
    if (status) return status;
    bool is_same = now.nbytes == source->nbytes && now.changed.tv_sec == source->changed.tv_sec &&
                   now.changed.tv_nsec == source->changed.tv_nsec;
    return is_same ? STATUS_OK : fail("%s: changed while it was read", source->path);
}

static int open_source(wf_handle *handle, const struct request *request, const struct piece_source *source,
                       wf_reader **reader) {
    const wf_reader_options options = settings_reader_options(request->settings);
    wf_error error = wf_reader_open(handle, &source->path, 1, &options, reader);
    return error ? fail_library(handle, error) : STATUS_OK;
}

/* ---- the pieces ---- */

static int add_piece(struct pieces *pieces, const struct piece *piece) {
    struct piece *longer = pieces->piece;
    if ((pieces->count & (pieces->count - 1)) == 0) /* it is full */
        longer = realloc(pieces->piece, (pieces->count ? 2 * pieces->count : 1) * sizeof *longer);
    if (!longer) return fail_memory();
    pieces->piece = longer;
    longer[pieces->count++] = *piece;
    return STATUS_OK;
}

/* index: of the file's first element; left at that of the next file's. */
static int cut(struct pieces *pieces, const struct request *request, const struct piece_source *source, int64_t count,
               int64_t *index) {
    const int64_t most = request->settings->piece ? request->settings->piece : PIECE_COUNT;
    struct piece piece = {source, request->op == WF_DOT ? source + 1 : NULL, 0, count, *index};
    if (count < 0) *index = -1;
    if (count <= most) {
        if (count >= 0 && *index >= 0) *index += count;
        return add_piece(pieces, &piece);
    }
    int status = STATUS_OK;
    for (; piece.first < count && !status; piece.first += most) {
        piece.count = count - piece.first < most ? count - piece.first : most;
        piece.index = *index;
        status = add_piece(pieces, &piece);
        if (*index >= 0) *index += piece.count;
    }
    return status;
}

static int open_next(wf_handle *handle, const struct request *request, struct pieces *pieces, wf_reader **reader) {
    const size_t i = pieces->source_count++;
    struct piece_source *source = &pieces->sources[i];
    int status = look_at(request->operands[i], source);
    if (!status) status = open_source(handle, request, source, reader);
    wf_type type = wf_reader_type(*reader);
    if (!status && pieces->type && type != pieces->type)
        status = fail("%s: contains %s, but the first file contains %s: all files must have the same type",
                      source->path, wf_type_name(type), wf_type_name(pieces->type));
    pieces->type = type;
    return status;
}

static int add_source(wf_handle *handle, const struct request *request, struct pieces *pieces, int64_t *index) {
    wf_reader *reader = NULL;
    const struct piece_source *source = &pieces->sources[pieces->source_count];
    int status = open_next(handle, request, pieces, &reader);
    if (!status) status = cut(pieces, request, source, wf_reader_count(reader), index);
    wf_reader_close(reader);
    return status;
}

/* Raw elements have any. */
static bool have_one_shape(wf_handle *handle, wf_reader *const readers[2]) {
    int64_t shape[2][WF_NDIM_MAX], stride_bytes[WF_NDIM_MAX];
    int32_t ndim[2];
    for (int i = 0; i < 2; i++)
        if (wf_reader_shape(handle, readers[i], &ndim[i], shape[i], stride_bytes)) return true;
    return ndim[0] == ndim[1] && !memcmp(shape[0], shape[1], (size_t)ndim[0] * sizeof *shape[0]);
}

/* What cannot be cut alike is one piece, of which the library tells what is wrong, if anything is. */
static int add_pair(wf_handle *handle, const struct request *request, struct pieces *pieces, int64_t *index) {
    wf_reader *readers[2] = {NULL, NULL};
    int status = open_next(handle, request, pieces, &readers[0]);
    if (!status) status = open_next(handle, request, pieces, &readers[1]);
    int64_t count = status ? -1 : wf_reader_count(readers[0]);
    if (!status && (count != wf_reader_count(readers[1]) || !have_one_shape(handle, readers))) count = -1;
    if (!status) status = cut(pieces, request, pieces->sources, count, index);
    wf_reader_close(readers[0]);
    wf_reader_close(readers[1]);
    return status;
}

static int make_accumulator(wf_handle *handle, const struct request *request, const struct pieces *pieces,
                            int64_t first_index, wf_accumulator **accumulator) {
    wf_reduction reduction = settings_reduction(request->settings, request->op);
    reduction.first_index = first_index;
    wf_error error = wf_accumulator_create(handle, &reduction, pieces->type, 0, NULL, accumulator);
    return error ? fail_library(handle, error) : STATUS_OK;
}

/* A float product depends on its elements' indices, which must be known before they are read. */
static int check_indices(wf_handle *handle, const struct request *request, const struct pieces *pieces) {
    wf_accumulator *accumulator = NULL;
    bool is_known = true;
    for (size_t i = 0; i < pieces->count; i++) is_known &= pieces->piece[i].index >= 0;
    int status = make_accumulator(handle, request, pieces, 0, &accumulator);
    if (!status && !is_known && wf_accumulator_move(handle, accumulator, 0))
        status = fail_usage("%s with a float result cannot be cut where the number of elements is not known before: give "
                            "raw or C-ordered .npy files, of texts and others one alone", wf_op_name(request->op));
    wf_accumulator_destroy(accumulator);
    return status;
}

int pieces_make(wf_handle *handle, const struct request *request, struct pieces *pieces) {
    int64_t index = request->settings->first_index;
    *pieces = (struct pieces){.sources = calloc(request->operand_count + 1, sizeof *pieces->sources)};
    if (!pieces->sources) return fail_memory();
    int status = STATUS_OK;
    if (request->op == WF_DOT) status = add_pair(handle, request, pieces, &index);
    while (pieces->source_count < request->operand_count && !status) status = add_source(handle, request, pieces, &index);
    return status ? status : check_indices(handle, request, pieces);
}

void pieces_clear(struct pieces *pieces) {
    free(pieces->sources);
    free(pieces->piece);
}

/* ---- in words ---- */

static void put_settings(FILE *stream, const struct request *request, wf_type type) {
    const struct settings *settings = request->settings;
    const char *column = settings->column_name ? settings->column_name : "";
    fprintf(stream, "pieces of a reduction by warpfold: version 2\n%s of %s", wf_op_name(request->op), wf_type_name(type));
    fprintf(stream, ", --nan %" PRId64 " --ddof %" PRId64 " --first-index %" PRId64 " --result-type %s --piece %" PRId64,
            settings->nan, settings->ddof, settings->first_index,
            settings->result_type ? wf_type_name(settings->result_type) : "default", settings->piece);
    fprintf(stream, " --format %" PRId64 " --byte-order %" PRId64 " --missing %" PRId64 " --skip %" PRId64
            " --header %d --delimiter %d --column %" PRId64 " %s\n",
            settings->format, settings->byte_order, settings->missing, settings->skip_lines, settings->has_header,
            settings->delimiter, settings->column, column);
}

static void put_source(FILE *stream, const struct piece_source *source, bool has_times) {
    fprintf(stream, "%s: %" PRId64 " bytes", source->path, source->nbytes);
    if (has_times)
        fprintf(stream, ", changed at %lld.%09ld", (long long)source->changed.tv_sec, source->changed.tv_nsec);
    fputc('\n', stream);
}

void pieces_describe(FILE *stream, const struct request *request, const struct pieces *pieces, bool has_times) {
    put_settings(stream, request, pieces->type);
    for (size_t i = 0; i < pieces->source_count; i++) put_source(stream, &pieces->sources[i], has_times);
}

void piece_describe(FILE *stream, const struct request *request, const struct pieces *pieces, size_t i) {
    const struct piece *piece = &pieces->piece[i];
    put_settings(stream, request, pieces->type);
    put_source(stream, piece->source, true);
    if (piece->pair) put_source(stream, piece->pair, true);
    fprintf(stream, "piece %zu of %zu: ", i, pieces->count);
    if (piece->count < 0)
        fputs("all elements\n", stream);
    else
        fprintf(stream, "%" PRId64 " elements from %" PRId64 " on, which is %" PRId64 " of all\n", piece->count, piece->first,
                piece->index);
}

/* ---- reducing ---- */

static int open_range(wf_handle *handle, const struct request *request, const struct piece *piece,
                      const struct piece_source *source, wf_reader **reader) {
    int status = open_source(handle, request, source, reader);
    if (status || piece->count < 0) return status;
    wf_error error = wf_reader_select(handle, *reader, piece->first, piece->count);
    return error ? fail_library(handle, error) : STATUS_OK;
}

int piece_reduce(wf_handle *handle, const struct request *request, const struct pieces *pieces, size_t i,
                 wf_accumulator **accumulator) {
    const struct piece *piece = &pieces->piece[i];
    wf_reader *reader = NULL, *pair = NULL;
    wf_error error = WF_OK;
    int status = make_accumulator(handle, request, pieces, piece->index < 0 ? 0 : piece->index, accumulator);
    if (!status) status = open_range(handle, request, piece, piece->source, &reader);
    if (!status && piece->pair) status = open_range(handle, request, piece, piece->pair, &pair);
    if (!status) error = wf_accumulator_add_reader(handle, *accumulator, reader, pair);
    if (error == WF_ERROR_NAN) error = WF_OK; /* stays with the accumulator, which is told its place */
    if (error) status = fail_library(handle, error);
    wf_reader_close(reader);
    wf_reader_close(pair);
    if (!status && piece->pair) status = check_unchanged(piece->pair);
    return status ? status : check_unchanged(piece->source);
}

int pieces_append(wf_handle *handle, const struct request *request, wf_accumulator **whole, wf_accumulator *next) {
    const int64_t index = request->settings->first_index + wf_accumulator_count(*whole);
    wf_error error = wf_accumulator_move(handle, next, index);
    if (error == WF_ERROR_UNSUPPORTED) error = WF_OK; /* a float product is in its place */
    if (!error && *whole) error = wf_accumulator_merge(handle, *whole, next);
    if (*whole)
        wf_accumulator_destroy(next);
    else
        *whole = next;
    return error ? fail_library(handle, error) : STATUS_OK;
}
