"""Reductions by groups on the CPU, NumPy beside them: time and error on the same data, in the same run.

    groups.py BUILD [--quick] [--threads N] [--groups axes segments keys] [--types float32 ...] [--ops sum ...] [--json FILE]

prints a table: milliseconds of warpfold, its share of what the whole array takes with the same op and threads,
milliseconds of NumPy and, by key, of its add.at and maximum.at, and NumPy's worst error in units in the last place where
results are floats (warpfold's is 0.5).
FILE is what groups_table.py makes the tables of docs/performance-groups.md of. Some groups' results are compared with the whole-array reduction of their elements, bit for bit, before anything is
timed.
"""

import argparse
import contextlib
import ctypes
import math
import os
import statistics
import sys
import time
import warnings
from ctypes import byref
from pathlib import Path

import numpy as np

import groups_table

ROOT = Path(__file__).resolve().parent.parent
TYPES = {"float16": "f16", "float32": "f32", "float64": "f64", "int8": "i8", "int16": "i16", "int32": "i32",
         "int64": "i64"}
ROUNDS = 5


def library_of(build):
    os.environ["WARPFOLD_LIB"] = str(Path(build).resolve() / "libwarpfold.so")
    for folder in (ROOT / "tests" / "helpers", ROOT / "tests"):
        sys.path.insert(0, str(folder))
    import warpfold_ctypes
    return warpfold_ctypes


class Case:
    """An array and its groups."""

    def __init__(self, wf, name, array, groups, numpy, members, kept=(), at=lambda op: None, other=None,
                 nan="propagate"):
        self.wf, self.name, self.array, self.groups, self.numpy, self.members = wf, name, array, groups, numpy, members
        self.at = at # NumPy's other way, or None
        self.kept = kept # what the groups point to
        self.other = other # what dot multiplies the array by
        self.nan = nan # what is done with NaNs
        self.view, self.other_view = self.view_of(array), other is not None and self.view_of(other)

    def view_of(self, array):
        return self.wf.array_nd(array.ctypes.data, TYPES[array.dtype.name], array.shape, array.strides)

    def serves(self, op):
        return (op != "dot" or self.other is not None) and (op != "prod" or self.array.dtype.kind == "f")

    def output(self, op):
        wf = self.wf
        shape = wf.groups_shape(self.view, self.groups)
        type_number = wf.library.wf_op_result_type(wf.OP_BY_NAME[op], self.view.type)
        dtype = {"f16": "f2", "f32": "f4", "f64": "f8", "i64": "i8", "u64": "u8", "i8": "i1", "i16": "i2", "i32": "i4",
                 "bool": "?"}
        results = np.empty(shape, dtype[wf.TYPE_NAME[type_number]])
        lengths = (ctypes.c_int64 * len(shape))(*shape)
        return results, wf.wf_output(data=results.ctypes.data, type=type_number, ndim=len(shape), shape=lengths)

    def reduce(self, handle, op):
        results, output = self.output(op)
        asked, fill = self.wf.reduction(op, nan=self.nan), self.wf.value_of_bits(self.wf.WF_U8, 0)
        asked.fill = ctypes.pointer(fill)  # of many random keys some have no element
        handle.check(self.wf.library.wf_reduce(
            handle.pointer, byref(asked), byref(self.view), byref(self.other_view) if op == "dot" else None,
            byref(self.groups), byref(output)))
        return results

    def reduce_all(self, handle, op):
        flat = [self.wf.array_nd(array.ctypes.data, TYPES[array.dtype.name], (array.size,))
                for array in (self.array, self.other)[:2 if op == "dot" else 1]]
        return handle.reduce(op, *flat, threads=handle.threads, nan=self.nan)

    def check(self, handle, op):
        """A few groups by themselves give the same bits."""
        results = self.reduce(handle, op).reshape(-1)
        for g in {0, results.size // 2, results.size - 1}:
            arrays = (self.array, self.other)[:2 if op == "dot" else 1]
            members = [np.ascontiguousarray(self.members(g, array)) for array in arrays]
            if not members[0].size:
                continue
            vectors = [self.wf.vector(bytearray(some.tobytes()), TYPES[some.dtype.name]) for some in members]
            alone = handle.reduce(op, *vectors, nan=self.nan)
            bits = results[g:g + 1].view(f"u{results.itemsize}")[0]
            assert bits == alone[1] % 256**results.itemsize or op.startswith("arg"), (self.name, op, g)


def median_of(call):
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def worst_ulp(results, others):
    if results.dtype.kind != "f":
        return None
    exact, found = results.astype("f8").reshape(-1), np.asarray(others, "f8").reshape(-1)
    some = np.isfinite(exact) & np.isfinite(found)
    spacing = np.spacing(np.abs(results)).astype("f8").reshape(-1)
    return float(np.max(np.abs(found[some] - exact[some]) / spacing[some], initial=0))


def axis_cases(wf, rng, dtype, scale):
    shapes = [((4, 2**20), 1), ((2**11, 2**11), 1), ((2**16, 64), 1), ((2**18, 16), 1), ((2**20, 4), 1),
              ((2**21, 2), 1), ((2**22, 1), 1), ((2**11, 2**11), 0), ((2**16, 64), 0), ((2**20, 4), 0), ((1, 4, 2**18), 1), ((1, 16, 2**16), 1),
              ((2**14, 64), 1), ((2**12, 256), 1), ((2**6, 2**14), 0), ((2**6, 64, 256), 1), # of as many elements as dot takes
              ((16, 512, 512), 1), ((2**14, 4, 16), 1), ((2**12, 16, 16), 1), ((2**10, 256, 4), 1)]
    if dtype == "float64": # equally spaced, so that many means lie half-way between two f64
        shapes += [((2**6, 10, 1000), 1), ((2**16, 10), 1)]
    for shape, axis in shapes:
        is_spaced = 10 in shape
        shape = (shape[0] * scale, *shape[1:])
        array = (rng.random(shape) if is_spaced else rng.standard_normal(shape) * 100).astype(dtype)
        yield axis_case(wf, f"{shape} axis {axis}{', spaced' if is_spaced else ''}", array, np.roll(array, 1), axis)
    for axis in (0, 1):
        array = (rng.standard_normal((2**10 * scale, 2**11)) * 100).astype(dtype)
        yield axis_case(wf, f"{array.shape}[:, ::2] axis {axis}", array[:, ::2], np.roll(array, 2)[:, ::2], axis)
    for shape, axis in (((2**20, 4), 1), ((2**18, 16), 1), ((4, 2**20), 0), ((16, 2**18), 0)) if dtype.startswith("f") else ():
        array = values_of_kind(rng, "NaN", math.prod(shape), dtype).reshape(shape)
        yield axis_case(wf, f"NaN {shape} axis {axis}", array, np.roll(array, 1), axis)
    left_out = [("NaN", (4, -1), 0), # of other kinds some columns would have nothing but NaNs
                *((kind, *of) for kind in ("NaN", "half NaN", "any bits") for of in (((-1, 2**10), 0), ((-1, 64), 1), ((-1, 256), 1))),
                ("NaN", (-1, 16), 1)]
    for rows in (2, 16) if dtype.startswith("f") else (): # whose squares and products few f64 hold
        array = values_of_kind(rng, "any bits", 2**20 * scale, dtype).reshape(rows, -1)
        yield axis_case(wf, f"any bits {array.shape} axis 0", array, np.roll(array, 1), 0)
    outliers = ((2**14, 64), 1), ((2**10, 2**10), 1), ((2**10, 2**10), 0), ((4, 2**18), 0)
    for shape, axis in outliers if dtype in ("float32", "float64") else ():
        array = values_of_kind(rng, "outliers", math.prod(shape), dtype).reshape(shape)
        yield axis_case(wf, f"outliers {shape} axis {axis}", array, np.roll(array, 1), axis)
    for kind, shape, axis in left_out if dtype.startswith("f") else ():
        array = values_of_kind(rng, kind, 2**20 * scale, dtype).reshape(shape)
        yield axis_case(wf, f"{kind}, left out, {array.shape} axis {axis}", array, np.roll(array, 1), axis, nan="omit")


def axis_case(wf, name, array, other, axis, nan="propagate"):
    numpy = numpy_along if nan == "propagate" else numpy_without_nans
    return Case(wf, name, array, wf.library.wf_groups_axes(1 << axis), lambda op: numpy(op, array, other, axis),
                lambda g, a: np.moveaxis(a, axis, -1).reshape(-1, a.shape[axis])[g], other=other, nan=nan)


def numpy_along(op, array, other, axis):
    if op != "dot":
        return getattr(np, op)(array, axis=axis)
    return np.einsum("...i,...i->...", np.moveaxis(array, axis, -1), np.moveaxis(other, axis, -1))


def numpy_without_nans(op, array, other, axis):
    """None where NumPy has no such function, or no index for a group that is NaN alone."""
    with warnings.catch_warnings(), contextlib.suppress(ValueError, AttributeError):
        warnings.simplefilter("ignore")
        return getattr(np, f"nan{op}")(array, axis=axis)
    return None


def keys_in_order(rng, order, count, key_count):
    if order == "skewed":
        return (rng.random(count)**4 * key_count).astype(np.int64)
    keys = rng.integers(0, key_count, count, dtype=np.int64)
    return np.sort(keys) if order == "sorted" else keys


def values_of_kind(rng, kind, count, dtype):
    """normal; NaN: one in a thousand; half NaN: one in two; wide: over more binades than a few levels hold; outliers: one in a
    thousand far above or below the others; any bits."""
    if kind == "any bits":
        return np.frombuffer(rng.bytes(count * np.dtype(dtype).itemsize), dtype)
    values = rng.standard_normal(count) * 100
    if kind == "wide":
        values *= np.exp2(rng.integers(-100, 100, count))
    if kind == "outliers":
        values *= np.where(rng.random(count) < 1e-3, np.exp2(rng.choice([-110.0, 110.0], count)), 1)
    if kind.endswith("NaN"):
        values[rng.random(count) < (0.5 if kind == "half NaN" else 1e-3)] = np.nan
    return values.astype(dtype)


def numpy_by_key(op, array, keys, key_count):
    if op == "sum":
        return np.bincount(keys, array, key_count)
    if op == "mean":
        return np.bincount(keys, array, key_count) / np.bincount(keys, minlength=key_count)
    if op == "var":
        counts, values = np.maximum(np.bincount(keys, minlength=key_count), 1), array.astype("f8")
        means = np.bincount(keys, values, key_count) / counts
        return np.bincount(keys, (values - means[keys])**2, key_count) / counts
    return None


def numpy_at(op, array, keys, key_count):
    """What np.add.at and np.maximum.at make of accumulators of the array's type."""
    if op == "sum":
        results = np.zeros(key_count, array.dtype)
        np.add.at(results, keys, array)
    elif op == "max":
        least = -np.inf if array.dtype.kind == "f" else np.iinfo(array.dtype).min
        results = np.full(key_count, least, array.dtype)
        np.maximum.at(results, keys, array)
    else:
        return None
    return results


def key_cases(wf, rng, dtype, scale):
    most = 2**22 * scale
    plans = [(most, key_count, order, "normal") for key_count in (1, 10, 1000, 10**5, 10**6, most)
             for order in ("random", "sorted", "skewed")]
    plans += [(count, key_count, "random", "normal") for count, key_count in
              ((10**4, 10), (10**4, 10**4), (10**5, 10**5), (10**6, 10**5))]
    kinds = ["NaN", "wide", "outliers", "any bits"] if dtype in ("float32", "float64") else []
    for count, key_count, order, kind in plans + [(most, n, "random", kind) for kind in kinds for n in (1000, 10**5)]:
        array, keys = values_of_kind(rng, kind, count, dtype), keys_in_order(rng, order, count, key_count)
        labels = wf.array_nd(keys.ctypes.data, "i64", keys.shape)
        groups = wf.library.wf_groups_keys(0, key_count, byref(labels))
        yield Case(wf, f"{kind} {count} by {key_count} keys, {order}", array, groups,
                   lambda op, a=array, k=keys, n=key_count: numpy_by_key(op, a, k, n),
                   lambda g, a, k=keys: a[k == g], (keys, labels),
                   lambda op, a=array, k=keys, n=key_count: numpy_at(op, a, k, n))


def segment_plans(rng, count):
    """Names and offsets: equal ones, different ones, and one that has half of the elements among ones of 1 to 100."""
    for length in (4, 64, 300, 4096):
        yield f"segments of {length}", np.arange(0, count + 1, length, dtype=np.int64)
    for shortest, longest in ((1, 8), (1, 20), (100, 300)):
        ends = np.cumsum(rng.integers(shortest, longest + 1, 2 * count // (shortest + longest)))
        yield f"segments of {shortest} to {longest}", np.concatenate([[0], ends[ends <= count]])
    tiny = np.cumsum(rng.integers(1, 101, count // 50))
    tiny = np.concatenate([[0], tiny[tiny <= count // 2]])
    yield "segments of 1 to 100", tiny
    yield f"segments of 1 to 100, one of {count // 2} among them", \
        np.concatenate([tiny[:tiny.size // 2], tiny[tiny.size // 2:] + count // 2])


def numpy_over_segments(op, array, offsets):
    begins, counts = offsets[:-1], np.diff(offsets)
    if op == "max":
        return np.maximum.reduceat(array, begins)
    if op == "sum":
        return np.add.reduceat(array, begins)
    means = np.add.reduceat(array, begins) / counts if op in ("mean", "var") else None
    return np.add.reduceat((array - np.repeat(means, counts))**2, begins) / counts if op == "var" else means


def segment_cases(wf, rng, dtype, scale):
    count = 2**22 * scale
    array = (rng.standard_normal(count) * 100).astype(dtype)
    for name, offsets in segment_plans(rng, count):
        used = array[:offsets[-1]]
        labels = wf.array_nd(offsets.ctypes.data, "i64", offsets.shape)
        groups = wf.library.wf_groups_segments(0, offsets.size - 1, byref(labels))
        yield Case(wf, f"{used.size} in {name}", used, groups,
                   lambda op, a=used, o=offsets: numpy_over_segments(op, a, o),
                   lambda g, a, o=offsets: a[o[g]:o[g + 1]], (offsets, labels))


def measure(case, handle, op):
    case.check(handle, op)
    whole, grouped = (median_of(lambda f=f: f(handle, op)) for f in (case.reduce_all, case.reduce))
    peer = case.numpy(op)
    ulp = None if peer is None or op.startswith("arg") else worst_ulp(case.reduce(handle, op), peer)
    numpy = median_of(lambda: case.numpy(op)) if peer is not None else None
    other = median_of(lambda: case.at(op)) if case.at(op) is not None else None
    words = [f"{grouped * 1e3:.3g}", f"{whole / grouped:.2f}", "" if numpy is None else f"{numpy * 1e3:.3g}",
             "" if other is None else f"{other * 1e3:.3g}",
             "" if ulp is None else f"{ulp:.3g}"]
    print(f"| {case.array.dtype.name} {case.name} | {op} | {' | '.join(words)} |", flush=True)
    return {"groups": case.name, "op": op, "type": TYPES[case.array.dtype.name], "share": whole / grouped,
            "ratio": None if numpy is None else numpy / grouped}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--quick", action="store_true", help="a quarter of the data and one type")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--groups", nargs="+", choices=("axes", "segments", "keys"), default=["axes", "segments", "keys"])
    parser.add_argument("--types", nargs="+", choices=TYPES)
    parser.add_argument("--ops", nargs="+", default=["sum", "mean", "max", "argmax", "var", "dot", "prod"])
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    wf = library_of(chosen.build)
    handle, rng = wf.Handle(), np.random.default_rng(1)
    handle.threads = chosen.threads
    handle.set_threads(chosen.threads)
    print("| array, groups | op | ms | share of whole | NumPy ms | its ufunc.at ms | NumPy's worst error, ulp |\n"
          "|---|---|--:|--:|--:|--:|--:|")
    kinds = {"axes": axis_cases, "segments": segment_cases, "keys": key_cases}
    rows = []
    for dtype in chosen.types or (("float32",) if chosen.quick else TYPES):
        for cases in map(kinds.get, chosen.groups):
            for case in cases(wf, rng, dtype, 1 if chosen.quick else 4):
                for op in filter(case.serves, chosen.ops):
                    rows.append(measure(case, handle, op))
    if chosen.json:
        groups_table.write(chosen.json, "cpu", f"{wf.device_text('cpu')}, {chosen.threads} used; NumPy {np.__version__}", rows)


if __name__ == "__main__":
    main()
