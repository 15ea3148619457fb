/* warpfold over MPI: accumulators of all ranks become one, and arrays are reduced element by element; the same bits for
 * any number and order of ranks, and whatever algorithm the MPI library chooses.
 *
 *     wf_accumulator_add(handle, sum, &my_share, NULL, NULL);
 *     wf_mpi_allreduce(handle, sum, MPI_COMM_WORLD);            now it is that of all shares, on every rank
 *     wf_accumulator_value(handle, sum, WF_SUM, &result);
 *
 * A header alone, C99 or C++: it is compiled by the program's own mpicc, and so fits any MPI library (MPI 2.2 or later).
 *
 * Every function here is collective: all ranks of the communicator call it, in the same order.  A rank whose own part
 * failed calls it too, with its error as `mine` where there is such a parameter.  Every rank learns of every rank's error:
 * one that did not fail itself returns the error of the first rank that did, and the handle's message says which that is.
 * After an error nothing has changed.  An error of MPI itself, if the communicator's error handler lets it return, is
 * WF_ERROR_IO and is known only where MPI told it.  Memory: host.  A handle should be given its share of the processors
 * (wf_handle_set_threads), where ranks share a machine. */
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

/* Makes every rank's accumulator that of all ranks' elements, as wf_accumulator_merge would: equal in its saved bytes on
 * all ranks, and to those of one process.  Reductions, types and shapes must be the same on all ranks
 * (WF_ERROR_MERGE); ranks may have no elements.  Each rank's indices are its own business: where they matter (argmin,
 * argmax, stats, prod, WF_NAN_ERROR), give each its first_index (or wf_accumulator_move).
 *
 * Costs one all-reduce of 256 bytes for sum, mean, norm1, norm2, dot and var of numbers near 1 (docs/scale.md has the
 * others), prod an all-gather of the saved accumulators. */
static inline wf_error wf_mpi_allreduce(wf_handle *handle, wf_accumulator *accumulator, MPI_Comm comm);

/* The same for the rank root alone; the others' accumulators stay as they are. */
static inline wf_error wf_mpi_reduce(wf_handle *handle, wf_accumulator *accumulator, int root, MPI_Comm comm);

/* Element by element, over the ranks: result i is the reduction of the ranks' elements i, in the order of the ranks,
 * rounded once: an exact sum, or any other op of one array.  Result type and errors are those of wf_reduce along an axis;
 * a message counts results within a piece.  array and output are contiguous, of the same number of elements on all ranks
 * (WF_ERROR_MERGE otherwise); on every rank output has all results.  They must not overlap.
 *
 * Moves the bytes of a ring (each rank sends and receives twice its array, less a piece), and needs 4 MiB. */
static inline wf_error wf_mpi_allreduce_array(wf_handle *handle, const wf_reduction *reduction, const wf_array *array,
                                              const wf_output *output, MPI_Comm comm);

/* Tells every rank of an error that any rank has, and returns WF_OK only if none has one: for steps of the program's own,
 * such as reading a share.  mine: this rank's, whose message is the handle's. */
static inline wf_error wf_mpi_agree(wf_handle *handle, wf_error mine, MPI_Comm comm);

/* ---- how ------------------------------------------------------------------------------------------ */

/* What every fold begins with, whatever the accumulator, so that ranks that disagree or failed still take part in the
 * same collective: how many failed, what they agree on, how many have more than zeros behind them, and the first words to
 * be added.  256 bytes: MPI libraries send so few at once. */
enum { WF_MPI_HEAD_WORDS = 6, WF_MPI_FRAME_WORDS = 32, WF_MPI_BODY_WORDS = WF_MPI_FRAME_WORDS - WF_MPI_HEAD_WORDS };

struct wf_mpi_team {
    wf_handle *handle;
    MPI_Comm comm;
    int rank, size;
    int root; /* who gets the result; -1: all */
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

/* Some rank failed: everyone gets the first one's error, unless it has its own. */
static inline wf_error wf_mpi_spread(const struct wf_mpi_team *team, wf_error mine) {
    struct {
        int error;
        char message[1024];
    } first = {mine, ""};
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

/* Whether all ranks have the same value, of 32 bits.  Of each 16 bits h, n ranks add up h and h^2, and the sum of
 * (h_i - h)^2, which is sum(h^2) - 2 h sum(h) + n h^2 and below 2^63, is 0 only if all are alike. */
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

/* Sends around the frame, whose body is set, and returns whether all ranks go on. */
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
    return wf_handle_fail(team->handle, WF_ERROR_MERGE, "the ranks differ in reduction, type, shape or number of elements");
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

/* ---- arrays: every rank gets one piece of each block from all ranks, reduces it, and hands it to all ---- */

struct wf_mpi_exchange {
    const char *data;
    char *results;
    wf_type type, result_type;
    size_t nbytes, result_nbytes; /* of an element */
    int64_t piece_count;          /* of elements in each piece but the last ones */
    char *rows;                   /* room for a piece of every rank */
    char *slots;                  /* of short arrays: every rank's error and results; NULL: of long ones */
    size_t slot_nbytes;
    int *send_nbytes, *send_offset, *receive_nbytes, *receive_offset; /* of every rank, for blocks that are uneven */
};

/* The elements of a block of count that are the rank's piece. */
static inline int64_t wf_mpi_piece(int64_t piece_count, int64_t count, int rank) {
    const int64_t left = count - rank * piece_count;
    return left <= 0 ? 0 : left < piece_count ? left : piece_count;
}

static inline wf_error wf_mpi_reduce_rows(const struct wf_mpi_team *team, const struct wf_mpi_exchange *exchange,
                                          const wf_reduction *reduction, char *results, int64_t count) {
    const int64_t shape[2] = {team->size, count};
    const wf_array rows = wf_array_nd(exchange->rows, exchange->type, 2, shape, NULL);
    const wf_groups along_ranks = wf_groups_axes(1);
    wf_output output;
    memset(&output, 0, sizeof output);
    output.data = results;
    output.type = exchange->result_type;
    output.ndim = 1;
    output.shape = shape + 1;
    return count ? wf_reduce(team->handle, reduction, &rows, NULL, &along_ranks, &output) : WF_OK;
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

/* An error of the own piece does not keep others from theirs: *mine is told at the end. */
static inline wf_error wf_mpi_reduce_blocks(const struct wf_mpi_team *team, const struct wf_mpi_exchange *exchange,
                                            const wf_reduction *reduction, int64_t count, wf_error *mine) {
    for (int64_t first = 0; first < count;) {
        int64_t block = exchange->piece_count * team->size;
        if (block > count - first) block = count - first;
        const int64_t own = wf_mpi_piece(exchange->piece_count, block, team->rank);
        char *results = exchange->results +
                        (size_t)(own ? first + team->rank * exchange->piece_count : 0) * exchange->result_nbytes;
        wf_error error = wf_mpi_check(team->handle, wf_mpi_send_pieces(team, exchange, first, block));
        if (error) return error;
        if (!*mine) *mine = wf_mpi_reduce_rows(team, exchange, reduction, results, own);
        error = wf_mpi_check(team->handle, wf_mpi_share_pieces(team, exchange, first, block));
        if (error) return error;
        first += block;
    }
    return WF_OK;
}

/* Short arrays need no collective of their own for errors: each rank's travels before its results, in a slot.  Copying
 * longer ones out of slots would take longer than that. */
enum { WF_MPI_SLOT_HEAD_NBYTES = 8, WF_MPI_SLOTS_MOST_NBYTES = 1 << 17 };

/* Moves every rank's results to their places; returns whether any has an error instead. */
static inline int wf_mpi_open_slots(const struct wf_mpi_team *team, const struct wf_mpi_exchange *exchange, int64_t count) {
    int64_t failed = 0, error;
    for (int i = 0; i < team->size; i++) {
        const char *slot = exchange->slots + (size_t)i * exchange->slot_nbytes;
        const size_t nbytes = (size_t)wf_mpi_piece(exchange->piece_count, count, i) * exchange->result_nbytes;
        memcpy(&error, slot, sizeof error);
        failed |= error;
        if (nbytes)
            memcpy(exchange->results + (size_t)(i * exchange->piece_count) * exchange->result_nbytes,
                   slot + WF_MPI_SLOT_HEAD_NBYTES, nbytes);
    }
    return failed != 0;
}

static inline wf_error wf_mpi_reduce_block(const struct wf_mpi_team *team, const struct wf_mpi_exchange *exchange,
                                           const wf_reduction *reduction, int64_t count) {
    char *slot = exchange->slots + (size_t)team->rank * exchange->slot_nbytes;
    wf_error error = wf_mpi_check(team->handle, wf_mpi_send_pieces(team, exchange, 0, count));
    if (error) return error;
    const wf_error mine = wf_mpi_reduce_rows(team, exchange, reduction, slot + WF_MPI_SLOT_HEAD_NBYTES,
                                             wf_mpi_piece(exchange->piece_count, count, team->rank));
    const int64_t told = mine;
    memcpy(slot, &told, sizeof told);
    error = wf_mpi_check(team->handle, MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, exchange->slots,
                                                     (int)exchange->slot_nbytes, MPI_BYTE, team->comm));
    if (error) return error;
    return wf_mpi_open_slots(team, exchange, count) ? wf_mpi_spread(team, mine) : WF_OK;
}

static inline int64_t wf_mpi_count(const wf_array *array) {
    int64_t count = 1;
    if (!array->shape) return array->count;
    for (int32_t d = 0; d < array->ndim; d++) count *= array->shape[d] < 0 ? -1 : array->shape[d];
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

/* Checks everything that wf_reduce would not, and makes room.  *settings: what ranks must agree on. */
static inline wf_error wf_mpi_prepare(const struct wf_mpi_team *team, const wf_reduction *reduction,
                                      const wf_array *array, const wf_output *output,
                                      struct wf_mpi_exchange *exchange, uint64_t *settings) {
    const size_t block_nbytes = 4 << 20;
    wf_accumulator *accumulator = NULL; /* knows the reduction's checks, result type and hash */
    wf_word_counts counts = {0, 0, 0, 0};
    if (!array || !output)
        return wf_handle_fail(team->handle, WF_ERROR_ARGUMENT, "the array or the output is NULL");
    wf_error error = wf_accumulator_create(team->handle, reduction, array->type, 0, NULL, &accumulator);
    if (!error) error = wf_accumulator_word_counts(team->handle, accumulator, &counts);
    exchange->result_type = error ? WF_TYPE_DEFAULT : wf_accumulator_op_result_type(accumulator, reduction->op);
    wf_accumulator_destroy(accumulator);
    if (error) return error;
    exchange->data = (const char *)array->data;
    exchange->results = (char *)output->data;
    exchange->type = array->type;
    exchange->nbytes = wf_type_nbytes(array->type);
    exchange->result_nbytes = wf_type_nbytes(exchange->result_type);
    if (reduction->op == WF_STATS || reduction->op == WF_DOT)
        return wf_handle_fail(team->handle, WF_ERROR_UNSUPPORTED, "element by element: an op of one array with one result");
    if ((output->type && output->type != exchange->result_type) || (wf_mpi_count(array) > 0 && (!array->data || !output->data)) ||
        !wf_mpi_is_contiguous(array->ndim, array->shape, array->stride_bytes, (int64_t)exchange->nbytes) ||
        !wf_mpi_is_contiguous(output->ndim, output->shape, output->stride_bytes, (int64_t)exchange->result_nbytes))
        return wf_handle_fail(team->handle, WF_ERROR_ARGUMENT,
                              "element by element: array and output must be contiguous, and the output of the result type");
    const int64_t count = wf_mpi_count(array);
    if (count < 0) return wf_handle_fail(team->handle, WF_ERROR_ARGUMENT, "the array has a negative length");
    const int64_t even = count / team->size + (count % team->size != 0);
    exchange->piece_count = (int64_t)(block_nbytes / ((size_t)team->size * exchange->nbytes)) + 1;
    if (exchange->piece_count > even) exchange->piece_count = even ? even : 1;
    exchange->rows = (char *)malloc((size_t)exchange->piece_count * (size_t)team->size * exchange->nbytes);
    exchange->send_nbytes = (int *)malloc(4 * (size_t)team->size * sizeof(int));
    exchange->slot_nbytes = WF_MPI_SLOT_HEAD_NBYTES + ((size_t)exchange->piece_count * exchange->result_nbytes + 7) / 8 * 8;
    if (exchange->piece_count >= even && exchange->slot_nbytes * (size_t)team->size <= WF_MPI_SLOTS_MOST_NBYTES) {
        exchange->slots = (char *)malloc((size_t)team->size * exchange->slot_nbytes);
        if (!exchange->slots) return wf_handle_fail(team->handle, WF_ERROR_MEMORY, NULL);
    }
    if (!exchange->rows || !exchange->send_nbytes) return wf_handle_fail(team->handle, WF_ERROR_MEMORY, NULL);
    exchange->send_offset = exchange->send_nbytes + team->size;
    exchange->receive_nbytes = exchange->send_offset + team->size;
    exchange->receive_offset = exchange->receive_nbytes + team->size;
    *settings = counts.settings ^ ((uint64_t)count + 1) * UINT64_C(0x9e3779b97f4a7c15); /* not those of an accumulator */
    return WF_OK;
}

static inline wf_error wf_mpi_allreduce_array(wf_handle *handle, const wf_reduction *reduction, const wf_array *array,
                                              const wf_output *output, MPI_Comm comm) {
    int64_t frame[WF_MPI_FRAME_WORDS] = {0};
    uint64_t settings = 0;
    struct wf_mpi_team team;
    struct wf_mpi_exchange exchange;
    memset(&exchange, 0, sizeof exchange);
    wf_error error = wf_mpi_join(&team, handle, -1, comm);
    if (error) return error;
    wf_error mine = wf_mpi_prepare(&team, reduction, array, output, &exchange, &settings);
    error = wf_mpi_begin(&team, frame, mine, settings);
    if (!error && exchange.slots) {
        error = wf_mpi_reduce_block(&team, &exchange, reduction, wf_mpi_count(array));
    } else if (!error) {
        error = wf_mpi_reduce_blocks(&team, &exchange, reduction, wf_mpi_count(array), &mine);
        if (!error) error = wf_mpi_agree_in(&team, mine);
    }
    free(exchange.slots);
    free(exchange.rows);
    free(exchange.send_nbytes);
    return error;
}

#ifdef __cplusplus
}
#endif

#endif
