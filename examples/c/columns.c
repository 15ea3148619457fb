/* The mean of each column of a matrix, and the variance of all: exact, whatever the magnitudes.
 *
 *     cc columns.c $(pkg-config --cflags --libs warpfold) -o columns && ./columns */
#include <stdio.h>
#include <warpfold.h>

static int fail(wf_handle *handle, wf_error error) {
    fprintf(stderr, "columns: %s\n", wf_handle_message(handle));
    wf_handle_destroy(handle);
    return (int)error;
}

int main(void) {
    const double matrix[4][3] = {{1e16, 0.1, 1}, {1, 0.2, 2}, {-1e16, 0.3, 3}, {1, 0.4, 5}};
    const int64_t shape[] = {4, 3}, columns[] = {3};
    double means[3];
    wf_handle *handle;
    if (wf_handle_create("auto", &handle)) return 1;

    wf_array array = wf_array_nd(matrix, WF_F64, 2, shape, NULL);
    wf_reduction mean = wf_reduction_of(WF_MEAN), var = wf_reduction_of(WF_VAR);
    wf_groups rows = wf_groups_axes(1); /* dimension 0 is reduced */
    wf_output output = {.data = means, .type = WF_F64, .ndim = 1, .shape = columns};
    wf_error error = wf_reduce(handle, &mean, &array, NULL, &rows, &output);
    if (error) return fail(handle, error);
    printf("means %g %g %g\n", means[0], means[1], means[2]);

    wf_value all;
    var.ddof = 1;
    error = wf_reduce_value(handle, &var, &array, NULL, &all);
    if (error) return fail(handle, error);
    printf("variance %.17g\n", all.v.f64);
    wf_handle_destroy(handle);
    return 0;
}
