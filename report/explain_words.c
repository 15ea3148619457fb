/* How values, symbols, threads and cells are written. */
#include "explain_words.h"

#include <string.h>

void put_number(FILE *stream, const wf_value *value) {
    char text[64];
    wf_value_format(value, 0, text, sizeof text);
    fputs(text, stream);
}

void put_bits(FILE *stream, const struct explanation *explanation, uint64_t bits) {
    const wf_value value = ladder_value(&bits, explain_cell_type(explanation));
    put_number(stream, &value);
}

/* ---- symbols ------------------------------------------------------------------------------------- */

struct symbol {
    const struct timeline *timeline;
    const char *separator;
    uint64_t element_count; /* terms up to it are elements */
};

static void put_terms(FILE *stream, const struct symbol *symbol, uint32_t term) {
    if (term <= symbol->element_count) {
        fprintf(stream, "a%u", term - 1);
        return;
    }
    put_terms(stream, symbol, symbol->timeline->terms[term].left);
    fputs(symbol->separator, stream);
    put_terms(stream, symbol, symbol->timeline->terms[term].right);
}

void put_symbol(FILE *stream, const struct explanation *explanation, uint32_t term) {
    wf_op op = explanation->variant.op;
    bool is_infix = op == WF_SUM || op == WF_PROD;
    const struct symbol symbol = {&explanation->timeline,
                                  op == WF_SUM    ? "+"
                                  : op == WF_PROD ? "*"
                                                  : ", ",
                                  explanation->n};
    bool is_call = !is_infix && term > explanation->n;
    if (term == TERM_NOTHING || term == TERM_UNKNOWN) {
        fputs(term == TERM_NOTHING ? "identity" : "?", stream);
        return;
    }
    if (is_call) fprintf(stream, "%s(", wf_op_name(op));
    put_terms(stream, &symbol, term);
    if (is_call) fputc(')', stream);
}

/* ---- threads ------------------------------------------------------------------------------------- */

static bool is_chosen(const struct explanation *explanation, const uint32_t *lanes, uint32_t thread) {
    uint32_t warp_size = explanation->settings.warp_size;
    return lanes[thread / warp_size] >> thread % warp_size & 1;
}

/* "3", or "0-7", or "0, 2, 4 ... 30": threads from first to last by the step between them. */
static void put_run(FILE *stream, uint32_t first, uint32_t last, uint32_t spacing) {
    uint32_t count = (last - first) / spacing + 1;
    if (count == 1)
        fprintf(stream, "%u", first);
    else if (count == 2)
        fprintf(stream, "%u, %u", first, last);
    else if (spacing == 1)
        fprintf(stream, "%u-%u", first, last);
    else if (count <= 4) /* dots would stand for nobody */
        for (uint32_t thread = first; thread <= last; thread += spacing)
            fprintf(stream, "%s%u", thread == first ? "" : ", ", thread);
    else
        fprintf(stream, "%u, %u, %u ... %u", first, first + spacing, first + 2 * spacing, last);
}

static uint32_t next_thread(const struct explanation *explanation, const uint32_t *lanes, bool inverted,
                            uint32_t thread) {
    while (thread < explanation->block && is_chosen(explanation, lanes, thread) == inverted) thread++;
    return thread;
}

void put_threads(FILE *stream, const struct explanation *explanation, const uint32_t *lanes, bool inverted) {
    uint32_t first = next_thread(explanation, lanes, inverted, 0);
    while (first < explanation->block) {
        uint32_t last = first, next = next_thread(explanation, lanes, inverted, first + 1);
        uint32_t spacing = next < explanation->block ? next - first : 1;
        for (; next < explanation->block && next - last == spacing;
             next = next_thread(explanation, lanes, inverted, next + 1))
            last = next;
        put_run(stream, first, last, spacing);
        if (next < explanation->block) fputs(", ", stream);
        first = next;
    }
}

/* ---- places -------------------------------------------------------------------------------------- */

const char *store_name(enum store store) {
    static const char *const names[STORES] = {"input", "shared", "registers", "result"};
    return names[store];
}

void put_cell(FILE *stream, enum store store, uint32_t index) {
    if (store == STORE_INPUT)
        fprintf(stream, "input[%u]", index);
    else if (store == STORE_SHARED)
        fprintf(stream, "shared[%u]", index);
    else
        fputs(store == STORE_RESULT ? "result" : "value", stream);
}

void put_source_line(FILE *stream, const struct ladder_file *file, uint32_t line) {
    const char *text = file->text;
    for (uint32_t number = 1; number < line && *text; number++)
        text += strcspn(text, "\n") + (strchr(text, '\n') != NULL);
    text += strspn(text, " ");
    size_t length = strcspn(text, "\n");
    for (size_t i = 0; i + 1 < length; i++)
        if (text[i] == '/' && text[i + 1] == '/') length = i;
    while (length && (text[length - 1] == ' ' || text[length - 1] == '{')) length--;
    fprintf(stream, "%.*s", (int)length, text);
}
