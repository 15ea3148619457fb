"""The header, the exported symbols, the C tests and the README's program, as a user's compiler meets them."""

import functools
import os
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

import abi
from kernel_helpers import has_nvrtc
from object_files import calls_between

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


# ---- what programs that were compiled before rely on


@pytest.mark.skipif(struct.calcsize("P") != 8, reason="recorded where pointers have 8 bytes")
def test_interface_is_the_recorded_one():
    before, now = abi.recorded(), abi.interface()
    assert abi.broken(before, now) == []
    assert before == now, "something was added: `python3 tests/abi.py` records it"


def test_record_of_the_interface_tells_additions_from_breaks():
    before = ["constant A 1", "size s 16", "member s.nbytes (size_t) 0 8", "size t 8", "function void f(int)"]
    later = [line.replace("s 16", "s 24") for line in before] + ["constant B 2"]
    assert abi.broken(before, later) == []
    assert abi.broken(later, before) == ["size s 24", "constant B 2"]
    for old, new in (("A 1", "A 2"), ("t 8", "t 16"), ("(size_t) 0", "(size_t) 8"), ("f(int)", "f(long)")):
        line = next(line for line in before if old in line)
        assert abi.broken(before, [line.replace(old, new) for line in later]) == [line]


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


def test_simulator_keeps_to_its_names():
    names = symbols("-g", "--defined-only", BUILD / "libsimt.a")
    assert {"simt_module_parse", "simt_machine_launch"} <= names
    assert {name for name in names if not name.startswith("simt_")} == set()


def test_both_libraries_link_into_one_program(tmp_path):
    """Whole, although both contain common/."""
    if re.search(r"^WARPFOLD_SANITIZE:\w+=.", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE):
        pytest.skip("a build with sanitizers needs their flags")
    (tmp_path / "program.c").write_text("int main(void) { return 0; }\n")
    run(need("cc"), tmp_path / "program.c", "-o", tmp_path / "program", "-Wl,--whole-archive", BUILD / "libsimt.a",
        BUILD / "libwarpfold.a", "-Wl,--no-whole-archive", "-lm", "-lpthread", "-ldl")
    run(tmp_path / "program")


# ---- the simulator's folders

# Each folder of simt/: of which others it may call functions.  They are declared in the headers that are installed
# or, of some folders, in one of the folder's name; machine/machine.h is for that folder alone.
FOLDERS = {"ptx": set(), "machine": {"ptx"}, "observe": {"machine"}, "compile": {"ptx"}}
INSTALLED = ["simt.h", "simt_observer.h"]
OWN_HEADER = {"ptx", "observe"}


@functools.cache
def simulator_calls():
    calls = calls_between("simt")
    assert {path.parent.name for path in calls} == set(FOLDERS)
    return calls


def test_folders_of_the_simulator_call_what_others_offer():
    for path, targets in simulator_calls().items():
        folder = path.parent.name
        for target, names in targets.items():
            other = target.parent.name
            if other == folder:
                continue
            assert other in FOLDERS[folder], f"{path} calls {target}: {names}"
            headers = INSTALLED + ([f"{other}/{other}.h"] if other in OWN_HEADER else [])
            offered = "".join((ROOT / "simt" / header).read_text() for header in headers)
            assert {name for name in names if not re.search(rf"\b{name}\b", offered)} == set(), f"{path}: {target}"


def test_folders_of_the_simulator_include_what_others_offer():
    offered = {f"{folder}/{folder}.h": folder for folder in OWN_HEADER}
    for path in sorted((ROOT / "simt").glob("*/*.[chi]*")):
        folder = path.parent.name
        for name in re.findall(r'^#include "(.+)"', path.read_text(), re.MULTILINE):
            own = (path.parent / name).exists() or name.startswith("common/")
            top = "/" not in name and (ROOT / "simt" / name).exists()
            assert own or top or offered.get(name) in FOLDERS[folder], f"{path}: {name}"
    for path in sorted((ROOT / "common").glob("*.[ch]")):
        for name in re.findall(r'^#include "(.+)"', path.read_text(), re.MULTILINE):
            assert (path.parent / name).exists(), f"{path}: {name}"


# ---- what makes a defect harder to use


@pytest.mark.parametrize("name", ["warpfold", "libwarpfold.so"])
def test_binaries_are_hardened(name):
    read = need("readelf")
    parts, dynamic = run(read, "-hlW", BUILD / name), run(read, "-dW", BUILD / name)
    assert re.search(r"Type:\s+DYN", parts)
    assert re.search(r"GNU_RELRO", parts)
    assert re.search(r"GNU_STACK .* RW ", parts)
    assert re.search(r"\bFLAGS\b.*BIND_NOW", dynamic) and re.search(r"FLAGS_1\b.*\bNOW\b", dynamic)
    assert name != "warpfold" or re.search(r"FLAGS_1\b.*\bPIE\b", dynamic)
    assert "TEXTREL" not in dynamic
    undefined = run("nm", "-D", "-u", BUILD / name)
    assert "__stack_chk_fail" in undefined
    sanitized = re.search(r"^WARPFOLD_SANITIZE:\w+=.", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE)
    assert sanitized or "musl" in run(read, "-lW", BUILD / name) or "_chk@" in undefined.replace("__stack_chk", "")


# ---- the words


GLOSSARY = (ROOT / "docs" / "glossary.md").read_text()
OWN_SOURCES = [ROOT / "include" / "warpfold.h",
               *(path for folder in ("src", "src/core", "src/cpu", "src/io", "simt", "simt/compile", "simt/machine",
                                     "simt/observe", "simt/ptx", "explain", "report", "cli", "judge", "ladder", "common",
                                     "python/src")
                 for path in sorted((ROOT / folder).glob("*.[ch]")))]


def glossary_rows(section):
    """The cells of each row of the section's table, without its head."""
    text = GLOSSARY.split(f"# {section}\n")[1].split("\n#")[0]
    rows = [[cell.strip(" *`") for cell in line.strip("|").split("|")]
            for line in text.splitlines() if line.startswith("|")]
    return rows[2:]


def test_glossary_is_sorted_and_names_files_that_exist():
    rows = glossary_rows("Glossary")
    words = [row[0].lower() for row in rows]
    assert len(words) >= 40 and words == sorted(set(words))
    sources = {path.name for folder in ("include", "src", "simt", "ladder", "bench", "docs")
               for path in (ROOT / folder).rglob("*")}
    assert [row[2] for row in rows if row[2] != "ladder/" and row[2] not in sources] == []


def test_retired_words_stay_out_of_names():
    retired = {word.strip() for row in glossary_rows("Retired words") for word in row[0].split(",")}
    retired_part = re.compile(rf"(^|_)({'|'.join(sorted(retired))})s?(_|$)")
    found = {}
    for path in OWN_SOURCES:
        code = re.sub(r'/\*.*?\*/|//[^\n]*|"(\\.|[^"\\\n])*"', " ", path.read_text(), flags=re.DOTALL)
        names = {name for name in re.findall(r"[A-Za-z_]\w*", code) if retired_part.search(name.lower())}
        if names:
            found[path.relative_to(ROOT).as_posix()] = names
    assert len(retired) > 10 and len(OWN_SOURCES) > 400 and found == {}


PLAIN_TEXTS = [ROOT / "README.md", ROOT / "packaging" / "warpfold.1.in", *sorted((ROOT / "include").glob("*.h")),
               ROOT / "simt" / "simt.h", ROOT / "simt" / "simt_observer.h",
               *(path for path in sorted((ROOT / "docs").glob("*.md")) if path.name != "glossary.md")]  # which lists them


def test_retired_phrases_stay_out_of_prose():
    retired = [phrase.strip() for row in glossary_rows("Retired phrases") for phrase in row[0].split(",")]
    pattern = re.compile(rf"\b({'|'.join(retired)})\b", re.IGNORECASE)
    found = {}
    for path in PLAIN_TEXTS:
        phrases = set(pattern.findall(" ".join(re.sub(r"^ \* ?", "", path.read_text(), flags=re.MULTILINE).split())))
        if phrases:
            found[path.relative_to(ROOT).as_posix()] = phrases
    assert len(retired) > 10 and len(PLAIN_TEXTS) > 15 and found == {}


# ---- what contributors are told


CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
SPANS = re.findall(r"`([^`]+)`", " ".join(CONTRIBUTING.split()))


def test_files_that_contributors_are_told_of_exist():
    tree = re.findall(r"^    ([\w./, ]+?)  +\w", CONTRIBUTING, re.MULTILINE)
    words = {word.strip(",") for words in (*SPANS, *tree) for word in words.split()}
    paths = {word for word in words if re.fullmatch(r"[\w.*-]*/[\w./*-]*", word) and not re.search("[A-Z]{3}|NN", word)}
    paths -= {"/", "//"}
    assert len(paths) > 50
    for path in paths:
        root, name = (BUILD, path[6:]) if path.startswith("build/") else (ROOT, path)
        assert any(root.glob(name)), f"CONTRIBUTING.md: no {path}"


def test_what_contributors_are_told_to_run_exists():
    targets = re.search(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1].split()
    asked = {span.split()[1] for span in SPANS if span.startswith("make ")}
    assert asked and asked <= set(targets)
    tests = "".join(path.read_text() for path in (ROOT / "tests").glob("test_*.py"))
    names = {span for span in SPANS if span.startswith("test_")}
    assert names and {name for name in names if f"def {name}(" not in tests} == set()


# ---- the programs


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "tests" / "c").glob("*.c")))
def test_c_program(name):
    run(BUILD / "tests" / "c" / name)


def test_readme_is_a_first_page():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def test_readme_commands():
    """The README's commands, run here, print what stands below them."""
    text = (ROOT / "README.md").read_text().partition("## Try it")[2].partition("\n## ")[0]
    sessions = re.findall(r"^    \$ (.*)\n((?:    (?!\$ ).*\n)+)", text, re.MULTILINE)
    assert len(sessions) == 3
    for command, shown in sessions:
        if "judge" in command and not has_nvrtc():
            continue
        printed = run("sh", "-c", command.replace("build/", f"{BUILD}/"), cwd=ROOT)
        assert printed == re.sub(r"^    ", "", shown, flags=re.MULTILINE), command


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
