"""Advice on slow kernels: counts, the least possible, and what the cure gives, as it does."""

import re
from pathlib import Path

import pytest

from cli_helpers import run
from finding_helpers import TRANSPOSE, TRANSPOSED, TREE_BY_MODULO, WRONG, line_of, nvrtc  # noqa: F401
from inspect_helpers import inspected

ROOT = Path(__file__).resolve().parent.parent


def numeral(number):
    """As sentences have it: from five digits on in groups of three."""
    return f"{number:,}" if number >= 10_000 else str(number)


def foretold(advice):
    """What ends a cure: the count that it gives, and beside it that which is."""
    unit = "barrier" if (advice["unit"], advice["count"]) == ("barriers", 1) else advice["unit"]
    return f"then {numeral(advice['then'])} instead of {numeral(advice['count'])} {unit}"


def test_divergence_that_no_numbering_avoids_is_not_advised(write):
    """The last warp of a tree parts, however its threads are numbered."""
    tree = TREE_BY_MODULO.replace("int k = 1; k < 256; k *= 2", "int k = 128; k > 0; k /= 2").replace("t % (2 * k) == 0", "t < k")
    report = inspected(write("tree.cu", tree.replace("256", "64").replace("128", "32")), "--block", 64, "--grid", 3, "--arg",
                       "f32[192]=iota", "--arg", "f32[3]")
    assert report["counts"]["utilization"] < 0.85 and report["counts"]["divergent_branches"] >= 8 and report["advice"] == []


def test_bank_conflicts_and_what_padding_would_give(write):
    path = write("transpose.cu", TRANSPOSE)
    advice, = inspected(path, *TRANSPOSED)["advice"]
    assert (advice["kind"], advice["line"]) == ("bank-conflict", line_of(TRANSPOSE, "turn"))
    assert (advice["count"], advice["least"]) == (32 * 32 * 4, 32 * 4)
    assert advice["cure"] == f"pad the row: `tile[32][33]` for `tile[32][32]`; {foretold(advice)}"
    padded = inspected(write("padded.cu", TRANSPOSE.replace("[32][32]", "[32][33]")), *TRANSPOSED)
    line, = [line for line in padded["lines"] if line["line"] == advice["line"]]
    assert padded["advice"] == [] and advice["then"] == line["shared_wavefronts"]


TWO_ARRAYS = """__global__ void other(float *out) {
    __shared__ float tile[32][32];
    tile[threadIdx.x][0] = 1;
    out[0] = tile[0][threadIdx.x];
}
"""
COLUMNS = """#define COLUMNS %d
__global__ void f(%s *out) {
    __shared__ float apart[32][COLUMNS * sizeof(%s) / 4];
    __shared__ %s rows[32][COLUMNS];
    for (int i = 0; i < COLUMNS; i++)
        rows[threadIdx.x][i] = out[i]; // here
    apart[threadIdx.x][0] = 1;
    __syncthreads();
    out[threadIdx.x] = rows[31 - threadIdx.x][COLUMNS - 1];
}
"""


@pytest.mark.parametrize("element, columns, then", [("float", 8, 8), ("float", 24, 24), ("float", 32, 32), ("double", 16, 32),
                                                    ("float4", 8, 32), ("short", 64, 64), ("unsigned char", 128, 128)])
def test_rows_are_padded_by_what_their_elements_need(element, columns, then, write):
    """The array that the line has, not another one of such rows; the count is what it then is."""
    source = TWO_ARRAYS + COLUMNS % (columns, element, element, element)
    arguments = ["--kernel", "f", "--arg", {"float": "f32", "double": "f64", "short": "i16"}.get(element, "u8") + "[2048]=zeros"]
    advice, = [advice for advice in inspected(write("rows.cu", source), *arguments)["advice"] if advice["line"] == line_of(source, "here")
               and advice["kind"] == "bank-conflict"]
    padded, name = re.match(r"pad the row: `(.*)` for `(.*)`; then ", advice["cure"]).groups()
    assert name == "rows[32][COLUMNS]" and advice["then"] == then and advice["cure"].endswith(f"; {foretold(advice)}")
    line, = [line for line in inspected(write("padded.cu", source.replace(name, padded)), *arguments)["lines"]
             if line["line"] == advice["line"]]
    assert line["shared_wavefronts"] == then


def test_of_arrays_without_rows_neighbouring_words_are_advised(write):
    source = """__global__ void f(float *out) {
    __shared__ float tile[4][8], flat[256];
    tile[threadIdx.x / 8][threadIdx.x % 8] = 1;
    for (int i = 0; i < 8; i++)
        flat[threadIdx.x * 8 + i] = out[i]; // here
    __syncthreads();
    out[threadIdx.x] = flat[255 - threadIdx.x] + tile[0][0];
}
"""
    advice, = inspected(write("flat.cu", source), "--arg", "f32[64]=zeros")["advice"]
    assert advice["line"] == line_of(source, "here") and (advice["count"], advice["then"]) == (64, 8)
    assert "threadIdx.x without a factor" in advice["cure"] and "pad the row" not in advice["cure"]


def test_words_that_data_choose_are_no_matter_of_padding(write):
    source = """__global__ void f(const int *which, float *out) {
    __shared__ float s[1024];
    for (int i = threadIdx.x; i < 1024; i += 32) s[i] = i;
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < 32; i++) sum += s[which[i * 32 + threadIdx.x] & 1023];
    out[threadIdx.x] = sum;
}
"""
    report = inspected(write("gather.cu", source), "--arg", "i32[1024]=random:3", "--arg", "f32[32]")
    assert report["advice"] == [] and report["counts"]["shared_wavefronts"] > 2 * report["counts"]["shared_wavefronts_least"] - 32


def test_lanes_that_wait_for_a_lock_are_not_told_to_be_numbered_otherwise(write):
    source = """__global__ void f(int *lock, int *total) {
    for (bool done = false; !done;)
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            *(volatile int *)total += 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
}
"""
    report = inspected(write("lock.cu", source), "--block", 64, "--arg", "i32[1]=zeros", "--arg", "i32[1]=zeros", "--print", "1")
    assert report["values"][0]["elements"] == [64] and report["divergent_branches"] >= 64
    assert report["findings"] == [] and "divergence" not in {advice["kind"] for advice in report["advice"]}


def test_advice_leaves_the_status_unless_strict(write):
    path = write("transpose.cu", TRANSPOSE)
    done = run("inspect", path, *TRANSPOSED)
    assert done.returncode == 0 and done.stdout.endswith("\nno findings, 1 piece of advice\n")
    assert run("inspect", path, *TRANSPOSED, "--strict").returncode == 3


SLOW = {
    "uncoalesced": ("""__global__ void f(const float *in, float *out) {
    float sum = 0;
    for (int c = 0; c < 8; c++)
        sum += in[threadIdx.x * 8 + c]; // here
    out[threadIdx.x] = sum;
}
""", ["--block", 64, "--arg", "f32[512]=iota", "--arg", "f32[64]"], 8 * 64, 8 * 2 * 4, "each 32 bytes from the next lane's"),
    "contended-atomic": ("""__global__ void f(int *out) {
    atomicAdd(out, (int)threadIdx.x); // here
}
""", ["--block", 256, "--arg", "i32[1]=zeros"], 256, 1, "where 1 would do if each block combined"),
    "divergence": ("""__global__ void f(float *out) {
    float v = threadIdx.x;
    for (int i = 0; i < 16; i++)
        if (threadIdx.x % 2) v = v * v + out[threadIdx.x]; // here
        else v = v + 1 / (v + 2);
    out[threadIdx.x] = v;
}
""", ["--block", 64, "--arg", "f32[64]=zeros"], 32, 0, "part the lanes of their warp"),
    "repeated-work": ("""__global__ void f(const float *in, float *out, int n) {
    for (int i = threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = 2 * in[i]; // here
}
""", ["--block", 64, "--grid", 4, "--arg", "f32[256]=iota", "--arg", "f32[256]", "--arg", "i32:64"], 4 * 64 * 4, 64 * 4,
                      "every one of the 4 blocks stores the same values to the same elements"),
    "redundant-barrier": ("""__global__ void f(float *out) {
    __shared__ float s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    float v = s[63 - threadIdx.x];
    __syncthreads();
    __syncthreads(); // here
    s[threadIdx.x] = v;
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x ^ 1];
}
""", ["--block", 64, "--grid", 3, "--arg", "f32[64]"], 3, 0, "orders nothing"),
    "low-occupancy": ("""extern __shared__ float s[];
__global__ void f(float *out) {
    s[threadIdx.x] = threadIdx.x; // here
    out[threadIdx.x] = s[threadIdx.x];
}
""", ["--block", 128, "--shared", 100_000, "--arg", "f32[128]"], 8, 64, "100,000 bytes of shared memory and 128 threads"),
}


@pytest.mark.parametrize("index, cure", [("threadIdx.x * 4", "an array for each member of a struct"), ("threadIdx.x * 64", "or move a tile"),
                                         ("threadIdx.x * threadIdx.x * 8", "where data choose them, sorted data")])
def test_scattered_accesses_are_cured_by_how_far_lanes_are_apart(index, cure, write):
    source = f"__global__ void f(const float *in, float *out) {{ out[threadIdx.x] =\n  in[{index}]; }}\n"
    advice, = inspected(write("apart.cu", source), "--block", 128, "--arg", "f32[131072]=iota", "--arg", "f32[128]")["advice"]
    assert (advice["kind"], advice["line"], advice["least"]) == ("uncoalesced", 2, 16)
    assert cure in advice["cure"] and advice["cure"].endswith(f"; then 16 instead of {advice['count']} sectors")


def test_the_distance_is_that_of_the_accesses_that_are_scattered(write):
    """On the same line lies a store to neighbours; and an offset of one element is no distance."""
    source = """struct point { float x, y, z, w; };
__global__ void f(const point *in, float *out) { out[threadIdx.x + 1] = in[threadIdx.x].x + in[threadIdx.x].w; }
"""
    advice, = inspected(write("points.cu", source), "--block", 128, "--arg", "u8[2048]=zeros", "--arg", "f32[129]")["advice"]
    assert advice["kind"] == "uncoalesced" and ", each 16 bytes from the next lane's: " in advice["message"]
    assert "an array for each member of a struct" in advice["cure"]


PLANES = """#define DEEP 4
__global__ void f(float *out) {
    __shared__ float q[32]%s;
    int t = threadIdx.x;
    for (int i = 0; i < 32; i++) q[t]%s = i; // here
    __syncthreads();
    out[t] = q[0]%s;
}
"""


@pytest.mark.parametrize("extents, row", [("[DEEP][8]", "[DEEP * 8 + 1]"), ("[2 * 2][2][4]", "[2 * 2 * 2 * 4 + 1]"), ("[2 * 16]", "[33]"),
                                          ("[DEEP * 8]", "[DEEP * 8 + 1]")])
def test_planes_are_padded_as_rows(extents, row, write):
    index = {1: "[i]", 2: "[i / 8][i % 8]", 3: "[i / 8][i / 4 % 2][i % 4]"}[extents.count("[")]
    source = PLANES % (extents, index, index.replace("i", "t"))
    advice, = (one for one in inspected(write("planes.cu", source), "--arg", "f32[32]")["advice"] if one["kind"] == "bank-conflict")
    assert (advice["line"], advice["count"]) == (line_of(source, "here"), 1024)
    assert advice["cure"] == f"pad the row: `q[32]{row}` for `q[32]{extents}`; then 32 instead of 1024 wavefronts"
    padded = inspected(write("padded.cu", PLANES % (row, "[i]", "[t]")), "--arg", "f32[32]")
    assert [line["shared_wavefronts"] for line in padded["lines"] if line["line"] == advice["line"]] == [32]


def test_warps_with_parts_of_several_rows_want_wider_blocks(write):
    """Rows are padded, but a warp of a block of 16 x 16 has halves of two of them."""
    source = """__global__ void f(float *out, int w) {
    __shared__ float tile[32][33];
    tile[threadIdx.y][threadIdx.x] = w; // here
    __syncthreads();
    out[threadIdx.y * w + threadIdx.x] = tile[threadIdx.y][w - 1 - threadIdx.x];
}
"""
    path = write("wide.cu", source)
    advice = inspected(path, "--block", "16,16", "--arg", "f32[256]", "--arg", "i32:16")["advice"][0]
    assert (advice["kind"], advice["line"], advice["count"], advice["then"]) == ("bank-conflict", line_of(source, "here"), 16, 8)
    assert advice["cure"].startswith("let the lanes of a warp access one row") and "blocks that are 32 threads wide" in advice["cure"]
    cured = inspected(path, "--block", "32,8", "--arg", "f32[256]", "--arg", "i32:32")
    assert cured["advice"] == []
    assert [line["shared_wavefronts"] for line in cured["lines"] if line["line"] == line_of(source, "here")] == [8]


@pytest.mark.parametrize("kind", SLOW)
def test_advice(kind, write):
    source, arguments, count, least, said = SLOW[kind]
    advice, = [advice for advice in inspected(write("slow.cu", source), *arguments)["advice"] if advice["kind"] == kind]
    assert advice["message"] and advice["cure"]
    assert (advice["count"], advice["least"]) == (count, least)
    assert said in advice["message"]
    if kind != "low-occupancy":  # which is the launch's
        assert advice["line"] == line_of(source, "here")


WARPS = """int sum = __reduce_add_sync(0xffffffff, (unsigned)threadIdx.x);
    if (threadIdx.x % 32 == 0) atomicAdd(out, sum); // here"""
# The slow kernel, its arguments, what cures it, and the count that tells.
CURED = {
    "uncoalesced": (*SLOW["uncoalesced"][:2], {"threadIdx.x * 8 + c": "c * 64 + threadIdx.x"}, "global_sectors"),
    "contended-atomic": (*SLOW["contended-atomic"][:2], {"atomicAdd(out, (int)threadIdx.x); // here": WARPS}, "atomics"),
    "divergence": (TREE_BY_MODULO, ["--block", 256, "--grid", 3, "--arg", "f32[768]=iota", "--arg", "f32[3]"],
                   {"if (t % (2 * k) == 0) s[t] += s[t + k];":
                    "int i = 2 * k * t; if (i < 256) s[i] += s[i + k];"}, "divergent_branches"),
    "redundant-barrier": (*SLOW["redundant-barrier"][:2], {"__syncthreads(); // here": "; // here"}, "barriers"),
}


@pytest.mark.parametrize("kind", CURED)
def test_the_cure_gives_the_count_that_advice_tells(kind, write):
    source, arguments, cure, counter = CURED[kind]
    advice, = [advice for advice in inspected(write("slow.cu", source), *arguments)["advice"] if advice["kind"] == kind]
    assert advice["count"] > advice["then"] >= advice["least"]
    told = f"all: {numeral(advice['then'])} instead of {numeral(advice['count'])} atomics" if kind == "contended-atomic" else foretold(advice)
    assert told in advice["cure"]
    numbers = re.findall(r"(?<![\w.,])\d[\d,]*", advice["message"])
    assert numeral(advice["count"]) in numbers and all(one == numeral(int(one.replace(",", ""))) for one in numbers)
    for old, new in cure.items():
        assert old in source
        source = source.replace(old, new)
    cured = inspected(write("cured.cu", source), *arguments)
    assert kind not in {advice["kind"] for advice in cured["advice"]}
    counts = {line["line"]: line[counter] for line in cured["lines"]}
    assert counts.get(line_of(source, "here"), 0) == advice["then"]


@pytest.mark.parametrize("block, shared, warp", [(128, 100_000, 32), (96, 60_000, 32), (16, 64, 8), (512, 150_000, 32)])
def test_occupancy_that_the_cure_gives(block, shared, warp, write):
    path = write("slow.cu", SLOW["low-occupancy"][0])

    def ask(threads, nbytes):
        return inspected(path, "--block", threads, "--shared", nbytes, "--warp", warp, "--arg", f"f32[{threads}]")

    advice, = [advice for advice in ask(block, shared)["advice"] if advice["kind"] == "low-occupancy"]
    assert advice["count"] < advice["then"] <= advice["least"] == 64
    larger = re.match(r"larger blocks, of (\d+) threads for example; (.*)$", advice["cure"])
    less = re.match(r"at most ([\d,]+) bytes of shared memory for each block of (\d+) threads; (.*)$", advice["cure"])
    threads, nbytes = (int(larger[1]), shared * int(larger[1]) // block) if larger else (int(less[2]), int(less[1].replace(",", "")))
    assert (larger or less)[2 if larger else 3] == foretold(advice)
    assert ask(threads, nbytes)["counts"]["occupancy"] * 64 == advice["then"]
    if less:
        assert ask(threads, nbytes + 129)["counts"]["occupancy"] * 64 < advice["then"]


@pytest.mark.parametrize("block, shared, blocks", [(16, 64, 32), (32, 128, 32), (1024, 120_000, 1)])
def test_half_of_the_warps_are_few_where_more_blocks_wait(block, shared, blocks, write):
    """A multiprocessor of an H100 holds 32 blocks and 64 warps: of blocks of one warp, whole or half, exactly half."""
    path = write("slow.cu", SLOW["low-occupancy"][0])

    def advised(threads, grid, nbytes=shared):
        report = inspected(path, "--block", threads, "--grid", grid, "--shared", nbytes, "--arg", f"f32[{threads}]")
        assert report["counts"]["resident_blocks"] >= blocks
        return [advice for advice in report["advice"] if advice["kind"] == "low-occupancy"]

    (advice,), few = advised(block, blocks + 1), advised(block, blocks)
    assert (advice["count"], advice["then"], advice["least"], few) == (32, 64, 64, [])
    threads = int((re.search(r"larger blocks, of (\d+) threads", advice["cure"]) or [0, block])[1])
    nbytes = int((re.search(r"at most ([\d,]+) bytes", advice["cure"]) or [0, f"{shared * threads // block}"])[1].replace(",", ""))
    assert advised(threads, blocks + 1, nbytes) == []


def test_barriers_before_a_stop_are_not_called_redundant(write):
    source, arguments, _, _ = WRONG["neighbour"]
    assert inspected(write("wrong.cu", source), *arguments, status=3)["advice"] == []


# Kernels whose barriers marked `spare` order nothing; the others do, or would with more rounds or other data.
SPARE = """#include <cooperative_groups.h>
__device__ int halves(int *s, int t, int v) {
    s[t] = v;
    for (int k = 32; k; k >>= 1) {
        __syncthreads();
        if (t < k) s[t] += s[t + k];
    }
    return s[t];
}
__global__ void own(int *out, int n) {
    __shared__ int s[64];
    s[threadIdx.x] = n;
    __syncthreads(); // spare
    out[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x];
}
__global__ void rounds(int *out, int n) {
    __shared__ int s[64], total;
    int t = threadIdx.x;
    s[t] = t;
    for (int k = 32; k; k >>= 1) {
        cooperative_groups::this_thread_block().sync();
        int v = t < k ? s[t + k] : 0;
        __syncthreads(); // spare
        if (t < k) s[t] += v;
    }
    if (t == 0) total = s[0];
    __syncthreads();
    out[t] = total;
}
__global__ void either(int *out, int n) {
    __shared__ int s[64];
    s[threadIdx.x] = n;
    __syncthreads(); // spare
    out[threadIdx.x] = n;
    __syncthreads();
    out[threadIdx.x] += s[63 - threadIdx.x];
}
__global__ void tiles(int *out, int n) {
    __shared__ int s[64];
    int v = 0;
    for (int i = 0; i < n; i++) {
        s[threadIdx.x] = i;
        __syncthreads();
        v += s[63 - threadIdx.x];
        __syncthreads();
    }
    out[threadIdx.x] = v;
}
__global__ void counted(int *out, int n) {
    out[threadIdx.x] = __syncthreads_count(threadIdx.x < n);
}
__global__ void last_block(int *out, int n) {
    out[threadIdx.x] = n;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(out + 127, 1);
}
__global__ void called(int *out, int n) { out[threadIdx.x] = halves(out + 64, threadIdx.x, n); }
"""


@pytest.mark.parametrize("kernel, rounds, count", [("own", 1, 2), ("rounds", 1, 6), ("either", 1, 1), ("tiles", 1, 0), ("tiles", 2, 0),
                                                   ("tiles", 9, 0), ("counted", 1, 0), ("last_block", 1, 0), ("called", 1, 0)])
def test_barriers_that_order_nothing(kernel, rounds, count, write):
    path = write("spare.cu", SPARE)
    begin = SPARE[:SPARE.index(f"void {kernel}(")].count("\n")
    marked = [number for number, line in enumerate(SPARE.splitlines()[begin:], begin + 1) if "// spare" in line][:1]
    report = inspected(path, "--kernel", kernel, "--block", 64, "--grid", 2 if kernel == "own" else 1, "--arg", "i32[128]=zeros",
                       "--arg", f"i32:{rounds}")
    told = [(advice["line"], advice["count"], advice["then"]) for advice in report["advice"] if advice["kind"] == "redundant-barrier"]
    assert told == ([(marked[0], count, 0)] if count else [])


# What the first comments of these rungs admit; the others have no advice.
ADMITTED = {"00": {"contended-atomic": "atomic operations on one address"},
            "01": {"uncoalesced": "scattered|apart", "divergence": "every warp diverges"},
            "03": {"divergence": "divergence is back", "bank-conflict": "bank"},
            "04": {"divergence": "every warp diverges"},
            "05": {"bank-conflict": "ever fewer banks"}}


@pytest.mark.parametrize("ptx", sorted((ROOT / "ladder" / "ptx").glob("*.sum.f32.ptx")), ids=lambda path: path.name[:2])
def test_rungs_get_the_advice_that_their_comments_admit(ptx):
    text = (ROOT / "ladder" / f"{ptx.name.split('.')[0]}.cu").read_text()
    facts, block, grid = dict(re.findall(r"^// (\w+): (\S+)", text, re.MULTILINE)), 256, 8
    tile = int(facts["Tile"]) if facts["Tile"].isdigit() else 4
    shared = {"0": 0, "1": block, "2": 2 * block, "warp": block // 32}.get(facts["Shared"], 16 * block)
    n = grid * block * tile
    arguments = [f"f32[{n}]=random:1", "u64:0", f"u64:{n}", f"u64:{n // grid}", f"f32[{grid}]", "u64:0", "f32[1]=zeros",
                 "u64:0", "u32[1]=zeros"]
    report = inspected(ptx, "--grid", grid, "--block", block, "--shared", 4 * shared,
                       *(word for argument in arguments for word in ("--arg", argument)))
    assert report["findings"] == []
    admitted = ADMITTED.get(ptx.name[:2], {})
    assert {advice["kind"] for advice in report["advice"]} == set(admitted)
    comment = " ".join(re.match(r"(?://.*\n)*", text).group().replace("//", " ").split())
    for words in admitted.values():
        assert re.search(words, comment), words


@pytest.mark.parametrize("store, status", [("if (threadIdx.x % 32 == 0) out[0] = 1;", 0), ("out[threadIdx.x] = blockIdx.x < 3;", 3),
                                           ("if (blockIdx.x == threadIdx.x / 64) out[threadIdx.x] = 1;", 0),
                                           ("atomicExch(&out[threadIdx.x], 1.0f);", 0), ("out[threadIdx.x + (blockIdx.x & 1)] = 1;", 0)])
def test_blocks_that_share_a_flag_or_a_border_do_no_repeated_work(store, status, write):
    """Nor do those that store other values, or parts of their own."""
    report = inspected(write("own.cu", "__global__ void f(float *out) { " + store + " }\n"), "--block", 256, "--grid", 4, "--arg", "f32[512]=zeros",
                       status=status)
    assert "repeated-work" not in {advice["kind"] for advice in report["advice"]}
