"""The command line, from arguments and files to what it prints and its exit status.

Expected values come from the oracle; input files are written byte by byte.  That the numbers are right for every
op, type and order is tested with the library; here, that they reach the user.
"""

import json
import os
import random
import re
import struct
import threading

import pytest

from cli_helpers import (
    CLI, DESCRIPTIONS, STATS_ROWS, TIMEOUT_SECONDS, expected, expected_rows, npy, npy_header, npy_text, pack, printed,
    printed_and_peak, refused, run, text_of,
)
from oracle import INTEGERS, OPS, TYPES, Oracle, PairOracle, default_type, ops_of

FLOAT_VALUES = [0.1, -2.5, 3.75, 1e-3, 7.0, -0.3, 1024.0]


def values_of(type_name):
    """Some values that every type of the kind can hold."""
    if type_name == "bool":
        return [1, 0, 1, 1]
    if type_name in INTEGERS:
        low, high = INTEGERS[type_name]
        return [3, high, 7, max(low, -5), 1, 12]
    return FLOAT_VALUES


# ---- results -----------------------------------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", DESCRIPTIONS)
def test_every_op_of_a_npy(write, type_name):
    values = values_of(type_name)
    path, data = write("x.npy", npy(type_name, values)), pack(type_name, values)
    for op in ops_of(type_name):
        oracle = Oracle(type_name, data).reduce(op)
        if oracle == "WF_ERROR_RANGE":
            refused(1, "", op, path)
            continue
        assert printed(op, path) == expected(op, type_name, data) + "\n", op
        assert printed(op, "--hex", path) == expected(op, type_name, data, hexadecimal=True) + "\n", op
        assert json.loads(printed(op, "--json", path), parse_float=str, parse_int=str) == {
            "op": op, "type": type_name, "count": str(len(values)), "result": expected(op, type_name, data),
            "result_type": default_type(op, type_name),
        }


@pytest.mark.parametrize("type_name", TYPES)
def test_raw_of_every_type(write, type_name):
    values = values_of(type_name)
    path, data = write("x.bin", pack(type_name, values)), pack(type_name, values)
    assert printed("max", "--format", "raw", "--type", type_name, path) == expected("max", type_name, data) + "\n"


@pytest.mark.parametrize("type_name", TYPES)
def test_text_of_every_type(type_name):
    values = values_of(type_name)
    text = "\n".join(map(str, values))
    for op in ("norm2", "min", "mean"):
        assert printed(op, "--type", type_name, data=text) == expected(op, type_name, pack(type_name, values)) + "\n"


def test_shortest_decimals():
    draw = random.Random(20)
    texts = ["0.1", "1e-5", "9.9e-6", "1e16", "1.5e17", "5e-324", "1.7976931348623157e308", "0.00012", "123456.5",
             "2.2250738585072014e-308", "-1e23", "-0", "99999999999999984", "0x1.8p1", "0x0.0000000000001p-1022"]
    texts += [repr(draw.uniform(-1, 1) * 10.0**draw.randint(-300, 300)) for _ in range(40)]
    for text in texts:
        value = float.fromhex(text) if "x" in text else float(text)
        data = struct.pack("=d", value)
        shown = printed("min", data=text).rstrip("\n")
        assert shown == expected("min", "f64", data)
        assert struct.pack("=d", float(shown)) == data
        assert printed("min", "--hex", data=text) == expected("min", "f64", data, hexadecimal=True) + "\n"


def test_infinities_and_nan_are_words():
    assert printed("sum", data="inf 1") == "inf\n"
    assert printed("sum", data="-Infinity 1") == "-inf\n"
    assert printed("sum", data="inf -inf") == "nan\n"
    for text, word in (("inf", "inf"), ("-inf", "-inf"), ("NaN", "nan")):
        assert json.loads(printed("sum", "--json", data=text))["result"] == word


def test_integers_are_printed_in_full():
    largest = 2**64 - 1
    assert printed("max", "--type", "u64", data=str(largest)) == f"{largest}\n"
    assert json.loads(printed("max", "--type", "u64", "--json", data=str(largest)))["result"] == largest
    assert printed("min", "--type", "i64", "--hex", data=str(-2**63)) == "-0x8000000000000000\n"
    assert json.loads(printed("sum", "--type", "i8", "--hex", "--json", data="-3 45"))["result"] == "0x2a"


def test_the_locale_has_no_say():
    environment = dict(os.environ, LC_ALL="de_DE.UTF-8", LANG="de_DE.UTF-8")
    assert printed("sum", data="0.25 1.25", env=environment) == "1.5\n"


@pytest.mark.parametrize("op", ["mean", "min", "max", "argmin", "argmax", "var", "std"])
def test_what_has_no_value_of_nothing(op):
    refused(1, "", op)


@pytest.mark.parametrize("op", [op for op in (*OPS, "dot") if op not in ("and", "or", "xor")])
def test_what_has_a_value_of_nothing(write, op):
    files = [write("a", ""), write("b", " \n")] if op == "dot" else []
    oracle = PairOracle("f64", b"", b"") if op == "dot" else Oracle("f64", b"")
    result = oracle.reduce(op)
    if result != "WF_ERROR_EMPTY":
        assert printed(op, *files) == text_of(*result) + "\n"


def test_dot(write):
    a, b = [0.1, 1e17, -3.0], [7.0, 2.0, 1e-9]
    path_a, path_b = write("a.npy", npy("f64", a)), write("b.txt", " ".join(map(repr, b)))
    result = PairOracle("f64", pack("f64", a), pack("f64", b)).reduce()
    assert printed("dot", path_a, path_b) == text_of(*result) + "\n"
    assert printed("dot", "-", path_b, data=npy("f64", a)) == text_of(*result) + "\n"
    assert json.loads(printed("dot", "--json", path_a, path_b))["count"] == 3


# ---- stats -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("type_name", ["bool", "i16", "u64", "f16", "f32", "f64"])
def test_stats(write, type_name):
    values = values_of(type_name)[:5] if type_name != "u64" else [3, 2**63, 0]
    path, data = write("x.npy", npy(type_name, values)), pack(type_name, values)
    for hexadecimal, options in ((False, []), (True, ["--hex"])):
        lines = printed("stats", *options, path).splitlines()
        assert [tuple(line.split()) for line in lines] == expected_rows(type_name, data, hexadecimal)
        assert len({re.match(r"\S+ +", line).end() for line in lines}) == 1  # aligned


def test_stats_as_json(write):
    values = [*FLOAT_VALUES, "nan"]
    path, data = write("x.npy", npy("f32", values)), pack("f32", values)
    text = printed("stats", "--json", "--nan", "omit", path)
    found = json.loads(text, parse_float=str, parse_int=str)
    assert text.count("\n") == 1
    assert list(found) == ["op", "type", *STATS_ROWS]
    assert (found.pop("op"), found.pop("type")) == ("stats", "f32")
    assert list(found.items()) == expected_rows("f32", data, nan="omit")
    assert json.loads(printed("stats", "--json", path))["mean"] == "nan"


def test_stats_of_nothing():
    found = dict(line.split() for line in printed("stats").splitlines())
    assert list(found.items()) == expected_rows("f64", b"")
    assert found["mean"] == found["argmin"] == "-" and found["sum"] == "0"
    found = json.loads(printed("stats", "--json"))
    assert found["mean"] is None and found["count"] == 0


# ---- options -----------------------------------------------------------------------------------------


def test_options_stand_before_or_after_the_operands(write):
    path = write("-x.txt", "1 2 4")
    for arguments in (["--ddof", "1", "var", path], ["var", "--ddof=1", path], ["var", path, "--ddof", "1"],
                      ["--ddof", "1", "--", "var", path]):
        assert printed(*arguments) == expected("var", "f64", pack("f64", [1, 2, 4]), ddof=1) + "\n"
    assert printed("sum", "--", "-x.txt", cwd=path.parent) == "7\n"
    assert printed("sum", path, "--hex", env=dict(os.environ, POSIXLY_CORRECT="1")) == "0x1.cp+2\n"


def test_nan_policies():
    text, values = "3 nan 1", [3, "nan", 1]
    for op in ("sum", "argmin", "nonzero", "mean"):
        for nan in ("propagate", "omit"):
            assert printed(op, "--nan", nan, data=text) == expected(op, "f64", pack("f64", values), nan=nan) + "\n"
        assert "1" in refused(1, "NaN", op, "--nan", "error", data=text)


def test_result_type():
    values, text = [0.1, 0.2], "0.1 0.2"
    for result_type in ("f16", "bf16", "f32"):
        data = pack("f64", values)
        shown = json.loads(printed("sum", "--result-type", result_type, "--json", data=text), parse_float=str)
        assert shown["result"] == expected("sum", "f64", data, result_type=result_type)
        assert shown["result_type"] == result_type


def test_first_index():
    assert printed("argmax", "--first-index", "1000", data="1 5 2") == "1001\n"


@pytest.mark.parametrize("threads", ["0", "1", "3"])
def test_threads(threads):
    assert printed("sum", "--threads", threads, data="1 2 4") == "7\n"


def test_verbose_names_device_and_threads():
    done = run("sum", "--verbose", "--threads", "2", data="1 2")
    assert (done.returncode, done.stdout) == (0, "3\n")
    assert done.stderr.startswith("warpfold: ") and done.stderr.count("\n") == 1
    assert "cpu" in done.stderr and "2" in done.stderr


@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_device(device):
    assert printed("sum", "--device", device, data="1 2") == "3\n"


def test_devices():
    assert printed("devices").startswith("cpu")


# ---- input -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("order", ["<", ">"])
def test_npy_versions_and_byte_orders(write, version, order):
    values = [1.5, -0.1, 8]
    for type_name in ("f16", "f32", "f64"):
        path = write("x.npy", npy(type_name, values, order=order, version=version))
        assert printed("sum", path) == expected("sum", type_name, pack(type_name, values)) + "\n"


def test_npy_shapes(write):
    values = list(range(1, 7))
    for shape in ([2, 3], [1, 6, 1], [6]):
        for fortran_order in (False, True):
            path = write("x.npy", npy("i32", values, shape=shape, fortran_order=fortran_order))
            assert printed("argmax", path) == "5\n"
    assert printed("sum", write("x.npy", npy("i32", [5], shape=[]))) == "5\n"
    assert printed("sum", write("x.npy", npy("i32", [], shape=[0, 3]))) == "0\n"


def test_npy_is_known_by_its_first_bytes(write):
    assert printed("sum", write("x.dat", npy("u16", [1, 65535]))) == "65536\n"
    assert printed("sum", data=npy("u16", [1, 65535])) == "65536\n"


def test_raw_from_standard_input():
    data = pack("f32", [0.1, 0.2])
    for arguments in ([], ["-"]):
        shown = printed("sum", "--type", "f32", "--format", "raw", *arguments, data=data)
        assert shown == expected("sum", "f32", data) + "\n"


def test_text_separators():
    for text in ("1 2 3", "1,2,3", "1 , 2 ,3\n", "1\r\n2\r\n3\r\n", "1 2\v3\f", "1\n2\t3", "1\t2\t 3\f", "\n\n1\n2\n3",
                 "  1 2 3", "1;2;3", "1|2 | 3", "# 4,5\n1 2\n#6\n3"):
        assert printed("sum", data=text) == "6\n", text


def test_several_files_are_one_array(write):
    files = [write("a.npy", npy("f64", [1, 2])), write("b.txt", "3 9"), write("empty.txt", ""), "-"]
    values = [1, 2, 3, 9, -5.5]
    for op in ("sum", "argmax", "argmin", "prod", "var"):
        assert printed(op, *files, data="-5.5") == expected(op, "f64", pack("f64", values)) + "\n"


def test_several_files_of_different_types(write):
    refused(1, "b.npy", "sum", write("a.npy", npy("f64", [1])), write("b.npy", npy("f32", [1])))


def test_an_error_in_a_later_file_prints_nothing(write):
    refused(1, "missing", "sum", write("a.txt", "1 2"), write("b.txt", "3").parent / "missing")


TABLE = 'made by hand\nname,price,"how, many"\nnut,0.5,10\n"bolt, long",1.25,4\n\nring,3,7\n'


@pytest.mark.parametrize("column, result", [("price", "4.75"), ("2", "4.75"), ("how, many", "21"), ("3", "21")])
def test_columns_of_a_table(column, result):
    arguments = ["--delimiter", ",", "--skip", "1", "--header", "--column", column]
    assert printed("sum", *arguments, data=TABLE) == result + "\n"


@pytest.mark.parametrize("data, several", [
    ("1,000\n2,500\n", "503"), ("1,000", "1"), ("# prices\n\n12,034,567\r\n", "613"), ("1,000\n2\n", None)])
def test_digits_between_commas_may_be_one_number(data, several):
    refused(1, "--delimiter , reads several", "sum", data=data)
    refused(1, "--delimiter , reads several", "median", data=data)
    if several:
        assert printed("sum", "--delimiter", ",", data=data) == several + "\n"
        assert printed("sum", "--column", "1", data=data) == str(sum(int(line.split(",")[0]) for line in data.split() if line[0].isdigit())) + "\n"


@pytest.mark.parametrize("data, sum_", [
    ("100,200\n", "300"), ("1,00\n", "1"), ("1000,000\n", "1000"), ("1,0001\n", "2"), ("1,000,\n", None), ("1,000,x\n", None),
    ("1, 000\n", "1"), ("-1,000\n", "-1"), ("1;000\n", "1"), ("0,0,0\n", "0"), ("5,6\n1,000\n", "12")])
def test_other_digits_between_commas_are_several_numbers(data, sum_):
    done = run("sum", data=data)
    assert done.stdout == (sum_ + "\n" if sum_ else "") and "reads several" not in done.stderr


def test_tab_as_delimiter():
    for delimiter in ("tab", "\\t", "\t"):
        assert printed("sum", "--delimiter", delimiter, "--column", "2", data="a b\t1\nc\t2\n") == "3\n"


def test_header_without_column():
    assert printed("sum", "--header", data="x y\n1 2\n3 4\n") == "column\tsum\nx\t4\ny\t6\n"
    assert printed("sum", "--header", data="x\n1\n3\n") == "4\n"


def test_a_fifo_is_read(tmp_path):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    values = [0.5] * 100_000
    writer = threading.Thread(target=path.write_bytes, args=(npy("f32", values),), daemon=True)
    writer.start()
    assert printed("sum", path) == "50000\n"
    writer.join(TIMEOUT_SECONDS)


@pytest.mark.slow
def test_large_files_take_little_memory(tmp_path):
    nbytes = 600 * 2**20
    path = tmp_path / "large.raw"
    with open(path, "wb") as file:
        file.truncate(nbytes)
    shown, peak = printed_and_peak("stats", "--type", "f32", "--format", "raw", path)
    assert dict(line.split() for line in shown.splitlines())["count"] == str(nbytes // 4)
    assert peak < 256 * 2**20


# ---- refusals: the command line ----------------------------------------------------------------------


@pytest.mark.parametrize("said, arguments", [
    ("fold", ["fold"]),
    ("bogus", ["bogus", "x.npy"]),
    ("SUM", ["SUM"]),
    ("", [""]),
    ("--bogus", ["sum", "--bogus"]),
    ("--axes", ["sum", "--axes", "0"]),
    ("x", ["sum", "-x"]),
    ("--threads", ["sum", "--threads"]),
    ("--json", ["sum", "--json=1"]),
    ("two", ["dot", "a.npy"]),
    ("two", ["dot", "a", "b", "c"]),
    ("accumulators", ["merge"]),
    ("operand", ["devices", "cpu"]),
    ("standard input", ["sum", "-", "-"]),
    ("standard input", ["dot", "-", "-"]),
    ("f31", ["sum", "--type", "f31"]),
    ("float", ["sum", "--result-type", "float"]),
    ("csv", ["sum", "--format", "csv"]),
    ("ignore", ["sum", "--nan", "ignore"]),
    ("gpu", ["sum", "--device", "gpu"]),
    ("ab", ["sum", "--delimiter", "ab"]),
    ("--delimiter", ["sum", "--delimiter", ""]),
    ("--delimiter", ["sum", "--delimiter", '"']),
    ("--type", ["sum", "--format", "raw"]),
    ("--column", ["sum", "--column", "0"]),
    ("--ddof", ["merge", "--ddof", "1", "a.acc"]),
    ("--json", ["devices", "--json"]),
    ("standard output", ["sum", "--save", "-"]),
])
def test_usage(said, arguments):
    refused(2, said, *arguments, data="1")


@pytest.mark.parametrize("option, largest", [("threads", 2**31 - 1), ("ddof", 2**63 - 1),
                                             ("first-index", 2**63 - 1), ("skip", 2**63 - 1)])
def test_numbers_of_options(option, largest):
    for text in ("-1", "", "1x", " 1", "+1", "1.0", "0x1", "1e3", str(largest + 1), "9" * 40):
        refused(2, [f"--{option}", f"'{text}'"], "sum", f"--{option}", text, data="1")


def test_no_arguments():
    done = run()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: warpfold")


@pytest.mark.parametrize("op", ["and", "or", "xor"])
def test_bitwise_ops_of_floats(op):
    refused(2, "", op, data="1 2")


# ---- refusals: files ---------------------------------------------------------------------------------


def test_missing_file(tmp_path):
    refused(1, [str(tmp_path / "none.npy"), "No such file"], "sum", tmp_path / "none.npy")


def test_directory(tmp_path):
    refused(1, [str(tmp_path), "irectory"], "sum", tmp_path)


def test_unreadable_file(write):
    path = write("secret", "1")
    path.chmod(0)
    nobody = {"user": 65534} if os.geteuid() == 0 else {}  # root may read everything
    try:
        refused(1, [str(path), "Permission denied"], "sum", path, **nobody)
    except PermissionError:
        pytest.skip(f"only root may run {CLI}")


def test_file_that_fails_on_reading():
    refused(1, "/proc/self/mem", "sum", "--type", "u8", "--format", "raw", "/proc/self/mem")


@pytest.mark.parametrize("name, content, said", [
    ("magic", b"\x93NUMPX\x01\x00" + b"\0" * 100, ""),
    ("empty", b"", ""),
    ("cut in the magic", b"\x93NU", ""),
    ("cut in the header", npy("f64", [1])[:40], ""),
    ("version", npy("f64", [1], version=(1, 0)).replace(b"NUMPY\x01", b"NUMPY\x09"), ""),
    ("negative", npy_header(npy_text("<f8", [-1])), ""),
    ("overflowing", npy_header(npy_text("<f8", [2**62, 8])), ""),
    ("absurd", npy_header(npy_text("<f8", [10**30])), ""),
    ("too many dimensions", npy_header(npy_text("<f8", [1] * 99)) + bytes(8), ""),
    ("object", npy_header(npy_text("|O", [1])) + bytes(8), "|O"),
    ("string", npy_header(npy_text("<U4", [1])) + bytes(16), "<U4"),
    ("complex", npy_header(npy_text("<c8", [1])) + bytes(8), "<c8"),
    ("no shape", npy_header("{'descr': '<f8', 'fortran_order': False, }") + bytes(8), ""),
    ("not a dictionary", npy_header("hello") + bytes(8), ""),
    ("bytes after the array", npy("f64", [1, 2]) + b"x", ""),
])
def test_damaged_npy(write, name, content, said):
    path = write("damaged.npy", content)
    refused(1, [str(path), said], "sum", path)
    if content.startswith(b"\x93NUMPY"):
        refused(1, ["standard input", said], "sum", data=content)


def test_truncated_npy_names_bytes_expected_and_found(write):
    whole = npy("f64", [1, 2, 3])
    path = write("short.npy", whole[:-7])
    message = refused(1, str(path), "sum", path)
    assert {"24", "17"} <= set(re.findall(r"\d+", message)) or {
        str(len(whole)), str(len(whole) - 7)} <= set(re.findall(r"\d+", message)), message


def test_npy_of_another_type_than_asked_for(write):
    path = write("x.npy", npy("f64", [1]))
    refused(1, [str(path), "f64", "f32"], "sum", "--type", "f32", path)


def test_raw_of_a_length_that_is_no_multiple(write):
    path = write("x.raw", bytes(11))
    refused(1, [str(path), "11", "4"], "sum", "--type", "i32", "--format", "raw", path)


def test_bytes_that_are_neither_npy_nor_text(write):
    assert "type" in refused(1, str(write("x.bin", bytes(range(16)))), "sum", write("x.bin", bytes(range(16))))


@pytest.mark.parametrize("text, place", [
    ("1 2\n3 four\n", ":2:3: "),
    ("x", ":1:1: "),
    ("1,,2", ":1:3: "),
    ("1 2e\n", ":1:3: "),
    ("1\n2\n0x\n", ":3:1: "),
    ("5 1e400", ":1:3: "),
])
def test_text_errors_name_line_and_column(write, text, place):
    path = write("x.txt", text)
    refused(1, f"{path}{place}", "sum", path)
    refused(1, f"standard input{place}", "sum", data=text)


@pytest.mark.parametrize("type_name, text", [
    ("u8", "1 256"), ("u8", "1 -1"), ("i8", "1 128"), ("i8", "1 -129"), ("i64", f"1 {2**63}"),
    ("u64", f"1 {2**64}"), ("bool", "1 2"), ("i32", "1 1.5"), ("f16", "1 65520"), ("f32", "1 3.5e38"),
])
def test_text_out_of_the_range_of_its_type(type_name, text):
    refused(1, "standard input:1:3: ", "sum", "--type", type_name, data=text)


def test_columns_that_are_not_there(write):
    path = write("x.csv", "a,b\n1,2\n3\n")
    refused(1, [f"{path}:3", "2"], "sum", "--delimiter", ",", "--header", "--column", "2", path)
    refused(1, [str(path), "c"], "sum", "--delimiter", ",", "--column", "c", path)


def test_dot_of_different_lengths(write):
    refused(1, "", "dot", write("a.txt", "1 2 3"), write("b.txt", "1 2"))


def test_dot_of_different_types(write):
    a, b = write("a.npy", npy("f32", [1])), write("b.npy", npy("f64", [1]))
    refused(1, [str(a), "f32", str(b), "f64"], "dot", a, b)


@pytest.mark.parametrize("op", ["sum", "prod", "norm1"])
def test_integers_that_do_not_fit(op):
    type_name = "i64" if op != "norm1" else "u64"
    refused(1, "", op, "--type", type_name, data=f"{INTEGERS[type_name][1]} 2")
