"""The oracle itself, against what Python's own exact and correctly rounded functions say."""

import math
import random
import struct
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import pytest

import oracle
from oracle import FLOATS, Oracle, PairOracle, Real, parts, round_to_float, to_float, truncate
from samples import nearest_to_double


def f64s(*values):
    return struct.pack(f"<{len(values)}d", *values)


def as_double(result):
    assert result[0] == "f64"
    return struct.unpack("<d", struct.pack("<Q", result[1]))[0]


def fraction_to_bits(value, form):
    return to_float(Real(value < 0, abs(value.numerator), value.denominator), form)


def random_doubles(seed, count, exponents=60):
    draw = random.Random(seed)
    return [math.ldexp(draw.uniform(-1, 1), draw.randint(-exponents, exponents)) for _ in range(count)]


def test_every_f16_reads_as_struct_reads_it():
    for bits in range(1 << 16):
        value = struct.unpack("<e", struct.pack("<H", bits))[0]
        if math.isfinite(value):
            negative, m, e = parts(bits, FLOATS["f16"])
            assert math.copysign(math.ldexp(m, e), -1 if negative else 1) == value
            assert negative == (math.copysign(1, value) < 0)
            assert fraction_to_bits(Fraction(value), FLOATS["f16"]) == (0 if value == 0 else bits)


def test_rounding_to_f16_and_f32_is_that_of_struct():
    draw = random.Random(1)
    for code, form, (least, most) in (("e", FLOATS["f16"], (-26, 15)), ("f", FLOATS["f32"], (-152, 127))):
        for _ in range(20000):
            value = math.ldexp(draw.uniform(-1, 1), draw.randint(least, most))
            if draw.random() < 0.5:  # a midpoint, or close to one
                value = struct.unpack("<" + code, struct.pack("<" + code, value))[0]
                value += math.ldexp(
                    draw.choice((-1, 1)), max(math.frexp(value)[1] - form.precision, form.lowest) - 1
                )
            try:
                expected = int.from_bytes(struct.pack("<" + code, value), "little")
            except OverflowError:
                expected = form.infinity | (form.sign if value < 0 else 0)
            if value:
                assert fraction_to_bits(Fraction(value), form) == expected, value.hex()


def test_doubles_are_rounded_to_bf16_as_fractions_are():
    """Midpoints and what is beside them, subnormal numbers, the ends of the range and the carry to the next power of two."""
    draw, form = random.Random("bf16"), FLOATS["bf16"]
    for _ in range(20000):
        halves = draw.choice((draw.randrange(256, 513), 511))  # of the last place
        value = math.ldexp(draw.choice((-1, 1)) * (halves + draw.choice((0, 2**-30, -2**-30))), draw.randint(-150, 119))
        assert nearest_to_double("bf16", value) == fraction_to_bits(Fraction(value), form), value.hex()
    assert nearest_to_double("bf16", 0.0) == 0 and nearest_to_double("bf16", 511 * 2.0**119) == form.infinity


def test_rounding_to_f64_is_that_of_python_fractions():
    draw = random.Random(2)
    for _ in range(5000):
        value = Fraction(draw.getrandbits(200) + 1, draw.getrandbits(draw.randint(1, 200)) + 1)
        bits = fraction_to_bits(value, FLOATS["f64"])
        assert struct.unpack("<d", struct.pack("<Q", bits))[0] == float(value)


def test_bf16_by_brute_force():
    form = FLOATS["bf16"]
    finite = [oracle.fraction(bits, form) for bits in range(form.infinity)]
    draw = random.Random(3)
    for _ in range(3000):
        bits = draw.randrange(form.infinity - 1)
        low, high = finite[bits], finite[bits + 1]
        middle = (low + high) / 2
        tiny = Fraction(1, 2 ** draw.randint(150, 400))
        assert fraction_to_bits(middle - tiny, form) == bits
        assert fraction_to_bits(middle + tiny, form) == bits + 1
        assert fraction_to_bits(middle, form) == bits + (bits & 1)


def test_square_roots_are_those_of_isqrt_and_decimal():
    draw = random.Random(4)
    for _ in range(3000):
        value = Fraction(
            draw.getrandbits(draw.randint(1, 300)) + 1, draw.getrandbits(draw.randint(1, 300)) + 1
        )
        bits = round_to_float(
            *truncate(Real(False, value.numerator, value.denominator, True), 55), FLOATS["f64"]
        )
        with localcontext() as context:
            context.prec = 120
            root = (Decimal(value.numerator) / Decimal(value.denominator)).sqrt()
        assert struct.unpack("<d", struct.pack("<Q", bits))[0] == float(root)


def test_sum_mean_and_dot_of_doubles():
    for seed in range(200):
        values, others = random_doubles(seed, seed), random_doubles(-seed, seed)
        data = f64s(*values)
        assert as_double(Oracle("f64", data).reduce("sum")) == math.fsum(values)
        if values:
            exact = sum(map(Fraction, values))
            assert as_double(Oracle("f64", data).reduce("mean")) == float(exact / len(values))
        dot = sum(Fraction(x) * Fraction(y) for x, y in zip(values, others))
        assert as_double(PairOracle("f64", data, f64s(*others)).reduce()) == float(dot)


def test_var_std_and_norms_of_doubles():
    for seed in range(2, 150):
        values = random_doubles(seed, seed, 20)
        exact = [Fraction(x) for x in values]
        middle = sum(exact) / len(exact)
        variance = sum((x - middle) ** 2 for x in exact) / (len(exact) - 1)
        whole = Oracle("f64", f64s(*values))
        assert as_double(whole.reduce("var", ddof=1)) == float(variance)
        assert as_double(whole.reduce("norm1")) == float(sum(map(abs, exact)))
        assert as_double(whole.reduce("norminf")) == max(map(abs, values))
        with localcontext() as context:
            context.prec = 150
            for op, square in (("std", variance), ("norm2", sum(x * x for x in exact))):
                root = (Decimal(square.numerator) / Decimal(square.denominator)).sqrt()
                assert as_double(whole.reduce(op, ddof=1)) == float(root)


def test_prod_is_close_to_the_exact_product_and_exact_where_it_can_be():
    for seed in range(100):
        values = [x or 1.0 for x in random_doubles(seed, seed, 5)]
        got, exact = Oracle("f64", f64s(*values)).reduce("prod"), math.prod(map(Fraction, values))
        assert abs(Fraction(as_double(got)) / exact - 1) <= Fraction(1, 2**52)
    powers = [2.0**k for k in range(-40, 41)]
    assert as_double(Oracle("f64", f64s(*powers, -3.0, 5.0)).reduce("prod")) == -15.0


def test_the_tree_of_aligned_blocks():
    nodes = [(index, oracle.leaf(3 + index, 0)) for index in range(5, 12)]
    five, six, seven, eight, nine, ten, eleven = (node for _, node in nodes)
    times = oracle.multiply
    left = times(five, times(six, seven))
    right = times(times(eight, nine), times(ten, eleven))
    assert oracle.tree(nodes) == times(left, right)


def test_signed_zeros_infinities_and_nans():
    inf, nan = math.inf, math.nan
    cases = [
        ((), {"sum": 0.0, "prod": 1.0, "norm2": 0.0, "mean": "WF_ERROR_EMPTY", "min": "WF_ERROR_EMPTY"}),
        ((-0.0, -0.0), {"sum": -0.0, "mean": -0.0, "norm1": 0.0, "prod": 0.0, "max": -0.0}),
        ((-0.0, 0.0), {"sum": 0.0, "min": -0.0, "max": 0.0, "prod": -0.0}),
        ((1.0, -1.0), {"sum": 0.0, "mean": 0.0, "prod": -1.0}),
        ((-5e-324, 0.0, 0.0), {"mean": -0.0, "sum": -5e-324}),
        ((inf, 1.0), {"sum": inf, "var": nan, "norm2": inf, "prod": inf}),
        ((inf, -inf), {"sum": nan, "norm1": inf, "prod": -inf, "min": -inf}),
        ((inf, 0.0), {"prod": nan, "mean": inf}),
    ]
    for values, expected in cases:
        for op, value in expected.items():
            got = Oracle("f64", f64s(*values)).reduce(op)
            want = value if isinstance(value, str) else ("f64", struct.unpack("<Q", f64s(value))[0])
            assert got == want, (op, values)


def test_integers_are_exact_or_refused():
    for type_name, (least, most) in oracle.INTEGERS.items():
        code = oracle.TYPECODES[type_name]
        for values in product((least, most, 0, 1), repeat=3):
            whole = Oracle(type_name, struct.pack(f"<3{code}", *values))
            low, high = oracle.INTEGERS[oracle.default_type("sum", type_name)]
            for op, exact in (("sum", sum(values)), ("prod", math.prod(values))):
                expected = (
                    (oracle.default_type(op, type_name), exact) if low <= exact <= high else "WF_ERROR_RANGE"
                )
                assert whole.reduce(op) == expected
            assert as_double(whole.reduce("mean")) == float(Fraction(sum(values), 3))


def test_what_is_kept_is_what_was_computed(tmp_path, monkeypatch):
    data, other = f64s(3.0, 1e300, -0.5), f64s(2.0, 1.0, 4.0)
    asked = [(Oracle, (data,), "sum"), (Oracle, (data,), "argmax"), (Oracle, (data, 5), "argmax"), (Oracle, (b"",), "mean"),
             (PairOracle, (data, other), "dot"), (PairOracle, (other, data), "dot")]

    kept = oracle.Kept()
    monkeypatch.setattr(oracle, "kept", kept)

    def answers():
        kept.open(tmp_path, "a")
        found = [kind("f64", *arguments).reduce(op) for kind, arguments, op in asked]
        stats = Oracle("f64", data).stats("omit", ddof=1)
        kept.close()
        return found, stats

    plain = [kind("f64", *arguments).reduce(op) for kind, arguments, op in asked]
    assert answers()[0] == plain and plain[1] != plain[2] and plain[3] == "WF_ERROR_EMPTY"
    computed = answers()
    monkeypatch.setattr(oracle, "unpack", None)  # nothing is computed again
    monkeypatch.setattr(Oracle, "count", lambda *_: 3)
    monkeypatch.setattr(Oracle, "nans", [])
    assert answers() == computed
    [path] = tmp_path.iterdir()
    path.rename(path.with_name("a-of another program"))
    with pytest.raises(TypeError):
        answers()
