"""where and initial of arrays in CUDA memory: what is reduced is laid out there, by the array's own library.

The number of a result is the key of its elements, and -1 that of masked ones.  All of it happens on the GPU, on the current
stream, with a copy of the elements and 8 bytes for each; no element comes to the host.
"""

from warpfold import _core, _kinds


def _see_rows(array, order, shape, library):
    """The array with the dimensions in that order, as rows of what comes together."""
    permute = library.permute if library.__name__ == "torch" else library.transpose
    return permute(array, order).reshape(shape)


def _number_rows(a, library, shape):
    context, options = _kinds.beside(a, library)
    with context:
        numbers = library.arange(shape[0], dtype=_kinds.dtype_of(library, "i64"), **options)
    return library.broadcast_to(numbers.reshape((shape[0], 1)), shape)


def _lay_out(a, library, order, shape, where, initial):
    """The elements and their keys, two vectors.  shape: how many results, and elements of each."""
    rows, keys = _see_rows(a, order, shape, library), _number_rows(a, library, shape)
    if where is not None and where is not True:
        if isinstance(where, bool):
            where = _kinds.full(a, "bool", where)
        mask = _see_rows(library.broadcast_to(where, a.shape), order, shape, library)
        keys = library.where(mask, keys, -1)
    if initial is not None:
        join = library.cat if library.__name__ == "torch" else library.concatenate
        kind = _core.type_of(a)
        first = library.broadcast_to(_kinds.full(a, kind, _kinds.as_element(kind, initial)), (shape[0], 1))
        rows, keys = join([first, rows], 1), join([_number_rows(a, library, (shape[0], 1)), keys], 1)
    return rows.reshape((-1,)), keys.reshape((-1,))


def reduce_selected(op, a, reduced, shape, where, initial, out, counts, *, dtype, **settings):
    """What op gives of the elements that where selects, and of initial, along the dimensions reduced.

    shape: of the result; counts: the elements are counted instead.  The arguments have been checked, where may be a bool.
    """
    library = _kinds.library_of(a)
    if library is None:
        raise TypeError("where and initial of arrays in CUDA memory are supported for torch's and cupy's arrays alone: "
                        "pass one of these, or copy the array to host memory")
    if counts:
        a = library.broadcast_to(_kinds.full(a, "bool", True), a.shape)
    order = sorted(range(len(a.shape)), key=lambda d: d in reduced)
    count = length = 1
    for d, n in enumerate(a.shape):
        count, length = (count, length * n) if d in reduced else (count * n, length)
    elements, keys = _lay_out(a, library, order, (count, length), where, initial)
    results = _core.reduce_by_labels(op, elements, "keys", keys, count=count, skip_bad_keys=True,
                                     dtype=dtype and _kinds.dtype_name(dtype), **settings)
    if op in ("argmin", "argmax"):
        results = library.where(results < 0, results, results % max(length, 1))
    results = results.reshape(shape)
    if out is None:
        return results
    out[...] = results
    return out
