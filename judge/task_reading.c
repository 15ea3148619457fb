#include "task_reading.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

bool reading_fail(const struct reading *reading, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(reading->message->text, sizeof reading->message->text, "%s:%d: %s", reading->task->name,
             reading->line, text);
    return false;
}

char *word_trim(char *text) {
    while (isspace((unsigned char)*text)) text++;
    for (size_t length = strlen(text); length && isspace((unsigned char)text[length - 1]);)
        text[--length] = '\0';
    return text;
}

char *word_cut_at(char **rest, char separator) {
    char *begin = *rest, *at = begin;
    int depth = 0;
    if (!begin) return NULL;
    for (; *at && (*at != separator || depth); at++)
        depth += (*at == '(' || *at == '[') - (*at == ')' || *at == ']');
    *rest = *at ? at + 1 : NULL;
    *at = '\0';
    return word_trim(begin);
}

char *word_cut(char **rest) {
    char *begin = word_trim(*rest);
    size_t length = strcspn(begin, " \t");
    *rest = begin[length] ? begin + length + 1 : begin + length;
    begin[length] = '\0';
    return begin;
}

const char *word_before(const char *begin, const char *end, int *length) {
    while (end > begin && isspace((unsigned char)end[-1])) end--;
    const char *word = end;
    while (word > begin && (isalnum((unsigned char)word[-1]) || word[-1] == '_')) word--;
    *length = (int)(end - word);
    return word;
}

size_t task_find_name(const struct judge_task *task, const char *name, size_t length) {
    size_t i = 0;
    while (i < task->argument_count &&
           (strncmp(task->arguments[i].name, name, length) || task->arguments[i].name[length]))
        i++;
    return i;
}

size_t task_find_argument(const struct judge_task *task, const char *name) {
    return task_find_name(task, name, strlen(name));
}
