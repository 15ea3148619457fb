// Each lane a piece of its own
//
// A warp adds up a row: each lane a piece, then all pieces by shuffles.  In every step the lanes read words that lie far
// apart, a line of 128 bytes for each.  Deal the elements out in another way.
//
// Report: gate

__global__ void row_sums(const int *in, int *out, int rows, int cols)
{
    const int *row = in + blockIdx.x * cols;
    int lane = threadIdx.x, piece = (cols + 31) / 32, sum = 0;
    for (int c = lane * piece; c < min(cols, (lane + 1) * piece); c++)
        sum += row[c];

    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, d);
    if (lane == 0)
        out[blockIdx.x] = sum;
}
