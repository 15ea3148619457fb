"""Sums over the ranks of NCCL, on a machine of several GPUs: their bits, and their times beside NCCL's own all-reduce.

    PYTHONPATH=build/python python3 lab/nccl_ranks.py [bits] [times] [parts] [sums] [--ranks 2] [--most 28]

bits   all_reduce_array and all_reduce_value against one accumulator of all ranks' elements, on the host: floats of every type,
       NaNs, infinities, zeros of both signs, subnormals, sums half-way between two results; both orders of the ranks, pieces and
       whole arrays, several blocks, results along axes, several tensors for each rank
times  elementwise: ratios to torch.distributed.all_reduce of the same tensor, which rounds in an order of its own; calls
       that are each waited for, and calls that are enqueued one after the other
parts  what a call consists of: collectives, sums, agreements; blocks of other sizes
sums   one sum of all ranks' elements beside one GPU's sum of as many as it has

Without any of them all four.  --backend gloo: on the host, where there is no GPU, for trying this script.  Every rank is a
process; the first one prints.  Ends with status 1 if a bit differs.
"""

import argparse
import itertools
import os
import statistics
import sys
import time
from datetime import timedelta

import torch
from torch import distributed, multiprocessing

import warpfold as wf
import warpfold.torch as wft
from warpfold import _core

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
INTEGERS = {2: torch.int16, 4: torch.int32, 8: torch.int64}


def name_of(dtype):
    return str(dtype).rpartition(".")[2]


def bits_of(tensor):
    return tensor.cpu().contiguous().view(INTEGERS[tensor.element_size()])  # argmax's results are of integers, too


# ---- what is summed


def edges(dtype):
    """The bits of numbers at which something changes, of both signs, and of NaNs."""
    info = torch.finfo(dtype)
    numbers = torch.tensor([0.0, 1.0, 1 + info.eps, 1 - info.eps / 2, info.eps, info.eps / 2, info.eps / 4, info.tiny,
                            info.max, info.max * info.eps / 2, info.max * info.eps, float("inf"), float("nan")], dtype=dtype)
    bits = bits_of(numbers)
    smallest = torch.tensor([1, 2, 3], dtype=bits.dtype)
    below = bits_of(torch.tensor([info.tiny, info.max], dtype=dtype)) - 1
    all_of_it = torch.cat([bits, smallest, below, bits[-1:] + 1])
    return torch.cat([all_of_it, all_of_it | torch.iinfo(bits.dtype).min]).view(dtype)


def draw(kind, dtype, shape, seed):
    """Elements of a rank."""
    source = torch.Generator().manual_seed(seed)
    count = 1
    for length in shape:
        count *= length
    if kind == "plain":
        flat = (100 * torch.randn(count, generator=source, dtype=torch.float64)).to(dtype)
    elif kind == "edges":
        some = edges(dtype)
        flat = some[torch.randint(len(some), (count,), generator=source)]
    else:  # any bits
        integer = INTEGERS[dtype.itemsize]
        limits = torch.iinfo(integer)
        flat = torch.randint(limits.min, limits.max, (count,), generator=source, dtype=integer).view(dtype)
    return flat.reshape(shape)


class Checks:
    def __init__(self):
        self.done = self.wrong = 0

    def same(self, got, expected, *context):
        self.done += 1
        if got.dtype == expected.dtype and got.shape == expected.shape and torch.equal(bits_of(got), bits_of(expected)):
            return
        self.wrong += 1
        if self.wrong < 20:
            print("DIFFERS", *context, flush=True)


# ---- bits


PLAIN = wft._Ranks


def tuned(**chosen):
    """_Ranks with other limits."""

    class Tuned(PLAIN):
        def __init__(self, group):
            super().__init__(group)
            for name, value in chosen.items():
                assert hasattr(self, name), name
                setattr(self, name, value)

    return Tuned


def with_ranks(made, work):
    wft._Ranks = made
    try:
        return work()
    finally:
        wft._Ranks = PLAIN


def expected_sums(rows, op, **options):
    """Those of one accumulator for each result; of many results, of the host's reduction along an axis."""
    if rows[0].numel() > 5000 or op == "argmax":
        return _core.reduce_op(op, torch.stack(rows), axis=0, **options)
    total = wf.Accumulator(op, name_of(rows[0].dtype), tuple(rows[0].shape), ddof=options.get("ddof") or 0)
    return wft._tensor_of(total.update(torch.stack(rows), axis=0).result(), rows[0])


WAYS = {"pieces": tuned(whole_nbytes=0), "whole": tuned(whole_nbytes=sys.maxsize),
        "blocks": tuned(whole_nbytes=0, block_nbytes=30_000)}


def check_arrays(here, checks):
    for dtype, shape, kind in itertools.product(here.types, ((1,), (7, 3), (1001,), (70_001,), (1 << 20,)), ("plain", "edges", "bits")):
        rows = [draw(kind, dtype, shape, seed=100 * here.count + rank) for rank in range(here.count)]
        expected = expected_sums(rows, "sum")
        for order, (way, made) in itertools.product((1, -1), WAYS.items()):
            share = rows[::order][here.rank].to(here.device)
            got = with_ranks(made, lambda: wft.all_reduce_array(share, agreed=order == 1))
            checks.same(got, expected, "array", dtype, shape, kind, "order", order, way)
    for (op, dtype), way in itertools.product((("mean", torch.bfloat16), ("var", torch.float32), ("max", torch.float64),
                                               ("argmax", torch.float32)), ("pieces", "whole")):
        if dtype not in here.types:
            continue
        rows = [draw("plain", dtype, (3001,), seed=rank) for rank in range(here.count)]
        got = with_ranks(WAYS[way], lambda: wft.all_reduce_array(rows[here.rank].to(here.device), op))
        checks.same(got, expected_sums(rows, op), "array", op, dtype, way)


def pieces_of(share, parts):
    """Several tensors of a rank, one of them of nothing."""
    ends = [len(share) * i // parts for i in range(parts + 1)]
    return [share[begin:end] for begin, end in zip(ends, ends[1:])] + [share[:0]]


VALUES = (("sum", torch.float32), ("sum", torch.bfloat16), ("sum", torch.float16), ("sum", torch.float64),
          ("var", torch.float32), ("norm2", torch.bfloat16), ("min", torch.float64))


def check_values(here, checks):
    for (op, dtype), kind in itertools.product(VALUES, ("plain", "edges", "bits")):
        if dtype not in here.types:
            continue
        for shape, axis in (((901,), None), ((301, 5), (0,)), ((301, 2, 40), (0,)), ((60, 2, 40), (0, 1))):
            whole = draw(kind, dtype, shape, seed=7)
            kept = () if axis is None else tuple(n for d, n in enumerate(shape) if d not in axis)
            total = wf.Accumulator(op, name_of(dtype), kept).update(whole, axis=axis)
            expected = wft._tensor_of(total.result(), whole)
            for place, parts in itertools.product((here.rank, here.count - 1 - here.rank), (1, 3)):
                share = whole[shape[0] * place // here.count:shape[0] * (place + 1) // here.count].to(here.device)
                got = wft.all_reduce_value(pieces_of(share, parts) if parts > 1 else share, op, axis=axis)
                checks.same(got, expected, "value", dtype, op, kind, shape, axis, "place", place, "parts", parts)


def check_bits(here):
    checks = Checks()
    start = time.perf_counter()
    check_arrays(here, checks)
    arrays = checks.done
    here.say(f"{arrays} arrays, {checks.wrong} differ here ({time.perf_counter() - start:.0f} s)")
    check_values(here, checks)
    wrong = torch.tensor([checks.wrong], device=here.device)
    distributed.all_reduce(wrong)
    here.say(f"bits: {arrays} arrays and {checks.done - arrays} values a rank, {int(wrong)} differ "
             f"({time.perf_counter() - start:.0f} s)")
    return int(wrong)


# ---- times


class Here:
    """This rank's process."""

    def __init__(self, rank, chosen):
        self.rank, self.count, self.is_gpu = rank, chosen.ranks, chosen.backend != "gloo"
        self.device, self.most = torch.device("cuda", rank) if self.is_gpu else torch.device("cpu"), chosen.most
        self.rounds, self.types = chosen.rounds, [each for each in FLOATS if name_of(each) in chosen.types.split(",")]

    def say(self, *words):
        if self.rank == 0:
            print(*words, flush=True)

    def wait(self):
        if self.is_gpu:
            torch.cuda.synchronize()

    def seconds(self, works, calls, rounds=None):
        """Medians of a call's time on the slowest rank, of each of the works, which take turns."""
        found, token = [[] for _ in works], torch.zeros(1, device=self.device)
        for round in range(rounds or self.rounds):
            for i in range(len(works)):
                work = works[(i + round) % len(works)]
                distributed.all_reduce(token)
                self.wait()
                start = time.perf_counter()
                for _ in range(calls):
                    work()
                self.wait()
                found[(i + round) % len(works)].append((time.perf_counter() - start) / calls)
        longest = torch.tensor(found, dtype=torch.float64, device=self.device)
        distributed.all_reduce(longest, op=distributed.ReduceOp.MAX)
        return [statistics.median(times) for times in longest.tolist()]


def measure_times(here):
    here.say("\nelementwise, beside torch.distributed.all_reduce: microseconds and ratios of each call waited for | of 10 enqueued")
    here.say(f"{'':>16} {'NCCL':>9} {'asks':>9} {'ratio':>6} {'agreed':>9} {'ratio':>6} | {'NCCL':>9} {'asks':>9} {'ratio':>6} "
             f"{'agreed':>9} {'ratio':>6}")
    for dtype, first in ((torch.float32, 10), (torch.bfloat16, 20), (torch.float64, 20)):
        for log in (*range(first, min(here.most, 26), 2), *range(26, here.most + 1)):
            data = torch.randn(1 << log, device=here.device).to(dtype)
            plain = data.clone()
            works = (lambda: distributed.all_reduce(plain), lambda: wft.all_reduce_array(data),
                     lambda: wft.all_reduce_array(data, agreed=True))
            for work in works:
                work()
            line = f"{name_of(dtype):>8}, 2^{log:<3} "
            for calls in (1, 10 if log < 28 else 3):
                nccl, asks, agreed = here.seconds(works, calls, None if log < 27 else 5)
                line += f" {1e6 * nccl:9.0f} {1e6 * asks:9.0f} {nccl / asks:6.2f} {1e6 * agreed:9.0f} {nccl / agreed:6.2f} " + \
                        "|" * (calls == 1)
            here.say(line)
            del data, plain


def measure_parts(here):
    here.say("\nparts, microseconds, each waited for | 10 enqueued")
    ranks = wft._Ranks(None)
    words = torch.zeros(128, dtype=torch.int64)
    on_host = memoryview(words.numpy()).cast("B").cast("q")
    ranks.overlaps = False
    works = [("agreement", lambda: ranks.add(on_host)), ("nothing but Python", lambda: wft._Ranks(None))]
    report(here, works)
    for dtype, log in ((torch.float32, 20), (torch.float32, 24), (torch.float32, 28), (torch.bfloat16, 28)):
        if log > here.most:
            continue
        data = torch.randn(1 << log, device=here.device).to(dtype)
        rows, results = data.new_empty(here.count << log), torch.empty_like(data)
        half, few = (1 << log) // here.count, data.new_empty(1 << log)
        own = results[half * here.rank:half * (here.rank + 1)]
        byte = torch.uint8
        report(here, [
            (f"{name_of(dtype)} 2^{log} all-reduce", lambda: distributed.all_reduce(results)),
            ("  whole: all-gather", lambda: ranks.gather(data, rows)()),
            ("  whole: sums", lambda: _core.reduce_op("sum", rows.view(here.count, -1), axis=0, out=results)),
            ("  whole: torch's sums", lambda: torch.add(rows[:1 << log], rows[-(1 << log):], out=results)),
            ("  pieces: all to all", lambda: ranks.exchange(data, few)()),
            ("  pieces: sums", lambda: _core.reduce_op("sum", few.view(here.count, -1), axis=0, out=own)),
            ("  pieces: all to all again", lambda: ranks.share(results)()),
            ("  pieces: all-gather", lambda: distributed.all_gather_into_tensor(results.view(byte), own.view(byte)))])
    for log in (20, 22, 24, 25, 26, 28, 30):
        if log <= here.most:
            data = torch.randn(1 << log, device=here.device)
            works = [(f"f32 2^{log} all-reduce", lambda: distributed.all_reduce(data))]
            chosen = [("whole", dict(whole_nbytes=sys.maxsize))] if log < 28 else []
            chosen += [(f"blocks of {mib} MiB", dict(whole_nbytes=0, block_nbytes=mib << 20)) for mib in (256, 512, 1024, 4096)
                       if mib == 256 or 4 << log > mib << 19]
            for name, limits in chosen:
                made = tuned(**limits)
                works.append((f"  {name}", lambda made=made: with_ranks(
                    made, lambda: wft.all_reduce_array(data, agreed=True))))
            report(here, works)


def report(here, works):
    """Their times, and ratios of the first one's to them."""
    for _, work in works:
        work()
    calls = [work for _, work in works]
    alone, enqueued = here.seconds(calls, 1, 7), here.seconds(calls, 5, 5)
    for (name, _), one, many in zip(works, alone, enqueued):
        here.say(f"{name:32} {1e6 * one:9.0f} {alone[0] / one:6.2f} | {1e6 * many:9.0f} {enqueued[0] / many:6.2f}")


def measure_sums(here):
    here.say("\none sum: all ranks' elements beside one GPU's as many as it has, milliseconds")
    for dtype, log in itertools.product((torch.float32, torch.float64), (28, 32, 33)):
        if log > here.most + 5 or (dtype == torch.float64 and log == 33):
            continue
        whole = torch.ones(1 << log, device=here.device, dtype=dtype)
        share = whole[:(1 << log) // here.count]
        alone, both = here.seconds([lambda: wf.sum(whole), lambda: wft.all_reduce_value(share)], 1)
        here.say(f"{name_of(dtype)} 2^{log}: one {1e3 * alone:.3f}, all {1e3 * both:.3f}, {alone / both:.3f} times as fast")
        del whole, share


def run(rank, chosen):
    here = Here(rank, chosen)
    if here.is_gpu:
        torch.cuda.set_device(rank)
    distributed.init_process_group(chosen.backend, rank=rank, world_size=chosen.ranks, timeout=timedelta(seconds=100))
    if here.is_gpu:
        here.say(torch.cuda.get_device_name(), "torch", torch.__version__, "NCCL", torch.cuda.nccl.version(), chosen.backend)
    wrong = 0
    for what in chosen.what or ("bits", "times", "parts", "sums"):
        if what == "bits":
            wrong = check_bits(here)
        else:
            {"times": measure_times, "parts": measure_parts, "sums": measure_sums}[what](here)
    distributed.destroy_process_group()
    sys.exit(1 if wrong else 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=[[], "bits", "times", "parts", "sums"])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--most", type=int, default=28, help="the longest arrays have 2^MOST elements")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--types", default=",".join(map(name_of, FLOATS)), help="of bits: several, with commas")
    parser.add_argument("--backend", default="nccl")
    chosen = parser.parse_args()
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29517")
    start = multiprocessing.get_context("spawn")
    ranks = [start.Process(target=run, args=(rank, chosen)) for rank in range(chosen.ranks)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()
    return max(abs(rank.exitcode) for rank in ranks)


if __name__ == "__main__":
    sys.exit(main())
