/* What a block's mbarriers have been through, for the message about one whose phase never ends. */
#ifndef SIMT_MBARRIER_NOTES_H
#define SIMT_MBARRIER_NOTES_H

#include "machine.h"
#include "mbarrier.h"

void simt_mbarrier_note_begin(struct block *home, uint64_t offset, uint32_t pc, uint32_t count);
void simt_mbarrier_note_end(struct block *home, uint64_t offset); /* it is no mbarrier any more */
/* Whether what is there now is the mbarrier that was initialised there, at *begin_pc. */
bool simt_mbarrier_is_noted(const struct block *home, uint64_t offset, const struct mbarrier *now, uint32_t *begin_pc);
void simt_mbarrier_note_arrival(struct block *home, uint64_t offset, uint32_t pc, uint32_t count);
void simt_mbarrier_note_phase(struct block *home, uint64_t offset); /* it is over */

/* " (initialised with 65 at line 7; 64 came, at line 10): ..."; "" where nothing is known. */
void simt_mbarrier_notes_say(const struct block *home, uint64_t offset, char *text, size_t nbytes);

#endif
