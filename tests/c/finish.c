/* finish: a reduction finished by the GPU's kernels (kernels/finish.cuh, on the simulator) against the
 * CPU, bit for bit: every op, type and result type, on data and digits of every kind.  On the way, results
 * that are brought to the host (wf_partial_merge) against what was gathered there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/accumulator.h"
#include "core/handle.h"
#include "cuda/compile.h"
#include "cuda/files.h"
#include "core/partial.h"
#include "simt.h"

enum { CASES = 48, ELEMENTS_MAX = 40, CAPABILITY = 75 };

/* As kernels/finish.cuh has it. */
struct finish_settings {
    long long count, first_index, end_index, ddof;
    int op, type, result_type, nan;
};

/* As the kernels below write it. */
struct finished {
    uint64_t bits; /* of an element of the result type, the rest 0 */
    int32_t status;
    int32_t unused;
};

struct batch {
    wf_type type;
    wf_op op;
    struct wf_accumulator accumulators[CASES];
    struct wf_tree trees[CASES];
    struct wf_partial partials[CASES]; /* the accumulators', as kernels leave them */
    struct finish_settings settings[CASES];
    struct finished results[CASES];
};

static int failures, comparisons;

static int stop(const char *what, const char *why) {
    fprintf(stderr, "finish: %s: %s\n", what, why);
    exit(1);
}

static void fail(const struct batch *batch, int i, const char *what) {
    const struct finish_settings *settings = &batch->settings[i];
    if (++failures > 20) return;
    const char *result = settings->result_type ? wf_type_name((wf_type)settings->result_type) : "default";
    fprintf(stderr, "finish: %s of %s as %s, case %d (count %lld, nan %d, ddof %lld): %s\n",
            wf_op_name(batch->op), wf_type_name(batch->type), result, i, settings->count, settings->nan,
            settings->ddof, what);
}

/* ---- randomness */

static uint64_t random_state = 7;

static uint64_t random_u64(void) {
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static int random_below(int limit) {
    return (int)(random_u64() % (uint64_t)limit);
}

static bool one_in(int chances) {
    return random_below(chances) == 0;
}

/* ---- data */

/* What the elements of a case are like. */
struct style {
    int center, width; /* of the exponent field */
    int specials;      /* one in this many is 0, subnormal, infinite or NaN; 0: none */
    bool is_rough;     /* all fraction bits; otherwise few, so that ties and cancelling are common */
};

static struct style random_style(const struct wf_type_traits *traits) {
    int fields = 1 << traits->exponent_bits;
    int widths[] = {1, 4, fields / 4 + 1, fields};
    return (struct style){.center = one_in(2) ? fields / 2 : random_below(fields),
                          .width = widths[random_below(4)],
                          .specials = one_in(2) ? 3 + random_below(20) : 0,
                          .is_rough = one_in(2)};
}

static uint64_t random_float(const struct wf_type_traits *traits, const struct style *style) {
    int fraction_bits = traits->precision - 1, fields = (1 << traits->exponent_bits) - 1;
    uint64_t one = UINT64_C(1) << fraction_bits;
    uint64_t fraction = style->is_rough ? random_u64() % one : one >> 1 >> random_below(3) & (one - 1);
    int field = style->center + random_below(style->width) - style->width / 2;
    field = field < 0 ? 0 : field < fields ? field : fields - 1;
    if (style->specials && one_in(style->specials)) {
        field = one_in(2) ? 0 : fields;
        if (one_in(2)) fraction = 0;
    }
    uint64_t sign = random_u64() & 1;
    return sign << (fraction_bits + traits->exponent_bits) | (uint64_t)field << fraction_bits | fraction;
}

static uint64_t random_element(wf_type type, const struct style *style) {
    const struct wf_type_traits *traits = &wf_type_table[type];
    if (type == WF_BOOL) return (uint64_t)!one_in(4);
    if (traits->kind == WF_KIND_FLOAT) return random_float(traits, style);
    if (one_in(3)) return (uint64_t)random_below(4) - (traits->kind == WF_KIND_SIGNED);
    return random_u64() >> random_below(8 * traits->nbytes);
}

static void fill(wf_type type, const struct style *style, int count, uint8_t *bytes) {
    size_t nbytes = wf_type_nbytes(type);
    for (int i = 0; i < count; i++) {
        uint64_t bits = random_element(type, style);
        memcpy(bytes + (size_t)i * nbytes, &bits, nbytes);
    }
}

/* ---- cases */

/* A same number, but with digits as a kernel leaves them. */
static void denormalise(struct wf_exact x) {
    int chances = 1 + random_below(4);
    for (int i = 0; i < x.digit_count - 2; i++) {
        int64_t moved = one_in(chances) ? (int32_t)random_u64() >> (2 + random_below(30)) : 0;
        x.digit[i] += (int64_t)((uint64_t)moved << 32);
        x.digit[i + 1] -= moved;
    }
}

/* Digits as no few elements make them: long runs of zeros and ones, with carries through all of them. */
static void scramble(struct wf_exact x, bool is_signed) {
    int used = x.digit_count - 2, low = random_below(used), high = low + random_below(used - low) + 1;
    uint64_t runs[] = {0, UINT32_MAX, 1, UINT32_C(1) << 31};
    for (int i = 0; i < x.digit_count; i++) x.digit[i] = 0;
    for (int i = low; i < high; i++)
        x.digit[i] = (int64_t)(one_in(3) ? (uint32_t)random_u64() : runs[random_below(4)]);
    x.digit[used - 1] >>= 2;
    if (is_signed && one_in(2))
        for (int i = 0; i < x.digit_count; i++) x.digit[i] = -x.digit[i];
    wf_exact_normalise(x);
}

static void copy_as_kernels_leave_it(const struct wf_accumulator *acc, struct wf_partial *partial) {
    *partial = acc->partial;
    if (acc->parts & WF_PART_SUM) denormalise(wf_partial_sum(partial, acc->type));
    if (acc->parts & WF_PART_ABS) denormalise(wf_partial_abs(partial, acc->type));
    if (acc->parts & (WF_PART_SQUARES | WF_PART_DOT)) denormalise(wf_partial_product_sum(partial, acc->type));
}

static wf_reduction random_reduction(wf_op op, int count) {
    return (wf_reduction){.nbytes = sizeof(wf_reduction),
                          .op = op,
                          .nan = (wf_nan)random_below(3),
                          .ddof = one_in(4) ? count - 1 + random_below(3) : random_below(3),
                          .first_index = one_in(2) ? 0 : (int64_t)(random_u64() >> 2),
                          .result_type = one_in(3) ? WF_TYPE_DEFAULT : (wf_type)random_below(WF_TYPE_COUNT)};
}

static void make_case(wf_handle *handle, struct batch *batch, int i) {
    uint64_t a[ELEMENTS_MAX], b[ELEMENTS_MAX];
    const struct style style = random_style(&wf_type_table[batch->type]);
    const int count = one_in(12) ? 0 : 1 + random_below(one_in(2) ? 3 : ELEMENTS_MAX);
    wf_reduction reduction = random_reduction(batch->op, count);
    if (reduction.ddof < 0) reduction.ddof = 0;
    fill(batch->type, &style, count, (uint8_t *)a);
    fill(batch->type, &style, count, (uint8_t *)b);
    wf_array left = wf_array_vector(a, batch->type, count), right = wf_array_vector(b, batch->type, count);
    struct wf_accumulator *acc = &batch->accumulators[i];
    wf_accumulator_init(acc, &reduction, batch->type, &batch->trees[i]);
    wf_error error =
        wf_accumulator_add(handle, acc, &left, wf_op_takes_pairs(batch->op) ? &right : NULL, NULL);
    if (error && error != WF_ERROR_NAN) stop(wf_op_name(batch->op), wf_handle_message(handle));
    bool has_one_sum = batch->op != WF_VAR && batch->op != WF_STD && batch->op != WF_STATS;
    if (has_one_sum && count && one_in(2)) {
        if (acc->parts & WF_PART_SUM) scramble(wf_partial_sum(&acc->partial, acc->type), true);
        if (acc->parts & WF_PART_ABS) scramble(wf_partial_abs(&acc->partial, acc->type), false);
        if (acc->parts & (WF_PART_SQUARES | WF_PART_DOT))
            scramble(wf_partial_product_sum(&acc->partial, acc->type), acc->parts & WF_PART_DOT);
    }
    wf_partial_normalise(&acc->partial, acc->type, acc->parts);
    copy_as_kernels_leave_it(acc, &batch->partials[i]);
    batch->settings[i] = (struct finish_settings){.count = acc->count,
                                                  .first_index = acc->first_index,
                                                  .end_index = acc->end_index,
                                                  .ddof = reduction.ddof,
                                                  .type = (int)batch->type,
                                                  .result_type = (int)reduction.result_type,
                                                  .nan = (int)reduction.nan};
}

/* ---- what the CPU says */

/* Of a float the NaN whose exponent and uppermost bit of the fraction are set; else 0. */
static uint64_t failed_bits(wf_type type) {
#define X(NAME, name, storage, kind, precision, exponent_bits)                                               \
    [WF_##NAME] = (exponent_bits) ? ((UINT64_C(2) << (exponent_bits)) - 1) << ((precision) - ((exponent_bits) ? 2 : 0)) : 0,
    static const uint64_t bits[] = {WF_TYPES(X)};
#undef X
    return bits[type];
}

static bool is_on_gpu(const struct wf_accumulator *acc) {
    return acc->op != WF_PROD || !acc->tree;
}

static struct finished expect(const struct wf_accumulator *acc) {
    struct finished expected = {.status = WF_ERROR_UNSUPPORTED};
    wf_value value;
    if (is_on_gpu(acc)) expected.status = (int32_t)wf_accumulator_finish(NULL, acc, acc->op, &value);
    if (expected.status) expected.bits = failed_bits(wf_accumulator_result_type(acc, acc->op));
    else wf_value_store(&value, &expected.bits);
    return expected;
}

static bool same(const struct finished *a, const struct finished *b) {
    return a->status == b->status && a->bits == b->bits;
}

static void compare(const struct batch *batch, int i) {
    struct finished expected = expect(&batch->accumulators[i]);
    const struct finished *got = &batch->results[i];
    char text[160];
    snprintf(text, sizeof text, "status %d bits %llx, not %d, %llx", got->status, (unsigned long long)got->bits,
             expected.status, (unsigned long long)expected.bits);
    if (!same(got, &expected)) fail(batch, i, text);
    comparisons++;
}

/* Brought to the host in two pieces, the first of which holds nothing. */
static void compare_joined(const struct batch *batch, int i) {
    const struct wf_accumulator *acc = &batch->accumulators[i];
    if (!is_on_gpu(acc)) return;
    struct wf_accumulator joined;
    struct wf_partial nothing;
    wf_accumulator_init_like(&joined, acc, acc->first_index, NULL);
    wf_partial_clear_all(&nothing);
    wf_partial_merge(&joined.partial, &nothing, acc->type, acc->parts);
    wf_partial_merge(&joined.partial, &batch->partials[i], acc->type, acc->parts);
    joined.count = acc->count;
    joined.end_index = acc->end_index;
    struct finished expected = expect(acc), got = expect(&joined);
    if (!same(&got, &expected)) fail(batch, i, "joined on the host, it finishes as something else");
}

/* ---- what the GPU's code says */

static const char source_text[] =
    "#define TYPE_i64 // of elements, of which partials know nothing\n"
    "#include \"kernels/finish.cuh\"\n"
    "struct finished { uint64_t bits; int status, unused; };\n"
    "#define X(NAME, name, parts, result, function) \\\n"
    "    extern \"C\" __global__ void finish_as_##NAME(const struct wf_partial *partials, \\\n"
    "            const struct finish_settings *settings, struct finished *results) { \\\n"
    "        for (int i = blockIdx.x; i < 2 * gridDim.x; i += gridDim.x) { \\\n"
    "            struct finish_settings own = settings[i]; \\\n"
    "            own.op = WF_##NAME; \\\n"
    "            struct finish_target target = {&results[i].bits, &results[i].status}; \\\n"
    "            finish(partials + i, own, target); \\\n"
    "        } \\\n"
    "    }\n"
    "WF_OPS(X)\n";

/* The type is the settings': compiling for each takes ten times as long as all of the tests. */
static simt_module *compile_kernels(wf_handle *handle) {
    struct wf_cuda_compiler compiler;
    wf_cuda_compiler_open(&compiler);
    if (!compiler.version) {
        printf("skipped: no NVRTC\n");
        exit(0);
    }
    const char **headers = calloc(2 * wf_cuda_file_count + 1, sizeof *headers);
    if (!headers) stop("headers", "no memory");
    for (size_t i = 0; i < wf_cuda_file_count; i++) {
        headers[2 * i] = wf_cuda_files[i].path;
        headers[2 * i + 1] = wf_cuda_files[i].text;
    }
    struct wf_cuda_source source = {"finish.cu", source_text, headers, NULL};
    struct wf_compiled image;
    if (wf_cuda_compile(handle, &compiler, &source, CAPABILITY, true, &image))
        stop("kernels", wf_handle_message(handle));
    simt_module *module;
    simt_message message;
    if (simt_module_parse(image.bytes, strlen(image.bytes), "finish.ptx", &module, &message))
        stop("kernels", message.text);
    free(image.bytes);
    free(headers);
    return module;
}

static uint64_t upload(simt_machine *machine, const void *bytes, size_t nbytes) {
    uint64_t address;
    if (simt_machine_allocate(machine, nbytes, &address) ||
        (bytes && simt_machine_write(machine, address, bytes, nbytes)))
        stop("memory of the simulator", "none");
    return address;
}

static size_t find_kernel(const simt_module *module, const char *op) {
    for (size_t i = 0; i < simt_module_kernel_count(module); i++) {
        const char *name = simt_module_kernel_name(module, i) + strlen("finish_as_");
        size_t at = 0;
        while (op[at] && name[at] == op[at] - 'a' + 'A') at++;
        while (op[at] && name[at] == op[at]) at++; /* the 1 of norm1 */
        if (!op[at] && !name[at]) return i;
    }
    stop(op, "no kernel");
    return 0;
}

static void run(const simt_module *module, struct batch *batch) {
    simt_machine *machine;
    if (simt_machine_create(NULL, &machine)) stop("simulator", "no memory");
    uint64_t partials = upload(machine, batch->partials, sizeof batch->partials);
    uint64_t settings = upload(machine, batch->settings, sizeof batch->settings);
    memset(batch->results, 0, sizeof batch->results);
    uint64_t results = upload(machine, batch->results, sizeof batch->results);
    const void *arguments[] = {&partials, &settings, &results};
    simt_launch launch = {.module = module,
                          .kernel = find_kernel(module, wf_op_name(batch->op)),
                          .grid = {CASES / 2}, /* two of them by each block */
                          .block = {32},
                          .arguments = arguments,
                          .instruction_limit = UINT64_MAX,
                          .observers = simt_observers};
    simt_report *report = NULL;
    simt_message message;
    if (simt_machine_launch(machine, &launch, &report, &message)) stop(wf_op_name(batch->op), message.text);
    for (size_t i = 0; i < simt_report_finding_count(report); i++)
        fail(batch, 0, simt_report_finding(report, i)->message);
    if (simt_machine_read(machine, results, batch->results, sizeof batch->results)) stop("results", "unread");
    simt_report_destroy(report);
    simt_machine_destroy(machine);
}

/* ---- all of them */

static void check(wf_handle *handle, const simt_module *module, struct batch *batch) {
    for (int i = 0; i < CASES; i++) make_case(handle, batch, i);
    run(module, batch);
    for (int i = 0; i < CASES; i++) compare(batch, i);
    for (int i = 0; i < CASES; i++) compare_joined(batch, i);
}

static void check_types(wf_handle *handle, const simt_module *module) {
    struct batch *batch = calloc(1, sizeof *batch);
    if (!batch) stop("cases", "no memory");
    for (batch->type = WF_BOOL; batch->type <= WF_F64; batch->type++)
        for (batch->op = WF_SUM; batch->op < WF_STATS; batch->op++)
            if (wf_op_result_type(batch->op, batch->type)) check(handle, module, batch);
    free(batch);
}

int main(void) {
    wf_handle *handle;
    if (wf_handle_create("cpu", &handle)) stop("handle", "none");
    simt_module *module = compile_kernels(handle);
    check_types(handle, module);
    simt_module_destroy(module);
    wf_handle_destroy(handle);
    printf("%d results, %d failures\n", comparisons, failures);
    return failures > 0;
}
