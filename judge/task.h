/* A task as read: texts that are evaluated for each size. */
#ifndef JUDGE_TASK_H
#define JUDGE_TASK_H

#include <stdio.h>

#include "expression.h"
#include "judge.h"
#include "warpfold.h"

enum { ARGUMENTS_MAX = 16, SIZES_MAX = 32, OPTIONS_MAX = 8, DATA_MAX = 8, REFERENCE_INPUTS_MAX = 2, STAGES_MAX = 8, OTHER_BLOCKS_MAX = JUDGE_BLOCKS_MAX - 1 };

enum role {
    ROLE_INPUT,
    ROLE_INOUT,
    ROLE_OUTPUT,
    ROLE_SCRATCH,
    ROLE_SCALAR,
    ROLES
}; /* INOUT: an input that may change */

static inline bool has_data(enum role role) {
    return role == ROLE_INPUT || role == ROLE_INOUT;
}

static inline bool is_float(wf_type type) {
    return type == WF_F32 || type == WF_F64;
}

struct argument {
    const char *name;
    enum role role;
    wf_type type;
    const char *count; /* of the elements; of a scalar its value */
    const char
        *contents[DATA_MAX]; /* of an input its generators; else NULL (nobody has written it) or its value */
    size_t content_count;
};

/* A size, "1000" or "31x33". */
struct size {
    const char *text;
    int64_t n, rows, cols; /* of one number: one row */
};

struct gate {
    const char *name, *bound;
    const char *advice; /* or NULL */
    bool is_least;
};

enum reference_kind {
    REFERENCE_OP,        /* a reduction of the engine, of all or by row */
    REFERENCE_HISTOGRAM, /* out[k]: how many elements are k */
    REFERENCE_SCAN,      /* out[i]: the sum of the elements up to i, and with it where inclusive */
    REFERENCE_SOFTMAX,   /* of each row */
    REFERENCE_ELEMENTS   /* an expression of i */
};

struct reference {
    enum reference_kind kind;
    wf_op op;
    wf_op partials;    /* the output is reduced by it before it is compared; WF_OP_NONE: it is not */
    bool is_inclusive; /* a scan */
    bool by_row;
    size_t output; /* an argument */
    size_t inputs[REFERENCE_INPUTS_MAX];
    size_t input_count;
    const char *elements;
    int line; /* of Expect */
};

/* A kernel of the task and its launch; those of a task run in order, on the same memory. */
struct stage {
    char signature[512], kernel[128];
    const char *block[3], *grid[3], *shared; /* shared: NULL: none */
    const char *other_blocks[OTHER_BLOCKS_MAX][3];
    size_t other_block_count;
    size_t arguments[ARGUMENTS_MAX];         /* of each parameter the task's argument */
    size_t argument_count;
    int line;
};

struct judge_task {
    char *text;   /* cut into the texts that everything here points to */
    char *uncut; /* the same, as given */
    const char *name;
    char name_copy[JUDGE_FILE_CAPACITY];
    char title[128];
    struct stage stages[STAGES_MAX];
    size_t stage_count;
    struct argument arguments[ARGUMENTS_MAX];
    size_t argument_count;
    struct size sizes[SIZES_MAX];
    size_t size_count, data_count; /* data_count: the most generators that an input has */
    bool is_open;                  /* "..." behind the sizes: greater ones are right, too */
    const char *options[OPTIONS_MAX + 1]; /* of the compiler, NULL-terminated */
    size_t option_count;
    const char *roundings, *empty; /* NULL: not stated */
    const char *header;            /* kernels that include it are of this task; or NULL */
    bool omits_nan;                /* "NaN: omit": the op leaves it out, and else it is the result */
    struct reference reference;
    struct gate gates[JUDGE_GATES_MAX];
    size_t gate_count;
};

/* What the names in a task's expressions are at a size. */
struct scope {
    const struct size *size;
    uint64_t grid, block; /* 0: not known yet */
};

static inline simt_error fail_memory(simt_message *message) {
    snprintf(message->text, sizeof message->text, "out of memory");
    return SIMT_ERROR_MEMORY;
}

struct extents {
    uint32_t block[3], grid[3];
};

/* The line on which a part of the task's text stands. */
int task_line(const struct judge_task *task, const char *part);

/* The texts of the extents of the stage's block of that number: 0 is the first; a stage with fewer repeats its first. */
const char *const *stage_block(const struct stage *stage, size_t number);

/* The launch of a stage in that block at the scope's size; the scope's block and grid become its products.  Of nothing there
 * is one block or thread all the same.  false: the message says what is wrong. */
bool task_extents(const struct judge_task *task, const struct stage *stage, size_t block, struct scope *scope,
                  struct extents *extents, simt_message *message);

/* A whole number, rounded down.  false: the message says what is wrong with the text. */
bool task_whole(const struct judge_task *task, const char *text, const struct scope *scope, int64_t *number,
                simt_message *message);
bool task_number(const struct judge_task *task, const char *text, const struct scope *scope,
                 long double *number, simt_message *message);
/* Whether a buffer may have `count` elements. */
bool task_count_fits(const struct judge_task *task, const struct argument *argument, long double count, const struct scope *scope,
                     simt_message *message);
bool scope_find(const struct scope *scope, const char *name, size_t length, struct number *number);

enum { SPECIALS_MAX = 2 };

/* "uniform(-1, 1) with inf nan": a generator, its two bounds, which may be one infinity, and values that stand at a random place
 * each.  false: it is none. */
struct generator {
    bool is_uniform; /* else whole numbers */
    double low, high;
    double specials[SPECIALS_MAX];
    size_t special_count;
};
bool generator_read(const char *text, struct generator *generator);
/* Whether all values of an integer's range are of the type. */
bool generator_fits(wf_type type, const struct generator *generator);

static inline bool generator_varies(const struct generator *generator) {
    return generator->low < generator->high && !generator->special_count;
}

#endif
