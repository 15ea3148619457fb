/* NumPy's .npy format: a magic number, a version, a header that is a Python dictionary of three entries
 * padded with spaces, and the array.  (NumPy Enhancement Proposal 1, and numpy.lib.format.) */
#include "io/quote.h"
#include "io/reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- the header's text --------------------------------------------------------------------------- */

struct parser {
    wf_handle *handle;
    const char *name;
    const char *begin, *at, *end;
    wf_error error; /* the first error; at does not move after it */
};

static void __attribute__((format(printf, 2, 3), cold)) fail(struct parser *parser, const char *format, ...) {
    char what[512];
    va_list arguments;
    if (parser->error) return;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    parser->error =
        wf_fail(parser->handle, WF_ERROR_FORMAT, "%s: damaged .npy header: %s", parser->name, what);
}

static void fail_expected(struct parser *parser, const char *expected) {
    size_t left = (size_t)(parser->end - parser->at);
    fail(parser, "expected %s at byte %td, found %s", expected, parser->at - parser->begin,
         left ? wf_quote(parser->at, left < 16 ? left : 16).text : "the end of the header");
}

static void skip_space(struct parser *parser) {
    while (parser->at < parser->end && strchr(" \t\n\r", *parser->at) && *parser->at) parser->at++;
}

/* Consumes c if it is the next character. */
static bool take(struct parser *parser, char c) {
    skip_space(parser);
    if (parser->error || parser->at == parser->end || *parser->at != c) return false;
    parser->at++;
    return true;
}

static void expect(struct parser *parser, char c) {
    char expected[] = {'\'', c, '\'', 0};
    if (!take(parser, c)) fail_expected(parser, expected);
}

static bool take_word(struct parser *parser, const char *word) {
    size_t length = strlen(word);
    skip_space(parser);
    if (parser->error || (size_t)(parser->end - parser->at) < length || memcmp(parser->at, word, length))
        return false;
    parser->at += length;
    return true;
}

struct slice {
    const char *text;
    size_t length;
};

static bool slice_is(struct slice slice, const char *text) {
    return slice.length == strlen(text) && !memcmp(slice.text, text, slice.length);
}

/* A quoted string.  Escapes are not decoded, since no key and no type contains one. */
static struct slice parse_string(struct parser *parser) {
    char quote = take(parser, '\'') ? '\'' : take(parser, '"') ? '"' : 0;
    if (!quote) {
        fail_expected(parser, "a string");
        return (struct slice){"", 0};
    }
    const char *text = parser->at;
    const char *closing = memchr(text, quote, (size_t)(parser->end - text));
    if (!closing) {
        fail(parser, "unterminated string at byte %td", text - parser->begin);
        return (struct slice){"", 0};
    }
    parser->at = closing + 1;
    return (struct slice){text, (size_t)(closing - text)};
}

/* ---- descr --------------------------------------------------------------------------------------- */

static const struct {
    const char *code;
    wf_type type;
} descr_table[] = {
    {"b1", WF_BOOL}, {"i1", WF_I8},  {"i2", WF_I16},        {"i4", WF_I32}, {"i8", WF_I64},
    {"u1", WF_U8},   {"u2", WF_U16}, {"u4", WF_U32},        {"u8", WF_U64}, {"f2", WF_F16},
    {"f4", WF_F32},  {"f8", WF_F64}, {"bfloat16", WF_BF16},
};

static void fail_descr(struct parser *parser, const char *text, size_t length) {
    if (parser->error) return;
    parser->error =
        wf_fail(parser->handle, WF_ERROR_FORMAT,
                "%s: its elements are %s (descr), not numbers of a supported type: "
                "b1, i1 to i8, u1 to u8, f2, f4, f8 or bfloat16 (V2 if the type is given as bf16)",
                parser->name, wf_quote(text, length).text);
}

static void parse_descr(struct parser *parser, wf_type wanted_type, struct wf_npy_header *header) {
    skip_space(parser);
    if (parser->at < parser->end && *parser->at != '\'' && *parser->at != '"') {
        /* A structured type (a list of fields), or something that NumPy never writes. */
        fail_descr(parser, parser->at, (size_t)(parser->end - parser->at));
        return;
    }
    struct slice descr = parse_string(parser), code = descr;
    char order = descr.length ? descr.text[0] : 0;
    if (order && strchr("<>|=", order)) {
        code.text++;
        code.length--;
    }
    header->type = WF_TYPE_DEFAULT;
    for (size_t i = 0; i < sizeof descr_table / sizeof descr_table[0]; i++)
        if (slice_is(code, descr_table[i].code)) header->type = descr_table[i].type;
    if (wanted_type == WF_BF16 && slice_is(code, "V2")) header->type = WF_BF16;
    if (!header->type) fail_descr(parser, descr.text, descr.length);
    header->is_swapped = order == (wf_is_little_endian() ? '>' : '<') && wf_type_nbytes(header->type) > 1;
}

/* ---- fortran_order and shape --------------------------------------------------------------------- */

static void parse_order(struct parser *parser, struct wf_npy_header *header) {
    header->is_fortran_order = take_word(parser, "True");
    if (!header->is_fortran_order && !take_word(parser, "False")) fail_expected(parser, "True or False");
}

/* Python 2 wrote some lengths as 3L. */
static int64_t parse_length(struct parser *parser) {
    skip_space(parser);
    const char *first = parser->at;
    int64_t length = 0;
    bool fits = true;
    for (; !parser->error && parser->at < parser->end && *parser->at >= '0' && *parser->at <= '9';
         parser->at++) {
        fits &= !__builtin_mul_overflow(length, 10, &length);
        fits &= !__builtin_add_overflow(length, *parser->at - '0', &length);
    }
    if (parser->at == first)
        fail_expected(parser, "a length (0 or more)");
    else if (!fits)
        fail(parser, "the length %s is too large", wf_quote(first, (size_t)(parser->at - first)).text);
    take_word(parser, "L");
    return length;
}

static void parse_shape(struct parser *parser, struct wf_npy_header *header) {
    header->ndim = 0;
    expect(parser, '(');
    for (bool has_comma = true; !parser->error && !take(parser, ')');) {
        if (!has_comma) fail_expected(parser, "',' or ')'");
        if (header->ndim == WF_NDIM_MAX) fail(parser, "the shape has more than %d dimensions", WF_NDIM_MAX);
        int64_t length = parse_length(parser);
        if (parser->error) return;
        header->shape[header->ndim++] = length;
        has_comma = take(parser, ',');
        if (!has_comma && header->ndim == 1) fail_expected(parser, "',' (the shape is a tuple)");
    }
}

/* Sets count.  An empty array may have other lengths of any size.  The header and the array together must fit
 * in 63 bits. */
static void count_elements(struct parser *parser, struct wf_npy_header *header) {
    int64_t nbytes = (int64_t)wf_type_nbytes(header->type);
    bool fits = true, is_empty = false;
    for (int i = 0; i < header->ndim; i++) {
        is_empty |= header->shape[i] == 0;
        fits &= !__builtin_mul_overflow(nbytes, header->shape[i], &nbytes);
    }
    fits &= nbytes <= INT64_MAX - WF_NPY_HEADER_NBYTES_MAX;
    if (!fits && !is_empty) fail(parser, "the size of the array in bytes does not fit in 63 bits");
    header->count = is_empty || parser->error ? 0 : nbytes / (int64_t)wf_type_nbytes(header->type);
}

static void parse_dictionary(struct parser *parser, wf_type wanted_type, struct wf_npy_header *header) {
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    enum { DESCR, FORTRAN_ORDER, SHAPE, KEY_COUNT };
    unsigned seen = 0;
    expect(parser, '{');
    for (bool has_comma = true; !parser->error && !take(parser, '}');) {
        if (!has_comma) fail_expected(parser, "',' or '}'");
        struct slice name = parse_string(parser);
        int key = 0;
        while (key < KEY_COUNT && !slice_is(name, keys[key])) key++;
        if (key == KEY_COUNT)
            fail(parser, "unknown key %s", wf_quote(name.text, name.length).text);
        else if (seen >> key & 1)
            fail(parser, "duplicate key '%s'", keys[key]);
        seen |= 1u << key;
        expect(parser, ':');
        if (parser->error) return;
        if (key == DESCR) parse_descr(parser, wanted_type, header);
        if (key == FORTRAN_ORDER) parse_order(parser, header);
        if (key == SHAPE) parse_shape(parser, header);
        has_comma = take(parser, ',');
    }
    for (int key = 0; key < KEY_COUNT; key++)
        if (!(seen >> key & 1)) fail(parser, "missing key '%s'", keys[key]);
    skip_space(parser);
    if (parser->at != parser->end) fail_expected(parser, "nothing more");
}

/* ---- the whole header ---------------------------------------------------------------------------- */

static uint32_t little_endian(const unsigned char *bytes, size_t nbytes) {
    uint32_t value = 0;
    while (nbytes-- > 0) value = value << 8 | bytes[nbytes];
    return value;
}

wf_error wf_npy_parse(wf_handle *handle, const char *name, const void *bytes, size_t nbytes,
                      wf_type wanted_type, struct wf_npy_header *header) {
    enum { MAGIC_NBYTES = 6, VERSION_NBYTES = 2 };
    const unsigned char *file = bytes;
    if (nbytes < MAGIC_NBYTES || memcmp(file, "\x93NUMPY", MAGIC_NBYTES))
        return wf_fail(handle, WF_ERROR_FORMAT, "%s: not a .npy file: it does not begin with \\x93NUMPY",
                       name);
    size_t begin = MAGIC_NBYTES + VERSION_NBYTES + 2;
    if (nbytes >= begin && file[6] > 1) begin += 2; /* the length has four bytes, not two */
    if (nbytes < begin)
        return wf_fail(handle, WF_ERROR_FORMAT,
                       "%s: truncated .npy file: %zu bytes expected at least, %zu found", name, begin,
                       nbytes);
    if (file[6] < 1 || file[6] > 3 || file[7] != 0)
        return wf_fail(handle, WF_ERROR_FORMAT,
                       "%s: unsupported .npy version %u.%u (supported: 1.0, 2.0 and 3.0)", name, file[6],
                       file[7]);
    size_t length =
        little_endian(file + MAGIC_NBYTES + VERSION_NBYTES, begin - MAGIC_NBYTES - VERSION_NBYTES);
    if (length > WF_NPY_HEADER_NBYTES_MAX - begin)
        return wf_fail(handle, WF_ERROR_FORMAT,
                       "%s: damaged .npy header: implausible length of %zu bytes", name, length);
    if (length > nbytes - begin)
        return wf_fail(handle, WF_ERROR_FORMAT, "%s: truncated .npy header: %zu bytes expected, %zu found",
                       name, begin + length, nbytes);
    const char *text = (const char *)file + begin;
    struct parser parser = {handle, name, text, text, text + length, WF_OK};
    struct wf_npy_header parsed = {.header_nbytes = begin + length};
    parse_dictionary(&parser, wanted_type, &parsed);
    if (!parser.error) count_elements(&parser, &parsed);
    if (!parser.error) *header = parsed;
    return parser.error;
}

/* ---- the array ----------------------------------------------------------------------------------- */

static wf_error fail_length(wf_handle *handle, const struct wf_source *source, int64_t expected,
                            int64_t found) {
    if (found < expected)
        return wf_fail(handle, WF_ERROR_FORMAT, "%s: truncated .npy file: %lld bytes expected, %lld found",
                       source->name, (long long)expected, (long long)found);
    return wf_fail(handle, WF_ERROR_FORMAT,
                   "%s: the .npy file has extra bytes after its array: %lld bytes expected, %s%lld found",
                   source->name, (long long)expected, source->nbytes_total < 0 ? "at least " : "",
                   (long long)found);
}

static wf_error npy_open(wf_handle *handle, wf_reader *reader, wf_type *type) {
    struct wf_source *source = &reader->source;
    struct wf_npy_header header;
    wf_error error = wf_source_fill(handle, source, WF_NPY_HEADER_NBYTES_MAX);
    if (error) return error;
    error = wf_npy_parse(handle, source->name, wf_source_window(source), wf_source_available(source),
                         reader->options.type, &header);
    if (error) return error;
    *type = header.type;
    int64_t nbytes = (int64_t)header.header_nbytes + header.count * (int64_t)wf_type_nbytes(header.type);
    if (source->nbytes_total >= 0 && source->nbytes_total != nbytes)
        return fail_length(handle, source, nbytes, source->nbytes_total);
    source->begin += header.header_nbytes;
    reader->npy = header;
    reader->count_left = header.count;
    reader->is_swapped = header.is_swapped;
    return WF_OK;
}

/* Checks that nothing follows the array. */
static wf_error npy_end(wf_handle *handle, wf_reader *reader, struct wf_chunk *chunk) {
    struct wf_source *source = &reader->source;
    chunk->is_end = true;
    chunk->is_claimed = false;
    chunk->count = 0;
    if (reader->is_selected) return WF_OK;
    wf_error error = wf_source_fill(handle, source, 1);
    if (error || wf_source_available(source) == 0) return error;
    return fail_length(handle, source, wf_source_offset(source), source->nbytes_read);
}

static wf_error npy_take(wf_handle *handle, wf_reader *reader, struct wf_chunk *chunk) {
    struct wf_source *source = &reader->source;
    if (reader->count_left == 0) return npy_end(handle, reader, chunk);
    int64_t nbytes = (int64_t)wf_type_nbytes(reader->type);
    int64_t expected = wf_source_offset(source) + reader->count_left * nbytes;
    chunk->is_end = false;
    if (reader->wants_c_order && wf_npy_is_transposed(&reader->npy))
        return wf_npy_take_transposed(handle, reader, chunk);
    wf_error error = wf_elements_take(handle, reader, reader->count_left, chunk);
    reader->count_left -= chunk->count;
    bool is_whole = chunk->count > 0 && chunk->nbytes % (size_t)nbytes == 0;
    return error || is_whole ? error : fail_length(handle, source, expected, source->nbytes_read);
}

const struct wf_reader_format wf_reader_npy = {
    .open = npy_open,
    .take = npy_take,
    .finish = wf_elements_finish,
    .counts_on_taking = true,
    .thread_nbytes = WF_ELEMENTS_THREAD_NBYTES,
};

wf_error wf_reader_set_order(wf_handle *handle, wf_reader *reader, bool wants_c_order) {
    bool is_begun = reader->format == &wf_reader_npy && reader->count_left < reader->npy.count;
    if (is_begun && reader->wants_c_order != wants_c_order && wf_npy_is_transposed(&reader->npy))
        return wf_fail(
            handle, WF_ERROR_ARGUMENT,
            "%s: elements were already taken in storage order (Fortran), but the rest is needed in C order",
            reader->source.name);
    reader->wants_c_order = wants_c_order;
    return WF_OK;
}
