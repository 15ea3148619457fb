/* The arguments of one launch: arrays on the host, as bytes, and scalars. */
#ifndef JUDGE_BUFFERS_H
#define JUDGE_BUFFERS_H

#include "task.h"

struct buffer {
    unsigned char *bytes; /* what is in it before the launch; NULL: nobody has written it */
    uint64_t count;       /* elements; of a scalar 1 */
    size_t nbytes;
    uint64_t address; /* in the simulator */
};

struct buffers {
    struct buffer items[ARGUMENTS_MAX];
};

/* A kernel may go wrong only where elements are equal, or where none are: neither is likely in random data. */
enum pattern {
    PATTERN_RANDOM,
    PATTERN_EQUAL,    /* all inputs with the same generator are of one value */
    PATTERN_DIFFERENT /* no element is as the one before it */
};

/* What a launch's data are made of. */
struct data {
    size_t set; /* the number of the generator that each input takes, or its last one if it has fewer */
    uint64_t seed;
    bool is_unwritten; /* outputs without a value stay so; otherwise they are filled with bytes that are no
                          result */
    enum pattern pattern;
};

/* SIMT_ERROR_ARGUMENT or _MEMORY: the message says why.  buffers_clear in any case. */
simt_error buffers_make(struct buffers *buffers, const struct judge_task *task, const struct scope *scope,
                        const struct data *data, simt_message *message);
void buffers_clear(struct buffers *buffers);

/* Element i of the type; integers of 64 bits are exact, too, where long double has 64 digits. */
long double element_get(wf_type type, const void *bytes, uint64_t i);
void element_put(wf_type type, void *bytes, uint64_t i, long double value);

/* Whether these bytes of an output without a value are as they were before the launch. */
bool is_no_result(const unsigned char *bytes, size_t nbytes);

#endif
