"""Names are data: no name of a file, folder, option or variable runs anything, opens another file or speaks to the
terminal; and what a command makes for a while is gone, however it ends."""

import json
import os
import signal
import subprocess
import time

import pytest

from cli_helpers import CLI, ROOT, TIMEOUT_SECONDS, refused, run
from test_inspect_cuda import ABSENT, compiler, nvcc, nvrtc  # noqa: F401  (fixtures)

# ---- compilers ----------------------------------------------------------------------------------------

HOSTILE = ["z$(touch pwned)", "`touch pwned`", "a;touch pwned;", "a'\"b\\", "-o pwned", "a\nwarpfold: b", "a\x1b[31m",
           "ä\u202e.cu\\", "a|tee pwned& ??'b"]
KERNEL = """#include "beside.cuh"
#include "../above.cuh"
template <int N> __global__ void mine(int *out) {
    out[threadIdx.x + ABOVE - BESIDE] = N;
}
"""


def lay(folder, name, host=""):
    """A source in a folder, both of that name, and what it includes."""
    below = folder / name
    below.mkdir()
    (below / "beside.cuh").write_text("#define BESIDE 5\n")
    (folder / "above.cuh").write_text("#define ABOVE 5\n")
    (below / f"{name}.cu").write_text(KERNEL + host)
    return below / f"{name}.cu"


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_sources_name_is_data(compiler, tmp_path, name):
    environment = {**compiler, "TMPDIR": str(tmp_path / "t$(touch pwned)")}
    (tmp_path / "t$(touch pwned)").mkdir()
    path = lay(tmp_path, name, "int main() { return 0; }\n" if ABSENT == compiler.get("WARPFOLD_NVRTC") else "")
    for given, folder in ((f"./{name}.cu", path.parent), (str(path), tmp_path)):
        if folder != tmp_path and '"' in name and compiler.get("WARPFOLD_NVRTC") != ABSENT:
            continue  # NVRTC cannot read the PTX that it writes in a folder of such a name
        before = sorted(tmp_path.rglob("*"))
        done = run("inspect", given, "--kernel", "mine<3>", "--json", "--arg", "i32[31]=none", cwd=folder,
                   env={**environment, "PWD": str(folder)})
        assert done.returncode == 3, done
        finding, = json.loads(done.stdout)["findings"]
        assert (finding["kind"], finding["file"], finding["line"]) == ("bounds", given, 4)
        assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.slow
def test_a_compilers_words_name_the_file_and_the_header(nvcc, tmp_path):
    path = lay(tmp_path, "z$(touch pwned)\n")
    path.write_text('#include "broken.cuh"\nint main() { return 0; }\n')
    (path.parent / "broken.cuh").write_text("broken;\n")
    done = run("inspect", path, env=nvcc)
    shown = str(path.parent).replace("\n", "\\n")
    assert done.returncode == 1 and f"warpfold: {shown}/broken.cuh(1): error: " in done.stderr, done.stderr
    assert "warpfold-beside" not in done.stderr
    path.write_text("broken;\nint main() { return 0; }\n")
    assert f"warpfold: {shown}/z$(touch pwned)\\n.cu(1): error: " in run("inspect", path, env=nvcc).stderr


# A stand-in for nvcc: it hands every argument to a shell, as nvcc does, and is slow if told so.
NVCC = """#!/bin/sh
here={here}
printf '%s\\n' "$@" > $here/arguments
env > $here/environment
for argument; do eval ": \\"$argument\\""; done
while [ "$1" != -o ]; do shift; done
: > "$TMPDIR/tmpxft_1"
if [ -e $here/slow ]; then
    trap '' TERM INT HUP
    sleep 600 & echo $! >> $here/sleepers
    sleep 600 & echo $! >> $here/sleepers
    wait; wait
fi
cp $here/kernel.ptx "$2"
"""
PTX = """.version 7.0
.target sm_75
.address_size 64
.visible .entry mine(.param .u64 out) {
    .loc 1 2 3
    ret;
}
    .file 1 "FILE"
"""


@pytest.fixture
def fake_nvcc(tmp_path):
    """(its environment, its folder)"""
    here = tmp_path / "cuda"
    here.mkdir()
    (here / "nvcc").write_text(NVCC.format(here=here))
    (here / "nvcc").chmod(0o700)
    (here / "kernel.ptx").write_text(PTX)
    return {**os.environ, "WARPFOLD_NVRTC": ABSENT, "WARPFOLD_NVCC": str(here / "nvcc")}, here


@pytest.mark.parametrize("name", ["z$(touch pwned)", "`touch pwned`"])
def test_nothing_of_the_users_reaches_nvccs_shell(fake_nvcc, tmp_path, name):
    environment, here = fake_nvcc
    path = lay(tmp_path, name)
    (tmp_path / "t$(touch pwned)").mkdir()
    environment = {**environment, "TMPDIR": str(tmp_path / "t$(touch pwned)"), "PWD": str(path.parent), name: name,
                   "PATH": f"{path.parent}:{os.environ['PATH']}", "INCLUDES": f'"-I{path.parent}"', "OLDPWD": name}
    done = run("inspect", path.name, "--arg", "i32[1]=none", env=environment, cwd=path.parent)
    assert done.returncode == 0, done
    settings = (here / "environment").read_text().splitlines() # the shell sets PWD itself
    seen = [*(here / "arguments").read_text().splitlines(), *(line for line in settings if not line.startswith("PWD="))]
    assert not any("touch" in line for line in seen) and "-ptx" in seen
    assert not list(tmp_path.rglob("pwned"))
    assert os.environ["PATH"].split(":")[-1] in (here / "environment").read_text()


@pytest.mark.parametrize("variable", ["NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN"])
def test_settings_of_nvccs_are_passed_on_or_refused(fake_nvcc, tmp_path, variable):
    environment, here = fake_nvcc
    path = lay(tmp_path, "mine")
    assert run("inspect", path, "--arg", "i32[1]=none", env={**environment, variable: "-DA=1 -DB"}).returncode == 0
    assert f"{variable}=-DA=1 -DB\n" in (here / "environment").read_text()
    (here / "arguments").unlink()
    refused(1, variable, "inspect", path, env={**environment, variable: "-D'A=$(touch pwned)'"}, cwd=tmp_path)
    assert not (here / "arguments").exists() and not (tmp_path / "pwned").exists()


def test_an_nvcc_whose_own_name_is_not_plain_is_not_run(fake_nvcc, tmp_path):
    environment, here = fake_nvcc
    there = tmp_path / "c$(touch pwned)"
    here.rename(there)
    for chosen in (there, tmp_path / "link"):
        environment["WARPFOLD_NVCC"] = str(chosen / "nvcc")
        if not chosen.exists():
            chosen.symlink_to(there)
        refused(1, "is not run", "inspect", lay(tmp_path, chosen.name[:1]), env=environment, cwd=tmp_path)
    assert not list(tmp_path.rglob("pwned"))


@pytest.mark.parametrize("name", ["a\n#include \"/etc/passwd\"\n", "a\x1b", "a<1>;\r"])
def test_a_kernels_name_is_one_line(compiler, tmp_path, name):
    path = lay(tmp_path, "mine")
    done = run("inspect", path, "--kernel", name, env=compiler)
    assert done.returncode == 1 and "root:" not in done.stderr
    assert all(line.startswith("warpfold: ") and line.isprintable() for line in done.stderr.splitlines()), done


# ---- signals ------------------------------------------------------------------------------------------


def is_running(process):
    try:
        with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def wait_until(condition):
    end = time.monotonic() + TIMEOUT_SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_while_nvcc_runs_leaves_nothing(fake_nvcc, tmp_path, number):
    environment, here = fake_nvcc
    path, scratch = lay(tmp_path, "mine"), tmp_path / "scratch"
    scratch.mkdir()
    (here / "slow").touch()
    with subprocess.Popen([CLI, "inspect", path], env={**environment, "TMPDIR": str(scratch)},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        sleepers = here / "sleepers"
        wait_until(lambda: sleepers.exists() and len(sleepers.read_text().split()) == 2)
        assert list(scratch.iterdir())
        process.send_signal(number)
        said = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == -number and said == (b"", b"")
    assert not list(scratch.iterdir())
    wait_until(lambda: not any(is_running(sleeper) for sleeper in sleepers.read_text().split()))


def test_an_ignored_signal_stays_ignored(fake_nvcc, tmp_path):
    environment, here = fake_nvcc
    path = lay(tmp_path, "mine")
    (here / "slow").touch()
    with subprocess.Popen(["nohup", CLI, "inspect", path], env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        wait_until(lambda: (here / "sleepers").exists() and len((here / "sleepers").read_text().split()) == 2)
        process.send_signal(signal.SIGHUP)
        time.sleep(0.1)
        assert process.poll() is None
        process.terminate()
        process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == -signal.SIGTERM


# ---- what is shown of a kernel's sources ----------------------------------------------------------------

SECRET = "a secret of another folder\n"


@pytest.fixture
def shown(tmp_path):
    """shown(name that a .file gives, option...) -> the text that a report shows for it, or None."""
    folder = tmp_path / "kernel"
    folder.mkdir()
    (tmp_path / "secret").write_text(SECRET)
    (folder / "mine.cu").write_text("own\n")

    def ask(name, *options):
        (folder / "mine.ptx").write_text(PTX.replace("FILE", str(name)))
        page = tmp_path / "page.html"
        command = ["inspect", folder / "mine.ptx", "--arg", "i32[1]=none", *options]
        done = run(*command, "--html", page, "--source", cwd=folder)
        assert (done.returncode, done.stderr) == (0, ""), done
        text = run(*command, "--json", cwd=folder).stdout + run(*command, "--source", cwd=folder).stdout
        assert "secret of" not in text or options
        data = page.read_text().split('<script type="application/json" id="data">', 1)[1].split("</script>")[0]
        assert SECRET.strip() not in page.read_text() or options
        return json.loads(data)["sources"][0]["text"]

    ask.folder = folder
    return ask


def test_sources_beside_the_kernel_are_shown(shown):
    (shown.folder / "below").mkdir()
    (shown.folder / "below" / "other.cuh").write_text("other\n")
    (shown.folder / "link.cu").symlink_to("below/other.cuh")
    assert shown(shown.folder / "mine.cu") == "own\n"
    assert shown("mine.cu") == shown("below/../mine.cu") == "own\n"
    assert shown("below/other.cuh") == shown("link.cu") == "other\n"


def test_no_other_file_is_opened(shown, tmp_path):
    (shown.folder / "link.cu").symlink_to(tmp_path / "secret")
    (shown.folder / "up").symlink_to(tmp_path)
    for name in (tmp_path / "secret", "../secret", "link.cu", "up/secret", "/proc/self/environ", "mine.cu/", ""):
        assert shown(name) is None, name
    (shown.folder.parent / "kernel2").mkdir()
    (shown.folder.parent / "kernel2" / "secret").write_text(SECRET)
    assert shown("../kernel2/secret") is None
    assert shown("../secret", "--sources", tmp_path) == SECRET
    assert shown("../secret", "--sources", shown.folder) is None


def test_what_is_no_text_file_is_not_read(shown):
    os.mkfifo(shown.folder / "pipe")
    (shown.folder / "binary").write_bytes(b"a\0b")
    with open(shown.folder / "huge", "wb") as file:
        file.truncate(1 << 30)
    for name in ("pipe", "binary", "huge", "."):
        assert shown(name) is None, name


def test_a_line_directive_opens_nothing(compiler, shown, tmp_path):
    path = shown.folder / "line.cu"
    path.write_text(f'__global__ void mine(int *out) {{\n#line 1 "{tmp_path}/secret"\n    *out = 1;\n}}\n')
    done = run("inspect", path, "--arg", "i32[1]=none", "--source", env=compiler)
    assert done.returncode == 3 or done.returncode == 0
    assert "secret of" not in done.stdout


# ---- the terminal -------------------------------------------------------------------------------------

ODD = b"a\nwarpfold: forged\r\x1b[31m\x7f\xc2\x9b\xe2\x80\xae\xff\t\xc3\xa9"
PLAIN = "a\\nwarpfold: forged\\r\\x1b[31m\\x7f\\u009b\\u202e\\xff\\té"


def said(*arguments, **options):
    """What a run says on standard error, of printable lines with the program's name before them."""
    done = subprocess.run([CLI, *arguments], capture_output=True, timeout=TIMEOUT_SECONDS, **options)
    lines = done.stderr.decode().splitlines()
    assert all(line.startswith("warpfold: ") and line.isprintable() for line in lines), lines
    assert "warpfold: forged" not in lines
    return "\n".join(lines)


@pytest.mark.parametrize("arguments", [
    [ODD], ["sum", ODD], ["sum", ODD + b".npy"], ["merge", ODD], ["sum", b"--" + ODD],
    ["sum", b"--nan=" + ODD], ["sum", b"--type", ODD], ["sum", b"--device", ODD], ["sum", b"--threads", ODD],
    ["sum", b"--delimiter", ODD], ["sum", b"--save", b"/nowhere/" + ODD], ["ladder", b"--rung", ODD],
    ["ladder", b"--device", ODD], ["ladder", b"--schedule", ODD], ["ladder", b"--from", ODD, b"--html", b"/nowhere/x"],
    ["explain", ODD], ["explain", b"06", b"--values", ODD], ["explain", b"06", b"--html", b"/nowhere/" + ODD],
    ["inspect", ODD], ["inspect", ODD + b".cu"], ["inspect", ODD + b".ptx"], ["bench", b"--op", ODD],
    ["inspect", b"k.ptx", b"--block", ODD], ["judge", ODD], ["judge", ODD + b".ptx"], ["judge", ODD + b".cu"],
    ["judge", b"k.cu", b"--task", ODD], ["judge", b"k.cu", b"--task", ODD + b".task"],
], ids=lambda arguments: " ".join(map(str, arguments))[:24].encode("ascii", "replace").decode().replace("\\", ""))
def test_messages_are_printable(arguments, tmp_path):
    assert PLAIN in said(*arguments, input=b"1 2\n", cwd=tmp_path)


@pytest.mark.parametrize("option", [b"-\xff", b"-\x1b", b"--c\x1b", b"--he\n", b"--json=\x1b", b"-n", b"--type"])
def test_options_are_printable(option):
    assert said(b"sum", option)


def test_lines_of_a_task_are_printable(tmp_path):
    task = (ROOT / "tasks" / "sum.task").read_bytes()
    for line in (ODD, b"Gate: " + ODD, b"Argument: " + ODD + b" input f32[n] " + ODD, b"Roundings: " + ODD):
        (tmp_path / "a.task").write_bytes(task + line + b"\n")
        assert said("judge", "k.cu", "--task", tmp_path / "a.task")


def test_text_is_quoted_in_printable_form(tmp_path):
    for name, data in (("a.txt", b"1 " + ODD), ("a.csv", ODD + b",b\n1,2\n"), ("a.ptx", ODD), ("b.ptx", b'"' + ODD)):
        (tmp_path / name).write_bytes(data)
        command = ["inspect"] if name.endswith("ptx") else ["sum", "--column", "x", "--delimiter", ","]
        assert said(*command, tmp_path / name)
    (tmp_path / ODD.decode("utf-8", "surrogateescape")).write_text("x")
    assert PLAIN in said(b"sum", ODD, cwd=tmp_path)
    assert said(b"sum", b"--device", b"cuda", input=b"1",
                env={**os.environb, b"WARPFOLD_LIBCUDA": b"/nowhere/" + ODD})
    assert all(line.isprintable() for line in subprocess.run(
        [CLI, "devices"], env={**os.environb, b"WARPFOLD_LIBCUDA": b"/nowhere/" + ODD}, capture_output=True,
        check=False).stdout.decode().splitlines())


def test_a_reports_names_are_printable(tmp_path):
    name = ODD.replace(b"\t", b"").replace(b"\xff", b"").decode()
    path = tmp_path / f"{name}.ptx"
    source = tmp_path / f"{name}.cu"
    source.write_text("\n\x1b[2Jline\u202e\tshown\n")
    quoted = "".join(f"\\{byte:03o}" if byte < 32 or byte > 126 else chr(byte) for byte in str(source).encode())
    path.write_text(PTX.replace("FILE", quoted).replace(" ret;", " st.global.u32 [0], 1; ret;"))
    done = run("inspect", path, "--arg", "i32[1]=none", "--source")
    assert done.returncode == 3 and "\\x1b[2Jline\\u202e\tshown" in done.stdout, done
    assert all(line.replace("\t", "").isprintable() for line in done.stdout.split("\n"))
    report = json.loads(run("inspect", path, "--arg", "i32[1]=none", "--json").stdout)
    assert report["findings"][0]["file"] == str(source)


def test_json_of_names_that_are_no_utf8(tmp_path):
    path = os.fsencode(tmp_path) + b"/" + ODD + b".ptx"
    with open(path, "wb") as file:
        file.write(PTX.encode().replace(b"FILE", b"\xff\xc0\x80\x1b.cu"))
    done = subprocess.run([CLI, "inspect", path, "--arg", "i32[1]=none", "--json"], capture_output=True, check=True)
    assert json.loads(done.stdout.decode("utf-8"))["instructions"] == 1


@pytest.mark.parametrize("device", ["cudaX", "cuda:", "cuda:x", "cuda:-1", "cuda:12345", "cuda 0", "CUDA", "gpu", ""])
def test_every_command_refuses_the_same_devices(device):
    for command in (["sum"], ["merge", "x.acc"], ["ladder"]):
        refused(2, "--device", *command, "--device", device)
