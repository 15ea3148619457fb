/* The parts of the explanation as JSON, each the members of an object that its caller has begun. */
#ifndef REPORT_EXPLAIN_JSON_H
#define REPORT_EXPLAIN_JSON_H

#include "explain/explain.h"
#include "json.h"

/* explain_json_parts.c */
void json_key_value(struct json *json, const char *name, const wf_value *value);
/* An element of an array of that type. */
void json_element(struct json *json, const void *element, wf_type type);
/* A partial result's value. */
void json_key_bits(struct json *json, const char *name, const struct explanation *explanation, uint64_t bits);
void json_tally(struct json *json, const struct tally *tally);
/* A combine: the thread, the target and the sources, without the result. */
void json_combine(struct json *json, const struct timeline *timeline, const struct combine *combine);
void json_findings(struct json *json, const simt_report *report);

/* The members "pairs", "from_line" and "to_line" of a finding: simt_report_finding_pairs. */
void json_finding_pairs(struct json *json, const simt_report *report, size_t index);
/* Its symbol; null where it is not known. */
void json_symbol(struct json *json, const struct explanation *explanation, uint32_t term);

/* explain_json_steps.c: "start" and "steps".  false, here and below: no memory, and the text is not whole. */
bool json_steps(struct json *json, const struct explanation *explanation);

/* explain_json_trace.c: of a step, or outside the tree (step SIZE_MAX): "accesses", who touched what;
 * "lines", what was executed of the source. */
void json_accesses(struct json *json, const struct explanation *explanation, size_t step);
void json_copies(struct json *json, const struct explanation *explanation);
bool json_lines(struct json *json, const struct explanation *explanation, size_t step);

/* explain_json_misprints.c: "printed_errors" and "wrong", the kernels as the sources print them. */
void json_misprints(struct json *json, const struct explanation *explanation);

#endif
