"""warpfold run: operations of streams and graphs that nothing orders, though they touch the same memory."""

import functools
import json

import pytest

import program_helpers
from cli_helpers import run
from program_helpers import SOURCES, compiled, environment, needs_nvcc

pytestmark = needs_nvcc
SOURCE = SOURCES / "ordered.cu"


@pytest.fixture(scope="module")
def ordered(tmp_path_factory):
    options = ["-cudart", "shared", "-lineinfo", "-gencode", "arch=compute_75,code=compute_75"]
    return compiled(tmp_path_factory.mktemp("ordered"), "ordered", SOURCE, *options)


line_of = functools.partial(program_helpers.line_of, source=SOURCE)
STORES = ("store", line_of("to[blockIdx.x"))
LOADS = ("load", line_of("to[i] = from[i]"))
COUNTS = ("count", line_of("red.global.add"))
FILL, COPY = ("a fill", None), ("a copy", None)
NO_EDGE = "no edge of the graph orders the two: add one (cudaGraphAddDependencies, say)"
NO_STREAM = "no stream or event orders the two: give both one stream, or let the other wait (cudaStreamWaitEvent, say)"


@pytest.mark.parametrize(
    "mode, second, does, first, may, missing",
    [
        ("nodes", LOADS, "loads", STORES, "store to", NO_EDGE),
        ("within", LOADS, "loads", STORES, "store to", NO_EDGE),
        ("event-nodes", LOADS, "loads", STORES, "store to", NO_EDGE),
        ("captured", LOADS, "loads", STORES, "store to", NO_EDGE),
        ("events", LOADS, "loads", STORES, "store to", NO_STREAM),
        ("copy", COPY, "loads", STORES, "store to", NO_STREAM),
        ("fill", STORES, "stores to", FILL, "store to", NO_STREAM),
        ("free", ("cudaFreeAsync", STORES[1]), "frees", (STORES[0], None), "store to", NO_STREAM),
        ("behind", LOADS, "loads", STORES, "store to", NO_STREAM),
        ("atomics", LOADS, "loads", COUNTS, "update", NO_STREAM),
        ("twice", STORES, "stores to", STORES, "store to", NO_EDGE),
        ("many", STORES, "stores to", STORES, "store to", NO_STREAM),
    ],
)
def test_operations_that_nothing_orders_race(ordered, tmp_path, mode, second, does, first, may, missing):
    report = tmp_path / "report"
    done = run("run", "--json", "--out", report, ordered, mode, env=environment())
    assert done.returncode == 3, done
    (finding,) = json.loads(report.read_text())["findings"]
    assert finding["kind"] == "race" and finding["kernel"] == second[0]
    address = finding["address"]
    assert finding["message"] == f"{second[0]} {does} {address:#x}, which {first[0]} may still {may}: {missing}"
    lines = [line for line in (second[1], first[1]) if line]
    assert [finding["line"], *([finding["other"]["line"]] if finding["other"] else [])] == lines
    assert "thread" not in finding


@pytest.mark.parametrize("mode", ["nodes", "captured", "events", "copy", "host", "default", "free", "atomics", "bytes", "twice",
                                  "within", "event-nodes"])
def test_operations_in_order_do_not(ordered, mode):
    done = run("run", ordered, f"{mode}-right", env=environment())
    assert done.returncode == 0 and "no findings" in done.stderr, done


def test_without_races_nothing_is_watched(ordered):
    done = run("run", "--races", "off", ordered, "events", env=environment())
    assert done.returncode == 0 and "no findings" in done.stderr, done
