"""The GPU benchmark's shared library: built by nvcc, opened by ctypes."""

import ctypes
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from ctypes import POINTER, Structure, byref, c_char_p, c_float, c_int, c_int64, c_size_t, c_void_p
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
HEADERS = (HERE / "gpu_bench.h", ROOT / "include" / "warpfold.h")
RESULT_NBYTES = 256
MARKS_MAX = 256

# ---- building ----------------------------------------------------------------------------------------


def nvcc():
    for folder in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
        if folder and (Path(folder) / "bin" / "nvcc").exists():
            return str(Path(folder) / "bin" / "nvcc")
    return shutil.which("nvcc") or sys.exit("bench-gpu: no nvcc: set CUDA_HOME to the CUDA toolkit")


def cub_folders():
    """Where CUB's headers lie, of the newest that is here: cupy's if it brings its own, else the toolkit's."""
    spec = find_spec("cupy")
    bundled = Path(spec.origin).parent / "_core" / "include" / "cupy" / "_cccl" if spec else None
    if bundled and (bundled / "cub").is_dir():
        return [bundled / part for part in ("cub", "libcudacxx", "thrust")]
    return []


def compile_source(source, folder, architecture):
    made = folder / (source.stem + ".o")
    newest = max(path.stat().st_mtime for path in (source, *HEADERS))
    if made.exists() and made.stat().st_mtime > newest:
        return made
    includes = [f"-I{path}" for path in (*cub_folders(), ROOT / "include")]
    subprocess.run([nvcc(), "-O3", "-std=c++17", f"-arch={architecture}", "-Xcompiler", "-fPIC,-Wall,-Wextra",
                    *includes, "-c", source, "-o", made], check=True)
    return made


def build(folder, architecture="native"):
    """The shared library, made in the folder; what is there already and new enough stays."""
    folder.mkdir(parents=True, exist_ok=True)
    sources = sorted(HERE.glob("*.cu"))
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        objects = list(pool.map(lambda source: compile_source(source, folder, architecture), sources))
    library = folder / "libgpu_bench.so"
    subprocess.run([nvcc(), f"-arch={architecture}", "-shared", *objects, "-o", library, "-ldl"], check=True)
    return library


# ---- the library -------------------------------------------------------------------------------------


class Peer(Structure):
    _fields_ = [("who", c_char_p), ("op", c_char_p), ("type", c_char_p), ("result", c_char_p),
                ("result_offset", c_int), ("call", c_void_p)]


class Pool(Structure):
    """Arrays of one size, one after the other, that are taken in turn."""

    _fields_ = [("data", c_void_p), ("arrays", c_int64), ("nbytes", c_int64), ("count", c_int64)]


FUNCTIONS = {
    "bench_message": (c_char_p, []),
    "bench_open": (c_int, []),
    "bench_open_warpfold": (c_int, [c_char_p]),
    "bench_stream": (c_void_p, []),
    "bench_allocate": (c_int, [POINTER(c_void_p), c_size_t]),
    "bench_allocate_host": (c_int, [POINTER(c_void_p), c_size_t]),
    "bench_free": (None, [c_void_p]),
    "bench_to_host": (c_int, [c_void_p, c_void_p, c_size_t]),
    "bench_fill": (c_int, [c_void_p, c_char_p, c_char_p, c_int64]),
    "bench_peer": (POINTER(Peer), [c_int]),
    "bench_open_peer": (c_void_p, [POINTER(Peer)]),
    "bench_open_reduction": (c_void_p, [c_char_p, c_char_p, c_int]),
    "bench_close": (None, [c_void_p]),
    "bench_reduce": (c_int, [c_void_p, c_void_p, c_int64, c_void_p]),
    "bench_start": (c_int, [c_int]),
    "bench_mark": (c_int, []),
    "bench_stop": (c_int, [POINTER(c_float)]),
    "bench_time_calls": (c_int, [c_void_p, POINTER(Pool), c_int, c_int, POINTER(c_float)]),
    "bench_time_graph": (c_int, [c_void_p, POINTER(Pool), c_int, c_int, POINTER(c_float)]),
}


class BenchError(Exception):
    """What the shared library could not do."""


class Device:
    """GPU 0 and the stream on which everything is timed."""

    def __init__(self, library, warpfold):
        self.library = ctypes.CDLL(str(library))
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(self.library, name)
            function.restype, function.argtypes = result, arguments
        self.call("open")
        self.call("open_warpfold", str(warpfold).encode())
        self.stream = self.library.bench_stream()

    def call(self, name, *arguments):
        """A function that gives 0 or NULL, or -1 for a count, where it fails."""
        result = getattr(self.library, "bench_" + name)(*arguments)
        if not result or result == -1:
            raise BenchError(self.library.bench_message().decode())
        return result

    def allocate(self, nbytes, host=False):
        pointer = c_void_p()
        self.call("allocate_host" if host else "allocate", byref(pointer), nbytes)
        return pointer.value

    def free(self, pointer):
        self.library.bench_free(pointer)

    def fill(self, pointer, type_name, data, count):
        self.call("fill", pointer, type_name.encode(), data.encode(), count)

    def peers(self):
        """All reductions of CUB, and the ceilings."""
        index = 0
        while peer := self.library.bench_peer(index):
            yield peer
            index += 1

    def samples(self, name, *arguments):
        """Microseconds, from a function that writes them to its last argument."""
        buffer = (c_float * MARKS_MAX)()
        count = self.call(name, *arguments, buffer)
        return list(buffer[:count])

    def time(self, steps, head_start_us=0):
        """Microseconds of each step, a function that enqueues work on the stream."""
        self.call("start", head_start_us)
        for step in steps:
            step()
            self.call("mark")
        return self.samples("stop")


class Contender:
    """A reduction of the shared library's."""

    def __init__(self, device, pointer, who, result=None, offset=0):
        self.device, self.pointer, self.who = device, pointer, who
        self.result, self.offset = result, offset

    def close(self):
        self.device.library.bench_close(self.pointer)

    def reduce(self, data, count):
        """The bytes of its result."""
        result = ctypes.create_string_buffer(RESULT_NBYTES)
        self.device.call("reduce", self.pointer, data, count, result)
        return result.raw

    def time_calls(self, pool, calls, head_start_us):
        return self.device.samples("time_calls", self.pointer, byref(pool), calls, head_start_us)

    def time_graph(self, pool, nodes, replays):
        return self.device.samples("time_graph", self.pointer, byref(pool), nodes, replays)


def open_peers(device, op, type_name):
    """Every form in which a library of the toolkit has the op; of ceilings, which read bytes, type is i8."""
    found = [peer for peer in device.peers()
             if (peer.contents.op, peer.contents.type) == (op.encode(), type_name.encode())]
    return [Contender(device, device.call("open_peer", peer), peer.contents.who.decode(),
                      peer.contents.result.decode(), peer.contents.result_offset) for peer in found]


def open_warpfold(device, op, type_name, nan="propagate"):
    policy = ("propagate", "omit").index(nan)
    return Contender(device, device.call("open_reduction", op.encode(), type_name.encode(), policy), "warpfold")
