"""Reductions by groups on the first GPU, beside torch: the same data, the same run, verified before it is timed.

    groups.py BUILD [--quick] [--only axes|segments|keys] [--length N]... [--keys N]... [--order NAME]...
              [--op OP]... [--type TYPE]... [--kind KIND]... [--nbytes N] [--json FILE]

prints GB/s of the values, their share of what a plain read of the same bytes reaches, and torch's GB/s with its ratio.
Results are checked against the CPU engine's bits.  FILE is what bench/groups_table.py makes tables of.
"""

import argparse
import ctypes
import os
import statistics
import sys
from ctypes import byref
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
NBYTES = 1 << 28  # unless told
ROUNDS = 5
LENGTHS = (3, 4, 8, 10, 32, 33, 100, 256, 500, 4096, 1 << 20)  # few, no powers of two, and long: all take ways of their own
KEYS = (1, 10, 1000, 10_000, 100_000, 1_000_000, 10_000_000)
OPS = ("sum", "max", "argmax", "var", "mean")


class Bench:
    def __init__(self, build, nbytes):
        os.environ["WARPFOLD_LIB"] = str(build / "libwarpfold.so")
        sys.path[1:1] = [str(ROOT / "bench"), str(ROOT / "tests" / "helpers"), str(ROOT / "tests")]
        import torch
        import warpfold_ctypes as wf
        self.torch, self.wf, self.library, self.nbytes = torch, wf, wf.library, nbytes
        self.host, self.device = wf.Handle("cpu"), wf.Handle("cuda:0")
        self.device.set_stream(torch.cuda.current_stream().cuda_stream)
        self.dtypes = {torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16",
                       torch.int8: "i8", torch.int32: "i32", torch.int64: "i64"}
        self.fill = wf.value_of_bits(wf.WF_U8, 0)  # of many random keys some have no element
        self.ceiling = self.read_ceiling()
        self.rows = []

    def asked(self, op):
        asked = self.wf.reduction(op)
        asked.fill = ctypes.pointer(self.fill)
        return asked

    def time(self, call):
        """Milliseconds: the median of several calls, each between two events."""
        torch, times = self.torch, []
        call()
        for _ in range(ROUNDS):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            call()
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end))
        return statistics.median(times)

    def read_ceiling(self):
        """GB/s of the whole array's maximum, which reads at the speed of memory."""
        x = self.torch.rand(self.nbytes // 4, device="cuda")
        results, output = self.output("max", "f32", ())
        view = self.view(x)
        asked = self.wf.reduction("max")
        return self.nbytes / 1e6 / self.time(lambda: self.device.check(self.library.wf_reduce(
            self.device.pointer, byref(asked), byref(view), None, None, byref(output))))

    def view(self, x):
        strides = [s * x.element_size() for s in x.stride()]
        return self.wf.array_nd(x.data_ptr(), self.dtypes[x.dtype], tuple(x.shape), strides)

    def output(self, op, type_name, shape):
        number = self.library.wf_op_result_type(self.wf.OP_BY_NAME[op], self.wf.TYPE_BY_NAME[type_name])
        names = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "i64": "int64", "u64": "int64",
                 "i8": "int8", "i32": "int32"}
        results = self.torch.empty(shape, dtype=getattr(self.torch, names[self.wf.TYPE_NAME[number]]), device="cuda")
        lengths = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        return results, self.wf.wf_output(data=results.data_ptr(), type=number, ndim=len(shape), shape=lengths)

    def case(self, name, op, x, groups, peer, on_host, y=None):
        """on_host: the same groups with labels in host memory; y: the other operand."""
        view, other = self.view(x), None if y is None else byref(self.view(y))
        shape = self.wf.groups_shape(view, groups)
        results, output = self.output(op, self.dtypes[x.dtype], shape)
        asked = self.asked(op)
        call = lambda: self.device.check(self.library.wf_reduce(  # noqa: E731
            self.device.pointer, byref(asked), byref(view), other, byref(groups), byref(output)))
        call()
        self.check(op, x, y, on_host, results)
        nbytes = x.numel() * x.element_size() * (1 if y is None else 2)
        ours = nbytes / 1e6 / self.time(call)
        theirs = nbytes / 1e6 / self.time(peer) if peer else None
        said = f"{theirs:6.0f} | {ours / theirs:5.2f}" if theirs else "       |      "
        plan = self.library.wf_handle_plan(self.device.pointer).decode()
        self.rows.append({"groups": name, "op": op, "type": self.dtypes[x.dtype], "share": ours / self.ceiling,
                          "ratio": ours / theirs if theirs else None})
        print(f"{name:34s} | {op:6s} | {self.dtypes[x.dtype]:4s} | {ours:6.0f} | {ours / self.ceiling:5.2f} | {said} | {plan}",
              flush=True)

    def check(self, op, x, y, groups, results):
        there, other = x.cpu(), None if y is None else y.cpu()
        here = self.torch.empty_like(results, device="cpu")
        view = self.view(there)
        shape = self.wf.groups_shape(view, groups)
        lengths = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        number = self.library.wf_op_result_type(self.wf.OP_BY_NAME[op], view.type)
        output = self.wf.wf_output(data=here.data_ptr(), type=number, ndim=len(shape), shape=lengths)
        asked = self.asked(op)
        self.host.check(self.library.wf_reduce(self.host.pointer, byref(asked), byref(view),
                                               None if y is None else byref(self.view(other)), byref(groups), byref(output)))
        integers = {1: self.torch.int8, 2: self.torch.int16, 4: self.torch.int32, 8: self.torch.int64}[here.element_size()]
        equal = results.cpu().view(-1).view(integers) == here.view(-1).view(integers)
        if not bool(equal.all()):
            raise SystemExit(f"groups.py: {op} of {tuple(x.shape)}: {int((~equal).sum())} results differ from the CPU's")


KINDS = ("normal", "wide", "any bits", "one NaN", "NaNs", "all exponents", "gradients", "outliers", "zeros", "minus zeros")


def make(bench, dtype, shape, kind="normal"):
    """Integers have one kind."""
    torch = bench.torch
    if not dtype.is_floating_point:
        return torch.randint(-100, 100, shape, device="cuda").to(dtype)
    if kind == "any bits":  # but for infinities and NaNs, which would be all that is left of most groups
        x = torch.randint(-128, 128, (*shape, torch.empty(0, dtype=dtype).element_size()), dtype=torch.int8, device="cuda")
        return x.view(dtype).view(shape).nan_to_num_(nan=1.0, posinf=1.0, neginf=1.0)
    x = torch.randn(shape, dtype=torch.float32, device="cuda").to(dtype)
    return {"normal": lambda _: x, **values_that_hurt(torch)}[kind](x)


def axes(bench, dtype, ops, lengths, kind):
    torch = bench.torch
    for length in lengths:
        rows = bench.nbytes // torch.empty(0, dtype=dtype).element_size() // length
        for shape, axis in (((rows, length), 1), ((length, rows), 0), ((rows, length), 0)):
            if axis == 0 and shape == (rows, length) and length > 256:
                continue
            x = make(bench, dtype, shape, kind)
            groups = bench.library.wf_groups_axes(1 << axis)
            peers = {"sum": lambda: x.sum(axis), "max": lambda: x.amax(axis), "argmax": lambda: x.argmax(axis),
                     "var": lambda: x.var(axis), "mean": lambda: x.mean(axis)}
            for op in ops:
                floats = dtype.is_floating_point or op in ("sum", "max", "argmax")
                named = "" if kind == "normal" else f", {kind}"
                bench.case(f"{shape} along {axis}{named}", op, x, groups, peers[op] if floats else None, groups)
            if length <= 8 and dtype.is_floating_point:
                y = make(bench, dtype, shape)
                bench.case(f"{shape} along {axis}", "dot", x, groups, lambda: torch.linalg.vecdot(x, y, dim=axis), groups, y)


def labels_of(bench, tensor):
    there, here = bench.view(tensor), tensor.cpu()
    host = bench.view(here)
    host.owner, there.owner = here, tensor
    return there, host


def segments(bench, dtype, lengths):
    torch = bench.torch
    count = bench.nbytes // torch.empty(0, dtype=dtype).element_size()
    x = make(bench, dtype, (count,))
    cases = [(f"segments of {length}", torch.arange(0, count + 1, length, device="cuda")) for length in lengths]
    short = torch.randint(1, 100, (10**6,), device="cuda").cumsum(0)
    short = torch.cat([torch.zeros(1, dtype=short.dtype, device="cuda"), short]).clamp(max=count)
    cases.append(("10^6 segments of 1 to 100", short))
    cases.append(("10^6 segments, one of 2^24", torch.cat([short[:500000], short[499999:] + (1 << 24)]).clamp(max=count)))
    for name, offsets in cases:
        there, here = labels_of(bench, offsets)
        used = x[:int(offsets[-1])]
        groups, on_host = (bench.library.wf_groups_segments(0, offsets.numel() - 1, byref(labels)) for labels in (there, here))
        peer = (lambda: torch.segment_reduce(used, "sum", offsets=offsets)) if dtype.is_floating_point else None
        bench.case(name, "sum", used, groups, peer, on_host)


def orders_of_keys(torch, count, n):
    """Keys by the order that they are in: each is made when it is wanted, as memory is short."""
    def random():
        return torch.randint(0, count, (n,), device="cuda")

    def skewed():
        return (torch.rand(n, device="cuda", dtype=torch.float64)**4 * count).long()

    def mostly_sorted():
        """One in 64 is anywhere."""
        return torch.where(torch.rand(n, device="cuda") < 1 / 64, random(), random().sort()[0])

    orders = {"random": random, "sorted": lambda: random().sort()[0], "skewed": skewed}
    if count > 1:
        orders["mostly sorted"] = mostly_sorted
        orders["half one key"] = lambda: torch.where(torch.rand(n, device="cuda") < 0.5, count // 2, random())
    return orders if count > 1 else {"random": random}


def values_that_hurt(torch):
    """Exponents far apart, of all or of a few; a NaN, and one in a thousand."""
    def wide(x):
        return (x.double() * torch.exp(3 * torch.randn(x.shape, device="cuda"))).to(x.dtype)

    def with_nan(x):
        x = x.clone()
        x.view(-1)[x.numel() // 2] = float("nan")
        return x

    def with_nans(x):
        return x.masked_fill(torch.rand(x.shape, device="cuda") < 0.001, float("nan"))

    def all_exponents(x):
        """As evenly spread as what multiplies normal values lets them be; those of f64, which has more, over 2^(+-500)."""
        reach = {torch.float64: 1000, torch.float16: 28}.get(x.dtype, 250)
        return (x.double() * torch.exp2(reach * (torch.rand(x.shape, device="cuda", dtype=torch.float64) - 0.5))).to(x.dtype)

    def gradients(x):
        """Over 60 binades, and three in ten are 0."""
        kept = torch.rand(x.shape, device="cuda") < 0.7
        return (x.double() * torch.exp(4 * torch.randn(x.shape, device="cuda").double() - 12) * kept).to(x.dtype)

    def with_outliers(x):
        x = x.clone()
        x.view(-1)[::x.numel() // 20] = 3e4 if x.dtype == torch.float16 else 1e30
        return x

    def with_zeros(x):
        """Half are 0, half of these negative."""
        return torch.where(torch.rand(x.shape, device="cuda") < 0.5, x, torch.zeros_like(x).copysign(x))

    return {"wide": wide, "one NaN": with_nan, "NaNs": with_nans, "all exponents": all_exponents, "gradients": gradients,
            "outliers": with_outliers, "zeros": with_zeros, "minus zeros": lambda x: torch.full_like(x, -0.0)}


def keys(bench, dtype, counts, ops, chosen):
    torch = bench.torch
    n = bench.nbytes // torch.empty(0, dtype=dtype).element_size()
    x = make(bench, dtype, (n,))
    for count in counts:
        into = torch.zeros(count, dtype=dtype, device="cuda")
        for order, make_key in orders_of_keys(torch, count, n).items():
            if chosen and order not in chosen:
                continue
            key = make_key()
            there, here = labels_of(bench, key)
            groups, on_host = (bench.library.wf_groups_keys(0, count, byref(labels)) for labels in (there, here))
            peers = {"sum": lambda: into.index_add_(0, key, x), "max": lambda: into.scatter_reduce_(0, key, x, "amax")}
            if dtype not in (torch.float32, torch.float64) and (count < 1000 or order != "random"):
                peers = {}  # which take seconds
            for op in ops:
                bench.case(f"{count} keys, {order}", op, x, groups, peers.get(op), on_host)
            if order == "random" and dtype in (torch.float32, torch.float64) and count >= 1000:
                for kind, spoilt in values_that_hurt(torch).items():
                    values = spoilt(x)
                    bench.case(f"{count} keys, {order}, {kind}", "sum", values, groups,
                               lambda: into.index_add_(0, key, values), on_host)  # noqa: B023
    if chosen:
        return
    del key, into
    rows, columns, count = n // 64, 64, 100_000
    table, key = x.view(rows, columns), torch.randint(0, count, (rows,), device="cuda")
    there, here = labels_of(bench, key)
    groups, on_host = (bench.library.wf_groups_keys(0, count, byref(labels)) for labels in (there, here))
    into = torch.zeros((count, columns), dtype=dtype, device="cuda")
    bench.case(f"{rows} x {columns} into {count} rows", "sum", table, groups, lambda: into.index_add_(0, key, table), on_host)


def main():
    parser = argparse.ArgumentParser(prog="groups.py")
    parser.add_argument("build", type=lambda text: Path(text).resolve())
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", action="append", choices=["axes", "segments", "keys"])
    parser.add_argument("--length", action="append", type=int)
    parser.add_argument("--keys", action="append", type=int)
    parser.add_argument("--order", action="append", help="of keys: random, sorted, skewed, mostly sorted, half one key")
    parser.add_argument("--op", action="append", choices=OPS)
    parser.add_argument("--type", action="append", choices=["f32", "f64", "f16", "bf16", "i8", "i32"])
    parser.add_argument("--kind", action="append", choices=KINDS, help="of values along axes")
    parser.add_argument("--nbytes", type=int, default=NBYTES, help="of values")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    bench = Bench(options.build, options.nbytes)
    types = {name: dtype for dtype, name in bench.dtypes.items()}
    wanted = options.only or ["axes", "segments", "keys"]
    print(f"ceiling {bench.ceiling:.0f} GB/s\n{'groups':34s} | op     | type |   GB/s | share | torch  | ratio | plan")
    for name in options.type or (["f32"] if options.quick else ["f32", "f64", "f16", "bf16", "i8"]):
        if "axes" in wanted:
            for kind in options.kind or KINDS[:1]:
                axes(bench, types[name], options.op or (OPS[:4] if options.quick else OPS), options.length or LENGTHS, kind)
        if "segments" in wanted:
            segments(bench, types[name], (4, 32, 256, 4096, 1 << 20))
        if "keys" in wanted:
            keys(bench, types[name], options.keys or KEYS, options.op or (OPS[:3] if options.quick else OPS[:4]), options.order)
    if options.json:
        import groups_table
        read = f"a plain read {bench.ceiling:.0f} GB/s"
        groups_table.write(options.json, "gpu", f"{bench.wf.device_text('cuda:0')}; {read}; torch {bench.torch.__version__}", bench.rows)


if __name__ == "__main__":
    main()
