"""The page of the ladder in a browser: every control, its numbers beside the JSON; and runs that were kept."""

import json
import re
from collections import Counter

import pytest

from cli_helpers import ROOT, refused, run
from page_helpers import PHONE, PROJECTOR, browser, is_within_width, numeral, page_data, show, unnamed_controls

assert browser and show  # fixtures

OPTIONS = ["-n", 3000, "--type", "i32", "--block", 64]

# The page's name of a count, how many of its units are one of the JSON's, and its decimals.
METRICS = {"steps": ("steps", 1, None), "warp instructions": ("instructions", 1, None),
           "active lanes, %": ("utilization", 100, 1), "divergent branches": ("divergent_branches", 1, None),
           "global requests": ("global_requests", 1, None), "global sectors": ("global_sectors", 1, None),
           "shared wavefronts": ("shared_wavefronts", 1, None), "bank conflict degree": ("bank_degree", 1, 2),
           "block barriers": ("barriers", 1, None), "atomic operations": ("atomics", 1, None),
           "races": ("races", 1, None), "launches": ("launches", 1, None)}


BAR_LEFT, BAR_WIDTH = 180, 440


@pytest.fixture(scope="module")
def ladder(tmp_path_factory):
    """(page, JSON) of one run."""
    page = tmp_path_factory.mktemp("ladder") / "ladder.html"
    done = run("ladder", *OPTIONS, "--html", page, "--json")
    assert (done.returncode, done.stderr) == (0, ""), done
    return page, json.loads(done.stdout)


def as_on_gpu(report, n, device="cuda:0"):
    """A run as a GPU's JSON has it, with times that are made up: what is tested is only how they are drawn."""
    timed = json.loads(json.dumps(report))
    timed.update(n=n, device=device, gpu="<Imagined> GPU", counted_n=report["n"], ceiling_gbps=1000.0)
    for place, row in enumerate(timed["rungs"], 1):
        gbps = 950 * place / len(timed["rungs"])
        row.update(microseconds=n * 4 / gbps / 1000, gbps=gbps, share=gbps / 1000, gain=1, gain_in_all=place)
    return timed


def metric_of(row, name):
    key, unit, decimals = METRICS[name]
    if key not in row:
        return ""
    return numeral(row[key] * unit) if decimals is None else f"{row[key] * unit:.{decimals}f}"


def last_texts(page):
    """What stands behind the chart's bars, rung by rung."""
    return page.locator(".chart .rung").evaluate_all(
        "rungs => rungs.map(rung => [...rung.querySelectorAll('text')].at(-1).textContent)")


def bar_widths(page):
    return page.locator(".chart .rung").evaluate_all(
        "rungs => rungs.map(rung => Number(rung.querySelector('rect.bar').getAttribute('width')))")


def in_digits(value, count=4):
    rounded = float(f"{value:.{count}g}")
    return f"{value:#.{count}g}".rstrip(".") if rounded < 1000 else numeral(rounded)


@pytest.fixture
def show_own(show, ladder):
    """show_own(...): the page, at its own run instead of the recorded ones."""

    def open_page(*arguments, **options):
        page = show(ladder[0], *arguments, **options)
        page.get_by_role("button", name="simulator: n =").click()
        return page

    return open_page


def shown_values(page):
    """The chart's numbers, rung by rung."""
    return [text.split()[0] for text in last_texts(page)]


def rung_ids(report):
    return [f"{row['rung']}_{row['name']}" for row in report["rungs"]]


def source_of(identity):
    return (ROOT / "ladder" / f"{identity}.cu").read_text()


# ---- numbers -------------------------------------------------------------------------------------------


def test_the_page_has_the_run_as_json_prints_it(show, ladder):
    page = show(ladder[0])
    data = page_data(page)
    recorded = [json.loads(line) for line in (ROOT / "data" / "h200" / "ladder_times.jsonl").read_text().splitlines()]
    assert data["runs"] == [ladder[1]] and data["recorded"] == recorded
    most = max(recorded, key=lambda run: run["n"])  # counts tell nothing of time: it opens on the times that were recorded
    assert page.locator('[aria-label="Run"] [aria-pressed="true"]').text_content() == f"H200, recorded: n = {most['n']:,}"
    assert page.locator('.mini[aria-pressed="true"]').get_attribute("data-metric") == "per_element"
    times = {row["rung"]: in_digits(row["microseconds"] * 1e6 / most["n"]) for row in most["rungs"] if "microseconds" in row}
    shown = dict(zip([row["rung"] for row in most["rungs"]], shown_values(page)))
    assert len(times) > 10 and times == {rung: shown[rung] for rung in times}


@pytest.mark.parametrize("rung", ["15", "16"])
def test_what_was_recorded_has_the_counts_of_the_simulator(rung):
    """They are the same on any GPU, and the gallery's page of the ladder has them beside the times."""
    told, = json.loads(run("ladder", "--json", "--rung", rung, "-n", 65536).stdout)["rungs"]
    for line in (ROOT / "data" / "h200" / "ladder_times.jsonl").read_text().splitlines():
        recorded, = [row for row in json.loads(line)["rungs"] if row["rung"] == rung]
        counts = {name: value for name, value in recorded.items() if name in told and name not in ("grid", "launches", "result", "ulp")}
        assert json.loads(line)["counted_n"] == 65536 and "instructions" in counts and "races" in counts
        assert counts == {name: told[name] for name in counts}


def test_table_has_every_count(show_own, ladder):
    page = show_own()
    table = page.locator("table.facts-table")
    headings = table.locator("thead th").all_text_contents()
    assert set(METRICS) <= set(headings)
    rows = table.locator("tbody tr").all()
    assert [row.locator("th").text_content() for row in rows] == [*rung_ids(ladder[1]), "sequential loop (CPU)"]
    for row, told in zip(rows, ladder[1]["rungs"]):
        cells = row.locator("th, td").all_text_contents()
        assert cells[1] == {True: "yes", False: "NO", None: "not run"}[told["verified"]]
        for name in METRICS:
            assert cells[headings.index(name)] == metric_of(told, name), (told["name"], name)


def test_chart_of_every_count(show_own, ladder):
    """On one page, as loading it takes longer than all else."""
    page = show_own()
    for name, (key, _, _) in METRICS.items():
        page.locator(f'.mini[data-metric="{key}"]').click()
        values = [metric_of(told, name) for told in ladder[1]["rungs"]]
        widths = bar_widths(page)
        assert [text.rstrip(" ▲▼") for text in last_texts(page)] == [value or "–" for value in values], name
        assert len(widths) == len(values)
        numbers = [float(value.replace(",", "") or 0) for value in values]
        for width, number in zip(widths, numbers):
            assert width == pytest.approx(BAR_WIDTH * number / max(numbers) if max(numbers) else 0), name
        page.get_by_role("button", name="Logarithmic").click()
        widths = bar_widths(page)
        assert sorted(range(len(widths)), key=lambda i: (numbers[i], i)) == sorted(
            range(len(widths)), key=lambda i: (widths[i], i)), name
        page.get_by_role("button", name="Linear").click()  # a page's own scale, which stays as it was chosen


# ---- from rung to rung ---------------------------------------------------------------------------------


def fix_of(identity):
    """The sentence of the source's first comment."""
    comment = source_of(identity).split("\n//\n// Tile:")[0]
    found = re.search(r"^// Fixes(?: in (\d\d))?: +(.*(?:\n//  .*)*)", comment, re.M)
    return found[1], " ".join(found[2].replace("\n//", " ").replace("`", "").split()).split("  ")[0]


def test_every_rung_tells_what_it_fixes(show_own, ladder):
    page = show_own()
    page.keyboard.press("Home")
    for identity in rung_ids(ladder[1]):
        of, fix = fix_of(identity)
        assert page.locator("#rung h3").text_content().startswith(identity + ":")
        told = " ".join(page.locator("#rung .change").first.text_content().split())
        assert told.startswith(f"✓ Fixes in {of}:" if of else "✓ Fixes:")
        assert fix[:60] in told
        assert page.locator(f'.card[data-rung="{identity[:2]}"]').get_attribute("aria-pressed") == "true"
        assert page.locator(".facts-table tr.now th").text_content() == identity
        page.keyboard.press("ArrowRight")


def code_of(identity):
    lines = source_of(identity).rstrip("\n").split("\n")
    while lines and (lines[0].startswith("//") or not lines[0].strip()):
        lines.pop(0)
    return lines


def test_differences_are_those_of_the_sources(show_own, ladder):
    page = show_own()
    ids = rung_ids(ladder[1])
    page.keyboard.press("Home")
    for identity in ids:
        of = fix_of(identity)[0]
        before = next((other for other in ids if other[:2] == of), None)
        cells = page.locator(".diff td").all_text_contents()
        signs = list(zip(cells[::2], cells[1::2]))
        assert [text for sign, text in signs if sign != "-"] == code_of(identity)
        if before and code_of(identity):
            assert [text for sign, text in signs if sign != "+"] == code_of(before)
        page.keyboard.press("ArrowRight")


def test_trees_are_the_machines(show, ladder):
    """The additions of rung 05, whose threads are consecutive, and of 06, whose strides halve."""
    data = page_data(show(ladder[0]))
    trees = {rung["id"]: rung["tree"] for rung in data["rungs"]}
    strided = [[(c["thread"], c["target"], c["sources"]) for c in step["combines"]]
               for step in trees["05_interleaved_strided"]["steps"]]
    assert strided == [[(t, 2 * s * t, [2 * s * t + s]) for t in range(8 // s)] for s in (1, 2, 4, 8)]
    halving = [[(c["thread"], c["target"], c["sources"]) for c in step["combines"]]
               for step in trees["06_sequential"]["steps"]]
    assert halving == [[(t, t, [t + s]) for t in range(s)] for s in (8, 4, 2, 1)]
    assert all(trees.values()) and trees["17_exact"]["steps"] == trees["06_sequential"]["steps"]  # with one digit
    assert [step["divergent_warps"] for step in trees["04_interleaved_modulo"]["steps"]] == [4, 4, 2, 1]
    assert {step["bank_degree"] for rung in ("04_interleaved_modulo", "06_sequential") for step in trees[rung]["steps"]} == {1}
    # 4 lanes, 4 banks: lane t reads word 2st + s in 05, and word t + s, every 2s-th lane alone, in 04.
    degrees = [max(Counter((2 * s * t + s) % 4 for t in range(min(4, 8 // s))).values()) for s in (1, 2, 4, 8)]
    assert [step["bank_degree"] for step in trees["05_interleaved_strided"]["steps"]] == degrees == [2, 4, 2, 1]
    assert [step["bank_degree"] for step in trees["04_interleaved_modulo"]["steps"]] == [1, 1, 1, 1]


def test_trees_are_marked_where_lanes_wait_for_a_bank(show_own):
    page = show_own()
    page.locator('.card[data-rung="05"]').click()
    before, after = page.locator("#rung figure").all()
    assert (before.locator(".band").count(), before.locator(".clash").count()) == (4, 0)
    assert after.locator(".band").evaluate_all("bands => bands.map(band => band.classList.contains('clash'))") == [
        True, True, False, True, False]
    assert after.locator("text.clashing").all_text_contents() == ["×2", "×4", "×2"]
    assert page.locator('.card[data-rung="05"] .band.clash').count() == 3


def told_of_run(run):
    told = (f"{run['op']} of {run['n']:,} {run['type']} "
            + ("on the simulator" if run["device"] == "simt" else f"on {run['gpu']}") + f", blocks of {run['block']} threads.")
    counted, checked = run.get("counted_n", run["n"]), run.get("checked_n", run["n"])
    parts = [f"counted a run of {counted:,} elements"] * (counted != run["n"])
    if checked < run["n"]:
        parts.append("looked for races in " + ("it" if parts and checked == counted else f"a run of {checked:,} elements"))
    return told + f" The simulator {' and '.join(parts)}." * bool(parts)


@pytest.mark.parametrize("rung, told", [("00", []), ("06", ["a warp diverges", "a bank conflict; ×2: twice the turns"]),
                                        ("07", ["a warp diverges"])])
def test_legend_has_what_the_trees_show(rung, told, show_own):
    """Those of the rung and of the one before it, whose conflicts it may have fixed."""
    page = show_own()
    page.locator(f'.card[data-rung="{rung}"]').click()
    assert [text.strip() for text in page.locator("#rung .legend li").all_text_contents()] == told
    kinds = [page.locator("#rung .trees .band:not(.clash)").count() > 0, page.locator("#rung .trees .band.clash").count() > 0]
    assert kinds == ["a warp diverges" in told, len(told) == 2]


def test_each_run_is_told_as_its_json_has_it(show, ladder):
    page = show(ladder[0])
    data, buttons = page_data(page), page.locator('[aria-label="Run"] button')
    runs = [*data["runs"], *data["recorded"]]
    assert buttons.count() == len(runs) > 3
    for button, run in zip(buttons.all(), runs):
        button.click()
        assert page.locator("[aria-labelledby=panel-the-run] p").first.text_content() == told_of_run(run) == button.get_attribute("title")


def test_the_trees_words_are_those_of_its_steps(show_own, ladder):
    page = show_own()
    trees = {rung["id"]: rung["tree"] for rung in page_data(page)["rungs"] if rung["tree"]}
    assert len(trees) > 5
    for identity, tree in trees.items():
        page.locator(f'.card[data-rung="{identity[:2]}"]').click()
        steps = [f"step {i}: {len(step['combines'])} addition{'s' * (len(step['combines']) != 1)}"
                 + (f", {step['divergent_warps']} warp{'s' * (step['divergent_warps'] != 1)} diverging" if step["divergent_warps"] else "")
                 + (f", a bank conflict of degree {numeral(step['bank_degree'])}" if step["bank_degree"] > 1 else "")
                 for i, step in enumerate(tree["steps"], 1)]
        words = f"The tree of {tree['n']} elements. {'; '.join(steps)}."
        figure = page.locator("#rung figure", has_text=identity)
        assert [svg.get_attribute("aria-label") for svg in figure.locator("svg[role=img]").all()] == [words]
        assert figure.locator(".clash").count() == sum(step["bank_degree"] > 1 for step in tree["steps"])
        assert figure.locator("figcaption").text_content() == (
            f"{identity}: {tree['n']} elements, a block of {tree['block']}, warps of {tree['warp']}; "
            "discs are additions, by the thread in them")


def test_cards_and_bars_choose_the_rung(show_own, ladder):
    page = show_own()
    page.locator('.card[data-rung="06"]').click()
    assert page.locator("#rung h3").text_content().startswith("06_sequential:")
    page.locator('.chart .rung[data-rung="03"]').click()
    assert page.locator("#rung h3").text_content().startswith("03_shared_pairs:")
    assert "now" in page.locator('.chart .rung[data-rung="03"] rect.bar').get_attribute("class")


# ---- at every size -------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(390, 844), (360, 740)])
def test_on_a_phone_each_bar_is_seen_with_its_number(show, size, tmp_path):
    """The longest one, too, which is 1700 times the shortest: nothing of the chart lies beside the window."""
    made = tmp_path / "ladder.html"
    done = run("ladder", "--from", ROOT / "data" / "h200" / "ladder_times.jsonl", "--html", made)
    assert done.returncode == 0, done
    page = show(made, size)
    right = page.locator(".chart svg").evaluate("""svg => Math.max(...[...svg.querySelectorAll("rect.bar, text")]
        .map(node => node.getBoundingClientRect().right))""")
    assert right <= size[0] and page.locator(".chart .rung").count() == 18
    assert page.locator("p.docs a").evaluate_all("links => links.map(link => link.getAttribute('href'))") == [
        "docs/ladder.md", "docs/glossary.md"]
    assert page.locator(".chart .scroll, .chart.scroll").first.evaluate("box => box.scrollWidth <= box.clientWidth")


@pytest.mark.parametrize("size", [PHONE, PROJECTOR])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_control_at_every_size(show, ladder, size, scheme):
    page = show(ladder[0], size, color_scheme=scheme)
    assert is_within_width(page)
    assert unnamed_controls(page) == []
    for button in page.locator("button:visible").all():
        if button.is_enabled():
            button.click()
    for summary in page.locator("summary:visible").all():
        summary.click()
    assert is_within_width(page)


def test_print_is_as_wide_as_the_paper(show, ladder):
    page = show(ladder[0], (720, 1000))  # A4 without its margins
    page.emulate_media(media="print")
    assert is_within_width(page) and page.locator(".chart svg").is_visible()


def test_page_is_small(ladder):
    assert ladder[0].stat().st_size < 2_000_000


# ---- runs that were kept -------------------------------------------------------------------------------


def test_kept_run_is_drawn_as_the_run_itself(ladder, tmp_path):
    kept, page = tmp_path / "run.json", tmp_path / "page.html"
    kept.write_text(json.dumps(ladder[1]))
    done = run("ladder", "--from", kept, "--html", page)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    data = re.compile(r'id="data">(.*?)</script>', re.S)
    assert json.loads(data.search(page.read_text())[1]) == json.loads(data.search(ladder[0].read_text())[1])


def test_gpu_runs_have_their_ceiling(show, ladder, tmp_path):
    kept, html = tmp_path / "run.json", tmp_path / "page.html"
    runs = [as_on_gpu(ladder[1], n) for n in (1 << 22, 1 << 28)]
    kept.write_text("\n".join(json.dumps(one) for one in runs) + "\n")
    assert run("ladder", "--from", kept, "--html", html).returncode == 0
    page = show(html)
    for told in runs:
        page.get_by_role("button", name=f"n = {told['n']:,}").click()
        assert page.get_by_text(f"sum of {told['n']:,} i32 on <Imagined> GPU").is_visible()
        assert page.get_by_text("picoseconds per element").first.is_visible()
        assert shown_values(page) == [in_digits(row["microseconds"] * 1e6 / told["n"]) for row in told["rungs"]]
        page.locator('.mini[data-metric="gbps"]').click()
        assert page.get_by_text("ceiling 1000").is_visible()
        assert shown_values(page) == [in_digits(row["gbps"], 3) for row in told["rungs"]]
        line = page.locator(".chart .ceiling")
        assert float(line.get_attribute("x1")) == pytest.approx(BAR_LEFT + BAR_WIDTH)


@pytest.mark.parametrize("content, words", [
    ("", "is not a run of the ladder"),
    ("{}", "is not a run of the ladder"),
    ("[1, 2", "invalid JSON at byte 5"),
    ('{"rungs": [1, 2,]}', "invalid JSON at byte 16"),
    ('{"rungs": tru}', "invalid JSON at byte 10"),
    ('{"rungs": "\\x"}', "invalid JSON at byte 12"),
    ('{"rungs": 01}', "invalid JSON at byte 11"),
    ('{"rungs": []} </script>', "invalid JSON at byte 14"),
    ('{"rungs": []}\0{"rungs": []}', "invalid JSON at byte 13"),
    ("[" * 100 + '"rungs"' + "]" * 100, "invalid JSON at byte"),
])
def test_kept_runs_that_are_none(tmp_path, content, words):
    kept = tmp_path / "run.json"
    kept.write_text(content)
    assert str(kept) in refused(1, words, "ladder", "--from", kept, "--html", tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("content", [
    '{"rungs": [-0.5e+3, 0, 1E9, "\\u00e9\\n\\"", true, false, null, {}, []]}',
    ' [{"rungs":[]}]\n\t{"rungs":[]}\r\n',
])
def test_any_json_is_taken(tmp_path, content):
    kept = tmp_path / "run.json"
    kept.write_text(content)
    assert run("ladder", "--from", kept, "--html", tmp_path / "page.html").returncode == 0


def test_kept_run_that_is_not_there(tmp_path):
    refused(1, "none.json", "ladder", "--from", tmp_path / "none.json", "--html", tmp_path / "page.html")


def test_kept_run_without_a_page(tmp_path):
    refused(2, "--html", "ladder", "--from", tmp_path / "run.json")


def test_partials_are_no_page(tmp_path):
    refused(2, "--partials", "ladder", "--rung", "06", "--partials", "--html", tmp_path / "page.html")


def test_a_rung_keeps_its_name_where_its_counts_are_scrolled(show_own):
    page = show_own(size=PHONE)
    moved = page.locator(".facts-table").evaluate("""table => {
        const scroll = table.parentElement, name = table.tBodies[0].rows[3].cells[0], count = table.tBodies[0].rows[3].cells[4];
        const before = [name, count].map(cell => cell.getBoundingClientRect().left);
        scroll.scrollLeft = 150;
        return [name, count].map((cell, i) => before[i] - cell.getBoundingClientRect().left); }""")
    assert abs(moved[0]) <= 12 and moved[1] == 150  # the panel's edge apart
