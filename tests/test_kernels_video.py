"""Video instructions of words, halves and bytes, compared with the definitions of the PTX ISA in Python's integers."""

import itertools
import random
import struct

import pytest

from cli_helpers import npy_header, npy_text, run
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


def results(tmp_path, texts, data):
    """What `d` is after each of the instructions, by which a, b and c are read; rows of 32 lanes."""
    lines = ["mov.u32 %r1, %tid.x;"]
    for number in range(4):
        lines += [f"ld.param.u64 %rd{number}, [k_param_{number}];"]
    lines += ["mul.wide.u32 %rd8, %r1, 4;"]
    for number in range(3):
        lines += [f"add.u64 %rd{number}, %rd{number}, %rd8;", f"ld.global.u32 %r{number + 2}, [%rd{number}];"]
    lines += ["add.u64 %rd3, %rd3, %rd8;"]
    for number, text in enumerate(texts):
        lines += [text, f"st.global.u32 [%rd3+{128 * number}], %r5;"]
    text = HEAD + kernel("k", parameters("k", "u64", "u64", "u64", "u64"), "\n".join([*lines, "ret;"]))
    (tmp_path / "k.ptx").write_text(text)
    arguments = []
    for number, values in enumerate(data):
        path = tmp_path / f"{number}.npy"
        path.write_bytes(npy_header(npy_text("<u4", [32])) + struct.pack("<32I", *values))
        arguments += ["--arg", f"u32[32]={path}"]
    count = 32 * len(texts)
    report = inspected(tmp_path / "k.ptx", "--block", 32, *arguments, "--arg", f"u32[{count}]", "--out",
                       f"3={tmp_path / 'd.npy'}")
    assert report["findings"] == []
    got = struct.unpack(f"<{count}I", read_npy(tmp_path / "d.npy")[2])
    return [list(got[32 * number:32 * number + 32]) for number in range(len(texts))]


@pytest.mark.parametrize("suffix", PARTS)
def test_video_instructions_are_as_defined(tmp_path, suffix):
    every, data = list(instructions(suffix)), [words(seed) for seed in range(3)]
    texts = [f"{opcode} %r5, %r2, %r3{', %r4' if suffix or more == '.add' else ''};" for opcode, _, _, more in every]
    for (opcode, op, kinds, more), got in zip(every, results(tmp_path, texts, data), strict=True):
        assert (opcode, got) == (opcode, [expected(op, PARTS[suffix], kinds, more, *row) for row in zip(*data)])


SELECTORS = {"": (0, 32), ".b0": (0, 8), ".b1": (8, 8), ".b2": (16, 8), ".b3": (24, 8), ".h0": (0, 16), ".h1": (16, 16)}
SHIFTS = {"vshl": lambda a, b: a << b, "vshr": lambda a, b: a >> b}
WRITTEN = [".b0", ".b1", ".b2", ".b3", ".h0"]


def number(word, kind, bits=32):
    word %= 1 << bits
    return word - (1 << bits) if kind == "s32" and word >> bits - 1 else word


def selected(word, kind, selector):
    at, bits = SELECTORS[selector]
    return number(word >> at, kind, bits)


def clamped(value, kind, bits):
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if kind == "s32" else (0, (1 << bits) - 1)
    return min(max(value, least), most)


def finished(value, second, selector, c):
    """c is added to the result of the first operation, or gets it into one of its parts."""
    at, bits = SELECTORS[selector]
    if second:
        return (value + c) % 2**32
    kept = (1 << bits) - 1 << at
    return c & ~kept | value << at & kept if selector else value % 2**32


def written(opcode, second, d, a, b):
    return f"{opcode}{second} %r5{d}, %r2{a}, %r3{b}{', %r4' if second or d else ''};"


def parts(generator, sat=""):
    """(second operation, selectors of d, a and b): a second operation or a part that is written, or neither"""
    endings = [("", ""), (".add", "")] + [("", selector) for selector in WRITTEN if not sat]
    return *generator.choice(endings), generator.choice([*SELECTORS]), generator.choice([*SELECTORS])


def shapes():
    """(name, kinds of d, a and b, .sat, mode)"""
    kinds = ("u32", "s32")
    for name, d, a, b, sat in itertools.product(["vadd", "vsub", "vabsdiff", "vmin", "vmax"], kinds, kinds, kinds, ("", ".sat")):
        yield name, d, a, b, sat, ""
    for kind, mode in itertools.product(kinds, (".clamp", ".wrap")):
        yield "vshl", kind, kind, "u32", "", mode
        yield "vshr", kind, kind, "u32", "", mode
        yield "vshr", kind, kind, "u32", ".sat", mode


def words_of_parts(generator):
    """(the instruction, what it gives for a, b, c)"""
    for name, d, a, b, sat, mode in [shape for shape in shapes() for _ in range(6)]:
        second, dsel, asel, bsel = parts(generator, sat)

        def value(x, y, z, *, op={**OPS, **SHIFTS}[name], kinds=(d, a, b), sat=sat, mode=mode, ends=(second, dsel),
                  sources=(asel, bsel)):
            x, y = (selected(word, kind, part) for word, kind, part in zip((x, y), kinds[1:], sources, strict=True))
            result = op(x, y % 32 if mode == ".wrap" else min(y, 32) if mode else y)
            return finished(clamped(result, kinds[0], 32) if sat else result, *ends, z)

        yield written(f"{name}.{d}.{a}.{b}{sat}{mode}", second, dsel, asel, bsel), value


def comparisons_of_parts(generator):
    for name, a, b in itertools.product(COMPARISONS, ("u32", "s32"), ("u32", "s32")):
        for _ in range(4):
            second, dsel, asel, bsel = parts(generator)

            def value(x, y, z, *, name=name, a=a, b=b, second=second, dsel=dsel, asel=asel, bsel=bsel):
                return finished(int(COMPARISONS[name](selected(x, a, asel), selected(y, b, bsel))), second, dsel, z)

            yield written(f"vset.{a}.{b}.{name}", second, dsel, asel, bsel), value


def products_of_parts(generator):
    for a, b, po in itertools.product(("u32", "s32"), ("u32", "s32"), ("", ".po")):
        for asel, bsel in [("", "")] + [(generator.choice([*SELECTORS]), generator.choice([*SELECTORS])) for _ in range(4)]:
            def value(x, y, z, *, a=a, b=b, po=po, asel=asel, bsel=bsel):
                return (selected(x, a, asel) * selected(y, b, bsel) + z + bool(po)) % 2**32

            yield f"vmad.{'s32' if 's32' in (a, b) else 'u32'}.{a}.{b}{po} %r5, %r2{asel}, %r3{bsel}, %r4;", value


def scaled_products(generator):
    """The definition of vmad in the PTX ISA, where both factors are signed: the whole sum is shifted, and then clamped."""
    for po, sat, scale in itertools.product(("", ".po"), ("", ".sat"), (0, 7, 15)):
        for asel, bsel in [("", "")] * 2 + [(generator.choice([*SELECTORS]), generator.choice([*SELECTORS])) for _ in range(4)]:
            def value(x, y, z, *, po=po, sat=sat, scale=scale, asel=asel, bsel=bsel):
                total = (selected(x, "s32", asel) * selected(y, "s32", bsel) + selected(z, "s32", "") + bool(po)) >> scale
                return (clamped(total, "s32", 32) if sat else total) % 2**32

            shift = f".shr{scale}" if scale else ""
            yield f"vmad.s32.s32.s32{po}{sat}{shift} %r5, %r2{asel}, %r3{bsel}, %r4;", value


FORMS = {"arithmetic and shifts": words_of_parts, "comparisons": comparisons_of_parts, "products": products_of_parts,
         "scaled products": scaled_products}


@pytest.mark.parametrize("form", FORMS)
def test_video_instructions_of_parts_of_words_are_as_defined(tmp_path, form):
    every, data = list(FORMS[form](random.Random(1))), [words(seed) for seed in range(3)]
    got = results(tmp_path, [text for text, _ in every], data)
    for (text, value), row in zip(every, got, strict=True):
        assert (text, row) == (text, [value(*lane) for lane in zip(*data)])


# Of halves and bytes: the letter of a selector, and what is taken for one that is absent.
SELECTED = {"2": ("h", "10", "10", "32"), "4": ("b", "3210", "3210", "7654")}


def of_selected(op, suffix, kinds, more, mask, selectors, a, b, c):
    """What the ISA says: the parts that `mask` names, of those of a and b that the selectors name, go into c."""
    count = PARTS[suffix]
    bits = 32 // count
    pools = [parts_of(a, count, kind) + parts_of(b, count, kind) for kind in kinds[:2]]
    sources = [[pool[int(digit)] for digit in reversed(digits)] for pool, digits in zip(pools, selectors, strict=True)]
    values = [int(op(x, y)) for x, y in zip(*sources, strict=True)]
    if more == ".sat":
        values = [clamped(value, kinds[2], bits) for value in values]
    values = [value if str(number) in mask else None for number, value in enumerate(values)]
    if more == ".add":
        return (c + sum(value for value in values if value is not None)) % 2**32
    merged = [old if new is None else new % (1 << bits) for old, new in zip(parts_of(c, count, "u32"), values, strict=True)]
    return sum(part << bits * number for number, part in enumerate(merged))


def selections(generator, suffix):
    """(mask and selectors as they are written, and what they mean)"""
    letter, *default = SELECTED[suffix]
    count = PARTS[suffix]
    masks = ["".join(digits) for size in range(1, count + 1) for digits in itertools.combinations(default[0], size)]
    mask = generator.choice(masks)
    drawn = [mask] + ["".join(generator.choice("01234567"[:2 * count]) for _ in range(count)) for _ in range(2)]
    written = [generator.random() < 0.8 for _ in drawn]
    texts = [f".{letter}{digits}" if is_written else "" for digits, is_written in zip(drawn, written, strict=True)]
    return texts, [digits if is_written else other for digits, other, is_written in zip(drawn, default, written, strict=True)]


def selected_parts(generator, suffix):
    """(the instruction, what it gives for a, b, c)"""
    for opcode, op, kinds, more in list(instructions(suffix)) * 2:
        (d, a, b), (mask, *selectors) = selections(generator, suffix)

        def value(x, y, z, *, op=op, kinds=kinds, more=more, mask=mask, selectors=tuple(selectors)):
            return of_selected(op, suffix, kinds, more, mask, selectors, x, y, z)

        yield f"{opcode} %r5{d}, %r2{a}, %r3{b}, %r4;", value


@pytest.mark.parametrize("suffix", SELECTED)
def test_video_instructions_of_selected_halves_and_bytes_are_as_defined(tmp_path, suffix):
    every, data = list(selected_parts(random.Random(1), suffix)), [words(seed) for seed in range(3)]
    got = results(tmp_path, [text for text, _ in every], data)
    for (text, value), row in zip(every, got, strict=True):
        assert (text, row) == (text, [value(*lane) for lane in zip(*data)])


MISSING = ["vmax2.s32.s32.s32 %r1.h01, %r2.h32, %r3.h10, %r4;", "vadd4.u32.u32.u32 %r1.b32, %r2.b3218, %r3, %r4;",
           "vadd2.u32.u32.u32 %r1, %r2.b32, %r3, %r4;", "vset4.u32.u32.lt %r1, %r2.b321, %r3, %r4;",
           "vsub2.s32.s32.s32 %r1, %r2, %r3, %r4.h10;", "vadd.u32.u32.u32 %r1.b0, %r2, %r3.b4, %r4;",
           "vsub.s32.s32.s32.sat %r1.b1, %r2.b3, %r3.h0, %r4;", "vadd.u32.u32.u32 %r1.h1, %r2, %r3, %r4;",
           "vmin.u32.u32.s32.max %r1, %r2, %r3, %r4;", "vshl.u32.u32.u32.sat.wrap %r1, %r2, %r3;",
           "vmad.u32.u32.u32.sat %r1, %r2, %r3, %r4;", "vmad.s32.u32.s32.shr7 %r1, %r2, %r3, %r4;",
           "vmad.u32.u32.u32.shr15 %r1, %r2, %r3, %r4;", "vmad.s32.s32.s32.shr8 %r1, %r2, %r3, %r4;"]


@pytest.mark.parametrize("instruction", MISSING)
def test_video_instructions_of_other_parts_are_missing_not_wrong(tmp_path, instruction):
    (tmp_path / "k.ptx").write_text(HEAD + kernel("k", "", instruction + "\nret;"))
    finding, = inspected(tmp_path / "k.ptx", "--block", 32, status=3)["findings"]
    assert finding["kind"] == "unsupported" and instruction.split()[0] in finding["message"]


@pytest.mark.parametrize("instruction", ["add.u32 %r1, %r2.b0, %r3;", "vote.sync.any.pred %p1, %p2.b0, -1;"])
def test_other_instructions_take_no_parts(tmp_path, instruction):
    (tmp_path / "k.ptx").write_text(HEAD + kernel("k", "", instruction + "\nret;"))
    done = run("inspect", tmp_path / "k.ptx", "--block", 32)
    assert done.returncode == 1 and done.stderr.endswith("operand 2 must be a register or a constant\n"), done
