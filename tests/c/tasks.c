/* Damaged tasks of the judge: each is read, or refused with its name, and nothing is lost or read beyond. */
#include "judge/judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 600, TEXT_CAPACITY = 8192, CHANGES_MAX = 4 };

static uint64_t state = 1;

static uint64_t draw(uint64_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

static const char *const pieces[] = {"\n",
                                     ":",
                                     "(",
                                     ")",
                                     "[",
                                     "]",
                                     ",",
                                     "=",
                                     ";",
                                     "|",
                                     " ",
                                     "0",
                                     "-1",
                                     "9999999999",
                                     "1e400",
                                     "n / 0",
                                     "\nGate: a <= ",
                                     "\nSizes: 5x",
                                     "\nArgument: x input i8[n] integers(0, 1)",
                                     "f16",
                                     "inf",
                                     "((((((((",
                                     "out[i]",
                                     " by row",
                                     "\xff",
                                     "%",
                                     "\nTitle: a",
                                     "#"};

/* Cuts, repeats, or puts in a piece. */
static void change(char *text) {
    size_t length = strlen(text), at = draw(length + 1), count = draw(12);
    if (count > length - at) count = length - at;
    const char *piece = pieces[draw(sizeof pieces / sizeof *pieces)];
    size_t added = draw(2) ? strlen(piece) : 0;
    if (length + added + 1 > TEXT_CAPACITY) return;
    if (draw(2)) {
        memmove(text + at, text + at + count, length - at - count + 1);
        length -= count;
    }
    memmove(text + at + added, text + at, length - at + 1);
    memcpy(text + at, piece, added);
}

static void read_damaged(const struct judge_file *file, size_t *read) {
    char text[TEXT_CAPACITY];
    struct judge_task *task;
    simt_message message = {""};
    snprintf(text, sizeof text, "%s", file->text);
    for (size_t i = 0; i <= draw(CHANGES_MAX); i++) change(text);
    simt_error error = judge_task_read(text, "damaged.task", &task, &message);
    bool is_told = !strncmp(message.text, "damaged.task:", strlen("damaged.task:"));
    if (!error == !task || (error && (error != SIMT_ERROR_SYNTAX || !is_told)) ||
        (task && !judge_task_title(task)[0])) {
        fprintf(stderr, "%s, damaged: error %d, '%s'\n%s", file->path, error, message.text, text);
        exit(1);
    }
    *read += !error;
    judge_task_destroy(task);
}

int main(void) {
    size_t read = 0, refused;
    for (size_t i = 0; i < judge_file_count; i++)
        for (int round = 0; round < ROUNDS; round++) read_damaged(&judge_files[i], &read);
    refused = judge_file_count * ROUNDS - read;
    if (read > 200 && refused > 200) return 0;
    fprintf(stderr, "%zu were read and %zu refused\n", read, refused);
    return 1;
}
