/* Whether a kernel's pointers are to what the task gives it. */
#ifndef JUDGE_PARAMETERS_H
#define JUDGE_PARAMETERS_H

#include "task.h"

/* By the kernel's name in the PTX, if that is mangled.  `text` stays as it is where they are, or where nothing is known. */
void parameters_compare(const struct judge_task *task, const struct stage *stage, const char *name, char *text, size_t nbytes);

#endif
