"""Matrix instructions on the simulator, against matrices multiplied here: where PTX says which lane holds which element
(mma, ldmatrix, stmatrix, movmatrix), by its tables; of wmma by what its loads, products and stores make together."""

import functools
import itertools
import math
import random
import struct
from fractions import Fraction

import pytest

from cli_helpers import npy_header, npy_text, run
from inspect_helpers import HEAD, inspected, kernel, parameters, read_npy
from kernel_helpers import KERNELS, SCHEDULES, Case, check, given, inspect, result

SOURCE = "matrix.cu"

# ---- numbers -------------------------------------------------------------------------------------------


def f32(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def bits_of_f32(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def e4m3(bits):
    sign, exponent, fraction = -1 if bits & 0x80 else 1, bits >> 3 & 15, bits & 7
    if bits & 0x7f == 0x7f:
        return float("nan")
    return sign * (fraction / 8 * 2.0**-6 if not exponent else (1 + fraction / 8) * 2.0 ** (exponent - 7))


DECODE = {
    "f16": lambda bits: struct.unpack("<e", struct.pack("<H", bits))[0],
    "bf16": lambda bits: f32(bits << 16),
    "tf32": lambda bits: f32(bits & 0xffffe000),
    "f32": f32,
    "f64": lambda bits: struct.unpack("<d", struct.pack("<Q", bits))[0],
    "s8": lambda bits: bits - 256 * (bits >= 128),
    "u8": lambda bits: bits,
    "e4m3": e4m3,
    "e5m2": lambda bits: struct.unpack("<e", struct.pack("<H", bits << 8))[0],
    "s4": lambda bits: bits - 16 * (bits >= 8),
    "u4": lambda bits: bits,
    "b1": lambda bits: bits,
    "s32": lambda bits: bits - 2**32 * (bits >= 2**31),
}
ENCODE = {
    "f16": lambda value: struct.unpack("<H", struct.pack("<e", value))[0],
    "bf16": lambda value: bits_of_f32(value) >> 16,
    "tf32": bits_of_f32,
    "f32": bits_of_f32,
    "f64": lambda value: struct.unpack("<Q", struct.pack("<d", value))[0],
    "s8": lambda value: value & 0xff,
    "u8": lambda value: value & 0xff,
    "e4m3": {e4m3(bits): bits for bits in range(255, -1, -1)}.__getitem__,
    "e5m2": lambda value: struct.unpack("<H", struct.pack("<e", value))[0] >> 8,
    "s4": lambda value: value & 0xf,
    "u4": lambda value: value & 0xf,
    "b1": lambda value: value & 1,
    "s32": lambda value: value & 0xffffffff,
}
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "s8": 8, "u8": 8, "s32": 32,
        "e4m3": 8, "e5m2": 8, "s4": 4, "u4": 4, "b1": 1}


def exponent_of(value):
    exponent = 0
    while abs(value) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while abs(value) < Fraction(2) ** exponent:
        exponent -= 1
    return exponent


def cut(value, unit):
    return math.trunc(value / unit) * unit


def chip_sum(row, column, addend, factors, name):
    """As an H200 has it, of normal numbers: every product and the addend is cut off so many bits behind the greatest exponent (of
    a product that of its factors, added); of their exact sum f32 has what fits, f16 the nearest."""
    aligned, precision = (13, 14) if factors in ("e4m3", "e5m2") else (25, 24)
    pairs = [(Fraction(x), Fraction(y)) for x, y in zip(row, column) if x and y] + [(Fraction(addend), Fraction(1))] * bool(addend)
    exponents = [exponent_of(x) + exponent_of(y) for x, y in pairs]
    total = sum(cut(x * y, Fraction(2) ** (max(exponents) - aligned)) for x, y in pairs)
    if not total:
        return 0.0
    if name == "f32":
        return float(cut(total, Fraction(2) ** (exponent_of(total) - precision + 1)))
    unit = Fraction(2) ** (exponent_of(total) - 10)
    return float(round(total / unit) * unit)  # round() of a fraction: ties to even


# ---- where mma has its elements: PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type" and its like --


def place_a(shape, name, lane, i):
    m, _, k = shape
    group, thread = lane >> 2, lane % 4
    if name in ("f16", "bf16") and k == 8:
        return (group if i < 2 else group + 8), thread * 2 + (i & 1)
    if name in ("f16", "bf16"):
        return (group if i < 2 or 4 <= i < 6 else group + 8), thread * 2 + (i & 1) + (8 if i >= 4 else 0)
    if name == "tf32":
        return (group if i in (0, 2) else group + 8), (thread if i < 2 else thread + 4)
    if name == "f64" and m == 8:
        return group, thread
    if name == "f64":
        return (group if i % 2 == 0 else group + 8), (i * 2 if i % 2 == 0 else i * 2 - 2) + thread
    if BITS[name] < 8:
        each = 32 // BITS[name]  # in a register: of s4 i < 8, of b1 i < 32
        return (group if m == 8 or i // each in (0, 2) else group + 8), thread * each + i % each + (4 * each if i >= 2 * each else 0)
    if m == 8:
        return group, thread * 4 + i
    if k == 16:
        return (group if i < 4 else group + 8), thread * 4 + (i & 3)
    return (group if i < 4 or 8 <= i < 12 else group + 8), thread * 4 + (i & 3) + (16 if i >= 8 else 0)


def place_b(shape, name, lane, i):
    group, thread = lane >> 2, lane % 4
    if name in ("f16", "bf16"):
        return thread * 2 + (i & 1) + 8 * (i // 2), group
    if name in ("tf32", "f64"):
        return thread + 4 * i, group
    if BITS[name] < 8:
        each = 32 // BITS[name]
        return thread * each + i % each + 4 * each * (i // each), group
    return thread * 4 + (i & 3) + 16 * (i // 4), group


def place_c(lane, i):
    return (lane >> 2) + (8 if i >= 2 else 0), (lane % 4) * 2 + (i & 1)


def packed(matrix, name, places):
    """Each lane's registers: `places(lane, i)` for all of its elements i."""
    per_register = max(1, 32 // BITS[name])
    words = []
    for lane in range(32):
        elements = [ENCODE[name](matrix[row][column]) for row, column in places(lane)]
        for first in range(0, len(elements), per_register):
            words.append(sum(e << (BITS[name] * i) for i, e in enumerate(elements[first:first + per_register])))
    return words


def unpacked(words, name, places, rows, columns):
    per_register, matrix = max(1, 32 // BITS[name]), [[None] * columns for _ in range(rows)]
    registers = len(words) // 32
    for lane in range(32):
        for i, (row, column) in enumerate(places(lane)):
            word = words[lane * registers + i // per_register]
            matrix[row][column] = DECODE[name](word >> (BITS[name] * (i % per_register)) & (1 << BITS[name]) - 1)
    return matrix


def multiplied(a, b, c):
    return [[sum(Fraction(x) * Fraction(y) for x, y in zip(row, column)) + Fraction(c[i][j])
             for j, column in enumerate(zip(*b))] for i, row in enumerate(a)]


# ---- mma -----------------------------------------------------------------------------------------------

PRODUCTS = [
    *(((16, 8, k), "f16", "f16", d, c) for k in (8, 16) for d in ("f16", "f32") for c in ("f16", "f32")),
    *(((16, 8, k), "bf16", "bf16", "f32", "f32") for k in (8, 16)),
    *(((16, 8, k), "tf32", "tf32", "f32", "f32") for k in (4, 8)),
    *((shape, "f64", "f64", "f64", "f64") for shape in ((8, 8, 4), (16, 8, 4), (16, 8, 8), (16, 8, 16))),
    *((shape, a, b, "s32", "s32") for shape in ((8, 8, 16), (16, 8, 16), (16, 8, 32)) for a in ("s8", "u8")
      for b in ("s8", "u8")),
    *((shape, a, b, "s32", "s32") for shape in ((8, 8, 32), (16, 8, 32), (16, 8, 64)) for a in ("s4", "u4")
      for b in ("s4", "u4")),
    *(((16, 8, k), a, b, d, d) for k in (16, 32) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2") for d in ("f16", "f32")),
]


def registers(name, rows, columns):
    return rows * columns * BITS[name] // 32 // (64 if name == "f64" else 32)


def mma_kernel(shape, a, b, d, c, more="", last="", selector=None):
    """d[lane], a[lane] ...: each lane's registers, one after another.  A sparsity selector: each lane's word of metadata follows."""
    m, n, k = shape
    is_sparse = selector is not None
    counts = {"a": registers(a, m, k // 2 if is_sparse else k), "b": registers(b, k, n), "c": registers(c, m, n), "d": registers(d, m, n)}
    names = {"a": a, "b": b, "c": c, "d": d}
    lines, lists = ["mov.u32 %r31, %laneid;"], {}
    declared = []
    for number, role in enumerate("abcd"):
        name, count = names[role], counts[role]
        kind, nbytes = ("f64", 8) if name == "f64" else ("f32", 4) if name == "f32" else ("b32", 4)
        lists[role] = "{" + ", ".join(f"%{role}{i}" for i in range(count)) + "}"
        declared.append(f".reg .{kind} %{role}<8>;")
        lines += [f"ld.param.u64 %rd1, [k_param_{number}];", f"mul.wide.u32 %rd2, %r31, {nbytes * count};",
                  f"add.u64 %rd{10 + number}, %rd1, %rd2;"]
        if role != "d":
            lines += [f"ld.global.{kind} %{role}{i}, [%rd{10 + number}+{nbytes * i}];" for i in range(count)]
    if is_sparse:
        lines += ["ld.param.u64 %rd1, [k_param_4];", "mul.wide.u32 %rd2, %r31, 4;", "add.u64 %rd14, %rd1, %rd2;",
                  "ld.global.b32 %r30, [%rd14];"]
    lines.append(f"mma{'.sp' * is_sparse}.sync.aligned.m{m}n{n}k{k}.row.col{more}.{d}.{a}.{b}.{c}{last} {lists['d']}, {lists['a']}, "
                 f"{lists['b']}, {lists['c']}" + (f", %r30, {selector};" if is_sparse else ";"))
    kind, nbytes = ("f64", 8) if d == "f64" else ("f32", 4) if d == "f32" else ("b32", 4)
    lines += [f"st.global.{kind} [%rd13+{nbytes * i}], %d{i};" for i in range(counts["d"])] + ["ret;"]
    text = kernel("k", parameters("k", *["u64"] * (4 + is_sparse)), "\n".join(declared + lines))
    return HEAD.replace("sm_75", "sm_90") + text


def write_words(path, words, wide):
    kind, code = ("<u8", "Q") if wide else ("<u4", "I")
    path.write_bytes(npy_header(npy_text(kind, [len(words)])) + struct.pack(f"<{len(words)}{code}", *words))


def run_mma(tmp_path, shape, names, matrices, more="", schedule="lockstep", last="", sparse=None):
    """Sparse: a selector, and a word for each lane; of a there is half."""
    m, n, k = shape
    a, b, d, c = names
    selector, metadata = sparse or (None, None)
    (tmp_path / "k.ptx").write_text(mma_kernel(shape, *names, more, last, selector))
    half = (m, n, k // 2) if sparse else shape

    def elements(rows, columns):
        return range(rows * columns // 32)

    places = {"a": lambda lane: [place_a(half, a, lane, i) for i in elements(m, half[2])],
              "b": lambda lane: [place_b(shape, b, lane, i) for i in elements(k, n)],
              "c": lambda lane: [place_c(lane, i) for i in elements(m, n)]}
    arguments = []
    for role, name in zip("abc", (a, b, c)):
        write_words(tmp_path / f"{role}.npy", packed(matrices[role], name, places[role]), name == "f64")
        words = len(packed(matrices[role], name, places[role]))
        arguments += ["--arg", f"{'u64' if name == 'f64' else 'u32'}[{words}]={tmp_path / role}.npy"]
    count = 32 * registers(d, m, n)
    arguments += ["--arg", f"{'u64' if d == 'f64' else 'u32'}[{count}]=none", "--out", f"3={tmp_path / 'd.npy'}"]
    if sparse:
        write_words(tmp_path / "e.npy", metadata, False)
        arguments += ["--arg", f"u32[32]={tmp_path / 'e.npy'}"]
    report = inspected(tmp_path / "k.ptx", "--block", 32, "--schedule", schedule, *arguments)
    assert report["findings"] == []
    body = read_npy(tmp_path / "d.npy")[2]
    words = struct.unpack(f"<{count}{'Q' if d == 'f64' else 'I'}", body)
    return unpacked(words, d, places["c"], m, n)


def small(rows, columns, seed, least=-6, most=6):
    generator = random.Random(seed)
    return [[generator.randint(least, most) for _ in range(columns)] for _ in range(rows)]


@pytest.mark.parametrize("product", PRODUCTS, ids=str)
def test_mma_of_small_integers(tmp_path, product):
    shape, *names = product
    m, n, k = shape
    least = [{"u8": 0, "u4": 0, "s4": -8}.get(name, -6) for name in names]
    most = [4 if name == "e5m2" else 15 if name == "u4" else 6 for name in names]
    least = [-4 if name == "e5m2" else at for name, at in zip(names, least)]
    matrices = {"a": small(m, k, 1, least[0], most[0]), "b": small(k, n, 2, least[1], most[1]),
                "c": small(m, n, 3, -90, 90)}
    schedule = "split" if m == 8 else "lockstep"
    got = run_mma(tmp_path, shape, names, matrices, schedule=schedule)
    assert got == [[int(x) for x in row] for row in multiplied(matrices["a"], matrices["b"], matrices["c"])]


# Sizes of mma.sp, and how many of a's elements there are of so many neighbours; those of 4 bits come in pairs.
SPARSE = [
    *(((16, 8, k), "f16", "f16", d, d, (2, 4)) for k in (16, 32) for d in ("f16", "f32")),
    *(((16, 8, k), "bf16", "bf16", "f32", "f32", (2, 4)) for k in (16, 32)),
    *(((16, 8, k), "tf32", "tf32", "f32", "f32", (1, 2)) for k in (8, 16)),
    *(((16, 8, k), a, b, "s32", "s32", (2, 4)) for k in (32, 64) for a in ("s8", "u8") for b in ("s8", "u8")),
    *(((16, 8, k), a, b, "s32", "s32", (4, 8)) for k in (64, 128) for a in ("s4", "u4") for b in ("s4", "u4")),
]


def sparse_words(chosen, selector, size, name, generator):
    """Metadata, PTX ISA, "Sparse matrix storage": of each row and chunk which of its elements there are; what no lane is asked
    for is drawn at random."""
    first = selector * (len(chosen[0]) // 4)
    words = [generator.getrandbits(32) for _ in range(32)]
    for row, chunks in enumerate(chosen):
        for number, kept in enumerate(chunks):
            pair = size // 4  # neighbours with one index
            bits = kept[0] // pair | kept[pair] // pair << 2 if pair else 0b1110 if kept[0] else 0b0100
            if BITS[name] <= 8:  # a word for each row
                lane, at = first + number // 8 * 2 + row // 8, 4 * (number % 8)
            else:  # half a word for each
                lane, at = first + number // 4, 16 * (row // 8) + 4 * (number % 4)
            lane += row % 8 * 4
            words[lane] = words[lane] & ~(15 << at) | bits << at
    return words


@pytest.mark.parametrize("product", SPARSE, ids=str)
def test_mma_of_a_sparse_matrix(tmp_path, product):
    (m, n, k), *names, (kept, size) = product
    generator = random.Random(k)
    least = [0 if name[0] == "u" else -6 for name in names]
    full = {"a": small(m, k, 1, least[0]), "b": small(k, n, 2, least[1]), "c": small(m, n, 3, -90, 90)}
    run = max(size // 4, 1)
    chosen = [[sorted(at * run + e for at in generator.sample(range(size // run), kept // run) for e in range(run))
               for _ in range(k // size)] for _ in range(m)]
    present = [[number * size + at for number, places in enumerate(row) for at in places] for row in chosen]
    half = [[values[column] for column in columns] for values, columns in zip(full["a"], present)]
    full["a"] = [[x if column in columns else 0 for column, x in enumerate(values)] for values, columns in zip(full["a"], present)]
    expected = [[int(x) for x in row] for row in multiplied(full["a"], full["b"], full["c"])]
    for selector in range(16 * size // k):
        words = sparse_words(chosen, selector, size, names[0], generator)
        assert run_mma(tmp_path, (m, n, k), names, {**full, "a": half}, sparse=(selector, words)) == expected


@pytest.mark.parametrize("op", ["xor", "and"])
@pytest.mark.parametrize("shape", [(8, 8, 128), (16, 8, 128), (16, 8, 256)], ids=str)
def test_mma_of_single_bits_counts_them(tmp_path, shape, op):
    m, n, k = shape
    matrices = {"a": small(m, k, 1, 0, 1), "b": small(k, n, 2, 0, 1), "c": small(m, n, 3, -2**31, 2**31 - 1)}
    got = run_mma(tmp_path, shape, ("b1", "b1", "s32", "s32"), matrices, last=f".{op}.popc")
    counts = [[sum(x != y if op == "xor" else x and y for x, y in zip(row, column)) for column in zip(*matrices["b"])]
              for row in matrices["a"]]
    assert got == [[(x + c + 2**31) % 2**32 - 2**31 for x, c in zip(*rows)] for rows in zip(counts, matrices["c"])]


@pytest.mark.parametrize("names", [("f16", "f16", "f32", "f32"), ("f16", "f16", "f16", "f16"),
                                   ("bf16", "bf16", "f32", "f32")], ids=str)
@pytest.mark.parametrize("spread", [2, 9, 14])
def test_mma_sums_as_an_h200_does(tmp_path, names, spread):
    """Values whose sums no double holds, with cancellation."""
    a, b, d, c = names
    generator = random.Random(spread)
    limit = 5 if d == "f16" else spread * (4 if a == "bf16" else 1)

    def value(name, most):
        number = generator.choice((-1, 1)) * generator.uniform(1, 2) * 2.0 ** generator.randint(-most, most)
        return DECODE[name](ENCODE[name](number))

    matrices = {"a": [[value(a, limit) for _ in range(16)] for _ in range(16)],
                "b": [[value(b, limit) for _ in range(8)] for _ in range(16)],
                "c": [[value(c, limit) for _ in range(8)] for _ in range(16)]}
    for row in range(0, 16, 2):  # what is large cancels
        for k in range(0, 14, 2):
            matrices["a"][row][k + 1] = -matrices["a"][row][k]
    for k, column in itertools.product(range(0, 14, 2), range(8)):
        matrices["b"][k + 1][column] = matrices["b"][k][column]
    got = run_mma(tmp_path, (16, 8, 16), names, matrices)
    assert got == [[chip_sum(row, column, addend, a, d) for column, addend in zip(zip(*matrices["b"]), addends)]
                   for row, addends in zip(matrices["a"], matrices["c"])]


def nearest(value, digits):
    if not value:
        return 0.0
    unit = Fraction(2) ** (exponent_of(value) - digits + 1)
    return float(round(value / unit) * unit)  # ties to even


@pytest.mark.parametrize("k", [16, 32])
@pytest.mark.parametrize("d", ["f16", "f32"])
@pytest.mark.parametrize("factors", [("e4m3", "e4m3"), ("e5m2", "e5m2"), ("e4m3", "e5m2")], ids=str)
def test_mma_of_bytes_sums_as_the_machine_code_for_an_h200_does(tmp_path, factors, d, k):
    """Halves of registers, that is k % 4 in (0, 1) and in (2, 3), as f16, one after the other; then c is added."""
    a, b = factors
    generator = random.Random(k)

    def factor(name):
        middle, fraction, spread = (7, 3, 3) if name == "e4m3" else (15, 2, 3 if d == "f16" else 9)
        return DECODE[name](generator.getrandbits(1) << 7 | (middle + generator.randint(-spread, spread)) << fraction |
                            generator.getrandbits(fraction))

    def addend():
        number = generator.choice((-1, 1)) * generator.uniform(1, 2) * 2.0 ** generator.randint(-8, 8)
        return DECODE[d](ENCODE[d](number))

    matrices = {"a": [[factor(a) for _ in range(k)] for _ in range(16)], "b": [[factor(b) for _ in range(8)] for _ in range(k)],
                "c": [[addend() for _ in range(8)] for _ in range(16)]}
    got = run_mma(tmp_path, (16, 8, k), (a, b, d, d), matrices)

    def expected(row, column, c):
        total = 0.0
        for low in (0, 2):
            chosen = [j for j in range(k) if j % 4 in (low, low + 1)]
            total = chip_sum([row[j] for j in chosen], [column[j] for j in chosen], total, "f16", d)
        return nearest(Fraction(total) + Fraction(c), 11 if d == "f16" else 24)

    assert got == [[expected(row, column, c) for column, c in zip(zip(*matrices["b"]), addends)]
                   for row, addends in zip(matrices["a"], matrices["c"])]


def test_mma_of_special_values(tmp_path):
    infinity, nan = float("inf"), float("nan")
    a = [[1.0] * 8 for _ in range(16)]
    a[0][0], a[1][0], a[1][1], a[2][3], a[3] = infinity, infinity, -infinity, nan, [-0.0] * 8
    c = [[0.0] * 8 for _ in range(16)]
    c[3], c[4][0] = [-0.0] * 8, infinity
    got = run_mma(tmp_path, (16, 8, 8), ("f16", "f16", "f32", "f32"), {"a": a, "b": [[1.0] * 8] * 8, "c": c})
    assert got[0] == [infinity] * 8 and got[4] == [infinity] + [8.0] * 7 and got[5] == [8.0] * 8
    assert all(x != x for x in got[1] + got[2]) and [str(x) for x in got[3]] == ["-0.0"] * 8


@pytest.mark.parametrize("more", ["", ".satfinite"])
def test_integer_mma_at_its_limits(tmp_path, more):
    matrices = {"a": [[127] * 32] * 16, "b": [[127 if column % 2 else -128] * 1 for column in range(8)],
                "c": [[2**31 - 1 if column % 2 else -2**31 for column in range(8)] for _ in range(16)]}
    matrices["b"] = [[127 if column % 2 else -128 for column in range(8)] for _ in range(32)]
    got = run_mma(tmp_path, (16, 8, 32), ("s8", "s8", "s32", "s32"), matrices, more)
    exact = multiplied(matrices["a"], matrices["b"], matrices["c"])
    wrap = [[(int(x) + 2**31) % 2**32 - 2**31 for x in row] for row in exact]
    clamp = [[min(max(int(x), -2**31), 2**31 - 1) for x in row] for row in exact]
    assert got == (clamp if more else wrap) and clamp != wrap


# ---- mma of 8x8x4 of f16: four products, by PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16 floating point type" ----


def quad_place(role, name, is_column_major, lane, i):
    """The product, row and column of a lane's element i."""
    product, low, high = lane % 16 // 4, lane % 4, 0 if lane < 16 else 4
    if role == "a":
        return product, *((i % 4 + high, low) if is_column_major else (low + high, i))
    if role == "b":
        return product, *((i, low + high) if is_column_major else (low, i + high))
    if name == "f16":
        return product, low + high, i
    return product, (lane & 1) + (i & 2) + high, (i & 4) + (lane & 2) + (i & 1)


def quad_sum(row, column, addend, name):
    """As ptxas has processors of an H200 compute it: f32, fused multiplications in order of k, for f16 of two halves."""
    def fused(ks):
        total = 0.0
        for k in ks:
            total = nearest(Fraction(row[k]) * Fraction(column[k]) + Fraction(total), 24)
        return total

    total = addend
    for ks in ((0, 1), (2, 3)) if name == "f16" else (range(4),):
        total = nearest(Fraction(total) + Fraction(fused(ks)), 24)
    return nearest(Fraction(total), 11) if name == "f16" else total


def quad_kernel(layouts, d, c):
    """Each lane's a, b and c, one register after another; then d."""
    counts = {"a": 2, "b": 2, "c": 4 if c == "f16" else 8, "d": 4 if d == "f16" else 8}
    kinds = {role: "f32" if {"c": c, "d": d}.get(role) == "f32" else "b32" for role in "abcd"}
    lists = {role: "{" + ", ".join(f"%{role}{i}" for i in range(count)) + "}" for role, count in counts.items()}
    lines = [f".reg .{kinds[role]} %{role}<8>;" for role in "abcd"] + ["mov.u32 %r31, %laneid;"]
    for number, role in enumerate("abcd"):
        lines += [f"ld.param.u64 %rd1, [k_param_{number}];", f"mul.wide.u32 %rd2, %r31, {4 * counts[role]};",
                  f"add.u64 %rd{10 + number}, %rd1, %rd2;"]
        if role != "d":
            lines += [f"ld.global.{kinds[role]} %{role}{i}, [%rd{10 + number}+{4 * i}];" for i in range(counts[role])]
    lines.append(f"mma.sync.aligned.m8n8k4.{layouts}.{d}.f16.f16.{c} {lists['d']}, {lists['a']}, {lists['b']}, {lists['c']};")
    lines += [f"st.global.{kinds['d']} [%rd13+{4 * i}], %d{i};" for i in range(counts["d"])] + ["ret;"]
    return HEAD.replace("sm_75", "sm_90") + kernel("k", parameters("k", *["u64"] * 4), "\n".join(lines))


@pytest.mark.parametrize("layouts", ["row.row", "row.col", "col.row", "col.col"])
@pytest.mark.parametrize("d, c", [("f16", "f16"), ("f32", "f16"), ("f32", "f32")])
@pytest.mark.parametrize("spread", [0, 5])
def test_mma_of_quads(tmp_path, layouts, d, c, spread):
    """Of four products at once, each of small integers, and of numbers whose sums need roundings."""
    a_layout, b_layout = (name == "col" for name in layouts.split("."))
    generator = random.Random(f"{layouts} {d} {c}")

    def value(name):
        if not spread:
            return float(generator.randint(-9, 9))
        number = generator.choice((-1, 1)) * generator.uniform(1, 2) * 2.0 ** generator.randint(-spread, spread)
        return DECODE[name](ENCODE[name](number))

    matrices = {role: [[[value(name) for _ in range(columns)] for _ in range(rows)] for _ in range(4)]
                for role, name, rows, columns in (("a", "f16", 8, 4), ("b", "f16", 4, 8), ("c", c, 8, 8))}
    arguments = []
    for role, name, layout, count in (("a", "f16", a_layout, 4), ("b", "f16", b_layout, 4), ("c", c, False, 8)):
        elements = []
        for lane, i in itertools.product(range(32), range(count)):
            product, row, column = quad_place(role, name, layout, lane, i)
            elements.append(ENCODE[name](matrices[role][product][row][column]))
        words = [low | high << 16 for low, high in zip(elements[::2], elements[1::2])] if name == "f16" else elements
        write_words(tmp_path / f"{role}.npy", words, False)
        arguments += ["--arg", f"u32[{len(words)}]={tmp_path / role}.npy"]
    (tmp_path / "k.ptx").write_text(quad_kernel(layouts, d, c))
    count = 128 if d == "f16" else 256
    report = inspected(tmp_path / "k.ptx", "--block", 32, *arguments, "--arg", f"u32[{count}]=none", "--out", f"3={tmp_path / 'd.npy'}")
    assert report["findings"] == []
    got = struct.unpack("<256H" if d == "f16" else "<256I", read_npy(tmp_path / "d.npy")[2])
    for number, (lane, i) in enumerate(itertools.product(range(32), range(8))):
        product, row, column = quad_place("d", d, False, lane, i)
        expected = quad_sum(matrices["a"][product][row], [line[column] for line in matrices["b"][product]],
                            matrices["c"][product][row][column], d)
        assert DECODE[d](got[number]) == expected, (lane, i)


# ---- ldmatrix, stmatrix, movmatrix ---------------------------------------------------------------------


def rows_kernel(count, is_transposed):
    """Loads `count` matrices from shared memory, stores each lane's registers, and the matrices again by stmatrix."""
    names = ", ".join(f"%r{10 + i}" for i in range(count))
    trans = ".trans" if is_transposed else ""
    return HEAD.replace("sm_75", "sm_90").replace("8.0", "7.8") + ".shared .align 16 .b8 from[512];\n.shared .align 16 .b8 to[512];\n" + kernel(
        "k", parameters("k", "u64", "u64", "u64"), f"""ld.param.u64 %rd1, [k_param_0];
ld.param.u64 %rd2, [k_param_1];
ld.param.u64 %rd3, [k_param_2];
mov.u32 %r1, %laneid;
shl.b32 %r2, %r1, 4;
mul.wide.u32 %rd4, %r1, 16;
add.u64 %rd1, %rd1, %rd4;
add.u64 %rd3, %rd3, %rd4;
mul.wide.u32 %rd5, %r1, {4 * count};
add.u64 %rd2, %rd2, %rd5;
mov.u32 %r3, from;
mov.u32 %r4, to;
add.u32 %r3, %r3, %r2;
add.u32 %r4, %r4, %r2;
ld.global.v4.u32 {{%r20, %r21, %r22, %r23}}, [%rd1];
st.shared.v4.u32 [%r3], {{%r20, %r21, %r22, %r23}};
mov.u32 %r24, 0;
st.shared.v4.u32 [%r4], {{%r24, %r24, %r24, %r24}};
bar.warp.sync 0xffffffff;
ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{names}}}, [%r3];
""" + "".join(f"st.global.u32 [%rd2+{4 * i}], %r{10 + i};\n" for i in range(count)) + f"""stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%r4], {{{names}}};
bar.warp.sync 0xffffffff;
ld.shared.v4.u32 {{%r20, %r21, %r22, %r23}}, [%r4];
st.global.v4.u32 [%rd3], {{%r20, %r21, %r22, %r23}};
ret;""")


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("is_transposed", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_rows(tmp_path, count, is_transposed, schedule):
    halves = list(range(1000, 1000 + 256))
    (tmp_path / "k.ptx").write_text(rows_kernel(count, is_transposed))
    write_words(tmp_path / "in.npy", [halves[2 * i] | halves[2 * i + 1] << 16 for i in range(128)], False)
    report = inspected(tmp_path / "k.ptx", "--block", 32, "--schedule", schedule, "--arg",
                       f"u32[128]={tmp_path / 'in.npy'}", "--arg", f"u32[{32 * count}]=none", "--arg", "u32[128]=none",
                       "--out", f"1={tmp_path / 'got.npy'}", "--out", f"2={tmp_path / 'again.npy'}")
    assert report["findings"] == [] and report["bank_degree"] == 1
    got = struct.unpack(f"<{32 * count}I", read_npy(tmp_path / "got.npy")[2])
    for lane, matrix in itertools.product(range(32), range(count)):
        low, high = [(lane // 4, 2 * (lane % 4) + e) for e in (0, 1)]
        if is_transposed:
            low, high = low[::-1], high[::-1]
        values = [halves[64 * matrix + 8 * row + column] for row, column in (low, high)]
        assert got[lane * count + matrix] == values[0] | values[1] << 16
    again = struct.unpack("<256H", read_npy(tmp_path / "again.npy")[2])
    assert list(again) == halves[:64 * count] + [0] * (256 - 64 * count)


@pytest.mark.parametrize("load, store", [("sync.aligned.x4.trans.m8n8.shared.b16", "sync.aligned.x4.trans.m8n8.shared.b16"), # CUTLASS's
                                         ("m8n8.aligned.sync.shared.trans.x4.b16", "sync.trans.aligned.m8n8.b16.x4.shared")])
def test_words_may_come_in_any_order(tmp_path, load, store):
    """As ptxas takes them."""
    text = rows_kernel(4, True)
    for base, words in (("ldmatrix", load), ("stmatrix", store)):
        usual = f"{base}.sync.aligned.m8n8.x4.trans.shared.b16"
        assert usual in text
        text = text.replace(usual, f"{base}.{words}")
    (tmp_path / "k.ptx").write_text(text)
    report = inspected(tmp_path / "k.ptx", "--block", 32, "--arg", "u32[128]=iota", "--arg", "u32[128]=none", "--arg", "u32[128]=none",
                       "--out", f"1={tmp_path / 'got.npy'}", "--out", f"2={tmp_path / 'again.npy'}")
    assert report["findings"] == []
    got = struct.unpack("<256H", read_npy(tmp_path / "got.npy")[2])
    halves = [half for word in range(128) for half in (word, 0)]
    assert list(got) == [halves[64 * matrix + 8 * (2 * (lane % 4) + e) + lane // 4]
                         for lane, matrix, e in itertools.product(range(32), range(4), range(2))]
    assert struct.unpack("<128I", read_npy(tmp_path / "again.npy")[2]) == tuple(range(128))


def test_the_words_of_a_product_may_come_in_any_order(tmp_path):
    text = mma_kernel((16, 8, 16), "s8", "u8", "s32", "s32", ".satfinite")
    usual, other = "sync.aligned.m16n8k16.row.col.satfinite.s32.s8.u8.s32", "row.sync.col.s32.aligned.s8.satfinite.u8.m16n8k16.s32"
    assert usual in text
    arguments = ["--block", 32, "--arg", "u32[64]=iota", "--arg", "u32[32]=iota", "--arg", "u32[128]=iota", "--arg", "u32[128]=none"]
    results = []
    for words in (usual, other):
        (tmp_path / "k.ptx").write_text(text.replace(usual, words))
        assert inspected(tmp_path / "k.ptx", *arguments, "--out", f"3={tmp_path / 'd.npy'}")["findings"] == []
        results.append((tmp_path / "d.npy").read_bytes())
    assert results[0] == results[1]


def test_movmatrix_transposes(tmp_path):
    (tmp_path / "k.ptx").write_text(HEAD + kernel("k", parameters("k", "u64"), """ld.param.u64 %rd1, [k_param_0];
mov.u32 %r1, %laneid;
mul.wide.u32 %rd2, %r1, 4;
add.u64 %rd1, %rd1, %rd2;
ld.global.u32 %r2, [%rd1];
movmatrix.sync.aligned.m8n8.trans.b16 %r3, %r2;
st.global.u32 [%rd1], %r3;
ret;"""))
    write_words(tmp_path / "in.npy", [2 * i | (2 * i + 1) << 16 for i in range(32)], False)
    report = inspected(tmp_path / "k.ptx", "--block", 32, "--arg", f"u32[32]={tmp_path / 'in.npy'}", "--out",
                       f"0={tmp_path / 'out.npy'}")
    got = struct.unpack("<64H", read_npy(tmp_path / "out.npy")[2])
    assert report["findings"] == [] and list(got) == [8 * (i % 8) + i // 8 for i in range(64)]


# ---- compiled kernels ----------------------------------------------------------------------------------


@functools.cache
def product(rows, columns, depth):
    a, b = small(rows, depth, 7), small(depth, columns, 8)
    return a, b, [sum(x * y for x, y in zip(row, column)) for row in a for column in zip(*b)]


def product_of(rows, columns, depth, a_columns, b_columns):
    a, b, c = product(rows, columns, depth)
    flat = [x for row in (zip(*a) if a_columns else a) for x in row]
    return flat, [x for row in (zip(*b) if b_columns else b) for x in row], c


def gemm(name, element, rows=64, columns=64, depth=64, a_columns=False, b_columns=False, accumulator=None, block="128"):
    a, b, c = product_of(rows, columns, depth, a_columns, b_columns)
    tiles = f"{columns // 32},{rows // 32}"
    return Case(SOURCE, name, tiles, block, [given(element, a), given(element, b),
                                             result(accumulator or "f32", c), f"i32:{columns}", f"i32:{depth}"])


def tile(name, element, accumulator, m, n, k=16):
    a, b = small(m, k, 5), small(n, k, 6)
    c = [sum(x * y for x, y in zip(row, column)) + 2 for row in a for column in b]
    factors = [[ENCODE["s8"](x) if element == "u8" else x for row in matrix for x in row] for matrix in (a, b)]
    return Case(SOURCE, name, "1", "32", [given(element, factors[0]), given(element, factors[1]), result(accumulator, c)])


BY_ROWS, BY_COLUMNS = "false", "true"
RIGHT = [
    gemm(f"wmma_gemm<float, {BY_ROWS}, {BY_ROWS}>", "f16"),
    gemm(f"wmma_gemm<float, {BY_ROWS}, {BY_COLUMNS}>", "f16", b_columns=True),
    gemm(f"wmma_gemm<float, {BY_COLUMNS}, {BY_ROWS}>", "f16", a_columns=True),
    gemm(f"wmma_gemm<__half, {BY_ROWS}, {BY_ROWS}>", "f16", accumulator="f16"),
    gemm("tiled_gemm<right>", "f16"),
    tile("wmma_bytes", "u8", "i32", 16, 16),
    tile("wmma_tall", "u8", "i32", 32, 8),
    tile("wmma_wide", "f16", "f32", 8, 32),
]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("case", RIGHT, ids=str)
def test_right_kernels(case, schedule, tmp_path):
    check(case, schedule, tmp_path)


def test_rows_in_the_same_banks_are_counted(tmp_path):
    right, wrong = (inspect(gemm(f"tiled_gemm<{name}>", "f16"), tmp_path) for name in ("right", "not_padded"))
    assert right["counts"]["bank_degree"] == 1 and wrong["counts"]["bank_degree"] == 8


def line_of(text):
    found, = [n for n, line in enumerate((KERNELS / SOURCE).read_text().splitlines(), 1) if text in line]
    return found


STORES = {line_of("tile_a[i / 16"), line_of("tile_b[i / 32")}
WRONG = [("tiled_gemm<no_barrier_before>", {"race"}, "no __syncthreads() between line "),
         ("tiled_gemm<no_barrier_after>", {"race"}, "no __syncthreads() between line "),
         ("no_warp_barrier", {"race"}, "load of shared memory at byte 2 races with the store by thread (1,0,0) of block "
          "(0,0,0) at "),
         ("not_all_lanes", {"barrier"}, "lanes 0-15 of warp 0 execute ldmatrix.sync.aligned.m8n8.x1.shared.b16, "
          "which takes all 32 lanes of a warp"),
         ("misaligned_rows", {"misaligned"}, "loads 16 bytes of shared memory at 0x18, which is not a multiple of 16")]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name, kinds, said", WRONG)
def test_wrong_kernels(name, kinds, said, schedule, tmp_path):
    if "gemm" in name:
        case = gemm(name, "f16")
    else:
        case = Case(SOURCE, name, "1", "32", [given("f16", [0.0] * 256), result("f32", [0.0] * 32)])
    findings = inspect(case, tmp_path, "--schedule", schedule, status=3)["findings"]
    assert {finding["kind"] for finding in findings} == kinds
    assert any(said in finding["message"] for finding in findings)
    if "gemm" in name:
        assert all(STORES & {finding["line"], finding["other"]["line"]} for finding in findings
                   if finding["kind"] == "race")


# ---- wmma of elements smaller than a byte ----------------------------------------------------------------

NARROW = {"s4": (4, 32, ""), "u4": (4, 32, ""), "b1 xor": (1, 128, ".xor.popc"), "b1 and": (1, 128, ".and.popc")}


def rows_in_words(vectors, bits, gap):
    """Words of the vectors one after another, each followed by `gap` words that nothing may use."""
    words = []
    for vector in vectors:
        number = sum(element << bits * place for place, element in enumerate(vector))
        words += [number >> 32 * w & 0xffffffff for w in range(len(vector) * bits // 32)] + [0xdeadbeef] * gap
    return words


def narrow_sum(kind, row, column, addend):
    if kind.startswith("b1"):
        return addend + sum(a != b if kind.endswith("xor") else a & b for a, b in zip(row, column, strict=True))
    signed = [[x - 16 * (kind == "s4" and x >= 8) for x in vector] for vector in (row, column)]
    return addend + sum(a * b for a, b in zip(*signed, strict=True))


@pytest.mark.parametrize("kind, is_saturated", [(kind, False) for kind in NARROW] + [("s4", True), ("u4", True)])
def test_wmma_of_elements_smaller_than_a_byte(tmp_path, kind, is_saturated):
    bits, depth, operation = NARROW[kind]
    element, more = kind[:2], ".satfinite" if is_saturated else ""
    generator = random.Random(kind)
    a, b = ([[generator.getrandbits(bits) for _ in range(depth)] for _ in range(8)] for _ in "ab")
    c = [generator.choice([0, 5, -7, 2**31 - 1, -2**31]) for _ in range(64)]
    stride = depth + 2 * 32 // bits
    text = "\n".join(f"ld.param.u64 %rd{n}, [k_param_{n}];" for n in range(4)) + f"""
mov.u32 %r9, {stride};
wmma.load.a.sync.aligned.row.m8n8k{depth}.global.{element} {{%r0}}, [%rd0], %r9;
wmma.load.b.sync.aligned.col.m8n8k{depth}.global.{element} {{%r1}}, [%rd1], %r9;
wmma.load.c.sync.aligned.row.m8n8k{depth}.global.s32 {{%r2, %r3}}, [%rd2];
wmma.mma{operation}.sync.aligned.row.col.m8n8k{depth}.s32.{element}.{element}.s32{more} {{%r4, %r5}}, {{%r0}}, {{%r1}}, {{%r2, %r3}};
wmma.store.d.sync.aligned.col.m8n8k{depth}.global.s32 [%rd3], {{%r4, %r5}};
ret;"""
    (tmp_path / "k.ptx").write_text(HEAD + kernel("k", parameters("k", *["u64"] * 4), text))
    arguments = []
    for name, words in {"a": rows_in_words(a, bits, 2), "b": rows_in_words(b, bits, 2), "c": [x % 2**32 for x in c]}.items():
        write_words(tmp_path / f"{name}.npy", words, False)
        arguments += ["--arg", f"u32[{len(words)}]={tmp_path / name}.npy"]
    report = inspected(tmp_path / "k.ptx", "--block", 32, *arguments, "--arg", "i32[64]", "--out", f"3={tmp_path / 'd.npy'}")
    assert report["findings"] == []
    got = struct.unpack("<64i", read_npy(tmp_path / "d.npy")[2])
    for row, column in itertools.product(range(8), repeat=2):
        total = narrow_sum(kind, a[row], b[column], c[8 * row + column])
        total = min(max(total, -2**31), 2**31 - 1) if is_saturated else (total + 2**31) % 2**32 - 2**31
        assert got[8 * column + row] == total, (row, column)


# ---- what is refused ------------------------------------------------------------------------------------

REFUSED = [
    ("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2}, {%r0,%r1}, {%r2}, {%f0,%f1,%f2,%f3};", "vector of 4"),
    ("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0}, {%r2}, {%f0,%f1,%f2,%f3};", "vector of 2"),
    ("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%rd1}, {%r2}, {%f0,%f1,%f2,%f3};",
     "registers of 32 bits"),
    ("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1}, {%r2};", "4 operands"),
    ("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,5}, {%r2}, {%f0,%f1,%f2,%f3};", "registers"),
    ("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 %r0, %r0, %r0, %r0;", "vector of 4"),
    ("mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f16 {%f0,%f1,%f2,%f3}, {%r0,%r1}, {%r2,%r3}, {%r0,%r1,%r2,%r3};", "vector of 8"),
    ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%rd0,%rd1}, {%r0}, {%rd3}, {%rd0,%rd1};", "registers of 64 bits"),
    *((f"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{%f0,%f1,%f2,%f3}}, {{%r0,%r1}}, {{%r2,%r3}}, {{%f0,%f1,%f2,%f3}}{last};", said)
      for last, said in ((", %r4, 4", "operand 6 must be a sparsity selector below 4"), (", %r4, %r5", "operand 6 must be a sparsity selector below 4"),
                         (", %rd4, 0", "operand 5 must be of registers of 32 bits"), (", 7, 0", "operand 5 must be of registers"), ("", "6 operands"))),
    ("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0}, [%r1];", "vector of 2"),
    ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, %r1;", "address in brackets"),
    ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%f1];", "an address of 32 or 64 bits"),
    ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%h1];", "an address of 32 or 64 bits"),
    ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0};", "2 operands"),
    ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [k_param_0];", "in shared memory"),
    ("stmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r1];", "address in brackets"),
    ("movmatrix.sync.aligned.m8n8.trans.b16 %r0, 3;", "operand 2"),
    ("movmatrix.sync.aligned.m8n8.trans.b16 %h0, %h1;", "registers of 32 bits"),
    ("wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r0,%r1}, [%rd1], %r2;", "vector of 8"),
    ("wmma.load.a.sync.aligned.row.m16n16k16.s8 {%r0,%r1}, [%rd1], %rd2;", "registers of 32 bits"),
    ("wmma.store.d.sync.aligned.row.m8n8k4.f64 [%rd1], {%r0,%r1}, %r2;", "registers of 64 bits"),
    ("wmma.store.d.sync.aligned.row.m8n8k4.f64 [%rd1], {%rd0,%rd1}, %r2, %r3;", "operands"),
]


@pytest.mark.parametrize("text, said", REFUSED)
def test_malformed_instructions_are_refused_by_line(tmp_path, text, said):
    module = HEAD + kernel("k", parameters("k", "u64"), text + "\nret;")
    (tmp_path / "k.ptx").write_text(module)
    done = run("inspect", tmp_path / "k.ptx")
    line = module.splitlines().index(text) + 1
    assert (done.returncode, done.stdout) == (1, "") and said in done.stderr, done
    assert f"k.ptx:{line}: {text.split()[0]}: " in done.stderr, (line, done.stderr)


UNKNOWN = ["mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f32 {%f0}, {%r0}, {%r2}, {%f0};",
           "mma.sync.aligned.m8n8k4.row.col.f32.bf16.bf16.f32 {%f0}, {%r0}, {%r2}, {%f0};",
           "mma.sync.aligned.m8n8k4.row.row.f64.f64.f64.f64 {%f0}, {%r0}, {%r2}, {%f0};",
           "mma.sp.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0}, {%r0}, {%r2}, {%f0}, %r1, 0;",
           "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f16 {%f0}, {%r0}, {%r2}, {%f0}, %r1, 0;",
           "mma.sync.aligned.m16n8k8.col.col.f32.f16.f16.f32 {%f0}, {%r0}, {%r2}, {%f0};",
           "mma.sync.aligned.m16n8k08.row.col.f32.f16.f16.f32 {%f0}, {%r0}, {%r2}, {%f0};",
           "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32 {%f0}, {%r0}, {%r2}, {%f0};",
           "wmma.mma.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {%r0}, {%r0}, {%r2}, {%r0};",
           "wmma.load.a.sync.aligned.col.m8n8k32.s4 {%r0}, [%rd1];", "mma {%f0};", "wmma.load;", "ldmatrix.sync.aligned.m8n8.x3.b16 {%r0}, [%r1];", "movmatrix;", "stmatrix;"]


@pytest.mark.parametrize("text", UNKNOWN)
def test_unknown_ones_are_named_when_they_are_reached(tmp_path, text):
    (tmp_path / "k.ptx").write_text(HEAD + kernel("k", [], text + "\nret;"))
    finding, = inspected(tmp_path / "k.ptx", status=3)["findings"]
    assert finding["kind"] == "unsupported" and f"'{text.split()[0].rstrip(';')}'" in finding["message"]
