"""The element types as parameters: `make check` takes one of each kind of loop, `make test` all."""

import pytest

from oracle import TYPES

CHECKED = ("bool", "i8", "u32", "f16", "f32", "f64")
EACH_TYPE = [name if name in CHECKED else pytest.param(name, marks=pytest.mark.slow) for name in TYPES]
