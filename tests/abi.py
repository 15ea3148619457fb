"""What programs that were compiled before rely on: tests/golden/abi.txt.

Each line is one thing of a public header: a number, a structure's size, a member's place, size and type, a function's
type.  The compiler says the numbers.

    python3 tests/abi.py             records what the headers have beyond what is recorded
    python3 tests/abi.py --breaking  records what they have, whatever programs relied on
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "tests" / "golden" / "abi.txt"
HEADERS = (ROOT / "include" / "warpfold.h", next(ROOT.glob("simt/**/simt.h")))
BREAKING = "--breaking"

PROBE = """
#include <stddef.h>
#include <stdio.h>
{includes}
int main(void) {{
{prints}
    return 0;
}}
"""

# ---- what a header declares --------------------------------------------------------------------------


def cc(*arguments):
    return subprocess.run(["cc", *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def own_text(header):
    """The header as the compiler reads it, without comments and without what it includes."""
    kept, is_own = [], False
    for line in cc("-E", header).splitlines():
        marker = re.match(r'# \d+ "(.*?)"', line)
        if marker:
            is_own = marker[1] == str(header)
        elif is_own:
            kept.append(line)
    text = re.sub(r"__attribute__\s*\(\(.*?\)\)\)?", "", " ".join(kept))
    return " ".join(text.split())


def pieces(text, separator):
    """The text split where the separator stands outside of brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "({[") - (letter in ")}]")
        if letter == separator and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def members(body):
    """(name, type) of each member; those of a union inside are named UNION.MEMBER."""
    for declaration in pieces(body, ";"):
        inside = re.fullmatch(r"(union|struct) \{(.*)\} (\w+)", declaration)
        pointer = re.fullmatch(r"(.*\(\*)(\w+)(\).*)", declaration)
        if inside:
            yield inside[3], inside[1]
            yield from ((f"{inside[3]}.{name}", kind) for name, kind in members(inside[2]))
        elif pointer:
            yield pointer[2], without_names(pointer[1] + pointer[3])
        else:
            first, *others = pieces(declaration, ",")
            base, stars, name, array = re.fullmatch(r"(.*?)\s*(\**)(\w+)((?:\[\w+\])*)", first).groups()
            yield name, f"{base} {stars}{array}".strip()
            for other in others:
                stars, name, array = re.fullmatch(r"(\**)(\w+)((?:\[\w+\])*)", other).groups()
                yield name, f"{base} {stars}{array}".strip()


def without_names(declaration):
    """A function's type: what the parameters are called is nobody's concern."""
    head, parameters = re.fullmatch(r"(.*)\((.*)\)", declaration).groups()
    kinds = [re.sub(r"(?<=[ *])\w+((?:\[\w*\])*)$", r"\1", part).strip() for part in pieces(parameters, ",")]
    return f"{head}({', '.join(kinds)})"


def constants(header, text):
    """Of enumerations, and of macros that are numbers; the version is no promise."""
    for body in re.findall(r"enum \w+ \{(.*?)\}", text):
        yield from (item.split(" = ")[0] for item in pieces(body, ","))
    for name in re.findall(r"^#define ((?:WF|SIMT)_\w+) [-(\w]", header.read_text(), re.MULTILINE):
        if not re.match(r"WF_(API|VERSION)", name):
            yield name


def declarations(header):
    """(line, the numbers in it as C) of each thing."""
    text = own_text(header)
    for name in constants(header, text):
        yield f"constant {name}", [name]
    for name, body in re.findall(r"typedef struct (\w+) \{((?:[^{}]|\{[^{}]*\})*)\} \1;", text):
        yield f"size {name}", [f"sizeof({name})"]
        for member, kind in members(body):
            place, size = f"offsetof({name}, {member})", f"sizeof((({name} *)0)->{member})"
            yield f"member {name}.{member} ({kind})", [place, size]
    text = re.sub(r"static inline [^{]*\{.*?\}", "", text)  # compiled into the programs themselves
    for result, name, rest in re.findall(r"(?:^|(?<=[;}{]))\s*([\w* ]+?)((?:wf|simt)_\w+)(\([^;{}]*\));", text):
        if not result.startswith("typedef"):
            yield f"function {without_names(result + name + rest)}", []


def printing(line, numbers):
    """C that prints the line and the numbers."""
    values = "".join(f", (long long)({number})" for number in numbers)
    return f'    printf("{line}{" %lld" * len(numbers)}\\n"{values});'


def interface():
    """The lines, in order."""
    prints = [printing(*thing) for header in HEADERS for thing in declarations(header)]
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "probe.c"), Path(folder, "probe")
        includes = "\n".join(f'#include "{header}"' for header in HEADERS)
        source.write_text(PROBE.format(includes=includes, prints="\n".join(prints)))
        cc(source, "-o", program)
        return subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()


# ---- what is recorded --------------------------------------------------------------------------------


def recorded():
    return RECORD.read_text().splitlines() if RECORD.exists() else []


def recorded_constants():
    rows = [line.split() for line in recorded()]
    return {row[1]: int(row[2]) for row in rows if row[0] == "constant"}


def grows(line, lines):
    """Is it the size of a structure that carries its size, and only became larger?"""
    kind, name, *rest = line.split()
    if kind != "size" or not any(other.startswith(f"member {name}.nbytes ") for other in lines):
        return False
    return any(other.split()[:2] == [kind, name] and int(other.split()[2]) > int(rest[0]) for other in lines)


def broken(before, now):
    """The lines recorded before that hold no longer."""
    return [line for line in before if line not in now and not grows(line, now)]


def main():
    before, now = recorded(), interface()
    gone = broken(before, now)
    if gone and sys.argv[1:] != [BREAKING]:
        sys.exit("\n".join(["programs that were compiled before rely on:", *gone]))
    RECORD.write_text("".join(f"{line}\n" for line in now))


if __name__ == "__main__":
    main()
