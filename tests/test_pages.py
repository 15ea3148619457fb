"""The page of explain in a browser: its pictures and numbers beside the JSON; and how it is written."""

import json
import re
import resource
import signal
from collections import Counter

import pytest

from cli_helpers import printed, refused, run
from explain_pages import (
    PICTURE, each_frame, each_step, expected_states, go_to, lanes_of, table_rows, texts, write_page,
)
from page_helpers import browser, numeral, page_data, show

assert browser and show  # fixtures

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
    assert f"1 bulk copy straight to shared memory, of {numeral(data['outside']['copies'][0]['nbytes'])} bytes" in stage.get_attribute("aria-label")
    assert stage.get_by_text("1024 elements of warp 0, 32 for each thread").is_visible()  # those of warp 0
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


@pytest.mark.parametrize("options, sizes", [([], "1 bulk copy straight to shared memory, of {0} bytes"), (["-n", 16384], "4 bulk copies straight to shared memory, each of {0} bytes"),
                                            (["-n", 10000], "3 bulk copies straight to shared memory: 2 of {0} bytes and 1 of {2} bytes")])
def test_what_stands_above_bulk_copies_and_a_cluster(options, sizes, show, tmp_path):
    """On the stage, too: the copies lead from the input into shared memory, from which the threads load."""
    path, data = write_page(tmp_path, "16", *options)
    page = show(path)
    nbytes = [copy["nbytes"] for copy in data["outside"]["copies"]]
    assert {copy["thread"] for copy in data["outside"]["copies"]} == {0} and page.locator(".caption").text_content() == (
        f"{numeral(data['n'])} elements; a block of {data['block']} threads, the first of a cluster of {data['cluster']}."
        f" Thread 0 asks for {sizes.format(*nbytes)}.")
    assert page.locator(".idea small").text_content().startswith(f"sum of {numeral(data['n'])} i32 in ")
    assert page.locator(".stage .copy").count() == len(nbytes)
    stage = page.locator(".stage > text").all_text_contents()
    assert [text for text in stage if text in ("input", "shared", "registers")] == ["input", "shared", "registers"]
    assert f"{numeral(sum(nbytes) // data['element_nbytes'])} elements of the block: {len(nbytes)} bulk cop{'y' if len(nbytes) == 1 else 'ies'}" in stage
    assert page.locator(".caption .term[data-term='bulk copy'], .idea .term[data-term=mbarrier]").count() == 2
    assert {"bulk copy", "cluster", "mbarrier"} <= set(texts(page.locator(".terms dt")))
    page.keyboard.press("End")
    assert page.locator(".caption").text_content() == (
        f"With what the cluster's other blocks wrote into this one's shared memory, the result is {data['result']}.")
    last = [access for access in data["outside"]["accesses"] if access["warp"] == 0 and access["after"] == len(data["steps"])]
    assert {access["array"] for access in last if access["space"] == "global"} == {"partials", "ticket", "result"}
    for i, access in enumerate(last):
        choose_access(page, i)
        check_sentence(page, data, access)
        assert page.locator(".banks .word").evaluate_all("""words => words.every(word => {
            const {left, right} = word.querySelector(".box").getBoundingClientRect();
            return [...word.querySelectorAll("text")].map(text => text.getBoundingClientRect())
                .every(text => left <= text.left && text.right <= right); })"""), access


@pytest.mark.parametrize("rung, options", [("05", ["-n", 33]), ("00", ["-n", 1]), ("12", ["-n", 40]), ("14", ["-n", 300]),
                                           ("06", ["--op", "argmax", "--type", "f64", "--values", "-1,-0,-0.5,-2"])])
def test_what_stands_above_the_steps(rung, options, show, tmp_path):
    """The settings, the sentence before the tree and that behind it."""
    path, data = write_page(tmp_path, rung, *options)
    page = show(path)
    told = page.locator(".idea small").text_content()
    assert told.startswith(f"{data['op']} of {data['n']} {data['type']} in a block of {data['block']} thread")
    assert all_numbers(told.replace(data["type"], ""))[:4] == [data["n"], data["block"], data["warp"], data["banks"]]
    assert all_numbers(page.locator(".caption").text_content()) == [data["n"], data["block"]]
    page.keyboard.press("End")
    result = "-0 at index 1" if data["op"] == "argmax" else str(data["result"])
    assert page.locator(".caption").text_content() == f"The block's result is {result}."
    assert page.locator(".stage .box.made + text").text_content() == f"result {result}"


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


def test_fewer_cells_than_threads_are_below_those_of_their_numbers(show, tmp_path):
    path, data = write_page(tmp_path, "08")
    page = show(path, (1440, 900))
    go_to(page, 4)
    middle = "nodes => Object.fromEntries(nodes.map(node => { const {left, right} = node.getBoundingClientRect(); return [NUMBER, (left + right) / 2]; }))"
    cells = page.locator(".stage .cell").evaluate_all(middle.replace("NUMBER", "node.dataset.cell"))
    threads = page.locator(".stage .thread").evaluate_all(middle.replace("NUMBER", "node.dataset.thread"))
    assert len(threads) == data["warp"] and sorted(map(int, cells)) == list(range(2 * data["steps"][3]["active_lanes"]))
    assert all(abs(cells[number] - threads[number]) < 1 for number in cells)


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


def test_whole_numbers_keep_their_digits_and_fractions_six(show, tmp_path):
    """The largest integers wrap, as the kernel's do."""
    page = show(write_page(tmp_path, "04", "--values", "2147483647,5,-98765,1", "--warp", 4)[0])
    go_to(page, 1)
    assert cell_values(page, 0) == ["2147483647", "5", "-98765", "1"]
    assert cell_values(page, 1) == ["-2147483644", "5", "-98764", "1"]
    page = show(write_page(tmp_path, "04", "--type", "f32", "--values", "12345678.5,0.1,-1.2345678e-20,1", "--warp", 4)[0])
    go_to(page, 1)
    assert cell_values(page, 0) == ["12345678", "0.1", "-1.23457e-20", "1"]


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


def choose_access(page, index):
    """Buttons, or a list where they are many."""
    button = page.locator(".accesses button").nth(index)
    if button.count():
        button.click()
    else:
        page.locator("select[aria-label=Access]").select_option(index=index)


@pytest.mark.parametrize("rung, options", [("05", PICTURE), ("05", ["-n", 1024]), ("06", ["-n", 64, "--schedule", "split"]),
                                           ("01", ["-n", 64]), ("00", ["-n", 40]), ("13", ["-n", 128]),
                                           ("06", ["-n", 32, "--schedule", "random:3"]), ("05", ["-n", 256, "--type", "f64"])])
def test_every_access_is_drawn_as_it_was(rung, options, show, tmp_path):
    path, data = write_page(tmp_path, rung, *options)
    page = show(path)
    for index, step in each_step(page, data):
        if page.get_by_label("Warp shown").count():
            page.get_by_label("Warp shown").select_option("0")
        accesses = [access for access in step["accesses"] if access["warp"] == 0]
        choices = page.locator(".accesses :is(button, option)")
        assert texts(choices) == [f"{i} {access['kind']}" for i, access in enumerate(accesses, 1)]
        assert page.locator("select[aria-label=Access]").count() == (len(accesses) > 16)
        for i, access in list(enumerate(accesses))[:4]:
            choose_access(page, i)
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


ARRAYS = {"input": "the input", "partials": "the partial results", "result": "the result", "ticket": "the ticket"}


def check_sentence(page, data, access):
    """Every number of the sentence follows from the access; and so do the turns beside the cells."""
    words = page.locator(".sentence").text_content()
    about, said = words.split(": ", 1)
    assert about == f"Warp {access['warp']}, line {access['line']}"
    lanes = lanes_of(access["lanes"])
    if access["kind"] == "atomic" and access["space"] == "global" and len(lanes) > 1:
        assert set(access["offsets"]) == {0} and access["array"] == "result"
        assert said.endswith(f"change 1 word of the result: {len(lanes)} atomic operations, one after the other.")
        assert numbers(said.split(" change")[0]) == ends(lanes)
        return
    if access["space"] == "global":
        touched = len({offset + k for offset in access["offsets"] for k in range(access["nbytes"])})
        assert numbers(said.split(" touch")[0]) == ends(lanes)
        assert numbers(said.split(" touch")[1]) == [touched, access["requests"], access["sectors"], 32]
        assert f" bytes of {ARRAYS[access['array']]}: " in said
        return
    needed = {}
    for lane, word, _ in access["words"]:
        needed.setdefault(word % data["banks"], {}).setdefault(word, lane)
    cost = [access["wavefronts"]]
    if access["wavefronts"] > access["least"]:
        crowded = sorted((bank for bank in needed if len(needed[bank]) > 1), key=lambda bank: (-len(needed[bank]), bank))
        worst = needed[crowded[0]]
        expected = ends(list(worst.values())) + [len(worst)] * ("in all" in said) + [crowded[0]] + ends(list(worst))
        assert ("in all" in said) == ("…" in said.split(" need")[0])
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
    """The numbers by which a sentence tells a list: all; of many that are evenly spaced the first two and the last; else three, and
    how many more there are."""
    if len(values) <= 4:
        return values
    is_even = len({after - before for before, after in zip(values, values[1:])}) == 1
    return [*values[:2], values[-1]] if is_even else [*values[:3], len(values) - 3]


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
