"""Runs every production kernel on the first GPU over small arrays and compares with the CPU: what
lab/sanitize-gpu has compute-sanitizer watch.

    gpu_kernels.py [PART PARTS]     one of several parts, so that they can run beside each other; all, if not named
    gpu_kernels.py OP TYPE          one reduction
    gpu_kernels.py groups           a few reductions by groups, for the simulator
    gpu_kernels.py keys             a sum and a dot product by key, for the simulator
    gpu_kernels.py large            sums by key of so many elements that these are sorted by ranges of keys first, or sampled
"""

import ctypes
import random
import sys
from array import array
from ctypes import byref
from pathlib import Path

import pytest

sys.path.insert(1, str(Path(__file__).resolve().parent / "helpers"))

import gpu_data  # noqa: E402
import warpfold_ctypes as wf  # noqa: E402
from gpu_memory import Gpu, why_none  # noqa: E402
from gpu_pair import Pair  # noqa: E402
from group_helpers import Laid, integer_vector, operands  # noqa: E402
from oracle import FLOATS, TYPES, ops_of  # noqa: E402
from samples import agree, nbytes_of, outcome  # noqa: E402
from test_gpu import Engines, outcome_on_device  # noqa: E402
from warpfold_ctypes import library  # noqa: E402

COUNTS = (1, 33, 1000, 20011)
SIMULATED_GROUPS = (("sum", "f32"), ("argmin", "f64"))  # on the simulator, where compiling and running take long
KEYED = (("sum", "f32"), ("dot", "i8"))  # by tables, and without where these fail; by positions that are sorted
LARGE = (("sum", "f32"), ("sum", "f64"))


def reductions():
    return [(op, type_name) for type_name in TYPES for op in [*ops_of(type_name), "dot", "stats"]]


def views(engines, type_name, count):
    """The same elements as they lie best, at an odd address, and with gaps between them."""
    nbytes = nbytes_of(type_name)
    data = gpu_data.make(type_name, count, "full" if type_name in FLOATS else "small")
    memory = engines.gpu.memory(bytes(1) + data)
    yield wf.vector(data, type_name), engines.gpu_vector(data, type_name)
    yield wf.vector(data, type_name), memory.vector(type_name, count, 1)
    half = (count + 1) // 2
    yield (wf.strided(data, type_name, [half], [2 * nbytes]),
           memory.strided(type_name, [half], [2 * nbytes], 1))


def check(engines, op, type_name):
    for count in COUNTS:
        for turn, (on_host, on_device) in enumerate(views(engines, type_name, count)):
            pair = 2 if op == "dot" else 1
            engines.check(op, [on_host] * pair, [on_device] * pair, type_name, count, turn)
            if on_host.shape and on_host.stride_bytes[0] != nbytes_of(type_name):
                continue
            call = engines.host.reduce_pair if op == "dot" else engines.host.reduce
            agree(outcome(call, op, *[on_host] * pair), outcome_on_device(engines, op, [on_device] * pair), op,
                  type_name, count, turn, "on the GPU")


def check_groups(pair, op, type_name):
    """Rows, columns, both cut into pieces, or held in registers by teams, and keys, of which one has most elements."""
    rng = random.Random(f"{op} {type_name}")
    by_teams = (((300, 100), 2), ((1100, 140), 1), ((50_000, 3), 1)) if pair.gpu.is_real else ()
    for shape, axes in (((40, 7), 2), ((40, 37), 1), ((3, 9000), 2), ((9000, 3), 1), *by_teams):
        arrays = [Laid(type_name, shape, rng, "wild", plain=True) for _ in range(2)]
        pair.check(op, library.wf_groups_axes(axes), operands(op, *arrays), shape, axes, nan="omit")
    check_keys(pair, op, type_name, rng)


def check_keys(pair, op, type_name, rng):
    arrays = [Laid(type_name, (20000,), rng, "wild", plain=True) for _ in range(2)]
    keys = integer_vector([rng.choice([0, 0, rng.randrange(50)]) for _ in range(20000)], "i32")
    pair.check(op, library.wf_groups_keys(0, 50, byref(keys)), operands(op, *arrays), "keys", nan="omit")


def masked_words(rng, count, nbytes, kept, put):
    """Random words of which some bits are kept and others put, made without a loop."""
    kept, put = (int.from_bytes(bits.to_bytes(nbytes, "little") * count, "little") for bits in (kept, put))
    random_bits = int.from_bytes(rng.randbytes(nbytes * count), "little")
    return (random_bits & kept | put).to_bytes(nbytes * count, "little")


def results_of(handle, value_nbytes, groups, values, keys):
    """The bytes of the sums by key, in the host's memory."""
    results = bytearray(groups * value_nbytes)
    memory = (ctypes.c_char * len(results)).from_buffer(results)
    lengths, asked = (ctypes.c_int64 * 1)(groups), wf.reduction("sum")
    output = wf.wf_output(data=ctypes.addressof(memory), type=values.type, ndim=1, shape=lengths)
    by_key = library.wf_groups_keys(0, groups, byref(keys))
    handle.check(library.wf_reduce(handle.pointer, byref(asked), byref(values), None, byref(by_key), byref(output)))
    return bytes(results)


def check_large(pair, type_name):
    """Numbers of 1 to 2, of either sign, by so many keys that the L2 cache has no room for all, with records of 8 and of 16 bytes;
    sorted ones among them, and such with some out of place; and by few, where an element of which the sample does not tell is
    larger than grids hold."""
    rng, log2 = random.Random(f"large {type_name}"), 22 if pair.gpu.is_real else 17
    nbytes, exponent = {"f32": 4, "f64": 8}[type_name], {"f32": 0x7f << 23, "f64": 0x3ff << 52}[type_name]
    count = (1 << log2) + 1000
    data = masked_words(rng, count, nbytes, (1 << (8 * nbytes - 1)) | (exponent & -exponent) - 1, exponent)
    for groups, order, way in ((1 << log2, "random", b" buckets of "), (1 << log2, "sorted", b", short ones in the same pass"),
                               (1 << log2, "mostly sorted", b", short ones in the same pass"),
                               (256, "random", b", laid out by a sample")):
        keys = array("I", masked_words(rng, count, 4, groups - 1, 0))
        if order != "random":
            keys = array("I", sorted(keys))
        for i in rng.sample(range(count), count // 1000 if order == "mostly sorted" else 0):
            keys[i] = rng.randrange(groups)
        keys = keys.tobytes()
        expected = results_of(pair.host, nbytes, groups, wf.vector(data, type_name), wf.vector(keys, "u32"))
        there, labels = (pair.gpu.memory(data).vector(type_name, count), pair.gpu.memory(keys).vector("u32", count))
        assert results_of(pair.device, nbytes, groups, there, labels) == expected
        assert way in library.wf_handle_plan(pair.device.pointer)
        data = data[:9 * nbytes] + (exponent + (exponent & -exponent) * 50).to_bytes(nbytes, "little") + data[10 * nbytes:]


def chosen_reductions(part, parts):
    """Those of a part of several, or the one that the two words name."""
    if parts in TYPES:
        return [(part, parts)]
    return reductions()[int(part)::int(parts)]


def main(part=0, parts=1):
    reason = why_none()
    if reason:
        sys.exit(f"gpu_kernels: skipped: {reason}")
    with pytest.MonkeyPatch.context() as monkeypatch:
        gpu = Gpu(monkeypatch)
        engines, pair = Engines(gpu), Pair(gpu)
        named = {"groups": SIMULATED_GROUPS, "keys": KEYED, "large": LARGE}
        chosen = named.get(part) or chosen_reductions(part, parts)
        for op, type_name in chosen:
            if part == "large":
                check_large(pair, type_name)
            if part == "keys":
                check_keys(pair, op, type_name, random.Random(op))
            if part == "groups" or (part not in named and gpu.is_real and op != "stats"):
                check_groups(pair, op, type_name)
            if part not in named:
                check(engines, op, type_name)
        gpu.close()
    print(f"{len(chosen)} reductions: the GPU gives the CPU's bits")


if __name__ == "__main__":
    main(*sys.argv[1:])
