"""The machine held against a recorded GPU (data/chip), and the scripts that record and tell it."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from cli_helpers import CLI, ROOT, TIMEOUT_SECONDS
from cuda_helpers import fake_environment, need_fake

RECORDING = ROOT / "data" / "chip" / "counters.json"
WRONG = sorted(path.stem for path in (ROOT / "ladder" / "wrong").glob("*.cu"))


def chip_docs(root, *options):
    return subprocess.run([sys.executable, root / "scripts" / "chip-docs", *options], capture_output=True, text=True,
                          env=dict(os.environ, WARPFOLD_CLI=CLI), timeout=TIMEOUT_SECONDS)


# ---- what is recorded --------------------------------------------------------------------------------


def test_the_page_is_what_the_machine_and_the_recording_say():
    done = chip_docs(ROOT, "--check")
    assert done.returncode == 0, done.stderr


def test_every_difference_has_a_reason():
    if not RECORDING.exists():
        pytest.skip("no run is recorded")
    done = chip_docs(ROOT, "--differences")
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def differences():
    """[(run, kernel, counter)] that are not equal."""
    if not RECORDING.exists():
        pytest.skip("no run is recorded")
    return [tuple(line.split(": ")[:3]) for line in chip_docs(ROOT, "--differences").stdout.splitlines()]


@pytest.mark.parametrize("counter", ["blocks", "warps", "load requests", "load sectors", "store requests",
                                     "store sectors", "atomic requests"])
def test_what_global_memory_is_asked_for_is_equal(differences, counter):
    assert [difference for difference in differences if difference[2] == counter] == []


def test_shared_wavefronts_are_equal_but_for_a_rung_that_is_not_explained(differences):
    assert {kernel for _, kernel, counter in differences if counter == "shared wavefronts"} == {"15_redux"}


def test_barriers_and_shuffles_fit_the_wavefronts_of_the_pipe(differences):
    """Rung 12 has all of them, and no access whose predicate is off for a warp."""
    assert not any(kernel == "12_warp_shuffle" for _, kernel, counter in differences if counter == "all wavefronts")
    assert any(kernel == "06_sequential" for _, kernel, counter in differences if counter == "all wavefronts")


def test_every_verdict_that_differs_is_explained():
    page = (ROOT / "docs" / "machine-vs-chip.md").read_text()
    told = [line for line in page.splitlines() if line.startswith("| `") and "they differ" in line]
    assert {line.split("`")[1] for line in told} == \
        {"last_warp_one_barrier", "overlapping_segments", "uninitialised"}
    assert all("is right" in line for line in told)


# ---- recording, with tools that only play ncu and compute-sanitizer ----------------------------------

FAKE_NCU = """#!{python}
import os, subprocess, sys
arguments = sys.argv[1:]
if "--query-metrics" in arguments:
    print("l1tex__t_requests_pipe_lsu_mem_global_op_ld  requests\\nsmsp__inst_executed  n\\nsmsp__warps_launched  n")
    print("l1tex__t_sectors_pipe_lsu_mem_global_op_ld  n\\nl1tex__data_pipe_lsu_wavefronts_mem_shared  n")
    sys.exit(0)
if "--version" in arguments:
    print("Version 0.0 of a play")
    sys.exit(0)
at = arguments.index("--metrics")
metrics, log = arguments[at + 1].split(","), arguments[arguments.index("--log-file") + 1]
calls = log + ".calls"
done = subprocess.run(arguments[at + 2:], env=dict(os.environ, FAKE_CUDA_LOG=calls))
launches = open(calls).read().split().count("LaunchKernel") if os.path.exists(calls) else 0
quote = lambda words: ",".join('"%s"' % word for word in words)
with open(log, "w") as stream:
    print("==PROF== a play", file=stream)
    print(quote(["ID", "Kernel Name", *metrics]), file=stream)
    print(quote(["", "", *["inst"] * len(metrics)]), file=stream)
    for i in range(launches):
        print(quote([i, "reduce", *["1,000"] * len(metrics)]), file=stream)
sys.exit(done.returncode)
"""
FAKE_SANITIZER = """#!{python}
import sys
if "--version" in sys.argv:
    print("Version 0.0 of a play")
    sys.exit(0)
tool, name = sys.argv[2], sys.argv[-1]
if (tool, name) == ("racecheck", "last_warp_volatile"):
    print("========= Error: Race reported between Write access at 0x10 in reduce")
    print("========= RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 warnings)")
    sys.exit(9)
print("========= ERROR SUMMARY: 0 errors")
"""


def write_tool(folder, name, text):
    path = folder / name
    path.write_text(text.format(python=sys.executable))
    path.chmod(0o755)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    need_fake()
    tools, folder, cache = (tmp_path_factory.mktemp(name) for name in ("tools", "out", "cache"))
    write_tool(tools, "ncu", FAKE_NCU)
    write_tool(tools, "compute-sanitizer", FAKE_SANITIZER)
    environment = fake_environment(cache, capability="8.0", WARPFOLD_CLI=CLI,
                                   PATH=f"{tools}:{os.environ['PATH']}")
    done = subprocess.run([sys.executable, ROOT / "scripts" / "chip", "record", folder], capture_output=True,
                          text=True, env=environment, timeout=240)
    assert done.returncode == 0, done.stderr
    return folder / "counters.json"


def test_a_recording_has_every_rung_and_wrong_kernel(recorded):
    told = json.loads(recorded.read_text())
    assert [len(run["rungs"]) for run in told["runs"]] == [16, 16, 16, 16, 13]
    assert all(row["verified"] is True for run in told["runs"] for row in run["rungs"])
    rows = {row["rung"]: row for row in told["runs"][0]["rungs"]}
    assert rows["06"]["launches"] == 2 and rows["06"]["chip"]["instructions"] == 2000
    assert rows["14"]["chip"]["instructions"] == 1000
    assert {row["name"] for row in told["wrong"]} <= set(WRONG) - {"barrier_in_branch"}
    assert any("does not know" in problem for problem in told["problems"])


def test_a_recording_has_the_verdict_of_each_tool(recorded):
    told = json.loads(recorded.read_text())["sanitizer"]
    assert {(row["tool"], row["kernel"]) for row in told} == \
        {(tool, kernel) for tool in ("memcheck", "racecheck", "initcheck", "synccheck")
         for kernel in (*WRONG, "ladder sum f32", "ladder argmax i32")}
    found = {(row["tool"], row["kernel"]): row["errors"] for row in told if row["errors"]}
    assert found == {("racecheck", "last_warp_volatile"): 2}


def test_the_page_tells_each_difference(recorded, tmp_path):
    for name in ("scripts", "docs", "data/chip"):
        (tmp_path / name).mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "chip-docs", tmp_path / "scripts")
    shutil.copy(ROOT / "docs" / "machine-vs-chip.md", tmp_path / "docs")
    (tmp_path / "ladder").symlink_to(ROOT / "ladder")
    told = json.loads(recorded.read_text())
    alone = [row for row in told["runs"][0]["rungs"] if row["rung"] == "06"]
    machine = json.loads(subprocess.run([CLI, "ladder", "--json", "--rung", "06", "-n", "1024"], capture_output=True,
                                        text=True, timeout=TIMEOUT_SECONDS).stdout)["rungs"][0]
    alone[0]["chip"] = {"warps": machine["warps"], "global_load_sectors": machine["global_load_sectors"] + 1}
    told["runs"], told["wrong"] = [dict(told["runs"][0], rungs=alone)], []
    (tmp_path / "data" / "chip" / "counters.json").write_text(json.dumps(told))
    done = chip_docs(tmp_path, "--differences")
    sectors = machine["global_load_sectors"]
    assert (done.returncode, done.stdout) == \
        (1, "sum of 1024 f32, blocks of 256: 06_sequential: load sectors: "
            f"machine {sectors}, chip {sectors + 1}: NO REASON\n")
    assert chip_docs(tmp_path).returncode == 0
    page = (tmp_path / "docs" / "machine-vs-chip.md").read_text()
    assert f"| {sectors} / {sectors + 1} |" in page and "**load sectors** of `06_sequential`" in page
    assert "| `last_warp_volatile` | race | 0 | 2 | 0 | 0 | they agree |" in page
    assert chip_docs(tmp_path, "--check").returncode == 0
