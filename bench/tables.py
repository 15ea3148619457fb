"""Sums and means of a column by the key of another, in CSV: warpfold beside what reads such files, where it is installed.

    tables.py [--mib 100] [--keys 10,10000,10000000] [--rounds 3] [--threads 1] [--without Miller,datamash]
              [--folder FOLDER] [--cli build/warpfold]

Each file has 8 columns; with --folder it is made there, and stays, and one that is there is taken.  All programs get the
same file, in turn, and what they print is compared with warpfold's: it must be near (their sums round).  A program that
takes more than a minute has one round, one that fails, as for lack of memory, no other.  Printed: the least user and system time of each program, GB/s, and how many times
as long as warpfold it took.  Times of a loaded machine are worth little, ratios more.
"""

import argparse
import math
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ONE_ROUND_SECONDS = 60
ROOT = Path(__file__).resolve().parent.parent
DUCKDB = """
import duckdb
duckdb.sql("SET enable_progress_bar = false")
duckdb.sql("SET threads = %(threads)d")
duckdb.sql("SET preserve_insertion_order = false")
duckdb.sql("COPY (SELECT region, sum(price), avg(price) FROM read_csv('%(path)s') GROUP BY region) TO '/dev/stdout' (DELIMITER '\\t', HEADER false)")
"""
POLARS = """
import os, sys
os.environ["POLARS_MAX_THREADS"] = "%(threads)d"
import polars
table = polars.scan_csv("%(path)s").group_by("region").agg(polars.sum("price"), polars.mean("price").alias("mean")).collect()
sys.stdout.write(table.write_csv(separator="\\t", include_header=False))
"""
AWK = 'NR > 1 { s[$3] += $6; n[$3]++ } END { for (k in s) printf "%s\\t%.17g\\t%.17g\\n", k, s[k], s[k] / n[k] }'


def write_table(path, nbytes, keys, draw):
    """Rows of 8 columns: id, date, region (the key), store, qty, price (cents), discount, note."""
    with open(path, "w") as file:
        file.write("id,date,region,store,qty,price,discount,note\n")
        row = written = 0
        while written < nbytes:
            lines = []
            for _ in range(10000):
                row += 1
                lines.append(f"{row},2026-{draw.randrange(1, 13):02d}-{draw.randrange(1, 29):02d},k{draw.randrange(keys)},"
                             f"store{draw.randrange(500)},{draw.randrange(100)},{draw.randrange(10**6) / 100:.2f},"
                             f"{draw.random():.6f},some words here\n")
            text = "".join(lines)
            written += file.write(text)


def has_module(name):
    return not subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True).returncode


def programs(cli, path, threads):
    """name: (command, how many lines come before the results)"""
    values = {"path": path, "threads": threads}
    found = {"warpfold": ([cli, "sum,mean", "--by", "region", "--column", "price", "--threads", str(threads), path], 1)}
    if shutil.which("datamash"):
        found["datamash"] = (["sh", "-c", f"datamash -t, -s -H -g region sum price mean price < '{path}' | tr , '\\t'"], 1)
    for name in ("mawk", "gawk"):
        if shutil.which(name):
            found[name] = ([name, "-F,", AWK, path], 0)
    if shutil.which("mlr"):
        found["Miller"] = (["mlr", "--icsv", "--otsv", "stats1", "-a", "sum,mean", "-f", "price", "-g", "region", path], 1)
    if has_module("duckdb"):
        found["DuckDB"] = ([sys.executable, "-c", DUCKDB % values], 0)
    if has_module("polars"):
        found["polars"] = ([sys.executable, "-c", POLARS % values], 0)
    return found


def run(command):
    """Processor seconds, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.PIPE, env={**os.environ, "LC_ALL": "C"}, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def results(name, output, skipped):
    rows = [line.split("\t") for line in output.decode().splitlines()[skipped:]]
    odd = next((row for row in rows if len(row) != 3), None)
    if odd:
        sys.exit(f"{name} prints {odd}")
    return {key: (float(total), float(mean)) for key, total, mean in rows}


def check(name, found, wanted):
    near = found.keys() == wanted.keys() and all(
        math.isclose(a, b, rel_tol=1e-6) for key in wanted for a, b in zip(found[key], wanted[key]))
    if not near:
        sys.exit(f"{name} prints other results than warpfold")


def measure(cli, path, keys, arguments):
    found = programs(cli, path, arguments.threads)
    for name in arguments.without.split(","):
        found.pop(name, None)
    least, nbytes = {}, os.path.getsize(path)
    for i in range(arguments.rounds):
        for name, (command, skipped) in list(found.items()):
            if least.get(name, 0) > ONE_ROUND_SECONDS:
                continue
            try:
                seconds, output = run(command)
            except subprocess.CalledProcessError as error:
                if name == "warpfold":
                    raise
                print(f"| {keys} | {name} | status {error.returncode} |  |  |", flush=True)
                del found[name]
                continue
            least[name] = min(seconds, least.get(name, math.inf))
            if i == 0:
                shown = results(name, output, skipped)
                wanted = shown if name == "warpfold" else wanted
                check(name, shown, wanted)
    for name, seconds in least.items():
        print(f"| {keys} | {name} | {seconds:.2f} | {nbytes / seconds / 1e9:.2f} | {seconds / least['warpfold']:.1f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=int, default=100)
    parser.add_argument("--keys", default="10,10000,10000000")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--without", default="", help="programs that are left out")
    parser.add_argument("--folder", help="where the files are kept")
    parser.add_argument("--cli", default=str(ROOT / "build" / "warpfold"))
    arguments = parser.parse_args()
    print("| keys | program | CPU seconds | GB/s | times as long |\n|---|---|---|---|---|")
    for keys in map(int, arguments.keys.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(arguments.folder or folder) / f"table-{arguments.mib}-{keys}.csv"
            if not path.exists():
                write_table(path, arguments.mib << 20, keys, random.Random(keys))
            measure(arguments.cli, str(path), keys, arguments)


if __name__ == "__main__":
    main()
