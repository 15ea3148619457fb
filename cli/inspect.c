/* The observers on the user's own kernel. */
#include "inspect.h"

#include <stdlib.h>

#include "commands.h"
#include "inspect_arguments.h"
#include "inspect_kernel.h"
#include "inspect_suggest.h"
#include "output.h"
#include "report/html.h"
#include "report/inspect_report.h"
#include "report/notice.h"

enum { OBSERVERS_MAX = 32, LANES_DEFAULT = 32 };

struct inspection {
    const struct settings *settings;
    const char *path;
    simt_settings machine;
    simt_launch launch;
    const struct simt_observer *observers[OBSERVERS_MAX];
    struct arguments arguments;
    struct kernel kernel;
    struct page printed; /* by the kernel */
};

/* ---- before the launch --------------------------------------------------------------------------- */

static int read_extent(const char *option, const char *text, const char *otherwise, uint32_t extent[3]) {
    if (parse_extent(text ? text : otherwise, extent)) return STATUS_OK;
    return fail_usage("--%s takes X[,Y[,Z]], whole numbers from 1, not '%s'", option, text);
}

static int read_cluster(simt_launch *launch, const char *text) {
    uint32_t extent[3];
    int status = text ? read_extent("cluster", text, NULL, extent) : STATUS_OK;
    for (int d = 0; d < 3 && text && !status; d++) {
        if (extent[d] > UINT8_MAX) return fail_usage("--cluster %s: a cluster has at most 16 blocks", text);
        launch->cluster[d] = (uint8_t)extent[d];
    }
    return status;
}

static int read_launch(simt_launch *launch, const struct settings *settings) {
    *launch = (simt_launch){.shared_nbytes = (size_t)settings->shared,
                            .instruction_limit = (uint64_t)settings->limit,
                            .threads = (uint32_t)settings->threads};
    int status = read_extent("grid", settings->grid, "1", launch->grid);
    if (!status) status = read_extent("block", settings->block, "32", launch->block);
    if (!status) status = read_cluster(launch, settings->cluster);
    if (!status && !parse_schedule(settings->schedule, &launch->schedule, &launch->seed))
        status = fail_usage("--schedule takes lockstep, split or random:SEED, not '%s'", settings->schedule);
    return status;
}

/* Replays cost more than all others, so they run only if a page was asked for. */
static void list_observers(struct inspection *inspection) {
    const struct settings *settings = inspection->settings;
    size_t count = 0;
    if (settings->html) inspection->observers[count++] = &simt_observe_replay;
    inspection->observers[count++] = &simt_observe_lines; /* advice is about them */
    inspection->observers[count++] = &simt_observe_barriers;
    for (size_t i = 0; simt_observers[i] && count < OBSERVERS_MAX - 1; i++)
        inspection->observers[count++] = simt_observers[i];
    inspection->launch.observers = inspection->observers;
}

static void keep_printed(void *context, const char *text, size_t nbytes) {
    struct page *printed = context;
    if (printed->stream) fwrite(text, 1, nbytes, printed->stream);
}

static void say_slow(void *context, const simt_notice *notice) {
    const struct inspection *inspection = context;
    char text[NOTICE_NBYTES];
    notice_text(notice, &inspection->launch, text);
    fprintf(stderr, "warpfold: %s\n", text);
}

/* ---- the report ---------------------------------------------------------------------------------- */

/* false, here and below: no memory. */
static bool make_html(const struct inspection_report *report, struct page *page) {
    struct page json;
    char title[KERNEL_NAME_CAPACITY + 16];
    page_open(&json);
    if (json.stream) put_report_json(json.stream, report, true);
    snprintf(title, sizeof title, "inspect %s", report->kernel);
    bool is_whole = page_end(&json);
    const struct html_page html = {.kind = "inspect", .title = title, .json = json.text};
    is_whole = is_whole && html_make(&html, page);
    page_clear(&json);
    return is_whole;
}

static bool make_text(const struct settings *settings, const struct inspection_report *report,
                      struct page *page) {
    page_open(page);
    if (!page->stream) return page_end(page);
    if (settings->json) put_report_json(page->stream, report, false);
    else if (settings->sarif) put_report_sarif(page->stream, report);
    else if (settings->github) put_report_annotations(page->stream, report);
    else {
        put_report(page->stream, report, wants_colour());
        if (settings->source) put_heat(page->stream, report, wants_colour());
    }
    return page_end(page);
}

/* Everything is there before the first file is written. */
static int hand_on(const struct inspection *inspection, const struct inspection_report *report) {
    const struct settings *settings = inspection->settings;
    const struct arguments *arguments = &inspection->arguments;
    struct page html = {0}, text = {0};
    bool is_printed = settings->json || settings->sarif || settings->github || !settings->html;
    size_t count = 0;
    struct file_draft *drafts = calloc(arguments->output_count + 1, sizeof *drafts);
    bool has_memory = drafts && (!settings->html || make_html(report, &html)) &&
                      (!is_printed || make_text(settings, report, &text));
    for (size_t i = 0; has_memory && !report->is_stopped && i < arguments->output_count; i++)
        drafts[count++] = output_draft(&arguments->outputs[i]);
    if (has_memory && settings->html)
        drafts[count++] = (struct file_draft){
            .path = settings->html, .pieces = {{html.text, html.length}}, .piece_count = 1};
    int status = has_memory ? deliver(drafts, count, is_printed ? &text : NULL) : fail_memory();
    free(drafts);
    page_clear(&html);
    page_clear(&text);
    return status;
}

static void list_advice(const struct inspection *inspection, struct inspection_report *report) {
    const uint32_t *block = inspection->launch.block;
    const struct advice_subject subject = {
        .report = report->counts,
        .warp_size = inspection->machine.warp_size,
        .block_threads = block[0] * block[1] * block[2],
        .shared_nbytes = inspection->launch.shared_nbytes +
                         simt_module_shared_nbytes(inspection->kernel.module, inspection->kernel.index),
        .source = inspection->kernel.text};
    report->advice_count = advice_list(&subject, report->advice);
}

static int tell_all(const struct inspection *inspection, struct inspection_report *report) {
    int status = hand_on(inspection, report);
    bool is_clean = simt_report_finding_count(report->counts) == 0 && !report->is_stopped && !report_is_wrong(report) &&
                    !(inspection->settings->strict && report->advice_count);
    return status || is_clean ? status : STATUS_FINDINGS;
}

/* What names the arguments: the kernel's file, or of PTX the source that it was compiled from.  NULL: neither is there. */
static const struct kernel_source *find_names(const struct kernel *kernel, const struct sources *sources,
                                              struct kernel_source *found) {
    if (kernel->has_source) return &kernel->source;
    for (size_t i = 0; i < sources->count; i++)
        if (sources->items[i].text && kernel_source_read(sources->items[i].text, kernel->name, found) &&
            found->count == simt_module_parameter_count(kernel->module, kernel->index))
            return found;
    return NULL;
}

static int tell_with(const struct inspection *inspection, const simt_report *counts, bool is_stopped,
                     const struct sources *sources) {
    const struct arguments *arguments = &inspection->arguments;
    const struct kernel *kernel = &inspection->kernel;
    struct kernel_source found;
    struct report_buffer *buffers = arguments_buffers(arguments, find_names(kernel, sources, &found));
    struct report_values *values = is_stopped ? NULL : arguments_values(arguments);
    struct inspection_report report = {.kernel = kernel->name,
                                       .path = inspection->path,
                                       .ptx = kernel->ptx,
                                       .machine = inspection->machine,
                                       .launch = &inspection->launch,
                                       .counts = counts,
                                       .sources = *sources,
                                       .printed = inspection->printed.text,
                                       .printed_nbytes = inspection->printed.length,
                                       .is_stopped = is_stopped,
                                       .buffers = buffers,
                                       .buffer_count = arguments->count,
                                       .values = values,
                                       .value_count = values ? arguments->shown_count : 0};
    list_advice(inspection, &report);
    int status = buffers && (values || is_stopped) ? tell_all(inspection, &report) : fail_memory();
    for (size_t i = 0; i < report.value_count; i++) free(values[i].text);
    free(values);
    free(buffers);
    return status;
}

static int tell(const struct inspection *inspection, const simt_report *counts, bool is_stopped) {
    const struct places places = {inspection->path, inspection->settings->sources};
    struct sources sources = {0};
    int status = sources_read(&sources, counts, &places) ? tell_with(inspection, counts, is_stopped, &sources) : fail_memory();
    sources_clear(&sources);
    return status;
}

/* Writes no outputs after a stopped launch: what it left in memory is not a result. */
static int conclude(struct inspection *inspection, const simt_machine *machine, const simt_report *counts,
                    bool is_stopped) {
    if (!page_end(&inspection->printed)) return fail_memory();
    int status = is_stopped ? STATUS_OK : arguments_read(&inspection->arguments, machine);
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
        return fail_memory();
    }
    for (size_t i = 0; i < inspection->arguments.count; i++) values[i] = inspection->arguments.items[i].value;
    inspection->launch.module = inspection->kernel.module;
    inspection->launch.kernel = inspection->kernel.index;
    inspection->launch.arguments = values;
    inspection->launch.print = keep_printed;
    inspection->launch.print_context = &inspection->printed;
    if (!inspection->settings->quiet) simt_machine_set_notice(machine, say_slow, inspection);
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
    if (simt_machine_create(&inspection->machine, &machine)) return fail_memory();
    int status = arguments_place(&inspection->arguments, machine);
    if (!status) status = launch(inspection, machine);
    simt_machine_destroy(machine);
    return status;
}

static void inspection_clear(struct inspection *inspection) {
    page_clear(&inspection->printed);
    kernel_clear(&inspection->kernel);
    arguments_clear(&inspection->arguments);
}

/* A command to begin with for each of several kernels of which the source tells the arguments; else one that names a kernel. */
static int suggest_each(struct inspection *inspection) {
    struct kernel *kernel = &inspection->kernel;
    const size_t count = simt_module_kernel_count(kernel->module);
    bool is_any = false;
    for (size_t i = 0; i < count; i++) {
        kernel_choose(kernel, inspection->path, i, NULL);
        if (!kernel->has_source) continue;
        int status = inspect_suggest(inspection->path, kernel, kernel->name);
        if (status != STATUS_USAGE) return status;
        is_any = true;
    }
    kernel_choose(kernel, inspection->path, 0, NULL);
    if (!is_any) say("to begin with: warpfold inspect %s --kernel '%s'", inspection->path, kernel->name);
    return STATUS_USAGE;
}

int command_inspect(const struct request *request) {
    const struct settings *settings = request->settings;
    struct inspection inspection = {.settings = settings,
                                    .path = request->operands[0],
                                    .machine = {settings->warp ? (uint32_t)settings->warp : LANES_DEFAULT,
                                                settings->banks ? (uint32_t)settings->banks : LANES_DEFAULT}};
    int status = settings->json + settings->sarif + settings->github > 1
                     ? fail_usage("--json, --sarif and --github exclude each other: one report is printed")
                     : read_launch(&inspection.launch, settings);
    list_observers(&inspection);
    if (!status) status = arguments_parse(&inspection.arguments, settings);
    if (!status) status = kernel_load(&inspection.kernel, inspection.path, settings->kernel);
    if (status == STATUS_USAGE && inspection.kernel.module && simt_module_kernel_count(inspection.kernel.module))
        status = suggest_each(&inspection);
    const bool is_asked = inspection.kernel.is_suggested || (inspection.kernel.source.count && !settings->arguments.count);
    if (!status && inspection.kernel.has_source && is_asked)
        status = inspect_suggest(inspection.path, &inspection.kernel,
                                   inspection.kernel.is_suggested ? inspection.kernel.name : settings->kernel);
    if (!status)
        status = arguments_check(&inspection.arguments, inspection.kernel.module, inspection.kernel.index,
                                 inspection.kernel.name, inspection.kernel.has_source ? &inspection.kernel.source : NULL);
    if (!status) status = run_on_machine(&inspection);
    inspection_clear(&inspection);
    return status;
}
