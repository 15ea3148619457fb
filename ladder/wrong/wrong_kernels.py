"""What the first comment of a wrong kernel says, for scripts and tests.  Of the standard library only."""

import re
import shlex
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def facts_of(name):
    """{"Report": .., "Inspect": .., "Result": .., "Right": ..}, of which the last two may be missing: what it leaves, and should."""
    text = (FOLDER / f"{name}.cu").read_text()
    facts = dict(re.findall(r"^// (Report|Inspect|Result): (.+)$", text, re.MULTILINE))
    if "Result" in facts:
        facts["Result"], facts["Right"] = facts["Result"].split(", and must be ")
    return facts


def inspect_options(name):
    """The options with which `warpfold inspect` shows what is wrong: a list of words."""
    return shlex.split(facts_of(name)["Inspect"])
