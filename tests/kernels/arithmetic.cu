// Floating-point: half precision, compensated sums, functions of the mathematical library.
#include <cuda_fp16.h>

// The dot product of n pairs of halves, by one warp.
extern "C" __global__ void half_dot(const __half2 *a, const __half2 *b, float *out, int n) {
    __half2 sum = __float2half2_rn(0.0f);
    for (int i = threadIdx.x; i < n; i += warpSize) sum = __hfma2(a[i], b[i], sum);
    float total = __low2float(sum) + __high2float(sum);
    for (int offset = 16; offset > 0; offset /= 2) total += __shfl_down_sync(0xffffffff, total, offset);
    if (threadIdx.x == 0) *out = total;
}

extern "C" __global__ void half_arithmetic(const __half *a, const __half *b, __half *out) {
    int t = threadIdx.x;
    out[4 * t] = __hadd(a[t], b[t]);
    out[4 * t + 1] = a[t] * b[t];
    out[4 * t + 2] = __hgt(a[t], b[t]) ? a[t] : b[t];
    out[4 * t + 3] = __int2half_rn(__half2int_rz(a[t]));
}

// Each thread's sum of its row, with Kahan's correction and without.
extern "C" __global__ void kahan(const double *in, double *corrected, double *plain, int columns) {
    double sum = 0, correction = 0, naive = 0;
    for (int i = 0; i < columns; i++) {
        double value = in[threadIdx.x * columns + i], y = value - correction, t = sum + y;
        correction = (t - sum) - y;
        sum = t;
        naive += value;
    }
    corrected[threadIdx.x] = sum;
    plain[threadIdx.x] = naive;
}

extern "C" __global__ void rounding(const float *a, const float *b, float *out) {
    int t = threadIdx.x;
    float x = a[t], y = b[t], *row = out + 9 * t;
    row[0] = __fadd_rd(x, y);
    row[1] = __fadd_ru(x, y);
    row[2] = __fmul_rz(x, y);
    row[3] = __fdiv_rn(x, y);
    row[4] = __fsqrt_rn(fabsf(x));
    row[5] = fmaf(x, y, -x * y);
    row[6] = (float)(int)x;
    row[7] = __double2float_rd((double)x + (double)y);
    row[8] = rintf(x) + floorf(y) + truncf(x);
}

extern "C" __global__ void functions_f32(const float *in, float *out) {
    int t = threadIdx.x;
    float x = in[t], *row = out + 10 * t;
    row[0] = sinf(x);
    row[1] = cosf(x * 1000.0f);
    row[2] = expf(x);
    row[3] = logf(fabsf(x) + 0.5f);
    row[4] = powf(fabsf(x) + 1, 1.5f);
    row[5] = tanhf(x);
    row[6] = erff(x);
    row[7] = rsqrtf(fabsf(x) + 1);
    row[8] = atan2f(x, 2.0f);
    row[9] = cbrtf(x);
}

extern "C" __global__ void functions_f64(const double *in, double *out) {
    int t = threadIdx.x;
    double x = in[t], *row = out + 8 * t;
    row[0] = sin(x);
    row[1] = cos(x * 1e6);
    row[2] = exp(x);
    row[3] = log(fabs(x) + 0.5);
    row[4] = pow(fabs(x) + 1, 1.5);
    row[5] = tanh(x);
    row[6] = sqrt(fabs(x));
    row[7] = 1 / (x * x + 1);
}

// How many steps until z z + c leaves the circle.
extern "C" __global__ void mandelbrot(int *out, int width, int height, int limit) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    double cr = -2.0 + 3.0 * x / width, ci = -1.0 + 2.0 * y / height, zr = 0, zi = 0;
    int steps = 0;
    while (steps < limit && __dadd_rn(__dmul_rn(zr, zr), __dmul_rn(zi, zi)) <= 4) {
        double next = __dadd_rn(__dsub_rn(__dmul_rn(zr, zr), __dmul_rn(zi, zi)), cr);
        zi = __dadd_rn(__dmul_rn(2 * zr, zi), ci);
        zr = next;
        steps++;
    }
    out[y * width + x] = steps;
}
