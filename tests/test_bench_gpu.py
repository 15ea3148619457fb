"""The GPU benchmark without a GPU: what it reports is consistent, what is wrong is refused, its tables are made of
it, and what it builds with nvcc compiles.  Contenders here reduce host memory; no test looks at how fast they are."""

import ctypes
import math
import random
import re
import statistics
import struct
import subprocess
import sys

import pytest

import warpfold_ctypes as wf
from each_type import EVERY_KERNEL
from kernel_helpers import has_nvcc
from samples import pack_values

sys.path[1:1] = [str(wf.ROOT / "bench"), str(wf.ROOT / "bench" / "gpu")]

import cases  # noqa: E402
import device as gpu  # noqa: E402
import gpu_table  # noqa: E402
import table  # noqa: E402

pytest.importorskip("numpy", reason="no numpy")

import answers  # noqa: E402
import measure  # noqa: E402

POOL = 4096  # elements

# ---- contenders that need no GPU ---------------------------------------------------------------------


class HostBench:
    """Host memory in place of the GPU's."""

    def __init__(self):
        self.buffers = []

    def allocate(self, nbytes, host=False):
        self.buffers.append(ctypes.create_string_buffer(nbytes))
        return ctypes.addressof(self.buffers[-1])

    def fill(self, pointer, type_name, data, count):
        draw = random.Random(f"{type_name} {data}")
        values = [draw.randint(-100, 100) if type_name.startswith("i") else draw.uniform(-1, 1) for _ in range(count)]
        ctypes.memmove(pointer, pack_values(type_name, values), count * cases.NBYTES[type_name])

    def call(self, name, to, source, nbytes):
        assert name == "to_host"
        ctypes.memmove(to, source, nbytes)


class HostContender:
    """answer(pointer, count) gives its result; its times are made up."""

    def __init__(self, who, answer=None, result="f64"):
        self.who, self.answer, self.result, self.offset = who, answer, result, 0
        self.draw = random.Random(who)
        self.is_closed = False

    def reduce(self, data, count):
        return self.answer(data, count)

    def time_calls(self, pool, calls, head_start_us):
        assert pool.arrays * pool.nbytes <= measure.POOL_NBYTES
        return [self.draw.uniform(1, 2) for _ in range(calls)]

    def time_graph(self, pool, nodes, replays):
        return self.time_calls(pool, replays, 0)

    def close(self):
        self.is_closed = True


def warpfold_of(op, type_name, change=0):
    """What warpfold leaves in device memory; change: added to the bits."""
    def answer(pointer, count):
        right = answers.Answers(answers.cpu_handle(), pointer, type_name, count)
        if op == "stats":
            stats, asked, array = wf.new_stats(), wf.reduction("stats"), right.view(0, count)
            right.handle.check(wf.library.wf_reduce_stats(right.handle.pointer, asked, array, stats))
            stats.count += change
            return bytes(stats).ljust(gpu.RESULT_NBYTES, b"\0")
        _, bits = right.of(op)
        left = wf.device_result(bits=(bits + change) % 2**64)
        return bytes(left).ljust(gpu.RESULT_NBYTES, b"\0")

    return HostContender("warpfold", answer)


def rounded_sum(type_name, off_by=0):
    """A sum whose result is the right one and off_by."""
    result = type_name if type_name in answers.FLOAT_DIGITS else "i64"

    def answer(pointer, count):
        right = answers.Answers(answers.cpu_handle(), pointer, type_name, count)
        number = answers.number_of_bits(*right.of("sum")) + off_by
        return struct.pack("<" + answers.CODES[result], number).ljust(gpu.RESULT_NBYTES, b"\0")

    return HostContender("CUB", answer, result)


@pytest.fixture
def host(monkeypatch):
    """A benchmark over host memory; what its contenders are can be changed."""
    monkeypatch.setattr(measure, "POOL_NBYTES", 8 * POOL)
    monkeypatch.setattr(cases, "POOL", POOL)
    contenders = {"warpfold": warpfold_of, "CUB": lambda op, type_name: [rounded_sum(type_name)] if op == "sum" and
                  type_name != "bf16" else []}
    monkeypatch.setattr(gpu, "open_warpfold", lambda _, op, type_name, nan: contenders["warpfold"](op, type_name))

    def open_peers(_, op, type_name):
        return [HostContender(op)] if op in ("read", "copy") else contenders["CUB"](op, type_name)

    monkeypatch.setattr(gpu, "open_peers", open_peers)
    monkeypatch.setattr(measure.libraries, "open_contenders", lambda *_: [])
    return contenders


def measured(*chosen):
    bench = HostBench()
    arrays = measure.Arrays(bench)
    rows = []
    for case in chosen:
        arrays.fill(case, POOL)
        rows.append(measure.measure(bench, [], arrays, case, quick=True))
    return rows


def case_of(op="sum", type_name="f64", count=1024):
    return cases.Case(op, type_name, "uniform", count)


# ---- what it measures --------------------------------------------------------------------------------


def test_cases_are_those_of_the_issue():
    found = set(cases.cases(quick=False))
    assert len(found) == len(cases.cases(quick=False))
    assert set(cases.cases(quick=True)) < found
    for type_name in cases.NBYTES:
        assert {case.count for case in found if (case.op, case.type, case.data) == ("sum", type_name, "uniform")} >= {
            1 << 20, 1 << 24, 1 << 28}
    assert cases.Case("sum", "f32", "uniform", 1 << 30) in found
    for op in ("min", "max"):
        assert {1 << 10, 1 << 14, 1 << 17, 1 << 20} <= {
            case.count for case in found if case.op == op and case.type == "f32" and case.is_in_graph}
    for type_name in ("f32", "f64", "f16", "bf16"):
        assert {"uniform", "normal", "full"} <= {case.data for case in found if case.type == type_name}
    assert max(case.nbytes for case in found) <= measure.POOL_NBYTES


# ---- what it reports ---------------------------------------------------------------------------------


def check_row(row):
    for entry in (row["ceiling"], *row["entries"]):
        assert entry["ns"] == pytest.approx(statistics.median(entry["samples"]))
        assert entry["gbps"] == pytest.approx(row["nbytes"] / entry["ns"])
    for entry in row["entries"]:
        shares = [best / own for best, own in zip(row["ceiling"]["samples"], entry["samples"])]
        assert entry["share"] == pytest.approx(statistics.median(shares))


def test_rows_are_consistent(host):
    rows = measured(case_of(), case_of("max", "i8"), case_of("dot", "f32"), case_of("stats", "f32"),
                    case_of("var", "f64"), case_of("argmin", "f16"), case_of("sum", "i64", 64),
                    case_of("sum", "bf16", 32))
    for row in rows:
        check_row(row)
        assert row["entries"][0]["who"] == "warpfold" and row["entries"][0]["error"] == 0
    assert [entry["who"] for entry in rows[0]["entries"]] == ["warpfold", "CUB"]
    assert [row["how"] for row in rows] == ["graph"] * 3 + ["calls"] + ["graph"] * 4
    assert "CUB's sum" in [entry["who"] for entry in rows[1]["entries"]]


@pytest.mark.parametrize("op", ["sum", "argmax", "min", "dot", "stats"])
def test_one_wrong_bit_is_refused(host, op):
    host["warpfold"] = lambda op, type_name: warpfold_of(op, type_name, change=1)
    with pytest.raises(answers.Wrong, match="the GPU gives"):
        measured(case_of(op, "f32"))


def test_a_failed_status_is_refused(host):
    right = warpfold_of("sum", "f64")
    failed = HostContender("warpfold", lambda pointer, count: right.reduce(pointer, count)[:8] + struct.pack(
        "<ii", wf.WF_ERROR_RANGE, 0))
    host["warpfold"] = lambda *_: failed
    with pytest.raises(answers.Wrong, match="WF_ERROR_RANGE"):
        measured(case_of())


def test_peers_are_judged(host, capsys):
    """One that is wrong is left out, and said to be."""
    host["CUB"] = lambda op, type_name: [rounded_sum(type_name, off_by=2.0**-40)]
    [row] = measured(case_of())
    [_, cub] = row["entries"]
    right = float(row["entries"][0]["result"])
    assert cub["error"] == abs(float(cub["result"]) - right) / math.ulp(right) > 0
    for off_by, type_name, words in ((1.0, "f64", "too far"), (1, "i32", "is right")):
        host["CUB"] = lambda op, type_name, off_by=off_by: [rounded_sum(type_name, off_by=off_by)]
        [row] = measured(case_of(type_name=type_name))
        assert "CUB" not in [entry["who"] for entry in row["entries"]]
        said = capsys.readouterr().err
        assert "CUB is left out: " in said and words in said


def test_sums_in_narrow_types_may_wrap(host):
    bench = HostBench()
    pointer = bench.allocate(4 * POOL)
    ctypes.memmove(pointer, struct.pack("<3i", 2**31 - 1, 2**31 - 1, 5), 12)
    right = answers.Answers(answers.cpu_handle(), pointer, "i32", 3)
    assert right.check_peer("sum", "i32", 3) == 0
    with pytest.raises(answers.Wrong):
        right.check_peer("sum", "i64", 3)
    with pytest.raises(answers.Wrong):
        right.check_peer("sum", "i32", 4)


# ---- tables ------------------------------------------------------------------------------------------


@pytest.fixture
def document(host):
    rows = measured(case_of(), case_of("max", "i8"), case_of("sum", "f32", 512), case_of("stats", "f32"),
                    case_of("sum", "i8"))
    large = [row | {"how": "calls", "count": 1 << 28, "data": data} for row, data in
             zip(rows[:3], ("uniform", "uniform", "full"))]
    return {"warpfold": "0.1.0", "date": "2026-01-01", "quick": True, "failures": [],
            "machine": {"device": "cuda:0: made up", "driver": "1.2", "system": "Linux"},
            "peers": {"CUB": "3.1.2"}, "absent": {"torch": "No module named 'torch'"},
            "compiling": {"reductions": 3, "seconds": 2.5}, "rows": rows + large,
            "first_calls": [{"op": "sum", "type": "f32", "open": 0.2, "compiled": 1.5, "cached": 0.003,
                             "later": 2e-5}]}


def tables_of(text):
    return [part.strip().splitlines() for part in text.split("\n\n") if part.lstrip().startswith("|")]


def test_tables_hold_every_case(document):
    text = gpu_table.render(document, everything=True)
    for lines in tables_of(text):
        assert len({line.count("|") for line in lines}) == 1, lines
    for row in document["rows"]:
        assert f"| {table.case_text(row)} |" in text
    assert "| sum f32, over all exponents |" in text
    assert "| sum f32 | 200 ms | 1.5 s | 3 ms | 20 us |" in text
    assert "Absent: torch" in text
    assert len(gpu_table.render(document)) < len(text)


def test_the_table_of_kinds_has_the_worst_beside_the_uniform(document):
    row = next(row for row in document["rows"] if row["how"] == "calls" and row["op"] == "sum")
    ours = row["entries"][0]
    slow = row | {"data": "nan_2", "nan": "omit", "entries": [ours | {"share": 0.125}]}
    quick = row | {"data": "uniform", "nan": "propagate", "entries": [ours | {"share": 0.875}]}
    text = gpu_table.render_kinds(document | {"rows": [quick, slow]})
    assert "| sum f64 | 0.88 | 0.88 uniform | 0.12 nan_2, omit | 0.88 uniform |  |" in text
    assert "| nan_2, omit | 0.12 |" in text


def test_a_line_says_how_fast_how_near_the_ceiling_and_how_we_stand(document):
    row = next(row for row in document["rows"] if row["how"] == "calls" and row["op"] == "sum")
    ours, cub = row["entries"]
    ratio = statistics.median(theirs / own for theirs, own in zip(cub["samples"], ours["samples"]))
    expected = (f"| sum f64 | {ours['gbps']:.0f} | {ours['share']:.2f}, exact | {cub['gbps']:.0f}, exact | "
                f"{ratio:.2f} |")
    assert expected in gpu_table.large_arrays([row])


def test_the_fastest_form_of_cub_is_the_peer(document):
    row = document["rows"][0]
    forms = [row["entries"][1] | {"who": who, "ns": ns} for who, ns in
             (("CUB", 5.0), ("CUB to f32", 4.0), (gpu_table.DETERMINISTIC, 1.0), ("CUB's sum", 2.0))]
    assert gpu_table.best_cub(row | {"entries": forms})["who"] == "CUB to f32"
    assert gpu_table.best_cub(row | {"entries": []}) is None


def test_the_worst_row_stands_beside_each_promise(document):
    rows = [row for row in document["rows"] if (row["op"], row["type"], row["how"]) == ("max", "i8", "graph")]
    slow = [row | {"count": count, "entries": [entry | {"samples": [time / factor for time in entry["samples"]]}
                                               if entry["who"] == "warpfold" else entry for entry in row["entries"]]}
            for row in rows for count, factor in ((1 << 10, 1), (1 << 14, 0.1))]
    text = gpu_table.promises(slow)
    assert "max i8, n = 2^14" in text and "of 2 |" in text


def test_tables_go_between_the_markers(tmp_path, document):
    page = tmp_path / "page.md"
    page.write_text("above\n<!-- gpu:begin -->\nold\n<!-- gpu:end -->\nbetween\n<!-- gpu:begin all -->\n"
                    "<!-- gpu:end -->\nbelow\n")
    (tmp_path / "bench.json").write_text(table.text_of(document))
    command = [sys.executable, str(wf.ROOT / "bench" / "gpu" / "gpu_table.py"), str(tmp_path / "bench.json")]
    for _ in range(2):
        subprocess.run([*command, str(page)], check=True)
        assert page.read_text() == (
            "above\n<!-- gpu:begin -->\n" + gpu_table.render(document) + "<!-- gpu:end -->\nbetween\n"
            "<!-- gpu:begin all -->\n" + gpu_table.render(document, everything=True) + "<!-- gpu:end -->\nbelow\n")


def test_recorded_runs_make_tables():
    for path in sorted((wf.ROOT / "data" / "gpu").glob("*.json")):
        done = subprocess.run([sys.executable, str(wf.ROOT / "bench" / "gpu" / "gpu_table.py"), str(path)],
                              capture_output=True, text=True, check=True)
        assert len(tables_of(done.stdout)) > 2, path


# ---- what nvcc builds --------------------------------------------------------------------------------


NEEDED = {"__half": "cuda_fp16.h", "__nv_bfloat16": "cuda_bf16.h", "cuda::std::plus": "cuda/std/functional",
          "cub::": "cub/device/device_reduce.cuh", "CUB_VERSION": "cub/version.cuh"}


def combine(sources):
    """One source of them all, each in a namespace of its own, since CUB's headers take many times as long as they do."""
    lines, parts, lists = set(), [], []
    for source in sources:
        text = source.read_text()
        assert [word for word, header in NEEDED.items() if word in text and f"<{header}>" not in text] == [], source
        lines |= set(re.findall(r"^#(?:define|include) .+$", text, re.MULTILINE))
        parts.append(f'namespace of_{source.stem} {{\n#include "{source}"\n}}\n')
        [name] = set(re.findall(r"^const struct peer_list (\w+)", text, re.MULTILINE))
        lists.append(f"const struct peer_list {name} = of_{source.stem}::{name};\n")
    return "".join([*(line + "\n" for line in sorted(lines)), *parts, *lists])  # "#define" is before "#include"


@pytest.mark.slow
@pytest.mark.skipif(not EVERY_KERNEL, reason="TESTS_EVERY_KERNEL=1, as in CI, has CUB parsed, which takes long")
def test_its_library_compiles(tmp_path, monkeypatch):
    """With every function that device.py calls; CUB's reductions are listed, and none twice.  Kernels are parsed, not made:
    what would run them makes them."""
    if not has_nvcc():
        pytest.skip("no nvcc")
    sources = tmp_path / "sources"
    sources.mkdir()
    of_cub = sorted(gpu.HERE.glob("cub_*.cu"))
    (sources / "cub.cu").write_text(combine(of_cub))
    for path in {*gpu.HERE.glob("*.cu"), *gpu.HERE.glob("*.h")} - {*of_cub}:
        (sources / path.name).symlink_to(path)
    for path in gpu.HERE.parent.glob("*.h"):
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.setattr(gpu, "HERE", sources)
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-fdevice-syntax-only -Xcompiler -O0")
    library = ctypes.CDLL(str(gpu.build(tmp_path, "sm_90")))
    for name in gpu.FUNCTIONS:
        assert getattr(library, name)
    library.bench_peer.restype = ctypes.POINTER(gpu.Peer)
    peers = [peer.contents for peer in iter_peers(library)]
    names = [(peer.who, peer.op, peer.type) for peer in peers]
    assert len(set(names)) == len(names)
    for case in cases.cases(quick=False):
        if case.op in ("sum", "argmin", "argmax", "min", "max"):
            assert (b"CUB", case.op.encode(), case.type.encode()) in names, case


def iter_peers(library):
    index = 0
    while peer := library.bench_peer(index):
        yield peer
        index += 1
