"""An agent that is killed again and again comes to its end, in each form, in front of a strict provider over HTTP.

uv run tests/long/agent_kills.py [--kills 30]
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from killed_agent import prove
from looping_agent import PATHS


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=30)
    given = parser.parse_args()
    for form in PATHS:
        with tempfile.TemporaryDirectory() as folder:
            requests = prove(form, given.kills, Path(folder))
            print(f"{form}: {given.kills} kills, {requests} valid requests, nothing repeated, ended", flush=True)


if __name__ == "__main__":
    main()
