/* warpfold over MPI: merges the accumulators of all ranks, and reduces arrays element by element over the ranks,
 * with the same bits for any number and order of ranks and any algorithm of the MPI library.
 *
 *     wf_accumulator_add(handle, sum, &my_share, NULL, NULL);
 *     wf_mpi_allreduce(handle, sum, MPI_COMM_WORLD);            sum now covers all shares, on every rank
 *     wf_accumulator_value(handle, sum, WF_SUM, &result);
 *
 * This is a header without a library, in C99 or C++: the program's own mpicc compiles it, so it fits any MPI
 * library (MPI 2.2 or later).
 *
 * Every function here is collective: all ranks of the communicator call it, in the same order.  A rank whose own
 * work has failed also calls it, with its error as `mine` where there is such a parameter.  Every rank learns of
 * every error: a rank that did not fail itself returns the error of the first rank that did, and the handle's
 * message names that rank.  After an error nothing has changed.  An error of MPI itself, if the communicator's
 * error handler lets it return, is WF_ERROR_IO, and only the ranks to which MPI reports it know of it.  Everything
 * is in host memory.  If ranks share a machine, give each handle its share of the processors
 * (wf_handle_set_threads). */
#ifndef WARPFOLD_MPI_H
#define WARPFOLD_MPI_H

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "warpfold.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Turns the accumulator of every rank into that of all ranks' elements, as wf_accumulator_merge would: its saved
 * bytes are the same on all ranks, and the same as those of a single process.  Reductions, types and shapes must
 * be the same on all ranks (WF_ERROR_MERGE); ranks may have no elements.  Each rank determines its own indices:
 * where they matter (argmin, argmax, stats, prod, WF_NAN_ERROR), give each rank its first_index (or use
 * wf_accumulator_move).
 *
 * This takes one all-reduce of 256 bytes for sum, mean, norm1, norm2, dot and var of numbers near 1 (docs/scale.md
 * has the others); for prod, an all-gather of the saved accumulators. */
static inline wf_error wf_mpi_allreduce(wf_handle *handle, wf_accumulator *accumulator, MPI_Comm comm);

/* The same for the rank root only; the accumulators of the other ranks are unchanged. */
static inline wf_error wf_mpi_reduce(wf_handle *handle, wf_accumulator *accumulator, int root, MPI_Comm comm);

/* Reduces element by element over the ranks: result i is the reduction of element i of all ranks, in the order of
 * the ranks, rounded once: an exact sum, or any other op of one array.  Result type and errors are those of
 * wf_reduce along an axis; a message counts results within a piece.  array and output are contiguous, do not
 * overlap, and have the same number of elements on all ranks (otherwise WF_ERROR_MERGE); output receives all
 * results on every rank.
 *
 * Transfers as many bytes as a ring all-reduce (each rank sends and receives twice its array, less one piece), and
 * needs 4 MiB.  On up to 8 ranks, arrays of up to 1 KiB take one all-to-all and those of up to 4 KiB two, and each
 * rank reduces them itself. */
static inline wf_error wf_mpi_allreduce_array(wf_handle *handle, const wf_reduction *reduction, const wf_array *array,
                                              const wf_output *output, MPI_Comm comm);

/* Reports an error of any rank to every rank, and returns WF_OK only if no rank has one: for steps of the program
 * itself, such as reading its share.  mine: the error of this rank, whose message is in the handle. */
static inline wf_error wf_mpi_agree(wf_handle *handle, wf_error mine, MPI_Comm comm);

/* ---- implementation ------------------------------------------------------------------------------------------ */

/* Every merge of accumulators begins with a frame, whatever their reduction, so that ranks that disagree or have
 * failed still take part in the same collective: the number of failed ranks, what the ranks must agree on, the
 * number of ranks with nonzero words after the frame, and the first words to be added.  MPI libraries send 256
 * bytes in one message. */
enum { WF_MPI_HEAD_WORDS = 6, WF_MPI_FRAME_WORDS = 32, WF_MPI_BODY_WORDS = WF_MPI_FRAME_WORDS - WF_MPI_HEAD_WORDS };

struct wf_mpi_team {
    wf_handle *handle;
    MPI_Comm comm;
    int rank, size;
    int root; /* the rank that gets the result; -1: all */
};

static inline wf_error wf_mpi_check(wf_handle *handle, int code) {
    char text[MPI_MAX_ERROR_STRING + 8];
    int length;
    if (code == MPI_SUCCESS) return WF_OK;
    memcpy(text, "MPI: ", 5);
    MPI_Error_string(code, text + 5, &length);
    return wf_handle_fail(handle, WF_ERROR_IO, text);
}

static inline wf_error wf_mpi_join(struct wf_mpi_team *team, wf_handle *handle, int root, MPI_Comm comm) {
    team->handle = handle;
    team->comm = comm;
    team->root = root;
    wf_error error = wf_mpi_check(handle, MPI_Comm_rank(comm, &team->rank));
    return error ? error : wf_mpi_check(handle, MPI_Comm_size(comm, &team->size));
}

/* Some rank failed: every rank without an error of its own gets that of the first one. */
static inline wf_error wf_mpi_spread(const struct wf_mpi_team *team, wf_error mine) {
    struct {
        int error;
        char message[1024];
    } first = {(int)mine, ""};
    char message[1100];
    int place = mine ? team->size - team->rank : 0, highest = 0;
    if (mine) snprintf(first.message, sizeof first.message, "%s", team->handle ? wf_handle_message(team->handle) : "");
    wf_error error = wf_mpi_check(team->handle, MPI_Allreduce(&place, &highest, 1, MPI_INT, MPI_MAX, team->comm));
    if (!error)
        error = wf_mpi_check(team->handle,
                             MPI_Bcast(&first, sizeof first, MPI_BYTE, team->size - highest, team->comm));
    if (mine || error) return mine ? mine : error;
    snprintf(message, sizeof message, "rank %d: %s", team->size - highest,
             first.message[0] ? first.message : wf_error_text((wf_error)first.error));
    return wf_handle_fail(team->handle, (wf_error)first.error, message);
}

/* Checks whether all ranks have the same 32-bit value.  For each half h of 16 bits, the n ranks add up h and h^2;
 * the sum of (h_i - h)^2, which is sum(h^2) - 2 h sum(h) + n h^2 and below 2^63, is 0 only if all are equal. */
static inline void wf_mpi_put_value(int64_t words[4], uint64_t value) {
    for (int i = 0; i < 2; i++) {
        const int64_t part = (int64_t)(value >> (16 * i) & 0xffff);
        words[2 * i] = part;
        words[2 * i + 1] = part * part;
    }
}

static inline int wf_mpi_is_value_of_all(const int64_t words[4], uint64_t value, int size) {
    uint64_t difference = 0;
    for (int i = 0; i < 2; i++) {
        const uint64_t part = value >> (16 * i) & 0xffff;
        difference |= (uint64_t)words[2 * i + 1] - 2 * part * (uint64_t)words[2 * i] + (uint64_t)size * part * part;
    }
    return !difference;
}

static inline wf_error wf_mpi_fail_differ(const struct wf_mpi_team *team) {
    return wf_handle_fail(team->handle, WF_ERROR_MERGE, "the ranks differ in reduction, type, shape or number of elements");
}

/* Adds up the frames of all ranks; the body is already set.  Returns whether all ranks may continue. */
static inline wf_error wf_mpi_begin(const struct wf_mpi_team *team, int64_t frame[WF_MPI_FRAME_WORDS], wf_error mine,
                                    uint64_t settings) {
    const uint64_t value = settings ^ settings >> 32;
    frame[0] = mine != WF_OK;
    wf_mpi_put_value(frame + 1, value);
    wf_error error = wf_mpi_check(team->handle, MPI_Allreduce(MPI_IN_PLACE, frame, WF_MPI_FRAME_WORDS, MPI_INT64_T,
                                                              MPI_SUM, team->comm));
    if (error) return error;
    if (frame[0]) return wf_mpi_spread(team, mine);
    if (wf_mpi_is_value_of_all(frame + 1, value, team->size)) return WF_OK;
    return wf_mpi_fail_differ(team);
}

static inline wf_error wf_mpi_agree_in(const struct wf_mpi_team *team, wf_error mine) {
    int failed = mine != WF_OK;
    wf_error error = wf_mpi_check(team->handle, MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, team->comm));
    return error ? error : failed ? wf_mpi_spread(team, mine) : WF_OK;
}

static inline wf_error wf_mpi_agree(wf_handle *handle, wf_error mine, MPI_Comm comm) {
    struct wf_mpi_team team;
    wf_error error = wf_mpi_join(&team, handle, -1, comm);
    return error ? error : wf_mpi_agree_in(&team, mine);
}

/* ---- words ---- */

/* Reduces the words to the root, or to all.  room: for as many; MPI_Reduce of MPICH 4.0 crashes with MPI_IN_PLACE. */
static inline wf_error wf_mpi_combine(const struct wf_mpi_team *team, int64_t *words, int64_t count, int64_t *room,
                                      MPI_Op op, int root) {
    const int64_t most = 1 << 24; /* MPI counts in int */
    for (int64_t i = 0; i < count; i += most) {
        const int piece = (int)(count - i < most ? count - i : most);
        int code;
        if (root < 0)
            code = MPI_Allreduce(MPI_IN_PLACE, words + i, piece, MPI_INT64_T, op, team->comm);
        else
            code = MPI_Reduce(words + i, room + i, piece, MPI_INT64_T, op, root, team->comm);
        if (root == team->rank) memcpy(words + i, room + i, (size_t)piece * sizeof *words);
        if (code != MPI_SUCCESS) return wf_mpi_check(team->handle, code);
    }
    return WF_OK;
}

/* Those of an accumulator.  The first to be added lie in the frame, the others behind it. */
struct wf_mpi_words {
    wf_word_counts counts;
    int64_t *frame, *added, *largest, *indices;
    int64_t *room; /* for the largest and indices, or the added behind the frame's, of a reduction to one rank */
};

/* Where they lie in a buffer, of which the length is returned; NULL: only that. */
static inline size_t wf_mpi_lay_out(struct wf_mpi_words *words, int64_t *buffer, int has_root) {
    const wf_word_counts *counts = &words->counts;
    const int64_t added = counts->added > (int64_t)WF_MPI_BODY_WORDS ? counts->added : (int64_t)WF_MPI_BODY_WORDS;
    const int64_t count = WF_MPI_HEAD_WORDS + added + counts->largest + counts->indices;
    if (!buffer) return (size_t)(has_root ? 2 * count : count);
    words->frame = buffer;
    words->added = buffer + WF_MPI_HEAD_WORDS;
    words->largest = words->added + added;
    words->indices = words->largest + counts->largest;
    words->room = buffer + count;
    return (size_t)count;
}

/* How many are behind the frame's. */
static inline int64_t wf_mpi_rest(const wf_word_counts *counts) {
    return counts->added > (int64_t)WF_MPI_BODY_WORDS ? counts->added - (int64_t)WF_MPI_BODY_WORDS : 0;
}

/* Whether they are more than zeros: all are zeros if the first is, and each equals the next. */
static inline int wf_mpi_has_rest(const struct wf_mpi_words *words) {
    const int64_t *rest = words->added + WF_MPI_BODY_WORDS, count = wf_mpi_rest(&words->counts);
    return count && (rest[0] || memcmp(rest, rest + 1, (size_t)(count - 1) * sizeof *rest));
}

/* Sends around the frame.  What it has no words for, and an accumulator that has none, is zeros. */
static inline wf_error wf_mpi_combine_frame(const struct wf_mpi_team *team, const wf_accumulator *accumulator,
                                            struct wf_mpi_words *words, wf_error mine) {
    const int64_t count = words->counts.added;
    words->frame[WF_MPI_HEAD_WORDS - 1] = 0;
    if (count < (int64_t)WF_MPI_BODY_WORDS)
        memset(words->added + count, 0, (size_t)(WF_MPI_BODY_WORDS - count) * sizeof *words->added);
    if (!mine) mine = wf_accumulator_words(team->handle, accumulator, words->added, words->largest);
    if (!mine)
        words->frame[WF_MPI_HEAD_WORDS - 1] = wf_mpi_has_rest(words);
    else
        memset(words->added, 0, WF_MPI_BODY_WORDS * sizeof *words->added);
    return wf_mpi_begin(team, words->frame, mine, words->counts.settings);
}

/* Those behind the frame's, which all know by now. */
static inline wf_error wf_mpi_combine_rest(const struct wf_mpi_team *team, const wf_accumulator *accumulator,
                                           const struct wf_mpi_words *words) {
    const wf_word_counts *counts = &words->counts;
    wf_error error = WF_OK;
    if (words->frame[WF_MPI_HEAD_WORDS - 1])
        error = wf_mpi_combine(team, words->added + WF_MPI_BODY_WORDS, wf_mpi_rest(counts), words->room, MPI_SUM, team->root);
    /* Whose an extremum is, its owner must be told. */
    if (!error) error = wf_mpi_combine(team, words->largest, counts->largest, words->room, MPI_MAX,
                                       counts->indices ? -1 : team->root);
    if (error || !counts->indices) return error;
    error = wf_accumulator_index_words(team->handle, accumulator, words->largest, words->indices);
    return error ? error : wf_mpi_combine(team, words->indices, counts->indices, words->room, MPI_MAX, team->root);
}

static inline wf_error wf_mpi_fold_words(const struct wf_mpi_team *team, wf_accumulator *accumulator,
                                         struct wf_mpi_words *words, wf_error mine) {
    wf_error error = wf_mpi_combine_frame(team, accumulator, words, mine);
    if (error) return error;
    error = wf_mpi_combine_rest(team, accumulator, words);
    if (!error && (team->root < 0 || team->root == team->rank))
        error = wf_accumulator_from_words(team->handle, accumulator, words->added, words->largest, words->indices);
    return team->root < 0 ? error : wf_mpi_agree_in(team, error); /* all have the same words, or only the root knows */
}

/* ---- products, which have no words: everyone's saved form ---- */

struct wf_mpi_saved {
    char *bytes; /* of all ranks, one after the other */
    int *nbytes, *offset;
    char *is_merged; /* of each rank */
    void *mine;
    size_t mine_nbytes;
};

static inline wf_error wf_mpi_save(const struct wf_mpi_team *team, const wf_accumulator *accumulator,
                                   struct wf_mpi_saved *saved) {
    wf_accumulator_save(team->handle, accumulator, NULL, 0, &saved->mine_nbytes); /* tells only the length */
    saved->mine = malloc(saved->mine_nbytes + 1);
    saved->nbytes = (int *)malloc(2 * (size_t)team->size * sizeof(int));
    saved->offset = saved->nbytes ? saved->nbytes + team->size : NULL;
    saved->is_merged = (char *)malloc((size_t)team->size);
    if (!saved->mine || !saved->nbytes || !saved->is_merged) return wf_handle_fail(team->handle, WF_ERROR_MEMORY, NULL);
    if (saved->mine_nbytes > (size_t)(INT_MAX / team->size))
        return wf_handle_fail(team->handle, WF_ERROR_UNSUPPORTED, "prod: more saved bytes on all ranks than MPI can count");
    return wf_accumulator_save(team->handle, accumulator, saved->mine, saved->mine_nbytes, &saved->mine_nbytes);
}

/* Sizes first, then, where all have the memory, the bytes. */
static inline wf_error wf_mpi_collect(const struct wf_mpi_team *team, struct wf_mpi_saved *saved) {
    int nbytes = (int)saved->mine_nbytes;
    wf_error error =
        wf_mpi_check(team->handle, MPI_Allgather(&nbytes, 1, MPI_INT, saved->nbytes, 1, MPI_INT, team->comm));
    if (error) return error;
    size_t total = 0;
    for (int i = 0; i < team->size; i++) {
        saved->offset[i] = (int)total;
        total += (size_t)saved->nbytes[i];
    }
    wf_error mine = WF_OK;
    saved->bytes = (char *)malloc(total + 1);
    if (!saved->bytes || total > INT_MAX) mine = wf_handle_fail(team->handle, WF_ERROR_MEMORY, NULL);
    error = wf_mpi_agree_in(team, mine);
    if (error) return error;
    return wf_mpi_check(team->handle, MPI_Allgatherv(saved->mine, nbytes, MPI_BYTE, saved->bytes, saved->nbytes,
                                                     saved->offset, MPI_BYTE, team->comm));
}

/* Merges everyone else's into one's own.  Products merge with their neighbours only, so whoever is none yet waits. */
static inline wf_error wf_mpi_merge(const struct wf_mpi_team *team, const struct wf_mpi_saved *saved,
                                    wf_accumulator *into) {
    wf_error error = WF_OK;
    int left = team->size - 1, before = -1;
    memset(saved->is_merged, 0, (size_t)team->size);
    saved->is_merged[team->rank] = 1;
    for (; left > 0 && left != before; ) {
        before = left;
        for (int i = 0; i < team->size; i++) {
            wf_accumulator *other = NULL;
            if (saved->is_merged[i]) continue;
            error = wf_accumulator_load(team->handle, saved->bytes + saved->offset[i], (size_t)saved->nbytes[i], &other);
            if (error) return error;
            error = wf_accumulator_merge(team->handle, into, other);
            wf_accumulator_destroy(other);
            saved->is_merged[i] = !error;
            left -= !error;
        }
    }
    return left ? error : WF_OK;
}

/* Into a copy, which takes its place when all ranks have theirs: nothing changes where one has not. */
static inline wf_error wf_mpi_merge_all(const struct wf_mpi_team *team, const struct wf_mpi_saved *saved,
                                        wf_accumulator *accumulator) {
    wf_accumulator *copy = NULL;
    wf_error error = wf_accumulator_load(team->handle, saved->mine, saved->mine_nbytes, &copy);
    if (!error) error = wf_mpi_merge(team, saved, copy);
    error = wf_mpi_agree_in(team, error);
    if (!error && (team->root < 0 || team->root == team->rank))
        error = wf_accumulator_swap(team->handle, accumulator, copy);
    wf_accumulator_destroy(copy);
    return error;
}

static inline wf_error wf_mpi_fold_saved(const struct wf_mpi_team *team, wf_accumulator *accumulator,
                                         const wf_word_counts *counts, wf_error mine) {
    int64_t frame[WF_MPI_FRAME_WORDS] = {0};
    struct wf_mpi_saved saved;
    memset(&saved, 0, sizeof saved);
    if (!mine) mine = wf_mpi_save(team, accumulator, &saved);
    wf_error error = wf_mpi_begin(team, frame, mine, counts->settings);
    if (!error) error = wf_mpi_collect(team, &saved);
    if (!error) error = wf_mpi_merge_all(team, &saved, accumulator);
    free(saved.bytes);
    free(saved.nbytes);
    free(saved.is_merged);
    free(saved.mine);
    return error;
}

/* ---- accumulators ---- */

static inline wf_error wf_mpi_fold(wf_handle *handle, wf_accumulator *accumulator, int root, MPI_Comm comm) {
    enum { FEW = 1024 }; /* those of one result need no memory that could be lacking */
    int64_t few[FEW], *buffer = few;
    struct wf_mpi_team team;
    struct wf_mpi_words words = {{0, 0, 0, 0}, few, few, few, few, few};
    wf_error error = wf_mpi_join(&team, handle, root, comm);
    if (error) return error;
    wf_error mine = wf_accumulator_word_counts(handle, accumulator, &words.counts);
    if (!mine && wf_accumulator_op(accumulator) == WF_PROD)
        return wf_mpi_fold_saved(&team, accumulator, &words.counts, mine);
    const size_t count = wf_mpi_lay_out(&words, NULL, root >= 0);
    if (count > FEW) buffer = (int64_t *)malloc(count * sizeof *buffer);
    if (!buffer) {
        mine = wf_handle_fail(handle, WF_ERROR_MEMORY, "no memory for the words of an accumulator");
        words.counts.added = words.counts.largest = words.counts.indices = 0;
    }
    wf_mpi_lay_out(&words, buffer ? buffer : few, root >= 0);
    error = wf_mpi_fold_words(&team, accumulator, &words, mine);
    if (buffer != few) free(buffer);
    return error;
}

static inline wf_error wf_mpi_allreduce(wf_handle *handle, wf_accumulator *accumulator, MPI_Comm comm) {
    return wf_mpi_fold(handle, accumulator, -1, comm);
}

static inline wf_error wf_mpi_reduce(wf_handle *handle, wf_accumulator *accumulator, int root, MPI_Comm comm) {
    return wf_mpi_fold(handle, accumulator, root, comm);
}

/* ---- arrays ---- */

struct wf_mpi_exchange {
    const wf_reduction *reduction;
    const char *data;
    char *results;
    wf_type type, result_type;
    size_t nbytes, result_nbytes; /* of an element */
    int64_t count;                /* of elements */
    int64_t piece_count;          /* of elements in each piece but the last ones */
    char *room;                   /* for what follows */
    char *rows;                   /* a piece of every rank */
    char *boxes;                  /* of short arrays: every rank's error and results; NULL: of long ones */
    size_t box_nbytes;
    int *send_nbytes, *send_offset, *receive_nbytes, *receive_offset; /* of every rank, for blocks that are uneven */
};

/* -1: a negative length, or too many. */
static inline int64_t wf_mpi_count(const wf_array *array) {
    int64_t count = 1;
    if (!array->shape) return array->count;
    for (int32_t d = 0; d < array->ndim; d++) {
        const int64_t length = array->shape[d];
        if (length < 0 || (length && count > INT64_MAX / length)) return -1;
        count *= length;
    }
    return count;
}

static inline int wf_mpi_is_contiguous(int32_t ndim, const int64_t *shape, const int64_t *stride_bytes, int64_t nbytes) {
    if (!shape) return !stride_bytes || *stride_bytes == nbytes;
    for (int32_t d = ndim - 1; stride_bytes && d >= 0; d--) {
        if (shape[d] != 1 && stride_bytes[d] != nbytes) return 0;
        nbytes *= shape[d];
    }
    return 1;
}

/* Checks what may be wrong on one rank alone.  What is wrong with the reduction itself, wf_reduce tells every
 * rank. */
static inline wf_error wf_mpi_check_array(const struct wf_mpi_team *team, const wf_reduction *reduction,
                                          const wf_array *array, const wf_output *output, struct wf_mpi_exchange *exchange) {
    if (!reduction || !array || !output)
        return wf_handle_fail(team->handle, WF_ERROR_ARGUMENT, "the reduction, the array or the output is NULL");
    if (!team->handle) return WF_ERROR_ARGUMENT;
    if (reduction->op == WF_STATS || reduction->op == WF_DOT || reduction->fill)
        return wf_handle_fail(team->handle, WF_ERROR_UNSUPPORTED,
                              "element by element: an op of one array with one result, without a fill value");
    exchange->reduction = reduction;
    exchange->data = (const char *)array->data;
    exchange->results = (char *)output->data;
    exchange->type = array->type;
    exchange->result_type = reduction->result_type ? reduction->result_type : wf_op_result_type(reduction->op, array->type);
    exchange->nbytes = wf_type_nbytes(array->type);
    exchange->result_nbytes = wf_type_nbytes(exchange->result_type);
    exchange->count = wf_mpi_count(array);
    if (exchange->count < 0) return wf_handle_fail(team->handle, WF_ERROR_ARGUMENT, "no array has so many elements");
    if (!exchange->nbytes || !exchange->result_nbytes)
        return wf_handle_fail(team->handle, WF_ERROR_UNSUPPORTED, "element by element: no such op of such elements");
    if ((output->type && output->type != exchange->result_type) || (exchange->count && (!array->data || !output->data)) ||
        !wf_mpi_is_contiguous(array->ndim, array->shape, array->stride_bytes, (int64_t)exchange->nbytes) ||
        !wf_mpi_is_contiguous(output->ndim, output->shape, output->stride_bytes, (int64_t)exchange->result_nbytes))
        return wf_handle_fail(team->handle, WF_ERROR_ARGUMENT,
                              "element by element: array and output must be contiguous, and the output of the result type");
    return WF_OK;
}

/* What ranks must agree on: FNV-1a (Fowler, Noll, Vo), of whole numbers instead of bytes. */
static inline uint64_t wf_mpi_array_settings(const struct wf_mpi_exchange *exchange) {
    const wf_reduction *of = exchange->reduction;
    const int64_t settings[] = {of->op, of->nan, of->ddof, of->first_index, of->flags, exchange->result_type, exchange->type,
                                exchange->count};
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        hash = (hash ^ (uint64_t)settings[i]) * UINT64_C(0x100000001b3);
        hash ^= hash >> 29; /* a product moves nothing down */
    }
    return hash;
}

/* Reduces elements of every rank, which lie row_nbytes apart. */
static inline wf_error wf_mpi_reduce_rows(const struct wf_mpi_team *team, const struct wf_mpi_exchange *exchange,
                                          const char *rows, size_t row_nbytes, char *results, int64_t count) {
    const int64_t shape[2] = {team->size, count}, stride_bytes[2] = {(int64_t)row_nbytes, (int64_t)exchange->nbytes};
    const wf_array array = wf_array_nd(rows, exchange->type, 2, shape, stride_bytes);
    const wf_groups along_ranks = wf_groups_axes(1);
    wf_output output;
    memset(&output, 0, sizeof output);
    output.data = results;
    output.type = exchange->result_type;
    output.ndim = 1;
    output.shape = shape + 1;
    return wf_reduce(team->handle, exchange->reduction, &array, NULL, &along_ranks, &output);
}

/* ---- short arrays of few ranks: each rank gets those of all, and reduces them itself ---- */

/* The first message has as much as the shortest arrays need, as each byte of it costs all; the second has the
 * rest. */
enum {
    WF_MPI_RANKS_FEW = 8,
    WF_MPI_SLOT_NBYTES = 1024,
    WF_MPI_REST_NBYTES = 3 * WF_MPI_SLOT_NBYTES,
    WF_MPI_SHORT_NBYTES = WF_MPI_SLOT_NBYTES + WF_MPI_REST_NBYTES
};

/* What every fold of arrays by few ranks begins with: its length must not depend on what ranks may differ in. */
struct wf_mpi_slot {
    uint64_t settings;
    int32_t error, is_apart; /* is_apart: its reductions may fail where others' do not */
    char data[WF_MPI_SLOT_NBYTES]; /* the array's first elements */
};

/* Every rank's bytes to every rank, by MPI_Alltoall, since the ranks of MPI_Allgather wait for each other several
 * times: mine has them once, and room for so many of each rank. */
static inline wf_error wf_mpi_gather(const struct wf_mpi_team *team, char *mine, size_t nbytes, char *all) {
    for (int i = 1; i < team->size; i++) memcpy(mine + (size_t)i * nbytes, mine, nbytes);
    return wf_mpi_check(team->handle, MPI_Alltoall(mine, (int)nbytes, MPI_BYTE, all, (int)nbytes, MPI_BYTE, team->comm));
}

/* All ranks look at the same slots, and come to the same.  *is_apart: whether any rank is. */
static inline wf_error wf_mpi_read_slots(const struct wf_mpi_team *team, const struct wf_mpi_slot *slots, wf_error mine,
                                         int *is_apart) {
    int32_t error = 0;
    uint64_t difference = 0;
    *is_apart = 0;
    for (int i = 0; i < team->size; i++) {
        error |= slots[i].error;
        *is_apart |= slots[i].is_apart;
        difference |= slots[i].settings ^ slots[0].settings;
    }
    return error ? wf_mpi_spread(team, mine) : difference ? wf_mpi_fail_differ(team) : WF_OK;
}

union wf_mpi_slots {
    struct wf_mpi_slot slot[WF_MPI_RANKS_FEW];
    char rest[WF_MPI_RANKS_FEW * WF_MPI_REST_NBYTES];
};

/* What is sent to every rank, and what every rank has sent. */
struct wf_mpi_mail {
    union wf_mpi_slots sent, got;
};

static inline wf_error wf_mpi_begin_slots(const struct wf_mpi_team *team, const struct wf_mpi_exchange *exchange,
                                          uint64_t settings, wf_error mine, struct wf_mpi_mail *mail, int *is_apart) {
    struct wf_mpi_slot *slot = mail->sent.slot;
    const size_t most = mine ? 0 : sizeof slot->data / exchange->nbytes;
    const size_t nbytes = mine ? 0 : ((uint64_t)exchange->count < most ? (size_t)exchange->count : most) * exchange->nbytes;
    slot->settings = settings;
    slot->error = (int32_t)mine;
    slot->is_apart = mine || memcmp(wf_handle_device(team->handle), "cpu", 3) != 0;
    if (nbytes) memcpy(slot->data, exchange->data, nbytes);
    memset(slot->data + nbytes, 0, sizeof slot->data - nbytes);
    const wf_error error = wf_mpi_gather(team, (char *)slot, sizeof *slot, mail->got.rest);
    return error ? error : wf_mpi_read_slots(team, mail->got.slot, mine, is_apart);
}

/* One by one: what takes no memory, which one rank alone might lack. */
static inline wf_error wf_mpi_reduce_columns(const struct wf_mpi_team *team, const struct wf_mpi_exchange *exchange,
                                             const char *rows, size_t row_nbytes, char *results, int64_t count) {
    const int64_t shape[1] = {team->size}, stride_bytes[1] = {(int64_t)row_nbytes};
    wf_error error = WF_OK;
    for (int64_t i = 0; i < count && !error; i++) {
        const wf_array column = wf_array_nd(rows + (size_t)i * exchange->nbytes, exchange->type, 1, shape, stride_bytes);
        wf_output output;
        memset(&output, 0, sizeof output);
        output.data = results + (size_t)i * exchange->result_nbytes;
        output.type = exchange->result_type;
        error = wf_reduce(team->handle, exchange->reduction, &column, NULL, NULL, &output);
    }
    return error;
}

/* An error is every rank's, since all reduce the same. */
static inline wf_error wf_mpi_reduce_slots(const struct wf_mpi_team *team, const struct wf_mpi_exchange *exchange,
                                           const char *rows, size_t row_nbytes, char *results, int64_t count) {
    const wf_error error = wf_mpi_reduce_rows(team, exchange, rows, row_nbytes, results, count);
    return error == WF_ERROR_MEMORY ? wf_mpi_reduce_columns(team, exchange, rows, row_nbytes, results, count) : error;
}

/* What is in the slots, and then the rest, which is gathered without a head.  No elements are reduced, too: that
 * may be an error. */
static inline wf_error wf_mpi_reduce_short(const struct wf_mpi_team *team, const struct wf_mpi_exchange *exchange,
                                           struct wf_mpi_mail *mail) {
    const int64_t most = (int64_t)(WF_MPI_SLOT_NBYTES / exchange->nbytes);
    const int64_t count = exchange->count < most ? exchange->count : most;
    const size_t begin = (size_t)count * exchange->nbytes, rest = (size_t)exchange->count * exchange->nbytes - begin;
    wf_error error = wf_mpi_reduce_slots(team, exchange, mail->got.slot->data, sizeof *mail->got.slot, exchange->results, count);
    if (error || !rest) return error;
    memcpy(mail->sent.rest, exchange->data + begin, rest);
    error = wf_mpi_gather(team, mail->sent.rest, rest, mail->got.rest);
    if (error) return error;
    return wf_mpi_reduce_slots(team, exchange, mail->got.rest, rest,
                               exchange->results + (size_t)count * exchange->result_nbytes, exchange->count - count);
}

/* ---- other arrays: every rank gets one piece of each block from all ranks, reduces it, and hands it to all ---- */

/* The elements of a block of count that are the rank's piece. */
static inline int64_t wf_mpi_piece(int64_t piece_count, int64_t count, int rank) {
    const int64_t left = count - rank * piece_count;
    return left <= 0 ? 0 : left < piece_count ? left : piece_count;
}

static inline int wf_mpi_send_pieces(const struct wf_mpi_team *team, const struct wf_mpi_exchange *exchange, int64_t first,
                                     int64_t count) {
    const int64_t mine = wf_mpi_piece(exchange->piece_count, count, team->rank);
    const char *data = exchange->data + (size_t)first * exchange->nbytes;
    const int even = (int)((size_t)exchange->piece_count * exchange->nbytes);
    if (count == exchange->piece_count * team->size)
        return MPI_Alltoall(data, even, MPI_BYTE, exchange->rows, even, MPI_BYTE, team->comm);
    for (int i = 0; i < team->size; i++) {
        const int64_t piece = wf_mpi_piece(exchange->piece_count, count, i);
        exchange->send_nbytes[i] = (int)((size_t)piece * exchange->nbytes);
        exchange->send_offset[i] = piece ? i * even : 0;
        exchange->receive_nbytes[i] = (int)((size_t)mine * exchange->nbytes);
        exchange->receive_offset[i] = i * exchange->receive_nbytes[i];
    }
    return MPI_Alltoallv(data, exchange->send_nbytes, exchange->send_offset, MPI_BYTE, exchange->rows,
                         exchange->receive_nbytes, exchange->receive_offset, MPI_BYTE, team->comm);
}

static inline int wf_mpi_share_pieces(const struct wf_mpi_team *team, const struct wf_mpi_exchange *exchange,
                                       int64_t first, int64_t count) {
    char *results = exchange->results + (size_t)first * exchange->result_nbytes;
    const int even = (int)((size_t)exchange->piece_count * exchange->result_nbytes);
    if (count == exchange->piece_count * team->size)
        return MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, results, even, MPI_BYTE, team->comm);
    for (int i = 0; i < team->size; i++) {
        const int64_t piece = wf_mpi_piece(exchange->piece_count, count, i);
        exchange->receive_nbytes[i] = (int)((size_t)piece * exchange->result_nbytes);
        exchange->receive_offset[i] = piece ? i * even : 0;
    }
    return MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, results, exchange->receive_nbytes,
                          exchange->receive_offset, MPI_BYTE, team->comm);
}

static inline wf_error wf_mpi_reduce_piece(const struct wf_mpi_team *team, const struct wf_mpi_exchange *exchange,
                                           char *results, int64_t count) {
    return wf_mpi_reduce_rows(team, exchange, exchange->rows, (size_t)count * exchange->nbytes, results, count);
}

/* An error of the own piece does not keep others from theirs: *mine is told at the end. */
static inline wf_error wf_mpi_reduce_blocks(const struct wf_mpi_team *team, const struct wf_mpi_exchange *exchange,
                                            wf_error *mine) {
    for (int64_t first = 0; first < exchange->count;) {
        int64_t block = exchange->piece_count * team->size;
        if (block > exchange->count - first) block = exchange->count - first;
        const int64_t own = wf_mpi_piece(exchange->piece_count, block, team->rank);
        char *results = exchange->results +
                        (size_t)(own ? first + team->rank * exchange->piece_count : 0) * exchange->result_nbytes;
        wf_error error = wf_mpi_check(team->handle, wf_mpi_send_pieces(team, exchange, first, block));
        if (error) return error;
        if (!*mine) *mine = wf_mpi_reduce_piece(team, exchange, results, own);
        error = wf_mpi_check(team->handle, wf_mpi_share_pieces(team, exchange, first, block));
        if (error) return error;
        first += block;
    }
    return WF_OK;
}

/* Arrays that are not long need no collective of their own for errors: each rank's travels before its results, in
 * a box. Copying longer ones out of boxes would take longer than that. */
enum { WF_MPI_BOX_HEAD_NBYTES = 8, WF_MPI_BOXES_MOST_NBYTES = 1 << 17 };

/* Moves every rank's results to their places; returns whether any has an error instead. */
static inline int wf_mpi_open_boxes(const struct wf_mpi_team *team, const struct wf_mpi_exchange *exchange) {
    int64_t failed = 0, error;
    for (int i = 0; i < team->size; i++) {
        const char *box = exchange->boxes + (size_t)i * exchange->box_nbytes;
        const size_t nbytes = (size_t)wf_mpi_piece(exchange->piece_count, exchange->count, i) * exchange->result_nbytes;
        memcpy(&error, box, sizeof error);
        failed |= error;
        if (nbytes)
            memcpy(exchange->results + (size_t)(i * exchange->piece_count) * exchange->result_nbytes,
                   box + WF_MPI_BOX_HEAD_NBYTES, nbytes);
    }
    return failed != 0;
}

static inline wf_error wf_mpi_reduce_block(const struct wf_mpi_team *team, const struct wf_mpi_exchange *exchange) {
    char *box = exchange->boxes + (size_t)team->rank * exchange->box_nbytes;
    wf_error error = wf_mpi_check(team->handle, wf_mpi_send_pieces(team, exchange, 0, exchange->count));
    if (error) return error;
    const wf_error mine = wf_mpi_reduce_piece(team, exchange, box + WF_MPI_BOX_HEAD_NBYTES,
                                              wf_mpi_piece(exchange->piece_count, exchange->count, team->rank));
    const int64_t told = mine;
    memcpy(box, &told, sizeof told);
    error = wf_mpi_check(team->handle, MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, exchange->boxes,
                                                     (int)exchange->box_nbytes, MPI_BYTE, team->comm));
    if (error) return error;
    return wf_mpi_open_boxes(team, exchange) ? wf_mpi_spread(team, mine) : WF_OK;
}

static inline size_t wf_mpi_round_up(size_t nbytes) {
    return (nbytes + 15) / 16 * 16;
}

/* What the exchange takes.  So much at least that C libraries keep it when it is freed: less they give back to the
 * system, which then clears every page anew for each call. */
static inline wf_error wf_mpi_make_room(const struct wf_mpi_team *team, struct wf_mpi_exchange *exchange) {
    const size_t block_nbytes = 4 << 20, room_least_nbytes = 1 << 20, size = (size_t)team->size;
    const int64_t even = exchange->count / team->size + (exchange->count % team->size != 0);
    exchange->piece_count = (int64_t)(block_nbytes / (size * exchange->nbytes)) + 1;
    if (exchange->piece_count > even) exchange->piece_count = even ? even : 1;
    exchange->box_nbytes = WF_MPI_BOX_HEAD_NBYTES + ((size_t)exchange->piece_count * exchange->result_nbytes + 7) / 8 * 8;
    const int has_boxes = exchange->piece_count >= even && exchange->box_nbytes * size <= WF_MPI_BOXES_MOST_NBYTES;
    const size_t rows_nbytes = wf_mpi_round_up((size_t)exchange->piece_count * size * exchange->nbytes);
    const size_t boxes_nbytes = has_boxes ? wf_mpi_round_up(exchange->box_nbytes * size) : 0;
    const size_t nbytes = rows_nbytes + boxes_nbytes + 4 * size * sizeof(int);
    exchange->room = (char *)malloc(nbytes < room_least_nbytes ? room_least_nbytes : nbytes);
    if (!exchange->room) return wf_handle_fail(team->handle, WF_ERROR_MEMORY, NULL);
    exchange->rows = exchange->room;
    exchange->boxes = has_boxes ? exchange->room + rows_nbytes : NULL;
    exchange->send_nbytes = (int *)(void *)(exchange->room + rows_nbytes + boxes_nbytes);
    exchange->send_offset = exchange->send_nbytes + team->size;
    exchange->receive_nbytes = exchange->send_offset + team->size;
    exchange->receive_offset = exchange->receive_nbytes + team->size;
    return WF_OK;
}

static inline wf_error wf_mpi_exchange_pieces(const struct wf_mpi_team *team, const struct wf_mpi_exchange *exchange) {
    wf_error mine = WF_OK;
    if (exchange->boxes) return wf_mpi_reduce_block(team, exchange);
    const wf_error error = wf_mpi_reduce_blocks(team, exchange, &mine);
    return error ? error : wf_mpi_agree_in(team, mine);
}

/* Whether each rank would do with the others' arrays, if it agreed with them. */
static inline int wf_mpi_is_short(const struct wf_mpi_team *team, const struct wf_mpi_exchange *exchange) {
    const int64_t most = WF_MPI_SHORT_NBYTES;
    return team->size <= WF_MPI_RANKS_FEW && exchange->count <= most && exchange->count * (int64_t)exchange->nbytes <= most;
}

static inline wf_error wf_mpi_reduce_array(const struct wf_mpi_team *team, struct wf_mpi_exchange *exchange, wf_error mine) {
    struct wf_mpi_mail mail;
    int64_t frame[WF_MPI_FRAME_WORDS] = {0};
    int is_apart = 1;
    const int is_short = wf_mpi_is_short(team, exchange);
    const uint64_t settings = mine ? 0 : wf_mpi_array_settings(exchange);
    if (!mine && !is_short) mine = wf_mpi_make_room(team, exchange);
    wf_error error = team->size <= WF_MPI_RANKS_FEW ? wf_mpi_begin_slots(team, exchange, settings, mine, &mail, &is_apart)
                                                    : wf_mpi_begin(team, frame, mine, settings);
    if (!error && is_short && !is_apart) return wf_mpi_reduce_short(team, exchange, &mail);
    if (!error && is_short) error = wf_mpi_agree_in(team, wf_mpi_make_room(team, exchange));
    return error ? error : wf_mpi_exchange_pieces(team, exchange);
}

static inline wf_error wf_mpi_allreduce_array(wf_handle *handle, const wf_reduction *reduction, const wf_array *array,
                                              const wf_output *output, MPI_Comm comm) {
    struct wf_mpi_team team;
    struct wf_mpi_exchange exchange;
    memset(&exchange, 0, sizeof exchange);
    wf_error error = wf_mpi_join(&team, handle, -1, comm);
    if (error) return error;
    error = wf_mpi_reduce_array(&team, &exchange, wf_mpi_check_array(&team, reduction, array, output, &exchange));
    free(exchange.room);
    return error;
}

#ifdef __cplusplus
}
#endif

#endif
