"""Groups of a few elements in a GPU's memory, several of which each lane reduces in registers, give the CPU's bits."""

import itertools
import math
import random
import struct
from ctypes import byref

import pytest

import warpfold_ctypes as wf
from cuda_helpers import gpu  # noqa: F401: a fixture
from each_type import one_of
from gpu_group_helpers import IN_REGISTERS, SHORT_OPS
from gpu_pair import Binades, EDGES, pair  # noqa: F401: pair is a fixture
from group_helpers import Laid, integer_vector, operands
from samples import NAN_POLICIES

library = wf.library


SHORT = {"f32": ("sum", "argmin", "var"), "f64": ("sum", "std"), "bf16": ("mean",), "f16": ("norm2",), "i8": ("sum",), "i32": (),
         "u64": ("max",)}


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", SHORT)
def test_short_groups(pair, type_name):
    """Of a few elements: a lane has several at once, which are neighbours in a row, or on their own."""
    rng = random.Random(f"gpu short {type_name}")
    if not pair.gpu.is_real and not SHORT[type_name]:
        pytest.skip("no GPU: on the simulator fewer types")
    for count in (1, 2, 3, 4, 8):
        for kind in ("plain", "wild", "special"):
            for shape, axes in (((70, count), 2), ((count, 300), 1), ((2, count, 35), 2), ((3, count, 333, 2), 10)):
                if not pair.gpu.is_real and (count in (1, 4) or kind == "plain" or len(shape) != 2 + (count == 3)):
                    continue
                array = Laid(type_name, shape, rng, kind, plain=rng.random() < 0.7)
                for op in SHORT_OPS if pair.gpu.is_real else one_of(SHORT[type_name]):
                    pair.check(op, library.wf_groups_axes(axes), [array], shape, axes, kind, nan=rng.choice(NAN_POLICIES),
                               ddof=rng.choice((0, 0, 1, 2)) if op in ("var", "std") else 0)


DOT_SHORT = ("f32", "f64", "bf16", "f16", "i8", "u32", "i32")
SIMULATED_DOTS = ("f32", "f64", "i32")


def check_dots(pair, type_name, shape, axes, arrays, *context):
    for nan in NAN_POLICIES if pair.gpu.is_real else ("propagate", "omit"):
        pair.check("dot", library.wf_groups_axes(axes), arrays, shape, axes, *context, nan=nan)
        assert library.wf_handle_plan(pair.device.pointer).startswith(IN_REGISTERS)


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", DOT_SHORT)
def test_short_dots(pair, type_name):
    """Pairs of rows and of columns, whose operands lie differently; of integers, also beyond 64 bits."""
    rng = random.Random(f"gpu short dots {type_name}")
    if not pair.gpu.is_real and type_name not in SIMULATED_DOTS:
        pytest.skip("no GPU: on the simulator fewer types")
    for count in (1, 2, 3, 5, 8):
        for kind in ("plain", "wild", "special"):
            for shape, axes in (((70, count), 2), ((count, 300), 1), ((2, count, 35), 2)):
                if not pair.gpu.is_real and (count == 1 or shape[0] == 70 + count):
                    continue
                arrays = [Laid(type_name, shape, rng, kind, plain=rng.random() < 0.6) for _ in range(2)]
                check_dots(pair, type_name, shape, axes, arrays, kind)


def laid_floats(type_name, rows, rng):
    """Rows of numbers as an array."""
    array = Laid(type_name, (len(rows), len(rows[0])), rng, "plain", plain=True)
    code = {"f32": "f", "f64": "d"}[type_name]
    array.data = struct.pack(f"={len(rows) * len(rows[0])}{code}", *[x for row in rows for x in row])
    return array


@pytest.mark.parametrize("type_name", ("f32", "f64"))
def test_short_dots_that_cancel(pair, type_name):
    """To 0, to the last bit of a product, to less than the smallest number, half-way between two results, with rests of zero."""
    rng = random.Random(f"gpu dots cancel {type_name}")
    bits, least = {"f32": (24, -149), "f64": (53, -1074)}[type_name]
    one_up, tiny, ulp = 1 + 2.0 ** (1 - bits), 2.0 ** (least // 2 - 1), 2.0 ** (1 - bits)
    pairs = [([1, -1, 0, 0], [1, 1, 3, 3]), ([one_up, -1, 0, 0], [one_up, one_up, 0, 0]),
             ([one_up, -1, -2, 0], [one_up, 1, ulp, 0]), ([tiny, 0, 0, 0], [tiny, 1, 1, 1]),
             ([-tiny, 0, 0, 0], [tiny, 1, 1, 1]), ([-tiny, tiny, 0, 0], [tiny, tiny, 1, 1]),
             ([-0.0, -0.0, 0.0, -0.0], [1, 1, -1, 1]), ([-0.0] * 4, [1, 1, -1, 1]), ([1, ulp / 2, 0, 0], [1, 1, 0, 0]),
             ([1, ulp / 2, ulp, 0], [1, 1, ulp ** 3, 0]), ([1, ulp / 2, -ulp, 0], [1, 1, ulp ** 3, 0]),
             ([one_up, ulp / 2, tiny, 0], [1, 1, -tiny, 1]),
             ([2.0 ** 100, 1, -(2.0 ** 100), 1], [2.0 ** 20, ulp, 2.0 ** 20, tiny])]
    pairs += [([math.inf, 1, 1, 1], [0, 1, 1, 1]), ([math.inf, 1, 1, 1], [2, -math.inf, 1, 1]),
              ([math.nan, 1, 0, 2], [1, 0, 1, 3])]
    for _ in range(200):
        x = [rng.choice((1, -1)) * rng.getrandbits(bits) * 2.0 ** rng.randint(-60, 2) for _ in range(2)]
        y = [rng.getrandbits(bits) * 2.0 ** rng.randint(-60, 2) for _ in range(2)]
        pairs.append(([x[0], x[1], -x[0], -x[1]], [y[0], y[1], y[0], y[1] * (1 if rng.random() < 0.5 else one_up)]))
    for order in range(2):
        moved = [list(zip(*rng.sample(list(zip(x, y)), 4))) for x, y in pairs] if order else pairs
        arrays = [laid_floats(type_name, [list(both[k]) for both in moved], rng) for k in range(2)]
        check_dots(pair, type_name, (len(pairs), 4), 2, arrays, "cancel")


@pytest.mark.parametrize("type_name", EDGES)
def test_short_groups_that_cancel(pair, type_name):
    """Two f64 hold their sums, or just do not: what is left is the lowest bit of one."""
    rng = random.Random(f"gpu short edges {type_name}")
    for span, top in itertools.product((10, 29, 30, 54, 83, 107, 120), (0, -360) if type_name == "f64" else (0,)):
        for sign in (-1, 1):
            array = Binades(type_name, (40, 8), rng, span, top, sign)
            for op in ("sum", "mean", "var", "norm2") if pair.gpu.is_real else ("sum",) if type_name == "f32" else ("mean",):
                pair.check(op, library.wf_groups_axes(2), [array], span, top, sign)


class Ties:
    """Rows of eight whose sum is half-way between two numbers, or off that by something tiny; and pairs of large numbers that
    cancel.  1 and half of its last bit; or what is left of 1, and an odd number nearly half as large."""

    def __init__(self, type_name, rows, rng):
        self.type, self.shape = type_name, (rows, 8)
        code, self.nbytes, bits = ("f", 4, 24) if type_name == "f32" else ("d", 8, 53)
        self.strides, self.offset, self.data = (8 * self.nbytes, self.nbytes), 0, b""
        for _ in range(rows):
            tiny = [rng.choice((-1, 0, 0, 1)) * math.ldexp(1, -rng.randint(bits + 2, 120)) for _ in range(2)]
            large = [math.ldexp(rng.choice((1, 1.5)), rng.randint(1, 100)) for _ in range(2)]
            row = [1 + rng.randrange(4) * math.ldexp(2, -bits), rng.choice((-1, 1)) * math.ldexp(1, -bits - rng.randrange(2)),
                   *tiny, *large, *(-x for x in large)]
            if rng.random() < 0.5:
                odd = 2 * rng.randrange(2 ** (bits - 2), 2 ** (bits - 1)) + 1
                row = [1 + math.ldexp(2, -bits), -math.ldexp(odd, 1 - 2 * bits), tiny[0] * math.ldexp(1, -bits), -1.0,
                       large[0], -large[0], 0.0, 0.0]
            else:
                rng.shuffle(row)
            self.data += struct.pack(f"=8{code}", *row)

    def view(self):
        return wf.strided(self.data, self.type, self.shape, self.strides, self.offset)


@pytest.mark.parametrize("type_name", EDGES)
def test_short_groups_that_end_in_ties(pair, type_name):
    array = Ties(type_name, 600, random.Random(f"gpu ties {type_name}"))
    for op in ("sum", "mean", "std") if pair.gpu.is_real else ("sum", "mean") if type_name == "f64" else ("sum",):
        pair.check(op, library.wf_groups_axes(2), [array])


class Alternatives:
    """Rows of each choice of three values."""

    def __init__(self, type_name, values):
        rows = list(itertools.product(values, repeat=3))
        self.type, self.shape, self.offset = type_name, (len(rows), 3), 0
        code, nbytes = ("f", 4) if type_name == "f32" else ("d", 8)
        self.strides = (3 * nbytes, nbytes)
        self.data = struct.pack(f"={3 * len(rows)}{code}", *itertools.chain(*rows))

    def view(self):
        return wf.strided(self.data, self.type, self.shape, self.strides, self.offset)


@pytest.mark.parametrize("type_name", EDGES)
def test_short_groups_half_way_between_results(pair, type_name):
    """Variances of pairs, which are squares of a few bits more than a result has, or that and something tiny."""
    bits = 24 if type_name == "f32" else 53
    rng = random.Random(f"gpu half-way {type_name}")
    for half in ((bits + 1) // 2, (bits + 3) // 2):
        apart = [3.0 * (rng.randrange(2 ** (half - 3), 2 ** (half - 2)) | 1) for _ in range(7)]
        tiny = math.ldexp(1, half - 52)
        array = Alternatives(type_name, [0.0, *apart, tiny, -tiny])
        for op in ("var", "std") if pair.gpu.is_real else ("var",):
            pair.check(op, library.wf_groups_axes(2), [array], op, half, ddof=1)


class Pairs:
    """Each two of some bits, in two rows."""

    def __init__(self, type_name, bits):
        columns = list(itertools.product(bits, repeat=2))
        self.type, self.shape, self.offset = type_name, (2, len(columns)), 0
        self.strides = (2 * len(columns), 2)
        self.data = b"".join(struct.pack(f"={len(columns)}H", *row) for row in zip(*columns))

    def view(self):
        return wf.strided(self.data, self.type, self.shape, self.strides, self.offset)


@pytest.mark.parametrize("type_name, fraction_bits", (("f16", 10), ("bf16", 7)))
def test_two_rows_of_halves(pair, type_name, fraction_bits):
    """They are added as f32, and rounded again: half-way between two, at the limits of what is normal and of what is finite."""
    rng, one = random.Random(f"gpu pairs {type_name}"), 1 << fraction_bits
    infinity = 0x8000 - one
    edges = [0, 1, 2, one - 1, one, one + 1, infinity // 2, infinity // 2 + 1, infinity - 1, infinity - 2, infinity, infinity + 1]
    exponents = range(infinity - one * (fraction_bits + 3), infinity, one)  # halves of the last bits of the largest
    bits = [*edges, *exponents, *(rng.randrange(infinity) for _ in range(9))]
    bits += [each | 0x8000 for each in bits]
    for nan in NAN_POLICIES if pair.gpu.is_real else ("propagate",):
        pair.check("sum", library.wf_groups_axes(1), [Pairs(type_name, bits)], nan=nan)
        assert library.wf_handle_plan(pair.device.pointer).startswith(IN_REGISTERS)


@pytest.mark.parametrize("type_name", EDGES)
def test_short_groups_of_zeros(pair, type_name):
    """-0 if all are, of those that are left: -0 + 0 and 1 - 1 are 0."""
    array = Alternatives(type_name, (-0.0, 0.0, math.nan, 1.0, -1.0))
    for op, nan in itertools.product(("sum", "mean", "var", "norm2"), ("propagate", "omit")):
        pair.check(op, library.wf_groups_axes(2), [array], op, nan, nan=nan)


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", ("f32", "f64", "bf16", "i32"))
@pytest.mark.parametrize("columns", (32, 45, 300))
def test_short_groups_of_rows(pair, type_name, columns):
    """By key and in segments, of none, a few and more rows than registers take, one of so many that it is cut into pieces."""
    rng = random.Random(f"gpu short rows {type_name} {columns}")
    if not pair.gpu.is_real and (type_name, columns) not in (("f32", 45), ("i32", 300), ("f64", 32)):
        pytest.skip("no GPU: on the simulator fewer types")
    lengths = [rng.choice((0, 1, 3, 4, 5, 8, 9, 16, 17)) for _ in range(90)]
    lengths[40] = 300
    keys = [number for number, length in enumerate(lengths) for _ in range(length)]
    offsets = list(itertools.accumulate(lengths, initial=0))
    segments = integer_vector(offsets, "i64")
    rng.shuffle(keys)
    labels = integer_vector(keys, "i32")
    for kind in ("plain", "wild", "special"):
        plain = kind != "special"
        array, other = (Laid(type_name, (len(keys), columns), rng, kind, plain=plain) for _ in range(2))
        for op in (*SHORT_OPS, "dot") if pair.gpu.is_real else ("var",) if type_name == "f64" else ("sum",):
            for groups in (library.wf_groups_keys(0, 90, byref(labels)), library.wf_groups_segments(0, 90, byref(segments))):
                pair.check(op, groups, operands(op, array, other), columns, kind, nan=rng.choice(NAN_POLICIES),
                           first_index=rng.choice((0, 7)), fill=wf.value_of_bits(wf.WF_U8, 1))
                if plain and (type_name != "i32" or op == "sum") and op != "argmin":
                    assert library.wf_handle_plan(pair.device.pointer).startswith(IN_REGISTERS), op
