#include "places.h"

#include <string.h>

#include "recorded.h"
#include "report/inspect_source.h"
#include "report/printed.h"

void place_put(FILE *stream, const struct names *names, const struct record_place *place) {
    char shown[2 * RECORD_NAME];
    names_show(names, place->file, shown);
    put_name(stream, shown, strlen(shown));
    if (!place->line) return; /* of the host's code */
    fprintf(stream, ":%u", place->line);
    if (record_has_thread(place))
        fprintf(stream, ", block (%u,%u,%u), thread (%u,%u,%u)", place->block[0], place->block[1],
                place->block[2], place->thread[0], place->thread[1], place->thread[2]);
}

bool place_put_line(FILE *stream, const struct program *program, const struct names *names, const struct record_place *place) {
    char shown[2 * RECORD_NAME];
    struct sources sources = {0};
    const struct places places = {program->path, "."};
    size_t length;
    names_show(names, place->file, shown);
    bool is_read = sources_add(&sources, shown, &places);
    const char *line = is_read ? source_line(&sources.items[0], place->line, &length) : NULL;
    if (line) {
        fprintf(stream, "%8u | ", place->line);
        put_lines(stream, line, length);
        fputc('\n', stream);
    }
    sources_clear(&sources);
    return is_read;
}
