"""warpfold run: programs as nvcc makes them, of a source or of several, with the runtime or without; and what is refused of them."""

import json
import re
import struct
import subprocess
from pathlib import Path

import pytest

from cli_helpers import run
from program_helpers import NVCC, SOURCES, compiled, compiling, environment, modes, needs_nvcc  # noqa: F401

# ---- a source


@needs_nvcc
def test_source_is_compiled_with_what_lies_beside_it(tmp_path, compiling):
    (tmp_path / "kernel.cuh").write_text("__global__ void twice(int *data) { data[threadIdx.x + 1] *= 2; }\n")
    (tmp_path / "the program.cu").write_text(
        '#include "kernel.cuh"\n#include <cstdio>\nint main(int count, char **words) {\n'
        "    int *data;\n    cudaMalloc(&data, 128);\n    cudaMemset(data, 1, 128);\n    twice<<<1, 32>>>(data);\n"
        '    printf("%s %d\\n", words[1], cudaDeviceSynchronize());\n    cudaDeviceReset();\n    return 7;\n}\n')
    done = run("run", "the program.cu", "word", cwd=tmp_path, env=compiling)
    assert (done.returncode, done.stdout) == (3, "word 700\n")
    assert re.search(r"^bounds in twice at kernel.cuh:1, block \(0,0,0\), thread \(31,0,0\)", done.stderr, re.MULTILINE)
    assert "       1 | __global__ void twice" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kernel.cuh", "the program.cu"]


@needs_nvcc
def test_source_that_does_not_compile(tmp_path, compiling):
    (tmp_path / "wrong.cu").write_text("int main() { return nothing; }\n")
    done = run("run", "wrong.cu", cwd=tmp_path, env=compiling)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.search(r'wrong.cu\(1\): error: identifier "nothing" is undefined', done.stderr)


def test_no_nvcc(tmp_path):
    (tmp_path / "some.cu").write_text("int main() {}\n")
    done = run("run", tmp_path / "some.cu", env={**environment(), "WARPFOLD_NVCC": str(tmp_path / "none")})
    assert done.returncode == 1 and "nvcc, which compiles CUDA programs, was not found" in done.stderr


@pytest.mark.parametrize("error", [
    "a.cu(1): error: __host__ or __device__ annotation on lambda requires --extended-lambda nvcc flag",
    "a.cu:1:10: fatal error: helper.h: No such file or directory", "a.cu(1): error: expected a ;"])
def test_where_options_of_nvcc_are_given(tmp_path, error):
    """What nvcc says of a source that lacks an option, by a script in its place."""
    compiler = tmp_path / "nvcc"
    compiler.write_text(f"#!/bin/sh\necho '{error}' >&2\nexit 2\n")
    compiler.chmod(0o755)
    (tmp_path / "a.cu").write_text("int main() {}\n")
    done = run("run", tmp_path / "a.cu", env={**environment(), "WARPFOLD_NVCC": str(compiler)})
    assert done.returncode == 1 and error in done.stderr
    assert ("from the environment variable NVCC_APPEND_FLAGS" in done.stderr) == ("expected" not in error)


# ---- what nvcc makes of it


def fat_binaries(data):
    """(offset, size) of each that holds something."""
    for found in re.finditer(re.escape(struct.pack("<I", 0xBA55ED50)), data):
        _, header, size = struct.unpack_from("<HHQ", data, found.start() + 4)
        if size:
            yield found.start(), header + size


def flags_of(data, entry):
    return struct.unpack_from("<Q", data, entry + 40)[0]


def fat_entries(path):
    """(offset, kind) of each piece of code."""
    data = path.read_bytes()
    for offset, size in fat_binaries(data):
        at, end = offset + 16, offset + size
        while at < end:
            kind, _, header, nbytes = struct.unpack_from("<HHIQ", data, at)
            yield at, kind
            at += header + nbytes


@needs_nvcc
@pytest.mark.slow
def test_cub_and_thrust(tmp_path):
    program = compiled(tmp_path, "cub", SOURCES / "cub.cu", "-cudart", "shared", "-arch=compute_75")
    done = run("run", program, env=environment())
    assert (done.returncode, done.stdout) == (0, "6000 6000 6000\n"), done.stderr


SPECIFIC = """#include <cstdio>
__global__ void tell() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    printf("for 9.0 alone\\n");
#else
    printf("for all later ones, too\\n");
#endif
}
int main() { tell<<<1, 1>>>(); return cudaDeviceSynchronize(); }
"""


@needs_nvcc
@pytest.mark.slow
@pytest.mark.parametrize("first, last", [("90", "90a"), ("90a", "90")])
def test_of_two_texts_for_a_gpu_the_one_for_it_alone_is_used(tmp_path, first, last):
    """As -arch=sm_90a has them, too; with the general one, CUTLASS's kernels for Hopper say that they have no wgmma."""
    (tmp_path / "specific.cu").write_text(SPECIFIC)
    options = [f"-gencode=arch=compute_{arch},code=compute_{arch}" for arch in (first, last)]
    program = compiled(tmp_path, "specific", tmp_path / "specific.cu", "-cudart", "shared", *options)
    assert len(list(fat_entries(program))) >= 2
    done = run("run", program, env=environment())
    assert (done.returncode, done.stdout) == (0, "for 9.0 alone\n"), done


@needs_nvcc
@pytest.mark.slow
def test_ptx_compressed_by_lz4(tmp_path):
    """Among the ways that nvcc has, the one for speed; that of the other tests is zstd's."""
    (tmp_path / "small.cu").write_text("__global__ void empty() {}\nint main() { empty<<<1, 1>>>();\n"
                                       "return cudaGetLastError() || cudaDeviceSynchronize(); }\n")
    program = compiled(tmp_path, "small", tmp_path / "small.cu", "-cudart", "shared", "-compress-mode=speed")
    assert 0x2000 in {flags_of(program.read_bytes(), offset) & 0xA000 for offset, _ in fat_entries(program)}
    done = run("run", program, env=environment())
    assert done.returncode == 0 and "empty  1 launch" in done.stderr, done


@needs_nvcc
@pytest.mark.slow
def test_device_code_of_several_files(tmp_path):
    """Joined from their PTX: a call, variables and kernels of the other file, what both bring, and lines of both.  Of a
    file that has machine code alone, what is called is told by name."""
    other = SOURCES / "linked_other.cu"
    options = ["-rdc=true", "-lineinfo", "-gencode"]
    for name, code in ("first", "compute_75"), ("other", "compute_75"), ("machine", "sm_75"):
        subprocess.run([NVCC, *options, f"arch=compute_75,code={code}", "-c", "-o", tmp_path / f"{name}.o",
                        SOURCES / "linked.cu" if name == "first" else other], check=True)
    for name in "other", "machine":
        subprocess.run([NVCC, "-arch=sm_75", "-cudart", "shared", "-o", tmp_path / name, tmp_path / "first.o",
                        tmp_path / f"{name}.o"], check=True)
    done = run("run", tmp_path / "other", env=environment())
    assert (done.returncode, done.stdout) == (0, "ok\n"), done
    done = run("run", "--json", "--out", tmp_path / "report", tmp_path / "other", "beyond", env=environment())
    finding, = json.loads((tmp_path / "report").read_text())["findings"]
    lines = other.read_text().splitlines()
    assert (done.returncode, finding["kind"], Path(finding["file"]).name) == (3, "bounds", other.name), finding
    assert "line: store" in lines[finding["line"] - 1]
    done = run("run", tmp_path / "machine", env=environment())
    assert (done.returncode, done.stdout) == (3, "cudaErrorNotSupported\n"), done
    assert "calls _Z5twicei, which the module declares but does not define" in done.stderr


@pytest.mark.parametrize("member, value", [(8, 1 << 40), (8, 24), (16 + 4, 1 << 31), (16 + 8, 1 << 60),
                                           (16 + 16, 1 << 30), (16 + 56, 1 << 62)])
def test_damaged_fat_binary_is_an_error_of_the_program(modes, tmp_path, member, value):
    """Sizes that are wrong, in the header and in the entry."""
    data = bytearray(modes.read_bytes())
    for offset, _ in fat_binaries(modes.read_bytes()):
        struct.pack_into("<Q" if member in (8, 24, 72) else "<I", data, offset + member, value)
    damaged = tmp_path / "damaged"
    damaged.write_bytes(data)
    damaged.chmod(0o755)
    done = run("run", damaged, "dynamic", env=environment())
    assert done.returncode == 9 and done.stdout.endswith(": cudaErrorInvalidKernelImage\n"), done
    assert "its fat binary is damaged" in done.stderr


# ---- what is refused


def refused(said, *words, **options):
    done = run("run", *words, env=environment(), **options)
    assert (done.returncode, done.stdout) == (1, ""), done
    assert said in done.stderr and done.stderr.startswith("warpfold: "), done.stderr


@pytest.mark.slow
@needs_nvcc
def test_runtime_that_is_linked_into_the_program(tmp_path):
    """As nvcc does unless told otherwise: its functions are found by their names, until they are stripped."""
    (tmp_path / "a.cu").write_text(
        "#include <cstdio>\n__managed__ int sum;\n__global__ void count() { atomicAdd(&sum, 1); }\n"
        'int main() { count<<<2, 32>>>(); printf("%d", cudaDeviceSynchronize()); printf(" %d\\n", sum); }\n')
    program = compiled(tmp_path, "static", tmp_path / "a.cu")
    done = run("run", program, env=environment())
    assert (done.returncode, done.stdout) == (0, "0 64\n") and "count  1 launch" in done.stderr, done
    subprocess.run(["strip", program], check=True)
    refused("the names of its functions are stripped", program)


def test_what_is_no_cuda_program_is_refused(tmp_path):
    script = tmp_path / "script"
    script.write_text("int main() {}\n")
    script.chmod(0o755)
    refused("it is not a program for this computer", script)
    script.write_text("#!/bin/sh\nexit 7\n")
    refused("it ended with status 7, and called nothing of the CUDA runtime or driver", script)
    refused("it ended with status 0, and called nothing", "true")
    refused("No such file", tmp_path / "none")
    refused("it is not a program", tmp_path)


def needing(modes, path, library):
    """A program that needs the library, by its name in place of one that is as long."""
    data = modes.read_bytes()
    old = b"libstdc++.so.6\0" if len(library) < 15 else b"libcudart.so.13\0"
    new = library.encode() + b"\0"
    assert len(new) <= len(old) and old in data
    path.write_bytes(data.replace(old, new.ljust(len(old), b"\0")))
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("library, said", [
    ("libcublas.so.13", "it needs libcublas.so.13, which drives a GPU itself"),
    ("libcudart.so.12", "it was built with libcudart.so.12"),
    ("libnppial.so.13", "it needs libnppial.so.13")])
def test_absent_libraries_are_named_before_the_program_starts(modes, tmp_path, library, said):
    refused(said, needing(modes, tmp_path / "other", library))


def test_absent_libraries_are_named_of_a_source_that_is_linked_with_them(modes, tmp_path):
    """As NVCC_APPEND_FLAGS=-lcublas has nvcc do, for which a script stands in."""
    program = needing(modes, tmp_path / "other", "libcublas.so.13")
    compiler = tmp_path / "nvcc"
    compiler.write_text(f'#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\ncp "{program}" "$2"\n')
    compiler.chmod(0o755)
    (tmp_path / "a.cu").write_text("int main() {}\n")
    done = run("run", tmp_path / "a.cu", env={**environment(), "WARPFOLD_NVCC": str(compiler)})
    assert done.returncode == 1 and "a.cu: it needs libcublas.so.13, which drives a GPU itself" in done.stderr, done
