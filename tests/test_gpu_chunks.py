"""Groups of which each lane of a GPU has one, several elements at a time, or copied ahead of their use, give the CPU's bits."""

import random
import struct

import pytest

import warpfold_ctypes as wf
from cuda_helpers import gpu  # noqa: F401: a fixture
from each_type import one_of
from gpu_group_helpers import (BY_TEAMS_IN_REGISTERS, OF_COLUMNS, ONE_IN_REGISTERS, SHORT_OPS, encoded, equal_extremes,
                               instructions_of)
from gpu_pair import pair  # noqa: F401: a fixture
from group_helpers import Laid
from oracle import TYPECODES
from samples import NAN_POLICIES

library = wf.library


IN_CHUNKS = {"f32": ("sum", "var"), "f64": ("mean", "var", "norm2"), "bf16": ("argmax",), "f16": ("sum",), "i8": ()}
OF_INTEGERS = ("sum", "mean", "max", "argmin")  # that are found in registers


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", IN_CHUNKS)
def test_groups_in_chunks(pair, type_name):
    """A lane has a column, several elements at a time; those that two or four f64 do not hold are found by few lanes at a time."""
    rng = random.Random(f"gpu chunks {type_name}")
    if not pair.gpu.is_real and not IN_CHUNKS[type_name]:
        pytest.skip("no GPU: on the simulator fewer types")
    for count in (9, 16, 17, 50, 300) if pair.gpu.is_real else (9, 35):
        for kind in ("plain", "wild", "special", "equal"):
            for shape, axes in (((count, 70), 1), ((3, count, 5), 2), ((40, count), 2)):
                if not pair.gpu.is_real and (shape[0] == 3) != (kind == "plain"):
                    continue
                array = Laid(type_name, shape, rng, "plain" if kind == "equal" else kind, plain=rng.random() < 0.5)
                if kind == "equal":
                    array.data = array.data[:array.nbytes] * (len(array.data) // array.nbytes)
                for op in SHORT_OPS if pair.gpu.is_real else one_of(IN_CHUNKS[type_name], 1):
                    pair.check(op, library.wf_groups_axes(axes), [array], shape, axes, kind, nan=rng.choice(NAN_POLICIES),
                               ddof=rng.choice((0, 1)) if op in ("var", "std") else 0, first_index=rng.choice([0, 7]))
                    if axes == 1 and array.strides[0] == 70 * array.nbytes and (type_name != "i8" or op in OF_INTEGERS):
                        assert library.wf_handle_plan(pair.device.pointer).startswith(OF_COLUMNS), (op, shape)


AHEAD = {"f32": ("sum", "var", "argmin"), "f64": ("mean", "std", "max"), "bf16": ("norm1", "norm2"), "f16": ("sum", "max"),
         "i8": ("max", "argmin")}


def matrix(type_name, rows, columns, rng, kind, again):
    """The same elements again, so that there are as many groups as a GPU has lanes, in rows or, if columns are more, in columns."""
    array = Laid(type_name, (rows, columns), rng, kind, plain=True)
    array.data = array.data[:rows * columns * array.nbytes] * again
    array.shape = (rows * again, columns) if rows > columns else (rows, columns * again)
    array.strides = [array.shape[1] * array.nbytes, array.nbytes]
    return array


def held_of_rows(type_name, op, nbytes):
    """What the plan says of so long rows, or None where that is not said here."""
    most = 96 if type_name != "i8" else 32 if op in ("max", "argmin") else 48
    if type_name != "i8":
        return ONE_IN_REGISTERS if nbytes <= most else None
    return None if op not in OF_INTEGERS else ONE_IN_REGISTERS if nbytes <= most else BY_TEAMS_IN_REGISTERS


def check_ahead(pair, array, axes, kind, rng, held_of=lambda *_: None, ops=None):
    ops = ops or (SHORT_OPS if pair.gpu.is_real else AHEAD[array.type])
    for op in ops if pair.gpu.is_real else one_of(ops, 1):
        pair.check(op, library.wf_groups_axes(axes), [array], array.shape, axes, kind, nan=rng.choice(NAN_POLICIES),
                   ddof=rng.choice((0, 1)) if op in ("var", "std") else 0, first_index=rng.choice([0, 7]))
        held = held_of(array.type, op, array.shape[1] * array.nbytes)
        assert held is None or library.wf_handle_plan(pair.device.pointer).startswith(held), (op, array.shape)


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", AHEAD)
def test_rows_copied_ahead(pair, type_name):
    """A warp has several tiles of 32 rows that are whole vectors, and the last one fewer rows; chunks end inside of rows and with them."""
    rng = random.Random(f"gpu rows ahead {type_name}")
    each = 16 // struct.calcsize(TYPECODES[type_name])
    for elements, rows in ((9, 4200), (16, 9003), (17, 4203), (33, 4230)):
        count = -(-elements // each) * each
        for kind in ("plain", "special") if pair.gpu.is_real else ("special" if elements in (16, 33) else "plain",):
            array = matrix(type_name, rows, count, rng, kind, 64 if pair.gpu.is_real else 1)
            check_ahead(pair, array, 2, kind, rng, held_of_rows)


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", ("f32", "f64"))
@pytest.mark.parametrize("kind", ("plain", "wild", "special"))
def test_columns_copied_ahead(pair, kind, type_name):
    """On the simulator each width has another op."""
    rng = random.Random(f"gpu columns ahead {kind} {type_name}")
    for elements, columns, op in ((9, 4100, "argmin"), (16, 9004, "norm2"), (33, 4204, "max"), (17, 4100, "mean")):
        array = matrix(type_name, elements, columns, rng, kind, 64 if pair.gpu.is_real else 1)
        check_ahead(pair, array, 1, kind, rng, ops=None if pair.gpu.is_real else (op,))


@pytest.mark.parametrize("op", ("max", "argmin"))
def test_extremes_of_long_rows_copied_ahead(pair, op):
    """Of f64, of which a lane's own rows take the first-level cache a cycle for each line."""
    rng = random.Random(f"gpu extremes ahead {op}")
    for rows, elements, nan in ((4230, 34, "error"), (4230, 18, "omit"), (8200, 130, "propagate")):
        array = matrix("f64", rows, elements, rng, "special", 64 if pair.gpu.is_real else 1)
        pair.check(op, library.wf_groups_axes(2), [array], array.shape, nan=nan, first_index=rng.choice([0, 7]))
        assert library.wf_handle_plan(pair.device.pointer).startswith(ONE_IN_REGISTERS)


def test_rows_of_whole_vectors_among_others(pair):
    """Launches of one kernel differ in how much shared memory they take."""
    rng = random.Random("gpu vectors among others")
    for elements in (10, 12, 10):
        pair.check("sum", library.wf_groups_axes(2), [matrix("f32", 300, elements, rng, "plain", 1)], (300, elements), 2)
        assert library.wf_handle_plan(pair.device.pointer).startswith(ONE_IN_REGISTERS)


OF_WHOLE_ROWS = (("i8", "argmin"), ("i8", "max"), ("u8", "argmax"), ("u8", "mean"), ("i16", "argmax"), ("u16", "min"), ("i16", "sum"))


@pytest.mark.sampled
@pytest.mark.parametrize("type_name, op", OF_WHOLE_ROWS)
def test_short_rows_of_whole_vectors(pair, type_name, op):
    """A lane has one row after the other, of up to three vectors, which are on their way before the last row is left; some are apart."""
    rng, each = random.Random(f"gpu whole rows {type_name} {op}"), 16 // struct.calcsize(TYPECODES[type_name])
    most = 3 if op in ("sum", "mean") or each == 8 else 2
    for vectors, rows in ((1 if each == 16 else 2, 9031), (most, 4200)):
        for kind, choices in equal_extremes(type_name, op in ("min", "argmin")).items():
            array = matrix(type_name, rows, (vectors + (kind == "few")) * each, rng, "plain", 64 if pair.gpu.is_real else 1)
            array.data = struct.pack(f"=500{TYPECODES[type_name]}", *rng.choices(choices, k=500)) * (len(array.data) // (500 * array.nbytes) + 1)
            array.shape = array.shape[0], vectors * each
            pair.check(op, library.wf_groups_axes(2), [array], array.shape, kind, first_index=rng.choice((0, 7)))
            assert library.wf_handle_plan(pair.device.pointer).startswith(ONE_IN_REGISTERS), (kind, vectors)


NANS = {"f16": (0x7e00, 0xfe00, 0x7c01, 0xfc01, 0x7fff, 0xffff), "bf16": (0x7fc0, 0xffc0, 0x7f81, 0xff81, 0x7fff, 0xffff),
        "f32": (0x7fc00000, 0xffc00000, 0x7f800001, 0xff800001, 0x7fffffff, 0xffffffff),
        "f64": (0x7ff8 << 48, 0xfff8 << 48, (0x7ff << 52) + 1, (0xfff << 52) + 1, (1 << 63) - 1, (1 << 64) - 1)}


def put_nans(array, rng, groups, most):
    """Into one column of a matrix or another, in any row: up to so many, of any bits."""
    data, nbytes, (count, width) = bytearray(array.data), array.nbytes, array.shape
    for column in groups:
        for row in rng.choices((0, count - 1, *range(count)), k=rng.randint(1, most)):
            at = (row * width + column) * nbytes
            data[at:at + nbytes] = rng.choice(NANS[array.type]).to_bytes(nbytes, "little")
    array.data = bytes(data)


@pytest.mark.parametrize("type_name, op", (("f32", "argmax"), ("f64", "argmin"), ("f16", "argmin"), ("bf16", "argmax")))
def test_indices_among_nans_in_chunks(pair, type_name, op, tmp_path, monkeypatch):
    """NaNs of any bits, of which the first wins, or which are left out, cost a lane's group little; where there is no number, or a NaN
    is an error, the results are found otherwise."""
    rng, counted, shape = random.Random(f"gpu nans {type_name}"), tmp_path / "counted", (45, 130)
    plain = Laid(type_name, shape, rng, "plain", plain=True)
    array = Laid(type_name, shape, rng, "wild", plain=True)
    put_nans(array, rng, range(0, shape[1], 2), 3)
    for nan in NAN_POLICIES:
        pair.check(op, library.wf_groups_axes(1), [array], shape, nan=nan, first_index=rng.choice((0, 7)))
        assert library.wf_handle_plan(pair.device.pointer).startswith(OF_COLUMNS)
    if not pair.gpu.is_real:
        monkeypatch.setenv("FAKE_CUDA_COUNT", str(counted))
        usual = instructions_of(pair, op, 1, plain, {}, counted)
        for nan in ("propagate", "omit"):
            assert instructions_of(pair, op, 1, array, {"nan": nan}, counted) < 1.5 * usual, nan
        monkeypatch.delenv("FAKE_CUDA_COUNT")
    put_nans(array, rng, [3] * 100, 45)
    for nan in NAN_POLICIES:
        pair.check(op, library.wf_groups_axes(1), [array], shape, "hardly any number", nan=nan)


TIED = {"f64": lambda rng: struct.unpack("=f", struct.pack("=f", rng.gauss(0, 1)))[0], "f32": lambda rng: float(rng.randrange(4096)),
        "f16": lambda rng: float(rng.randrange(100)), "bf16": lambda rng: float(rng.randrange(20))}


@pytest.mark.parametrize("type_name", TIED)
def test_variances_half_way_between_two_results(pair, type_name, tmp_path, monkeypatch):
    """Those of few bits often are: every ninth of four f64 that have been f32."""
    rng, counted = random.Random(f"gpu ties {type_name}"), tmp_path / "counted"
    for shape, axes in (((4, 300), 1), ((70, 3), 2), ((16, 70), 1), ((40, 10), 2)):
        array = Laid(type_name, shape, rng, "plain", plain=True)
        usual = Laid(type_name, shape, rng, "plain", plain=True)
        count = len(array.data) // array.nbytes
        array.data = b"".join(encoded(type_name, TIED[type_name](rng)) for _ in range(count))
        usual.data = b"".join(encoded(type_name, rng.gauss(0, 1)) for _ in range(count))
        for op in one_of(("var", "std"), list(TIED).index(type_name)):
            pair.check(op, library.wf_groups_axes(axes), [array], shape, axes, ddof=rng.choice((0, 1)))
        if pair.gpu.is_real or type_name != "f64":
            continue
        monkeypatch.setenv("FAKE_CUDA_COUNT", str(counted))
        times = [instructions_of(pair, "var", axes, data, {}, counted) for data in (array, usual)]
        assert times[0] < (1.05 if shape == (16, 70) else 1.5) * times[1], (shape, times)  # of a chunk, the first look decides
        monkeypatch.delenv("FAKE_CUDA_COUNT")


NEARLY = {  # numbers whose sums, of a few, or variances are half-way between two results, or almost, or hidden beside a large one
    "ties": (1.0, 2.0, 2.0**-53, 2.0**-54, -2.0**-53, 2.0**-106, 3 * 2.0**-53), "zeros": (0.0, -0.0), "one sign": (-0.0,),
    "hidden": (1.0, 2.0**53, -2.0**53, 2.0**106, -2.0**106, 5e-324, -5e-324, 2.0**-1022), "tiny": (1.0, 1.0, 3.0, 5e-324, 0.0),
    "large": (2.0**1017, 2.0**1023, -2.0**1023, 1.0), "squares": (2.0**500, 2.0**511, 2.0**512, -2.0**500),
    "of f32": tuple(struct.unpack("=f", struct.pack("=f", x))[0] for x in (0.1, 0.7, 1.3, 1.9, -0.3, 2.1)),
    "integers": (2.0**26 + 1, 2.0**26 + 3, 2.0**27 - 1, -2.0**26 + 1)}


@pytest.mark.parametrize("op", ("sum", "mean", "var", "norm2"))
def test_sums_of_f64_in_chunks(pair, op):
    """A lane keeps what each addition leaves beside an anchor, which all of a chunk's elements and what they add up to are below."""
    rng = random.Random(f"gpu anchors {op}")
    for kind, numbers in NEARLY.items():
        for shape, axes in (((16, 70), 1), ((100, 66), 1)):
            array = Laid("f64", shape, rng, "plain", plain=True)
            array.data = b"".join(encoded("f64", rng.choice(numbers)) for _ in range(len(array.data) // array.nbytes))
            pair.check(op, library.wf_groups_axes(axes), [array], shape, kind, ddof=rng.choice((0, 1)) if op == "var" else 0)
            if op in ("sum", "var"):
                assert library.wf_handle_plan(pair.device.pointer).startswith(OF_COLUMNS)
