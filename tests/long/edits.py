"""Random edits of random files, each equal to what a plain reference makes of it, or refused as it refuses.

python tests/long/edits.py [EDITS, default 2000] [SEED]
"""

import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

from bursar.tools.edit_file import EditFile
from random_edits import tried
from tool_place import Place


def main(count=2000, first=0):
    with tempfile.TemporaryDirectory() as directory:
        place = Place(Path(directory))
        outcomes, wrong = Counter(), []
        for seed in range(int(first), int(first) + int(count)):
            fault, outcome = tried(place, EditFile(), seed)
            outcomes[outcome] += 1
            wrong += [fault] if fault else []
    print(*(f"{number:6} {outcome}" for outcome, number in outcomes.most_common()), *wrong[:20], sep="\n")
    print(f"{count} edits, {len(wrong)} of them not as the reference makes them")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
