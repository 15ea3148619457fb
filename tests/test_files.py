"""Readers and accumulators: the same bits and the same errors for any number of threads, however files are cut.

What a file's elements give is compared with what the same elements give from memory, on one thread.
"""

import array
import ctypes
import itertools
import os
import random
import struct
import subprocess
import threading
from ctypes import byref, c_char_p, c_void_p

import pytest

import warpfold_ctypes as wf
from cli_helpers import CLI, DESCRIPTIONS, TIMEOUT_SECONDS, npy, npy_header, npy_text, printed_and_peak
from samples import nbytes_of

PIECE = 2**18  # bytes of elements that a thread takes at a time
TEXT_PIECE = PIECE // 2
FEW_AND_MANY = (1, 2, 3, 8)
OPS = ("sum", "stats", "argmax", "prod", "xor")


@pytest.fixture(scope="module")
def handle():
    return wf.Handle()


class Reader:
    """A wf_reader of the paths; as a context, closed at its end.  progress: called with bytes done and in all."""

    def __init__(self, handle, *paths, type_name=None, progress=None, **chosen):
        self.handle, self.pointer = handle, c_void_p()
        self.options = wf.wf_reader_options(
            nbytes=ctypes.sizeof(wf.wf_reader_options), type=wf.TYPE_BY_NAME.get(type_name, 0), **chosen)
        if progress:
            self.options.progress = wf.wf_progress(lambda user, done, total: progress(done, total))
        names = (c_char_p * len(paths))(*[os.fsencode(path) for path in paths])
        handle.check(
            wf.library.wf_reader_open(handle.pointer, names, len(paths), byref(self.options), byref(self.pointer)))

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        wf.library.wf_reader_close(self.pointer)

    @property
    def type_name(self):
        return wf.TYPE_NAME[wf.library.wf_reader_type(self.pointer)]

    def next(self, limit):
        block = wf.wf_array()
        self.handle.check(wf.library.wf_reader_next(self.handle.pointer, self.pointer, limit, byref(block)))
        return ctypes.string_at(block.data, block.count * nbytes_of(self.type_name)) if block.count else b""

    def add_to(self, accumulator, threads, b=None):
        self.handle.set_threads(threads)
        self.handle.check(
            wf.library.wf_accumulator_add_reader(
                self.handle.pointer, accumulator.pointer, self.pointer, b and b.pointer))


@pytest.mark.parametrize("threads", [1, 3])
def test_ranges(handle, tmp_path, threads):
    """Any range of a file of elements in C order, and of others none."""
    draw = random.Random(threads)
    data = random_data("f32", 500_000)
    raw, npy, text, fortran = (tmp_path / name for name in ("a.raw", "a.npy", "a.txt", "f.npy"))
    raw.write_bytes(data)
    npy.write_bytes(npy_header(npy_text("<f4", (500, 1000))) + data)
    fortran.write_bytes(npy_header(npy_text("<f4", (500, 1000), True)) + data)
    text.write_text("1 2 3")

    def select(reader, first, count):
        reader.handle.check(wf.library.wf_reader_select(reader.handle.pointer, reader.pointer, first, count))

    for path, first, count in itertools.product((raw, npy), (0, 1, 12345, 499_999, 500_000), (0, 1, 1000, 400_000)):
        with Reader(handle, path, type_name="f32") as reader:
            assert wf.library.wf_reader_count(reader.pointer) == 500_000
            if first + count > 500_000:
                with pytest.raises(wf.WarpfoldError, match="it has 500000"):
                    select(reader, first, count)
                continue
            select(reader, first, count)
            got, expected = (handle.accumulator("stats", "f32", first_index=first) for _ in range(2))
            expected.add(wf.vector(data, "f32", count, 4 * first))
            for _ in range(draw.choice((0, 1))):
                got.add(wf.vector(block := reader.next(7), "f32"))
                assert block == data[4 * first:4 * (first + min(count, 7))]
            reader.add_to(got, threads)
            assert got.save() == expected.save()
            with pytest.raises(wf.WarpfoldError, match="before anything is read"):
                select(reader, 0, 1)
    for path, kind in ((text, "f64"), (fortran, "f32")):
        with Reader(handle, path, type_name=kind) as reader:
            assert wf.library.wf_reader_count(reader.pointer) == -1
            with pytest.raises(wf.WarpfoldError, match="one regular file only"):
                select(reader, 0, 1)


def from_files(handle, op, *paths, threads, accumulator_options={}, before=None, **reader_options):
    """The saved accumulator of the files' elements, or the error's name and message."""
    try:
        with Reader(handle, *paths, **reader_options) as reader:
            accumulator = handle.accumulator(op, reader.type_name, **accumulator_options)
            if before:
                before()
            reader.add_to(accumulator, threads)
            return accumulator.save()
    except wf.WarpfoldError as error:
        return str(error)


def from_memory(handle, op, type_name, data, **accumulator_options):
    try:
        accumulator = handle.accumulator(op, type_name, **accumulator_options)
        accumulator.add(wf.vector(data, type_name), threads=1)
        return accumulator.save()
    except wf.WarpfoldError as error:
        return str(error)


@pytest.fixture
def write(tmp_path):

    def write_file(content, name="file"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file


def npy_of(type_name, data, order="<"):
    text = npy_text(order + DESCRIPTIONS[type_name], [len(data) // nbytes_of(type_name)])
    return npy_header(text) + data


def random_data(type_name, count, seed=0):
    """Any bits but those of infinities and NaN, and few exponents."""
    data = bytearray(random.Random(seed).randbytes(count * nbytes_of(type_name)))
    if type_name.startswith("f"):
        nbytes = nbytes_of(type_name)
        data[nbytes - 1::nbytes] = bytes(0x3F | byte & 0x80 for byte in data[nbytes - 1::nbytes])
    return bytes(data)


# ---- elements as they are in memory ------------------------------------------------------------------

SIZES = [
    0, 1, 2, PIECE // 8 - 1, PIECE // 8, PIECE // 8 + 1, PIECE // 2, 5 * PIECE // 8 - 16, 2**20 // 8 + 7, 2**20 + 3
]


@pytest.mark.sampled
@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("op", OPS)
def test_raw_files_of_any_size(handle, write, op, count):
    for type_name in ("u8", "i16") if op == "xor" else ("f64", "f32", "i16"):
        data = random_data(type_name, count)
        path = write(data)
        expected = from_memory(handle, op, type_name, data)
        for threads in FEW_AND_MANY:
            got = from_files(handle, op, path, threads=threads, type_name=type_name, format=wf.WF_FORMAT_RAW)
            assert got == expected, (type_name, threads)


@pytest.mark.sampled
@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("type_name", ["f64", "f32", "i16", "u8"])
def test_npy_files_of_either_byte_order(handle, write, type_name, order):
    code = nbytes_of(type_name)
    for count in (0, 3, 3 * PIECE // code - 1, 3 * PIECE // code, 2**23 // code + 5):
        data = random_data(type_name, count)
        elements = array.array({1: "B", 2: "H", 4: "I", 8: "Q"}[code], data)
        if order == ">":
            elements.byteswap()
        path = write(npy_of(type_name, elements.tobytes(), order), "file.npy")
        for op in ("sum", "argmin"):
            expected = from_memory(handle, op, type_name, data, first_index=77)
            for threads in FEW_AND_MANY:
                got = from_files(handle, op, path, threads=threads, accumulator_options={"first_index": 77})
                assert got == expected, (op, count, threads)


@pytest.mark.parametrize("op", ["sum", "prod", "argmax"])
def test_files_of_every_length_and_format_are_one_array(handle, write, op):
    parts = [random_data("f64", count, seed) for seed, count in enumerate((3, 300_000, 0, 1, 40_000, 150_000))]
    paths = [
        write(npy_of("f64", parts[0]), "0.npy"), write(npy_of("f64", parts[1]), "1.npy"), write(b"", "2"),
        write(struct.unpack("=d", parts[3])[0].hex(), "3"),
        write("\n".join(map(repr, array.array("d", parts[4]))), "4"), write(npy_of("f64", parts[5]), "5.npy")
    ]
    expected = from_memory(handle, op, "f64", b"".join(parts))
    for threads in FEW_AND_MANY:
        assert from_files(handle, op, *paths, threads=threads) == expected, threads


def test_what_blocks_have_left_is_added(handle, write):
    data = random_data("f64", 400_000)
    path = write(npy_of("f64", data), "file.npy")
    for taken in (1, 1000, PIECE // 8 - 1, PIECE // 8):
        for op in ("sum", "prod"):
            expected = from_memory(handle, op, "f64", data[8 * taken:], first_index=5)
            for threads in FEW_AND_MANY:
                accumulator = handle.accumulator(op, "f64", first_index=5)
                with Reader(handle, path) as reader:
                    assert reader.next(taken) == data[:8 * taken]
                    reader.add_to(accumulator, threads)
                    assert reader.next(1) == b""
                assert accumulator.save() == expected


def test_blocks_are_the_whole_file(handle, write):
    data = random_data("f32", PIECE)
    for path in (write(npy_of("f32", data), "file.npy"), write("\n".join(map(repr, array.array("f", data))))):
        draw = random.Random(1)
        with Reader(handle, path, type_name="f32") as reader:
            blocks = [reader.next(draw.randint(1, 50_000))]
            while blocks[-1]:
                blocks.append(reader.next(draw.randint(1, 50_000)))
        assert b"".join(blocks) == data


# ---- pipes -------------------------------------------------------------------------------------------


@pytest.fixture
def feed(tmp_path):
    """feed(pieces) -> the path of a FIFO that gives them."""
    made = []

    def feed_pipe(pieces):
        path = tmp_path / f"fifo{len(made)}"
        os.mkfifo(path)

        def write_pieces():
            with open(path, "wb", buffering=0) as file:
                try:
                    for piece in pieces:
                        while piece:
                            piece = piece[file.write(piece):]
                except BrokenPipeError:
                    pass

        made.append(threading.Thread(target=write_pieces, daemon=True))
        made[-1].start()
        return path

    yield feed_pipe
    for thread in made:
        thread.join(TIMEOUT_SECONDS)
        assert not thread.is_alive()


def cut_anywhere(data, seed):
    draw = random.Random(seed)
    while data:
        nbytes = draw.choice([1, 7, 1000, 2**16, 2**20])
        yield data[:nbytes]
        data = data[nbytes:]


@pytest.mark.slow
@pytest.mark.parametrize("threads", FEW_AND_MANY)
@pytest.mark.parametrize("op", ["sum", "stats", "prod"])
def test_pipes(handle, feed, op, threads):
    for seed, count in enumerate((1, PIECE // 8, PIECE // 8 + 1, 400_001)):
        data = random_data("f64", count, seed)
        expected = from_memory(handle, op, "f64", data)
        text = "\n".join(map(repr, array.array("d", data))).encode()
        for content, chosen in ((data, {"type_name": "f64", "format": wf.WF_FORMAT_RAW}),
                                (npy_of("f64", data), {}), (text, {})):
            path = feed(cut_anywhere(content, seed))
            assert from_files(handle, op, path, threads=threads, **chosen) == expected


@pytest.mark.parametrize("threads", FEW_AND_MANY)
def test_pipes_that_end_too_soon(handle, feed, threads):
    whole = npy_of("f64", random_data("f64", 400_000))
    for nbytes in (len(whole) - 1, len(whole) - 8, 128 + PIECE, 128 + PIECE + 3, 130, 128):
        path = feed(cut_anywhere(whole[:nbytes], nbytes))
        got = from_files(handle, "sum", path, threads=threads)
        assert got == (f"WF_ERROR_FORMAT: {path}: truncated .npy file: {len(whole)} bytes expected, {nbytes} found")
    path = feed([whole[:-3]])
    got = from_files(handle, "sum", path, threads=threads, type_name="f64", format=wf.WF_FORMAT_RAW)
    assert got == f"WF_ERROR_FORMAT: {path}: {len(whole) - 3} bytes is not a multiple of 8, the size of one f64"


# ---- files that change -------------------------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize("threads", FEW_AND_MANY)
@pytest.mark.parametrize("name", ["file.raw", "file.npy"])
def test_files_that_become_shorter(handle, write, name, threads):
    data = random_data("f64", 500_000)
    whole = npy_of("f64", data) if name.endswith(".npy") else data
    for nbytes in (len(whole) - 1, len(whole) - PIECE, 3 * PIECE + 5, 3 * PIECE, len(whole) - len(data)):
        path = write(whole, name)
        got = from_files(handle, "sum", path, threads=threads, type_name="f64",
                         before=lambda: os.truncate(path, nbytes))
        assert got == (f"WF_ERROR_FORMAT: {path}: truncated while it was read: {len(whole)} bytes expected, "
                       f"{nbytes} found"), nbytes


def test_a_file_that_becomes_shorter_halfway(handle, write):
    path = write(bytes(8 * PIECE))

    def cut(done, total):
        if done == 2 * PIECE:
            os.truncate(path, 5 * PIECE + 9)

    got = from_files(handle, "sum", path, threads=1, type_name="f64", format=wf.WF_FORMAT_RAW, progress=cut)
    assert got.endswith(f"truncated while it was read: {8 * PIECE} bytes expected, {5 * PIECE + 9} found")


@pytest.mark.parametrize("threads", FEW_AND_MANY)
def test_files_that_grow(handle, write, threads):
    data = random_data("f64", 500_000)
    path = write(data, "file.raw")

    def grow():
        with open(path, "ab") as file:
            file.write(data[:80])

    got = from_files(handle, "sum", path, threads=threads, type_name="f64", before=grow)
    assert got == from_memory(handle, "sum", "f64", data + data[:80])
    path = write(npy_of("f64", data), "file.npy")
    got = from_files(handle, "sum", path, threads=threads, before=grow)
    expected = len(data) + 128
    assert got == (f"WF_ERROR_FORMAT: {path}: the .npy file has extra bytes after its array: {expected} bytes expected, "
                   f"{expected + 80} found")


def test_standard_input_is_read_to_its_end(write):
    for content in (npy_of("f64", random_data("f64", 300_000)), b"1 2\n" * 300_000):
        with open(write(b"####" + content), "rb", buffering=0) as file:
            file.seek(4)
            subprocess.run([CLI, "sum"], stdin=file, stdout=subprocess.DEVNULL, check=True)
            assert file.read() == b""


# ---- errors ------------------------------------------------------------------------------------------


def nan_at(data, *indices):
    changed = bytearray(data)
    for index in indices:
        changed[8 * index:8 * index + 8] = struct.pack("=d", float("nan"))
    return bytes(changed)


@pytest.mark.parametrize("threads", FEW_AND_MANY)
def test_the_first_nan_is_named(handle, write, threads):
    data = random_data("f64", 600_000)
    for indices in ([0], [599_999], [PIECE // 8, PIECE // 8 - 1], [123_456, 123_457, 500_000],
                    range(9, 600_000, 50_000)):
        path = write(npy_of("f64", nan_at(data, *indices)), "file.npy")
        for op in ("sum", "prod"):
            got = from_files(handle, op, path, threads=threads,
                             accumulator_options={"nan": "error", "first_index": 10})
            assert got == f"WF_ERROR_NAN: NaN at index {min(indices) + 10}"


@pytest.mark.parametrize("threads", FEW_AND_MANY)
def test_nan_that_comes_before_another_error(handle, write, threads):
    data = random_data("f64", 500_000)
    whole = nan_at(data, 400_000)
    for nbytes, said in ((8 * 400_004, "NaN at index 400000"), (8 * 400_000, "truncated"),
                         (8 * 400_000 + 3, "truncated")):
        path = write(whole, "file.raw")
        got = from_files(handle, "sum", path, threads=threads, type_name="f64", accumulator_options={"nan": "error"},
                         before=lambda: os.truncate(path, nbytes))
        assert said in got, nbytes


@pytest.mark.parametrize("threads", FEW_AND_MANY)
def test_an_accumulator_is_not_changed_by_an_error(handle, write, threads):
    path = write("1 2 3\n" * 200_000 + "4 x\n")
    accumulator = handle.accumulator("sum", "f64")
    accumulator.add(wf.vector(struct.pack("=2d", 1, 2), "f64"))
    before = accumulator.save()
    with Reader(handle, path) as reader:
        with pytest.raises(wf.WarpfoldError, match=":200001:3: 'x' is not a number"):
            reader.add_to(accumulator, threads)
        with pytest.raises(wf.WarpfoldError, match="an earlier error has ended this reader"):
            reader.add_to(accumulator, threads)
    assert accumulator.save() == before


@pytest.mark.parametrize("threads", FEW_AND_MANY)
def test_what_cannot_be_added(handle, write, threads):
    path = write("1 2 3")
    assert "dot takes two arrays" in from_files(handle, "dot", path, threads=threads)
    assert "threads" in from_files(handle, "sum", path, threads=-threads)
    with Reader(handle, path) as reader, pytest.raises(wf.WarpfoldError, match="f64.*i8"):
        reader.add_to(handle.accumulator("sum", "i8"), threads)


# ---- text --------------------------------------------------------------------------------------------


def numbers(count, seed=0):
    """Numbers as text, in many spellings."""
    draw = random.Random(seed)
    spellings = [
        lambda: f"{draw.gauss(0, 1):.6f}", lambda: f"{draw.gauss(0, 1):.17g}",
        lambda: str(draw.randint(-10**6, 10**6)),
        lambda: repr(draw.uniform(-1, 1) * 10.0**draw.randint(-300, 300)), lambda: f"{draw.random():.3e}",
        lambda: draw.random().hex(), lambda: f"+{draw.random():.25f}", lambda: f"{draw.randint(0, 9)}.",
        lambda: f".{draw.randint(0, 10**9)}E{draw.randint(-9, 9)}", lambda: "-0", lambda: f'"{draw.random()}"'
    ]
    return [draw.choice(spellings)() for _ in range(count)]


def value_of(text):
    text = text.strip('"')
    return float.fromhex(text) if "x" in text else float(text)


@pytest.fixture(scope="module")
def spelled():
    texts = numbers(120_000)
    return texts, array.array("d", map(value_of, texts)).tobytes()


SEPARATORS = {
    "lines": ["\n"], "crlf": ["\r\n"], "blanks": [" ", "\v", "  "], "one line": [",", " ,", ", ", "\t,\v"],
    "empty lines": ["\n", "\n\n", "\n \n"], "tabs": ["\t", "\t ", " \t"], "comments": ["\n", "\n# 5,6\n"],
    "mixed": [" ", "\n", "\t", "\r\n", "\v", "\f"],
}


def separate(words, separators, draw):
    """The words, each but the last with a separator.  The first is on a line of its own where several lines may be,
    so that blanks part the fields."""
    pieces = [word + draw.choice(SEPARATORS[separators]) for word in words]
    if separators == "mixed":
        pieces[0] = words[0] + "\n"
    return pieces[:-1] + [words[-1]]


@pytest.mark.sampled
@pytest.mark.parametrize("separators", SEPARATORS)
def test_text_with_any_separators(handle, write, spelled, separators):
    texts, data = spelled
    draw = random.Random(separators)
    path = write("".join(separate(texts, separators, draw)))
    for op in ("sum", "argmin", "prod"):
        expected = from_memory(handle, op, "f64", data)
        for threads in FEW_AND_MANY:
            assert from_files(handle, op, path, threads=threads) == expected, (op, threads)


def test_text_with_lines_of_any_length(handle, write, spelled):
    texts, data = spelled
    draw, lines, at = random.Random(6), [], 0
    while at < len(texts):
        count = draw.choice([1, 5, 300, TEXT_PIECE // 20, TEXT_PIECE // 3])
        lines.append(" ".join(texts[at:at + count]))
        at += count
    path, expected = write("\n".join(lines)), from_memory(handle, "stats", "f64", data)
    for threads in FEW_AND_MANY:
        assert from_files(handle, "stats", path, threads=threads) == expected, threads


def test_text_around_the_size_of_pieces(handle, write):
    for nbytes in range(2 * TEXT_PIECE - 3, 2 * TEXT_PIECE + 4):
        for last in ("\n", ""):
            text = "7\n" * (nbytes // 2) + "3" * (nbytes % 2) + last
            expected = from_memory(handle, "argmin", "u8", bytes(map(int, text.split())))
            for threads in (1, 3):
                assert from_files(handle, "argmin", write(text), threads=threads, type_name="u8") == expected


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", ["bool", "i8", "u16", "i64", "u64", "f16", "bf16", "f32"])
def test_text_of_other_types(handle, write, type_name):
    """Whole files against their lines, each read as a file of its own by blocks of one."""
    draw = random.Random(type_name)
    texts = {"bool": ["0", "1", "+1", "0x1"], "i8": ["-128", "127", "-0", "5"], "u16": ["65535", "0xffff", "007"],
             "i64": [str(-2**63), str(2**63 - 1), "-1"], "u64": [str(2**64 - 1), "12345678901234567890", "8"]}
    chosen = texts.get(type_name)
    if not chosen:
        chosen = [f"{draw.gauss(0, 9):.{digits}g}" for digits in range(1, 25)] + ["0", "-0.0", "1e-30", "65504"]
    words = [draw.choice(chosen) for _ in range(3000)]
    with Reader(handle, write(" ".join(chosen)), type_name=type_name) as reader:
        bits = dict(zip(chosen, iter(lambda: reader.next(1), b"")))
    data = b"".join(bits[word] for word in words) * 80
    path = write("\n".join(words * 80))
    for threads in FEW_AND_MANY:
        assert from_files(handle, "stats", path, threads=threads, type_name=type_name) == from_memory(
            handle, "stats", type_name, data)


@pytest.mark.parametrize("threads", FEW_AND_MANY)
def test_tables(handle, write, threads):
    draw = random.Random(7)
    rows = [(draw.gauss(0, 1), draw.randint(0, 99), draw.random()) for _ in range(60_000)]
    path = write("made,by\nx;n;\"the y\"\n\n" + "\n".join(f'{x!r}; {n} ;"{y!r}"' for x, n, y in rows))
    for column, value in ((1, 0), (2, 1), (3, 2)):
        data = array.array("d", [row[value] for row in rows]).tobytes()
        got = from_files(handle, "stats", path, threads=threads, skip_lines=1, has_header=1, column=column,
                         delimiter=b";")
        assert got == from_memory(handle, "stats", "f64", data)
        got = from_files(handle, "stats", path, threads=threads, skip_lines=1, delimiter=b";",
                         column_name=["x", "n", "the y"][value].encode())
        assert got == from_memory(handle, "stats", "f64", data)


def place(text, offset):
    """The line and column of a byte."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


@pytest.mark.parametrize("separators", ["lines", "mixed", "one line"])
def test_the_first_error_in_a_text_is_the_one_reported(handle, write, spelled, separators):
    texts, _ = spelled
    for seed in range(12):
        draw = random.Random(seed)
        words = list(texts[:50_000])
        spots = sorted(draw.sample(range(len(words)), draw.choice([1, 2, 9])))
        for spot in spots:
            words[spot] = draw.choice(["x", "1e999", "1.2.3", "--5", "nan0", "1e"])
        pieces = separate(words, separators, draw)
        path = write("".join(pieces))
        line, column = place("".join(pieces), sum(map(len, pieces[:spots[0]])))
        outcomes = {from_files(handle, "sum", path, threads=threads) for threads in FEW_AND_MANY}
        assert len(outcomes) == 1
        assert f"{path}:{line}:{column}: '{words[spots[0]]}' is " in outcomes.pop()


@pytest.mark.parametrize("threads", FEW_AND_MANY)
def test_nan_and_errors_in_a_text_come_in_their_order(handle, write, threads):
    lines = ["1.5"] * 400_000
    for nan, bad in ((5, 6), (6, 5), (300_000, 300_001), (300_001, 300_000), (399_999, 100_000),
                     (100_000, 399_999)):
        changed = list(lines)
        changed[nan], changed[bad] = "NaN", "bad"
        got = from_files(handle, "mean", write("\n".join(changed)), threads=threads,
                         accumulator_options={"nan": "error"})
        assert got.endswith(f"NaN at index {nan}" if nan < bad else f":{bad + 1}:1: 'bad' is not a number"), (nan, bad)


# ---- threads, memory, progress -----------------------------------------------------------------------


def test_small_files_start_no_thread(handle, write):
    counts = []

    def count_threads(done, total):
        counts.append(len(os.listdir("/proc/self/task")))

    own = wf.Handle()
    before = len(os.listdir("/proc/self/task"))
    for nbytes in (8, PIECE, 2**20 + PIECE):
        from_files(own, "sum", write(bytes(nbytes)), threads=8, type_name="f64", format=wf.WF_FORMAT_RAW,
                   progress=count_threads)
        from_files(own, "sum", write("1\n" * 100_000), threads=8, progress=count_threads)
    assert set(counts) == {before}
    counts.clear()
    path = write(bytes(2**24))
    while not counts:  # the others may leave the caller's thread nothing to report
        from_files(own, "sum", path, threads=8, type_name="f64", format=wf.WF_FORMAT_RAW, progress=count_threads)
    assert max(counts) > before
    assert len(os.listdir("/proc/self/task")) == before


@pytest.mark.parametrize("threads", FEW_AND_MANY)
def test_progress_is_reported_by_the_callers_thread(handle, write, threads):
    for content, chosen in ((bytes(5 * 2**20), {"type_name": "u8", "format": wf.WF_FORMAT_RAW}),
                            (b"12 5\n" * 2**20, {})):
        calls = []
        path = write(content)
        from_files(handle, "sum", path, path, threads=threads, **chosen,
                   progress=lambda done, total: calls.append((threading.get_native_id(), done, total)))
        assert {who for who, _, _ in calls} <= {threading.get_native_id()}
        assert [done for _, done, _ in calls] == sorted(done for _, done, _ in calls)
        assert {total for _, _, total in calls} <= {2 * len(content)}
        assert threads > 1 or calls[-1][1] == 2 * len(content)


@pytest.mark.slow
@pytest.mark.parametrize("threads", ["1", "2", "1000"])
@pytest.mark.parametrize("type_name", ["f32", "u8"])
def test_memory_is_bounded(tmp_path, type_name, threads):
    path = tmp_path / "holes.raw"
    with open(path, "wb") as file:
        file.truncate(600 * 2**20)
    shown, peak = printed_and_peak("sum", "--threads", threads, "--type", type_name, "--format", "raw", path)
    assert shown == "0\n"
    assert peak < 256 * 2**20


# ---- the greatest index ------------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["norm2", "sum", "argmax", "prod"])
def test_no_element_of_a_file_has_an_index_beyond_the_greatest(handle, write, op):
    """Of any number of threads and files; a sanitizer would stop an index that wraps."""
    data = random_data("f64", 300_000)
    raw, text = write(data, "file.raw"), write(b"1 2 3\n4\n", "file.txt")
    for threads in FEW_AND_MANY:
        for before_the_end in (0, 1, 5):
            chosen = {"first_index": 2**63 - 1 - before_the_end}
            got = from_files(handle, op, raw, raw, threads=threads, type_name="f64", format=wf.WF_FORMAT_RAW,
                             accumulator_options=chosen)
            assert "WF_ERROR_RANGE" in got, (threads, chosen)
            got = from_files(handle, op, text, text, threads=threads, accumulator_options=chosen)
            assert "WF_ERROR_RANGE" in got, (threads, chosen)


# ---- options that are none ---------------------------------------------------------------------------


class later_reader_options(ctypes.Structure):
    """Those of a later version, with a field that this one does not know."""

    _fields_ = [("known", wf.wf_reader_options), ("unknown", ctypes.c_uint8 * 8)]


def test_the_size_of_reader_options(handle, tmp_path):
    path = tmp_path / "data.txt"
    path.write_text("1 2 3\n")
    paths, size = (c_char_p * 1)(str(path).encode()), ctypes.sizeof(wf.wf_reader_options)
    for nbytes, unknown, fits in ((size, 1, True), (0, 0, False), (size - 1, 0, False), (2**63, 0, False),
                                  (size + 8, 0, True), (size + 8, 1, False), (size + 8, 0x80, False)):
        for place in range(8):
            options, reader = later_reader_options(), c_void_p()
            options.known.nbytes, options.unknown[place] = nbytes, unknown
            code = wf.library.wf_reader_open(handle.pointer, paths, 1, byref(options.known), byref(reader))
            assert wf.ERRORS[code] == ("WF_OK" if fits else "WF_ERROR_ARGUMENT"), (nbytes, unknown, place)
            assert bool(reader) == fits and (fits or "wf_reader_options" in handle.message)
            wf.library.wf_reader_close(reader)


def test_blocks_keep_the_order_of_storage(write):
    handle = wf.Handle()
    path = write(npy("f64", [1, 9, 5, 3, 2, 4], shape=[2, 3], fortran_order=True), "f.npy")
    with Reader(handle, path) as reader:
        assert reader.next(2) == struct.pack("<2d", 1, 9)
        with pytest.raises(wf.WarpfoldError, match="storage order"):
            reader.add_to(handle.accumulator("argmax", "f64"), 1)
        total = handle.accumulator("sum", "f64")
        reader.add_to(total, 1)


def test_a_single_npy_has_a_shape(handle, write):
    path = write(npy("f32", range(6), shape=[2, 3], fortran_order=True), "f.npy")
    ndim, shape, strides = ctypes.c_int32(), (ctypes.c_int64 * 64)(), (ctypes.c_int64 * 64)()
    for paths, told in (((path,), "WF_OK"), ((path, path), "WF_ERROR_UNSUPPORTED")):
        with Reader(handle, *paths) as reader:
            code = wf.library.wf_reader_shape(handle.pointer, reader.pointer, byref(ndim), shape, strides)
            assert wf.ERRORS[code] == told
            if not code:
                assert (ndim.value, shape[:2], strides[:2]) == (2, [2, 3], [4, 8])
            code = wf.library.wf_reader_shape(handle.pointer, reader.pointer, None, shape, strides)
            assert wf.ERRORS[code] == "WF_ERROR_ARGUMENT"
