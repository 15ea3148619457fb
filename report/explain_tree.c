/* The tree, drawn: a column for each cell, a line from each source to the target that takes it in. */
#include <string.h>

#include "explain_words.h"

enum { CELLS_MAX = 32, MARGIN = 9, WIDTH_MIN = 3, WIDTH_ROOMY = 4, WIDTH_MAX = 132 };

struct drawing {
    const struct explanation *explanation;
    FILE *stream;
    size_t cell_count;
    int width;             /* of a column */
    bool alive[CELLS_MAX]; /* whose partial results are still to be taken in */
    char line[MARGIN + WIDTH_MAX + 1];
};

static int column_of(const struct drawing *drawing, uint32_t cell) {
    return MARGIN + drawing->width * (int)(cell + 1) - 1;
}

static void clear_line(struct drawing *drawing) {
    memset(drawing->line, ' ', sizeof drawing->line - 1);
    drawing->line[sizeof drawing->line - 1] = '\0';
    for (uint32_t cell = 0; cell < drawing->cell_count; cell++)
        if (drawing->alive[cell]) drawing->line[column_of(drawing, cell)] = '|';
}

static void put_line(struct drawing *drawing) {
    size_t length = strlen(drawing->line);
    while (length && drawing->line[length - 1] == ' ') length--;
    fprintf(drawing->stream, "%.*s\n", (int)length, drawing->line);
}

/* A word whose last letter is in the cell's column. */
static void write_in_column(struct drawing *drawing, uint32_t cell, const char *word) {
    int length = (int)strlen(word), end = column_of(drawing, cell) + 1;
    memcpy(&drawing->line[end - length], word, (size_t)length);
}

static int format_bits(const struct explanation *explanation, uint64_t bits, char text[64]) {
    wf_value value = ladder_value(&bits, explain_cell_type(explanation));
    return (int)wf_value_format(&value, 0, text, 64);
}

/* ---- one step ------------------------------------------------------------------------------------ */

static bool is_drawn(const struct drawing *drawing, const struct combine *combine) {
    return timeline_uses(&drawing->explanation->timeline, combine->made);
}

struct span {
    uint32_t low, high;
};

static struct span span_of(const struct drawing *drawing, const struct combine *combine) {
    const uint32_t *sources = &drawing->explanation->timeline.sources[combine->sources];
    struct span span = {combine->target, combine->target};
    for (uint32_t i = 0; i < combine->source_count; i++) {
        if (sources[i] < span.low) span.low = sources[i];
        if (sources[i] > span.high) span.high = sources[i];
    }
    return span;
}

static void draw_combine(struct drawing *drawing, const struct combine *combine) {
    const uint32_t *sources = &drawing->explanation->timeline.sources[combine->sources];
    struct span span = span_of(drawing, combine);
    int target = column_of(drawing, combine->target), low = column_of(drawing, span.low);
    memset(&drawing->line[low], '-', (size_t)(column_of(drawing, span.high) - low));
    drawing->line[target] = '+';
    for (uint32_t i = 0; i < combine->source_count; i++) drawing->line[column_of(drawing, sources[i])] = '+';
    if (span.high > combine->target)
        drawing->line[target + 1] = '<';
    else
        drawing->line[target - 1] = '>';
}

static void end_sources(struct drawing *drawing, const struct combine *combine) {
    const uint32_t *sources = &drawing->explanation->timeline.sources[combine->sources];
    for (uint32_t i = 0; i < combine->source_count; i++) drawing->alive[sources[i]] = false;
}

/* Draws as many combines in one line as do not cross; returns the first of the next line. */
static size_t draw_line(struct drawing *drawing, const struct step *step, size_t first) {
    const struct combine *combines = &drawing->explanation->timeline.combines[step->combines];
    size_t i = first;
    uint32_t end = 0;
    for (; i < step->combine_count; i++) {
        if (!is_drawn(drawing, &combines[i])) continue;
        struct span span = span_of(drawing, &combines[i]);
        if (end && span.low < end) break;
        draw_combine(drawing, &combines[i]);
        end = span.high + 1;
    }
    put_line(drawing);
    for (size_t done = first; done < i; done++)
        if (is_drawn(drawing, &combines[done])) end_sources(drawing, &combines[done]);
    return i;
}

static void draw_values(struct drawing *drawing, const struct step *step) {
    const struct combine *combines = &drawing->explanation->timeline.combines[step->combines];
    char text[64];
    clear_line(drawing);
    for (size_t i = 0; i < step->combine_count; i++) {
        if (!is_drawn(drawing, &combines[i])) continue;
        format_bits(drawing->explanation, combines[i].made.bits, text);
        write_in_column(drawing, combines[i].target, text);
    }
    put_line(drawing);
}

static void draw_step(struct drawing *drawing, const struct step *step, size_t number) {
    size_t next = 0;
    for (bool is_first = true; next < step->combine_count; is_first = false) {
        char title[MARGIN + 16];
        clear_line(drawing);
        int length = snprintf(title, sizeof title, "step %zu", number);
        if (is_first) memcpy(drawing->line, title, (size_t)(length < MARGIN ? length : MARGIN));
        next = draw_line(drawing, step, next);
    }
    draw_values(drawing, step);
}

/* ---- the whole ----------------------------------------------------------------------------------- */

static int column_width(const struct explanation *explanation) {
    const struct timeline *timeline = &explanation->timeline;
    char text[64];
    int width = timeline->cell_counts[timeline->start_store] < CELLS_MAX ? WIDTH_ROOMY : WIDTH_MIN;
    for (size_t i = 0; i < timeline->cell_counts[timeline->start_store]; i++) {
        int length = format_bits(explanation, timeline->start[i].bits, text) + 1;
        if (length > width) width = length;
    }
    for (size_t i = 0; i < timeline->combine_count; i++) {
        int length = format_bits(explanation, timeline->combines[i].made.bits, text) + 1;
        if (length > width) width = length;
    }
    return width;
}

/* Why the tree is not drawn, with what to do; NULL: it is.  All steps must be in one store, so that a column means the same
 * from the first to the last. */
static const char *obstacle_of(const struct drawing *drawing) {
    const struct timeline *timeline = &drawing->explanation->timeline;
    for (size_t i = 0; i < timeline->step_count; i++)
        if (timeline->steps[i].store != timeline->start_store) return "in several memories, so not drawn here: --html FILE draws it";
    if (timeline->result.term == TERM_UNKNOWN) return "not drawn: of what elements the result is made is not known";
    if (drawing->cell_count > CELLS_MAX || (int)drawing->cell_count * drawing->width > WIDTH_MAX)
        return "too wide to draw here: try a smaller -n, or --html FILE";
    return NULL;
}

static void draw_start(struct drawing *drawing) {
    const struct explanation *explanation = drawing->explanation;
    char text[64];
    clear_line(drawing);
    for (uint32_t cell = 0; cell < drawing->cell_count; cell++) {
        const struct cell *start = &explanation->timeline.start[cell];
        bool is_used = timeline_uses(&explanation->timeline, *start);
        drawing->alive[cell] = is_used;
        format_bits(explanation, start->bits, text);
        if (is_used) write_in_column(drawing, cell, text);
    }
    put_line(drawing);
}

void put_tree(FILE *stream, const struct explanation *explanation) {
    const struct timeline *timeline = &explanation->timeline;
    struct drawing drawing = {.explanation = explanation,
                              .stream = stream,
                              .cell_count = timeline->cell_counts[timeline->start_store],
                              .width = column_width(explanation)};
    const char *obstacle = obstacle_of(&drawing);
    fputs("\nthe tree\n", stream);
    if (obstacle) {
        fprintf(stream, "  %s\n", obstacle);
        return;
    }
    draw_start(&drawing);
    for (size_t i = 0; i < timeline->step_count; i++) draw_step(&drawing, &timeline->steps[i], i + 1);
}
