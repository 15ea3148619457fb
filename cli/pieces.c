#include "pieces.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "axes.h"
#include "output.h"
#include "table_piece.h"

enum { PIECE_COUNT = 1 << 24 }; /* elements: long enough that saving each costs nothing */
enum { TEXT_NBYTES = 8 };       /* of a text in place of an element */

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

static wf_error open_source(wf_handle *handle, const struct request *request, const struct piece_source *source,
                            wf_reader **reader) {
    const wf_reader_options options = request->table ? table_reader_options(request->settings)
                                                     : settings_reader_options(request->settings);
    return wf_reader_open(handle, &source->path, 1, &options, reader);
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

static int64_t piece_length(const struct request *request) {
    return request->settings->piece ? request->settings->piece : PIECE_COUNT;
}

/* Into ranges of at most that many elements, of which every `unit` take `depth` indices.  index: of the file's first element;
 * left at that of the next file's. */
static int cut(struct pieces *pieces, struct piece piece, int64_t most, int64_t unit, int64_t depth, int64_t *index) {
    const int64_t count = piece.count;
    int status = STATUS_OK;
    if (count < 0) *index = -1;
    if (count <= most) {
        if (count >= 0 && *index >= 0) *index += count / unit * depth;
        return add_piece(pieces, &piece);
    }
    for (; piece.first < count && !status; piece.first += most) {
        piece.count = count - piece.first < most ? count - piece.first : most;
        piece.index = *index;
        status = add_piece(pieces, &piece);
        if (*index >= 0) *index += piece.count / unit * depth;
    }
    return status;
}

/* Whole rows. */
static int cut_rows(wf_handle *handle, const struct request *request, struct pieces *pieces, const wf_reader *reader,
                    const struct piece *piece, int64_t *index) {
    int64_t unit, depth;
    int status = axes_measure_rows(handle, request, reader, &unit, &depth);
    if (status) return status;
    if (!unit) return add_piece(pieces, piece);
    pieces->have_own_results = !depth;
    const int64_t rows = piece_length(request) / unit;
    return cut(pieces, *piece, rows ? rows * unit : unit, unit, depth, index);
}

/* Whether results name lines: those of a range can be told only when those before are counted. */
static bool names_lines(const struct request *request) {
    bool names = false;
    for (size_t i = 0; request->table && i < request->table->op_count; i++)
        names |= request->table->op[i] == WF_ARGMIN || request->table->op[i] == WF_ARGMAX;
    return names;
}

/* Whole lines.  How many elements they have is known when they have been read. */
static int cut_text(wf_handle *handle, const struct request *request, struct pieces *pieces, wf_reader *reader,
                    struct piece piece, const struct wf_text_range *all) {
    const int64_t length = piece_length(request), most = length < INT64_MAX / TEXT_NBYTES ? length * TEXT_NBYTES : INT64_MAX;
    struct wf_text_range lines = *all;
    wf_error error = WF_OK;
    int status = STATUS_OK;
    while (!error && !status) {
        const struct wf_text_range before = lines;
        error = wf_text_range_cut(handle, reader, most, &lines);
        if (error) break;
        piece.lines = lines.begin == all->begin && lines.end == all->end ? (struct wf_text_range){0} : lines;
        status = add_piece(pieces, &piece);
        if (lines.end == all->end) break;
        piece.index = -1;
        lines = (struct wf_text_range){lines.end, all->end, 0};
        if (names_lines(request)) error = wf_text_range_find_line(handle, reader, &before, &lines);
    }
    return error ? fail_library(handle, error) : status;
}

static int open_next(wf_handle *handle, const struct request *request, struct pieces *pieces, wf_reader **reader) {
    const size_t i = pieces->source_count++;
    struct piece_source *source = &pieces->sources[i];
    int status = look_at(request->operands[i], source);
    if (!status && open_source(handle, request, source, reader)) status = fail("%s", wf_handle_message(handle));
    wf_type type = request->table ? request->table->type : wf_reader_type(*reader);
    if (!status && pieces->type && type != pieces->type)
        status = fail("%s: contains %s, but the first file contains %s: all files must have the same type",
                      source->path, wf_type_name(type), wf_type_name(pieces->type));
    pieces->type = type;
    return status;
}

/* A product of floats depends on indices, which are not known of lines before those that precede them have been read. */
static int cut_source(wf_handle *handle, const struct request *request, struct pieces *pieces, wf_reader *reader,
                      const struct piece_source *source, int64_t *index) {
    const struct piece piece = {.source = source, .count = wf_reader_count(reader), .index = *index};
    struct wf_text_range all;
    if (request->settings->axis) return cut_rows(handle, request, pieces, reader, &piece, index);
    if (piece.count >= 0 || request->op == WF_PROD || !wf_text_range_of(reader, &all))
        return cut(pieces, piece, piece_length(request), 1, 1, index);
    if (!pieces->names && all.begin < all.end) pieces->names = source;
    *index = -1;
    return cut_text(handle, request, pieces, reader, piece, &all);
}

static int add_source(wf_handle *handle, const struct request *request, struct pieces *pieces, int64_t *index) {
    wf_reader *reader = NULL;
    const struct piece_source *source = &pieces->sources[pieces->source_count];
    int status = open_next(handle, request, pieces, &reader);
    if (!status) status = cut_source(handle, request, pieces, reader, source, index);
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
    const struct piece piece = {pieces->sources, pieces->sources + 1, 0, count, {0}, *index};
    if (!status) status = cut(pieces, piece, piece_length(request), 1, 1, index);
    wf_reader_close(readers[0]);
    wf_reader_close(readers[1]);
    return status;
}

static wf_error create(wf_handle *handle, const struct request *request, wf_type type, int64_t first_index,
                       wf_accumulator **accumulator) {
    wf_reduction reduction = settings_reduction(request->settings, request->op);
    reduction.first_index = first_index;
    return wf_accumulator_create(handle, &reduction, type, 0, NULL, accumulator);
}

/* A float product depends on its elements' indices, which must be known before they are read. */
static int check_indices(wf_handle *handle, const struct request *request, const struct pieces *pieces) {
    wf_accumulator *accumulator = NULL;
    bool is_known = true;
    for (size_t i = 0; i < pieces->count; i++) is_known &= pieces->piece[i].index >= 0;
    if (request->table) return STATUS_OK;
    wf_error error = create(handle, request, pieces->type, 0, &accumulator);
    int status = error ? fail_library(handle, error) : STATUS_OK;
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

static void put_table(FILE *stream, const struct settings *settings) {
    fprintf(stream, " --decimal %" PRId64, settings->decimals);
    for (size_t i = 0; i < settings->columns.count; i++) fprintf(stream, " --column %s", settings->columns.items[i]);
    for (size_t i = 0; i < settings->by.count; i++) fprintf(stream, " --by %s", settings->by.items[i]);
}

static void put_settings(FILE *stream, const struct request *request, wf_type type) {
    const struct settings *settings = request->settings;
    const char *column = settings->column_name ? settings->column_name : "";
    fprintf(stream, "pieces of a reduction by warpfold: version 3\n%s of %s", settings->operands.items[0], wf_type_name(type));
    fprintf(stream, ", --nan %" PRId64 " --ddof %" PRId64 " --first-index %" PRId64 " --result-type %s --piece %" PRId64,
            settings->nan, settings->ddof, settings->first_index,
            settings->result_type ? wf_type_name(settings->result_type) : "default", settings->piece);
    fprintf(stream, " --format %" PRId64 " --byte-order %" PRId64 " --missing %" PRId64 " --skip %" PRId64
            " --header %d --delimiter %d --column %" PRId64 " %s",
            settings->format, settings->byte_order, settings->missing, settings->skip_lines, settings->has_header,
            settings->delimiter, settings->column, column);
    if (settings->axis) fprintf(stream, " --axis %s", settings->axis);
    if (request->table) put_table(stream, settings);
    fputc('\n', stream);
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
    if (piece->lines.end)
        fprintf(stream, "lines from byte %" PRId64 " to %" PRId64 "\n", piece->lines.begin, piece->lines.end);
    else if (piece->count < 0)
        fputs("all elements\n", stream);
    else
        fprintf(stream, "%" PRId64 " elements from %" PRId64 " on, which is %" PRId64 " of all\n", piece->count, piece->first,
                piece->index);
}

/* ---- reducing ---- */

static wf_error open_range(wf_handle *handle, const struct request *request, const struct piece *piece,
                           const struct piece_source *source, wf_reader **reader) {
    wf_error error = open_source(handle, request, source, reader);
    if (!error && piece->lines.end) return wf_text_range_select(handle, *reader, &piece->lines);
    return error || piece->count < 0 ? error : wf_reader_select(handle, *reader, piece->first, piece->count);
}

static wf_error reduce_elements(wf_handle *handle, const struct request *request, const struct piece *piece, wf_type type,
                                wf_accumulator **accumulator) {
    wf_reader *reader = NULL, *pair = NULL;
    wf_error error = create(handle, request, type, piece->index < 0 ? 0 : piece->index, accumulator);
    if (!error) error = open_range(handle, request, piece, piece->source, &reader);
    if (!error && piece->pair) error = open_range(handle, request, piece, piece->pair, &pair);
    if (!error) error = wf_accumulator_add_reader(handle, *accumulator, reader, pair);
    wf_reader_close(reader);
    wf_reader_close(pair);
    return error == WF_ERROR_NAN ? WF_OK : error; /* the accumulator keeps it, and its index */
}

static wf_error reduce_lines(wf_handle *handle, const struct request *request, const struct pieces *pieces,
                             const struct piece *piece, struct wf_tally *table) {
    const bool has_names = !pieces->names || pieces->names == piece->source;
    const char *const files[] = {has_names ? piece->source->path : pieces->names->path, piece->source->path};
    return table_read_piece(handle, request, files, has_names ? 1 : 2, piece->lines.end ? &piece->lines : NULL, table);
}

static wf_error reduce_once(wf_handle *handle, const struct request *request, const struct pieces *pieces,
                            const struct piece *piece, struct part *part) {
    if (!request->table) return reduce_elements(handle, request, piece, pieces->type, &part->accumulator);
    part->table = calloc(1, sizeof *part->table);
    return part->table ? reduce_lines(handle, request, pieces, piece, part->table) : WF_ERROR_MEMORY;
}

static wf_error find_line(wf_handle *handle, const struct request *request, struct piece *piece) {
    wf_reader *reader = NULL;
    struct wf_text_range all = {0};
    wf_error error = open_source(handle, request, piece->source, &reader);
    if (!error && wf_text_range_of(reader, &all)) error = wf_text_range_find_line(handle, reader, &all, &piece->lines);
    wf_reader_close(reader);
    return error;
}

/* An error message names the line, so the lines before are counted and the piece is read again. */
static int reduce_ranges(wf_handle *handle, const struct request *request, const struct pieces *pieces, struct piece piece,
                         struct part *part) {
    wf_error error = reduce_once(handle, request, pieces, &piece, part);
    if (error && piece.lines.end && !piece.lines.line) {
        part_clear(part);
        error = find_line(handle, request, &piece);
        if (!error) error = reduce_once(handle, request, pieces, &piece, part);
    }
    if (error == WF_ERROR_MEMORY) return fail_memory();
    return error ? fail_library(handle, error) : STATUS_OK;
}

static int reduce_rows(wf_handle *handle, const struct request *request, const struct piece *piece, struct part *part) {
    wf_reader *reader = NULL;
    int64_t unit = 1, depth;
    wf_error error = open_range(handle, request, piece, piece->source, &reader);
    int status = error ? fail_library(handle, error) : axes_measure_rows(handle, request, reader, &unit, &depth);
    if (!status)
        status = axes_accumulate(handle, request, reader, piece->count < 0 || !unit ? -1 : piece->count / unit, piece->index,
                                 &part->accumulator);
    wf_reader_close(reader);
    return status;
}

int piece_reduce(wf_handle *handle, const struct request *request, const struct pieces *pieces, size_t i, struct part *part) {
    const struct piece *piece = &pieces->piece[i];
    *part = (struct part){NULL, NULL};
    int status = request->settings->axis ? reduce_rows(handle, request, piece, part)
                                         : reduce_ranges(handle, request, pieces, *piece, part);
    if (!status && piece->pair) status = check_unchanged(piece->pair);
    return status ? status : check_unchanged(piece->source);
}

int pieces_append(wf_handle *handle, const struct request *request, const struct pieces *pieces, size_t i, struct part *whole,
                  struct part *next) {
    const bool is_same_file = i && pieces->piece[i - 1].source == pieces->piece[i].source;
    return pieces->have_own_results ? part_append_results(handle, whole, next)
                                    : part_append(handle, request, whole, next, is_same_file);
}
