/* The saved form as it is written and read: one description of each field serves both directions. */
#ifndef WF_CORE_ARCHIVE_H
#define WF_CORE_ARCHIVE_H

#include "core/accumulator.h"

/* Each field is written from the accumulator or read into it. */
struct wf_archive {
    bool reading;
    bool failed; /* the bytes ended too early, or hold what cannot be */
    size_t position, nbytes;
    const uint8_t *source;
    uint8_t *target; /* NULL: fields are only measured */
};

/* The lowest nbytes bytes of the value. */
static inline void wf_archive_transfer(struct wf_archive *archive, uint64_t *value, size_t nbytes) {
    if (archive->nbytes - archive->position < nbytes) archive->failed = true;
    if (archive->failed) return;
    if (archive->reading) *value = 0;
    for (size_t i = 0; i < nbytes; i++) {
        if (archive->reading)
            *value |= (uint64_t)archive->source[archive->position + i] << (8 * i);
        else if (archive->target)
            archive->target[archive->position + i] = (uint8_t)(*value >> (8 * i));
    }
    archive->position += nbytes;
}

static inline void wf_archive_require(struct wf_archive *archive, bool condition) {
    if (!condition) archive->failed = true;
}

/* An integer from 0 to limit, in nbytes bytes. */
static inline int64_t wf_archive_natural(struct wf_archive *archive, int64_t value, size_t nbytes, int64_t limit) {
    uint64_t bits = (uint64_t)value;
    wf_archive_transfer(archive, &bits, nbytes);
    wf_archive_require(archive, bits <= (uint64_t)limit);
    return archive->failed ? 0 : (int64_t)bits;
}

/* The reduction; read, it begins without elements.  acc->tree: memory for a tree. */
void wf_archive_settings(struct wf_archive *archive, struct wf_accumulator *acc);

/* The hull of the indices, after the count. */
void wf_archive_hull(struct wf_archive *archive, struct wf_accumulator *acc);

/* How many elements there are, and of them NaNs. */
void wf_archive_counts(struct wf_archive *archive, struct wf_accumulator *acc);

/* The counts and, if indices matter, the hull and the first NaN's index. */
void wf_archive_elements(struct wf_archive *archive, struct wf_accumulator *acc);

/* The first NaN's index, which lies in the hull of the indices of all. */
void wf_archive_first_nan(struct wf_archive *archive, struct wf_accumulator *acc, const struct wf_accumulator *all);

/* What has been gathered of the elements. */
void wf_archive_parts(struct wf_archive *archive, struct wf_accumulator *acc);

#endif
