/* Pages: one file each, with all that it needs inside, made of the files in report/web/. */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include <stdbool.h>
#include <stddef.h>

#include "page.h"

/* The files, embedded: sorted by path, as strcmp does. */
struct html_file {
    const char *path; /* within report/web/: "page.html"; or "ladder_times.jsonl", recorded on a GPU */
    const char *text; /* NUL-terminated */
    size_t nbytes;    /* without the NUL */
};
extern const struct html_file html_files[];
extern const size_t html_file_count;

struct html_page {
    const char *kind;  /* "explain": besides kit*.*, it has the files explain*.css and explain*.js */
    const char *title; /* plain text */
    const char *json;  /* the page's data: whatever the command's --json prints */
};

/* An embedded file's text; NULL: there is none of that name. */
const char *html_file_text(const char *path);

/* The page's text; has it ended whole? */
bool html_make(const struct html_page *html, struct page *page);

#endif
