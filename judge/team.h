/* Tries what is planned, on several threads, and concludes the verdict. */
#ifndef JUDGE_TEAM_H
#define JUDGE_TEAM_H

#include "trial.h"

/* The verdict is the same for any number of threads (0: one for each processor): what a trial found is in it after all
 * that the trials before it found, and is left out where these end the search. */
simt_error team_try(const struct judging *judging, const struct judge_request *request, struct judge_verdict *verdict,
                    simt_message *message);

#endif
