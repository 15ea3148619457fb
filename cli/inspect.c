/* The observers on the user's own kernel. */
#include "inspect.h"

#include <stdlib.h>
#include <unistd.h>

#include "commands.h"
#include "html.h"
#include "inspect_arguments.h"
#include "inspect_kernel.h"
#include "inspect_report.h"
#include "observer.h"
#include "output.h"

enum { OBSERVERS_MAX = 32, LANES_DEFAULT = 32 };

struct inspection {
    const struct settings *settings;
    const char *path;
    simt_settings machine;
    simt_launch launch;
    const simt_observer *observers[OBSERVERS_MAX];
    struct arguments arguments;
    struct kernel kernel;
    struct page printed; /* by the kernel */
};

/* ---- before the launch --------------------------------------------------------------------------- */

static int read_extent(const char *option, const char *text, const char *otherwise, uint32_t extent[3]) {
    if (parse_extent(text ? text : otherwise, extent)) return STATUS_OK;
    return fail_usage("--%s takes X[,Y[,Z]], whole numbers from 1, not '%s'", option, text);
}

static int read_launch(simt_launch *launch, const struct settings *settings) {
    *launch = (simt_launch){.shared_nbytes = (size_t)settings->shared,
                            .instruction_limit = (uint64_t)settings->limit,
                            .threads = (uint32_t)settings->threads};
    int status = read_extent("grid", settings->grid, "1", launch->grid);
    if (!status) status = read_extent("block", settings->block, "32", launch->block);
    if (!status && !parse_schedule(settings->schedule, &launch->schedule, &launch->seed))
        status = fail_usage("--schedule takes lockstep, split or random:SEED, not '%s'", settings->schedule);
    return status;
}

/* What tells where costs more, and is there for who asks. */
static void list_observers(struct inspection *inspection) {
    const struct settings *settings = inspection->settings;
    size_t count = 0;
    if (settings->html) inspection->observers[count++] = &simt_observe_replay;
    if (settings->html || settings->json || settings->source)
        inspection->observers[count++] = &simt_observe_lines;
    for (size_t i = 0; simt_observers[i] && count < OBSERVERS_MAX - 1; i++)
        inspection->observers[count++] = simt_observers[i];
    inspection->launch.observers = inspection->observers;
}

static void keep_printed(void *context, const char *text, size_t nbytes) {
    struct page *printed = context;
    if (printed->stream) fwrite(text, 1, nbytes, printed->stream);
}

/* ---- the report ---------------------------------------------------------------------------------- */

static int write_page(const char *path, const struct inspection_report *report) {
    char *json = NULL, title[KERNEL_NAME_CAPACITY + 16];
    size_t nbytes = 0;
    FILE *stream = open_memstream(&json, &nbytes);
    if (stream) put_report_json(stream, report, true);
    bool is_whole = stream && !ferror(stream);
    if (stream && fclose(stream)) is_whole = false;
    snprintf(title, sizeof title, "inspect %s", report->kernel);
    const struct html_page page = {.kind = "inspect", .title = title, .json = json};
    int status = is_whole ? html_write(path, &page) : fail("%s", wf_error_text(WF_ERROR_MEMORY));
    free(json);
    return status;
}

static bool wants_colour(void) {
    const char *no_colour = getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) && !(no_colour && no_colour[0]);
}

static int print_text(const struct settings *settings, const struct inspection_report *report) {
    struct page page;
    page_open(&page);
    if (page.stream && settings->json) put_report_json(page.stream, report, false);
    if (page.stream && !settings->json) put_report(page.stream, report);
    if (page.stream && !settings->json && settings->source) put_heat(page.stream, report, wants_colour());
    return page_print(&page);
}

static int tell(const struct inspection *inspection, const simt_report *counts, bool is_stopped) {
    const struct settings *settings = inspection->settings;
    struct inspection_report report = {.kernel = inspection->kernel.name,
                                       .path = inspection->path,
                                       .ptx = inspection->kernel.ptx,
                                       .machine = inspection->machine,
                                       .launch = &inspection->launch,
                                       .counts = counts,
                                       .printed = inspection->printed.text,
                                       .printed_nbytes = inspection->printed.length,
                                       .is_stopped = is_stopped};
    int status = STATUS_OK;
    if (!sources_read(&report.sources, counts))
        status = fail("%s", wf_error_text(WF_ERROR_MEMORY));
    else if (settings->html)
        status = write_page(settings->html, &report);
    if (!status && (settings->json || !settings->html)) status = print_text(settings, &report);
    sources_clear(&report.sources);
    return !status && simt_report_finding_count(counts) > 0 ? STATUS_FINDINGS : status;
}

/* What a stopped launch left in memory is no result: it is not written. */
static int conclude(struct inspection *inspection, const simt_machine *machine, const simt_report *counts,
                    bool is_stopped) {
    if (fflush(inspection->printed.stream)) return fail("%s", wf_error_text(WF_ERROR_MEMORY));
    int status = is_stopped ? STATUS_OK : arguments_write(&inspection->arguments, machine);
    return status ? status : tell(inspection, counts, is_stopped);
}

/* ---- the launch ---------------------------------------------------------------------------------- */

static int launch(struct inspection *inspection, simt_machine *machine) {
    simt_message message = {0};
    simt_report *counts = NULL;
    const void **values = calloc(inspection->arguments.count + 1, sizeof *values);
    page_open(&inspection->printed);
    if (!values || !inspection->printed.stream) {
        free(values);
        return fail("%s", wf_error_text(WF_ERROR_MEMORY));
    }
    for (size_t i = 0; i < inspection->arguments.count; i++) values[i] = inspection->arguments.items[i].value;
    inspection->launch.module = inspection->kernel.module;
    inspection->launch.kernel = inspection->kernel.index;
    inspection->launch.arguments = values;
    inspection->launch.print = keep_printed;
    inspection->launch.print_context = &inspection->printed;
    simt_error error = simt_machine_launch(machine, &inspection->launch, &counts, &message);
    int status = STATUS_OK;
    if (error == SIMT_ERROR_ARGUMENT)
        status = fail_usage("%s", message.text);
    else if (error && (error != SIMT_ERROR_STOPPED || !counts))
        status = fail("%s", message.text);
    else
        status = conclude(inspection, machine, counts, error == SIMT_ERROR_STOPPED);
    simt_report_destroy(counts);
    free(values);
    return status;
}

static int run_on_machine(struct inspection *inspection) {
    simt_machine *machine = NULL;
    if (simt_machine_create(&inspection->machine, &machine))
        return fail("%s", wf_error_text(WF_ERROR_MEMORY));
    int status = arguments_place(&inspection->arguments, machine);
    if (!status) status = launch(inspection, machine);
    simt_machine_destroy(machine);
    return status;
}

static void inspection_clear(struct inspection *inspection) {
    if (inspection->printed.stream) fclose(inspection->printed.stream);
    free(inspection->printed.text);
    kernel_clear(&inspection->kernel);
    arguments_clear(&inspection->arguments);
}

int command_inspect(const struct request *request) {
    const struct settings *settings = request->settings;
    struct inspection inspection = {.settings = settings,
                                    .path = request->operands[0],
                                    .machine = {settings->warp ? (uint32_t)settings->warp : LANES_DEFAULT,
                                                settings->banks ? (uint32_t)settings->banks : LANES_DEFAULT}};
    int status = read_launch(&inspection.launch, settings);
    list_observers(&inspection);
    if (!status) status = arguments_parse(&inspection.arguments, settings);
    if (!status) status = kernel_load(&inspection.kernel, inspection.path, settings->kernel);
    if (!status)
        status = arguments_check(&inspection.arguments, inspection.kernel.module, inspection.kernel.index,
                                 inspection.kernel.name);
    if (!status) status = run_on_machine(&inspection);
    inspection_clear(&inspection);
    return status;
}
