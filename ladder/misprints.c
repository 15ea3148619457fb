/* What the sources that the ladder comes from print wrong: told in the comments of the rungs that it touches;
 * and the kernels that they print, in ladder/wrong/, with how each is launched to show what goes wrong. */
#include "ladder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comment.h"
#include "ladder_parts.h"

bool ladder_misprint(const struct ladder_rung *rung, size_t index, char text[LADDER_MISPRINT_CAPACITY]) {
    return ladder_fact(rung->file, "// Misprint:", index, text, LADDER_MISPRINT_CAPACITY);
}

/* "i32[256]=iota", an array, or "i32:256", a number. */
static bool read_argument(struct ladder_argument *argument) {
    char type[8];
    argument->is_array = strchr(argument->text, '[');
    int count = argument->is_array ? sscanf(argument->text, "%7[a-z0-9][%" SCNu64 "]=%7s", type,
                                            &argument->count, argument->fill)
                                   : sscanf(argument->text, "%7[a-z0-9]:%" SCNu64, type, &argument->number);
    argument->type = count > 1 ? wf_type_parse(type) : WF_TYPE_DEFAULT;
    return count == (argument->is_array ? 3 : 2) && ladder_type_check(argument->type);
}

/* An option of `warpfold inspect` and its value; what is expected is not the launch's.  false: it is no argument. */
static bool read_option(struct ladder_wrong *wrong, const char *name, const char *value) {
    const uint32_t number = (uint32_t)strtoul(value, NULL, 10);
    if (!strcmp(name, "grid")) wrong->grid = number;
    if (!strcmp(name, "block")) wrong->block = number;
    if (!strcmp(name, "shared")) wrong->shared_nbytes = number;
    if (strcmp(name, "arg")) return true;
    if (wrong->argument_count == LADDER_ARGUMENTS_MAX) return false;
    struct ladder_argument *argument = &wrong->arguments[wrong->argument_count++];
    value += *value == '\'';
    snprintf(argument->text, sizeof argument->text, "%.*s", (int)strcspn(value, "'"), value);
    return read_argument(argument);
}

/* "--grid 2 --block 128 --shared 512 --arg 'f32[512]=iota' --arg 'f32[1]=zeros'", of which the first three may be left out. */
static bool read_launch(struct ladder_wrong *wrong, const char *text) {
    char name[16], value[sizeof wrong->arguments[0].text];
    int length;
    for (; sscanf(text, " --%15[a-z] %31s%n", name, value, &length) == 2; text += length)
        if (!read_option(wrong, name, value)) return false;
    return wrong->argument_count >= 2 && wrong->arguments[0].is_array && wrong->arguments[1].is_array;
}

static simt_error read_wrong(const char *name, struct ladder_wrong *wrong, simt_message *message) {
    char path[96], text[128];
    snprintf(path, sizeof path, "wrong/%s.cu", name);
    *wrong = (struct ladder_wrong){.file = ladder_file_find(path), .grid = 1, .block = 32};
    snprintf(wrong->name, sizeof wrong->name, "%s", name);
    snprintf(path, sizeof path, "ptx/wrong/%s.ptx", name);
    wrong->ptx = ladder_file_find(path);
    if (!wrong->file || !wrong->ptx)
        return ladder_fail(message, SIMT_ERROR_STOPPED, "ladder/%s is not built in", path);
    if (ladder_fact(wrong->file, "// Inspect:", 0, text, sizeof text) && read_launch(wrong, text))
        return SIMT_OK;
    return ladder_fail(message, SIMT_ERROR_STOPPED, "ladder/%s: its comment says wrongly how to run it",
                       wrong->file->path);
}

size_t ladder_wrong_count(const struct ladder_rung *rung) {
    char names[256], name[48];
    const char *rest = names;
    size_t count = 0;
    int length;
    if (!ladder_fact(rung->file, "// Misprinted:", 0, names, sizeof names)) return 0;
    for (; sscanf(rest, " %47s%n", name, &length) == 1; rest += length) count++;
    return count;
}

simt_error ladder_wrong_get(const struct ladder_rung *rung, size_t index, struct ladder_wrong *wrong,
                            simt_message *message) {
    char names[256], name[48] = "";
    const char *rest = names;
    int length;
    if (!ladder_fact(rung->file, "// Misprinted:", 0, names, sizeof names)) names[0] = '\0';
    for (; sscanf(rest, " %47s%n", name, &length) == 1 && index--;) rest += length;
    return read_wrong(name, wrong, message);
}
