#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>

#include "bench_peers.h"

/* What the functions look like, and how a result gets into a value. */
union symbol {
    void *address; /* as dlsym has it */
    float (*f32)(int count, const float *x, int step);
    double (*f64)(int count, const double *x, int step);
    size_t (*index)(int count, const void *x, int step);
    float (*dot_f32)(int count, const float *x, int x_step, const float *y, int y_step);
    double (*dot_f64)(int count, const double *x, int x_step, const double *y, int y_step);
    void (*set_threads)(int threads);
    char *(*config)(void);
};

typedef void call_function(union symbol symbol, const struct bench_case *what, wf_value *result);

static void call_f32(union symbol symbol, const struct bench_case *what, wf_value *result) {
    result->v.f32 = symbol.f32((int)what->count, what->array, 1);
}

static void call_f64(union symbol symbol, const struct bench_case *what, wf_value *result) {
    result->v.f64 = symbol.f64((int)what->count, what->array, 1);
}

static void call_index(union symbol symbol, const struct bench_case *what, wf_value *result) {
    result->v.u = symbol.index((int)what->count, what->array, 1);
}

static void call_dot_f32(union symbol symbol, const struct bench_case *what, wf_value *result) {
    result->v.f32 = symbol.dot_f32((int)(what->count / 2), what->array, 1, bench_case_half(what), 1);
}

static void call_dot_f64(union symbol symbol, const struct bench_case *what, wf_value *result) {
    result->v.f64 = symbol.dot_f64((int)(what->count / 2), what->array, 1, bench_case_half(what), 1);
}

static const struct {
    wf_op op;
    wf_type type;
    const char *name;
    call_function *call;
} functions[] = {
    {WF_SUM, WF_F32, "cblas_ssum", call_f32},       {WF_SUM, WF_F64, "cblas_dsum", call_f64},
    {WF_NORM1, WF_F32, "cblas_sasum", call_f32},    {WF_NORM1, WF_F64, "cblas_dasum", call_f64},
    {WF_NORM2, WF_F32, "cblas_snrm2", call_f32},    {WF_NORM2, WF_F64, "cblas_dnrm2", call_f64},
    {WF_DOT, WF_F32, "cblas_sdot", call_dot_f32},   {WF_DOT, WF_F64, "cblas_ddot", call_dot_f64},
    {WF_ARGMIN, WF_F32, "cblas_ismin", call_index}, {WF_ARGMIN, WF_F64, "cblas_idmin", call_index},
    {WF_ARGMAX, WF_F32, "cblas_ismax", call_index}, {WF_ARGMAX, WF_F64, "cblas_idmax", call_index},
};

static int find_function(const struct bench_case *what) {
    for (int i = 0; i < (int)(sizeof functions / sizeof functions[0]); i++)
        if (functions[i].op == what->op && functions[i].type == what->type) return i;
    return -1;
}

static double time_blas(struct bench_runner *self, const struct bench_case *what, long calls,
                        wf_value *result) {
    int i = find_function(what);
    union symbol symbol = {i < 0 ? NULL : dlsym(self->state, functions[i].name)};
    if (!symbol.address || what->count > INT_MAX) return -1;
    union symbol set_threads = {dlsym(self->state, "openblas_set_num_threads")};
    if (set_threads.address) set_threads.set_threads(what->threads);
    double start = bench_now();
    for (long call = 0; call < calls; call++) functions[i].call(symbol, what, result);
    return (bench_now() - start) / (double)calls;
}

static void close_blas(struct bench_peer *peer) {
    if (peer->runner.state) dlclose(peer->runner.state);
}

void bench_open_blas(struct bench_peer *peer) {
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so"};
    *peer = (struct bench_peer){.runner = {.time = time_blas}, .name = "OpenBLAS", .close = close_blas};
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !peer->runner.state; i++)
        peer->runner.state = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    peer->is_absent = !peer->runner.state;
    if (peer->is_absent) {
        snprintf(peer->version, sizeof peer->version, "no shared library %s", names[0]);
        return;
    }
    union symbol config = {dlsym(peer->runner.state, "openblas_get_config")};
    snprintf(peer->version, sizeof peer->version, "%s",
             config.address ? config.config() : "of unknown version");
}
