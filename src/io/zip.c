#include "io/zip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/decode.h"

/* The sizes and places of the format (APPNOTE.TXT, sections 4.3 and 4.5.3). */
enum {
    END_NBYTES = 22,
    COMMENT_NBYTES_MAX = 65535,
    LOCATOR_NBYTES = 20,
    END64_NBYTES = 56,
    ENTRY_NBYTES = 46,
    LOCAL_NBYTES = 30,
    EXTRA_ZIP64 = 1,
    STORED = 0,
    DEFLATED = 8
};

#define DIRECTORY_NBYTES_MAX ((uint64_t)1 << 26)

static uint64_t number_at(const unsigned char *bytes, int nbytes) {
    uint64_t number = 0;
    for (int i = nbytes; i-- > 0;) number = number << 8 | bytes[i];
    return number;
}

static bool begins_with(const unsigned char *bytes, size_t nbytes, const char signature[5]) {
    return nbytes >= 4 && !memcmp(bytes, signature, 4);
}

/* ---- paths ---- */

bool wf_zip_may_be_archive(const char *path) {
    size_t length = strlen(path);
    return wf_source_archive_length(path) || (length > 4 && !strcmp(path + length - 4, ".npz"));
}

bool wf_zip_is_archive(const unsigned char *bytes, size_t nbytes) {
    return begins_with(bytes, nbytes, "PK\3\4") || begins_with(bytes, nbytes, "PK\5\6");
}

/* ---- the directory ---- */

struct member {
    const char *name; /* not closed by a 0 */
    size_t name_length;
    unsigned flags, method;
    uint32_t crc;
    uint64_t compressed_nbytes, nbytes, offset;
};

struct archive {
    wf_handle *handle;
    struct wf_source *source;
    unsigned char *directory;
    uint64_t nbytes, offset; /* of the directory */
};

static wf_error fail_damaged(const struct archive *archive) {
    return wf_fail(archive->handle, WF_ERROR_FORMAT, "%s: damaged or truncated archive", archive->source->name);
}

/* All of the bytes, or an error. */
static wf_error read_at(const struct archive *archive, void *bytes, uint64_t nbytes, uint64_t offset) {
    size_t found = 0;
    uint64_t size = (uint64_t)archive->source->nbytes_total;
    if (offset > size || nbytes > size - offset) return fail_damaged(archive);
    wf_error error = wf_source_read_at(archive->handle, archive->source, bytes, (size_t)nbytes, (int64_t)offset, &found);
    return error || found == nbytes ? error : fail_damaged(archive);
}

/* Finds the directory of an archive that is too large for the usual fields. */
static wf_error find_directory64(struct archive *archive, uint64_t end_offset) {
    unsigned char locator[LOCATOR_NBYTES], end[END64_NBYTES];
    if (end_offset < LOCATOR_NBYTES) return fail_damaged(archive);
    wf_error error = read_at(archive, locator, sizeof locator, end_offset - LOCATOR_NBYTES);
    if (!error && !begins_with(locator, 4, "PK\6\7")) error = fail_damaged(archive);
    if (!error) error = read_at(archive, end, sizeof end, number_at(locator + 8, 8));
    if (!error && !begins_with(end, 4, "PK\6\6")) error = fail_damaged(archive);
    if (error) return error;
    archive->nbytes = number_at(end + 40, 8);
    archive->offset = number_at(end + 48, 8);
    return WF_OK;
}

/* The end of the directory is at the end of the file, before a comment. */
static wf_error find_directory(struct archive *archive) {
    unsigned char tail[END_NBYTES + COMMENT_NBYTES_MAX];
    uint64_t size = (uint64_t)archive->source->nbytes_total, nbytes = size < sizeof tail ? size : sizeof tail;
    wf_error error = read_at(archive, tail, nbytes, size - nbytes);
    if (error) return error;
    for (uint64_t at = nbytes; at-- >= END_NBYTES;) {
        const unsigned char *end = tail + at + 1 - END_NBYTES;
        if (!begins_with(end, 4, "PK\5\6")) continue;
        archive->nbytes = number_at(end + 12, 4);
        archive->offset = number_at(end + 16, 4);
        bool is_64 = number_at(end + 10, 2) == 0xffff || archive->nbytes == 0xffffffff || archive->offset == 0xffffffff;
        return is_64 ? find_directory64(archive, size - nbytes + (uint64_t)(end - tail)) : WF_OK;
    }
    return fail_damaged(archive);
}

static wf_error read_directory(struct archive *archive) {
    wf_error error = find_directory(archive);
    if (!error && archive->nbytes > DIRECTORY_NBYTES_MAX) error = fail_damaged(archive);
    if (error) return error;
    archive->directory = malloc((size_t)archive->nbytes + 1);
    if (!archive->directory)
        return wf_fail(archive->handle, WF_ERROR_MEMORY, "%s: out of memory for its directory", archive->source->name);
    return read_at(archive, archive->directory, archive->nbytes, archive->offset);
}

/* Replaces the fields that are all ones by those of the extra field. */
static void read_extra(struct member *member, const unsigned char *extra, size_t nbytes) {
    uint64_t *const fields[] = {&member->nbytes, &member->compressed_nbytes, &member->offset};
    for (size_t at = 0; at + 4 <= nbytes;) {
        size_t length = (size_t)number_at(extra + at + 2, 2), next = at + 4;
        if (length > nbytes - next) return;
        for (int i = 0; number_at(extra + at, 2) == EXTRA_ZIP64 && i < 3; i++) {
            if (*fields[i] != 0xffffffff) continue;
            if (next + 8 > at + 4 + length) return;
            *fields[i] = number_at(extra + next, 8);
            next += 8;
        }
        at += 4 + length;
    }
}

/* Reads the entry at *position, which moves on; false: there is none. */
static bool next_member(const struct archive *archive, uint64_t *position, struct member *member) {
    const unsigned char *entry = archive->directory + *position;
    uint64_t left = archive->nbytes - *position;
    if (left < ENTRY_NBYTES || !begins_with(entry, 4, "PK\1\2")) return false;
    size_t name_length = (size_t)number_at(entry + 28, 2), extra_length = (size_t)number_at(entry + 30, 2);
    uint64_t length = ENTRY_NBYTES + name_length + extra_length + number_at(entry + 32, 2);
    if (length > left) return false;
    *member = (struct member){(const char *)entry + ENTRY_NBYTES,          name_length,
                              (unsigned)number_at(entry + 8, 2),           (unsigned)number_at(entry + 10, 2),
                              (uint32_t)number_at(entry + 16, 4),          number_at(entry + 20, 4),
                              number_at(entry + 24, 4),                    number_at(entry + 42, 4)};
    read_extra(member, entry + ENTRY_NBYTES + name_length, extra_length);
    *position += length;
    return true;
}

/* ---- the member ---- */

/* As NumPy names it: without .npy. */
static size_t short_length(const struct member *member) {
    size_t length = member->name_length;
    return length > 4 && !memcmp(member->name + length - 4, ".npy", 4) ? length - 4 : length;
}

static bool has_name(const struct member *member, const char *name) {
    size_t length = strlen(name);
    bool is_short = length == short_length(member), is_whole = length == member->name_length;
    return (is_short || is_whole) && !memcmp(member->name, name, length);
}

/* Names the members, as many as fit. */
static wf_error fail_choice(const struct archive *archive, const char *wanted) {
    char list[256] = "";
    size_t length = 0;
    struct member member;
    for (uint64_t position = 0; length < sizeof list - 1 && next_member(archive, &position, &member);)
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%.*s", length ? ", " : "", (int)short_length(&member),
                                   member.name);
    if (wanted)
        return wf_fail(archive->handle, WF_ERROR_FORMAT, "%s: no array '%s' in the archive, which has: %s", archive->source->name,
                       wanted, list);
    if (!length) return wf_fail(archive->handle, WF_ERROR_FORMAT, "%s: the archive is empty", archive->source->name);
    return wf_fail(archive->handle, WF_ERROR_FORMAT, "%s: give one of its arrays by name, as in %s:%.*s; it has: %s",
                   archive->source->name, archive->source->name, (int)strcspn(list, ","), list, list);
}

static wf_error find_member(const struct archive *archive, const char *wanted, struct member *member) {
    struct member other;
    uint64_t position = 0;
    bool is_found = false;
    while (!is_found && next_member(archive, &position, member)) is_found = !wanted || has_name(member, wanted);
    if (is_found && !wanted && next_member(archive, &position, &other)) is_found = false;
    if (!is_found) return fail_choice(archive, wanted);
    if (member->flags & 1 || (member->method != STORED && member->method != DEFLATED))
        return wf_fail(archive->handle, WF_ERROR_FORMAT, "%s: the array is encrypted, or compressed by method %u: only "
                       "stored and deflated ones are read", archive->source->name, member->method);
    return WF_OK;
}

static wf_error enter_member(const struct archive *archive, const struct member *member) {
    unsigned char local[LOCAL_NBYTES];
    struct wf_source *source = archive->source;
    wf_error error = read_at(archive, local, sizeof local, member->offset);
    if (!error && !begins_with(local, 4, "PK\3\4")) error = fail_damaged(archive);
    if (error) return error;
    uint64_t begin = member->offset + LOCAL_NBYTES + number_at(local + 26, 2) + number_at(local + 28, 2);
    uint64_t size = (uint64_t)source->nbytes_total;
    bool is_stored = member->method == STORED;
    if (begin > size || member->compressed_nbytes > size - begin || (is_stored && member->nbytes != member->compressed_nbytes))
        return fail_damaged(archive);
    wf_source_restrict(source, (int64_t)begin, (int64_t)member->compressed_nbytes);
    if (is_stored) return WF_OK;
    const struct wf_member_sums sums = {member->nbytes, member->compressed_nbytes, member->crc};
    return wf_source_decode(archive->handle, source, WF_CODEC_DEFLATE, &sums);
}

wf_error wf_zip_open_member(wf_handle *handle, struct wf_source *source, const char *path) {
    struct archive archive = {handle, source, NULL, 0, 0};
    struct member member;
    size_t length = wf_source_archive_length(path);
    if (source->nbytes_total < 0)
        return wf_fail(handle, WF_ERROR_IO, "%s: an archive must be a file: its directory is at its end", source->name);
    wf_error error = read_directory(&archive);
    if (!error) error = find_member(&archive, length ? path + length + 1 : NULL, &member);
    if (!error) error = enter_member(&archive, &member);
    free(archive.directory);
    return error;
}
