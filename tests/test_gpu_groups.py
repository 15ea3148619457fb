"""Reductions by groups in a GPU's memory give the CPU's bits, which tests/test_groups.py holds against the oracle.  Where
there is no GPU, a small selection runs on the simulator."""

import ctypes
import itertools
import math
import random
import struct
from ctypes import byref

import pytest

import warpfold_ctypes as wf
from cuda_helpers import gpu  # noqa: F401: a fixture
from oracle import INTEGERS, TYPECODES, TYPES, ops_of
from samples import NAN_POLICIES, sample
from group_helpers import Laid, integer_vector, operands, random_offsets, random_shape

library = wf.library
KEY_TYPES = [name for name in INTEGERS if name != "bool"]
# On the simulator: ops of types, for tests of axes; the others have fewer.
SELECTED = {"f32": ("sum", "argmax"), "f64": ("var",), "i8": ("sum",), "bf16": ("dot",), "i64": ("mean",)}
SELECTED_LABELLED = {"f32": ("sum", "argmax"), "i8": ("sum",)}


class Pair:
    """A handle of the CPU, and one of the GPU."""

    def __init__(self, gpu):  # noqa: F811
        self.turn = 0
        self.gpu, self.host, self.device = gpu, wf.Handle("cpu"), wf.Handle("cuda:0")

    def there(self, array):
        """The same array in the GPU's memory."""
        return self.gpu.memory(array.data).strided(array.type, array.shape, array.strides, array.offset)

    def labels_there(self, values, type_name, stride):
        nbytes = struct.calcsize(TYPECODES[type_name])
        gap = b"\x7f" * (nbytes * (stride - 1))
        data = b"".join(struct.pack(f"={TYPECODES[type_name]}", value) + gap for value in values)
        return self.gpu.memory(data + bytes(nbytes)).strided(type_name, (len(values),), (nbytes * stride,))

    def check(self, op, groups, arrays, *context, groups_there=None, **chosen):
        """Results in the host's memory, and in the GPU's."""
        expected = returned(self.host, op, groups, [array.view() for array in arrays], **chosen)
        views = [self.there(array) for array in arrays]
        groups_there = groups_there or groups
        got = returned(self.device, op, groups_there, views, **chosen)
        assert got == expected, (op, arrays[0].type, *context, chosen)
        left = self.left_there(op, groups_there, views, **chosen)
        assert left == (expected if isinstance(expected, list) else expected.split(":")[0]), (op, *context, chosen, "there")

    def left_there(self, op, groups, views, flags=0, fill=None, **chosen):
        """The results that a call leaves in the GPU's memory, or the name of the error that is its status."""
        asked = wf.reduction(op, **chosen)
        asked.flags = flags
        asked.fill = fill and ctypes.pointer(fill)
        shape = wf.groups_shape(views[0], groups)
        number = asked.result_type or library.wf_op_result_type(asked.op, views[0].type)
        nbytes, count = library.wf_type_nbytes(number), math.prod(shape)
        memory, status = self.gpu.empty(nbytes * count, 0xcd), self.gpu.empty(4, 0xcd)
        output = wf.wf_output(data=memory.pointer, type=number, ndim=len(shape), status=status.pointer,
                              shape=(ctypes.c_int64 * len(shape))(*shape))
        b = byref(views[1]) if len(views) > 1 else None
        code = library.wf_reduce(self.device.pointer, byref(asked), byref(views[0]), b, byref(groups), byref(output))
        left = struct.unpack("=i", status.read())[0]
        if code:
            return wf.ERRORS[code]
        if left:
            return wf.ERRORS[left]
        data = memory.read()
        pieces = (data[i * nbytes:(i + 1) * nbytes] for i in range(count))
        return [wf.value_bits(wf.value_of_bits(number, int.from_bytes(piece, "little"))) for piece in pieces]

    def ops(self, type_name, rng, selected):
        """Some: each is a kernel for each way of walking, and compiling is what takes long."""
        return rng.sample([*ops_of(type_name), "dot"], 4) if self.gpu.is_real else selected.get(type_name, ())

    def turns(self, real):
        return real if self.gpu.is_real else 2

@pytest.fixture(scope="module")
def pair(gpu):  # noqa: F811
    return Pair(gpu)


def returned(handle, op, groups, views, **chosen):
    """The results' bits, or the error and what it says."""
    try:
        return handle.reduce_groups(op, groups, *views, **chosen)
    except wf.WarpfoldError as error:
        return f"{error.code}: {error.message}"


def random_arrays(type_name, shape, rng):
    return [Laid(type_name, shape, rng, rng.choice(["special", "plain", "wild"]), rng.random() < 0.5) for _ in range(2)]


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
def test_axes(pair, type_name):
    rng = random.Random(f"gpu axes {type_name}")
    ops = pair.ops(type_name, rng, SELECTED)
    for _ in range(pair.turns(40)):
        shape = random_shape(rng, rng.randint(0, 4), 20000 if pair.gpu.is_real else 600)
        axes = {d for d in range(len(shape)) if rng.random() < 0.5}
        made = random_arrays(type_name, shape, rng)
        groups = library.wf_groups_axes(sum(1 << d for d in axes))
        for op in rng.sample(ops, min(3, len(ops))):
            pair.check(op, groups, operands(op, *made), shape, axes, [a.strides for a in made], nan=rng.choice(NAN_POLICIES),
                       first_index=rng.choice([0, 7]))


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
def test_segments(pair, type_name):
    rng = random.Random(f"gpu segments {type_name}")
    ops = pair.ops(type_name, rng, SELECTED_LABELLED)
    for _ in range(pair.turns(25)):
        shape = random_shape(rng, rng.randint(1, 3), 20000 if pair.gpu.is_real else 600)
        axis, count = rng.randrange(len(shape)), rng.choice([0, 1, 2, 7, 30])
        offsets, name, stride = random_offsets(rng, shape[axis], count), rng.choice(["i32", "i64"]), rng.choice([1, 3])
        here, there = integer_vector(offsets, name, stride), pair.labels_there(offsets, name, stride)
        groups, groups_there = (library.wf_groups_segments(axis, count, byref(labels)) for labels in (here, there))
        made = random_arrays(type_name, shape, rng)
        for op in rng.sample(ops, min(3, len(ops))):
            pair.check(op, groups, operands(op, *made), shape, axis, offsets, nan=rng.choice(NAN_POLICIES),
                       groups_there=rng.choice([groups, groups_there]), first_index=rng.choice([0, 7]))


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
def test_keys(pair, type_name):
    rng = random.Random(f"gpu keys {type_name}")
    ops = pair.ops(type_name, rng, SELECTED_LABELLED)
    for _ in range(pair.turns(25)):
        shape = random_shape(rng, rng.randint(1, 3), 20000 if pair.gpu.is_real else 600)
        axis, count, stride = rng.randrange(len(shape)), rng.choice([1, 2, 7, 30, 100]), rng.choice([1, 3])
        key_type = rng.choice(KEY_TYPES)
        bad = [] if rng.random() < 0.5 else [120, 0 if key_type.startswith("u") else -2]
        keys = [rng.choice([rng.randrange(count), rng.randrange(count), 0, *bad]) for _ in range(shape[axis])]
        here, there = integer_vector(keys, key_type, stride), pair.labels_there(keys, key_type, stride)
        groups, groups_there = (library.wf_groups_keys(axis, count, byref(labels)) for labels in (here, there))
        made = random_arrays(type_name, shape, rng)
        for op in rng.sample(ops, min(3, len(ops))):
            pair.check(op, groups, operands(op, *made), shape, axis, keys[:20], nan=rng.choice(NAN_POLICIES),
                       groups_there=rng.choice([groups, groups_there]), first_index=rng.choice([0, 7]),
                       flags=rng.choice([0, 1]))


def test_policies_for_nans_share_the_kernels_of_sums(pair, tmp_path, monkeypatch):
    """Only extremes have indices, which "error" asks for."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("WARPFOLD_CACHE", raising=False)
    array, device = Laid("i8", (5, 40), random.Random("policies"), "plain", False), wf.Handle("cuda:0")
    compiled = []
    for nan in NAN_POLICIES:
        returned(device, "sum", library.wf_groups_axes(2), [pair.there(array)], nan=nan)
        compiled.append(len(list((tmp_path / "warpfold").iterdir())))
    assert compiled[0] and compiled == compiled[:1] * len(NAN_POLICIES)


LONG = [((3, 70001), 2), ((70001, 3), 1), ((1000, 70), 1), ((70, 1000), 2), ((1, 200003), 2), ((20011, 40), 1),
        ((31, 33, 65), 2), ((31, 33, 65), 5), ((100003, 4), 2), ((300007, 1), 2)]


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("type_name", ("f32", "f64", "i32", "i8", "f16"))
def test_many_and_long_groups(pair, type_name):
    rng = random.Random(f"gpu long {type_name}")
    if not pair.gpu.is_real and type_name not in SELECTED:
        pytest.skip("no GPU: on the simulator fewer types")
    shapes = LONG if pair.gpu.is_real else LONG[:2]
    for shape, axes in shapes:
        made = [Laid(type_name, shape, rng, "wild", plain=True) for _ in range(2)]
        for op in ("sum", "var", "argmax", "dot", "nonzero") if pair.gpu.is_real else SELECTED[type_name]:
            pair.check(op, library.wf_groups_axes(axes), operands(op, *made), shape, axes, nan="omit")


# For each type by how many binades elements are apart, and where: windows hold these, or just do not.
EDGES = {"f32": ((10, 58, 59, 60, 61, 62, 90), (0, 100)), "f64": ((20, 29, 30, 31, 32, 33, 74, 76, 120), (0, -360, 440, -700))}


class Binades:
    """A matrix of odd significands, exponents so far apart, in rows.  A row's second half is the first one times `sign`, but for
    the lowest bit of an element as small as any: where all else cancels, only the lowest bits of that are left."""

    def __init__(self, type_name, shape, rng, span, top, sign):
        self.type, self.shape = type_name, shape
        code, self.nbytes, bits = ("f", 4, 24) if type_name == "f32" else ("d", 8, 53)
        self.strides, self.offset = (shape[1] * self.nbytes, self.nbytes), self.nbytes

        def odd(exponent):
            return math.ldexp(rng.choice((-1, 1)) * (rng.randrange(2 ** (bits - 1), 2 ** bits) | 1), exponent - bits)

        self.data = bytes(self.nbytes)
        for _ in range(shape[0]):
            half = [odd(rng.choice((top, top - span, rng.randint(top - span, top)))) for _ in range(shape[1] // 2)]
            half[3] = odd(top - span)
            row = [*half, *(sign * x for x in half)]
            row[len(half) + 3] += math.ldexp(1, top - span - bits)
            self.data += struct.pack(f"={len(row)}{code}", *row)

    def view(self):
        return wf.strided(self.data, self.type, self.shape, self.strides, self.offset)


@pytest.mark.slow
@pytest.mark.parametrize("type_name", EDGES)
def test_binades_at_the_edge_of_a_window(pair, type_name):
    rng = random.Random(f"edges {type_name}")
    ops = ("var", "dot", "norm2", "sum") if pair.gpu.is_real else ("dot",) if type_name == "f64" else ("sum",)
    for span, top, further in itertools.product(*EDGES[type_name], (0, 2)):
        shape = rng.choice([(3, 700), (40, 34)])
        made = [Binades(type_name, shape, rng, span, top, -1), Binades(type_name, shape, rng, span + further, top, 1)]
        for op in ops:
            pair.check(op, library.wf_groups_axes(2), operands(op, *made), shape, span, top, further)


class Uneven:
    """Rows of f64, large but for runs of a few in the first batch of a warp, which are all zeros or NaNs: some lanes of a team
    do not begin as the others do, from which only the team knows whether levels hold the squares."""

    def __init__(self, shape, run, large, other, rng):
        self.type, self.shape, self.strides, self.offset = "f64", shape, (shape[1] * 8, 8), 0
        rows = [[other if i < 256 and i // run % 2 == row % 2 else math.ldexp(rng.uniform(0.5, 1), large)
                 for i in range(shape[1])] for row in range(shape[0])]
        self.data = struct.pack(f"={shape[0] * shape[1]}d", *[x for row in rows for x in row])

    def view(self):
        return wf.strided(self.data, self.type, self.shape, self.strides, self.offset)


def test_lanes_that_begin_with_zeros_or_nans(pair):
    rng = random.Random("gpu uneven lanes")
    for run, large, other in itertools.product((1, 2, 4), (505, 560, 900, -480), (0.0, math.nan)):
        array = Uneven((4, 700), run, large, other, rng)
        for op in ("norm2", "var", "std") if pair.gpu.is_real else ("norm2",):
            pair.check(op, library.wf_groups_axes(2), [array], run, large, other, nan="omit")


SHORT = {"f32": ("sum", "argmin", "var"), "f64": ("sum", "std"), "bf16": ("mean",), "f16": ("norm2",), "i8": ("sum",), "i32": (),
         "u64": ("max",)}


SHORT_OPS = ("sum", "norm1", "max", "argmin", "mean", "var", "std", "norm2")


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
                for op in SHORT_OPS if pair.gpu.is_real else SHORT[type_name]:
                    pair.check(op, library.wf_groups_axes(axes), [array], shape, axes, kind, nan=rng.choice(NAN_POLICIES),
                               ddof=rng.choice((0, 0, 1, 2)) if op in ("var", "std") else 0)


SHORT_SEGMENTS = {"f32": ("sum", "argmax"), "f64": ("var", "dot"), "bf16": ("mean",), "i32": ("sum",)}


def short_offsets(rng, lengths):
    """Of segments of these lengths, but for one of a thousand."""
    offsets = [rng.randrange(3)]
    for i, length in enumerate(lengths):
        offsets.append(offsets[-1] + (1000 if i == len(lengths) // 2 and rng.random() < 0.3 else length))
    return offsets


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", ("f32", "f64", "bf16", "f16", "i8", "i32", "u64"))
def test_short_segments(pair, type_name):
    """Of a few elements on average: a lane has several at once, and those that are longer afterwards."""
    rng = random.Random(f"gpu short segments {type_name}")
    if not pair.gpu.is_real and type_name not in SHORT_SEGMENTS:
        pytest.skip("no GPU: on the simulator fewer types")
    ops = (*SHORT_OPS, "dot") if pair.gpu.is_real else SHORT_SEGMENTS[type_name]
    for choice, count in itertools.product(((4,), (3, 4), range(9), (0, 0, 1, 30), (8,)), (1, 33, 700)):
        lengths = [rng.choice(choice) for _ in range(count)]
        offsets, kind = short_offsets(rng, lengths), rng.choice(("plain", "wild", "special"))
        array, other = (Laid(type_name, (offsets[-1] + 3,), rng, kind, plain=rng.random() < 0.7) for _ in range(2))
        labels = pair.labels_there(offsets, rng.choice(["i32", "i64"]), 1)
        here = integer_vector(offsets, "i64")
        groups, groups_there = (library.wf_groups_segments(0, count, byref(made)) for made in (here, labels))
        for op in ops:
            pair.check(op, groups, operands(op, array, other), choice, count, kind, groups_there=groups_there,
                       nan=rng.choice(NAN_POLICIES), first_index=rng.choice([0, 7]))
            fits = type_name in ("f32", "f64", "bf16", "f16") or op in ("max", "argmin", "argmax")
            if fits and offsets[-1] + 3 < 9 * count:
                assert library.wf_handle_plan(pair.device.pointer).startswith(IN_REGISTERS), (op, choice, count)


DOT_SHORT = ("f32", "f64", "bf16", "f16", "i8", "u32", "i32")
SIMULATED_DOTS = ("f32", "f64", "i32")
IN_REGISTERS = b"several groups of a lane in registers"


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


PRODUCTS = [((3, 70001), 2), ((70001, 3), 1), ((40, 9), 1), ((9, 40), 2), ((5, 1), 2), ((2, 33, 65), 5), ((4, 0), 2), ((1,), 1),
            ((2500, 40), 1), ((17, 4099), 2)]


@pytest.mark.sampled
@pytest.mark.parametrize("type_name, result_type", [("f32", None), ("f64", None), ("f16", "f64"), ("bf16", None), ("i64", "f64"),
                                                    ("u8", "f32"), ("f32", "i8")])
def test_products_that_are_trees(pair, type_name, result_type):
    """In stages: of one node each, and of many; of elements whose indices begin anywhere."""
    rng = random.Random(f"gpu products {type_name}")
    if not pair.gpu.is_real and type_name not in ("f32", "i64"):
        pytest.skip("no GPU: on the simulator fewer types")
    asked = {"result_type": result_type} if result_type else {}
    for shape, axes in PRODUCTS if pair.gpu.is_real else rng.sample(PRODUCTS[2:-2], 4):
        for kind in ("plain", "wild", "special"):
            array = Laid(type_name, shape, rng, kind, plain=rng.random() < 0.7)
            for first in (0, rng.choice([1, 2047, 2**40 - 5])):
                pair.check("prod", library.wf_groups_axes(axes), [array], shape, axes, kind, nan=rng.choice(NAN_POLICIES),
                           first_index=first, **asked)


@pytest.mark.parametrize("type_name, code, low", [("f32", "f", 149), ("f64", "d", 1074)])
def test_products_with_subnormal_factors(pair, type_name, code, low):
    """Beside large ones, so that the product is an ordinary number: the exponent of each factor counts."""
    rng = random.Random(f"subnormal products {type_name}")
    for count in (2, 3, 13):
        values = [factor for _ in range(count) for factor in
                  (math.ldexp(rng.randrange(-63, 64, 2), -low), 2.0 ** (low // 2), 2.0 ** (low - low // 2))]
        rng.shuffle(values)
        array = Laid(type_name, (len(values),), rng, plain=True)
        array.data = struct.pack(f"={len(values)}{code}", *values)
        pair.check("prod", library.wf_groups_axes(1), [array], count)


def skewed_offsets(rng, length):
    """One long segment among many short ones, empty ones, and some in between."""
    long = length // 2
    rest = sorted(rng.randrange(length - long) for _ in range((length - long) // 6))
    return [0, *rest, *(offset + long for offset in rest[-1:]), length]


@pytest.mark.slow
@pytest.mark.parametrize("type_name", ("f32", "i32", "f64"))
def test_skewed_segments_and_keys(pair, type_name):
    rng = random.Random(f"gpu skewed {type_name}")
    if not pair.gpu.is_real and type_name != "f32":
        pytest.skip("no GPU: on the simulator fewer types")
    length = 400000 if pair.gpu.is_real else 40000
    array = Laid(type_name, (length,), rng, "wild", plain=True)
    offsets = skewed_offsets(rng, length)
    labels = integer_vector(offsets, "i64")
    ops = ("sum", "argmin", "var") if pair.gpu.is_real else ("sum", "argmax")
    for op in ops:
        pair.check(op, library.wf_groups_segments(0, len(offsets) - 1, byref(labels)), [array], "segments")
    for count in (1, 5, 3000, length):
        keys = [min(int(rng.paretovariate(0.3)) - 1, count - 1) for _ in range(length)]
        labels = integer_vector(keys, "i32")
        for op in ops if pair.gpu.is_real else ops[:1]:
            pair.check(op, library.wf_groups_keys(0, count, byref(labels)), [array], "keys", count)


TABLE_COUNT = (1 << 14) + 5  # elements, from which on they are added to tables


def put(array, values):
    """The same array of floats with some of its elements replaced."""
    data, code = bytearray(array.data), {"f32": "f", "f64": "d"}[array.type]
    for i, value in values.items():
        struct.pack_into(code, data, i * array.nbytes, value)
    array.data = bytes(data)
    return array


TABLE_KINDS = {"tame": {}, "minus zeros": {3: -0.0, 5000: -0.0}, "infinities": {7: math.inf, 9000: -math.inf},
               "a NaN": {11: math.nan, 8000: math.inf}, "too wide": {100: 1e30, 200: -1e-30}}


SQUARE_KINDS = {**TABLE_KINDS, "tiny": {50: 1e-37}, "as wide as can be": {50: 2.0 ** -37, 60: 3 * 2.0 ** -40}}


def table_keys(rng, groups, order):
    keys = [min(int(groups * rng.random() ** 4), groups - 1) for _ in range(TABLE_COUNT)]
    return sorted(keys) if order == "sorted" else keys


@pytest.mark.sampled
@pytest.mark.parametrize("kind", TABLE_KINDS)
@pytest.mark.parametrize("type_name", ("f32", "f64"))
def test_tables_of_floats(pair, type_name, kind):
    rng = random.Random(f"gpu tables {type_name} {kind}")
    if not pair.gpu.is_real and type_name == "f64" and kind != "tame":
        pytest.skip("no GPU: on the simulator fewer types")
    cases = [(1, "sorted"), (7, "random"), (300, "sorted"), (6000, "random"), (TABLE_COUNT, "random")]
    for groups, order in cases if pair.gpu.is_real else rng.sample(cases, 1):
        array = put(Laid(type_name, (TABLE_COUNT,), rng, "plain", plain=True), TABLE_KINDS[kind])
        keys = integer_vector(table_keys(rng, groups, order), "i64")
        for op in ("sum", "mean", "norm1") if pair.gpu.is_real else ("sum",):
            for nan in NAN_POLICIES if pair.gpu.is_real else ("propagate",):
                pair.check(op, library.wf_groups_keys(0, groups, byref(keys)), [array], groups, order, nan=nan)
                plan = library.wf_handle_plan(pair.device.pointer).decode()
                in_shared = plan.startswith("tables in shared memory")
                assert in_shared or plan.startswith("a table in global memory"), plan
                assert groups <= (6000 if pair.gpu.is_real else 300) if in_shared else groups > 300, plan


def tiled(array, count):
    """The same array again and again."""
    array.data = array.data[:array.shape[0] * array.nbytes] * (count // array.shape[0] + 1)
    array.shape = (count,)
    return array


# What a sample of one element in 8 does not see: some are larger than the middle word holds, than all words, or lie below these.
UNSEEN_KINDS = {"tame": {}, "minus zeros": {3: -0.0, 9: -0.0}, "infinities": {7: math.inf, 9001: -math.inf}, "a NaN": {11: math.nan},
                "larger": {17: 1e9, 8003: -3e12}, "too large": {17: 1e30, 8003: -1e38}, "too small": {25: 1e-30, 33: 1e-38},
                "too wide": {17: 1e37, 25: 1e-38}, "near and far": {i: 3e-10 for i in range(0, TABLE_COUNT, 3)},
                "far, and larger": {**{i: 3e-10 for i in range(0, TABLE_COUNT, 3)}, 17: 1e9},
                "in the lowest word": {i: 1e-13 / (i + 1) for i in range(0, TABLE_COUNT, 3)}}
# What it does see: f64, or f32, may lie, or lie for sure, where words that hold the sample end.
UNSEEN_KINDS |= {"seen to be short for f64": {i: 3e-15 for i in range(0, TABLE_COUNT, 8)},
                 "seen to be short for f32": {i: 3e-24 for i in range(0, TABLE_COUNT, 8)},
                 "seen to be too wide": {i: 1e37 if i & 8 else 1e-38 for i in range(0, TABLE_COUNT, 8)}}
UNSEEN_ORDERS = ("random", "sorted", "half one key", "bad keys")


def unseen_keys(rng, groups, order, count):
    values = [rng.randrange(groups) for _ in range(TABLE_COUNT)] * (count // TABLE_COUNT + 1)
    if order == "half one key":
        values = [value if i & 4 else 5 for i, value in enumerate(values)]
    if order == "bad keys":
        values[TABLE_COUNT - 1::TABLE_COUNT] = [groups] * len(values[TABLE_COUNT - 1::TABLE_COUNT])
    return sorted(values[:count]) if order == "sorted" else values[:count]


@pytest.mark.sampled
@pytest.mark.parametrize("kind", UNSEEN_KINDS)
@pytest.mark.parametrize("type_name", ("f32", "f64"))
def test_tables_laid_out_by_a_sample(pair, type_name, kind):
    """More elements than are looked at first, and some that change what these say."""
    rng = random.Random(f"gpu sampled tables {type_name} {kind}")
    count = (4 << 20 if pair.gpu.is_real else 1 << 16) + 13
    array = put(tiled(Laid(type_name, (TABLE_COUNT,), rng, "plain", plain=True), count), UNSEEN_KINDS[kind])
    for order in UNSEEN_ORDERS if pair.gpu.is_real else rng.sample(UNSEEN_ORDERS, 1 + (type_name == "f32")):
        groups = rng.choice((1, 7, 300, 6000))  # of which the last has a table in global memory
        keys = integer_vector(unseen_keys(rng, groups, order, count), "i64")
        simulated = (("sum" if type_name == "f32" else "norm1", "omit"),)
        for op, nan in (("sum", "propagate"), ("mean", "omit"), ("norm1", "error")) if pair.gpu.is_real else simulated:
            pair.check(op, library.wf_groups_keys(0, groups, byref(keys)), [array], groups, order, nan=nan,
                       flags=int(order == "bad keys"))
            assert b", laid out by a sample" in library.wf_handle_plan(pair.device.pointer), op


def scattered_keys(rng, groups, count):
    """Neighbours seldom have the same key, but in the last eighth, where a block's warps go another way.  Some are frequent, some share
    the place where a block keeps their words, some are of no group."""
    chosen = [5, 5 + 512, 5 + 2048, groups - 1]
    keys = [rng.choice(chosen) if i % 3 == 1 else rng.randrange(groups) for i in range(count)]
    keys[-(count // 8):] = sorted(keys[-(count // 8):])
    keys[count // 2] = groups
    return keys


@pytest.mark.parametrize("op", ("sum", "norm1", "mean"))
def test_scattered_keys(pair, op):
    """A table in global memory, to whose words elements go in pairs."""
    if not pair.gpu.is_real and op != "sum":
        pytest.skip("no GPU: on the simulator one op")
    rng = random.Random(f"gpu scattered {op}")
    groups, count = (40_000, 14 << 20) if pair.gpu.is_real else (6000, 1 << 18)
    values = scattered_keys(rng, groups, TABLE_COUNT) * (count // TABLE_COUNT + 1)
    keys = integer_vector(values[:count], "i32")
    for kind in ("plain", "special", "wild", "wide") if pair.gpu.is_real else ("wide",):
        array = tiled(Laid("f64", (TABLE_COUNT,), rng, "plain" if kind == "wide" else kind, plain=True), count)
        if kind == "wide":  # three words are needed, or two, or one
            array = put(array, {i: rng.gauss(0, 1) * 2.0 ** rng.randrange(-30, 20) for i in range(0, count, 2)})
        for flags in (0, 1) if pair.gpu.is_real else (1,):
            pair.check(op, library.wf_groups_keys(0, groups, byref(keys)), [array], kind, flags=flags)
            assert b"a table in global memory" in library.wf_handle_plan(pair.device.pointer)


@pytest.mark.sampled
@pytest.mark.parametrize("kind", [*SQUARE_KINDS, "wild"])
@pytest.mark.parametrize("type_name", ("f32", "f64", "bf16", "f16"))
def test_tables_of_squares(pair, type_name, kind):
    """Variances and norms: groups without values, of fewer than ddof, of NaNs alone; exponents beyond what grids hold."""
    rng = random.Random(f"gpu squares {type_name} {kind}")
    if type_name not in ("f32", "f64") and kind not in ("tame", "wild"):
        pytest.skip("special values are put into f32 and f64")
    if not pair.gpu.is_real and type_name == "bf16":
        pytest.skip("no GPU: on the simulator fewer types")
    array = Laid(type_name, (TABLE_COUNT,), rng, "wild" if kind == "wild" else "plain", plain=True)
    array = put(array, SQUARE_KINDS.get(kind, {})) if type_name in ("f32", "f64") else array
    cases = [(1, "sorted"), (7, "random"), (300, "sorted"), (6000, "random"), (TABLE_COUNT, "random")]
    for groups, order in cases if pair.gpu.is_real else rng.sample(cases, 2):
        keys = integer_vector(table_keys(rng, groups, order), "i64")
        for op in ("var", "std", "norm2") if pair.gpu.is_real else ("var", "norm2") if type_name == "f32" else ("std",):
            for nan in NAN_POLICIES if pair.gpu.is_real else ("propagate", "omit"):
                pair.check(op, library.wf_groups_keys(0, groups, byref(keys)), [array], groups, order, nan=nan,
                           ddof=rng.randrange(3) if op != "norm2" else 0, fill=rng.choice((None, wf.value_of_bits(wf.WF_U8, 1))))
                plan = library.wf_handle_plan(pair.device.pointer).decode()
                assert plan.startswith(("tables in shared memory", "a table in global memory")) and "; else" in plan, plan


# Ops whose tables are of integers, or of squares of these; on the simulator some.
TABLE_OPS = ("sum", "mean", "norm1", "var", "norm2", "nonzero", "any", "all")
SIMULATED_TABLES = {"i16": ("sum", "any"), "u32": ("var",), "i32": ("mean",), "i64": ("norm2", "sum"), "u64": ("std",),
                    "f32": ("nonzero",), "f16": ("all",), "bool": ("mean",)}


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
def test_tables_of_all_types(pair, type_name):
    """Values and keys that lie apart; bad keys, which are skipped or told; the largest magnitudes, whose squares are longest."""
    rng = random.Random(f"gpu tables {type_name}")
    if not pair.gpu.is_real and type_name not in SIMULATED_TABLES:
        pytest.skip("no GPU: on the simulator fewer types")
    ops = [op for op in (TABLE_OPS if pair.gpu.is_real else SIMULATED_TABLES[type_name]) if op in ops_of(type_name)]
    for key_type in ("i8", "u16", "i32", "u64") if pair.gpu.is_real else ("u16",):
        kind = rng.choice(("ends", "plain") if type_name in INTEGERS else ("special", "plain"))
        array = Laid(type_name, (TABLE_COUNT,), rng, kind if kind == "special" else "plain", plain=kind != "plain")
        array = put_kind(array, kind, rng)
        values = [rng.randrange(100) for _ in range(TABLE_COUNT)]
        values[rng.randrange(TABLE_COUNT)] = 120
        labels = pair.labels_there(values, key_type, rng.choice([1, 3]))
        here = integer_vector(values, key_type)
        for op in ops:
            for flags, nan in ((0, "propagate"), (1, rng.choice(NAN_POLICIES))):
                pair.check(op, library.wf_groups_keys(0, 101, byref(here)), [array], key_type, kind, flags=flags, nan=nan,
                           groups_there=library.wf_groups_keys(0, 101, byref(labels)),
                           fill=wf.value_of_bits(wf.WF_U8, 1))
                assert b"table" in library.wf_handle_plan(pair.device.pointer), op


EXTREME_KINDS = ("ties", "rising", "falling", "ends", "special", "wild")


def put_kind(array, kind, rng):
    """Elements of a vector: a few values again and again, each larger or less than those before it, or the type's ends."""
    count, bits, width = array.shape[0], {"bool": 1}.get(array.type, 8 * array.nbytes), array.nbytes
    chosen = [rng.getrandbits(bits) for _ in range(3)]
    numbers = {"ties": lambda i: rng.choice(chosen), "rising": lambda i: i % (1 << bits),
               "falling": lambda i: (count - i) % (1 << bits),
               "ends": lambda i: rng.choice((0, (1 << bits) - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1))}
    if kind in numbers:
        array.data = b"".join(numbers[kind](i).to_bytes(width, "little") for i in range(count))
    return array


def check_extremes(pair, type_name, groups, order, kind, ops, policies, rng):
    places = {"tables in shared memory, 1 copy each": groups <= TABLE_COUNT, "a table in global memory": groups > 300}
    drawn = kind if kind in ("special", "wild") else "plain"
    array = put_kind(Laid(type_name, (TABLE_COUNT,), rng, drawn, plain=True), kind, rng)
    keys = integer_vector(table_keys(rng, groups, order), "i32")
    for op in ops:
        for nan in policies:
            is_sure = type_name in INTEGERS or nan != "error"
            for fill in (None, wf.value_of_bits(wf.WF_U8, 1)):
                pair.check(op, library.wf_groups_keys(0, groups, byref(keys)), [array], groups, order, kind, nan=nan,
                           first_index=rng.choice((0, 5)), fill=fill)
                plan = library.wf_handle_plan(pair.device.pointer).decode()
                there = next(place for place in places if plan.startswith(place))
                assert places[there] and ("; else groups by" in plan) != is_sure, plan


@pytest.mark.sampled
@pytest.mark.parametrize("kind", EXTREME_KINDS)
@pytest.mark.parametrize("type_name", TYPES)
def test_extremes_by_key(pair, type_name, kind):
    """Groups of which a block has a table, and of which it does not; indices beside short orders, and found afterwards."""
    rng = random.Random(f"gpu extremes by key {type_name} {kind}")
    cases = [(1, "random"), (7, "random"), (300, "sorted"), (6000, "random"), (TABLE_COUNT, "random"), (TABLE_COUNT, "sorted")]
    if pair.gpu.is_real:
        for groups, order in cases:
            check_extremes(pair, type_name, groups, order, kind, ("min", "max", "argmin", "argmax"), NAN_POLICIES, rng)
        return
    simulated = {"f32": "argmax", "f64": "argmin", "u32": "max", "i64": "argmax", "i8": "min"}
    if type_name not in simulated:
        pytest.skip("no GPU: on the simulator fewer types")
    for groups, order in rng.sample(cases, 2):
        check_extremes(pair, type_name, groups, order, kind, (simulated[type_name],), ("propagate", "omit"), rng)


def ranged_keys(rng, groups, order):
    """Some more than groups: half of a bucket's range has none, and one key has many."""
    values = [rng.randrange(groups) if rng.random() < 0.9 else 3 for _ in range(groups + 1)]
    if order != "few buckets":
        values = [value if value >> 12 & 7 != 5 else value | 1 << 11 for value in values]
    if order == "random":
        return values
    if order == "few buckets":
        return [value & 0x7fff if value >> 12 != 9 else value for value in values]
    if order == "gap":
        values = [value if value < 1000 or value >= groups - 1000 else 7 for value in values]
    values.sort()
    if order == "one far":
        values[5] = groups
    if order == "one falls":
        values[groups // 2 + 1] = values[groups // 2] - 1
    return values


@pytest.mark.slow
@pytest.mark.parametrize("order", ("random", "few buckets", "sorted", "one far", "one falls", "gap"))
def test_ranges_of_keys(pair, order):
    """More groups than the L2 cache has words for: sums of keys in any order go by buckets, extremes take several passes; sorted
    keys neither, and are segments where they are so to the last, and no gap is too wide.  Scratch memory is left as the call before left it."""
    rng = random.Random(f"gpu ranges {order}")
    groups = 5 << 20 if pair.gpu.is_real else 70_000
    keys = integer_vector(ranged_keys(rng, groups, order), "u32")
    array = put(Laid("f32", (groups + 1,), rng, "plain", plain=True), {9: -0.0, 77: math.inf})
    ops = {"random": ("mean", "sum", "argmax"), "few buckets": ("norm2", "sum")}.get(order, ("sum", "argmax"))
    for op in ops:
        pair.check(op, library.wf_groups_keys(0, groups, byref(keys)), [array], order, flags=int(order == "one far"),
                   fill=wf.value_of_bits(wf.WF_U8, 1))
        plan = library.wf_handle_plan(pair.device.pointer).decode()
        way = " 2 ranges of keys" if op == "argmax" else " buckets of "
        assert plan.startswith("a table in global memory") and way in plan and "or as segments if keys are sorted" in plan, plan


RUN_OPS = {"f32": ("sum", "mean", "argmin", "var", "norm2"), "f64": ("sum", "mean"), "bf16": ("norm1",), "i32": ("sum", "mean"), "i64": ("max",)}
RUNS_SIMULATED = (("f64", "wide"), ("f64", "specials"), ("bf16", "tiles"), ("i32", "short"), ("i64", "long"))
RUN_KINDS = ("short", "tiles", "long", "specials", "wide")


def runs_of_keys(rng, groups, kind):
    """Sorted keys: of no element in some groups, of a few in most, and, if any is long, of more than a tile has behind it."""
    lengths = [rng.choice((0, 1, 1, 2, 2, 3, 3, 4, 5)) for _ in range(groups)]
    if kind == "tiles":
        lengths[::50] = [rng.choice((9, 17, 31, 32)) for _ in lengths[::50]]
    if kind == "long":
        lengths[::groups // 7] = [rng.choice((33, 256, 300, 2000)) for _ in lengths[::groups // 7]]
    return [key for key, length in enumerate(lengths) for _ in range(length)]


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("kind", RUN_KINDS)
@pytest.mark.parametrize("type_name", RUN_OPS)
def test_runs_of_sorted_keys(pair, type_name, kind):
    """Results that are made of runs of equal keys in one pass, or of which some are left for another."""
    if not pair.gpu.is_real and type_name != "f32" and (type_name, kind) not in RUNS_SIMULATED:
        pytest.skip("no GPU: on the simulator fewer kinds of each type")
    rng = random.Random(f"gpu runs {type_name} {kind}")
    groups = 5 << 20 if pair.gpu.is_real else 70_000
    keys = runs_of_keys(rng, groups, kind)
    labels = integer_vector(keys, "u32")
    array = Laid(type_name, (len(keys),), rng, "wild" if kind == "wide" else "plain", plain=kind != "tiles")
    if kind == "specials" and type_name in ("f32", "f64"):
        special = (math.nan, math.inf, -math.inf, -0.0, 0.0)
        array = put(array, {i: rng.choice(special) for i in rng.sample(range(len(keys)), len(keys) // 9)})
    ops = RUN_OPS[type_name] if pair.gpu.is_real else rng.sample(RUN_OPS[type_name], 1)
    for op, nan in itertools.product(ops, ("propagate", "omit") if kind == "specials" else ("propagate",)):
        for fill in (None, wf.value_of_bits(wf.WF_U8, 1)) if pair.gpu.is_real else (None,):
            pair.check(op, library.wf_groups_keys(0, groups, byref(labels)), [array], kind, nan=nan, fill=fill)
        assert b"short ones in the same pass" in library.wf_handle_plan(pair.device.pointer)


STRAY_KINDS = ("few", "in runs", "many", "of one key", "falling", "blocks", "bad", "long")
# Kernels that other tests have compiled, but for one of f64.
STRAYS_SIMULATED = {("bf16", "few"): ("norm1",), ("f64", "in runs"): ("sum",), ("f64", "blocks"): ("norm1",),
                    **{("f32", kind): ("sum",) for kind in ("few", "in runs", "of one key", "falling")}}


def mostly_sorted_keys(rng, groups, kind):
    """Runs of a few equal keys, in which others lie: single ones, pairs, and such as make strays of their neighbours, too."""
    keys = runs_of_keys(rng, groups, "long" if kind == "long" else "tiles")
    anywhere = range(2, len(keys) - 2)
    for i in rng.sample(anywhere, len(keys) // (6 if kind == "many" else 70)):
        keys[i] = 7 if kind == "of one key" else rng.randrange(groups)
    for i in rng.sample(anywhere, len(keys) // 200 if kind == "in runs" else 0):
        keys[i - 2:i + 3] = rng.choice(("aXaaa", "aaXaa", "aXaXa", "aXXaa", "XaXaX", "aXaYa"))
        names = {"a": keys[i - 3], "X": rng.randrange(groups), "Y": rng.randrange(groups)}
        keys[i - 2:i + 3] = [names.get(key, key) for key in keys[i - 2:i + 3]]
    if kind == "falling":
        keys.reverse()
    if kind == "blocks":
        keys = keys[len(keys) // 2 + 77:] + keys[:len(keys) // 2 + 77]
    if kind == "bad":
        keys[len(keys) // 3] = groups
    return [key if isinstance(key, int) else 5 for key in keys]


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("kind", STRAY_KINDS)
@pytest.mark.parametrize("type_name", ("f32", "f64", "bf16"))
def test_mostly_sorted_keys(pair, type_name, kind):
    """Few keys out of place; or too many, or too many of one key, or a run that is too long, so that tables take them all."""
    if not pair.gpu.is_real and (type_name, kind) not in STRAYS_SIMULATED:
        pytest.skip("no GPU: on the simulator fewer kinds of each type")
    rng = random.Random(f"gpu strays {type_name} {kind}")
    groups = 5 << 20 if pair.gpu.is_real else 70_000
    keys = mostly_sorted_keys(rng, groups, kind)
    labels = integer_vector(keys, "u32")
    kinds = ("plain", "propagate"), ("special", "propagate"), ("special", "omit"), ("wild", "propagate")
    for values, nan in kinds if pair.gpu.is_real else rng.sample(kinds, 2):
        array = Laid(type_name, (len(keys),), rng, "wild" if values == "wild" else "plain", plain=values != "plain")
        if values == "special" and type_name != "bf16":
            special = (math.nan, math.inf, -0.0, -0.0, 0.0)
            array = put(array, {i: rng.choice(special) for i in rng.sample(range(len(keys)), len(keys) // 5)})
        for op in ("sum", "norm1") if pair.gpu.is_real else STRAYS_SIMULATED[type_name, kind]:
            pair.check(op, library.wf_groups_keys(0, groups, byref(labels)), [array], kind, values, nan=nan, flags=int(kind == "bad"))
        assert b"short ones in the same pass" in library.wf_handle_plan(pair.device.pointer)


@pytest.mark.slow
@pytest.mark.parametrize("type_name", ("f64", "i64", "bf16"))
def test_buckets_of_other_types(pair, type_name):
    """Records of 16 bytes, of few bits; values and keys that lie apart, and bad keys among them."""
    rng = random.Random(f"gpu buckets {type_name}")
    groups = 5 << 20 if pair.gpu.is_real else 70_000
    values = ranged_keys(rng, groups, "random")
    values[1000] = groups + 5
    here, there = integer_vector(values, "i32"), pair.labels_there(values, "i32", 2)
    array = Laid(type_name, (groups + 1,), rng, "plain", plain=False)
    for flags in (0, 1):
        pair.check("sum", library.wf_groups_keys(0, groups, byref(here)), [array], flags=flags,
                   groups_there=library.wf_groups_keys(0, groups, byref(there)))
        assert b" buckets of " in library.wf_handle_plan(pair.device.pointer)


@pytest.mark.parametrize("op", ("mean", "var"))
def test_groups_of_nothing_but_nans_by_key(pair, op):
    """They have elements, so that a fill is for others, unless NaNs are omitted."""
    rng = random.Random("gpu nothing but NaNs")
    array = Laid("f32", (TABLE_COUNT,), rng, "plain", plain=True)
    keys = integer_vector([i % 5 for i in range(TABLE_COUNT)], "i32")
    array = put(array, {i: math.nan for i in range(2, TABLE_COUNT, 5)})
    for nan in ("propagate", "omit"):
        pair.check(op, library.wf_groups_keys(0, 7, byref(keys)), [array], nan=nan, fill=wf.value_of_bits(wf.WF_U8, 1))


def test_extremes_with_bad_keys(pair):
    rng = random.Random("gpu extremes of bad keys")
    array = Laid("f32", (TABLE_COUNT,), rng, "special", plain=True)
    values = [rng.randrange(100) for _ in range(TABLE_COUNT)]
    values[9000] = -3
    keys = integer_vector(values, "i16")
    for nan in ("propagate", "error"):
        for flags in (0, 1):
            pair.check("max", library.wf_groups_keys(0, 100, byref(keys)), [array], nan, flags=flags, nan=nan)


@pytest.mark.parametrize("columns", (1, 5, 33, 300))
def test_rows_of_values_by_key(pair, columns):
    rng = random.Random(f"gpu embedding {columns}")
    rows = 5000 if pair.gpu.is_real else 300
    array = Laid("f32", (rows, columns), rng, "wild", plain=True)
    keys = [0 if rng.random() < 0.5 else rng.randrange(50) for _ in range(rows)]
    labels = integer_vector(keys, "i64")
    pair.check("sum", library.wf_groups_keys(0, 50, byref(labels)), [array], columns)


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


@pytest.mark.parametrize("type_name", ("f32", "i32"))
def test_extremes_of_short_rows_by_key(pair, type_name):
    """Where a NaN's index matters: of the extremes themselves it does not."""
    rng = random.Random(f"gpu extremes of short rows {type_name}")
    keys = [number for number in range(20) for _ in range(rng.choice((1, 3, 8, 9)))]
    rng.shuffle(keys)
    labels = integer_vector(keys, "i32")
    for kind in ("plain", "special"):
        array = Laid(type_name, (len(keys), 33), rng, kind, plain=kind == "plain")
        for op in ("min", "max"):
            pair.check(op, library.wf_groups_keys(0, 20, byref(labels)), [array], kind, nan="error")


def test_failures_are_the_cpus(pair):
    data = struct.pack("<12d", *[1.0] * 5, math.nan, *[2.0] * 3, math.nan, 1, 2)
    array = pair.gpu.memory(data).strided("f64", (4, 3), (24, 8))
    for axes, named in ((1, "result 0: NaN at index 3"), (2, "result 1: NaN at index 2")):
        said = returned(pair.device, "sum", library.wf_groups_axes(axes), [array], nan="error")
        assert said == f"WF_ERROR_NAN: {named}"
    labels = pair.labels_there([0, 5, 3, 6], "i32", 1)
    vector = pair.gpu.memory(data).vector("f64", 6)
    said = returned(pair.device, "max", library.wf_groups_segments(0, 3, byref(labels)), [vector])
    assert said == "WF_ERROR_RANGE: offset 2 is 3, less than the one before it, 5"


def test_segments_that_overlap_are_refused(pair):
    """There are more long ones than scratch memory was taken for."""
    array = Laid("f32", (9000,), random.Random("overlap"), "plain", plain=True)
    offsets = [0, 9000] * 3000
    there = pair.labels_there(offsets, "i64", 1)
    groups = library.wf_groups_segments(0, len(offsets) - 1, byref(there))
    said = returned(pair.device, "sum", groups, [pair.there(array)])
    assert said == "WF_ERROR_RANGE: offset 2 is 0, less than the one before it, 9000"
    assert pair.left_there("sum", groups, [pair.there(array)]) == "WF_ERROR_RANGE"


def test_memory_in_the_wrong_place(pair):
    device, groups = pair.gpu.memory(bytes(96)).strided("f64", (4, 3), (24, 8)), library.wf_groups_axes(1)
    host = wf.strided(bytes(96), "f64", (4, 3), (24, 8))
    assert returned(pair.device, "sum", groups, [host]) == [("f64", 0)] * 3  # the CPU's work
    assert returned(pair.host, "sum", groups, [host]) == [("f64", 0)] * 3
    assert pair.left_there("sum", groups, [host]) == "WF_ERROR_ARGUMENT"
    assert "the array must be in device memory" in pair.device.message
    odd = pair.gpu.memory(struct.pack("<5i", 0, 0, 1, 2, 4)).strided("i32", (4,), (4,), 1)
    said = returned(pair.device, "sum", library.wf_groups_segments(0, 3, byref(odd)), [device.owner.vector("f64", 4)])
    assert said == "WF_ERROR_ARGUMENT: keys and offsets in device memory must be aligned to their size"


def test_auto_takes_groups_of_both_memories(pair):
    rng = random.Random("gpu auto")
    array, auto = Laid("f32", (30, 40), rng, "wild"), wf.Handle("auto")
    groups = library.wf_groups_axes(1)
    expected = returned(pair.host, "sum", groups, [array.view()])
    assert returned(auto, "sum", groups, [pair.there(array)]) == expected
    assert returned(auto, "sum", groups, [array.view()]) == expected


def test_the_plan_tells_itself(pair):
    array = Laid("f32", (4, 1000), random.Random("plan"), plain=True)
    returned(pair.device, "sum", library.wf_groups_axes(2), [pair.there(array)])
    assert library.wf_handle_plan(pair.device.pointer).startswith(b"groups by 32 lanes each")
    returned(pair.device, "prod", library.wf_groups_axes(2), [pair.there(array)])
    assert library.wf_handle_plan(pair.device.pointer).startswith(b"trees: 4 nodes of up to 2^10 elements each")


@pytest.mark.skipif("not __import__('gpu_memory').real_driver()", reason="no GPU")
def test_graphs(pair):
    """What a graph replays follows the array's new contents."""
    rng = random.Random("gpu graphs")
    stream = pair.gpu.stream()
    pair.device.set_stream(stream.pointer)
    try:
        for shape, axes in (((200, 300), 2), ((200, 300), 1), ((2, 100000), 2)):
            first, second = (Laid("f32", shape, rng, "wild", plain=True) for _ in range(2))
            memory = pair.gpu.memory(first.data)
            view = memory.strided("f32", shape, first.strides)
            groups = library.wf_groups_axes(axes)
            results = wf.groups_shape(view, groups)
            output_memory = pair.gpu.empty(4 * math.prod(results))
            output = wf.wf_output(data=output_memory.pointer, type=wf.WF_F32, ndim=1, shape=(ctypes.c_int64 * 1)(*results))
            asked = wf.reduction("sum")
            def work():
                pair.device.check(library.wf_reduce(pair.device.pointer, byref(asked), byref(view), None, byref(groups),
                                                    byref(output)))
            work()  # which takes memory, and compiles
            replay = stream.capture(work)
            memory.write(second.data[:memory.nbytes])
            replay()
            stream.wait()
            data = output_memory.read()
            expected = returned(pair.host, "sum", groups, [second.view()])
            got = [("f32", int.from_bytes(data[i:i + 4], "little")) for i in range(0, len(data), 4)]
            assert got == expected, shape
    finally:
        pair.device.set_stream(None)
