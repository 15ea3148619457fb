"""The site that `make site` writes: every page is there, every link leads somewhere, and what draws with scripts has its
text without them."""

import html
import json
import os
import re
import subprocess
import sys
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from cli_helpers import CLI, ROOT, TIMEOUT_SECONDS, printed
from page_faults import FORMS, LEAST_TEXT, faults_in_every_form, faults_of
from page_helpers import PHONE, PROJECTOR, browser, is_in_view, is_within_width, show  # noqa: F401

sys.path.insert(0, str(ROOT / "scripts"))
import markdown  # noqa: E402

LINK_ATTRIBUTES = {("a", "href"), ("img", "src"), ("link", "href"), ("script", "src")}


class Reader(HTMLParser):
    """The links of a page, its anchors, and its text outside scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors, self.text, self.open = [], set(), "", []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        for name, value in attributes:
            if (tag, name) in LINK_ATTRIBUTES:
                self.links.append(value)
            if name == "id":
                self.anchors.add(value)

    def handle_endtag(self, tag):
        self.text += " " if tag in ("td", "th") else ""
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if not {"script", "style"} & set(self.open):
            self.text += data


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """{path within the site: its page}, and the folder."""
    folder = tmp_path_factory.mktemp("site")
    environment = {**os.environ, "WARPFOLD_CLI": CLI}
    subprocess.run([sys.executable, ROOT / "scripts" / "site", folder], check=True, timeout=TIMEOUT_SECONDS,
                   env=environment, stdout=subprocess.DEVNULL)
    return folder, {path.relative_to(folder).as_posix(): Reader(path.read_text()) for path in folder.rglob("*.html")}


def test_every_page_is_there(site):
    _, pages = site
    rungs = list((ROOT / "ladder").glob("[0-9]*.cu"))
    expected = {"index.html", "ladder.html", "puzzles.html", *(f"explain/{path.stem}.html" for path in rungs),
                *(f"wrong/{path.stem}.html" for path in (ROOT / "ladder" / "wrong").glob("*.cu")),
                *(f"docs/{path.stem}.html" for path in (ROOT / "docs").glob("*.md")),
                *(f"source/{path.relative_to(ROOT)}.html" for path in (ROOT / "ladder").glob("*.cu")),
                *(f"source/{path.relative_to(ROOT)}.html" for path in (ROOT / "puzzles").iterdir())}
    assert rungs and expected <= set(pages)


def test_every_link_leads_somewhere(site):
    folder, pages = site
    broken, count = [], 0
    for name, page in pages.items():
        for link in page.links:
            if link.startswith(("https://", "data:")):
                continue
            path, _, anchor = link.partition("#")
            target = os.path.normpath(Path(name).parent / path) if path else name
            count += 1
            exists = (folder / target).is_file() and not target.startswith("..")
            if not exists or (anchor and anchor not in pages[target].anchors):
                broken.append((name, link))
    assert count > 500 and broken == []


def test_every_page_can_be_reached_from_the_first(site):
    _, pages = site
    reached, waiting = set(), ["index.html"]
    while waiting:
        name = waiting.pop()
        if name in reached or name not in pages:
            continue
        reached.add(name)
        waiting += [os.path.normpath(Path(name).parent / link.partition("#")[0]) for link in pages[name].links
                    if not link.startswith(("https://", "data:", "#"))]
    assert set(pages) - reached == set()


def test_nothing_is_fetched_from_elsewhere(site):
    folder, pages = site
    for name in pages:
        text = (folder / name).read_text()
        assert "default-src 'none'" in text and not re.search(r"<(script|img|iframe)[^>]* src=\"(?!data:|(?:docs/)?pictures/)", text), name


def test_pages_that_draw_have_their_text_without_scripts(site):
    folder, pages = site
    noscript = re.search(r"<noscript>.*?<pre[^>]*>(.*?)</pre></div></noscript>", (folder / "explain" / "05_interleaved_strided.html").read_text(),
                         re.DOTALL)[1]
    assert html.unescape(noscript) == printed("explain", "05")
    assert "race at ladder/wrong/missing_loop_barrier.cu" in pages["wrong/missing_loop_barrier.html"].text


def test_the_ladder_has_its_times_without_scripts(site):
    folder, _ = site
    plain = re.search(r"<noscript>(.*?)</noscript>", (folder / "ladder.html").read_text(), re.DOTALL)[1]
    most = max(map(json.loads, (ROOT / "data" / "h200" / "ladder_times.jsonl").read_text().splitlines()), key=lambda run: run["n"])
    shown = re.findall(r'<a href="explain/(\d\d)_(\w+)\.html">\1_\2</a></th><td>(.*?)</td><td>(.*?)</td><td>(.*?)</td>', plain)
    assert [row[:2] for row in shown] == [(row["rung"], row["name"]) for row in most["rungs"]]
    for (*_, each, gbps, share), row in zip(shown, most["rungs"]):
        assert float(each) == pytest.approx(row["microseconds"] * 1e6 / most["n"], rel=1e-3)
        assert float(gbps) == float(f"{row['gbps']:.3g}") and share == f"{100 * row['share']:.1f}"
    assert f"{most['n']:,} {most['type']} on {most['gpu']}" in plain


@pytest.mark.parametrize("name", ["ladder.html", "explain/05_interleaved_strided.html", "wrong/missing_loop_barrier.html", "index.html"])
def test_without_scripts_nothing_is_wider_than_the_screen(name, site, show):
    folder, _ = site
    for size in (PHONE, (820, 1180)):
        page = show(folder / name, size, java_script_enabled=False)
        assert page.locator("body").bounding_box()["width"] <= size[0]
        for box in page.locator(".plain > *, header").all():
            place = box.bounding_box()
            assert place["width"] > 100 and place["x"] + place["width"] <= size[0]


def test_the_page_of_the_exact_sum(site):
    folder, pages = site
    text = (folder / "explain" / "17_exact.html").read_text()
    assert "in f32, by halves as in rung 06     32" in text and "exact, rounded once                 24" in text
    assert "16_bulk_copy.html" in text and "17_exact.html" in (folder / "explain" / "16_bulk_copy.html").read_text()


def test_a_wrong_kernel_page_says_what_is_wrong(site):
    _, pages = site
    assert "Wrong: No barrier in the loop" in pages["wrong/missing_loop_barrier.html"].text
    assert "Found: race." in pages["wrong/missing_loop_barrier.html"].text
    titles = [re.search(r"<title>(.*?) - warpfold</title>", (site[0] / name).read_text())[1] for name in pages]
    assert "Wrong: No barrier in the loop" in titles and len(set(titles) - {"The ladder"}) == len(titles) - titles.count("The ladder")
    assert "Nothing was found, but the result is wrong." in pages["wrong/final_pass.html"].text
    assert "wrong result: " in pages["wrong/final_pass.html"].text  # without scripts, too


def test_texts_are_those_of_the_repository(site):
    _, pages = site
    source = (ROOT / "ladder" / "06_sequential.cu").read_text()
    assert source in pages["source/ladder/06_sequential.cu.html"].text
    assert "sdata[index] += sdata[index + s];" in pages["docs/ladder.html"].text
    puzzle = (ROOT / "puzzles" / "12_conflict_free.cu").read_text().split("\n\n", 1)[1].rstrip()
    assert puzzle in pages["puzzles.html"].text and "[33]" not in pages["puzzles.html"].text
    words = re.compile(r"\w{4,}")
    written = re.sub(r"\]\([^)]*\)|<!--.*?-->", "", (ROOT / "docs" / "simulator.md").read_text())
    assert len(words.findall(written)) > 500
    assert set(words.findall(written)) <= set(words.findall(pages["docs/simulator.html"].text))


@pytest.mark.parametrize("text, made", [
    ("# A `b` c", '<h1 id="a-b-c">A <code>b</code> c</h1>'),
    ("a *b* **c** 2 * 3 * 4", "<p>a <i>b</i> <b>c</b> 2 * 3 * 4</p>"),
    ("`--json` `a-b`", "<p><code class=whole>--json</code> <code class=whole>a-b</code></p>"),
    ("`a*b*c` [x `y`](z.md#w)", '<p><code>a*b*c</code> <a href="z.md#w">x <code>y</code></a></p>'),
    ("<https://a.b/c>", '<p><a href="https://a.b/c">https://a.b/c</a></p>'),
    ("a < b & c", "<p>a &lt; b &amp; c</p>"),
    ("- a\n  b\n- c", "<ul><li>a b</li><li>c</li></ul>"),
    ("1. a\n2. b\n\nc", "<ol><li>a</li><li>b</li></ol>\n<p>c</p>"),
    ("    a\n\n    b\n\nc", '<pre class="scroll" tabindex="0">a\n\nb</pre>\n<p>c</p>'),
    ("```c\n*a* <b>\n```", '<pre class="scroll" tabindex="0">*a* &lt;b&gt;</pre>'),
    ("<!-- a -->\nb", "<p>b</p>"),
    ("|a|b|\n|---|---:|\n|1|2 \\| `3 \\| 4`|", '<div class="scroll" tabindex="0" role="region" aria-label="Table: a, b"><table><thead><tr><th class=left>a</th><th>b</th></tr></thead><tbody>\n'
     "<tr><td class=left>1</td><td>2 | <code>3 | 4</code></td></tr>\n</tbody></table></div>"),
])
def test_markdown(text, made):
    assert markdown.to_html(text, lambda target: target) == made


def test_a_table_of_texts_has_the_names_of_its_columns_in_its_cells():
    long = "a text that needs more room than a column of numbers"
    made = markdown.to_html(f"|kind|`is`|cure|\n|---|---|---:|\n|a|{long}|{long}|", lambda target: target)
    assert made.startswith('<div class="scroll" tabindex="0" role="region" aria-label="Table: kind, is, cure">'
                           '<table class=prose role=table><thead><tr role=row>'
                           "<th class=left role=columnheader>kind</th>")
    assert f'<td class=left data-long=yes role=cell data-name=is>{long}</td>' in made
    assert f'<td data-long=yes role=cell data-name=cure>{long}</td>' in made
    for rule, is_prose in (("---|---|---", True), ("---|---|---:", False)):  # short texts beside it; numbers
        assert ("prose" in markdown.to_html(f"|word|meaning|source|\n|{rule}|\n|a|{long}|b|", lambda target: target)) == is_prose
    two = markdown.to_html(f"|a|b|\n|---|---|\n|{long}|{long}|", lambda target: target)
    assert "prose" not in two and two.count("data-long") == 2 and "data-name" not in two


def test_no_text_stands_in_a_narrow_column(site, show):
    """Of all documents, on a phone and on a tablet: what is long has room, and nothing is wider than the screen."""
    folder, pages = site
    seen = 0
    for size in ((390, 844), (820, 1180)):
        for name in sorted(name for name in pages if name.startswith("docs/")):
            page = show(folder / name, size)
            assert is_within_width(page), (name, size)
            cells = page.evaluate("""() => [...document.querySelectorAll("td")].map(cell =>
                [cell.textContent.trim(), cell.getBoundingClientRect().width]).filter(([text]) => text.length > 40)""")
            seen += len(cells)
            assert [(name, text, width) for text, width in cells if width < 130] == []
    assert seen > 100


@pytest.mark.parametrize("name", ["index.html", "ladder.html"])
def test_pages_look_right_in_every_form(name, site, show):
    folder, _ = site
    assert faults_in_every_form(show, folder / name) == []


def test_a_listing_begins_with_a_whole_line(site, show):
    """Also where it was scrolled before what stands beside it made it higher."""
    page = show(site[0] / "wrong" / "missing_loop_barrier.html", (1440, 900))
    assert page.locator(".listing").evaluate("""async node => {
        await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
        const end = node.querySelector("thead th").getBoundingClientRect().bottom;
        return node.scrollTop > 0 && [...node.querySelectorAll("tbody tr")].some(row => Math.abs(row.getBoundingClientRect().top - end) <= 2);
    }""")


def test_the_front_page_leads_to_each_puzzle_and_says_what_is_wrong(site):
    text = (site[0] / "index.html").read_text()
    tasks = dict(re.findall(r'href="puzzles\.html#(\d\d_\w+)">.*?<span class=faint>(.*?)</span>', text))
    assert len(tasks) == 12 and tasks["01_missing_barrier"] == "a race" and tasks["12_conflict_free"] == "a right result, at too high a cost"
    judged = re.findall(r"the judge finds (.*?)\.", site[1]["puzzles.html"].text)
    assert judged == [tasks[stem] for stem in sorted(tasks)]
    faults = re.findall(r'href="wrong/\w+\.html">.*?<span class=faint>(.*?)</span>', text)
    assert len(faults) == 12 and all(fault.startswith(("a ", "an ")) for fault in faults)


def test_each_puzzle_has_the_command_that_judges_it_in_a_checkout(site):
    judged = re.findall(r"warpfold judge (puzzles/\w+\.cu)", site[1]["puzzles.html"].text)
    assert judged == sorted(str(path.relative_to(ROOT)) for path in (ROOT / "puzzles").glob("*.cu"))


def test_the_guide_and_the_sources_lead_to_what_is_drawn(site):
    folder, pages = site
    drawn = sorted(name for name in pages if name.startswith(("explain/", "wrong/")))
    assert sorted({link.removeprefix("../") for link in pages["docs/ladder.html"].links if link.startswith(("../explain/", "../wrong/"))}) == drawn
    for name in drawn:
        stem = Path(name).stem
        source = f"source/ladder/{'wrong/' * name.startswith('wrong/')}{stem}.cu.html"
        assert "../" * source.count("/") + name in pages[source].links, source


def test_long_pages_list_their_sections(site):
    _, pages = site
    puzzles = sorted(path.stem for path in (ROOT / "puzzles").glob("*.cu"))
    assert [link[1:] for link in pages["puzzles.html"].links if link.startswith("#") and link != "#main"] == puzzles
    written = re.findall(r"^## (.*)$", (ROOT / "docs" / "judge.md").read_text(), re.MULTILINE)
    assert len(written) >= 4
    assert [link for link in pages["docs/judge.html"].links if link.startswith("#") and link != "#main"][:len(written)] == [
        f"#{title.lower().replace(' ', '-')}" for title in written]


@pytest.mark.parametrize("turn", range(len(FORMS)))
def test_every_page_looks_right(turn, site, show):
    """Each in one size and scheme, and of pages of a kind one in each; of the sources, which are alike, a sixth."""
    folder, pages = site
    size, scheme = FORMS[turn]
    page = show(folder / "index.html", size, color_scheme=scheme)
    drawn = sorted(name for name in pages if not name.startswith("source/"))[turn::len(FORMS)]
    sources = sorted(name for name in pages if name.startswith("source/"))[turn::len(FORMS) ** 2]
    assert len(drawn) > 5 and sources
    for name in drawn + sources:
        page.goto((folder / name).as_uri())
        assert faults_of(page) == [], name


def test_the_ladder_leads_to_the_page_of_each_rung_whose_times_are_recorded(site, show):
    folder, pages = site
    runs = map(json.loads, (ROOT / "data" / "h200" / "ladder_times.jsonl").read_text().splitlines())
    recorded = {f"explain/{rung['rung']}_{rung['name']}.html" for run in runs for rung in run["rungs"]}
    page = show(folder / "ladder.html")
    reached = set()
    for _ in range(page.locator(".card").count()):
        reached.add(page.locator("#rung .steps a").get_attribute("href"))
        page.keyboard.press("ArrowRight")
    assert reached == recorded <= set(pages) and len(reached) > 17


def test_colours_chosen_on_one_page_are_those_of_the_next(site, show):
    """Of pages that draw, and of those of text."""
    page = show(site[0] / "explain" / "05_interleaved_strided.html")
    page.get_by_role("button", name="Dark").click()
    for name in ("index.html", "docs/ladder.html", "explain/06_sequential.html"):
        page.goto((site[0] / name).as_uri())
        assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark", name


def test_a_rungs_page_leads_to_the_titles_of_what_it_is_from(site, show):
    """Beside where it is from, and beside the errors that are printed there; a rung of our own has none."""
    folder, pages = site
    for stem, count in (("05_interleaved_strided", 2), ("12_warp_shuffle", 1), ("13_vector_load", 0)):
        links = show(folder / "explain" / f"{stem}.html").get_by_role("link", name="Titles and places")
        assert [link.get_attribute("href") for link in links.all()] == count * ["../docs/ladder.html#sources"]
    assert "sources" in pages["docs/ladder.html"].anchors


def test_texts_fit_the_screen(site, show):
    folder, _ = site
    for name in ("index.html", "puzzles.html", "docs/ladder.html", "docs/judge.html", "explain/05_interleaved_strided.html"):
        page = show(folder / name, PHONE)
        assert page.locator("nav a").count() >= 4 and page.locator("p.docs").count() == 0
        for width, height in (PHONE, (820, 1180), (1440, 900), PROJECTOR):
            page.set_viewport_size({"width": width, "height": height})
            assert is_within_width(page), (name, width)
            assert all(size >= LEAST_TEXT for size in least_letters(page)), (name, width)


def least_letters(page):
    """Of each picture that is a file: the size of its smallest letters, as it is shown."""
    shown = page.evaluate("""() => Promise.all([...document.images].map(image => image.decode().then(() =>
        [image.currentSrc, image.getBoundingClientRect().width])))""")
    for source, width in shown:
        text = Path(unquote(urlsplit(source).path)).read_text()
        whole = float(re.search(r'viewBox="0 0 (\d+) ', text)[1])
        yield min(map(float, re.findall(r'font-size="([\d.]+)"', text))) * width / whole


@pytest.mark.parametrize("stem", ["05_interleaved_strided", "08_unrolled_last_warp", "12_warp_shuffle", "14_last_block", "16_bulk_copy", "17_exact"])
def test_a_step_is_on_one_screen(stem, site, show):
    """The idea, the stage, the memory, the code and what drives them, at every step; on a tablet, too, where wide pictures scroll."""
    folder, _ = site
    page = show(folder / "explain" / f"{stem}.html", (1440, 900))
    for width, height in ((1440, 900), (820, 1180)):
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_function("size => innerWidth === size[0] && innerHeight === size[1]", arg=[width, height])
        page.keyboard.press("Home")
        for _ in range(int(page.locator("input[type=range]").first.get_attribute("max")) + 1):
            assert is_in_view(page, ".idea", ".player", ".stage-panel", ".memory-panel", ".kernel-panel"), width
            assert width < 1440 or page.evaluate("""() => [...document.querySelectorAll(".bench .scroll")]
                .every(node => node.scrollWidth <= node.clientWidth + 1)""")
            page.keyboard.press("ArrowRight")
