#include "sizes.h"
#include "conditions.h"
#include "random.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONSTANTS_MAX = 32, CANDIDATES_MAX = 1 << 14, PARTS_MAX = 32, BY_CHANCE = 8, BY_CHANCE_BEYOND = 2, MULTIPLES = 3, TRIES = 2 * MORE_SIZES_MAX };

/* The rows or the columns of the task's sizes. */
struct range {
    int64_t least, most, step; /* all are multiples of the step */
};

struct choice {
    const struct judge_task *task;
    struct more_sizes *more;
    const char *ptx, *const *kernels; /* of each stage */
    struct range rows, cols;
    int64_t elements_left, elements_most; /* for all sizes together; of the task's largest */
    uint64_t state;                       /* of the generator */
};

/* ---- ranges ---- */

static int64_t greatest_divisor(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void widen(struct range *range, int64_t number) {
    if (number < range->least) range->least = number;
    if (number > range->most) range->most = number;
    range->step = greatest_divisor(range->step, number);
}

static bool contains(const struct range *range, int64_t number) {
    return number >= range->least && number <= range->most && range->step && number % range->step == 0;
}

static bool is_matrix(const struct choice *choice) {
    return choice->rows.most > 1;
}

/* ---- one more ---- */

static bool is_known(const struct choice *choice, int64_t rows, int64_t cols) {
    for (size_t i = 0; i < choice->task->size_count; i++)
        if (choice->task->sizes[i].rows == rows && choice->task->sizes[i].cols == cols) return true;
    for (size_t i = 0; i < choice->more->count; i++)
        if (choice->more->items[i].rows == rows && choice->more->items[i].cols == cols) return true;
    return false;
}

static void add(struct choice *choice, int64_t rows, int64_t cols) {
    struct more_sizes *more = choice->more;
    if (more->count == MORE_SIZES_MAX || !contains(&choice->rows, rows) || !contains(&choice->cols, cols)) return;
    int64_t n = rows * cols;
    if (n > choice->elements_most || n > choice->elements_left || is_known(choice, rows, cols)) return;
    choice->elements_left -= n;
    char *text = more->texts[more->count];
    if (is_matrix(choice))
        snprintf(text, JUDGE_SIZE_CAPACITY, "%" PRId64 "x%" PRId64, rows, cols);
    else
        snprintf(text, JUDGE_SIZE_CAPACITY, "%" PRId64, cols);
    more->items[more->count++] = (struct size){text, n, rows, cols};
}

static uint64_t next_random(struct choice *choice) {
    const uint64_t bits = random_bits(choice->state, 0);
    choice->state += RANDOM_STEP;
    return bits;
}

/* A random number of the range whose product with `others` is at most elements_most. */
static int64_t by_chance(struct choice *choice, const struct range *range, int64_t others) {
    int64_t most = others > 0 && choice->elements_most / others < range->most ? choice->elements_most / others : range->most;
    if (most <= range->least || !range->step) return range->least;
    uint64_t places = (uint64_t)((most - range->least) / range->step + 1);
    return range->least + (int64_t)(next_random(choice) % places) * range->step;
}

/* The number as n, or as the rows and as the columns of a matrix. */
static void add_number(struct choice *choice, int64_t number) {
    if (!is_matrix(choice)) {
        add(choice, 1, number);
        return;
    }
    add(choice, number, by_chance(choice, &choice->cols, number));
    add(choice, by_chance(choice, &choice->rows, number), number);
}

static void add_around(struct choice *choice, int64_t number) {
    for (int64_t step = -1; step <= 1; step++) add_number(choice, number + step);
}

/* ---- what the kernel's instructions say ---- */

static bool is_of_a_name(char letter) {
    return isalnum((unsigned char)letter) || strchr("._$%", letter);
}

/* Instructions alone: directives, labels and comments begin otherwise. */
static bool is_instruction(const char *line) {
    while (*line == ' ' || *line == '\t') line++;
    return isalpha((unsigned char)*line) || *line == '@';
}

static bool is_comparison(const char *line, size_t length) {
    const char *compares = strstr(line, "setp.");
    return compares && compares < line + length;
}

static size_t add_constant(int64_t *constants, size_t count, int64_t number) {
    for (size_t i = 0; i < count; i++)
        if (constants[i] == number) return count;
    if (count < CONSTANTS_MAX && number > 1) constants[count++] = number;
    return count;
}

/* The whole numbers of one line, without their signs. */
static size_t read_constants(const char *line, size_t length, int64_t *constants, size_t count) {
    for (size_t at = 0; at < length; at++) {
        char *end;
        if (!isdigit((unsigned char)line[at]) || (at && is_of_a_name(line[at - 1]))) continue;
        int64_t number = strtoll(line + at, &end, 10);
        if (!is_of_a_name(*end)) count = add_constant(constants, count, number);
        at = (size_t)(end - line);
    }
    return count;
}

/* Fills the constants of the kernels' comparisons, then of their other instructions, and returns how many; and mixes the
 * instructions into the generator. */
static size_t read_kernel(struct choice *choice, const char *ptx, int64_t constants[CONSTANTS_MAX]) {
    size_t count = 0;
    for (int round = 0; round < 2; round++)
        for (const char *line = ptx; *line;) {
            size_t length = strcspn(line, "\n");
            if (is_instruction(line) && is_comparison(line, length) == !round) {
                count = read_constants(line, length, constants, count);
                for (size_t i = 0; i < length; i++)
                    choice->state = (choice->state ^ (unsigned char)line[i]) * UINT64_C(0x100000001b3);
            }
            line += length + (line[length] == '\n');
        }
    return count;
}

/* ---- what the kernel's comparisons say ---- */

/* A size, and a word of the comparisons that hold there. */
struct candidate_size {
    struct size size;
    uint64_t word, alike; /* alike: how many have the same word; 0: the task has one of them */
};

static size_t list_candidates(const struct choice *choice, struct candidate_size *candidates) {
    const struct range *rows = &choice->rows, *cols = &choice->cols;
    size_t count = 0;
    for (size_t i = 0; i < choice->task->size_count; i++) candidates[count++].size = choice->task->sizes[i];
    if (!rows->step || !cols->step) return count;
    for (int64_t r = rows->least; r <= rows->most; r += rows->step)
        for (int64_t c = cols->least; c <= cols->most && r * c <= choice->elements_most; c += cols->step) {
            if (count == CANDIDATES_MAX) return count;
            if (contains(rows, r) && contains(cols, c)) candidates[count++].size = (struct size){NULL, r * c, r, c};
        }
    return count;
}

static bool read_conditions(const struct choice *choice, struct candidate_size *candidates, size_t count) {
    struct size *sizes = calloc(count + 1, sizeof *sizes);
    uint64_t *words = calloc(count + 1, sizeof *words);
    bool is_any = false;
    for (size_t i = 0; sizes && i < count; i++) sizes[i] = candidates[i].size;
    for (size_t s = 0; sizes && words && s < choice->task->stage_count; s++)
        is_any |= conditions_mix(choice->task, s, choice->ptx, choice->kernels[s], sizes, count, words);
    for (size_t i = 0; words && i < count; i++) candidates[i].word = words[i];
    free(words);
    free(sizes);
    return is_any;
}

static int by_number(uint64_t a, uint64_t b) {
    return (a > b) - (a < b);
}

static int by_word(const void *a, const void *b) {
    const struct candidate_size *x = a, *y = b;
    int order = by_number(x->word, y->word);
    if (!order) order = by_number(!x->size.text, !y->size.text); /* the task's first */
    if (!order) order = by_number((uint64_t)x->size.n, (uint64_t)y->size.n);
    return order ? order : by_number((uint64_t)x->size.rows, (uint64_t)y->size.rows);
}

static int by_rarity(const void *a, const void *b) {
    const struct candidate_size *x = a, *y = b;
    int order = by_number(x->alike, y->alike);
    return order ? order : by_word(a, b);
}

/* Leaves one of each word that no size of the task has, and returns how many. */
static size_t keep_one_of_each(struct candidate_size *candidates, size_t count) {
    size_t kept = 0;
    qsort(candidates, count, sizeof *candidates, by_word);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i; next < count && candidates[next].word == candidates[i].word;) next++;
        struct candidate_size first = candidates[i];
        first.alike = next - i;
        if (!first.size.text) candidates[kept++] = first;
    }
    qsort(candidates, kept, sizeof *candidates, by_rarity);
    return kept;
}

static void add_by_conditions(struct choice *choice) {
    struct candidate_size *candidates = calloc(CANDIDATES_MAX, sizeof *candidates);
    size_t count = candidates ? list_candidates(choice, candidates) : 0;
    if (count && read_conditions(choice, candidates, count)) {
        size_t parts = keep_one_of_each(candidates, count);
        for (size_t i = 0; i < parts && choice->more->count < PARTS_MAX; i++)
            add(choice, candidates[i].size.rows, candidates[i].size.cols);
    }
    free(candidates);
}

/* ---- the whole ---- */

static struct choice begin(const struct judge_task *task, uint64_t seed, struct more_sizes *more) {
    struct choice choice = {.task = task, .more = more, .state = seed};
    choice.rows = choice.cols = (struct range){INT64_MAX, 0, 0};
    more->count = 0;
    for (size_t i = 0; i < task->size_count; i++) {
        const struct size *size = &task->sizes[i];
        widen(&choice.rows, size->rows);
        widen(&choice.cols, size->cols);
        choice.elements_left += MORE_ELEMENTS * size->n;
        if (size->n > choice.elements_most) choice.elements_most = size->n;
    }
    return choice;
}

static void add_by_chance(struct choice *choice, size_t count) {
    size_t wanted = choice->more->count + count;
    for (int tries = 0; tries < TRIES && choice->more->count < wanted; tries++) {
        int64_t rows = by_chance(choice, &choice->rows, 1);
        add(choice, rows, by_chance(choice, &choice->cols, rows));
    }
}

/* Threads of a block and of the whole grid at the task's last size. */
static void add_launch(struct choice *choice) {
    const struct judge_task *task = choice->task;
    struct scope scope = {&task->sizes[task->size_count - 1], 0, 0};
    struct extents ignored;
    simt_message message;
    if (!task_extents(task, &task->stages[0], 0, &scope, &ignored, &message)) return;
    for (int64_t i = 1; i <= MULTIPLES; i++) add_around(choice, i * (int64_t)scope.block);
    add_around(choice, (int64_t)scope.grid);
    add_around(choice, (int64_t)(scope.grid * scope.block));
}

static void add_primes(struct choice *choice) {
    static const int primes[] = {3, 7, 13, 29, 61, 127, 251, 509, 1021, 2039, 4093};
    for (size_t i = 0; i < sizeof primes / sizeof *primes; i++) add_number(choice, primes[i]);
}

/* Of an open task, whose sizes go on; of a matrix both sides do.  Elements are counted apart from those of the others. */
static struct choice open_range(const struct choice *choice) {
    struct choice open = *choice;
    open.rows.most *= is_matrix(choice) ? BEYOND : 1;
    open.cols.most *= BEYOND;
    open.elements_most *= BEYOND;
    return open;
}

void sizes_choose(const struct judge_task *task, const char *ptx, const char *const kernels[STAGES_MAX], uint64_t seed,
                  struct more_sizes *more) {
    struct choice choice = begin(task, seed, more);
    int64_t constants[CONSTANTS_MAX];
    choice.ptx = ptx;
    choice.kernels = kernels;
    size_t count = read_kernel(&choice, ptx, constants);
    if (task->is_open) {
        struct choice open = open_range(&choice);
        add_by_conditions(&open);
        for (size_t i = 0; i < count; i++) add_number(&open, constants[i]);
        add_by_chance(&open, BY_CHANCE_BEYOND);
    } else {
        add_by_conditions(&choice);
    }
    for (size_t i = 0; i < count; i++) add_number(&choice, constants[i]);
    for (size_t i = 0; i < count; i++) add_around(&choice, constants[i]);
    add_by_chance(&choice, BY_CHANCE);
    add_launch(&choice);
    add_primes(&choice);
    for (int64_t power = 2; power <= choice.elements_most; power *= 2) add_around(&choice, power);
}
