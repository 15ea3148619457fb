"""Tensors as other libraries hand them over by DLPack: every type, any strides, each of its three forms."""

import ctypes
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int32, c_int64, c_uint8, c_uint16, c_uint32
from ctypes import c_uint64, c_void_p, py_object

from oracle import FLOATS

CPU = 1


class DLTensor(Structure):
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32),
                ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)),
                ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


class Managed(Structure):
    pass


Managed._fields_ = [("tensor", DLTensor), ("context", c_void_p), ("deleter", CFUNCTYPE(None, POINTER(Managed)))]


class Versioned(Structure):
    pass


Versioned._fields_ = [("major", c_uint32), ("minor", c_uint32), ("context", c_void_p),
                      ("deleter", CFUNCTYPE(None, POINTER(Versioned))), ("flags", c_uint64), ("tensor", DLTensor)]

new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = py_object, [c_void_p, c_char_p, c_void_p]


def type_code(name):
    if name == "bool":
        return 6, 8
    if name in FLOATS:
        return (4 if name == "bf16" else 2), FLOATS[name].width
    return (0 if name[0] == "i" else 1), int(name[1:])


class Tensor:
    """Elements of a type in bytes; strides count elements.  versions: whether __dlpack__ knows max_version."""

    def __init__(self, type_name, data, shape, strides=None, *, offset=0, versions=True, device=(CPU, 0), code=None):
        self.buffer = (ctypes.c_char * max(len(data), 1)).from_buffer_copy(data or b"\0")
        self.shape = shape
        self.versions, self.device = versions, device
        self.lengths = (c_int64 * max(len(shape), 1))(*shape)
        self.strides = (c_int64 * max(len(shape), 1))(*strides) if strides else None
        code, bits = code or type_code(type_name)
        self.tensor = DLTensor(ctypes.addressof(self.buffer), *device, len(shape), code, bits, 1, self.lengths,
                               self.strides, offset)
        self.released = 0
        self.old = Managed(self.tensor, None, Managed._fields_[2][1](self.release))
        self.new = Versioned(1, 0, None, Versioned._fields_[3][1](self.release), 1, self.tensor)

    def release(self, _):
        self.released += 1

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        if not self.versions:
            if options.keys() - {"stream"}:
                raise TypeError("unexpected keyword argument 'max_version'")
            return new_capsule(ctypes.addressof(self.old), b"dltensor", None)
        assert options.pop("max_version") >= (1, 0) and not options
        return new_capsule(ctypes.addressof(self.new), b"dltensor_versioned", None)


FROM_OBJECT = CFUNCTYPE(c_int, py_object, POINTER(POINTER(Versioned)))
CURRENT_STREAM = CFUNCTYPE(c_int, c_int32, c_int32, POINTER(c_void_p))


class Exchange(Structure):
    _fields_ = [("major", c_uint32), ("minor", c_uint32), ("previous", c_void_p), ("allocate", c_void_p),
                ("managed_of_object", FROM_OBJECT), ("object_of_managed", c_void_p), ("tensor_of_object", c_void_p),
                ("current_stream", CURRENT_STREAM)]


def _managed_of_object(tensor, result):
    result[0] = ctypes.pointer(tensor.new)
    return 0


TABLE_NAME = b"dlpack_exchange_api"  # capsules keep the address of their name
TABLE = Exchange(1, 2, None, None, FROM_OBJECT(_managed_of_object), None, None, CURRENT_STREAM(lambda *_: 0))


class TableTensor(Tensor):
    """A tensor whose type has DLPack's table of functions."""

    __dlpack_c_exchange_api__ = new_capsule(ctypes.addressof(TABLE), TABLE_NAME, None)

    def __dlpack__(self, **options):
        raise AssertionError("the table is there")
