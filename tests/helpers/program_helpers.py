"""Programs that `warpfold run` runs: what compiles them, and the environment that they need."""

import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from cli_helpers import CLI, ROOT, run
from kernel_helpers import NVRTC_CACHE

NVCC = os.environ.get("WARPFOLD_NVCC") or shutil.which("nvcc")
INCLUDE = Path(NVCC).resolve().parent.parent / "include" if NVCC else None
SOURCES = ROOT / "tests" / "programs"
STAND_INS = Path(CLI).parent / "program"
MODES = SOURCES / "modes.cu"  # a mode for each of many tests, which checks its own results

needs_nvcc = pytest.mark.skipif(not NVCC, reason="no nvcc")


def environment():
    """With sanitizers the stand-in needs their library first, in a program that knows nothing of them."""
    linked = subprocess.run(["ldd", CLI], capture_output=True, text=True).stdout
    libraries = re.findall(r"(/\S*/lib(?:asan|ubsan|clang_rt\.asan)[^/\s]*\.so\S*)", linked)
    options = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"  # of host code that is not ours
    return {**os.environ, "ASAN_OPTIONS": options, **({"LD_PRELOAD": ":".join(libraries)} if libraries else {})}


def compiled(folder, name, source, *options):
    """The program; one of tests/programs is kept, as tests/nvrtc_cache keeps kernels, for later runs and other builds."""
    path = folder / name
    if Path(source).parent != SOURCES:
        compile_program(path, source, options)
        return path
    kept = kept_programs() / f"{name}-{digest(source, options)}"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as scratch:
            compile_program(Path(scratch) / name, source, options)
            (Path(scratch) / name).replace(kept)
    shutil.copy(kept, path)
    return path


def compile_program(path, source, options):
    subprocess.run([NVCC, *options, "-o", path, source], check=True, timeout=300)


def kept_programs():
    return Path(os.environ.get("TESTS_NVRTC_CACHE") or NVRTC_CACHE.parent / "nvrtc") / "programs"


@functools.cache
def version(compiler):
    return subprocess.run([compiler, "--version"], stdout=subprocess.PIPE, check=True).stdout


def digest(source, options):
    """Of all that decides what nvcc makes: the compilers, its settings, the options, the source and what may lie beside it."""
    compilers = [version(compiler) for compiler in (NVCC, shutil.which("g++")) if compiler]
    settings = [(name, os.environ[name]) for name in sorted(os.environ) if name.startswith("NVCC_")]
    texts = [(path.name, path.read_bytes()) for path in sorted(SOURCES.iterdir()) if path.is_file()]
    return hashlib.sha256(repr((compilers, settings, options, str(source), texts)).encode()).hexdigest()[:32]


@pytest.fixture
def compiling(tmp_path_factory):
    """The same, with an nvcc that does not get the sanitizers' libraries: its programs end in them."""
    path = tmp_path_factory.mktemp("nvcc") / "nvcc"
    path.write_text(f'#!/bin/sh\nunset LD_PRELOAD\nexec "{NVCC}" "$@"\n')
    path.chmod(0o755)
    return {**environment(), "WARPFOLD_NVCC": str(path)}


@pytest.fixture(scope="session")
def modes(tmp_path_factory):
    if not NVCC:
        pytest.skip("no nvcc")
    options = ["-cudart", "shared", "-lineinfo", "-gencode", "arch=compute_75,code=compute_75"]
    return compiled(tmp_path_factory.mktemp("modes"), "modes", MODES, *options)


@pytest.fixture
def ran(modes, tmp_path):
    """(status, standard output, report) of a mode."""

    def ran(mode, *options, status=None):
        report = tmp_path / "report"
        done = run("run", "--json", "--out", report, *options, modes, mode, env=environment())
        assert status is None or done.returncode == status, done
        return done.returncode, done.stdout, json.loads(report.read_text()), done.stderr

    return ran


def line_of(text, source=MODES):
    """The number of the source's line with the text."""
    numbers = [i for i, line in enumerate(source.read_text().splitlines(), 1) if text in line]
    assert len(numbers) == 1, text
    return numbers[0]
