/* Instructions that the lanes of a warp execute together. */
#ifndef SIMT_COLLECTIVE_H
#define SIMT_COLLECTIVE_H

#include "decoder.h"

/* The lanes that execute one collective instruction, from one or several paths (and, in called functions, frames). */
struct collective {
    struct warp *warp;
    const struct code *code;
    struct path *path; /* one of them */
    uint32_t lanes;
    uint32_t predicate; /* the second result */
    bool is_together;   /* all are in that path: path_of is not filled */
    struct path *path_of[SIMT_LANES];
    uint64_t results[SIMT_LANES];
};

/* The operand with the lanes that take part, in code->call.slots. */
enum { COLLECTIVE_MEMBERS = 5 };

static inline const struct path *simt_path_of(const struct collective *collective, uint32_t lane) {
    bool is_elsewhere = !collective->is_together && collective->path_of[lane];
    return is_elsewhere ? collective->path_of[lane] : collective->path;
}

/* execute_warp.c: calls code->collective.function once all lanes are there. */
enum outcome simt_execute_collective(struct warp *warp, struct path *path, const struct code *code, uint32_t mask);

/* execute_matrix.c: whether all 32 lanes take part; if not, a finding is recorded and the launch stopped. */
bool simt_all_are_there(const struct collective *collective);

#endif
