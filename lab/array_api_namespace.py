"""NumPy's namespace with warpfold's reductions in it, for the array API's test suite (lab/array-api)."""

import numpy

import warpfold

__array_api_version__ = "2024.12"
__array_namespace_info__ = numpy.__array_namespace_info__
OURS = "sum prod max min mean var std argmax argmin any all count_nonzero".split()
globals().update({name: getattr(numpy, name) for name in dir(numpy) if not name.startswith("_")})


def of_real_numbers(name):
    """The function; NumPy's where warpfold refuses: complex numbers, and corrections that are not whole (docs/python.md)."""
    ours, others = getattr(warpfold, name), getattr(numpy, name)

    def function(x, /, **options):
        is_refused = x.dtype.kind == "c" or options.get("correction", 0) % 1
        return (others if is_refused else ours)(x, **options)

    return function


globals().update({name: of_real_numbers(name) for name in OURS})
