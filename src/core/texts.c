#include "core/texts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SLOTS_MIN = 64 };

void wf_texts_begin(struct wf_texts *texts) {
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    *texts = (struct wf_texts){.seed = (uint64_t)now.tv_sec << 32 ^ (uint64_t)now.tv_nsec ^ (uint64_t)(uintptr_t)&now};
}

void wf_texts_clear(struct wf_texts *texts) {
    free(texts->bytes);
    free(texts->entry);
    free(texts->slot);
    *texts = (struct wf_texts){0};
}

/* ---- hashes ---- */

static uint64_t mix(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Of less than 8 bytes; which of them lie where does not matter, as the length is hashed, too. */
static uint64_t load_few(const unsigned char *p, size_t nbytes) {
    uint32_t low, high;
    if (nbytes == 0) return 0;
    if (nbytes < 4) return (uint64_t)p[0] | (uint64_t)p[nbytes / 2] << 8 | (uint64_t)p[nbytes - 1] << 16;
    memcpy(&low, p, 4);
    memcpy(&high, p + nbytes - 4, 4);
    return (uint64_t)high << 32 | low;
}

uint64_t wf_texts_hash(uint64_t seed, const void *bytes, size_t nbytes) {
    static const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15), even = UINT64_C(0xd1b54a32d192ed03);
    const unsigned char *p = bytes;
    uint64_t hash = seed ^ odd;
    for (const unsigned char *end = p + nbytes / 8 * 8; p < end; p += 8) {
        uint64_t word;
        memcpy(&word, p, sizeof word);
        hash = mix(hash ^ word, even);
    }
    return mix(hash ^ load_few(p, nbytes % 8), odd ^ nbytes);
}

/* ---- the table ---- */

static uint64_t slot_of(uint64_t hash, int32_t number) {
    return (hash >> 32 << 32) | ((uint32_t)number + 1);
}

/* The slot of the text, or the free one where it belongs. */
static uint64_t *find(const struct wf_texts *texts, const void *bytes, size_t nbytes, uint64_t hash) {
    const size_t mask = texts->slot_count - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        uint64_t *slot = texts->slot + i;
        if (!*slot) return slot;
        if (*slot >> 32 != hash >> 32) continue;
        size_t length;
        const unsigned char *text = wf_texts_get(texts, (int32_t)((uint32_t)*slot - 1), &length);
        if (length == nbytes && !memcmp(text, bytes, nbytes)) return slot;
    }
}

static bool grow_slots(struct wf_texts *texts) {
    const size_t slot_count = texts->slot_count ? 2 * texts->slot_count : SLOTS_MIN, mask = slot_count - 1;
    uint64_t *slot = calloc(slot_count, sizeof *slot);
    if (!slot) return false;
    for (int32_t number = 0; number < texts->count; number++) {
        const uint64_t hash = texts->entry[number].hash;
        size_t i = hash & mask;
        while (slot[i]) i = (i + 1) & mask;
        slot[i] = slot_of(hash, number);
    }
    free(texts->slot);
    texts->slot = slot;
    texts->slot_count = slot_count;
    return true;
}

/* The array, moved to where it has twice as many items, or more, if it has less than needed; NULL without memory. */
static void *grown(void *items, size_t *capacity, size_t needed, size_t nbytes) {
    if (needed <= *capacity) return items;
    const size_t larger = needed < 2 * *capacity ? 2 * *capacity : needed + SLOTS_MIN;
    void *moved = realloc(items, larger * nbytes);
    if (moved) *capacity = larger;
    return moved;
}

static bool append(struct wf_texts *texts, const void *bytes, size_t nbytes, uint64_t hash) {
    const size_t number = (size_t)texts->count, offset = number ? texts->entry[number].offset : 0;
    struct wf_text_entry *entry = grown(texts->entry, &texts->entry_capacity, number + 2, sizeof *entry);
    if (entry) texts->entry = entry;
    unsigned char *own = grown(texts->bytes, &texts->bytes_capacity, offset + nbytes + 1, 1);
    if (own) texts->bytes = own;
    if (!entry || !own) return false;
    if (nbytes) memcpy(own + offset, bytes, nbytes);
    entry[number] = (struct wf_text_entry){hash, offset};
    entry[number + 1] = (struct wf_text_entry){0, offset + nbytes};
    texts->count++;
    return true;
}

int32_t wf_texts_add(struct wf_texts *texts, const void *bytes, size_t nbytes, uint64_t hash) {
    if (2 * ((size_t)texts->count + 1) > texts->slot_count && !grow_slots(texts)) return -1;
    uint64_t *slot = find(texts, bytes, nbytes, hash);
    if (*slot) return (int32_t)((uint32_t)*slot - 1);
    if (texts->count >= WF_TEXTS_COUNT_MAX || !append(texts, bytes, nbytes, hash)) return -1;
    *slot = slot_of(hash, texts->count - 1);
    return texts->count - 1;
}
