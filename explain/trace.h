/* The trace: what the warps of one block did, event by event. */
#ifndef EXPLAIN_TRACE_H
#define EXPLAIN_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simt_observer.h"

enum trace_kind {
    TRACE_INSTRUCTION,
    TRACE_BRANCH,
    TRACE_ACCESS,
    TRACE_SHUFFLE,
    TRACE_WARP_BARRIER,
    TRACE_COPY,   /* a lane's bulk copy into shared memory */
    TRACE_BARRIER /* of the block: of no warp */
};

struct trace_event {
    enum trace_kind kind;
    uint32_t warp, pc;
    uint32_t active, mask;
    uint32_t taken; /* of a branch: the lanes that jump */
    /* for accesses: */
    enum simt_space space;
    enum simt_access_kind access;
    uint32_t element_nbytes, elements;
    size_t words; /* of accesses, shuffles and copies: where their lanes' words begin */
};

struct trace {
    simt_launch_view launch; /* places: the trace's own copy; their strings belong to the module */
    simt_place *places;
    struct trace_event *events;
    size_t count, capacity;
    uint64_t *words;
    size_t word_count, word_capacity;
    bool out_of_memory;
};

/* Fills the trace that is the launch's context, zeroed before, with all that the launch's first block does. */
extern const struct simt_observer trace_observer;
void trace_clear(struct trace *trace);

/* The lanes' addresses, and of a store the values: element e of lane l is at e * SIMT_LANES + l. */
const uint64_t *trace_addresses(const struct trace *trace, const struct trace_event *event);
const uint64_t *trace_values(const struct trace *trace, const struct trace_event *event);
/* For a shuffle: the lane whose value each lane receives. */
const uint64_t *trace_sources(const struct trace *trace, const struct trace_event *event);

/* Bytes that a copy brings from global memory to an offset in the block's shared memory. */
struct trace_copy {
    uint64_t from, to, nbytes;
};
struct trace_copy trace_copied(const struct trace *trace, const struct trace_event *event);

/* Whether the instruction itself reduces the lanes of a warp (redux). */
bool trace_is_warp_reduction(const struct trace *trace, const struct trace_event *event);

/* Whether the event is a branch that some of its lanes take and others do not. */
bool trace_diverges(const struct trace_event *event);

/* ---- accesses of memory */

/* Whether the event is an access of global or shared memory. */
bool trace_is_memory(const struct trace_event *event);

/* For an access of global memory: how many aligned lines of line_nbytes (a power of two) its lanes touch. */
uint32_t trace_lines(const struct trace *trace, const struct trace_event *event, uint32_t line_nbytes);

/* Of an access of shared memory: its wavefronts, and what the same lanes would need if their words were
 * consecutive. */
uint32_t trace_wavefronts(const struct trace *trace, const struct trace_event *event, uint32_t *least);

/* The wavefront that serves each word of shared memory that a lane accesses. */
enum { TRACE_WORDS_MAX = 16 * SIMT_LANES };

struct trace_word {
    uint32_t lane, wavefront;
    uint64_t word; /* of 4 bytes; its bank is the remainder by the number of banks */
};

/* The words that the lanes of an access want, by lane; returns how many. */
uint32_t trace_words(const struct trace *trace, const struct trace_event *event,
                     struct trace_word words[TRACE_WORDS_MAX]);

#endif
