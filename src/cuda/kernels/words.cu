// Words of a partial for collectives, and the result of all ranks' words: by one warp for each result, of which one lane runs
// the core's own functions in shared memory.
//
// The options are those of reduce.cu, of which -DTYPE_<name>, -DIS_INDEXED=, -DFINISH_OP= and so on are used; without
// FINISH_OP there is no result.

#include "kernels/finish.cuh"
#include "word_arguments.h"
#include "core/exact.c"
#include "core/device_words.h"
#include "core/words.c"
#include "group_arguments.h"

#define LANE (threadIdx.x % 32)
#define WORD_LANES 32

// ---- what the core's functions ask of files that are not compiled here

bool wf_accumulator_is_indexed(const struct wf_accumulator *acc)
{
    (void)acc;
    return IS_INDEXED;
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

// What comes before a result's parts: of one with a shape its count, since the elements of all have been passed.
static bool pass_count(const struct wf_word_arguments *r, struct wf_words *words, enum wf_words_direction direction)
{
    if (!r->has_shape) return pass_elements(words, direction);
    pass_words(words, direction);
    wf_words_count(words, (uint64_t *)&shared_acc.count);
    return true;
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

// ---- where words are

typedef struct {
    int64_t *added, *largest, *indices;
    int added_count, largest_count, index_count;
} words_place;

static words_place place_of_result(const struct wf_word_arguments *r, int64_t number)
{
    words_place place = {(int64_t *)r->added + r->head_added + number * r->added_count,
                         (int64_t *)r->largest + r->head_largest + number * r->largest_count,
                         (int64_t *)r->indices + number * r->index_count,
                         r->added_count,
                         r->largest_count,
                         r->index_count};
    return place;
}

static words_place place_of_head(const struct wf_word_arguments *r)
{
    words_place place = {(int64_t *)r->added, (int64_t *)r->largest, NULL, r->head_added, r->head_largest, 0};
    return place;
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
static void write_indices(const words_place *to, bool joins)
{
    int i = LANE, extreme = to->largest_count - to->index_count + i;
    if (i >= to->index_count) return;
    int64_t mine = shared_indices[i];
    if (joins) {
        int64_t before = to->largest[extreme], key = shared_largest[extreme];
        if (before > key || (before == key && to->indices[i] > mine)) mine = to->indices[i];
    }
    to->indices[i] = mine;
}

static void write_words(words_place to, bool joins)
{
    write_indices(&to, joins); // these ask for the largest as they were
    __syncwarp();
    for (int i = LANE; i < to.added_count; i += WORD_LANES)
        to.added[i] = shared_added[i] + (joins ? to.added[i] : 0);
    for (int i = LANE; i < to.largest_count; i += WORD_LANES)
        to.largest[i] = joins && to.largest[i] > shared_largest[i] ? to.largest[i] : shared_largest[i];
    __syncwarp();
}

// Those of what is in shared memory.
static void give_result(const struct wf_word_arguments *r, int64_t number)
{
    __syncwarp();
    if (LANE == 0) {
        struct wf_words words;
        pass_count(r, &words, WF_WORDS_GIVE);
        wf_words_parts(&words, &shared_acc);
        if (r->index_count) {
            pass_count(r, &words, WF_WORDS_SETTLE);
            wf_words_parts(&words, &shared_acc);
        }
    }
    __syncwarp();
    write_words(place_of_result(r, number), r->joins);
}

// The words of all elements, which come before those of results.
static void give_head(const struct wf_word_arguments *r)
{
    if (LANE == 0) {
        struct wf_words words;
        open_accumulator(r);
        pass_elements(&words, WF_WORDS_GIVE);
    }
    __syncwarp();
    write_words(place_of_head(r), r->joins);
}

// As accumulators with a shape have it, which of xor keep nothing else.
static void open_result(const struct wf_word_arguments *r, int64_t count)
{
    __syncwarp();
    if (LANE) return;
    open_accumulator(r);
    shared_acc.count = count;
    shared_acc.xor_alone = r->op == WF_XOR;
    if (shared_acc.xor_alone) wf_accumulator_forget_bits(&shared_acc);
}

// Takes the partial of a group from slot i, which has the sum of magnitudes where that of values is otherwise.  Returns the
// number of the group's result.
static int64_t take_slot(const struct wf_word_arguments *r, int64_t i)
{
    const struct wf_group_slot *slot = (const struct wf_group_slot *)r->slots + i;
    copy_in((int64_t *)&shared_acc.partial, (uint64_t)&slot->partial, sizeof(struct wf_partial) / 8);
    if (HAS_ABS) copy_in((int64_t *)shared_acc.partial.abs, (uint64_t)slot->partial.sum, WF_SUM_DIGITS);
    open_result(r, slot->count);
    return r->first_result + slot->result;
}

// Of a rank without elements.
static int64_t take_nothing(const struct wf_word_arguments *r, int64_t i)
{
    clear_partial(&shared_acc.partial);
    open_result(r, 0);
    return i;
}

static void give_results(const struct wf_word_arguments *r)
{
    bool is_first = blockIdx.x == 0 && r->first_result == 0;
    int64_t count = r->slots ? r->slot_count : r->results;
    if (is_first) give_head(r);
    for (int64_t i = blockIdx.x; i < count; i += gridDim.x)
        give_result(r, r->slots ? take_slot(r, i) : take_nothing(r, i));
    if (is_first && !r->joins) write_agreed(r);
    __syncwarp();
    bool is_wrong = r->bad && *(const uint64_t *)r->bad != UINT64_MAX;
    if (blockIdx.x == 0 && LANE == 0 && is_wrong && r->agreed) *(int64_t *)r->agreed = 1;
}

static void give(const struct wf_word_arguments *r)
{
    if (r->has_shape) {
        give_results(r);
        return;
    }
    copy_in((int64_t *)&shared_acc.partial, r->partial, sizeof(struct wf_partial) / 8);
    if (LANE == 0) open_accumulator(r);
    give_result(r, 0);
    if (!r->joins) write_agreed(r);
}

// ---- indices of extremes: the last of the largest words are the extremes

static void settle(const struct wf_word_arguments *r)
{
    int64_t count = (r->has_shape ? r->results : 1) * r->index_count;
    for (int64_t i = (int64_t)blockIdx.x * WORD_LANES + LANE; i < count; i += (int64_t)gridDim.x * WORD_LANES) {
        int64_t number = i / r->index_count, end = r->head_largest + (number + 1) * r->largest_count;
        int64_t extreme = end - r->index_count + i % r->index_count;
        if (((const int64_t *)r->own)[extreme] != ((const int64_t *)r->largest)[extreme])
            ((int64_t *)r->indices)[i] = INT64_MIN;
    }
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

static void copy_words_in(words_place from)
{
    copy_in(shared_added, (uint64_t)from.added, from.added_count);
    copy_in(shared_largest, (uint64_t)from.largest, from.largest_count);
    copy_in(shared_indices, (uint64_t)from.indices, from.index_count);
    __syncwarp();
}

// By one lane: the words of a result.  most: elements that it can have.
static wf_error take_words(const struct wf_word_arguments *r, int64_t most)
{
    struct wf_words words;
    if (!pass_count(r, &words, WF_WORDS_TAKE)) return WF_ERROR_RANGE;
    if (shared_acc.count > most) return WF_ERROR_FORMAT;
    wf_words_parts(&words, &shared_acc);
    return words.failed ? WF_ERROR_FORMAT : WF_OK;
}

// Makes the result of a result's words, unless there has been an error.
static void take_result(const struct wf_word_arguments *r, words_place from, wf_error before, int64_t most,
                        struct finish_target target)
{
    int error = (int)before;
    copy_words_in(from);
    clear_partial(&shared_acc.partial);
    __syncwarp();
    if (LANE == 0 && !error) error = (int)take_words(r, most);
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

// By one lane: what all elements' words tell, of which shared_acc has the count and the indices then.
static wf_error take_head(const struct wf_word_arguments *r)
{
    struct wf_words words;
    const bool is_index = FINISH_OP == WF_ARGMIN || FINISH_OP == WF_ARGMAX;
    wf_error error = check_agreed(r);
    open_accumulator(r);
    if (error) return error;
    if (!pass_elements(&words, WF_WORDS_TAKE)) return WF_ERROR_RANGE;
    if (words.failed) return WF_ERROR_FORMAT;
    return is_index && shared_acc.count > shared_acc.end_index - shared_acc.first_index ? WF_ERROR_MERGE : WF_OK;
}

static void *place_of_value(const struct wf_word_arguments *r, int64_t number)
{
    char *place = (char *)r->value;
    for (int d = r->ndim - 1; d >= 0; d--) {
        place += number % r->shape[d] * r->stride_bytes[d];
        number /= r->shape[d];
    }
    return place;
}

// By one lane: a result to its place; what has no value is the fill.
static void put_result(const struct wf_word_arguments *r, int64_t number, uint64_t bits, wf_error error)
{
    struct finish_target target = {place_of_value(r, number), NULL};
    const bool is_filled = error == WF_ERROR_EMPTY && r->has_fill;
    store_result(target, (wf_type)FINISH_RESULT_TYPE, is_filled ? r->fill : bits, WF_OK);
    if (error && !is_filled)
        atomicMin((unsigned long long *)r->failed, (unsigned long long)number << 8 | (unsigned long long)error);
}

static void take_results(const struct wf_word_arguments *r)
{
    __shared__ uint64_t value;
    __shared__ int status;
    struct finish_target target = {&value, &status};
    int64_t most = 0;
    wf_error before = WF_OK;
    copy_words_in(place_of_head(r));
    if (LANE == 0) before = take_head(r);
    __syncwarp();
    before = (wf_error)__shfl_sync(FINISH_LANES, (int)before, 0);
    most = shared_acc.count;
    for (int64_t i = blockIdx.x; i < r->results; i += gridDim.x) {
        __syncwarp();
        if (LANE == 0) value = 0;
        take_result(r, place_of_result(r, i), before, most, target);
        __syncwarp();
        if (LANE == 0) put_result(r, i, value, (wf_error)status);
    }
}

static void take(const struct wf_word_arguments *r)
{
    struct finish_target target = {(void *)r->value, (int *)r->status};
    wf_error error = WF_OK;
    if (r->has_shape) {
        take_results(r);
        return;
    }
    if (LANE == 0) error = check_agreed(r);
    if (LANE == 0) open_accumulator(r);
    take_result(r, place_of_result(r, 0), error, INT64_MAX, target);
}

static void leave_status(const struct wf_word_arguments *r)
{
    uint64_t failed = *(const uint64_t *)r->failed;
    if (LANE == 0) *(int *)r->status = failed == UINT64_MAX ? WF_OK : (int)(failed & 255);
}

#endif

extern "C" __global__ void __launch_bounds__(WORD_LANES) words(const __grid_constant__ struct wf_word_arguments task)
{
    if (task.step == WF_STEP_GIVE) give(&task);
    if (task.step == WF_STEP_SETTLE) settle(&task);
#ifdef FINISH_OP
    if (task.step == WF_STEP_TAKE) take(&task);
    if (task.step == WF_STEP_STATUS) leave_status(&task);
#endif
}
