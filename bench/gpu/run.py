"""The GPU benchmark: warpfold, CUB, torch and cupy in one run, verified, then timed in interleaved rounds.

    run.py BUILD [--quick] [--kinds] [--json FILE] [--docs] [--op OP]... [--type TYPE]... [--data KIND]... [--count N]...

BUILD has libwarpfold.so.  Writes BUILD/bench-gpu.json (or FILE) and prints its tables; with --docs the tables between
the markers in README.md and docs/ are made anew from it.  --kinds: every float op over every kind of data, beside the
ceiling alone.  --op and the others choose cases.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[1:1] = [str(ROOT / "bench"), str(ROOT / "tests" / "helpers")]

import cases  # noqa: E402
import device as gpu  # noqa: E402
import gpu_table  # noqa: E402
import libraries  # noqa: E402
import table  # noqa: E402

WARM_COUNTS = (1 << 10, 1 << 20, 1 << 24)  # small and large arrays may have kernels of their own
CHOICES = {"op": str, "type": str, "data": str, "count": int}  # the options that choose cases

# ---- the run -----------------------------------------------------------------------------------------


def warm(bench, arrays, chosen):
    """Has every kernel compiled, several at a time."""

    def compile_one(reduction):
        contender = gpu.open_warpfold(bench, *reduction)
        for count in WARM_COUNTS:
            contender.reduce(arrays.pointer, count)
        contender.close()

    reductions = sorted({(case.op, case.type) for case in chosen})
    start = time.perf_counter()
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        failures = [str(future.exception()) for future in [pool.submit(compile_one, pair) for pair in reductions]
                    if future.exception()]
    return failures, {"reductions": len(reductions), "seconds": round(time.perf_counter() - start, 2)}


def first_calls(build, quick):
    """Of processes of their own, with an empty cache and then with what the first left there."""
    command = [sys.executable, HERE / "first_call.py", "1" if quick else "3"]
    environment = os.environ | {"WARPFOLD_LIB": str(build / "libwarpfold.so")}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else []


def heading(answers, found, absent, quick):
    peers = {"CUB": cub_version(), **{library.name: library.version for library in found}}
    return {"warpfold": answers.warpfold_version(), "date": time.strftime("%Y-%m-%d", time.gmtime()), "quick": quick,
            "machine": {"device": answers.wf.device_text("cuda:0"), "driver": driver_version(),
                        "system": f"{platform.system()} {platform.release()} {platform.machine()}"},
            "peers": peers, "absent": absent}


def driver_version():
    if not shutil.which("nvidia-smi"):
        return "of unknown version"
    done = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"],
                          capture_output=True, text=True, check=False)
    return done.stdout.strip()


def cub_version():
    folders = gpu.cub_folders() or [Path(gpu.nvcc()).parent.parent / "include" / "cccl"]
    text = (folders[0] / "cub" / "version.cuh").read_text()
    number = int(text.split("#define CUB_VERSION ")[1].split()[0])
    return f"{number // 100000}.{number // 100 % 1000}.{number % 100}"


def run(build, chosen, quick, kinds):
    os.environ["WARPFOLD_LIB"] = str(build / "libwarpfold.so")
    import answers  # which opens the library that the environment names
    import measure

    library = gpu.build(build / "bench-gpu")
    bench = gpu.Device(library, build / "libwarpfold.so")
    found, absent = ([], []) if kinds else libraries.open_libraries(bench)
    document = heading(answers, found, absent, quick)
    document["first_calls"] = [] if kinds else first_calls(build, quick)
    arrays = measure.Arrays(bench)
    arrays.fill(chosen[0], cases.POOL)
    document["failures"], document["compiling"] = warm(bench, arrays, chosen)
    document["rows"] = []
    most = measure.elements_needed(chosen)
    for case in chosen:
        try:
            arrays.fill(case, most[case.type, case.data])
            document["rows"].append(measure.measure(bench, found, arrays, case, quick))
            print(gpu_table.line_of(document["rows"][-1]), file=sys.stderr)
        except (answers.Wrong, answers.wf.WarpfoldError, gpu.BenchError, RuntimeError) as error:
            document["failures"].append(f"{case}: {error}")
            print(f"bench-gpu: {case}: {error}", file=sys.stderr)
    return document


def choose(options):
    known = cases.cases_of_kinds(options.quick) if options.kinds else cases.cases(options.quick)
    chosen = [case for case in known
              if all(not wanted or getattr(case, name) in wanted
                     for name, wanted in vars(options).items() if name in CHOICES)]
    return chosen or sys.exit("bench-gpu: there is no such case")


def main():
    parser = argparse.ArgumentParser(prog="bench-gpu")
    parser.add_argument("build", type=lambda text: Path(text).resolve())
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--kinds", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--docs", action="store_true")
    for name, kind in CHOICES.items():
        parser.add_argument(f"--{name}", action="append", type=kind)
    options = parser.parse_args()
    document = run(options.build, choose(options), options.quick, options.kinds)
    (options.json or options.build / "bench-gpu.json").write_text(table.text_of(document))
    print(gpu_table.render_kinds(document) if options.kinds else gpu_table.render(document, everything=True))
    if options.docs:
        for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
            gpu_table.update(path, document, options.kinds)
    for failure in document["failures"]:
        print(f"bench-gpu: {failure}", file=sys.stderr)
    sys.exit(1 if document["failures"] else 0)


if __name__ == "__main__":
    main()
