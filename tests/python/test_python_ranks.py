"""Accumulators as words that are added up over ranks, in any order: the bytes of those merged."""

import random
import threading

import pytest

wf = pytest.importorskip("warpfold", reason="the Python package was not built: no headers of Python")

OPS = ("sum", "mean", "var", "norm1", "norm2", "norminf", "min", "max", "argmin", "argmax", "count_nonzero", "any", "stats")


class Ranks:
    """A collective: what each rank's thread gives is folded in a random order, and given to all."""

    def __init__(self, count, seed):
        self.count, self.rng, self.words = count, random.Random(seed), [None] * count
        self.barrier = threading.Barrier(count, timeout=60)

    def reduce(self, rank, words, fold):
        self.words[rank] = words.tolist()
        self.barrier.wait()
        order = random.Random(rank).sample(self.words, self.count)
        total = [fold(column) for column in zip(*order)]
        self.barrier.wait()
        for i, word in enumerate(total):
            words[i] = word

    def run(self, accumulators):
        def work(rank):
            wf.all_reduce(accumulators[rank], lambda words: self.reduce(rank, words, sum),
                          lambda words: self.reduce(rank, words, max))

        threads = [threading.Thread(target=work, args=(rank,)) for rank in range(self.count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def values_of(rng, count, dtype):
    if "int" in dtype:
        return [rng.randrange(0 if dtype == "uint8" else -100, 100) for _ in range(count)]
    if dtype == "float16":
        return [rng.gauss(0, 1) for _ in range(count)]
    return [rng.choice([rng.gauss(0, 1), rng.gauss(0, 1) * 1e20, -0.0, 3.0]) for _ in range(count)]


@pytest.mark.parametrize("dtype", ("float64", "float32", "float16", "int32", "uint8"))
@pytest.mark.parametrize("op", OPS)
def test_ranks_give_the_bytes_of_a_merge(op, dtype):
    rng = random.Random(f"{op} {dtype}")
    for count in (1, 2, 5):
        shares, first = [], 0
        whole = wf.Accumulator(op, dtype)
        for rank in range(count):
            values = values_of(rng, rng.choice([0, 1, 7, 30]), dtype)
            shares.append(wf.Accumulator(op, dtype, first_index=first).update(wf_array(values, dtype)))
            whole.merge(shares[-1])
            first += len(values)
        Ranks(count, op).run(shares)
        assert [share.bytes() for share in shares] == [whole.bytes()] * count


def wf_array(values, dtype):
    numpy = pytest.importorskip("numpy")
    return numpy.array(values, dtype)


def test_shapes_over_ranks():
    rng = random.Random("shapes")
    shares = [wf.Accumulator("sum", "float32", shape=(3,)).update(wf_array([values_of(rng, 3, "float32")] * 4, "float32"))
              for _ in range(3)]
    whole = shares[0] + shares[1] + shares[2]
    Ranks(3, "shapes").run(shares)
    assert [share.bytes() for share in shares] == [whole.bytes()] * 3


@pytest.mark.parametrize("settings", ({"ddof": 1}, {"nan": "omit"}))
def test_ranks_that_differ_all_learn_of_it(settings):
    shares = [wf.Accumulator("var"), wf.Accumulator("var", **settings), wf.Accumulator("var")]
    ranks, told = Ranks(3, "settings"), []

    def work(rank):
        with pytest.raises(ValueError, match="different reductions"):
            wf.all_reduce(shares[rank], None, lambda words: ranks.reduce(rank, words, max))
        told.append(rank)

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == [0, 1, 2]


def test_a_rank_that_failed_leaves_none_waiting():
    shares = [wf.Accumulator("sum").update([1.0]), OSError("no such share"), wf.Accumulator("sum")]
    ranks, told = Ranks(3, "failure"), {}

    def work(rank):
        try:
            wf.all_reduce(shares[rank], None, lambda words: ranks.reduce(rank, words, max))
        except Exception as error:
            told[rank] = error

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told[1] is shares[1] and {type(told[0]), type(told[2])} == {RuntimeError}
    assert shares[0].result() == 1.0


def test_what_has_no_words_and_what_are_no_words():
    total = wf.Accumulator("sum").update([1.0, 2.0])
    added, largest = total.words()
    assert (added.format, added.itemsize, len(largest)) == ("q", 8, 0)
    with pytest.raises(ValueError, match="added: 8 bytes"):
        total.take_words(b"12345678", b"")
    added[len(added) - 1] = 2**62 + 1
    with pytest.raises(ValueError):
        total.take_words(added, largest)
    assert total.result() == 3.0
    with pytest.raises(TypeError):
        wf.Accumulator("prod").words()


def test_torch_distributed_of_one_rank(tmp_path):
    torch = pytest.importorskip("torch")
    import warpfold.torch
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/ranks", rank=0, world_size=1)
    try:
        total = wf.Accumulator("argmax", "float32").update([1.0, 7.0, 3.0])
        assert warpfold.torch.all_reduce(total).result() == 1
    finally:
        torch.distributed.destroy_process_group()
