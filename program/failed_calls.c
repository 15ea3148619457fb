/* Calls of the runtime that failed, of which the program was not told, as text and as JSON. */
#include "failed_calls.h"

#include <string.h>

#include "places.h"
#include "recorded.h"
#include "report/numerals.h"
#include "report/printed.h"

static uint32_t failure_count(const struct record *record) { return least(record->failure_count, RECORD_FAILURES); }

/* How often the call failed without cudaGetLastError() having told the program. */
static uint64_t times_unasked(const struct record_failure *failure) {
    return failure->count > failure->asked ? failure->count - failure->asked : 0;
}

static void put_text(FILE *stream, const char from[RECORD_NAME]) {
    char text[RECORD_NAME];
    record_get_text(text, from);
    put_name(stream, text, strlen(text));
}

/* Of those, the ones that refused a launch.  Which calls were asked after is not known of each. */
static uint64_t launches_unasked(const struct record_failure *failure) {
    const uint64_t count = times_unasked(failure);
    return failure->launches < count ? failure->launches : count;
}

uint64_t failed_calls_other_launches(const struct record *record) {
    uint64_t told = 0;
    for (uint32_t i = 0; i < failure_count(record); i++) told += launches_unasked(&record->failures[i]);
    return record->refused_launches > told ? record->refused_launches - told : 0;
}

static void put_failure(FILE *stream, const struct names *names, const struct record_failure *failure) {
    char times[NUMERAL_NBYTES];
    const uint64_t count = times_unasked(failure);
    fputs("    ", stream);
    put_text(stream, failure->call);
    if (failure->place.line) fputs(" at ", stream);
    if (failure->place.line) place_put(stream, names, &failure->place);
    fputs(" failed: ", stream);
    put_text(stream, failure->error);
    fputs(" (", stream);
    put_text(stream, failure->text);
    fputc(')', stream);
    if (failure->reason[0]) fputs(": ", stream);
    put_text(stream, failure->reason);
    if (count > 1) fprintf(stream, ", %s times", numeral(times, count));
    fputc('\n', stream);
}

bool failed_calls_put(FILE *stream, const struct program *program, const struct names *names) {
    const struct record *record = program->record;
    bool is_first = true, has_memory = true;
    for (uint32_t i = 0; i < failure_count(record); i++) {
        if (!times_unasked(&record->failures[i])) continue;
        if (is_first) fputs("\ncalls that failed, of which cudaGetLastError() has not told the program\n", stream);
        is_first = false;
        put_failure(stream, names, &record->failures[i]);
        if (record->failures[i].place.line)
            has_memory = place_put_line(stream, program, names, &record->failures[i].place) && has_memory;
    }
    return has_memory;
}

void failed_calls_put_json(struct json *json, const struct record *record, const struct names *names) {
    char text[RECORD_NAME], shown[2 * RECORD_NAME];
    json_key_begin(json, "failed_calls", '[');
    for (uint32_t i = 0; i < failure_count(record); i++) {
        const struct record_failure *failure = &record->failures[i];
        static const char no_file[RECORD_NAME];
        const struct {
            const char *key, *text;
        } texts[] = {{"call", failure->call}, {"error", failure->error}, {"text", failure->text}, {"reason", failure->reason}};
        if (!times_unasked(failure)) continue;
        json_begin(json, '{');
        for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
            record_get_text(text, texts[t].text);
            json_key_text(json, texts[t].key, text);
        }
        names_show(names, failure->place.line ? failure->place.file : no_file, shown);
        json_key_text(json, "file", shown);
        json_key_unsigned(json, "line", failure->place.line);
        json_key_unsigned(json, "count", times_unasked(failure));
        json_key_unsigned(json, "refused_launches", launches_unasked(failure));
        json_end(json, '}');
    }
    json_end(json, ']');
}
