"""warpfold run --source and --html: what a program executed of each line, as text, as JSON and as a page."""

import json
import re
import shutil

import pytest

from cli_helpers import run
from page_helpers import PHONE, browser, is_within_width, numeral, show, unnamed_controls
from program_helpers import NVCC, SOURCES, compiled, environment

assert browser and show  # fixtures

COUNTS = ("instructions", "thread_instructions", "divergent_branches", "global_requests", "global_sectors",
          "shared_wavefronts", "shared_wavefronts_least", "atomics")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """Beside its source, so that this may be shown."""
    if not NVCC:
        pytest.skip("no nvcc")
    folder = tmp_path_factory.mktemp("lines")
    source = shutil.copy(SOURCES / "lines.cu", folder)
    return compiled(folder, "program", source, "-cudart", "shared", "-lineinfo", "-gencode",
                    "arch=compute_75,code=compute_75")


@pytest.fixture(scope="module")
def made(program):
    """(JSON, page, lines of the source)."""
    report, page = program.parent / "report", program.parent / "page.html"
    done = run("run", "--json", "--out", report, "--html", page, program, env=environment())
    assert (done.returncode, done.stdout) == (3, f"{sum(i % 7 for i in range(1000))}\n"), done
    return json.loads(report.read_text()), page, ["", *(program.parent / "lines.cu").read_text().splitlines()]


@pytest.mark.slow
def test_counts_of_lines_add_up_to_those_of_kernels(made):
    report, _, source = made
    for name in COUNTS:
        assert sum(line[name] for line in report["lines"]) == sum(kernel[name] for kernel in report["kernels"]), name
    by_line = {line["line"]: line for line in report["lines"]}
    assert {line["file"] for line in report["lines"]} == {report["coverage"][0]["file"]}
    barrier = next(i for i, text in enumerate(source) if text == "        __syncthreads();")
    assert by_line[barrier]["instructions"] >= 3 * 7 * 4  # launches, steps, warps


def test_lines_that_no_launch_executed(made):
    report, _, source = made
    coverage, = report["coverage"]
    assert [source[line].strip() for line in coverage["not_executed"]] == ["a[0] = sqrtf(a[1]);", "a[1] = a[0] / 3;"]
    assert coverage["executed"] == coverage["lines"] - 2 == sum(line["instructions"] > 0 for line in report["lines"])


def test_lines_as_text(program, made):
    report, _, source = made
    done = run("run", "--source", program, env=environment())
    assert done.returncode == 3
    coverage, = report["coverage"]
    first, last = coverage["not_executed"]
    assert f"{coverage['executed']} of {coverage['lines']} lines with code executed; not executed: {first}-{last}" in done.stderr
    table = re.findall(r"^ *(\d+) +(\d+) +[\d.]+ +(\d+) +(\d+) \| (.*)$", done.stderr, re.M)
    assert [tuple(map(int, row[:4])) for row in table] == [
        (line["line"], line["instructions"], line["global_sectors"], line["shared_wavefronts"])
        for line in report["lines"] if line["instructions"]]
    assert all(source[int(row[0])] == row[4] for row in table)
    slowest = re.findall(r"^ +([\d.]+) % +(\d+)  (\w+)$", done.stderr, re.M)
    kernels = sorted(report["kernels"], key=lambda kernel: -kernel["instructions"])
    assert [(int(count), name) for _, count, name in slowest] == [(k["instructions"], k["kernel"]) for k in kernels]
    assert sum(float(share) for share, *_ in slowest) == pytest.approx(100, abs=0.2)


def test_without_being_asked_lines_are_not_counted(program):
    done = run("run", "--json", program, env=environment())
    assert "lines" not in json.loads(done.stderr) and "coverage" not in json.loads(done.stderr)


def test_page_has_the_numbers_of_the_json(show, made):
    report, path, _ = made
    page = show(path)
    rows = page.locator("table.kernels tbody tr").all()
    kernels = sorted(report["kernels"], key=lambda kernel: -kernel["instructions"])
    assert [row.locator("th").text_content() for row in rows] == [kernel["kernel"] for kernel in kernels]
    assert [row.locator("td").nth(1).text_content() for row in rows] == [numeral(k["instructions"]) for k in kernels]
    listing = {int(row.get_attribute("data-line")): row for row in page.locator(".listing tbody tr").all()}
    for heat, key in (("Instructions", "instructions"), ("Global requests", "global_requests"), ("Divergence", "divergent_branches")):
        page.get_by_role("button", name=heat, exact=True).click()
        listing = {int(row.get_attribute("data-line")): row for row in page.locator(".listing tbody tr").all()}
        for line in report["lines"]:
            shown = listing[line["line"]].locator("td.count").first.text_content()
            assert shown == (numeral(line[key]) if line[key] else ""), (heat, line)
    missed = [number for number, row in listing.items() if "missed" in (row.get_attribute("class") or "").split()]
    assert missed == report["coverage"][0]["not_executed"]
    coverage, left = report["coverage"][0], len(missed)
    assert page.get_by_text(f"{coverage['executed']} of {coverage['lines']} lines with code were executed; {left}, marked ○, "
                            f"{'was' if left == 1 else 'were'} not.").is_visible()
    assert page.get_by_role("button", name="leak").text_content().endswith(
        f"{report['leaks']} allocation of device memory, {numeral(report['leaked_bytes'])} bytes, "
        "not freed when the program ended: call cudaFree")
    launches = sum(kernel["launches"] for kernel in kernels)
    assert page.locator(".panel", has=page.get_by_role("heading", name="Summary")).text_content().endswith(
        f" on a simulated {report['gpu']} · status {report['status']} · {len(kernels)} kernels, {launches} launches")


HEATS = {"bank-conflict": "Bank conflicts", "uncoalesced": "Global requests", "divergence": "Divergence", "contended-atomic": "Atomics"}


def test_page_opens_on_what_was_found_or_advised(show, made):
    report, path, _ = made
    page = show(path)
    entries = [entry for entry in report["findings"] + report["advice"] if entry["line"]]
    buttons = [button for button in page.locator(".findings button").all() if button.locator("b").text_content() != "leak"]
    assert entries and len(buttons) == len(entries)
    for button, entry in [(None, entries[0]), *zip(buttons, entries)]:
        if button:
            button.click()
        assert page.locator(".listing tr.chosen").get_attribute("data-line") == str(entry["line"])
        heat = page.get_by_role("group", name="Heat by").locator("[aria-pressed=true]").text_content()
        assert heat == HEATS.get(entry["kind"], "Instructions")


def test_page_explains_its_terms(show, made):
    page = show(made[1])
    for rest in ("hover", "focus"):
        for term in ("sector", "wavefront", "barrier"):
            getattr(page.locator(f".kernels .term[data-term={term}]").first, rest)()
            assert page.get_by_role("tooltip").text_content().startswith(term)
    assert {"wavefront", "sector"} <= set(page.locator(".terms dt").all_text_contents())


def test_page_fits_a_phone(show, made):
    page = show(made[1], PHONE)
    assert is_within_width(page)
    assert unnamed_controls(page) == []
