"""Damages that a history may suffer, and what must be left of it."""

import os
import random
from pathlib import Path

from bursar.history.file import HistoryFile, read

KINDS = (
    "flip",
    "nulls",
    "cut",
    "line gone",
    "line twice",
    "glued",
    "swapped",
    "garbage",
    "half a line",
    "crlf",
    "empty",
)


def written(path, count, chance):
    """Write a history; return its lines."""
    file = HistoryFile(path)
    for number in range(count):
        text = chance.choice(("word ", "漢字", '{"n":1,"c":"deadbeef"}', "🙂\n", "\ud800")) * chance.randrange(1, 40)
        file.append(("message", {"m": {"role": "user", "content": f"{number} {text}", "deep": {"n": 5}}}))
    file.close()
    return path.read_bytes().splitlines(keepends=True)


def damaged(lines, kind, chance):
    """Return the bytes of a damaged history, and the lines of which at least a byte was touched."""
    at = chance.randrange(len(lines))
    data, start = b"".join(lines), sum(map(len, lines[:at]))
    if kind == "flip":
        place = chance.randrange(len(data))
        changed = bytes([data[place] ^ (1 << chance.randrange(8))])
        return data[:place] + changed + data[place + 1 :], _touched(lines, place, place + 1)
    if kind == "nulls":
        place = chance.randrange(len(data))
        end = min(len(data), place + chance.randrange(1, 600))
        return data[:place] + b"\0" * (end - place) + data[end:], _touched(lines, place, end)
    if kind == "cut":
        place = chance.randrange(len(data))
        # Of a line, the end alone may be missing.
        return data[:place], {n for n in _touched(lines, place, len(data)) if not _is_whole(lines, n, place)}
    if kind == "line gone":
        return b"".join(lines[:at] + lines[at + 1 :]), {at}
    if kind == "line twice":
        return b"".join([*lines[: at + 1], *lines[at:]]), set()
    if kind == "glued":
        return data[: start + len(lines[at]) - 1] + data[start + len(lines[at]) :], set()
    if kind == "swapped":
        other = chance.randrange(len(lines))
        lines = list(lines)
        lines[at], lines[other] = lines[other], lines[at]
        return b"".join(lines), set()
    if kind == "garbage":
        place = chance.choice([sum(map(len, lines[:n])) for n in range(len(lines) + 1)])
        return data[:place] + chance.randbytes(chance.randrange(1, 300)) + data[place:], set()
    if kind == "half a line":
        return data[: start + len(lines[at]) // 2] + data[start + len(lines[at]) :], {at}
    if kind == "crlf":
        return data.replace(b"\n", b"\r\n"), set()
    return b"", set(range(len(lines)))


def _touched(lines, first, end):
    out, start = set(), 0
    for number, line in enumerate(lines):
        # The line break is no part of a record.
        if start < end and first < start + len(line) - 1:
            out.add(number)
        start += len(line)
    return out


def _is_whole(lines, number, place):
    return sum(map(len, lines[: number + 1])) - 1 <= place


def trial(folder: Path, seed: int) -> str:
    """Damage a history once; return what is wrong with what is then read, or nothing."""
    chance = random.Random(seed)
    path = folder / f"h{seed}.jsonl"
    lines = written(path, chance.randrange(1, 12), chance)
    before = read(path)
    kind = KINDS[seed % len(KINDS)]
    data, touched = damaged(lines, kind, chance)
    path.write_bytes(data)
    if chance.random() < 0.1:
        os.truncate(f"{path}.lock", 0)
        touched |= {len(lines)} if kind in ("cut", "empty", "line gone") else set()
    after = read(path)
    wanted = [record for number, record in enumerate(before.records) if number not in touched]
    if after.records != wanted:
        return f"{kind} {seed}: {len(after.records)} records instead of {len(wanted)}"
    # A last line without its line break is whole; without the tally a cut behind a line is a shorter history.
    is_same = data in (b"".join(lines), b"".join(lines)[:-1]) or len(lines) in touched
    if bool(after.damage) == is_same and len(lines) not in touched:
        return f"{kind} {seed}: told {after.damage}"
    file = HistoryFile(path)
    file.append(("message", {"m": "after"}))
    file.close()
    if read(path).records[-1].get("m") != "after":
        return f"{kind} {seed}: nothing can be added"
    if [record for record in read(path).records if record.get("m") != "after"] != wanted:
        return f"{kind} {seed}: what was added is not read"
    path.unlink()
    Path(f"{path}.lock").unlink()
    return ""
