"""Elements by more keys than a GPU's L2 cache has words for, in any order, sorted, and mostly sorted, give the CPU's bits."""

import itertools
import math
import random
from ctypes import byref

import pytest

import warpfold_ctypes as wf
from cuda_helpers import gpu  # noqa: F401: a fixture
from gpu_pair import small_cache_pair as pair  # noqa: F401: a fixture
from group_helpers import Laid, integer_vector, put

library = wf.library


def ranged_keys(rng, groups, order):
    """Some more than groups: half of a bucket's range has none, and one key has many."""
    values = [rng.randrange(groups) if rng.random() < 0.9 else 3 for _ in range(groups + 1)]
    if order != "few buckets":
        values = [value if value >> 12 & 7 != 2 else value | 1 << 11 for value in values]
    if order == "random":
        return values
    if order == "few buckets":
        few, last = max(groups >> 7, 1 << 13), (groups >> 12) - 1
        return [value if value >> 12 == last else value % few for value in values]
    if order == "gap":
        values = [value if value < 1000 or value >= groups - 1000 else 7 for value in values]
    values.sort()
    if order == "one far":
        values[5] = groups
    if order == "one falls":
        values[groups // 2 + 1] = values[groups // 2] - 1
    return values


def groups_beyond_cache(pair):
    return 5 << 20 if pair.gpu.is_real else 17_500


@pytest.mark.slow
@pytest.mark.parametrize("order", ("random", "few buckets", "sorted", "one far", "one falls", "gap"))
def test_ranges_of_keys(pair, order):
    """Sums of keys in any order go by buckets, extremes take several passes; sorted
    keys neither, and are segments where they are so to the last, and no gap is too wide.  Scratch memory is left as the call before left it."""
    rng = random.Random(f"gpu ranges {order}")
    groups = groups_beyond_cache(pair)
    keys = integer_vector(ranged_keys(rng, groups, order), "u32")
    array = put(Laid("f32", (groups + 1,), rng, "plain", plain=True), {9: -0.0, 77: math.inf})
    ops = {"random": ("mean",) * pair.gpu.is_real + ("sum", "argmax"), "few buckets": ("norm2", "sum")}.get(order, ("sum", "argmax"))
    for op in ops:
        pair.check(op, library.wf_groups_keys(0, groups, byref(keys)), [array], order, flags=int(order == "one far"),
                   fill=wf.value_of_bits(wf.WF_U8, 1))
        plan = library.wf_handle_plan(pair.device.pointer).decode()
        way = " 2 ranges of keys" if op == "argmax" else " buckets of "
        assert plan.startswith("a table in global memory") and way in plan and "or as segments if keys are sorted" in plan, plan


RUN_OPS = {"f32": ("sum", "mean", "argmin", "var", "norm2"), "f64": ("sum", "mean"), "bf16": ("norm1",), "i32": ("sum", "mean"), "i64": ("max",)}
RUNS_SIMULATED = (("f64", "wide"), ("f64", "specials"), ("bf16", "tiles"), ("i32", "short"), ("i64", "long"))
RUN_KINDS = ("short", "tiles", "long", "specials", "wide")


def runs_of_keys(rng, groups, kind):
    """Sorted keys: of no element in some groups, of a few in most, and, if any is long, of more than a tile has behind it."""
    lengths = [rng.choice((0, 1, 1, 2, 2, 3, 3, 4, 5)) for _ in range(groups)]
    if kind in ("tiles", "strays"):  # among which ends of more than 30 elements behind a tile cannot be known
        lengths[::50] = [rng.choice((9, 17, 31, 32) if kind == "tiles" else (9, 17, 27)) for _ in lengths[::50]]
    if kind == "long":
        lengths[::groups // 7] = [rng.choice((33, 256, 300, 2000)) for _ in lengths[::groups // 7]]
    return [key for key, length in enumerate(lengths) for _ in range(length)]


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("kind", RUN_KINDS)
@pytest.mark.parametrize("type_name", RUN_OPS)
def test_runs_of_sorted_keys(pair, type_name, kind):
    """Results that are made of runs of equal keys in one pass, or of which some are left for another."""
    if not pair.gpu.is_real and type_name != "f32" and (type_name, kind) not in RUNS_SIMULATED:
        pytest.skip("no GPU: on the simulator fewer kinds of each type")
    rng = random.Random(f"gpu runs {type_name} {kind}")
    groups = groups_beyond_cache(pair)
    keys = runs_of_keys(rng, groups, kind)
    labels = integer_vector(keys, "u32")
    array = Laid(type_name, (len(keys),), rng, "wild" if kind == "wide" else "plain", plain=kind != "tiles")
    if kind == "specials" and type_name in ("f32", "f64"):
        special = (math.nan, math.inf, -math.inf, -0.0, 0.0)
        array = put(array, {i: rng.choice(special) for i in rng.sample(range(len(keys)), len(keys) // 9)})
    sampled = rng.sample(RUN_OPS[type_name], 1) if type_name == "f32" else RUN_OPS[type_name][:1]
    ops = RUN_OPS[type_name] if pair.gpu.is_real else sampled
    for op, nan in itertools.product(ops, ("propagate", "omit") if kind == "specials" else ("propagate",)):
        for fill in (None, wf.value_of_bits(wf.WF_U8, 1)) if pair.gpu.is_real else (None,):
            pair.check(op, library.wf_groups_keys(0, groups, byref(labels)), [array], kind, nan=nan, fill=fill)
        assert b"short ones in the same pass" in library.wf_handle_plan(pair.device.pointer)


RUN_TILE = 256  # WF_TABLE_RUN_TILE
STRAY_KINDS = ("few", "in runs", "many", "of one key", "falling", "blocks", "bad", "long", "end")
# Kernels that other tests have compiled.
STRAYS_SIMULATED = {("bf16", "few"): ("norm1",), ("f64", "in runs"): ("sum",), ("f64", "blocks"): ("sum",),
                    **{("f32", kind): ("sum",) for kind in ("few", "in runs", "of one key", "falling", "end")}}


def mostly_sorted_keys(rng, groups, kind, every):
    """Runs of a few equal keys, in which others lie, one of so many: single ones, pairs, and such as make strays of their
    neighbours, too."""
    keys = runs_of_keys(rng, groups, "long" if kind == "long" else "strays")
    anywhere = range(2, len(keys) - 2)
    for i in rng.sample(anywhere, len(keys) // (6 if kind == "many" else every)):
        keys[i] = 7 if kind == "of one key" else rng.randrange(groups)
    for i in rng.sample(anywhere, len(keys) // (6 * every) if kind == "in runs" else 0):
        keys[i - 2:i + 3] = rng.choice(("aXaaa", "aaXaa", "aXaXa", "aXXaa", "XaXaX", "aXaYa"))
        names = {"a": keys[i - 3], "X": rng.randrange(groups), "Y": rng.randrange(groups)}
        keys[i - 2:i + 3] = [names.get(key, key) for key in keys[i - 2:i + 3]]
    if kind == "end":  # of a run that none but a stray seems to end, with the last that is known behind its tile
        keys[6 * RUN_TILE - 1:6 * RUN_TILE + 40] = [keys[6 * RUN_TILE]] * 41
        keys[6 * RUN_TILE + 30] = groups - 1
    if kind == "falling":
        keys.reverse()
    if kind == "blocks":
        keys = keys[len(keys) // 2 + 77:] + keys[:len(keys) // 2 + 77]
    if kind == "bad":
        keys[len(keys) // 3] = groups
    return [key if isinstance(key, int) else 5 for key in keys]


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("kind", STRAY_KINDS)
@pytest.mark.parametrize("type_name", ("f32", "f64", "bf16"))
def test_mostly_sorted_keys(pair, type_name, kind):
    """Few keys out of place; or too many, or too many of one key, or a run that is too long, so that tables take them all."""
    if not pair.gpu.is_real and (type_name, kind) not in STRAYS_SIMULATED:
        pytest.skip("no GPU: on the simulator fewer kinds of each type")
    rng = random.Random(f"gpu strays {type_name} {kind}")
    groups = groups_beyond_cache(pair)
    keys = mostly_sorted_keys(rng, groups, kind, 120 if type_name == "f64" else 1200)  # fewer than are_strays_few() wants
    labels = integer_vector(keys, "u32")
    kinds = ("plain", "propagate"), ("special", "propagate"), ("special", "omit"), ("wild", "propagate")
    for values, nan in kinds if pair.gpu.is_real else (kinds[0], rng.choice(kinds[1:])):
        array = Laid(type_name, (len(keys),), rng, "wild" if values == "wild" else "plain", plain=values != "plain")
        if values == "special" and type_name != "bf16":
            special = (math.nan, math.inf, -0.0, -0.0, 0.0)
            array = put(array, {i: rng.choice(special) for i in rng.sample(range(len(keys)), len(keys) // 5)})
        for op in ("sum", "norm1") if pair.gpu.is_real else STRAYS_SIMULATED[type_name, kind]:
            pair.check(op, library.wf_groups_keys(0, groups, byref(labels)), [array], kind, values, nan=nan, flags=int(kind == "bad"))
        assert b"short ones in the same pass" in library.wf_handle_plan(pair.device.pointer)


@pytest.mark.slow
@pytest.mark.parametrize("type_name", ("f64", "i64", "bf16"))
def test_buckets_of_other_types(pair, type_name):
    """Records of 16 bytes, of few bits; values and keys that lie apart, and bad keys among them."""
    rng = random.Random(f"gpu buckets {type_name}")
    groups = groups_beyond_cache(pair)
    values = ranged_keys(rng, groups, "random")
    values[1000] = groups + 5
    here, there = integer_vector(values, "i32"), pair.labels_there(values, "i32", 2)
    array = Laid(type_name, (groups + 1,), rng, "plain", plain=False)
    for flags in (0, 1):
        pair.check("sum", library.wf_groups_keys(0, groups, byref(here)), [array], flags=flags,
                   groups_there=library.wf_groups_keys(0, groups, byref(there)))
        assert b" buckets of " in library.wf_handle_plan(pair.device.pointer)
