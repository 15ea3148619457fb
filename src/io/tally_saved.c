/* Layout, all little-endian: the magic of accumulators, the version of tallies with a bit above those of accumulators,
 * the settings, the names, the keys, the rows' places, each column's counts and saved accumulators, and the checksum of
 * all before it.  Lengths and counts have 8 bytes.  Places are there only where an op tells a row. */
#include <stdlib.h>
#include <string.h>

#include "core/archive.h"
#include "core/ops.h"
#include "core/saved.h"
#include "core/shaped_groups.h"
#include "io/tally.h"
#include "io/tally_parts.h"

enum { TALLY = 1 << 16, VERSION = 1, MAGIC_NBYTES = 8, VERSION_NBYTES = 4, CHECKSUM_NBYTES = 4, NO_DECIMALS = 255 };

static const uint8_t magic[MAGIC_NBYTES] = {'w', 'a', 'r', 'p', 'f', 'o', 'l', 'd'};

bool wf_tally_is_saved(const void *bytes, size_t nbytes) {
    const uint8_t *p = bytes;
    return nbytes >= MAGIC_NBYTES + VERSION_NBYTES && !memcmp(p, magic, MAGIC_NBYTES) && p[MAGIC_NBYTES + 2] == 1;
}

/* Whether results name rows, whose places are then saved. */
static bool has_places(const struct wf_tally *tally) {
    bool has = false;
    for (size_t i = 0; i < tally->settings.op_count; i++)
        has |= tally->settings.op[i] == WF_ARGMIN || tally->settings.op[i] == WF_ARGMAX;
    return has;
}

/* ---- both ways ---- */

static void transfer_settings(struct wf_archive *archive, struct wf_tally_settings *settings) {
    const int64_t decimals = settings->decimals == WF_NO_DECIMALS ? NO_DECIMALS : settings->decimals;
    settings->type = (wf_type)wf_archive_natural(archive, settings->type, 1, WF_TYPE_COUNT - 1);
    settings->decimals = (int32_t)wf_archive_natural(archive, decimals, 1, NO_DECIMALS);
    if (settings->decimals == NO_DECIMALS) settings->decimals = WF_NO_DECIMALS;
    wf_archive_require(archive, settings->decimals <= WF_DECIMALS_MAX);
    wf_archive_require(archive, settings->decimals == WF_NO_DECIMALS || settings->type == WF_I64);
    settings->nan = (wf_nan)wf_archive_natural(archive, settings->nan, 1, WF_NAN_ERROR);
    settings->result_type = (wf_type)wf_archive_natural(archive, settings->result_type, 1, WF_TYPE_COUNT - 1);
    settings->ddof = wf_archive_natural(archive, settings->ddof, 8, INT64_MAX);
    settings->op_count = (size_t)wf_archive_natural(archive, (int64_t)settings->op_count, 1, WF_TALLY_OPS_MAX);
    for (size_t i = 0; i < settings->op_count && !archive->failed; i++)
        settings->op[i] = (wf_op)wf_archive_natural(archive, settings->op[i], 1, WF_OP_COUNT - 1);
}

/* A number of things of which each takes at least one byte. */
static int64_t transfer_count(struct wf_archive *archive, int64_t count) {
    const size_t left = archive->nbytes - archive->position;
    return wf_archive_natural(archive, count, 8, left < INT64_MAX ? (int64_t)left : INT64_MAX);
}

/* ---- writing ---- */

static void put_bytes(struct wf_archive *archive, const void *bytes, size_t nbytes) {
    transfer_count(archive, (int64_t)nbytes);
    if (archive->target) memcpy(archive->target + archive->position, bytes, nbytes);
    archive->position += nbytes;
}

static void put_text(struct wf_archive *archive, const char *text) {
    put_bytes(archive, text, strlen(text));
}

static void put_names(struct wf_archive *archive, const struct wf_tally *tally) {
    transfer_count(archive, (int64_t)tally->column_count);
    transfer_count(archive, (int64_t)tally->by_count);
    for (size_t i = 0; i < tally->column_count + tally->by_count; i++) put_text(archive, tally->name[i]);
}

static void put_keys(struct wf_archive *archive, const struct wf_tally *tally) {
    transfer_count(archive, tally->keys.count);
    for (int32_t i = 0; i < tally->keys.count; i++) {
        size_t nbytes;
        const unsigned char *text = wf_texts_get(&tally->keys, i, &nbytes);
        put_bytes(archive, text, nbytes);
    }
}

static void put_places(struct wf_archive *archive, const struct wf_tally *tally) {
    const bool has = has_places(tally);
    wf_archive_natural(archive, tally->row_count, 8, INT64_MAX);
    transfer_count(archive, has ? (int64_t)tally->file_count : 0);
    for (size_t i = 0; has && i < tally->file_count; i++) put_text(archive, tally->file[i]);
    transfer_count(archive, has ? (int64_t)tally->place_count : 0);
    for (size_t i = 0; has && i < tally->place_count; i++) {
        wf_archive_natural(archive, tally->place[i].row, 8, INT64_MAX);
        wf_archive_natural(archive, tally->place[i].file, 8, INT64_MAX);
        wf_archive_natural(archive, tally->place[i].line, 8, INT64_MAX);
    }
}

static wf_error put_accumulator(wf_handle *handle, struct wf_archive *archive, const wf_accumulator *accumulator) {
    size_t nbytes = 0;
    wf_accumulator_save(handle, accumulator, NULL, 0, &nbytes); /* tells only the length */
    transfer_count(archive, (int64_t)nbytes);
    unsigned char *to = archive->target ? archive->target + archive->position : NULL;
    archive->position += nbytes;
    return to ? wf_accumulator_save(handle, accumulator, to, nbytes, &nbytes) : WF_OK;
}

/* Without a target it only measures. */
static wf_error put_all(wf_handle *handle, struct wf_archive *archive, struct wf_tally *tally) {
    wf_error error = WF_OK;
    for (int i = 0; i < MAGIC_NBYTES; i++) wf_archive_natural(archive, magic[i], 1, UINT8_MAX);
    wf_archive_natural(archive, TALLY | VERSION, VERSION_NBYTES, INT32_MAX);
    transfer_settings(archive, &tally->settings);
    put_names(archive, tally);
    put_keys(archive, tally);
    put_places(archive, tally);
    for (size_t c = 0; c < tally->column_count; c++) {
        for (int32_t g = 0; g < tally->keys.count; g++)
            wf_archive_natural(archive, wf_tally_count_of(&tally->column[c], g), 8, INT64_MAX);
        for (size_t k = 0; k < tally->carrier_count && !error; k++)
            error = put_accumulator(handle, archive, tally->column[c].accumulator[k]);
    }
    uint64_t checksum = archive->target ? wf_saved_checksum(archive->target, archive->position) : 0;
    wf_archive_transfer(archive, &checksum, CHECKSUM_NBYTES);
    return error;
}

static wf_error check_mergeable(wf_handle *handle, const struct wf_tally *tally) {
    if (wf_tally_keeps_rows(tally))
        return wf_fail(handle, WF_ERROR_UNSUPPORTED, "medians, quantiles and distinct values cannot be merged, so they are not saved");
    for (size_t k = 0; k < tally->carrier_count; k++)
        if (tally->carrier[k] == WF_PROD && wf_type_is_float(tally->settings.type))
            return wf_fail(handle, WF_ERROR_UNSUPPORTED, "products of floats by groups cannot be merged, so they are not saved");
    return WF_OK;
}

wf_error wf_tally_save(wf_handle *handle, struct wf_tally *tally, unsigned char **bytes, size_t *nbytes) {
    struct wf_archive archive = {.nbytes = SIZE_MAX};
    *bytes = NULL;
    wf_error error = check_mergeable(handle, tally);
    if (!error) error = wf_tally_settle(handle, tally);
    if (!error) error = put_all(handle, &archive, tally);
    if (error) return error;
    *nbytes = archive.position;
    *bytes = malloc(archive.position);
    if (!*bytes) return wf_fail(handle, WF_ERROR_MEMORY, "no memory for %zu bytes of a saved table", archive.position);
    archive = (struct wf_archive){.nbytes = *nbytes, .target = *bytes};
    error = put_all(handle, &archive, tally);
    if (!error) return WF_OK;
    free(*bytes);
    *bytes = NULL;
    return error;
}

/* ---- reading ---- */

static const uint8_t *get_bytes(struct wf_archive *archive, size_t *nbytes) {
    *nbytes = (size_t)transfer_count(archive, 0);
    if (*nbytes > archive->nbytes - archive->position) archive->failed = true;
    if (archive->failed) *nbytes = 0;
    const uint8_t *bytes = archive->source + archive->position;
    archive->position += *nbytes;
    return bytes;
}

/* A copy, which is the caller's; NULL: the archive failed, or there is no memory. */
static char *get_text(struct wf_archive *archive) {
    size_t nbytes;
    const uint8_t *bytes = get_bytes(archive, &nbytes);
    wf_archive_require(archive, !memchr(bytes, 0, nbytes));
    return archive->failed ? NULL : strndup((const char *)bytes, nbytes);
}

static wf_error fail_memory(wf_handle *handle) {
    return wf_fail(handle, WF_ERROR_MEMORY, "no memory for a saved table");
}

static wf_error get_names(wf_handle *handle, struct wf_archive *archive, struct wf_tally *tally) {
    const size_t column_count = (size_t)transfer_count(archive, 0), by_count = (size_t)transfer_count(archive, 0);
    const size_t count = column_count + by_count;
    char **name = archive->failed ? NULL : calloc(count + 1, sizeof *name);
    bool has_memory = name;
    for (size_t i = 0; has_memory && i < count && !archive->failed; i++) has_memory = (name[i] = get_text(archive));
    wf_error error = archive->failed ? WF_ERROR_FORMAT : has_memory ? WF_OK : fail_memory(handle);
    if (!error) error = wf_tally_set_columns(handle, tally, column_count, by_count, name);
    for (size_t i = 0; name && i < count; i++) free(name[i]);
    free(name);
    return error;
}

/* Whether a key has as many parts as there are columns, and nothing after them. */
static bool is_key(const struct wf_tally *tally, const uint8_t *key, size_t nbytes) {
    size_t length = nbytes;
    const uint8_t *part = key;
    if (tally->by_count > 1) part = wf_key_part(key, nbytes, tally->by_count, tally->by_count - 1, &length);
    return part && part + length == key + nbytes && (tally->by_count || !nbytes);
}

static wf_error get_keys(wf_handle *handle, struct wf_archive *archive, struct wf_tally *tally) {
    const int64_t count = transfer_count(archive, 0);
    wf_archive_require(archive, tally->by_count ? count <= WF_TEXTS_COUNT_MAX : count == 1);
    for (int64_t i = 0; i < count && !archive->failed; i++) {
        size_t nbytes;
        const uint8_t *key = get_bytes(archive, &nbytes);
        wf_archive_require(archive, nbytes <= UINT32_MAX && is_key(tally, key, nbytes));
        if (archive->failed) break;
        const int32_t number = wf_texts_add(&tally->keys, key, nbytes);
        if (number < 0) return fail_memory(handle);
        wf_archive_require(archive, number == i); /* otherwise it was there before */
    }
    return archive->failed ? WF_ERROR_FORMAT : wf_tally_widen_counts(handle, tally);
}

static wf_error get_place_list(wf_handle *handle, struct wf_archive *archive, struct wf_tally *tally) {
    enum { PLACE_NBYTES = 24 };
    const int64_t count = transfer_count(archive, 0);
    wf_archive_require(archive, (size_t)count <= (archive->nbytes - archive->position) / PLACE_NBYTES);
    wf_archive_require(archive, has_places(tally) ? !count == !tally->row_count : !count);
    if (archive->failed) return WF_ERROR_FORMAT;
    tally->place = malloc(((size_t)count + 1) * sizeof *tally->place);
    if (!tally->place) return fail_memory(handle);
    tally->place_capacity = (size_t)count + 1;
    for (int64_t i = 0; i < count && !archive->failed; i++) {
        struct wf_place *place = &tally->place[i];
        place->row = wf_archive_natural(archive, 0, 8, tally->row_count - 1);
        place->file = wf_archive_natural(archive, 0, 8, (int64_t)tally->file_count - 1);
        place->line = wf_archive_natural(archive, 0, 8, INT64_MAX - tally->row_count);
        wf_archive_require(archive, i ? place->row > place[-1].row : place->row == 0);
        tally->place_count++;
    }
    return archive->failed ? WF_ERROR_FORMAT : WF_OK;
}

static wf_error get_places(wf_handle *handle, struct wf_archive *archive, struct wf_tally *tally) {
    tally->row_count = wf_archive_natural(archive, 0, 8, INT64_MAX);
    const int64_t file_count = transfer_count(archive, 0);
    wf_error error = archive->failed ? WF_ERROR_FORMAT : WF_OK;
    for (int64_t i = 0; i < file_count && !error; i++) {
        char *name = get_text(archive);
        error = archive->failed ? WF_ERROR_FORMAT : name ? wf_tally_add_file(handle, tally, name) : fail_memory(handle);
        free(name);
    }
    if (!error && has_places(tally) && tally->row_count && !file_count) error = WF_ERROR_FORMAT;
    return error ? error : get_place_list(handle, archive, tally);
}

/* Whether the accumulator is one that the settings lead to, with the counts of the column. */
static bool is_alike(const struct wf_tally *tally, const struct wf_tally_column *column, const wf_accumulator *empty,
                     const wf_accumulator *loaded) {
    const struct wf_shaped *shaped = loaded->shaped;
    if (!shaped || shaped->ndim != 1 || shaped->count != tally->keys.count || loaded->op != empty->op ||
        loaded->type != empty->type || loaded->nan != empty->nan || loaded->result_type != empty->result_type ||
        loaded->ddof != empty->ddof || loaded->tree || shaped->flags != empty->shaped->flags ||
        shaped->fill.type != WF_I64 || shaped->fill.v.i)
        return false;
    if (wf_accumulator_is_indexed(loaded) && (loaded->first_index != 0 || loaded->end_index != tally->row_count))
        return false;
    for (int64_t g = 0; g < shaped->count; g++)
        if ((int64_t)shaped->words[(size_t)g * shaped->result_words] != column->count[g]) return false;
    return true;
}

static wf_error get_accumulator(wf_handle *handle, struct wf_archive *archive, const struct wf_tally *tally,
                                struct wf_tally_column *column, size_t k) {
    size_t nbytes;
    const uint8_t *bytes = get_bytes(archive, &nbytes);
    wf_accumulator *loaded = NULL;
    if (archive->failed) return WF_ERROR_FORMAT;
    wf_error error = wf_accumulator_load(handle, bytes, nbytes, &loaded);
    if (error == WF_ERROR_MEMORY) return error;
    if (error || !is_alike(tally, column, column->accumulator[k], loaded)) {
        wf_accumulator_destroy(loaded);
        archive->failed = true;
        return WF_ERROR_FORMAT;
    }
    wf_accumulator_destroy(column->accumulator[k]);
    column->accumulator[k] = loaded;
    if (!wf_accumulator_is_indexed(loaded)) loaded->count = loaded->end_index = tally->row_count;
    return WF_OK;
}

static wf_error get_columns(wf_handle *handle, struct wf_archive *archive, struct wf_tally *tally) {
    wf_error error = WF_OK;
    for (size_t c = 0; c < tally->column_count && !error; c++) {
        struct wf_tally_column *column = &tally->column[c];
        int64_t left = tally->row_count;
        for (int32_t g = 0; g < tally->keys.count && !archive->failed; g++)
            left -= column->count[g] = wf_archive_natural(archive, 0, 8, left);
        for (size_t k = 0; k < tally->carrier_count && !error; k++)
            error = archive->failed ? WF_ERROR_FORMAT : get_accumulator(handle, archive, tally, column, k);
    }
    wf_archive_require(archive, error || archive->position == archive->nbytes);
    return archive->failed ? WF_ERROR_FORMAT : error;
}

/* Whether the bytes are whole, and of a version that is known. */
static wf_error check_whole(wf_handle *handle, const uint8_t *bytes, size_t nbytes) {
    uint64_t version = 0, checksum = 0;
    if (!wf_tally_is_saved(bytes, nbytes) || nbytes < MAGIC_NBYTES + VERSION_NBYTES + CHECKSUM_NBYTES)
        return wf_fail(handle, WF_ERROR_FORMAT, "not a saved table, which merges with tables only");
    struct wf_archive archive = {.reading = true, .source = bytes, .nbytes = nbytes, .position = MAGIC_NBYTES};
    wf_archive_transfer(&archive, &version, VERSION_NBYTES);
    archive.position = nbytes - CHECKSUM_NBYTES;
    wf_archive_transfer(&archive, &checksum, CHECKSUM_NBYTES);
    if (checksum != wf_saved_checksum(bytes, nbytes - CHECKSUM_NBYTES))
        return wf_fail(handle, WF_ERROR_FORMAT, "damaged table: wrong checksum");
    if (version == (TALLY | VERSION)) return WF_OK;
    return wf_fail(handle, WF_ERROR_FORMAT, "table of version %d; this warpfold reads version %d",
                   (int)(version & (TALLY - 1)), VERSION);
}

static wf_error get_all(wf_handle *handle, struct wf_archive *archive, struct wf_tally *tally) {
    struct wf_tally_settings settings = {.op_count = 0};
    transfer_settings(archive, &settings);
    wf_error error = archive->failed ? WF_ERROR_FORMAT : wf_tally_begin(handle, tally, &settings);
    if (!error) error = get_names(handle, archive, tally);
    if (!error) error = get_keys(handle, archive, tally);
    if (!error) error = get_places(handle, archive, tally);
    if (!error) error = get_columns(handle, archive, tally);
    tally->has_accumulators = true;
    return error;
}

wf_error wf_tally_load(wf_handle *handle, struct wf_tally *tally, const void *bytes, size_t nbytes) {
    memset(tally, 0, sizeof *tally);
    wf_error error = check_whole(handle, bytes, nbytes);
    if (error) return error;
    struct wf_archive archive = {.reading = true, .source = bytes, .nbytes = nbytes - CHECKSUM_NBYTES,
                                 .position = MAGIC_NBYTES + VERSION_NBYTES};
    error = get_all(handle, &archive, tally);
    if (!error) return WF_OK;
    wf_tally_clear(tally);
    return error == WF_ERROR_MEMORY ? error : wf_fail(handle, WF_ERROR_FORMAT, "not a table that warpfold has saved");
}
