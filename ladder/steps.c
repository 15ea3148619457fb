/* Counts the steps of a rung's tree: how many combines, each parted from the one before by a barrier or a
 * shuffle, a warp goes through one after the other.  The tree and its combines are marked in the source. */
#include "ladder.h"
#include "simt_observer.h"

#include <stdlib.h>

enum { WARPS_MAX = 1024 }; /* of a block: its threads, in warps of one lane */

struct launch {
    unsigned char *marks; /* of each instruction, by its pc */
    uint64_t steps;
};

struct block {
    const unsigned char *marks; /* the launch's */
    struct walk {
        bool combined; /* since the last barrier or shuffle */
        uint32_t steps;
    } walks[WARPS_MAX];
};

/* ---- which instructions are marked --------------------------------------------------------------- */

struct source {
    const struct ladder_file *file;
    unsigned char *marks; /* of each line */
    uint32_t line_count;
};

static bool open_source(struct source *source, const struct ladder_file *file) {
    if (source->file == file) return true;
    free(source->marks);
    source->file = file;
    source->marks = ladder_marks(file, &source->line_count);
    return source->marks;
}

static bool mark_line(struct source *source, const char *path, uint32_t line, unsigned char *mark) {
    const struct ladder_file *file = path ? ladder_file_find(path) : NULL;
    if (!file) return true;
    if (!open_source(source, file)) return false;
    if (line <= source->line_count) *mark |= source->marks[line];
    return true;
}

/* An instruction belongs to its own line and to the one in the kernel into which it was inlined. */
static bool mark_place(struct source *source, const simt_place *place, unsigned char *mark) {
    return mark_line(source, place->file, place->line, mark) &&
           mark_line(source, place->outer_file, place->outer_line, mark);
}

static bool begin_launch(void *state, const simt_launch_view *view) {
    struct launch *launch = state;
    struct source source = {NULL, NULL, 0};
    launch->marks = calloc(view->place_count ? view->place_count : 1, 1);
    bool is_marked = launch->marks;
    for (uint32_t pc = 0; is_marked && pc < view->place_count; pc++)
        is_marked = mark_place(&source, &view->places[pc], &launch->marks[pc]);
    free(source.marks);
    if (!is_marked) free(launch->marks); /* what has not begun is not ended */
    return is_marked;
}

/* ---- steps --------------------------------------------------------------------------------------- */

static bool begin_block(void *launch, void *block, const simt_block_view *view) {
    (void)view;
    ((struct block *)block)->marks = ((const struct launch *)launch)->marks;
    return true;
}

static void see_instruction(void *state, const simt_event *event) {
    struct block *block = state;
    if (!event->mask || !(block->marks[event->pc] & LADDER_COMBINE)) return;
    struct walk *walk = &block->walks[event->warp];
    walk->steps += !walk->combined;
    walk->combined = true;
}

static void part(struct block *block, const simt_event *event) {
    if (block->marks[event->pc] & LADDER_TREE) block->walks[event->warp].combined = false;
}

static void see_warp_barrier(void *state, const simt_event *event, uint32_t lanes) {
    (void)lanes;
    part(state, event);
}

static void see_shuffle(void *state, const simt_event *event, const uint8_t *sources) {
    (void)sources;
    part(state, event);
}

static void see_barrier(void *state, const simt_block_view *view, uint32_t barrier, uint32_t pc,
                        const uint32_t *lanes) {
    (void)barrier, (void)lanes;
    struct block *block = state;
    if (!(block->marks[pc] & LADDER_TREE)) return;
    for (uint32_t warp = 0; warp < view->launch->warps_per_block; warp++) block->walks[warp].combined = false;
}

static void end_block(void *state, void *block_state, const simt_block_view *view) {
    (void)view;
    struct launch *launch = state;
    const struct block *block = block_state;
    for (uint32_t warp = 0; warp < WARPS_MAX; warp++)
        if (block->walks[warp].steps > launch->steps) launch->steps = block->walks[warp].steps;
}

static void end_launch(void *state, simt_report *report) {
    struct launch *launch = state;
    simt_report_add(report, "steps", (double)launch->steps);
    free(launch->marks);
}

const struct simt_observer ladder_observe_steps = {
    .name = "steps",
    .launch_nbytes = sizeof(struct launch),
    .block_nbytes = sizeof(struct block),
    .launch_begin = begin_launch,
    .launch_end = end_launch,
    .block_begin = begin_block,
    .block_end = end_block,
    .instruction = see_instruction,
    .shuffle = see_shuffle,
    .warp_barrier = see_warp_barrier,
    .barrier = see_barrier,
};
