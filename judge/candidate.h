/* The kernel that is judged. */
#ifndef JUDGE_CANDIDATE_H
#define JUDGE_CANDIDATE_H

#include "task.h"

struct candidate {
    char *ptx; /* its module's text */
    simt_module *module;
    size_t kernels[STAGES_MAX]; /* of each stage */
    const char *unsteady, *unsteady_source; /* a register that differs from run to run, in words; NULL: none is read */
};

/* Compiles the source and finds the kernels of the task's names, or of one the file's only one.  candidate_clear in
 * any case. */
simt_error candidate_load(struct candidate *candidate, const struct judge_request *request,
                          simt_message *message);
void candidate_clear(struct candidate *candidate);

#endif
