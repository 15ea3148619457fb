"""Random tables against a reader of its own, written from the contract and sharing no code with the library: the
same numbers in the same order, or the error's place and words.

WARPFOLD_TABLES=SECONDS runs the search for so long (from a new seed each time, which a failure names); otherwise it
is a few seconds from one seed."""

import array
import math
import os
import random
import re
import struct
import threading
import time

import pytest

import warpfold_ctypes as wf
from test_files import Reader

SECONDS = float(os.environ.get("WARPFOLD_TABLES", 0))
WINDOW = 2**18
FIELD_NBYTES_MAX = 65536

# ---- the reference reader ----------------------------------------------------------------------------


class Refused(Exception):
    """At a line and a byte of it, both from 1."""

    def __init__(self, line, at, words):
        super().__init__(f":{line}:{at}: {words}")


NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?(inf|infinity|nan)", re.I)
HEXADECIMAL = re.compile(rb"[+-]?0x([0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(p[+-]?\d+)?", re.I)
MISSING = re.compile(rb"|-|na|null|[+-]?nan", re.I)
WHITE = b" \t\v\f\r"


class Unclosed(Refused):
    pass


def delimiter_of(line):
    """Of the text's rest, from the first line on."""
    outside, quoted, at = bytearray(), False, 0  # not bytes, which each addition would copy
    while at < len(line) and (quoted or line[at:at + 1] != b"\n"):
        byte = line[at:at + 1]
        if quoted:
            if line[at:at + 2] == b'""':
                at += 1
            elif byte == b'"':
                quoted = False
        elif byte == b'"' and (at == 0 or line[at - 1:at] in (b",", b";", b"|", *(bytes([w]) for w in WHITE))):
            quoted = True
        else:
            outside += byte
        at += 1
    return next((d for d in (b",", b"\t", b";", b"|") if d in outside), None)


def fields_of(line, number, delimiter):
    """Yields (offset, bytes, whether quoted); raises where a quote is not as it should be."""
    blanks = bytes(byte for byte in WHITE if bytes([byte]) != delimiter)
    at = 0
    while True:
        while at < len(line) and line[at] in blanks:
            at += 1
        if at == len(line) and delimiter is None:
            return
        begin = at
        if line[at:at + 1] == b'"':
            at += 1
            while True:
                closing = line.find(b'"', at)
                if closing < 0 or closing - begin >= FIELD_NBYTES_MAX:
                    raise Unclosed(number, begin + 1, "a quoted field that has no end within 65536 bytes")
                if line[closing + 1:closing + 2] != b'"':
                    break
                at = closing + 2
            at = closing + 1
            if at < len(line) and line[at] not in blanks and line[at:at + 1] != delimiter:
                raise Refused(number, begin + 1, "a quoted field with something other than a delimiter after it")
            yield begin, line[begin + 1:closing], True
        else:
            while at < len(line) and line[at:at + 1] != delimiter and (delimiter or line[at] not in blanks):
                at += 1
            yield begin, line[begin:at].rstrip(blanks) if delimiter else line[begin:at], False
        if delimiter is None:
            continue
        while at < len(line) and line[at] in blanks:
            at += 1
        if at == len(line):
            return
        if line[at:at + 1] != delimiter:
            raise Refused(number, at + 1, "a quoted field with something other than a delimiter after it")
        at += 1


def number_of(field, number, begin, skips):
    """The number, or None for one that is left out."""
    if skips and MISSING.fullmatch(field):
        return None
    if NUMBER.fullmatch(field):
        value = float(field)
        if math.isinf(value) and b"n" not in field.lower():
            raise Refused(number, begin + 1, "is beyond the range")
        return value
    if HEXADECIMAL.fullmatch(field):
        return float.fromhex(field.decode())
    raise Refused(number, begin + 1, "is not a number" if field else "an empty field")


def row_at(lines, i, delimiter):
    """The row that begins with this line, and how many lines more it has: those that quoted fields run over."""
    row, more = lines[i], 0
    while i + more + 1 < len(lines) and len(row) < 3 * FIELD_NBYTES_MAX:
        try:
            list(fields_of(row, 0, delimiter))
            break
        except Unclosed:
            more += 1
            row += b"\n" + lines[i + more]
        except Refused:
            break
    return row, more


def read_table(data, *, skip=0, header=False, column=0, name=None, delimiter=None, skips=False):
    """The numbers of one text."""
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    if lines and lines[0].startswith(b"\xef\xbb\xbf"):
        lines[0] = lines[0][3:]
    values, width, first = [], None, None
    header = header or name is not None
    inside = 0  # how many lines more belong to the row before
    for number, line in enumerate(lines, 1):
        inside -= 1
        if inside >= 0 or number <= skip or line.startswith(b"#"):
            continue
        blanks = bytes(byte for byte in WHITE if bytes([byte]) != delimiter)
        if not line.strip(blanks):
            continue
        is_first = first is None
        if is_first:
            first = number
            delimiter = delimiter or delimiter_of(b"\n".join(lines[number - 1:]))
            is_table = bool(delimiter or header or column)
        line, inside = row_at(lines, number - 1, delimiter)
        found = []
        for begin, field, quoted in fields_of(line, number, delimiter):
            found.append(field.replace(b'""', b'"') if quoted else field)
            if is_first and header:
                if name is not None and found[-1] == name:
                    if column:
                        raise Refused(number, begin + 1 + quoted, "two columns are named")
                    column = len(found)
            elif column in (0, len(found)):
                value = number_of(field, number, begin + quoted, skips)
                if value is not None:
                    values.append(value)
        if is_first:
            width = len(found)
            if name is not None and not column:
                raise Refused(number, len(line) + 1, "no column named")
            if column > width:
                raise Refused(number, len(line) + 1, f"no column {column}: the line has {width}")
        elif is_table and len(found) != width:
            raise Refused(number, len(line) + 1, f"the line has {len(found)} field")
    return values


# ---- random tables -----------------------------------------------------------------------------------

NAMES = [b"x", b"price", b"two\nlines", b'"\n,"\n', b"how, many", b"a b", b"n", "größe".encode(), "数".encode(), b'5" pipe', b"", b"#id", b"2", b"a;b"]
ODD = [b"", b"NA", b"na", b"NaN", b"-nan", b"null", b"NULL", b"-", b"x", b"1,5", b"1 2", b"--1", b"1e999", b"#1", b"0x", b"N/A",
       b'"', b"1e", b".", b"\xff"]
NUMBERS = [
    lambda draw: b"%d" % draw.randint(-999, 999), lambda draw: repr(draw.gauss(0, 1)).encode(),
    lambda draw: b"%.3e" % draw.uniform(-9, 9), lambda draw: draw.random().hex().encode(),
    lambda draw: b"+%.30f" % draw.random(), lambda draw: draw.choice([b"inf", b"-Infinity", b"nan", b".5", b"5.", b"-0"])
]


class Table:
    """A text, and the options that it is read with; oddities are rare enough for many to be read whole."""

    def __init__(self, draw):
        self.draw = draw
        self.delimiter = draw.choice([b",", b"\t", b";", b"|", None, None])
        self.is_told = self.delimiter and draw.random() < 0.3
        if draw.random() < 0.05:
            self.delimiter, self.is_told = draw.choice([b":", b" ", b"_"]), True
        self.blanks = [b"", b"", b"", b" ", b"  ", b"\v"] + ([] if self.delimiter == b"\t" else [b"\t"])
        if self.delimiter == b" ":
            self.blanks = [b"", b"\v"]
        self.plain = draw.random() < 0.5
        self.oddness = draw.choice([0, 0, 0.0005, 0.02])
        self.raggedness = draw.choice([0, 0, 0.001, 0.05])
        self.width = draw.choice([1, 1, 2, 3, 5, 40])
        self.ending = draw.choice([b"\n", b"\n", b"\r\n"])
        self.header = draw.random() < 0.4
        self.make_options()
        self.text = self.make_text()

    def make_options(self):
        draw, self.options = self.draw, {}
        if self.header:
            choice = draw.randrange(4)
            if choice < 3:
                self.options["header"] = True
            if choice in (1, 2):
                self.options["column"] = draw.randint(1, self.width + (draw.random() < 0.05))
            if choice == 3:
                self.options["name"] = draw.choice(NAMES[:-1])
        elif draw.random() < 0.4:
            self.options["column"] = draw.randint(1, self.width + (draw.random() < 0.05))
        if draw.random() < 0.4:
            self.options["skips"] = True
        if self.is_told:
            self.options["delimiter"] = self.delimiter
        if draw.random() < 0.2:
            self.options["skip"] = draw.choice([1, 1, 2, 5])

    def quoted(self, field):
        return b'"' + field.replace(b'"', b'""') + b'"'

    def field(self, is_read):
        draw = self.draw
        if draw.random() < self.oddness:
            field = draw.choice(ODD)
        elif not is_read and draw.random() < 0.3:
            field = draw.choice(NAMES)
        else:
            field = draw.choice(NUMBERS if not self.plain else NUMBERS[:3])(draw)
        special = bytes([*WHITE, 10, 34]) + (self.delimiter or b"") + b",;|"
        if any(byte in special for byte in field) and draw.random() < 0.9 or not self.plain and draw.random() < 0.1:
            return self.quoted(field)
        if not field and self.delimiter is None:
            return b'""'
        return field

    def joined(self, fields):
        blank = lambda: b"" if self.plain else self.draw.choice(self.blanks)
        if self.delimiter is None:
            part = lambda: self.draw.choice([b" ", b"  ", b"\t", b" \t "]) if not self.plain else b" "
            line = b"".join(field + part() for field in fields)
            line = line[:-1] if self.draw.random() < 0.5 else line
            return blank() + line
        return self.delimiter.join(blank() + field + blank() for field in fields)

    def row(self):
        width = self.width
        if self.draw.random() < self.raggedness:
            width = max(1, width + self.draw.choice([-1, 1, 2]))
        read = self.options.get("column", 0)
        return self.joined([self.field(read in (0, i + 1) and "name" not in self.options) for i in range(width)])

    def names(self):
        names = [self.draw.choice(NAMES) for _ in range(self.width)]
        if "name" in self.options and self.draw.random() < 0.9 and self.options["name"] not in names:
            names[self.draw.randrange(self.width)] = self.options["name"]
        return self.joined([self.quoted(name) if self.delimiter is None or self.draw.random() < 0.3 or
                            re.search(rb'[,;|\t"_: \n]|^#|^$', name) else name for name in names])

    def make_text(self):
        draw, lines = self.draw, []
        count = draw.choice([0, 1, 2, 10, 100, 100, 300] + [30_000 // self.width] * (draw.random() < 0.1))
        lines += [draw.choice([b"any, thing | 1\t2", b"# skipped", b"", b'"'])
                  for _ in range(self.options.get("skip", 0) if draw.random() < 0.9 else 0)]
        if self.header:
            lines.append(self.names())
        few = [self.row() for _ in range(min(count, 500))]
        lines += few if count <= 500 else [draw.choice(few) for _ in range(count)]
        extra = draw.choice([0, 0, 0.01, 0.3])
        text = b"\xef\xbb\xbf" if draw.random() < 0.1 else b""
        for line in lines:
            while draw.random() < extra:
                text += draw.choice([b"", b" ", b"\t" if draw.random() < 0.2 else b"", b"# a, comment", b"#", b"#1;2",
                                     b"#" * draw.choice([1, 300])]) + self.ending
            text += line + self.ending
        if draw.random() < 0.02:
            text += b"#" + b"long comment" * draw.choice([9_000, 30_000]) + self.ending
        return text[:-len(self.ending)] if draw.random() < 0.3 else text


def expected_of(tables, options):
    """The numbers of the texts, in order, or the error: (values, None) or (None, (which text, where and what))."""
    values = []
    for i, text in enumerate(tables):
        try:
            values += read_table(text, **options)
        except Refused as refusal:
            return None, (i, str(refusal))
    return values, None


def reader_options(options):
    chosen = {"format": wf.WF_FORMAT_TEXT}
    for name, field in (("skip", "skip_lines"), ("header", "has_header"), ("column", "column"),
                        ("name", "column_name"), ("delimiter", "delimiter"), ("skips", "missing")):
        if name in options:
            chosen[field] = int(options[name]) if isinstance(options[name], bool) else options[name]
    return chosen


def blocks_of(handle, paths, chosen, limit):
    with Reader(handle, *paths, **chosen) as reader:
        data, block = b"", reader.next(limit)
        while block:
            data += block
            block = reader.next(limit)
    return data


def outcome(action):
    try:
        return action()
    except wf.WarpfoldError as error:
        return str(error)


def statistics(handle, paths, chosen, threads):
    with Reader(handle, *paths, **chosen) as reader:
        accumulator = handle.accumulator("stats", "f64")
        reader.add_to(accumulator, threads)
        return accumulator.save()


def same(got, data):
    """Equal bits, but that all NaN are alike."""
    if not isinstance(got, bytes) or len(got) != len(data):
        return False
    a, b = array.array("d", got), array.array("d", data)
    return got == data or all(struct.pack("d", x) == struct.pack("d", y) or (x != x and y != y) for x, y in zip(a, b))


def check_texts(handle, draw, folder, seed, texts, options):
    values, refusal = expected_of(texts, options)
    paths = []
    for i, text in enumerate(texts):
        paths.append(folder / f"table{i}")
        paths[-1].write_bytes(text)
    chosen = reader_options(options)
    note = f"seed {seed}: {options}"
    got = outcome(lambda: blocks_of(handle, paths, chosen, draw.choice([1, 7, 10**6]) if len(texts[0]) < 9999 else 10**6))
    threads = draw.choice([1, 2, 3])
    added = outcome(lambda: statistics(handle, paths, chosen, threads))
    if refusal:
        where = f"{paths[refusal[0]]}{refusal[1].split(': ')[0]}: "
        for said in (got, added):
            assert isinstance(said, str) and where in said and refusal[1].split(": ", 1)[1] in said, (note, refusal, said)
        return
    data = array.array("d", values).tobytes()
    assert same(got, data), (note, got if isinstance(got, str) else list(array.array("d", got))[:9], values[:9])
    memory = handle.accumulator("stats", "f64")
    memory.add(wf.vector(data, "f64"), threads=1)
    assert added == memory.save(), (note, added)


def check_pipe(handle, draw, folder, seed, text, options):
    values, refusal = expected_of([text], options)
    path = folder / "fifo"
    os.mkfifo(path)

    def feed():
        try:
            with open(path, "wb", buffering=0) as file:
                rest = memoryview(text)
                while rest:
                    rest = rest[file.write(rest[:draw.choice([1, 100, 5000, WINDOW])]):]
        except BrokenPipeError:
            pass

    writer = threading.Thread(target=feed, daemon=True)
    writer.start()
    got = outcome(lambda: blocks_of(handle, [path], reader_options(options), 10**6))
    writer.join(60)
    path.unlink()
    note = f"seed {seed}: {options}"
    if refusal:
        assert isinstance(got, str) and f"{path}{refusal[1].split(': ')[0]}: " in got, (note, refusal, got)
    else:
        assert same(got, array.array("d", values).tobytes()), (note, got)


def check_seed(handle, folder, seed):
    draw = random.Random(seed)
    table = Table(draw)
    texts = [table.text]
    while draw.random() < 0.2:  # of other delimiters, too, but read with the same options
        texts.append(Table(draw).text if draw.random() < 0.3 else table.make_text())
    check_texts(handle, draw, folder, seed, texts, table.options)
    if draw.random() < 0.15:
        check_pipe(handle, draw, folder, seed, table.text, table.options)


@pytest.mark.parametrize("hundred", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
def test_random_tables(tmp_path, hundred):
    handle = wf.Handle()
    for seed in range(100 * hundred, 100 * hundred + 100):
        check_seed(handle, tmp_path, seed)


@pytest.mark.skipif(not SECONDS, reason="WARPFOLD_TABLES says for how many seconds")
def test_new_random_tables(tmp_path):
    handle = wf.Handle()
    first, end = random.randrange(2**40), time.monotonic() + SECONDS
    count = 0
    while time.monotonic() < end:
        check_seed(handle, tmp_path, first + count)
        count += 1
    print(f"{count} tables")


@pytest.mark.slow
@pytest.mark.parametrize("size", [2**16, 2**17, 2**18])
def test_lines_around_the_reader_s_sizes(tmp_path, size):
    """What is special lies where a field, a piece or the window is as long as it may be."""
    handle = wf.Handle()
    for nbytes in range(size - 3, size + 3):
        filler = b"1,22\n# " + b"c" * (nbytes - 8) + b"\n"
        assert len(filler) == nbytes
        for tail in (b"5,6\n", b"5,6", b"# 7,8,9\n5,6", b"5\n5,6\n", b"5,6,7\n", b"x,1\n", b"\n \n5,6\r\n", b"5,\n", b"5,"):
            for options in ({}, {"column": 1}):
                draw = random.Random(nbytes)
                check_texts(handle, draw, tmp_path, (nbytes, tail), [filler + tail, filler + tail * 2], options)
        for text in (b"#" + b"c" * nbytes + b"\n1;2\n3;4\n", b"1" + b" " * (nbytes - 2) + b"2\n3 4 5\n",
                     b"\n" * nbytes + b"1|2\n", b"\xef\xbb\xbf" * (nbytes % 2) + b" " * nbytes + b"\n1\n2 3\n"):
            check_texts(handle, random.Random(1), tmp_path, (nbytes, text[:9]), [text, b"1\t2\n"], {})


def test_a_first_line_longer_than_the_window(tmp_path):
    handle = wf.Handle()
    for line in (b"1" + b",3" * WINDOW, b"7 " * WINDOW + b"1,5", b"1\t" * WINDOW + b"2,5", b"1;" * WINDOW + b"x"):
        path = tmp_path / "long"
        path.write_bytes(line + b"\n1,2\n")
        got = outcome(lambda: blocks_of(handle, [path], {}, 10**6))
        if line.endswith(b",3"):
            assert f":2:4: the line has 2 fields, but line 1, the first, has {WINDOW + 1}" in got
        else:  # a comma that comes so late separates nothing, and is no part of a number
            last = re.split(rb"[ \t;]", line)[-1]
            assert f":1:{len(line) - len(last) + 1}: '{last.decode()}' is not a number" in got
