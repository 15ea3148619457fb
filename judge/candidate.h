/* The kernel that is judged. */
#ifndef JUDGE_CANDIDATE_H
#define JUDGE_CANDIDATE_H

#include "task.h"

struct candidate {
    char *ptx; /* its module's text */
    simt_module *module;
    size_t kernel;
};

/* Compiles the source and finds the kernel of the task's name, or the file's only one.  candidate_clear in
 * any case. */
simt_error candidate_load(struct candidate *candidate, const struct judge_request *request,
                          simt_message *message);
void candidate_clear(struct candidate *candidate);

#endif
