/* What exact sums over ranks cost beside plain ones: MPI_SUM, the binned sums of ReproBLAS, and warpfold_mpi.h, in turns.
 *
 *     mpicc -O2 -Iinclude bench/mpi/allreduce.c build/libwarpfold.a -lm -lpthread -ldl -o allreduce
 *     mpirun -n 8 ./allreduce [ROUNDS [BYTES-OF-THE-LONGEST-ARRAY]]
 *
 * -DREPROBLAS and the paths of ReproBLAS compare with that library, too: its all-reduce, and its sum of a rank's share.
 *
 * Prints, of one number for each rank, the median time of a call and the median over rounds of its ratio to MPI_SUM's,
 * and the error of the sum; of arrays, element by element, the same with the bandwidth. */
#include "warpfold_mpi.h"

#include <math.h>

enum { CALLS = 10, ROUNDS_MAX = 1001, SHARE = 20000 };

static int rank, size, rounds = 101;
static wf_handle *handle;

/* ---- binned sums (Demmel, Nguyen, "Parallel reproducible summation", 2015): three bins of 40 bits, the highest of which
 * the largest magnitude chooses.  What lies below is lost: reproducible, not correctly rounded ---- */

enum { BINS = 3, WIDTH = 40, LOWEST = -1074 };

struct binned {
    double bin; /* of the first: multiples of 2^(WIDTH * bin + LOWEST), or -1: nothing yet */
    double primary[BINS], carry[BINS];
};

static double anchor(double bin) {
    return ldexp(1.5, (int)bin * WIDTH + LOWEST + 52);
}

static void binned_clear(struct binned *sum) {
    memset(sum, 0, sizeof *sum);
    sum->bin = -1;
}

static void binned_raise(struct binned *sum, double bin) {
    const int by = sum->bin < 0 ? BINS : (int)(bin - sum->bin);
    if (by <= 0) return;
    for (int k = BINS - 1; k >= 0; k--) {
        sum->primary[k] = k >= by ? sum->primary[k - by] : anchor(bin - k);
        sum->carry[k] = k >= by ? sum->carry[k - by] : 0;
    }
    sum->bin = bin;
}

/* Keeps what is in a bin small, and the rest as its carry. */
static void binned_renorm(struct binned *sum) {
    for (int k = 0; k < BINS; k++) {
        const double unit = ldexp(1, (int)(sum->bin - k) * WIDTH + LOWEST + 50), middle = anchor(sum->bin - k);
        const double moved = floor((sum->primary[k] - middle) / unit);
        sum->primary[k] -= moved * unit;
        sum->carry[k] += moved;
    }
}

static void binned_add(struct binned *sum, double x) {
    const double bin = x == 0 ? 0 : floor((double)(ilogb(x) - LOWEST) / WIDTH) + 1;
    binned_raise(sum, bin < BINS - 1 ? BINS - 1 : bin);
    for (int k = 0; k < BINS; k++) {
        const volatile double q = sum->primary[k] + x;
        x -= q - sum->primary[k];
        sum->primary[k] = q;
    }
}

static void binned_merge(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *count; i++) {
        struct binned a = ((struct binned *)in)[i], *b = (struct binned *)inout + i;
        binned_raise(&a, b->bin);
        binned_raise(b, a.bin);
        for (int k = 0; k < BINS; k++) {
            b->primary[k] += a.primary[k] - anchor(a.bin - k);
            b->carry[k] += a.carry[k];
        }
        binned_renorm(b);
    }
}

static double binned_value(const struct binned *sum) {
    double value = 0;
    for (int k = BINS - 1; k >= 0; k--)
        value += (sum->primary[k] - anchor(sum->bin - k)) +
                 sum->carry[k] * ldexp(1, (int)(sum->bin - k) * WIDTH + LOWEST + 50);
    return value;
}

/* ---- the library itself ---- */

#ifdef REPROBLAS
#include <binned.h>
#include <binnedBLAS.h>
#include <binnedMPI.h>
#endif

/* ---- what is compared ---- */

static double share[SHARE], plain_value;
static struct binned binned_share, binned_sum;
static MPI_Datatype binned_type;
static MPI_Op binned_op;
static wf_accumulator *exact; /* reduced again and again: its elements become as many times more as there are ranks */

static void call_plain(int i) {
    (void)i;
    MPI_Allreduce(&plain_value, &(double){0}, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void call_binned(int i) {
    (void)i;
    MPI_Allreduce(&binned_share, &binned_sum, 1, binned_type, binned_op, MPI_COMM_WORLD);
}

static void call_exact(int i) {
    (void)i;
    if (wf_mpi_allreduce(handle, exact, MPI_COMM_WORLD)) MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The message of wf_mpi_allreduce without the rest. */
static void call_frame(int i) {
    static int64_t frame[WF_MPI_FRAME_WORDS];
    (void)i;
    MPI_Allreduce(MPI_IN_PLACE, frame, WF_MPI_FRAME_WORDS, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
}

#ifdef REPROBLAS
static double_binned *library_share, *library_sum;

static void call_library(int i) {
    (void)i;
    MPI_Allreduce(library_share, library_sum, 1, binnedMPI_DOUBLE_BINNED(BINS), binnedMPI_DBDBADD(BINS), MPI_COMM_WORLD);
}

static void sum_by_library(int i) {
    (void)i;
    binned_dbsetzero(BINS, library_share);
    binnedBLAS_dbdsum(BINS, SHARE, share, 1, library_share);
}

static void sum_exactly(int i) {
    const wf_array array = wf_array_vector(share, WF_F64, SHARE);
    (void)i;
    if (wf_accumulator_add(handle, exact, &array, NULL, NULL)) MPI_Abort(MPI_COMM_WORLD, 1);
}
#endif

/* Seconds of a call on the slowest rank; one before them finds everything where it will be. */
static double time_calls(void (*call)(int), int calls) {
    call(0);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (int i = 0; i < calls; i++) call(i);
    double mine = (MPI_Wtime() - start) / calls, longest;
    MPI_Allreduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return longest;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}

static wf_accumulator *make_exact(const double *data, int64_t count) {
    const wf_reduction sum = {.nbytes = sizeof sum, .op = WF_SUM};
    const wf_array array = wf_array_vector(data, WF_F64, count);
    wf_accumulator *made = NULL;
    if (wf_accumulator_create(handle, &sum, WF_F64, 0, NULL, &made) ||
        wf_accumulator_add(handle, made, &array, NULL, NULL))
        MPI_Abort(MPI_COMM_WORLD, 1);
    return made;
}

/* ---- one number for each rank ---- */

static double value_of(wf_accumulator *sum) {
    wf_value value;
    if (wf_accumulator_value(handle, sum, WF_SUM, &value)) MPI_Abort(MPI_COMM_WORLD, 1);
    return value.v.f64;
}

/* Whoever comes first in a round comes last in the next. */
static void compare_scalars(void) {
    static void (*const calls[])(int) = {call_plain, call_binned, call_exact, call_frame, call_plain};
    enum { PLAIN, BINNED, EXACT, FRAME, AGAIN, KINDS };
    static double time[KINDS][ROUNDS_MAX];
    double result, ratio[KINDS];
    for (int r = 0; r < rounds; r++) {
        exact = make_exact(share, SHARE);
        for (int k = 0; k < KINDS; k++) time[(k + r) % KINDS][r] = time_calls(calls[(k + r) % KINDS], CALLS);
        for (int k = 1; k < KINDS; k++) time[k][r] /= time[PLAIN][r];
        wf_accumulator_destroy(exact);
    }
    exact = make_exact(share, SHARE);
    call_exact(0);
    const double exact_value = value_of(exact);
    wf_accumulator_destroy(exact);
    MPI_Allreduce(&plain_value, &result, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int k = 0; k < KINDS; k++) ratio[k] = median(time[k], rounds);
    if (rank) return;
    printf("one f64, %d ranks            time/MPI_SUM   relative error\n", size);
    printf("  MPI_SUM (%5.1f us)               %6.2f         %.1e\n", 1e6 * ratio[PLAIN], ratio[AGAIN],
           fabs(result - exact_value) / fabs(exact_value));
    printf("  binned sums, as ReproBLAS       %6.2f         %.1e\n", ratio[BINNED],
           fabs(binned_value(&binned_sum) - exact_value) / fabs(exact_value));
    printf("  wf_mpi_allreduce                %6.2f         0 (correctly rounded)\n", ratio[EXACT]);
    printf("    of which its message of %d bytes %5.2f\n", WF_MPI_FRAME_WORDS * 8, ratio[FRAME]);
}

#ifdef REPROBLAS
static double error_of_library(void) {
    wf_accumulator *whole = make_exact(share, SHARE);
    sum_by_library(0);
    call_library(0);
    if (wf_mpi_allreduce(handle, whole, MPI_COMM_WORLD)) MPI_Abort(MPI_COMM_WORLD, 1);
    const double expected = value_of(whole);
    wf_accumulator_destroy(whole);
    return fabs(binned_ddbconv(BINS, library_sum) - expected) / fabs(expected);
}

static void compare_with_library(void) {
    static double ours[ROUNDS_MAX], sums[ROUNDS_MAX];
    const double first = share[0], second = share[1], large = ldexp(1, 90);
    library_share = binned_dballoc(BINS);
    library_sum = binned_dballoc(BINS);
    share[0] = large;
    share[1] = -large;
    const double error_of_wide = error_of_library();
    share[0] = first;
    share[1] = second;
    const double error = error_of_library();
    exact = make_exact(share, SHARE);
    for (int r = 0; r < rounds; r++) {
        sums[r] = 1 / time_calls(sum_by_library, CALLS);
        sums[r] *= time_calls(sum_exactly, CALLS);
        ours[r] = time_calls(call_library, CALLS) / time_calls(call_plain, CALLS);
    }
    wf_accumulator_destroy(exact);
    const double ratio = median(ours, rounds), ratio_sums = median(sums, rounds);
    free(library_share);
    free(library_sum);
    if (rank) return;
    printf("  ReproBLAS                       %6.2f         %.1e (with two large numbers that cancel: %.1e)\n",
           ratio, error, error_of_wide);
    printf("  our sum of the share takes      %6.2f times ReproBLAS' time\n", ratio_sums);
}
#endif

/* ---- arrays ---- */

static char *array_data, *array_results;
static int64_t array_count;
static wf_type array_type;

static void call_plain_array(int i) {
    (void)i;
    MPI_Allreduce(array_data, array_results, (int)array_count, array_type == WF_F64 ? MPI_DOUBLE : MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
}

static void call_exact_array(int i) {
    (void)i;
    const wf_reduction sum = {.nbytes = sizeof sum, .op = WF_SUM};
    const wf_array array = wf_array_vector(array_data, array_type, array_count);
    wf_output output = {.data = array_results, .type = array_type, .ndim = 1, .shape = &array_count};
    if (wf_mpi_allreduce_array(handle, &sum, &array, &output, MPI_COMM_WORLD)) MPI_Abort(MPI_COMM_WORLD, 1);
}

static void compare_arrays(wf_type type, int64_t nbytes) {
    double ours[ROUNDS_MAX], plain[ROUNDS_MAX];
    const int few = rounds / 8 + 3, calls = nbytes < 1 << 18 ? CALLS : 1;
    array_type = type;
    array_count = nbytes / (int64_t)wf_type_nbytes(type);
    array_data = malloc((size_t)nbytes);
    array_results = malloc((size_t)nbytes);
    for (int64_t i = 0; i < array_count; i++) {
        if (type == WF_F64)
            ((double *)array_data)[i] = share[i % SHARE];
        else
            ((float *)array_data)[i] = (float)share[i % SHARE];
    }
    for (int r = 0; r < few; r++) {
        if (r % 2) ours[r] = time_calls(call_exact_array, calls);
        plain[r] = time_calls(call_plain_array, calls);
        if (r % 2 == 0) ours[r] = time_calls(call_exact_array, calls);
        ours[r] = plain[r] / ours[r];
    }
    const double ratio = median(ours, few), time = median(plain, few);
    if (!rank)
        printf("array of %s, %8lld KiB   MPI_SUM %7.1f MB/s a rank   ours %.2f of its bandwidth\n", wf_type_name(type),
               (long long)nbytes >> 10, (double)nbytes / time / 1e6, ratio);
    free(array_data);
    free(array_results);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1) rounds = atoi(argv[1]);
    const int64_t most = argc > 2 ? atoll(argv[2]) : 64 << 20;
    if (rounds < 1 || rounds > ROUNDS_MAX || wf_handle_create("cpu", &handle)) MPI_Abort(MPI_COMM_WORLD, 1);
    wf_handle_set_threads(handle, 1);
    MPI_Type_contiguous(sizeof(struct binned), MPI_BYTE, &binned_type);
    MPI_Type_commit(&binned_type);
    MPI_Op_create(binned_merge, 1, &binned_op);
    binned_clear(&binned_share);
    uint64_t state = (uint64_t)rank + 1;
    for (int i = 0; i < SHARE; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        share[i] = ldexp((double)(int64_t)state, (int)(state >> 8 & 15) - 70);
        plain_value += share[i];
        binned_add(&binned_share, share[i]);
        if (i % 512 == 0) binned_renorm(&binned_share);
    }
    binned_renorm(&binned_share);
    compare_scalars();
#ifdef REPROBLAS
    compare_with_library();
#endif
    for (int64_t nbytes = 1 << 10; nbytes <= most; nbytes <<= 2) {
        compare_arrays(WF_F64, nbytes);
        compare_arrays(WF_F32, nbytes);
    }
    wf_handle_destroy(handle);
    MPI_Finalize();
    return 0;
}
