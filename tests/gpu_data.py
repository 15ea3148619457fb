"""Large arrays for the tests of the GPU, by numpy: what a kernel may meet, by name."""

import numpy

from oracle import FLOATS, INTEGERS
from samples import nbytes_of

UNSIGNED = {1: numpy.uint8, 2: numpy.uint16, 4: numpy.uint32, 8: numpy.uint64}


class Draw:
    """Random bits of one type, the same for the same words."""

    def __init__(self, type_name, count, *words):
        self.type, self.count = type_name, count
        self.unsigned = UNSIGNED[nbytes_of(type_name)]
        self.random = numpy.random.default_rng([ord(letter) for letter in f"{type_name} {count} {words}"])

    def bits(self):
        return numpy.frombuffer(self.random.bytes(self.count * nbytes_of(self.type)), self.unsigned).copy()

    def from_reals(self, reals):
        """The bits of floats near the reals (of bf16 those of f32, cut off)."""
        if self.type == "bf16":
            return (reals.astype(numpy.float32).view(numpy.uint32) >> 16).astype(numpy.uint16)
        kind = {"f16": numpy.float16, "f32": numpy.float32, "f64": numpy.float64}[self.type]
        with numpy.errstate(over="ignore"):  # an infinity is a number to test, too
            return reals.astype(kind).view(self.unsigned)

    def exponents(self, low, size):
        """Floats whose biased exponents are spread evenly from low on."""
        form = FLOATS[self.type]
        shift = form.precision - 1
        kept = self.unsigned((1 << shift) - 1 | form.sign)
        chosen = self.random.integers(low, low + size, self.count, dtype=numpy.uint64).astype(self.unsigned)
        return self.bits() & kept | chosen << self.unsigned(shift)


# ---- floats ------------------------------------------------------------------------------------------


def uniform(draw):
    return draw.from_reals(draw.random.uniform(-1, 1, draw.count))


def normal(draw):
    return draw.from_reals(draw.random.standard_normal(draw.count))


def wide(draw):
    form = FLOATS[draw.type]
    bias = (1 << (form.width - form.precision - 1)) - 1
    spread = min(60, bias - 1)
    return draw.exponents(bias - spread, 2 * spread + 1)


def binades(draw):
    """About as many as the kernels' levels take without a second look, on all of which there are bits: 42 less those of a
    fraction, or half as many where they are multiplied."""
    form = FLOATS[draw.type]
    bias = (1 << (form.width - form.precision - 1)) - 1
    most = {"f16": 12, "bf16": 34, "f32": 18, "f64": 32}[draw.type] + draw.random.integers(-2, 3)
    size = most // draw.random.choice((1, 2))
    return draw.exponents(max(bias + draw.random.choice((0, 7, -9)) - size, 1), size + 1) | draw.unsigned(1)


def full(draw):
    """Every exponent of a finite number."""
    form = FLOATS[draw.type]
    return draw.exponents(0, form.infinity >> (form.precision - 1))


def cancelling(draw):
    """Each number once more with the other sign, far away; and one of the smallest."""
    numbers = full(draw)
    half = draw.count // 2
    numbers[half:2 * half] = numbers[:half] ^ draw.unsigned(FLOATS[draw.type].sign)
    numbers[-1:] = 1
    return numbers


def equal(draw):
    return draw.from_reals(numpy.full(draw.count, 0.1))


def increasing(draw):
    return draw.from_reals(numpy.arange(draw.count) / 8 - 3)


def denormals(draw):
    return draw.exponents(0, 1)


def negative_zeros(draw):
    return numpy.full(draw.count, FLOATS[draw.type].sign, draw.unsigned)


def zeros(draw):
    return draw.bits() & draw.unsigned(FLOATS[draw.type].sign)


def largest(draw):
    """The most that is finite: sums leave the range."""
    return numpy.full(draw.count, FLOATS[draw.type].infinity - 1, draw.unsigned)


def placed(base, *values):
    """Kinds that put special bits among those of another: (place from 0 to 1, bits of the format)."""
    def make(draw):
        numbers = base(draw)
        for place, value in values:
            if draw.count:
                numbers[int(place * (draw.count - 1))] = value(FLOATS[draw.type])
        return numbers

    return make


def many_nans(draw):
    numbers = normal(draw)
    numbers[draw.random.random(draw.count) < 0.3] = FLOATS[draw.type].nan
    return numbers


def any_bits(draw):
    return draw.bits()


def infinity(form):
    return form.infinity


def minus_infinity(form):
    return form.infinity | form.sign


def nan(form):
    return form.infinity | form.sign | 1  # a signalling one


FLOAT_KINDS = {kind.__name__: kind for kind in (uniform, normal, wide, binades, full, cancelling, equal, increasing, denormals,
                                                negative_zeros, zeros, largest, many_nans, any_bits)} | {
    "infinity": placed(wide, (0.3, infinity)),
    "minus_infinity": placed(full, (1, minus_infinity), (0.5, minus_infinity)),
    "both_infinities": placed(normal, (0, minus_infinity), (1, infinity)),
    "nan_first": placed(normal, (0, nan)),
    "nan_middle": placed(full, (0.5, nan)),
    "nan_last": placed(wide, (1, nan)),
    "nan_and_infinity": placed(normal, (0.2, infinity), (0.7, nan)),
}

# ---- integers ----------------------------------------------------------------------------------------


def small(draw):
    return draw.random.integers(0, 4, draw.count).astype(draw.unsigned)


def around_zero(draw):
    return draw.random.integers(-5, 6, draw.count).astype(draw.unsigned)


def nothing(draw):
    return numpy.zeros(draw.count, draw.unsigned)


def ones(draw):
    return numpy.ones(draw.count, draw.unsigned)


def greatest(draw):
    return numpy.full(draw.count, INTEGERS[draw.type][1] % (1 << 64), numpy.uint64).astype(draw.unsigned)


def least(draw):
    return numpy.full(draw.count, INTEGERS[draw.type][0] % (1 << 64), numpy.uint64).astype(draw.unsigned)


def one_stands_out(draw):
    """All alike but one, near the end."""
    numbers = ones(draw)
    numbers[draw.count - draw.count // 3 - 1:draw.count - draw.count // 3] = 7
    return numbers


INTEGER_KINDS = {kind.__name__: kind for kind in (any_bits, small, around_zero, nothing, ones, greatest, least,
                                                  one_stands_out)}


def kinds_of(type_name):
    return FLOAT_KINDS if type_name in FLOATS else INTEGER_KINDS


def make(type_name, count, kind, *words):
    """The packed elements; words make it another array."""
    return kinds_of(type_name)[kind](Draw(type_name, count, kind, *words)).tobytes()
