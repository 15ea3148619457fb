"""The package under test: the one in the build directory, or with WARPFOLD_INSTALLED=1 the one that is installed."""

import os
import sys
from pathlib import Path

if not os.environ.get("WARPFOLD_INSTALLED"):
    root = Path(__file__).resolve().parent.parent.parent
    sys.path.insert(0, str(Path(os.environ.get("WARPFOLD_BUILD", root / "build")) / "python"))
