"""The ladder on a GPU: every rung verified under every choice and timed; where there is no GPU, on the libcuda of
tests/fake_cuda, whose kernels the simulator runs."""

import json
import subprocess

import pytest

from cli_helpers import TIMEOUT_SECONDS, refused, run
from cuda_helpers import fake_environment, need_fake, plain_environment
from gpu_memory import real_driver
from test_ladder import (BUILT_IN, FINISHES, OPS, RUNGS, TYPES, built_with, facts, has_portions, integers, needs_gpu, reduce,
                         takes)

COUNTED = ["steps", "instructions", "divergent_branches", "global_requests", "bank_degree", "races"]
TIMED = ["microseconds", "gbps", "share", "gain_in_all"]
HAS_GPU = real_driver() is not None


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Of a program that has a GPU."""
    cache = tmp_path_factory.mktemp("cache")
    if HAS_GPU:
        return plain_environment(cache)
    need_fake()
    return fake_environment(cache, capability="8.0")


@pytest.fixture(scope="module")
def slow(environment):
    """The same, but a GPU so slow that few samples are taken: each is dear where the simulator runs the kernels."""
    return {**environment, "FAKE_CUDA_SLOWER": "100000"}


def printed(environment, *options):
    done = run("ladder", "--device", "cuda", *options, env=environment)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def ladder(environment, *options):
    return json.loads(printed(environment, "--json", *options))


def one(environment, rung, *options):
    return ladder(environment, "--rung", rung, *options)["rungs"][0]


def runs_here(rung):
    """The fake GPU has no bulk copies."""
    return HAS_GPU or facts(rung).get("Target") != "sm_90"


def check_verified(table, op, type_name):
    names = [f"{row['rung']}_{row['name']}" for row in table["rungs"]]
    assert names == [rung for rung in RUNGS if takes(rung, op, type_name)]
    for name, row in zip(names, table["rungs"]):
        assert row["verified"] is (True if runs_here(name) else None), row
        if runs_here(name):
            assert row["result"] == table["sequential"]["result"], row


# ---- every rung, verified ----------------------------------------------------------------------------


@pytest.mark.parametrize("op, type_name", BUILT_IN)
def test_every_rung_with_the_ptx_of_the_machine(environment, op, type_name):
    for options in (["-n", 1], ["-n", 4097, "--block", 64], ["-n", 5000, "--block", 128, "--grid", 7]):
        table = ladder(environment, "--once", "--op", op, "--type", type_name, *options)
        check_verified(table, op, type_name)
        assert all(row.get("microseconds") is None for row in table["rungs"])


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize("op", OPS)
def test_every_op_and_type(environment, op, type_name):
    """Compiled for the GPU; each with a finish of its own, so that all of them come to pass."""
    finish = FINISHES[(OPS.index(op) + TYPES.index(type_name)) % len(FINISHES)]
    if (op, finish) == ("argmax", "atomic") and type_name.endswith("64"):
        finish = "host"
    rungs = [rung for rung in RUNGS if takes(rung, op, type_name) and runs_here(rung)]
    number = OPS.index(op) * len(TYPES) + TYPES.index(type_name)
    chosen = [] if HAS_GPU else ["--rung", rungs[number % len(rungs)]]
    table = ladder(environment, "--once", *chosen, "--op", op, "--type", type_name, "--finish", finish, "-n", 3001)
    assert len(table["rungs"]) == (1 if chosen else len(rungs))
    for row in table["rungs"]:
        assert (row["verified"], row["result"]) == (True, table["sequential"]["result"]), row


@pytest.mark.parametrize("finish", FINISHES)
def test_every_finish(environment, finish):
    for op, type_name in [("sum", "f32"), ("argmax", "i32")]:
        row = one(environment, "06", "--once", "--finish", finish, "--op", op, "--type", type_name, "-n", 3000)
        assert row["verified"] is True and (row["launches"] > 1) == (finish == "relaunch")


@pytest.mark.parametrize("grid, n", [(1, 100), (3, 1200), (16, 9)])
def test_partials(environment, grid, n):
    values = integers("sum", 32, n)
    for rung in ("01", "06", "10", "13"):
        options = ["--rung", rung, "--partials", "--grid", grid, "-n", n, "--block", 64, "--type", "i32"]
        partials = [int(line) for line in printed(environment, *options).splitlines()]
        assert len(partials) == grid and reduce("sum", partials, 32) == reduce("sum", values, 32)
        if has_portions(rung):
            portion = -(-n // grid)
            assert partials == [reduce("sum", values[b * portion:(b + 1) * portion], 32) for b in range(grid)]


def test_partials_of_clusters(environment):
    if not runs_here("16_bulk_copy"):
        pytest.skip("no GPU")
    lines = printed(environment, "--rung", "16", "--partials", "--grid", 5, "-n", 10**5, "--type", "i32").split()
    assert len(lines) == 5 and reduce("sum", map(int, lines), 32) == reduce("sum", integers("sum", 32, 10**5), 32)


# ---- what is measured --------------------------------------------------------------------------------


@pytest.mark.slow
def test_json(slow):
    table = ladder(slow, "-n", 4096, "--block", 128)
    assert [table[key] for key in ("n", "op", "type", "block", "device", "counted_n")] == \
        [4096, "sum", "f32", 128, "cuda:0", 4096]
    check_verified(table, "sum", "f32")
    assert table["ceiling_gbps"] == pytest.approx(4096 * 4 / table["ceiling_microseconds"] / 1e3)
    first = table["rungs"][0]["microseconds"]
    before = None
    for row in table["rungs"]:
        if row["verified"] is None:
            assert all(row[name] is None for name in TIMED)
            break
        assert row["microseconds"] > 0
        assert row["gbps"] == pytest.approx(4096 * 4 / row["microseconds"] / 1e3)
        assert row["share"] == pytest.approx(table["ceiling_microseconds"] / row["microseconds"])
        assert row["gain_in_all"] == pytest.approx(first / row["microseconds"])
        assert row["gain"] == (pytest.approx(before / row["microseconds"]) if before else None)
        assert ("steps" in row) == (not needs_gpu(f"{row['rung']}_{row['name']}"))
        before = row["microseconds"]


@pytest.mark.slow
def test_counts_are_those_of_the_machine(environment):
    for rung in ("01", "05", "14"):
        beside = one(environment, rung, "-n", 5000)
        alone = json.loads(run("ladder", "--json", "--rung", rung, "-n", 5000).stdout)["rungs"][0]
        assert {name: beside[name] for name in COUNTED} == {name: alone[name] for name in COUNTED}


@pytest.mark.slow
def test_ulp_is_of_random_data(slow):
    assert one(slow, "06", "-n", 3000, "--type", "i32")["ulp"] is None
    assert one(slow, "06", "-n", 3000, "--op", "max")["ulp"] == 0
    tree, queue = (one(slow, rung, "-n", 1 << 14)["ulp"] for rung in ("06", "00"))
    assert 0 <= tree < queue


@pytest.mark.slow
def test_the_exact_sum_has_no_error(slow):
    for type_name in ("f32", "f64"):
        row = one(slow, "17", "-n", 3000, "--type", type_name)
        assert (row["verified"], row["ulp"]) == (True, 0)
    assert one(slow, "17", "-n", 3000, "--type", "i32")["verified"] is True


def test_table(environment):
    lines = printed(environment, "-n", 500, "--rung", "12").splitlines()
    assert lines[0].startswith("sum of 500 f32 on cuda:0 (")
    assert lines[1].startswith("Read ceiling: ") and lines[2].endswith("counted by the simulator for 500 elements.")
    assert lines[3].split()[:4] == ["rung", "verified", "microseconds", "GB/s"]
    assert lines[4].startswith("sequential loop (CPU)") and lines[5].split()[:2] == ["12_warp_shuffle", "yes"]
    assert len({len(line) for line in lines[3:]}) == 1


def test_sweep(environment):
    swept = json.loads(printed(environment, "--sweep", "-n", 5000, "--json"))
    assert [size["n"] for size in swept["sizes"]] == [1024, 2048, 4096] and swept["rung"] == "14"
    ways = ["loop", "engine", "gpu", "gpu_with_copy"]
    for size in swept["sizes"]:
        assert all(size[f"{way}_gbps"] == pytest.approx(size["n"] * 4 / size[f"{way}_microseconds"] / 1e3)
                   for way in ways)
        assert size["gpu_with_copy_microseconds"] > size["gpu_microseconds"]
    for way in ("gpu", "gpu_with_copy"):
        won = [size[f"{way}_microseconds"] < min(size["loop_microseconds"], size["engine_microseconds"])
               for size in swept["sizes"]]
        from_on = [size["n"] for i, size in enumerate(swept["sizes"]) if all(won[i:])]
        assert swept[f"{way}_wins_from"] == (from_on[0] if from_on else 0)


def test_sweep_in_words(environment):
    lines = printed(environment, "--sweep", "-n", 2048, "--rung", "12").splitlines()
    assert lines[0].startswith("sum of f32: microseconds, GB/s. GPU: 12_warp_shuffle on cuda:0 (")
    assert [line.split()[0] for line in lines[1:4]] == ["n", "1024", "2048"]
    assert all("the GPU is faster" in line for line in lines[4:]) and len(lines) == 6


# ---- what goes wrong ---------------------------------------------------------------------------------


def test_a_kernel_that_adds_wrongly_is_not_verified(environment, tmp_path):
    program = built_with(tmp_path, "ptx/06_sequential.sum.f32.ptx", lambda text: text.replace("add.f32", "sub.f32"))
    done = subprocess.run([program, "ladder", "--device", "cuda", "--once", "--json", "--rung", "06", "-n", "1000"],
                          capture_output=True, text=True, env=environment, timeout=TIMEOUT_SECONDS)
    row = json.loads(done.stdout)["rungs"][0]
    assert (done.returncode, row["verified"], row["result"]) == (1, False, None)
    assert "06_sequential: its sum of 1000 elements is wrong" in done.stderr


def test_without_a_driver(tmp_path):
    missing = {**plain_environment(tmp_path), "WARPFOLD_LIBCUDA": str(tmp_path / "libcuda.so.1")}
    for options in ([], ["--sweep"], ["--once", "--rung", "06"]):
        refused(1, str(tmp_path / "libcuda.so.1"), "ladder", "--device", "cuda:0", *options, env=missing)


def test_no_such_gpu(environment):
    refused(1, "no GPU 99: ", "ladder", "--device", "cuda:99", env=environment)


def test_a_gpu_that_is_too_old_for_a_rung(tmp_path):
    need_fake()
    table = ladder(fake_environment(tmp_path, capability="7.5"), "--once", "-n", 100)
    assert {row["rung"]: row["verified"] for row in table["rungs"] if row["rung"] in ("14", "15", "16")} == \
        {"14": True, "15": None, "16": None}


@pytest.mark.parametrize("fault, said", [
    ("MemAlloc:1:2", ["CUDA_ERROR_OUT_OF_MEMORY"]),
    ("LaunchKernel:1:700", ["06_sequential"]),
    ("MemcpyDtoHAsync:1:700", ["06_sequential"]),
])
def test_a_failing_driver(tmp_path, fault, said):
    need_fake()
    done = run("ladder", "--device", "cuda", "--once", "--rung", "06", "-n", 1000,
               env=fake_environment(tmp_path, fail=fault))
    assert done.returncode == 1 and all(words in done.stderr for words in said), done
