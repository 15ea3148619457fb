"""How the pages of explain, inspect and ladder look: three sizes, light and dark, kernels of every shape."""

import pytest

from cli_helpers import run
from inspect_helpers import HEAD, kernel
from page_faults import FORMS, faults_in_every_form, faults_of
from page_helpers import PHONE, browser, show
from test_inspect_lines import LAUNCH, RACE, costs

assert browser and show and costs  # fixtures

EXPLAINED = [  # rung, options, the step that is looked at
    ("00", ["-n", 40, "--block", 32, "--op", "max"], 1), ("01", ["-n", 7, "--warp", 4], 1), ("03", ["-n", 24, "--warp", 4, "--banks", 8], 2),
    ("04", ["-n", 64, "--warp", 16, "--type", "f64"], 1), ("05", [], 2), ("05", ["-n", 1], 0), ("05", ["-n", 33], 2),
    ("05", ["-n", 1024], 5), ("08", ["-n", 2048], 0), ("10", [], 0), ("10", ["-n", 100, "--warp", 32, "--op", "max"], 1),
    ("12", ["-n", 40], 0), ("13", [], 2), ("14", ["-n", 300], 0), ("17", [], 2),
]


@pytest.mark.parametrize("rung, options, step", EXPLAINED)
def test_explain(rung, options, step, show, tmp_path):
    path = tmp_path / "page.html"
    assert run("explain", rung, *options, "--html", path).returncode == 0
    assert faults_in_every_form(show, path, f"#step={step}") == []


def test_symbols(show, tmp_path):
    path = tmp_path / "page.html"
    assert run("explain", "05", "--html", path).returncode == 0
    assert faults_in_every_form(show, path, "#step=3", lambda page: page.get_by_role("button", name="Symbols").click()) == []


def test_inspect(show, costs, tmp_path):
    path, ptx = tmp_path / "page.html", tmp_path / f"race_{'x' * 80}.ptx"
    assert run("inspect", costs, *LAUNCH, "--html", path).returncode == 0
    assert faults_in_every_form(show, path) == []
    ptx.write_text(HEAD + kernel("race", [], RACE))
    assert run("inspect", ptx, "--block", 64, "--html", path).returncode == 3
    assert faults_in_every_form(show, path) == []


def test_names_of_rows_on_the_smallest_phone(show, tmp_path):
    path = tmp_path / "page.html"
    assert run("explain", "05", "--html", path).returncode == 0
    page = show(path, PHONE)
    page.goto(path.as_uri() + "#step=2")
    assert faults_of(page) == []


@pytest.mark.parametrize("rung", ["00", "05", "12"])  # a queue, bank conflicts, a tree that is wider than a phone
def test_ladder(rung, show, tmp_path):
    path = tmp_path / "page.html"
    assert run("ladder", "-n", 3000, "--html", path).returncode == 0
    choose = lambda page: page.locator(f'.card[data-rung="{rung}"]').click()
    assert faults_in_every_form(show, path, prepare=choose) == []


WRONG = """<!doctype html><html><body style="margin:0; color: #000; background: #fff"><h2>No title</h2>
<p style="color: #999">faint</p><button style="min-height: 0; height: 20px">low</button>
<table><tr><td style="max-width: 2em; white-space: nowrap">a long text in a narrow cell</td></tr></table>
<div style="overflow-x: auto; width: 100px"><div style="width: 300px">wide</div></div><div style="width: 2000px">wider</div>
<svg width="100" height="60" viewBox="0 0 100 60"><text x="0" y="12" font-size="12">one</text><text x="4" y="12" font-size="12">two</text>
<text x="0" y="30" font-size="6">small</text><text x="80" y="50" font-size="12">beyond</text></svg>
<svg width="100" height="60"><rect width="60" height="60" fill="#222"/><text x="5" y="30" font-size="12">dark</text><text x="62" y="50" font-size="12">
fine</text><path d="M0 0H9" fill="none" stroke="#ccc"/><path class="rest" d="M0 0H9" fill="none" stroke="#ccc"/></svg>
<svg width="100" height="60"><rect x="1" y="20" width="70" height="30" fill="none" stroke="#000"/><text x="5" y="25" font-size="12">struck</text>
<text x="5" y="45" font-size="12">within</text></svg></body></html>"""


ONE_SCHEME = """<!doctype html><html><style>:root { color-scheme: light dark } body { color: #000; background: #fff }
@media (prefers-color-scheme: dark) { body { color: #222; background: #000 } }</style><body><h1>faint</h1></body></html>"""


def test_a_fault_of_one_scheme_is_found_at_every_size(show, tmp_path):
    path = tmp_path / "one_scheme.html"
    path.write_text(ONE_SCHEME)
    found = faults_in_every_form(show, path)
    assert [(size, scheme, kind) for size, scheme, kind, *_ in found] == [
        (size, scheme, "contrast") for size, scheme in FORMS if scheme == "dark"]


@pytest.mark.parametrize("options, is_dark", [({}, False), ({"color_scheme": "dark"}, True)])
def test_a_page_that_is_used_again_has_its_own_scheme(options, is_dark, browser):
    if browser is None:
        pytest.skip("made, not shown")
    page = browser.take(PHONE, options)
    page.emulate_media(color_scheme="light" if is_dark else "dark")
    browser.give_back(page, PHONE, options)
    again = browser.take(PHONE, options)
    assert again is page and again.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") == is_dark
    browser.give_back(again, PHONE, options)


def test_each_kind_of_fault_is_found(show, tmp_path):
    path = tmp_path / "wrong.html"
    path.write_text(WRONG)
    found = faults_of(show(path))
    assert {kind for kind, _, _ in found} == {
        "contrast", "target", "spilt", "no key", "too wide", "overlap", "tiny", "cut", "headings", "mark", "struck"}
    assert [told.split()[0] for kind, _, told in found if kind == "contrast"] == ["faint", "dark"]
    assert [told.split()[0] for kind, _, told in found if kind == "struck"] == ["struck"]
    assert sum(kind == "mark" for kind, _, _ in found) == 1
