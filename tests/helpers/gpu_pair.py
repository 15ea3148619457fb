"""Handles of the CPU and of the GPU side by side, for tests of reductions by groups: results in the host's memory, and those that
are left in the GPU's."""

import ctypes
import math
import struct
from ctypes import byref

import pytest

import warpfold_ctypes as wf
from cuda_helpers import gpu  # noqa: F401: a fixture
from group_helpers import Laid, spaced
from oracle import ops_of
from samples import nbytes_of, pack, split

library = wf.library


class Pair:
    """A handle of the CPU, and one of the GPU."""

    def __init__(self, gpu):  # noqa: F811
        self.turn = 0
        self.gpu, self.host, self.device = gpu, wf.Handle("cpu"), wf.Handle("cuda:0")

    def there(self, array):
        """The same array in the GPU's memory."""
        return self.gpu.memory(array.data).strided(array.type, array.shape, array.strides, array.offset)

    def labels_there(self, values, type_name, stride):
        nbytes = nbytes_of(type_name)
        data = spaced(split(type_name, pack(type_name, values)), nbytes, stride)
        return self.gpu.memory(data).strided(type_name, (len(values),), (nbytes * stride,))

    def check(self, op, groups, arrays, *context, groups_there=None, **chosen):
        """Results in the host's memory, and in the GPU's."""
        expected = returned(self.host, op, groups, [array.view() for array in arrays], **chosen)
        views = [self.there(array) for array in arrays]
        groups_there = groups_there or groups
        compare(expected, returned(self.device, op, groups_there, views, **chosen), op, arrays[0].type, *context, chosen)
        left = self.left_there(op, groups_there, views, **chosen)
        compare(expected.split(":")[0] if isinstance(expected, str) else expected, left, op, *context, chosen, "there")

    def left_there(self, op, groups, views, flags=0, fill=None, **chosen):
        """The results that a call leaves in the GPU's memory, or the name of the error that is its status."""
        asked = wf.reduction(op, **chosen)
        asked.flags = flags
        asked.fill = fill and ctypes.pointer(fill)
        shape = wf.groups_shape(views[0], groups)
        number = asked.result_type or library.wf_op_result_type(asked.op, views[0].type)
        nbytes, count = library.wf_type_nbytes(number), math.prod(shape)
        memory, status = self.gpu.empty(nbytes * count, 0xcd), self.gpu.empty(4, 0xcd)
        output = wf.wf_output(data=memory.pointer, type=number, ndim=len(shape), status=status.pointer,
                              shape=(ctypes.c_int64 * len(shape))(*shape))
        b = byref(views[1]) if len(views) > 1 else None
        code = library.wf_reduce(self.device.pointer, byref(asked), byref(views[0]), b, byref(groups), byref(output))
        left = struct.unpack("=i", status.read())[0]
        if code:
            return wf.ERRORS[code]
        if left:
            return wf.ERRORS[left]
        return memory.read(), number

    def ops(self, type_name, rng, selected):
        """Some: each is a kernel for each way of walking, and compiling is what takes long."""
        return rng.sample([*ops_of(type_name), "dot"], 4) if self.gpu.is_real else selected.get(type_name, ())

    def turns(self, real):
        return real if self.gpu.is_real else 2


@pytest.fixture(scope="module")
def pair(gpu):  # noqa: F811
    return Pair(gpu)


@pytest.fixture(scope="module")
def small_cache_pair(gpu):  # noqa: F811
    """On the simulator with a quarter of the L2 cache, so that tests of what is beyond it take a quarter of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAKE_CUDA_L2_NBYTES", str(1 << 18))
        return Pair(gpu)


def returned(handle, op, groups, views, **chosen):
    """The results' bytes and the number of their type, or the error and what it says."""
    try:
        return handle.reduced_groups(op, groups, *views, **chosen)
    except wf.WarpfoldError as error:
        return f"{error.code}: {error.message}"


def compare(expected, got, *context):
    """Of millions of results the bytes alone: as many objects take most of a test's time."""
    if expected == got:
        return
    assert isinstance(expected, tuple) and isinstance(got, tuple), (expected if isinstance(expected, str) else got, *context)
    differ = [(i, *pair) for i, pair in enumerate(zip(wf.values_of(*expected), wf.values_of(*got))) if pair[0] != pair[1]]
    raise AssertionError(f"{context}: {len(differ)} results differ: number, expected, got {differ[:5]}")


def random_arrays(type_name, shape, rng):
    return [Laid(type_name, shape, rng, rng.choice(["special", "plain", "wild"]), rng.random() < 0.5) for _ in range(2)]


EDGES = {"f32": ((10, 58, 59, 60, 61, 62, 90), (0, 100)), "f64": ((20, 29, 30, 31, 32, 33, 74, 76, 120), (0, -360, 440, -700))}


class Binades:
    """A matrix of odd significands, exponents so far apart, in rows.  A row's second half is the first one times `sign`, but for
    the lowest bit of an element as small as any: where all else cancels, only the lowest bits of that are left."""

    def __init__(self, type_name, shape, rng, span, top, sign):
        self.type, self.shape = type_name, shape
        code, self.nbytes, bits = ("f", 4, 24) if type_name == "f32" else ("d", 8, 53)
        self.strides, self.offset = (shape[1] * self.nbytes, self.nbytes), self.nbytes

        def odd(exponent):
            return math.ldexp(rng.choice((-1, 1)) * (rng.randrange(2 ** (bits - 1), 2 ** bits) | 1), exponent - bits)

        self.data = bytes(self.nbytes)
        for _ in range(shape[0]):
            half = [odd(rng.choice((top, top - span, rng.randint(top - span, top)))) for _ in range(shape[1] // 2)]
            half[3] = odd(top - span)
            row = [*half, *(sign * x for x in half)]
            row[len(half) + 3] += math.ldexp(1, top - span - bits)
            self.data += struct.pack(f"={len(row)}{code}", *row)

    def view(self):
        return wf.strided(self.data, self.type, self.shape, self.strides, self.offset)
