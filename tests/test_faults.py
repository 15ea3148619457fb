"""Short of memory, out of disk, killed: whole commands in which one call of the C library fails, or all from one on.

Each must end either as if nothing had happened, or with status 1, one message, nothing on standard output and the files
as they were; never by a signal.  A preloaded library (tests/faults/faults.c) counts the calls and lets them fail.

FAULTS_ALL=1 lets every call fail in its turn; without it one from each place in the program, in one of the commands that
reach it: of a command with many places the first ones and a sample of the others.
"""

import functools
import gzip
import os
import re
import resource
import signal
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from cli_helpers import CLI, FAULTS, ROOT, npy, pack, printed, refused, run, with_faults

IS_LONG = bool(os.environ.get("FAULTS_ALL"))
FIRST, SAMPLES = 24, 24  # of the calls or places, without FAULTS_ALL
TIMEOUT_SECONDS = 120
ENOSPC, EIO, EINTR, EDQUOT = 28, 5, 4, 122

pytestmark = pytest.mark.skipif(not FAULTS.exists(), reason="the tests' programs are not built")


def limited(letter, units, command):
    """The command under a shell's ulimit.  A function for the child (preexec_fn) would need a copy of this process, which
    costs more than most commands."""
    return ["sh", "-c", f'ulimit -{letter} {units} && exec "$@"', "sh", *command]


def start(folder, arguments, **options):
    faults = {name: options.pop(name) for name in ("kind", "at", "lasting", "error", "signal", "named", "places")
              if name in options}
    options.setdefault("stdout", subprocess.PIPE)
    settings = with_faults(**faults)
    if arguments == ["devices"]:  # what dlerror keeps is found by leak checkers only where it is the loader's own malloc
        settings["ASAN_OPTIONS"] += ":detect_leaks=0"
    return subprocess.run([CLI, *arguments], cwd=folder, env=settings, stdin=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, timeout=TIMEOUT_SECONDS, **options)


def files_of(folder):
    return {path.name: (path.read_bytes(), path.stat().st_mode) for path in folder.iterdir()}


def restore(folder, files):
    found = files_of(folder)
    for name in found.keys() - files.keys():
        (folder / name).unlink()
    for name, (content, mode) in files.items():
        if found.get(name) != (content, mode):
            (folder / name).write_bytes(content)
            (folder / name).chmod(stat.S_IMODE(mode))


VOLATILE = ROOT / "ladder" / "ptx" / "wrong" / "last_warp_volatile.ptx"
INSPECT = ["inspect", "kernel.ptx", "--block", "128", "--shared", "512", "--arg", "i32[256]=iota", "--arg", "i32[1]=zeros"]
TASK = """Title: a sum
Signature: void reduce(const float *in, float *out)
Block: 128
Grid: 1
Shared: 512
Argument: in input f32[n] uniform(-1, 1)
Argument: out output f32[1]
Sizes: 256
Expect: out = sum(in)
"""

COMMANDS = {
    "text": ["sum", "text"],
    "npy, as JSON": ["stats", "a.npy", "--json"],
    "raw": ["sum", "--type", "f64", "a.raw"],
    "threads": ["var", "--type", "f64", "--threads", "4", "large.raw"],
    "column": ["mean", "--column", "price", "table.csv"],
    "table": ["sum,argmax", "--column", "price", "--by", "name", "--sort", "--csv", "--save", "new.acc", "table.csv"],
    "merge of tables": ["merge", "--json", "table.acc", "table.acc"],
    "axis": ["var", "--axis", "0", "matrix.npy"],
    "axes, to a file": ["max", "--axis", "0,1", "--out", "out.npy", "matrix.npy"],
    "axis, saved": ["prod", "--axis", "0", "--save", "new.acc", "--out", "out.npy", "matrix.npy"],
    "merge of shapes": ["merge", "--out", "out.npy", "wide.acc", "wide.acc"],
    "dot": ["dot", "a.npy", "b.npy"],
    "merge": ["merge", "a.acc", "b.acc"],
    "save": ["sum", "--save", "new.acc", "a.npy"],
    "save over a file": ["merge", "--save", "a.acc", "a.acc", "b.acc"],
    "no result": ["min", "--save", "new.acc", "empty"],
    "median": ["median", "text"],
    "quantiles": ["quantile", "--q", "0.1,0.9", "--type", "f64", "--threads", "2", "large.raw"],
    "distinct": ["distinct", "a.npy"],
    "histogram": ["histogram", "--json", "text"],
    "gzip": ["sum", "text.gz"],
    "member": ["sum", "two.npz:b"],
    "list": ["sum", "--files-from", "list"],
    "devices": ["devices"],
    "help": ["--help"],
    "version": ["--version"],
    "usage": ["sum", "--nonsense"],
    "explain": ["explain", "05"],
    "explain, as JSON": ["explain", "05", "--json"],
    "explain, a page": ["explain", "05", "--html", "page.html"],
    "ladder": ["ladder", "-n", "64", "--rung", "05"],
    "ladder, partials": ["ladder", "-n", "64", "--rung", "05", "--partials"],
    "ladder, a page": ["ladder", "-n", "64", "--rung", "05", "--json", "--html", "page.html"],
    "ladder, redrawn": ["ladder", "--html", "page.html", "--from", "run.json"],
    "judge": ["judge", "kernel.ptx"],
    "inspect": INSPECT,
    "inspect, as JSON": [*INSPECT, "--json"],
    "inspect, a result": [*INSPECT, "--print", "1", "--expect", "1=32640"],
    "inspect, another result": [*INSPECT, "--expect", "1=7", "--expect", "0=0,1,2", "--json"],
    "inspect, with the source": [*INSPECT, "--source"],
    "inspect, everything": [*INSPECT, "--out", "0=out.npy", "--html", "page.html", "--json"],
}


@pytest.fixture(name="folder", scope="module")
def make_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faults")
    values = [((i * 37) % 101 - 50) / 8 for i in range(3000)]
    (folder / "text").write_text("\n".join(map(str, values)))
    (folder / "text.gz").write_bytes(gzip.compress((folder / "text").read_bytes()))
    with zipfile.ZipFile(folder / "two.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", npy("f32", values[:3]))
        archive.writestr("b.npy", npy("f32", values))
    (folder / "list").write_text("text\ntext\n")
    (folder / "empty").write_text("")
    (folder / "a.npy").write_bytes(npy("f32", values))
    (folder / "b.npy").write_bytes(npy("f32", values[::-1]))
    (folder / "matrix.npy").write_bytes(npy("f32", values[:12], shape=[3, 4]))
    (folder / "wide.npy").write_bytes(npy("f32", values, shape=[2, 1500]))
    (folder / "a.raw").write_bytes(pack("f64", values))
    (folder / "large.raw").write_bytes(pack("f64", values) * 100)
    (folder / "table.csv").write_text("name,price\n" + "".join(f"x{i},{value}\n" for i, value in enumerate(values)))
    (folder / "kernel.ptx").write_bytes(VOLATILE.read_bytes())
    (folder / "kernel.task").write_text(TASK)
    (folder / "small.csv").write_text("name,price\n" + "".join(f"x{i % 9},{value}\n" for i, value in enumerate(values[:40])))
    printed("mean,argmin", "--by", "name", "--save", folder / "table.acc", folder / "small.csv")
    printed("sum", "--save", folder / "a.acc", folder / "a.npy")
    printed("sum", "--save", folder / "b.acc", folder / "b.npy")
    printed("sum", "--axis", "0", "--save", folder / "wide.acc", folder / "wide.npy")
    (folder / "run.json").write_text(printed("ladder", "-n", "64", "--rung", "05", "--json"))
    return folder


def sample(calls, share=1):
    """The first ones, some of the others, and the last; of long lists a share of that."""
    first, samples = FIRST // share, SAMPLES // share
    if IS_LONG or len(calls) <= first + samples:
        return calls
    others = calls[first:]
    return [*calls[:first], *(others[i * len(others) // samples] for i in range(samples)), calls[-1]]


def places_of(file):
    """Of each call, in their order, the addresses in the program from which it was reached."""
    return file.read_text().splitlines()


@functools.cache
def failed_before(kind):
    """Places at which a call of the kind has failed in a command before."""
    return set()


def calls_to_fail(kind, places):
    """The first call from each place at which none has failed before: later ones, of this command or another, take the same
    way back.  And some of all, as what the command prints and leaves is its own."""
    if IS_LONG:
        return range(1, len(places) + 1)
    first = {}
    for at, place in enumerate(places, 1):
        first.setdefault(place, at)
    chosen = sample([at for place, at in first.items() if place not in failed_before(kind)])
    failed_before(kind).update(places[at - 1] for at in chosen)
    return sorted({*chosen, *sample(range(1, len(places) + 1), 12)})


def told(arguments, output):
    """Why there is no driver, the C library tells in fewer words when it is short of memory itself."""
    return re.sub(rb"installed \(.*?\)", b"installed", output) if arguments == ["devices"] else output


def check_calls(folder, arguments, kind, word, tmp_path):
    before = files_of(folder)
    normal = start(folder, arguments, kind=kind, places=tmp_path / "places")
    after = files_of(folder)
    restore(folder, before)
    failing = calls_to_fail(kind, places_of(tmp_path / "places"))
    failed = 0
    for is_lasting in (0, 1):
        for at in sample(failing, 8) if is_lasting else failing:
            done = start(folder, arguments, kind=kind, at=at, lasting=is_lasting)
            found = files_of(folder)
            case = (arguments, kind, at, is_lasting, done)
            if (done.returncode, done.stderr, told(arguments, done.stdout)) != (
                    normal.returncode, normal.stderr, told(arguments, normal.stdout)) or found != after:
                failed += 1
                message = done.stderr.decode()
                assert done.returncode == 1 and done.stdout == b"" and found == before, case
                assert message.count("\n") == 1 and message.startswith("warpfold: ") and word in message, case
            restore(folder, before)
    return failed


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_an_allocation_fails(folder, tmp_path, name):
    assert check_calls(folder, COMMANDS[name], "memory", "memory", tmp_path) >= 3, "the preloaded library has no effect"


@pytest.mark.parametrize("name", ["threads", "ladder", "inspect"])
def test_a_thread_does_not_start(folder, tmp_path, name):
    assert check_calls(folder, COMMANDS[name], "thread", "thread", tmp_path) == 0, "fewer threads do the same"


# ---- system calls that fail --------------------------------------------------------------------------

WRITING = {
    "a new file": ["sum", "--save", "new.acc", "a.npy"],
    "over a file": ["sum", "--save", "a.acc", "a.npy"],
    "several": [*INSPECT, "--out", "0=a.npy", "--out", "1=new.npy", "--html", "page.html", "--json"],
}
FAILURES = [("open", EIO), ("stat", EIO), ("write", ENOSPC), ("write", EDQUOT), ("fsync", EIO), ("fchmod", EIO),
            ("fstat", EIO), ("dup", EIO), ("rename", EIO), ("linkat", EIO), ("close", EIO), ("read", EIO), ("mmap", EIO)]


@pytest.mark.sampled
@pytest.mark.parametrize("name", WRITING)
@pytest.mark.parametrize("call, error", FAILURES)
def test_a_system_call_fails(folder, tmp_path, name, call, error):
    """A result that cannot be printed leaves the files written: they come first, and are right."""
    before = files_of(folder)
    normal = start(folder, WRITING[name], kind=call, places=tmp_path / "places")
    after = files_of(folder)
    restore(folder, before)
    for at in range(1, 1 + len(places_of(tmp_path / "places"))):
        done = start(folder, WRITING[name], kind=call, at=at, error=error)
        found, case = files_of(folder), (call, at, done)
        restore(folder, before)
        assert not [name for name in found if name.startswith(".")], case
        if (done.returncode, done.stdout, done.stderr) == (normal.returncode, normal.stdout, normal.stderr):
            assert found == after, case
            continue
        assert done.returncode == 1 and done.stderr.count(b"\n") == 1, case
        if b"standard output" in done.stderr:
            assert found == after, case
            continue
        assert done.stdout == b"", case
        is_placing = name == "several" and call in ("linkat", "rename")
        assert is_placing or found == before, case
        assert all(found.get(name) in (before.get(name), after.get(name)) for name in after), case


@pytest.mark.parametrize("call, error", [("write", 0), ("write", EINTR), ("read", 0), ("read", EINTR)])
def test_a_system_call_does_less(folder, tmp_path, call, error):
    """Short counts and interruptions are no failures."""
    before = files_of(folder)
    for arguments in (WRITING["over a file"], COMMANDS["text"], COMMANDS["merge"]):
        normal = start(folder, arguments, kind=call, places=tmp_path / "places")
        after = files_of(folder)
        restore(folder, before)
        for at in range(1, 1 + len(places_of(tmp_path / "places"))):
            done = start(folder, arguments, kind=call, at=at, error=error)
            found = files_of(folder)
            restore(folder, before)
            assert (done.returncode, done.stdout, done.stderr, found) == (0, normal.stdout, b"", after), (at, done)


@pytest.mark.parametrize("name", WRITING)
def test_a_file_system_without_nameless_files(folder, name):
    before = files_of(folder)
    normal = start(folder, WRITING[name])
    after = files_of(folder)
    restore(folder, before)
    done = start(folder, WRITING[name], named=1)
    found = files_of(folder)
    restore(folder, before)
    assert (done.returncode, done.stdout, done.stderr, found) == (normal.returncode, normal.stdout, b"", after)


# ---- signals and limits ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a new file", "over a file"])
@pytest.mark.parametrize("call", ["open", "write", "fchmod", "fsync", "linkat", "rename"])
@pytest.mark.parametrize("number, named", [(signal.SIGTERM, 0), (signal.SIGHUP, 0), (signal.SIGINT, 0), (signal.SIGKILL, 0),
                                           (signal.SIGTERM, 1)])
def test_a_signal_while_saving(folder, tmp_path, name, call, number, named):
    """What SIGKILL may leave is a whole file between getting a name beside the target and getting the target's."""
    before = files_of(folder)
    start(folder, WRITING[name], kind=call, named=named, places=tmp_path / "places")
    after = files_of(folder)
    restore(folder, before)
    for at in range(1, 1 + len(places_of(tmp_path / "places"))):
        done = start(folder, WRITING[name], kind=call, at=at, signal=int(number), named=named)
        found = files_of(folder)
        restore(folder, before)
        left = {name for name in found if name.startswith(".")}
        assert not left or (number == signal.SIGKILL and call == "rename" and len(left) == 1), (at, left)
        assert {name: file for name, file in found.items() if name not in left} in (before, after), (at, done)
        assert done.returncode == -number, (at, done)


@pytest.mark.sampled
@pytest.mark.parametrize("name", WRITING)
@pytest.mark.parametrize("nbytes", [0, 1, 100, 200, 5000])
def test_a_limit_on_file_sizes(folder, name, nbytes):
    before = files_of(folder)
    normal = start(folder, WRITING[name])
    after = files_of(folder)
    restore(folder, before)
    done = start(folder, WRITING[name], preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, nbytes)))
    found = files_of(folder)
    restore(folder, before)
    if done.returncode == normal.returncode:
        assert found == after
        return
    assert done.returncode == 1 and done.stdout == b"" and found == before, done
    assert b"File too large" in done.stderr and done.stderr.count(b"\n") == 1


def run_limited(folder, limit, arguments):
    return subprocess.run(limited("v", limit >> 10, [CLI, *arguments]), cwd=folder, stdin=subprocess.DEVNULL,
                          capture_output=True, check=False)


def cannot_begin(folder, limit):
    """Whether the system has no room for the program itself, and so ends it, or its loader says so."""
    done = run_limited(folder, limit, ["--version"])
    return b"error while loading shared libraries" in done.stderr or done.returncode < 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["threads", "explain, a page", "ladder, a page", "inspect, everything", "help"])
def test_a_limit_on_memory(folder, name):
    if re.search(r"^WARPFOLD_SANITIZE:\w+=.", (Path(CLI).parent / "CMakeCache.txt").read_text(), re.MULTILINE):
        pytest.skip("sanitizers need more address space than any limit leaves")
    before = files_of(folder)
    normal = start(folder, COMMANDS[name])
    after = files_of(folder)
    restore(folder, before)
    for mebibytes in range(6, 40, 1 if IS_LONG else 3):
        limit = mebibytes << 20
        if cannot_begin(folder, limit):
            continue
        done = run_limited(folder, limit, COMMANDS[name])
        found = files_of(folder)
        restore(folder, before)
        if done.returncode == normal.returncode:
            assert (done.stdout, found) == (normal.stdout, after), (mebibytes, done)
            continue
        assert done.returncode == 1 and done.stdout == b"" and found == before, (mebibytes, done)
        assert done.stderr.count(b"\n") == 1 and b"memory" in done.stderr, (mebibytes, done)


# ---- what is replaced --------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o444 | 0o200])
def test_the_mode_of_what_is_replaced_is_kept(tmp_path, mode):
    path = tmp_path / "a.acc"
    path.write_text("before")
    path.chmod(mode)
    printed("sum", "--save", path, data="1", umask=0o022)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert printed("merge", path) == "1\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_owner_of_what_is_replaced_is_kept(tmp_path):
    path = tmp_path / "a.acc"
    path.write_text("before")
    os.chown(path, 1234, 2345)
    printed("sum", "--save", path, data="1")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


def test_extended_attributes_of_what_is_replaced_are_kept(tmp_path):
    path = tmp_path / "a.acc"
    path.write_text("before")
    try:
        os.setxattr(path, "user.origin", b"here")
    except OSError:
        pytest.skip("the file system has no extended attributes")
    printed("sum", "--save", path, data="1")
    assert os.getxattr(path, "user.origin") == b"here"


def test_links_that_lead_to_nothing_yet(tmp_path):
    (tmp_path / "below").mkdir()
    (tmp_path / "one").symlink_to("below/two")
    (tmp_path / "below" / "two").symlink_to("../three")
    printed("sum", "--save", tmp_path / "one", data="1")
    assert (tmp_path / "one").is_symlink() and (tmp_path / "below" / "two").is_symlink()
    assert (tmp_path / "three").is_file() and printed("merge", tmp_path / "one") == "1\n"
    (tmp_path / "circle").symlink_to("circle")
    refused(1, [str(tmp_path / "circle"), "symbolic links"], "sum", "--save", tmp_path / "circle", data="1")
    assert (tmp_path / "circle").is_symlink()


def test_other_names_of_what_is_replaced_keep_the_old_contents(tmp_path):
    (tmp_path / "a").write_text("before")
    os.link(tmp_path / "a", tmp_path / "b")
    printed("sum", "--save", tmp_path / "a", data="1")
    assert (tmp_path / "b").read_text() == "before" and printed("merge", tmp_path / "a") == "1\n"


WITHOUT_RIGHTS = """
import os, sys
os.setgroups([]); os.setgid(12345); os.setuid(12345)
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a user who may do less")
@pytest.mark.parametrize("file_mode, folder_mode", [(0o444, 0o777), (0o666, 0o555)])
def test_what_may_not_be_written_is_not_replaced(tmp_path, file_mode, folder_mode):
    for parent in [tmp_path, *tmp_path.parents][:3]:
        parent.chmod(0o755)
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "a.acc"
    path.write_text("before")
    path.chmod(file_mode)
    folder.chmod(folder_mode)
    done = subprocess.run([sys.executable, "-c", WITHOUT_RIGHTS, CLI, "sum", "--save", str(path)], input=b"1",
                          capture_output=True, check=False)
    assert done.returncode == 1 and b"Permission denied" in done.stderr and done.stdout == b"", done
    assert path.read_text() == "before" and os.listdir(folder) == ["a.acc"]


def test_a_failing_save_prints_nothing(tmp_path):
    refused(1, "No space left", "sum", "--save", "/dev/full", data="1")
    one, out = tmp_path / "kernel.ptx", tmp_path / "out.npy"
    one.write_bytes(VOLATILE.read_bytes())
    done = run(*INSPECT[:1], one, *INSPECT[2:], "--out", f"0={out}", "--html", tmp_path / "none" / "page.html", "--json")
    assert done.returncode == 1 and done.stdout == "" and not out.exists()


# ---- the library -------------------------------------------------------------------------------------


def test_the_library(tmp_path):
    """tests/faults/library.c: every call of it, with each allocation and each start of a thread failing."""
    done = subprocess.run([FAULTS.parent / "faults_library", tmp_path], env=with_faults(), capture_output=True,
                          timeout=TIMEOUT_SECONDS, check=False)
    assert done.returncode == 0, done
    tried = dict(line.split() for line in done.stdout.decode().splitlines())
    assert {"create", "reduce", "reduce_keys", "add", "read", "merge", "add_keys", "merge_trees"} <= set(tried)
    assert all(int(count) > 0 for count in tried.values())
