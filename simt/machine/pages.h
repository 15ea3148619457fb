/* Tables of pages, for memory.c. */
#ifndef SIMT_PAGES_H
#define SIMT_PAGES_H

#include "machine.h"

struct page_table *simt_page_table_create(uint64_t nbytes); /* NULL: no memory */
void simt_page_table_destroy(struct page_table *table); /* NULL: nothing */

#endif
