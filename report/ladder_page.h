/* The ladder as a page: a run's JSON, the rungs' sources, and their trees. */
#ifndef REPORT_LADDER_PAGE_H
#define REPORT_LADDER_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "page.h"

/* The page of a run, of which `runs` is what put_ladder_json writes: one object for each table.  Has it ended
 * whole? If not, there was no memory. */
bool ladder_page_make(const char *runs, struct page *page);

/* The first byte at which a NUL-terminated text of nbytes stops being JSON; NULL: the text is JSON. */
const char *ladder_page_find_fault(const char *runs, size_t nbytes);

#endif
