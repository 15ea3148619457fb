"""What the first comment of a wrong kernel says, for scripts and tests.  Of the standard library only."""

import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def facts_of(name):
    """{"Report": .., "Launch": .., "Result": .., "Right": ..}, of which the last two may be missing: what it leaves, and should."""
    text = (FOLDER / f"{name}.cu").read_text()
    facts = dict(re.findall(r"^// (Report|Launch|Result): (.+)$", text, re.MULTILINE))
    if "Result" in facts:
        facts["Result"], facts["Right"] = facts["Result"].split(", and must be ")
    return facts


def inspect_options(name):
    """The options with which `warpfold inspect` launches it so: a list of words."""
    settings = re.compile(r"([a-z]+)=(\d+)")
    words = [settings.fullmatch(word) or word for word in facts_of(name)["Launch"].split()]
    return [part for word in words
            for part in (("--arg", word) if isinstance(word, str) else ("--" + word[1], word[2]))]
