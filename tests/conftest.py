"""The order of tests; and which libcuda the process opens, of which there can be one: it is settled before the first test
that could open another."""

import os
import sys

LONG = "bench_gpu pages cuda_kernels ladder_sources cuda gpu house ladder_gpu adversarial".split()


def pytest_collection_modifyitems(items):
    """Processes that share out the files end together if the long ones come first."""
    long_files = {f"test_{name}.py" for name in LONG}
    items.sort(key=lambda item: item.path.name not in long_files)


def pytest_collection_finish():
    wf = sys.modules.get("warpfold_ctypes")  # what runs programs only may be unable to load the library
    if wf is None:
        return
    from gpu_memory import FAKE, real_driver

    if real_driver() or not FAKE.exists():
        return
    chosen = os.environ.get("WARPFOLD_LIBCUDA")
    os.environ["WARPFOLD_LIBCUDA"] = str(FAKE)
    wf.library.wf_device_count()  # opens it
    if chosen is None:
        del os.environ["WARPFOLD_LIBCUDA"]  # not for the programs that tests run
    else:
        os.environ["WARPFOLD_LIBCUDA"] = chosen
