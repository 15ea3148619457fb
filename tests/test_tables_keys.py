"""Tables: files as they are read, their keys, and tables that are saved and merged."""

import csv
import io
import json
import os
import random
import re
import subprocess
import zlib
from fractions import Fraction

import pytest

from cli_helpers import printed, refused, run
from table_helpers import TABLE, lines_of

# ---- files -------------------------------------------------------------------------------------------


def test_columns_are_found_by_name_in_each_file(write):
    a, b = write("a.csv", "k,x\na,1\n"), write("b.tsv", "x\tother\tk\n2\t9\ta\n")
    assert lines_of("sum", "--by", "k", "--column", "x", a, write("empty", ""), b)[1:] == [["a", "3"]]
    assert lines_of("sum", "--by", "k", a, b)[1:] == [["a", "3"]]  # those of the first file
    refused(1, [f"{b}:1:", "no column named 'y'"], "sum", "--by", "k", write("y.csv", "k,y\na,1\n"), b)
    refused(1, [str(a), "no lines"], "sum", "--by", "k", "--column", "x", write("a.csv", ""))


def test_what_lines_are_refused_for(write):
    arguments = ["sum", "--by", "k", "--column", "x"]
    refused(1, "standard input:3:2: the line has 1 field, but line 1, the first, has 2", *arguments, data="k,x\na,1\nb\n")
    refused(1, "standard input:4:6: the line has 3 fields", *arguments, data="k,x\na,1\n\nb,2,3\n")
    refused(1, "standard input:2:3: 'one' is not a number", *arguments, data="k,x\na,one\n")
    refused(1, "standard input:2:1: a quoted field that has no end", *arguments, data='k,x\n"a,1\n')
    refused(1, "more than 262144 bytes", *arguments, data="k,x\n" + "a" * 60000 + ",1\n" + ("b" * 300000) + ",1\n")
    refused(2, "not a text", *arguments, "--format", "raw", "--type", "f64", write("raw", b"\1" * 16))


def test_many_rows_are_added_as_they_come(write):
    """So many that they are not all kept, on several threads; with a comment in the middle of them."""
    rows = 1_600_000
    path = write("large.csv", "k,x\n" + "a,1\nb,2\n" * (rows // 4) + "# c\n" + "a,3\nb,NA\n" * (rows // 4))
    want = [["k", "x_sum", "x_count", "x_argmax"], ["a", str(rows), str(rows // 2), f"{path}:{rows // 2 + 3}"],
            ["b", str(rows // 2), str(rows // 4), f"{path}:3"]]
    for threads in (1, 3):
        assert lines_of("sum,count,argmax", "--by", "k", "--missing", "skip", "--threads", threads, path) == want
    assert lines_of("sum", "--column", "x", "--missing", "skip", "--csv", path) == [["column,sum"], [f"x,{rows * 3 // 2}"]]


def hostile_field(draw):
    kind = draw.random()
    if kind < 0.5:
        return draw.choice(["a", "bb", "some words", "0.5"])
    if kind < 0.9:  # quotes and delimiters one beside the other, and across what is searched at a time
        return "".join(draw.choices(['"', ",", "x", " ", "#"], k=draw.choice([1, 2, 3, 70])))
    return draw.choice(["", "é" * 40, "y" * draw.choice([63, 64, 65, 3000])])


@pytest.mark.parametrize("columns", [3, 40, 5000])
def test_hostile_fields_are_those_of_another_reader(write, columns):
    """Many fields that are quoted, long or neither, against Python's csv; by each way to find them."""
    draw = random.Random(columns)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=draw.choice(["\n", "\r\n"]))
    names = ["k", *(f"c{i}" for i in range(columns - 2)), "x"]
    writer.writerow(names)
    for _ in range(60_000 // columns):
        fields = ["" if draw.random() < 0.7 else hostile_field(draw) for _ in names[1:]]
        writer.writerow(["k" + fields[0], *fields[1:], f"{draw.uniform(-9, 9):.3f}"])
    path = write("hostile.csv", text.getvalue().encode())
    sums = {}
    for key, *_, x in list(csv.reader(io.StringIO(text.getvalue())))[1:]:
        key = key if '"' in key or "," in key else key.strip()  # unquoted fields are trimmed
        sums.setdefault(key, []).append(Fraction(float(x)))
    want = [(key, float(sum(values))) for key, values in sums.items()]
    for tier in ("", "scalar"):
        environment = {**os.environ, "WARPFOLD_TIER": tier} if tier else os.environ
        shown = json.loads(printed("sum,count", "--by", "k", "--column", "x", "--json", path, env=environment))
        assert [(record["key"]["k"], record["sum"]) for record in shown["results"]] == want


def broken_field(draw, newline):
    """Line breaks, quotes, delimiters and what looks like lines of its own."""
    parts = ["\n", "\n", newline, '"', '""', ",", ";", "#", " ", "x", '"\n', ',"', '5" pipe', "1,2\n", "\n#", "é",
             "y" * draw.choice([9, 70, 999])]
    return "".join(draw.choices(parts, k=draw.choice([0, 1, 2, 3, 9])))


@pytest.mark.parametrize("seed", range(6))
def test_line_breaks_in_quoted_fields_are_those_of_another_reader(write, seed):
    """Rows over several lines, between comments and fields with quotes inside, against Python's csv: groups, sums, the line
    of an extremum and one column alone, by any number of threads, from files and pipes; and CSV that is written."""
    draw = random.Random(seed)
    newline, text, rows, line = draw.choice(["\n", "\r\n"]), "", [], 1
    names = ["k", "two\nlines" if seed % 2 else "b", "x"]
    rarely = draw.choice([1, 1, 0.01])
    while len(text) < 700_000:
        first = broken_field(draw, newline) if draw.random() < rarely else '5" pipe'
        fields = [first, broken_field(draw, newline), len(rows) / 4]
        row = io.StringIO()
        csv.writer(row, lineterminator=newline).writerow(fields if rows else names)
        row = row.getvalue()
        if fields[0] == '5" pipe' and rows:  # such a quote may stand alone in a field of no quotes
            row = row.replace('"5"" pipe"', fields[0], 1)
        if row.startswith("#") or draw.random() < 0.05:
            text += '# "a comment\n' if draw.random() < 0.5 else "\n"
            line += 1
        if row.startswith("#"):
            continue
        rows.append((fields[0], line))
        text += row
        line += row.count("\n")
    rows = rows[1:]
    without_comments = io.StringIO(re.sub(r'(?m)^# "a comment$', "", text), newline="")
    [header, *read] = [row for row in csv.reader(without_comments) if row]
    assert header == names and len(read) == len(rows)
    want = {}
    for i, ((key, at), (same, _, x)) in enumerate(zip(rows, read)):
        assert same.replace("\r", "") == key.replace("\r", "") and float(x) == (i + 1) / 4
        key = key if re.search(r'[",\r\n]', key) and '5" pipe' != key else key.strip()
        want.setdefault(key, []).append((float(x), at))
    path = write("broken.csv", text.encode())
    for threads in (1, 3):
        shown = json.loads(printed("sum,argmax", "--by", "k", "--column", "x", "--threads", threads, "--json", path))["results"]
        assert [(record["key"]["k"], record["sum"], record["argmax"]["line"]) for record in shown] == [
            (key, sum(x for x, _ in values), values[-1][1]) for key, values in want.items()]
        assert float(printed("sum", "--column", "x", "--threads", threads, data=text)) == sum(float(x) for *_, x in read)
    commas = list(csv.reader(io.StringIO(printed("sum", "--by", "k", "--column", "x", "--csv", path), newline="")))
    assert [row[0] for row in commas[1:]] == list(want)


@pytest.mark.parametrize("threads", [1, 3])
def test_keys_that_differ_in_one_byte_are_different_groups(write, threads):
    """Keys of all lengths, short and long, alike at their beginnings and ends, in a table that grows on the way."""
    draw = random.Random(threads)
    keys = [""] + ["x" * i + c + "x" * (length - i - 1) for length in range(1, 40) for i in range(length) for c in "yz"]
    rows = draw.choices(keys, k=2 * len(keys)) + draw.choices(keys[:9], k=60_000)
    want = {}
    for i, key in enumerate(rows):
        want.setdefault(key, []).append(i)
    path = write("keys.csv", "k,v\n" + "".join(f"{key},{i}\n" for i, key in enumerate(rows)))
    lines = printed("sum,count", "--by", "k", "--column", "v", "--threads", threads, path).splitlines()[1:]
    assert lines == [f"{key}\t{sum(values)}\t{len(values)}" for key, values in want.items()]


MANY_KEYS = 40_000  # whose slots and entries are fetched ahead
KEYS_OF_A_KIND = {
    "all distinct": lambda draw: [f"k{i}" for i in range(MANY_KEYS)],
    "long": lambda draw: [f"{'alike ' * (i % 9)}{i // 2}{'!' * (i % 2)}" for i in range(MANY_KEYS)] * 2,
    "one of 90 %": lambda draw: ["" if draw.random() < 0.9 else f"k{i}" for i in range(10 * MANY_KEYS)],
}


@pytest.mark.parametrize("kind", KEYS_OF_A_KIND)
def test_many_keys_however_they_are_read(write, tmp_path, kind):
    """Whole, by several threads, by a pipe, from two files, and in parts that are saved and merged: the same bytes."""
    draw = random.Random(kind)
    rows = [(key, draw.randrange(1000) / 8) for key in KEYS_OF_A_KIND[kind](draw)]
    draw.shuffle(rows)
    want = {}
    for key, x in rows:
        want.setdefault(key, []).append(x)
    assert len(want) > 1 << 15
    arguments = ["sum,count", "--by", "k", "--column", "x"]
    lines = ["k\tx_sum\tx_count", *(f"{key}\t{sum(values):.15g}\t{len(values)}" for key, values in want.items())]
    texts = ["k,x\n" + "".join(f"{key},{x}\n" for key, x in some) for some in (rows, rows[:len(rows) // 3], rows[len(rows) // 3:])]
    whole, *parts = [write(f"{i}.csv", text) for i, text in enumerate(texts)]
    assert printed(*arguments, "--threads", 1, whole).splitlines() == lines
    assert printed(*arguments, "--threads", 3, whole).splitlines() == lines
    assert printed(*arguments, data=texts[0]).splitlines() == lines
    assert printed(*arguments, *parts).splitlines() == lines
    for i, part in enumerate(parts):
        printed(*arguments, "--save", tmp_path / f"{i}.acc", part)
    assert printed("merge", tmp_path / "0.acc", tmp_path / "1.acc").splitlines() == lines


@pytest.mark.slow
def test_a_table_of_keys_that_grows_into_large_pages(write):
    """Half of them come again, in another order; the second column takes the place of the first, which is smaller."""
    draw, count = random.Random(7), 280_000
    keys = [f"{'long ' * (i % 3 == 0)}{i * 7919 % 1_000_003:x}" for i in range(count)]
    rows = [(i, i % 100, i / 8) for i in [*range(count), *draw.sample(range(count), count // 2)]]
    want = {}
    for i, a, b in rows:
        total = want.setdefault(i, [0, 0, 0])
        want[i] = [total[0] + 1, total[1] + a, total[2] + b]
    path = write("keys.csv", "k,a,b\n" + "".join(f"{keys[i]},{a if i % 50 else '-'},{b}\n" for i, a, b in rows))
    lines = printed("sum,count", "--by", "k", "--column", "a,b", "--missing", "skip", path).splitlines()[1:]
    assert lines == [f"{keys[i]}\t{a if i % 50 else 0}\t{n if i % 50 else 0}\t{b:.15g}\t{n}" for i, (n, a, b) in want.items()]


# ---- saved tables ------------------------------------------------------------------------------------


@pytest.fixture(name="saved")
def make_saved(tmp_path):
    printed("sum,var,argmax,count", "--by", "region,year", "--column", "price,qty", "--save", tmp_path / "t.acc", data=TABLE)
    return tmp_path / "t.acc"


def with_checksum(data):
    return data + zlib.crc32(data).to_bytes(4, "little")


def test_tables_that_differ_are_not_merged(saved, tmp_path):
    ops = "sum,var,argmax,count"
    for other, said in ((["sum"], "different ops"), (["var,sum,argmax,count"], "another order"), ([ops, "--type", "f32"], "--type"),
                        ([ops, "--nan", "omit"], "--nan"), ([ops, "--ddof", "1"], "--ddof"),
                        ([ops, "--result-type", "f32"], "--result-type")):
        printed(*other, "--by", "region,year", "--column", "price,qty", "--save", tmp_path / "o.acc", data=TABLE)
        refused(1, [str(tmp_path / "o.acc"), said], "merge", saved, tmp_path / "o.acc")
    printed("sum,var,argmax,count", "--by", "year,region", "--column", "price,qty", "--save", tmp_path / "o.acc", data=TABLE)
    refused(1, "columns, or in another order, cannot be merged: 'year' here, 'region' before", "merge", saved, tmp_path / "o.acc")
    printed(ops, "--by", "year", "--column", "price,qty", "--save", tmp_path / "o.acc", data=TABLE)
    refused(1, "columns cannot be merged: 2 by 1 here, 2 by 2 before", "merge", saved, tmp_path / "o.acc")
    printed("sum", "--save", tmp_path / "s.acc", data="1 2")
    refused(1, "not a saved table", "merge", saved, tmp_path / "s.acc")
    refused(1, f"{saved}: a saved table, which merges with tables only", "merge", tmp_path / "s.acc", saved)
    for decimals in "23":
        printed("sum", "--by", "region", "--column", "qty", "--decimal", decimals, "--save", tmp_path / f"{decimals}.acc", data=TABLE)
    refused(1, "--decimal", "merge", tmp_path / "2.acc", tmp_path / "3.acc")
    refused(2, "products", "prod", "--by", "region", "--column", "price", "--save", tmp_path / "p.acc", data=TABLE)


def test_damaged_tables_are_refused(saved, tmp_path):
    data = saved.read_bytes()
    path = tmp_path / "damaged"
    assert with_checksum(data[:-4]) == data
    for damaged, said in ((data[:-1], "checksum"), (data[:200], "checksum"), (data[:50] + b"x" + data[51:], "checksum"),
                          (with_checksum(data[:8] + b"\2" + data[9:-4]), "version 2")):
        path.write_bytes(damaged)
        refused(1, said, "merge", path)
    for end in range(12, len(data) - 4, 97):
        path.write_bytes(with_checksum(data[:end]))
        refused(1, "not a table", "merge", path)


def test_tables_of_anybody_are_read_or_refused(saved, tmp_path):
    """Whatever a byte is changed to: a result, or one message."""
    draw, data, path = random.Random(1), saved.read_bytes()[:-4], tmp_path / "changed"
    refusals = 0
    for i in range(80):
        changed = bytearray(data)
        for _ in range(draw.choice([1, 1, 3])):
            changed[draw.randrange(12, min(len(data), 12 + 8 * (i + 5)))] = draw.choice([0, 1, 255, draw.randrange(256)])
        path.write_bytes(with_checksum(bytes(changed)))
        done = run("merge", path, stdout=subprocess.DEVNULL)
        assert done.returncode == 0 or (done.returncode == 1 and
                                        done.stderr.count("\n") == 1), (i, done)
        refusals += done.returncode
    assert 20 < refusals < 80


def test_merging_many_parts_is_the_whole(write, tmp_path):
    draw = random.Random(3)
    rows = [(f"k{draw.randrange(300)}", repr(draw.uniform(-1, 1) * 10.0**draw.randint(-9, 9))) for _ in range(3000)]
    whole = write("whole.csv", "k,x\n" + "".join(f"{k},{x}\n" for k, x in rows))
    arguments = ["sum,mean,std,max", "--by", "k", "--column", "x"]
    parts = []
    for i in range(0, len(rows), 400):
        part = write(f"part{i}.csv", "x;k\n" + "".join(f"{x};{k}\n" for k, x in rows[i:i + 400]))
        parts.append(tmp_path / f"{i}.acc")
        printed(*arguments, "--save", parts[-1], part)
    assert printed("merge", *parts) == printed(*arguments, whole)
    assert printed("merge", "--sort", *parts[::-1]) == printed(*arguments, "--sort", whole)
