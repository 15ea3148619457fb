/* The sources of a kernel, as far as they are still there, and the user's to show: PTX can name any file. */
#ifndef REPORT_INSPECT_SOURCE_H
#define REPORT_INSPECT_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "simt/simt.h"

struct source {
    const char *file; /* as the report has it */
    char *text;       /* NUL-terminated; NULL: it is not read */
    size_t nbytes;
};

struct sources {
    struct source *items;
    size_t count;
};

/* Where sources may lie: the kernel's own file, and regular files of text below its folder or below another. */
struct places {
    const char *kernel;
    const char *folder; /* NULL: none */
};

/* Those that the report's lines and findings name, in the order of the lines.  false: no memory.
 * sources_clear in any case. */
bool sources_read(struct sources *sources, const simt_report *report, const struct places *places);

/* One more file, unless it is there already. */
bool sources_add(struct sources *sources, const char *path, const struct places *places);
void sources_clear(struct sources *sources);

/* The line, counted from 1, and its length without the line's end; NULL: there is none. */
const char *source_line(const struct source *source, uint32_t line, size_t *length);

#endif
