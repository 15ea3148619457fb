"""warpfold run: nodes of graphs that allocate memory, and those that decide what is executed."""

import json

import pytest

from cli_helpers import run
from program_helpers import SOURCES, compiled, environment, needs_nvcc

pytestmark = needs_nvcc


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    options = ["-cudart", "shared", "-lineinfo", "-gencode", "arch=compute_75,code=compute_75"]
    return compiled(tmp_path_factory.mktemp("graphs"), "graph_nodes", SOURCES / "graph_nodes.cu", *options)


def test_memory_and_conditions(program):
    done = run("run", program, env=environment())
    assert done.returncode == 0 and "no findings" in done.stderr, done
    assert done.stdout.splitlines() == [
        # results of two launches; the third one's memory is still there; used, its most, kept, its most, and all after trimming
        "1 1 cudaErrorNotSupported 14 14 cudaErrorInvalidValue 1024 2048 2048 2048 0 2048 0 2048 ",
        "1 1 cudaErrorNotSupported 14 14 1024 2048 2048 2048 0 2048 0 2048 ",
        "captured 5",
        "capturing 1 1 1 loop 14 loop 14 ",
        "4 8 10 20 cudaErrorInvalidValue",
        "told 1 1 1 1 1 1 1 1 4",
        "attributes 1 cudaErrorInvalidClusterSize 1 1 1 1 1 801",
        "clusters 1056 352 264 132 8 16 cudaErrorInvalidClusterSize cudaErrorInvalidConfiguration 1",
    ]


@pytest.mark.parametrize("fault, kernel, message", [
    ("early", "add", "loads 4 bytes of global memory at 0x700100000000: byte 0 of an allocation of 1024 that was freed"),
    ("handle", "decide", "sets the condition 0x700100000000, which is none of a graph"),
])
def test_faults(program, tmp_path, fault, kernel, message):
    report = tmp_path / "report"
    done = run("run", "--json", "--out", report, program, fault, env=environment())
    assert done.returncode == 3 and "cudaErrorIllegalAddress" in done.stdout, done
    finding = json.loads(report.read_text())["findings"][0]
    assert (finding["kind"], finding["kernel"]) == ("bounds", kernel) and message in finding["message"]
