/* warpfold judge: a kernel against a task. */
#include "judge/judge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "commands.h"
#include "file.h"
#include "output.h"
#include "report/judge_report.h"
#include "report/suggest.h"

struct judging {
    const char *path, *task_name;
    char *ptx;       /* of a .ptx file, else NULL */
    char *source;    /* of a .cu file that can be read, else NULL */
    char *task_text; /* of a file, else NULL */
    char *beside;    /* the name of the task next to the kernel's file, which need not exist */
    char name[64];   /* of a built-in task that the kernel's header tells */
    struct judge_task *task;
};

static bool ends_with(const char *text, const char *ending) {
    size_t length = strlen(text), ending_length = strlen(ending);
    return length >= ending_length && !strcmp(text + length - ending_length, ending);
}

static int read_text(const char *path, char **text) {
    size_t nbytes;
    *text = file_read(path, &nbytes);
    if (!*text) return fail("%s: %s", file_name(path), error_text(errno));
    return strlen(*text) == nbytes ? STATUS_OK : fail("%s: NUL byte: not a text file", file_name(path));
}

/* What cannot be read is the compiler's to refuse. */
static int read_source(struct judging *judging) {
    size_t nbytes;
    judging->source = file_read(judging->path, &nbytes);
    return judging->source || errno != ENOMEM ? STATUS_OK : fail_memory();
}

/* ---- the task ------------------------------------------------------------------------------------ */

static int refuse_task(const char *name) {
    const char *names[64] = {NULL};
    char stems[63][32];
    for (size_t i = 0; i < judge_file_count && i < 63; i++) {
        snprintf(stems[i], sizeof stems[i], "%.*s", (int)(strlen(judge_files[i].path) - strlen(".task")),
                 judge_files[i].path);
        names[i] = stems[i];
    }
    struct page list;
    page_open(&list);
    for (size_t i = 0; list.stream && names[i]; i++) fprintf(list.stream, " %s", names[i]);
    int status = page_end(&list)
                     ? fail_usage("unknown task '%s'%s; there are%s; or name a file that ends in .task", name,
                                  suggest_name(name, strlen(name), names, "").text, list.text)
                     : fail_memory();
    page_clear(&list);
    return status;
}

/* The task of kernel.cu is kernel.task in the same folder. */
static int name_beside(struct judging *judging) {
    const char *dot = strrchr(judging->path, '.');
    size_t length = (size_t)(dot - judging->path);
    judging->beside = malloc(length + sizeof ".task");
    if (!judging->beside) return fail_memory();
    memcpy(judging->beside, judging->path, length);
    strcpy(judging->beside + length, ".task");
    return STATUS_OK;
}

/* The built-in task whose header the kernel includes, if there is one. */
static const struct judge_file *find_by_header(const struct judging *judging) {
    const struct judge_file *found = NULL;
    for (size_t i = 0; judging->source && i < judge_file_count && !found; i++)
        if (judge_task_is_of(judge_files[i].text, judging->source)) found = &judge_files[i];
    return found;
}

/* That of --task; without it the one next to the kernel, or else the one that knows the kernel by its header.  Of the kernels
 * of a header one may have its own task in the same folder, which replaces the common one. */
static int name_task(struct judging *judging, const char *wanted) {
    int status = name_beside(judging);
    if (status) return status;
    const bool has_beside = !access(judging->beside, F_OK);
    const struct judge_file *known = !wanted == !has_beside ? find_by_header(judging) : NULL;
    if (known)
        snprintf(judging->name, sizeof judging->name, "%.*s", (int)(strlen(known->path) - strlen(".task")), known->path);
    if (wanted)
        judging->task_name = known && !strcmp(wanted, judging->name) ? judging->beside : wanted;
    else
        judging->task_name = has_beside || !known ? judging->beside : judging->name;
    return STATUS_OK;
}

static int read_task(struct judging *judging) {
    simt_message message;
    const char *text = judge_task_text(judging->task_name);
    if (!text && !ends_with(judging->task_name, ".task")) return refuse_task(judging->task_name);
    if (judging->task_name == judging->beside && access(judging->beside, F_OK))
        return fail_usage(
            "judge needs --task: a name such as sum, or a file that ends in .task; %s is not there",
            judging->beside);
    int status = text ? STATUS_OK : read_text(judging->task_name, &judging->task_text);
    if (status) return status;
    simt_error error =
        judge_task_read(text ? text : judging->task_text, judging->task_name, &judging->task, &message);
    if (error == SIMT_ERROR_MEMORY) return fail_memory();
    return error ? fail_usage("%s", message.text) : STATUS_OK;
}

/* ---- the verdict --------------------------------------------------------------------------------- */

static struct judged_source source_of(const struct judging *judging) { return (struct judged_source){judging->path, judging->source}; }

static int tell(const struct judging *judging, const struct settings *settings,
                const struct judge_verdict *verdict) {
    const struct judgement judgement = {judging->path, judging->task_name, judging->task, verdict,
                                        (uint64_t)settings->seed, source_of(judging)};
    struct page page;
    page_open(&page);
    if (page.stream && settings->json) put_judgement_json(page.stream, &judgement);
    if (page.stream && !settings->json) put_judgement(page.stream, &judgement, wants_colour());
    int status = page_print(&page);
    return status || verdict->is_accepted ? status : STATUS_FINDINGS;
}

static int judge(const struct judging *judging, const struct settings *settings) {
    const struct judged_source source = source_of(judging);
    const struct judge_request request = {judging->task, judging->path, judging->ptx,
                                          (uint64_t)settings->seed, (uint32_t)settings->threads, &cleanup_leftovers, judge_guard, &source};
    struct judge_verdict verdict;
    simt_message message = {""};
    simt_error error = judge_run(&request, &verdict, &message);
    if (error == SIMT_ERROR_MEMORY) return fail_memory();
    if (error == SIMT_ERROR_ARGUMENT) return fail_usage("%s", message.text);
    return error ? fail_lines(message.text) : tell(judging, settings, &verdict);
}

int command_judge(const struct request *request) {
    struct judging judging = {.path = request->operands[0]};
    bool is_ptx = ends_with(judging.path, ".ptx");
    if (!is_ptx && !ends_with(judging.path, ".cu"))
        return fail_usage("judge takes a .cu or .ptx file, not '%s'", judging.path);
    int status = is_ptx ? read_text(judging.path, &judging.ptx) : read_source(&judging);
    if (!status) status = name_task(&judging, request->settings->task);
    if (!status) status = read_task(&judging);
    if (!status) status = judge(&judging, request->settings);
    judge_task_destroy(judging.task);
    free(judging.task_text);
    free(judging.beside);
    free(judging.ptx);
    free(judging.source);
    return status;
}
