/* Layout, all little-endian: the magic, the version, then the fields in the order of the functions below, then the
 * checksum of all before it, which every version ends with.  Only what the op depends on is there, so equal reductions
 * save equal bytes.
 *
 * Version 1: one result.  Version 2 has the shape after the reduction's settings; one result is saved in it only if its
 * bits' exclusive or is all that it knows of them, which version 1 cannot tell. */
#include "core/saved.h"
#include "core/archive.h"
#include "core/possible.h"
#include "core/saved_shaped.h"

enum { VERSION_MAX = 2, MAGIC_NBYTES = 8, VERSION_NBYTES = 4, CHECKSUM_NBYTES = 4 };

static const uint8_t magic[MAGIC_NBYTES] = {'w', 'a', 'r', 'p', 'f', 'o', 'l', 'd'};

/* Four bits at a time: what each adds to the remainder. */
uint32_t wf_saved_checksum(const uint8_t *bytes, size_t nbytes) {
    static const uint32_t of_bits[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                         0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                         0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < nbytes; i++) {
        crc = crc >> 4 ^ of_bits[(crc ^ bytes[i]) & 15];
        crc = crc >> 4 ^ of_bits[(crc ^ bytes[i] >> 4) & 15];
    }
    return ~crc;
}

/* ---- writing ---- */

static void transfer_all(struct wf_archive *archive, struct wf_accumulator *acc, int version) {
    wf_archive_settings(archive, acc);
    for (int i = 0; version > 1 && i < WF_SAVED_NO_SHAPE_NBYTES; i++) wf_archive_natural(archive, 0, 1, 0);
    if (archive->reading) acc->xor_alone = version > 1;
    if (!archive->failed) wf_archive_elements(archive, acc);
    if (!archive->failed) wf_archive_parts(archive, acc);
}

static void begin(struct wf_archive *archive, int version) {
    for (int i = 0; i < MAGIC_NBYTES; i++) wf_archive_natural(archive, magic[i], 1, UINT8_MAX);
    wf_archive_natural(archive, version, VERSION_NBYTES, version);
}

/* Returns the length of the whole. */
static size_t end(struct wf_archive *archive) {
    uint64_t checksum = archive->target ? wf_saved_checksum(archive->target, archive->position) : 0;
    wf_archive_transfer(archive, &checksum, CHECKSUM_NBYTES);
    return archive->position;
}

size_t wf_saved_write(struct wf_accumulator *acc, uint8_t bytes[WF_SAVED_NBYTES_MAX]) {
    struct wf_archive archive = {.target = bytes, .nbytes = WF_SAVED_NBYTES_MAX};
    int version = acc->xor_alone ? 2 : 1;
    begin(&archive, version);
    transfer_all(&archive, acc, version);
    return end(&archive);
}

size_t wf_saved_write_shaped(const struct wf_shaped *shaped, uint8_t *bytes) {
    struct wf_archive archive = {.target = bytes, .nbytes = SIZE_MAX};
    begin(&archive, 2);
    wf_saved_transfer_shaped(&archive, shaped);
    return end(&archive);
}

/* ---- reading: is it whole, is it of a known version, can data have led to it ---- */

static wf_error check_whole(wf_handle *handle, const uint8_t *bytes, size_t nbytes) {
    const size_t least = sizeof magic + 4 + CHECKSUM_NBYTES;
    if (nbytes < sizeof magic || memcmp(bytes, magic, sizeof magic))
        return wf_fail(handle, WF_ERROR_FORMAT, "not a saved accumulator");
    if (nbytes < least)
        return wf_fail(handle, WF_ERROR_FORMAT, "damaged accumulator: %zu bytes long", nbytes);
    struct wf_archive end = {
        .reading = true, .source = bytes, .nbytes = nbytes, .position = nbytes - CHECKSUM_NBYTES};
    uint64_t checksum = 0;
    wf_archive_transfer(&end, &checksum, CHECKSUM_NBYTES);
    if (checksum != wf_saved_checksum(bytes, nbytes - CHECKSUM_NBYTES))
        return wf_fail(handle, WF_ERROR_FORMAT, "damaged accumulator: wrong checksum");
    return WF_OK;
}

/* The version, and the numbers that later versions may have more of. */
static wf_error check_known(wf_handle *handle, struct wf_archive archive, uint64_t version) {
    uint64_t op = 0, type = 0;
    if (version < 1 || version > VERSION_MAX)
        return wf_fail(handle, WF_ERROR_FORMAT, "accumulator of version %llu; this warpfold reads versions 1 to %d",
                       (unsigned long long)version, VERSION_MAX);
    wf_archive_transfer(&archive, &op, 1);
    wf_archive_transfer(&archive, &type, 1);
    if (op >= WF_OP_COUNT)
        return wf_fail(handle, WF_ERROR_FORMAT,
                       "saved by a newer version: unknown operation number %d; this is warpfold %s", (int)op,
                       wf_version());
    if (type >= WF_TYPE_COUNT)
        return wf_fail(handle, WF_ERROR_FORMAT,
                       "saved by a newer version: unknown type number %d; this is warpfold %s", (int)type,
                       wf_version());
    return WF_OK;
}

/* The checks of single fields leave room for other bytes of the same state: those do not come back as they
 * are. */
static bool is_canonical(const struct wf_accumulator *acc, const uint8_t *bytes, size_t nbytes) {
    uint8_t again[WF_SAVED_NBYTES_MAX];
    struct wf_accumulator copy = *acc;
    return wf_saved_write(&copy, again) == nbytes && !memcmp(again, bytes, nbytes);
}

static wf_error fail_other(wf_handle *handle) {
    return wf_fail(handle, WF_ERROR_FORMAT, "not written by warpfold: saving this accumulator gives other bytes");
}

static wf_error read_single(wf_handle *handle, struct wf_archive *archive, int version, struct wf_accumulator *acc) {
    transfer_all(archive, acc, version);
    if (archive->failed || archive->position != archive->nbytes ||
        !is_canonical(acc, archive->source, archive->nbytes + CHECKSUM_NBYTES))
        return fail_other(handle);
    const char *flaw = wf_accumulator_flaw(acc);
    return flaw ? wf_saved_fail_flaw(handle, flaw) : WF_OK;
}

wf_error wf_saved_read(wf_handle *handle, const uint8_t *bytes, size_t nbytes, struct wf_accumulator *acc,
                       struct wf_shaped **shaped) {
    uint64_t version = 0;
    wf_error error = check_whole(handle, bytes, nbytes);
    if (error) return error;
    struct wf_archive archive = {
        .reading = true, .source = bytes, .nbytes = nbytes - CHECKSUM_NBYTES, .position = MAGIC_NBYTES};
    wf_archive_transfer(&archive, &version, VERSION_NBYTES);
    error = check_known(handle, archive, version);
    *shaped = NULL;
    if (error) return error;
    if (version == 1 || !wf_saved_has_shape(archive)) return read_single(handle, &archive, (int)version, acc);
    error = wf_saved_read_shaped(handle, &archive, shaped);
    return archive.failed ? fail_other(handle) : error;
}
