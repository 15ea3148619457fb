"""Programs that `warpfold run` runs: what compiles them, and the environment that they need."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from cli_helpers import CLI, ROOT

NVCC = os.environ.get("WARPFOLD_NVCC") or shutil.which("nvcc")
INCLUDE = Path(NVCC).resolve().parent.parent / "include" if NVCC else None
SOURCES = ROOT / "tests" / "programs"
STAND_INS = Path(CLI).parent / "program"

needs_nvcc = pytest.mark.skipif(not NVCC, reason="no nvcc")


def environment():
    """With sanitizers the stand-in needs their library first, in a program that knows nothing of them."""
    linked = subprocess.run(["ldd", CLI], capture_output=True, text=True).stdout
    libraries = re.findall(r"(/\S*/lib(?:asan|ubsan)\.so\S*)", linked)
    options = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"  # of host code that is not ours
    return {**os.environ, "ASAN_OPTIONS": options, **({"LD_PRELOAD": ":".join(libraries)} if libraries else {})}


def compiled(folder, name, source, *options):
    path = folder / name
    subprocess.run([NVCC, *options, "-o", path, source], check=True, timeout=300)
    return path
