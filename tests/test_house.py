"""The header, the exported symbols, the C tests and the README's program, as a user's compiler meets them."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("WARPFOLD_BUILD", ROOT / "build"))
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def run(*command, **options):
    """Runs the command to a good end and returns its standard output."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, **options)
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def need(compiler):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    return compiler


# ---- the header


@pytest.mark.parametrize("standard", ["c11", "c17"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_header_is_c(compiler, standard, tmp_path):
    alone = tmp_path / "alone.c"
    alone.write_text(
        "#include <warpfold.h>\n"
        "#include <warpfold.h>\n"
        "int main(void) { return wf_version()[0] == 0; }\n")
    run(need(compiler), f"-std={standard}", *WARNINGS, f"-I{ROOT}/include", "-c", alone, "-o", os.devnull)


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_header_is_cxx(compiler, tmp_path):
    program = tmp_path / "program.cc"
    program.write_text(
        "#include <warpfold.h>\n"
        "int main() {\n"
        "    const double data[] = {1e100, 1, -1e100};\n"
        "    return wf_sum_f64(data, 3) == 1 ? 0 : 1;\n"
        "}\n")
    run(need(compiler), "-std=c++17", *WARNINGS, f"-I{ROOT}/include", program, BUILD / "libwarpfold.a",
        "-lm", "-lpthread", "-o", tmp_path / "program")
    run(tmp_path / "program")


# ---- the symbols


def symbols(*command):
    return {line.split()[-1] for line in run("nm", *command).splitlines() if len(line.split()) == 3}


def public_functions():
    text = (ROOT / "include" / "warpfold.h").read_text()
    return set(re.findall(r"^WF_API [^;(]*?\b(wf_\w+)\(", text, re.MULTILINE))


def test_shared_library_exports_the_header_and_nothing_else():
    assert symbols("-D", "--defined-only", BUILD / "libwarpfold.so") == public_functions()


def test_static_library_keeps_to_its_names():
    names = symbols("-g", "--defined-only", BUILD / "libwarpfold.a")
    assert public_functions() <= names
    assert {name for name in names if not name.startswith("wf_")} == set()


def test_library_needs_libc_libm_and_threads_only():
    needed = re.findall(r"NEEDED\s+(\S+)", run("objdump", "-p", BUILD / "libwarpfold.so"))
    allowed = {"libc", "libm", "libpthread", "ld-linux-x86-64", "ld-linux-aarch64"}
    assert {name.split(".")[0] for name in needed} <= allowed


def test_library_does_not_print_or_end_the_process():
    undefined = run("nm", "-D", "-u", BUILD / "libwarpfold.so")
    names = {line.split()[-1].split("@")[0] for line in undefined.splitlines()}
    unwanted = {"printf", "puts", "putchar", "perror", "stdout", "stderr", "exit", "_exit", "abort"}
    assert names & unwanted == set()


# ---- the programs


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "tests" / "c").glob("*.c")))
def test_c_program(name):
    run(BUILD / "tests" / "c" / name)


def test_readme_program(tmp_path):
    """The README's program, built and run by the commands beside it, prints what the README says."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    at = next(i for i, (language, _) in enumerate(blocks) if language == "c")
    (_, program), (_, session) = blocks[at:at + 2]
    commands = [line[2:] for line in session.splitlines() if line.startswith("$ ")]
    expected = [line for line in session.splitlines() if not line.startswith("$ ")]
    source = next(word for word in commands[0].split() if word.endswith(".c"))
    (tmp_path / source).write_text(program)
    (tmp_path / "include").symlink_to(ROOT / "include")
    (tmp_path / "build").symlink_to(BUILD)
    printed = [run("sh", "-c", command, cwd=tmp_path) for command in commands]
    assert "".join(printed).splitlines() == expected
