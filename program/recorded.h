/* For this folder alone: what is read of the record, whatever the program has written into it. */
#ifndef PROGRAM_RECORDED_H
#define PROGRAM_RECORDED_H

#include "names.h"

enum { RECORD_MESSAGE_NBYTES = RECORD_NAME + 320 };

uint32_t record_kernel_count(const struct record *record);
uint32_t record_finding_count(const struct record *record);
uint32_t record_advice_count(const struct record *record);
uint64_t record_count_findings(const struct record *record); /* with those that had no room, and leaks */
bool record_has_leaks(const struct record *record);
const char *record_gpu_name(const struct record *record);

/* A text of the record that is sure to end. */
void record_get_text(char text[RECORD_NAME], const char from[RECORD_NAME]);
const char *record_kind_name(const struct record_finding *finding);
const char *record_advice_kind(const struct record_advice *advice);
bool record_has_thread(const struct record_place *place);
double record_utilization(const struct record_kernel *kernel); /* share of the lanes that took part in instructions */

/* The message, with the names that the source gives to what it tells of. */
void record_message(const struct program *program, const struct names *names, const struct record_finding *finding,
                    char text[RECORD_MESSAGE_NBYTES]);
/* The cure, which names the array to be padded where the source has it, and the count that it gives. */
uint64_t record_cure(const struct program *program, const struct names *names, const struct record_advice *advice,
                     char cure[RECORD_NAME]);

#endif
