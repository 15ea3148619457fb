"""Limits of inspect and ladder: --limit means what it says, whatever spins is told soon, and so is what runs out."""

import re
import subprocess

import pytest

from cli_helpers import CLI, ROOT, run
from inspect_helpers import HEAD, inspected, kernel, parameters

SCHEDULES = ["lockstep", "split", "random:1"]
LIMIT = int(re.search(r"#define SIMT_INSTRUCTION_LIMIT (\d+)", (ROOT / "simt" / "simt.h").read_text())[1])
LIMIT_OF_PROGRAMS = int(re.search(r"#define PROGRAM_INSTRUCTION_LIMIT (\d+)",
                                  (ROOT / "program" / "program.h").read_text())[1])
LIMIT_OF_BLOCKS = LIMIT_OF_PROGRAMS // 2  # of small ones


@pytest.fixture
def write(tmp_path):
    def write_kernel(text, declarations="", *types):
        path = tmp_path / "kernel.ptx"
        path.write_text(HEAD + declarations + kernel("kernel", parameters("kernel", *types), text))
        return path
    return write_kernel


# ---- the number ----------------------------------------------------------------------------------------

LOOP = """mov.u32 %r1, 0;
AGAIN:
add.u32 %r1, %r1, 1;
mul.lo.u32 %r2, %r1, %r1;
setp.lt.u32 %p1, %r1, 100;
@%p1 bra AGAIN;
ret;"""
LOOP_INSTRUCTIONS = 1 + 4 * 100 + 1


@pytest.mark.parametrize("options", [[], ["--threads", 3], ["--html", "page.html"]], ids=str)
def test_limit_is_exact(write, tmp_path, options):
    path, warps = write(LOOP), 3 * 7
    options = [tmp_path / word if word == "page.html" else word for word in options]
    arguments = [path, "--block", 96, "--grid", 7, *options, "--limit"]
    report = inspected(*arguments, warps * LOOP_INSTRUCTIONS)
    assert (report["instructions"], report["findings"], report["stopped"]) == (warps * LOOP_INSTRUCTIONS, [], False)
    for limit in (warps * LOOP_INSTRUCTIONS - 1, 1000, 10, 1):
        report = inspected(*arguments, limit, status=3)
        finding, = report["findings"]
        assert (finding["kind"], report["stopped"], report["instructions"]) == ("runaway", True, limit)
        assert f" {limit} " in finding["message"] and "--limit" in finding["message"]


@pytest.mark.parametrize("schedule", SCHEDULES[1:])
def test_limit_is_exact_under_every_schedule(write, schedule):
    path = write(LOOP)
    needed = inspected(path, "--schedule", schedule)["instructions"]
    assert inspected(path, "--schedule", schedule, "--limit", needed)["findings"] == []
    assert inspected(path, "--schedule", schedule, "--limit", needed - 1, status=3)["instructions"] == needed - 1


def test_the_default_is_the_same_everywhere(write):
    spaces = re.compile(r"\s+")
    assert f"inspect: default {LIMIT}; run: default {LIMIT_OF_PROGRAMS}, of one small block {LIMIT_OF_BLOCKS}" in spaces.sub(" ", run("--help").stdout)
    assert f"{LIMIT_OF_PROGRAMS} warp instructions" in spaces.sub(" ", (ROOT / "docs" / "programs.md").read_text())
    assert f"{LIMIT} warp instructions" in spaces.sub(" ", (ROOT / "docs" / "simulator.md").read_text())
    # Numbers decide that change by no steady step: nobody can tell how it ends before it does.
    report = inspected(write("AGAIN:\nmad.lo.u64 %rd1, %rd1, 5, 1;\nsetp.ne.u64 %p1, %rd1, 0;\n@%p1 bra AGAIN;\nret;"), status=3)
    assert report["instructions"] == LIMIT and f" {LIMIT:,} " in report["findings"][0]["message"]


def test_a_larger_limit_allows_more(write):
    path = write(LOOP.replace("100", "1200000"))
    assert inspected(path, status=3)["findings"][0]["kind"] == "runaway"
    assert inspected(path, "--limit", 10**7, "--quiet")["instructions"] == 4 * 1200000 + 2


# ---- what spins ----------------------------------------------------------------------------------------

PRINT = """.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.global .align 1 .b8 text[40] = {104, 101, 108, 108, 111, 32, 119, 111, 114, 108, 100, 32, 104, 101, 108, 108, 111, 10};
"""
SPINS = {
    "nothing": ("AGAIN:\nbra AGAIN;", ""),
    "nanosleep": ("AGAIN:\nnanosleep.u32 100;\nbra AGAIN;", ""),
    "volatile": ("ld.param.u64 %rd1, [kernel_param_0];\nAGAIN:\nld.volatile.global.u32 %r1, [%rd1];\n"
                 "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra AGAIN;\nret;", ""),
    "atomics": ("ld.param.u64 %rd1, [kernel_param_0];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\n"
                "add.u64 %rd1, %rd1, %rd2;\nAGAIN:\natom.global.add.u32 %r1, [%rd1], 1;\nbra AGAIN;", ""),
    "barrier": ("mov.u32 %r1, %tid.x;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra WAIT;\nAGAIN:\nbra AGAIN;\n"
                "WAIT:\nbar.sync 0;\nret;", ""),
    "printing": (".param .b64 a;\n.param .b64 b;\n.param .b32 r;\nmov.u64 %rd1, text;\ncvta.global.u64 %rd1, %rd1;\n"
                 "mov.u64 %rd2, 0;\nAGAIN:\nst.param.b64 [a], %rd1;\nst.param.b64 [b], %rd2;\n"
                 "call (r), vprintf, (a, b);\nbra AGAIN;", PRINT),
    "recursion": ("call f;\nret;", ".func g;\n.func f\n{\ncall g;\nret;\n}\n.func g\n{\ncall f;\nret;\n}\n"),
}


@pytest.mark.slow
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("spin", SPINS)
def test_what_spins_is_told(write, spin, schedule):
    body, declarations = SPINS[spin]
    done = run("inspect", write(body, declarations, "u64"), "--block", 64, "--grid", 100, "--schedule", schedule,
               "--arg", "u32[64]=zeros")
    assert (done.returncode, done.stderr) == (3, "")
    assert re.search("^runaway at ", done.stdout, re.M) and "no findings" not in done.stdout


FLAG = """ld.param.u64 %rd1, [kernel_param_0];
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %nctaid.x;
sub.u32 %r2, %r2, 1;
setp.eq.u32 %p1, %r1, %r2;
@%p1 bra LAST;
AGAIN:
ld.acquire.gpu.global.u32 %r3, [%rd1];
setp.eq.u32 %p2, %r3, 0;
@%p2 bra AGAIN;
ret;
LAST:
mov.u32 %r3, %tid.x;
setp.eq.u32 %p2, %r3, 0;
@%p2 st.release.gpu.global.u32 [%rd1], 1;
ret;"""
LOCK = """ld.param.u64 %rd1, [kernel_param_0];
AGAIN:
atom.acquire.gpu.global.cas.b32 %r1, [%rd1], 0, 1;
setp.ne.u32 %p1, %r1, 0;
@%p1 bra AGAIN;
ld.relaxed.gpu.global.u32 %r2, [%rd1+4];
add.u32 %r2, %r2, 1;
st.relaxed.gpu.global.u32 [%rd1+4], %r2;
membar.gl;
atom.release.gpu.global.exch.b32 %r1, [%rd1], 0;
ret;"""


@pytest.mark.sampled
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name, body, grid, block", [("flag", FLAG, 300, 64), ("lock", LOCK, 4, 96)])
def test_what_waits_for_others_ends(write, tmp_path, name, body, grid, block, schedule):
    """Blocks that wait for the last one, and lanes that wait for their own warp's, are not runaways."""
    out = tmp_path / "out.npy"
    done = run("inspect", write(body, "", "u64"), "--block", block, "--grid", grid, "--schedule", schedule, "--arg",
               "u32[2]=zeros", "--out", f"0={out}")
    assert "runaway" not in done.stdout and done.stderr == ""
    words = [1, 0] if name == "flag" else [0, grid * block]
    assert out.read_bytes()[-8:] == b"".join(word.to_bytes(4, "little") for word in words)


# ---- what never ends -----------------------------------------------------------------------------------

ROUNDS = """ld.param.u64 %rd1, [kernel_param_0];
mov.u32 %r1, %tid.x;
mov.u32 %r2, 0;
"""
ENDLESS = {
    "itself": "AGAIN:\nbra AGAIN;",
    "stores": ROUNDS + "AGAIN:\nadd.u32 %r2, %r2, 1;\nst.global.u32 [%rd1+128], %r2;\nbra AGAIN;",
    # for (stride = 16; stride >= 0; stride /= 2) { if (thread < stride) ...; __syncthreads(); }
    "stride": ROUNDS + """mov.u32 %r3, 16;
AGAIN:
setp.lt.u32 %p1, %r1, %r3;
@!%p1 bra NONE;
atom.global.add.u32 %r2, [%rd1], 1;
NONE:
bar.sync 0;
shr.s32 %r3, %r3, 1;
setp.ge.s32 %p2, %r3, 0;
@%p2 bra AGAIN;
ret;""",
    "some lanes": ROUNDS + "and.b32 %r2, %r1, 1;\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 ret;\nAGAIN:\nbra AGAIN;",
    "flag": ROUNDS + "AGAIN:\nld.volatile.global.u32 %r2, [%rd1];\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra AGAIN;\nret;",
    "lock": ROUNDS + """AGAIN:
atom.global.cas.b32 %r2, [%rd1], 0, 1;
setp.ne.u32 %p1, %r2, 0;
@%p1 bra AGAIN;
ret;""",
    "list": ROUNDS + """AGAIN:
mul.wide.u32 %rd2, %r1, 4;
add.u64 %rd2, %rd1, %rd2;
ld.global.u32 %r1, [%rd2];
setp.ne.u32 %p1, %r1, 99;
@%p1 bra AGAIN;
ret;""",
    "vote": ROUNDS + """AGAIN:
ld.volatile.global.u32 %r2, [%rd1];
setp.eq.u32 %p1, %r2, 0;
vote.sync.any.pred %p1, %p1, 0xffffffff;
@%p1 bra AGAIN;
ret;""",
}


@pytest.mark.sampled
@pytest.mark.parametrize("grid", [1, 5])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", ENDLESS)
def test_endless_loops_are_told_long_before_the_limit(write, name, threads, grid):
    arguments = [write(ENDLESS[name], "", "u64"), "--arg", "u32[64]=zeros", "--block", 64, "--grid", grid,
                 "--threads", threads, "--limit", 10**9, "--quiet"] # else a loaded machine tells that it takes long
    report = inspected(*arguments, status=3)
    finding = report["findings"][-1]
    assert (finding["kind"], report["stopped"]) == ("runaway", True)
    assert "in a loop that never ends" in finding["message"]
    assert report["instructions"] < 4 * 10**6


# What looks endless for long, each for its own reason, and ends.
LONG = {
    "counts": ROUNDS + "AGAIN:\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 200000;\n@%p1 bra AGAIN;\nret;",
    "carries": ROUNDS + """mov.u64 %rd2, 0xffffffff00000000;
cvt.u32.u64 %r3, %rd2;
mov.u32 %r4, 0xfffd0000;
mov.u32 %r5, 0;
AGAIN:
add.cc.u32 %r4, %r4, 1;
addc.u32 %r5, 0, 0;
setp.eq.u32 %p1, %r5, 0;
@%p1 bra AGAIN;
ret;""",
    # Two numbers take turns, a counter that is looked at every other round decides.
    "alternates": ROUNDS + """mov.u32 %r3, 0;
AGAIN:
xor.b32 %r3, %r3, 1;
add.u32 %r2, %r2, %r3;
setp.lt.u32 %p1, %r2, 50000;
@%p1 bra AGAIN;
ret;""",
    "memory counts": ROUNDS + """AGAIN:
atom.global.add.u32 %r2, [%rd1], 1;
setp.lt.u32 %p1, %r2, 200000;
@%p1 bra AGAIN;
ret;""",
    "clock": ROUNDS + """mov.u64 %rd3, %clock64;
AGAIN:
mov.u64 %rd2, %clock64;
sub.u64 %rd2, %rd2, %rd3;
shr.u64 %rd2, %rd2, 17;
setp.eq.u64 %p1, %rd2, 0;
@%p1 bra AGAIN;
ret;""",
    # The last block works for long before it lets the others go.
    "waits": ROUNDS + """mov.u32 %r3, %ctaid.x;
mov.u32 %r4, %nctaid.x;
sub.u32 %r4, %r4, 1;
setp.ne.u32 %p1, %r3, %r4;
@%p1 bra WAIT;
WORK:
add.u32 %r2, %r2, 1;
setp.lt.u32 %p2, %r2, 400000;
@%p2 bra WORK;
st.release.gpu.global.u32 [%rd1], 1;
ret;
WAIT:
ld.acquire.gpu.global.u32 %r2, [%rd1];
setp.eq.u32 %p1, %r2, 0;
@%p1 bra WAIT;
ret;""",
    # Of two warps that pass a barrier in every round, one decides how long.
    "barrier": ROUNDS + """setp.lt.u32 %p3, %r1, 32;
AGAIN:
@%p3 add.u32 %r2, %r2, 1;
setp.ge.u32 %p1, %r2, 20000;
bar.red.or.pred %p2, 0, %p1;
@!%p2 bra AGAIN;
ret;""",
}


@pytest.mark.sampled
@pytest.mark.parametrize("schedule, threads", [("lockstep", 1), ("lockstep", 2), ("split", 1)])
@pytest.mark.parametrize("name", LONG)
def test_long_loops_are_not_taken_for_endless(write, name, schedule, threads):
    arguments = [write(LONG[name], "", "u64"), "--arg", "u32[64]=zeros", "--block", 64, "--grid", 3, "--threads",
                 threads, "--schedule", schedule, "--limit", 10**9]
    if schedule == "split" and name != "waits":
        arguments[arguments.index("--block") + 1] = 33
    done = run("inspect", *arguments)
    assert "runaway" not in done.stdout and done.returncode in (0, 3), done


# Loops of {rounds} rounds, or of more because they jump over their end, in which what decides changes by a step.
COUNTED = {
    "upwards": ROUNDS + "AGAIN:\nadd.s32 %r2, %r2, 1;\nsetp.lt.s32 %p1, %r2, {rounds};\n@%p1 bra AGAIN;\nret;",
    "downwards": ROUNDS + """mov.u32 %r2, {rounds};
add.u32 %r2, %r2, %r1;
AGAIN:
sub.u32 %r3, %r2, 1;
setp.le.u32 %p1, %r2, %r1;
mov.u32 %r2, %r3;
@!%p1 bra AGAIN;
ret;""",
    "64 bits": ROUNDS + """mov.u64 %rd2, -5;
mov.u64 %rd3, {rounds};
AGAIN:
add.s64 %rd2, %rd2, 2;
sub.s64 %rd3, %rd3, -1;
setp.gt.s64 %p1, %rd3, %rd2;
@%p1 bra AGAIN;
ret;""",
    "64 bits, to a number": ROUNDS + """mov.u64 %rd2, -{rounds};
AGAIN:
add.s64 %rd2, %rd2, 1;
setp.ne.s64 %p1, %rd2, 0;
@%p1 bra AGAIN;
ret;""",
    "two ends": ROUNDS + """mov.u32 %r3, 0;
AGAIN:
add.u32 %r2, %r2, 3;
add.u32 %r3, %r3, 1;
setp.eq.u32 %p1, %r2, 7;
setp.ge.u32 %p2, %r3, {rounds};
or.pred %p1, %p1, %p2;
@!%p1 bra AGAIN;
ret;""",
    "timeout": ROUNDS + """AGAIN:
add.u32 %r2, %r2, 1;
ld.volatile.global.u32 %r3, [%rd1+8];
setp.ne.u32 %p1, %r3, 0;
@%p1 bra DONE;
setp.lt.u32 %p1, %r2, {rounds};
@%p1 bra AGAIN;
DONE:
ret;""",
}
COUNTED_LIMIT = 3 * 10**7


def counted(write, name, rounds, status):
    path = write(COUNTED[name].format(rounds=rounds), "", "u64")
    return inspected(path, "--arg", "u32[64]=zeros", "--block", 32, "--threads", 1, "--limit", COUNTED_LIMIT, "--quiet",
                     status=status)


@pytest.mark.sampled
@pytest.mark.parametrize("name", [name for name in COUNTED if name != "64 bits"])
def test_a_count_that_ends_behind_the_limit_is_told_at_once(write, name):
    report = counted(write, name, COUNTED_LIMIT // 2, 3)
    finding = report["findings"][-1]
    assert finding["kind"] == "runaway" and report["instructions"] < 10**5
    rounds = int(re.search(r"goes on for at least (\d+) more rounds, longer than the limit of 30000000 warp",
                           re.sub(r"(?<=\d),(?=\d)", "", finding["message"]))[1])
    assert COUNTED_LIMIT // 2 - 10**5 < rounds < COUNTED_LIMIT // 2


@pytest.mark.sampled
@pytest.mark.parametrize("name", COUNTED)
def test_a_count_that_ends_before_the_limit_ends(write, name):
    report = counted(write, name, COUNTED_LIMIT // 12, 0)
    assert report["findings"] == [] and COUNTED_LIMIT // 6 < report["instructions"] <= COUNTED_LIMIT


def test_a_count_whose_address_leaves_its_memory_is_told_as_that(write):
    body = ROUNDS + """AGAIN:
add.u64 %rd1, %rd1, 4;
add.u32 %r2, %r2, 1;
st.global.u32 [%rd1], %r2;
setp.lt.u32 %p1, %r2, 4000000000;
@%p1 bra AGAIN;
ret;"""
    report = inspected(write(body, "", "u64"), "--arg", "u32[20000]", "--block", 1, "--limit", 10**9, "--quiet", status=3)
    assert [finding["kind"] for finding in report["findings"]] == ["bounds"]


# A flag that nobody sets, and numbers of which one would end it after hours: they do not change by the same step.
TIMEOUT = ROUNDS + """AGAIN:
mad.lo.u32 %r2, %r2, 5, 1;
ld.volatile.global.u32 %r3, [%rd1+8];
setp.ne.u32 %p1, %r3, 0;
@%p1 bra DONE;
setp.ne.u32 %p1, %r2, 0;
@%p1 bra AGAIN;
DONE:
ret;"""


def started(*words):
    return subprocess.Popen([CLI, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def told_while_running(path, grid, limit):
    """What a launch that the limit ends has told until then, and its report."""
    with started("inspect", path, "--arg", "u32[64]=zeros", "--block", 64, "--grid", grid, "--limit", limit) as process:
        lines = process.stderr.read().splitlines()
        report = process.stdout.read()
    assert process.returncode == 3 and f"used up its limit of {limit:,}" in report and "takes long" not in report
    return lines


@pytest.mark.parametrize("grid", [1, 3])
def test_a_long_launch_tells_once_where_it_is(write, grid):
    """Without a terminal, too; it is no verdict, and the limit that was asked for stays.  How much takes long enough to be
    told is the computer's to say."""
    path, lines = write(TIMEOUT, "", "u64"), []
    for limit in (12_000_000, 30_000_000, 75_000_000):
        lines = lines or told_while_running(path, grid, limit)
    line, = lines
    assert re.fullmatch(r"warpfold: kernel takes long: lanes 0-31 of warp [01], block \([0-2],0,0\), are in a loop at .*:\d+, "
                        r"after \d+\.\d million instructions of that warp; they read byte 8 of argument 0 until another thread "
                        r"changes it, which must not wait for these; --limit N ends it after N warp instructions", line)


def test_a_long_launch_is_not_told_where_nobody_wants_it(write):
    arguments = ["inspect", write(TIMEOUT, "", "u64"), "--arg", "u32[64]=zeros", "--limit", 12_000_000]
    assert run(*arguments, "--quiet").stderr == "" and run(*arguments[:-2]).stderr == ""


# ---- what runs out -------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [["inspect", "KERNEL", "--grid", 2**31 - 1], ["inspect", "KERNEL", "--grid", 10**6],
                                       ["ladder", "--grid", 2**31 - 1], ["ladder", "--grid", 10**6, "-n", 1000]], ids=str)
def test_grids_that_would_take_hours_are_refused(write, arguments):
    path = write("ret;")
    done = run(*[path if word == "KERNEL" else word for word in arguments])
    assert (done.returncode, done.stdout) == (2, "") and "at most" in done.stderr


ALLOCATE = """.param .b64 size;
.param .b64 got;
AGAIN:
mov.u64 %rd2, 1048576;
st.param.b64 [size], %rd2;
call (got), malloc, (size);
ld.param.b64 %rd1, [got];
st.u32 [%rd1], 7;
bra AGAIN;"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_heap_that_is_used_up_is_a_null_pointer(write, schedule):
    path = write(ALLOCATE, ".extern .func (.param .b64 p) malloc(.param .b64 n);\n")
    finding, = inspected(path, "--schedule", schedule, status=3)["findings"]
    assert finding["kind"] == "bounds" and "where nothing is allocated" in finding["message"]


def test_an_array_without_memory_is_an_error(write):
    done = run("inspect", write("ret;", "", "u64"), "--arg", f"f32[{10**14}]=none")
    assert (done.returncode, done.stdout) == (1, "") and "no memory" in done.stderr
