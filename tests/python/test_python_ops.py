"""Every op of the package on every type: the oracle's bits, by each way in."""

import ctypes
import math
import random
import struct
import sys
from array import array

import pytest

wf = pytest.importorskip("warpfold", reason="the Python package was not built: no headers of Python")
from oracle import FLOATS, INTEGERS, TYPES, Oracle, PairOracle, default_type
from samples import nbytes_of, sample
from tensors import TableTensor, Tensor

# Names of the package and of the oracle.
OPS = {"sum": "sum", "prod": "prod", "min": "min", "max": "max", "argmin": "argmin", "argmax": "argmax", "mean": "mean",
       "var": "var", "std": "std", "any": "any", "all": "all", "count_nonzero": "nonzero"}
NORMS = {1: "norm1", 2: "norm2", math.inf: "norminf"}
DTYPES = {"bool": "bool", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
          **{f"{letter}{bits}": f"{word}{bits}" for letter, word in (("i", "int"), ("u", "uint"))
             for bits in (8, 16, 32, 64)}}
FORMATS = {"bool": "?", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "u8": "B", "u16": "H", "u32": "I", "u64": "Q",
           "f32": "f", "f64": "d"}


def number(result):
    """The oracle's result as Python's number."""
    type_name, bits = result
    if type_name == "bool":
        return bool(bits)
    if type_name in INTEGERS:
        return bits
    if type_name == "bf16":
        return struct.unpack("<f", struct.pack("<I", bits << 16))[0]
    code = {"f16": "<He", "f32": "<If", "f64": "<Qd"}[type_name]
    return struct.unpack("<" + code[2], struct.pack(code[:2], bits))[0]


def same(got, expected):
    if isinstance(expected, float):
        assert type(got) is float and struct.pack("<d", got) == struct.pack("<d", expected), (got, expected)
    else:
        assert type(got) is type(expected) and got == expected, (got, expected)


ERRORS = {"WF_ERROR_EMPTY": ValueError, "WF_ERROR_RANGE": OverflowError, "WF_ERROR_NAN": ValueError}


def check(call, oracle, op, **settings):
    """The package's result is the oracle's; of no value, NaN for floats, and an error for others."""
    floats = oracle.type in FLOATS or op in ("mean", "var", "std")
    expected = oracle.reduce(op, **settings)
    if expected == "WF_ERROR_EMPTY" and floats and op not in ("argmin", "argmax") and (
            oracle.elements or op not in ("min", "max")):
        same(call(), math.nan)
    elif isinstance(expected, str):
        with pytest.raises(ERRORS[expected]):
            call()
    else:
        same(call(), number(expected))


@pytest.mark.parametrize("kind", [Tensor, TableTensor])
@pytest.mark.parametrize("type_name", TYPES)
def test_ops_are_the_oracles(type_name, kind):
    for count, flavour in ((0, "plain"), (1, "special"), (7, "wild"), (100, "special"), (100, "plain"), (33, "coarse")):
        data = sample(type_name, count, flavour, seed=count)
        oracle = Oracle(type_name, data)
        tensor = kind(type_name, data, (count,))
        for nan in ("propagate", "omit", "error"):
            for name, op in OPS.items():
                check(lambda: getattr(wf, name)(tensor, nan=nan), oracle, op, nan=nan)
                if nan == "omit" and hasattr(wf, "nan" + name):
                    check(lambda: getattr(wf, "nan" + name)(tensor), oracle, op, nan=nan)
            for order, op in NORMS.items():
                result_type = None if type_name in FLOATS else "f64"
                check(lambda: wf.norm(tensor, order, nan=nan), oracle, op, nan=nan, result_type=result_type)
        for ddof in (1, 3):
            check(lambda: wf.var(tensor, ddof=ddof), oracle, "var", ddof=ddof)
            check(lambda: wf.std(tensor, correction=ddof), oracle, "std", ddof=ddof)
        assert tensor.released in ((0,) if kind is Tensor else (tensor.released,))  # a capsule goes with its producer


@pytest.mark.parametrize("type_name", TYPES)
def test_vecdot_is_the_oracles(type_name):
    for count, flavour in ((0, "plain"), (1, "plain"), (50, "special"), (50, "coarse")):
        a, b = (sample(type_name, count, flavour, seed=seed) for seed in (1, 2))
        for nan in ("propagate", "omit", "error"):
            expected = PairOracle(type_name, a, b).reduce(nan=nan)
            tensors = Tensor(type_name, a, (count,)), Tensor(type_name, b, (count,))
            if isinstance(expected, str):
                with pytest.raises(ERRORS[expected]):
                    wf.vecdot(*tensors, nan=nan)
            else:
                same(wf.vecdot(*tensors, nan=nan), number(expected))


def test_vecdot_of_bf16_and_others():
    wide = Tensor("bf16", struct.pack("<2H", 0x7180, 0x3f80), (2,))  # 2^100 and 1, which f16 has not both
    assert wf.vecdot(wide, Tensor("f16", struct.pack("<2e", 0.5, 2.0**-24), (2,))) == 2.0**99
    assert wf.vecdot(Tensor("f16", struct.pack("<2e", 0.0, 2.0**-24), (2,)), wide) == 2.0**-24
    assert wf.vecdot(wide, [0, 3]) == 3 and wf.vecdot(wide, [2.0**-100, -1]) == 0
    assert wf.vecdot(wide, Tensor("u8", bytes([0, 255]), (2,))) == 255


@pytest.mark.parametrize("type_name", TYPES)
def test_every_result_type(type_name):
    data = sample(type_name, 20, "plain", seed=4)
    tensor, oracle = Tensor(type_name, data, (20,)), Oracle(type_name, data)
    for result_type, dtype in DTYPES.items():
        if result_type == "bool" or (type_name in FLOATS and result_type in INTEGERS):
            with pytest.raises(TypeError, match="without loss"):
                wf.sum(tensor, dtype=dtype)
        else:
            check(lambda: wf.sum(tensor, dtype=dtype), oracle, "sum", result_type=result_type)


@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize("nan", ["propagate", "omit"])
def test_stats_are_the_oracles(type_name, nan):
    data = sample(type_name, 60, "special", seed=5)
    expected = Oracle(type_name, data).stats(nan=nan)
    if isinstance(expected, str):
        with pytest.raises(ERRORS[expected]):
            wf.stats(Tensor(type_name, data, (60,)), nan=nan)
        return
    stats = wf.stats(Tensor(type_name, data, (60,)), nan=nan)
    assert stats._fields == tuple(expected)
    for name, value in stats._asdict().items():
        if isinstance(expected[name], tuple):
            same(value, None) if expected[name][0] is None else same(value, number(expected[name]))
        else:
            assert value == expected[name]


def test_stats_of_nothing_are_none():
    stats = wf.stats([])
    assert (stats.count, stats.sum, stats.mean, stats.min, stats.argmax) == (0, 0.0, None, None, None)


@pytest.mark.parametrize("type_name", sorted(FORMATS))
def test_buffers_and_older_dlpack(type_name):
    data = sample(type_name, 64, "plain", seed=6)
    oracle = Oracle(type_name, data)
    ways = [memoryview(data).cast(FORMATS[type_name]), memoryview(bytearray(data)).cast(FORMATS[type_name], (8, 8)),
            Tensor(type_name, data, (64,), versions=False), Tensor(type_name, data, (4, 16), (16, 1))]
    if type_name != "bool":
        ways.append(array(FORMATS[type_name], data))
    for way in ways:
        for name in ("sum", "argmax", "max"):
            check(lambda: getattr(wf, name)(way), oracle, OPS[name])


@pytest.mark.parametrize("kind", [ctypes.c_double, ctypes.c_float, ctypes.c_int16, ctypes.c_uint64, ctypes.c_bool,
                                  ctypes.c_int32.__ctype_be__, ctypes.c_double.__ctype_be__], ids=lambda kind: kind.__name__)
def test_arrays_of_ctypes(kind):
    """Whose buffers tell no strides."""
    rows = [[1, 0, 1], [0, 0, 1]] if kind is ctypes.c_bool else [[1, 2, 3], [4, 5, 6]]
    matrix = (kind * 3 * 2)(*((kind * 3)(*row) for row in rows))
    assert wf.sum(matrix[0]) == sum(rows[0]) and wf.sum(matrix) == sum(map(sum, rows))
    assert wf.sum(matrix, axis=0).tolist() == [a + b for a, b in zip(*rows)] and wf.argmax(matrix, axis=1).tolist() == [
        row.index(max(row)) for row in rows]
    assert wf.sum(kind(1)) == 1 and wf.sum((kind * 0)()) == 0
    with pytest.raises(TypeError, match="not supported"):
        wf.sum((ctypes.c_char * 3)())


@pytest.mark.parametrize("type_name", TYPES)
def test_strides_and_axes(type_name):
    """Any order of the dimensions, steps over elements, backwards and repeated."""
    rng, size = random.Random(type_name), nbytes_of(type_name)
    data = sample(type_name, 400, "plain", seed=7)
    for shape, strides, offset in (((4, 5), (5, 1), 0), ((4, 5), (1, 4), 0), ((3, 4), (-20, 3), 60), ((2, 3, 4), (1, 0, 30), 7),
                                   ((5, 0), (3, 1), 0)):
        names = ["sum", "any"] if 0 in shape else ["sum", "max", "std", "any"]
        tensor = Tensor(type_name, data, shape, strides, offset=offset * size)

        def at(*index):
            begin = (offset + sum(i * s for i, s in zip(index, strides))) * size
            return data[begin:begin + size]

        name = rng.choice(names)
        for axis in range(len(shape)):
            rows = [range(n) for d, n in enumerate(shape) if d != axis]
            got = getattr(wf, name)(tensor, axis=axis)
            got = flat(got.tolist() if isinstance(got, memoryview) else got)
            others = [(i,) for i in rows[0]] if len(rows) == 1 else [(i, j) for i in rows[0] for j in rows[1]]
            assert len(got) == len(others)
            for result, other in zip(got, others):
                elements = b"".join(at(*other[:axis], i, *other[axis:]) for i in range(shape[axis]))
                check(lambda: result, Oracle(type_name, elements), OPS[name])


def flat(lists):
    return [x for row in lists for x in flat(row)] if isinstance(lists, list) else [lists]


def test_large_arrays_and_threads_do_not_change_bits():
    data = sample("f64", 200_000, "coarse", seed=8)
    values = memoryview(data).cast("d")
    expected = number(Oracle("f64", data).reduce("sum"))
    for threads in (0, 1, 2, 7):
        same(wf.sum(values, threads=threads), expected)
    same(wf.sum(values, device="cpu"), expected)
    same(wf.sum(values, device="auto"), expected)


def test_nothing_was_imported():
    """cccl#4610: the package needs no other.  In a new process it reduces lists and buffers without NumPy."""
    import subprocess

    code = ("import sys, array, warpfold as wf; wf.sum([[1, 2]], axis=0); wf.bincount([1, 2]);"
            "wf.sum(array.array('d', [1, 2]), keepdims=True); assert 'numpy' not in sys.modules")
    path = str(next(iter(wf.__path__))).rpartition("/")[0]
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": path, **ENVIRONMENT}, capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0, done.stderr


ENVIRONMENT = {name: value for name, value in __import__("os").environ.items() if name != "PYTHONPATH"}


def test_default_types_are_told_apart():
    """NumPy's results where the library's own differ."""
    assert type(wf.sum([True, True])) is int and type(wf.norm([1, 2], 1)) is float
    assert default_type("norm1", "i8") == "u64"


@pytest.mark.parametrize("out", [3, [0.0], (0.0,), range(1)], ids=str)
def test_nothing_is_written_to_a_copy(out):
    """Numbers and lists are copied: what was written there would be lost."""
    for function in (wf.sum, wf.mean, wf.argmax):
        with pytest.raises(TypeError, match="out must be an array"):
            function([[1.0, 2.0]], out=out)
