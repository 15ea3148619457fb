"""The ladder on the simulator: every rung verified under every choice, its partial results, its options, its
JSON.

What a rung must give is worked out here, too, from the same data, so that the program's own verification is
verified.
"""

import json
import os
import platform
import pty
import re
import shutil
import struct
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest

from cli_helpers import CLI, ROOT, TIMEOUT_SECONDS, printed, refused, run

BUILD = Path(os.environ.get("WARPFOLD_BUILD", ROOT / "build"))
RUNGS = sorted(path.stem for path in (ROOT / "ladder").glob("[0-9]*.cu"))
OPS = ["sum", "prod", "min", "max", "argmax"]
TYPES = ["i32", "i64", "f32", "f64"]
FINISHES = ["host", "relaunch", "atomic", "last-block"]
BUILT_IN = [(op, type_name) for op in ("sum", "max", "argmax") for type_name in ("i32", "f32")]
COUNTS = [
    "steps", "instructions", "utilization", "divergent_branches", "global_requests", "global_sectors",
    "shared_wavefronts", "bank_degree", "barriers", "atomics",
]

# ---- helpers -----------------------------------------------------------------------------------------


def facts(rung):
    """The lines `// Name: value` of a rung's first comment."""
    lines = (ROOT / "ladder" / f"{rung}.cu").read_text().split("\n\n")[0].splitlines()
    pairs = [line[2:].split(":", 1) for line in lines if ":" in line and not line.startswith("//  ")]
    return {name.strip(): value.strip() for name, value in pairs}


def needs_gpu(rung):
    return facts(rung).get("Runs") == "engine"


def takes(rung, op, type_name="f32"):
    return op in facts(rung)["Ops"].split() and type_name in facts(rung).get("Types", type_name).split()


ON_SIMULATOR = [rung for rung in RUNGS if not needs_gpu(rung)]


def ladder(*options):
    return json.loads(printed("ladder", "--json", *options))


def one(rung, *options):
    return ladder("--rung", rung, *options)["rungs"][0]


@lru_cache(maxsize=None)
def lacks_nvrtc():
    """What the program says where it cannot compile; None where it can."""
    done = run("ladder", "--rung", "06", "-n", 1, "--op", "min", "--type", "u64")
    return None if done.returncode == 0 else done.stderr.strip()


@pytest.fixture
def nvrtc():
    if lacks_nvrtc():
        assert "NVRTC" in lacks_nvrtc()
        pytest.skip("no NVRTC")


def on_machine(table):
    """The rows of the rungs that the simulator can run."""
    rows = [row for row in table["rungs"] if f"{row['rung']}_{row['name']}" in ON_SIMULATOR]
    assert all(row["verified"] is None and row["result"] is None for row in table["rungs"] if row not in rows)
    return rows


def check_verified(op, type_name, *options):
    table = ladder("--op", op, "--type", type_name, *options)
    names = [f"{row['rung']}_{row['name']}" for row in table["rungs"]]
    assert names == [rung for rung in RUNGS if takes(rung, op, type_name)]
    for row in on_machine(table):
        assert row["verified"] is True and row["races"] == 0, row
        assert row["result"] == table["sequential"]["result"], row


# ---- the data, and what it reduces to ----------------------------------------------------------------

MASK = (1 << 64) - 1


def random_bits(i, seed=1):
    z = (seed + i + 1) * 0x9E3779B97F4A7C15 & MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def wrap(value, width):
    return (value + (1 << width - 1)) % (1 << width) - (1 << width - 1)


def integers(op, width, n):
    bits = [random_bits(i) for i in range(n)]
    if op == "argmax":
        return [z % 17 for z in bits]
    return [wrap(z | (op == "prod"), width) for z in bits]


def floats(op, n):
    """Of a maximum uniform in [0, 1); else small integers, as many as can be added exactly."""
    bits = [random_bits(i) for i in range(n)]
    return [(z >> 40) / 2**24 if op == "max" else z % 17 - 8 for z in bits]


def to_f32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def reduce(op, values, width):
    if op == "argmax":
        return values.index(max(values))
    if op in ("min", "max"):
        return {"min": min, "max": max}[op](values)
    total = op == "prod"
    for value in values:
        total = total * value if op == "prod" else total + value
    return wrap(int(total), width)


@pytest.mark.parametrize("op, type_name", BUILT_IN)
def test_results_are_those_of_the_data(op, type_name):
    values = integers(op, 32, 1000) if type_name == "i32" else floats(op, 1000)
    table = ladder("--op", op, "--type", type_name, "-n", 1000)
    results = {to_f32(row["result"]) if type_name == "f32" else row["result"] for row in on_machine(table)}
    assert results == {reduce(op, values, 32)}


@pytest.mark.parametrize("type_name", ["i32", "i64"])
@pytest.mark.parametrize("op", OPS)
def test_results_of_compiled_kernels_are_those_of_the_data(nvrtc, op, type_name):
    width = int(type_name[1:])
    expected = reduce(op, integers(op, width, 777), width)
    assert one("05", "--op", op, "--type", type_name, "-n", 777)["result"] == expected


# ---- every rung, verified ----------------------------------------------------------------------------

SMALL = [(1, 32, None), (31, 64, 3), (33, 32, 2), (33, 1024, None), (1000, 32, None), (1000, 256, 7), (1000, 64, 1)]
LARGE = [(4097, 64, None), (4097, 256, 3), (4097, 1024, 5), (4097, 128, 40), (2048, 512, 1), (8192, 32, 300)]
SHAPES = SMALL + LARGE


@pytest.mark.parametrize("op, result", [("sum", 0), ("max", "-inf"), ("argmax", None)])
def test_no_elements(op, result):
    found = {row["rung"]: row for row in ladder("-n", "0", "--op", op)["rungs"] if row["verified"]}
    expected = [rung for rung in ON_SIMULATOR if takes(rung, op)]
    assert sorted(found) == sorted(rung[:2] for rung in expected)
    assert {row["result"] for row in found.values()} == {result}
    assert {row["races"] for row in found.values()} == {0}


def shape_options(n, block, grid):
    return ["-n", n, "--block", block, *(["--grid", grid] if grid else [])]


@pytest.mark.slow
@pytest.mark.parametrize("shapes", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("op, type_name", BUILT_IN)
def test_every_shape(op, type_name, shapes):
    for shape in shapes:
        check_verified(op, type_name, *shape_options(*shape))


@pytest.mark.slow
@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize("op", OPS)
def test_every_op_and_type(nvrtc, op, type_name):
    """Each with a finish and a shape of its own, so that all of them come to pass."""
    number = OPS.index(op) * len(TYPES) + TYPES.index(type_name)
    finish = FINISHES[(OPS.index(op) + TYPES.index(type_name)) % len(FINISHES)]
    if (op, finish) == ("argmax", "atomic") and type_name.endswith("64"):
        finish = "host"
    check_verified(op, type_name, "--finish", finish, *shape_options(*SHAPES[number % len(SHAPES)]))


@pytest.mark.slow
@pytest.mark.parametrize("finish", FINISHES)
@pytest.mark.parametrize("op, type_name", [("sum", "f32"), ("argmax", "i32")])
def test_every_finish(nvrtc, finish, op, type_name):
    check_verified(op, type_name, "--finish", finish, "-n", 3000, "--block", 64)


@pytest.mark.sampled
@pytest.mark.parametrize("schedule", ["lockstep", "split", "random:1", "random:2"])
def test_every_schedule(schedule):
    check_verified("sum", "f32", "-n", 3000, "--block", 64, "--schedule", schedule)
    check_verified("argmax", "i32", "-n", 500, "--block", 128, "--schedule", schedule)


@pytest.mark.parametrize("coarsen", [1, 2, 3, 16])
def test_coarsen(nvrtc, coarsen):
    check_verified("sum", "i32", "-n", 5000, "--block", 64, "--coarsen", coarsen)


def test_coarsen_sets_the_grid(nvrtc):
    grids = [one("10", "-n", 1 << 14, "--block", 64, "--coarsen", c)["grid"] for c in (1, 2, 4)]
    assert grids == [128, 64, 32]
    assert one("11", "-n", 1 << 14, "--block", 64, "--coarsen", 16)["grid"] == 16


# ---- partial results ---------------------------------------------------------------------------------


def has_portions(rung):
    return 1 <= int(rung[:2]) <= 10


@pytest.mark.sampled
@pytest.mark.parametrize("grid, n", [(1, 100), (3, 1200), (8, 1000), (16, 9)])
@pytest.mark.parametrize("rung", [rung for rung in RUNGS if facts(rung)["Finish"] == "relaunch"])
def test_partials(rung, grid, n):
    """An array of n in, an array of grid out: the portions' results."""
    options = ["--rung", rung[:2], "--partials", "--grid", grid, "-n", n, "--block", 64, "--type", "i32"]
    partials = [int(line) for line in printed("ladder", *options).splitlines()]
    values = integers("sum", 32, n)
    assert len(partials) == grid
    assert reduce("sum", partials, 32) == reduce("sum", values, 32)
    if has_portions(rung):
        portion = -(-n // grid)
        assert partials == [reduce("sum", values[b * portion:(b + 1) * portion], 32) for b in range(grid)]
    row = ladder(*options)["rungs"][0]
    assert row["partials"] == partials and row["verified"]


def test_partials_of_argmax():
    values = integers("argmax", 32, 900)
    partials = printed("ladder", "--rung", "06", "--partials", "--grid", 3, "-n", 900, "--type", "i32", "--op",
                       "argmax").split()
    assert partials == [str(b * 300 + reduce("argmax", values[b * 300:b * 300 + 300], 32)) for b in range(3)]


def test_partials_of_a_block_without_elements():
    lines = printed("ladder", "--rung", "06", "--partials", "--grid", 4, "-n", 2, "--type", "i32", "--op",
                    "argmax").splitlines()
    assert lines == ["0", "1", "-", "-"]
    assert one("06", "--partials", "--grid", 4, "-n", 2, "--type", "i32", "--op", "argmax")["partials"] == \
        [0, 1, None, None]


def test_partials_where_the_rung_has_another_finish(nvrtc):
    for rung in ("00", "09", "14"):
        lines = printed("ladder", "--rung", rung, "--partials", "--grid", 5, "-n", 500, "--type", "i32").split()
        assert reduce("sum", map(int, lines), 32) == reduce("sum", integers("sum", 32, 500), 32)
        assert len(lines) == 5


# ---- what is printed ---------------------------------------------------------------------------------


def test_json():
    table = ladder("-n", 4096, "--block", 128)
    assert [table[key] for key in ("n", "op", "type", "block", "grid", "device")] == \
        [4096, "sum", "f32", 128, None, "simt"]
    assert set(table["sequential"]) == {"result", "ulp"}
    for row in on_machine(table):
        assert all(isinstance(row[name], (int, float)) for name in COUNTS), row
        assert 0 < row["utilization"] <= 1 and row["bank_degree"] >= 1
        assert row["ulp"] >= 0 and row["grid"] >= 1 and row["launches"] >= 1


def test_counts_add_up_over_launches():
    """4096 elements in blocks of 64: launches of 64 blocks and of 1; log2(4096) steps in all."""
    row = one("06", "-n", 4096, "--block", 64)
    assert (row["launches"], row["grid"], row["portion"], row["steps"]) == (2, 64, 64, 12)
    assert row["barriers"] == 65 * (1 + 6)
    assert row["warps"] == 65 * 2


def test_counts_tell_the_rungs_apart():
    rows = {row["rung"]: row for row in on_machine(ladder("-n", 1 << 12))}
    assert rows["00"]["atomics"] == 1 << 12 and rows["09"]["atomics"] == rows["09"]["grid"]
    assert rows["06"]["bank_degree"] == 1 < rows["05"]["bank_degree"]
    assert rows["05"]["divergent_branches"] < rows["04"]["divergent_branches"]
    assert rows["02"]["global_requests"] < rows["01"]["global_requests"]
    assert rows["12"]["barriers"] < rows["08"]["barriers"] < rows["07"]["barriers"]


def test_ulp_of_integers_is_none():
    table = ladder("-n", 100, "--type", "i32")
    assert table["sequential"]["ulp"] is None and {row["ulp"] for row in table["rungs"]} == {None}


def test_ulp_of_floats():
    """Trees err less than the loop, and no order changes a maximum."""
    table = ladder("-n", 1 << 14)
    rows = {row["rung"]: row["ulp"] for row in table["rungs"]}
    assert table["sequential"]["ulp"] == rows["00"] > rows["06"]
    assert {row["ulp"] for row in on_machine(ladder("-n", 5000, "--op", "max"))} == {0}


def test_the_same_twice():
    assert printed("ladder", "-n", 5000) == printed("ladder", "-n", 5000)


def test_table_has_a_line_for_each():
    lines = printed("ladder", "-n", 500).splitlines()
    assert lines[0].startswith("sum of 500 f32 on the simulator, blocks of 256 threads")
    assert lines[1].split()[:2] == ["rung", "verified"]
    assert lines[2].startswith("sequential loop (CPU)")
    assert [re.split("  +", line)[:2] for line in lines[3:]] == \
        [[rung, "not run" if needs_gpu(rung) else "yes"] for rung in RUNGS]
    assert len({len(line) for line in lines[1:]}) == 1


def test_a_rung_by_each_of_its_names():
    names = {one(name, "-n", 64)["name"] for name in ("05", "5", "interleaved_strided", "05_interleaved_strided")}
    assert names == {"interleaved_strided"}


def on_a_terminal(*arguments, **environment):
    """What the program writes to a terminal."""
    master, slave = pty.openpty()
    variables = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | environment
    done = subprocess.Popen([CLI, *map(str, arguments)], stdout=slave, env=variables)
    os.close(slave)
    text = b""
    while True:
        try:
            piece = os.read(master, 1 << 16)
        except OSError:  # how Linux says that nobody holds the other end
            break
        if not piece:
            break
        text += piece
    os.close(master)
    assert done.wait(TIMEOUT_SECONDS) == 0
    return text.decode()


def test_colour_on_a_terminal_only():
    assert "\033[32m" in on_a_terminal("ladder", "-n", 64)
    assert "\033" not in on_a_terminal("ladder", "-n", 64, NO_COLOR="1")
    assert "\033" not in printed("ladder", "-n", 64)


# ---- the documentation -------------------------------------------------------------------------------


def ladder_docs(root, *options):
    return subprocess.run([sys.executable, root / "scripts" / "ladder-docs", *options], capture_output=True, text=True,
                          env=dict(os.environ, WARPFOLD_CLI=CLI), timeout=TIMEOUT_SECONDS)


def test_the_documentation_is_what_the_machine_says():
    done = ladder_docs(ROOT, "--check")
    assert done.returncode == 0, done.stderr
    assert lacks_nvrtc() or done.stderr == ""


def test_the_documentation_has_every_rung():
    text = (ROOT / "docs" / "ladder.md").read_text()
    chapters = re.findall(r"^## (\d\d) ", text, re.MULTILINE)
    assert chapters == [rung[:2] for rung in RUNGS], "a rung is a chapter of docs/ladder.md: `## NN Title`"


def uses(text, word):
    return re.search(rf"\b{word}s?\b", text, re.IGNORECASE)


def test_each_word_is_defined_once_and_from_those_before_it():
    """The page begins with them; of the glossary's words those stay out that it uses in no sense of their own."""
    text = (ROOT / "docs" / "ladder.md").read_text()
    glossary = re.findall(r"^\| \*\*(.+?)\*\* \|", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE)
    assert re.search(r"^## (.+)", text, re.MULTILINE)[1] == "Words"
    rows = re.findall(r"^\| \*\*(.+?)\*\* \| (.+?) \|$", text, re.MULTILINE)
    names = [name for name, _ in rows]
    assert len(set(names)) == len(names) > 40
    for place, (_, meaning) in enumerate(rows):
        assert [name for name in names[place + 1:] if uses(meaning, name)] == [], meaning
    prose = re.sub(r"```.*?```|<!--.*?-->|`[^`]*`|^\|.*?$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert {word for word in glossary if word not in names and uses(prose, word)} <= {"array", "device", "digit", "finish", "partial", "words"}


def test_each_name_in_the_code_is_told():
    """Of functions and constants of the files; CUDA's own are in its manual."""
    text = (ROOT / "docs" / "ladder.md").read_text()
    shown = re.findall(r"```cuda\n(.*?)```", text, re.DOTALL)
    told = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]*)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL)))))
    named = {name for code in shown for name in re.findall(r"(?<!__device__ void )(?<!__device__ bool )\b([a-z]\w*)(?=\()|\b([A-Z][A-Z_]+)\b", code)}
    names = {one or other for one, other in named} - {"for", "if"}
    assert len(names) > 12 and {name for name in names if name not in told and not name.startswith("atomic")} == set()


def test_a_stale_page_is_noticed_and_mended(tmp_path):
    for name in ("scripts", "docs", "ladder/wrong"):
        (tmp_path / name).mkdir(parents=True)
    shutil.copy(ROOT / "ladder" / "wrong" / "wrong_kernels.py", tmp_path / "ladder" / "wrong")
    page = tmp_path / "docs" / "ladder.md"
    shutil.copy(ROOT / "scripts" / "ladder-docs", tmp_path / "scripts")
    page.write_text("before\n<!-- run: steps explain 02 -n 256 -->\nstale\n<!-- end -->\nafter\n")
    done = ladder_docs(tmp_path, "--check")
    assert done.returncode == 1 and "run scripts/ladder-docs" in done.stderr and "stale" in page.read_text()
    assert ladder_docs(tmp_path).returncode == 0
    assert "| all | 255 | 12 | 5 | 36 | 0 | 1 |" in page.read_text()
    assert page.read_text().startswith("before\n") and page.read_text().endswith("<!-- end -->\nafter\n")
    assert ladder_docs(tmp_path, "--check").returncode == 0


# ---- wrong kernels -----------------------------------------------------------------------------------


def cache_entry(name):
    found = re.search(rf"^{name}:\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE)
    return found.group(1) if found else ""


def sanitizer_options():
    """As CMakeLists.txt links: what is loaded later has clang's sanitizers from one library, as it has gcc's."""
    sanitizers, compiler = cache_entry("WARPFOLD_SANITIZE"), cache_entry("CMAKE_C_COMPILER")
    if not sanitizers:
        return []
    if "clang" not in Path(compiler).name:
        return [f"-fsanitize={sanitizers}"]
    library = subprocess.run([compiler, f"-print-file-name=libclang_rt.asan-{platform.machine()}.so"], check=True,
                             capture_output=True, text=True, timeout=TIMEOUT_SECONDS).stdout
    return [f"-fsanitize={sanitizers}", "-shared-libsan", f"-Wl,-rpath,{Path(library).parent}"]


def built_with(folder, path, damage):
    """The program with one of the embedded files damaged: the others, and all else, are the build's own."""
    table = (BUILD / "ladder_files.c").read_text()
    begin = table.index(f'"{path}"')
    end = table.index("    {", begin)
    whole = table[begin:end]
    damaged = damage(whole)
    assert damaged != whole and len(damaged) == len(whole)
    source, program = folder / "files.c", folder / "warpfold"
    source.write_text(table[:begin] + damaged + table[end:])
    objects = sorted((BUILD / "CMakeFiles" / "warpfold.dir").rglob("*.o"))
    names = ("bench", "program", "report", "judge", "explain", "ladder", "simt", "warpfold")
    libraries = [BUILD / f"lib{name}.a" for name in names]
    subprocess.run([cache_entry("CMAKE_C_COMPILER"), *sanitizer_options(), f"-I{ROOT / 'ladder'}", source, *objects, *libraries,
                    "-lm", "-lpthread", "-ldl", "-o", program], check=True, timeout=TIMEOUT_SECONDS)
    return program


def run_program(program, *options):
    return subprocess.run([program, "ladder", "-n", "1000", *options], capture_output=True, text=True,
                          timeout=TIMEOUT_SECONDS)


def without(pattern):
    """Blanks what the pattern matches last."""

    def damage(text):
        last = list(re.finditer(pattern, text))[-1]
        return text[:last.start()] + " " * len(last.group()) + text[last.end():]

    return damage


def test_a_kernel_that_adds_wrongly_is_not_verified(tmp_path):
    program = built_with(tmp_path, "ptx/06_sequential.sum.f32.ptx", lambda text: text.replace("add.f32", "sub.f32"))
    done = run_program(program, "--json", "--rung", "06")
    row = json.loads(done.stdout)["rungs"][0]
    assert (done.returncode, row["verified"], row["result"], row["ulp"]) == (1, False, None, None)
    said = done.stderr.splitlines()
    assert re.search(r"06_sequential: its sum of 1000 elements is wrong: \S+, expected -118$", said[0])
    assert said[-1] == "warpfold: 1 of 1 rungs could not be verified"
    partials = run_program(program, "--partials", "--rung", "06")
    assert (partials.returncode, partials.stdout) == (1, "")
    assert partials.stderr.splitlines()[-1] == (
        "warpfold: 06_sequential gives a wrong result; its partial results are not printed")


def test_a_kernel_that_races_is_not_verified(tmp_path):
    """Though its sum is right: the simulator's lanes happen to keep step."""
    program = built_with(tmp_path, "ptx/07_add_on_load.sum.f32.ptx", without(r"bar\.sync[^;]*;"))
    done = run_program(program)
    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert [line.split()[1] for line in lines[3:]] == \
        [{"07": "NO"}.get(rung[:2], "not" if needs_gpu(rung) else "yes") for rung in RUNGS]
    assert re.search(r"^warpfold: 07_add_on_load: race at ladder/\S+:\d+: ", done.stderr)
    said = done.stderr.splitlines()
    assert said[-1] == f"warpfold: 1 of {len(ON_SIMULATOR)} rungs could not be verified"
    assert len(set(line.split(": ")[2] for line in said[:-1])) == len(said) - 1


# ---- what is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize("said, options", [
    ("unknown rung", ["--rung", "99"]),
    ("unknown rung", ["--rung", "05_"]),
    ("--op mean", ["--op", "mean"]),
    ("--type f16", ["--type", "f16"]),
    ("--block takes a power of two from 32 to 1024", ["--block", "48"]),
    ("--block takes a power of two from 32 to 1024", ["--block", "2048"]),
    ("--block takes a power of two from 32 to 1024", ["--block", "16"]),
    ("--block takes one whole number", ["--block", "32,2"]),
    ("--grid takes one whole number", ["--grid", "x"]),
    ("--grid takes one whole number", ["--grid", "0"]),
    ("--finish takes host, relaunch, atomic or last-block", ["--finish", "magic"]),
    ("--schedule takes lockstep, split or random:SEED", ["--schedule", "random"]),
    ("--partials requires --rung", ["--partials"]),
    ("--finish atomic leaves no partial results", ["--partials", "--rung", "06", "--finish", "atomic"]),
    ("00_global_atomic has no argmax; its ops are sum prod min max", ["--rung", "00", "--op", "argmax"]),
    ("has nothing to coarsen", ["--rung", "06", "--coarsen", "4"]),
    ("no finish atomic", ["--rung", "06", "--finish", "atomic", "--op", "argmax", "--type", "f64"]),
    ("the ladder runs on the simulator (--device simt) or on a GPU", ["--device", "cpu"]),
    ("--sweep cannot be combined with", ["--device", "cuda", "--sweep", "--once"]),
    ("--count", ["-n", "-1"]),
    ("takes no operands", ["05"]),
])
def test_usage(said, options):
    refused(2, said, "ladder", *options)


@pytest.mark.parametrize("rung", [rung for rung in RUNGS if needs_gpu(rung)])
def test_what_needs_a_gpu_says_so(rung):
    """The library's own reduction is compiled by NVRTC."""
    lines = printed("ladder", "--rung", rung, "-n", 100, env=dict(os.environ, WARPFOLD_NVRTC="/absent")).splitlines()
    assert lines[-1].startswith(rung) and " not run " in lines[-1]
    refused(2, f"--partials: {rung}", "ladder", "--rung", rung, "--partials")


@pytest.mark.parametrize("type_name", ["f32", "i32"])
def test_the_librarys_own_reduction_without_a_gpu(nvrtc, type_name):
    row = one("17", "-n", 3000, "--type", type_name)
    result = sum(floats("sum", 3000)) if type_name == "f32" else wrap(sum(integers("sum", 32, 3000)), 32)
    assert (row["verified"], row["races"], row["launches"], row["result"]) == (True, 0, 1, result)
    assert row["ulp"] == (0 if type_name == "f32" else None)


@pytest.mark.parametrize("option", ["--sweep", "--once"])
def test_a_clock_needs_a_gpu(option):
    refused(2, f"{option} needs a GPU (--device cuda)", "ladder", option)


def test_what_is_not_built_in_says_what_is():
    environment = dict(os.environ, WARPFOLD_NVRTC="/absent", WARPFOLD_NVCC="/absent")
    refused(1, ["06_sequential: built in", "argmax.i32", "sum.f32", "prod of f32", "NVRTC"], "ladder", "--rung", "06",
            "--op", "prod", env=environment)
    assert run("ladder", "-n", 300, env=environment).returncode == 0


def test_no_trace_is_left_of_compiling(nvrtc, tmp_path):
    printed("ladder", "--rung", "06", "--op", "prod", "-n", 10, env=dict(os.environ, TMPDIR=str(tmp_path)))
    assert list(tmp_path.iterdir()) == []


def test_compiling_a_rung_needs_no_folder(nvrtc, tmp_path):
    """NVRTC takes the ladder's texts from memory."""
    file = tmp_path / "file"
    file.write_text("")
    printed("ladder", "--rung", "06", "--op", "prod", "-n", 10, env=dict(os.environ, TMPDIR=str(file)))
