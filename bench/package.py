"""The Python package beside NumPy (and math.fsum, bottleneck, numbagg, torch where they are): time and error of a call.

    package.py BUILD [--quick]

prints a table in markdown: for each call, nanoseconds of warpfold, and of each peer how many times as long it takes and
its error in units in the last place.  "Worst": how many times as long warpfold takes where the elements are of a worse
kind, random bits of finite numbers or half of them subnormal, whichever takes longer.  Up to 10^5 elements warpfold's result is compared with exact fractions before
anything is timed, and must be at most 0.5 off; beyond that, errors are told against warpfold's.  Calls are timed in turns;
the least of the rounds is shown, which a busy machine disturbs least.
"""

import argparse
import importlib
import math
import sys
import timeit
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np


def exact(op, a):
    """The exact result of a vector, as a fraction; None where the peers are exact, too."""
    if a.dtype.kind != "f" or op not in ("sum", "mean"):
        return None
    total = sum(map(Fraction, a.tolist()))
    return total / (len(a) if op == "mean" else 1)


PEERS = ("NumPy", "fsum", "bottleneck", "numbagg", "torch")


def library(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def peers_of(op, a, axis):
    """Functions without arguments, by name; torch's tensors are made before."""
    options = {} if axis is None else {"axis": axis}
    named = {"NumPy": partial(getattr(np, op), a, **options)}
    if op == "sum" and a.ndim == 1 and a.size <= 10_000_000:
        named["fsum"] = partial(math.fsum, a)
    for name in ("bottleneck", "numbagg"):
        function = getattr(library(name), f"nan{op}", None)
        if function:
            named[name] = partial(function, a, **options)
    torch = library("torch")
    if torch and op in ("sum", "mean", "max", "argmax") and (a.dtype.kind == "f" or op != "mean"):
        named["torch"] = partial(getattr(torch, op if op != "max" or axis is None else "amax"), torch.from_numpy(a),
                                 **options)
    return named


def keyed_peers_of(ids, weights, count):
    named = {"NumPy": partial(np.bincount, ids, weights, count)}
    numbagg, torch = library("numbagg"), library("torch")
    if numbagg:
        named["numbagg"] = partial(numbagg.group_nansum, weights, ids, num_labels=count)
    if torch:
        zeros, index, source = torch.zeros(count, dtype=torch.float64), torch.from_numpy(ids), torch.from_numpy(weights)
        named["torch"] = lambda: zeros.zero_().index_add_(0, index, source)
    return named


def error_in_ulp(result, value, dtype):
    result = np.dtype(dtype).type(result)  # some peers give Python's floats
    nearest = result.dtype.type(value.numerator / value.denominator)
    return float(abs(Fraction(float(result)) - value) / Fraction(float(np.spacing(np.abs(nearest)))))


def measure(functions, rounds):
    """The least time of a call, of rounds of 3 ms or more each; the first call, which may compile, is not timed."""
    timers, calls = {name: timeit.Timer(function) for name, function in functions.items()}, {}
    for name, timer in timers.items():
        timer.timeit(1)
        calls[name] = 1
        while timer.timeit(calls[name]) < 0.003:
            calls[name] *= 3
    best = dict.fromkeys(timers, math.inf)
    for _ in range(rounds):
        for name, timer in timers.items():
            best[name] = min(best[name], timer.timeit(calls[name]) / calls[name])
    return best


def time_text(seconds):
    for unit, size in (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3)):
        if seconds < 1000 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def worse(a):
    """Arrays like a, of floats: of every exponent, and with subnormals in every other place."""
    if a.dtype.kind != "f" or a.size > 10_000_000:
        return []
    rng, unsigned = np.random.default_rng(2), np.dtype(f"u{a.itemsize}")
    bits = rng.integers(0, np.iinfo(unsigned).max, a.shape, unsigned)
    wide, subnormal = bits.view(a.dtype).copy(), a.copy()
    wide[~np.isfinite(wide)] = 1
    subnormal.reshape(-1)[::2] = np.finfo(a.dtype).smallest_subnormal
    return [wide, subnormal]


def cells(label, ours, peers, rounds, value=None, dtype=None, worst=()):
    """A row of the table; value: the result to compare with, as a fraction, or None; dtype: the results'; worst: warpfold's
    calls of the same with worse elements."""
    best = measure({"warpfold": ours, **peers, **dict(enumerate(worst))}, rounds)
    slowest = max((best[i] for i in range(len(worst))), default=None)
    made = [label, time_text(best["warpfold"]), f"{slowest / best['warpfold']:.2g}" if slowest else ""]
    for name in PEERS:
        if name not in peers:
            made.append("")
            continue
        error = "" if value is None or name == "fsum" else f", {error_in_ulp(peers[name](), value, dtype):.2g} ulp"
        made.append(f"{best[name] / best['warpfold']:.2g}{error}")
    return made


def row(wf, op, a, axis, rounds):
    options = {} if axis is None else {"axis": axis}
    ours, value = partial(getattr(wf, op), a, **options), None
    if axis is None and a.size <= 100_000:
        value = exact(op, a)
        assert value is None or error_in_ulp(ours(), value, a.dtype) <= 0.5, f"{op} is not exact"
    elif axis is None and a.dtype.kind == "f" and op in ("sum", "mean", "var"):
        value = Fraction(float(ours()))
    label = f"{op} {a.dtype} {' x '.join(map(str, a.shape))}" + (f", axis {axis}" if axis is not None else "")
    worst = [partial(getattr(wf, op), other, **options) for other in worse(a)]
    return cells(label, ours, peers_of(op, a, axis), rounds, value, a.dtype, worst)


def keyed_row(wf, rng, size, count, rounds):
    ids, weights = rng.integers(0, count, size), rng.standard_normal(size)
    ours = partial(wf.bincount, ids, weights, count)
    return cells(f"bincount float64, {size} of {count} keys", ours, keyed_peers_of(ids, weights, count), rounds)


def rows(wf, is_quick):
    rng = np.random.default_rng(1)
    for count in (4, 1000) if is_quick else (4, 100, 1000, 100_000, 10_000_000):
        for op in ("sum", "mean", "var", "max", "argmax"):
            yield row(wf, op, rng.standard_normal(count), None, 5)
    for op in ("std", "min", "argmin", "any", "all", "prod", "count_nonzero"):
        yield row(wf, op, rng.standard_normal(4), None, 5)
    for dtype in ("f4", "i4", "i8"):
        for op in ("sum", "mean", "max"):
            yield row(wf, op, (100 * rng.standard_normal(4)).astype(dtype), None, 5)
    axes = (((1000, 10), 1), ((10, 1000), 0), ((100, 100), 0), ((100, 100), 1), ((3000, 3000), 0), ((3000, 3000), 1))
    for shape, axis in axes[:1 if is_quick else None]:
        for op in ("sum", "max", "mean"):
            yield row(wf, op, rng.standard_normal(shape), axis, 5)
    for size, count in ((10_000, 10), (1_000_000, 10), (1_000_000, 100_000))[:1 if is_quick else None]:
        yield keyed_row(wf, rng, size, count, 5)
    if not is_quick:
        for dtype in ("f4", "f8"):
            yield row(wf, "sum", rng.random(100_000_000, np.dtype(dtype)), None, 3)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    sys.path.insert(0, str(Path(arguments.build).resolve() / "python"))
    import warpfold as wf

    print("| call | warpfold | worst | " + " | ".join(PEERS) + " |\n|---|" + "--:|" * (len(PEERS) + 2))
    for made in rows(wf, arguments.quick):
        print("| " + " | ".join(made) + " |", flush=True)


if __name__ == "__main__":
    main()
