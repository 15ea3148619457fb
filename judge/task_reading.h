/* Where the reading of a task is, and the words of a line. */
#ifndef JUDGE_TASK_READING_H
#define JUDGE_TASK_READING_H

#include "task.h"

struct reading {
    struct judge_task *task;
    simt_message *message;
    int line;
    const char *expect;
    int expect_line;
};

/* Says what is wrong, with the task and the line.  Always false. */
bool reading_fail(const struct reading *reading, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Without the blanks around it. */
char *word_trim(char *text);
/* Cuts the text at the separator, outside parentheses and brackets; returns what stands before it. */
char *word_cut_at(char **rest, char separator);
char *word_cut(char **rest);
/* The word that ends there, blanks behind it apart. */
const char *word_before(const char *begin, const char *end, int *length);

/* The number of the argument of that name; the number of arguments: there is none. */
size_t task_find_name(const struct judge_task *task, const char *name, size_t length);
size_t task_find_argument(const struct judge_task *task, const char *name);

/* task_check.c: whether what was read fits together, at every size.  false: the message says what does not. */
bool task_check(struct reading *reading);

#endif
