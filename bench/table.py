"""Makes tables of what the benchmark found.

    table.py BENCH_JSON            prints every row, in markdown
    table.py BENCH_JSON FILE...    puts the tables between the markers in the files:
                                   <!-- bench:begin --> ... <!-- bench:end -->, or every row
                                   after <!-- bench:begin all -->; the simulator's between
                                   <!-- simulator:begin --> ... <!-- simulator:end -->
"""

import json
import re
import statistics
import sys
from pathlib import Path

# What the short form shows, of uniform data that no cache holds.
SHORT = {("sum", "f32"), ("max", "f32"), ("var", "f32"), ("sum", "f64"), ("dot", "f64"), ("sum", "i32")}
FLOATS = ("f16", "bf16", "f32", "f64")
PEERS = ("plain loop", "OpenBLAS", "NumPy")
BLOCK = re.compile(r"(<!-- bench:begin( all)? -->\n).*?(<!-- bench:end -->)", re.DOTALL)
CPU_KINDS_BLOCK = re.compile(r"(<!-- cpu-kinds:begin -->\n).*?(<!-- cpu-kinds:end -->)", re.DOTALL)
SIMULATOR_BLOCK = re.compile(r"(<!-- simulator:begin -->\n).*?(<!-- simulator:end -->)", re.DOTALL)


def text_of(document):
    """The document as JSON, a row on each line."""
    head = {name: value for name, value in document.items() if name != "rows"}
    rows = ",\n".join(json.dumps(row) for row in document["rows"])
    return json.dumps(head)[:-1] + ', "rows": [\n' + rows + "\n]}\n"


# ---- cells -------------------------------------------------------------------------------------------


def entry_of(row, who):
    return next((entry for entry in row["entries"] if entry["who"] == who), None)


def error_text(entry):
    """How far off the result is: in units in the last place for floats."""
    error = entry["error"]
    if error is None:
        return "inf or NaN"
    if error == 0:
        return "exact"
    size = f"{error:.2g}" if error < 1000 else re.sub(r"e\+0*", "e", f"{error:.0e}")
    return size + (" ulp off" if entry["result_type"] in FLOATS else " off")


def share_text(entry):
    return f"{entry['share']:.2f}, {error_text(entry)}" if entry else ""


def time_text(nanoseconds):
    for unit, size in (("ns", 1), ("us", 1e3), ("ms", 1e6)):
        if nanoseconds < 1000 * size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds / 1e9:.3g} s"


def table(head, rows):
    """Markdown; the first column is text, the others numbers."""
    lines = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def present(rows, names):
    return [name for name in names if any(entry_of(row, name) for row in rows)]


def size_text(nbytes):
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if nbytes >= 1 << shift and nbytes % (1 << shift) == 0:
            return f"{nbytes >> shift} {unit}"
    return f"{nbytes} bytes"


DATA = {"uniform": "", "zeros": ", of zeros", "wide20": ", over 2^±20", "wide100": ", over 2^±100",
        "full": ", over all exponents", "normal": ", normal", "wide60": ", over 2^±60"}


def case_text(row):
    return f"{row['op']} {row['type']}{DATA.get(row['data'], '')}"


# ---- tables ------------------------------------------------------------------------------------------


def grouped(rows, key):
    """Rows by key, in the order in which each key comes first."""
    groups = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def thread_text(threads):
    return "1 thread" if threads == 1 else f"{threads} threads"


def big_arrays(rows):
    """A line for each case: our speed by the number of threads, then one-threaded peers."""
    counts = sorted({row["threads"] for row in rows})
    peers = present([row for row in rows if row["threads"] == 1], PEERS)
    head = [size_text(max(row["nbytes"] for row in rows))]
    for count in counts:
        head += [f"{thread_text(count)}, GB/s", "of the ceiling"]
    lines = []
    for case, members in grouped(rows, case_text).items():
        by_threads = {row["threads"]: row for row in members}
        line = [case]
        for count in counts:
            ours = entry_of(by_threads[count], "warpfold") if count in by_threads else None
            line += [f"{ours['gbps']:.1f}", share_text(ours)] if ours else ["", ""]
        first = by_threads.get(1, {"entries": []})
        lines.append(line + [share_text(entry_of(first, peer)) for peer in peers])
    return table(head + peers, lines)


def small_arrays(rows):
    """A line for each case and number of elements: the time of a call."""
    names = present(rows, ("warpfold", *PEERS))
    lines = []
    for members in grouped(rows, case_text).values():
        for row in sorted(members, key=lambda row: row["count"]):
            entries = [entry_of(row, name) for name in names]
            times = [f"{time_text(entry['ns'])}, {error_text(entry)}" if entry else "" for entry in entries]
            lines.append([f"{case_text(row)}, n = {row['count']}"] + times)
    return table(["one call", *names], lines)


def streams(rows):
    head = ["file or pipe", "size", "threads", "GB/s", "of plain reads"]
    return table(head, [[f"{row['place']}: {case_text(row)}", size_text(row["nbytes"]), str(row["threads"]),
                         f"{entry_of(row, 'warpfold')['gbps']:.1f}", share_text(entry_of(row, "warpfold"))]
                        for row in rows])


def times_faster(row, other):
    """The median, over the rounds, of how many times the other's time was ours."""
    ours = entry_of(row, "warpfold")
    return statistics.median(theirs / own for theirs, own in zip(other["samples"], ours["samples"]))


def texts(rows):
    lines = []
    for row in rows:
        for entry in row["entries"]:
            lines.append([entry["who"], f"{row['count'] / entry['ns'] * 1e3:.1f}", f"{times_faster(row, entry):.1f}",
                          error_text(entry)])
    count = rows[0]["count"]
    return table([f"sum of {count} decimals, start to end", "million numbers per second", "warpfold's speed-up",
                  "result"], lines)


KINDS = {"small": small_arrays, "file": streams, "pipe": streams, "text": texts}


def kind_of(row):
    """The function that makes the row's table, and what sets it apart from others made so."""
    return KINDS.get(row["place"], big_arrays), row["place"] == "cache"


def is_short(row):
    """Does the row belong to the short form?"""
    return row["place"] == "memory" and row["data"] == "uniform" and (row["op"], row["type"]) in SHORT


def version_text(name, version):
    """OpenBLAS goes on with its build options, awk with its libraries."""
    version = re.split(r" NO_|,", version)[0]
    return version if name in version else f"{name} {version}"


def heading(document):
    machine = document["machine"]
    peers = [version_text(name, version) for name, version in document["peers"].items()]
    absent = "Absent: " + ", ".join(document["absent"]) + ". " if document["absent"] else ""
    return (f"{machine['processor']}, {machine['device']}, {machine['system']}; {document['date']}, "
            f"warpfold {document['warpfold']}. Compared with: {', '.join(peers)}. {absent}"
            "Medians; the ceiling is the fastest pass that only loads the same memory, taken in turn with each "
            "measurement. Peers run on one thread; their columns show the share of the ceiling and the error.\n")


def render(document, everything=False):
    rows = [row for row in document["rows"] if everything or is_short(row)]
    parts = [heading(document)]
    parts += [make(members) for (make, _), members in grouped(rows, kind_of).items()]
    return "\n".join(parts)


def update(path, document):
    """Replaces what lies between markers; a file without any is left alone."""
    path = Path(path)
    text = path.read_text()
    new = BLOCK.sub(lambda match: match[1] + render(document, bool(match[2])) + match[3], text)
    if document.get("kernels"):
        new = SIMULATOR_BLOCK.sub(lambda match: match[1] + document["kernels"] + match[2], new)
    if new != text:
        path.write_text(new)


# ---- kinds of data -----------------------------------------------------------------------------------


def kind_text(row):
    return row["data"] + (", omit" if row["nan"] == "omit" else "")


def times_as_long(row, uniform):
    """As uniform data take, each measured against the ceiling of its own rounds."""
    return entry_of(uniform, "warpfold")["share"] / entry_of(row, "warpfold")["share"]


def render_kinds(document):
    """Of every op and type: uniform data, and how many times as long the worst kinds of data take."""
    lines = []
    for members in grouped(document["rows"], lambda row: (row["op"], row["type"])).values():
        uniform = next(row for row in members if row["data"] == "uniform")
        slowest = sorted(members, key=lambda row: times_as_long(row, uniform), reverse=True)[:4]
        lines.append([f"{uniform['op']} {uniform['type']}", share_text(entry_of(uniform, "warpfold"))]
                     + [f"{kind_text(row)} {times_as_long(row, uniform):.2f}" for row in slowest])
    size = size_text(document["rows"][0]["nbytes"])
    return table([f"{size}, 1 thread", "uniform, of the ceiling", "worst kind, times as long", "second", "third", "fourth"],
                 lines)


def update_kinds(path, document):
    path = Path(path)
    path.write_text(CPU_KINDS_BLOCK.sub(lambda match: match[1] + render_kinds(document) + match[2], path.read_text()))


def main():
    document = json.loads(Path(sys.argv[1]).read_text())
    if len(sys.argv) == 2:
        print(render(document, everything=True))
    for path in sys.argv[2:]:
        update(path, document)


if __name__ == "__main__":
    main()
