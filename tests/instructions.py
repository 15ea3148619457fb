"""How many instructions the hot loops execute for each element: tests/golden/instructions.txt.

Counted by valgrind over the fixed data of tests/budget/budget.c, in one tier that it knows, so that every run on every
machine gives the same numbers: what becomes slower shows where clocks would say nothing.  They are of one compiler.

    python3 tests/instructions.py    records those of the build (WARPFOLD_BUILD, or build)
"""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("WARPFOLD_BUILD", ROOT / "build")).absolute()
RECORD = ROOT / "tests" / "golden" / "instructions.txt"
TIER = "avx2"
ROOM = 1.10  # over what is recorded: another libc, another place of a loop


def compiler():
    """The compiler of the build, "GNU 12"."""
    told = "".join(path.read_text() for path in (BUILD / "CMakeFiles").glob("*/CMakeCCompiler.cmake"))
    words = [re.search(rf'CMAKE_C_COMPILER_{word} "([^".]+)', told) for word in ("ID", "VERSION")]
    return " ".join(word[1] if word else "unknown" for word in words)


def obstacle():
    """Why nothing can be counted here; None: it can."""
    cache = (BUILD / "CMakeCache.txt").read_text()
    if not shutil.which("valgrind"):
        return "no valgrind"
    if f" {TIER} " not in Path("/proc/cpuinfo").read_text():
        return f"no {TIER}"
    if re.search(r"^WARPFOLD_SANITIZE:\w+=.", cache, re.MULTILINE) or "CMAKE_BUILD_TYPE:STRING=Release" not in cache:
        return "not a build for use"
    return None


def counted():
    """{loop: instructions for each element}, in the order in which they run."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "counts")
        valgrind = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}"]
        watch = ["--toggle-collect=measured", "--dump-after=measured"]  # a file for each call: counts.1, counts.2 ...
        done = subprocess.run([*valgrind, *watch, BUILD / "tests" / "budget" / "budget", folder], capture_output=True,
                              text=True, timeout=600, env={**os.environ, "WARPFOLD_TIER": TIER})
        assert done.returncode == 0, done
        found = {}
        for number, line in enumerate(done.stdout.splitlines(), start=1):
            name, count = line.split(": ")
            total = re.search(r"^totals: (\d+)", Path(f"{out}.{number}").read_text(), re.MULTILINE)
            found[name] = int(total[1]) / int(count)
        return found


def recorded():
    """The compiler, and {loop: instructions for each element}."""
    told, *lines = RECORD.read_text().splitlines()
    return told, {name: float(count) for name, count in (line.split(": ") for line in lines)}


if __name__ == "__main__":
    RECORD.write_text("".join([compiler() + "\n", *(f"{name}: {count:.4g}\n" for name, count in counted().items())]))
