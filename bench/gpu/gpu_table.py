"""Makes tables of what the GPU benchmark found.

    gpu_table.py BENCH_JSON            prints every row, in markdown
    gpu_table.py BENCH_JSON FILE...    puts the tables between the markers in the files:
                                       <!-- gpu:begin --> ... <!-- gpu:end -->, or every row after
                                       <!-- gpu:begin all -->; of a run with --kinds, between
                                       <!-- kinds:begin --> ... <!-- kinds:end -->
"""

import json
import re
import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parent.parent))

import table  # noqa: E402
from table import case_text, entry_of, error_text, grouped, share_text  # noqa: E402

BLOCK = re.compile(r"(<!-- gpu:begin( all)? -->\n).*?(<!-- gpu:end -->)", re.DOTALL)
KINDS_BLOCK = re.compile(r"(<!-- kinds:begin -->\n).*?(<!-- kinds:end -->)", re.DOTALL)
SMALL = 1 << 20  # up to here a row is the time of a call in a graph
# What the short form shows, of uniform data at this number of elements.
SHORT = {("sum", "f32"), ("max", "f32"), ("argmax", "f32"), ("var", "f32"), ("sum", "f64"), ("sum", "f16")}
SHORT_COUNT = 1 << 28
DETERMINISTIC = "CUB gpu_to_gpu"

# ---- entries -----------------------------------------------------------------------------------------


def count_text(count):
    exponent = count.bit_length() - 1
    return f"2^{exponent}" if count == 1 << exponent else str(count)


def best_cub(row):
    """CUB's fastest form; the one that is the same on every GPU and the sum beside extremes are something else."""
    forms = [entry for entry in row["entries"]
             if entry["who"].startswith("CUB") and entry["who"] not in (DETERMINISTIC, "CUB's sum")]
    return min(forms, key=lambda entry: entry["ns"], default=None)


def speed_text(entry):
    return f"{entry['gbps']:.0f}" if entry else ""


def error_beside(text, entry):
    return f"{text}, {error_text(entry)}" if entry else ""


def ratio(row, other):
    """How many times as fast as the other we are."""
    return table.times_faster(row, other) if other else None


def ratio_text(row, other):
    return f"{ratio(row, other):.2f}" if other else ""


def line_of(row):
    """A row in a few words."""
    ours, cub = entry_of(row, "warpfold"), best_cub(row)
    beside = f", {ratio_text(row, cub)} of {cub['who']}" if cub else ""
    what = f"{case_text(row)}, n = {count_text(row['count'])}"
    return (f"{what}: {table.time_text(ours['ns'])}, {ours['gbps']:.0f} GB/s, {ours['share']:.2f} of the ceiling"
            f"{beside}")


# ---- tables ------------------------------------------------------------------------------------------


def large_arrays(rows):
    """A line for each case of one size: speeds, and how we stand to each peer."""
    libraries = table.present(rows, (DETERMINISTIC, "torch", "cupy"))
    head = [f"n = {count_text(rows[0]['count'])}, GB/s", "warpfold", "of the ceiling", "CUB", "warpfold : CUB"]
    lines = []
    for row in rows:
        ours, cub = entry_of(row, "warpfold"), best_cub(row)
        line = [case_text(row), speed_text(ours), share_text(ours), error_beside(speed_text(cub), cub),
                ratio_text(row, cub)]
        for name in libraries:
            entry = entry_of(row, name)
            line.append(error_beside(speed_text(entry), entry))
        lines.append(line)
    return table.table(head + libraries, lines)


def graphs(rows):
    """A line for each case, a pair of columns for each size: microseconds of a call, ours and CUB's."""
    counts = sorted({row["count"] for row in rows})
    head = ["one call in a graph, us: warpfold, CUB"] + [f"n = {count_text(count)}" for count in counts]
    lines = []
    for case, members in grouped(rows, case_text).items():
        by_count = {row["count"]: row for row in members}
        lines.append([case] + [pair_text(by_count.get(count)) for count in counts])
    return table.table(head, lines)


def pair_text(row):
    if not row:
        return ""
    cub = best_cub(row)
    ours = f"{entry_of(row, 'warpfold')['ns'] / 1000:.2f}"
    return f"{ours}, {cub['ns'] / 1000:.2f}" if cub else ours


def first_calls(document):
    head = ["first call of a program", "open the GPU", "kernel compiled", "kernel in the cache", "second call"]
    return table.table(head, [[f"{entry['op']} {entry['type']}"] + [
        table.time_text(entry[name] * 1e9) for name in ("open", "compiled", "cached", "later")]
        for entry in document["first_calls"]])


# ---- what was promised -------------------------------------------------------------------------------


def is_one_of(row, ops, types=None):
    return row["op"] in ops and (types is None or row["type"] in types)


def is_order(row):
    return is_one_of(row, ("min", "max", "argmin", "argmax")) or is_one_of(row, ("sum",), ("i8", "i32", "i64"))


def is_exact(row, types):
    return is_one_of(row, ("sum",), types)


def of_cub(row):
    return ratio(row, best_cub(row))


def of_cubs_sum(row):
    return ratio(row, entry_of(row, "CUB's sum") or best_cub(row))


def of_ceiling(row):
    return entry_of(row, "warpfold")["share"]


MOMENTS = ("dot", "norm2", "var", "std", "stats")

# Words, the least ratio that was promised (None: the most that can be had), to which rows it applies, the ratio.
PROMISES = (
    ("min, max, arg and integer sums, n >= 2^20: of CUB", 0.97,
     lambda row: is_order(row) and row["count"] >= SMALL, of_cub),
    ("exact f32, f16, bf16 sum, n >= 2^28: of CUB", 0.95,
     lambda row: is_exact(row, ("f32", "f16", "bf16")) and row["count"] >= 1 << 28, of_cub),
    ("exact f64 sum within 500 binades, n >= 2^28: of CUB", 0.95,
     lambda row: is_exact(row, ("f64",)) and row["count"] >= 1 << 28 and row["data"] != "full", of_cub),
    ("exact f64 sum, all exponents, n >= 2^28: of CUB", None,
     lambda row: is_exact(row, ("f64",)) and row["count"] >= 1 << 28 and row["data"] == "full", of_cub),
    ("exact sum, n >= 2^28: of CUB's gpu_to_gpu", 1.2,
     lambda row: is_exact(row, ("f32", "f64")) and row["count"] >= 1 << 28 and entry_of(row, DETERMINISTIC),
     lambda row: ratio(row, entry_of(row, DETERMINISTIC))),
    ("dot, norm2, var, std, stats of f32, n >= 2^28: of the ceiling", 0.85,
     lambda row: is_one_of(row, MOMENTS, ("f32",)) and row["count"] >= 1 << 28, of_ceiling),
    ("dot, norm2, var, std, stats of f64, n >= 2^28: of the ceiling", 0.7,
     lambda row: is_one_of(row, MOMENTS, ("f64",)) and row["count"] >= 1 << 28, of_ceiling),
    ("min, max, integer sum in a graph, n <= 2^20: of CUB's sum", 1.0,
     lambda row: is_order(row) and not row["op"].startswith("arg") and row["count"] <= SMALL, of_cubs_sum),
    ("exact sum in a graph, n <= 2^20: of CUB's sum", 1 / 1.5,
     lambda row: is_exact(row, ("f32", "f64")) and row["count"] <= SMALL, of_cubs_sum),
)


def promises(rows):
    """For each promise the row that is the farthest from it."""
    lines = []
    for words, least, applies, value in PROMISES:
        found = [(value(row), row) for row in rows if applies(row) and value(row) is not None]
        if not found:
            continue
        worst, row = min(found, key=lambda pair: pair[0])
        kept = sum(reached >= (least or 0) for reached, _ in found)
        lines.append([words, f"{least:.2f}" if least else "", f"{worst:.2f}",
                      f"{case_text(row)}, n = {count_text(row['count'])}", f"{kept} of {len(found)}"])
    return table.table(["aim", "at least", "worst", "which is", "kept in"], lines)


# ---- the page ----------------------------------------------------------------------------------------


def heading(document):
    machine = document["machine"]
    peers = ", ".join(f"{name} {version}" for name, version in document["peers"].items() if document["first_calls"])
    beside = f"Compared in the same run with: {peers}. " if peers else ""
    absent = "Absent: " + ", ".join(document["absent"]) + ". " if document["absent"] else ""
    compiling = document["compiling"]
    return (f"{machine['device']}, driver {machine['driver']}, {machine['system']}; {document['date']}, "
            f"warpfold {document['warpfold']}. {beside}{absent}Medians over "
            f"interleaved rounds; the ceiling is a kernel that only reads the same bytes. Every result was verified "
            f"before it was timed. Compiling the kernels of {compiling['reductions']} reductions, several at a time, "
            f"took {compiling['seconds']:.0f} s.\n")


def is_short(row):
    return row["count"] == SHORT_COUNT and row["data"] == "uniform" and (row["op"], row["type"]) in SHORT


def render(document, everything=False):
    rows = document["rows"] if everything else [row for row in document["rows"] if is_short(row)]
    in_graph = [row for row in rows if row["how"] == "graph"]
    by_count = grouped([row for row in rows if row["how"] == "calls" and (everything or row["count"] > SMALL)],
                       lambda row: row["count"])
    parts = [heading(document)]
    parts += [large_arrays(by_count[count]) for count in sorted(by_count, reverse=True)]
    if in_graph:
        parts.append(graphs(in_graph))
    if everything and document["first_calls"]:
        parts.append(first_calls(document))
    if everything:
        parts.append(promises(document["rows"]))
    return "\n".join(parts)


# ---- kinds of data -----------------------------------------------------------------------------------


def kind_of(row):
    return row["data"] + ("" if row["nan"] == "propagate" else f", {row['nan']}")


def render_kinds(document):
    """The share of the ceiling of every op and type: over uniform data, over the worst kinds; then all kinds."""
    rows = document["rows"]
    by_case = grouped(rows, lambda row: (row["type"], row["op"]))
    lines = []
    for (type_name, op), members in by_case.items():
        members = sorted(members, key=of_ceiling)
        uniform = next((row for row in members if row["data"] == "uniform"), None)
        worst = [f"{of_ceiling(row):.2f} {kind_of(row)}" for row in members[:3]]
        lines.append([f"{op} {type_name}", f"{of_ceiling(uniform):.2f}" if uniform else "",
                      f"{of_ceiling(members[-1]):.2f} {kind_of(members[-1])}", *worst, *[""] * (3 - len(worst))])
    size = table.size_text(rows[0]["nbytes"]) if rows else ""
    parts = [heading(document), table.table([f"{size}, of the ceiling", "uniform", "best", "worst", "second", "third"],
                                            lines)]
    ops = list(dict.fromkeys(row["op"] for row in rows))
    for type_name, members in grouped(rows, lambda row: row["type"]).items():
        cells = {(kind_of(row), row["op"]): f"{of_ceiling(row):.2f}" for row in members}
        kinds = list(dict.fromkeys(kind_of(row) for row in members))
        parts.append(table.table([type_name, *ops], [[kind] + [cells.get((kind, op), "") for op in ops]
                                                     for kind in kinds]))
    return "\n".join(parts)


def update(path, document, kinds=False):
    """Replaces what lies between markers; a file without any is left alone."""
    text = Path(path).read_text()
    if kinds:
        new = KINDS_BLOCK.sub(lambda match: match[1] + render_kinds(document) + match[2], text)
    else:
        new = BLOCK.sub(lambda match: match[1] + render(document, bool(match[2])) + match[3], text)
    if new != text:
        Path(path).write_text(new)


def main():
    document = json.loads(Path(sys.argv[1]).read_text())
    kinds = any("nan" in row and row["nan"] != "propagate" for row in document["rows"])
    if len(sys.argv) == 2:
        print(render_kinds(document) if kinds else render(document, everything=True))
    for path in sys.argv[2:]:
        update(path, document, kinds)


if __name__ == "__main__":
    main()
