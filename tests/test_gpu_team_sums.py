"""Rows and columns of floats in a GPU's memory, added up in registers by a team of lanes or by all warps, give the CPU's bits."""

import random

import pytest

import warpfold_ctypes as wf
from cuda_helpers import gpu  # noqa: F401: a fixture
from each_type import one_of
from gpu_group_helpers import SAMPLED_KINDS, instructions_of, make_row_data, repeated, row_kinds, tall_shapes
from gpu_pair import pair  # noqa: F401: a fixture
from group_helpers import Laid
from samples import NAN_POLICIES

library = wf.library


BY_TEAMS = {"f32": ("var", "sum", "norm2"), "bf16": ("mean", "std", "min"), "f16": ("sum", "var", "max"), "f64": ("mean", "var", "norm2")}


def by_teams(type_name, is_real, turn):
    extremes = ("min", "max") if type_name in ("f16", "bf16") else ()
    return ("sum", "norm1", "mean", "var", "std", "norm2", *extremes) if is_real else one_of(BY_TEAMS[type_name], turn)


def check_teams(pair, array, shape, axes, kind, rng, plan, turn):
    """plan: how the words that say so begin; None: whichever."""
    elements = shape[-1] if axes == 1 << (len(shape) - 1) else shape[0]
    for op in by_teams(array.type, pair.gpu.is_real, turn):
        for nan in NAN_POLICIES if kind == "special" else ("propagate",):
            pair.check(op, library.wf_groups_axes(axes), [array], shape, axes, kind, nan=nan,
                       ddof=rng.choice((0, 1, elements)) if op in ("var", "std") else 0)
        if plan:
            assert library.wf_handle_plan(pair.device.pointer).startswith(plan), (op, shape)


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", BY_TEAMS)
def test_rows_of_floats(pair, type_name):
    """A team has a row, by a few f64 and a bound of their error; rows begin at any multiple of their elements' size."""
    rng = random.Random(f"gpu rows {type_name}")
    for kind in row_kinds(type_name, pair.gpu.is_real):
        for shape in ((40, 67), (9, 128), (5, 301), (3, 2050), (2, 9001)) if pair.gpu.is_real else ((5, 301),):
            array = Laid(type_name, shape, rng, kind if kind in SAMPLED_KINDS else "plain", plain=True)
            make_row_data(array, kind, rng)
            is_tried = shape[0] > 4 and array.nbytes * shape[1] >= 128
            check_teams(pair, array, shape, 2, kind, rng, b"rows in registers" if is_tried else None, 0)


def check_columns(pair, type_name, shapes, plan_of, turn):
    """Few elements, again and again, as matrices; plan_of: what a plan for rows of so many bytes must have in it, or None."""
    rng = random.Random(f"gpu columns {type_name} {shapes}")
    for kind in row_kinds(type_name, pair.gpu.is_real):
        for shape in shapes:
            array = Laid(type_name, (1, 1999), rng, kind if kind in SAMPLED_KINDS else "plain", plain=True)
            make_row_data(array, kind, rng)
            check_teams(pair, repeated(array, shape), shape, 1, kind, rng, plan_of(shape[1] * array.nbytes), turn)


def column_shapes(type_name, is_real):
    """Of f64 columns of more than 1024 elements, which take the simulator long."""
    if type_name == "f64":
        return ((1025, 9_001), (1030, 9_000)) if is_real else ((1025, 101),)
    if not is_real:
        return (9, 385), (37, 518)
    return (9, 400_001), (70, 50_002), (1030, 40_000 if type_name == "f16" else 9_000)


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", BY_TEAMS)
def test_columns_of_floats(pair, type_name):
    """A team has the columns of 8 bytes, at any multiple of their elements' size; few columns are shared by several lanes."""
    shapes = column_shapes(type_name, pair.gpu.is_real)
    check_columns(pair, type_name, shapes, lambda nbytes: None if nbytes % 4 else b"columns in registers", 1)


@pytest.mark.parametrize("type_name, op", (("f64", "sum"), ("f64", "max"), ("f32", "argmin")))
def test_few_columns(pair, type_name, op):
    """Several warps share columns that are fewer than lanes would have, also where these are faster with one each."""
    shape, kind = (100, 3_001) if pair.gpu.is_real else (70, 102), "special"
    array = Laid(type_name, shape, random.Random(f"gpu few columns {op}"), kind, plain=True)
    for nan in NAN_POLICIES:
        pair.check(op, library.wf_groups_axes(1), [array], shape, 1, kind, nan=nan)
        assert library.wf_handle_plan(pair.device.pointer).startswith(b"columns in registers"), (op, shape)


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", BY_TEAMS)
def test_tall_columns(pair, type_name):
    """All warps share a few columns, in registers first; what is left open is added up as longer groups are."""
    check_columns(pair, type_name, tall_shapes(type_name, pair.gpu.is_real), lambda nbytes: b"tall columns in registers", 2)


def long_row_shapes(type_name, is_real):
    """Rows that begin at vectors and that do not, in several shares of which the last is short."""
    if is_real:
        return (2, 700_001), (16, 100_000), (300, 20_011)
    return ((2, 33_003),) if type_name in ("f32", "f64") else ()


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", BY_TEAMS)
def test_long_rows(pair, type_name):
    """All warps share a few rows, in registers first; what is left open is added up as longer groups are."""
    rng, shapes = random.Random(f"gpu long rows {type_name}"), long_row_shapes(type_name, pair.gpu.is_real)
    if not shapes:
        pytest.skip("no GPU: on the simulator fewer types")
    for kind in row_kinds(type_name, pair.gpu.is_real):
        for shape in shapes:
            array = Laid(type_name, (1, 1999), rng, kind if kind in SAMPLED_KINDS else "plain", plain=True)
            make_row_data(array, kind, rng)
            check_teams(pair, repeated(array, shape), shape, 2, kind, rng, b"rows in registers", 1)


def test_which_long_rows_are_shared(pair):
    """One round of warps takes whole rows, unless their sums may be left open; fewer rows are shared in full rounds."""
    if pair.gpu.is_real:
        pytest.skip("a GPU has as many warps as it has")
    rng, whole = random.Random("gpu shared rows"), b"rows in registers; else"
    for rows, elements, op, plan in ((64, 24_576, "sum", b"rows in registers, each in 2 shares"), (64, 16_384, "sum", whole),
                                     (64, 24_576, "norm2", whole), (30, 16_384, "sum", b"rows in registers, each in 4 shares")):
        array = repeated(Laid("f32", (1, 1999), rng, "plain", plain=True), (rows, elements))
        pair.check(op, library.wf_groups_axes(2), [array], array.shape)
        assert library.wf_handle_plan(pair.device.pointer).startswith(plan), (rows, library.wf_handle_plan(pair.device.pointer))


@pytest.mark.parametrize("shape, axes", (((8, 301), 2), ((1025, 101), 1), ((100, 101), 1)))
@pytest.mark.parametrize("op", BY_TEAMS["f64"])
def test_no_data_of_f64_takes_a_detour(pair, op, shape, axes, tmp_path, monkeypatch):
    """Sums beyond the range in which they have bounds, and those without NaNs that are left out, are found in registers, too."""
    if pair.gpu.is_real:
        pytest.skip("a GPU does not count instructions")
    rng, counted = random.Random(f"gpu detours {op}"), tmp_path / "counted"
    monkeypatch.setenv("FAKE_CUDA_COUNT", str(counted))
    plain = instructions_of(pair, op, axes, Laid("f64", shape, rng, "plain", plain=True), {}, counted)
    for kind, nan in (("wild", "propagate"), ("huge", "propagate"), ("special", "omit")):
        array = Laid("f64", shape, rng, kind if kind in SAMPLED_KINDS else "plain", plain=True)
        make_row_data(array, kind, rng)
        assert instructions_of(pair, op, axes, array, {"nan": nan}, counted) < 5 * plain, (kind, nan)
