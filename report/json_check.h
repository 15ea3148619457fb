/* Is a text JSON? */
#ifndef REPORT_JSON_CHECK_H
#define REPORT_JSON_CHECK_H

/* Behind the value (RFC 8259) that the text begins with, white space before it left out; NULL: there is none,
 * or it is nested too deep to be data.  *wrong, then, is where. */
const char *json_value_end(const char *text, const char **wrong);

/* Behind white space. */
const char *json_skip_space(const char *text);

#endif
