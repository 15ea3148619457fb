"""The right results: the CPU engine's bits, which Python and numpy confirm where they can."""

import ctypes
import math
import struct

import numpy

import warpfold_ctypes as wf
from cases import NBYTES, SMALL

FLOAT_DIGITS = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}
LEAST_EXPONENT = {"f64": -1074, "f32": -149, "f16": -24, "bf16": -133}
CODES = {"f64": "d", "f32": "f", "f16": "e", "i8": "b", "i32": "i", "i64": "q", "u64": "Q"}


class Wrong(Exception):
    """A result that is not what it must be."""


def number_of(type_name, raw):
    """The number that starts the bytes."""
    if type_name == "bf16":
        return struct.unpack("<f", b"\0\0" + raw[:2])[0]
    return struct.unpack_from("<" + CODES[type_name], raw)[0]


def number_of_bits(type_name, bits):
    if type_name not in FLOAT_DIGITS:
        return bits
    return number_of(type_name, bits.to_bytes(8, "little"))


def ulp(type_name, number):
    exponent = math.frexp(number)[1] - FLOAT_DIGITS[type_name]
    return math.ldexp(1.0, max(exponent, LEAST_EXPONENT[type_name]))


class Answers:
    """Of one array in host memory."""

    def __init__(self, handle, pointer, type_name, count, nan="propagate"):
        self.handle, self.type, self.count, self.pointer, self.nan = handle, type_name, count, pointer, nan
        self.stats = handle.stats(self.view(0, count), nan=nan)
        if count <= 1 << 24 and type_name in CODES:
            self.check_with_numpy()

    def view(self, start, count):
        address = self.pointer + start * NBYTES[self.type]
        return wf.library.wf_array_vector(address, wf.TYPE_BY_NAME[self.type], count)

    def of(self, op):
        """(type, bits), or the whole of stats."""
        if op == "stats":
            return self.stats
        if op == "dot":
            half = self.count // 2
            return self.handle.reduce_pair("dot", self.view(0, half), self.view(half, half), nan=self.nan)
        if op == "prod":
            return self.handle.reduce("prod", self.view(0, self.count), nan=self.nan)
        return self.stats[op]

    def check_with_numpy(self):
        buffer = (ctypes.c_char * (self.count * NBYTES[self.type])).from_address(self.pointer)
        array = numpy.frombuffer(buffer, CODES[self.type])
        for op in ("min", "max", "argmin", "argmax"):
            self.confirm(op, getattr(numpy, op)(array).item())
        if self.type not in FLOAT_DIGITS:
            self.confirm("sum", int(numpy.sum(array, dtype=numpy.int64)))
        elif self.type == "f64" and self.count <= SMALL:
            self.confirm("sum", math.fsum(array))

    def confirm(self, op, expected):
        if number_of_bits(*self.stats[op]) != expected:
            raise Wrong(f"{op} of {self.type}, n = {self.count}: the CPU engine gives "
                        f"{number_of_bits(*self.stats[op])!r}, Python {expected!r}")

    # ---- judging ----

    def check_warpfold(self, op, raw):
        """The bits must be the CPU engine's.  Returns the result as a text."""
        right = self.of(op)
        if op == "stats":
            got = wf.stats_dict(wf.wf_stats.from_buffer_copy(raw))
        else:
            left = wf.device_result.from_buffer_copy(raw)
            if left.status:
                raise Wrong(f"{op} of {self.type}, n = {self.count}: status {wf.ERRORS[left.status]}")
            number = wf.TYPE_BY_NAME[right[0]]
            bits = left.bits % 256**wf.library.wf_type_nbytes(number)
            got = wf.value_bits(wf.value_of_bits(number, bits))
        if got != right:
            raise Wrong(f"{op} of {self.type}, n = {self.count}: the GPU gives {got}, the CPU {right}")
        return "stats" if op == "stats" else repr(number_of_bits(*right))

    def check_peer(self, op, result_type, number):
        """How far off a peer is: 0 where it is right, None where that is no number; raises where it cannot be."""
        right_type, bits = self.of(op)
        right = number_of_bits(right_type, bits)
        if right_type not in FLOAT_DIGITS:
            width = 8 * NBYTES[result_type] if op == "sum" else 64  # sums in narrow types wrap
            if (number - right) % (1 << width):
                raise Wrong(f"{op} of {self.type}, n = {self.count}: {number}, but {right} is right")
            return 0
        if number == right:
            return 0
        if op in ("min", "max"):
            raise Wrong(f"{op} of {self.type}, n = {self.count}: {number}, but {right} is right")
        if not math.isfinite(number) or not math.isfinite(right):
            return None
        self.check_tolerance(op, number, right)
        return abs(number - right) / ulp(right_type, right)

    def check_tolerance(self, op, number, right):
        """Of sums in f32 and f64 that any sensible order of additions keeps."""
        if op != "sum" or self.type not in ("f32", "f64"):
            return
        scale = number_of_bits(*self.stats["norm1"])
        if abs(number - right) > 64 * math.ldexp(scale, -FLOAT_DIGITS[self.type]):
            raise Wrong(f"sum of {self.type}, n = {self.count}: {number!r} is too far from {right!r}")


def cpu_handle():
    return wf.Handle("cpu")


def warpfold_version():
    return wf.library.wf_version().decode()
