"""Words of arrays in a GPU's memory: those of the CPU's accumulators, word for word; added up over ranks, and where the
largest was taken, they leave the result that these have.  Where there is no GPU, a selection runs on the simulator."""

import itertools
import math
import random
import struct
from array import array

import pytest

pytest.importorskip("numpy", reason="no numpy")

import gpu_data  # noqa: E402
import warpfold_ctypes as wf  # noqa: E402
from cuda_helpers import gpu  # noqa: E402, F401: a fixture
from each_type import EVERY_KERNEL  # noqa: E402
from oracle import FLOATS, TYPES, ops_of  # noqa: E402
from gpu_pair import pair  # noqa: E402, F401: a fixture
from group_helpers import Laid, operands  # noqa: E402
from samples import NAN_POLICIES, nbytes_of  # noqa: E402
from test_accumulator_shaped import Grouped, create, cut, results_of  # noqa: E402
from test_gpu_accumulators import There  # noqa: E402

SELECTED = [("sum", "f32"), ("var", "f64"), ("argmax", "i8"), ("argmin", "f32"), ("min", "f16"), ("xor", "u8"), ("dot", "i64"),
            ("mean", "bf16"), ("norminf", "f64"), ("all", "bool")]
EVERY = [(op, type_name) for type_name in TYPES for op in (*ops_of(type_name), "dot") if op != "prod"]
RANKS = 2**31
AGREED = 10
pytestmark = pytest.mark.slow  # kernels are compiled


@pytest.fixture(scope="module")
def handle(gpu):  # noqa: F811
    return wf.Handle("auto")


def reductions(gpu, type_name):  # noqa: F811
    """Of one type: a GPU has the kernels of the types compiled at the same time."""
    chosen = [(op, of) for op, of in (EVERY if gpu.is_real and EVERY_KERNEL else SELECTED) if of == type_name]
    if not chosen:
        pytest.skip("no GPU: on the simulator fewer types")
    return chosen


def pairs(op, view):
    return [view] * (2 if op == "dot" else 1)


class Words:
    """The words of one rank, in the GPU's memory; beyond their ends nothing is written."""

    def __init__(self, gpu, counts):  # noqa: F811
        self.lengths = {"added": counts.added, "largest": counts.largest, "indices": counts.indices, "agreed": AGREED}
        self.memory = {name: gpu.empty(8 * (length + 1), byte=0xA5) for name, length in self.lengths.items()}
        addresses = {name: memory.pointer for name, memory in self.memory.items() if self.lengths[name]}
        self.struct = wf.wf_device_words(nbytes=wf.ctypes.sizeof(wf.wf_device_words), **addresses)

    def read(self, name):
        *words, behind = array("q", self.memory[name].read())
        assert behind & (2**64 - 1) == 0xA5A5A5A5A5A5A5A5
        return words

    def write(self, name, words):
        assert len(words) == self.lengths[name]
        self.memory[name].write(array("q", words).tobytes())


def join(rows, how):
    return [how(column) for column in zip(*rows)]


def result(gpu, acc, words):  # noqa: F811
    """What is left: bits, or an error's name."""
    memory = gpu.empty(wf.ctypes.sizeof(wf.device_result), byte=0xA5)
    acc.device_words_result(words.struct, memory.pointer)
    left = wf.device_result.from_buffer_copy(memory.read())
    number = wf.library.wf_accumulator_op_result_type(acc.pointer, wf.library.wf_accumulator_op(acc.pointer))
    nbytes = wf.library.wf_type_nbytes(number)
    assert left.bits >> 8 * nbytes == 0xA5A5A5A5A5A5A5A5 >> 8 * nbytes
    value = wf.value_of_bits(number, left.bits % 256**nbytes)
    if not left.status:
        return wf.value_bits(value)
    assert math.isnan(wf.library.wf_value_to_double(value)) or wf.value_bits(value)[1] == 0
    return wf.ERRORS[left.status]


def value(acc, op):
    try:
        return acc.result(op)
    except wf.WarpfoldError as error:
        return error.code


def add(acc, views):
    try:
        acc.add(views[0], b=views[1] if len(views) > 1 else None)
    except wf.WarpfoldError as error:
        assert error.code == "WF_ERROR_NAN"


class Ranks:
    """Shares of some ranks, each an accumulator of the CPU's and words of the GPU's."""

    def __init__(self, gpu, handle, op, type_name, shares, first_index=0, **chosen):  # noqa: F811
        self.gpu, self.op, self.host = gpu, op, wf.Handle("cpu")
        self.settings = handle.accumulator(op, type_name, **chosen)
        self.counts = self.settings.word_counts()
        self.parts, self.words = [], []
        for data in shares:
            part = self.host.accumulator(op, type_name, first_index=first_index, **chosen)
            add(part, pairs(op, wf.vector(data, type_name)))
            view = gpu.memory(data).vector(type_name)
            words = Words(gpu, self.counts)
            self.settings.device_words_of(words.struct, first_index, *pairs(op, view))
            self.parts.append(part)
            self.words.append(words)
            first_index += len(data) // nbytes_of(type_name)

    def check_each(self):
        for part, words in zip(self.parts, self.words):
            assert (words.read("added"), words.read("largest")) == part.words()

    def all_reduce(self):
        """Makes the words of the first rank those of all."""
        first = self.words[0]
        most = join([words.read("largest") for words in self.words], max)
        for part, words in zip(self.parts, self.words):
            own = self.gpu.memory(words.memory["largest"].read())
            words.write("largest", most)
            self.settings.device_words_settle(words.struct, own.pointer)
            assert words.read("indices") == part.index_words(most)
        for name, how in (("added", sum), ("indices", max), ("agreed", sum)):
            first.write(name, join([words.read(name) for words in self.words], how))
        return first

    def merged(self):
        first, *others = self.parts
        for other in others:
            first.merge(other)
        return first


def kinds_of(type_name):
    if type_name in FLOATS:
        return ("wide", "nan_middle", "both_infinities", "negative_zeros", "denormals", "largest")
    return ("any_bits", "greatest", "small")


def shares_of(draw, type_name, counts):
    return [gpu_data.make(type_name, count, draw.choice(kinds_of(type_name)), draw.random()) for count in counts]


@pytest.mark.parametrize("type_name", TYPES)
def test_words_and_their_results(gpu, handle, type_name):  # noqa: F811
    for (op, _), turn in itertools.product(reductions(gpu, type_name), range(3)):
        if not gpu.is_real and NAN_POLICIES[turn] == "error" and op not in ("sum", "argmax", "argmin", "norminf"):
            continue  # a kernel more of each, of which words of an index are the same
        draw = random.Random(f"{op} {type_name} {turn}")
        counts = (draw.choice((1, 40, 300)), draw.choice((0, 1, 33)), draw.choice((0, 70)))[:draw.choice((1, 3, 3))]
        if gpu.is_real and turn == 2:
            counts = (*counts, 1 << 20)
        chosen = {"nan": NAN_POLICIES[turn], "ddof": draw.choice((0, 1))}
        first = draw.choice((0, 5, 2**61))
        ranks = Ranks(gpu, handle, op, type_name, shares_of(draw, type_name, counts), first, **chosen)
        ranks.check_each()
        left = result(gpu, ranks.settings, ranks.all_reduce())
        assert left == value(ranks.merged(), op), (op, type_name, turn, counts)


def test_arrays_join_as_ranks_do(gpu, handle):  # noqa: F811
    for op, type_name in (("sum", "f32"), ("argmax", "i8")):
        draw = random.Random(op)
        ranks = Ranks(gpu, handle, op, type_name, shares_of(draw, type_name, (50, 0, 9, 200)), 7)
        joined, first = Words(gpu, ranks.counts), 7
        for k, part in enumerate(ranks.parts):
            words = ranks.words[k]
            view = gpu.memory(shares_of(random.Random(op), type_name, (50, 0, 9, 200))[k]).vector(type_name)
            ranks.settings.device_words_of(joined.struct, first, view, joins=k > 0)
            first += wf.library.wf_accumulator_count(part.pointer)
        assert joined.read("added") == join([words.read("added") for words in ranks.words], sum)
        assert joined.read("agreed") == ranks.words[0].read("agreed")
        assert joined.read("largest") == join([words.read("largest") for words in ranks.words], max)
        expected = ranks.all_reduce()
        assert joined.read("indices") == expected.read("indices")
        expected.write("agreed", joined.read("agreed"))
        assert result(gpu, ranks.settings, joined) == value(ranks.merged(), op)


def test_words_of_stats_become_an_accumulator(gpu):  # noqa: F811
    draw = random.Random("stats")
    ranks = Ranks(gpu, wf.Handle("cuda:0"), "stats", "f32", shares_of(draw, "f32", (80, 0, 33)), 9)
    ranks.check_each()
    words = ranks.all_reduce()
    total = ranks.host.accumulator("stats", "f32", first_index=9)
    total.from_words(*(words.read(name) for name in ("added", "largest", "indices")))
    assert total.save() == ranks.merged().save()


# ---- results with a shape


class ShapedRanks(Ranks):
    """Shares of an array's grouped axis."""

    def __init__(self, pair, handle, op, given, pieces, first_index=0, **chosen):
        self.gpu, self.op, self.host = pair.gpu, op, pair.host
        self.settings = create(handle, given, op, first_index=first_index, **chosen)
        self.counts, self.given = self.settings.word_counts(), given
        there = There(pair, given, random.Random(op))
        self.parts, self.words = [], []
        for begin, end in pieces:
            first = first_index + begin * given.row
            part = create(pair.host, given, op, first_index=first, **chosen)
            try:
                given.add_to(part, op, begin, end)
            except wf.WarpfoldError as error:
                assert error.code == "WF_ERROR_NAN"
            words = Words(self.gpu, self.counts)
            views = [there.view(array, begin, end) for array in operands(op, *given.arrays)]
            self.settings.device_words_of_groups(words.struct, first, there.groups(begin, end), *views)
            self.parts.append(part)
            self.words.append(words)

    def results(self, words, gap=0):
        """What is left, as the accumulators' results are read."""
        number = wf.library.wf_accumulator_op_result_type(self.settings.pointer, wf.library.wf_accumulator_op(
            self.settings.pointer))
        nbytes, count = wf.library.wf_type_nbytes(number), math.prod(self.given.shape)
        strides, step = [], nbytes * (1 + gap)
        for length in reversed(self.given.shape):
            strides.insert(0, step)
            step *= length
        memory, status = self.gpu.empty(nbytes * (1 + gap) * count + 8, 0xA5), self.gpu.empty(4, 0xA5)
        self.settings.device_words_results(words.struct, memory.pointer, status.pointer, strides if gap else None)
        code, data = struct.unpack("=i", status.read())[0], memory.read()
        assert data[-8:] == b"\xA5" * 8
        if code:
            return wf.ERRORS[code]
        places = range(0, nbytes * (1 + gap) * count, nbytes * (1 + gap))
        assert all(data[at + nbytes:at + nbytes * (1 + gap)] == b"\xA5" * (nbytes * gap) for at in places)
        return wf.values_of(b"".join(data[at:at + nbytes] for at in places), number) if count else []


@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize("by", ["axes", "segments", "keys"])
def test_words_of_groups_and_their_results(pair, handle, by, type_name):  # noqa: F811
    for (op, _), turn in itertools.product(reductions(pair.gpu, type_name), range(2)):
        rng = random.Random(f"{by} {op} {type_name} {turn}")
        given = Grouped(by, type_name, rng)
        chosen = {"nan": rng.choice(NAN_POLICIES), "ddof": rng.choice((0, 1))}
        if rng.random() < 0.5 and type_name != "bool":
            fill = 1 if op in ("any", "all") else 7
            chosen["fill"] = wf.wf_value(type=wf.TYPE_BY_NAME["i8"], v=wf.wf_value_union(i=fill))
        pieces = cut(rng, given.length, 2)
        ranks = ShapedRanks(pair, handle, op, given, pieces, rng.choice((0, 5, 2**40)), **chosen)
        ranks.check_each()
        words, merged = ranks.all_reduce(), ranks.merged()
        assert ranks.results(words, turn) == results_of(merged, op), (op, type_name, turn, given.shape, pieces, chosen)


def test_groups_join_as_ranks_do(pair, handle):  # noqa: F811
    for op, type_name in (("sum", "f32"), ("argmax", "u8")):
        rng = random.Random(f"joined {op}")
        given = Grouped("axes", type_name, rng)
        pieces = [(0, given.length // 2), (given.length // 2, given.length)]
        ranks = ShapedRanks(pair, handle, op, given, pieces)
        there, joined = There(pair, given, rng), Words(pair.gpu, ranks.counts)
        for begin, end in pieces:
            ranks.settings.device_words_of_groups(joined.struct, begin * given.row, there.groups(begin, end),
                                                  there.view(given.arrays[0], begin, end), joins=begin > 0)
        assert joined.read("agreed") == ranks.words[0].read("agreed")
        expected = ranks.all_reduce()
        assert [joined.read(name) for name in ("added", "largest", "indices")] == [
            expected.read(name) for name in ("added", "largest", "indices")]
        assert ranks.results(joined) == ranks.merged().results(op)


@pytest.mark.skipif("not __import__('gpu_memory').real_driver()", reason="no GPU")
def test_graphs_of_groups(pair):  # noqa: F811
    """What a graph replays follows the array's new contents."""
    rng, shape, stream = random.Random("graphs of groups"), (300, 40), pair.gpu.stream()
    first, second = (Laid("f32", shape, rng, "wild", plain=True) for _ in range(2))
    settings = pair.device.accumulator("var", "f32", (40,))
    words, memory = Words(pair.gpu, settings.word_counts()), pair.gpu.memory(first.data)
    results, status = pair.gpu.empty(160), pair.gpu.empty(4)
    view, groups = memory.strided("f32", shape, first.strides), wf.library.wf_groups_axes(1)

    def work():
        settings.device_words_of_groups(words.struct, 0, groups, view)
        settings.device_words_results(words.struct, results.pointer, status.pointer)

    pair.device.set_stream(stream.pointer)
    try:
        work()  # which takes memory, and compiles
        replay = stream.capture(work)
        memory.write(second.data[:memory.nbytes])
        replay()
        stream.wait()
        expected = pair.host.reduce_groups("var", groups, second.view())
        assert wf.values_of(results.read(), wf.WF_F32) == expected and status.read() == bytes(4)
    finally:
        pair.device.set_stream(None)


def test_groups_that_fail(pair, handle):  # noqa: F811
    data = struct.pack("<4f", 1, 2, 3, 4)
    array = pair.gpu.memory(data).vector("f32", 4)
    settings = handle.accumulator("sum", "f32", (3,))
    words = Words(pair.gpu, settings.word_counts())
    for by, labels in ((wf.library.wf_groups_keys, [0, 1, 3, 2]), (wf.library.wf_groups_segments, [0, 3, 1, 4])):
        there = pair.labels_there(labels, "i32", 1)
        settings.device_words_of_groups(words.struct, 0, by(0, 3, wf.byref(there)), array)
        assert words.read("agreed")[:2] == [1, 1]
        memory, status = pair.gpu.empty(12, 0xA5), pair.gpu.empty(4)
        settings.device_words_results(words.struct, memory.pointer, status.pointer)
        assert struct.unpack("=i", status.read())[0] == wf.ERRORS.index("WF_ERROR_ARGUMENT")
        assert all(math.isnan(value) for value in struct.unpack("<3f", memory.read()))


def test_two_to_the_31_ranks(gpu, handle):  # noqa: F811
    """As many words of one rank's, at the limit of their range, added up."""
    for op, type_name, kind in (("sum", "f32", "largest"), ("var", "f64", "wide"), ("mean", "bf16", "largest")):
        data = gpu_data.make(type_name, 40, kind)
        ranks = Ranks(gpu, handle, op, type_name, [data])
        words = ranks.words[0]
        for name in ("added", "agreed"):
            assert all(abs(word) < 2**32 for word in words.read(name))
            words.write(name, [RANKS * word for word in words.read(name)])
        merged = ranks.parts[0]
        for _ in range(31):
            merged.merge(merged)
        assert result(gpu, ranks.settings, words) == value(merged, op), op


def test_ranks_that_failed_or_differ(gpu, handle):  # noqa: F811
    def words_of(ddof):
        return Ranks(gpu, handle, "var", "f64", [gpu_data.make("f64", 9, "wide")], ddof=ddof)

    ranks, other = words_of(0), words_of(1)
    words = ranks.words[0]
    agreed = words.read("agreed")
    for others, expected in (([other.words[0].read("agreed")], "WF_ERROR_MERGE"),
                             ([[1, *[0] * 9]], "WF_ERROR_ARGUMENT"),
                             ([[0, 0, *[word + 1 for word in agreed[2:]]]], "WF_ERROR_MERGE")):
        words.write("agreed", join([agreed, *others], sum))
        assert result(gpu, ranks.settings, words) == expected
    words.write("agreed", agreed)
    assert result(gpu, ranks.settings, words) == value(ranks.parts[0], "var")
    added = words.read("added")
    for places, expected in (({0: -1}, "WF_ERROR_RANGE"), ({1: 2**31}, "WF_ERROR_RANGE"), ({20: 2**62}, "WF_ERROR_FORMAT")):
        words.write("added", [places.get(i, word) for i, word in enumerate(added)])
        assert result(gpu, ranks.settings, words) == expected
    words.struct.agreed = None  # not wanted
    words.write("added", added)
    words.write("agreed", [1] * AGREED)
    assert result(gpu, ranks.settings, words) == value(ranks.parts[0], "var")


def test_what_is_refused(gpu, handle):  # noqa: F811
    memory = gpu.memory(bytes(400))
    view, settings = memory.vector("f32"), handle.accumulator("sum", "f32")
    words = Words(gpu, settings.word_counts())

    def refused(call, *arguments):
        with pytest.raises(wf.WarpfoldError) as caught:
            call(*arguments)
        return caught.value.code

    on_cpu = wf.Handle("cpu").accumulator("sum", "f32")
    here = (wf.c_int64 * 100)()
    at_host = wf.wf_device_words(nbytes=words.struct.nbytes, added=wf.ctypes.addressof(here))
    odd = wf.wf_device_words(nbytes=words.struct.nbytes, added=words.struct.added + 4)
    assert refused(on_cpu.device_words_of, words.struct, 0, view) == "WF_ERROR_UNSUPPORTED"
    assert refused(handle.accumulator("prod", "f32").device_words_of, words.struct, 0, view) == "WF_ERROR_UNSUPPORTED"
    assert refused(handle.accumulator("sum", "f32", (2,)).device_words_of, words.struct, 0, view) == "WF_ERROR_ARGUMENT"
    rows, axis = memory.strided("f32", (50, 2), (8, 4)), wf.library.wf_groups_axes(1)
    for op, shape, error in (("sum", (50,), "WF_ERROR_ARGUMENT"), ("sum", (), "WF_ERROR_ARGUMENT"),
                             ("stats", (2,), "WF_ERROR_UNSUPPORTED"), ("prod", (2,), "WF_ERROR_UNSUPPORTED")):
        assert refused(handle.accumulator(op, "f32", shape).device_words_of_groups, words.struct, 0, axis, rows) == error
    at_host_too = wf.strided(bytes(400), "f32", (50, 2), (8, 4))
    pair = handle.accumulator("sum", "f32", (2,))
    assert refused(pair.device_words_of_groups, Words(gpu, pair.word_counts()).struct, 0, axis, at_host_too) == "WF_ERROR_ARGUMENT"
    assert refused(settings.device_words_of, at_host, 0, view) == "WF_ERROR_ARGUMENT"
    assert refused(settings.device_words_of, odd, 0, view) == "WF_ERROR_ARGUMENT"
    assert refused(settings.device_words_of, wf.wf_device_words(nbytes=words.struct.nbytes), 0, view) == "WF_ERROR_ARGUMENT"
    assert refused(settings.device_words_of, words.struct, -1, view) == "WF_ERROR_ARGUMENT"
    assert refused(settings.device_words_of, words.struct, 0, wf.vector(bytes(8), "f32")) == "WF_ERROR_ARGUMENT"
    assert refused(settings.device_words_of, words.struct, 0, memory.strided("f32", [50], [8])) == "WF_ERROR_UNSUPPORTED"
    assert refused(settings.device_words_of, words.struct, 0, memory.vector("f64")) == "WF_ERROR_ARGUMENT"
    assert refused(settings.device_words_result, words.struct, wf.ctypes.addressof(here)) == "WF_ERROR_ARGUMENT"
    stats = handle.accumulator("stats", "f32")
    of_stats = Words(gpu, stats.word_counts())
    assert refused(stats.device_words_result, of_stats.struct, memory.pointer) == "WF_ERROR_UNSUPPORTED"
    assert bytes(400) == memory.read()
