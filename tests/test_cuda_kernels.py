"""Reduction kernels for a GPU with a copy engine run on the simulator and give the CPU's bits, and in CI those
of some types compile to machine code, too.  Kernels that have the engine copy run with bulk copies, without a finding.
tests/test_gpu.py runs the others there."""

import array
import os
import random
import zlib

import pytest

from cli_helpers import ROOT, run
from cuda_helpers import fake_environment, need_fake
from each_type import ALIKE, AS_FOR_USERS, EVERY_KERNEL, one_of
from oracle import FLOATS, TYPES, ops_of
from test_ladder_sources import ladder_ptx, nvrtc  # noqa: F401: a fixture

pytestmark = pytest.mark.slow  # minutes of compiling
NBYTES = 1 << 18  # enough for several blocks
TO_MACHINE_CODE = ("f32", "f64", "i8")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Ops that gather the same parts share a kernel."""
    return tmp_path_factory.mktemp("cache")


EACH_PART = ("sum", "argmax", "dot", "stats", "prod", "xor")  # stats has what the other ops gather


def commands(type_name, data, chosen=None):
    """Of every op, or those chosen, which LONG does not heed, on the GPU: a product of floats in host memory is the CPU's work."""
    if chosen is None or "TESTS_NVRTC_ALL_FULL" in os.environ:
        chosen = (*ops_of(type_name), "dot", "stats")
    for op in (*ops_of(type_name), "dot", "stats"):
        if op in chosen and (op != "prod" or type_name not in FLOATS):
            yield [op, "--type", type_name, "--format", "raw", "--hex", *[data] * (2 if op == "dot" else 1), "--device"]


@pytest.mark.skipif(not EVERY_KERNEL, reason="TESTS_EVERY_KERNEL=1, as in CI, has kernels assembled, which takes long")
@pytest.mark.parametrize("type_name, small", [*((name, "0") for name in TO_MACHINE_CODE), ("f32", "1")])
def test_kernels_compile_for_a_copy_engine(type_name, small, cache, tmp_path):
    """Those of small arrays, which have no use for it, are the same as elsewhere.  Of one type as for users; of the others,
    which nothing executes, with less optimization, in half of the time."""
    need_fake()
    is_as_for_users = (type_name, small) == ("f32", "0")
    # What is optimized least has all of the other parts' code, too.
    chosen = ("sum", "var", *EACH_PART) if type_name == "f32" else ("dot", "stats", "prod", "xor")
    unrun = None if is_as_for_users else "max"
    environment = fake_environment(cache, capability="9.0", WARPFOLD_CUDA_IMAGE=None, WARPFOLD_CUDA_SMALL=small,
                                   TESTS_NVRTC_UNRUN=unrun)
    data = tmp_path / "data"
    data.write_bytes(bytes(NBYTES))
    for command in commands(type_name, data, chosen):
        done = run(*command, "cuda", env=environment)
        # What is compiled is no PTX, which is all that this libcuda can load.
        assert done.returncode == 1 and "cuModuleLoadData" in done.stderr, (command, done.stderr)


# What is copied has a size and no type, and what is made of it test_gpu.py shows: in CI one type has every op, the others one for
# each way of gathering.  A small array is not copied, and test_gpu.py runs its kernels.
COPIED_ALIKE = (*ALIKE, "u8", "bf16")
alike = pytest.mark.skipif("TESTS_NVRTC_ALL_FULL" not in os.environ, reason="copied as others are: LONG takes all")


@pytest.mark.parametrize("type_name, small", [
    *(pytest.param(name, "0", marks=[alike] * (name in COPIED_ALIKE)) for name in TYPES),
    *(pytest.param(name, "1", marks=alike) for name in ("f32", "i8"))])
def test_kernels_for_a_copy_engine_give_the_cpus_bits(type_name, small, cache, tmp_path):
    need_fake()
    environment = fake_environment(cache, capability="9.0", WARPFOLD_CUDA_SMALL=small)
    data = tmp_path / "data"
    data.write_bytes(random.Random(type_name).randbytes(30000))
    for command in commands(type_name, data, None if type_name == "f32" and EVERY_KERNEL else EACH_PART):
        found, expected = run(*command, "cuda", env=environment), run(*command, "cpu")
        assert (found.returncode, found.stdout, found.stderr) == (expected.returncode, expected.stdout, expected.stderr), command


# ---- bulk copies

COPIED = [("f32", "f", "sum"), ("f32", "f", "var"), ("f32", "f", "dot"), ("f64", "d", "sum"), ("f64", "d", "norm2"),
          ("f64", "d", "argmax"), ("i32", "i", "sum"), ("i64", "q", "min"), ("u8", "B", "nonzero")]


@pytest.mark.parametrize("type_name, code, op", COPIED)
def test_kernels_that_copy_in_bulk_give_the_same_bits_and_have_no_finding(type_name, code, op, tmp_path):
    need_fake()
    environment = fake_environment(tmp_path, capability="9.0", observe="1", WARPFOLD_CUDA_SMALL="0", **AS_FOR_USERS)
    generator = random.Random(op + type_name)
    files = []
    for name in ("a", "b")[:1 + (op == "dot")]:
        count = (1 << 16) // array.array(code).itemsize + 77  # several chunks of a block, and a rest
        values = [generator.uniform(-1, 1) * 2.0 ** generator.randint(-9, 9) if code in "fd" else
                  generator.randint(0, 100) for _ in range(count)]
        files.append(tmp_path / name)
        files[-1].write_bytes(array.array(code, values).tobytes())
    arguments = [op, "--type", type_name, "--format", "raw", "--hex", *files]
    done = run(*arguments, "--device", "cuda", "--verbose", env=environment)
    assert done.returncode == 0 and "prefetched by the copy engine" in done.stderr, done
    assert done.stdout == run(*arguments, "--device", "cpu").stdout


# ---- the sources

SOURCES = ROOT / "src"
KERNELS = SOURCES / "cuda" / "kernels"
PARTS = ["SUM", "ABS", "SQUARES", "DOT", "MIN", "MAX", "NONZERO", "BITS", "PRODUCT"]


def embedded():
    """The files that the library gives to NVRTC."""
    roots = [(KERNELS.parent, KERNELS.iterdir()), (KERNELS.parent, KERNELS.parent.glob("*.h")),
             (SOURCES, (SOURCES / "core").iterdir()), (ROOT / "include", (ROOT / "include").iterdir())]
    return {str(path.relative_to(root)): path.read_text() for root, paths in roots for path in paths}


@pytest.mark.parametrize("header", sorted(path.name for path in KERNELS.glob("*.cuh")))
def test_a_header_includes_what_it_uses(header, nvrtc):  # noqa: F811
    """So it compiles alone, whatever is reduced."""
    headers = embedded()
    reductions = list(enumerate([("f32", "SUM", []), ("u8", "SUM", []), ("f64", "DOT", []),
                                 ("f64", "MIN", ["-DFINISH_OP=3", "-DFINISH_TYPE=13", "-DFINISH_RESULT_TYPE=13"])]))
    for turn, (type_name, wanted, more) in one_of(reductions, zlib.crc32(header.encode())):
        parts = [f"-DHAS_{part}={int(part == wanted)}" for part in PARTS]
        sizes = ["-DIS_INDEXED=0", f"-DIS_SMALL={turn % 2}", "-DALIGNMENT=16", "-DBLOCK=128", "-DVECTORS=4",
                 "-DSTAGES=0", "-DRESIDENT=1", "-DSUMS_NBYTES=0", "-DWALK=0", "-DIS_SHORT=0"]
        nvrtc.compile("alone.cu", f'#include "kernels/{header}"\n', headers,
                      ["--std=c++20", "-default-device", "--device-int128", f"-DTYPE_{type_name}", *parts, *sizes, *more])


def test_whole_arrays_of_floats_of_8_bits_are_refused(nvrtc):  # noqa: F811
    """Of e5m2, as CONTRIBUTING.md says to add it: a word of it is taken for two halves, with wrong results."""
    headers = embedded()
    element = headers["kernels/element.cuh"]
    for known, added in (("defined TYPE_u8", " || defined TYPE_e5m2"), ("#if defined TYPE_f16", " || defined TYPE_e5m2")):
        assert element.count(known + "\n") == 1
        element = element.replace(known + "\n", known + added + "\n")
    headers["kernels/element.cuh"] = element
    options = ["--std=c++20", "-default-device", "--device-int128", "-fdevice-syntax-only", "-DTYPE_e5m2",
               *(f"-DHAS_{part}={int(part == 'MAX')}" for part in PARTS), "-DIS_INDEXED=0", "-DIS_SMALL=0", "-DALIGNMENT=16",
               "-DBLOCK=128", "-DVECTORS=4", "-DSTAGES=0", "-DRESIDENT=1", "-DSUMS_NBYTES=0"]
    with pytest.raises(ladder_ptx.CompileError, match="a word of floats of 8 bits"):
        nvrtc.compile("reduce.cu", headers["kernels/reduce.cu"], headers, options)
