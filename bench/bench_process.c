#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench_peers.h"

struct process {
    pid_t id;
    FILE *to, *from;
    int fill; /* the case's, whose elements it has; 0: none */
};

static bool start(struct process *process, const char *command) {
    int to[2], from[2];
    if (pipe(to)) return false;
    if (pipe(from)) {
        close(to[0]);
        close(to[1]);
        return false;
    }
    process->id = fork();
    if (process->id == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        for (int i = 0; i < 2; i++) {
            close(to[i]);
            close(from[i]);
        }
        signal(SIGPIPE, SIG_DFL);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    process->to = fdopen(to[1], "wb");
    process->from = fdopen(from[0], "rb");
    return process->id > 0 && process->to && process->from;
}

static void stop(struct process *process) {
    if (process->to) fclose(process->to);
    if (process->from) fclose(process->from);
    if (process->id > 0) waitpid(process->id, NULL, 0);
    free(process);
}

/* One line of the process, without its end. */
static bool hear(struct process *process, char *line, int capacity) {
    if (!fgets(line, capacity, process->from)) return false;
    line[strcspn(line, "\n")] = '\0';
    return true;
}

static bool send_array(struct process *process, const struct bench_case *what) {
    char line[BENCH_PEER_TEXT];
    if (process->fill == what->fill) return true;
    fprintf(process->to, "data %s %" PRId64 "\n", wf_type_name(what->type), what->count);
    fwrite(what->array, 1, bench_case_nbytes(what), process->to);
    if (fflush(process->to) || !hear(process, line, sizeof line) || strcmp(line, "ok")) return false;
    process->fill = what->fill;
    return true;
}

/* A float may stand for an integer too: what the runner gives need not be of the type that it should be. */
static void parse_result(const char *text, wf_value *result) {
    bool is_float = strchr(text, 'p') != NULL;
    if (result->type == WF_F32)
        result->v.f32 = strtof(text, NULL);
    else if (result->type == WF_F64)
        result->v.f64 = strtod(text, NULL);
    else if (is_float)
        result->v.i = (int64_t)strtod(text, NULL);
    else if (text[0] == '-')
        result->v.i = strtoll(text, NULL, 10);
    else
        result->v.u = strtoull(text, NULL, 10);
}

/* Asks for one sample; line becomes the answer. */
static bool ask(struct process *process, const struct bench_case *what, long calls, char *line,
                int capacity) {
    if (!send_array(process, what)) return false;
    fprintf(process->to, "time %s %" PRId64 " %ld\n", wf_op_name(what->op), what->count, calls);
    return !fflush(process->to) && hear(process, line, capacity);
}

static double time_process(struct bench_runner *self, const struct bench_case *what, long calls,
                           wf_value *result) {
    struct bench_peer *peer = (struct bench_peer *)self; /* its first member */
    char line[BENCH_PEER_TEXT], *rest;
    if (what->threads > 1) return -1;
    if (!ask(self->state, what, calls, line, sizeof line)) {
        peer->is_absent = true;
        snprintf(peer->version, sizeof peer->version, "ended early");
        return -1;
    }
    double time = strtod(line, &rest);
    if (rest == line) return -1;
    parse_result(rest + strspn(rest, " "), result);
    return time;
}

static void close_process(struct bench_peer *peer) {
    if (peer->runner.state) stop(peer->runner.state);
}

void bench_open_process(struct bench_peer *peer, const char *command) {
    char line[2 * BENCH_PEER_TEXT] = "", word[16] = "";
    *peer = (struct bench_peer){.runner = {.time = time_process}, .close = close_process};
    struct process *process = calloc(1, sizeof *process);
    peer->runner.state = process;
    bool is_heard = process && start(process, command) && hear(process, line, sizeof line) &&
                    sscanf(line, "%15s %127s %127[^\n]", word, peer->name, peer->version) == 3;
    peer->is_absent = !is_heard || strcmp(word, "ready") != 0;
    if (is_heard) return;
    snprintf(peer->name, sizeof peer->name, "%s", command);
    snprintf(peer->version, sizeof peer->version, "did not start");
}
