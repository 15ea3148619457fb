// Words of a partial for collectives, and the result of all ranks' words: by one warp, of which one lane runs the core's
// own functions in shared memory.
//
// The options are those of reduce.cu, of which -DTYPE_<name>, -DIS_INDEXED=, -DFINISH_OP= and so on are used; without
// FINISH_OP there is no result.

#include "kernels/finish.cuh"
#include "word_arguments.h"
#include "core/exact.c"
#include "core/device_words.h"
#include "core/words.c"

#define LANE (threadIdx.x % 32)
#define WORD_LANES 32

// ---- what the core's functions ask of files that are not compiled here

bool wf_accumulator_is_indexed(const struct wf_accumulator *acc)
{
    (void)acc;
    return IS_INDEXED;
}

void wf_accumulator_forget_bits(struct wf_accumulator *acc) // of an array all bits are known
{
    (void)acc;
}

// Whether some data can have led to words that no rank has written amiss: not asked here.

bool wf_key_is_possible(wf_type type, int64_t key)
{
    (void)type, (void)key;
    return true;
}

const char *wf_result_flaw(const struct wf_accumulator *acc)
{
    (void)acc;
    return NULL;
}

// ---- shared memory

static __shared__ struct wf_accumulator shared_acc;
static __shared__ int64_t shared_added[WF_ADDED_WORDS_MAX], shared_largest[WF_LARGEST_WORDS_MAX],
    shared_indices[WF_INDEX_WORDS_MAX];

static void copy_in(int64_t *to, uint64_t from, int count)
{
    for (int i = LANE; i < count; i += WORD_LANES) to[i] = ((const int64_t *)from)[i];
}

static void open_accumulator(const struct wf_word_arguments *r)
{
    shared_acc.op = (wf_op)r->op;
    shared_acc.type = (wf_type)r->type;
    shared_acc.nan = (wf_nan)r->nan;
    shared_acc.result_type = (wf_type)r->result_type;
    shared_acc.ddof = r->ddof;
    shared_acc.parts = r->parts;
    shared_acc.blocks = 0;
    shared_acc.xor_alone = false;
    shared_acc.tree = NULL;
    shared_acc.shaped = NULL;
    shared_acc.first_index = r->first_index;
    shared_acc.end_index = r->end_index;
    shared_acc.count = r->count;
}

static void pass_words(struct wf_words *words, enum wf_words_direction direction)
{
    words->direction = direction;
    words->failed = false;
    words->added = direction == WF_WORDS_SETTLE ? (int64_t *)NULL : shared_added;
    words->largest = shared_largest;
    words->indices = direction == WF_WORDS_GIVE ? (int64_t *)NULL : shared_indices;
    words->counts.added = words->counts.largest = words->counts.indices = 0;
}

static bool pass_elements(struct wf_words *words, enum wf_words_direction direction)
{
    pass_words(words, direction);
    return wf_words_elements(words, &shared_acc);
}

// ---- words of an array

// Quarters of the settings, and their squares, tell whether all ranks' are alike (Cauchy and Schwarz).
static int64_t agreed_word(uint64_t settings, int i)
{
    int64_t quarter = (int64_t)(settings >> 16 * ((i - 2) & 3) & 0xffff);
    return i < 2 ? i : i < 6 ? quarter : quarter * quarter;
}

static void write_agreed(const struct wf_word_arguments *r)
{
    int i = LANE;
    if (r->agreed && i < WF_AGREED_WORDS) ((int64_t *)r->agreed)[i] = agreed_word(r->settings, i);
}

// Of equal extremes the first is meant, whose word is the largest.
static void write_indices(const struct wf_word_arguments *r)
{
    int i = LANE, extreme = r->largest_count - r->index_count + i;
    if (i >= r->index_count) return;
    int64_t *to = (int64_t *)r->indices + i, mine = shared_indices[i];
    if (r->joins) {
        int64_t before = ((const int64_t *)r->largest)[extreme], key = shared_largest[extreme];
        if (before > key || (before == key && *to > mine)) mine = *to;
    }
    *to = mine;
}

static void write_words(const struct wf_word_arguments *r)
{
    int64_t *added = (int64_t *)r->added, *largest = (int64_t *)r->largest;
    write_indices(r); // these ask for the largest as they were
    __syncwarp();
    for (int i = LANE; i < r->added_count; i += WORD_LANES)
        added[i] = shared_added[i] + (r->joins ? added[i] : 0);
    for (int i = LANE; i < r->largest_count; i += WORD_LANES)
        largest[i] = r->joins && largest[i] > shared_largest[i] ? largest[i] : shared_largest[i];
    if (!r->joins) write_agreed(r);
}

static void give(const struct wf_word_arguments *r)
{
    copy_in((int64_t *)&shared_acc.partial, r->partial, sizeof(struct wf_partial) / 8);
    __syncwarp();
    if (LANE == 0) {
        struct wf_words words;
        open_accumulator(r);
        pass_elements(&words, WF_WORDS_GIVE);
        wf_words_parts(&words, &shared_acc);
        if (r->index_count) {
            pass_elements(&words, WF_WORDS_SETTLE);
            wf_words_parts(&words, &shared_acc);
        }
    }
    __syncwarp();
    write_words(r);
}

// ---- indices of extremes: the last of the largest words are the extremes

static void settle(const struct wf_word_arguments *r)
{
    int i = LANE, extreme = r->largest_count - r->index_count + i;
    if (i < r->index_count && ((const int64_t *)r->own)[extreme] != ((const int64_t *)r->largest)[extreme])
        ((int64_t *)r->indices)[i] = INT64_MIN;
}

// ---- the result

#ifdef FINISH_OP

static wf_error check_agreed(const struct wf_word_arguments *r)
{
    const int64_t *agreed = (const int64_t *)r->agreed;
    if (!agreed) return WF_OK;
    if (agreed[0]) return WF_ERROR_ARGUMENT;
    for (int i = 2; i < 6; i++)
        if ((wf_i128)agreed[1] * agreed[i + 4] != (wf_i128)agreed[i] * agreed[i]) return WF_ERROR_MERGE;
    return WF_OK;
}

static void clear_partial(struct wf_partial *partial)
{
    for (int i = LANE; i < (int)(sizeof *partial / 8); i += WORD_LANES) ((uint64_t *)partial)[i] = 0;
    __syncwarp();
    if (LANE) return;
    partial->min_key = partial->bits_and = UINT64_MAX;
    partial->min_index = partial->max_index = partial->first_nan = INT64_MAX;
    partial->product_magnitude = 1;
}

static wf_error take_words(const struct wf_word_arguments *r)
{
    struct wf_words words;
    wf_error error = check_agreed(r);
    if (error) return error;
    open_accumulator(r);
    if (!pass_elements(&words, WF_WORDS_TAKE)) return WF_ERROR_RANGE;
    wf_words_parts(&words, &shared_acc);
    return words.failed ? WF_ERROR_FORMAT : WF_OK;
}

static void take(const struct wf_word_arguments *r)
{
    struct finish_target target = {(void *)r->value, (int *)r->status};
    int error = 0;
    copy_in(shared_added, r->added, r->added_count);
    copy_in(shared_largest, r->largest, r->largest_count);
    copy_in(shared_indices, r->indices, r->index_count);
    clear_partial(&shared_acc.partial);
    __syncwarp();
    if (LANE == 0) error = (int)take_words(r);
    error = __shfl_sync(FINISH_LANES, error, 0);
    if (!error) {
        struct finish_settings settings = {shared_acc.count, shared_acc.first_index, shared_acc.end_index, r->ddof, FINISH_OP,
                                           FINISH_TYPE, FINISH_RESULT_TYPE, r->nan};
        finish(&shared_acc.partial, settings, target);
    } else if (LANE == 0) {
        wf_value value = failed_value((wf_type)FINISH_RESULT_TYPE);
        store_result(target, (wf_type)FINISH_RESULT_TYPE, value.v.u, (wf_error)error);
    }
}

#endif

extern "C" __global__ void __launch_bounds__(WORD_LANES) words(const __grid_constant__ struct wf_word_arguments task)
{
    if (task.step == WF_STEP_GIVE) give(&task);
    if (task.step == WF_STEP_SETTLE) settle(&task);
#ifdef FINISH_OP
    if (task.step == WF_STEP_TAKE) take(&task);
#endif
}
