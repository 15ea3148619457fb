"""What the command line says of tables, of arrays in Fortran order, of raw bytes in another order, and of names that
do not exist."""

import csv
import itertools
import math
import os
import random
import struct

import pytest

from cli_helpers import npy, pack, printed, refused, run


# ---- text --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data, arguments, result", [
    ("name,x,y\nJohn Doe,1,2\nRoe,3,4\n", ["--column", "y"], "6"),
    ("name,x,y\nJohn 7,1,2\nRoe 8,3,4\n", ["--column", "x"], "4"),
    ("id\tname\tval\n1\tn 0\t0.5\n2\tn 1\t0.25\n", ["--column", "val"], "0.75"),
    ('"a,b";c\n"1,5";2\n', ["--column", "c"], "2"),
    ("a b  c\n1 2 3\n 4   5 6 \n", ["--column", "c"], "9"),
    ("1,5\n2,5\n", [], "13"),
    ("1, 2, 3\n", [], "6"),
    ("1 2 3\n4 5\n", [], "15"),
    ("a|b\r\n1|2\r\n3|4\r\n", ["--column", "b"], "6"),
    ("# made by hand; 1,2\n\n#x;y\n1;2\n", [], "3"),
    ("1,NA,3\nnull,-,\nNaN,4,-nan\n", ["--missing", "skip"], "8"),
    ("x,y\n1,2\nNA,5\n3,4\n", ["--missing", "skip", "--column", "x", "--type", "i32"], "4"),
    ("1 - 2\nna 3\n", ["--missing", "skip"], "6"),
    ('5" pipe,3\n', ["--column", "2"], "3"),
])
def test_tables(data, arguments, result):
    assert printed("sum", *arguments, data=data) == result + "\n"


@pytest.mark.parametrize("data, arguments, place, said", [
    ("1,000 2,500\n", [], ":1:3: ", "'000 2'"),
    ("1 2,3\n", [], ":1:1: ", "'1 2'"),
    ("a,b\n1,2\n3\n", ["--header"], ":3:2: ", "1 field, but line 1, the first, has 2"),
    ("a,b\n\n# c\n1,2,3\n", ["--column", "a"], ":4:6: ", "3 fields, but line 1, the first, has 2"),
    ("a b\n1 2\n3 4 5\n", ["--column", "2", "--header"], ":3:6: ", "3 fields"),
    ("# c\n1,2\n3,4,5\n", [], ":3:6: ", "3 fields, but line 2"),
    ("1,2,\n", [], ":1:5: ", "an empty field"),
    ("1\t\t2\n", [], ":1:3: ", "an empty field"),
    ("1 2\n3 # three\n", [], ":2:3: ", "'#'"),
    ("1\n2,5\n", [], ":2:1: ", "'2,5'"),
    ("1;NA\n", [], ":1:3: ", "--missing skip"),
    ("x;y\n1;2,5\n", ["--column", "y"], ":2:3: ", "'2,5' is not a number: numbers have a point, and no commas"),
    ("x\r1\r2\r", ["--column", "x"], ":1:2: ", "tr '\\r' '\\n'"),
    ("k,x\ra,1\rb,2", ["--column", "2", "--header"], ":1:4: ", "tr '\\r' '\\n'"),
    ("k,x\ra,1\rb,2\r", ["--column", "2", "--by", "1", "--header"], ":1:4: ", "tr '\\r' '\\n'"),
    ("price qty\n1 2\n", [], ":1:1: ", "--column NAME"),
    ("x;y\n1;2\n", ["--column", "2"], ":1:3: ", "--header"),
    ("x,y\n1,2\n", ["--column", "3", "--header"], ":1:4: ", "no column 3"),
    ("a\tb, c\n1\t2\n", ["--column", "a"], ":1:7: ", "'a\\tb', 'c'; is the delimiter another one (--delimiter)?"),
    ("a;b, c\n1;2\n", ["--by", "a", "--column", "c"], ":1:7: ", "--delimiter"),
    ("1,5;2,5\n", ["--column", "1", "--delimiter", ";"], ":1:1: ", "'1,5' is not a number: numbers have a point, and no commas"),
    ("x,y\n1,2\n3,\0004\n", ["--column", "x"], ": ", "not text (0x00 at byte 10)"),
    ("x,y\na,b\n", ["--csv"], ":1:1: ", "no column has numbers: name one with --column, or --header if this line has names"),
    ("name,price,qty\n1,2,3\n", ["--column", "pirce"], ":1:15: ",
     "'name', 'price', 'qty'; did you mean 'price'?"),
])
def test_what_tables_are_refused_for(data, arguments, place, said):
    refused(1, [f"standard input{place}", said], "sum", *arguments, data=data)


def test_the_names_of_a_long_header_are_cut_short():
    names = [f"column{i}" for i in range(5000)]
    message = refused(1, ["'column0', ", "more", "did you mean 'column4999'?"], "sum", "--column", "colmun4999",
                      data=",".join(names) + "\n")
    assert len(message) < 700
    message = refused(1, "'a", "sum", "--format", "text", "--column", "b", data="a\x1b[31m\x07c,d\n1,2\n")
    assert "\x1b" not in message and "\x07" not in message


@pytest.mark.parametrize("header, delimiter", [
    ("Name;Price, EUR;Qty", ","), ('Name;"Price, EUR";Qty', ";"), ("a\tb;c\td", "\t"), ("a|b;c|d|e", ";"), ("a|b", "|"),
    ('a|b|",;;;;"', "|"), ("a;b\tc", "\t")])
def test_the_delimiter_is_the_first_of_those_in_the_first_line(header, delimiter):
    count = len(next(csv.reader([header], delimiter=delimiter)))
    row = delimiter.join(str(i + 1) for i in range(count))
    assert printed("sum", "--header", "--column", str(count), data=f"{header}\n{row}\n") == f"{count}\n"


@pytest.mark.parametrize("word, shown", [
    ("größe".encode(), "'größe'"), ("価格".encode(), "'価格'"), (b"gr\xf6\xdfe", r"'gr\xf6\xdfe'"),
    (b"a\x1bb", r"'a\x1bb'"), ("a\u202eb".encode(), r"'a\u202eb'"),
    ("é".encode() * 20, f"'{'é' * 20}'"), (b"x" + "é".encode() * 20, f"'x{'é' * 19}...'"),
    (b"\xff" * 11, "'" + r"\xff" * 10 + "...'"), (b"y" * 5000, f"'{'y' * 40}...'"),
])
def test_quoted_fields_show_printable_utf8_and_escape_the_rest(word, shown):
    refused(1, f"standard input:1:1: {shown} is not a number", "sum", "--format", "text", data=word + b"\n")
    refused(1, f"{shown}, 'qty'", "sum", "--format", "text", "--column", "b", data=word + b",qty\n1,2\n")


def test_each_file_has_its_own_first_line(write):
    paths = [write("a", "x,y\n1,2\n"), write("b", "y;x\n3;4\n"), write("c", ""), write("d", "x\n5\n")]
    assert printed("sum", "--column", "x", *paths) == "10\n"
    paths.append(write("e", "x y z\n6 7\n"))
    refused(1, [f"{paths[-1]}:2:4: ", "2 fields, but line 1, the first, has 3"], "sum", "--column", "x", *paths)


def test_nans_of_texts_are_named_by_line(write):
    first, second = write("first.csv", b"a,b\n1,2\n3,4\n"), write("second.csv", b"b,a\n5,nan\n6,7\nnan,nan\n")
    plain = write("plain.txt", b"1 2\n3 -nan\n")
    for op in ("sum", "stats", "argmax", "median", "distinct", "histogram"):
        for arguments, index, place in ((["--column", "b", first, second], 4, f"{second}:4:1"),
                                        (["--column", "a", first, second], 2, f"{second}:2:3"), ([plain], 3, f"{plain}:2:3")):
            done = run(op, "--nan", "error", *arguments)
            assert (done.returncode, done.stdout) == (1, "")
            assert done.stderr.splitlines() == [f"warpfold: NaN at index {index}", f"warpfold: {place}: NaN"]
    # What cannot be read twice, and what has no lines.
    assert run("sum", "--nan", "error", data="1\nnan\n").stderr == "warpfold: NaN at index 1\n"
    raw = write("x.raw", struct.pack("<2d", 1, math.nan))
    assert run("sum", "--nan", "error", "--type", "f64", "--format", "raw", raw).stderr == "warpfold: NaN at index 1\n"


def test_several_columns_are_not_one():
    table = "price,qty\n1,2\n3,4\n"
    for columns in (["--column", "price", "--column", "qty"], ["--column", "1,2"], ["--column", "price,2"]):
        assert printed("sum", "--header", *columns, data=table) == "column\tsum\nprice\t4\nqty\t6\n"
    assert printed("sum", "--column", "price", "--column", "price", data=table) == "4\n"


def test_indices_do_not_count_what_is_missing():
    assert printed("argmax", "--missing", "skip", data="1\nNA\n3\n2\n") == "1\n"
    assert printed("argmax", "--column", "2", "--missing", "skip", data="NA,1\n5,-\n5,7\n") == "1\n"
    assert printed("argmax", "--decimal", "1", "--missing", "skip", "--column", "1", data="1\n-\n3.5\n2\n") == "1\n"
    data = "x\n1\nNA\n3\n\n2\n"
    assert printed("argmax,count", "--column", "x", "--missing", "skip", data=data) == "column\targmax\tcount\nx\tstandard input:4\t3\n"
    assert printed("max", "--per", "row", "--column", "x", "--missing", "skip", data=data) == "1\n\n3\n2\n"


def test_pairs_cannot_leave_out_values(write):
    refused(2, "missing", "dot", "--missing", "skip", write("a", "1\nNA\n3\n"), write("b", "1\n2\n3\n"))


# ---- raw and .npy ------------------------------------------------------------------------------------


@pytest.mark.parametrize("type_name", ["u8", "i16", "f32", "f64"])
def test_byte_order_of_raw_files(write, type_name):
    values = [1, 100, 7]
    for order, name in (("<", "little"), (">", "big"), ("=", "native")):
        data = pack(type_name, values, order)
        arguments = ["--type", type_name, "--format", "raw", "--byte-order", name]
        assert printed("sum", *arguments, write("x", data)) == printed("sum", *arguments, data=data) == "108\n"
    if type_name != "u8":
        swapped = "big" if pack("u16", [1]) == pack("u16", [1], "<") else "little"
        assert printed("sum", "--type", type_name, "--format", "raw", "--byte-order", swapped,
                       data=pack(type_name, values)) != "108\n"


def test_options_that_mean_nothing_for_a_file(write):
    array, text = write("x.npy", npy("f32", [1, 2])), write("x.txt", "1 2")
    refused(2, "--byte-order", "sum", "--byte-order", "big", "--format", "npy", array)
    refused(2, [str(array), "byte order"], "sum", "--byte-order", "big", array)
    refused(2, [str(text), "byte order", "looks like text (raw data: format raw)"], "sum", "--byte-order", "little", text)
    for option in (["--column", "2"], ["--column", "x"], ["--header"], ["--skip", "1"], ["--delimiter", ","],
                   ["--missing", "skip"]):
        refused(2, [str(array), "text"], "sum", *option, array)
        refused(2, "raw", "sum", *option, "--type", "u8", "--format", "raw", text)


def test_dot_pairs_by_index(write):
    rows, columns = [1, 5, 2, 9, 3, 4], [1, 9, 5, 3, 2, 4]
    c = write("c.npy", npy("f64", rows, shape=[2, 3]))
    f = write("f.npy", npy("f64", columns, shape=[2, 3], fortran_order=True))
    for a, b in itertools.product((c, f), repeat=2):
        assert printed("dot", a, b) == printed("dot", "--nan", "error", a, b) == "136\n"
    other = write("other.npy", npy("f64", rows, shape=[3, 2]))
    refused(1, ["(2, 3)", "(3, 2)"], "dot", f, other)
    refused(1, ["(2, 3)", "(6,)"], "dot", c, write("flat.npy", npy("f64", rows)))
    assert printed("dot", f, write("text", "1 5 2 9 3 4")) == "136\n"


def test_indices_are_in_c_order(write):
    f = write("f.npy", npy("f64", [1, 9, 5, 3, 9, 4], shape=[2, 3], fortran_order=True))  # [[1, 5, 9], [9, 3, 4]]
    assert printed("argmax", f) == "2\n"
    assert printed("argmax", "--first-index", "10", f, f) == "12\n"
    assert "argmax   2\n" in printed("stats", f)
    bad = write("nan.npy", npy("f64", [1, "nan", "nan", 3], shape=[2, 2], fortran_order=True))
    refused(1, "NaN at index 1", "sum", "--nan", "error", bad)
    assert "storage" in refused(1, "NaN at index 1", "prod", "--nan", "error", bad)
    content = f.read_bytes()
    assert printed("sum", data=content) == "31\n"
    refused(1, ["Fortran", "pipe"], "argmax", data=content)
    refused(1, ["Fortran", "pipe"], "dot", "-", write("c.npy", npy("f64", [1] * 6, shape=[2, 3])), data=content)


def fortran_of(values, shape):
    """C order to the order of storage."""
    return [values[c_index(place, shape)] for place in range(len(values))]


def c_index(place, shape):
    index = []
    for length in shape:
        index.append(place % length)
        place //= length
    c = 0
    for i, length in zip(index, shape):
        c = c * length + i
    return c


SHAPES = [[3, 1, 2], [2, 3, 4, 5], [1, 1, 7], [300, 211], [7, 5, 3, 2, 2, 2], [2, 0, 3], [1500, 3], [3, 1500], [2, 70_001]]


@pytest.mark.sampled
@pytest.mark.parametrize("shape", SHAPES)
def test_arrays_of_many_shapes(write, shape):
    """Small integers, with many ties: the first in C order is the one."""
    draw, count = random.Random(str(shape)), 1
    for length in shape:
        count *= length
    values = [draw.randint(0, 99) for _ in range(count)]
    for type_name, order in (("u8", "<"), ("i16", ">"), ("f64", "<")):
        c = write("c.npy", npy(type_name, values, shape=shape, order=order))
        f = write("f.npy", npy(type_name, fortran_of(values, shape), shape=shape, order=order, fortran_order=True))
        for threads in ("1", "3"):
            assert run("argmin", "--threads", threads, f).stdout == run("argmin", "--threads", threads, c).stdout
            assert printed("stats", "--threads", threads, f, c) == printed("stats", "--threads", threads, c, c)
        assert printed("dot", c, f) == str(sum(value * value for value in values)) + "\n"


@pytest.mark.sampled
@pytest.mark.parametrize("shape", [[3, 2_200_000], [2, 3, 2_100_000], [4000, 1500], [5, 1_000_000], [1100, 3, 1700]])
def test_arrays_larger_than_a_panel(tmp_path, shape):
    """Bytes made by one rule from their index, in an order of storage that numpy would have, by blocks."""
    count = 1
    for length in shape:
        count *= length
    spot, other = count * 2 // 3, count * 3 // 4  # in C order: the larger ones
    path, strides, size = tmp_path / "f.npy", [], 1
    for length in shape:
        strides.append(size)
        size *= length

    def place_of(c):
        index = []
        for length in reversed(shape):
            index.append(c % length)
            c //= length
        return sum(i * stride for i, stride in zip(reversed(index), strides))

    header = npy("f64", [0], shape=shape, fortran_order=True)[:-8]
    with open(path, "wb") as file:
        file.write(header)
        file.truncate(len(header) + 8 * count)
        for c, value in ((spot, 5.0), (other, 5.0), (count - 1, 2.5)):
            file.seek(len(header) + 8 * place_of(c))
            file.write(pack("f64", [value]))
    assert printed("argmax", path) == f"{spot}\n"
    os.truncate(path, len(header) + 8 * count - 9)
    refused(1, "truncated", "argmax", path)


# ---- names and options -------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments, meant", [
    (["summ"], "sum"), (["SUM"], "sum"), (["meean"], "mean"), (["variance"], "var"), (["stast"], "stats"),
    (["average"], "mean"), (["inspekt", "x"], "inspect"), (["laddr"], "ladder"), (["hlep"], "help"),
    (["sum", "--delimeter", ","], "--delimiter"), (["sum", "--threds=3"], "--threads"),
    (["sum", "--group", "k"], "--by"), (["sum", "--sep=;"], "--delimiter"), (["sum", "--type", "float32"], "f32"), (["sum", "--type", "F64"], "f64"), (["sum", "--type", "f46"], "f64"),
    (["sum", "--result-type", "double"], "f64"), (["sum", "--type", ">f4"], "f32"),
])
def test_names_that_do_not_exist(arguments, meant):
    refused(2, f"did you mean '{meant}'", *arguments, data="1")


@pytest.mark.parametrize("arguments, command", [
    (["sum", "--delimeter", ","], "sum "), (["sum,mean", "--type", "float32"], "sum,mean "), (["--typo", "sum"], ""), (["summ"], "")])
def test_the_help_that_is_named_is_the_command_s(arguments, command):
    assert run(*arguments).stderr.splitlines()[1:] == [f"warpfold: try 'warpfold {command}--help'"]


@pytest.mark.parametrize("name", ["xyzzy", "", "q", "supercalifragilistic" * 99])
def test_names_that_are_near_to_none(name):
    assert "did you mean" not in refused(2, "unknown command", name)


def test_options_that_are_short_for_several():
    refused(2, ["'--h'", "several"], "sum", "--h")
    assert printed("sum", "--colu", "2", data="1 2") == "2\n"


@pytest.mark.parametrize("option, first, second", [("skip", "1", "2"), ("type", "f32", "f64"), ("threads", "1", "2"),
                                                   ("nan", "omit", "error"), ("delimiter", ",", ";"),
                                                   ("first-index", "0", "1"), ("save", "/dev/null", "/dev/full")])
def test_options_with_two_values(option, first, second):
    refused(2, [f"--{option}", f"'{first}'", f"'{second}'"], "sum", f"--{option}", first, f"--{option}", second, data="1")
    if option != "save":
        run_twice = run("sum", f"--{option}", first, f"--{option}={first}", data="1")
        assert run_twice.returncode == 0


def test_indices_beyond_the_last_one():
    last = 2**63 - 1
    for op in ("norm2", "argmax", "prod", "stats"):
        for threads in ("1", "2"):
            refused(1, "2^63 - 1 elements", op, "--threads", threads, "--first-index", last, data="1 2")
    assert printed("argmax", "--first-index", last - 2, data="1 2") == f"{last - 1}\n"
    refused(1, "2^63 - 1 elements", "argmax", "--first-index", last - 1, data="1 2")
