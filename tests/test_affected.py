"""scripts/affected, which chooses the tests of `make check`."""

import fnmatch
import os
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "affected"))
TESTS = {"tests/test_engine.py", "tests/test_gpu.py", "tests/test_house.py", "tests/test_kernels.py",
         "tests/python/test_python_numpy.py"}


@pytest.fixture
def affected(tmp_path):
    """affected(*words): the lines that the script prints in a small tree."""
    for path in (*TESTS, "src/cpu/cpu.c", "src/api.c", "simt/simt.h", "scripts/need"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("")
    script = shutil.copy(ROOT / "scripts" / "affected", tmp_path / "scripts")

    def run(*words):
        done = subprocess.run([script, tmp_path / "build", *words], capture_output=True, text=True, check=True)
        return set(done.stdout.split())

    return run


def test_changes_choose_the_tests_until_they_have_passed(affected, tmp_path):
    always, engine, gpu, kernels = (f"tests/test_{name}.py" for name in ("house", "engine", "gpu", "kernels"))
    numpy = "tests/python/test_python_numpy.py"
    assert affected("began", "-DX=1") == set() and affected() == TESTS
    affected("passed")
    affected("began", "-DX=1")
    assert affected() == {always}
    os.utime(tmp_path / "src/cpu/cpu.c", (1, 1))  # an old file that is put in its place
    assert affected() == {always, engine, numpy}
    affected("began", "-DX=1")  # the last check failed
    (tmp_path / gpu).write_text("# touched")
    assert affected() == {always, engine, numpy, gpu}
    affected("began", "-DX=1")
    affected("passed")
    affected("began", "-DX=1")
    assert affected() == {always}
    (tmp_path / "simt/new.c").write_text("")
    assert affected() == {always, gpu, kernels}
    (tmp_path / "simt/new.c").unlink()
    (tmp_path / "src/api.c").unlink()
    assert affected() == {always, engine, numpy, gpu}
    (tmp_path / "unheard_of").write_text("")
    assert affected() == TESTS
    (tmp_path / "unheard_of").unlink()
    affected("began", "-DX=2")
    assert affected() == TESTS


def test_every_name_of_the_table_is_there_and_every_test_is_in_it():
    globs = {glob for seen in (*SCRIPT["SEEN_BY"].values(), SCRIPT["ALWAYS"]) for glob in seen}
    names = {path[6:-3].replace("test_", "") for path in SCRIPT["test_files"]()}
    assert {glob for glob in globs if not fnmatch.filter(names, glob)} == set()
    assert {name for name in names if not any(fnmatch.fnmatchcase(name, glob) for glob in globs)} == {"affected", "each_value"}  # what sees no folder
    assert [path for path in SCRIPT["SEEN_BY"] if not (ROOT / path).exists()] == []
