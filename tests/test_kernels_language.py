"""More kernels, as in test_kernels.py: what the language and its libraries bring, arithmetic, algorithms."""

import cmath
import itertools
import math
import random
import struct
from fractions import Fraction

import pytest

from kernel_helpers import (
    SCHEDULES, Case, check, doubles, f16, f32, floats, given, numbers, result, step_f32, zeros,
)

CASES = []


def kernel(make):
    CASES.append(make())
    return make


def signed(value, bits):
    return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def quotient(a, b):
    """As C divides: towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a, b):
    return a - b * quotient(a, b)


# ---- the language --------------------------------------------------------------------------------------


@kernel
def recursion():
    fibonacci = [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89]
    return Case("language.cu", "recursion", "1", "32", [result("u32", [fibonacci[t % 12] for t in range(32)])])


@kernel
def deep_recursion():
    return Case("language.cu", "deep_recursion", "1", "32",
                [result("i32", [2 * (t % 5) + 3 for t in range(32)])])


@kernel
def taken_from_the_stack():
    def weighed(thread, count):
        return sum((i + 1) * (thread + count - 1 - i) for i in range(count)) + 1000 * thread

    return Case("language.cu", "taken_from_the_stack", "1", "32",
                [result("i32", [sum(weighed(t, count) for count in range(1, 2 + t % 7)) for t in range(32)])])


@kernel
def given_back_to_the_stack():
    return Case("language.cu", "given_back_to_the_stack", "1", "32",
                [result("u32", [sum(range(4096)) + 4096 * t for t in range(32)])])


@kernel
def structs_by_value():
    places = numbers(33, 32, 0, 100)

    def look_up(table, at, deep):
        here = table[places[at] % 36]
        if deep == 0:
            return here
        step = places[at + 1] % 36
        return here + look_up([value + deep * (i == step) for i, value in enumerate(table)], at + 1, deep - 1)

    tables = [[1000 * t + i for i in range(36)] for t in range(32)]
    found = [look_up(table, 0, t % 4) + table[places[t] % 36] for t, table in enumerate(tables)]
    return Case("language.cu", "structs_by_value", "1", "32", [given("u32", places), result("u32", found)])


@kernel
def function_pointers():
    which, a, b = numbers(34, 64, 0, 3), floats(35, 64), floats(36, 64)
    functions = [lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, min]
    return Case("language.cu", "function_pointers", "1", "64",
                [given("i32", which), given("f32", a), given("f32", b),
                 result("f32", [f32(functions[w](x, y)) for w, x, y in zip(which, a, b)])])


@kernel
def virtual_functions():
    return Case("language.cu", "virtual_functions", "1", "64",
                [result("f32", [1.5 * t if t // 2 % 2 else t * t for t in range(64)])])


def switched(x, i):
    cases = {0: 100, 1: 7 + i, 2: 16, 3: 24, 4: i // 3, 5: i % 5, 6: i * i, 7: ~i, 1000: -1}
    return cases.get(x, x) + sum(j for j in range(min(x, 6)) if j != 3)


@kernel
def switches():
    data = [*range(-2, 12), 1000, *numbers(37, 85, -3, 12)]
    return Case("language.cu", "switches", "4", "32",
                [given("i32", data), result("i32", [switched(x, i) for i, x in enumerate(data)]), "i32:100"])


@kernel
def local_array():
    data = numbers(38, 64, -999, 999)
    out = [sorted(data[(t + i * 5) % 64] for i in range(16))[t % 16] for t in range(64)]
    return Case("language.cu", "local_array", "1", "64", [given("i32", data), result("i32", out)])


@kernel
def constants():
    primes = [2, 3, 5, 7, 11, 13, 17, 19]
    out = [-3 * primes[t % 8] + 4 + b"warp\0"[t % 5] for t in range(32)]
    return Case("language.cu", "constants", "1", "32", [result("i32", out + [40])])


@kernel
def by_value():
    factors, tail = [0.5, -2.0, 3.25], [1, 2, 3, 200, 255]
    given_bytes = struct.pack("<bxxxi3d5B3x", -7, 100, *factors, *tail).hex()
    out = [factors[t % 3] * 100 - 7 + tail[t % 5] for t in range(32)]
    return Case("language.cu", "by_value", "1", "32", [f"bytes:{given_bytes}", result("f64", out)])


@kernel
def wide_integers():
    a = [-(2**63), 2**63 - 1, -1, 10**18, -7, 12345678901234567, *numbers(39, 26, -(2**63), 2**63 - 1)]
    b = [3, -1, 2**40, -10**9, 2, 7, *numbers(40, 13, 1, 2**33), *numbers(41, 13, -(2**62), -1)]
    out = []
    for t, (x, y) in enumerate(zip(a, b)):
        x64, y64, x32, y32 = x % 2**64, y % 2**64, signed(x, 32), signed(y, 32) | 1
        row = [quotient(x, y), remainder(x, y), x64 // y64, x * y >> 64, x64 * y64 >> 64, quotient(x32, y32),
               x % 2**32 % (y % 2**32 | 1), x >> t ^ y << t]
        out += [signed(value, 64) for value in row]
    return Case("language.cu", "wide_integers", "1", "32", [given("i64", a), given("i64", b), result("i64", out)])


def words_of(value, count):
    return [value >> 32 * i & 0xffffffff for i in range(count)]


@kernel
def carries():
    a = [0xffffffff, 0xffffffff, 0xffffffff, 0, 0, 0, *numbers(76, 90, 0, 2**32 - 1)]
    b = [1, 0, 0, 1, 0, 0, *numbers(77, 90, 0, 2**32 - 1)]
    out = []
    for i in range(0, 96, 3):
        x, y = (sum(word << 32 * k for k, word in enumerate(words[i:i + 3])) for words in (a, b))
        high = (a[i] * b[i] >> 32) + b[i + 1]
        low = a[i] * b[i] % 2**32 + b[i + 1] + (high >> 32)
        out += [*words_of(x + y, 4), *words_of(x - y, 3), *words_of(x % 2**64 * b[i], 3), *words_of(high, 1),
                *words_of(low, 1), int(a[i + 1] >= b[i + 1])]
    return Case("language.cu", "carries", "1", "32", [given("u32", a), given("u32", b), result("u32", out)])


@kernel
def predicates():
    a, b = [7, 7, 0, *numbers(79, 61, 0, 15)], [3, 9, 0, *numbers(80, 61, 0, 15)]
    out = []
    for x, y in zip(a, b):
        both = x & y & 0xff
        out += [int(x != 7 and x >= y), int(x == 7 and x >= y), both + 1000 * (both != 0 or x < y),
                int(x != y and x >= y)]
    return Case("language.cu", "predicates", "1", "64", [given("u32", a), given("u32", b), result("u32", out)])


@kernel
def fields():
    data, out, mask = numbers(78, 32, 0, 2**64 - 1), [], 2**17 - 1
    for at, x in enumerate(data):
        low, high, moved = x % 2**32, x >> 32, x >> at
        both = x.to_bytes(8, "little")
        four = int.from_bytes(bytes(both[at % 4 + i] for i in range(4)), "little")
        out += [(~x & ~(mask << at) | (x & mask) << at) % 2**64, signed(x >> at, 9) % 2**64,
                (low >> at & 2**30 - 1) << 32 | four, (moved.bit_length() - 1) % 2**32 << 32 | low ^ high ^ at,
                x >> min(at + 8, 32) << 32 & 2**64 - 1 | (x << (at + 8) % 32 >> 32) % 2**32,
                int.from_bytes(both[1:4] + b"\x3f", "little") << 32 | low]
    return Case("language.cu", "fields", "1", "32", [given("u64", data), result("u64", out)])


def bytes_of(x):
    return x.to_bytes(4, "little")


@kernel
def bits():
    data = [0, 1, 0x80000000, 0xffffffff, *numbers(42, 28, 0, 2**32 - 1)]
    out = []
    for t, x in enumerate(data):
        both = bytes_of(x) + bytes_of(0x01234567)
        funnel = (0xdeadbeef << 32 | x) << t >> 32
        products = sum(signed(p, 8) * q for p, q in zip(bytes_of(x), bytes_of(0x01020304)))
        added = bytes((p + q) % 256 for p, q in zip(bytes_of(x), bytes_of(0x01ff80ff)))
        out += [bin(x).count("1"), 32 - x.bit_length(), (x & -x).bit_length(), int(f"{x:032b}"[::-1], 2),
                int.from_bytes(bytes(both[i] for i in (0, 4, 1, 5)), "little"), funnel % 2**32, (products + 5) % 2**32,
                x * x >> 32, (abs(x - 1000) + 3) % 2**32, int.from_bytes(added, "little")]
    return Case("language.cu", "bits", "1", "32", [given("u32", data), result("u32", out)])


# ---- floating-point ------------------------------------------------------------------------------------


@kernel
def half_dot():
    a, b = numbers(43, 200, -3, 3), numbers(44, 200, -3, 3)
    return Case("arithmetic.cu", "half_dot", "1", "32",
                [given("f16", a), given("f16", b), result("f32", [sum(x * y for x, y in zip(a, b))]), "i32:100"])


@kernel
def half_arithmetic():
    a = [f16(x) for x in floats(45, 32)]
    b = [f16(x) for x in floats(46, 32)]
    out = [value for x, y in zip(a, b) for value in (f16(x + y), f16(x * y), max(x, y), float(int(x)))]
    return Case("arithmetic.cu", "half_arithmetic", "1", "32",
                [given("f16", a), given("f16", b), result("f16", [value + 0.0 for value in out])])


@kernel
def kahan():
    rows = [[x * 10.0**(i % 9) for i, x in enumerate(doubles(47 + row, 50))] for row in range(32)]
    corrected, plain = [], []
    for row in rows:
        total, correction, naive = 0.0, 0.0, 0.0
        for value in row:
            y = value - correction
            t = total + y
            correction, total = (t - total) - y, t
            naive += value
        corrected.append(total)
        plain.append(naive)
    return Case("arithmetic.cu", "kahan", "1", "32",
                [given("f64", sum(rows, [])), result("f64", corrected), result("f64", plain), "i32:50"])


def rounded(value, direction):
    """An exact value to the f32 on its side: -1 below, 1 above, 0 towards zero."""
    direction = direction or (-1 if value > 0 else 1)
    nearest = f32(float(value))
    is_beyond = Fraction(nearest) > value if direction < 0 else Fraction(nearest) < value
    return step_f32(nearest, direction) if is_beyond else nearest


@kernel
def rounding():
    a, b = floats(48, 32), floats(49, 32, 0.1, 5.0)
    out = []
    for x, y in zip(a, b):
        total, product = Fraction(x) + Fraction(y), Fraction(x) * Fraction(y)
        integral = f32(f32(round(x) + math.floor(y)) + int(x))
        out += [rounded(total, -1), rounded(total, 1), rounded(product, 0), f32(x / y), f32(math.sqrt(abs(x))),
                float(product - Fraction(f32(x * y))), float(int(x)) + 0.0, rounded(total, -1), integral]
    return Case("arithmetic.cu", "rounding", "1", "32", [given("f32", a), given("f32", b), result("f32", out)])


@kernel
def functions_f32():
    out = []
    for x in floats(50, 32):
        out += [math.sin(x), math.cos(f32(x * 1000)), math.exp(x), math.log(abs(x) + 0.5), (abs(x) + 1)**1.5,
                math.tanh(x), math.erf(x), (abs(x) + 1)**-0.5, math.atan2(x, 2),
                math.copysign(abs(x)**(1 / 3), x)]
    return Case("arithmetic.cu", "functions_f32", "1", "32",
                [given("f32", floats(50, 32)), result("f32", out, tolerance=2e-6)])


@kernel
def functions_f64():
    out = []
    for x in doubles(51, 32):
        out += [math.sin(x), math.cos(x * 1e6), math.exp(x), math.log(abs(x) + 0.5), (abs(x) + 1)**1.5,
                math.tanh(x), math.sqrt(abs(x)), 1 / (x * x + 1)]
    return Case("arithmetic.cu", "functions_f64", "1", "32",
                [given("f64", doubles(51, 32)), result("f64", out, tolerance=1e-14)])


def escape_steps(x, y, width, height, limit):
    cr, ci, zr, zi = -2.0 + 3.0 * x / width, -1.0 + 2.0 * y / height, 0.0, 0.0
    for steps in range(limit):
        if zr * zr + zi * zi > 4:
            return steps
        zr, zi = zr * zr - zi * zi + cr, 2 * zr * zi + ci
    return limit


@kernel
def mandelbrot():
    width, height, limit = 30, 20, 50
    out = [escape_steps(x, y, width, height, limit) for y in range(height) for x in range(width)]
    return Case("arithmetic.cu", "mandelbrot", "2,3", "16,8",
                [result("i32", out), f"i32:{width}", f"i32:{height}", f"i32:{limit}"])


# ---- algorithms ----------------------------------------------------------------------------------------


@kernel
def fourier():
    n, values = 64, [complex(*pair) for pair in zip(doubles(67, 64), doubles(68, 64))]
    roots = [cmath.exp(-2j * math.pi * k / n) for k in range(n)]
    out = [sum(value * roots[i * k % n] for i, value in enumerate(values)) for k in range(n)]

    def flat(numbers):
        return [part for number in numbers for part in (number.real, number.imag)]

    return Case("algorithms.cu", "fourier", "1", "32",
                [given("f64", flat(values)), result("f64", flat(out), tolerance=1e-12),
                 given("f64", flat(roots)), "i32:6"], shared=n * 16)


@kernel
def common_subsequence():
    a, b = numbers(69, 40, 97, 100), numbers(70, 33, 97, 100)
    table = {}
    for i, j in itertools.product(range(40), range(33)):
        def known(p, q):
            return table.get((p, q), 0)
        table[i, j] = known(i - 1, j - 1) + 1 if a[i] == b[j] else max(known(i - 1, j), known(i, j - 1))
    return Case("algorithms.cu", "common_subsequence", "1", "64",
                [given("u8", a), given("u8", b), "i32:40", "i32:33", result("i32", list(table.values())),
                 result("i32", [table[39, 32]])], counts={"barriers": 72})


@kernel
def breadth_first():
    generator, n = random.Random(71), 200
    edges = {node: sorted({generator.randrange(n) for _ in range(generator.randrange(4))}) for node in range(n)}
    distances, frontier = [0] + [-1] * (n - 1), [0]
    for node in frontier:
        for neighbour in edges[node]:
            if distances[neighbour] < 0:
                distances[neighbour] = distances[node] + 1
                frontier.append(neighbour)
    assert len(frontier) > n // 2
    begins = [0, *itertools.accumulate(len(edges[node]) for node in range(n))]
    return Case("algorithms.cu", "breadth_first", "1", "64",
                [given("i32", begins), given("i32", sum(edges.values(), [])), result("i32", distances), f"i32:{n}"])


@kernel
def blur():
    width, height, weights = 40, 21, [1, 4, 6, 4, 1]
    image = numbers(72, width * height, 0, 99)

    def at(x, y):
        return image[y * width + x] if 0 <= x < width and 0 <= y < height else 0

    out = [sum(weights[i] * weights[j] * at(x + j - 2, y + i - 2) for i in range(5) for j in range(5))
           for y in range(height) for x in range(width)]
    return Case("algorithms.cu", "blur", "3,3", "16,8",
                [given("f32", image), result("f32", out), f"i32:{width}", f"i32:{height}"])


@kernel
def merge():
    a, b = sorted(numbers(73, 150, -99, 99)), sorted(numbers(74, 107, -99, 99))
    return Case("algorithms.cu", "merge", "2", "32",
                [given("i32", a), "i32:150", given("i32", b), "i32:107", result("i32", sorted(a + b)), "i32:5"])


@kernel
def linked_list():
    return Case("algorithms.cu", "linked_list", "1", "32", [result("i32", [sum(range(0, t % 7 * 10 + 1, 10))
                                                                        for t in range(32)])])


@kernel
def pieces():
    data, out = numbers(75, 32, 0, 2**32 - 1), []
    for t, word in enumerate(data):
        offset, each = t % 3, word.to_bytes(4, "little")
        copy = [7] * offset + list(each) + [7] * (4 - offset)
        low, middle, high = word & 31, word >> 5 & 8191, word >> 18
        out += [low * 3 + high, sum(signed(byte, 8) for byte in each), copy[0] + 2 * copy[3] + 3 * copy[6], t % 5,
                3 * (3 * t + offset) + offset, signed(high << 18 | (middle + 1) % 8192 << 5 | low, 32)]
    return Case("algorithms.cu", "pieces", "1", "32", [given("u32", data), result("i32", out)])


@kernel
def message():
    return Case("standard.cu", "message", "2", "32",
                [result("i32", [7]), zeros("u32", 1, [1]), result("i32", [42])])


@kernel
def orders():
    return Case("standard.cu", "orders", "1", "32", [zeros("u32", 3, [496, 31, 64])])


# ---- all of them ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_kernel(case, schedule, tmp_path):
    check(case, schedule, tmp_path)
