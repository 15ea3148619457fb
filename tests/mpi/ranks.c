/* What warpfold_mpi.h promises, asked of however many ranks this is started with: every rank's bytes are those of one
 * process that has all elements.  Prints one line on rank 0; ends with status 1 where a rank saw anything else. */
#include "warpfold_mpi.h"

#include <math.h>

enum { COUNT = 400, SAVED_NBYTES = 1 << 20 };

static int rank, size, failures;
static MPI_Comm comm;
static wf_handle *handle;
enum { COLUMNS = 3 };

static uint64_t data_a[COUNT * COLUMNS], data_b[COUNT * COLUMNS];
static char one_saved[SAVED_NBYTES], all_saved[SAVED_NBYTES];

static void expect(int condition, const char *what, wf_op op, wf_type type) {
    if (condition) return;
    failures++;
    fprintf(stderr, "rank %d of %d: %s of %s: %s (%s)\n", rank, size, wf_op_name(op), wf_type_name(type), what,
            wf_handle_message(handle));
}

static uint64_t next_random(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state ^ *state >> 29;
}

/* Shares are uneven, and every fourth is empty. */
static int64_t share_begin(int of) {
    int64_t weight = 0, total = 0;
    for (int i = 0; i < size; i++) {
        int64_t each = i % 4 == 3 ? 0 : 1 + i * i % 7;
        if (i < of) weight += each;
        total += each;
    }
    return COUNT * weight / total;
}

static wf_array part(const uint64_t *data, wf_type type, int64_t begin, int64_t end) {
    return wf_array_vector((const char *)data + (size_t)begin * wf_type_nbytes(type), type, end - begin);
}

static wf_accumulator *make(const wf_reduction *asked, wf_type type, int64_t begin, int64_t end) {
    wf_reduction reduction = *asked;
    wf_accumulator *made = NULL;
    reduction.first_index = begin;
    wf_array a = part(data_a, type, begin, end), b = part(data_b, type, begin, end);
    if (wf_accumulator_create(handle, &reduction, type, 0, NULL, &made)) return NULL;
    wf_error error = wf_accumulator_add(handle, made, &a, asked->op == WF_DOT ? &b : NULL, NULL);
    expect(!error || error == WF_ERROR_NAN, "add", asked->op, type);
    return made;
}

/* The same of the columns of a matrix. */
static wf_accumulator *make_shaped(const wf_reduction *asked, wf_type type, int64_t begin, int64_t end) {
    const int64_t shape[2] = {end - begin, COLUMNS};
    wf_reduction reduction = *asked;
    wf_accumulator *made = NULL;
    reduction.first_index = begin;
    const wf_array a = wf_array_nd(part(data_a, type, COLUMNS * begin, 0).data, type, 2, shape, NULL);
    const wf_array b = wf_array_nd(part(data_b, type, COLUMNS * begin, 0).data, type, 2, shape, NULL);
    const wf_groups groups = wf_groups_axes(1);
    if (wf_accumulator_create(handle, &reduction, type, 1, shape + 1, &made)) return NULL;
    wf_error error = wf_accumulator_add(handle, made, &a, asked->op == WF_DOT ? &b : NULL, &groups);
    expect(!error || error == WF_ERROR_NAN, "add", asked->op, type);
    return made;
}

/* More words than lie on the stack. */
static wf_accumulator *make_many(const wf_reduction *asked, wf_type type, int64_t begin, int64_t end) {
    const int64_t shape[1] = {COUNT};
    const wf_array a = part(data_a, type, 0, COUNT);
    const wf_groups groups = wf_groups_axes(0);
    wf_accumulator *made = NULL;
    (void)begin;
    (void)end;
    expect(!wf_accumulator_create(handle, asked, type, 1, shape, &made), "create", asked->op, type);
    expect(!wf_accumulator_add(handle, made, &a, NULL, &groups), "add", asked->op, type);
    return made;
}

static int are_equal(const wf_accumulator *one, const wf_accumulator *other) {
    size_t nbytes = 0, other_nbytes = 0;
    wf_error error = wf_accumulator_save(handle, one, one_saved, SAVED_NBYTES, &nbytes);
    if (!error) error = wf_accumulator_save(handle, other, all_saved, SAVED_NBYTES, &other_nbytes);
    return !error && nbytes == other_nbytes && !memcmp(one_saved, all_saved, nbytes);
}

typedef wf_accumulator *maker(const wf_reduction *, wf_type, int64_t, int64_t);

static void check_fold(maker *make_one, wf_op op, wf_type type, wf_nan nan) {
    const int64_t begin = share_begin(rank), end = share_begin(rank + 1);
    wf_reduction reduction = {.nbytes = sizeof reduction, .op = op, .nan = nan};
    wf_accumulator *whole = make_one(&reduction, type, 0, COUNT);
    if (!whole) return; /* no such reduction */
    wf_accumulator *mine = make_one(&reduction, type, begin, end), *same = make_one(&reduction, type, begin, end);
    expect(!wf_mpi_reduce(handle, same, size - 1, comm), "reduce", op, type);
    expect(are_equal(same, rank == size - 1 ? whole : mine), "reduced", op, type);
    expect(!wf_mpi_allreduce(handle, mine, comm), "all-reduce", op, type);
    expect(are_equal(mine, whole), "all-reduced", op, type);
    wf_accumulator_destroy(whole);
    wf_accumulator_destroy(mine);
    wf_accumulator_destroy(same);
}

static void check_folds(void) {
    static const wf_type types[] = {WF_F64, WF_F32, WF_F16, WF_I8, WF_U64};
    for (int t = 0; t < 5; t++)
        for (wf_op op = WF_SUM; op <= WF_STATS; op = (wf_op)(op + 1)) {
            check_fold(make, op, types[t], (op + t) % 3 == 2 ? WF_NAN_ERROR : (wf_nan)((op + t) % 3));
            if (t % 2 == 0) check_fold(make_shaped, op, types[t], WF_NAN_OMIT);
        }
}

/* ---- arrays ---- */

static void fill(char *data, wf_type type, int64_t count, int of) {
    uint64_t state = (uint64_t)of + 99;
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits = next_random(&state);
        if (type == WF_I32) bits &= 0xfffff;
        memcpy(data + (size_t)i * wf_type_nbytes(type), &bits, wf_type_nbytes(type));
    }
}

static void check_array(wf_op op, wf_type type, int64_t count) {
    const size_t nbytes = (size_t)count * wf_type_nbytes(type);
    const int64_t shape[2] = {size, count};
    char *rows = malloc((size_t)size * nbytes + 1);
    const wf_type result_type = wf_op_result_type(op, type);
    const size_t results_nbytes = (size_t)count * wf_type_nbytes(result_type);
    char *expected = malloc(results_nbytes + 1), *results = malloc(results_nbytes + 1);
    wf_reduction reduction = {.nbytes = sizeof reduction, .op = op};
    for (int i = 0; i < size; i++) fill(rows + (size_t)i * nbytes, type, count, i);
    const wf_array all = wf_array_nd(rows, type, 2, shape, NULL);
    const wf_array mine = wf_array_vector(rows + (size_t)rank * nbytes, type, count);
    const wf_groups groups = wf_groups_axes(1);
    wf_output output = {.data = expected, .type = result_type, .ndim = 1, .shape = shape + 1};
    expect(!wf_reduce(handle, &reduction, &all, NULL, &groups, &output), "reduce rows", op, type);
    output.data = results;
    expect(!wf_mpi_allreduce_array(handle, &reduction, &mine, &output, comm), "array", op, type);
    expect(!memcmp(results, expected, results_nbytes), "array's results", op, type);
    free(rows);
    free(expected);
    free(results);
}

static void check_arrays(void) {
    static const int64_t counts[] = {0, 1, 7, 300, 1000, 1030, 2100}; /* in one slot, in two, in boxes */
    for (int i = 0; i < 7; i++) {
        check_array(WF_SUM, WF_F32, counts[i]);
        check_array(WF_SUM, WF_I32, counts[i]);
        check_array(WF_ARGMAX, WF_F64, counts[i]);
        check_array(WF_MEAN, WF_BF16, counts[i]);
        check_array(WF_PROD, WF_F32, counts[i]);
    }
    for (wf_op op = WF_SUM; op < WF_STATS; op = (wf_op)(op + 1)) {
        if (op != WF_DOT && wf_op_result_type(op, WF_F64)) check_array(op, WF_F64, 5);
        if (op != WF_DOT && wf_op_result_type(op, WF_U8)) check_array(op, WF_U8, 2050);
    }
    check_array(WF_SUM, WF_F32, 40001);  /* one block, too long for slots */
    check_array(WF_SUM, WF_F64, 600001); /* more than one block */
}

/* One rank's handle may use a GPU, whose errors others would not have: no array is short then. */
static void check_unlike_handles(void) {
    wf_handle *cpu = handle;
    if (rank == size / 2) expect(!wf_handle_create("auto", &handle), "create", WF_OP_NONE, WF_TYPE_DEFAULT);
    check_array(WF_SUM, WF_F32, 100);
    check_array(WF_ARGMAX, WF_F64, 0);
    check_array(WF_MEAN, WF_F64, 500);
    if (handle != cpu) wf_handle_destroy(handle);
    handle = cpu;
}

/* ---- errors: every rank learns of them, and nothing changes ---- */

static void expect_error(wf_error error, wf_error wanted, const char *words, const char *what) {
    expect(error == wanted, what, WF_OP_NONE, WF_TYPE_DEFAULT);
    expect(strstr(wf_handle_message(handle), words) != NULL, what, WF_OP_NONE, WF_TYPE_DEFAULT);
}

/* Sums that fit no i8, on one piece. */
static void check_range(int64_t count) {
    const wf_reduction sum = {.nbytes = sizeof sum, .op = WF_SUM, .result_type = WF_I8};
    int8_t *bytes = calloc(2, (size_t)count);
    const wf_array ours = wf_array_vector(bytes, WF_I8, count);
    const wf_output output = {.data = bytes + count};
    bytes[size > 1 ? (count - 1) / size : 5] = 127;
    bytes[count / 8 * 5] = (int8_t)(rank ? 0 : 5);
    wf_error error = wf_mpi_allreduce_array(handle, &sum, &ours, &output, comm);
    expect(error == (size > 1 ? WF_ERROR_RANGE : WF_OK), "range", WF_SUM, WF_I8);
    free(bytes);
}

/* On one rank: a reduction, a length short or long. */
static void check_arrays_that_differ(int odd) {
    static double values[3000], results[3000];
    static const int64_t counts[][2] = {{2, 1}, {0, 1}, {128, 129}, {512, 513}, {513, 512}, {3000, 5}, {5, 3000}};
    const wf_output output = {.data = results};
    wf_reduction argmax = {.nbytes = sizeof argmax, .op = WF_ARGMAX};
    for (int i = 0; i < 7; i++) {
        const wf_array array = wf_array_vector(values, WF_F64, counts[i][rank == odd]);
        expect_error(wf_mpi_allreduce_array(handle, &argmax, &array, &output, comm), WF_ERROR_MERGE, "differ", "lengths");
    }
    const wf_array array = wf_array_vector(values, WF_F64, 5);
    argmax.first_index = rank == odd;
    expect_error(wf_mpi_allreduce_array(handle, &argmax, &array, &output, comm), WF_ERROR_MERGE, "differ", "first indices");
    argmax.first_index = 0;
    argmax.nan = rank == odd ? WF_NAN_OMIT : WF_NAN_PROPAGATE;
    expect_error(wf_mpi_allreduce_array(handle, &argmax, &array, &output, comm), WF_ERROR_MERGE, "differ", "NaNs");
}

/* Errors of the reduction itself, and of elements of one rank: short arrays and long ones. */
static void check_arrays_that_fail(int odd, const char *words) {
    static double values[3000], results[3000];
    const wf_output output = {.data = results};
    const wf_reduction wrong = {.nbytes = sizeof wrong, .op = WF_SUM, .nan = (wf_nan)7};
    const wf_reduction bits = {.nbytes = sizeof bits, .op = WF_XOR}, sum = {.nbytes = sizeof sum, .op = WF_SUM};
    const wf_reduction careful = {.nbytes = sizeof careful, .op = WF_SUM, .nan = WF_NAN_ERROR};
    for (int64_t count = 0; count <= 3000; count = 30 * count + 100) {
        const wf_array array = wf_array_vector(values, WF_F64, count);
        const wf_array typed = wf_array_vector(values, rank == odd ? (wf_type)99 : WF_F64, count);
        expect_error(wf_mpi_allreduce_array(handle, &wrong, &array, &output, comm), WF_ERROR_ARGUMENT, "", "no such nan");
        expect_error(wf_mpi_allreduce_array(handle, &bits, &array, &output, comm), WF_ERROR_UNSUPPORTED, "", "xor of f64");
        expect_error(wf_mpi_allreduce_array(handle, rank == odd ? NULL : &sum, &array, &output, comm), WF_ERROR_ARGUMENT,
                     words, "no reduction");
        expect_error(wf_mpi_allreduce_array(handle, &sum, &typed, &output, comm), WF_ERROR_UNSUPPORTED, words, "no type");
        if (!count) continue;
        values[count - 1] = rank == odd ? NAN : 1;
        expect_error(wf_mpi_allreduce_array(handle, &careful, &array, &output, comm), WF_ERROR_NAN, "NaN", "a NaN");
        values[count - 1] = 0;
        expect(!wf_mpi_allreduce_array(handle, &careful, &array, &output, comm), "no NaN", WF_SUM, WF_F64);
    }
}

static void check_errors(void) {
    const int odd = size / 2; /* the rank that is wrong */
    char text[32];
    snprintf(text, sizeof text, "rank %d: ", odd);
    const char *words = rank == odd ? "" : text;
    wf_reduction sum = {.nbytes = sizeof sum, .op = WF_SUM}, other = sum;
    wf_accumulator *mine = make(&sum, WF_F32, 0, 5), *before = make(&sum, WF_F32, 0, 5);
    expect_error(wf_mpi_allreduce(handle, rank == odd ? NULL : mine, comm), WF_ERROR_ARGUMENT, words, "no accumulator");
    expect_error(wf_mpi_reduce(handle, rank == odd ? NULL : mine, 0, comm), WF_ERROR_ARGUMENT, words, "no accumulator");
    wf_error failed = rank == odd ? wf_handle_fail(handle, WF_ERROR_IO, "no file") : WF_OK;
    expect_error(wf_mpi_agree(handle, failed, comm), WF_ERROR_IO, "no file", "agree");
    expect(!wf_mpi_agree(handle, WF_OK, comm), "agree", WF_SUM, WF_F32);
    wf_output output = {.data = text};
    const wf_array array = wf_array_vector(data_a, WF_I8, rank == odd ? -1 : 3);
    expect_error(wf_mpi_allreduce_array(handle, &sum, &array, &output, comm), WF_ERROR_ARGUMENT, words, "no length");
    const wf_array right = wf_array_vector(data_a, WF_I8, 3);
    output.type = rank == odd ? WF_F32 : WF_I64;
    expect_error(wf_mpi_allreduce_array(handle, &sum, &right, &output, comm), WF_ERROR_ARGUMENT, words, "no such output");
    output = (wf_output){.data = rank == odd ? NULL : text};
    expect_error(wf_mpi_allreduce_array(handle, &sum, &right, &output, comm), WF_ERROR_ARGUMENT, words, "no output");
    expect_error(wf_mpi_allreduce_array(handle, &sum, rank == odd ? NULL : &right, &output, comm), WF_ERROR_ARGUMENT, words,
                 "no array");
    expect_error(wf_mpi_allreduce(handle, rank == odd ? NULL : mine, comm), WF_ERROR_ARGUMENT, words, "no accumulator");
    expect_error(wf_mpi_reduce(handle, rank == odd ? NULL : mine, 0, comm), WF_ERROR_ARGUMENT, words, "no accumulator");
    if (size > 1) {
        const wf_array longer = wf_array_vector(data_a, WF_I8, rank == odd ? 2 : 1);
        output = (wf_output){.data = text};
        expect_error(wf_mpi_allreduce_array(handle, &sum, &longer, &output, comm), WF_ERROR_MERGE, "differ", "lengths");
        const wf_array typed = wf_array_vector(data_a, rank == odd ? WF_I8 : WF_U8, 2);
        expect_error(wf_mpi_allreduce_array(handle, &sum, &typed, &output, comm), WF_ERROR_MERGE, "differ", "types");
        expect(wf_mpi_allreduce(rank == odd ? NULL : handle, mine, comm) == WF_ERROR_ARGUMENT, "no handle", WF_SUM, WF_F32);
        other.nan = rank == odd ? WF_NAN_OMIT : WF_NAN_PROPAGATE;
        wf_accumulator *unlike = make(&other, WF_F32, 0, 5);
        expect_error(wf_mpi_allreduce(handle, unlike, comm), WF_ERROR_MERGE, "differ", "unlike");
        wf_accumulator_destroy(unlike);
        check_arrays_that_differ(odd);
        other = (wf_reduction){.nbytes = sizeof other, .op = rank == odd ? WF_PROD : WF_STATS};
        unlike = make(&other, WF_F32, 0, 5);
        expect_error(wf_mpi_reduce(handle, unlike, 0, comm), WF_ERROR_MERGE, "differ", "unlike");
        wf_accumulator_destroy(unlike);
        other.op = WF_PROD;
        unlike = make(&other, WF_F32, 10 * rank, 10 * rank + 5);
        expect_error(wf_mpi_allreduce(handle, unlike, comm), WF_ERROR_MERGE, "not neighbours", "gaps");
        expect(wf_accumulator_count(unlike) == 5, "unchanged", WF_PROD, WF_F32);
        wf_accumulator_destroy(unlike);
    }
    check_arrays_that_fail(odd, words);
    check_range(64);
    check_range(200000); /* of which an error travels apart */
    expect(are_equal(mine, before), "unchanged", WF_SUM, WF_F32);
    wf_accumulator_destroy(mine);
    wf_accumulator_destroy(before);
}

/* ---- memory that is lacking: of the calls that are the library's and the header's, since what they are linked to is
 * wrapped, and of none that is MPI's ---- */

static long allocations, failing; /* counted, and which of them fails; 0: none */
static int lasting;               /* and all after it */

static int fails(void) {
    allocations++;
    return failing && (lasting ? allocations >= failing : allocations == failing);
}

void *__real_malloc(size_t), *__real_calloc(size_t, size_t), *__real_realloc(void *, size_t);
int __real_posix_memalign(void **, size_t, size_t);

void *__wrap_malloc(size_t nbytes) {
    return fails() ? NULL : __real_malloc(nbytes);
}

void *__wrap_calloc(size_t count, size_t nbytes) {
    return fails() ? NULL : __real_calloc(count, nbytes);
}

void *__wrap_realloc(void *memory, size_t nbytes) {
    return fails() ? NULL : __real_realloc(memory, nbytes);
}

int __wrap_posix_memalign(void **memory, size_t alignment, size_t nbytes) {
    return fails() ? 12 /* ENOMEM */ : __real_posix_memalign(memory, alignment, nbytes);
}

/* Lets each allocation of the call fail on one rank: all ranks return that, or do without; none hangs; nothing changes.
 * Ends when the call on that rank has no more of them. */
static void check_lack(wf_error (*call)(wf_accumulator *), maker *make_one, wf_op op, const char *what) {
    const wf_reduction reduction = {.nbytes = sizeof reduction, .op = op};
    int odd = size / 2, tries = 0;
    for (int is_left = 1; is_left; tries++) {
        wf_accumulator *mine = make_one(&reduction, WF_F32, 5 * rank, 5 * rank + 5);
        wf_accumulator *before = make_one(&reduction, WF_F32, 5 * rank, 5 * rank + 5);
        allocations = 0;
        failing = rank == odd ? tries + 1 : 0;
        const wf_error error = call(mine);
        is_left = allocations >= failing;
        failing = 0;
        MPI_Bcast(&is_left, 1, MPI_INT, odd, comm);
        expect(!error || (is_left && error == WF_ERROR_MEMORY), what, op, WF_F32);
        if (error) expect(are_equal(mine, before), "unchanged without memory", op, WF_F32);
        int all = !error, one = !error;
        MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm);
        expect(all == one, "known to all", op, WF_F32);
        wf_accumulator_destroy(mine);
        wf_accumulator_destroy(before);
    }
    expect(tries > 1 || op == WF_VAR, "has failed", op, WF_F32);
}

static wf_error all_reduce_it(wf_accumulator *mine) {
    return wf_mpi_allreduce(handle, mine, comm);
}

static wf_error reduce_it(wf_accumulator *mine) {
    return wf_mpi_reduce(handle, mine, size - 1, comm);
}

static int64_t lacking_count;

static wf_error all_reduce_array(wf_accumulator *mine) {
    const wf_reduction sum = {.nbytes = sizeof sum, .op = WF_SUM};
    static float values[40001], results[40001];
    const wf_array array = wf_array_vector(values, WF_F32, lacking_count);
    const wf_output output = {.data = results};
    (void)mine;
    return wf_mpi_allreduce_array(handle, &sum, &array, &output, comm);
}

/* Each rank reduces all, and one alone lacks memory: it does without, since nobody would hear of it. */
static void check_short_arrays_without_memory(void) {
    failing = rank == size / 2;
    for (lasting = 0; lasting < 2; lasting++)
        for (wf_op op = WF_SUM; op < WF_STATS; op = (wf_op)(op + 1)) {
            if (op == WF_DOT || !wf_op_result_type(op, WF_F32)) continue;
            const wf_reduction reduction = {.nbytes = sizeof reduction, .op = op};
            float values[600] = {1, 2, 3}, results[1200];
            const wf_array array = wf_array_vector(values, WF_F32, 600);
            const wf_output output = {.data = results};
            allocations = 0;
            expect(!wf_mpi_allreduce_array(handle, &reduction, &array, &output, comm), "without memory", op, WF_F32);
        }
    failing = lasting = 0;
}

static void check_memory(void) {
    check_lack(all_reduce_it, make, WF_VAR, "no memory, words");
    check_lack(reduce_it, make_many, WF_STATS, "no memory, many words");
    check_lack(all_reduce_it, make, WF_PROD, "no memory, products");
    check_lack(reduce_it, make_shaped, WF_PROD, "no memory, products of a shape");
    check_short_arrays_without_memory();
    for (lacking_count = 3000; lacking_count <= 40001; lacking_count += 37001)
        check_lack(all_reduce_array, make, WF_SUM, "no memory, arrays");
}

/* By so many communicators at once, of which some have one rank; in the ranks' own order, or permuted. */
static void check_all(int communicators, int permutes, int few) {
    int world_rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % communicators, permutes ? world_rank * 5 % 8 : world_rank, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (few) {
        check_fold(make, WF_STATS, WF_F64, WF_NAN_OMIT);
        check_fold(make_shaped, WF_VAR, WF_F32, WF_NAN_PROPAGATE);
        check_fold(make, WF_PROD, WF_F64, WF_NAN_PROPAGATE);
        check_array(WF_SUM, WF_F32, 1000);
        check_array(WF_SUM, WF_F32, 5000);
        check_array(WF_SUM, WF_F32, 40001);
    } else {
        check_folds();
        check_arrays();
        check_unlike_handles();
        check_errors();
        check_memory();
    }
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv) {
    const int few = argc > 1 && !strcmp(argv[1], "few");
    int all_failures = 0;
    uint64_t state = 7;
    MPI_Init(&argc, &argv);
    if (wf_handle_create("cpu", &handle)) MPI_Abort(MPI_COMM_WORLD, 1);
    wf_handle_set_threads(handle, 1);
    for (int i = 0; i < COUNT * COLUMNS; i++) {
        data_a[i] = next_random(&state);
        data_b[i] = next_random(&state);
    }
    check_all(1, 0, few);
    check_all(1, 1, 1);
    check_all(3, 0, 1);
    MPI_Allreduce(&failures, &all_failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    wf_handle_destroy(handle);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) printf("%d ranks: %s\n", size, all_failures ? "FAILED" : "the same bytes");
    MPI_Finalize();
    return all_failures != 0;
}
