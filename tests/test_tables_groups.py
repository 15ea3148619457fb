"""Several columns of a table, groups by the texts of others, several ops at once: against rational arithmetic over the rows
that were written, so that no table is parsed here."""

import functools
import json
import math
import random
from fractions import Fraction

import pytest

from cli_helpers import printed, refused, run
from table_helpers import lines_of

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


@functools.lru_cache(1)  # which takes longer to make than to read
def many_numbers():
    return many_groups(random.Random("numbers"), number)


def with_rare(rows, texts, rare):
    """Among so many neighbouring rows one has another text, unless it has none; among all, none has."""
    rows, draw = list(rows), random.Random(rare)
    starts = range(0, len(rows), rare) if rare < len(rows) else ()
    for start, text in zip(starts, draw.choices(texts, k=len(starts)) if starts else ()):
        key, before = rows[i := min(start + int(rare * draw.random()), len(rows) - 1)]
        rows[i] = key, text if before != "NA" else before
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("texts", [["-0", "-0", "-0", "0"], ["5e-324", "-1e-323", "1.5e-323", "2.3e-308"], ["inf", "-inf", "1"], ["nan", "1"],
                                   [LARGEST["f64"], "-" + LARGEST["f64"], "9e307", *["4.9896007738368e291"] * 4, "-4.9896007738368e291"]])
@pytest.mark.parametrize("rare", [1, 4, 1000, PAIR_ROWS])
def test_special_values_of_many_groups_are_as_beside_variances(tmp_path, texts, rare):
    """For which values are kept.  They are one in so many, or a single one, in the last row; few of them do not lose the pairs."""
    rows = with_rare(many_numbers(), texts, rare)
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
