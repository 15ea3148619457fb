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


def specials_often(draw):
    """One in a thousand is a NaN, as many are infinities of either sign."""
    form, numbers, dice = FLOATS[draw.type], full(draw), draw.random.random(draw.count)
    for place, bits in enumerate((form.nan, form.infinity, form.infinity | form.sign)):
        numbers[(place / 1000 <= dice) & (dice < (place + 1) / 1000)] = bits
    return numbers


def nans_of_both_signs(draw, numbers):
    """In the place of half of them, with any bits besides, and one in a thousand is an infinity."""
    form, dice = FLOATS[draw.type], draw.random.random(draw.count)
    nans = draw.bits() | draw.unsigned(form.infinity | 1)
    return numpy.where(dice < 0.5, nans, numpy.where(dice < 0.501, nans & draw.unsigned(form.infinity | form.sign), numbers))


def half_nans(draw):
    return nans_of_both_signs(draw, normal(draw))


def nans_and_negative_zeros(draw):
    """Without an infinity: of what is left the sum is -0."""
    numbers = nans_of_both_signs(draw, negative_zeros(draw))
    form = FLOATS[draw.type]
    return numpy.where(numbers & draw.unsigned(form.sign - 1) == form.infinity, draw.unsigned(form.sign), numbers)


def half_zeros(draw):
    numbers = normal(draw)
    numbers[draw.random.random(draw.count) < 0.5] = FLOATS[draw.type].sign
    return numbers


def mostly_zeros(draw):
    numbers = full(draw)
    numbers[draw.random.random(draw.count) < 0.99] = 0
    return numbers


def gradients(draw):
    reals = draw.random.standard_normal(draw.count) * numpy.exp(3 * draw.random.standard_normal(draw.count))
    return draw.from_reals(1e-4 * reals)


def lognormal(draw):
    return draw.from_reals(numpy.exp(8 * draw.random.standard_normal(draw.count)))


def half_subnormal(draw):
    numbers, tiny = uniform(draw), denormals(draw)
    return numpy.where(draw.random.random(draw.count) < 0.5, numbers, tiny)


def uppermost(draw):
    """The largest exponents, whose sums and products leave the range, and a few of the smallest."""
    top = FLOATS[draw.type].infinity >> (FLOATS[draw.type].precision - 1)
    return numpy.where(draw.random.random(draw.count) < 0.9, draw.exponents(top - 3, 3), denormals(draw))


def fullest(draw):
    """The largest numbers of two bins that no levels hold together, so that each addition fills them most."""
    form = FLOATS[draw.type]
    fields = {"f16": (7, 23), "bf16": (47, 207), "f32": (47, 207), "f64": (701, 1403)}[draw.type]
    shift = draw.unsigned(form.precision - 1)
    field = numpy.where(draw.random.random(draw.count) < 0.5, *fields).astype(draw.unsigned)
    return field << shift | draw.unsigned((1 << (form.precision - 1)) - 1)


def by_magnitude(draw):
    """Sorted by it, over all exponents."""
    sign = draw.unsigned(FLOATS[draw.type].sign)
    numbers = full(draw)
    return numbers[numpy.argsort(numbers & ~sign, kind="stable")]


def missed(draw):
    """Alike, but for one in a hundred that lies just outside of what holds the others."""
    numbers = uniform(draw)
    form = FLOATS[draw.type]
    bias = (1 << (form.width - form.precision - 1)) - 1
    away = draw.random.integers(0, 4, draw.count) - 2 + {"f16": 8, "bf16": 56, "f32": 41, "f64": 76}[draw.type]
    field = numpy.clip(bias - away, 0, 2 * bias).astype(draw.unsigned)
    strange = draw.bits() & draw.unsigned((1 << (form.precision - 1)) - 1 | form.sign) | field << draw.unsigned(form.precision - 1)
    return numpy.where(draw.random.random(draw.count) < 0.01, strange, numbers)


def changing(draw):
    """Another kind every few hundred or thousand elements, so that it changes within chunks, warps, blocks, segments."""
    kinds = (uniform, any_bits, gradients, zeros, wide, denormals, many_nans, half_zeros, uppermost, full)
    numbers = numpy.zeros(draw.count, draw.unsigned)
    arrays = [kind(draw) for kind in kinds]
    start = 0
    while start < draw.count:
        end = start + int(draw.random.choice((1, 100, 512, 1000, 2048, 5000, 70000)))
        numbers[start:end] = arrays[draw.random.integers(len(arrays))][start:end]
        start = end
    return numbers


def infinity(form):
    return form.infinity


def minus_infinity(form):
    return form.infinity | form.sign


def nan(form):
    return form.infinity | form.sign | 1  # a signalling one


FLOAT_KINDS = {kind.__name__: kind for kind in (uniform, normal, wide, binades, full, cancelling, equal, increasing, denormals,
                                                negative_zeros, zeros, largest, many_nans, half_nans,
                                                nans_and_negative_zeros, any_bits, specials_often,
                                                half_zeros, mostly_zeros, gradients, lognormal, half_subnormal,
                                                uppermost, fullest, by_magnitude, missed, changing)} | {
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
