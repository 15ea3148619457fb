/* Where a kernel decides by the size alone: which of its comparisons hold at which sizes.
 *
 * The instructions that follow from the kernel's numbers alone (its scalar arguments, the extents of the launch, the
 * indices of one thread) are copied into a kernel of their own, and the simulator runs that with one thread for each
 * size.  So every form of arithmetic is followed, n * 3 == 2331 as well as a hash of n.  What loops carry, what is read
 * from memory and what a guard decides is not. */
#ifndef JUDGE_CONDITIONS_H
#define JUDGE_CONDITIONS_H

#include "task.h"

/* Of each size a word: sizes with the same word agree in the first 64 such comparisons of stage s, whose kernel has that
 * name in the PTX, for the first thread of the first block and the last of the last one.  The words are mixed into what is
 * there.  false: they are not known. */
bool conditions_mix(const struct judge_task *task, size_t s, const char *ptx, const char *kernel, const struct size *sizes,
                    size_t count, uint64_t *words);

#endif
