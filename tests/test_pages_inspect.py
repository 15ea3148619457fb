"""The page of inspect in a browser: every control, and its numbers beside the JSON."""

import re
from pathlib import Path

import pytest

from cli_helpers import run
from inspect_helpers import HEAD, kernel, parameters
from page_helpers import PHONE, PROJECTOR, altered, brief, browser, is_within_width, numeral, page_data, show, unnamed_controls
from test_inspect_lines import LAUNCH, RACE, costs

assert browser and show and costs  # fixtures

HEATS = {
    "instructions": ["instructions", "thread_instructions", None],
    "divergence": ["divergent_branches", "branches", None],
    "requests": ["global_requests", "global_sectors", "global_accesses", None],
    "conflicts": [None, "shared_wavefronts", "shared_accesses", "bank_degree"],
    "waits": ["atomics", "shuffles", "barriers"],
}


@pytest.fixture
def costs_page(costs, tmp_path):
    page = tmp_path / "costs.html"
    done = run("inspect", costs, *LAUNCH, "--html", page)
    assert (done.returncode, done.stderr) == (0, "")
    return page


@pytest.fixture
def race_page(tmp_path):
    """A race of two warps."""
    ptx, page = tmp_path / "race.ptx", tmp_path / "race.html"
    ptx.write_text(HEAD + kernel("race", [], RACE))
    assert run("inspect", ptx, "--block", 64, "--html", page).returncode == 3
    return page


def shown_counts(page, line):
    row = page.locator(f'.listing tr[data-line="{line}"]')
    return [cell.text_content() for cell in row.locator("td.count").all()]


# ---- numbers -------------------------------------------------------------------------------------------


def test_a_wrong_result_comes_first_and_nothing_is_green(show, tmp_path):
    """With `--expect`; without it the page says that it does not know, and only a right one has the green mark."""
    kernel_path = tmp_path / "twice.ptx"
    kernel_path.write_text(HEAD + kernel("twice", parameters("twice", "u64"), """
ld.param.u64 %rd1, [twice_param_0];
mov.u32 %r1, 5;
st.global.u32 [%rd1], %r1;
"""))
    for expected, status, title, marks in (("0=5", 0, "Findings", 1), ("0=6", 3, "Wrong result", 0), (None, 0, "Findings", 0)):
        path = tmp_path / "twice.html"
        done = run("inspect", kernel_path, "--block", 1, "--arg", "u32[1]", *(["--expect", expected] if expected else []), "--html", path)
        assert done.returncode == status
        page = show(path)
        assert page.locator("main > *").first.locator("h2").text_content() == title
        assert page.locator("p.none").count() == marks
        if status:
            assert page.locator(".wrong-result").text_content() == page_data(page)["values"][0]["message"]
        assert page.get_by_text("The simulator found no race and no other fault").count() == (status != 0)
        assert page.get_by_text("whether the result is right").count() == (expected is None)


def test_counts_say_what_is_best_as_the_text_does(show, costs, costs_page):
    legend = dict(re.findall(r"^  (\w+) .*; (\d is best)$", run("inspect", costs, *LAUNCH).stdout, re.MULTILINE))
    facts = show(costs_page).locator("#counts > div")
    told = {fact.get_attribute("data-key"): fact.locator("small").text_content() for fact in facts.all() if fact.locator("small").count()}
    assert told == legend and len(legend) == 4


def test_summary_has_the_counts(show, costs_page):
    page = show(costs_page)
    data = page_data(page)
    facts = page.locator("#counts > div")
    assert facts.count() == 10
    for fact in facts.all():
        assert fact.locator("dd").text_content() == numeral(data[fact.get_attribute("data-key")])
    assert page.get_by_text("no findings").is_visible()
    page.get_by_text("All counts").click()
    rows = page.locator("details table tbody tr")
    told = {row.locator("th").text_content(): row.locator("td").text_content() for row in rows.all()}
    assert told == {name: numeral(value) for name, value in data["counts"].items()}


@pytest.mark.parametrize("heat", HEATS)
def test_every_heat_has_the_lines_counts(show, costs_page, heat):
    page = show(costs_page)
    data = page_data(page)
    page.locator(f'[aria-label="Heat by"] [data-value="{heat}"]').click()
    for line in data["lines"]:
        cells = shown_counts(page, line["line"])
        assert len(cells) == len(HEATS[heat])
        for cell, name in zip(cells, HEATS[heat]):
            if name:
                assert cell == (brief(line[name]) if line[name] else ""), (line["line"], name)
    key = HEATS[heat][0] or "excess"
    hot = {line["line"] for line in data["lines"]
           if line.get(key, line["shared_wavefronts"] - line["shared_wavefronts_least"])}
    rows = page.locator(".listing tr.heated").all()
    assert {int(row.get_attribute("data-line")) for row in rows} == hot


def test_ptx_has_the_instructions_counts(show, costs_page):
    page = show(costs_page)
    data = page_data(page)
    page.get_by_role("button", name="PTX", exact=True).click()
    page.get_by_role("button", name="Instructions", exact=True).click()
    assert len(page.locator(".listing tbody tr").all()) == data["ptx"].rstrip("\n").count("\n") + 1
    for place in data["instruction_list"]:
        assert shown_counts(page, place["ptx_line"])[0] == brief(place["instructions"])


def test_a_chosen_line_tells_all(show, costs_page):
    page = show(costs_page)
    line = next(line for line in page_data(page)["lines"] if line["line"] == 5)
    page.locator('.listing tr[data-line="5"] button').click()
    facts = {fact.get_attribute("data-key"): fact.locator("dd").text_content()
             for fact in page.locator("[aria-labelledby=panel-line] .facts > div").all()}
    for name, value in line.items():
        if name in facts:
            assert facts[name] == numeral(value), name
    assert {"instructions", "shared_wavefronts", "bank_degree"} <= set(facts)
    instructions = page.locator("[aria-labelledby=panel-line] td.words").all_text_contents()
    assert [text.split()[0] for text in instructions] == ["shl.b32", "mov.u32", "add.u32", "st.shared.u32"]
    page.locator('.listing tr[data-line="1"] button').click()
    assert page.get_by_text("This line was not executed.").is_visible()


# ---- findings and their replay -------------------------------------------------------------------------


def test_finding_is_marked_at_its_line(show, race_page):
    page = show(race_page)
    finding, = page_data(page)["findings"]
    button = page.locator("button.finding")
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    assert "(`cells`)" in finding["message"] and finding["message"].replace("`", "") in button.text_content()
    text = {source["file"]: source["text"] for source in page_data(page)["sources"]}[finding["file"]].splitlines()
    lines = sorted({finding["line"], finding["other"]["line"]})
    assert button.locator(".quoted").all_text_contents() == [f"{line} {text[line - 1].strip()}" for line in lines]
    marked = page.locator(".listing tr.wrong")
    assert marked.get_attribute("data-line") == str(finding["ptx_line"])
    assert "chosen" in marked.get_attribute("class")


def test_advice_is_shown_at_its_line_with_its_counter(show, tmp_path):
    path = tmp_path / "conflicts.html"
    ptx = Path(__file__).parent.parent / "ladder" / "ptx" / "05_interleaved_strided.sum.f32.ptx"
    arguments = ["f32[512]=ones", "u64:0", "u64:512", "u64:256", "f32[2]", "u64:0", "f32[1]=zeros", "u64:0", "u32[1]=zeros"]
    assert run("inspect", ptx, "--grid", 2, "--block", 256, "--shared", 1024, "--html", path,
               "--sources", ptx.parent.parent,
               *(word for argument in arguments for word in ("--arg", argument))).returncode == 0
    page = show(path)
    first, second = page_data(page)["advice"]
    assert {first["kind"], second["kind"]} == {"bank-conflict"} and first["line"] != second["line"]
    conflicts = page.locator('[aria-label="Heat by"] button[data-value="conflicts"]')
    assert conflicts.get_attribute("aria-pressed") == "true", "it opens on what the advice is about"
    button = page.locator("button.advice").nth(1)
    assert second["message"] in button.text_content() and second["cure"].replace("`", "") in button.text_content()
    button.click()
    assert page.locator(".listing tr.chosen").get_attribute("data-line") == str(second["line"])
    assert page.locator(".listing tr.advised").count() == 2


def lanes_of(page):
    return [group.get_attribute("data-state") for group in page.locator("#stage [data-lane]").all()]


def check_entry(page, entry, text):
    for lane, state in enumerate(lanes_of(page)):
        bit = 1 << lane
        expected = "active" if entry["mask"] & bit else "waiting" if entry["active"] & bit else "idle"
        assert state == expected, lane
    row = page.locator(".tape tr.now td").all_text_contents()
    assert row[1] == str(entry["time"])
    assert row[3] == f"{bin(entry['mask']).count('1')}/{bin(entry['active']).count('1')}"
    assert row[5] == " ".join(text[entry["ptx_line"] - 1].split())
    pointed = page.locator('.listing tr[aria-current="step"]')
    assert pointed.get_attribute("data-line") == str(entry["ptx_line"])
    executing = bin(entry["mask"]).count("1")
    assert f": {executing} lane{'' if executing == 1 else 's'} of {len(lanes_of(page))} execute" in page.locator(
        "#stage svg:has([data-lane])").get_attribute("aria-label")
    captions = page.locator("#stage figcaption").all_text_contents()
    assert captions == ([memory_words(entry)] if entry.get("lanes") else [])


def memory_words(entry):
    """The sentence above the words that an access touches."""
    lanes = [lane for lane in range(32) if entry["lanes"] >> lane & 1]
    whole = lambda number: int(str(number), 0)
    starts = entry.get("addresses") or [whole(entry["first"]) + whole(entry["stride"]) * (lane - lanes[0]) for lane in lanes]
    words = {word for start in starts for word in range(whole(start) // 4, (whole(start) + entry["nbytes"] - 1) // 4 + 1)}
    plural = lambda count, noun: f"{count} {noun}{'' if count == 1 else 's'}"
    what = f"{entry['space']} memory: {plural(len(words), 'word')} for {plural(len(lanes), 'lane')}, by number"
    if entry["space"] == "shared":
        return f"{what}; words of one bank are served one after the other"
    return f"{what}, in {plural(len({word // 32 for word in words}), 'line')} of 128 bytes"


def test_the_replay_says_of_which_warps(show, race_page):
    page = show(race_page)
    own, other = sorted(page_data(page)["replays"], key=lambda replay: bool(replay.get("is_other")))
    count = len(own["entries"])
    assert page.get_by_text(f"The last {count} instruction{'' if count == 1 else 's'} of warp {own['warp']} in block "
                            f"({','.join(map(str, own['block']))}), up to the finding. Among them, in the order in which they ran, "
                            f"those of warp {other['warp']}, with which it races.").is_visible()


def test_every_entry_of_the_replay(show, race_page):
    page = show(race_page)
    data = page_data(page)
    text = data["ptx"].split("\n")
    entries = sorted((entry for replay in data["replays"] for entry in replay["entries"]),
                     key=lambda entry: entry["time"])
    page.keyboard.press("Home")
    for entry in entries:
        check_entry(page, entry, text)
        page.keyboard.press("ArrowRight")
    page.keyboard.press("End")
    check_entry(page, entries[-1], text)


def test_jumps_to_the_finding_and_the_other_access(show, race_page):
    page = show(race_page)
    finding, = page_data(page)["findings"]
    pointed = page.locator('.listing tr[aria-current="step"]')
    page.get_by_role("button", name="The other access").click()
    assert pointed.get_attribute("data-line") == str(finding["other"]["ptx_line"])
    page.locator('[data-value="divergence"]').click()
    assert pointed.get_attribute("data-line") == str(finding["other"]["ptx_line"])
    page.get_by_role("button", name="✕ The finding").click()
    assert pointed.get_attribute("data-line") == str(finding["ptx_line"])
    touched = page.locator(".memory .touched, .memory .shared-by, .memory .conflict")
    assert touched.count() == 1 and "found" in touched.get_attribute("class")


def test_a_second_findings_replay_takes_the_keys(show, tmp_path):
    ptx, html = tmp_path / "two.ptx", tmp_path / "two.html"
    ptx.write_text(HEAD + kernel("two", [], RACE.replace("DONE:\n", "DONE:\nld.shared.u32 %r4, [%r2];\n")))
    assert run("inspect", ptx, "--block", 64, "--html", html).returncode == 3
    page = show(html)
    data = page_data(page)
    assert len(data["findings"]) > 1
    for index, button in enumerate(page.locator("button.finding").all()):
        button.click()
        page.locator("main").focus()
        entries = sorted((entry for replay in data["replays"] if replay["finding"] == index
                          for entry in replay["entries"]), key=lambda entry: entry["time"])
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        assert page.locator(".tape tr.now td").all_text_contents()[1] == str(entries[1]["time"])


# ---- at every size -------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [PHONE, PROJECTOR])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_control_at_every_size(show, race_page, costs_page, size, scheme):
    for path in (race_page, costs_page):
        page = show(path, size, color_scheme=scheme)
        assert is_within_width(page)
        assert unnamed_controls(page) == []
        for button in page.locator("button:visible:enabled").all():
            if button.is_enabled():
                button.click()
        for summary in page.locator("summary:visible").all():
            summary.click()
        assert is_within_width(page)


def test_keyboard_alone_reaches_the_lines(show, costs_page):
    page = show(costs_page)
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.listing button.line')"):
            break
    page.keyboard.press("Enter")
    assert page.locator(".listing tr.chosen").count() == 1


def test_page_without_a_source_shows_the_ptx(show, costs, tmp_path):
    costs.with_suffix(".cu").unlink()
    html = tmp_path / "costs.html"
    assert run("inspect", costs, *LAUNCH, "--html", html).returncode == 0
    page = show(html)
    shown = page.locator(".listing td.text").all_text_contents()
    assert "\n".join(shown).split() == page_data(page)["ptx"].split()
    page.get_by_role("button", name="costs.cu", exact=True).click()
    assert page.get_by_text("cannot be shown").is_visible()


def test_page_opens_at_once_and_is_small(show, race_page):
    page = show(race_page)
    assert race_page.stat().st_size < 2_000_000
    assert page.evaluate("performance.getEntriesByType('navigation')[0].duration") < 5000


def test_page_opens_at_the_first_advice(show, costs_page):
    page = show(costs_page)
    first = page_data(page)["advice"][0]
    assert page.locator(".listing tr.chosen").get_attribute("data-line") == str(first["line"])


def test_page_of_a_finding_opens_on_what_is_advised(show, race_page):
    """A race heats nothing."""
    advice = {"kind": "bank-conflict", "file": "race.cu", "line": 1, "message": "take turns", "cure": "pad", "counts": {}}
    path, data = altered(race_page, lambda data: data["advice"].append(advice))
    page = show(path)
    assert page.locator('[aria-label="Heat by"] button[aria-pressed="true"]').get_attribute("data-value") == "conflicts"
    assert page.locator(".listing tr.chosen").get_attribute("data-line") == str(data["findings"][0]["ptx_line"])


def test_a_finding_alone_is_not_cut(show, race_page):
    path, _ = altered(race_page, lambda data: data["findings"][0].update(message="it is long. " * 200))
    box = show(path, (1440, 900)).locator(".findings").first
    assert box.evaluate("node => node.scrollHeight - node.clientHeight") <= 1 and box.evaluate("node => node.clientHeight") > 300


def test_page_opens_at_the_costliest_line(show, tmp_path):
    """Where there is nothing to advise."""
    ptx, html = tmp_path / "loop.ptx", tmp_path / "loop.html"
    ptx.write_text(HEAD + kernel("loop", [], "mov.u32 %r1, 0;\nAGAIN:\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 9;\n"
                                 "@%p1 bra AGAIN;\nret;"))
    assert run("inspect", ptx, "--html", html).returncode == 0
    page = show(html)
    lines = page_data(page)["lines"]
    most = max(line["instructions"] for line in lines)
    first = next(line["line"] for line in lines if line["instructions"] == most)
    assert most == 9 and page_data(page)["advice"] == []
    assert page.locator(".listing tr.chosen").get_attribute("data-line") == str(first)


def test_page_of_a_wrong_result_without_a_finding_opens_where_it_is_stored(show, tmp_path):
    """Not at the loop, which costs more, nor at the store to shared memory behind it."""
    ptx, html = tmp_path / "loop.ptx", tmp_path / "loop.html"
    ptx.write_text(HEAD + kernel("loop", parameters("loop", "u64"), ".shared .u32 s;\nld.param.u64 %rd1, [loop_param_0];\nmov.u32 %r1, 0;\nAGAIN:\nadd.u32 %r1, %r1, 1;\n"
                                 "setp.lt.u32 %p1, %r1, 9;\n@%p1 bra AGAIN;\nst.global.u32 [%rd1], %r1;\nst.shared.u32 [s], %r1;\nret;"))
    assert run("inspect", ptx, "--arg", "u32[1]", "--expect", "0=10", "--html", html).returncode == 3
    page = show(html)
    stored = next(place["ptx_line"] for place in page_data(page)["instruction_list"] if place["opcode"].startswith("st.global"))
    assert page.locator(".listing tr.chosen").get_attribute("data-line") == str(stored)


# ---- little room ---------------------------------------------------------------------------------------

POLLS = """__global__ void f(volatile int *flag, int *polls) {
    for (int k = 0; k < 4; k++)
        if (k == 3)
            while (*flag == 0)
                polls[threadIdx.x] = polls[threadIdx.x] + 1 + polls[threadIdx.x] * polls[threadIdx.x] - polls[threadIdx.x];
}
"""


@pytest.fixture(scope="module")
def page_of_polls(tmp_path_factory):
    """Of a loop that is stopped once its counts have six digits."""
    source = tmp_path_factory.mktemp("polls") / "polls.cu"
    source.write_text(POLLS)
    path = source.with_suffix(".html")
    run("inspect", source, "--limit", 300_000, "--grid", 4, "--block", 64, "--arg", "i32[1]=zeros", "--arg", "i32[64]=zeros",
        "--html", path)
    return path


@pytest.mark.parametrize("size", [PHONE, (390, 844), (1440, 900)])
def test_counts_of_many_digits_and_deep_lines_have_room(show, page_of_polls, size):
    page = show(page_of_polls, size)
    data = page_data(page)
    most = max(line["instructions"] for line in data["lines"])
    assert most > 100_000 and brief(most) in {shown_counts(page, line["line"])[0] for line in data["lines"]}
    assert numeral(most) in page.locator(".listing td.count").evaluate_all("cells => cells.map(cell => cell.title)")
    # Between the numbers of neighbouring columns there is a gap, and no number leaves its cell.
    gaps = page.locator(".listing td.count").evaluate_all("""cells => cells.filter(cell => cell.textContent && cell.offsetWidth).map(cell => {
        const range = document.createRange(), box = cell.getBoundingClientRect();
        range.selectNodeContents(cell);
        return range.getBoundingClientRect().left - box.left; })""")
    assert gaps and min(gaps) >= 2
    # The deepest line has most of the width, and goes on further in than it begins.
    text, lead, begin = page.locator('.listing tr[data-line="5"] .line').evaluate("""line => {
        const box = line.getBoundingClientRect();
        return [line.textContent, line.querySelector(".lead").getBoundingClientRect().width, box.width]; }""")
    assert text.startswith(16 * " " + "polls[") and lead < 0.45 * begin
    assert is_within_width(page)


def test_lines_have_room_for_a_finger(costs_page, show):
    """Where a mouse points, a line is as high as its text."""
    heights = "nodes => nodes.map(node => node.getBoundingClientRect().height)"
    touched = show(costs_page, (390, 844), has_touch=True, is_mobile=True).locator("button.line")
    assert touched.count() > 5 and min(touched.evaluate_all(heights)) >= 24
    assert min(show(costs_page, (1440, 900)).locator("button.line").evaluate_all(heights)) < 24


def test_the_source_is_as_high_as_what_stands_beside_it(costs_page, show):
    bottoms = show(costs_page, (1440, 900)).locator(".source-and-line > .panel").evaluate_all(
        "nodes => nodes.map(node => node.getBoundingClientRect().bottom)")
    assert len(bottoms) == 2 and bottoms[0] >= bottoms[1] - 1


def test_what_has_the_focus_is_not_cut(race_page, show):
    """By the box that it scrolls in, to the right or at an edge."""
    page = show(race_page, (1440, 900))
    page.keyboard.press("Tab")
    for name, box in ((".finding", ".findings"), ("button.line[tabindex='0'], button.line:not([tabindex])", ".listing")):
        node = page.locator(name).last
        node.focus()
        assert node.evaluate("""(node, box) => {
            const {outlineOffset, outlineWidth, outlineStyle} = getComputedStyle(node), beyond = parseFloat(outlineOffset) + parseFloat(outlineWidth);
            const own = node.getBoundingClientRect(), frame = node.closest(box).getBoundingClientRect();
            return outlineStyle === "solid" && own.left - beyond >= frame.left && own.right + beyond <= frame.right + 0.5
                && own.top - beyond >= frame.top - 0.5 && own.bottom + beyond <= frame.bottom + 0.5; }""", box)


def test_another_view_stays_at_the_line(tmp_path, show):
    """Whatever the listing is heated by."""
    ptx, path = tmp_path / "race.ptx", tmp_path / "race.html"
    ptx.write_text(HEAD + kernel("race", [], "\tmov.u32 %r9, 0;\n" * 80 + RACE))
    assert run("inspect", ptx, "--block", 64, "--html", path).returncode == 3
    page = show(path, (1440, 900))
    line = page_data(page)["findings"][0]["ptx_line"]
    for name in ("Divergence", "Bank conflicts"):
        page.get_by_role("button", name=name, exact=True).click()
        assert page.locator(f'.listing tr[data-line="{line}"]').evaluate("""row => {
            const own = row.getBoundingClientRect(), box = row.closest(".listing").getBoundingClientRect();
            return own.top > box.top && own.bottom <= box.bottom; }""")


def test_the_ptx_opens_at_the_lines_first_instruction(costs_page, show):
    page = show(costs_page, (1440, 300))
    data = page_data(page)
    chosen = int(page.locator(".listing tr.chosen").get_attribute("data-line"))
    first = next(place["ptx_line"] for place in data["instruction_list"] if place["line"] == chosen)
    page.get_by_role("button", name="costs.ptx", exact=True).or_(page.get_by_role("button", name="PTX", exact=True)).click()
    assert page.locator(f'.listing tr[data-line="{first}"]').evaluate("""row => {
        const own = row.getBoundingClientRect(), box = row.closest(".listing").getBoundingClientRect();
        return box.bottom - box.top < row.parentElement.offsetHeight && own.top > box.top && own.bottom <= box.bottom; }""")


# ---- what is seen at once


def heights(page, selector):
    return page.locator(selector).evaluate("node => [node.clientHeight, node.scrollHeight]")


@pytest.mark.parametrize("size", [(1440, 900), (1024, 768), PHONE])
def test_three_findings_are_read_without_scrolling_their_list(show, tmp_path, size):
    """Nothing but a line cut in its middle said that there was more."""
    path = tmp_path / "three.ptx"
    path.write_text(HEAD + ".shared .align 4 .b8 cells[512];\n" + kernel("three", [], """
mov.u32 %r1, %tid.x;
shl.b32 %r2, %r1, 2;
mov.u32 %r3, cells;
add.u32 %r4, %r3, %r2;
xor.b32 %r5, %r4, 128;
st.shared.u32 [%r4], %r1;
ld.shared.u32 %r6, [%r5];
bar.sync 0;
st.shared.u32 [%r4+256], %r6;
ld.shared.u32 %r6, [%r5+256];
bar.sync 0;
st.shared.u32 [%r4], %r6;
ld.shared.u32 %r6, [%r5];
"""))
    html = tmp_path / "three.html"
    assert run("inspect", path, "--block", 64, "--html", html).returncode == 3
    page = show(html, size)
    assert page.locator(".findings .finding").count() == 3
    shown, whole = heights(page, ".findings")
    assert shown == whole


def test_a_listing_is_no_higher_than_its_lines(show, race_page):
    """Beside a replay that is higher; and a long one still scrolls, as high as that."""
    page = show(race_page, (1440, 900))
    for height in (900, 2000):
        page.set_viewport_size({"width": 1440, "height": height})
        listing, table = (page.locator(selector).first.bounding_box()["height"] for selector in (".listing", ".listing table"))
        assert listing <= table + 4
        assert listing > 100
