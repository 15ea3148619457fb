"""Tables, texts by ranges of lines, and arrays along axes in pieces (--resume): what one run prints and saves, whatever is
quoted where they are cut; and what is wrong, with its line."""

import csv
import io
import os
import random
import signal
import struct
import subprocess
import time

import pytest

from cli_helpers import CLI, npy_header, npy_text, printed, refused, run

SEEDS = int(os.environ.get("WARPFOLD_PIECES", 6))


def in_pieces(folder, words, nelements):
    """What a run in pieces prints, and how many there were; it must be what one run prints and saves."""
    whole, pieces, kept = folder / "whole", folder / "pieces", folder / f"kept {nelements} {time.monotonic_ns()}"
    for path in (whole, pieces):
        path.unlink(missing_ok=True)
    alone = run(*words, "--save", whole)
    parted = run(*words, "--save", pieces, "--resume", kept, "--piece", nelements)
    assert (parted.returncode, parted.stdout, parted.stderr) == (alone.returncode, alone.stdout, alone.stderr), (words, nelements)
    assert whole.exists() == pieces.exists()
    if whole.exists():
        assert whole.read_bytes() == pieces.read_bytes(), (words, nelements)
        again = run(*words, "--resume", kept, "--piece", nelements)  # nothing is left to do
        assert (again.stdout, again.stderr) == (alone.stdout, alone.stderr)
    return parted, len(list(kept.glob("*.acc")))


# ---- texts and tables ------------------------------------------------------------------------------------

QUOTED = ("a,b", "a\nb", "\n", "\n\n1,2\n", 'q""q', 'a""\n""b', " ", "#\n#", "1\n2")
UNQUOTED = ('5"', "a b", "", '"c""d"', "e")
WRONG = ("x,foo,e", "x,1", "x,1,2,3", 'x,"1,e', 'x,"1"2,e')


def random_lines(draw, count, has_quotes):
    for _ in range(count):
        if draw.random() < 0.05:
            yield draw.choice(('# it"s', '# "a', "#,,,", "", " "))
        key = f'"{draw.choice(QUOTED)}"' if has_quotes and draw.random() < 0.4 else draw.choice("xyz")
        value = draw.choice((repr(draw.uniform(-9, 9) * 2.0 ** draw.randint(-30, 30)), str(draw.randint(-5, 5))))
        if draw.random() < 0.01:
            value = "nan"
        yield f'{key},{value},{draw.choice(UNQUOTED) if has_quotes else "e"}'


def random_table(draw, path, has_header, has_quotes):
    lines = list(random_lines(draw, draw.choice((0, 1, 3, 30, 200)), has_quotes))
    if lines and draw.random() < 0.15:
        lines[draw.randrange(len(lines))] = draw.choice(WRONG)
    if has_header and (lines or draw.random() < 0.5):
        lines.insert(0, "key,val,rest")
    newline = draw.choice(("\n", "\n", "\r\n"))
    path.write_text(draw.choice(("", "", "\ufeff")) + newline.join(lines) + draw.choice(("", newline)), newline="")


def random_words(draw, has_header):
    yield draw.choice(("sum", "mean,argmax", "count", "argmin", "stats", "var,max,nonzero"))
    if draw.random() < 0.6:
        yield from ("--by", draw.choice(("key", "1", "key,rest") if has_header else ("1", "1,3")))
    if has_header:
        yield from draw.choice((("--column", "val"), ("--column", "2", "--header"), ("--header",)))
    else:
        yield from ("--column", "2")
    for some in (("--nan", "omit"), ("--nan", "error"), ("--missing", "skip"), ("--json",), ("--delimiter", ",")):
        if draw.random() < 0.25:
            yield from some


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_tables(seed, tmp_path):
    draw = random.Random(seed)
    for _ in range(10):
        paths, has_header, has_quotes = [tmp_path / f"{i}.csv" for i in range(draw.randint(1, 3))], draw.random() < 0.6, draw.random() < 0.6
        for path in paths:
            random_table(draw, path, has_header, has_quotes)
        in_pieces(tmp_path, [*random_words(draw, has_header), *paths], draw.choice((2, 5, 20, 100, 1000)))


def test_line_breaks_in_quotes_end_no_range(tmp_path):
    """Wherever it is cut: in front of a quote, in it, behind it, or between a line break's two halves."""
    path, rows = tmp_path / "t.csv", [("k", "v")] + [(f'a\n{i}\r\n""{i}"', 2.0**i) for i in range(6)] + [("plain", 1)] * 6
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    path.write_text(text.getvalue(), newline="")
    words = "sum,argmax", "--by", "k", "--csv", path
    expected = {key: value for key, value in rows[1:7]} | {"plain": 6}
    counts = set()
    for nelements in range(1, len(text.getvalue()) // 8 + 2):
        done, count = in_pieces(tmp_path, words, nelements)
        counts.add(count)
        found = list(csv.reader(io.StringIO(done.stdout, newline="")))[1:]
        assert {key: float(value) for key, value, _ in found} == expected
    assert min(counts) == 1 and max(counts) > 8


@pytest.mark.parametrize("separator", ["\n", " ", "\r\n", " \n"])
def test_numbers(separator, tmp_path):
    """Not of a table; a line of all numbers cannot be cut."""
    draw, path = random.Random(4), tmp_path / "t.txt"
    path.write_text(separator.join(repr(draw.uniform(-1, 1) * 2.0 ** draw.randint(-60, 60)) for _ in range(300)), newline="")
    for op in ("sum", "argmin", "stats"):
        _, count = in_pieces(tmp_path, (op, "--json", path, path), 50)
        assert count == 2 if separator == " " else count > 10
    refused(2, "cannot be cut", "prod", path, path, "--resume", tmp_path / "none")
    assert printed("prod", "--hex", path, "--resume", tmp_path / "one", "--piece", "10") == printed("prod", "--hex", path)


def test_what_is_wrong_is_told_with_its_line(tmp_path):
    path = tmp_path / "t.csv"
    lines = ["# a comment", "k,v", *(f'"{i}\n",{i}' for i in range(40)), "x,oops", *(f"{i},{i}" for i in range(40))]
    path.write_text("\n".join(lines) + "\n")
    for words in (("sum", "--column", "v"), ("sum", "--by", "k"), ("mean,argmax",)):
        for nelements in (1, 3, 30, 1000):
            done, _ = in_pieces(tmp_path, (*words, "--column", "v", path), nelements)
            assert done.returncode == 1 and "t.csv:83:3: 'oops'" in done.stderr, done


def test_the_first_file_tells_the_columns(tmp_path):
    """Without --column: those with numbers there; a file without lines tells nothing."""
    for name, text in (("empty", ""), ("a", "k,v,w\nx,1,one\ny,2,two\n"), ("b", "w,v,k,u\n5,3,y,7\n6,4,z,8\n")):
        (tmp_path / name).write_text(text)
    paths = [tmp_path / name for name in ("empty", "a", "b", "empty")]
    for nelements in (1, 2, 100):
        done, _ = in_pieces(tmp_path, ("sum,argmin", "--by", "k", *paths), nelements)
        assert done.stdout.splitlines() == ["k\tv_sum\tv_argmin", f"x\t1\t{paths[1]}:2", f"y\t5\t{paths[1]}:3", f"z\t4\t{paths[2]}:3"]
    refused(1, "no lines", "sum,max", "--resume", tmp_path / "r", paths[0])


@pytest.mark.parametrize("tool", ["gzip", "zstd"])
def test_compressed_files_are_pieces(tool, tmp_path):
    path = tmp_path / ("t.csv." + {"gzip": "gz", "zstd": "zst"}[tool])
    text = "k,v\n" + "".join(f"{i % 3},{i}\n" for i in range(1000))
    try:
        path.write_bytes(subprocess.run([tool, "-c"], input=text.encode(), capture_output=True, check=True).stdout)
    except FileNotFoundError:
        pytest.skip(f"skipped: no {tool}")
    for words in (("sum", "--column", "v"), ("sum,argmax", "--by", "k")):
        assert in_pieces(tmp_path, (*words, path, path), 10)[1] == 2


def test_killed_at_random(tmp_path):
    draw, path, folder = random.Random(9), tmp_path / "t.csv", tmp_path / "r"
    path.write_text("k,v\n" + "".join(f'"{draw.randint(1, 50)}\n",{draw.uniform(-1, 1)!r}\n' for _ in range(3000)))
    words = "mean,argmax", "--by", "k", "--column", "v", path, "--save"
    expected, kills = printed(*words, tmp_path / "whole"), 0
    for _ in range(20):
        process = subprocess.Popen([CLI, *words, tmp_path / "again", "--resume", folder, "--piece", "200"],
                                   stdout=subprocess.PIPE, text=True)
        time.sleep(draw.uniform(0, 0.1))
        process.send_signal(signal.SIGKILL)
        text, _ = process.communicate(timeout=120)
        kills += process.returncode < 0
        assert process.returncode < 0 or text == expected
    assert kills > 3
    assert printed(*words, tmp_path / "again", "--resume", folder, "--piece", "200") == expected
    assert (tmp_path / "again").read_bytes() == (tmp_path / "whole").read_bytes()


def test_tables_that_cannot_be_parted(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("k,v\nx,1\n")
    resume = "--resume", tmp_path / "r", path
    refused(2, "--resume does not take medians and distinct values", "median,sum", "--by", "k", *resume)
    refused(2, "--resume does not take products of floats", "prod", "--by", "k", *resume)
    refused(2, "--resume does not go with --per row", "sum", "--per", "row", *resume)
    refused(2, "--piece is for --resume", "sum", "--by", "k", "--piece", "3", path)
    assert printed("sum", "--by", "k", "--csv", *resume) == "k,v_sum\nx,1\n"
    refused(1, "another reduction", "sum", "--by", "v", *resume)
    refused(1, "another reduction", "mean", "--by", "k", *resume)
    printed("sum", "--by", "k", "--save", tmp_path / "r" / "0.acc", path)  # the same table: nothing is lost
    printed("sum", "--by", "k", *resume)
    printed("sum", "--save", tmp_path / "r" / "0.acc", "--column", "v", path)
    refused(1, "0.acc", "sum", "--by", "k", *resume)


# ---- along axes ------------------------------------------------------------------------------------------


def write_array(draw, path, shape, fortran_order, has_nan):
    count = 1
    for extent in shape:
        count *= extent
    values = [draw.choice((draw.uniform(-1, 1) * 2.0 ** draw.randint(-400, 400), 1.0, -0.0)) for _ in range(count)]
    if has_nan and count:
        values[draw.randrange(count)] = float("nan")
    path.write_bytes(npy_header(npy_text("<f8", shape, fortran_order)) + struct.pack(f"<{count}d", *values))


@pytest.mark.parametrize("op", ["sum", "var", "argmax", "argmin", "min", "prod", "nonzero"])
def test_rows_are_shared(op, tmp_path):
    draw, path = random.Random(op), tmp_path / "a.npy"
    for _ in range(8):
        shape = tuple(draw.choice((1, 2, 3, 5, 8, 13)) for _ in range(draw.randint(1, 3)))
        write_array(draw, path, shape, draw.random() < 0.2, draw.random() < 0.3)
        axes = [d for d in range(len(shape)) if draw.random() < 0.6] or [draw.randrange(len(shape))]
        words = [op, "--axis", ",".join(map(str, axes)), "--json", path]
        if op in ("argmax", "argmin", "prod"):
            words += ["--first-index", "7"]
        if draw.random() < 0.5:
            words += ["--nan", draw.choice(("omit", "error"))]
        if "error" not in words:  # saved before it is told
            in_pieces(tmp_path, words, draw.choice((1, 4, 20, 100)))
        expected = run(*words)
        parted = run(*words, "--resume", tmp_path / f"r{time.monotonic_ns()}", "--piece", draw.choice((1, 7, 50)))
        assert (parted.returncode, parted.stdout) == (expected.returncode, expected.stdout)
        assert parted.stderr == expected.stderr or expected.stderr == parted.stderr.replace("warpfold: ", "warpfold: result 0: ")


def test_how_rows_are_cut(tmp_path):
    draw, path, out = random.Random(1), tmp_path / "a.npy", tmp_path / "out.npy"
    write_array(draw, path, (10, 3, 4), False, False)
    words = "sum", "--axis", "0,-1", path
    assert [in_pieces(tmp_path, words, n)[1] for n in (1, 12, 30, 119, 120)] == [10, 10, 5, 2, 1]
    printed(*words, "--resume", tmp_path / "r", "--out", out)
    kept = out.read_bytes()
    printed(*words, "--out", out)
    assert out.read_bytes() == kept
    assert [in_pieces(tmp_path, ("sum", "--axis", "1", path), n)[1] for n in (1, 30, 120)] == [10, 5, 1]
    refused(1, "another reduction", "sum", "--axis", "0", path, "--resume", tmp_path / "r")
    refused(1, "out of range", "sum", "--axis", "0,5", path, "--resume", tmp_path / "t")
