"""A plain read that begins a loop with atomicCAS() is advice where the atomic verifies all that is done with it, else a race."""

import pytest

from finding_helpers import nvrtc  # noqa: F401
from inspect_helpers import inspected

pytestmark = pytest.mark.usefixtures("nvrtc")

KERNEL = """__global__ void f(const TYPE *in, TYPE *out, WORD *other)
{
    __shared__ TYPE s[2];
    if (threadIdx.x < 2) s[threadIdx.x] = 0;
    __syncthreads();
    TYPE x = in[blockIdx.x * blockDim.x + threadIdx.x];
    WORD *p = (WORD *)PLACE;
    WORD old = *p, assumed; // first
    do {
        assumed = old;
        old = atomicCAS(p, assumed, NEW);
    } while (assumed != old);
}
"""
WORDS = {"f64": ("double", "unsigned long long", "u64"), "f32": ("float", "int", "i32"), "u32": ("unsigned", "unsigned", "u32")}
NEW = {"f64": "__double_as_longlong(x + __longlong_as_double(assumed))",
       "f32": "__float_as_int(fmaxf(x, __int_as_float(assumed)))", "u32": "assumed * (x | 1)"}


def report_of(write, kind, place, changes=(), status=0):
    source = KERNEL.replace("PLACE", place).replace("NEW", NEW[kind])
    for was, now in changes:
        assert was in source
        source = source.replace(was, now)
    number, word, other = WORDS[kind]
    return inspected(write("f.cu", source.replace("TYPE", number).replace("WORD", word)), "--grid", 2, "--block", 64,
                     "--arg", f"{kind}[128]=iota", "--arg", f"{kind}[2]=ones", "--arg", f"{other}[128]=zeros", status=status)


@pytest.mark.parametrize("place", ["s", "out", "&s[1]", "&out[1]", "(s + threadIdx.x % 2)", "(out + threadIdx.x % 2)"])
@pytest.mark.parametrize("kind", WORDS)
def test_a_guess_that_the_atomic_verifies_is_advice(kind, place, write):
    report = report_of(write, kind, place)
    assert not report["findings"]
    advice, = [advice for advice in report["advice"] if advice["kind"] == "plain-first-read"]
    assert (advice["line"], advice["least"]) == (8, 0) and advice["count"] > 0
    assert "atomicCAS(p, 0, 0)" in advice["cure"]


@pytest.mark.parametrize("change", [("atomicCAS(p,", "atomicCAS(p - 1,"), ("WORD old = *p", "WORD old = p[-1]")])
@pytest.mark.parametrize("place", ["&s[1]", "&out[1]"])
def test_a_guess_of_another_element_is_verified_by_nothing(place, change, write):
    for kind in WORDS:
        report = report_of(write, kind, place, [change], status=0)
        assert "plain-first-read" not in {advice["kind"] for advice in report["advice"]}


LARGEST = """__global__ void largest(const float *in, float *out)
{
    int *bits = (int *)out;
    float v = in[blockIdx.x * blockDim.x + threadIdx.x];
    %s
}
"""


@pytest.mark.parametrize("update, read, exchanged", [
    ("while (*out < v)\n        atomicCAS(bits, __float_as_int(*out), __float_as_int(v));", 5, 6),
    ("int old = *bits;\n    while (__int_as_float(old) < v) {\n        int seen = atomicCAS(bits, old, __float_as_int(v));\n        if (seen == old) break;\n"
     "        old = seen;\n    }", 5, 7)])
def test_a_largest_by_exchanges_that_reads_plainly_is_told_that_and_of_no_lock(update, read, exchanged, write):
    report = inspected(write("f.cu", LARGEST % update), "--grid", 2, "--block", 64, "--arg", "f32[128]=iota", "--arg", "f32[1]=zeros", status=3)
    messages = [finding["message"] for finding in report["findings"]]
    assert any(f"line {read} reads by a plain load what others change by the atomicCAS() of line {exchanged}" in message for message in messages), messages
    assert not any("the lock" in message or "__threadfence()" in message for message in messages)


USES = {
    "decides": [("    do {", "    if (old > 100) return;\n    do {")],
    "is stored": [("    do {", "    other[threadIdx.x + blockIdx.x * 64] = old;\n    do {")],
    "is compared elsewhere": [("atomicCAS(p,", "atomicCAS(other,")],
    "is an address": [("    do {", "    x += in[old & 63];\n    do {")],
    "is added elsewhere": [("    do {", "    atomicAdd(other, old);\n    do {")],
    "is used later": [("WORD old = *p, assumed;", "WORD old = *p, assumed, begun = old;"),
                      ("(assumed != old);", "(assumed != old);\n    other[threadIdx.x + blockIdx.x * 64] = begun;")],
    "is stored in later rounds": [("WORD old = *p, assumed;", "WORD old = *p, assumed, begun = old;"),
                                  ("assumed * (x | 1)", "begun + 1")],
}


@pytest.mark.parametrize("use", USES)
def test_what_was_read_and_used_in_another_way_is_a_race(use, write):
    changes = list(USES[use])
    if use == "is compared elsewhere":  # and others update what is read
        changes.append(("(assumed != old);", "(assumed != old);\n    atomicAdd(p, 1);"))
    report = report_of(write, "u32", "out", changes, status=3)
    assert any(finding["kind"] == "race" and (finding["line"] == 8 or ":8" in finding["message"]) for finding in report["findings"])
    assert "plain-first-read" not in {advice["kind"] for advice in report["advice"]}
