/* The rungs, as their files' names and first comments tell of them. */
#include "ladder.h"
#include "comment.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the facts ----------------------------------------------------------------------------------- */

static uint32_t parse_small(const char *text) {
    return (uint32_t)strtoul(text, NULL, 10);
}

static void read_tile(struct ladder_rung *rung, const char *text) {
    rung->tile = parse_small(text);
}

static void read_shared(struct ladder_rung *rung, const char *text) {
    bool per_warp = !strncmp(text, "warp", 4);
    rung->shared_per_warp = per_warp;
    rung->shared_per_thread = per_warp ? 0 : parse_small(text);
}

static void read_finish(struct ladder_rung *rung, const char *text) {
    ladder_finish_parse(text, &rung->finish);
}

static void read_warp(struct ladder_rung *rung, const char *text) {
    rung->warp_size = parse_small(text);
}

static void read_target(struct ladder_rung *rung, const char *text) {
    snprintf(rung->target, sizeof rung->target, "%s", text);
}

static void read_coarsen(struct ladder_rung *rung, const char *text) {
    rung->coarsen = parse_small(text);
}

static void read_cluster(struct ladder_rung *rung, const char *text) {
    rung->cluster = parse_small(text);
}

static void read_ops(struct ladder_rung *rung, const char *text) {
    char name[16];
    int length;
    rung->ops = 0;
    for (; sscanf(text, " %15s%n", name, &length) == 1; text += length)
        rung->ops |= UINT32_C(1) << wf_op_parse(name);
}

static void read_types(struct ladder_rung *rung, const char *text) {
    char name[16];
    int length;
    rung->types = 0;
    for (; sscanf(text, " %15s%n", name, &length) == 1; text += length)
        rung->types |= UINT32_C(1) << wf_type_parse(name);
}

static void read_in_place(struct ladder_rung *rung, const char *text) {
    rung->in_place = !strcmp(text, "yes");
}

/* The number of the word in a NULL-terminated list; 0, which means "not stated", if it is none of them.
 */
static int number_of_word(const char *const *words, const char *text) {
    for (int i = 1; words[i]; i++)
        if (!strcmp(text, words[i])) return i;
    return 0;
}

static void read_tree(struct ladder_rung *rung, const char *text) {
    static const char *const names[] = {
        [LADDER_PATTERN_UNKNOWN] = "",
        [LADDER_PATTERN_NONE] = "none",
        [LADDER_PATTERN_REGISTERS] = "registers",
        [LADDER_PATTERN_PAIRS] = "pairs",
        [LADDER_PATTERN_LEADING] = "leading",
        [LADDER_PATTERN_MULTIPLES] = "multiples",
        [LADDER_PATTERN_STRIDED] = "strided",
        [LADDER_PATTERN_SEQUENTIAL] = "sequential",
        NULL,
    };
    rung->pattern = (enum ladder_pattern)number_of_word(names, text);
}

static void read_barriers(struct ladder_rung *rung, const char *text) {
    static const char *const names[] = {
        [LADDER_BARRIERS_UNKNOWN] = "",
        [LADDER_BARRIERS_NONE] = "none",
        [LADDER_BARRIERS_ONE] = "one",
        [LADDER_BARRIERS_EACH_STEP] = "each step",
        [LADDER_BARRIERS_FIRST_AND_EACH_STEP] = "first and each step",
        [LADDER_BARRIERS_ABOVE_ONE_WARP] = "first and each step above one warp",
        NULL,
    };
    rung->barriers = (enum ladder_barriers)number_of_word(names, text);
}

static void read_cells(struct ladder_rung *rung, const char *text) {
    rung->cells = wf_type_parse(text);
}

static void read_picture_option(struct ladder_picture *picture, const char *name, const char *text) {
    const struct {
        const char *name;
        uint32_t *field;
    } numbers[] = {{"-n", &picture->n}, {"--block", &picture->block}, {"--warp", &picture->warp}, {"--banks", &picture->banks}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (!strcmp(name, numbers[i].name)) *numbers[i].field = parse_small(text);
    if (!strcmp(name, "--type")) picture->type = wf_type_parse(text);
    if (!strcmp(name, "--values")) snprintf(picture->values, sizeof picture->values, "%s", text);
}

/* "-n 16 --warp 4 --banks 4": options of `warpfold explain`. */
static void read_picture(struct ladder_rung *rung, const char *text) {
    char name[16], value[sizeof rung->picture.values];
    int length;
    for (; sscanf(text, " %15s %79s%n", name, value, &length) == 2; text += length)
        read_picture_option(&rung->picture, name, value);
}

static void read_textbook(struct ladder_rung *rung, const char *text) {
    snprintf(rung->textbook, sizeof rung->textbook, "%.127s", text);
}

/* "engine": the library's own reduction, which takes its GPU. */
static void read_runs(struct ladder_rung *rung, const char *text) {
    rung->is_engine = !strcmp(text, "engine");
}

static const struct fact {
    const char *prefix;
    void (*read)(struct ladder_rung *rung, const char *text);
} facts[] = {
    {"// Tile:", read_tile},         {"// Shared:", read_shared},     {"// Finish:", read_finish},
    {"// Warp:", read_warp},         {"// Target:", read_target},     {"// Ops:", read_ops},
    {"// Coarsen:", read_coarsen},   {"// In place:", read_in_place}, {"// Types:", read_types},
    {"// Cluster:", read_cluster},   {"// Runs:", read_runs},         {"// Tree:", read_tree},
    {"// Barriers:", read_barriers}, {"// Explain:", read_picture},   {"// Textbook:", read_textbook},
    {"// Cells:", read_cells},
};

static void read_fact(struct ladder_rung *rung, const struct ladder_line *line) {
    char text[128];
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        if (ladder_text_after(line, facts[i].prefix, text, sizeof text)) facts[i].read(rung, text);
}

static void read_text(struct ladder_rung *rung) {
    const char *rest = rung->file->text;
    struct ladder_line line;
    if (ladder_next_line(&rest, &line)) ladder_text_after(&line, "//", rung->title, sizeof rung->title);
    while (ladder_next_line(&rest, &line)) read_fact(rung, &line);
}

/* ---- files --------------------------------------------------------------------------------------- */

/* For a grid that strides, so that its threads have several elements to add. */
enum { STRIDES = 8 };

static const char source_ending[] = ".cu";

/* "NN_name.cu": NN; -1 for every other path. */
static int rung_number(const char *path) {
    if (!isdigit((unsigned char)path[0]) || !isdigit((unsigned char)path[1]) || path[2] != '_') return -1;
    return (path[0] - '0') * 10 + path[1] - '0';
}

static bool is_source(const char *path) {
    size_t length = strlen(path), ending = strlen(source_ending);
    return length > ending && !strcmp(path + length - ending, source_ending);
}

static bool is_rung(const struct ladder_file *file) {
    return is_source(file->path) && rung_number(file->path) >= 0;
}

static void read_rung(const struct ladder_file *file, struct ladder_rung *rung) {
    *rung = (struct ladder_rung){
        .file = file, .number = rung_number(file->path), .tile = 1, .cluster = 1, .target = "sm_75"};
    snprintf(rung->id, sizeof rung->id, "%.*s", (int)(strlen(file->path) - strlen(source_ending)),
             file->path);
    rung->finish = LADDER_FINISH_RELAUNCH;
    read_ops(rung, "sum prod min max argmax");
    read_types(rung, "i32 u32 i64 u64 f32 f64");
    read_text(rung);
    rung->strides = !strstr(file->text, "portion_begin(");
    if (rung->strides && !rung->coarsen && rung->finish != LADDER_FINISH_ATOMIC) rung->coarsen = STRIDES;
}

size_t ladder_rung_count(void) {
    size_t count = 0;
    for (size_t i = 0; i < ladder_file_count; i++) count += is_rung(&ladder_files[i]);
    return count;
}

bool ladder_rung_get(size_t index, struct ladder_rung *rung) {
    for (size_t i = 0; i < ladder_file_count; i++) {
        if (!is_rung(&ladder_files[i]) || index--) continue;
        read_rung(&ladder_files[i], rung);
        return true;
    }
    return false;
}

bool ladder_block_fits(const struct ladder_rung *rung, uint32_t block) {
    bool is_power_of_two = block && !(block & (block - 1));
    return is_power_of_two && block <= LADDER_BLOCK_MAX && block >= rung->warp_size;
}

static bool is_number_of(const char *text, int number) {
    char *end;
    return isdigit((unsigned char)text[0]) && strtol(text, &end, 10) == number && !*end;
}

static bool is_named(const struct ladder_rung *rung, const char *name) {
    return !strcmp(rung->id, name) || !strcmp(rung->id + 3, name) || is_number_of(name, rung->number);
}

bool ladder_rung_find(const char *name, struct ladder_rung *rung) {
    for (size_t i = 0; i < ladder_file_count; i++) {
        if (!is_rung(&ladder_files[i])) continue;
        read_rung(&ladder_files[i], rung);
        if (is_named(rung, name)) return true;
    }
    return false;
}

const struct ladder_file *ladder_file_find(const char *path) {
    size_t length = strlen(path);
    for (size_t i = 0; i < ladder_file_count; i++) {
        size_t ending = strlen(ladder_files[i].path);
        if (length < ending || strcmp(path + length - ending, ladder_files[i].path)) continue;
        if (length == ending || path[length - ending - 1] == '/') return &ladder_files[i];
    }
    return NULL;
}

/* ---- the tree in the source ---------------------------------------------------------------------- */

static bool ends_in(const struct ladder_line *line, const char *suffix) {
    size_t length = strlen(suffix);
    return line->length >= length && !memcmp(line->text + line->length - length, suffix, length);
}

unsigned char *ladder_marks(const struct ladder_file *file, uint32_t *line_count) {
    uint32_t lines = 1;
    for (const char *at = file->text; (at = strchr(at, '\n')); at++) lines++;
    unsigned char *marks = calloc(lines + 1, 1);
    if (!marks) return NULL;
    *line_count = lines;
    const char *rest = file->text;
    struct ladder_line line;
    bool in_tree = false;
    for (uint32_t number = 1; ladder_next_line(&rest, &line); number++) {
        bool ends = ends_in(&line, "// tree ends");
        in_tree = in_tree || ends_in(&line, "// tree");
        marks[number] = (unsigned char)((in_tree ? LADDER_TREE : 0) |
                                        (ends_in(&line, "// combine") ? LADDER_COMBINE : 0));
        if (ends) in_tree = false;
    }
    return marks;
}

/* ---- finishes ------------------------------------------------------------------------------------ */

static const char *const finish_names[] = {
    [LADDER_FINISH_DEFAULT] = NULL,
    [LADDER_FINISH_HOST] = "host",
    [LADDER_FINISH_RELAUNCH] = "relaunch",
    [LADDER_FINISH_ATOMIC] = "atomic",
    [LADDER_FINISH_LAST_BLOCK] = "last-block",
};

const char *ladder_finish_name(enum ladder_finish finish) {
    return finish_names[finish];
}

bool ladder_finish_parse(const char *name, enum ladder_finish *finish) {
    *finish = LADDER_FINISH_DEFAULT;
    if (!name) return true;
    for (size_t i = LADDER_FINISH_HOST; i <= LADDER_FINISH_LAST_BLOCK; i++)
        if (!strcmp(name, finish_names[i])) *finish = (enum ladder_finish)i;
    return *finish != LADDER_FINISH_DEFAULT;
}
