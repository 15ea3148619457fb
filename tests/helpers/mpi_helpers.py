"""MPI libraries that Debian has beside each other: how each compiles and starts programs."""

import os
import shutil
import signal
import subprocess
import time
from functools import lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("WARPFOLD_BUILD", ROOT / "build"))
START = {"openmpi": ["--oversubscribe"], "mpich": []}
# Ranks of one machine need no network, and tests may run as root.
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_btl": "self,vader",
               "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_pml": "ob1",
               "LD_PRELOAD": str(BUILD / "tests" / "waiting.so")}


@lru_cache
def missing(library):
    """Why programs of the library cannot be tested here; None if they can."""
    for tool in ("mpicc", "mpirun"):
        if not shutil.which(f"{tool}.{library}"):
            return f"skipped: no {tool}.{library} (scripts/need mpi installs it)"
    return None


def need(library):
    if missing(library):
        pytest.skip(missing(library))


def compile_program(library, source, target):
    subprocess.run([f"mpicc.{library}", "-std=gnu17", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", source,
                    *(f"-Wl,--wrap={name}" for name in ("malloc", "calloc", "realloc", "posix_memalign")),
                    BUILD / "libwarpfold.a", "-lm", "-lpthread", "-ldl", "-o", target], check=True)
    return target


def run_ranks(library, count, *command, **environment):
    """What the ranks print and their exit status.  MPICH 4.0's mpirun is killed by a broken pipe, its own, in one run of seven
    whose ranks end at once, and at times in ten that follow each other: then it is started again, after ever longer."""
    for failures in range(20):
        time.sleep(failures / 10)
        done = subprocess.run([f"mpirun.{library}", *START[library], "-n", str(count), *map(str, command)], text=True,
                              capture_output=True, env=os.environ | ENVIRONMENT | environment, timeout=300)
        if library != "mpich" or done.returncode != -signal.SIGPIPE:
            return done
    raise AssertionError("mpirun was killed by SIGPIPE twenty times")
