/* The parts of the explanation as JSON. */
#ifndef CLI_EXPLAIN_JSON_H
#define CLI_EXPLAIN_JSON_H

#include <stdio.h>

#include "explain.h"

/* A partial result's value: decimal numbers as they are, all else (inf, nan) quoted. */
void put_json_value(FILE *stream, const struct explanation *explanation, uint64_t bits);
/* Its symbol; null where it is not known. */
void put_json_symbol(FILE *stream, const struct explanation *explanation, uint32_t term);
void put_json_tally(FILE *stream, const struct tally *tally);
void put_json_findings(FILE *stream, const simt_report *report);

/* explain_json_steps.c: "start" and "steps".  false, here and below: no memory, and the text is not whole. */
bool put_json_steps(FILE *stream, const struct explanation *explanation);

/* explain_json_walk.c: of a step, or outside the tree (step SIZE_MAX): "accesses", who touched what; "lines",
 * what was executed of the source. */
void put_json_accesses(FILE *stream, const struct explanation *explanation, size_t step);
bool put_json_lines(FILE *stream, const struct explanation *explanation, size_t step);

/* explain_wrong.c: "wrong", the kernels as the sources print them, run. */
simt_error put_json_wrong(FILE *stream, const struct explanation *explanation, simt_message *message);

#endif
