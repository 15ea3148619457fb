"""Accumulators on the command line: --save and merge."""

import json
import os
import resource
import signal
import stat

import pytest

from cli_helpers import expected, expected_rows, pack, printed, refused, run


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
