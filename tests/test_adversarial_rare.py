"""Data chosen to break a reduction that is almost right: large arrays with something rare in them, and arrays of a few."""

import itertools
import math
import random
from array import array
from collections import Counter
from fractions import Fraction

import pytest

import warpfold_ctypes as wf
from each_type import but_slow
from group_helpers import Groups, as_returned, returned, transposed
from oracle import FLOATS, INTEGERS, Oracle, PairOracle
from samples import agree, nbytes_of, nearest, outcome, pack
from test_adversarial import (  # noqa: F401: handle is a fixture
    COUNTS, FLOAT_OPS, check, check_dot, check_float, handle, magnitude_bits, oracle_of)


# ---- large arrays with something rare in them --------------------------------------------------------


@pytest.mark.parametrize("type_name", ("f32", "f64"))
def test_bins_that_hold_few_and_many(type_name):
    """Neighbouring exponents that occur so seldom, and so often, that 64 bits hold the sum of some bins, and do not."""
    form, draw = FLOATS[type_name], random.Random(type_name)
    lead = 1 << (form.precision - 1)
    fields = form.infinity // lead

    def some(count, first, sign):
        bits = [draw.randrange(form.infinity) | form.sign * draw.getrandbits(1) for _ in range(max(8192, 16 * count))]
        for i, place in enumerate(draw.sample(range(len(bits)), 4 * count)):
            bits[place] = (first + i % 4) * lead | lead - 1 | sign()
        return pack(type_name, bits)

    signs = (lambda: 0, lambda: form.sign, lambda: form.sign * draw.getrandbits(1))
    arrays = [some(count, draw.choice((0, 1, fields // 2, fields - 40)) if count > 33 else fields // 2, sign)
              for count in (31, 33, 65, 520) for sign in signs]
    handles = wf.tier_handles()
    for data in arrays:
        for handle in handles:
            check(handle, type_name, data, handle.device, ops=("sum", "norm1", "var"), threads=(1,))


def wide(type_name, count, seed, most=None):
    """Elements of any exponents up to most, of either sign."""
    form, draw = FLOATS[type_name], random.Random(f"{type_name} {seed}")
    lead = 1 << (form.precision - 1)
    fields = most or max(form.infinity // lead - 40, 16)
    return [draw.randrange(fields) * lead | draw.randrange(lead) | form.sign * draw.getrandbits(1) for _ in range(count)]


def check_in_a_row(type_name, arrays, ops):
    """Calls of one handle for each tier, as what a call learns is of use, or a trap, for the next one."""
    for tier in wf.tier_handles():
        for op, _, (name, bits), threads in itertools.product(ops, range(2), arrays.items(), (1, 2)):
            check_float(tier, type_name, bits, tier.device, name, ops=(op,), threads=(threads,))
        for _, (name, bits) in itertools.product(range(2), arrays.items()):
            data = pack(type_name, bits)
            agree(oracle_of(type_name, data).stats("propagate", None, 0), outcome(tier.stats, wf.vector(data, type_name), threads=1),
                  "stats", tier.device, name)
        for name, bits in arrays.items():
            check_dot(tier, type_name, pack(type_name, bits), pack(type_name, bits[::-1]), tier.device, name)


@pytest.mark.parametrize("type_name", FLOATS)
def test_results_that_what_is_lost_would_change(type_name):
    """Sums of wide elements lack their lowest bits (core/losses.h), which decide these."""
    form = FLOATS[type_name]
    count, least = 80_000 // nbytes_of(type_name) | 1, 1
    one, half = magnitude_bits(type_name, 0), magnitude_bits(type_name, -form.precision)
    some = wide(type_name, count // 2 - 8, "pairs", one // (1 << (form.precision - 1)) + 9)
    cancelled = [bits ^ sign for bits in some for sign in (0, form.sign)]
    rounded = [bits ^ change for bits in some for change in (0, form.sign | 1)]
    zeros = [0] * (count // 2)
    arrays = {
        "cancelled": cancelled,
        "but for the least": cancelled + [least],
        "but for last bits": rounded,
        "last bits, and a tie": rounded + [one, half],
        "but for a tie": cancelled + [one, half],
        "above a tie": [least] + cancelled + [one, half],
        "below a tie": [one, half] + cancelled + [least | form.sign],
        "above a tie of few": [one] + zeros + [half] + zeros + [least],
        "equal": [one | 1] * (count // 2) + [one | 1],
        "equal but for one": [one] * count + [least],
    }
    check_in_a_row(type_name, arrays, ("sum", "mean", "norm1", "var", "norm2"))


@pytest.mark.parametrize("type_name", FLOATS)
def test_wide_arrays_of_another_scale_one_after_the_other(type_name):
    form = FLOATS[type_name]
    count, lead = 70_000 // nbytes_of(type_name), 1 << (form.precision - 1)
    fields, middle = form.infinity // lead, magnitude_bits(type_name, 0) // lead
    large = [(fields - 1 - i % 5) * lead | i % lead for i in range(count)]
    arrays = {
        "any": wide(type_name, count, 1, fields),
        "all but the uppermost": wide(type_name, count, 2),
        "small": wide(type_name, count, 3, middle // 2),
        "smallest": wide(type_name, count, 4, 8),
        "subnormal": wide(type_name, count, 5, 1),
        "large": [bits | form.sign * (i % 3 == 0) for i, bits in enumerate(large)],
        "ascending": sorted(wide(type_name, count, 6), key=lambda bits: bits & ~form.sign),
        "zeros": [form.sign] * count,
    }
    check_in_a_row(type_name, arrays, ("sum", "norm1", "std", "norm2"))


@pytest.mark.parametrize("type_name", FLOATS)
def test_specials_among_wide_elements(type_name):
    form = FLOATS[type_name]
    count = 70_000 // nbytes_of(type_name)
    ground = wide(type_name, count, "specials")
    first, last, infinity = count // 3, count - 2, form.infinity
    arrays = [
        {first: form.nan},
        {first: form.nan, last: form.nan | form.sign},
        {first: infinity},
        {first: infinity, last: infinity},
        {first: infinity | form.sign, last: infinity},
        {first: infinity, last: form.nan},
        {first: form.nan, last: infinity},
        {i: form.nan for i in range(7, count, 999)},
    ]
    for specials, tier in itertools.product(arrays, wf.tier_handles()):
        data = pack(type_name, [specials.get(i, bits) for i, bits in enumerate(ground)])
        whole, view = oracle_of(type_name, data), wf.vector(data, type_name)
        for op, nan, threads in itertools.product(("sum", "mean", "norm1", "var", "norm2"), ("propagate", "omit", "error"), (1, 2)):
            got = outcome(tier.reduce, op, view, nan=nan, threads=threads)
            agree(whole.reduce(op, nan), got, op, type_name, nan, threads, tier.device, len(specials))
        for nan, threads in itertools.product(("propagate", "omit", "error", "omit"), (1, 2)):
            got = outcome(tier.stats, view, nan=nan, threads=threads)
            agree(whole.stats(nan, None, 0), got, "stats", type_name, nan, threads, tier.device, len(specials))


@pytest.mark.parametrize("type_name", FLOATS)
def test_long_rows_of_wide_elements(type_name):
    """Whose sums lack something, and are made again where that matters, one row after the other; and columns as long."""
    form, draw = FLOATS[type_name], random.Random(type_name)
    count = 20_000 // nbytes_of(type_name)
    half = wide(type_name, count // 2, "rows")
    specials = [form.nan, form.infinity, form.infinity | form.sign]
    rows = [
        half + [bits ^ form.sign for bits in half],
        half + [bits ^ form.sign ^ 1 for bits in half],
        wide(type_name, count, "some"),
        *([bits if draw.randrange(count // 2) else special for bits in wide(type_name, count, special)] for special in specials),
        [draw.choice(specials) if draw.randrange(2) else bits for bits in wide(type_name, count, "every other")],
        [form.nan] * count,
        [form.sign] * count,
        [magnitude_bits(type_name, 0) + draw.randrange(2) for _ in range(count)],
        wide(type_name, count, "large", form.infinity // (1 << (form.precision - 1))),
    ]
    draw.shuffle(rows)
    data, nbytes = pack(type_name, list(itertools.chain(*rows))), nbytes_of(type_name)
    groups = Groups(type_name, [pack(type_name, row) for row in rows])
    along = wf.strided(data, type_name, (len(rows), count), (count * nbytes, nbytes))
    turned = transposed(data, len(rows), count, nbytes)
    down = wf.strided(turned, type_name, (count, len(rows)), (len(rows) * nbytes, nbytes))
    for tier, nan, op in itertools.product(wf.tier_handles(), ("propagate", "omit"), ("sum", "mean", "norm1", "var", "norm2")):
        expected = as_returned(groups.reduce(op, nan=nan), op, type_name)
        for view, axis, threads in ((along, 2, 1), (along, 2, 2), (down, 1, 1)):
            got = returned(tier, op, wf.library.wf_groups_axes(axis), [view], nan=nan, threads=threads)
            assert got == expected, (op, nan, tier.device, axis, threads)


@pytest.mark.parametrize("type_name", FLOATS)
def test_rows_of_any_bits(type_name):
    """Rows that have infinities and NaNs, and of f64 sums that overflow on the way."""
    form, draw, nbytes = FLOATS[type_name], random.Random(type_name), nbytes_of(type_name)
    for length, kind in itertools.product((24, 100, 333), ("any", "large", "some")):
        most = {"any": 2 * form.sign, "large": form.sign, "some": form.infinity}[kind]
        rows = [[draw.randrange(most) for _ in range(length)] for _ in range(9)]
        if kind == "large":
            rows = [[form.infinity - 1 - bits % 3 | form.sign * (bits % 2) for bits in row] for row in rows]
        for row in rows[::3]:
            row[draw.randrange(length)] = draw.choice([form.nan, form.infinity, form.infinity | form.sign])
        data = pack(type_name, list(itertools.chain(*rows)))
        groups = Groups(type_name, [pack(type_name, row) for row in rows])
        view = wf.strided(data, type_name, (len(rows), length), (length * nbytes, nbytes))
        policies = ("propagate", "omit", "error")
        for tier, nan, op in itertools.product(wf.tier_handles(), policies, ("sum", "mean", "norm1")):
            expected = as_returned(groups.reduce(op, nan=nan), op, type_name)
            got = returned(tier, op, wf.library.wf_groups_axes(2), [view], nan=nan)
            assert got == expected, (op, nan, length, kind, tier.device)


@pytest.mark.parametrize("type_name", FLOATS)
def test_products_much_smaller_than_those_of_the_largest_elements(type_name):
    """What sums of products lack depends on the largest product: here neither operand is large where the other is."""
    form = FLOATS[type_name]
    count, lead = 100_000 // nbytes_of(type_name), 1 << (form.precision - 1)
    fields, draw = form.infinity // lead, random.Random(type_name)
    spans = {"halves": (0, fields), "thirds": (fields // 3, fields), "quarters": (fields // 4, 3 * fields // 4)}
    tiers = wf.tier_handles()
    for name, (low, high) in spans.items():
        exponents = [draw.randrange(low, high) for _ in range(count)]
        a = [field * lead | draw.randrange(lead) | form.sign * draw.getrandbits(1) for field in exponents]
        b = [(low + high - 1 - field) * lead | draw.randrange(lead) for field in exponents]
        cancelled = [bits ^ form.sign * (i % 2) for i, bits in enumerate(bits for bits in a[:count // 2] for _ in range(2))]
        twice = [bits for bits in b[:count // 2] for _ in range(2)]
        zeros = [bits if i % 2 else 0 for i, bits in enumerate(a)]
        others = [0 if i % 2 else bits for i, bits in enumerate(b)]
        for x, y in ((a, b), (b, a), (cancelled, twice), (cancelled + [lead], twice + [form.infinity - 1]), (zeros, others)):
            for tier, _ in itertools.product(tiers, range(2)):
                check_dot(tier, type_name, pack(type_name, x), pack(type_name, y), tier.device, name)


@pytest.mark.parametrize("place", (5, 40_000, 99_999))
def test_the_first_nan_among_wide_elements_is_named(handle, place):
    bits = wide("f32", 100_000, place)
    for i in range(place, len(bits), 10_000):
        bits[i] = FLOATS["f32"].nan
    for threads in (1, 2):
        with pytest.raises(wf.WarpfoldError, match=f"NaN at index {place}$"):
            handle.reduce("sum", wf.vector(pack("f32", bits), "f32"), nan="error", threads=threads)


@pytest.mark.slow
@pytest.mark.parametrize("type_name", FLOATS)
def test_specials_in_the_interior_of_blocks(handle, type_name):
    form, draw = FLOATS[type_name], random.Random(type_name)
    nbytes = nbytes_of(type_name)
    block = 32768 // nbytes
    count = block + block // 2
    ground = [
        magnitude_bits(type_name, draw.randint(-3, 3)) | form.sign * draw.getrandbits(1) for _ in range(count)
    ]
    for value in (form.nan, form.infinity, form.infinity | form.sign, form.sign, form.infinity - 1, 1):
        for place in (block // 2 + 3, block, count - 1):
            bits = list(ground)
            bits[place] = value
            ops = ("sum", "norm2", "min", "argmax", "prod") if place == block else ("sum", "argmin")
            check_float(handle, type_name, bits, place, hex(value), ops=ops, threads=(1, 3))


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", FLOATS)
def test_one_outlier_after_many_blocks_alike(handle, type_name):
    """What held for block after block of the data ends to hold: far larger, far smaller, no number."""
    form, draw = FLOATS[type_name], random.Random(type_name)
    block = 32768 // nbytes_of(type_name)
    one = magnitude_bits(type_name, 0)
    blocks_alike = [one + draw.randrange(9) | form.sign * draw.getrandbits(1) for _ in range(4 * block)]
    rest = [one + draw.randrange(9) for _ in range(block // 3)]
    for value in (form.infinity - 1, 1, form.infinity, form.nan):
        bits = blocks_alike[draw.randrange(block) :] + [value] + rest
        check_float(handle, type_name, bits, hex(value), ops=("sum", "norm1", "norm2", "var"), threads=(1, 2))
        data = pack(type_name, bits)
        check_dot(handle, type_name, data, data, hex(value))


def check_rare(type_name, bits, *context, ops):
    """Of every tier, with NaNs and without."""
    data = pack(type_name, bits)
    whole, view = Oracle(type_name, data), wf.vector(data, type_name)
    for handle, nan in itertools.product(wf.tier_handles(), ("propagate", "omit")):
        where = (type_name, handle.device, nan, *context)
        for op in ops:
            agree(whole.reduce(op, nan), outcome(handle.reduce, op, view, nan=nan, threads=1), op, *where)
        agree(whole.stats(nan, None, 0), outcome(handle.stats, view, nan=nan, threads=1), "stats", *where)


@pytest.mark.slow
@pytest.mark.parametrize("type_name", FLOATS)
def test_something_rare_in_a_run_of_blocks(type_name):
    """After ten blocks alike, in any of four that may be summed together, and beside their ends."""
    form, draw = FLOATS[type_name], random.Random(type_name)
    block, one = 32768 // nbytes_of(type_name), magnitude_bits(type_name, 0)
    alike = [one + draw.randrange(9) | form.sign * draw.getrandbits(1) for _ in range(18 * block + 77)]
    rare = (form.infinity - 1, 1, form.infinity, form.infinity | form.sign, form.nan, 0, form.sign, one + 9)
    for turn, value in enumerate((*rare, None)):
        bits, first = list(alike), (10 + turn % 4) * block
        places = {first + turn * 11, draw.choice((first - 1, first, first + block - 1)), 17 * block}
        for place in places if value is not None else ():
            bits[place] = value
        check_rare(type_name, bits, value, ops=("sum", "norm1", "norm2", "var", "argmin", "max"))


@pytest.mark.parametrize("type_name, code, count, low, high", [("f32", "f", 330_000, -120, 20), ("f64", "d", 170_000, -450, 300)])
def test_bins_of_products_that_would_be_full(type_name, code, count, low, high):
    """Half of the elements are as large as any that goes to the same bin, and above all others."""
    rng, precision = random.Random(type_name), FLOATS[type_name].precision
    pool = [math.ldexp(rng.randrange(2 ** (precision - 1), 2 ** precision), rng.randrange(low, high) - precision)
            for _ in range(100)]
    counts = Counter(rng.choices(range(100), k=count // 2))
    numbers = [pool[i] for i in counts.elements()]
    for exponent in range(high, high + 4):  # at each place of a bin
        largest = math.ldexp(2 ** precision - 1, exponent - precision)
        data = array(code, [x for pair in zip(numbers, [largest] * len(numbers)) for x in pair]).tobytes()
        n, view = 2 * len(numbers), wf.vector(data, type_name)
        first, second = (n // 2 * Fraction(largest) ** power + sum(m * Fraction(pool[i]) ** power for i, m in counts.items())
                         for power in (1, 2))
        for handle in wf.tier_handles():
            agree(("f64", nearest("f64", second)), handle.reduce_pair("dot", view, view, result_type="f64"), "dot", exponent)
            agree(("f64", nearest("f64", (n * second - first ** 2) / n ** 2)), handle.reduce("var", view, result_type="f64"),
                  "var", handle.device, exponent)


@pytest.mark.slow
@pytest.mark.parametrize("type_name", FLOATS)
def test_special_ones_among_all_exponents(type_name):
    """Where no window has covered a block for long: also with blocks between that one covers, and full bins."""
    form, draw = FLOATS[type_name], random.Random(type_name)
    block, one = 32768 // nbytes_of(type_name), magnitude_bits(type_name, 0)

    def wide(count):
        return [draw.randrange(form.infinity) | form.sign * draw.getrandbits(1) for _ in range(count)]

    start, end = wide(9 * block), [one + draw.randrange(9) for _ in range(3 * block)]
    full = [one + (1 << (form.precision - 1)) - 1] * (block // 2)
    for value in (form.infinity, form.infinity | form.sign, form.nan, form.nan | form.sign, form.infinity - 1, None):
        middle = wide(3 * block - len(full)) + full
        for place in draw.sample(range(3 * block), 5) if value is not None else ():
            middle[place] = value
        check_rare(type_name, start + middle + end, value, ops=("sum", "mean", "norm1"))


@pytest.mark.parametrize("type_name", FLOATS)
def test_infinities_and_nans_between_others(type_name):
    """Strided elements are copied before they are added, so that they are cleaned where they are."""
    form, draw = FLOATS[type_name], random.Random(type_name)
    nbytes, one = nbytes_of(type_name), magnitude_bits(type_name, 0)
    nan = [form.nan, form.nan | 1, form.nan | form.sign]

    def elements(count, specials):
        return [draw.choice(specials) if not draw.randrange(4) else (one + draw.randrange(999)) | form.sign * draw.randrange(2)
                for _ in range(count)]

    def bytes_added(handle, op, views, index, policy):
        accumulator = handle.accumulator(op, type_name, first_index=index, nan=policy)
        for view in views:
            accumulator.add(view[0], b=view[1] if op == "dot" else None)
        return accumulator.save()

    for count, specials in itertools.product((3, 200, 5000), (nan, [form.infinity], [form.sign, form.infinity | form.sign] + nan)):
        packed = [pack(type_name, elements(count, specials)) for _ in range(2)]
        spread = [b"".join(data[i:i + nbytes] + b"\xff" * nbytes for i in range(0, len(data), nbytes)) for data in packed]
        whole = [wf.vector(data, type_name) for data in packed]
        apart = [wf.strided(data, type_name, [count], [2 * nbytes]) for data in spread]
        for handle, op, policy in itertools.product(wf.tier_handles(), ("stats", "sum", "var", "dot", "argmin"), ("propagate", "omit")):
            expected = bytes_added(handle, op, [whole] * 3, 5, policy)
            for first in (apart, [apart[0], whole[1]], [whole[0], apart[1]]):
                found = bytes_added(handle, op, [first, whole, apart], 5, policy)
                assert found == expected, (handle.device, op, policy, count)


@pytest.mark.slow
@pytest.mark.parametrize("type_name", FLOATS)
def test_kinds_that_change_in_mid_block(type_name):
    """Infinities and NaNs, few and many, come and go, among plain, subnormal and wide elements."""
    form, draw = FLOATS[type_name], random.Random(type_name)
    block, one = 32768 // nbytes_of(type_name), magnitude_bits(type_name, 0)
    lead = 1 << (form.precision - 1)

    def signed(bits):
        return bits | form.sign * draw.getrandbits(1)

    def part(kind, specials, often):
        draws = {"plain": lambda: one + draw.randrange(lead), "wide": lambda: draw.randrange(form.infinity),
                 "subnormal": lambda: draw.randrange(lead)}
        return [signed(draw.choice(specials) if often and not draw.randrange(often) else draws[kind]())
                for _ in range(draw.randrange(block, 2 * block))]

    both, nan = (form.infinity, form.nan, form.nan + 1), (form.nan,)
    parts = [part("plain", nan, 0), part("plain", nan, 2), part("wide", nan, 900), part("wide", both, 3),
             part("plain", nan, 0), part("subnormal", nan, 500), part("wide", nan, 0), part("plain", both, 900)]
    ops = ("sum", "norm1", "norm2", "var", "min", "max", "argmin", "argmax", "nonzero")
    for bits in ([b for some in parts[:3] + parts[4:7] for b in some], [b for some in parts for b in some][:-7]):
        check_rare(type_name, bits, ops=ops)
        a, b = pack(type_name, bits), pack(type_name, [signed(other) for other in bits[::-1]])
        whole, views = PairOracle(type_name, a, b), [wf.vector(data, type_name) for data in (a, b)]
        for handle, policy in itertools.product(wf.tier_handles(), ("propagate", "omit")):
            found = outcome(handle.reduce_pair, "dot", *views, nan=policy)
            agree(whole.reduce(nan=policy), found, "dot", type_name, handle.device, policy)


@pytest.mark.parametrize("type_name", but_slow(FLOATS, "f16", "bf16"))
def test_few_and_many_outliers(type_name):
    """Far larger and far smaller elements, at any place, as few and as many as may be set aside, and one more."""
    form, draw = FLOATS[type_name], random.Random(type_name)
    block, one = 32768 // nbytes_of(type_name), magnitude_bits(type_name, 0)
    lead = 1 << (form.precision - 1)
    large = one + (form.infinity - one) // lead // 2 * lead - 3 * lead  # its square has room in the type
    outliers = [large, large + 1, lead, 1, 3 * lead + 1]

    def some(count):
        bits = [(one + draw.randrange(lead)) | form.sign * draw.getrandbits(1) for _ in range(block)]
        for place in draw.sample(range(block), count):
            bits[place] = draw.choice(outliers) | form.sign * draw.getrandbits(1)
        return bits

    few = [some(count) for count in (0, 0, 0, 1, 5, 0, 63, 64, 65, 200, 0, 2)]
    arrays = [[element for bits in few for element in bits], few[3], few[3][:77], few[4][::-1]]
    ops = ("sum", "norm1", "norm2", "var", "min", "argmax")
    for bits in arrays:
        data = pack(type_name, bits)
        partners = [pack(type_name, other) for other in (draw.sample(bits, len(bits)), [b ^ form.sign for b in bits])]
        for handle in wf.tier_handles():
            check(handle, type_name, data, handle.device, ops=ops, threads=(1, 2))
            stats = outcome(handle.stats, wf.vector(data, type_name))
            agree(oracle_of(type_name, data).stats("propagate", None, 0), stats, "stats", type_name, handle.device)
            for partner in partners:
                check_dot(handle, type_name, data, partner, handle.device, result_types=(None, "f64"))


@pytest.mark.parametrize("type_name", but_slow(FLOATS, "f16", "bf16"))
def test_outliers_block_after_block(type_name):
    """So many that they are added as a block of their own: near each other or anywhere, at times with NaNs among them."""
    form, draw = FLOATS[type_name], random.Random(type_name)
    nbytes, one = nbytes_of(type_name), magnitude_bits(type_name, 0)
    block, lead = 32768 // nbytes, 1 << (form.precision - 1)
    near = lambda: one + draw.randrange(lead)
    far = [lambda: draw.randrange(lead), lambda: draw.randrange(form.infinity), lambda: draw.choice((0, form.nan, lead))]

    def some(often, kind):
        draws = [far[kind] if draw.random() < often else near for _ in range(block)]
        return [drawn() | form.sign * draw.getrandbits(1) for drawn in draws]

    parts = [some(0.02, 0), some(0.02, 1), some(0.02, 0), some(0.5, 0), some(0.5, 1), some(0.02, 1), some(0, 0)]
    for blocks in (parts, [*parts[:3], some(0.02, 2), *parts[3:], some(0.3, 1)[:block // 2 + 5]]):
        bits = [element for each in blocks for element in each]
        data = pack(type_name, bits)
        spread = b"".join(data[i:i + nbytes] + b"\xff" * nbytes for i in range(0, len(data), nbytes))
        whole = Oracle(type_name, data)
        expected = {op: whole.reduce(op, "omit") for op in ("sum", "norm1", "norm2", "var")}
        stats = whole.stats("omit", None, 0)
        for handle in wf.tier_handles():
            for view in (wf.vector(data, type_name), wf.strided(spread, type_name, [len(bits)], [2 * nbytes])):
                for op, value in expected.items():
                    agree(value, outcome(handle.reduce, op, view, nan="omit", threads=1), op, type_name, handle.device)
                found = outcome(handle.stats, view, nan="omit", threads=1)
                agree(stats, found, "stats", type_name, handle.device)


def kinds_of_elements(type_name, draw):
    """By letter: near 1, subnormal, any, tiny and huge (whose squares leave the type), zeros, infinities or NaNs among
    others, one in three far away."""
    form, one = FLOATS[type_name], magnitude_bits(type_name, 0)
    lead = 1 << (form.precision - 1)
    tiny, huge = one // 3 // lead * lead, form.infinity - one // 4 // lead * lead
    near = lambda: one + draw.randrange(lead)
    kinds = {
        "n": near,
        "s": lambda: draw.randrange(lead),
        "a": lambda: draw.randrange(form.infinity),
        "t": lambda: tiny + draw.randrange(3 * lead),
        "h": lambda: huge - draw.randrange(3 * lead),
        "z": lambda: 0,
        "i": lambda: draw.choice((form.infinity, form.nan, one, one + 1)),
        "f": lambda: draw.randrange(lead) if draw.random() < 1 / 3 else near(),
    }
    return {name: lambda drawn=drawn: drawn() | form.sign * draw.getrandbits(1) for name, drawn in kinds.items()}


def check_kinds(type_name, bits, *context):
    """Of every tier, side by side and with a stride, the dot product with the same in another order, too."""
    nbytes, data = nbytes_of(type_name), pack(type_name, bits)
    spread = b"".join(data[i:i + nbytes] + b"\x5a" * nbytes for i in range(0, len(data), nbytes))
    turned = pack(type_name, bits[len(bits) // 3:] + bits[:len(bits) // 3])
    whole, pair = Oracle(type_name, data), PairOracle(type_name, data, turned)
    expected = {op: whole.reduce(op, "omit") for op in ("sum", "norm1", "norm2", "var")}
    stats, dot = whole.stats("omit", None, 0), pair.reduce(nan="omit")
    for handle in wf.tier_handles():
        for view in (wf.vector(data, type_name), wf.strided(spread, type_name, [len(bits)], [2 * nbytes])):
            where = (type_name, handle.device, *context)
            for op, value in expected.items():
                agree(value, outcome(handle.reduce, op, view, nan="omit", threads=1), op, *where)
            agree(stats, outcome(handle.stats, view, nan="omit", threads=1), "stats", *where)
            found = outcome(handle.reduce_pair, "dot", view, wf.vector(turned, type_name), nan="omit", threads=1)
            agree(dot, found, "dot", *where)


@pytest.mark.parametrize("type_name", but_slow(FLOATS, "f16", "bf16"))
def test_kinds_that_change_from_stretch_to_stretch(type_name):
    """A block is added by what its stretches of 4 KiB are: kinds begin and end beside their boundaries and within them."""
    draw, stretch = random.Random(f"stretches {type_name}"), 4096 // nbytes_of(type_name)
    kinds = kinds_of_elements(type_name, draw)
    lengths = (stretch, stretch - 1, stretch + 1, stretch // 2, 2 * stretch, 3 * stretch // 2, 7)
    for turn, order in enumerate(("nsazn", "snshtafzi", "thnthf", "asaznzsf", "fnisit")):
        bits = []
        for letter in order * (1 + turn % 2):
            bits += [kinds[letter]() for _ in range(draw.choice(lengths))]
        check_kinds(type_name, bits, order)


@pytest.mark.parametrize("letter", "stf")
def test_elements_that_are_scaled(letter):
    """Subnormals, and what is so small or large that its products are inexact or leave the range: as many as are scaled
    together, and one more or less; beside one that needs another scale, or none."""
    draw, form = random.Random(f"scaled {letter}"), FLOATS["f64"]
    kinds = kinds_of_elements("f64", draw)
    for count in (1, 63, 64, 65, 127, 129, 255, 257, 511, 512, 513, 1023, 1025, 4095, 4097, 5 * 4096 + 3):
        bits = [kinds[letter]() for _ in range(count)]
        check_kinds("f64", bits, count)
        if count in (65, 513, 4097):
            for other in (1, 1 << 52, (53 << 52) + 1, (1 << 52) - 1, 512 << 52, 1023 << 52, form.infinity - 1, form.nan):
                check_kinds("f64", [*bits[:count // 2], other, *bits[count // 2:]], count, other)


@pytest.mark.parametrize("exponent", (-600, -599, 423, 424, 425, 973, 974, 1000, 1023))
def test_one_too_large_for_the_scale_of_those_before(exponent):
    """Small f64 are multiplied as they are loaded: the exponent of a larger power of two would run over, to one of theirs."""
    form, draw = FLOATS["f64"], random.Random(exponent)
    bits = [draw.randrange(1 << 52) | form.sign * draw.getrandbits(1) for _ in range(15 * 4096)]
    for place in (9 * 4096 + 5, 14 * 4096 + 77):  # in a run of blocks, and in a block by itself
        other = bits[:place] + [magnitude_bits("f64", exponent)] + bits[place + 1:]
        for handle, _ in itertools.product(wf.tier_handles(), range(2)):
            check_float(handle, "f64", other, handle.device, place, ops=("sum", "norm1"), threads=(1,))


@pytest.mark.parametrize("type_name", FLOATS)
def test_extremes_in_each_block_of_a_run(type_name):
    """Of a run's blocks one is searched for the extremum's place, the first of those that have it; NaNs in any."""
    form, draw = FLOATS[type_name], random.Random(type_name)
    block, one = 32768 // nbytes_of(type_name), magnitude_bits(type_name, 0)
    usual = [draw.randrange(one) | form.sign * draw.getrandbits(1) for _ in range(5 * block + 3)]
    for first, nan in itertools.product(range(5), (None, 0, 3, 4)):
        bits = usual[:]
        for b, extremum in itertools.product(range(first, 5), (one, one | form.sign)):
            bits[b * block + draw.randrange(1, block)] = extremum
        if nan is not None:
            bits[nan * block: nan * block + 1 + block // (1 + first)] = [form.nan] * (1 + block // (1 + first))
        for handle in wf.tier_handles():
            check_float(handle, type_name, bits, handle.device, first, nan, ops=("min", "max", "argmin", "argmax", "norminf"), threads=(1,))


@pytest.mark.parametrize("exponents", [(-1000, 900), (900, -1000), (-600, -500), (-1060, -10), (500, 520), (-1073, 1000)])
def test_dot_products_of_small_with_large(handle, exponents):
    """Each operand is scaled by itself."""
    draw = random.Random(str(exponents))
    for count in (5, 100, 700, 5000):
        a, b = ([magnitude_bits("f64", exponent + draw.randrange(4)) | draw.choice((0, 1 << 63)) for _ in range(count)]
                for exponent in exponents)
        a, b = ([bits | draw.randrange(1 << 52) if bits & 0x7ff << 52 else bits for bits in some] for some in (a, b))
        for left, right in ((a, b), (a, a), ([0] * count, b), (a, [0] * count)):
            check_dot(handle, "f64", pack("f64", left), pack("f64", right), count)


@pytest.mark.slow
@pytest.mark.parametrize("type_name", FLOATS)
def test_only_minus_zeros_but_one(handle, type_name):
    form = FLOATS[type_name]
    for count in (1, 5, 8, 1000, 40000):
        for place, value in (
            (0, form.sign),
            (count - 1, 0),
            (count // 2, 0),
            (count // 2, 1 | form.sign),
            (0, form.nan),
        ):
            bits = [form.sign] * count
            bits[place] = value
            check_float(
                handle, type_name, bits, count, place, hex(value), ops=("sum", "mean", "min", "max", "argmax")
            )
            data, zeros = pack(type_name, bits), pack(type_name, [0] * count)
            for op in ("sum", "mean"):
                agree(
                    Oracle(type_name, data).reduce(op, "omit"),
                    outcome(handle.reduce, op, wf.vector(data, type_name), nan="omit"),
                    *(op, count, place, "omit"),
                )
            agree(
                PairOracle(type_name, data, zeros).reduce("dot", "omit"),
                handle.reduce_pair("dot", *(wf.vector(x, type_name) for x in (data, zeros)), nan="omit"),
                *("dot", count, place, "omit"),
            )


@pytest.mark.slow
@pytest.mark.parametrize("type_name", ("f32", "f64", "f16"))
def test_small_counts_exhaustively(handle, type_name):
    """Every array of up to three of the most awkward numbers."""
    form = FLOATS[type_name]
    lead = 1 << (form.precision - 1)
    one = magnitude_bits(type_name, 0)
    awkward = [0, 1, lead - 1, lead, one, one + 1, form.infinity - 1, form.infinity, form.nan]
    awkward += [x | form.sign for x in awkward[:-1]]
    for count in (1, 2, 3):
        for bits in itertools.product(awkward, repeat=count):
            check_float(handle, type_name, bits, [hex(x) for x in bits])


# ---- a few elements, which are reduced without an accumulator -----------------------------------------


def few_bits(type_name, count, spread):
    """Of exponents so many binades apart, with zeros of both signs, and pairs that cancel but for the last bit."""
    form = FLOATS[type_name]
    fraction_bits = form.precision - 1
    largest_field = (form.infinity >> fraction_bits) - 1
    lowest = random.choice([0, 1, max(0, largest_field - spread), random.randint(0, max(0, largest_field - spread))])
    highest = min(lowest + spread, largest_field)
    bits = []
    for i in range(count):
        field = (lowest, highest)[i] if i < 2 else random.randint(lowest, highest)
        sign = random.choice([0, form.sign])
        kind = random.randrange(8) if i >= 2 else None
        if kind == 0:
            bits.append(sign)
        elif kind == 1:
            bits.append(bits[-1] ^ form.sign ^ random.choice([0, 1]))
        else:
            bits.append(field << fraction_bits | random.getrandbits(fraction_bits) | sign)
    random.shuffle(bits)
    return bits


@pytest.mark.parametrize("type_name", FLOATS)
def test_sums_of_a_few(handle, type_name):
    auto = wf.Handle("auto")
    random.seed(type_name)
    spreads = (0, 1, 20, 59, 64, 66, 67, 68, 69, 70, 90, 97, 98, 99, 113, 114, 2000)
    for count, spread, _ in itertools.product((1, 2, 3, 16, 31, 32, 33), spreads, range(3)):
        bits = few_bits(type_name, count, spread)
        check_float(handle, type_name, bits, count, spread, ops=["sum"], result_types=(None, "f32", "f64", "i64"))
        check_float(auto, type_name, bits, count, spread, "auto", ops=["sum"])


@pytest.mark.parametrize("type_name", FLOATS)
def test_every_op_of_a_few(handle, type_name):
    """Where squares begin not to fit, at 61 bits, and beyond; of one sign, where sums are largest, too."""
    form = FLOATS[type_name]
    random.seed(type_name)
    edge = 61 - form.precision
    for count, spread in itertools.product((1, 2, 4, 5, 31, 32, 33), (0, edge - 1, edge, edge + 1, 90)):
        bits = few_bits(type_name, count, spread)
        for elements in (bits, [b | form.sign for b in bits]):
            check_float(handle, type_name, elements, count, spread, ops=FLOAT_OPS + COUNTS)


@pytest.mark.parametrize("type_name", ("i64", "u64"))
def test_every_op_of_a_few_integers(handle, type_name):
    """About 2^61, up to which squares fit."""
    draw, (low, high) = random.Random(type_name), INTEGERS[type_name]
    edges = [sign * (1 << bits) + near for sign in (1, -1) for bits in (0, 30, 61) for near in (-1, 0, 1)]
    edges = [edge for edge in edges if low <= edge <= high]
    for count in (1, 2, 4, 5, 31, 32, 33):
        for _ in range(4):
            data = pack(type_name, draw.choices(edges, k=count))
            check(handle, type_name, data, ops=FLOAT_OPS + COUNTS, result_types=(None, "f64"))


@pytest.mark.parametrize("type_name", FLOATS)
def test_sums_of_a_few_as_large_as_they_can_be(handle, type_name):
    """All of one sign and of the largest fraction, but for one, far below."""
    form = FLOATS[type_name]
    ones = (1 << form.precision - 1) - 1
    for sign, count, spread in itertools.product((0, form.sign), (31, 32, 33), range(56, 126)):
        highest = min(1 + spread, (form.infinity >> form.precision - 1) - 1)
        bits = [1 << form.precision - 1 | 1 | sign] + [highest << form.precision - 1 | ones | sign] * (count - 1)
        check_float(handle, type_name, bits, count, spread, ops=["sum"], result_types=(None, "f64"))


@pytest.mark.parametrize("type_name", FLOATS)
def test_a_few_special_ones(handle, type_name):
    inf, nan, minus = FLOATS[type_name].infinity, FLOATS[type_name].nan, FLOATS[type_name].sign
    one, tiny = magnitude_bits(type_name, 0), 1
    for bits in (
        [[inf], [inf, inf | minus], [one, inf | minus], [one, nan], [nan], [nan, inf]]
        + [[0], [minus], [minus, 0], [minus] * 3, [one, one | minus], [tiny, tiny | minus, minus]]
        + [[tiny], [tiny | minus, minus], [one, tiny, one | minus], [inf - 1] * 32, [inf - 1, inf - 1 | minus]]
    ):
        check_float(handle, type_name, bits, ops=FLOAT_OPS + COUNTS, result_types=(None, "f16", "f64", "u64"))
