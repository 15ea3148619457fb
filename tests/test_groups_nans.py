"""Columns, rows and segments with infinities and NaNs, some of which are left out, and squares that no f64 holds.  Each result is the
oracle's for the elements of its group alone."""

import functools
import itertools
import math
import random
import struct
from ctypes import byref

import pytest

import warpfold_ctypes as wf
from group_helpers import (  # noqa: F401: handle is a fixture
    Groups, as_returned, handle, integer_vector, laid_down_and_along, returned, transposed)
from oracle import FLOATS, TYPECODES
from samples import nearest, nearest_to_double, pack, specials

library = wf.library


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


def test_means_of_what_is_left_of_a_power_of_two(handle):
    """Where NaNs are left out, the number of rows divides no more, and its being a power of two decides nothing."""
    rng = random.Random("left of a power of two")
    columns = [[rng.gauss(0, 1) for _ in range(64)] for _ in range(3000)]
    for column in columns:
        column[rng.randrange(64)] = math.nan
    columns = [struct.pack("=64d", *column) for column in columns]
    found = handle.reduce_groups("mean", library.wf_groups_axes(1), laid_down_and_along("f64", columns)[0], nan="omit")
    assert Groups("f64", columns).reduce("mean", nan="omit") == found
