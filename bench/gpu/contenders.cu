// CUB and the like, and warpfold through its C API, opened at run time.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "gpu_bench.h"
#include "warpfold.h"

/* In the order of the stream. */
static bool to_host(void *to, const void *from, size_t nbytes) {
    return check(cudaMemcpyAsync(to, from, nbytes, cudaMemcpyDeviceToHost, bench_stream_now), "a result") &&
           check(cudaStreamSynchronize(bench_stream_now), "a result");
}

/* ---- peers --------------------------------------------------------------------------------------- */

struct peer_contender : contender {
    const struct peer *peer;
    void *out = nullptr, *temporary = nullptr;
    size_t capacity = 0;

    ~peer_contender() override {
        cudaFree(out);
        cudaFree(temporary);
    }

    bool grow(size_t nbytes) {
        if (nbytes <= capacity) return true;
        cudaFree(temporary);
        temporary = nullptr;
        capacity = 0;
        if (!check(cudaMalloc(&temporary, nbytes), "scratch memory of a peer")) return false;
        capacity = nbytes;
        return true;
    }

    bool call(size_t *nbytes, const void *data, int64_t count) {
        return check(peer->call(temporary, nbytes, data, out, count, bench_stream_now), peer->who);
    }

    bool launch(const void *data, int64_t count) override {
        size_t nbytes = 0;
        if (!check(peer->call(nullptr, &nbytes, data, out, count, bench_stream_now), peer->who)) return false;
        return grow(nbytes) && call(&nbytes, data, count);
    }

    bool fetch(void *result) override { return to_host(result, out, RESULT_NBYTES); }
};

struct contender *open_peer(const struct peer *peer) {
    peer_contender *made = new peer_contender;
    made->peer = peer;
    if (check(cudaMalloc(&made->out, RESULT_NBYTES), peer->who) &&
        check(cudaMemset(made->out, 0, RESULT_NBYTES), peer->who))
        return made;
    delete made;
    return nullptr;
}

/* ---- warpfold ------------------------------------------------------------------------------------ */

/* The functions of the library that are used; the header gives their types. */
#define FUNCTIONS(X)                                                                                    \
    X(op_parse) X(type_parse) X(type_nbytes) X(array_vector) X(handle_create) X(handle_destroy)         \
    X(handle_message) X(handle_set_stream) X(device_describe) X(reduce_stats) X(reduce)

static struct {
#define X(name) decltype(&wf_##name) name;
    FUNCTIONS(X)
#undef X
} warpfold;

extern "C" int bench_open_warpfold(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return fail("%s", dlerror());
    bool found = true;
#define X(name)                                                                                         \
    warpfold.name = reinterpret_cast<decltype(&wf_##name)>(dlsym(library, "wf_" #name));                \
    found = found && warpfold.name;
    FUNCTIONS(X)
#undef X
    return found || fail("%s lacks a function that the benchmark needs", path);
}

struct warpfold_contender : contender {
    wf_handle *handle = nullptr;
    wf_op op;
    wf_type type;
    wf_reduction reduction;
    void *out = nullptr;

    ~warpfold_contender() override {
        warpfold.handle_destroy(handle);
        cudaFree(out);
    }

    bool right(wf_error error) {
        return !error || fail("warpfold: %s", warpfold.handle_message(handle));
    }

    /* dot is of the array's halves. */
    bool launch(const void *data, int64_t count) override {
        wf_output output = {};
        output.data = out;
        output.status = static_cast<int32_t *>(out) + 2; /* behind the largest result */
        if (op != WF_DOT) {
            wf_array array = warpfold.array_vector(data, type, count);
            return right(warpfold.reduce(handle, &reduction, &array, nullptr, nullptr, &output));
        }
        const char *second = static_cast<const char *>(data) + count / 2 * warpfold.type_nbytes(type);
        wf_array a = warpfold.array_vector(data, type, count / 2);
        wf_array b = warpfold.array_vector(second, type, count / 2);
        return right(warpfold.reduce(handle, &reduction, &a, &b, nullptr, &output));
    }

    bool fetch(void *result) override { return to_host(result, out, 4 * sizeof(int32_t)); }
};

/* Many values in one pass, which come to the host. */
struct stats_contender : warpfold_contender {
    wf_stats stats;

    bool is_synchronous() const override { return true; }

    bool launch(const void *data, int64_t count) override {
        wf_array array = warpfold.array_vector(data, type, count);
        stats.nbytes = sizeof stats;
        return right(warpfold.reduce_stats(handle, &reduction, &array, &stats));
    }

    bool fetch(void *result) override {
        memcpy(result, &stats, sizeof stats);
        return true;
    }
};
static_assert(sizeof(wf_stats) <= RESULT_NBYTES, "stats fit into a result");

struct contender *open_warpfold(const char *op, const char *type, int nan) {
    const bool is_stats = !strcmp(op, "stats");
    warpfold_contender *made = is_stats ? new stats_contender : new warpfold_contender;
    made->op = warpfold.op_parse(op);
    made->type = warpfold.type_parse(type);
    made->reduction = wf_reduction_of(made->op);
    made->reduction.nan = static_cast<wf_nan>(nan);
    char why[512];
    if (!made->op || !made->type)
        fail("warpfold has no %s of %s", op, type);
    else if (warpfold.handle_create("cuda:0", &made->handle)) {
        warpfold.device_describe("cuda:0", why, sizeof why);
        fail("warpfold: %s", why);
    } else if (made->right(warpfold.handle_set_stream(made->handle, bench_stream_now)) &&
               check(cudaMalloc(&made->out, RESULT_NBYTES), "warpfold's result"))
        return made;
    delete made;
    return nullptr;
}
