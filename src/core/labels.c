#include "core/labels.h"
#include "core/array.h"
#include "core/types.h"

#include <string.h>

enum { BLOCK = 1024 }; /* labels that are read at a time */

/* ---- reading ---- */

/* An integer of that many bytes.  What exceeds an int64_t becomes negative, which no label may be. */
static inline __attribute__((always_inline)) int64_t label_at(const unsigned char *from, size_t nbytes, bool is_signed) {
    uint64_t wide;
    uint32_t middle;
    uint16_t narrow;
    switch (nbytes) {
    case sizeof wide:
        memcpy(&wide, from, sizeof wide);
        return (int64_t)wide;
    case sizeof middle:
        memcpy(&middle, from, sizeof middle);
        return is_signed ? (int32_t)middle : (int64_t)middle;
    case sizeof narrow:
        memcpy(&narrow, from, sizeof narrow);
        return is_signed ? (int16_t)narrow : (int64_t)narrow;
    default:
        return is_signed ? (int8_t)*from : (int64_t)*from;
    }
}

static inline __attribute__((always_inline)) void read_each(int64_t *to, const unsigned char *from, int64_t stride_bytes,
                                                            size_t count, size_t nbytes, bool is_signed) {
    if (stride_bytes == (int64_t)nbytes) /* vectors can */
        for (size_t i = 0; i < count; i++) to[i] = label_at(from + i * nbytes, nbytes, is_signed);
    else
        for (size_t i = 0; i < count; i++) to[i] = label_at(from + (int64_t)i * stride_bytes, nbytes, is_signed);
}

void wf_labels_read(const wf_array *labels, int64_t first, size_t count, int64_t *to) {
    int64_t stride_bytes[WF_NDIM_MAX];
    wf_array_strides(labels, stride_bytes);
    const unsigned char *from = (const unsigned char *)labels->data + first * stride_bytes[0];
    switch (labels->type) { /* of integers; the sizes are constants in each case */
#define X(NAME, name, storage, kind, precision, exponent_bits)                                               \
    case WF_##NAME:                                                                                          \
        read_each(to, from, stride_bytes[0], count, sizeof(storage), WF_KIND_##kind == WF_KIND_SIGNED);      \
        break;
        WF_TYPES(X)
#undef X
    default: break; /* not of the wf_groups that were checked */
    }
}

/* Reads labels from the index `first` on, at most a block; returns how many. */
static size_t read_block(const wf_array *labels, int64_t first, int64_t block[BLOCK]) {
    int64_t left = wf_array_length(labels, 0) - first;
    size_t count = left < BLOCK ? (size_t)left : BLOCK;
    wf_labels_read(labels, first, count, block);
    return count;
}

/* ---- segments ---- */

static wf_error check_offset(wf_handle *handle, const int64_t *offsets, int64_t i, int64_t length) {
    long long offset = offsets[i];
    if (offset < 0 || offset > length)
        return wf_fail(handle, WF_ERROR_RANGE, "offset %lld is %lld, outside of the axis of length %lld", (long long)i,
                       offset, (long long)length);
    if (i && offset < offsets[i - 1])
        return wf_fail(handle, WF_ERROR_RANGE, "offset %lld is %lld, less than the one before it, %lld", (long long)i,
                       offset, (long long)offsets[i - 1]);
    return WF_OK;
}

/* Whether count offsets from the one at `first` on, and the one before these, never fall, and lie within the axis. */
static bool rise_within(const int64_t *offsets, int64_t first, size_t count, int64_t length) {
    uint64_t signs = 0; /* a difference of two offsets that are not negative does not overflow */
    uint64_t before = first ? (uint64_t)offsets[first - 1] : 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t offset = (uint64_t)offsets[first + (int64_t)i];
        signs |= offset | (offset - before) | ((uint64_t)length - offset);
        before = offset;
    }
    return !(signs >> 63);
}

static wf_error refuse_offset(wf_handle *handle, const int64_t *offsets, int64_t first, int64_t length) {
    wf_error error = WF_OK;
    for (int64_t i = first; !error; i++) error = check_offset(handle, offsets, i, length);
    return error;
}

static wf_error read_offsets(wf_handle *handle, int64_t *offsets, const wf_array *labels, int64_t length) {
    const int64_t total = wf_array_length(labels, 0);
    for (int64_t i = 0, count; i < total; i += count) {
        count = (int64_t)read_block(labels, i, offsets + i);
        if (!rise_within(offsets, i, (size_t)count, length)) return refuse_offset(handle, offsets, i, length);
    }
    return WF_OK;
}

/* ---- keys: a counting sort of the positions ---- */

static bool is_bad(int64_t key, int64_t group_count) {
    return key < 0 || key >= group_count;
}

static wf_error refuse_key(wf_handle *handle, const struct wf_grouped *grouped, int64_t position, int64_t key) {
    wf_value value = {.type = grouped->groups->labels->type, .v.i = key};
    char text[32];
    wf_value_format(&value, 0, text, sizeof text);
    return wf_fail(handle, WF_ERROR_RANGE,
                   "key %lld is %s, not one of 0 to %lld; WF_SKIP_BAD_KEYS leaves such elements out",
                   (long long)position, text, (long long)grouped->groups->count - 1);
}

/* Counts the positions with each key, at ends[key + 1]. */
static wf_error count_keys(wf_handle *handle, int64_t *ends, const struct wf_grouped *grouped) {
    const wf_array *labels = grouped->groups->labels;
    int64_t block[BLOCK], length = wf_array_length(labels, 0), group_count = grouped->groups->count;
    for (int64_t i = 0; i < length;) {
        size_t count = read_block(labels, i, block);
        for (size_t j = 0; j < count; j++, i++) {
            if (!is_bad(block[j], group_count))
                ends[block[j] + 1]++;
            else if (!grouped->skips_bad_keys)
                return refuse_key(handle, grouped, i, block[j]);
        }
    }
    return WF_OK;
}

/* Copies count elements of nbytes, stride_bytes apart, each after the others of its key.  nbytes is a constant where
 * this is called, so that an element is copied by one instruction. */
static inline __attribute__((always_inline)) void place_elements(unsigned char *to, const unsigned char *from,
                                                                 int64_t stride_bytes, const int64_t *at, size_t count,
                                                                 size_t nbytes) {
    for (size_t i = 0; i < count; i++)
        if (at[i] >= 0) memcpy(to + (size_t)at[i] * nbytes, from + (int64_t)i * stride_bytes, nbytes);
}

static void place_any(unsigned char *to, const unsigned char *from, int64_t stride_bytes, const int64_t *at,
                      size_t count, size_t nbytes) {
    switch (nbytes) {
    case 1: place_elements(to, from, stride_bytes, at, count, 1); break;
    case 2: place_elements(to, from, stride_bytes, at, count, 2); break;
    case 4: place_elements(to, from, stride_bytes, at, count, 4); break;
    default: place_elements(to, from, stride_bytes, at, count, 8);
    }
}

static void place_positions(struct wf_positions to, int64_t first, const int64_t *at, size_t count) {
    int64_t *wide = (int64_t *)(uintptr_t)to.index;
    int32_t *narrow = (int32_t *)(uintptr_t)to.index;
    for (size_t i = 0; i < count; i++) {
        if (at[i] < 0) continue;
        if (to.are_wide)
            wide[at[i]] = first + (int64_t)i;
        else
            narrow[at[i]] = (int32_t)(first + (int64_t)i);
    }
}

/* Replaces keys by where their elements go, -1 for bad ones.  next[key]: where the next one goes. */
static void find_places(int64_t *block, size_t count, int64_t *next, int64_t group_count) {
    for (size_t i = 0; i < count; i++) block[i] = is_bad(block[i], group_count) ? -1 : next[block[i]]++;
}

/* Places the elements, or the positions, of all keys. */
static void place_all(const struct wf_labels *labels, int64_t *next, const struct wf_grouped *grouped) {
    const wf_array *keys = grouped->groups->labels, *operand[] = {grouped->a, grouped->b};
    const int64_t(*stride_bytes)[WF_NDIM_MAX] = grouped->layout->reduced_stride_bytes;
    int64_t block[BLOCK], length = wf_array_length(keys, 0);
    for (int64_t i = 0; i < length;) {
        size_t count = read_block(keys, i, block);
        find_places(block, count, next, grouped->groups->count);
        if (labels->positions.index) place_positions(labels->positions, i, block, count);
        for (int o = 0; o < 2 && labels->elements[o]; o++)
            place_any(labels->elements[o], (const unsigned char *)operand[o]->data + i * stride_bytes[o][0],
                      stride_bytes[o][0], block, count, wf_type_nbytes(operand[o]->type));
        i += (int64_t)count;
    }
}

/* Takes the memory for the elements, or the positions, of that many keys. */
static bool take_places(struct wf_labels *labels, const struct wf_grouped *grouped, int64_t length, int64_t count,
                        struct wf_pages *kept) {
    bool indexed = grouped->layout->ndim > 1 || wf_accumulator_is_indexed(grouped->empty);
    size_t size = (size_t)count + 1, nbytes = wf_type_nbytes(grouped->a->type);
    if (indexed) {
        labels->positions.are_wide = length > INT32_MAX;
        labels->pages[1] = wf_pages_take(&kept[1], size * (labels->positions.are_wide ? sizeof(int64_t) : sizeof(int32_t)));
        labels->positions.index = labels->pages[1].at;
        return labels->positions.index;
    }
    for (int o = 0; o < (grouped->b ? 2 : 1); o++) {
        labels->pages[1 + o] = wf_pages_take(&kept[1 + o], size * nbytes);
        labels->elements[o] = labels->pages[1 + o].at;
    }
    return labels->elements[0] && (!grouped->b || labels->elements[1]);
}

/* offsets has two members more than there are groups, so that placing, which moves the start of each group to its end,
 * leaves the starts one member further on. */
static wf_error sort_keys(wf_handle *handle, struct wf_labels *labels, const struct wf_grouped *grouped, struct wf_pages *kept) {
    int64_t length = wf_array_length(grouped->groups->labels, 0), group_count = grouped->groups->count;
    int64_t *ends = labels->offsets + 1;
    if (labels->pages[0].are_used) memset(labels->offsets, 0, ((size_t)group_count + 2) * sizeof *labels->offsets);
    wf_error error = count_keys(handle, ends, grouped);
    if (error) return error;
    for (int64_t g = 0; g < group_count; g++) ends[g + 1] += ends[g];
    if (!take_places(labels, grouped, length, ends[group_count], kept))
        return wf_fail(handle, WF_ERROR_MEMORY, "no memory to sort %lld keys", (long long)length);
    place_all(labels, ends, grouped);
    return WF_OK;
}

wf_error wf_labels_resolve(wf_handle *handle, struct wf_labels *labels, const struct wf_grouped *grouped,
                           struct wf_pages kept[WF_LABELS_PAGES]) {
    const wf_groups *groups = grouped->groups;
    *labels = (struct wf_labels){.offsets = NULL};
    if (groups->count < INT64_MAX - 2 && (uint64_t)groups->count < SIZE_MAX / sizeof(int64_t) - 2)
        labels->pages[0] = wf_pages_take(&kept[0], ((size_t)groups->count + 2) * sizeof(int64_t));
    labels->offsets = labels->pages[0].at;
    if (!labels->offsets)
        return wf_fail(handle, WF_ERROR_MEMORY, "no memory for the offsets of %lld groups", (long long)groups->count);
    wf_error error = groups->by == WF_GROUP_KEYS
                         ? sort_keys(handle, labels, grouped, kept)
                         : read_offsets(handle, labels->offsets, groups->labels, grouped->layout->reduced_count);
    if (error) wf_labels_release(labels, kept);
    return error;
}

void wf_labels_release(struct wf_labels *labels, struct wf_pages kept[WF_LABELS_PAGES]) {
    for (int i = 0; i < WF_LABELS_PAGES; i++) wf_pages_leave(&kept[i], labels->pages[i]);
    *labels = (struct wf_labels){.offsets = NULL};
}
