"""fuzz/ is no package: it is not installed, and its modules find each other by name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "fuzz"))
