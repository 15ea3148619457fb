/* CUB's device algorithms beside the standard library's, one for each program: -DALGORITHM=a_name. */
#include <algorithm>
#include <cstdio>
#include <cub/cub.cuh>
#include <numeric>
#include <vector>

constexpr int N = 5000, SEGMENT = 37, SEGMENTS = (N + SEGMENT - 1) / SEGMENT;

static int *in, *keys, *out, *other, *count, *offsets;
static std::vector<int> data, result;

/* Asks how much temporary memory it takes, and calls it again. */
template <class Call> void with_memory(Call call) {
    size_t nbytes = 0;
    void *memory = nullptr;
    call(memory, nbytes);
    cudaMalloc(&memory, nbytes);
    cudaError_t error = call(memory, nbytes);
    if (error == cudaSuccess) error = cudaDeviceSynchronize();
    if (error != cudaSuccess) printf("failed: %s\n", cudaGetErrorString(error)), exit(1);
    cudaFree(memory);
}

#define CALL(...) with_memory([&](void *t, size_t &n) { return cub::__VA_ARGS__; })

struct is_odd {
    __host__ __device__ bool operator()(int value) const { return value & 1; }
};
struct square {
    __host__ __device__ int operator()(int value) const { return value * value; }
};
struct negate_out {
    int *in, *out;
    __device__ void operator()(int i) const { out[i] = -in[i]; }
};

static void sort_result(bool (*before)(int, int)) {
    result = data;
    std::sort(result.begin(), result.end(), before);
}

template <class Each> void each_segment(Each each) {
    for (int i = 0; i < SEGMENTS; i++) each(data.begin() + offsets[i], data.begin() + offsets[i + 1]);
}

template <class> static void reduce() {
    CALL(DeviceReduce::Sum(t, n, in, out, N));
    result = {std::accumulate(data.begin(), data.end(), 0)};
}
template <class> static void reduce_by_key() {
    CALL(DeviceReduce::ReduceByKey(t, n, keys, other, in, out, count, cuda::std::plus<int>{}, N));
    each_segment([](auto first, auto last) { result.push_back(std::accumulate(first, last, 0)); });
}
template <class> static void segmented_reduce() {
    CALL(DeviceSegmentedReduce::Max(t, n, in, out, SEGMENTS, offsets, offsets + 1));
    each_segment([](auto first, auto last) { result.push_back(*std::max_element(first, last)); });
}
template <class> static void scan() {
    CALL(DeviceScan::ExclusiveSum(t, n, in, out, N));
    result.resize(N);
    std::exclusive_scan(data.begin(), data.end(), result.begin(), 0);
}
template <class> static void scan_by_key() {
    CALL(DeviceScan::InclusiveSumByKey(t, n, keys, in, out, N));
    each_segment([](auto first, auto last) { std::inclusive_scan(first, last, std::back_inserter(result)); });
}
template <class> static void select_if() {
    CALL(DeviceSelect::If(t, n, in, out, count, N, is_odd()));
    std::copy_if(data.begin(), data.end(), std::back_inserter(result), is_odd());
}
template <class> static void unique() {
    CALL(DeviceSelect::Unique(t, n, keys, out, count, N));
    for (int i = 0; i < SEGMENTS; i++) result.push_back(i);
}
template <class> static void partition() {
    CALL(DevicePartition::If(t, n, in, out, count, N, is_odd()));
    std::copy_if(data.begin(), data.end(), std::back_inserter(result), is_odd());
}
template <class> static void run_lengths() {
    CALL(DeviceRunLengthEncode::Encode(t, n, keys, other, out, count, N));
    each_segment([](auto first, auto last) { result.push_back(int(last - first)); });
}
template <class> static void histogram_even() {
    CALL(DeviceHistogram::HistogramEven(t, n, in, out, 11, 0, 1000, N));
    result.resize(10);
    for (int value : data) result[value / 100]++;
}
template <class> static void radix_sort() {
    CALL(DeviceRadixSort::SortKeys(t, n, in, out, N));
    sort_result([](int a, int b) { return a < b; });
}
template <class> static void radix_sort_pairs() {
    CALL(DeviceRadixSort::SortPairsDescending(t, n, in, out, keys, other, N));
    sort_result([](int a, int b) { return a > b; });
}
template <class> static void merge_sort() {
    CALL(DeviceMergeSort::SortKeysCopy(t, n, in, out, N, cuda::std::less<int>{}));
    sort_result([](int a, int b) { return a < b; });
}
template <class> static void segmented_sort() {
    CALL(DeviceSegmentedSort::SortKeys(t, n, in, out, N, SEGMENTS, offsets, offsets + 1));
    each_segment([](auto first, auto last) { std::sort(first, last); });
    result = data;
}
template <class> static void segmented_radix_sort() {
    CALL(DeviceSegmentedRadixSort::SortKeys(t, n, in, out, N, SEGMENTS, offsets, offsets + 1));
    each_segment([](auto first, auto last) { std::sort(first, last); });
    result = data;
}
template <class> static void adjacent_difference() {
    CALL(DeviceAdjacentDifference::SubtractLeftCopy(t, n, in, out, N, cuda::std::minus<int>{}));
    std::adjacent_difference(data.begin(), data.end(), std::back_inserter(result));
}
template <class> static void transform() {
    cub::DeviceTransform::Transform(in, out, N, square());
    std::transform(data.begin(), data.end(), std::back_inserter(result), square());
}
template <class> static void for_each() {
    CALL(DeviceFor::Bulk(t, n, N, negate_out{in, out}));
    std::transform(data.begin(), data.end(), std::back_inserter(result), std::negate<int>());
}

int main() {
    for (int **array : {&in, &keys, &out, &other, &count, &offsets}) cudaMallocManaged(array, N * sizeof **array);
    for (int i = 0; i < N; i++) {
        data.push_back(in[i] = int(i * 7919ll % 1000));
        keys[i] = i / SEGMENT;
    }
    for (int i = 0; i <= SEGMENTS; i++) offsets[i] = std::min(i * SEGMENT, N);
    ALGORITHM<void>(); // templates: the others are not compiled
    cudaError_t error = cudaDeviceSynchronize();
    for (size_t i = 0; i < result.size(); i++)
        if (result[i] != out[i]) return printf("wrong: %d at %zu, not %d\n", out[i], i, result[i]), 1;
    for (int *array : {in, keys, out, other, count, offsets}) cudaFree(array);
    return error;
}
