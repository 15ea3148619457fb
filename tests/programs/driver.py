"""Compiles a kernel by NVRTC, whose path is the argument, launches it by the driver, and prints its result."""

import ctypes
import sys
from ctypes import byref, c_char_p, c_size_t, c_uint64, c_void_p

SOURCE = b"""extern "C" __global__ void scale(float *data, float factor) {
    data[threadIdx.x] *= factor;
}
"""


def check(result):
    assert result == 0, result


nvrtc, driver = ctypes.CDLL(sys.argv[1]), ctypes.CDLL("libcuda.so.1")
program, nbytes = c_void_p(), c_size_t()
check(nvrtc.nvrtcCreateProgram(byref(program), SOURCE, b"scale.cu", 0, None, None))
check(nvrtc.nvrtcCompileProgram(program, 2, (c_char_p * 2)(b"-arch=sm_80", b"-lineinfo")))
check(nvrtc.nvrtcGetCUBINSize(program, byref(nbytes)))
image = ctypes.create_string_buffer(nbytes.value)
check(nvrtc.nvrtcGetCUBIN(program, image))

check(driver.cuInit(0))
context, module, function, pointer = c_void_p(), c_void_p(), c_void_p(), c_uint64()
check(driver.cuDevicePrimaryCtxRetain(byref(context), 0))
check(driver.cuCtxSetCurrent(context))
check(driver.cuModuleLoadData(byref(module), image))
check(driver.cuModuleGetFunction(byref(function), module, b"scale"))
data = (ctypes.c_float * 32)(*range(32))
check(driver.cuMemAlloc_v2(byref(pointer), c_size_t(ctypes.sizeof(data))))
check(driver.cuMemcpyHtoD_v2(pointer, data, c_size_t(ctypes.sizeof(data))))
factor = ctypes.c_float(1.5)
arguments = (c_void_p * 2)(ctypes.addressof(pointer), ctypes.addressof(factor))
check(driver.cuLaunchKernel(function, 1, 1, 1, int(sys.argv[2]), 1, 1, 0, None, arguments, None))
if driver.cuMemcpyDtoH_v2(data, pointer, c_size_t(ctypes.sizeof(data))) == 0:
    print(sum(data))
    check(driver.cuMemFree_v2(pointer))
