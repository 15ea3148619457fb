"""Dot products of groups, and what is made of squares beside them: of few rows in registers, of long rows and columns.  Each result
is the oracle's for the elements of its group alone."""

import functools
import itertools
import random
import struct
from fractions import Fraction

import pytest

import warpfold_ctypes as wf
from group_helpers import as_returned, handle, laid_down_and_along, returned  # noqa: F401: handle is a fixture
from oracle import FLOATS, INTEGERS, TYPECODES, Oracle, PairOracle
from samples import nearest, nearest_to_double, pack, pack_values, sample, specials

TYPES = [*INTEGERS, *FLOATS]
library = wf.library


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
