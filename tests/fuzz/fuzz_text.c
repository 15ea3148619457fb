/* The text parser: the same elements, or the same error in the same words, however its bytes are cut into
 * reads, its lines into pieces, and its elements into blocks. */
#include "core/handle.h"
#include "io/reader.h"

#include <stdlib.h>
#include <string.h>

enum { ELEMENTS_NBYTES_MAX = 1 << 16, BLOCK_COUNT = 64 };

/* A source in memory; source comes first, so that its address is the whole's. */
struct memory {
    struct wf_source source;
    const uint8_t *bytes;
    size_t nbytes, position;
    size_t piece_nbytes; /* a read gives at most so many */
};

struct outcome {
    wf_error error;
    char message[WF_MESSAGE_NBYTES];
    size_t nbytes; /* of elements; those before an error may go missing with their block */
    unsigned char elements[ELEMENTS_NBYTES_MAX];
};

static void require(bool holds) {
    if (!holds) abort();
}

static ssize_t read_memory(struct wf_source *source, void *bytes, size_t nbytes) {
    struct memory *memory = (struct memory *)source;
    size_t left = memory->nbytes - memory->position;
    if (nbytes > left) nbytes = left;
    if (nbytes > memory->piece_nbytes) nbytes = memory->piece_nbytes;
    memcpy(bytes, memory->bytes + memory->position, nbytes);
    memory->position += nbytes;
    return (ssize_t)nbytes;
}

static void keep(struct outcome *outcome, wf_type type, const void *elements, int64_t count) {
    size_t nbytes = (size_t)count * wf_type_nbytes(type);
    require(outcome->nbytes + nbytes <= sizeof outcome->elements);
    memcpy(outcome->elements + outcome->nbytes, elements, nbytes);
    outcome->nbytes += nbytes;
}

/* Lines of a table have one width. */
static void check_state(const struct wf_text *text, wf_error error) {
    require(text->width >= 0 && text->line >= text->first_line);
    require(error || !text->column || !text->width || text->column <= text->width);
}

static void parse(struct memory *memory, wf_type type, const wf_reader_options *options, int64_t limit,
                  struct outcome *outcome) {
    struct wf_handle handle = {0};
    struct wf_text text;
    outcome->nbytes = 0;
    outcome->error = wf_text_open(&handle, &text, &memory->source, type, options);
    while (!outcome->error) {
        uint64_t block[BLOCK_COUNT];
        int64_t count;
        outcome->error = wf_text_next(&handle, &text, &memory->source, limit, block, &count);
        if (outcome->error || count == 0) break;
        require(count <= limit);
        keep(outcome, type, block, count);
    }
    check_state(&text, outcome->error);
    memcpy(outcome->message, handle.message, sizeof outcome->message);
}

/* By pieces of whole lines, as long as lines are not longer than nbytes. */
static void parse_lines(struct memory *memory, wf_type type, const wf_reader_options *options, size_t nbytes,
                        struct outcome *outcome) {
    static unsigned char bytes[WF_CHUNK_NBYTES];
    static uint64_t elements[WF_CHUNK_TEXT_COUNT];
    struct wf_chunk chunk = {.bytes = bytes, .elements = elements};
    struct wf_handle handle = {0};
    struct wf_text text;
    outcome->nbytes = 0;
    outcome->error = wf_text_open(&handle, &text, &memory->source, type, options);
    while (!outcome->error && !chunk.is_end) {
        outcome->error = wf_lines_take(&handle, &text, &memory->source, nbytes, &chunk);
        if (!outcome->error) outcome->error = wf_lines_finish(&handle, "fuzz", &chunk);
        keep(outcome, type, chunk.data, chunk.count);
    }
    memcpy(outcome->message, handle.message, sizeof outcome->message);
}

static void compare(const struct outcome *a, const struct outcome *b) {
    require(a->error == b->error && !strcmp(a->message, b->message));
    require(a->error || a->nbytes == b->nbytes);
    require(!memcmp(a->elements, b->elements, a->nbytes < b->nbytes ? a->nbytes : b->nbytes));
}

static void rewind_to(struct memory *memory, unsigned char *buffer, size_t piece_nbytes) {
    memory->source =
        (struct wf_source){.name = "fuzz", .buffer = buffer, .nbytes_total = -1, .read = read_memory};
    memory->position = 0;
    memory->piece_nbytes = piece_nbytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    enum { CHOICES = 5 };
    static unsigned char buffer[WF_SOURCE_NBYTES];
    static struct outcome whole, pieces;
    /* Each element has a byte and a separator at least. */
    if (nbytes < CHOICES || nbytes > ELEMENTS_NBYTES_MAX / 8) return 0;
    wf_type type = (wf_type)(1 + bytes[0] % WF_F64);
    wf_reader_options options = {.nbytes = sizeof options,
                                 .column = bytes[1] & 3,
                                 .column_name = (bytes[1] & 7) == 4 ? "a" : NULL,
                                 .has_header = bytes[1] >> 3 & 1,
                                 .skip_lines = bytes[1] >> 4 & 1,
                                 .missing = bytes[1] >> 5 & 1 ? WF_MISSING_SKIP : WF_MISSING_ERROR,
                                 .delimiter = "\0\0\0;\t ,|"[bytes[2] % 8]};
    struct memory memory = {.bytes = bytes + CHOICES, .nbytes = nbytes - CHOICES};
    rewind_to(&memory, buffer, SIZE_MAX);
    parse(&memory, type, &options, BLOCK_COUNT, &whole);
    rewind_to(&memory, buffer, 1 + bytes[3] % 16);
    parse(&memory, type, &options, 1 + bytes[4] % BLOCK_COUNT, &pieces);
    compare(&whole, &pieces);
    rewind_to(&memory, buffer, SIZE_MAX);
    parse_lines(&memory, type, &options, 1 + bytes[4], &pieces);
    compare(&whole, &pieces);
    return 0;
}
