"""Exact, bit-reproducible reductions of arrays."""

import builtins
from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Literal, NamedTuple, Self, SupportsIndex

# Arrays of any library, numbers, nested lists; results are of the same kind.
_Array = Any
_Axis = SupportsIndex | tuple[SupportsIndex, ...] | None
_Index = SupportsIndex | None
_Nan = Literal["propagate", "omit", "error"] | None
_Threads = SupportsIndex | None
_Device = str | None
_Op = str

__version__: str
__all__: list[str]

class AxisError(ValueError, IndexError): ...

class Stats(NamedTuple):
    count: Any
    nans: Any
    sum: Any
    mean: Any
    var: Any
    std: Any
    min: Any
    max: Any
    argmin: Any
    argmax: Any
    nonzero: Any
    norm1: Any
    norm2: Any
    norminf: Any

def sum(
    a: _Array, axis: _Axis = ..., dtype: Any = ..., out: Any = ..., keepdims: bool = ..., *, initial: Any = ..., where:
    _Array = ..., nan: _Nan = ..., threads: _Threads = ..., device: _Device = ...,
) -> Any: ...
def prod(
    a: _Array, axis: _Axis = ..., dtype: Any = ..., out: Any = ..., keepdims: bool = ..., *, initial: Any = ..., where:
    _Array = ..., nan: _Nan = ..., threads: _Threads = ..., device: _Device = ...,
) -> Any: ...
def min(
    a: _Array, axis: _Axis = ..., out: Any = ..., keepdims: bool = ..., *, initial: Any = ..., where: _Array = ..., nan:
    _Nan = ..., threads: _Threads = ..., device: _Device = ...,
) -> Any: ...
def max(
    a: _Array, axis: _Axis = ..., out: Any = ..., keepdims: bool = ..., *, initial: Any = ..., where: _Array = ..., nan:
    _Nan = ..., threads: _Threads = ..., device: _Device = ...,
) -> Any: ...
def argmin(
    a: _Array, axis: _Axis = ..., out: Any = ..., *, keepdims: bool = ..., nan: _Nan = ..., threads:
    _Threads = ..., device: _Device = ...,
) -> Any: ...
def argmax(
    a: _Array, axis: _Axis = ..., out: Any = ..., *, keepdims: bool = ..., nan: _Nan = ..., threads:
    _Threads = ..., device: _Device = ...,
) -> Any: ...
def mean(
    a: _Array, axis: _Axis = ..., dtype: Any = ..., out: Any = ..., keepdims: bool = ..., *, where:
    _Array = ..., nan: _Nan = ..., threads: _Threads = ..., device: _Device = ...,
) -> Any: ...
def var(
    a: _Array, axis: _Axis = ..., dtype: Any = ..., out: Any = ..., ddof: float = ..., keepdims: bool =
    ..., *, where: _Array = ..., correction: float | None = ..., nan: _Nan = ..., threads: _Threads =
    ..., device: _Device = ...,
) -> Any: ...
def std(
    a: _Array, axis: _Axis = ..., dtype: Any = ..., out: Any = ..., ddof: float = ..., keepdims: bool =
    ..., *, where: _Array = ..., correction: float | None = ..., nan: _Nan = ..., threads: _Threads =
    ..., device: _Device = ...,
) -> Any: ...
def any(
    a: _Array, axis: _Axis = ..., out: Any = ..., keepdims: bool = ..., *, where: _Array = ..., nan:
    _Nan = ..., threads: _Threads = ..., device: _Device = ...,
) -> Any: ...
def all(
    a: _Array, axis: _Axis = ..., out: Any = ..., keepdims: bool = ..., *, where: _Array = ..., nan:
    _Nan = ..., threads: _Threads = ..., device: _Device = ...,
) -> Any: ...
def count_nonzero(
    a: _Array, axis: _Axis = ..., *, keepdims: bool = ..., where: _Array = ..., nan: _Nan = ...,
    threads: _Threads = ..., device: _Device = ...,
) -> Any: ...
def norm(
    a: _Array, ord: float = ..., axis: _Axis = ..., keepdims: bool = ..., *, dtype: Any = ..., out: Any
    = ..., where: _Array = ..., nan: _Nan = ..., threads: _Threads = ..., device: _Device = ...,
) -> Any: ...
def vecdot(
    a: _Array, b: _Array, /, *, axis: _Axis = ..., dtype: Any = ..., out: Any = ..., nan: _Nan = ...,
    threads: _Threads = ..., device: _Device = ...,
) -> Any: ...
def nansum(
    a: _Array, axis: _Axis = ..., dtype: Any = ..., out: Any = ..., keepdims: bool = ..., *, initial: Any = ..., where:
    _Array = ..., nan: _Nan = ..., threads: _Threads = ..., device: _Device = ...,
) -> Any: ...
def nanprod(
    a: _Array, axis: _Axis = ..., dtype: Any = ..., out: Any = ..., keepdims: bool = ..., *, initial: Any = ..., where:
    _Array = ..., nan: _Nan = ..., threads: _Threads = ..., device: _Device = ...,
) -> Any: ...
def nanmin(
    a: _Array, axis: _Axis = ..., out: Any = ..., keepdims: bool = ..., *, initial: Any = ..., where: _Array = ..., nan:
    _Nan = ..., threads: _Threads = ..., device: _Device = ...,
) -> Any: ...
def nanmax(
    a: _Array, axis: _Axis = ..., out: Any = ..., keepdims: bool = ..., *, initial: Any = ..., where: _Array = ..., nan:
    _Nan = ..., threads: _Threads = ..., device: _Device = ...,
) -> Any: ...
def nanargmin(
    a: _Array, axis: _Axis = ..., out: Any = ..., *, keepdims: bool = ..., nan: _Nan = ..., threads:
    _Threads = ..., device: _Device = ...,
) -> Any: ...
def nanargmax(
    a: _Array, axis: _Axis = ..., out: Any = ..., *, keepdims: bool = ..., nan: _Nan = ..., threads:
    _Threads = ..., device: _Device = ...,
) -> Any: ...
def nanmean(
    a: _Array, axis: _Axis = ..., dtype: Any = ..., out: Any = ..., keepdims: bool = ..., *, where:
    _Array = ..., nan: _Nan = ..., threads: _Threads = ..., device: _Device = ...,
) -> Any: ...
def nanvar(
    a: _Array, axis: _Axis = ..., dtype: Any = ..., out: Any = ..., ddof: float = ..., keepdims: bool =
    ..., *, where: _Array = ..., correction: float | None = ..., nan: _Nan = ..., threads: _Threads =
    ..., device: _Device = ...,
) -> Any: ...
def nanstd(
    a: _Array, axis: _Axis = ..., dtype: Any = ..., out: Any = ..., ddof: float = ..., keepdims: bool =
    ..., *, where: _Array = ..., correction: float | None = ..., nan: _Nan = ..., threads: _Threads =
    ..., device: _Device = ...,
) -> Any: ...
def stats(
    a: _Array, axis: _Axis = ..., *, keepdims: bool = ..., where: _Array = ..., dtype: Any = ..., ddof: float | None = ...,
    correction: float | None = ..., nan: _Nan = ..., threads: _Threads = ..., device: _Device = ...,
) -> Stats: ...
def segment_stats(
    data: _Array, ids: _Array, num_segments: SupportsIndex | None = ..., *, axis: SupportsIndex = ..., dtype: Any = ...,
    nan: _Nan = ..., ddof: float | None = ..., fill: float | None = ..., skip_bad_keys: bool = ...,
    threads: _Threads = ..., device: _Device = ...,
) -> Stats: ...
def quantile(
    a: _Array, q: Any, axis: _Axis = ..., *, method: Literal["linear", "lower", "higher", "nearest", "midpoint"] = ...,
    keepdims: bool = ..., dtype: Any = ..., nan: _Nan = ..., threads: _Threads = ..., device: _Device = ...,
) -> Any: ...
def median(
    a: _Array, axis: _Axis = ..., *, keepdims: bool = ..., dtype: Any = ..., nan: _Nan = ..., threads: _Threads = ...,
    device: _Device = ...,
) -> Any: ...

class _Segment:
    def __call__(
        self, data: _Array, ids: _Array, num_segments: SupportsIndex | None = ..., *, axis: SupportsIndex = ...,
        dtype: Any = ..., nan: _Nan = ..., ddof: float = ..., fill: float | None = ..., skip_bad_keys: bool = ...,
        out: Any = ..., threads: _Threads = ..., device: _Device = ...,
    ) -> Any: ...

segment_sum: _Segment
segment_prod: _Segment
segment_min: _Segment
segment_max: _Segment
segment_argmin: _Segment
segment_argmax: _Segment
segment_mean: _Segment
segment_var: _Segment
segment_std: _Segment
segment_any: _Segment
segment_all: _Segment
segment_count_nonzero: _Segment

def segment_norm(
    data: _Array, ids: _Array, num_segments: SupportsIndex | None = ..., *, ord: float = ..., axis: SupportsIndex = ...,
    dtype: Any = ..., nan: _Nan = ..., fill: float | None = ..., skip_bad_keys: bool = ..., out: Any = ...,
    threads: _Threads = ..., device: _Device = ...,
) -> Any: ...
def bincount(
    x: _Array, weights: _Array = ..., minlength: int = ..., *, threads: _Threads = ..., device: _Device = ...,
) -> Any: ...
def reduceat(
    op: _Op, a: _Array, indices: _Array, axis: SupportsIndex = ..., *, dtype: Any = ..., out: Any = ..., nan: _Nan = ...,
    ddof: float | None = ..., fill: float | None = ..., threads: _Threads = ..., device: _Device = ...,
) -> Any: ...
def index_add(
    a: _Array, dim: int, index: Sequence[int] | Any, source: _Array, *, threads: _Threads = ..., device: _Device = ...,
) -> Any: ...

class Accumulator:
    op: str
    dtype: str
    shape: tuple[int, ...]
    count: int
    def __new__(
        cls, op: _Op, dtype: Any = ..., shape: int | Sequence[int] = ..., *, ddof: float = ...,
        correction: float | None = ..., nan: _Nan = ..., first_index: int = ..., fill: float | None = ...,
        skip_bad_keys: bool = ...,
    ) -> Self: ...
    def update(
        self, a: _Array, b: _Array = ..., *, axis: _Axis = ..., ids: _Array = ..., threads: _Threads = ...,
        device: _Device = ...,
    ) -> Self: ...
    def merge(self, other: Accumulator, /) -> Self: ...
    def subtract(self, other: Accumulator, /) -> Self: ...
    def result(self, op: _Op | None = ...) -> Any: ...
    def bytes(self) -> builtins.bytes: ...
    def __bytes__(self) -> builtins.bytes: ...
    @classmethod
    def from_bytes(cls, saved: Any, /) -> Self: ...
    def word_settings(self) -> int: ...
    def words(self) -> tuple[memoryview, memoryview]: ...
    def index_words(self, largest: Any, /) -> memoryview: ...
    def take_words(self, added: Any, largest: Any, indices: Any = ..., /) -> Self: ...
    def device_word_counts(self) -> tuple[int, int, int]: ...
    def device_words(
        self, a: Any, words: Any, first_index: int = ..., joins: bool = ..., axis: Any = ..., ids: Any = ..., /
    ) -> Any: ...
    def device_settle(self, words: Any, own: Any, /) -> Any: ...
    def device_result(self, words: Any, /) -> Any: ...
    def copy(self) -> Self: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: Any, /) -> Self: ...
    def __add__(self, other: Accumulator, /) -> Accumulator: ...
    def __iadd__(self, other: Accumulator, /) -> Self: ...
    def __sub__(self, other: Accumulator, /) -> Accumulator: ...
    def __isub__(self, other: Accumulator, /) -> Self: ...

class Rolling:
    window: int
    op: str
    def __init__(
        self, window: int, op: _Op, *, ddof: float = ..., nan: _Nan = ..., threads: _Threads = ...,
    ) -> None: ...
    def update(self, a: _Array) -> Any: ...

class KernelRun:
    kernel: str
    counts: dict[str, float]
    findings: list[Any]
    advice: list[Any]
    lines: list[Any]
    printed: str
    stopped: bool
    report: dict[str, Any]
    page: str
    def _repr_html_(self) -> str: ...

def all_reduce(
    accumulator: Accumulator | BaseException, add: Callable[[memoryview], Any], largest: Callable[[memoryview], Any],
) -> Accumulator: ...
def run_kernel(
    source: str | PathLike[str], grid: int | Sequence[int] = ..., block: int | Sequence[int] = ...,
    args: Sequence[Any] = ..., *, kernel: str | None = ..., shared: int = ..., cluster: int | Sequence[int] | None = ...,
    schedule: str = ..., limit: int | None = ..., warp: int = ..., banks: int = ...,
) -> KernelRun: ...
