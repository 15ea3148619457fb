"""Arrays for the tests, as packed bytes; and the comparison of the engine with the oracle."""

import functools
import math
import os
import random
import struct
import subprocess
from fractions import Fraction

from oracle import FLOATS, INTEGERS, TYPECODES, Real, to_float
from warpfold_ctypes import WarpfoldError

NAN_POLICIES = ("propagate", "omit", "error")


def nbytes_of(type_name):
    return struct.calcsize(TYPECODES[type_name])


def pack(type_name, elements):
    """Bits of floats, values of integers."""
    return struct.pack(f"={len(elements)}{TYPECODES[type_name]}", *elements)


def split(type_name, data):
    """The bytes of each element."""
    nbytes = nbytes_of(type_name)
    return [data[i : i + nbytes] for i in range(0, len(data), nbytes)]


def nearest(type_name, value):
    """The bits of the float nearest to a rational number."""
    numerator, denominator = value.as_integer_ratio()
    return to_float(Real(numerator < 0, abs(numerator), denominator), FLOATS[type_name])


STRUCTS = {"f16": struct.Struct("<e"), "f32": struct.Struct("<f"), "f64": struct.Struct("<d")}


def nearest_to_double(type_name, value):
    """nearest() of a double that the type has in its range, many times as fast."""
    form = STRUCTS.get(type_name)
    if form:
        return int.from_bytes(form.pack(value), "little")
    significand, exponent = math.frexp(abs(value))
    if type_name != "bf16" or not value or not -125 <= exponent <= 128:
        return nearest(type_name, value)
    # The leading of the 8 bits, and a carry, add to the exponent's field.
    return (value < 0) << 15 | (exponent + 125 << 7) + round(significand * 256)


def pack_values(type_name, values):
    if type_name in INTEGERS:
        return pack(type_name, values)
    return pack(type_name, [nearest(type_name, value) for value in values])


def specials(type_name):
    """+0, -0, both infinities; NaNs of both signs, quiet and signalling, with payloads."""
    form = FLOATS[type_name]
    nans = [form.nan, form.nan | form.sign, form.infinity | 1, form.infinity | form.sign | 1, form.sign - 1]
    return [0, form.sign, form.infinity, form.infinity | form.sign] + nans


def run_compiler(*arguments):
    """cc, without a sanitizer that may be preloaded for the library under test."""
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    subprocess.run(["cc", *arguments], check=True, env=environment)


# ---- flavours: what a random array is made of --------------------------------------------------------


def pick(draw, choices):
    """draw.choice, which takes four times as long to make all choices equally likely to the last bit."""
    return choices[int(draw.random() * len(choices))]


def plain(draw, type_name):
    """Numbers near 1; small integers."""
    if type_name == "bool":
        return pick(draw, (0, 1, 1, 2, 255))
    if type_name in INTEGERS:
        return pick(draw, range(max(INTEGERS[type_name][0], -9), 10))
    return nearest_to_double(type_name, draw.gauss(0, 1))


def wild(draw, type_name):
    """Any bits that are a finite number."""
    if type_name == "bool":
        return draw.getrandbits(8)
    if type_name in INTEGERS:
        least, most = INTEGERS[type_name]
        return least + draw.getrandbits((most - least).bit_length())
    form = FLOATS[type_name]
    while True:
        bits = draw.getrandbits(form.width)
        if bits & form.infinity != form.infinity:
            return bits


def coarse(draw, type_name):
    """Few distinct values, so that there are ties, of extremes and of rounding."""
    if type_name == "bool":
        return draw.getrandbits(1)
    if type_name in INTEGERS:
        return pick(draw, (*INTEGERS[type_name], 0, 1))
    return pick(draw, sixteenths(type_name)) or pick(draw, (0, FLOATS[type_name].sign))


@functools.cache
def sixteenths(type_name):
    """From -1 to 1."""
    return [nearest(type_name, Fraction(number, 16)) for number in range(-16, 17)]


def unit(draw, type_name):
    """Products of many of them do not leave the range, at least not for long."""
    if type_name in INTEGERS:
        least, most = INTEGERS[type_name]
        return 1 if draw.random() < 0.97 else pick(draw, (-1 if least else 1, min(most, 2)))
    return nearest_to_double(type_name, pick(draw, (-1, 1)) * 2 ** draw.uniform(-2, 2))


def special(draw, type_name):
    """Wild, with zeros, infinities and NaNs in between."""
    if type_name in FLOATS and draw.random() < 0.03:
        return draw.choice(specials(type_name))
    return wild(draw, type_name)


FLAVOURS = {flavour.__name__: flavour for flavour in (plain, wild, coarse, unit, special)}


@functools.lru_cache(1 << 12)  # each tier asks for the same ones
def sample(type_name, count, flavour, seed=0):
    draw = random.Random(f"{type_name} {count} {flavour} {seed}")
    if flavour == "plain" and type_name in STRUCTS:  # the same, in half of the time
        return struct.pack(f"={count}{STRUCTS[type_name].format[1:]}", *[draw.gauss(0, 1) for _ in range(count)])
    make = FLAVOURS[flavour]
    return pack(type_name, [make(draw, type_name) for _ in range(count)])


# ---- comparison --------------------------------------------------------------------------------------


def outcome(call, *arguments, **named):
    """What a call gives: its result, or the name of its error, which must come with a message."""
    try:
        return call(*arguments, **named)
    except WarpfoldError as error:
        assert error.message, f"{error.code} without a message"
        return error.code


def show(result):
    """Bits in hexadecimal, for messages."""
    if isinstance(result, tuple) and result[0] in FLOATS:
        return f"{result[0]} {result[1]:#x}"
    return str(result)


def agree(expected, got, *context):
    """context says which case this is."""
    if expected != got:
        if isinstance(expected, dict) and isinstance(got, dict):
            names = [name for name in expected if expected[name] != got[name]]
            expected, got = ({name: show(side[name]) for name in names} for side in (expected, got))
        where = " ".join(map(str, context))
        raise AssertionError(f"{where}: expected {show(expected)}, got {show(got)}")
