"""Rows of a GPU's that are whole vectors of 16 bytes: of up to 8 elements, of which lanes have several at a time, and the same rows that
begin inside of vectors or have an element more; and somewhat longer ones, of which a lane has one, or a team.  The bits are the CPU's."""

import random

import pytest

import warpfold_ctypes as wf
from cuda_helpers import gpu  # noqa: F401: a fixture
from gpu_pair import pair  # noqa: F401: a fixture
from group_helpers import Laid
from samples import NAN_POLICIES, sample

library = wf.library

OPS = {"f32": ("sum", "argmax"), "f64": ("mean", "var"), "i32": ("min",)}


class Rows(Laid):
    """A matrix that begins so many elements behind a vector's begin."""

    def __init__(self, type_name, shape, begin, rng, kind):
        super().__init__(type_name, shape, rng, kind, plain=True)
        self.offset = begin * self.nbytes
        self.data = sample(type_name, shape[0] * shape[1] + begin, kind, seed=rng.random())


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ("plain", "wild", "special"))
@pytest.mark.parametrize("type_name", OPS)
def test_rows_of_whole_vectors(pair, type_name, kind):
    rng = random.Random(f"gpu rows of vectors {type_name} {kind}")
    for length in (2, 4, 8):
        for count, begin, more in ((1, 0, 0), (1000, 0, 0), (700, 1, 0), (300, 0, 1)):
            array = Rows(type_name, (count, min(length + more, 8)), begin, rng, kind)
            for op in ("sum", "mean", "var", "norm1", "max", "argmin") if pair.gpu.is_real else OPS[type_name]:
                pair.check(op, library.wf_groups_axes(2), [array], array.shape, begin, kind, nan=rng.choice(NAN_POLICIES),
                           ddof=rng.choice((0, 1)) if op == "var" else 0, first_index=rng.choice((0, 7)))


# Bytes of a row, and how the plan's words begin.
IN_A_LANE, BY_TEAMS = b"one group of a lane in registers", b"rows in registers"
LONGER = (("f32", "sum", 112, IN_A_LANE), ("f32", "mean", 128, IN_A_LANE), ("f32", "sum", 144, BY_TEAMS), ("i8", "sum", 48, IN_A_LANE),
          ("i8", "mean", 50, BY_TEAMS), ("i8", "sum", 96, BY_TEAMS), ("u16", "sum", 60, IN_A_LANE), ("i16", "sum", 64, BY_TEAMS),
          ("f16", "max", 96, IN_A_LANE), ("f16", "min", 100, BY_TEAMS), ("f16", "argmax", 100, IN_A_LANE))


@pytest.mark.sampled
@pytest.mark.parametrize("type_name, op, row_nbytes, way", LONGER)
def test_rows_of_some_vectors(pair, type_name, op, row_nbytes, way):
    rng, nbytes = random.Random(f"gpu rows {type_name} {op} {row_nbytes}"), library.wf_type_nbytes(wf.TYPE_BY_NAME[type_name])
    for again, kind in ((64 if pair.gpu.is_real else 1, "plain"), (1, "special")):
        array = Laid(type_name, (4203, row_nbytes // nbytes), rng, kind, plain=True)
        array.data, array.shape = array.data[:4203 * row_nbytes] * again, (4203 * again, array.shape[1])
        pair.check(op, library.wf_groups_axes(2), [array], array.shape, kind, nan=rng.choice(NAN_POLICIES))
        assert again == 1 and pair.gpu.is_real or library.wf_handle_plan(pair.device.pointer).startswith(way), array.shape
