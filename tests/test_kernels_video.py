"""Video instructions of words, halves and bytes, compared with the definitions of the PTX ISA in Python's integers."""

import itertools
import random
import struct

import pytest

from cli_helpers import npy_header, npy_text
from inspect_helpers import HEAD, inspected, kernel, parameters, read_npy

OPS = {
    "vadd": lambda a, b: a + b,
    "vsub": lambda a, b: a - b,
    "vavrg": lambda a, b: (a + b + 1) // 2 if a + b >= 0 else (a + b) // 2,
    "vabsdiff": lambda a, b: abs(a - b),
    "vmin": min,
    "vmax": max,
}
COMPARISONS = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
PARTS = {"": 1, "2": 2, "4": 4}


def parts_of(word, count, kind):
    bits = 32 // count
    values = [word >> (bits * i) & (1 << bits) - 1 for i in range(count)]
    return [value - (1 << bits) * (kind == "s32" and value >> (bits - 1)) for value in values]


def expected(op, count, kinds, more, a, b, c):
    """What the ISA says; kinds of a and b, and of d where it has one."""
    bits = 32 // count
    results = [int(op(x, y)) for x, y in zip(parts_of(a, count, kinds[0]), parts_of(b, count, kinds[1]))]
    if more == ".sat":
        least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if kinds[2] == "s32" else (0, (1 << bits) - 1)
        results = [min(max(result, least), most) for result in results]
    if more == ".add":
        return (c + sum(results)) % 2**32
    return sum((result % (1 << bits)) << (bits * i) for i, result in enumerate(results))


def instructions(suffix):
    """(opcode, op, kinds of a, b and d, what follows)"""
    words = ("u32", "s32")
    for name, op in OPS.items():
        if name == "vavrg" and not suffix:
            continue
        for d, a, b, more in itertools.product(words, words, words, ("", ".sat", ".add")):
            yield f"{name}{suffix}.{d}.{a}.{b}{more}", op, (a, b, d), more
    for (name, op), a, b, more in itertools.product(COMPARISONS.items(), words, words, ("", ".add")):
        yield f"vset{suffix}.{a}.{b}.{name}{more}", op, (a, b, "u32"), more


def words(seed):
    generator = random.Random(seed)
    special = [0, 0xffffffff, 0x80000000, 0x7fffffff, 0x80808080, 0x7f7f7f7f, 0x80008000, 0x7fff7fff, 0x00ff00ff, 0x01000100]
    return generator.sample(special, len(special)) + [generator.getrandbits(32) for _ in range(32 - len(special))]


@pytest.mark.parametrize("suffix", PARTS)
def test_video_instructions_are_as_defined(tmp_path, suffix):
    every = list(instructions(suffix))
    lines = ["mov.u32 %r1, %tid.x;"]
    for number in range(4):
        lines += [f"ld.param.u64 %rd{number}, [k_param_{number}];"]
    lines += ["mul.wide.u32 %rd8, %r1, 4;"]
    for number in range(3):
        lines += [f"add.u64 %rd{number}, %rd{number}, %rd8;", f"ld.global.u32 %r{number + 2}, [%rd{number}];"]
    lines += ["add.u64 %rd3, %rd3, %rd8;"]
    for number, (opcode, _, _, more) in enumerate(every):
        c = ", %r4" if suffix or more == ".add" else ""
        lines += [f"{opcode} %r5, %r2, %r3{c};", f"st.global.u32 [%rd3+{128 * number}], %r5;"]
    text = HEAD + kernel("k", parameters("k", "u64", "u64", "u64", "u64"), "\n".join([*lines, "ret;"]))
    (tmp_path / "k.ptx").write_text(text)
    data, arguments = [words(seed) for seed in range(3)], []
    for number, values in enumerate(data):
        path = tmp_path / f"{number}.npy"
        path.write_bytes(npy_header(npy_text("<u4", [32])) + struct.pack("<32I", *values))
        arguments += ["--arg", f"u32[32]={path}"]
    count = 32 * len(every)
    report = inspected(tmp_path / "k.ptx", "--block", 32, *arguments, "--arg", f"u32[{count}]", "--out",
                       f"3={tmp_path / 'd.npy'}")
    assert report["findings"] == []
    got = struct.unpack(f"<{count}I", read_npy(tmp_path / "d.npy")[2])
    for number, (opcode, op, kinds, more) in enumerate(every):
        results = [expected(op, PARTS[suffix], kinds, more, *row) for row in zip(*data)]
        assert (opcode, list(got[32 * number:32 * number + 32])) == (opcode, results)


PARTIAL = ["vadd.u32.s32.u32.sat %r1, %r2.b0, %r3.h1;", "vsub.s32.s32.s32.sat %r1.b1, %r2.b3, %r3.h0, %r4;",
           "vmax2.s32.s32.s32 %r1.h10, %r2.h32, %r3.h10, %r4;", "vmin.u32.u32.s32.max %r1, %r2, %r3, %r4;"]


@pytest.mark.parametrize("instruction", PARTIAL)
def test_video_instructions_of_parts_are_missing_not_wrong(tmp_path, instruction):
    (tmp_path / "k.ptx").write_text(HEAD + kernel("k", "", instruction + "\nret;"))
    finding, = inspected(tmp_path / "k.ptx", "--block", 32, status=3)["findings"]
    assert finding["kind"] == "unsupported" and instruction.split()[0] in finding["message"]
