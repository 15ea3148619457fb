"""warpfold run: what is watched of a CUDA program, and how what was found is reported."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from cli_helpers import CLI, run
from program_helpers import MODES, SOURCES, environment, line_of, modes, ran  # noqa: F401


def test_one_kernel_or_launch_is_watched(ran):
    report = ran("symbols", "--kernel", "load")[2]
    assert {kernel["kernel"]: kernel["watched"] for kernel in report["kernels"]} == {"symbols": 0, "load": 1}
    kernel, = ran("add", "--launch", 2)[2]["kernels"]
    assert (kernel["launches"], kernel["watched"], kernel["divergent_branches"]) == (3, 1, 1)


def test_text_names_the_kernel_the_finding_and_the_line(modes):
    done = run("run", modes, "race", env=environment(), cwd=SOURCES)
    assert done.returncode == 3
    assert re.search(r"^reverse_racing  2 launches, grid 1,1,1  block 64,1,1$", done.stderr, re.MULTILINE)
    assert re.search(r"^race in reverse_racing at modes.cu:\d+, block", done.stderr, re.MULTILINE)
    assert f"{line_of('shared[threadIdx.x] = data[threadIdx.x];'):8} |     shared[threadIdx.x] = data" in done.stderr
    assert f"{line_of('before it'):8} |     data[threadIdx.x] = shared[63 - threadIdx.x];" in done.stderr


def test_progress_of_a_long_launch_is_shown_on_a_terminal(modes):
    """The launch counts to its limit, which is far: it is shown after a second, and wiped when the program is gone."""
    master, slave = os.openpty()
    process = subprocess.Popen([CLI, "run", "--races", "off", "--limit", str(10**12), modes, "counting"], stdin=slave,
                               stdout=subprocess.DEVNULL, stderr=slave, env=environment(), start_new_session=True)
    os.close(slave)
    shown = b""
    while b"launch 1, counting, for " not in shown:
        shown += os.read(master, 1024)
    child, = re.findall(r"\d+", Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text())
    os.kill(int(child), signal.SIGKILL)
    while b"signal 9" not in shown:
        shown += os.read(master, 1024)
    assert shown.index(b"\r\x1b[K") > shown.index(b"launch 1") and process.wait() == 128 + signal.SIGKILL
    os.close(master)


def test_advice_is_given_beside_findings(ran, modes):
    """`dynamic` takes so much shared memory that few of its blocks fit into a multiprocessor."""
    _, _, report, _ = ran("dynamic", status=0)
    advice, = report["advice"]
    assert (advice["kind"], advice["kernel"]) == ("low-occupancy", "dynamic") and advice["count"] < advice["least"] / 2
    assert ran("dynamic", "--strict", status=3)[2]["findings"] == []
    done = run("run", "--github", modes, "dynamic", env=environment(), cwd=SOURCES)
    assert (done.returncode, done.stderr) == (
        0, f"::warning file=modes.cu,line={advice['line']},title=low-occupancy::{advice['message']}. Cure: {advice['cure']}\n")
    done = run("run", modes, "dynamic", env=environment(), cwd=SOURCES)
    assert f"advice: low-occupancy in dynamic at modes.cu:{advice['line']}\n    {advice['message']}\n" in done.stderr
    assert done.stderr.endswith("no findings, 1 piece of advice\n")


def test_advice_on_banks_names_the_array(ran, modes):
    """As inspect does, with the count that the padding gives."""
    _, _, report, _ = ran("columns", status=0)
    advice, = (advice for advice in report["advice"] if advice["kind"] == "bank-conflict")
    cure = f"pad the row: `tile[32][33]` for `tile[32][32]`; then {advice['least']} instead of {advice['count']} wavefronts"
    assert advice["cure"] == cure and advice["count"] == 32 * advice["least"]
    assert MODES.read_text().splitlines()[advice["line"] - 1].endswith("// conflicts")
    done = run("run", modes, "columns", env=environment(), cwd=SOURCES)
    assert f"\n    cure: {cure}\n" in done.stderr


def test_sarif_has_the_findings_at_their_lines(modes, tmp_path):
    report = tmp_path / "findings.sarif"
    assert run("run", "--sarif", "--out", report, modes, "race", env=environment(), cwd=SOURCES).returncode == 3
    sarif = json.loads(report.read_text())
    only, = sarif["runs"]
    rules = {rule["id"] for rule in only["tool"]["driver"]["rules"]}
    races = [result for result in only["results"] if result["ruleId"] == "race"]
    lines = MODES.read_text().splitlines()
    assert sarif["version"] == "2.1.0" and {"race", "bounds", "leak", "trap"} <= rules and races
    for result in races:
        for place in (*result["locations"], *result["relatedLocations"]):
            physical = place["physicalLocation"]
            assert physical["artifactLocation"]["uri"] == "modes.cu"
            assert "[" in lines[physical["region"]["startLine"] - 1]
        assert result["level"] == "error" and re.search(r" races with the [^/]* at modes.cu:[0-9]+: ", result["message"]["text"])
    leaks = run("run", "--sarif", modes, "leak", env=environment(), cwd=SOURCES)
    leak, = json.loads(leaks.stderr)["runs"][0]["results"]
    assert leak["ruleId"] == "leak" and "1024 bytes" in leak["message"]["text"]


def test_one_report_at_a_time(modes):
    done = run("run", "--sarif", "--json", modes, "add", env=environment())
    assert (done.returncode, done.stdout) == (2, "") and "exclude each other" in done.stderr


@pytest.mark.parametrize("words, said", [
    (["run"], "run takes a program"), (["run", "--gpu", "k20", "x"], "--gpu takes h200|a100|t4, not 'k20'"),
    (["run", "--races", "maybe", "x"], "--races takes on|off|all"),
    (["run", "--schedule", "x", "y"], "--schedule takes"), (["run", "--warp", "8", "x"], "run does not take --warp"),
    (["inspect", "--gpu", "t4", "x"], "inspect does not take --gpu")])
def test_usage(words, said):
    done = run(*words)
    assert done.returncode == 2 and said in done.stderr
