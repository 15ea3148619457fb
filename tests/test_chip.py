"""The simulator held against a recorded GPU (data/h200), and the scripts that record and tell it."""

import difflib
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

import pytest

from cli_helpers import CLI, ROOT, TIMEOUT_SECONDS
from cuda_helpers import fake_environment, need_fake

RECORDING = ROOT / "data" / "h200" / "counters.json"
PIPE = ROOT / "data" / "h200" / "data_pipe.json"
WRONG = sorted(path.stem for path in (ROOT / "ladder" / "wrong").glob("*.cu"))


def chip_docs(root, *options):
    return subprocess.run([sys.executable, root / "lab" / "chip-docs", *options], capture_output=True, text=True,
                          env=dict(os.environ, WARPFOLD_CLI=CLI), timeout=TIMEOUT_SECONDS)


# ---- what is recorded --------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_page_is_what_the_machine_and_the_recording_say():
    done = chip_docs(ROOT, "--check")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def told_differences():
    if not RECORDING.exists():
        pytest.skip("no run is recorded")
    return chip_docs(ROOT, "--differences")


@pytest.mark.slow
def test_every_difference_has_a_reason(told_differences):
    assert told_differences.returncode == 0, told_differences.stdout


@pytest.fixture(scope="module")
def difference_lines(told_differences):
    """RUN: KERNEL: COUNTER: simulator N, chip N: REASON for each that is not equal, split at the colons."""
    return [line.split(": ", 4) for line in told_differences.stdout.splitlines()]


@pytest.fixture(scope="module")
def differences(difference_lines):
    """[(run, kernel, counter)] that are not equal."""
    return [tuple(line[:3]) for line in difference_lines]


@pytest.fixture(scope="module")
def recorded_rungs():
    """{(run, kernel): the chip's counters}, by the names that the differences have, with the run's n and block."""
    told = json.loads(RECORDING.read_text())
    return {(f"{run['op']} of {run['n']} {run['type']}, blocks of {run['block']}", f"{row['rung']}_{row['name']}"):
            dict(row["chip"], n=run["n"], block=run["block"]) for run in told["runs"] for row in run["rungs"]}


@pytest.mark.parametrize("counter", ["blocks", "warps", "load requests", "load sectors", "store requests",
                                     "store sectors", "atomic requests"])
def test_what_global_memory_is_asked_for_is_equal(differences, counter):
    assert [difference for difference in differences if difference[2] == counter] == []


def test_shared_wavefronts_are_equal_but_for_the_conflicts_of_stores(difference_lines, recorded_rungs):
    """Which the chip's data pipe explains: see below."""
    differing = [line for line in difference_lines if line[2] == "shared wavefronts"]
    assert {kernel for _, kernel, *_ in differing} == {"15_redux"}
    for run, kernel, _, counts, _ in differing:
        simulator, chip = map(int, re.findall(r"\d+", counts))
        assert chip - simulator == recorded_rungs[run, kernel]["bank_conflict_stores"]


def rows_of_page(form):
    """{run: {heading: (here, there)}} of a region of the page."""
    page = (ROOT / "docs" / "simulator-vs-hardware.md").read_text()
    region = page.partition(f"<!-- fill: {form} -->")[2].partition("<!-- end -->")[0]
    rows = {}
    for lines in region.split("\n\n"):
        table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines.splitlines() if line.startswith("|")]
        for run, *cells in table[2:]:
            numbers = [tuple(map(int, re.findall(r"\d+", cell))) for cell in cells]
            rows.setdefault(run, {}).update({heading: (pair[0], pair[-1]) for heading, pair in zip(table[0][1:], numbers)})
    return rows


def test_rung_16_differs_in_stores_to_other_blocks_alone():
    rows = rows_of_page("bulk")
    assert len(rows) == 5
    for run, row in rows.items():
        assert all(row[name][0] == row[name][1] for name in row if name.split()[0] in ("blocks", "warps", "load", "store", "atomic", "bank"))
        here, there = row["shared wavefronts"]
        assert here - there == row["blocks"][0] // 2 * (2 if run.startswith("argmax") else 1)


def test_rung_17_has_a_few_more_sectors_on_the_gpu():
    rows = rows_of_page("library")
    assert len(rows) == 4
    for row in rows.values():
        assert row["blocks"][0] == row["blocks"][1] and 0 <= row["global sectors"][1] - row["global sectors"][0] <= 4


def wavefronts_in_place(kernel, n, block):
    """What rung 01 or 02 counts of a block that has n elements: its reads of the index, the result's load, off in all
    warps but the first, and its barriers, but for those that have nothing between them and the one before."""
    steps = block.bit_length()
    strides = [1 << step for step in range(steps)]
    if kernel.startswith("02"):
        strides.reverse()
    counting = [step for step, stride in enumerate(strides) if step == 0 or stride < n]
    return block // 32 + block // 32 - 1 + len(counting)


def test_what_passes_the_pipe_in_rungs_01_and_02_is_what_the_rule_says(recorded_rungs):
    rungs = {where: chip for where, chip in recorded_rungs.items() if where[1].startswith(("01", "02"))}
    assert len(rungs) == 8
    for (_, kernel), chip in rungs.items():
        n, block, expected = chip["n"], chip["block"], 0
        while n > 1:
            grid = -(-n // (2 * block))
            expected += (grid - 1) * wavefronts_in_place(kernel, 2 * block, block)
            expected += wavefronts_in_place(kernel, n - (grid - 1) * 2 * block, block)
            n = grid
        assert chip["shared_wavefronts"] == expected, kernel


def test_rungs_04_to_06_lose_barriers_only_where_blocks_share_a_multiprocessor(recorded_rungs, pipe):
    for (run, kernel), chip in recorded_rungs.items():
        if kernel[:2] in ("04", "05", "06") and run.startswith("sum of 65536"):
            whole = (330 if kernel.startswith("05") else 225) * chip["blocks"]
            assert whole - 9 * chip["blocks"] < chip["shared_wavefronts"] < whole
    for kernel, each in (("04_interleaved_modulo", 225), ("05_interleaved_strided", 330), ("06_sequential", 225)):
        alone, together = pipe(f"{kernel}.sum.f32", shared=120 << 10), pipe(f"{kernel}.sum.f32", shared=1 << 10)
        assert set(alone["shared_wavefronts"]) == {256 * each}
        assert all(256 * (each - 9) < count < 256 * each for count in together["shared_wavefronts"])


def off_or_again(kernel, op, chip):
    """What passes the pipe in rungs 13 to 15 and is no access of PTX: loads that are off, the index read again, and the
    fences of the tickets."""
    blocks, warps, first = chip["blocks"], chip["warps"], kernel.startswith("13")
    passes = [chip["n"], blocks - 1] if first and blocks > 1 else [chip["n"]]
    if op == "argmax":  # it branches around these loads, but for that of an index, which the input has not
        off = int(chip["n"] % 4 > 0)
    else:  # before and behind the vectors; the first warp has elements behind them
        off = 2 * warps - sum(n % 4 > 0 for n in passes)
    again = warps if first or op == "argmax" else 0
    return off + again + (4 * blocks if not first and blocks > 1 else 0)


def test_what_passes_the_pipe_in_rungs_13_to_15_is_known_but_for_conflicts(difference_lines, recorded_rungs):
    lines = [line for line in difference_lines if line[2] == "all wavefronts" and line[1][:2] in ("13", "14", "15")]
    assert len(lines) == 15
    for run, kernel, _, counts, _ in lines:
        simulator, count = map(int, re.findall(r"\d+", counts))
        chip = recorded_rungs[run, kernel]
        assert count - chip["bank_conflicts"] == simulator + off_or_again(kernel, run.split()[0], chip), (run, kernel)


def test_barriers_and_shuffles_fit_the_wavefronts_of_the_pipe(differences):
    """Rung 12 has all of them, and no access whose predicate is off for a warp."""
    assert not any(kernel == "12_warp_shuffle" for _, kernel, counter in differences if counter == "all wavefronts")
    assert any(kernel == "06_sequential" for _, kernel, counter in differences if counter == "all wavefronts")


# ---- the chip's data pipe ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pipe():
    """The one case of a kernel that is like this."""
    if not PIPE.exists():
        pytest.skip("no run is recorded")
    cases = json.loads(PIPE.read_text())["cases"]

    def find(kernel, **like):
        found, = (case for case in cases if case["kernel"] == kernel and "change" not in case
                  and all(case[name] == value for name, value in like.items()))
        return found

    return find


@pytest.mark.parametrize("kernel, on, count", [
    ("barrier", 1, 0), ("index", 1, 8 + 1), ("shared_load", 1, 8 + 64 * 9), ("shared_load", 0, 8 + 64 * 9),
    ("shared_store", 1, 8 + 64 * 9), ("shared_store", 0, 8 + 64 * 9), ("shuffle", 1, 8 + 64 * 9),
    ("global_load", 1, 8 + 64), ("global_load", 0, 8 + 64 * 9), ("each_fourth", 1, 8 + 16 * 9),
    ("fence", 1, 8 + 64 * 3)])
def test_a_barrier_counts_if_something_has_passed_since_the_one_before(pipe, kernel, on, count):
    """Of 8 warps, 64 steps and barriers."""
    assert set(pipe(kernel, on=on)["shared_wavefronts"]) == {count}


@pytest.mark.parametrize("kernel", ["01_in_place_strided", "02_in_place_convergent"])
@pytest.mark.parametrize("n", [1, 3, 16, 128, 257])
def test_a_barrier_behind_a_step_without_work_does_not_count(pipe, kernel, n):
    assert set(pipe(f"{kernel}.sum.f32", n=n)["shared_wavefronts"]) == {wavefronts_in_place(kernel, n, 256)}


def test_a_barrier_counts_behind_what_a_neighbour_has_passed(pipe):
    """More than the blocks that load, and each one's neighbour, would count each by itself."""
    assert min(pipe("neighbours")["shared_wavefronts"]) > 132 * (8 + 16 * 8) + 132 * (8 + 1)


@pytest.mark.parametrize("beside", ["idle", "misses_128", "misses_32", "hits_128"])
def test_stores_meet_data_that_arrive_and_nothing_else_does(pipe, beside):
    stores = pipe(f"stores_{beside}")
    assert all((count > 0) == beside.startswith("misses") for count in stores["bank_conflict_stores"])
    assert [count - 8 * 4 * 8 * 512 for count in stores["shared_store_wavefronts"]] == stores["bank_conflict_stores"]
    for thing in ("loads", "shuffles", "loads_off", "indices"):
        assert not any(pipe(f"{thing}_{beside}")["bank_conflicts"])


@pytest.mark.parametrize("kernel, passes", [("indices_shuffling", 4 * (132 + 8192 + 132 * 8 * 128)),
                                            ("tree_constant", 1056 * 8 * (1 + 5))])
def test_shuffles_meet_reads_of_the_index_and_of_constants(pipe, kernel, passes):
    case = pipe(kernel)
    assert min(case["bank_conflicts"]) > 100
    assert [passes + conflicts for conflicts in case["bank_conflicts"]] == case["shared_wavefronts"]
    assert not any(case["bank_conflict_loads"] + case["bank_conflict_stores"])


def test_shuffles_meet_nothing_else(pipe):
    beside = [f"{thing}_shuffling" for thing in ("stores", "loads", "shuffles", "loads_off")]
    behind = [f"tree_{thing}" for thing in ("alone", "block_index", "address", "store", "store_64")]
    assert not any(count for kernel in beside + behind for count in pipe(kernel)["bank_conflicts"])


def test_stores_of_rung_14_meet_arriving_data_as_those_of_rung_15_do(pipe):
    for kernel in ("14_last_block.sum.f32", "15_redux.sum.i32"):
        assert any(pipe(kernel, grid=8)["bank_conflict_stores"])


# What rungs 13 to 15 count at 65536, in the first pass of 64 warps, besides their conflicts.
VECTOR_RUNGS = {"13_vector_load.sum.f32": 680, "14_last_block.sum.f32": 781, "15_redux.sum.i32": 394,
                "13_vector_load.argmax.f32": 1312, "14_last_block.argmax.f32": 1572}


@pytest.fixture(scope="module")
def changed():
    """{(kernel, change): the case}"""
    if not PIPE.exists():
        pytest.skip("no run is recorded")
    return {(case["kernel"], case["change"]): case for case in json.loads(PIPE.read_text())["cases"]
            if "change" in case}


def test_rungs_13_to_15_differ_by_their_conflicts_alone(pipe, changed):
    cases = [(kernel, "", pipe(kernel, grid=8)) for kernel in VECTOR_RUNGS]
    cases += [(kernel, change, case) for (kernel, change), case in changed.items()]
    for kernel, change, case in cases:
        count = VECTOR_RUNGS[kernel] + 8 * ("barrier" in change) - 64 * ("without the load" in change)
        assert {all_ - conflicts for all_, conflicts in zip(case["shared_wavefronts"], case["bank_conflicts"])} == \
            {count}, (kernel, change)


def test_rung_13_has_conflicts_where_warps_out_of_step_read_the_index_among_shuffles(changed):
    """Of argmax it reads the index among the shuffles, of sum behind the vectors: the barrier parts it from them."""
    for op, among_shuffles in (("argmax", True), ("sum", False)):
        for change in ("with a barrier behind the vectors", "with a barrier and pauses behind the vectors"):
            case = changed[f"13_vector_load.{op}.f32", change]
            assert all((count > 0) == among_shuffles for count in case["bank_conflicts"])
            assert not any(case["bank_conflict_stores"] + case["bank_conflict_loads"])


def test_a_barrier_behind_the_vectors_leaves_rungs_14_and_15_fewer_conflicts(pipe, changed):
    for kernel in ("14_last_block.sum.f32", "14_last_block.argmax.f32", "15_redux.sum.i32"):
        without = pipe(kernel, grid=8)["bank_conflicts"]
        case = changed[kernel, "with a barrier behind the vectors"]
        assert sum(case["bank_conflicts"]) / len(case["bank_conflicts"]) < sum(without) / len(without)


def lab_module(name):
    loader = SourceFileLoader(name, str(ROOT / "lab" / name))
    module = module_from_spec(spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def chip():
    return lab_module("chip")


def test_the_cases_of_the_pipe_have_kernels(chip):
    source = (ROOT / "lab" / "chip-pipe.cu").read_text()
    cases = [case for case, _ in chip.pipe_cases()]
    for case in cases:
        if "n" in case:
            assert (ROOT / "ladder" / "ptx" / f"{case['kernel']}.ptx").exists()
        else:
            name, thing = case["kernel"], re.sub(r"_(idle|hits_128|misses_\d+|shuffling)$", "", case["kernel"])
            of_tree = name.removeprefix("tree_")
            assert re.search(rf"\b(pipe_{thing}\(|STEPS\({thing},|BESIDE_ALL\({thing},|BLOCKS\({name},|TREE\({of_tree},)",
                             source)
    assert len({json.dumps(case) for case in cases}) == len(cases)


def test_a_rung_is_changed_where_its_vectors_are_loaded(chip):
    for case, _ in chip.pipe_cases():
        if "change" in case:
            text = (ROOT / "ladder" / "ptx" / f"{case['kernel']}.ptx").read_text()
            new, old = chip.CHANGES[case["change"]](text).splitlines(), text.splitlines()
            told = [line for line in difflib.ndiff(old, new) if line[0] in "+-"]
            expected = {"bar.sync": "barrier", "{": "pauses"}
            expected = [["+", word] for word in expected if expected[word] in case["change"]]
            if "load" in case["change"]:
                expected += [["-", "ld.global.f32" if "f32" in case["kernel"] else "ld.global.u32"], ["+", "mov.b32"]]
            assert [line.split()[:2] for line in told] == expected


def test_the_pipe_is_recorded(chip, tmp_path, monkeypatch):
    """With an ncu that counts the launches, of which the last is missing."""
    planned = list(chip.pipe_cases())
    rows = [dict.fromkeys(chip.PIPE_METRICS, float(i)) for i in range(sum(times for _, times in planned) - 1)]
    monkeypatch.setattr(chip, "profile", lambda *_: ("", rows))
    chip.command_pipe(tmp_path)
    told = json.loads((tmp_path / "data_pipe.json").read_text())
    assert [{name: case[name] for name in case if name not in chip.PIPE_METRICS} for case in told["cases"]] == \
        [case for case, _ in planned[:-1]]
    assert [count for case in told["cases"] for count in case["bank_conflicts"]] == \
        list(range(sum(times for _, times in planned[:-1])))
    assert sum("not launched" in problem for problem in told["problems"]) == 1


def test_every_verdict_that_differs_is_explained():
    page = (ROOT / "docs" / "simulator-vs-hardware.md").read_text()
    told = [line for line in page.splitlines() if line.startswith("| `") and "they differ" in line]
    assert {line.split("`")[1] for line in told} == \
        {"last_warp_one_barrier", "overlapping_segments", "uninitialised"}
    assert all("is right" in line for line in told)


# ---- asynchronous kernels ----------------------------------------------------------------------------


def test_the_recording_has_each_asynchronous_kernel_and_what_the_simulator_finds():
    told = json.loads((ROOT / "data" / "h200" / "asynchronous.json").read_text())
    assert [(row["kernel"], row["source"], row["finding"]) for row in told["cases"]] == \
        [(case.kernel, case.source, finding) for case, finding in lab_module("chip-async").listed_cases()]


def test_columns_are_recorded_one_by_one(tmp_path, monkeypatch):
    module = lab_module("chip-async")
    case = {"source": "some.cu", "finding": "race"}
    (tmp_path / "cases.json").write_text(json.dumps({"wrong": case, "right": {**case, "finding": None}}))
    monkeypatch.setattr(module, "plain", lambda folder, name: name)
    monkeypatch.setattr(module, "under", lambda tool, folder, name: ({"errors": len(name), "came": tool}, "all of it"))
    monkeypatch.setattr(module.chip, "conditions", lambda recording, tool: {"date": "today"})
    for columns in (["chip", "memcheck"], ["racecheck", "afterwards"]):
        module.command_record(tmp_path, tmp_path, *columns)
    told = json.loads((tmp_path / "asynchronous.json").read_text())
    assert [list(row) for row in told["cases"]] == \
        [["kernel", "source", "finding", "chip", "memcheck", "racecheck"],
         ["kernel", "source", "finding", "chip", "memcheck", "racecheck", "afterwards"]]
    assert told["cases"][0]["racecheck"] == {"errors": 5, "came": "racecheck"} and told["conditions"] == {"date": "today"}
    assert (tmp_path / "asynchronous.log").read_text().count("all of it") == 4


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


def record(tmp_path_factory, command, capability):
    need_fake()
    tools, folder, cache = (tmp_path_factory.mktemp(name) for name in ("tools", "out", "cache"))
    write_tool(tools, "ncu", FAKE_NCU)
    write_tool(tools, "compute-sanitizer", FAKE_SANITIZER)
    environment = fake_environment(cache, capability=capability, WARPFOLD_CLI=CLI,
                                   PATH=f"{tools}:{os.environ['PATH']}")
    done = subprocess.run([sys.executable, ROOT / "lab" / "chip", command, folder], capture_output=True,
                          text=True, env=environment, timeout=240)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return record(tmp_path_factory, "record", "8.0") / "counters.json"


@pytest.mark.slow
def test_rungs_of_hopper_are_recorded_apart(tmp_path_factory):
    told = json.loads((record(tmp_path_factory, "hopper", "9.0") / "hopper_rungs.json").read_text())
    assert [[row["rung"] for row in run["rungs"]] for run in told["runs"]] == [["16", "17"]] * 4 + [["16"]]
    assert all(row["verified"] is True and row["chip"]["instructions"] == 1000 for run in told["runs"] for row in run["rungs"])


@pytest.mark.slow
def test_a_recording_has_every_rung_and_wrong_kernel(recorded):
    told = json.loads(recorded.read_text())
    assert [len(run["rungs"]) for run in told["runs"]] == [16, 16, 16, 16, 13]
    assert all(row["verified"] is True for run in told["runs"] for row in run["rungs"])
    rows = {row["rung"]: row for row in told["runs"][0]["rungs"]}
    assert rows["06"]["launches"] == 2 and rows["06"]["chip"]["instructions"] == 2000
    assert rows["14"]["chip"]["instructions"] == 1000
    assert {row["name"] for row in told["wrong"]} <= set(WRONG) - {"barrier_in_branch"}
    assert any("does not know" in problem for problem in told["problems"])


@pytest.mark.slow
def test_a_recording_has_the_verdict_of_each_tool(recorded):
    told = json.loads(recorded.read_text())["sanitizer"]
    assert {(row["tool"], row["kernel"]) for row in told} == \
        {(tool, kernel) for tool in ("memcheck", "racecheck", "initcheck", "synccheck")
         for kernel in (*WRONG, "ladder sum f32", "ladder argmax i32")}
    found = {(row["tool"], row["kernel"]): row["errors"] for row in told if row["errors"]}
    assert found == {("racecheck", "last_warp_volatile"): 2}


@pytest.mark.slow
def test_the_page_tells_each_difference(recorded, tmp_path):
    for name in ("lab", "docs", "data/h200"):
        (tmp_path / name).mkdir(parents=True)
    shutil.copy(ROOT / "data" / "h200" / "hopper_rungs.json", tmp_path / "data" / "h200")
    shutil.copy(ROOT / "lab" / "chip-docs", tmp_path / "lab")
    shutil.copy(ROOT / "docs" / "simulator-vs-hardware.md", tmp_path / "docs")
    (tmp_path / "ladder").symlink_to(ROOT / "ladder")
    told = json.loads(recorded.read_text())
    alone = [row for row in told["runs"][0]["rungs"] if row["rung"] == "06"]
    simulator = json.loads(subprocess.run([CLI, "ladder", "--json", "--rung", "06", "-n", "1024"], capture_output=True,
                                        text=True, timeout=TIMEOUT_SECONDS).stdout)["rungs"][0]
    alone[0]["chip"] = {"warps": simulator["warps"], "global_load_sectors": simulator["global_load_sectors"] + 1}
    told["runs"], told["wrong"] = [dict(told["runs"][0], rungs=alone)], []
    (tmp_path / "data" / "h200" / "counters.json").write_text(json.dumps(told))
    done = chip_docs(tmp_path, "--differences")
    sectors = simulator["global_load_sectors"]
    assert (done.returncode, done.stdout) == \
        (1, "sum of 1024 f32, blocks of 256: 06_sequential: load sectors: "
            f"simulator {sectors}, chip {sectors + 1}: NO REASON\n")
    assert chip_docs(tmp_path).returncode == 0
    page = (tmp_path / "docs" / "simulator-vs-hardware.md").read_text()
    assert f"| {sectors} / {sectors + 1} |" in page and "**load sectors** of `06_sequential`" in page
    assert "| `last_warp_volatile` | race | 0 | 2 | 0 | 0 | they agree |" in page
    assert chip_docs(tmp_path, "--check").returncode == 0
