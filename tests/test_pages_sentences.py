"""What the pages say, beside the JSON: each sentence with a number that test_pages*.py do not compare as part of a
control.  Some that no kernel here would bring about are drawn from JSON that is made up; what is tested is the drawing."""

import json
import re

import pytest

from cli_helpers import run
from inspect_helpers import HEAD, kernel, parameters
from page_helpers import browser, numeral, page_data, show
from program_helpers import compiled, environment, needs_nvcc
from test_pages import each_frame, ends, lanes_of, table_rows, texts, write_page
from test_pages_inspect import costs_page, memory_words
from test_inspect_lines import RACE, costs

assert browser and show and costs and costs_page  # fixtures


def plural(count, noun, nouns=None):
    return f"{count} {noun if count == 1 else nouns or noun + 's'}"


def altered(path, change):
    """The page, drawn from other data; and those."""
    text = path.read_text()
    begin, old, end = re.fullmatch(r'(.*id="data">)(.*?)(</script>.*)', text, re.DOTALL).groups()
    data = json.loads(old)
    change(data)
    made = path.with_name(f"altered_{path.name}")
    made.write_text(begin + json.dumps(data).replace("<", "\\u003c") + end)
    return made, data


# ---- explain: what is going on in a step -----------------------------------------------------------------

STEPS = {  # rungs of every store, with warps at rest, conflicts, and neither shared nor global memory
    "00": ["-n", 40, "--warp", 4], "01": ["-n", 160, "--warp", 16], "05": ["-n", 64, "--warp", 8, "--banks", 8],
    "06": ["-n", 100, "--type", "f64", "--op", "max"], "12": ["-n", 64],
}


def told_step(data, step):
    parting = plural(step["divergent_warps"], "warp") + (" diverges" if step["divergent_warps"] == 1 else " diverge")
    told = [f"{step['active_lanes']} of {plural(step['warps'] * data['warp'], 'lane')} active in {plural(step['warps'], 'working warp')}",
            parting if step["divergent_warps"] else "no warp diverges"]
    told += [plural(step["global_requests"], "global request")] if step["global_requests"] else []
    told += [f"{plural(step['shared_wavefronts'], 'shared wavefront')}, bank degree {numeral(step['bank_degree'])}"] if step["shared_wavefronts"] else []
    is_without = not any(access["space"] in ("global", "shared") for access in step["accesses"])
    return "; ".join(told) + "." + is_without * " Values go from register to register, no memory is touched."


def told_access(access):
    cost = plural(access["wavefronts"], "wavefront") if access["space"] == "shared" else plural(access["requests"], "request")
    is_conflict = access["space"] == "shared" and access["wavefronts"] > access["least"]
    return f"{access['kind']} {access['space']}, line {access['line']}: {cost}{' (conflict)' * is_conflict}"


def cell_name(store, cell):
    return {"input": f"input[{cell}]", "shared": f"shared[{cell}]", "registers": f"thread {cell}'s value", "result": "result"}[store]


def told_combine(data, step, combine):
    """A row of the additions."""
    sources = [cell_name("registers" if step["store"] == "result" else step["store"], source) for source in combine["sources"]]
    if len(sources) > 3:
        sources = [sources[0], f"{sources[1]} … {sources[-1]}"]
    target = cell_name(step["store"], combine["target"])
    sign = {"sum": "+", "prod": "×"}.get(data["op"])
    what = f"{target} {sign}= {', '.join(sources)}" if sign else f"{target} = {data['op']}({target}, {', '.join(sources)})"
    return [str(combine["thread"]), what, str(combine["value"])]


def check_memory(page, warp, accesses):
    panel = page.locator(".memory-panel")
    if not accesses:
        assert panel.text_content().endswith(f"Warp {warp} touches no memory here.")
        return
    assert [button.get_attribute("title") for button in panel.locator(".accesses button").all()] == [*map(told_access, accesses)]
    chosen = int(panel.locator(".accesses [aria-pressed=true]").get_attribute("data-value"))
    assert panel.locator("p").text_content() == f"Warp {warp}: {told_access(accesses[chosen])}."


def check_additions(page, data, step, warp, is_whole):
    combines = [combine for combine in step["combines"] if is_whole or combine["thread"] // data["warp"] == warp]
    if not combines:
        assert page.locator(".additions").text_content() == f"Warp {warp} adds nothing in this step."
        return
    assert [row[:3] for row in table_rows(page, "Who adds what to what")] == [told_combine(data, step, combine) for combine in combines]


@pytest.mark.parametrize("rung", STEPS)
def test_what_each_warp_does(rung, show, tmp_path):
    """Above the stage, of its memory and of its additions, in every step."""
    path, data = write_page(tmp_path, rung, *STEPS[rung])
    page = show(path)
    assert page.locator(".additions").text_content() == "No additions of the tree here."
    warps, at = -(-data["block"] // data["warp"]), page.locator("select[aria-label='Warp shown']")
    is_whole = page.get_by_text("Memory of").count() > 0 or warps == 1
    assert warps > 1
    for index in each_frame(page, range(1, len(data["steps"]) + 1)):
        step = data["steps"][index - 1]
        assert page.locator(".caption").text_content() == told_step(data, step)
        for warp in (0, warps - 1):
            at.select_option(str(warp))
            check_memory(page, warp, [access for access in step["accesses"] if access["warp"] == warp])
            check_additions(page, data, step, warp, is_whole)


def test_steps_of_every_kind_are_told(tmp_path):
    """What the test above looks at has what its sentences are about."""
    said = set()
    for rung, options in STEPS.items():
        data = write_page(tmp_path, rung, *options)[1]
        for step in data["steps"]:
            last = -(-data["block"] // data["warp"]) - 1
            said |= {"rest"} if not any(access["warp"] == last for access in step["accesses"]) else set()
            said |= {"idle"} if data["block"] > 32 and all(combine["thread"] // data["warp"] < last for combine in step["combines"]) else set()
            said |= {"no memory"} if told_step(data, step).endswith("touched.") else set()
            said |= {"conflict"} if any("(conflict)" in told_access(access) for access in step["accesses"]) else set()
            said |= {step["store"], data["op"]}
    assert said == {"rest", "idle", "no memory", "conflict", "input", "shared", "registers", "result", "sum", "max"}


# ---- explain: before the steps, beside them and behind them ------------------------------------------------


def told_block(data):
    block = f"a block of {plural(data['block'], 'thread')}"
    return f"{block}, the first of a cluster of {data['cluster']}" if data["cluster"] > 1 else block


@pytest.mark.parametrize("rung, options", [("05", []), ("16", []), ("06", ["-n", 64, "--schedule", "split"])])
def test_the_settings(rung, options, show, tmp_path):
    path, data = write_page(tmp_path, rung, *options)
    small = " (small, for the eye: a GPU has 32 and 32)" if data["is_picture"] and data["warp"] < 32 else ""
    schedule = "" if data["schedule"] == "lockstep" else f", schedule {data['schedule']}"
    assert show(path).locator(".idea small").text_content() == (
        f"{data['op']} of {data['n']} {data['type']} in {told_block(data)}, warps of {data['warp']} lanes, {data['banks']} banks{small}{schedule}")


BLOCK = {"steps": "step_count", "average parallelism, lanes per step": "average_parallelism", "share of lanes used": "utilization",
         "barriers": "barriers", "atomic operations": "atomics", "races": "races", "occupancy per multiprocessor": "occupancy",
         "resident blocks": "resident_blocks"}
OUTSIDE = {"global requests outside the tree": "global_requests", "shared wavefronts outside the tree": "shared_wavefronts"}
TALLY = {"active_lanes", "warps", "divergent_warps", "global_requests", "shared_wavefronts", "bank_degree"}


def beside(counted, predicted):
    return numeral(counted) if predicted is None else f"{numeral(counted)} ({numeral(predicted)})"


def differ(counted, predicted):
    return any(name in counted and counted[name] != value for name, value in (predicted or {}).items())


@pytest.mark.parametrize("rung, options, said", [
    ("06", ["-n", 64], "Each count of the simulator equals its prediction."),
    ("00", ["-n", 8], "Every element goes into one word: there is no tree whose counts could be predicted."),
    ("01", ["-n", 100], "The closed forms assume a full tile; they do not predict the steps of this block."),
    ("16", ["-n", 1024], "Where they differ, the compiled kernel does not do what the closed form assumes."),  # outside the tree alone
    ("12", ["-n", 64, "--schedule", "random:3"],
     "The closed forms assume that the lanes of a warp stay together; under this schedule they ran apart."),  # likewise
])
def test_the_counts_of_the_block_and_what_is_said_of_them(rung, options, said, show, tmp_path):
    path, data = write_page(tmp_path, rung, *options)
    page, predicted = show(path), data["predicted"]
    of_cluster = ("barriers", "atomic operations", "races") if data["cluster"] > 1 else ()
    expected = {f"{name}, of the whole cluster" if name in of_cluster else name: beside(data["total"][key], predicted.get(key))
                for name, key in BLOCK.items()}
    expected |= {name: beside(data["outside"][key], predicted.get("outside", {}).get(key)) for name, key in OUTSIDE.items()}
    assert dict(table_rows(page, "The block: counted (predicted)")) == expected
    assert page.locator("[aria-labelledby=panel-counted-beside-predicted] > p").text_content() == said
    pairs = [*zip(data["steps"], predicted.get("steps", [])), (data["total"], predicted), (data["outside"], predicted.get("outside"))]
    assert any(differ(*pair) for pair in pairs) == ("differ" in said or "ran apart" in said)


def test_each_prediction_that_is_not_met_is_told(show, tmp_path):
    """One number off, of a step, of the block or outside the tree: the sentence says so."""
    path, _ = write_page(tmp_path, "06", "-n", 16)
    for place, name in (("steps", "warps"), ("total", "barriers"), ("total", "resident_blocks"), ("outside", "global_requests")):
        def change(data):
            counts = data[place][1] if place == "steps" else data[place]
            counts[name] += 1
        page = show(altered(path, change)[0])
        assert page.get_by_text("Where they differ, the compiled kernel does not do").is_visible(), (place, name)


def test_findings_of_a_rung(show, tmp_path):
    """No rung has any."""
    findings = [{"kind": "race", "line": 17, "thread": 5, "message": "one", "pairs": 1, "from_line": 17, "to_line": 17},
                {"kind": "bounds", "line": 23, "thread": 0, "message": "two", "pairs": 1, "from_line": 23, "to_line": 23}]
    path, data = altered(write_page(tmp_path, "06", "-n", 8)[0], lambda data: data.update(findings=findings))
    assert texts(show(path).locator("[aria-labelledby=panel-findings] li")) == [
        f"{finding['kind']} at line {finding['line']}, thread {finding['thread']}: {finding['message']}" for finding in data["findings"]]


def test_a_queue_at_several_words(show, tmp_path):
    """Of no rung's atomics, which have one word."""
    def change(data):
        for access in data["steps"][0]["accesses"]:
            if access["kind"] == "atomic":
                access["offsets"] = [0, 0, 0, 4]
    page = show(altered(write_page(tmp_path, "00", "-n", 8, "--warp", 4)[0], change)[0])
    next(each_frame(page, [1]))
    assert page.locator(".sentence").text_content().endswith(
        "Lanes 0, 1, 2 and 3 change 2 words of the result: 4 atomic operations, up to 3 of them on one word, one after the other.")


def test_sums_in_other_orders(show, tmp_path):
    path, data = write_page(tmp_path, "17")
    orders, kind = data["orders"], data["type"]
    assert table_rows(show(path), "What each order makes of their sum") == [
        ["exact, rounded once", numeral(data["result"])], [f"in {kind}, from the first to the last", numeral(orders["forward"])],
        [f"in {kind}, from the last to the first", numeral(orders["backward"])], [f"in {kind}, by halves as in rung 06", numeral(orders["halves"])]]
    assert len({data["result"], *orders.values()}) == 4


@pytest.mark.parametrize("rung", ["07", "08", "11"])
def test_what_a_wrong_kernel_did(rung, show, tmp_path):
    """One that is stopped, one in whose steps lanes race, and one with several blocks."""
    path, data = write_page(tmp_path, rung, "-n", 32)
    page = show(path)
    for wrong in data["wrong"]:
        article = page.locator(f'[data-kernel="{wrong["kernel"]}"]')
        threads = f"{wrong['block']} threads"
        blocks = f"a block of {threads}" if wrong["grid"] == 1 else f"{wrong['grid']} blocks of {threads}"
        what = {"ones": "ones", "iota": "numbers from 0 on"}.get(wrong["fill"], "elements")
        outcome = "it is stopped before it has a result" if wrong["result"] is None else f"it gives {wrong['result']}"
        assert article.locator("p").first.text_content() == f"{wrong['n']} {what} in {blocks}: {outcome}; right is {wrong['right']}."
        assert texts(article.locator("p.finding")) == [
            f"{finding['kind']}, line {finding['line']}: {finding['message']}" for finding in wrong["findings"]]
        steps = sum(phase["combines"] for phase in wrong["phases"])
        name = "Between barriers," if wrong["findings"] else "Step"
        assert texts(article.locator(".where")) == ([f"{name} 1 of {steps}"] if steps else [])


# ---- explain: pictures --------------------------------------------------------------------------------------


def test_lines_banks_and_shares_have_their_numbers(show, tmp_path):
    """Elements of a line of global memory; of a bank with a conflict, how many words wait; cells of two banks."""
    path, data = write_page(tmp_path, "01", "-n", 160, "--warp", 16)
    page = show(path)
    next(each_frame(page, [1]))
    page.locator("select[aria-label='Warp shown']").select_option("2")
    access = next(access for access in data["steps"][0]["accesses"] if access["warp"] == 2)
    each = 128 // data["element_nbytes"]
    names = [f"input[{line * each}–{line * each + each - 1}]" for line in sorted({offset // 128 for offset in access["offsets"]})]
    assert [name.removeprefix("input") for name in texts(page.locator(".lines .line > text"))] == [name.removeprefix("input") for name in names]

    path, data = write_page(tmp_path, "05", "-n", 64, "--warp", 8, "--banks", 8, "--type", "f64")
    page, offset, nbytes = show(path), data["shared_offset"], data["element_nbytes"]
    next(each_frame(page, [2]))
    accesses = [access for access in data["steps"][1]["accesses"] if access["warp"] == 0]
    access = accesses[int(page.locator(".accesses [aria-pressed=true]").get_attribute("data-value"))]
    load = [len({word for _, word, _ in access["words"] if word % 8 == bank}) for bank in range(8)]
    assert access["wavefronts"] > access["least"]
    assert texts(page.locator(".banks text.small.clashing")) == [f"×{count}" for count in load if count > 1]
    cells = [int(title.split("[")[1].split("]")[0]) for title in page.locator(".stage .cell title").all_text_contents()]
    first = [(offset + cell * nbytes) // 4 % 8 for cell in cells[:len(cells) // 2]]
    shown = page.locator(".stage").evaluate("""stage => { const texts = [...stage.querySelectorAll("text.faint")];
        const name = texts.find(node => node.textContent === "bank");
        return texts.filter(node => node !== name && node.getAttribute("y") === name.getAttribute("y")).map(node => node.textContent); }""")
    assert shown == [f"{bank}-{(bank + 1) % 8}" for bank in first]


def test_a_band_has_the_share_of_each_thread(show, tmp_path):
    path, data = write_page(tmp_path, "16")
    shares = [len(set(re.findall(r"a\d+", symbol))) for symbol in data["start"]["symbols"][:data["warp"]]]
    each = f"{min(shares)} to {max(shares)}" if min(shares) < max(shares) else f"{shares[0]}"
    assert show(path).locator(".stage").get_by_text("for each thread").text_content() == f"{sum(shares)} elements, {each} for each thread"
