"""What the pages say, beside the JSON: each sentence with a number that test_pages*.py do not compare as part of a
control.  Some that no kernel here would bring about are drawn from JSON that is made up; what is tested is the drawing."""

import json
import re

import pytest

from cli_helpers import run
from explain_pages import each_frame, expected_states, lanes_of, table_rows, texts, write_page
from inspect_helpers import HEAD, kernel, parameters
from page_helpers import altered, browser, numeral, page_data, show
from program_helpers import compiled, environment, needs_nvcc
from test_pages_inspect import costs_page, memory_words
from test_inspect_lines import RACE, costs

assert browser and show and costs and costs_page  # fixtures


def plural(count, noun, nouns=None):
    return f"{numeral(count)} {noun if count == 1 else nouns or noun + 's'}"


# ---- explain: what is going on in a step -----------------------------------------------------------------

STEPS = {  # rungs of every store, with warps at rest, conflicts, and neither shared nor global memory
    "00": ["-n", 40, "--warp", 4], "01": ["-n", 160, "--warp", 16], "05": ["-n", 64, "--warp", 8, "--banks", 8],
    "06": ["-n", 100, "--type", "f64", "--op", "max"], "12": ["-n", 64], "15": ["-n", 512],
}


def told_step(data, step):
    parting = plural(step["divergent_warps"], "warp") + (" diverges" if step["divergent_warps"] == 1 else " diverge")
    told = [f"{step['active_lanes']} of {plural(step['warps'] * data['warp'], 'lane')} active in {plural(step['warps'], 'working warp')}",
            parting if step["divergent_warps"] else "no warp diverges"]
    told += [plural(step["global_requests"], "global request")] if step["global_requests"] else []
    told += [f"{plural(step['shared_wavefronts'], 'shared wavefront')}, bank degree {numeral(step['bank_degree'])}"] if step["shared_wavefronts"] else []
    is_without = not any(access["space"] in ("global", "shared") for access in step["accesses"])
    return "; ".join(told) + "." + is_without * " Values go from register to register; no memory is touched."


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


def page_note(data):
    """With the terms, whose meanings speak of a GPU's 32."""
    is_gpu = (data["warp"], data["banks"]) == (32, 32)
    return "" if is_gpu else f"The 32 are a GPU's: here a warp has {plural(data['warp'], 'lane')}, and shared memory {plural(data['banks'], 'bank')}."


@pytest.mark.parametrize("rung, options", [("05", []), ("16", []), ("06", ["-n", 64, "--warp", 8, "--schedule", "split"])])
def test_the_settings(rung, options, show, tmp_path):
    path, data = write_page(tmp_path, rung, *options)
    small = " (small, to be seen at a glance: a GPU has 32 of each)" if data["is_picture"] and data["warp"] < 32 else ""
    schedule = "" if data["schedule"] == "lockstep" else f", schedule {data['schedule']}"
    page, note = show(path), page_note(data)
    assert texts(page.locator("[aria-labelledby=panel-terms] > p")) == ([note] if note else [])
    assert page.locator(".idea small").text_content() == (
        f"{data['op']} of {data['n']} {data['type']} in {told_block(data)}, warps of {data['warp']} lanes, {data['banks']} banks{small}{schedule}")


BLOCK = {"steps": "step_count", "average parallelism, lanes per step": "average_parallelism", "share of lanes used": "utilization",
         "barriers": "barriers", "atomic operations": "atomics", "races": "races", "occupancy per multiprocessor": "occupancy",
         "resident blocks": "resident_blocks"}
OUTSIDE = {"global requests outside the tree": "global_requests", "shared wavefronts outside the tree": "shared_wavefronts"}


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
            f"{finding['kind']}, line {finding['line']}: {finding['message']}".replace("`", "") for finding in wrong["findings"]]
        steps = sum(phase["combines"] for phase in wrong["phases"])
        name = "Between barriers," if wrong["findings"] else "Step"
        assert texts(article.locator(".where")) == ([f"{name} 1 of {steps}"] if steps else [])


# ---- explain: pictures --------------------------------------------------------------------------------------


def moments(data):
    """(step, the cells before, and after) of every step."""
    cells = dict(enumerate(zip(data["start"]["values"], data["start"]["symbols"])))
    store, of = data["start"]["store"], lambda changes, name: {each[name]: (each["value"], each["symbol"]) for each in changes}
    for step in data["steps"]:
        before = (cells if step["store"] == store else {}) | of(step["before"], "cell")
        cells, store = before | of(step["combines"], "target") | of(step["after"], "cell"), step["store"]
        yield step, before, cells


@pytest.mark.parametrize("rung", ["00", "01", "05"])
def test_what_is_shown_on_hover(rung, show, tmp_path):
    """Each cell's value and what it is made of; each thread's state; behind atomics what the word then holds."""
    path, data = write_page(tmp_path, rung, "-n", 16, "--warp", 4, "--banks", 4)
    page = show(path)
    for index, (step, before, after) in zip(each_frame(page, range(1, len(data["steps"]) + 1)), moments(data)):
        told = lambda cells: [f"{cell_name(step['store'], cell)} = {value}{f' = {symbol}' if symbol else ''}" for cell, (value, symbol) in cells.items()]
        queue = step["store"] == "result"
        assert texts(page.locator(".stage .cell title")) == (not queue) * told(before) + told(after), index
        assert texts(page.locator(".stage .thread title")) == [f"thread {thread}: {state}" for thread, state in expected_states(data, step).items()]
        held = [f"→{combine['value']}" for combine in step["combines"]]
        assert page.locator(".stage .combine text").all_text_contents() == queue * held


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
    assert show(path).locator(".stage").get_by_text("for each thread").text_content() == f"{sum(shares)} elements of warp 0, {each} for each thread"


# ---- inspect ------------------------------------------------------------------------------------------------

GUARDED = """
ld.param.u64 %rd1, [guarded_param_0];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mul.wide.u32 %rd2, %r2, 4;
add.s64 %rd3, %rd1, %rd2;
setp.eq.u32 %p1, %r1, 3;
@%p1 st.global.u32 [%rd3], %r1;
"""
LANES = """
.shared .align 4 .b8 cells[128];
mov.u32 %r1, %tid.x;
mov.u32 %r2, cells;
shl.b32 %r3, %r1, 2;
add.u32 %r4, %r2, %r3;
st.shared.u32 [%r4], %r1;
xor.b32 %r5, %r3, 4;
add.u32 %r6, %r2, %r5;
ld.shared.u32 %r7, [%r6];
"""
BLOCKS = "ld.param.u64 %rd1, [blocks_param_0];\nmov.u32 %r1, %ctaid.x;\n" + "".join(
    f"st.global.u32 [%rd1+{1280 + 4 * i}], %r1;\n" for i in range(18))
KERNELS = {  # body, types of parameters, launch, status
    "race": (RACE, [], ["--block", 64], 3),
    "lanes": (LANES, [], ["--block", 32], 3),
    "blocks": (BLOCKS, ["u64"], ["--grid", 2, "--block", "32,2", "--arg", "u32[400]"], 3),
    "guarded": (GUARDED, ["u64"], ["--grid", 4, "--block", 8, "--warp", 8, "--banks", 4, "--schedule", "split", "--arg", "u32[2]"], 3),
}


@pytest.fixture
def inspected(show, tmp_path):
    """inspected(name): (the page, its data)."""

    def inspected(name):
        body, types, launch, status = KERNELS[name]
        ptx, path = tmp_path / f"{name}.ptx", tmp_path / f"{name}.html"
        ptx.write_text(HEAD + kernel(name, parameters(name, *types), body + "ret;"))
        done = run("inspect", ptx, *launch, "--html", path)
        assert done.returncode == status, done
        page = show(path)
        return page, page_data(page)

    return inspected


def numbers_of(values):
    return ",".join(map(str, values))


def told_example(finding):
    return f", block ({numbers_of(finding['block'])}), thread ({numbers_of(finding['thread'])})"


def told_count(finding):
    threads = f"; {plural(finding['threads'], 'thread')} of a block" if finding.get("threads", 0) > 1 else ""
    return threads + (f", {numeral(finding['count'])} times" if finding["count"] > 1 else "")


@pytest.mark.parametrize("name", KERNELS)
def test_the_launch_and_its_findings(name, inspected):
    page, data = inspected(name)
    extent = lambda values: " × ".join(map(str, values))
    assert page.locator(".launch").text_content() == (
        f"{data['path']} · grid {extent(data['grid'])} · block {extent(data['block'])} · schedule {data['schedule']}"
        f" · {data['warp']} lanes, {data['banks']} banks")
    assert page.get_by_text("The launch was stopped here; the counts are up to this point.").count() == data["stopped"]
    assert data["stopped"] == (name == "guarded")
    count = len(data["findings"])
    assert page.get_by_role("heading", name=plural(count, "finding"), exact=True).is_visible()
    for button, finding in zip(page.locator("button.finding").all(), data["findings"]):
        file, text = finding["file"].rsplit("/", 1)[-1], button.text_content()
        head = f"{finding['kind']} at {file}:{finding['line']}{told_example(finding)}{told_count(finding)}"
        quoted = "".join(button.locator(".quoted").all_text_contents())
        assert text == head + quoted + finding["message"].replace("`", "")
    assert page.locator("button.finding").count() == count


def told_replay(finding, replays):
    own = next((replay for replay in replays if not replay["is_other"]), replays[0])
    told = (f"The last {plural(len(own['entries']), 'instruction')} of warp {own['warp']} in block ({numbers_of(own['block'])}), "
            "up to the finding.")
    other = [replay for replay in replays if replay["is_other"]]
    if other:
        return f"{told} Among them, in the order in which they ran, those of warp {other[0]['warp']}, with which it races."
    if finding["other"] and finding["other"]["block"] != finding["block"]:
        return f"{told} It races with block ({numbers_of(finding['other']['block'])}), of which nothing is kept."
    return told + (" It races with another lane of the same warp." if finding["other"] else "")


def test_what_a_replay_is_of(inspected):
    """Of a race of warps, of lanes and of blocks, of what is none, and of a finding after the first 16."""
    said = set()
    for name in KERNELS:
        page, data = inspected(name)
        for index, (finding, button) in enumerate(zip(data["findings"], page.locator("button.finding").all())):
            button.click()
            replays = [replay for replay in data["replays"] if replay["finding"] == index]
            told = told_replay(finding, replays) if replays else "No replay was kept for this finding; the first 16 have one."
            assert page.locator("[aria-labelledby=panel-replay] p").first.text_content() == told
            assert bool(replays) == (index < 16)
            said.add(re.sub(r"\d+", "N", told.split(". ")[-1]))
    assert said == {
        "Among them, in the order in which they ran, those of warp N, with which it races.",
        "It races with block (N,N,N), of which nothing is kept.", "It races with another lane of the same warp.",
        "No replay was kept for this finding; the first N have one.",
        "The last N instructions of warp N in block (N,N,N), up to the finding."}


def test_a_leak_has_no_moment_to_replay(inspected, show, tmp_path):
    inspected("race")
    def change(data):
        data["findings"][0]["kind"], data["replays"] = "leak", []
    page = show(altered(tmp_path / "race.html", change)[0])
    assert page.locator("[aria-labelledby=panel-replay] p").first.text_content() == (
        "A leak shows when the launch has ended: there is no moment to replay.")


@pytest.mark.parametrize("name", ["race", "blocks"])
def test_each_moment_of_a_replay(name, inspected):
    """Where it is, what is executed, and the words that are touched, at their rows."""
    page, data = inspected(name)
    entries = sorted(((entry, replay) for replay in data["replays"] if replay["finding"] == 0 for entry in replay["entries"]),
                     key=lambda pair: pair[0]["time"])
    lines, player = data["ptx"].split("\n"), page.locator("[aria-labelledby=panel-replay] .player")
    player.get_by_role("button", name="First step").click()
    found = max(i for i, (entry, replay) in enumerate(entries)
                if entry["ptx_line"] == data["findings"][0]["ptx_line"] and not replay["is_other"])
    seen = set()
    for index, (entry, replay) in enumerate(entries):
        assert player.locator(".where").text_content() == f"{index + 1} of {len(entries)} · warp {replay['warp']}"
        where, instruction = texts(page.locator("#stage > p"))
        line = lines[entry["ptx_line"] - 1].strip()
        assert where.startswith(f"{name}.ptx:{entry['ptx_line']} {line}") and where.endswith(" ✕ the finding") == (index == found)
        assert instruction == " ".join(line.split())
        assert texts(page.locator("#stage figcaption")) == ([memory_words(entry)] if entry.get("lanes") else [])
        if entry.get("lanes"):
            check_rows(page, data, entry)
            seen.add(entry["space"])
        if index + 1 < len(entries):
            player.get_by_role("button", name="Step ahead").click()
    assert seen == {"race": {"shared"}, "blocks": {"global"}}[name]


def check_rows(page, data, entry):
    whole = lambda number: int(str(number), 0)
    lanes = lanes_of(entry["lanes"])
    starts = [whole(at) for at in entry.get("addresses") or []] or [
        whole(entry["first"]) + whole(entry["stride"]) * (lane - lanes[0]) for lane in lanes]
    across = data["banks"] if entry["space"] == "shared" else 32
    rows = sorted({start // 4 // across for start in starts})
    names = [f"byte {row * across * 4}" if entry["space"] == "shared" else f"…{row * across * 4 & 0xffffffff:08x}" for row in rows]
    assert texts(page.locator("#stage svg.memory text.faint:not(.middle)")) == ["bank" if entry["space"] == "shared" else "word", *names]
    wanted = {}
    for lane, start in zip(lanes, starts):
        wanted.setdefault(start // 4, []).append(lane)
    assert texts(page.locator("#stage svg.memory text.lane")) == [
        f"{lanes[0]}+" if len(lanes) > 1 else str(lanes[0]) for _, lanes in sorted(wanted.items())]


def test_advice_and_a_line_have_their_places_and_numbers(show, costs_page):
    page = show(costs_page)
    data = page_data(page)
    assert data["advice"] and page.get_by_role("heading", name="Advice", exact=True).is_visible()
    for button, advice in zip(page.locator("button.advice").all(), data["advice"]):
        quoted = "".join(button.locator(".quoted").all_text_contents())
        assert button.text_content() == (f"{advice['kind']} at {advice['file'].rsplit('/', 1)[-1]}:{advice['line']}{quoted}{advice['message']}"
                                         f"Cure: {advice['cure']}".replace("`", ""))
    source = next(source for source in data["sources"] if source["text"] and source["file"].endswith("costs.cu"))
    ptx = data["ptx"].split("\n")
    for line in data["lines"]:
        page.locator(f'.listing tr[data-line="{line["line"]}"] button').click()
        panel = page.locator("[aria-labelledby=panel-line]")
        text = source["text"].split("\n")[line["line"] - 1].strip()
        assert panel.locator("p").first.text_content() == f"{source['file']}:{line['line']} {text}"
        own = [place for place in data["instruction_list"] if place["line"] == line["line"] and data["sources"][place["source"]] == source]
        share = lambda place: numeral(round(100 * place["thread_instructions"] / (place["instructions"] * data["warp"]), 1))
        assert [texts(row.locator("th, td")) for row in panel.locator("tbody tr").all()] == [
            [numeral(place["ptx_line"]), numeral(place["instructions"]), share(place), " ".join(ptx[place["ptx_line"] - 1].split())] for place in own]
        lanes = panel.locator('[data-key="lanes"] dd').text_content()
        assert lanes == share(line)


# ---- ladder -------------------------------------------------------------------------------------------------

# The page's name, the JSON's, how many of its units are one of that, significant digits or decimals, and whether less is better.
METRICS = [("GB/s", "gbps", 1, 3, None, False), ("share of the ceiling, %", "share", 100, None, 1, False),
           ("microseconds", "microseconds", 1, 4, None, True), ("gain on the first rung", "gain_in_all", 1, 4, None, False),
           ("warp instructions", "instructions", 1, None, None, True), ("active lanes, %", "utilization", 100, None, 1, False),
           ("bank conflict degree", "bank_degree", 1, None, 2, True), ("error on random data, ulp", "ulp", 1, None, None, True)]


@pytest.fixture
def timed(tmp_path, show):
    """(the page of one run with times and counts that are made up, the run)."""
    rungs = [
        {"rung": "00", "name": "global_atomic", "verified": True, "microseconds": 4712.34, "gbps": 0.22781, "share": 0.00041, "gain_in_all": 1,
         "instructions": 51200, "utilization": 1, "bank_degree": 1, "ulp": 304},
        {"rung": "05", "name": "interleaved_strided", "verified": True, "microseconds": 31.4159, "gbps": 34.17, "share": 0.0622,
         "gain_in_all": 149.998, "instructions": 251346, "utilization": 0.8876, "bank_degree": 3.328, "ulp": 1},
        {"rung": "06", "name": "sequential", "verified": False, "microseconds": 31.2, "gbps": 34.4, "share": 0.0626, "gain_in_all": 151.03,
         "instructions": 212282, "utilization": 0.8876, "bank_degree": 1, "ulp": 0},
        {"rung": "99", "name": "unknown", "verified": None, "microseconds": 2.5, "gbps": 429.5, "share": 0.7812, "gain_in_all": 1884.9,
         "instructions": 700, "ulp": 0},
    ]
    made = {"op": "sum", "type": "f32", "n": 268435, "block": 256, "device": "cuda:0", "gpu": "a GPU", "ceiling_gbps": 549.75,
            "ceiling_microseconds": 1.953125, "sequential": {"microseconds": 123.4567, "ulp": 69}, "rungs": rungs}
    kept, path = tmp_path / "run.json", tmp_path / "ladder.html"
    kept.write_text(json.dumps(made))
    assert run("ladder", "--from", kept, "--html", path).returncode == 0
    page = show(path)
    page.get_by_role("button", name="a GPU: n = 268,435").click()
    return page, made


def told_metric(row, metric):
    _, key, unit, digits, decimals, _ = metric
    if key not in row:
        return ""
    value = row[key] * unit
    if digits:
        text = f"{value:#.{digits}g}".rstrip(".")
        return text if "e" not in text and float(text) < 1000 else numeral(float(f"{value:.{digits}g}"))
    return numeral(value) if decimals is None else f"{value:.{decimals}f}"


def test_what_reading_alone_takes(timed):
    """The line of the ceiling has the time, the speed and the share of the fastest pass that only reads."""
    page, made = timed
    each = made["ceiling_microseconds"] * 1e6 / made["n"]
    for key, words in (("per_element", f"reading alone {each:.4g}"), ("gbps", f"ceiling {made['ceiling_gbps']:.3g}"), ("share", "ceiling 100"),
                       ("instructions", None)):
        page.locator(f'.mini[data-metric="{key}"]').click()
        said = page.locator(".chart svg text").filter(has_text=re.compile("^(reading alone|ceiling) "))
        assert said.all_text_contents() == ([words] if words else [])


def test_a_timed_runs_numbers(timed):
    """Of every rung, of the plain loop, and which is better than the rung before: times within 1 % are alike."""
    page, made = timed
    headings = page.locator("table.facts-table thead th").all_text_contents()
    rows = [texts(row.locator("th, td")) for row in page.locator("table.facts-table tbody tr").all()]
    for told, row in zip([*made["rungs"], made["sequential"]], rows):
        for metric in METRICS:
            assert row[headings.index(metric[0])] == told_metric(told, metric), (row[0], metric[0])
    assert [row[1] for row in rows] == ["yes", "yes", "NO", "not run", ""]
    for metric in METRICS:
        page.locator(f'.mini[data-metric="{metric[1]}"]').click()
        shown = page.locator(".chart .rung").evaluate_all("rungs => rungs.map(rung => [...rung.querySelectorAll('text')].at(-1).textContent)")
        marks = [change_of(before, told, metric) for before, told in zip([{}, *made["rungs"]], made["rungs"])]
        assert shown == [f"{told_metric(told, metric) or '–'}{mark and ' ' + mark[0]}" for told, mark in zip(made["rungs"], marks)], metric[0]


def change_of(before, told, metric):
    """"▲ better", "▼ worse" or nothing, as the rounded numbers have it."""
    _, key, unit, digits, decimals, is_less_better = metric
    old, new = (told_metric(row, metric).replace(",", "") for row in (before, told))
    if not old or not new or float(old) == float(new):
        return ""
    if key in ("gbps", "share", "microseconds", "gain_in_all") and abs(float(new) - float(old)) < 0.01 * float(old):
        return ""
    return "▲ better" if (float(new) < float(old)) == is_less_better else "▼ worse"


def test_a_rung_against_the_one_that_it_fixes(timed):
    page, made = timed
    for index, (before, told) in enumerate(zip(made["rungs"], made["rungs"][1:]), 1):
        page.locator(f'.card[data-rung="{told["rung"]}"]').click()
        rows = {row[0]: row[1:] for row in table_rows(page, f"Counts, {before['rung']} against this rung")}
        for metric in METRICS:
            if metric[1] not in told:
                assert metric[0] not in rows
                continue
            old, new, change = told_metric(before, metric), told_metric(told, metric), change_of(before, told, metric)
            values = [float(text.replace(",", "")) if text else 0 for text in (old, new)]
            factor = f"× {numeral(float(f'{values[1] / values[0]:.3g}'))}" if change and values[0] else ""
            assert rows[metric[0]] == [old, new, factor, change], (told["rung"], metric[0])
    assert page.locator('.card[data-rung="06"]').get_by_text("✕ not verified").count() == 1
    assert page.locator(".cards").get_by_text("✕ not verified").count() == sum(row["verified"] is False for row in made["rungs"])


# ---- run ----------------------------------------------------------------------------------------------------

REPORT = {  # what the page of run is drawn from, with numbers that are made up
    "program": "a/program", "gpu": "NVIDIA H200", "gpus": 1, "status": 7, "signal": 0, "findings_left_out": 0,
    "leaks": 2, "leaked_bytes": 123456, "refused_launches": 0, "failed_calls": [], "coverage": [], "lines": [], "sources": [],
    "kernels": [
        {"kernel": "little", "launches": 12345, "instructions": 300, "utilization": 0.1236, "global_sectors": 10001, "shared_wavefronts": 5,
         "shared_wavefronts_least": 4, "barriers": 3, "atomics": 2},
        {"kernel": "much", "launches": 1, "instructions": 29700, "utilization": 1, "global_sectors": 0, "shared_wavefronts": 0,
         "shared_wavefronts_least": 0, "barriers": 0, "atomics": 99999}],
    "findings": [{"kind": "race", "kernel": "much", "file": "a/p.cu", "line": 17, "block": [1, 0, 0], "thread": [2, 3, 0], "message": "a `race`",
                  "count": 54321},
                 {"kind": "bounds", "kernel": "little", "file": "a/p.cu", "line": 4, "message": "out", "count": 1},
                 {"kind": "order", "kernel": "", "file": "", "line": 0, "message": "a copy", "count": 2}],
    "advice": [{"kind": "divergence", "kernel": "little", "file": "a/p.cu", "line": 9, "message": "31 of 32", "cure": "use `32`"}],
}


FAILED = [{"call": "cudaMemcpy", "error": "cudaErrorInvalidValue", "text": "invalid argument", "reason": "it is too long", "count": 12345, "refused_launches": 0},
          {"call": "cudaFree", "error": "cudaErrorUnknown", "text": "unknown error", "reason": "", "count": 1, "refused_launches": 0}]


@pytest.fixture(scope="module")
def blank(tmp_path_factory):
    """The page of a program of one kernel."""
    folder = tmp_path_factory.mktemp("run")
    source = folder / "one.cu"
    source.write_text("__global__ void one(int *a) { *a = 1; }\nint main() { int *a; cudaMalloc(&a, 4); one<<<1, 1>>>(a); cudaFree(a); }\n")
    program = compiled(folder, "one", source, "-cudart", "shared", "-gencode", "arch=compute_75,code=compute_75")
    assert run("run", "--out", folder / "report", "--html", folder / "one.html", program, env=environment()).returncode == 0
    return folder / "one.html"


@needs_nvcc
@pytest.mark.parametrize("changes", [{}, {"refused_launches": 1, "signal": 11, "leaks": 0, "failed_calls": FAILED}, {"refused_launches": 3, "leaks": 1, "leaked_bytes": 256, "findings_left_out": 12345},
                                     {"refused_launches": 5, "failed_calls": [{**FAILED[1], "count": 4, "refused_launches": 4}]},
                                     {"refused_launches": 1, "failed_calls": [{**FAILED[1], "refused_launches": 1}], "advice": 3 * REPORT["advice"]}])
def test_what_is_told_of_a_program(changes, blank, show):
    path, data = altered(blank, lambda data: data.update({**REPORT, **changes}))
    page = show(path)
    summary = texts(page.locator("[aria-labelledby=panel-summary] p"))
    end = f"ended by signal {data['signal']}" if data["signal"] else f"status {data['status']}"
    launches = sum(kernel["launches"] for kernel in data["kernels"])
    assert summary[0] == f"{data['program']} on a simulated {data['gpu']} · {end} · 2 kernels, {plural(launches, 'launch', 'launches')}"
    failed = data["failed_calls"]
    listed = sum(call["refused_launches"] for call in failed)
    refused, other = data["refused_launches"] - listed, "other " if listed else ""
    assert summary[1:] == [*(["Calls that failed, of which cudaGetLastError() has not told the program:"] if failed else []),
                           *([f"{plural(refused, f'{other}launch', f'{other}launches')} did not run."] if refused else []),
                           *([f"{plural(data['findings_left_out'], 'more finding')} had no room in this report."] if data["findings_left_out"] else [])]
    assert texts(page.locator("[aria-labelledby=panel-summary] li")) == [
        f"{call['call']} failed: {call['error']} ({call['text']})" + (f": {call['reason']}" if call["reason"] else "") +
        (f", {numeral(call['count'])} times" if call["count"] > 1 else "") for call in failed]

    def told(finding):
        place = f" in {finding['kernel']} at {finding['file']}:{finding['line']}" if finding["file"] else ""
        place += told_example(finding) if "block" in finding else ""
        return finding["kind"] + place + told_count(finding) + finding["message"].replace("`", "")

    leak = [f"leak{plural(data['leaks'], 'allocation')} of device memory, {numeral(data['leaked_bytes'])} bytes, "
            "not freed when the program ended: call cudaFree"] if data["leaks"] else []
    assert texts(page.locator("button.finding")) == [*map(told, data["findings"]), *leak]
    advised = len(data["advice"])
    assert {plural(len(data["findings"]) + len(leak), "finding"), f"{advised} pieces of advice" if advised > 1 else "Advice"} <= set(texts(page.locator("h2")))
    assert texts(page.locator("button.advice")) == [
        f"{advice['kind']} in {advice['kernel']} at {advice['file']}:{advice['line']}{advice['message']}Cure: {advice['cure']}".replace("`", "")
        for advice in data["advice"]]
    check_kernels(page, data["kernels"])


def check_kernels(page, kernels):
    percent = lambda share: numeral(round(100 * share, 1))
    whole = sum(kernel["instructions"] for kernel in kernels)
    assert page.locator("table.kernels caption").text_content() == "Most warp instructions first"
    assert [texts(row.locator("th, td")) for row in page.locator("table.kernels tbody tr").all()] == [
        [kernel["kernel"], *(numeral(kernel[name]) for name in ("launches", "instructions")), f"{percent(kernel['instructions'] / whole)} %",
         percent(kernel["utilization"]), *(numeral(kernel[name]) for name in (
             "global_sectors", "shared_wavefronts", "shared_wavefronts_least", "barriers", "atomics"))]
        for kernel in sorted(kernels, key=lambda kernel: -kernel["instructions"])]
