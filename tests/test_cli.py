"""The command line, from arguments and files to what it prints and its exit status.

Expected values come from the oracle; input files are written byte by byte.  That the numbers are right for every
op, type and order is tested with the library; here, that they reach the user.
"""

import json
import os
import pty
import random
import re
import shutil
import resource
import signal
import stat
import struct
import subprocess
import threading
import time

import pytest

from cli_helpers import (
    CLI, DESCRIPTIONS, ROOT, TIMEOUT_SECONDS, expected, npy, npy_header, npy_text, pack, printed, printed_and_peak,
    refused, run, text_of,
)
from oracle import INTEGERS, STATS, OPS, TYPES, Oracle, PairOracle, default_type, ops_of

STATS_ROWS = (
    "count", "sum", "mean", "var", "std", "min", "max", "argmin", "argmax", "nonzero", "nan", "norm1", "norm2",
    "norminf",
)
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


def expected_rows(type_name, data, hexadecimal=False, **policy):
    oracle = Oracle(type_name, data)
    stats = oracle.stats(**policy)
    rows = {"count": str(stats["count"]), "nan": str(stats["nans"])}
    for op in STATS:
        rows[op] = "-" if stats[op][0] is None else text_of(*stats[op], hexadecimal)
    return [(name, rows[name]) for name in STATS_ROWS]


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


def test_version():
    header = (ROOT / "include" / "warpfold.h").read_text()
    version = ".".join(re.search(rf"WF_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH"))
    assert printed("--version") == f"warpfold {version}\n"


def test_help_is_complete():
    text = printed("--help")
    for word in (*OPS, "dot", "stats", "merge", "devices", *TYPES, "usage:", "examples:", "Exit status"):
        assert re.search(rf"(?<!\w){word}(?!\w)", text), word
    for option in ("type format delimiter column header skip nan ddof result-type first-index save hex json device "
                   "threads verbose quiet help version").split():
        assert re.search(rf"^  --{option}\b.*", text, re.M), option
    assert max(map(len, text.splitlines())) <= 80
    assert printed("help") == printed("-h") == text


COMMANDS = (*OPS, "dot", "stats", "count", "median", "quantile", "histogram", "distinct", "merge", "devices", "bench", "ladder",
            "explain", "inspect", "run", "judge")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command(name):
    """Its own options, each of which it takes, and examples of itself."""
    text = printed("help", name)
    assert text == printed(name, "--help") == printed("--help", name)
    assert text.startswith(f"usage: warpfold {name} [options]") and max(map(len, text.splitlines())) <= 80
    examples = text.split("\nexamples:\n")[1].splitlines()
    assert 1 <= len(examples) <= 2 and all(line.startswith(f"  warpfold {name}") for line in examples)
    options = set(re.findall(r"^  --([a-z-]+)", text, re.M))
    assert {"help", "version"} < options or name == "devices"
    for other, has in {"ddof": name in ("var", "std", "stats"), "bins": name == "histogram", "arg": name == "inspect",
                       "save": name in (*OPS, "dot", "stats", "count", "merge"), "sweep": name == "ladder"}.items():
        assert (other in options) == has, other


def test_help_of_several_ops():
    text = printed("sum,std", "--help")
    assert text == printed("help", "mean,max") and text.startswith("usage: warpfold OP,OP... [options] [FILE...]\n")
    options = set(re.findall(r"^  --([a-z-]+)", text, re.M))
    assert {"by", "decimal", "per", "sort", "save", "ddof"} < options and not {"axis", "out", "first-index"} & options
    assert len(text.split("\nexamples:\n")[1].splitlines()) == 2


OPTION_USES = {
    "type": "--type i32 n.txt", "format": "--format text n.txt", "delimiter": "--delimiter , --column 1 n.txt",
    "column": "--column 1 n.txt", "by": "--by k --column a t.csv", "sort": "--by k --sort --column a t.csv",
    "per": "--per row n.txt", "decimal": "--decimal 2 n.txt", "csv": "--csv --column a t.csv", "header": "--header n.txt",
    "skip": "--skip 1 n.txt", "missing": "--missing skip n.txt", "byte-order": "--byte-order big --type i32 x.raw",
    "files-from": "--files-from list", "nan": "--nan omit n.txt", "ddof": "--ddof 1 n.txt", "result-type": "--result-type i64 n.txt",
    "q": "--q 0.5 n.txt", "between": "--between lower n.txt", "bins": "--bins 4 n.txt", "first-index": "--first-index 5 n.txt",
    "axis": "--axis 0 x.npy", "out": "--axis 0 --out o.npy x.npy", "save": "--save x.acc n.txt", "resume": "--resume pieces n.txt",
    "piece": "--resume pieces --piece 100 n.txt", "hex": "--hex n.txt", "json": "--json n.txt", "device": "--device cpu n.txt",
    "threads": "--threads 2 n.txt", "verbose": "--verbose n.txt", "quiet": "--quiet n.txt", "help": "--help", "version": "--version"}
REFUSED_WITHOUT_HELP = ("decimal", "by", "per", "csv", "missing", "axis", "save", "bins", "q", "between", "byte-order")


@pytest.mark.parametrize("name", [*OPS, "dot", "stats", "count", "sum,mean", "median", "quantile", "histogram", "distinct"])
def test_an_op_takes_the_options_of_its_help(name, tmp_path):
    """Each that is listed is taken, and none that would change the result is taken without a word."""
    for file, text in (("n.txt", "1\n2\n3\n"), ("t.csv", "a,k\n1,x\n3,y\n"), ("list", "n.txt\n")):
        (tmp_path / file).write_text(text)
    (tmp_path / "x.raw").write_bytes(bytes(64))
    (tmp_path / "x.npy").write_bytes(npy("i32", [1, 2, 3, 4], shape=(2, 2)))
    options = set(re.findall(r"^  --([a-z-]+)", printed("help", name), re.M))
    for option, use in OPTION_USES.items():
        words = use.split()
        if option not in options and option not in REFUSED_WITHOUT_HELP:
            continue
        extra = ["--type", "i32"] if name in ("and", "or", "xor") and option not in ("type", "decimal", "byte-order") else []
        extra += ["--q", "0.5"] if name == "quantile" and option != "q" else []
        extra += ["--column", "1"] if name in ("count", "sum,mean") and "--column" not in words and "--by" not in words else []
        extra += ["n.txt" if option == "files-from" else words[-1]] if name == "dot" and option not in ("help", "version") else []
        done = run(name, *words, *extra, cwd=tmp_path)
        shutil.rmtree(tmp_path / "pieces", ignore_errors=True)
        assert (done.returncode == 0) == (option in options), (option, done)


@pytest.mark.parametrize("name", [name for name in (*COMMANDS, "sum,mean") if name not in ("bench", "inspect", "run", "judge")])
def test_examples_of_the_help_run(name, tmp_path):
    """On files of the names that they have; kernels and benchmarks, which take long, are left to their own tests."""
    for file in ("x.npy", "a.npy", "b.npy"):
        (tmp_path / file).write_bytes(npy("i32", range(6), shape=(2, 3)))
    for file in ("part1.raw", "part2.raw", "flags.raw", "words.raw", "a.raw", "b.raw"):
        (tmp_path / file).write_bytes(bytes(64))
    (tmp_path / "table.csv").write_text("region,id,price,qty\nnorth,1,2.5,3\nsouth,2,3.5,4\n")
    for file in ("a.acc", "b.acc", "part1.acc"):
        printed("sum", "--save", tmp_path / file, data="1")
    (tmp_path / "warpfold").symlink_to(CLI)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    for line in printed("help", name).split("\nexamples:\n")[1].splitlines():
        done = subprocess.run(line, shell=True, cwd=tmp_path, env=environment, capture_output=True, timeout=120, check=False)
        assert (done.returncode, done.stderr) == (0, b"") or line.endswith("grep cuda"), (line, done)


def test_help_of_what_is_no_command():
    assert printed("help", "help") == printed("--help")
    for typed, meant in (("coutn", "count"), ("desribe", "stats"), ("len", "count"), ("varience", "var")):
        refused(2, f"did you mean '{meant}'?", typed, "x")
    refused(2, "did you mean 'f64'?", "sum", "--type", "duble")
    refused(2, "did you mean 'sum'", "help", "summ")
    refused(2, "did you mean 'sum'", "summ", "--help")
    refused(2, "one command", "help", "sum", "mean")
    assert printed("-V") == printed("--version")
    assert run("sum", "a", "b", "--device", "tpu").stderr.splitlines()[-1] == "warpfold: try 'warpfold sum --help'"
    refused(2, "did you mean '--delimiter'", "sum", "-d", ",")
    refused(2, "there is no file 'std'; it is an op", "mean", "std", "file")


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


# ---- accumulators ------------------------------------------------------------------------------------


def save(path, op, text, *options):
    assert run(op, "--save", path, *options, data=text).returncode == 0
    return path


def test_save_prints_the_result_too(tmp_path):
    assert printed("sum", "--save", tmp_path / "s.acc", data="1 2") == "3\n"
    assert printed("merge", tmp_path / "s.acc") == "3\n"


@pytest.mark.parametrize("op", ["sum", "mean", "var", "std", "norm1", "norm2", "norminf", "min", "max", "any", "all",
                                "nonzero"])
def test_merge_in_any_order(tmp_path, op):
    pieces = [[0.1, 1e30, -7], [3e-9], [-1e30, 0.25, 0]]
    files = [save(tmp_path / f"{i}.acc", op, " ".join(map(repr, piece))) for i, piece in enumerate(pieces)]
    result = expected(op, "f64", pack("f64", sum(pieces, []))) + "\n"
    assert printed("merge", *files) == result
    assert printed("merge", *reversed(files)) == result
    assert json.loads(printed("merge", "--json", *files), parse_float=str)["count"] == 7


def test_merge_by_index(tmp_path):
    a = save(tmp_path / "a", "argmin", "5 1 1")
    b = save(tmp_path / "b", "argmin", "1 0.5", "--first-index", "3")
    assert printed("merge", b, a) == "4\n"


def test_merge_of_prod_takes_neighbours(tmp_path):
    a = save(tmp_path / "a", "prod", "5 0.3 7")
    b = save(tmp_path / "b", "prod", "11 0.1", "--first-index", "3")
    c = save(tmp_path / "c", "prod", "11 0.1", "--first-index", "9")
    assert printed("merge", a, b) == expected("prod", "f64", pack("f64", [5, 0.3, 7, 11, 0.1])) + "\n"
    refused(1, str(c), "merge", a, c)


def test_merge_of_stats(tmp_path):
    pieces = [[0.1, "nan", -7], [3, 0]]
    text = [" ".join(map(str, piece)) for piece in pieces]
    a = save(tmp_path / "a", "stats", text[0], "--nan", "omit")
    b = save(tmp_path / "b", "stats", text[1], "--nan", "omit", "--first-index", "3")
    lines = printed("merge", a, b).splitlines()
    assert [tuple(line.split()) for line in lines] == expected_rows("f64", pack("f64", sum(pieces, [])), nan="omit")


def test_merge_saves_what_the_whole_would(tmp_path):
    a, b = save(tmp_path / "a", "var", "1 2"), save(tmp_path / "b", "var", "3", "--first-index", "2")
    whole = save(tmp_path / "whole", "var", "1 2 3")
    assert printed("merge", "--save", a, a, b) == printed("merge", whole)
    assert a.read_bytes() == whole.read_bytes()


def test_merge_reads_standard_input(tmp_path):
    a, b = save(tmp_path / "a", "sum", "1 2"), save(tmp_path / "b", "sum", "40")
    assert printed("merge", "-", b, data=a.read_bytes()) == "43\n"


def test_an_accumulator_is_saved_even_without_a_result(tmp_path):
    refused(1, "", "min", "--save", tmp_path / "none.acc")
    refused(1, "", "merge", tmp_path / "none.acc")
    some = save(tmp_path / "some.acc", "min", "4")
    assert printed("merge", tmp_path / "none.acc", some) == "4\n"


def test_nothing_is_saved_when_reading_fails(tmp_path):
    path = save(tmp_path / "a.acc", "sum", "1")
    before = path.read_bytes()
    refused(1, ":1:3:", "sum", "--save", path, data="2 x")
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.acc"]


def test_the_saved_file_has_the_usual_mode(tmp_path):
    for mask in (0o022, 0o077):
        path = tmp_path / f"{mask}.acc"
        printed("sum", "--save", path, data="1", umask=mask)
        assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
    assert len(os.listdir(tmp_path)) == 2


def test_a_symbolic_link_stays_one(tmp_path):
    save(tmp_path / "file", "sum", "1")
    (tmp_path / "link").symlink_to("file")
    save(tmp_path / "link", "sum", "2")
    assert (tmp_path / "link").is_symlink()
    assert printed("merge", tmp_path / "file") == "2\n"


@pytest.mark.parametrize("target, said", [("none/a.acc", "No such file"), (".", "irectory"), ("/dev/full", "No space")])
def test_accumulators_that_cannot_be_saved(tmp_path, target, said):
    refused(1, [str(tmp_path / target), said], "sum", "--save", tmp_path / target, data="1")
    assert os.listdir(tmp_path) == []


def test_saving_to_a_full_disk_leaves_the_old_file(tmp_path):
    """A limit on the size of files stands for the full disk."""
    path = save(tmp_path / "a.acc", "sum", "1")
    before = path.read_bytes()

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (8, 8))

    refused(1, str(path), "sum", "--save", path, data="2", preexec_fn=limit)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.acc"]


def test_devices_are_written_to_not_replaced():
    assert printed("sum", "--save", "/dev/null", data="1") == "1\n"
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.parametrize("op, text, options", [
    ("mean", "1", []), ("sum", "1", ["--type", "f32"]), ("sum", "1", ["--nan", "omit"]),
    ("sum", "1", ["--result-type", "f32"]),
])
def test_accumulators_that_do_not_match(tmp_path, op, text, options):
    a, b = save(tmp_path / "a", "sum", "1"), save(tmp_path / "b", op, text, *options)
    refused(1, str(b), "merge", a, b)


def test_damaged_accumulators(tmp_path):
    path = save(tmp_path / "a.acc", "sum", "1 2 3")
    whole = path.read_bytes()
    damaged = [b"", whole[:-1], whole + b"\0", whole * 999, b"1 2 3\n", bytes(len(whole))]
    damaged += [whole[:i] + bytes([whole[i] ^ 1 << i % 8]) + whole[i + 1:] for i in range(0, len(whole), 5)]
    for content in damaged:
        path.write_bytes(content)
        refused(1, str(path), "merge", path)
    refused(1, "standard input", "merge", "-", data=whole[:-1])


def test_merge_of_missing_files_and_directories(tmp_path):
    refused(1, [str(tmp_path / "none"), "No such file"], "merge", tmp_path / "none")
    refused(1, [str(tmp_path), "irectory"], "merge", tmp_path)


# ---- standard output ---------------------------------------------------------------------------------

PRINTING = [["sum"], ["stats"], ["sum", "--json"], ["devices"], ["--help"], ["--version"]]


@pytest.mark.parametrize("arguments", PRINTING)
def test_full_disk(arguments):
    with open("/dev/full", "wb") as full:
        done = run(*arguments, data="1", stdout=full)
    assert done.returncode == 1
    assert done.stderr == "warpfold: standard output: No space left on device\n"


@pytest.mark.parametrize("arguments", PRINTING)
def test_closed_pipe(arguments):
    reading, writing = os.pipe()
    os.close(reading)
    done = run(*arguments, data="1", stdout=writing)
    os.close(writing)
    assert done.returncode == 1
    assert done.stderr == "warpfold: standard output: Broken pipe\n"


def test_closed_standard_output(write):
    done = run("sum", write("x.txt", "1"), preexec_fn=lambda: os.close(1))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("warpfold: standard output: ")


def test_closed_standard_input():
    refused(1, "standard input", "sum", preexec_fn=lambda: os.close(0))


# ---- progress ----------------------------------------------------------------------------------------

WIPE = "\r\x1b[K"


class Terminal:
    """Runs the program with a terminal as its standard error, and keeps what appears there."""

    def __init__(self, *arguments, **options):
        self.main_end, program_end = pty.openpty()
        self.process = subprocess.Popen([CLI, *map(str, arguments)], stdout=subprocess.PIPE, stderr=program_end,
                                        **options)
        os.close(program_end)
        self.shown = b""
        self.reader = threading.Thread(target=self.keep)
        self.reader.start()

    def keep(self):
        while True:
            try:
                some = os.read(self.main_end, 4096)
            except OSError:  # the other end is closed
                return
            if not some:
                return
            self.shown += some

    def finish(self):
        """(exit status, standard output, what the terminal got)"""
        printed_text = self.process.stdout.read().decode()
        self.process.wait(TIMEOUT_SECONDS)
        self.reader.join(TIMEOUT_SECONDS)
        os.close(self.main_end)
        self.process.stdout.close()
        return self.process.returncode, printed_text, self.shown.decode()


def feed_slowly(stream, piece, times, last=b""):
    with stream:
        for _ in range(times):
            stream.write(piece)
            stream.flush()
            time.sleep(0.1)
        stream.write(last)


def test_progress_of_a_pipe():
    piece, times = bytes(8 * 2**20), 20
    terminal = Terminal("sum", "--type", "u8", "--format", "raw", stdin=subprocess.PIPE)
    feed_slowly(terminal.process.stdin, piece, times)
    status, text, shown = terminal.finish()
    assert (status, text) == (0, "0\n")
    lines = [line for line in shown.split("\r") if "GB/s" in line]
    assert 2 <= len(lines) <= 20, shown
    assert all(re.fullmatch(r"\d+\.\d MB, \d+\.\d\d GB/s\x1b\[K", line) for line in lines), shown
    assert shown.endswith(WIPE)


@pytest.mark.slow
def test_progress_of_a_file(tmp_path):
    """Reading takes over a second because the program is stopped again and again."""
    path = tmp_path / "large.raw"
    with open(path, "wb") as file:
        file.truncate(2**30)
    terminal = Terminal("sum", "--type", "u8", "--format", "raw", "--threads", "1", path)
    for _ in range(50):
        time.sleep(0.005)
        terminal.process.send_signal(signal.SIGSTOP)
        time.sleep(0.3)
        terminal.process.send_signal(signal.SIGCONT)
        if terminal.shown or terminal.process.poll() is not None:
            break
    status, text, shown = terminal.finish()
    assert (status, text) == (0, "0\n")
    assert re.search(r"\r\d+\.\d .B of 1\.1 GB, \d+ %, \d+\.\d\d GB/s, \d+:\d\d left\x1b\[K", shown), shown
    assert shown.endswith(WIPE)


def test_progress_is_wiped_before_an_error():
    terminal = Terminal("sum", stdin=subprocess.PIPE)
    lines, times = b"1 2 3 4 5 6 7 8\n" * 2**18, 16
    feed_slowly(terminal.process.stdin, lines, times, b"x\n")
    status, text, shown = terminal.finish()
    assert (status, text) == (1, "")
    place = f"standard input:{times * 2**18 + 1}:1: "
    assert "GB/s" in shown
    assert re.search(rf"\r\x1b\[Kwarpfold: {place}[^\r\n]*\r\n$", shown), shown[-300:]


def test_no_progress_when_it_is_quick_or_unwanted():
    for options in ([], ["--quiet"]):
        terminal = Terminal("sum", *options, stdin=subprocess.PIPE)
        feed_slowly(terminal.process.stdin, b"1\n" * 2**21, 12 if options else 1)
        status, _, shown = terminal.finish()
        assert (status, shown) == (0, "")


def test_no_progress_without_a_terminal():
    process = subprocess.Popen([CLI, "sum"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    feed_slowly(process.stdin, b"1\n" * 2**21, 12)
    assert process.stderr.read() == b""
    process.stderr.close()
    process.stdout.close()
    assert process.wait(TIMEOUT_SECONDS) == 0
