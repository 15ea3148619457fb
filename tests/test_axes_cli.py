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
    (2, "--axis does not go with --save", ["sum", "--axis", "0", "--save", "/nowhere/x"]),
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
