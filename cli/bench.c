/* warpfold bench. */
#include "bench/bench.h"

#include <unistd.h>

#include "commands.h"
#include "output.h"

static int read_request(const struct settings *settings, struct bench_request *asked) {
    *asked = (struct bench_request){.op = settings->op ? wf_op_parse(settings->op) : WF_OP_NONE,
                                    .type = settings->type,
                                    .data = (int)settings->data - 1,
                                    .count = settings->count > 0 ? settings->count : 0,
                                    .threads = (int)settings->threads,
                                    .nan = (wf_nan)settings->nan,
                                    .peer = settings->peer,
                                    .is_quick = settings->quick,
                                    .is_shown = !settings->quiet && isatty(STDERR_FILENO)};
    if (settings->count == 0) return fail_usage("-n 0: nothing to time in an empty array");
    if (settings->op && !asked->op) return fail_usage("--op: unknown op '%s'", settings->op);
    return STATUS_OK;
}

static int print_result(const struct bench_report *report, bool json) {
    struct page page;
    page_open(&page);
    if (page.stream) (json ? bench_put_json : bench_put_table)(page.stream, report);
    return page_print(&page);
}

int command_bench(const struct request *request) {
    struct bench_request asked;
    struct bench *bench;
    int status = read_request(request->settings, &asked);
    if (status) return status;
    enum bench_status done = bench_run(&asked, &bench);
    if (done == BENCH_OK)
        status = print_result(bench_result(bench), request->settings->json);
    else if (done == BENCH_NO_CASE)
        status = fail_usage("bench: no case matches these options; see --help");
    else
        status = fail("%s", bench_message(bench));
    bench_close(bench);
    return status;
}
