"""Pages in a real browser: Debian's Chromium without a window, driven by Playwright.  Where either is missing, the
tests that need them are skipped by name.

WARPFOLD_BROWSER=none: pages are made and not shown, for builds whose own doing is all that is looked at (sanitizers).
"""

import json
import os
import re
import shutil
from decimal import ROUND_HALF_UP, Context, Decimal

import pytest

# The one that has no window at all takes two thirds of the other's processor time.
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium") or shutil.which("chromium-browser")
IS_SHOWN = os.environ.get("WARPFOLD_BROWSER") != "none"
PHONE, PROJECTOR = (360, 740), (1920, 1080)


@pytest.fixture(scope="module")
def browser():
    if not IS_SHOWN:
        yield None
        return
    playwright = pytest.importorskip("playwright.sync_api", reason="skipped: no Playwright")
    if not CHROMIUM:
        pytest.skip("skipped: no Chromium")
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield Browser(chromium)
        chromium.close()


class Browser:
    """Pages are used again: each is a process of Chromium's, which takes longer to start than most tests."""

    def __init__(self, chromium):
        self.chromium = chromium
        self.idle = {}  # by size and options

    def take(self, size, options):
        idle = self.idle.get((size, *options.items()))
        if idle:
            return idle.pop()
        return self.chromium.new_context(viewport={"width": size[0], "height": size[1]}, **options).new_page()

    def give_back(self, page, size, options):
        """Nothing that a test has done to the page is left for the next."""
        page.evaluate("() => { try { localStorage.clear(); } catch {} }")
        page.goto("about:blank")
        page.emulate_media(media="null", color_scheme=options.get("color_scheme", "light"))
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.mouse.move(0, 0)
        self.idle.setdefault((size, *options.items()), []).append(page)


@pytest.fixture
def show(browser):
    """show(path, size) -> the page, opened.  At the end: it said no error, and asked for nothing but itself."""
    opened, said, asked = [], [], []
    listeners = {"console": lambda message: said.append(message.text), "pageerror": lambda error: said.append(str(error)),
                 "request": lambda request: asked.append(request.url)}

    def open_page(path, size=(1280, 900), **options):
        if not IS_SHOWN:
            pytest.skip("made, not shown")
        page = browser.take(size, options)
        opened.append((page, size, options))
        for event, listener in listeners.items():
            page.on(event, listener)
        page.goto(path.as_uri())
        return page

    yield open_page
    for page, size, options in opened:
        for event, listener in listeners.items():
            page.remove_listener(event, listener)
        browser.give_back(page, size, options)
    assert said == []
    assert all(url.startswith(("file:", "data:")) for url in asked)


def page_data(page):
    """The page's own JSON."""
    return json.loads(page.locator("#data").text_content())


def altered(path, change):
    """The page, drawn from other data; and those."""
    text = path.read_text()
    begin, old, end = re.fullmatch(r'(.*id="data">)(.*?)(</script>.*)', text, re.DOTALL).groups()
    data = json.loads(old)
    change(data)
    made = path.with_name(f"altered_{path.name}")
    made.write_text(begin + json.dumps(data).replace("<", "\\u003c") + end)
    return made, data


def numeral(value):
    """A number as the page writes it: whole ones whole, in groups of three from five digits on; four digits of others."""
    exact = Decimal(value)
    if exact == exact.to_integral_value() or abs(exact) >= 1000:
        whole = exact.quantize(Decimal(1), ROUND_HALF_UP)
        return f"{whole:,}" if abs(whole) >= 10000 else str(whole)
    return digits(exact, 4)


def digits(value, count):
    return f"{float(Context(prec=count, rounding=ROUND_HALF_UP).create_decimal(value)):.10g}"


def brief(value):
    """A count in a listing: three digits from 100,000 on."""
    if value < 100000:
        return numeral(value)
    size, name = next((size, name) for size, name in ((10**9, "G"), (10**6, "M"), (1000, "k")) if value >= 0.9995 * size)
    return digits(Decimal(value) / size, 3) + name


def is_within_width(page):
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def is_in_view(page, *selectors):
    """Do the first of each stand within the window, from top to bottom?"""
    return page.evaluate("""selectors => selectors.every(selector => {
        const {top, bottom} = document.querySelector(selector).getBoundingClientRect();
        return 0 <= top && Math.floor(bottom) <= innerHeight; })""", list(selectors))


def unnamed_controls(page):
    """Whatever can be operated, and has no name that could be read out."""
    return page.evaluate("""() => [...document.querySelectorAll("button, input, select, a, [tabindex='0'], svg[role=img]")]
        .filter(node => !(node.getAttribute("aria-label") || node.textContent.trim()))
        .map(node => node.outerHTML.slice(0, 200))""")
