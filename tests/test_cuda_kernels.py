"""Every reduction kernel compiles for a GPU with a copy engine, to machine code.  Without such a GPU that is all that can
be shown: the SIMT machine, on which tests/test_gpu.py runs the others, knows no bulk copies."""

import pytest

from cli_helpers import run
from cuda_helpers import fake_environment, need_fake
from oracle import FLOATS, TYPES, ops_of

NBYTES = 1 << 18  # enough for several blocks


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Ops that gather the same parts share a kernel."""
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize("small", ("0", "1"))
@pytest.mark.parametrize("type_name", TYPES)
def test_kernels_compile_for_a_copy_engine(type_name, small, cache, tmp_path):
    need_fake()
    environment = fake_environment(cache, capability="9.0", WARPFOLD_CUDA_IMAGE=None, WARPFOLD_CUDA_SMALL=small)
    data = tmp_path / "data"
    data.write_bytes(bytes(NBYTES))
    for op in (*ops_of(type_name), "dot", "stats"):
        if op == "prod" and type_name in FLOATS:
            continue  # of host memory: the CPU's work
        files = [data] * (2 if op == "dot" else 1)
        done = run(op, "--type", type_name, "--format", "raw", "--device", "cuda", *files, env=environment)
        # What is compiled is no PTX, which is all that this libcuda can load.
        assert done.returncode == 1 and "cuModuleLoadData" in done.stderr, (op, type_name, done.stderr)
