"""Elements by key in a GPU's memory, by way of tables, ranges and sorted keys, give the CPU's bits."""

import math
import random
import struct
from ctypes import byref

import pytest

import warpfold_ctypes as wf
from cuda_helpers import gpu  # noqa: F401: a fixture
from each_type import but_alike
from gpu_pair import pair  # noqa: F401: pair is a fixture
from group_helpers import Laid, integer_vector, put
from oracle import INTEGERS, TYPES, ops_of
from samples import NAN_POLICIES

library = wf.library


TABLE_COUNT = (1 << 14) + 5  # elements, from which on they are added to tables


TABLE_KINDS = {"tame": {}, "minus zeros": {3: -0.0, 5000: -0.0}, "infinities": {7: math.inf, 9000: -math.inf},
               "a NaN": {11: math.nan, 8000: math.inf}, "too wide": {100: 1e30, 200: -1e-30}}


SQUARE_KINDS = {**TABLE_KINDS, "tiny": {50: 1e-37}, "as wide as can be": {50: 2.0 ** -37, 60: 3 * 2.0 ** -40}}


def table_keys(rng, groups, order):
    keys = [min(int(groups * rng.random() ** 4), groups - 1) for _ in range(TABLE_COUNT)]
    return sorted(keys) if order == "sorted" else keys


@pytest.mark.sampled
@pytest.mark.parametrize("kind", TABLE_KINDS)
@pytest.mark.parametrize("type_name", ("f32", "f64"))
def test_tables_of_floats(pair, type_name, kind):
    rng = random.Random(f"gpu tables {type_name} {kind}")
    if not pair.gpu.is_real and type_name == "f64" and kind != "tame":
        pytest.skip("no GPU: on the simulator fewer types")
    cases = [(1, "sorted"), (7, "random"), (300, "sorted"), (6000, "random"), (TABLE_COUNT, "random")]
    for groups, order in cases if pair.gpu.is_real else rng.sample(cases, 1):
        array = put(Laid(type_name, (TABLE_COUNT,), rng, "plain", plain=True), TABLE_KINDS[kind])
        keys = integer_vector(table_keys(rng, groups, order), "i64")
        for op in ("sum", "mean", "norm1") if pair.gpu.is_real else ("sum",):
            for nan in NAN_POLICIES if pair.gpu.is_real else ("propagate",):
                pair.check(op, library.wf_groups_keys(0, groups, byref(keys)), [array], groups, order, nan=nan)
                plan = library.wf_handle_plan(pair.device.pointer).decode()
                in_shared = plan.startswith("tables in shared memory")
                assert in_shared or plan.startswith("a table in global memory"), plan
                assert groups <= (6000 if pair.gpu.is_real else 300) if in_shared else groups > 300, plan


def tiled(array, count):
    """The same array again and again."""
    array.data = array.data[:array.shape[0] * array.nbytes] * (count // array.shape[0] + 1)
    array.shape = (count,)
    return array


# What a sample of one element in 8 does not see: some are larger than the middle word holds, than all words, or lie below these.
UNSEEN_KINDS = {"tame": {}, "minus zeros": {3: -0.0, 9: -0.0}, "infinities": {7: math.inf, 9001: -math.inf}, "a NaN": {11: math.nan},
                "larger": {17: 1e9, 8003: -3e12}, "too large": {17: 1e30, 8003: -1e38}, "too small": {25: 1e-30, 33: 1e-38},
                "too wide": {17: 1e37, 25: 1e-38}, "near and far": {i: 3e-10 for i in range(0, TABLE_COUNT, 3)},
                "far, and larger": {**{i: 3e-10 for i in range(0, TABLE_COUNT, 3)}, 17: 1e9},
                "in the lowest word": {i: 1e-13 / (i + 1) for i in range(0, TABLE_COUNT, 3)}}
# What it does see: f64, or f32, may lie, or lie for sure, where words that hold the sample end.
UNSEEN_KINDS |= {"seen to be short for f64": {i: 3e-15 for i in range(0, TABLE_COUNT, 8)},
                 "seen to be short for f32": {i: 3e-24 for i in range(0, TABLE_COUNT, 8)},
                 "seen to be too wide": {i: 1e37 if i & 8 else 1e-38 for i in range(0, TABLE_COUNT, 8)}}
UNSEEN_ORDERS = ("random", "sorted", "half one key", "bad keys")


def unseen_keys(rng, groups, order, count):
    values = [rng.randrange(groups) for _ in range(TABLE_COUNT)] * (count // TABLE_COUNT + 1)
    if order == "half one key":
        values = [value if i & 4 else 5 for i, value in enumerate(values)]
    if order == "bad keys":
        values[TABLE_COUNT - 1::TABLE_COUNT] = [groups] * len(values[TABLE_COUNT - 1::TABLE_COUNT])
    return sorted(values[:count]) if order == "sorted" else values[:count]


@pytest.mark.sampled
@pytest.mark.parametrize("kind", UNSEEN_KINDS)
@pytest.mark.parametrize("type_name", ("f32", "f64"))
def test_tables_laid_out_by_a_sample(pair, type_name, kind):
    """More elements than are looked at first, and some that change what these say."""
    rng = random.Random(f"gpu sampled tables {type_name} {kind}")
    count = (4 << 20 if pair.gpu.is_real else 1 << 16) + 13
    array = put(tiled(Laid(type_name, (TABLE_COUNT,), rng, "plain", plain=True), count), UNSEEN_KINDS[kind])
    for order in UNSEEN_ORDERS if pair.gpu.is_real else rng.sample(UNSEEN_ORDERS, 1 + (type_name == "f32")):
        groups = rng.choice((1, 7, 300, 6000))  # of which the last has a table in global memory
        keys = integer_vector(unseen_keys(rng, groups, order, count), "i64")
        simulated = (("sum" if type_name == "f32" else "norm1", "omit"),)
        for op, nan in (("sum", "propagate"), ("mean", "omit"), ("norm1", "error")) if pair.gpu.is_real else simulated:
            pair.check(op, library.wf_groups_keys(0, groups, byref(keys)), [array], groups, order, nan=nan,
                       flags=int(order == "bad keys"))
            assert b", laid out by a sample" in library.wf_handle_plan(pair.device.pointer), op


def cancelling(type_name, rng):
    """Each element is followed by what takes nearly all of it away again; the first ones are as small as can be."""
    code, top, low = {"f32": ("f", 127, -149), "f64": ("d", 1023, -1074)}[type_name]
    values = []
    while len(values) < TABLE_COUNT:
        x = math.ldexp(rng.choice((-1, 1)) * rng.uniform(1, 2), rng.randint(low + 60, top - 1))
        values += [x, -x]
    values[:64] = [math.ldexp(rng.choice((-1, 1)), rng.randint(low, low + 40)) for _ in range(64)]
    array = Laid(type_name, (TABLE_COUNT,), rng, "plain", plain=True)
    array.data = struct.pack(f"={TABLE_COUNT}{code}", *values[:TABLE_COUNT])
    return array


WHOLE_KINDS = ("wild", "special", "cancelling", "near, but for some")
WHOLE_OPS = (("sum", "propagate"), ("mean", "omit"), ("norm1", "error"), ("sum", "omit"), ("mean", "propagate"))


def wide_array(type_name, kind, rng):
    if kind == "cancelling":
        return cancelling(type_name, rng)
    array = Laid(type_name, (TABLE_COUNT,), rng, "plain" if kind.startswith("near") else kind, plain=True)
    return put(array, {10: 1e30, 5000: -3e-38, 5001: 1e-45}) if kind.startswith("near") else array


@pytest.mark.sampled
@pytest.mark.parametrize("kind", WHOLE_KINDS)
@pytest.mark.parametrize("type_name", ("f32", "f64", "bf16"))
def test_words_of_all_exponents(pair, type_name, kind):
    """Elements that no grids hold: a block has words of all keys at once, in copies, or with columns for one that many lanes have, or
    of one range of keys after the other; if these would be too many, keys are sorted.  A pair of keys is that of x and -x."""
    rng = random.Random(f"gpu all exponents {type_name} {kind}")
    if type_name == "bf16" and kind not in ("wild", "special"):
        pytest.skip("values are put into f32 and f64")
    cases = [(1, "random"), (7, "random"), (300, "half one key"), (1000, "sorted"), (1400, "bad keys"), (4000, "random"), (9000, "random")]
    for groups, order in cases if pair.gpu.is_real else rng.sample(cases, 2):
        enough = 33 * groups  # elements: for fewer, words in global memory would be too many
        count = max(TABLE_COUNT, enough) if pair.gpu.is_real or groups <= 1400 else TABLE_COUNT
        values = unseen_keys(rng, groups, order, TABLE_COUNT)
        values = [values[i - i % 2] for i in range(TABLE_COUNT)] if kind == "cancelling" else values
        keys = integer_vector((values * (count // TABLE_COUNT + 1))[:count], "i64")
        array = tiled(wide_array(type_name, kind, rng), count)
        for op, nan in WHOLE_OPS if pair.gpu.is_real else rng.sample(WHOLE_OPS[:2 if type_name == "f32" else 1], 1):
            pair.check(op, library.wf_groups_keys(0, groups, byref(keys)), [array], groups, order, nan=nan,
                       flags=int(order == "bad keys"), fill=rng.choice((None, wf.value_of_bits(wf.WF_U8, 1))))
            plan = library.wf_handle_plan(pair.device.pointer).decode()
            assert count < enough or plan.startswith("a table in global memory") or ", or of all exponents" in plan, plan


def zeros_by_key(keys, is_wide, rng):
    """By key in turn: only -0; some +0 among them; numbers that cancel; NaNs; numbers that do not cancel, of all exponents if wanted."""
    turns, last, values = {}, {}, []
    for key in keys:
        turn = turns[key] = turns.get(key, -1) + 1
        number = rng.uniform(1, 2) * (2.0 ** rng.randint(-120, 120) if is_wide else 1)
        if key % 5 == 2 and turn % 3 == 2:
            number = -last[key]
        last[key] = number
        values.append((-0.0, -0.0 if turn % 4 else 0.0, number if turn % 3 else -0.0, math.nan if turn % 4 == 2 else -0.0,
                       number if turn % 2 else -0.0)[key % 5])
    return values


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ("near", "wide"))
@pytest.mark.parametrize("type_name", ("f32", "f64", "f16"))
def test_zeros_by_key(pair, type_name, kind):
    """Sums of nothing but -0, which are -0; others that are 0, and +0; keys without elements, or with nothing but NaNs that are left out:
    in shared and in global memory, directly, in buckets and in words of all exponents."""
    if type_name == "f16" and kind == "wide":
        pytest.skip("words that hold normal f16 hold all")
    rng = random.Random(f"gpu zeros by key {type_name} {kind}")
    cases = [(7, TABLE_COUNT), (300, TABLE_COUNT), (1400, TABLE_COUNT), (6000, 1 << 17)]
    cases += [(20_000, 4 << 20), (40_000, 4 << 20)] if pair.gpu.is_real else []
    for groups, count in cases if pair.gpu.is_real else rng.sample(cases, 2):
        drawn = [rng.randrange(groups) for _ in range(TABLE_COUNT)]
        array = Laid(type_name, (TABLE_COUNT,), rng, "plain", plain=True)
        array.data = struct.pack(f"={TABLE_COUNT}{'efd'[array.nbytes.bit_length() - 2]}", *zeros_by_key(drawn, kind == "wide", rng))
        array, values = tiled(array, count), (drawn * (count // TABLE_COUNT + 1))[:count]
        values[count // 2] = groups
        keys = integer_vector(values, "i32")
        for op, nan in (("sum", "propagate"), ("sum", "omit"), ("mean", "omit"), ("norm1", "omit"))[:4 if pair.gpu.is_real else 2]:
            pair.check(op, library.wf_groups_keys(0, groups, byref(keys)), [array], groups, nan=nan, flags=1,
                       fill=wf.value_of_bits(wf.WF_U8, 1))
            assert b"table" in library.wf_handle_plan(pair.device.pointer)


SCATTERED_KINDS = ("plain", "special", "wild", "wide", "near")


def scattered_keys(rng, groups, count):
    """Neighbours seldom have near keys, but in the last sixteenth: in an eighth the way for scattered ones is not taken.  Some are
    frequent, some share the place where a block keeps their words, some are of no group."""
    chosen = [5, 5 + 512, 5 + 2048, groups - 1]
    keys = [rng.choice(chosen) if i % 3 == 1 else rng.randrange(groups) for i in range(count)]
    keys[-(count // 16):] = sorted(keys[-(count // 16):])
    keys[count // 2] = groups
    return keys


@pytest.mark.parametrize("op", ("sum", "norm1", "mean"))
@pytest.mark.parametrize("type_name", ("f16", "f32", "f64"))
def test_scattered_keys(pair, type_name, op):
    """Elements are brought to buckets, though the cache holds all words, and added there to two words, or to all."""
    if not pair.gpu.is_real and op != "sum":
        pytest.skip("no GPU: on the simulator one op")
    rng = random.Random(f"gpu scattered {type_name} {op}")
    groups, count = (40_000, 16 << 20) if pair.gpu.is_real else (6000, 1 << 18)
    values = scattered_keys(rng, groups, TABLE_COUNT) * (count // TABLE_COUNT + 1)
    keys = integer_vector(values[:count], "i32")
    kinds = SCATTERED_KINDS[:3] if type_name == "f16" else SCATTERED_KINDS
    for kind in kinds if pair.gpu.is_real else kinds[2:] if type_name == "f32" else kinds[2:4][-1:]:
        array = Laid(type_name, (TABLE_COUNT,), rng, kind if kind in ("special", "wild") else "plain", plain=True)
        if kind == "near":  # the middle word is needed, or the lowest one, too
            array = put(array, {i: rng.choice((-1, 1)) * rng.uniform(1, 2) * 2.0 ** rng.randrange(-20, 2) for i in range(TABLE_COUNT)})
        array = tiled(array, count)
        if kind == "wide":  # three words are needed, or two, or one
            array = put(array, {i: rng.gauss(0, 1) * 2.0 ** rng.randrange(-30, 20) for i in range(0, count, 2)})
        for flags in (0, 1) if pair.gpu.is_real else (1,):
            pair.check(op, library.wf_groups_keys(0, groups, byref(keys)), [array], kind, flags=flags)
            assert b"buckets of" in library.wf_handle_plan(pair.device.pointer)


@pytest.mark.parametrize("op, type_name", (("var", "f32"), ("mean", "f32"), ("norm2", "f64"), ("var", "i16"), ("mean", "bf16")))
def test_several_words_of_an_element(pair, op, type_name):
    """They take more operations in global memory than an element that is brought to a bucket, though the cache holds all words."""
    if not pair.gpu.is_real and (op, type_name) not in (("var", "f32"), ("mean", "bf16")):
        pytest.skip("no GPU: on the simulator fewer kernels")
    rng = random.Random(f"gpu several words {type_name} {op}")
    groups, count = (40_000, 16 << 20) if pair.gpu.is_real else (9000, 1 << 18)
    values = scattered_keys(rng, groups, TABLE_COUNT) * (count // TABLE_COUNT + 1)
    for order in ("random", "sorted") if pair.gpu.is_real else ("random",):
        keys = integer_vector(sorted(values[:count]) if order == "sorted" else values[:count], "i32")
        array = tiled(Laid(type_name, (TABLE_COUNT,), rng, "plain", plain=True), count)
        pair.check(op, library.wf_groups_keys(0, groups, byref(keys)), [array], order, flags=1, fill=wf.value_of_bits(wf.WF_U8, 1))
        assert b" buckets of " in library.wf_handle_plan(pair.device.pointer), order


@pytest.mark.sampled
@pytest.mark.parametrize("kind", [*SQUARE_KINDS, "wild"])
@pytest.mark.parametrize("type_name", ("f32", "f64", "bf16", "f16"))
def test_tables_of_squares(pair, type_name, kind):
    """Variances and norms: groups without values, of fewer than ddof, of NaNs alone; exponents beyond what grids hold."""
    rng = random.Random(f"gpu squares {type_name} {kind}")
    if type_name not in ("f32", "f64") and kind not in ("tame", "wild"):
        pytest.skip("special values are put into f32 and f64")
    if not pair.gpu.is_real and type_name == "bf16":
        pytest.skip("no GPU: on the simulator fewer types")
    array = Laid(type_name, (TABLE_COUNT,), rng, "wild" if kind == "wild" else "plain", plain=True)
    array = put(array, SQUARE_KINDS.get(kind, {})) if type_name in ("f32", "f64") else array
    cases = [(1, "sorted"), (7, "random"), (300, "sorted"), (6000, "random"), (TABLE_COUNT, "random")]
    for groups, order in cases if pair.gpu.is_real else rng.sample(cases, 2):
        keys = integer_vector(table_keys(rng, groups, order), "i64")
        for op in ("var", "std", "norm2") if pair.gpu.is_real else ("var", "norm2") if type_name == "f32" else ("std",):
            for nan in NAN_POLICIES if pair.gpu.is_real else ("propagate", "omit"):
                pair.check(op, library.wf_groups_keys(0, groups, byref(keys)), [array], groups, order, nan=nan,
                           ddof=rng.randrange(3) if op != "norm2" else 0, fill=rng.choice((None, wf.value_of_bits(wf.WF_U8, 1))))
                plan = library.wf_handle_plan(pair.device.pointer).decode()
                assert plan.startswith(("tables in shared memory", "a table in global memory")) and "; else" in plan, plan


# Ops whose tables are of integers, or of squares of these; on the simulator some.
TABLE_OPS = ("sum", "mean", "norm1", "var", "norm2", "nonzero", "any", "all")
SIMULATED_TABLES = {"i16": ("sum", "any"), "u32": ("var",), "i32": ("mean",), "i64": ("norm2", "sum"), "u64": ("std",),
                    "f32": ("nonzero",), "f16": ("all",), "bool": ("mean",)}


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", but_alike(TYPES, ("bool", "i16", "u64")))  # others have their sizes and parts
def test_tables_of_all_types(pair, type_name):
    """Values and keys that lie apart; bad keys, which are skipped or told; the largest magnitudes, whose squares are longest."""
    rng = random.Random(f"gpu tables {type_name}")
    if not pair.gpu.is_real and type_name not in SIMULATED_TABLES:
        pytest.skip("no GPU: on the simulator fewer types")
    ops = [op for op in (TABLE_OPS if pair.gpu.is_real else SIMULATED_TABLES[type_name]) if op in ops_of(type_name)]
    for key_type in ("i8", "u16", "i32", "u64") if pair.gpu.is_real else ("u16",):
        kind = rng.choice(("ends", "plain") if type_name in INTEGERS else ("special", "plain"))
        array = Laid(type_name, (TABLE_COUNT,), rng, kind if kind == "special" else "plain", plain=kind != "plain")
        array = put_kind(array, kind, rng)
        values = [rng.randrange(100) for _ in range(TABLE_COUNT)]
        values[rng.randrange(TABLE_COUNT)] = 120
        labels = pair.labels_there(values, key_type, rng.choice([1, 3]))
        here = integer_vector(values, key_type)
        for op in ops:
            for flags, nan in ((0, "propagate"), (1, rng.choice(NAN_POLICIES))):
                pair.check(op, library.wf_groups_keys(0, 101, byref(here)), [array], key_type, kind, flags=flags, nan=nan,
                           groups_there=library.wf_groups_keys(0, 101, byref(labels)),
                           fill=wf.value_of_bits(wf.WF_U8, 1))
                assert b"table" in library.wf_handle_plan(pair.device.pointer), op


EXTREME_KINDS = ("ties", "rising", "falling", "ends", "special", "wild")


def put_kind(array, kind, rng):
    """Elements of a vector: a few values again and again, each larger or less than those before it, or the type's ends."""
    count, bits, width = array.shape[0], {"bool": 1}.get(array.type, 8 * array.nbytes), array.nbytes
    chosen = [rng.getrandbits(bits) for _ in range(3)]
    numbers = {"ties": lambda i: rng.choice(chosen), "rising": lambda i: i % (1 << bits),
               "falling": lambda i: (count - i) % (1 << bits),
               "ends": lambda i: rng.choice((0, (1 << bits) - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1))}
    if kind in numbers:
        array.data = b"".join(numbers[kind](i).to_bytes(width, "little") for i in range(count))
    return array


def check_extremes(pair, type_name, groups, order, kind, ops, policies, rng):
    places = {"tables in shared memory, 1 copy each": groups <= TABLE_COUNT, "a table in global memory": groups > 300}
    drawn = kind if kind in ("special", "wild") else "plain"
    array = put_kind(Laid(type_name, (TABLE_COUNT,), rng, drawn, plain=True), kind, rng)
    keys = integer_vector(table_keys(rng, groups, order), "i32")
    for op in ops:
        for nan in policies:
            is_sure = type_name in INTEGERS or nan != "error"
            for fill in (None, wf.value_of_bits(wf.WF_U8, 1)):
                pair.check(op, library.wf_groups_keys(0, groups, byref(keys)), [array], groups, order, kind, nan=nan,
                           first_index=rng.choice((0, 5)), fill=fill)
                plan = library.wf_handle_plan(pair.device.pointer).decode()
                there = next(place for place in places if plan.startswith(place))
                assert places[there] and ("; else groups by" in plan) != is_sure, plan


@pytest.mark.sampled
@pytest.mark.parametrize("kind", EXTREME_KINDS)
@pytest.mark.parametrize("type_name", TYPES)
def test_extremes_by_key(pair, type_name, kind):
    """Groups of which a block has a table, and of which it does not; indices beside short orders, and found afterwards."""
    rng = random.Random(f"gpu extremes by key {type_name} {kind}")
    cases = [(1, "random"), (7, "random"), (300, "sorted"), (6000, "random"), (TABLE_COUNT, "random"), (TABLE_COUNT, "sorted")]
    if pair.gpu.is_real:
        for groups, order in cases:
            check_extremes(pair, type_name, groups, order, kind, ("min", "max", "argmin", "argmax"), NAN_POLICIES, rng)
        return
    simulated = {"f32": "argmax", "f64": "argmin", "u32": "max", "i64": "argmax", "i8": "min"}
    if type_name not in simulated:
        pytest.skip("no GPU: on the simulator fewer types")
    for groups, order in rng.sample(cases, 2):
        check_extremes(pair, type_name, groups, order, kind, (simulated[type_name],), ("propagate", "omit"), rng)


@pytest.mark.parametrize("op", ("mean", "var"))
def test_groups_of_nothing_but_nans_by_key(pair, op):
    """They have elements, so that a fill is for others, unless NaNs are omitted."""
    rng = random.Random("gpu nothing but NaNs")
    array = Laid("f32", (TABLE_COUNT,), rng, "plain", plain=True)
    keys = integer_vector([i % 5 for i in range(TABLE_COUNT)], "i32")
    array = put(array, {i: math.nan for i in range(2, TABLE_COUNT, 5)})
    for nan in ("propagate", "omit"):
        pair.check(op, library.wf_groups_keys(0, 7, byref(keys)), [array], nan=nan, fill=wf.value_of_bits(wf.WF_U8, 1))


def test_extremes_with_bad_keys(pair):
    rng = random.Random("gpu extremes of bad keys")
    array = Laid("f32", (TABLE_COUNT,), rng, "special", plain=True)
    values = [rng.randrange(100) for _ in range(TABLE_COUNT)]
    values[9000] = -3
    keys = integer_vector(values, "i16")
    for nan in ("propagate", "error"):
        for flags in (0, 1):
            pair.check("max", library.wf_groups_keys(0, 100, byref(keys)), [array], nan, flags=flags, nan=nan)


def sampled_positions(count, buckets):
    """Where the GPU looks at keys to find how much room buckets need: sampled_position in kernels/table_buckets.cuh."""
    every = count // (512 * buckets)
    return [i * every + ((i * 2654435761 & 0xffffffff) * every >> 32) for i in range(count // every)]


def test_buckets_without_room(pair):
    """A sample that tells nothing of most buckets: what was brought to them does not count, and tables take everything."""
    rng = random.Random("gpu rooms")
    groups, count, log2 = (40_000, 16 << 20, 13) if pair.gpu.is_real else (6000, 1 << 18, 11)
    values = [rng.randrange(groups) for _ in range(TABLE_COUNT)] * (count // TABLE_COUNT + 1)
    for position in sampled_positions(count, (groups - 1 >> log2) + 1):
        values[position] %= 1 << log2
    keys = integer_vector(values[:count], "i32")
    array = tiled(Laid("f32", (TABLE_COUNT,), rng, "plain", plain=True), count)
    pair.check("sum", library.wf_groups_keys(0, groups, byref(keys)), [array])
    assert f" {(groups - 1 >> log2) + 1} buckets of {1 << log2} keys" in library.wf_handle_plan(pair.device.pointer).decode()


def test_minus_zeros_that_no_sample_sees(pair):
    """The only element of its group, in a table in global memory."""
    rng = random.Random("gpu minus zeros")
    groups, count = (1 << 20, 4 << 20) if pair.gpu.is_real else (20_000, 1 << 16)
    keys = sorted([rng.randrange(groups) for _ in range(count - 1)] + [groups])
    alone = next(i for i in range(1, count) if i % 8 == 3 and keys[i - 1] < keys[i] < keys[i + 1])
    array = put(tiled(Laid("f32", (TABLE_COUNT,), rng, "plain", plain=True), count), {alone: -0.0})
    labels = integer_vector(keys, "i32")
    pair.check("sum", library.wf_groups_keys(0, groups + 1, byref(labels)), [array])
    assert b"a table in global memory, laid out by a sample" in library.wf_handle_plan(pair.device.pointer)
