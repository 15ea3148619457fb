"""include/warpfold.h by ctypes: the same names, structures and signatures, with two small classes on top.

The library is $WARPFOLD_LIB, or build/libwarpfold.so of this tree.
"""

import contextlib
import ctypes
import functools
import math
import os
import re
from ctypes import CFUNCTYPE, POINTER, Structure, Union, byref
from ctypes import c_char, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_size_t, c_uint16, c_uint32
from ctypes import c_uint64
from ctypes import c_void_p
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LIBRARY_PATH = os.environ.get("WARPFOLD_LIB", str(ROOT / "build" / "libwarpfold.so"))

# ---- enumerations: the header's; tests/golden/abi.txt has their numbers once more ---------------------

HEADER = re.sub(r"/\*.*?\*/", "", (ROOT / "include" / "warpfold.h").read_text(), flags=re.DOTALL)


def _names(enumeration):
    """The names of wf_<enumeration>, numbered from 0; its numbers become attributes of this module."""
    body = re.search(rf"typedef enum wf_{enumeration} {{(.*?)}}", HEADER, re.DOTALL)[1]
    numbers = {name: int(number) for name, number in re.findall(r"(WF_\w+) = (\d+)", body)}
    assert list(numbers.values()) == list(range(len(numbers))), f"wf_{enumeration} does not count up from 0, line by line"
    globals().update(numbers)
    return tuple(numbers)


ERRORS, TYPES, OPS, NANS = map(_names, ("error", "type", "op", "nan"))
FORMATS, BYTE_ORDERS, MISSING, GROUPINGS = map(_names, ("format", "byte_order", "missing", "grouping"))
BETWEENS = _names("between")

WF_NDIM_MAX = 64
WF_NO_INDEX = 2**64 - 1
WF_SAVED_NBYTES_MAX = 16384

# The names of the command line: "f32" -> WF_F32, "norm2" -> WF_NORM2.
TYPE_BY_NAME = {name[3:].lower(): value for value, name in enumerate(TYPES) if value}
OP_BY_NAME = {name[3:].lower(): value for value, name in enumerate(OPS) if value}
NAN_BY_NAME = {"propagate": 0, "omit": 1, "error": 2}
TYPE_NAME = {value: name for name, value in TYPE_BY_NAME.items()}

# ---- structures ------------------------------------------------------------------------------------


class wf_value_union(Union):
    _fields_ = [("i", c_int64), ("u", c_uint64), ("f64", c_double), ("f32", c_float), ("f16", c_uint16)]


class wf_value(Structure):
    _fields_ = [("type", c_int), ("v", wf_value_union)]


class wf_array(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("type", c_int),
        ("ndim", c_int32),
        ("shape", POINTER(c_int64)),
        ("stride_bytes", POINTER(c_int64)),
        ("count", c_int64),
    ]


class wf_reduction(Structure):
    _fields_ = [
        ("nbytes", c_size_t),
        ("op", c_int),
        ("nan", c_int),
        ("ddof", c_int64),
        ("first_index", c_int64),
        ("fill", POINTER(wf_value)),
        ("flags", c_uint32),
        ("result_type", c_int),
    ]


class wf_groups(Structure):
    _fields_ = [
        ("by", c_int),
        ("axes", c_uint64),
        ("axis", c_int32),
        ("count", c_int64),
        ("labels", POINTER(wf_array)),
    ]


class wf_output(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("type", c_int),
        ("ndim", c_int32),
        ("shape", POINTER(c_int64)),
        ("stride_bytes", POINTER(c_int64)),
        ("status", c_void_p),
    ]


class device_result(Structure):
    """A result and its status, one behind the other in device memory, as the tests lay them."""

    _fields_ = [("bits", c_uint64), ("status", c_int32), ("padding", c_int32)]


class wf_stats(Structure):
    _fields_ = [("nbytes", c_size_t), ("count", c_uint64), ("nans", c_uint64)] + [
        (name, wf_value)
        for name in "sum mean var std min max argmin argmax nonzero norm1 norm2 norminf".split()
    ]


wf_progress = CFUNCTYPE(None, c_void_p, c_int64, c_int64)


class wf_reader_options(Structure):
    _fields_ = [
        ("nbytes", c_size_t),
        ("format", c_int),
        ("type", c_int),
        ("column_name", c_char_p),
        ("column", c_int64),
        ("skip_lines", c_int64),
        ("has_header", c_int32),
        ("delimiter", c_char),
        ("progress", wf_progress),
        ("progress_user", c_void_p),
        ("missing", c_int),
        ("byte_order", c_int),
    ]


class wf_word_counts(Structure):
    _fields_ = [("added", c_int64), ("largest", c_int64), ("indices", c_int64), ("settings", c_uint64)]


class wf_device_words(Structure):
    _fields_ = [("nbytes", c_size_t), ("added", c_void_p), ("largest", c_void_p), ("indices", c_void_p), ("agreed", c_void_p)]


class wf_quantiles(Structure):
    _fields_ = [
        ("nbytes", c_size_t),
        ("q", POINTER(c_double)),
        ("count", c_int64),
        ("between", c_int),
        ("nan", c_int),
        ("result_type", c_int),
    ]


class wf_histogram(Structure):
    _fields_ = [("nbytes", c_size_t), ("edges", POINTER(c_double)), ("edge_count", c_int64), ("nan", c_int)]


STRUCTURES = (wf_value, wf_array, wf_reduction, wf_groups, wf_output, wf_stats, wf_reader_options, wf_word_counts,
              wf_quantiles, wf_histogram)

# ---- functions -------------------------------------------------------------------------------------

_handle = _accumulator = _reader = c_void_p
_array, _reduction, _value = POINTER(wf_array), POINTER(wf_reduction), POINTER(wf_value)
_groups, _output = POINTER(wf_groups), POINTER(wf_output)
_f64, _f32, _i64 = POINTER(c_double), POINTER(c_float), POINTER(c_int64)

FUNCTIONS = {
    "wf_version": (c_char_p, []),
    "wf_version_number": (c_int32, []),
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
    "wf_array_nd": (wf_array, [c_void_p, c_int, c_int32, POINTER(c_int64), POINTER(c_int64)]),
    "wf_groups_axes": (wf_groups, [c_uint64]),
    "wf_groups_segments": (wf_groups, [c_int32, c_int64, _array]),
    "wf_groups_keys": (wf_groups, [c_int32, c_int64, _array]),
    "wf_handle_create": (c_int, [c_char_p, POINTER(_handle)]),
    "wf_handle_destroy": (None, [_handle]),
    "wf_handle_set_threads": (c_int, [_handle, c_int32]),
    "wf_handle_message": (c_char_p, [_handle]),
    "wf_handle_fail": (c_int, [_handle, c_int, c_char_p]),
    "wf_handle_device": (c_char_p, [_handle]),
    "wf_handle_plan": (c_char_p, [_handle]),
    "wf_device_describe": (c_int, [c_char_p, c_char_p, c_size_t]),
    "wf_gpu_count": (c_int32, []),
    "wf_handle_set_stream": (c_int, [_handle, c_void_p]),
    "wf_reduce": (c_int, [_handle, _reduction, _array, _array, _groups, _output]),
    "wf_reduce_value": (c_int, [_handle, _reduction, _array, _array, _value]),
    "wf_groups_shape": (c_int, [_array, _groups, POINTER(c_int32), POINTER(c_int64)]),
    "wf_reduce_stats": (c_int, [_handle, _reduction, _array, POINTER(wf_stats)]),
    "wf_accumulator_create": (
        c_int,
        [_handle, _reduction, c_int, c_int32, POINTER(c_int64), POINTER(_accumulator)],
    ),
    "wf_accumulator_destroy": (None, [_accumulator]),
    "wf_accumulator_add": (c_int, [_handle, _accumulator, _array, _array, _groups]),
    "wf_accumulator_merge": (c_int, [_handle, _accumulator, _accumulator]),
    "wf_accumulator_subtract": (c_int, [_handle, _accumulator, _accumulator]),
    "wf_accumulator_result": (c_int, [_handle, _accumulator, c_int, _output]),
    "wf_accumulator_value": (c_int, [_handle, _accumulator, c_int, _value]),
    "wf_accumulator_stats": (c_int, [_handle, _accumulator, POINTER(wf_stats)]),
    "wf_accumulator_counts": (c_int, [_handle, _accumulator, _output, _output]),
    "wf_accumulator_op": (c_int, [_accumulator]),
    "wf_accumulator_type": (c_int, [_accumulator]),
    "wf_accumulator_count": (c_int64, [_accumulator]),
    "wf_accumulator_op_result_type": (c_int, [_accumulator, c_int]),
    "wf_accumulator_shape": (c_int, [_accumulator, POINTER(c_int32), POINTER(c_int64)]),
    "wf_accumulator_save": (c_int, [_handle, _accumulator, c_void_p, c_size_t, POINTER(c_size_t)]),
    "wf_accumulator_load": (c_int, [_handle, c_void_p, c_size_t, POINTER(_accumulator)]),
    "wf_accumulator_append": (c_int, [_handle, _accumulator, _accumulator]),
    "wf_accumulator_swap": (c_int, [_handle, _accumulator, _accumulator]),
    "wf_accumulator_move": (c_int, [_handle, _accumulator, c_int64]),
    "wf_accumulator_word_counts": (c_int, [_handle, _accumulator, POINTER(wf_word_counts)]),
    "wf_accumulator_words": (c_int, [_handle, _accumulator, _i64, _i64]),
    "wf_accumulator_index_words": (c_int, [_handle, _accumulator, _i64, _i64]),
    "wf_accumulator_from_words": (c_int, [_handle, _accumulator, _i64, _i64, _i64]),
    "wf_device_words_of": (
        c_int,
        [_handle, _accumulator, c_int64, POINTER(wf_array), POINTER(wf_array), POINTER(wf_device_words), c_int32],
    ),
    "wf_device_words_of_groups": (
        c_int,
        [_handle, _accumulator, c_int64, POINTER(wf_array), POINTER(wf_array), POINTER(wf_groups), POINTER(wf_device_words),
         c_int32],
    ),
    "wf_device_words_settle": (c_int, [_handle, _accumulator, POINTER(wf_device_words), c_void_p]),
    "wf_device_words_result": (c_int, [_handle, _accumulator, POINTER(wf_device_words), POINTER(wf_output)]),
    "wf_reader_open": (
        c_int,
        [_handle, POINTER(c_char_p), c_size_t, POINTER(wf_reader_options), POINTER(_reader)],
    ),
    "wf_reader_close": (None, [_reader]),
    "wf_reader_type": (c_int, [_reader]),
    "wf_reader_shape": (c_int, [_handle, _reader, POINTER(c_int32), POINTER(c_int64), POINTER(c_int64)]),
    "wf_reader_count": (c_int64, [_reader]),
    "wf_reader_select": (c_int, [_handle, _reader, c_int64, c_int64]),
    "wf_reader_next": (c_int, [_handle, _reader, c_int64, _array]),
    "wf_accumulator_add_reader": (c_int, [_handle, _accumulator, _reader, _reader]),
    "wf_quantiles_result_type": (c_int, [POINTER(wf_quantiles), c_int]),
    "wf_quantile": (c_int, [_handle, POINTER(wf_quantiles), _array, _groups, _output]),
    "wf_quantile_reader": (c_int, [_handle, POINTER(wf_quantiles), _reader, _value]),
    "wf_count_distinct": (c_int, [_handle, c_int, _array, _i64]),
    "wf_count_distinct_reader": (c_int, [_handle, c_int, _reader, _i64]),
    "wf_count_bins": (c_int, [_handle, POINTER(wf_histogram), _array, _f64, _i64]),
    "wf_count_bins_reader": (c_int, [_handle, POINTER(wf_histogram), _reader, _f64, _i64]),
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


def reduction(op="sum", nan="propagate", result_type=None, ddof=0, first_index=0, fill=None):
    return wf_reduction(
        nbytes=ctypes.sizeof(wf_reduction),
        op=OP_BY_NAME[op] if isinstance(op, str) else op,
        nan=NAN_BY_NAME[nan],
        result_type=TYPE_BY_NAME[result_type] if result_type else 0,
        ddof=ddof,
        first_index=first_index,
        fill=fill and ctypes.pointer(fill),
    )


def new_stats():
    return wf_stats(nbytes=ctypes.sizeof(wf_stats))


def value_of_bits(type_number, bits):
    """A wf_value of the type whose lowest bytes are bits."""
    value = wf_value(type=type_number)
    value.v.u = bits
    if TYPE_NAME[type_number] in ("i8", "i16", "i32"):
        width = 8 * library.wf_type_nbytes(type_number)
        value.v.i = (bits & (2**width - 1)) - (bits >> (width - 1) & 1) * 2**width
    return value


def value_bits(value):
    """(type, bits) of a wf_value, the bits as wide as the type; integers as themselves."""
    name = TYPE_NAME.get(value.type)
    union = value.v
    if name in ("i8", "i16", "i32", "i64"):
        return name, union.i
    if name == "f32":
        return name, union.u & 0xFFFFFFFF
    if name in ("f16", "bf16"):
        return name, union.f16
    return name, union.u if name else None


def values_of(memory, type_number):
    """(type, bits) of each of the values that lie side by side."""
    name, code = TYPE_NAME[type_number], {1: "b", 2: "h", 4: "i", 8: "q"}[library.wf_type_nbytes(type_number)]
    is_signed = name in ("i8", "i16", "i32", "i64")
    return [(name, bits) for bits in memoryview(memory).cast(code if is_signed else code.upper())]


def stats_dict(stats):
    """A wf_stats as {"count": n, "nans": n, "sum": (type, bits), ...}; (None, None) where there is none."""
    whole = {"count": stats.count, "nans": stats.nans}
    for name, field in wf_stats._fields_[3:]:
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
    array = array_nd(address + offset, type_name, shape, stride_bytes)
    array.owner = buffer
    return array


def array_nd(address, type_name, shape, stride_bytes=None):
    """wf_array_nd, with the lengths and strides kept alive by the array."""
    lengths = (c_int64 * len(shape))(*shape)
    strides = None if stride_bytes is None else (c_int64 * len(shape))(*stride_bytes)
    array = library.wf_array_nd(address, TYPE_BY_NAME[type_name], len(shape), lengths, strides)
    array.kept = (lengths, strides)
    return array


def groups_shape(array, groups):
    ndim, shape = c_int32(), (c_int64 * WF_NDIM_MAX)()
    code = library.wf_groups_shape(byref(array), byref(groups), byref(ndim), shape)
    if code:
        raise WarpfoldError(code, "")
    return tuple(shape[:ndim.value])


def device_text(name):
    """What warpfold says of a device: "cpu", "cuda:0"."""
    text = ctypes.create_string_buffer(512)
    library.wf_device_describe(name.encode(), text, len(text))
    return text.value.decode()


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

    def set_threads(self, threads):
        self.check(library.wf_handle_set_threads(self.pointer, threads))

    def reduce_on_device(self, op, d_result, *arrays, **chosen):
        """Leaves a device_result in device memory; of dot, two arrays."""
        output = wf_output(data=d_result, status=d_result + device_result.status.offset)
        a, b = (*map(byref, arrays), None)[:2]
        self.check(library.wf_reduce(self.pointer, byref(reduction(op, **chosen)), a, b, None, byref(output)))

    def reduce(self, op, a, b=None, threads=0, **chosen):
        value = wf_value()
        self.set_threads(threads)
        self.check(
            library.wf_reduce_value(
                self.pointer, byref(reduction(op, **chosen)), byref(a), b and byref(b), byref(value)
            )
        )
        return value_bits(value)

    reduce_pair = reduce

    def reduce_groups(self, op, groups, a, b=None, **chosen):
        """The results' bits, in C order."""
        return values_of(*self.reduced_groups(op, groups, a, b, **chosen))

    def reduced_groups(self, op, groups, a, b=None, threads=0, fill=None, flags=0, **chosen):
        """The results' bytes, and the number of their type."""
        asked = reduction(op, **chosen)
        asked.flags = flags
        asked.fill = fill and ctypes.pointer(fill)
        shape = groups_shape(a, groups)
        type_number = asked.result_type or library.wf_op_result_type(asked.op, a.type)
        nbytes, count = library.wf_type_nbytes(type_number), math.prod(shape)
        memory = bytearray(nbytes * count)
        output = wf_output(data=_address(memory)[1], type=type_number, ndim=len(shape), shape=(c_int64 * len(shape))(*shape))
        self.set_threads(threads)
        self.check(library.wf_reduce(
            self.pointer, byref(asked), byref(a), b and byref(b), byref(groups), byref(output)))
        return memory, type_number

    def stats(self, array, threads=0, **chosen):
        stats = new_stats()
        self.set_threads(threads)
        self.check(
            library.wf_reduce_stats(self.pointer, byref(reduction("stats", **chosen)), byref(array), byref(stats))
        )
        return stats_dict(stats)

    def accumulator(self, op, type_name, shape=(), fill=None, flags=0, **chosen):
        pointer = c_void_p()
        asked = reduction(op, **chosen)
        asked.flags = flags
        asked.fill = fill and ctypes.pointer(fill)
        lengths = (c_int64 * len(shape))(*shape) if shape else None
        self.check(
            library.wf_accumulator_create(
                self.pointer, byref(asked), TYPE_BY_NAME[type_name], len(shape), lengths, byref(pointer)
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

    def add(self, a, threads=0, b=None, groups=None):
        self.handle.set_threads(threads)
        self.handle.check(
            library.wf_accumulator_add(
                self.handle.pointer, self.pointer, byref(a), b and byref(b), groups and byref(groups)
            )
        )

    def add_pair(self, a, b, threads=0):
        self.add(a, threads, b)

    def merge(self, other):
        self.handle.check(library.wf_accumulator_merge(self.handle.pointer, self.pointer, other.pointer))

    def subtract(self, other):
        self.handle.check(library.wf_accumulator_subtract(self.handle.pointer, self.pointer, other.pointer))

    def append(self, other):
        self.handle.check(library.wf_accumulator_append(self.handle.pointer, self.pointer, other.pointer))

    def swap(self, other):
        self.handle.check(library.wf_accumulator_swap(self.handle.pointer, self.pointer, other.pointer))

    def move(self, first_index):
        self.handle.check(library.wf_accumulator_move(self.handle.pointer, self.pointer, first_index))

    def word_counts(self):
        counts = wf_word_counts()
        self.handle.check(library.wf_accumulator_word_counts(self.handle.pointer, self.pointer, byref(counts)))
        return counts

    def words(self):
        """Those to be added, and those of which the largest is taken."""
        counts = self.word_counts()
        added, largest = (c_int64 * counts.added)(), (c_int64 * counts.largest)()
        self.handle.check(library.wf_accumulator_words(self.handle.pointer, self.pointer, added, largest))
        return list(added), list(largest)

    def index_words(self, largest):
        indices = (c_int64 * self.word_counts().indices)()
        taken = (c_int64 * len(largest))(*largest)
        self.handle.check(library.wf_accumulator_index_words(self.handle.pointer, self.pointer, taken, indices))
        return list(indices)

    def from_words(self, *words):
        taken = [(c_int64 * len(each))(*each) for each in words]
        self.handle.check(library.wf_accumulator_from_words(self.handle.pointer, self.pointer, *taken))

    def device_words_of(self, words, first_index, a, b=None, joins=False):
        self.handle.check(library.wf_device_words_of(self.handle.pointer, self.pointer, first_index, byref(a), b and byref(b),
                                                     byref(words), joins))

    def device_words_of_groups(self, words, first_index, groups, a, b=None, joins=False):
        self.handle.check(library.wf_device_words_of_groups(self.handle.pointer, self.pointer, first_index, byref(a),
                                                            b and byref(b), byref(groups), byref(words), joins))

    def device_words_settle(self, words, own):
        self.handle.check(library.wf_device_words_settle(self.handle.pointer, self.pointer, byref(words), own))

    def device_words_result(self, words, d_result):
        output = wf_output(data=d_result, status=d_result + device_result.status.offset)
        self.handle.check(library.wf_device_words_result(self.handle.pointer, self.pointer, byref(words), byref(output)))

    def device_words_results(self, words, d_results, d_status, stride_bytes=None):
        shape = self.shape
        output = wf_output(data=d_results, status=d_status, ndim=len(shape), shape=(c_int64 * len(shape))(*shape),
                           stride_bytes=stride_bytes and (c_int64 * len(shape))(*stride_bytes))
        self.handle.check(library.wf_device_words_result(self.handle.pointer, self.pointer, byref(words), byref(output)))

    @property
    def shape(self):
        ndim, shape = c_int32(), (c_int64 * WF_NDIM_MAX)()
        self.handle.check(library.wf_accumulator_shape(self.pointer, byref(ndim), shape))
        return tuple(shape[:ndim.value])

    def results(self, op):
        """The bits of every result, in C order."""
        shape = self.shape
        type_number = library.wf_accumulator_op_result_type(self.pointer, OP_BY_NAME[op])
        memory = bytearray(library.wf_type_nbytes(type_number) * math.prod(shape))
        output = wf_output(data=_address(memory)[1], type=type_number, ndim=len(shape), shape=(c_int64 * len(shape))(*shape))
        self.handle.check(
            library.wf_accumulator_result(self.handle.pointer, self.pointer, OP_BY_NAME[op], byref(output))
        )
        return values_of(memory, type_number) if type_number else []

    def counts(self):
        """Of each result the elements and the NaNs, in C order."""
        shape = self.shape
        counts = [(c_int64 * math.prod(shape))() for _ in range(2)]
        outputs = [wf_output(data=ctypes.addressof(memory), ndim=len(shape), shape=(c_int64 * len(shape))(*shape))
                   for memory in counts]
        self.handle.check(library.wf_accumulator_counts(self.handle.pointer, self.pointer, *map(byref, outputs)))
        return [list(memory) for memory in counts]

    def result(self, op):
        value = wf_value()
        self.handle.check(
            library.wf_accumulator_value(self.handle.pointer, self.pointer, OP_BY_NAME[op], byref(value))
        )
        return value_bits(value)

    def stats(self):
        stats = new_stats()
        self.handle.check(library.wf_accumulator_stats(self.handle.pointer, self.pointer, byref(stats)))
        return stats_dict(stats)

    @property
    def count(self):
        return library.wf_accumulator_count(self.pointer)

    def save(self):
        nbytes = c_size_t()
        library.wf_accumulator_save(self.handle.pointer, self.pointer, None, 0, byref(nbytes))
        buffer = ctypes.create_string_buffer(max(nbytes.value, 1))
        self.handle.check(
            library.wf_accumulator_save(self.handle.pointer, self.pointer, buffer, len(buffer), byref(nbytes))
        )
        return buffer.raw[: nbytes.value]
