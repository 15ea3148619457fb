/* warpfold ladder. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "ladder_request.h"
#include "output.h"
#include "report/ladder_page.h"

/* ---- an earlier run ------------------------------------------------------------------------------ */

static int check_runs(const char *path, const char *text, size_t nbytes) {
    const char *wrong = ladder_page_find_fault(text, nbytes);
    if (wrong) return fail("%s: invalid JSON at byte %td", path, wrong - text);
    if (!strstr(text, "\"rungs\""))
        return fail("%s is not a run of the ladder, which 'warpfold ladder --json' writes", path);
    return STATUS_OK;
}

/* The page of a run whose --json was written to a file. */
static int redraw(const struct settings *settings) {
    if (!settings->html)
        return fail_usage("--from %s requires --html FILE", settings->from);
    size_t nbytes;
    char *text = file_read(settings->from, &nbytes);
    if (!text) return fail("%s: %s", settings->from, error_text(errno));
    int status = check_runs(settings->from, text, nbytes);
    if (!status) status = write_page(settings->html, text, NULL);
    free(text);
    return status;
}

/* ---- the command --------------------------------------------------------------------------------- */

int command_ladder(const struct request *request) {
    struct ladder_request asked = {.settings = request->settings};
    if (request->settings->from) return redraw(request->settings);
    int status = read_ladder_request(&asked);
    if (status) return status;
    if (!ladder_is_on_gpu(request->settings)) return run_on_machine(&asked);
    return request->settings->sweep ? run_sweep(&asked) : run_on_gpu(&asked);
}
