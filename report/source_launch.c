#include "source_launch.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source_text.h"
#include "source_types.h"

/* The second argument of the call of a function, whose name begins so, with that variable as its first one: (void **)&name,
 * for example.  NULL: there is no such call. */
static const char *find_second(const char *text, const char *function, const char *name, size_t length, const char **end) {
    for (const char *at = text; (at = strstr(at, function));) {
        at += strlen(function);
        const char *open = at + strcspn(at, "(;\n");
        const char *behind = *open == '(' ? text_behind_bracket(open) : NULL;
        if (!behind) continue;
        const char *comma = text_item_end(open + 1, behind - 1), *word = comma;
        while (word > open && !text_is_word(word[-1])) word--;
        if ((size_t)(word - open) <= length || strncmp(word - length, name, length) || text_is_word(word[-(ptrdiff_t)length - 1]))
            continue;
        *end = comma < behind - 1 ? text_item_end(comma + 1, behind - 1) : comma;
        return comma < behind - 1 ? comma + 1 : NULL;
    }
    return NULL;
}

/* The elements that cudaMalloc gives the pointer of that name, and whether cudaMemset makes them zeros. */
static void read_allocation(const char *text, const char *name, size_t length, struct kernel_parameter *parameter) {
    const size_t nbytes = parameter->nbytes ? parameter->nbytes : 1;
    const char *end, *begin = find_second(text, "cudaMalloc", name, length, &end);
    if (begin) parameter->count = text_evaluate(text, begin, end, nbytes, 0, &parameter->has_count) / nbytes;
    begin = find_second(text, "cudaMemset", name, length, &end);
    bool is_known = begin;
    uint64_t byte = begin ? text_evaluate(text, begin, end, nbytes, 0, &is_known) : 0;
    parameter->is_cleared = is_known && !byte;
}

static void read_launch_arguments(const char *text, const char *open, struct kernel_source *source) {
    const char *behind = *open == '(' ? text_behind_bracket(open) : NULL;
    if (!behind) return;
    const char *item = open + 1;
    for (size_t i = 0; i < source->count && item < behind - 1; i++) {
        struct kernel_parameter *parameter = &source->parameters[i];
        const char *end = text_item_end(item, behind - 1), *word = text_skip_blanks(item), *word_end = word;
        while (word_end < end && text_is_word(*word_end)) word_end++;
        if (parameter->is_pointer)
            read_allocation(text, word, (size_t)(word_end - word), parameter);
        else parameter->count = text_evaluate(text, item, end, type_element_nbytes(parameter->element), 0, &parameter->has_count);
        item = end + 1;
    }
}

/* Whether the texts are the same but for blanks: "<float, 64>" and "<float,64>". */
static bool is_same_but_blanks(const char *one, const char *one_end, const char *other) {
    for (;; one++, other++) {
        while (one < one_end && isspace((unsigned char)*one)) one++;
        other = text_skip_blanks(other);
        if (one == one_end || *one != *other) return one == one_end && !*other;
    }
}

/* The first `extern __shared__` array from `at` to `end`, with its type; NULL: there is none. */
static const char *find_extern_array(const char *text, const char *at, const char *end, struct kernel_parameter *array) {
    static const char shared[] = "__shared__";
    for (const char *begin = at; (at = text_find_word(at, shared, strlen(shared))) && at < end; at += strlen(shared)) {
        const char *before = text_before_blanks(begin, at);
        if (before - begin < 6 || strncmp(before - 6, "extern", 6)) continue;
        type_read_parameter(at + strlen(shared), at + strcspn(at, ";"), array);
        type_resolve(text, array);
        return at;
    }
    return NULL;
}

/* What sizeof is about in the expression: the type that it names; or, where it stands in a variable's definition, the elements of the
 * array that the bytes are for. */
static size_t nbytes_of_sizeof(const char *text, const char *at, const char *end) {
    static const char word[] = "sizeof";
    char name[KERNEL_WORD];
    struct kernel_parameter array;
    const char *found = text_find_word(at, word, strlen(word)), *open = found && found < end ? text_skip_blanks(found + strlen(word)) : "";
    const char *close = *open == '(' ? text_behind_bracket(open) : NULL;
    const size_t length = close ? (size_t)(close - open - 2) : 0;
    snprintf(name, sizeof name, "%.*s", length < sizeof name ? (int)length : 0, length ? open + 1 : "");
    size_t nbytes = length ? type_any_nbytes(text, name) : 0;
    if (!nbytes && find_extern_array(text, text, text + strlen(text), &array)) nbytes = type_nbytes(array.type);
    return nbytes > 1 || (nbytes && length) ? nbytes : sizeof(float);
}

bool launch_read(const char *text, const char *name, size_t length, const char *instance, struct kernel_source *source) {
    for (const char *at = text; (at = text_find_word(at, name, length)); at += length) {
        const char *open = strstr(at, "<<<");
        if (!open || memchr(at, ';', (size_t)(open - at)) || memchr(at, '(', (size_t)(open - at))) continue;
        if (instance && !is_same_but_blanks(at + length, open, instance)) continue;
        const char *close = strstr(open, ">>>"), *grid = open + 3;
        if (!close) return false;
        const char *grid_end = text_item_end(grid, close), *block = grid_end + 1;
        if (block >= close) return false;
        const char *block_end = text_item_end(block, close);
        source->has_block = text_read_extent(text, block, block_end, source->block, 0);
        source->has_launch = text_read_extent(text, grid, grid_end, source->grid, 0) && source->has_block;
        if (block_end < close) {
            bool is_known;
            const char *shared = block_end + 1;
            const char *shared_end = text_item_end(shared, close);
            uint64_t nbytes = text_evaluate(text, shared, shared_end, nbytes_of_sizeof(text, shared, shared_end), 0, &is_known);
            source->shared = is_known ? nbytes : 0;
        }
        read_launch_arguments(text, text_skip_blanks(close + 3), source);
        return true;
    }
    return false;
}

/* ---- a launch that fits -------------------------------------------------------------------------- */

enum { THREADS_MAX = 1024, WARP = 32, SIDE = 16, CLUSTER_MAX = 16, SEVERAL_WARPS = 128 };

static bool is_block(uint64_t threads) { return threads > 1 && threads <= THREADS_MAX; }

static bool read_value(const char *text, const char *at, const char *end, uint64_t *value) {
    bool is_known;
    *value = text_evaluate(text, at, end, 4, 0, &is_known);
    return is_known && is_block(*value);
}

/* The bracket behind the word between __global__ and the parameters; NULL: it is not there. */
static const char *find_attribute(const char *text, const char *open, const char *word) {
    const char *begin = open;
    while (begin > text && !strchr(";}", begin[-1])) begin--;
    const char *found = text_find_word(begin, word, strlen(word));
    const char *at = found && found < open ? text_skip_blanks(found + strlen(word)) : NULL;
    return at && *at == '(' ? at : NULL;
}

/* __launch_bounds__(256) */
static bool guess_by_bounds(const char *text, const char *open, uint64_t *threads) {
    const char *at = find_attribute(text, open, "__launch_bounds__"), *behind = at ? text_behind_bracket(at) : NULL;
    return behind && read_value(text, at + 1, text_item_end(at + 1, behind - 1), threads);
}

/* Of "[BLOCK + 2]" and "[256 + 2 * R]" the largest term that is a constant or a number; 0: there is none. */
static uint64_t largest_term(const char *text, const char *open, const char *end) {
    const bool is_sum = memchr(open, '+', (size_t)(end - open));
    uint64_t largest = 0, value;
    for (const char *word = open + 1, *stop; word < end; word = stop) {
        for (stop = word; stop < end && text_is_word(*stop);) stop++;
        const bool is_factor = text_before_blanks(open, word)[-1] == '*' || *text_skip_blanks(stop) == '*';
        const bool is_term = stop > word && (!isdigit((unsigned char)*word) || (is_sum && !is_factor));
        if (is_term && read_value(text, word, stop, &value) && value > largest) largest = value;
        stop += stop == word;
    }
    return largest;
}

/* Of "[258]" the warps that it holds. */
static bool guess_by_extent(const char *text, const char *open, uint64_t *threads) {
    const char *end = text_behind_bracket(open);
    *threads = end ? largest_term(text, open, end) : 0;
    if (*threads) return true;
    if (!end || !read_value(text, open + 1, end - 1, threads)) return false;
    if (*threads > WARP) *threads -= *threads % WARP;
    return true;
}

/* By the largest array of the body with that many extents, a block with as many dimensions. */
static bool guess_by_arrays(const char *text, const char *body, const char *end, bool is_plane, uint64_t block[3]) {
    static const char shared[] = "__shared__";
    for (const char *at = body; (at = text_find_word(at, shared, strlen(shared))) && at < end;) {
        at += strlen(shared);
        const char *stop = at + strcspn(at, ";");
        for (const char *item = at; item < stop; item = text_item_end(item, stop) + 1) {
            const char *item_stop = text_item_end(item, stop), *open = memchr(item, '[', (size_t)(item_stop - item));
            const char *behind = open ? text_behind_bracket(open) : NULL, *second = behind && *behind == '[' ? behind : NULL;
            uint64_t x, y = 1;
            if (!open || !behind || (is_plane && !second) || !guess_by_extent(text, is_plane ? second : open, &x)) continue;
            if (is_plane && !guess_by_extent(text, open, &y)) continue;
            if (x * y > THREADS_MAX || x * y <= block[0] * block[1]) continue;
            block[0] = x;
            block[1] = y;
        }
    }
    return block[0] > 1;
}

/* By a constant of the body named after what a block is: BLOCK, BLOCK_SIZE, THREADS, TPB; or by its ROWS. */
static bool guess_by_name(const char *text, const char *body, const char *end, const char *const names[], uint64_t *threads) {
    for (const char *at = body; at < end; at++) {
        if (!text_is_word(*at) || text_is_word(at[-1])) continue;
        const char *stop = at;
        char word[KERNEL_WORD];
        while (text_is_word(*stop)) stop++;
        snprintf(word, sizeof word, "%.*s", (int)(stop - at), at);
        for (size_t i = 0; names[i]; i++)
            if (strstr(word, names[i]) && read_value(text, at, stop, threads)) return true;
    }
    return false;
}

/* Whether the body compares with 32 what may be a thread's number: it is meant for blocks of several warps. */
static bool knows_warps(const char *body, const char *end) {
    for (const char *at = body; (at = text_find_word(at, "32", 2)) && at < end; at += 2) {
        const char *before = text_before_blanks(body, at);
        if (before > body && before[-1] == '=') before--;
        if (before > body && strchr("<>", before[-1]) && before[-2] != before[-1]) return true; /* no shift */
    }
    return false;
}

enum { ELEMENTS_MAX = 16 };

/* How many elements each thread reads: of `2 * blockDim.x` and `blockDim.x * 2` two, and of `in[i + blockDim.x]`. */
static uint64_t guess_elements(const char *body, const char *end) {
    static const char word[] = "blockDim";
    uint64_t most = 1;
    for (const char *at = body; (at = text_find_word(at, word, strlen(word))) && at < end; at += strlen(word)) {
        if (strncmp(at + strlen(word), ".x", 2)) continue;
        const char *behind = text_skip_blanks(at + strlen(word) + 2), *before = text_before_blanks(body, at);
        uint64_t factor = 1;
        if (*behind == '*') factor = strtoull(behind + 1, NULL, 10);
        if (before > body && before[-1] == '*') {
            before = text_before_blanks(body, before - 1);
            const char *number = before;
            while (number > body && isdigit((unsigned char)number[-1])) number--;
            factor = number < before ? strtoull(number, NULL, 10) : 1;
            before = text_before_blanks(body, number);
        }
        factor += before > body && before[-1] == '+' && *behind == ']';
        if (factor > most && factor <= ELEMENTS_MAX) most = factor;
    }
    return most;
}

/* What stands in front of the index in the first `name[2 * t + 1]`; 1: no number does. */
static uint64_t factor_of_index(const char *body, const char *end, const char *name) {
    const size_t length = strlen(name);
    for (const char *at = body; length && (at = text_find_word(at, name, length)) && at < end; at += length) {
        char *behind;
        if (at[length] != '[' || at[length + 1] == ']') continue;
        const uint64_t factor = strtoull(at + length + 1, &behind, 10);
        return factor && factor <= ELEMENTS_MAX && *text_skip_blanks(behind) == '*' ? factor : 1;
    }
    return 1;
}

/* "threadIdx", ".y" */
static bool uses_index(const char *body, const char *end, const char *index, const char *member) {
    const size_t length = strlen(index);
    for (const char *at = body; (at = text_find_word(at, index, length)) && at < end; at += length)
        if (!strncmp(at + length, member, strlen(member))) return true;
    return false;
}

/* Whether what stands there is in a function that kernels may call: the word that comes last before it is no __global__. */
static bool is_of_function(const char *text, const char *there) {
    static const char kernel[] = "__global__", function[] = "__device__";
    const char *last_kernel = NULL, *last_function = NULL;
    for (const char *at = text; (at = text_find_word(at, kernel, strlen(kernel))) && at < there; at += strlen(kernel)) last_kernel = at;
    for (const char *at = text; (at = text_find_word(at, function, strlen(function))) && at < there; at += strlen(function)) last_function = at;
    return last_function && (!last_kernel || last_kernel < last_function);
}

/* What each thread has of `extern __shared__ float s[]`: one element; of bytes, eight. */
static uint64_t guess_shared(const char *text, const char *body, const char *end, uint64_t threads, bool is_of_functions) {
    struct kernel_parameter array;
    for (const char *at = body; (at = find_extern_array(text, at, end, &array)); at++) {
        if (is_of_functions && !is_of_function(text, at)) continue;
        const size_t nbytes = type_nbytes(array.type);
        return factor_of_index(body, end, array.name) * threads * (nbytes > 1 ? nbytes : sizeof(uint64_t));
    }
    return 0;
}

/* __cluster_dims__(2, 1, 1) before the parameters: a grid is of whole clusters. */
static void guess_grid(const char *text, const char *open, uint64_t grid[3]) {
    const char *at = find_attribute(text, open, "__cluster_dims__"), *behind = at ? text_behind_bracket(at) : NULL;
    for (int d = 0; d < 3; d++) grid[d] = 1;
    if (!behind) return;
    at++;
    for (int d = 0; d < 3 && at < behind - 1; d++) {
        bool is_known;
        const char *end = text_item_end(at, behind - 1);
        const uint64_t extent = text_evaluate(text, at, end, 4, 0, &is_known);
        grid[d] = is_known && extent && extent <= CLUSTER_MAX ? extent : 1;
        at = end + 1;
    }
}

static bool is_one(const uint64_t extent[3]) { return extent[0] == 1 && extent[1] == 1 && extent[2] == 1; }

void launch_guess(const char *text, const char *open, struct kernel_source *source) {
    static const char *const of_threads[] = {"BLOCK", "THREADS", "TPB", NULL}, *const of_rows[] = {"ROWS", NULL};
    const char *behind = text_behind_bracket(open), *body = behind ? text_skip_blanks(behind) : NULL;
    const char *end = body && *body == '{' ? text_behind_bracket(body) : NULL;
    if (!source->has_launch) guess_grid(text, open, source->grid);
    if (!end) return;
    const bool is_plane = uses_index(body, end, "threadIdx", ".y");
    uint64_t *block = source->block, rows;
    if (!source->has_block) {
        for (int d = 0; d < 3; d++) block[d] = 1;
        source->has_block = (!is_plane && guess_by_bounds(text, open, &block[0])) ||
                            guess_by_arrays(text, body, end, is_plane, block) ||
                            (!is_plane && guess_by_name(text, body, end, of_threads, &block[0])) || is_plane;
        if (!source->has_block && knows_warps(body, end)) {
            block[0] = SEVERAL_WARPS;
            source->has_block = true;
        }
        if (is_plane && block[0] == 1) block[0] = block[1] = SIDE;
        if (is_plane && guess_by_name(text, body, end, of_rows, &rows) && rows < block[1]) block[1] = rows;
    }
    const uint64_t threads = source->has_block ? block[0] * block[1] * block[2] : WARP;
    if (!source->has_launch) source->elements = guess_elements(body, end);
    for (size_t i = 0; i < source->count && !source->has_launch; i++) {
        const uint64_t factor = factor_of_index(body, end, source->parameters[i].is_pointer ? source->parameters[i].name : "");
        if (factor > source->elements) source->elements = factor;
    }
    if (!source->has_launch && !is_plane && is_one(source->grid) && uses_index(body, end, "blockIdx", ".x"))
        source->grid[0] = 2; /* the least with which blocks meet each other */
    if (source->has_launch || source->shared) return;
    source->shared = guess_shared(text, body, end, threads, false);
    if (!source->shared) source->shared = guess_shared(text, text, text + strlen(text), threads, true);
}
