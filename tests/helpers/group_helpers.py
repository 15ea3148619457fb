"""Arrays of any strides and their groups, in Python: which elements each result has, and what the oracle says of them."""

import itertools
import math
import operator
import struct

import pytest

import warpfold_ctypes as wf
from oracle import FLOATS, TYPECODES, Oracle, PairOracle, ops_of, default_type
from samples import nbytes_of, pack, sample, split


class Laid:
    """Elements in a block of memory, with any strides; at(index) is an element's bytes."""

    def __init__(self, type_name, shape, rng, kind="special", plain=False):
        self.type, self.shape = type_name, shape
        self.nbytes = struct.calcsize(TYPECODES[type_name])
        order = list(range(len(shape)))
        if not plain:
            rng.shuffle(order)
        self.strides, step = [0] * len(shape), self.nbytes
        for d in reversed(order):
            gap = 0 if plain else rng.choice([0, 0, 0, 1, self.nbytes])
            self.strides[d] = 0 if not plain and rng.random() < 0.05 else step * (1 if plain else rng.choice([1, 1, -1]))
            step = step * max(shape[d], 1) + gap
        self.offset = sum(-s * (n - 1) for s, n in zip(self.strides, shape) if s < 0 < n)
        reach = self.offset + sum(s * (n - 1) for s, n in zip(self.strides, shape) if s > 0 and n) + self.nbytes
        self.data = sample(type_name, -(-reach // self.nbytes) + 1, kind, seed=rng.random())

    def view(self):
        return wf.strided(self.data, self.type, self.shape, self.strides, self.offset)

    def at(self, index):
        begin = sum(map(operator.mul, index, self.strides), self.offset)
        return self.data[begin:begin + self.nbytes]


class Groups:
    """What groups give, and pairs of groups: each is taken apart once for all ops."""

    def __init__(self, type_name, x, y=(), first_index=0):
        self.single = [Oracle(type_name, group, first_index=first_index) for group in x]
        self.pairs = [PairOracle(type_name, *pair) for pair in zip(x, y)]

    def reduce(self, op, **chosen):
        return [oracle.reduce(op, **chosen) for oracle in (self.pairs if op == "dot" else self.single)]


def put(array, values):
    """The same array of floats with some of its elements replaced."""
    data, code = bytearray(array.data), {"f32": "f", "f64": "d"}[array.type]
    for i, value in values.items():
        struct.pack_into(code, data, i * array.nbytes, value)
    array.data = bytes(data)
    return array


def expected_results(op, arrays, groups_of_indices, first_index, **chosen):
    """groups_of_indices: for each result (index of the first element, positions or None, the elements' indices)."""
    results = []
    for begin, positions, indices in groups_of_indices:
        packed = [b"".join(map(array.at, indices)) for array in arrays]
        oracle = (PairOracle if op == "dot" else Oracle)(arrays[0].type, *packed, first_index=first_index + begin)
        result = oracle.reduce(op, **chosen)
        if op in ("argmin", "argmax") and positions is not None and not isinstance(result, str):
            result = result[0], first_index + positions[result[1] - first_index]
        results.append(result)
    return results


def as_returned(results, op, type_name, result_type=None):
    """The same, as one call returns it: a NaN for what has no value, if that is a float, else the first error."""
    form = FLOATS.get(result_type or default_type(op, type_name))
    for i, result in enumerate(results):
        if result == "WF_ERROR_EMPTY" and form:
            results[i] = (result_type or default_type(op, type_name), form.nan)
    errors = [result for result in results if isinstance(result, str)]
    return errors[0] if errors else results


def returned(handle, op, groups, views, **chosen):
    try:
        return handle.reduce_groups(op, groups, *views, **chosen)
    except wf.WarpfoldError as error:
        return error.code


def indices_along_axes(shape, axes):
    kept = [range(n) if d not in axes else None for d, n in enumerate(shape)]
    for outer in itertools.product(*(r for r in kept if r is not None)):
        at = iter(outer)
        fixed = [next(at) if r is not None else None for r in kept]
        yield 0, None, list(itertools.product(*(range(n) if i is None else [i] for i, n in zip(fixed, shape))))


def indices_of_positions(shape, axis, groups):
    """groups: of each result along the axis, (first index, positions to map with, positions)."""
    for outer in itertools.product(*(range(n) if d != axis else range(len(groups)) for d, n in enumerate(shape))):
        begin, mapped, positions = groups[outer[axis]]
        yield begin, mapped, [(*outer[:axis], p, *outer[axis + 1:]) for p in positions]


def ops_for(type_name, rng, count):
    return rng.sample([*ops_of(type_name), "dot"], count)


def operands(op, *made):
    return list(made) if op == "dot" else list(made[:1])


def random_shape(rng, ndim, size):
    while True:
        shape = tuple(rng.choice([0, 1, 1, 2, 3, 5, 8, 17, 40, 130] if rng.random() < 0.9 else [300]) for _ in range(ndim))
        if math.prod(shape) <= size:
            return shape


def spaced(elements, nbytes, stride):
    """Elements, each followed by what is none."""
    gap = b"\x7f" * (nbytes * (stride - 1))
    return gap.join(elements) + (gap if elements else b"") + bytes(nbytes)


def vector_of(elements, type_name, stride=1):
    nbytes = nbytes_of(type_name)
    return wf.strided(spaced(elements, nbytes, stride), type_name, (len(elements),), (nbytes * stride,))


def integer_vector(values, type_name, stride=1):
    return vector_of(split(type_name, pack(type_name, values)), type_name, stride)


def random_offsets(rng, length, count):
    return sorted(rng.choice([0, length, rng.randint(0, length), rng.randint(0, length)]) for _ in range(count + 1))


def each_tier():
    """Parameters for a fixture: the tiers of this machine; `make check` takes the best alone, which handles choose."""
    *others, best = [tier for tier in wf.TIERS if wf.tier_handle(tier)]
    return [*(pytest.param(tier, marks=pytest.mark.slow) for tier in others), best]


@pytest.fixture(params=each_tier())
def handle(request):
    """One for each of them."""
    return wf.tier_handle(request.param)


def transposed(data, rows, columns, nbytes):
    cells = [data[i:i + nbytes] for i in range(0, len(data), nbytes)]
    return b"".join(cells[r * columns + c] for c in range(columns) for r in range(rows))


def laid_down_and_along(type_name, columns):
    """The columns as those of an array, and as the rows of another."""
    nbytes, groups = struct.calcsize(TYPECODES[type_name]), len(columns)
    rows = len(columns[0]) // nbytes
    down = b"".join(b"".join(row) for row in zip(*(split(type_name, column) for column in columns)))
    return [wf.strided(down, type_name, (rows, groups), (groups * nbytes, nbytes)),
            wf.strided(b"".join(columns), type_name, (groups, rows), (rows * nbytes, nbytes))]
