"""The pictures of README.md say what the simulator says now."""

import os
import re
import subprocess
import sys

from cli_helpers import CLI, ROOT


def test_pictures_are_current():
    environment = {**os.environ, "WARPFOLD_CLI": str(CLI)}
    done = subprocess.run([sys.executable, ROOT / "scripts" / "pictures", "--check"], env=environment, capture_output=True,
                          text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_picture_is_made_by_the_script_and_shown():
    shown = re.findall(r'"(docs/pictures/[^"]+)"', (ROOT / "README.md").read_text())
    assert sorted(shown) == sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs" / "pictures").iterdir())
    assert all("scripts/pictures makes this" in (ROOT / path).read_text() for path in shown)
