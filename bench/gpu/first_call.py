"""How long a program waits for its first result from the GPU: prints JSON, times in seconds.

    first_call.py CASES     how many of the cases below

Each figure is of a process of its own: one that finds no compiled kernel in the cache, and one that does.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CASES = (("sum", "f32"), ("max", "f32"), ("stats", "f64"))
COUNT = 1000


def one(op, type_name):
    """Opens the GPU, reduces a small array of the host's twice, and tells how long each took."""
    sys.path.insert(1, str(Path(__file__).resolve().parent.parent.parent / "tests" / "helpers"))
    import warpfold_ctypes as wf

    array = wf.vector(bytes(COUNT * wf.library.wf_type_nbytes(wf.TYPE_BY_NAME[type_name])), type_name)
    marks = [time.perf_counter()]
    handle = wf.Handle("cuda:0")
    marks.append(time.perf_counter())
    for _ in range(2):
        if op == "stats":
            handle.stats(array)
        else:
            handle.reduce(op, array)
        marks.append(time.perf_counter())
    print(json.dumps(dict(zip(("open", "first", "second"), (b - a for a, b in zip(marks, marks[1:]))))))


def in_process(op, type_name, cache):
    environment = os.environ | {"XDG_CACHE_HOME": cache}
    command = [sys.executable, __file__, op, type_name]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def measure(op, type_name):
    with tempfile.TemporaryDirectory() as cache:
        cold = in_process(op, type_name, cache)
        cached = [in_process(op, type_name, cache) for _ in range(3)]
    middle = {name: statistics.median(times[name] for times in cached) for name in cold}
    return {"op": op, "type": type_name, "open": middle["open"], "compiled": cold["first"],
            "cached": middle["first"], "later": middle["second"]}


if __name__ == "__main__":
    if len(sys.argv) > 2:
        one(*sys.argv[1:])
    else:
        print(json.dumps([measure(*case) for case in CASES[:int(sys.argv[1])]]))
