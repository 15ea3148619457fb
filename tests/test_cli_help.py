"""What the command line says of itself: version, help, and which options an op takes."""

import os
import re
import shutil
import subprocess

import pytest

from cli_helpers import CLI, ROOT, npy, printed, refused, run
from oracle import OPS, TYPES


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


@pytest.mark.parametrize("name, own, others", [
    ("run", ["--html FILE         also write an HTML page\n", "--out FILE          write the report"], ["instead of text", "--axis"]),
    ("bench", ["--op OP             only this op\n", "--type T            only this"], ["argmax", "rung"]),
    ("explain", ["--values A,B,...    the elements\n", "(also -n N); without any of -n"], ["inspect: ", "explain: ", "bench: "])])
def test_help_of_a_command_says_what_an_option_is_to_it(name, own, others):
    text = printed("help", name).split("\noptions:\n")[1].split("\nexamples:")[0]
    assert all(words in text for words in own) and not [words for words in others if words in text]


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
