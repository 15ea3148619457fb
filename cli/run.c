/* Whole CUDA programs on the simulator. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "commands.h"
#include "inspect.h"
#include "output.h"
#include "program/program.h"
#include "report/html.h"
#include "report/kernel_name.h"
#include "report/printed.h"

static void show_progress(void *context, uint64_t launch, const char *kernel, double seconds) {
    static const double FIRST_SHOWN_SECONDS = 1;
    bool *is_shown = context, is_due = launch && seconds >= FIRST_SHOWN_SECONDS;
    char line[1024]; /* every character of the name may be an escape */
    FILE *stream = is_due || *is_shown ? fmemopen(line, sizeof line, "w") : NULL;
    if (!stream) return;
    fputc('\r', stream);
    if (is_due) {
        fprintf(stream, "launch %llu, ", (unsigned long long)launch);
        char name[128];
        readable_name(kernel, name, sizeof name);
        put_name(stream, name, strlen(name));
        fprintf(stream, ", for %.0f s", seconds);
    }
    fputs("\033[K", stream);
    fclose(stream);
    write_all(STDERR_FILENO, line, strlen(line));
    *is_shown = is_due;
}

static int read_settings(const struct settings *given, struct program_settings *settings) {
    *settings = (struct program_settings){.gpu = program_gpus[given->gpu],
                                          .gpus = (uint32_t)given->gpus,
                                          .kernel = given->kernel,
                                          .launch = (uint64_t)given->launch,
                                          .instruction_limit = (uint64_t)given->limit,
                                          .threads = (uint32_t)given->threads,
                                          .skips_races = given->races == RACES_OFF,
                                          .equal_stores_race = given->races == RACES_ALL,
                                          .tells_slow = !given->quiet,
                                          .counts_lines = given->source || given->html,
                                          .leftovers = &cleanup_leftovers};
    if (given->sarif + given->json + given->github > 1)
        return fail_usage("--json, --sarif and --github exclude each other: one report is written");
    if (given->outputs.count > 1)
        return fail_usage("--out is given twice, as '%s' and '%s': it takes one value at a time", given->outputs.items[0],
                          given->outputs.items[1]);
    if (parse_schedule(given->schedule, &settings->schedule, &settings->seed)) return STATUS_OK;
    return fail_usage("--schedule takes lockstep, split or random:SEED, not '%s'", given->schedule);
}

static bool make_report(const struct program *program, const struct settings *settings, struct page *page) {
    page_open(page);
    bool is_whole = page->stream != NULL;
    bool has_colour = !settings->outputs.count && wants_colour();
    if (is_whole)
        is_whole = settings->sarif  ? program_put_sarif(page->stream, program)
                   : settings->github ? program_put_annotations(page->stream, program)
                   : settings->json ? program_put_json(page->stream, program)
                                    : program_put_report(page->stream, program, has_colour);
    return page_end(page) && is_whole;
}

/* Standard output is the program's. */
static int hand_on(const struct page *page, const struct settings *settings) {
    if (!settings->outputs.count) return write_all(2, page->text, page->length) ? STATUS_OK : STATUS_FAILED;
    struct file_draft draft = {
        .path = settings->outputs.items[0], .pieces = {{page->text, page->length}}, .piece_count = 1};
    return deliver(&draft, 1, NULL);
}

static int report(const struct program *program, const struct settings *settings) {
    struct page page;
    int status = make_report(program, settings, &page) ? hand_on(&page, settings) : fail_memory();
    page_clear(&page);
    return status;
}

static int report_page(const struct program *program, const char *path, const struct settings *settings) {
    struct page data, page = {0};
    page_open(&data);
    bool is_whole = data.stream && program_put_page_data(data.stream, program);
    is_whole = page_end(&data) && is_whole;
    const struct html_page html = {"run", path, data.text};
    is_whole = is_whole && html_make(&html, &page);
    page_clear(&data);
    if (is_whole) return deliver_html(settings->html, &page, NULL);
    page_clear(&page);
    return fail_memory();
}

static int conclude(const struct program *program, const char *path, const struct settings *settings) {
    struct program_end end = program_end(program);
    if (!end.was_simulated && !end.signal)
        return fail("%s: it ended with status %d, and called nothing of the CUDA runtime or driver", path, end.status);
    int status = report(program, settings);
    if (!status && settings->html) status = report_page(program, path, settings);
    if (status) return status;
    return end.has_findings || (end.has_advice && settings->strict) ? STATUS_FINDINGS : end.status;
}

int command_run(const struct request *request) {
    static simt_message message;
    static bool is_shown;
    struct program_settings settings;
    struct program *program;
    int status = read_settings(request->settings, &settings);
    if (isatty(STDERR_FILENO) && !request->settings->quiet) {
        settings.progress = show_progress;
        settings.progress_context = &is_shown;
    }
    if (status) return status;
    if (!program_open(&program, request->operands, &settings, &message)) return fail_lines(message.text);
    status = program_run(program, &message) ? conclude(program, request->operands[0], request->settings)
                                            : fail_lines(message.text);
    program_close(program);
    return status;
}
