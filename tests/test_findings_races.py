"""What is said of races: one fault is one finding, which names the strongest order that is missing."""

import re
import resource

import pytest

from finding_helpers import TREE_BY_MODULO, line_of, nvrtc  # noqa: F401
from inspect_helpers import inspected

MANY_UPDATES = "__global__ void best(int *best) {\n    int x = blockIdx.x * blockDim.x + threadIdx.x;\n" + "".join(
    f"    if (best[{i}] < x + {i}) best[{i}] = x + {i};\n" for i in range(256)) + "}\n"


def test_what_a_store_makes_is_looked_for_once_in_a_launch(write):
    """Not by each block: 64 took 30 times as long as 2, in place of twice."""
    def seconds(blocks):
        begin = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        report = inspected(write("best.cu", MANY_UPDATES), "--block", 32, "--grid", blocks, "--threads", 1, "--arg", "i32[256]",
                           status=3)
        assert report["findings"] and all("missing" in finding for finding in report["findings"])
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begin

    many, few = (min(seconds(blocks) for _ in range(2)) for blocks in (64, 2))
    assert many < 8 * few


TREE = """__global__ void sum(const float *in, float *out) {
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = in[t]; // store
    for (int k = 128; k > 0; k /= 2) {
        if (t < k) s[t] += s[t + k]; // load
        __syncthreads();
    }
    if (t == 0) out[0] = s[0];
}
"""
MATMUL = """#define T 16
__global__ void matmul(const float *a, const float *b, float *c, int n) {
    __shared__ float as[T][T], bs[T][T];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * T + y, col = blockIdx.x * T + x;
    float sum = 0;
    for (int k = 0; k < n; k += T) {
        as[y][x] = a[row * n + k + x]; // first
        bs[y][x] = b[(k + y) * n + col]; // second
        __syncthreads();
        for (int i = 0; i < T; i++)
            sum += as[y][i] * bs[i][x]; // use
    }
    c[row * n + col] = sum;
}
"""
TAIL = """__global__ void tail(const int *in, int *out) {
    __shared__ volatile int s[64];
    int t = threadIdx.x;
    s[t] = in[t];
    __syncthreads();
    if (t < 32) {
        s[t] += s[t + 16]; // one
        s[t] += s[t + 8]; // two
    }
    out[t] = s[t];
}
"""


def test_a_read_before_the_barrier_is_the_race_that_it_is(write):
    path, lines = write("tree.cu", TREE), (line_of(TREE, "store"), line_of(TREE, "load"))
    for schedule in ("lockstep", "split", "random:2"):
        report = inspected(path, "--block", 256, "--arg", "f32[256]=ones", "--arg", "f32[1]", "--schedule", schedule,
                           status=3)
        assert not report["stopped"]
        race, = report["findings"]
        assert (race["kind"], race["missing"]) == ("race", "__syncthreads()")
        assert sorted((race["line"], race["other"]["line"])) == sorted(lines)
        assert race["message"].endswith(": no __syncthreads() between line {} and line {}".format(*lines))
    # Each of 128 reads what one of 128 others writes.
    assert race["threads"] > 128 and report["counts"]["uninitialised_reads"] > 0


def test_what_nothing_writes_stays_a_finding_beside_a_race(write):
    source = TREE.replace("s[t] = in[t];", "if (t < 200) s[t] = in[t];")
    report = inspected(write("tree.cu", source), "--block", 256, "--arg", "f32[256]=ones", "--arg", "f32[1]", status=3)
    assert sorted(finding["kind"] for finding in report["findings"]) == ["race", "uninitialised"]


def test_a_read_before_the_barrier_is_a_race_though_another_fault_stops_its_block(write):
    source = TREE.replace("s[t] = in[t];", "s[t] = in[t + blockIdx.x * blockDim.x + 1];")
    report = inspected(write("tree.cu", source), "--grid", 4, "--block", 256, "--arg", "f32[1024]=ones", "--arg", "f32[1]",
                       status=3)
    assert report["stopped"] and {finding["kind"] for finding in report["findings"]} == {"race", "bounds"}


def test_what_one_barrier_orders_is_one_finding(write):
    report = inspected(write("matmul.cu", MATMUL), "--block", "16,16", "--grid", "2,2", "--arg", "f32[1024]=iota", "--arg",
                       "f32[1024]=iota", "--arg", "f32[1024]", "--arg", "i32:32", status=3)
    use = line_of(MATMUL, "use")
    finding, = report["findings"]
    # Rows of the first tile are read within a warp only, and yet what is missing is the block's barrier.
    first = line_of(MATMUL, "first")
    assert finding["message"].endswith(f": no __syncthreads() between line {use} and line {first}; "
                                       f"one there orders 2 pairs of lines that race, of lines {first} to {use}")
    assert (finding["threads"], finding["pairs"]) == (256, 2)


# A barrier behind both stores is before the load of either; the other way round, each store needs its own.
TWO_ARRAYS = """
__global__ void f(const float *in, float *out) {
    __shared__ float a[64], b[64];
    int t = threadIdx.x;
    a[t] = in[t]; // a
    b[t] = in[t + 64]; // b
    SYNC
    float first = a[63 - t]; // first
    SYNC
    out[t] = first + b[63 - t] LATER; // second
    a[t] = first; // again
}
"""


@pytest.mark.parametrize("sync, later, stretches", [
    ("", "", [("b", "first"), ("first", "again")]),  # a barrier behind both stores orders two pairs of lines
    ("", "+ a[t ^ 33]", [("b", "first"), ("second", "again")]),
    ("__syncthreads();", "", []),
])
def test_orders_that_no_single_barrier_gives_stay_apart(sync, later, stretches, write):
    source = TWO_ARRAYS.replace("SYNC", sync).replace("LATER", later)
    report = inspected(write("two.cu", source), "--block", 64, "--arg", "f32[128]=iota", "--arg", "f32[64]", status=3 if stretches else 0)
    said = [re.search(r"between line (\d+) and line (\d+)", finding["message"]).groups() for finding in report["findings"]]
    assert sorted(said) == sorted(tuple(str(line_of(source, name)) for name in pair) for pair in stretches)


def test_lanes_of_a_last_warp_lack_syncwarp(write):
    report = inspected(write("tail.cu", TAIL), "--block", 64, "--arg", "i32[64]=iota", "--arg", "i32[64]", status=3)
    one, two = line_of(TAIL, "one"), line_of(TAIL, "two")
    finding, = report["findings"]  # one fault: pairs that share lines are told as one
    assert finding["message"].endswith(f"no __syncwarp() between the load and the store of line {one}; nor at the other accesses "
                                       f"of lines {one} to {two}, of which 3 pairs race")
    assert finding["missing"] == "__syncwarp()" and finding["threads"] == 32
    assert (finding["pairs"], finding["from_line"], finding["to_line"]) == (3, one, two)


def test_steps_that_race_with_themselves_are_one_fault_and_others_stay_apart(write):
    """A barrier between the steps, none within them; further down lies another fault."""
    steps = "".join(f"    s[t] += s[t + {step}];\n    __syncwarp(); // {step}\n" for step in (4, 2, 1))
    source = ("__global__ void f(int *out) {\n    __shared__ int s[64];\n    int t = threadIdx.x;\n    s[t] = s[t + 32] = t;\n"
              f"    __syncwarp();\n{steps}    out[t] = 0;\n\n    s[t] += s[t ^ 1]; // apart\n    __syncwarp();\n    out[t] = s[t];\n}}\n")
    report = inspected(write("steps.cu", source), "--arg", "i32[32]", status=3)
    one, apart = line_of(source, "4") - 1, line_of(source, "apart")
    told = {(finding["line"], finding["to_line"], finding["pairs"]) for finding in report["findings"]}
    assert told == {(one, one + 4, 3), (apart, apart, 1)}
    assert all(finding["missing"] == "__syncwarp()" for finding in report["findings"])


FENCES = {
    "one that the reader lacks": ("""__global__ void f(int *data, int *flag, int *out) {
    if (blockIdx.x == 1) {
        *data = 42; // written
        __threadfence();
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) { } // told
        *out = *data; // here
    }
}
""", "no __threadfence() between line {written} and the atomic that tells of it, or none between line {told}, which reads that, "
    "and line {here}: only a fence and an atomic order accesses of two blocks (index 0 of `data`, int[2])"),
    "behind a barrier": ("""__global__ void f(int *data, int *flag, int *out) {
    __shared__ int number;
    data[blockIdx.x] = 42; // written
    number = atomicAdd(flag, 1); // told
    __syncthreads();
    if (number) *out = data[0] + data[1]; // here
}
""", "no __threadfence() between line {written} and the atomic that tells of it, or none between line {told}, which reads that, "
    "and line {here}: only a fence and an atomic order accesses of two blocks (index"),
    "a plain flag": ("""__global__ void f(int *data, int *flag, int *out) {
    if (blockIdx.x == 0) *data = 42; // written
    else *out = *data; // here
}
""", "behind line {written} a __threadfence() and an atomic that tells of it, before line {here} an atomic that reads that and a "
    "__threadfence(); or a second launch"),
    "a lock": ("""__global__ void f(int *data, int *flag, int *out) {
    while (atomicCAS(flag, 0, 1) != 0) { }
    *data += 1; // here
    atomicExch(flag, 0);
}
""", "no __threadfence() between the atomic that takes the lock and line {here}, and before it is freed"),
    "sums of blocks": ("""__global__ void f(int *data, int *flag, int *out) {
    data[0] += blockIdx.x; // here
}
""", "no atomic operation such as atomicAdd() at line {here}, where threads read, change and write"),
    "a neighbour's": ("""__global__ void f(int *data, int *flag, int *out) {
    data[blockIdx.x] = 42; // here
    __syncthreads();
    if (data[(blockIdx.x + 1) % gridDim.x] == 7) out[0] = 1; // read
}
""", "behind line {here} a __threadfence() and an atomic that tells of it, before line {read} an atomic that reads that and a "),
    "one result of all": ("""__global__ void f(int *data, int *flag, int *out) {
    *out = blockIdx.x; // here
}
""", "blocks overwrite each other's result: an element for each block, or an atomic such as atomicAdd()"),
}


@pytest.mark.parametrize("schedule", ["lockstep", "split", "random:1"])
@pytest.mark.parametrize("name", FENCES)
def test_two_blocks_are_told_their_fences_once(name, schedule, write):
    source, said = FENCES[name]
    report = inspected(write("blocks.cu", source), "--grid", 2, "--block", 1, "--schedule", schedule, "--arg", "i32[2]=zeros",
                       "--arg", "i32[1]=zeros", "--arg", "i32[1]", status=3)
    finding, = report["findings"]
    lines = {marked: line_of(source, marked) for marked in re.findall(r"// (\w+)$", source, re.MULTILINE)}
    assert finding["kind"] == "race" and lines["here"] in (finding["line"], finding["other"]["line"])
    assert said.format(**lines) in finding["message"]


IN_PLACE = {
    "on a line": ("a[i] = a[i - 1] + a[i] + a[i + 1]; // load", "blocks overwrite what others have still to read: line {load} must store to another array"),
    "on two lines": ("float sum = a[i - 1] + a[i + 1]; // load\n    __syncthreads();\n    a[i] = sum; // store",
                     "blocks overwrite what others have still to read at line {load}: line {store} must store to another array; or, if line {load} is to "
                     "read what they store, a second launch"),
}


@pytest.mark.parametrize("schedule", ["lockstep", "random:2"])
@pytest.mark.parametrize("name", IN_PLACE)
def test_blocks_that_work_in_place_are_told_to_store_elsewhere(name, schedule, write):
    """Whichever of the two came first in the run."""
    lines, said = IN_PLACE[name]
    source = f"__global__ void f(float *a) {{\n    int i = 1 + blockIdx.x * blockDim.x + threadIdx.x;\n    {lines}\n}}\n"
    report = inspected(write("smooth.cu", source), "--grid", 4, "--block", 64, "--schedule", schedule, "--arg", "f32[258]=iota", status=3)
    places = {marked: line_of(source, marked) for marked in ("load", "store") if f"// {marked}" in source}
    assert any(said.format(**places) in finding["message"] for finding in report["findings"])


def test_races_known_already_are_counted_one_by_one(write):
    """Each store to an element that another thread has stored to; those of one instruction are not a finding."""
    source = "__global__ void f(int *out, int n) { for (int k = 0; k < n; k++) out[k % 32] = k; }\n"
    finding, = inspected(write("stores.cu", source), "--block", 32, "--arg", "i32[32]", "--arg", "i32:2000", status=3)["findings"]
    assert finding["kind"] == "race" and finding["count"] == 2000 - 32


def test_a_read_before_the_barrier_is_one_race_in_a_grid_of_any_size(write):
    """Of each block it is known what became of the words that it read too early."""
    source = TREE_BY_MODULO.replace("    __syncthreads();\n    for", "    for").replace("int k = 1; k < 256; k *= 2", "int k = 128; k > 0; k /= 2")
    source = source.replace("t % (2 * k) == 0", "t < k")
    report = inspected(write("tree.cu", source), "--block", 256, "--grid", 70, "--arg", f"f32[{70 * 256}]=iota", "--arg", "f32[70]", status=3)
    finding, = report["findings"]
    assert finding["kind"] == "race" and "no __syncthreads() between line 4 and line 6" in finding["message"]
    assert report["counts"]["uninitialised_reads"] > 4096


def test_threads_that_store_one_result_are_told_so_and_rounds_lack_a_barrier(write):
    source = """__global__ void f(int *out, int n) {
    __shared__ int last, s[64];
    last = threadIdx.x; // last
    #pragma unroll 1
    for (int i = 0; i < n; i++)
        s[(threadIdx.x + i) & 63] = i; // round
    __syncthreads();
    out[threadIdx.x] = last + s[threadIdx.x];
}
"""
    findings = inspected(write("stores.cu", source), "--block", 64, "--arg", "i32[64]", "--arg", "i32:4", status=3)["findings"]
    said = {finding["line"]: finding["message"].split(": ", 1)[1] for finding in findings}
    assert said == {line_of(source, "last"): "threads overwrite each other's result: an element for each, or one thread that stores it, "
                                             "or an atomic such as atomicAdd()",
                    line_of(source, "round"): f"no __syncthreads() between the stores of line {line_of(source, 'round')}"}


SIDES = {
    "halves of a warp": (32, """__global__ void f(float *out) {
    __shared__ float s[64];
    if (threadIdx.x < 16)
        s[threadIdx.x] = threadIdx.x; // one
    else
        out[threadIdx.x] = s[threadIdx.x - 16]; // other
}
""", "different sides of a branch: split it in two with __syncwarp() between them"),
    "two warps": (64, """__global__ void f(float *out) {
    __shared__ float s[64];
    if (threadIdx.x < 32)
        s[threadIdx.x] = threadIdx.x; // one
    else
        out[threadIdx.x] = s[threadIdx.x - 32]; // other
}
""", "different sides of a branch: split it in two with __syncthreads() between them"),
    "a flag that is polled": (32, """__global__ void f(float *out) {
    __shared__ volatile int flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x < 16)
        flag = 1; // one
    else
        while (!flag) ; // other
    out[threadIdx.x] = 1;
}
""", "different sides of a branch: split it in two with __syncwarp() between them, or hand over by an atomic flag"),
    "sides that a loop takes by turns": (32, """__global__ void f(float *out) {
    __shared__ volatile float s[64];
    float sum = 0;
    #pragma unroll 1
    for (int i = 0; i < 4; i++)
        if ((threadIdx.x + i) % 2)
            s[threadIdx.x] = i; // one
        else
            sum += s[threadIdx.x ^ 1]; // other
    out[threadIdx.x] = sum;
}
""", "no __syncwarp() between line "),
    "a function that is called twice": (32, """__shared__ float s[64];
__device__ __noinline__ float go(bool stores) {
    if (stores) s[threadIdx.x] = threadIdx.x; // one
    else return s[threadIdx.x ^ 1]; // other
    return 0;
}
__global__ void f(float *out) {
    out[threadIdx.x] = go(true) + go(out[threadIdx.x] == 1);
}
""", "no __syncwarp() between line {one} and line {other}"),
}


@pytest.mark.parametrize("name", SIDES)
def test_no_barrier_is_asked_for_between_the_sides_of_a_branch(name, write):
    threads, source, said = SIDES[name]
    findings = inspected(write("sides.cu", source), "--block", threads, "--arg", "f32[64]=zeros", status=3)["findings"]
    finding, = (found for found in findings if found["kind"] == "race")
    lines = {marked: line_of(source, marked) for marked in ("one", "other")}
    assert {finding["line"], finding["other"]["line"]} == set(lines.values())
    assert said.format(**lines) in finding["message"]


# Parts of one array of shared memory: how they begin, the two lines, and whether they overlap by mistake.
PARTS = {
    "of two types": ("float *a = (float *)smem; double *b = (double *)(smem + 64);", "a[t] = t;", "b[t] = t;", True),
    "of one type, one behind the other": ("float *a = (float *)smem, *b = a + 20;", "a[t] = t;", "out[t] = b[t];", True),
    "swapped": ("float *a = (float *)smem, *b = a + 20; if (n) { float *c = a; a = b; b = c; }", "a[t] = t;", "out[t] = b[t];", False),
    "a thread's own": ("float *a = (float *)smem, *b = a + threadIdx.x / 2;", "a[t] = t;", "out[t] = b[0];", False),
    "the same": ("float *a = (float *)smem, *b = a + 64;", "a[t] = t + b[t + 64];", "out[t] = a[t ^ 33];", False),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_of_shared_memory_that_overlap_are_told_of_before_a_barrier(name, write):
    parts, one, other, is_told = PARTS[name]
    source = f"""__global__ void f(float *out, int n) {{
    extern __shared__ char smem[];
    int t = threadIdx.x;
    {parts}
    {one} // one
    {other} // other
}}
"""
    report = inspected(write("parts.cu", source), "--block", 64, "--shared", 1024, "--arg", "f32[64]", "--arg", "i32:1", status=3)
    race = next(finding for finding in report["findings"] if finding["kind"] == "race")
    said = "`a` and `b`, parts of `smem`, overlap there: begin one behind the end of the other; or, if they take turns there, no __syncthreads()"
    assert (said in race["message"]) is is_told and "overlap" not in race["message"].replace(said, "")
    one, other = line_of(source, "one"), line_of(source, "other")
    assert race["message"].endswith(f"no __syncthreads() between line {one} and line {other}")


def test_a_race_in_the_only_warp_may_need_a_barrier_of_the_block(write):
    """Blocks of several warps show which barrier it is, unless the launch was stopped before the others came there."""
    source = """__global__ void f(int *out, int n) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = t; // one
    out[t] = s[t ^ 1]; // other
    if (n) out[t + (1 << 20)] = 1;
}
"""
    for threads, n, is_told in ((32, 0, True), (64, 0, False), (64, 1, True)):
        race = inspected(write("few.cu", source), "--block", threads, "--arg", "i32[64]", "--arg", f"i32:{n}", status=3)["findings"][0]
        said = f"no __syncwarp() between line {line_of(source, 'one')} and line {line_of(source, 'other')}"
        assert race["message"].endswith(said + "; where other warps come here, too, __syncthreads()" * is_told)


def test_what_several_warps_update_is_ready_for_all_of_them(write):
    """Of elements that lanes of one warp clear the accesses of others are hidden by what these have stored since."""
    source = """__global__ void count(const int *in, int *out) {
    __shared__ int bins[64];
    int t = threadIdx.x;
    bins[t] = 0; // clear
    bins[in[t]]++; // count
    __syncthreads();
    out[t] = bins[t];
}
"""
    findings = inspected(write("bins.cu", source), "--block", 64, "--arg", "i32[64]=" + ",".join(str(i % 7) for i in range(64)),
                         "--arg", "i32[64]", status=3)["findings"]
    count, clear = (line_of(source, name) for name in ("count", "clear"))
    assert [{finding["line"], finding["other"]["line"]} for finding in findings] == [{count}, {clear, count}]
    assert "no atomic operation such as atomicAdd()" in findings[0]["message"]
    assert findings[1]["message"].endswith(f"no __syncthreads() between line {clear} and line {count}")


BULK = """__global__ void f(const float *in, float *out, int rounds) {
    __shared__ alignas(16) float tile[128];
    __shared__ unsigned long long bar;
    unsigned b = (unsigned)__cvta_generic_to_shared(&bar), t = (unsigned)__cvta_generic_to_shared(tile);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1; fence.proxy.async;" :: "r"(b) : "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 512;" :: "r"(b) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 512, [%2];"
                     :: "r"(t), "l"(in), "r"(b) : "memory"); // one
    }
    out[threadIdx.x] = tile[threadIdx.x] * 2; // two
}
"""
PIPELINE = """#include <cuda_pipeline.h>
__global__ void f(const float *in, float *out, int rounds) {
    __shared__ float tile[128];
    int t = threadIdx.x;
    float s = 0;
    for (int r = 0; r < rounds; r++) {
        __pipeline_memcpy_async(&tile[t], &in[r * 128 + t], 4); // one
        __pipeline_commit();
        __pipeline_wait_prior(0);
        s += tile[127 - t]; // two
    }
    out[t] = s;
}
"""
PLAIN = PIPELINE.replace("__pipeline_memcpy_async(&tile[t], &in[r * 128 + t], 4)", "tile[t] = in[r * 128 + t]").replace(
    "        __pipeline_commit();\n        __pipeline_wait_prior(0);\n", "")
FLAG = """__device__ int data, flag;
__global__ void f(const float *in, float *out, int rounds) {
    if (threadIdx.x + blockIdx.x == 0) { data = rounds; flag = 1; } // one
    while (!*(volatile int *)&flag) { } // two
    out[threadIdx.x] = data;
}
"""
WAITED = """__global__ void f(const float *in, float *out, int rounds) {
    __shared__ volatile int flag;
    int t = threadIdx.x;
    if (t == 0) flag = 0;
    __syncthreads();
    if (t == 0) while (!flag) { } // two
    if (t == 5) flag = rounds; // one
    out[t] = 1;
}
"""
ROUNDS = "; nor one between line {two} of one round and line {one} of the next$"


@pytest.mark.parametrize("source, grid, said", [
    (BULK, 1, "the copy is not done before the phase of its mbarrier is over, for which nothing waits in between$"),
    (PIPELINE, 1, "no barrier, and no mbarrier .* comes before the copy; line {two} must also have waited for the copy of line {one} where it "
     "reads what was copied$"),
    (PLAIN, 1, r"no __syncthreads\(\) between line {one} and line {two}" + ROUNDS),
    (FLAG, 2, "line {two} waits for it in a loop, and a plain store sets it: .* that orders line {one} and line 5, too, which race as well"),
    (WAITED, 1, r"line {two} waits for it in a loop, .*: __syncthreads\(\) in place of the loop"),
], ids=["bulk copy", "pipeline", "one buffer", "flag", "waited for"])
def test_orders_that_are_missing_between_the_same_lines_are_one_finding(source, grid, said, write):
    findings = inspected(write("f.cu", source), "--grid", grid, "--block", 128, "--arg", "f32[512]=ones", "--arg", "f32[128]", "--arg", "i32:4",
                         status=3)["findings"]
    lines = {name: line_of(source, name) for name in ("one", "two")}
    (finding,) = findings
    assert finding["kind"] == "race" and {finding["line"], finding["other"]["line"]} == set(lines.values())
    assert re.search(said.format(**lines), finding["message"]), finding["message"]


SEEN = """__global__ void f(const int *in, int *out) {
    __shared__ int seen[32], count;
    int t = threadIdx.x;
    if (t < 32) seen[t] = count = 0;
    __syncthreads();
    int w = in[t] & 31;
    if (!seen[w]) seen[w] = 1; // claim
    __syncthreads();
    if (t < 32) out[t] = seen[t] + count;
}
"""
FIRST = ("if (!seen[w]) seen[w] = 1;", "if (!seen[w]) { seen[w] = 1; atomicAdd(&count, 1); }")
OWNER = ("if (!seen[w]) seen[w] = 1;", "if (!seen[w]) seen[w] = t + 1;")
SPREAD = ("if (!seen[w]) seen[w] = 1;", "if (t < 31 && !seen[t] && !seen[t + 1]) seen[t] = 1;")


@pytest.mark.parametrize("change, said, cure", [
    (("", ""), "no atomic operation such as atomicExch() (or leave the test out: all store the same value) at line 7", "seen[w] = 1;"),
    (FIRST, "no atomic operation such as atomicCAS(), which tells who is first, at line 7", "if (!atomicExch(&seen[w], 1)) atomicAdd(&count, 1);"),
    (OWNER, "no atomic operation such as atomicCAS(), which tells who is first, at line 7", "atomicCAS(&seen[w], 0, t + 1);"),
    (SPREAD, "no __syncwarp() between", None),
], ids=["one value", "counted", "whose", "neighbours"])
def test_who_stores_where_nobody_seems_to_have_stored_lacks_an_atomic(change, said, cure, write):
    """But not who reads a neighbour's element at that line, too."""
    source = SEEN.replace(*change) if change[0] else SEEN
    arguments = ("--block", 64, "--arg", "i32[64]=iota", "--arg", "i32[32]")
    (finding,) = inspected(write("f.cu", source.replace("& 31", "& 15")), *arguments, status=3)["findings"]
    assert finding["kind"] == "race" and finding["line"] == 7 and said in finding["message"], finding["message"]
    if cure:
        lines = source.split("\n")
        lines[6] = "    " + cure
        assert not inspected(write("cured.cu", "\n".join(lines)), *arguments, status=0)["findings"]


LAST_BLOCK = """__device__ unsigned count;
__device__ float sums[64], greatest[64];
__global__ void f(const float *in, float *out, int n) {
    __shared__ bool is_last;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = in[i] + in[i + 1];
        greatest[blockIdx.x] = in[i]; // written
        %s
        is_last = atomicAdd(&count, 1) == gridDim.x - 1; // told
    }
    __syncthreads();
    if (!is_last || threadIdx.x) return;
    %s
    for (int b = 0; b < gridDim.x; b++) out[0] += sums[b]; // read
    for (int b = 0; b < gridDim.x; b++) out[1] = fmaxf(out[1], greatest[b]);
    count = 0; // cleared
}
"""
LAST_BLOCK_ARGUMENTS = ["--grid", 8, "--block", 64, "--arg", "f32[600]=iota", "--arg", "f32[2]=zeros", "--arg", "i32:512"]


@pytest.mark.parametrize("schedule", ["lockstep", "split", "random:1"])
def test_a_last_block_without_a_fence_is_one_fault(schedule, write):
    """Two arrays that the last block reads, and the count that it sets to 0."""
    source = LAST_BLOCK % ("", "")
    finding, = inspected(write("last.cu", source), "--schedule", schedule, *LAST_BLOCK_ARGUMENTS, status=3)["findings"]
    lines = {mark: line_of(source, mark) for mark in ("written", "told", "read", "cleared")}
    assert f"no __threadfence() between line {lines['read'] - 8} and the atomic that tells of it, or none between line {lines['told']}, which " \
           f"reads that, and line {lines['read']}" in finding["message"]
    assert f"; just before it and just behind it the two order 2 pairs of lines that race, of lines {lines['read'] - 8} to {lines['read'] + 1}" in finding["message"]
    assert inspected(write("last.cu", LAST_BLOCK % (("__threadfence();",) * 2)), *LAST_BLOCK_ARGUMENTS, status=0)["findings"] == []


def test_a_count_that_is_set_to_0_by_a_plain_store_alone(write):
    source = """__device__ unsigned count;
__global__ void f(float *sum) {
    atomicAdd(sum, 1.0f);
    if (atomicAdd(&count, 1) == gridDim.x - 1) // told
        count = 0; // cleared
}
"""
    finding, = inspected(write("count.cu", source), "--grid", 8, "--block", 1, "--arg", "f32[1]=zeros", status=3)["findings"]
    told, cleared = line_of(source, "told"), line_of(source, "cleared")
    assert f"line {told} updates it while line {cleared} accesses it by no atomic: let that be an atomic, too (atomicExch(), say), or put a " \
           f"__threadfence() before line {told} and one behind it" in finding["message"]
    inspected(write("count.cu", source.replace("count = 0;", "atomicExch(&count, 0);")), "--grid", 8, "--block", 1, "--arg", "f32[1]=zeros", status=0)


PRODUCT = """__global__ void product(const float *a, const float *b, float *c, int n) {
    __shared__ float as[16][16], bs[16][16];
    int x = threadIdx.x, y = threadIdx.y;
    float sum = 0;
%s
    c[y * n + x] = sum;
}
"""
STORES = "as[y][x] = a[y * n + x + %s]; // first\nbs[y][x] = b[(y + %s) * n + x]; // last\n"
READS = "for (int k = 0; k < 16; k++) {\nfloat left = as[y][k]; // reads a\nsum += left * bs[k][x]; // reads b\n}\n"
LOOP = "for (int tile = 0; tile < n; tile += 16) {\n%s%s%s%s}\n"
# The body, and between which lines the barrier is missing.
PRODUCTS = {
    "one tile": (STORES % ("0", "0") + READS, "last", "reads a"),
    "before the reads": (LOOP % (STORES % ("tile", "tile"), "", READS, "__syncthreads();\n"), "last", "reads a"),
    "behind the reads": (LOOP % (STORES % ("tile", "tile"), "__syncthreads();\n", READS, ""), "reads b", "first"),
}


@pytest.mark.parametrize("schedule", ["lockstep", "split", "random:2"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_a_product_of_tiles_without_a_barrier_is_one_fault(name, schedule, write):
    """Rows of a tile are a warp's own, columns are not: two pairs of lines that need not lack the same, and share no line."""
    body, before, behind = PRODUCTS[name]
    source = PRODUCT % body
    arguments = ["--block", "16,16", "--arg", "f32[1024]=iota", "--arg", "f32[1024]=iota", "--arg", "f32[1024]", "--arg", "i32:32"]
    finding, = inspected(write("product.cu", source), "--schedule", schedule, *arguments, status=3)["findings"]
    lines = [line_of(source, mark) for mark in ("first", "reads b")]
    assert f"no __syncthreads() between line {line_of(source, before)} and line {line_of(source, behind)}; one there orders 2 pairs of lines " \
           f"that race, of lines {lines[0]} to {lines[1]}" in finding["message"]
    mark = source.index("\n", source.index(f"// {before}")) + 1
    mark += len("}\n") if before == "reads b" else 0
    cured = source[:mark] + "__syncthreads();\n" + source[mark:]
    assert inspected(write("cured.cu", cured), "--schedule", schedule, *arguments, status=0)["findings"] == []


def test_two_barriers_that_are_missing_are_two_faults(write):
    source = """__global__ void f(const float *in, float *out) {
    __shared__ float a[256], b[256];
    int t = threadIdx.x;
    a[t] = in[t]; // a
    b[t] = a[(t + 33) % 256]; // b
    out[t] = b[(t + 65) % 256]; // c
}
"""
    findings = inspected(write("two.cu", source), "--block", 256, "--arg", "f32[256]=iota", "--arg", "f32[256]", status=3)["findings"]
    a, b, c = (line_of(source, mark) for mark in "abc")
    assert sorted(finding["message"].partition(": no ")[2] for finding in findings) == [
        f"__syncthreads() between line {a} and line {b}", f"__syncthreads() between line {b} and line {c}"]
