/* The explanation for people. */
#include <inttypes.h>
#include <string.h>

#include "explain_words.h"
#include "page.h"

enum {
    COMBINES_SHOWN = 16, /* of a step */
    CELLS_SHOWN = 32,
    WARPS_SHOWN = 8,
    CONFLICTS_SHOWN = 8,
    SYMBOL_ELEMENTS_MAX = 32, /* of a block whose symbols are shown */
    LABEL_WIDTH = 10,
    LINE_NBYTES = 128,
    BANK_NBYTES = 4,
};

struct writer {
    FILE *stream;
    const struct explanation *explanation;
    const struct timeline *timeline;
    struct page *word;                     /* in which words are made whose length matters */
    const char *bold, *good, *bad, *plain; /* colours, or nothing */
};

static uint32_t warp_size(const struct writer *writer) {
    return writer->explanation->settings.warp_size;
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

/* Whether a thread's register is shown as a dot, since the result does not depend on it. */
static bool is_idle(const struct writer *writer, enum store store, const struct cell *cell) {
    return store == STORE_REGISTERS && !timeline_uses(writer->timeline, *cell);
}

/* Whether a cell repeats the one before.  After a warp reduction all lanes have the same value, printed once. */
static bool is_repeated(const struct writer *writer, enum store store, const struct cell *cell) {
    return store == STORE_REGISTERS && cell[0].term == cell[-1].term && cell->term > writer->explanation->n &&
           !is_idle(writer, store, cell);
}

/* "[a, b, c]", wrapped below its first word. */
static void put_cells(const struct writer *writer, enum store store, const struct cell *cells,
                      put_function *put) {
    size_t count = writer->timeline->cell_counts[store], shown = count < CELLS_SHOWN ? count : CELLS_SHOWN;
    long column = LABEL_WIDTH + 3;
    fputc('[', writer->stream);
    for (size_t i = 0; i < shown; i++) {
        if (i && is_repeated(writer, store, &cells[i]))
            fputs("same", writer->word->stream);
        else if (is_idle(writer, store, &cells[i]))
            fputc('.', writer->word->stream);
        else
            put(writer->word->stream, writer->explanation, &cells[i]);
        const char *word = page_take(writer->word);
        bool is_wrapped = i && column + (long)strlen(word) + 2 > EXPLAIN_TEXT_WIDTH;
        if (is_wrapped) column = LABEL_WIDTH + 3;
        if (i) fputs(is_wrapped ? "," : ", ", writer->stream);
        if (is_wrapped) fprintf(writer->stream, "\n%*s", LABEL_WIDTH + 3, "");
        column += (long)strlen(word) + 2;
        fputs(word, writer->stream);
    }
    if (count > shown) fprintf(writer->stream, ", ... %zu more", count - shown);
    fputs("]\n", writer->stream);
}

static void put_store(const struct writer *writer, enum store store, const struct cell *cells) {
    fprintf(writer->stream, "  %-*s", LABEL_WIDTH, store_name(store));
    put_cells(writer, store, cells, put_cell_value);
    if (writer->explanation->n > SYMBOL_ELEMENTS_MAX) return;
    fprintf(writer->stream, "  %-*s", LABEL_WIDTH, "symbols");
    put_cells(writer, store, cells, put_cell_symbol);
}

/* ---- combines ------------------------------------------------------------------------------------ */

static uint64_t cell_address(const struct writer *writer, enum store store, uint32_t index) {
    uint64_t base = store == STORE_SHARED ? writer->timeline->shared_offset : 0;
    return base + (uint64_t)index * writer->timeline->element_nbytes;
}

/* The bank of a cell in shared memory, the line of one in global memory. */
static uint64_t cell_place(const struct writer *writer, enum store store, uint32_t index) {
    uint64_t address = cell_address(writer, store, index);
    if (store == STORE_INPUT) return address / LINE_NBYTES;
    return address / BANK_NBYTES % writer->explanation->settings.banks;
}

static void put_source(const struct writer *writer, enum store store, uint32_t source) {
    if (store == STORE_RESULT)
        fputs("its value", writer->stream);
    else if (store == STORE_REGISTERS)
        fprintf(writer->stream, "thread %" PRIu32 "'s", source);
    else
        put_cell(writer->stream, store, source);
}

static void put_sources(const struct writer *writer, enum store store, const struct combine *combine) {
    const uint32_t *sources = &writer->timeline->sources[combine->sources];
    uint32_t last = combine->source_count - 1;
    put_source(writer, store, sources[0]);
    if (last > 1)
        fprintf(writer->stream, " ... ");
    else if (last == 1)
        fprintf(writer->stream, ", ");
    if (last > 0) put_source(writer, store, sources[last]);
}

/* "shared[0] += shared[1]", or "shared[0] = max(shared[0], shared[1])". */
static void put_operation(const struct writer *writer, enum store store, const struct combine *combine) {
    wf_op op = writer->explanation->variant.op;
    bool is_infix = op == WF_SUM || op == WF_PROD;
    put_cell(writer->stream, store, combine->target);
    if (is_infix) {
        fputs(op == WF_SUM ? " += " : " *= ", writer->stream);
    } else {
        fprintf(writer->stream, " = %s(", wf_op_name(op));
        put_cell(writer->stream, store, combine->target);
        fputs(", ", writer->stream);
    }
    put_sources(writer, store, combine);
    if (!is_infix) fputc(')', writer->stream);
}

static void put_combine(const struct writer *writer, enum store store, const struct combine *combine) {
    const uint32_t *sources = &writer->timeline->sources[combine->sources];
    fprintf(writer->stream, "  Thread %" PRIu32 ": ", combine->thread);
    put_operation(writer, store, combine);
    if (store == STORE_SHARED || store == STORE_INPUT) {
        fprintf(writer->stream, "  %s %" PRIu64, store == STORE_SHARED ? "banks" : "lines",
                cell_place(writer, store, combine->target));
        for (uint32_t i = 0; i < combine->source_count; i++)
            fprintf(writer->stream, ", %" PRIu64, cell_place(writer, store, sources[i]));
    }
    fputs(" -> ", writer->stream);
    put_bits(writer->stream, writer->explanation, combine->made.bits);
    fputc('\n', writer->stream);
}

/* Prints the combines that the result depends on, and the number of others. */
static void put_combines(const struct writer *writer, const struct step *step) {
    size_t used = 0, unused = 0;
    for (size_t i = 0; i < step->combine_count; i++) {
        const struct combine *combine = &writer->timeline->combines[step->combines + i];
        bool is_unused = step->store == STORE_REGISTERS && !timeline_uses(writer->timeline, combine->made);
        if (is_unused)
            unused++;
        else if (used++ < COMBINES_SHOWN)
            put_combine(writer, step->store, combine);
    }
    if (used > COMBINES_SHOWN) fprintf(writer->stream, "  ... and %zu more threads\n", used - COMBINES_SHOWN);
    if (unused)
        fprintf(writer->stream, "  %zu more thread%s the same; %s unused\n", unused, unused == 1 ? " does" : "s do",
                unused == 1 ? "its result is" : "their results are");
}

/* The threads of a step that take a side of its guard; none: no line. */
static void put_side(const struct writer *writer, const char *name, const struct step *step, uint64_t count, bool is_rest) {
    if (!count) return;
    fprintf(writer->stream, "    %-4s thread%s ", name, plural(count));
    put_threads(writer->stream, writer->explanation, step->active, is_rest);
    fputc('\n', writer->stream);
}

static void put_guard(const struct writer *writer, const struct step *step) {
    if (!step->guard_line) return;
    fputs("  ", writer->stream);
    put_source_line(writer->stream, writer->explanation->rung.file, step->guard_line);
    fputc('\n', writer->stream);
    put_side(writer, "yes:", step, step->tally.active_lanes, false);
    put_side(writer, "no:", step, writer->explanation->block - step->tally.active_lanes, true);
}

/* ---- lanes --------------------------------------------------------------------------------------- */

static void put_warp(const struct writer *writer, uint32_t warp, uint32_t lanes) {
    uint32_t first = warp * warp_size(writer), size = writer->explanation->block - first;
    if (size > warp_size(writer)) size = warp_size(writer);
    fprintf(writer->stream, "  warp %-*" PRIu32, LABEL_WIDTH - 5, warp);
    fputs(writer->good, writer->stream);
    for (uint32_t lane = 0; lane < size; lane++) fputc(lanes >> lane & 1 ? '#' : '.', writer->stream);
    fprintf(writer->stream, "%s  %d of %" PRIu32 "\n", writer->plain, __builtin_popcount(lanes), size);
}

static void put_warps(const struct writer *writer, const struct step *step) {
    uint32_t shown = writer->timeline->warp_count < WARPS_SHOWN ? writer->timeline->warp_count : WARPS_SHOWN;
    for (uint32_t warp = 0; warp < shown; warp++) put_warp(writer, warp, step->active[warp]);
    uint64_t rest = step->tally.warps;
    for (uint32_t warp = 0; warp < shown; warp++) rest -= step->active[warp] != 0;
    if (shown < writer->timeline->warp_count)
        fprintf(writer->stream, "  ... %" PRIu32 " more warps, %" PRIu64 " of them with active lanes\n",
                writer->timeline->warp_count - shown, rest);
}

/* ---- bank conflicts ------------------------------------------------------------------------------ */

/* Names the threads that conflict in a bank in the step's worst access. */
static void put_conflict(const struct writer *writer, size_t index) {
    uint32_t threads[SIMT_LANES];
    const struct step *step = &writer->timeline->steps[index];
    uint32_t count = timeline_conflict(writer->timeline, step, threads);
    if (!count) return;
    fprintf(writer->stream, "  %sbank conflict%s: threads", writer->bad, writer->plain);
    for (uint32_t i = 0; i < count && i < CONFLICTS_SHOWN; i++)
        fprintf(writer->stream, "%s %" PRIu32, i ? "," : "", threads[i]);
    if (count > CONFLICTS_SHOWN) fprintf(writer->stream, " ... %" PRIu32 " in all", count);
    fputs(" access different words of one bank", writer->stream);
    const struct prediction *prediction = &writer->explanation->prediction;
    if (prediction->has_tree && index < prediction->step_count) {
        struct conflict predicted = prediction->conflicts[index];
        fprintf(writer->stream, " (predicted: %" PRIu32 ", each %" PRIu32 " apart)", predicted.count,
                predicted.spacing);
    }
    fputc('\n', writer->stream);
}

/* ---- steps --------------------------------------------------------------------------------------- */

static void put_counts(const struct writer *writer, const struct step *step) {
    const struct tally *tally = &step->tally;
    uint64_t lanes = tally->warps * warp_size(writer);
    fprintf(writer->stream, "  %" PRIu64 " of %" PRIu64 " lane%s active in %" PRIu64 " working warp%s",
            tally->active_lanes, lanes, plural(lanes), tally->warps, plural(tally->warps));
    fprintf(writer->stream, ", %s%" PRIu64 " warp%s diverge%s%s", tally->divergent_warps ? writer->bad : "",
            tally->divergent_warps, plural(tally->divergent_warps), tally->divergent_warps == 1 ? "s" : "",
            tally->divergent_warps ? writer->plain : "");
    if (tally->global_requests)
        fprintf(writer->stream, ", %" PRIu64 " global request%s", tally->global_requests,
                plural(tally->global_requests));
    if (tally->shared_wavefronts)
        fprintf(writer->stream, ", %" PRIu64 " shared wavefront%s, %sbank degree %g%s",
                tally->shared_wavefronts, plural(tally->shared_wavefronts),
                tally->bank_degree > 1 ? writer->bad : "", tally->bank_degree,
                tally->bank_degree > 1 ? writer->plain : "");
    fputc('\n', writer->stream);
}

static void put_step(const struct writer *writer, size_t index) {
    const struct step *step = &writer->timeline->steps[index];
    fprintf(writer->stream, "\n%sstep %zu of %zu%s\n", writer->bold, index + 1, writer->timeline->step_count,
            writer->plain);
    put_guard(writer, step);
    put_combines(writer, step);
    put_warps(writer, step);
    put_counts(writer, step);
    put_conflict(writer, index);
    put_banks(writer->stream, writer->explanation, index, writer->bad, writer->plain);
    put_store(writer, step->store, step->after);
}

/* ---- before and after ---------------------------------------------------------------------------- */

/* What bulk copies brought into shared memory. */
static void put_copies(const struct writer *writer) {
    const struct trace *trace = writer->timeline->trace;
    for (size_t i = 0; i < trace->count; i++) {
        const struct trace_event *event = &trace->events[i];
        if (event->kind != TRACE_COPY) continue;
        fprintf(writer->stream, "  Thread %" PRIu32 ": one bulk copy of %" PRIu64 " bytes to shared memory (line %" PRIu32 ")\n",
                event->warp * warp_size(writer) + (uint32_t)__builtin_ctz(event->mask), trace_copied(trace, event).nbytes,
                writer->timeline->lines[event->pc]);
    }
}

static void put_head(const struct writer *writer) {
    const struct explanation *explanation = writer->explanation;
    fprintf(writer->stream, "%s%s: %s%s\n", writer->bold, explanation->rung.id, explanation->rung.title,
            writer->plain);
    put_lesson(writer->stream, &explanation->rung);
    fprintf(writer->stream,
            "%s of %" PRIu64 " %s in a block of %" PRIu32 " thread%s, warps of %" PRIu32 " lane%s, %" PRIu32
            " bank%s\n",
            wf_op_name(explanation->variant.op), explanation->n, wf_type_name(explanation->variant.type),
            explanation->block, plural(explanation->block), warp_size(writer), plural(warp_size(writer)),
            explanation->settings.banks, plural(explanation->settings.banks));
    if (explanation->rung.cluster > 1)
        fprintf(writer->stream, "shown is block 0 of a cluster of %" PRIu32 " such blocks, which share the elements\n",
                explanation->rung.cluster);
    if (explanation->is_picture && explanation->settings.warp_size < EXPLAIN_WARP_DEFAULT)
        fputs("small, to be seen at a glance; as on a GPU: -n 1024 --warp 32 --banks 32\n", writer->stream);
    if (explanation->rung.textbook[0] && explanation->variant.op == WF_SUM)
        fprintf(writer->stream, "as a textbook has it: %s\n", explanation->rung.textbook);
    if (writer->timeline->step_count)
        fprintf(writer->stream, "\n%sbefore the tree%s\n", writer->bold, writer->plain);
    put_copies(writer);
    if (writer->timeline->step_count)
        put_store(writer, writer->timeline->start_store, writer->timeline->start);
}

static void put_result(const struct writer *writer) {
    const struct explanation *explanation = writer->explanation;
    fprintf(writer->stream, "\n%sresult%s ", writer->bold, writer->plain);
    put_number(writer->stream, &explanation->result.value);
    if (explanation->variant.op == WF_ARGMAX)
        fprintf(writer->stream, " at index %" PRId64, explanation->result.index);
    if (explanation->n <= SYMBOL_ELEMENTS_MAX) {
        fputs(" = ", writer->stream);
        put_symbol(writer->stream, explanation, writer->timeline->result.term);
    }
    if (explanation->rung.cluster > 1) fputs(", from all blocks of the cluster", writer->stream);
    fputc('\n', writer->stream);
}

/* What adding in floats makes of the same elements. */
static void put_orders(const struct writer *writer) {
    const struct explanation *explanation = writer->explanation;
    const struct explain_orders *orders = &explanation->orders;
    const struct {
        const char *words;
        const wf_value *sum;
    } rows[] = {{"exact, rounded once", &explanation->result.value},
                {"in f32, from the first to the last", &orders->forward},
                {"in f32, from the last to the first", &orders->backward},
                {"in f32, by halves as in rung 06", &orders->halves}};
    if (explanation->rung.cells == WF_TYPE_DEFAULT) return;
    fprintf(writer->stream, "\n%sthe same elements in other orders%s\n", writer->bold, writer->plain);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fprintf(writer->stream, "  %-36s", rows[i].words);
        put_number(writer->stream, rows[i].sum);
        fputc('\n', writer->stream);
    }
}

static void put_findings(const struct writer *writer) {
    const simt_report *report = writer->explanation->report;
    for (size_t i = 0; i < simt_report_finding_count(report); i++) {
        const simt_finding *finding = simt_report_finding(report, i);
        fprintf(writer->stream, "%s%s%s at %s:%" PRIu32 ", thread %" PRIu32 ": %s\n", writer->bad,
                simt_finding_kind_name(finding->kind), writer->plain, finding->file, finding->line,
                finding->thread[0], finding->message);
    }
}

/* ---- the whole ----------------------------------------------------------------------------------- */

static void put_all(const struct writer *writer) {
    put_head(writer);
    for (size_t i = 0; i < writer->timeline->step_count; i++) put_step(writer, i);
    if (writer->timeline->step_count && writer->timeline->start_store != STORE_RESULT)
        put_tree(writer->stream, writer->explanation);
    put_result(writer);
    put_orders(writer);
    put_findings(writer);
    put_comparison(writer->stream, writer->explanation);
    put_misprints(writer->stream, &writer->explanation->rung);
}

bool put_explanation(FILE *stream, const struct explanation *explanation, bool has_colour) {
    struct page word;
    const struct writer writer = {.stream = stream,
                                  .explanation = explanation,
                                  .timeline = &explanation->timeline,
                                  .word = &word,
                                  .bold = has_colour ? "\033[1m" : "",
                                  .good = has_colour ? "\033[32m" : "",
                                  .bad = has_colour ? "\033[31m" : "",
                                  .plain = has_colour ? "\033[0m" : ""};
    page_open(&word);
    if (word.stream) put_all(&writer);
    bool is_whole = page_end(&word);
    page_clear(&word);
    return is_whole;
}
