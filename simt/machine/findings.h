/* The findings of a report: one for each kind and place, or, of races, for each pair of places. */
#ifndef SIMT_FINDINGS_H
#define SIMT_FINDINGS_H

#include <stdarg.h>

#include "simt_observer.h"

enum { FINDING_THREADS_MAX = 1024 }; /* of a block */

/* Who meets a finding, where, and how bad that is. */
struct meeting_note {
    uint32_t pc, other_pc; /* other_pc: of a race, else pc */
    uint32_t first_thread, lanes; /* threads: of these lanes of the warp that begins there */
    bool has_other_thread;        /* and this one, of the same block */
    uint32_t other_thread;
    bool other_is_later;
    uint32_t strength; /* a stronger one of a place takes the message over */
    const char *missing, *where;
    uint32_t update, follows, copies, teller; /* simt_racing_access */
    bool is_before_copy, is_of_phase, is_of_teller;
    simt_handover handover;
    simt_open_loop loop;
    const char *element; /* of a variable: " (index 5 of `tile`, 32 elements of 4 bytes)"; "" */
};


struct found {
    simt_finding finding;
    simt_finding_detail detail;
    uint64_t threads[FINDING_THREADS_MAX / 64]; /* a bit each */
    uint32_t strength;
    uint32_t update, follows, copies, teller;
    bool is_before_copy, is_of_teller;
    bool races_again; /* the same two lines race in the next round, too */
    bool is_of_phase;
    simt_handover handover;
    simt_open_loop loop;
    bool is_of_loop; /* it tells of all races of its loop */
    bool is_withdrawn;
    /* At the end: the finding that tells of it, too, and of that one the lines and the number of pairs of lines. */
    size_t told_with;
    uint32_t from_line, to_line, pairs;
    uint32_t barrier_from, barrier_to; /* the lines between which a barrier is missing */
    char where[96]; /* after what is missing: " between line 7 and line 9" */
    char element[128];
};

/* Which finding an instruction, or a pair of them, has. */
struct found_key {
    uint32_t kind, pc, other_pc;
    uint32_t index; /* + 1; 0: free */
};

struct found_list {
    struct found *items;
    size_t count, capacity;
    struct found_key *keys; /* a hash table */
    size_t key_count, key_capacity;
};

enum noted { NOTED_NEW, NOTED_STRONGER, NOTED_AGAIN, NOTED_NO_MEMORY };

/* The first of its place, and a stronger one, gets its message from the format; *index is its place in the list. */
enum noted simt_findings_note(struct found_list *list, const simt_finding *finding, const struct meeting_note *note,
                              size_t *index, const char *format, va_list arguments);

/* Counts one that needs no words: its instructions have a finding that is at least as strong.  false: nothing is done. */
bool simt_findings_note_again(struct found_list *list, enum simt_finding_kind kind, const struct meeting_note *note);

/* The finding of these instructions gets the place and words of this one; what was counted stays.  Its index; SIZE_MAX: there is none. */
size_t simt_findings_show(struct found_list *list, const simt_finding *finding, const struct meeting_note *note);

/* Drops the finding of that kind at the instruction if a race says more of it: one that has the same line. */
void simt_findings_withdraw(struct found_list *list, enum simt_finding_kind kind, uint32_t pc);

/* To be called once nothing more is noted: names what is missing, the strongest first.  (*place)[i] is where the
 * finding that was number i is now, or SIZE_MAX; the caller's to free.  false: no memory.  is_of_few: other warps may not have
 * come to what raced, as the launch was stopped, or has but one warp in a block. */
bool simt_findings_finish(struct found_list *list, bool is_of_few, size_t **place);

void simt_findings_clear(struct found_list *list);

#endif
