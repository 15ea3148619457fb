/* A text that is made in memory before anybody gets any of it. */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Write to the stream, and ask once, at the end, whether everything was kept. */
struct page {
    FILE *stream; /* NULL: there was no memory to begin with, or it has ended */
    char *text;   /* NUL-terminated */
    size_t length, capacity;
    bool is_cut; /* something did not fit into memory: the text ends before it */
};

/* The page stays where it is until it has ended. */
void page_open(struct page *page);

/* The text written since the last call, valid until the next write.  If memory ran out, only part of it. */
const char *page_take(struct page *page);

/* Closes the stream.  false: no memory, and the text is not what was written. */
bool page_end(struct page *page);

/* Ended or not; the text is gone. */
void page_clear(struct page *page);

#endif
