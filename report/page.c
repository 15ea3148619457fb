/* Not open_memstream: its stream loses what it cannot hold when it is flushed or closed, and need not say so.
 * Here the function that gets the stream's bytes remembers for itself that it could not keep some. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* fopencookie */
#endif
#include "page.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 4096 };

static bool reserve(struct page *page, size_t nbytes) {
    if (nbytes < page->capacity - page->length) return true; /* a NUL follows the text */
    if (nbytes >= SIZE_MAX / 2 - page->capacity) return false;
    size_t capacity = 2 * page->capacity + nbytes;
    char *text = realloc(page->text, capacity);
    if (!text) return false;
    page->text = text;
    page->capacity = capacity;
    return true;
}

/* The write function of the stream; returns 0 on error. */
static ssize_t keep(void *cookie, const char *data, size_t nbytes) {
    struct page *page = cookie;
    page->is_cut = page->is_cut || !reserve(page, nbytes);
    if (page->is_cut) return 0;
    memcpy(page->text + page->length, data, nbytes);
    page->length += nbytes;
    page->text[page->length] = '\0';
    return (ssize_t)nbytes;
}

void page_open(struct page *page) {
    *page = (struct page){.text = malloc(FIRST_CAPACITY), .capacity = FIRST_CAPACITY};
    if (!page->text) return;
    page->text[0] = '\0';
    page->stream = fopencookie(page, "w", (cookie_io_functions_t){.write = keep});
}

const char *page_take(struct page *page) {
    fflush(page->stream);
    if (!page->length) page->text[0] = '\0';
    page->length = 0;
    return page->text;
}

bool page_end(struct page *page) {
    if (!page->stream) return false;
    bool has_error = ferror(page->stream);
    bool is_closed = !fclose(page->stream); /* which writes what the stream still holds */
    page->stream = NULL;
    return is_closed && !has_error && !page->is_cut;
}

void page_clear(struct page *page) {
    if (page->stream) fclose(page->stream);
    free(page->text);
    *page = (struct page){0};
}
