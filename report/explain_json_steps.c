/* The steps as JSON.  Who reads it keeps the cells of a step's store: `before` gives those that are not as
 * the step before left them, `combines` tells what becomes of them, and `after` gives the others that changed
 * (a warp reduction leaves its result with every lane). */
#include <stdlib.h>

#include "explain_json.h"
#include "explain_words.h"

/* The state of the cells that the reader of the JSON already knows. */
struct reader {
    enum store store;
    struct cell *cells; /* of that store */
};

static bool is_told(const struct explanation *explanation, enum store store, struct cell cell) {
    return store == STORE_REGISTERS ? timeline_uses(&explanation->timeline, cell) : store != STORE_RESULT;
}

/* A partial result, without a symbol where nobody uses it, and of a queue at one word, of which each symbol
 * would repeat the one before. */
static void put_value(struct json *json, const struct explanation *explanation, enum store store,
                      struct cell cell) {
    json_key_bits(json, "value", explanation, cell.bits);
    json_key(json, "symbol");
    json_symbol(json, explanation, is_told(explanation, store, cell) ? cell.term : TERM_UNKNOWN);
}

static bool is_same(struct cell a, struct cell b) {
    return a.term == b.term && a.bits == b.bits;
}

/* Writes the cells that changed since the reader's state, and updates that state. */
static void put_changes(struct json *json, const struct explanation *explanation, const char *name,
                        struct reader *reader, const struct cell *cells) {
    json_key_begin(json, name, '[');
    for (size_t i = 0; i < explanation->timeline.cell_counts[reader->store]; i++) {
        if (is_same(reader->cells[i], cells[i])) continue;
        json_begin(json, '{');
        json_key_unsigned(json, "cell", i);
        put_value(json, explanation, reader->store, cells[i]);
        json_end(json, '}');
        reader->cells[i] = cells[i];
    }
    json_end(json, ']');
}

/* false: no memory. */
static bool turn_to(struct reader *reader, const struct timeline *timeline, enum store store) {
    if (store == reader->store) return reader->cells;
    size_t count = timeline->cell_counts[store];
    free(reader->cells);
    reader->store = store;
    reader->cells = malloc(count * sizeof *reader->cells + 1);
    for (size_t i = 0; reader->cells && i < count; i++) reader->cells[i] = (struct cell){TERM_UNKNOWN, 0};
    return reader->cells;
}

/* ---- one step ------------------------------------------------------------------------------------ */

static void put_combines(struct json *json, const struct explanation *explanation, const struct step *step,
                         struct reader *reader) {
    const struct timeline *timeline = &explanation->timeline;
    json_key_begin(json, "combines", '[');
    for (size_t i = 0; i < step->combine_count; i++) {
        const struct combine *combine = &timeline->combines[step->combines + i];
        json_begin(json, '{');
        json_combine(json, timeline, combine);
        put_value(json, explanation, step->store, combine->made);
        json_end(json, '}');
        reader->cells[combine->target] = combine->made;
    }
    json_end(json, ']');
}

static void put_warps(struct json *json, const struct explanation *explanation, const struct step *step) {
    json_key_list(json, "active", step->active, explanation->timeline.warp_count);
    json_key_begin(json, "diverged", '[');
    for (uint32_t warp = 0; warp < explanation->timeline.warp_count; warp++)
        if (step->diverged[warp]) json_unsigned(json, warp);
    json_end(json, ']');
}

static bool put_step(struct json *json, const struct explanation *explanation, size_t index,
                     struct reader *reader) {
    const struct timeline *timeline = &explanation->timeline;
    const struct step *step = &timeline->steps[index];
    uint32_t threads[SIMT_LANES], conflicting = timeline_conflict(timeline, step, threads);
    if (!turn_to(reader, timeline, step->store)) return false;
    json_begin(json, '{');
    json_tally(json, &step->tally);
    json_key_text(json, "store", store_name(step->store));
    json_key_unsigned(json, "line", step->line);
    json_key_unsigned(json, "guard_line", step->guard_line);
    put_warps(json, explanation, step);
    json_key_list(json, "conflict", threads, conflicting);
    if (step->before) put_changes(json, explanation, "before", reader, step->before);
    put_combines(json, explanation, step, reader);
    put_changes(json, explanation, "after", reader, step->after);
    json_accesses(json, explanation, index);
    bool has_memory = json_lines(json, explanation, index);
    json_end(json, '}');
    return has_memory;
}

/* ---- all of them --------------------------------------------------------------------------------- */

static void put_start(struct json *json, const struct explanation *explanation, struct reader *reader) {
    const struct timeline *timeline = &explanation->timeline;
    size_t count = timeline->cell_counts[timeline->start_store];
    json_key_begin(json, "start", '{');
    json_key_text(json, "store", store_name(timeline->start_store));
    json_key_begin(json, "values", '[');
    for (size_t i = 0; i < count; i++)
        json_element(json, &timeline->start[i].bits, explain_cell_type(explanation));
    json_end(json, ']');
    json_key_begin(json, "symbols", '[');
    for (size_t i = 0; i < count; i++) {
        json_symbol(json, explanation, timeline->start[i].term);
        reader->cells[i] = timeline->start[i];
    }
    json_end(json, ']');
    json_end(json, '}');
}

bool json_steps(struct json *json, const struct explanation *explanation) {
    const struct timeline *timeline = &explanation->timeline;
    struct reader reader = {.store = STORES};
    if (!turn_to(&reader, timeline, timeline->start_store)) return false;
    put_start(json, explanation, &reader);
    json_key_begin(json, "steps", '[');
    bool has_memory = true;
    for (size_t i = 0; has_memory && i < timeline->step_count; i++)
        has_memory = put_step(json, explanation, i, &reader);
    json_end(json, ']');
    free(reader.cells);
    return has_memory;
}
