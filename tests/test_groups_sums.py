"""Groups whose sums or products share work: windows of many rows or columns, products of few rows, packed tiles.
Each result is the oracle's for the elements of its group alone."""

import ctypes
import functools
import itertools
import math
import mmap
import random
import struct
from ctypes import byref
from fractions import Fraction

import pytest

import warpfold_ctypes as wf
from group_helpers import (  # noqa: F401: handle is a fixture
    Groups, Laid, as_returned, expected_results, handle, indices_along_axes, indices_of_positions, integer_vector, operands,
    ops_for, returned, transposed)
from oracle import FLOATS, INTEGERS, TYPECODES, Oracle, PairOracle, ops_of
from samples import nearest, nearest_to_double, pack, pack_values, sample, specials, split

TYPES = [*INTEGERS, *FLOATS]
library = wf.library


# ---- sums of many rows, or columns, that share a window ----------------------------------------------------


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


@pytest.mark.parametrize("type_name", TYPES)
def test_the_first_extreme_of_rows(handle, type_name):
    """Rows in which the extreme stands at several places: the first is found, in whichever piece of the row."""
    rng, nbytes = random.Random(f"first {type_name}"), struct.calcsize(TYPECODES[type_name])
    one, zero = pack(type_name, [nearest(type_name, 1) if type_name in FLOATS else 1]), bytes(nbytes)
    for length in (193, 256, 320, 1000, 2048):
        places = [sorted(rng.sample(range(length), rng.choice([1, 2, 5]))) for _ in range(70)]
        places += [[0, length - 1], [length - 1], [length - 2, length - 1]]
        for op, usual, best in (("argmax", zero, one), ("argmin", one, zero)):
            rows = [b"".join(best if i in where else usual for i in range(length)) for where in map(set, places)]
            array = wf.strided(b"".join(rows), type_name, (len(rows), length), (length * nbytes, nbytes))
            assert handle.reduce_groups(op, library.wf_groups_axes(2), array) == [("u64", where[0]) for where in places]


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


def column_with_specials(type_name, c, rows, rng):
    """Numbers, of which one is special, or a few, every other or all; beside them numbers, or zeros of either sign alone."""
    values = [nearest_to_double(type_name, rng.choice([1, -1]) * (1 + rng.random())) for _ in range(rows)]
    zeros, special = [nearest(type_name, 0), specials(type_name)[1]], specials(type_name)
    if c % 4 == 3:
        values = [rng.choice(zeros[c % 8 // 4:]) for _ in range(rows)]
    if c % 7 == 1:
        values[c * 5 % rows] = special[c % len(special)]
    elif c % 7 in (2, 3):
        for _ in range(1 + rows // 50):
            values[rng.randrange(rows)] = rng.choice(special)
    elif c % 7 == 4:
        values[::2] = [special[-1 - c % 2]] * len(values[::2])
    elif c % 7 == 5:
        values = [special[-1 - c % 2]] * rows
    return pack(type_name, values)


@pytest.mark.sampled
@pytest.mark.parametrize("rows,columns", [(300, 65), (70, 131), (1100, 9), (3, 200), (20, 67)])
@pytest.mark.parametrize("type_name", FLOATS)
def test_sums_of_columns_with_specials(handle, type_name, rows, columns):
    """Infinities and NaNs, in any row and any lane, are taken out of columns and added to nobody else's."""
    rng, nbytes = random.Random(f"specials {type_name} {rows}"), struct.calcsize(TYPECODES[type_name])
    x, y = ([column_with_specials(type_name, c * step, rows, rng) for c in range(columns)] for step in (1, 3))
    arrays = [wf.strided(bytes(before) + transposed(b"".join(data), columns, rows, nbytes), type_name, (rows, columns),
                         (columns * nbytes, nbytes), before) for data, before in ((x, nbytes), (y, 1))]
    groups_of = Groups(type_name, x, y)
    for op, nan in itertools.product(("sum", "mean", "var", "norm1", "norm2", "dot"), ("omit", "propagate", "error")):
        alone = groups_of.reduce(op, nan=nan)
        given = arrays if op == "dot" else arrays[:1]
        assert returned(handle, op, library.wf_groups_axes(1), given, nan=nan) == as_returned(alone, op, type_name), (op, nan)


def column_with_nans(type_name, c, rows, rng):
    """Numbers with NaNs that are one, every other, all but one, all, or of any number; or none; some with zeros of either sign alone,
    some with an infinity, some over many binades."""
    form, nans = FLOATS[type_name], specials(type_name)[4:]
    spread = {"f16": 12, "bf16": 100, "f32": 100, "f64": 900}.get(type_name, 12) if c % 11 == 6 else 1
    values = [nearest_to_double(type_name, rng.choice([1, -1]) * (1 + rng.random()) * 2.0**rng.randint(-spread, spread))
              for _ in range(rows)]
    if c % 5 == 3:
        values = [rng.choice([0, form.sign][c % 2:]) for _ in range(rows)]
    at = {1: [c * 5 % rows], 2: range(c % 2, rows, 2), 3: [r for r in range(rows) if r != c % rows], 4: range(rows),
          5: [r for r in range(rows) if rng.random() < 0.1]}.get(c % 8, [])
    for r in at:
        values[r] = rng.choice(nans)
    if c % 13 == 7:
        values[c % rows] = rng.choice([form.infinity, form.infinity | form.sign])
    return pack(type_name, values)


@functools.lru_cache(1)
def columns_with_nans(type_name, rows, columns):
    """(op, what is chosen, views, results) of columns and pairs of them, of which each view is another layout."""
    rng, nbytes = random.Random(f"left out {type_name} {rows}"), struct.calcsize(TYPECODES[type_name])
    x, y = ([column_with_nans(type_name, c * step, rows, rng) for c in range(columns)] for step in (1, 3))
    down = [wf.strided(bytes(before) + transposed(b"".join(data), columns, rows, nbytes), type_name, (rows, columns),
                       (columns * nbytes, nbytes), before) for data, before in ((x, 1), (y, nbytes))]
    along = [wf.strided(b"".join(data), type_name, (columns, rows), (rows * nbytes, nbytes)) for data in (x, y)]
    one = (type_name, nearest(type_name, 1))
    asked = [*((op, 0) for op in ("sum", "norm1", "norm2", "dot", "mean", "var", "std", "nonzero", "any", "all")), ("var", 1), ("std", 2)]
    found, groups_of = [], Groups(type_name, x, y)
    for (op, ddof), nan in itertools.product(asked, ("omit", "propagate", "error")):
        chosen = {"nan": nan, **({"ddof": ddof} if ddof else {})}
        alone = groups_of.reduce(op, **chosen)
        given, cases = slice(2 if op == "dot" else 1), [(chosen, alone)]
        if "WF_ERROR_EMPTY" in alone and nan == "omit":
            fill = wf.value_of_bits(getattr(wf, f"WF_{type_name.upper()}"), one[1])
            cases.append(({**chosen, "fill": fill}, [one if result == "WF_ERROR_EMPTY" else result for result in alone]))
        found += [(op, how, (down[given], along[given]), as_returned(list(results), op, type_name)) for how, results in cases]
    return found


@pytest.mark.sampled
@pytest.mark.parametrize("rows,columns", [(1, 131), (2, 129), (3, 200), (5, 40), (16, 67), (63, 70), (64, 65), (130, 65), (300, 64),
                                          (520, 66), (9, 7)])
@pytest.mark.parametrize("type_name", FLOATS)
def test_nans_left_out_of_columns_and_rows(handle, type_name, rows, columns):
    """In any lane and row, alone or with others, of wide and narrow arrays; what is left may be nothing, or too little."""
    for op, chosen, (down, along), expected in columns_with_nans(type_name, rows, columns):
        assert returned(handle, op, library.wf_groups_axes(1), down, **chosen) == expected, (op, chosen)
        assert returned(handle, op, library.wf_groups_axes(2), along, **chosen) == expected, (op, chosen)


@functools.lru_cache(1)
def any_floats(type_name, rows):
    """Columns of any bits, of large, small or subnormal numbers, or of neighbours; some with a NaN or an infinity."""
    form, rng = FLOATS[type_name], random.Random(f"any floats {type_name} {rows}")
    unit, columns = form.infinity & -form.infinity, []
    for c in range(70):
        low, end = {1: (form.infinity * 7 // 10, form.infinity), 2: (0, form.infinity // 4), 3: (0, unit)}.get(c % 8, (0, form.infinity))
        values = [rng.randrange(low, end) | rng.choice([0, form.sign]) for _ in range(rows)]
        if c % 8 == 4:
            values = [values[0] % (form.infinity - 8) + rng.randrange(2) for _ in range(rows)]
        if c % 8 == 5:
            values[c % rows] = rng.choice(specials(type_name)[4:])
        if c % 16 == 6:
            values[c % rows] = form.infinity
        columns.append(pack(type_name, values))
    return columns


@pytest.mark.sampled
@pytest.mark.parametrize("rows", [2, 3, 8, 40, 130])
@pytest.mark.parametrize("type_name", FLOATS)
def test_squares_of_any_floats(handle, type_name, rows):
    """Some are too large for an f64, and results infinite; some too small, and results 0 or subnormal."""
    columns, nbytes = any_floats(type_name, rows), struct.calcsize(TYPECODES[type_name])
    down = wf.strided(transposed(b"".join(columns), len(columns), rows, nbytes), type_name, (rows, len(columns)),
                      (len(columns) * nbytes, nbytes))
    along = wf.strided(b"".join(columns), type_name, (len(columns), rows), (rows * nbytes, nbytes))
    groups_of = Groups(type_name, columns)
    for op, nan in itertools.product(("var", "std", "norm2", "norm1", "mean", "sum"), ("omit", "propagate")):
        expected = as_returned(groups_of.reduce(op, nan=nan), op, type_name)
        assert returned(handle, op, library.wf_groups_axes(1), [down], nan=nan) == expected, (op, nan)
        assert returned(handle, op, library.wf_groups_axes(2), [along], nan=nan) == expected, (op, nan)


@pytest.mark.sampled
@pytest.mark.parametrize("longest", [40, 300])
@pytest.mark.parametrize("type_name", FLOATS)
def test_nans_left_out_of_segments(handle, type_name, longest):
    """The same of neighbours of any length, some of which have nothing."""
    rng, lengths = random.Random(f"left out of segments {type_name} {longest}"), [0, 1, 2, 1, 2]
    lengths += [rng.randint(0, longest) for _ in range(90)]
    x, y = ([column_with_nans(type_name, c * step, max(n, 1), rng)[:n * struct.calcsize(TYPECODES[type_name])]
             for c, n in enumerate(lengths)] for step in (1, 3))
    labels = integer_vector([0, *itertools.accumulate(lengths)], "i64")
    groups = library.wf_groups_segments(0, len(lengths), byref(labels))
    views = [wf.vector(bytearray(b"".join(side)), type_name) for side in (x, y)]
    groups_of = Groups(type_name, x, y)
    for op, nan in itertools.product(("sum", "norm1", "mean", "dot", "nonzero", "any", "all"), ("omit", "propagate", "error")):
        alone = groups_of.reduce(op, nan=nan)
        given = views if op == "dot" else views[:1]
        assert returned(handle, op, groups, given, nan=nan) == as_returned(alone, op, type_name), (op, nan)


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


# ---- products of few rows ---------------------------------------------------------------------------


def float_pairs(type_name, count, rng):
    """Two columns of floats whose sum of products lies half-way between two results, or beside it; or cancels."""
    form = FLOATS[type_name]
    spread = {"f64": 900, "f32": 120, "bf16": 120}.get(type_name, 12)
    ulp = Fraction(2)**(1 - form.precision)
    one = rng.choice([1, 1 + ulp, 2 - ulp]) * Fraction(2)**rng.randint(-4, 4)
    low = one * ulp * rng.choice([Fraction(1, 2), Fraction(1, 4), 1])
    hair = rng.choice([0, 1, -1]) * Fraction(2)**-rng.randint(1, spread)
    large = Fraction(2)**rng.randint(0, spread // 4) * (1 + ulp)
    terms = [(one, 1), (rng.choice([low, -low]), 1), (hair, hair), (large, large), (-large, large), (0, -1), (-1, 0)]
    chosen = [rng.choice(terms) for _ in range(count)]
    if rng.random() < 0.7:
        chosen[:5] = terms[:5][:count]
    rng.shuffle(chosen)
    return [pack_values(type_name, side) for side in zip(*chosen)]


def integer_pairs(type_name, count, rng):
    """Those of the ends of the range, of about 33 bits, small ones, and equal ones."""
    least, largest = INTEGERS[type_name]
    ends = [x for x in (least, least + 1, 0, 1, largest - 1, largest, 2**32 - 1, 2**32, -2**32, -2**32 - 1, 2**31)
            if least <= x <= largest]
    kind = rng.choice(["ends", "small", "equal", "middle"])
    draws = {"ends": lambda: rng.choice(ends), "small": lambda: rng.randint(max(least, -5), min(largest, 5)),
             "equal": lambda: ends[count % len(ends)],
             "middle": lambda: rng.randint(max(least, -2**31), min(largest, 2**31))}
    return [pack(type_name, [draws[kind]() for _ in range(count)]) for _ in range(2)]


def column_pairs(type_name, count, rng, kinds=("plain", "plain", "wild", "special", "made", "made", "made")):
    """Whose dot product fits the results' type: what does not is an error of all."""
    made = float_pairs if type_name in FLOATS else integer_pairs
    while True:
        kind = rng.choice(kinds)
        pair = made(type_name, count, rng) if kind == "made" else [sample(type_name, count, kind, rng.random()) for _ in "xy"]
        if not isinstance(PairOracle(type_name, *pair).reduce(), str):
            return pair


def laid_down_and_along(type_name, columns):
    """The columns as those of an array, and as the rows of another."""
    nbytes, groups = struct.calcsize(TYPECODES[type_name]), len(columns)
    rows = len(columns[0]) // nbytes
    down = b"".join(b"".join(row) for row in zip(*(split(type_name, column) for column in columns)))
    return [wf.strided(down, type_name, (rows, groups), (groups * nbytes, nbytes)),
            wf.strided(b"".join(columns), type_name, (groups, rows), (rows * nbytes, nbytes))]


@functools.lru_cache(1)
def products_of_few_rows(type_name, count):
    """Of some pairs of columns: views of both, down and along, the dot products, and of the first of each pair (op, ddof, results)."""
    rng, groups = random.Random(f"products {type_name} {count}"), 64 + 70
    pairs = [column_pairs(type_name, count, rng) for _ in range(groups)]
    plain = [column_pairs(type_name, count, rng, ["plain" if type_name in FLOATS else "made"]) for _ in range(64)]
    cases = []
    for chosen in (pairs[:groups // 2], pairs, plain + pairs[:6]):
        views = [laid_down_and_along(type_name, side) for side in zip(*chosen)]
        products = as_returned([PairOracle(type_name, x, y).reduce() for x, y in chosen], "dot", type_name)
        single = [(op, ddof, as_returned([Oracle(type_name, x).reduce(op, ddof=ddof) for x, _ in chosen], op, type_name))
                  for op, ddof in (("var", 0), ("std", 1), ("norm2", 0))]
        cases.append((views, products, single))
    return cases


@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize("count", [1, 2, 3, 8, 16, 63, 64])
def test_products_of_few_rows(handle, type_name, count):
    """Dot products, variances, their roots and 2-norms, so that one strip has columns that fail and others."""
    for views, products, single in products_of_few_rows(type_name, count):
        for axis in (0, 1):
            both, axes = [view[axis] for view in views], library.wf_groups_axes(1 << axis)
            assert returned(handle, "dot", axes, both) == products, (axis, views)
            for op, ddof, expected in single:
                assert returned(handle, op, axes, both[:1], ddof=ddof) == expected, (axis, op, views)


@pytest.mark.parametrize("type_name", FLOATS)
def test_specials_of_few_rows(handle, type_name):
    """One infinity or NaN in 64 columns: beside it what would leave a result if its bits were taken for a number's."""
    form, one, half = FLOATS[type_name], nearest(type_name, 1), nearest(type_name, Fraction(1, 2))
    usual = [pack(type_name, [one, half])] * 2
    axes = [library.wf_groups_axes(1 << axis) for axis in (0, 1)]
    for special, partner in itertools.product(specials(type_name)[2:], [one, half, form.infinity - 1 | form.sign, 1]):
        terms = [pack(type_name, [special, partner]), pack(type_name, [partner, half])]
        chosen = [usual] * 9 + [terms] + [usual] * 60
        x, y = (laid_down_and_along(type_name, side) for side in zip(*chosen))
        expected = [PairOracle(type_name, *pair).reduce() for pair in chosen]
        sums = [Oracle(type_name, pair[0]).reduce("sum") for pair in chosen]
        for axis in (0, 1):
            assert handle.reduce_groups("dot", axes[axis], x[axis], y[axis]) == expected, (special, partner, axis)
            assert handle.reduce_groups("sum", axes[axis], x[axis]) == sums, (special, partner, axis)


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


def test_means_of_what_is_left_of_a_power_of_two(handle):
    """Where NaNs are left out, the number of rows divides no more, and its being a power of two decides nothing."""
    rng = random.Random("left of a power of two")
    columns = [[rng.gauss(0, 1) for _ in range(64)] for _ in range(3000)]
    for column in columns:
        column[rng.randrange(64)] = math.nan
    columns = [struct.pack("=64d", *column) for column in columns]
    found = handle.reduce_groups("mean", library.wf_groups_axes(1), laid_down_and_along("f64", columns)[0], nan="omit")
    assert Groups("f64", columns).reduce("mean", nan="omit") == found


def test_means_that_vanish_keep_their_sign(handle):
    """What is left of terms that cancel is below what an f32 can be, and so is what a sum of two f64 has lost of them."""
    for count, sign in itertools.product((70, 300), (1, -1)):
        terms = [2.0**127, 2.0**60, sign * 3 * 2.0**-149, -2.0**60, -2.0**127, -sign * 2.0**-149]
        column = [nearest("f32", Fraction(terms[i // 8] if i % 8 == 0 and i < 48 else 0)) for i in range(count)]
        views = laid_down_and_along("f32", [pack("f32", column)] * 66)
        expected = [("f32", 0 if sign > 0 else FLOATS["f32"].sign)] * 66
        for axis in (0, 1):
            assert handle.reduce_groups("mean", library.wf_groups_axes(1 << axis), views[axis]) == expected, (axis, sign)


def products_of_minus_zero(type_name, count, rng):
    """Pairs each of whose products is -0."""
    one, minus_zero = nearest(type_name, 1), FLOATS[type_name].sign
    forms = [(minus_zero, one), (one, minus_zero), (0, one | minus_zero), (0, minus_zero), (minus_zero, 0)]
    return [pack(type_name, side) for side in zip(*(rng.choice(forms) for _ in range(count)))]


@pytest.mark.parametrize("type_name", FLOATS)
def test_products_of_minus_zero(handle, type_name):
    """Alone, and beside rows and columns whose products are not, at all lengths that vectors leave a rest of."""
    rng = random.Random(f"products of -0 {type_name}")
    for count in [*range(1, 36), 63, 64, 65, 127, 130, 257, 300, 1025]:
        zeros = [products_of_minus_zero(type_name, count, rng) for _ in range(5)]
        others = [column_pairs(type_name, count, rng, ["plain"]) for _ in range(2)]
        for chosen in (zeros, zeros + others):
            x, y = (laid_down_and_along(type_name, side) for side in zip(*chosen))
            expected = [PairOracle(type_name, *pair).reduce() for pair in chosen]
            assert {bits for _, bits in expected[:5]} == {FLOATS[type_name].sign}
            for axis in (0, 1):
                assert handle.reduce_groups("dot", library.wf_groups_axes(1 << axis), x[axis], y[axis]) == expected


def near_pairs(type_name, count, kind, rng):
    """Pairs of numbers: at random; small integers, whose sums are often half-way between two floats; whose products cancel; whose
    products are far below what f64 have errors for."""
    if kind == "cancels":
        half = [rng.choice([-1, 1]) * rng.randint(1, 2**FLOATS[type_name].precision - 1) for _ in range(count // 2)]
        x, y = [*half, *half, 0][:count], [*[1] * (count // 2), *[-1] * (count // 2), 1][:count]
    elif kind == "integers":
        x, y = ([rng.randint(-2**10, 2**10) for _ in range(count)] for _ in range(2))
    else:
        scale = 2.0**-520 if kind == "small" and type_name == "f64" else 1
        x, y = ([rng.gauss(0, 1) * scale for _ in range(count)] for _ in range(2))
    return [pack(type_name, [nearest_to_double(type_name, value) for value in side]) for side in (x, y)]


@functools.lru_cache(1)
def dots_whose_bound_is_known(type_name):
    """(views of both operands, down and along, and the dot products)"""
    rng, cases = random.Random(f"bounds of dots {type_name}"), []
    for count, groups in ((2, 70), (9, 330), (41, 70), (64, 9), (300, 67), (1030, 3)):
        for kinds in (["random"], ["random", "integers", "cancels", "small"]):
            pairs = [near_pairs(type_name, count, rng.choice(kinds), rng) for _ in range(groups)]
            views = [laid_down_and_along(type_name, side) for side in zip(*pairs)]
            cases.append((views, [PairOracle(type_name, *pair).reduce() for pair in pairs]))
    return cases


@pytest.mark.parametrize("type_name", FLOATS)
def test_dots_whose_bound_is_known_beforehand(handle, type_name):
    """Rows and columns of one kind and of several, among which are those that such a bound does not round."""
    for (x, y), expected in dots_whose_bound_is_known(type_name):
        for axis in (0, 1):
            assert handle.reduce_groups("dot", library.wf_groups_axes(1 << axis), x[axis], y[axis]) == expected


def test_dots_that_vanish_keep_their_sign(handle):
    """What is left of terms that cancel is far below what a sum and its error hold, and below what an f32 can be."""
    for count, sign in itertools.product((5, 50), (1, -1)):
        sides = [[1, 2.0**-60, -1, -2.0**-60, -sign * 2.0**-149], [1, 2.0**-60, 1, 2.0**-60, 2.0**-149]]
        pair = [pack("f32", [nearest("f32", Fraction(v)) for v in [*side, *[0] * (count - 5)]]) for side in sides]
        expected = PairOracle("f32", *pair).reduce()
        assert expected[1] == (FLOATS["f32"].sign if sign > 0 else 0)
        x, y = (laid_down_and_along("f32", [side] * 66) for side in pair)
        for axis in (0, 1):
            assert handle.reduce_groups("dot", library.wf_groups_axes(1 << axis), x[axis], y[axis]) == [expected] * 66


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
def test_equal_segments(handle, type_name):
    """That begin anywhere, of vectors and of dimensions among others, of all ops: those whose positions matter, too."""
    rng = random.Random(f"equal segments {type_name}")
    for shape in ((150,), (3, 70), (40, 5), (2, 33, 3), (300,)):
        axis, ops = rng.randrange(len(shape)), ops_for(type_name, rng, 4)
        length, first = rng.choice([1, 2, 3, 8, 17, 100]), rng.randrange(4)
        offsets = [*range(first, shape[axis] + 1, length)]
        if rng.random() < 0.2:
            offsets += [shape[axis]] # one that is shorter
        labels = integer_vector(offsets, rng.choice(["i32", "i64"]), rng.choice([1, 3]))
        groups = library.wf_groups_segments(axis, len(offsets) - 1, byref(labels))
        a, b = (Laid(type_name, shape, rng, rng.choice(["special", "plain", "coarse"])) for _ in range(2))
        for op in [*ops, "sum", "argmax"]:
            nan = rng.choice(["propagate", "omit", "error"])
            arrays = operands(op, a, b)
            ranges = [(0 if op == "prod" else pair[0], None, range(*pair)) for pair in itertools.pairwise(offsets)]
            expected = expected_results(op, arrays, indices_of_positions(shape, axis, ranges), 7, nan=nan)
            got = returned(handle, op, groups, [array.view() for array in arrays], nan=nan, first_index=7,
                           threads=rng.choice([1, 2, 3]))
            assert got == as_returned(expected, op, type_name), (shape, axis, offsets, op, nan)


def packed_views(type_name, rng):
    """(array, axes) of which neighbours do not lie side by side, or are few: columns of strided views, middle axes, and rows of
    few elements."""
    nbytes = struct.calcsize(TYPECODES[type_name])
    for shape, steps, axes in (((9, 140), (1, 2), {0}), ((130, 70), (1, 3), {0}), ((2, 5, 90), (1, 1, -2), {1}),
                               ((20, 4, 7), (1, 1, 1), {1}), ((5, 3, 2, 30), (1, 1, 1, 1), {1, 2}), ((70, 6, 1, 3), (1, 1, 1, 2), {1}),
                               ((2, 4, 3, 33), (1, 1, 2, 1), {0, 2}), ((3, 2, 100), (1, 1, 0), {1}),
                               ((70, 2), (1, 1), {1}), ((150, 3), (2, 1), {1}), ((2, 67, 4), (1, 1, 1), {2}), ((200, 7), (1, 1), {1})):
        strides, step = [0] * len(shape), nbytes
        for d in reversed(range(len(shape))):
            strides[d] = step * steps[d]
            step *= shape[d] * max(abs(steps[d]), 1)
        yield shape, strides, axes, step // nbytes


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
def test_packed_tiles(handle, type_name):
    """Of all ops, with elements of all kinds; the first failure is named, and pieces add up in accumulators."""
    rng = random.Random(f"packed {type_name}")
    for shape, strides, axes, count in packed_views(type_name, rng):
        made = []
        for _ in range(2):
            laid = Laid(type_name, (1,), rng)
            laid.shape, laid.strides = shape, strides
            laid.offset = sum(-s * (n - 1) for s, n in zip(strides, shape) if s < 0)
            laid.data = sample(type_name, count, rng.choice(["plain", "special", "coarse"]), rng.random())
            made.append(laid)
        groups = library.wf_groups_axes(sum(1 << d for d in axes))
        for op in [*ops_for(type_name, rng, 3), "sum", "argmin"]:
            nan = rng.choice(["propagate", "omit", "error"])
            arrays = operands(op, *made)
            expected = expected_results(op, arrays, indices_along_axes(shape, axes), 3, nan=nan)
            views = [array.view() for array in arrays]
            got = returned(handle, op, groups, views, nan=nan, first_index=3, threads=rng.choice([1, 2, 3]))
            assert got == as_returned(list(expected), op, type_name), (shape, op, nan)
            if "WF_ERROR_NAN" in expected and got == "WF_ERROR_NAN":
                assert handle.message.startswith(f"result {expected.index('WF_ERROR_NAN')}: ")
        pieces = handle.accumulator("sum", type_name, shape=[n for d, n in enumerate(shape) if d not in axes])
        for _ in range(2):
            pieces.add(made[0].view(), groups=groups)
        twice = [Oracle(type_name, b"".join(map(made[0].at, [*indices] * 2))).reduce("sum")
                 for _, _, indices in indices_along_axes(shape, axes)]
        if not any(isinstance(result, str) for result in twice):
            assert list(pieces.results("sum")) == twice


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize("length,step", [(8, 2), (40, 3), (130, 2), (1030, 2), (67, 4), (90, 5), (33, 6), (50, 7), (81, 8)])
def test_packed_rows(handle, type_name, length, step):
    """Groups whose elements lie apart, copied to rows side by side; with rows in either direction, and more than one tile."""
    rng, nbytes = random.Random(f"packed rows {type_name} {length}"), struct.calcsize(TYPECODES[type_name])
    count, pitch = rng.choice([2, 45, 67]), length * step + rng.choice([0, 5])
    kind = rng.choice(["plain", "plain", "special"])
    arrays, rows = [], []
    for seed in range(2):
        data = sample(type_name, count * pitch, kind, seed)
        sign = rng.choice([1, -1])
        offset = (count - 1) * pitch * nbytes if sign < 0 else 0
        arrays.append(wf.strided(data, type_name, (count, length), (sign * pitch * nbytes, step * nbytes), offset))
        cells = split(type_name, data)
        rows.append([b"".join(cells[r * pitch:r * pitch + length * step:step]) for r in range(count)][::sign])
    groups_of = Groups(type_name, *rows)
    for op in rng.sample([op for op in ("sum", "mean", "var", "max", "argmin", "norm1", "std") if op in ops_of(type_name)], 3) + ["dot"]:
        expected = groups_of.reduce(op)
        got = returned(handle, op, library.wf_groups_axes(2), arrays if op == "dot" else arrays[:1], threads=rng.choice([1, 2]))
        assert got == as_returned(expected, op, type_name), (op, count, pitch)


def before_nothing(data):
    """Where a copy of the data is, behind which no memory may be read; and what keeps it."""
    libc, page = ctypes.CDLL(None, use_errno=True), mmap.PAGESIZE
    room = -(-len(data) // page) * page
    kept = mmap.mmap(-1, room + page)
    first = ctypes.addressof(ctypes.c_char.from_buffer(kept))
    assert libc.mprotect(ctypes.c_void_p(first + room), ctypes.c_size_t(page), 0) == 0
    ctypes.memmove(first + room - len(data), data, len(data))
    return first + room - len(data), kept


@pytest.mark.sampled
@pytest.mark.parametrize("step", [2, 3, 4, 5])
@pytest.mark.parametrize("type_name", FLOATS)
def test_rows_apart_before_memory_ends(handle, type_name, step):
    """Rows whose elements are a few apart, and the last of which ends where memory does: exact or not, of -0, with special ones."""
    rng, nbytes = random.Random(f"rows apart {type_name} {step}"), struct.calcsize(TYPECODES[type_name])
    minus_zero = b"\0" * (nbytes - 1) + b"\x80"
    for count, length in ((2, 16), (3, 17), (9, 31), (20, 32), (70, 33), (8, 48), (5, 129), (17, 500), (2, 2048)):
        pitch = length * step + rng.choice([0, 3])
        kinds = ["plain"] * 3 + (["plain", "unit", "wild", "special"] if rng.random() < 0.5 else [])
        rows = [sample(type_name, length, rng.choice(kinds), seed=rng.random()) for _ in range(count)]
        rows[rng.randrange(count)] = minus_zero * length
        between = split(type_name, sample(type_name, count * pitch, "special", seed=rng.random()))
        for r, row in enumerate(rows):
            between[r * pitch:r * pitch + length * step:step] = split(type_name, row)
        address, kept = before_nothing(b"".join(between)[:((count - 1) * pitch + (length - 1) * step + 1) * nbytes])
        array = wf.array_nd(address, type_name, (count, length), (pitch * nbytes, step * nbytes))
        groups_of = Groups(type_name, rows)
        for op in ("sum", "mean", "norm1"):
            got = returned(handle, op, library.wf_groups_axes(2), [array], threads=rng.choice([1, 2]))
            assert got == as_returned(groups_of.reduce(op), op, type_name), (op, count, length)
        del array, kept


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
def test_products_of_rows(handle, type_name):
    """Rows of 8 to 4200 elements, side by side and apart, all of one kind, so that none stops the others, and of many."""
    rng, nbytes = random.Random(f"rows of products {type_name}"), struct.calcsize(TYPECODES[type_name])
    for count in (8, 17, 40, 41, 47, 64, 71, 200, 512, 513, 4096, 4100):
        groups = 3 if count > 600 else rng.choice([5, 9, 70 if count < 80 else 17])
        for kinds in (["plain"], ["wild"], ["special", "plain", "coarse", "made"]):
            kind = [rng.choice(kinds) for _ in range(groups)]
            pairs = [[sample(type_name, count, name, rng.random()) for _ in "xy"] if name != "made"
                     else (float_pairs if type_name in FLOATS else integer_pairs)(type_name, count, rng) for name in kind]
            gap = rng.choice([0, nbytes, 1])
            x, y = (wf.strided(b"".join(side + bytes(gap) for side in sides), type_name, (groups, count),
                               (count * nbytes + gap, nbytes)) for sides in zip(*pairs))
            expected = as_returned([PairOracle(type_name, *pair).reduce() for pair in pairs], "dot", type_name)
            assert returned(handle, "dot", library.wf_groups_axes(2), [x, y]) == expected, (count, kinds)


@pytest.mark.parametrize("type_name", ["bool", "i8", "u8", "i16", "u16"])
def test_products_of_short_integers(handle, type_name):
    """Columns of more elements than registers take: at the ends of their range, in panels that are full and in others."""
    rng = random.Random(f"short products {type_name}")
    for count, groups in ((65, 64), (300, 70), (900, 65)):
        pairs = [integer_pairs(type_name, count, rng) for _ in range(groups)]
        x, y = (laid_down_and_along(type_name, side)[0] for side in zip(*pairs))
        expected = [PairOracle(type_name, *pair).reduce() for pair in pairs]
        assert handle.reduce_groups("dot", library.wf_groups_axes(1), x, y) == expected, count
