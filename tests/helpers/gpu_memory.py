"""A GPU for the tests: the first NVIDIA GPU; where there is none, the libcuda of tests/fake_cuda, which runs kernels
on the simulator.  Device memory, streams and graphs through libcuda alone."""

import ctypes
import os
import subprocess
import sys
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from functools import cache
from pathlib import Path

import warpfold_ctypes as wf
from kernel_helpers import has_nvrtc
from warpfold_ctypes import library

BUILD = Path(os.environ.get("WARPFOLD_BUILD", wf.ROOT / "build"))
# TESTS_LIBCUDA: that of another build, whose simulator is faster.
FAKE = Path(os.environ.get("TESTS_LIBCUDA") or BUILD / "tests" / "libcuda_simt.so")
CAPTURE_THREAD_LOCAL = 1

# What is called of libcuda; all of it gives a result code.
FUNCTIONS = {
    "cuInit": [c_uint],
    "cuDeviceGetCount": [POINTER(c_int)],
    "cuDeviceGet": [POINTER(c_int), c_int],
    "cuDevicePrimaryCtxRetain": [POINTER(c_void_p), c_int],
    "cuCtxPushCurrent_v2": [c_void_p],
    "cuCtxPopCurrent_v2": [POINTER(c_void_p)],
    "cuMemAlloc_v2": [POINTER(c_uint64), c_size_t],
    "cuMemFree_v2": [c_uint64],
    "cuMemGetInfo_v2": [POINTER(c_size_t), POINTER(c_size_t)],
    "cuMemcpyHtoDAsync_v2": [c_uint64, c_void_p, c_size_t, c_void_p],
    "cuMemcpyDtoHAsync_v2": [c_void_p, c_uint64, c_size_t, c_void_p],
    "cuMemsetD8Async": [c_uint64, ctypes.c_ubyte, c_size_t, c_void_p],
    "cuStreamCreate": [POINTER(c_void_p), c_uint],
    "cuStreamDestroy_v2": [c_void_p],
    "cuStreamSynchronize": [c_void_p],
    "cuGetErrorName": [c_int, POINTER(c_char_p)],
}
GRAPH_FUNCTIONS = {
    "cuStreamBeginCapture_v2": [c_void_p, c_int],
    "cuStreamEndCapture": [c_void_p, POINTER(c_void_p)],
    "cuGraphInstantiateWithFlags": [POINTER(c_void_p), c_void_p, c_uint64],
    "cuGraphLaunch": [c_void_p, c_void_p],
    "cuGraphExecDestroy": [c_void_p],
    "cuGraphDestroy": [c_void_p],
}


class GpuError(Exception):
    """A function of libcuda that failed."""


class Driver:
    """libcuda."""

    def __init__(self, path, functions):
        self.library = ctypes.CDLL(path)
        for name, arguments in functions.items():
            getattr(self.library, name).argtypes = arguments

    def __call__(self, name, *arguments):
        result = getattr(self.library, name)(*arguments)
        if result:
            text = c_char_p()
            self.library.cuGetErrorName(result, byref(text))
            raise GpuError(f"{name}: {(text.value or b'').decode()} ({result})")


@cache
def has_gpu():
    """Asked in a process of its own: where there is a driver without a GPU, it would stay loaded in this one, and the
    library would open it, once for all, instead of the simulator's."""
    ask = ("import ctypes; driver, count = ctypes.CDLL('libcuda.so.1'), ctypes.c_int(); "
           "raise SystemExit(driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or not count.value)")
    return subprocess.run([sys.executable, "-c", ask], stderr=subprocess.DEVNULL).returncode == 0


def real_driver():
    """Of a machine that has a GPU, or else None; None, too, where the environment names the simulator's libcuda."""
    if os.environ.get("WARPFOLD_LIBCUDA") == str(FAKE):
        return None
    if not has_gpu():
        return None
    driver = Driver("libcuda.so.1", FUNCTIONS | GRAPH_FUNCTIONS)
    driver("cuInit", 0)
    return driver


def why_none():
    """Why the tests have no GPU at all, or None."""
    if real_driver():
        return None
    if not FAKE.exists():
        return "no GPU, and no libcuda for the simulator was built"
    return None if has_nvrtc() else "no GPU, and no NVRTC to compile kernels for the simulator"


class Gpu:
    """The GPU's primary context, which is the thread's current one until close(), and the environment for it."""

    def __init__(self, monkeypatch):
        driver = real_driver()
        self.is_real = driver is not None
        if not self.is_real:
            monkeypatch.setenv("WARPFOLD_LIBCUDA", str(FAKE))
            monkeypatch.setenv("WARPFOLD_CUDA_IMAGE", "ptx")
        self.driver = driver or Driver(str(FAKE), FUNCTIONS)
        self.driver("cuInit", 0)
        device = c_int()
        self.context = c_void_p()
        self.driver("cuDeviceGet", byref(device), 0)
        self.driver("cuDevicePrimaryCtxRetain", byref(self.context), device)
        self.enter()

    def enter(self):
        """Each thread that uses device memory does so first."""
        self.driver("cuCtxPushCurrent_v2", self.context)

    def close(self):
        self.driver("cuCtxPopCurrent_v2", byref(c_void_p()))

    def memory(self, data):
        return DeviceMemory(self, data)

    def empty(self, nbytes, byte=0):
        return DeviceMemory(self, nbytes=nbytes, byte=byte)

    def free_nbytes(self):
        free, total = c_size_t(), c_size_t()
        self.driver("cuMemGetInfo_v2", byref(free), byref(total))
        return free.value

    def stream(self):
        return Stream(self)


class DeviceMemory:
    """Bytes on the GPU, from bytes of the host or all alike; freed with the object.  Allocations are aligned to 256
    bytes."""

    def __init__(self, gpu, data=None, nbytes=0, byte=0):
        self.gpu, self.nbytes = gpu, len(data) if data is not None else nbytes
        pointer = c_uint64()
        gpu.driver("cuMemAlloc_v2", byref(pointer), max(self.nbytes, 1))
        self.pointer = pointer.value
        if data is not None:
            self.write(data)
        else:
            gpu.driver("cuMemsetD8Async", self.pointer, byte, max(nbytes, 1), None)
        gpu.driver("cuStreamSynchronize", None)

    def __del__(self):
        if hasattr(self, "pointer"):
            self.gpu.driver.library.cuMemFree_v2(self.pointer)

    def write(self, data, offset=0):
        if data:
            self.gpu.driver("cuMemcpyHtoDAsync_v2", self.pointer + offset, bytes(data), len(data), None)
            self.gpu.driver("cuStreamSynchronize", None)

    def read(self):
        data = ctypes.create_string_buffer(self.nbytes)
        self.gpu.driver("cuMemcpyDtoHAsync_v2", data, self.pointer, self.nbytes, None)
        self.gpu.driver("cuStreamSynchronize", None)
        return data.raw

    def vector(self, type_name, count=None, offset=0):
        nbytes = library.wf_type_nbytes(wf.TYPE_BY_NAME[type_name])
        count = (self.nbytes - offset) // nbytes if count is None else count
        return self.owned(library.wf_array_vector(self.pointer + offset, wf.TYPE_BY_NAME[type_name], count))

    def strided(self, type_name, shape, stride_bytes, offset=0):
        return self.owned(wf.array_nd(self.pointer + offset, type_name, shape, stride_bytes))

    def owned(self, array):
        array.owner = self
        return array


class Stream:
    """A stream that waits for no other."""

    def __init__(self, gpu):
        self.gpu = gpu
        pointer = c_void_p()
        gpu.driver("cuStreamCreate", byref(pointer), 1)
        self.pointer = pointer.value

    def __del__(self):
        if hasattr(self, "pointer"):
            self.gpu.driver.library.cuStreamDestroy_v2(self.pointer)

    def wait(self):
        self.gpu.driver("cuStreamSynchronize", self.pointer)

    def capture(self, work):
        """A function that replays on this stream what work() enqueued here."""
        driver, graph, made = self.gpu.driver, c_void_p(), c_void_p()
        driver("cuStreamBeginCapture_v2", self.pointer, CAPTURE_THREAD_LOCAL)
        try:
            work()
        finally:
            driver("cuStreamEndCapture", self.pointer, byref(graph))
        driver("cuGraphInstantiateWithFlags", byref(made), graph, 0)
        driver("cuGraphDestroy", graph)
        return lambda: driver("cuGraphLaunch", made, self.pointer)
