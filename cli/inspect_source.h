/* The sources of a kernel, as far as they are still there. */
#ifndef CLI_INSPECT_SOURCE_H
#define CLI_INSPECT_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "simt.h"

struct source {
    const char *file; /* as the report has it */
    char *text;       /* NUL-terminated; NULL: it cannot be read */
    size_t nbytes;
};

struct sources {
    struct source *items;
    size_t count;
};

/* Those that the report's lines and findings name, in the order of the lines.  false: no memory.
 * sources_clear in any case. */
bool sources_read(struct sources *sources, const simt_report *report);
void sources_clear(struct sources *sources);

/* The line, counted from 1, and its length without the line's end; NULL: there is none. */
const char *source_line(const struct source *source, uint32_t line, size_t *length);

#endif
