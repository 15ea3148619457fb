"""Kernels that copy asynchronously, wait at mbarriers and work in clusters: right ones, which give what they must and
have no finding under any schedule, and wrong ones, each with its exact report."""

import math
import random
import re
import struct
from dataclasses import dataclass

import pytest

from cli_helpers import npy_header, npy_text
from inspect_helpers import inspected, read_npy
from kernel_helpers import KERNELS, SCHEDULES, Case, check, given, inspect, result, zeros

SOURCE = "asynchronous.cu"
ITEMS = list(range(2048))


def staged(fault):
    out = [ITEMS[4 * (64 * tile + (t + 33) % 64) + i] for tile in range(4) for t in range(64) for i in range(4)]
    return Case(SOURCE, f"staged<{fault}>", "1", "64", [given("i32", ITEMS), result("i32", out), "i32:4"],
                counts={"asynchronous_copies": 4 * 64, "global_load_sectors": 4 * 64 * 16 // 32})


def rounds(fault):
    values = list(range(64))
    for _ in range(4):
        values = [values[t] + values[(t + 33) % 64] for t in range(64)]
    return Case(SOURCE, f"rounds<{fault}>", "1", "64", [result("i32", values), "i32:4"])


def ring(fault):
    out = [sum(ITEMS[64 * tile + t] for tile in range(5)) for t in range(64)]
    return Case(SOURCE, f"ring<{fault}>", "1", "96", [given("i32", ITEMS[:320]), result("i32", out), "i32:5"],
                counts={"bulk_copies": 5, "bulk_bytes": 5 * 256, "mbarrier_arrivals": 5 + 5 * 64, "mbarrier_waits":
                        5 * 64 + 3, "global_load_requests": 0})


def stored(fault):
    out = [100 * tile + t for tile in range(2) for t in range(64)]
    return Case(SOURCE, f"stored<{fault}>", "1", "64", [result("i32", out), zeros("i32", 2, [0, 0])],
                counts={"bulk_copies": 2, "proxy_fences": 2 * 2})


def passed(fault):
    out = [100 * ((block + 3) % 4) + 31 - t for block in range(8) for t in range(32)]
    return Case(SOURCE, f"passed<{fault}>", "8", "32", [result("i32", out)], options=("--cluster", "4"))


def passed_on(fault):
    return Case(SOURCE, f"passed_on<{fault}>", "8", "32", passed(fault).arguments, options=("--cluster", "4"))


def fetched(fault):
    out = [7 * t for _ in range(8) for t in range(32)]
    return Case(SOURCE, f"fetched<{fault}>", "4,2", "32", [result("i32", out)], options=("--cluster", "2,2"),
                counts={"cluster_barriers": 2 * 2})


def renewed(fault):
    return Case(SOURCE, f"renewed<{fault}>", "1", "64", [result("i32", list(range(64)))])


def told(fault):
    return Case(SOURCE, f"told<{fault}>", "4", "32", [result("i32", [r for r in range(4) for _ in range(32)])], options=("--cluster", "4"))


def fetched_ahead(fault):
    return Case(SOURCE, f"fetched_ahead<{fault}>", "1", "64", [given("i32", ITEMS[:64]), result("i32", list(range(64)))])


def sent(fault):
    out = [1000 * ((block + 3) % 4) + 127 - i for block in range(8) for i in range(128)]
    sums = [sum(1000 * ((block + 3) % 4) + 4 * t for t in range(32)) for block in range(8)]
    return Case(SOURCE, f"sent<{fault}>", "8", "32", [result("i32", out), result("i32", sums)],
                options=("--cluster", "4"), counts={"asynchronous_stores": 8 * 2 * 32, "bulk_copies": 0})


RIGHT = [
    *(make("right") for make in (staged, rounds, ring, stored, passed, passed_on, fetched, renewed, told, fetched_ahead, sent)),
    Case(SOURCE, "partial", "1", "64",
         [given("i32", ITEMS[1:21]), result("i32", [ITEMS[64 - t] if 63 - t < 20 else 0 for t in range(64)]),
          "i32:20"]),
    Case(SOURCE, "retired", "1", "64", [result("i32", [1])]),
    Case(SOURCE, "counted", "1", "64", [given("i32", ITEMS[:64]), result("i32", [63 - t for t in range(64)] + [3])]),
    Case(SOURCE, "reduced", "5", "64",
         [zeros("i32", 128, [15 * t for t in range(64)] + [5 * t for t in range(64)])]),
    Case(SOURCE, "multicast", "8", "64",
         [given("i32", ITEMS[:64]), result("i32", [t for _ in range(8) for t in range(64)])],
         options=("--cluster", "4")),
]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("case", RIGHT, ids=str)
def test_right(case, schedule, tmp_path):
    check(case, schedule, tmp_path)


# ---- reductions ----------------------------------------------------------------------------------------

GLOBAL = {"and": "b32 b64", "or": "b32 b64", "xor": "b32 b64", "inc": "u32", "dec": "u32",
          "add": "u32 s32 u64 f16 bf16 f32 f64", "min": "u32 s32 u64 s64 f16 bf16", "max": "u32 s32 u64 s64 f16 bf16"}
SHARED = {"and": "b32", "or": "b32", "xor": "b32", "inc": "u32", "dec": "u32", "add": "u32 s32 u64", "min": "u32 s32", "max": "u32 s32"}
REDUCTIONS = [(op, name, to) for to, types in (("global", GLOBAL), ("shared::cluster", SHARED))
              for op in types for name in types[op].split()]
PIECE = 16  # bytes


def unpacked(name, piece):
    """The numbers of 16 bytes.  bf16 is the upper half of an f32."""
    if name == "bf16":
        return [struct.unpack("<f", struct.pack("<I", bits << 16))[0] for bits in struct.unpack("<8H", piece)]
    code = {"f16": "e", "f32": "f", "f64": "d"}.get(name) or ("i" if name == "s32" else "q" if name == "s64" else "I" if "32" in name else "Q")
    return struct.unpack(f"<{PIECE // struct.calcsize(code)}{code}", piece)


def rounded(name, value):
    """To the nearest, of two that are as near to the even one."""
    if name == "bf16":
        bits, = struct.unpack("<I", struct.pack("<f", value))  # the sum of two that are alike in size, which is exact
        return struct.pack("<H", (bits + 0x7FFF + (bits >> 16 & 1)) >> 16)
    if name[0] in "fd":
        return struct.pack({"f16": "<e", "f32": "<f", "f64": "<d"}[name], value)
    nbytes = int(name[1:]) // 8
    return (value % (1 << 8 * nbytes)).to_bytes(nbytes, "little")


def combined(op, old, new):
    if op == "inc":
        return 0 if old >= new else old + 1
    if op == "dec":
        return new if old == 0 or old > new else old - 1
    return {"add": lambda: old + new, "min": lambda: min(old, new), "max": lambda: max(old, new), "and": lambda: old & new,
            "or": lambda: old | new, "xor": lambda: old ^ new}[op]()


def reduction(op, name, to, place):
    full = f"cp.reduce.async.bulk.{to}.shared::cta." + ("bulk_group" if to == "global" else "mbarrier::complete_tx::bytes")
    full += f".{op}{'.noftz' if op == 'add' and name in ('f16', 'bf16') else ''}.{name}"
    at = f"[%rd1+{place}]" if to == "global" else f"[%r2+{place}]"
    return f"{full} {at}, [%r1+{place}], {PIECE}{'' if to == 'global' else ', [%r3]'};"


def some_bits(generator, name):
    """Numbers of a size, whose sums are exact in the next wider type, or any bits."""
    count = {"f16": 8, "bf16": 8, "f32": 4, "f64": 2}.get(name)
    if not count:
        return generator.randbytes(PIECE)
    values = [math.ldexp(generator.uniform(-1, 1), generator.randint(0, 6)) for _ in range(count)]
    return b"".join(rounded(name, value) for value in values)


def test_every_bulk_reduction(write, tmp_path):
    """One block has one copy for each type and operation that PTX lists, 16 bytes to 16 bytes."""
    generator = random.Random(5)
    old = [some_bits(generator, name) for _, name, _ in REDUCTIONS]
    new = [some_bits(generator, name) for _, name, _ in REDUCTIONS]
    nbytes, of_cluster = PIECE * len(REDUCTIONS), sum(to != "global" for _, _, to in REDUCTIONS)
    moves = "\n".join(f"ld.global.v4.u32 {{%r4, %r5, %r6, %r7}}, [%rd{source}+{place}]; st.shared.v4.u32 [%r{to}+{place}], {{%r4, %r5, %r6, %r7}};"
                      for place in range(0, nbytes, PIECE) for source, to in ((2, 1), (1, 2)))
    back = "\n".join(f"ld.shared.v4.u32 {{%r4, %r5, %r6, %r7}}, [%r2+{place}]; st.global.v4.u32 [%rd1+{place}], {{%r4, %r5, %r6, %r7}};"
                     for place in range(PIECE * (len(REDUCTIONS) - of_cluster), nbytes, PIECE))
    copies = "\n".join(reduction(*each, PIECE * i) for i, each in enumerate(REDUCTIONS))
    path, out = write("reduce.ptx", f""".version 8.0
        .target sm_90
        .address_size 64
        .visible .entry reduce(.param .u64 to, .param .u64 from) {{
            .reg .b32 %r<8>; .reg .b64 %rd<3>; .reg .pred %over;
            .shared .align 16 .b8 source[{nbytes}]; .shared .align 16 .b8 sums[{nbytes}]; .shared .align 8 .b8 counter[8];
            ld.param.u64 %rd1, [to]; ld.param.u64 %rd2, [from];
            mov.u32 %r1, source; mov.u32 %r2, sums; mov.u32 %r3, counter;
            {moves}
            mbarrier.init.shared.b64 [%r3], 1;
            fence.proxy.async;
            mbarrier.arrive.expect_tx.shared.b64 _, [%r3], {PIECE * of_cluster};
            {copies}
            cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
        again: mbarrier.try_wait.parity.shared.b64 %over, [%r3], 0; @!%over bra again;
            {back}
            ret;
        }}"""), tmp_path / "out.npy"
    arrays = []
    for name, pieces in (("old", old), ("new", new)):
        arrays.append(write(f"{name}.npy", npy_header(npy_text("|u1", [nbytes])) + b"".join(pieces)))
    told = inspected(path, "--block", "1", *(word for array in arrays for word in ("--arg", f"u8[{nbytes}]={array}")), "--out", f"0={out}")
    assert (told["findings"], told["counts"]["bulk_copies"]) == ([], len(REDUCTIONS))
    found = read_npy(out)[2]
    for i, (op, name, to) in enumerate(REDUCTIONS):
        expected = b"".join(rounded(name.replace("b32", "u32").replace("b64", "u64"), combined(op, *pair))
                            for pair in zip(unpacked(name, old[i]), unpacked(name, new[i])))
        assert found[PIECE * i:PIECE * (i + 1)] == expected, (op, name, to)


# ---- wrong ones ----------------------------------------------------------------------------------------

NOT_DONE = ("the copy is not done before its thread commits it and waits (cp.async.wait_group, __pipeline_wait_prior()), and other threads meet "
            "that one at a barrier")
LEFT_OUT = NOT_DONE + "; line L waits with %u there, where this copy, which line L commits, needs %u"
BULK_NOT_DONE = NOT_DONE.replace("cp.async.", "cp.async.bulk.").replace(", __pipeline_wait_prior()", "")
NOT_READ = ("the source is read at any time until its thread commits the copy and waits "
            "(cp.async.bulk.wait_group.read), and other threads meet that one at a barrier")
PHASE_NOT_OVER = "the copy is not done before the phase of its mbarrier is over, for which nothing waits in between"
NOT_BEFORE = "no barrier, and no mbarrier on which that thread arrives and this one waits, comes before the copy"
NO_FENCE = "an asynchronous copy may miss it without fence.proxy.async, after the one and before the other"
ENDLESS = ("lanes {lanes} of warp {warp} wait for the phase of parity {parity} of the mbarrier at byte {byte} of "
           "shared memory ({name}), which never ends: it lacks {lacks}")
CAME = (" (initialised with {count} at line L; {came} came, at line L{before}): let all that it counts arrive in each phase, or "
        "initialise it with the number of those that do")
FULL = "index 0 of `full`, unsigned long long[2]"


def racing(access, verb, thread, advice, block="(0,0,0)"):
    return f"{access} races with the {verb} by thread {thread} of block {block} at {{other}}: {advice}"


def endless(name, lanes, warp, parity, byte, lacks):
    return ENDLESS.format(name=name, lanes=lanes, warp=warp, parity=parity, byte=byte, lacks=lacks)


def too_few(name, lanes, warp, parity, byte, count, came, before=""):
    """Arrivals at an mbarrier, which says how many were expected."""
    lacks = f"{count - came} of the {count} arrivals that it expects" + CAME.format(count=count, came=came, before=before)
    return endless(name, lanes, warp, parity, byte, lacks)


@dataclass
class Wrong:
    make: object
    fault: str
    kind: str
    place: str  # a function of the source, or the comment "line: ..."
    message: str
    other: str = ""  # of a race, likewise
    thread: tuple = (0, 0, 0)
    block: tuple = (0, 0, 0)

    def __str__(self):
        return f"{self.make.__name__}-{self.fault}"


LOADED = "load of shared memory at byte"
STAGES = "int4[2][64])"
WRONG = [
    Wrong(staged, "no_commit", "race", "line: read", racing(f"{LOADED} 16 (`stages[0][1]`, {STAGES}", "asynchronous copy", "(1,0,0)", LEFT_OUT % (1, 0)),
          "copy_16", (32, 0, 0)),
    Wrong(staged, "no_wait", "race", "line: read", racing(f"{LOADED} 16 (`stages[0][1]`, {STAGES}", "asynchronous copy", "(1,0,0)", NOT_DONE),
          "copy_16", (32, 0, 0)),
    Wrong(staged, "waits_for_older", "race", "line: read",
          racing(f"{LOADED} 16 (`stages[0][1]`, {STAGES}", "asynchronous copy", "(1,0,0)", LEFT_OUT % (2, 1)), "copy_16", (32, 0, 0)),
    Wrong(staged, "no_barrier", "race", "line: read", racing(f"{LOADED} 0 (`stages[0][0]`, {STAGES}", "asynchronous copy", "(0,0,0)", NOT_DONE),
          "copy_16", (31, 0, 0)),
    Wrong(staged, "reuses_stage", "race", "copy_16",
          racing("asynchronous copy to shared memory at byte 512", "load", "(63,0,0)", NOT_BEFORE), "line: read",
          (32, 0, 0)),
    Wrong(staged, "stores_into_copy", "race", "line: stores into copy",
          racing(f"store of shared memory at byte 1024 (`stages[1][0]`, {STAGES}", "asynchronous copy", "(0,0,0)", NOT_DONE), "copy_16"),
    Wrong(rounds, "no_init_barrier", "race", "arrive",
          racing("mbarrier operation of shared memory at byte 0 (`m`)", "mbarrier.init", "(0,0,0)",
                 "no __syncthreads() between line {other_line} and line {line}"), "init", (32, 0, 0)),
    Wrong(rounds, "counts_two", "barrier", "await_state",
          too_few("`m`", "0-31", 0, 0, 0, 65, 64)),
    Wrong(rounds, "drops_out", "barrier", "await_state",
          too_few("`m`", "0-6, 8-31", 0, 1, 0, 64, 63, ", after 64 in the phase before")),
    Wrong(ring, "no_wait", "race", "bulk_load",
          racing("bulk copy to shared memory at byte 128", "load", "(64,0,0)", PHASE_NOT_OVER), "line: read"),
    Wrong(ring, "wrong_phase", "race", "bulk_load",
          racing("bulk copy to shared memory at byte 128", "load", "(64,0,0)", PHASE_NOT_OVER), "line: read"),
    Wrong(ring, "waits_once", "race", "line: read",
          racing(f"{LOADED} 0 (index 0 of `stages`, int4[32])", "bulk copy", "(0,0,0)",
                 "the copy is not done before the phase of its mbarrier is over, and the wait of line L may return before, which its result "
                 "tells: repeat it until that is true"), "bulk_load", (32, 0, 0)),
    Wrong(ring, "announces_late", "barrier", "expect",
          "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 at byte 512 of shared memory (index 0 of `full`, unsigned long long[2]): all arrivals "
          "of the phase have come, so it may be over before these bytes are announced: expect_tx must come before the last of them"),
    Wrong(renewed, "no_inval", "barrier", "init",
          "mbarrier.init.shared::cta.b64 at byte 0 of shared memory (`m`): there is an mbarrier here, which line L has initialised: "
          "mbarrier.inval must come first, or let its next phase serve"),
    Wrong(ring, "no_expect", "race", "line: read", racing(f"{LOADED} 0 (index 0 of `stages`, int4[32])", "bulk copy", "(0,0,0)", PHASE_NOT_OVER),
          "bulk_load", (32, 0, 0)),
    Wrong(ring, "expects_less", "barrier", "await",
          endless(FULL, "0-31", 1, 0, 512, "the announcement (expect_tx) of 16 bytes that came"), thread=(32, 0, 0)),
    Wrong(ring, "expects_more", "barrier", "await",
          endless(FULL, "0-31", 1, 0, 512, "16 bytes that were announced (expect_tx)"), thread=(32, 0, 0)),
    Wrong(ring, "counts_two", "barrier", "await",
          too_few(FULL, "0-31", 1, 0, 512, 2, 1), thread=(32, 0, 0)),
    Wrong(ring, "no_init", "barrier", "await",
          "mbarrier.try_wait.parity.shared::cta.b64 at byte 512 of shared memory (index 0 of `full`, unsigned long long[2]): there is no mbarrier here: "
          "mbarrier.init must come first, and nothing may overwrite it", thread=(64, 0, 0)),
    Wrong(ring, "reuses_stage", "race", "bulk_load",
          racing("bulk copy to shared memory at byte 0", "bulk copy", "(0,0,0)", PHASE_NOT_OVER), "bulk_load"),
    Wrong(ring, "frees_early", "race", "bulk_load",
          racing("bulk copy to shared memory at byte 0", "load", "(32,0,0)", NOT_BEFORE), "line: read"),
    Wrong(ring, "past_the_end", "bounds", "bulk_load",
          "copies from 256 bytes of global memory at byte 1280 of an allocation of 1280"),
    Wrong(ring, "misaligned", "misaligned", "bulk_load",
          "copies 256 bytes, from {address} of global memory: both must be multiples of 16"),
    Wrong(stored, "no_proxy_fence", "race", "bulk_store",
          racing("bulk copy from shared memory at byte 0", "store", "(0,0,0)", NO_FENCE), "line: write"),
    Wrong(stored, "no_barrier", "race", "bulk_store",
          racing("bulk copy from shared memory at byte 4", "store", "(1,0,0)", NOT_BEFORE), "line: write"),
    Wrong(stored, "no_commit", "race", "line: write",
          racing("store of shared memory at byte 0 (index 0 of `tile`, int[64])", "bulk copy", "(0,0,0)", NOT_READ + "; it is not committed before line L waits"), "bulk_store"),
    Wrong(stored, "no_read_wait", "race", "line: write",
          racing("store of shared memory at byte 0 (index 0 of `tile`, int[64])", "bulk copy", "(0,0,0)", NOT_READ), "bulk_store"),
    Wrong(stored, "reads_result_early", "race", "line: read result",
          racing("load of global memory at {address}", "bulk copy", "(0,0,0)", BULK_NOT_DONE), "bulk_store"),
    Wrong(passed, "no_barrier", "race", "line: read",
          racing("load of shared memory at byte 124 of the cluster's block 0", "store", "(31,0,0)",
                 "no barrier of the cluster orders them", "(3,0,0)"), "line: give"),
    Wrong(passed_on, "no_barrier", "bounds", "line: give on",
          "the store of shared memory at byte 0 of the cluster's block 1 may come before that block has begun: a barrier of the cluster must "
          "come first"),
    Wrong(fetched, "leaves_early", "bounds", "line: fetch",
          "loads shared memory of block (0,0,0) of the cluster, all of whose threads have exited: a barrier of the "
          "cluster must keep them", block=(1, 0, 0)),
    Wrong(told, "leaves_early", "bounds", "line: tell",
          "the mbarrier operation of shared memory at byte 0 of the cluster's block 0 may come after the end of that block: a barrier of the "
          "cluster must follow it, or one of the block's threads wait for it", block=(3, 0, 0)),
    Wrong(fetched_ahead, "no_last_wait", "bounds", "bulk_load",
          "the bulk copy to shared memory at byte 0 may come after the end of that block: one of the block's threads must wait for the "
          "phase of the mbarrier that counts it"),
    Wrong(stored, "no_last_wait", "bounds", "bulk_store",
          "the bulk copy from shared memory at byte 0 may come after the end of that block: its thread must wait until that is read "
          "(cp.async.bulk.wait_group.read)"),
    *(Wrong(sent, fault, "race", "line: read sent",
            racing("load of shared memory at byte 496 of the cluster's block 0", "asynchronous store", "(31,0,0)",
                   PHASE_NOT_OVER, "(3,0,0)"), "line: send") for fault in ("no_wait", "no_expect")),
    Wrong(sent, "expects_more", "barrier", "await",
          endless("`m`", "0-31", 0, 0, 520, "16 bytes that were announced (expect_tx)")),
    Wrong(sent, "no_init_barrier", "barrier", "line: send",
          "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 at byte 520 of shared memory: there is no "
          "mbarrier here: mbarrier.init must come first, and nothing may overwrite it"),
    Wrong(sent, "misaligned", "misaligned", "line: send", "the address must be a multiple of the number of bytes",
          block=(3, 0, 0)),
]


def function_of(line):
    """The number of a line's comment, or the function around it, of those that hold one instruction."""
    lines = (KERNELS / SOURCE).read_text().splitlines()
    return lines[line - 1], next((match[1] for text in reversed(lines[:line])
                                  if (match := re.search(r"(?:DEVICE|__global__) \w+ \*?(\w+)\(", text))), "")


def is_at(line, place):
    text, function = function_of(line)
    return text.endswith(f"// {place}") if place.startswith("line: ") else function == place


def findings_of(wrong, schedule, folder):
    case = wrong.make(wrong.fault)
    for argument in case.arguments:
        if hasattr(argument, "after"):
            argument.after = None  # a launch that is stopped gives nothing
    # Of several clusters whichever thread comes first stops the launch.
    return inspect(case, folder, "--schedule", schedule, "--threads", 1, status=3)["findings"]


@pytest.mark.sampled
@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_wrong(wrong, tmp_path):
    findings = findings_of(wrong, "lockstep", tmp_path)
    found = [finding for finding in findings if finding["kind"] == wrong.kind and is_at(finding["line"], wrong.place)]
    assert found, findings
    if wrong.kind != "race":  # of which what follows may be wrong in other ways
        assert {finding["kind"] for finding in findings} == {wrong.kind}
    found = found[0]
    assert (tuple(found["thread"]), tuple(found["block"])) == (wrong.thread, wrong.block)
    values = {"address": hex(found["address"])}
    if wrong.other:
        assert is_at(found["other"]["line"], wrong.other)
        values["other"] = f"{found['other']['file']}:{found['other']['line']}"
        values |= {"line": found["line"], "other_line": found["other"]["line"]}
    element = r"( \((?:index \d+ of `\w+`|`\w+(?:\[\d+\])+`), \w+(?:\[\d+\])+\)(?:; a guard such as if [^;]*)?)?"  # of an argument
    said = re.sub("; (the same holds at the other accesses of lines|line [0-9]+ must also have waited for the copy|one there orders [0-9]+ pairs) .*",
                  "", found["message"])
    said = re.sub(r"at line \d+", "at line L", said) if wrong.kind == "barrier" else said
    said = re.sub(r"line \d+ (waits|commits|has initialised|may return)", r"line L \1", said)
    assert re.sub(element + "$", "", said) == wrong.message.format(**values)


@pytest.mark.slow
@pytest.mark.parametrize("schedule", ["random:1"])
@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_wrong_under_every_schedule(wrong, schedule, tmp_path):
    """What is read too early may be found to be unwritten first, and a wrong phase to have no end."""
    kinds = {finding["kind"] for finding in findings_of(wrong, schedule, tmp_path)}
    assert kinds & {wrong.kind, "uninitialised", "barrier"} and "unsupported" not in kinds
