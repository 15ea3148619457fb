/* More sizes than the task names: a kernel that is wrong at one that a task's author did not think of should be wrong
 * here. */
#ifndef JUDGE_SIZES_H
#define JUDGE_SIZES_H

#include "task.h"

enum { MORE_SIZES_MAX = 64 };

struct more_sizes {
    struct size items[MORE_SIZES_MAX];
    char texts[MORE_SIZES_MAX][JUDGE_SIZE_CAPACITY]; /* theirs */
    size_t count;
};

/* Chooses them: of those sizes at which the same comparisons of the kernel hold (conditions.h) one, the rarest first; whole
 * numbers that the compiled kernel names and their neighbours; some by chance, from the kernel's instructions and the seed;
 * those around multiples of the block and of the grid, around powers of two, and primes.  Where all of the task's sizes are
 * multiples of a number, these are, too.  They lie between the task's least and greatest, or, where the task is open, BEYOND
 * times the greatest; together they have at most MORE_ELEMENTS times the task's elements, and as many again where it is open. */
enum { MORE_ELEMENTS = 8, BEYOND = 4 };
void sizes_choose(const struct judge_task *task, const char *ptx, const char *const kernels[STAGES_MAX], uint64_t seed,
                  struct more_sizes *more);

#endif
