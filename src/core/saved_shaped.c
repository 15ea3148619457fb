/* After the settings: the number of dimensions, the flags and the type of the fill value, one byte each; the value, if
 * there is one; the lengths; the hull of the positions, if indices matter; then one result after the other. */
#include "core/saved_shaped.h"
#include "core/possible.h"

/* What is read before there is an accumulator to read into. */
struct header {
    struct wf_accumulator common;
    struct wf_tree tree;
    int32_t ndim;
    uint32_t flags;
    wf_value fill;
    int64_t shape[WF_NDIM_MAX];
};

bool wf_saved_has_shape(struct wf_archive archive) {
    enum { SETTINGS_NBYTES = 12 };
    uint64_t settings, ndim = 0;
    wf_archive_transfer(&archive, &settings, 8);
    wf_archive_transfer(&archive, &settings, SETTINGS_NBYTES - 8);
    wf_archive_transfer(&archive, &ndim, 1);
    return ndim != 0;
}

/* Whether the value's bytes are those that its number has. */
static bool is_canonical_value(const wf_value *value) {
    uint64_t bits = 0;
    wf_value again = {.type = value->type};
    wf_value_store(value, &bits);
    struct wf_number number = wf_number_of_bits(value->type, bits);
    return wf_number_round(&number, value->type, &again) && again.v.u == value->v.u;
}

static void transfer_header(struct wf_archive *archive, struct header *header) {
    wf_value *fill = &header->fill;
    wf_archive_settings(archive, &header->common);
    header->ndim = (int32_t)wf_archive_natural(archive, header->ndim, 1, WF_NDIM_MAX);
    header->flags = (uint32_t)wf_archive_natural(archive, header->flags, 1, WF_SKIP_BAD_KEYS);
    fill->type = (wf_type)wf_archive_natural(archive, fill->type, 1, WF_TYPE_COUNT - 1);
    if (fill->type) wf_archive_transfer(archive, &fill->v.u, 8);
    if (archive->reading && fill->type) wf_archive_require(archive, is_canonical_value(fill));
    for (int32_t d = 0; d < header->ndim; d++)
        header->shape[d] = wf_archive_natural(archive, header->shape[d], 8, INT64_MAX);
}

static void transfer_hull(struct wf_archive *archive, struct wf_accumulator *common) {
    if (!wf_accumulator_is_indexed(common)) return;
    common->count = wf_archive_natural(archive, common->count, 8, INT64_MAX);
    wf_archive_hull(archive, common);
}

/* A tree has a hull of its own within the positions'. */
static void transfer_tree_start(struct wf_archive *archive, struct wf_accumulator *acc,
                                const struct wf_accumulator *common) {
    int64_t least = common->first_index, most = common->end_index;
    acc->first_index = wf_archive_natural(archive, acc->first_index, 8, INT64_MAX);
    wf_archive_require(archive, !acc->count || (acc->first_index >= least && acc->count <= most - acc->first_index));
    if (!archive->failed) acc->end_index = acc->first_index + acc->count;
}

static void transfer_result(struct wf_archive *archive, struct wf_accumulator *acc,
                            const struct wf_accumulator *common) {
    wf_archive_counts(archive, acc);
    if (acc->tree) transfer_tree_start(archive, acc, common);
    if (wf_accumulator_is_indexed(acc) && wf_type_is_float(acc->type)) wf_archive_first_nan(archive, acc, common);
    if (!archive->failed) wf_archive_parts(archive, acc);
}

/* ---- writing ---- */

/* The bytes of a result without elements: the least that one has, and all, except for trees. */
static int64_t result_nbytes(const struct wf_accumulator *common) {
    struct wf_archive archive = {.nbytes = SIZE_MAX};
    struct wf_accumulator acc;
    struct wf_tree tree;
    wf_accumulator_init_like(&acc, common, 0, &tree);
    transfer_result(&archive, &acc, common);
    return (int64_t)archive.position;
}

void wf_saved_transfer_shaped(struct wf_archive *archive, const struct wf_shaped *shaped) {
    struct header header = {.common = shaped->common, .ndim = shaped->ndim, .flags = shaped->flags, .fill = shaped->fill};
    struct wf_accumulator acc;
    struct wf_tree tree;
    memcpy(header.shape, shaped->shape, sizeof header.shape);
    transfer_header(archive, &header);
    transfer_hull(archive, &header.common);
    if (!archive->target && !shaped->common.tree) {
        archive->position += (size_t)(shaped->count * result_nbytes(&shaped->common));
        return;
    }
    for (int64_t i = 0; i < shaped->count; i++) {
        wf_shaped_get(shaped, i, &acc, &tree);
        transfer_result(archive, &acc, &shaped->common);
    }
}

/* ---- reading ---- */

wf_error wf_saved_fail_flaw(wf_handle *handle, const char *flaw) {
    return wf_fail(handle, WF_ERROR_FORMAT, "invalid accumulator, which no data produces: %s", flaw);
}

/* An accumulator for what the header tells, if there are bytes for as many results.  Otherwise the archive failed, or
 * there is no memory. */
static struct wf_shaped *make(wf_handle *handle, struct wf_archive *archive, const struct header *header) {
    int64_t count = wf_shape_count(header->ndim, header->shape), left = (int64_t)(archive->nbytes - archive->position);
    wf_archive_require(archive, count >= 0 && count <= left / result_nbytes(&header->common));
    if (archive->failed) return NULL;
    struct wf_shaped *made = wf_shaped_make(handle, &header->common, header->ndim, header->shape, count);
    if (!made) return NULL;
    made->flags = header->flags;
    made->fill = header->fill;
    made->common.first_index = header->common.first_index;
    made->common.end_index = header->common.end_index;
    made->common.count = header->common.count;
    return made;
}

/* Whether result i is saved as the bytes that it was read from. */
static bool is_canonical(const struct wf_shaped *shaped, int64_t i, const uint8_t *bytes, size_t nbytes) {
    uint8_t again[WF_SAVED_NBYTES_MAX];
    struct wf_archive archive = {.target = again, .nbytes = sizeof again};
    struct wf_accumulator acc;
    struct wf_tree tree;
    wf_shaped_get(shaped, i, &acc, &tree);
    transfer_result(&archive, &acc, &shaped->common);
    return archive.position == nbytes && !memcmp(again, bytes, nbytes);
}

/* Positions are saved only where indices matter; otherwise they are no less than any result's count. */
static void check_count(struct wf_archive *archive, struct wf_shaped *shaped, int64_t count) {
    struct wf_accumulator *common = &shaped->common;
    if (wf_accumulator_is_indexed(common)) {
        wf_archive_require(archive, count <= common->count);
    } else if (count > common->count) {
        common->count = common->end_index = count;
    }
}

static wf_error read_result(wf_handle *handle, struct wf_archive *archive, struct wf_shaped *shaped, int64_t i) {
    struct wf_accumulator acc;
    struct wf_tree tree;
    const uint8_t *bytes = archive->source + archive->position;
    wf_shaped_get(shaped, i, &acc, &tree);
    transfer_result(archive, &acc, &shaped->common);
    check_count(archive, shaped, acc.count);
    if (archive->failed) return WF_ERROR_FORMAT;
    wf_error error = wf_shaped_reserve_nodes(handle, shaped, acc.tree ? tree.node_count : 0);
    if (error) return error;
    wf_shaped_set(shaped, i, &acc);
    wf_archive_require(archive, is_canonical(shaped, i, bytes, (size_t)(archive->source + archive->position - bytes)));
    if (archive->failed) return WF_ERROR_FORMAT;
    const char *flaw = acc.count ? wf_result_flaw(&acc) : NULL;
    return flaw ? wf_saved_fail_flaw(handle, flaw) : WF_OK;
}

static wf_error read_results(wf_handle *handle, struct wf_archive *archive, struct wf_shaped *shaped) {
    wf_error error = archive->failed ? WF_ERROR_FORMAT : WF_OK;
    for (int64_t i = 0; i < shaped->count && !error; i++) error = read_result(handle, archive, shaped, i);
    wf_archive_require(archive, error || archive->position == archive->nbytes);
    return error;
}

wf_error wf_saved_read_shaped(wf_handle *handle, struct wf_archive *archive, struct wf_shaped **shaped) {
    struct header header = {.ndim = 0};
    header.common.tree = &header.tree;
    transfer_header(archive, &header);
    header.common.xor_alone = header.common.op == WF_XOR;
    if (!archive->failed) transfer_hull(archive, &header.common);
    struct wf_shaped *made = archive->failed ? NULL : make(handle, archive, &header);
    wf_error error = made ? read_results(handle, archive, made) : WF_ERROR_MEMORY;
    if (!error && !archive->failed) {
        *shaped = made;
        return WF_OK;
    }
    wf_shaped_destroy(made);
    return error;
}
