"""Several columns of a table, groups by the texts of others, several ops at once, and tables that are saved and merged:
against rational arithmetic over the rows that were written, so that no table is parsed here."""

import csv
import io
import json
import math
import os
import pty
import random
import re
import subprocess
import zlib
from fractions import Fraction

import pytest

from cli_helpers import printed, refused, run

MISSING = ["NA", "null", "-", "nan", ""]

# ---- tables, and what they must give -----------------------------------------------------------------


class Table:
    """Rows of texts, as a file has them: some quoted, with comments and blank lines between."""

    def __init__(self, draw, names, delimiter, newline):
        self.draw, self.names, self.delimiter, self.newline = draw, names, delimiter, newline
        self.lines, self.rows = [self.line(names)], []

    def field(self, text):
        is_special = any(c in text for c in ",;|\t") or '"' in text or text.strip() != text or text.startswith("#")
        if is_special or self.draw.random() < 0.2:
            return '"' + text.replace('"', '""') + '"'
        return self.draw.choice(["", "", " "]) + text + self.draw.choice(["", "", " "])

    def line(self, texts):
        first, *others = [self.field(text) for text in texts]
        return self.delimiter.join([first.lstrip() if first.lstrip().startswith('"') else first, *others])

    def add(self, row):
        while self.draw.random() < 0.1:
            self.lines.append(self.draw.choice(["# a comment, with 1,2,3", "", "  "]))
        self.lines.append(self.line([row[name] for name in self.names]))
        self.rows.append((row, len(self.lines)))

    def text(self):
        return self.newline.join(self.lines) + self.draw.choice([self.newline, ""])


def number(draw):
    kind = draw.random()
    if kind < 0.3:
        return str(draw.randint(-1000, 1000))
    if kind < 0.7:
        return f"{draw.uniform(-1e4, 1e4):.2f}"
    return repr(draw.choice([-1, 1]) * draw.random() * 10.0**draw.randint(-20, 20))


def result(op, values):
    """values: (the number as a float, its place), of one group and column."""
    numbers = [Fraction(value) for value, _ in values]
    if op == "count":
        return len(values)
    if op == "sum":
        return float(sum(numbers, Fraction(0)))
    if not values:
        return None
    mean = sum(numbers) / len(numbers)
    if op == "mean":
        return float(mean)
    if op == "var":
        return float(sum((x - mean)**2 for x in numbers) / len(numbers))
    best = (min if op.endswith("min") else max)(numbers)
    return float(best) if op in ("min", "max") else next(place for value, place in values if value == best)


def expected(files, by, columns, ops, skips):
    """{key: [cells]}, in the order in which the keys appear."""
    groups = {}
    for path, table in files:
        for row, line in table.rows:
            key = tuple(row[name] for name in by)
            if skips and any(part in MISSING and part for part in key):
                continue
            group = groups.setdefault(key, [[] for _ in columns])
            for values, name in zip(group, columns):
                if not (skips and row[name] in MISSING):
                    values.append((float(row[name]), f"{path}:{line}"))
    return {key: [result(op, values) for values in group for op in ops] for key, group in groups.items()}


def check_cell(text, value):
    if isinstance(value, float):
        assert float(text) == value
        assert len(text) <= len(repr(value)) + 2  # as 0.00001, not as 1e-05
    else:
        assert text == ("" if value is None else str(value))


def write_tables(draw, write, count):
    names = ["region", "ye,ar", "price", "qty", "note"]
    skips = draw.random() < 0.5
    files = []
    for i in range(count):
        own = draw.sample(names, len(names))
        table = Table(draw, own, draw.choice(",;|\t"), draw.choice(["\n", "\r\n"]))
        for _ in range(draw.choice([0, 1, 5, 60])):
            is_missing = skips and draw.random() < 0.3
            table.add({"region": draw.choice(["north", "so\"uth", "", "NA", "a,b", "größe", "x;y|z", "10", "9.5"]),
                       "ye,ar": draw.choice(["2020", "2021"]),
                       "price": draw.choice(MISSING) if is_missing else number(draw),
                       "qty": str(draw.randint(0, 100)), "note": draw.choice(["n", "1", "# x", ""])})
        files.append((write(f"t{i}.csv", table.text().encode()), table))
    return files, skips


@pytest.mark.parametrize("seed", range(12))
def test_random_tables(write, tmp_path, seed):
    draw = random.Random(seed)
    files, skips = write_tables(draw, write, draw.choice([1, 3]))
    by = draw.choice([["region"], ["region", "ye,ar"], ["ye,ar"]])
    columns = draw.choice([["price"], ["price", "qty"], ["qty", "price"]])
    ops = draw.sample(["sum", "mean", "min", "max", "count", "var", "argmax", "argmin"], draw.randint(2, 5))
    chosen = [part for name in columns for part in ("--column", name)] + [part for name in by for part in ("--by", name)]
    chosen += ["--missing", "skip"] if skips else []
    paths = [path for path, _ in files]
    want = expected(files, by, columns, ops, skips)
    shown = printed(",".join(ops), *chosen, "--threads", draw.choice([1, 3]), *paths)
    header, *lines = [line.split("\t") for line in shown.splitlines()]
    assert header == by + [f"{name}_{op}" for name in columns for op in ops]
    assert [tuple(line[:len(by)]) for line in lines] == list(want)
    for line, cells in zip(lines, want.values()):
        for text, value in zip(line[len(by):], cells):
            check_cell(text, value)
    # The same from saved parts, one file each.
    for i, path in enumerate(paths):
        done = run(",".join(ops), *chosen, "--save", tmp_path / f"{i}.acc", path)
        assert done.returncode == 0, done
    saved = [tmp_path / f"{i}.acc" for i in range(len(paths))]
    assert printed("merge", *saved) == shown
    printed("merge", *saved[1:], saved[0], "--save", tmp_path / "all.acc")
    for order in (saved, [tmp_path / "all.acc"]):
        assert sorted(line.split("\t")[0] for line in printed("merge", *order).splitlines()) == \
               sorted(line[0] for line in [header, *lines])


# ---- groups of few rows, which are reduced side by side ----------------------------------------------

SHORT_ROWS = 17000


def short_groups(draw, value):
    """Rows of a key and a value each: groups of 1 to 40, most of them of few, in any order; some have no value."""
    keys = [f"k{i}" for i in range(SHORT_ROWS // 6) for _ in range(draw.choice([1, 1, 1, 2, 3, 5, 8, 16, 17, 40]))]
    draw.shuffle(keys)
    return [(key, value(draw) if draw.random() < 0.9 else "NA") for key in keys[:max(SHORT_ROWS, len(keys) // 2)]]


def test_short_groups_are_exact(tmp_path):
    rows = short_groups(random.Random(5), number)
    groups = {}
    for key, text in rows:
        groups.setdefault(key, []).extend([] if text == "NA" else [Fraction(float(text))])
    assert len(rows) >= 1 << 14 and len(rows) // 8 <= len(groups)
    path = tmp_path / "t.csv"
    path.write_text("key,value\n" + "".join(f"{key},{text}\n" for key, text in rows))
    lines = printed("sum,mean,var,count", "--by", "key", "--column", "value", "--missing", "skip", path).splitlines()[1:]
    assert [line.split("\t")[0] for line in lines] == list(groups)
    for line, values in zip(lines, groups.values()):
        total, mean, var, count = line.split("\t")[1:]
        assert int(count) == len(values) and float(total) == float(sum(values, Fraction(0)))
        if values:
            exact = sum(values) / len(values)
            assert float(mean) == float(exact)
            assert float(var) == float(sum((x - exact)**2 for x in values) / len(values))
        else:
            assert mean == var == ""


@pytest.mark.parametrize("most", [254, 255, 256, 257, 1000])
def test_counts_of_groups_exceed_a_byte(tmp_path, most):
    """Counts are bytes as long as they suffice, of each column by itself."""
    draw = random.Random(most)
    rows = [(f"k{i}", i % 7) for i in range(SHORT_ROWS)] + [("k3", i) for i in range(most - 1)]
    draw.shuffle(rows)
    text = "key,all,some\n" + "".join(f"{key},{value},{value if i % 2 else ''}\n" for i, (key, value) in enumerate(rows))
    keys = list(dict.fromkeys(key for key, _ in rows))
    arguments = ["count,sum", "--by", "key", "--column", "all,some", "--missing", "skip"]
    shown = ["\t".join(["key", "all_count", "all_sum", "some_count", "some_sum"])]
    groups = {key: [0] * 4 for key in keys}
    for i, (key, value) in enumerate(rows):
        groups[key] = [a + b for a, b in zip(groups[key], [1, value, i % 2, i % 2 * value])]
    shown += ["\t".join([key, *map(str, groups[key])]) for key in keys]
    path = tmp_path / "t.csv"
    path.write_text(text)
    assert printed(*arguments, path).splitlines() == shown
    parts = text.splitlines(keepends=True)
    for name, lines in (("a", parts[:9000]), ("b", parts[:1] + parts[9000:])):
        (tmp_path / name).write_text("".join(lines))
        printed(*arguments, "--save", tmp_path / f"{name}.acc", tmp_path / name)
    assert printed("merge", tmp_path / "a.acc", tmp_path / "b.acc").splitlines() == shown
    means = [line.split("\t") for line in printed("mean,count", "--decimal", "0", *arguments[1:3], "--column", "all", path).splitlines()[1:]]
    assert [[key, float(mean), int(count)] for key, mean, count in means] == [[key, groups[key][1] / groups[key][0], groups[key][0]] for key in keys]


LARGEST = {"f64": "1.7976931348623157e308", "f32": "3.4028234e38", "f16": "65504"}


def special(draw, name):
    largest = LARGEST[name]
    return draw.choice([str(draw.randint(-999, 999) / 8), "0", "-0", "inf", "-inf", "nan", "5e-324", "6e-8", largest, "-" + largest])


@pytest.mark.parametrize("name", ["f64", "f32", "f16", "i32", "u64", "i8"])
def test_short_groups_give_what_accumulators_give(tmp_path, name):
    """What is saved is added to accumulators.  Products of floats cannot be saved, those of integers exceed their type."""
    is_float = name in LARGEST
    rows = short_groups(random.Random(name), lambda draw: special(draw, name) if is_float else str(draw.randint(0, 127)))
    path = tmp_path / "t.csv"
    path.write_text("key,value\n" + "".join(f"{key},{text}\n" for key, text in rows))
    ops = "sum,mean,min,max,any,all,nonzero,norm1,norm2,norminf,argmax" + (",var,std" if is_float else ",and,or,xor")
    arguments = [ops, "--by", "key", "--column", "value", "--type", name, "--hex", "--missing", "skip", path]
    for nan in ["propagate", "omit"] if is_float else ["propagate"]:
        assert printed(*arguments, "--nan", nan) == printed(*arguments, "--nan", nan, "--save", tmp_path / "acc")


def test_a_sum_that_does_not_fit_names_its_short_group(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("key,value\n" + "".join(f"k{i // 2},{2**62}\n" for i in range(SHORT_ROWS)))
    refused(1, "group 'k0'", "sum", "--by", "key", "--column", "value", "--type", "i64", path)


PAIR_ROWS = 360_000  # which take more than 4 MiB


def many_groups(draw, value):
    """Rows of a key and a value each, of which some have none: groups of 3 on average, and one of more than a byte can count."""
    keys = [0 if i % 300 == 0 else draw.randrange(PAIR_ROWS // 3) for i in range(PAIR_ROWS)]
    return [(f"k{key}", value(draw) if i % 11 else "NA") for i, key in enumerate(keys)]


def far_number(draw):
    """Some of these are too far apart for two f64, and some means are so small or large that quotients are rounded twice."""
    exponent = draw.choice([-308, -290, -150, -20, 0, 16, 30, 300])
    return repr(draw.choice([-1, 1]) * (0.1 + draw.random()) * 10.0**exponent)


def odd_multiple(draw):
    """The sum of the first three has a third half-way between two f64, that of the first two and the fourth one above it."""
    return repr(draw.choice([-1, 1, 1, 1]) * draw.choice([2.0**54, 2.0**53, 9.0, 9 + 2.0**-40]))


UNIT = 2**1074  # of all finite values: integers take less time than fractions, and their quotients are rounded once, too


def in_units(value):
    numerator, denominator = value.as_integer_ratio()
    return numerator * (UNIT // denominator)


@pytest.mark.slow
@pytest.mark.parametrize("value", [number, far_number, odd_multiple])
def test_sums_of_many_groups_are_exact(tmp_path, value):
    rows, groups = many_groups(random.Random(value.__name__), value), {}
    for key, text in rows:
        groups.setdefault(key, []).extend([] if text == "NA" else [in_units(float(text))])
    path = tmp_path / "t.csv"
    path.write_text("key,value\n" + "".join(f"{key},{text}\n" for key, text in rows))
    lines = printed("sum,count,mean", "--by", "key", "--column", "value", "--missing", "skip", path).splitlines()[1:]
    assert [line.split("\t")[0] for line in lines] == list(groups)
    for line, values in zip(lines, groups.values()):
        total, count, mean = line.split("\t")[1:]
        exact = sum(values)
        assert int(count) == len(values) and float(total) == exact / UNIT
        assert float(mean) == exact / (UNIT * len(values)) if values else mean == ""


@pytest.mark.slow
@pytest.mark.parametrize("texts", [["-0", "-0", "-0", "0"], ["5e-324", "-1e-323", "1.5e-323", "2.3e-308"], ["inf", "-inf", "1"], ["nan", "1"],
                                   [LARGEST["f64"], "-" + LARGEST["f64"], "9e307", *["4.9896007738368e291"] * 4, "-4.9896007738368e291"]])
@pytest.mark.parametrize("rare", [1, 4, 1000, PAIR_ROWS])
def test_special_values_of_many_groups_are_as_beside_variances(tmp_path, texts, rare):
    """For which values are kept.  They are one in so many, or a single one, in the last row; few of them do not lose the pairs."""
    rows = many_groups(random.Random(rare), lambda draw: draw.choice(texts) if draw.randrange(rare) == 0 else number(draw))
    path = tmp_path / "t.csv"
    path.write_text("key,value\n" + "".join(f"{key},{text}\n" for key, text in rows) + f"k7,{texts[0]}\n")
    arguments = ["--by", "key", "--column", "value", "--hex", "--missing", "skip", path]
    want = [line.rsplit("\t", 1)[0] for line in printed("sum,mean,count,var", *arguments).splitlines()]
    assert printed("sum,mean,count", *arguments).splitlines() == want
    assert printed("sum,mean,count", *arguments, "--save", tmp_path / "acc").splitlines() == want


# ---- histograms by groups ----------------------------------------------------------------------------


def bins_of(edges, values):
    """(from, to, count) of each bin, and of what is outside where there is some."""
    last = len(edges) - 2
    found = [(low, high, sum(low <= x < high or (i == last and x == high) for x in values))
             for i, (low, high) in enumerate(zip(edges, edges[1:]))]
    below, above = sum(x < edges[0] for x in values), sum(x > edges[-1] for x in values)
    return [(-math.inf, edges[0], below)][:below] + found + [(edges[-1], math.inf, above)][:above]


@pytest.mark.parametrize("is_sorted", [False, True])
def test_histograms_by_groups(tmp_path, is_sorted):
    draw = random.Random(3)
    rows = [(draw.choice(["b", "a", "10", "9"]), draw.randint(-50, 50) / 4) for _ in range(300)]
    path, edges = tmp_path / "t.csv", [-10, -1.5, 0, 0, 4, 8.25]
    path.write_text("key,value\n" + "".join(f"{key},{value}\n" for key, value in rows) + "empty,NA\n")
    groups = {"empty": []}
    for key, value in rows:
        groups.setdefault(key, []).append(value)
    order = ["9", "10", "a", "b", "empty"] if is_sorted else list(dict.fromkeys(key for key, _ in rows)) + ["empty"]
    arguments = ["histogram", "--bins", ",".join(map(str, edges)), "--by", "key", "--column", "value", "--missing", "skip", path]
    arguments += ["--sort"] if is_sorted else []
    want = [(key, *row) for key in order for row in bins_of(edges, groups[key])]
    for option, separator in ((None, "\t"), ("--csv", ",")):
        header, *lines = [line.split(separator) for line in printed(*arguments, *filter(None, [option])).splitlines()]
        assert header == ["key", "from", "to", "count"]
        assert [(key, float(low), float(high), int(count)) for key, low, high, count in lines] == want
    if not is_sorted:
        shown = json.loads(printed(*arguments, "--json"))["results"]
        assert [record["key"]["key"] for record in shown] == order
        for record in shown:
            counts = [row[2] for row in bins_of(edges, groups[record["key"]["key"]]) if math.isfinite(row[0] + row[1])]
            assert [entry["count"] for entry in record["bins"]] == counts


@pytest.mark.parametrize("name", ['"how, many"', "how, many"])
def test_histograms_of_a_column_with_a_comma(name):
    data = '"how, many",k\n1,a\n3,b\n'
    assert printed("histogram", "--bins", "2", "--column", name, data=data).split() == "from to count 1 2 1 2 3 1".split()
    assert printed("histogram", "--bins", "1,3", "--by", "k", "--column", name, data=data).split() == "k from to count a 1 3 1 b 1 3 1".split()


def test_bins_of_equal_width_are_those_of_all_groups():
    data = "k,v\na,1\nb,3\na,2.5\nb,nan\n"
    assert lines_of("histogram", "--bins", "2", "--by", "k", "--column", "v", data=data) == [
        ["k", "from", "to", "count"], ["a", "1", "2", "1"], ["a", "2", "3", "1"], ["b", "1", "2", "0"], ["b", "2", "3", "1"],
        ["b", "nan", "nan", "1"]]
    assert printed("histogram", "--bins", "1", "--csv", "--column", "v", "--nan", "omit", data=data) == "from,to,count\n1,3,3\n"
    refused(2, "histogram takes one column", "histogram", "--by", "k", "--column", "k,v", data=data)
    refused(1, "no numbers", "histogram", "--by", "k", "--column", "v", "--missing", "skip", data="k,v\na,NA\n")


# ---- which columns, and which ops --------------------------------------------------------------------

TABLE = ('region,year,price,qty,"how, many"\n'
         'north,2020,0.1,3,a\n'
         'south,2021,0.2,4,"b, c"\n'
         '# comment\n'
         'north,2020,0.2,5,d\n'
         ',2019,7,6,e\n')


def lines_of(*arguments, data=TABLE):
    return [line.split("\t") for line in printed(*arguments, data=data).splitlines()]


def test_columns_without_groups_are_lines():
    assert lines_of("sum,count,argmax", "--column", "qty,price") == [
        ["column", "sum", "count", "argmax"], ["qty", "18", "4", "standard input:6"],
        ["price", "7.5", "4", "standard input:6"]]
    assert lines_of("max", "--column", "price", "--column", "4", "--header")[1:] == [["price", "7"], ["qty", "6"]]
    assert lines_of("sum,mean", data="1\n2\n") == [["column", "sum", "mean"], ["1", "3", "1.5"]]
    assert lines_of("sum", "--column", "2,1", data="1 2\n3 4\n")[1:] == [["2", "6"], ["1", "4"]]


def test_without_columns_all_numeric_ones_are_reduced():
    assert [line[0] for line in lines_of("sum", "--header")] == ["column", "year", "price", "qty"]
    assert lines_of("sum", "--by", "region")[0] == ["region", "year_sum", "price_sum", "qty_sum"]
    assert lines_of("sum", "--by", "1", data="a;1;x\nb;2;y\na;3;z\n") == [["1", "2_sum"], ["a", "4"], ["b", "2"]]
    first_missing = "k,x,y\na,NA,u\nb,5,v\n"
    assert lines_of("sum", "--by", "k", "--missing", "skip", data=first_missing)[1:] == [["a", "0"], ["b", "5"]]
    refused(1, "no column has numbers", "sum", "--by", "k", data="k,x\na,b\n")
    assert lines_of("sum", "--by", "k", data="k,x,x,y\na,1,2,u\na,3,4,v\n") == [["k", "x_sum", "x_sum"], ["a", "4", "6"]]


def test_names_between_commas_may_be_quoted():
    assert lines_of("count", "--by", '"how, many",year', "--column", "qty")[0] == ["how, many", "year", "qty_count"]
    assert printed("sum", "--column", "how, many", data='"how, many",x\n1,2\n3,4\n') == "4\n"
    assert printed("sum", "--column", '"say ""x"""', data='"say ""x""",x\n1,2\n3,4\n') == "4\n"
    refused(1, "'qty'", "sum", "--column", 'price,qyt', "--by", "region", data=TABLE)
    refused(1, ["standard input:1:", "'regoin'", "'region', 'year', 'price', 'qty', 'how, many'", "did you mean 'region'?"],
            "sum", "--by", "regoin", "--column", "price", data=TABLE)
    refused(1, "given twice", "sum", "--by", "region", "--column", "price,3", data=TABLE)
    refused(1, "no column '9'", "sum", "--by", "region", "--column", "9", data=TABLE)
    refused(1, "named 'a'", "sum", "--by", "a", "--column", "b", data="a,a,b\n1,2,3\n")


def test_ops_that_are_refused():
    refused(2, "did you mean 'mean'?", "sum,maen", "--column", "price", data=TABLE)
    refused(2, "dot", "sum,dot", "--column", "price", data=TABLE)
    refused(2, "'warpfold histogram --column C'", "sum,histogram", "--column", "price", data=TABLE)
    refused(2, "median is given twice", "median,sum,median", "--column", "price", data=TABLE)
    refused(2, ["--csv", "--json"], "sum", "--column", "price", "--csv", "--json", data=TABLE)
    refused(2, "twice", "sum,sum", "--column", "price", data=TABLE)
    refused(2, "xor", "xor,sum", "--column", "price", data=TABLE)
    refused(2, "--sort", "sum,mean", "--sort", data=TABLE)
    assert lines_of("stats", "--column", "price,qty")[0] == ["column", "count", "sum", "mean", "std", "min", "max"]


def test_sorting_puts_numbers_first_and_by_value():
    data = "k,x\n" + "".join(f"{key},1\n" for key in ["b", "10", "9", "a", "-1e1", "9.0", "", "B"])
    assert [line[0] for line in lines_of("count", "--by", "k", "--sort", data=data)[1:]] == [
        "-1e1", "9", "9.0", "10", "", "B", "a", "b"]


def test_missing_keys_and_values():
    data = "k,x\nNA,1\n,2\na,NA\nb,3\n"
    assert lines_of("sum,min", "--by", "k", "--missing", "skip", data=data)[1:] == [["", "2", "2"], ["a", "0", ""], ["b", "3", "3"]]
    assert lines_of("count", "--by", "k", "--column", "x", data=data.replace("a,NA\n", ""))[1:] == [["NA", "1"], ["", "1"], ["b", "1"]]
    refused(1, ["standard input:4:3: 'NA'", "--missing skip"], "sum", "--by", "k", "--column", "x", data=data)
    nans = "k,x\na,nan\na,1\nb,2\n"
    assert lines_of("sum,count", "--by", "k", data=nans)[1:] == [["a", "nan", "2"], ["b", "2", "1"]]
    assert lines_of("sum,count", "--by", "k", "--nan", "omit", data=nans)[1:] == [["a", "1", "1"], ["b", "2", "1"]]
    refused(1, "standard input:2:3: NaN", "sum,count", "--by", "k", "--nan", "error", data=nans)


def test_rows_are_counted_whatever_columns_they_have(tmp_path):
    head, rest = 'k,name\nb,x\na,"p\nq"\n', 'n,name,k\n7,u,b\n-,v,NA\n,w,\n'
    files = [tmp_path / "head.csv", tmp_path / "rest.csv"]
    for file, text in zip(files, (head, rest)):
        file.write_text(text)
    counted = [["k", "count"], ["b", "2"], ["a", "1"], ["NA", "1"], ["", "1"]]
    assert lines_of("count", "--by", "k", *files, data="") == counted
    assert lines_of("count", "--by", "k", "--missing", "skip", *files, data="") == [row for row in counted if row[0] != "NA"]
    assert lines_of("count", "--by", "k,name", data=head) == [["k", "name", "count"], ["b", "x", "1"], ["a", "p\\nq", "1"]]
    assert lines_of("count", "--by", "k", data="k\nb\n\nb\n") == [["k", "count"], ["b", "2"]]  # a blank line is no row
    assert lines_of("count", "--by", "2", "--skip", "1", data=rest)[1:] == [["u", "1"], ["v", "1"], ["w", "1"]]
    assert json.loads(printed("count", "--by", "k", "--json", data=head))["results"] == [
        {"key": {"k": "b"}, "count": 1}, {"key": {"k": "a"}, "count": 1}]
    for file in files:
        printed("count", "--by", "k", "--save", f"{file}.acc", file)
    assert lines_of("merge", *[f"{file}.acc" for file in files], data="") == counted
    refused(1, "no column named 'x'", "count", "--by", "k", files[0], "--column", "x")
    refused(1, "no column has numbers", "count,sum", "--by", "k", files[0])


def test_integers_are_exact_or_an_error():
    data = "k,x\na,9223372036854775807\nb,1\nb,2\n"
    assert lines_of("max,mean", "--by", "k", "--type", "i64", data=data)[1:] == [
        ["a", "9223372036854775807", "9.223372036854776e+18"], ["b", "2", "1.5"]]
    refused(1, ["column 'x'", "group 'a'", "does not fit in i64"], "sum", "--by", "k", "--type", "i64", data=data + "a,1\n")


# ---- decimals ----------------------------------------------------------------------------------------


def test_short_numbers_are_those_of_another_reader(write):
    """Of up to nine bytes, with and without a sign and a point, wherever that is."""
    draw = random.Random(8)
    texts = ["0", "-0", ".5", "5.", "-.5", "-5.", "0000000.", "00000001", "-0000000", "99999999", "-9999999", ".1234567", "1e5", "+1.5"]
    for _ in range(4000):
        digits = "".join(draw.choices("0123456789", k=draw.randint(1, 8)))
        place = draw.randint(0, len(digits))
        texts.append(draw.choice(["", "", "-"]) + digits[:place] + draw.choice(["", ".", "."]) + digits[place:])
    path = write("short.csv", "k,x\n" + "".join(f"{i},{text}\n" for i, text in enumerate(texts)))
    shown = printed("sum,max", "--by", "k", "--column", "x", "--hex", path).splitlines()[1:]
    assert [float.fromhex(line.split("\t")[2]).hex() for line in shown] == [float(text).hex() for text in texts]
    for text in (".", "-", "-.", "1.2.3", "1-2", "--1", "1:", "/", "1.-", "\xbd", "1/2"):
        refused(1, "is not a number", "sum", "--by", "k", "--column", "x", data=f"k,x\na,1\nb,{text}\nc,2345678\n")


def test_decimals():
    data = "k,x\na,0.1\na,0.2\nb,-0.05\nb,-1.5\nb,0.05\n"
    assert printed("sum", "--decimal", "1", data="0.1\n0.2\n") == "0.3\n"
    assert lines_of("sum,min,max,mean,count,argmin", "--by", "k", "--decimal", "2", data=data)[1:] == [
        ["a", "0.3", "0.1", "0.2", "0.15", "2", "standard input:2"],
        ["b", "-1.5", "-1.5", "0.05", "-0.5", "3", "standard input:5"]]
    assert printed("sum", "--decimal", "0", data="12\n-2.000\n") == "10\n"
    refused(1, ["standard input:1:1: '0.125' has more digits", "2 decimals"], "sum", "--decimal", "2", data="0.125\n")
    refused(1, ["does not fit", "18 decimals"], "sum", "--decimal", "18", data="10\n")
    refused(1, "does not fit", "sum", "--decimal", "18", data="9\n9\n")
    for wrong in ("0x1", "inf", ".", "1.2.3", "+-1", "1e", "1e+", "e1", ".e1", "1e1.5", "1e1e1"):
        refused(1, "not a decimal number", "sum", "--decimal", "2", "--column", "1", data=f"1,{wrong}\n{wrong},1\n")
    refused(2, "var", "var", "--decimal", "2", data="1\n")


def test_decimals_with_exponents():
    """Python's decimal shifts the point; a number is taken if it is a multiple of the last place, of 64 bits."""
    draw = random.Random(11)
    for _ in range(150):
        decimals = draw.choice([0, 2, 18])
        whole, part = ("".join(draw.choices("00129", k=draw.choice([0, 1, 3, 20]))) for _ in range(2))
        text = draw.choice("-+ ").strip() + (whole or "0") + draw.choice(["", "." + part])
        text += draw.choice(["e0", "E-0", "e-2", "e+2", f"e{draw.randint(-25, 25)}", "e-99999999999999999999"])
        mantissa, exponent = text.lower().split("e")
        value = Fraction(mantissa) * Fraction(10) ** max(int(exponent), -100)
        scaled = value * 10**decimals
        if scaled.denominator == 1 and -2**63 <= scaled < 2**63:
            assert Fraction(printed("sum", "--decimal", decimals, data=text + "\n").strip()) == value, text
        else:
            refused(1, "standard input:1:1: '", "sum", "--decimal", decimals, data=text + "\n")


def test_means_of_decimals_are_rounded_once():
    draw = random.Random(5)
    for decimals in (0, 3, 18):
        values = [draw.randint(-10**draw.randint(1, 17), 10**17) for _ in range(7)]
        texts = [f"{'-' * (v < 0)}{abs(v) // 10**decimals}.{abs(v) % 10**decimals:0{decimals}d}" if decimals else str(v)
                 for v in values]
        shown = printed("mean", "--decimal", decimals, data="\n".join(texts) + "\n")
        assert float(shown) == float(Fraction(sum(values), 7 * 10**decimals))


# ---- what depends on the order ------------------------------------------------------------------------


def quantile(q, values, between):
    """The exact quantile of fractions, as `between` has it."""
    values = sorted(values)
    place = Fraction(q) * (len(values) - 1)
    low, part = int(place), place - int(place)
    high = min(low + 1, len(values) - 1)
    if between == "nearest":
        return values[low if part < Fraction(1, 2) or (part == Fraction(1, 2) and low % 2 == 0) else high]
    return {"lower": values[low], "higher": values[high if part else low],
            "midpoint": (values[low] + values[high if part else low]) / 2,
            "linear": values[low] + (values[high] - values[low]) * part}[between]


@pytest.mark.parametrize("seed, type_name, between", [
    (1, "f64", "linear"), (2, "f64", "midpoint"), (3, "i64", "linear"), (4, "i64", "nearest"), (5, "f64", "lower"), (6, "f64", "higher")])
def test_quantiles_and_distinct_values_of_groups(seed, type_name, between):
    draw = random.Random(seed)
    makes = {"f64": lambda: repr(draw.choice([draw.uniform(-9, 9), draw.randint(-3, 3) / 4, draw.random() * 10.0**draw.randint(-300, 300)])),
             "i64": lambda: str(draw.choice([draw.randint(-2**62, 2**62), draw.randint(-3, 3)]))}
    keys = [f"key {i}" for i in range(40)]
    rows = [(draw.choice(keys[:draw.choice([2, 40])]), makes[type_name](), draw.choice(["1", "2", "NA"])) for _ in range(3000)]
    data = "k,x,y\n" + "".join(",".join(row) + "\n" for row in rows)
    groups = {}
    for key, x, y in rows:
        groups.setdefault(key, ([], []))[0].append(Fraction(float(x)) if type_name == "f64" else Fraction(x))
        if y != "NA":
            groups[key][1].append(Fraction(y))
    qs = ["0", "0.1", "0.5", "0.99"]
    options = ["--by", "k", "--missing", "skip", "--type", type_name]
    found = lines_of("quantile", "--q", ",".join(qs), "--between", between, "--column", "x,y", *options, data=data)
    assert found[0] == ["k"] + [f"{c}_q{q}" for c in "xy" for q in qs]
    assert [line[0] for line in found[1:]] == list(groups)
    for key, *shown in found[1:]:
        values = [quantile(q, column, between) for column in groups[key] for q in qs if column]
        assert [float(text) for text in shown if text] == [float(value) for value in values], key
        assert shown.count("") == 4 * (not groups[key][1])
    found = lines_of("count,distinct,median,max", "--column", "x", "--sort", *options, data=data)
    assert [line[0] for line in found[1:]] == sorted(groups)
    for key, count, distinct, median, largest in found[1:]:
        x = groups[key][0]
        assert (int(count), int(distinct)) == (len(x), len(set(x)))
        assert (float(median), float(largest)) == (float(quantile("0.5", x, "linear")), float(max(x)))


def test_rows_are_kept_for_medians_however_many_there_are():
    values = [(i * 7919) % 1000003 for i in range(1500000)]  # more than 16 MiB, behind which other ops forget rows
    data = "x\n" + "\n".join(map(str, values)) + "\n"
    median = (sorted(values)[749999] + sorted(values)[750000]) / 2
    assert lines_of("median,sum", "--column", "x", data=data)[1:] == [["x", f"{median!r}", f"{sum(values)}"]]


def test_where_medians_of_tables_do_not_go():
    data = "k,x\na,1\na,2\nb,4\n"
    refused(2, "cannot be merged, so they are not saved", "sum,median", "--by", "k", "--save", "/nowhere/x", data=data)
    refused(2, "for decimals", "median,sum", "--by", "k", "--decimal", "1", data=data)
    refused(2, "--resume does not take medians and distinct values: they need all rows", "median,sum", "--by", "k", "--resume", "/nowhere/x", data=data)
    refused(1, "/nowhere/x: No such file", "sum", "--by", "k", "--resume", "/nowhere/x", data=data)
    refused(2, "--q: 0.5 is given twice", "quantile", "--q", "0.5,0.1,0.5", "--by", "k", data=data)
    refused(1, ["column 'x'", "group 'a'", "does not fit in i8"], "median", "--by", "k", "--column", "x", "--result-type", "i8", data="k,x\na,nan\n")
    assert lines_of("median", "--by", "k", data=data) == [["k", "x_median"], ["a", "1.5"], ["b", "4"]]
    assert lines_of("median", "--by", "k", "--nan", "omit", data=data + "c,nan\nb,nan\n")[1:] == [["a", "1.5"], ["b", "4"], ["c", ""]]
    assert lines_of("median", "--by", "k", data=data + "b,nan\n")[1:] == [["a", "1.5"], ["b", "nan"]]
    assert lines_of("distinct", "--by", "k", data=data + "b,nan\nb,-0\nb,0\nb,nan\n")[1:] == [["a", "2"], ["b", "3"]]
    assert json.loads(printed("quantile", "--q", "0.25", "--by", "k", "--json", data=data))["results"][0] == {
        "key": {"k": "a"}, "column": "x", "q0.25": 1.25}


# ---- terminals ----------------------------------------------------------------------------------------


def lines_on_terminal(*arguments, data):
    """The lines that a terminal gets as standard output."""
    main_end, program_end = pty.openpty()
    done = run(*arguments, data=data, stdout=program_end)
    os.close(program_end)
    shown = b""
    while True:
        try:
            shown += os.read(main_end, 1 << 16)
        except OSError:  # everything has been read
            break
    os.close(main_end)
    assert done.returncode == 0, done.stderr
    return shown.decode().replace("\r\n", "\n").splitlines()


def test_terminals_get_aligned_columns():
    data = "k,x\nnorth,1.25\n日本,2\nsüd,-30\n한국,1\ncafe\u0301,\n😀!,7\n"
    assert lines_on_terminal("sum,max", "--by", "k", "--missing", "skip", data=data) == [
        "k      x_sum  x_max",
        "north   1.25   1.25",
        "日本       2      2",  # a character of two places
        "süd      -30    -30",
        "한국       1      1",
        "cafe\u0301       0       ",  # an accent of none
        "😀!        7      7"]
    assert lines_on_terminal("count", "--by", "k", data=data)[:2] == ["k      count", "north      1"]
    assert lines_on_terminal("sum,mean", "--column", "x", "--missing", "skip", data=data) == [
        "column     sum   mean", "x       -18.75  -3.75"]


def test_terminals_get_aligned_results_of_rows():
    data = "x,longer\n1,2\n-10,20.5\n"
    assert lines_on_terminal("sum,argmax", "--per", "row", "--header", data=data) == [
        " sum  argmax", "   3  longer", "10.5  longer"]
    assert lines_on_terminal("sum", "--per", "row", "--header", data=data) == ["3", "10.5"]


# ---- rows ---------------------------------------------------------------------------------------------


def test_each_row_is_reduced():
    data = "k,x,y,z\na,1,2,3\nb,-,5,NA\n# c\nc,-,-,-\nd,7,-1,0\n"
    arguments = ["--per", "row", "--missing", "skip", "--column", "x,y,z"]
    assert printed("sum", *arguments, data=data) == "6\n5\n0\n6\n"
    assert lines_of("mean,argmax,count,var", *arguments, data=data) == [
        ["mean", "argmax", "count", "var"], ["2", "z", "3", repr(float(Fraction(2, 3)))], ["5", "y", "1", "0"],
        ["", "", "0", ""], ["2", "x", "3", repr(float(Fraction(38, 3)))]]
    assert printed("mean", *arguments, "--decimal", "1", "--csv", data=data.replace("1,2,3", "0.1,0.2,0.3")) == \
        "mean\n0.2\n5\n\n2\n"
    assert json.loads(printed("max,argmin", *arguments, "--json", data=data))["results"][1:3] == [
        {"max": 5, "argmin": "y"}, {"max": None, "argmin": None}]
    assert printed("max", "--per", "row", data="1 5\n7 2\n") == "5\n7\n"
    assert printed("sum", "--per", "row", "--header", data="n,x\na,1\n") == "1\n"
    refused(2, "--by", "sum", "--per", "row", "--by", "k", data=data)
    refused(1, "standard input:3:3", "sum", "--per", "row", "--column", "x,y", data=data)


def test_medians_quantiles_and_distinct_values_of_rows(write):
    draw = random.Random(21)
    rows = [[draw.choice(["", "NA", "-0", "0", "2.5", "7", repr(draw.uniform(-1, 1))]) for _ in range(5)] for _ in range(3000)]
    path = write("rows.csv", "a,b,c,d,e\n" + "".join(",".join(row) + "\n" for row in rows))
    arguments = ["--per", "row", "--missing", "skip", "--header", path]
    values = [sorted(Fraction(float(text)) for text in row if text not in ("", "NA")) for row in rows]
    both = [line.split("\t") for line in printed("median,distinct", *arguments).splitlines()[1:]]
    ends = [line.split("\t") for line in printed("quantile", "--q", "0,1", *arguments).splitlines()[1:]]
    for row, (median, distinct), (least, most) in zip(values, both, ends, strict=True):
        assert int(distinct) == len(set(row))
        if row:
            exact = (row[(len(row) - 1) // 2] + row[len(row) // 2]) / 2
            assert (float(median), float(least), float(most)) == (float(exact), row[0], row[-1])
        else:
            assert (median, least, most) == ("", "", "")
    assert printed("median", *arguments).splitlines() == [line[0] for line in both]
    refused(2, "for decimals", "median,sum", "--decimal", "1", *arguments)


def test_many_rows_each(write):
    draw = random.Random(9)
    rows = [[draw.choice(["", repr(draw.uniform(-1, 1) * 10.0**draw.randint(-9, 9))]) for _ in range(4)] for _ in range(9000)]
    path = write("rows.csv", "a,b,c,d\n" + "".join(",".join(row) + "\n" for row in rows))
    shown = printed("sum,count", "--per", "row", "--missing", "skip", "--header", path).splitlines()[1:]
    for line, row in zip(shown, rows, strict=True):
        values = [Fraction(float(text)) for text in row if text]
        total, count = line.split("\t")
        assert (float(total), int(count)) == (float(sum(values, Fraction(0))), len(values))


# ---- how results are written -------------------------------------------------------------------------


def test_many_groups_are_printed_whole():
    """More than a block of cells, with keys that are long, empty or have what a form escapes; numbers that repeat, of
    several types."""
    keys = [f"k{i}" + "y" * (i % 130) + ("\t" if i % 7 == 0 else "") for i in range(3000)] + ["", "#", "é"]
    values = [(i // 2 % 5) / 4 for i in range(len(keys))]
    data = "k,x\n" + "".join(f'"{key}",{value}\n' for key, value in zip(keys, values))
    rows = [[key, "1", *[f"{value:g}"] * 2, f"standard input:{i + 2}"] for i, (key, value) in enumerate(zip(keys, values))]
    arguments = ["count,sum,max,argmax", "--by", "k", "--column", "x"]
    assert lines_of(*arguments, data=data)[1:] == [[cell.replace("\t", "\\t") for cell in row] for row in rows]
    assert list(csv.reader(io.StringIO(printed(*arguments, "--csv", data=data))))[1:] == rows


def test_forms():
    data = 'k,x\n"a,""b""\td",1\nc,2\n'
    assert printed("sum", "--by", "k", "--csv", data=data) == 'k,x_sum\n"a,""b""\td",1\nc,2\n'
    assert printed("sum", "--by", "k", data=data) == 'k\tx_sum\na,"b"\\td\t1\nc\t2\n'
    assert json.loads(printed("sum,min,argmax", "--by", "k", "--json", "--missing", "skip", data="k,x\na,1\nb,-\n")) == {
        "type": "f64", "rows": 2, "results": [
            {"key": {"k": "a"}, "column": "x", "sum": 1, "min": 1,
             "argmax": {"index": 0, "file": "standard input", "line": 2}},
            {"key": {"k": "b"}, "column": "x", "sum": 0, "min": None, "argmax": None}]}
    assert lines_of("sum", "--by", "k", "--hex", data="k,x\na,1.5\n")[1] == ["a", "0x1.8p+0"]


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
