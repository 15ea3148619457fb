"""Runs kernels through `warpfold inspect`: arrays go in and come out as .npy files, counts and findings as JSON."""

import ctypes.util
import json
import math
import os
import random
import shutil
import struct
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cli_helpers import DESCRIPTIONS, ROOT, npy_header, npy_text, run
from inspect_helpers import read_npy

BUILD = Path(os.environ.get("WARPFOLD_BUILD", ROOT / "build")).absolute()
NVRTC_CACHE = BUILD / "tests" / "libnvrtc_cache.so"
KERNELS = ROOT / "tests" / "kernels"
SCHEDULES = ["lockstep", *(pytest.param(name, marks=pytest.mark.slow) for name in ("split", "random:1"))]
CODES = {"u8": "B", "i32": "i", "u32": "I", "i64": "q", "u64": "Q", "f16": "e", "f32": "f", "f64": "d"}

# ---- compilers -----------------------------------------------------------------------------------------


def cuda_folders():
    named = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    return [Path(folder) for folder in [*named, "/usr/local/cuda"]]


def has_nvcc():
    return bool(shutil.which("nvcc")) or any((folder / "bin" / "nvcc").exists() for folder in cuda_folders())


def nvrtc_library():
    """Its path or name; None: there is none."""
    chosen = os.environ.get("WARPFOLD_NVRTC")
    if chosen:
        return chosen if Path(chosen).exists() else None
    return real_nvrtc_library()


def real_nvrtc_library():
    """Not the one that keeps what it has compiled (conftest.py)."""
    found = [path for folder in cuda_folders() for path in sorted((folder / "lib64").glob("libnvrtc.so*"))]
    return ctypes.util.find_library("nvrtc") or (str(found[0]) if found else None)


def has_nvrtc():
    return nvrtc_library() is not None


def need_compiler(source):
    if "int main(" in (KERNELS / source).read_text():
        if not has_nvcc():
            pytest.skip("no nvcc, which a file with host code needs")
    elif not has_nvrtc() and not has_nvcc():
        pytest.skip("neither NVRTC nor nvcc")


# ---- arrays --------------------------------------------------------------------------------------------


@dataclass
class Buffer:
    """An argument: its type, what it holds before (values, or a word of --arg with the count), and after."""

    type: str
    before: object
    after: object = None  # values; None among them: any; a whole None: not looked at
    tolerance: float = 0.0  # relative to the greater of the value and 1
    is_ordered: bool = True

    def write(self, path):
        if isinstance(self.before, tuple):
            count, word = self.before
            return f"{self.type}[{count}]={word}"
        values = list(self.before)
        order = "|" if self.type == "u8" else "<"
        header = npy_header(npy_text(order + DESCRIPTIONS[self.type], [len(values)]))
        path.write_bytes(header + struct.pack(f"<{len(values)}{CODES[self.type]}", *values))
        return f"{self.type}[{len(values)}]={path}"

    def check(self, path):
        description, count, body = read_npy(path)
        assert (description[1:], count) == (DESCRIPTIONS[self.type], len(self.after)), path
        got, expected = list(struct.unpack(f"<{count}{CODES[self.type]}", body)), list(self.after)
        if not self.is_ordered:
            got, expected = sorted(got), sorted(expected)
        wrong = [(i, a, b) for i, (a, b) in enumerate(zip(got, expected)) if not self.is_right(a, b)]
        assert not wrong, f"{path.name}: {len(wrong)} of {len(got)} wrong; (index, got, expected): {wrong[:5]}"

    def is_right(self, got, expected):
        if expected is None:
            return True
        if self.tolerance:
            return abs(got - expected) <= self.tolerance * max(1.0, abs(expected))
        return pack(self.type, got) == pack(self.type, expected)


def pack(type_name, value):
    return struct.pack("<" + CODES[type_name], value)


def given(type_name, values):
    return Buffer(type_name, values)


def result(type_name, after, tolerance=0.0, is_ordered=True):
    """Not initialised, so that a kernel that reads it, or does not write all of it, is found out."""
    return Buffer(type_name, (len(after), "none"), after, tolerance, is_ordered)


def changed(type_name, before, after, **options):
    return Buffer(type_name, before, after, **options)


def zeros(type_name, count, after=None, **options):
    return Buffer(type_name, (count, "zeros"), after, **options)


# ---- running -------------------------------------------------------------------------------------------


@dataclass
class Case:
    """A kernel, how it is launched, and what it must give."""

    source: str
    kernel: str
    grid: str
    block: str
    arguments: list
    shared: int = 0
    options: tuple = ()
    counts: dict = field(default_factory=dict)
    printed: str = ""

    def __str__(self):
        return self.kernel


def inspect(case, folder, *options, status=0):
    """The JSON of a run with the status; the arrays that come out lie in the folder, by their argument's number."""
    need_compiler(case.source)
    words = ["inspect", KERNELS / case.source, "--kernel", case.kernel, "--grid", case.grid, "--block", case.block,
             "--json", *case.options, *options]
    if case.shared:
        words += ["--shared", case.shared]
    for index, argument in enumerate(case.arguments):
        is_buffer = isinstance(argument, Buffer)
        words += ["--arg", argument.write(folder / f"in{index}.npy") if is_buffer else argument]
        if is_buffer and argument.after is not None:
            words += ["--out", f"{index}={folder / f'out{index}.npy'}"]
    done = run(*words)
    assert (done.returncode, done.stderr) == (status, ""), (words, done)
    return json.loads(done.stdout)


def check(case, schedule, folder):
    """A run without findings that gives what it must."""
    report = inspect(case, folder, "--schedule", schedule)
    assert report["findings"] == []
    assert report.get("printed", "") == case.printed
    for index, argument in enumerate(case.arguments):
        if isinstance(argument, Buffer) and argument.after is not None:
            argument.check(folder / f"out{index}.npy")
    if schedule == "lockstep":  # the others part warps that no branch parts
        counts = {**report["counts"], **report}
        assert {name: counts[name] for name in case.counts} == case.counts


# ---- numbers -------------------------------------------------------------------------------------------


def numbers(seed, count, low, high):
    generator = random.Random(seed)
    return [generator.randint(low, high) for _ in range(count)]


def floats(seed, count, low=-10.0, high=10.0):
    generator = random.Random(seed)
    return [f32(generator.uniform(low, high)) for _ in range(count)]


def doubles(seed, count, low=-10.0, high=10.0):
    generator = random.Random(seed)
    return [generator.uniform(low, high) for _ in range(count)]


def f32(value):
    """The nearest f32; sums, products and quotients of f32 are right when they are rounded so."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


def f16(value):
    return struct.unpack("<e", struct.pack("<e", value))[0]


def step_f32(value, direction):
    """The f32 next to a finite one, towards +inf (1) or -inf (-1)."""
    (bits,) = struct.unpack("<i", struct.pack("<f", value))
    if value == 0:
        return math.copysign(2.0**-149, direction)
    return struct.unpack("<f", struct.pack("<i", bits + (direction if value > 0 else -direction)))[0]
