"""What tests of groups in a GPU's memory share: data that is hard to reduce in registers, and how the plans begin that do."""

import math
import struct

import warpfold_ctypes as wf
from gpu_pair import returned
from oracle import FLOATS, TYPECODES

library = wf.library

SHORT_OPS = ("sum", "norm1", "max", "argmin", "mean", "var", "std", "norm2")
SAMPLED_KINDS = ("wild", "special")  # others are plain samples, or made from a few numbers

IN_REGISTERS, ONE_IN_REGISTERS = b"several groups of a lane in registers", b"one group of a lane in registers"
BY_TEAMS_IN_REGISTERS = b"rows in registers"
OF_COLUMNS = ONE_IN_REGISTERS, b"columns in registers"


def encoded(type_name, number):
    if type_name == "bf16":
        return struct.pack("=f", number)[2:]
    return struct.pack({"f64": "=d", "f32": "=f", "f16": "=e"}[type_name], number)


def numbers_at_an_end(type_name, is_huge):
    """Of the largest exponents, or the least, where sums and squares are beyond the range in which f64 are added up, and equal ones,
    whose sums are exact."""
    form = FLOATS[type_name]
    least, most = (form.infinity - (3 << form.precision - 1), form.infinity) if is_huge else (1, 3 << form.precision - 1)
    ends = [least, most - 1, most - 1, *range(least, most, (most - least) // 40)]
    return [(sign | bits).to_bytes(form.width // 8, "little") for bits in ends for sign in (0, form.sign)]


def make_row_data(array, kind, rng):
    """Besides samples: equal numbers, small ones, whose sums and means are often half-way between two results, such far from 0, and
    huge and tiny ones."""
    numbers = {"equal": [rng.choice((-0.0, 3.0))], "small": [0.0, -0.0, 1.0, 2.0, 3.0], "far": [1000.0, 1004.0, 1008.0, 1012.0]}
    elements = [encoded(array.type, number) for number in numbers.get(kind, ())]
    if kind in ("huge", "tiny"):
        elements = numbers_at_an_end(array.type, kind == "huge")
    if elements:
        array.data = b"".join(rng.choices(elements, k=len(array.data) // array.nbytes))


def row_kinds(type_name, is_real):
    """Sums of narrow types have no ends that f64 do not reach."""
    ends = ("huge", "tiny") if is_real or type_name == "f64" else ()
    return ("plain", *SAMPLED_KINDS, "equal", "small", "far", *ends)


def repeated(array, shape):
    """Few elements as a matrix of many."""
    count = len(array.data) // array.nbytes
    array.data = (array.data * (math.prod(shape) // count + 1))[:math.prod(shape) * array.nbytes]
    array.shape, array.strides = shape, [shape[1] * array.nbytes, array.nbytes]
    return array


def tall_shapes(type_name, is_real):
    """Columns whose rows are not whole words, or not whole vectors, with some left that are too few to be one; and fewer of them."""
    if is_real:
        return (100_007, 3), (50_001, 10), (30_003, 33), (20_021, 100)
    return {"f64": ((5_003, 3), (4_201, 4)), "f32": ((4_203, 5),)}.get(type_name, ((8_295, 3), (8_215, 12)))


def equal_extremes(type_name, is_min):
    """Numbers of which the best are several, or the worst that an element can be."""
    bits = 8 * struct.calcsize(TYPECODES[type_name])
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if type_name[0] == "i" else (0, (1 << bits) - 1)
    worst, best = (most, least) if is_min else (least, most)
    near = best - 1 if best > 0 else best + 1
    return {"worst": [worst], "best": [best], "two": [worst, best], "few": [worst] * 200 + [best], "near": [worst, worst, best, near]}


def instructions_of(pair, op, axes, array, chosen, counted):
    """That the warps of a call execute."""
    counted.unlink(missing_ok=True)
    returned(pair.device, op, library.wf_groups_axes(axes), [pair.there(array)], **chosen)
    return sum(float(line) for line in counted.read_text().split())
