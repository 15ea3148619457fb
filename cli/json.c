#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "warpfold.h"

/* Bytes of the UTF-8 sequence that the text begins with; 0 if it begins with none. */
static size_t sequence_length(const unsigned char *text, size_t nbytes) {
    static const struct {
        unsigned char mask, lead, low, high; /* of the second byte */
    } forms[] = {
        {0xff, 0xe0, 0xa0, 0xbf}, {0xff, 0xed, 0x80, 0x9f}, {0xff, 0xf0, 0x90, 0xbf},
        {0xff, 0xf4, 0x80, 0x8f}, {0xe0, 0xc0, 0x80, 0xbf}, {0xf0, 0xe0, 0x80, 0xbf},
        {0xfc, 0xf0, 0x80, 0xbf},
    };
    if (text[0] < 0x80) return 1;
    if (text[0] < 0xc2 || nbytes < 2) return 0;
    size_t length = text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
    size_t form = 0, form_count = sizeof forms / sizeof forms[0];
    while (form < form_count && (text[0] & forms[form].mask) != forms[form].lead) form++;
    if (form == form_count || length > nbytes || text[1] < forms[form].low || text[1] > forms[form].high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((text[i] & 0xc0) != 0x80) return 0;
    return length;
}

void put_json_bytes(FILE *stream, const char *text, size_t nbytes) {
    fputc('"', stream);
    while (nbytes > 0) {
        const unsigned char c = (unsigned char)*text;
        size_t length = sequence_length((const unsigned char *)text, nbytes);
        if (length == 0)
            fputs("\\ufffd", stream);
        else if (c < 0x20 || c == 0x7f)
            fprintf(stream, "\\u%04x", c);
        else
            fprintf(stream, c == '"' || c == '\\' ? "\\%.*s" : "%.*s", (int)length, text);
        length += length == 0;
        text += length;
        nbytes -= length;
    }
    fputc('"', stream);
}

void put_json_text(FILE *stream, const char *text) {
    put_json_bytes(stream, text ? text : "", text ? strlen(text) : 0);
}

void put_json_number(FILE *stream, double value) {
    char text[64];
    const wf_value number = {.type = WF_F64, .as.f64 = value};
    if (value == floor(value) && fabs(value) < 0x1p53) {
        fprintf(stream, "%.0f", value);
        return;
    }
    wf_value_format(&number, 0, text, sizeof text);
    fputs(isfinite(value) ? text : "null", stream);
}
