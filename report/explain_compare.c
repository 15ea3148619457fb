/* Prints counts next to the predictions of the closed forms. */
#include <inttypes.h>
#include <math.h>

#include "explain_words.h"

enum { CELL_MAX = 48 };

/* NAN: there is no prediction. */
struct count {
    double counted, predicted;
};

static void format_count(char text[CELL_MAX], struct count count) {
    if (isnan(count.predicted))
        snprintf(text, CELL_MAX, "%.6g", count.counted);
    else
        snprintf(text, CELL_MAX, "%.6g (%.6g)", count.counted, count.predicted);
}

static bool differs(struct count count) {
    return !isnan(count.predicted) && count.counted != count.predicted;
}

/* ---- steps --------------------------------------------------------------------------------------- */

struct column {
    const char *heading;
    double (*value)(const struct tally *tally);
};

static double active_lanes(const struct tally *tally) {
    return (double)tally->active_lanes;
}

static double warps(const struct tally *tally) {
    return (double)tally->warps;
}

static double divergent_warps(const struct tally *tally) {
    return (double)tally->divergent_warps;
}

static double global_requests(const struct tally *tally) {
    return (double)tally->global_requests;
}

static double shared_wavefronts(const struct tally *tally) {
    return (double)tally->shared_wavefronts;
}

static double bank_degree(const struct tally *tally) {
    return tally->bank_degree;
}

enum { COLUMNS = 6 };
static const struct column columns[COLUMNS] = {
    {"active lanes", active_lanes},    {"warps", warps},
    {"divergent", divergent_warps},    {"requests", global_requests},
    {"wavefronts", shared_wavefronts}, {"bank degree", bank_degree},
};

/* Returns whether any count differs from its prediction. */
static bool put_row(FILE *stream, const char *name, const struct tally *counted,
                    const struct tally *predicted) {
    bool any = false;
    fprintf(stream, "  %-6s", name);
    for (int i = 0; i < COLUMNS; i++) {
        struct count count = {columns[i].value(counted), predicted ? columns[i].value(predicted) : NAN};
        char text[CELL_MAX];
        format_count(text, count);
        fprintf(stream, "  %14s", text);
        any |= differs(count);
    }
    fputc('\n', stream);
    return any;
}

static bool put_steps(FILE *stream, const struct explanation *explanation) {
    const struct timeline *timeline = &explanation->timeline;
    const struct prediction *prediction = &explanation->prediction;
    bool any = false;
    fprintf(stream, "  %-6s", "step");
    for (int i = 0; i < COLUMNS; i++) fprintf(stream, "  %14s", columns[i].heading);
    fputc('\n', stream);
    for (size_t i = 0; i < timeline->step_count; i++) {
        char name[32];
        bool is_predicted = prediction->has_tree && i < prediction->step_count;
        snprintf(name, sizeof name, "%zu", i + 1);
        any |= put_row(stream, name, &timeline->steps[i].tally, is_predicted ? &prediction->steps[i] : NULL);
    }
    return any | put_row(stream, "all", &timeline->total, prediction->has_tree ? &prediction->total : NULL);
}

/* ---- the whole block ----------------------------------------------------------------------------- */

static bool put_count(FILE *stream, const char *name, struct count count) {
    char text[CELL_MAX];
    format_count(text, count);
    fprintf(stream, "  %-36s %s\n", name, text);
    return differs(count);
}

static void put_share(FILE *stream, uint64_t part, uint64_t whole) {
    fprintf(stream, "%" PRIu64 "/%" PRIu64 " = %.1f %%", part, whole,
            whole ? 100 * (double)part / (double)whole : 100);
}

static double if_known(bool is_known, double predicted) {
    return is_known ? predicted : NAN;
}

static bool put_tree_counts(FILE *stream, const struct explanation *explanation) {
    const struct timeline *timeline = &explanation->timeline;
    const struct prediction *prediction = &explanation->prediction;
    bool known = prediction->has_tree, any = false;
    double steps = (double)timeline->step_count;
    any |= put_count(stream, "steps", (struct count){steps, if_known(known, (double)prediction->step_count)});
    any |= put_count(stream, "average parallelism, lanes per step",
                     (struct count){(double)timeline->total.active_lanes / (steps > 0 ? steps : 1),
                                    if_known(known, prediction->average_parallelism)});
    fprintf(stream, "  %-36s ", "lanes used");
    put_share(stream, timeline->total.active_lanes, timeline->lane_steps);
    if (known) fputs(" (", stream);
    if (known) put_share(stream, prediction->total.active_lanes, prediction->lane_steps);
    fputs(known ? ")\n" : "\n", stream);
    return any;
}

static bool put_block_counts(FILE *stream, const struct explanation *explanation) {
    const struct tally *outside = &explanation->timeline.outside;
    const struct prediction *prediction = &explanation->prediction;
    const struct tally *predicted = &prediction->outside;
    bool known = prediction->has_outside, any = false;
    any |= put_count(stream, "global requests outside the tree",
                     (struct count){(double)outside->global_requests,
                                    if_known(known, (double)predicted->global_requests)});
    any |= put_count(stream, "shared wavefronts outside the tree",
                     (struct count){(double)outside->shared_wavefronts,
                                    if_known(known, (double)predicted->shared_wavefronts)});
    bool is_one = explanation->rung.cluster == 1; /* counts of the launch are those of one block */
    any |= put_count(stream, is_one ? "barriers" : "barriers of the whole cluster",
                     (struct count){explain_count(explanation, "barriers"),
                                    if_known(prediction->has_barriers, (double)prediction->barriers)});
    any |= put_count(stream, is_one ? "atomic operations" : "atomic operations of the cluster",
                     (struct count){explain_count(explanation, "atomics"),
                                    if_known(prediction->has_atomics, (double)prediction->atomics)});
    any |= put_count(stream, "races", (struct count){explain_count(explanation, "races"), 0});
    any |=
        put_count(stream, "resident blocks per multiprocessor",
                  (struct count){explain_count(explanation, "resident_blocks"), prediction->resident_blocks});
    fprintf(stream, "  %-36s %" PRIu32 " threads, %zu bytes of shared memory\n", "each using",
            explanation->block, explanation->trace.launch.shared_nbytes);
    return any;
}

/* ---- why ----------------------------------------------------------------------------------------- */

/* Compares coarsening with blocks of rung 09 that add the same elements one after the other. */
static void put_coarsening(FILE *stream, const struct explanation *explanation) {
    uint64_t pairs = explanation->rung.tile / 2;
    size_t steps = explanation->timeline.step_count;
    if (explanation->rung.strides || !explanation->rung.coarsen) return;
    fprintf(stream,
            "  A thread adds %" PRIu32 " elements in %" PRIu64 " steps before the tree: %" PRIu64
            " + %zu = %" PRIu64 " steps; %" PRIu64 " blocks of\n  rung 09 one after the other take %" PRIu64
            " x (1 + %zu) = %" PRIu64 ".\n",
            explanation->rung.tile, 2 * pairs - 1, 2 * pairs - 1, steps, 2 * pairs - 1 + steps, pairs, pairs,
            steps, pairs * (1 + steps));
}

static void put_reasons(FILE *stream, const struct explanation *explanation, bool any_differs) {
    const struct prediction *prediction = &explanation->prediction;
    if (any_differs && explanation->schedule != SIMT_LOCKSTEP)
        fputs("  The closed forms assume that the lanes of a warp stay together; under this schedule they ran\n"
              "  apart.\n",
              stream);
    else if (any_differs)
        fputs("  Where they differ, the compiled kernel does not do what the closed form assumes.\n", stream);
    else if (!prediction->has_tree && explanation->timeline.start_store == STORE_INPUT &&
             prediction->barriers)
        fprintf(stream, "  The closed forms assume a full tile, here %" PRIu64 " elements.\n",
                (uint64_t)explanation->rung.tile * explanation->block);
}

void put_comparison(FILE *stream, const struct explanation *explanation) {
    bool any = false;
    fputs("\ncounted (predicted by the closed forms)\n", stream);
    if (explanation->timeline.step_count) {
        any |= put_steps(stream, explanation);
        any |= put_tree_counts(stream, explanation);
    }
    any |= put_block_counts(stream, explanation);
    put_reasons(stream, explanation, any);
    put_coarsening(stream, explanation);
}
