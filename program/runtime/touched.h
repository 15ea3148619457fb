/* For this folder alone: the bytes of memory that one operation loads, stores and updates atomically. */
#ifndef PROGRAM_TOUCHED_H
#define PROGRAM_TOUCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum touched_how { TOUCHED_LOAD, TOUCHED_STORE, TOUCHED_ATOMIC, TOUCHED_HOW, TOUCHED_FREE = TOUCHED_HOW };

/* Zeroed, it is empty. */
struct touched {
    struct touched_piece **pieces; /* by a hash of their addresses; NULL before the first */
    size_t nbytes;                 /* that it takes */
};

/* Where two sets meet. */
struct touched_meeting {
    uint64_t address;
    enum touched_how first, second;
    uint32_t first_pc, second_pc; /* TOUCHED_NOWHERE: several instructions touch the bytes nearby so, or none is known */
};

enum { TOUCHED_NOWHERE = UINT32_MAX - 1 };

/* Several threads may add at once, once it is open.  Without memory less is known; touched_is_short tells whether that was
 * so of any. */
void touched_open(struct touched *touched);
bool touched_is_short(void);
void touched_add(struct touched *touched, enum touched_how how, uint64_t address, uint64_t nbytes, uint32_t pc);
/* Whether some byte is in both, and one of them stores it; atomics do not disturb each other. */
bool touched_meet(const struct touched *first, const struct touched *second, struct touched_meeting *meeting);
/* Whether something touches the memory, which is freed. */
bool touched_meet_free(const struct touched *touched, uint64_t address, uint64_t nbytes, struct touched_meeting *meeting);
bool touched_is_used(const struct touched *touched); /* something was added */
void touched_clear(struct touched *touched);

#endif
