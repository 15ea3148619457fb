"""Measures one case: opens its contenders, verifies what they make of the array, times them in turn."""

import statistics
import sys

import answers
import cases
import device as gpu
import files
import libraries

POOL_NBYTES = 4 << 30
NODES = 100

# ---- the arrays --------------------------------------------------------------------------------------


class Arrays:
    """The numbers that are reduced, on the GPU and, for the right results, in host memory."""

    def __init__(self, bench):
        self.bench = bench
        self.handle = answers.cpu_handle()
        self.pointer = bench.allocate(POOL_NBYTES)
        self.host = bench.allocate(POOL_NBYTES, host=True)
        self.filled = None
        self.known = {}

    def fill(self, case, most):
        """most: elements."""
        if self.filled == (case.type, case.data, most):
            return
        self.filled, self.known = (case.type, case.data, most), {}
        self.bench.fill(self.pointer, case.type, case.data, most)
        self.bench.call("to_host", self.host, self.pointer, most * cases.NBYTES[case.type])

    def right(self, case):
        if (case.count, case.nan) not in self.known:
            self.known[case.count, case.nan] = answers.Answers(self.handle, self.host, case.type, case.count, case.nan)
        return self.known[case.count, case.nan]

    def pool(self, count, nbytes):
        arrays = self.filled[2] * cases.NBYTES[self.filled[0]] // nbytes
        return gpu.Pool(self.pointer, arrays, nbytes, count)


def elements_needed(chosen):
    """By (type, data), how many elements the pool must have."""
    most = {}
    for case in chosen:
        least = cases.POOL if case.has_peers else 0
        most[case.type, case.data] = max(most.get((case.type, case.data), least), case.count)
    return most


# ---- one row -----------------------------------------------------------------------------------------


class Timing:
    """How a case is timed."""

    def __init__(self, case, quick):
        self.rounds = 3 if quick else 7
        self.in_graph = case.is_in_graph
        self.calls = 10 if self.in_graph else max(3, min(12, (1 << 31) // case.nbytes))

    def sample(self, contender, pool):
        """Nanoseconds of a call, the median of one round."""
        if self.in_graph:
            samples = contender.time_graph(pool, NODES, self.calls)
        else:
            samples = contender.time_calls(pool, self.calls, 200 + 20 * self.calls)
        return float(f"{1000 * statistics.median(samples):.5g}")


def open_all(bench, found, case):
    """By name, the contenders of a case, without the ceilings."""
    contenders = [gpu.open_warpfold(bench, case.op, case.type, case.nan)]
    if case.has_peers:
        contenders += [*gpu.open_peers(bench, case.op, case.type), *libraries.open_contenders(bench, found, case)]
    if case.count < cases.SMALL and case.op in ("min", "max"):  # what small ones are held against
        contenders += [named(peer, "CUB's sum") for peer in gpu.open_peers(bench, "sum", case.type)[:1]]
    if case.is_in_graph:
        contenders = [contender for contender in contenders if contender.who != "CUB gpu_to_gpu"]  # it allocates
    return {contender.who: contender for contender in contenders}


def named(contender, who):
    contender.who = who
    return contender


def judge(right, case, contender, pointer):
    """(error, result as a text) of what it makes of the array."""
    result = contender.reduce(pointer, case.count)
    if contender.who == "warpfold":
        return 0, right.check_warpfold(case.op, result)
    op = "sum" if contender.who == "CUB's sum" else case.op
    if isinstance(result, bytes):
        result = answers.number_of(contender.result, result[contender.offset:])
    return right.check_peer(op, contender.result, result), repr(result)


def choose_ceiling(bench, timing, pool):
    """The read kernel that is the fastest at this size."""
    readers = gpu.open_peers(bench, "read", "i8")
    times = [timing.sample(reader, pool) for reader in readers]
    best = times.index(min(times))
    for reader in readers[:best] + readers[best + 1:]:
        reader.close()
    return readers[best]


def try_out(timing, right, case, contenders, arrays, pool):
    """(error, result) of each, verified; those of others that cannot do it here are left out, and said to be."""
    judged = {}
    for who, contender in list(contenders.items()):
        try:
            judged[who] = judge(right, case, contender, arrays.pointer)
            timing.sample(contender, pool)
        except (gpu.BenchError, answers.Wrong, RuntimeError) as error:
            if who == "warpfold":
                raise
            print(f"bench-gpu: {case}: {who} is left out: {error}", file=sys.stderr)
            del contenders[who]
    return judged


def take_turns(timing, runners, pools):
    """Samples by name, of rounds in which each has its turn and the order moves on."""
    samples = {who: [] for who in runners}
    names = list(runners)
    for turn in range(timing.rounds):
        for who in names[turn % len(names):] + names[:turn % len(names)]:
            samples[who].append(timing.sample(runners[who], pools[who]))
    return samples


def measure(bench, found, arrays, case, quick):
    """The row, as bench/files.py makes it."""
    timing = Timing(case, quick)
    contenders = open_all(bench, found, case)
    right = arrays.right(case)
    pool, bytes_pool = arrays.pool(case.count, case.nbytes), arrays.pool(case.nbytes, case.nbytes)
    judged = try_out(timing, right, case, contenders, arrays, pool)
    runners = {"read": choose_ceiling(bench, timing, bytes_pool), **contenders}
    if case.op == "sum" and case.has_peers and not case.is_in_graph:
        runners["copy"] = gpu.open_peers(bench, "copy", "i8")[0]
        judged["copy"] = (None, "")
    samples = take_turns(timing, runners, {who: bytes_pool if who in ("read", "copy") else pool for who in runners})
    if judge(right, case, contenders["warpfold"], arrays.pointer) != judged["warpfold"]:
        raise answers.Wrong(f"{case}: another result after the timing")
    for runner in runners.values():
        runner.close()
    return files.median_row(case.row, samples, {who: error for who, (error, _) in judged.items()},
                            {who: result for who, (_, result) in judged.items()})
