"""Compressed files, members of .npz files, lists of files: they give what the plain files give, or an error that names
them; nothing is printed of what is damaged."""

import ctypes
import gzip
import io
import os
import random
import struct
import zipfile

import pytest

from cli_helpers import npy, printed, refused, run

NUMBERS = [random.Random(1).gauss(0, 1) for _ in range(30_000)]
TEXT = "\n".join(map(repr, NUMBERS)).encode()
NPY = npy("f64", NUMBERS)
COMMANDS = (["sum"], ["argmax"], ["median"], ["distinct"])


def unzstd_library():
    try:
        return ctypes.CDLL("libzstd.so.1")
    except OSError:
        pytest.skip("skipped: no zstd")


def zstd(data):
    library = unzstd_library()
    library.ZSTD_compress.restype = ctypes.c_size_t
    library.ZSTD_compress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
    packed = ctypes.create_string_buffer(len(data) + 1000)
    length = library.ZSTD_compress(packed, len(packed), data, len(data), 3)
    return packed.raw[:length]


CODECS = {".gz": gzip.compress, ".zst": zstd}


def npz(members, method=zipfile.ZIP_DEFLATED, **options):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members.items():
            with archive.open(name, "w", **options) as member:
                member.write(data)
    return file.getvalue()


# ---- compressed files


@pytest.mark.parametrize("ending", CODECS)
def test_compressed_files(write, ending):
    """By name and by content, from files and pipes, several frames one after the other, with any number of threads."""
    compress = CODECS[ending]
    plain = write("plain", TEXT)
    text, binary = write("text" + ending, compress(TEXT)), write("x.npy" + ending, compress(NPY))
    other = write("other", compress(TEXT[:1000]) + compress(TEXT[1000:]))
    for command in COMMANDS:
        expected = printed(*command, plain)
        assert printed(*command, text) == printed(*command, binary) == printed(*command, other) == expected
        assert printed(*command, "--threads", "1", text) == expected
        assert printed(*command, data=compress(TEXT)) == expected
    raw = write("raw" + ending, compress(struct.pack(">3i", 1, 2, 3)))
    assert printed("sum", "--type", "i32", "--byte-order", "big", raw) == "6\n"
    assert printed("sum", "--column", "b", write("t.csv" + ending, compress(b"a,b\n1,2\n3,4\n"))) == "6\n"


@pytest.mark.parametrize("ending", CODECS)
def test_damaged_compressed_files(write, ending):
    packed = CODECS[ending](TEXT)
    for name, data, said in [("cut", packed[:-1], "truncated"), ("half", packed[:len(packed) // 2], "truncated"),
                             ("empty", b"", "truncated"), ("plain", TEXT, "damaged"),
                             ("tail", packed + b"garbage", "damaged"), ("start", packed[:3], "truncated")]:
        path = write(name + ending, data)
        for command in (["sum"], ["median"]):
            assert str(path) in refused(1, said, *command, path)
    for i in random.Random(3).sample(range(len(packed)), 20):
        done = run("sum", write("flipped" + ending, packed[:i] + bytes([packed[i] ^ 16]) + packed[i + 1:]))
        assert done.returncode == 0 or (done.returncode, done.stdout) == (1, ""), i


def test_a_checksum_that_is_wrong(write):
    packed = bytearray(gzip.compress(TEXT))
    packed[-8] ^= 1
    refused(1, "damaged gzip data: incorrect data check", "sum", write("x.gz", packed))


def test_bytes_that_only_look_compressed(write):
    """They are numbers if the user says so."""
    data = b"\x1f\x8b\x08\x00" * 2
    assert printed("sum", "--type", "u8", write("raw", data)) == f"{sum(data)}\n"


@pytest.mark.parametrize("ending, library", [(".gz", "ZLIB"), (".zst", "ZSTD")])
def test_without_the_library(write, ending, library):
    path = write("x" + ending, CODECS[ending](TEXT))
    for file in ("/missing", os.devnull):
        message = refused(1, ["cannot be opened: install", "zstdcat" if library == "ZSTD" else "zcat"], "sum", path,
                          env={**os.environ, f"WARPFOLD_{library}": file})
        assert str(path) in message


@pytest.mark.parametrize("first, said", [
    (b"PAR1", "Parquet"), (b"ARROW1\0\0", "Arrow"), (b"\x89HDF\r\n", "HDF5"), (b"\xfd7zXZ\0", "xzcat"), (b"BZh9", "bzcat"),
    (b"PK\3\4", ".npz"), (b"\xff\xfe1\0", "iconv"), (b"\xfe\xff\0001", "iconv"), (b"\0", "not .npy and not text")])
def test_formats_that_are_not_read(write, first, said):
    path = write("file", first + b"\0\1\2")
    refused(1, said, "sum", path)
    assert printed("sum", "--type", "u8", path) == f"{sum(first) + 3}\n"


# ---- archives


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("is_64", [False, True])
def test_members(write, method, is_64):
    square = npy("i32", range(12), shape=(3, 4), fortran_order=True)
    archive = write("a.npz", npz({"x.npy": NPY, "square.npy": square, "odd name:2.npy": npy("u8", [7])}, method,
                                 force_zip64=is_64))
    plain = write("x.npy", NPY)
    for command in COMMANDS:
        for threads in ("1", "3"):
            assert printed(*command, "--threads", threads, f"{archive}:x") == printed(*command, plain)
    assert printed("sum", f"{archive}:x.npy", plain) == printed("sum", plain, plain)
    assert printed("sum", f"{archive}:odd name:2") == "7\n"
    assert printed("sum", "--axis", "0", f"{archive}:square") == printed("sum", "--axis", "0", write("s.npy", square))
    one = write("one.npz", npz({"x.npy": NPY}, method))
    assert printed("sum", one) == printed("sum", plain)


def test_members_that_are_not_there(write):
    archive = write("a.npz", npz({"x.npy": NPY, "y.npy": NPY}))
    refused(1, ["no array 'z'", "x, y"], "sum", f"{archive}:z")
    refused(1, [f"as in {archive}:x", "x, y"], "sum", archive)
    refused(1, "the archive is empty", "sum", write("empty.npz", npz({})))
    refused(1, "missing.npz:x: cannot be opened", "sum", "missing.npz:x")
    refused(1, "by method 14", "sum", write("lzma.npz", npz({"x.npy": NPY}, zipfile.ZIP_LZMA)))


def test_damaged_archives(write):
    """Whatever byte of one is changed or missing, a result is right or there is none."""
    whole = npz({"x.npy": npy("f64", NUMBERS[:50])})
    expected = printed("sum", write("whole.npz", whole))
    draw = random.Random(5)
    for length in draw.sample(range(1, len(whole)), 12):
        assert run("sum", write("cut.npz", whole[:length])).stdout == ""
    for i in draw.sample(range(len(whole)), 40):
        done = run("sum", write("flipped.npz", whole[:i] + bytes([whole[i] ^ 1 << draw.randrange(8)]) + whole[i + 1:]))
        assert done.stdout == (expected if done.returncode == 0 else ""), i


def test_a_file_with_such_a_name(write):
    assert printed("sum", write("a.npz:x", "1 2")) == "3\n"
    assert printed("sum", write("b.npz", NPY)) == printed("sum", write("b.npy", NPY))


# ---- lists of files


def test_files_from_a_list(write, tmp_path):
    paths = [write("one", "1"), write("with blank", "2"), write("x.npy", npy("f64", [4]))]
    lines = write("list", "\n".join(map(str, paths)) + "\n\n")
    assert printed("sum", "--files-from", lines) == "7\n"
    assert printed("sum", "--files-from", "-", data="\n".join(map(str, paths))) == "7\n"
    assert printed("median", "--files-from", lines, paths[2]) == "3\n"
    odd = write("line\nbreak", "8")
    assert printed("sum", "--files-from", write("nul", f"{odd}\0{paths[0]}\0")) == "9\n"
    many = write("many", "\n".join([str(paths[0])] * 3000))
    assert printed("sum", "--files-from", many) == "3000\n"


def test_lists_that_are_refused(write, tmp_path):
    refused(1, "the list names no files", "sum", "--files-from", write("empty", "\n"))
    refused(1, "missing: cannot be read", "sum", "--files-from", "missing")
    refused(1, "cannot be read", "sum", "--files-from", tmp_path)
    refused(2, "standard input", "sum", "--files-from", "-", "-", data="x")
    refused(2, "two files", "dot", "--files-from", write("one", "a"))
    refused(2, "did you mean 'f32' with --byte-order big", "sum", "--type", "f32be", data="1")
