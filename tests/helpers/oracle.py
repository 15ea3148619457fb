"""What every reduction must give, to the last bit, from Python's integers alone.

Shares nothing with the engine.  A float is an integer times a power of two, a sum is an integer
over a fixed denominator, and a result is rounded once, by integer arithmetic, from the exact rational or the
square root of one.  Only prod of floats uses doubles, since its definition does.

A result is (type name, bits): the bits of a float, the value of an integer, 0 or 1 of a bool.  Where the
engine must refuse, the result is the name of the error.
"""

import functools
import marshal
import math
import operator
import os
import sys
from array import array
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from hashlib import blake2b
from typing import NamedTuple


class once:
    """functools.cached_property without its lock, which of a few elements takes longer than what is computed."""

    def __init__(self, compute):
        self.compute, self.name = compute, compute.__name__

    def __get__(self, owner, _):
        if owner is None:  # the class
            return self
        result = owner.__dict__[self.name] = self.compute(owner)
        return result


NEGATIVE = 1 << 16  # more than the sum of any two exponents of elements; for two negative factors twice as much


@dataclass(frozen=True)
class Float:
    """An IEEE format.  precision counts the leading bit; the least subnormal is 2**lowest."""

    width: int
    precision: int
    lowest: int

    @once
    def infinity(self):
        return (1 << (self.width - 1)) - (1 << (self.precision - 1))

    @once
    def nan(self):
        return self.infinity | 1 << (self.precision - 2)

    @once
    def sign(self):
        return 1 << (self.width - 1)

    @once
    def fields(self):
        """For each sign and exponent as an element's bits have them: the power of two beside the least subnormal, to which
        NEGATIVE is added for a sign, and what the bits have beside the significand."""
        width, exponents, above = self.precision - 1, [], []
        for field in range(1 << self.width - width):
            exponent = field & self.infinity >> width
            exponents.append(max(exponent, 1) - 1 + (NEGATIVE if field << width & self.sign else 0))
            above.append((field << width) - (1 << width if exponent else 0))
        return exponents, above


FLOATS = {
    "f16": Float(16, 11, -24),
    "bf16": Float(16, 8, -133),
    "f32": Float(32, 24, -149),
    "f64": Float(64, 53, -1074),
}
INTEGERS = {
    "bool": (0, 1),
    **{f"i{w}": (-(1 << w - 1), (1 << w - 1) - 1) for w in (8, 16, 32, 64)},
    **{f"u{w}": (0, (1 << w) - 1) for w in (8, 16, 32, 64)},
}
TYPES = (*INTEGERS, *FLOATS)
TYPECODES = {  # of the array module
    "bool": "B",
    "i8": "b",
    "i16": "h",
    "i32": "i",
    "i64": "q",
    "u8": "B",
    "u16": "H",
    "u32": "I",
    "u64": "Q",
    "f16": "H",
    "bf16": "H",
    "f32": "I",
    "f64": "Q",
}

BITWISE = ("and", "or", "xor")
STATS = "sum mean var std min max argmin argmax nonzero norm1 norm2 norminf".split()
STATS_OF_RESULT_TYPE = "sum mean var std min max norm1 norm2 norminf".split()
OPS = [*STATS, "prod", "any", "all", *BITWISE]


def ops_of(type_name):
    """The ops of one array that exist for the type."""
    return [op for op in OPS if type_name in INTEGERS or op not in BITWISE]


def default_type(op, type_name):
    if op in ("any", "all"):
        return "bool"
    if op in ("argmin", "argmax", "nonzero"):
        return "u64"
    if op in ("min", "max", *BITWISE) or type_name in FLOATS:
        return type_name
    if op in ("norm1", "norminf"):
        return "u64"
    if op in ("mean", "var", "std", "norm2"):
        return "f64"
    return "i64" if type_name in ("i8", "i16", "i32", "i64") else "u64"


# ---- values, before they are rounded -----------------------------------------------------------------


class Real(NamedTuple):
    """numerator/denominator, or its square root, with a sign that zero has too."""

    negative: bool
    numerator: int
    denominator: int = 1
    root: bool = False


class Infinity(NamedTuple):
    negative: bool


class NaN(NamedTuple):
    pass


class Refused(Exception):
    """The reduction has no value; the argument is the name of the error."""


def integer(value):
    return Real(value < 0, abs(value))


def convert(value, type_name):
    """The value in the type: (type name, bits)."""
    if type_name in FLOATS:
        return type_name, to_float(value, FLOATS[type_name])
    return type_name, to_integer(value, *INTEGERS[type_name])


def to_float(value, form):
    if isinstance(value, NaN):
        return form.nan
    sign = form.sign if value.negative else 0
    if isinstance(value, Infinity):
        return sign | form.infinity
    return sign | round_to_float(*truncate(value, form.precision + 2), form)


def to_integer(value, least, most):
    if not isinstance(value, Real):
        raise Refused("WF_ERROR_RANGE")
    magnitude = round_half_even(*truncate(value, None))
    result = -magnitude if value.negative else magnitude
    if not least <= result <= most:
        raise Refused("WF_ERROR_RANGE")
    return result


def truncate(value, precision):
    """(m, e): m * 2**e lies on the same side of every float of fewer bits, and of every midpoint between two,
    as the value does.  The last bit of m tells that something was cut off.  precision None: for an integer.
    """
    n, d, root = value.numerator, value.denominator, value.root
    if n == 0:
        return 0, 0
    scale = 2
    if precision:
        log2 = n.bit_length() - d.bit_length()
        scale = precision + 2 - (log2 // 2 if root else log2)
    shift = 2 * scale if root else scale
    if shift >= 0:
        n <<= shift
    else:
        d <<= -shift
    m, rest = divmod(n, d)
    if root:
        square, m = m, math.isqrt(m)
        rest |= square - m * m
    return 2 * m | (rest != 0), -scale - 1


def round_half_even(m, e):
    if e >= 0:
        return m << e
    quotient, rest = m >> -e, m & ((1 << -e) - 1)
    half = 1 << (-e - 1)
    return quotient + (rest > half or (rest == half and quotient & 1))


def round_to_float(m, e, form):
    """The bits of the float nearest to m * 2**e."""
    if m == 0:
        return 0
    lowest = max(m.bit_length() + e - form.precision, form.lowest)
    rounded = round_half_even(m, e - lowest)
    # The exponent's field counts from the subnormals; the leading bit of a normal number adds to it by
    # itself, and so does the carry of one that was rounded up to the next power of two.
    bits = rounded + ((lowest - form.lowest) << (form.precision - 1))
    return min(bits, form.infinity)


def parts(bits, form):
    """(negative, m, e) of the bits of a finite float, m * 2**e its magnitude."""
    return parts_of_all([bits], form)[0]


def parts_of_all(elements, form):
    """parts() of each; many of 16 bits are looked up, since most of the time of all tests is spent here."""
    if form.sign >> 16 or len(elements) < 1 << 12:
        return parts_of_each(elements, form)
    return list(map(parts_of_16_bits(form).__getitem__, elements))


@functools.cache
def parts_of_16_bits(form):
    return parts_of_each(range(1 << 16), form)


def parts_of_each(elements, form):
    sign, leading, lowest = form.sign, 1 << (form.precision - 1), form.lowest
    width, fields, below = form.precision - 1, form.infinity, leading - 1
    return [
        (bits >= sign, bits & below | leading, ((bits & fields) >> width) - 1 + lowest) if bits & fields
        else (bits >= sign, bits & below, lowest)
        for bits in elements
    ]


def fraction(bits, form):
    negative, m, e = parts(bits, form)
    return Fraction((-m if negative else m) << max(e, 0), 1 << max(-e, 0))


@functools.lru_cache(8)
def ones(width, count):
    """The integer of so many lanes of that width, with a 1 in each."""
    return int.from_bytes((1).to_bytes(width // 8, sys.byteorder) * count, sys.byteorder)


def has_magnitude_above(limit, data, form):
    """Whether any float has.  All are looked at as lanes of one integer: one above carries into its sign's place."""
    each = ones(form.width, len(data) * 8 // form.width)
    magnitudes = int.from_bytes(data, sys.byteorder) & each * (form.sign - 1)
    return magnitudes + each * (form.sign - 1 - limit) & each * form.sign != 0


# ---- prod of floats ----------------------------------------------------------------------------------


class Node(NamedTuple):
    """(hi + lo) * 2**exponent, hi in [1, 2)."""

    hi: float
    lo: float
    exponent: int


def leaf(m, e):
    """The node of m * 2**e, m > 0."""
    exponent = m.bit_length() - 1
    scale = 1 << exponent
    if exponent <= 52:
        return Node(m / scale, 0.0, exponent + e)
    hi = m / scale  # the quotient of integers is correctly rounded
    lo = float(Fraction(m, scale) - Fraction(hi))
    if hi == 2.0:
        return Node(1.0, lo / 2, exponent + e + 1)
    return Node(hi, lo, exponent + e)


def multiply(a, b):
    p = a.hi * b.hi
    # The error of p, exactly: all three are multiples of 2**-104.
    e = (int(a.hi * 2.0**52) * int(b.hi * 2.0**52) - (int(p * 2.0**52) << 52)) * 2.0**-104
    t = a.hi * b.lo + a.lo * b.hi
    e += t
    hi = p + e
    lo = e - (hi - p)
    exponent = a.exponent + b.exponent
    if hi >= 2.0:
        return Node(hi * 0.5, lo * 0.5, exponent + 1)
    if hi < 1.0:
        return Node(hi * 2.0, lo * 2.0, exponent - 1)
    return Node(hi, lo, exponent)


def tree(leaves):
    """The product of (index, node) in order of index, in the tree of aligned blocks."""
    while len(leaves) > 1:
        above = []
        for index, node in leaves:
            if above and above[-1][0] == index >> 1:
                above[-1] = index >> 1, multiply(above[-1][1], node)
            else:
                above.append((index >> 1, node))
        leaves = above
    return leaves[0][1] if leaves else Node(1.0, 0.0, 0)


def node_value(negative, node):
    significand = Fraction(node.hi) + Fraction(node.lo)
    # Beyond these exponents every type has its infinity or zero, so that the power need not be written out.
    value = significand * Fraction(2) ** max(-5000, min(5000, node.exponent))
    return Real(negative, value.numerator, value.denominator)


# ---- one array ---------------------------------------------------------------------------------------


def unpack(type_name, data):
    """The elements: floats as bits, bools as 0 and 1."""
    elements = array(TYPECODES[type_name])
    elements.frombytes(data)
    return [int(x != 0) for x in elements] if type_name == "bool" else elements.tolist()


# ---- results that were computed before ----------------------------------------------------------------


SHORT = 64  # bytes, which are a shorter name than a digest, and one that takes no time


class Kept:
    """Results of one file of tests, in memory and, where a folder is named, in a file: whatever compiled the engine, and
    whatever tier it runs on, what it must give is the same, and is computed once.  All that decides is in the name of an
    entry, and this program in that of the file."""

    def __init__(self):
        self.path, self.arrays, self.is_new = None, None, False

    def open(self, folder, name):
        self.path, self.arrays, self.is_new = None, {}, False
        if not folder:
            return
        with open(__file__, "rb") as program:
            version = blake2b(program.read(), digest_size=8).hexdigest()
        self.path = os.path.join(folder, f"{name}-{sys.implementation.cache_tag}-{version}")  # whose marshal it is
        if os.path.exists(self.path):
            with open(self.path, "rb") as file:
                self.arrays = marshal.load(file)

    def close(self):
        if self.path and self.is_new:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            with open(f"{self.path}.{os.getpid()}", "wb") as file:
                marshal.dump(self.arrays, file)
            os.replace(file.name, self.path)
        self.path, self.arrays = None, None

    def of(self, settings, *arrays):
        """What is known of these arrays; None: nothing is kept."""
        if self.arrays is None:
            return None
        if sum(map(len, arrays)) <= SHORT:
            return self.arrays.setdefault((settings, arrays), {})
        digest = blake2b(repr((settings, [len(data) for data in arrays])).encode(), digest_size=16)
        for data in arrays:
            digest.update(data)
        return self.arrays.setdefault(digest.digest(), {})


kept = Kept()


def remembered(reduce):
    @functools.wraps(reduce)
    def remember(self, *arguments, **named):
        if self.known is None:
            return reduce(self, *arguments, **named)
        key = arguments, tuple(sorted(named.items()))
        if key not in self.known:
            self.known[key] = reduce(self, *arguments, **named)
            kept.is_new = True
        return self.known[key]

    return remember


class Oracle:
    """All reductions of one array, or of so many times its elements (not for prod and arg ops)."""

    def __init__(self, type_name, data, first_index=0, times=1):
        self.type = type_name
        self.form = FLOATS.get(type_name)
        self.data = bytes(data)
        self.first_index = first_index
        self.times = times

    @once
    def known(self):
        return kept.of((self.type, self.first_index, self.times), self.data)

    @once
    def elements(self):
        return unpack(self.type, self.data)

    @once
    def nans(self):
        if not self.has_specials or not has_magnitude_above(self.form.infinity, self.data, self.form):
            return []
        limit, mask = self.form.infinity, self.form.sign - 1
        return [index for index, bits in enumerate(self.elements, self.first_index) if bits & mask > limit]

    @once
    def has_specials(self):
        return bool(self.form) and has_magnitude_above(self.form.infinity - 1, self.data, self.form)

    @once
    def numbers(self):
        if not self.nans:
            return self.elements
        limit, mask = self.form.infinity, self.form.sign - 1
        return [bits for bits in self.elements if bits & mask <= limit]

    @once
    def indices(self):
        """Those of the numbers."""
        every, nans = range(self.first_index, self.first_index + len(self.elements)), set(self.nans)
        return [index for index in every if index not in nans] if nans else every

    # Sums over what is no NaN and no infinity, as integers over a denominator.

    @once
    def lowest(self):
        return self.form.lowest if self.form else 0

    @once
    def denominator(self):
        return 1 << -self.lowest

    @once
    def finite(self):
        """(negative, m, e) of every finite element."""
        if not self.form:
            return [(x < 0, abs(x), 0) for x in self.numbers]
        return parts_of_all(self.finite_numbers, self.form)

    @once
    def finite_numbers(self):
        if not self.infinities:
            return self.numbers
        limit, mask = self.form.infinity, self.form.sign - 1
        return [bits for bits in self.numbers if bits & mask != limit]

    @once
    def infinities(self):
        """The signs that infinities have."""
        if not self.has_specials:
            return set()
        limit, sign = self.form.infinity, self.form.sign
        return {bits >= sign for bits in {limit, limit | sign}.intersection(self.numbers)}

    @once
    def sums(self):
        """S1, S2 and the sum of magnitudes."""
        if not self.form:
            totals = sum(self.numbers), sum(map(operator.mul, self.numbers, self.numbers)), sum(map(abs, self.numbers))
        else:
            totals = self.sums_by_exponent()
        return [total * self.times for total in totals]

    def sums_by_exponent(self):
        """Of floats: those of one sign and exponent are integers of one unit."""
        alike, width, (exponents, above) = defaultdict(list), self.form.precision - 1, self.form.fields
        for bits in self.finite_numbers:
            alike[bits >> width].append(bits)
        signed = squares = magnitudes = 0
        for field, elements in alike.items():
            beside, shift = above[field], exponents[field] % NEGATIVE
            significands = [bits - beside for bits in elements]
            magnitude = sum(significands) << shift
            signed += magnitude if exponents[field] < NEGATIVE else -magnitude
            squares += sum(map(operator.mul, significands, significands)) << 2 * shift
            magnitudes += magnitude
        return signed, squares, magnitudes

    # What the policy makes of it.

    @remembered
    def reduce(self, op, nan="propagate", result_type=None, ddof=0):
        try:
            return convert(self.value(op, nan, result_type, ddof), result_type or default_type(op, self.type))
        except Refused as refused:
            return refused.args[0]

    def stats(self, nan="propagate", result_type=None, ddof=0):
        """Every field of wf_stats, or the name of an error."""
        whole = {"count": self.count(nan), "nans": len(self.nans) * self.times}
        for op in STATS:
            whole[op] = self.reduce(op, nan, result_type if op in STATS_OF_RESULT_TYPE else None, ddof)
            if whole[op] == "WF_ERROR_EMPTY":
                whole[op] = None, None
            elif isinstance(whole[op], str):
                return whole[op]
        return whole

    def count(self, nan):
        return (len(self.numbers) if nan == "omit" else len(self.elements)) * self.times

    def value(self, op, nan, result_type, ddof):
        """The exact value, before rounding."""
        if self.form and op in BITWISE:
            raise Refused("WF_ERROR_UNSUPPORTED")
        if nan == "error" and self.nans:
            raise Refused("WF_ERROR_NAN")
        poisoned = bool(self.nans) and nan == "propagate"
        count = self.count(nan)
        if op in ("any", "all", "nonzero"):
            return integer(self.counted(op, poisoned))
        if op in BITWISE:
            return integer(self.bitwise(op))
        if op in ("var", "std"):
            if count <= ddof:
                raise Refused("WF_ERROR_EMPTY")
        elif op in ("mean", "min", "max", "argmin", "argmax") and count == 0:
            raise Refused("WF_ERROR_EMPTY")
        if op in ("argmin", "argmax"):
            return integer(self.nans[0] if poisoned else self.extremes[op[3:]][0])
        if poisoned:
            return NaN()
        if op in ("min", "max"):
            return self.element(self.extremes[op][1])
        if op == "prod":
            return self.product(result_type or default_type(op, self.type))
        if op in ("sum", "mean"):
            return self.sum_or_mean(count if op == "mean" else 1)
        if op in ("var", "std"):
            return self.variance(count, ddof, op == "std")
        return self.norm(op)

    def counted(self, op, poisoned):
        nonzeros = len(self.numbers) - self.zeros + (len(self.nans) if poisoned else 0)
        return {"any": int(nonzeros > 0), "all": int(self.zeros == 0), "nonzero": nonzeros * self.times}[op]

    @once
    def zeros(self):
        return self.numbers.count(0) + (self.numbers.count(self.form.sign) if self.form else 0)

    def bitwise(self, op):
        least, most = INTEGERS[self.type]
        combine = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}[op]
        result = functools.reduce(combine, self.elements, (-1 if least else most) if op == "and" else 0)
        return 0 if op == "xor" and self.times % 2 == 0 else result

    def element(self, x):
        if not self.form:
            return integer(x)
        if x & (self.form.sign - 1) == self.form.infinity:
            return Infinity(x >= self.form.sign)
        negative, m, e = parts(x, self.form)
        return Real(negative, m << (e - self.lowest), self.denominator)

    @once
    def extremes(self):
        """(index, element) of the first least and of the first greatest; -0 is less than +0."""
        least, greatest = min(self.numbers), max(self.numbers)
        if self.form:
            least, greatest = self.extremes_of_bits(least, greatest)
        places = ((op, self.numbers.index(bits)) for op, bits in (("min", least), ("max", greatest)))
        return {op: (self.indices[place], self.numbers[place]) for op, place in places}

    def extremes_of_bits(self, lowest, highest):
        """Of floats, whose negative ones have the higher bits, the lower the greater; these are the lowest and the highest."""
        sign = self.form.sign
        least = highest if highest >= sign else lowest
        return least, max(map(sign.__xor__, self.numbers)) ^ sign if lowest < sign else lowest

    def sum_or_mean(self, divisor):
        if self.infinities:
            return NaN() if len(self.infinities) == 2 else Infinity(self.infinities == {True})
        total = self.sums[0]
        return Real(total < 0 or self.only_minus_zeros, abs(total), self.denominator * divisor)

    @once
    def only_minus_zeros(self):
        return (
            bool(self.form) and bool(self.numbers) and all(bits == self.form.sign for bits in self.numbers)
        )

    def variance(self, count, ddof, root):
        if self.infinities:
            return NaN()
        first, second, _ = self.sums
        return Real(False, count * second - first**2, count * (count - ddof) * self.denominator**2, root)

    def norm(self, op):
        if self.infinities:
            return Infinity(False)
        if op == "norm1":
            return Real(False, self.sums[2], self.denominator)
        if op == "norm2":
            return Real(False, self.sums[1], self.denominator**2, True)
        if not self.form:
            return integer(max(map(abs, self.numbers), default=0))
        # Magnitudes have the order of their bits.
        ends = [x & self.form.sign - 1 for _, x in self.extremes.values()] if self.numbers else [0]
        _, m, e = parts(max(ends), self.form)
        return Real(False, m << (e - self.lowest), self.denominator)

    def product(self, result_type):
        zero = self.zeros > 0
        if not self.form and result_type in INTEGERS:
            return integer(0 if zero else self.integer_product())
        negative = sum(x < 0 if self.form is None else x >= self.form.sign for x in self.numbers) % 2 == 1
        if self.infinities:
            return NaN() if zero else Infinity(negative)
        if zero:  # an integer's has no sign
            return Real(negative and self.form is not None, 0)
        return node_value(negative, self.root)

    @once
    def root(self):
        """The root of the tree, where all is finite and nonzero."""
        return tree([(index, leaf(m, e)) for index, (_, m, e) in zip(self.indices, self.finite)])

    def integer_product(self):
        result = 1
        for x in self.elements:
            result *= x
            if abs(result) > 2**64:  # and there is no zero: it fits no type any more
                break
        return result


# ---- two arrays --------------------------------------------------------------------------------------


class PairOracle:
    """dot of two arrays of one type."""

    def __init__(self, type_name, a, b, first_index=0, times=1):
        self.type = type_name
        self.form = FLOATS.get(type_name)
        self.data = bytes(a), bytes(b)
        self.first_index, self.times = first_index, times

    @once
    def known(self):
        return kept.of((self.type, self.first_index, self.times), *self.data)

    @once
    def sides(self):
        return [unpack(self.type, data) for data in self.data]

    def places_above(self, magnitude):
        """Of the pairs of which either element has a larger one."""
        mask = self.form.sign - 1
        return {place for side, data in zip(self.sides, self.data) if has_magnitude_above(magnitude, data, self.form)
                for place, bits in enumerate(side) if bits & mask > magnitude}

    @once
    def specials(self):
        """Where either is infinite or a NaN."""
        return self.places_above(self.form.infinity - 1) if self.form else set()

    @once
    def nans(self):
        return self.places_above(self.form.infinity) if self.specials else set()

    @remembered
    def reduce(self, op="dot", nan="propagate", result_type=None, ddof=0):
        try:
            return convert(self.value(nan), result_type or default_type("dot", self.type))
        except Refused as refused:
            return refused.args[0]

    def value(self, nan):
        if self.nans and nan == "error":
            raise Refused("WF_ERROR_NAN")
        if self.nans and nan == "propagate":
            return NaN()
        if not self.form:
            return integer(sum(map(operator.mul, *self.sides)) * self.times)
        return self.float_dot

    @once
    def float_dot(self):
        """Of the pairs without a NaN."""
        form, infinities = self.form, set()
        for place in self.specials - self.nans:
            x, y = (side[place] for side in self.sides)
            if x & (form.sign - 1) == 0 or y & (form.sign - 1) == 0:
                return NaN()
            infinities.add((x ^ y) >= form.sign)
        if infinities:
            return NaN() if len(infinities) == 2 else Infinity(infinities == {True})
        sides = self.sides
        if self.specials:
            sides = [[bits for place, bits in enumerate(side) if place not in self.specials] for side in sides]
        exact = exact_dot(*sides, form) * self.times
        is_minus_zero = exact == 0 and bool(sides[0]) and all(map(is_minus_zero_of(form), *sides))
        return Real(exact < 0 or is_minus_zero, abs(exact), 1 << (-2 * form.lowest))


def exact_dot(x, y, form):
    """The sum of the products of finite elements, as a multiple of the square of the least subnormal: the products of one
    exponent and sign are added first."""
    width, (exponents, above) = form.precision - 1, form.fields
    fields = [[bits >> width for bits in side] for side in (x, y)]
    significands = (map(operator.sub, side, map(above.__getitem__, of_side)) for side, of_side in zip((x, y), fields))
    products = defaultdict(int)
    for exponent, product in zip(map(operator.add, *(map(exponents.__getitem__, of_side) for of_side in fields)),
                                 map(operator.mul, *significands)):
        products[exponent] += product
    return sum((-total if exponent // NEGATIVE == 1 else total) << exponent % NEGATIVE for exponent, total in products.items())


def is_minus_zero_of(form):
    """Whether a product of two finite elements is one."""
    return lambda x, y: (x ^ y) >= form.sign and (x % form.sign == 0 or y % form.sign == 0)
