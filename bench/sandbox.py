"""What the walls around commands cost, beside commands without them, in alternation within one run.

python bench/sandbox.py [ROUNDS]
"""

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import anyio
from bursar.guard.command import Limits
from bursar.guard.commands import Commands
from bursar.guard.sandbox.policy import Policy
from bursar.guard.sandbox.sandbox import Sandbox

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from means import kept_in_by

WORK = {
    "true": "true",
    "a program": "/bin/true; /bin/true",
    "10 programs": "for i in 1 2 3 4 5; do ls | cat; done >/dev/null",
}


async def timed(commands, text, work, session, output):
    begun = time.perf_counter()
    command = await commands.start(["/bin/bash", "-c", text], cwd=work, output=output, session=session)
    await command.ended()
    return (time.perf_counter() - begun) * 1000


async def main(rounds):
    with tempfile.TemporaryDirectory(dir="/var/tmp") as base:
        store, work = Path(base, "data"), Path(base, "work")
        work.mkdir()  # noqa: ASYNC240
        kinds = {"unconfined": Commands(Limits())}
        for number, means in enumerate(("Landlock alone", "bubblewrap + Landlock", "namespaces + Landlock")):
            # One policy is tried once in a process.
            policy = Policy(store=store, roots=(work,), writes=(work,) * number)
            begun = time.perf_counter()
            with kept_in_by(means):
                kinds[means] = Commands(Limits(), sandbox=Sandbox(policy))
                isolation = await kinds[means].isolation()
            took_ms = (time.perf_counter() - begun) * 1000
            print(f"the trial at the start, beside it: {took_ms:.0f} ms; {isolation.line()}")
        output = os.open(os.devnull, os.O_WRONLY)
        first = {}
        for name, commands in kinds.items():
            times = []
            for number in range(7):
                session = store / f"session{number}"
                session.mkdir(exist_ok=True)
                times.append(await timed(commands, "true", work, session, output))
            first[name] = statistics.median(times) if name != "unconfined" else times[0]
        session = store / "session0"
        taken = {(name, what): [] for name in kinds for what in WORK}
        for _ in range(rounds):
            for what, text in WORK.items():
                for name, commands in kinds.items():
                    taken[name, what].append(await timed(commands, text, work, session, output))
        print(f"{'medians, ms':32} {'first':>7}" + "".join(f"{what:>14}{'added':>7}{'ratio':>6}" for what in WORK))
        for name in kinds:
            line = f"{name:32} {first[name]:7.1f}"
            for what in WORK:
                floor, own = taken["unconfined", what], taken[name, what]
                added = statistics.median(ours - bare for bare, ours in zip(floor, own, strict=True))
                ratio = statistics.median(ours / bare for bare, ours in zip(floor, own, strict=True))
                line += f"{statistics.median(own):14.2f}{added:7.2f}{ratio:6.2f}"
            print(line)
        for commands in kinds.values():
            commands.close()
        print("\nfirst: of a session, its helper process included (unconfined: of the server)")
        await anyio.sleep(0.5)


if __name__ == "__main__":
    anyio.run(main, int(sys.argv[1]) if len(sys.argv) > 1 else 60)
