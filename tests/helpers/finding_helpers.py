"""What the tests of findings and advice share."""

import os

import pytest

from cli_helpers import run

ABSENT = "/nonexistent"


@pytest.fixture(scope="module", autouse=True)
def nvrtc(tmp_path_factory):
    path = tmp_path_factory.mktemp("probe") / "probe.cu"
    path.write_text('extern "C" __global__ void probe() {}\n')
    if run("inspect", path, env={**os.environ, "WARPFOLD_NVCC": ABSENT}).returncode:
        pytest.skip("skipped: no NVRTC")


def line_of(source, marked):
    """The number of the line that ends in `// marked`."""
    number, = [number for number, line in enumerate(source.splitlines(), 1) if line.endswith(f"// {marked}")]
    return number


WRONG = {
    "barrier": ("""__global__ void f(float *out) {
    int t = threadIdx.x;
    if (t < 16) { // branch
        __syncthreads(); // here
    }
    out[t] = t;
}
""", ["--block", 32, "--arg", "f32[32]"], "barrier",
                "threads 0-15 wait at line {here}; 16-31 skipped it at line {branch}: all threads of the block"),
    "two barriers": ("""__global__ void f(float *out) {
    int t = threadIdx.x;
    if (t % 2) {
        __syncthreads(); // other
    } else {
        __syncthreads(); // here
    }
    out[t] = t;
}
""", ["--block", 64, "--arg", "f32[64]"], "barrier",
                     "threads 0, 2, 4, 6, ... wait at line {here}; 1, 3, 5, 7, ... wait at line {other}: the threads of a warp must come "
                     "to one __syncthreads() together"),
    "ended": ("""__global__ void f(float *out) {
    int t = threadIdx.x;
    if (t >= 48 && t < 60) { asm("bar.sync 3, 64;"); } // here
    out[t] = t;
}
""", ["--block", 64, "--arg", "f32[64]"], "barrier",
              "threads 48-59 wait at line {here}; 0-31 have ended; 32-47, 60-63 skipped it at line {here}: at barrier 3,"),
    "mask": ("""__global__ void f(float *out) {
    int t = threadIdx.x;
    float v = t;
    if (t < 18) // branch
        v += __shfl_down_sync(0xffffffff, v, 1); // here
    out[t] = v;
}
""", ["--block", 32, "--arg", "f32[32]"], "barrier",
             "threads 0-17 wait at line {here}; 18-31 skipped it at line {branch}: the mask 0xffffffff names lanes 18-31, which"),
    "bounds": ("""__global__ void f(const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i]; // here
}
""", ["--block", 256, "--grid", 4, "--arg", "f32[1000]=iota", "--arg", "f32[1024]"], "bounds",
               "byte 4000 of an allocation of 4000 (index 1000 of `in`, float[1000])"),
    "before": ("""__global__ void f(double *out) {
    out[(int)threadIdx.x - 2] = 1; // here
}
""", ["--arg", "f64[32]"], "bounds", "(index -2 of `out`, double[32])"),
    "neighbour": ("""template <typename T, int N> __global__ void f(const T *in, T *out) {
    __shared__ T before[N];
    __shared__ float tile[64], behind[64];
    int t = threadIdx.x;
    before[t] = in[t];
    tile[t] = in[t];
    behind[t] = in[t];
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < 4; i++) sum += tile[(t + 7) / 8 * 8 + i - 4]; // here
    out[t] = sum + before[t] + behind[t];
}
""", ["--block", 64, "--kernel", "f<float, 64>", "--arg", "f32[64]=iota", "--arg", "f32[64]"], "bounds",
                  "loads 4 bytes of shared memory at byte -16 of an array of 256 (index -4 of `tile`, float[64])"),
    "behind": ("""__shared__ double tile[8][4], behind[32];
__global__ void f(double *out) {
    int t = threadIdx.x;
    behind[t] = tile[t / 4][t % 4] = t;
    atomicAdd(&tile[t / 4][t % 4 + 1], behind[t]); // here
    out[t] = tile[t / 4][t % 4];
}
""", ["--arg", "f64[32]"], "bounds", "updates 8 bytes of shared memory at byte 256 of an array of 256 (`tile[8][0]`, double[8][4])"),
    "generic": ("""__device__ __noinline__ float at(const float *from, int i) { return from[i]; }
__global__ void f(float *out) {
    __shared__ short counts[31];
    __shared__ float kept[32];
    int t = threadIdx.x;
    short *p = counts;
    for (int i = 0; i < t; i++) p += 1;
    *p = 1; // here
    kept[t] = t;
    out[t] = at(kept, t);
}
""", ["--arg", "f32[32]"], "bounds", "stores 2 bytes of shared memory at byte 62 of an array of 62 (index 31 of `counts`, short[31])"),
    "histogram": ("""__global__ void f(const int *in, int *bins) {
    bins[in[threadIdx.x] & 7]++; // here
}
""", ["--block", 256, "--arg", "i32[256]=random:1", "--arg", "i32[8]=zeros"], "race",
                  "no atomic operation such as atomicAdd() at line {here}, where threads read, change and write"),
    "lock": ("""__device__ int lock;
__global__ void f(int *out) {
    while (atomicCAS(&lock, 0, 1) != 0) { }
    *out += 1; // here
    atomicExch(&lock, 0);
}
""", ["--arg", "i32[1]=zeros"], "race", "no __threadfence() between the atomic that takes the lock and line {here}"),
    "spin": ("""__global__ void f(volatile int *flag, int *out) {
    while (*flag == 0) { } // here
    *out = 1;
}
""", ["--arg", "i32[1]=zeros", "--arg", "i32[1]", "--limit", 200000], "runaway",
             "limit of 200,000 warp instructions without ending, in the loop of line {here}, which the warps"),
}
TRANSPOSE = """__global__ void transpose(const float *in, float *out, int n) {
    __shared__ float tile[32][32];
    int x = threadIdx.x, y = threadIdx.y, bx = blockIdx.x * 32, by = blockIdx.y * 32;
    tile[y][x] = in[(by + y) * n + bx + x];
    __syncthreads();
    out[(bx + y) * n + by + x] = tile[x][y]; // turn
}
"""
TRANSPOSED = ["--block", "32,32", "--grid", "2,2", "--arg", "f32[4096]=iota", "--arg", "f32[4096]", "--arg", "i32:64"]
TREE_BY_MODULO = """__global__ void f(const float *in, float *out) {
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = in[blockIdx.x * 256 + t];
    __syncthreads();
    for (int k = 1; k < 256; k *= 2) {
        if (t % (2 * k) == 0) s[t] += s[t + k]; // here
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}
"""
