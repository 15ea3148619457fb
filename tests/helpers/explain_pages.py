"""Pages of explain: written, walked through in a browser, and what they must show."""

import json

from cli_helpers import printed

PICTURE = ["--values", "3,1,7,0,4,1,6,3", "--warp", 8, "--banks", 4]


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


def expected_states(data, step):
    """The state of each thread in a step."""
    states = {}
    for thread in range(data["block"]):
        mask = step["active"][thread // data["warp"]]
        active = mask >> thread % data["warp"] & 1
        states[str(thread)] = "active" if active else "waiting" if mask else "idle"
    return states


def table_rows(page, caption):
    rows = page.locator("table", has=page.locator("caption", has_text=caption)).locator("tbody tr")
    return [texts(row.locator("th, td")) for row in rows.all()]
