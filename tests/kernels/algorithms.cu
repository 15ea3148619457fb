// Algorithms from textbooks.
#ifndef __CUDACC_RTC__ // which knows malloc by itself
#include <stdlib.h>
#endif

// The transform of n = 2 * blockDim.x complex numbers, by radix 2 in shared memory.
extern "C" __global__ void fourier(const double2 *in, double2 *out, const double2 *roots, int bits) {
    extern __shared__ double2 values[];
    int half = blockDim.x, n = 2 * half, t = threadIdx.x;
    for (int i = t; i < n; i += half) values[__brev(i) >> (32 - bits)] = in[i];
    __syncthreads();
    for (int size = 2; size <= n; size *= 2) {
        int k = t % (size / 2), i = t / (size / 2) * size + k, j = i + size / 2;
        double2 w = roots[k * (n / size)], a = values[i], b = values[j];
        double2 turned = make_double2(w.x * b.x - w.y * b.y, w.x * b.y + w.y * b.x);
        values[i] = make_double2(a.x + turned.x, a.y + turned.y);
        values[j] = make_double2(a.x - turned.x, a.y - turned.y);
        __syncthreads();
    }
    for (int i = t; i < n; i += half) out[i] = values[i];
}

// The length of the longest common subsequence of two texts, one diagonal after the other.
extern "C" __global__ void common_subsequence(const char *a, const char *b, int na, int nb, int *table,
                                              int *length) {
    for (int diagonal = 0; diagonal < na + nb - 1; diagonal++) {
        for (int i = threadIdx.x; i < na; i += blockDim.x) {
            int j = diagonal - i;
            if (j < 0 || j >= nb) continue;
            int corner = i && j ? table[(i - 1) * nb + j - 1] : 0;
            int above = i ? table[(i - 1) * nb + j] : 0, left = j ? table[i * nb + j - 1] : 0;
            table[i * nb + j] = a[i] == b[j] ? corner + 1 : max(above, left);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) *length = table[na * nb - 1];
}

// Distances from node 0, level by level, in a graph by rows of neighbours; one block.
extern "C" __global__ void breadth_first(const int *begins, const int *neighbours, int *distances, int n) {
    __shared__ int frontier[2][256], counts[2];
    int level = 0;
    if (threadIdx.x == 0) frontier[0][0] = 0, counts[0] = 1, counts[1] = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) distances[i] = i ? -1 : 0;
    __syncthreads();
    while (counts[level % 2] > 0) {
        int from = level % 2, to = 1 - from;
        for (int f = threadIdx.x; f < counts[from]; f += blockDim.x) {
            int node = frontier[from][f];
            for (int e = begins[node]; e < begins[node + 1]; e++)
                if (atomicCAS(&distances[neighbours[e]], -1, level + 1) == -1)
                    frontier[to][atomicAdd(&counts[to], 1)] = neighbours[e];
        }
        __syncthreads();
        if (threadIdx.x == 0) counts[from] = 0;
        level++;
        __syncthreads();
    }
}

__constant__ float mask[25];

// A filter of 5 x 5, its weights worked out first, tiles with a halo of two.
extern "C" __global__ void blur(const float *in, float *out, int width, int height) {
    __shared__ float tile[12][20], weights[5];
    int t = threadIdx.y * blockDim.x + threadIdx.x, size = blockDim.x * blockDim.y;
    if (t < 5) weights[t] = t == 2 ? 6 : t % 2 ? 4 : 1;
    for (int i = t; i < 12 * 20; i += size) {
        int x = (int)(blockIdx.x * 16) + i % 20 - 2, y = (int)(blockIdx.y * 8) + i / 20 - 2;
        tile[i / 20][i % 20] = x >= 0 && x < width && y >= 0 && y < height ? in[y * width + x] : mask[i % 25];
    }
    __syncthreads();
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0;
    for (int dy = 0; dy < 5; dy++)
        for (int dx = 0; dx < 5; dx++)
            sum += weights[dy] * weights[dx] * tile[threadIdx.y + dy][threadIdx.x + dx];
    out[y * width + x] = sum;
}

// Two sorted arrays into one: each thread finds where its part begins, by halving.
extern "C" __global__ void merge(const int *a, int na, const int *b, int nb, int *out, int each) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, begin = min(t * each, na + nb),
        end = min(begin + each, na + nb);
    int low = max(0, begin - nb), high = min(begin, na);
    while (low < high) {
        int middle = (low + high) / 2;
        if (a[middle] <= b[begin - 1 - middle])
            low = middle + 1;
        else
            high = middle;
    }
    int i = low, j = begin - low;
    for (int k = begin; k < end; k++) out[k] = j >= nb || (i < na && a[i] <= b[j]) ? a[i++] : b[j++];
}

struct node {
    int value;
    node *next;
};

// A list on the heap for each thread, summed and freed.
extern "C" __global__ void linked_list(int *out) {
    node *head = nullptr;
    for (int i = 0; i <= threadIdx.x % 7; i++) {
        node *fresh = (node *)malloc(sizeof(node));
        fresh->value = i * 10;
        fresh->next = head;
        head = fresh;
    }
    int sum = 0;
    while (head) {
        node *next = head->next;
        sum += head->value;
        free(head);
        head = next;
    }
    out[threadIdx.x] = sum;
}

union word {
    unsigned int whole;
    unsigned char bytes[4];
    struct {
        unsigned int low : 5, middle : 13, high : 14;
    } fields;
};

template <typename F> __device__ int twice(F f, int x) {
    return f(f(x));
}

// Unions, bit fields, lambdas, small vectors, a goto, cached loads, copies of memory.
extern "C" __global__ void pieces(const unsigned int *in, int *out) {
    int t = threadIdx.x, offset = t % 3;
    word w;
    w.whole = __ldg(&in[t]);
    char4 small = make_char4(w.bytes[3], w.bytes[2], w.bytes[1], w.bytes[0]);
    unsigned char copy[8];
    memset(copy, 7, sizeof copy);
    memcpy(copy + offset, w.bytes, 4);
    int steps = 0;
again:
    if (steps < t % 5) {
        steps++;
        goto again;
    }
    w.fields.middle += 1;
    out[6 * t] = w.fields.low * 3 + w.fields.high;
    out[6 * t + 1] = small.x + small.y + small.z + small.w;
    out[6 * t + 2] = copy[0] + 2 * copy[3] + 3 * copy[6];
    out[6 * t + 3] = steps;
    out[6 * t + 4] = twice([=](int x) { return 3 * x + offset; }, t);
    out[6 * t + 5] = (int)w.whole;
}
