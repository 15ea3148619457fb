"""Measures the command line on files, pipes and text, each process from its start to its end.

Verified, then timed: the numbers are such that Python's integers (or math.fsum, which rounds once) know the result.
"""

import fcntl
import json
import math
import os
import random
import shutil
import statistics
import struct
import subprocess
import sys
import time
from array import array

BLOCK_NBYTES = 1 << 20
F_SETPIPE_SZ = 1031
SCALE = 2.0**-23
CODES = {"f32": "f", "f64": "d"}


def processors():
    return len(os.sched_getaffinity(0))


# ---- one row -----------------------------------------------------------------------------------------


def median_row(what, samples, errors, results):
    """The row in the form of `warpfold bench --json`; samples are in nanoseconds, by name, the ceiling's first."""
    ceiling, *names = samples

    def entry(name):
        time = statistics.median(samples[name])
        return {"who": name, "ns": time, "gbps": what["nbytes"] / time, "samples": samples[name]}

    def entry_of(name):
        shares = [best / own for best, own in zip(samples[ceiling], samples[name])]
        return entry(name) | {"share": statistics.median(shares), "error": errors[name], "result": results[name],
                              "result_type": what["type"]}

    return what | {"ceiling": entry(ceiling), "entries": [entry_of(name) for name in names]}


def measure(what, runners, right, rounds):
    """runners: functions that return (nanoseconds, result) by name; the first is the ceiling, the second ours."""
    ceiling, ours, *_ = runners
    samples = {name: [] for name in runners}
    results = dict.fromkeys(runners)
    names = list(runners)
    for number in range(rounds + 1):  # the first is for verification and for warm caches
        for name in names[number % len(names):] + names[:number % len(names)]:
            nanoseconds, results[name] = runners[name]()
            if number:
                samples[name].append(nanoseconds)
        if results[ours] != right:
            sys.exit(f"bench: {what['op']} of a {what['place']}: {results[ours]!r} is wrong, {right!r} is right")
    errors = {name: abs(results[name] - right) / math.ulp(right) for name in names if name != ceiling}
    return median_row(what, samples, errors, {name: repr(result) for name, result in results.items()})


# ---- processes ---------------------------------------------------------------------------------------


def run(command, **options):
    """(nanoseconds, standard output) of a process."""
    start = time.perf_counter_ns()
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, **options)
    return time.perf_counter_ns() - start, done.stdout.decode()


def number_of(command, read=float, **options):
    def runner():
        nanoseconds, text = run(command, **options)
        return nanoseconds, read(text)

    return runner


# ---- .npy files and pipes ----------------------------------------------------------------------------


class Numbers:
    """A block of multiples of 2^-23 in [-1, 1), and what the block repeated adds up to."""

    def __init__(self, type_name, nbytes):
        self.type_name = type_name
        self.nbytes = nbytes
        self.repeats = nbytes // BLOCK_NBYTES
        count = BLOCK_NBYTES // struct.calcsize(CODES[type_name])
        source = random.Random(1)
        integers = [source.getrandbits(24) - (1 << 23) for _ in range(count)]
        self.count = count * self.repeats
        self.block = array(CODES[type_name], [number * SCALE for number in integers]).tobytes()
        self.right = {"max": max(integers) * SCALE, "sum": self.rounded(sum(integers) * self.repeats)}
        self.right["stats"] = self.right["sum"]

    def rounded(self, units):
        assert abs(units) < 1 << 53  # so that the double is the exact sum
        return self.rounded_float(units * SCALE)

    def rounded_float(self, number):
        return struct.unpack(CODES[self.type_name], struct.pack(CODES[self.type_name], number))[0]

    def header(self):
        description = {"f32": "<f4", "f64": "<f8"}[self.type_name]
        text = f"{{'descr': '{description}', 'fortran_order': False, 'shape': ({self.count},), }}"
        text += " " * (-(11 + len(text)) % 64) + "\n"
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()

    def write(self, write):
        write(self.header())
        for _ in range(self.repeats):
            write(self.block)

    def read(self, op):
        """How to read what the command line prints."""
        if op == "stats":
            return lambda text: self.rounded_float(json.loads(text)["sum"])
        return lambda text: self.rounded_float(float(text))


def ceiling_of_file(build, path, threads):
    """Plain reads of the file, with one thread or all, whichever is faster at the moment."""
    command = [os.path.join(build, "demo", "read_ceiling"), path]

    def runner():
        return min(run([*command, str(count)])[0] for count in sorted({1, threads})), None

    return runner


def file_row(build, path, numbers, op, threads, rounds):
    what = {"place": "file", "op": op, "type": numbers.type_name, "data": "uniform", "count": numbers.count,
            "nbytes": numbers.nbytes, "threads": threads}
    command = [os.path.join(build, "warpfold"), op, "--threads", str(threads), path]
    if op == "stats":
        command.append("--json")
    runners = {"read": ceiling_of_file(build, path, threads), "warpfold": number_of(command, numbers.read(op))}
    return measure(what, runners, numbers.right[op], rounds)


def file_rows(build, directory, nbytes, rounds):
    for type_name, ops in (("f32", ("sum", "max", "stats")), ("f64", ("sum",))):
        numbers = Numbers(type_name, nbytes)
        path = os.path.join(directory, f"{type_name}.npy")
        with open(path, "wb") as file:
            numbers.write(file.write)
            file.flush()
            os.fsync(file.fileno())  # or writing it goes on while it is read
        for op in ops:
            for threads in sorted({1, processors()}):
                yield file_row(build, path, numbers, op, threads, rounds)
        os.remove(path)


def start_drain(source, sink):
    """A process that reads to the end and does nothing with it."""
    child = os.fork()
    if child:
        return child
    os.close(sink)
    buffer = bytearray(BLOCK_NBYTES)
    while os.readv(source, [buffer]):
        pass
    os._exit(0)


def fill_pipe(numbers, start):
    """Writes the numbers into a large pipe, from which the process that start() makes reads; returns the process."""
    source, sink = os.pipe()
    try:
        fcntl.fcntl(sink, F_SETPIPE_SZ, BLOCK_NBYTES)
    except OSError:
        pass  # then both are slower
    process = start(source, sink)
    os.close(source)
    with open(sink, "wb", buffering=0) as file:
        numbers.write(lambda data: write_all(file, data))
    return process


def write_all(file, data):
    rest = memoryview(data)
    while len(rest):
        rest = rest[file.write(rest):]


def pipe_rows(build, nbytes, rounds):
    numbers = Numbers("f32", nbytes)
    command = [os.path.join(build, "warpfold"), "sum", "-"]

    def start_reduction(source, _):
        return subprocess.Popen(command, stdin=source, stdout=subprocess.PIPE)

    def ceiling():
        start = time.perf_counter_ns()
        os.waitpid(fill_pipe(numbers, start_drain), 0)
        return time.perf_counter_ns() - start, None

    def ours():
        start = time.perf_counter_ns()
        text = fill_pipe(numbers, start_reduction).communicate()[0].decode()
        return time.perf_counter_ns() - start, numbers.read("sum")(text)

    what = {"place": "pipe", "op": "sum", "type": "f32", "data": "uniform", "count": numbers.count,
            "nbytes": numbers.nbytes, "threads": processors()}
    yield measure(what, {"read": ceiling, "warpfold": ours}, numbers.right["sum"], rounds)


# ---- text --------------------------------------------------------------------------------------------


def text_peers():
    """Programs that sum a column of text, with what they print in full."""
    peers = {"datamash": ["datamash", "--format", "%.17g", "sum", "1"],
             "awk": ["awk", '{ sum += $1 } END { printf "%.17g\\n", sum }']}
    found = {name: command for name, command in peers.items() if shutil.which(name)}
    return found, sorted(peers.keys() - found.keys())


def text_rows(build, directory, count, rounds):
    source = random.Random(2)
    lines = [f"{source.gauss(0, 1000):.6f}" for _ in range(count)]
    path = os.path.join(directory, "numbers.txt")
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")

    def from_file(command):
        def runner():
            with open(path, "rb") as file:
                return number_of(command, stdin=file)()

        return runner

    what = {"place": "text", "op": "sum", "type": "f64", "data": "decimal", "count": count,
            "nbytes": os.path.getsize(path), "threads": processors()}
    runners = {"read": ceiling_of_file(build, path, 1), "warpfold": from_file([os.path.join(build, "warpfold"), "sum"])}
    runners |= {name: from_file(command) for name, command in text_peers()[0].items()}
    yield measure(what, runners, math.fsum(map(float, lines)), rounds)
    os.remove(path)


def rows(build, directory, quick):
    nbytes, count, rounds = (1 << 24, 20_000, 3) if quick else (1 << 30, 1_000_000, 7)
    yield from file_rows(build, directory, nbytes, rounds)
    yield from pipe_rows(build, nbytes, rounds)
    yield from text_rows(build, directory, count, rounds)
