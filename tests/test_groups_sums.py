"""Sums and means of groups that share work: windows of many rows or columns, a few rows in registers.  Each result is the oracle's
for the elements of its group alone."""

import functools
import itertools
import random
import struct
from ctypes import byref
from fractions import Fraction

import pytest

import warpfold_ctypes as wf
from group_helpers import (  # noqa: F401: handle is a fixture
    Groups, as_returned, handle, integer_vector, laid_down_and_along, returned, transposed)
from oracle import FLOATS, INTEGERS, TYPECODES, Oracle
from samples import nearest, nearest_to_double, pack, sample, specials, split

library = wf.library


def mixed(type_name, rows, columns, rng):
    """Rows of elements whose kind changes from one stretch of columns to the next, and somewhere down the rows."""
    nbytes = struct.calcsize(TYPECODES[type_name])
    minus_zero, tiny = b"\0" * (nbytes - 1) + b"\x80", b"\1" + b"\0" * (nbytes - 1)

    def stretch(kind, count):
        fixed = {"minus zeros": minus_zero, "zeros": bytes(nbytes), "tiny": tiny}
        return fixed[kind] * count if kind in fixed else sample(type_name, count, kind, seed=rng.random())

    kinds, widths = ["plain", "plain", "plain", "unit", "wild", "special", "minus zeros", "zeros", "tiny"], []
    while sum(widths) < columns:
        widths.append(min(rng.choice([1, 3, 40, 200]), columns - sum(widths)))
    upper, lower = ([rng.choice(kinds) for _ in widths] for _ in range(2))
    lower = [below if rng.random() < 0.3 else above for above, below in zip(upper, lower)]
    change = rng.randint(0, rows)
    return b"".join(stretch(kind, width) for row in range(rows)
                    for kind, width in zip(upper if row < change else lower, widths))


def columns_alone(handle, op, type_name, data, shape):
    """What each column gives as an array of its own, which takes another way."""
    nbytes = struct.calcsize(TYPECODES[type_name])
    return [handle.reduce(op, wf.strided(data, type_name, shape[:1], (shape[1] * nbytes,), c * nbytes))
            for c in range(shape[1])]


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", FLOATS)
@pytest.mark.parametrize("rows,columns", [(2, 1100), (5, 330), (41, 129), (520, 34), (37, 1), (301, 7), (2100, 5)])
def test_groups_that_share_a_window(handle, type_name, rows, columns):
    """Panels of columns and the same groups as rows: what a window does not cover is found otherwise, to the same bits."""
    rng, nbytes = random.Random(f"window {type_name} {rows} {columns}"), struct.calcsize(TYPECODES[type_name])
    plain = sample(type_name, rows * columns, "plain", seed=rng.random())
    for data in (mixed(type_name, rows, columns, rng), plain):
        turned = transposed(data, rows, columns, nbytes)
        for op in ("sum", rng.choice(["norm1", "mean"])):
            expected = columns_alone(handle, op, type_name, data, (rows, columns))
            down = wf.strided(data, type_name, (rows, columns), (columns * nbytes, nbytes))
            along = wf.strided(turned, type_name, (columns, rows), (rows * nbytes, nbytes))
            threads = rng.choice([1, 2])
            assert handle.reduce_groups(op, library.wf_groups_axes(1), down, threads=threads) == expected
            assert handle.reduce_groups(op, library.wf_groups_axes(2), along, threads=threads) == expected
            some = rng.randrange(columns)
            cells = b"".join(data[(r * columns + some) * nbytes:][:nbytes] for r in range(rows))
            assert Oracle(type_name, cells).reduce(op) == expected[some]


@pytest.mark.parametrize("type_name", ["f16", "bf16"])
def test_columns_after_others_of_a_wider_type(handle, type_name):
    """What these had, as far as the narrow type has no such exponents, is not expected of its columns."""
    rows, columns = 520, 7
    for each in ("f64", type_name):
        nbytes, data = struct.calcsize(TYPECODES[each]), sample(each, rows * columns, "wild", seed=f"wider {each}")
        down = wf.strided(data, each, (rows, columns), (columns * nbytes, nbytes))
        columns_of = [b"".join(data[(r * columns + c) * nbytes:][:nbytes] for r in range(rows)) for c in range(columns)]
        assert handle.reduce_groups("sum", library.wf_groups_axes(1), down) == [Oracle(each, cells).reduce("sum") for cells in columns_of]


@pytest.mark.parametrize("type_name", ["f32", "f64"])
@pytest.mark.parametrize("rows,columns", [(2, 1100), (41, 129), (520, 34), (301, 7), (2100, 5)])
def test_groups_of_subnormals(handle, type_name, rows, columns):
    """Only such, or with a column or a row of others: what a window takes is scaled."""
    rng, form, nbytes = random.Random(f"subnormal {rows} {columns}"), FLOATS[type_name], struct.calcsize(TYPECODES[type_name])
    lead = 1 << form.precision - 1
    bits = [rng.randrange(rng.choice([2, 100, lead, 30 * lead])) | rng.choice([0, form.sign]) for _ in range(rows * columns)]
    others = list(bits)
    others[columns - 1::columns] = [form.sign] * rows
    others[-columns // 2] = rng.choice([form.infinity - 1, form.nan, form.infinity])
    for elements in (bits, others):
        data = pack(type_name, elements)
        turned = transposed(data, rows, columns, nbytes)
        down = wf.strided(data, type_name, (rows, columns), (columns * nbytes, nbytes))
        along = wf.strided(turned, type_name, (columns, rows), (rows * nbytes, nbytes))
        for op in ("sum", "norm1", "var"):
            expected = columns_alone(handle, op, type_name, data, (rows, columns))
            assert handle.reduce_groups(op, library.wf_groups_axes(1), down, threads=1) == expected, op
            assert handle.reduce_groups(op, library.wf_groups_axes(2), along, threads=1) == expected, op
            for some in (rng.randrange(columns), columns - 1):
                cells = b"".join(data[(r * columns + some) * nbytes:][:nbytes] for r in range(rows))
                assert Oracle(type_name, cells).reduce(op) == expected[some], op


def few_rows(type_name, rows, columns, rng):
    """Columns that registers take, and some whose elements or results need more: infinite, tiny, of all exponents."""
    kinds = {"odd": mixed(type_name, rows, columns, rng)}
    for kind in ("plain", "unit", "wild"):
        kinds[kind] = sample(type_name, rows * columns, kind, seed=rng.random())
    nbytes = struct.calcsize(TYPECODES[type_name])
    large, low = FLOATS[type_name].infinity - 1, rng.randrange(3)
    kinds["edges"] = b"".join(rng.choice([large, large ^ FLOATS[type_name].sign, low, 1]).to_bytes(nbytes, "little")
                              for _ in range(rows * columns))
    return kinds


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", FLOATS)
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 7, 8, 9, 16, 33, 63, 64, 300])
def test_few_rows(handle, type_name, rows):
    """Sums, quotients and variances of a few rows, found in registers or not: the bits of each column by itself."""
    rng, columns, nbytes = random.Random(f"few {type_name} {rows}"), 150, struct.calcsize(TYPECODES[type_name])
    for kind, data in few_rows(type_name, rows, columns, rng).items():
        down = wf.strided(data, type_name, (rows, columns), (columns * nbytes, nbytes))
        along = wf.strided(transposed(data, rows, columns, nbytes), type_name, (columns, rows), (rows * nbytes, nbytes))
        ddof, some = rng.randrange(min(rows, 3)), rng.randrange(columns)
        cells = b"".join(data[(r * columns + some) * nbytes:][:nbytes] for r in range(rows))
        for op in ("sum", "mean", "norm2", rng.choice(["norm1", "var"]), rng.choice(["var", "std"])):
            expected = [handle.reduce(op, wf.strided(data, type_name, (rows,), (columns * nbytes,), c * nbytes), ddof=ddof)
                        for c in range(columns)]
            for axis, array in ((0, down), (1, along)):
                assert handle.reduce_groups(op, library.wf_groups_axes(1 << axis), array, ddof=ddof) == expected, (kind, op)
            assert Oracle(type_name, cells).reduce(op, ddof=ddof) == expected[some]


def half_way_columns(type_name, rows, divisor):
    """Columns whose sum is `divisor` times what is half-way between two floats, but for elements that are far smaller, of either
    sign, and of which the least are lost beside the others."""
    form, rng, columns = FLOATS[type_name], random.Random(f"half-way {type_name} {rows} {divisor}"), []
    for _ in range(130):
        odd = rng.randrange(1, 2**form.precision // divisor, 2)
        beside = [(-1)**rng.randrange(2) * Fraction(2)**rng.randint(form.lowest, -form.precision - 3) for _ in range(rows - 2)]
        values = [Fraction(divisor), odd * divisor * Fraction(2)**-form.precision, *beside]
        sign = rng.choice([-1, 1])
        columns.append(pack(type_name, [nearest(type_name, sign * value) for value in rng.sample(values, rows)]))
    return columns


@pytest.mark.sampled
@pytest.mark.parametrize("rows", [3, 4, 5, 9, 40])
@pytest.mark.parametrize("type_name", FLOATS)
def test_columns_beside_half_way(handle, type_name, rows):
    """However small they are, the other elements tell on which side the result is."""
    nbytes = struct.calcsize(TYPECODES[type_name])
    for op, divisor in (("sum", 1), ("norm1", 1), ("mean", rows)):
        columns = half_way_columns(type_name, rows, divisor)
        down = wf.strided(transposed(b"".join(columns), len(columns), rows, nbytes), type_name, (rows, len(columns)),
                          (len(columns) * nbytes, nbytes))
        expected = as_returned([Oracle(type_name, x).reduce(op) for x in columns], op, type_name)
        assert returned(handle, op, library.wf_groups_axes(1), [down]) == expected, op


def odd_column(kind, type_name, rows, rng):
    """A column that is not like the others: the bits of its elements."""
    form = FLOATS[type_name]
    largest, one, least = form.infinity - 1, nearest(type_name, 1.0), 1
    column = [nearest_to_double(type_name, rng.gauss(0, 1)) for _ in range(rows)]
    places = rng.sample(range(rows), 2)
    if kind == "-0":
        column = [form.sign] * rows
    elif kind == "0":
        column = [form.sign] * (rows - 1) + [0]
    elif kind == "cancels":
        half = column[:rows // 2]
        column = [*half, *[bits ^ form.sign for bits in half], *[0] * (rows - 2 * len(half))]
    elif kind == "overflows":
        column = [largest if r % 2 else one for r in range(rows)]
    else:
        values = {"large": (largest, one), "cancels late": (largest, largest ^ form.sign), "small": (least, least),
                  "infinite": (form.infinity, one), "no number": (form.infinity, form.infinity | form.sign),
                  "NaN": (form.nan | form.sign, form.infinity)}[kind]
        for place, bits in zip(places, values):
            column[place] = bits
    return column


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", FLOATS)
@pytest.mark.parametrize("rows", [3, 20, 70, 300])
def test_columns_of_which_few_are_odd(handle, type_name, rows):
    """Sums and means of more columns than a panel has; of a few the sum is not what that of the others is found by."""
    rng, columns = random.Random(f"odd columns {type_name} {rows}"), 1100
    kinds = [["-0", "0", "cancels"], ["large", "cancels late"], ["small"], ["overflows"], ["infinite", "no number", "NaN"]]
    nbytes = struct.calcsize(TYPECODES[type_name])
    plain = [[nearest(type_name, rng.gauss(0, 100)) for _ in range(rows)] for _ in range(7)]
    for some in [*kinds, [*itertools.chain(*kinds)]]:
        odd = {rng.randrange(columns): odd_column(kind, type_name, rows, rng) for kind in some}
        cells = [odd.get(c, plain[c % 7]) for c in range(columns)]
        data = pack(type_name, [column[r] for r in range(rows) for column in cells])
        array = wf.strided(data, type_name, (rows, columns), (columns * nbytes, nbytes))
        for op in ("sum", "mean", "norm1"):
            results = [Oracle(type_name, pack(type_name, column)).reduce(op) for column in (*plain, *odd.values())]
            of_odd = dict(zip(odd, results[7:]))
            expected = as_returned([of_odd.get(c, results[c % 7]) for c in range(columns)], op, type_name)
            assert returned(handle, op, library.wf_groups_axes(1), [array]) == expected, (some, op)


def integers_of_kinds(type_name, count, rng):
    """Elements of every size, the ends of the range, and of 64 bits such as have sums that fit but are no f64."""
    nbytes = struct.calcsize(TYPECODES[type_name])
    least = 1 << 8 * nbytes - 1 if type_name.startswith("i") else 0
    ends = [end.to_bytes(nbytes, "little") for end in (least, least ^ (1 << 8 * nbytes) - 1)]
    signs = [1, -1] if type_name.startswith("i") else [1]
    yield "any", rng.randbytes(nbytes * count)
    yield "ends", b"".join(rng.choices(ends, k=count))
    yield "first end", ends[0] * count
    yield "last end", ends[1] * count
    if nbytes == 8:
        yield "large", pack(type_name, [rng.randrange(2**54) * rng.choice(signs) for _ in range(count)])


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", INTEGERS)
@pytest.mark.parametrize("rows,columns", [(1, 64), (2, 130), (9, 75), (47, 64), (300, 65)])
def test_sums_of_integers(handle, type_name, rows, columns):
    """Sums and means of columns and of rows, of which those of 64 bits are more than an f64 has, or than fits."""
    rng, nbytes = random.Random(f"integers {type_name} {rows}"), struct.calcsize(TYPECODES[type_name])
    for kind, data in integers_of_kinds(type_name, rows * columns, rng):
        turned = transposed(data, rows, columns, nbytes)
        down = wf.strided(data, type_name, (rows, columns), (columns * nbytes, nbytes))
        along = wf.strided(turned, type_name, (columns, rows), (rows * nbytes, nbytes))
        offsets = [0, *sorted(rng.randrange(rows * columns) for _ in range(columns)), rows * columns]
        labels = integer_vector(offsets, "i64", 1)
        pieces = library.wf_groups_segments(0, columns + 1, byref(labels))
        cells = [Oracle(type_name, turned[c * rows * nbytes:(c + 1) * rows * nbytes]) for c in range(columns)]
        parts = [Oracle(type_name, data[a * nbytes:b * nbytes]) for a, b in itertools.pairwise(offsets)]
        for op in ("sum", "mean", "norm1"):
            expected = as_returned([oracle.reduce(op) for oracle in cells], op, type_name)
            for axis, array in ((0, down), (1, along)):
                assert returned(handle, op, library.wf_groups_axes(1 << axis), [array]) == expected, (kind, op, axis)
            of_parts = as_returned([oracle.reduce(op) for oracle in parts], op, type_name)
            assert returned(handle, op, pieces, [wf.vector(data, type_name)]) == of_parts, (kind, op)


def rows_of_which_one_is_odd(type_name, odd, rows, length, rng):
    """Small numbers of few bits, whose sums are exact; and in one row, at its end, what is no number, or decides which of the two
    that its other elements' sum lies half-way between is nearer."""
    values = [nearest_to_double(type_name, rng.choice([1, -1]) * rng.randint(1, 9) / 8) for _ in range(rows * length)]
    at = rng.randrange(rows) * length
    special = dict(zip(("zero", "minus zeros", "infinity", "minus infinity", "NaN"), specials(type_name)), tiny=1)
    if odd in ("minus zeros", "tiny"):
        values[at:at + length] = [special["minus zeros"]] * length
    if odd == "tiny":
        values[at:at + 2] = [nearest_to_double(type_name, 2.0 ** power) for power in (FLOATS[type_name].precision, 0)]
    if odd not in ("minus zeros", "none"):
        values[at + length - 1] = special[odd]
    return pack(type_name, values)


@pytest.mark.sampled
@pytest.mark.parametrize("odd", ["none", "tiny", "minus zeros", "infinity", "NaN"])
@pytest.mark.parametrize("type_name", FLOATS)
def test_rows_of_which_one_is_odd(handle, type_name, odd):
    rng, nbytes = random.Random(f"odd row {type_name} {odd}"), struct.calcsize(TYPECODES[type_name])
    for rows, length in ((9, 24), (17, 31), (8, 100), (3, 515), (2, 2048), (70, 13)):
        data = rows_of_which_one_is_odd(type_name, odd, rows, length, rng)
        array = wf.strided(data, type_name, (rows, length), (length * nbytes, nbytes))
        labels = integer_vector(range(0, rows * length + 1, length), "i64", 1)
        groups_of = Groups(type_name, [data[r * length * nbytes:(r + 1) * length * nbytes] for r in range(rows)])
        segments = library.wf_groups_segments(0, rows, byref(labels))
        for op in ("sum", "norm1", "mean"):
            expected = as_returned(groups_of.reduce(op), op, type_name)
            assert returned(handle, op, library.wf_groups_axes(2), [array]) == expected, (op, rows, length)
            vector = wf.strided(data, type_name, (rows * length,), (nbytes,))
            assert returned(handle, op, segments, [vector]) == expected, (op, rows, length)


@pytest.mark.parametrize("type_name", FLOATS)
def test_segments_that_share_a_window(handle, type_name):
    """Segments of 0 to 2100 elements, of all kinds."""
    rng, nbytes = random.Random(f"segments of a window {type_name}"), struct.calcsize(TYPECODES[type_name])
    lengths = [rng.choice([0, 1, 2, 5, 30, rng.randrange(150), 700, 2100]) for _ in range(60)]
    data = mixed(type_name, 1, sum(lengths), rng)
    offsets = [0, *itertools.accumulate(lengths)]
    labels = integer_vector(offsets, "i64", 1)
    groups = library.wf_groups_segments(0, len(lengths), byref(labels))
    array = wf.strided(data, type_name, (sum(lengths),), (nbytes,))
    for op in ("sum", "norm1", "mean"):
        expected = [Oracle(type_name, data[a * nbytes:b * nbytes]).reduce(op) for a, b in zip(offsets, offsets[1:])]
        assert returned(handle, op, groups, [array]) == as_returned(expected, op, type_name)


@pytest.mark.parametrize("op", ["sum", "mean"])
@pytest.mark.parametrize("type_name", ["f32", "f64"])
def test_pairs_of_rows(handle, type_name, op):
    """Two elements are one addition: every special one with every other, the smallest and largest, numbers that cancel, more
    than a thread's share."""
    nbytes = struct.calcsize(TYPECODES[type_name])
    form = FLOATS[type_name]
    ends = [1, 3, form.infinity - 1, form.infinity - 2, form.infinity - 1 | form.sign]
    each, wild = pack(type_name, specials(type_name) + ends), sample(type_name, 800, "wild")
    pieces = [[data[i:i + nbytes] for i in range(0, len(data), nbytes)] for data in (each, wild)]
    pairs = [*itertools.product(pieces[0], repeat=2), *zip(pieces[1][::2], pieces[1][1::2])]
    rows, count = [b"".join(row) for row in zip(*pairs)], len(pairs)
    expected = as_returned([Oracle(type_name, x + y).reduce(op) for x, y in pairs], op, type_name)
    for padding in (0, nbytes):
        data = rows[0] + bytes(padding) + rows[1]
        view = wf.strided(data, type_name, (2, count), (len(rows[0]) + padding, nbytes))
        assert returned(handle, op, library.wf_groups_axes(1), [view], threads=2) == expected
    times = (1 << 17) // count + 1
    many = wf.strided(rows[0] * times + rows[1] * times, type_name, (2, count * times), (len(rows[0]) * times, nbytes))
    assert returned(handle, op, library.wf_groups_axes(1), [many], threads=3) == expected * times


def any_column(type_name, count, rng):
    """All exponents; infinities, a NaN or both; what exceeds the largest result; only zeros; almost cancelled; equal, or small
    integers, whose variances are often half-way between two floats."""
    form = FLOATS[type_name]
    kind = rng.choice(["wild"] * 4 + ["infinite", "nan", "largest", "zeros", "cancelled", "equal", "integers", "far integers"])
    if kind == "equal":
        return split(type_name, sample(type_name, 1, "wild", rng.random()))[0] * count
    if kind.endswith("integers"):
        far = 64 if kind == "far integers" else 0
        return pack(type_name, [nearest_to_double(type_name, far + rng.randrange(16)) for _ in range(count)])
    data = split(type_name, sample(type_name, count, "wild", rng.random()))
    some = {"infinite": [form.infinity] * 2 + [form.infinity | form.sign], "nan": [form.nan, form.infinity],
            "largest": [form.infinity - 1], "zeros": [0, form.sign]}.get(kind)
    if kind in ("largest", "zeros"):
        return pack(type_name, rng.choices(some[:rng.randint(1, 2)], k=count))
    if kind == "cancelled":
        left = [int.from_bytes(element, "little") for element in data[:count // 2]]
        return pack(type_name, [*left, *(bits ^ form.sign for bits in left), *[1] * (count % 2)])
    for _ in range(rng.randint(1, 2) if some else 0):
        data[rng.randrange(count)] = pack(type_name, [rng.choice(some)])
    return b"".join(data)


@functools.lru_cache(1)
def columns_of_any_range(type_name):
    """(op, policy, views, results) of columns that no window takes, in strips that are full and in others."""
    rng, cases = random.Random(f"any range {type_name}"), []
    for count, groups in ((4, 300), (40, 70), (600, 66)):
        columns = [any_column(type_name, count, rng) for _ in range(groups)]
        others = columns[1:] + columns[:1]
        views = [laid_down_and_along(type_name, side)[0] for side in (columns, others)]
        groups_of = Groups(type_name, columns, others)
        for op, nan in itertools.product(("sum", "mean", "norm1", "norm2", "var", "std", "dot"), ("propagate", "omit")):
            expected = as_returned(groups_of.reduce(op, nan=nan), op, type_name)
            cases.append((op, nan, views[:2 if op == "dot" else 1], expected))
    return cases


@pytest.mark.parametrize("type_name", FLOATS)
def test_columns_of_any_range(handle, type_name):
    """Sums, means, variances, norms and dot products whose columns are read in place, whatever they hold."""
    for op, nan, views, expected in columns_of_any_range(type_name):
        for threads in (1, 2):
            assert returned(handle, op, library.wf_groups_axes(1), views, nan=nan, threads=threads) == expected, (op, nan)


def test_means_that_vanish_keep_their_sign(handle):
    """What is left of terms that cancel is below what an f32 can be, and so is what a sum of two f64 has lost of them."""
    for count, sign in itertools.product((70, 300), (1, -1)):
        terms = [2.0**127, 2.0**60, sign * 3 * 2.0**-149, -2.0**60, -2.0**127, -sign * 2.0**-149]
        column = [nearest("f32", Fraction(terms[i // 8] if i % 8 == 0 and i < 48 else 0)) for i in range(count)]
        views = laid_down_and_along("f32", [pack("f32", column)] * 66)
        expected = [("f32", 0 if sign > 0 else FLOATS["f32"].sign)] * 66
        for axis in (0, 1):
            assert handle.reduce_groups("mean", library.wf_groups_axes(1 << axis), views[axis]) == expected, (axis, sign)
