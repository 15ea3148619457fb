"""The element types as parameters: `make check` takes one of each kind of loop, `make test` all."""

import pytest

from oracle import TYPES


def but_slow(names, *slow):
    """The names as parameters, of which `make check` leaves some out."""
    return [pytest.param(name, marks=pytest.mark.slow) if name in slow else name for name in names]


CHECKED = ("bool", "i8", "u32", "f16", "f32", "f64")
EACH_TYPE = but_slow(TYPES, *(name for name in TYPES if name not in CHECKED))
