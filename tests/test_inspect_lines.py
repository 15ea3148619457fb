"""warpfold inspect by lines: what every line of the source costs, and how a warp came to a finding."""

import json
import re
import struct

import pytest

from cli_helpers import ROOT, printed, refused, run
from inspect_helpers import HEAD, inspected, kernel, parameters

# ---- kernels ---------------------------------------------------------------------------------------------

SOURCE = """\
// Not compiled: the PTX says that it comes from here.
__global__ void costs(int *out, int *sum) {
    int t = threadIdx.x;
    if (t < 8)
        shared[32 * t] = t;
    __syncthreads();
    out[8 * t] = t;
    atomicAdd(sum, t);
}
"""

COSTS = """
.shared .align 4 .b8 cells[1024];
.loc 1 3 0
mov.u32 %r1, %tid.x;
.loc 1 4 0
setp.ge.u32 %p1, %r1, 8;
@%p1 bra DONE;
.loc 1 5 0
shl.b32 %r2, %r1, 7;
mov.u32 %r3, cells;
add.u32 %r4, %r3, %r2;
st.shared.u32 [%r4], %r1;
DONE:
.loc 1 6 0
bar.sync 0;
.loc 1 7 0
ld.param.u64 %rd1, [costs_param_0];
mul.wide.u32 %rd2, %r1, 32;
add.s64 %rd3, %rd1, %rd2;
st.global.u32 [%rd3], %r1;
.loc 1 8 0
ld.param.u64 %rd4, [costs_param_1];
atom.global.add.u32 %r5, [%rd4], %r1;
.loc 1 9 0
ret;
"""

COUNTS = ["instructions", "thread_instructions", "active_lanes", "branches", "divergent_branches",
          "global_accesses", "global_requests", "global_sectors", "global_bytes", "shared_accesses", "shared_wavefronts",
          "shared_wavefronts_least", "atomics", "shuffles", "barriers"]

BLOCKS, WARPS = 3, 2
LAUNCH = ["--block", 32 * WARPS, "--grid", BLOCKS, "--arg", "i32[512]=zeros", "--arg", "i32[1]=zeros"]


@pytest.fixture
def costs(tmp_path):
    """The PTX, beside the source that it names."""
    source, ptx = tmp_path / "costs.cu", tmp_path / "costs.ptx"
    source.write_text(SOURCE)
    ptx.write_text(f'{HEAD}.file 1 "{source}"\n' + kernel("costs", parameters("costs", "u64", "u64"), COSTS))
    return ptx


# Thread 32 reads what thread 0 writes, and nothing orders them: warp 1 runs second.
RACE = """
.shared .align 4 .b8 cells[4];
mov.u32 %r1, %tid.x;
mov.u32 %r2, cells;
setp.ne.u32 %p1, %r1, 0;
@%p1 bra OTHERS;
st.shared.u32 [%r2], %r1;
OTHERS:
setp.ne.u32 %p2, %r1, 32;
@%p2 bra DONE;
add.u32 %r3, %r1, 1;
st.shared.u32 [%r2], %r3;
DONE:
ret;
"""


def page_data(path):
    """What the page draws."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text(), re.S)
    return json.loads(found[1])


HEADER = "/usr/local/cuda/bin/../targets/x86_64-linux/include/sm_30_intrinsics.hpp"
INLINED = """
.loc 1 10 5
mov.u64 %rd1, 0;
{loc}
st.global.u32 [%rd1], %r1;
ret;
"""


@pytest.mark.parametrize("header, locs, line", [
    (HEADER, [".loc 2 440 9, function_name F+0, inlined_at 1 11 9"], 11),
    (HEADER, [".loc 1 3 5, function_name F+0, inlined_at 1 11 9", ".loc 2 440 9, function_name G+0, inlined_at 1 3 5"], 3),
    (HEADER, [".loc 2 7 1, function_name F+0, inlined_at 1 11 9", ".loc 2 440 9, function_name G+0, inlined_at 2 7 1"], 11),
    ("/home/student/include/own.cuh", [".loc 2 440 9, function_name F+0, inlined_at 1 11 9"], 440),
    (HEADER, [".loc 2 440 9"], 440)])
def test_what_stands_in_the_compilers_headers_is_told_where_it_is_called(header, locs, line, tmp_path):
    """`.file` follows the code, as nvcc has it.  A user's own headers are told as they are."""
    path = tmp_path / "inlined.ptx"
    body = INLINED.replace("{loc}", "\n".join(locs))
    files = f'\n.file 1 "{tmp_path}/inlined.cu"\n.file 2 "{header}"\n'
    path.write_text(HEAD + kernel("inlined", "", body) + files)
    finding, = inspected(path, "--block", 32, status=3)["findings"]
    assert (finding["kind"], finding["line"]) == ("bounds", line)
    assert finding["file"] == (header if line == 440 else f"{tmp_path}/inlined.cu")


UNPLACED = """
.loc 1 10 5
mov.u64 %rd1, 0;
bra NEXT;
{label}
.loc 1 0 5
st.global.u32 [%rd1], %r1;
.loc 1 12 5
ret;
"""


@pytest.mark.parametrize("label, line", [("NEXT:", 12), ("NEXT: mov.u32 %r1, %tid.x;", 10)], ids=["first in its block", "behind others"])
def test_what_has_no_line_of_its_own_belongs_to_a_line_of_its_block(label, line, tmp_path):
    """As nvcc has it of a load before a loop, which comes behind a label: the line before would be one of another branch."""
    path = tmp_path / "unplaced.ptx"
    path.write_text(HEAD + kernel("unplaced", "", UNPLACED.replace("{label}", label)) + f'\n.file 1 "{tmp_path}/unplaced.cu"\n')
    finding, = inspected(path, "--block", 32, status=3)["findings"]
    assert (finding["kind"], finding["line"]) == ("bounds", line)


# ---- lines -----------------------------------------------------------------------------------------------


def test_each_line_has_its_costs(costs):
    lines = {line["line"]: line for line in inspected(costs, *LAUNCH)["lines"]}
    assert sorted(lines) == [3, 4, 5, 6, 7, 8, 9]
    assert {line["file"] for line in lines.values()} == {str(costs.with_suffix(".cu"))}
    warps = BLOCKS * WARPS
    expected = {
        3: {"instructions": warps, "thread_instructions": 32 * warps, "active_lanes": 32 * warps},
        # The first warp of each block parts, the second jumps as a whole.
        4: {"instructions": 2 * warps, "active_lanes": 64 * warps, "branches": warps,
            "divergent_branches": BLOCKS, "thread_instructions": 32 * warps + (24 + 32) * BLOCKS},
        # Eight lanes, 128 bytes apart: all in one bank.
        5: {"instructions": 4 * BLOCKS, "thread_instructions": 32 * BLOCKS, "active_lanes": 32 * BLOCKS,
            "shared_accesses": BLOCKS, "shared_wavefronts": 8 * BLOCKS, "shared_wavefronts_least": BLOCKS,
            "bank_degree": 8},
        6: {"instructions": warps, "thread_instructions": 32 * warps, "active_lanes": 32 * warps,
            "barriers": BLOCKS},
        # Lanes 32 bytes apart: each has a sector of its own, four share a line.
        7: {"instructions": 4 * warps, "thread_instructions": 128 * warps, "active_lanes": 128 * warps,
            "global_accesses": warps, "global_requests": 8 * warps, "global_sectors": 32 * warps,
            "global_bytes": 128 * warps},
        8: {"instructions": 2 * warps, "thread_instructions": 64 * warps, "active_lanes": 64 * warps,
            "global_accesses": warps, "global_requests": warps, "global_sectors": warps,
            "global_bytes": 4 * warps, "atomics": 32 * warps},
        9: {"instructions": warps, "thread_instructions": 32 * warps, "active_lanes": 32 * warps},
    }
    for number, counts in expected.items():
        found = {name: lines[number][name] for name in [*COUNTS, "bank_degree"]}
        assert found == {name: counts.get(name, 0) for name in found}, number


@pytest.mark.parametrize("rung", ["00_global_atomic", "01_in_place_strided", "03_shared_pairs",
                                  "05_interleaved_strided", "12_warp_shuffle", "14_last_block"])
@pytest.mark.parametrize("schedule", ["lockstep", "random:7"])
def test_lines_add_up_to_the_counters(rung, schedule):
    """Whatever the counting observers count, the lines count it too: nothing twice, and nothing lost."""
    ptx = ROOT / "ladder" / "ptx" / f"{rung}.sum.i32.ptx"
    report = inspected(ptx, "--block", 64, "--grid", 3, "--shared", 1024, "--schedule", schedule,
                       "--arg", "i32[700]=iota", "--arg", "u64:0", "--arg", "u64:700", "--arg", "u64:256",
                       "--arg", "i32[3]=zeros", "--arg", "u64:0", "--arg", "i32[1]=zeros", "--arg", "u64:0",
                       "--arg", "u32[1]=zeros")
    assert len(report["lines"]) > 5
    for name in COUNTS:
        assert sum(line[name] for line in report["lines"]) == report["counts"][name], name
    assert max(1, *(line["bank_degree"] for line in report["lines"])) == report["bank_degree"]
    places = [(line["file"], line["line"]) for line in report["lines"]]
    assert places == sorted(set(places))


def test_lines_do_not_depend_on_threads(costs):
    reports = [inspected(costs, *LAUNCH, "--threads", threads)["lines"] for threads in (1, 2, 5)]
    assert reports[0] == reports[1] == reports[2]


def test_without_line_information_the_lines_are_those_of_the_ptx(tmp_path):
    ptx = tmp_path / "race.ptx"
    ptx.write_text(HEAD + kernel("race", [], RACE))
    report = inspected(ptx, "--block", 64, status=3)
    text = ptx.read_text().splitlines()
    executed = [text[line["line"] - 1] for line in report["lines"]]
    assert executed == [line for line in text if re.match(r"(@%p\d )?(mov|setp|bra|st|add|ret)\b", line)]


def test_source_with_heat(costs):
    plain = printed("inspect", costs, *LAUNCH)
    heated = printed("inspect", "--source", costs, *LAUNCH)
    assert heated.startswith(plain)
    rows = heated[len(plain):].splitlines()
    assert rows[1] == str(costs.with_suffix(".cu"))
    shown = {}
    for row in rows[3:]:
        number, text = re.search(r"(\d+) [|!] (.*)$", row).groups()
        shown[int(number)] = (row, text)
    assert [shown[number][1] for number in sorted(shown)] == SOURCE.splitlines()
    assert shown[5][0].split()[:4] == ["12", "25%", "24", "8"]
    assert shown[2][0].split()[0] == "2"
    assert shown[7][0].split()[:4] == ["24", "100%", "48", "192"]


def test_source_marks_findings(tmp_path):
    ptx = tmp_path / "race.ptx"
    ptx.write_text(HEAD + kernel("race", [], RACE))
    done = run("inspect", "--source", ptx, "--block", 64)
    assert done.returncode == 3
    marked = [row for row in done.stdout.splitlines() if " ! " in row]
    assert len(marked) == 1 and marked[0].endswith("st.shared.u32 [%r2], %r3;  <- race")


def test_source_is_for_inspect_only():
    refused(2, "--source", "ladder", "--source")


# ---- whom a race is with ---------------------------------------------------------------------------------


def race_report(tmp_path, **options):
    ptx, page = tmp_path / "race.ptx", tmp_path / "race.html"
    ptx.write_text(HEAD + kernel("race", [], RACE))
    done = run("inspect", ptx, "--block", 64, "--html", page, "--json")
    assert (done.returncode, done.stderr) == (3, "")
    return json.loads(done.stdout), page_data(page), ptx.read_text().splitlines()


def test_a_race_names_both_accesses(tmp_path):
    report, _, text = race_report(tmp_path)
    finding, = report["findings"]
    assert (finding["thread"], finding["other"]["thread"]) == ([32, 0, 0], [0, 0, 0])
    assert finding["other"]["block"] == finding["block"] == [0, 0, 0]
    assert text[finding["ptx_line"] - 1] == "st.shared.u32 [%r2], %r3;"
    assert text[finding["other"]["ptx_line"] - 1] == "st.shared.u32 [%r2], %r1;"
    assert finding["other"]["line"] == finding["other"]["ptx_line"]


def test_other_findings_have_no_other(tmp_path):
    ptx = tmp_path / "bounds.ptx"
    ptx.write_text(HEAD + kernel("bounds", parameters("bounds", "u64"), """
ld.param.u64 %rd1, [bounds_param_0];
ld.global.u32 %r1, [%rd1+64];
ret;
"""))
    finding, = inspected(ptx, "--arg", "i32[16]=zeros", status=3)["findings"]
    assert (finding["kind"], finding["other"]) == ("bounds", None)


# ---- replays ---------------------------------------------------------------------------------------------


def test_a_race_is_replayed_in_both_warps(tmp_path):
    report, data, text = race_report(tmp_path)
    assert {key: data[key] for key in report} == report
    own, other = data["replays"]
    assert (own["warp"], own["is_other"], other["warp"], other["is_other"]) == (1, False, 0, True)
    assert [text[entry["ptx_line"] - 1].split()[0] for entry in other["entries"]] == [
        "mov.u32", "mov.u32", "setp.ne.u32", "@%p1", "st.shared.u32", "setp.ne.u32", "@%p2", "ret;"]
    assert [text[entry["ptx_line"] - 1].split()[0] for entry in own["entries"]] == [
        "mov.u32", "mov.u32", "setp.ne.u32", "@%p1", "setp.ne.u32", "@%p2", "add.u32", "st.shared.u32"]
    times = [entry["time"] for entry in other["entries"] + own["entries"]]
    assert times == list(range(1, 17))


def test_entries_tell_lanes_branches_and_addresses(tmp_path):
    _, data, text = race_report(tmp_path)
    own, other = data["replays"]
    everyone = 2**32 - 1
    parting = other["entries"][3]
    assert (parting["active"], parting["mask"], parting["taken"]) == (everyone, everyone - 1, everyone - 1)
    store = own["entries"][-1]
    assert store["ptx_line"] == data["findings"][0]["ptx_line"]
    assert (store["active"], store["mask"], store["lanes"]) == (1, 1, 1)
    assert (store["space"], store["nbytes"], store["first"]) == ("shared", 4, "0x0")
    assert all("space" not in entry for entry in own["entries"][:-1])


def addresses(entry):
    lanes = [lane for lane in range(32) if entry["lanes"] >> lane & 1]
    if "addresses" in entry:
        return dict(zip(lanes, (int(text, 16) for text in entry["addresses"])))
    return {lane: int(entry["first"], 16) + entry["stride"] * (lane - lanes[0]) for lane in lanes}


def test_uneven_addresses_are_all_told(tmp_path):
    """Lanes square their number for an address, and in the end one reads beyond."""
    ptx, page = tmp_path / "squares.ptx", tmp_path / "squares.html"
    ptx.write_text(HEAD + kernel("squares", parameters("squares", "u64"), """
ld.param.u64 %rd1, [squares_param_0];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd2, %r1, %r1;
shl.b64 %rd3, %rd2, 2;
add.s64 %rd4, %rd1, %rd3;
ld.global.u32 %r2, [%rd4];
mul.wide.u32 %rd5, %r1, 8;
add.s64 %rd6, %rd1, %rd5;
ld.global.u32 %r3, [%rd6];
ld.global.u32 %r4, [%rd4+4];
ret;
"""))
    done = run("inspect", ptx, "--block", 32, "--arg", "i32[963]=zeros", "--html", page)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = run("inspect", ptx, "--block", 32, "--arg", "i32[962]=zeros", "--html", page)
    assert done.returncode == 3
    replay, = page_data(page)["replays"]
    uneven, even = [entry for entry in replay["entries"] if "space" in entry]
    base = addresses(uneven)[0]
    assert ("addresses" in uneven, "addresses" in even, even["stride"]) == (True, False, 8)
    assert addresses(uneven) == {lane: base + 4 * lane * lane for lane in range(32)}
    assert addresses(even) == {lane: base + 8 * lane for lane in range(32)}


def test_only_the_last_200_instructions_are_kept(tmp_path):
    ptx, page = tmp_path / "long.ptx", tmp_path / "long.html"
    ptx.write_text(HEAD + kernel("long", parameters("long", "u64"), """
ld.param.u64 %rd1, [long_param_0];
mov.u32 %r1, 0;
LOOP:
add.u32 %r1, %r1, 1;
setp.lt.u32 %p1, %r1, 1000;
@%p1 bra LOOP;
ld.global.u32 %r2, [%rd1+4];
ret;
"""))
    done = run("inspect", ptx, "--block", 1, "--arg", "i32[1]=zeros", "--html", page)
    assert done.returncode == 3
    replay, = page_data(page)["replays"]
    times = [entry["time"] for entry in replay["entries"]]
    assert times == list(range(3003 - 199, 3004))
    assert replay["entries"][-1]["ptx_line"] == page_data(page)["findings"][0]["ptx_line"]


# ---- the page's file -------------------------------------------------------------------------------------


def test_page_has_sources_and_ptx(costs, tmp_path):
    page = tmp_path / "costs.html"
    done = run("inspect", costs, *LAUNCH, "--html", page)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    data = page_data(page)
    assert data["sources"] == [{"file": str(costs.with_suffix(".cu")), "text": SOURCE}]
    assert data["ptx"] == costs.read_text()
    assert data["replays"] == [] and data["findings"] == []
    for name in COUNTS:
        assert sum(place[name] for place in data["instruction_list"]) == data["counts"][name], name


def test_page_without_its_source(costs, tmp_path):
    costs.with_suffix(".cu").unlink()
    page = tmp_path / "costs.html"
    assert run("inspect", costs, *LAUNCH, "--html", page).returncode == 0
    assert page_data(page)["sources"] == [{"file": str(costs.with_suffix(".cu")), "text": None}]


def test_page_that_cannot_be_written(costs, tmp_path):
    page = tmp_path / "none" / "page.html"
    refused(1, str(page), "inspect", costs, *LAUNCH, "--html", page)


def test_source_text_cannot_end_the_script(costs, tmp_path):
    costs.with_suffix(".cu").write_text(SOURCE.replace("Not compiled", "</script><!--"))
    page = tmp_path / "costs.html"
    assert run("inspect", costs, *LAUNCH, "--html", page).returncode == 0
    assert "</script><!--" in page_data(page)["sources"][0]["text"]


def test_ptx_with_a_nul_is_not_cut_short(costs):
    costs.write_bytes(costs.read_bytes() + b"\0junk")
    refused(1, [str(costs), "not a text file"], "inspect", costs, *LAUNCH)
