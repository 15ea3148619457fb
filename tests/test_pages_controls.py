"""The page of explain in a browser: every control, and how it looks: colours, sizes, without motion, printed."""

import re

import pytest

from cli_helpers import ROOT, run
from explain_pages import PICTURE, each_frame, each_step, go_to, table_rows, texts, write_page
from page_helpers import PHONE, PROJECTOR, browser, is_in_view, is_within_width, show, unnamed_controls

assert browser and show  # fixtures


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


def test_the_rungs_beside_it_open_at_the_same_step(show, tmp_path):
    page = show(write_page(tmp_path, "05", "-n", 16)[0])
    beside = page.get_by_role("navigation", name="Rungs").get_by_role("link")
    addresses = lambda: [link.get_attribute("href") for link in beside.all()]
    assert addresses() == ["04.html", "06.html"]
    for key, step in (("ArrowRight", "#step=1"), ("ArrowRight", "#step=2"), ("End", ""), ("Home", "")):
        page.keyboard.press(key)
        assert addresses() == ["04.html" + step, "06.html" + step]


def test_a_page_opens_where_its_lesson_is_seen(show, tmp_path):
    """At the first step, where the values before it are those of the input; the pages of 04, 05 and 06 then differ."""
    seen = {}
    for rung, moment in (("04", "Step 1 of 4"), ("05", "Step 1 of 4"), ("06", "Step 1 of 4"), ("07", "Before the tree"), ("10", "Before the tree")):
        path = write_page(tmp_path, rung)[0]
        page = show(path)
        assert page.locator(".where").first.text_content() == moment and "#" not in page.url
        seen[rung] = (page.locator(".stage .thread").evaluate_all("nodes => nodes.map(node => node.dataset.state)"),
                      page.locator(".stage .box.conflict").count(), page.locator(".stage .combine").evaluate_all("nodes => nodes.map(node => node.dataset.target)"))
        page.goto(path.as_uri() + "#step=0")
        page.reload()
        assert page.locator(".where").first.text_content() == "Before the tree"
    assert seen["04"][0].count("waiting") == 8 and seen["05"][0].count("waiting") == seen["06"][0].count("waiting") == 0
    assert seen["05"][1] == 8 and seen["04"][1] == seen["06"][1] == 0
    assert seen["05"][2] != seen["06"][2]


def test_symbols_have_the_width_that_they_need(show, tmp_path):
    page = show(write_page(tmp_path, "06")[0], (1440, 900))
    for name in ("Symbols", "Values"):
        page.get_by_role("button", name=name, exact=True).click()
        for step in range(4):
            assert page.locator(".stage-panel .scroll").evaluate_all("nodes => nodes.map(node => node.dataset.more)") == ["no"]
            assert is_in_view(page, ".bar", ".stage-panel", ".memory-panel", ".kernel-panel"), (name, step)
            page.keyboard.press("ArrowRight")
        page.keyboard.press("Home")


def test_loads_of_many_elements_have_the_width_that_they_need(show, tmp_path):
    """Which is more than the steps after them need."""
    page = show(write_page(tmp_path, "11", "-n", 100, "--warp", 4, "--banks", 4, "--block", 8)[0], (1440, 900))
    assert page.locator(".stage .box.read").count() == 100
    assert page.locator(".stage-panel .scroll").get_attribute("data-more") == "no"
    assert is_in_view(page, ".bar", ".stage-panel", ".memory-panel", ".kernel-panel")


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


def test_the_counts_explain_their_terms(show, tmp_path):
    page = show(write_page(tmp_path, "05", *PICTURE)[0])
    told = set(page.locator("table th .term").evaluate_all("nodes => nodes.map(node => node.dataset.term)"))
    assert {"active lane", "bank degree", "utilization", "barrier", "wavefront", "request", "occupancy"} <= told
    heads = page.locator(".source thead .term").evaluate_all("nodes => nodes.map(node => [node.textContent, node.dataset.term])")
    assert {("wave- fronts", "wavefront"), ("warp", "warp")} <= set(map(tuple, heads))
    assert told | {term for _, term in heads} <= set(texts(page.locator(".terms dt")))


@pytest.mark.parametrize("size", [(1440, 900), (768, 1024)])
def test_what_a_rung_does_stands_above_what_it_fixes(size, show, tmp_path):
    """Not in a column as narrow as those, and its document is a link."""
    page = show(write_page(tmp_path, "17")[0], size)
    panel = page.locator("section", has_text="What it fixes, and what it costs").last
    told, fixed = panel.locator("p", has_text="The engine behind").bounding_box(), panel.locator("p", has_text="Fixes in 16").bounding_box()
    assert told["y"] + told["height"] <= fixed["y"] and told["width"] >= 1.5 * fixed["width"]
    assert panel.get_by_role("link", name="docs/exact-sums.md").get_attribute("href") == "docs/exact-sums.md"


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
        page.reload() # as another page would, it keeps what was chosen
        assert brightness(page.evaluate(GROUND)) < 384
        assert texts(page.locator("[aria-label=Colours] [aria-pressed=true]")) == ["Dark"]
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


def test_the_exact_sums_long_numbers_fit_a_phone(show, tmp_path):
    """Its whole stage is seen; a number near a round one stands on two lines, which add up to it."""
    path, data = write_page(tmp_path, "17")
    page, lists = show(path, (390, 844)), [data["start"]["values"]]
    for _, step in each_step(page, data):
        scroller = page.locator(".stage-panel .scroll").first
        assert scroller.evaluate("node => node.scrollWidth <= node.clientWidth")
        lists.append([combine["value"] for combine in step["combines"]])
        drawn = page.locator(".stage .cell").evaluate_all("""cells => cells.map(cell => [cell.querySelector("title").textContent,
            [...cell.querySelectorAll("text:not(.faint)")].map(node => node.textContent)])""")
        told = [(int(title.split(" = ")[1]), sum(int(float(line)) for line in lines)) for title, lines in drawn]
        assert len(told) == 16 and all(whole == added for whole, added in told)
        assert set(lists[-1]) <= {whole for whole, _ in told}
    assert ["1e8", "+14"] in [lines for _, lines in drawn]


def test_a_step_of_the_exact_sum_has_its_kernel_beside_it(show, tmp_path):
    page = show(write_page(tmp_path, "17")[0], (1440, 900))
    stage, kernel = (page.locator(selector).first.bounding_box() for selector in (".stage-panel", ".source"))
    assert stage["x"] + stage["width"] <= kernel["x"] and kernel["y"] < stage["y"] + stage["height"]


@pytest.mark.parametrize("rung, options", [("16", []), ("05", ["-n", 1024, "--warp", 32, "--banks", 32])])
def test_lanes_in_narrow_banks_do_not_touch(rung, options, show, tmp_path):
    page = show(write_page(tmp_path, rung, *options)[0], (1440, 900))
    go_to(page, 2 if rung == "05" else 0)
    rooms = page.locator(".banks .word").evaluate_all("""words => words.map(word => {
        const box = word.querySelector(".box").getBoundingClientRect(), text = word.querySelector("text").getBoundingClientRect();
        return Math.min(text.left - box.left, box.right - text.right); })""")
    assert len(rooms) >= 32 and min(rooms) >= 2


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


@pytest.mark.parametrize("options, theme", [({"color_scheme": "dark"}, "Auto"), ({}, "Dark")])
def test_what_is_printed_is_light(options, theme, show, tmp_path):
    page = show(write_page(tmp_path, "05", *PICTURE)[0], **options)
    page.get_by_role("button", name=theme, exact=True).click()
    colours = lambda: page.evaluate("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]")
    dark = colours()
    page.emulate_media(media="print")
    assert colours()[0] == "rgb(255, 255, 255)" != dark[0] and colours()[1] != dark[1]


def test_wide_numbers_keep_their_digits(show, tmp_path):
    wide = str(2**62 + 1)
    if run("explain", "06", "--type", "i64").returncode == 1:
        pytest.skip("no NVRTC")
    page = show(write_page(tmp_path, "06", "--type", "i64", "--values", f"{wide},2")[0])
    go_to(page, 1)
    assert table_rows(page, "Who adds what to what")[0][2] == str(2**62 + 3)
