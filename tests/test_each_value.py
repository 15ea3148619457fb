"""tests/helpers/each_value.py: which of a test's cases are run."""

import os
import re
import subprocess
import sys

import pytest

from kernel_helpers import ROOT

TEST = """
import pytest


@pytest.fixture(scope="module")
def opened():
    lives = [True]
    yield lives
    lives.clear()


@pytest.mark.parametrize("size", range(8))
@pytest.mark.parametrize("kind", "abcdefgh")
def test_case(kind, size, opened):
    assert opened
    if (kind, size) == ("a", 0):
        pytest.skip("shows nothing")
"""
ALL = {f"{kind}-{size}" for kind in "abcdefgh" for size in range(8)}


NEXT = 12


def commit(folder):
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--allow-empty", "-m", "next"], cwd=folder, check=True)


def output_of(folder, **variables):
    """What pytest tells, in a repository of two files of tests that has these tests' conftest.py."""
    done = subprocess.run([sys.executable, "-m", "pytest", "-v", "-p", "no:xdist", "-p", "no:cacheprovider", "test_it.py", "test_next.py"],
                          cwd=folder, env={**os.environ, **variables}, stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stdout
    return done.stdout


def cases_run(folder, cases):
    """Those that passed."""
    output = output_of(folder, TESTS_CASES=cases, TESTS_SHARE="1 in 1")
    run = set(re.findall(r"test_case\[(\S+)\] PASSED", output))
    told = re.search(r"^(\d+) cases left out", output, re.MULTILINE)
    assert len(run) + int(told[1] if told else 0) + output.count("SKIPPED (shows nothing)") == len(ALL)
    return run


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "helpers").mkdir()
    (tmp_path / "helpers" / "each_value.py").write_text((ROOT / "tests/helpers/each_value.py").read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = helpers\n")
    (tmp_path / "conftest.py").write_text("""
import each_value
from each_value import pytest_runtest_makereport, pytest_runtest_protocol, pytest_terminal_summary


def pytest_collection_modifyitems(items):
    if each_value.CHOSEN:
        each_value.mix(items)
""")
    (tmp_path / "test_it.py").write_text(TEST)
    # These begin after cases that are left out.
    (tmp_path / "test_next.py").write_text("\n".join(f"def test_next_{k}():\n    pass\n" for k in range(NEXT)))
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    commit(tmp_path)
    return tmp_path


def shows_each_value(cases):
    return {case[0] for case in cases} == set("abcdefgh") and {case[2] for case in cases} == set("01234567")


def test_each_value_is_shown_in_few_cases(folder):
    run = cases_run(folder, "each value")
    assert shows_each_value(run) and len(run) < 32
    commit(folder)
    assert cases_run(folder, "each value") == run


def test_four_commits_in_a_row_run_every_combination(folder):
    few, runs = cases_run(folder, "each value"), []
    for _ in range(4):
        runs.append(cases_run(folder, "each value, 1 in 4"))
        assert shows_each_value(runs[-1]) and len(runs[-1]) < len(few) + 32
        commit(folder)
    assert set.union(*runs) == ALL - {"a-0"}


def test_every_combination(folder):
    assert cases_run(folder, "every") == ALL - {"a-0"}


def test_three_commits_in_a_row_share_out_the_tests(folder):
    """A test with all of its cases in one commit, or in none."""
    runs = []
    for _ in range(3):
        output = output_of(folder, TESTS_CASES="every", TESTS_SHARE="1 in 3")
        run = set(re.findall(r"::(\S+) PASSED", output))
        assert len({case for case in run if case.startswith("test_case")}) in (0, len(ALL) - 1)
        left = re.search(r"^(\d+) cases left to other commits", output, re.MULTILINE)
        assert len(run) + output.count("SKIPPED (shows nothing)") + int(left[1]) == len(ALL) + NEXT
        runs.append(run)
        commit(folder)
    assert sum(map(len, runs)) == len(set.union(*runs)) == len(ALL) - 1 + NEXT
