"""What other compilers (clang, Triton, tinygrad) write otherwise than nvcc does."""

import struct

import pytest

from cli_helpers import run
from inspect_helpers import HEAD, inspected, kernel, parameters, read_npy

ONE = "ld.param.u64 %rd1, [k_param_0]; mov.u32 %r1, 40; "


def left_by(tmp_path, text, threads):
    """What is in four words, at first 7 to 10."""
    (tmp_path / "k.ptx").write_text(HEAD + text)
    out = tmp_path / "words.npy"
    report = inspected(tmp_path / "k.ptx", "--block", threads, "--arg", "u32[4]=7,8,9,10", "--out", f"0={out}")
    assert report["findings"] == []
    return list(struct.unpack("<4I", read_npy(out)[2]))


@pytest.mark.parametrize("body, values", [
    ("ld.global.b32 {%r2}, [%rd1+4]; st.global.b32 [%rd1], {%r2};", [8, 8, 9, 10]),
    ("@!%p1 st.global.b32 [%rd1+8], {5};", [7, 8, 5, 10]),
    ("mov.b32 {%r2}, %r1; mov.b32 %r3, {%r2}; st.global.b32 [%rd1+12], %r3;", [7, 8, 9, 40]),
    ("ldu.global.b32 {%r2}, [%rd1+8]; st.volatile.global.b32 [%rd1], {%r2};", [9, 8, 9, 10]),
])
def test_lists_of_one(tmp_path, body, values):
    text = kernel("k", parameters("k", "u64"), ONE + "setp.eq.u32 %p1, %r1, 0; " + body + " ret;")
    assert left_by(tmp_path, text, 1) == values


@pytest.mark.parametrize("instruction, said", [
    ("add.u32 %r2, {%r1}, %r1", "operand 2 must be a register or a constant"),
    ("atom.global.add.u32 {%r2}, [%rd1], %r1", "the destination must be a register"),
    ("ld.global.v2.b32 {%r2}, [%rd1]", "operand 1 must be a vector of 2"),
])
def test_lists_of_one_that_ptxas_refuses(tmp_path, instruction, said):
    (tmp_path / "k.ptx").write_text(HEAD + kernel("k", parameters("k", "u64"), f"{ONE}{instruction}; ret;"))
    done = run("inspect", tmp_path / "k.ptx", "--arg", "u32[4]=zeros")
    assert done.returncode == 1 and said in done.stderr, done


@pytest.mark.parametrize("body, value", [
    ("mov.u32 %r2, words[3]; mov.u32 %r3, words; sub.u32 %r2, %r2, %r3;", 12),
    ("st.shared.u32 words[2], 40; ld.shared.u32 %r2, [words+8];", 40),
    ("st.shared.u32 [words+4], 41; ld.shared.u32 %r2, words[1];", 41),
    ("st.shared.v2.u32 words[2], {42, 43}; ld.shared.u32 %r2, words[3];", 43),
    ("st.shared.u16 [halves+6], 44; ld.shared.u16 %r2, halves[3];", 44),
    ("cvta.shared.u64 %rd2, words[1]; st.u32 [%rd2], 45; ld.shared.u32 %r2, words[1];", 45),
])
def test_elements_of_arrays(tmp_path, body, value):
    """"Arrays as Operands" of the PTX ISA, as tinygrad writes them: an index counts elements, as ptxas has it."""
    arrays = ".shared .align 16 .b32 words[8]; .shared .align 16 .b16 halves[8]; "
    text = kernel("k", parameters("k", "u64"), f"{arrays}{ONE}{body} st.global.u32 [%rd1], %r2; ret;")
    assert left_by(tmp_path, text, 1) == [value, 8, 9, 10]


@pytest.mark.parametrize("instruction, said", [
    ("ld.shared.u32 %r2, words[%r1]", "an index other than a constant integer is not supported, found '%r1': add it to the address"),
    ("ld.shared.u32 %r2, words[0f3F800000]", "an index other than a constant integer is not supported"),
    ("ld.shared.u32 %r2, [words[1]]", "expected ']'"),
    ("atom.shared.add.u32 %r2, words[1], %r1", "operand 2 must be an address in brackets"),
])
def test_elements_of_arrays_that_are_refused(tmp_path, instruction, said):
    (tmp_path / "k.ptx").write_text(HEAD + kernel("k", parameters("k", "u64"), f".shared .b32 words[8]; {ONE}{instruction}; ret;"))
    done = run("inspect", tmp_path / "k.ptx", "--arg", "u32[4]=zeros")
    assert done.returncode == 1 and said in done.stderr, done


SUM_OF_A_STRUCT = """
.func (.param .b32 total) add_up(.param .align 4 .b8 given[16], .param .b32 first)
{
    .reg .pred %p;
    .reg .b32 %r<5>;
    .reg .b64 %rd<3>;
    mov.b64 %rd1, given;
    ld.param.u32 %r1, [first];
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd1, %rd1, %rd2;
    mov.u32 %r2, 0;
next:
    ld.param.u32 %r3, [%rd1];
    add.u32 %r2, %r2, %r3;
    add.u64 %rd1, %rd1, 4;
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p, %r1, 4;
    @%p bra next;
    st.param.b32 [total], %r2;
    ret;
}
"""


def test_a_structs_parts_by_address(tmp_path):
    """A function reads what it is given by value where a register says; each lane begins at another part."""
    call = """
    mov.u32 %r1, %tid.x;
    {
    .param .align 4 .b8 to[16];
    .param .b32 begin;
    .param .b32 back;
    st.param.b32 [to], 1; st.param.b32 [to+4], 20; st.param.b32 [to+8], 300; st.param.b32 [to+12], 4000;
    st.param.b32 [begin], %r1;
    call (back), add_up, (to, begin);
    ld.param.b32 %r2, [back];
    }
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r2;
    ret;"""
    text = SUM_OF_A_STRUCT + kernel("k", parameters("k", "u64"), "ld.param.u64 %rd1, [k_param_0];" + call)
    assert left_by(tmp_path, text, 4) == [4321, 4320, 4300, 4000]


def test_a_parity_is_its_lowest_bit(tmp_path):
    """As an H200 reads it; Triton waits for 0 and -1.  Each lane waits with another parity, in the first phase, then in the second."""
    text = """
    .shared .align 8 .b64 barrier;
    .reg .b64 %state;
    ld.param.u64 %rd1, [k_param_0];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd1, %rd1, %rd2;
    ld.global.u32 %r2, [%rd1];
    setp.eq.u32 %p1, %r1, 0;
    @%p1 mbarrier.init.shared::cta.b64 [barrier], 1;
    bar.sync 0;
    mbarrier.test_wait.parity.shared::cta.b64 %p2, [barrier], %r2;
    bar.sync 0;
    @%p1 mbarrier.arrive.shared::cta.b64 %state, [barrier];
    bar.sync 0;
    mbarrier.try_wait.parity.shared::cta.b64 %p3, [barrier], %r2;
    selp.u32 %r3, 1, 0, %p2;
    selp.u32 %r4, 2, 0, %p3;
    add.u32 %r3, %r3, %r4;
    st.global.u32 [%rd1], %r3;
    ret;"""
    (tmp_path / "k.ptx").write_text(HEAD.replace("sm_75", "sm_90") + kernel("k", parameters("k", "u64"), text))
    parities = [0, 1, 2, 3, 2**31, 2**31 + 1, 2**32 - 1, 2**32 - 2]
    out = tmp_path / "parities.npy"
    report = inspected(tmp_path / "k.ptx", "--block", len(parities), "--arg", f"u32[{len(parities)}]={','.join(map(str, parities))}",
                       "--out", f"0={out}")
    assert report["findings"] == []
    assert list(struct.unpack(f"<{len(parities)}I", read_npy(out)[2])) == [1 if parity % 2 else 2 for parity in parities]
