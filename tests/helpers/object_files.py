"""Which object files of a build call which, as their symbols tell."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("WARPFOLD_BUILD", ROOT / "build"))


def calls_between(folder, target=None, project=""):
    """{object file: {object file it needs: by which symbols}}, each a path below the folder of sources, of which the
    target (if its name is not the folder's) is made; project: the folder of the target's CMakeLists.txt."""
    below = BUILD / project / "CMakeFiles" / f"{target or folder}.dir" / Path(folder).relative_to(project)
    sources = {path.relative_to(ROOT / folder) for path in (ROOT / folder).rglob("*.c")}
    objects = [path for path in sorted(below.rglob("*.o")) if path.relative_to(below).with_suffix("") in sources]
    assert objects, f"{folder}: nothing of it is built"
    done = subprocess.run(["nm", "-A", "-g", *objects], capture_output=True, text=True, check=True)
    defined, needed = {}, {path.relative_to(below): set() for path in objects}
    for line in done.stdout.splitlines():
        name, *_, kind, symbol = line.split()
        path = Path(name.partition(":")[0]).relative_to(below)
        if kind == "U":
            needed[path].add(symbol)
        else:
            defined[symbol] = path
    calls = {path: {} for path in needed}
    for path, names in needed.items():
        for name in names & defined.keys():
            calls[path].setdefault(defined[name], set()).add(name)
    return calls
