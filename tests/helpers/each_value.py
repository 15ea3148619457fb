"""TESTS_CASES="each value": of a test's cases as many are run as it takes to show each value of each of its parameters, in
place of every combination (each-choice coverage: Ammann and Offutt, Introduction to Software Testing, 2nd edition, section
6.2).  A case that skips itself has shown nothing.  Which combinations are run is the same in every run."""

import os
import zlib

import pytest

CHOSEN = os.environ.get("TESTS_CASES") == "each value"
shown = {}  # by test: values that cases have shown


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


def mix(items):
    """A test's cases in an arbitrary order: as they are written, the first value of one parameter would meet all of the next,
    and the others its first alone."""
    turns = {}
    items.sort(key=lambda item: (turns.setdefault(test_of(item), len(turns)), zlib.crc32(item.nodeid.encode())))


def skip_what_others_show(item):
    values = values_of(item)
    if values and values <= shown.get(test_of(item), set()):
        pytest.skip("other cases show each of its values: TESTS_CASES=every takes every combination")


def note(item, report):
    if report.when == "call" and not report.skipped:
        shown.setdefault(test_of(item), set()).update(values_of(item))
