#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static const double FIRST_SHOWN_SECONDS = 1.0;
static const double BETWEEN_SHOWN_SECONDS = 0.25;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void progress_start(struct progress *progress, bool quiet) {
    *progress = (struct progress){.is_on = !quiet && isatty(STDERR_FILENO)};
    if (progress->is_on) progress->start_time = now();
}

static void put_nbytes(FILE *stream, int64_t nbytes) {
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    double size = 1e-3 * (double)nbytes;
    size_t unit = 0;
    for (; size >= 999.95 && unit + 1 < sizeof units / sizeof units[0]; unit++) size *= 1e-3;
    fprintf(stream, "%.1f %s", size, units[unit]);
}

static void put_line(FILE *stream, int64_t nbytes_done, int64_t nbytes_total, double seconds) {
    double done = (double)nbytes_done, total = (double)nbytes_total;
    bool is_total_known = nbytes_total > 0;
    fputc('\r', stream);
    put_nbytes(stream, nbytes_done);
    if (is_total_known) {
        fputs(" of ", stream);
        put_nbytes(stream, nbytes_total);
        fprintf(stream, ", %.0f %%", 100 * done / total);
    }
    fprintf(stream, ", %.2f GB/s", 1e-9 * done / seconds);
    if (is_total_known && nbytes_done > 0) {
        long long left = (long long)(seconds * (total - done) / done + 0.5);
        fprintf(stream, ", %lld:%02lld left", left / 60, left % 60);
    }
    fputs("\033[K", stream);
}

static void show(void *user, int64_t nbytes_done, int64_t nbytes_total) {
    struct progress *progress = user;
    double time = now();
    if (time - progress->start_time < FIRST_SHOWN_SECONDS) return;
    if (progress->is_shown && time - progress->shown_time < BETWEEN_SHOWN_SECONDS) return;
    /* One write for the whole line, so that it does not flicker. */
    char line[160];
    FILE *stream = fmemopen(line, sizeof line, "w");
    if (!stream) return;
    put_line(stream, nbytes_done, nbytes_total, time - progress->start_time);
    fclose(stream);
    fputs(line, stderr);
    progress->is_shown = true;
    progress->shown_time = time;
}

void progress_watch(struct progress *progress, wf_reader_options *options) {
    if (!progress->is_on) return;
    options->progress = show;
    options->progress_user = progress;
}

void progress_end(struct progress *progress) {
    if (progress->is_shown) fputs("\r\033[K", stderr);
    progress->is_shown = false;
}
