"""The first line: a command to copy, types that fit, results; and the reports of hosts of code."""

import json
import shlex
import struct

import pytest

from cli_helpers import ROOT, run
from finding_helpers import TRANSPOSE, TRANSPOSED, WRONG, line_of, nvrtc  # noqa: F401
from inspect_helpers import inspected
from program_helpers import compiling, needs_nvcc  # noqa: F401


def test_a_file_of_several_kernels_begins_with_a_line_to_copy(write):
    path = write("two.cu", "__global__ void first(int *out) { *out = 1; }\n__global__ void second(int *out) { *out = 2; }\n")
    done = run("inspect", path)
    lines = [line.strip() for line in done.stderr.splitlines() if line.startswith(" ")]
    assert (done.returncode, done.stdout) == (2, "")
    assert lines == [f"warpfold inspect {path} --kernel '{name}' --grid 1 --block 32 --arg 'i32[32]' --print 0"
                     for name in ("first", "second")]
    assert all(run(*shlex.split(line)[1:]).returncode == 0 for line in lines)
    assert lines[0] in run("inspect", path, "--kernel", "first").stderr


def test_the_line_to_copy_can_be_run_as_it_is(write):
    """With structs, bools and pointers to arrays, too."""
    path = write("many.cu", "struct pair { int a; double b; };\n__global__ void many(pair p, const int (*rows)[4], bool is_on, float x,\n"
                 "    const unsigned char *raw, int *out) { if (is_on) out[threadIdx.x] = p.a + rows[threadIdx.x / 8][threadIdx.x % 4] + raw[0]; }\n")
    said = run("inspect", path).stderr
    assert "many(pair p, const int *rows, bool is_on, float x, const unsigned char *raw, int *out) takes" in said
    line = said.splitlines()[-1].strip()
    assert line.startswith("warpfold inspect ") and f" --arg bytes:{struct.pack('<i4xd', 32, 1).hex()} --arg 'i32[32]=iota' --arg bool:1 --arg f32:1 " in line
    done = run(*shlex.split(line)[1:])
    assert (done.returncode, done.stderr) == (0, "") and "no findings" in done.stdout


PROGRAM = """__global__ void __launch_bounds__(256) scale(const float *__restrict__ in, float *out, // in: read
                                              float factor, unsigned int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = factor * in[i];
}
int main() {
    const int n = 1 << 10, threads = 128;
    float *in, *out; /* out = 5; */
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc((void **)&out, sizeof *out * n);
    scale<<<(n + threads - 1) / threads, threads>>>(in, out, 2.0f, n);
}
"""


def test_without_arguments_it_says_which_command_to_begin_with(write):
    path = write("scale.cu", PROGRAM.split("int main")[0] + "#if 0\nint main" + PROGRAM.split("int main")[1] + "#endif\n")
    done = run("inspect", path)
    assert (done.returncode, done.stdout) == (2, "")
    said, command = done.stderr.splitlines()
    assert "scale(const float *in, float *out, float factor, unsigned int n)" in said
    words = command.replace("'", "").split()
    assert words == ["warpfold", "inspect", str(path), "--grid", "8", "--block", "128", "--arg", "f32[1024]=random:1", "--arg",
                     "f32[1024]", "--arg", "f32:1", "--arg", "u32:1024", "--print", "1"]
    report = inspected(*words[2:])
    assert report["findings"] == report["advice"] == []
    assert report["values"][0]["name"] == "out" and len(report["values"][0]["elements"]) == 8


ROWS = """typedef struct { double low, high; } Range;
__global__ void rows(const double *in, double *out, int columns) {
    extern __shared__ double part[];
    part[threadIdx.x] = in[blockIdx.x * columns + threadIdx.x];
    __syncthreads();
    out[blockIdx.x] = part[0];
}
#if 0
int main() {
    dim3 grid(5), block(64);
    size_t bytes = block.x * sizeof(double);
    rows<<<grid, block, %s>>>(a, b, 64);
}
#endif
"""


@pytest.mark.parametrize("shared, nbytes", [("block.x * sizeof(double)", 512), ("sizeof(Range) * block.x", 1024), ("bytes", 512), ("64 * sizeof(*a)", 512),
                                            ("8 * sizeof(char)", 8), ("16 * sizeof(short2)", 64), ("96", 96)])
def test_bytes_of_shared_memory_are_those_of_the_type(shared, nbytes, write):
    assert f"--grid 5 --block 64 --shared {nbytes} --arg" in run("inspect", write("rows.cu", ROWS % shared)).stderr


def test_extents_of_a_launch(write):
    source = TRANSPOSE + """#if 0
int main() {
    int n = 64;
    dim3 block(32, 32), grid(n / 32, n / 32);
    transpose<<<grid, block, 16>>>(a, b, n);
}
#endif
"""
    assert "--grid 2,2 --block 32,32 --shared 16 --arg" in run("inspect", write("t.cu", source)).stderr


@pytest.mark.parametrize("argument, wanted", [("f64[1000]=iota", "`const float *in`: give f32[N]=..."),
                                              ("i32[1000]=iota", "`const float *in`: give f32[N]=..."),
                                              ("f64:0", "`const float *in`: give f32[N]=...")])
def test_arguments_of_another_type_are_refused(argument, wanted, write):
    source, arguments, _, _ = WRONG["bounds"]
    done = run("inspect", write("wrong.cu", source), "--arg", argument, "--arg", "f32[1024]")
    assert done.returncode == 2 and f"argument 0 of f is {wanted}" in done.stderr


def test_what_points_to_nothing_or_to_bytes_fits_any_pointer(write):
    source = "__global__ void f(const float *in, char *out) { if (!in) out[threadIdx.x] = 1; }\n"
    report = inspected(write("null.cu", source), "--arg", "u64:0", "--arg", "f64[4]", "--print", "1:1")
    assert report["findings"] == [] and report["values"][0]["elements"] != [0]


def test_results_are_printed(write):
    source = "__global__ void f(int *a, double *b, signed char *c) { a[threadIdx.x] = -(int)threadIdx.x; b[threadIdx.x] = " \
             "threadIdx.x / 8.; c[threadIdx.x] = -1; }\n"
    words = ["--block", 4, "--arg", "int[4]", "--arg", "double[4]", "--arg", "i8[4]", "--print", "0:3", "--print", 1, "--print", 2]
    done = run("inspect", write("print.cu", source), *words)
    assert done.returncode == 0
    for text in ("a, the first 3 of 4: 0 -1 -2\n", "b, the first 4 of 4: 0 0.125 0.25 0.375\n", "c, the first 4 of 4: -1 -1 -1 -1\n"):
        assert text in done.stdout
    assert [value["elements"] for value in inspected(write("print.cu", source), *words)["values"]] == \
        [[0, -1, -2], [0, .125, .25, .375], [-1] * 4]
    for wrong in ("3", "x", "0:", "0:-1", "0=4"):
        assert run("inspect", write("print.cu", source), *words, "--print", wrong).returncode == 2


def test_the_line_to_copy_has_vectors_and_zeros_for_what_is_updated(write):
    path = write("updates.cu", "__global__ void f(const float4 *in, int *bins, float *total, int *lock, float *out) {\n"
                 "    atomicAdd(&bins[threadIdx.x % 4], 1);\n    if (threadIdx.x == 0) *total += 1;\n"
                 "    if (threadIdx.x == 0) lock[0]++;\n    out[threadIdx.x] = in[threadIdx.x].w;\n    out[threadIdx.x] += 1;\n}\n")
    line = run("inspect", path).stderr.splitlines()[-1]
    assert "--arg 'f32[128]=random:1' --arg 'i32[32]=zeros' --arg 'f32[32]=zeros' --arg 'i32[32]=zeros' --arg 'f32[32]' --print 1" in line
    assert inspected(*shlex.split(line)[2:])["findings"] == []


def test_the_line_to_copy_has_the_types_of_a_template_s_instance(write):
    path = write("template.cu", "template <typename T, int N> __global__ void f(const T *in, T factor, T *out)\n"
                 "{ out[threadIdx.x] = factor * in[threadIdx.x] + N; }\ntemplate __global__ void f<double, 3>(const double *, double, double *);\n")
    for kernel in ([], ["--kernel", "f<unsigned int, 4>"]):
        element = "u32" if kernel else "f64"
        fill, one = ("iota", 32) if kernel else ("random:1", 1)
        line = run("inspect", path, *kernel).stderr.splitlines()[-1]
        assert f"--arg '{element}[32]={fill}' --arg {element}:{one} --arg '{element}[32]' --print 2" in line
        assert inspected(*shlex.split(line)[2:])["findings"] == []
    assert "give f64[N]" in run("inspect", path, "--arg", "f32[32]=iota", "--arg", "f64:1", "--arg", "f64[32]").stderr


def test_sarif_and_annotations(write):
    source, arguments, _, _ = WRONG["bounds"]
    path = write("wrong.cu", source)
    done = run("inspect", path, *arguments, "--sarif")
    assert done.returncode == 3
    result, = json.loads(done.stdout)["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("bounds", "error")
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == line_of(source, "here")
    assert "(index 1000 of `in`, float[1000])" in result["message"]["text"]
    done = run("inspect", path, *arguments, "--github")
    assert done.returncode == 3 and done.stdout.count("\n") == 1
    assert done.stdout.startswith(f"::error file={path},line={line_of(source, 'here')},title=bounds::f, block (3,0,0)")
    path = write("100%: a,b.cu", TRANSPOSE)
    done = run("inspect", path, *TRANSPOSED, "--github")
    assert done.returncode == 0
    assert f"::warning file={path.parent}/100%25%3A a%2Cb.cu,line={line_of(TRANSPOSE, 'turn')},title=bank-conflict::" in done.stdout
    warning, = json.loads(run("inspect", path, *TRANSPOSED, "--sarif").stdout)["runs"][0]["results"]
    assert (warning["ruleId"], warning["level"]) == ("bank-conflict", "warning")
    assert run("inspect", path, *TRANSPOSED, "--sarif", "--json").returncode == 2


# What sources of other people have: the command that is told of each, behind the path.
OTHERS = {
    "named types, and what main computes of a dim3": ("""typedef float real;
using word = unsigned int;
#define BLOCK 128
template <typename T, int K> __global__ void scale(const T *__restrict__ in, T *__restrict__ out, real f, word n) {
    word i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * f * K;
}
int main() {
    const int n = 4096;
    real *a, *b;
    cudaMalloc((void **)&a, n * sizeof(real));
    cudaMalloc(&b, n * sizeof(real));
    dim3 threads(BLOCK), blocks((n + threads.x - 1) / threads.x);
    scale<real, 2><<<blocks, threads>>>(a, b, 2.0f, n);
}
""", "--grid 32 --block 128 --arg 'f32[4096]=random:1' --arg 'f32[4096]' --arg f32:1 --arg u32:4096 --print 1"),
    "pointers that are const, and inputs that are not": ("""__global__ void add(float *const a, float *b, float *const c, const unsigned n) {
    int i = blockIdx.x * 16 + threadIdx.x;
    c[i] = a[i] + b[i] * n;
}
int main() {
    dim3 block = dim3(16, 2);
    const dim3 grid{4};
    float *a, *b, *c;
    cudaMalloc(&a, 64 * sizeof(float)); cudaMalloc(&b, 64 * sizeof(float)); cudaMalloc(&c, 64 * sizeof(float));
    add<<<grid, block>>>(a, b, c, 7);
}
""", "--grid 4 --block 16,2 --arg 'f32[64]=random:1' --arg 'f32[64]=random:1' --arg 'f32[64]' --arg u32:7 --print 2"),
    "structs": ("""typedef struct { double x; int id; char c[3]; float *next; } Node;
struct Pair { int a; Node *n, *m; short s; float3 at; };
__global__ void walk(const Node *nodes, Pair *pairs) { pairs[threadIdx.x].a = nodes[threadIdx.x].id; }
int main() {
    Node *d; Pair *p;
    cudaMalloc(&d, 64 * sizeof(Node));
    cudaMalloc(&p, 64 * sizeof(Pair));
    walk<<<2, 32>>>(d, p);
}
""", "--grid 2 --block 32 --arg 'u8[1536]=zeros' --arg 'u8[2560]' --print 1"),
    "numbers that only a run tells, and names that stand for one another": ("""__global__ void f(int *o) { o[threadIdx.x] = 1; }
int main(int count, char **) {
    int *o, m, n = count;
    n = n / 2; n = n + 1; n = m + 1; m = n + 1; n = m + 2; m = n + 2; n = m + 3; m = n + 3; n = m + 4; m = n + 4;
    dim3 grid(n, m, grid.x), block(grid.x, block.y);
    cudaMalloc(&o, n * 4);
    f<<<grid, block>>>(o);
}
""", "--grid 1 --block 32 --arg 'i32[32]' --print 0"),
    "a kernel in a header": ("""#include "kernel.cuh"
int main() { int *x; cudaMalloc(&x, 256 * sizeof(int)); add_one<<<4, 64>>>(x); }
""", "--grid 4 --block 64 --arg 'i32[256]=zeros' --print 0"),
}


@needs_nvcc
@pytest.mark.parametrize("name", OTHERS)
def test_the_line_to_copy_of_sources_of_many_kinds(name, write, compiling):
    source, command = OTHERS[name]
    write("kernel.cuh", "__global__ void add_one(int *numbers) { numbers[blockIdx.x * blockDim.x + threadIdx.x] += 1; }\n")
    path = write("other.cu", source)
    line = run("inspect", path, env=compiling).stderr.splitlines()[-1].strip()
    assert line == f"warpfold inspect {path} {command}"
    done = run(*shlex.split(line)[1:], env=compiling)
    assert (done.returncode, done.stderr) == (0, "") and "no findings" in done.stdout


def test_types_with_names_of_their_own_are_checked(write):
    path = write("named.cu", "typedef double real;\n__global__ void f(const real *in, real *out) { out[0] = in[0]; }\n")
    done = run("inspect", path, "--arg", "f32[4]=iota", "--arg", "f64[4]")
    assert done.returncode == 2 and "argument 0 of f is `const double *in`: give f64[N]=..." in done.stderr
    assert inspected(path, "--arg", "f64[4]=iota", "--arg", "f64[4]")["findings"] == []


def test_a_file_without_a_kernel_is_told_as_one(write):
    path = write("none.cu", "__device__ int f() { return 1; }\n")
    done = run("inspect", path)
    assert (done.returncode, done.stderr) == (1, f"warpfold: {path} has no kernel (__global__)\n")


# Kernels whose parameters other files, conditions or functions tell of, and the command behind the path.
NAMED = {
    "a header's types, under conditions": ("""#include "types.cuh"
__global__ void f(const real *in, pair *both, real *out, std::uint32_t n) {
    unsigned i = blockIdx.x * COUNT + threadIdx.x;
    if (i < n) out[i] = in[i] + both[i].b;
}
""", "--grid 2 --block 64 --arg f32[128]=random:1 --arg u8[2048]=zeros --arg f32[128] --arg u32:128 --print 2"),
    "what is only handed on": ("""__device__ void store(int *to, int i, int value) { to[i] = value; }
__device__ void count(unsigned *to, int i) { atomicAdd(to + i, 1u); }
__device__ int load(const int *from, int i) { return from[i]; }
__global__ void f(int *in, int *out, unsigned *bins) {
    store(out, threadIdx.x, load(in, threadIdx.x));
    count(bins, threadIdx.x / 8);
}
""", "--block 32 --arg i32[32]=iota --arg i32[32] --arg u32[32]=zeros --print 1"),
    "types that no text tells, and pointers to pointers": ("""namespace own { typedef unsigned long long word; }
template <class T> struct of { typedef T type; };
__global__ void f(const of<double>::type *in, own::word *out, float **rows) { out[threadIdx.x] = rows ? in[threadIdx.x] : 0; }
""", "--block 32 --arg f64[32]=random:1 --arg u64[32] --arg u64[32] --print 1"),
    "two elements of a thread, in several warps": ("""__global__ void f(const int *in, int *out) {
    extern __shared__ int s[];
    s[threadIdx.x] = in[blockIdx.x * blockDim.x * 2 + threadIdx.x] + in[blockIdx.x * blockDim.x * 2 + threadIdx.x + blockDim.x];
    __syncthreads();
    if (threadIdx.x < 32) out[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x] + s[threadIdx.x + 32];
}
""", "--grid 2 --block 128 --shared 512 --arg i32[512]=iota --arg i32[512] --print 1"),
    "a cluster, and shared memory of a function": ("""#define BLOCKS 4
__device__ float *room() { extern __shared__ float memory[]; return memory; }
__global__ void __cluster_dims__(BLOCKS, 1, 1) f(float *out) {
    room()[threadIdx.x] = 1;
    out[blockIdx.x * blockDim.x + threadIdx.x] = room()[threadIdx.x];
}
""", "--grid 4 --block 32 --shared 128 --arg f32[128] --print 0"),
}


@pytest.mark.parametrize("name", NAMED)
def test_the_line_to_copy_of_types_that_the_kernel_s_own_text_does_not_tell(name, write, compiling):
    source, wanted = NAMED[name]
    write("types.cuh", """#ifndef TYPES
#define TYPES
#include <cstdint>
#if defined DOUBLE && !defined SINGLE || 0
typedef double real;
#elif 1 > 2
typedef int real;
#else
typedef float real;
#endif
#ifdef SMALL
#define COUNT 32
#else
#define COUNT 64
#endif
#define THREADS COUNT
struct __align__(16) pair { real a, b, c; };
#endif
""")
    path = write("named.cu", source.replace("COUNT", "THREADS"))
    line = run("inspect", path, env=compiling).stderr.splitlines()[-1].strip()
    assert line.replace("'", "").replace(" --grid 1", "").removeprefix(f"warpfold inspect {path} ") == wanted
    done = run(*shlex.split(line)[1:], env=compiling)
    assert (done.returncode, done.stderr) == (0, "") and "no findings" in done.stdout


@pytest.mark.parametrize("conditions", [
    "#define A (" + " || ".join("A" * 16) + ")\n#if A\ntypedef double T;\n#else\ntypedef float T;\n#endif\n",
    "".join(f"#define A{i} A{i + 1}\n#if A{i}\n#endif\n" for i in range(20000)) + "typedef float T;\n"],
    ids=["a macro of itself", "many"])
def test_conditions_that_would_take_for_ever_are_read_in_part(conditions, write, compiling):
    path = write("conditions.cu", conditions + "__global__ void f(T *x) { x[threadIdx.x] = 1; }\n")
    assert "--arg 'f32[32]'" in run("inspect", path, env=compiling).stderr


def test_the_line_to_copy_shows_blocks_that_meet():
    """One block alone would be right; two store to one word."""
    line = run("inspect", "ladder/wrong/overlapping_segments.cu", cwd=ROOT).stderr.splitlines()[-1].strip()
    done = run(*shlex.split(line)[1:], cwd=ROOT)
    assert done.returncode == 3 and "blocks overwrite each other's result" in done.stdout


@pytest.mark.parametrize("comment, is_taken", [("--block 8 --arg 'f32[8]=ones' --expect 0=2", True), ("--block 8; true", False),
                                               ("--block $(true)", False), ("--block 8 --arg 'f32[8]=ones", False)])
def test_a_comment_may_give_the_line_to_copy(comment, is_taken, write, compiling):
    """What a shell would take for more than words is not printed."""
    path = write("given.cu", f"// Inspect: {comment}\n__global__ void f(float *x) {{ x[threadIdx.x] *= 2; }}\n")
    line = run("inspect", path, env=compiling).stderr.splitlines()[-1]
    assert line.endswith(f"given.cu {comment}") == is_taken and ("--block 32" in line) == (not is_taken)


@pytest.mark.parametrize("rung", ["06_sequential", "16_bulk_copy"])
def test_the_line_to_copy_of_a_rung_of_the_ladder(rung):
    line = run("inspect", f"ladder/{rung}.cu", cwd=ROOT).stderr.splitlines()[-1].strip()
    done = run(*shlex.split(line)[1:], cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "") and "no findings" in done.stdout


HISTOGRAM = """__global__ void histogram(const KEY *keys, int n, unsigned *bins) {
    __shared__ unsigned local[64];
    if (threadIdx.x < 64) local[threadIdx.x] = 0; // clear
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned long long key = keys[i];
        atomicAdd(&local[key], 1u); // count
    }
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}
int main() {
    KEY *keys;
    unsigned *bins;
    cudaMalloc(&keys, 3000 * sizeof(KEY));
    cudaMalloc(&bins, 64 * sizeof(unsigned));
    histogram<<<2, 64>>>(keys, 3000, bins);
}
"""


@pytest.mark.parametrize("key, element", [("unsigned char", "u8"), ("int", "i32"), ("long long", "i64")])
def test_indices_of_the_line_to_copy_are_in_range_and_no_order(key, element, write):
    """In order each thread would count in a bin of its own, and a missing barrier would not show."""
    source = HISTOGRAM.replace("KEY", key)
    path = write("histogram.cu", source)
    line = run("inspect", path).stderr.splitlines()[-1].strip()
    assert f"--arg '{element}[3000]=random:1:64'" in line
    finding, = inspected(*shlex.split(line)[2:], status=3)["findings"]
    lines = finding["from_line"], finding["to_line"]
    assert (finding["kind"], lines) == ("race", (line_of(source, "clear"), line_of(source, "count")))


BEGINNINGS = {
    "rows of elements by offsets": ("""__global__ void spmv(int rows, const int *begin, const int *column, const float *value, const float *x, float *y) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float dot = 0;
    for (int j = begin[r]; j < begin[r + 1]; j++) dot += value[j] * x[column[j]];
    y[r] = dot;
}""", "--arg i32:64 --arg 'i32[65]=iota' --arg 'i32[64]=random:1:64' --arg 'f32[64]=random:1' --arg 'f32[64]=random:1' --arg 'f32[64]'"),
    "rows of elements by unsigned offsets": ("""__global__ void spmv(unsigned rows, const unsigned *begin, const unsigned *column, const float *value, const float *x, float *y) {
    unsigned r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float dot = 0;
    for (unsigned j = begin[r]; j < begin[r + 1]; j++) dot += value[j] * x[column[j]];
    y[r] = dot;
}""", "--arg u32:64 --arg 'u32[65]=iota' --arg 'u32[64]=random:1:64' --arg 'f32[64]=random:1' --arg 'f32[64]=random:1' --arg 'f32[64]'"),
    "a counter that grows is no next index": ("""__global__ void sum(const int *at, const float *x, float *y, int n) {
    float s = 0;
    #pragma unroll 1
    for (int i = 0; i + 1 < n; i++) s += x[at[i]] + x[at[i + 1]];
    y[threadIdx.x] = s;
}""", "--arg 'i32[32]=random:1:32' --arg 'f32[32]=random:1' --arg 'f32[32]' --arg i32:32"),
    "an array of many dimensions": ("""__global__ void im2col(const float *im, float *col, int channels, int height, int width, int k, int pad, int oh, int ow) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= channels * oh * ow) return;
    int x = i % ow, y = i / ow % oh, c = i / ow / oh;
    for (int a = 0; a < k; a++)
        for (int b = 0; b < k; b++) {
            int row = y - pad + a, column = x - pad + b;
            bool is_inside = row >= 0 && column >= 0 && row < height && column < width;
            col[(((c * k + a) * k + b) * oh + y) * ow + x] = is_inside ? im[(c * height + row) * width + column] : 0;
        }
}""", "--arg 'f32[4096]=random:1' --arg 'f32[4096]' --arg i32:4 --arg i32:4 --arg i32:4 --arg i32:4 --arg i32:1 --arg i32:4 --arg i32:4"),
    "two indices a thread, no offsets": ("""__global__ void pairs(const int *key, int *bins) {
    int i = 2 * blockDim.x * blockIdx.x + 2 * threadIdx.x;
    atomicAdd(&bins[key[i]], 1);
    atomicAdd(&bins[key[i + 1]], 1);
}""", "--arg 'i32[128]=random:1:128' --arg 'i32[128]=zeros'"),
    "members of a struct": ("""struct Params { int n; float dt; bool is_on; short factors[2]; };
struct Point { float3 at; float mass; };
__global__ void move(Point *points, Params p) { int i = threadIdx.x; if (i < p.n && p.is_on) points[i].at.x += p.dt * p.factors[1]; }
""", f"--arg 'f32[128]=random:1' --arg bytes:{struct.pack('<if?xhh2x', 32, 1, True, 32, 32).hex()}"),
    "a matrix by rows": ("""__global__ void shift(float *out, const float *in, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) for (int c = 0; c < cols; c++) out[row * cols + c] = in[row * cols + c] + 1;
}""", "--arg 'f32[4096]' --arg 'f32[4096]=random:1' --arg i32:64 --arg i32:64"),
    "a factor of the elements is no pitch": ("""__global__ void scale(int *out, const int *in, int factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = factor * in[i];
}""", "--arg 'i32[64]' --arg 'i32[64]=iota' --arg i32:64 --arg i32:64"),
    "numbers that bound nothing": ("""__global__ void exchange(float *values, int j, int k) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ j;
    if (other > i && (values[i] > values[other]) == ((i & k) == 0)) { float t = values[i]; values[i] = values[other]; values[other] = t; }
}""", "--arg 'f32[64]=random:1' --arg i32:1 --arg i32:1"),
    "two elements a thread, in global and in shared memory": ("""__global__ void pairs(const int *in, int *out, int n) {
    extern __shared__ int temp[];
    int t = threadIdx.x;
    temp[2 * t] = in[2 * t]; temp[2 * t + 1] = in[2 * t + 1];
    __syncthreads();
    if (t < n / 2) out[t] = temp[t] + temp[n - 1 - t];
}""", "--arg 'i32[64]=iota' --arg 'i32[64]' --arg i32:64"),
    "a halo around a block": ("""template <int R> __global__ void halo(const float *in, float *out, int n) {
    __shared__ float tile[2 * R + 128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x + R] = in[i];
    if (threadIdx.x < R) { tile[threadIdx.x] = i >= R ? in[i - R] : 0; tile[threadIdx.x + R + blockDim.x] = i + blockDim.x < n ? in[i + blockDim.x] : 0; }
    __syncthreads();
    out[i] = tile[threadIdx.x] + tile[threadIdx.x + 2 * R];
}
template __global__ void halo<3>(const float *, float *, int);""", "--block 128 "),
}


@pytest.mark.parametrize("name", BEGINNINGS)
def test_right_kernels_have_no_finding_in_their_first_launch(name, write):
    source, wanted = BEGINNINGS[name]
    said = run("inspect", write("right.cu", source)).stderr.splitlines()
    assert wanted in said[1] and len(said) == 2
    assert inspected(*shlex.split(said[1])[2:])["findings"] == []


def test_pointers_in_memory_are_told_of(write):
    """Where the kernel follows them: the command gives them none."""
    grid = "struct Grid { int n; float *cells, *unused; };\n"
    reads = write("grid.cu", grid + "__global__ void f(Grid g, float *out) { out[threadIdx.x] = g.cells[threadIdx.x]; }\n")
    assert f"`g` has pointers, and no --arg gives memory to these: `warpfold run {reads}` runs" in run("inspect", reads).stderr.splitlines()[2]
    rows = write("rows.cu", "__global__ void f(float **rows, float *out) { out[threadIdx.x] = rows[threadIdx.x][0]; }\n")
    assert "`rows` has pointers" in run("inspect", rows).stderr
    for body in ("Grid g, int *out) { *out = g.n; }", "Grid *g, int *out) { g[threadIdx.x].n = *out; }"):
        assert "has pointers" not in run("inspect", write("none.cu", grid + "__global__ void f(" + body + "\n")).stderr


LINKS = {
    "at != -1": ("int", "'i32[64]=-1'"), "at >= 0": ("int", "'i32[64]=-1'"), "at != 0xffffffff": ("unsigned", "'u32[64]=4294967295'"),
    "at != 0": ("short", "'i16[64]=0'"), "next[at] != at": ("int", "'i32[64]=iota'"),
}


@pytest.mark.parametrize("goes_on", LINKS)
def test_links_of_the_line_to_copy_end(goes_on, write):
    """Random ones go round for ever, in a kernel that is right."""
    link, wanted = LINKS[goes_on]
    path = write("rank.cu", f"__global__ void rank(const {link} *next, int *length, int n) {{\n"
                 "    int i = blockIdx.x * blockDim.x + threadIdx.x, steps = 0;\n    if (i >= n) return;\n"
                 f"    for ({link} at = i; {goes_on}; at = next[at]) steps++;\n    length[i] = steps;\n}}\n")
    said = run("inspect", path).stderr.splitlines()
    assert f"--arg {wanted}" in said[1] and "`next` leads from element to element" in said[2]
    assert inspected(*shlex.split(said[1])[2:])["findings"] == []


def test_numbers_that_are_no_indices_count_up(write):
    path = write("total.cu", "__global__ void total(const int *in, const unsigned char *bytes, int *out) {\n"
                 "    out[threadIdx.x] = in[threadIdx.x] > 5 ? bytes[threadIdx.x] : in[0];\n}\n")
    assert "--arg 'i32[32]=iota' --arg 'u8[32]=iota' --arg 'i32[32]'" in run("inspect", path).stderr


# Kernels without a launch in numbers, and the launch that fits them.
FITTING = {
    "an array": ("""__global__ void k(const float *in, float *out, int n) {
    __shared__ float halo[2], s[256 + 2];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    if (i < n) out[i] = s[255 - threadIdx.x];
}""", "--grid 2 --block 256 --arg f32[512]=random:1 --arg f32[512] --arg i32:512 --print 1"),
    "bounds": ("""#define MANY 128
__global__ void __launch_bounds__(MANY, 2) k(int *out) { __shared__ int s[512]; s[threadIdx.x] = 1; out[threadIdx.x] = s[threadIdx.x]; }
""", "--block 128 --arg i32[128] --print 0"),
    "a name": ("""const int kind = 3, THREADS_PER_BLOCK = 64;
__global__ void k(int *out) { out[blockIdx.x * THREADS_PER_BLOCK + threadIdx.x] = kind; }
""", "--grid 2 --block 64 --arg i32[128] --print 0"),
    "a tile": ("""#define TILE 32
#define BLOCK_ROWS 8
__global__ void k(float *out, const float *in, int w) {
    __shared__ float tile[TILE][TILE + 1];
    for (int j = threadIdx.y; j < TILE; j += BLOCK_ROWS) tile[j][threadIdx.x] = in[j * w + threadIdx.x];
    __syncthreads();
    for (int j = threadIdx.y; j < TILE; j += BLOCK_ROWS) out[j * w + threadIdx.x] = tile[threadIdx.x][j];
}""", "--block 32,8 --arg f32[1024] --arg f32[1024]=random:1 --arg i32:32 --print 0"),
    "extern": ("""__global__ void k(double *out) {
    extern __shared__ double s[];
    s[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
int main(int argc, char **argv) { k<<<argc, 96>>>(nullptr); }
""", "--block 96 --shared 768 --arg f64[96] --print 0"),
    "a template": ("""template <typename T, int BLOCK, bool IS_UP = true>
__global__ void k(const T *in, T *out) {
    __shared__ T s[BLOCK];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = IS_UP ? s[BLOCK - 1 - threadIdx.x] : T();
}""", "--kernel k<float, 256, true> --block 256 --arg f32[256]=random:1 --arg f32[256] --print 1"),
}


@pytest.mark.parametrize("name", FITTING)
def test_the_line_to_copy_has_a_block_that_fits(name, write, compiling):
    source, wanted = FITTING[name]
    path = write("fitting.cu", source)
    done = run("inspect", path, env=compiling)
    line = done.stderr.splitlines()[-1].strip()
    assert done.returncode == 2
    assert line.replace("'", "").replace(" --grid 1", "").removeprefix(f"warpfold inspect {path} ") == wanted
    done = run(*shlex.split(line)[1:], env=compiling)
    assert (done.returncode, done.stderr) == (0, "") and "no findings" in done.stdout


@needs_nvcc
def test_each_instance_of_a_template_has_its_own_launch(write, compiling):
    path = write("instances.cu", """template <typename T, int B> __global__ void f(T *out) { out[blockIdx.x * B + threadIdx.x] = B; }
int main() {
    float *a;
    cudaMalloc(&a, 256 * sizeof(float));
    f<float,128><<<2, 128>>>(a);
    f < float, 64 ><<<4, 64>>>(a);
}
""")
    for size, grid in ((128, 2), (64, 4), (32, 2)):  # of the last there is none: the first
        said = run("inspect", path, "--kernel", f"f<float, {size}>", env=compiling).stderr
        assert f"--grid {grid} --block {size if size > 32 else 128} --arg 'f32[256]' --print 0" in said
