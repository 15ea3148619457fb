"""The libcuda of tests/fake_cuda itself: it must hold callers to what a driver leaves open, and find wrong kernels."""

import ctypes
import os
import shutil
from ctypes import byref, c_char_p, c_size_t, c_uint, c_uint64, c_void_p

import pytest

from cli_helpers import ROOT
from cuda_helpers import need_fake
from gpu_memory import FAKE

INVALID_VALUE, OUT_OF_MEMORY, NOT_INITIALIZED, INVALID_CONTEXT, LAUNCH_FAILED = 1, 2, 3, 201, 719


class Fake:
    """A copy of the library, whose state is its own, with the environment variables that cuInit reads."""

    def __init__(self, folder, **settings):
        need_fake(compiles=False)
        path = folder / f"libcuda_{len(list(folder.iterdir()))}.so"
        shutil.copy(FAKE, path)
        self.library = ctypes.CDLL(str(path))
        self.settings = {f"FAKE_CUDA_{name.upper()}": str(value) for name, value in settings.items()}

    def init(self):
        with pytest.MonkeyPatch.context() as patch:
            for name in [name for name in os.environ if name.startswith("FAKE_CUDA_")]:
                patch.delenv(name)
            for name, value in self.settings.items():
                patch.setenv(name, value)
            return self.library.cuInit(0)

    def enter(self):
        context = c_void_p()
        assert self.init() == 0
        assert self.library.cuDevicePrimaryCtxRetain(byref(context), 0) == 0
        assert self.library.cuCtxPushCurrent_v2(context) == 0
        return self

    def allocate(self, nbytes):
        pointer = c_uint64()
        assert self.library.cuMemAlloc_v2(byref(pointer), c_size_t(nbytes)) == 0
        return pointer

    def write(self, pointer, data):
        return self.library.cuMemcpyHtoDAsync_v2(pointer, data, c_size_t(len(data)), None)

    def kernel(self, ptx):
        module, function = c_void_p(), c_void_p()
        assert self.library.cuModuleLoadData(byref(module), ptx) == 0
        assert self.library.cuModuleGetFunction(byref(function), module, b"reduce") == 0
        return function

    def launch(self, function, block, shared, *arguments):
        addresses = (c_void_p * len(arguments))(*(ctypes.addressof(argument) for argument in arguments))
        return self.library.cuLaunchKernel(function, 1, 1, 1, block, 1, 1, c_uint(shared), None, addresses, None)

    def words(self, result):
        text = c_char_p()
        assert self.library.cuGetErrorString(result, byref(text)) == 0
        return text.value.decode()


def wrong_kernel(name):
    return (ROOT / "ladder" / "ptx" / "wrong" / f"{name}.ptx").read_bytes()


def test_nothing_works_before_init_and_without_a_context(tmp_path):
    fake, pointer = Fake(tmp_path), c_uint64()
    assert fake.library.cuMemAlloc_v2(byref(pointer), c_size_t(8)) == NOT_INITIALIZED
    assert fake.init() == 0
    assert fake.library.cuMemAlloc_v2(byref(pointer), c_size_t(8)) == INVALID_CONTEXT


def test_a_copy_arrives_only_when_it_is_waited_for(tmp_path):
    fake = Fake(tmp_path).enter()
    pointer, streams, event = fake.allocate(4), [c_void_p(), c_void_p()], c_void_p()
    for stream in streams:
        assert fake.library.cuStreamCreate(byref(stream), 1) == 0
    assert fake.library.cuEventCreate(byref(event), 0) == 0
    for wait in (lambda: fake.library.cuStreamSynchronize(streams[0]), lambda: fake.library.cuEventSynchronize(event),
                 lambda: fake.library.cuStreamSynchronize(None)):
        assert fake.write(pointer, b"abcd") == 0
        data = ctypes.create_string_buffer(b"....", 4)
        assert fake.library.cuMemcpyDtoHAsync_v2(data, pointer, c_size_t(4), streams[0]) == 0
        assert fake.library.cuEventRecord(event, streams[0]) == 0
        assert fake.write(pointer, b"efgh") == 0
        assert fake.library.cuStreamSynchronize(streams[1]) == 0 and data.raw == b"...."
        assert wait() == 0 and data.raw == b"abcd"


def test_freed_memory_is_gone(tmp_path):
    fake = Fake(tmp_path, memory=1 << 10).enter()
    pointer = fake.allocate(1 << 10)
    assert fake.library.cuMemAlloc_v2(byref(c_uint64()), c_size_t(1)) == OUT_OF_MEMORY
    assert fake.library.cuMemFree_v2(pointer) == 0
    assert fake.write(pointer, b"a") == INVALID_VALUE
    assert fake.library.cuMemFree_v2(pointer) == INVALID_VALUE
    assert fake.allocate(1 << 10).value != pointer.value


def test_accesses_beyond_an_allocation_fail(tmp_path):
    fake = Fake(tmp_path).enter()
    pointer = fake.allocate(8)
    assert fake.write(pointer, bytes(8)) == 0
    assert fake.write(pointer, bytes(9)) == INVALID_VALUE
    assert fake.write(c_uint64(pointer.value + 7), bytes(2)) == INVALID_VALUE


@pytest.mark.parametrize("observes", [0, 1])
def test_a_race_is_a_failed_launch_where_it_is_watched(observes, tmp_path):
    """And the context stays broken."""
    fake = Fake(tmp_path, observe=observes).enter()
    values, result = fake.allocate(4 * 256), fake.allocate(4)
    assert fake.write(values, bytes(4 * 256)) == 0 and fake.write(result, bytes(4)) == 0
    launched = fake.launch(fake.kernel(wrong_kernel("last_warp_unsynchronised")), 128, 512, values, result)
    assert launched == (LAUNCH_FAILED if observes else 0)
    again = fake.library.cuMemAlloc_v2(byref(c_uint64()), c_size_t(1))
    assert again == launched
    if observes:
        assert fake.words(launched).startswith("race in reduce at ")


def test_an_access_out_of_bounds_is_a_failed_launch(tmp_path):
    """Though nobody watches."""
    fake = Fake(tmp_path).enter()
    values, result = fake.allocate(4), fake.allocate(4)
    assert fake.write(values, bytes(4)) == 0
    launched = fake.launch(fake.kernel(wrong_kernel("last_warp_unsynchronised")), 128, 512, values, result)
    assert launched == LAUNCH_FAILED and fake.words(launched).startswith("bounds in reduce at ")
