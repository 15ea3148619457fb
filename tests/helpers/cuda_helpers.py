"""The device cuda in the tests: a fixture for the GPU of this process, and environments for other processes, in which
the libcuda of tests/fake_cuda says what the simulated GPUs are like and what fails in them."""

import os
import subprocess
import sys

import pytest

from gpu_memory import FAKE, Gpu, why_none
from kernel_helpers import has_nvrtc


@pytest.fixture(scope="module")
def gpu(tmp_path_factory):
    """The first real GPU, or else the simulator's: see gpu.is_real."""
    if why_none():
        pytest.skip(why_none())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        opened = Gpu(patch)
        yield opened
        opened.close()


def need_fake(compiles=True):
    if not FAKE.exists():
        pytest.skip("no libcuda for the simulator was built")
    if compiles and not has_nvrtc():
        pytest.skip("no NVRTC")


def plain_environment(cache):
    """This process's, with nothing chosen about GPUs and the cache in the folder."""
    chosen = ("WARPFOLD_LIBCUDA", "WARPFOLD_CUDA_IMAGE", "WARPFOLD_CACHE")
    kept = {name: value for name, value in os.environ.items() if name not in chosen and "FAKE_CUDA" not in name}
    return {**kept, "XDG_CACHE_HOME": str(cache)}


def fake_environment(cache, **settings):
    """With the simulator's libcuda: fail="MemAlloc:1:2" is FAKE_CUDA_FAIL.  Names in capitals are as they are; None
    takes a variable out."""
    environment = {**plain_environment(cache), "WARPFOLD_LIBCUDA": str(FAKE), "WARPFOLD_CUDA_IMAGE": "ptx"}
    for name, value in settings.items():
        name = name if name.isupper() else f"FAKE_CUDA_{name.upper()}"
        environment.pop(name, None)
        if value is not None:
            environment[name] = str(value)
    return environment


def report_on_newer_gpu(*tests):
    """What pytest says of tests, by their paths and names, on a simulated GPU that has more instructions."""
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "FAKE_CUDA_CAPABILITY": "9.0", "TESTS_CASES": "every", "TESTS_SHARE": "1 in 1"}
    done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stdout
    return done.stdout
