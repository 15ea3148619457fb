"""Quantiles, distinct values and histograms: by sorting with fractions, and as the library gives them."""

import ctypes
import math
from ctypes import byref, c_double, c_int64
from fractions import Fraction

import warpfold_ctypes as wf
from oracle import FLOATS, INTEGERS, Infinity, NaN, Real, Refused, convert, fraction, unpack

BETWEENS = ("linear", "lower", "higher", "nearest", "midpoint")

# ---- what must come out ------------------------------------------------------------------------------


def is_nan(type_name, bits):
    form = FLOATS.get(type_name)
    return form is not None and bits & ~form.sign > form.infinity


def value_of(type_name, bits):
    """An integer, a fraction or an infinity of Python's."""
    if type_name == "bool":
        return int(bits != 0)
    if type_name in INTEGERS:
        return bits
    form = FLOATS[type_name]
    if bits & ~form.sign == form.infinity:
        return -math.inf if bits & form.sign else math.inf
    return fraction(bits, form)


def is_negative(type_name, bits):
    return type_name in FLOATS and bool(bits & FLOATS[type_name].sign)


def real(value, negative_zero=False):
    """As the oracle rounds it."""
    if isinstance(value, float):
        return NaN() if math.isnan(value) else Infinity(value < 0)
    value = Fraction(value)
    return Real(value < 0 or (value == 0 and negative_zero), abs(value.numerator), value.denominator)


def numbers_of(type_name, data):
    """(value, is not negative) of the numbers among the elements, sorted, and how many are NaN."""
    elements = unpack(type_name, data)
    numbers = [(value_of(type_name, bits), not is_negative(type_name, bits)) for bits in elements
               if not is_nan(type_name, bits)]
    return sorted(numbers), len(elements) - len(numbers)


def between_two(a, b, weight):
    """(1 - weight) * a + weight * b as a Real."""
    if not weight or a == b:
        return real(a[0], not a[1])
    if math.inf in (abs(a[0]), abs(b[0])):
        infinite = {value for value in (a[0], b[0]) if abs(value) == math.inf}
        return real(infinite.pop() if len(infinite) == 1 else math.nan)
    return real(a[0] + (b[0] - a[0]) * weight, not a[1] and not b[1])


def quantile_of_sorted(numbers, q, between):
    at = Fraction(repr(float(q))) * (len(numbers) - 1)
    low = math.floor(at)
    weight = at - low
    if weight and between == "midpoint":
        weight = Fraction(1, 2)
    elif weight and between != "linear":
        is_up = {"lower": False, "higher": True, "nearest": weight > Fraction(1, 2) or (2 * weight == 1 and low % 2)}
        low, weight = low + bool(is_up[between]), 0
    return between_two(numbers[low], numbers[math.ceil(low + weight)], weight)


def expected_type(type_name, between):
    return "f64" if between in ("linear", "midpoint") and type_name in INTEGERS else type_name


def expected_quantiles(type_name, data, qs, between="linear", nan="propagate", result_type=None):
    """[(type name, bits)], or the name of the error."""
    numbers, nan_count = numbers_of(type_name, data)
    result_type = result_type or expected_type(type_name, between)
    try:
        if nan_count and nan == "error":
            return "WF_ERROR_NAN"
        if nan_count and nan == "propagate":
            return [convert(NaN(), result_type) for _ in qs]
        if not numbers:
            return "WF_ERROR_EMPTY"
        return [convert(quantile_of_sorted(numbers, q, between), result_type) for q in qs]
    except Refused as refused:
        return refused.args[0]


def expected_distinct(type_name, data, nan="propagate"):
    numbers, nan_count = numbers_of(type_name, data)
    if nan_count and nan == "error":
        return "WF_ERROR_NAN"
    return len({value for value, _ in numbers}) + (nan_count > 0 and nan == "propagate")


def expected_counts(type_name, data, edges):
    """Below, of each bin, above, NaN."""
    numbers, nan_count = numbers_of(type_name, data)
    exact = [edge if math.isinf(edge) else Fraction(edge) for edge in edges]
    counts = [0] * (len(edges) + 1)
    for value, _ in numbers:
        is_last = value == exact[-1]
        counts[len(edges) - 1 if is_last else sum(edge <= value for edge in exact)] += 1
    return counts + [nan_count]


# ---- what the library gives --------------------------------------------------------------------------


def quantiles(qs, between="linear", nan="propagate", result_type=None):
    asked = wf.wf_quantiles(
        nbytes=ctypes.sizeof(wf.wf_quantiles), count=len(qs), between=BETWEENS.index(between),
        nan=wf.NAN_BY_NAME[nan], result_type=wf.TYPE_BY_NAME[result_type] if result_type else 0)
    asked.kept = (c_double * max(len(qs), 1))(*qs)
    asked.q = asked.kept
    return asked


def or_error(call):
    try:
        return call()
    except wf.WarpfoldError as error:
        return error.code


def quantiles_of_array(handle, array, asked, groups=None, threads=0):
    """The results' bits, those of the first q first."""
    shape = (asked.count, *(wf.groups_shape(array, groups) if groups is not None else ()))
    type_number = wf.library.wf_quantiles_result_type(byref(asked), array.type)
    memory = bytearray(wf.library.wf_type_nbytes(type_number) * math.prod(shape) + 1)
    buffer = (ctypes.c_char * len(memory)).from_buffer(memory)
    output = wf.wf_output(data=ctypes.addressof(buffer), ndim=len(shape), shape=(c_int64 * len(shape))(*shape))
    handle.set_threads(threads)
    handle.check(wf.library.wf_quantile(handle.pointer, byref(asked), byref(array), groups and byref(groups), byref(output)))
    return wf.values_of(memory[:-1], type_number)


def quantiles_of_reader(handle, reader, asked, threads=0):
    values = (wf.wf_value * max(asked.count, 1))()
    handle.set_threads(threads)
    handle.check(wf.library.wf_quantile_reader(handle.pointer, byref(asked), reader.pointer, values))
    return [wf.value_bits(value) for value in values[:asked.count]]


def distinct(handle, elements, nan="propagate", threads=0):
    """Of an array or a reader."""
    count = c_int64()
    handle.set_threads(threads)
    is_array = isinstance(elements, wf.wf_array)
    function = wf.library.wf_count_distinct if is_array else wf.library.wf_count_distinct_reader
    taken = byref(elements) if is_array else elements.pointer
    handle.check(function(handle.pointer, wf.NAN_BY_NAME[nan], taken, byref(count)))
    return count.value


def bins(handle, elements, edges, nan="propagate", threads=0):
    """The counts between these edges; of so many bins of equal width, if it is a number: edges and counts."""
    is_equal = isinstance(edges, int)
    edge_count = edges + 1 if is_equal else len(edges)
    found, counts = (c_double * edge_count)(), (c_int64 * (edge_count + 2))()
    asked = wf.wf_histogram(nbytes=ctypes.sizeof(wf.wf_histogram), edge_count=edge_count, nan=wf.NAN_BY_NAME[nan],
                            edges=None if is_equal else (c_double * edge_count)(*edges))
    handle.set_threads(threads)
    is_array = isinstance(elements, wf.wf_array)
    function = wf.library.wf_count_bins if is_array else wf.library.wf_count_bins_reader
    handle.check(function(handle.pointer, byref(asked), byref(elements) if is_array else elements.pointer, found, counts))
    return (list(found), list(counts)) if is_equal else list(counts)
