"""make bench: measures everything that `warpfold bench` does, NumPy beside it, then files, pipes and text, then the
SIMT simulator.

    run.py BUILD [--quick] [--kinds] [--readme]

writes BUILD/bench.json and prints its tables; with --readme the tables between the markers in README.md and docs/
are made anew from it.  --kinds: only every op of every float type over every kind of data (bench/kinds.h), on one
thread, into BUILD/bench-kinds.json.
"""

import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import files
import table

ROOT = Path(__file__).resolve().parent.parent


def python_with_numpy():
    """The first python3 that has it, or else any: the peer then says itself that it is absent."""
    pythons = [path for path in (sys.executable, shutil.which("python3"), "/usr/bin/python3") if path]
    for python in pythons:
        if subprocess.run([python, "-c", "import numpy"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            return python
    return pythons[0]


def measure_arrays(build, quick):
    peer = shlex.join([python_with_numpy(), str(ROOT / "bench" / "peers.py")])
    command = [build / "warpfold", "bench", "--json", "--peer", peer]
    done = subprocess.run([*command, "--quick"] if quick else command, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    return json.loads(done.stdout)


def measure_files(build, quick, document):
    found, absent = files.text_peers()
    for name in found:
        version = subprocess.run([name, "--version"], capture_output=True, text=True, check=False).stdout
        document["peers"][name] = (version.splitlines() or ["of unknown version"])[0]
    document["absent"] |= {name: "not installed" for name in absent}
    with tempfile.TemporaryDirectory(dir=build) as directory:
        for row in files.rows(str(build), directory, quick):
            document["rows"].append(row)


def measure_simulator(build, quick, document):
    """How fast the simulator executes kernels: a table, ready made."""
    command = [build / "bench" / "machine" / "bench_machine", "1" if quick else "7"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    document["kernels"] = done.stdout


def kinds_of_data():
    """As bench/kinds.h lists them, with the policies for NaN that make a difference."""
    text = (ROOT / "bench" / "kinds.h").read_text()
    for kind in re.findall(r"X\((\w+)\)", text[text.index("BENCH_KINDS(X)"):text.index("enum bench_kind")]):
        for nan in ("propagate", "omit") if "nan" in kind else ("propagate",):
            yield kind, nan


def measure_kinds(build, quick):
    """The rows of the array benchmark, each with the policy for NaN."""
    nbytes = (1 << 24) if quick else (1 << 26)
    document = None
    for type_name, element_nbytes in (("f32", 4), ("f64", 8), ("bf16", 2), ("f16", 2)):
        for kind, nan in kinds_of_data():
            command = [build / "warpfold", "bench", "--json", "--quick", "--threads", "1", "--type", type_name, "--data",
                       kind, "--nan", nan, "--count", str(nbytes // element_nbytes)]
            found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
            rows = [row | {"nan": nan} for row in found["rows"]]
            document = document or found | {"rows": []}
            document["rows"] += rows
    return document


def main_of_kinds(options):
    document = measure_kinds(options.build, options.quick)
    (options.build / "bench-kinds.json").write_text(table.text_of(document))
    print(table.render_kinds(document))
    if options.readme:
        table.update_kinds(ROOT / "docs" / "performance-kinds.md", document)


def main():
    parser = argparse.ArgumentParser(prog="run.py")
    parser.add_argument("build", type=lambda text: Path(text).resolve())
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--kinds", action="store_true")
    parser.add_argument("--readme", action="store_true")
    options = parser.parse_args()
    if options.kinds:
        main_of_kinds(options)
        return
    document = measure_arrays(options.build, options.quick)
    measure_files(options.build, options.quick, document)
    measure_simulator(options.build, options.quick, document)
    (options.build / "bench.json").write_text(table.text_of(document))
    print(table.render(document, everything=True))
    print(document["kernels"])
    if document["absent"]:
        print("Debian has the peers as: python3-numpy libopenblas0-pthread datamash", file=sys.stderr)
    if options.readme:
        for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
            table.update(path, document)


if __name__ == "__main__":
    main()
