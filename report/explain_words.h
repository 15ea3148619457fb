/* How an explanation's values, symbols, threads and cells are written, and the parts of its text. */
#ifndef REPORT_EXPLAIN_WORDS_H
#define REPORT_EXPLAIN_WORDS_H

#include "explain_report.h"

enum { EXPLAIN_TEXT_WIDTH = 100 };

void put_number(FILE *stream, const wf_value *value);
/* A partial result's. */
void put_bits(FILE *stream, const struct explanation *explanation, uint64_t bits);
void put_symbol(FILE *stream, const struct explanation *explanation, uint32_t term);
/* "0, 2, 4" and "0-31": the lanes of masks, one for each warp. */
void put_threads(FILE *stream, const struct explanation *explanation, const uint32_t *lanes, bool inverted);
/* "shared[3]", "input[3]"; of registers "value". */
void put_cell(FILE *stream, enum store store, uint32_t index);
/* A line of the rung's source without the white space and the mark around it. */
void put_source_line(FILE *stream, const struct ladder_file *file, uint32_t line);
/* "input", "shared", "registers", "result". */
const char *store_name(enum store store);

/* explain_prose.c: the idea of a rung, what it fixes and what it still costs; and what its sources print wrong. */
void put_lesson(FILE *stream, const struct ladder_rung *rung);
void put_misprints(FILE *stream, const struct ladder_rung *rung);
/* explain_compare.c: counts compared with predictions. */
void put_comparison(FILE *stream, const struct explanation *explanation);
/* explain_tree.c */
void put_tree(FILE *stream, const struct explanation *explanation);
/* explain_banks.c: a step's worst access to shared memory; the colours are for a conflict. */
void put_banks(FILE *stream, const struct explanation *explanation, size_t step, const char *colour,
               const char *plain);

#endif
