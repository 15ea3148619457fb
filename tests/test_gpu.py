"""The GPU gives the CPU engine's bits: every op, type, policy and result type, wherever elements lie and whatever
they are.  Where there is no GPU, a small selection runs on the simulator."""

import ctypes
import itertools
import math
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("numpy", reason="no numpy")

import gpu_data  # noqa: E402
import warpfold_ctypes as wf  # noqa: E402
from cli_helpers import DESCRIPTIONS, npy_header, npy_text, run  # noqa: E402
from cuda_helpers import gpu, report_on_newer_gpu  # noqa: E402, F401: a fixture
from each_type import EVERY_KERNEL, but_alike, but_slow, needs_every_kernel  # noqa: E402
from oracle import FLOATS, TYPES, ops_of  # noqa: E402
from samples import NAN_POLICIES, agree, nbytes_of, pack  # noqa: E402
from test_accumulator import cut, merge_in_random_order  # noqa: E402
from test_engine import random_view  # noqa: E402

# On the simulator: each type, each kind of work.
SELECTED = {
    "bool": ("any", "sum"), "i8": ("argmax", "sum"), "i16": ("min",), "i32": ("sum", "norm2"), "i64": ("prod", "dot"),
    "u8": ("xor",), "u16": ("max",), "u32": ("nonzero",), "u64": ("and",), "f16": ("sum", "min"), "bf16": ("mean", "var"),
    "f32": ("sum", "var", "stats", "prod", "argmin"), "f64": ("sum", "dot", "max"),
}
POWERS = [1 << k for k in range(5, 22)]
COUNTS = sorted({0, 1, 2, 3, 5, 7, 15, 16, 17, *(power + k for power in POWERS for k in (-1, 0, 1)),
                 *(3 * power + k for power in POWERS[:-1] for k in (-1, 1)), 1000003})
FEW_COUNTS = (0, 1, 2, 31, 32, 33, 255, 257, 1023, 1024, 1025, 2500)
BLOCKS_NBYTES = 33333  # of a small array that takes several blocks, its ends apart
ODD = ("sum", "argmax", "dot", "stats")  # kernels for addresses that are not multiples of the element's size are others
LIKE_OTHERS = ("mean", "std", "any", "all", "norminf")  # whose kernels are those of other ops
LONG = 1 << 16  # from here on each array is reduced by a part of the ops only


@pytest.fixture(scope="module")
def engines(gpu):  # noqa: F811
    made = Engines(gpu)
    if gpu.is_real:
        made.compile_all()
    return made


def all_ops_of(type_name):
    return [*ops_of(type_name), "dot", "stats"]


def outcome(handle, op, views, **chosen):
    """A result; or an error's name, with the message where that says more."""
    call = {"dot": lambda: handle.reduce_pair(op, *views, **chosen), "stats": lambda: handle.stats(*views, **chosen)}
    try:
        return call.get(op, lambda: handle.reduce(op, *views, **chosen))()
    except wf.WarpfoldError as error:
        assert error.message
        said = error.code in ("WF_ERROR_NAN", "WF_ERROR_DEVICE")
        return f"{error.code}: {error.message}" if said else error.code


LARGE_WAYS = {"WARPFOLD_CUDA_SMALL": "0"}  # small arrays by the kernels of large ones
ONE_BLOCK = LARGE_WAYS | {"WARPFOLD_CUDA_MULTIPROCESSORS": "1"}  # whose warps have many chunks each, and several segments


class Engines:
    """Handles of the GPU, of which one reduces small arrays as if they were large, and one of the CPU."""

    def __init__(self, gpu):
        self.gpu = gpu
        self.devices, self.host = [wf.Handle("cuda:0"), wf.Handle("cuda:0", **LARGE_WAYS)], wf.Handle("cpu")
        self.turn = 0

    @property
    def device(self):
        """One or the other, in turns."""
        self.turn += 1
        return self.devices[self.turn % 2]

    def ops_of(self, type_name):
        return all_ops_of(type_name) if self.gpu.is_real else SELECTED[type_name]

    def choose(self, many, few):
        """How much of it."""
        return many if self.gpu.is_real else few

    def compile_all(self):
        """Several at a time: that is what takes long."""
        def reduce(op, type_name, offset):
            memory = self.gpu.memory(bytes(100 * nbytes_of(type_name)))
            view = memory.vector(type_name, 90, offset)
            outcome(wf.Handle("cuda:0"), op, [view] * (2 if op == "dot" else 1))

        kernels = [(op, type_name, offset) for type_name in TYPES for op in all_ops_of(type_name)
                   for offset in ((0, 1) if op in ODD and nbytes_of(type_name) > 1 else (0,))]
        kernels.sort(key=lambda kernel: kernel[0] in LIKE_OTHERS)
        def leave_on_device(op, type_name):
            view = self.gpu.memory(bytes(100 * nbytes_of(type_name))).vector(type_name, 90)
            outcome_on_device(self, op, [view] * (2 if op == "dot" else 1), handle=wf.Handle("cuda:0"))

        finishing = [(op, type_name) for op, type_name, offset in kernels if op != "stats" and not offset]
        for ways in ({}, LARGE_WAYS):
            with wf.environment(**ways), ThreadPoolExecutor(16) as pool:
                list(pool.map(self.in_context(reduce), *zip(*kernels)))
                list(pool.map(self.in_context(leave_on_device), *zip(*finishing)))

    def in_context(self, work):
        """The same, in a thread of any pool."""
        entered = threading.local()

        def run_in_context(*arguments):
            if not hasattr(entered, "is_done"):
                self.gpu.enter()
                entered.is_done = True
            return work(*arguments)

        return run_in_context

    def gpu_vector(self, data, type_name):
        return self.gpu.memory(data).vector(type_name)

    def check(self, op, on_host, on_device, *context, **chosen):
        """Views of the same elements, in the host's and in the GPU's memory; of dot, two each."""
        expected = outcome(self.host, op, on_host, **chosen)
        for handle in self.devices if self.gpu.is_real else [self.device]:
            agree(expected, outcome(handle, op, on_device, **chosen), op, *context, chosen)

    def check_array(self, ops, type_name, data, *context, **chosen):
        """Ops over packed elements; dot takes them once more in the same order."""
        on_host, on_device = wf.vector(data, type_name), self.gpu_vector(data, type_name)
        for op in ops:
            pair = 2 if op == "dot" else 1
            self.check(op, [on_host] * pair, [on_device] * pair, type_name, *context, **chosen)


# ---- every op, type, policy and result type ----------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("type_name", but_alike(TYPES))
def test_every_op_policy_and_result_type(engines, type_name):
    ops = engines.ops_of(type_name)
    kinds = ("many_nans", "wide") if type_name in FLOATS else ("any_bits", "small")
    for kind, count in itertools.product(engines.choose(kinds, kinds[:1]), engines.choose((1000, 3), (300,))):
        data = gpu_data.make(type_name, count, kind)
        for nan, result_type in itertools.product(NAN_POLICIES, engines.choose((None, *TYPES), (None, "f64"))):
            engines.check_array(ops, type_name, data, kind, count, nan=nan, result_type=result_type)
        for ddof in (1, count):
            engines.check_array([op for op in ops if op in ("var", "std", "stats")], type_name, data, kind, ddof=ddof)


# ---- sizes and data ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("type_name", but_alike(TYPES))
def test_sizes_around_every_boundary(engines, type_name):
    kinds = ("normal", "wide", "full", "uniform") if type_name in FLOATS else ("any_bits", "small", "around_zero")
    for turn, count in enumerate(engines.choose(COUNTS, FEW_COUNTS)):
        kind = kinds[turn % len(kinds)]
        ops = engines.ops_of(type_name)
        data = gpu_data.make(type_name, count, kind)
        engines.check_array(ops[turn % 3::3] if count >= LONG else ops, type_name, data, kind, count)


@pytest.mark.slow
@pytest.mark.parametrize("type_name", but_alike(TYPES))
def test_kinds_of_data(engines, type_name):
    ops = engines.ops_of(type_name)
    counts = engines.choose((2, 33, 1000, 70001, 300007), (700, BLOCKS_NBYTES // nbytes_of(type_name)))
    for turn, (kind, count) in enumerate(itertools.product(gpu_data.kinds_of(type_name), counts)):
        data = gpu_data.make(type_name, count, kind, "kinds")
        for nan in NAN_POLICIES if "nan" in kind or kind == "any_bits" else NAN_POLICIES[:1]:
            engines.check_array(ops[turn % 3::3] if count >= LONG else ops, type_name, data, kind, count, nan=nan)


@pytest.mark.parametrize("type_name", but_slow(FLOATS, "f32", "f64"))
def test_many_chunks_of_few_warps(engines, type_name):
    """All kinds, by the warps of one block: what one chunk leaves behind meets the next, within a segment and beyond."""
    handle = wf.Handle("cuda:0", **ONE_BLOCK)
    kinds = engines.choose(tuple(gpu_data.kinds_of(type_name)), ("changing", "nans_and_negative_zeros"))
    for kind, turn in itertools.product(kinds, range(engines.choose(2, 1))):
        count = engines.choose(((1 << 20) + 77, (1 << 22) + 5), (60_000 // nbytes_of(type_name),))[turn]
        data = gpu_data.make(type_name, count, kind, "chunks", turn)
        on_host, on_device = wf.vector(data, type_name), engines.gpu_vector(data, type_name)
        for op, nan in itertools.product(engines.choose(all_ops_of(type_name), engines.ops_of(type_name)),
                                         engines.choose(NAN_POLICIES, NAN_POLICIES[:1])):
            if op == "prod" or (nan != NAN_POLICIES[0] and "nan" not in kind and
                                kind not in ("changing", "specials_often", "any_bits")):
                continue
            pair = 2 if op == "dot" else 1
            expected = outcome(engines.host, op, [on_host] * pair, nan=nan)
            agree(expected, outcome(handle, op, [on_device] * pair, nan=nan), op, type_name, kind, count, nan)


@needs_every_kernel
def test_many_chunks_on_newer_gpus(engines):
    """These have the copy engine, and comparisons of two bf16 at once, by which NaNs are found."""
    if engines.gpu.is_real:
        pytest.skip("a GPU is what it is")
    assert "1 passed" in report_on_newer_gpu(f"{__file__}::{test_many_chunks_of_few_warps.__name__}[bf16]")


@pytest.mark.parametrize("op, type_name, bits", [("argmax", "i8", 0x7f), ("argmin", "f32", 0xbf800000), ("argmax", "bf16", 0x7f80)])
def test_the_first_of_equal_extremes(engines, op, type_name, bits):
    """In chunks of several warps and blocks, of which one is looked at again in the end, and in what is no whole chunk."""
    nbytes, draw = nbytes_of(type_name), random.Random(op + type_name)
    count = 30_000 // nbytes
    handles = [wf.Handle("cuda:0", **LARGE_WAYS | {"WARPFOLD_CUDA_MULTIPROCESSORS": multiprocessors}) for multiprocessors in "12"]
    for turn in range(engines.choose(40, 12)):
        first = (0, count - 1, count // 2, *(draw.randrange(count) for _ in range(40)))[turn]
        data = bytearray(count * nbytes)
        for place in (first, *(draw.randrange(first, count) for _ in range(turn % 7 * 50))):
            data[place * nbytes:(place + 1) * nbytes] = bits.to_bytes(nbytes, "little")
        for offset in (0, 3):
            memory = engines.gpu.memory(bytes(offset * nbytes) + data)
            view = memory.vector(type_name, count, offset * nbytes)
            assert outcome(handles[turn % 2], op, [view]) == ("u64", first), (op, type_name, first, offset)


@pytest.mark.slow
@pytest.mark.parametrize("type_name", but_alike(FLOATS))
def test_bins_are_emptied_before_they_are_full(engines, type_name):
    """Every addition is the largest that a bin takes, as often as it takes it, and beyond."""
    handle = wf.Handle("cuda:0", **ONE_BLOCK)
    for op in engines.ops_of(type_name):
        count = {"f64": 1 << 18, "f32": 1 << 19}.get(type_name, 1 << 20) >> engines.choose(0, 1)
        parts = Parts(engines, op, type_name, count, "fullest")
        saved = []
        for each in (engines.host, handle):
            accumulator = each.accumulator(op, type_name)
            parts.add_to(accumulator, 0, count, on_device=each is handle)
            saved.append(accumulator.save())
        assert saved[0] == saved[1], op


@pytest.mark.slow
@pytest.mark.parametrize("type_name", FLOATS)
def test_a_dot_of_zeros_has_their_sign(engines, type_name):
    """Each product is a zero though half of each array is not."""
    sign, one = FLOATS[type_name].sign, {"f16": 0x3c00, "bf16": 0x3f80, "f32": 0x3f800000, "f64": 0x3ff << 52}[type_name]
    for count, last in itertools.product((2, 64, 600), (0, sign)):
        halves = [[one, sign] * (count // 2), [sign, one] * (count // 2 - 1) + [sign, last ^ sign ^ one]]
        pair = [pack(type_name, numbers) for numbers in halves]
        for handle in engines.devices:
            on_host = [wf.vector(data, type_name) for data in pair]
            on_device = [engines.gpu_vector(data, type_name) for data in pair]
            agree(outcome(engines.host, "dot", on_host), outcome(handle, "dot", on_device), type_name, count, last)


@pytest.mark.parametrize("type_name", ("f32", "f64", "i32", "i8"))
def test_large_arrays(engines, type_name):
    """Enough for every block of the GPU to have several tiles."""
    if not engines.gpu.is_real:
        pytest.skip("skipped: no GPU")
    for kind in ("full", "cancelling", "nan_last", "changing", "gradients", "any_bits") if type_name in FLOATS else ("any_bits", "one_stands_out"):
        data = gpu_data.make(type_name, (1 << 25) + 77, kind)
        engines.check_array(("sum", "argmax", "stats", "dot"), type_name, data, kind)


@pytest.mark.parametrize("op, type_name, kind, turns", [
    ("sum", "f64", "normal", 20000), ("sum", "f32", "normal", 3000), ("argmax", "i8", "any_bits", 3000),
    ("sum", "f64", "full", 3000), ("sum", "f64", "wide", 3000), ("var", "f64", "changing", 2000),
    ("norm2", "f32", "full", 3000), ("sum", "bf16", "changing", 3000)])
def test_the_same_again_and_again(engines, op, type_name, kind, turns):
    """Of an array that stays in the cache, from which the copy engine brings chunks soonest."""
    if not engines.gpu.is_real:
        pytest.skip("skipped: no GPU")
    data = gpu_data.make(type_name, 910000, kind)
    expected, array = engines.host.reduce(op, wf.vector(data, type_name)), engines.gpu_vector(data, type_name)
    large = engines.devices[1]
    assert {large.reduce(op, array) for _ in range(turns)} == {expected}


@pytest.mark.parametrize("type_name", but_slow(FLOATS, "f64", "bf16"))
def test_special_values_at_the_ends_of_small_arrays(engines, type_name):
    """NaNs and infinities before the first whole vector, after the last one, or in both: counted once each, found at their index.
    The other numbers few levels hold, or none; or all are -0, or every other one is 0."""
    form, nbytes = FLOATS[type_name], nbytes_of(type_name)
    nan, infinity = form.infinity + 1, form.infinity
    counts = engines.choose((3, 37, 1000, 5001, 70001, 300007), (37, BLOCKS_NBYTES // nbytes))
    kinds = engines.choose(("normal", "full", "negative_zeros", "zeros"), ("full", "negative_zeros"))
    for turn, (count, kind) in enumerate(itertools.product(counts, kinds)):
        ends = [((0, nan),), ((-1, nan),), ((0, nan), (-1, nan)), ((1, infinity), (-1, nan | form.sign)), ((-2, infinity | form.sign),)]
        for places in engines.choose(ends, [ends[turn % 2 + 2]]):
            numbers = gpu_data.make(type_name, count, kind, "ends")
            elements = [numbers[i * nbytes:(i + 1) * nbytes] for i in range(count)]
            for place, bits in places:
                elements[place] = bits.to_bytes(nbytes, "little")
            data, offset = b"".join(elements), nbytes * (1 - turn % 2)
            on_host = wf.vector(bytes(offset) + data, type_name, count, offset)
            on_device = engines.gpu.memory(bytes(offset) + data).vector(type_name, count, offset)
            for op, policy in itertools.product(engines.ops_of(type_name), NAN_POLICIES):
                pair = 2 if op == "dot" else 1
                expected = outcome(engines.host, op, [on_host] * pair, nan=policy)
                got = outcome(engines.devices[0], op, [on_device] * pair, nan=policy)
                agree(expected, got, op, type_name, kind, count, places, policy)


def nans_of_small_arrays(type_name, count):
    """By name, numbers with NaNs: the last one, one somewhere, all but one number, all, whose bits are all ones or all but the sign."""
    form, nbytes = FLOATS[type_name], nbytes_of(type_name)
    numbers = gpu_data.make(type_name, count, "full", "nans")
    ones, positive = ((1 << form.width) - 1).to_bytes(nbytes, "little"), (form.sign - 1).to_bytes(nbytes, "little")
    middle = count // 2 * nbytes
    return {"last": numbers[:-nbytes] + ones, "one": numbers[:middle] + positive + numbers[middle + nbytes:],
            "but one": ones * (count // 2) + numbers[middle:middle + nbytes] + positive * (count - count // 2 - 1),
            "all": ones * count, "all positive": positive * count}


@pytest.mark.parametrize("type_name", but_slow(FLOATS, "f64", "bf16"))
def test_nans_of_small_arrays_whose_results_stay_on_the_gpu(engines, type_name):
    """There a NaN decides a result, or is left out, without being counted."""
    for turn, count in enumerate(engines.choose((1, 37, 1000, 5001, 70001, 300007), (37, BLOCKS_NBYTES // nbytes_of(type_name)))):
        for name, data in nans_of_small_arrays(type_name, count).items():
            offset = nbytes_of(type_name) * (1 - turn % 2)
            on_host = wf.vector(data, type_name, count)
            on_device = engines.gpu.memory(bytes(offset) + data).vector(type_name, count, offset)
            ops = [op for op in engines.ops_of(type_name) if op != "stats"]
            for op, policy in itertools.product(ops, NAN_POLICIES):
                pair = 2 if op == "dot" else 1
                expected = outcome(engines.host, op, [on_host] * pair, nan=policy)
                got = outcome_on_device(engines, op, [on_device] * pair, handle=engines.devices[0], nan=policy)
                agree(expected.split(":")[0] if isinstance(expected, str) else expected, got, op, type_name, name, count, policy)


# ---- where elements lie ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("type_name", but_alike(TYPES))
def test_offsets(engines, type_name):
    """From aligned to odd addresses; a dot of arrays that are aligned each in its own way."""
    nbytes = nbytes_of(type_name)
    for count in engines.choose((1, 5, 33, 1000, 40007), (333, BLOCKS_NBYTES // nbytes)):
        data = gpu_data.make(type_name, count, "full" if type_name in FLOATS else "any_bits")
        for offset in engines.choose((*range(1, 18), 32, 127), (1, nbytes, 17)):
            moved = b"\xa5" * offset + data + b"\xa5" * 16
            on_host = [wf.vector(moved, type_name, count, offset), wf.vector(data, type_name, count)]
            on_device = [engines.gpu.memory(moved).vector(type_name, count, offset),
                         engines.gpu_vector(data, type_name)]
            for op in engines.ops_of(type_name):
                if offset % nbytes and op not in ODD:
                    continue
                pair = 2 if op == "dot" else 1
                engines.check(op, on_host[:pair], on_device[:pair], type_name, count, offset)


@pytest.mark.parametrize("type_name", but_slow(TYPES, *(name for name in TYPES if name not in ("bool", "i8", "f16"))))
def test_strides(engines, type_name):
    nbytes, ops = nbytes_of(type_name), engines.ops_of(type_name)
    for count in engines.choose((1, 17, 4100, 70001), (200,)):
        strides = (2 * nbytes, nbytes + 1, 64, 0, -nbytes, -nbytes - 1, -3 * nbytes)
        for turn, stride in enumerate(engines.choose(strides, strides[:1] + strides[4:5])):
            buffer = gpu_data.make(type_name, abs(stride) * count // nbytes + 2, "any_bits")
            start = 0 if stride >= 0 else -stride * (count - 1)
            on_host = [wf.strided(buffer, type_name, [count], [stride], start)] * 2
            on_device = [engines.gpu.memory(buffer).strided(type_name, [count], [stride], start)] * 2
            for op in ops[turn % 3::3] if count >= LONG else ops:
                pair = 2 if op == "dot" else 1
                engines.check(op, on_host[:pair], on_device[:pair], type_name, count, stride)


@pytest.mark.parametrize("type_name", but_alike(TYPES))
def test_views_of_many_dimensions(engines, type_name):
    draw = random.Random(type_name)
    buffer = gpu_data.make(type_name, 32768 // nbytes_of(type_name), "any_bits")
    memory = engines.gpu.memory(buffer)
    for _ in range(engines.choose(60, 2)):
        shape = [draw.choice((0, 1, 2, 3, 5, 8, 17)) for _ in range(draw.randint(0, 4))]
        places = [random_view(draw, type_name, shape, len(buffer)) for _ in range(2)]
        on_host = [wf.strided(buffer, type_name, shape, *place) for place in places]
        on_device = [memory.strided(type_name, shape, *place) for place in places]
        for op in engines.ops_of(type_name):
            pair = 2 if op == "dot" else 1
            engines.check(op, on_host[:pair], on_device[:pair], type_name, shape, places, nan="omit")


@pytest.mark.parametrize("type_name", ("u8", "f32", "f64"))
def test_a_transposed_matrix(engines, type_name):
    nbytes, rows, columns = nbytes_of(type_name), *engines.choose((700, 1300), (17, 23))
    data = gpu_data.make(type_name, rows * columns, "full" if type_name in FLOATS else "any_bits")
    memory = engines.gpu.memory(data)
    for shape, strides, offset in (
        ([columns, rows], [nbytes, columns * nbytes], 0),
        ([rows, columns // 2], [columns * nbytes, 2 * nbytes], nbytes),
        ([rows, columns], [-columns * nbytes, nbytes], (rows - 1) * columns * nbytes),
    ):
        for op in engines.ops_of(type_name):
            pair = 2 if op == "dot" else 1
            engines.check(op, [wf.strided(data, type_name, shape, strides, offset)] * pair,
                          [memory.strided(type_name, shape, strides, offset)] * pair, type_name, shape, strides)


def test_host_arrays_on_the_gpu(engines):
    """They are copied there; larger ones in pieces."""
    for type_name, count in itertools.product(("f32", "i8"), engines.choose((0, 1, 1000, 30_000_001), (0, 1, 1000))):
        view = wf.vector(gpu_data.make(type_name, count, "any_bits"), type_name)
        for op in set(engines.ops_of(type_name)) & {"sum", "argmax", "stats"}:
            engines.check(op, [view], [view], type_name, count, nan="omit")


def test_auto_takes_both_memories(engines):
    data = gpu_data.make("f32", 1000, "full")
    handle = wf.Handle("auto")
    expected = engines.host.reduce("sum", wf.vector(data, "f32"))
    assert handle.reduce("sum", wf.vector(data, "f32")) == expected
    assert handle.reduce("sum", engines.gpu_vector(data, "f32")) == expected
    assert handle.reduce("sum", wf.vector(data, "f32")) == expected


def test_counts_beyond_32_bits(engines):
    count = (1 << 32) + 17
    if not engines.gpu.is_real:
        pytest.skip("skipped: no GPU")
    if engines.gpu.free_nbytes() < count + (1 << 30):
        pytest.skip("skipped: no GPU with 5 GiB of free memory")
    memory = engines.gpu.empty(count, byte=1)
    memory.write(b"\x05", count - 1)
    memory.write(b"\x80", count - 3)
    view = memory.vector("i8")
    expected = {"sum": ("i64", count - 2 + 5 - 128), "argmax": ("u64", count - 1), "argmin": ("u64", count - 3),
                "min": ("i8", -128), "max": ("i8", 5), "nonzero": ("u64", count)}
    for op, right in expected.items():
        assert engines.device.reduce(op, view) == right, op


# ---- accumulators ------------------------------------------------------------------------------------


class Parts:
    """One or two arrays in both memories, added by ranges of elements."""

    def __init__(self, engines, op, type_name, count, kind, turn=0):
        self.type, self.names = type_name, ("a", "b")[:2 if op == "dot" else 1]
        self.add = "add_pair" if op == "dot" else "add"
        self.data = [gpu_data.make(type_name, count, kind, name, turn) for name in self.names]
        self.memories = [engines.gpu.memory(data) for data in self.data]

    def add_to(self, accumulator, start, end, on_device):
        offset = start * nbytes_of(self.type)
        if on_device:
            views = [memory.vector(self.type, end - start, offset) for memory in self.memories]
        else:
            views = [wf.vector(data, self.type, end - start, offset) for data in self.data]
        try:
            getattr(accumulator, self.add)(*views)
        except wf.WarpfoldError as error:
            if error.code != "WF_ERROR_NAN":
                raise


@pytest.mark.slow
@pytest.mark.parametrize("type_name", but_alike(FLOATS, ["bf16"]))  # f16 has significands that fit a word, too
def test_sums_of_a_few_binades_have_every_digit(engines, type_name):
    """No rounding hides what lies below the unit of a level."""
    if not engines.gpu.is_real and type_name == "bf16":
        pytest.skip("no GPU: on the simulator f16 alone, whose significands fit a word, too")
    ops = ("sum", *engines.choose(("norm1",), ()), "norm2", "var", "stats", "dot")  # stats has norm1's sum, too
    for turn, op in itertools.product(range(engines.choose(40, 6)), ops):
        count = (150, 700, 2500)[turn % 3]
        parts = Parts(engines, op, type_name, count, "binades", turn)
        saved = []
        for handle in (engines.host, *engines.devices):
            accumulator = handle.accumulator(op, type_name)
            parts.add_to(accumulator, 0, count, on_device=handle is not engines.host)
            saved.append(accumulator.save())
        assert saved[1:] == saved[:1] * 2, (op, type_name, turn)


@pytest.mark.slow
@pytest.mark.parametrize("type_name", but_alike(TYPES))
def test_accumulators_save_the_same_bytes(engines, type_name):
    """Whole on the CPU; in pieces on both, merged in any order."""
    for op, turn in itertools.product(engines.ops_of(type_name), range(engines.choose(6, 1))):
        draw = random.Random(f"{op} {type_name} {turn}")
        count = draw.choice(engines.choose((0, 1, 40, 1000, 5000, 70001), (150, 400)))
        kind = draw.choice(("full", "normal", "nan_middle", "both_infinities") if type_name in FLOATS else
                           ("any_bits", "small"))
        chosen = {"nan": draw.choice(NAN_POLICIES), "result_type": draw.choice((None, None, "f64", "f32")),
                  "ddof": draw.choice((0, 1))}
        first = draw.choice((0, 1, draw.getrandbits(20), draw.getrandbits(61)))
        parts = Parts(engines, op, type_name, count, kind)
        whole = engines.host.accumulator(op, type_name, first_index=first, **chosen)
        parts.add_to(whole, 0, count, on_device=False)
        made = []
        for start, end in cut(draw, 0, count, 4):
            on_device = draw.random() < 0.8
            handle = engines.device if on_device else engines.host
            part = handle.accumulator(op, type_name, first_index=first + start, **chosen)
            for low, high in cut(draw, start, end, 2):
                parts.add_to(part, low, high, on_device)
            made.append(handle.load(part.save()) if draw.random() < 0.3 else part)
        joined = merge_in_random_order(draw, op, made)
        context = op, type_name, turn, count, kind, chosen, first
        if chosen["nan"] == "error" and kind == "nan_middle":
            continue  # which elements behind the NaN were added is not told
        assert joined.save() == whole.save(), context


# ---- results that stay on the GPU --------------------------------------------------------------------


FILLER = 0xA5A5A5A5A5A5A5A5


def result_memory(engines):
    return engines.gpu.empty(ctypes.sizeof(wf.device_result), byte=0xA5)


def read_result(memory, op, type_name, result_type=None):
    """(value, status) as the GPU left them."""
    left = wf.device_result.from_buffer_copy(memory.read())
    number = wf.TYPE_BY_NAME[result_type] if result_type else wf.library.wf_op_result_type(
        wf.OP_BY_NAME[op], wf.TYPE_BY_NAME[type_name])
    nbytes = wf.library.wf_type_nbytes(number)
    assert left.bits >> 8 * nbytes == FILLER >> 8 * nbytes, "more was written than one element"
    return wf.value_of_bits(number, left.bits % 256**nbytes), left.status


def outcome_on_device(engines, op, views, handle=None, **chosen):
    """As outcome(); what a failure leaves as a value is checked."""
    memory = result_memory(engines)
    type_name = wf.TYPE_NAME[views[0].type]
    try:
        (handle or engines.device).reduce_on_device(op, memory.pointer, *views, **chosen)
    except wf.WarpfoldError as error:
        return error.code
    value, status = read_result(memory, op, type_name, chosen.get("result_type"))
    if not status:
        return wf.value_bits(value)
    assert math.isnan(wf.library.wf_value_to_double(value)) or wf.value_bits(value)[1] == 0, (op, status)
    return wf.ERRORS[status]


def result_types_of(op, type_name):
    """Each is a kernel of its own: the others differ by the rounding, which the CPU's tests cover.  It rounds an exact
    value of a float or an integer, whichever type's; that of f64 has more digits than a double holds on the way to f32."""
    asked = {"f32": ("f32", "i8"), "i8": ("f32", "i8"), "f64": ("f32",)} if EVERY_KERNEL else {"f32": ("i8",), "i8": ("f32",)}
    return (None, *asked.get(type_name, ())) if op in ("sum", "prod", "argmax") else (None,)


@pytest.mark.slow
@pytest.mark.parametrize("type_name", but_alike(TYPES))
def test_results_and_errors_left_on_the_gpu(engines, type_name):
    kinds = ("wide", "nan_last", "largest") if type_name in FLOATS else ("any_bits", "greatest", "small")
    counts = engines.choose((0, 1, 2, 1000, 70001), (0, 400, BLOCKS_NBYTES // nbytes_of(type_name)))
    policies = engines.choose(NAN_POLICIES, NAN_POLICIES[::2])
    for kind, count, nan in itertools.product(kinds, counts, policies):
        data = gpu_data.make(type_name, count, kind)
        on_host, on_device = wf.vector(data, type_name), engines.gpu_vector(data, type_name)
        ops = [op for op in engines.ops_of(type_name) if op != "stats"]
        for op, result_type in ((op, asked) for op in ops for asked in result_types_of(op, type_name)):
            pair = 2 if op == "dot" else 1
            expected = outcome(engines.host, op, [on_host] * pair, nan=nan, result_type=result_type)
            got = outcome_on_device(engines, op, [on_device] * pair, nan=nan, result_type=result_type)
            agree(expected.split(":")[0] if isinstance(expected, str) else expected, got, op, type_name, kind, count,
                  nan, result_type)


@pytest.mark.slow
@pytest.mark.parametrize("type_name", but_alike(TYPES))
def test_a_fill_on_the_gpu_is_for_results_without_a_value_alone(engines, type_name):
    """Of no elements, of too few for a variance, of NaNs that are left out; what fails otherwise fails with a fill, too."""
    ops = [op for op in engines.ops_of(type_name) if op not in ("stats", "prod")]
    kinds = ("normal", "nan_first", "nans_alone") if type_name in FLOATS else ("any_bits", "greatest")
    for kind, count in itertools.product(kinds, engines.choose((0, 1, 2, 3, 500, 70001), (0, 1, 2, 500))):
        nans = FLOATS[type_name].nan.to_bytes(nbytes_of(type_name), "little") * count if kind == "nans_alone" else None
        data = nans or gpu_data.make(type_name, count, "normal" if kind == "nans_alone" else kind)
        on_host, on_device = wf.vector(data, type_name), engines.gpu_vector(data, type_name)
        for op, nan in itertools.product(ops, NAN_POLICIES if type_name in FLOATS else NAN_POLICIES[:1]):
            pair = 2 if op == "dot" else 1
            for ddof in (0, 1, count, count + 1) if op in ("var", "std") else (0,):
                chosen = {"nan": nan, "ddof": ddof, "fill": wf.value_of_bits(wf.WF_U16, 1)}
                expected = outcome(engines.host, op, [on_host] * pair, **chosen)
                got = outcome_on_device(engines, op, [on_device] * pair, **chosen)
                agree(expected.split(":")[0] if isinstance(expected, str) else expected, got, op, type_name, kind, count, nan, ddof)


def test_what_cannot_stay_on_the_gpu_is_refused(engines):
    data = gpu_data.make("f32", 100, "normal")
    memory = engines.gpu.memory(data)
    assert outcome_on_device(engines, "sum", [wf.vector(data, "f32")]) == "WF_ERROR_ARGUMENT"
    assert memory.read() == data


def test_results_of_strided_arrays_stay_on_the_gpu(engines):
    data = gpu_data.make("f32", 6000, "normal")
    for shape, strides in (([50], [8]), ([20, 30], [400, 8]), ([40, 50], [200, -4]), ([3, 4], [0, 16])):
        offset = 200 if strides[-1] < 0 else 0
        here = wf.strided(data, "f32", shape, strides, offset)
        there = engines.gpu.memory(data).strided("f32", shape, strides, offset)
        for op in engines.choose(("sum", "argmax", "var", "prod"), ("sum", "prod")):
            agree(outcome(engines.host, op, [here]), outcome_on_device(engines, op, [there]), op, shape, strides)
    one = engines.gpu.memory(data).strided("f32", [1], [8])
    assert outcome_on_device(engines, "var", [one], ddof=1) == "WF_ERROR_EMPTY"


GRAPHS = (("sum", "f32"), ("sum", "f64"), ("sum", "i8"), ("max", "i32"), ("argmin", "f64"), ("var", "f32"),
          ("dot", "f16"), ("mean", "bf16"), ("prod", "i64"))


@pytest.mark.parametrize("op, type_name", GRAPHS)
def test_graphs(engines, op, type_name):
    """Captured after a first call; replayed over new numbers in the same memory."""
    if not engines.gpu.is_real:
        pytest.skip("skipped: no GPU")
    kind = "full" if type_name in FLOATS else "small"
    handle, stream = wf.Handle("cuda:0"), engines.gpu.stream()
    handle.set_stream(stream.pointer)
    for count in (1000, 70001, (1 << 20) + 3):
        memories = [engines.gpu.memory(gpu_data.make(type_name, count, kind, turn)) for turn in range(3)]
        views = [[memory.vector(type_name)] * (2 if op == "dot" else 1) for memory in memories]
        results = [result_memory(engines) for _ in memories]

        def reduce_all():
            for view, result in zip(views, results):
                handle.reduce_on_device(op, result.pointer, *view)

        reduce_all()
        replay = stream.capture(reduce_all)
        for turn in range(3):
            data = [gpu_data.make(type_name, count, kind, op, turn, place) for place in range(3)]
            for memory, numbers in zip(memories, data):
                memory.write(numbers)
            replay()
            stream.wait()
            for result, numbers in zip(results, data):
                value, status = read_result(result, op, type_name)
                expected = outcome(engines.host, op, [wf.vector(numbers, type_name)] * (2 if op == "dot" else 1))
                agree(expected, wf.ERRORS[status] if status else wf.value_bits(value), op, type_name, count, turn)


# ---- threads and streams -----------------------------------------------------------------------------


def test_threads_with_a_handle_and_a_stream_each(engines):
    reductions = [(op, type_name) for type_name in engines.choose(TYPES, ("f32", "i32")) for op in
                  set(engines.ops_of(type_name)) & {"sum", "argmax", "argmin", "var", "prod", "stats"}]
    count = engines.choose(50021, 300)
    data = {type_name: gpu_data.make(type_name, count, "full" if type_name in FLOATS else "small")
            for type_name in TYPES}
    memories = {type_name: engines.gpu.memory(data[type_name]) for type_name in {pair[1] for pair in reductions}}
    expected = {(op, type_name): outcome(engines.host, op, [wf.vector(data[type_name], type_name)])
                for op, type_name in reductions}

    def work(seed):
        draw = random.Random(seed)
        handle, stream = wf.Handle("cuda:0"), engines.gpu.stream()
        if seed % 2:
            handle.set_stream(stream.pointer)
        for op, type_name in draw.sample(reductions, len(reductions)):
            for _ in range(engines.choose(5, 1)):
                got = outcome(handle, op, [memories[type_name].vector(type_name)])
                agree(expected[op, type_name], got, op, type_name, "thread", seed)

    with ThreadPoolExecutor(engines.choose(8, 2)) as pool:
        list(pool.map(engines.in_context(work), range(engines.choose(16, 2))))


def test_a_handle_may_outlive_its_stream(engines):
    data = gpu_data.make("f32", 1000, "normal")
    memory, handle, stream = engines.gpu.memory(data), wf.Handle("cuda:0"), engines.gpu.stream()
    handle.set_stream(stream.pointer)
    result = result_memory(engines)
    handle.reduce_on_device("sum", result.pointer, memory.vector("f32"))
    del stream
    del handle
    value, status = read_result(result, "sum", "f32")
    assert (wf.value_bits(value), status) == (outcome(engines.host, "sum", [wf.vector(data, "f32")]), 0)


# ---- the command line --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def file_of(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gpu")

    def write(type_name, count, kind, is_npy):
        data = gpu_data.make(type_name, count, kind)
        path = folder / f"{type_name}-{count}-{kind}.{'npy' if is_npy else 'raw'}"
        order = "|" if nbytes_of(type_name) == 1 else "<"
        path.write_bytes((npy_header(npy_text(order + DESCRIPTIONS[type_name], [count])) if is_npy else b"") + data)
        return path

    return write


def printed_on(device, *arguments):
    done = run(*arguments, "--device", device)
    return done.returncode, done.stdout, done.stderr


def test_files(engines, file_of, tmp_path):
    """One or several, saved too: the CPU's output."""
    cases = [("sum", "f32", "full"), ("stats", "f32", "nan_middle"), ("argmax", "i8", "any_bits"),
             ("dot", "f64", "wide"), ("sum", "i64", "greatest"), ("mean", "f16", "normal"), ("min", "f32", "largest")]
    for op, type_name, kind in cases:
        if op not in engines.ops_of(type_name):
            continue
        for count, is_npy in itertools.product(engines.choose((0, 1000, 20_000_003), (0, 500)), (True, False)):
            files = [file_of(type_name, count, kind, is_npy), file_of(type_name, count, kind, is_npy)]
            words = [op, *files] + ([] if is_npy else ["--format", "raw", "--type", type_name])
            assert printed_on("cuda", *words) == printed_on("cpu", *words), (op, type_name, count, is_npy)
    saved = []
    words = ["sum", "--format", "raw", "--type", "f32", file_of("f32", 1000, "full", False)]
    for device in ("cuda", "cpu"):
        saved.append(tmp_path / device)
        assert printed_on(device, *words, "--save", saved[-1])[0] == 0
    assert saved[0].read_bytes() == saved[1].read_bytes()


def test_auto_keeps_files_on_the_cpu(engines, file_of):
    words = ["sum", "--verbose", file_of("f32", 1000, "full", True)]
    status, text, said = printed_on("auto", *words)
    assert (status, text) == printed_on("cpu", "sum", words[-1])[:2]
    assert "cpu" in said


# ---- all GPUs together ---------------------------------------------------------------------------------


def test_all_gpus_take_arrays_of_either_memory(engines):
    together = wf.Handle("cuda:all")
    assert together.device.startswith("cuda:all: ")
    data = gpu_data.make("f32", 300_000, "nan_last")
    for shape, strides in (([300_000], [4]), ([100_000], [-12]), ([500, 200], [2400, 8]), ([2, 70_000], [4, 8]), ([], [])):
        offset = 4 * 299_999 if strides and strides[0] < 0 else 0
        here = wf.strided(data, "f32", shape, strides, offset)
        there = engines.gpu.memory(data).strided("f32", shape, strides, offset)
        for op, nan in itertools.product(("sum", "argmax"), ("omit", "error")):
            expected = outcome(engines.host, op, [here], nan=nan)
            for view in (here, there):
                got = outcome(together, op, [view], nan=nan)
                agree(expected, got, op, shape, strides, nan, view is here)
