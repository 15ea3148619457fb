"""Kernels that the simulator was not made for, as learners write them, run through `warpfold inspect`.

Expected values are computed here, in plain Python.  Every kernel is right, so none may have a finding.  What the
language brings, arithmetic and whole algorithms are in test_kernels_language.py.
"""

import functools
import itertools
import math
import operator
from fractions import Fraction

import pytest

from kernel_helpers import (
    KERNELS, SCHEDULES, Case, changed, check, doubles, f32, floats, given, numbers, result, zeros)

CASES = []


def kernel(make):
    CASES.append(make())
    return make


# ---- arrays and matrices -------------------------------------------------------------------------------


@kernel
def vector_add():
    a, b = floats(1, 1000), floats(2, 1000)
    return Case("vector_add.cu", "vector_add", "4", "256",
                [given("f32", a), given("f32", b), result("f32", [f32(x + y) for x, y in zip(a, b)]), "u32:1000"],
                counts={"divergent_branches": 1, "global_requests": 3 * 32, "global_sectors": 3 * 125,
                        "coalescing": 1, "bank_degree": 1, "barriers": 0, "atomics": 0})


@kernel
def vector_add_strided():
    a, b = doubles(3, 1000), doubles(4, 1000)
    return Case("vector_add.cu", "vector_add_strided", "3", "96",
                [given("f64", a), given("f64", b), result("f64", [x + y for x, y in zip(a, b)]), "i64:1000"])


@kernel
def vector_add_4():
    a, b = floats(5, 1000), floats(6, 1000)
    return Case("vector_add.cu", "vector_add_4", "2", "128",
                [given("f32", a), given("f32", b), result("f32", [f32(x + y) for x, y in zip(a, b)]), "i32:250"],
                counts={"global_sectors": 3 * 125, "coalescing": 1})


def transposed(kernel, width, height, **counts):
    matrix = floats(7, width * height)
    out = [matrix[y * width + x] for x in range(width) for y in range(height)]
    return Case("transpose.cu", kernel, f"{-(-width // 32)},{-(-height // 32)}", "32,8",
                [given("f32", matrix), result("f32", out), f"i32:{width}", f"i32:{height}"], counts=counts)


@kernel
def transpose_plain():
    return transposed("transpose_plain", 70, 45, bank_degree=32)


@kernel
def transpose_padded():
    return transposed("transpose_padded", 70, 45, bank_degree=1)


@kernel
def transpose_straight():
    case = transposed("transpose_straight", 64, 32, global_load_requests=64, global_store_requests=64 * 32,
                      global_store_sectors=64 * 32)
    case.grid = "2,4"
    return case


@kernel
def matmul():
    m, k, n = 33, 20, 40
    a, b = numbers(8, m * k, -9, 9), numbers(9, k * n, -9, 9)
    out = [sum(a[i * k + t] * b[t * n + j] for t in range(k)) for i in range(m) for j in range(n)]
    return Case("matmul.cu", "matmul<16>", "3,3", "16,16",
                [given("f32", a), given("f32", b), result("f32", out), f"i32:{m}", f"i32:{k}", f"i32:{n}"],
                counts={"barriers": 9 * 2 * 2, "bank_degree": 1})


@kernel
def sparse_by_vector():
    lengths = numbers(10, 20, 0, 70)
    begins = [0, *itertools.accumulate(lengths)]
    columns, values = numbers(11, begins[-1], 0, 49), numbers(12, begins[-1], -9, 9)
    x = numbers(13, 50, -9, 9)
    out = [sum(values[i] * x[columns[i]] for i in range(begins[r], begins[r + 1])) for r in range(20)]
    return Case("matmul.cu", "sparse_by_vector", "5", "128",
                [given("i32", begins), given("i32", columns), given("f64", values), given("f64", x),
                 result("f64", out), "i32:20"])


@kernel
def stencil():
    n, data = 1000, numbers(14, 1000, -99, 99)
    padded = [0, *data, 0]
    out = [0.25 * padded[i] + 0.5 * padded[i + 1] + 0.25 * padded[i + 2] for i in range(n)]
    return Case("stencil.cu", "stencil", "8", "128", [given("f32", data), result("f32", out), f"i32:{n}"],
                shared=130 * 4)


@kernel
def life():
    width, height = 30, 20
    cells = numbers(15, width * height, 0, 1)
    around = [(dx, dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1) if dx or dy]

    def next_state(x, y):
        count = sum(cells[(y + dy) % height * width + (x + dx) % width] for dx, dy in around)
        return int(count == 3 or (count == 2 and cells[y * width + x]))

    out = [next_state(x, y) for y in range(height) for x in range(width)]
    return Case("stencil.cu", "life", "2,3", "16,8",
                [given("u8", cells), result("u8", out), f"i32:{width}", f"i32:{height}"])


# ---- counting, scanning, sorting -----------------------------------------------------------------------


@kernel
def histogram():
    data = numbers(16, 5000, 0, 255)
    return Case("histogram.cu", "histogram", "4", "128",
                [given("u8", data), zeros("u32", 256, [data.count(bin) for bin in range(256)]), "i32:5000"],
                counts={"shared_atomics": 5000})


@kernel
def atomics():
    indices = range(128)
    ints = [sum(indices), -sum(indices), -127, 127]
    words = [0xffffff00, 0xffffffff, 5, 128 % 10, -128 % 10, 5, 127, None, 1]
    longs = [128 << 40, 127 << 33, 7, 9]
    return Case("histogram.cu", "atomics", "2", "64",
                [zeros("i32", 4, ints),
                 changed("u32", [0xffffffff, 0, 5, 0, 0, 0xffffffff, 0, 0xffffffff, 0], words),
                 changed("u64", [0, 0, 2**64 - 1, 9], longs),
                 zeros("f32", 1, [64.0]), changed("f64", [0.0, 3.0], [32.0, 3.0])])


@kernel
def scan_hillis_steele():
    data = numbers(17, 200, -99, 99)
    return Case("scan.cu", "scan_hillis_steele", "1", "256",
                [given("i32", data), result("i32", list(itertools.accumulate(data))), "i32:200"], shared=2048,
                counts={"barriers": 9})


@kernel
def scan_blelloch():
    data = numbers(18, 256, -99, 99)
    return Case("scan.cu", "scan_blelloch", "1", "128",
                [given("i32", data), result("i32", [0, *itertools.accumulate(data)][:-1]), "i32:256"], shared=1024,
                counts={"barriers": 17, "bank_degree": 8})


@kernel
def scan_look_back():
    data = numbers(19, 1000, -99, 99)
    return Case("scan.cu", "scan_look_back", "8", "128",
                [given("i32", data), result("i32", list(itertools.accumulate(data))), "i32:1000", zeros("u32", 1, [8]),
                 zeros("u64", 8)])


@kernel
def bitonic_sort():
    data = floats(20, 256)
    return Case("sort.cu", "bitonic_sort", "1", "256", [changed("f32", data, sorted(data))], shared=1024)


@kernel
def radix_sort():
    data = numbers(21, 128, 0, 2**32 - 1)
    return Case("sort.cu", "radix_sort", "1", "128", [changed("u32", data, sorted(data))], shared=1024)


@kernel
def softmax():
    rows, columns, data = 5, 100, floats(22, 500)
    out = []
    for row in range(rows):
        powers = [math.exp(x - max(data[row * columns:][:columns])) for x in data[row * columns:][:columns]]
        out += [power / sum(powers) for power in powers]
    return Case("softmax.cu", "softmax", str(rows), "64",
                [given("f32", data), result("f32", out, tolerance=1e-6), f"i32:{columns}"])


# ---- warps and groups ----------------------------------------------------------------------------------


@kernel
def all_reduce():
    data = numbers(23, 128, -1000, 1000)
    out = [sum(data[i // 32 * 32:][:32]) for i in range(128)]
    return Case("warps.cu", "all_reduce", "2", "64", [given("i32", data), result("i32", out)],
                counts={"shuffles": 4 * 5, "utilization": 1})


@kernel
def shuffle_width():
    data = numbers(24, 32, -1000, 1000)
    return Case("warps.cu", "shuffle_width", "1", "32",
                [given("f64", data), result("f64", [sum(data[i:i + 8]) for i in range(0, 32, 8)]),
                 result("f64", [data[i // 8 * 8 + 1] for i in range(32)])])


@kernel
def compact():
    data = numbers(25, 300, -99, 99)
    kept = [x for x in data if x % 2 == 0]
    return Case("warps.cu", "compact", "3", "128",
                [given("i32", data), result("i32", kept, is_ordered=False), zeros("u32", 1, [len(kept)]), "i32:300"],
                counts={"atomics": 12})


@kernel
def aggregated_filter():
    data = numbers(26, 300, -99, 99)
    kept = [x for x in data if x > 0]
    return Case("groups.cu", "filter", "3", "128",
                [given("i32", data), result("i32", kept, is_ordered=False), zeros("u32", 1, [len(kept)]), "i32:300"])


@kernel
def count_matches():
    keys = numbers(27, 128, 0, 9)
    return Case("warps.cu", "count_matches", "1", "128",
                [given("i32", keys), zeros("u32", 10, [keys.count(key) for key in range(10)])],
                counts={"atomics": sum(len(set(keys[i:i + 32])) for i in range(0, 128, 32))})


@kernel
def votes():
    data = [3 * lane % 50 for lane in range(32)]
    here = [int(x == 7) for x in data]
    out = [int(any(here)) | 2] * 32 + [0xffffffff] * 32 + [1] * 32 + [1 if x % 3 == 0 else 2 for x in data]
    return Case("warps.cu", "votes", "1", "32", [given("i32", data), result("u32", out)])


@kernel
def sum_active():
    data = numbers(30, 1000, -99, 99)
    return Case("warps.cu", "sum_active", "4", "256", [given("i32", data), zeros("i32", 1, [sum(data)]), "i32:1000"])


@kernel
def sum_active_shared():
    data = numbers(31, 1000, -99, 99)
    return Case("warps.cu", "sum_active_shared", "4", "256", [given("i32", data), zeros("i32", 1, [sum(data)]), "i32:1000"])


@kernel
def argmax():
    data = floats(28, 1000)
    data[777] = data[333] = 10.5
    packed = (0x80000000 | 0x41280000) << 32 | 0xffffffff - 333
    return Case("warps.cu", "argmax", "2", "128", [given("f32", data), zeros("u64", 1, [packed]), "i32:1000"],
                counts={"atomics": 8})


def collatz_steps(value):
    for count in itertools.count():
        if value == 1:
            return count
        value = 3 * value + 1 if value % 2 else value // 2


@kernel
def collatz():
    data = numbers(29, 64, 1, 10000)
    return Case("warps.cu", "collatz", "1", "64", [given("u32", data), result("u32", list(map(collatz_steps, data)))])


@kernel
def redux():
    data, out = numbers(79, 64, -99, 99), []
    for i in range(64):
        half, warp = data[i // 16 * 16:][:16], data[i // 32 * 32:][:32]
        out += [sum(half), max(warp), functools.reduce(operator.and_, half)]
    return Case("redux.cu", "redux", "1", "64", [given("i32", data), result("i32", out)])


@kernel
def group_reduce():
    data = numbers(30, 1000, -99, 99)
    sums = [sum(data[i] for i in range(1000) if i % 288 // 96 == block) for block in range(3)]
    return Case("groups.cu", "group_reduce", "3", "96", [given("i32", data), result("i32", sums), "i32:1000"])


@kernel
def tiles_of_four():
    data = floats(31, 64)
    return Case("groups.cu", "tiles_of_four", "1", "64",
                [given("f32", data), result("f32", [max(data[i:i + 4]) for i in range(0, 64, 4)]),
                 result("f32", [data[i // 4 * 4 + (i + 1) % 4] for i in range(64)])])


@kernel
def reserved_memory():
    return Case("groups.cu", "reserved_memory", "1", "32",
                [result("u32", list(range(32)), is_ordered=False), result("u32", [1] * 32)])


@kernel
def labelled():
    data = numbers(32, 32, 0, 999)
    return Case("groups.cu", "labelled", "1", "32",
                [given("i32", data), result("i32", [sum(y for y in data if y % 3 == x % 3) for x in data])])


@kernel
def grid_sync():
    data = numbers(33, 1000, -99, 99)
    sums = [sum(data[i] for i in range(1000) if i % 256 // 64 == block) for block in range(4)]
    return Case("groups.cu", "grid_sync", "4", "64",
                [given("i32", data), result("i32", sums), result("i32", [sum(data)]), "i32:1000"])


# ---- blocks --------------------------------------------------------------------------------------------


@kernel
def coordinates():
    blocks = [(x, y, z) for z in range(2) for y in range(3) for x in range(2)]
    threads = [(x, y, z) for z in range(3) for y in range(2) for x in range(4)]
    return Case("blocks.cu", "coordinates", "2,3,2", "4,2,3",
                [result("i32", [value for b in blocks for t in threads for value in (*b, *t, 32)])],
                counts={"blocks": 12, "warps": 12})


@kernel
def both_shared():
    data = numbers(52, 64, -99, 99)
    return Case("blocks.cu", "both_shared", "1", "64",
                [given("i32", data), result("f64", [data[63 - t] + 0.5 * data[(t + 1) % 64] + t % 3 + 1
                                                    for t in range(64)])], shared=256)


@kernel
def bounded():
    return Case("blocks.cu", "bounded", "3", "128", [result("i32", [b - t for b in range(3) for t in range(128)])])


@kernel
def named_barriers():
    data = numbers(53, 256, -99, 99)
    return Case("blocks.cu", "named_barriers", "1", "256",
                [given("i32", data), result("i32", [data[t // 64 * 64 + 63 - t % 64] for t in range(256)])],
                counts={"barriers": 4})


@kernel
def producer_consumer():
    data = numbers(54, 160, -99, 99)
    return Case("blocks.cu", "producer_consumer", "1", "64",
                [given("i32", data), result("i32", [2 * data[i // 32 * 32 + 31 - i % 32] for i in range(160)]),
                 "i32:5"], counts={"barriers": 10})


@kernel
def early_exit():
    data = numbers(55, 50, -99, 99)
    return Case("blocks.cu", "early_exit", "1", "128", [given("i32", data), result("i32", data[::-1]), "i32:50"],
                counts={"barriers": 1})


@kernel
def barrier_votes():
    data = numbers(56, 96, -1, 98)
    vote = sum(x > 10 for x in data) * 4 + all(x >= 0 for x in data) * 2 + any(x > 99 for x in data)
    return Case("blocks.cu", "barrier_votes", "1", "96", [given("i32", data), result("i32", [vote] * 96)],
                counts={"barriers": 3})


@kernel
def printing():
    return Case("blocks.cu", "print", "1", "32", ["f32:1.5"],
                printed="block 0 of 1: 1.500    42|42   |00042 beef w text -1099511627776 %\nnothing to fill in\n")


@kernel
def assert_holds():
    data = numbers(57, 32, 0, 9)
    return Case("blocks.cu", "assert_holds", "1", "32", [given("i32", data), result("i32", data)])


@kernel
def volatile_flag():
    return Case("blocks.cu", "volatile_flag", "2", "32",
                [zeros("i32", 1, [1]), result("i32", [42]), result("i32", [42 + t for t in range(32)])])


@kernel
def spin_lock():
    return Case("blocks.cu", "spin_lock", "8", "32", [zeros("i32", 1, [0]), zeros("i32", 1, [28])])


@kernel
def lanes_lock():
    return Case("blocks.cu", "lanes_lock", "1", "32", [zeros("i32", 1, [0]), zeros("i32", 1, [496])])


# ---- reductions ----------------------------------------------------------------------------------------


WITH_GROUPS = "reduction_groups.cu"


def reduction(source, kernel, block, each, type_name="i32", **counts):
    """Blocks that take each * block neighbours; the last one not full."""
    data = numbers(58, 1000, -99, 99)
    sums = [sum(data[i:i + each * block]) for i in range(0, 1000, each * block)]
    width = {"i32": 4, "f64": 8}[type_name]
    return Case(source, kernel, str(len(sums)), str(block),
                [given(type_name, data), result(type_name, sums), "u32:1000"], shared=block * width,
                counts=counts)


def strided_reduction(source, kernel, grid, block, each, type_name="i32"):
    data = numbers(59, 1000, -99, 99)
    stride = grid * block * each
    sums = [sum(data[i] for i in range(1000) if i % stride // (block * each) == b) for b in range(grid)]
    width = {"i32": 4, "f64": 8}[type_name]
    return Case(source, kernel, str(grid), str(block),
                [given(type_name, data), result(type_name, sums), "u32:1000"], shared=block * width)


CASES += [
    reduction("reduction.cu", "reduce0<int>", 256, 1, bank_degree=1, barriers=4 * 9),
    reduction("reduction.cu", "reduce1<int>", 256, 1, bank_degree=8, barriers=4 * 9),
    reduction("reduction.cu", "reduce2<double>", 256, 1, "f64", bank_degree=1, barriers=4 * 9),
    reduction("reduction.cu", "reduce3<int>", 256, 2, bank_degree=1, barriers=2 * 9),
    reduction(WITH_GROUPS, "reduce4<int,256>", 256, 2),
    reduction(WITH_GROUPS, "reduce5<double,128>", 128, 2, "f64"),
    strided_reduction(WITH_GROUPS, "reduce6<int,128,true>", 3, 128, 2),
    strided_reduction(WITH_GROUPS, "reduce6<double,64,false>", 3, 64, 1, "f64"),
    strided_reduction(WITH_GROUPS, "cg_reduce", 3, 96, 1),
]


@kernel
def multi_block():
    data = numbers(60, 1000, -99, 99)
    return Case(WITH_GROUPS, "multi_block", "4", "64",
                [given("f64", data), result("f64", [sum(data), None, None, None]), "u32:1000"], shared=256)


@kernel
def fence_reduction():
    data = numbers(61, 1000, -99, 99)
    return Case("reduction.cu", "fence_reduction<128>", "5", "128",
                [given("f32", data), result("f32", [sum(data), None, None, None, None]), "u32:1000"],
                counts={"atomics": 5})


# ---- programs with host code -------------------------------------------------------------------------


@kernel
def host_scale():
    data = floats(62, 100)
    return Case("host_code.cu", "scale", "1", "128",
                [changed("f32", data, [f32(3 * x) for x in data]), "f32:3", "i32:100"])


@kernel
def host_saxpy():
    x, y = doubles(63, 100), doubles(64, 100)
    out = [float(Fraction(2.5) * Fraction(p) + Fraction(q)) for p, q in zip(x, y)]
    return Case("host_code.cu", "saxpy<double>", "1", "128",
                ["f64:2.5", given("f64", x), changed("f64", y, out), "i32:100"])


@kernel
def wide_products():
    a, b = numbers(65, 32, 0, 2**64 - 1), numbers(66, 32, 0, 2**64 - 1)
    out = []
    for x, y in zip(a, b):
        out += [x * y >> 64, x * y % 2**64, (x * y + 12345) // (y >> 9 | 1) % 2**64]
    return Case("host_code.cu", "wide_products", "1", "32", [given("u64", a), given("u64", b), result("u64", out)])


# ---- all of them ---------------------------------------------------------------------------------------


def cost(case):
    """Cooperative groups take compilers a second."""
    is_slow = "cooperative_groups" in (KERNELS / case.source).read_text()
    return pytest.param(case, marks=pytest.mark.slow) if is_slow else case


@pytest.mark.sampled
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("case", map(cost, CASES), ids=str)
def test_kernel(case, schedule, tmp_path):
    check(case, schedule, tmp_path)
