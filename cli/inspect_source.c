#include "inspect_source.h"

#include <stdlib.h>
#include <string.h>

#include "file.h"

static bool add(struct sources *sources, const char *file) {
    for (size_t i = 0; i < sources->count; i++)
        if (!strcmp(sources->items[i].file, file)) return true;
    struct source *grown = realloc(sources->items, (sources->count + 1) * sizeof *grown);
    if (!grown) return false;
    sources->items = grown;
    struct source *source = &grown[sources->count++];
    source->file = file;
    source->text = file_read(file, &source->nbytes);
    return true;
}

bool sources_read(struct sources *sources, const simt_report *report) {
    bool is_whole = true;
    *sources = (struct sources){0};
    for (size_t i = 0; i < simt_report_line_count(report); i++)
        is_whole = is_whole && add(sources, simt_report_line(report, i)->file);
    for (size_t i = 0; i < simt_report_finding_count(report); i++)
        is_whole = is_whole && add(sources, simt_report_finding(report, i)->file);
    return is_whole;
}

void sources_clear(struct sources *sources) {
    for (size_t i = 0; i < sources->count; i++) free(sources->items[i].text);
    free(sources->items);
    *sources = (struct sources){0};
}

const char *source_line(const struct source *source, uint32_t line, size_t *length) {
    const char *text = source->text;
    for (uint32_t i = 1; text && i < line; i++) {
        text = strchr(text, '\n');
        text = text && text[1] ? text + 1 : NULL;
    }
    *length = text ? strcspn(text, "\r\n") : 0;
    return line ? text : NULL;
}
