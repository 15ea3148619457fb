/* Reads the rows of a chunk: finds the fields that are wanted in each line, converts numbers, and writes down keys.
 *
 * A line is searched by a fast path; what that does not know (comments, blank lines, quotes inside unquoted fields, a
 * wrong number of fields) is left to wf_text_find, line by line. */
#include <stdlib.h>
#include <string.h>

#include "core/environment.h"
#include "core/number.h"
#include "io/quote.h"
#include "io/table.h"

enum { KEY_LENGTH_NBYTES = 4, PLACES_AHEAD = 2048 };

struct reading {
    wf_handle *handle;
    const struct wf_table *table;
    struct wf_rows *rows;
    struct wf_text *text;
    struct wf_source source; /* the chunk */
    char delimiter;
    size_t value_nbytes;
    bool is_f64; /* what values are converted to, as they stand there */
    size_t found; /* fields of the line that were found, of those that are read */
};

/* ---- memory ---- */

/* Hands out a part of the memory, aligned to the widest type. */
static void *part_of(unsigned char *memory, size_t *used, size_t count, size_t nbytes) {
    unsigned char *part = memory ? memory + *used : NULL;
    *used += (count * nbytes + 15) / 16 * 16;
    return part;
}

/* Behind the places there is room for one more. */
static struct wf_places places_in(unsigned char *memory, size_t *used, size_t capacity) {
    return (struct wf_places){.at = part_of(memory, used, capacity + 1, sizeof(uint32_t)), .capacity = capacity};
}

/* Lays out the memory; without any, only measures it. */
static size_t lay_out(struct wf_rows *rows, const struct wf_table *table, const struct wf_chunk *chunk,
                      unsigned char *memory) {
    const size_t columns = table->column_count, capacity = (size_t)rows->capacity;
    const size_t value_nbytes = wf_type_nbytes(table->plan.type);
    const size_t places_capacity = PLACES_AHEAD + (size_t)chunk->parser.width;
    size_t used = 0;
    rows->values = part_of(memory, &used, columns, sizeof *rows->values);
    rows->missing = part_of(memory, &used, columns, sizeof *rows->missing);
    rows->has_missing = part_of(memory, &used, columns, sizeof *rows->has_missing);
    rows->field = part_of(memory, &used, table->field_count, sizeof *rows->field);
    rows->specials = (struct wf_specials){.all = places_in(memory, &used, places_capacity),
                                          .fence = places_in(memory, &used, places_capacity)};
    rows->place = part_of(memory, &used, capacity, sizeof *rows->place);
    rows->key = part_of(memory, &used, table->by_count ? capacity : 0, sizeof *rows->key);
    rows->key_bytes = part_of(memory, &used, table->by_count ? chunk->nbytes : 0, 1);
    part_of(memory, &used, capacity * table->by_count, KEY_LENGTH_NBYTES);
    part_of(memory, &used, WF_TEXT_READ_NBYTES, 1); /* after the last key */
    if (!table->by_count) rows->key = NULL;
    for (size_t c = 0; c < columns; c++) {
        unsigned char *values = part_of(memory, &used, capacity, value_nbytes);
        unsigned char *missing = part_of(memory, &used, capacity, 1);
        if (!memory) continue;
        rows->values[c] = values;
        rows->missing[c] = missing;
    }
    return used;
}

wf_error wf_rows_reserve(wf_handle *handle, struct wf_rows *rows, const struct wf_table *table,
                         const struct wf_chunk *chunk) {
    rows->capacity = chunk->newline_count + 1;
    size_t needed = lay_out(rows, table, chunk, NULL);
    if (needed > rows->memory_nbytes) {
        free(rows->memory);
        rows->memory = malloc(needed);
        rows->memory_nbytes = rows->memory ? needed : 0;
        if (!rows->memory) return wf_fail(handle, WF_ERROR_MEMORY, "no memory for %zu bytes of a table's rows", needed);
    }
    lay_out(rows, table, chunk, rows->memory);
    return WF_OK;
}

void wf_rows_clear(struct wf_rows *rows) {
    free(rows->memory);
    *rows = (struct wf_rows){0};
}

/* ---- values ---- */

static wf_error fail_decimal(const struct reading *r, const struct wf_field *field, wf_error error) {
    const struct wf_quoted quoted = wf_quote(field->bytes, field->length);
    const int decimals = (int)r->table->plan.decimals;
    if (error == WF_ERROR_FORMAT)
        return wf_text_fail(r->handle, r->text, &r->source, field->bytes, error, "%s is not a decimal number%s", quoted.text,
                            wf_text_is_missing(field) ? ": missing values can be skipped (--missing skip)" : "");
    const char *why = error == WF_ERROR_RANGE ? "does not fit in 64 bits with" : "has more digits after the point than";
    return wf_text_fail(r->handle, r->text, &r->source, field->bytes, WF_ERROR_RANGE, "%s %s %d decimal%s (--decimal)",
                        quoted.text, why, decimals, decimals == 1 ? "" : "s");
}

static bool is_nan(wf_type type, const unsigned char *element) {
    uint64_t bits = 0;
    if (!wf_type_is_float(type)) return false;
    for (size_t i = wf_type_nbytes(type); i-- > 0;)
        bits = bits << 8 | element[__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? i : wf_type_nbytes(type) - 1 - i];
    return wf_number_of_bits(type, bits).kind == WF_NUMBER_NAN;
}

static wf_error read_decimal(const struct reading *r, const struct wf_field *field, unsigned char *element) {
    int64_t value = 0;
    wf_error error = wf_decimal_parse(field->bytes, field->length, r->table->plan.decimals, &value);
    if (error) return fail_decimal(r, field, error);
    memcpy(element, &value, sizeof value);
    return WF_OK;
}

/* What the fast path does not read.  *is_missing: there is no value. */
static wf_error read_unusual(const struct reading *r, const struct wf_field *field, unsigned char *element,
                             unsigned char *is_missing) {
    const struct wf_table_plan *plan = &r->table->plan;
    *is_missing = r->text->skips_missing && wf_text_is_missing(field);
    if (*is_missing) return WF_OK;
    if (plan->decimals != WF_NO_DECIMALS) return read_decimal(r, field, element);
    wf_error error = wf_text_parse_number(field->bytes, field->length, plan->type, element);
    if (error) return wf_text_fail_number(r->handle, r->text, &r->source, field, error);
    if (plan->nan == WF_NAN_PROPAGATE || !is_nan(plan->type, element)) return WF_OK;
    *is_missing = true;
    return plan->nan == WF_NAN_OMIT ? WF_OK
                                    : wf_text_fail(r->handle, r->text, &r->source, field->bytes, WF_ERROR_NAN, "NaN");
}

static wf_error read_value(const struct reading *r, size_t c, const struct wf_field *field) {
    struct wf_rows *rows = r->rows;
    unsigned char *element = rows->values[c] + (size_t)rows->count * r->value_nbytes;
    unsigned char *is_missing = rows->missing[c] + rows->count;
    const char *end = (const char *)r->source.buffer + r->source.end;
    *is_missing = 0;
    if (r->is_f64 && wf_text_parse_short(field->bytes, field->length, end, (double *)(void *)element)) return WF_OK;
    if (r->table->plan.counts_rows) {
        memset(element, 0, r->value_nbytes);
        return WF_OK;
    }
    if (r->table->plan.decimals == WF_NO_DECIMALS &&
        wf_text_parse_plain(field->bytes, end, r->table->plan.type, element) == field->bytes + field->length)
        return WF_OK;
    wf_error error = read_unusual(r, field, element, is_missing);
    if (*is_missing) memset(element, 0, r->value_nbytes);
    rows->has_missing[c] |= *is_missing;
    return error;
}

/* ---- keys ---- */

static void put_length(unsigned char *to, size_t length) {
    for (int i = 0; i < KEY_LENGTH_NBYTES; i++) to[i] = (unsigned char)(length >> 8 * i);
}

const unsigned char *wf_key_part(const unsigned char *key, size_t nbytes, size_t by_count, size_t by, size_t *length) {
    const unsigned char *end = key + nbytes;
    *length = nbytes;
    for (size_t k = 0; by_count > 1 && k <= by; k++) {
        if (k) key += *length;
        *length = 0;
        if (end - key < KEY_LENGTH_NBYTES) return NULL;
        for (int i = 0; i < KEY_LENGTH_NBYTES; i++) *length |= (size_t)key[i] << 8 * i;
        key += KEY_LENGTH_NBYTES;
        if (*length > (size_t)(end - key)) return NULL;
    }
    return key;
}

/* A field's text, without doubled quotes; returns its end. */
static unsigned char *put_text(unsigned char *to, const struct wf_field *field) {
    if (!field->is_quoted) {
        memcpy(to, field->bytes, field->length);
        return to + field->length;
    }
    for (const char *p = field->bytes, *end = p + field->length; p < end; p++) {
        *to++ = (unsigned char)*p;
        if (*p == '"') p++;
    }
    return to;
}

/* Writes the key of the current line; returns its length. */
static size_t put_key(const struct reading *r) {
    const struct wf_table *table = r->table;
    struct wf_rows *rows = r->rows;
    unsigned char *begin = rows->key_bytes + rows->key_nbytes, *to = begin;
    for (size_t k = 0; k < table->by_count; k++) {
        unsigned char *text = to + (table->by_count > 1 ? KEY_LENGTH_NBYTES : 0);
        unsigned char *end = put_text(text, &rows->field[table->field_of[table->column_count + k]]);
        if (table->by_count > 1) put_length(to, (size_t)(end - text));
        to = end;
    }
    rows->key_nbytes += (size_t)(to - begin);
    return (size_t)(to - begin);
}

/* Whether a field of the key is missing, and such rows are skipped.  An empty text is none that is missing. */
static bool lacks_key(const struct reading *r) {
    const struct wf_table *table = r->table;
    for (size_t k = 0; r->text->skips_missing && k < table->by_count; k++) {
        const struct wf_field *field = &r->rows->field[table->field_of[table->column_count + k]];
        if (field->length && wf_text_is_missing(field)) return true;
    }
    return false;
}

/* Whether the current line, whose values have been read, is skipped because one is missing.  A NaN that is left out is a value. */
static bool lacks_value(const struct reading *r) {
    const struct wf_table *table = r->table;
    const bool is_one = table->column_count == 1 && !table->by_count;
    return table->skips_rows && is_one && r->rows->missing[0][r->rows->count] && r->text->skips_missing &&
           wf_text_is_missing(&r->rows->field[table->field_of[0]]);
}

/* Notes the key of the current line: most are the bytes of the chunk. */
static void note_key(const struct reading *r) {
    const struct wf_table *table = r->table;
    const struct wf_field *field = &r->rows->field[table->field_of[table->column_count]];
    const void *bytes = field->bytes;
    size_t nbytes = field->length;
    if (table->by_count > 1 || field->is_quoted) {
        bytes = r->rows->key_bytes + r->rows->key_nbytes;
        nbytes = put_key(r);
    }
    r->rows->key[r->rows->count] = wf_texts_hash_readable(table->seed, bytes, nbytes);
}

/* ---- rows ---- */

static void note_place(struct wf_rows *rows, int64_t file, int64_t line) {
    const struct wf_place *last = rows->place_count ? &rows->place[rows->place_count - 1] : NULL;
    if (!last || line - rows->count != last->line - last->row)
        rows->place[rows->place_count++] = (struct wf_place){rows->count, file, line};
}

/* The line's fields have been found. */
static wf_error keep_row(struct reading *r) {
    const struct wf_table *table = r->table;
    struct wf_rows *rows = r->rows;
    r->found = 0;
    if (lacks_key(r)) return WF_OK;
    if (table->by_count) note_key(r);
    for (size_t c = 0; c < table->column_count; c++) {
        wf_error error = read_value(r, c, &rows->field[table->field_of[c]]);
        if (error) return error;
    }
    if (lacks_value(r)) return WF_OK;
    note_place(rows, table->file, r->text->line);
    rows->count++;
    return WF_OK;
}

/* ---- lines: the fast path ---- */

/* The bytes that end fields, and quotes, are found ahead of the lines.  A line of plain fields is one whose last special is
 * the next fence, and only those of its fields that are read need a look. */

static inline bool is_blank(const struct wf_text *text, char c) {
    return wf_char_class_of(text, c) & WF_CHAR_BLANK;
}

/* The field from p to its end, trimmed. */
static inline struct wf_field field_between(const struct wf_text *text, const char *p, const char *end) {
    while (p < end && is_blank(text, *p)) p++;
    while (p < end && is_blank(text, end[-1])) end--;
    return (struct wf_field){p, (size_t)(end - p), false};
}

/* Finds the wanted fields of the line at p, which has delimiters only at the places that begin at `special`, and ends
 * after the last of its fields. */
static inline void find_plain(const struct reading *r, const char *p, const uint32_t *special) {
    const struct wf_table *table = r->table;
    const char *base = (const char *)r->source.buffer;
    struct wf_field *field = r->rows->field;
    for (size_t i = 0; i < table->field_count; i++) {
        const int64_t number = table->field[i];
        field[i] = field_between(r->text, number > 1 ? base + special[number - 2] + 1 : p, base + special[number - 1]);
    }
}

/* Finds the end of the quoted field at p, a delimiter or the line's end, and leaves it as the next special; false: the
 * field is unusual. */
static bool find_quoted(const struct reading *r, const char *p, struct wf_places *special, struct wf_field *field) {
    const char *base = (const char *)r->source.buffer, *close;
    size_t next = special->next + 1;
    for (;; next += 2) { /* a doubled quote is one in the text */
        while (next < special->count && base[special->at[next]] == r->delimiter) next++;
        if (next + 1 >= special->count || base[special->at[next]] != '"') return false;
        close = base + special->at[next];
        if (base[special->at[next + 1]] != '"' || special->at[next + 1] != special->at[next] + 1) break;
    }
    const char *end = base + special->at[next + 1];
    if (*end == '"' || end - p > WF_TEXT_FIELD_NBYTES_MAX) return false;
    for (const char *blank = close + 1; blank < end; blank++)
        if (!is_blank(r->text, *blank)) return false;
    special->next = next + 1;
    *field = (struct wf_field){p + 1, (size_t)(close - p - 1), true};
    return true;
}

static const char *skip_blanks(const struct wf_text *text, const char *p) {
    while (is_blank(text, *p)) p++;
    return p;
}

/* Finds the end of the field at p, and leaves it as the next special; false: the field is unusual.  A quote that does not
 * begin a field is part of it. */
static bool find_end(const struct reading *r, const char *p, struct wf_places *special, struct wf_field *field) {
    const char *base = (const char *)r->source.buffer;
    *field = (struct wf_field){p, 0, false};
    if (special->next == special->count) return false;
    if (base + special->at[special->next] == p && *p == '"') return find_quoted(r, p, special, field);
    if (*skip_blanks(r->text, p) == '"') return false; /* no blank is special */
    while (special->next < special->count && base[special->at[special->next]] == '"') special->next++;
    return special->next < special->count;
}

/* Finds the fields of the line at p, which may have quotes; returns where it ends, or NULL. */
static const char *find_any(struct reading *r, const char *p) {
    const struct wf_table *table = r->table;
    const char *base = (const char *)r->source.buffer;
    struct wf_places special = r->rows->specials.all;
    struct wf_field field;
    size_t wanted = 0;
    for (int64_t i = 1; find_end(r, p, &special, &field); i++, special.next++) {
        const char *q = base + special.at[special.next];
        if (q - p > WF_TEXT_FIELD_NBYTES_MAX) return NULL;
        if (wanted < table->field_count && table->field[wanted] == i)
            r->rows->field[wanted++] = field.is_quoted ? field : field_between(r->text, p, q);
        p = q + 1;
        if (*q != '\n') continue;
        wf_specials_pass(&r->rows->specials, (size_t)(p - base));
        return i == r->text->width ? q : NULL;
    }
    return NULL;
}

/* Finds the fields of the line at p; returns its end, or NULL. */
static inline const char *find_line(struct reading *r, const char *p) {
    struct wf_specials *specials = &r->rows->specials;
    struct wf_places *all = &specials->all, *fence = &specials->fence;
    const size_t width = (size_t)r->text->width;
    const char *base = (const char *)r->source.buffer;
    if (all->count - all->next < width) r->table->find_places(specials, base, r->source.end, r->delimiter);
    if (all->count - all->next < width || *p == '#') return NULL;
    const uint32_t *special = all->at + all->next, last = special[width - 1];
    const bool is_plain = last == fence->at[fence->next] && base[last] == '\n';
    if (!is_plain || base + last - p > WF_TEXT_FIELD_NBYTES_MAX) return find_any(r, p);
    find_plain(r, p, special);
    all->next += width;
    fence->next++;
    return base + last;
}

/* The same for a line at p whose fields are separated by blanks and have no quotes in front. */
static const char *find_blank_separated(struct reading *r, const char *p) {
    const struct wf_table *table = r->table;
    const char *const end = (const char *)r->source.buffer + r->source.end;
    size_t wanted = 0;
    if (*p == '#') return NULL;
    for (int64_t i = 1;; i++) {
        while (p < end && is_blank(r->text, *p)) p++;
        if (p == end || *p == '"') return NULL;
        if (*p == '\n') return i == r->text->width + 1 ? p : NULL;
        const char *begin = p;
        while (p < end && !wf_char_class_of(r->text, *p)) p++;
        if (p == end || p - begin > WF_TEXT_FIELD_NBYTES_MAX) return NULL;
        if (wanted < table->field_count && table->field[wanted] == i)
            r->rows->field[wanted++] = (struct wf_field){begin, (size_t)(p - begin), false};
    }
}

/* Reads lines until one is unusual. */
static wf_error read_lines(struct reading *r) {
    const char *const base = (const char *)r->source.buffer, *const end = base + r->source.end;
    const char *p = base + r->source.begin;
    if (r->text->width == 1) return WF_OK; /* a line may be blank */
    wf_specials_pass(&r->rows->specials, r->source.begin);
    while (p < end) {
        const char *line_end = r->delimiter ? find_line(r, p) : find_blank_separated(r, p);
        wf_error error = line_end ? keep_row(r) : WF_OK;
        if (!line_end || error) return error;
        p = line_end + 1;
        r->source.begin = (size_t)(p - base);
        wf_text_start_line(r->text, 1, wf_source_offset(&r->source));
    }
    return WF_OK;
}

/* ---- lines: whatever they have ---- */

static wf_error end_line(struct reading *r) {
    wf_error error = r->text->field_count == r->text->width ? keep_row(r) : WF_OK;
    r->found = 0;
    return error ? error : wf_text_end_line(r->handle, r->text, &r->source);
}

static void note_field(struct reading *r, const struct wf_field *field) {
    const struct wf_table *table = r->table;
    if (r->found < table->field_count && table->field[r->found] == r->text->field_count)
        r->rows->field[r->found++] = *field;
}

/* Reads one line, or what is left. */
static wf_error read_line(struct reading *r, bool *is_end) {
    struct wf_field field;
    for (;;) {
        const enum wf_find found = wf_text_find(r->text, &r->source, &field);
        *is_end = found == WF_FIND_END;
        if (*is_end) return WF_OK;
        if (found == WF_FIND_LINE_END) return end_line(r);
        if (found != WF_FIND_FIELD) return wf_text_fail_find(r->handle, r->text, &r->source, found);
        note_field(r, &field);
    }
}

wf_error wf_table_read(wf_handle *handle, const struct wf_table *table, struct wf_chunk *chunk, struct wf_rows *rows) {
    struct reading r = {.handle = handle, .table = table, .rows = rows, .text = &chunk->parser};
    r.source = (struct wf_source){.name = table->reader->source.name,
                                  .buffer = chunk->bytes,
                                  .end = chunk->nbytes,
                                  .nbytes_read = chunk->offset + (int64_t)chunk->nbytes,
                                  .is_at_end = true};
    r.delimiter = wf_text_delimiter(&chunk->parser);
    r.value_nbytes = wf_type_nbytes(table->plan.type);
    r.is_f64 = table->plan.type == WF_F64 && table->plan.decimals == WF_NO_DECIMALS && !table->plan.counts_rows;
    rows->count = rows->place_count = 0;
    rows->key_nbytes = 0;
    if (table->column_count) memset(rows->has_missing, 0, table->column_count * sizeof *rows->has_missing);
    const wf_environment callers = wf_environment_enter();
    wf_error error = WF_OK;
    for (bool is_end = chunk->nbytes == 0; !is_end && !error;) {
        error = read_lines(&r);
        if (!error) error = read_line(&r, &is_end);
    }
    wf_environment_leave(callers);
    return error;
}
