"""warpfold explain: one block of a rung, step by step, counted and predicted, in words and as JSON."""

import functools
import json
import os
import pty
import random
import re
import struct
import subprocess

import pytest

from cli_helpers import CLI, ROOT, TIMEOUT_SECONDS, printed, refused, run

SHARED = ["03", "04", "05", "06", "07", "09", "10", "11"]  # whose tree is in shared memory, for any warp
WARPS_OF_32 = ["08", "12", "13", "14", "15"]
TREES = ["01", "02"] + SHARED + WARPS_OF_32
ONE_ELEMENT = {"04", "05", "06", "11"}  # for each thread of a full block
TALLY = ["active_lanes", "warps", "divergent_warps", "global_requests", "shared_wavefronts", "bank_degree"]
PICTURE = "3,1,7,0,4,1,6,3"
# The line of rung 05 that combines.
SOURCE_05 = (ROOT / "ladder" / "05_interleaved_strided.cu").read_text().splitlines()
COMBINE_05 = next(number for number, line in enumerate(SOURCE_05, 1) if line.endswith("// combine"))


def explain(*arguments):
    return json.loads(printed("explain", *arguments, "--json"))


def column(told, name, of="steps"):
    return [step[name] for step in told[of]]


def powers(rung):
    """Every power of two that one block holds, from 2."""
    greatest = {"10": 13, "13": 12, "14": 12, "15": 12}.get(rung, 10 if rung in ONE_ELEMENT or rung == "12" else 11)
    return [2**k for k in range(1, greatest + 1)]


def check_prediction(told):
    """All that is predicted is what was counted."""
    predicted = dict(told["predicted"])
    outside = predicted.pop("outside", {})
    steps = predicted.pop("steps", None)
    assert {name: told["total"][name] for name in predicted} == predicted
    assert {name: told["outside"][name] for name in outside} == outside
    if steps is not None:
        assert len(told["steps"]) == len(steps)
        for counted, closed in zip(told["steps"], steps):
            assert {name: counted[name] for name in closed} == closed


def elements(symbol):
    return sorted(int(number) for number in re.findall(r"a(\d+)", symbol))


def replay(told):
    """The cells after each step, from those at the start and the combines; for trees that stay in one place."""
    cells = list(zip(told["start"]["values"], told["start"]["symbols"]))
    after = []
    for step in told["steps"]:
        for combine in step["combines"]:
            cells[combine["target"]] = (combine["value"], combine["symbol"])
        after.append(list(cells))
    return after


# ---- what the design counts --------------------------------------------------------------------------


@pytest.mark.parametrize("rung, count, requests", [("01", 256, 141), ("02", 256, 36), ("01", 2048, 1149),
                                                   ("02", 2048, 204)])
def test_global_requests_in_place(rung, count, requests):
    told = explain(rung, "-n", count)
    assert told["total"]["global_requests"] == requests
    assert told["outside"]["global_requests"] == 2  # *out = in[0]
    assert told["block"] == count // 2


def test_global_requests_of_adding_on_load():
    told = explain("07", "-n", 256)
    assert told["total"]["global_requests"] == 0
    assert told["outside"]["global_requests"] == 8 + 1


@pytest.mark.parametrize("rung, diverging", [("01", [0, 16, 16, 16, 16, 16, 8, 4, 2, 1]),
                                             ("02", [0, 0, 0, 0, 0, 1, 1, 1, 1, 1])])
def test_divergent_warps(rung, diverging):
    assert column(explain(rung, "-n", 1024), "divergent_warps") == diverging


@pytest.mark.parametrize("rung, degrees", [("05", [2, 4, 8, 16, 32, 16, 8, 4, 2, 1]), ("04", [1] * 10),
                                           ("06", [1] * 10)])
def test_bank_degrees(rung, degrees):
    assert column(explain(rung, "-n", 1024), "bank_degree") == degrees


@pytest.mark.parametrize("rung, lane_steps", [("01", 864), ("02", 384)])
def test_utilization(rung, lane_steps):
    total = explain(rung, "-n", 256)["total"]
    assert (total["active_lanes"], total["lane_steps"]) == (255, lane_steps)
    assert total["utilization"] == 255 / lane_steps


@pytest.mark.parametrize("rung, wavefronts", [("04", [24, 24, 24, 24, 24, 12, 6, 3]),
                                              ("05", [24, 24, 24, 24, 24, 12, 6, 3]),
                                              ("06", [12, 6, 3, 3, 3, 3, 3, 3])])
def test_shared_wavefronts(rung, wavefronts):
    assert column(explain(rung, "-n", 256), "shared_wavefronts") == wavefronts


def test_average_parallelism():
    told = explain("02", "-n", 1024)
    assert told["total"]["step_count"] == 10
    assert told["total"]["average_parallelism"] == 1023 / 10


def test_coarsening_takes_fewer_steps():
    page = printed("explain", "10", "-n", 64)
    assert "A thread adds 8 elements in 7 steps before the tree: 7 + 3 = 10 steps; 4 blocks of" in page
    assert "rung 09 one after the other take 4 x (1 + 3) = 16." in page


def test_conflicting_threads():
    told = explain("05", "-n", 1024)
    assert column(told, "conflict")[:3] == [[0, 16], [0, 8, 16, 24], list(range(0, 32, 4))]
    assert column(told, "conflict")[4] == list(range(32))
    assert column(told, "conflict")[-1] == []


def test_atomics():
    assert explain("00", "-n", 100)["total"]["atomics"] == 100
    assert explain("09", "-n", 100)["total"]["atomics"] == 1
    assert explain("06", "-n", 100)["total"]["atomics"] == 0


def test_adding_on_load_leaves_room_for_more_blocks():
    baseline, on_load = explain("06", "-n", 512)["total"], explain("07", "-n", 512)["total"]
    assert on_load["shared_nbytes"] == baseline["shared_nbytes"] / 2 == 1024
    assert (baseline["resident_blocks"], on_load["resident_blocks"]) == (4, 8)


# ---- the closed forms --------------------------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize("rung", TREES)
def test_closed_forms_at_every_power_of_two(rung):
    for count in powers(rung):
        told = explain(rung, "-n", count)
        check_prediction(told)
        assert {"steps", "lane_steps", "barriers", "atomics", "races", "occupancy"} <= set(told["predicted"])
        assert told["total"]["races"] == 0


@pytest.mark.sampled
@pytest.mark.parametrize("rung", ["01", "02"] + SHARED)
@pytest.mark.parametrize("warp, banks", [(2, 2), (2, 8), (8, 32), (32, 2), (1, 1), (16, 4)])
def test_closed_forms_at_other_machines(rung, warp, banks):
    for count in (8, 64, 512):
        told = explain(rung, "-n", count, "--warp", warp, "--banks", banks)
        assert (told["warp"], told["banks"]) == (warp, banks)
        check_prediction(told)


@pytest.mark.parametrize("rung", SHARED + WARPS_OF_32)
def test_closed_forms_of_argmax(rung):
    for count in (64, 1024):
        told = explain(rung, "-n", count, "--op", "argmax", "--type", "f32")
        check_prediction(told)
        assert told["result"] == 7 and told["index"] == 2


@pytest.mark.parametrize("rung", ["04", "05", "06", "11"])
def test_closed_forms_with_padding(rung):
    told = explain(rung, "-n", 100)
    assert told["block"] == 128
    assert "steps" in told["predicted"] and "outside" not in told["predicted"]
    check_prediction(told)


def test_no_closed_form_in_place_of_a_part_of_a_tile():
    told = explain("01", "-n", 100)
    assert "active_lanes" not in told["predicted"]
    assert told["total"]["active_lanes"] == 99
    assert "The closed forms assume a full tile, here 128 elements." in printed("explain", "01", "-n", 100)


def test_lanes_apart_differ_from_the_closed_forms_and_say_so():
    told = explain("06", "-n", 64, "--schedule", "split")
    assert told["total"]["shared_wavefronts"] > told["predicted"]["shared_wavefronts"]
    assert told["result"] == explain("06", "-n", 64)["result"]
    page = printed("explain", "06", "-n", 64, "--schedule", "split")
    assert "under this schedule they ran\n  apart." in page


# ---- what it tells -----------------------------------------------------------------------------------


@pytest.mark.parametrize("rung", ["00"] + TREES)
def test_total_is_the_sum_of_the_steps(rung):
    told = explain(rung, "-n", 64)
    for name in TALLY[:-1]:
        assert told["total"][name] == sum(column(told, name)), name
    assert told["total"]["bank_degree"] == max(column(told, "bank_degree"))
    assert told["total"]["lane_steps"] == 32 * told["total"]["warps"]
    assert set(TALLY) <= set(told["outside"])
    for step in told["steps"]:
        assert sum(bin(lanes).count("1") for lanes in step["active"]) == step["active_lanes"]


@pytest.mark.sampled
@pytest.mark.parametrize("rung", ["00"] + TREES)
@pytest.mark.parametrize("count", [1, 2, 5, 33, 64, 100])
def test_every_element_is_in_the_result_once(rung, count):
    values = [(7 * i + 3) % 23 - 11 for i in range(count)]
    text = ",".join(map(str, values))
    total = explain(rung, "--values", text)
    assert (total["n"], total["result"]) == (count, sum(values))
    assert elements(total["symbol"]) == list(range(count))
    greatest = explain(rung, "--values", text, "--op", "max")
    assert greatest["result"] == max(values)
    assert elements(greatest["symbol"]) == list(range(count))


@pytest.mark.parametrize("rung", ["01", "02"] + SHARED + WARPS_OF_32)
def test_values_add_up_as_the_symbols_say(rung):
    values = [int(value) for value in PICTURE.split(",")] * 4
    told = explain(rung, "--values", ",".join(map(str, values)))
    for step in told["steps"]:
        for combine in step["combines"]:
            assert combine["symbol"] or step["store"] == "registers"  # what nobody uses
            if combine["symbol"]:
                assert combine["value"] == sum(values[i] for i in elements(combine["symbol"]))
    last = [combine for combine in told["steps"][-1]["combines"] if combine["thread"] == 0]
    assert (last[0]["value"], last[0]["symbol"]) == (told["result"], told["symbol"])


@pytest.mark.parametrize("type_name, values, result", [("f32", "0.5,0.25,1e3", 1000.75), ("i32", "-3,2", -1),
                                                       ("f32", "inf,-inf", "nan"), ("i32", " 1 , 2 ", 3)])
def test_values(type_name, values, result):
    assert explain("06", "--type", type_name, "--values", values)["result"] == result


def bits(mask):
    return [lane for lane in range(32) if mask >> lane & 1]


@pytest.mark.parametrize("rung", ["00"] + TREES)
def test_accesses_add_up_to_the_counts(rung):
    told = explain(rung, "-n", 64)
    for part in told["steps"] + [told["outside"]]:
        for access in part["accesses"]:
            if access["space"] == "shared":
                assert sorted({lane for lane, _, _ in access["words"]}) == bits(access["lanes"])
                assert max(wavefront for _, _, wavefront in access["words"]) + 1 == access["wavefronts"]
            else:
                assert len(access["offsets"]) == len(bits(access["lanes"]))
                touched = {(offset + k) // 128 for offset in access["offsets"] for k in range(access["nbytes"])}
                assert len(touched) == access["requests"]
                sectors = {(offset + k) // 32 for offset in access["offsets"] for k in range(access["nbytes"])}
                assert len(sectors) == access["sectors"]
        assert sum(access.get("wavefronts", 0) for access in part["accesses"]) == part["shared_wavefronts"]
        assert sum(access.get("requests", 0) for access in part["accesses"]) == part["global_requests"]
        degrees = [access["wavefronts"] / access["least"] for access in part["accesses"] if "words" in access]
        assert max(degrees, default=1) == part["bank_degree"]


@pytest.mark.parametrize("type_name, warp, banks", [("f32", 32, 32), ("i32", 8, 4), ("i32", 32, 2)])
def test_a_bank_gives_one_word_at_a_time(type_name, warp, banks):
    for step in explain("05", "-n", 128, "--type", type_name, "--warp", warp, "--banks", banks)["steps"]:
        for access in step["accesses"]:
            given = {}
            for _, word, wavefront in access["words"]:
                assert given.setdefault((word % banks, wavefront), word) == word


@pytest.mark.parametrize("rung", ["00"] + TREES)
def test_lines_add_up_to_the_counts(rung):
    told = explain(rung, "-n", 128)
    for part in told["steps"] + [told["outside"]]:
        assert sum(line["shared_wavefronts"] for line in part["lines"]) == part["shared_wavefronts"]
        assert sum(line["global_requests"] for line in part["lines"]) == part["global_requests"]
        for line in part["lines"]:
            assert 0 <= line["thread_instructions"] <= told["warp"] * line["instructions"]
    for step in told["steps"]:
        assert step["line"] in [line["line"] for line in step["lines"]]
        assert step["divergent_warps"] == len(step["diverged"])
        parted = sum(line["divergent_branches"] for line in step["lines"])
        assert parted >= step["divergent_warps"]


@pytest.mark.parametrize("rung", TREES)
def test_changes_and_combines_tell_all_cells(rung):
    """Whoever applies them in order has the result where the last step made it."""
    told = explain(rung, "-n", 128)
    cells, store = dict(enumerate(told["start"]["values"])), told["start"]["store"]
    for step in told["steps"]:
        cells = cells if step["store"] == store else {}
        store = step["store"]
        cells.update((change["cell"], change["value"]) for change in step["before"])
        for combine in step["combines"]:
            taken = [cells[combine["target"]]] + [cells[source] for source in combine["sources"]]
            assert sum(taken) == combine["value"] or store == "registers"
        for combine in step["combines"]:
            cells[combine["target"]] = combine["value"]
        cells.update((change["cell"], change["value"]) for change in step["after"])
    assert cells[0] == told["result"]


@pytest.mark.parametrize("rung, kernels", [
    ("02", {"convergent_stride": (128, 256)}),
    ("05", {"strided_guard": (30, 128)}),
    ("06", {}),
    ("08", {"last_warp_unsynchronised": (2940, 32640), "last_warp_of_32": (None, 2016)}),
    ("11", {"final_pass": (256, 300)}),
])
def test_kernels_as_printed_go_wrong(rung, kernels):
    wrong = {run["kernel"]: run for run in explain(rung)["wrong"]}
    assert {name: (run["result"], run["right"]) for name, run in wrong.items()} == kernels
    for run in wrong.values():
        assert sum(run["input"]) == run["right"] and len(run["input"]) == run["n"]
        for finding in run["findings"]:
            assert "// here" in run["source"].splitlines()[finding["line"] - 1]


def test_steps_of_a_wrong_guard():
    wrong, = explain("05")["wrong"]
    steps = [phase for phase in wrong["phases"] if phase["combines"]]
    assert [len(step["stores"]) for step in steps] == [64, 16, 4, 1, 1, 1, 1]
    assert wrong["right_active_lanes"] == [64, 32, 16, 8, 4, 2, 1]
    assert [step["stores"][0]["value"] for step in steps][-1] == wrong["result"]


def test_pictures_of_the_programming_note():
    """Eight threads, warps of two lanes."""
    baseline = replay(explain("04", "--values", PICTURE, "--warp", 2, "--banks", 8))
    assert [symbol for _, symbol in baseline[0]] == ["a0+a1", "a1", "a2+a3", "a3", "a4+a5", "a5", "a6+a7", "a7"]
    assert [symbol for _, symbol in baseline[1]] == [
        "a0+a1+a2+a3", "a1", "a2+a3", "a3", "a4+a5+a6+a7", "a5", "a6+a7", "a7"]
    assert [value for value, _ in baseline[2]] == [25, 1, 7, 0, 14, 1, 9, 3]
    sequential = replay(explain("06", "--values", PICTURE, "--warp", 2, "--banks", 2))
    assert [symbol for _, symbol in sequential[0]] == ["a0+a4", "a1+a5", "a2+a6", "a3+a7", "a4", "a5", "a6", "a7"]
    assert [symbol for _, symbol in sequential[2]][0] == "a0+a4+a2+a6+a1+a5+a3+a7"
    on_load = explain("07", "--values", PICTURE, "--warp", 2)
    assert on_load["start"]["symbols"] == ["a0+a4", "a1+a5", "a2+a6", "a3+a7"]


def test_picture_of_two_way_conflicts():
    """Parallel patterns, step 2: eight threads of one warp and eight banks, 16 elements."""
    told = explain("05", "-n", 16, "--block", 16, "--warp", 8, "--banks", 8)
    first = told["steps"][0]
    assert [(combine["thread"], combine["target"], combine["sources"]) for combine in first["combines"]] == [
        (t, 2 * t, [2 * t + 1]) for t in range(8)]
    assert first["bank_degree"] == 2 and first["conflict"] == [0, 4]
    assert [combine["sources"] for combine in explain("06", "-n", 16)["steps"][0]["combines"]] == [
        [t + 8] for t in range(8)]


def test_shuffles_and_reductions_of_warps():
    shuffled = explain("12", "-n", 64)
    assert column(shuffled, "active_lanes") == [64] * 5 + [32]
    assert [combine["sources"] for combine in shuffled["steps"][0]["combines"]][:2] == [[16], [17]]
    reduced = explain("15", "-n", 128)
    assert reduced["steps"][0]["combines"][0]["sources"] == list(range(1, 32))


# ---- without options: the rung's own picture -----------------------------------------------------------


def test_rungs_beside_each_other_differ_at_first_sight():
    """Divergence, then conflicts, then neither; a tree in place, and one in which whole warps rest."""
    modulo, strided, sequential = (explain(rung) for rung in ("04", "05", "06"))
    assert (modulo["warp"], modulo["banks"], modulo["n"], modulo["block"]) == (4, 4, 16, 16)
    assert column(modulo, "divergent_warps") == [4, 4, 2, 1] and column(modulo, "bank_degree") == [1] * 4
    assert column(strided, "divergent_warps") == [0, 0, 1, 1] and column(strided, "bank_degree") == [2, 4, 2, 1]
    assert column(sequential, "divergent_warps") == [0, 0, 1, 1] and column(sequential, "bank_degree") == [1] * 4
    in_place, convergent = explain("01"), explain("02")
    assert column(in_place, "divergent_warps") == [0, 2, 2, 1] and column(convergent, "divergent_warps") == [0, 0, 1, 1]


@pytest.mark.parametrize("rung", ["00"] + TREES + ["17"])
def test_a_rung_has_a_picture_and_a_line_as_a_textbook_has_it(rung):
    source, = (ROOT / "ladder").glob(f"{rung}_*.cu")
    options = re.search(r"^// Explain: (.+)$", source.read_text(), re.MULTILINE)[1].split()
    textbook = re.search(r"^// Textbook: (.+)$", source.read_text(), re.MULTILINE)[1]
    told, same = explain(rung), explain(rung, *options)
    assert told.pop("is_picture") and not same.pop("is_picture") and told == same
    assert told["textbook"] == textbook and f"as a textbook has it: {textbook}" in printed("explain", rung).splitlines()
    if rung != "17":
        assert explain(rung, "--op", "max")["textbook"] == ""
    warps = -(-told["block"] // told["warp"])
    assert warps > 1, "one warp shows nothing of divergence"


def test_a_textbooks_lines_are_what_a_rung_teaches():
    """Not those of the rung before it, with which it is compared; and with the warp's barrier, where the tree has one."""
    sources = [path.read_text() for path in sorted((ROOT / "ladder").glob("[0-9]*.cu"))]
    lines = [re.search(r"^// Textbook: (.+)$", source, re.MULTILINE)[1] for source in sources]
    assert ["__syncwarp();" in line for line in lines] == ["__syncwarp();" in source[source.index("\n#include"):] for source in sources]
    assert len(lines) == 18 and all(line != before for line, before in zip(lines[1:], lines))


def test_partial_sums_of_the_pictures_differ():
    """No two threads store the same value in a step: who reads them sees which is whose."""
    for rung in ("01", "02", "03", "04", "05", "06", "07", "09"):
        for step in explain(rung)["steps"]:
            values = [combine["value"] for combine in step["combines"]]
            assert len(set(values)) == len(values), rung


@pytest.mark.parametrize("options", [["-n", 16], ["--warp", 32], ["--banks", 32], ["--block", 16], ["--values", PICTURE]])
def test_any_option_of_the_machine_leaves_the_picture(options):
    told = explain("05", *options)
    assert not told["is_picture"] and (told["warp"], told["banks"]) == (32, 32)
    assert told["n"] == (8 if "--values" in options else 16)


# ---- the page ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", sorted((ROOT / "ladder").glob("[0-9]*.cu")), ids=lambda source: source.name[:2])
def test_page_begins_with_the_idea_what_it_fixes_and_what_it_costs(source):
    """Whole, as the first comment has them, each on its own line."""
    comment = re.sub(r"^// ?", "", source.read_text().split("\n\n#include")[0], flags=re.MULTILINE)
    idea = comment.split("\n\n")[1]
    fixes, costs = (re.search(rf"^{name}.*(?:\n  .*)*", comment, re.MULTILINE)[0] for name in ("Fixes", "Still costs"))
    head = printed("explain", source.name[:2]).split("\n\n")[0].splitlines()
    told = [" ".join(part.split()) for part in (idea, fixes, costs)]
    assert head[0].startswith(source.stem) and " ".join(head[1:]) == " ".join(told)
    begins = [" ".join(head[1:][:i]) for i in range(len(head))]
    assert " ".join(told[:1]) in begins and " ".join(told[:2]) in begins and max(map(len, head)) <= 100


@pytest.mark.parametrize("rung", ["13", "16"])
def test_what_is_said_of_a_tree_that_is_too_wide_helps(rung, tmp_path):
    said = printed("explain", rung).split("\nthe tree\n")[1].splitlines()[0]
    assert said == "  too wide to draw here: try a smaller -n, or --html FILE"
    assert printed("explain", rung, "-n", 64).split("\nthe tree\n")[1].splitlines()[1].startswith("step 1 ")


def test_page():
    page = printed("explain", "05", "--values", PICTURE, "--warp", 8, "--banks", 4)
    for line in (
            "sum of 8 i32 in a block of 8 threads, warps of 8 lanes, 4 banks",
            "step 1 of 3",
            "  if (index < blockDim.x)",
            "    yes: threads 0-3",
            "    no:  threads 4-7",
            "  Thread 0: shared[0] += shared[1]  banks 0, 1 -> 4",
            "  Thread 3: shared[6] += shared[7]  banks 2, 3 -> 9",
            "  warp 0    ####....  4 of 8",
            "  4 of 8 lanes active in 1 working warp, 1 warp diverges, 6 shared wavefronts, bank degree 2",
            "  bank conflict: threads 0, 2 access different words of one bank (predicted: 2, each 2 apart)",
            f"  lanes of warp 0 at the banks, load of line {COMBINE_05}: 2 wavefronts",
            "  bank          0  1  2  3",
            "  wavefront 1   .  0  .  1",
            "  wavefront 2   .  2  .  3",
            "  shared    [4, 1, 7, 0, 5, 1, 9, 3]",
            "  symbols   [a0+a1, a1, a2+a3, a3, a4+a5, a5, a6+a7, a7]",
            "    yes: thread 0",
            "    no:  threads 1-7",
            "step 2      +<------+       +<------+",
            "result 25 = a0+a1+a2+a3+a4+a5+a6+a7",
            "  lanes used                           7/24 = 29.2 % (7/24 = 29.2 %)",
            "  races                                0 (0)",
    ):
        assert line in page.splitlines(), line
    assert "As printed it sums 128 ones to 30." in page
    assert "\033" not in page


@pytest.mark.parametrize("threads, said", [
    (8, {"0, 2, 4, 6", "0, 4", "1-3, 5-7"}), (16, {"0, 2, 4 ... 14", "0, 4, 8, 12", "0, 8"})])
def test_dots_between_threads_stand_for_some(threads, said):
    lines = printed("explain", "04", "-n", threads, "--block", threads).splitlines()
    assert said <= {re.split("threads? ", line)[1] for line in lines if re.match("    (yes|no): ", line)}


def test_banks_are_drawn():
    page = printed("explain", "05", "-n", 1024)
    step = page.split("\nstep 5 of 10\n")[1].split("\nstep 6 of 10\n")[0].splitlines()
    at = step.index(f"  lanes of warp 0 at the banks, load of line {COMBINE_05}: 32 wavefronts")
    assert step[at + 1].split() == ["bank"] + [str(bank) for bank in range(32)]
    for wavefront, row in enumerate(step[at + 2:at + 10], 1):
        assert row.split()[1:] == [str(wavefront)] + ["."] * 16 + [str(wavefront - 1)] + ["."] * 15
    assert step[at + 10] == "  ... 24 more wavefronts"
    assert "at the banks" not in printed("explain", "01")


def test_registers_are_shown_until_the_barrier():
    page = printed("explain", "12", "-n", 64)
    step = page.split("\nstep 5 of 6\n")[1].split("\nstep 6 of 6\n")[0]
    total = sum(explain("12", "-n", 64)["input"][:32])
    assert f"registers [{total}, ., ., " in step


def test_tree_is_drawn():
    page = printed("explain", "06", "--values", PICTURE)
    assert page.split("\nthe tree\n")[1].startswith(
        "            3   1   7   0   4   1   6   3\n"
        "step 1      +<--------------+   |   |   |\n"
        "            |   +<--------------+   |   |\n"
        "            |   |   +<--------------+   |\n"
        "            |   |   |   +<--------------+\n"
        "            7   2  13   3\n"
        "step 2      +<------+   |\n"
        "            |   +<------+\n"
        "           20   5\n"
        "step 3      +<--+\n"
        "           25\n")


@pytest.mark.parametrize("rung, line", [
    ("01", "  Thread 0: input[0] += input[1]  lines 0, 0 -> 4"),
    ("12", "  Thread 0: value += thread 16's -> 4"),
    ("15", "  Thread 0: value += thread 1's ... thread 31's -> 109"),
    ("00", "  Thread 2: result += its value -> 11"),
])
def test_page_names_the_places(rung, line):
    assert line in printed("explain", rung, "-n", 32).splitlines()


def test_page_of_other_ops():
    assert "  Thread 0: shared[0] = max(shared[0], shared[4])  banks 0, 4 -> 4" in printed(
        "explain", "06", "--values", PICTURE, "--op", "max").splitlines()
    page = printed("explain", "06", "--values", PICTURE, "--op", "argmax")
    assert "result 7 at index 2 = argmax(a0, a4, a2, a6, a1, a5, a3, a7)" in page


def test_types_and_ops_that_are_not_built_in():
    """They need a compiler."""
    if run("explain", "06", "--op", "prod").returncode == 1:
        pytest.skip("no NVRTC")
    told = explain("09", "--values", "2,3,4,5", "--op", "prod", "--type", "f64")
    assert (told["result"], told["symbol"]) == (120, "a0*a2*a1*a3")
    check_prediction(told)
    page = printed("explain", "06", "--values", PICTURE, "--op", "prod")
    assert "  Thread 0: shared[0] *= shared[4]  banks 0, 4 -> 12" in page.splitlines()
    for type_name in ("i64", "f64"):  # half a warp at a time
        for rung in ("03", "05", "06"):
            check_prediction(explain(rung, "-n", 512, "--type", type_name))


def test_long_blocks_are_abbreviated_and_say_so():
    page = printed("explain", "06", "-n", 1024)
    assert "  ... and 496 more threads" in page
    assert "... 992 more]" in page
    assert "  ... 24 more warps, 8 of them with active lanes" in page
    assert "\nthe tree\n  too wide to draw here: try a smaller -n, or --html FILE\n" in page
    assert len(page.splitlines()) < 400


@pytest.mark.parametrize("rung, words", [("01", "255/864"), ("02", "256 ones to 128"), ("05", "N+32 should be N+24"),
                                         ("08", "automatically synchronised"), ("07", "overlaps its segments"),
                                         ("11", "above 256 blocks")])
def test_printed_errors(rung, words):
    assert words in " ".join(printed("explain", rung).split())
    assert any(words in error for error in explain(rung)["printed_errors"])


def test_colour_on_a_terminal_only():

    def on_terminal(**environment):
        master, slave = pty.openpty()
        try:
            subprocess.run([CLI, "explain", "05"], stdout=slave, check=True, timeout=TIMEOUT_SECONDS,
                           env={**{name: value for name, value in os.environ.items() if name != "NO_COLOR"},
                                **environment})
            os.set_blocking(master, False)
            return os.read(master, 1 << 20)
        finally:
            os.close(master)
            os.close(slave)

    assert b"\033[" in on_terminal()
    assert b"\033[" not in on_terminal(NO_COLOR="1")


def test_names_of_rungs():
    for name in ("5", "05", "interleaved_strided", "05_interleaved_strided"):
        assert explain(name)["rung"] == "05_interleaved_strided"


# ---- what is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize("said, arguments", [
    ("unknown rung '99'", ["99"]),
    ("unknown rung 'wrong/missing_loop_barrier'", ["wrong/missing_loop_barrier"]),
    ("takes at most 1024 elements, not 1025", ["06", "-n", 1025]),
    ("takes at most 2048 elements, not 4096", ["01", "-n", 4096]),
    ("of that size takes at most 64 elements, not 65", ["07", "-n", 65, "--block", 32]),
    ("do not fit one block", ["06", "-n", 10**12]),
    ("--warp", ["06", "--warp", 3]),
    ("--banks", ["06", "--banks", 64]),
    ("12_warp_shuffle needs warps of 32 lanes", ["12", "--warp", 8]),
    ("--block 48", ["06", "--block", 48]),
    ("--block 8,8", ["06", "--block", "8,8"]),
    ("--block 16: this rung takes a power of two from 32 to 1024 threads", ["12", "--block", 16]),
    ("--values: 'x' is not a valid i32", ["06", "--values", "1,x"]),
    ("--values: '' is not a valid i32", ["06", "--values", "1,,2"]),
    ("--values: '3000000000' is not a valid i32", ["06", "--values", "3000000000"]),
    ("--values has 2 elements, but -n is 3", ["06", "--values", "1,2", "-n", 3]),
    ("01_in_place_strided has no argmax", ["01", "--op", "argmax"]),
    ("--op: unknown op 'nonsense'", ["06", "--op", "nonsense"]),
    ("--schedule takes lockstep, split or random:SEED, not 'sideways'", ["06", "--schedule", "sideways"]),
])
def test_refused(said, arguments):
    refused(2, said, "explain", *arguments)


# ---- rung 16: bulk copies and a cluster


def test_bulk_copies_and_the_cluster():
    """Block 0 of two: what its copies brought is what its threads add; the result is that of both blocks."""
    told = explain("16")
    assert (told["n"], told["block"], told["cluster"]) == (4096, 64, 2)
    assert told["result"] == sum(told["input"])
    assert elements(told["symbol"]) == list(range(2048))  # the stages go round the grid: 2048 each
    assert [(copy["from"], copy["nbytes"]) for copy in told["outside"]["copies"]] == [(0, 8192)]
    assert told["steps"][-1]["combines"][0]["value"] == sum(told["input"][:2048])
    assert replay(told)[-1][0] == (sum(told["input"][:2048]), told["symbol"])
    starts = zip(told["start"]["values"], told["start"]["symbols"])
    assert all(value == sum(told["input"][i] for i in elements(symbol)) for value, symbol in starts)
    check_prediction(told)
    assert "barriers" not in told["predicted"]  # those of the cluster's blocks together have no closed form


@pytest.mark.parametrize("count", [1, 3, 2047, 2049, 9001])
def test_bulk_copies_of_any_count(count):
    told = explain("16", "-n", count)
    assert told["result"] == sum(told["input"]) and told["findings"] == []
    assert sum(copy["nbytes"] for copy in told["outside"]["copies"]) == 4 * sum(
        min(2048, count - at) // 4 * 4 for at in range(0, count, 4096))


def test_bulk_copies_in_words():
    page = printed("explain", "16")
    assert "block 0 of a cluster of 2 such blocks" in page and "one bulk copy of 8192 bytes" in page
    assert "barriers of the whole cluster" in page and "*cluster.map_shared_rank(own, 0) = sum;" in page


# ---- rung 17: integers, rounded once


def nearest(number):
    """The f32 next to it."""
    return struct.unpack("f", struct.pack("f", number))[0]


def add_in_f32(elements):
    return functools.reduce(lambda a, b: nearest(a + b), elements, 0.0)


def add_halves(elements):
    cells = elements + [0.0] * ((1 << (len(elements) - 1).bit_length()) - len(elements))
    while len(cells) > 1:
        cells = [nearest(a + b) for a, b in zip(cells[:len(cells) // 2], cells[len(cells) // 2:])]
    return cells[0]


def check_exact(told):
    """What is printed of an f32 is the shortest decimal that reads back as it."""
    elements, orders = [nearest(element) for element in told["input"]], {name: nearest(order) for name, order in told["orders"].items()}
    assert nearest(told["result"]) == nearest(sum(map(int, elements))) and told["findings"] == []
    assert (orders["forward"], orders["backward"]) == (add_in_f32(elements), add_in_f32(elements[::-1]))
    assert orders["halves"] == add_halves(elements)
    if told["steps"]:
        assert replay(told)[-1][0][0] == sum(map(int, elements)) and told["cells"] == "i32"


def test_the_exact_sum():
    """Its picture: four ways to add eight elements, of which one is right."""
    told = explain("17")
    check_exact(told)
    check_prediction(told)
    assert len({told["result"], *told["orders"].values()}) == 4 and (told["type"], told["cells"]) == ("f32", "i32")
    assert told["orders"]["halves"] == explain("06", "--type", "f32", "--values", "100000000,3,2,-100000000,5,1,7,6")["result"]
    rows = [f"  {words:<36}{sum_}" for words, sum_ in
            [("exact, rounded once", 24), ("in f32, from the first to the last", 19), ("in f32, by halves as in rung 06", 32)]]
    assert set(rows) <= set(printed("explain", "17").splitlines())
    assert explain("06")["orders"] is None


@pytest.mark.parametrize("count", [1, 2, 3, 17, 1025, 5000])
def test_the_exact_sum_of_any_count(count):
    check_exact(explain("17", "-n", count))
    rng = random.Random(count)
    values = [nearest(rng.randrange(-2**31 // count, 2**31 // count) * 0.9 // 1) for _ in range(min(count, 1025))]
    check_exact(explain("17", "--values=" + ",".join(str(int(value)) for value in values)))


@pytest.mark.parametrize("values", ["0.5", "2147483648", "-1e9,1147483647", "nan", "inf"])
def test_what_one_digit_cannot_hold(values):
    refused(2, "its one digit holds whole numbers", "explain", "17", f"--values={values}")
    refused(2, "is explained with f32, not i32", "explain", "17", "--type", "i32")


def test_one_rung_is_needed():
    for operands in ([], ["01", "02"]):
        refused(2, "explain takes one rung, such as 05: 'warpfold ladder' lists them", "explain", *operands)


@pytest.mark.parametrize("source", sorted((ROOT / "ladder").glob("[0-9]*.cu")), ids=lambda source: source.stem)
def test_partial_sums_differ_by_default(source):
    """Or one could not see who adds what; a shuffle's last step gives most lanes what nobody needs."""
    steps, text = json.loads(printed("explain", source.stem[:2], "--json"))["steps"], source.read_text()
    if "// Tree: registers" in text and "// Textbook: sum = __reduce_add_sync" not in text:
        steps = steps[:-1]
    for step in steps:
        values = [combine["value"] for combine in step["combines"]]
        assert 2 * len(set(values)) > len(values) or len(values) > 32
