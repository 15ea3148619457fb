"""What several files of tests share: a fixture, and what holds for the process: its signals and its libcuda."""

import atexit
import contextlib
import ctypes
import gc
import importlib
import os
import re
import signal
import sys
import tempfile
import zlib
from pathlib import Path

import pytest

import each_value
from each_value import (  # noqa: F401: pytest calls them
    pytest_runtest_makereport, pytest_runtest_protocol, pytest_sessionfinish, pytest_terminal_summary, pytest_testnodedown)
from kernel_helpers import NVRTC_CACHE, cuda_folders, has_nvrtc, real_nvrtc_library


@pytest.fixture
def write(tmp_path):
    """write(name, content) -> the path of a new file."""

    def write_file(name, content):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file


def pytest_configure(config):
    """Programs meet signals as at a terminal.  Those that nohup, or a shell's background, has these tests ignore would
    be ignored in the programs, too; a handler is not passed on."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    keep_what_nvrtc_compiles()
    use_no_users_cache()
    gc.disable()  # until all are collected
    import_a_share(config)


def import_a_share(config):
    """Each worker collects every file, and where none has been compiled yet all would compile each, at the same time.  So each begins
    with files of its own, and finds the others' compiled.  What cannot be imported is reported where it is collected."""
    worker = getattr(config, "workerinput", None)
    if not worker or sys.dont_write_bytecode:
        return
    folder = Path(__file__).parent
    named = {Path(name.split("::")[0]).resolve() for name in config.args}
    files = sorted(folder.glob("test_*.py") if folder in named else (file for file in named if file.parent == folder))
    for file in files[int(worker["workerid"].removeprefix("gw"))::worker["workercount"]]:
        with contextlib.suppress(Exception, pytest.skip.Exception):
            importlib.import_module(file.stem)


def keep_what_nvrtc_compiles():
    """For all tests of this run, and of later ones: see tests/nvrtc_cache.  The toolkit's headers must be where they are
    looked for without knowing where NVRTC is."""
    if "WARPFOLD_NVRTC" in os.environ or not NVRTC_CACHE.exists() or not has_nvrtc():
        return
    if any((folder / "include" / "cuda_runtime.h").exists() for folder in cuda_folders()):
        os.environ["WARPFOLD_NVRTC"] = str(NVRTC_CACHE)
        name_nvrtc()
        optimize_less()


def use_no_users_cache():
    """What an earlier run left there would be found instead of being compiled."""
    folder = tempfile.TemporaryDirectory(prefix="warpfold-cache-")
    atexit.register(folder.cleanup)
    os.environ["XDG_CACHE_HOME"] = folder.name


def name_nvrtc():
    """The file of the real one: programs that find what was compiled before need not open it to know which one that is."""
    try:
        ctypes.CDLL(real_nvrtc_library())
        found = re.search(r"(/\S*/libnvrtc\.so\S*)$", Path("/proc/self/maps").read_text(), re.MULTILINE)
    except OSError:
        return
    if found:
        os.environ.setdefault("TESTS_NVRTC", found[1])


def optimize_less():
    """Half of the time that compiling takes, and without the search for values that are known already (global value numbering)
    two fifths; with "max" or at -O1 the simulator has more to do.  In CI the kernels of a float and of an
    integer are as NVRTC optimizes them for users, and so are those in which findings are looked for (each_type.AS_FOR_USERS):
    what the optimizer makes of an algorithm, they show.  The other types differ from them in their arithmetic, which a test
    that compares results sees however much was optimized.  LONG has all as for users, and lab/bench-gpu has a GPU run them."""
    if "TESTS_NVRTC_ALL_FULL" in os.environ:
        return
    os.environ.setdefault("TESTS_NVRTC_QUICK", "mid -Xnvvm -Xopt -Xnvvm -disable-GVNPass")
    if "TESTS_EVERY_KERNEL" in os.environ:
        os.environ.setdefault("TESTS_NVRTC_FULL", "f32 i8")


@pytest.fixture(scope="module", autouse=True)
def results_computed_before(request):
    """What the oracle has computed, for the same data on other tiers.  TESTS_ORACLE_CACHE: the folder in which it stays for
    the same tests of another build."""
    from oracle import kept

    kept.open(os.environ.get("TESTS_ORACLE_CACHE"), request.path.stem)
    yield
    kept.close()


# A file stays with one worker: those that take longest begin first, so that none is left alone with one at the end.
LONGEST = ("test_gpu_keyed", "test_gpu_keyed_many", "test_gpu_groups", "test_gpu", "test_gpu_team_sums", "test_gpu_team_extrema",
           "test_gpu_chunks", "test_gpu_segments", "test_gpu_short_groups", "test_ladder", "test_judge_adversaries", "test_judge",
           "test_pages", "test_pages_controls", "test_cuda", "test_cuda_kernels", "test_groups_sums", "test_groups_nans",
           "test_groups_products", "test_groups_layouts", "test_tables_groups", "test_tables_keys", "test_mpi",
           "test_adversarial_rare", "test_adversarial", "test_groups_short", "test_program", "test_program_findings",
           "test_program_compiled", "test_program_reports", "test_inspect_limits", "test_files", "test_faults", "test_cli",
           "test_findings_spins", "test_house", "test_ladder_sources", "test_gpu_words", "test_kernels_wgmma", "test_explain",
           "test_pages_inspect", "test_inspect_cuda", "test_kernels", "test_tables", "test_ladder_gpu", "test_keyed",
           "test_gpu_accumulators", "test_chip", "test_quantiles", "test_kernels_language", "test_program_textures",
           "test_program_order", "test_kernels_async", "test_site", "test_engine", "test_python_gpu_ranks", "test_python_gpu")


def turn_of(item):
    name = item.path.stem
    return LONGEST.index(name) if name in LONGEST else len(LONGEST)


def tiers_beside_each_other(items):
    """The same case for each tier, one after another: what was made for the first is still at hand for the others."""
    turns = {}

    def turn(item):
        case = item.nodeid
        if "handle" in item.fixturenames and "[" in case:
            name, words = case.rstrip("]").split("[", 1)
            case = name, *(word for word in words.split("-") if word not in ("scalar", "avx2", "avx512", "neon"))
        return turns.setdefault(case, len(turns))

    items.sort(key=turn)


def pytest_collection_modifyitems(items):
    """A browser is slow, whatever it is shown; and so are all cases of a test together that is marked `sampled`."""
    if each_value.CHOSEN:
        each_value.mix(items)
    else:
        tiers_beside_each_other(items)
    items.sort(key=turn_of)
    sampled = {}
    for item in items:
        if "browser" in item.fixturenames:
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("sampled"):
            sampled.setdefault(item.nodeid.split("[")[0], []).append(item)
    for cases in sampled.values():
        # Of those not slow on their own; neither one type's only nor one tier's.
        cases.sort(key=lambda item: (item.get_closest_marker("slow") is not None, zlib.crc32(item.nodeid.encode())))
        for item in cases[(len(cases) + 7) // 8:]:
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish():
    """The oracle makes millions of small tuples and no circles: the collector would only walk over them, as it would over
    thousands of tests that are collected (pytest_configure)."""
    gc.enable()
    gc.freeze()
    gc.set_threshold(100_000)
    settle_libcuda()


def settle_libcuda():
    """A process opens one libcuda.  Which one that is here is settled before the first test that could open another."""
    wf = sys.modules.get("warpfold_ctypes")  # what runs programs only may be unable to load the library
    if wf is None:
        return
    from gpu_memory import FAKE, real_driver

    if real_driver() or not FAKE.exists():
        return
    chosen = os.environ.get("WARPFOLD_LIBCUDA")
    os.environ["WARPFOLD_LIBCUDA"] = str(FAKE)
    wf.library.wf_gpu_count()  # opens it
    if chosen is None:
        del os.environ["WARPFOLD_LIBCUDA"]  # not for the programs that tests run
    else:
        os.environ["WARPFOLD_LIBCUDA"] = chosen
