"""The rooms of the source, as the checkout has them."""

from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
ROOMS = sorted(path.parent.name for path in ROOT.glob("*/__init__.py") if path.parent.name not in ("tests", "bench"))
