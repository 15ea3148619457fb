"""NumPy as a peer of `warpfold bench --peer "python3 bench/peers.py"`: bench/bench_peers.h has the protocol.

The arrays arrive by standard input, and each reduction is timed here, between the same rounds as all others.
"""

import os
import sys
import time

for library in ("OPENBLAS", "OMP", "MKL", "BLIS"):
    os.environ[f"{library}_NUM_THREADS"] = "1"  # numpy's own reductions have one thread; its dot may have more

TYPES = {"f32": "float32", "f64": "float64", "i32": "int32", "i8": "int8"}


def reductions(numpy):
    """What a user of numpy writes, by the name of the op."""

    def dot(array):
        half = len(array) // 2
        if array.dtype.kind == "i":
            return None  # in the type of the elements it wraps
        return lambda: numpy.dot(array[:half], array[half:2 * half])

    def plain(function):
        return lambda array: lambda: function(array)

    def norm(order):
        return lambda array: lambda: numpy.linalg.norm(array, order)

    functions = {name: plain(getattr(numpy, name))
                 for name in ("sum", "min", "max", "argmin", "argmax", "mean", "var", "std", "any", "all")}
    functions |= {"nonzero": plain(numpy.count_nonzero), "dot": dot, "norm1": norm(1), "norm2": norm(2)}
    return functions


def receive(numpy, source, type_name, count):
    array = numpy.empty(count, TYPES[type_name])
    rest = memoryview(array).cast("B")
    while len(rest):
        nbytes = source.readinto(rest)
        if not nbytes:
            sys.exit("peers.py: the array ends early")
        rest = rest[nbytes:]
    return array


def timed(call, calls):
    """Nanoseconds of one call, and the result."""
    repeats = range(calls)
    start = time.perf_counter_ns()
    for _ in repeats:
        result = call()
    return (time.perf_counter_ns() - start) / calls, result


def text_of(result):
    kind = getattr(result, "dtype", None)  # count_nonzero gives an int of Python
    return float(result).hex() if kind is not None and kind.kind == "f" else str(int(result))


def answer(functions, array, op, count, calls):
    call = functions.get(op) and functions[op](array[:count])
    if not call:
        return "none"
    nanoseconds, result = timed(call, calls)
    return f"{nanoseconds!r} {text_of(result)}"


def main():
    try:
        import numpy
    except ImportError as error:
        print("absent NumPy", error)
        return
    functions = reductions(numpy)
    array = None
    source = sys.stdin.buffer
    print("ready NumPy", numpy.__version__, flush=True)
    for line in iter(source.readline, b""):
        words = line.decode().split()
        if words[0] == "data":
            array = None  # not two at a time
            array = receive(numpy, source, words[1], int(words[2]))
            print("ok", flush=True)
        else:
            print(answer(functions, array, words[1], int(words[2]), int(words[3])), flush=True)


if __name__ == "__main__":
    main()
