"""The benchmark: what it reports is consistent, what is wrong is refused, and its tables are made of it.  No test
looks at how fast anything is.  The verifier's own test is tests/c/bench_verifier.c."""

import json
import math
import shlex
import statistics
import subprocess
import sys
from fractions import Fraction

import pytest

from cli_helpers import ROOT, printed, refused

sys.path.insert(0, str(ROOT / "bench"))

import files  # noqa: E402
import groups_table  # noqa: E402
import table  # noqa: E402


def bench(*arguments):
    return json.loads(printed("bench", "--quick", "--json", *arguments))


@pytest.fixture(scope="module")
def document():
    return bench("-n", 1000, "--threads", 1)


# ---- what it reports


def check_entry(row, entry):
    assert entry["ns"] == pytest.approx(statistics.median(entry["samples"]), rel=1e-6)
    assert entry["gbps"] == pytest.approx(row["nbytes"] / entry["ns"], rel=1e-6)
    assert all(sample > 0 for sample in entry["samples"])


def check_row(row):
    check_entry(row, row["ceiling"])
    assert row["entries"][0]["who"] == "warpfold"
    assert row["entries"][0]["error"] == 0
    for entry in row["entries"]:
        check_entry(row, entry)
        assert 0 < len(entry["samples"]) <= len(row["ceiling"]["samples"])  # slow ones take part in fewer rounds
        shares = [best / own for best, own in zip(row["ceiling"]["samples"], entry["samples"])]
        assert entry["share"] == pytest.approx(statistics.median(shares), rel=1e-6)
        assert entry["error"] is None or entry["error"] >= 0


def test_rows_are_consistent(document):
    for row in document["rows"]:
        check_row(row)
        assert (row["place"], row["count"], row["threads"]) == ("given", 1000, 1)
        assert row["nbytes"] == 1000 * {"f32": 4, "f64": 8, "i32": 4, "i8": 1}[row["type"]]


def test_every_promised_op_is_there(document):
    cases = {(row["op"], row["type"], row["data"]) for row in document["rows"]}
    for type_name in ("f32", "f64"):
        for op in ("min", "max", "argmin", "argmax", "nonzero", "sum", "mean", "norm1", "dot", "norm2", "var", "std",
                   "stats"):
            assert (op, type_name, "uniform") in cases
        for data in ("wide20", "wide100", "full"):
            assert ("sum", type_name, data) in cases
        assert ("any", type_name, "zeros") in cases
    assert len(cases) == len(document["rows"])


def test_document_names_machine_and_peers(document):
    assert document["warpfold"] == printed("--version").split()[1]
    assert document["machine"]["device"] == printed("devices").splitlines()[0]
    assert document["machine"]["processors"] >= 1
    assert "plain loop" in document["peers"]
    assert "OpenBLAS" in document["peers"].keys() | document["absent"].keys()


def test_options_choose_cases():
    rows = bench("-n", 77, "--op", "var", "--type", "f32", "--data", "full", "--threads", 2)["rows"]
    assert [(row["op"], row["type"], row["data"], row["count"], row["threads"]) for row in rows] == [
        ("var", "f32", "full", 77, 2)]
    check_row(rows[0])
    assert {row["op"] for row in bench("--count", 1, "--op", "dot", "--type", "f64")["rows"]} == {"dot"}


def test_its_table_has_a_line_for_each_case():
    text = printed("bench", "--quick", "-n", 100, "--op", "sum", "--threads", 1)
    lines = [line for line in text.splitlines() if line.startswith("given ")]
    assert len(lines) == len(bench("-n", 100, "--op", "sum", "--threads", 1)["rows"])
    assert all(" exact" in line for line in lines)


def test_wrong_usage_is_refused():
    refused(2, "--op: unknown op 'add'", "bench", "--op", "add")
    refused(2, "no case matches these options", "bench", "--op", "prod")
    refused(2, "no case matches these options", "bench", "--type", "i8", "--data", "full")
    refused(2, "--data takes", "bench", "--data", "random")
    refused(2, "nothing to time in an empty array", "bench", "-n", "0")
    refused(2, "bench takes no operands", "bench", "file.npy")
    refused(2, "does not take --quick", "sum", "--quick")


# ---- peers that are programs

PEER = """
import math, sys
print({greeting!r}, flush=True)
for line in iter(sys.stdin.buffer.readline, b""):
    words = line.decode().split()
    if words[0] == "data":
        size = {{"f32": 4, "f64": 8, "i32": 4, "i8": 1}}[words[1]] * int(words[2])
        array = sys.stdin.buffer.read(size)
        print("ok" if len(array) == size else "short", flush=True)
    elif words[1] == "sum":
        print("1000.5", {answer!r}, flush=True)
    else:
        {otherwise}
"""


def with_peer(tmp_path, *arguments, greeting="ready Someone 1.2", answer="inf", otherwise='print("none", flush=True)'):
    path = tmp_path / "peer.py"
    path.write_text(PEER.format(greeting=greeting, answer=answer, otherwise=otherwise))
    return bench("-n", 5000, "--threads", 1, "--peer", shlex.join([sys.executable, str(path)]), *arguments)


def entries_of(document, who):
    return [(row, entry) for row in document["rows"] for entry in row["entries"] if entry["who"] == who]


def test_peer_is_timed_and_judged(tmp_path):
    cases = ("--op", "sum", "--type", "f64", "--data", "zeros")
    found = with_peer(tmp_path, *cases, answer="0x1p-1073")
    assert found["peers"]["Someone"] == "1.2"
    [(row, entry)] = entries_of(found, "Someone")
    check_row(row)
    assert (entry["ns"], entry["error"], entry["result"]) == (1000.5, 2, "1e-323")
    [(_, entry)] = entries_of(with_peer(tmp_path, *cases, answer="nan"), "Someone")
    assert entry["error"] is None
    [(_, entry)] = entries_of(with_peer(tmp_path, *cases[:3], "i32", *cases[4:], answer="-12"), "Someone")
    assert (entry["error"], entry["result"]) == (12, "-12")


def test_peer_does_what_it_can(tmp_path):
    found = with_peer(tmp_path, "--type", "f32", "--data", "uniform")
    assert [row["op"] for row, _ in entries_of(found, "Someone")] == ["sum"]
    assert len(found["rows"]) > 10


def test_absent_peers_are_named(tmp_path):
    only = ("--op", "max", "--type", "f32", "--data", "zeros")
    assert with_peer(tmp_path, *only, greeting="absent Someone not installed")["absent"]["Someone"] == "not installed"
    assert with_peer(tmp_path, *only, otherwise="sys.exit()")["absent"]["Someone"] == "ended early"
    found = bench("-n", 10, *only, "--threads", 1, "--peer", "exit")
    assert found["absent"]["exit"] == "did not start"
    assert len(found["rows"]) == 1


def test_numpy_peer():
    python = "/usr/bin/python3"
    if subprocess.run([python, "-c", "import numpy"], capture_output=True, check=False).returncode:
        pytest.skip("no numpy")
    peer = shlex.join([python, str(ROOT / "bench" / "peers.py")])
    found = bench("-n", 1000, "--threads", 1, "--peer", peer)
    ops = {}
    for row, entry in entries_of(found, "NumPy"):
        check_row(row)
        ops.setdefault(row["type"], set()).add(row["op"])
        if row["op"] in ("min", "max", "argmin", "argmax", "nonzero", "any") or row["type"].startswith("i"):
            assert entry["error"] == 0, row
    assert ops["f64"] == {row["op"] for row in found["rows"] if row["type"] == "f64"} - {"stats"}


# ---- files


def test_numbers_of_files_have_known_sums():
    for type_name in ("f32", "f64"):
        numbers = files.Numbers(type_name, 4 * files.BLOCK_NBYTES)
        values = memoryview(numbers.block).cast(files.CODES[type_name])
        exact = 4 * sum(Fraction(value) for value in values)
        digits = {"f32": 24, "f64": 53}[type_name]
        unit = Fraction(2)**(math.frexp(float(exact))[1] - digits)
        assert Fraction(numbers.right["sum"]) == round(exact / unit) * unit
        assert numbers.right["max"] == max(values)
        assert len(numbers.header()) % 64 == 0


def runners(ours):
    return {"read": lambda: (100, None), "warpfold": lambda: (200, ours), "someone": lambda: (400, 3.0000000000000004)}


CASE = {"place": "text", "op": "sum", "type": "f64", "data": "decimal", "count": 10, "nbytes": 80, "threads": 1}


def test_file_measurements_are_verified():
    row = files.measure(CASE, runners(3.0), 3.0, rounds=3)
    check_row(row)
    assert [(entry["share"], entry["error"]) for entry in row["entries"]] == [(0.5, 0), (0.25, 1)]
    with pytest.raises(SystemExit, match="is wrong"):
        files.measure(CASE, runners(3.0000000000000004), 3.0, rounds=3)


# ---- tables


def made_document(document):
    file_row = files.measure(CASE | {"place": "file"}, runners(3.0), 3.0, rounds=1)
    text_row = files.measure(CASE, runners(3.0), 3.0, rounds=1)
    small = [row | {"place": "small"} for row in document["rows"] if row["op"] == "sum"]
    return document | {"rows": document["rows"] + small + [file_row, text_row]}


def test_tables_hold_every_case(document):
    made = made_document(document)
    text = table.render(made, everything=True)
    for row in made["rows"][:-1]:
        assert f"| {table.case_text(row)} |" in text or table.case_text(row) in text
    assert "| file: sum f64, of decimal |" in text or "| file: sum f64 |" in text
    assert "| someone | 25.0 | 2.0 | 1 ulp off |" in text
    widths = {len(part.split("\n")[0].split("|")) for part in text.split("\n\n")}
    assert len(widths) > 2
    for part in text.split("\n\n")[1:]:
        assert len({line.count("|") for line in part.strip().splitlines()}) == 1, part
    assert len(table.render(made)) < len(text)


def test_document_reads_back(document):
    assert json.loads(table.text_of(document)) == document


def test_tables_go_between_the_markers(tmp_path, document):
    page = tmp_path / "page.md"
    page.write_text("above\n<!-- bench:begin -->\nold\n<!-- bench:end -->\nbetween\n"
                    "<!-- bench:begin all -->\n<!-- bench:end -->\nbelow\n")
    (tmp_path / "bench.json").write_text(table.text_of(document))
    command = [sys.executable, str(ROOT / "bench" / "table.py"), str(tmp_path / "bench.json")]
    subprocess.run([*command, str(page)], check=True)
    assert page.read_text() == (
        "above\n<!-- bench:begin -->\n" + table.render(document) + "<!-- bench:end -->\nbetween\n"
        "<!-- bench:begin all -->\n" + table.render(document, everything=True) + "<!-- bench:end -->\nbelow\n")
    before = page.read_text()
    subprocess.run([*command, str(page)], check=True)
    assert page.read_text() == before
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip() == table.render(
        document, everything=True).strip()


def test_table_of_groups(tmp_path):
    """A table for each type, a line for each way of grouping; what was not measured is empty, and so is a peer that has no such op."""
    cases = [("(2, 3) axis 0", "sum", "f32", 0.5, 1.25), ("(2, 3) axis 0", "max", "f32", 1, None),
             ("3 keys", "sum", "f32", 0.25, 123.4), ("3 keys", "max", "f64", 0.75, 0.5)]
    rows = [dict(zip(("groups", "op", "type", "share", "ratio"), case)) for case in cases]
    for part in (rows[:3], rows[3:]):
        groups_table.write(tmp_path / f"{len(part)}", "cpu", "a processor", part)
    document = groups_table.joined([json.loads((tmp_path / part).read_text()) for part in ("3", "1")])
    page = "before\n<!-- cpu:begin -->\nold\n<!-- cpu:end -->\n<!-- gpu:begin -->\nkept\n<!-- gpu:end -->\n"
    assert groups_table.update(page, document) == f"""before
<!-- cpu:begin -->
a processor; {document["date"]}.

| f32 | sum | max |
|---|--:|--:|
| (2, 3) axis 0 | 0.50, 1.2 | 1.00 |
| 3 keys | 0.25, 120 |  |

| f64 | sum | max |
|---|--:|--:|
| 3 keys |  | 0.75, 0.5 |
<!-- cpu:end -->
<!-- gpu:begin -->
kept
<!-- gpu:end -->
"""
