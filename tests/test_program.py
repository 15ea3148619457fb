"""warpfold run: whole CUDA programs on the simulator, and their results.  What is found in them, how it is reported and how programs
are compiled: test_program_findings.py, test_program_reports.py, test_program_compiled.py.

What nvcc makes is compiled once: tests/programs/modes.cu has a mode for each test, and checks its own results.
"""

import json
import re
import subprocess
import sys

import pytest

from cli_helpers import FAULTS, ROOT, run
from program_helpers import INCLUDE, SOURCES, STAND_INS, compiling, environment, modes, needs_nvcc, ran  # noqa: F401

# ---- modes


@pytest.mark.sampled
@pytest.mark.parametrize("mode, printed", [
    ("add", ""), ("reduce", f"{sum(i * i % 77 for i in range(512))}\n"), ("managed", ""), ("registered", ""),
    ("symbols", "85 32 4 16 3 86\n"), ("dynamic", ""), ("many", ""), ("grid", f"{sum(range(256))}\n"),
    ("copies", "cudaErrorInvalidPitchValue\n" + 2 * "cudaErrorInvalidValue\n"),
    ("waited", ""),
    ("streams", 2 * "cudaErrorInvalidResourceHandle\n"),
    ("graph", "0\n5 15 15 10 2\n"),
    ("invalidated", "cudaErrorStreamCaptureUnsupported\n" + 2 * "cudaErrorStreamCaptureInvalidated\n" + "1 2 0 1\n"),
    ("refused_captures", 3 * "0 900 901\n" + 3 * "0 0 0\n" + "0 900 901\n" + 2 * "0 906 901\n" + "0 0 0\n" + "0 905 901\n" +
     "0 907 901\n" + "0 0 904\n" + "0 0 0\n" + "0 908 901\n" + "0 901 901\n"),
    ("external_events", "2 1\n"),
    ("cloned", "17 1\n23 2\n17 3\n5 4\n" + 2 * "cudaErrorInvalidValue\n"),
    ("within", "17 1\n23 2\n105 3\ncudaErrorGraphExecUpdateFailure\ncudaErrorInvalidValue\n17 4\n"),
    ("any_nodes", "17 1\n17 2\ncudaErrorInvalidValue\n"),
    ("event_nodes", "cudaErrorInvalidValue\ncudaErrorInvalidResourceHandle\n"),
    ("nodes", "17 1\n23 2\n17 3\n21 4\n5 5\n5 77\n" + 3 * "cudaErrorInvalidValue\n"),
    ("captured_rows", ""),
    ("memory", "4 cudaErrorMemoryAllocation\ncudaSuccess\n"),
    ("configurations", 4 * "cudaErrorInvalidValue\n" + "cudaErrorCooperativeLaunchTooLarge\ncudaErrorInvalidDeviceFunction\n"),
])
def test_program_without_findings(ran, mode, printed):
    """Each checks its results, and ends with a status of its own if one is wrong.  In `symbols`: 32 threads add up
    8 * (1 + 2 + 3 + 4) + 5 in managed memory, and one adds 1 in place.  In `graph` five rounds add 2 to all, and 1 more
    to the first two; the last is cleared after each copy."""
    _, output, report, errors = ran(mode, status=0)
    assert (output, errors) == (printed, "")
    assert report["findings"] == [] and report["leaks"] == 0


def test_kernels_are_counted_over_their_launches(ran):
    """1000 additions by blocks of 256: 32 warps, of which the last has 8 lanes in the branch."""
    kernel, = ran("add")[2]["kernels"]
    assert (kernel["kernel"], kernel["launches"], kernel["grid"], kernel["block"]) == \
        ("add<float>", 3, [4, 1, 1], [256, 1, 1])
    assert kernel["divergent_branches"] == 3
    assert kernel["global_sectors"] == 3 * 3 * 1000 * 4 // 32


def test_printf_comes_in_its_place(ran):
    lines = ran("printf", status=0)[1].splitlines()
    said = [f"thread {thread} of block {block}, text 1.50" for block in range(2) for thread in range(2)]
    assert (lines[0], lines[-1], sorted(lines[1:-1])) == ("before", "after", sorted(said))


@pytest.mark.parametrize("gpu, name, capability, shared", [
    ("h200", "NVIDIA H200", "9.0", 227 << 10), ("a100", "NVIDIA A100-SXM4-80GB", "8.0", 163 << 10),
    ("t4", "Tesla T4", "7.5", 64 << 10)])
def test_gpu(ran, gpu, name, capability, shared):
    blocks = 1 if gpu == "t4" else 2
    assert ran("device", "--gpu", gpu, status=0)[1] == \
        f"1 {name} {capability} 32 {shared} {blocks} 512\ncudaErrorInvalidDevice\n"


def test_status_and_arguments_are_the_programs(modes):
    done = run("run", modes, "status", env=environment())
    assert done.returncode == 5
    done = run("run", modes, "-x", "--json", "-", "-", "--", env=environment())
    assert (done.returncode, done.stdout) == (0, "-x\n--json\n-\n-\n--\n")
    assert "no findings" in done.stderr


def test_program_that_is_killed(ran):
    status, _, report, _ = ran("crash")
    assert (status, report["status"], report["signal"]) == (134, 134, 6)


def test_absent_call_fails_by_name_once(ran):
    _, output, _, errors = ran("absent", status=0)
    assert output == 2 * "cudaErrorNotSupported\n"
    assert errors == "warpfold: cudaDestroyExternalMemory is not supported by the simulator\n"


def test_each_thread_has_its_device_and_each_device_its_variables(ran):
    """The counter begins at 10 on each, and 5 in managed memory is added."""
    _, output, report, _ = ran("threads", "--gpus", "3", status=0)
    assert output == "15 16 17, 12 on 1\n" and report["gpus"] == 3 and report["findings"] == []
    kernel, = report["kernels"]
    assert (kernel["kernel"], kernel["launches"]) == ("count_up", 6)


def test_copies_and_accesses_between_devices(ran):
    """An H200's driver gave these errors, but for those that take several devices."""
    _, output, report, _ = ran("peers", "--gpus", "3", status=0)
    assert output.split() == ["cudaErrorPeerAccessAlreadyEnabled", "cudaErrorPeerAccessUnsupported",
                              "cudaErrorPeerAccessNotEnabled", "cudaErrorPeerAccessNotEnabled", "cudaSuccess",
                              "cudaErrorInvalidDevice", "cudaErrorInvalidValue",
                              "cudaErrorInvalidResourceHandle", "cudaErrorInvalidResourceHandle"]
    assert (report["findings"], report["leaks"]) == ([], 0)


def test_errors_of_other_calls_end_when_they_are_told(ran):
    out_of_memory = "cudaErrorMemoryAllocation"
    assert ran("passing_errors", status=0)[1] == " ".join(
        2 * [out_of_memory] + ["cudaSuccess", out_of_memory, "cudaSuccess", out_of_memory, "cudaSuccess", "cudaSuccess"]) + "\n"


# ---- other programs


def test_launches_that_are_refused_are_counted(compiling, tmp_path):
    """As the runtime of CUDA refuses them: blocks too large, no blocks, and too much shared memory."""
    source = tmp_path / "sizes.cu"
    source.write_text("""#include <cuda_runtime.h>
__global__ void f() { }
int main() {
    f<<<1, 32>>>();
    f<<<1, 1025>>>();
    f<<<0, 32>>>();
    f<<<1, 32, 1 << 20>>>();
    return cudaGetLastError() == cudaSuccess;
}
""")
    done = run("run", "--json", "--out", tmp_path / "report", source, env=compiling)
    report = json.loads((tmp_path / "report").read_text())
    assert done.returncode == 0 and report["refused_launches"] == 3
    assert [kernel["launches"] for kernel in report["kernels"]] == [1]
    run("run", "--out", tmp_path / "text", source, env=compiling)
    text = (tmp_path / "text").read_text() # of the last one cudaGetLastError() tells
    assert [call["refused_launches"] for call in report["failed_calls"]] == [1, 1]
    assert re.findall(r"cudaLaunchKernel at \S*sizes\.cu:(\d+) failed", text) == ["5", "6"] and "\n1 other launch did not run.\n" in text


def test_calls_as_the_runtime_documents_them(compiling, tmp_path):
    done = run("run", "--json", "--out", tmp_path / "report", SOURCES / "calls.cu", env=compiling)
    assert (done.returncode, done.stdout) == (0, ""), done
    report = json.loads((tmp_path / "report").read_text())
    assert report["findings"] == [] and report["refused_launches"] == 2
    assert done.stderr == ("warpfold: cudaIpcOpenMemHandle of another process's memory is not supported by the simulator: "
                           "there is one process\n")


def test_memory_of_the_host_can_be_allocated_without_end(compiling, tmp_path):
    """The host has 4096 addresses that are multiples of 4 GiB: those of memory that was freed are used again, and device memory leaves
    some."""
    source = tmp_path / "many.cu"
    source.write_text("""
#include <cstdio>
__global__ void add(int *to, const int *from) { *to += *from; }
int main() {
    static int *on_gpu[4000];
    int sum = 0;
    for (int *&pointer : on_gpu) if (cudaMalloc(&pointer, 4)) return puts("no device memory"), 1;
    for (int i = 0; i < 5000; i++) {
        int *managed, *pinned;
        if (cudaMallocManaged(&managed, 4)) return printf("no managed memory: %d\\n", i), 1;
        if (cudaMallocHost(&pinned, 4)) return printf("no pinned memory: %d\\n", i), 1;
        *managed = *pinned = i;
        if (i % 500 == 0) add<<<1, 1>>>(managed, pinned), cudaDeviceSynchronize();
        sum += *managed;
        cudaFree(managed), cudaFreeHost(pinned);
    }
    for (int *pointer : on_gpu) cudaFree(pointer);
    printf("%d\\n", sum);
    int *stale;
    cudaMallocManaged(&stale, 4), cudaFree(stale);
    add<<<1, 1>>>(stale, stale);
    return cudaDeviceSynchronize() != cudaErrorIllegalAddress;
}
""")
    done = run("run", "--json", "--out", tmp_path / "report", source, env=compiling)
    assert done.stdout == f"{sum(range(5000)) + sum(range(0, 5000, 500))}\n", done
    findings = json.loads((tmp_path / "report").read_text())["findings"]
    assert [(finding["kind"], "freed" in finding["message"]) for finding in findings] == [("bounds", True)], findings


# n (1 + 2^-11) in 11 bits: for 1 and 2 it lies halfway between two numbers, and for 3 nearer to the one above.
ROUNDED = """
    static float rounded(int n) {
        const float size = n < 0 ? -n : n, step = size >= 2 ? 0x1p-9f : 0x1p-10f;
        const float exact = size + size * 0x1p-11f, below = step * (int)(exact / step);
        return (n < 0 ? -1 : 1) * (exact - below >= step / 2 ? below + step : below);
    }

"""

TF32_PRODUCT = """
    #include <cstdio>
    #include <mma.h>
    using namespace nvcuda;

    __global__ void product(const float *a, const float *b, float *c) {
        wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> left;
        wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> right;
        wmma::fragment<wmma::accumulator, 16, 16, 8, float> sum;
        wmma::fill_fragment(sum, 0.0f);
        wmma::load_matrix_sync(left, a, 8);
        wmma::load_matrix_sync(right, b, 16);
        for (int i = 0; i < left.num_elements; i++) left.x[i] = wmma::__float_to_tf32(left.x[i]);
        for (int i = 0; i < right.num_elements; i++) right.x[i] = wmma::__float_to_tf32(right.x[i]);
        wmma::mma_sync(sum, left, right, sum);
        wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
    }

    int main() {
        float *m, wrong = 0;
        cudaMallocManaged(&m, 512 * sizeof *m);
        float *a = m, *b = m + 128, *c = m + 256;
        /* 1 + 2^-11 is halfway between two of tf32: away from zero. */
        for (int i = 0; i < 128; i++) a[i] = (i % 7 - 3) * (1 + 0x1p-11f), b[i] = i % 5 - 2;
        product<<<1, 32>>>(a, b, c);
        cudaDeviceSynchronize();
        for (int i = 0; i < 256; i++) {
            float sum = 0;
            for (int k = 0; k < 8; k++) sum += (i / 16 * 8 + k) % 7 == 3 ? 0 : rounded((i / 16 * 8 + k) % 7 - 3) * b[k * 16 + i % 16];
            wrong += sum != c[i];
        }
        printf("%g wrong\\n", wrong);
        cudaFree(m);
    }
    """


@needs_nvcc
def test_products_of_tf32(compiling, tmp_path):
    """wmma, whose factors cvt.rna rounds up here; cut off, as the product alone reads them, they would be whole numbers."""
    source = tmp_path / "product.cu"
    source.write_text(TF32_PRODUCT.replace("    int main", ROUNDED + "    int main"))
    done = run("run", "--out", tmp_path / "report", source, env=compiling)
    assert (done.returncode, done.stdout) == (0, "0 wrong\n"), done


# ---- the interface that is stood in for


CHECK = """
#include <stdio.h>
#include <stddef.h>
#include "{header}"
#define S(type) printf("%s %zu\\n", #type, sizeof(struct type));
#define O(type, member) printf("%s %zu\\n", #type "." #member, offsetof(struct type, member));
int main(void) {{
    S(cudaDeviceProp) S(cudaFuncAttributes) S(cudaMemcpy3DParms) S(cudaPointerAttributes) S(cudaMemLocation)
    S(cudaKernelNodeParams) S(cudaGraphNodeParams) O(cudaGraphNodeParams, memcpy.copyParams) O(cudaGraphNodeParams, reserved2) S(cudaMemsetParams) O(cudaMemsetParams, width) S(cudaHostNodeParams) S(cudaMemPoolProps) O(cudaMemPoolProps, location) S(cudaMemcpy3DPeerParms) O(cudaMemcpy3DPeerParms, dstDevice)
    O(cudaDeviceProp, surfaceAlignment) O(cudaDeviceProp, sharedMemPerBlockOptin) O(cudaDeviceProp, cooperativeLaunch)
    O(cudaDeviceProp, reserved) O(cudaDeviceProp, major) O(cudaDeviceProp, memoryPoolsSupported)
    O(cudaFuncAttributes, maxDynamicSharedSizeBytes) O(cudaFuncAttributes, reserved) S(cudaChannelFormatDesc)
    printf("%zu %zu\\n", sizeof(cudaLaunchConfig_t), offsetof(cudaLaunchConfig_t, attrs));
    printf("%d %d %d\\n", cudaErrorNotSupported, cudaErrorIllegalAddress, cudaMemcpyDefault);
    return 0;
}}
"""


@needs_nvcc
def test_declarations_agree_with_the_toolkits(tmp_path):
    said = []
    for name, header in (("theirs", INCLUDE / "driver_types.h"), ("ours", ROOT / "program" / "runtime" / "abi.h")):
        source = tmp_path / f"{name}.c"
        source.write_text(CHECK.format(header=header))
        subprocess.run(["cc", "-o", tmp_path / name, source, f"-I{INCLUDE}"], check=True)
        said.append(subprocess.run([tmp_path / name], capture_output=True, text=True, check=True).stdout)
    assert said[0] == said[1]


@needs_nvcc
def test_every_call_of_the_runtime_is_there():
    """By that name and version, if only to fail."""
    library = next((INCLUDE.parent / "lib64").glob("libcudart.so.13"), None)
    if not library:
        pytest.skip("no libcudart.so.13")

    def names(path):
        listed = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
        return set(re.findall(r" T (\w+@@libcudart\.so\.13)", listed))

    assert names(library) <= names(STAND_INS / "libcudart.so.13") | {
        f"{name}@@libcudart.so.13" for name in ("__cudaGetProcAddress",)}


# One allocation of the stand-in fails: of what is registered before main(), and of what a fill touches.
SHORT_OF_MEMORY = """
import ctypes, sys
runtime, faults, kind = ctypes.CDLL("libcudart.so.13"), ctypes.CDLL(sys.argv[1]), b"memory"
begin, end = (kind, 1, False), (kind, 0, False)
choose, register, fill = faults.faults_choose, runtime["__cudaRegisterFatBinary"], runtime.cudaMemset
stream, memory, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
if sys.argv[2] == "registered":
    choose(*begin), register(None), choose(*end)
    print(runtime.cudaGetKernel(ctypes.byref(kernel), ctypes.c_void_p(8)))
else:
    print(runtime.cudaStreamCreateWithFlags(ctypes.byref(stream), 1), runtime.cudaMalloc(ctypes.byref(memory), 64))
    choose(*begin), fill(memory, 0, 64), choose(*end)
"""


@pytest.mark.skipif(not FAULTS.exists() or bool(environment().get("LD_PRELOAD")), reason="no tests' programs, or a sanitizer's malloc")
@pytest.mark.parametrize("what, output, said", [
    ("registered", "2\n", "warpfold: out of memory for what the program registers: its kernels and variables\n"),
    ("touched", "0 0\n", "warpfold: out of memory for what kernels and copies touch: races between them may be missing in the report\n")])
def test_stand_in_is_short_of_memory(what, output, said):
    done = subprocess.run([sys.executable, "-c", SHORT_OF_MEMORY, FAULTS, what], capture_output=True, text=True,
                          env={**environment(), "LD_PRELOAD": str(FAULTS), "LD_LIBRARY_PATH": str(STAND_INS)})
    assert (done.returncode, done.stdout, done.stderr) == (0, output, said), done
