"""warpfold run: programs over the CUDA driver's interface, linked and loaded, alone and with NVRTC."""

import json
import re
import subprocess
import sys

import pytest

from cli_helpers import CLI, run
from kernel_helpers import real_nvrtc_library
from program_helpers import INCLUDE, SOURCES, STAND_INS, compiling, environment, needs_nvcc  # noqa: F401

FAULTS = STAND_INS.parent / "tests" / "faults.so"


@pytest.fixture(scope="session")
def driver_program(tmp_path_factory):
    """Linked with a libcuda.so.1 of the same names, as programs are where there is no driver."""
    folder = tmp_path_factory.mktemp("driver")
    names = sorted(set(re.findall(r"\bcu[A-Z]\w+(?=\()", (SOURCES / "driver.c").read_text())))
    (folder / "stub.c").write_text("".join(f"void {name}(void) {{}}\n" for name in names))
    stub, program = folder / "libcuda.so", folder / "driver"
    subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", stub, folder / "stub.c"], check=True)
    subprocess.run(["cc", "-std=gnu17", "-o", program, SOURCES / "driver.c", stub], check=True)
    return program


PTX = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry nothing()\n{\n    ret;\n}\n"


def report_of(tmp_path, *words, status):
    report = tmp_path / "report"
    done = run("run", "--json", "--out", report, *words, env=environment())
    assert done.returncode == status, done
    return done, json.loads(report.read_text())


def test_driver(driver_program, tmp_path):
    """The program checks its results.  What is refused is told by name."""
    done, report = report_of(tmp_path, driver_program, status=0)
    assert [(kernel["kernel"], kernel["launches"]) for kernel in report["kernels"]] == [("add", 16), ("rank", 1)]
    assert (report["findings"], report["leaks"]) == ([], 0)
    for said in ("it is machine code (a cubin): load the PTX", "found 'nonsense'", "cuGreenCtxStreamCreate is not supported",
                 "cuTexRefCreate is not supported by the simulator: textures and surfaces are objects (cuTexObjectCreate)",
                 "linking of more than one text of PTX is not supported",
                 "cuMemCreate of memory for other processes is not supported"):
        assert said in done.stderr


def exported():
    listed = subprocess.run(["nm", "-D", "--defined-only", STAND_INS / "libcudart.so.13"], capture_output=True, text=True, check=True)
    return {line.split()[2].split("@")[0] for line in listed.stdout.splitlines()}


@needs_nvcc
def test_every_function_that_headers_declare_is_there():
    """Also by the names that programs with a default stream for each thread are compiled to."""
    headers = [(INCLUDE / name).read_text() for name in ("cuda.h", "cudaProfiler.h", "cuda_runtime_api.h", "cuda_profiler_api.h")]
    declared = {name for text in headers for name in re.findall(r"\b(?:CUDAAPI|CUDARTAPI|CUDARTAPI_CDECL)\s+(\w+)\s*\(", text)}
    for text in headers:
        for suffix, name in re.findall(r"#\s*define\s+\w+\s+__CUD\w+_(PTDS|PTSZ)\((\w+)\)", text):
            declared |= {name, f"{name}_{suffix.lower()}"}
    assert len(declared) > 900 and "cudaMemcpyAsync_ptsz" in declared
    assert sorted(declared - exported() - {"cudaWGLGetDevice"}) == []  # of Windows


def test_each_absent_function_says_its_name(tmp_path):
    folder = SOURCES.parent.parent / "program" / "runtime"
    absent = re.findall(r"ABSENT\((\w+)\)", "".join((folder / name).read_text() for name in ("absent.fn", "absent_driver.fn")))
    (tmp_path / "all.c").write_text("""
        #include <dlfcn.h>
        #include <stdio.h>
        int main(void) {
            void *library = dlopen("libcudart.so.13", RTLD_NOW);
            char name[200];
            while (scanf("%199s", name) == 1) {
                int (*function)(void) = (int (*)(void))dlsym(library, name);
                if (!function || function() != 801) puts(name);
            }
        }""")
    subprocess.run(["cc", "-o", tmp_path / "all", tmp_path / "all.c", "-ldl"], check=True)
    done = run("run", tmp_path / "all", env=environment(), data="\n".join(absent))
    assert (done.returncode, done.stdout) == (0, "") and len(absent) > 200
    said = re.findall(r"warpfold: (\w+) is not supported by the simulator", done.stderr)
    assert sorted(said) == sorted(absent)


def test_driver_of_two_devices(driver_program, tmp_path):
    report = report_of(tmp_path, "--gpus", "2", driver_program, "devices", status=0)[1]
    assert (report["findings"], report["leaks"], report["gpus"]) == ([], 0, 2)


@needs_nvcc
def test_runtime_begins_for_the_driver_too(compiling, tmp_path):
    """Its first call makes a context current, so the driver need not be asked to begin."""
    source = tmp_path / "both.cu"
    source.write_text("""
        #include <dlfcn.h>
        #include <stdio.h>
        int main() {
            auto ask = (int (*)(int *))dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuCtxGetDevice");
            int device = -1;
            printf("%d ", ask(&device));
            cudaSetDevice(0);
            printf("%d ", ask(&device));
            printf("%d\\n", device);
        }
        """)
    done = run("run", "--out", tmp_path / "report", source, env=compiling)
    assert (done.returncode, done.stdout) == (0, "3 0 0\n")


def test_wrong_kernel_breaks_the_context(driver_program, tmp_path):
    report = report_of(tmp_path, driver_program, "wrong", status=3)[1]
    finding, = report["findings"]
    assert (finding["kind"], finding["thread"], finding["launch"], report["status"]) == ("bounds", [63, 0, 0], 18, 0)


@pytest.mark.parametrize("how, said", [
    ("unmapped", "loads 4 bytes of global memory at 0x{:x}, where no memory is mapped (cuMemMap)"),
    ("denied", "loads 4 bytes of global memory at 0x{:x}, to which the device has no access (cuMemSetAccess)"),
    ("read-only", "stores 4 bytes of global memory at 0x{:x}, which the device may only read (cuMemSetAccess)"),
    ("freed", "loads 4 bytes of global memory at 0x{:x}: byte 0 of an allocation of 4,194,304 that was freed: each use belongs between its allocation and that"),
])
def test_wrong_pages(driver_program, tmp_path, how, said):
    """One finding each: after it nothing can be freed any more, so that what is not is no leak."""
    report = report_of(tmp_path, driver_program, "page", how, status=3)[1]
    finding, = report["findings"]
    assert (finding["kind"], finding["message"]) == ("bounds", said.format(finding["address"]) + " (argument 0)")
    assert report["leaks"] == 0


def test_pages_that_are_still_mapped_at_the_end_are_a_leak(driver_program, tmp_path):
    report = report_of(tmp_path, driver_program, "page", "kept", status=3)[1]
    assert (report["findings"], report["leaks"]) == ([], 1)


@pytest.mark.parametrize("threads, status, printed", [(32, 0, f"{1.5 * sum(range(32))}\n"), (33, 3, "")])
def test_python_with_nvrtc(tmp_path, threads, status, printed):
    """It asks NVRTC for machine code, and is given PTX; the name `python3` is looked up as a shell does."""
    library = real_nvrtc_library()
    if not library:
        pytest.skip("no NVRTC")
    done, report = report_of(tmp_path, sys.executable, SOURCES / "driver.py", library, threads, status=status)
    assert done.stdout == printed
    assert [(finding["kind"], finding["file"], finding["line"]) for finding in report["findings"]] == \
        ([] if status == 0 else [("bounds", "scale.cu", 2)])
    assert report["kernels"][0]["kernel"] == "scale"


def test_program_is_looked_up_as_a_shell_does(tmp_path):
    done = run("run", "python3", "-c", "import ctypes; print(ctypes.CDLL('libcuda.so.1').cuInit(0))", env=environment())
    assert (done.returncode, done.stdout) == (0, "0\n") and "no findings" in done.stderr, done
    done = run("run", "no-such-program", env=environment())
    assert done.returncode == 1 and "no-such-program: No such file" in done.stderr


def test_programs_that_search_for_the_drivers_file_find_it(tmp_path):
    """As tinygrad does; what the user has set is searched behind it."""
    search = "import ctypes, os; folders = os.environ['LD_LIBRARY_PATH'].split(':'); " \
        "print(ctypes.CDLL(folders[0] + '/libcuda.so.1').cuInit(0), folders[1:])"
    done = run("run", "python3", "-c", search, env={**environment(), "LD_LIBRARY_PATH": str(tmp_path)})
    assert done.stdout == f"0 ['{tmp_path}']\n", done


def test_the_assembler_leaves_ptx(tmp_path):
    """As Triton calls it: what it loads is PTX then.  It asks for the version, of which the release decides what it writes."""
    (tmp_path / "k.ptx").write_text(PTX)
    call = "import os, subprocess, sys\n" \
        "for name in ('TRITON_PTXAS_PATH', 'TRITON_PTXAS_BLACKWELL_PATH'):\n" \
        "    print(subprocess.run([os.environ[name], *sys.argv[1:]], stdout=subprocess.PIPE, text=True).stdout, end='')"
    settings = {**environment(), "TRITON_PTXAS_PATH": "/usr/bin/false"}
    run("run", "python3", "-c", call, "-lineinfo", "-v", "--gpu-name=sm_90a", tmp_path / "k.ptx", "-o", tmp_path / "k.o", env=settings)
    assert (tmp_path / "k.o").read_text() == PTX
    done = run("run", "python3", "-c", call, "--version", env=settings)
    assert re.findall(r"release (\d+)\.(\d+),", done.stdout) == 2 * [("13", "0")], done
    done = run("run", "python3", "-c", call, tmp_path / "k.ptx", "-o", env=settings)
    assert done.stderr.count("ptxas: warpfold's stand-in needs a file of PTX, and -o with a name for the result") == 2, done


@pytest.mark.skipif(not FAULTS.exists(), reason="the tests' programs are not built")
def test_short_of_memory(driver_program, tmp_path):
    """warpfold itself, in one allocation after the other: the program runs as ever, or there is a message."""
    settings = environment()
    if "asan" in settings.get("LD_PRELOAD", ""):
        pytest.skip("AddressSanitizer's asprintf reads beyond the text if an allocation fails in it")
    settings.update(LD_PRELOAD=str(FAULTS), FAULT_KIND="memory")
    statuses = []
    for at in range(1, 25):
        done = subprocess.run([CLI, "run", driver_program], capture_output=True, text=True,
                              env={**settings, "FAULT_AT": str(at)})
        assert done.returncode == 0 or (done.returncode == 1 and "out of memory" in done.stderr), (at, done)
        statuses.append(done.returncode)
    assert set(statuses) == {0, 1}


@needs_nvcc
def test_every_call_of_the_driver_is_there():
    """By its name, if only to fail."""
    header = subprocess.run(["cc", "-E", INCLUDE / "cuda.h"], capture_output=True, text=True, check=True).stdout
    declared = set(re.findall(r"CUresult\s+(cu[A-Z]\w+)\(", header))
    listed = subprocess.run(["nm", "-D", "--defined-only", STAND_INS / "libcudart.so.13"], capture_output=True,
                            text=True, check=True).stdout
    assert len(declared) > 400 and declared <= set(re.findall(r" T (\w+)@@", listed))


# Of each number: the runtime's name and text of the error, the driver's name and text; of another library, the runtime's alone.
TELL_ERRORS = """
import ctypes, json, sys
library = ctypes.CDLL(sys.argv[1])
library.cudaGetErrorName.restype = library.cudaGetErrorString.restype = ctypes.c_char_p
def of_driver(function, number):
    text = ctypes.c_char_p()
    return text.value.decode() if function(number, ctypes.byref(text)) == 0 else None
def told(number):
    texts = [library.cudaGetErrorName(number).decode(), library.cudaGetErrorString(number).decode()]
    driver = sys.argv[2] == "driver"
    return texts + ([of_driver(library.cuGetErrorName, number), of_driver(library.cuGetErrorString, number)] if driver else [])
print(json.dumps([told(number) for number in range(1001)]))
"""


def told_errors(library, kind):
    done = subprocess.run([sys.executable, "-c", TELL_ERRORS, library, kind], capture_output=True, text=True, env=environment(), check=True)
    return json.loads(done.stdout)


@needs_nvcc
def test_every_error_has_its_name_and_text():
    """Those of the headers, and of NVIDIA's library, which needs no GPU for that."""
    errors = told_errors(STAND_INS / "libcudart.so.13", "driver")
    listed = re.search(r"enum \w+ cudaError\s*\{.*?\};", (INCLUDE / "driver_types.h").read_text(), re.S)[0]
    runtime = dict(re.findall(r"^ +(cuda\w+) += +(\d+)", listed, re.M))
    driver = dict(re.findall(r"^ +(CUDA_\w+) += +(\d+)", (INCLUDE / "cuda.h").read_text().split("cudaError_enum")[1].split("CUresult;")[0], re.M))
    assert len(runtime) > 130 and {name: errors[int(number)][0] for name, number in runtime.items()} == {name: name for name in runtime}
    without = {"CUDA_ERROR_CONTEXT_ALREADY_CURRENT", "CUDA_ERROR_KEY_ROTATION"}  # the runtime has no text of these numbers
    assert len(driver) > 95 and {name for name, number in driver.items() if errors[int(number)][2] != name} == without
    assert all(text == of_driver for _, text, name, of_driver in errors if name)
    theirs = INCLUDE.parent / "lib64" / "libcudart.so.13"
    if theirs.exists():
        assert [error[:2] for error in errors] == told_errors(theirs, "runtime")
