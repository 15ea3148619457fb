"""warpfold.torch over the ranks of torch.distributed, with Gloo: in a process that forks the ranks, which import torch
once."""

import contextlib
import math
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def main(folder):
    import torch
    from torch import distributed
    import warpfold as wf
    import warpfold.torch as wft

    sys.path.insert(0, str(ROOT / "examples" / "python"))
    import torch_ranks

    torch.set_num_threads(1)
    start = multiprocessing.get_context("fork")

    def on_ranks(count, work):
        """What work(rank, count) gives on each rank, as text."""
        queue = start.SimpleQueue()

        def run(rank):
            torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/{work.__name__}{count}", rank=rank,
                                                 world_size=count)
            queue.put((rank, work(rank, count)))
            torch.distributed.destroy_process_group()

        ranks = [start.Process(target=run, args=(rank,)) for rank in range(count)]
        for rank in ranks:
            rank.start()
        for rank in ranks:
            rank.join(120)
        assert [rank.exitcode for rank in ranks] == [0] * count, (work.__name__, count)
        return [text for _, text in sorted(queue.get() for _ in ranks)]

    def bits(tensor):
        return tensor.numpy(force=True).tobytes().hex()

    def trains(rank, count):
        """Batches shared in turns, and in a run backwards."""
        batches = list(torch_ranks.make_batches(7))
        shares = batches[rank::count], batches[::-1][7 * rank // count:7 * (rank + 1) // count]
        models = [torch_ranks.train(share, steps=2) for share in shares]
        return [(*(bits(parameter) for parameter in model.parameters()), float(loss).hex()) for model, loss in models]

    seen = [each for count in (1, 2, 5) for both in on_ranks(count, trains) for each in both]
    assert len(seen) == 16 and all(each == seen[0] for each in seen)

    def gives_metrics(rank, count):
        draw = torch.Generator().manual_seed(5)
        scores, tokens = torch.randn(60, generator=draw) * 2.0 ** 30, torch.randint(0, 4, (60,), generator=draw)
        rows = torch.randn(60, 3, generator=draw)
        embedding, norm = wf.Accumulator("sum", "float32", shape=(4, 3)), wf.Accumulator("norm2", "float32")
        best, here = wf.Accumulator("argmax", "float32", first_index=60 * rank // count), slice(60 * rank // count,
                                                                                              60 * (rank + 1) // count)
        embedding.update(rows[here], ids=tokens[here])
        found = [wft.all_reduce(total).result() for total in
                 (best.update(scores[here]), norm.update(scores[here]), embedding)]
        expected = torch.zeros(4, 3, dtype=torch.float64).index_add(0, tokens, rows.double())
        assert found[0] == int(scores.argmax())
        assert abs(found[1] / float(scores.double().norm()) - 1) < 1e-7
        assert torch.allclose(torch.as_tensor(found[2]).double(), expected, rtol=1e-6)
        return found[0], float(found[1]).hex(), bits(torch.as_tensor(found[2]))

    assert len({each for count in (1, 4) for each in on_ranks(count, gives_metrics)}) == 1

    def asks_nobody(rank, count):
        """What ranks have agreed upon before costs no message."""
        made, messages = wft._Ranks, []

        def make(group):
            ranks = made(group)
            add, ranks.waits = ranks.add, False
            ranks.add = lambda words: (messages.append(len(words)), add(words))
            return ranks

        wft._Ranks = make
        for dtype, length in ((torch.float32, 1001), (torch.bfloat16, 201), (torch.float64, 50), (torch.float32, 3000)):
            rows = [torch.randn(length, generator=torch.Generator().manual_seed(i)).to(dtype) for i in range(count)]
            expected = wf._core.reduce_op("sum", torch.stack(rows), axis=0)
            for agreed in (False, True):
                got = wft.all_reduce_array(rows[rank], agreed=agreed)
                assert got.dtype == dtype and torch.equal(got, expected), (dtype, length)
        wft._Ranks = made
        return len(messages)

    for count in (2, 3):
        assert on_ranks(count, asks_nobody) == [4] * count

    def reduces_arrays(rank, count):
        found = []
        for dtype, length, op in ((torch.float32, 1001, "sum"), (torch.bfloat16, 64, "mean"), (torch.int64, 5, "sum"),
                                  (torch.float64, 9, "argmax"), (torch.float32, 2_100_001 // count, "sum")):
            rows = [(100 * torch.randn(length, generator=torch.Generator().manual_seed(i))).to(dtype) for i in range(count)]
            got, same = wft.all_reduce_array(rows[rank], op), wft.all_reduce_array(rows[-1 - rank], op)
            assert got.dtype == (torch.int64 if op == "argmax" else dtype)
            assert torch.equal(got, wf._core.reduce_op(op, torch.stack(rows), axis=0))
            assert op == "argmax" or torch.equal(got, same), "other bits in another order of ranks"
            if dtype == torch.float32:
                exact = torch.stack(rows).double().sum(0)  # 8 summands of alike magnitudes: no bit is lost
                assert torch.equal(got, exact.float())
        parameter = torch.nn.Parameter(torch.full((2, 2), float(rank)))
        assert not wft.all_reduce_array(parameter).requires_grad
        for wrong in (torch.ones(3 + rank), ValueError("mine") if rank == count - 1 else torch.ones(3)):
            try:
                wft.all_reduce_array(wrong)
                found.append("nothing")
            except (ValueError, RuntimeError) as error:
                found.append(str(error))
        return found

    for count in (2, 8):
        found = on_ranks(count, reduces_arrays)
        assert [texts[0][:30] for texts in found] == ["the ranks' arrays are of diffe"] * count
        assert [texts[1] for texts in found] == ["another rank failed: its own exception says why"] * (count - 1) + ["mine"]

    def gives_values(rank, count):
        found = []
        for dtype, op in ((torch.float32, "sum"), (torch.bfloat16, "norm2"), (torch.float64, "var"), (torch.int32, "max"),
                          (torch.int64, "mean"), (torch.float32, "any"), (torch.int8, "sum")):
            whole = (100 * torch.randn(101, generator=torch.Generator().manual_seed(1))).to(dtype)
            share = whole[101 * rank // count:101 * (rank + 1) // count]
            got = wft.all_reduce_value([share[:5], share[5:]], op, ddof=int(op == "var"))
            expected = wf.Accumulator(op, str(dtype).partition(".")[2], ddof=int(op == "var")).update(whole).result()
            kept = dtype if op in ("sum", "norm2", "var") and dtype.is_floating_point else got.dtype
            assert got.shape == () and got.dtype == kept and got.item() == expected, (op, dtype)
            found.append(bits(got.double()))
        table = torch.randn(23, 4, generator=torch.Generator().manual_seed(2))
        share = table[23 * rank // count:23 * (rank + 1) // count]
        for op in ("sum", "var", "any"):
            got = wft.all_reduce_value([share[:3], share[3:]], op, axis=0)
            expected = torch.as_tensor(wf.Accumulator(op, "float32", 4).update(table, axis=0).result())
            assert got.shape == (4,) and bits(got.double()) == bits(expected.double()), op
        if rank % 2:  # there results of bfloat16 are NumPy's, otherwise lists
            with contextlib.suppress(ImportError):
                import ml_dtypes  # noqa: F401
        table[5, 1] = table[17, 3] = math.nan
        wide = table.repeat(1, 20).bfloat16()  # as many as torch converts at a time
        got = wft.all_reduce_value(wide[23 * rank // count:23 * (rank + 1) // count], "sum", axis=0)
        assert torch.equal(got.view(torch.int16), wf._core.reduce_op("sum", wide, axis=0).view(torch.int16))
        assert got.view(torch.int16)[3::4].tolist() == [0x7fc0] * 20
        for wrong in (torch.ones(2, dtype=torch.complex64 if rank == 1 else torch.float32),
                      [torch.ones(2), torch.ones(2).double()] if rank else torch.ones(3),
                      torch.ones(3 + rank).to((torch.float32, torch.float64)[rank % 2])):
            try:
                wft.all_reduce_value(wrong)
            except (TypeError, ValueError, RuntimeError) as error:
                found.append(type(error).__name__ + ": " + str(error)[:19])
        return found

    def waits_for_nothing(rank, count):
        """As with NCCL: a rank that fails in its sums leaves NaN there."""
        made, reduce = wft._Ranks, wf._core.reduce_op

        def make(group):
            ranks = made(group)
            ranks.waits = False
            return ranks

        def fail(op, rows, **chosen):
            if rank == 1 and "out" in chosen:
                raise MemoryError("no memory")
            return reduce(op, rows, **chosen)

        wft._Ranks = make
        assert torch.equal(wft.all_reduce_array(torch.ones(9)), torch.full((9,), float(count)))
        wf._core.reduce_op = fail
        found = []
        for length, dtype in ((3000, torch.float32), (3000, torch.int64), (9, torch.float32)):
            try:
                found.append(wft.all_reduce_array(torch.ones(length, dtype=dtype)).tolist()[::1000])
            except (MemoryError, RuntimeError) as error:
                found.append(type(error).__name__)
        wf._core.reduce_op, wft._Ranks = reduce, made
        return found

    found = on_ranks(3, waits_for_nothing)
    assert found[1] == ["MemoryError"] * 3 and found[0][1] == found[2][1] == "RuntimeError"
    for floats, _, short in (found[0], found[2]):
        assert floats[0] == floats[2] == 3.0 and floats[1] != floats[1]
        assert short == [3.0]  # everybody's own

    one, = on_ranks(1, gives_values)
    for rank, found in enumerate(on_ranks(3, gives_values)):
        assert found[-3].partition(":")[0] == ("TypeError" if rank == 1 else "RuntimeError")
        assert found[:-3] == one and found[-1] == "ValueError: the ranks' accumula"
        assert found[-2] == ("ValueError: the tensors must be" if rank else "RuntimeError: another rank failed")
    print("the same bits")


@pytest.mark.slow
def test_ranks_of_torch(tmp_path):
    torch = pytest.importorskip("torch", reason="no torch")
    if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
        pytest.skip("skipped: torch without Gloo")
    wf = pytest.importorskip("warpfold", reason="the Python package was not built: no headers of Python")
    package = Path(wf.__file__).parent.parent
    done = subprocess.run([sys.executable, __file__, tmp_path], capture_output=True, text=True, timeout=300,
                          env=os.environ | {"PYTHONPATH": str(package), "OMP_NUM_THREADS": "1"})
    assert done.stdout == "the same bits\n", done.stderr


if __name__ == "__main__":
    main(sys.argv[1])
