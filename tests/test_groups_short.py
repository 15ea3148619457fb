"""Groups of few elements, which are reduced side by side: segments that fill a tile together, rows in registers, columns.
Each result is the oracle's for the elements of its group alone."""

import functools
import itertools
import math
import random
import struct
from ctypes import byref
from fractions import Fraction

import pytest

import warpfold_ctypes as wf
from group_helpers import (  # noqa: F401: handle is a fixture
    Groups, Laid, as_returned, expected_results, handle, indices_along_axes, indices_of_positions, integer_vector, operands,
    ops_for, returned, transposed)
from oracle import FLOATS, INTEGERS, TYPECODES, Oracle, default_type, ops_of
from samples import nearest, nearest_to_double, pack, sample, specials, split

TYPES = [*INTEGERS, *FLOATS]
library = wf.library


# ---- short segments, which fill a tile together ---------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["plain", "special", "zeros"])
@pytest.mark.parametrize("type_name", TYPES)
def test_short_segments(handle, type_name, kind):
    """Segments of no, few and many elements after one another: more than a tile's columns, some longer than its rows."""
    rng = random.Random(f"short segments {type_name} {kind}")
    lengths = [rng.choice([0, 1, 1, 2, 3, 5, 9]) for _ in range(150)]
    for length in (63, 64, 128, 129):
        lengths[rng.randrange(150)] = length
    offsets = [0, *itertools.accumulate(lengths)]
    a, b = (Laid(type_name, offsets[-1:], rng, "plain" if kind == "zeros" else kind) for _ in range(2))
    if kind == "zeros" and type_name in FLOATS:
        minus_zero = struct.pack(f"={TYPECODES[type_name]}", FLOATS[type_name].sign)
        for i in rng.sample(range(0, len(a.data), a.nbytes), len(a.data) // a.nbytes // 4 * 3):
            a.data = a.data[:i] + minus_zero + a.data[i + a.nbytes:]
    labels = integer_vector(offsets, "i32")
    groups = library.wf_groups_segments(0, 150, byref(labels))
    some = [op for op in ops_of(type_name) if op not in ("prod", "stats")]
    for op in {*rng.sample(some, 3), rng.choice(["sum", "mean", "var", "std"]), rng.choice(["argmin", "max"])}:
        nan, fill = rng.choice(["propagate", "omit"]), wf.value_of_bits(wf.WF_U8, 1)
        arrays = operands(op, a, b)
        ranges = [(begin, None, range(begin, end)) for begin, end in itertools.pairwise(offsets)]
        expected = expected_results(op, arrays, indices_of_positions(offsets[-1:], 0, ranges), 5, nan=nan)
        name = default_type(op, type_name)
        one = nearest(name, 1) if name in FLOATS else 1
        expected = [(name, one) if result == "WF_ERROR_EMPTY" else result for result in expected]
        got = returned(handle, op, groups, [array.view() for array in arrays], nan=nan, first_index=5, fill=fill,
                       threads=rng.choice([1, 2]))
        assert got == as_returned(expected, op, type_name), (op, lengths, nan)


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
def test_segments_in_registers(handle, type_name):
    """Segments of different lengths, mostly few elements: sums, means and variances, some without a value, some of one element,
    and some long ones among them; of data of which registers hold everything, and which they do not."""
    rng = random.Random(f"segments in registers {type_name}")
    for kind in ("plain", "coarse", "special"):
        lengths = [rng.randrange(rng.choice([2, 9, 21])) for _ in range(rng.choice([20, 64, 150]))]
        if rng.random() < 0.5:
            lengths[rng.randrange(len(lengths))] = rng.choice([62, 63, 64, 200])
        offsets = [0, *itertools.accumulate(lengths)]
        array = Laid(type_name, offsets[-1:], rng, kind, plain=rng.random() < 0.8)
        labels = integer_vector(offsets, "i64")
        groups = library.wf_groups_segments(0, len(lengths), byref(labels))
        ranges = [(begin, None, range(begin, end)) for begin, end in itertools.pairwise(offsets)]
        for op in ("sum", "norm1", "norm2", "mean", "var", "std", "max", "argmin"):
            if op not in ops_of(type_name):
                continue
            chosen = {"nan": rng.choice(["propagate", "omit"])}
            if op in ("var", "std"):
                chosen["ddof"] = rng.choice([0, 1, 2])
            expected = expected_results(op, [array], indices_of_positions(offsets[-1:], 0, ranges), 0, **chosen)
            got = returned(handle, op, groups, [array.view()], **chosen)
            assert got == as_returned(expected, op, type_name), (op, kind, lengths, chosen)


def rows_of_every_kind(type_name, rng, length):
    """Elements of one segment: near each other, far apart, small beside their mean, equal, few, wild or with special ones."""
    near = [rng.gauss(0, 1) for _ in range(length)]
    kind = rng.choice(["near", "near", "far", "offset", "equal", "spaced", "small", "zeros", "wild", "special"])
    if kind == "near":
        return near
    if kind == "far":
        return [x * 2.0**rng.randint(-12, 12) for x in near] if type_name == "f16" else [x * 2.0**rng.randint(-90, 30) for x in near]
    if kind == "offset":
        return [1000 + x / 100 for x in near]
    if kind == "equal":
        return near[:1] * length
    if kind == "spaced": # sums and halves of differences are often half-way between two floats
        return [rng.randrange(-2**FLOATS[type_name].precision, 2**FLOATS[type_name].precision) / 2.0**FLOATS[type_name].precision
                for _ in range(length)]
    if kind == "small":
        return [x * 2.0**(-1060 if type_name == "f64" else -14 if type_name == "f16" else -140) for x in near]
    if kind == "zeros":
        zeros = rng.choice([[0.0], [-0.0], [0.0, -0.0], [0.0, 0.0, 0.0, 1.5]])
        return [rng.choice(zeros) for _ in range(length)]
    return kind


def bytes_of_kind(type_name, rng, length):
    row = rows_of_every_kind(type_name, rng, length)
    if isinstance(row, str):
        return sample(type_name, length, row, rng.random())
    return pack(type_name, [nearest_to_double(type_name, x) or FLOATS[type_name].sign * (math.copysign(1, x) < 0) for x in row])


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", FLOATS)
def test_divided_segments(handle, type_name):
    """Sums, norms, means, variances and their roots of segments whose elements lanes go along; each of its own kind, so that
    few fail."""
    rng = random.Random(f"divided segments {type_name}")
    lengths = [rng.choice([0, 1, 2, 2, 3, 7, 8, 9, 15, 17, 33, rng.randrange(130), rng.randrange(130)]) for _ in range(150)]
    lengths[rng.randrange(150)] = rng.choice([500, 2047, 2048, 2049])
    offsets = [0, *itertools.accumulate(lengths)]
    rows = [bytes_of_kind(type_name, rng, length) for length in lengths]
    array = wf.vector(bytearray(b"".join(rows)), type_name)
    labels = integer_vector(offsets, "i64")
    groups = library.wf_groups_segments(0, len(lengths), byref(labels))
    alone = Groups(type_name, rows)
    for op, ddof, nan in (("mean", 0, "propagate"), ("mean", 0, "omit"), ("var", 0, "propagate"), ("var", 1, "omit"),
                          ("std", 0, "propagate"), ("std", 2, "propagate"), ("sum", 0, "propagate"), ("norm1", 0, "omit"),
                          ("norm2", 0, "propagate")):
        chosen = {"nan": nan, **({"ddof": ddof} if op in ("var", "std") else {})}
        expected = alone.reduce(op, **chosen)
        got = returned(handle, op, groups, [array], **chosen)
        assert got == as_returned(expected, op, type_name), (op, lengths, chosen)


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", FLOATS)
@pytest.mark.parametrize("length", [2, 8, 13, 40, 100, 515])
def test_divided_rows(handle, type_name, length):
    rng, count = random.Random(f"divided rows {type_name} {length}"), 37
    nbytes, gap = struct.calcsize(TYPECODES[type_name]), rng.choice([0, 0, 3])
    rows = [bytes_of_kind(type_name, rng, length) for _ in range(count)]
    between = sample(type_name, gap, "special", rng.random())
    pitch = (length + gap) * nbytes
    data = b"".join(row + between for row in rows)
    if rng.random() < 0.5:
        array = wf.strided(data, type_name, (count, length), (pitch, nbytes))
    else:
        array, rows = wf.strided(data, type_name, (count, length), (-pitch, nbytes), (count - 1) * pitch), rows[::-1]
    alone = Groups(type_name, rows)
    for op, ddof in (("mean", 0), ("var", 0), ("std", 0), ("std", 1), ("sum", 0), ("norm1", 0), ("norm2", 0)):
        chosen = {"ddof": ddof} if op in ("var", "std") else {}
        expected = alone.reduce(op, **chosen)
        assert handle.reduce_groups(op, library.wf_groups_axes(2), array, **chosen) == expected, (op, chosen)


# ---- products, which are trees in the lanes of vectors, and groups of one element -------------------------


def factors_of_kind(type_name, rng, length):
    """Elements of one group, or such that their product is near the largest or the least number, or has bits of it."""
    form = FLOATS[type_name]
    if rng.random() < 0.5:
        return bytes_of_kind(type_name, rng, length)
    most = 2 - form.precision - form.lowest # the largest exponent
    whole = rng.choice([most + 1, -most, -most - form.precision + rng.randrange(4), 0])
    ends = [whole * i // length for i in range(length + 1)]
    reals = [rng.choice([1, -1]) * Fraction(1 + rng.choice([0, rng.random()])) * Fraction(2)**(end - begin)
             for begin, end in itertools.pairwise(ends)]
    return pack(type_name, [nearest(type_name, x) for x in reals])


@pytest.mark.sampled
@pytest.mark.parametrize("length", [1, 2, 3, 5, 8, 11, 16, 27, 63, 64, 100, 128, 129, 257, 2100])
@pytest.mark.parametrize("type_name", FLOATS)
def test_products_of_groups(handle, type_name, length):
    """Along either axis and over segments, some of them empty: more groups than a strip has; from indices on at which a tree
    begins, and others."""
    rng, count = random.Random(f"products {type_name} {length}"), 70
    nbytes = struct.calcsize(TYPECODES[type_name])
    rows = [factors_of_kind(type_name, rng, length) for _ in range(count)]
    data, down = b"".join(rows), transposed(b"".join(rows), count, length, nbytes)
    offsets = integer_vector([0, 0, *range(length, count * length + 1, length)], "i64")
    ways = [(wf.strided(data, type_name, (count, length), (length * nbytes, nbytes)), library.wf_groups_axes(2), False),
            (wf.strided(down, type_name, (length, count), (count * nbytes, nbytes)), library.wf_groups_axes(1), False),
            (wf.vector(bytearray(data), type_name), library.wf_groups_segments(0, count + 1, byref(offsets)), True)]
    for nan, first_index in (("propagate", 0), ("omit", 128), ("omit", 4096), ("propagate", 3)):
        chosen = {"nan": nan, "first_index": first_index}
        expected = [Oracle(type_name, row, first_index=first_index).reduce("prod", nan=nan) for row in [b"", *rows]]
        for array, groups, has_empty in ways:
            assert returned(handle, "prod", groups, [array], **chosen) == expected[not has_empty:], (has_empty, chosen)


def factors_with_nans(type_name, rows, columns, rng):
    """Columns of numbers near 1, most with a NaN of either sign, each in another row, some with a zero or an infinity, too, some
    of which every other element or each is a NaN; as bytes, and each column's."""
    zeros, nans = specials(type_name)[:4], specials(type_name)[4:]
    made = []
    for c in range(columns):
        column = [nearest_to_double(type_name, rng.choice([1, -1]) * (1 + rng.random()) / rng.choice([1, 2])) for _ in range(rows)]
        if c % 3 == 1:
            column[rng.randrange(rows)] = rng.choice(zeros)
        if c % 5:
            column[c % rows] = nans[c % len(nans)]
        if c % 11 > 8:
            column[::c % 11 - 8] = [rng.choice(nans) for _ in column[::c % 11 - 8]]
        made.append(column)
    return pack(type_name, [*itertools.chain(*zip(*made))]), [pack(type_name, column) for column in made]


@pytest.mark.sampled
@pytest.mark.parametrize("rows,columns", [(1, 64), (2, 67), (4, 65), (9, 131), (29, 40), (140, 77)])
@pytest.mark.parametrize("type_name", FLOATS)
def test_products_of_columns_with_nans(handle, type_name, rows, columns):
    """A NaN in any row and in any lane, whose sign is nobody's: it is left out, is the result, or is an error."""
    rng, nbytes = random.Random(f"products with NaNs {type_name} {rows}"), struct.calcsize(TYPECODES[type_name])
    data, column = factors_with_nans(type_name, rows, columns, rng)
    for nan, before, first_index in (("omit", 0, 0), ("omit", 1, 0), ("omit", nbytes, 7), ("propagate", 1, 0), ("error", 0, 0)):
        array = wf.strided(bytes(before) + data, type_name, (rows, columns), (columns * nbytes, nbytes), before)
        expected = as_returned([Oracle(type_name, x, first_index=first_index).reduce("prod", nan=nan) for x in column], "prod", type_name)
        got = returned(handle, "prod", library.wf_groups_axes(1), [array], nan=nan, first_index=first_index)
        assert got == expected, (nan, before, first_index)


@pytest.mark.parametrize("type_name", FLOATS)
def test_products_of_long_columns(handle, type_name):
    """Of elements whose significands are almost 2, so that those of a thousand alone would exceed the largest f64."""
    rng, rows, columns, nbytes = random.Random(f"long products {type_name}"), 9001, 66, struct.calcsize(TYPECODES[type_name])
    most = [nearest(type_name, sign * Fraction(255, 256)) for sign in (1, -1)]
    some = nearest(type_name, Fraction(255, 128)) # so many that the product is near 1
    data = pack(type_name, [some if rng.random() < 1 / 177 else rng.choice(most) for _ in range(rows * columns)])
    expected = [handle.reduce("prod", wf.strided(data, type_name, (rows,), (columns * nbytes,), c * nbytes)) for c in range(columns)]
    assert expected[0] == Oracle(type_name, b"".join(data[i:i + nbytes] for i in range(0, len(data), columns * nbytes))).reduce("prod")
    array = wf.strided(data, type_name, (rows, columns), (columns * nbytes, nbytes))
    for threads in (1, 5):
        assert handle.reduce_groups("prod", library.wf_groups_axes(1), array, threads=threads) == expected, threads


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
def test_groups_of_one(handle, type_name):
    """Elements that are groups of their own, of any bits and special ones, side by side and apart."""
    rng, count = random.Random(f"groups of one {type_name}"), 600
    nbytes = struct.calcsize(TYPECODES[type_name])
    data = sample(type_name, 3 * count, "special", rng.random()) if type_name in FLOATS else rng.randbytes(3 * count * nbytes)
    if type_name == "bool":
        data = bytes(byte & 1 for byte in data)
    elements = Groups(type_name, split(type_name, data), first_index=7).single
    for step, op in itertools.product((1, 3), [op for op in ops_of(type_name) if op != "stats"]):
        array = wf.strided(data, type_name, (count, 1), (step * nbytes, nbytes))
        for nan, ddof in itertools.product(("propagate", "omit"), (0, 1) if op in ("var", "std") else (0,)):
            expected = [element.reduce(op, nan=nan, ddof=ddof) for element in elements[:step * count:step]]
            got = returned(handle, op, library.wf_groups_axes(2), [array], nan=nan, ddof=ddof, first_index=7,
                           threads=rng.choice([1, 2]))
            assert got == as_returned(expected, op, type_name), (op, nan, ddof, step)


# ---- NaNs in a few groups ---------------------------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize("length", [2, 3, 8, 17, 63, 100, 128])
@pytest.mark.parametrize("type_name", FLOATS)
def test_nans_in_few_groups(handle, type_name, length):
    """Along either axis and over segments: any NaN, some in groups that have two."""
    rng, count = random.Random(f"few NaNs {type_name} {length}"), 70
    form, nbytes = FLOATS[type_name], struct.calcsize(TYPECODES[type_name])
    elements = [nearest_to_double(type_name, x) for x in (rng.choice([0.0, rng.gauss(0, 1)]) for _ in range(count * length))]
    for group in rng.sample(range(count), 5):
        for place in rng.choices(range(length), k=2):
            elements[group * length + place] = rng.choice([form.nan, form.nan | form.sign, form.infinity | 1, form.sign - 1])
    data = pack(type_name, elements)
    rows = [data[i:i + length * nbytes] for i in range(0, len(data), length * nbytes)]
    down, offsets = transposed(data, count, length, nbytes), integer_vector(range(0, len(elements) + 1, length), "i64")
    array, ends = wf.vector(bytearray(data), type_name), library.wf_groups_segments(0, count, byref(offsets))
    ways = [(wf.strided(data, type_name, (count, length), (length * nbytes, nbytes)), library.wf_groups_axes(2), 0),
            (wf.strided(down, type_name, (length, count), (count * nbytes, nbytes)), library.wf_groups_axes(1), 0),
            (array, ends, length)]
    at_once = Groups(type_name, rows, first_index=5)
    one_by_one = [Oracle(type_name, row, first_index=5 + length * i) for i, row in enumerate(rows)]
    for op in ops_of(type_name):
        for (view, groups, step), nan in itertools.product(ways, ("propagate", "omit") if op != "stats" else ()):
            oracles = one_by_one if step and op != "prod" else at_once.single
            expected = [oracle.reduce(op, nan=nan) for oracle in oracles]
            got = returned(handle, op, groups, [view], nan=nan, first_index=5)
            assert got == as_returned(expected, op, type_name), (op, nan, step)


@pytest.mark.sampled
@pytest.mark.parametrize("rows", [2, 3, 4, 17, 63])
@pytest.mark.parametrize("type_name", FLOATS)
def test_specials_in_few_rows(handle, type_name, rows):
    """Columns with infinities, which may cancel to a NaN, with NaNs, and with sums that overflow on the way; strips with none."""
    rng, columns = random.Random(f"specials {type_name} {rows}"), 330
    form, nbytes = FLOATS[type_name], struct.calcsize(TYPECODES[type_name])
    elements = [nearest_to_double(type_name, x) for x in (rng.choice([0.0, rng.gauss(0, 1)]) for _ in range(columns * rows))]
    largest, infinity, minus, nan = form.infinity - 1, form.infinity, form.infinity | form.sign, form.nan | form.sign
    columns_of = [(infinity, infinity), (infinity, minus), (minus, minus), (nan, infinity), (nan, nan), (largest, largest),
                  (largest | form.sign, largest | form.sign), (largest, infinity), (largest, largest, minus), (form.sign, form.sign)]
    for column, others in zip([*range(64, 66), *rng.sample(range(192, columns), 40)], 5 * columns_of):
        for row, bits in zip(rng.sample(range(rows), min(rows, len(others))), others):
            elements[row * columns + column] = bits
    data = pack(type_name, elements)
    array = wf.strided(data, type_name, (rows, columns), (columns * nbytes, nbytes))
    down = [b"".join(data[(r * columns + c) * nbytes:][:nbytes] for r in range(rows)) for c in range(columns)]
    alone = Groups(type_name, down)
    for op, nan in itertools.product(("sum", "mean", "norm1"), ("propagate", "omit")):
        expected = alone.reduce(op, nan=nan)
        assert returned(handle, op, library.wf_groups_axes(1), [array], nan=nan) == as_returned(expected, op, type_name), (op, nan)


@pytest.mark.sampled
@pytest.mark.parametrize("rows", [4, 7, 17, 64])
@pytest.mark.parametrize("seldom", [1, 30])
@pytest.mark.parametrize("type_name", ["f32", "f64"])
def test_specials_among_exact_sums(handle, type_name, seldom, rows):
    """Columns of integers, and many or few with infinities or NaNs, which are all that fails: also where numbers overflow before."""
    rng, columns = random.Random(f"exact specials {type_name} {seldom} {rows}"), 1100
    form, nbytes = FLOATS[type_name], struct.calcsize(TYPECODES[type_name])
    elements = [nearest_to_double(type_name, float(rng.randrange(-9, 10))) for _ in range(columns * rows)]
    largest, infinity, minus, nan = form.infinity - 1, form.infinity, form.infinity | form.sign, form.nan | form.sign
    columns_of = [(infinity, infinity), (infinity, minus), (minus,), (nan, infinity), (nan,), (largest, largest, minus),
                  (largest | form.sign, largest | form.sign, infinity), (largest, infinity)]
    for column in [0, *rng.sample(range(columns), columns // 3 // seldom)]:
        others = rng.choice(columns_of) if column else columns_of[-1]
        for row, bits in zip([0, *rng.sample(range(1, rows), rows - 1)], others):
            elements[row * columns + column] = bits
    data = pack(type_name, elements)
    array = wf.strided(data, type_name, (rows, columns), (columns * nbytes, nbytes))
    alone = Groups(type_name, [b"".join(data[(r * columns + c) * nbytes:][:nbytes] for r in range(rows)) for c in range(columns)])
    for op in ("sum", "mean", "norm1"):
        assert returned(handle, op, library.wf_groups_axes(1), [array]) == as_returned(alone.reduce(op), op, type_name), op


@pytest.mark.parametrize("count", [16, 31, 64, 300, 2000])
def test_means_of_rows_of_zeros(handle, count):
    """Of which only those of nothing but -0 are -0; where others are near 1, so that all share a window."""
    rng = random.Random(f"means of zeros {count}")
    rows = [[rng.choice([0.0, -0.0])] * count if r % 3 else [rng.random() for _ in range(count)] for r in range(30)]
    rows[1][count // 2], rows[2][-1] = 0.0, -0.0
    data = struct.pack(f"={30 * count}d", *itertools.chain(*rows))
    expected = [Oracle("f64", struct.pack(f"={count}d", *row)).reduce("mean") for row in rows]
    array = wf.strided(data, "f64", (30, count), (8 * count, 8))
    assert returned(handle, "mean", library.wf_groups_axes(2), [array]) == as_returned(expected, "mean", "f64")


# ---- neighbouring groups, which are folded side by side ---------------------------------------------------


def nearly_ties(type_name, rng, count):
    """Three terms whose sum is at, or just beside, the middle of two floats; zeros of either sign."""
    tie = 2.0**-FLOATS[type_name].precision
    for _ in range(count):
        scale = 2.0**rng.randint(-3, 3)
        yield rng.choice([
            (scale, scale * tie, rng.choice([-1, 0, 1]) * scale * tie * 2.0**-rng.randint(1, 40)),
            (-scale, -scale * tie, rng.choice([-1, 0, 1]) * scale * tie * 2.0**-rng.randint(1, 40)),
            (-0.0, -0.0, -0.0), (-0.0, 0.0, -0.0), (scale, -scale, -0.0), (-0.0, -scale, scale),
        ])


@pytest.mark.parametrize("type_name", ["f32", "f64"])
@pytest.mark.parametrize("along", [0, 1])
def test_short_groups_round_once(handle, type_name, along):
    rng = random.Random(f"ties {type_name}")
    rows = list(nearly_ties(type_name, rng, 700))
    shape = (700, 3) if along else (3, 700)
    values = [x for row in (rows if along else zip(*rows)) for x in row]
    code = {"f32": "f", "f64": "d"}[type_name]
    nbytes = struct.calcsize(code)
    array = wf.strided(struct.pack(f"<{len(values)}{code}", *values), type_name, shape, (shape[1] * nbytes, nbytes))
    alone = Groups(type_name, [struct.pack(f"<3{code}", *row) for row in rows])
    for op in ("sum", "norm1", "norm2", "mean", "var", "std"):
        expected = alone.reduce(op)
        assert handle.reduce_groups(op, library.wf_groups_axes(1 << along), array) == expected


def terms_of(total, unit, count, rng):
    """So many f64, multiples of unit but for the last, that add up to a fraction; in an order in which two f64 hold all."""
    spread = abs(total) / count / unit
    terms = [rng.randint(-int(spread), int(2 * spread)) * float(unit) for _ in range(count - 3)]
    rest = total - sum(map(Fraction, terms))
    for _ in range(3):
        terms.append(float(rest))
        rest -= Fraction(terms[-1])
    assert rest == 0
    return terms


def half_way_means(count, rng, groups, exponents):
    """Terms whose mean is half-way between two f64, some next to powers of two, or a little beside that."""
    farthest = [54 - count.bit_length() - i for i in (0, 0, 0, 1)] # that two f64 hold beside the sum
    for _ in range(groups):
        exponent = rng.choice(exponents)
        unit = Fraction(2)**(exponent - 52)
        mean = rng.choice([2**52, 2**53 - 1, 2**53 - 2, rng.randrange(2**52, 2**53), rng.randrange(2**52, 2**53)]) * unit
        beside = rng.choice([0, 1, -1]) * unit / 2**rng.choice([10, 20, 30, 40, *farthest])
        if exponent < -900:
            beside = 0 # no f64 has its bits
        yield terms_of(rng.choice([1, -1]) * ((mean + rng.choice([1, -1]) * unit / 2) * count + beside), unit, count, rng)


@functools.lru_cache(1)  # each tier has the same
def rows_of_half_way_means(count, exponents):
    """Down, along, and the means; zeros, and pairs that cancel, among them."""
    rng, groups = random.Random(f"half-way {count}"), 200 if count < 500 else 80
    rows = list(half_way_means(count, rng, groups, exponents))
    rows[70], rows[71], rows[72] = [0.0] * count, [-0.0] * count, [1.0, -1.0] + [-0.0] * (count - 2)
    expected = [("f64", struct.unpack("<Q", struct.pack("<d", float(sum(map(Fraction, row)) / count)))[0]) for row in rows]
    expected[71] = ("f64", 1 << 63)
    down = struct.pack(f"<{count * groups}d", *(x for row in zip(*rows) for x in row))
    along = struct.pack(f"<{count * groups}d", *(x for row in rows for x in row))
    return (wf.strided(down, "f64", (count, groups), (8 * groups, 8)),
            wf.strided(along, "f64", (groups, count), (8 * count, 8))), expected


@pytest.mark.parametrize("exponents", [range(-8, 8), range(-800, 800), (1012, -1014, -1020)]) # the last: not in registers
@pytest.mark.parametrize("count", [3, 5, 6, 7, 10, 49, 63, 100, 700]) # 49 * (1 / 49) is not 1
def test_half_way_means(handle, count, exponents):
    """What lies half-way, or a hair beside it, is rounded by the remainder."""
    arrays, expected = rows_of_half_way_means(count, exponents)
    for axis, array in enumerate(arrays):
        assert handle.reduce_groups("mean", library.wf_groups_axes(1 << axis), array) == expected


@functools.lru_cache(1)
def columns_of_half_way_means(type_name, count):
    rng, groups = random.Random(f"half-way {type_name} {count}"), 70
    least, largest = (-2**63, 2**63 - 1) if type_name == "i64" else (0, 2**64 - 1)
    columns = []
    for _ in range(groups):
        mean = (2 * rng.randrange(2**52, 2**53) + 1) * 2**rng.randint(0, 9) + rng.choice([0, 0, 1, -1]) # half-way, or beside
        if type_name == "i64" and rng.random() < 0.5:
            mean = -mean
        others = [rng.randint(-2**50, 2**50) for _ in range(count - 1)]
        column = [min(max(mean + x, least), largest) for x in others]
        last = mean * count - sum(column)
        columns.append([*column, min(max(last, least), largest)])
    expected = [("f64", struct.unpack("<Q", struct.pack("<d", sum(column) / count))[0]) for column in columns]
    code = TYPECODES[type_name]
    down = struct.pack(f"<{count * groups}{code}", *(x for row in zip(*columns) for x in row))
    return wf.strided(down, type_name, (count, groups), (8 * groups, 8)), expected


@pytest.mark.parametrize("type_name", ["i64", "u64"])
@pytest.mark.parametrize("count", [5, 6, 63, 1000, 1 << 11])
def test_half_way_means_of_integers(handle, type_name, count):
    array, expected = columns_of_half_way_means(type_name, count)
    assert handle.reduce_groups("mean", library.wf_groups_axes(1), array) == expected


@pytest.mark.parametrize("type_name", ["i8", "i32", "u32", "f32", "f64", "bf16"])
@pytest.mark.parametrize("count", [2, 3])
def test_roots_of_short_groups(handle, type_name, count):
    """Deviations that are exact, halves, or just beside; sums of up to 64 bits."""
    rng = random.Random(f"roots {type_name} {count}")
    rows = [(0, 2 * k, k) for k in range(60)] + [(0, k % 128, 0) for k in range(60)] if type_name in INTEGERS else []
    data = b"".join(struct.pack(f"={count}{TYPECODES[type_name]}", *row[:count]) for row in rows)
    data += sample(type_name, 60 * count, "plain", rng.random()) + (sample(type_name, 60 * count, "wild") if not rows else b"")
    groups_count, nbytes = len(data) // count // struct.calcsize(TYPECODES[type_name]), struct.calcsize(TYPECODES[type_name])
    array = wf.strided(data, type_name, (groups_count, count), (count * nbytes, nbytes))
    alone = Groups(type_name, [data[g * count * nbytes:(g + 1) * count * nbytes] for g in range(groups_count)])
    for op, ddof in itertools.product(("std", "var"), (0, 1)):
        expected = alone.reduce(op, ddof=ddof)
        assert handle.reduce_groups(op, library.wf_groups_axes(2), array, ddof=ddof) == expected


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize("length", [1, 2, 31, 64, 65, 128, 129, 300, 511])
def test_neighbours_side_by_side(handle, type_name, length):
    """Rows and columns of every length about a tile's, one of them with what a tile of plain numbers cannot hold."""
    rng = random.Random(f"neighbours {type_name} {length}")
    groups_count = rng.choice([3, 8, 33, 64, 70])
    for along, kind in itertools.product((0, 1), ("plain", "wild")):
        shape = (groups_count, length) if along else (length, groups_count)
        a, b = (Laid(type_name, shape, rng, kind, plain=True) for _ in range(2))
        odd = sample(type_name, 1, "special", seed=rng.random())
        place = rng.randrange(groups_count * length) * a.nbytes
        a.data = a.data[:place] + odd + a.data[place + len(odd):]
        for op in ops_for(type_name, rng, 2):
            arrays = operands(op, a, b)
            expected = expected_results(op, arrays, indices_along_axes(shape, {along}), 0)
            got = returned(handle, op, library.wf_groups_axes(1 << along), [array.view() for array in arrays])
            assert got == as_returned(expected, op, type_name), (op, shape, along, kind)


@pytest.mark.parametrize("op,type_name", [("sum", "f64"), ("argmin", "i16"), ("var", "f32"), ("max", "u8")])
def test_threads_share_long_columns(handle, op, type_name):
    """A few columns of many rows: the same bits as each column by itself."""
    shape, nbytes = (70001, 9), struct.calcsize(TYPECODES[type_name])
    data = (sample(type_name, 4099, "plain") * 154)[:shape[0] * shape[1] * nbytes]
    array = wf.strided(data, type_name, shape, (shape[1] * nbytes, nbytes))
    got = {tuple(handle.reduce_groups(op, library.wf_groups_axes(1), array, threads=threads)) for threads in (1, 2, 5)}
    alone = [handle.reduce(op, wf.strided(data, type_name, shape[:1], (shape[1] * nbytes,), c * nbytes)) for c in range(9)]
    assert got == {tuple(alone)}


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize("rows,columns", [(2, 1100), (9, 150), (300, 70)])
def test_extremes_along_axes(handle, type_name, rows, columns):
    """Extremes of columns read where they lie, and of rows in vectors: NaNs and zeros of either sign here and there."""
    rng, nbytes = random.Random(f"extremes {type_name} {rows}"), struct.calcsize(TYPECODES[type_name])
    data = bytearray(sample(type_name, rows * columns, "plain", seed=rng.random()))
    zeros = [bytes(nbytes), bytes(nbytes - 1) + (b"\x80" if type_name in FLOATS else b"\0")]
    for c in rng.sample(range(columns), columns // 3): # columns of nothing but zeros, and of other values
        odd = rng.choice([sample(type_name, rows - 1, "special", seed=rng.random()) + sample(type_name, 1, "plain"),
                          b"".join(rng.choices(zeros, k=rows))])
        for r in range(rows):
            at = (r * columns + c) * nbytes
            data[at:at + nbytes] = odd[r * nbytes:(r + 1) * nbytes]
    data = bytes(data)
    turned = transposed(data, rows, columns, nbytes)
    for op, nan in itertools.product(("max", rng.choice(["min", "argmin"]), "argmax"), ("propagate", "omit")):
        expected = [handle.reduce(op, wf.strided(data, type_name, (rows,), (columns * nbytes,), c * nbytes), nan=nan,
                                  first_index=3) for c in range(columns)]
        down = wf.strided(data, type_name, (rows, columns), (columns * nbytes, nbytes))
        along = wf.strided(turned, type_name, (columns, rows), (rows * nbytes, nbytes))
        threads = rng.choice([1, 2])
        for axis, array in ((0, down), (1, along)):
            groups = library.wf_groups_axes(1 << axis)
            assert handle.reduce_groups(op, groups, array, nan=nan, first_index=3, threads=threads) == expected, (op, axis)


def columns_with_nans(type_name, rows, columns, rng):
    """Elements, row by row: zeros and other values, a NaN of either sign in a row of its own in most columns, two in some, and
    nothing but NaNs in a few."""
    form = FLOATS[type_name]
    nans = [form.nan, form.nan | form.sign, form.infinity | 1, form.infinity | form.sign | 1, 2 * form.sign - 1, form.sign - 1]
    numbers = [0, form.sign, form.infinity, form.infinity | form.sign, *(nearest(type_name, x) for x in (1, -1, 0.5))]
    elements = [rng.choice(numbers) for _ in range(rows * columns)]
    for c in range(columns):
        if c % 5:
            elements[c % rows * columns + c] = rng.choice(nans)
        for r in [] if c % 7 else rng.sample(range(rows), min(2, rows)) if c % 3 else range(rows):
            elements[r * columns + c] = rng.choice(nans)
    return pack(type_name, elements)


@pytest.mark.parametrize("rows,columns", [(1, 64), (2, 130), (3, 67), (4, 9), (8, 129), (16, 33), (70, 71), (140, 1027)])
@pytest.mark.parametrize("type_name", FLOATS)
def test_nans_in_columns_of_extremes(handle, type_name, rows, columns):
    """A NaN in any row and in any lane: it is the result, or the first one's index is; it is left out, and columns of
    nothing else take the fill; or it is an error.  Of the same columns as rows, too."""
    rng, nbytes = random.Random(f"NaNs in columns {type_name} {rows}"), struct.calcsize(TYPECODES[type_name])
    data = columns_with_nans(type_name, rows, columns, rng)
    column = [b"".join(data[i:i + nbytes] for i in range(c * nbytes, len(data), columns * nbytes)) for c in range(columns)]
    groups, fill, alone = library.wf_groups_axes(1), wf.value_of_bits(wf.WF_U8, 1), Groups(type_name, column, first_index=7)
    for op, (nan, beside), threads in itertools.product(("min", "max", "argmin", "argmax"),
                                                        (("propagate", 0), ("omit", 0), ("omit", 1), ("error", 0)), (1, 2)):
        before = beside * nbytes # bytes, so that vectors begin elsewhere
        array = wf.strided(bytes(before) + data, type_name, (rows, columns), (columns * nbytes, nbytes), before)
        name = default_type(op, type_name)
        one = (name, nearest(name, 1) if name in FLOATS else 1)
        results = alone.reduce(op, nan=nan)
        expected = as_returned([one if beside and result == "WF_ERROR_EMPTY" else result for result in results], op, type_name)
        chosen = {"nan": nan, "first_index": 7, "threads": threads, **({"fill": fill} if beside else {})}
        assert returned(handle, op, groups, [array], **chosen) == expected, (op, nan, threads)
        along = wf.strided(b"".join(column), type_name, (columns, rows), (rows * nbytes, nbytes))
        assert returned(handle, op, library.wf_groups_axes(2), [along], **chosen) == expected, (op, nan, threads)


@pytest.mark.parametrize("type_name", ["i16", "f16", "u8"])
def test_indices_in_long_columns(handle, type_name):
    """Of more rows than a lane of an element's width counts: the best, and its twins, lie to either side of where it
    starts again."""
    rows, columns, nbytes = 70000, 66, struct.calcsize(TYPECODES[type_name])
    data = bytearray(rows * columns * nbytes)
    ends = {"u8": [0, 127, 128, 255, 256, rows - 1], "i16": [0, 32767, 32768, 65535, 65536, rows - 1]}
    first = [ends.get(type_name, ends["i16"])[c % 6] for c in range(columns)]
    for c, r in enumerate(first):
        for row in {r, min(r + 1, rows - 1), rows - 1}:
            data[(row * columns + c) * nbytes] = 5
    array = wf.strided(bytes(data), type_name, (rows, columns), (columns * nbytes, nbytes))
    got = handle.reduce_groups("argmax", library.wf_groups_axes(1), array, first_index=3, threads=1)
    assert [bits for _, bits in got] == [3 + r for r in first]


@pytest.mark.parametrize("type_name", ["i8", "u64", "f16", "f32", "f64"])
def test_extremes_of_segments(handle, type_name):
    """Segments of 1 to 700 elements, some of one value alone."""
    rng, nbytes = random.Random(f"extremes of segments {type_name}"), struct.calcsize(TYPECODES[type_name])
    lengths = [rng.choice([1, 2, 30, rng.randrange(1, 200), 700]) for _ in range(40)]
    data = b"".join(rng.choice([sample(type_name, n, "plain", seed=rng.random()), sample(type_name, 1, "plain") * n])
                    for n in lengths)
    offsets = [0, *itertools.accumulate(lengths)]
    labels = integer_vector(offsets, "i64", 1)
    groups = library.wf_groups_segments(0, len(lengths), byref(labels))
    array = wf.strided(data, type_name, (sum(lengths),), (nbytes,))
    for op in ("max", "argmax", "min", "argmin"):
        expected = [Oracle(type_name, data[a * nbytes:b * nbytes], first_index=a).reduce(op) for a, b in zip(offsets, offsets[1:])]
        assert returned(handle, op, groups, [array]) == as_returned(expected, op, type_name)


# ---- sums of more than an f64 holds ----------------------------------------------------------------------


def outliers(type_name, count, rng):
    """Numbers, one in a hundred of which is far larger, and a few of which are -0; small integers, so that many sums are half-way
    between two floats; or numbers of many exponents."""
    most, exponents = (2.0**10, 3) if type_name == "f16" else (2.0**100, 20)
    kind = rng.choice(["numbers", "numbers", "integers", "minus zeros", "many exponents"])

    def one():
        far = rng.random() < 0.01
        x = rng.randint(-9, 9) if kind == "integers" else rng.gauss(0, 1)
        if kind == "many exponents":
            x *= 2.0**rng.randint(-exponents, exponents)
        if kind == "minus zeros" and not far:
            return -0.0
        return x * most if far else x

    return pack(type_name, [nearest_to_double(type_name, one()) for _ in range(count)])


@pytest.mark.sampled
@pytest.mark.parametrize("odd", ["none", "infinity", "NaN"])
@pytest.mark.parametrize("rows,columns", [(3, 600), (4, 1100), (8, 270), (30, 130), (90, 70), (600, 66)])
@pytest.mark.parametrize("type_name", FLOATS)
def test_outliers(handle, type_name, rows, columns, odd):
    """Columns, rows and segments of equal and other lengths, of which some have elements that are far larger than the others."""
    rng, nbytes = random.Random(f"outliers {type_name} {rows} {columns} {odd}"), struct.calcsize(TYPECODES[type_name])
    data = outliers(type_name, rows * columns, rng)
    if odd != "none":
        at, form = rng.randrange(rows * columns) * nbytes, FLOATS[type_name]
        special = form.nan if odd == "NaN" else form.infinity
        data = data[:at] + pack(type_name, [special]) + data[at + nbytes:]
    cells = split(type_name, data)
    down = Groups(type_name, [b"".join(cells[c::columns]) for c in range(columns)])
    offsets = [0, *sorted(rng.sample(range(1, rows * columns), rows)), rows * columns]
    pieces = Groups(type_name, [data[a * nbytes:b * nbytes] for a, b in itertools.pairwise(offsets)])
    labels = integer_vector(offsets, "i64")
    across = wf.strided(data, type_name, (rows, columns), (columns * nbytes, nbytes))
    along = wf.strided(transposed(data, rows, columns, nbytes), type_name, (columns, rows), (rows * nbytes, nbytes))
    vector = wf.strided(data, type_name, (rows * columns,), (nbytes,))
    for op in ("sum", "norm1", "mean"):
        expected = down.reduce(op)
        assert returned(handle, op, library.wf_groups_axes(1), [across]) == expected, op
        assert returned(handle, op, library.wf_groups_axes(2), [along]) == expected, op
        assert returned(handle, op, library.wf_groups_segments(0, rows + 1, byref(labels)), [vector]) == pieces.reduce(op), op
