"""Files of every kind, broken in many ways: each is answered in time, and others are answered meanwhile.

python tests/long/files.py [TIMES that each kind is broken, default 20] [SEED]
"""

import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import needs
from made_files import MADE
from wire import server

PATIENCE_S = 10


def broken(data, chance):
    """Return bytes of which some are others, doubled, or gone."""
    data = bytearray(data)
    for _ in range(chance.choice((1, 3, 30))):
        at = chance.randrange(len(data))
        match chance.randrange(4):
            case 0:
                data[at] = chance.randrange(256)
            case 1:
                data[at : at + 4] = chance.choice((b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f"))
            case 2:
                del data[at : at + chance.randrange(1, 64)]
            case _:
                data[at:at] = data[at : at + chance.randrange(1, 4096)]
        data = data or bytearray(b"x")
    return bytes(data[: chance.randrange(1, len(data) + 1)] if chance.random() < 0.2 else data)


def asked(client, path):
    """Read a file, and run a command beside it; return both answers and how long each took."""
    began = time.monotonic()
    calls = {
        client.send("tools/call", {"name": name, "arguments": arguments}): name
        for name, arguments in (("read_file", {"path": path}), ("terminal", {"command": "echo here"}))
    }
    answers = {}
    while len(answers) < len(calls):
        message = client.next()
        if message.get("id") in calls:
            answers[calls[message["id"]]] = (message, time.monotonic() - began)
    return answers["read_file"], answers["terminal"]


def outcome_of(message):
    if "error" in message:
        return "no answer of a tool"
    text = message["result"]["content"][0]["text"]
    if message["result"].get("isError"):
        return text.partition(":")[0]
    return "shown as a binary, with the reason" if "unreadable" in text.partition("\n")[0] else "read"


def main(times=20, seed=1):
    chance, outcomes, faults = random.Random(int(seed)), Counter(), []
    slowest = slowest_other = 0.0
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory, "work")
        work.mkdir()
        wanted = [name for name, (_, its) in MADE.items() if not any(map(needs.wanting, its))]
        with server("--root", str(work), "--data-dir", f"{directory}/data", "--patience-s", str(PATIENCE_S)) as client:
            client.call("terminal", command="true")
            for name in wanted:
                MADE[name][0](work / name)
                whole = (work / name).read_bytes()
                for number in range(int(times)):
                    (work / f"{number}-{name}").write_bytes(broken(whole, chance))
                    (read, took), (ran, took_other) = asked(client, f"{number}-{name}")
                    outcomes[outcome_of(read)] += 1
                    slowest, slowest_other = max(slowest, took), max(slowest_other, took_other)
                    if "here" not in json.dumps(ran) or outcome_of(read) in {"no answer of a tool", "internal_error"}:
                        faults.append(f"{number}-{name}: {json.dumps(read)[:300]} {json.dumps(ran)[:300]}")
    print(*(f"{count:6} {outcome}" for outcome, count in outcomes.most_common()), *faults[:20], sep="\n")
    print(f"{outcomes.total()} broken files of {len(wanted)} kinds, {len(faults)} faults", end="; ")
    print(f"the slowest in {slowest:.1f} s, of commands beside them in {slowest_other:.1f} s")
    return bool(faults) or slowest > PATIENCE_S


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
