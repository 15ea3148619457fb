"""A process opens one libcuda.  Which one that is here is settled before the first test that could open another."""

import os
import sys


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
