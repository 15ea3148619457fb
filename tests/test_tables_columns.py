"""Tables: which columns and ops are asked for, decimals, rows, and how results are written."""

import csv
import io
import json
import os
import pty
import random
from fractions import Fraction

from cli_helpers import printed, refused, run
from table_helpers import TABLE, lines_of

# ---- which columns, and which ops --------------------------------------------------------------------


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
