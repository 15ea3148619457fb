"""--axis: .npy files along their dimensions, each result the oracle's, as rows, JSON and .npy."""

import itertools
import json
import math
import random

import pytest

from cli_helpers import expected, npy, pack, printed, refused
from inspect_helpers import read_npy

SHAPE = (3, 4, 2)


def bits_along(shape, axes, values, fortran_order):
    """For each result, in C order, the values of its elements; values lie in the file's order."""
    def at(index):
        place = 0
        for d in (reversed(range(len(shape))) if fortran_order else range(len(shape))):
            place = place * shape[d] + index[d]
        return values[place]

    kept = [d for d in range(len(shape)) if d not in axes]
    for outer in itertools.product(*(range(shape[d]) for d in kept)):
        fixed = dict(zip(kept, outer))
        yield [at(i) for i in itertools.product(*([fixed[d]] if d in fixed else range(n) for d, n in enumerate(shape)))]


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", ["f64", "f16", "i16", "u64", "bool"])
@pytest.mark.parametrize("fortran_order", [False, True])
@pytest.mark.parametrize("order", ["<", ">"])
def test_axes_of_any_file(write, type_name, fortran_order, order):
    rng = random.Random(f"{type_name} {fortran_order} {order}")
    values = [rng.choice([0, 1]) if type_name == "bool" else rng.randrange(100) for _ in range(math.prod(SHAPE))]
    path = write("x.npy", npy(type_name, values, shape=list(SHAPE), fortran_order=fortran_order, order=order))
    for axes, text in (((0,), "0"), ((1,), "-2"), ((0, 2), "2,0"), ((0, 1, 2), "0,1,2")):
        for op in ("sum", "argmax", "mean"):
            results = [expected(op, type_name, pack(type_name, group))
                       for group in bits_along(SHAPE, axes, values, fortran_order)]
            length = next((SHAPE[d] for d in (2, 1, 0) if d not in axes), 1)
            rows = [" ".join(results[i:i + length]) + "\n" for i in range(0, len(results), length)]
            assert printed(op, f"--axis={text}", path) == "".join(rows), (op, axes)


def test_results_as_json_and_as_a_file(write, tmp_path):
    path, out = write("x.npy", npy("i32", range(6), shape=[2, 3])), tmp_path / "out.npy"
    assert json.loads(printed("sum", "--axis", "0", "--json", path)) == {
        "op": "sum", "type": "i32", "shape": [3], "results": [3, 5, 7], "result_type": "i64"}
    assert printed("max", "--axis", "1", "--hex", path) == "0x2 0x5\n"
    assert printed("max", "--axis", "1", "--out", out, path) == ""
    assert read_npy(out) == ("<i4", 2, pack("i32", [2, 5], "<"))
    assert printed("sum", "--axis", "0", "--out", out, write("y.npy", npy("f32", range(24), shape=[2, 3, 4]))) == ""
    assert printed("sum", "--axis", "1", out) == printed(
        "sum", "--axis", "0,2", write("y.npy", npy("f32", range(24), shape=[2, 3, 4])))
    empty = write("z.npy", npy("f32", [], shape=[2, 0]))
    assert printed("min", "--axis", "1", empty) == "nan nan\n"
    assert printed("sum", "--axis", "0", empty) == ""


def test_many_dimensions(write, tmp_path):
    out = tmp_path / "out.npy"
    path = write("x.npy", npy("u8", range(8), shape=[2] * 3 + [1] * 29))
    assert printed("sum", "--axis", "31", "--out", out, path) == ""
    assert printed("sum", "--axis", ",".join(map(str, range(31))), out) == "28\n"


@pytest.mark.parametrize("status,said,arguments", [
    (1, "--axis 2 is out of range: the array has 2 dimensions", ["sum", "--axis", "2"]),
    (1, "--axis -3 is out of range: the array has 2 dimensions", ["sum", "--axis=-3"]),
    (2, "--axis takes numbers of dimensions", ["sum", "--axis", "0,0"]),
    (2, "--axis takes numbers of dimensions", ["sum", "--axis", "0,-2"]),
    (2, "--axis takes numbers of dimensions", ["sum", "--axis", "0,"]),
    (2, "--axis takes numbers of dimensions", ["sum", "--axis", ""]),
    (2, "--axis takes numbers of dimensions", ["sum", "--axis", " 1"]),
    (2, "--axis takes numbers of dimensions", ["sum", "--axis", "99999999999999999999"]),
    (2, "stats does not take --axis", ["stats", "--axis", "0"]),
    (1, "/nowhere/x", ["sum", "--axis", "0", "--save", "/nowhere/x"]),
    (2, "--out needs --axis", ["sum", "--out", "/nowhere/x"]),
    (2, "--out is given twice", ["sum", "--axis", "0", "--out", "/nowhere/x", "--out", "/nowhere/y"]),
    (1, "/nowhere/x", ["sum", "--axis", "0", "--out", "/nowhere/x"]),
    (1, "result 1: NaN at index 1", ["sum", "--axis", "1", "--nan", "error"]),
])
def test_what_is_refused(write, status, said, arguments):
    path = write("x.npy", npy("f64", [1, 2, 3, "nan"], shape=[2, 2]))
    refused(status, said, *arguments, path)


def test_files_without_a_shape(write):
    refused(2, "only a single .npy file has a shape", "sum", "--axis", "0", data="1 2 3")
    path = write("x.npy", npy("f64", [1, 2]))
    refused(2, "--axis takes one .npy file", "sum", "--axis", "0", path, path)
    refused(2, "dot does not take --axis", "dot", "--axis", "0", path, path)
    assert printed("sum", "--axis", "0", data=npy("f64", [1, 2])) == "3\n"
    refused(1, "bytes", "sum", "--axis", "0", write("cut.npy", npy("f64", [1, 2])[:-1]))


# ---- saved accumulators ---------------------------------------------------------------------------------


def test_pieces_of_an_array_are_saved_and_merged(write, tmp_path):
    rng = random.Random("pieces")
    values = [rng.uniform(-1, 1) * 2.0 ** rng.randint(-60, 60) for _ in range(6 * 4 * 3)]
    whole = write("whole.npy", npy("f64", values, shape=[6, 4, 3]))
    pieces = [write(f"{i}.npy", npy("f64", values[12 * begin:12 * end], shape=[end - begin, 4, 3]))
              for i, (begin, end) in enumerate([(0, 1), (1, 4), (4, 6)])]
    for op in ("sum", "var", "argmin", "prod", "max"):
        saved = []
        for piece, first_index in zip(pieces, (0, 1, 4)):
            saved.append(tmp_path / f"{piece}.acc")
            alone = printed(op, "--axis", "0", piece, "--first-index", first_index)
            assert printed(op, "--axis", "0", "--save", saved[-1], piece, "--first-index", first_index) == alone
        expected_rows = printed(op, "--axis", "0", whole)
        assert printed("merge", *saved) == expected_rows
        assert json.loads(printed("merge", "--json", *saved)) == json.loads(printed(op, "--axis", "0", "--json", whole))
        joined, out, other = (tmp_path / name for name in ("joined.acc", "out.npy", "other.npy"))
        assert printed("merge", "--save", joined, "--out", out, *saved[:2]) == ""
        assert printed("merge", joined, saved[2]) == expected_rows
        assert printed("merge", "--out", out, joined, saved[2]) == printed(op, "--axis", "0", "--out", other, whole) == ""
        assert out.read_bytes() == other.read_bytes()
        assert printed("merge", "-", data=joined.read_bytes()) == printed("merge", joined)


def test_a_saved_accumulator_of_one_result_among_axes(write, tmp_path):
    path, saved = write("x.npy", npy("i32", range(5))), tmp_path / "x.acc"
    assert printed("sum", "--axis", "0", "--save", saved, path) == printed("merge", saved) == "10\n"
    refused(1, "--out takes the results of an accumulator with a shape", "merge", "--out", tmp_path / "y.npy", saved)
    refused(2, "--out is given twice", "merge", "--out", "/nowhere/x", "--out", "/nowhere/y", saved)


def test_what_has_no_value_is_saved_nevertheless(write, tmp_path):
    empty, saved = write("x.npy", npy("i32", [], shape=[0, 2])), tmp_path / "x.acc"
    refused(1, "result 0: min of no elements is undefined", "min", "--axis", "0", "--save", saved, empty)
    other = tmp_path / "y.acc"
    assert printed("min", "--axis", "0", "--save", other, write("y.npy", npy("i32", [3, 4], shape=[1, 2]))) == "3 4\n"
    assert printed("merge", saved, other) == "3 4\n"


def test_accumulators_that_do_not_fit_are_named(write, tmp_path):
    accumulators = []
    for i, shape in enumerate(([2, 3], [3, 2])):
        accumulators.append(tmp_path / f"{i}.acc")
        printed("sum", "--axis", "0", "--save", accumulators[-1], write("x.npy", npy("f64", range(6), shape=shape)))
    single = tmp_path / "single.acc"
    printed("sum", "--save", single, write("y.npy", npy("f64", range(6))))
    refused(1, "1.acc: the accumulators have different shapes", "merge", *accumulators)
    refused(1, "single.acc: the accumulators have different shapes: one of them has none", "merge", accumulators[0], single)


def test_an_accumulator_longer_than_a_single_one(write, tmp_path):
    values, saved = range(3000), tmp_path / "x.acc"
    path = write("x.npy", npy("f64", values, shape=[1, 3000]))
    expected_row = printed("sum", "--axis", "0", "--save", saved, path)
    assert saved.stat().st_size > 2**19
    assert printed("merge", saved) == expected_row
    cut = tmp_path / "cut.acc"
    cut.write_bytes(saved.read_bytes()[:-1])
    refused(1, "wrong checksum", "merge", cut)
    refused(1, "not a saved accumulator", "merge", "/dev/zero")
