/* The steps as JSON.  Who reads it keeps the cells of a step's store: `before` gives those that are not as
 * the step before left them, `combines` tells what becomes of them, and `after` gives the others that changed
 * (a warp reduction leaves its result with every lane). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "explain_json.h"

static const char *const store_names[STORES] = {"input", "shared", "registers", "result"};

/* What a reader knows of the cells. */
struct reader {
    enum store store;
    struct cell *cells; /* of that store */
};

static bool is_told(const struct explanation *explanation, enum store store, struct cell cell) {
    return store == STORE_REGISTERS ? story_uses(&explanation->story, cell) : store != STORE_RESULT;
}

/* Without a symbol: what nobody uses, and a queue at one word, of which each would repeat the one before. */
static void put_symbol_if_told(FILE *stream, const struct explanation *explanation, enum store store,
                               struct cell cell) {
    put_json_symbol(stream, explanation, is_told(explanation, store, cell) ? cell.term : TERM_UNKNOWN);
}

static bool is_same(struct cell a, struct cell b) {
    return a.term == b.term && a.bits == b.bits;
}

/* Those of the cells that the reader does not know, who then does. */
static void put_changes(FILE *stream, const struct explanation *explanation, const char *name,
                        struct reader *reader, const struct cell *cells) {
    const char *separator = "";
    fprintf(stream, ",\"%s\":[", name);
    for (size_t i = 0; i < explanation->story.cell_counts[reader->store]; i++) {
        if (is_same(reader->cells[i], cells[i])) continue;
        fprintf(stream, "%s{\"cell\":%zu,\"value\":", separator, i);
        put_json_value(stream, explanation, cells[i].bits);
        fputs(",\"symbol\":", stream);
        put_symbol_if_told(stream, explanation, reader->store, cells[i]);
        fputc('}', stream);
        reader->cells[i] = cells[i];
        separator = ",";
    }
    fputc(']', stream);
}

/* false: no memory. */
static bool turn_to(struct reader *reader, const struct story *story, enum store store) {
    if (store == reader->store) return reader->cells;
    size_t count = story->cell_counts[store];
    free(reader->cells);
    reader->store = store;
    reader->cells = malloc(count * sizeof *reader->cells + 1);
    for (size_t i = 0; reader->cells && i < count; i++) reader->cells[i] = (struct cell){TERM_UNKNOWN, 0};
    return reader->cells;
}

/* ---- one step ------------------------------------------------------------------------------------ */

static void put_combine(FILE *stream, const struct explanation *explanation, enum store store,
                        const struct combine *combine) {
    const uint32_t *sources = &explanation->story.sources[combine->sources];
    fprintf(stream, "{\"thread\":%" PRIu32 ",\"target\":%" PRIu32 ",\"sources\":[", combine->thread,
            combine->target);
    for (uint32_t i = 0; i < combine->source_count; i++)
        fprintf(stream, "%s%" PRIu32, i ? "," : "", sources[i]);
    fputs("],\"value\":", stream);
    put_json_value(stream, explanation, combine->made.bits);
    fputs(",\"symbol\":", stream);
    put_symbol_if_told(stream, explanation, store, combine->made);
    fputc('}', stream);
}

static void put_combines(FILE *stream, const struct explanation *explanation, const struct step *step,
                         struct reader *reader) {
    const struct combine *combines = &explanation->story.combines[step->combines];
    fputs(",\"combines\":[", stream);
    for (size_t i = 0; i < step->combine_count; i++) {
        if (i) fputc(',', stream);
        put_combine(stream, explanation, step->store, &combines[i]);
        reader->cells[combines[i].target] = combines[i].made;
    }
    fputc(']', stream);
}

static void put_warps(FILE *stream, const struct explanation *explanation, const struct step *step) {
    const char *separator = "";
    fputs(",\"active\":[", stream);
    for (uint32_t warp = 0; warp < explanation->story.warp_count; warp++)
        fprintf(stream, "%s%" PRIu32, warp ? "," : "", step->active[warp]);
    fputs("],\"diverged\":[", stream);
    for (uint32_t warp = 0; warp < explanation->story.warp_count; warp++) {
        if (!step->diverged[warp]) continue;
        fprintf(stream, "%s%" PRIu32, separator, warp);
        separator = ",";
    }
    fputc(']', stream);
}

static void put_conflict(FILE *stream, const struct explanation *explanation, const struct step *step) {
    uint32_t threads[SIMT_LANES], count = story_conflict(&explanation->story, step, threads);
    fputs(",\"conflict\":[", stream);
    for (uint32_t i = 0; i < count; i++) fprintf(stream, "%s%" PRIu32, i ? "," : "", threads[i]);
    fputc(']', stream);
}

static bool put_step(FILE *stream, const struct explanation *explanation, size_t index,
                     struct reader *reader) {
    const struct step *step = &explanation->story.steps[index];
    if (!turn_to(reader, &explanation->story, step->store)) return false;
    fputc('{', stream);
    put_json_tally(stream, &step->tally);
    fprintf(stream, ",\"store\":\"%s\",\"line\":%" PRIu32 ",\"guard_line\":%" PRIu32,
            store_names[step->store], step->line, step->guard_line);
    put_warps(stream, explanation, step);
    put_conflict(stream, explanation, step);
    if (step->before) put_changes(stream, explanation, "before", reader, step->before);
    put_combines(stream, explanation, step, reader);
    put_changes(stream, explanation, "after", reader, step->after);
    put_json_accesses(stream, explanation, index);
    bool has_memory = put_json_lines(stream, explanation, index);
    fputc('}', stream);
    return has_memory;
}

/* ---- all of them --------------------------------------------------------------------------------- */

static void put_start(FILE *stream, const struct explanation *explanation, struct reader *reader) {
    const struct story *story = &explanation->story;
    size_t count = story->cell_counts[story->start_store];
    fprintf(stream, "\"start\":{\"store\":\"%s\",\"values\":[", store_names[story->start_store]);
    for (size_t i = 0; i < count; i++) {
        if (i) fputc(',', stream);
        put_json_value(stream, explanation, story->start[i].bits);
    }
    fputs("],\"symbols\":[", stream);
    for (size_t i = 0; i < count; i++) {
        if (i) fputc(',', stream);
        put_json_symbol(stream, explanation, story->start[i].term);
        reader->cells[i] = story->start[i];
    }
    fputs("]}", stream);
}

bool put_json_steps(FILE *stream, const struct explanation *explanation) {
    const struct story *story = &explanation->story;
    struct reader reader = {.store = STORES};
    if (!turn_to(&reader, story, story->start_store)) return false;
    put_start(stream, explanation, &reader);
    fputs(",\"steps\":[", stream);
    bool has_memory = true;
    for (size_t i = 0; has_memory && i < story->step_count; i++) {
        if (i) fputc(',', stream);
        has_memory = put_step(stream, explanation, i, &reader);
    }
    fputc(']', stream);
    free(reader.cells);
    return has_memory;
}
