"""The page of explain in a browser: every control, its pictures and numbers beside the JSON; and how it is written."""

import json
import re
import resource
import signal
from collections import Counter

import pytest

from cli_helpers import ROOT, printed, refused, run
from page_helpers import PHONE, PROJECTOR, browser, is_in_view, is_within_width, numeral, page_data, show, unnamed_controls

assert browser and show  # fixtures

PICTURE = ["--values", "3,1,7,0,4,1,6,3", "--warp", 8, "--banks", 4]
SMALL = {  # rungs of every kind, small enough to be shown at once
    "00": ["-n", 8, "--warp", 4],
    "01": ["-n", 16, "--warp", 4],
    "02": ["-n", 32, "--warp", 8],
    "05": PICTURE,
    "06": ["-n", 16, "--warp", 8, "--op", "max"],
    "07": ["-n", 16, "--warp", 4, "--type", "f32"],
    "10": ["-n", 64, "--warp", 8],
    "12": ["-n", 32],
    "15": ["-n", 128],
}
LARGE = {"01": ["-n", 1024], "05": ["-n", 1024], "08": ["-n", 1024], "12": ["-n", 512]}
TALLY = ["active_lanes", "warps", "divergent_warps", "global_requests", "shared_wavefronts", "bank_degree"]
PAGE_NBYTES_MAX = 2 << 20


def write_page(folder, rung, *options):
    """(the page, what explain says as JSON)."""
    path = folder / f"{rung}.html"
    return path, json.loads(printed("explain", rung, *options, "--html", path, "--json"))


def each_frame(page, frames):
    """Goes to one frame after the other."""
    at = 0
    page.keyboard.press("Home")
    for frame in frames:
        for _ in range(frame - at):
            page.keyboard.press("ArrowRight")
        at = frame
        yield frame


def go_to(page, frame):
    next(each_frame(page, [frame]))


def each_step(page, data):
    """(number, step), each while it is shown."""
    return zip(each_frame(page, range(1, len(data["steps"]) + 1)), data["steps"])


def lanes_of(mask):
    return [lane for lane in range(32) if mask >> lane & 1]


def texts(locator):
    return [text.strip() for text in locator.all_text_contents()]


# ---- rungs beside it


@pytest.mark.parametrize("name, before, following", [("05.html", "04.html", "06.html"),
                                                ("b_05_interleaved_strided.html", "b_04_interleaved_modulo.html",
                                                 "b_06_sequential.html"), ("mine.html", None, None)])
def test_links_to_the_rungs_beside_it(name, before, following, tmp_path, show):
    """By this page's own name; where that has no number, what writes them is told alone."""
    path = tmp_path / name
    assert run("explain", "05", *PICTURE, "--html", path).returncode == 0
    rungs = show(path).get_by_role("navigation", name="Rungs")
    assert texts(rungs.locator("code")) == [f"warpfold explain 04 --html {before or '04.html'}",
                                            f"warpfold explain 06 --html {following or '06.html'}"]
    addresses = [link.get_attribute("href") for link in rungs.get_by_role("link").all()]
    assert addresses == ([before, following] if before else [])
    assert "06 Sequential addressing" in rungs.text_content()


def test_the_first_and_the_last_rung_have_one_neighbour(tmp_path):
    first, last = (json.loads(printed("explain", rung, "--json")) for rung in ("00", "16"))
    assert first["before"] is None and first["next"]["id"].startswith("01_")
    assert last["before"]["id"] == "15_redux" and last["before"]["title"] == "One instruction for a warp"


# ---- rung 16


def test_a_block_of_a_cluster(tmp_path, show):
    path, data = write_page(tmp_path, "16")
    page = show(path, (1440, 900))
    assert "a block of 64 threads, the first of a cluster of 2" in page.locator(".idea").text_content()
    stage = page.locator("svg.stage")
    assert f"one bulk copy: {numeral(data['outside']['copies'][0]['nbytes'])} bytes straight to shared memory" in \
        stage.get_attribute("aria-label").replace(",", "")
    assert stage.get_by_text("1024 elements, 32 for each thread").is_visible()  # those of warp 0
    page.keyboard.press("End")
    assert stage.get_attribute("aria-label").endswith(f"the result is {data['result']}.")
    assert page.get_by_text("barriers, of the whole cluster").count() == 1


# ---- how it is written -------------------------------------------------------------------------------


def test_page_holds_what_json_prints(tmp_path):
    path = tmp_path / "page.html"
    assert printed("explain", "05", "-n", 64, "--html", path) == ""
    text = path.read_text()
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL).group(1)
    assert json.loads(data) == json.loads(printed("explain", "05", "-n", 64, "--json"))
    assert "<" not in data


def test_page_needs_nothing_else(tmp_path):
    text = write_page(tmp_path, "08")[0].read_text()
    assert not re.search(r'(src|href)\s*=\s*"(?!data:|#)', text)
    assert "@import" not in text and "url(h" not in text and "default-src 'none'" in text


@pytest.mark.parametrize("rung", ["01", "05", "08", "12", "15"])
def test_page_of_1024_elements_is_small(rung, tmp_path):
    path = write_page(tmp_path, rung, "-n", 1024)[0]
    assert path.stat().st_size < PAGE_NBYTES_MAX


def test_page_that_cannot_be_written(tmp_path):
    refused(1, "No such file or directory", "explain", "05", "--html", tmp_path / "nowhere" / "page.html")
    refused(1, "Is a directory", "explain", "05", "--html", tmp_path)
    refused(2, "--html takes a file name", "explain", "05", "--html", "-")
    assert list(tmp_path.iterdir()) == []


def test_full_disk_leaves_the_old_page(tmp_path):
    page = tmp_path / "page.html"
    page.write_text("old")

    def limit_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    refused(1, "File too large", "explain", "05", "--html", page, preexec_fn=limit_files)
    assert page.read_text() == "old" and list(tmp_path.iterdir()) == [page]
    refused(1, "No space left on device", "explain", "05", "--html", "/dev/full")


def test_wrong_request_writes_no_page(tmp_path):
    refused(2, "unknown rung '99'", "explain", "99", "--html", tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


# ---- the stage ---------------------------------------------------------------------------------------


def expected_states(data, step):
    """The state of each thread in a step."""
    states = {}
    for thread in range(data["block"]):
        mask = step["active"][thread // data["warp"]]
        active = mask >> thread % data["warp"] & 1
        states[str(thread)] = "active" if active else "waiting" if mask else "idle"
    return states


@pytest.mark.parametrize("rung", SMALL)
def test_stage_shows_every_step(rung, show, tmp_path):
    path, data = write_page(tmp_path, rung, *SMALL[rung])
    page = show(path)
    assert page_data(page) == data
    for index, step in each_step(page, data):
        assert page.locator(".where").first.text_content() == f"Step {index} of {len(data['steps'])}"
        threads = page.locator(".stage .thread")
        shown = {thread.get_attribute("data-thread"): thread.get_attribute("data-state") for thread in threads.all()}
        assert shown == expected_states(data, step)
        drawn = page.locator(".stage .combine").evaluate_all(
            "nodes => nodes.map(node => [Number(node.dataset.thread), Number(node.dataset.target),"
            " node.querySelectorAll('.arrow[marker-end]').length])")
        sources = [0 if step["store"] == "result" else len(combine["sources"]) for combine in step["combines"]]
        assert drawn == [[combine["thread"], combine["target"], count]
                         for combine, count in zip(step["combines"], sources)]
        assert page.locator(".stage .box.made").count() == len({combine["target"] for combine in step["combines"]})
        caption = page.locator(".caption").text_content()
        assert re.match(rf"{step['active_lanes']} of \d+ lanes? active ", caption)
        assert f"{step['divergent_warps'] or 'no'} warp" in caption
        assert all_numbers(caption) == numbers_of_step(data, step), caption
        assert cells_that_lie(page) == where_cells_lie(data, step)


def all_numbers(text):
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]


def numbers_of_step(data, step):
    """Those of a step's sentence, in its order; what is zero is not told."""
    told = [step["active_lanes"], step["warps"] * data["warp"], step["warps"]]
    told += [step[name] for name in ("divergent_warps", "global_requests") if step[name]]
    return told + ([step["shared_wavefronts"], float(numeral(step["bank_degree"]))] if step["shared_wavefronts"] else [])


def test_what_stands_above_bulk_copies_and_a_cluster(show, tmp_path):
    path, data = write_page(tmp_path, "16")
    page = show(path)
    copies = data["outside"]["copies"]
    assert copies and page.locator(".caption").text_content() == (
        f"{data['n']} elements; a block of {data['block']} threads, the first of a cluster of {data['cluster']}."
        + "".join(f" Thread {copy['thread']} asks for one bulk copy: {copy['nbytes']} bytes straight to shared memory."
                  for copy in copies))
    page.keyboard.press("End")
    assert page.locator(".caption").text_content() == (
        f"With what the cluster's other blocks wrote into this one's shared memory, the result is {data['result']}.")


@pytest.mark.parametrize("rung, options", [("05", ["-n", 33]), ("00", ["-n", 1]), ("12", ["-n", 40]), ("14", ["-n", 300])])
def test_what_stands_above_the_steps(rung, options, show, tmp_path):
    """The settings, the sentence before the tree and that behind it."""
    path, data = write_page(tmp_path, rung, *options)
    page = show(path)
    told = page.locator(".idea small").text_content()
    assert told.startswith(f"{data['op']} of {data['n']} {data['type']} in a block of {data['block']} thread")
    assert all_numbers(told.replace(data["type"], ""))[:4] == [data["n"], data["block"], data["warp"], data["banks"]]
    assert all_numbers(page.locator(".caption").text_content()) == [data["n"], data["block"]]
    page.keyboard.press("End")
    assert page.locator(".caption").text_content() == f"The block's result is {data['result']}."


def cells_that_lie(page):
    """What stands at the cells under the names bank and sector."""
    return page.locator(".stage").evaluate("""stage => {
        const texts = [...stage.querySelectorAll("text.faint")];
        const name = texts.find(node => ["bank", "sector"].includes(node.textContent));
        return name ? texts.filter(node => node !== name && node.getAttribute("y") === name.getAttribute("y"))
            .map(node => Number(node.textContent)) : null;
    }""")


def where_cells_lie(data, step):
    cells = range(len(data["start"]["values"]))
    first = [data["shared_offset"] + cell * data["element_nbytes"] for cell in cells]
    return {"shared": [byte // 4 % data["banks"] for byte in first],
            "input": [cell * data["element_nbytes"] // 32 for cell in cells]}.get(step["store"])


def cell_values(page, row):
    """The texts of the cells at a height of the stage: 0 above the additions, 1 below."""
    return page.locator(".stage").evaluate_all("""(stages, row) => stages.flatMap(stage => {
        const cells = [...stage.querySelectorAll(".cell")].map(cell => ({
            y: Number(cell.querySelector("rect").getAttribute("y")),
            text: [...cell.querySelectorAll("text:not(.faint)")].map(node => node.textContent).join(" ")}));
        const heights = [...new Set(cells.map(cell => cell.y))].sort((a, b) => a - b);
        return cells.filter(cell => cell.y === heights[row]).map(cell => cell.text);
    })""", row)


def test_cells_show_values_and_symbols(show, tmp_path):
    path, data = write_page(tmp_path, "05", *PICTURE)
    page = show(path)
    go_to(page, 1)
    assert cell_values(page, 0) == ["3", "1", "7", "0", "4", "1", "6", "3"]
    assert cell_values(page, 1) == ["4", "1", "7", "0", "5", "1", "9", "3"]
    page.get_by_role("button", name="Symbols").click()
    assert cell_values(page, 1) == ["a0+ a1", "a1", "a2+ a3", "a3", "a4+ a5", "a5", "a6+ a7", "a7"]
    go_to(page, 3)
    assert cell_values(page, 1)[0] == "Σ a0 …a7"
    page.get_by_role("button", name="Values").click()
    assert cell_values(page, 1)[0] == str(data["result"])
    page.keyboard.press("End")
    assert page.locator(".caption").text_content() == "The block's result is 25."


@pytest.mark.parametrize("rung", ["01", "02", "05", "06", "07", "10"])
def test_steps_go_on_where_the_one_before_ended(rung, show, tmp_path):
    path, data = write_page(tmp_path, rung, *SMALL[rung])
    page = show(path)
    assert {(step["store"], len(step["before"])) for step in data["steps"]} == {(data["start"]["store"], 0)}
    left = None
    for index, _ in each_step(page, data):
        assert index == 1 or cell_values(page, 0) == left
        left = cell_values(page, 1)


def test_loads_before_the_tree(show, tmp_path):
    path, data = write_page(tmp_path, "07", "-n", 16, "--warp", 4)
    page = show(path)
    assert page.locator(".where").first.text_content() == "Before the tree"
    assert page.locator(".stage .reach").count() == page.locator(".stage .arrow").count() == 16
    assert cell_values(page, 1) == [str(value) for value in data["start"]["values"]]


@pytest.mark.parametrize("rung", LARGE)
def test_large_blocks_are_shown_warp_by_warp(rung, show, tmp_path):
    path, data = write_page(tmp_path, rung, *LARGE[rung])
    page = show(path)
    warps = page.get_by_label("Warp shown")
    for index in each_frame(page, (1, len(data["steps"]) // 2, len(data["steps"]))):
        for warp in (0, len(data["steps"][0]["active"]) // 2 - 1, len(data["steps"][0]["active"]) - 1):
            warps.select_option(str(warp))
            combines = [combine for combine in data["steps"][index - 1]["combines"]
                        if combine["thread"] // data["warp"] == warp]
            assert page.locator(".stage .thread").count() == data["warp"]
            assert page.locator(".stage .combine").count() == len(combines)
            assert page.locator(".additions tbody tr").count() == len(combines)


# ---- memory ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rung, options", [("05", PICTURE), ("05", ["-n", 1024]), ("06", ["-n", 64]),
                                           ("01", ["-n", 64]), ("00", ["-n", 40]), ("13", ["-n", 128])])
def test_every_access_is_drawn_as_it_was(rung, options, show, tmp_path):
    path, data = write_page(tmp_path, rung, *options)
    page = show(path)
    for index, step in each_step(page, data):
        if page.get_by_label("Warp shown").count():
            page.get_by_label("Warp shown").select_option("0")
        accesses = [access for access in step["accesses"] if access["warp"] == 0]
        buttons = page.locator(".accesses button")
        assert texts(buttons) == [f"{i} {access['kind']}" for i, access in enumerate(accesses, 1)]
        for button, access in list(zip(buttons.all(), accesses))[:4]:
            button.click()
            (check_banks if access["space"] == "shared" else check_lines)(page, data, access)
            check_sentence(page, data, access)


def test_a_queue_of_atomics_is_looked_at_first(show, tmp_path):
    path, data = write_page(tmp_path, "00")
    page = show(path)
    for _, step in each_step(page, data):
        first = [access["kind"] for access in step["accesses"] if access["warp"] == 0].index("atomic")
        assert page.locator(".accesses button[aria-pressed=true]").text_content() == f"{first + 1} atomic"
        assert page.locator(".sentence").text_content().endswith("one after the other.")


def check_banks(page, data, access):
    drawn = page.locator(".banks .word").evaluate_all(
        "nodes => nodes.map(({dataset}) => [dataset.word, dataset.wavefront, dataset.bank].map(Number))")
    expected = {(word, wavefront, word % data["banks"]) for _, word, wavefront in access["words"]}
    assert sorted(map(tuple, drawn)) == sorted(expected)
    assert len({wavefront for _, wavefront, _ in expected}) == access["wavefronts"]
    lanes = {}
    for lane, word, wavefront in access["words"]:
        lanes.setdefault((word, wavefront), []).append(lane)
    assert sorted(texts(page.locator(".banks .word title"))) == sorted(
        f"bank {word % data['banks']}, wavefront {wavefront + 1}: word {word} for lane {', '.join(map(str, wanting))}"
        for (word, wavefront), wanting in lanes.items())
    active = page.locator(".banks .lane-active").count()
    assert active == len(lanes_of(access["lanes"]))
    is_conflict = access["wavefronts"] > access["least"]
    assert (page.locator(".banks .box.conflict").count() > 0) == is_conflict
    words = page.locator(".panel", has=page.locator(".accesses")).locator("p").first.text_content()
    assert f"{access['wavefronts']} wavefront" in words and ("(conflict)" in words) == is_conflict
    load = Counter(bank for _, _, bank in expected)
    touched = f"Lanes {', '.join(map(str, lanes_of(access['lanes'])))} touch {len(expected)} word{'s' * (len(expected) != 1)} "
    touched += f"in {len(load)} bank{'s' * (len(load) != 1)}; {access['wavefronts']} wavefront{'s' * (access['wavefronts'] != 1)}"
    worst = f"where {access['least']} would do: up to {max(load.values())} words in one bank"
    assert page.locator("svg.banks").get_attribute("aria-label") == f"{touched}, {worst if is_conflict else 'no conflict'}"


def check_sentence(page, data, access):
    """Every number of the sentence follows from the access; and so do the turns beside the cells."""
    words = page.locator(".sentence").text_content()
    about, said = words.split(": ", 1)
    assert about == f"Warp {access['warp']}, line {access['line']}"
    lanes = lanes_of(access["lanes"])
    if access["kind"] == "atomic" and access["space"] == "global" and len(lanes) > 1:
        assert set(access["offsets"]) == {0}
        assert said.endswith(f"change 1 word of the result: {len(lanes)} atomic operations, one after the other.")
        assert numbers(said.split(" change")[0]) == ends(lanes)
        return
    if access["space"] == "global":
        touched = len({offset + k for offset in access["offsets"] for k in range(access["nbytes"])})
        assert numbers(said.split(" touch")[0]) == ends(lanes)
        assert numbers(said.split(" touch")[1]) == [touched, access["requests"], access["sectors"], 32]
        return
    needed = {}
    for lane, word, _ in access["words"]:
        needed.setdefault(word % data["banks"], {}).setdefault(word, lane)
    cost = [access["wavefronts"]]
    if access["wavefronts"] > access["least"]:
        crowded = sorted((bank for bank in needed if len(needed[bank]) > 1), key=lambda bank: (-len(needed[bank]), bank))
        worst = needed[crowded[0]]
        expected = ends(list(worst.values())) + [len(worst)] * (len(worst) > 4) + [crowded[0]] + ends(list(worst))
        expected += cost + [access["least"]] + ends(crowded[1:])
        assert f"this {access['kind']} takes {cost[0]} turns instead of {access['least']}." in said
    else:
        expected = ends(lanes) + [sum(map(len, needed.values())), len(needed)] + cost
    assert numbers(said) == expected, said
    drawn = page.locator(".stage .turn").evaluate_all(
        f"nodes => nodes.map(node => [Number(node.dataset.cell), Number(node.textContent)])")
    offset, nbytes = data["shared_offset"], data["element_nbytes"]
    turns = {((word * 4 - offset) // nbytes, wavefront + 1) for _, word, wavefront in access["words"]}
    assert not drawn or turns <= set(map(tuple, drawn))
    assert bool(page.locator(".stage .turn.clashing").count()) == bool(drawn and len(expected) > 0 and access["wavefronts"] > access["least"])


def numbers(text):
    return [int(number) for number in re.findall(r"\d+", text)]


def ends(values):
    """A list as a sentence tells it: all, or the first two and the last."""
    return values if len(values) <= 4 else [*values[:2], values[-1]]


def check_lines(page, data, access):
    assert page.locator(".lines .line").count() == access["requests"]
    assert page.locator(".lines .sector.fetched").count() == access["sectors"]
    words = {(offset + k) // 4 for offset in access["offsets"] for k in range(0, access["nbytes"], 4)}
    assert page.locator(".lines .touched").count() == len(words)
    lanes = {}
    for lane, offset in zip(lanes_of(access["lanes"]), access["offsets"]):
        for k in range(0, access["nbytes"], 4):
            lanes.setdefault((offset + k) // 4, []).append(lane)
    assert sorted(texts(page.locator(".lines .word title"))) == sorted(
        f"lane {', '.join(map(str, touching))}" for touching in lanes.values())
    drawn = page.locator("svg.lines").get_attribute("aria-label")
    assert drawn == (f"{access['requests']} line{'s' * (access['requests'] != 1)} of 128 bytes, "
                     f"{access['sectors']} sector{'s' * (access['sectors'] != 1)} of 32")


# ---- the source and the counts -----------------------------------------------------------------------


def test_source_shows_what_executes(show, tmp_path):
    path, data = write_page(tmp_path, "05", "-n", 64)
    page = show(path)
    go_to(page, 2)
    step = data["steps"][1]
    now = page.locator(".listing tr.now")
    assert [int(row.get_attribute("data-line")) for row in now.all()] == [step["guard_line"], step["line"]]
    assert "if (index < blockDim.x)" in now.first.text_content()
    for line in step["lines"]:
        check_line(page, line["line"], line)
    page.get_by_role("button", name="the whole run").click()
    total = {}
    for line in [line for step in data["steps"] for line in step["lines"]] + data["outside"]["lines"]:
        for name, count in line.items():
            if name != "line":
                total.setdefault(line["line"], {}).setdefault(name, 0)
                total[line["line"]][name] += count
    for number, line in total.items():
        check_line(page, number, line)
    page.get_by_role("button", name="this step").click()
    check_line(page, step["line"], next(line for line in step["lines"] if line["line"] == step["line"]))


def check_line(page, number, counts):
    names = ["instructions", "thread_instructions", "divergent_branches", "global_requests", "shared_wavefronts"]
    shown = texts(page.locator(f'.listing tr[data-line="{number}"] .count'))
    assert shown == [str(counts[name]) if counts[name] else "" for name in names]


def table_rows(page, caption):
    rows = page.locator("table", has=page.locator("caption", has_text=caption)).locator("tbody tr")
    return [texts(row.locator("th, td")) for row in rows.all()]


def beside(counted, predicted):
    return f"{numeral(counted)} ({numeral(predicted)})"


@pytest.mark.parametrize("rung", ["01", "05", "12"])
def test_counts_beside_predictions(rung, show, tmp_path):
    path, data = write_page(tmp_path, rung, "-n", 128)
    page = show(path)
    rows = table_rows(page, "Each step: counted (predicted)")
    predicted = data["predicted"]["steps"]
    assert len(rows) == len(data["steps"]) + 1
    for row, counted, closed in zip(rows, data["steps"] + [data["total"]], predicted + [data["predicted"]]):
        assert row[1:] == [beside(counted[name], closed[name]) for name in TALLY]
    block = dict(table_rows(page, "The block: counted (predicted)"))
    assert block["barriers"] == beside(data["total"]["barriers"], data["predicted"]["barriers"])
    assert block["share of lanes used"] == beside(data["total"]["utilization"], data["predicted"]["utilization"])
    assert page.locator("td.differs").count() == sum(
        lanes != count for wrong in data["wrong"] for lanes, count in zip_printed(wrong))
    assert page.get_by_text("Each count of the simulator equals its prediction.").is_visible()


def test_counts_that_differ_are_marked_and_explained(show, tmp_path):
    path, data = write_page(tmp_path, "06", "-n", 64, "--schedule", "split")
    page = show(path)
    marked = page.locator("table", has=page.locator("caption", has_text="Each step")).locator("td.differs")
    pairs = list(zip(data["steps"] + [data["total"]], data["predicted"]["steps"] + [data["predicted"]]))
    assert marked.count() == sum(counted[name] != closed[name] for counted, closed in pairs for name in TALLY) > 0
    assert page.get_by_text("under this schedule they ran apart").is_visible()


def test_additions_are_listed(show, tmp_path):
    path, data = write_page(tmp_path, "05", *PICTURE)
    page = show(path)
    go_to(page, 2)
    assert table_rows(page, "Who adds what to what") == [
        ["0", "shared[0] += shared[2]", "11", "a0+a1+a2+a3"], ["1", "shared[4] += shared[6]", "14", "a4+a5+a6+a7"]]


def test_warp_grid_goes_where_it_says(show, tmp_path):
    path, data = write_page(tmp_path, "05", "-n", 256)
    page = show(path)
    warps, steps = len(data["steps"][0]["active"]), len(data["steps"])
    buttons = page.locator(".warps button")
    assert buttons.count() == warps * steps
    for warp in range(warps):
        for index, step in enumerate(data["steps"]):
            text = buttons.nth(warp * steps + index).text_content()
            count = len(lanes_of(step["active"][warp]))
            degree = max([access["wavefronts"] / access["least"] for access in step["accesses"]
                          if access["warp"] == warp and access["space"] == "shared"], default=1)
            assert text == (str(count) + (" div" if warp in step["diverged"] else "")
                            + (f" ×{degree:g}" if degree > 1 else "") if count else "–")
            words = f"step {index + 1}, warp {warp}: {count} active lane{'s' * (count != 1)}" + ", diverges" * (warp in step["diverged"])
            words += f", a bank conflict of degree {degree:g}" if degree > 1 else ""
            assert buttons.nth(warp * steps + index).get_attribute("aria-label") == words
    buttons.nth(2 * steps + 1).click()
    assert page.locator(".where").first.text_content() == "Step 2 of 8"
    assert page.get_by_label("Warp shown").input_value() == "2"
    page.keyboard.press("ArrowDown")
    assert page.get_by_label("Warp shown").input_value() == "3"
    page.keyboard.press("ArrowRight")
    assert page.locator(".where").first.text_content() == "Step 3 of 8"


def test_tree_marks_the_step(show, tmp_path):
    path, data = write_page(tmp_path, "06", "-n", 16)
    page = show(path)
    for index in each_frame(page, range(len(data["steps"]) + 1)):
        assert [row.get_attribute("data-row") for row in page.locator(".tree .row.now").all()] == [str(index)]
    assert texts(page.locator(".tree .row").last.locator("text"))[1] == str(data["result"])
    assert page.locator(".tree").get_attribute("aria-label") == "The tree: 16 partial results become one in 4 steps"
    assert (len(data["start"]["values"]), len(data["steps"])) == (16, 4)


@pytest.mark.parametrize("rung", ["12", "16"])
def test_tree_of_several_warps(rung, show, tmp_path):
    """The last step adds what the warps had made, wherever it was moved to in between; each sum is that of its branches."""
    path, data = write_page(tmp_path, rung)
    rows = show(path).locator(".tree .row")
    *_, (_, made), (branches, last) = [row.evaluate("""row => [
        [...row.querySelectorAll(".branch")].flatMap(path => path.getAttribute("d").match(/M[\\d.]+/g)).map(start => Number(start.slice(1))),
        [...row.querySelectorAll(":scope > g text")].map(text => [Number(text.getAttribute("x")), Number(text.textContent)])]""") for row in rows.all()]
    assert len(made) == data["block"] / data["warp"] == 2
    assert sorted(branches) == [x for x, _ in made]
    assert [value for _, value in last] == [sum(value for _, value in made)] == [data["steps"][-1]["combines"][0]["value"]]


@pytest.mark.parametrize("rung, options, told", [("00", [], "active, idle"), ("02", [], "active, waiting, idle"),
                                                 ("05", [], "active, waiting, idle, bank conflict")])
def test_legend_has_what_is_shown(rung, options, told, show, tmp_path):
    """Of the lanes' states and the conflicts those that some step shows, so that none is looked for in vain."""
    path, data = write_page(tmp_path, rung, *options)
    page = show(path)
    seen = set()
    for _ in each_frame(page, range(len(data["steps"]) + 2)):
        seen |= set(page.evaluate("""() => [...document.querySelectorAll(".thread")].map(node => node.dataset.state)"""))
        seen |= {"bank conflict"} if page.locator(".stage .box.conflict").count() else set()
    names = [text.split(":")[0].split(" while")[0] for text in texts(page.locator(".stage-panel .legend li"))]
    assert ", ".join(name for name in names if name not in ("read", "written")) == told
    assert seen == set(told.split(", "))
    words = page.locator("section", has_text="Which warps work").last.locator("p.faint").text_content()
    assert ("diverges" in words) == any(step["diverged"] for step in data["steps"])
    assert ("bank conflict" in words) == ("bank conflict" in seen)


# ---- what the sources print wrong --------------------------------------------------------------------


def zip_printed(wrong):
    """(right, as printed) for each step of the right tree; there may be fewer printed ones."""
    if wrong["findings"]:
        return []
    printed_lanes = [len({store["thread"] for store in phase["stores"]})
                     for phase in wrong["phases"] if phase["combines"]]
    padded = printed_lanes + ["none"] * len(wrong["right_active_lanes"])
    return list(zip(wrong["right_active_lanes"], padded)) if printed_lanes else []


@pytest.mark.parametrize("rung, kernel, result, right, lanes", [
    ("02", "convergent_stride", 128, 256, [64, 32, 16, 8, 4, 2, 1, "none"]),
    ("05", "strided_guard", 30, 128, [64, 16, 4, 1, 1, 1, 1]),
    ("11", "final_pass", 256, 300, [128, 64, 32, 16, 8, 4, 2, 1]),
])
def test_printed_error_goes_wrong(rung, kernel, result, right, lanes, show, tmp_path):
    path, data = write_page(tmp_path, rung, "-n", 32)
    page = show(path)
    wrong = next(wrong for wrong in data["wrong"] if wrong["kernel"] == kernel)
    assert (wrong["result"], wrong["right"]) == (result, right)
    article = page.locator(f'[data-kernel="{kernel}"]')
    assert article.locator(".outcome").text_content() == f"it gives {result}"
    assert f"right is {right}." in article.text_content()
    shown = [texts(row.locator("td")) for row in article.locator("table:not(.source) tbody tr").all()]
    assert shown == [[str(good), str(bad)] for good, bad in zip(wrong["right_active_lanes"], lanes)]
    combining = [phase for phase in wrong["phases"] if phase["combines"]]
    for step, phase in enumerate(combining):
        assert article.locator(".where").text_content() == f"Step {step + 1} of {len(combining)}"
        assert article.locator(".box.made").count() == len({store["cell"] for store in phase["stores"]})
        written = dict.fromkeys(str(store["cell"]) for store in phase["stores"])
        assert article.locator(".wrong-cells").get_attribute("aria-label") == f"cells {', '.join(written)} are written"
        threads = len({store["thread"] for store in phase["stores"]})
        assert f"Cells after it; {threads} thread{'s' * (threads != 1)} wrote the marked ones." in article.text_content()
        if step + 1 < len(combining):
            article.get_by_role("button", name="Step ahead").click()


@pytest.mark.parametrize("rung, kernel, line", [
    ("08", "last_warp_unsynchronised", None),
    ("08", "last_warp_of_32", None),
    ("07", "overlapping_segments", None),
    ("05", "strided_guard", "index < blockDim.x / s"),
    ("02", "convergent_stride", "stride = blockDim.x / 2"),
])
def test_wrong_lines_are_marked(rung, kernel, line, show, tmp_path):
    path, data = write_page(tmp_path, rung, "-n", 64)
    page = show(path)
    wrong = next(wrong for wrong in data["wrong"] if wrong["kernel"] == kernel)
    article = page.locator(f'[data-kernel="{kernel}"]')
    marked = article.locator("tr.wrong")
    if line:
        assert marked.count() == 1 and line in marked.text_content()
    else:
        assert wrong["findings"]
        assert {int(row.get_attribute("data-line")) for row in marked.all()} == {
            line for finding in wrong["findings"] for line in
            (range(finding["from_line"], finding["to_line"] + 1) if finding["pairs"] > 1 else [finding["line"]])}
        for finding in wrong["findings"]:
            assert finding["message"].replace("`", "") in article.text_content()  # names are code there


def test_every_printed_error_is_told(show, tmp_path):
    for rung in ("01", "05", "06"):
        path, data = write_page(tmp_path, rung, "-n", 8)
        words = show(path).locator("main").text_content()
        assert data["printed_errors"]
        for error in data["printed_errors"]:
            assert error.replace("`", "") in words


# ---- controls ----------------------------------------------------------------------------------------


def test_keys(show, tmp_path):
    page = show(write_page(tmp_path, "06", "-n", 16)[0])
    where = page.locator(".where").first
    for key, said in [("ArrowRight", "Step 1 of 4"), ("ArrowRight", "Step 2 of 4"), ("ArrowLeft", "Step 1 of 4"),
                      ("End", "Result"), ("ArrowRight", "Result"), ("Home", "Before the tree"),
                      ("ArrowLeft", "Before the tree")]:
        page.keyboard.press(key)
        assert where.text_content() == said


def test_address_names_the_step(show, tmp_path):
    path = write_page(tmp_path, "06", "-n", 16)[0]
    page = show(path)
    where = page.locator(".where").first
    assert "#" not in page.url
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.url.endswith("#step=2")
    page.goto(path.as_uri() + "#step=3")
    assert where.text_content() == "Step 3 of 4"
    page.goto(path.as_uri() + "#step=99")
    page.reload()
    assert where.text_content() == "Result"


def test_player_buttons_and_slider(show, tmp_path):
    page = show(write_page(tmp_path, "06", "-n", 16)[0])
    where, slider = page.locator(".where").first, page.get_by_label("Step", exact=True).first
    for name, said in [("Step ahead", "Step 1 of 4"), ("Last step", "Result"), ("Step back", "Step 4 of 4"),
                       ("First step", "Before the tree")]:
        page.get_by_role("button", name=name).first.click()
        assert where.text_content() == said
    assert page.get_by_role("button", name="Step back").first.is_disabled()
    slider.fill("3")
    assert where.text_content() == "Step 3 of 4"
    slider.focus()
    page.keyboard.press("ArrowLeft")
    assert where.text_content() == "Step 2 of 4" and slider.get_attribute("aria-valuetext") == "Step 2 of 4"


def test_playing(browser, show, tmp_path):
    page = show(write_page(tmp_path, "06", "-n", 8)[0])
    page.clock.install()
    where = page.locator(".where").first
    page.keyboard.press("Space")
    assert page.get_by_role("button", name="Pause").first.is_visible()
    for said in ("Step 1 of 3", "Step 2 of 3"):
        page.clock.run_for(1600)
        assert where.text_content() == said
    page.get_by_role("button", name="Pause").first.click()
    page.clock.run_for(5000)
    assert where.text_content() == "Step 2 of 3"
    page.get_by_role("button", name="Play").first.click()
    page.clock.run_for(10000)
    assert where.text_content() == "Result"  # and it has stopped
    assert page.get_by_role("button", name="Play").first.is_visible()
    page.keyboard.press("Space")
    assert where.text_content() == "Before the tree"


@pytest.mark.parametrize("rung, options", [("05", PICTURE), ("08", ["-n", 256]), ("00", ["-n", 8])])
def test_every_control(rung, options, show, tmp_path):
    """Each is clicked in each state that the page offers at its start; none breaks the page."""
    page = show(write_page(tmp_path, rung, *options)[0])
    assert unnamed_controls(page) == []
    page.keyboard.press("ArrowRight")
    for i in range(page.locator("button").count()):
        button = page.locator("button").nth(i)
        if button.count() and button.is_enabled():
            button.click()
    for summary in page.locator("summary").all():
        summary.click()
    for chosen in page.locator("select").all():
        for value in chosen.locator("option").evaluate_all("options => options.map(option => option.value)"):
            chosen.select_option(value)
    assert page.locator(".stage").count() > 0
    assert unnamed_controls(page) == []


def test_tab_reaches_every_control_and_shows_where(show, tmp_path):
    page = show(write_page(tmp_path, "05", *PICTURE)[0])
    go_to(page, 1)
    reached, tip = set(), page.locator("#term-tip")
    meanings = terms_of_pages()
    for _ in range(60):
        page.keyboard.press("Tab")
        told = page.evaluate("""() => { const node = document.activeElement;
            return node === document.body ? null : {
                words: node.getAttribute("aria-label") || node.textContent.trim() || node.tagName,
                term: node.dataset.term || null,
                outline: getComputedStyle(node).outlineStyle}; }""")
        if told is None:
            break
        assert told["outline"] != "none", told
        assert tip.is_visible() == (told["term"] is not None)
        assert told["term"] is None or tip.text_content() == f"{told['term']} {meanings[told['term']]}"
        reached.add(told["words"])
    assert {"Skip to the picture", "Dark", "Step", "Play (space)", "Values", "Symbols", "the whole run",
            "Picture of the step", "Source", "bank degree", "turns"} <= reached
    page.locator(".term", has_text="diverges").first.hover()
    assert tip.text_content() == f"divergence {meanings['divergence']}"
    page.keyboard.press("Escape")
    assert not tip.is_visible()
    assert page.locator(".terms dt").count() > 10
    assert all(meanings[row[0]] == row[1] for row in zip(texts(page.locator(".terms dt")), texts(page.locator(".terms dd"))))


def terms_of_pages():
    """{term: meaning} of the pages."""
    source = (ROOT / "report" / "web" / "kit_terms.js").read_text()
    return dict(re.findall(r'^    "(.+?)": "(.+)",$', source[:source.index("};")], re.MULTILINE))


def test_terms_mean_what_the_glossary_says():
    glossary = dict(re.findall(r"^\| \*\*(.+?)\*\* \| (.+?) \|", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE))
    assert len(terms_of_pages()) > 10
    for term, meaning in terms_of_pages().items():
        known = re.sub(r" \([^()]*\)|`", "", glossary[term])
        assert meaning.rstrip(".").lower() in known.lower(), term


# ---- looks -------------------------------------------------------------------------------------------

GROUND = "getComputedStyle(document.body).backgroundColor"


def brightness(colour):
    return sum(int(number) for number in re.findall(r"\d+", colour)[:3])


def test_colours_follow_the_system_and_the_button(show, tmp_path):
    path = write_page(tmp_path, "05", *PICTURE)[0]
    for scheme, sign in (("light", 1), ("dark", -1)):
        page = show(path, color_scheme=scheme)
        assert (brightness(page.evaluate(GROUND)) - 384) * sign > 0
        page.get_by_role("button", name="Light").click()
        assert brightness(page.evaluate(GROUND)) > 384
        page.get_by_role("button", name="Dark").click()
        assert brightness(page.evaluate(GROUND)) < 384
        page.get_by_role("button", name="Auto").click()
        assert (brightness(page.evaluate(GROUND)) - 384) * sign > 0


CONTRASTS = """() => {
    const probe = document.createElement("span");
    document.body.append(probe);
    const linear = c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    const luminance = name => {
        probe.style.color = `var(${name})`;
        const [red, green, blue] = getComputedStyle(probe).color.match(/[\\d.]+/g).map(c => linear(Number(c) / 255));
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const contrast = (ink, ground) => {
        const [dark, light] = [luminance(ink), luminance(ground)].sort((a, b) => a - b);
        return [ink, ground, (light + 0.05) / (dark + 0.05)];
    };
    const tints = ["--tint-blue", "--tint-orange", "--tint-red", "--tint-green"];
    const inks = ["--faint", "--blue", "--red", "--green", "--orange"];
    return [
        ...["--ground", "--panel", ...tints].map(ground => contrast("--ink", ground)),
        ...["--ground", "--panel"].flatMap(ground => inks.map(ink => contrast(ink, ground))),
        ...["--red", "--blue", "--orange"].map(ink => contrast(ink, "--tint-blue")), contrast("--red", "--tint-red"),
        contrast("--on-blue", "--blue"),
    ];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(scheme, show, tmp_path):
    page = show(write_page(tmp_path, "05", *PICTURE)[0], color_scheme=scheme)
    for ink, ground, ratio in page.evaluate(CONTRASTS):
        assert ratio >= 4.5, (ink, ground, ratio)


@pytest.mark.parametrize("size", [PHONE, PROJECTOR])
@pytest.mark.parametrize("rung, options", [("05", PICTURE), ("01", ["-n", 1024]), ("08", ["-n", 64]),
                                           ("13", ["-n", 256])])
def test_page_fits_phone_and_projector(rung, options, size, show, tmp_path):
    path, data = write_page(tmp_path, rung, *options)
    page = show(path, size)
    for _ in each_frame(page, range(len(data["steps"]) + 2)):
        assert is_within_width(page)
    if size == PHONE:  # the cause in reach of what drives it
        assert is_in_view(page, ".player") and page.locator(".player").first.evaluate(
            "node => { scrollTo(0, 400); return node.getBoundingClientRect().bottom <= innerHeight; }")


def test_a_picture_that_scrolls_says_to_which_side(show, tmp_path):
    """Warps of 32 on a phone; where all of it is seen, as 16 lanes are there, nothing is said."""
    path, _ = write_page(tmp_path, "05", "-n", 32, "--warp", 32, "--banks", 32)
    page = show(path, PHONE)
    box, hint = page.locator(".stage-panel .scroll").first, page.locator(".stage-panel .more").first
    for left, said in ((0, "right"), (40, "both"), (100000, "left")):
        box.evaluate("(node, left) => { node.scrollLeft = left; }", left)
        page.wait_for_function("([node, said]) => node.dataset.more === said", arg=[box.element_handle(), said])
        assert hint.is_visible() and f"more to {'both sides' if said == 'both' else 'the ' + said}" in hint.evaluate(
            "node => getComputedStyle(node, '::before').content")
    small, _ = write_page(tmp_path, "04", "-n", 16, "--warp", 4, "--banks", 4)
    for whole, size in ((path, (1440, 900)), (small, PHONE)):
        page = show(whole, size)
        page.wait_for_function("() => document.querySelector('.stage-panel .scroll').dataset.more === 'no'")
        assert not page.locator(".stage-panel .more").first.is_visible()


def test_a_listing_is_not_cut_at_its_top(show, tmp_path):
    """Whatever step it follows, the first line under its heading is whole."""
    path, data = write_page(tmp_path, "12", "-n", 64)
    page = show(path, (1440, 900))
    for _ in each_frame(page, range(len(data["steps"]) + 2)):
        assert page.locator(".kernel-panel .listing").evaluate("""node => {
            const end = node.querySelector("thead th").getBoundingClientRect().bottom;
            const under = [...node.querySelectorAll("tbody tr")].map(row => row.getBoundingClientRect());
            return node.scrollTop > 0 && under.some(row => Math.abs(row.top - end) <= 2);
        }""")


def test_lanes_are_told_apart_without_colour(show, tmp_path):
    path, _ = write_page(tmp_path, "02", "-n", 32, "--warp", 8)
    page = show(path)
    go_to(page, 3)
    shapes = {state: page.locator(f'.thread[data-state="{state}"]').first.evaluate(
        "node => { const shape = node.querySelector('circle, rect'); const style = getComputedStyle(shape);"
        " return [shape.tagName, style.strokeDasharray, style.fill.startsWith('url')].join(); }")
        for state in ("active", "waiting", "idle")}
    assert len(set(shapes.values())) == 3


def test_no_motion_where_none_is_wanted(show, tmp_path):
    page = show(write_page(tmp_path, "05", *PICTURE)[0], reduced_motion="reduce")
    moving = page.evaluate("""() => [...document.querySelectorAll("*")].filter(node => {
        const style = getComputedStyle(node);
        const times = style.transitionDuration.split(",");
        return style.animationName !== "none" || times.some(time => parseFloat(time) > 0);
    }).length""")
    assert moving == 0


def test_what_has_the_focus_is_seen(show, tmp_path):
    """All that the tabulator key reaches, also what is pressed."""
    page = show(write_page(tmp_path, "05", *PICTURE)[0])
    go_to(page, 2)
    reached = []
    for _ in range(80):
        page.keyboard.press("Tab")
        name, style, is_pressed, *colours = page.evaluate("""() => {
            const node = document.activeElement, {outlineStyle, outlineColor} = getComputedStyle(node);
            const probe = document.body.appendChild(document.createElement("i"));
            probe.style.color = "var(--focus)";
            const colour = getComputedStyle(probe).color;
            probe.remove();
            return [node.className || node.tagName, outlineStyle, node.getAttribute("aria-pressed"), outlineColor, colour]; }""")
        if name == "BODY":
            break
        reached.append((name.split()[0], is_pressed))
        assert style == "solid" and colours[0] == colours[1], (name, style, colours)
    assert name == "BODY" and ("share", "true") in reached


def test_the_focus_stays_in_the_player(show, tmp_path):
    """A button that goes no further is switched off under the finger that pressed it."""
    page = show(write_page(tmp_path, "05", *PICTURE)[0])
    page.get_by_role("button", name="Last step").first.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.type") == "range"
    page.keyboard.press("ArrowLeft")
    assert page.locator(".where").first.text_content() == "Step 3 of 3"


def test_sentences_are_read_out(show, tmp_path):
    page = show(write_page(tmp_path, "05", *PICTURE)[0])
    for name in (".caption", ".sentence"):
        assert page.locator(name).evaluate("node => node.closest('[aria-live]').getAttribute('aria-live')") == "polite"


def test_print_has_all_and_no_controls(show, tmp_path):
    page = show(write_page(tmp_path, "05", *PICTURE)[0])
    go_to(page, 2)
    page.emulate_media(media="print")
    assert page.locator(".caption").evaluate("node => getComputedStyle(node, '::before').content") == '"Step 2 of 3: "'
    assert not page.locator(".player").first.is_visible() and not page.locator("#controls").is_visible()
    assert page.locator("main button:not(.share):visible").count() == 0
    assert page.locator(".stage").is_visible() and page.locator(".tree").is_visible()
    assert page.locator(".listing").evaluate("node => node.scrollHeight <= node.clientHeight + 1")
    assert len(page.pdf(format="A4")) > 10000


def test_wide_numbers_keep_their_digits(show, tmp_path):
    wide = str(2**62 + 1)
    if run("explain", "06", "--type", "i64").returncode == 1:
        pytest.skip("no NVRTC")
    page = show(write_page(tmp_path, "06", "--type", "i64", "--values", f"{wide},2")[0])
    go_to(page, 1)
    assert table_rows(page, "Who adds what to what")[0][2] == str(2**62 + 3)
