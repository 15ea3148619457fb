"""warpfold run: kernels that launch kernels."""

import json

import pytest

from cli_helpers import run
from program_helpers import SOURCES, compiled, environment, needs_nvcc

pytestmark = needs_nvcc


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    options = ["-cudart", "shared", "-rdc=true", "-lineinfo", "-gencode", "arch=compute_90,code=compute_90", "-lcudadevrt"]
    return compiled(tmp_path_factory.mktemp("launching"), "launching", SOURCES / "launching.cu", *options)


def report_of(tmp_path, *words):
    done = run("run", "--json", "--out", tmp_path / "report", *words, env=environment())
    return done, json.loads((tmp_path / "report").read_text())


@pytest.mark.parametrize("schedule", ["lockstep", "random:5"])
def test_launches(program, tmp_path, schedule):
    """The program checks its results; every launch is one of the report, and the refused one is counted."""
    done, report = report_of(tmp_path, "--schedule", schedule, program)
    assert (done.returncode, done.stderr.replace("warpfold: ", "")) == (0, ""), done
    assert report["findings"] == []
    launches = {kernel["kernel"]: kernel["launches"] for kernel in report["kernels"]}
    assert launches == {"branch": 127 + 2 * 7, "launch_pass": 1, "pass": 1, "launch_chain": 1, "add": 4, "launch_wrong": 1,
                        "allocate_it": 1, "free_it": 1, "store_before": 1, "load_it": 2, "count_it": 1}


@pytest.mark.parametrize("schedule", ["lockstep", "random:5"])
def test_kernels_race_with_what_they_launch(program, tmp_path, schedule):
    """Whatever they do after the launch; the child's line, the other one, and what is said."""
    lines = (SOURCES / "launching.cu").read_text().splitlines()
    at = {line.split("// ")[1]: number for number, line in enumerate(lines, 1) if "// " in line}
    report = report_of(tmp_path, "--schedule", schedule, program, "races")[1]
    found = {(each["kernel"], each["line"], (each["other"] or {}).get("line"), each["message"].split(" 0x")[0],
              each["message"].split(", ")[1].split(":")[0]) for each in report["findings"]}
    assert {each["kind"] for each in report["findings"]} == {"race"}
    assert found == {
        ("load_it", at["loads"], at["after"], "load_it loads", "which store_after may still store to"),
        ("store_it", at["stores"], at["result"], "store_it stores to", "which load_after may still load"),
        ("load_it", at["loads"], at["grandchild"], "load_it loads", "which store_after_two may still store to"),
        ("a copy", at["copied"], None, "a copy loads", "which copy_and_store may still store to"),
        ("load_it", at["loads"], at["tail"], "load_it loads", "which store_after_tail may still store to"),
        ("tail_of_a_child", at["before its tail"], at["tail"], "tail_of_a_child stores to",
         "which store_after_tail may still store to"),
    }
    assert all(each["message"].endswith(": a kernel does not wait for what it launches") for each in report["findings"])


def test_a_kernel_that_launches_itself_for_ever(program, tmp_path):
    done, report = report_of(tmp_path, "--limit", "100000", program, "for-ever")
    assert done.returncode == 3, done
    (finding,) = (finding for finding in report["findings"] if finding["kind"] != "leak")
    assert (finding["kind"], finding["kernel"]) == ("runaway", "for_ever")
    assert 50 < report["kernels"][0]["launches"] <= 100000 // 1024 + 1


def test_launches_belong_to_whole_programs(tmp_path):
    """A kernel alone has nobody to launch another."""
    ptx = tmp_path / "alone.ptx"
    ptx.write_text(""".version 8.0
.target sm_75
.address_size 64
.extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2 (.param .b64 a, .param .align 4 .b8 b[12], .param .align 4 .b8 c[12], .param .b32 d);
.visible .entry alone() {
.reg .b64 %a; .reg .b32 %s;
.param .b64 r; .param .align 4 .b8 b[12];
mov.u64 %a, alone; mov.u32 %s, 0;
call (r), __cudaCDP2GetParameterBufferV2, (%a, b, b, %s);
ret; }
""")
    done = run("inspect", ptx, env=environment())
    assert done.returncode == 3 and "launches a kernel, which is for whole programs alone: `warpfold run`" in done.stdout, done
