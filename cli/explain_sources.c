/* What the tutorials that the ladder comes from print wrong, and what is right; each checked on the machine.
 */
#include <string.h>

#include "explain.h"

enum { TEXT_WIDTH = 100, INDENT = 2 };

/* `rungs`: the names that it touches, each between blanks. */
static const struct printed_error {
    const char *rungs;
    const char *text;
} printed_errors[] = {
    {" interleaved_strided ", "Parallel patterns, step 2, guards with `index < blockDim.x / s`; right is "
                              "`index < blockDim.x`.  As printed it "
                              "sums 128 ones to 30."},
    {" unrolled_last_warp ", "Parallel patterns, step 5: threads 32-63 do no work in the last warp, since "
                             "`tid < 32` excludes them; at a block "
                             "of 32 it reads out of bounds; and the lanes of a warp are not \"automatically "
                             "synchronised\": since sm_70 the "
                             "missing barriers are a race."},
    {" in_place_convergent ", "The chapter on reduction, 10.4, starts the stride at blockDim.x/2 with n/2 "
                              "threads; right is blockDim.x.  As "
                              "printed it sums 256 ones to 128."},
    {" in_place_strided ", "The chapter prints the requests of 256 elements as (4 x 2 + 4 + 2 + 1) x 3 = "
                           "141, and those of 2048 alike; "
                           "the factor 5 is missing: (4 x 5 x 2 + 4 + 2 + 1) x 3 = 141."},
    {" in_place_strided ", "The chapter gives 35 % utilisation at 256 elements; counted it is 255/864 = 29.5 "
                           "%: iteration 6 was left out.  "
                           "(Its 66 % for the convergent kernel, 255/384, is right.)"},
    {" in_place_strided ", "The chapter's exercise 1 answers 32 divergent warps of 1024 elements in the "
                           "fifth iteration; the block has only "
                           "16 warps, and all 16 diverge."},
    {" add_on_load ",
     "The chapter's kernel of 10.6 overlaps its segments when it is launched with several blocks: they begin "
     "blockDim.x apart and are 2 * blockDim.x long."},
    {" interleaved_strided ", "The CUDA programming note's list of conflicting threads slips: N+32 should be "
                              "N+24; at i = 2 it says 16 threads "
                              "and counts to 31; and it takes the size of a warp for the number of banks."},
    {" grid_stride sequential ", "The notebook's \"optimized\" kernel of part 6 is that of part 3; the "
                                 "picture of part 3 is of another tree, "
                                 "of neighbours; and its final pass fails above 256 blocks."},
};

/* The kernels that were printed wrong, as ladder/wrong/ has them. */
static const struct {
    const char *rung, *kernel;
} printed_kernels[] = {
    {"in_place_convergent", "convergent_stride"}, {"interleaved_strided", "strided_guard"},
    {"add_on_load", "overlapping_segments"},      {"unrolled_last_warp", "last_warp_unsynchronised"},
    {"unrolled_last_warp", "last_warp_of_32"},    {"grid_stride", "final_pass"},
};

enum { KERNEL_COUNT = sizeof printed_kernels / sizeof printed_kernels[0] };

const char *printed_kernel(const struct ladder_rung *rung, size_t index) {
    for (size_t i = 0; rung->number >= 0 && i < KERNEL_COUNT; i++)
        if (!strcmp(strchr(rung->id, '_') + 1, printed_kernels[i].rung) && index-- == 0)
            return printed_kernels[i].kernel;
    return NULL;
}

enum { ERROR_COUNT = sizeof printed_errors / sizeof printed_errors[0] };

static bool touches(const struct printed_error *error, const struct ladder_rung *rung) {
    char name[sizeof rung->id + 2];
    if (rung->number < 0) return false;
    snprintf(name, sizeof name, " %s ", strchr(rung->id, '_') + 1);
    return strstr(error->rungs, name);
}

/* Words, wrapped at the right margin. */
static void put_paragraph(FILE *stream, const char *text) {
    int column = fprintf(stream, "%*s-", INDENT, "");
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (column + 1 + length > TEXT_WIDTH) column = fprintf(stream, "\n%*s", INDENT + 1, "") - 1;
        if (length) column += fprintf(stream, " %.*s", length, text);
        text += length + (text[length] == ' ');
    }
    fputc('\n', stream);
}

void put_printed_errors(FILE *stream, const struct ladder_rung *rung) {
    bool is_first = true;
    for (size_t i = 0; i < ERROR_COUNT; i++) {
        if (!touches(&printed_errors[i], rung)) continue;
        if (is_first) fputs("\nprinted wrong in the sources\n", stream);
        is_first = false;
        put_paragraph(stream, printed_errors[i].text);
    }
}

void put_printed_errors_json(FILE *stream, const struct ladder_rung *rung) {
    bool is_first = true;
    for (size_t i = 0; i < ERROR_COUNT; i++) {
        if (!touches(&printed_errors[i], rung)) continue;
        fputs(is_first ? "\"" : ",\"", stream);
        is_first = false;
        for (const char *at = printed_errors[i].text; *at; at++)
            fprintf(stream, *at == '"' ? "\\%c" : "%c", *at);
        fputc('"', stream);
    }
}
