/* The explanation for people. */
#include <inttypes.h>
#include <string.h>

#include "explain.h"

enum {
    COMBINES_SHOWN = 16, /* of a step */
    CELLS_SHOWN = 32,
    WARPS_SHOWN = 8,
    CONFLICTS_SHOWN = 8,
    SYMBOL_ELEMENTS_MAX = 32, /* of a block whose symbols are shown */
    TEXT_WIDTH = 100,
    LABEL_WIDTH = 10,
    LINE_NBYTES = 128,
    BANK_NBYTES = 4,
};

struct paper {
    FILE *stream;
    const struct explanation *explanation;
    const struct story *story;
    const char *bold, *good, *bad, *plain; /* colours, or nothing */
};

static uint32_t warp_size(const struct paper *paper) {
    return paper->explanation->settings.warp_size;
}

static const char *plural(uint64_t count) {
    return count == 1 ? "" : "s";
}

/* ---- lists of cells ------------------------------------------------------------------------------ */

typedef void put_function(FILE *stream, const struct explanation *explanation, const struct cell *cell);

static void put_cell_value(FILE *stream, const struct explanation *explanation, const struct cell *cell) {
    put_bits(stream, explanation, cell->bits);
}

static void put_cell_symbol(FILE *stream, const struct explanation *explanation, const struct cell *cell) {
    put_symbol(stream, explanation, cell->term);
}

/* Threads whose registers the result does not need show a dot. */
static bool is_idle(const struct paper *paper, enum store store, const struct cell *cell) {
    return store == STORE_REGISTERS && !story_uses(paper->story, *cell);
}

/* All lanes have what a warp reduction gives: it is written once. */
static bool is_repeated(const struct paper *paper, enum store store, const struct cell *cell) {
    return store == STORE_REGISTERS && cell[0].term == cell[-1].term && cell->term > paper->explanation->n &&
           !is_idle(paper, store, cell);
}

/* "[a, b, c]", wrapped below its first word. */
static void put_cells(const struct paper *paper, enum store store, const struct cell *cells,
                      put_function *put) {
    size_t count = paper->story->cell_counts[store], shown = count < CELLS_SHOWN ? count : CELLS_SHOWN;
    long column = LABEL_WIDTH + 3;
    fputc('[', paper->stream);
    for (size_t i = 0; i < shown; i++) {
        char word[4096] = ".";
        FILE *stream = fmemopen(word, sizeof word, "w");
        if (stream && i && is_repeated(paper, store, &cells[i]))
            fputs("same", stream);
        else if (stream && !is_idle(paper, store, &cells[i]))
            put(stream, paper->explanation, &cells[i]);
        if (stream) fclose(stream);
        bool is_wrapped = i && column + (long)strlen(word) + 2 > TEXT_WIDTH;
        if (is_wrapped) column = LABEL_WIDTH + 3;
        if (i) fputs(is_wrapped ? "," : ", ", paper->stream);
        if (is_wrapped) fprintf(paper->stream, "\n%*s", LABEL_WIDTH + 3, "");
        column += (long)strlen(word) + 2;
        fputs(word, paper->stream);
    }
    if (count > shown) fprintf(paper->stream, ", ... %zu more", count - shown);
    fputs("]\n", paper->stream);
}

static const char *const store_names[STORES] = {"input", "shared", "registers", "result"};

static void put_store(const struct paper *paper, enum store store, const struct cell *cells) {
    fprintf(paper->stream, "  %-*s", LABEL_WIDTH, store_names[store]);
    put_cells(paper, store, cells, put_cell_value);
    if (paper->explanation->n > SYMBOL_ELEMENTS_MAX) return;
    fprintf(paper->stream, "  %-*s", LABEL_WIDTH, "symbols");
    put_cells(paper, store, cells, put_cell_symbol);
}

/* ---- who adds what to what ----------------------------------------------------------------------- */

static uint64_t cell_address(const struct paper *paper, enum store store, uint32_t index) {
    uint64_t base = store == STORE_SHARED ? paper->story->shared_offset : 0;
    return base + (uint64_t)index * paper->story->element_nbytes;
}

/* The bank of a cell in shared memory, the line of one in global memory. */
static uint64_t cell_place(const struct paper *paper, enum store store, uint32_t index) {
    uint64_t address = cell_address(paper, store, index);
    if (store == STORE_INPUT) return address / LINE_NBYTES;
    return address / BANK_NBYTES % paper->explanation->settings.banks;
}

static void put_source(const struct paper *paper, enum store store, uint32_t source) {
    if (store == STORE_RESULT)
        fputs("its value", paper->stream);
    else if (store == STORE_REGISTERS)
        fprintf(paper->stream, "thread %" PRIu32 "'s", source);
    else
        put_cell(paper->stream, store, source);
}

static void put_sources(const struct paper *paper, enum store store, const struct combine *combine) {
    const uint32_t *sources = &paper->story->sources[combine->sources];
    uint32_t last = combine->source_count - 1;
    put_source(paper, store, sources[0]);
    if (last > 1)
        fprintf(paper->stream, " ... ");
    else if (last == 1)
        fprintf(paper->stream, ", ");
    if (last > 0) put_source(paper, store, sources[last]);
}

/* "shared[0] += shared[1]", or "shared[0] = max(shared[0], shared[1])". */
static void put_operation(const struct paper *paper, enum store store, const struct combine *combine) {
    wf_op op = paper->explanation->variant.op;
    bool is_infix = op == WF_SUM || op == WF_PROD;
    put_cell(paper->stream, store, combine->target);
    if (is_infix) {
        fputs(op == WF_SUM ? " += " : " *= ", paper->stream);
    } else {
        fprintf(paper->stream, " = %s(", wf_op_name(op));
        put_cell(paper->stream, store, combine->target);
        fputs(", ", paper->stream);
    }
    put_sources(paper, store, combine);
    if (!is_infix) fputc(')', paper->stream);
}

static void put_combine(const struct paper *paper, enum store store, const struct combine *combine) {
    const uint32_t *sources = &paper->story->sources[combine->sources];
    fprintf(paper->stream, "  Thread %" PRIu32 ": ", combine->thread);
    put_operation(paper, store, combine);
    if (store == STORE_SHARED || store == STORE_INPUT) {
        fprintf(paper->stream, "  %s %" PRIu64, store == STORE_SHARED ? "banks" : "lines",
                cell_place(paper, store, combine->target));
        for (uint32_t i = 0; i < combine->source_count; i++)
            fprintf(paper->stream, ", %" PRIu64, cell_place(paper, store, sources[i]));
    }
    fputs(" -> ", paper->stream);
    put_bits(paper->stream, paper->explanation, combine->made.bits);
    fputc('\n', paper->stream);
}

/* Those that the result needs; how many others there are. */
static void put_combines(const struct paper *paper, const struct step *step) {
    size_t used = 0, unused = 0;
    for (size_t i = 0; i < step->combine_count; i++) {
        const struct combine *combine = &paper->story->combines[step->combines + i];
        bool is_unused = step->store == STORE_REGISTERS && !story_uses(paper->story, combine->made);
        if (is_unused)
            unused++;
        else if (used++ < COMBINES_SHOWN)
            put_combine(paper, step->store, combine);
    }
    if (used > COMBINES_SHOWN) fprintf(paper->stream, "  ... and %zu threads more\n", used - COMBINES_SHOWN);
    if (unused)
        fprintf(paper->stream, "  %zu more thread%s the same, and nobody uses what %s\n", unused,
                unused == 1 ? " does" : "s do", unused == 1 ? "it gets" : "they get");
}

static void put_guard(const struct paper *paper, const struct step *step) {
    if (!step->guard_line) return;
    fputs("  ", paper->stream);
    put_source_line(paper->stream, paper->explanation->rung.file, step->guard_line);
    fputs("\n    yes: threads ", paper->stream);
    put_threads(paper->stream, paper->explanation, step->active, false);
    if (step->tally.active_lanes < paper->explanation->block) {
        fputs("\n    no:  threads ", paper->stream);
        put_threads(paper->stream, paper->explanation, step->active, true);
    }
    fputc('\n', paper->stream);
}

/* ---- lanes --------------------------------------------------------------------------------------- */

static void put_warp(const struct paper *paper, uint32_t warp, uint32_t lanes) {
    uint32_t first = warp * warp_size(paper), size = paper->explanation->block - first;
    if (size > warp_size(paper)) size = warp_size(paper);
    fprintf(paper->stream, "  warp %-*" PRIu32, LABEL_WIDTH - 5, warp);
    fputs(paper->good, paper->stream);
    for (uint32_t lane = 0; lane < size; lane++) fputc(lanes >> lane & 1 ? '#' : '.', paper->stream);
    fprintf(paper->stream, "%s  %d of %" PRIu32 "\n", paper->plain, __builtin_popcount(lanes), size);
}

static void put_warps(const struct paper *paper, const struct step *step) {
    uint32_t shown = paper->story->warp_count < WARPS_SHOWN ? paper->story->warp_count : WARPS_SHOWN;
    for (uint32_t warp = 0; warp < shown; warp++) put_warp(paper, warp, step->active[warp]);
    uint64_t rest = step->tally.warps;
    for (uint32_t warp = 0; warp < shown; warp++) rest -= step->active[warp] != 0;
    if (shown < paper->story->warp_count)
        fprintf(paper->stream, "  ... %" PRIu32 " warps more, %" PRIu64 " of them with active lanes\n",
                paper->story->warp_count - shown, rest);
}

/* ---- bank conflicts ------------------------------------------------------------------------------ */

/* Who meets in a bank in the step's worst access. */
static void put_conflict(const struct paper *paper, size_t index) {
    uint32_t threads[SIMT_LANES];
    const struct step *step = &paper->story->steps[index];
    uint32_t count = story_conflict(paper->story, step, threads);
    if (!count) return;
    fprintf(paper->stream, "  %sbank conflict%s: threads", paper->bad, paper->plain);
    for (uint32_t i = 0; i < count && i < CONFLICTS_SHOWN; i++)
        fprintf(paper->stream, "%s %" PRIu32, i ? "," : "", threads[i]);
    if (count > CONFLICTS_SHOWN) fprintf(paper->stream, " ... %" PRIu32 " in all", count);
    fputs(" want different words of one bank", paper->stream);
    const struct prediction *prediction = &paper->explanation->prediction;
    if (prediction->has_tree && index < prediction->step_count) {
        struct conflict predicted = prediction->conflicts[index];
        fprintf(paper->stream, " (predicted: %" PRIu32 ", each %" PRIu32 " further on)", predicted.count,
                predicted.spacing);
    }
    fputc('\n', paper->stream);
}

/* ---- steps --------------------------------------------------------------------------------------- */

static void put_counts(const struct paper *paper, const struct step *step) {
    const struct tally *tally = &step->tally;
    fprintf(paper->stream, "  %" PRIu64 " lane%s active of %" PRIu64, tally->active_lanes,
            plural(tally->active_lanes), tally->warps * warp_size(paper));
    fprintf(paper->stream, ", %s%" PRIu64 " warp%s diverge%s%s", tally->divergent_warps ? paper->bad : "",
            tally->divergent_warps, plural(tally->divergent_warps), tally->divergent_warps == 1 ? "s" : "",
            tally->divergent_warps ? paper->plain : "");
    if (tally->global_requests)
        fprintf(paper->stream, ", %" PRIu64 " global request%s", tally->global_requests,
                plural(tally->global_requests));
    if (tally->shared_wavefronts)
        fprintf(paper->stream, ", %" PRIu64 " shared wavefront%s, %sbank degree %g%s",
                tally->shared_wavefronts, plural(tally->shared_wavefronts),
                tally->bank_degree > 1 ? paper->bad : "", tally->bank_degree,
                tally->bank_degree > 1 ? paper->plain : "");
    fputc('\n', paper->stream);
}

static void put_step(const struct paper *paper, size_t index) {
    const struct step *step = &paper->story->steps[index];
    fprintf(paper->stream, "\n%sstep %zu of %zu%s\n", paper->bold, index + 1, paper->story->step_count,
            paper->plain);
    put_guard(paper, step);
    put_combines(paper, step);
    put_warps(paper, step);
    put_counts(paper, step);
    put_conflict(paper, index);
    put_banks(paper->stream, paper->explanation, index, paper->bad, paper->plain);
    put_store(paper, step->store, step->after);
}

/* ---- the whole ----------------------------------------------------------------------------------- */

static void put_head(const struct paper *paper) {
    const struct explanation *explanation = paper->explanation;
    fprintf(paper->stream, "%s%s: %s%s\n", paper->bold, explanation->rung.id, explanation->rung.title,
            paper->plain);
    fprintf(paper->stream,
            "%s of %" PRIu64 " %s in a block of %" PRIu32 " thread%s, warps of %" PRIu32 " lane%s, %" PRIu32
            " bank%s\n",
            wf_op_name(explanation->variant.op), explanation->n, wf_type_name(explanation->variant.type),
            explanation->block, plural(explanation->block), warp_size(paper), plural(warp_size(paper)),
            explanation->settings.banks, plural(explanation->settings.banks));
    if (paper->story->step_count)
        fprintf(paper->stream, "\n%sbefore the tree%s\n", paper->bold, paper->plain);
    if (paper->story->step_count) put_store(paper, paper->story->start_store, paper->story->start);
}

static void put_result(const struct paper *paper) {
    const struct explanation *explanation = paper->explanation;
    uint64_t bits = 0;
    memcpy(&bits, &explanation->result.value.as, paper->story->element_nbytes);
    fprintf(paper->stream, "\n%sresult%s ", paper->bold, paper->plain);
    put_bits(paper->stream, explanation, bits);
    if (explanation->variant.op == WF_ARGMAX)
        fprintf(paper->stream, " at index %" PRId64, explanation->result.index);
    if (explanation->n <= SYMBOL_ELEMENTS_MAX) {
        fputs(" = ", paper->stream);
        put_symbol(paper->stream, explanation, paper->story->result.term);
    }
    fputc('\n', paper->stream);
}

static void put_findings(const struct paper *paper) {
    const simt_report *report = paper->explanation->report;
    for (size_t i = 0; i < simt_report_finding_count(report); i++) {
        const simt_finding *finding = simt_report_finding(report, i);
        fprintf(paper->stream, "%s%s%s at %s:%" PRIu32 ", thread %" PRIu32 ": %s\n", paper->bad,
                simt_finding_kind_name(finding->kind), paper->plain, finding->file, finding->line,
                finding->thread[0], finding->message);
    }
}

void put_page(FILE *stream, const struct explanation *explanation, bool has_colour) {
    const struct paper paper = {.stream = stream,
                                .explanation = explanation,
                                .story = &explanation->story,
                                .bold = has_colour ? "\033[1m" : "",
                                .good = has_colour ? "\033[32m" : "",
                                .bad = has_colour ? "\033[31m" : "",
                                .plain = has_colour ? "\033[0m" : ""};
    put_head(&paper);
    for (size_t i = 0; i < paper.story->step_count; i++) put_step(&paper, i);
    if (paper.story->step_count && paper.story->start_store != STORE_RESULT) put_tree(stream, explanation);
    put_result(&paper);
    put_findings(&paper);
    put_comparison(stream, explanation);
    put_printed_errors(stream, &explanation->rung);
}
