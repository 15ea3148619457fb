/* The lines of the program's own code from which calls were made, by binutils' addr2line: where that is not installed, or
 * the program was built without -g, places stay addresses. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pipe2 */
#endif
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorded.h"
#include "report/inspect_source.h"

extern char **environ;

enum { FRAMES = RECORD_FRAMES, OFFSET_NBYTES = 24 };

/* The calls that were under way in one file of code, innermost first. */
struct stack {
    char object[RECORD_NAME], offsets[FRAMES][OFFSET_NBYTES];
    size_t count;
};

/* "prog+0x12f0,0x1371"; false: it is no place in code. */
static bool read_stack(const char recorded[RECORD_NAME], struct stack *stack) {
    record_get_text(stack->object, recorded);
    char *at = strrchr(stack->object, '+'), *rest = NULL;
    stack->count = 0;
    if (!at || strncmp(at, "+0x", 3)) return false;
    *at = '\0';
    for (char *word = strtok_r(at + 1, ",", &rest); word && stack->count < FRAMES; word = strtok_r(NULL, ",", &rest))
        snprintf(stack->offsets[stack->count++], OFFSET_NBYTES, "%s", word);
    return stack->count > 0;
}

/* The file of that code: a program that exists in memory alone is this process's.  false: it is neither the program nor in
 * the working directory, as the large libraries of others, which addr2line takes long to read. */
static bool find_file(const struct program *program, const struct names *names, const char object[RECORD_NAME], char file[RECORD_NAME]) {
    const bool is_program = program->arguments && !strcmp(object, program->arguments[0]);
    char shown[2 * RECORD_NAME];
    names_show(names, object, shown);
    if (is_program && program->is_compiled) snprintf(file, RECORD_NAME, "/proc/%ld/fd/%d", (long)getpid(), program->file);
    else snprintf(file, RECORD_NAME, "%s", is_program ? program->path : object);
    return is_program || shown[0] != '/';
}

/* Its output, to be read; NULL: it cannot be started. */
static FILE *start(char file[RECORD_NAME], struct stack *stack, pid_t *child) {
    char *arguments[5 + FRAMES + 1] = {"addr2line", "-f", "-e", file};
    posix_spawn_file_actions_t actions;
    int ends[2];
    for (size_t i = 0; i < stack->count; i++) arguments[4 + i] = stack->offsets[i];
    if (pipe2(ends, O_CLOEXEC)) return NULL;
    bool is_started = false;
    if (!posix_spawn_file_actions_init(&actions)) {
        is_started = !posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) &&
                     !posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO) &&
                     !posix_spawnp(child, arguments[0], &actions, NULL, arguments, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(ends[1]);
    FILE *stream = is_started ? fdopen(ends[0], "r") : NULL;
    if (!stream) close(ends[0]);
    if (!stream && is_started) waitpid(*child, NULL, 0);
    return stream;
}

/* Whether the user has the file, as the compiler's headers and what nvcc writes are not. */
static bool is_shown(const struct program *program, const struct names *names, const char file[RECORD_NAME]) {
    char shown[2 * RECORD_NAME];
    struct sources sources = {0};
    const struct places places = {program->path, "."};
    names_show(names, file, shown);
    const bool is_known = sources_add(&sources, shown, &places) && sources.count && sources.items[0].text;
    sources_clear(&sources);
    return is_known;
}

/* The innermost call in a file of the user's, but for a kernel's own two functions on the host, which a launch calls. */
static bool choose(FILE *stream, const struct program *program, const struct names *names, struct record_place *place) {
    char function[RECORD_NAME], line[RECORD_NAME];
    bool is_of_launch = false, is_found = false;
    while (fgets(function, sizeof function, stream) && fgets(line, sizeof line, stream)) {
        const bool is_stub = strstr(function, "__device_stub__") != NULL;
        char *colon = strrchr(line, ':');
        const long number = colon ? strtol(colon + 1, NULL, 10) : 0;
        if (colon) *colon = '\0';
        if (!is_found && !is_stub && !is_of_launch && number > 0 && is_shown(program, names, line)) {
            snprintf(place->file, sizeof place->file, "%s", line);
            place->line = (uint32_t)number;
            is_found = true;
        }
        is_of_launch = is_stub;
    }
    return is_found;
}

static void find_line(const struct program *program, const struct names *names, struct record_place *place) {
    char file[RECORD_NAME];
    struct stack stack;
    pid_t child;
    if (place->line || !read_stack(place->file, &stack)) return;
    FILE *stream = find_file(program, names, stack.object, file) ? start(file, &stack, &child) : NULL;
    if (stream && choose(stream, program, names, place)) place->thread[0] = RECORD_ALL_THREADS;
    if (stream) {
        fclose(stream);
        waitpid(child, NULL, 0);
    }
    if (!place->line) place->file[strcspn(place->file, ",")] = '\0'; /* the innermost alone */
}

static void find_line_of_advice(const struct program *program, const struct names *names, struct record_advice *advice) {
    struct record_place place = {.line = advice->line};
    memcpy(place.file, advice->file, sizeof place.file);
    find_line(program, names, &place);
    memcpy(advice->file, place.file, sizeof place.file);
    advice->line = place.line;
}

void program_find_host_lines(struct program *program) {
    struct record *record = program->record;
    struct names names = names_of(program);
    for (uint32_t i = 0; i < least(record->failure_count, RECORD_FAILURES); i++) find_line(program, &names, &record->failures[i].place);
    for (uint32_t i = 0; i < record_finding_count(record); i++) {
        find_line(program, &names, &record->findings[i].place);
        if (record->findings[i].put) find_line(program, &names, &record->findings[i].other);
    }
    for (uint32_t i = 0; i < record_advice_count(record); i++) find_line_of_advice(program, &names, &record->advice[i]);
    find_line(program, &names, &record->fault.place);
    names_clear(&names);
}
