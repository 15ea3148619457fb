"""triton_kernels.py: kernels that Triton compiles here, without a GPU, on the simulator, each compared with NumPy.

    python -m venv FOLDER; FOLDER/bin/pip install triton numpy
    PYTHONPATH=BUILD/python FOLDER/bin/python lab/triton_kernels.py [NAME]...

A line for each kernel and compute capability (80, 90): right, wrong, or what the simulator lacks; findings.  Exit status 1: some
were wrong or lack something.
"""

import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import warpfold

rng = np.random.default_rng(1)
CASES = []
TYPES = {"f2": "*fp16", "f4": "*fp32", "f8": "*fp64", "i1": "*i8", "i4": "*i32", "i8": "*i64"}


def case(name, kernel, capabilities=(80, 90), constants=None, **options):
    """Decorates a function that gives (grid, arguments, index of the result, what it must be, allowed difference)."""

    def add(make):
        CASES.append((name, kernel, capabilities, constants or {}, options, make))
        return make
    return add


def normal(*shape, dtype="f4"):
    return rng.standard_normal(shape).astype(dtype)


# ---- reductions and scans -------------------------------------------------------------------------------


@triton.jit
def total(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + i, mask=i < n, other=0.0), 0))


@case("total", total, constants={"BLOCK": 1024})
def total_of_some():
    x = normal(4096)
    return 4, [x, np.zeros(1, "f4"), 3000], 1, x[:3000].sum(dtype="f8"), 1e-3


@triton.jit
def softmax(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.load(x + tl.program_id(0) * n + i, mask=i < n, other=-float("inf"))
    powers = tl.exp(row - tl.max(row, 0))
    tl.store(out + tl.program_id(0) * n + i, powers / tl.sum(powers, 0), mask=i < n)


@case("softmax", softmax, constants={"BLOCK": 256})
def softmax_of_rows():
    x = normal(4, 200)
    powers = np.exp(x.astype("f8"))
    return 4, [x, np.zeros_like(x), 200], 1, powers / powers.sum(1, keepdims=True), 1e-6


@triton.jit
def orders(x, sums, sorted_, places, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(sums + i, tl.cumsum(v, 0))
    tl.store(sorted_ + i, tl.sort(v))
    tl.store(places, tl.argmax(v, 0))


@case("scan, sort, argmax", orders, constants={"BLOCK": 512})
def orders_of_values():
    x = normal(512)
    return 1, [x, np.zeros_like(x), np.zeros_like(x), np.zeros(1, "i4")], (1, 2, 3), (np.cumsum(x, dtype="f8"), np.sort(x), x.argmax()), 1e-4


@triton.jit
def counts(keys, out, BLOCK: tl.constexpr, BINS: tl.constexpr):
    tl.store(out + tl.arange(0, BINS), tl.histogram(tl.load(keys + tl.arange(0, BLOCK)), BINS))


@case("histogram", counts, constants={"BLOCK": 1024, "BINS": 64})
def counts_of_keys():
    keys = rng.integers(0, 64, 1024).astype("i4")
    return 1, [keys, np.zeros(64, "i4")], 1, np.bincount(keys, minlength=64), 0


@triton.jit
def look_back(x, out, flags, before, BLOCK: tl.constexpr):
    """A scan of blocks, each of which waits for the one before."""
    block = tl.program_id(0)
    i = block * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i)
    sum_before = 0.0
    if block > 0:
        while tl.atomic_add(flags + block - 1, 0, sem="acquire") == 0:
            pass
        sum_before = tl.load(before + block - 1, volatile=True)
    tl.store(before + block, sum_before + tl.sum(v, 0))
    tl.debug_barrier()
    tl.atomic_xchg(flags + block, 1, sem="release")
    tl.store(out + i, sum_before + tl.cumsum(v, 0))


@case("scan by look-back", look_back, constants={"BLOCK": 256})
def look_back_of_blocks():
    x = normal(1024)
    return 4, [x, np.zeros_like(x), np.zeros(4, "i4"), np.zeros(4, "f4")], 1, np.cumsum(x, dtype="f8"), 1e-4


# ---- products -------------------------------------------------------------------------------------------


@triton.jit
def product(a, b, out, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    sums = tl.zeros((M, N), tl.float32)
    for begin in range(0, k, K):
        some = begin + tl.arange(0, K)
        left = tl.load(a + rows[:, None] * k + some[None, :], mask=some[None, :] < k, other=0.0)
        right = tl.load(b + some[:, None] * n + columns[None, :], mask=some[:, None] < k, other=0.0)
        sums = tl.dot(left, right, sums)
    tl.store(out + rows[:, None] * n + columns[None, :], sums)


def factors(dtype, m, n, k):
    a, b = normal(m, k, dtype=dtype), normal(k, n, dtype=dtype)
    return [a, b, np.zeros((m, n), "f4"), m, n, k], a.astype("f8") @ b.astype("f8")


for precision, dtype, allowed in (("f16", "f2", 1e-3), ("tf32", "f4", 0.1)):
    for stages, clusters in ((1, 1), (3, 1), (3, 2)):
        @case(f"product {precision}, {stages} stages, clusters of {clusters}", product, (80, 90) if clusters == 1 else (90,),
              {"M": 64, "N": 64, "K": 32}, num_stages=stages, num_ctas=clusters)
        def product_of_two(dtype=dtype, allowed=allowed):
            arguments, wanted = factors(dtype, 128, 64, 160)
            return (2, 1), arguments, 2, wanted, allowed


@triton.jit
def persistent(a, b, out, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, BLOCKS: tl.constexpr, FLAT: tl.constexpr,
               SPECIAL: tl.constexpr):
    """By tensor maps that the kernel makes itself; SPECIAL: warps that load, warps that multiply."""
    left, right = tl.make_tensor_descriptor(a, [m, k], [k, 1], [M, K]), tl.make_tensor_descriptor(b, [n, k], [k, 1], [N, K])
    to = tl.make_tensor_descriptor(out, [m, n], [n, 1], [M, N])
    for tile in tl.range(tl.program_id(0), (m // M) * (n // N), BLOCKS, flatten=FLAT, warp_specialize=SPECIAL):
        row, column = tile % (m // M) * M, tile // (m // M) * N
        sums = tl.zeros((M, N), tl.float32)
        for begin in range(0, k, K):
            sums = tl.dot(left.load([row, begin]), right.load([column, begin]).T, sums)
        to.store([row, column], sums.to(tl.float16))


for flat, special in ((False, False), (True, False), (False, True)):
    @case(f"persistent product, {'flattened' if flat else 'warps specialised' if special else 'plain'}", persistent, (90,),
          {"M": 128 if special else 64, "N": 64, "K": 64, "BLOCKS": 2, "FLAT": flat, "SPECIAL": special}, num_stages=2)
    def product_of_tiles():
        a, b = normal(256, 128, dtype="f2"), normal(128, 128, dtype="f2")
        return 2, [a, b, np.zeros((256, 128), "f2"), 256, 128, 128], 2, a.astype("f8") @ b.astype("f8").T, 0.05


@triton.jit
def attention(q, k, v, out, n, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, D)
    queries = tl.load(q + rows[:, None] * D + columns[None, :])
    most, weight, sums = tl.full((M,), -float("inf"), tl.float32), tl.zeros((M,), tl.float32), tl.zeros((M, D), tl.float32)
    for begin in range(0, (tl.program_id(0) + 1) * M, N):
        some = begin + tl.arange(0, N)
        scores = tl.dot(queries, tl.trans(tl.load(k + some[:, None] * D + columns[None, :]))) * 0.125
        scores = tl.where(rows[:, None] >= some[None, :], scores, -float("inf"))
        now = tl.maximum(most, tl.max(scores, 1))
        powers, change = tl.math.exp2(scores - now[:, None]), tl.math.exp2(most - now)
        weight, most = weight * change + tl.sum(powers, 1), now
        sums = tl.dot(powers.to(tl.float16), tl.load(v + some[:, None] * D + columns[None, :]), sums * change[:, None])
    tl.store(out + rows[:, None] * D + columns[None, :], (sums / weight[:, None]).to(tl.float16))


for stages in (1, 3):
    @case(f"causal attention, {stages} stages", attention, constants={"D": 64, "M": 64, "N": 32}, num_stages=stages)
    def attention_of_rows():
        q, k, v = (normal(128, 64, dtype="f2") for _ in range(3))
        scores = np.where(np.tri(128, dtype=bool), q.astype("f8") @ k.astype("f8").T / 8, -np.inf)
        powers = np.exp2(scores - scores.max(1, keepdims=True))
        return 2, [q, k, v, np.zeros((128, 64), "f2"), 128], 3, powers @ v.astype("f8") / powers.sum(1, keepdims=True), 5e-3


# ---- the run --------------------------------------------------------------------------------------------


def compiled(kernel, arguments, constants, options, capability):
    """Lengths that are multiples of 16 are promised to be so, as Triton does when it launches."""
    names, signature, promises = kernel.arg_names, {}, {}
    for at, (name, value) in enumerate(zip(names, arguments)):
        signature[name] = TYPES[value.dtype.str[1:]] if isinstance(value, np.ndarray) else "i32"
        if isinstance(value, np.ndarray) or value % 16 == 0:
            promises[at,] = [["tt.divisibility", 16]]
    source = ASTSource(kernel, signature | dict.fromkeys(constants, "constexpr"), constants, promises)
    return triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)


def run(kernel, grid, arguments):
    """Behind the arguments Triton passes memory for all blocks and for profiling; a program is a cluster."""
    text, meta = kernel.asm["ptx"], kernel.metadata
    x, *others = grid if isinstance(grid, tuple) else (grid,)
    grid = (x * meta.num_ctas, *others)
    blocks = int(np.prod(grid))
    scratch = [np.zeros(max(getattr(meta, "global_scratch_size", 0) * blocks, 128), "u1"), np.zeros(128, "u1")]
    threads = int(re.search(r"\.reqntid (\d+)", text)[1])
    numbers = [value if isinstance(value, np.ndarray) else np.int32(value) for value in arguments]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.ptx"
        path.write_text(text)
        return warpfold.run_kernel(path, grid, threads, numbers + scratch, shared=meta.shared)


def verdict(case, capability):
    _, kernel, _, constants, options, make = case
    grid, arguments, at, wanted, allowed = make()
    done = run(compiled(kernel, arguments, constants, options, capability), grid, arguments)
    pairs = zip(at, wanted) if isinstance(at, tuple) else [(at, wanted)]
    is_right = not done.stopped and all(np.max(np.abs(arguments[i].astype("f8") - right)) <= allowed for i, right in pairs)
    return is_right, "; ".join([f"{done.counts['instructions']} instructions", *(finding.message for finding in done.findings)])


def main():
    count = right = 0
    for case in CASES:
        for capability in case[2] if not sys.argv[1:] or case[0] in sys.argv[1:] else ():
            is_right, said = verdict(case, capability)
            print(f"{'right' if is_right else 'WRONG'}: {case[0]}, {capability}: {said}", flush=True)
            count, right = count + 1, right + is_right
    print(f"Triton {triton.__version__}: {right} of {count} right")
    sys.exit(right != count)


if __name__ == "__main__":
    main()
