"""warpfold inspect on CUDA C: the compilers, names of kernels and files, what is said where there is none."""

import json
import os
import struct
import subprocess

import pytest

from cli_helpers import CLI, TIMEOUT_SECONDS, pack, refused, run
from inspect_helpers import read_npy


# ---- compilers -----------------------------------------------------------------------------------------

ABSENT = "/nonexistent"


def has_compiler(tmp_path_factory, **environment):
    path = tmp_path_factory.mktemp("probe") / "probe.cu"
    path.write_text('extern "C" __global__ void probe() {}\n')
    return run("inspect", path, env={**os.environ, **environment}).returncode == 0


@pytest.fixture(scope="module")
def nvrtc(tmp_path_factory):
    """The environment in which NVRTC alone compiles."""
    if not has_compiler(tmp_path_factory, WARPFOLD_NVCC=ABSENT):
        pytest.skip("skipped: no NVRTC")
    return {**os.environ, "WARPFOLD_NVCC": ABSENT}


@pytest.fixture(scope="module")
def nvcc(tmp_path_factory):
    if not has_compiler(tmp_path_factory, WARPFOLD_NVRTC=ABSENT):
        pytest.skip("skipped: no nvcc")
    return {**os.environ, "WARPFOLD_NVRTC": ABSENT}


@pytest.fixture(params=["nvrtc", pytest.param("nvcc", marks=pytest.mark.slow)])
def compiler(request):
    return request.getfixturevalue(request.param)


SOURCE = """
#include "twice.cuh"
namespace ns {
template <typename T, int N> __global__ void fill(T *out) {
    __shared__ T values[N];
    values[threadIdx.x] = twice(threadIdx.x);
    __syncthreads();
    out[threadIdx.x] = values[N - 1 - threadIdx.x];
}
}
extern "C" __global__ void plain(int *out) { out[threadIdx.x] = 7; }
static __global__ void hidden(int *out) { out[threadIdx.x] = 8; }
"""
HEADER = "__device__ inline int twice(int x) { return 2 * x; }\n"
HOST = """
#include <cstdio>
int main() {
    plain<<<1, 1>>>(nullptr);
    std::printf("%d\\n", cudaDeviceSynchronize());
}
"""


def compiled(environment, *arguments, status=0, **options):
    done = run("inspect", "--json", *arguments, env=environment, **options)
    assert (done.returncode, done.stderr) == (status, ""), done
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", ["ns::fill<int, 32>", "ns::fill<int,32>", "plain", "hidden"])
def test_cuda(compiler, write, tmp_path, name):
    write("twice.cuh", HEADER)
    path, out = write("mine.cu", SOURCE), tmp_path / "out.npy"
    report = compiled(compiler, path, "--kernel", name, "--arg", "i32[32]=none", "--out", f"0={out}")
    expected = {"plain": [7] * 32, "hidden": [8] * 32}.get(name, [2 * (31 - i) for i in range(32)])
    assert read_npy(out)[2] == pack("i32", expected, "<")
    assert report["kernel"] == name
    assert report["barriers"] == (1 if "fill" in name else 0)


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["ns::fill<int, 32>", "plain"])
def test_host_code(nvcc, nvrtc, write, tmp_path, name):
    write("twice.cuh", HEADER)
    path, out = write("mine.cu", SOURCE + HOST), tmp_path / "out.npy"
    compiled(None, path, "--kernel", name, "--arg", "i32[32]=none", "--out", f"0={out}")
    assert read_npy(out)[1] == 32
    done = run("inspect", path, "--kernel", name, "--arg", "i32[32]=none", env=nvrtc)
    assert (done.returncode, done.stdout) == (1, "")
    assert "cstdio" in done.stderr and "nvcc" in done.stderr
    assert all(line.startswith("warpfold: ") for line in done.stderr.splitlines())


def test_unmarked_functions_without_nvcc(nvrtc, write, tmp_path):
    path = write("mine.cu", "int twice(int x) { return 2 * x; }\n"
                 "__global__ void mine(int *out) { *out = twice(21); }\nint main() { return 0; }\n")
    out = tmp_path / "out.npy"
    assert compiled(nvrtc, path, "--block", "1", "--arg", "i32[1]=none", "--out", f"0={out}")["kernel"] == "mine"
    assert read_npy(out)[2] == pack("i32", [42], "<")


def test_newer_targets(compiler, write, tmp_path):
    path = write("redux.cu", "__global__ void mine(int *out) {\n"
                 "    int sum = __reduce_add_sync(~0u, threadIdx.x);\n    if (threadIdx.x == 0) *out = sum;\n}\n")
    out = tmp_path / "out.npy"
    compiled(compiler, path, "--arg", "i32[1]=none", "--out", f"0={out}")
    assert read_npy(out)[2] == pack("i32", [496], "<")


@pytest.mark.parametrize("defined, limit", [("", 10), ("#define _CCCL_META_UNROLL_LIMIT 3\n", 3)])
def test_type_lists_are_unrolled_as_for_nvcc_or_as_the_source_says(nvrtc, defined, limit, write, tmp_path):
    write("limit.cuh", "#include <cuda/std/type_traits>\nenum { LIMIT = _CCCL_META_UNROLL_LIMIT };\n")
    path = write("mine.cu", f"{defined}#include \"limit.cuh\"\n__global__ void mine(int *out) {{ *out = LIMIT; }}\n")
    out = tmp_path / "out.npy"
    compiled(nvrtc, path, "--block", "1", "--arg", "i32[1]=none", "--out", f"0={out}")
    assert read_npy(out)[2] == pack("i32", [limit], "<")


@pytest.mark.slow
def test_cooperative_groups_and_half(compiler, write, tmp_path):
    path = write("groups.cu", "#include <cooperative_groups.h>\n#include <cuda_fp16.h>\n"
                 "__global__ void mine(__half *out) {\n"
                 "    out[cooperative_groups::this_thread_block().thread_rank()] = __float2half(1.5f);\n}\n")
    out = tmp_path / "out.npy"
    compiled(compiler, path, "--arg", "f16[32]=none", "--out", f"0={out}")
    assert read_npy(out)[2] == struct.pack("<32e", *[1.5] * 32)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mine.cu", "folder/mine.cu", "./folder/../mine.cu"])
def test_files_are_named_as_given(compiler, tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / name).write_text("template <int N>\n__global__ void mine(int *out) {\n    out[threadIdx.x] = N;\n}\n")
    for path in (name, tmp_path / name):
        report = compiled(compiler, path, "--kernel", "mine<3>", "--arg", "i32[31]=none", status=3, cwd=tmp_path)
        finding, = report["findings"]
        assert (finding["kind"], finding["file"], finding["line"]) == ("bounds", str(path), 3)
        done = run("inspect", path, "--kernel", "mine<3>", "--arg", "i32[31]=none", cwd=tmp_path)
        assert "       3 |     out[threadIdx.x] = N;\n" in done.stdout


def test_a_compilers_words(compiler, write):
    path = write("bad.cu", "__global__ void bad(int *out) {\n    *out = undeclared_thing;\n}\n")
    done = run("inspect", path, env=compiler)
    assert (done.returncode, done.stdout) == (1, "")
    assert 'bad.cu(2): error: identifier "undeclared_thing" is undefined' in done.stderr
    assert all(line.startswith("warpfold: ") for line in done.stderr.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nope", "nope<3>", "ns::fill<int>"])
def test_unknown_names(compiler, write, name):
    write("twice.cuh", HEADER)
    path = write("mine.cu", SOURCE.replace("static ", "") + "template __global__ void ns::fill<float, 8>(float *);\n")
    done = run("inspect", path, "--kernel", name, env=compiler)
    assert (done.returncode, done.stdout) == (1, "")
    lines = done.stderr.splitlines()
    assert f"--kernel '{name}' matches no kernel" in lines[0]
    assert set(lines[1].split(" has ")[1].split(", ")) == {"plain", "hidden", "ns::fill<float", "8>"}
    assert ("error" in done.stderr) == ("<" in name)


def test_only_templates(compiler, write):
    path = write("mine.cu", "template <int N> __global__ void mine() {}\n")
    assert "template" in run("inspect", path, env=compiler).stderr
    assert compiled(compiler, path, "--kernel", "mine<3>")["instructions"] == 1


def test_no_compiler(write):
    environment = {**os.environ, "WARPFOLD_NVRTC": ABSENT, "WARPFOLD_NVCC": ABSENT}
    path = write("mine.cu", "__global__ void mine() {}\n")
    refused(1, [str(path), "NVRTC", "nvcc"], "inspect", path, env=environment)


@pytest.mark.slow
def test_nothing_is_left_behind(nvcc, write, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    path = write("mine.cu", "template <int N> __global__ void mine() {}\n")
    for name in ("mine<1>", "mine<x>"):
        run("inspect", path, "--kernel", name, env={**nvcc, "TMPDIR": str(scratch)})
        assert list(scratch.iterdir()) == []


PRINTING = r"""
#include <cstdio>
__global__ void mine() {
    if (threadIdx.x < 2) printf("thread %d \"%s\" %.2f\t\n", threadIdx.x, "caf\xc3\xa9 \xff", 1.5);
}
"""


@pytest.mark.slow
def test_printf(nvcc, write):
    path = write("mine.cu", PRINTING)
    lines = ['thread 0 "café {}" 1.50\t', 'thread 1 "café {}" 1.50\t']
    report = compiled(nvcc, path)
    assert report["printed"] == "".join(line.format("\ufffd") + "\n" for line in lines)
    done = subprocess.run([CLI, "inspect", path], capture_output=True, timeout=TIMEOUT_SECONDS)
    assert done.stdout.startswith("".join(line.format("\xff") + "\n" for line in lines).encode("utf-8").replace(
        b"\xc3\xbf", b"\xff") + b"mine  ")


def test_no_room_for_compiling(nvcc, write):
    path = write("kernel.cu", 'extern "C" __global__ void kernel() {}\n')
    refused(1, "cannot create a temporary folder for nvcc: Not a directory", "inspect", path, env={**nvcc, "TMPDIR": str(path)})
