"""Words of memory that nothing has written may be read: it is a finding where such a value is used."""

import pytest

from finding_helpers import line_of, nvrtc  # noqa: F401
from inspect_helpers import inspected

# Thread 31 loads the word behind the keys, as the last thread of a merge does.
KEYS = """__global__ void merge(const int *in, int *out, int n) {
    __shared__ int keys[33];
    int t = threadIdx.x;
    keys[t] = in[t];
    __syncthreads();
    int next = *(volatile int *)&keys[t + 1]; // reads
    %s
}
"""
UNUSED = {
    "it is not chosen": "out[t] = t + 1 < n ? next : keys[t];",
    "its comparison does not matter": "out[t] = t + 1 < n && next < keys[t];",
    "its sum is not chosen": "int sum = next * 3 + keys[t]; asm volatile(\"\" :: \"r\"(sum)); out[t] = t < n - 1 ? sum : 7;",
    "nobody takes it in a shuffle": "int before = __shfl_up_sync(0xffffffff, next, 1); if (t > 0) out[t] = before;",
    "nobody reads it where it is stored": "*(volatile int *)&keys[t + 1] = next; out[t] = t;",
    "it is stored over": "volatile int *cell = &keys[32]; if (t == 31) *cell = next, *cell = 5; __syncwarp(); out[t] = keys[32];",
    "it is loaded again": "if (t == 31) keys[32] = 5; next = *(volatile int *)&keys[t + 1]; out[t] = next;",
}
USED = {
    "it is stored": "out[t] = next;",
    "it is stored in shared memory": "__syncwarp(); keys[t] = next + 1; __syncwarp(); out[t] = keys[t ^ 1];",
    "it decides": "if (next > 3) out[t] = 1;",
    "it is an index": "out[t] = in[next & 31];",
    "it comes by a shuffle": "int other = __shfl_xor_sync(0xffffffff, next, 31); if (t == 0) out[t] = other;",
    "its lane votes": "out[t] = __any_sync(0xffffffff, next < 0);",
}


def findings_of(write, source, *arguments, status):
    report = inspected(write("merge.cu", source), "--block", 32, "--arg", "i32[32]=iota", "--arg", "i32[32]=none", "--arg", "i32:32",
                       "--threads", 1, *arguments, status=status)
    return report["findings"]


@pytest.mark.parametrize("schedule", ["lockstep", "split", "random:3"])
@pytest.mark.parametrize("name", UNUSED)
def test_a_read_whose_value_is_not_used_is_no_finding(name, schedule, write):
    assert findings_of(write, KEYS % UNUSED[name], "--schedule", schedule, status=0) == []


@pytest.mark.parametrize("schedule", ["lockstep", "split", "random:3"])
@pytest.mark.parametrize("name", USED)
def test_a_read_whose_value_is_used_is_a_finding_at_its_line(name, schedule, write):
    source = KEYS % USED[name]
    finding, = findings_of(write, source, "--schedule", schedule, status=3)
    assert (finding["kind"], finding["line"], finding["thread"], finding["count"]) == ("uninitialised", line_of(source, "reads"), [31, 0, 0], 1)
    assert "loads 4 bytes of shared memory at byte 128, which has not been written" in finding["message"]


ROUNDS = """__global__ void merge(const int *in, int *out, int n) {
    __shared__ int keys[40];
    int t = threadIdx.x;
    keys[t] = in[t];
    __syncthreads();
    #pragma unroll 1
    for (int k = 0; k < 8; k++) {
        int next = *(volatile int *)&keys[t + k]; // reads
        if (k %s) *(volatile int *)&out[t] = next;
    }
}
"""


@pytest.mark.parametrize("rounds, count, threads", [("== 0", 0, 0), ("< 3", 2, 2), ("< 8", 7, 7), ("== 7", 1, 7)])
def test_each_read_that_is_used_counts_once(rounds, count, threads, write):
    findings = findings_of(write, ROUNDS % rounds, status=3 if count else 0)
    assert [(finding["line"], finding["count"], finding["threads"]) for finding in findings] == [
        (line_of(ROUNDS, "reads"), count, threads)] * bool(count)


VECTOR = """__global__ void merge(const int *in, int *out, int n) {
    __shared__ __align__(16) int cells[32][4];
    int t = threadIdx.x, x, y, z, w;
    for (int k = 0; k < 3; k++) cells[t][k] = in[t] + k;
    asm volatile("ld.shared.v4.u32 {%%0, %%1, %%2, %%3}, [%%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
                 : "r"((unsigned)__cvta_generic_to_shared(cells[t]))); // reads
    out[t] = x + y * z%s;
}
"""


def test_of_a_vector_each_element_is_known(write):
    assert findings_of(write, VECTOR % "", status=0) == []
    finding, = findings_of(write, VECTOR % " + w", status=3)
    assert (finding["kind"], finding["threads"]) == ("uninitialised", 32) and "at byte 12," in finding["message"]


# Each warp stores its sum, and a scan of all 32 lanes leaves sums in the words of warps that the block does not have.
SCAN = """__global__ void merge(const int *in, int *out, int n) {
    __shared__ int sums[32];
    int lane = threadIdx.x %% 32, warp = threadIdx.x / 32, at = blockIdx.x * 128 + threadIdx.x, v = in[at];
    for (int d = 1; d < 32; d *= 2) { int t = __shfl_up_sync(0xffffffffu, v, d); if (lane >= d) v += t; }
    if (lane == 31) sums[warp] = v;
    __syncthreads();
    if (warp == 0) {
        int s = sums[lane]; // reads
        for (int d = 1; d < 4; d *= 2) { int t = __shfl_up_sync(0xffffffffu, s, d); if (lane >= d) s += t; }
        sums[lane] = s;
    }
    __syncthreads();
    out[at] = v;
    %s
}
"""
OF_OTHER_WARPS = {
    "the sum of a warp that is there": ("if (warp) out[at] += sums[warp - 1];", False),
    "a sum that is stored first": ("if (lane == 0) sums[warp + 8] = warp; __syncthreads(); out[at] += sums[warp + 8];", False),
    "the sum of a warp that is not": ("if (warp) out[at] += sums[warp + 4];", True),
    "an element of a vector": ("int4 four = ((int4 *)sums)[1]; if (warp == 2) out[at] += four.y;", True),
    "by an atomic": ("if (lane == 3) atomicAdd(&sums[warp + 6], 1);", True),
    "as an index": ("out[at] = in[sums[warp + 5] & 255];", True),
}


@pytest.mark.parametrize("schedule", ["lockstep", "random:3"])
@pytest.mark.parametrize("name", OF_OTHER_WARPS)
def test_what_is_stored_in_shared_memory_counts_where_it_is_used(name, schedule, write):
    """Two blocks: the second finds its memory unwritten again."""
    use, is_found = OF_OTHER_WARPS[name]
    source = SCAN % use
    report = inspected(write("scan.cu", source), "--grid", 2, "--block", 128, "--arg", "i32[256]=iota", "--arg", "i32[256]=none", "--arg", "i32:32",
                       "--threads", 1, "--schedule", schedule, status=3 if is_found else 0)
    found = [(finding["kind"], finding["line"], finding["thread"][0] in range(4, 32)) for finding in report["findings"]]
    assert found == [("uninitialised", line_of(source, "reads"), True)] * is_found


GLOBAL = """__global__ void merge(const int *in, int *out, int n) {
    int read = *(volatile int *)&out[threadIdx.x];
    if (n < %d) out[threadIdx.x] = read + 1;
}
"""
UPDATE = """__global__ void merge(const int *in, int *out, int n) {
    __shared__ int total;
    atomicAdd(&total, in[threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) out[0] = 0;
}
"""


def test_global_memory_is_read_so_too_and_an_atomic_uses_what_it_reads(write):
    assert findings_of(write, GLOBAL % 32, status=0) == []
    finding, = findings_of(write, GLOBAL % 33, status=3)
    assert (finding["kind"], finding["threads"]) == ("uninitialised", 32) and "bytes of global memory" in finding["message"]
    finding, = findings_of(write, UPDATE, status=3)
    assert finding["kind"] == "uninitialised" and finding["message"].startswith("updates 4 bytes of shared memory at byte 0")


# A transpose without a barrier, whose tile lacks the last four rows: the load also meets what other warps store later.
TILE = """__global__ void merge(const int *in, int *out, int n) {
    __shared__ int tile[32][32];
    for (int j = 0; j < 32; j += 8)
        if (threadIdx.y + j < n - 4) tile[threadIdx.y + j][threadIdx.x] = in[(threadIdx.y + j) * n + threadIdx.x];
    for (int j = 0; j < 32; j += 8)
        out[(threadIdx.y + j) * n + threadIdx.x] = tile[threadIdx.x][threadIdx.y + j]; // reads
}
"""


@pytest.mark.parametrize("schedule", ["lockstep", "split", "random:3"])
def test_the_example_is_a_word_that_nobody_writes(schedule, write):
    report = inspected(write("tile.cu", TILE), "--block", "32,8", "--arg", "i32[1024]=iota", "--arg", "i32[1024]=none", "--arg", "i32:32",
                       "--threads", 1, "--schedule", schedule, status=3)
    finding, _ = sorted(report["findings"], key=lambda finding: finding["kind"] == "race")
    assert (finding["kind"], finding["line"]) == ("uninitialised", line_of(TILE, "reads"))
    row = finding["thread"][0]
    assert row >= 28 and finding["address"] in [row * 128 + 4 * (finding["thread"][1] + j) for j in range(0, 32, 8)]
    assert f"`tile[{row}][" in finding["message"] and f"at byte {finding['address']}," in finding["message"]


# Of the first block every word is written, though late; of the second those of half a block are not, of which one is not used.
LATE = """__global__ void merge(const int *in, int *out, int n) {
    int t = threadIdx.x, at = blockIdx.x * 64 + t;
    int next = *(volatile int *)&out[at ^ 32]; // reads
    if (t == 4 && blockIdx.x) next = 7;
    if (t < 32 || !blockIdx.x) *(volatile int *)&out[at] = in[t];
    if (n) out[128 + at] = next;
}
"""


def test_the_example_of_global_memory_is_one_that_stays_and_is_used(write):
    report = inspected(write("late.cu", LATE), "--grid", 2, "--block", 64, "--arg", "i32[64]=iota", "--arg", "i32[256]=none", "--arg", "i32:1",
                       "--threads", 1, status=3)
    finding, = report["findings"]
    assert (finding["kind"], finding["line"]) == ("uninitialised", line_of(LATE, "reads"))
    assert (finding["block"], finding["thread"]) == ([1, 0, 0], [0, 0, 0])
    assert "index 96 of `out`, int[256]" in finding["message"]


SLOW = """__global__ void copy(const int *in, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, turns = blockIdx.x ? 1 : 200000;
    for (volatile int turn = 0; turn < turns; turn++) {}
    out[i] = in[i]; // reads
}
"""


def test_the_example_is_of_the_first_block_though_another_is_sooner(write):
    report = inspected(write("copy.cu", SLOW), "--grid", 4, "--block", 32, "--arg", "i32[128]=none", "--arg", "i32[128]=none", "--arg", "i32:128",
                       "--threads", 2, status=3)
    finding, = report["findings"]
    assert (finding["kind"], finding["line"], finding["block"], finding["count"]) == ("uninitialised", line_of(SLOW, "reads"), [0, 0, 0], 4)
    assert "(index 0 of `in`" in finding["message"]
