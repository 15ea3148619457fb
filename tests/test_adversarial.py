"""Data chosen to break a reduction that is almost right."""

import itertools
import random
from fractions import Fraction
from functools import lru_cache

import pytest

import warpfold_ctypes as wf
from oracle import FLOATS, Oracle, PairOracle, fraction
from samples import agree, nbytes_of, nearest, outcome, pack, pack_values

FLOAT_OPS = "sum mean var std norm1 norm2 norminf prod min max argmin argmax".split()
COUNTS = ["any", "all", "nonzero"]


@pytest.fixture(scope="module")
def handle():
    return wf.Handle()


@lru_cache(maxsize=4)
def oracle_of(type_name, *arrays):
    """Kept for a while: tiers are given the same arrays, one after the other."""
    return (PairOracle if len(arrays) == 2 else Oracle)(type_name, *arrays)


def check(handle, type_name, data, *context, ops=FLOAT_OPS, result_types=(None,), threads=(1,)):
    whole, view = oracle_of(type_name, data), wf.vector(data, type_name)
    for op, result_type, count in itertools.product(ops, result_types, threads):
        agree(
            whole.reduce(op, result_type=result_type),
            outcome(handle.reduce, op, view, result_type=result_type, threads=count),
            op,
            type_name,
            result_type,
            f"threads {count}",
            *context,
        )


def check_dot(handle, type_name, a, b, *context, result_types=(None,)):
    views = [wf.vector(data, type_name) for data in (a, b)]
    for result_type in result_types:
        agree(
            oracle_of(type_name, a, b).reduce(result_type=result_type),
            outcome(handle.reduce_pair, "dot", *views, result_type=result_type),
            "dot",
            type_name,
            result_type,
            *context,
        )


def check_float(handle, type_name, bits, *context, **chosen):
    check(handle, type_name, pack(type_name, bits), *context, **chosen)


def magnitude_bits(type_name, exponent):
    """The bits of 2**exponent."""
    return nearest(type_name, Fraction(2) ** exponent)


# ---- exponents ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("type_name", FLOATS)
def test_every_exponent_once(handle, type_name):
    form, draw = FLOATS[type_name], random.Random(type_name)
    lead = 1 << (form.precision - 1)
    powers = [field * lead for field in range(1, form.infinity // lead)] + [
        1 << k for k in range(form.precision - 1)
    ]
    anything = [bits | draw.randrange(lead) for bits in powers[: form.infinity // lead - 1]] + powers[-9:]
    for bits in (powers, anything):
        signed = [b | form.sign * draw.getrandbits(1) for b in bits]
        for elements in (bits, bits[::-1], signed, [b ^ form.sign for b in bits]):
            check_float(handle, type_name, elements, result_types=tuple(FLOATS))
        draw.shuffle(signed)
        check_float(handle, type_name, signed, result_types=tuple(FLOATS))
        a = pack(type_name, bits)
        for partner in (bits, bits[::-1], signed):
            check_dot(handle, type_name, a, pack(type_name, partner), result_types=tuple(FLOATS))


@pytest.mark.parametrize("sign", (1, -1, None), ids=("positive", "negative", "mixed"))
def test_most_of_one_exponent_among_all(sign):
    """So many of them that what takes values by their exponents is full again and again."""
    draw, bits = random.Random(str(sign)), []
    for _ in range(9 * 4096 + 5):
        field = 1500 if draw.random() < 0.9 else draw.randrange(1, 1400)
        negative = sign == -1 if sign else draw.random() < 0.5
        bits.append(negative << 63 | field << 52 | ((1 << 52) - 1 - draw.randrange(2)))
    for handle in wf.tier_handles():
        check_float(handle, "f64", bits, handle.device, ops=("sum", "norm1", "norm2"))


@pytest.mark.parametrize("type_name, span", [("f64", 140), ("f64", 187), ("f64", 281), ("f32", 277)])
def test_halves_of_a_grid_unit_in_most_lanes(type_name, span):
    """Equal powers of two among others, as far apart as three, four or six levels cover, or the type has: half of a grid's
    unit is the most that a level leaves the next one, and here it does so in each addition."""
    fraction_bits, sign = FLOATS[type_name].precision - 1, FLOATS[type_name].sign
    low = 1 if type_name == "f32" else 500
    high = low + span - fraction_bits - 1
    others = [low << fraction_bits | 1, high << fraction_bits, low << fraction_bits, high << fraction_bits | sign]
    for field in range(low, high + 1):
        bits = [field << fraction_bits if i % 8 else others[i // 8 % 4] for i in range(801)]
        for handle in wf.tier_handles():
            check_float(handle, type_name, bits, handle.device, field, ops=("sum", "norm1"), result_types=("f64",))


@pytest.mark.parametrize("count", (511, 513, 1536, 1537, 2047, 2048, 2049, 4096, 3 * 1536 + 1))
def test_full_significands_of_one_exponent_where_bins_are_looked_at(count):
    """As many as a bin of one exponent takes, and one more; two elements elsewhere make the rest no window's."""
    for field in (0, 1, 31, 32, 33, 1023, 2015, 2016, 2046):
        bits = [1, 2000 << 52, *([field << 52 | (1 << 52) - 1] * count)]
        for flip in (0, 1 << 63):
            data = pack("f64", [x ^ flip for x in bits])
            for handle in wf.tier_handles():
                check(handle, "f64", data, handle.device, field, ops=("sum", "norm1"))


@pytest.mark.parametrize("type_name", ("f32", "bf16"))
def test_many_squares_of_one_exponent_among_all(type_name):
    """So many full significands that a bin of their squares has no room for one more, and too few to be parted from the
    others."""
    form, draw = FLOATS[type_name], random.Random(type_name)
    bits = [form.infinity - 1 if i % 5 < 2 else draw.randrange(form.infinity) for i in range(4 * 65536 + 9)]
    data = pack(type_name, [x | form.sign * (i % 3 == 0) for i, x in enumerate(bits)])
    for handle in wf.tier_handles():
        check(handle, type_name, data, handle.device, ops=("var", "std"))
        agree(oracle_of(type_name, data).stats("propagate", None, 0), outcome(handle.stats, wf.vector(data, type_name),
              threads=1), "stats", handle.device)


@pytest.mark.parametrize("type_name", FLOATS)
def test_another_kind_of_data_in_each_block(type_name):
    """Each block guesses wrong from those before it; NaNs and infinities lie where what is looked at once more begins and
    ends."""
    form, draw, bits = FLOATS[type_name], random.Random(type_name), []
    block, one = 32768 // nbytes_of(type_name), magnitude_bits(type_name, 0)
    for kind in "nnnwwnwnznwswnnw":
        of_kind = {
            "n": lambda: one + draw.randrange(one >> 6),
            "w": lambda: draw.randrange(form.infinity),
            "s": lambda: draw.randrange(1 << form.precision - 1),
            "z": lambda: 0,
        }[kind]
        bits += [of_kind() | form.sign * draw.getrandbits(1) for _ in range(block)]
    plain = pack(type_name, bits)
    for place in (3 * block, 3 * block + 511, 4 * block + 512, 6 * block + 1023, 12 * block - 1, 13 * block):
        bits[place] = form.infinity | 1
    with_nans = pack(type_name, bits)
    for place in (4 * block - 1, 6 * block + 512, 12 * block):
        bits[place] = form.infinity | form.sign
    whole = pack(type_name, bits)
    for handle in wf.tier_handles():
        check(handle, type_name, plain, handle.device, ops=("sum", "norm1", "norm2", "var"))
        for data in (with_nans, whole):
            view = wf.vector(data, type_name)
            for op, nan in itertools.product(("sum", "mean", "norm1", "var"), ("omit", "error")):
                agree(oracle_of(type_name, data).reduce(op, nan), outcome(handle.reduce, op, view, nan=nan, threads=1), op,
                      handle.device, nan)
            agree(oracle_of(type_name, data).stats("omit", None, 0),
                  outcome(handle.stats, view, nan="omit", threads=1), "stats", handle.device)
        with pytest.raises(Exception, match=rf"\b{3 * block}\b"):
            handle.reduce("sum", wf.vector(whole, type_name), nan="error")


def check_lone_sums(type_name, bits, *context, nans=("propagate",)):
    """On every tier: of these sums alone, which 16-bit types have a way of their own for."""
    data = pack(type_name, bits)
    view = wf.vector(data, type_name)
    for handle, op, nan in itertools.product(wf.tier_handles(), ("sum", "norm1"), nans):
        agree(oracle_of(type_name, data).reduce(op, nan), outcome(handle.reduce, op, view, nan=nan, threads=1), op, nan,
              handle.device, *context)


@pytest.mark.parametrize("type_name", ("bf16", "f16"))
def test_every_range_of_exponents_of_16_bits(type_name):
    """Of every width, at either end and in the middle, then somewhat further up and down than the block before."""
    form, draw = FLOATS[type_name], random.Random(type_name)
    lead, fields, block = 1 << form.precision - 1, form.infinity >> form.precision - 1, 16384

    def elements(low, high, count):
        """Its ends among them, with full significands."""
        ends = [low * lead, (high + 1) * lead - 1] * 2
        return [x | form.sign * draw.getrandbits(1) for x in ends + draw.choices(range(low * lead, (high + 1) * lead), k=count - 4)]

    for width in sorted({w for w in (1, 2, 15, 16, 17, 28, 29, 30, 31, 32, 33, 63, 64, 65, 127, 128, 129, 252, 254, 255) if w <= fields}):
        for low in sorted({0, 1, (fields - width) // 2, max(fields - width - 1, 0), fields - width}):
            high = low + width - 1
            check_lone_sums(type_name, elements(low, high, 300), low, high)
            bits = elements(low, high, block) + elements(max(low - 1, 0), min(high + 3, fields - 1), block)
            check_lone_sums(type_name, bits + elements(max(low - 40, 0), high, 777), low, high, "then further")


@pytest.mark.parametrize("type_name", ("bf16", "f16"))
def test_sums_of_16_bits_that_are_as_large_as_can_be(type_name):
    """All of one exponent and sign, with full significands: what is added to in 32 bits is nearly full, in each lane."""
    form = FLOATS[type_name]
    lead, fields = 1 << form.precision - 1, form.infinity >> form.precision - 1
    for field, sign in itertools.product(range(fields) if fields < 32 else (0, 1, 2, 31, 32, 127, 128, 200, 253, 254), (0, form.sign)):
        full = (field + 1) * lead - 1 | sign
        for other in (full, lead if field else full, form.infinity - 1):
            check_lone_sums(type_name, [other, *([full] * 33333)], field, other)


@pytest.mark.parametrize("type_name", ("bf16", "f16"))
def test_what_is_not_finite_at_every_place_of_16_bit_vectors(type_name):
    """And what it displaces: at odd addresses, of every length about that of a vector, in every policy."""
    form, draw = FLOATS[type_name], random.Random(type_name)
    plain = [form.sign * draw.getrandbits(1) | magnitude_bits(type_name, draw.randrange(-9, 5)) + draw.randrange(99) for _ in range(130)]
    for place in range(97):
        bits = list(plain[: 97 + place % 34])
        bits[place] = draw.choice((form.infinity, form.infinity | form.sign, form.infinity | 1, form.sign - 1))
        check_lone_sums(type_name, bits, place, nans=("propagate", "omit"))
    for count in range(1, 130):
        data = pack(type_name, plain[:count])
        for handle, op in itertools.product(wf.tier_handles(), ("sum", "norm1")):
            moved = wf.vector(b"\1" + data, type_name, count, 1)
            agree(oracle_of(type_name, data).reduce(op), outcome(handle.reduce, op, moved), op, handle.device, count)


@pytest.mark.parametrize("type_name", ("bf16", "f16"))
@pytest.mark.parametrize("is_wide", (False, True))
def test_what_is_not_finite_at_every_place_of_16_bits_where_it_is_expected(type_name, is_wide):
    """After a block that had a NaN; the last vector is part of one.  None is expected in the last block but one."""
    form, draw = FLOATS[type_name], random.Random(type_name)
    fields = range(form.infinity >> form.precision - 1) if is_wide else range(3, 9)
    lead = 1 << form.precision - 1
    plain = [draw.choice(fields) * lead + draw.randrange(lead) | form.sign * draw.getrandbits(1) for _ in range(16384)]
    for place in range(33):
        special = (form.infinity, form.infinity | form.sign, form.sign - 1, form.infinity | form.sign | 1)[place % 4]
        blocks = [list(plain) for _ in range(5)]
        blocks[0][7] = form.nan
        if place // 4 % 2:  # one of them alone, so that the other does not hide that it is missing
            blocks[4][place] = special
        else:
            blocks[1][-1 - place] = special
        check_lone_sums(type_name, blocks[0] + blocks[1] + blocks[2] + blocks[3] + blocks[4][:90 + place],
                        place, nans=("propagate", "omit"))


@pytest.mark.parametrize("type_name", FLOATS)
@pytest.mark.parametrize("op", ("sum", "norm1", "norm2", "var", "dot"))
def test_what_is_not_finite_at_every_place_where_it_is_expected(type_name, op):
    """After arrays whose window is known, of which the last had a NaN: in a vector, in a group of vectors and after the last
    one, alone and beside others, at odd addresses, and where the window no longer holds."""
    form, draw, size = FLOATS[type_name], random.Random(op), nbytes_of(type_name)
    specials = (form.infinity, form.infinity | form.sign, form.infinity | 1, form.infinity | form.sign | 3)
    plain = [form.sign * draw.getrandbits(1) | magnitude_bits(type_name, draw.randrange(-3, 4)) + draw.randrange(99) for _ in range(700)]

    def found(handle, bits, **chosen):
        data, partner = pack(type_name, bits), pack(type_name, plain[: len(bits)])
        views = [wf.vector(b"\1" + x, type_name, len(bits), 1) for x in ((data, partner) if op == "dot" else (data,))]
        reduce = handle.reduce_pair if op == "dot" else handle.reduce
        return outcome(reduce, op, *views, threads=1, **chosen), (data, partner) if op == "dot" else (data,)

    for handle in wf.tier_handles():
        for bits in (plain, plain, plain, plain, [form.infinity | 1, *plain], [form.infinity | 1, *plain]):
            found(handle, bits[:700])
        for place in range(0, 150 if size > 2 else 290):
            bits = plain[: 512 * 4 // size + place]
            bits[place] = specials[place % 4]
            if place % 3 == 0: bits[-1 - place // 2] = specials[place // 4 % 4]
            if place % 29 == 28: bits[place // 2] = form.infinity - 1 if place % 2 else 1
            for policy in ("propagate", "omit"):
                value, arrays = found(handle, bits, nan=policy)
                whole = oracle_of(type_name, *arrays)
                agree(whole.reduce(nan=policy) if op == "dot" else whole.reduce(op, policy), value, op, policy, handle.device, place)


@pytest.mark.parametrize("type_name", FLOATS)
@pytest.mark.parametrize("every", (1, 2, 7))
def test_nans_in_every_so_many_blocks(type_name, every):
    """What is expected of the next block is right or wrong, and the first NaN lies anywhere, one infinity after it."""
    form, draw = FLOATS[type_name], random.Random(every)
    block, one = 32768 // nbytes_of(type_name), magnitude_bits(type_name, 0)
    plain = [one + draw.randrange(one >> 6) | form.sign * draw.getrandbits(1) for _ in range(block)]
    for first in (0, 15, 16, 127, 128, 511, 512, 1023, block - 1):
        bits = plain * 5 + plain[:77]
        for place in range(first, len(bits), every * block):
            bits[place] = form.infinity | draw.choice((1, form.sign | 3))
        nans = pack(type_name, bits)
        bits[-1] = form.infinity | form.sign
        for handle, data in itertools.product(wf.tier_handles(), (nans, pack(type_name, bits))):
            view = wf.vector(data, type_name)
            for op, nan in (("sum", "omit"), ("var", "omit"), ("norm1", "omit"), ("max", "omit"), ("argmax", "propagate")):
                agree(oracle_of(type_name, data).reduce(op, nan), outcome(handle.reduce, op, view, nan=nan, threads=1), op,
                      handle.device, first)
            for op in ("sum", "stats", "prod"):
                with pytest.raises(Exception, match=rf"\b{first}\b"):
                    handle.stats(view, nan="error") if op == "stats" else handle.reduce(op, view, nan="error")


@pytest.mark.parametrize("type_name", FLOATS)
def test_counts_at_which_bins_are_taken_over_all_exponents(type_name):
    """A few go one by one, more to bins of several exponents, whole blocks to bins of one: on both sides of each."""
    form, draw = FLOATS[type_name], random.Random(type_name)
    for count in (63, 65, 97, 129, 199, 201, 1000, 2047, 2049, 4095, 4097):
        bits = [draw.randrange(form.infinity) | form.sign * draw.getrandbits(1) for _ in range(count)]
        bits[3:12] = form.infinity - 1, 1, 0, form.sign, form.sign | 1, 1 << form.precision - 1, 3, 2, form.infinity - 2
        data, partner = pack(type_name, bits), pack(type_name, bits[::-1])
        for handle in wf.tier_handles():
            check(handle, type_name, data, handle.device, count, ops=("sum", "norm1", "norm2", "var"))
            check_dot(handle, type_name, data, partner, handle.device, count)
            check_dot(handle, type_name, data, data, handle.device, count)
            agree(oracle_of(type_name, data).stats("propagate", None, 0),
                  outcome(handle.stats, wf.vector(data, type_name)), "stats", handle.device, count)


@pytest.mark.parametrize("type_name", FLOATS)
def test_subnormals_only(handle, type_name):
    form, draw = FLOATS[type_name], random.Random(type_name)
    lead = 1 << (form.precision - 1)
    for count in (1, 2, 3, 100, 5000):
        for most in (2, lead):
            bits = [draw.randrange(most) | form.sign * draw.getrandbits(1) for _ in range(count)]
            check_float(handle, type_name, bits, count, most, result_types=tuple(FLOATS))
            data = pack(type_name, bits)
            check_dot(
                handle, type_name, data, pack(type_name, bits[::-1]), count, most, result_types=tuple(FLOATS)
            )


SPREADS = {"f16": (0, 5, 14), "bf16": (0, 20, 126), "f32": (0, 20, 100), "f64": (0, 20, 100, 500, 1022)}


@pytest.mark.slow
@pytest.mark.parametrize(
    "type_name, spread", [(name, spread) for name in SPREADS for spread in SPREADS[name]]
)
def test_data_spread_over_exponents(handle, type_name, spread):
    """Uniform in the exponent, alternating between the ends, and rising block by block."""
    draw = random.Random(spread)
    least, most = max(-spread, FLOATS[type_name].lowest), spread

    def element(exponent):
        return nearest(
            type_name, Fraction(draw.uniform(1, 2) * draw.choice((-1, 1))) * Fraction(2) ** exponent
        )

    count = 40000 // nbytes_of(type_name)
    uniform = [element(draw.randint(least, most)) for _ in range(count)]
    ends = [element((least, most)[i & 1]) for i in range(count)]
    rising = [element(least + (most - least) * i // count) for i in range(count)]
    for name, bits in (("uniform", uniform), ("ends", ends), ("rising", rising), ("falling", rising[::-1])):
        check_float(handle, type_name, bits, name, spread, threads=(1, 3))
        check_dot(handle, type_name, pack(type_name, bits), pack(type_name, uniform), name, spread)


@pytest.mark.slow
@pytest.mark.parametrize("type_name", FLOATS)
def test_full_significands_a_gap_apart(handle, type_name):
    """All significands are full and all signs the same: what partial sums of few bits hold least well."""
    form = FLOATS[type_name]
    lead = 1 << (form.precision - 1)
    fields = form.infinity // lead
    for gap in sorted(
        {gap for gap in (0, 1, 10, 11, 24, 25, 48, 51, 52, 53, 70, 99, 150, 210, 253) if gap < fields - 1}
    ):
        for count, top in (
            (23, fields - 1),
            (24, fields // 2 + gap // 2),
            (40000 // nbytes_of(type_name), gap + 1),
        ):
            high, low = top * lead + lead - 1, (top - gap) * lead + lead - 1
            bits = [high, *([low] * (count // 2)), *([high] * (count // 2))]
            check_float(handle, type_name, bits, gap, count, ops=("sum", "norm1", "norm2", "var"))
            mixed = [x ^ (form.sign if i % 3 else 0) for i, x in enumerate(bits)]
            check_float(handle, type_name, mixed, gap, count, "mixed", ops=("sum", "norm1"))
            check_dot(handle, type_name, pack(type_name, bits), pack(type_name, bits[::-1]), gap, count)


# ---- ties --------------------------------------------------------------------------------------------


def exact_parts(type_name, value):
    """Elements of the type whose exact sum is the value; None where there are none."""
    form, parts = FLOATS[type_name], []
    while value:
        bits = nearest(type_name, value)
        if bits & ~form.sign >= form.infinity:
            bits = (form.infinity - 1) | (bits & form.sign)
        if not bits & ~form.sign or len(parts) > 60:
            return None
        parts.append(bits)
        value -= fraction(bits, form)
    return parts


def midpoints(result_type, draw, count=12):
    """(bits of low, midpoint, half the gap) of neighbours of the type: random ones, subnormals, powers of
    two, and the last before infinity."""
    form = FLOATS[result_type]
    lead = 1 << (form.precision - 1)
    chosen = [0, 1, 2, lead - 1, lead, lead + 1, form.infinity - 1, form.infinity - 2]
    chosen += [lead * draw.randrange(2, form.infinity // lead) - draw.choice((0, 1)) for _ in range(4)]
    chosen += [draw.randrange(form.infinity - 1) for _ in range(count)]
    # In the range of every type:
    chosen += [nearest(result_type, Fraction(2 ** draw.uniform(-4, 8))) for _ in range(count)]
    for bits in chosen:
        low = fraction(bits, form)
        below = bits if bits + 1 < form.infinity else bits - 1
        half_gap = (fraction(below + 1, form) - fraction(below, form)) / 2
        yield bits, low + half_gap, half_gap


@pytest.mark.sampled
@pytest.mark.parametrize("result_type", FLOATS)
@pytest.mark.parametrize("type_name", FLOATS)
def test_sums_at_and_beside_every_kind_of_midpoint(handle, type_name, result_type):
    """Exactly on the midpoint between two results (to even), and off it by the least that can be told."""
    form, draw = FLOATS[type_name], random.Random(f"{type_name} {result_type}")
    target = FLOATS[result_type]
    tried = 0
    for low, midpoint, half_gap in midpoints(result_type, draw):
        parts = exact_parts(type_name, midpoint)
        if parts is None:
            continue
        offsets = [
            k
            for k in {form.lowest, -8, -30, -60, -100, -200, -500, -1000}
            if form.lowest <= k and Fraction(2) ** k < half_gap
        ]
        for sign, offset in [(0, None), *itertools.product((-1, 1), offsets)]:
            bits = parts + ([nearest(type_name, sign * Fraction(2) ** offset)] if sign else [])
            expected = low + 1 if sign > 0 or (sign == 0 and low & 1) else low
            for flip in (0, form.sign):
                order = [x ^ flip for x in bits]
                draw.shuffle(order)
                data = pack(type_name, order)
                agree(
                    (result_type, expected | (target.sign if flip else 0)),
                    handle.reduce("sum", wf.vector(data, type_name), result_type=result_type),
                    type_name,
                    result_type,
                    hex(low),
                    sign,
                    offset,
                )
                check(
                    handle,
                    type_name,
                    data,
                    hex(low),
                    sign,
                    offset,
                    ops=("sum", "mean", "norm1", "norm2", "std"),
                    result_types=(result_type,),
                )
                # The same exact value, far below the noise of a large sum.
                noise = [form.infinity - 1, (form.infinity - 1) | form.sign] * 50
                data = pack(type_name, noise[: draw.randrange(50) * 2] + order + noise)
                check(handle, type_name, data, hex(low), "noise", ops=("sum",), result_types=(result_type,))
            tried += 1
    assert tried or (type_name, result_type) == ("f16", "f64")  # no sum of few f16 has 54 bits


@pytest.mark.parametrize("result_type", ("f16", "bf16", "f32"))
def test_every_op_of_one_number_at_a_midpoint(handle, result_type):
    """An f64 that lies on or beside the midpoint of two results, through every op."""
    draw = random.Random(result_type)
    for low, midpoint, _ in midpoints(result_type, draw, 20):
        bits = nearest("f64", midpoint)
        if fraction(bits, FLOATS["f64"]) != midpoint:
            continue
        for beside in (bits - 1, bits, bits + 1):
            expected = low + (beside > bits or (beside == bits and low & 1))
            one = pack("f64", [beside])
            for op in ("sum", "mean", "norm1", "norm2", "norminf", "min", "max", "prod"):
                agree(
                    (result_type, expected),
                    handle.reduce(op, wf.vector(one, "f64"), result_type=result_type),
                    op,
                    result_type,
                    hex(beside),
                )
            pair = pack("f64", [beside, beside | FLOATS["f64"].sign])
            agree(
                (result_type, expected),
                handle.reduce("std", wf.vector(pair, "f64"), result_type=result_type),
                "std",
                result_type,
                hex(beside),
            )


def test_square_roots_at_the_midpoint_of_two_doubles(handle):
    """norm2 of (2k, 2k, k) is 3k exactly; with 54 bits that is a tie."""
    draw = random.Random(5)
    for _ in range(300):
        k = draw.randrange(2**53 // 3 + 1, 2**54 // 3) | 1
        assert (3 * k).bit_length() == 54
        values = [2 * k, 2 * k, k]
        low = (3 * k) // 2
        expected = nearest("f64", Fraction(2 * (low + (low & 1))))
        assert handle.reduce("norm2", wf.vector(pack_values("f64", values), "f64")) == ("f64", expected)
        for tiny in (Fraction(1, 2**400), Fraction(1, 2**1074)):
            data = pack_values("f64", values + [tiny])
            assert handle.reduce("norm2", wf.vector(data, "f64")) == (
                "f64",
                nearest("f64", Fraction(2 * (low + 1))),
            )
        # std: the mean is 0 and n is 6, the variance 3k*k of (3k/2)-like ties for ddof 0 and 1.
        check(handle, "f64", pack_values("f64", values + [-x for x in values]), k, ops=("std", "var", "mean"))


def test_variances_and_means_of_small_integers(handle):
    """Exact ties of the quotients and roots are common here."""
    draw = random.Random(6)
    for type_name in ("f16", "bf16", "f32", "i8", "u16"):
        for count in (2, 3, 4, 8, 16, 64):
            for _ in range(25):
                low = 0 if type_name == "u16" else -100
                data = pack_values(type_name, [draw.randint(low, 100) for _ in range(count)])
                check(
                    handle,
                    type_name,
                    data,
                    count,
                    ops=("mean", "var", "std", "norm2"),
                    result_types=("f16", "bf16", "f32", "f64", "i64", "u8"),
                )


def test_halves_round_to_even_integers(handle):
    for numerator in range(-9, 10):
        value = Fraction(numerator, 2)
        even = round(value)
        for type_name in FLOATS:
            view = wf.vector(pack_values(type_name, [value]), type_name)
            for op in ("sum", "mean", "min", "prod"):
                assert handle.reduce(op, view, result_type="i8") == ("i8", even)
        view = wf.vector(pack_values("i16", [numerator, 0]), "i16")
        assert handle.reduce("mean", view, result_type="i32") == ("i32", even)


# ---- cancellation ------------------------------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", FLOATS)
def test_cancellation_to_the_last_bit(handle, type_name):
    form, draw = FLOATS[type_name], random.Random(type_name)
    least, one = 1, magnitude_bits(type_name, 0)
    for count in (10, 1000, 12000):
        half = [draw.randrange(form.infinity) | form.sign * draw.getrandbits(1) for _ in range(count)]
        for rest in ([], [least], [least | form.sign], [one, least], [form.sign]):
            bits = half + [x ^ form.sign for x in half] + rest
            draw.shuffle(bits)
            check_float(
                handle,
                type_name,
                bits,
                count,
                rest,
                ops=("sum", "mean"),
                result_types=tuple(FLOATS),
                threads=(1, 2),
            )
        partner = [draw.randrange(form.infinity) for _ in range(count)]
        a = pack(type_name, half + half + [least])
        b = pack(type_name, partner + [x ^ form.sign for x in partner] + [least | form.sign])
        check_dot(handle, type_name, a, b, count, result_types=tuple(FLOATS))


@pytest.mark.parametrize("type_name", FLOATS)
def test_variance_of_nearly_equal_numbers(handle, type_name):
    form, draw = FLOATS[type_name], random.Random(type_name)
    for centre in (magnitude_bits(type_name, 0), magnitude_bits(type_name, 10) + 1, form.infinity - 9, 9):
        for count in (2, 3, 1000):
            bits = [centre + draw.randrange(-1, 2) for _ in range(count)]
            check_float(
                handle, type_name, bits, centre, count, ops=("var", "std", "mean"), result_types=tuple(FLOATS)
            )
        check_float(handle, type_name, [centre] * 1001, centre, ops=("var", "std", "mean"))


# ---- overflow ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("type_name", FLOATS)
def test_overflow_on_the_way_to_a_finite_result(handle, type_name):
    form = FLOATS[type_name]
    most, minus_most = form.infinity - 1, (form.infinity - 1) | form.sign
    for count in (1, 2, 40, 2500):
        for rest in ([], [1], [most], [minus_most, 1]):
            bits = [most] * count + [minus_most] * count + rest
            check_float(handle, type_name, bits, count, rest, result_types=tuple(FLOATS))
        check_float(handle, type_name, [most] * count, count, result_types=tuple(FLOATS))
        data = pack(type_name, [most] * 2 * count + [1])
        partner = pack(type_name, [most] * count + [minus_most] * count + [magnitude_bits(type_name, 0)])
        check_dot(handle, type_name, data, partner, count, result_types=tuple(FLOATS))


@pytest.mark.parametrize("type_name", FLOATS)
def test_at_the_edge_of_overflow(handle, type_name):
    """The greatest float plus half its ulp is infinity; anything less is the greatest float."""
    form = FLOATS[type_name]
    top = form.infinity - 1
    half_ulp = nearest(type_name, (fraction(top, form) - fraction(top - 1, form)) / 2)
    for flip in (0, form.sign):
        for rest, expected in (
            ([], top),
            ([half_ulp], form.infinity),
            ([half_ulp, 1], form.infinity),
            ([half_ulp, 1 | form.sign], top),
            ([half_ulp - 1], top),
            ([half_ulp, half_ulp | form.sign], top),
            ([half_ulp, 1, 1 | form.sign], form.infinity),
        ):
            bits = [x ^ flip for x in [top, *rest]]
            for order in itertools.permutations(bits):
                agree(
                    (type_name, expected | flip),
                    handle.reduce("sum", wf.vector(pack(type_name, order), type_name)),
                    type_name,
                    rest,
                )
            check_float(handle, type_name, bits, rest, result_types=tuple(FLOATS))


@pytest.mark.parametrize("type_name", FLOATS)
def test_at_the_edge_of_underflow(handle, type_name):
    """Half the least subnormal is 0, with its sign; anything more is the least subnormal."""
    form = FLOATS[type_name]
    for flip in (0, form.sign):
        for elements, expected in (
            ([1, 0], 0),
            ([1, 1, 0], 1),
            ([1, 0, 0], 0),
            ([3, 0], 2),
            ([5, 0], 2),
            ([1, 1, 1, 0, 0], 1),
            ([1, 0] * 1000, 0),
            ([1, 0] * 1000 + [1], 1),
        ):
            bits = [x ^ flip for x in elements]
            agree(
                (type_name, expected | flip),
                handle.reduce("mean", wf.vector(pack(type_name, bits), type_name)),
                elements[:5],
                len(elements),
            )
            check_float(handle, type_name, bits, len(elements), result_types=tuple(FLOATS))


@pytest.mark.parametrize("type_name", FLOATS)
def test_products_that_underflow_and_overflow(handle, type_name):
    """Squares and dots far below the least subnormal and far beyond the greatest float."""
    form, draw = FLOATS[type_name], random.Random(type_name)
    top, one = form.infinity - 1, magnitude_bits(type_name, 0)
    lead = 1 << (form.precision - 1)
    tiny = [draw.randrange(1, 3 * lead) | form.sign * draw.getrandbits(1) for _ in range(500)]
    huge = [top - draw.randrange(3 * lead) | form.sign * draw.getrandbits(1) for _ in range(500)]
    for elements in ([1], [1, 1], [1] * 1000, tiny, huge, tiny + huge, [1, form.sign | 1], [top, 1]):
        check_float(handle, type_name, elements, len(elements), result_types=tuple(FLOATS))
    for a, b in (
        ([1], [1]),
        ([1], [form.sign | 1]),
        (tiny, tiny[::-1]),
        (huge, huge[::-1]),
        (tiny, huge),
        (tiny + tiny, huge + [x ^ form.sign for x in huge]),
        ([top, top, 1], [top, top | form.sign, 1]),
        ([top, top, one], [top, top | form.sign, 1]),
        ([top, 1, top], [top, 1, top | form.sign]),
        ([0, form.sign], [form.sign, top]),
        ([form.sign], [one]),
        ([1, 1], [1, form.sign | 1]),
        ([form.sign] * 9, [top] * 9),
        ([0] * 9, [form.sign | one] * 8 + [one]),
    ):
        check_dot(
            handle, type_name, pack(type_name, a), pack(type_name, b), len(a), result_types=tuple(FLOATS)
        )


# ---- prod --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("type_name", FLOATS)
def test_products_that_leave_the_range_and_return(handle, type_name):
    form, draw = FLOATS[type_name], random.Random(type_name)
    lead = 1 << (form.precision - 1)
    for count in (3, 64, 3000):
        up = [draw.randrange(form.infinity - 6 * lead, form.infinity) for _ in range(count)]
        down = [draw.randrange(1, 6 * lead) for _ in range(count)]
        near_one = [magnitude_bits(type_name, 0) + draw.randrange(-9, 9) for _ in range(count)]
        for bits in (up, down, near_one, near_one + [form.sign | 1], up + down):
            check_float(handle, type_name, bits, count, ops=("prod",), result_types=tuple(FLOATS))
        # Each number beside one whose exponent is the opposite: finite at the end, and at no time far from 1.
        balanced = [nearest(type_name, Fraction(2) ** draw.choice((-9, 9))) for _ in range(count)]
        balanced += [nearest(type_name, 1 / fraction(x, form)) for x in balanced]
        draw.shuffle(balanced)
        check_float(
            handle, type_name, balanced + near_one[:20], count, ops=("prod",), result_types=tuple(FLOATS)
        )


def test_products_of_integers_as_floats(handle):
    """Leaves of more than 53 bits, and those that round up to a power of two."""
    draw = random.Random(7)
    for type_name, values in (
        ("u64", [2**64 - 1, 2**53 + 1, 2**54 - 1, 2**63 - 512, 2**63 - 511, 2**63 + 1025, 3]),
        ("i64", [-(2**63), 2**63 - 1, -(2**53) - 1, 2**54 - 1, 2**62 + 1, -3, 1]),
        ("i8", [-128, 127, 3, -1]),
        ("u32", [2**32 - 1, 3, 7]),
    ):
        for count in (1, 2, 3, 50, 700):
            data = pack(type_name, [draw.choice(values) for _ in range(count)])
            check(handle, type_name, data, count, ops=("prod",), result_types=(None, *FLOATS, "i64", "u8"))
        for value in values:
            check(
                handle, type_name, pack(type_name, [value]), value, ops=("prod",), result_types=tuple(FLOATS)
            )
            check(
                handle,
                type_name,
                pack(type_name, [value, 0]),
                value,
                ops=("prod",),
                result_types=(None, *FLOATS),
            )


def test_the_tree_follows_the_index_of_the_first_element(handle):
    draw = random.Random(8)
    data = pack_values("f64", [draw.uniform(0.9, 1.1) for _ in range(1000)])
    view = wf.vector(data, "f64")
    for first_index in (0, 1, 2, 3, 7, 511, 512, 1000, 2**40 - 500, 2**62 - 500, 2**63 - 1001):
        expected = Oracle("f64", data, first_index).reduce("prod")
        agree(expected, handle.reduce("prod", view, first_index=first_index), first_index)


@pytest.mark.parametrize("type_name", FLOATS)
def test_products_of_blocks_of_anything(type_name):
    """Longer than what all lanes of a tier take, from every kind of index; with and without what has no factor."""
    form, draw, count = FLOATS[type_name], random.Random(type_name), 1700
    lead = 1 << (form.precision - 1)
    regular = [draw.randrange(1, form.infinity) for _ in range(count)]
    subnormals = [draw.randrange(1, lead) if draw.random() < 0.5 else x for x in regular]
    ends = [draw.choice((lead, lead - 1, 1, form.infinity - 1, form.infinity - lead)) for _ in range(count)]
    without_factor = (0, form.infinity, form.infinity + 1)
    rare = [draw.choice(without_factor) if draw.random() < 0.003 else x for x in subnormals]
    for magnitudes, first_index in itertools.product((regular, subnormals, ends, rare), (0, 1021)):
        data = pack(type_name, [x | form.sign * draw.getrandbits(1) for x in magnitudes])
        view = wf.vector(data, type_name)
        expected = {nan: Oracle(type_name, data, first_index).reduce("prod", nan) for nan in ("propagate", "omit")}
        saved = set()
        for handle in wf.tier_handles():
            for nan in expected:
                agree(expected[nan], handle.reduce("prod", view, nan=nan, first_index=first_index), first_index, nan)
            accumulator = handle.accumulator("prod", type_name, first_index=first_index)
            accumulator.add(view)
            saved.add(accumulator.save())
        assert len(saved) == 1, "the trees of the tiers differ"
