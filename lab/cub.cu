/* CUB's device algorithms beside the standard library's, one for each program: -DALGORITHM=a_name. */
#include <algorithm>
#include <climits>
#include <cstdio>
#include <cub/block/block_shuffle.cuh>
#include <cub/cub.cuh>
#include <numeric>
#include <vector>

constexpr int N = 5000, MOST_RESULTS = 5, SEGMENT = 37, SEGMENTS = (N + SEGMENT - 1) / SEGMENT;

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
struct is_below {
    int limit;
    __host__ __device__ bool operator()(int value) const { return value < limit; }
};
struct square {
    __host__ __device__ int operator()(int value) const { return value * value; }
};
struct is_below_by_tens {
    __host__ __device__ bool operator()(int a, int b) const { return a / 10 < b / 10; }
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

template <class> static void arg_min() {
    CALL(DeviceReduce::ArgMin(t, n, in, out, out + 1, N));
    const auto least = std::min_element(data.begin(), data.end());
    result = {*least, int(least - data.begin())};
}
template <class> static void transform_reduce() {
    CALL(DeviceReduce::TransformReduce(t, n, in, out, N, cuda::std::plus<int>{}, square(), 3));
    result = {std::transform_reduce(data.begin(), data.end(), 3, std::plus<int>(), square())};
}
template <class> static void partition_in_three() {
    CALL(DevicePartition::If(t, n, in, out, other, keys, count, N, is_below{200}, is_below{500}));
    std::copy_if(data.begin(), data.end(), std::back_inserter(result), is_below{200});
}
template <class> static void flagged() {
    for (int i = 0; i < N; i++) keys[i] = i % 3 == 0;
    CALL(DeviceSelect::Flagged(t, n, in, keys, out, count, N));
    for (int i = 0; i < N; i += 3) result.push_back(data[i]);
}
template <class> static void unique_by_key() {
    CALL(DeviceSelect::UniqueByKey(t, n, keys, in, other, out, count, N));
    each_segment([](auto first, auto) { result.push_back(*first); });
}
template <class> static void non_trivial_runs() {
    CALL(DeviceRunLengthEncode::NonTrivialRuns(t, n, keys, out, other, count, N));
    result.assign(offsets, offsets + SEGMENTS);
}
template <class> static void histogram_range() {
    for (int i = 0; i < 5; i++) other[i] = i * i * 50; // 0, 50, 200, 450, 800
    CALL(DeviceHistogram::HistogramRange(t, n, in, out, 5, other, N));
    result.resize(4);
    for (int value : data)
        for (int i = 0; i < 4; i++) result[i] += value >= i * i * 50 && value < (i + 1) * (i + 1) * 50;
}
template <class> static void sort_some_bits() {
    CALL(DeviceRadixSort::SortKeys(t, n, in, out, N, 2, 7));
    result = data;
    std::stable_sort(result.begin(), result.end(), [](int a, int b) { return (a >> 2 & 31) < (b >> 2 & 31); });
}
template <class> static void stable_merge_sort_pairs() {
    for (int i = 0; i < N; i++) keys[i] = data[i] / 50, out[i] = data[i];
    CALL(DeviceMergeSort::StableSortPairs(t, n, keys, out, N, cuda::std::greater<int>{}));
    result = data;
    std::stable_sort(result.begin(), result.end(), [](int a, int b) { return a / 50 > b / 50; });
}
template <class> static void merge() {
    std::sort(in, in + 2000), std::sort(in + 2000, in + N);
    CALL(DeviceMerge::MergeKeys(t, n, in, 2000, in + 2000, N - 2000, out, cuda::std::less<int>{}));
    sort_result([](int a, int b) { return a < b; });
}
template <class> static void subtract_right() {
    CALL(DeviceAdjacentDifference::SubtractRight(t, n, in, N, cuda::std::minus<int>{}));
    for (int i = 0; i < N; i++) result.push_back(i + 1 < N ? data[i] - data[i + 1] : data[i]);
    cudaMemcpy(out, in, N * sizeof *in, cudaMemcpyDefault);
}
template <class> static void scan_of_maxima() {
    CALL(DeviceScan::InclusiveScan(t, n, in, out, cuda::maximum<int>{}, N));
    std::inclusive_scan(data.begin(), data.end(), std::back_inserter(result),
                        [](int a, int b) { return std::max(a, b); });
}
template <class> static void copy_batches() {
    int **from = (int **)other, **to = (int **)keys, *sizes = count;
    for (int i = 0; i < SEGMENTS; i++) {
        from[i] = in + offsets[i], to[i] = out + N - offsets[i + 1];
        sizes[i] = offsets[i + 1] - offsets[i];
    }
    CALL(DeviceCopy::Batched(t, n, from, to, sizes, SEGMENTS));
    for (int i = SEGMENTS; i-- > 0;)
        result.insert(result.end(), data.begin() + offsets[i], data.begin() + offsets[i + 1]);
}
template <class> static void memory_batches() {
    void **from = (void **)other, **to = (void **)keys;
    for (int i = 0; i < SEGMENTS; i++) {
        from[i] = in + offsets[i], to[i] = out + N - offsets[i + 1];
        count[i] = (offsets[i + 1] - offsets[i]) * int(sizeof *in);
    }
    CALL(DeviceMemcpy::Batched(t, n, from, to, count, SEGMENTS));
    for (int i = SEGMENTS; i-- > 0;)
        result.insert(result.end(), data.begin() + offsets[i], data.begin() + offsets[i + 1]);
}
struct store_index {
    int *out;
    __device__ void operator()(int i, int row, int column) const { out[i] = 1000 * column + row; }
};
template <class> static void for_each_in_extents() {
    CALL(DeviceFor::ForEachInExtents(t, n, cuda::std::extents<int, 50, 100>{}, store_index{out}));
    for (int i = 0; i < N; i++) result.push_back(1000 * (i % 100) + i / 100);
}
struct negate_in_place {
    __device__ void operator()(int &value) const { value = -value; }
};
template <class> static void for_each_n() {
    cudaMemcpy(out, in, N * sizeof *in, cudaMemcpyDefault);
    CALL(DeviceFor::ForEachN(t, n, out, N, negate_in_place{}));
    std::transform(data.begin(), data.end(), std::back_inserter(result), std::negate<int>());
}
/* Of 1250 pixels of four channels, of which three count. */
template <class> static void multi_histogram() {
    int *counts[] = {out, out + 10, out + 30}, levels[] = {11, 21, 6}, lower[] = {0, 0, 100}, upper[] = {1000, 1000, 600};
    CALL(DeviceHistogram::MultiHistogramEven<4, 3>(t, n, in, counts, levels, lower, upper, N / 4));
    result.resize(35);
    for (int i = 0; i < N; i++) {
        const int value = data[i], channel = i % 4;
        if (channel == 0) result[value / 100]++;
        if (channel == 1) result[10 + value / 50]++;
        if (channel == 2 && value >= 100 && value < 600) result[30 + (value - 100) / 100]++;
    }
}
template <class> static void multi_histogram_range() {
    int *counts[] = {out, out + 3}, *levels[] = {other, other + 4}, level_counts[] = {4, 3};
    const int limits[] = {0, 10, 500, 1000, 0, 999, 1000};
    std::copy(limits, limits + 7, other);
    CALL(DeviceHistogram::MultiHistogramRange<2, 2>(t, n, in, counts, level_counts, levels, N / 2));
    result.resize(5);
    for (int i = 0; i < N; i++) {
        if (i % 2) result[3 + (data[i] >= 999)]++;
        else result[(data[i] >= 10) + (data[i] >= 500)]++;
    }
}
/* What is not selected comes behind, in reverse. */
template <class> static void partition_flagged() {
    for (int i = 0; i < N; i++) keys[i] = i % 3 == 0;
    CALL(DevicePartition::Flagged(t, n, in, keys, out, count, N));
    for (int i = 0; i < N; i += 3) result.push_back(data[i]);
    for (int i = N; i-- > 0;)
        if (i % 3) result.push_back(data[i]);
}
template <class> static void flagged_if() {
    CALL(DeviceSelect::FlaggedIf(t, n, in, keys, out, count, N, is_odd()));
    for (int i = 0; i < N; i++)
        if (i / SEGMENT % 2) result.push_back(data[i]);
}
template <class> static void merge_pairs() {
    for (int i = 0; i < N; i++) other[i] = i < 2000 ? 3 * i : 2 * (i - 2000);
    CALL(DeviceMerge::MergePairs(t, n, other, in, 2000, other + 2000, in + 2000, N - 2000, keys, out, cuda::std::less<int>{}));
    for (int i = 0, j = 2000; i < 2000 || j < N;) result.push_back(data[j == N || (i < 2000 && 3 * i <= 2 * (j - 2000)) ? i++ : j++]);
}
template <class Sort> static void sort_segments_by_tens(Sort sort) {
    for (int i = 0; i < N; i++) keys[i] = data[i] / 10;
    sort();
    each_segment([](auto first, auto last) { std::stable_sort(first, last, [](int a, int b) { return a / 10 < b / 10; }); });
    result = data;
}
template <class> static void segmented_sort_pairs() {
    sort_segments_by_tens([] { CALL(DeviceSegmentedSort::StableSortPairs(t, n, keys, other, in, out, N, SEGMENTS, offsets, offsets + 1)); });
}
template <class> static void segmented_radix_sort_pairs() {
    sort_segments_by_tens([] { CALL(DeviceSegmentedRadixSort::SortPairs(t, n, keys, other, in, out, N, SEGMENTS, offsets, offsets + 1)); });
}
template <class> static void segmented_arg_max() {
    auto *found = reinterpret_cast<cub::KeyValuePair<int, int> *>(out);
    CALL(DeviceSegmentedReduce::ArgMax(t, n, in, found, SEGMENTS, offsets, offsets + 1));
    each_segment([](auto first, auto last) {
        const auto most = std::max_element(first, last);
        result.insert(result.end(), {int(most - first), *most});
    });
}
template <class> static void exclusive_scan_by_key() {
    CALL(DeviceScan::ExclusiveScanByKey(t, n, keys, in, out, cuda::maximum<int>{}, -5, N));
    each_segment([](auto first, auto last) { std::exclusive_scan(first, last, std::back_inserter(result), -5, [](int a, int b) { return std::max(a, b); }); });
}
template <class> static void scan_with_initial_value() {
    CALL(DeviceScan::InclusiveScanInit(t, n, in, out, cuda::std::plus<int>{}, 100, N));
    std::inclusive_scan(data.begin(), data.end(), std::back_inserter(result), std::plus<int>(), 100);
}
struct weigh {
    __device__ int operator()(int a, int b) const { return 3 * a - b; }
};
template <class> static void transform_two() {
    cub::DeviceTransform::TransformStableArgumentAddresses(cuda::std::make_tuple(in, keys), out, N, weigh());
    for (int i = 0; i < N; i++) result.push_back(3 * data[i] - i / SEGMENT);
}
template <class> static void reduce_with_operation() {
    CALL(DeviceReduce::Reduce(t, n, in, out, N, cuda::minimum<int>{}, 1 << 20));
    result = {*std::min_element(data.begin(), data.end())};
}
template <class Unit> static void in_blocks(Unit unit) {
    unit<<<(N + 511) / 512, 128>>>(in, out);
    for (int i = 0; i < N; i += 512) {
        result.insert(result.end(), data.begin() + i, data.begin() + std::min(i + 512, N));
        std::sort(result.begin() + i, result.end());
    }
}
template <class> __global__ void sort_block(const int *in, int *out) {
    using load = cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
    using store = cub::BlockStore<int, 128, 4, cub::BLOCK_STORE_TRANSPOSE>;
    using sort = cub::BlockRadixSort<int, 128, 4>;
    __shared__ union {
        typename load::TempStorage load;
        typename store::TempStorage store;
        typename sort::TempStorage sort;
    } memory;
    int items[4], begin = blockIdx.x * 512, valid = min(512, N - begin);
    load(memory.load).Load(in + begin, items, valid, INT_MAX);
    __syncthreads();
    sort(memory.sort).Sort(items);
    __syncthreads();
    store(memory.store).Store(out + begin, items, valid);
}
template <class> static void block_radix_sort() { in_blocks(sort_block<void>); }
template <class> __global__ void sort_block_by_merging(const int *in, int *out) {
    using sort = cub::BlockMergeSort<int, 128, 4>;
    __shared__ typename sort::TempStorage memory;
    int items[4], begin = blockIdx.x * 512, valid = min(512, N - begin);
    cub::LoadDirectBlocked(threadIdx.x, in + begin, items, valid, INT_MAX);
    sort(memory).Sort(items, cuda::std::less<int>{}, valid, INT_MAX);
    cub::StoreDirectBlocked(threadIdx.x, out + begin, items, valid);
}
template <class> static void block_merge_sort() { in_blocks(sort_block_by_merging<void>); }
template <class> __global__ void sort_warps(const int *in, int *out) {
    using sort = cub::WarpMergeSort<int, 4, 32>;
    __shared__ typename sort::TempStorage memory[4];
    int items[4], warp = threadIdx.x / 32, begin = blockIdx.x * 512 + warp * 128, valid = max(0, min(128, N - begin));
    cub::LoadDirectBlocked(threadIdx.x % 32, in + begin, items, valid, INT_MAX);
    sort(memory[warp]).Sort(items, cuda::std::less<int>{}, valid, INT_MAX);
    cub::StoreDirectBlocked(threadIdx.x % 32, out + begin, items, valid);
}
template <class> static void warp_merge_sort() {
    sort_warps<void><<<(N + 511) / 512, 128>>>(in, out);
    result = data;
    for (int i = 0; i < N; i += 128) std::sort(result.begin() + i, result.begin() + std::min(i + 128, N));
}

#include "cub_forms.cuh"

#include "cub_blocks.cuh"

int main() {
    for (int **array : {&in, &keys, &out, &other, &count, &offsets}) cudaMallocManaged(array, MOST_RESULTS * N * sizeof **array);
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
