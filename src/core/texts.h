/* A set of texts, numbered from 0 in the order in which they came: a hash table.  The numbers are the keys of groups. */
#ifndef WF_CORE_TEXTS_H
#define WF_CORE_TEXTS_H

#include <stddef.h>
#include <stdint.h>

#define WF_TEXTS_COUNT_MAX (INT32_MAX - 1)

struct wf_text_entry {
    uint64_t hash;
    size_t offset; /* of its bytes; they end where those of the next begin */
};

struct wf_texts {
    uint64_t seed; /* of the hashes: texts that collide cannot be prepared */
    unsigned char *bytes; /* of all texts, one after the other */
    size_t bytes_capacity;
    struct wf_text_entry *entry; /* count + 1: the last has no text */
    size_t entry_capacity;
    int32_t count;
    uint64_t *slot; /* 0: free; otherwise the upper half of a hash, and number + 1 below */
    size_t slot_count; /* a power of two, at least twice the count */
};

/* An empty set, which has no memory yet. */
void wf_texts_begin(struct wf_texts *texts);
void wf_texts_clear(struct wf_texts *texts);

/* Several threads may hash at once, while another adds. */
uint64_t wf_texts_hash(uint64_t seed, const void *bytes, size_t nbytes);

/* The number of the text of this hash, which is added if it is new; -1 without memory, or with WF_TEXTS_COUNT_MAX
 * others.  nbytes is less than 2^32. */
int32_t wf_texts_add(struct wf_texts *texts, const void *bytes, size_t nbytes, uint64_t hash);

/* Fetches what looking up the hash will read first. */
static inline void wf_texts_prefetch(const struct wf_texts *texts, uint64_t hash) {
    if (texts->slot_count) __builtin_prefetch(texts->slot + (hash & (texts->slot_count - 1)));
}

static inline const unsigned char *wf_texts_get(const struct wf_texts *texts, int32_t number, size_t *nbytes) {
    const struct wf_text_entry *entry = texts->entry + number;
    *nbytes = entry[1].offset - entry->offset;
    return texts->bytes + entry->offset;
}

#endif
