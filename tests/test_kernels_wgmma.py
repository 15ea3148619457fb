"""wgmma on the simulator: products against exact fractions, of matrices that are laid out in shared memory here by the
table of canonical layouts of the PTX ISA; and kernels that are wrong, each with its exact report."""

import itertools
import os
import random
import re
import struct
from fractions import Fraction

import pytest

from cli_helpers import run
from inspect_helpers import HEAD, inspected, kernel, read_npy
from kernel_helpers import KERNELS, SCHEDULES, Case, check, given, has_nvrtc, inspect, result, zeros
from test_kernels_matrix import BITS, DECODE, ENCODE, chip_sum, small, write_words

SOURCE = "wgmma.cu"


def e4m3(bits):
    exponent, fraction = bits >> 3 & 15, bits & 7
    if bits & 127 == 127:
        return float("nan")
    value = (8 + fraction) * 2.0 ** (exponent - 10) if exponent else fraction * 2.0 ** -9
    return -value if bits >> 7 else value


TYPES = {name: (BITS[name], DECODE[name], ENCODE[name]) for name in BITS}
TYPES["e4m3"] = (8, e4m3, {e4m3(bits): bits for bits in range(255, -1, -1)}.__getitem__)
TYPES["e5m2"] = (8, lambda bits: DECODE["f16"](bits << 8), lambda value: ENCODE["f16"](value) >> 8)
DEPTHS = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "s8": 32, "u8": 32}

# ---- layouts: PTX ISA, "Canonical Layouts" of wgmma, in elements -----------------------------------------

WIDTHS = {0: 1, 1: 8, 2: 4, 3: 2}  # 16-byte columns of a pattern, by the mode of the descriptor


def canonical(mode, is_outer_major, t, lbo, sbo):
    """((shape, strides) of the outer index, the same of the depth)."""
    w = WIDTHS[mode]
    if is_outer_major and mode == 0:
        return ([t, 1, 99], [1, t, sbo]), ([8, 99], [t, lbo])
    if is_outer_major:
        return ([t, w, 99], [1, t, lbo]), ([8, 99], [w * t, sbo])
    return ([8, 99], [w * t, sbo]), ([t, 99], [1, lbo if mode == 0 else t])


def along(index, layout):
    offset = 0
    for size, stride in zip(*layout):
        offset += index % size * stride
        index //= size
    return offset


def swizzled(address, mode):
    bits = WIDTHS[mode] - 1  # Swizzle<B, 4, 3>
    return address ^ (address >> 7 & bits) << 4


class Image:
    """Bytes of shared memory, into which matrices are laid."""

    def __init__(self, nbytes):
        self.bytes = bytearray(nbytes)

    def lay(self, elements, name, mode, is_outer_major, start, lbo, sbo, shift=0):
        """elements[outer][depth]; lbo and sbo in bytes; `shift`: bytes of the pattern before the matrix.  Its descriptor."""
        bits, _, encode = TYPES[name]
        nbytes = bits // 8
        layouts = canonical(mode, is_outer_major, 16 // nbytes, lbo // nbytes, sbo // nbytes)
        taken = set()
        for o, row in enumerate(elements):
            for k, value in enumerate(row):
                offset = shift + (along(o, layouts[0]) + along(k, layouts[1])) * nbytes
                at = start + swizzled(offset, mode)
                assert at not in taken and at + nbytes <= len(self.bytes)
                taken.add(at)
                self.bytes[at:at + nbytes] = encode(value).to_bytes(nbytes, "little")
        base = start >> 7 & 7 if mode else 0
        return (start + shift) >> 4 | lbo >> 4 << 16 | sbo >> 4 << 32 | base << 49 | mode << 62

    def words(self):
        return list(struct.unpack(f"<{len(self.bytes) // 4}I", self.bytes))


# ---- one product ---------------------------------------------------------------------------------------


def d_registers(name, n):
    return n // 4 if name == "f16" else n // 2


def d_cells(name, n):
    """Of each of the 128 threads: the cells in its registers, PTX ISA, "wgmma .m64nNk16 register fragment layout for
    accumulator matrix D"."""
    for thread in range(128):
        row, column = thread // 32 * 16 + thread % 32 // 4, thread % 4 * 2
        yield [(row + 8 * (i // 2 % 2), column + 8 * (i // 4) + i % 2) for i in range(n // 2)]


def a_cells(name):
    per = 32 // TYPES[name][0]
    for thread in range(128):
        row, column = thread // 32 * 16 + thread % 32 // 4, thread % 4 * per
        yield [(row + 8 * (r % 2), column + r // 2 * 4 * per + e) for r in range(4) for e in range(per)]


def words_of(matrix, name, cells):
    bits, _, encode = TYPES[name]
    per, words = 32 // bits, []
    for of_thread in cells:
        values = [encode(matrix[row][column]) for row, column in of_thread]
        words += [sum(v << bits * i for i, v in enumerate(values[at:at + per])) for at in range(0, len(values), per)]
    return words


def product_kernel(nbytes, n, names, a_in_registers, operands, adds, more, selector=None):
    """`selector`: of the metadata, where a is half of a matrix."""
    a, b, d = names
    sparse, parameters = ("", 6) if selector is None else (".sp", 7)
    depth, metadata = (DEPTHS[a], "") if selector is None else (2 * DEPTHS[a], f" %r6, {selector},")
    kind, count = ("f32" if d == "f32" else "b32"), d_registers(d, n)
    vector = "{" + ", ".join(f"%d{i}" for i in range(count)) + "}"
    factor = "{%a0, %a1, %a2, %a3}" if a_in_registers else "%rd10"
    lines = [f".reg .{kind} %d<{count}>;", ".reg .b32 %a<4>;", ".reg .b32 %r<8>;", ".reg .b64 %rd<20>;", ".reg .pred %p<4>;",
             *(f"ld.param.u64 %rd{i if i < 6 else 16}, [k_param_{i}];" for i in range(parameters)),
             "mov.u32 %r1, %tid.x;", "mul.wide.u32 %rd6, %r1, 4;", "add.u64 %rd7, %rd0, %rd6;", "mov.u32 %r2, image;",
             "shl.b32 %r3, %r1, 2;", "add.u32 %r3, %r2, %r3;", "mov.u32 %r4, %r1;",
             f"LOOP: setp.ge.u32 %p1, %r4, {nbytes // 4};", "@%p1 bra DONE;", "ld.global.u32 %r5, [%rd7];",
             "st.shared.u32 [%r3], %r5;", "add.u64 %rd7, %rd7, 512;", "add.u32 %r3, %r3, 512;", "add.u32 %r4, %r4, 128;",
             "bra LOOP;", "DONE:", "fence.proxy.async.shared::cta;", "bar.sync 0;",
             "shr.u32 %r2, %r2, 4;", "cvt.u64.u32 %rd8, %r2;", "add.u64 %rd10, %rd4, %rd8;", "add.u64 %rd11, %rd5, %rd8;",
             "mul.wide.u32 %rd12, %r1, 16;", "add.u64 %rd12, %rd1, %rd12;",
             f"mul.wide.u32 %rd13, %r1, {4 * count};", "add.u64 %rd14, %rd2, %rd13;", "add.u64 %rd15, %rd3, %rd13;",
             *(f"ld.global.b32 %a{i}, [%rd12+{4 * i}];" for i in range(4)),
             *(f"ld.global.{kind} %d{i}, [%rd14+{4 * i}];" for i in range(count)),
             *(["add.u64 %rd16, %rd16, %rd6;", "ld.global.u32 %r6, [%rd16];"] if sparse else []),
             f"setp.eq.u32 %p2, {int(adds)}, 1;", "wgmma.fence.sync.aligned;",
             f"wgmma.mma_async{sparse}.sync.aligned.m64n{n}k{depth}.{d}.{a}.{b}{more} {vector}, {factor}, %rd11,{metadata} %p2{operands};",
             "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;",
             *(f"st.global.{kind} [%rd15+{4 * i}], %d{i};" for i in range(count)), "ret;"]
    parameters = ", ".join(f".param .u64 k_param_{i}" for i in range(parameters))
    return f".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k({parameters})\n{{\n" \
        f".shared .align 1024 .b8 image[{nbytes}];\n" + "\n".join(lines) + "\n}\n"


def run_product(folder, image, n, names, a, descriptors, c, operands="", adds=True, more="", schedule="lockstep", sparse=None):
    """`a`: the matrix, where it comes from registers; else None.  `sparse`: a selector, and the threads' metadata."""
    selector, metadata = sparse or (None, None)
    d = names[2]
    words = image.words()
    (folder / "k.ptx").write_text(product_kernel(len(image.bytes), n, names, a is not None, operands, adds, more, selector))
    write_words(folder / "metadata.npy", metadata or [0] * 128, False)
    write_words(folder / "image.npy", words, False)
    write_words(folder / "a.npy", words_of(a, names[0], a_cells(names[0])) if a else [0] * 512, False)
    write_words(folder / "c.npy", words_of(c, d, d_cells(d, n)), False)
    count = 128 * d_registers(d, n)
    report = inspected(folder / "k.ptx", "--block", 128, "--schedule", schedule,
                       "--arg", f"u32[{len(words)}]={folder / 'image.npy'}", "--arg", f"u32[512]={folder / 'a.npy'}",
                       "--arg", f"u32[{count}]={folder / 'c.npy'}", "--arg", f"u32[{count}]=none",
                       *(word for value in descriptors for word in ("--arg", f"u64:{value}")),
                       *(["--arg", f"u32[128]={folder / 'metadata.npy'}"] if sparse else []),
                       "--out", f"3={folder / 'd.npy'}")
    assert report["findings"] == []
    got = struct.unpack(f"<{count}I", read_npy(folder / "d.npy")[2])
    expected_cells = list(d_cells(d, n))
    per, bits = (2, 16) if d == "f16" else (1, 32)
    matrix = [[None] * n for _ in range(64)]
    for thread, cells in enumerate(expected_cells):
        for i, (row, column) in enumerate(cells):
            word = got[thread * d_registers(d, n) + i // per]
            matrix[row][column] = TYPES[d][1](word >> bits * (i % per) & (1 << bits) - 1)
    return matrix


def exact(a, b, c):
    """b[column][k]"""
    return [[sum(Fraction(x) * Fraction(y) for x, y in zip(row, column)) + Fraction(c[i][j])
             for j, column in enumerate(b)] for i, row in enumerate(a)]


def strides(rows, mode, is_outer_major, name, wider=1):
    """(lbo, sbo, bytes) of a matrix of `rows` whose patterns lie one behind another, as the table has them."""
    depth, t, w = wider * DEPTHS[name], 128 // TYPES[name][0], WIDTHS[mode]
    chunks, groups = (rows // t, depth // 8) if is_outer_major else (depth // t, rows // 8)
    pattern = 128 * w
    if mode == 0:  # chunk after chunk within a group of eight
        apart, together = 128 * chunks + 16 * 8, 128
        return (apart, together, apart * groups) if is_outer_major else (together, apart, apart * groups)
    patterns = max(1, -(-chunks // w))
    if is_outer_major:
        return pattern * groups, pattern, pattern * groups * patterns
    return 16, pattern, pattern * groups


FLOATS = [("f16", "f16", "f32"), ("f16", "f16", "f16"), ("bf16", "bf16", "f32")]
SHAPES = [
    *((names, 8 * (3 + i), mode, ta, tb) for i, (names, (mode, ta, tb)) in enumerate(zip(
        itertools.cycle(FLOATS), itertools.product(range(4), (0, 1), (0, 1))))),
    *((FLOATS[0], n, 1, 0, 0) for n in (8, 16, 248, 256)),
    *((("tf32", "tf32", "f32"), 24, mode, 0, 0) for mode in range(4)),
    *((names, 16, mode, 0, 0) for mode, names in enumerate([("e4m3", "e5m2", "f32"), ("e5m2", "e4m3", "f16"),
                                                           ("e4m3", "e4m3", "f32"), ("e5m2", "e5m2", "f16")])),
    *((names, 48, mode, 0, 0) for mode, names in enumerate([("s8", "s8", "s32"), ("u8", "s8", "s32"),
                                                           ("s8", "u8", "s32"), ("u8", "u8", "s32")])),
]


def operands_of(names, a_in_registers, signs, layouts):
    if names[2] == "s32":
        return ""
    text = f", {signs[0]}, {signs[1]}"
    if DEPTHS[names[0]] == 16:
        text += f", {layouts[1]}" if a_in_registers else f", {layouts[0]}, {layouts[1]}"
    return text


def laid(names, n, modes, layouts, seed=0, wider=1):
    """Small integers in an image: it, the matrices, and their descriptors.  `wider`: how deep b is for a depth of a."""
    a = small(64, DEPTHS[names[0]], seed + 1, 0 if names[0] == "u8" else -3, 3)
    b = small(n, wider * DEPTHS[names[1]], seed + 2, 0 if names[1] == "u8" else -3, 3)
    size_a = strides(64, modes[0], layouts[0], names[0])
    size_b = strides(n, modes[1], layouts[1], names[1], wider)
    start = -(-size_a[2] // 1024) * 1024
    image = Image(-(-(start + size_b[2]) // 1024) * 1024)
    first = image.lay(a, names[0], modes[0], layouts[0], 0, *size_a[:2])
    return image, a, b, (first, image.lay(b, names[1], modes[1], layouts[1], start, *size_b[:2]))


@pytest.mark.parametrize("case", SHAPES, ids=str)
def test_products_of_every_layout(tmp_path, case):
    names, n, mode, *layouts = case
    image, a, b, descriptors = laid(names, n, (mode, (mode + 1) % 4), layouts, n)
    c = small(64, n, 3, -40, 40)
    got = run_product(tmp_path, image, n, names, None, descriptors, c, operands_of(names, False, (1, 1), layouts))
    assert got == exact(a, b, c)


@pytest.mark.parametrize("names", [*FLOATS, ("tf32", "tf32", "f32"), ("e4m3", "e5m2", "f32"), ("s8", "u8", "s32")], ids=str)
def test_a_in_registers_signs_and_no_addition(tmp_path, names):
    image, a, b, descriptors = laid(names, 16, (0, 2), (0, int(DEPTHS[names[0]] == 16)))
    c = small(64, 16, 3, -40, 40)
    is_signed = names[2] != "s32"
    got = run_product(tmp_path, image, 16, names, a, descriptors, c,
                      operands_of(names, True, (-1, 1), (0, 1)), adds=False, schedule="split")
    sign = -1 if is_signed else 1
    assert got == [[sign * x for x in row] for row in exact(a, b, [[0] * 16] * 64)]
    again = run_product(tmp_path, image, 16, names, a, descriptors, c, operands_of(names, True, (-1, -1), (0, 1)))
    assert again == exact(a, b, c)


@pytest.mark.parametrize("shift", [0, 32, 64, 96])
@pytest.mark.parametrize("start", [1024, 1024 + 256])
def test_a_slice_of_a_swizzled_pattern(tmp_path, shift, start):
    """Sixteen of 64 columns, and patterns that do not begin at 1024 bytes."""
    a, b, c = small(64, 16, 1), small(8, 16, 2), small(64, 8, 3)
    image = Image(12 * 1024)
    first = image.lay(a, "f16", 1, False, start, 16, 1024, shift)
    second = image.lay(b, "f16", 0, False, 0, 128, 256)
    got = run_product(tmp_path, image, 8, FLOATS[0], None, (first, second), c, ", 1, 1, 0, 0")
    assert got == exact(a, b, c)


# ---- a is half of a matrix ------------------------------------------------------------------------------


def thinned(name, a, seed):
    """(the matrix of which a is half, the four bits of each row's chunks): of two neighbours one is left, of four two."""
    generator, chunk = random.Random(seed), 2 if name == "tf32" else 4
    whole, bits = [[0] * (2 * DEPTHS[name]) for _ in a], [[] for _ in a]
    for row, values in enumerate(a):
        for first in range(0, 2 * DEPTHS[name], chunk):
            places = sorted(generator.sample(range(chunk), chunk // 2))
            for number, place in enumerate(places):
                whole[row][first + place] = values[first // 2 + number]
            bits[row].append((0b0100, 0b1110)[places[0]] if chunk == 2 else places[0] | places[1] << 2)
    return whole, bits


def metadata_words(name, bits, selector):
    """Of each thread, PTX ISA, "Sparsity metadata and selector" of wgmma.mma_async.sp.  Other lanes than the selector's have any word."""
    words = []
    for thread in range(128):
        row, pair, second = thread // 32 * 16 + thread % 32 // 4, thread // 2 % 2, thread % 2
        if TYPES[name][0] == 8:  # eight chunks of a row
            chunks = bits[row + 8 * second][8 * pair:8 * pair + 8]
        else:  # four of each of two rows
            chunks = bits[row][4 * second:4 * second + 4] + bits[row + 8][4 * second:4 * second + 4]
        is_read = TYPES[name][0] == 8 or pair == selector
        words.append(sum(four << 4 * i for i, four in enumerate(chunks)) if is_read else 0x12345678 * thread & 0xFFFFFFFF)
    return words


THIN = [(names, mode, selector, mode % 2) for names in (*FLOATS, ("tf32", "tf32", "f32")) for mode in range(4) for selector in range(2)]
THIN += [(names, mode, 0, mode % 2) for mode, names in enumerate([("e4m3", "e5m2", "f32"), ("e5m2", "e4m3", "f16"), ("s8", "u8", "s32"),
                                                                  ("u8", "s8", "s32")])]


@pytest.mark.parametrize("case", THIN, ids=str)
def test_products_of_thinned_matrices(tmp_path, case):
    """A word of metadata too many, or of another lane, gives other sums."""
    names, mode, selector, in_registers = case
    layouts = [0, mode // 2 if DEPTHS[names[0]] == 16 else 0]
    image, a, b, descriptors = laid(names, 32, (mode, (1, 2, 0, 1)[mode]), layouts, mode, wider=2)  # 32 bytes are less than b is deep
    whole, bits = thinned(names[0], a, selector)
    c = small(64, 32, 3, -40, 40)
    got = run_product(tmp_path, image, 32, names, a if in_registers else None, descriptors, c,
                      operands_of(names, in_registers, (1, 1), layouts), sparse=(selector, metadata_words(names[0], bits, selector)))
    assert got == exact(whole, b, c)


BYTES = [(a, a, d) for a in ("e4m3", "e5m2") for d in ("f32", "f16")]


@pytest.mark.parametrize("names", [*FLOATS, ("tf32", "tf32", "f32"), *BYTES], ids=str)
def test_sums_are_those_of_an_h200(tmp_path, names):
    generator = random.Random(7)
    depth, (bits, decode, encode) = DEPTHS[names[0]], TYPES[names[0]]
    limit = 5 if names[2] == "f16" or bits == 8 else 12
    numbers = [x for x in map(decode, range(256)) if 2.0**-limit <= abs(x) < 2.0**limit] if bits == 8 else None

    def value():
        if numbers:
            return generator.choice(numbers)
        return decode(encode(generator.choice((-1, 1)) * generator.uniform(1, 2) * 2.0 ** generator.randint(-limit, limit)))

    a, b = [[value() for _ in range(depth)] for _ in range(64)], [[value() for _ in range(depth)] for _ in range(8)]
    for row, k in itertools.product(a, range(0, depth - 4, 2)):  # what is large cancels
        row[k + 1] = -row[k]
    for column, k in itertools.product(b, range(0, depth - 4, 2)):
        column[k + 1] = column[k]
    c = [[TYPES[names[2]][1](TYPES[names[2]][2](generator.uniform(-1, 1))) for _ in range(8)] for _ in range(64)]
    image = Image(4096)
    descriptors = (image.lay(a, names[0], 0, False, 0, 128, 256), image.lay(b, names[0], 0, False, 2048, 128, 256))
    got = run_product(tmp_path, image, 8, names, None, descriptors, c, operands_of(names, False, (1, 1), (0, 0)))
    assert got == [[chip_sum(row, column, addend, names[0], names[2]) for column, addend in zip(b, addends)]
                   for row, addends in zip(a, c)]


@pytest.mark.parametrize("more", ["", ".satfinite"])
def test_integers_at_their_limits(tmp_path, more):
    a, b = [[127] * 32] * 64, [[127 if column % 2 else -128] * 32 for column in range(8)]
    c = [[2**31 - 1 if column % 2 else -2**31 for column in range(8)] for _ in range(64)]
    image = Image(4096)
    descriptors = (image.lay(a, "s8", 0, False, 0, 128, 256), image.lay(b, "s8", 0, False, 2048, 128, 256))
    got = run_product(tmp_path, image, 8, ("s8", "s8", "s32"), None, descriptors, c, more=more)
    wide = exact(a, b, c)
    assert got == [[min(max(x, -2**31), 2**31 - 1) if more else (x + 2**31) % 2**32 - 2**31 for x in row] for row in wide]


# ---- kernels: stages of tiles, by stores and by bulk copies ---------------------------------------------


def product(fault, tiles=4):
    depth = 16 * tiles
    a, b = small(64, depth, 5, -3, 3), small(16, depth, 6, -3, 3)
    return Case(SOURCE, f"product<{fault}>", "1", "64" if fault == "two_warps" else "128",
                [given("f16", sum(a, [])), given("f16", sum(b, [])),
                 result("f32", [float(x) for row in exact(a, b, [[0] * 16] * 64) for x in row]), f"i32:{depth}",
                 "f32:1"])


def staged(a, b, tiles):
    stages = []
    for tile in range(tiles):
        for rows in (a, b):
            image = [0] * (len(rows) * 16)
            for o, row in enumerate(rows):
                for k in range(16):
                    image[o // 8 * 128 + k // 8 * 64 + o % 8 * 8 + k % 8] = row[16 * tile + k]
            stages += image
    return stages


def calls(fault):
    a, b = small(64, 16, 5, -3, 3), small(16, 16, 6, -3, 3)
    after = [3.0 * x + 1 for row in exact(a, b, [[0] * 16] * 64) for x in row]
    return Case(SOURCE, f"calls<{fault}>", "1", "128", [given("f16", staged(a, b, 1)), zeros("f32", 1024, after)])


def pipeline(fault, tiles=5):
    a, b = small(64, 16 * tiles, 5, -3, 3), small(16, 16 * tiles, 6, -3, 3)
    stages = staged(a, b, tiles)
    return Case(SOURCE, f"pipeline<{fault}>", "1", "160",
                [given("f16", stages), result("f32", [float(x) for row in exact(a, b, [[0] * 16] * 64) for x in row]),
                 f"i32:{tiles}"])


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("make", [product, pipeline, calls], ids=lambda make: make.__name__)
def test_right(make, schedule, tmp_path):
    check(make("right"), schedule, tmp_path)


# ---- wrong ones ----------------------------------------------------------------------------------------

NOT_READ = ("wgmma reads it at any time until its warps commit it and wait (wgmma.wait_group), and other threads meet those "
            "at a barrier")
NOT_ORDERED = "no barrier, and no mbarrier on which that thread arrives and the warp waits, comes before wgmma"
NOT_DONE = "the copy is not done before the phase of its mbarrier is over, for which nothing waits in between"
NO_PROXY_FENCE = "wgmma may miss it without fence.proxy.async, after the one and before the other"
IN_USE = ("register REGISTER is {} while wgmma at <multiply> may still use it: its group must be committed and waited for "
          "first (wgmma.commit_group, wgmma.wait_group)")


def read(byte, verb, thread, other, advice):
    return ("race", "multiply", f"wgmma read from shared memory at byte {byte} races with the {verb} by thread ({thread},0,0) "
            f"of block (0,0,0) at <{other}>: {advice}")


def overwritten(place, verb, byte, thread):
    element = f" (index {byte // 2} of `stages`, 2560 elements of 2 bytes)" if verb == "store of" else ""
    return ("race", place, f"{verb} shared memory at byte {byte}{element} races with the wgmma read by thread ({thread},0,0) of block "
            f"(0,0,0) at <multiply>: {NOT_READ}")


SAME_WAIT = "; the same holds at the other accesses of lines LINE to LINE, of which 2 pairs race"


def of_two(finding):
    return finding[:-1] + (finding[-1] + SAME_WAIT,)


REUSED = [of_two(overwritten("stage a", "store of", 64, 0))]
WRONG = [
    (product, "no_fence", [("race", "multiply", "no wgmma.fence stands before the first wgmma of the warp, which may miss what "
                            "its registers got before")]),
    (product, "no_fence_again", [("race", "multiply", "wgmma may miss what register REGISTER got at <scale>: wgmma.fence must "
                                  "stand between the two")]),
    (calls, "no_fence_again", [("race", "multiply", "wgmma may miss what register REGISTER got at <load>: wgmma.fence must "
                                "stand between the two")]),
    (product, "no_proxy_fence", [read(1536, "store", 0, "stage a", NO_PROXY_FENCE),
                                 read(2048, "store", 0, "stage b", NO_PROXY_FENCE)]),
    (product, "no_commit", [*REUSED, ("race", "result", IN_USE.format("read"))]),
    (product, "no_wait", REUSED),
    (product, "waits_for_older", REUSED),
    (product, "no_barrier", [read(2, "store", 1, "stage a", NOT_ORDERED), read(2050, "store", 1, "stage b", NOT_ORDERED),
                             ...]),
    (product, "reads_early", [("race", "reads early", IN_USE.format("read"))]),
    (product, "writes_early", [("race", "writes early", IN_USE.format("read"))]),
    (product, "warp_leaves", [("uninitialised", "multiply", "wgmma reads 16 bytes of shared memory at byte 3680, which nothing "
                               "has written"),
                              ("barrier", "await", "threads 0-95 wait at line LINE; 96-127 have ended: all four warps of a "
                               "warpgroup must execute the same wgmma instructions")]),
    (product, "half_a_warp", [("barrier", "fence", "lanes 0-15 of warp 3 execute wgmma, which takes all 128 threads of a "
                               "warpgroup")]),
    (product, "two_warps", [("barrier", "fence", "wgmma takes the four warps from warp 0 on, and the block has 2: its threads "
                             "must be a multiple of 128")]),
    (product, "beyond", [("bounds", "multiply", "wgmma reads 16 bytes of shared memory at byte 5120 of 5120, by its descriptor")]),
    (product, "unwritten", [("uninitialised", "multiply", "wgmma reads 16 bytes of shared memory at byte 2048, which nothing has "
                             "written")]),
    (pipeline, "no_barrier", [of_two(read(0, "bulk copy", 128, "bulk load", NOT_DONE)), ...]),
    (pipeline, "arrives_early", [overwritten("bulk load", "bulk copy to", 0, 0)]),
]


def findings_of(make, fault, schedule, folder):
    case = make(fault)
    for argument in case.arguments:
        if hasattr(argument, "after"):
            argument.after = None  # some of it is wrong
    return inspect(case, folder, "--schedule", schedule, "--threads", 1, status=3)["findings"]


def said(finding):
    """What is found, with the comments of the lines in place of their numbers."""
    lines = (KERNELS / SOURCE).read_text().splitlines()

    def comment(line):
        return lines[int(line) - 1].partition("// line: ")[2]

    message = re.sub(r"\S*wgmma\.cu:(\d+)", lambda match: f"<{comment(match[1])}>", finding["message"])
    message = re.sub(r"register %\w+", "register REGISTER", message)
    message = re.sub(r"at line \d+", "at line LINE", message)
    message = re.sub(r"of lines \d+ to \d+", "of lines LINE to LINE", message)
    return finding["kind"], comment(finding["line"]), message


@pytest.mark.sampled
@pytest.mark.parametrize("make, fault, expected", WRONG, ids=lambda value: value if isinstance(value, str) else "")
def test_wrong(make, fault, expected, tmp_path):
    """... : others follow from these."""
    found = [said(finding) for finding in findings_of(make, fault, "lockstep", tmp_path)]
    if expected[-1] is ...:
        expected, found = expected[:-1], found[:len(expected) - 1]
    assert found == expected


@pytest.mark.slow
@pytest.mark.parametrize("make, fault, expected", WRONG, ids=lambda value: value if isinstance(value, str) else "")
def test_wrong_under_another_schedule(make, fault, expected, tmp_path):
    kinds = {finding["kind"] for finding in findings_of(make, fault, "random:1", tmp_path)}
    assert kinds & {expected[0][0], "uninitialised", "barrier"} and "unsupported" not in kinds


# ---- what is refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize("old, new, said", [
    ("{%d0, %d1, %d2, %d3}", "{%d0, %d1, %d2}", "operand 1 must be a vector of 4"),
    (", %rd10, %rd11,", ", %r1, %rd11,", "operand 2 must be a descriptor, in a register of 64 bits"),
    ("%p2, 1, 1, 0, 0;", "%p2, 1, 2, 0, 0;", "operand 6 must be 1 or -1"),
    ("%p2, 1, 1, 0, 0;", "%p2, 1, 1, 0, 3;", "operand 8 must be 0 or 1"),
    ("%p2, 1, 1, 0, 0;", "%r1, 1, 1, 0, 0;", "operand 4 must be a predicate"),
    ("%p2, 1, 1, 0, 0;", "%p2, 1, 1;", "it takes 8 operands, found 6"),
    ("wait_group.sync.aligned 0;", "wait_group.sync.aligned %r1;", "operand 1 must be an integer constant"),
    ("mma_async.sync.aligned.m64n8k16", "mma_async.sp.sync.aligned.m64n8k32", "it takes 10 operands, found 8"),
])
def test_operands_that_do_not_fit_are_refused(tmp_path, old, new, said):
    text = product_kernel(1024, 8, FLOATS[0], False, ", 1, 1, 0, 0", True, "")
    assert old in text
    (tmp_path / "k.ptx").write_text(text.replace(old, new))
    done = run("inspect", tmp_path / "k.ptx", "--block", 128, *["--arg", "u32[512]=zeros"] * 4, *["--arg", "u64:0"] * 2)
    assert done.returncode == 1 and said in done.stderr


@pytest.mark.parametrize("opcode", ["wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16", "wgmma.fence.sync",
                                    "wgmma.mma_async.sp.sync.aligned.m64n8k16.f32.f16.f16",
                                    "wgmma.mma_async.sync.aligned.m64n8k32.f32.f16.f16",
                                    "wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc",
                                    "wgmma.mma_async.sync.aligned.m64n40k32.s32.s8.s8",
                                    "wgmma.mma_async.sync.aligned.m64n8k16.bf16.bf16.bf16"])
def test_what_is_not_known_is_named(tmp_path, opcode):
    text = product_kernel(1024, 8, FLOATS[0], False, ", 1, 1, 0, 0", True, "")
    text = text.replace("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", opcode)
    if opcode == "wgmma.fence.sync":
        text = re.sub(r"wgmma\.fence\.sync {.*;", "wgmma.fence.sync;", text)
    (tmp_path / "k.ptx").write_text(text)
    findings = inspected(tmp_path / "k.ptx", "--block", 128, *["--arg", "u32[512]=zeros"] * 4, *["--arg", "u64:0"] * 2,
                         status=3)["findings"]
    instead = ": mma.sync of single bits (.b1 with .and.popc) gives the same sums" if ".b1." in opcode else ""
    assert [(f["kind"], f["message"]) for f in findings] == [
        ("unsupported", f"the simulator does not know the instruction '{opcode}'{instead}")]


@pytest.mark.parametrize("text, instead", [
    ("multimem.ld_reduce.global.add.f32 %f0, [%rd0]", "it needs memory of several GPUs as cuMulticastCreate() makes it; load, store or add to each peer's copy instead"),
    ("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f32.e4m3.e5m2.f32 {%f0, %f1, %f2, %f3}, {%r0, %r0, %r0, %r0}, "
     "{%r0, %r0, %r0, %r0}, {%f0, %f1, %f2, %f3}, %r0, 0", "mma of all elements of the matrix, zeros among them, does the same"),
    ("tcgen05.wait::ld.sync.aligned", "it is of GPUs from compute capability 10.0 on; compile for one that --gpu names")])
def test_what_does_the_same_is_told(tmp_path, text, instead):
    zeros = "mov.u64 %rd0, 0; mov.b32 %r0, 0; " + " ".join(f"mov.f32 %f{number}, 0f00000000;" for number in range(4))
    (tmp_path / "k.ptx").write_text(HEAD + kernel("k", "", f"{zeros}\n{text};\nret;"))
    finding, = inspected(tmp_path / "k.ptx", "--block", 32, status=3)["findings"]
    assert finding["kind"] == "unsupported"
    assert finding["message"] == f"the simulator does not know the instruction '{text.split()[0]}': {instead}"


def test_nvrtc_alone_compiles_it(write):
    """NVRTC assembles what it compiles for a GPU by name, and refuses wgmma for each that is tried first."""
    if not has_nvrtc():
        pytest.skip("no NVRTC")
    path = write("fence.cu", '__global__ void fence() { asm volatile("wgmma.fence.sync.aligned;"); }\n')
    done = run("inspect", path, "--block", 128, env={**os.environ, "WARPFOLD_NVCC": "/nowhere/nvcc"})
    assert (done.returncode, done.stderr) == (0, "")
