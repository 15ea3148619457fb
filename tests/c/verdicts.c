/* The judge's verdict is the same on one thread and on several: of a kernel that is right, of one without barriers, and of one
 * that goes round and round, where most of what is planned must not be in the verdict. */
#include "judge/judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_CAPACITY = 1 << 16, THREADS = 4, KERNELS = 3 };

static const char task_text[] =
    "Title: the sum of n floats, by a rung of the ladder\n"
    "Signature: __global__ void reduce(float *input, const long long *indices, unsigned long long n, unsigned long long "
    "portion, float *partials, long long *partial_indices, float *result, long long *result_index, unsigned int *ticket)\n"
    "Block: 64 | 32\n"
    "Grid: 4\n"
    "Shared: 48 * block\n"
    "Argument: input           inout   f32[n]    integers(-8, 8) | uniform(-1, 1)\n"
    "Argument: indices         scalar  u64       0\n"
    "Argument: n               scalar  u64       n\n"
    "Argument: portion         scalar  u64       ceil(n / grid)\n"
    "Argument: partials        scratch f32[grid]\n"
    "Argument: partial_indices scratch i64[grid]\n"
    "Argument: result          output  f32[1]    zeros\n"
    "Argument: result_index    scratch i64[1]\n"
    "Argument: ticket          scratch u32[1]    zeros\n"
    "Sizes: 1 33 500 ...\n"
    "Expect: result = sum(input)\n"
    "Gate: divergent_branches <= 32\n";

static int failures;

static void expect(bool is_so, const char *kernel, const char *what) {
    if (is_so) return;
    fprintf(stderr, "verdicts: %s: %s\n", kernel, what);
    failures++;
}

static bool read_text(const char *path, char *text) {
    FILE *file = fopen(path, "rb");
    const size_t length = file ? fread(text, 1, TEXT_CAPACITY - 1, file) : 0;
    if (file) fclose(file);
    text[length] = '\0';
    return length && length < TEXT_CAPACITY - 1;
}

/* Each by another one of the same length. */
static void replace(char *text, const char *from, const char *to) {
    for (char *at; (at = strstr(text, from));) memcpy(at, to, strlen(to));
}

static void compare_reasons(const char *kernel, const struct judge_reason *one, const struct judge_reason *many) {
    const bool is_same = !strcmp(one->kind, many->kind) && !strcmp(one->message, many->message) && !strcmp(one->where, many->where) &&
                         !strcmp(one->file, many->file) && one->line == many->line && one->other_line == many->other_line &&
                         one->launches == many->launches && one->last_launch == many->last_launch;
    expect(is_same, kernel, many->message);
}

static void compare(const char *kernel, const struct judge_verdict *one, const struct judge_verdict *many) {
    expect(one->is_accepted == many->is_accepted && one->launches == many->launches, kernel, "other launches");
    expect(one->size_count == many->size_count && !memcmp(one->sizes, many->sizes, sizeof one->sizes), kernel, "other sizes");
    expect(one->task_size_count == many->task_size_count, kernel, "other sizes of the task");
    expect(one->block_count == many->block_count && !memcmp(one->blocks, many->blocks, sizeof one->blocks), kernel, "other blocks");
    expect(one->error_ulp == many->error_ulp && one->bound_ulp == many->bound_ulp && one->roundings == many->roundings, kernel,
           "another error");
    expect(one->gate_count == many->gate_count && one->gates[0].count == many->gates[0].count, kernel, "another count");
    expect(one->reason_count == many->reason_count, kernel, "another number of reasons");
    for (size_t r = 0; r < one->reason_count && r < many->reason_count; r++)
        compare_reasons(kernel, &one->reasons[r], &many->reasons[r]);
}

static void check(const char *kernel, const struct judge_task *task, const char *ptx, bool is_right) {
    static struct judge_verdict one, many;
    simt_message message = {""};
    struct judge_request request = {.task = task, .path = "kernel.ptx", .ptx = ptx, .threads = 1};
    expect(!judge_run(&request, &one, &message), kernel, message.text);
    request.threads = THREADS;
    expect(!judge_run(&request, &many, &message), kernel, message.text);
    expect(one.is_accepted == is_right, kernel, one.reason_count ? one.reasons[0].message : "is accepted");
    compare(kernel, &one, &many);
}

int main(void) {
    static const struct {
        const char *name, *from, *to;
        bool is_right;
    } kernels[KERNELS] = {{"the rung", "\r", "\n", true},
                          {"no barriers", "bar.sync \t0;", "           ;", false},
                          {"no end", "setp.ne.s32 \t%p6", "setp.ge.s32 \t%p6", false}}; /* a stride of 0 goes on */
    static char text[TEXT_CAPACITY];
    struct judge_task *task;
    simt_message message;
    if (judge_task_read(task_text, "rung", &task, &message)) {
        fprintf(stderr, "verdicts: %s\n", message.text);
        return 1;
    }
    for (size_t k = 0; k < KERNELS; k++) {
        expect(read_text("ladder/ptx/09_block_atomic.sum.f32.ptx", text), kernels[k].name, "cannot read its PTX");
        replace(text, kernels[k].from, kernels[k].to);
        check(kernels[k].name, task, text, kernels[k].is_right);
    }
    judge_task_destroy(task);
    printf("verdicts: %d failures\n", failures);
    return failures != 0;
}
