"""What the compiled part asks of Python: lists, the kinds of arrays that results have, dtypes, streams.

Nothing is imported here that the caller has not imported: a library is found through the caller's own arrays.
"""

import contextlib
import struct
import sys
from array import array
from collections import namedtuple
from operator import index, sub

# Names of types in the library: (NumPy's and torch's name, code of the struct and array modules)
_TYPES = {
    "bool": ("bool", "?"),
    "i8": ("int8", "b"),
    "i16": ("int16", "h"),
    "i32": ("int32", "i"),
    "i64": ("int64", "q"),
    "u8": ("uint8", "B"),
    "u16": ("uint16", "H"),
    "u32": ("uint32", "I"),
    "u64": ("uint64", "Q"),
    "f16": ("float16", "e"),
    "bf16": ("bfloat16", ""),
    "f32": ("float32", "f"),
    "f64": ("float64", "d"),
}
_NAMES = {name: short for short, (name, _) in _TYPES.items()}
_NAMES.update({
    "?": "bool", "b1": "bool", "bool_": "bool", "i1": "i8", "i2": "i16", "i4": "i32", "i8": "i64", "u1": "u8",
    "u2": "u16", "u4": "u32", "u8": "u64", "f2": "f16", "f4": "f32", "f8": "f64", "f": "f32", "d": "f64",
    "int": "i64", "float": "f64", "half": "f16", "single": "f32", "double": "f64", "longlong": "i64",
    "ulonglong": "u64", "intp": "i64", "uintp": "u64",
})
_PYTHON_TYPES = {bool: "bool", int: "i64", float: "f64"}


class AxisError(ValueError, IndexError):
    """An axis that the array has not."""


Stats = namedtuple("Stats", "count nans sum mean var std min max argmin argmax nonzero norm1 norm2 norminf")
Stats.__doc__ = "What stats() gives: all of it from one pass."


def make_stats(values):
    return Stats._make(values)


def read_stats(accumulator):
    """The Stats of an Accumulator of stats that has a shape."""
    return Stats._make(accumulator.result({"nonzero": "count_nonzero"}.get(name, name)) for name in Stats._fields)


def type_name(dtype):
    """The library's name of a dtype: a name, a Python type, or an object of NumPy, torch or the like."""
    if dtype in _PYTHON_TYPES:
        return _PYTHON_TYPES[dtype]
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None) or getattr(dtype, "__name__", None)
    name = _NAMES.get(str(name or dtype).rpartition(".")[2])
    if name is None:
        raise TypeError(f"dtype {dtype!r} is not one of {', '.join(name for name, _ in _TYPES.values())}")
    return name


def dtype_name(name):
    """NumPy's name of the library's type."""
    return _TYPES[name][0]


# ---- numbers and lists


def _flatten(value):
    """The numbers of nested lists in C order, and the lists' shape."""
    shape, first = [], value
    while isinstance(first, (list, tuple, range)):
        shape.append(len(first))
        if not first:
            break
        first = first[0]
    if len(shape) > 64:
        raise ValueError("lists within lists: at most 64 dimensions are supported")
    flat = [value]
    for length in shape:
        for row in flat:
            if not isinstance(row, (list, tuple, range)) or len(row) != length:
                raise ValueError("the lists have different lengths: an array has rows of one length")
        flat = [item for row in flat for item in row]
    return flat, tuple(shape)


def read(value):
    """(elements, shape) of a number or of nested lists: all bool, all integers (int64, or uint64 where that is needed),
    or float64."""
    if type(value) is list and value and type(value[0]) in (float, int):  # the usual case, at once
        try:
            return array("d" if type(value[0]) is float else "q", value), (len(value),)
        except (TypeError, OverflowError):
            pass
    flat, shape = _flatten(value)
    types = set(map(type, flat))
    for kind in types:
        if hasattr(kind, "__len__") or not (hasattr(kind, "__float__") or hasattr(kind, "__index__")):
            raise TypeError(f"cannot reduce {kind.__name__}: pass an array, a number or nested lists of numbers")
    if types == {bool}:
        return memoryview(bytes(flat)).cast("?"), shape
    if types and all([hasattr(kind, "__index__") for kind in types]):
        try:
            return array("Q" if max(flat) >= 2**63 else "q", flat), shape
        except OverflowError:
            raise OverflowError("the integers of a list must be between -2**63 and 2**64 - 1, and fit in one of "
                                "int64 and uint64 together") from None
    return array("d", flat), shape


def _nest(flat, shape):
    if not shape:
        return flat[0]
    if 0 in shape:
        return [_nest(flat, shape[1:]) for _ in range(shape[0])]
    for length in reversed(shape[1:]):
        flat = [flat[i:i + length] for i in range(0, len(flat), length)]
    return list(flat)


def _decode(memory, kind):
    """The numbers whose bytes are in memory."""
    if kind == "bf16":
        return [struct.unpack("f", struct.pack("I", bits << 16))[0] for (bits,) in struct.iter_unpack("H", memory)]
    return [number for (number,) in struct.iter_unpack(_TYPES[kind][1], memory)]


def element(kind, number):
    """The bytes of a number as an element of that kind: one that an integer cannot hold is refused."""
    if kind == "bf16":
        bits = struct.unpack("I", struct.pack("f", number))[0]
        return struct.pack("H", (bits >> 16) + (bits >> 15 & 1 and (bits & 0x17fff) != 0) if number == number else 0x7fc0)
    code = _TYPES[kind][1]
    if code == "?" and number not in (0, 1):
        raise OverflowError(f"initial {number!r} is no bool, as the array's elements are: convert the array")
    try:
        return struct.pack(code, float(number) if code in "efd" else bool(number) if code == "?" else index(number))
    except struct.error:
        raise OverflowError(f"initial {number!r} is no {dtype_name(kind)}, as the array's elements are: convert the "
                            "array") from None


def _of_buffer(owner, memory, kind, shape):
    """An array for the owner of a buffer: array.array for its own kind, otherwise a memoryview."""
    code = _TYPES[kind][1]
    if isinstance(owner, array) and len(shape) == 1 and code in set("bhiqBHIQfd"):
        return array(code, bytes(memory))
    if code in ("", "e") or 0 in shape:
        return _nest(_decode(memory, kind), shape)
    return memoryview(memory).cast(code, shape)


def minus(a, b):
    """a - b, element by element, of two results of one shape that are integers of any kind."""
    if isinstance(a, list):
        return [minus(x, y) for x, y in zip(a, b)]
    if not isinstance(a, (memoryview, array)):
        return a - b
    view = memoryview(a)
    flat = array(view.format, map(sub, *(memoryview(each).cast("B").cast(view.format) for each in (a, b))))
    return flat if isinstance(a, array) else memoryview(flat).cast("B").cast(view.format, view.shape)


# ---- arrays of the caller's kind


def library_of(owner):
    """The caller's library, if it makes empty arrays into which results can be written."""
    name = type(owner).__module__.partition(".")[0]
    return sys.modules.get(name) if name in ("torch", "cupy") else None


def beside(owner, library):
    """In what arrays are made where the owner is: a context, and the words that name its place."""
    if library.__name__ == "torch":
        return contextlib.nullcontext(), {"device": owner.device}
    return (owner.device if hasattr(owner.device, "__enter__") else contextlib.nullcontext()), {}


def dtype_of(library, kind):
    name = _TYPES[kind][0]
    return getattr(library, name) if library.__name__ == "torch" else name


def _namespace(owner):
    """The array API's namespace of an array that cannot be written to, such as jax's."""
    return owner.__array_namespace__() if hasattr(owner, "__array_namespace__") else None


def narrowed(owner, kind):
    """The dtype of 32 bits of results that would have 64 where the owner's library has none of these, as jax unless it is
    told to; None: it has them."""
    inspect = None if library_of(owner) else getattr(_namespace(owner), "__array_namespace_info__", None)
    if inspect is None:
        return None
    default = inspect().default_dtypes()["real floating" if kind == "f64" else "integral"]  # quicker than all dtypes
    is_there = "64" in str(default) or _TYPES[kind][0] in inspect().dtypes()
    return None if is_there else _TYPES[f"{kind[0]}32"][0]


def is_immutable(owner):
    """Whether it is of a library whose arrays are never written to, whatever their DLPack says: jax."""
    return type(owner).__module__.partition(".")[0] in ("jax", "jaxlib")


def _is_numpy(owner):
    numpy = sys.modules.get("numpy")
    return numpy is not None and (isinstance(owner, (numpy.ndarray, numpy.generic)) or hasattr(owner, "__array__"))


def nbytes(kind):
    return 2 if kind == "bf16" else struct.calcsize(_TYPES[kind][1])


def as_element(kind, number):
    """The number as an element of that kind has it."""
    return _decode(element(kind, number), kind)[0]


def empty(owner, kind, shape):
    """What results for the owner are written to; see finish."""
    library = library_of(owner)
    if library:
        context, options = beside(owner, library)
        with context:
            return library.empty(shape, dtype=dtype_of(library, kind), **options)
    size = nbytes(kind)
    for length in shape:
        size *= length
    return bytearray(size)


def finish(owner, memory, kind, shape):
    """The array of the owner's kind that has these elements."""
    if library_of(owner):
        return memory
    if isinstance(owner, (list, tuple, range, int, float)):
        return _nest(_decode(memory, kind), shape)
    namespace = _namespace(owner)
    if namespace is not None or _is_numpy(owner):
        import numpy  # there already, or needed by the caller's library

        dtype = bfloat16(owner) if kind == "bf16" else _TYPES[kind][0]
        made = numpy.frombuffer(memory, dtype=dtype).reshape(shape)
        return made if namespace in (None, numpy) else namespace.asarray(made)
    if not shape:
        return _decode(memory, kind)[0]
    return _of_buffer(owner, memory, kind, shape)


def results(memory, kind, shape):
    """The array of these elements where no caller's array tells its kind."""
    numpy = sys.modules.get("numpy")
    if numpy is None or (kind == "bf16" and "ml_dtypes" not in sys.modules):
        return _nest(_decode(memory, kind), shape)
    return numpy.frombuffer(memory, bfloat16(None) if kind == "bf16" else _TYPES[kind][0]).reshape(shape)


def full(owner, kind, number):
    """An array of no dimensions beside the owner, in its GPU's memory."""
    library = library_of(owner)
    if not library:
        return number
    context, options = beside(owner, library)
    if library.__name__ == "torch":  # whose full() lacks some of the unsigned types
        return library.tensor(number, dtype=dtype_of(library, kind), **options)
    with context:
        return library.full((), number, dtype=dtype_of(library, kind), **options)


def status_word(owner):
    """Where a GPU leaves how a reduction went, as an array of one int32; None where results come to the host."""
    return full(owner, "i32", 0) if library_of(owner) else None


def has_failed(status):
    """Waits for the GPU."""
    return bool(status.item())


def bfloat16(owner):
    """NumPy's scalar type of bfloat16: the owner's, or ml_dtypes'."""
    if getattr(getattr(owner, "dtype", None), "name", None) == "bfloat16":
        return owner.dtype.type
    import ml_dtypes

    return ml_dtypes.bfloat16


# ---- GPUs


def stream(owner):
    """The stream on which the owner's elements will be ready, as an integer, and what keeps it alive."""
    library = library_of(owner)
    if library and library.__name__ == "torch":
        current = library.cuda.current_stream(owner.device)
        return current.cuda_stream, current
    if library:
        current = library.cuda.get_current_stream()
        return current.ptr, current
    return getattr(owner, "__cuda_array_interface__", {}).get("stream") or 0, None


def read_cuda(owner, interface):
    """(address, read-only, format, item size, shape, strides in bytes) of a CUDA array interface."""
    if interface.get("mask") is not None:
        raise TypeError("masked arrays are not supported, since their mask would be ignored")
    shape = tuple(interface["shape"])
    if len(shape) > 64:
        raise ValueError(f"the array has {len(shape)} dimensions; at most 64 are supported")
    order, letter, nbytes = interface["typestr"][0], interface["typestr"][1], int(interface["typestr"][2:])
    codes = {"b1": "?", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H", "u4": "I", "u8": "Q",
             "f2": "e", "f4": "f", "f8": "d"}
    code = codes.get(f"{letter}{nbytes}", letter + letter)  # two letters are no format
    strides = interface.get("strides")
    if strides is None:
        strides, step = [], nbytes
        for length in reversed(shape):
            strides.insert(0, step)
            step *= length
    address, is_read_only = interface["data"]
    return address, is_read_only, ("" if order == "|" else order) + code, nbytes, shape, tuple(strides)
