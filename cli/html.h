/* Pages: one file each, with all that it needs inside, made of the files in cli/html/. */
#ifndef CLI_HTML_H
#define CLI_HTML_H

#include <stddef.h>

/* The files, embedded: sorted by path, as strcmp does. */
struct html_file {
    const char *path; /* within cli/html/: "page.html" */
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

/* Writes the page to the file, whole or not at all.  Returns the exit status, having said what went wrong. */
int html_write(const char *path, const struct html_page *page);

#endif
