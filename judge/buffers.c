#include "buffers.h"
#include "random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_signed(wf_type type) {
    return type >= WF_I8 && type <= WF_I64;
}

/* ---- elements ------------------------------------------------------------------------------------ */

long double element_get(wf_type type, const void *bytes, uint64_t i) {
    const size_t nbytes = wf_type_nbytes(type);
    const unsigned char *from = (const unsigned char *)bytes + i * nbytes;
    uint64_t bits = 0;
    float single;
    double wide;
    memcpy(&single, from, sizeof single < nbytes ? sizeof single : nbytes);
    if (type == WF_F32) return single;
    memcpy(&bits, from, nbytes); /* of a little-endian machine: the low bytes */
    memcpy(&wide, &bits, sizeof wide);
    if (type == WF_F64) return wide;
    unsigned unused = 64 - 8 * (unsigned)nbytes;
    return is_signed(type) ? (long double)((int64_t)(bits << unused) >> unused) : (long double)bits;
}

void element_put(wf_type type, void *bytes, uint64_t i, long double value) {
    const size_t nbytes = wf_type_nbytes(type);
    const float single = (float)value;
    const double wide = (double)value;
    const bool is_float = type == WF_F32 || type == WF_F64;
    uint64_t bits = is_float ? 0 : value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value;
    if (type == WF_F32) memcpy(&bits, &single, sizeof single);
    if (type == WF_F64) memcpy(&bits, &wide, sizeof wide);
    memcpy((unsigned char *)bytes + i * nbytes, &bits, nbytes);
}

/* ---- what nobody wrote ------------------------------------------------------------------------------- */

enum { NO_RESULT = 0xa5 }; /* in every byte: a float near -3e-16, an integer of no meaning */

bool is_no_result(const unsigned char *bytes, size_t nbytes) {
    size_t i = 0;
    while (i < nbytes && bytes[i] == NO_RESULT) i++;
    return i == nbytes;
}

/* ---- data ---------------------------------------------------------------------------------------- */

/* Often the first element or the last, where kernels begin and end; seldom the second value stands on the first. */
static uint64_t special_place(uint64_t seed, uint64_t number, uint64_t count) {
    const uint64_t bits = random_bits(~seed, number);
    return bits >> 62 == 0 ? 0 : bits >> 62 == 1 ? count - 1 : bits % count;
}

static double random_share(uint64_t seed, uint64_t number) {
    return ldexp((double)(random_bits(seed, number) >> 11), -53);
}

static double value_between(const struct generator *generator, double share) {
    if (generator->low == generator->high) return generator->low; /* maybe an infinity */
    const double span = generator->high - generator->low;
    return generator->is_uniform ? generator->low + share * span : floor(generator->low + share * (span + 1));
}

/* Small ones, where the generator has such: sums of equal elements are large, and a result that a type cannot hold shows
 * nothing. */
static void keep_small(struct generator *generator) {
    enum { SMALL = 8 };
    const double low = fmax(generator->low, -SMALL), high = fmin(generator->high, SMALL);
    if (low >= high) return;
    generator->low = low;
    generator->high = high;
}

/* Of floats the multiples of the golden ratio, of whole numbers one after the other. */
static double different_value(const struct generator *generator, uint64_t seed, uint64_t i) {
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    const double count = generator->high - generator->low + 1, start = floor(random_share(seed, 0) * count);
    if (!generator->is_uniform) return generator->low + fmod(start + (double)i, count);
    return value_between(generator, ldexp((double)((random_bits(seed, 0) + i * golden) >> 11), -53));
}

static void put_pattern(const struct argument *argument, struct buffer *buffer, const struct data *data,
                        struct generator generator, uint64_t seed) {
    const bool is_equal = data->pattern == PATTERN_EQUAL;
    if (is_equal || !generator.is_uniform) keep_small(&generator);
    const double equal = value_between(&generator, random_share(data->seed, 0));
    for (uint64_t i = 0; i < buffer->count; i++)
        element_put(argument->type, buffer->bytes, i, is_equal ? equal : different_value(&generator, seed, i));
}

static void generate(const struct argument *argument, struct buffer *buffer, const struct data *data,
                     uint64_t seed) {
    struct generator generator;
    size_t last = argument->content_count - 1;
    generator_read(argument->contents[data->set < last ? data->set : last], &generator);
    if (data->pattern != PATTERN_RANDOM && generator_varies(&generator)) {
        put_pattern(argument, buffer, data, generator, seed);
        return;
    }
    for (uint64_t i = 0; i < buffer->count; i++)
        element_put(argument->type, buffer->bytes, i, value_between(&generator, random_share(seed, i)));
    if (buffer->count <= generator.special_count) return; /* at least one number is left */
    for (size_t s = 0; s < generator.special_count; s++)
        element_put(argument->type, buffer->bytes, special_place(seed, s, buffer->count), generator.specials[s]);
}

static simt_error make_output(struct buffer *buffer, const struct judge_task *task,
                              const struct argument *argument, const struct scope *scope,
                              const struct data *data, simt_message *message) {
    long double value;
    if (!argument->content_count && data->is_unwritten) return SIMT_OK;
    buffer->bytes = malloc(buffer->nbytes + 1);
    if (!buffer->bytes) return fail_memory(message);
    memset(buffer->bytes, NO_RESULT, buffer->nbytes);
    if (!argument->content_count) return SIMT_OK;
    if (!task_number(task, argument->contents[0], scope, &value, message)) return SIMT_ERROR_ARGUMENT;
    for (uint64_t i = 0; i < buffer->count; i++) element_put(argument->type, buffer->bytes, i, value);
    return SIMT_OK;
}

static simt_error make_buffer(struct buffer *buffer, const struct judge_task *task,
                              const struct argument *argument, const struct scope *scope,
                              const struct data *data, simt_message *message) {
    long double value;
    int64_t count;
    if (argument->role == ROLE_SCALAR) {
        *buffer =
            (struct buffer){.count = 1, .nbytes = wf_type_nbytes(argument->type), .bytes = calloc(1, 8)};
        if (!buffer->bytes) return fail_memory(message);
        if (!task_number(task, argument->count, scope, &value, message)) return SIMT_ERROR_ARGUMENT;
        element_put(argument->type, buffer->bytes, 0, value);
        return SIMT_OK;
    }
    if (!task_whole(task, argument->count, scope, &count, message)) return SIMT_ERROR_ARGUMENT;
    if (!task_count_fits(task, argument, count, scope, message)) return SIMT_ERROR_ARGUMENT;
    *buffer =
        (struct buffer){.count = (uint64_t)count, .nbytes = (size_t)count * wf_type_nbytes(argument->type)};
    if (!has_data(argument->role)) return make_output(buffer, task, argument, scope, data, message);
    buffer->bytes = malloc(buffer->nbytes + 1);
    if (!buffer->bytes) return fail_memory(message);
    generate(argument, buffer, data, random_bits(data->seed, (uint64_t)(argument - task->arguments)));
    return SIMT_OK;
}

simt_error buffers_make(struct buffers *buffers, const struct judge_task *task, const struct scope *scope,
                        const struct data *data, simt_message *message) {
    *buffers = (struct buffers){0};
    simt_error error = SIMT_OK;
    for (size_t i = 0; i < task->argument_count && !error; i++)
        error = make_buffer(&buffers->items[i], task, &task->arguments[i], scope, data, message);
    return error;
}

void buffers_clear(struct buffers *buffers) {
    for (size_t i = 0; i < ARGUMENTS_MAX; i++) free(buffers->items[i].bytes);
    *buffers = (struct buffers){0};
}
