"""What findings call the places in memory that they speak of: arrays and elements, as the source has them."""

import re

import pytest

from finding_helpers import line_of, nvrtc  # noqa: F401
from inspect_helpers import inspected

UNWRITTEN = """__global__ void f(float *out, int n) {
    __shared__ double other[8];
    __shared__ float tile[256];
    extern __shared__ int more[];
    other[threadIdx.x % 8] = 1;
    if (threadIdx.x != 37) tile[threadIdx.x] = n;
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x] + other[0]; // one
    if (threadIdx.x < 4) out[threadIdx.x] += more[threadIdx.x + 2]; // dynamic
}
"""


def test_unwritten_shared_memory_is_told_by_array_and_element(write):
    findings = inspected(write("unwritten.cu", UNWRITTEN), "--block", 256, "--shared", 64, "--arg", "f32[256]", "--arg", "i32:4",
                         status=3)["findings"]
    findings.sort(key=lambda finding: finding["line"])
    assert [(finding["kind"], finding["line"]) for finding in findings] == [
        ("uninitialised", line_of(UNWRITTEN, name)) for name in ("one", "dynamic")]
    assert [finding["message"].split(": ")[-1] for finding in findings] == [
        f"store it first{left_out}, or read an element that was stored; shared memory is undefined when a block begins ({element})"
        for left_out, element in (
            (" (line 6 stores there, but its condition, a return before it or its index leaves this element out; where there is no element, a "
             "neutral one, as 0 for a sum)", "index 37 of `tile`, float[256]"), ("", "index 2 of `more`, int[16]"))]


def test_a_race_in_shared_memory_is_told_by_array_and_element(write):
    source = UNWRITTEN.replace("    __syncthreads();\n", "").replace("tile[threadIdx.x] + other", "tile[255 - threadIdx.x] + other")
    findings = inspected(write("race.cu", source), "--block", 256, "--shared", 64, "--arg", "f32[256]", "--arg", "i32:4",
                         status=3)["findings"]
    race = next(finding for finding in findings if finding["kind"] == "race" and "`tile`" in finding["message"])
    byte, index = re.search(r"at byte (\d+) \(index (\d+) of `tile`, float\[256\]\) races with the", race["message"]).groups()
    assert (int(byte) - int(index) * 4) in (0, 64)  # `other` may lie before it


# Kernels of which one element of `t` is out of bounds, or raced for; `t` as it is told.
ARRAYS = {
    "constants of all kinds": ("""#define DEEP 2
constexpr int WIDE = 1 << 5;
__global__ void f(const float *in, float *out) {
    __shared__ float one[4], t[DEEP][2 * DEEP][WIDE];
    int lane = threadIdx.x;
    t[lane / 32 + 1][3][lane % 32] = in[lane];
    out[lane] = t[0][3][lane % 32] + one[0];
}""", "(`t[2][3][0]`, float[2][4][32])"),
    "a template's extent": ("""template <int ROWS> __global__ void f(const float *in, float *out) {
    __shared__ double t[ROWS][8];
    t[threadIdx.x / 8][threadIdx.x % 8] = in[threadIdx.x];
    out[threadIdx.x] = t[0][0];
}
template __global__ void f<4>(const float *, float *);""", "(`t[4][0]`, double[4][8])"),
    "vectors": ("""__global__ void f(const float *in, float *out) {
    __shared__ float4 t[60];
    t[threadIdx.x].x = in[threadIdx.x];
    out[threadIdx.x] = t[0].x;
}""", "(index 60 of `t`, float4[60])"),
    "extents that differ": ("""__global__ void f(const float *in, float *out) {
    __shared__ float t[4][8];
    t[threadIdx.x / 8][threadIdx.x % 8] = in[threadIdx.x];
    out[threadIdx.x] = t[0][0];
}
__device__ void other() { __shared__ float t[8][4]; t[0][0] = 0; }""", "(index 32 of `t`, float[32])"),
    "extents that are not known": ("""template <int N> __global__ void f(const float *in, float *out) {
    __shared__ float t[N][N + 1];
    t[threadIdx.x / 5][threadIdx.x % 5] = in[threadIdx.x];
    out[threadIdx.x] = t[0][0];
}
template __global__ void f<4>(const float *, float *);""", "(index 20 of `t`, float[20])"),
    "before the first": ("""__global__ void f(const float *in, float *out) {
    __shared__ float t[4][8];
    int i = threadIdx.x - 1;
    t[0][i] = in[threadIdx.x];
    out[threadIdx.x] = t[0][0];
}""", "(index -1 of `t`, float[4][8])"),
}


BEHIND_ARRAY = ": each index must be below its extent, or the array be greater"
BEFORE_ARRAY = ": no element comes before the first: leave it out there, or correct the index"


@pytest.mark.parametrize("name", ARRAYS)
def test_an_element_is_told_as_the_source_has_its_array(name, write):
    source, element = ARRAYS[name]
    findings = inspected(write("arrays.cu", source), "--block", 64, "--arg", "f32[64]=iota", "--arg", "f32[64]", status=3)["findings"]
    cure = BEFORE_ARRAY if "-1" in element else BEHIND_ARRAY
    assert [finding["message"].endswith(element + cure) for finding in findings if finding["kind"] == "bounds"] == [True]


TOO_SHORT = """__global__ void f(const double *in, double *out) {
    extern __shared__ double s[];
    __shared__ int of_a_fixed_size[4];
    of_a_fixed_size[threadIdx.x % 4] = 0;
    s[threadIdx.x] = in[threadIdx.x]; // here
    __syncthreads();
    out[threadIdx.x] = s[31 - threadIdx.x] + of_a_fixed_size[0];
}
"""


@pytest.mark.parametrize("given", [0, 128])
def test_an_extern_array_that_the_launch_makes_too_short(given, write):
    path = write("short.cu", TOO_SHORT)
    finding = inspected(path, "--shared", given, "--arg", "f64[32]=ones", "--arg", "f64[32]", status=3)["findings"][-1]
    assert (finding["kind"], finding["line"], finding["thread"]) == ("bounds", line_of(TOO_SHORT, "here"), [given // 8, 0, 0])
    assert finding["message"] == (f"stores 8 bytes of shared memory at byte {16 + given} of {16 + given} (index {given // 8} of `s`, "
                                  f"double[{given // 8}]): {'the index must be below 16, or the array greater: ' if given else ''}an `extern` array has "
                                  f"the {given} bytes that the launch gives it, as the "
                                  "third number in <<< >>> (--shared)")


def test_an_index_before_an_extern_array(write):
    source = TOO_SHORT.replace("s[threadIdx.x] = in", "s[(int)threadIdx.x - 7] = in").replace("of_a_fixed_size[threadIdx.x % 4] = 0;", "")
    finding, = inspected(write("before.cu", source.replace(" + of_a_fixed_size[0]", "")), "--shared", 256, "--arg", "f64[32]=ones", "--arg",
                         "f64[32]", status=3)["findings"]
    assert finding["message"].startswith("stores 8 bytes of shared memory at byte -56 of 256 (index -7 of `s`, double[32]): no element "
                                         "comes before the first: leave it out there, or correct the index")


def test_an_array_of_the_thread_s_own_is_told_as_that(write):
    source = """__global__ void f(int *out, int n) {
    int a[4];
    for (int i = 0; i <= n; i++) a[i & 7] = i;
    out[threadIdx.x] = a[n - 3];
}
"""
    finding, = inspected(write("own.cu", source), "--block", 32, "--arg", "i32[32]", "--arg", "i32:4", status=3)["findings"]
    assert (finding["kind"], finding["line"]) == ("bounds", 3)
    assert finding["message"].endswith("of local memory at byte 16 of 16: an index beyond an array of the thread's own")


CARVED = """struct both { float one[32], other[32]; };
extern __shared__ float pool[];
__global__ void f(float *out, int n, int which) {
    __shared__ both fields;
    __shared__ float a[32], b[32];
    __shared__ alignas(16) unsigned char raw[256];
    int t = threadIdx.x;
    float *first = pool, *second = pool + n, *chosen = which ? a : b, *words = (float *)raw;
    first[t] = fields.one[t] = fields.other[t] = a[t] = b[t] = t;
    second[t] = first[t + 0 * n];
    words[t] = words[t + 32] = 1;
    __syncwarp();
    if (t < 16) ((float4 *)raw)[t].x = 1;
    __syncwarp();
    chosen += t;
    *chosen += 1;
    for (int k = 0; k < 4; k++, chosen = chosen == a + t ? b + t : a + t) *chosen += words[t] + second[t];
    __syncthreads();
    out[t] = fields.one[31 - t] + fields.other[t] + chosen[0] + pool[n + t] + pool[t];
}
"""


def test_arrays_that_a_kernel_carves_or_chooses_are_within_bounds(write):
    for which in (0, 1):
        report = inspected(write("carved.cu", CARVED), "--shared", 256, "--arg", "f32[32]", "--arg", "i32:32", "--arg", f"i32:{which}")
        assert report["findings"] == []


# Kernels that race for a variable of the module, or leave it; what it is called.
VARIABLES = {
    "one number": ("""__device__ unsigned total = 7;
__global__ void f(int *out, int i) { total = total + threadIdx.x; }
""", "race", r"\(`total`\) races with the"),
    "an array": ("""__device__ float table[2][32];
__device__ float first(const float *table) { return table[0]; }
__global__ void f(int *out, int i) { table[1][threadIdx.x & 3] += first(table[0]); }
""", "race", r"\(`table\[1\]\[\d\]`, float\[2\]\[32\]\) races with the"),
    "of a namespace, private": ("""namespace shop { static __device__ float2 pairs[8]; }
__global__ void f(int *out, int i) { shop::pairs[5].y += 1; }
""", "race", r"\(index 5 of `pairs`, float2\[8\]\) races with the"),
    "structs": ("""struct entry { int key, count; };
__device__ entry entries[4];
__global__ void f(int *out, int i) { entries[1].count += 1; }
""", "race", r"\(index 1 of `entries`, entry\[4\], in `.count`\) races with the"),
    "behind its end": ("""__device__ int other;
__device__ double sums[60];
__global__ void f(int *out, int i) { out[threadIdx.x] = sums[threadIdx.x] + other; }
""", "bounds", r"byte 480 of an allocation of 480 \(index 60 of `sums`, double\[60\]\): each index must be below its extent, or the array be greater$"),
    "before its begin": ("""__device__ int other[4], lock;
__global__ void f(int *out, int i) { out[threadIdx.x] = atomicAdd(&lock + i, other[0]); }
""", "bounds", r"\(index -1 of `lock`, int\[1\]\)"),
    "constants": ("""__constant__ float weights[48];
__global__ void f(int *out, int i) { out[threadIdx.x] = weights[threadIdx.x]; }
""", "bounds", r"\(index 48 of `weights`, float\[48\]\): each index must be below its extent, or the array be greater$"),
    "a flag that nobody sets": ("""__device__ volatile int flags[4];
__global__ void f(int *out, int i) { while (!flags[2]) ; }
""", "runaway", r"it reads global memory at 0x[0-9a-f]+ \(index 2 of `flags`, int\[4\]\)$"),
}


@pytest.mark.parametrize("name", VARIABLES)
def test_variables_of_the_module_are_told_by_name_and_index(name, write):
    source, kind, said = VARIABLES[name]
    finding, = inspected(write("variables.cu", source), "--block", 64, "--arg", "i32[64]", "--arg", "i32:-1", status=3)["findings"]
    assert finding["kind"] == kind and re.search(said, finding["message"]), finding["message"]


STRUCTS = """struct Cell { int key, more[2]; double value; char tag[3]; };
typedef struct { float x, y; } Point; // in `.z`
__device__ Cell table[4];
__global__ void k(Point *points, float4 *v, int n) {
    __shared__ Cell cells[8];
    int t = threadIdx.x;
    if (n == 0) points[t].y = 1;
    if (n == 1) v[t].z = 1;
    if (n == 2) table[t].tag[1] = 1;
    if (n == 3) cells[t].value = t;
    __syncthreads();
    if (n == 3) v[0].x = cells[t ^ 1].value;
}
"""


@pytest.mark.parametrize("number, said", enumerate(["(index 10 of `points`, Point[10], in `.y`)", "(index 16 of `v`, float4[16])",
                                                    "(index 4 of `table`, Cell[4], in `.tag`)", "(index 8 of `cells`, Cell[8], in `.value`)"]))
def test_elements_of_structs_are_named_with_their_member(number, said, write):
    finding, = inspected(write("structs.cu", STRUCTS), "--block", 32, "--arg", "u8[80]=zeros", "--arg", "f32[64]=zeros", "--arg",
                         f"i32:{number}", status=3)["findings"]
    assert finding["kind"] == "bounds" and finding["message"].endswith(
        said + ("; a guard such as if (t < n) must leave that out, unless the index is calculated wrongly or too little is allocated" if number < 2 else BEHIND_ARRAY))


AWAY = """__global__ void f(const float *in, const int *from, float *out, int n) {
    unsigned t = threadIdx.x;
    if (n == 0) out[t] = in[t - 1];
    if (n == 1) out[t] = from[t + 7];
    if (n == 2) out[t + (1ll << 40)] = 1;
    if (n == 3) out[(int)((t + 40000) * 60000)] = 1;
}
"""


@pytest.mark.parametrize("number, said", enumerate(["`in[4294967295]`, an index of -1 if it were signed: no element comes before the "
                                                    "first, and an unsigned number is never below 0: leave it out there, or correct the index", "`from[7]`, a pointer to nothing",
                                                    "`out[1099511627776]`",
                                                    "`out[-1894967296]`, as by an int that has grown beyond 2,147,483,647: long long, or "
                                                    "size_t, for it and for the factors that it is calculated from"]))
def test_an_index_far_from_its_array_is_told_with_it(number, said, write):
    """The address leads to no allocation: the pointer that it was calculated from tells whose it is."""
    finding, = inspected(write("away.cu", AWAY), "--block", 1, "--arg", "f32[4]=zeros", "--arg", "u64:0", "--arg", "f32[4]", "--arg",
                         f"i32:{number}", status=3)["findings"]
    assert finding["kind"] == "bounds" and finding["message"].endswith(f"where nothing is allocated: {said}"), finding["message"]


HEAP = """struct node { node *next; float x; };
__device__ node *kept;
__global__ void f(const float *in, float *out) {
    float *own = (float *)malloc(20); // own
    own[threadIdx.x & 3] = in[threadIdx.x];
    out[threadIdx.x] = own[threadIdx.x & 3];
    if (threadIdx.x & 1) free(own);
    node *list = nullptr;
    for (int i = 0; i < 3 && threadIdx.x == 5; i++) list = new node{list, in[i]}; // list
    if (KEEPS && list) kept = list;
}
"""


@pytest.mark.parametrize("keeps, told", [("false", [("own", 20, 16), ("list", 16, 3)]), ("true", [("own", 20, 16)])])
def test_memory_of_a_kernel_to_which_nothing_leads_is_a_leak_at_the_line_that_allocates_it(keeps, told, write):
    """But not what a variable still leads to, by way of another element: a later launch may free it."""
    source = HEAP.replace("KEEPS", keeps)
    findings = inspected(write("heap.cu", source), "--block", 32, "--arg", "f32[32]=ones", "--arg", "f32[32]", status=3)["findings"]
    assert [(finding["kind"], finding["line"], finding["count"]) for finding in findings] == [
        ("leak", line_of(source, name), count) for name, _, count in told]
    assert all(finding["message"].startswith(f"allocates {nbytes} bytes that are not freed") for finding, (_, nbytes, _) in zip(findings, told))


SIDES = """__device__ __forceinline__ void wait(int how) { if (how) __syncthreads(); }
__global__ void f(const float *in, float *out) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = in[t];
    if (t >= 32) {
        IN_ONE // one
        out[t] = s[t - 32];
    } else {
        IN_OTHER // other
        out[t] = s[t + 32];
    }
}
"""
NAMED = 'asm volatile("bar.sync 3, 64;" ::: "memory");'


@pytest.mark.parametrize("one, other, is_told", [
    ("__syncthreads();", "__syncthreads();", True), (NAMED, NAMED, False),
    ("for (int i = 0; i < 3; i++) __syncthreads();", "for (int i = 0; i < 3; i++) __syncthreads();", True),
    ("wait(1);", "wait(1);", False)], ids=["two", "named", "rounds", "one line inlined twice"])
def test_warps_that_wait_at_different_barriers_of_the_block_are_told(one, other, is_told, write):
    """Whichever side's warps come first; a line of a function is one barrier."""
    source = SIDES.replace("IN_ONE", one).replace("IN_OTHER", other)
    arguments = ("--block", 64, "--grid", 2, "--arg", "f32[64]=ones", "--arg", "f32[64]")
    for text in (source, source.replace("t >= 32", "t < 32 == blockIdx.x % 2").replace("t - 32", "63 - t").replace("t + 32", "63 - t")):
        findings = [finding for finding in inspected(write("f.cu", text), *arguments, status=3 * is_told)["findings"]
                    if finding["kind"] == "barrier"]
        assert len(findings) == is_told
        if is_told:
            assert findings[0]["line"] in {line_of(text, "one"), line_of(text, "other")}
            assert re.match(r"threads (0-31|32-63) wait at line \d+; (0-31|32-63) wait at line \d+: warps that wait at different "
                            r"__syncthreads\(\)", findings[0]["message"])


GUARDED = """__global__ void f(const float *in, float *out, int width, int height) {
    int row = %s, column = blockIdx.x * blockDim.x + threadIdx.x; // if (column < 1 || row < 1) of a comment
    %s // guard
    out[row * width + column] = 2 * in[row * width + column]; // here
}
"""
ROW = "threadIdx.y + (blockIdx.y * 16)"
HERE = "; `row` is 50 and `column` is 0 here; "
UNLESS = ", unless the index is calculated wrongly or too little is allocated"
# The guard, the thread that is the first to leave the array, and what is said.
GUARDS = {
    "one is enough": ("if (column < width || row < height)", HERE + "line {} lets threads through of which `row` or `column` alone is below its extent, and both "
                      "must be: && in place of ||"),
    "turned round": ("if (height > row || width > column)", HERE + "line {} lets threads through of which `row` or `column` alone is below its extent, and both must "
                     "be: && in place of ||"),
    "one sends away": ("if (row >= height && column >= width) return;", HERE + "line {} sends threads away only where both `row` and `column` are beyond their "
                       "extents: || in place of &&"),
    "none": ("", HERE + "a guard such as if (row < n && column < m), each with its own extent, must leave that out" + UNLESS),
    "one of the two": ("if (column < width)", HERE + "only `column` is compared with an extent: a guard must compare `row` with its own, too" + UNLESS),
    "the other's": ("if (column < width && row < height + 1)", "; a guard such as if (i < n) must leave that out" + UNLESS),
}


@pytest.mark.parametrize("name", GUARDS)
def test_of_a_guard_of_two_dimensions_it_is_said_what_it_lacks(name, write):
    guard, said = GUARDS[name]
    source = GUARDED % (ROW, guard)
    arguments = ["--grid", "5,4", "--block", "16,16", "--arg", "f32[3500]=iota", "--arg", "f32[3500]", "--arg", "i32:70", "--arg", "i32:50",
                 "--threads", 1]  # of several, another block may be the first to end the launch
    finding, = inspected(write("guarded.cu", source), *arguments, status=3)["findings"]
    assert (finding["kind"], finding["line"]) == ("bounds", line_of(source, "here"))
    assert finding["message"].endswith("(index 3500 of `in`, float[3500])" + said.format(line_of(source, "guard"))), finding["message"]
    inspected(write("right.cu", GUARDED % (ROW, "if (column < width && row < height)")), *arguments, status=0)


INDEXED = """__global__ void f(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, left = blockIdx.x * blockDim.x;
    %s
        out[i - left] = in[%s]; // here
}
"""
ONE_TOO_MANY = "line 3 lets `i` be equal to `n`, which is one too many: "


@pytest.mark.parametrize("guard, index, said", [
    ("if (i <= n)", "i", ONE_TOO_MANY + "< in place of <=, unless too little is allocated"),
    ("for (; i <= n; i += 128)", "i", ONE_TOO_MANY + "< in place of <=, unless too little is allocated"),
    ("if (i < 0 || i > n) return;", "i", ONE_TOO_MANY + ">= in place of >, unless too little is allocated"),
    ("if (i < n)", "i + 1", "a guard such as if (i + 1 < n) must leave that out" + UNLESS),
    ("if (i <= n - 1)", "i + 28", "a guard such as if (i + 28 < n) must leave that out" + UNLESS),
    ("if (n > 28)", "i", "a guard such as if (i < n) must leave that out" + UNLESS),
    ("if (i < n)", "2 * i", "a guard such as if (i < n) must leave that out" + UNLESS),
])
def test_of_one_index_it_is_said_what_the_guard_lacks(guard, index, said, write):
    finding, = inspected(write("indexed.cu", INDEXED % (guard, index)), "--block", 128, "--arg", "f32[100]=iota", "--arg", "f32[128]", "--arg", "i32:100",
                         status=3)["findings"]
    assert (finding["kind"], finding["line"]) == ("bounds", 4) and finding["message"].endswith("`in`, float[100]); " + said), finding["message"]


TILED = """__global__ void f(const float *in, float *out, int width, int height) {
    int x = blockIdx.x * 32 + threadIdx.x%s;
    for (int j = %s; j < 32; j += 8) {
        %s
            out[(%s) * width + x] = 2; // here
    }
}
"""


@pytest.mark.parametrize("guard", ["x < width || {} < height", "height > {} || x < width"])
@pytest.mark.parametrize("row", ["y + j", "row"])
def test_rows_of_a_loop_are_an_index_too(row, guard, write):
    """Which row it is there the text does not tell."""
    begin = (", y = blockIdx.y * 32 + threadIdx.y", "0", "") if row == "y + j" else ("", "threadIdx.y", "int row = blockIdx.y * 32 + j;")
    source = TILED % (*begin[:2], begin[2] + f"if ({guard.format(row)})", row)
    finding, = inspected(write("tiled.cu", source), "--grid", "3,2", "--block", "32,8", "--arg", "f32[1]=iota", "--arg", "f32[3500]",
                         "--arg", "i32:70", "--arg", "i32:50", status=3)["findings"]
    assert "lets threads through of which `" in finding["message"] and finding["message"].endswith("both must be: && in place of ||")
    assert " here; " not in finding["message"]


def test_indices_of_which_the_text_does_not_say_enough_are_not_told(write):
    """Of two tiles, or one index alone, or of a block whose width is no number."""
    for row in ("blockIdx.y * width + threadIdx.y", "blockIdx.x * 32 + threadIdx.y", "blockIdx.y + blockDim.y * threadIdx.y"):
        source = GUARDED % (row, "if (row * 16 < height || column < width)")
        finding = inspected(write("guarded.cu", source), "--grid", "5,4", "--block", "16,16", "--arg", "f32[64]=iota", "--arg", "f32[64]", "--arg",
                            "i32:70", "--arg", "i32:50", status=3)["findings"][0]
        assert finding["kind"] == "bounds" and "`column` is " not in finding["message"]
