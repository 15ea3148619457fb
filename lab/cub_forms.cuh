/* The forms of the device algorithms that lab/cub.cu does not call itself: each result stands behind those before it. */
static int *behind() { return out + result.size(); }
static void expect(const std::vector<int> &values) { result.insert(result.end(), values.begin(), values.end()); }
static int larger(int a, int b) { return std::max(a, b); }
static int lesser(int a, int b) { return std::min(a, b); }
static bool is_less(int a, int b) { return a < b; }
static bool is_above(int a, int b) { return a > b; }
static bool is_tens_below(int a, int b) { return a / 10 < b / 10; }
static bool is_tens_above(int a, int b) { return a / 10 > b / 10; }
/* By `before`, equal elements in their order. */
static void expect_sorted(bool (*before)(int, int)) {
    std::vector<int> values = data;
    std::stable_sort(values.begin(), values.end(), before);
    expect(values);
}
static void expect_sorted_segments(bool (*before)(int, int)) {
    std::vector<int> values = data;
    for (int i = 0; i < SEGMENTS; i++) std::stable_sort(values.begin() + offsets[i], values.begin() + offsets[i + 1], before);
    expect(values);
}
static void make_keys() {
    for (int i = 0; i < N; i++) keys[i] = data[i] / 10;
}

template <class> static void forms_of_reduce() {
    const auto least = std::min_element(data.begin(), data.end()), most = std::max_element(data.begin(), data.end());
    CALL(DeviceReduce::Min(t, n, in, behind(), N));
    expect({*least});
    CALL(DeviceReduce::Max(t, n, in, behind(), N));
    expect({*most});
    CALL(DeviceReduce::ArgMax(t, n, in, behind(), behind() + 1, N));
    expect({*most, int(most - data.begin())});
}
template <class> static void forms_of_segmented_reduce() {
    CALL(DeviceSegmentedReduce::Sum(t, n, in, behind(), SEGMENTS, offsets, offsets + 1));
    each_segment([](auto first, auto last) { result.push_back(std::accumulate(first, last, 0)); });
    CALL(DeviceSegmentedReduce::Min(t, n, in, behind(), SEGMENTS, offsets, offsets + 1));
    each_segment([](auto first, auto last) { result.push_back(*std::min_element(first, last)); });
    CALL(DeviceSegmentedReduce::Reduce(t, n, in, behind(), SEGMENTS, offsets, offsets + 1, cuda::maximum<int>{}, 900));
    each_segment([](auto first, auto last) { result.push_back(std::max(900, *std::max_element(first, last))); });
    auto *found = reinterpret_cast<cub::KeyValuePair<int, int> *>(behind());
    CALL(DeviceSegmentedReduce::ArgMin(t, n, in, found, SEGMENTS, offsets, offsets + 1));
    each_segment([](auto first, auto last) {
        const auto least = std::min_element(first, last);
        expect({int(least - first), *least});
    });
}
template <class> static void forms_of_scan() {
    CALL(DeviceScan::InclusiveSum(t, n, in, behind(), N));
    std::inclusive_scan(data.begin(), data.end(), std::back_inserter(result));
    CALL(DeviceScan::ExclusiveScan(t, n, in, behind(), cuda::maximum<int>{}, -3, N));
    std::exclusive_scan(data.begin(), data.end(), std::back_inserter(result), -3, larger);
    CALL(DeviceScan::ExclusiveSumByKey(t, n, keys, in, behind(), N));
    each_segment([](auto first, auto last) { std::exclusive_scan(first, last, std::back_inserter(result), 0); });
    CALL(DeviceScan::InclusiveScanByKey(t, n, keys, in, behind(), cuda::minimum<int>{}, N));
    each_segment([](auto first, auto last) { std::inclusive_scan(first, last, std::back_inserter(result), lesser); });
}
template <class> static void forms_of_merge_sort() {
    const auto below = cuda::std::less<int>{};
    int *sorted = behind();
    std::copy(in, in + N, sorted);
    CALL(DeviceMergeSort::SortKeys(t, n, sorted, N, below));
    expect_sorted(is_less), sorted = behind();
    std::copy(in, in + N, sorted);
    CALL(DeviceMergeSort::StableSortKeys(t, n, sorted, N, is_below_by_tens()));
    expect_sorted(is_tens_below), sorted = behind();
    CALL(DeviceMergeSort::StableSortKeysCopy(t, n, in, sorted, N, is_below_by_tens()));
    expect_sorted(is_tens_below), sorted = behind();
    std::copy(in, in + N, sorted);
    for (int i = 0; i < N; i++) keys[i] = data[i] * N + i;
    CALL(DeviceMergeSort::SortPairs(t, n, keys, sorted, N, below));
    expect_sorted(is_less), sorted = behind();
    for (int i = 0; i < N; i++) keys[i] = data[i] * N + i;
    CALL(DeviceMergeSort::SortPairsCopy(t, n, keys, in, other, sorted, N, below));
    expect_sorted(is_less);
}
template <class> static void forms_of_radix_sort() {
    CALL(DeviceRadixSort::SortKeysDescending(t, n, in, behind(), N));
    expect_sorted(is_above);
    make_keys();
    CALL(DeviceRadixSort::SortPairs(t, n, keys, other, in, behind(), N));
    expect_sorted(is_tens_below);
    CALL(DeviceRadixSort::SortPairsDescending(t, n, keys, other, in, behind(), N));
    expect_sorted(is_tens_above);
}
template <class> static void forms_of_segmented_sort() {
    CALL(DeviceSegmentedSort::SortKeysDescending(t, n, in, behind(), N, SEGMENTS, offsets, offsets + 1));
    expect_sorted_segments(is_above);
    CALL(DeviceSegmentedSort::StableSortKeys(t, n, in, behind(), N, SEGMENTS, offsets, offsets + 1));
    expect_sorted_segments(is_less);
    CALL(DeviceSegmentedSort::StableSortKeysDescending(t, n, in, behind(), N, SEGMENTS, offsets, offsets + 1));
    expect_sorted_segments(is_above);
}
template <class> static void forms_of_segmented_sort_of_pairs() {
    for (int i = 0; i < N; i++) keys[i] = data[i] * N + (N - i);
    CALL(DeviceSegmentedSort::SortPairs(t, n, keys, other, in, behind(), N, SEGMENTS, offsets, offsets + 1));
    expect_sorted_segments(is_less);
    CALL(DeviceSegmentedSort::SortPairsDescending(t, n, keys, other, in, behind(), N, SEGMENTS, offsets, offsets + 1));
    expect_sorted_segments(is_above);
    make_keys();
    CALL(DeviceSegmentedSort::StableSortPairsDescending(t, n, keys, other, in, behind(), N, SEGMENTS, offsets, offsets + 1));
    expect_sorted_segments(is_tens_above);
}
template <class> static void forms_of_segmented_radix_sort() {
    CALL(DeviceSegmentedRadixSort::SortKeysDescending(t, n, in, behind(), N, SEGMENTS, offsets, offsets + 1));
    expect_sorted_segments(is_above);
    make_keys();
    CALL(DeviceSegmentedRadixSort::SortPairsDescending(t, n, keys, other, in, behind(), N, SEGMENTS, offsets, offsets + 1));
    expect_sorted_segments(is_tens_above);
}
template <class> static void forms_of_difference() {
    CALL(DeviceAdjacentDifference::SubtractRightCopy(t, n, in, behind(), N, cuda::std::minus<int>{}));
    for (int i = 0; i < N; i++) result.push_back(i + 1 < N ? data[i] - data[i + 1] : data[i]);
    int *values = behind();
    std::copy(in, in + N, values);
    CALL(DeviceAdjacentDifference::SubtractLeft(t, n, values, N, cuda::std::minus<int>{}));
    std::adjacent_difference(data.begin(), data.end(), std::back_inserter(result));
}
struct count_odd {
    int *odd;
    __device__ void operator()(int value) const {
        if (value & 1) atomicAdd(odd, 1);
    }
};
template <class> static void forms_of_for_each() {
    const int odd = int(std::count_if(data.begin(), data.end(), is_odd()));
    std::fill(out, out + 3, 0);
    CALL(DeviceFor::ForEach(t, n, in, in + N, count_odd{out}));
    CALL(DeviceFor::ForEachCopy(t, n, in, in + N, count_odd{out + 1}));
    CALL(DeviceFor::ForEachCopyN(t, n, in, N, count_odd{out + 2}));
    result = {odd, odd, odd};
}
