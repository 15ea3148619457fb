/* The kernel that is judged. */
#ifndef JUDGE_CANDIDATE_H
#define JUDGE_CANDIDATE_H

#include "simt_observer.h"
#include "task.h"

struct candidate {
    char *ptx; /* its module's text */
    simt_module *module;
    size_t kernels[STAGES_MAX]; /* of each stage */
    const char *unsteady; /* what differs from run to run and may decide what it does, in words; NULL: nothing */
    const simt_place *unsteady_place; /* where it is read */
    bool keeps_state; /* it has variables that outlast a launch */
    char mismatch[256]; /* of a parameter's type and the task's, in words; "": none is known */
    const simt_place *store; /* the only line that stores where others read it; NULL: there are several, or none */
};

/* Compiles the source and finds the kernels of the task's names, or of one the file's only one.  candidate_clear in
 * any case. */
simt_error candidate_load(struct candidate *candidate, const struct judge_request *request,
                          simt_message *message);
void candidate_clear(struct candidate *candidate);

#endif
