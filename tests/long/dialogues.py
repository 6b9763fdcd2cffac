"""Drives interactive programs through their dialogues, and prints what each answer costs.

uv run tests/long/dialogues.py
"""

import re
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import dialogues
from bursar.budget import tokens
from replies import reply_of
from wire import Client, server

ANSWER_TOKENS = 150
ANSWER_S = 10.0


def driven(client: Client, name: str) -> bool:
    """Hold one dialogue; print its figures and tell whether it went as it must."""
    command, _, steps = dialogues.DIALOGUES[name]
    reply, is_error, took = client.call("terminal", command=command, tty=True)
    artifact = re.search(r"\b(a\d+)", reply_of(reply)["artifact"])[1]
    began, costs, times, is_right = tokens.count(reply), [0], [took], not is_error
    for text, wanted in steps:
        reply, is_error, took = client.call("terminal", artifact=artifact, input=text)
        costs.append(tokens.count(reply))
        times.append(took)
        is_right &= not is_error and ("state" not in reply_of(reply) if wanted is None else wanted in reply)
    if steps[-1][1] is not None and "state" in reply_of(reply):
        client.call("terminal", artifact=artifact, stop=True)
    is_right &= max(began, *costs) <= ANSWER_TOKENS and max(times) <= ANSWER_S
    print(f"{name:16}{len(steps):8}{began:14}{max(costs):14}{max(times):11.1f}  {'' if is_right else 'WRONG'}")
    return is_right


def refused(client: Client, name: str) -> bool:
    """Have a command ask for a password; print how it ended and tell whether it was refused."""
    reply, _, took = client.call("terminal", command=dialogues.PASSWORDS[name], tty=True)
    is_right = reply_of(reply).get("ended") == "password prompt" and took <= ANSWER_S
    print(f"{name:16}{'':8}{tokens.count(reply):14}{'':14}{took:11.1f}  {'refused' if is_right else 'WRONG'}")
    return is_right


def main() -> int:
    with tempfile.TemporaryDirectory() as place:
        work = Path(place, "work")
        work.mkdir()
        dialogues.files(work)
        dialogues.repository(work, "rebased")
        dialogues.added(work)
        with server("--root", str(work), "--data-dir", str(Path(place, "data")), "--patience-s", "20") as client:
            print(f"{'program':16}{'answers':>8}{'first, tokens':>14}{'most, tokens':>14}{'longest, s':>11}")
            there = [
                name for name, (_, needs, _) in dialogues.DIALOGUES.items() if all(map(shutil.which, needs.split()))
            ]
            outcomes = [driven(client, name) for name in there]
            outcomes += [refused(client, name) for name in dialogues.PASSWORDS]
    print(f"{len(outcomes)} programs, {outcomes.count(False)} not as they must be")
    if missing := dialogues.DIALOGUES.keys() - set(there):
        print(f"not there: {', '.join(sorted(missing))}")
    return int(not all(outcomes))


if __name__ == "__main__":
    sys.exit(main())
