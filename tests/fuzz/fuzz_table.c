/* Tables: a column reads as the parser of single columns reads it, value by value, or both refuse the text; saved tables of
 * any bytes are read or refused, and what was read is saved as bytes that are read again. */
#include "core/handle.h"
#include "core/saved.h"
#include "io/tally.h"

#include <stdlib.h>
#include <string.h>

enum { COUNT_MAX = 1 << 14 };

/* A source in memory; source comes first, so that its address is the whole's. */
struct memory {
    struct wf_reader reader;
    const uint8_t *bytes;
    size_t nbytes, position;
};

struct outcome {
    wf_error error;
    int64_t count;
    double value[COUNT_MAX];
};

static void require(bool holds) {
    if (!holds) abort();
}

static ssize_t read_memory(struct wf_source *source, void *bytes, size_t nbytes) {
    struct memory *memory = (struct memory *)((char *)source - offsetof(struct memory, reader.source));
    size_t left = memory->nbytes - memory->position;
    if (nbytes > left) nbytes = left;
    memcpy(bytes, memory->bytes + memory->position, nbytes);
    memory->position += nbytes;
    return (ssize_t)nbytes;
}

static void rewind_to(struct memory *memory, unsigned char *buffer, const wf_reader_options *options) {
    memory->reader = (struct wf_reader){.options = *options, .format = &wf_reader_text, .type = WF_F64};
    memory->reader.source =
        (struct wf_source){.name = "fuzz", .buffer = buffer, .nbytes_total = -1, .read = read_memory};
    memory->position = 0;
}

static void keep(struct outcome *outcome, const void *values, int64_t count) {
    require(outcome->count + count <= COUNT_MAX);
    memcpy(outcome->value + outcome->count, values, (size_t)count * sizeof *outcome->value);
    outcome->count += count;
}

static void read_column(struct memory *memory, const wf_reader_options *options, struct outcome *outcome) {
    struct wf_handle handle = {0};
    struct wf_text text;
    double block[64];
    outcome->count = 0;
    outcome->error = wf_text_open(&handle, &text, &memory->reader.source, WF_F64, options);
    for (int64_t count = 1; !outcome->error && count;) {
        outcome->error = wf_text_next(&handle, &text, &memory->reader.source, 64, block, &count);
        keep(outcome, block, count);
    }
}

static void keep_rows(struct outcome *outcome, const struct wf_rows *rows) {
    for (int64_t i = 0; i < rows->count; i++)
        if (!rows->missing[0][i]) keep(outcome, rows->values[0] + (size_t)i * sizeof(double), 1);
}

static void read_chunks(wf_handle *handle, struct wf_table *table, struct outcome *outcome) {
    static unsigned char bytes[WF_CHUNK_NBYTES + 64];
    struct wf_chunk chunk = {.bytes = bytes};
    struct wf_rows rows = {0};
    while (!outcome->error) {
        outcome->error = wf_table_take(handle, table, &chunk);
        if (outcome->error || chunk.is_end) break;
        outcome->error = wf_rows_reserve(handle, &rows, table, &chunk);
        if (outcome->error) break;
        outcome->error = wf_table_read(handle, table, &chunk, &rows);
        keep_rows(outcome, &rows);
    }
    wf_rows_clear(&rows);
}

static void read_table(struct memory *memory, const struct wf_table_plan *plan, struct outcome *outcome) {
    struct wf_handle handle = {0};
    struct wf_table table;
    wf_reader *reader = &memory->reader;
    outcome->count = 0;
    outcome->error = wf_text_open(&handle, &reader->text, &reader->source, WF_F64, &reader->options);
    if (outcome->error) return;
    outcome->error = wf_table_open(&handle, &table, reader, plan);
    if (!outcome->error) outcome->error = wf_table_begin_file(&handle, &table);
    if (!outcome->error && table.is_resolved) read_chunks(&handle, &table, outcome);
    wf_table_close(&table);
}

static void check_text(const uint8_t *bytes, size_t nbytes, const uint8_t *choice) {
    static unsigned char buffer[WF_SOURCE_NBYTES];
    static struct outcome column, table;
    static const char *const names[] = {"1", "2"};
    wf_reader_options options = {.nbytes = sizeof options,
                                 .has_header = choice[0] & 1,
                                 .missing = choice[0] & 2 ? WF_MISSING_SKIP : WF_MISSING_ERROR,
                                 .delimiter = "\0\0\0;\t ,|"[choice[1] % 8]};
    const struct wf_table_plan plan = {.columns = names + (choice[0] >> 2 & 1), .column_count = 1, .type = WF_F64,
                                       .by = names, .by_count = choice[0] >> 3 & 1, .decimals = WF_NO_DECIMALS};
    struct memory memory = {.bytes = bytes, .nbytes = nbytes};
    rewind_to(&memory, buffer, &options);
    read_table(&memory, &plan, &table);
    if (plan.by_count || options.has_header) return; /* in a header, "2" may be a name */
    rewind_to(&memory, buffer, &options);
    options.column = 1 + (choice[0] >> 2 & 1);
    read_column(&memory, &options, &column);
    require(!column.error == !table.error);
    require(column.error || column.count == table.count);
    require(column.error || !memcmp(column.value, table.value, (size_t)column.count * sizeof *column.value));
}

/* The bytes stand behind the magic and the version, and before a checksum that fits. */
static void check_saved(const uint8_t *content, size_t content_nbytes) {
    static uint8_t bytes[COUNT_MAX + 16] = {'w', 'a', 'r', 'p', 'f', 'o', 'l', 'd', 1, 0, 1, 0};
    enum { BEGIN = 12 };
    const size_t end = BEGIN + content_nbytes, nbytes = end + 4;
    memcpy(bytes + BEGIN, content, content_nbytes);
    const uint32_t checksum = wf_saved_checksum(bytes, end);
    for (int i = 0; i < 4; i++) bytes[end + (size_t)i] = (uint8_t)(checksum >> 8 * i);
    struct wf_tally tally, again;
    unsigned char *saved = NULL;
    size_t saved_nbytes = 0;
    struct wf_handle *handle = NULL;
    if (wf_handle_create("cpu", &handle) || wf_tally_load(handle, &tally, bytes, nbytes)) {
        wf_handle_destroy(handle);
        return;
    }
    require(!wf_tally_save(handle, &tally, &saved, &saved_nbytes));
    require(!wf_tally_load(handle, &again, saved, saved_nbytes));
    require(!wf_tally_merge(handle, &tally, &again, false) || tally.row_count > INT64_MAX / 2);
    wf_tally_clear(&again);
    wf_tally_clear(&tally);
    wf_handle_destroy(handle);
    free(saved);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    enum { CHOICES = 3 };
    if (nbytes < CHOICES || nbytes > COUNT_MAX) return 0;
    if (bytes[2] & 1) check_saved(bytes + CHOICES, nbytes - CHOICES);
    else check_text(bytes + CHOICES, nbytes - CHOICES, bytes);
    return 0;
}
