"""Every op over every type, in every shape, against the oracle; and the refusal of misuse."""

import ctypes
import itertools
import random
import re
import struct
import subprocess
from ctypes import byref
from functools import lru_cache

import pytest

import warpfold_ctypes as wf
from each_type import EACH_TYPE
from oracle import BITWISE, FLOATS, INTEGERS, OPS, TYPES, Oracle, PairOracle, default_type, ops_of
from samples import (
    FLAVOURS,
    NAN_POLICIES,
    agree,
    nbytes_of,
    outcome,
    pack,
    pack_values,
    run_compiler,
    sample,
    specials,
    split,
)
from warpfold_ctypes import library

COUNTS = (0, 1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 257, 4095, 4096, 4097)
# More than two blocks of 32 KiB of each type, and a remainder.
LONG_COUNTS = {1: 70001, 2: 35001, 4: 20011, 8: 20011}


@pytest.fixture(scope="module")
def handle():
    return wf.Handle()


@lru_cache(maxsize=8)
def oracle_of(type_name, data):
    return Oracle(type_name, data)


def policies_for(flavour):
    return NAN_POLICIES if flavour == "special" else NAN_POLICIES[:1]


def check_all_ops(handle, type_name, array, data, flavour, *context):
    """Every op and policy over one view of data."""
    whole = oracle_of(type_name, data)
    for nan in policies_for(flavour):
        for op in ops_of(type_name):
            agree(
                whole.reduce(op, nan),
                outcome(handle.reduce, op, array, nan=nan),
                op,
                type_name,
                nan,
                *context,
            )


# ---- the mapping is that of the header ---------------------------------------------------------------


def header():
    text = (wf.ROOT / "include" / "warpfold.h").read_text()
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def test_every_function_of_the_header_is_mapped():
    declared = set(re.findall(r"WF_API\b[^;]*?\b(wf_\w+)\(", header()))
    assert declared == set(wf.FUNCTIONS)


def test_constants_and_structures_are_those_of_the_header(tmp_path):
    constants = [name for names in (wf.ERRORS, wf.TYPES, wf.OPS, wf.NANS, wf.FORMATS) for name in names]
    constants += ["WF_NDIM_MAX", "WF_NO_INDEX", "WF_SAVED_NBYTES_MAX"]
    expected = {name: getattr(wf, name) for name in constants}
    lines = [f'print("{name}", {name});' for name in constants]
    for structure in wf.STRUCTURES:
        name = structure.__name__
        expected[name] = ctypes.sizeof(structure)
        lines.append(f'print("{name}", sizeof({name}));')
        for field, *_ in structure._fields_:
            expected[f"{name}.{field}"] = getattr(structure, field).offset
            lines.append(f'print("{name}.{field}", offsetof({name}, {field}));')
    source = tmp_path / "probe.c"
    source.write_text(
        '#include <stdio.h>\n#include "warpfold.h"\n'
        'static void print(const char *name, unsigned long long n) { printf("%s %llu\\n", name, n); }\n'
        "int main(void) {" + "\n".join(lines) + "}\n"
    )
    program = tmp_path / "probe"
    run_compiler("-I", wf.ROOT / "include", source, "-o", program)
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    assert {name: int(value) for name, value in map(str.split, printed.splitlines())} == expected


# ---- names and values --------------------------------------------------------------------------------


def test_names():
    for name, value in wf.TYPE_BY_NAME.items():
        assert library.wf_type_name(value) == name.encode() and library.wf_type_parse(name.encode()) == value
        assert library.wf_type_nbytes(value) == nbytes_of(name)
    for name, value in wf.OP_BY_NAME.items():
        if value:
            assert library.wf_op_name(value) == name.encode() and library.wf_op_parse(name.encode()) == value
    for bad in (0, -1, len(wf.TYPES), 2**31 - 1):
        assert library.wf_type_name(bad) is None and library.wf_type_nbytes(bad) == 0
    for bad in (0, -1, len(wf.OPS), 2**31 - 1):
        assert library.wf_op_name(bad) is None
    for bad in (None, b"", b"f", b"F32", b"f32 ", b"summ"):
        assert library.wf_type_parse(bad) == 0 and library.wf_op_parse(bad) == 0
    for code in (*range(len(wf.ERRORS)), -1, 99):
        assert library.wf_error_text(code)
    assert re.fullmatch(rb"\d+\.\d+\.\d+", library.wf_version())


def test_default_result_types():
    for type_name, op in itertools.product(TYPES, (*OPS, "dot")):
        exists = type_name in INTEGERS or op not in BITWISE
        expected = wf.TYPE_BY_NAME[default_type(op, type_name)] if exists else 0
        assert library.wf_op_result_type(wf.OP_BY_NAME[op], wf.TYPE_BY_NAME[type_name]) == expected, (
            op,
            type_name,
        )
    assert library.wf_op_result_type(wf.WF_STATS, wf.WF_F64) == 0
    for op, type_name in ((0, wf.WF_F64), (-1, wf.WF_F64), (99, wf.WF_F64), (wf.WF_SUM, 0), (wf.WF_SUM, 99)):
        assert library.wf_op_result_type(op, type_name) == 0


# ---- every op x type x count -------------------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
def test_every_op_and_count(handle, type_name):
    for count, flavour in itertools.product(COUNTS, FLAVOURS):
        data = sample(type_name, count, flavour)
        check_all_ops(handle, type_name, wf.vector(data, type_name), data, flavour, count, flavour)


@pytest.mark.sampled
@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("type_name", EACH_TYPE)
def test_every_op_over_several_blocks(handle, type_name, flavour):
    data = sample(type_name, LONG_COUNTS[nbytes_of(type_name)], flavour)
    check_all_ops(handle, type_name, wf.vector(data, type_name), data, flavour, flavour)


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
def test_every_result_type_and_ddof(handle, type_name):
    for count, flavour in itertools.product((0, 1, 2, 7, 64, 301), FLAVOURS):
        data = sample(type_name, count, flavour, seed=1)
        whole, array = oracle_of(type_name, data), wf.vector(data, type_name)
        for nan, op, result_type in itertools.product(policies_for(flavour), ops_of(type_name), TYPES):
            for ddof in (0, 1, count) if op in ("var", "std") else (0,):
                agree(
                    whole.reduce(op, nan, result_type, ddof),
                    outcome(handle.reduce, op, array, nan=nan, result_type=result_type, ddof=ddof),
                    op,
                    type_name,
                    nan,
                    result_type,
                    ddof,
                    flavour,
                    count,
                )


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
def test_stats(handle, type_name):
    for count, flavour in itertools.product((0, 1, 2, 33, 257, 5003), FLAVOURS):
        data = sample(type_name, count, flavour, seed=2)
        whole, array = oracle_of(type_name, data), wf.vector(data, type_name)
        for nan, ddof in itertools.product(policies_for(flavour), (0, 1)):
            for result_type in (None, "f64", "f32"):
                agree(
                    whole.stats(nan, result_type, ddof),
                    outcome(handle.stats, array, nan=nan, result_type=result_type, ddof=ddof),
                    "stats",
                    type_name,
                    nan,
                    ddof,
                    result_type,
                    flavour,
                    count,
                )


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", EACH_TYPE)
def test_dot(handle, type_name):
    counts = (*COUNTS, LONG_COUNTS[nbytes_of(type_name)])
    for count, flavour in itertools.product(counts, FLAVOURS):
        a, b = (sample(type_name, count, flavour, seed) for seed in (3, 4))
        views = [wf.vector(data, type_name) for data in (a, b)]
        whole = PairOracle(type_name, a, b)
        for nan in policies_for(flavour):
            for result_type in (None, *(TYPES if count < 70 else ())):
                agree(
                    whole.reduce("dot", nan, result_type),
                    outcome(handle.reduce_pair, "dot", *views, nan=nan, result_type=result_type),
                    "dot",
                    type_name,
                    nan,
                    result_type,
                    flavour,
                    count,
                )


@pytest.mark.parametrize("type_name", FLOATS)
def test_dot_of_an_array_with_itself(handle, type_name):
    """The same memory twice: an infinity times itself is positive."""
    for count, special in itertools.product((3, 300, 5003), (None, "-inf", "nan")):
        data = bytearray(sample(type_name, count, "plain", seed=9))
        if special:
            form = FLOATS[type_name]
            bits = form.nan if special == "nan" else form.infinity | form.sign
            data[: nbytes_of(type_name)] = pack(type_name, [bits])
        view = wf.vector(data, type_name)
        for nan in NAN_POLICIES:
            agree(
                PairOracle(type_name, bytes(data), bytes(data)).reduce("dot", nan),
                outcome(handle.reduce_pair, "dot", view, view, nan=nan),
                "dot",
                type_name,
                nan,
                count,
                special,
            )


@pytest.mark.parametrize("type_name", INTEGERS)
def test_integers_at_the_ends_of_their_range(handle, type_name):
    """Every array of up to four of the extreme values: exact, or refused."""
    values = sorted({*INTEGERS[type_name], 0, 1})
    for count in range(5):
        for elements in itertools.product(values, repeat=count):
            data = pack(type_name, elements)
            check_all_ops(handle, type_name, wf.vector(data, type_name), data, "coarse", elements)


def test_every_byte_is_a_bool(handle):
    for byte in range(256):
        for elements in ([byte], [0, byte], [byte, 1], [byte] * 100):
            data = bytes(elements)
            check_all_ops(handle, "bool", wf.vector(data, "bool"), data, "coarse", byte)


def test_integer_products_and_sums_of_squares_of_192_bits(handle):
    """Sums that leave 64 bits on the way and come back; dots whose partial sums leave 128."""
    most, least = INTEGERS["i64"][1], INTEGERS["i64"][0]
    a = pack("i64", [most] * 300 + [least] * 300 + [3])
    b = pack("i64", [most] * 300 + [-most] * 150 + [least] * 150 + [5])
    array = [wf.vector(data, "i64") for data in (a, b)]
    for op, result_type in itertools.product(
        ("sum", "mean", "var", "norm2", "norm1"), (None, "f64", "f32", "u64")
    ):
        agree(
            Oracle("i64", a).reduce(op, result_type=result_type),
            outcome(handle.reduce, op, array[0], result_type=result_type),
            op,
            result_type,
        )
    for result_type in ("i64", "f64", "f32"):
        agree(
            PairOracle("i64", a, b).reduce(result_type=result_type),
            outcome(handle.reduce_pair, "dot", *array, result_type=result_type),
            result_type,
        )
    cancelling = pack("i64", [least, least, most, most, 1, 1]), pack("i64", [least, -1, most, 1, 1, 1])
    negated = pack("i64", [least, least, least, least, 1, 1]), pack("i64", [least, -1, least, 1, 1, 1])
    for a, b in (cancelling, negated):
        agree(
            PairOracle("i64", a, b).reduce(),
            outcome(handle.reduce_pair, "dot", wf.vector(a, "i64"), wf.vector(b, "i64")),
            "cancelling",
        )


# ---- where elements lie ------------------------------------------------------------------------------


@pytest.mark.parametrize("type_name", TYPES)
def test_unaligned_data(handle, type_name):
    data = sample(type_name, 1009, "special", seed=5)
    for offset in (1, 2, 3, 5, 7, 31, 63):
        moved = bytearray(offset) + data
        check_all_ops(handle, type_name, wf.vector(moved, type_name, offset=offset), data, "special", offset)


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
def test_strides(handle, type_name):
    nbytes = nbytes_of(type_name)
    for count in (1, 17, 300, 4100):
        elements = split(type_name, sample(type_name, count, "special", seed=6))
        for stride in (nbytes + 1, 2 * nbytes, 3 * nbytes + 1, 64, -nbytes, -nbytes - 1, -3 * nbytes,
                       *((3 * nbytes, 4 * nbytes, 7 * nbytes, -2 * nbytes, -4 * nbytes) if count == 300 else ())):
            buffer = bytearray(b"\xa5" * (abs(stride) * count + nbytes))
            start = 0 if stride > 0 else -stride * (count - 1)
            for i, element in enumerate(elements):
                buffer[start + i * stride : start + i * stride + nbytes] = element
            view = wf.strided(buffer, type_name, [count], [stride], start)
            check_all_ops(handle, type_name, view, b"".join(elements), "special", count, stride)
            simple = wf.wf_array(view.data, view.type, count=count)  # no shape: a vector
            simple.stride_bytes = (ctypes.c_int64 * 1)(stride)
            assert handle.reduce("nonzero", simple, nan="omit") == handle.reduce("nonzero", view, nan="omit")
        view = wf.strided(bytearray(elements[0]), type_name, [count], [0])
        check_all_ops(handle, type_name, view, elements[0] * count, "special", count, "stride 0")


def gather(buffer, type_name, shape, stride_bytes, offset):
    """The elements of a view in C order."""
    nbytes = nbytes_of(type_name)
    places = (
        offset + sum(map(int.__mul__, index, stride_bytes)) for index in itertools.product(*map(range, shape))
    )
    return b"".join(bytes(buffer[place : place + nbytes]) for place in places)


def random_view(draw, type_name, shape, buffer_nbytes):
    """Strides in bytes and an offset that stay inside the buffer: overlapping, negative and odd ones too."""
    nbytes = nbytes_of(type_name)
    while True:
        strides = [draw.choice((0, nbytes, -nbytes, 2 * nbytes, draw.randint(-200, 200))) for _ in shape]
        reach = [stride * max(length - 1, 0) for stride, length in zip(strides, shape)]
        low, high = sum(min(r, 0) for r in reach), sum(max(r, 0) for r in reach)
        if high - low + nbytes <= buffer_nbytes:
            return strides, draw.randint(-low, buffer_nbytes - high - nbytes)


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
def test_views_of_many_dimensions(handle, type_name):
    draw = random.Random(type_name)
    buffer = bytearray(sample(type_name, 16384 // nbytes_of(type_name), "special", seed=7))
    for _ in range(60):
        shape = [draw.choice((0, 1, 2, 2, 3, 3, 5, 8)) for _ in range(draw.randint(0, 5))]
        strides, offset = random_view(draw, type_name, shape, len(buffer))
        data = gather(buffer, type_name, shape, strides, offset)
        view = wf.strided(buffer, type_name, shape, strides, offset)
        check_all_ops(handle, type_name, view, data, "special", shape, strides)
        partner_strides, partner_offset = random_view(draw, type_name, shape, len(buffer))
        partner = wf.strided(buffer, type_name, shape, partner_strides, partner_offset)
        partner_data = gather(buffer, type_name, shape, partner_strides, partner_offset)
        for nan in NAN_POLICIES:
            agree(
                PairOracle(type_name, data, partner_data).reduce("dot", nan),
                outcome(handle.reduce_pair, "dot", view, partner, nan=nan),
                "dot",
                type_name,
                shape,
            )


@pytest.mark.parametrize("type_name", ("u8", "f32", "f64"))
def test_a_transposed_matrix_and_its_packed_copy(handle, type_name):
    rows, columns, nbytes = 70, 130, nbytes_of(type_name)
    data = sample(type_name, rows * columns, "wild", seed=8)
    for shape, strides in (
        ([rows, columns], [columns * nbytes, nbytes]),
        ([columns, rows], [nbytes, columns * nbytes]),
        ([rows // 2, columns // 2], [2 * columns * nbytes, 2 * nbytes]),
        ([13, 5, 10, 14], [10 * nbytes, 14 * columns * nbytes, nbytes, columns * nbytes]),
    ):
        packed = gather(data, type_name, shape, strides, 0)
        check_all_ops(handle, type_name, wf.strided(data, type_name, shape, strides), packed, "wild", shape)
        view = wf.array_nd(data, type_name, shape)
        count = len(packed) // nbytes
        check_all_ops(handle, type_name, view, data[: len(packed)], "wild", "packed", shape, count)


def test_no_dimensions_is_one_element(handle):
    for type_name in TYPES:
        data = sample(type_name, 1, "wild", seed=9)
        check_all_ops(handle, type_name, wf.strided(data, type_name, [], []), data, "wild", "ndim 0")


def test_sixty_four_dimensions(handle):
    data = sample("f32", 2**12, "wild", seed=10)
    shape = [2 if i % 6 == 0 else 1 for i in range(64)]
    shape[63] = 2
    view = wf.array_nd(data, "f32", shape)
    check_all_ops(handle, "f32", view, data, "wild", shape)


def test_an_empty_dimension_beside_huge_ones(handle):
    for shape in ([2**40, 0, 2**40], [0], [2**62, 2**62, 0], [0, 2**63 - 1]):
        view = wf.array_nd(None, "f64", shape, [8] * len(shape))
        assert handle.reduce("sum", view) == ("f64", 0)
        assert outcome(handle.reduce, "min", view) == "WF_ERROR_EMPTY"


# ---- NaN policies ------------------------------------------------------------------------------------


def first_number(message):
    return [int(number) for number in re.findall(r"\d+", message)]


@pytest.mark.parametrize("type_name", FLOATS)
def test_the_error_names_the_first_nan(handle, type_name):
    for count, first in ((1, 0), (100, 99), (5000, 3777), (40000, 12345), (40000, 39999)):
        elements = [FLOATS[type_name].sign] * count
        elements[first] = elements[-1] = FLOATS[type_name].nan
        view = wf.vector(pack(type_name, elements), type_name)
        for first_index in (0, 10**12):
            for op in (*ops_of(type_name), "dot", "stats"):
                with pytest.raises(wf.WarpfoldError) as caught:
                    if op == "dot":
                        handle.reduce_pair(op, view, view, nan="error", first_index=first_index)
                    elif op == "stats":
                        handle.stats(view, nan="error", first_index=first_index)
                    else:
                        handle.reduce(op, view, nan="error", first_index=first_index)
                assert caught.value.code == "WF_ERROR_NAN"
                assert first + first_index in first_number(caught.value.message), caught.value.message


@pytest.mark.parametrize("type_name", FLOATS)
def test_nothing_left_counts_as_nothing(handle, type_name):
    data = pack(type_name, [FLOATS[type_name].nan] * 77)
    empty = Oracle(type_name, b"")
    for op in ops_of(type_name):
        agree(
            empty.reduce(op),
            outcome(handle.reduce, op, wf.vector(data, type_name), nan="omit"),
            op,
            type_name,
        )


@pytest.mark.parametrize("type_name", FLOATS)
def test_indices_stay_as_they_were(handle, type_name):
    nan, one = FLOATS[type_name].nan, pack_values(type_name, [1])
    one = int.from_bytes(one, "little")
    view = wf.vector(pack(type_name, [nan, nan, one, nan, one]), type_name)
    for op in ("argmin", "argmax"):
        assert handle.reduce(op, view, nan="omit") == ("u64", 2)
        assert handle.reduce(op, view, nan="omit", first_index=40) == ("u64", 42)
        assert handle.reduce(op, view, first_index=40) == ("u64", 40)


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", FLOATS)
def test_a_special_number_at_every_place(handle, type_name):
    """Each of zeros, infinities and NaNs at each index, in an array of -0, of ones, and of anything."""
    count = 37
    form = FLOATS[type_name]
    one = int.from_bytes(pack_values(type_name, [1]), "little")
    for ground in (
        [form.sign] * count,
        [one] * count,
        [int.from_bytes(x, "little") for x in split(type_name, sample(type_name, count, "wild", 11))],
    ):
        for place, value in itertools.product(range(count), specials(type_name)[:5]):
            data = pack(type_name, ground[:place] + [value] + ground[place + 1 :])
            check_all_ops(handle, type_name, wf.vector(data, type_name), data, "special", place, hex(value))


# ---- calls without a handle -----------------------------------------------------------------------------------


@pytest.mark.parametrize("type_name, real", (("f64", ctypes.c_double), ("f32", ctypes.c_float)))
def test_one_line_calls(type_name, real):
    form = FLOATS[type_name]
    code = "<d" if type_name == "f64" else "<f"

    def bits(value):
        return form.nan if value != value else int.from_bytes(struct.pack(code, value), "little")

    for count, flavour in itertools.product((0, 1, 2, 100, 9001), FLAVOURS):
        data, other = (sample(type_name, count, flavour, seed) for seed in (12, 13))
        whole = Oracle(type_name, data)
        pointers = [(real * count).from_buffer_copy(x) for x in (data, other)]
        for op in ("sum", "mean", "var", "std", "norm2", "min", "max", "argmin", "argmax"):
            expected = whole.reduce(op)
            got = getattr(library, f"wf_{op}_{type_name}")(pointers[0], count)
            if op.startswith("arg"):
                assert got == (wf.WF_NO_INDEX if expected == "WF_ERROR_EMPTY" else expected[1]), (
                    op,
                    count,
                    flavour,
                )
            else:
                assert bits(got) == (form.nan if expected == "WF_ERROR_EMPTY" else expected[1]), (
                    op,
                    count,
                    flavour,
                )
        dot = getattr(library, f"wf_dot_{type_name}")(*pointers, count)
        assert bits(dot) == PairOracle(type_name, data, other).reduce()[1], (count, flavour)


@pytest.mark.parametrize("type_name", ("f64", "f32"))
def test_one_line_calls_without_an_array(type_name):
    for op in ("sum", "mean", "var", "std", "norm2", "min", "max"):
        call = getattr(library, f"wf_{op}_{type_name}")
        for bad_count in (1, -1, -(2**63)):
            assert call(None, bad_count) != call(None, bad_count), (op, bad_count)
    assert getattr(library, f"wf_sum_{type_name}")(None, 0) == 0
    assert getattr(library, f"wf_mean_{type_name}")(None, 0) != 0
    for op in ("argmin", "argmax"):
        for bad_count in (0, 1, -1):
            assert getattr(library, f"wf_{op}_{type_name}")(None, bad_count) == wf.WF_NO_INDEX
    dot = getattr(library, f"wf_dot_{type_name}")
    assert dot(None, None, 0) == 0 and dot(None, None, 1) != dot(None, None, 1)


# ---- misuse ------------------------------------------------------------------------------------------


def an_array(type_name="f64", count=3):
    return wf.vector(bytes(nbytes_of(type_name) * count), type_name, count)


def refused(handle, code, error):
    """code is error, and the handle says why."""
    assert wf.ERRORS[code] == error
    assert len(handle.message) > 10


def reduce_value(handle, op, array, value, b=None):
    """The code that wf_reduce_value returns; op by name, or as a wf_reduction."""
    asked = op if isinstance(op, wf.wf_reduction) else wf.reduction(op)
    return library.wf_reduce_value(handle.pointer, byref(asked), byref(array), b, byref(value))


def test_missing_arguments(handle):
    array, asked, dot, value, stats = an_array(), wf.reduction(), wf.reduction("dot"), wf.wf_value(), wf.new_stats()
    all_stats, output = wf.reduction("stats"), wf.wf_output(data=ctypes.addressof(value))
    pointer, a, sum_of, dot_of = handle.pointer, byref(array), byref(asked), byref(dot)
    assert library.wf_reduce_value(None, sum_of, a, None, byref(value)) == wf.WF_ERROR_ARGUMENT
    assert library.wf_reduce(None, sum_of, a, None, None, byref(output)) == wf.WF_ERROR_ARGUMENT
    assert library.wf_handle_create(b"cpu", None) == wf.WF_ERROR_ARGUMENT
    assert library.wf_handle_set_threads(None, 1) == wf.WF_ERROR_ARGUMENT
    calls = [
        lambda: library.wf_reduce_value(pointer, sum_of, None, None, byref(value)),
        lambda: library.wf_reduce_value(pointer, None, a, None, byref(value)),
        lambda: library.wf_reduce_value(pointer, sum_of, a, None, None),
        lambda: library.wf_reduce_value(pointer, sum_of, a, a, byref(value)),
        lambda: library.wf_reduce_value(pointer, dot_of, a, None, byref(value)),
        lambda: library.wf_reduce_value(pointer, dot_of, None, a, byref(value)),
        lambda: library.wf_reduce_value(pointer, dot_of, a, a, None),
        lambda: library.wf_reduce(pointer, None, a, None, None, byref(output)),
        lambda: library.wf_reduce(pointer, sum_of, None, None, None, byref(output)),
        lambda: library.wf_reduce(pointer, sum_of, a, None, None, None),
        lambda: library.wf_reduce(pointer, sum_of, a, None, None, byref(wf.wf_output())),
        lambda: library.wf_reduce(pointer, byref(all_stats), a, None, None, byref(output)),
        lambda: library.wf_reduce_stats(pointer, byref(all_stats), None, byref(stats)),
        lambda: library.wf_reduce_stats(pointer, None, a, byref(stats)),
        lambda: library.wf_reduce_stats(pointer, sum_of, a, byref(stats)),
        lambda: library.wf_reduce_stats(pointer, byref(all_stats), a, None),
        lambda: library.wf_reduce_stats(pointer, byref(all_stats), a, byref(wf.wf_stats())),
        lambda: library.wf_accumulator_create(pointer, sum_of, wf.WF_F64, 0, None, None),
        lambda: library.wf_accumulator_create(pointer, None, wf.WF_F64, 0, None, byref(ctypes.c_void_p())),
        lambda: library.wf_accumulator_add(pointer, None, a, None, None),
        lambda: library.wf_accumulator_merge(pointer, None, None),
        lambda: library.wf_accumulator_result(pointer, None, wf.WF_SUM, byref(output)),
        lambda: library.wf_accumulator_value(pointer, None, wf.WF_SUM, byref(value)),
        lambda: library.wf_accumulator_stats(pointer, None, byref(stats)),
        lambda: library.wf_accumulator_save(pointer, None, None, 0, byref(ctypes.c_size_t())),
        lambda: library.wf_accumulator_load(pointer, None, 10, byref(ctypes.c_void_p())),
    ]
    for call in calls:
        refused(handle, call(), "WF_ERROR_ARGUMENT")
    library.wf_handle_destroy(None)
    library.wf_accumulator_destroy(None)
    assert library.wf_reduce_value(pointer, sum_of, a, None, byref(value)) == wf.WF_OK


def test_nothing_is_written_where_there_is_an_error(handle):
    value = wf.wf_value(type=77)
    value.v.u = 0x1234567890
    empty = an_array(count=0)
    assert reduce_value(handle, "min", empty, value) == wf.WF_ERROR_EMPTY
    assert value.type == 77 and value.v.u == 0x1234567890


def test_bad_arrays(handle):
    def expect(shape=None, **changes):
        array = wf.array_nd(bytes(8), "f64", shape, [8] * len(shape)) if shape else an_array()
        for name, change in changes.items():
            setattr(array, name, change)
        refused(handle, reduce_value(handle, "sum", array, wf.wf_value()), "WF_ERROR_ARGUMENT")

    expect([1], ndim=65)
    expect([1], ndim=-1)
    expect([1], ndim=2**31 - 1)
    expect([-1])
    expect([-(2**63)])
    expect([0, -1])
    expect([-3, -1])
    expect([2**32, 2**32])
    expect([2**62, 2**62, 16])
    expect(count=-1)
    expect(count=-(2**63))
    expect(count=2**60)
    expect(data=None)
    expect(type=0)
    expect(type=len(wf.TYPES))
    expect(type=-1)
    too_many = wf.array_nd(bytes(8), "f64", [1] * 65)
    refused(handle, reduce_value(handle, "sum", too_many, wf.wf_value()), "WF_ERROR_ARGUMENT")
    no_shape = library.wf_array_nd(bytes(8), wf.WF_F64, 1, None, None)
    refused(handle, reduce_value(handle, "sum", no_shape, wf.wf_value()), "WF_ERROR_ARGUMENT")


def test_bad_reductions(handle):
    array, value = an_array(), wf.wf_value()
    for name, bad, error in (
        ("nan", 3, "WF_ERROR_ARGUMENT"),
        ("nan", -1, "WF_ERROR_ARGUMENT"),
        ("result_type", len(wf.TYPES), "WF_ERROR_ARGUMENT"),
        ("result_type", -1, "WF_ERROR_ARGUMENT"),
        ("ddof", -1, "WF_ERROR_ARGUMENT"),
        ("first_index", -1, "WF_ERROR_ARGUMENT"),
        ("flags", 2, "WF_ERROR_ARGUMENT"),
        ("fill", ctypes.pointer(value), "WF_ERROR_ARGUMENT"), # of no type
        ("nbytes", 0, "WF_ERROR_ARGUMENT"),
        ("nbytes", ctypes.sizeof(wf.wf_reduction) - 1, "WF_ERROR_ARGUMENT"),
        ("nbytes", 2**64 - 1, "WF_ERROR_ARGUMENT"),
    ):
        for op in ("sum", "var", "argmin"):
            asked = wf.reduction(op)
            setattr(asked, name, bad)
            refused(handle, reduce_value(handle, asked, array, value), error)
    refused(handle, library.wf_handle_set_threads(handle.pointer, -1), "WF_ERROR_ARGUMENT")


class later_reduction(ctypes.Structure):
    """A wf_reduction of a later version, with a field that this one does not know."""

    _fields_ = [("known", wf.wf_reduction), ("unknown", ctypes.c_uint64)]


def test_a_reduction_of_a_later_version(handle):
    array, value = an_array(), wf.wf_value()
    later = later_reduction(known=wf.reduction("sum"))
    later.known.nbytes = ctypes.sizeof(later)
    assert reduce_value(handle, later.known, array, value) == wf.WF_OK
    later.unknown = 1
    refused(handle, reduce_value(handle, later.known, array, value), "WF_ERROR_ARGUMENT")


# ---- outputs -----------------------------------------------------------------------------------------


def reduce_to(handle, op, array, output, **chosen):
    return library.wf_reduce(
        handle.pointer, byref(wf.reduction(op, **chosen)), byref(array), None, None, byref(output))


@pytest.mark.parametrize("type_name", TYPES)
def test_outputs_hold_one_element(handle, type_name):
    """What wf_reduce writes is the element of the result type that wf_reduce_value returns, and no byte more."""
    data = sample(type_name, 100, "special", seed=30)
    view = wf.vector(data, type_name)
    for op in ops_of(type_name):
        if op == "dot":
            continue
        memory, status = (ctypes.c_uint64 * 2)(0xA5A5A5A5A5A5A5A5, 0xA5A5A5A5A5A5A5A5), ctypes.c_int32(77)
        output = wf.wf_output(data=ctypes.addressof(memory), status=ctypes.addressof(status))
        code = reduce_to(handle, op, view, output, nan="omit")
        assert status.value == code
        expected = outcome(handle.reduce, op, view, nan="omit")
        if code:
            assert wf.ERRORS[code] == expected and set(memory) == {0xA5A5A5A5A5A5A5A5}
            continue
        number = wf.TYPE_BY_NAME[expected[0]]
        nbytes = library.wf_type_nbytes(number)
        assert memory[0] >> 8 * nbytes == 0xA5A5A5A5A5A5A5A5 >> 8 * nbytes and memory[1] == 0xA5A5A5A5A5A5A5A5
        assert wf.value_bits(wf.value_of_bits(number, memory[0] % 256**nbytes)) == expected, op


def test_an_output_names_the_result_type(handle):
    array, memory = wf.vector(struct.pack("<3f", 1, 1, 1), "f32"), ctypes.c_double()
    output = wf.wf_output(data=ctypes.addressof(memory), type=wf.WF_F64)
    assert reduce_to(handle, "sum", array, output) == wf.WF_OK and memory.value == 3
    refused(handle, reduce_to(handle, "sum", array, output, result_type="f32"), "WF_ERROR_ARGUMENT")
    output.ndim = 1
    refused(handle, reduce_to(handle, "sum", array, output), "WF_ERROR_ARGUMENT")


def test_ops_that_do_not_exist_here(handle):
    array, value = an_array(), wf.wf_value()
    for type_name, op in itertools.product(FLOATS, BITWISE):
        view = an_array(type_name)
        refused(
            handle,
            reduce_value(handle, op, view, value),
            "WF_ERROR_UNSUPPORTED",
        )
    for op in (0, -1, len(wf.OPS), 10**6):
        refused(handle, reduce_value(handle, wf.reduction(op), array, value), "WF_ERROR_ARGUMENT")
    for op in ("dot", "stats"):
        assert outcome(handle.reduce, op, array) in ("WF_ERROR_ARGUMENT", "WF_ERROR_UNSUPPORTED")
    for op in ("sum", "stats"):
        assert outcome(handle.reduce_pair, op, array, array) in ("WF_ERROR_ARGUMENT", "WF_ERROR_UNSUPPORTED")


def test_pairs_that_do_not_fit(handle):
    for a, b in (
        (an_array("f64"), an_array("f32")),
        (an_array("u8"), an_array("i8")),
        (an_array(count=3), an_array(count=4)),
        (an_array(count=6), wf.strided(bytes(48), "f64", [2, 3], [24, 8])),
        (wf.strided(bytes(48), "f64", [3, 2], [16, 8]), wf.strided(bytes(48), "f64", [2, 3], [24, 8])),
    ):
        assert outcome(handle.reduce_pair, "dot", a, b) == "WF_ERROR_ARGUMENT"


def test_messages_are_printable():
    """A name is data: no line break and no escape of it reaches a terminal."""
    text = ctypes.create_string_buffer(512)
    assert library.wf_device_describe("a\nwarpfold: b\x1b[31m".encode(), text, len(text)) == wf.WF_ERROR_DEVICE
    assert "'a\\nwarpfold: b\\x1b[31m'" in text.value.decode()


def test_devices():
    assert wf.Handle("cpu").device.startswith("cpu")
    assert wf.Handle(None).device and wf.Handle("auto").device
    for device in ("", "gpu", "cpu:0", "cuda:99", "CPU"):
        with pytest.raises(wf.WarpfoldError) as caught:
            wf.Handle(device)
        assert caught.value.code == "WF_ERROR_DEVICE"
    assert wf.Handle().message == ""
