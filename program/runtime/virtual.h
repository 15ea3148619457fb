/* For this folder alone: memory that is mapped where addresses were reserved. */
#ifndef PROGRAM_VIRTUAL_H
#define PROGRAM_VIRTUAL_H

#include "runtime.h"

/* The buffer that the address lies in, or the memory that is mapped there; false: there is none. */
bool buffer_look(uint64_t address, struct buffer *found);
void virtual_count_leaks(void); /* into the record */

#endif
