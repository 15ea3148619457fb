"""warpfold judge: what a task may say, and what is said of a wrong one."""

import math
import re

import pytest

from cli_helpers import ROOT, printed, refused
from judge_helpers import GOOD, ONE_SIZE, SUM, TREE, kinds, verdict
from kernel_helpers import has_nvcc, has_nvrtc

pytestmark = pytest.mark.skipif(not has_nvrtc() and not has_nvcc(), reason="neither NVRTC nor nvcc")

SPECIAL = """Title: a task with special values
Signature: __global__ void reduce(const float *in, float *out, int n)
Block: 32
Grid: 1
Argument: in input f32[n] {data}
Argument: out output f32[1] zeros
Argument: n scalar i32 n
Sizes: {size}
{nan}Expect: out = {op}(in)
"""


@pytest.mark.parametrize("op, data, nan, result", [
    ("sum", "integers(1, 8) with nan", "", 'nanf("")'), ("sum", "integers(1, 8) with inf", "", "INFINITY"),
    ("sum", "uniform(-1, 1) with -inf", "", "-INFINITY"), ("max", "integers(1, 8) with nan", "NaN: propagate\n", 'nanf("")'),
    ("max", "integers(5, 5) with -inf nan", "NaN: omit\n", "5"), ("min", "integers(5, 5) with -inf nan", "NaN: omit\n", "-INFINITY"),
    ("max", "uniform(-inf, -inf)", "", "-INFINITY"), ("max", "uniform(-5, 5) with 200.5", "", "200.5")])
def test_special_values_have_the_result_that_the_task_says(op, data, nan, result, write):
    task = write("a.task", SPECIAL.format(data=data, size=50, nan=nan, op=op))
    kernel = "__global__ void reduce(const float *in, float *out, int n)\n{ *out = %s; }\n"
    # Where two values stand on one place the second stays.
    told = verdict(write("kernel.cu", kernel % result), "--task", task)
    wrong = verdict(write("wrong.cu", kernel % "7"), "--task", task, status=3)
    assert told["accepted"] or ("-inf nan" in data and op == "min" and told["reasons"][0]["launches"] < 4)
    assert wrong["reasons"][0]["message"].split(";")[0].endswith("must be " + result.replace('nanf("")', "nan").replace("INFINITY", "inf"))


@pytest.mark.parametrize("data", ["integers(1, 8) with", "integers(1, 8) with five", "integers(1, 8) with inf -inf nan", "uniform(0, 1) nan",
                                  "uniform(-inf, 1)", "uniform(nan, nan)"])
def test_wrong_special_values_are_told(data, write):
    refused(2, "with nan, inf, -inf or a number behind it, two at most", "judge", "--task",
            write("a.task", SPECIAL.format(data=data, size=9, nan="", op="sum")), write("kernel.cu", SUM))


@pytest.mark.parametrize("data", ["integers(1, 8) with nan", "integers(-inf, -inf)"])
def test_integers_have_no_special_values(data, write):
    task = SPECIAL.format(data=data, size=9, nan="", op="sum").replace("f32[n]", "i32[n]").replace("const float", "const int")
    refused(2, "integers have no NaN and no infinity", "judge", "--task", write("a.task", task), write("kernel.cu", SUM))


TWO_PASSES = """
Title: the sum of n floats in two passes
Signature: __global__ void block_sums(const float *in, float *partials, int n)
Block: 64
Grid: ceil(n / 64)
Shared: 4 * block
Signature: __global__ void add_up(const float *partials, float *out, int count)
Block: 1
Grid: 1
Argument: in       input   f32[n]    integers(-8, 8) | uniform(0.5, 1)
Argument: partials scratch f32[grid]
Argument: count    scalar  i32       grid
Argument: out      output  f32[1]
Argument: n        scalar  i32       n
Sizes: 1 64 200
Expect: out = sum(in)
Gate: barriers <= 28
"""

TWO_KERNELS = SUM.replace("reduce", "block_sums").replace("float *out", "float *partials").replace(
    "atomicAdd(out, s[0])", "partials[blockIdx.x] = s[0]") + """
__global__ void add_up(const float *partials, float *out, int count)
{
    float sum = 0;
    for (int i = 0; i < count; i++)
        sum += partials[i];
    *out = sum;
}
"""


def test_kernels_that_are_launched_in_order(write):
    task = write("a.task", TWO_PASSES)
    told = verdict(write("kernel.cu", TWO_KERNELS), "--task", task, status=0)
    assert told["launches"] == 3 * 2 * 4 + 2 * 2 + len(told["sizes"]) - 3  # 2 * 2 with equal elements and with different ones
    assert told["gates"][0]["value"] == 4 * 7  # the first kernel's; the second has none
    assert told["roundings"] <= 6 + 4  # along the chain through both


@pytest.mark.parametrize("was, now, faults", [
    ("sum += partials[i]", "sum = partials[i]", {"result"}),
    ("i < count", "i <= count", {"bounds"}),
    ("partials[blockIdx.x] = s[0]", "if (blockIdx.x < 3) partials[blockIdx.x] = s[0]", {"uninitialised", "result"}),
    ("        __syncthreads();", "        __syncthreads(); __syncthreads();", {"gate"}),
])
def test_a_fault_in_either_kernel_is_found(was, now, faults, write):
    assert was in TWO_KERNELS
    told = verdict(write("kernel.cu", TWO_KERNELS.replace(was, now)), "--task", write("a.task", TWO_PASSES), status=3)
    assert kinds(told) == faults
    assert all("barriers of block_sums is" in reason["message"] for reason in told["reasons"] if reason["kind"] == "gate")


@pytest.mark.parametrize("was, now, faults", [
    ("totals[blockIdx.x - 1]", "totals[blockIdx.x]", {"result"}),
    ("i < n && blockIdx.x", "i < n && blockIdx.x > 1", {"result"}),
    ("threadIdx.x == blockDim.x - 1", "i == n - 1", {"uninitialised", "result"}),
    ("        __syncthreads();\n    }", "    }", {"race"}),
])
def test_a_scan_by_three_kernels_with_a_fault_in_one(was, now, faults, write):
    assert was in GOOD["scan_blocks"]
    kernel = write("kernel.cu", GOOD["scan_blocks"].replace(was, now))
    assert kinds(verdict(kernel, "--task", "scan_blocks", status=3)) == faults


@pytest.mark.parametrize("was, now, said", [
    ("int count)", "int counted)", "'counted' in the signature of 'add_up' is no argument of the task"),
    ("Block: 1\n", "", "7: there is no line 'Block:' for the kernel 'add_up'"),
    ("Grid: 1\n", "Grid: 1\nGrid: 2\n", "Grid is given twice"),
    ("void add_up", "void total", "has no kernel 'total'"),
])
def test_a_wrong_task_of_several_kernels_is_told(was, now, said, write):
    task = TWO_PASSES.replace(was, now)
    assert task != TWO_PASSES
    refused(2, said, "judge", "--task", write("a.task", task), write("kernel.cu", TWO_KERNELS))


def test_a_result_in_place(write):
    """The output may be an input, too: its elements in the reference are those before the launch."""
    task = write("a.task", """Title: y = 2 x + y
Signature: __global__ void add(const float *x, float *y, int n)
Block: 128 | 33
Grid: ceil(n / block)
Argument: x input f32[n] integers(-8, 8) | uniform(-1, 1)
Argument: y inout f32[n] integers(-8, 8) | uniform(-1, 1)
Argument: n scalar i32 n
Sizes: 0 1 100 300 ...
Expect: y[i] = 2 * x[i] + y[i]
""")
    source = """__global__ void add(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += 2 * x[i];
}
"""
    assert verdict(write("kernel.cu", source), "--task", task, status=0)["error_ulp"] > 0
    for was, now in (("y[i] +=", "y[i] ="), ("2 * x", "x"), ("i < n", "i + 1 < n"), ("y[i] += 2 * x[i]", "y[i] = y[i]")):
        assert kinds(verdict(write("kernel.cu", source.replace(was, now)), "--task", task, status=3)) == {"result"}


def test_a_stencil_by_an_expression(write):
    task = """Title: a stencil
Signature: __global__ void blur(const float *in, float *out, float weight, int n)
Block: 64
Grid: ceil(n / 64)
Argument: in input f32[n] uniform(-1, 1) | integers(-9, 9)
Argument: out output f32[n]
Argument: weight scalar f32 0.25
Argument: n scalar i32 n
Sizes: 1 65 200
Expect: out[i] = weight * in[max(i - 1, 0)] + in[i] / 2 + weight * in[min(i + 1, n - 1)]
Roundings: 8
"""
    source = "__global__ void blur(const float *in, float *out, float weight, int n)\n{\n" \
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n)\n" \
        "        out[i] = weight * in[max(i - 1, 0)] + 0.5f * in[i] + weight * in[min(i + 1, n - 1)];\n}\n"
    task_path = write("a.task", task.replace("in[i] / 2", "0.5 * in[i]").replace("Roundings: 8\n", ""))
    verdict(write("kernel.cu", source), "--task", task_path, status=0)
    assert kinds(verdict(write("kernel.cu", source.replace("i - 1, 0", "i - 1, 1")), "--task", task_path, status=3)) >= {"result"}
    assert math.isfinite(verdict(write("kernel.cu", source), "--task", write("b.task", task))["bound_ulp"])


SIMPLE = """__global__ void reduce(const %s *in, %s *out, int n)
{
    if (blockIdx.x + threadIdx.x == 0) {
        %s sum = 0;
        for (int i = 0; i < n; i++)
            sum += in[i];
        *out = sum;
    }
}
"""


@pytest.mark.sampled
@pytest.mark.parametrize("type_name, c_type, out, c_out, data", [
    ("u8", "unsigned char", "u32", "unsigned int", "integers(0, 255)"), ("i8", "signed char", "i32", "int", "integers(-128, 127)"),
    ("i64", "long long", "i64", "long long", "integers(-4e15, 4e15)"), ("u64", "unsigned long long", "u64",
                                                                    "unsigned long long", "integers(0, 9e15)"),
    ("f64", "double", "f64", "double", "uniform(-1, 1)")])
def test_types(type_name, c_type, out, c_out, data, write):
    task = ONE_SIZE.replace("f32[n] uniform(0.5, 1)", f"{type_name}[n] {data}").replace("f32[1]", f"{out}[1]")
    task = task.replace("512", "1 33 512").replace("const float *in, float *out", f"const {c_type} *in, {c_out} *out")
    kernel = SIMPLE % (c_type, c_out, c_out)
    told = verdict(write("good.cu", kernel), "--task", write("a.task", task), status=0)
    assert (told["error_ulp"] is None) == (out != "f64") and told["launches"] == 12 + 2 * 2 + len(told["sizes"]) - 3
    off = verdict(write("bad.cu", kernel.replace("= sum;", "= sum + 1;")), "--task", write("a.task", task), status=3)
    assert kinds(off) == {"result"}


def test_an_exclusive_scan_and_a_reduction_of_nothing(write):
    scan = (ROOT / "tasks" / "scan.task").read_text().replace("scan(in)", "exclusive_scan(in)")
    shifted = "    extern __shared__ float s[];\n    s[t] = mine;\n    __syncthreads();\n    if (t < n)\n        out[t] = t ? s[t - 1] : 0;\n"
    source = GOOD["scan"].replace("    if (t < n)\n        out[t] = mine;\n", shifted)
    verdict(write("shifted.cu", source), "--task", write("scan.task", scan), status=0)
    assert kinds(verdict(write("scan.cu", GOOD["scan"]), "--task", write("scan.task", scan), status=3)) == {"result"}
    largest = (ROOT / "tasks" / "max.task").read_text().replace("Sizes: 1", "Sizes: 0 1") + "Empty: -inf\n"
    source = GOOD["max"].replace("best = in[0]", "best = n ? in[0] : __int_as_float(0xff800000)")
    verdict(write("max.cu", source), "--task", write("max.task", largest), status=0)
    assert "bounds" in kinds(verdict(write("max.cu", GOOD["max"]), "--task", write("max.task", largest), status=3))


BLOCKS = """
Title: a sum in blocks of any size
Signature: __global__ void reduce(const float *in, float *out, int n)
Block: 256 | 32 | 96, 2 | 1024
Grid: ceil(n / block)
Shared: 4 * block
Argument: in  input  f32[n]  integers(-8, 8) | uniform(-1, 1)
Argument: out output f32[1]  zeros
Argument: n   scalar i32     n
Sizes: 0 1 31 33 256 1000 2500
Expect: out = sum(in)
"""

ANY_BLOCK = """
__global__ void reduce(const float *in, float *out, int n)
{
    int threads = blockDim.x * blockDim.y, i = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    if (i < n && %s)
        atomicAdd(out, in[i]);
}
"""


def test_a_kernel_is_tried_in_each_block_of_its_task(write):
    told = verdict(write("kernel.cu", ANY_BLOCK % "threads"), "--task", write("a.task", BLOCKS), status=0)
    assert told["launches"] == 7 * 2 * 4 + 4 * 2 + 3 * 7 + 2 * 2 + len(told["sizes"]) - 7  # 2 * 2 with blocks in turns
    assert told["blocks"] == ["256", "32", "96x2", "1024"]
    assert "  blocks of 256; the task's sizes in blocks of 32, 96x2, 1024, too" in printed(
        "judge", write("kernel.cu", ANY_BLOCK % "threads"), "--task", write("a.task", BLOCKS)).splitlines()
    one = verdict(write("kernel.cu", ANY_BLOCK % "threads"), "--task", write("a.task", re.sub(r" \|.*1024", "", BLOCKS)), status=0)
    assert one["launches"] == told["launches"] - 3 * 7


@pytest.mark.parametrize("condition, threads", [("threads != 32", 32), ("blockDim.y == 1", 192), ("blockDim.x <= 256", 1024)])
def test_a_kernel_that_is_wrong_in_one_block_is_refused(condition, threads, write):
    told = verdict(write("kernel.cu", ANY_BLOCK % condition), "--task", write("a.task", BLOCKS), status=3)
    wrong = [reason["where"] for reason in told["reasons"]]
    assert kinds(told) == {"result"} and all(where.endswith(f", blocks of {threads} threads") for where in wrong)


@pytest.mark.parametrize("line, said", [
    ("nonsense", "4: 'nonsense' is not of the form 'Key: value'"),
    ("Nonsense: 1", "there is no key 'Nonsense'; there are Title, Signature, Block, Grid, Shared, Options, Argument, Sizes, Expect, "
     "Roundings, Empty, NaN, Gate, Header"),
    ("Title: again", "Title is given twice"),
    ("Argument: in input f32[n] uniform(0, 1)", "there are two arguments 'in'"),
    ("Argument: x input f16[n] uniform(0, 1)", "types are i8 to i64"),
    ("Argument: x input f32[n] normal(0, 1)", "an input has uniform(LOW, HIGH)"),
    ("Argument: x input u8[n] integers(-8, 300)", "4: 'integers(-8, 300)': not all of its values are of the type u8"),
    ("Argument: x input f32[n] uniform(1, 0)", "an input has uniform(LOW, HIGH)"),
    ("Argument: x both f32[n]", "the role is input, inout, output, scratch or scalar, not 'both'"),
    ("Argument: x scratch f32[m]", "a.task:4: 'm': there is no such name"),
    ("Argument: x scalar i32", "the scalar x has no value"),
    ("Gate: bank_degree", "a gate is 'count <= bound'"),
    ("Gate: bank_degree <= (1", "a ')' is missing"),
    ("Gate: nonsense <= 1", "a.task:4: the simulator has no count 'nonsense'"),
    ("Sizes: 12y", "'12y' is not a size"),
    ("Sizes: 100000x100000", "at most 2^24 elements"),
    ("Sizes: 8 512", "the size 512 is given twice: its launches would only be repeated; leave one out"),
    ("Options: fast", "a.task:4: 'fast' is no option of the compiler, which begin with '-'"),
    ("Options: -DX --nonsense", "a.task:4: the compiler does not take these 'Options:': "),
    ("Shared: n / 0", "it divides by zero"),
    ("Shared: 0 - 1", "is not from 0 to"),
    ("Shared: 40000 * block", "a.task:4: '40000 * block' is 1280000 bytes of shared memory where n = 512, and a block may have 2^20"),
    ("Shared: " + "(" * 40, "nested too deep"),
    ("Roundings: n +", "a number or a name is missing"),
    ("Argument: x scalar i32 n", "the signature has 3 parameters, and the task 4 arguments"),
    ("Argument: x scratch f32[n]", "the signature has 3 parameters, and the task 4 arguments"),
])
def test_a_wrong_line_of_a_task_is_named(line, said, write):
    lines = ONE_SIZE.splitlines()
    task = write("a.task", "\n".join([*lines[:3], line, *lines[3:]]))
    source = TREE
    if line.startswith("Argument: x sc"):
        source = TREE.replace("(const", "(float *x, const") if "scratch" in line else TREE
    refused(2, said, "judge", "--task", task, write("kernel.cu", source))


@pytest.mark.parametrize("was, now, said", [
    ("sum(in)", "mad(in)", "'mad' is no reference"),
    ("sum(in)", "sum(out)", "'out' is no input"),
    ("sum(in)", "dot(in)", "takes 2 input(s)"),
    ("sum(in)", "sum(in) by column", "only 'by row'"),
    ("sum(in)", "sum", "is no reference"),
    ("out = sum", "in = sum", "'in' is no output"),
    ("out = sum", "out[j] = sum", "one element of the output is name[i]"),
    ("out = sum(in)", "out[i] = in[i] / 2", "needs 'Roundings:'"),
    ("out = sum(in)", "out[i] = in[n]", "a.task:9: 'in[n]': there is no such element, where n = 512 and i = 0"),
    ("out = sum(in)", "out[i] = in[i] + m", "'in[i] + m': there is no such name"),
    ("Block: 32", "Block: 64, 32", "a.task:2: a block of 'reduce' has 2048 threads where n = 512, and may have 1024"),
    ("Block: 32", "Block: 32 | n * 4", "a.task:2: a block of 'reduce' has 2048 threads where n = 512, and may have 1024"),
    ("Grid: 1", "Grid: 1, n * 200", "a.task:4: the grid of 'reduce' has 102400 blocks along y where n = 512, and may have 65535"),
    ("scalar i32 n", "scalar i8 n", "a.task:7: the scalar 'n' is 512 where n = 512, which is no value of the type i8"),
    ("float *out, int n", "int n, float *out", "a.task:2: 'n' is parameter 2 of the signature, and argument 3"),
    ("output f32[1]", "output i64[1]", "a.task:6: 'out' has the type i64, and is a pointer to float in the signature: give it f32"),
    ("const float *in", "const unsigned short *in", "a.task:5: 'in' has the type f32, and is a pointer to unsigned short in the"),
    ("Expect: out = sum(in)", "", "there is no line 'Expect:'"),
    ("Sizes: 512", "Sizes: 0\nGrid: 1", "Grid is given twice"),
    ("sum(in)", "softmax(in)", "a.task:9: softmax takes and gives"),
    ("f32[n]", "f32[n * 1000000]", "'in' has 512000000 elements where n = 512, and may have 2^26"),
    ("sum(in)", "norm2(in)", "var, std and norm2 need 'Roundings:'"),
    ("sum(in)", "max(in)\nSizes: 0", "'Empty:'"),
])
def test_a_wrong_reference_is_named(was, now, said, write):
    refused(2, said, "judge", "--task", write("a.task", ONE_SIZE.replace(was, now)), write("kernel.cu", TREE))


def test_an_output_of_integers_has_no_reference_of_floats(write):
    of_integers = ONE_SIZE.replace("float *out", "int *out").replace("f32[1]", "i32[1]")
    refused(2, "a.task:6: 'out' has the type i32, and the results of 'Expect:' are floats: give it f32 or f64", "judge", "--task",
            write("a.task", of_integers), write("kernel.cu", TREE.replace("float *out", "int *out")))
    refused(2, "are floats", "judge", "--task", write("a.task", of_integers.replace("sum(in)", "mean(in)").replace(
        "const float", "const int").replace("f32[n]", "i32[n]").replace("uniform(0.5, 1)", "integers(0, 9)")), write("kernel.cu", TREE))
