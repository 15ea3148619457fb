/* What loops do to memory: the bytes that they write, and those that decide whether they end.
 *
 * A loop that repeats itself may write in every round, a count of its polls say, and still never end: its addresses are
 * the same each time, as they are among what decides (recurrence.c), so all that it ever writes is known from one round.
 * If nothing that decides about any repeating loop lies there, these writes change nothing for anyone who waits.  What
 * decides about the loop itself may lie there, if the loop leaves it in the end as it found it. */
#ifndef SIMT_EFFECTS_H
#define SIMT_EFFECTS_H

#include "machine.h"

struct request;

bool simt_ranges_meet(const struct ranges *a, const struct ranges *b);
void simt_ranges_clear(struct ranges *ranges);

/* The bytes that were written, by their addresses in the host's memory, which may be gone. */
struct overwritten {
    struct overwritten_byte {
        uintptr_t address; /* 0: none */
        unsigned char before, now;
    } *bytes; /* a hash table; NULL until needed */
    uint32_t count, changed;
    bool is_kept; /* by now: not before the first round begins */
    bool is_lost; /* some are missing: too many, or no memory */
};

/* While a loop is examined. */
enum { MARK_DECIDES = 1, MARK_IS_VALUED = 2 }; /* what is read there; it stores what the registers that decide hold */
struct recording {
    const struct warp *warp; /* that is examined */
    struct ranges reads, writes;
    struct ranges others; /* what other warps of the block wrote meanwhile: those changes are not counted against it */
    uint64_t waits_for; /* the first address in global memory of `reads`; 0: none */
    const struct function *function;
    uint32_t depth;       /* of its frame: those that are deeper it has called */
    unsigned char called; /* the mark of all that these do */
    unsigned char *marks; /* by pc of the function; NULL: it is not known yet what decides */
    uint64_t changes;     /* of the block, when it began; what is written from then on is not counted there, */
    bool has_new;         /* unless it was in vain, and some of it had not been found harmless before */
    bool has_learnt;      /* since then: one more place where it is read what decides, or instruction that stores there */
    struct overwritten overwritten;
    bool is_undone; /* the loop writes where it reads what decides, but each time leaves there what was there before */
};

/* From here on, what was there before the warp's writes is kept. */
void simt_effects_keep(struct recording *recording);
void simt_effects_forget(struct recording *recording);

/* Whether all of it is there again. */
bool simt_effects_are_undone(const struct recording *recording);

/* What the accesses of the block's warps do, while one of its warps is or was examined; before, and, of atomics, after
 * it is performed. */
void simt_effects_open(struct warp *warp, const struct path *path, const struct request *request);
void simt_effects_of_atomic(struct warp *warp, const struct path *path, const struct request *request);

/* Whether the launch's loops stay without effect on each other with this one: then its writes are no changes from now
 * on. */
bool simt_effects_accept(struct warp *warp, struct recording *recording);

#endif
