/* Memory for large tables: pages as large as there are, since elements go to random places. */
#ifndef WF_CORE_PAGES_H
#define WF_CORE_PAGES_H

#include <stdbool.h>
#include <stddef.h>

struct wf_pages {
    void *at; /* NULL: none */
    size_t nbytes;
    bool are_mapped, are_used; /* are_used: what they contain is not all zeros */
};

/* At least nbytes, be they few: from *kept if they suffice, which is empty then, or new ones; at is NULL without memory.  So
 * calls that need no more than one before allocate nothing. */
struct wf_pages wf_pages_take(struct wf_pages *kept, size_t nbytes);

/* At least nbytes that begin with what pages have, which are gone; or at is NULL without memory, and pages stay. */
struct wf_pages wf_pages_grow(struct wf_pages pages, size_t nbytes);

/* Leaves them in *kept, if they are few and more than that has, or gives them back to the system. */
void wf_pages_leave(struct wf_pages *kept, struct wf_pages pages);

void wf_pages_free(struct wf_pages pages);

#endif
