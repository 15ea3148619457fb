"""The ladder's sources: each rung says of itself what the host must know, compiles for everything that it
claims, and the PTX that is committed is made from what is there; each wrong kernel gets the report that it
announces."""

import ctypes
import importlib.machinery
import importlib.util
import json
import re
import shlex
import struct
import subprocess
import sys

import pytest

from cli_helpers import ROOT, run
from each_type import EVERY_KERNEL

sys.path.insert(0, str(ROOT / "ladder" / "wrong"))
from wrong_kernels import facts_of, inspect_options  # noqa: E402

LADDER = ROOT / "ladder"
SCRIPT = ROOT / "scripts" / "ladder-ptx"
RUNGS = sorted(path.stem for path in LADDER.glob("[0-9]*.cu"))
WRONG = sorted(path.stem for path in (LADDER / "wrong").glob("*.cu"))
TYPES = ["i32", "i64", "u32", "u64", "f32", "f64"]
FINISHES = ["store", "atomic", "last_block"]
KERNELS = [rung for rung in RUNGS if "// Runs: engine" not in (LADDER / f"{rung}.cu").read_text()]


def load_script():
    loader = importlib.machinery.SourceFileLoader("ladder_ptx", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("ladder_ptx", loader))
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    loader.exec_module(module)
    sys.dont_write_bytecode = before
    return module


ladder_ptx = load_script()


@pytest.fixture(scope="module")
def nvrtc():
    try:
        return ladder_ptx.Nvrtc()
    except OSError:
        pytest.skip("no NVRTC")


def source(rung):
    return (LADDER / f"{rung}.cu").read_text()


def ops_of(rung):
    return ladder_ptx.facts(source(rung))["Ops"].split()


# ---- what a rung says of itself


def test_rungs_are_numbered_without_gaps():
    assert [int(rung[:2]) for rung in RUNGS] == list(range(len(RUNGS))) and len(RUNGS) > 3


@pytest.mark.parametrize("rung", RUNGS)
def test_facts(rung):
    facts = ladder_ptx.facts(source(rung))
    assert re.fullmatch(r"[1-9]\d*", facts["Tile"])
    assert facts["Shared"] in ["0", "1", "2", "warp"]
    assert facts["Finish"] in ["host", "relaunch", "atomic", "last-block"]
    assert facts.get("Warp") in [None, "32"]
    assert facts.get("Target") in [None, "sm_75", "sm_80", "sm_90"]
    assert facts.get("Runs") in [None, "engine"]
    if rung in KERNELS:
        assert ops_of(rung) in (["sum", "prod", "min", "max"], ["sum", "prod", "min", "max", "argmax"])


# "other" has no closed forms.
PATTERNS = ["none", "registers", "pairs", "leading", "multiples", "strided", "sequential", "other"]
BARRIERS = ["none", "one", "each step", "first and each step", "first and each step above one warp", "other"]


@pytest.mark.parametrize("rung", KERNELS)
def test_a_rung_for_the_simulator_tells_its_technique(rung):
    """From these lines the closed forms are made; the barriers of a cluster's blocks have none."""
    facts = ladder_ptx.facts(source(rung))
    assert facts["Tree"] in PATTERNS
    assert "Barriers" not in facts if "Cluster" in facts else facts["Barriers"] in BARRIERS


def test_misprinted_kernels_are_there():
    """And each kernel that a source prints is named by one rung."""
    named = [name for rung in RUNGS for names in re.findall(r"^// Misprinted: (.+)$", source(rung), re.MULTILINE)
             for name in names.split()]
    assert named and len(set(named)) == len(named) and set(named) <= set(WRONG)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_kernel_tells_how_it_is_launched(name):
    facts = facts_of(name)
    assert re.fullmatch(r"(--grid \d+ )?--block \d+( --shared \d+)? --arg '[if]32\[\d+\]=(iota|ones)' --arg '[if]32\[1\]=zeros'"
                        r"( --arg [iu]32:\d+)?( --expect 1=\d+)?", facts["Inspect"])
    assert facts["Inspect"].endswith(f" --expect 1={facts.get('Right')}") or "Right" not in facts


@pytest.mark.parametrize("name", WRONG)
def test_the_command_that_a_wrong_kernel_prints_shows_what_is_wrong(name, nvrtc):
    told = run("inspect", f"ladder/wrong/{name}.cu", cwd=ROOT)
    assert told.returncode == 2
    done = run(*shlex.split(told.stderr.splitlines()[-1])[1:], cwd=ROOT)
    facts = facts_of(name)
    assert done.returncode == 3 and (facts["Report"] if facts["Report"] != "none" else "wrong result") in done.stdout


def test_rungs_keep_the_ops_of_those_below():
    for lower, upper in zip(KERNELS, KERNELS[1:]):
        lacking = set(ops_of(lower)) - set(ops_of(upper))
        assert not lacking, f"Ops: of {upper} lacks {lacking}, which {lower} has"
    assert "argmax" not in ops_of(KERNELS[0]) and "argmax" in ops_of(KERNELS[-1])


@pytest.mark.parametrize("rung", KERNELS)
def test_a_rung_that_works_in_place_says_so(rung):
    """By what it stores: the input's own elements."""
    stores = re.search(r"items tile = \{input", source(rung))
    assert (ladder_ptx.facts(source(rung)).get("In place") == "yes") == bool(stores)


def test_a_cluster_is_as_large_as_its_rung_says():
    for rung in KERNELS:
        defined = re.search(r"^#define CLUSTER (\d+)$", source(rung), re.MULTILINE)
        assert (defined and defined.group(1)) == ladder_ptx.facts(source(rung)).get("Cluster")


@pytest.mark.parametrize("rung", RUNGS)
def test_comment_tells_the_idea_the_fix_and_the_cost(rung):
    comment = re.match(r"(?://.*\n)*", source(rung)).group()
    assert re.match(r"// \S.*[^.]\n//\n// ", comment)
    for part in ["Fixes", "Still costs:", "From:"]:
        assert re.search(rf"^// {part}", comment, re.MULTILINE), part


@pytest.mark.parametrize("rung", KERNELS)
def test_tree_is_marked_once(rung):
    lines = source(rung).splitlines()
    [begin] = [at for at, line in enumerate(lines) if line.endswith("// tree")]
    [end] = [at for at, line in enumerate(lines) if line.endswith("// tree ends")]
    combines = [at for at, line in enumerate(lines) if line.endswith("// combine")]
    assert combines and all(begin <= at <= end for at in combines)


# ---- what it compiles to


def compiled(nvrtc, rung, op, type_name, finish, *options):
    text = source(rung)
    options = [*ladder_ptx.options_of(ladder_ptx.facts(text), op, type_name, finish), *options]
    return nvrtc.compile(f"ladder/{rung}.cu", text, {"rung.cuh": (LADDER / "rung.cuh").read_text()}, options)


def quickly(nvrtc, *options):
    """The options, where NVRTC has them, for what is compiled and never run: most of the time is the optimizer's."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    assert nvrtc.library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)) == 0
    return options if major.value >= 13 else []


@pytest.mark.slow
@pytest.mark.parametrize("rung", KERNELS)
def test_every_combination_compiles(rung, nvrtc):
    """Atomics are of an op and a type.  The other finishes are the same of all: ops and types have one of the two by turns,
    and where not all are asked for, one of the three or two of them.  What NVRTC refuses, its front end does; of one type there is
    PTX, too."""
    checked, made = quickly(nvrtc, "-fdevice-syntax-only"), quickly(nvrtc, "--Ofast-compile=max", "-minimal")
    for place, op in enumerate(ladder_ptx.facts(source(rung))["Ops"].split()):
        for number, type_name in enumerate(TYPES if EVERY_KERNEL else ("i64", "f32")):
            for turn, finish in enumerate(FINISHES):
                is_atomic = EVERY_KERNEL and finish == "atomic"
                if not is_atomic and op != "argmax" and (place + turn // (1 + EVERY_KERNEL) + number) % 2:
                    continue
                if op == "argmax" and finish == "atomic" and type_name.endswith("64"):
                    with pytest.raises(ladder_ptx.CompileError, match="elements of 32 bits only"):
                        compiled(nvrtc, rung, op, type_name, finish)
                elif type_name == "f32":
                    assert ".entry reduce(" in compiled(nvrtc, rung, op, type_name, finish, *made)
                else:
                    compiled(nvrtc, rung, op, type_name, finish, *checked)


def test_coarsening_is_a_factor_of_the_compiler(nvrtc):
    loads = [compiled(nvrtc, "10_coarsened", "sum", "f32", "store", f"-DCOARSEN={factor}").count("ld.global")
             for factor in [1, 2, 8]]
    assert loads == [2, 4, 16]


def test_vector_loads_take_16_bytes_at_a_time(nvrtc):
    for type_name, load in [("f32", "ld.global.v4"), ("i32", "ld.global.v4"), ("f64", "ld.global.v2"),
                            ("u64", "ld.global.v2")]:
        assert compiled(nvrtc, "13_vector_load", "sum", type_name, "store").count(load) >= 5


def test_bulk_copies_replace_the_loads(nvrtc):
    ptx = compiled(nvrtc, "16_bulk_copy", "sum", "f32", "last_block")
    assert ptx.count("cp.async.bulk") == 2 and "mapa.u64" in ptx and ".explicitcluster" in ptx
    assert "ld.global.v4" not in ptx


def test_the_read_ceiling_is_loads_of_16_bytes(nvrtc):
    text = (LADDER / "ceiling.cu").read_text()
    ptx = nvrtc.compile("ladder/ceiling.cu", text, {}, ["--gpu-architecture=compute_75"])
    assert ptx.count("ld.global.v4") >= 8 and ".entry read_all(" in ptx


def test_redux_is_one_instruction(nvrtc):
    ptx = compiled(nvrtc, "15_redux", "max", "i32", "store")
    assert ptx.count("redux.sync.max.s32") == 2 and "shfl" not in ptx


# ---- the PTX that is committed


@pytest.mark.slow
def test_committed_ptx_is_current():
    done = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")


def test_sum_max_and_argmax_of_every_rung_are_committed():
    committed = {path.name for path in (LADDER / "ptx").glob("*.ptx")}
    for rung in RUNGS:
        if "Cells" in ladder_ptx.facts(source(rung)):  # its kernel is for `explain` alone
            assert [name for name in committed if name.startswith(rung)] == [f"{rung}.sum.f32.ptx"]
            continue
        for op in {"sum", "max", "argmax"} & set(ops_of(rung)):
            assert {f"{rung}.{op}.i32.ptx", f"{rung}.{op}.f32.ptx"} <= committed


@pytest.mark.parametrize("change", ["source", "header", "options", "compiler", "ptx"])
def test_a_hash_covers_whatever_the_ptx_depends_on(change):
    kernel = next(ladder_ptx.kernels())
    text = kernel.path.read_text()
    assert ladder_ptx.is_current(kernel, text)
    if change == "source":
        kernel.source += " "
    elif change == "header":
        kernel.headers["rung.cuh"] += " "
    elif change == "options":
        kernel.options = [*kernel.options, "-G"]
    elif change == "compiler":
        text = text.replace("// Compiler: Cuda", "// Compiler: Other")
    else:
        text = text.replace("ret;", "ret; ")
    assert not ladder_ptx.is_current(kernel, text)


def test_ptx_names_files_of_the_repository_only():
    for path in (LADDER / "ptx").rglob("*.ptx"):
        names = re.findall(r'^\s*\.file\s+\d+\s+"([^"]*)"', path.read_text(), re.MULTILINE)
        assert names and all((ROOT / name).is_file() and name.startswith("ladder/") for name in names), path


# ---- wrong kernels


def announced(name):
    """What a wrong kernel's comment says that the simulator reports, and where."""
    text = (LADDER / "wrong" / f"{name}.cu").read_text()
    lines = {number for number, line in enumerate(text.splitlines(), 1) if line.endswith("// here")}
    return facts_of(name), lines


def first_of(path):
    """The only element of an array of i32 or f32 in a .npy file."""
    content = path.read_bytes()
    return struct.unpack("<f" if b"<f4" in content else "<i", content[-4:])[0]


def inspect(path, *options, folder):
    """The report, and the file with the result."""
    after = folder / "after.npy"
    done = run("inspect", path, *inspect_options(path.stem), "--json", "--out", f"1={after}", *options)
    assert done.returncode == 3, done
    return json.loads(done.stdout), after


def lines_told(findings):
    """The line of each; of races that are told as one, the lines of all but the store with which they begin."""
    told = set()
    for finding in findings:
        if finding["pairs"] > 1:
            told |= set(range(finding["from_line"], finding["to_line"] + 1)) - {finding["other"]["line"]}
        told.add(finding["line"])
    return told


@pytest.mark.parametrize("name", WRONG)
def test_wrong_kernel_gets_its_report(name, tmp_path):
    facts, lines = announced(name)
    report, after = inspect(LADDER / "ptx" / "wrong" / f"{name}.ptx", folder=tmp_path)
    kinds = {finding["kind"] for finding in report["findings"]}
    assert kinds == ({facts["Report"]} - {"none"})
    assert lines_told(report["findings"]) == lines
    assert all(finding["file"].endswith(f"ladder/wrong/{name}.cu") for finding in report["findings"])
    if "Result" in facts:
        assert first_of(after) == float(facts["Result"])
        assert "Right" in facts and facts["Right"] != facts["Result"]


@pytest.mark.parametrize("schedule", ["split", "random:1", "random:2", "random:3"])
@pytest.mark.parametrize("name", WRONG)
def test_verdict_is_the_same_under_every_schedule(name, schedule, tmp_path):
    facts, lines = announced(name)
    path = LADDER / "ptx" / "wrong" / f"{name}.ptx"
    report, after = inspect(path, "--schedule", schedule, folder=tmp_path)
    assert {finding["kind"] for finding in report["findings"]} == {facts["Report"]} - {"none"}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_source_gets_the_same_report(name, nvrtc, tmp_path):
    facts, lines = announced(name)
    report, after = inspect(LADDER / "wrong" / f"{name}.cu", folder=tmp_path)
    assert {finding["kind"] for finding in report["findings"]} == {facts["Report"]} - {"none"}


@pytest.mark.parametrize("name", [name for name in WRONG if announced(name)[0]["Report"] == "race"])
def test_race_gives_a_wrong_answer_under_some_schedule(name, tmp_path):
    facts, lines = announced(name)
    count = int(re.search(r"\[(\d+)\]=iota", facts["Inspect"]).group(1))
    answers = []
    for schedule in ["lockstep", "split"] + [f"random:{seed}" for seed in range(1, 9)]:
        inspect(LADDER / "ptx" / "wrong" / f"{name}.ptx", "--schedule", schedule, folder=tmp_path)
        answers.append(first_of(tmp_path / "after.npy"))
    assert set(answers) - {count * (count - 1) // 2}, answers
