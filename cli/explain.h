/* One block of a rung, run on the SIMT machine, and what the page and the JSON tell of it. */
#ifndef CLI_EXPLAIN_H
#define CLI_EXPLAIN_H

#include <stdio.h>

#include "explain_predict.h"
#include "explain_story.h"
#include "ladder.h"
#include "simt.h"

struct explanation {
    struct ladder_rung rung;
    struct ladder_variant variant;
    uint64_t n;
    uint32_t block;
    simt_settings settings;
    simt_schedule schedule;
    uint64_t seed;
    void *values; /* n elements */

    struct ladder_plan plan;
    simt_module *module; /* whose strings the walk and the report use */
    struct walk walk;
    struct story story;
    struct ladder_result result;
    simt_report *report;
    struct prediction prediction;
};

/* explain_run.c: runs it, once all above `plan` is set. */
simt_error explain_run(struct explanation *explanation, simt_message *message);
void explain_clear(struct explanation *explanation);
/* All observers that come with the machine, and the walk's (NULL: no walk), NULL-terminated. */
enum { EXPLAIN_OBSERVERS_MAX = 32 };
void explain_list_observers(const simt_observer *walk, const simt_observer *observers[EXPLAIN_OBSERVERS_MAX]);
double explain_count(const struct explanation *explanation, const char *name);

/* explain_values.c: elements from the command line's text, or of the program's own choice.  They are the
 * caller's, to be freed.  NULL: the user has been told what is wrong. */
void *explain_parse_values(const char *text, wf_type type, uint64_t *count, int *status);
void *explain_choose_values(wf_type type, wf_op op, uint64_t count, int *status);

/* explain_text.c: how values, symbols, threads and cells are written. */
void put_bits(FILE *stream, const struct explanation *explanation, uint64_t bits);
void put_symbol(FILE *stream, const struct explanation *explanation, uint32_t term);
/* "0, 2, 4" and "0-31": the lanes of masks, one for each warp. */
void put_threads(FILE *stream, const struct explanation *explanation, const uint32_t *lanes, bool inverted);
/* "shared[3]", "input[3]"; of registers "value". */
void put_cell(FILE *stream, enum store store, uint32_t index);
/* A line of the rung's source without the white space and the mark around it. */
void put_source_line(FILE *stream, const struct ladder_file *file, uint32_t line);

/* explain_page.c, explain_compare.c, explain_tree.c, explain_banks.c, explain_json.c */
void put_page(FILE *stream, const struct explanation *explanation, bool has_colour);
void put_comparison(FILE *stream, const struct explanation *explanation); /* counted beside predicted */
void put_tree(FILE *stream, const struct explanation *explanation);
/* A step's worst access to shared memory; the colours are for a conflict. */
void put_banks(FILE *stream, const struct explanation *explanation, size_t step, const char *colour,
               const char *plain);
/* After an error the text is not whole. */
simt_error put_json(FILE *stream, const struct explanation *explanation, simt_message *message);

/* explain_sources.c: what the tutorials print wrong that touches the rung. */
void put_printed_errors(FILE *stream, const struct ladder_rung *rung);
void put_printed_errors_json(FILE *stream, const struct ladder_rung *rung);
/* The kernels of ladder/wrong/ that they are about, by index from 0; NULL: there is none. */
const char *printed_kernel(const struct ladder_rung *rung, size_t index);

#endif
