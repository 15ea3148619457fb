"""Speed cannot rot unseen: the hot loops take no more instructions than are recorded."""

import warnings

import pytest

import instructions


@pytest.fixture(scope="module")
def budgets():
    reason = instructions.obstacle()
    if reason:
        pytest.skip(f"skipped: {reason}")
    compiler, budgets = instructions.recorded()
    if instructions.compiler() != compiler:
        pytest.skip(f"skipped: recorded of {compiler}, not of {instructions.compiler()}")
    return budgets


def test_loops_take_no_more_instructions_than_recorded(budgets):
    counted = instructions.counted()
    assert counted.keys() == budgets.keys(), "`python3 tests/instructions.py` records what is counted"
    ratios = {name: counted[name] / budgets[name] for name in budgets}
    slower = {name: f"{ratio:.2f} times as many" for name, ratio in ratios.items() if ratio > instructions.ROOM}
    assert slower == {}, "if that is meant, `python3 tests/instructions.py` records it"
    faster = [f"{name}: {ratio:.2f}" for name, ratio in ratios.items() if ratio < 1 / instructions.ROOM]
    if faster:
        warnings.warn(f"better than recorded; `python3 tests/instructions.py` keeps it so: {', '.join(faster)}")
