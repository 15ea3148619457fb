/* What a block's mbarriers have been through, for the message about one whose phase never ends. */
#ifndef SIMT_MBARRIER_NOTES_H
#define SIMT_MBARRIER_NOTES_H

#include "machine.h"

void simt_mbarrier_note_begin(struct block *home, uint64_t offset, uint32_t pc, uint32_t count);
void simt_mbarrier_note_arrival(struct block *home, uint64_t offset, uint32_t pc, uint32_t count);
void simt_mbarrier_note_phase(struct block *home, uint64_t offset); /* it is over */

/* " (initialised with 65 at line 7; 64 came, at line 10): ..."; "" where nothing is known. */
void simt_mbarrier_notes_say(const struct block *home, uint64_t offset, char *text, size_t nbytes);

#endif
