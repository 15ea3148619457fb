"""The golden saved accumulators: tests/golden/saved-VERSION.txt.

Each line is one reduction: its settings and data, the results that the oracle (not the engine) has for it, and
its saved form in hexadecimal, where (N) stands for N bytes of 0.  Every later version must load all of them and give these
results.  A new version's file is written by

    python3 tests/golden_saved.py 0.2

and one that is there is never written again.
"""

import json
import random
import re
import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parent / "helpers"))

from oracle import FLOATS, TYPES, Oracle, PairOracle, ops_of  # noqa: E402
from samples import nbytes_of, sample  # noqa: E402

FOLDER = Path(__file__).parent / "golden"
REPRESENTATIVE = ("f64", "f16", "i32", "u8")


def recipes():
    """Every op of the representative types, of a few also of every type; each with its own kind of data."""
    draw = random.Random("golden")
    for type_name in TYPES:
        for op in (*ops_of(type_name), "dot", "stats"):
            if type_name not in REPRESENTATIVE and op not in ("sum", "prod", "argmin", "var", "stats", "xor"):
                continue
            for flavour in ("unit", "special") if type_name in FLOATS else ("coarse",):
                count = draw.choice((0, 1, 7, 20))
                data = [sample(type_name, count, flavour, f"golden {k}") for k in range(2 if op == "dot" else 1)]
                yield {
                    "op": op, "type": type_name, "count": count, "data": [part.hex() for part in data],
                    "nan": draw.choice(("propagate", "omit", "error")), "ddof": draw.choice((0, 1)),
                    "result_type": draw.choice((None, None, "f64")), "first_index": draw.choice((0, 5, 2**40)),
                    "merged_at": draw.choice((0, 3)),
                }  # fmt: skip


def data_of(recipe):
    return [bytes.fromhex(data) for data in recipe["data"]]


def results_of(recipe):
    """What the oracle has for it: a result, or of stats all of them, or the name of an error."""
    whole = (PairOracle if recipe["op"] == "dot" else Oracle)(
        recipe["type"], *data_of(recipe), first_index=recipe["first_index"]
    )
    settings = recipe["nan"], recipe["result_type"], recipe["ddof"]
    return whole.stats(*settings) if recipe["op"] == "stats" else whole.reduce(recipe["op"], *settings)


def from_json(results):
    if isinstance(results, dict):
        return {name: from_json(result) for name, result in results.items()}
    return tuple(results) if isinstance(results, list) else results


def accumulate(handle, recipe):
    """The engine's accumulator: of two parts merged, where the recipe says so."""
    import warpfold_ctypes as wf

    chosen = {name: recipe[name] for name in ("nan", "ddof", "result_type")}
    first, count, nbytes = recipe["first_index"], recipe["count"], nbytes_of(recipe["type"])
    cut = min(recipe["merged_at"], count)
    parts = []
    for start, end in ((0, cut), (cut, count)):
        part = handle.accumulator(recipe["op"], recipe["type"], first_index=first + start, **chosen)
        views = [wf.vector(data, recipe["type"], end - start, start * nbytes) for data in data_of(recipe)]
        try:
            (part.add_pair if recipe["op"] == "dot" else part.add)(*views)
        except wf.WarpfoldError as error:
            if error.code != "WF_ERROR_NAN":
                raise
        parts.append(part)
    parts[0].merge(parts[1])
    return parts[0]


def to_text(saved):
    return re.sub(rb"\0{6,}|[^\0]|\0", lambda run: f"({len(run[0])})".encode() if len(run[0]) > 1
                  else run[0].hex().encode(), saved, flags=re.DOTALL).decode()  # fmt: skip


def from_text(text):
    return bytes.fromhex(re.sub(r"\((\d+)\)", lambda zeros: "00" * int(zeros[1]), text))


def read_all():
    """(file, recipe, results, saved form) of every golden line."""
    for path in sorted(FOLDER.glob("saved-*.txt")):
        for line in path.read_text().splitlines():
            recipe, results, saved = line.split("\t")
            yield path.name, json.loads(recipe), from_json(json.loads(results)), from_text(saved)


def main(version):
    import warpfold_ctypes as wf

    path = FOLDER / f"saved-{version}.txt"
    assert not path.exists(), "golden files are never written again"
    handle = wf.Handle(tier="scalar")
    lines = [
        "\t".join((json.dumps(recipe), json.dumps(results_of(recipe)), to_text(accumulate(handle, recipe).save())))
        for recipe in recipes()
    ]
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
