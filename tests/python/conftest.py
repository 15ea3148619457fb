"""Tests of the Python package: the one in the build directory, or with WARPFOLD_INSTALLED=1 the one that is installed."""

import os
import sys
from pathlib import Path

import pytest

if not os.environ.get("WARPFOLD_INSTALLED"):
    root = Path(__file__).resolve().parent.parent.parent
    package = Path(os.environ.get("WARPFOLD_BUILD", root / "build")) / "python"
    if not list(package.glob("warpfold/_core.*.so")):
        pytest.skip("no headers of Python: the package was not built", allow_module_level=True)
    sys.path.insert(0, str(package))
