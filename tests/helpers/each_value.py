"""TESTS_CASES="each value": of a test's cases as many are run as it takes to show each value of each of its parameters, in
place of every combination (each-choice coverage: Ammann and Offutt, Introduction to Software Testing, 2nd edition, section
6.2).  A case that skips itself has shown nothing.  Which combinations are run is the same in every run.

TESTS_CASES="each value, 1 in 4": and of the other combinations one in four, another quarter with each commit: four in a row
run all.

TESTS_SHARE="1 in 3": a third of the tests, with what cases they have, another third with each commit: what one build runs
whole, commits share out among themselves for the others."""

import functools
import itertools
import os
import re
import subprocess
import zlib
from pathlib import Path

import pytest

WANTED = re.fullmatch(r"each value(?:, 1 in ([1-9][0-9]*))?", os.environ.get("TESTS_CASES", ""))
CHOSEN = WANTED is not None
SHARE = int(re.fullmatch(r"1 in ([1-9][0-9]*)", os.environ.get("TESTS_SHARE", "1 in 1"))[1])
shown = {}  # by test: values that cases have shown
counted = {"left out": 0, "left to other commits": 0}


def test_of(item):
    return item.nodeid.split("[")[0]


def key_of(value):
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value


def values_of(item):
    """(parameter, its value); tests without parameters have none."""
    case = getattr(item, "callspec", None)
    return {(name, key_of(value)) for name, value in case.params.items()} if case else set()


def fewest_first(cases):
    """Those first of which each shows the most values that no case before it has shown: a cover of few sets (Chvatal, A greedy
    heuristic for the set-covering problem, 1979).  What is skipped anyhow shows none."""
    values = {case.nodeid: set() if case.get_closest_marker("skip") else values_of(case) for case in cases}
    first, left = [], set().union(*values.values())
    while left:
        first.append(max(cases, key=lambda case: len(values[case.nodeid] & left)))
        left -= values[first[-1].nodeid]
    chosen = set(first)
    return first + [case for case in cases if case not in chosen]


def mix(items):
    """A test's cases in an arbitrary order, so that not the first value of one parameter meets all of the next and the others its
    first alone; and so that few show each value."""
    cases = {}
    for item in sorted(items, key=lambda item: zlib.crc32(item.nodeid.encode())):
        cases.setdefault(test_of(item), []).append(item)
    items[:] = itertools.chain(*(fewest_first(cases[name]) for name in dict.fromkeys(map(test_of, items))))


@functools.cache
def commits():
    """How many lead to this version; 0 where that is not known."""
    counted = subprocess.run(["git", "rev-list", "--count", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True)
    return 0 if counted.returncode else int(counted.stdout)


def is_its_turn(name, share):
    return (zlib.crc32(name.encode()) + commits()) % int(share) == 0


def is_left_to_another_commit(item):
    return SHARE > 1 and not is_its_turn(test_of(item), SHARE)


def shows_nothing_new(item):
    values = values_of(item)
    return CHOSEN and values and values <= shown.get(test_of(item), set()) and not (WANTED[1] and is_its_turn(item.nodeid, WANTED[1]))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """A case that is left out is neither set up nor reported, which takes milliseconds for each of thousands."""
    if is_left_to_another_commit(item):
        counted["left to other commits"] += 1
    elif shows_nothing_new(item):
        counted["left out"] += 1
    else:
        return None
    item.session._setupstate.teardown_exact(nextitem)  # of what is set up for the next case's sake only that stays
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    report = (yield).get_result()
    if CHOSEN and report.when == "call" and not report.skipped:
        shown.setdefault(test_of(item), set()).update(values_of(item))


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput.update(counted)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    for what in counted:
        counted[what] += getattr(node, "workeroutput", {}).get(what, 0)


def pytest_terminal_summary(terminalreporter):
    if counted["left out"]:
        terminalreporter.write_line(f"{counted['left out']} cases left out, as others show each of their values: "
                                    "TESTS_CASES=every takes every combination")
    if counted["left to other commits"]:
        terminalreporter.write_line(f"{counted['left to other commits']} cases left to other commits, which have other tests' turns")
