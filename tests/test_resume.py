"""warpfold --resume: killed at any point and started again, alone or beside others, it gives what one run gives; and what
does not belong together is refused."""

import os
import random
import signal
import struct
import subprocess
import time

import pytest

from cli_helpers import CLI, FAULTS, npy, npy_header, npy_text, printed, refused
from test_faults import ENOSPC, places_of, sample, start

KILLS = int(os.environ.get("WARPFOLD_KILLS", 100))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Arrays of f64, one of them empty and one in Fortran order, which is not cut."""
    folder, draw = tmp_path_factory.mktemp("files"), random.Random(5)
    paths = []
    for i, count in enumerate((5000, 0, 3, 7001, 600)):
        values = [draw.uniform(-1, 1) * 2.0 ** draw.randint(-40, 40) for _ in range(count)]
        shape = (30, 20) if count == 600 else None
        paths.append(folder / f"{i}.npy")
        paths[-1].write_bytes(npy("f64", values, shape, fortran_order=shape is not None))
    return paths


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    folder, draw = tmp_path_factory.mktemp("texts"), random.Random(6)
    for i in range(3):
        (folder / f"{i}.txt").write_text("\n".join(str(draw.uniform(-9, 9)) for _ in range(100 * i)) + "\n")
    return sorted(folder.iterdir())


OPS = ("sum", "stats", "argmax", "var")


@pytest.mark.parametrize("op", [*OPS, "prod"])
def test_pieces_are_the_whole(op, files, texts, tmp_path):
    for kind in (files[:4] if op == "prod" else files, texts):
        if op == "prod" and kind is texts:
            refused(2, "cannot be cut", op, "--resume", tmp_path / "none", *kind)
            continue
        words = op, "--json", "--first-index", "9", *kind
        whole, folder = tmp_path / "whole", tmp_path / kind[0].suffix
        pieces = "--resume", folder, "--piece", "1000", "--save", tmp_path / "pieces"
        expected = printed(*words, "--save", whole)
        for _ in range(2):  # the second time nothing is left to do
            assert printed(*words, *pieces) == expected
            assert (tmp_path / "pieces").read_bytes() == whole.read_bytes()
        assert len(list(folder.glob("*.acc"))) == (3 if kind is texts else 5 + 1 + 1 + 8 + (op != "prod"))


def test_pairs_are_cut_alike(files, tmp_path):
    """Ranges of both files, whole files where they cannot be cut, and what one process refuses."""
    draw = random.Random(8)
    other, order, text = tmp_path / "other.npy", tmp_path / "order.npy", tmp_path / "text.txt"
    values = [draw.uniform(-1, 1) * 2.0 ** draw.randint(-400, 400) for _ in range(5000)]
    other.write_bytes(npy("f64", values))
    order.write_bytes(npy("f64", values[:600], (30, 20)))
    text.write_text("\n".join(map(repr, values[:600])))
    raw = tmp_path / "values.f64"
    raw.write_bytes(struct.pack("<5000d", *values))
    for i, (pair, count) in enumerate((((files[0], other), 5), ((files[4], order), 1), ((text, order), 1), ((raw, other), 5))):
        words = "dot", "--hex", "--type", "f64", *pair, "--save"
        expected = printed(*words, tmp_path / "whole")
        for _ in range(2):
            resume = "--resume", tmp_path / f"r{i}", "--piece", "1000"
            assert printed(*words, tmp_path / "pieces", *resume) == expected
            assert (tmp_path / "pieces").read_bytes() == (tmp_path / "whole").read_bytes()
        assert len(list((tmp_path / f"r{i}").glob("*.acc"))) == count
    refused(1, "pairs need equal lengths", "dot", text, other, "--resume", tmp_path / "lengths")
    (tmp_path / "row.npy").write_bytes(npy("f64", values[:600], (1, 600)))
    refused(1, "pairs need equal shapes", "dot", order, tmp_path / "row.npy", "--resume", tmp_path / "shapes")
    refused(1, "must have the same type", "dot", order, write_f32(tmp_path), "--resume", tmp_path / "types")
    os.utime(order, ns=(10**18, 10**18))
    refused(1, "a file is not what it was", "dot", files[4], order, *resume[:1], tmp_path / "r1", *resume[2:])


def test_a_nan_is_told_by_its_place_in_all(tmp_path):
    paths = [tmp_path / "a.npy", tmp_path / "b.npy"]
    for path, values in zip(paths, ([1.0] * 7, [1.0, 2.0, float("nan")])):
        path.write_bytes(npy_header(npy_text("<f4", (len(values),))) + struct.pack(f"<{len(values)}f", *values))
    for more in ((), ("--resume", tmp_path / "r", "--piece", "2")):
        refused(1, "NaN at index 9", "sum", "--nan", "error", *paths, *more)


def test_killed_at_random(files, tmp_path):
    """Nothing that is killed leaves a piece that is not whole, or anything else behind."""
    draw, folder, kills, runs = random.Random(KILLS), tmp_path / "r", 0, 0
    words = "stats", "--json", *files
    whole, again = tmp_path / "whole", tmp_path / "again"
    expected = printed(*words, "--save", whole)
    while kills < KILLS:
        process = subprocess.Popen([CLI, *words, "--resume", folder, "--piece", "200", "--save", again],
                                   stdout=subprocess.PIPE, text=True)
        time.sleep(draw.uniform(0, 0.05))
        process.send_signal(draw.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM)))
        text, _ = process.communicate(timeout=120)
        runs += 1
        kills += process.returncode < 0
        assert process.returncode < 0 or text == expected
        for path in folder.iterdir() if folder.exists() else ():
            assert path.name in ("pieces", "lock") or path.suffix in (".of", ".acc")
            if path.suffix == ".acc" and draw.random() < 0.1:
                printed("merge", path)
        if process.returncode == 0 or len(list(folder.glob("*.acc"))) > 60:
            for path in list(folder.iterdir()) if folder.exists() else ():  # again from the beginning
                path.unlink()
        assert runs < 20 * KILLS
    assert printed(*words, "--resume", folder, "--piece", "200", "--save", again) == expected
    assert again.read_bytes() == whole.read_bytes()


@pytest.mark.slow
@pytest.mark.skipif(not FAULTS.exists(), reason="the tests' programs are not built")
@pytest.mark.parametrize("kind,how", [("memory", {}), ("write", {"error": ENOSPC})])
def test_a_call_fails(files, tmp_path, kind, how):
    """One message and no answer, or the answer; and what is left in the folder can be gone on with."""
    words = ["sum", "--hex", *map(str, files[2:])]
    expected = printed(*words).encode()
    resume = [*words, "--piece", "3000", "--resume"]
    start(tmp_path, [*resume, "count"], kind=kind, places=tmp_path / "calls", **how)
    failed = 0
    for at in sample(range(1, len(places_of(tmp_path / "calls")) + 1)):  # each leaves the folder otherwise
        done = start(tmp_path, [*resume, f"r{at}"], kind=kind, at=at, lasting=0, **how)
        if done.returncode:
            failed += 1
            assert (done.returncode, done.stdout) == (1, b"") and done.stderr.count(b"\n") == 1, (at, done)
        else:
            assert done.stdout == expected, (at, done)
        assert printed(*resume, tmp_path / f"r{at}").encode() == expected
    assert failed > 3


def test_several_share_a_folder(files, tmp_path):
    words = [CLI, "sum", "--hex", *files, "--resume", tmp_path / "r", "--piece", "500"]
    processes = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    processes[0].kill()
    texts = {process.communicate(timeout=120)[0] for process in processes[1:]}
    assert texts == {printed("sum", "--hex", *files)}
    assert not any(process.returncode for process in processes[1:])


def test_what_has_changed_is_refused(files, tmp_path):
    folder, path = tmp_path / "r", tmp_path / "a.npy"
    path.write_bytes(npy("f64", [1.0, 2.0]))
    words = "--resume", folder, path
    assert printed("sum", *words) == "3\n"
    refused(1, ["another reduction", "mean of f64"], "mean", *words)
    refused(1, "--ddof 1", "sum", "--ddof", "1", *words)
    refused(1, "another reduction", "sum", *words, files[0])
    before = path.stat()
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 10**9))
    refused(1, ["a file is not what it was", "a.npy: 144 bytes"], "sum", *words)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert printed("sum", *words) == "3\n"
    piece = folder / "0.acc"
    piece.write_bytes(piece.read_bytes()[:-1])
    refused(1, "0.acc: damaged accumulator", "sum", *words)
    piece.unlink()
    assert printed("sum", *words) == "3\n"
    (folder / "pieces").rename(tmp_path / "pieces")
    refused(1, ["0.acc: is there, but not", "which says of what it is a piece"], "sum", *words)
    (tmp_path / "pieces").rename(folder / "pieces")
    for other in (("sum", files[1]), ("mean", path)):  # whole, but of another piece or op
        printed(*other, "--save", piece)
        refused(1, "0.acc: not the accumulator of its piece", "sum", *words)


def test_a_piece_of_another_place_is_refused(tmp_path):
    """Of equal op, length and even file size: a range of the same file, and another folder's."""
    paths, folders = [tmp_path / "a.npy", tmp_path / "b.npy"], [tmp_path / "r", tmp_path / "s"]
    for path, first in zip(paths, (1.0, 100.0)):
        path.write_bytes(npy("f64", [first, first + 1, first + 2, first + 3]))
    words = ["sum", "--piece", "2", "--resume"]
    for folder, path in zip(folders, paths):
        printed(*words, folder, path)
    here, expected = folders[0], printed("sum", paths[0])
    kept = {path.name: path.read_bytes() for path in here.iterdir()}
    for source, target in ((here / "0", here / "1"), (here / "1", here / "0"), (folders[1] / "0", here / "0")):
        for endings in (["acc"], ["acc", "of"], ["of"]):
            for ending in endings:
                target.with_suffix(f".{ending}").write_bytes(source.with_suffix(f".{ending}").read_bytes())
            refused(1, f"{target.name}.acc: not the accumulator of its piece", *words, here, paths[0])
            target.with_suffix(".acc").unlink()  # as the message says
            assert printed(*words, here, paths[0]) == expected
            assert kept == {path.name: path.read_bytes() for path in here.iterdir()}
    (here / "1.of").unlink()
    refused(1, "1.acc: not the accumulator of its piece", *words, here, paths[0])
    (here / "pieces").write_bytes(kept["pieces"].replace(b"version 3", b"version 2"))
    refused(1, ["now 'pieces of a reduction by warpfold: version 3'", "then"], *words, here, paths[0])


def test_what_cannot_be_resumed(files, tmp_path):
    resume = "--resume", tmp_path / "r"
    refused(2, "standard input", "sum", *resume)
    refused(2, "--piece is for", "sum", "--piece", "5", files[0])
    refused(1, "No such file", "sum", *resume, tmp_path / "absent")
    refused(1, "No such file", "sum", "--resume", tmp_path / "absent" / "r", files[0])
    refused(1, "not a regular file", "sum", *resume, tmp_path)
    refused(1, "must have the same type", "sum", *resume, files[0], write_f32(tmp_path))


def write_f32(folder):
    path = folder / "other.npy"
    path.write_bytes(npy_header(npy_text("<f4", (0,))))
    return path


def test_xargs_does_the_same(files, tmp_path):
    """docs/scale.md has this line: what moves files shares the work."""
    folder = tmp_path / "big files"
    folder.mkdir()
    for path in files:
        (folder / path.name).symlink_to(path)
    line = 'ls *.npy | xargs -P 4 -I{} "$0" sum --save {}.acc {} > /dev/null && "$0" merge --hex *.acc'
    done = subprocess.run(["sh", "-c", line, CLI], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.stdout == printed("sum", "--hex", *files), done.stderr


# ---- under mpirun ----------------------------------------------------------------------------------------


def test_the_wrong_library_is_noticed(files, tmp_path):
    for variables, why in (({"OMPI_COMM_WORLD_SIZE": "2", "WARPFOLD_MPI": str(tmp_path / "none.so")}, "cannot be opened"),
                           ({"PMI_SIZE": "2", "WARPFOLD_MPI": "libm.so.6"}, "not an MPI library")):
        refused(1, why, "sum", files[0], env=os.environ | variables)
