/* What a program executed of each line of its sources, as far as these are the user's to show. */
#ifndef PROGRAM_LINES_H
#define PROGRAM_LINES_H

#include "names.h"
#include "report/inspect_source.h"
#include "report/json.h"

struct program_file {
    char shown[2 * RECORD_NAME];
    const struct source *source; /* with text */
};

struct program_lines {
    struct sources sources;
    struct program_file *files;      /* of every file of the record; those that cannot be shown have no source */
    const struct record_line **line; /* those of files with a source, by file and line */
    size_t count;
};

/* false: no memory.  program_lines_clear in any case. */
bool program_lines_read(struct program_lines *lines, const struct program *program, const struct names *names);
void program_lines_clear(struct program_lines *lines);

/* For each file how much of its code was executed, and what each line cost. */
void program_lines_put(FILE *stream, const struct program_lines *lines);

/* The members "coverage", "lines" and, if asked for, "sources". */
void program_lines_put_json(struct json *json, const struct program_lines *lines, bool has_sources);

#endif
