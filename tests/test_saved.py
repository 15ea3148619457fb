"""Saved accumulators: the golden ones of every version load for ever, numbers on disk never change, what is refused is
refused for the reason that is told, and no state loads that no data can lead to.

WARPFOLD_MUTATIONS=N tries N changes of each saved form instead of a few: `WARPFOLD_MUTATIONS=3000 scripts/test build
tests/test_saved.py -k mutated` takes some minutes.
"""

import os
import random
import re
import struct
import zlib

import pytest

import golden_saved
import warpfold_ctypes as wf
from abi import recorded_constants
from oracle import FLOATS, TYPES, ops_of
from samples import agree, outcome, sample

FOLLOWING = ("sum", "mean", "var", "min", "argmax", "nonzero", "norm1", "norm2", "norminf")
MUTATIONS = int(os.environ.get("WARPFOLD_MUTATIONS", "40"))
GOLDEN = list(golden_saved.read_all())


@pytest.fixture(scope="module")
def handle():
    return wf.Handle()


def with_checksum(saved):
    return saved[:-4] + struct.pack("<I", zlib.crc32(saved[:-4]))


# ---- golden files ------------------------------------------------------------------------------------


def test_there_are_golden_forms_of_every_op_and_type():
    lacking = (set(wf.OP_BY_NAME) - {recipe["op"] for _, recipe, _, _ in GOLDEN},
               set(TYPES) ^ {recipe["type"] for _, recipe, _, _ in GOLDEN})
    assert lacking == (set(), set()), "the next version's file has them: `python3 tests/golden_saved.py VERSION`"


def test_golden_forms_load_and_give_the_results_of_their_day(handle):
    for name, recipe, results, saved in GOLDEN:
        loaded = handle.load(saved)
        got = outcome(loaded.stats) if recipe["op"] == "stats" else outcome(loaded.result, recipe["op"])
        agree(results, got, name, recipe)
        assert loaded.count == recipe["count"], recipe


def test_the_same_reductions_are_saved_as_the_same_bytes(handle):
    for name, recipe, _, saved in GOLDEN:
        assert golden_saved.accumulate(handle, recipe).save() == saved, (name, recipe)


def test_golden_shapes_load_and_give_the_results_of_their_day(handle):
    golden = list(golden_saved.read_all_shaped())
    assert {"sum", "argmin", "prod", "stats", "xor"} <= {recipe["op"] for _, recipe, _, _ in golden}
    for name, recipe, results, saved in golden:
        loaded = handle.load(saved)
        assert loaded.shape == (recipe["groups"],) and loaded.count == recipe["count"], recipe
        for op, expected in results.items():
            agree([tuple(result) for result in expected], loaded.results(op), name, op, recipe)
        assert golden_saved.accumulate(handle, recipe).save() == saved, (name, recipe)


# ---- numbers -----------------------------------------------------------------------------------------


def test_numbers_are_written_out_and_never_change():
    header = (wf.ROOT / "include" / "warpfold.h").read_text()
    numbers = {}
    for body in re.findall(r"typedef enum wf_\w+ \{(.*?)\} wf_", header, re.DOTALL):
        body = re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL)
        for item in filter(None, map(str.strip, body.split(","))):
            name, number = item.split(" = ")  # each has its number
            numbers[name] = int(number)
    recorded = {name: number for name, number in recorded_constants().items() if name in numbers}
    assert recorded == numbers
    assert all(getattr(wf, name) == number for name, number in numbers.items())
    for name, number in recorded.items():
        op, type_name = wf.library.wf_op_name(number), wf.library.wf_type_name(number)
        short = name.removeprefix("WF_").lower().encode()
        if name in wf.OPS and number:
            assert op == short
        elif name in wf.TYPES and number:
            assert type_name == short


# ---- why a form is refused ---------------------------------------------------------------------------


def refusal(handle, saved):
    with pytest.raises(wf.WarpfoldError) as caught:
        handle.load(saved)
    assert caught.value.code == "WF_ERROR_FORMAT"
    return caught.value.message


def test_what_a_newer_version_saved_is_told_as_that(handle):
    saved = handle.accumulator("sum", "f64").save()
    number = len(wf.OPS) + 1
    newer = with_checksum(saved[:12] + bytes([number]) + saved[13:])
    assert f"saved by a newer version: unknown operation number {number}" in refusal(handle, newer)
    newer = with_checksum(saved[:13] + bytes([99]) + saved[14:])
    assert "saved by a newer version: unknown type number 99" in refusal(handle, newer)
    for version in (0, 3, 2**32 - 1):
        newer = with_checksum(saved[:8] + struct.pack("<I", version) + saved[12:])
        assert f"accumulator of version {version}; this warpfold reads versions 1 to 2" in refusal(handle, newer)
    misnamed = with_checksum(saved[:8] + struct.pack("<I", 2) + saved[12:])
    assert "not written by warpfold" in refusal(handle, misnamed)


def test_damage_is_told_before_anything_that_it_may_have_changed(handle):
    saved = handle.accumulator("sum", "f64").save()
    for place in (8, 12, 13, 14, 20, len(saved) - 1):
        damaged = bytearray(saved)
        damaged[place] ^= 0x55
        assert "checksum" in refusal(handle, bytes(damaged)), place
    assert "not a saved accumulator" in refusal(handle, b"PK" + saved[2:])
    assert "bytes long" in refusal(handle, saved[:12])
    assert "checksum" in refusal(handle, saved[:-1])


# ---- states that no data lead to ---------------------------------------------------------------------


def sum_of_nothing(value):
    """As "sum of 0 elements = value" would be saved."""
    saved = bytearray(wf.Handle().accumulator("sum", "i32").save())
    digits = len(saved) - 4 - 1 - (12 + 4 + 8 + 8 + 8)
    assert digits > 0
    saved[40:48] = struct.pack("<Q", value)
    return with_checksum(bytes(saved))


def test_a_sum_of_nothing_is_nothing(handle):
    assert handle.load(sum_of_nothing(0)).result("sum") == ("i64", 0)
    assert "invalid accumulator, which no data produces" in refusal(handle, sum_of_nothing(256))


@pytest.mark.sampled
@pytest.mark.parametrize("op", ["sum", "mean", "var", "norm1", "norminf", "nonzero", "xor", "and"])
@pytest.mark.parametrize("type_name", ["i8", "u8"])
def test_of_one_byte_only_what_a_byte_leads_to(handle, op, type_name):
    """All bytes there are, against all forms that differ from some of theirs in one byte of what was gathered."""

    def saved(byte):
        accumulator = handle.accumulator(op, type_name)
        accumulator.add(wf.vector(bytes([byte]), type_name))
        return accumulator.save()

    reached = {saved(byte) for byte in range(256)}
    for form in map(saved, (0, 200)):
        for place in range(32, len(form) - 4):
            for byte in range(256):
                mutant = with_checksum(form[:place] + bytes([byte]) + form[place + 1 :])
                assert (outcome(handle.load, mutant) == "WF_ERROR_FORMAT") == (mutant not in reached), mutant.hex()


def saved_forms(handle):
    """One of every op and type, and the golden ones."""
    for type_name in TYPES:
        for op in (*ops_of(type_name), "dot", "stats"):
            for count in (0, 1, 2, 9):
                data = [sample(type_name, count, "coarse", k).hex() for k in range(2 if op == "dot" else 1)]
                recipe = dict(op=op, type=type_name, count=count, data=data, nan="propagate", ddof=0,
                              result_type=None, first_index=3, merged_at=1)  # fmt: skip
                yield golden_saved.accumulate(handle, recipe).save()
    yield from (saved for _, _, _, saved in GOLDEN)


def check_possible(accumulator, context):
    """What must hold of any results whatever, judged by the results alone."""
    count, op = accumulator.count, wf.library.wf_accumulator_op(accumulator.pointer)
    name = wf.library.wf_op_name(op).decode()
    for asked in FOLLOWING if name == "stats" else (name,):
        value = outcome(accumulator.result, asked)
        if value in ("WF_ERROR_NAN", "WF_ERROR_RANGE", "WF_ERROR_MERGE", "WF_ERROR_EMPTY"):
            continue
        assert not isinstance(value, str), (value, context)
        bits = value[1]
        if count == 0 and asked in ("sum", "norm1", "norm2", "norminf", "dot", "any", "nonzero"):
            assert bits == 0, (asked, value, context)
        if asked in ("var", "std", "norm1", "norm2", "norminf") and value[0] in FLOATS:
            form = FLOATS[value[0]]
            assert not bits & form.sign or bits & ~form.sign > form.infinity, (asked, value, context)
        if asked == "nonzero" and value[0] == "u64":
            assert bits <= count, (value, context)


@pytest.mark.sampled
@pytest.mark.parametrize("part", range(8))
def test_mutated_forms_with_mended_checksums(handle, part):
    """Either refused, or saved again as just these bytes, and with results that some data could have."""
    draw = random.Random(part)
    loaded = tried = 0
    for saved in list(saved_forms(handle))[part::8]:
        assert handle.load(saved).save() == saved
        for _ in range(MUTATIONS):
            mutant = bytearray(saved)
            for _ in range(draw.choice((1, 1, 1, 2, 4))):
                place = draw.randrange(12, len(saved) - 4)
                mutant[place] = draw.choice((mutant[place] ^ 1 << draw.randrange(8), draw.randrange(256), 0, 255))
            mutant = with_checksum(bytes(mutant))
            accumulator = outcome(handle.load, mutant)
            tried += 1
            if accumulator == "WF_ERROR_FORMAT":
                continue
            loaded += 1
            assert accumulator.save() == mutant, mutant.hex()
            check_possible(accumulator, mutant.hex())
            outcome(accumulator.merge, accumulator)
    assert tried and loaded < tried / 2, (loaded, tried)
