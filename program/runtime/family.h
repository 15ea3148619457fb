/* For this folder alone: kernels that launch kernels do not wait for them, so that what both touch is a race: whatever the
 * launching kernel does after the launch, though it is executed first here. */
#ifndef PROGRAM_FAMILY_H
#define PROGRAM_FAMILY_H

#include "runtime.h"

/* What a launch or copy that a kernel asks for does not come after.  Zeroed, nothing. */
struct kin {
    struct relative *relative; /* the kernel, */
    uint32_t set;              /* and which of its sets of accesses is the first after the launch */
};

/* With the lock held.  Between begin and end, a kernel runs, or a copy; launch: it asks for another. */
void family_begin(struct kin kin, const char *name);
void family_end(void);
struct kin family_launch(bool is_tail); /* to be let go */
void family_let_go(struct kin kin);

#endif
