"""What NVRTC made of a user's source is kept, and the source is compiled again whenever that may be something else."""

import os
import subprocess

import pytest

from cli_helpers import CLI, TIMEOUT_SECONDS, run
from kernel_helpers import has_nvrtc

pytestmark = pytest.mark.skipif(not has_nvrtc(), reason="no NVRTC")

SOURCE = '#include "parts/value.cuh"\n__global__ void set(int *out) { *out = VALUE; }\n'
HEADERS = {"value.cuh": '#if 1\n# include "more.cuh"\n#endif\n', "more.cuh": "#define VALUE 11\n"}


@pytest.fixture
def entries(monkeypatch, tmp_path):
    """entries() -> the files of what is kept, each with a number that it loses when it is written again."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "kept"))
    monkeypatch.delenv("WARPFOLD_CACHE", raising=False)
    return lambda: {path: path.stat().st_ino for path in (tmp_path / "kept").glob("warpfold/source_*")}


@pytest.fixture
def kernel(tmp_path, write):
    (tmp_path / "parts").mkdir()
    for name, text in HEADERS.items():
        write(f"parts/{name}", text)
    return write("set.cu", SOURCE)


def command(kernel, value):
    launch = "--kernel set --grid 1 --block 1 --arg i32[1] --expect".split()
    return ["inspect", kernel, *launch, f"0={value}"]


def stores(kernel, value, **options):
    done = run(*command(kernel, value), **options)
    return done.returncode == 0 and done.stderr == ""


def test_the_second_time_nothing_is_compiled(kernel, entries):
    assert stores(kernel, 11)
    first = entries()
    assert len(first) == 1 and stores(kernel, 11) and entries() == first


CHANGES = {
    "the source": ("set.cu", SOURCE.replace("VALUE;", "12;")),
    "a file that it includes": ("parts/value.cuh", "#define VALUE 12\n"),
    "a file that this one includes, of which the PTX has no line": ("parts/more.cuh", "#define VALUE 12\n"),
    "a file in a folder where NVRTC looks first": ("parts/parts/value.cuh", "#define VALUE 12\n"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_decides_is_heeded(change, kernel, entries, write, tmp_path):
    name, text = CHANGES[change]
    (tmp_path / "parts" / "parts").mkdir()
    write("parts/set.cuh", SOURCE)
    if name.startswith("parts/parts"):
        write("set.cu", '#include "parts/set.cuh"\n')
    assert stores(kernel, 11)
    write(name, text)
    assert stores(kernel, 12) and len(entries()) == 2


@pytest.mark.parametrize("line", ["#define WHICH \"parts/value.cuh\"\n#include WHICH", "#if __has_include(<a.cuh>)\n#endif",
                                  "__device__ const char *when = __TIME__;", "#/**/include \"parts/value.cuh\""])
def test_what_no_key_can_tell_is_not_kept(line, kernel, entries, write):
    write("set.cu", f"{line}\n{SOURCE}")
    assert stores(kernel, 11) and entries() == {}


def test_a_file_that_a_header_of_the_toolkit_may_mean_is_not_overlooked(kernel, entries, write):
    write("set.cu", "#include <cuda_fp16.h>\n" + SOURCE)
    write("vector_types.h", "")
    stores(kernel, 11)
    assert entries() == {}


def test_a_damaged_entry_counts_as_none(kernel, entries):
    assert stores(kernel, 11)
    [entry] = entries()
    whole = entry.read_bytes()
    changed = bytes([whole[-9] ^ 1])
    for damaged in (whole[:-1], whole[:60], whole[:-9] + changed + whole[-8:], b""):
        assert damaged != whole
        entry.write_bytes(damaged)
        assert stores(kernel, 11) and entry.read_bytes() == whole


def test_those_who_write_at_once_are_all_right(kernel, entries):
    running = [subprocess.Popen([CLI, *command(kernel, 11)], stdout=subprocess.DEVNULL) for _ in range(4)]
    assert [process.wait(TIMEOUT_SECONDS) for process in running] == [0] * 4
    assert len(entries()) == 1 and stores(kernel, 11)


def test_it_can_be_switched_off(kernel, entries):
    assert stores(kernel, 11, env={**os.environ, "WARPFOLD_CACHE": "off"}) and entries() == {}


def test_the_oldest_make_room(kernel, entries, tmp_path):
    assert stores(kernel, 11)
    [first] = entries()
    for i in range(300):
        (first.parent / f"source_{i}").touch()
        os.utime(first.parent / f"source_{i}", (i, i))
    (first.parent / "reduce-1").touch()
    os.utime(first.parent / "reduce-1", (0, 0))
    kernel.write_text(SOURCE + "// another\n")
    assert stores(kernel, 11)
    left = {path.name for path in entries()}
    assert len(left) == 256 and first.name in left and "source_299" in left and "source_45" not in left
    assert (first.parent / "reduce-1").exists()
