"""Which folder knows which: the command line knows the others by their public headers alone, and nobody knows it.
Within a folder, calls go one way."""

import graphlib
import os
import re
import subprocess
from pathlib import Path

import pytest

from cli_helpers import ROOT
from object_files import calls_between

BUILD = Path(os.environ.get("WARPFOLD_BUILD", ROOT / "build"))

PUBLIC = {"warpfold.h", "explain/explain.h", "io/tables.h", "judge/judge.h", "ladder/ladder.h", "ladder/gpu.h",
          "program/program.h", "simt/simt.h"}


def included(folder):
    """(file, header) for each header in quotes that a file of the folder includes."""
    return [(path.name, header) for path in sorted((ROOT / folder).glob("*.[ch]"))
            for header in re.findall(r'^#\s*include "([^"]+)"', path.read_text(), re.MULTILINE)]


def is_public(header):
    folder, _, name = header.rpartition("/")
    return header in PUBLIC or folder in ("report", "bench") and (ROOT / header).is_file() or \
        not folder and (ROOT / "cli" / name).is_file()


def test_the_command_line_knows_public_headers_only():
    assert [pair for pair in included("cli") if not is_public(pair[1])] == []


@pytest.mark.parametrize("folder, above", [("explain", ["cli", "report", "bench"]), ("report", ["cli", "bench"]),
                                           ("bench", ["cli", "explain"]), ("judge", ["cli", "report", "explain", "ladder", "bench", "program"]), ("ladder", ["cli", "report", "explain", "bench", "program"]),
                                           ("program", ["cli", "bench"])])
def test_no_folder_knows_those_above_it(folder, above):
    own = {path.name for path in (ROOT / folder).glob("*.h")}
    names = {path.name: other for other in above for path in (ROOT / other).glob("*.h")}
    for file, header in included(folder):
        assert header.rpartition("/")[0] not in above, (file, header)
        assert header in own or header not in names, (file, header)


@pytest.mark.parametrize("folder, target", [("cli", "warpfold"), *((name, name) for name in (
    "bench", "explain", "judge", "ladder", "program", "report", "simt")), *((f"src/{name}", "objects") for name in (
        "core", "cpu", "cuda", "io")), ("program/runtime", "runtime")])
def test_no_circle_of_calls(folder, target):
    """No file calls another that, directly or not, calls it."""
    list(graphlib.TopologicalSorter(calls_between(folder, target)).static_order())


def test_no_circle_of_calls_in_the_python_package():
    if not (BUILD / "python/CMakeFiles/python_core.dir").is_dir():
        pytest.skip("the Python package is not built here")
    list(graphlib.TopologicalSorter(calls_between("python/src", "python_core", "python")).static_order())


def test_no_part_of_the_library_calls_those_above_it():
    """Of the library's folders core is below all; devices know no files, nor each other, but that a GPU's has the CPU's; the
    public functions are above the devices, and what reads files calls those as anyone does."""
    below = {"core": {"core"}, "cpu": {"core", "cpu"}, "cuda": {"core", "cpu", "cuda"}}
    for caller, callees in calls_between("src", "objects").items():
        known = below.get(caller.parts[0])
        for callee, names in callees.items():
            assert known is None or callee.parts[0] in known, (caller, callee, names)


@pytest.mark.parametrize("library", ["explain", "judge", "report"])
def test_libraries_do_not_print_exit_or_read_options(library):
    done = subprocess.run(["nm", "-u", BUILD / f"lib{library}.a"], capture_output=True, text=True, check=True)
    names = {line.split()[-1] for line in done.stdout.splitlines() if line.startswith(" ")}
    unwanted = {"printf", "puts", "putchar", "perror", "stdout", "stderr", "exit", "_exit", "abort", "getopt_long"}
    assert names
    assert names & unwanted == set()
