"""include/warpfold.h by ctypes: the same names, structures and signatures, with two small classes on top.

The library is $WARPFOLD_LIB, or build/libwarpfold.so beside the directory of tests.
"""

import contextlib
import ctypes
import functools
import os
from ctypes import CFUNCTYPE, POINTER, Structure, Union, byref
from ctypes import c_char, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_size_t, c_uint16, c_uint64
from ctypes import c_void_p
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIBRARY_PATH = os.environ.get("WARPFOLD_LIB", str(ROOT / "build" / "libwarpfold.so"))

# ---- enumerations, in the order of the header ------------------------------------------------------

ERRORS = """
    WF_OK WF_ERROR_ARGUMENT WF_ERROR_UNSUPPORTED WF_ERROR_DEVICE WF_ERROR_MEMORY WF_ERROR_EMPTY
    WF_ERROR_RANGE WF_ERROR_NAN WF_ERROR_MERGE WF_ERROR_FORMAT WF_ERROR_IO
""".split()
TYPES = """
    WF_TYPE_DEFAULT WF_BOOL WF_I8 WF_I16 WF_I32 WF_I64 WF_U8 WF_U16 WF_U32 WF_U64 WF_F16 WF_BF16 WF_F32
    WF_F64
""".split()
OPS = """
    WF_OP_NONE WF_SUM WF_PROD WF_MIN WF_MAX WF_ARGMIN WF_ARGMAX WF_MEAN WF_VAR WF_STD WF_NORM1 WF_NORM2
    WF_NORMINF WF_DOT WF_ANY WF_ALL WF_NONZERO WF_AND WF_OR WF_XOR WF_STATS
""".split()
NANS = ("WF_NAN_PROPAGATE", "WF_NAN_OMIT", "WF_NAN_ERROR")
FORMATS = ("WF_FORMAT_AUTO", "WF_FORMAT_NPY", "WF_FORMAT_RAW", "WF_FORMAT_TEXT")

for _names in (ERRORS, TYPES, OPS, NANS, FORMATS):
    globals().update({name: value for value, name in enumerate(_names)})

WF_NDIM_MAX = 32
WF_NO_INDEX = 2**64 - 1
WF_SAVED_NBYTES_MAX = 16384

# The names of the command line: "f32" -> WF_F32, "norm2" -> WF_NORM2.
TYPE_BY_NAME = {name[3:].lower(): value for value, name in enumerate(TYPES) if value}
OP_BY_NAME = {name[3:].lower(): value for value, name in enumerate(OPS) if value}
NAN_BY_NAME = {"propagate": 0, "omit": 1, "error": 2}
TYPE_NAME = {value: name for name, value in TYPE_BY_NAME.items()}

# ---- structures ------------------------------------------------------------------------------------


class wf_value_as(Union):
    _fields_ = [("i", c_int64), ("u", c_uint64), ("f64", c_double), ("f32", c_float), ("f16", c_uint16)]


class wf_value(Structure):
    _fields_ = [("type", c_int), ("as", wf_value_as)]


class wf_array(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("type", c_int),
        ("ndim", c_int32),
        ("shape", c_int64 * WF_NDIM_MAX),
        ("stride_bytes", c_int64 * WF_NDIM_MAX),
    ]


class wf_device_value(Structure):
    _fields_ = [("value", wf_value), ("status", c_int32), ("reserved", c_int32)]


class wf_options(Structure):
    _fields_ = [
        ("nan", c_int),
        ("result_type", c_int),
        ("ddof", c_int64),
        ("first_index", c_int64),
        ("threads", c_int32),
        ("reserved_i32", c_int32),
        ("reserved", c_uint64 * 8),
    ]


class wf_stats(Structure):
    _fields_ = [("count", c_uint64), ("nans", c_uint64)] + [
        (name, wf_value)
        for name in "sum mean var std min max argmin argmax nonzero norm1 norm2 norminf".split()
    ]


wf_progress = CFUNCTYPE(None, c_void_p, c_int64, c_int64)


class wf_reader_options(Structure):
    _fields_ = [
        ("format", c_int),
        ("type", c_int),
        ("column_name", c_char_p),
        ("column", c_int64),
        ("skip_lines", c_int64),
        ("has_header", c_int32),
        ("delimiter", c_char),
        ("reserved_char", c_char * 3),
        ("progress", wf_progress),
        ("progress_user", c_void_p),
        ("reserved", c_uint64 * 6),
    ]


STRUCTURES = (wf_value, wf_array, wf_options, wf_device_value, wf_stats, wf_reader_options)

# ---- functions -------------------------------------------------------------------------------------

_handle = _accumulator = _reader = c_void_p
_array, _options, _value = POINTER(wf_array), POINTER(wf_options), POINTER(wf_value)
_f64, _f32 = POINTER(c_double), POINTER(c_float)

FUNCTIONS = {
    "wf_version": (c_char_p, []),
    "wf_error_text": (c_char_p, [c_int]),
    "wf_type_name": (c_char_p, [c_int]),
    "wf_op_name": (c_char_p, [c_int]),
    "wf_type_parse": (c_int, [c_char_p]),
    "wf_op_parse": (c_int, [c_char_p]),
    "wf_type_nbytes": (c_size_t, [c_int]),
    "wf_op_result_type": (c_int, [c_int, c_int]),
    "wf_value_format": (c_size_t, [_value, c_int, c_char_p, c_size_t]),
    "wf_value_to_double": (c_double, [_value]),
    "wf_array_vector": (wf_array, [c_void_p, c_int, c_int64]),
    "wf_array_strided": (wf_array, [c_void_p, c_int, c_int64, c_int64]),
    "wf_array_nd": (wf_array, [c_void_p, c_int, c_int32, POINTER(c_int64), POINTER(c_int64)]),
    "wf_handle_create": (c_int, [c_char_p, POINTER(_handle)]),
    "wf_handle_destroy": (None, [_handle]),
    "wf_handle_message": (c_char_p, [_handle]),
    "wf_handle_device": (c_char_p, [_handle]),
    "wf_handle_plan": (c_char_p, [_handle]),
    "wf_device_describe": (c_int, [c_char_p, c_char_p, c_size_t]),
    "wf_device_count": (c_int32, []),
    "wf_handle_set_stream": (c_int, [_handle, c_void_p]),
    # The result lies in device memory.
    "wf_reduce_on_device": (c_int, [_handle, c_int, _array, _options, c_void_p]),
    "wf_reduce_pair_on_device": (c_int, [_handle, c_int, _array, _array, _options, c_void_p]),
    "wf_reduce": (c_int, [_handle, c_int, _array, _options, _value]),
    "wf_reduce_pair": (c_int, [_handle, c_int, _array, _array, _options, _value]),
    "wf_reduce_stats": (c_int, [_handle, _array, _options, POINTER(wf_stats)]),
    "wf_accumulator_create": (c_int, [_handle, c_int, c_int, _options, POINTER(_accumulator)]),
    "wf_accumulator_destroy": (None, [_accumulator]),
    "wf_accumulator_add": (c_int, [_handle, _accumulator, _array, c_int32]),
    "wf_accumulator_add_pair": (c_int, [_handle, _accumulator, _array, _array, c_int32]),
    "wf_accumulator_merge": (c_int, [_handle, _accumulator, _accumulator]),
    "wf_accumulator_result": (c_int, [_handle, _accumulator, c_int, _value]),
    "wf_accumulator_stats": (c_int, [_handle, _accumulator, POINTER(wf_stats)]),
    "wf_accumulator_op": (c_int, [_accumulator]),
    "wf_accumulator_type": (c_int, [_accumulator]),
    "wf_accumulator_count": (c_int64, [_accumulator]),
    "wf_accumulator_save": (c_int, [_handle, _accumulator, c_void_p, c_size_t, POINTER(c_size_t)]),
    "wf_accumulator_load": (c_int, [_handle, c_void_p, c_size_t, POINTER(_accumulator)]),
    "wf_reader_open": (
        c_int,
        [_handle, POINTER(c_char_p), c_size_t, POINTER(wf_reader_options), POINTER(_reader)],
    ),
    "wf_reader_close": (None, [_reader]),
    "wf_reader_type": (c_int, [_reader]),
    "wf_reader_next": (c_int, [_handle, _reader, c_int64, _array]),
    "wf_accumulator_add_reader": (c_int, [_handle, _accumulator, _reader, c_int32]),
    "wf_accumulator_add_reader_pair": (c_int, [_handle, _accumulator, _reader, _reader, c_int32]),
}
for _suffix, _real, _data in (("f64", c_double, _f64), ("f32", c_float, _f32)):
    for _op in ("sum", "mean", "var", "std", "norm2", "min", "max"):
        FUNCTIONS[f"wf_{_op}_{_suffix}"] = (_real, [_data, c_int64])
    for _op in ("argmin", "argmax"):
        FUNCTIONS[f"wf_{_op}_{_suffix}"] = (c_uint64, [_data, c_int64])
    FUNCTIONS[f"wf_dot_{_suffix}"] = (_real, [_data, _data, c_int64])


def load_library(path=LIBRARY_PATH):
    library = ctypes.CDLL(path)
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


library = load_library()

# ---- a little comfort ------------------------------------------------------------------------------


class WarpfoldError(Exception):
    """What a call returned instead of WF_OK: code by name, and the handle's message."""

    def __init__(self, code, message):
        super().__init__(f"{ERRORS[code]}: {message}")
        self.code = ERRORS[code]
        self.message = message


def options(nan="propagate", result_type=None, ddof=0, first_index=0, threads=0):
    return wf_options(
        nan=NAN_BY_NAME[nan],
        result_type=TYPE_BY_NAME[result_type] if result_type else 0,
        ddof=ddof,
        first_index=first_index,
        threads=threads,
    )


def value_bits(value):
    """(type, bits) of a wf_value, the bits as wide as the type; integers as themselves."""
    name = TYPE_NAME.get(value.type)
    union = getattr(value, "as")
    if name in ("i8", "i16", "i32", "i64"):
        return name, union.i
    if name == "f32":
        return name, union.u & 0xFFFFFFFF
    if name in ("f16", "bf16"):
        return name, union.f16
    return name, union.u if name else None


def stats_dict(stats):
    """A wf_stats as {"count": n, "nans": n, "sum": (type, bits), ...}; (None, None) where there is none."""
    whole = {"count": stats.count, "nans": stats.nans}
    for name, field in wf_stats._fields_[2:]:
        whole[name] = value_bits(getattr(stats, name))
    return whole


def vector(data, type_name, count=None, offset=0):
    """A view of bytes-like data, kept alive by the view."""
    nbytes = library.wf_type_nbytes(TYPE_BY_NAME[type_name])
    buffer, address = _address(data)
    array = library.wf_array_vector(
        address + offset, TYPE_BY_NAME[type_name], (len(data) - offset) // nbytes if count is None else count
    )
    array.owner = buffer
    return array


def strided(data, type_name, shape, stride_bytes, offset=0):
    """A view of any number of dimensions; element (0, 0, ...) lies offset bytes into data."""
    buffer, address = _address(data)
    array = library.wf_array_nd(
        address + offset,
        TYPE_BY_NAME[type_name],
        len(shape),
        (c_int64 * len(shape))(*shape),
        (c_int64 * len(shape))(*stride_bytes),
    )
    array.owner = buffer
    return array


def _address(data):
    if isinstance(data, bytes):
        return data, ctypes.cast(c_char_p(data), c_void_p).value or 0
    buffer = (c_char * len(data)).from_buffer(data)
    return buffer, ctypes.addressof(buffer)


@contextlib.contextmanager
def environment(**chosen):
    """Variables of this process, for a while."""
    before = {name: os.environ.get(name) for name in chosen}
    os.environ.update(chosen)
    try:
        yield
    finally:
        for name, value in before.items():
            del os.environ[name]
            if value is not None:
                os.environ[name] = value


class Handle:
    """A wf_handle.  chosen: variables of the environment while it is created, tier being WARPFOLD_TIER."""

    def __init__(self, device="cpu", tier=None, **chosen):
        chosen |= {"WARPFOLD_TIER": tier} if tier else {}
        self.pointer = c_void_p()
        with environment(**chosen):
            code = library.wf_handle_create(None if device is None else device.encode(), byref(self.pointer))
        if code:
            raise WarpfoldError(code, library.wf_error_text(code).decode())

    def __del__(self):
        if library is not None:  # as it is when python ends
            library.wf_handle_destroy(self.pointer)

    def check(self, code):
        if code:
            raise WarpfoldError(code, self.message)

    @property
    def message(self):
        return library.wf_handle_message(self.pointer).decode()

    @property
    def device(self):
        return library.wf_handle_device(self.pointer).decode()

    def set_stream(self, stream):
        self.check(library.wf_handle_set_stream(self.pointer, stream))

    def reduce_on_device(self, op, d_result, *arrays, **chosen):
        """Leaves a wf_device_value in device memory; of dot, two arrays."""
        reduce = library.wf_reduce_on_device if len(arrays) == 1 else library.wf_reduce_pair_on_device
        self.check(reduce(self.pointer, OP_BY_NAME[op], *map(byref, arrays), byref(options(**chosen)), d_result))

    def reduce(self, op, array, **chosen):
        value = wf_value()
        self.check(
            library.wf_reduce(
                self.pointer, OP_BY_NAME[op], byref(array), byref(options(**chosen)), byref(value)
            )
        )
        return value_bits(value)

    def reduce_pair(self, op, a, b, **chosen):
        value = wf_value()
        self.check(
            library.wf_reduce_pair(
                self.pointer, OP_BY_NAME[op], byref(a), byref(b), byref(options(**chosen)), byref(value)
            )
        )
        return value_bits(value)

    def stats(self, array, **chosen):
        stats = wf_stats()
        self.check(
            library.wf_reduce_stats(self.pointer, byref(array), byref(options(**chosen)), byref(stats))
        )
        return stats_dict(stats)

    def accumulator(self, op, type_name, **chosen):
        pointer = c_void_p()
        self.check(
            library.wf_accumulator_create(
                self.pointer,
                OP_BY_NAME[op],
                TYPE_BY_NAME[type_name],
                byref(options(**chosen)),
                byref(pointer),
            )
        )
        return Accumulator(self, pointer)

    def load(self, saved):
        pointer = c_void_p()
        self.check(library.wf_accumulator_load(self.pointer, saved, len(saved), byref(pointer)))
        return Accumulator(self, pointer)


TIERS = ("scalar", "avx2", "avx512", "neon")


@functools.lru_cache
def tier_handle(tier):
    """A handle of the CPU's tier, or None where this machine does not have it."""
    try:
        return Handle(tier=tier)
    except WarpfoldError as error:
        assert error.code == "WF_ERROR_DEVICE"
        return None


def tier_handles():
    return [handle for handle in map(tier_handle, TIERS) if handle]


class Accumulator:
    """A wf_accumulator together with the handle that its calls use."""

    def __init__(self, handle, pointer):
        self.handle, self.pointer = handle, pointer

    def __del__(self):
        library.wf_accumulator_destroy(self.pointer)

    def add(self, array, threads=0):
        self.handle.check(
            library.wf_accumulator_add(self.handle.pointer, self.pointer, byref(array), threads)
        )

    def add_pair(self, a, b, threads=0):
        self.handle.check(
            library.wf_accumulator_add_pair(self.handle.pointer, self.pointer, byref(a), byref(b), threads)
        )

    def merge(self, other):
        self.handle.check(library.wf_accumulator_merge(self.handle.pointer, self.pointer, other.pointer))

    def result(self, op):
        value = wf_value()
        self.handle.check(
            library.wf_accumulator_result(self.handle.pointer, self.pointer, OP_BY_NAME[op], byref(value))
        )
        return value_bits(value)

    def stats(self):
        stats = wf_stats()
        self.handle.check(library.wf_accumulator_stats(self.handle.pointer, self.pointer, byref(stats)))
        return stats_dict(stats)

    @property
    def count(self):
        return library.wf_accumulator_count(self.pointer)

    def save(self):
        buffer = ctypes.create_string_buffer(WF_SAVED_NBYTES_MAX)
        nbytes = c_size_t()
        self.handle.check(
            library.wf_accumulator_save(self.handle.pointer, self.pointer, buffer, len(buffer), byref(nbytes))
        )
        return buffer.raw[: nbytes.value]
