/* Sets of bytes: a bit for each, in pieces of 4 KiB that are made when something in them is touched. */
#include "touched.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE_SHIFT = 12, PIECE_NBYTES = 1 << PIECE_SHIFT, BITS = 64, PIECE_WORDS = PIECE_NBYTES / BITS, BUCKETS = 1 << 13 };

struct touched_piece {
    struct touched_piece *next;
    uint64_t number;
    uint64_t *bits[TOUCHED_HOW];
    uint32_t pc[TOUCHED_HOW]; /* plus 1; 0: not touched so */
};

static bool is_short; /* there was no memory for some */

bool touched_is_short(void) { return __atomic_load_n(&is_short, __ATOMIC_RELAXED); }

/* Zeroed; NULL: no memory. */
static void *create(size_t count, size_t nbytes) {
    void *created = calloc(count, nbytes);
    if (!created) __atomic_store_n(&is_short, true, __ATOMIC_RELAXED);
    return created;
}

static size_t bucket_of(uint64_t number) { return (size_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 51); }

_Static_assert(BUCKETS == 1 << (64 - 51), "a hash is a bucket");

static struct touched_piece *find_from(struct touched_piece *piece, uint64_t number) {
    while (piece && piece->number != number) piece = piece->next;
    return piece;
}

static struct touched_piece *find(const struct touched *touched, uint64_t number) {
    return find_from(__atomic_load_n(&touched->pieces[bucket_of(number)], __ATOMIC_ACQUIRE), number);
}

/* Of threads that make the same one, the first wins. */
static struct touched_piece *make(struct touched *touched, uint64_t number) {
    struct touched_piece **bucket = &touched->pieces[bucket_of(number)], *found;
    struct touched_piece *made = create(1, sizeof *made);
    if (!made) return NULL;
    made->number = number;
    made->next = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);
    do {
        found = find_from(made->next, number);
        if (!found) continue;
        free(made);
        return found;
    } while (!__atomic_compare_exchange_n(bucket, &made->next, made, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE));
    __atomic_fetch_add(&touched->nbytes, sizeof *made, __ATOMIC_RELAXED);
    return made;
}

static uint64_t *make_bits(struct touched *touched, uint64_t **place) {
    uint64_t *none = NULL, *made = create(PIECE_WORDS, sizeof *made);
    if (!made) return NULL;
    if (__atomic_compare_exchange_n(place, &none, made, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE)) {
        __atomic_fetch_add(&touched->nbytes, PIECE_WORDS * sizeof *made, __ATOMIC_RELAXED);
        return made;
    }
    free(made);
    return none;
}

static void note_pc(uint32_t *place, uint32_t pc) {
    const uint32_t known = __atomic_load_n(place, __ATOMIC_RELAXED);
    uint32_t none = 0;
    if (known == pc + 1 || known == TOUCHED_NOWHERE + 1) return;
    if (known || !__atomic_compare_exchange_n(place, &none, pc + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        __atomic_store_n(place, TOUCHED_NOWHERE + 1, __ATOMIC_RELAXED);
}

static void set_bits(uint64_t *bits, uint32_t first, uint32_t end) {
    for (uint32_t word = first / BITS; word * BITS < end; word++) {
        uint64_t mask = UINT64_MAX;
        if (word == first / BITS) mask <<= first % BITS;
        if (end - word * BITS < BITS) mask &= (UINT64_C(1) << (end - word * BITS)) - 1;
        if ((__atomic_load_n(&bits[word], __ATOMIC_RELAXED) & mask) != mask)
            __atomic_fetch_or(&bits[word], mask, __ATOMIC_RELAXED);
    }
}

static void add_to_piece(struct touched *touched, enum touched_how how, uint64_t address, uint32_t nbytes,
                         uint32_t pc) {
    const uint64_t number = address >> PIECE_SHIFT;
    const uint32_t first = address % PIECE_NBYTES;
    struct touched_piece *piece = find(touched, number);
    if (!piece) piece = make(touched, number);
    if (!piece) return;
    uint64_t *bits = __atomic_load_n(&piece->bits[how], __ATOMIC_ACQUIRE);
    if (!bits) bits = make_bits(touched, &piece->bits[how]);
    if (!bits) return;
    note_pc(&piece->pc[how], pc);
    set_bits(bits, first, first + nbytes);
}

void touched_open(struct touched *touched) {
    touched->pieces = create(BUCKETS, sizeof *touched->pieces);
    touched->nbytes = touched->pieces ? BUCKETS * sizeof *touched->pieces : 0;
}

bool touched_is_used(const struct touched *touched) {
    return __atomic_load_n(&touched->nbytes, __ATOMIC_RELAXED) > BUCKETS * sizeof *touched->pieces;
}

void touched_add(struct touched *touched, enum touched_how how, uint64_t address, uint64_t nbytes, uint32_t pc) {
    if (!touched->pieces) return;
    for (uint64_t length; nbytes; address += length, nbytes -= length) {
        length = PIECE_NBYTES - address % PIECE_NBYTES;
        if (length > nbytes) length = nbytes;
        add_to_piece(touched, how, address, (uint32_t)length, pc);
    }
}

/* The pairs that disturb each other, the plainest first. */
static const enum touched_how pairs[][2] = {
    {TOUCHED_STORE, TOUCHED_STORE}, {TOUCHED_STORE, TOUCHED_LOAD},   {TOUCHED_LOAD, TOUCHED_STORE},
    {TOUCHED_STORE, TOUCHED_ATOMIC}, {TOUCHED_ATOMIC, TOUCHED_STORE}, {TOUCHED_ATOMIC, TOUCHED_LOAD},
    {TOUCHED_LOAD, TOUCHED_ATOMIC},
};

static bool meet_so(const struct touched_piece *first, const struct touched_piece *second,
                    struct touched_meeting *meeting) {
    const uint64_t *ours = first->bits[meeting->first], *theirs = second->bits[meeting->second];
    for (uint32_t word = 0; ours && theirs && word < PIECE_WORDS; word++) {
        uint64_t both = ours[word] & theirs[word];
        if (!both) continue;
        meeting->address = (first->number << PIECE_SHIFT) + word * BITS + (uint32_t)__builtin_ctzll(both);
        meeting->first_pc = first->pc[meeting->first] - 1;
        meeting->second_pc = second->pc[meeting->second] - 1;
        return true;
    }
    return false;
}

static bool meet_in(const struct touched *first, const struct touched *second, struct touched_meeting *meeting) {
    for (size_t bucket = 0; bucket < BUCKETS; bucket++)
        for (const struct touched_piece *piece = first->pieces[bucket]; piece; piece = piece->next) {
            const struct touched_piece *other = find(second, piece->number);
            if (other && meet_so(piece, other, meeting)) return true;
        }
    return false;
}

bool touched_meet(const struct touched *first, const struct touched *second, struct touched_meeting *meeting) {
    if (!first->pieces || !second->pieces) return false;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        *meeting = (struct touched_meeting){.first = pairs[i][0], .second = pairs[i][1]};
        if (meet_in(first, second, meeting)) return true;
    }
    return false;
}

static bool has_bit(const uint64_t *bits, uint64_t *offset) {
    for (uint32_t word = 0; bits && word < PIECE_WORDS; word++) {
        *offset = word * BITS + (bits[word] ? (uint32_t)__builtin_ctzll(bits[word]) : 0);
        if (bits[word]) return true;
    }
    return false;
}

static bool meets_free(const struct touched_piece *piece, struct touched_meeting *meeting) {
    uint64_t offset;
    for (int how = 0; how < TOUCHED_HOW; how++) {
        if (!has_bit(piece->bits[how], &offset)) continue;
        *meeting = (struct touched_meeting){.first = (enum touched_how)how, .second = TOUCHED_FREE, .first_pc = piece->pc[how] - 1,
                                            .second_pc = TOUCHED_NOWHERE, .address = (piece->number << PIECE_SHIFT) + offset};
        return true;
    }
    return false;
}

bool touched_meet_free(const struct touched *touched, uint64_t address, uint64_t nbytes, struct touched_meeting *meeting) {
    const uint64_t first = address >> PIECE_SHIFT, last = (address + nbytes - 1) >> PIECE_SHIFT;
    for (size_t bucket = 0; touched->pieces && bucket < BUCKETS; bucket++)
        for (const struct touched_piece *piece = touched->pieces[bucket]; piece; piece = piece->next)
            if (piece->number >= first && piece->number <= last && meets_free(piece, meeting)) return true;
    return false;
}

static void destroy_piece(struct touched_piece *piece) {
    for (size_t how = 0; how < TOUCHED_HOW; how++) free(piece->bits[how]);
    free(piece);
}

void touched_clear(struct touched *touched) {
    for (size_t bucket = 0; touched->pieces && bucket < BUCKETS; bucket++)
        for (struct touched_piece *piece = touched->pieces[bucket], *next; piece; piece = next) {
            next = piece->next;
            destroy_piece(piece);
        }
    free(touched->pieces);
    *touched = (struct touched){0};
}
