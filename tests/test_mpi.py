"""warpfold_mpi.h with each MPI library that is here: tests/mpi/ranks.c compares every rank's bytes with one process's.
And the command line under each mpirun.  Not under sanitizers: MPI libraries leak."""

import os
import random
import subprocess
import sys
from functools import partial

import pytest

from cli_helpers import CLI, npy, printed
from mpi_helpers import BUILD, ENVIRONMENT, ROOT, compile_program, need, run_ranks
from test_resume import files, texts  # noqa: F401 (fixtures)

HEADER = ROOT / "include" / "warpfold_mpi.h"
SLOW = partial(pytest.param, marks=pytest.mark.slow)


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Compiled once for each library."""
    made = {}

    def program(library):
        need(library)
        if library not in made:
            target = tmp_path_factory.mktemp(library) / "ranks"
            made[library] = compile_program(library, ROOT / "tests" / "mpi" / "ranks.c", target)
        return made[library]

    return program


@pytest.mark.parametrize("library,count,what", [
    SLOW("openmpi", 1, "all"), ("openmpi", 3, "all"), SLOW("openmpi", 8, "all"), ("mpich", 1, "few"),
    SLOW("mpich", 2, "all"), SLOW("mpich", 4, "few"), SLOW("openmpi", 9, "few")])  # 9: more than send all to all
def test_every_rank_has_the_bytes_of_one_process(programs, library, count, what):
    done = run_ranks(library, count, programs(library), what)
    assert (done.returncode, done.stdout) == (0, f"{count} ranks: the same bytes\n"), done.stderr


def forced_in_openmpi(**algorithms):
    names = {f"OMPI_MCA_coll_tuned_{name}_algorithm": str(number) for name, number in algorithms.items()}
    return {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1", **names}


def forced_in_mpich(**algorithms):
    return {f"MPIR_CVAR_{name.upper()}_INTRA_ALGORITHM": algorithm for name, algorithm in algorithms.items()}


# Each that ompi_info and MPICH's variables name, of every collective that the header calls; some need two ranks, an even
# number of them, or a power of two.
FORCED = [("openmpi", count, forced_in_openmpi(**dict(zip(
    ("allreduce", "reduce", "alltoall", "alltoallv", "allgather", "allgatherv", "bcast"), numbers))))
    for count, *numbers in ((7, 1, 1, 1, 1, 1, 1, 1), (2, 2, 2, 5, 2, 6, 5, 2), (6, 3, 3, 2, 1, 5, 4, 3), (8, 4, 4, 3, 2, 3, 2, 4),
                            (5, 5, 5, 4, 1, 2, 3, 5), (7, 6, 6, 4, 2, 4, 3, 6), (4, 3, 7, 2, 1, 3, 2, 7),
                            (3, 5, 7, 3, 2, 2, 1, 8), (2, 6, 7, 2, 1, 1, 3, 9))]
# What else Open MPI has in place of its "tuned" algorithms.
FORCED += [("openmpi", 3, {"OMPI_MCA_coll": "basic,libnbc,self,inter"})]
FORCED += [("openmpi", 4, {f"OMPI_MCA_coll_{name}_priority": "99"}) for name in ("sm", "adapt", "han")]
FORCED += [("mpich", count, forced_in_mpich(**algorithms)) for count, algorithms in (
    (3, dict(allreduce="recursive_doubling", reduce="binomial", alltoall="brucks", alltoallv="pairwise_sendrecv_replace",
             allgather="brucks", allgatherv="brucks", bcast="binomial")),
    (4, dict(allreduce="reduce_scatter_allgather", reduce="reduce_scatter_gather", alltoall="scattered", alltoallv="scattered",
             allgather="recursive_doubling", allgatherv="recursive_doubling", bcast="scatter_recursive_doubling_allgather")),
    (3, dict(allreduce="smp", reduce="smp", alltoall="pairwise", allgather="ring", allgatherv="ring", bcast="scatter_ring_allgather")),
    (2, dict(alltoall="pairwise_sendrecv_replace", bcast="smp")),
    (2, dict(allreduce="nb", reduce="nb", alltoall="nb", alltoallv="nb", allgather="nb", allgatherv="nb", bcast="nb")))]


@pytest.mark.sampled
@pytest.mark.parametrize("library,count,forced", FORCED, ids=lambda value: "" if isinstance(value, dict) else str(value))
def test_algorithms(programs, library, count, forced):
    done = run_ranks(library, count, programs(library), "few", **forced)
    assert (done.returncode, done.stdout) == (0, f"{count} ranks: the same bytes\n"), done.stderr


def test_header_is_c99_and_cpp(tmp_path):
    need("mpich")
    shown = subprocess.run(["mpicc.mpich", "-show"], check=True, capture_output=True, text=True).stdout.split()
    folders = [word.replace("-I", "-isystem", 1) for word in shown if word.startswith("-I")]
    for compiler, language in (("gcc", "c99"), ("g++", "c++11")):
        source = tmp_path / f"only.{'c' if compiler == 'gcc' else 'cc'}"
        source.write_text('#include "warpfold_mpi.h"\nint main() { return 0; }\n')
        subprocess.run([compiler, f"-std={language}", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", *folders,
                        f"-I{HEADER.parent}", source], check=True)


@pytest.fixture(scope="module")
def mpi4py():
    """The environment of ranks in Python."""
    need("openmpi")
    probe = [sys.executable, "-c", "import numpy, warpfold; from mpi4py import MPI; print(MPI.Get_library_version())"]
    environment = {"PYTHONPATH": str(BUILD / "python")}
    try:
        found = subprocess.run(probe, env=os.environ | ENVIRONMENT | environment, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        pytest.skip("skipped: mpi4py does not start")
    if "Open MPI" not in found.stdout:
        pytest.skip("skipped: no numpy, no mpi4py for Open MPI, or no Python package in the build")
    return environment


ARRAYS = """
import numpy, warpfold, warpfold.mpi
from mpi4py import MPI
comm = MPI.COMM_WORLD
draw = numpy.random.default_rng(1)
for shape, dtype in (((3, 7), "f4"), ((200_001,), "f8"), ((5,), "f2"), ((0,), "f8")):
    rows = (draw.standard_normal((comm.size, *shape)) * 100).astype(dtype)
    expected = warpfold.sum(rows, axis=0)
    for share in (rows[comm.rank], rows[-1 - comm.rank]):
        got = warpfold.mpi.all_reduce_array(share, comm)
        assert got.dtype == dtype and got.shape == shape and got.tobytes() == expected.tobytes()
try:
    warpfold.mpi.all_reduce_array(OSError("no share") if comm.rank == 1 else rows[0], comm)
except (OSError, RuntimeError) as error:
    told = comm.gather(str(error))
if comm.rank == 0:
    for text in told:
        print(text)
"""


@pytest.mark.slow
def test_arrays_of_mpi4py(mpi4py):
    done = run_ranks("openmpi", 3, sys.executable, "-c", ARRAYS, **mpi4py)
    other = "another rank failed: its own exception says why"
    assert done.stdout.splitlines() == [other, "no share", other], done.stderr


def test_example_of_mpi4py(mpi4py, tmp_path):
    """Its all-reduce, of words, against the command line."""
    draw, paths = random.Random(4), []
    for i in range(4):
        paths.append(tmp_path / f"{i}.npy")
        paths[-1].write_bytes(npy("f64", [draw.uniform(-1, 1) * 2.0 ** draw.randint(-60, 60) for _ in range(50 * i)]))
    example = ROOT / "examples" / "python" / "mpi_sum.py"
    done = run_ranks("openmpi", 3, sys.executable, example, *paths, **mpi4py)
    assert float.fromhex(done.stdout) == float.fromhex(printed("sum", "--hex", *paths)), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("library", ["openmpi", SLOW("mpich")])
def test_ranks_print_one_answer(library, files, texts, tmp_path):
    need(library)
    for count, words in ((3, ("stats", "--json", *files)), (2, ("argmin", *texts)), (3, ("prod", "--hex", *files[:4])),
                         (3, ("dot", "--hex", files[3], files[3]))):
        saved, whole = tmp_path / "saved", tmp_path / "whole"
        expected = printed(*words, "--save", whole)
        done = run_ranks(library, count, CLI, *words, "--piece", "700", "--save", saved)
        assert (done.returncode, done.stdout) == (0, expected), done.stderr
        assert saved.read_bytes() == whole.read_bytes()
    resumed = run_ranks(library, 2, CLI, *words, "--resume", tmp_path / "r", "--piece", "700")
    assert (resumed.returncode, resumed.stdout) == (0, expected), resumed.stderr
    failed = run_ranks(library, 2, CLI, "sum", files[0], tmp_path / "absent.npy")
    assert failed.returncode != 0 and failed.stdout.strip("\n") == "" and "No such file" in failed.stderr
    # Not what one command is, nor what one shared folder has.
    for odd in (("mean", files[0]), ("sum", files[1]), ("sum", "--nan", "omit", files[0])):
        differ = f'test "$OMPI_COMM_WORLD_RANK$PMI_RANK" = 1 && exec "$0" {" ".join(map(str, odd))}; exec "$0" sum "$1"'
        failed = run_ranks(library, 2, "sh", "-c", differ, CLI, files[0])
        assert failed.returncode != 0 and failed.stdout.strip("\n") == "" and "rank 1 reduces other files" in failed.stderr
    failed = run_ranks(library, 2, CLI, "sum")
    assert failed.returncode != 0 and failed.stderr.count("warpfold: standard input") == 1


@pytest.mark.slow
@pytest.mark.parametrize("library,counts", [("openmpi", (1, 3, 8)), ("mpich", (2, 3))])
def test_ranks_share_tables_texts_and_rows(library, counts, tmp_path):
    need(library)
    draw, table, text, array = random.Random(7), tmp_path / "t.csv", tmp_path / "x.txt", tmp_path / "a.npy"
    table.write_text("k,v\n" + "".join(f'"{draw.randint(1, 40)}\n",{draw.uniform(-1, 1) * 2.0 ** draw.randint(-60, 60)!r}\n'
                                       for _ in range(2000)))
    text.write_text("\n".join(repr(draw.uniform(-1, 1) * 2.0 ** draw.randint(-99, 99)) for _ in range(2000)))
    array.write_bytes(npy("f64", [draw.uniform(-1, 1) * 2.0 ** draw.randint(-99, 99) for _ in range(300)], (30, 2, 5)))
    saved, whole = tmp_path / "saved", tmp_path / "whole"
    for words in (("mean,argmax", "--by", "k", table, table), ("count", "--by", "k", "--sort", table), ("stats", "--json", text),
                  ("argmin", text, text), ("sum", "--axis", "0,2", "--json", array), ("argmax", "--axis", "0", array),
                  ("mean", "--axis", "1,-1", array), ("prod", "--axis", "1", "--json", array)):
        expected = printed(*words, "--save", whole)
        for count in counts:
            for piece in (1000, 100) if count == 3 else (100,):  # the first: shares are empty
                done = run_ranks(library, count, CLI, *words, "--piece", piece, "--save", saved)
                assert (done.returncode, done.stdout.replace("\r", "")) == (0, expected), done.stderr
                assert saved.read_bytes() == whole.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("library", ["openmpi", "mpich"])
def test_what_is_wrong_is_told_once(library, tmp_path):
    """Of one rank, of all of them, and of two each its own; with the line, although others read what is before."""
    need(library)
    good, bad, worse = (tmp_path / f"{name}.csv" for name in ("good", "bad", "worse"))
    lines = ["k,v", *(f"x,{i}" for i in range(500))]
    good.write_text("\n".join(lines))
    bad.write_text("\n".join([*lines[:400], "x,oops", *lines[400:]]))
    worse.write_text("\n".join([*lines[:489], "x", *lines[489:]]))
    by = "sum", "--by", "k", "--piece", "50"
    for words, told in (((*by, good, bad, good), ["bad.csv:401:3"]), ((*by, good, tmp_path / "absent"), ["absent: No such file"]),
                        ((*by, bad, worse), ["bad.csv:401:3", "worse.csv:490"]), (("median", good), ["mpirun does not take median"]),
                        (("merge", good), ["mpirun does not take merge"]), (("sum", "--axis", "1", good), ["only a single .npy file"])):
        done = run_ranks(library, 3, CLI, *words)
        said = [line for line in done.stderr.splitlines() if line.startswith("warpfold: ") and "try 'warpfold" not in line]
        assert done.returncode != 0 and done.stdout.strip("\n") == ""
        assert len(said) == len(told) and all(words in line for words, line in zip(told, said)), done.stderr
