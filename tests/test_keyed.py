"""Reductions by key through tables (src/cpu/keyed.c): every result is what the group's elements give by themselves,
whether the tables take them, set some aside, or leave the keys to be sorted."""

import ctypes
import itertools
import math
import random
from array import array
from ctypes import byref
from fractions import Fraction

import pytest

import warpfold_ctypes as wf
from group_helpers import handle, integer_vector, vector_of  # noqa: F401: handle is a fixture
from oracle import FLOATS, INTEGERS, Oracle, PairOracle, default_type
from samples import nearest, nearest_to_double, pack, sample, split

TYPES = [*INTEGERS, *FLOATS]
OPS = ["sum", "mean", "norm1", "min", "max", "argmin", "argmax", "var", "std", "norm2"]
COUNTS = ["any", "all", "nonzero"]
BLOCK, CHUNK = 512, 1 << 14 # src/cpu/block.h: WF_UNITS_MAX; src/cpu/keyed_job.h


def elements_of(kind, type_name, count, seed):
    """plain; -0 among others, and alone; a few that no grid of the others holds, in the middle; wide in the second half."""
    made = split(type_name, sample(type_name, count, "plain", seed))
    rng = random.Random(f"{kind} {seed}")
    if kind == "wide":
        made[count // 2:] = split(type_name, sample(type_name, count - count // 2, "wild", seed))
    elif kind == "specials":
        made = split(type_name, sample(type_name, count, "special", seed))
    elif type_name in FLOATS and kind != "plain":
        form = FLOATS[type_name]
        few = [form.sign] if kind == "zeros" else [1, form.sign | 1, form.infinity - 1, form.infinity, form.infinity | form.sign,
                                                   form.nan, form.infinity | 1]
        for i in rng.sample(range(count), count // 2 if kind == "zeros" else count // 50):
            made[i] = pack(type_name, [rng.choice(few)])
    return made


def keys_of(order, count, key_count, rng):
    if order == "skewed":
        return [0 if rng.random() < 0.9 else rng.randrange(key_count) for _ in range(count)]
    keys = [rng.randrange(key_count) for _ in range(count)]
    return sorted(keys) if order == "sorted" else keys


def groups_of(type_name, elements, keys, key_count, first_index=0):
    """Of each key: the oracle of its elements, which takes them apart once for all ops, and where they lie."""
    members = [[] for _ in range(key_count)]
    for i, key in enumerate(keys):
        if 0 <= key < key_count:
            members[key].append(i)
    return [(Oracle(type_name, b"".join(map(elements.__getitem__, positions)), first_index=first_index), positions)
            for positions in members]


def expected_of(groups, op, **chosen):
    """A list, or the first error."""
    results = []
    for oracle, positions in groups:
        result = oracle.reduce(op, **chosen)
        if op in ("argmin", "argmax") and not isinstance(result, str):
            result = result[0], oracle.first_index + positions[result[1] - oracle.first_index]
        results.append(result)
    name = chosen.get("result_type") or default_type(op, groups[0][0].type)
    if name in FLOATS:
        results = [(name, FLOATS[name].nan) if result == "WF_ERROR_EMPTY" else result for result in results]
    return next((result for result in results if isinstance(result, str)), results)


def expected(op, type_name, elements, keys, key_count, first_index=0, **chosen):
    return expected_of(groups_of(type_name, elements, keys, key_count, first_index), op, **chosen)


def returned(handle, op, type_name, elements, keys, key_count, key_type="i64", stride=1, **chosen):
    labels = integer_vector(keys, key_type, stride)
    groups = wf.library.wf_groups_keys(0, key_count, byref(labels))
    try:
        return handle.reduce_groups(op, groups, vector_of(elements, type_name, stride), **chosen)
    except wf.WarpfoldError as error:
        return error.code


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["plain", "zeros", "aside", "wide", "specials"])
@pytest.mark.parametrize("type_name", TYPES)
def test_tables(handle, type_name, kind):
    rng = random.Random(f"tables {type_name} {kind}")
    for op in rng.sample([*OPS, *COUNTS], 4):
        count, key_count = rng.choice([1, BLOCK - 1, 3 * BLOCK + 5]), rng.choice([1, 3, 40, 900])
        elements = elements_of(kind, type_name, count, rng.random())
        keys = keys_of(rng.choice(["random", "sorted", "skewed"]), count, key_count, rng)
        nan, first_index = rng.choice(["propagate", "omit", "error"]), rng.choice([0, 7])
        got = returned(handle, op, type_name, elements, keys, key_count, stride=rng.choice([1, 2]), nan=nan,
                       first_index=first_index)
        assert got == expected(op, type_name, elements, keys, key_count, first_index, nan=nan), (op, count, key_count, nan)


def expected_dots(type_name, pairs, keys, key_count, nan):
    """A list, or the first error."""
    members = [[] for _ in range(key_count)]
    for pair, key in zip(pairs, keys):
        members[key].append(pair)
    nothing = default_type("dot", type_name), 0
    results = [PairOracle(type_name, *(b"".join(side) for side in zip(*group))).reduce(nan=nan) if group else nothing
               for group in members]
    return next((result for result in results if isinstance(result, str)), results)


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["plain", "zeros", "aside", "wide", "specials"])
@pytest.mark.parametrize("type_name", TYPES)
def test_dot_products(handle, type_name, kind):
    """Of few keys and of so many that threads own them; operands that lie apart; NaNs of either."""
    rng = random.Random(f"dots {type_name} {kind}")
    for count, key_count, threads in ((1, 1, 1), (3 * BLOCK + 5, 40, 1), (CHUNK + BLOCK + 3, 6000, 2)):
        x, y = (elements_of(kind, type_name, count, rng.random()) for _ in range(2))
        keys = keys_of(rng.choice(["random", "sorted", "skewed"]), count, key_count, rng)
        nan = rng.choice(["propagate", "omit"])
        labels = integer_vector(keys, "i64")
        groups = wf.library.wf_groups_keys(0, key_count, byref(labels))
        try:
            got = handle.reduce_groups("dot", groups, vector_of(x, type_name, rng.choice([1, 2])), vector_of(y, type_name),
                                       nan=nan, threads=threads)
        except wf.WarpfoldError as error:
            got = error.code
        assert got == expected_dots(type_name, list(zip(x, y)), keys, key_count, nan), (count, nan)


@pytest.mark.parametrize("type_name", ["f32", "f64"])
def test_dot_products_of_zeros_have_the_sign_of_their_terms(handle, type_name):
    """And products that no f64 holds are no zeros."""
    form = FLOATS[type_name]
    one, minus_one = (pack(type_name, [nearest(type_name, value)]) for value in (1, -1))
    zero, minus_zero, least = (pack(type_name, [bits]) for bits in (0, form.sign, 1))
    members = [[(minus_zero, one)] * 3, [(zero, minus_one), (one, zero)], [(one, one), (minus_one, one)],
               [(minus_zero, one), (least, least)], [(minus_zero, one), (minus_one, zero), (least, minus_zero)]]
    pairs = list(itertools.chain(*members))
    keys = [group for group, of_group in enumerate(members) for _ in of_group]
    labels = integer_vector(keys, "i64")
    got = handle.reduce_groups("dot", wf.library.wf_groups_keys(0, len(members), byref(labels)),
                               *(vector_of(list(side), type_name) for side in zip(*pairs)))
    assert got == expected_dots(type_name, pairs, keys, len(members), "propagate")
    assert got[0][1] == got[4][1] == form.sign and got[1][1] == got[2][1] == 0


@pytest.mark.parametrize("type_name", ["f32", "f64"])
def test_groups_of_zeros_have_the_sign_of_their_terms(handle, type_name):
    form = FLOATS[type_name]
    one, minus_one = (pack(type_name, [nearest(type_name, value)]) for value in (1, -1))
    zero, minus_zero, nan = (pack(type_name, [bits]) for bits in (0, form.sign, form.nan))
    members = [[minus_zero] * 3, [minus_zero, zero], [], [one, minus_one, minus_zero], [minus_zero, nan], [nan]]
    elements = list(itertools.chain(*members))
    keys = [group for group, of_group in enumerate(members) for _ in of_group]
    for op, nan_policy in itertools.product(("sum", "mean", "norm1", "max"), ("propagate", "omit")):
        assert returned(handle, op, type_name, elements, keys, 6, nan=nan_policy) == \
            expected(op, type_name, elements, keys, 6, nan=nan_policy), (op, nan_policy)


@pytest.mark.parametrize("type_name", ["i64", "u64", "i32", "u8", "f16"])
def test_the_ends_of_the_range(handle, type_name):
    """The largest and the smallest elements are extremes, too; their sums may not fit."""
    if type_name in INTEGERS:
        least, most = INTEGERS[type_name]
        ends = [pack(type_name, [value]) for value in (least, least, most, most, 0, most)]
    else:
        form = FLOATS[type_name]
        ends = [pack(type_name, [bits]) for bits in (form.infinity - 1, form.infinity - 1, form.infinity, form.sign, 1, 0)]
    for keys, op in itertools.product(([0, 0, 1, 1, 2, 3], [0, 0, 0, 0, 0, 0], [1, 0, 0, 1, 0, 1]), OPS):
        for result_type in (None, "f32"):
            if result_type and op in ("argmin", "argmax"):
                continue
            assert returned(handle, op, type_name, ends, keys, 4, fill=wf.value_of_bits(wf.WF_U8, 3), result_type=result_type) \
                == with_fill(expected_each(op, type_name, ends, keys, 4, result_type), op, type_name, result_type), (op, keys)


def expected_each(op, type_name, elements, keys, key_count, result_type):
    return [Oracle(type_name, b"".join(e for e, key in zip(elements, keys) if key == group))
            .reduce(op, **({"result_type": result_type} if result_type else {})) if op not in ("argmin", "argmax") else
            position_of(op, type_name, elements, keys, group) for group in range(key_count)]


def position_of(op, type_name, elements, keys, group):
    positions = [i for i, key in enumerate(keys) if key == group]
    result = Oracle(type_name, b"".join(elements[i] for i in positions)).reduce(op)
    return result if isinstance(result, str) else (result[0], positions[result[1]])


def with_fill(results, op, type_name, result_type):
    """3 for a group that has no value, as the call was told; any other error is the call's."""
    name = result_type or default_type(op, type_name)
    three = nearest(name, 3) if name in FLOATS else 3
    results = [(name, three) if result == "WF_ERROR_EMPTY" else result for result in results]
    errors = [result for result in results if isinstance(result, str)]
    return errors[0] if errors else results


def test_bad_keys_are_left_out_or_refused(handle):
    elements = split("f32", sample("f32", 2000, "plain"))
    rng = random.Random("bad keys")
    keys = [rng.choice([0, 1, 2, -1, 3, -2**63, 2**63 - 1]) for _ in elements]
    for op in ("sum", "var", "argmin"):
        assert returned(handle, op, "f32", elements, keys, 3, flags=1) == expected(op, "f32", elements, keys, 3)
        assert returned(handle, op, "f32", elements, keys, 3) == "WF_ERROR_RANGE"
        assert handle.message.startswith(f"key {next(i for i, key in enumerate(keys) if not 0 <= key < 3)} is ")


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", ["f32", "f64", "i64"])
@pytest.mark.parametrize("key_count", [2, 5000, 20000])
def test_threads(handle, type_name, key_count):
    """More elements than a thread takes at a time: any threads and any order of the elements give the same bits.  Of 20000
    keys, each is one thread's."""
    chosen = {"fill": wf.value_of_bits(wf.WF_U8, 0), "flags": 1}
    rng = random.Random(f"threads {type_name} {key_count}")
    elements = split(type_name, sample(type_name, 4099, "plain") * 11)
    if type_name in FLOATS:
        for i in rng.sample(range(len(elements)), 300):
            elements[i] = pack(type_name, [rng.choice([1, FLOATS[type_name].infinity - 1, FLOATS[type_name].sign])])
    assert len(elements) > 2 * CHUNK
    keys = [rng.randrange(key_count) for _ in elements]
    for i in rng.sample(range(len(keys)), 50):
        keys[i] = rng.choice([-1, key_count, -2**63])
    keys[7] = 1
    order = rng.sample(range(len(elements)), len(elements))
    for op in ("sum", "mean", "max"):
        seen = {tuple(returned(handle, op, type_name, elements, keys, key_count, threads=threads, **chosen))
                for threads in (1, 2, 5)}
        seen.add(tuple(returned(handle, op, type_name, [elements[i] for i in order], [keys[i] for i in order], key_count,
                                threads=2, **chosen)))
        assert len(seen) == 1
        of_one = [element for element, key in zip(elements, keys) if key == 1]
        assert seen.pop()[1] == handle.reduce(op, wf.vector(b"".join(of_one), type_name))
    for op, best in (("argmin", min), ("argmax", max)):
        whole = returned(handle, op, type_name, elements, keys, key_count, threads=3, **chosen)
        positions = [i for i, key in enumerate(keys) if key == 1]
        alone = handle.reduce(op, wf.vector(b"".join(elements[i] for i in positions), type_name))
        assert whole[1] == (alone[0], positions[alone[1]]), best


def by_key(handle, op, type_name, elements, keys, key_count, **chosen):
    labels = wf.vector(keys.tobytes(), "i64")
    return handle.reduce_groups(op, wf.library.wf_groups_keys(0, key_count, byref(labels)),
                                wf.vector(b"".join(elements), type_name), threads=1, **chosen)


def over_binades(type_name, count, spread, seed):
    """Normal ones times powers of two: grids of one level or two, of three from some 50 binades on, of four from 100."""
    rng = random.Random(f"binades {type_name} {spread} {seed}")
    values = (rng.gauss(0, 1) * 2.0**rng.randrange(-spread // 2, spread // 2 + 1) for _ in range(count))
    return split(type_name, pack(type_name, [nearest_to_double(type_name, value) for value in values]))


@pytest.mark.parametrize("spread", [10, 55, 75, 100, 120])
@pytest.mark.parametrize("type_name", ["f32", "f64"])
def test_sums_over_many_binades(handle, type_name, spread):
    """Of any number of levels, in one table and in copies of one; a block that ends within a vector; some set aside."""
    rng = random.Random(f"levels {type_name} {spread}")
    for key_count, op in itertools.product((3, 5000), ("sum", "mean", "norm1", "norm2")):
        elements = over_binades(type_name, 3 * BLOCK + 5, spread, op)
        elements[BLOCK + 3] = pack(type_name, [1])
        keys = keys_of(rng.choice(["random", "skewed"]), len(elements), key_count, rng)
        assert returned(handle, op, type_name, elements, keys, key_count) == \
            expected(op, type_name, elements, keys, key_count), (op, key_count)


@pytest.mark.parametrize("spread", [2, 75, 110])
@pytest.mark.parametrize("type_name", ["f32", "f64"])
def test_equal_keys_that_follow_each_other(handle, type_name, spread):
    """Runs of equal keys, longer than a vector: the bits of any order, and of a group alone, bad keys among them or not."""
    length, key_count = 24, 4200
    count = length * key_count
    elements = over_binades(type_name, count // 24, spread, "runs") * 24
    keys = array("q", (i // length for i in range(count)))
    order = random.Random(type_name).sample(range(count), count)
    shuffled, their_keys = [elements[i] for i in order], array("q", (keys[i] for i in order))
    for op in ("sum", "mean"):
        got = by_key(handle, op, type_name, elements, keys, key_count)
        assert got == by_key(handle, op, type_name, shuffled, their_keys, key_count), op
        for g in (0, 1, key_count - 1):
            alone = b"".join(elements[g * length:(g + 1) * length])
            assert got[g] == Oracle(type_name, alone).reduce(op), (op, g)
    keys[length] = key_count
    with pytest.raises(wf.WarpfoldError, match=f"key {length} is {key_count}"):
        by_key(handle, "sum", type_name, elements, keys, key_count)
    got = by_key(handle, "sum", type_name, elements, keys, key_count, flags=1)
    assert got[1] == Oracle(type_name, b"".join(elements[length + 1:2 * length])).reduce("sum")


@pytest.mark.slow
def test_large_tables_begin_with_nothing(handle):
    """Their memory may be that of the call before."""
    key_count, count = 300_000, 4000
    elements = split("f64", sample("f64", count, "plain"))
    everywhere = array("q", random.Random("large").sample(range(key_count), count))
    first = by_key(handle, "sum", "f64", elements, everywhere, key_count)
    assert first[everywhere[5]] == Oracle("f64", elements[5]).reduce("sum")
    second = by_key(handle, "sum", "f64", elements, array("q", [key_count - 1] * count), key_count)
    assert set(second[:-1]) == {("f64", 0)} and second[-1] == Oracle("f64", b"".join(elements)).reduce("sum")
    assert by_key(handle, "max", "f64", elements, everywhere, key_count)[everywhere[7]] == \
        Oracle("f64", elements[7]).reduce("max")


@pytest.mark.parametrize("type_name", ["f32", "f64"])
def test_sums_of_slots_are_rounded_once(handle, type_name):
    """Of numbers of slots that leave a rest of any vector: sums of few bits and of many, halves of the last place, and those
    that no f64 holds before they are rounded; results side by side and apart."""
    rng = random.Random(f"slots {type_name}")
    ulp = Fraction(2)**(1 - FLOATS[type_name].precision)
    kinds = [[1, ulp / 2, -ulp / 2], [1, ulp / 2, ulp**2], [1, ulp / 4], [Fraction(2)**40, ulp, -Fraction(2)**40, 3],
             [1 + ulp, 3 - ulp]]
    for key_count in (*range(1, 18), 255, 256, 257, 300):
        for kind in kinds:
            chosen = [nearest(type_name, number) for number in kind]
            values = [rng.choice(chosen) for _ in range(3 * key_count)]
            keys = [rng.randrange(key_count) for _ in values]
            elements = split(type_name, pack(type_name, values))
            wanted = expected("sum", type_name, elements, keys, key_count)
            assert returned(handle, "sum", type_name, elements, keys, key_count) == wanted, (key_count, kind)
            nbytes = len(elements[0])
            memory = bytearray(2 * nbytes * key_count)
            output = wf.wf_output(data=wf._address(memory)[1], ndim=1, shape=(ctypes.c_int64 * 1)(key_count),
                                  stride_bytes=(ctypes.c_int64 * 1)(2 * nbytes))
            groups = wf.library.wf_groups_keys(0, key_count, byref(labels := integer_vector(keys, "i64")))
            handle.check(wf.library.wf_reduce(handle.pointer, byref(wf.reduction("sum")), byref(vector_of(elements, type_name)),
                                              None, byref(groups), byref(output)))
            bits = [int.from_bytes(memory[i:i + nbytes], "little") for i in range(0, len(memory), 2 * nbytes)]
            assert bits == [value for _, value in wanted] and labels


@pytest.mark.parametrize("type_name", ["f32", "f64", "i8", "i32", "u64"])
def test_means_of_slots_are_rounded_once(handle, type_name):
    """Quotients that lie half-way between two results, or beside that, of groups of no elements, of few and of many; of large
    and of small numbers."""
    rng = random.Random(f"means {type_name}")
    if type_name in FLOATS:
        ulp = Fraction(2)**(1 - FLOATS[type_name].precision)
        scale = Fraction(2)**(-140 if type_name == "f32" else -1000)
        kinds = [[1, 1 + ulp], [1, 1 + ulp, -ulp / 2, ulp**2], [Fraction(2)**40, -Fraction(2)**40, ulp, 3], [0, 1],
                 [scale, 3 * scale], [1 / scale, 1, -1 / scale]]
        kinds = [[nearest(type_name, number) for number in kind] for kind in kinds]
    else:
        least, largest = INTEGERS[type_name]
        kinds = [[0, 1], [least, largest], [largest - 1, largest], [least, 0, 3, 5], [largest // 3, 7]]
    for data in [pack(type_name, [rng.choice(kind) for _ in range(900)]) for kind in kinds]:
        for key_count in (1, 2, 9, 300, 700):
            keys = [min(rng.randrange(key_count), rng.randrange(key_count)) for _ in range(900)]
            wanted = expected("mean", type_name, split(type_name, data), keys, key_count)
            got = returned(handle, "mean", type_name, split(type_name, data), keys, key_count)
            assert got == wanted, key_count
            fill = wf.value_of_bits(wf.WF_U8, 7)
            filled = returned(handle, "mean", type_name, split(type_name, data), keys, key_count, fill=fill)
            seven = wanted[0][0], nearest(wanted[0][0], 7)
            assert filled == [seven if g not in keys else value for g, value in enumerate(wanted)]


def kinds_of_squares(type_name):
    """Norms half-way between two f32; deviations that vanish, or are small beside the mean; the ends of the range."""
    if type_name not in FLOATS:
        least, largest = INTEGERS[type_name]
        return [[1, 2], [least, largest], [largest - 1, largest], [least, 0, 3, 5]]
    form, fifth = FLOATS[type_name], 2**22 - 1
    ulp, half_range = Fraction(2)**(1 - form.precision), -(form.lowest + form.precision) // 2
    return [[3 * fifth, 4 * fifth], [1, 1 + ulp], [1 + ulp], [0, 1], [2**30, 2**30 + 2**8, ulp],
            [2**20 + 2 * k + 1 for k in range(9)], [Fraction(2)**form.lowest, 0],
            [Fraction(2)**(half_range + 2), 1], [Fraction(2)**-(half_range + 20), 0]]


@pytest.mark.parametrize("type_name", ["f32", "f64", "bf16", "i8", "i16", "i32"])
def test_squares_of_slots_are_rounded_once(handle, type_name):
    """2-norms, variances and deviations of groups of no elements, of one, of few and of many, those without a value included."""
    rng = random.Random(f"squares {type_name}")
    for kind in kinds_of_squares(type_name):
        bits = [nearest(type_name, number) for number in kind] if type_name in FLOATS else kind
        for key_count in (1, 9, 300, 700):
            elements = split(type_name, pack(type_name, [rng.choice(bits) for _ in range(900)]))
            keys = [min(rng.randrange(key_count), rng.randrange(key_count)) for _ in range(900)]
            groups = groups_of(type_name, elements, keys, key_count)
            for op, ddof in (("norm2", 0), ("var", 0), ("var", 1), ("std", 0), ("std", 3)):
                chosen = {"ddof": ddof} if ddof else {}
                wanted = expected_of(groups, op, **chosen)
                assert returned(handle, op, type_name, elements, keys, key_count, **chosen) == wanted, (op, ddof, kind, key_count)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("type_name", FLOATS)
def test_extrema_among_many_nans(handle, type_name, threads):
    """NaNs of either sign and any bits, in one element of two and in whole groups: they are the result, at the first one's index,
    or are left out; results of other types, and of groups that have nothing else."""
    rng = random.Random(f"nans {type_name} {threads}")
    form, count, key_count = FLOATS[type_name], 2 * CHUNK + 77 if threads == 2 else 3 * BLOCK + 5, 90
    elements = elements_of("specials", type_name, count, rng.random())
    keys = [rng.randrange(key_count) for _ in range(count)]
    nans = [form.nan, form.sign | form.nan, form.infinity | 1, (1 << form.width) - 1, form.sign - 1]
    for i in range(count):
        if rng.random() < 0.5 or keys[i] % 30 == 7:
            elements[i] = pack(type_name, [rng.choice(nans)])
    fill, groups = wf.value_of_bits(wf.WF_U8, 7), groups_of(type_name, elements, keys, key_count, 5)
    for op, result_type in (("min", None), ("max", None), ("argmin", None), ("argmax", None), ("min", "f64"), ("max", "i64"),
                            ("argmax", "i16"), ("argmin", "u64")):
        for nan in ("propagate", "omit", "error"):
            chosen = {"nan": nan, "result_type": result_type}
            wanted = expected_of(groups, op, **chosen)
            got = returned(handle, op, type_name, elements, keys, key_count, first_index=5, threads=threads, **chosen)
            assert got == wanted, (op, result_type, nan)
    are_nans = {element for element in set(elements) if Oracle(type_name, element).nans}
    digits = split(type_name, pack(type_name, [nearest(type_name, digit) for digit in range(9)]))
    small = [element if element in are_nans else digits[rng.randrange(9)] for element in elements]
    for nan in ("propagate", "omit"):
        wanted = expected("min", type_name, small, keys, key_count, nan=nan, result_type="i64")
        assert returned(handle, "min", type_name, small, keys, key_count, nan=nan, result_type="i64", threads=threads) == wanted
    got = returned(handle, "argmax", type_name, elements, keys, key_count, nan="omit", fill=fill, threads=threads)
    assert {value for g, (_, value) in enumerate(got) if g % 30 == 7} == {7}


def far_apart(kind, type_name, count, seed):
    """Over all exponents, in any order or from the least magnitude on; plain with a few far outliers; sums half-way between two
    elements but for something far smaller; any bits."""
    rng, form = random.Random(f"{kind} {type_name} {seed}"), FLOATS[type_name]
    width, top = form.width, -form.lowest - form.precision
    if kind == "any bits":
        return split(type_name, pack(type_name, [rng.getrandbits(width) for _ in range(count)]))
    if kind == "ties":
        numbers = [Fraction(1), 1 + Fraction(2)**(1 - form.precision), Fraction(2)**(-top // 2), -Fraction(2)**(-top // 3)]
        bits = [[nearest(type_name, sign * number) for sign in (-1, 1, 1)] for number in numbers]
        return split(type_name, pack(type_name, [rng.choice(rng.choice(bits)) for _ in range(count)]))
    is_outlier = (lambda: rng.random() < 0.02) if kind == "outliers" else lambda: True
    numbers = [math.ldexp(rng.gauss(0, 1), rng.randrange(-top, top) if is_outlier() else 0) for _ in range(count)]
    if kind == "rising":
        numbers.sort(key=abs)
    return split(type_name, pack(type_name, [nearest_to_double(type_name, number) for number in numbers]))


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["everywhere", "rising", "outliers", "ties", "any bits"])
@pytest.mark.parametrize("type_name", ["f32", "f64", "bf16"])
@pytest.mark.parametrize("threads", [1, 2])
def test_sums_of_any_range(handle, type_name, kind, threads):
    """That no grid of few levels takes: in copies of a small table, in one large one, which threads share or own, in runs of equal
    keys; groups of one element, of none and of nothing but NaNs; every policy."""
    rng = random.Random(f"range {type_name} {kind} {threads}")
    form = FLOATS[type_name]
    nans = [form.nan, form.sign | form.nan, form.infinity | 1, (1 << form.width) - 1, form.infinity, form.infinity | form.sign]
    ops = ("sum", "mean", "norm1", "norm2", "var", "std")
    plans = [(2 * BLOCK + 5, 9, "random"), (2 * BLOCK + 5, 5, "sorted"), (BLOCK + 7, 1, "random")]
    cases = [*itertools.product(plans, ops), ((CHUNK + BLOCK + 3, 2000, "skewed"), rng.choice(ops))]
    for (count, key_count, order), op in cases:
        elements = far_apart(kind, type_name, count, rng.random())
        keys = keys_of(order, count, key_count, rng)
        for i in rng.sample(range(count), rng.choice([0, 3, count // 2])) + [0]:
            elements[i] = pack(type_name, [rng.choice([form.sign, 1, *nans])])
        for i, key in enumerate(keys):
            if key % 9 == 4:
                elements[i] = pack(type_name, [rng.choice(nans[:4])])
        nan = rng.choice(["propagate", "omit", "omit", "error"])
        chosen = {"nan": nan, **({"ddof": 1} if op in ("var", "std") and rng.random() < 0.5 else {})}
        got = returned(handle, op, type_name, elements, keys, key_count, threads=threads, **chosen)
        assert got == expected(op, type_name, elements, keys, key_count, **chosen), (op, count, key_count, order, nan)


@pytest.mark.parametrize("kind", ["everywhere", "outliers", "any bits"])
@pytest.mark.parametrize("type_name", ["f32", "f64"])
def test_dot_products_of_any_range(handle, type_name, kind):
    rng = random.Random(f"range of products {type_name} {kind}")
    for count, key_count, order, nan in ((3 * BLOCK + 5, 9, "random", "omit"), (3 * BLOCK + 5, 5, "sorted", "propagate"),
                                         (3 * BLOCK + 5, 150, "skewed", "omit"), (700, 1, "random", "propagate")):
        x, y = (far_apart(kind, type_name, count, rng.random()) for _ in range(2))
        keys = keys_of(order, count, key_count, rng)
        labels = integer_vector(keys, "i64")
        got = handle.reduce_groups("dot", wf.library.wf_groups_keys(0, key_count, byref(labels)), vector_of(x, type_name),
                                   vector_of(y, type_name), nan=nan, threads=1)
        assert got == expected_dots(type_name, list(zip(x, y)), keys, key_count, nan), (count, key_count, order, nan)
