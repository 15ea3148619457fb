"""Quantiles, distinct values and histograms, of arrays and files, beside sorting with fractions: the same bits."""

import array
import ctypes
import itertools
import random
import struct
from ctypes import byref
from fractions import Fraction

import pytest

import warpfold_ctypes as wf
from order_helpers import (BETWEENS, bins, distinct, expected_counts, expected_distinct, expected_quantiles,
                           expected_type, or_error, quantiles, quantiles_of_array, quantiles_of_reader)
from oracle import FLOATS, INTEGERS, TYPES
from samples import NAN_POLICIES, coarse, pack, plain, special, wild
from test_files import Reader

QS = (0.5, 0.0, 1.0, 0.1, 0.3, 0.99, 1 / 3, 0.25, 1e-20, 0.9999999999999999)
FLAVOURS = (plain, wild, coarse, special)


@pytest.fixture(scope="module")
def handle():
    return wf.Handle()


def draw_elements(seed, type_name, flavour, count):
    draw = random.Random(f"{seed} {type_name}")
    return pack(type_name, [flavour(draw, type_name) for _ in range(count)])


# ---- quantiles of arrays


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize("flavour", FLAVOURS, ids=lambda flavour: flavour.__name__)
def test_every_type(handle, type_name, flavour):
    if flavour is special and type_name in INTEGERS:
        flavour = wild
    for count, nan in itertools.product((0, 1, 2, 3, 11, 101), NAN_POLICIES):
        data = draw_elements(count, type_name, flavour, count)
        for between in BETWEENS:
            wanted = expected_quantiles(type_name, data, QS, between, nan)
            for first, end in ((0, 10), (0, 4), (4, 8)):  # all and a few, which are found in other ways
                found = or_error(lambda: quantiles_of_array(
                    handle, wf.vector(data, type_name), quantiles(QS[first:end], between, nan)))
                assert found == (wanted if isinstance(wanted, str) else wanted[first:end]), (count, nan, between)


@pytest.mark.parametrize("type_name, flavour", [("u8", wild), ("i16", wild), ("f32", coarse), ("f64", wild)])
def test_many_elements(handle, type_name, flavour):
    """More than are sorted at once: digits are counted."""
    data = draw_elements(1, type_name, flavour, 20_000)
    found = quantiles_of_array(handle, wf.vector(data, type_name), quantiles(QS))
    assert found == expected_quantiles(type_name, data, QS)


def doubles_of(results):
    return [struct.unpack("d", struct.pack("Q", bits))[0] for _, bits in results]


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_more_ranges_than_are_counted_at_once(handle, threads):
    """Each of forty has more keys than one pass keeps, all together."""
    times, values = 110_000, [i * i / 7 for i in range(40)]
    data = array.array("d", values) * times
    qs = [i / 64 for i in range(65)]
    found = quantiles_of_array(handle, wf.vector(data, "f64", len(data)), quantiles(qs, "lower"), threads=threads)
    assert doubles_of(found) == [values[int(Fraction(q) * (len(data) - 1)) // times] for q in qs]


def test_ranges_too_full_to_be_kept(handle):
    """Five million keys that agree in their first 48 bits: every pass counts digits, and the last one has single keys."""
    data = array.array("Q", range(1 << 63, (1 << 63) + 5)) * 1_000_000
    found = quantiles_of_array(handle, wf.vector(data, "u64", len(data)), quantiles([0.1, 0.5, 0.9], "lower"))
    assert found == [("u64", (1 << 63) + i) for i in (0, 2, 4)]


@pytest.mark.parametrize("q, between, result", [
    (0.1, "linear", 1.0), (0.3, "lower", 3.0), (0.3, "higher", 3.0), (0.7, "nearest", 7.0), (0.55, "nearest", 6.0),
    (0.45, "nearest", 4.0), (0.25, "midpoint", 2.5), (0.25, "linear", 2.5), (0.01, "linear", 0.1)])
def test_q_is_its_shortest_decimal(handle, q, between, result):
    """Of 0 to 10: a tenth is the element 1, though the double 0.1 is a little more."""
    data = struct.pack("11d", *range(11))
    found = quantiles_of_array(handle, wf.vector(data, "f64"), quantiles([q], between))
    assert doubles_of(found) == [result]


@pytest.mark.parametrize("q", [-0.1, 1.0000000000000002, float("nan"), float("inf"), 1e-21])
def test_what_is_no_quantile(handle, q):
    with pytest.raises(wf.WarpfoldError, match="a quantile is 0, or from 1e-20 to 1") as refused:
        quantiles_of_array(handle, wf.vector(bytes(8), "f64"), quantiles([q]))
    assert refused.value.code == "WF_ERROR_ARGUMENT"


def test_result_types(handle):
    data = struct.pack("4q", 1, 2, 2**62 + 1, 2**62 + 3)
    for result_type, q, between in itertools.product(TYPES, QS, BETWEENS):
        asked = quantiles([q], between, result_type=result_type)
        found = or_error(lambda: quantiles_of_array(handle, wf.vector(data, "i64"), asked))
        assert found == expected_quantiles("i64", data, [q], between, result_type=result_type)


@pytest.mark.parametrize("type_name", ["f64", "i8"])
def test_axes_and_strides(handle, type_name):
    shape, draw = (3, 4, 5), random.Random(5)
    nbytes = wf.library.wf_type_nbytes(wf.TYPE_BY_NAME[type_name])
    elements = [plain(draw, type_name) for _ in range(60)]
    data = pack(type_name, elements)
    for order in itertools.permutations(range(3)):
        strides, step = [0] * 3, nbytes
        for d in order:
            strides[d], step = step, step * shape[d]
        for axes in range(1, 8):
            kept = [d for d in range(3) if not axes >> d & 1]
            cells = {}
            for place in itertools.product(*map(range, shape)):
                element = elements[sum(i * s for i, s in zip(place, strides)) // nbytes]
                cells.setdefault(tuple(place[d] for d in kept), []).append(element)
            wanted = [expected_quantiles(type_name, pack(type_name, cell), [q])[0] for q in (0.5, 0.9)
                      for _, cell in sorted(cells.items())]
            found = quantiles_of_array(handle, wf.strided(data, type_name, shape, strides), quantiles([0.5, 0.9]),
                                       wf.library.wf_groups_axes(axes))
            assert found == wanted, (order, axes)


@pytest.mark.parametrize("threads", [1, 3])
def test_long_groups(handle, threads):
    rows, length = 3, 70_001
    draw = random.Random(2)
    data = array.array("d", [draw.gauss(0, 1) for _ in range(rows * length)])
    found = quantiles_of_array(handle, wf.strided(data.tobytes(), "f64", (rows, length), (8 * length, 8)),
                               quantiles([0.5]), wf.library.wf_groups_axes(2), threads)
    assert doubles_of(found) == [sorted(data[i * length:][:length])[length // 2] for i in range(rows)]


def test_many_short_groups(handle):
    rows, length = 40_000, 4
    data = draw_elements(3, "f64", plain, 1000 * length) * (rows // 1000)
    answers = [quantiles_of_array(handle, wf.strided(data, "f64", (rows, length), (8 * length, 8)), quantiles([0.5]),
                                  wf.library.wf_groups_axes(2), threads) for threads in (1, 4)]
    assert answers[0] == answers[1]
    for i in range(0, rows, 999):
        assert answers[0][i] == expected_quantiles("f64", data[i * 32:][:32], [0.5])[0]


def test_groups_without_a_value(handle):
    nan = FLOATS["f64"].nan
    data = pack("f64", [nan, nan, 0, nan])
    both = wf.strided(data, "f64", (2, 2), (16, 8))
    axes = wf.library.wf_groups_axes(2)
    assert quantiles_of_array(handle, both, quantiles([0.5], nan="omit"), axes) == [("f64", nan), ("f64", 0)]
    assert quantiles_of_array(handle, both, quantiles([0.5]), axes) == [("f64", nan)] * 2
    with pytest.raises(wf.WarpfoldError, match="result 0: NaN at index 0"):
        quantiles_of_array(handle, both, quantiles([0.5], nan="error"), axes)
    empty = wf.strided(b"", "i32", (2, 0), (0, 4))
    assert quantiles_of_array(handle, empty, quantiles([0.5]), axes) == [("f64", nan)] * 2
    with pytest.raises(wf.WarpfoldError, match="result 0: a quantile of no elements") as refused:
        quantiles_of_array(handle, empty, quantiles([0.5], "lower"), axes)
    assert refused.value.code == "WF_ERROR_EMPTY"


def test_the_first_nan_is_named(handle):
    data = bytearray(8 * 100_000)
    data[8 * 70_000:8 * 70_000 + 8] = data[-8:] = struct.pack("d", float("nan"))
    for call in (lambda: quantiles_of_array(handle, wf.vector(data, "f64"), quantiles([0.5], nan="error")),
                 lambda: distinct(handle, wf.vector(data, "f64"), "error"),
                 lambda: bins(handle, wf.vector(data, "f64"), [0, 1], "error")):
        with pytest.raises(wf.WarpfoldError, match="NaN at index 70000") as refused:
            call()
        assert refused.value.code == "WF_ERROR_NAN"


def test_what_is_refused(handle):
    vector = wf.vector(bytes(16), "f64")
    keys = wf.library.wf_groups_keys(0, 2, byref(wf.vector(bytes(8), "i32")))
    shape = (ctypes.c_int64 * 2)(1, 1)
    call = wf.library.wf_quantile
    for asked, groups, output, said in [
            (quantiles([0.5]), keys, wf.wf_output(), "by segments or keys"),
            (quantiles([0.5]), None, wf.wf_output(ndim=2, shape=shape), "dimension"),
            (quantiles([0.5]), None, wf.wf_output(type=wf.WF_F32, ndim=1, shape=shape), "the output has type f32"),
            (wf.wf_quantiles(), None, wf.wf_output(), "nbytes of a wf_quantiles is 0")]:
        code = call(handle.pointer, byref(asked), byref(vector), groups and byref(groups), byref(output))
        assert code and said in handle.message, (code, handle.message)
    for field, value in [("between", 5), ("nan", 3), ("result_type", 99), ("count", -1)]:
        asked = quantiles([0.5])
        setattr(asked, field, value)
        assert wf.ERRORS[call(handle.pointer, byref(asked), byref(vector), None, byref(wf.wf_output()))] == "WF_ERROR_ARGUMENT"


# ---- distinct values and histograms


@pytest.mark.parametrize("type_name", TYPES)
def test_distinct(handle, type_name):
    for flavour, count, nan in itertools.product((plain, wild, coarse, special), (0, 1, 400), NAN_POLICIES):
        if flavour is special and type_name in INTEGERS:
            continue
        data = draw_elements(count, type_name, flavour, count)
        found = or_error(lambda: distinct(handle, wf.vector(data, type_name), nan))
        assert found == expected_distinct(type_name, data, nan)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 3])
def test_more_distinct_values_than_fit(handle, threads):
    """They are counted in several passes."""
    values = array.array("Q", range(0, 4_500_000 * 2**40, 2**40))
    data = values + values[:1_000_000]
    assert distinct(handle, wf.vector(data, "u64", len(data)), threads=threads) == len(values)


EDGES = ([0.0, 1.0], [-1.0, 0.0, 0.5, 2.0], [float("-inf"), -0.0, float("inf")], [0.25, 0.25, 0.25], [1e300, 1e301],
         [-1e19, -128.0, 127.5, 1e19], [i / 8 for i in range(-40, 41)])


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
def test_histograms(handle, type_name):
    for edges, flavour in itertools.product(EDGES, (plain, wild, coarse, special)):
        if flavour is special and type_name in INTEGERS:
            continue
        data = draw_elements(0, type_name, flavour, 300)
        assert bins(handle, wf.vector(data, type_name), edges) == expected_counts(type_name, data, edges)


def test_histogram_by_threads(handle):
    data = draw_elements(0, "f32", plain, 40_000) * 10
    one, *others = [bins(handle, wf.vector(data, "f32"), EDGES[6], threads=threads) for threads in (1, 2, 5)]
    assert others == [one] * 2 and sum(one) == 400_000


@pytest.mark.parametrize("edges", [[0.0], [1.0, 0.0], [0.0, float("nan")], [float("nan"), 1.0]])
def test_edges_that_are_refused(handle, edges):
    assert or_error(lambda: bins(handle, wf.vector(bytes(8), "f64"), edges)) == "WF_ERROR_ARGUMENT"


@pytest.mark.parametrize("low, high", [(0.0, 1.0), (-1e308, 1e308), (0.1, 0.7), (5e-324, 1e-322)])
def test_bins_of_equal_width(handle, low, high):
    data = struct.pack("4d", high, low, (high - low) / 2 + low if high < 1e308 else 0.0, float("nan"))
    for count in (1, 3, 10):
        wanted = [float(Fraction(low) + (Fraction(high) - Fraction(low)) * i / count) for i in range(count + 1)]
        edges, counts = bins(handle, wf.vector(data, "f64"), count)
        assert edges == wanted and counts == expected_counts("f64", data, wanted)


def test_bins_of_one_value_and_of_rounded_edges(handle):
    """What a rounded edge excludes is in the bin beside it."""
    assert bins(handle, wf.vector(struct.pack("2d", 0.0, -0.0), "f64"), 2) == ([-0.5, 0, 0.5], [0, 0, 2, 0, 0])
    ends = [2**63 + 1, 2**64 - 1, 2**63 + 1]
    edges, counts = bins(handle, wf.vector(struct.pack("3Q", *ends), "u64"), 2)
    assert edges == [2.0**63, 1.5 * 2.0**63, 2.0**64] and counts == [0, 2, 1, 0, 0]
    assert bins(handle, wf.vector(struct.pack("Q", 2**64 - 1), "u64"), 1) == ([2.0**64] * 2, [0, 1, 0, 0])


def test_bins_without_a_range(handle):
    infinite, nothing = struct.pack("2d", 0, float("inf")), struct.pack("d", float("nan"))
    assert or_error(lambda: bins(handle, wf.vector(infinite, "f64"), 3)) == "WF_ERROR_RANGE"
    assert or_error(lambda: bins(handle, wf.vector(nothing, "f64"), 3)) == "WF_ERROR_EMPTY"


# ---- files


@pytest.mark.parametrize("threads", [1, 3])
def test_files(handle, tmp_path, threads):
    """Several files of elements in any number of pieces, as one array."""
    data = draw_elements(4, "f32", coarse, 20_000) * 10 + draw_elements(5, "f32", wild, 15_000) * 10
    paths = [tmp_path / "a", tmp_path / "b"]
    paths[0].write_bytes(data[:4 * 123_456])
    paths[1].write_bytes(data[4 * 123_456:])
    whole = wf.vector(data, "f32")
    asked = quantiles(QS)
    with Reader(handle, *paths, type_name="f32", format=wf.WF_FORMAT_RAW) as reader:
        assert quantiles_of_reader(handle, reader, asked, threads) == quantiles_of_array(handle, whole, asked)
        assert distinct(handle, reader, threads=threads) == distinct(handle, whole)
        assert bins(handle, reader, EDGES[6], threads=threads) == bins(handle, whole, EDGES[6])


def test_files_of_more_than_is_kept(handle, tmp_path):
    """Several passes over a file, by two threads."""
    count = 6_000_000
    data = array.array("I", [(i * 2654435761) % 2**32 for i in range(1000)]) * (count // 1000)
    (tmp_path / "a").write_bytes(data)
    with Reader(handle, tmp_path / "a", type_name="u32", format=wf.WF_FORMAT_RAW) as reader:
        found = quantiles_of_reader(handle, reader, quantiles([0.0, 0.5, 1.0], "lower"), threads=2)
    ordered = sorted(data[:1000])
    assert found == [("u32", ordered[0]), ("u32", ordered[499]), ("u32", ordered[999])]


def test_a_reader_begins_at_its_first_file(handle, tmp_path):
    (tmp_path / "a").write_text("1 2\n3\n")
    with Reader(handle, tmp_path / "a") as reader:
        reader.next(1)
        assert distinct(handle, reader) == 3
        assert quantiles_of_reader(handle, reader, quantiles([0.5])) == [("f64", 1 << 62)]
        assert reader.next(1) == b""


def test_a_file_that_changes_between_passes(handle, tmp_path):
    """What the first pass has counted is not there in the second."""
    path, count = tmp_path / "a", 5_000_000
    path.write_bytes(array.array("I", range(0, 500 << 20, 500 << 3)) * (count * 8 // (1 << 20)))
    nbytes = path.stat().st_size
    assert nbytes > 4 << 22

    def overwrite(done, total):
        if done == total:
            with path.open("r+b") as file:
                file.write(bytes(nbytes))

    with Reader(handle, path, type_name="u32", format=wf.WF_FORMAT_RAW, progress=overwrite) as reader:
        with pytest.raises(wf.WarpfoldError, match="changed while it was read") as refused:
            quantiles_of_reader(handle, reader, quantiles([0.5]), threads=1)
    assert refused.value.code == "WF_ERROR_IO"


def test_errors_of_files(handle, tmp_path):
    (tmp_path / "a").write_text("1\nnan\n2\n")
    (tmp_path / "b").write_text("1\nx\n")
    with Reader(handle, tmp_path / "a", tmp_path / "b") as reader:
        with pytest.raises(wf.WarpfoldError, match="b:2:1"):
            distinct(handle, reader)
    with Reader(handle, tmp_path / "a") as reader:
        with pytest.raises(wf.WarpfoldError, match="NaN at index 1"):
            quantiles_of_reader(handle, reader, quantiles([0.5], nan="error"))


def test_the_type_of_results():
    for type_name, between in itertools.product(TYPES, BETWEENS):
        number = wf.library.wf_quantiles_result_type(byref(quantiles([], between)), wf.TYPE_BY_NAME[type_name])
        assert wf.TYPE_NAME[number] == expected_type(type_name, between)
