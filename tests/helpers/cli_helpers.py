"""Runs the command line, writes its input files byte by byte, and says what it must print.

The program is $WARPFOLD_CLI, or build/warpfold of this tree.
"""

import math
import os
import re
import struct
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

from oracle import FLOATS, INTEGERS, STATS, TYPECODES, Oracle, Real, parts, to_float

ROOT = Path(__file__).resolve().parent.parent.parent
CLI = str(Path(os.environ.get("WARPFOLD_CLI", ROOT / "build" / "warpfold")).absolute())
FAULTS = Path(os.environ.get("WARPFOLD_BUILD", Path(CLI).parent)) / "tests" / "faults.so"
TIMEOUT_SECONDS = 120
LEAK_CHECK_CRASHED = b"LeakSanitizer has encountered a fatal error"

# ---- running it --------------------------------------------------------------------------------------


def with_faults(**faults):
    """The environment of a program for which calls fail as tests/faults/faults.c says."""
    sanitizer = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "verify_asan_link_order=0"]))
    return {**os.environ, "LD_PRELOAD": str(FAULTS), "ASAN_OPTIONS": sanitizer,
            **{"FAULT_" + name.upper(): str(value) for name, value in faults.items()}}


def run(*arguments, data=b"", **options):
    """The finished process; standard input is data, unless options say otherwise."""
    if "stdin" not in options:
        options["input"] = data.encode() if isinstance(data, str) else data
    options.setdefault("stdout", subprocess.PIPE)
    command = [CLI, *map(str, arguments)]
    done = subprocess.run(command, stderr=subprocess.PIPE, timeout=TIMEOUT_SECONDS, **options)
    # The leak checker's own thread may crash in a process that has loaded NVRTC, on some days each time: that says
    # nothing of leaks, and hides what the run says of everything else.
    if LEAK_CHECK_CRASHED in done.stderr and "input" in options:
        options["env"] = without_leak_check(options.get("env") or os.environ)
        done = subprocess.run(command, stderr=subprocess.PIPE, timeout=TIMEOUT_SECONDS, **options)
    done.stderr = done.stderr.decode()
    done.stdout = done.stdout.decode() if done.stdout is not None else ""
    return done


def without_leak_check(environment):
    return {**environment, "ASAN_OPTIONS": environment.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}


def printed(*arguments, data=b"", **options):
    """What a run that succeeds, and is silent on standard error, prints."""
    done = run(*arguments, data=data, **options)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def refused(status, said, *arguments, data=b"", **options):
    """A run that fails with the status, has each of the words in its message, and prints nothing."""
    done = run(*arguments, data=data, **options)
    assert done.returncode == status, done
    assert done.stdout == "", done
    lines = done.stderr.splitlines()
    assert lines and all(line.startswith("warpfold: ") for line in lines), done
    for words in [said] if isinstance(said, str) else said:
        assert words in lines[0], (words, done.stderr)
    if status == 2:
        assert re.fullmatch(r"warpfold: try 'warpfold ([\w,]+ )?--help'", lines[-1]), done
    return lines[0]


MEASURE = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(done.returncode)
"""


def printed_and_peak(*arguments):
    """What a run that succeeds prints, and the most memory that it had, in bytes.  Measured by a small process in
    between: a program's peak begins with that of the process that starts it, and tests may hold much."""
    command = [sys.executable, "-c", MEASURE, CLI, *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=TIMEOUT_SECONDS)
    *lines, peak = done.stdout.decode().splitlines(keepends=True)
    return "".join(lines), int(peak) << 10


# ---- numbers as bytes --------------------------------------------------------------------------------


def bits_of(type_name, value):
    """What stands for the value in an array of the type: the nearest float's bits; an integer itself."""
    if type_name in INTEGERS:
        return value
    if type_name == "f64" and isinstance(value, float):
        return struct.unpack("<Q", struct.pack("<d", value))[0]
    form = FLOATS[type_name]
    if isinstance(value, str):
        return {"nan": form.nan, "inf": form.infinity, "-inf": form.infinity | form.sign, "-0": form.sign}[value]
    exact = Fraction(value)
    return to_float(Real(exact < 0, abs(exact.numerator), exact.denominator), form)


def pack(type_name, values, order="="):
    bits = [bits_of(type_name, value) for value in values]
    return struct.pack(f"{order}{len(bits)}{TYPECODES[type_name]}", *bits)


def width_of(type_name):
    return struct.calcsize(TYPECODES[type_name])


# ---- numbers as text ---------------------------------------------------------------------------------


def shortest_decimal(bits, form):
    """(digits, exponent): the shortest decimal digits * 10**exponent that is nearer to a positive float than to any
    other, found by trying.  Of several the nearest, and of two the even one."""
    here, one = multiple(bits, form), 1 << 1 - form.lowest
    below = here - multiple(bits - 1, form)
    above = multiple(bits + 1, form) - here if bits + 1 < form.infinity else below
    value = 2 * here  # over `one`, as are half of the distances
    exponent = log10_floor(value, one)
    while True:
        unit, times = one * 10**max(exponent, 0), 10**max(-exponent, 0)
        fitting = [
            (abs(digits * unit - value * times), digits % 2, digits)
            for digits in (value * times // unit, value * times // unit + 1)
            if inside(digits * unit - value * times, below * times, above * times, bits % 2 == 0)
        ]
        if fitting:
            return min(fitting)[2], exponent
        exponent -= 1


def multiple(bits, form):
    """The float as a multiple of the least one."""
    _, m, e = parts(bits, form)
    return m << e - form.lowest


def log10_floor(numerator, denominator):
    exponent = (numerator.bit_length() - denominator.bit_length() + 1) * 30103 // 100000 + 1
    while denominator * 10**max(exponent, 0) > numerator * 10**max(-exponent, 0):
        exponent -= 1
    return exponent


def inside(difference, below, above, closed):
    return -below <= difference <= above if closed else -below < difference < above


def decimal_text(bits, form):
    digits, exponent = shortest_decimal(bits, form)
    text = str(digits).rstrip("0")
    exponent += len(str(digits)) - 1  # of the first digit
    if not -5 <= exponent <= 16:
        return text[0] + ("." + text[1:] if len(text) > 1 else "") + f"e{exponent:+03d}"
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + text
    whole = text.ljust(exponent + 1, "0")
    return whole if len(whole) == exponent + 1 else whole[:exponent + 1] + "." + whole[exponent + 1:]


def hexadecimal_text(bits, form):
    _, m, e = parts(bits, form)
    significand, exponent = math.ldexp(m, e).hex().split("p")
    return (significand.rstrip("0").rstrip(".") if "." in significand else significand) + "p" + exponent


def text_of(type_name, bits, hexadecimal=False):
    """The result as the command line prints it."""
    if type_name in INTEGERS:
        return hex(bits) if hexadecimal else str(bits)
    form = FLOATS[type_name]
    sign, magnitude = ("-" if bits >= form.sign else ""), bits & (form.sign - 1)
    if magnitude > form.infinity:
        return "nan"
    if magnitude == form.infinity:
        return sign + "inf"
    if magnitude == 0:
        return sign + ("0x0p+0" if hexadecimal else "0")
    return sign + (hexadecimal_text if hexadecimal else decimal_text)(magnitude, form)


def expected(op, type_name, data, hexadecimal=False, first_index=0, **policy):
    """What the op prints for the packed elements."""
    return text_of(*Oracle(type_name, data, first_index).reduce(op, **policy), hexadecimal)


STATS_ROWS = (
    "count", "sum", "mean", "var", "std", "min", "max", "argmin", "argmax", "nonzero", "nan", "norm1", "norm2",
    "norminf",
)


def expected_rows(type_name, data, hexadecimal=False, **policy):
    """What stats prints for the packed elements: (name, text) of each line."""
    oracle = Oracle(type_name, data)
    stats = oracle.stats(**policy)
    rows = {"count": str(stats["count"]), "nan": str(stats["nans"])}
    for op in STATS:
        rows[op] = "-" if stats[op][0] is None else text_of(*stats[op], hexadecimal)
    return [(name, rows[name]) for name in STATS_ROWS]


# ---- files -------------------------------------------------------------------------------------------

DESCRIPTIONS = {
    "bool": "b1", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "u8": "u1", "u16": "u2", "u32": "u4",
    "u64": "u8", "f16": "f2", "f32": "f4", "f64": "f8",
}


def npy_header(text, version=(1, 0)):
    """The bytes before the array of a .npy file, padded as numpy does."""
    length_code = "<H" if version == (1, 0) else "<I"
    before = 8 + struct.calcsize(length_code)
    padding = -(before + len(text) + 1) % 64
    body = text.encode() + b" " * padding + b"\n"
    return b"\x93NUMPY" + bytes(version) + struct.pack(length_code, len(body)) + body


def npy_text(description, shape, fortran_order=False):
    return f"{{'descr': '{description}', 'fortran_order': {fortran_order}, 'shape': {tuple(shape)!r}, }}"


def npy(type_name, values, shape=None, order="<", version=(1, 0), fortran_order=False):
    """A whole .npy file; order is the byte order, < or >."""
    description = ("|" if width_of(type_name) == 1 else order) + DESCRIPTIONS[type_name]
    text = npy_text(description, [len(values)] if shape is None else shape, fortran_order)
    return npy_header(text, version) + pack(type_name, values, order)
