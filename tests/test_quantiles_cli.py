"""warpfold median, quantile, distinct and histogram: what is printed of files and pipes, and what is refused."""

import json
import os
import pty
import random
import statistics
import struct
import subprocess
import sys
import termios

import pytest

from cli_helpers import CLI, npy, printed, printed_and_peak, refused, run

NUMBERS = "\n".join(map(str, [5, 3, 1, 4, 2])) + "\n"


@pytest.mark.parametrize("arguments, text, result", [
    (["median"], NUMBERS, "3\n"),
    (["median"], "1 2", "1.5\n"),
    (["median", "--type", "i64"], "1 2", "1.5\n"),
    (["median", "--type", "i64", "--between", "higher"], "1 2", "2\n"),
    (["median", "--result-type", "f32"], "0.1 0.2", "0.15\n"),
    (["median", "--column", "b"], "a,b\n1,10\n2,30\n3,20\n", "20\n"),
    (["median", "--hex"], "3", "0x1.8p+1\n"),
    (["median"], "1 nan 3", "nan\n"),
    (["median", "--nan", "omit"], "1 nan 3", "2\n"),
    (["median", "--missing", "skip", "--column", "1"], "x\n1\nNA\n3\n"[2:], "2\n"),
    (["quantile", "--q", "0.1"], " ".join(map(str, range(11))), "1\n"),
    (["quantile", "--q", "0,0.5,1"], NUMBERS, "0\t1\n0.5\t3\n1\t5\n"),
    (["quantile", "--q", "0.99", "--between=nearest"], NUMBERS, "5\n"),
    (["distinct"], "1 2 2 1 0 -0", "3\n"),
    (["distinct", "--nan", "omit"], "1 nan", "1\n"),
    (["distinct"], "", "0\n"),
    (["histogram", "--bins", "2"], NUMBERS, "1\t3\t2\n3\t5\t3\n"),
    (["histogram", "--bins", "2,3,4"], NUMBERS + "nan", "-inf\t2\t1\n2\t3\t1\n3\t4\t2\n4\tinf\t1\nnan\tnan\t1\n"),
])
def test_results(arguments, text, result):
    assert printed(*arguments, data=text) == result


def test_json():
    shown = json.loads(printed("quantile", "--q", "0.5,1", "--json", data=NUMBERS))
    assert shown == {"op": "quantile", "type": "f64", "result_type": "f64",
                     "results": [{"q": 0.5, "value": 3}, {"q": 1, "value": 5}]}
    assert json.loads(printed("median", "--json", data="nan"))["result"] == "nan"
    shown = json.loads(printed("histogram", "--json", "--bins", "0,1", data="0.5 2 nan"))
    assert shown == {"op": "histogram", "type": "f64", "bins": [{"from": 0, "to": 1, "count": 1}], "below": 0,
                     "above": 1, "nan": 1}
    assert json.loads(printed("distinct", "--json", data="7"))["result"] == 1


def test_several_files_of_each_kind(write):
    draw = random.Random(1)
    numbers = [draw.gauss(0, 1) for _ in range(999)]
    paths = [write("a.npy", npy("f64", numbers[:500])), write("b.txt", " ".join(map(repr, numbers[500:])))]
    assert printed("median", *paths) == f"{statistics.median(numbers)!r}\n"
    swapped = write("c", struct.pack(">999d", *numbers))
    assert printed("median", "--type", "f64", "--byte-order", "big", swapped) == f"{statistics.median(numbers)!r}\n"
    assert printed("distinct", *paths) == "999\n"


def test_a_picture_on_a_terminal():
    """Bars are as long as the counts, in eighths of a character."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 40)) if hasattr(termios, "tcsetwinsize") else None
    done = subprocess.run([CLI, "histogram", "--bins", "0,1,2,3"], input=b"0 0 0 0 1 1 1 2", stdout=theirs)
    os.close(theirs)
    shown = os.read(ours, 65536).decode().splitlines()
    os.close(ours)
    assert done.returncode == 0
    assert [line.split()[:3] for line in shown] == [["0", "1", "4"], ["1", "2", "3"], ["2", "3", "1"]]
    bars = [8 * line.count("\u2588") for line in shown]
    assert bars[0] > bars[1] > bars[2] > 0 and max(map(len, shown)) <= 80


@pytest.mark.parametrize("status, said, arguments", [
    (2, "quantile needs --q", ["quantile"]),
    (2, "--q takes numbers from 0 to 1", ["quantile", "--q", "50"]),
    (2, "--q takes numbers separated by commas, not '0.5,'", ["quantile", "--q", "0.5,"]),
    (2, "'half'", ["quantile", "--q", "half"]),
    (2, "--q takes", ["quantile", "--q", "nan"]),
    (1, "1e-20", ["quantile", "--q", "1e-300"]),
    (2, "--bins takes a number from 1 to 1048576", ["histogram", "--bins", "0"]),
    (2, "--bins takes", ["histogram", "--bins", "1e3"]),
    (2, "the edges must rise", ["histogram", "--bins", "1,0"]),
    (2, "median does not take --q", ["median", "--q", "0.5"]),
    (2, "distinct does not take --ddof", ["distinct", "--ddof", "1"]),
    (2, "standard input", ["median", "-", "-"]),
    (2, "did you mean 'median'", ["medain"]),
    (2, "did you mean 'quantile'", ["percentile"]),
    (2, "did you mean 'distinct'", ["nunique"]),
    (1, "NaN at index 1", ["median", "--nan", "error"]),
])
def test_what_is_refused(status, said, arguments):
    refused(status, said, *arguments, data="1 nan")


def test_what_has_no_value():
    refused(1, "a quantile of no elements is undefined", "median", data="")
    refused(1, "no numbers", "histogram", data="")
    refused(1, "infinities", "histogram", data="1 inf")
    refused(1, "standard input:2:1", "median", data="1\nx\n")
    refused(1, "missing", "median", "missing")


def test_pipes_that_are_too_long():
    """What a pipe holds is kept in memory, up to a limit that the message names."""
    zeros = subprocess.Popen(["head", "-c", "270000000", "/dev/zero"], stdout=subprocess.PIPE)
    done = run("median", "--type", "u8", "--format", "raw", stdin=zeros.stdout)
    zeros.stdout.close()
    zeros.wait()
    assert done.returncode == 1 and done.stdout == ""
    assert "268435456 bytes of elements" in done.stderr and "save them to a file" in done.stderr


@pytest.mark.slow
def test_files_take_little_memory(tmp_path):
    path = tmp_path / "long"
    block = random.Random(1).randbytes(1 << 20)
    with path.open("wb") as file:
        for _ in range(300):
            file.write(block)
    for arguments in (["median"], ["quantile", "--q", "0.1,0.5,0.9"]):
        _, peak = printed_and_peak(*arguments, "--type", "u32", "--format", "raw", "--threads", "2", path)
        assert peak < 128 << 20


def test_distinct_of_texts_tells_what_counts_them():
    arguments = ["distinct", "--column", "name"]
    refused(1, "'x' is not a number", *arguments, data=b"name\nx\ny\n")
    assert "'warpfold count --by name' counts the rows of each text" in run(*arguments, data=b"name\nx\ny\n").stderr
    refused(1, "'x' is not a number", "distinct", data=b"x\ny\n")
