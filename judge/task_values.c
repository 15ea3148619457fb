/* What the texts of a task are at a size. */
#include "task.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

bool scope_find(const struct scope *scope, const char *name, size_t length, struct number *number) {
    const struct {
        const char *name;
        long double value;
    } known[] = {
        {"n", (long double)scope->size->n},       {"rows", (long double)scope->size->rows},
        {"cols", (long double)scope->size->cols}, {"grid", (long double)scope->grid},
        {"block", (long double)scope->block},     {"zeros", 0},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strlen(known[i].name) != length || memcmp(known[i].name, name, length)) continue;
        *number = (struct number){known[i].value, fabsl(known[i].value)};
        return true;
    }
    return false;
}

static bool find_in_scope(const void *scope, const char *name, size_t length, const long double *index,
                          struct number *number) {
    return !index && scope_find(scope, name, length, number);
}

int task_line(const struct judge_task *task, const char *part) {
    int line = 1;
    for (ptrdiff_t i = 0; i < part - task->text; i++) line += task->uncut[i] == '\n';
    return line;
}

bool task_number(const struct judge_task *task, const char *text, const struct scope *scope,
                 long double *number, simt_message *message) {
    const struct names names = {find_in_scope, scope};
    struct evaluation evaluation;
    *number = 0;
    if (evaluate(text, &names, &evaluation)) {
        *number = evaluation.number.value;
        return true;
    }
    snprintf(message->text, sizeof message->text,
             "%s:%d: '%s': %s; there are n, rows, cols, block and grid, + - * / %%, ceil, floor, min, max",
             task->name, task_line(task, text), text, evaluation.wrong);
    return false;
}

bool task_whole(const struct judge_task *task, const char *text, const struct scope *scope, int64_t *number,
                simt_message *message) {
    long double value;
    *number = 0;
    if (!task_number(task, text, scope, &value, message)) return false;
    if (!(value >= 0 && value <= INT32_MAX)) {
        snprintf(message->text, sizeof message->text, "%s:%d: '%s' is not from 0 to %ld where n = %s",
                 task->name, task_line(task, text), text, (long)INT32_MAX, scope->size->text);
        return false;
    }
    *number = (int64_t)value;
    return true;
}

bool task_count_fits(const struct judge_task *task, const struct argument *argument, long double count, const struct scope *scope,
                     simt_message *message) {
    if (argument->role == ROLE_SCALAR || count <= 1 << 26) return true;
    snprintf(message->text, sizeof message->text, "%s:%d: '%s' has %.0Lf elements where n = %s, and may have 2^26", task->name,
             task_line(task, argument->name), argument->name, count, scope->size->text);
    return false;
}

/* ---- launches ------------------------------------------------------------------------------------ */

const char *const *stage_block(const struct stage *stage, size_t number) {
    return number && number <= stage->other_block_count ? stage->other_blocks[number - 1] : stage->block;
}

static bool read_extents(const struct judge_task *task, const char *const texts[3], const struct scope *scope,
                         uint32_t extents[3], uint64_t *product, simt_message *message) {
    uint64_t all = 1;
    for (size_t d = 0; d < 3; d++) {
        int64_t extent = 1;
        if (texts[d] && !task_whole(task, texts[d], scope, &extent, message)) return false;
        extents[d] = extent ? (uint32_t)extent : 1;
        all *= extents[d];
    }
    *product = all;
    return true;
}

bool task_extents(const struct judge_task *task, const struct stage *stage, size_t block, struct scope *scope,
                  struct extents *extents, simt_message *message) {
    return read_extents(task, stage_block(stage, block), scope, extents->block, &scope->block, message) &&
           read_extents(task, stage->grid, scope, extents->grid, &scope->grid, message);
}

/* "with inf nan" or "with 200", or nothing. */
static bool read_specials(const char *text, struct generator *generator) {
    char words[SPECIALS_MAX][24], end, *rest;
    const int count = sscanf(text, " with %23s %23s %c", words[0], words[1], &end);
    generator->special_count = 0;
    if (count > SPECIALS_MAX || (count < 1 && text[strspn(text, " ")])) return false;
    for (int i = 0; i < count; i++) {
        generator->specials[generator->special_count++] = strtod(words[i], &rest);
        if (*rest) return false;
    }
    return true;
}

bool generator_read(const char *text, struct generator *generator) {
    char word[16];
    int length = 0;
    if (sscanf(text, "%15[a-z] (%lf ,%lf )%n", word, &generator->low, &generator->high, &length) != 3 || !length)
        return false;
    generator->is_uniform = !strcmp(word, "uniform");
    const bool is_range = generator->low < generator->high && isfinite(generator->high - generator->low);
    return (generator->is_uniform || !strcmp(word, "integers")) && (is_range || generator->low == generator->high) &&
           read_specials(text + length, generator);
}

bool generator_fits(wf_type type, const struct generator *generator) {
    const bool is_signed = type >= WF_I8 && type <= WF_I64;
    const double end = ldexp(1, (int)(8 * wf_type_nbytes(type)) - is_signed);
    if (type == WF_F32 || type == WF_F64) return true;
    return generator->low >= (is_signed ? -end : 0) && generator->high < end;
}
