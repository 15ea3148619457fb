"""Kernels with one fault each, which the simulator must find: what it is, on which line, in which block and thread."""

from dataclasses import dataclass

import pytest

from kernel_helpers import KERNELS, SCHEDULES, Buffer, Case, inspect

SOURCE = "faults.cu"
ANY = None

# Where a host keeps its program, its heap, its libraries and its stack; and the ends of the address space.
WILD_ADDRESSES = [0x0, 0x8, 0x400000, 0x555555554000, 0x7f0000000000, 0x7fffffffe000, 0x8000000000000000,
                  0xffffffff81000000, 0xfffffffffffffff8]


@dataclass
class Fault:
    kernel: str
    kind: str
    thread: object  # [x, y, z]; ANY where several are as guilty
    block: object = (0, 0, 0)
    grid: str = "1"
    threads: str = "32"
    buffer: str = "zeros"
    type_name: str = "i32"
    extra: tuple = ()
    shared: int = 0
    options: tuple = ()
    said: tuple = ()

    def __str__(self):
        return self.kernel


FAULTS = [
    Fault("past_the_end", "bounds", (31, 0, 0), (1, 0, 0), grid="2"),
    Fault("before_the_beginning", "bounds", (0, 0, 0)),
    Fault("far_away", "bounds", (1, 0, 0)),
    Fault("null", "bounds", (0, 0, 0)),
    Fault("past_shared", "bounds", (31, 0, 0)),
    Fault("before_shared", "bounds", (0, 0, 0), shared=256),
    Fault("past_local", "bounds", ANY),
    Fault("misaligned", "misaligned", (3, 0, 0)),
    Fault("misaligned_vector", "misaligned", (1, 0, 0), type_name="f32"),
    Fault("uninitialised_shared", "uninitialised", (20, 0, 0)),
    Fault("uninitialised_global", "uninitialised", (0, 0, 0), buffer="none", extra=(Buffer("i32", (64, "none")),)),
    Fault("no_barrier", "race", ANY, threads="64"),
    Fault("between_blocks", "race", (0, 0, 0), ANY, grid="2"),
    Fault("not_atomic", "race", ANY),
    Fault("divergent_barrier", "barrier", ANY),
    Fault("two_barriers", "barrier", ANY, threads="64"),
    Fault("endless", "runaway", ANY, options=("--limit", "100000")),
    Fault("trap", "trap", (6, 0, 0), (1, 0, 0), grid="2"),
    Fault("failed_assertion", "trap", (8, 0, 0), said=("data[threadIdx.x] != 0",)),
    Fault("absent_lane", "shuffle", (8, 0, 0)),
    Fault("bottomless_recursion", "runaway", ANY),
    Fault("wild_call", "bounds", (4, 0, 0), extra=("u64:0x1000",)),
]


def marked_lines(kernel):
    lines = (KERNELS / SOURCE).read_text().splitlines()
    marked = [number for number, line in enumerate(lines, 1) if line.endswith(f"// fault: {kernel}")]
    assert marked, kernel
    return marked


def found(fault, folder, *options):
    case = Case(SOURCE, fault.kernel, fault.grid, fault.threads, [Buffer(fault.type_name, (64, fault.buffer)), *fault.extra],
                shared=fault.shared, options=fault.options)
    return inspect(case, folder, *options, status=3)["findings"]


def check(fault, finding):
    assert finding["kind"] == fault.kind
    assert finding["file"] == str(KERNELS / SOURCE)
    assert finding["line"] in marked_lines(fault.kernel)
    assert fault.block is ANY or finding["block"] == list(fault.block)
    assert fault.thread is ANY or finding["thread"] == list(fault.thread)
    assert finding["message"] and all(words in finding["message"] for words in fault.said)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_fault(fault, schedule, tmp_path):
    findings = found(fault, tmp_path, "--schedule", schedule)
    assert {finding["kind"] for finding in findings} == {fault.kind}
    if schedule != "lockstep" and fault.thread is not ANY:  # which thread comes first is the schedule's
        fault = Fault(**{**vars(fault), "thread": ANY, "block": ANY})
    check(fault, findings[0])


@pytest.mark.slow
@pytest.mark.parametrize("address", WILD_ADDRESSES, ids=hex)
@pytest.mark.parametrize("kernel, thread", [("wild", 5), ("wild_store", 7), ("wild_atomic", 9)])
def test_wild_address(kernel, thread, address, tmp_path):
    fault = Fault(kernel, "bounds", (thread, 0, 0), extra=(f"u64:{address}",))
    (finding,) = found(fault, tmp_path)
    check(fault, finding)
    assert finding["address"] == address


def test_addresses_of_bounds(tmp_path):
    """Shared addresses are offsets; that of a buffer's end is 256 bytes behind where the buffer begins, aligned."""
    (past,) = found(next(fault for fault in FAULTS if fault.kernel == "past_the_end"), tmp_path)
    assert past["address"] % 256 == 0
    (shared,) = found(next(fault for fault in FAULTS if fault.kernel == "past_shared"), tmp_path)
    assert shared["address"] == 32 * 4
