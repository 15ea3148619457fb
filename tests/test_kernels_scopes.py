"""Scopes of atomic accesses, releases and acquires: what orders threads of a block orders no other block's."""

import pytest

from kernel_helpers import SCHEDULES, Case, changed, check, inspect, result, zeros

SOURCE = "scopes.cu"
SCOPED = "both are atomic, but the scope .cta of one is its own block"
UNORDERED = "only a fence and an atomic order accesses of two blocks"


def words(*after):
    return [changed("i32", [0] * 4, list(after))]


def passing(kernel, grid="2", block="32"):
    return Case(SOURCE, kernel, grid, block, words(42, 1, 42, 0))


RIGHT = [
    Case(SOURCE, "count<device>", "4", "64", words(256, 0, 0, 0)),
    Case(SOURCE, "count<block>", "1", "64", words(64, 0, 0, 0)),
    Case(SOURCE, "count_apart<block>", "4", "64", words(64, 64, 64, 64)),
    passing("pass<device, device, false>"),
    passing("pass<block, block, true>", "1", "64"),
    passing("pass<device, block, true>", "1", "64"),
    passing("pass_fenced<device, device>"),
    Case(SOURCE, "exchange<true, true>", "2", "1", words(7, 0, 0, 0)),
    passing("pass_volatile<true>", block="1"),
    Case(SOURCE, "watch<device>", "2", "1", words(1, 0, 0, 0)),
    Case(SOURCE, "whole_vectors", "8", "32",
         [zeros("i32", 128), zeros("i32", 32, [0] * 32), zeros("i32", 32, [7] * 32)]),
    Case(SOURCE, "counted_pairs", "4", "16", [zeros("i64", 2, [64, -64]), zeros("i32", 1, [0])]),
    Case(SOURCE, "reversed_words", "1", "32",
         [changed("u32", list(range(128)), [4 * t + 3 - w for t in range(32) for w in range(4)]),
          result("u32", list(range(128))), result("u32", [4 * t + 1 for t in range(32)])]),
    # f16: 32 is 0x5000, 64 0x5400; the greatest of 0, -1 and small numbers is 31 units of the last place.
    Case(SOURCE, "vector_sums", "1", "32",
         [zeros("f32", 4, [32, sum(range(32)), -64, 16]),
          changed("f32", [x for t in range(32) for x in (10 * t, 20 * t, 0, 0)],
                  [x for t in range(32) for x in (10 * t + 4, 20 * t + 3, 10 * t, 20 * t)]),
          zeros("u32", 4, [0x50005000, 0x50005400, 0x50005000, 0x54005000]), zeros("u32", 2, [0x3c004000, 31])]),
]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("case", RIGHT, ids=str)
def test_right_scopes(case, schedule, tmp_path):
    check(case, schedule, tmp_path)


# What is said of them: that the flag's accesses race themselves, that what they were to order does, or both.
WRONG = [("count<block>", {SCOPED}), ("count_mixed", {SCOPED}),
         ("pass<block, device, false>", {SCOPED, UNORDERED}), ("pass<device, block, false>", {SCOPED, UNORDERED}),
         ("pass<block, block, false>", {SCOPED, UNORDERED}), ("pass_fenced<block, device>", {UNORDERED}),
         ("pass_fenced<device, block>", {SCOPED, UNORDERED}), ("pass_fenced<block, block>", {SCOPED, UNORDERED}),
         ("exchange<true, false>", {UNORDERED}), ("exchange<false, true>", {UNORDERED}),
         ("exchange<false, false>", {UNORDERED}), ("pass_volatile<false>", {UNORDERED}), ("watch<block>", {SCOPED})]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("kernel, said", WRONG)
def test_wrong_scopes(kernel, said, schedule, tmp_path):
    findings = inspect(Case(SOURCE, kernel, "2", "32", words(0, 0, 0, 0)), tmp_path, "--schedule", schedule,
                       status=3)["findings"]
    assert {finding["kind"] for finding in findings} == {"race"}
    told = {text for text in (SCOPED, UNORDERED) for finding in findings if text in finding["message"]}
    assert told == said
