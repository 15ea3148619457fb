// CUB and Thrust, as the toolkit brings them: sums, a sort and a scan.
#include <cstdio>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <thrust/device_vector.h>
#include <thrust/reduce.h>

int main() {
    const int count = 3000;
    thrust::device_vector<int> data(count, 2), sums(count);
    int *result, host = 0, last = 0;
    void *scratch = nullptr;
    size_t nbytes = 0;
    if (cudaMalloc(&result, sizeof *result)) return 1;
    int *input = thrust::raw_pointer_cast(data.data()), *output = thrust::raw_pointer_cast(sums.data());
    if (cub::DeviceReduce::Sum(scratch, nbytes, input, result, count)) return 2;
    if (cudaMalloc(&scratch, nbytes)) return 3;
    if (cub::DeviceReduce::Sum(scratch, nbytes, input, result, count)) return 4;
    if (cudaMemcpy(&host, result, sizeof host, cudaMemcpyDeviceToHost)) return 5;
    cudaFree(scratch);
    scratch = nullptr;
    if (cub::DeviceScan::InclusiveSum(scratch, nbytes, input, output, count)) return 6;
    if (cudaMalloc(&scratch, nbytes)) return 7;
    if (cub::DeviceScan::InclusiveSum(scratch, nbytes, input, output, count)) return 8;
    last = sums[count - 1];
    printf("%d %d %d\n", host, last, thrust::reduce(data.begin(), data.end()));
    cudaFree(scratch);
    cudaFree(result);
    return 0;
}
