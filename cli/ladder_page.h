/* The ladder as a page: a run's JSON, the rungs' sources, and their trees. */
#ifndef CLI_LADDER_PAGE_H
#define CLI_LADDER_PAGE_H

#include "options.h"

/* Writes the page of a run, of which `json` is what --json prints: one object for each table.  Returns the
 * exit status, having said what went wrong. */
int ladder_page_write(const char *path, const char *json);

/* The same of a run that an earlier --json left in the file settings->from. */
int ladder_page_redraw(const struct settings *settings);

#endif
