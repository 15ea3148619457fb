// Stands in for the products of cuBLAS that others' programs call beside their own kernels, where lab/foreign runs them: plain
// sums in f32, in the order of the depth.
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

/* Column by column; of each batch one after another. */
struct matrix {
    void *elements;
    int leading;
    long long batch;
    bool is_transposed;
};

/* Block (x, y, z): 16 x 16 elements of c of batch z. */
template <class T> __global__ void multiply(matrix a, matrix b, matrix c, int m, int n, int k, float alpha, float beta) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
    const T *left = static_cast<const T *>(a.elements) + blockIdx.z * a.batch,
            *right = static_cast<const T *>(b.elements) + blockIdx.z * b.batch;
    T *to = static_cast<T *>(c.elements) + blockIdx.z * c.batch + (size_t)column * c.leading + row;
    float sum = 0;
    if (row >= m || column >= n) return;
    for (int i = 0; i < k; i++)
        sum += (float)left[a.is_transposed ? (size_t)row * a.leading + i : (size_t)i * a.leading + row] *
               (float)right[b.is_transposed ? (size_t)i * b.leading + column : (size_t)column * b.leading + i];
    *to = (T)(alpha * sum + (beta == 0 ? 0.f : beta * (float)*to));
}

template <class T>
static cublasStatus_t start(matrix a, matrix b, matrix c, int m, int n, int k, const void *alpha, const void *beta, int batches) {
    const dim3 block(16, 16), grid((m + 15) / 16, (n + 15) / 16, batches);
    multiply<T><<<grid, block>>>(a, b, c, m, n, k, *static_cast<const float *>(alpha), *static_cast<const float *>(beta));
    return cudaGetLastError() ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

static matrix made(const void *elements, int leading, long long batch, cublasOperation_t operation) {
    return {const_cast<void *>(elements), leading, batch, operation != CUBLAS_OP_N};
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t, cublasOperation_t of_a, cublasOperation_t of_b, int m, int n, int k,
                                         const float *alpha, const float *a, int lda, long long batch_a, const float *b, int ldb,
                                         long long batch_b, const float *beta, float *c, int ldc, long long batch_c, int batches) {
    return start<float>(made(a, lda, batch_a, of_a), made(b, ldb, batch_b, of_b), made(c, ldc, batch_c, CUBLAS_OP_N), m, n, k,
                        alpha, beta, batches);
}

cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t of_a, cublasOperation_t of_b, int m, int n, int k,
                              const float *alpha, const float *a, int lda, const float *b, int ldb, const float *beta, float *c,
                              int ldc) {
    return cublasSgemmStridedBatched(handle, of_a, of_b, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1);
}

/* A vector is a row whose neighbours lie `incx` apart. */
cublasStatus_t cublasSgemv_v2(cublasHandle_t, cublasOperation_t of_a, int rows, int columns, const float *alpha, const float *a,
                              int lda, const float *x, int incx, const float *beta, float *y, int incy) {
    const int m = of_a == CUBLAS_OP_N ? rows : columns, k = of_a == CUBLAS_OP_N ? columns : rows;
    return start<float>(made(x, incx, 0, CUBLAS_OP_N), made(a, lda, 0, of_a == CUBLAS_OP_N ? CUBLAS_OP_T : CUBLAS_OP_N),
                        made(y, incy, 0, CUBLAS_OP_N), 1, m, k, alpha, beta, 1);
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t, cublasOperation_t of_a, cublasOperation_t of_b, int m, int n, int k,
                                          const void *alpha, const void *a, cudaDataType type, int lda, long long batch_a,
                                          const void *b, cudaDataType type_b, int ldb, long long batch_b, const void *beta, void *c,
                                          cudaDataType type_c, int ldc, long long batch_c, int batches, cublasComputeType_t sums,
                                          cublasGemmAlgo_t) {
    const auto begin = type == CUDA_R_32F    ? start<float>
                       : type == CUDA_R_16BF ? start<__nv_bfloat16>
                       : type == CUDA_R_16F  ? start<__half>
                                             : nullptr;
    if (!begin || type_b != type || type_c != type || sums == CUBLAS_COMPUTE_16F) return CUBLAS_STATUS_NOT_SUPPORTED;
    return begin(made(a, lda, batch_a, of_a), made(b, ldb, batch_b, of_b), made(c, ldc, batch_c, CUBLAS_OP_N), m, n, k, alpha,
                 beta, batches);
}
