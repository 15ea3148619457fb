"""For torch: sums that change with every run on a GPU, exact instead: usable where deterministic algorithms are required.

Each takes and returns torch's tensors, on any device, and gives the same bits on every one of them, in any order of the
rows.  torch.use_deterministic_algorithms(True) concerns torch's own operations; none of those that it refuses or slows
down is used here.  No gradients flow through these functions.

>>> import torch, warpfold.torch as wft  # doctest: +SKIP
>>> wft.index_add(torch.zeros(2), 0, torch.tensor([1, 1, 1]), torch.tensor([1e30, 1.0, -1e30]))  # doctest: +SKIP
tensor([0., 1.])
"""

import math
import sys

from warpfold import _core, _ranks

__all__ = ["all_reduce", "all_reduce_array", "all_reduce_value", "grad_norm", "index_add", "scatter_add"]


def _library(tensor):
    return sys.modules[type(tensor).__module__.partition(".")[0]]


def _plain(tensor):
    return tensor.detach() if hasattr(tensor, "detach") else tensor


def index_add(input, dim, index, source):
    """torch.index_add: a new tensor, input with the slices of source added along dim where index says.

    Each element is the exact sum of all that comes together there, rounded once to input's dtype.  index: a vector of
    integers, one for each slice of source; IndexError where one is out of range.
    """
    input, source = _plain(input), _plain(source)
    library = _library(input)
    rows = library.arange(input.shape[dim], dtype=index.dtype, device=index.device)
    joined = library.cat([input, source], dim)
    return _core.reduce_by_labels("sum", joined, "keys", library.cat([rows, index]), axis=dim, count=input.shape[dim],
                                  dtype=str(input.dtype))


def scatter_add(input, dim, index, src):
    """torch.scatter_add: a new tensor, input with each src[i][j]... added where index[i][j]... says along dim.

    index may be smaller than input and src, as torch's.  Each element is the exact sum of all that comes together there,
    rounded once to input's dtype.
    """
    input, src = _plain(input), _plain(src)
    library, length = _library(input), input.shape[dim]
    within = tuple(slice(0, n) for n in index.shape)
    if index.numel() and (int(_core.min(index)) < 0 or int(_core.max(index)) >= length):
        raise IndexError(f"scatter_add: an index is not one of 0 to {length - 1}")
    places = library.arange(input.numel(), device=input.device).reshape(input.shape)
    step = 1
    for n in input.shape[dim % input.dim() + 1:]:
        step *= n
    # The place of what index says: that of the same position in the first slice along dim, and so many slices on.
    first = places.narrow(dim, 0, 1)[tuple(slice(0, n if d != dim % input.dim() else 1)
                                           for d, n in enumerate(index.shape))]
    to = (first + index * step).reshape(-1)
    joined = library.cat([input.reshape(-1), src[within].reshape(-1)])
    sums = _core.reduce_by_labels("sum", joined, "keys", library.cat([places.reshape(-1), to]), count=input.numel(),
                                  dtype=str(input.dtype))
    return sums.reshape(input.shape)


def grad_norm(parameters, norm_type=2.0):
    """The norm (1, 2 or inf) of all gradients together, as a float: the exact one, rounded once to double.

    parameters: tensors, those without a gradient are left out.  How the gradients are split over parameters, and in
    which order they come, changes no bit, and neither does the device, so that sharded training can add up Accumulators
    of its parts instead: Accumulator("norm2", dtype).update(gradient), +.
    """
    names = {1.0: "norm1", 2.0: "norm2", float("inf"): "norminf"}
    if float(norm_type) not in names:
        raise ValueError(f"norm_type must be 1, 2 or inf, not {norm_type!r}")
    total = _core.Accumulator(names[float(norm_type)], "float64")
    for parameter in parameters:
        if parameter.grad is not None:
            total.update(_plain(parameter.grad).double())
    return total.result()


# ---- over the ranks of torch.distributed


class _Ranks:
    """What _ranks asks of a group of torch.distributed: NCCL has its tensors on the current GPU, others on the host."""

    def __init__(self, group):
        import torch
        from torch import distributed

        self.torch, self.distributed, self.group = torch, distributed, group
        self.is_on_gpu = "cuda:nccl" in distributed.get_backend_config(group)
        own = group or distributed.group.WORLD
        self.count, self.rank = own.size(), own.rank()
        self.device = "cuda" if self.is_on_gpu else "cpu"
        self.block_nbytes = 1 << 30 if self.is_on_gpu else 4 << 20
        # Of two ranks it is no more bytes, but twice the sums; of more, what is short has latency alone.
        self.whole_nbytes = (1 << 24 if self.count <= 2 else 1 << 18) if self.is_on_gpu else 1 << 12
        self.waits = not self.is_on_gpu
        self.stream = None

    def _reduce(self, words, op):
        here = self.torch.frombuffer(words, dtype=self.torch.int64)
        there = here.to(self.device)
        self.distributed.all_reduce(there, op=op, group=self.group)
        if there is not here:
            here.copy_(there)

    def add(self, words):
        self._reduce(words, self.distributed.ReduceOp.SUM)

    def largest(self, words):
        self._reduce(words, self.distributed.ReduceOp.MAX)

    def words(self, count):
        return self.torch.zeros(count, dtype=self.torch.int64, device=self.device)

    def add_there(self, words):
        self.distributed.all_reduce(words, op=self.distributed.ReduceOp.SUM, group=self.group)

    def largest_there(self, words):
        self.distributed.all_reduce(words, op=self.distributed.ReduceOp.MAX, group=self.group)

    def _begin(self, collective, receive, send):
        """On a GPU, if there are several, in a stream of their own, in which one follows upon the other, and which goes before
        the current one."""
        if not self.is_on_gpu:
            return collective(receive, send, group=self.group, async_op=True).wait
        if not self.overlaps:
            collective(receive, send, group=self.group)
            return lambda: None
        cuda = self.torch.cuda
        self.stream = self.stream or cuda.Stream(priority=-1)
        self.stream.wait_stream(cuda.current_stream())
        with cuda.stream(self.stream):
            collective(receive, send, group=self.group)
            done = self.stream.record_event()
        return lambda: cuda.current_stream().wait_event(done)

    def exchange(self, send, receive):
        return self._begin(self.distributed.all_to_all_single, receive.view(self.torch.uint8), send.view(self.torch.uint8))

    def gather(self, send, receive):
        return self._begin(self.distributed.all_gather_into_tensor, receive.view(self.torch.uint8), send.view(self.torch.uint8))

    def share(self, pieces):
        parts = pieces.view(self.torch.uint8).chunk(self.count)
        if self.is_on_gpu:  # quicker than NCCL's gathering
            return self._begin(self.distributed.all_to_all, list(parts), [parts[self.rank]] * self.count)
        return self._begin(self.distributed.all_gather_into_tensor, pieces.view(self.torch.uint8), parts[self.rank])

    def contiguous(self, tensor):
        return _plain(tensor).to(self.device).contiguous()

    def empty(self, count, dtype):
        return self.torch.empty(count, dtype=dtype, device=self.device)


def all_reduce(accumulator, group=None):
    """Merges the accumulators of all ranks of a group of torch.distributed into accumulator, on every rank; returns it.

    The result has the same bits as if one process had added all elements, for any number and order of ranks, and whatever
    algorithm Gloo or NCCL uses.  A rank that failed passes its exception (see warpfold.all_reduce).  A few hundred bytes of
    integers are added up for each result (with NCCL, on the current device).  Accumulators with the shapes of parameters
    make gradients independent of how a batch is shared (examples/python/torch_ranks.py).
    """
    ranks = _Ranks(group)
    return _ranks.all_reduce(accumulator, ranks.add, ranks.largest)


def _tensors_of(given):
    """A list of plain tensors of one dtype; or an exception."""
    if isinstance(given, BaseException):
        return [], given
    try:
        tensors = [_plain(each) for each in (given if isinstance(given, (list, tuple)) else [given])]
        if len({each.dtype for each in tensors}) != 1:
            raise ValueError("the tensors must be of one dtype, and one at least, of no elements where there is nothing")
        return tensors, None
    except Exception as error:
        return [], error


def _known(array):
    """An array of results as what torch takes: it knows no strided memory, nor NumPy's bfloat16."""
    if isinstance(array, memoryview):
        return array.tolist()
    return array.astype("float32") if str(getattr(array, "dtype", "")) == "bfloat16" else array


def _tensor_of(value, like):
    """A number of Python's, or an array of results, as a tensor: of floats in like's dtype."""
    torch = _library(like)
    if not isinstance(value, (bool, int, float)):
        results = torch.as_tensor(_known(value), device=like.device)
        if not (results.dtype.is_floating_point and like.dtype.is_floating_point):
            return results
        results = results.to(like.dtype)
        return results.masked_fill_(results.isnan(), math.nan)  # torch's conversions to bfloat16 give several NaNs
    kept = isinstance(value, float) and like.dtype.is_floating_point
    dtype = like.dtype if kept else {bool: torch.bool, int: torch.int64}.get(type(value), torch.float64)
    return torch.tensor(value, dtype=dtype, device=like.device)


def _stays(accumulator, tensor):
    """Whether a result cannot be an error but for other ranks': whether nobody has to look at it on the host."""
    wants = accumulator.op in ("sum", "mean", "var", "std", "min", "max", "norm1", "norm2", "norminf")
    return wants and tensor.dtype.is_floating_point


def _shape_along(tensors, axis):
    """The shape of the results; () without an axis."""
    if axis is None:
        return ()
    ndim = tensors[0].dim()
    axes = {each % ndim for each in (axis if isinstance(axis, tuple) else (axis,))}
    shapes = {tuple(n for d, n in enumerate(each.shape) if d not in axes) for each in tensors}
    if len(shapes) > 1 or () in shapes:
        raise ValueError("along axes the results of all tensors must have one shape, of one dimension at least")
    return shapes.pop()


def all_reduce_value(tensors, op="sum", group=None, *, axis=None, nan="propagate", ddof=0):
    """A tensor of no dimensions: op of all elements of the tensors of all ranks, where the first of them is.

    axis (an integer, or a tuple): along these axes instead, so that the result has the dimensions that are left, of equal
    lengths in all tensors of all ranks: sums of the columns of a table whose rows are shared.

    tensors: one, or a list of one dtype, all of whose elements count: norm2 of the gradients of all shards.  The bits are
    those of one process, for any number and order of ranks and however the elements are shared.  op: any but argmin and
    argmax, for which each rank's first index matters, prod, vecdot and stats.

    With NCCL all is left to the GPU: words of the tensors are written there, added up there, and the result is made there, in
    the current stream, without a wait.  So a float result cannot tell of an error: it is NaN where there is no value, where
    another rank failed, or where its dtype or ddof are others.  Integer results, and nan="error", wait and raise; along axes
    every rank learns of a failure or of other shapes first, by a short message that is waited for.  With other
    backends it is all_reduce of an Accumulator.  op and nan must be the same on every rank.  A rank that fails before may pass
    its exception instead; it is raised there.
    """
    if op in ("argmin", "argmax", "prod", "vecdot", "stats"):
        raise TypeError(f"all_reduce_value cannot give {op}: use all_reduce of an Accumulator, if it can")
    ranks = _Ranks(group)
    accumulator = _core.Accumulator(op, "float32", ddof=ddof, nan=nan)  # where a rank has failed
    tensors, failure = _tensors_of(tensors)
    try:
        if tensors:
            accumulator = _core.Accumulator(op, str(tensors[0].dtype), _shape_along(tensors, axis), ddof=ddof, nan=nan)
    except Exception as error:
        failure = error
    if ranks.is_on_gpu:
        there = (each.to(ranks.device).contiguous() for each in tensors)
        words = _ranks.reduce_there(accumulator, there, ranks, failure, axis)
        if nan != "error" and _stays(accumulator, tensors[0]):
            return accumulator.device_result(words).to(tensors[0].device)
        return _tensor_of(_ranks.take_from_there(accumulator, words.tolist()).result(), tensors[0])
    try:
        for each in () if failure else tensors:
            accumulator.update(each, axis=axis)  # None: all of it
    except Exception as error:
        failure = error
    return _tensor_of(all_reduce(failure or accumulator, group).result(), tensors[0])


def all_reduce_array(tensor, op="sum", group=None, *, dtype=None, nan="propagate", ddof=None, agreed=False):
    """A new tensor: each element is op of the ranks' elements at its place, in the order of the ranks, rounded once.

    A sum is exact, so its bits depend on no order of the ranks, no algorithm and no message size, unlike those of
    torch.distributed.all_reduce.  tensor: of equal shape and dtype on all ranks (ValueError on every rank otherwise); the
    result is where it is; op, dtype, nan and ddof as those of a reduction along an axis.  A rank that fails before may pass
    its exception instead; every rank learns of every rank's error.  With NCCL float results are left in the current stream
    without a wait (but for nan="error"): should a rank fail as late as in its sums, its part is NaN on the others.  Moves
    the bytes of a ring: an exchange of the pieces, which are then added up, and a gathering of the sums; or, of
    short tensors, one gathering of the whole.

    A short message comes first, and is waited for: whether all ranks have such a tensor.  agreed=True: the caller knows that
    they have, and that none has failed, as torch.distributed.all_reduce demands; nothing is asked, and what ranks do that
    differ is undefined, as there.
    """
    results = _ranks.all_reduce_array(tensor, _Ranks(group), op, agreed, dtype=dtype, nan=nan, ddof=ddof)
    return results.to(tensor.device)
