#include "code_host.h"

#include <inttypes.h>
#include <string.h>

#include "advice.h"
#include "json.h"
#include "simt/simt.h"

/* ---- SARIF --------------------------------------------------------------------------------------- */

/* A file's name as a URI: relative to where warpfold was started, or absolute. */
static void put_uri(struct json *json, const char *file) {
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
    json_key(json, "uri");
    json_open_text(json);
    if (file[0] == '/') fputs("file://", json->stream);
    for (; *file; file++)
        fprintf(json->stream, strchr(plain, *file) ? "%c" : "%%%02X", (unsigned char)*file);
    json_close_text(json);
}

static void put_text(struct json *json, const char *key, const char *text) {
    json_key(json, key);
    json_begin(json, '{');
    json_key_text(json, "text", text);
    json_end(json, '}');
}

static void put_place(struct json *json, const char *file, uint32_t line, const char *said) {
    json_begin(json, '{');
    json_key(json, "physicalLocation");
    json_begin(json, '{');
    json_key(json, "artifactLocation");
    json_begin(json, '{');
    put_uri(json, file);
    json_end(json, '}');
    if (line) {
        json_key(json, "region");
        json_begin(json, '{');
        json_key_unsigned(json, "startLine", line);
        json_end(json, '}');
    }
    json_end(json, '}');
    if (said) put_text(json, "message", said);
    json_end(json, '}');
}

static void put_result(void *to, const struct host_result *result) {
    struct json *json = to;
    json_begin(json, '{');
    json_key_text(json, "ruleId", result->rule);
    json_key_text(json, "level", result->is_warning ? "warning" : "error");
    put_text(json, "message", result->message);
    if (result->file) {
        json_key_begin(json, "locations", '[');
        put_place(json, result->file, result->line, NULL);
        json_end(json, ']');
    }
    if (result->other_file) {
        json_key_begin(json, "relatedLocations", '[');
        put_place(json, result->other_file, result->other_line, "the other access");
        json_end(json, ']');
    }
    if (result->file) json_key_unsigned(json, "occurrenceCount", result->count ? result->count : 1);
    json_end(json, '}');
}

static void put_rule(struct json *json, const char *name) {
    json_begin(json, '{');
    json_key_text(json, "id", name);
    json_end(json, '}');
}

static void put_tool(struct json *json) {
    json_key(json, "tool");
    json_begin(json, '{');
    json_key(json, "driver");
    json_begin(json, '{');
    json_key_text(json, "name", "warpfold");
    json_key_begin(json, "rules", '[');
    const char *name;
    for (uint32_t kind = 0; strcmp(name = simt_finding_kind_name((enum simt_finding_kind)kind), "unknown"); kind++) put_rule(json, name);
    put_rule(json, "result");
    for (const char *const *kind = advice_kinds; *kind; kind++) put_rule(json, *kind);
    json_end(json, ']');
    json_end(json, '}');
    json_end(json, '}');
}

void put_sarif(FILE *stream, host_give *give, const void *from) {
    struct json json = json_to(stream);
    json_begin(&json, '{');
    json_key_text(&json, "version", "2.1.0");
    json_key_text(&json, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    json_key_begin(&json, "runs", '[');
    json_begin(&json, '{');
    put_tool(&json);
    json_key_begin(&json, "results", '[');
    give(from, put_result, &json);
    json_end(&json, ']');
    json_end(&json, '}');
    json_end(&json, ']');
    json_end(&json, '}');
    fputc('\n', stream);
}

/* ---- annotations: ::error file=F,line=N,title=T::MESSAGE ------------------------------------------ */

/* In a property, colons and commas are escaped, too. */
static void put_escaped(FILE *stream, const char *text, bool is_property) {
    for (; *text; text++)
        if (strchr("%\r\n", *text) || (is_property && strchr(":,", *text))) fprintf(stream, "%%%02X", (unsigned char)*text);
        else fputc(*text, stream);
}

static void put_annotation(void *to, const struct host_result *result) {
    FILE *stream = to;
    fprintf(stream, "::%s ", result->is_warning ? "warning" : "error");
    if (result->file) {
        fputs("file=", stream);
        put_escaped(stream, result->file, true);
        if (result->line) fprintf(stream, ",line=%" PRIu32, result->line);
        fputc(',', stream);
    }
    fprintf(stream, "title=%s::", result->rule);
    put_escaped(stream, result->message, false);
    fputc('\n', stream);
}

void put_annotations(FILE *stream, host_give *give, const void *from) { give(from, put_annotation, stream); }
