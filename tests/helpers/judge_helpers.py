"""Kernels, tasks and verdicts of the tests of warpfold judge."""

import json

from cli_helpers import run

BLOCK_SUM = """
    extern __shared__ float s[];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = %s;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k /= 2) {
        if (t < k)
            s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0)
        atomicAdd(out, s[0]);
"""

SUM = "__global__ void reduce(const float *in, float *out, int n)\n{" + BLOCK_SUM % "i < n ? in[i] : 0.0f" + "}\n"

SCAN_OF_BLOCK = """
__device__ float scan_of_block(float mine)
{
    extern __shared__ float s[];
    int t = threadIdx.x;
    for (int d = 1; d < blockDim.x; d *= 2) {
        s[t] = mine;
        __syncthreads();
        if (t >= d)
            mine += s[t - d];
        __syncthreads();
    }
    return mine;
}
"""

GOOD = {
    "sum": SUM,
    "dot": "__global__ void dot(const float *a, const float *b, float *out, int n)\n{" +
           BLOCK_SUM % "i < n ? a[i] * b[i] : 0.0f" + "}\n",
    "max": """
__global__ void largest(const float *in, float *out, int n)
{
    extern __shared__ float s[];
    int t = threadIdx.x;
    float best = in[0];
    for (int i = t; i < n; i += blockDim.x)
        best = fmaxf(best, in[i]);
    s[t] = best;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k /= 2) {
        if (t < k)
            s[t] = fmaxf(s[t], s[t + k]);
        __syncthreads();
    }
    if (t == 0)
        *out = s[0];
}
""",
    "argmax": """
__global__ void where_largest(const float *in, int *out, int n)
{
    extern __shared__ int best[];
    int t = threadIdx.x;
    best[t] = t < n ? t : 0;
    for (int i = t; i < n; i += blockDim.x)
        if (in[i] > in[best[t]])
            best[t] = i;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k /= 2) {
        if (t < k) {
            int a = best[t], b = best[t + k];
            best[t] = in[b] > in[a] || (in[b] == in[a] && b < a) ? b : a;
        }
        __syncthreads();
    }
    if (t == 0)
        *out = best[0];
}
""",
    "row_sums": """
__global__ void row_sums(const float *in, float *out, int rows, int cols)
{
    extern __shared__ float s[];
    int t = threadIdx.x;
    float sum = 0;
    for (int c = t; c < cols; c += blockDim.x)
        sum += in[blockIdx.x * cols + c];
    s[t] = sum;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k /= 2) {
        if (t < k)
            s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = s[0];
}
""",
    "histogram": """
__global__ void histogram(const int *in, int *bins, int n)
{
    extern __shared__ int own[];
    if (threadIdx.x < 64)
        own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[in[i]], 1);
    __syncthreads();
    if (threadIdx.x < 64)
        atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
""",
    "scan": SCAN_OF_BLOCK + """
__global__ void scan(const float *in, float *out, int n)
{
    int t = threadIdx.x;
    float mine = scan_of_block(t < n ? in[t] : 0);
    if (t < n)
        out[t] = mine;
}
""",
    "scan_blocks": SCAN_OF_BLOCK + """
__global__ void scan_each(const float *in, float *out, float *totals, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float mine = scan_of_block(i < n ? in[i] : 0);
    if (i < n)
        out[i] = mine;
    if (threadIdx.x == blockDim.x - 1)
        totals[blockIdx.x] = mine;
}

__global__ void scan_totals(float *totals, int blocks)
{
    int t = threadIdx.x;
    float mine = t < blocks ? totals[t] : 0;
    for (int d = 1; d < 32; d *= 2) {
        float other = __shfl_up_sync(0xffffffff, mine, d);
        if (t >= d)
            mine += other;
    }
    if (t < blocks)
        totals[t] = mine;
}

__global__ void add_totals(float *out, const float *totals, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && blockIdx.x)
        out[i] += totals[blockIdx.x - 1];
}
""",
    "transpose": """
__global__ void transpose(const float *in, float *out, int rows, int cols)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < cols && y + j < rows)
            tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * cols + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < rows && y + j < cols)
            out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}
""",
    "softmax": """
__global__ void softmax(const float *in, float *out, int rows, int cols)
{
    const float *row = in + blockIdx.x * cols;
    float highest = row[0], sum = 0;
    for (int c = 0; c < cols; c++)
        highest = fmaxf(highest, row[c]);
    for (int c = 0; c < cols; c++)
        sum += expf(row[c] - highest);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        out[blockIdx.x * cols + c] = expf(row[c] - highest) / sum;
}
""",
    "row_variances": """
__device__ float sum_of_block(float mine)
{
    extern __shared__ float s[];
    int t = threadIdx.x;
    s[t] = mine;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k /= 2) {
        if (t < k)
            s[t] += s[t + k];
        __syncthreads();
    }
    float sum = s[0];
    __syncthreads();
    return sum;
}

__global__ void row_variances(const float *in, float *out, int rows, int cols)
{
    const float *row = in + blockIdx.x * cols;
    float sum = 0, squares = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        sum += row[c];
    float mean = sum_of_block(sum) / cols;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        squares += (row[c] - mean) * (row[c] - mean);
    squares = sum_of_block(squares);
    if (threadIdx.x == 0)
        out[blockIdx.x] = squares / cols;
}
""",
    "norm": """
__global__ void norm(const double *in, double *out, int n)
{
    extern __shared__ double s[];
    int t = threadIdx.x;
    double sum = 0;
    for (int i = t; i < n; i += blockDim.x)
        sum += in[i] * in[i];
    s[t] = sum;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k /= 2) {
        if (t < k)
            s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0)
        *out = sqrt(s[0]);
}
""",
    "stencil": """
__global__ void blur(const float *in, float *out, int n)
{
    extern __shared__ float s[];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t + 1] = in[min(i, n - 1)];
    if (t == 0)
        s[0] = in[max(i - 1, 0)];
    if (t == blockDim.x - 1)
        s[t + 2] = in[min(i + 1, n - 1)];
    __syncthreads();
    if (i < n)
        out[i] = 0.25f * s[t] + 0.5f * s[t + 1] + 0.25f * s[t + 2];
}
""",
    "matvec": """
__global__ void matvec(const float *a, const float *x, float *y, int rows, int cols)
{
    extern __shared__ float s[];
    int t = threadIdx.x;
    float sum = 0;
    for (int c = t; c < cols; c += blockDim.x)
        sum += a[blockIdx.x * cols + c] * x[c];
    s[t] = sum;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k /= 2) {
        if (t < k)
            s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0)
        y[blockIdx.x] = s[0];
}
""",
}


def verdict(kernel, *options, status=None):
    done = run("judge", kernel, "--json", *options)
    assert done.stderr == "" and done.returncode in (0, 3), done
    told = json.loads(done.stdout)
    assert told["accepted"] == (done.returncode == 0) == (told["reasons"] == [])
    assert status is None or done.returncode == status, done.stdout
    return told


def kinds(told):
    return {reason["kind"] for reason in told["reasons"]}


ONE_SIZE = """Title: a sum
Signature: __global__ void reduce(const float *in, float *out, int n)
Block: 32
Grid: 1
Argument: in input f32[n] uniform(0.5, 1)
Argument: out output f32[1] zeros
Argument: n scalar i32 n
Sizes: 512
Expect: out = sum(in)
"""

TREE = """__global__ void reduce(const float *in, float *out, int n)
{
    float s = 0;
    for (int i = threadIdx.x; i < n; i += 32)
        s += in[i];
    for (int d = 16; d; d /= 2)
        s += __shfl_down_sync(0xffffffff, s, d);
    if (threadIdx.x == 0)
        *out = s;
}
"""
