"""warpfold inspect: arguments in and out, what is said of a wrong one, the report for people and for programs.

What the simulator counts and finds in many kernels is tested with the kernels; here, that it reaches the user.
"""

import json
import math
import os
import pty
import re
import resource
import stat
import struct
import subprocess
import threading
from pathlib import Path

import pytest

from cli_helpers import CLI, TIMEOUT_SECONDS, npy, pack, refused, run
from inspect_helpers import HEAD, inspected, kernel, parameters, read_npy

# ---- kernels ---------------------------------------------------------------------------------------------

ADD = HEAD + kernel("add", parameters("add", "u64", "u64", "u64", "u32"), """
ld.param.u64 %rd1, [add_param_0];
ld.param.u64 %rd2, [add_param_1];
ld.param.u64 %rd3, [add_param_2];
ld.param.u32 %r1, [add_param_3];
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %ntid.x;
mov.u32 %r4, %tid.x;
mad.lo.s32 %r5, %r2, %r3, %r4;
setp.ge.u32 %p1, %r5, %r1;
@%p1 bra DONE;
mul.wide.u32 %rd4, %r5, 4;
add.s64 %rd5, %rd1, %rd4;
add.s64 %rd6, %rd2, %rd4;
add.s64 %rd7, %rd3, %rd4;
ld.global.f32 %f1, [%rd5];
ld.global.f32 %f2, [%rd6];
add.f32 %f3, %f1, %f2;
st.global.f32 [%rd7], %f3;
DONE:
ret;""")

NOTHING = kernel("nothing", [], "ret;")

FIELDS = ["kernel", "instructions", "divergent_branches", "utilization", "global_sectors", "global_requests",
          "coalescing", "shared_wavefronts", "bank_degree", "barriers", "atomics", "findings"]


@pytest.fixture
def add(write):
    return write("add.ptx", ADD)


@pytest.fixture
def nothing(write):
    return write("nothing.ptx", HEAD + NOTHING)


def filled(write, tmp_path, text):
    """The bytes of a buffer, which a kernel of one parameter leaves as it is, and the file's description."""
    path = write("one.ptx", HEAD + kernel("one", parameters("one", "u64"), "ret;"))
    out = tmp_path / "out.npy"
    inspected(path, "--arg", text, "--out", f"0={out}")
    description, count, content = read_npy(out)
    assert str(count) == re.search(r"\[(\d+)\]", text)[1]
    return description, content


# ---- a whole run ---------------------------------------------------------------------------------------


def test_add(add, write, tmp_path):
    n = 1000
    a, b = [i * 0.5 for i in range(n)], [1.0] * n
    out = tmp_path / "sums.npy"
    report = inspected(add, "--grid", 4, "--block", 256, "--arg", f"f32[{n}]={write('a.npy', npy('f32', a))}",
                       "--arg", f"f32[{n}]=ones", "--arg", f"f32[{n}]=none", "--arg", f"i32:{n}", "--out", f"2={out}")
    assert read_npy(out) == ("<f4", n, pack("f32", [x + y for x, y in zip(a, b)]))
    assert list(report)[:len(FIELDS)] == FIELDS
    assert report["kernel"] == "add"
    assert report["findings"] == [] and report["stopped"] is False and report["printed"] == ""
    assert (report["grid"], report["block"]) == ([4, 1, 1], [256, 1, 1])
    # 31 warps are full, one has 8 lanes with work; 4000 bytes are 32 lines or 125 sectors.
    assert report["divergent_branches"] == 1
    assert report["global_requests"] == 3 * 32
    assert report["global_sectors"] == 3 * 125
    assert report["coalescing"] == 1
    assert (report["barriers"], report["atomics"], report["shared_wavefronts"], report["bank_degree"]) == (0, 0, 0, 1)
    # Ten instructions up to the branch and the last one by all 32 warps, eight between by all.
    assert report["instructions"] == 32 * (10 + 8 + 1)
    for field in FIELDS[1:-1]:
        assert report["counts"][field] == report[field]


def test_text(add):
    done = run("inspect", add, "--block", "64", "--arg", "f32[64]=iota", "--arg", "f32[64]=ones", "--arg",
               "f32[64]=zeros", "--arg", "u32:64")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == f"add  {add}"
    assert lines[1] == "  grid 1,1,1  block 64,1,1  schedule lockstep"
    counts = dict(line.split()[:2] for line in lines[2:len(FIELDS)])
    assert set(counts) == set(FIELDS[1:-1])
    assert (counts["instructions"], counts["global_requests"], counts["utilization"]) == ("38", "6", "1")
    assert lines[-1] == "no findings"
    assert "\033" not in done.stdout


def test_defaults_are_one_block_of_a_warp(nothing):
    report = inspected(nothing)
    assert (report["grid"], report["block"], report["instructions"]) == ([1, 1, 1], [32, 1, 1], 1)


def test_extents(nothing):
    report = inspected(nothing, "--grid", "2,3,4", "--block", "8,4,2", "--shared", "1024", "--threads", "2")
    assert (report["grid"], report["block"]) == ([2, 3, 4], [8, 4, 2])
    assert report["instructions"] == 24 * 2


@pytest.mark.parametrize("schedule", ["lockstep", "split", "random:7", "random:18446744073709551615"])
def test_schedules_agree(add, schedule, tmp_path):
    out = tmp_path / "out.npy"
    inspected(add, "--block", "50", "--arg", "f32[50]=iota", "--arg", "f32[50]=iota", "--arg", "f32[50]=none", "--arg",
              "u32:50", "--schedule", schedule, "--out", f"2={out}")
    assert read_npy(out)[2] == pack("f32", [2 * i for i in range(50)])



@pytest.mark.parametrize("promised, block, said", [
    (".maxntid 64, 2", "128", None), (".maxntid 64, 2", "129", "at most 128 threads in a block (__launch_bounds__), and this launch has 129"),
    (".reqntid 64, 2", "64,2", None), (".reqntid 64, 2", "128", "blocks of 64 x 2 x 1 threads (.reqntid), and this launch has others"),
])
def test_blocks_that_the_kernel_was_not_compiled_for(write, promised, block, said):
    path = write("promised.ptx", HEAD + f".visible .entry promised() {promised} {{ ret; }}")
    done = run("inspect", path, "--block", block)
    assert done.returncode == (2 if said else 0) and (said or "") in done.stderr, done

def test_warp_and_banks(nothing):
    assert inspected(nothing, "--block", "32", "--warp", "8", "--banks", "2")["instructions"] == 4


# ---- findings ------------------------------------------------------------------------------------------


def test_a_finding_that_stops(add, tmp_path):
    out = tmp_path / "out.npy"
    arguments = [add, "--block", "64", "--arg", "f32[64]=ones", "--arg", "f32[64]=ones", "--arg", "f32[60]=none",
                 "--arg", "u32:64", "--out", f"2={out}"]
    report = inspected(*arguments, status=3)
    finding, = report["findings"]
    line = 1 + ADD.splitlines().index("st.global.f32 [%rd7], %f3;")
    assert {"kind", "file", "line", "block", "thread", "address", "message"} <= set(finding)
    assert (finding["kind"], finding["file"], finding["line"]) == ("bounds", str(add), line)
    assert (finding["block"], finding["thread"]) == ([0, 0, 0], [60, 0, 0])
    assert isinstance(finding["address"], int) and finding["address"] > 0 and finding["message"]
    assert report["stopped"] is True
    assert not out.exists()
    done = run("inspect", *arguments)
    assert (done.returncode, done.stderr) == (3, "")
    assert f"bounds at {add}:{line}, block (0,0,0), thread (60,0,0), address 0x" in done.stdout
    assert f"{line:8} | st.global.f32 [%rd7], %f3;\n" in done.stdout
    assert "\n1 finding\n" in done.stdout and "stopped" in done.stdout.splitlines()[-1]


RACE = HEAD + kernel("race", parameters("race", "u64"), """
ld.param.u64 %rd1, [race_param_0];
mov.u32 %r1, %tid.x;
st.global.u32 [%rd1], %r1;
ret;""")


def test_a_finding_that_does_not_stop(write, tmp_path):
    path, out = write("race.ptx", RACE), tmp_path / "out.npy"
    report = inspected(path, "--block", "64", "--arg", "u32[1]=zeros", "--out", f"0={out}", status=3)
    assert [finding["kind"] for finding in report["findings"]] == ["race"]
    assert report["stopped"] is False
    assert read_npy(out)[:2] == ("<u4", 1)


def test_unwritten_memory(add):
    report = inspected(add, "--arg", "f32[32]=none", "--arg", "f32[32]=ones", "--arg", "f32[32]=none", "--arg",
                       "u32:32", status=3)
    assert report["findings"][0]["kind"] == "uninitialised"


ENDLESS = HEAD + kernel("endless", [], "AGAIN:\nbra AGAIN;")


def test_limit(write):
    report = inspected(write("endless.ptx", ENDLESS), "--limit", "1000", status=3)
    assert [finding["kind"] for finding in report["findings"]] == ["runaway"]


def on_terminal(environment, *arguments):
    """What a run prints on a terminal."""
    master, terminal = pty.openpty()
    with subprocess.Popen([CLI, *map(str, arguments)], stdout=terminal, env=environment) as process:
        os.close(terminal)
        shown = b""
        try:
            while part := os.read(master, 4096):
                shown += part
        except OSError:  # the other end is closed
            pass
        process.wait(TIMEOUT_SECONDS)
    os.close(master)
    return shown.decode()


def test_colour_on_a_terminal_only(nothing):
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    assert "\033[" in on_terminal(environment, "inspect", nothing)
    assert "\033[" not in on_terminal({**environment, "NO_COLOR": "1"}, "inspect", nothing)


# ---- buffers -------------------------------------------------------------------------------------------

DESCRIPTIONS = {"bool": "|b1", "i8": "|i1", "u8": "|u1", "i16": "<i2", "u16": "<u2", "i32": "<i4", "u32": "<u4",
                "i64": "<i8", "u64": "<u8", "f16": "<f2", "bf16": "<u2", "f32": "<f4", "f64": "<f8"}


@pytest.mark.parametrize("type_name", DESCRIPTIONS)
def test_fills(write, tmp_path, type_name):
    n = 300
    listed = ",".join(str(i * i % 2) for i in range(n))
    for fill, value in (("zeros", lambda i: 0), ("ones", lambda i: 1), ("iota", lambda i: i), ("1", lambda i: 1), (listed, lambda i: i * i % 2)):
        values = [value(i) for i in range(n)]
        if type_name == "bool":
            values = [value % 2 for value in values]
        if type_name in ("i8", "u8"):
            values = [(value + 128) % 256 - 128 if type_name == "i8" else value % 256 for value in values]
        assert filled(write, tmp_path, f"{type_name}[{n}]={fill}") == \
            (DESCRIPTIONS[type_name], pack(type_name, values, "<")), fill


def test_numbers_that_fill_a_buffer(write, tmp_path):
    assert filled(write, tmp_path, "f32[4]=-1.5,nan,0x1p-3,inf")[1] == struct.pack("<4f", -1.5, math.nan, 0.125, math.inf)
    assert filled(write, tmp_path, "i8[3]=-128")[1] == struct.pack("<3b", -128, -128, -128)
    one = write("one.cu", "__global__ void one(float *x) { *x = 1; }\n")
    for fill in ("1,2,3", "1,2,3,4,5", "1,2,3,", "1,,2,3", "1,2,3,x", "5x", "1,2,3,4.npx"):
        refused(2, [f"f32[4]={fill}", "as many as it has elements (4)"], "inspect", one, "--arg", f"f32[4]={fill}")


def test_random_is_the_same_for_a_seed(write, tmp_path):
    def draw(text):
        return filled(write, tmp_path, text)[1]

    assert draw("f64[100]=random:1") == draw("f64[100]=random:1") != draw("f64[100]=random:2")
    assert draw("u8[100]=random:1") == draw("u8[200]=random:1")[:100]


@pytest.mark.parametrize("type_name, code, digits", [("f16", "e", 11), ("f32", "f", 24), ("f64", "d", 53)])
def test_random_floats(write, tmp_path, type_name, code, digits):
    n = 2000
    values = struct.unpack(f"<{n}{code}", filled(write, tmp_path, f"{type_name}[{n}]=random:3")[1])
    assert all(0 <= value < 1 and (value * 2**digits).is_integer() for value in values)
    assert abs(math.fsum(values) / n - 0.5) < 0.03


def test_random_integers_take_the_whole_range(write, tmp_path):
    content = filled(write, tmp_path, "i8[20000]=random:3")[1]
    assert set(struct.unpack("20000b", content)) == set(range(-128, 128))
    assert set(filled(write, tmp_path, "bool[100]=random:3")[1]) == {0, 1}


@pytest.mark.parametrize("type_name, code, below", [("i32", "i", 7), ("u8", "B", 256), ("i8", "b", 128), ("u64", "Q", 3)])
def test_random_integers_below_a_bound(write, tmp_path, type_name, code, below):
    content = filled(write, tmp_path, f"{type_name}[5000]=random:3:{below}")[1]
    assert set(struct.unpack(f"<5000{code}", content)) == set(range(below))


@pytest.mark.parametrize("order", ["<", ">"])
def test_npy_files(write, tmp_path, order):
    values = list(range(-5, 95))
    path = write("x.npy", npy("i16", values, shape=[10, 10], order=order))
    assert filled(write, tmp_path, f"i16[100]={path}") == ("<i2", pack("i16", values, "<"))
    path = write("x.npy", npy("f64", values, order=order))
    assert filled(write, tmp_path, f"f64[100]={path}") == ("<f8", pack("f64", values, "<"))


def test_a_large_npy_file(write, tmp_path):
    values = list(range(200_000))
    path = write("x.npy", npy("u32", values))
    assert filled(write, tmp_path, f"u32[200000]={path}")[1] == pack("u32", values, "<")


def test_files_that_do_not_fit(write, tmp_path):
    one = write("one.ptx", HEAD + kernel("one", parameters("one", "u64"), "ret;"))
    path = write("x.npy", npy("f32", [1, 2, 3]))
    for count in (0, 2):
        refused(1, [str(path), "more", str(count)], "inspect", one, "--arg", f"f32[{count}]={path}")
    refused(1, [str(path), "3 elements", "4"], "inspect", one, "--arg", f"f32[4]={path}")
    refused(1, [str(path), "f32", "i32"], "inspect", one, "--arg", f"i32[3]={path}")
    refused(1, ["none.npy", "No such file"], "inspect", one, "--arg", f"i32[3]={tmp_path / 'none.npy'}")
    refused(1, [str(path)], "inspect", one, "--arg", f"i32[3]={write('x.npy', 'no such format')}")


def test_outputs_are_replaced_whole(write, tmp_path):
    one = write("one.ptx", HEAD + kernel("one", parameters("one", "u64"), "ret;"))
    out = write("out.npy", "before")
    mode = stat.S_IMODE(out.stat().st_mode)
    mask = os.umask(0o027)
    try:
        inspected(one, "--arg", "i32[3]=iota", "--out", f"0={out}", "--out", f"0={tmp_path / 'other.npy'}")
    finally:
        os.umask(mask)
    assert read_npy(out) == read_npy(tmp_path / "other.npy") == ("<i4", 3, pack("i32", [0, 1, 2], "<"))
    assert stat.S_IMODE(out.stat().st_mode) == mode, "a file that is replaced keeps its mode"
    assert stat.S_IMODE((tmp_path / "other.npy").stat().st_mode) == 0o640
    assert {path.name for path in tmp_path.iterdir()} == {"one.ptx", "out.npy", "other.npy"}
    missing = tmp_path / "none" / "out.npy"
    refused(1, [str(missing), "No such file"], "inspect", one, "--arg", "i32[3]=iota", "--out", f"0={missing}")
    for name in ("0=-", "-"):
        refused(2, "--out takes a file name", "inspect", one, "--arg", "i32[3]=iota", "--out", name)


def test_links_and_devices_stay(write, tmp_path):
    one = write("one.ptx", HEAD + kernel("one", parameters("one", "u64"), "ret;"))
    target, link, fifo = write("target.npy", ""), tmp_path / "link.npy", tmp_path / "fifo"
    link.symlink_to(target)
    os.mkfifo(fifo)
    content = []
    reader = threading.Thread(target=lambda: content.append(fifo.read_bytes()), daemon=True)
    reader.start()
    inspected(one, "--arg", "i32[3]=iota", "--out", f"0={link}", "--out", f"0={fifo}")
    reader.join(TIMEOUT_SECONDS)
    assert link.is_symlink() and stat.S_ISFIFO(fifo.stat().st_mode)
    assert read_npy(target) == ("<i4", 3, pack("i32", [0, 1, 2], "<"))
    assert content == [target.read_bytes()]


def test_an_empty_buffer(write, tmp_path):
    assert filled(write, tmp_path, "f32[0]=zeros") == ("<f4", b"")


# ---- scalars -------------------------------------------------------------------------------------------

STORE = {1: ("b8", "%h1", "u8"), 2: ("b16", "%h1", "u16"), 4: ("b32", "%r1", "u32"), 8: ("b64", "%rd1", "u64")}


@pytest.mark.parametrize("text, content", [
    ("i8:-128", b"\x80"), ("u8:255", b"\xff"), ("bool:1", b"\1"), ("b8:0xa5", b"\xa5"),
    ("i16:-2", b"\xfe\xff"), ("u16:0xffff", b"\xff\xff"), ("b16:0x1234", b"\x34\x12"),
    ("i32:-2147483648", b"\0\0\0\x80"), ("u32:4294967295", b"\xff" * 4), ("b32:0xdeadbeef", b"\xef\xbe\xad\xde"),
    ("i64:-9223372036854775808", b"\0" * 7 + b"\x80"), ("u64:18446744073709551615", b"\xff" * 8),
    ("f32:1.5", struct.pack("<f", 1.5)), ("f32:-0", struct.pack("<f", -0.0)), ("f32:inf", struct.pack("<f", math.inf)),
    ("f32:0x1.8p-3", struct.pack("<f", 0.1875)), ("f32:1e-45", b"\1\0\0\0"), ("f64:0.1", struct.pack("<d", 0.1)),
    ("f16:1", struct.pack("<e", 1)), ("f16:65504", b"\xff\x7b"), ("f16:65519.9", b"\xff\x7b"),
    ("f16:65520", b"\x00\x7c"), ("f16:-1e9", b"\x00\xfc"), ("f16:5.9604644775390625e-8", b"\1\0"),
    ("f16:2.98e-8", b"\0\0"), ("f16:6.1e-5", struct.pack("<e", 6.1e-5)), ("f16:0.1", struct.pack("<e", 0.1)),
    ("f16:2049", struct.pack("<e", 2048)), ("f16:2051", struct.pack("<e", 2052)),
    ("bf16:1", b"\x80\x3f"), ("bf16:-3.140625", b"\x49\xc0"), ("bf16:1.00390625", b"\x80\x3f"),
    ("bf16:1e39", b"\x80\x7f"), ("bytes:0011fF7a", b"\x00\x11\xff\x7a"),
])
def test_scalars(write, tmp_path, text, content):
    kind, register, element = STORE[len(content)]
    path = write("scalar.ptx", HEAD + kernel("scalar", parameters("scalar", "u64", kind), f"""
ld.param.u64 %rd2, [scalar_param_0];
ld.param.{kind} {register}, [scalar_param_1];
st.global.{kind} [%rd2], {register};
ret;"""))
    out = tmp_path / "out.npy"
    inspected(path, "--block", "1", "--arg", f"{element}[1]=none", "--arg", text, "--out", f"0={out}")
    assert read_npy(out)[2] == content


LEGACY = """
ld.param.u64 %rd2, [legacy_param_0];
mov.f32 %f1, 0f3F800001;
mov.f32 %f2, 0f00400000;
mad.f32 %f3, %f1, %f1, 0fBF800002;
add.f32 %f4, %f2, %f2;
div.f32 %f5, 0f40C00000, 0f40000000;
setp.eq.f32 %p1, %f2, 0f00000000;
selp.f32 %f6, 0f3F800000, 0f00000000, %p1;
st.global.v4.f32 [%rd2], {%f3, %f4, %f5, %f6};
ret;"""


def test_floats_of_the_first_gpus(write, tmp_path):
    """PTX for sm_1x: mad.f32 is fused, subnormal values are flushed though nothing says so, div.f32 approximates."""
    path = write("legacy.ptx", ".version 1.4\n.target sm_10\n" + kernel("legacy", parameters("legacy", "u64"), LEGACY))
    out = tmp_path / "out.npy"
    inspected(path, "--block", "1", "--arg", "f32[4]=none", "--out", f"0={out}")
    assert struct.unpack("<4f", read_npy(out)[2]) == (2.0 ** -46, 0, 3, 1)


def test_floats_of_the_first_gpus_are_unknown_to_later_ones(write):
    """From sm_20 on, mad.f32 needs a rounding."""
    path = write("later.ptx", HEAD.replace("75", "20") + kernel("legacy", parameters("legacy", "u64"), LEGACY))
    finding, = inspected(path, "--block", "1", "--arg", "f32[4]=none", status=3)["findings"]
    assert finding["kind"] == "unsupported" and "'mad.f32'" in finding["message"]


def test_not_a_number(write, tmp_path):
    path = write("scalar.ptx", HEAD + kernel("scalar", parameters("scalar", "u64", "b16"), """
ld.param.u64 %rd2, [scalar_param_0];
ld.param.b16 %h1, [scalar_param_1];
st.global.b16 [%rd2], %h1;
ret;"""))
    for type_name in ("f16", "bf16"):
        out = tmp_path / "out.npy"
        inspected(path, "--block", "1", "--arg", "u16[1]=none", "--arg", f"{type_name}:nan", "--out", f"0={out}")
        bits, = struct.unpack("<H", read_npy(out)[2])
        infinity = 0x7c00 if type_name == "f16" else 0x7f80
        assert bits & 0x7fff > infinity


def test_a_struct(write, tmp_path):
    path = write("pair.ptx", HEAD + kernel("pair", [".param .u64 pair_param_0", ".param .align 4 .b8 pair_param_1[12]"],
                                           """
ld.param.u64 %rd2, [pair_param_0];
ld.param.u32 %r1, [pair_param_1+8];
st.global.u32 [%rd2], %r1;
ret;"""))
    out = tmp_path / "out.npy"
    inspected(path, "--block", "1", "--arg", "u32[1]=none", "--arg", "bytes:000000000000000078563412", "--out",
              f"0={out}")
    assert read_npy(out)[2] == struct.pack("<I", 0x12345678)


# ---- refusals ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("said, arguments", [
    ("--grid", ["--grid", "0"]),
    ("--grid", ["--grid", "1,2,3,4"]),
    ("--grid", ["--grid", "1,"]),
    ("--block", ["--block", "x"]),
    ("--block", ["--block", "-1"]),
    ("--block", ["--block", ""]),
    ("--block", ["--block", "4294967296"]),
    ("--schedule", ["--schedule", "fast"]),
    ("--schedule", ["--schedule", "random"]),
    ("--schedule", ["--schedule", "random:"]),
    ("--schedule", ["--schedule", "random:x"]),
    ("--schedule", ["--schedule", "random:18446744073709551616"]),
    ("--warp", ["--warp", "33"]),
    ("--warp", ["--warp", "3"]),
    ("--banks", ["--banks", "12"]),
    ("--shared", ["--shared", "-1"]),
    ("--limit", ["--limit", "0"]),
    ("--nan", ["--nan", "omit"]),
    ("i31", ["--arg", "i31:5"]),
    ("'5'", ["--arg", "5"]),
    ("'i32'", ["--arg", "i32"]),
    ("''", ["--arg", "i32:"]),
    ("'1.5'", ["--arg", "i32:1.5"]),
    ("'128'", ["--arg", "i8:128"]),
    ("'-129'", ["--arg", "i8:-129"]),
    ("'-1'", ["--arg", "u8:-1"]),
    ("'256'", ["--arg", "u8:256"]),
    ("'2'", ["--arg", "bool:2"]),
    ("'one'", ["--arg", "f32:one"]),
    ("' 1'", ["--arg", "f32: 1"]),
    ("i32[]", ["--arg", "i32[]=zeros"]),
    ("i32[4", ["--arg", "i32[4=zeros"]),
    ("i32[4]x", ["--arg", "i32[4]x"]),
    ("i32[4]=", ["--arg", "i32[4]="]),
    ("i32[-4]", ["--arg", "i32[-4]=zeros"]),
    ("twos", ["--arg", "i32[4]=twos"]),
    ("random:", ["--arg", "i32[4]=random:"]),
    ("random:x", ["--arg", "i32[4]=random:x"]),
    ("random:1:0", ["--arg", "i32[4]=random:1:0"]),
    ("random:1:", ["--arg", "i32[4]=random:1:"]),
    ("random:1:-5", ["--arg", "i32[4]=random:1:-5"]),
    ("random:1:129", ["--arg", "i8[4]=random:1:129"]),
    ("random:1:2", ["--arg", "f32[4]=random:1:2"]),
    ("buffer size overflows", ["--arg", "i32[9223372036854775807]=zeros"]),
    ("18446744073709551616", ["--arg", "i8[18446744073709551616]=zeros"]),
    ("bytes:0", ["--arg", "bytes:0"]),
    ("bytes:0g", ["--arg", "bytes:0g"]),
    ("bytes:", ["--arg", "bytes:"]),
    ("--out", ["--out", "x.npy"]),
    ("--out", ["--out", "0="]),
    ("argument 0", ["--out", "0=x.npy"]),
    ("argument 1", ["--arg", "i32[1]=zeros", "--out", "1=x.npy"]),
    ("i32:1", ["--arg", "i32:1", "--out", "0=x.npy"]),
])
def test_usage(nothing, said, arguments):
    refused(2, said, "inspect", nothing, *arguments)


def test_operands(nothing, add, tmp_path):
    refused(2, "kernel", "inspect")
    refused(2, "kernel", "inspect", nothing, add)
    refused(2, "x.c", "inspect", "x.c")
    refused(1, ["none.ptx", "No such file"], "inspect", tmp_path / "none.ptx")
    refused(1, ["none.cu", "No such file"], "inspect", tmp_path / "none.cu")
    folder = tmp_path / "folder.ptx"
    folder.mkdir()
    refused(1, ["folder.ptx", "directory"], "inspect", folder)


def test_arguments_that_do_not_fit_the_kernel(add, nothing):
    three = ["--arg", "f32[1]=zeros"] * 3
    refused(2, ["add takes 4 arguments of 8, 8, 8 and 4 bytes", "not 3"], "inspect", add, *three)
    refused(2, ["add takes 4 arguments of 8, 8, 8 and 4 bytes", "not 5"], "inspect", add, *three, *three[:4])
    refused(2, ["add takes 4 bytes as argument 3", "'i64:1' has 8"], "inspect", add, *three, "--arg", "i64:1")
    refused(2, ["nothing takes 0 arguments", "not 1"], "inspect", nothing, "--arg", "i32:1")


def test_launches_that_cannot_be(nothing):
    for option, text, said in (("--block", "1025", "1024 threads"), ("--block", "32,32,2", "1024 threads"),
                               ("--grid", "2147483647,3", "blocks"), ("--shared", "2000000", "shared memory")):
        refused(2, said, "inspect", nothing, option, text)


# ---- kernels by name -----------------------------------------------------------------------------------

NAMES = ["plain", "_ZN2ns6reduceIiLi64EEEvPT_S2_", "_ZN2ns6reduceIfLi64EEEvPT_S2_", "_ZN2ns4scanEv",
         "_Z2ttIPKPKiEvT_", "_Z2enIL4Kind1EL2E21EEvv", "_ZN36_GLOBAL__N__2b7f7038_8_names_cu_main4anonEPi",
         "_ZN1a1b1rI3MaxIiES2_IS3_ELb0ELi5EEEvPT_", "_ZN1a1b4packIJiPKf6__halfEEEvDpT_", "_Z3oddTT", "_Z999x", "_Z",
         "_Z5applyIZ4mainEUliE0_EvT_i", "_Z5applyIZN2ns2tfINS0_1SEEEvT_EUlS2_E_EvS3_",
         "_Z5applyIZN2ns2trIfEET_PS2_EUliE_EvS2_", "_Z5applyIZNK2ns1S1cEvEUlT_E_EvS2_",
         "_Z2paIPA4_fEvT_", "_Z2paIPFifiEEvT_", "_Z5applyIZ1fIiEPT_S0_EUlvE_EvS0_", "_Z2paIZNEEvT_"]
READABLE = ["plain", "ns::reduce<int, 64>", "ns::reduce<float, 64>", "ns::scan", "tt<int const* const*>",
            "en<(Kind)1, (E2)1>", "(anonymous namespace)::anon", "a::b::r<Max<int>, Max<Max<int>>, false, 5>",
            "a::b::pack<int, float const*, __half>", "odd", "_Z999x", "_Z",
            "apply<main::{lambda(int)#2}>", "apply<ns::tf<ns::S>(ns::S)::{lambda(ns::S)#1}>",
            "apply<ns::tr<float>(float*)::{lambda(int)#1}>", "apply<ns::S::c()::{lambda(auto)#1}>",
            "pa<float[4]*>", "pa<int(float, int)*>", "_Z5applyIZ1fIiEPT_S0_EUlvE_EvS0_", "_Z2paIZNEEvT_"]


@pytest.fixture
def several(write):
    return write("several.ptx", HEAD + "".join(kernel(name, [], "ret;") for name in NAMES))


def test_several_kernels_are_listed(several):
    done = run("inspect", several)
    assert (done.returncode, done.stdout) == (2, "")
    first, second, third = done.stderr.splitlines()
    assert "--kernel" in first
    assert second == f"warpfold: {several} has {', '.join(READABLE)}"
    assert third == f"warpfold: to begin with: warpfold inspect {several} --kernel '{READABLE[0]}'"
    done = run("inspect", several, "--kernel", "nope")
    assert (done.returncode, done.stdout) == (1, "")
    assert "'nope' matches no kernel" in done.stderr and ", ".join(READABLE) in done.stderr
    assert "several" in refused(1, "'reduce'", "inspect", several, "--kernel", "reduce")


def test_no_kernel(write):
    refused(1, "empty.ptx", "inspect", write("empty.ptx", HEAD))
    refused(1, "none.ptx", "inspect", write("none.ptx", ""))


@pytest.mark.parametrize("mangled, readable", list(zip(NAMES, READABLE)))
def test_names(several, mangled, readable):
    for name in (mangled, readable, readable.replace(" ", "")):
        if name != "(anonymousnamespace)::anon":
            assert inspected(several, "--kernel", name)["kernel"] == name


def test_names_without_their_namespace(several):
    for name in ("scan", "tt", "en", "anon", "pack"):
        assert inspected(several, "--kernel", name)["kernel"] == name


def test_a_syntax_error_in_ptx(write):
    path = write("bad.ptx", ADD.replace("add.f32 %f3, %f1, %f2;", "add.f32 %f3, %f1 %f2;"))
    line = 1 + ADD.splitlines().index("add.f32 %f3, %f1, %f2;")
    refused(1, f"{path}:{line}:", "inspect", path)


# ---- hostile modules: tests/c/hostile.c has them all; here, how the program ends ------------------------------

IS_SANITIZED = re.search(r"^WARPFOLD_SANITIZE:\w+=.", (Path(CLI).parent / "CMakeCache.txt").read_text(), re.MULTILINE)


def hostile(folder, text):
    path = folder / "hostile.ptx"
    path.write_text(HEAD + text)
    return path


def test_hostile_module_is_refused_by_line(tmp_path):
    path = hostile(tmp_path, ".global .b32 word;\n.func f(.param .b32 a) { ret; }\n"
                             ".entry k() {\n call f, (word);\n}\n")
    said = refused(1, f"{path}:7: call: argument 1", "inspect", path)
    assert said.endswith("a .param variable or a register of 4 bytes")


@pytest.mark.skipif(IS_SANITIZED, reason="the sanitizer's own memory is huge")
@pytest.mark.parametrize("text, said", [
    ("".join(f".global .b8 x{i}[1073741824];\n" for i in range(9)) + ".entry k() { ret; }\n",
     "out of memory for its code and variables"),
    (".entry k() { .reg .b64 %r<30000>;\n" + "".join(f"add.u64 %r{i}, %r{i + 1}, 1;\n" for i in range(29000)) +
     "ret; }\n", "out of memory for the launch's blocks and observers"),
], ids=["variables", "registers"])
def test_module_that_asks_for_more_memory_than_there_is(tmp_path, text, said):
    limit = (lambda: resource.setrlimit(resource.RLIMIT_AS, (160 << 20, 160 << 20)))
    refused(1, said, "inspect", hostile(tmp_path, text), "--block", "1024", preexec_fn=limit)


# ---- what results must be ------------------------------------------------------------------------------------


ARGUMENTS_OF_EIGHT = ["--arg", "f32[8]=iota", "--arg", "f32[8]=ones", "--arg", "f32[8]", "--arg", "u32:8"]


def test_a_result_that_is_as_expected_is_right(write):
    path = write("add.ptx", ADD)
    done = run("inspect", path, "--block", 8, *ARGUMENTS_OF_EIGHT, "--expect", "2=1,2,3", "--expect", "0=0")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("argument 2, the first 3 of 8: 1 2 3\nargument 0, the first 1 of 8: 0\n\n"
                                "no findings, and the result is as expected\n")


def test_a_wrong_result_is_told_first_and_is_no_clean_run(write):
    path = write("add.ptx", ADD)
    words = ["inspect", path, "--block", 8, *ARGUMENTS_OF_EIGHT, "--expect", "2=1,2,4,4.5"]
    done = run(*words)
    said = "element 2 of argument 2 is 3, and must be 4; 2 of 4 are wrong"
    assert (done.returncode, done.stderr) == (3, "")
    assert f"\nwrong result: {said}\n" in done.stdout and done.stdout.endswith("\nthe result is wrong, with no findings\n")
    values, = json.loads(run(*words, "--json").stdout)["values"]
    assert values == {"argument": 2, "name": "", "elements": [1, 2, 3, 4], "wrong": 2, "wrong_index": 2, "is": 3, "must_be": 4,
                      "message": said}
    assert run(*words, "--github").stdout == "::error title=result::add: element 2 of argument 2 is 3, and must be 4; 2 of 4 are wrong\n"
    result, = json.loads(run(*words, "--sarif").stdout)["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("result", "error")


def test_nan_is_expected_as_any_nan_and_zero_with_its_sign(write):
    path = write("add.ptx", ADD)
    values = write("in.npy", npy("u32", [0x7FC00000, 0]).replace(b"<u4", b"<f4"))
    nans = ["--arg", f"f32[2]={values}", "--arg", "f32[2]=ones", "--arg", "f32[2]", "--arg", "u32:2"]
    assert run("inspect", path, "--block", 2, *nans, "--expect", "2=nan,1").returncode == 0
    assert run("inspect", path, "--block", 2, *nans, "--expect", "0=nan,-0").returncode == 3


@pytest.mark.parametrize("given, said", [
    ("2", "--expect takes K=V[,V...], an argument's number and what its first elements must be, not '2'"),
    ("2=", "--expect takes K=V[,V...]"), ("x=1", "--expect takes K=V[,V...]"), ("3=1", "argument 3 is not a buffer; there are 4"),
    ("9=1", "argument 9 is not a buffer"), ("2=1,,2", "'' is not a valid f32"), ("2=one", "'one' is not a valid f32"),
    ("2=0,1,2,3,4,5,6,7,8", "more values than argument 2 has elements")])
def test_a_wrong_expectation_is_told(given, said, write):
    refused(2, said, "inspect", write("add.ptx", ADD), "--block", 8, *ARGUMENTS_OF_EIGHT, "--expect", given)


def test_arguments_of_16_bytes(write, tmp_path):
    """In a register each way: the function turns its halves round."""
    path, out = write("wide.ptx", """.version 8.3
        .target sm_90
        .address_size 64
        .func (.param .b128 turned) turn(.param .b128 given) {
            .reg .b128 %q<3>; .reg .b64 %l<3>;
            ld.param.b128 %q1, [given]; mov.b128 {%l1, %l2}, %q1; mov.b128 %q2, {%l2, %l1}; st.param.b128 [turned], %q2; ret;
        }
        .visible .entry wide(.param .u64 out) {
            .reg .b128 %q<3>; .reg .b64 %l<4>; .reg .b32 %r<2>;
            mov.b64 %l1, 0x1122334455667788; mov.b64 %l2, -3; mov.b128 %q1, {%l1, %l2};
            call (%q2), turn, (%q1);
            ld.param.u64 %l3, [out]; st.global.b128 [%l3], %q2; ret;
        }
        """), tmp_path / "out.npy"
    inspected(path, "--block", "1", "--arg", "i64[2]", "--out", f"0={out}")
    assert struct.unpack("<2q", read_npy(out)[2]) == (-3, 0x1122334455667788)


@pytest.mark.parametrize("cluster, expected", [("1", [7, 7, 0]), ("2", [7, 7, 1])])
def test_policies_of_caches_and_whether_there_are_clusters(write, tmp_path, cluster, expected):
    """Policies are hints: a load and a store with one are a load and a store."""
    path, out = write("hints.ptx", HEAD.replace("7.0", "8.0").replace("sm_75", "sm_90") + kernel("hints", parameters("hints", "u64"), """
        ld.param.u64 %rd1, [hints_param_0];
        createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %rd2, 0.5;
        createpolicy.range.global.L2::evict_first.b64 %rd3, [%rd1], 4, 8;
        createpolicy.fractional.L2::evict_unchanged.L2::evict_first.b64 %rd4, 0.5;
        createpolicy.range.L2::evict_first.L2::evict_first.b64 %rd4, [%rd1], 4, 8;
        ld.global.L2::cache_hint.u32 %r1, [%rd1], %rd2;
        st.global.L2::cache_hint.u32 [%rd1+4], %r1, %rd3;
        mov.pred %p1, %is_explicit_cluster;
        selp.u32 %r2, 1, 0, %p1;
        mov.u32 %r3, %ctaid.x;
        setp.ne.u32 %p1, %r3, 0;
        @%p1 ret;
        st.global.u32 [%rd1+8], %r2;
        ret;""")), tmp_path / "out.npy"
    inspected(path, "--block", "1", "--cluster", cluster, "--grid", cluster, "--arg", "i32[3]=7,0,0", "--out", f"0={out}")
    assert list(struct.unpack("<3i", read_npy(out)[2])) == expected
