"""The golden saved accumulators: tests/golden/saved-VERSION.txt.

Each line is one reduction: its settings and data, the results that the oracle (not the engine) has for it, and
its saved form in hexadecimal, where (N) stands for N bytes of 0.  Every later version must load all of them and give these
results.  A new version's file is written by

    python3 tests/golden_saved.py 0.2

and one that is there is never written again.  VERSION-shaped has accumulators with a shape, of keys.
"""

import ctypes
import json
import random
import re
import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parent / "helpers"))

from oracle import FLOATS, TYPES, Oracle, PairOracle, default_type, ops_of  # noqa: E402
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


def shaped_recipes():
    """The same of some ops, each over elements that have keys."""
    draw = random.Random("golden shapes")
    for type_name in REPRESENTATIVE:
        for op in ("sum", "var", "argmin", "prod", "nonzero", "dot", "stats", *(("xor",) if type_name not in FLOATS else ())):
            count = draw.choice((0, 7, 20))
            data = [sample(type_name, count, "unit" if type_name in FLOATS else "coarse", f"shapes {k}").hex()
                    for k in range(2 if op == "dot" else 1)]
            yield {
                "op": op, "type": type_name, "count": count, "data": data, "nan": draw.choice(("propagate", "omit")),
                "ddof": 0, "result_type": None if op in ("argmin", "stats") else draw.choice((None, "f64")),
                "first_index": draw.choice((0, 5, 2**40)), "merged_at": 0 if op == "prod" else draw.choice((0, 3)),
                "groups": 4, "fill": 9 if op == "argmin" else None,
                "keys": [draw.choice((0, 0, 1, 3)) for _ in range(count)],
            }  # fmt: skip


def part_of(recipe, group):
    """The recipe of one group's elements; indices are of no account."""
    nbytes, chosen = nbytes_of(recipe["type"]), [i for i, key in enumerate(recipe["keys"]) if key == group]
    data = [b"".join(whole[i * nbytes:(i + 1) * nbytes] for i in chosen).hex() for whole in data_of(recipe)]
    return {**recipe, "data": data}, chosen


def no_value(recipe, op):
    type_name = recipe["result_type"] or default_type(op, recipe["type"])
    return type_name, FLOATS[type_name].nan if type_name in FLOATS else None


def results_of_groups(recipe, op):
    """What the oracle has for op of each group; a value for those that have none."""
    none = ("u64", recipe["fill"]) if recipe["fill"] else no_value(recipe, op)
    results = []
    for group in range(recipe["groups"]):
        part, positions = part_of(recipe, group)
        result = results_of({**part, "op": op, "first_index": 0 if op.startswith("arg") else recipe["first_index"]})
        if op.startswith("arg") and not isinstance(result, str):
            result = result[0], positions[result[1]] + recipe["first_index"]
        results.append(none if result == "WF_ERROR_EMPTY" else result)
    return results


def data_of(recipe):
    return [bytes.fromhex(data) for data in recipe["data"]]


def results_of(recipe):
    """What the oracle has for it: a result, or of stats all of them, or the name of an error."""
    whole = (PairOracle if recipe["op"] == "dot" else Oracle)(
        recipe["type"], *data_of(recipe), first_index=recipe["first_index"]
    )
    settings = recipe["nan"], recipe["result_type"], recipe["ddof"]
    return whole.stats(*settings) if recipe["op"] == "stats" else whole.reduce(recipe["op"], *settings)


def expected_of_shaped(recipe):
    """Of stats, several results of each group."""
    ops = ("sum", "var", "mean", "norm1") if recipe["op"] == "stats" else (recipe["op"],)
    return {op: results_of_groups(recipe, op) for op in ops}


def from_json(results):
    if isinstance(results, dict):
        return {name: from_json(result) for name, result in results.items()}
    return tuple(results) if isinstance(results, list) else results


def accumulate(handle, recipe):
    """The engine's accumulator: of two parts merged, where the recipe says so."""
    import warpfold_ctypes as wf

    keys = recipe.get("keys")
    chosen = {name: recipe[name] for name in ("nan", "ddof", "result_type")}
    first, count, nbytes = recipe["first_index"], recipe["count"], nbytes_of(recipe["type"])
    cut = min(recipe["merged_at"], count)
    parts = []
    for start, end in ((0, cut), (cut, count)):
        shape = (recipe["groups"],) if keys is not None else ()
        fill = wf.value_of_bits(wf.WF_U8, recipe["fill"]) if recipe.get("fill") else None
        part = handle.accumulator(recipe["op"], recipe["type"], shape, fill, first_index=first + start, **chosen)
        labels = wf.vector(bytes(keys[start:end]), "u8") if shape else None
        groups = wf.library.wf_groups_keys(0, shape[0], ctypes.byref(labels)) if shape else None
        views = [wf.vector(data, recipe["type"], end - start, start * nbytes) for data in data_of(recipe)]
        try:
            part.add(views[0], 0, *views[1:], groups=groups)
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
    yield from read(sorted(set(FOLDER.glob("saved-*.txt")) - set(FOLDER.glob("saved-*-shaped.txt"))))


def read_all_shaped():
    yield from read(sorted(FOLDER.glob("saved-*-shaped.txt")))


def read(paths):
    for path in paths:
        for line in path.read_text().splitlines():
            recipe, results, saved = line.split("\t")
            yield path.name, json.loads(recipe), from_json(json.loads(results)), from_text(saved)


def main(version):
    import warpfold_ctypes as wf

    path = FOLDER / f"saved-{version}.txt"
    assert not path.exists(), "golden files are never written again"
    handle = wf.Handle(tier="scalar")
    is_shaped = version.endswith("-shaped")
    lines = [
        "\t".join((json.dumps(recipe), json.dumps((expected_of_shaped if is_shaped else results_of)(recipe)),
                   to_text(accumulate(handle, recipe).save())))
        for recipe in (shaped_recipes if is_shaped else recipes)()
    ]  # fmt: skip
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
