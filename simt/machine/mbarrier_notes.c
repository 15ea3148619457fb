#include "mbarrier_notes.h"

#include <stdio.h>
#include <stdlib.h>

enum { NOTES_MAX = 32, PCS_MAX = 3 };

struct mbarrier_note {
    uint64_t offset;
    uint32_t begin_pc, count; /* what it was initialised with */
    uint32_t before, arrived; /* arrivals in the phase before this one, and in this one, */
    uint32_t pcs[PCS_MAX], pc_count; /* and where; more than PCS_MAX: elsewhere, too */
};

struct mbarrier_notes {
    struct mbarrier_note items[NOTES_MAX];
    uint32_t count;
};

static struct mbarrier_note *note_at(const struct block *home, uint64_t offset) {
    struct mbarrier_notes *notes = home->mbarrier_notes;
    for (uint32_t i = 0; notes && i < notes->count; i++)
        if (notes->items[i].offset == offset) return &notes->items[i];
    return NULL;
}

/* Without memory the message is shorter. */
void simt_mbarrier_note_begin(struct block *home, uint64_t offset, uint32_t pc, uint32_t count) {
    if (!home->mbarrier_notes) home->mbarrier_notes = calloc(1, sizeof *home->mbarrier_notes);
    struct mbarrier_notes *notes = home->mbarrier_notes;
    struct mbarrier_note *note = note_at(home, offset);
    if (!note && notes && notes->count < NOTES_MAX) note = &notes->items[notes->count++];
    if (note) *note = (struct mbarrier_note){.offset = offset, .begin_pc = pc, .count = count};
}

void simt_mbarrier_note_end(struct block *home, uint64_t offset) {
    struct mbarrier_note *note = note_at(home, offset);
    if (note) note->count = 0;
}

/* What has been written over it since looks otherwise. */
bool simt_mbarrier_is_noted(const struct block *home, uint64_t offset, const struct mbarrier *now, uint32_t *begin_pc) {
    const struct mbarrier_note *note = note_at(home, offset);
    if (!note || !note->count) return false;
    *begin_pc = note->begin_pc;
    return now->expected == note->count && now->pending <= now->expected && !now->nbytes;
}

void simt_mbarrier_note_arrival(struct block *home, uint64_t offset, uint32_t pc, uint32_t count) {
    struct mbarrier_note *note = note_at(home, offset);
    uint32_t i = 0;
    if (!note) return;
    note->arrived += count;
    while (i < note->pc_count && i < PCS_MAX && simt_line_at(home->launch, note->pcs[i]) != simt_line_at(home->launch, pc)) i++;
    if (i < PCS_MAX) note->pcs[i] = pc;
    if (i == note->pc_count) note->pc_count++;
}

void simt_mbarrier_note_phase(struct block *home, uint64_t offset) {
    struct mbarrier_note *note = note_at(home, offset);
    if (!note) return;
    note->before = note->arrived;
    note->arrived = note->pc_count = 0;
}

/* ", at lines 10, 12" */
static int put_lines(const struct block *home, const struct mbarrier_note *note, char *text, size_t nbytes) {
    int length = snprintf(text, nbytes, note->pc_count > 1 ? ", at lines" : ", at line");
    for (uint32_t i = 0; i < note->pc_count && i < PCS_MAX; i++)
        length += snprintf(text + length, nbytes - (size_t)length, "%s %u", i ? "," : "", simt_line_at(home->launch, note->pcs[i]));
    if (note->pc_count > PCS_MAX) length += snprintf(text + length, nbytes - (size_t)length, ", ...");
    return length;
}

void simt_mbarrier_notes_say(const struct block *home, uint64_t offset, char *text, size_t nbytes) {
    const struct mbarrier_note *note = note_at(home, offset);
    *text = '\0';
    if (!note) return;
    int length = snprintf(text, nbytes, " (initialised with %u at line %u; ", note->count, simt_line_at(home->launch, note->begin_pc));
    if (note->arrived) length += snprintf(text + length, nbytes - (size_t)length, "%u came", note->arrived);
    else length += snprintf(text + length, nbytes - (size_t)length, "none came");
    if (note->arrived) length += put_lines(home, note, text + length, nbytes - (size_t)length);
    if (note->before) length += snprintf(text + length, nbytes - (size_t)length, ", after %u in the phase before", note->before);
    snprintf(text + length, nbytes - (size_t)length,
             "): let all that it counts arrive in each phase, or initialise it with the number of those that do");
}
