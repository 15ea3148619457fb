/* An explanation, as text for people and as JSON. */
#ifndef REPORT_EXPLAIN_REPORT_H
#define REPORT_EXPLAIN_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "explain/explain.h"

/* false, of both: no memory, and the text is not whole. */
bool put_explanation(FILE *stream, const struct explanation *explanation, bool has_colour);
bool put_explanation_json(FILE *stream, const struct explanation *explanation);

#endif
