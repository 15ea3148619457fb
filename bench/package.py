"""The Python package beside NumPy (and math.fsum, bottleneck, numbagg where they are): time and error of the same call.

    package.py BUILD [--quick]

prints a table: for each call, nanoseconds of warpfold and of each peer, and the peer's error in units in the last place
(warpfold's is at most 0.5; its result is compared with exact fractions before anything is timed).  Calls are timed in
turns; the least of the rounds is shown, which a busy machine disturbs least.
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


def peers_of(op, a):
    named = {"NumPy": getattr(np, op, None), "fsum": math.fsum if op == "sum" and a.ndim == 1 else None}
    for name, function in (("bottleneck", f"nan{op}"), ("numbagg", f"nan{op}")):
        try:
            named[name] = getattr(importlib.import_module(name), function, None)
        except ImportError:
            pass
    return {name: function for name, function in named.items() if function}


def error_in_ulp(result, value):
    result = np.asarray(result)[()]  # some peers give Python's floats
    nearest = result.dtype.type(value.numerator / value.denominator)
    return float(abs(Fraction(float(result)) - value) / Fraction(float(np.spacing(np.abs(nearest)))))


def measure(functions, calls, rounds):
    timers = {name: timeit.Timer(function) for name, function in functions.items()}
    best = dict.fromkeys(timers, math.inf)
    for _ in range(rounds):
        for name, timer in timers.items():
            best[name] = min(best[name], timer.timeit(calls) / calls)
    return best


def row(wf, op, a, axis, rounds):
    options = {} if axis is None else {"axis": axis}
    value = exact(op, a) if axis is None and a.size <= 100_000 else None
    got = getattr(wf, op)(a, **options)
    assert value is None or error_in_ulp(got, value) <= 0.5, f"{op} is not exact"
    functions = {"warpfold": partial(getattr(wf, op), a, **options)}
    for name, function in peers_of(op, a).items():
        if axis is None or name != "fsum":
            functions[name] = partial(function, a, **options)
    best = measure(functions, max(1, 200_000 // (a.size + 100)), rounds)
    cells = [f"{op} {a.dtype} {'x'.join(map(str, a.shape))}" + (f" axis {axis}" if axis is not None else "")]
    for name, seconds in best.items():
        off = "" if value is None or name in ("warpfold", "fsum") else f", {error_in_ulp(functions[name](), value):.2g} ulp"
        cells.append(f"{name} {seconds * 1e9:.0f} ns{off}")
    return cells


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    sys.path.insert(0, str(Path(arguments.build).resolve() / "python"))
    import warpfold as wf

    rng = np.random.default_rng(1)
    sizes = (4, 1000) if arguments.quick else (4, 100, 1000, 100_000, 10_000_000)
    for count in sizes:
        for op in ("sum", "mean", "var", "max", "argmax"):
            print(" | ".join(row(wf, op, rng.standard_normal(count), None, 5)))
    for shape, axis in (((1000, 10), 1), ((10, 1000), 0), ((300, 300), 0))[:1 if arguments.quick else 3]:
        for op in ("sum", "max", "mean"):
            print(" | ".join(row(wf, op, rng.standard_normal(shape), axis, 5)))


if __name__ == "__main__":
    main()
