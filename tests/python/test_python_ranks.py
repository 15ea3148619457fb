"""Accumulators as words that are added up over ranks, in any order: the bytes of those merged.  And arrays, of which
every rank reduces a piece: the oracle's results."""

import random
import threading

import pytest

wf = pytest.importorskip("warpfold", reason="the Python package was not built: no headers of Python")
from oracle import Oracle
from samples import nbytes_of, sample
from test_python_ops import DTYPES, number, same
from warpfold import _ranks

OPS = ("sum", "mean", "var", "norm1", "norm2", "norminf", "min", "max", "argmin", "argmax", "count_nonzero", "any", "stats")


HEAD = _ranks._HEAD_WORDS + _ranks._WORDS_BESIDE


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

    def each(self, work):
        """What work(rank) gives, or raises, on a thread for each rank."""
        given = [None] * self.count

        def keep(rank):
            try:
                given[rank] = work(rank)
            except Exception as error:
                given[rank] = error

        threads = [threading.Thread(target=keep, args=(rank,)) for rank in range(self.count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return given

    def run(self, accumulators):
        return self.each(lambda rank: wf.all_reduce(accumulators[rank], lambda words: self.reduce(rank, words, sum),
                                                    lambda words: self.reduce(rank, words, max)))


class ArrayRanks:
    """One rank's collectives of arrays, as _ranks asks for them."""

    block_nbytes = 64
    waits = True

    def __init__(self, ranks, rank, whole_nbytes):
        self.ranks, self.rank, self.count, self.whole_nbytes = ranks, rank, ranks.count, whole_nbytes
        self.np = pytest.importorskip("numpy")

    def add(self, words):
        self.ranks.reduce(self.rank, words, sum)

    def meet(self, send):
        self.ranks.words[self.rank] = send.copy()
        self.ranks.barrier.wait()
        every = list(self.ranks.words)
        self.ranks.barrier.wait()
        return every

    def exchange(self, send, receive):
        got = self.np.concatenate([each.reshape(self.count, -1)[self.rank] for each in self.meet(send)])
        receive[:] = self.np.frombuffer(bytes(len(got) * got.itemsize), got.dtype)  # not yet there
        return lambda: self.np.copyto(receive, got)

    def gather(self, send, receive):
        got = self.np.concatenate(self.meet(send))
        receive[:] = self.np.frombuffer(bytes(len(got) * got.itemsize), got.dtype)
        return lambda: self.np.copyto(receive, got)

    def share(self, pieces):
        got = self.np.concatenate(self.meet(self.np.split(pieces, self.count)[self.rank]))
        return lambda: self.np.copyto(pieces, got)

    def contiguous(self, array):
        return self.np.asarray(array, order="C")

    def empty(self, count, dtype):
        return self.np.empty(count, dtype)


def reduce_arrays(arrays, op="sum", whole_nbytes=0, **options):
    ranks = Ranks(len(arrays), op)
    return ranks.each(lambda rank: _ranks.all_reduce_array(arrays[rank], ArrayRanks(ranks, rank, whole_nbytes), op, **options))


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


@pytest.mark.parametrize("op", ("mean", "var", "max", "argmin", "stats", "count_nonzero"))
def test_words_of_many_results(op):
    """Those that are zeros on all ranks are not sent: by which the bytes do not change, wherever the numbers are."""
    np = pytest.importorskip("numpy")
    rng, first = np.random.default_rng(5), 0
    for count, scale in ((1, 0), (3, 0), (4, 60)):
        shares, sent = [], []
        for rank in range(count):
            rows = rng.standard_normal((rank, 5, 8)) * 2.0 ** rng.integers(-scale, scale + 1, (rank, 5, 8))
            rows[:, rank, :] = -0.0 if rank % 2 else float("nan")
            shares.append(wf.Accumulator(op, shape=(5, 8), first_index=first).update(rows, axis=0))
            first += rank
        whole = shares[0].copy()
        for share in shares[1:]:
            whole.merge(share)
        ranks = Ranks(count, op)

        def add(rank, words):
            if len(words) != HEAD:  # the first message, of one length for all
                sent.append(len(words))
            ranks.reduce(rank, words, sum)

        ranks.each(lambda rank: wf.all_reduce(shares[rank], lambda words: add(rank, words),
                                              lambda words: ranks.reduce(rank, words, max)))
        assert [share.bytes() for share in shares] == [whole.bytes()] * count
        assert max(sent) < len(whole.words()[0]) / (3 if scale == 0 else 1.2)


@pytest.mark.parametrize("settings", ({"ddof": 1}, {"nan": "omit"}))
def test_ranks_that_differ_all_learn_of_it(settings):
    for told in Ranks(3, "settings").run([wf.Accumulator("var"), wf.Accumulator("var", **settings), wf.Accumulator("var")]):
        assert type(told) is ValueError and "different reductions" in str(told)


@pytest.mark.parametrize("failure", (OSError("no such share"), wf.Accumulator("prod"), None))
def test_a_rank_that_failed_leaves_none_waiting(failure):
    """It says so, it has what has no words, or no accumulator."""
    shares = [wf.Accumulator("sum").update([1.0]), failure, wf.Accumulator("sum")]
    told = Ranks(3, "failure").run(shares)
    assert {type(told[0]), type(told[2])} == {RuntimeError}
    assert told[1] is failure or type(told[1]) in (TypeError, AttributeError)
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


# ---- arrays


@pytest.mark.parametrize("op", ("sum", "mean", "var", "max", "argmin"))
@pytest.mark.parametrize("type_name", ("f64", "f32", "f16", "i32", "u8"))
def test_arrays_element_by_element(type_name, op):
    """Of 1 to 8 ranks, in pieces that are even and uneven, in one block and in several, and whole: the oracle's results, on all."""
    np, size = pytest.importorskip("numpy"), nbytes_of(type_name)
    for count, length in ((1, 3), (2, 8), (3, 40), (5, 2), (8, 37)):
        data = [sample(type_name, length, "plain", seed=100 * count + rank) for rank in range(count)]
        arrays = [np.frombuffer(each, DTYPES[type_name]) for each in data]
        got = reduce_arrays(arrays, op) + reduce_arrays(arrays, op, whole_nbytes=1000)
        for i in range(length):
            wanted = number(Oracle(type_name, b"".join(each[i * size:(i + 1) * size] for each in data)).reduce(op))
            same(got[0][i].item(), wanted)
        assert all(each.dtype == got[0].dtype and each.tobytes() == got[0].tobytes() for each in got)


def test_arrays_in_any_order_of_ranks():
    np = pytest.importorskip("numpy")
    rng = np.random.default_rng(3)
    shares = rng.standard_normal((6, 3, 7, 2)) * 10.0 ** rng.integers(-20, 20, (6, 3, 7, 2))
    one = reduce_arrays(shares)[0]
    assert one.shape == (3, 7, 2) and one.tobytes() == wf.sum(shares, axis=0).tobytes()
    assert all(each.tobytes() == one.tobytes() for each in reduce_arrays(shares[rng.permutation(6)]))
    assert one.tobytes() != sum(shares).tobytes()  # which rounds at each step
    columns = shares.transpose(0, 3, 2, 1)  # not contiguous
    assert reduce_arrays(columns)[5].tobytes() == one.transpose(2, 1, 0).tobytes()


def test_arrays_of_nothing_and_of_no_dimensions():
    np = pytest.importorskip("numpy")
    assert [each.shape for each in reduce_arrays([np.empty((0, 3), "f4")] * 3)] == [(0, 3)] * 3
    assert [each.item() for each in reduce_arrays([np.array(1e30), np.array(1.0), np.array(-1e30)])] == [1.0] * 3


@pytest.mark.parametrize("other", (OSError("no file"), [1.0, 2.0], [[1.0], [2.0], [3.0]], None))
def test_arrays_of_ranks_that_differ_or_failed(other):
    np = pytest.importorskip("numpy")
    told = reduce_arrays([np.ones(3), other if isinstance(other, OSError) else np.array(other), np.ones(3)])
    assert {type(told[0]), type(told[2])} <= {RuntimeError, ValueError}
    assert told[1] is other or type(told[1]) in (ValueError, TypeError)


def test_an_error_of_one_piece_is_one_of_all_ranks():
    np = pytest.importorskip("numpy")
    shares = np.ones((4, 40))
    shares[2, 33] = float("nan")
    told = reduce_arrays(shares, nan="error")
    assert sorted(type(each).__name__ for each in told) == ["RuntimeError"] * 3 + ["ValueError"]
    told = reduce_arrays(shares, nan="error", whole_nbytes=1000)
    assert [type(each).__name__ for each in told] == ["ValueError"] * 4
    told = reduce_arrays(np.full((2, 3), 100, "i1"), dtype="int8")
    assert {"OverflowError"} <= {type(each).__name__ for each in told} <= {"RuntimeError", "OverflowError"}
