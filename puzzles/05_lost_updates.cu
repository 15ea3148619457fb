// Lost updates
//
// `bins[x]++` reads, adds and writes.  Two threads that read the same count write the same count: one of them is lost.
//
// Report: race

__global__ void histogram(const int *in, int *bins, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        bins[in[i]]++;
}
