"""What is said of wrong kernels of every kind: each fault once, at its line, with its cure."""

import re
from pathlib import Path

import pytest

from finding_helpers import WRONG, line_of, nvrtc  # noqa: F401
from inspect_helpers import inspected


@pytest.mark.sampled
@pytest.mark.parametrize("name", WRONG)
def test_a_finding_names_its_cure(name, write):
    source, arguments, kind, said = WRONG[name]
    finding, = inspected(write("wrong.cu", source), *arguments, status=3)["findings"]
    lines = {marked: line_of(source, marked) for marked in re.findall(r"// (\w+)$", source, re.MULTILINE)}
    assert (finding["kind"], finding["line"]) == (kind, lines["here"])
    assert said.format(**lines) in finding["message"]


SCAN_DOWN = """__global__ void scan(const int *in, int *out)
{
    __shared__ int s[128];
    int t = threadIdx.x, offset = 1;
    s[2 * t] = in[2 * t];
    s[2 * t + 1] = in[2 * t + 1];
    for (int d = 64; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) {
            int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
            s[b] += s[a];
        }
        offset *= 2;
    }
    if (t == 0) s[127] = 0;
%s    for (int d = 1; d < 128; d *= 2) {
        offset >>= 1;
        if (t < d) {
            int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
            int old = s[a];
            s[a] = s[b];
            s[b] += old;
        }
    }
    __syncthreads();
    out[2 * t] = s[2 * t];
    out[2 * t + 1] = s[2 * t + 1];
}
"""

MET = """#include <cuda/barrier>
__global__ void turn(const float *in, float *out)
{
    __shared__ float s[64];
    __shared__ cuda::barrier<cuda::thread_scope_block> met;
    int t = threadIdx.x;
    if (t == 0) init(&met, %s);
    __syncthreads();
    s[t] = in[t];
    %smet.arrive_and_wait();
    out[t] = s[63 - t];
}
"""

BITONIC = """__global__ void sort(int *data)
{
    __shared__ int s[128];
    int i = threadIdx.x;
    s[i] = data[i];
    __syncthreads();
    for (int k = 2; k <= 128; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            int partner = i ^ j;
            // in one direction or the other
            if (%s) {
                int old = s[i];
                s[i] = s[partner];
                s[partner] = old;
            }
%s        }
    __syncthreads();
    data[i] = s[i];
}
"""

STUDENTS = {
    "off by one": ("""__global__ void add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n)
        c[i] = a[i] + b[i];
}
""", "--block 128 --grid 8 --arg f32[1000]=iota --arg f32[1000]=iota --arg f32[1000] --arg i32:1000",
        [("bounds", 5, "(index 1000 of `b`, float[1000])")]),
    "a border": ("""__global__ void blur(const float *in, float *out, int w, int h)
{
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float s = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            s += in[(y + dy) * w + x + dx];
    out[y * w + x] = s / 9;
}
""", "--threads 1 --block 16,16 --grid 2,2 --arg f32[1024]=iota --arg f32[1024] --arg i32:32 --arg i32:32",
        [("bounds", 7, "(index -33 of `in`, float[1024])")]),
    "a swap": ("""__global__ void sort(int *a, int n)
{
    int i = threadIdx.x;
    for (int k = 2; k <= n; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            int p = i ^ j;
            if (p > i && ((i & k) == 0) == (a[i] > a[p])) { int t = a[i]; a[i] = a[p]; a[p] = t; }
        }
}
""", "--block 128 --arg i32[128]=random:3 --arg i32:128", [("race", 7, "no __syncthreads() between the load and the store of line 7")]),
    "tiles": ("""#define T 16
__global__ void matmul(const float *a, const float *b, float *c, int n)
{
    __shared__ float as[T][T], bs[T][T];
    int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < n / T; t++) {
        as[threadIdx.y][threadIdx.x] = a[row * n + t * T + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = b[(t * T + threadIdx.y) * n + col];
        __syncthreads();
        for (int k = 0; k < T; k++)
            sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
    }
    c[row * n + col] = sum;
}
""", "--block 16,16 --grid 2,2 --arg f32[1024]=iota --arg f32[1024]=iota --arg f32[1024] --arg i32:32",
        [("race", None, "no __syncthreads() between line 12 and line 8; one there orders 2 pairs of lines that race, of lines 8 to 12")]),
    "a histogram": ("""__global__ void histo(const int *in, int *bins, int n)
{
    __shared__ int own[16];
    if (threadIdx.x < 16) own[threadIdx.x] = 0;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&own[in[i] & 15], 1);
    __syncthreads();
    if (threadIdx.x < 16) bins[threadIdx.x] += own[threadIdx.x];
}
""", "--block 128 --grid 4 --arg i32[512]=iota --arg i32[16]=zeros --arg i32:512",
        [("race", 8, "no atomic operation such as atomicAdd() at line 8"), ("race", 6, "no __syncthreads() between line 4 and line 6")]),
    "an early return": ("""__global__ void scale(const float *in, float *out, int n)
{
    __shared__ float s[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    s[threadIdx.x] = in[i];
    __syncthreads();
    out[i] = s[blockDim.x - 1 - threadIdx.x];
}
""", "--block 128 --grid 2 --arg f32[200]=iota --arg f32[200] --arg i32:200",
        [("uninitialised", 8, "shared memory is undefined when a block begins")]),
    "a barrier in a branch": ("""__global__ void sum(const int *in, int *out)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = in[t];
    __syncthreads();
    for (int k = 32; k > 0; k /= 2)
        if (t < k) {
            s[t] += s[t + k];
            __syncthreads();
        }
    if (t == 0) *out = s[0];
}
""", "--block 64 --arg i32[64]=ones --arg i32[1]",
        [("barrier", 10, "threads 0-15 wait at line 10; 16-31 skipped it at line 8; 32-63 have ended")]),
    "a total that is read too early": ("""__global__ void share(const int *in, int *total, float *shares, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(total, in[i]);
    __syncthreads();
    if (i < n) shares[i] = (float)in[i] / *total;
}
""", "--block 64 --grid 4 --arg i32[256]=ones --arg i32[1]=zeros --arg f32[256] --arg i32:256",
        [("race", 4, "line 6 reads it while other blocks have still to update it at line 4: read it in a second launch")]),
    "a scan in place": ("""__global__ void scan(const int *in, int *out, int n)
{
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = t < n ? in[t] : 0;
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        if (t >= d) s[t] += s[t - d];
        __syncthreads();
    }
    if (t < n) out[t] = s[t];
}
""", "--block 128 --arg i32[100]=ones --arg i32[100] --arg i32:100",
        [("race", 8, "no __syncthreads() between the load and the store of line 8")]),
    "a shuffle at the end": ("""__global__ void warpsum(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int v = in[i];
        for (int d = 16; d > 0; d /= 2)
            v += __shfl_down_sync(0xffffffff, v, d);
        if (threadIdx.x % 32 == 0) atomicAdd(out, v);
    }
}
""", "--block 64 --grid 2 --arg i32[100]=ones --arg i32[1]=zeros --arg i32:100",
        [("shuffle", 7, "of the warp only lanes 0-3 are here: let all come to the shuffle, those without a value with a neutral one")]),
    "a tree of fewer": ("""__global__ void maxi(const float *in, float *out, int n)
{
    __shared__ float s[128];
    int t = threadIdx.x;
    if (t < n) s[t] = in[t];
    __syncthreads();
    for (int k = 64; k > 0; k /= 2) {
        if (t < k) s[t] = fmaxf(s[t], s[t + k]);
        __syncthreads();
    }
    if (t == 0) *out = s[0];
}
""", "--block 128 --arg f32[100]=iota --arg f32[1] --arg i32:100",
        [("uninitialised", 8, "at byte 400, which has not been written")]),
    "a sum without atomics": ("""__global__ void dot(const float *a, const float *b, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) *out += a[i] * b[i];
}
""", "--block 128 --grid 2 --arg f32[256]=iota --arg f32[256]=ones --arg f32[1]=zeros --arg i32:256",
        [("race", 4, "no atomic operation such as atomicAdd() at line 4")]),
    "vectors at any address": ("""__global__ void copy4(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 v = *(const float4 *)(in + i);
    *(float4 *)(out + i) = v;
}
""", "--block 64 --arg f32[64]=iota --arg f32[64] --arg i32:64",
        [("misaligned", None, "which is not a multiple of 16: start at one, as each allocation does, or access narrower elements, one by one (index 1 of `in`, float[64])")]),
    "a step of 0": ("""__global__ void stride(const float *in, float *out, int n, int step)
{
    float s = 0;
    for (int i = threadIdx.x; i < n; i += step) s += in[i];
    out[threadIdx.x] = s;
}
""", "--block 32 --arg f32[64]=iota --arg f32[32] --arg i32:64 --arg i32:0",
        [("runaway", 4, "lanes 0-31 of warp 0 are in a loop that never ends")]),
    "a reversal in place": ("""__global__ void rev(int *a, int n)
{
    int i = threadIdx.x;
    a[i] = a[n - 1 - i];
}
""", "--block 64 --arg i32[64]=iota --arg i32:64",
        [("race", 4, "no __syncthreads() between the load and the store of line 4 (index 31 of `a`, int[64])")]),
    "a barrier for the grid": ("""__device__ int count;
__global__ void twostep(float *a, float *b, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = i;
    __syncthreads();
    b[i] = a[(i + 1) % n];
}
""", "--block 64 --grid 4 --arg f32[256] --arg f32[256] --arg i32:256",
        [("race", None, "a second launch")]),
    "volatile": ("""__global__ void sum(const float *in, float *out)
{
    __shared__ volatile float s[64];
    int t = threadIdx.x;
    s[t] = in[t] + in[t + 64];
    __syncthreads();
    if (t < 32) {
        s[t] += s[t + 32];
        s[t] += s[t + 16];
        s[t] += s[t + 8];
        s[t] += s[t + 4];
        s[t] += s[t + 2];
        s[t] += s[t + 1];
    }
    if (t == 0) *out = s[0];
}
""", "--block 64 --arg f32[128]=ones --arg f32[1]",
        [("race", None, "no __syncwarp() between line 8 and line 9; nor at the other accesses of lines 8 to 13, of which 10 pairs race")]),
    "a queue": ("""__global__ void evens(const int *in, int *queue, int *tail)
{
    int v = in[threadIdx.x];
    if (v % 2 == 0) {
        int at = *tail;
        queue[at] = v;
        *tail = at + 1;
    }
}
""", "--block 64 --arg i32[64]=iota --arg i32[64] --arg i32[1]=zeros",
        [("race", 5, "no atomic operation such as atomicAdd() for line 5 and line 7, where threads read and write one element (index 0 of `tail`")]),
    "places of a counter in shared memory": ("""__global__ void positive(const int *in, int *out)
{
    __shared__ int n;
    if (threadIdx.x == 0) n = 0;
    __syncthreads();
    int v = in[threadIdx.x];
    if (v > 0) { int at = n++; out[at] = v; }
}
""", "--block 64 --arg i32[64]=iota --arg i32[64]",
        [("race", 7, "no atomic operation such as atomicAdd() at line 7")]),
    "a greatest": ("""__global__ void top(const int *x, int *best)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (x[i] > *best) *best = x[i];
}
""", "--block 64 --grid 2 --arg i32[128]=iota --arg i32[1]=zeros",
        [("race", 4, "no atomic operation such as atomicMax() at line 4")]),
    "a least": ("""__global__ void low(const int *x, int *best)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (*best > x[i]) {
        *best = x[i];
    }
}
""", "--block 64 --grid 2 --arg i32[128]=-5 --arg i32[1]=zeros",
        [("race", 4, "no atomic operation such as atomicMin() for line 4 and line 5")]),
    "a greatest float": ("""__global__ void top(const float *x, float *best)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    *best = fmaxf(*best, x[i]);
}
""", "--block 64 --grid 2 --arg f32[128]=iota --arg f32[1]=zeros",
        [("race", 4, "such as a loop with atomicCAS() (atomicMax() takes no float) at line 4")]),
    "a greatest and its place": ("""__global__ void where(const int *x, int *best, int *at)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (x[i] > *best) {
        *best = x[i];
        *at = i;
    }
}
""", "--block 64 --grid 2 --arg i32[128]=iota --arg i32[1]=zeros --arg i32[1]",
        [("race", 4, "atomicMax() of value and index in one word of 64 bits for line 4 and line 5")]),
    "bits": ("""__global__ void flags(const int *x, int *all)
{
    *all |= x[threadIdx.x];
}
""", "--block 64 --arg i32[64]=iota --arg i32[1]=zeros",
        [("race", 3, "no atomic operation such as atomicOr() at line 3")]),
    "a greatest float that is compared, then exchanged": ("""__global__ void top(const float *x, float *best)
{
    float v = x[threadIdx.x];
    if (v > *best)
        atomicExch(best, v);
}
""", "--block 64 --arg f32[64]=iota --arg f32[1]=zeros",
        [("race", None, "between line 4, which reads it, and the atomic of line 5 others update it: use what the atomic returns in place of what "
          "was read, or an operation that compares as well, such as atomicMax() or a loop with atomicCAS()")]),
    "a place that is read before the counter moves": ("""__global__ void odd(const int *in, int *out, int *n)
{
    int v = in[threadIdx.x];
    if (v & 1) {
        out[*n] = v;
        atomicAdd(n, 1);
    }
}
""", "--block 64 --arg i32[64]=iota --arg i32[64] --arg i32[1]=zeros",
        [("race", None, "between line 5, which reads it, and the atomic of line 6 others update it: use what the atomic returns")]),
    "a value of one thread, after a sum": ("""__global__ void centre(const float *in, float *out)
{
    __shared__ float mean;
    if (threadIdx.x == 0) {
        mean = 0;
        for (int i = 0; i < 64; i++) mean += in[i];
    }
    out[threadIdx.x] = in[threadIdx.x] - mean / 64;
}
""", "--block 64 --arg f32[64]=iota --arg f32[64]",
        [("race", 8, "no __syncthreads() between line 6 and line 8")]),
    "a last block that some threads are not told of": ("""__device__ unsigned done;
__global__ void sum(const float *in, float *part, float *out)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        part[blockIdx.x] = in[blockIdx.x];
        __threadfence();
        last = atomicAdd(&done, 1) == gridDim.x - 1;
    }
    if (last && threadIdx.x == 0) {
        __threadfence();
        float s = 0;
        for (int i = 0; i < gridDim.x; i++) s += part[i];
        *out = s;
    }
}
""", "--block 64 --grid 4 --arg f32[4]=iota --arg f32[4] --arg f32[1]",
        [("race", 10, "no __syncthreads() between line 8 and line 10")]),
    "arrivals that never come": ("""#include <cuda/barrier>
__global__ void turn(const float *in, float *out)
{
    __shared__ float s[64];
    __shared__ cuda::barrier<cuda::thread_scope_block> met;
    int t = threadIdx.x;
    if (t == 0) init(&met, blockDim.x + 1);
    __syncthreads();
    s[t] = in[t];
    met.arrive_and_wait();
    out[t] = s[63 - t];
}
""", "--block 64 --arg f32[64]=iota --arg f32[64]",
        [("barrier", 10, "of shared memory (`met`), which never ends: it lacks 1 of the 65 arrivals that it expects (initialised with 65 "
                         "at line 7; 64 came, at line 10): let all that it counts arrive")]),
    "a thread that does not arrive": (MET % ("64", "if (t != 5) "), "--block 64 --arg f32[64]=iota --arg f32[64]",
        [("barrier", 10, "(initialised with 64 at line 7; 63 came, at line 10)")]),
    "one arrival too few": (MET % ("63", ""), "--block 64 --arg f32[64]=iota --arg f32[64]",
        [("barrier", 10, "(initialised with 63 at line 7; 1 came, at line 10, after 63 in the phase before)")]),
    "half of the arrivals": (MET % ("32", ""), "--block 64 --arg f32[64]=iota --arg f32[64]",
        [("race", None, "line 10 waits for a phase of an mbarrier that is over without an arrival of the other thread, after 32: "
                        "initialise it with the number of threads that arrive, at line 7; or a __syncthreads() between line 9 and line 11")]),
    "a wait that leaves the last copy out": ("""#include <cuda_pipeline.h>
__global__ void sum(const int *in, int *out, int n)
{
    __shared__ int s[2][128];
    int t = threadIdx.x, all = 0;
    __pipeline_memcpy_async(&s[0][t], &in[t], 4);
    __pipeline_commit();
    for (int i = 0; i < n; i++) {
        if (i + 1 < n) {
            __pipeline_memcpy_async(&s[(i + 1) % 2][t], &in[(i + 1) * 128 + t], 4);
            __pipeline_commit();
        }
        __pipeline_wait_prior(1);
        __syncthreads();
        all += s[i % 2][127 - t];
        __syncthreads();
    }
    out[t] = all;
}
""", "--block 128 --arg i32[1024]=iota --arg i32[128] --arg i32:8",
        [("race", 15, "; line 13 waits with 1 there, where this copy, which line 11 commits, needs 0")]),
    "partners that both exchange": (BITONIC % ("(s[i] > s[partner]) == ((i & k) == 0) == (i < partner)", "            __syncthreads();\n"),
        "--block 128 --arg i32[128]=random:1", [("race", 11, "more than one thread exchanges these elements at lines 13 and 14: let "
                                                            "one of each pair do it, if (partner > i)")]),
    "a sort without a barrier in its loop": (BITONIC % ("partner > i && (s[i] > s[partner]) == ((i & k) == 0)", ""),
        "--block 128 --arg i32[128]=random:1", [("race", 11, "no __syncthreads() in the loop around lines 11 to 14, whose rounds race")]),
    "neighbours that are all exchanged at once": ("""__global__ void sort(int *data, int n)
{
    __shared__ int s[128];
    int i = threadIdx.x;
    s[i] = data[i];
    __syncthreads();
    for (int r = 0; r < n; r++) {
        if (i + 1 < n && s[i] > s[i + 1]) {
            int old = s[i];
            s[i] = s[i + 1];
            s[i + 1] = old;
        }
        __syncthreads();
    }
    data[i] = s[i];
}
""", "--block 128 --arg i32[128]=random:1 --arg i32:128",
        [("race", None, "more than one thread exchanges these elements at lines 10 and 11: let one of each pair do it, if (partner > i), and "
                        "no two pairs between two barriers share an element")]),
    "a phase that one warp does not wait for": (MET % ("64", "if (t < 32) (void)met.arrive(); else "),
        "--block 64 --arg f32[64]=iota --arg f32[64]",
        [("race", 11, "behind it line 10 arrives at an mbarrier, which line 7 initialises, and this thread has not waited for that "
                      "phase: let it wait before line 11; or a __syncthreads() between line 9 and line 11")]),
    "a store between an arrival and its wait": ("""#include <cuda/barrier>
#include <cuda/std/utility>
__global__ void turn(const float *in, float *out)
{
    __shared__ float s[64];
    __shared__ cuda::barrier<cuda::thread_scope_block> met;
    int t = threadIdx.x;
    if (t == 0) init(&met, 64);
    __syncthreads();
    auto token = met.arrive();
    s[t] = in[t];
    met.wait(cuda::std::move(token));
    out[t] = s[63 - t];
}
""", "--block 64 --arg f32[64]=iota --arg f32[64]",
        [("race", 13, "line 11 is between line 10, which arrives at an mbarrier, and line 12, which waits, and a wait orders only what comes "
                      "before the arrivals: line 11 before line 10; or a __syncthreads() between line 11 and line 13")]),
    "a lock that a plain store frees": ("""__global__ void add(int *lock, int *sum)
{
    while (atomicCAS(lock, 0, 1) != 0) ;
    __threadfence();
    *sum += 1;
    __threadfence();
    *lock = 0;
}
""", "--block 1 --grid 4 --arg i32[1]=zeros --arg i32[1]=zeros",
        [("race", 3, "a plain store does not free a lock that an atomic takes: at line 7 a __threadfence() and atomicExch(lock, 0)")]),
    "a plain flag": ("""__global__ void pass(int *flag, int *data, int *out)
{
    if (blockIdx.x == 0) {
        *data = 42;
        __threadfence();
        *flag = 1;
    } else {
        while (*flag == 0) ;
        *out = *data;
    }
}
""", "--threads 1 --block 1 --grid 2 --arg i32[1]=zeros --arg i32[1] --arg i32[1]",
        [("race", None, "line 8 waits for it in a loop, where a plain load may read it but once: make it atomic (cuda::atomic_ref) or volatile, "
          "with a __threadfence() before line 6 sets it and one after line 8 has seen it; that orders line 4 and line 9, too")]),
    "a flag that the rest of the block waits for": ("""__global__ void pass(const int *in, int *out)
{
    __shared__ int data[32];
    __shared__ volatile int ready;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    if (threadIdx.x < 32) {
        data[threadIdx.x] = in[threadIdx.x];
        __syncwarp();
        if (threadIdx.x == 0) ready = 1;
    }
    if (threadIdx.x >= 32) {
        while (!ready) ;
        out[threadIdx.x - 32] = data[threadIdx.x - 32];
    }
}
""", "--block 64 --arg i32[32]=iota --arg i32[32]",
        [("race", None, "line 13 waits for it in a loop, where volatile orders nothing in shared memory: __syncthreads() in place of the loop; "
          "or make it atomic (cuda::atomic_ref), with __threadfence_block() before line 10 and behind line 13; that orders line 8 and line 14, too, which race as well")]),
    "the greatest float by its bits": ("""__global__ void greatest(const float *in, int *best)
{
    int bits = __float_as_int(fabsf(in[threadIdx.x]));
    if (bits > *best) *best = bits;
}
""", "--block 64 --arg f32[64]=random:1 --arg i32[1]=zeros",
        [("race", 4, "no atomic operation such as atomicMax() at line 4")]),
    "a look-back without a fence behind the wait": ("""__global__ void scan(const int *in, int *out, int *sums, int *flags)
{
    int t = threadIdx.x, b = blockIdx.x, v = in[b * 32 + t];
    for (int d = 1; d < 32; d *= 2) {
        int u = __shfl_up_sync(0xffffffff, v, d);
        if (t >= d) v += u;
    }
    int before = 0;
    if (t == 31) {
        if (b > 0) {
            while (atomicAdd(&flags[b - 1], 0) == 0) ;
            
            before = sums[b - 1];
        }
        sums[b] = before + v;
        __threadfence();
        atomicExch(&flags[b], 1);
    }
    before = __shfl_sync(0xffffffff, before, 31);
    out[b * 32 + t] = v + before;
}
""", "--threads 1 --block 32 --grid 4 --arg i32[128]=ones --arg i32[128] --arg i32[4]=zeros --arg i32[4]=zeros",
        [("race", None, "or none between line 11, which reads that, and line 13: only a fence and an atomic order accesses of two blocks (index 0 of `sums`")]),
    "a scan, unrolled, without a barrier on the way down": (SCAN_DOWN % "", "--block 64 --arg i32[128]=ones --arg i32[128]",
        [("race", None, "no __syncthreads() in the loop around lines 20 to 22, whose rounds race with each other at 8 pairs of lines")]),
    "the same as a loop": (SCAN_DOWN % "    #pragma unroll 1\n", "--block 64 --arg i32[128]=ones --arg i32[128]",
        [("race", None, "no __syncthreads() in the loop around lines 21 to 23, whose rounds race with each other at ")]),
    "a queue between the sides of a branch": ("""__global__ void queue(int *out, const int *in)
{
    __shared__ int items[32];
    __shared__ volatile int count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    if (threadIdx.x < 32) {
        items[threadIdx.x] = in[threadIdx.x] * 2;
        if (threadIdx.x == 31) count = 32;
    } else {
        while (count == 0) ;
        out[threadIdx.x - 32] = items[threadIdx.x - 32];
    }
}
""", "--block 64 --arg i32[32] --arg i32[32]=iota",
        [("race", None, "split it in two with __syncthreads() between them, or hand over by an atomic flag, with __threadfence_block() before "
          "it is set and after it is seen; line 9 and line 11, which race as well, may be what tells, once they are atomic")]),
    "a queue between two blocks": ("""__global__ void queue(int *out, const int *in, int *items, int *head)
{
    if (blockIdx.x == 0) {
        items[threadIdx.x] = in[threadIdx.x] * 2;
        if (threadIdx.x == 0) *head = 1;
    } else if (*head > 0) {
        out[threadIdx.x] = items[threadIdx.x];
    }
}
""", "--threads 1 --grid 2 --block 64 --arg i32[64] --arg i32[64]=iota --arg i32[64]=zeros --arg i32[1]=zeros",
        [("race", None, "behind line 4 a __threadfence() and an atomic that tells of it, before line 7 an atomic that reads that and a "
          "__threadfence(); or a second launch; line 5 and line 6, which race as well, may be what tells, once they are atomic")]),
    "copies that nobody waits for": ("""#include <cuda_pipeline.h>
__global__ void copy(float *out, const float *in, int n)
{
    __shared__ float tile[2][64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[0][t], &in[t], sizeof(float));
    __pipeline_commit();
    for (int i = 0; i < n; i++) {
        if (i + 1 < n)
            __pipeline_memcpy_async(&tile[(i + 1) & 1][t], &in[(i + 1) * 64 + t], sizeof(float));
        __pipeline_commit();
        __syncthreads();
        out[i * 64 + t] = tile[i & 1][63 - t];
        __syncthreads();
    }
}
""", "--block 64 --arg f32[256] --arg f32[256]=iota --arg i32:4",
        [("race", 13, "waits (cp.async.wait_group, __pipeline_wait_prior()), and other threads meet that one at a barrier; the same holds at the "
          "other accesses of lines 6 to 13, of which 4 pairs race")]),
    "a wait for the copies before the last": ("""#include <cuda_pipeline.h>
__global__ void copy(float *out, const float *a, const float *b, int n)
{
    __shared__ float as[2][64], bs[2][64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&as[0][t], &a[t], sizeof(float));
    __pipeline_memcpy_async(&bs[0][t], &b[t], sizeof(float));
    __pipeline_commit();
    for (int i = 0; i < n; i++) {
        if (i + 1 < n) {
            __pipeline_memcpy_async(&as[(i + 1) & 1][t], &a[(i + 1) * 64 + t], sizeof(float));
            __pipeline_memcpy_async(&bs[(i + 1) & 1][t], &b[(i + 1) * 64 + t], sizeof(float));
            __pipeline_commit();
        }
        __pipeline_wait_prior(1);
        __syncthreads();
        out[i * 64 + t] = as[i & 1][63 - t] * bs[i & 1][t ^ 1];
        __syncthreads();
    }
}
""", "--block 64 --arg f32[256] --arg f32[256]=iota --arg f32[256]=iota --arg i32:4",
        [("race", 17, "the copy is not done before its thread commits it and waits")]),
    "steps of a scan without a barrier": ("""__global__ void up(const int *in, int *out)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    s[2 * t] = in[2 * t];
    s[2 * t + 1] = in[2 * t + 1];
    __syncthreads();
    for (int d = 32, o = 1; d > 0; d /= 2, o *= 2)
        if (t < d) s[o * (2 * t + 2) - 1] += s[o * (2 * t + 1) - 1];
    __syncthreads();
    out[t] = s[t];
}
""", "--block 32 --arg i32[64]=iota --arg i32[32]",
        [("race", 9, "no __syncwarp() between the store and the load of line 9")]),
    "a value of one thread": ("""__global__ void centre(const float *in, float *out)
{
    __shared__ float first;
    int t = threadIdx.x;
    if (t == 0) first = in[0] / 2;
    float d = in[t] - first;
    out[t] = d * d;
}
""", "--block 64 --arg f32[64]=iota --arg f32[64]",
        [("race", 6, "no __syncthreads() between line 5 and line 6")]),
    "half a halo": ("""__global__ void stencil(const float *in, float *out, int n)
{
    __shared__ float s[66];
    int i = blockIdx.x * 64 + threadIdx.x, t = threadIdx.x + 1;
    s[t] = i < n ? in[i] : 0;
    if (threadIdx.x == 0) s[0] = i > 0 ? in[i - 1] : 0;
    __syncthreads();
    if (i < n) out[i] = s[t - 1] + s[t] + s[t + 1];
}
""", "--block 64 --grid 2 --arg f32[128]=iota --arg f32[128] --arg i32:128",
        [("uninitialised", 8, "at byte 260, which has not been written")]),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", STUDENTS)
def test_what_students_write_is_told_once_with_its_line_and_cure(name, write):
    source, arguments, told = STUDENTS[name]
    findings = inspected(write("student.cu", source), *arguments.split(), "--threads", 1, status=3)["findings"]
    assert len(findings) == len(told)
    for kind, line, said in told:
        assert any(finding["kind"] == kind and said in finding["message"] and (line is None or finding["line"] == line)
                   for finding in findings), (kind, said)


SHUFFLED = """__global__ void largest(const float *in, float *out, int n)
{
    unsigned mask = __ballot_sync(0xffffffff, threadIdx.x < n);
    if (threadIdx.x < n) {
        float v = in[threadIdx.x];
        for (int d = 16; d > 0; d /= 2) {
            float w = __shfl_down_sync(mask, v, d);
            if (%s) v = w;
        }
        if (threadIdx.x == 0) *out = v; // used
    }
}
"""
HALF_A_WARP = """__global__ void sum(const float *in, float *out, int n)
{
    float v = threadIdx.x < n ? in[threadIdx.x] : 0;
    if (threadIdx.x < 16) {
        for (int d = 8; d > 0; d /= 2) v += __shfl_down_sync(0xffff, v, d);
        if (threadIdx.x == %d) *out = v; // used
    }
}
"""


@pytest.mark.parametrize("schedule", ["lockstep", "split", "random:3"])
@pytest.mark.parametrize("source, right", [(SHUFFLED % "threadIdx.x + d < n && w > v", True), (SHUFFLED % "w > v", False),
                                           (HALF_A_WARP % 0, True), (HALF_A_WARP % 1, False)])
def test_what_a_shuffle_takes_from_an_absent_lane_is_a_finding_only_where_it_is_used(source, right, schedule, write):
    """By arithmetic and further shuffles, up to the line that stores it."""
    arguments = "--block 32 --arg f32[32]=iota --arg f32[1] --arg i32:9 --threads 1 --schedule".split()
    report = inspected(write("shuffled.cu", source), *arguments, schedule, status=0 if right else 3)
    used = line_of(source, "used")
    assert [f"and used at line {used}" in finding["message"] for finding in report["findings"]] == [True] * (not right)


ROOT = Path(__file__).parents[1]


def rows_of(page, heading):
    """The first cells of the table below the heading."""
    below = page.split(f"# {heading}\n", 1)[1]
    table = below[below.index("\n|") + 1:].split("\n\n", 1)[0]
    return [line.split(" | ")[0].strip("| ") for line in table.splitlines()[2:]]


def test_the_page_of_findings_has_every_kind_that_the_sources_have():
    page = (ROOT / "docs/findings.md").read_text()
    findings = re.findall(r"\[SIMT_FINDING_\w+\] = \"(\w+)\"", (ROOT / "simt/machine/report.c").read_text())
    advice = re.findall(r"X\(\"([\w-]+)\", advise_", (ROOT / "report/advice.c").read_text())
    assert len(findings) > 8 and len(advice) > 6
    assert {*(f"`{kind}`" for kind in findings), "`leak`"} == set(rows_of(page, "Findings"))
    of_programs = re.findall(r"#define ADVICE_\w+ \"([\w-]+)\"", (ROOT / "report/advice.h").read_text())
    assert {*(f"`{kind}`" for kind in advice), *(f"`{kind}` (`run`)" for kind in of_programs)} == set(rows_of(page, "Advice"))


def test_what_the_page_says_of_races_is_what_the_source_says():
    """And the other way round: each text that ends a race's message has its row."""
    page = (ROOT / "docs/findings.md").read_text()
    source = re.sub(r"\"\s*\n?\s*\"", "", (ROOT / "simt/observe/races_find.c").read_text())
    rows = [text for row in rows_of(page, "What a race lacks") for text in re.findall("`([^`]+)`", row)]
    said = [re.sub(r"line \d+", "line %u", text).removesuffix(", ...") for text in rows]
    assert len(said) >= 9 and [text for text in said if text not in source] == []
    static = re.findall(r"return \"([^\"]{40,})\"", source)
    others = ("the source is read at any time", "the copy is not done", "wgmma reads it at any time", "wgmma may miss it",
              "no barrier, and no mbarrier on which that thread arrives and the warp waits", "blocks overwrite each other's result")
    assert [text for text in static if not text.startswith(others) and not any(row in text for row in said)] == []
