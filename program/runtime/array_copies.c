/* Copies of rows to and from CUDA arrays; offsets and widths are bytes. */
#include "arrays.h"

static char *place_in(const struct cudaArray *array, size_t x, size_t y) {
    return (char *)array->memory + y * array->pitch + x;
}

static cudaError_t check_rows(const struct cudaArray *array, size_t x, size_t y, size_t width, size_t height) {
    if (!array) return cudaErrorInvalidResourceHandle;
    const size_t nbytes = array_memory(array).xsize, rows = array_memory(array).ysize;
    bool is_within = x <= nbytes && width <= nbytes - x && y <= rows && height <= rows - y;
    return is_within ? cudaSuccess : cudaErrorInvalidValue;
}

/* The two sides of a copy: NULL: plain memory, which is in the rows already. */
struct sides {
    const struct cudaArray *to, *from;
    size_t to_x, to_y, from_x, from_y;
};

static cudaError_t set_sides(struct rows *rows, const struct sides *sides) {
    cudaError_t error = cudaSuccess;
    if (sides->to) error = check_rows(sides->to, sides->to_x, sides->to_y, rows->width, rows->height);
    if (sides->from && !error)
        error = check_rows(sides->from, sides->from_x, sides->from_y, rows->width, rows->height);
    if (error) return error;
    if (sides->to) rows->to = place_in(sides->to, sides->to_x, sides->to_y), rows->to_pitch = sides->to->pitch;
    if (sides->from)
        rows->from = place_in(sides->from, sides->from_x, sides->from_y), rows->from_pitch = sides->from->pitch;
    return cudaSuccess;
}

static cudaError_t copy_sides(struct rows rows, const struct sides *sides) {
    cudaError_t error = set_sides(&rows, sides);
    return error ? error : copy_rows(&rows);
}

static cudaError_t copy_sides_in(cudaStream_t stream, struct rows rows, const struct sides *sides) {
    cudaError_t error = set_sides(&rows, sides);
    return error ? error : copy_rows_in(stream, &rows);
}

#define TO_ARRAY (struct rows){NULL, from, 0, pitch, width, height, kind}, &(struct sides){to, NULL, x, y, 0, 0}
#define FROM_ARRAY (struct rows){to, NULL, pitch, 0, width, height, kind}, &(struct sides){NULL, from, 0, 0, x, y}

API cudaMemcpy2DToArray(struct cudaArray *to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
                        size_t height, enum cudaMemcpyKind kind) {
    return CALL_IN_TURN(copy_sides(TO_ARRAY));
}
ALSO(cudaMemcpy2DToArray, _ptds)

API cudaMemcpy2DToArrayAsync(struct cudaArray *to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
                             size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
    return CALL(copy_sides_in(stream, TO_ARRAY));
}
ALSO(cudaMemcpy2DToArrayAsync, _ptsz)

API cudaMemcpy2DFromArray(void *to, size_t pitch, const struct cudaArray *from, size_t x, size_t y, size_t width,
                          size_t height, enum cudaMemcpyKind kind) {
    return CALL_IN_TURN(copy_sides(FROM_ARRAY));
}
ALSO(cudaMemcpy2DFromArray, _ptds)

API cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, const struct cudaArray *from, size_t x, size_t y, size_t width,
                               size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
    return CALL(copy_sides_in(stream, FROM_ARRAY));
}
ALSO(cudaMemcpy2DFromArrayAsync, _ptsz)

API cudaMemcpy2DArrayToArray(struct cudaArray *to, size_t to_x, size_t to_y, const struct cudaArray *from,
                             size_t from_x, size_t from_y, size_t width, size_t height, enum cudaMemcpyKind kind) {
    return CALL_IN_TURN(copy_sides((struct rows){.width = width, .height = height, .kind = kind},
                                   &(struct sides){to, from, to_x, to_y, from_x, from_y}));
}
ALSO(cudaMemcpy2DArrayToArray, _ptds)

/* Bytes that fill rows one after another, from the middle of one on. */
struct run {
    const struct cudaArray *array;
    size_t x, y;
    char *plain;
    size_t nbytes;
    bool is_to_array;
    enum cudaMemcpyKind kind;
};

/* The part of it that its first row has. */
static struct rows first_row(const struct run *run) {
    const size_t width = array_memory(run->array).xsize;
    const size_t length = run->x < width && run->nbytes > width - run->x ? width - run->x : run->nbytes;
    return (struct rows){.to = run->plain, .from = run->plain, length, length, length, 1, run->kind};
}

static cudaError_t copy_row_now(cudaStream_t stream, const struct rows *row) {
    (void)stream;
    return copy_rows(row);
}

static cudaError_t copy_run(struct run run, cudaError_t (*copy_row)(cudaStream_t, const struct rows *),
                            cudaStream_t stream) {
    cudaError_t error = run.array ? cudaSuccess : cudaErrorInvalidResourceHandle;
    while (run.nbytes && !error) {
        struct rows row = first_row(&run);
        const struct sides sides = run.is_to_array ? (struct sides){run.array, NULL, run.x, run.y, 0, 0}
                                                   : (struct sides){NULL, run.array, 0, 0, run.x, run.y};
        error = set_sides(&row, &sides);
        if (!error) error = copy_row(stream, &row);
        run = (struct run){run.array, 0, run.y + 1, run.plain + row.width, run.nbytes - row.width, run.is_to_array, run.kind};
    }
    return error;
}

#define RUN_TO_ARRAY (struct run){to, x, y, (char *)(uintptr_t)from, nbytes, true, kind}
#define RUN_FROM_ARRAY (struct run){from, x, y, to, nbytes, false, kind}

API cudaMemcpyToArray(struct cudaArray *to, size_t x, size_t y, const void *from, size_t nbytes,
                      enum cudaMemcpyKind kind) {
    return CALL_IN_TURN(copy_run(RUN_TO_ARRAY, copy_row_now, NULL));
}
ALSO(cudaMemcpyToArray, _ptds)

API cudaMemcpyToArrayAsync(struct cudaArray *to, size_t x, size_t y, const void *from, size_t nbytes,
                           enum cudaMemcpyKind kind, cudaStream_t stream) {
    return CALL(copy_run(RUN_TO_ARRAY, copy_rows_in, stream));
}
ALSO(cudaMemcpyToArrayAsync, _ptsz)

API cudaMemcpyFromArray(void *to, const struct cudaArray *from, size_t x, size_t y, size_t nbytes,
                        enum cudaMemcpyKind kind) {
    return CALL_IN_TURN(copy_run(RUN_FROM_ARRAY, copy_row_now, NULL));
}
ALSO(cudaMemcpyFromArray, _ptds)

API cudaMemcpyFromArrayAsync(void *to, const struct cudaArray *from, size_t x, size_t y, size_t nbytes,
                             enum cudaMemcpyKind kind, cudaStream_t stream) {
    return CALL(copy_run(RUN_FROM_ARRAY, copy_rows_in, stream));
}
ALSO(cudaMemcpyFromArrayAsync, _ptsz)
