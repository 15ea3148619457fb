"""wf_value_format and wf_value_to_double, against decimals that are found by trying, with rational arithmetic."""

import ctypes
import math
import random
import struct
from fractions import Fraction

import pytest

from cli_helpers import text_of
from oracle import FLOATS, INTEGERS, TYPECODES, fraction
from warpfold_ctypes import TYPE_BY_NAME, library, wf_value

CAPACITY = 64
FE_UPWARD = 0x800  # of x86


def value(type_name, bits):
    made = wf_value(type=TYPE_BY_NAME[type_name])
    data = struct.pack("=q" if bits < 0 else "=Q", bits)
    if type_name in FLOATS:
        data = struct.pack("=" + TYPECODES[type_name], bits)
    ctypes.memmove(ctypes.addressof(made) + wf_value.__dict__["v"].offset, data, len(data))
    return ctypes.byref(made)


def text(type_name, bits, hexadecimal=False, capacity=CAPACITY):
    buffer = ctypes.create_string_buffer(b"\xff" * CAPACITY, CAPACITY)
    length = library.wf_value_format(value(type_name, bits), int(hexadecimal), buffer, capacity)
    return buffer.raw, length


def check(type_name, bits):
    for hexadecimal in (False, True):
        expected = text_of(type_name, bits, hexadecimal)
        assert text(type_name, bits, hexadecimal) == (
            expected.encode() + b"\0" + b"\xff" * (CAPACITY - 1 - len(expected)), len(expected)), (type_name, bits)


def as_double(type_name, bits):
    return library.wf_value_to_double(value(type_name, bits))


def check_double(type_name, bits):
    form = FLOATS[type_name]
    magnitude = bits & (form.sign - 1)
    found = as_double(type_name, bits)
    if magnitude > form.infinity:
        assert math.isnan(found)
        return
    assert math.copysign(1, found) == (-1 if bits >= form.sign else 1)
    assert abs(found) == (math.inf if magnitude == form.infinity else fraction(magnitude, form))


@pytest.mark.slow
@pytest.mark.parametrize("type_name", ["f16", "bf16"])
def test_every_value_of_16_bits(type_name):
    """The sign is a matter of one character: it is tried with a few."""
    form = FLOATS[type_name]
    for bits in range(form.sign):
        check(type_name, bits)
        check_double(type_name, bits)
    for bits in range(form.sign, 2 * form.sign, 97):
        check(type_name, bits)
        check_double(type_name, bits)


@pytest.mark.parametrize("type_name", ["f32", pytest.param("f64", marks=pytest.mark.slow)])
def test_floats(type_name):
    form, draw = FLOATS[type_name], random.Random(8)
    binade = 1 << (form.precision - 1)
    tried = [1, 2, 3, form.infinity - 1, form.infinity, form.nan, 0]
    tried += [k * binade + d for k in range(1, form.infinity // binade, 3) for d in (-1, 0, 1)]
    tried += [draw.randrange(form.infinity) for _ in range(3000)]
    for bits in tried:
        sign = draw.choice((0, form.sign))
        check(type_name, bits | sign)
        check_double(type_name, bits | sign)


def test_the_text_of_a_double_reads_back():
    draw = random.Random(9)
    for _ in range(3000):
        bits = draw.randrange(FLOATS["f64"].infinity)
        shown = text("f64", bits)[0].split(b"\0")[0].decode()
        assert struct.unpack("=Q", struct.pack("=d", float(shown)))[0] == bits


@pytest.mark.slow
def test_doubles_of_few_digits_and_their_neighbours():
    """Whether there is room for more than the text, or not."""
    draw = random.Random(11)
    large = ctypes.create_string_buffer(128)
    tried = [draw.randrange(10**draw.randint(1, 16)) / 10**draw.randint(1, 4) for _ in range(2000)]
    tried += [2.0**k for k in range(-12, 45)] + [2.0**k + 0.5 for k in range(45)] + [0.001, 0.0005, 0.0015, 0.9995, 1.0005]
    for near in tried:
        for number in (near, math.nextafter(near, 0), -math.nextafter(near, math.inf)):
            bits = struct.unpack("=Q", struct.pack("=d", number))[0]
            check("f64", bits)
            length = library.wf_value_format(value("f64", bits), 0, large, len(large))
            assert (large.value.decode(), length) == (text_of("f64", bits), len(large.value))


@pytest.mark.parametrize("type_name", INTEGERS)
def test_integers(type_name):
    least, most = INTEGERS[type_name]
    draw = random.Random(10)
    for number in [least, most, 0, 1, *(draw.randint(least, most) for _ in range(300))]:
        check(type_name, number)
        assert as_double(type_name, number) == float(number)


def test_integers_beyond_2_53_round_to_even():
    for number in [2**53 + 1, 2**53 + 3, 2**62 + 2**9, 2**63 - 1, 2**63 + 2**10 + 1]:
        assert as_double("u64", number) == float(number)
        if number < 2**63:
            assert as_double("i64", -number) == float(-number)


def test_the_rounding_mode_has_no_say():
    maths = ctypes.CDLL(None)
    if not hasattr(maths, "fesetround") or maths.fesetround(FE_UPWARD):
        pytest.skip("no rounding mode to change")
    try:
        found = text("f64", 0x3FD5555555555555)[0], text("f32", 0x3DCCCCCD)[0], as_double("i64", 2**53 + 1)
        mode = maths.fegetround()
    finally:
        maths.fesetround(0)
    assert [shown.split(b"\0")[0] for shown in found[:2]] == [
        text_of("f64", 0x3FD5555555555555).encode(), text_of("f32", 0x3DCCCCCD).encode()]
    assert Fraction(found[2]) == 2**53
    assert mode == FE_UPWARD


@pytest.mark.parametrize("type_name, bits", [("f64", 0xBFF8000000000000), ("i32", -123), ("f32", 0xFF800000)])
def test_a_text_that_does_not_fit_is_cut(type_name, bits):
    whole = text_of(type_name, bits)
    for capacity in range(len(whole) + 2):
        shown, length = text(type_name, bits, capacity=capacity)
        assert length == len(whole)
        kept = whole[:capacity - 1].encode() + b"\0" if capacity else b""
        assert shown == kept.ljust(CAPACITY, b"\xff")
    assert library.wf_value_format(value(type_name, bits), 0, None, 0) == len(whole)


def test_what_is_no_value_has_no_text():
    nothing = ctypes.byref(wf_value(type=0))
    buffer = ctypes.create_string_buffer(b"x", CAPACITY)
    assert library.wf_value_format(nothing, 0, buffer, CAPACITY) == 0 and buffer.value == b""
    assert math.isnan(library.wf_value_to_double(nothing))
