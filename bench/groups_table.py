"""Makes tables of what the benchmarks of groups found.

    groups_table.py JSON...    of `bench/groups.py --json` and `bench/gpu/groups.py --json`: puts them between the markers
                               in docs/performance-groups.md: <!-- cpu:begin --> ... <!-- cpu:end -->, and gpu; what several
                               runs of one machine have measured comes together
"""

import json
import re
import sys
import time
from pathlib import Path

import table

PAGE = Path(__file__).resolve().parent.parent / "docs" / "performance-groups.md"


def write(path, where, machine, rows):
    """A row is a case: its groups, op and type, the share of the ceiling, and the peer's time divided by ours, or None."""
    document = {"where": where, "machine": machine, "date": time.strftime("%Y-%m-%d", time.gmtime()), "rows": rows}
    path.write_text(table.text_of(document))


def two_digits(number):
    return f"{float(f'{number:.2g}'):g}"


def cell(row):
    """The share, and how many times as fast as the peer."""
    return "" if row is None else f"{row['share']:.2f}" + ("" if row["ratio"] is None else f", {two_digits(row['ratio'])}")


def table_of_type(type_name, rows, ops):
    by_groups = table.grouped(rows, lambda row: row["groups"])
    lines = []
    for groups, members in by_groups.items():
        by_op = {row["op"]: row for row in members}
        lines.append([groups, *(cell(by_op.get(op)) for op in ops)])
    return table.table([type_name, *ops], lines)


def render(document):
    ops = list(dict.fromkeys(row["op"] for row in document["rows"]))
    by_type = table.grouped(document["rows"], lambda row: row["type"])
    return "\n".join([f"{document['machine']}; {document['date']}.\n",
                      *(table_of_type(name, rows, ops) for name, rows in by_type.items())])


def update(text, document):
    where = document["where"]
    block = re.compile(rf"(<!-- {where}:begin -->\n).*?(<!-- {where}:end -->)", re.DOTALL)
    return block.sub(lambda match: match[1] + render(document) + match[2], text)


def joined(documents):
    return documents[0] | {"rows": [row for document in documents for row in document["rows"]]}


def main():
    text = PAGE.read_text()
    documents = [json.loads(Path(path).read_text()) for path in sys.argv[1:]]
    for runs in table.grouped(documents, lambda document: document["where"]).values():
        text = update(text, joined(runs))
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
