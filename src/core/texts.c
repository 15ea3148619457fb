#include "core/texts.h"

#include <stdlib.h>
#include <time.h>

/* Tables grow to twice their slots, large ones to four times: all texts are hashed again, which is a third of all then. */
enum { SLOTS_MIN_LOG2 = 6, SLOTS_MIN = 1 << SLOTS_MIN_LOG2, LARGE_SLOTS_LOG2 = 16 };

void wf_texts_begin(struct wf_texts *texts) {
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    *texts = (struct wf_texts){.seed = (uint64_t)now.tv_sec << 32 ^ (uint64_t)now.tv_nsec ^ (uint64_t)(uintptr_t)&now};
}

void wf_texts_clear(struct wf_texts *texts) {
    free(texts->bytes);
    wf_pages_free(texts->entry_pages);
    wf_pages_free(texts->slot_pages);
    *texts = (struct wf_texts){0};
}

struct wf_pages wf_texts_seal(struct wf_texts *texts) {
    const struct wf_pages pages = texts->slot_pages;
    texts->slot_pages = (struct wf_pages){0};
    texts->slot = NULL;
    texts->slot_count = 0;
    texts->is_sealed = true;
    return pages;
}

/* ---- hashes ---- */

uint64_t wf_text_hash_long(uint64_t seed, const unsigned char *p, size_t nbytes) {
    const unsigned char *const last = p + nbytes - 8;
    uint64_t hash = seed ^ WF_TEXT_ODD, word;
    for (; p < last; p += 8) {
        memcpy(&word, p, sizeof word);
        hash = wf_text_mix(hash ^ word, WF_TEXT_EVEN);
    }
    memcpy(&word, last, sizeof word); /* which may have some of the word before */
    return wf_text_mix(hash ^ word, WF_TEXT_ODD ^ nbytes);
}

static struct wf_hashed_text hash_text(uint64_t seed, const void *bytes, size_t nbytes) {
    uint64_t word[2] = {0, 0};
    if (nbytes && nbytes <= WF_TEXT_SHORT_NBYTES) memcpy(word, bytes, nbytes);
    return wf_text_hashed(seed, bytes, nbytes, word[0], word[1]);
}

/* ---- the table ---- */

/* What a slot has of a hash. */
static inline uint32_t mark_of(const struct wf_texts *texts, uint64_t hash) {
    return (uint32_t)(hash << texts->slot_log2);
}

static inline int32_t number_in(const struct wf_texts *texts, uint32_t slot) {
    return (int32_t)(slot & (texts->slot_count - 1)) - 1;
}

/* mark is mark_of a hash; the slot is not free. */
static inline bool is_marked(const struct wf_texts *texts, uint32_t slot, uint32_t mark) {
    return !((uint64_t)(slot ^ mark) >> texts->slot_log2);
}

static inline size_t home_of(const struct wf_texts *texts, uint64_t hash) {
    return hash >> (64 - texts->slot_log2);
}

static inline bool is_long(const struct wf_text_entry *entry) {
    return wf_text_entry_nbytes(entry) > WF_TEXT_SHORT_NBYTES;
}

static inline bool are_same(const struct wf_texts *texts, const struct wf_text_entry *entry, const struct wf_hashed_text *wanted) {
    if (entry->word[1] != wanted->entry.word[1]) return false;
    if (!is_long(entry)) return entry->word[0] == wanted->entry.word[0];
    return !memcmp(texts->bytes + entry->word[0], wanted->bytes, wf_text_entry_nbytes(entry));
}

/* The slot of the text, or the free one where it belongs. */
static inline uint32_t *find(const struct wf_texts *texts, const struct wf_hashed_text *wanted) {
    const size_t mask = texts->slot_count - 1;
    const uint32_t mark = mark_of(texts, wanted->hash);
    for (size_t i = home_of(texts, wanted->hash);; i = (i + 1) & mask) {
        uint32_t *slot = texts->slot + i;
        if (!*slot) return slot;
        if (is_marked(texts, *slot, mark) && are_same(texts, wf_texts_entry(texts, number_in(texts, *slot)), wanted)) return slot;
    }
}

/* Clears new memory, or writes to each of its pages, which are clear: one that is read first is given twice, as the system's
 * page of zeros and as its own. */
static void clear_from(const struct wf_pages *pages, size_t begin) {
    enum { PAGE_NBYTES = 4096 };
    volatile unsigned char *bytes = pages->at;
    if (!pages->are_mapped) memset((unsigned char *)pages->at + begin, 0, pages->nbytes - begin);
    for (size_t i = begin; i < pages->nbytes && pages->are_mapped; i += PAGE_NBYTES) bytes[i] = 0;
}

static uint64_t hash_again(const struct wf_texts *texts, int32_t number) {
    const struct wf_text_entry *entry = wf_texts_entry(texts, number);
    return is_long(entry) ? wf_text_hash_long(texts->seed, texts->bytes + entry->word[0], wf_text_entry_nbytes(entry))
                          : wf_text_hash_short(texts->seed, entry);
}

static void put_number(const struct wf_texts *texts, uint64_t hash, int32_t number) {
    const size_t mask = texts->slot_count - 1;
    size_t i = home_of(texts, hash);
    while (texts->slot[i]) i = (i + 1) & mask;
    texts->slot[i] = mark_of(texts, hash) | ((uint32_t)number + 1);
}

/* Puts all numbers in slots that are free, which are fetched ahead. */
static void fill_slots(const struct wf_texts *texts) {
    enum { AHEAD = 32 };
    uint64_t hash[AHEAD] = {0};
    for (int64_t n = 0; n < (int64_t)texts->count + AHEAD; n++) {
        if (n >= AHEAD) put_number(texts, hash[n % AHEAD], (int32_t)(n - AHEAD));
        if (n >= texts->count) continue;
        hash[n % AHEAD] = hash_again(texts, (int32_t)n);
        __builtin_prefetch(texts->slot + home_of(texts, hash[n % AHEAD]), 1);
    }
}

/* The slots have the first bits of no hash: texts are hashed again, in the order in which they lie in memory. */
static bool grow_slots(struct wf_texts *texts) {
    if (texts->is_sealed) return false;
    const size_t old_nbytes = texts->slot_count * sizeof *texts->slot;
    const int log2 = !old_nbytes ? SLOTS_MIN_LOG2 : texts->slot_log2 + (texts->slot_log2 < LARGE_SLOTS_LOG2 ? 1 : 2);
    const struct wf_pages pages = wf_pages_grow(texts->slot_pages, sizeof *texts->slot << log2);
    if (!pages.at) return false;
    clear_from(&pages, old_nbytes);
    if (old_nbytes) memset(pages.at, 0, old_nbytes);
    texts->slot_pages = pages;
    texts->slot = pages.at;
    texts->slot_log2 = log2;
    texts->slot_count = (size_t)1 << log2;
    fill_slots(texts);
    return true;
}

/* The bytes, moved to where they have twice the room, or more, if they have less than needed; NULL without memory. */
static unsigned char *grown(unsigned char *bytes, size_t *capacity, size_t needed) {
    if (needed <= *capacity) return bytes;
    const size_t larger = needed < 2 * *capacity ? 2 * *capacity : needed + SLOTS_MIN;
    unsigned char *moved = realloc(bytes, larger);
    if (moved) *capacity = larger;
    return moved;
}

static bool set_long(struct wf_texts *texts, struct wf_text_entry *entry, const struct wf_hashed_text *text) {
    const size_t offset = texts->bytes_nbytes, nbytes = wf_text_entry_nbytes(entry);
    unsigned char *own = grown(texts->bytes, &texts->bytes_capacity, offset + nbytes);
    if (!own) return false;
    texts->bytes = own;
    texts->bytes_nbytes += nbytes;
    memcpy(own + offset, text->bytes, nbytes);
    entry->word[0] = offset;
    return true;
}

/* Room for one more entry. */
static bool reserve_entry(struct wf_texts *texts) {
    const size_t nbytes = sizeof *texts->entry << texts->spacing;
    const size_t used = (size_t)texts->count * nbytes, least = SLOTS_MIN * nbytes;
    if (used + nbytes <= texts->entry_pages.nbytes) return true;
    const struct wf_pages pages = wf_pages_grow(texts->entry_pages, used ? 2 * used : least);
    if (!pages.at) return false;
    texts->entry_pages = pages;
    texts->entry = pages.at;
    return true;
}

bool wf_texts_extend(struct wf_texts *texts) {
    const size_t needed = 2 * (size_t)texts->count * sizeof *texts->entry, least = 2 * SLOTS_MIN * sizeof *texts->entry;
    if (texts->spacing) return true;
    if (texts->entry_pages.nbytes < needed + least) {
        const size_t twice = 2 * texts->entry_pages.nbytes; /* still a power of two: such pages grow where they are large */
        const struct wf_pages pages = wf_pages_grow(texts->entry_pages, twice ? twice : least);
        if (!pages.at) return false;
        texts->entry_pages = pages;
        texts->entry = pages.at;
    }
    texts->spacing = 1;
    for (size_t i = (size_t)texts->count; i-- > 0;) {
        texts->entry[2 * i] = texts->entry[i];
        texts->entry[2 * i + 1] = (struct wf_text_entry){{0, 0}};
    }
    return true;
}

static bool append(struct wf_texts *texts, const struct wf_hashed_text *text) {
    if (!reserve_entry(texts)) return false;
    struct wf_text_entry *entry = wf_texts_entry(texts, texts->count);
    *entry = text->entry;
    if (texts->spacing) entry[1] = (struct wf_text_entry){{0, 0}};
    if (is_long(entry) && !set_long(texts, entry, text)) return false;
    texts->count++;
    return true;
}

static inline int32_t add(struct wf_texts *texts, const struct wf_hashed_text *text) {
    if (2 * ((size_t)texts->count + 1) > texts->slot_count && !grow_slots(texts)) return -1;
    uint32_t *slot = find(texts, text);
    if (*slot) return number_in(texts, *slot);
    if (texts->count >= WF_TEXTS_COUNT_MAX || !append(texts, text)) return -1;
    *slot = mark_of(texts, text->hash) | (uint32_t)texts->count;
    return texts->count - 1;
}

int32_t wf_texts_add(struct wf_texts *texts, const void *bytes, size_t nbytes) {
    const struct wf_hashed_text text = hash_text(texts->seed, bytes, nbytes);
    return add(texts, &text);
}

/* To gcc a function that only fetches does nothing: it drops calls of those that are not inlined early enough. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Fewer slots and their entries are in a cache as it is. */
enum { FETCHED_SLOTS_MIN = 1 << 16 };

/* Fetches the slot of a text that will be looked up. */
ALWAYS_INLINE void fetch_slot(const struct wf_texts *texts, const struct wf_hashed_text *text) {
    if (texts->slot_count >= FETCHED_SLOTS_MIN) __builtin_prefetch(texts->slot + home_of(texts, text->hash));
}

/* Once that is there, the entry that it names; or one of the next in its cache line, as others have not been fetched, which
 * is marked as the text's.  Without a branch, as nobody knows which it is. */
ALWAYS_INLINE void fetch_entry(const struct wf_texts *texts, const struct wf_hashed_text *text) {
    enum { LOOKED_AT = 4, LINE_SLOTS = 64 / sizeof *texts->slot };
    if (texts->slot_count < FETCHED_SLOTS_MIN) return;
    const size_t home = home_of(texts, text->hash), line = home / LINE_SLOTS * LINE_SLOTS;
    const uint32_t mark = mark_of(texts, text->hash);
    uint32_t slot = 1;
    for (size_t k = LOOKED_AT; k-- > 0;) {
        const uint32_t next = texts->slot[line + (home + k) % LINE_SLOTS];
        slot ^= (slot ^ next) & -(uint32_t)is_marked(texts, next, mark); /* next if it is marked: compilers branch for that */
    }
    __builtin_prefetch(wf_texts_entry(texts, number_in(texts, slot ? slot : 1)));
}

bool wf_texts_add_all(struct wf_texts *texts, const struct wf_hashed_text *text, int64_t count, int32_t *number) {
    enum { SLOTS_AHEAD = 48, ENTRIES_AHEAD = 24 };
    for (int64_t i = 0; i < count; i++) {
        if (i + SLOTS_AHEAD < count) fetch_slot(texts, text + i + SLOTS_AHEAD);
        if (i + ENTRIES_AHEAD < count) fetch_entry(texts, text + i + ENTRIES_AHEAD);
        number[i] = add(texts, text + i);
        if (number[i] < 0) return false;
    }
    return true;
}
