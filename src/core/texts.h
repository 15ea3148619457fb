/* A set of texts, numbered from 0 in the order in which they came: a hash table.  The numbers are the keys of groups. */
#ifndef WF_CORE_TEXTS_H
#define WF_CORE_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/pages.h"

#define WF_TEXTS_COUNT_MAX (INT32_MAX - 1)

enum { WF_TEXT_SHORT_NBYTES = 12 };

/* A text that is short is here, in front of zeros and of its length, so that comparing with it reads one cache line and no
 * byte by itself; of a longer one, its offset among the bytes of all those. */
struct wf_text_entry {
    uint64_t word[2];
};

static inline uint32_t wf_text_entry_nbytes(const struct wf_text_entry *entry) {
    return (uint32_t)(entry->word[1] >> (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 32 : 0));
}

struct wf_texts {
    uint64_t seed; /* of the hashes: texts that collide cannot be prepared */
    unsigned char *bytes; /* of all texts that are not short, one after the other */
    size_t bytes_nbytes, bytes_capacity;
    struct wf_text_entry *entry; /* 2^spacing for each text, of which the first is the text's */
    int spacing;                 /* 1: there is room after it */
    struct wf_pages entry_pages; /* where the entries are */
    int32_t count;
    uint32_t *slot; /* 0: free; otherwise number + 1, in slot_log2 bits, and above it as many of the hash's last as there is room for */
    size_t slot_count; /* a power of two, at least twice the count */
    struct wf_pages slot_pages;
    int slot_log2;     /* of slot_count: as many of the hash's first bits are its slot's index */
    bool is_sealed;    /* no text is added any more */
};

/* A text that may be in a set. */
struct wf_hashed_text {
    uint64_t hash;
    const unsigned char *bytes;
    struct wf_text_entry entry; /* what the set has of it if it is short; otherwise its length alone */
};

/* Takes the memory of what finds texts from a set to which none will be added any more: it is large, and has been cleared. */
struct wf_pages wf_texts_seal(struct wf_texts *texts);

/* An empty set, which has no memory yet. */
void wf_texts_begin(struct wf_texts *texts);
void wf_texts_clear(struct wf_texts *texts);

/* ---- hashes: several threads may hash at once, while another adds */

#define WF_TEXT_ODD UINT64_C(0x9e3779b97f4a7c15)
#define WF_TEXT_EVEN UINT64_C(0xd1b54a32d192ed03)

static inline uint64_t wf_text_mix(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t wf_text_hash_short(uint64_t seed, const struct wf_text_entry *entry) {
    return wf_text_mix(wf_text_mix(seed ^ WF_TEXT_ODD ^ entry->word[0], WF_TEXT_EVEN) ^ entry->word[1], WF_TEXT_ODD);
}

uint64_t wf_text_hash_long(uint64_t seed, const unsigned char *bytes, size_t nbytes);

/* A text whose first two words these are; of a short one, followed by zeros. */
static inline struct wf_hashed_text wf_text_hashed(uint64_t seed, const unsigned char *bytes, size_t nbytes, uint64_t first,
                                                   uint64_t second) {
    const uint64_t length = (uint64_t)nbytes << (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 32 : 0);
    struct wf_hashed_text text = {.bytes = bytes, .entry = {{first, second | length}}};
    text.hash = nbytes <= WF_TEXT_SHORT_NBYTES ? wf_text_hash_short(seed, &text.entry) : wf_text_hash_long(seed, bytes, nbytes);
    return text;
}

/* Of a text of which WF_TEXT_READ_NBYTES can be read, however long it is.  Inlined, as a call and its copy would take as long. */
enum { WF_TEXT_READ_NBYTES = 16 };
static inline struct wf_hashed_text wf_texts_hash_readable(uint64_t seed, const void *bytes, size_t nbytes) {
    static const unsigned char ones[2 * WF_TEXT_READ_NBYTES] = {
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    uint64_t word[2], own[2];
    memcpy(word, bytes, sizeof word);
    memcpy(own, ones + WF_TEXT_READ_NBYTES - (nbytes <= WF_TEXT_SHORT_NBYTES ? nbytes : 0), sizeof own);
    return wf_text_hashed(seed, (const unsigned char *)bytes, nbytes, word[0] & own[0], word[1] & own[1]);
}

/* The number of the text, which is added if it is new; -1 without memory, with WF_TEXTS_COUNT_MAX others, or once sealed.  nbytes is
 * less than 2^32. */
int32_t wf_texts_add(struct wf_texts *texts, const void *bytes, size_t nbytes);

/* The numbers of count texts, which are added one after the other, in less time than one by one: memory is fetched ahead.
 * false: there was no number for one of them. */
bool wf_texts_add_all(struct wf_texts *texts, const struct wf_hashed_text *text, int64_t count, int32_t *number);

/* Has each text have room for two words, all bits 0, in the cache line where the text is; those that will come, too.  false: no
 * memory, and all is as it was. */
bool wf_texts_extend(struct wf_texts *texts);

static inline struct wf_text_entry *wf_texts_entry(const struct wf_texts *texts, int32_t number) {
    return texts->entry + ((size_t)(uint32_t)number << texts->spacing);
}

/* The room of a text, until another is added. */
static inline void *wf_texts_extra(const struct wf_texts *texts, int32_t number) {
    return wf_texts_entry(texts, number) + 1;
}

/* The text's bytes, until another is added. */
static inline const unsigned char *wf_texts_get(const struct wf_texts *texts, int32_t number, size_t *nbytes) {
    const struct wf_text_entry *entry = wf_texts_entry(texts, number);
    *nbytes = wf_text_entry_nbytes(entry);
    return *nbytes <= WF_TEXT_SHORT_NBYTES ? (const unsigned char *)entry->word : texts->bytes + entry->word[0];
}

#endif
