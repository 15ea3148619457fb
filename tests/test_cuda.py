"""The CUDA device layer: opening, refusing, failing calls, the cache of kernels, and the device auto.

All but the last part runs `warpfold` with the libcuda of tests/fake_cuda, whatever GPU there is."""

import array
import contextlib
import ctypes
import fcntl
import os
import random
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

import warpfold_ctypes as wf
from cli_helpers import CLI, ROOT, pack, printed, refused, run
from cuda_helpers import fake_environment, gpu, need_fake, plain_environment  # noqa: F401: gpu is a fixture
from each_type import AS_FOR_USERS, EVERY_KERNEL
from samples import nbytes_of

NUMBERS = "3 -5 9 40"
SUM = ["sum", "--type", "i32", "--device", "cuda"]


def sums(environment, *options):
    return printed(*SUM, *options, data=NUMBERS, env=environment) == "47\n"


def devices(environment):
    return printed("devices", env=environment).splitlines()


# ---- no driver, no GPU, too old a GPU ------------------------------------------------------------------


def test_no_driver(tmp_path):
    environment = plain_environment(tmp_path)
    environment["WARPFOLD_LIBCUDA"] = str(tmp_path / "libcuda.so.1")
    cpu, cuda = devices(environment)
    assert cpu.startswith("cpu: tier ")
    assert cuda.startswith("cuda is unavailable: WARPFOLD_LIBCUDA: ") and "libcuda.so.1" in cuda
    refused(1, ["--device cuda: WARPFOLD_LIBCUDA: ", "libcuda.so.1"], *SUM, data=NUMBERS, env=environment)
    assert printed("sum", data=NUMBERS, env=environment) == "47\n"


def test_no_driver_is_installed(tmp_path):
    try:
        ctypes.CDLL("libcuda.so.1")
        pytest.skip("an NVIDIA driver is installed")
    except OSError:
        pass
    environment = plain_environment(tmp_path)
    assert "no NVIDIA driver is installed (libcuda.so.1: " in devices(environment)[1]
    refused(1, "no NVIDIA driver is installed", *SUM, data=NUMBERS, env=environment)


def test_driver_that_lacks_a_function(tmp_path):
    compiler = shutil.which("gcc") or shutil.which("cc") or pytest.skip("no C compiler")
    source, library = tmp_path / "old.c", tmp_path / "libold.so"
    source.write_text("int cuInit(unsigned flags) { return (int)flags; }\n"
                      "int cuDriverGetVersion(int *version) { return *version = 0; }\n")
    subprocess.run([compiler, "-shared", "-fPIC", source, "-o", library], check=True, timeout=60)
    environment = {**plain_environment(tmp_path), "WARPFOLD_LIBCUDA": str(library)}
    assert "the NVIDIA driver is too old (no cuGetErrorName)" in devices(environment)[1]


@pytest.mark.parametrize("result, words", [
    (100, ["CUDA_ERROR_NO_DEVICE, no CUDA-capable device is detected: ", "CUDA_VISIBLE_DEVICES"]),
    (803, ["CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "versions of the driver's kernel module and library differ: reboot"]),
    (12345, ["unknown error"]),
])
def test_driver_that_does_not_start(result, words, tmp_path):
    need_fake(compiles=False)
    environment = fake_environment(tmp_path, fail=f"Init:1:{result}")
    line = devices(environment)[1]
    for word in ["cuda is unavailable: cuInit: ", *words]:
        assert word in line
    refused(1, ["--device cuda:0: cuInit: ", *words], "sum", "--device", "cuda:0", env=environment)
    assert printed("sum", data=NUMBERS, env=environment) == "47\n"


def test_no_gpu(tmp_path):
    need_fake(compiles=False)
    environment = fake_environment(tmp_path, devices=0)
    assert devices(environment)[1:] == [
        "cuda is unavailable: the driver finds no GPU: see nvidia-smi and CUDA_VISIBLE_DEVICES"
    ]
    refused(1, "the driver finds no GPU", *SUM, data=NUMBERS, env=environment)


def test_verbose_tells_the_plan(tmp_path):
    need_fake()
    environment = fake_environment(tmp_path)
    done = run(*SUM, "--verbose", data=NUMBERS, env=environment)
    assert (done.returncode, done.stdout) == (0, "47\n")
    assert "plan of the last launch: 1 block of " in done.stderr
    assert "plan" not in run("sum", "--verbose", data=NUMBERS, env=environment).stderr  # the CPU's work


def test_every_gpu_is_listed(tmp_path):
    need_fake(compiles=False)
    environment = fake_environment(tmp_path, devices=3, capability="9.0", multiprocessors=132, memory=3 << 29,
                                   version=12080)
    assert devices(environment)[1:] == [
        f"cuda:{i}: SIMT simulator, compute capability 9.0, 132 multiprocessors, 1.5 GiB, driver for CUDA 12.8"
        for i in range(3)
    ]


def test_a_gpu_that_cannot_be_used_is_listed_beside_others(tmp_path):
    need_fake(compiles=False)
    lines = devices(fake_environment(tmp_path, devices=2, fail="DevicePrimaryCtxRetain:1:46"))
    assert lines[1].startswith("cuda:0 is unavailable: cuDevicePrimaryCtxRetain (cuda:0): ")
    assert "exclusive" in lines[1]
    assert lines[2].startswith("cuda:1: SIMT simulator, ")


@pytest.mark.parametrize("number", [1, 7, 9999])
def test_no_such_gpu(number, tmp_path):
    need_fake(compiles=False)
    refused(1, f"--device cuda:{number}: no GPU {number}: the last of 1 is cuda:0", "sum", "--device",
            f"cuda:{number}", env=fake_environment(tmp_path))


@pytest.mark.parametrize("word", ["cuda:", "cuda:-1", "cuda:+1", "cuda: 1", "cuda:1x", "cuda0", "cudax", "CUDA", "simt",
                                  "cpu:0", "gpu", ""])
def test_a_word_that_is_no_device(word, tmp_path):
    refused(2, f"--device takes auto, cpu, cuda, cuda:N or cuda:all, not '{word}'", "sum", "--device", word,
            env=plain_environment(tmp_path))


@pytest.mark.parametrize("capability", ["3.5", "6.1", "7.0", "7.2"])
def test_too_old_a_gpu(capability, tmp_path):
    need_fake(compiles=False)
    environment = fake_environment(tmp_path, capability=capability)
    words = f"SIMT simulator has compute capability {capability}, but warpfold needs 7.5 or later: use the device cpu"
    assert devices(environment)[1] == f"cuda:0 is unavailable: {words}"
    refused(1, words, *SUM, data=NUMBERS, env=environment)


# ---- all GPUs together -----------------------------------------------------------------------------------


ALL_CASES = [("sum", "f64", 100_000), ("argmin", "i32", 200_003), ("dot", "f32", 70_001), ("prod", "f32", 70_000), ("max", "f64", 3)]


@pytest.mark.parametrize("op, type_name, count", ALL_CASES)
def test_an_array_is_shared_by_all_gpus(op, type_name, count, tmp_path):
    need_fake()
    generator, code = random.Random(op), {"f64": "d", "f32": "f", "i32": "i"}[type_name]
    values = [generator.randint(-9, 9) * (1 if code == "i" else 2.0 ** generator.randint(-30, 9)) for _ in range(count)]
    data = array.array(code, values).tobytes()
    files = [tmp_path / name for name in ("a", "b")[:1 + (op == "dot")]]
    for file in files:
        file.write_bytes(data)
    words = [op, "--type", type_name, "--format", "raw", "--hex", *files]
    log = tmp_path / "log"
    got = printed(*words, "--device", "cuda:all", env=fake_environment(tmp_path, devices=3, log=log))
    assert got == printed(*words, "--device", "cpu")
    launches = log.read_text().split().count("LaunchKernel")
    if op == "prod":
        assert launches == 0  # the CPU's
    else:
        assert launches >= min(len(data) // (1 << 18), 3)


def test_what_one_of_all_gpus_cannot_do_is_told_with_its_name(tmp_path):
    need_fake()
    file = tmp_path / "data"
    file.write_bytes(bytes(8 << 17))
    words = ["sum", "--type", "f64", "--format", "raw", "--device", "cuda:all", file]
    environment = fake_environment(tmp_path, devices=2, fail="LaunchKernel:2:719")
    refused(1, "cuda:", *words, env=environment)
    refused(1, "--device cuda:all: cuda:0: the driver finds no GPU", *words, env=fake_environment(tmp_path, devices=0))
    refused(1, "cuDevicePrimaryCtxRetain (cuda:", *words,
            env=fake_environment(tmp_path, devices=2, fail="DevicePrimaryCtxRetain:2+:46"))


# ---- calls that fail -----------------------------------------------------------------------------------

# What cannot spoil a result by failing.
CLEANING_UP = {"MemFree", "MemFreeHost", "ModuleUnload", "StreamDestroy", "EventDestroy", "DevicePrimaryCtxRelease"}
WAITING = {"EventSynchronize", "StreamSynchronize"}


def calls_of(folder, *words, **options):
    """The functions of libcuda that a command calls, in order."""
    log = folder / "log"
    printed(*words, env=fake_environment(folder, log=log), **options)
    return log.read_text().split()


@pytest.fixture(scope="module")
def opening(tmp_path_factory):
    need_fake(compiles=False)
    return calls_of(tmp_path_factory.mktemp("opening"), "devices")


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """Those of a reduction, and how many of them there are until its result has arrived."""
    need_fake()
    names = calls_of(tmp_path_factory.mktemp("calls"), *SUM, data=NUMBERS)
    copied = len(names) - names[::-1].index("MemcpyDtoHAsync")
    arrived = next(i for i in range(copied, len(names)) if names[i] in WAITING) + 1
    return names, arrived


def test_every_call_that_fails_is_an_error(calls, tmp_path):
    """From the first and from the last of each kind on: the message names the call, the driver's words and what to
    do; only what comes after the result does no harm."""
    names, arrived = calls
    for name in sorted(set(names)):
        places = [i for i, other in enumerate(names) if other == name]
        for at in sorted({1, len(places)}):
            done = run(*SUM, data=NUMBERS, env=fake_environment(tmp_path, fail=f"{name}:{at}+:2"))
            if name in CLEANING_UP or places[at - 1] >= arrived:
                assert (done.returncode, done.stdout) == (0, "47\n"), (name, at, done)
                continue
            assert (done.returncode, done.stdout) == (1, ""), (name, at, done)
            assert done.stderr.startswith("warpfold: ") and f"cu{name}" in done.stderr, (name, at, done)
            assert "CUDA_ERROR_OUT_OF_MEMORY, out of memory: free GPU memory" in done.stderr, (name, at, done)


@pytest.mark.parametrize("result, name", [(700, "ILLEGAL_ADDRESS"), (719, "LAUNCH_FAILED")])
def test_a_broken_context(result, name, calls, opening, tmp_path):
    """A context in which any kernel has faulted stays broken: the message says that the process must be restarted."""
    names, arrived = calls
    later = set(names[:arrived]) - set(opening) - CLEANING_UP
    assert "LaunchKernel" in later
    for call in sorted(later):
        refused(1, [f"cu{call} (", f"CUDA_ERROR_{name}, ", "an earlier kernel of this process",
                    "no kernel can run in the GPU's context until the process is restarted"], *SUM,
                data=NUMBERS, env=fake_environment(tmp_path, fail=f"{call}:1:{result}"))


def test_a_gpu_without_memory(tmp_path):
    need_fake()
    refused(1, ["cuMemAlloc (", "bytes): CUDA_ERROR_OUT_OF_MEMORY", "device cpu"], *SUM, data=NUMBERS,
            env=fake_environment(tmp_path, memory=16))


# ---- kernels under every observer ----------------------------------------------------------------------


# Those that have the least of their own beside the others.
LIKE_OTHERS = {("sum", "f64", "1"), ("sum", "bf16", "1"), ("argmin", "f64", "1"), ("norm2", "f32", "0"), ("stats", "f16", "1"),
               ("prod", "f64", "1"), ("prod", "u8", "0"), ("xor", "u16", "1"), ("max", "i8", "0")}


@pytest.mark.slow
@pytest.mark.parametrize("op, type_name", [
    ("sum", "f32"), ("sum", "f64"), ("sum", "i32"), ("sum", "bf16"), ("max", "i8"), ("argmin", "f64"), ("norm2", "f32"),
    ("stats", "f16"), ("prod", "f64"), ("prod", "u8"), ("xor", "u16"),
])
@pytest.mark.parametrize("small", ("0", "1"))
def test_kernels_are_without_findings(op, type_name, small, tmp_path):
    """Races, accesses out of bounds, uninitialised reads ...: each would be a failed launch."""
    need_fake()
    if not EVERY_KERNEL and (op, type_name, small) in LIKE_OTHERS:
        pytest.skip("its kernel is like others: TESTS_EVERY_KERNEL=1, as in CI, takes them all")
    data = pack(type_name, [1 + i % 3 for i in range(40003 // nbytes_of(type_name))])  # several blocks' work
    words = [op, "--type", type_name, "--format", "raw"]
    environment = fake_environment(tmp_path, observe=1, WARPFOLD_CUDA_SMALL=small, **AS_FOR_USERS)
    found = run(*words, "--device", "cuda", data=data, env=environment)
    expected = run(*words, "--device", "cpu", data=data)
    assert (found.stderr, found.stdout, found.returncode) == (expected.stderr, expected.stdout, expected.returncode)


# Each part of a result once, in elements of 1 to 8 bytes: what has a sign or none touches the same memory.
FINISHING = ("std i64", "stats i64", "prod f64", "and u8", "dot f16", "norminf i16", "argmax i32", "any f32")


@pytest.mark.slow
@pytest.mark.parametrize("part", [*FINISHING, "groups", "large"])
def test_finishing_kernels_are_without_findings(part, tmp_path):
    """A sample of what lab/sanitize-gpu has compute-sanitizer watch: at odd addresses, with results that stay, by
    groups, and by keys that are sorted by tiles."""
    need_fake()
    pytest.importorskip("numpy", reason="no numpy")
    if not EVERY_KERNEL and part not in ("stats i64", "groups"):
        pytest.skip("TESTS_EVERY_KERNEL=1, as in CI, takes all parts")
    command = [sys.executable, Path(__file__).parent / "gpu_kernels.py", *part.split()]
    # Where less is optimized, words that no part of the result needs are copied, written or not.  Tiles of buckets that are loaded at
    # once take the shared memory of 9.0.
    capability = "9.0" if part == "large" else None
    environment = fake_environment(tmp_path, capability=capability, observe=1, TESTS_NVRTC_QUICK=None)
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert done.returncode == 0 and b"the GPU gives the CPU's bits" in done.stdout, done.stderr.decode()


@pytest.mark.slow
@pytest.mark.parametrize("version", (12020, 13000))
def test_kernels_by_key_wait_for_those_before_them(version, tmp_path):
    """Else this libcuda, of drivers that can begin a kernel while others end, does not launch them."""
    need_fake()
    pytest.importorskip("numpy", reason="no numpy")
    environment = fake_environment(tmp_path, capability="9.0", version=version)
    command = [sys.executable, Path(__file__).parent / "gpu_kernels.py", "keys"]
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert done.returncode == 0 and b"the GPU gives the CPU's bits" in done.stdout, done.stderr.decode()


# ---- the cache -----------------------------------------------------------------------------------------


def entries(folder):
    return sorted(path for path in folder.iterdir()) if folder.exists() else []


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    need_fake()
    folder = tmp_path_factory.mktemp("made")
    assert sums(fake_environment(folder))
    assert entries(folder / "warpfold")
    return folder


@pytest.fixture
def filled(made, tmp_path):
    """A folder for the cache with the entries of one reduction."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def without_compiler(cache, **settings):
    return fake_environment(cache, WARPFOLD_NVRTC="/nowhere/libnvrtc.so", **settings)


def test_entries_are_private_and_named(filled):
    folder = filled / "warpfold"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in entries(folder):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        name, key, compiler = path.name.rsplit("-", 2)
        assert name and len(key) == 32 and compiler.startswith("nvrtc")


def test_entries_are_used(filled):
    before = [(path.name, path.stat().st_mtime_ns, path.stat().st_ino) for path in entries(filled / "warpfold")]
    assert sums(fake_environment(filled))
    assert [(path.name, path.stat().st_mtime_ns, path.stat().st_ino) for path in entries(filled / "warpfold")] == before
    assert sums(without_compiler(filled))


def test_no_compiler_and_no_entry(tmp_path):
    need_fake()
    refused(1, ["must be compiled, but NVRTC was not found", "WARPFOLD_NVRTC"], *SUM, data=NUMBERS,
            env=without_compiler(tmp_path))
    assert not entries(tmp_path / "warpfold")


@pytest.mark.parametrize("change", [{"capability": "8.0"}, {"version": 12040}])
def test_entries_are_for_one_gpu_and_driver(filled, change):
    before = entries(filled / "warpfold")
    refused(1, "NVRTC was not found", *SUM, data=NUMBERS, env=without_compiler(filled, **change))
    assert sums(fake_environment(filled, **change))
    assert len(entries(filled / "warpfold")) == 2 * len(before)


def flip(at):
    def damage(data):
        at_byte = at if at >= 0 else len(data) + at
        return data[:at_byte] + bytes([data[at_byte] ^ 0x20]) + data[at_byte + 1:]

    return damage


@pytest.mark.slow
@pytest.mark.parametrize("damage", [
    lambda data: b"", lambda data: data[:40], lambda data: data[:-1], lambda data: data + b"\0",
    lambda data: b"not an entry", lambda data: bytes(len(data)), flip(0), flip(15), flip(16), flip(32), flip(39),
    flip(40), flip(56), flip(200), flip(-1),
], ids="empty header short long foreign zeros magic version key nbytes-low nbytes-high hash body text last".split())
def test_a_damaged_entry_is_rebuilt(filled, damage):
    for path in entries(filled / "warpfold"):
        whole = path.read_bytes()
        path.write_bytes(damage(whole))
        assert path.read_bytes() != whole
        refused(1, "NVRTC was not found", *SUM, data=NUMBERS, env=without_compiler(filled))
        assert sums(fake_environment(filled))
        assert path.read_bytes() == whole


def test_an_entry_that_is_no_file(filled):
    for path in entries(filled / "warpfold"):
        path.unlink()
        path.mkdir()
        assert sums(fake_environment(filled))
        path.rmdir()
        os.mkfifo(path)
        assert sums(fake_environment(filled))


def test_an_entry_under_another_key_is_not_taken(filled):
    """Renamed to what a GPU of another capability asks for, it still is for its own."""
    old = entries(filled / "warpfold")
    assert sums(fake_environment(filled, capability="8.0"))
    new = [path for path in entries(filled / "warpfold") if path not in old]
    for ours, other in zip(old, new):
        shutil.copy(ours, other)
    refused(1, "NVRTC was not found", *SUM, data=NUMBERS, env=without_compiler(filled, capability="8.0"))


def claimed(folder):
    """A lock as a process holds that compiles what the folder has one entry for: its file, and the entry, which is taken out."""
    entry, = entries(folder)
    whole = entry.read_bytes()
    entry.unlink()
    lock = (folder / f".compiling-{entry.name.rsplit('-', 2)[1]}").open("wb")
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock, entry, whole


def has_open(process, path):
    def target(name):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            return os.readlink(f"/proc/{process.pid}/fd/{name}")
        return None

    return path in map(target, os.listdir(f"/proc/{process.pid}/fd"))


def test_what_another_process_compiles_is_waited_for(filled):
    """Its entry is then read: it stays the same file."""
    lock, entry, whole = claimed(filled / "warpfold")
    with subprocess.Popen([CLI, *SUM], env=fake_environment(filled), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as waiting:
        waiting.stdin.write(NUMBERS.encode())
        waiting.stdin.close()
        while waiting.poll() is None and not has_open(waiting, lock.name):
            time.sleep(0.01)
        time.sleep(0.1)
        assert waiting.poll() is None
        entry.write_bytes(whole)
        entry.chmod(0o600)
        there = entry.stat().st_ino
        lock.close()
        assert waiting.stdout.read() == b"47\n"
    assert [path.stat().st_ino for path in entries(filled / "warpfold")] == [there]


def test_what_another_process_began_to_compile_and_did_not_is_compiled(filled):
    lock, entry, whole = claimed(filled / "warpfold")
    lock.close()
    assert sums(fake_environment(filled))
    assert entries(filled / "warpfold") == [entry] and entry.read_bytes() == whole


def test_the_cache_can_be_switched_off(tmp_path):
    need_fake()
    assert sums(fake_environment(tmp_path, WARPFOLD_CACHE="off"))
    assert not entries(tmp_path)


def test_home_where_there_is_no_cache_folder(tmp_path):
    need_fake()
    assert sums(fake_environment("relative", HOME=tmp_path))
    assert entries(tmp_path / ".cache" / "warpfold") and not os.path.exists("relative")
    assert sums(fake_environment("", HOME=None))


def test_a_folder_that_cannot_be_made(tmp_path):
    need_fake()
    (tmp_path / "file").write_text("")
    assert sums(fake_environment(tmp_path / "file"))
    assert sums(fake_environment("/proc/self/nowhere"))


def test_a_folder_that_others_may_write_to_is_not_used(filled):
    (filled / "warpfold").chmod(0o770)
    refused(1, "NVRTC was not found", *SUM, data=NUMBERS, env=without_compiler(filled))
    before = entries(filled / "warpfold")
    assert sums(fake_environment(filled, capability="8.0"))
    assert entries(filled / "warpfold") == before


def test_a_folder_that_is_a_link_is_not_used(filled):
    (filled / "warpfold").rename(filled / "elsewhere")
    (filled / "warpfold").symlink_to("elsewhere")
    before = entries(filled / "elsewhere")
    refused(1, "NVRTC was not found", *SUM, data=NUMBERS, env=without_compiler(filled))
    assert sums(fake_environment(filled, capability="8.0"))
    assert entries(filled / "elsewhere") == before


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_an_entry_that_others_may_write_to_is_not_used(filled, mode):
    for path in entries(filled / "warpfold"):
        path.chmod(mode)
    refused(1, "NVRTC was not found", *SUM, data=NUMBERS, env=without_compiler(filled))
    assert sums(fake_environment(filled))
    assert {stat.S_IMODE(path.stat().st_mode) for path in entries(filled / "warpfold")} == {0o600}
    assert sums(without_compiler(filled))


def test_an_entry_that_is_a_link_is_not_used(filled):
    for path in entries(filled / "warpfold"):
        path.rename(filled / path.name)
        path.symlink_to(filled / path.name)
    refused(1, "NVRTC was not found", *SUM, data=NUMBERS, env=without_compiler(filled))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("whose", ["folder", "entry"])
def test_what_is_anothers_is_not_used(filled, whose):
    for path in [filled / "warpfold"] if whose == "folder" else entries(filled / "warpfold"):
        os.chown(path, 65534, 65534)
    refused(1, "NVRTC was not found", *SUM, data=NUMBERS, env=without_compiler(filled))


def test_processes_that_fill_it_at_once(tmp_path):
    need_fake()
    environment = fake_environment(tmp_path)
    running = [subprocess.Popen([CLI, *SUM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
               for _ in range(4)]
    assert [process.communicate(NUMBERS.encode(), timeout=120)[0] for process in running] == [b"47\n"] * 4
    assert all("nvrtc" in path.name for path in entries(tmp_path / "warpfold"))
    assert sums(without_compiler(tmp_path))


# ---- auto ----------------------------------------------------------------------------------------------


def device_text(name):
    text = ctypes.create_string_buffer(512)
    code = wf.library.wf_device_describe(name, text, len(text))
    return wf.ERRORS[code], text.value.decode()


def sum_bits(*numbers):
    return "i64", sum(numbers)


def test_auto_reduces_where_the_data_lies(gpu):
    handle = wf.Handle("auto")
    numbers = [7, -3, 2**31 - 1]
    assert handle.reduce("sum", wf.vector(pack("i32", numbers), "i32")) == sum_bits(*numbers)
    assert handle.reduce("sum", gpu.memory(pack("i32", numbers)).vector("i32")) == sum_bits(*numbers)
    assert handle.reduce("sum", wf.vector(pack("i32", numbers), "i32")) == sum_bits(*numbers)
    assert handle.device.startswith("auto: data in host memory is reduced on cpu: tier ")


def test_auto_takes_pairs_in_one_place_only(gpu):
    handle = wf.Handle("auto")
    here, there = wf.vector(pack("i32", [1, 2]), "i32"), gpu.memory(pack("i32", [3, 4])).vector("i32")
    for pair in ((here, there), (there, here)):
        with pytest.raises(wf.WarpfoldError) as caught:
            handle.reduce_pair("dot", *pair)
        assert caught.value.code == "WF_ERROR_ARGUMENT"
        assert "host memory" in caught.value.message and "cuda:0" in caught.value.message


def test_auto_leaves_a_result_only_on_a_gpu(gpu):
    handle, result = wf.Handle("auto"), gpu.empty(ctypes.sizeof(wf.device_result))
    here, there = (make(pack("i32", [5, 6])) for make in (lambda data: wf.vector(data, "i32"), gpu.memory))
    for d_result, array, words in (
        (result.pointer, here, "the array is in host memory, but the result is in cuda:0"),
        (result.pointer + 4, there.vector("i32"), "must be aligned to their size"),
        (0, there.vector("i32"), "the output, or its data, is NULL"),
    ):
        with pytest.raises(wf.WarpfoldError) as caught:
            handle.reduce_on_device("sum", d_result, array)
        assert caught.value.code == "WF_ERROR_ARGUMENT" and words in caught.value.message


def test_a_gpu_of_its_own_is_described(gpu):
    assert wf.library.wf_gpu_count() >= 1
    code, text = device_text(b"cuda")
    assert code == "WF_OK" and text.startswith("cuda:0: ") and text == device_text(b"cuda:0")[1]
    assert wf.Handle("cuda").device == text
    count = wf.library.wf_gpu_count()
    code, text = device_text(f"cuda:{count}".encode())
    assert code == "WF_ERROR_DEVICE" and f"no GPU {count}: " in text


def test_description_fits(gpu):
    whole = device_text(b"cuda")[1]
    for capacity in (1, 2, 10):
        text = ctypes.create_string_buffer(b"x" * 20, 20)
        assert wf.library.wf_device_describe(b"cuda", text, capacity) == wf.WF_OK
        assert text.raw[:capacity] == whole[:capacity - 1].encode() + b"\0" and text.raw[capacity] == ord("x")
    assert wf.library.wf_device_describe(b"cuda", None, 0) == wf.WF_OK


# ---- devices that are no GPU ---------------------------------------------------------------------------


def test_other_devices_are_described():
    assert device_text(b"cpu") == ("WF_OK", wf.Handle("cpu").device)
    assert device_text(b"auto") == device_text(None) == ("WF_OK", wf.Handle("auto").device)
    assert device_text(b"gpu") == ("WF_ERROR_DEVICE", "unknown device 'gpu': use auto, cpu, cuda, cuda:N or cuda:all")


def test_the_cpu_has_no_streams():
    with pytest.raises(wf.WarpfoldError) as caught:
        wf.Handle("cpu").set_stream(None)
    assert caught.value.code == "WF_ERROR_UNSUPPORTED"
    assert caught.value.message.startswith("cpu has no ") and "auto" in caught.value.message


# ---- what calls take -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_calls_after_the_first_allocate_nothing(tmp_path):
    """tests/c/footprint counts, of every op, what the library allocates in a second call."""
    need_fake()
    program = Path(os.environ.get("WARPFOLD_BUILD", ROOT / "build")) / "tests" / "c" / "footprint"
    done = subprocess.run([program, "cuda"], env=fake_environment(tmp_path), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert " 0 failures" in done.stdout and not done.stdout.startswith("footprint: 0 calls")
